"""Errors of ``response-moment``, ``joint-pmt`` and Cond-DP at the same budget: what public covariates buy.

    PYTHONPATH=. PMT_DATA_DIR=DATA python benchmarks/response.py

Distance to the non-private fit in units of the public whitening, root mean square over trials; geometric mean of the
ratio over draws of public and private rows. ``joint-pmt`` protects whole rows, the others responses alone. The variants
of Cond-DP (arXiv 2606.18773) and what each is given are described in ``benchmarks/accuracy/cond_dp.py``.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))
import cond_dp

from pmtcore.accounting.budgets import Budget
from pmtcore.base.private_rows import Curator
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import make_parameters, method
from pmtcore.tables.choices import Choices
from pmtcore.tables.named import load
from pmtcore.tables.problem import Problem, prepare
from pmtcore.tables.table import table_from

IDS = ("response-moment", "joint-pmt")
RATIOS = (IDS, *((ours, theirs) for ours in IDS for theirs in cond_dp.VARIANTS))
TABLES = {"demo": "", "white-wine": "quality", "power-plant": "PE"}
_LOOK = Curator("a benchmark of public tables")


def problem(name: str, n: int, m: int, seed: int) -> Problem:
    """Return a draw of so many private and public rows, without replacement where the table is a real one."""
    if name == "demo":
        private, public, _ = load(name, n=n, m=m, seed=seed)
        return prepare(private, public, Choices(target="y", covariates="public"))
    frames = [table.frame for table in load(name)[:2]]
    rows = pd.concat(frames, ignore_index=True).sample(n + m, random_state=seed)
    first, second = table_from(rows[m:], "private", "private"), table_from(rows[:m], "public", "public")
    return prepare(first, second, Choices(target=TABLES[name], covariates="public"))


def errors(problem: Problem, mu: float, trials: int, seed: int) -> dict[str, float]:
    """Return the error of each method."""
    exact = exact_fit(problem.public, problem.private).reveal(_LOOK)
    rows = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(_LOOK)
    x, y = rows[:, :-1], rows[:, -1]
    released = {variant: cond_dp.fit(x, y, mu, trials, seed, variant) for variant in cond_dp.VARIANTS}
    for id in IDS:
        entry = method(id)
        plan = entry.plan(problem.public, problem.private.n, Budget(mu), make_parameters(entry, {}))
        released[id] = plan.run(problem.private, SeededNoise(seed), trials).coefficients
    away = {id: (coefficients - exact) @ problem.public.feature_root for id, coefficients in released.items()}
    return {id: float(np.sqrt(np.mean(np.sum(each**2, axis=1)))) for id, each in away.items()}


def main() -> None:
    """Print ratios by table, public rows and budget."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=12)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--mu", type=float, nargs="+", default=[0.15, 0.5, 1.5, 5.0])
    chosen = parser.parse_args()
    for name in TABLES:
        for m in (60, 300):
            ratios = np.empty((chosen.draws, len(chosen.mu), len(RATIOS)))
            for draw in range(chosen.draws):
                drawn = problem(name, chosen.rows, m, draw)
                for k, mu in enumerate(chosen.mu):
                    each = errors(drawn, mu, chosen.trials, draw)
                    ratios[draw, k] = [each[ours] / each[other] for ours, other in RATIOS]
            for (ours, other), means in zip(RATIOS, np.exp(np.log(ratios).mean(axis=0)).T, strict=True):
                shown = ", ".join(f"mu {mu:g}: {mean:.3f}" for mu, mean in zip(chosen.mu, means, strict=True))
                print(f"{name}, {m} public rows, {ours} over {other}: {shown}", flush=True)


if __name__ == "__main__":
    main()
