"""The truncation radius and response scale, chosen from public data: free (``science.md`` 4.2; maths.md, 5).

Each candidate ``(R, c)`` is priced on the public rows, whitened as if left out, so that they behave as new
rows: what truncation would move the fit by (a bias, and the same in absolute value, which cannot cancel)
plus the privacy noise at ``n`` rows and this budget. The largest radius within 5 % of the best is taken.

Tried and set aside in the design: subtracting the sampling variance from the bias, tail extrapolation,
separate boxes for features and response. The price is measured in standardized coefficients, so the choice
does not depend on the units of the table (decision 0004).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from scipy.stats import chi2

from pmtcore.moments import PublicData, back_transform
from pmtcore.noise import sigma_for
from pmtcore.truncation import ball_weights, moment_sensitivity

RESPONSE_SCALES = (1.0, 1.4, 2.0, 2.8)
_MOST_ROWS = 4000
_TOLERANCE = 1.05
_ABSOLUTE_SHARE = 0.05


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


def coefficient_map(public: PublicData) -> np.ndarray:
    """``T`` (k, d): from whitened corrections to standardized slopes, in units of the public residual.

    Row j is ``sd_j (L_x^{-T})_j``: slopes times the public spread of their column, so that a change of units
    changes nothing; the intercept is left out.
    """
    slopes = back_transform(public.feature_root, np.eye(public.d)).T  # (d, d), L_x^{-T}
    moment = public.moment[: public.d, : public.d]
    if not public.has_intercept or public.d == 1:
        return np.asarray(slopes * np.sqrt(np.diag(moment))[:, None])
    spread = np.sqrt(np.maximum(np.diag(moment) - moment[0] ** 2, 0.0))
    return np.asarray((slopes * spread[:, None])[1:])


def accurate_ball(public: PublicData, n: int, mu: float) -> Ball:
    """The ball with the smallest predicted error at this budget."""
    rows = public.whitened
    if rows is None or public.m is None:
        return moment_only_ball(public.d + 1)
    rows = rows[:: math.ceil(len(rows) / _MOST_ROWS)]
    to_slopes = coefficient_map(public)
    prior = public.d / max(public.m - public.d - 1, 1)  # expected size of the correction, squared
    radii = _candidate_radii(rows)
    balls = [Ball(radius, c) for c in RESPONSE_SCALES for radius in radii]
    prices = np.array([_price(ball, rows, to_slopes, prior, n, mu) for ball in balls])
    good = prices <= _TOLERANCE * np.min(prices)
    best = balls[int(np.argmin(prices))]
    return max(
        (ball for ball, ok in zip(balls, good, strict=True) if ok and ball.response_scale == best.response_scale),
        key=lambda ball: ball.radius,
    )


def covering_ball(public: PublicData, factor: float) -> Ball:
    """``R^2 = factor`` times the largest left-out public norm^2: for bands that hold, not for least noise."""
    rows = public.whitened
    if rows is None:
        ball = moment_only_ball(public.d + 1)
        return Ball(ball.radius * math.sqrt(factor), ball.response_scale)
    return Ball(math.sqrt(factor * float(np.max(np.sum(rows**2, axis=1)))), 1.0)


def moment_only_ball(dimension: int) -> Ball:
    """Without public rows: the radius that Gaussian rows leave once in a thousand, on a fifth more room."""
    return Ball(math.sqrt(1.2 * float(chi2.ppf(0.999, dimension))), 1.0)


def _candidate_radii(rows: np.ndarray) -> np.ndarray:
    norms = np.sqrt(np.sum(rows**2, axis=1))
    low = 0.5 * float(np.median(norms))
    high = 4 * float(np.max(norms))
    return np.geomspace(low, high, 30)


def _price(ball: Ball, rows: np.ndarray, to_slopes: np.ndarray, prior: float, n: int, mu: float) -> float:
    d = rows.shape[1] - 1
    weights = ball.weights(rows)
    features, residual = rows[:, :d], rows[:, d]
    gram = features.T @ (weights[:, None] * features) / len(rows)
    inverse = np.linalg.pinv(gram, hermitian=True)
    moves = (1 - weights)[:, None] * residual[:, None] * features @ inverse @ to_slopes.T  # (m, k)
    bias = np.mean(moves, axis=0)
    absolute = np.mean(np.abs(moves), axis=0)
    variance = sigma_for(moment_sensitivity(ball.radius, n), mu) ** 2 / 2
    spread = to_slopes @ inverse
    noise = variance * (1 / ball.response_scale**2 + prior) * np.sum(spread**2)
    return float(np.sum(bias**2) + _ABSOLUTE_SHARE * np.sum(absolute**2) + noise)
