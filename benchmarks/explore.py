"""Errors and coverage of random regressions from a released joint moment, and of one that was chosen beforehand.

    PMT_DATA_DIR=... python benchmarks/explore.py [--tables white-wine power-plant] [--splits 4] [--regressions 20]

For each table and total mu: the distance of coefficients to the non-private ones in units of their standard errors,
median over those of a regression and over random regressions, splits and releases, with the intercept and without; how
many exact coefficients are within the bands in inference mode; and for the regression of the table's target on all
columns the distance of ``joint-moment`` over that of ``joint-pmt`` at the same total.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

for _threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_threads, "1")

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

from pmtcore.accounting.budgets import Budget  # noqa: E402
from pmtcore.base.private_rows import Curator  # noqa: E402
from pmtcore.explore.moment import Moment  # noqa: E402
from pmtcore.mechanisms.noise import SeededNoise  # noqa: E402
from pmtcore.methods.registry import make_parameters, method  # noqa: E402
from pmtcore.public.moments import INTERCEPT  # noqa: E402
from pmtcore.tables.named import entry, load  # noqa: E402
from pmtcore.tables.problem import Problem, prepare  # noqa: E402

LOOK = Curator("a benchmark on public tables")
Figures = dict[str, list[np.ndarray]]


def table_of(problem: Problem) -> tuple[np.ndarray, tuple[str, ...]]:
    """Return all private columns (n, D), the target last, and their names."""
    names = problem.public.names
    columns = [problem.private.concatenate(lambda x, y, j=j: x[:, j]).reveal(LOOK) for j in range(len(names))]
    response = problem.private.concatenate(lambda x, y: y).reveal(LOOK)
    return np.column_stack([*columns, response]), (*names, problem.public.target)


def exact(z: np.ndarray, response: int, features: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return non-private coefficients (q,) and their standard errors (q,)."""
    q, r = np.linalg.qr(z[:, features])
    coefficients = np.linalg.solve(r, q.T @ z[:, response])
    left = z[:, response] - z[:, features] @ coefficients
    variance = left @ left / (len(z) - len(features)) * np.sum(np.linalg.inv(r) ** 2, axis=1)
    return coefficients, np.sqrt(variance)


def random_regressions(rng: np.random.Generator, columns: int, count: int) -> list[tuple[int, list[int]]]:
    """Draw response and features of regressions, the intercept (column 0) among the features."""
    regressions = []
    for _ in range(count):
        response = int(rng.integers(1, columns))
        others = [j for j in range(1, columns) if j != response]
        chosen = rng.choice(others, int(rng.integers(1, len(others) + 1)), replace=False)
        regressions.append((response, [0, *sorted(int(j) for j in chosen)]))
    return regressions


def answer(moment: Moment, names: tuple[str, ...], question: tuple[int, list[int]]) -> Any:
    """Return the regression from the record, coefficients in the order of the question."""
    fit = moment.regress(response=names[question[0]], features=[names[j] for j in question[1] if j])
    if list(fit.names) != [names[j] for j in question[1]]:
        raise ValueError("coefficients came in another order")
    return fit


def measure(problem: Problem, mu: float, seed: int, count: int) -> Figures:
    """Measure distances of all random regressions of one split from two releases, of the chosen one from four."""
    z, names = table_of(problem)
    if names[0] != INTERCEPT:
        raise ValueError("tables with an intercept only")
    questions = random_regressions(np.random.default_rng(seed), len(names), count)
    distances: Figures = {"all": [], "slopes": [], "inside": [], "moment": [], "pmt": []}
    truth = [exact(z, *question) for question in questions]
    for mode in ("accuracy", "inference"):
        entry_ = method("joint-moment")
        plan = entry_.plan(problem.public, len(z), Budget(mu), make_parameters(entry_, {"radius_mode": mode}))
        for trial in range(2):
            moment = Moment(plan.run(problem.private, SeededNoise(seed, trial), 1).record())
            for question, (value, error) in zip(questions, truth, strict=True):
                fit = answer(moment, names, question)
                far = np.abs(fit.fit.coefficients - value) / error
                if mode == "accuracy":
                    distances["all"].append(np.array([np.median(far)]))
                    distances["slopes"].append(np.array([np.median(far[1:])]))
                else:
                    distances["inside"].append((fit.bands.low <= value) & (value <= fit.bands.high))
    last = len(names) - 1
    value, error = exact(z, last, list(range(last)))
    for name, id in (("moment", "joint-moment"), ("pmt", "joint-pmt")):
        plan = method(id).plan(problem.public, len(z), Budget(mu), make_parameters(method(id), {}))
        coefficients = plan.run(problem.private, SeededNoise(seed), 4).coefficients
        distances[name].append((np.abs(coefficients - value) / error).ravel())
    return distances


def main() -> None:
    """Print one line for each table and budget."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="+", default=["white-wine", "power-plant"])
    parser.add_argument("--mu", nargs="+", type=float, default=[0.5, 1.5, 4.5])
    parser.add_argument("--splits", type=int, default=4)
    parser.add_argument("--regressions", type=int, default=20)
    chosen = parser.parse_args()
    print("table, mu: distance with intercept / slopes alone, in bands; the chosen model: moment, joint-pmt, ratio")
    for table in chosen.tables:
        problems = [prepare(*load(table, seed=seed)[:2], entry(table).choices) for seed in range(chosen.splits)]
        for mu in chosen.mu:
            each = [measure(problem, mu, seed, chosen.regressions) for seed, problem in enumerate(problems)]
            all_ = {name: np.concatenate([part for figures in each for part in figures[name]]) for name in each[0]}
            middle = {name: float(np.median(values)) for name, values in all_.items()}
            print(
                f"{table}, mu {mu:g}, m {problems[0].public.m}, n {problems[0].private.n}: {middle['all']:.2f} / "
                f"{middle['slopes']:.2f}, {np.mean(all_['inside']):.3f}; {middle['moment']:.2f}, {middle['pmt']:.2f}, "
                f"{middle['moment'] / middle['pmt']:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
