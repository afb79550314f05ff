"""The truncation radius and response scale, chosen from public data: free (``science.md`` 4.2; maths.md, 5).

Each candidate ``(R, c)`` is priced on the public rows, whitened as if left out, so that they behave as new
rows: what truncation would move the fit by (a bias, and the same in absolute value, which cannot cancel)
plus the privacy noise at ``n`` rows and this budget. The largest radius within 5 % of the best is taken.

The price is the error of predictions (coefficients in whitened units), so the choice does not depend on the
units of the table; prices in raw or in standardized coefficients chose the same radii within noise on the
real tables (decision 0004). Tried and set aside in the design: subtracting the sampling variance from the
bias, tail extrapolation, separate boxes for features and response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final
from weakref import WeakKeyDictionary

import numpy as np
from scipy.stats import chi2

from pmtcore.mechanisms.noise import sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.public.moments import PublicData

# half powers of 2: between two the price changes by a few percent (science.md 4.1)
RESPONSE_SCALES = (1.0, 1.4, 2.0, 2.8)
_CANDIDATES = 30  # radii on a log grid, a tenth apart
_MOST_ROWS = 2000  # public rows behind a choice; more change it by less than its tolerance
_TOLERANCE = 1.05  # the largest radius within 5 % of the best: a price read off public rows is no better known
ABSOLUTE_SHARE = 0.05  # of the bias that cannot cancel, counted as bias (science.md 4.2)


@final
@dataclass(frozen=True)
class Ball:
    """Truncation of the joint row ``(x~, c r~)`` to ``||.|| <= radius``."""

    radius: float
    response_scale: float

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """Weights (k,) of whitened joint rows (k, d + 1), the response not yet scaled."""
        scaled = np.sum(rows[:, :-1] ** 2, axis=1) + (self.response_scale * rows[:, -1]) ** 2
        return ball_weights(scaled, self.radius)


@final
@dataclass(frozen=True)
class _Candidates:
    """K balls with what does not depend on the budget: bias, and ``||P_w^{-1}||_F^2`` that noise is scaled by."""

    radii: np.ndarray
    scales: np.ndarray
    bias: np.ndarray
    spread: np.ndarray

    def best(self, prior: float, n: int, mu: float) -> Ball:
        """The largest radius priced within 5 % of the best, at the best response scale."""
        variance = (sigma_for(moment_sensitivity(1.0, n), mu) * self.radii**2) ** 2 / 2
        price = self.bias + variance * (1 / self.scales**2 + prior) * self.spread
        scale = self.scales[np.argmin(price)]
        near = (price <= _TOLERANCE * np.min(price)) & (self.scales == scale)
        return Ball(float(np.max(self.radii[near])), float(scale))


_CACHE: WeakKeyDictionary[PublicData, _Candidates] = WeakKeyDictionary()  # public figures only


def accurate_ball(public: PublicData, n: int, mu: float) -> Ball:
    """The ball with the smallest predicted error at this budget."""
    if public.whitened is None or public.m is None:
        return moment_only_ball(public.d + 1)
    if public not in _CACHE:
        _CACHE[public] = _candidates(public.whitened)
    prior = public.d * public.fit_variance  # expected size of the correction, squared
    return _CACHE[public].best(prior, n, mu)


def covering_ball(public: PublicData, factor: float) -> Ball:
    """``R^2 = factor`` times the largest left-out public norm^2: for bands that hold, not for least noise."""
    rows = public.whitened
    if rows is None:
        ball = moment_only_ball(public.d + 1)
        return Ball(ball.radius * math.sqrt(factor), ball.response_scale)
    return Ball(math.sqrt(factor * float(np.max(np.sum(rows**2, axis=1)))), 1.0)


def inference_ball(public: PublicData, n: int, mu: float) -> Ball:
    """Four times the largest public norm^2 where the noise is then below the sampling error, else twice."""
    wide = covering_ball(public, 4.0)
    sigma = sigma_for(moment_sensitivity(wide.radius, n), mu)
    return wide if sigma**2 / 2 < 1 / n else covering_ball(public, 2.0)


def moment_only_ball(dimension: int) -> Ball:
    """Without public rows: the radius that Gaussian rows leave once in a thousand, and a fifth more room."""
    return Ball(math.sqrt(1.2 * float(chi2.ppf(0.999, dimension))), 1.0)


def cut_off(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """What weights (m,) take from the gradients ``x~ r~`` of whitened joint rows (m, D): (m, d)."""
    return np.asarray(((1 - weights) * rows[:, -1])[:, None] * rows[:, :-1])


def truncation_variance(public: PublicData, ball: Ball) -> float:
    """What truncation moves ``q`` by on public rows, squared, per coordinate; 0 where only a moment is known."""
    rows = public.whitened
    if rows is None:
        return 0.0
    lost = cut_off(rows, ball.weights(rows))
    together, apart = np.mean(lost, axis=0), np.mean(np.linalg.norm(lost, axis=1))
    return float(np.sum(together**2) + ABSOLUTE_SHARE * apart**2) / public.d


def _candidates(rows: np.ndarray) -> _Candidates:
    rows = rows[:: math.ceil(len(rows) / _MOST_ROWS)]
    norms = np.linalg.norm(rows, axis=1)
    radii = np.geomspace(0.5 * float(np.median(norms)), 4 * float(np.max(norms)), _CANDIDATES)
    scales = np.repeat(RESPONSE_SCALES, _CANDIDATES)
    radii = np.tile(radii, len(RESPONSE_SCALES))
    squared = np.sum(rows[:, :-1] ** 2, axis=1) + (scales[:, None] * rows[:, -1]) ** 2  # (K, m)
    weights = ball_weights(squared, radii[:, None])
    price, spread = np.empty(len(radii)), np.empty(len(radii))
    whole: tuple[float, float] | None = None
    for k in range(len(radii)):  # one candidate at a time: all at once would need K m d numbers
        cut = weights[k] < 1
        if whole is None or np.any(cut):
            found = _priced(rows, weights[k], cut)
            whole = whole if np.any(cut) else found  # the same for all radii that cut no row
        else:
            found = whole
        price[k], spread[k] = found
    return _Candidates(radii, scales, price, spread)


def _priced(rows: np.ndarray, weights: np.ndarray, cut: np.ndarray) -> tuple[float, float]:
    """Bias of weights (m,), its absolute part included, and ``||P_w^{-1}||_F^2``."""
    features, m = rows[:, :-1] * np.sqrt(weights)[:, None], len(rows)
    gram = features.T @ features / m
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        inverse = np.linalg.pinv(gram, hermitian=True)
    moves = cut_off(rows[cut], weights[cut]) @ inverse
    together, apart = np.sum(moves, axis=0) / m, np.sum(np.abs(moves), axis=0) / m
    return float(np.sum(together**2) + ABSOLUTE_SHARE * np.sum(apart**2)), float(np.sum(inverse**2))
