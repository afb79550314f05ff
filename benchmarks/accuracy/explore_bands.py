"""Coverage of the bands of Explore for the population, on tables of the zoo sampled with replacement.

PYTHONPATH=. python benchmarks/accuracy/explore_bands.py --part check --cases 94 --draws 1,3,5,7
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
import zoo

from pmtcore.accounting.budgets import Budget
from pmtcore.base.bands import Bands
from pmtcore.explore.functionals import Marginals
from pmtcore.explore.regression import regression
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.joint_moment.influence import GaussianInfluence
from pmtcore.methods.joint_moment.linear import State
from pmtcore.methods.joint_moment.method import MomentOutcome
from pmtcore.methods.registry import make_parameters, method

MUS = (0.5, 1.5, 4.5)
REGRESSIONS = 8
MOST_COLUMNS = 30
Figures = list[tuple[str, np.ndarray, Bands]]


def exactly(state: State, moment: np.ndarray) -> State:
    """Return a state whose moment is this one (D, D), in the units of the table, without noise."""
    inverse = np.linalg.inv(state.root)
    inner = inverse @ moment @ inverse.T
    inner = (inner + inner.T) / 2
    return replace(state, moment=inner, weight=np.ones_like(inner), influence=GaussianInfluence(inner))


def figures(state: State, names: Sequence[str], seed: int) -> Figures:
    """Return kind, values (q,) and bands of figures of the columns, and of random regressions."""
    rng, columns, marginals = np.random.default_rng(seed), list(names[1:]), Marginals(state)
    estimates = {
        "standard deviations": marginals.spreads(),
        "means": marginals.means(),
        "correlations": marginals.correlations(),
        "partial correlations": marginals.partial_correlations(),
        "components": marginals.components()[0],
    }
    listed: Figures = [(kind, each.values, each.bands) for kind, each in estimates.items()]
    for _ in range(REGRESSIONS):
        response = int(rng.integers(len(columns)))
        others = [name for j, name in enumerate(columns) if j != response]
        chosen = [others[j] for j in rng.permutation(len(others))[: int(rng.integers(1, len(others) + 1))]]
        fit = regression(state, names, columns[response], chosen, lam=0.0, intercept=True)
        value, bands = fit.contrast({name: float(rng.standard_normal()) for name in fit.names})
        listed += [("coefficients", fit.fit.coefficients, fit.bands), ("contrasts", np.array([value]), bands)]
        free = {
            "R squared": fit.r_squared,
            "standardized": fit.standardized,
            "partial R squared": fit.partial_r_squared,
            "variance inflation": fit.inflation,
        }
        listed += [(kind, each.values, each.bands) for kind, each in free.items() if each is not None]
    return listed


def measured(case: zoo.Case, number: int, loader: ModuleType) -> list[dict[str, object]]:
    """Return a line for each budget and kind of figure: the share of bands that hold the population's."""
    one = zoo.draw(case, number, loader)
    if one is None or not 3 <= one.public.d <= MOST_COLUMNS:
        return []
    frame, target, _ = loader.load(case.table)
    x, y, encoded = zoo.encoded(frame, target, case)
    z = np.column_stack([x[:, [encoded.index(name) for name in one.public.names]], y])
    names, entry, lines = (*one.public.names, "(response)"), method("joint-moment"), []
    for mu in MUS:
        plan = entry.plan(one.public, one.rows.n, Budget(mu), make_parameters(entry, {}))
        outcome = plan.run(one.rows, SeededNoise(7 + number), 1)
        assert isinstance(outcome, MomentOutcome)
        state = outcome.state()
        truth = figures(exactly(state, z.T @ z / len(z)), names, number)
        for (kind, _, bands), (_, exact, _) in zip(figures(state, names, number), truth, strict=True):
            inside = float(np.mean((bands.low <= exact) & (exact <= bands.high)))
            lines.append({"kind": kind, "mu": mu, "rule": case.rule, "case": case.key, "covers": inside})
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print shares by budget and by number of public rows."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("tune", "check"), default="tune")
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--draws", default="1,3", help="odd numbers: rows are drawn with replacement")
    chosen = parser.parse_args(arguments)
    loader = zoo.zoo_module()
    cases = [case for case in zoo.cases(chosen.part, "linear", chosen.cases, loader) if case.intercept]
    draws = [int(number) for number in chosen.draws.split(",")]
    table = pd.DataFrame([line for case in cases for number in draws for line in measured(case, number, loader)])
    if table.empty:
        parser.exit(1, "none of these settings has an intercept and 3 to 30 columns: take more --cases\n")
    for by in ("mu", "rule"):
        print(table.pivot_table(index="kind", columns=by, values="covers").round(3).to_string())


if __name__ == "__main__":
    main()
