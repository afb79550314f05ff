"""Randomizers of one bounded vector: Gaussian, and PrivUnit in the direction (maths.md, 12).

PrivUnit (Bhowmick et al. 2018) is purely epsilon-private: a unit vector is replaced by one drawn from the cap
around it with probability p, from the rest of the sphere otherwise. A vector shorter than the bound is first
turned into a unit vector with the right mean: its direction or the opposite one. Epsilon-privacy implies
mu-GDP with ``mu = 2 Phi^{-1}(e^eps/(1 + e^eps))``, so a budget in mu is met by the epsilon that this gives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betainc, betaincinv, betaln

from pmtcore.base.checks import number_between
from pmtcore.base.records import Curator, Private
from pmtcore.mechanisms.noise import NoiseSource, uniform

_MECHANISM = Curator("local randomizers: every row is randomized on its own")
_REST = (
    2.0**-30
)  # least probability of the rest of the sphere: one that rounds to 0 would tell cap from rest for certain
_SMALLEST_CAP = 1e-250


@final
@dataclass(frozen=True)
class PrivUnit:
    """The randomizer at one epsilon in d dimensions, its cap chosen for the least variance.

    Attributes:
        threshold: the cap is ``{v: <v, u> >= threshold}``.
        keep: probability of the cap.
        shrink: ``E<v, u>``; reports are divided by it.
    """

    d: int
    epsilon: float
    threshold: float
    keep: float
    shrink: float

    @classmethod
    def at(cls, d: int, epsilon: float) -> PrivUnit:
        """The best cap; for d = 1 this is randomized response."""
        number_between("epsilon", epsilon, 1e-6, 500.0)
        if d == 1:
            keep = _kept(epsilon)
            return cls(1, epsilon, 0.0, keep, 2 * keep - 1)
        widest = min(0.999, 1 - 2 * float(betaincinv((d - 1) / 2, (d - 1) / 2, _SMALLEST_CAP)))
        found = minimize_scalar(lambda t: -_shrink(d, epsilon, t)[1], bounds=(0.0, widest), method="bounded")
        keep, shrink = _shrink(d, epsilon, float(found.x))
        return cls(d, epsilon, float(found.x), keep, shrink)

    @property
    def log_ratio(self) -> float:
        """Largest log ratio of densities, recomputed from the parameters: at most epsilon."""
        cap = _cap(self.d, self.threshold)
        return math.log(self.keep) - math.log(cap) - math.log1p(-self.keep) + math.log1p(-cap)

    def randomize(self, vectors: np.ndarray, bound: float, source: NoiseSource) -> np.ndarray:
        """Unbiased reports (k, d) of vectors (k, d) of length at most ``bound``, each of length ``bound/shrink``.

        Guarantee: epsilon-LDP for each row, so mu-GDP with :func:`mu_for` (maths.md, 12).
        """
        k, d = vectors.shape
        length = np.linalg.norm(vectors, axis=1)
        if np.any(length > bound * (1 + 1e-9)):
            raise ValueError("a vector is longer than its bound")
        unit = vectors / np.maximum(length, 1e-300)[:, None]
        lost = length <= 1e-300
        if np.any(lost):
            unit[lost] = np.eye(1, d)
        draws = uniform(source, k, 3)
        unit *= np.where(draws[:, 0] < (1 + np.minimum(length / bound, 1.0)) / 2, 1.0, -1.0)[:, None]
        along, beside = self._along(draws[:, 1] < self.keep, draws[:, 2])
        if d == 1:
            return np.asarray(bound / self.shrink * along[:, None] * unit)
        across = source.normal(k, d)
        across -= np.einsum("kd,kd->k", across, unit)[:, None] * unit
        across /= np.linalg.norm(across, axis=1)[:, None]
        return np.asarray(bound / self.shrink * (along[:, None] * unit + beside[:, None] * across))

    def _along(self, inside: np.ndarray, draw: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``<v, u>`` in the cap or out of it, by inversion, and the length of what is orthogonal to u.

        In the cap the small tail is inverted, never its complement: a cap of share below 1e-16 would round to
        the single point u, and the report would be the vector itself.
        """
        if self.d == 1:
            return np.where(inside, 1.0, -1.0), np.zeros(len(draw))
        half, cap = (self.d - 1) / 2, _cap(self.d, self.threshold)
        gap = np.empty(len(draw))  # (1 - <v, u>)/2
        gap[inside] = betaincinv(half, half, (1 - draw[inside]) * cap)
        gap[~inside] = 1 - betaincinv(half, half, draw[~inside] * (1 - cap))
        gap = np.clip(gap, 0.0, 1.0)
        return 1 - 2 * gap, 2 * np.sqrt(gap * (1 - gap))


def _cap(d: int, threshold: float) -> float:
    """Share of the sphere in the cap."""
    if d == 1:
        return 0.5
    half = (d - 1) / 2
    return float(betainc(half, half, (1 - threshold) / 2))


def _shrink(d: int, epsilon: float, threshold: float) -> tuple[float, float]:
    """Probability of the cap at this epsilon, and ``E<v, u>``."""
    cap = _cap(d, threshold)
    keep = _kept(epsilon + math.log(cap) - math.log1p(-cap))
    moment = math.exp((d - 1) / 2 * math.log1p(-(threshold**2)) - math.log(d - 1) - betaln(0.5, (d - 1) / 2))
    return keep, moment * (keep / cap - (1 - keep) / (1 - cap))


def _kept(odds: float) -> float:
    """Probability of the cap from its log odds, rounded to the private side: the rest always keeps a share."""
    return min(1 / (1 + math.exp(-max(odds, -700.0))), 1 - _REST) * (1 - 2.0**-50)


@final
@dataclass(frozen=True)
class Gaussian:
    """Noise ``N(0, (diameter/mu)^2 I)`` on a vector whose values differ by at most ``diameter``."""

    mu: float
    diameter: float

    @cached_property
    def sd(self) -> float:
        """Standard deviation of each coordinate."""
        return self.diameter / self.mu

    def randomize(self, vectors: np.ndarray, source: NoiseSource) -> np.ndarray:
        """Vectors (k, d) plus noise.

        Guarantee: mu-GDP for each row (maths.md, 2).
        """
        return np.asarray(vectors + self.sd * source.normal(*vectors.shape))


def release_mean(
    statistic: Private[np.ndarray], source: NoiseSource, trials: int, by: PrivUnit | np.ndarray, bound: float = 0.0
) -> np.ndarray:
    """Mean reports (trials, dimension): of rows (n, d) by PrivUnit, or of a mean by the sds of the mean's noise.

    The mean of n Gaussian reports has the distribution of the exact mean plus one Gaussian draw.

    Guarantee: that of the randomizer, for each row.
    """
    value = statistic.reveal(_MECHANISM)
    if isinstance(by, PrivUnit):
        return np.stack([by.randomize(value, bound, source).mean(axis=0) for _ in range(trials)])
    return np.asarray(value + by * source.normal(trials, len(value)))
