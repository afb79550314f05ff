"""Variable selection on one table, many noise draws: what is kept, and the ROC curve (lab only).

Paper D's Algorithm 1 and its selections run as published on any table, a user's own or a setting of Table 4, beside the
sound methods at the same epsilon under add-remove-one; the published claim does not hold (E11, E12).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import mu_from_pure_epsilon
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise, ZeroNoise
from pmtcore.mechanisms.perturbed import add_remove
from pmtcore.methods.perturbed.napp_erm import PrintedPlan
from pmtcore.methods.perturbed.napp_public import ErmPlan
from pmtcore.methods.registry import method
from pmtcore.papers.gallery.erm import ALMOST_NO_RIDGE, BOUNDS, PlanType, fit_together, made, planned, rates
from pmtcore.papers.gallery.series import LAMS, PUBLISHED
from pmtcore.public.moments import PublicData
from pmtcore.tables.problem import Problem

_ROUNDS = 25  # of the weights; a third of the paper's, for a picture that answers at once
_SOUND = (("dp-erm", "dp-erm"), ("napp-public with the lasso", "napp-public"))


@dataclass(frozen=True)
class SelectionStudy:
    """What was kept.

    Attributes:
        truth: coefficients (p,), where they are known.
        lams: each Lambda tried.
        selected: how often each coefficient is not 0 at the chosen Lambda, (p,) by method.
        counts: how many coefficients are not 0 at each Lambda, mean over the draws (k,), by method.
        roc: false and true positive rates (k,) at each Lambda, by method; empty where the truth is not known.
        lam: the chosen Lambda.
    """

    names: tuple[str, ...]
    truth: np.ndarray | None
    lams: tuple[float, ...]
    selected: Mapping[str, np.ndarray]
    counts: Mapping[str, np.ndarray]
    roc: Mapping[str, tuple[np.ndarray, np.ndarray]]
    lam: float


def study(kind: str, epsilon: float, lam: float, n: int = 500, *, trials: int = 10, seed: int = 0) -> SelectionStudy:
    """Select in a setting of Table 4 with a lasso target.

    Args:
        kind: ``linear``, ``poisson`` or ``logistic``.
        lam: Lambda at which ``selected`` is told, the nearest of :data:`LAMS`.
    """
    drawn = made(seed, kind, n)
    return _studied(
        drawn.public,
        drawn.rows,
        epsilon,
        lam,
        trials=trials,
        seed=seed,
        truth=drawn.truth,
        bounds={"bound": BOUNDS[kind]},
        printed={"coordinates": "plain", "row_bound": drawn.box},
    )


def study_table(
    problem: Problem, epsilon: float, lam: float, trials: int = 10, *, seed: int = 0
) -> Private[SelectionStudy]:
    """Select in a table of one's own: private figures, for the curator, unless the table may be studied by anybody.

    Args:
        problem: of a linear, logistic, boosting or Poisson family, with public rows.
        lam: Lambda at which ``selected`` is told, the nearest of :data:`LAMS`.

    Raises:
        InputError: the methods refuse the family or the public data.
    """
    method("napp-erm").check_suits(problem.public)
    return Private(_studied(problem.public, problem.private, epsilon, lam, trials=trials, seed=seed))


def _studied(
    public: PublicData,
    rows: PrivateRows,
    epsilon: float,
    lam: float,
    *,
    trials: int,
    seed: int,
    truth: np.ndarray | None = None,
    bounds: Mapping[str, Any] = MappingProxyType({}),
    printed: Mapping[str, Any] = MappingProxyType({}),
) -> SelectionStudy:
    mu = mu_from_pure_epsilon(epsilon)

    def plan(kind: type[PlanType], id: str, **values: object) -> PlanType:
        return planned(kind, id, public, rows.n, mu=mu, values={**bounds, **values})

    def fits(plan: PrintedPlan, sources: Sequence[NoiseSource]) -> np.ndarray:
        """Return coefficients (lams, trials, p), the draws of the noise alike at every Lambda."""
        plans = [plan.with_lambda(lam) for lam in LAMS for _ in sources]
        outcomes = fit_together(plans, rows, list(sources) * len(LAMS))
        return np.vstack([outcome.coefficients for outcome in outcomes]).reshape(len(LAMS), len(sources), -1)

    def sound(plan: ErmPlan) -> np.ndarray:
        """Return coefficients (trials, p) under the paper's relation."""
        mechanism = plan.build(add_remove(epsilon, 0.0))
        return plan.setting.table(mechanism.release(plan.setting.clipped(rows), rows.n, SeededNoise(seed, 7), trials))

    draws = [SeededNoise(seed, 7, t) for t in range(trials)]
    thetas = {
        f"{name} (lab)": fits(plan(PrintedPlan, id, iterations=_ROUNDS, **printed), draws) for name, id in PUBLISHED
    }
    for name, id in _SOUND:
        plans = [plan(ErmPlan, id, noise="pure", coordinates="scaled", lasso=lam) for lam in LAMS]
        thetas[name] = np.stack([sound(each) for each in plans])
    exact = plan(PrintedPlan, "napp-erm", fit="direct", floor=ALMOST_NO_RIDGE, **printed)
    thetas["without privacy"] = fits(exact, [ZeroNoise()])
    nearest = int(np.argmin(np.abs(np.log(np.asarray(LAMS) / lam))))
    return SelectionStudy(
        public.names,
        truth,
        LAMS,
        {name: np.mean(theta[nearest] != 0, axis=0) for name, theta in thetas.items()},
        {name: np.mean(np.sum(theta != 0, axis=2), axis=1) for name, theta in thetas.items()},
        {} if truth is None else {name: _mean_rates(theta, truth) for name, theta in thetas.items()},
        LAMS[nearest],
    )


def _mean_rates(theta: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lams, trials, p = theta.shape
    false, true = rates(theta.reshape(-1, p), truth)
    return false.reshape(lams, trials).mean(axis=1), true.reshape(lams, trials).mean(axis=1)
