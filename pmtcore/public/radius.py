"""Choice of the truncation radius and response scale from public data (proofs/radius.md, 5).

Each candidate ``(R, c)`` is priced on the public rows. They are whitened as if left out, so that they behave like new
rows. The price adds the squared bias of truncation (and a share of the same with absolute values, which cannot cancel)
and the variance of the privacy noise at ``n`` rows and this budget. Of the radii within 5 % of the best price, the
largest is taken. The choice costs no privacy.

The price is the error of predictions (coefficients in whitened units), so the choice does not depend on the
units of the table; prices in raw or in standardized coefficients chose the same radii within noise on the
real tables (decision 0004). Three variants were tried and rejected: subtracting the sampling variance from the
bias, extrapolating the tail, and separate boxes for features and response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from pmtcore.base.distributions import chi2
from pmtcore.base.symmetric import mirrored
from pmtcore.mechanisms.noise import sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.public.moments import PublicData

# Half powers of 2: between neighbours the price changes by a few percent.
RESPONSE_SCALES = (1.0, 1.4, 2.0, 2.8)
# Number of radii on a log grid: they are a tenth apart.
_RADII_TRIED = 30
# Public rows behind a choice: more of them change it by less than its tolerance.
_MOST_PUBLIC_ROWS = 2000
# The largest radius within 5 % of the best is taken: a price estimated on public rows is no better known.
_PRICE_TOLERANCE = 1.05
# Share of the absolute shift, which cannot cancel, that counts as bias.
ABSOLUTE_SHARE = 0.05


@dataclass(frozen=True)
class Ball:
    """Truncation of the joint row ``(x~, c r~)`` to ``||.|| <= radius``.

    Attributes:
        radius: R, in whitened units.
        response_scale: c.
    """

    radius: float
    response_scale: float

    def weights(self, rows: np.ndarray) -> np.ndarray:
        """Return the truncation weights (k,) of whitened joint rows.

        Args:
            rows: whitened joint rows (k, d + 1), the response not yet multiplied by the response scale.
        """
        return self._weights(np.sum(rows[:, :-1] ** 2, axis=1), rows[:, -1])

    def public_weights(self, public: PublicData) -> np.ndarray:
        """Return the weights (m,) of the public rows, whitened as if left out; none where only a moment is known."""
        rows = public.whitened
        return np.empty(0) if rows is None else self._weights(public.whitened_squares, rows[:, -1])

    def _weights(self, squares: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the weights (k,) of rows with these squared lengths of their features (k,) and responses (k,)."""
        return ball_weights(squares + (self.response_scale * response) ** 2, self.radius)


@dataclass(frozen=True, eq=False)
class _Candidates:
    """Candidate balls with the parts of their price that do not depend on the budget.

    A price takes an inverse and a product of matrices. So all balls are first priced as if truncation left the public
    Gram matrix as it is, but for the largest weight: for one inverse and one product of matrices together, and too low.
    Only balls of which that says less than the least price known are then priced.

    Attributes:
        rows: whitened joint rows (m, d + 1).
        radii: (K,).
        scales: response scales (K,).
        weights: of the rows in each ball (K, m).
        low: squared bias of truncation, and the factor on the variance of the noise, both too low (2, K).
        known: the same figures as they are (2, K), NaN until they are asked for.
    """

    rows: np.ndarray
    radii: np.ndarray
    scales: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> _Candidates:
        """Return them for whitened joint rows (m, d + 1)."""
        rows = rows[:: math.ceil(len(rows) / _MOST_PUBLIC_ROWS)]
        norms = np.linalg.norm(rows, axis=1)
        radii = np.geomspace(0.5 * float(np.median(norms)), 4 * float(np.max(norms)), _RADII_TRIED)
        scales = np.repeat(RESPONSE_SCALES, _RADII_TRIED)
        radii = np.tile(radii, len(RESPONSE_SCALES))
        squared = np.sum(rows[:, :-1] ** 2, axis=1) + (scales[:, None] * rows[:, -1]) ** 2  # (K, m)
        weights = ball_weights(squared, radii[:, None])
        largest = np.max(weights, axis=1)
        inverse = _inverse_gram(rows, np.ones(len(rows)))
        moves = (rows[:, :-1] * rows[:, -1:]) @ inverse / len(rows)
        bias = squared_bias((1 - weights) @ moves, (1 - weights) @ np.abs(moves))
        low = np.array([bias, np.full(len(radii), np.sum(inverse**2))]) / largest**2
        # A ball that cuts no row leaves the matrix as it is.
        known = np.where(np.min(weights, axis=1) == 1.0, low, np.nan)
        return cls(rows, radii, scales, weights, low, known)

    def best(self, prior: float, n: int, mu: float) -> Ball:
        """Return the largest ball priced within 5 % of the best, at the response scale of the best.

        Args:
            prior: expected squared size of the correction.
            n: number of private rows.
            mu: budget of the moment.
        """
        variance = (sigma_for(moment_sensitivity(1.0, n), mu) * self.radii**2) ** 2 / 2
        noise = variance * (1 / self.scales**2 + prior)
        low = self.low[0] + noise * self.low[1]
        price = np.full(len(low), np.inf)
        for k in np.argsort(low):
            if low[k] > _PRICE_TOLERANCE * np.min(price):
                break
            bias, spread = self._of(k)
            price[k] = bias + noise[k] * spread
        scale = self.scales[np.argmin(price)]
        near = (price <= _PRICE_TOLERANCE * np.min(price)) & (self.scales == scale)
        return Ball(float(np.max(self.radii[near])), float(scale))

    def _of(self, k: int) -> np.ndarray:
        """Return squared bias and factor of the noise (2,) of one ball."""
        if np.isnan(self.known[0, k]):
            self.known[:, k] = _priced(self.rows, self.weights[k])
        return np.asarray(self.known[:, k])


