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
from scipy.integrate import quad
from scipy.special import ndtr
from scipy.stats import norm

from pmtcore.budgets import delta_from_mu
from pmtcore.families import Family
from pmtcore.newton import ROUNDING, Rows, minimize
from pmtcore.noise import NoiseSource
from pmtcore.records import Curator, Private

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

    def release(self, rows: Private[Rows], source: NoiseSource, trials: int) -> np.ndarray:
        """Minimizers (trials, d), each with its own noise.

        Guarantee: mu-GDP under replace-one for labels 0 and 1 with a family of ``|b' - y| <= 1`` and
        ``b'' <= p(1 - p)``, rows within ``reach * radius`` and ``weight * ||x|| <= radius`` (maths.md, 9.1).
        The optimum is found to a tolerance; the noise that covers it is 1 % of mu, and part of the total.
        """
        d, value = len(self.centre), rows.reveal(_MECHANISM)
        b = self.noise * source.normal(trials, d)
        # never below what floating point leaves, a public figure: a release must not fail because of a row
        pushed = self.n * self.radius + 10 * math.sqrt(d) * self.noise
        tolerance = max(
            _TOLERANCE * self.noise, ROUNDING * (pushed + self.modulus * float(np.linalg.norm(self.centre)))
        )
        modulus = self.modulus
        held = self.n * self.penalty + modulus * np.eye(d)

        def derivatives(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            gradient, hessian = value.sums(self.family, theta)
            pull = self.n * theta @ self.penalty + modulus * (theta - self.centre)
            return gradient + pull + b, hessian + held

        start = np.broadcast_to(self.centre, (trials, d)).copy()
        found = minimize(derivatives, start, self.reach * self.radius, tolerance)
        covered = 2 * tolerance / (float(np.linalg.eigvalsh(held)[0]) * self.mu * _ROUNDING_SHARE)
        return np.asarray(found + covered * source.normal(trials, d))


def noise_sd(radius: float, mu: float) -> float:
    """``s = 2 R/mu``: replacing a row is removing one and adding one (maths.md, 9.1)."""
    if not (radius > 0 and mu > 0 and math.isfinite(radius) and math.isfinite(mu)):
        raise ValueError("radius and mu must be positive and finite")
    return 2 * radius / mu


def least_modulus(noise: float, reach: float = 1.0) -> float:
    """``2 s^2 reach``: from here on the Jacobian costs nothing (maths.md, 9.1)."""
    if not reach >= 1:
        raise ValueError("reach must be at least 1")
    return 2 * noise**2 * reach


def delta_sign_fixed(epsilon: float, mu: float, log_jacobian: float) -> float:
    """Add-remove delta where the label fixes the sign of ``b' - y``: ``delta_mu(eps - c)`` from ``eps = c`` on.

    Below, ``1 - exp(eps - c) (1 - delta_mu(0))``: the loss is at most ``(mu Z + mu^2/2)_+ + c``.

    Args:
        mu: ``G R/s``.
        log_jacobian: ``c = log(1 + B R^2/w)``, ``b'' <= B``, w the modulus.
    """
    if epsilon >= log_jacobian:
        return delta_from_mu(mu, epsilon - log_jacobian)
    return 1 - math.exp(epsilon - log_jacobian) * (1 - delta_from_mu(mu, 0.0))


def delta_any_sign(epsilon: float, mu: float, log_jacobian: float, replace: bool) -> float:
    """Delta of the loss ``mu |Z| + mu^2/2 + c`` (add-remove), or ``2 mu chi_2 + 2 mu^2 + c`` (replace-one).

    ``E[(1 - exp(eps - L))_+]`` integrated numerically (maths.md, 9.2).
    """
    size = 2 * mu if replace else mu
    start = max((epsilon - log_jacobian - size**2 / 2) / size, 0.0)

    def part(z: float) -> float:
        density = z * math.exp(-(z**2) / 2) if replace else 2 * float(norm.pdf(z))
        return density * -math.expm1(min(epsilon - (size * z + size**2 / 2 + log_jacobian), 0.0))

    tail = math.exp(-(start**2) / 2) if replace else 2 * float(ndtr(-start))
    found = quad(part, start, start + 40, epsabs=1e-14, limit=200)[0]
    return min(max(found, 0.0), tail)
