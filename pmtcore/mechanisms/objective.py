"""Objective perturbation for labels 0 and 1: one noise draw, and the Jacobian for free (maths.md, 9).

Minimize ``sum w l(theta; x, y) + N(penalty) + (Lambda/2)||theta - c||^2 + b' theta`` with
``b ~ N(0, s^2 I)``: with scores of length at most R, ``s = 2 R/mu`` and a modulus of at least
``2 s^2 reach`` of all that is not data, the minimizer is mu-GDP under replace-one. What is computed has b on a grid and
leaves on a grid (``optimum``).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from pmtcore.accounting.objective import least_modulus, noise_sd
from pmtcore.accounting.spends import Spend
from pmtcore.base.records import Curator, Private
from pmtcore.glm.families import Family
from pmtcore.glm.newton import Rows, minimize
from pmtcore.mechanisms.grid import FINE, SLACK
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.optimum import Optimum, Sums

_MECHANISM = Curator("objective perturbation: only the minimizer with its noise leaves")
_ROUNDING_SHARE = 0.02  # of mu, for what is computed not being the ideal: 0.02 % more noise in the objective
_TOLERANCE = 1e-7  # of the noise on the gradient: below, its own noise would not be seen beside the objective's
_FAR = 100.0  # radius of the ball, times 1 + |centre|: whitened coefficients beyond saturate every row
_CURVATURE = 0.25  # of a label's loss


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
        return (1 + SLACK) * noise_sd(self.radius, self.mu * math.sqrt(1 - _ROUNDING_SHARE**2))

    @property
    def modulus(self) -> float:
        """``Lambda``: what has to be added to the penalty's own modulus."""
        return self.extra * max(least_modulus(self.noise, self.reach) - max(self._own, 0.0), 1e-9)

    @property
    def _own(self) -> float:
        return self.n * float(np.linalg.eigvalsh(self.penalty)[0])

    @cached_property
    def optimum(self) -> Optimum:
        """How near the computed minimizer is to the ideal one, and how it leaves."""
        d, centre = len(self.centre), float(np.linalg.norm(self.centre))
        held = float(np.linalg.norm(self.n * self.penalty + self.modulus * np.eye(d)))
        sums = Sums(
            n=self.n,
            d=d,
            length=self.radius,
            row=self.reach * self.radius,
            score=1.0,
            curvature=_CURVATURE,
            response=1.0,
            held=held,
            centre=centre,
            noise=self.noise,
        )
        wanted, modulus = _TOLERANCE * self.noise, self.modulus + max(self._own, 0.0)
        return Optimum(self.centre, _FAR * (1 + centre), modulus, wanted, sums.doubt, self.noise / FINE)

    @property
    def covering(self) -> float:
        """Standard deviation of the noise on the minimizer that covers what is not ideal."""
        return (1 + SLACK) * self.optimum.moved / (self.mu * _ROUNDING_SHARE)

    def parts(self) -> tuple[Spend, ...]:
        """The sum of scores that the objective's noise hides, and what is computed less the ideal."""
        return (
            Spend.gaussian("sum of scores, in a perturbed objective", 2 * self.radius, self.noise / (1 + SLACK)),
            Spend.gaussian("computed less ideal minimizer", self.optimum.moved, self.covering / (1 + SLACK)),
        )

    def release(self, rows: Private[Rows], source: NoiseSource, trials: int) -> np.ndarray:
        """Minimizers (trials, d), each with its own noise.

        Guarantee: mu-GDP under replace-one for labels 0 and 1 with a family of ``|b' - y| <= 1`` and
        ``b'' <= p(1 - p)``, rows within ``reach * radius`` and ``weight * ||x|| <= radius`` (maths.md, 9.1), as the
        epsilon that it means at every delta from 1e-300 on, for the bits that leave (maths.md, 21).
        """
        d, value = len(self.centre), rows.reveal(_MECHANISM)
        b = source.integers(FINE, trials, d) * (self.noise / FINE)
        modulus = self.modulus
        held = self.n * self.penalty + modulus * np.eye(d)

        def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            gradient, hessian = value.sums(self.family, theta)
            pull = self.n * theta @ self.penalty + modulus * (theta - self.centre)
            return gradient + pull + b, hessian + held

        start = np.broadcast_to(self.centre, (trials, d)).copy()
        found = minimize(derivatives, start, self.reach * self.radius, self.optimum.tolerance)
        return self.optimum.gaussian(found, self.mu * _ROUNDING_SHARE, source)