_CACHE: WeakKeyDictionary[PublicData, _Candidates] = WeakKeyDictionary()  # public figures only


def accurate_ball(public: PublicData, n: int, mu: float) -> Ball:
    """Return the ball with the smallest predicted error at this budget.

    Args:
        public: public data; without rows, :func:`moment_only_ball` decides.
        n: number of private rows.
        mu: budget of the moment.
    """
    if public.whitened is None or public.m is None:
        return moment_only_ball(public.d + 1)
    if public not in _CACHE:
        _CACHE[public] = _Candidates.of(public.whitened)
    prior = public.d * public.fit_variance  # expected size of the correction, squared
    return _CACHE[public].best(prior, n, mu)


def covering_ball(public: PublicData, factor: float) -> Ball:
    """Return the ball with ``R^2 = factor`` times the largest left-out squared norm of a public row.

    It truncates almost no row, so confidence intervals keep their coverage; its noise is not the least.
    """
    rows = public.whitened
    if rows is None:
        ball = moment_only_ball(public.d + 1)
        return Ball(ball.radius * math.sqrt(factor), ball.response_scale)
    return Ball(math.sqrt(factor * float(np.max(np.sum(rows**2, axis=1)))), 1.0)


def inference_ball(public: PublicData, n: int, mu: float) -> Ball:
    """Return the ball for confidence intervals: the wider one where its noise is below the sampling error.

    The wider ball has four times, the narrower one twice the largest squared norm of a public row.
    """
    wide = covering_ball(public, 4.0)
    sigma = sigma_for(moment_sensitivity(wide.radius, n), mu)
    return wide if sigma**2 / 2 < 1 / n else covering_ball(public, 2.0)


def moment_only_ball(dimension: int) -> Ball:
    """Return the ball for data without public rows.

    Its squared radius is 1.2 times the 0.999 quantile of the squared norm of a Gaussian row.

    Args:
        dimension: number of coordinates of a row.
    """
    return Ball(math.sqrt(1.2 * float(chi2.ppf(0.999, dimension))), 1.0)


def cut_off(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the part (m, d) of each gradient ``x~ r~`` that truncation removes.

    Args:
        rows: whitened joint rows (m, d + 1).
        weights: truncation weights (m,).
    """
    return np.asarray(((1 - weights) * rows[:, -1])[:, None] * rows[:, :-1])


def truncation_variance(public: PublicData, ball: Ball) -> float:
    """Return the squared shift of ``q`` by truncation on the public rows, per coordinate.

    Returns 0 where only a moment is known.
    """
    rows = public.whitened
    if rows is None:
        return 0.0
    weights = ball.public_weights(public)
    if np.all(weights == 1):
        return 0.0
    removed = cut_off(rows, weights)
    mean, mean_size = np.mean(removed, axis=0), np.mean(np.linalg.norm(removed, axis=1))
    return float(np.sum(mean**2) + ABSOLUTE_SHARE * mean_size**2) / public.d


def _inverse_gram(rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the inverse (d, d) of the weighted mean ``x x'`` of whitened joint rows (m, d + 1)."""
    features = rows[:, :-1] * np.sqrt(weights)[:, None]
    gram = features.T @ features / len(rows)
    # A positive definite matrix has its inverse from its Cholesky factor, at a third of the cost of another's.
    factor, failed = dpotrf(gram, lower=True)
    inverse, singular = dpotri(factor, lower=True) if not failed else (gram, True)
    if failed or singular:
        return np.asarray(np.linalg.pinv(gram, hermitian=True))
    return mirrored(np.tril(inverse))


def squared_bias(mean: np.ndarray, mean_size: np.ndarray) -> np.ndarray:
    """Return the squared bias (...,) of truncation with its absolute part.

    Args:
        mean: mean moves (..., d).
        mean_size: mean absolute moves (..., d).
    """
    return np.asarray(np.sum(mean**2, axis=-1) + ABSOLUTE_SHARE * np.sum(mean_size**2, axis=-1))


def _priced(rows: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the squared bias of truncation, its absolute part included, and ``||P_w^{-1}||_F^2``.

    Args:
        rows: whitened joint rows (m, d + 1).
        weights: truncation weights (m,).
    """
    inverse, m, cut = _inverse_gram(rows, weights), len(rows), weights < 1
    moves = cut_off(rows[cut], weights[cut]) @ inverse
    bias = squared_bias(np.sum(moves, axis=0) / m, np.sum(np.abs(moves), axis=0) / m)
    return float(bias), float(np.sum(inverse**2))
