"""Objective perturbation for labels 0 and 1: one noise draw, and the Jacobian for free (maths.md, 9).

Minimize ``sum w l(theta; x, y) + N(penalty) + (Lambda/2)||theta - c||^2 + b' theta`` with
``b ~ N(0, s^2 I)``: with scores of length at most R, ``s = 2 R/mu`` and a modulus of at least
``2 s^2 reach`` of all that is not data, the minimizer is mu-GDP under replace-one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.accounting.objective import least_modulus, noise_sd
from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Curator, Private
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.models.families import Family
from pmtcore.models.newton import ROUNDING, Rows, minimize

_MECHANISM = Curator("objective perturbation: only the minimizer with its noise leaves")
_ROUNDING_SHARE = 0.01  # of mu, for the optimum that is found only to a tolerance
_TOLERANCE = 1e-7  # of the noise on the gradient


@final
@dataclass(frozen=True)
class Perturbation:
    """The mechanism with everything public fixed.

    Attributes:
        radius, reach: scores are at most ``radius`` long, rows at most ``reach * radius``.
        mu: total budget under replace-one.
        penalty: (d, d), added to the mean loss as ``theta' penalty theta / 2``.
        centre: (d,), where the extra modulus pulls to.
        extra: factor on the least modulus; 1 is what privacy needs.
    """

    family: Family
    n: int
    radius: float
    reach: float
    mu: float
    penalty: np.ndarray
    centre: np.ndarray
    extra: float = 1.0

    @property
    def noise(self) -> float:
        """``s``: standard deviation of each coordinate of b, on the scale of the sum of losses."""
        return noise_sd(self.radius, self.mu * math.sqrt(1 - _ROUNDING_SHARE**2))

    @property
    def modulus(self) -> float:
        """``Lambda``: what has to be added to the penalty's own modulus."""
        own = self.n * float(np.linalg.eigvalsh(self.penalty)[0])
        return self.extra * max(least_modulus(self.noise, self.reach) - max(own, 0.0), 1e-9)

    @property
    def tolerance(self) -> float:
        """Length of the gradient at which the optimum counts as found.

        Never below what floating point leaves, a public figure: a release must not fail because of a row.
        """
        pushed = self.n * self.radius + 10 * math.sqrt(len(self.centre)) * self.noise
        rounding = ROUNDING * (pushed + self.modulus * float(np.linalg.norm(self.centre)))
        return max(_TOLERANCE * self.noise, rounding)

    @property
    def distance(self) -> float:
        """How far apart two points within the tolerance of one optimum may lie."""
        held = self.n * float(np.linalg.eigvalsh(self.penalty)[0]) + self.modulus
        return 2 * self.tolerance / held

    @property
    def covering(self) -> float:
        """Standard deviation of the noise that covers :attr:`distance` at its share of mu."""
        return self.distance / (self.mu * _ROUNDING_SHARE)

    def parts(self) -> tuple[Spend, ...]:
        """The sum of scores that the objective's noise hides, and the tolerance of the solver."""
        return (
            Spend.gaussian("sum of scores, in a perturbed objective", 2 * self.radius, self.noise),
            Spend.gaussian("tolerance of the solver", self.distance, self.covering),
        )

    def release(self, rows: Private[Rows], source: NoiseSource, trials: int) -> np.ndarray:
        """Minimizers (trials, d), each with its own noise.

        Guarantee: mu-GDP under replace-one for labels 0 and 1 with a family of ``|b' - y| <= 1`` and
        ``b'' <= p(1 - p)``, rows within ``reach * radius`` and ``weight * ||x|| <= radius`` (maths.md, 9.1).
        The optimum is found to a tolerance; the noise that covers it is 1 % of mu, and part of the total.
        """
        d, value = len(self.centre), rows.reveal(_MECHANISM)
        b = self.noise * source.normal(trials, d)
        modulus = self.modulus
        held = self.n * self.penalty + modulus * np.eye(d)

        def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            gradient, hessian = value.sums(self.family, theta)
            pull = self.n * theta @ self.penalty + modulus * (theta - self.centre)
            return gradient + pull + b, hessian + held

        start = np.broadcast_to(self.centre, (trials, d)).copy()
        found = minimize(derivatives, start, self.reach * self.radius, self.tolerance)
        return np.asarray(found + self.covering * source.normal(trials, d))
