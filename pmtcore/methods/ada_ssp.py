"""``ada-ssp``: adaptive sufficient statistics perturbation (Wang 2018), in GDP form.

Three mechanisms at ``mu/sqrt(3)`` each: the smallest eigenvalue, the moment, the cross moment of
untransformed rows. The first sets the ridge ``max(0, sqrt(d log(2 d^2/eta)) sigma - lambda)`` that keeps the
second invertible. Bounds are public: 1.1 times the longest
public row and the largest public response, which is generous to it. Neighbours: replace-one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.special import ndtri

from pmtcore.accounting.budgets import Budget, Neighbours
from pmtcore.accounting.spends import Spend
from pmtcore.base.checks import InputError
from pmtcore.base.records import Private, PrivateRows, Standing
from pmtcore.mechanisms.noise import NoiseSource, release_symmetric, release_vector, sigma_for
from pmtcore.mechanisms.truncation import cross_sensitivity, moment_sensitivity, truncate
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import Method, Outcome, Plan, register
from pmtcore.methods.two_part.whitened import PmtParameters
from pmtcore.public.moments import PublicData

_ROOM = 1.1


@final
@dataclass(frozen=True)
class AdaptivePlan(Plan):
    """``ada-ssp`` with bounds fixed."""

    public: PublicData
    n: int
    mu: float
    radius: float
    response_radius: float
    eta: float

    @property
    def sigmas(self) -> tuple[float, float, float]:
        """Noise on the smallest eigenvalue (sensitivity ``R^2/n``), the moment, the cross moment."""
        part = self.mu / math.sqrt(3)
        return (
            sigma_for(self.radius**2 / self.n, part),
            sigma_for(moment_sensitivity(self.radius, self.n), part),
            sigma_for(cross_sensitivity(self.radius, self.response_radius, self.n), part),
        )

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Moment and cross moment side by side (d, d + 1), private."""

        def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            x = truncate(features, self.radius)
            y = np.clip(response, -self.response_radius, self.response_radius)
            return np.column_stack([x.T @ x, x.T @ y])

        return rows.sum(block).map(lambda total: total / self.n)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> AdaptiveOutcome:
        """The release.

        Guarantee: three Gaussian mechanisms at ``mu/sqrt(3)`` each, together mu-GDP under replace-one; by
        Weyl's inequality replacing a row moves the smallest eigenvalue by at most ``R^2/n`` (maths.md, 11).
        """
        d = self.public.d
        eigen_sd, moment_sd, cross_sd = self.sigmas
        smallest = statistic.map(lambda s: np.linalg.eigvalsh(s[:, :-1])[:1])
        eigen = release_vector(smallest, eigen_sd, source, trials)[:, 0]
        eigen = np.maximum(eigen - eigen_sd * float(-ndtri(self.eta)), 0.0)
        ridge = np.maximum(math.sqrt(d * math.log(2 * d * d / self.eta)) * moment_sd - eigen, 0.0)
        gram = release_symmetric(statistic.map(lambda s: s[:, :-1]), moment_sd, source, trials, "isometric")
        cross = release_vector(statistic.map(lambda s: s[:, -1]), cross_sd, source, trials)
        held = gram + ridge[:, None, None] * np.eye(d)
        return AdaptiveOutcome(np.linalg.solve(held, cross[..., None])[..., 0])

    def parts(self) -> tuple[Spend, ...]:
        """Smallest eigenvalue, moment, cross moment."""
        eigen_sd, moment_sd, cross_sd = self.sigmas
        cross = cross_sensitivity(self.radius, self.response_radius, self.n)
        return (
            Spend.gaussian("smallest eigenvalue", self.radius**2 / self.n, eigen_sd),
            Spend.gaussian("second moment", moment_sensitivity(self.radius, self.n), moment_sd),
            Spend.gaussian("cross moment", cross, cross_sd),
        )

    def facts(self) -> Facts:
        """Bounds and noise scales."""
        return Facts(radius=self.radius, noise_sd=self.sigmas[1], more={"response_radius": self.response_radius})


@final
class AdaptiveOutcome(Outcome):
    """Solutions (trials, d)."""

    def __init__(self, solution: np.ndarray) -> None:
        self._solution = solution

    @property
    def coefficients(self) -> np.ndarray:
        """See :class:`Outcome`."""
        return self._solution

    def notes(self) -> tuple[str, ...]:
        """It has no bands."""
        return ("This method has no error bands.",)


def _plan(public: PublicData, n: int, budget: Budget, parameters: PmtParameters) -> AdaptivePlan:
    if public.rows is None:
        raise InputError("ada-ssp takes its bounds from public rows; a moment matrix has none.")
    longest = float(np.max(np.linalg.norm(public.rows[:, :-1], axis=1)))
    response = float(np.max(np.abs(public.rows[:, -1])))
    return AdaptivePlan(public, n, budget.mu, _ROOM * longest, _ROOM * response, parameters.eta)


register(
    Method(
        id="ada-ssp",
        title="Adaptive sufficient statistics",
        summary="Noisy moments of untransformed rows with a ridge set from a noisy smallest eigenvalue.",
        task="linear",
        source="Wang 2018, in GDP form",
        neighbours=Neighbours.REPLACE_ONE,
        standing=Standing.SOUND,
        standing_reason="three Gaussian mechanisms on rows clipped to public bounds",
        errata=(),
        parameters=PmtParameters,
        plan=_plan,
        colour="#44AA99",
    )
)
