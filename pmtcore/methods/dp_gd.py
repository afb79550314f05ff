"""``dp-gd``: noisy clipped gradient descent (A, section 6, after Avella-Medina, Bradshaw and Loh 2023).

    beta <- beta - lr (mean clip_c((b' - y) x) + P beta + g),   g ~ N(0, (2 c sqrt(T)/(mu n))^2 I)

T steps from 0 on untransformed rows, each row's gradient clipped to length c. Neighbours: replace-one. The
budget is a total, as in the paper's own experiments for this method (E20).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import final

import numpy as np

from pmtcore.accounting.budgets import Budget, Neighbours
from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Private, PrivateRows, Standing
from pmtcore.mechanisms.grid import SLACK
from pmtcore.mechanisms.integers import FACTOR, WholeRows, at, noisy_vector
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import Method, Outcome, Parameters, Plan, parameter, register
from pmtcore.models.families import FAMILIES
from pmtcore.public.moments import PublicData, joint


@dataclass(frozen=True, kw_only=True)
class DescentParameters(Parameters):
    """Public parameters of ``dp-gd``."""

    steps: int = parameter(200, label="Steps", help="Each step spends its share of the budget.", low=1, high=100_000)
    clip: float = parameter(
        1.0, label="Gradient clip", help="Each row's gradient is clipped to this length.", low=1e-9, high=1e9, log=True
    )
    rate: float = parameter(0.09, label="Learning rate", help="Length of a step.", low=1e-9, high=1e6, log=True)


@final
@dataclass(frozen=True)
class DescentPlan(Plan):
    """``dp-gd`` with everything fixed."""

    public: PublicData
    n: int
    mu: float
    parameters: DescentParameters

    @property
    def sigma(self) -> float:
        """``2 c sqrt(T)/(mu n)``."""
        return sigma_for(2 * self.parameters.clip / self.n, self.mu / math.sqrt(self.parameters.steps))

    def measure(self, rows: PrivateRows) -> Private[WholeRows]:
        """The rows as integer directions and lengths, private."""
        return rows.concatenate(joint).map(lambda z: WholeRows.of_any_length(z[:, :-1], z[:, -1]))

    def perturb(self, statistic: Private[WholeRows], source: NoiseSource, trials: int) -> DescentOutcome:
        """The descent, all trials at once.

        Guarantee: T Gaussian mechanisms at ``mu/sqrt(T)`` each, together mu-GDP under replace-one, for the bits that
        leave (maths.md, 14 and 19).
        """
        public, p = self.public, self.parameters
        free = np.ones(public.d)
        free[0] = 0.0 if public.has_intercept else 1.0
        theta, unit = np.zeros((trials, public.d)), p.clip / FACTOR**2 / self.n
        for _ in range(p.steps):
            total = at(statistic, partial(self._clipped, theta))
            noisy = noisy_vector(total, (1 + SLACK) * self.sigma / unit, source, trials)
            theta = theta - p.rate * (noisy * unit + public.lam * free * theta)
        return DescentOutcome(theta)

    def _clipped(self, theta: np.ndarray, rows: WholeRows) -> np.ndarray:
        """Sums of clipped gradients (t, d), integers."""
        return rows.scores(self.public.family, theta, self.parameters.clip, clipped=True)

    def parts(self) -> tuple[Spend, ...]:
        """One clipped gradient for each step."""
        return (
            Spend.gaussian("clipped gradient", 2 * self.parameters.clip / self.n, self.sigma, self.parameters.steps),
        )

    def facts(self) -> Facts:
        """Noise of each step."""
        return Facts(noise_sd=self.sigma, penalty=self.public.lam)


@final
class DescentOutcome(Outcome):
    """Last iterates (trials, d)."""

    def __init__(self, theta: np.ndarray) -> None:
        self._theta = theta

    @property
    def coefficients(self) -> np.ndarray:
        """See :class:`Outcome`."""
        return self._theta

    def notes(self) -> tuple[str, ...]:
        """It has no bands."""
        return ("This method has no error bands.",)


def _plan(public: PublicData, n: int, budget: Budget, parameters: DescentParameters) -> DescentPlan:
    return DescentPlan(public, n, budget.mu, parameters)


register(
    Method(
        id="dp-gd",
        title="Noisy gradient descent",
        summary="Clipped gradients of untransformed rows with noise at every step.",
        task="any",
        source="A, section 6; Avella-Medina et al. 2023",
        neighbours=Neighbours.REPLACE_ONE,
        standing=Standing.SOUND,
        standing_reason="T Gaussian mechanisms on clipped gradients",
        exact=True,
        errata=("E20",),
        parameters=DescentParameters,
        plan=_plan,
        families=tuple(FAMILIES),
        needs_labels=False,
        colour="#F0E442",
    )
)
