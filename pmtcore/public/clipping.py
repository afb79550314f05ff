"""Clipping bounds from public data: truncation radii and bounds on gradients, with their errors (proofs/radius.md, 5).

Choosing a bound costs no budget. The price of a candidate is its predicted squared error: the clipping error on public
rows, each as if left out, plus the variance of the noise at that bound. The bound with the least price is chosen. Some
private rows are longer than every public one, so the public lengths are extended by a tail, power law or exponential.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from pmtcore.base.distributions import chi2
from pmtcore.base.symmetric import symmetric_from_lower
from pmtcore.mechanisms.noise import sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.public.gaussian_update import conflict_inflation, is_conflict
from pmtcore.public.moments import PublicData

# Prior of Hill's estimate: the power to which it is shrunk, and the number of rows that the prior counts as.
PRIOR_POWER, PRIOR_ROWS = 4.0, 10
# The tail is fitted to the largest fifth of the lengths, at least five. Its power is at least 2.3: at 2 and below the
# second moment is infinite.
_TAIL_SHARE, _FEWEST_IN_TAIL, LEAST_POWER = 5, 5, 2.3
# Expected rows, per m private ones, beyond the longest of m left-out lengths: each with probability 1/(m + 1) at most.
_ROWS_BEYOND = 0.5
# Prior of the mean excess of the largest fifth: it counts as ten rows with half of the fifth's least length as excess.
_TAIL_ROWS, _TAIL_EXCESS = 10, 0.5
# Share of the squared mean absolute shift, in which signs cannot cancel, that is added to the squared bias.
ABSOLUTE_SHARE = 0.05
# Noise below this share of the sampling error is negligible, so a bound with no more noise costs nothing.
HARMLESS = 0.02

# Constants for the truncation of joint rows.

# Half powers of 2: between neighbours the price changes by a few percent.
RESPONSE_SCALES = (1.0, 1.4, 2.0, 2.8)
# Number of candidate radii on a log grid; neighbours differ by about a tenth.
_RADII_TRIED = 30
# Most public rows that a price is computed from: more change the choice by less than its tolerance.
_MOST_PUBLIC_ROWS = 2000
# The largest radius within 5 % of the least price is chosen: public rows do not determine a price more precisely.
_PRICE_TOLERANCE = 1.05

# Constants for the histogram of gradient lengths.

_BIN_RATIO = 1.25  # ratio of neighbouring bin edges
_BINS = 31  # usual number of bins; the sensitivity does not grow with it
_LEAST_REACH = 4.0  # least position of the last edge, in units of the largest public gradient
_MOST_REACH = 1e4  # largest position of the last edge in these units: about forty bins more than usual
# Noise of the largest candidate bound, as a share of the sampling error, where that bound exceeds the least reach
_MOST_NOISE = 0.5
_PRIOR_ROWS = 0.04  # pseudo-count added to the public count of each bin
_BOUNDS_PER_BIN = 4  # candidate bounds per bin
# Standard deviations of noise by which the counts beyond an edge must exceed their prior before a tail is fitted there
_BEYOND_CHANCE = 3.0
# An expected count below this is set to zero; noise with a smaller standard deviation distinguishes no row from one
_HALF_A_ROW = 0.5
# Lower bound on the estimated share of rows that are not clipped
_LEAST_UNCLIPPED = 0.05
# Power of the unclipped share that divides a bound's price. The step's error is the score's over this share: hence
# 2. The error of the share as an estimate of the slope also grows with clipping: 4 was measured (decision 261).
_SLOPE_POWER = 4
# Odds of a common direction of two clipped gradients at the given share of clipped rows, and the power of that share
_COMMON_ODDS, _COMMON_SHARE, _COMMON_POWER = 0.062, 0.1, 0.6


def candidate_bounds(lengths: np.ndarray, low: float, high: float, count: int) -> np.ndarray:
    """Return bounds to choose from (..., count) for lengths (..., m), on a log grid.

    Args:
        lengths: of public rows or their gradients, each as if left out.
        low: the least bound, in units of the median length.
        high: the largest bound, in units of the longest length.
        count: number of bounds.
    """
    longest = np.maximum(np.max(lengths, axis=-1), 1e-290)
    least = np.maximum(low * np.median(lengths, axis=-1), 1e-9 * longest)
    return np.geomspace(least, high * longest, count, axis=-1)


def least_error(bounds: np.ndarray, squared_error: np.ndarray) -> np.ndarray:
    """Return the bounds (t,) with the least squared error (t, K), of bounds (K,) or (t, K)."""
    best = np.argmin(squared_error, axis=1)[:, None]
    return np.asarray(np.take_along_axis(np.broadcast_to(bounds, squared_error.shape), best, axis=1)[:, 0])


def negligible_noise_bound(n: int, mu: float) -> float:
    """Return the clipping bound whose noise ``2 R/(mu n)`` is a fiftieth of the sampling error ``1/sqrt(n)``.

    In whitened units a residual has variance 1. A smaller bound would only reduce noise that is already negligible.
    """
    return HARMLESS * mu * math.sqrt(n) / 2


def squared_bias(mean: np.ndarray, mean_size: np.ndarray) -> np.ndarray:
    """Return the squared bias (...,) of truncation, ``||mean||^2 + ABSOLUTE_SHARE ||mean_size||^2``.

    Args:
        mean: mean shift per row (..., d).
        mean_size: mean absolute shift per row (..., d).
    """
    return np.asarray(np.sum(mean**2, axis=-1) + ABSOLUTE_SHARE * np.sum(mean_size**2, axis=-1))


@dataclass(frozen=True, eq=False)
class PowerTail:
    """Power law of the outermost lengths: ``many`` lie beyond ``start``, ``many (x/start)^-power`` beyond x.

    Attributes:
        many: number of lengths in the tail, the same for all samples or one for each (..., 1).
        start: length at which the tail begins (..., 1).
        log_excess: sum of ``log(length/start)`` over the tail (..., 1).
        least_power: lower bound on the power.
    """

    many: int | np.ndarray
    start: np.ndarray
    log_excess: np.ndarray
    least_power: float

    @classmethod
    def of(cls, ordered: np.ndarray, share: int = _TAIL_SHARE, least_power: float = LEAST_POWER) -> PowerTail:
        """Estimate the tail of lengths.

        Args:
            ordered: lengths (..., m) in ascending order.
            share: reciprocal of the share of lengths in the tail.
            least_power: lower bound on the power.
        """
        m = ordered.shape[-1]
        many = min(max(m // share, _FEWEST_IN_TAIL), m - 1)
        start = np.maximum(ordered[..., -many - 1, None], 1e-300)
        logs = np.log(np.maximum(ordered[..., -many:] / start, 1.0))
        return cls(many, start, np.sum(logs, axis=-1, keepdims=True), least_power)

    @property
    def power(self) -> np.ndarray:
        """Return Hill's estimate (..., 1), shrunk towards :data:`PRIOR_POWER`."""
        hill = (self.many + PRIOR_ROWS) / (self.log_excess + PRIOR_ROWS / PRIOR_POWER)
        return np.asarray(np.maximum(hill, self.least_power))

    def count_beyond(self, lengths: np.ndarray) -> np.ndarray:
        """Return the expected number of lengths in the tail beyond each of these, same shape."""
        return np.asarray(self.many * np.maximum(lengths / self.start, 1.0) ** -self.power)

    def count_variance(self, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the variance (..., K) of the number of rows in a bin of the tail.

        It adds the Poisson variance of the count and the errors of the tail's total and of its exponent.

        Args:
            rows: expected number of rows in the bin (..., K).
            lengths: length at which the bin lies (K,).
        """
        exponent_part = 1 + (self.power * np.log(np.maximum(lengths / self.start, 1.0))) ** 2
        return np.asarray(rows + rows**2 * exponent_part / (self.many + PRIOR_ROWS))

    def excess(self, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the expected sums of squared excess and of excess (t, K) of the tail over bounds (t, K)."""
        edge, power = np.maximum(self.start, bounds), self.power
        rows = self.count_beyond(edge)
        square = rows * (edge**2 * power / (power - 2) - 2 * bounds * edge * power / (power - 1) + bounds**2)
        return square, rows * (edge * power / (power - 1) - bounds)


@dataclass(frozen=True, eq=False)
class ExponentialTail:
    """Exponential law beyond the longest length: half a row in total, with the mean excess of the largest fifth.

    The expected clipping error is positive at every bound, so the chosen bound grows with the budget. A power law is
    too heavy for gradients: it overstates the clipping error on tables with bounded columns (tune, five public rows a
    column: the resulting release has 1.4 and 2.0 times the error at mu 1.5 and 4.5).

    Attributes:
        longest: the longest length (..., 1).
        scale: mean excess over the longest length (..., 1).
    """

    longest: np.ndarray
    scale: np.ndarray
    many = 0  # no observed length is in the tail

    @classmethod
    def of(cls, ordered: np.ndarray) -> ExponentialTail:
        """Estimate the tail of lengths (..., m) in ascending order."""
        m = ordered.shape[-1]
        largest = min(max(m // _TAIL_SHARE, _FEWEST_IN_TAIL), m - 1)
        start, longest = ordered[..., -largest - 1, None], ordered[..., -1:]
        excess = np.sum(ordered[..., -largest:] - start, axis=-1, keepdims=True) + _TAIL_ROWS * _TAIL_EXCESS * start
        return cls(longest, np.maximum(excess / (largest + _TAIL_ROWS), 1e-12 * longest + 1e-300))

    def count_beyond(self, lengths: np.ndarray) -> np.ndarray:
        """See :meth:`PowerTail.count_beyond`; below the longest length the value is the one at the longest length."""
        return np.asarray(_ROWS_BEYOND * np.exp(-np.maximum(lengths - self.longest, 0.0) / self.scale))

    def excess(self, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`PowerTail.excess`."""
        gap = np.maximum(self.longest - bounds, 0.0)
        rows = self.count_beyond(bounds)
        return rows * (gap**2 + 2 * gap * self.scale + 2 * self.scale**2), rows * (gap + self.scale)


def mean_excess(
    lengths: np.ndarray, bounds: np.ndarray, law: type[PowerTail | ExponentialTail]
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean squared and mean excess (t, K) of lengths (t, m) over bounds (t, K), with a tail of this law."""
    ordered = np.sort(lengths, axis=1)
    m, tail = ordered.shape[1], law.of(ordered)
    square, line = tail.excess(bounds)
    excess = [np.maximum(ordered[:, : m - tail.many] - bound[:, None], 0.0) for bound in bounds.T]
    body = (np.stack([np.sum(over_bound**power, axis=1) for over_bound in excess], axis=1) for power in (2, 1))
    return (square + next(body)) / m, (line + next(body)) / m


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

    An exact price takes an inverse and a product of matrices for each ball. A lower bound on the prices of all balls
    takes one of each: it bounds the truncated Gram matrix by the public one times the largest weight. Balls whose lower
    bound exceeds the least exact price so far are not priced.

    Attributes:
        rows: whitened joint rows (m, d + 1).
        radii: (K,).
        scales: response scales (K,).
        weights: of the rows in each ball (K, m).
        low: lower bounds (2, K) on the squared bias of truncation and on the factor of the noise variance.
        known: exact values (2, K) of the same two quantities, NaN until computed.
    """

    rows: np.ndarray
    radii: np.ndarray
    scales: np.ndarray
    weights: np.ndarray
    low: np.ndarray
    known: np.ndarray

    @classmethod
    def of(cls, rows: np.ndarray) -> _Candidates:
        """Return the candidate balls for whitened joint rows (m, d + 1)."""
        rows = rows[:: math.ceil(len(rows) / _MOST_PUBLIC_ROWS)]
        norms = np.linalg.norm(rows, axis=1)
        radii = candidate_bounds(norms, 0.5, 4.0, _RADII_TRIED)
        scales = np.repeat(RESPONSE_SCALES, _RADII_TRIED)
        radii = np.tile(radii, len(RESPONSE_SCALES))
        squared = np.sum(rows[:, :-1] ** 2, axis=1) + (scales[:, None] * rows[:, -1]) ** 2  # (K, m)
        weights = ball_weights(squared, radii[:, None])
        largest = np.max(weights, axis=1)
        inverse = _inverse_gram(rows, np.ones(len(rows)))
        moves = (rows[:, :-1] * rows[:, -1:]) @ inverse / len(rows)
        bias = squared_bias((1 - weights) @ moves, (1 - weights) @ np.abs(moves))
        low = np.array([bias, np.full(len(radii), np.sum(inverse**2))]) / largest**2
        # Where no row is truncated the bounds are exact.
        known = np.where(np.min(weights, axis=1) == 1.0, low, np.nan)
        return cls(rows, radii, scales, weights, low, known)

    def best(self, prior: float, n: int, mu: float) -> Ball:
        """Return the largest ball whose price is within 5 % of the least, at the response scale of the cheapest ball.

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
            bias, spread = self._squared_bias(k)
            price[k] = bias + noise[k] * spread
        scale = self.scales[np.argmin(price)]
        near = (price <= _PRICE_TOLERANCE * np.min(price)) & (self.scales == scale)
        return Ball(float(np.max(self.radii[near])), float(scale))

    def _squared_bias(self, k: int) -> np.ndarray:
        """Return squared bias and factor of the noise variance (2,) of the k-th ball."""
        if np.isnan(self.known[0, k]):
            self.known[:, k] = _bias_and_factor(self.rows, self.weights[k])
        return np.asarray(self.known[:, k])


_CACHE: WeakKeyDictionary[PublicData, _Candidates] = WeakKeyDictionary()  # public figures only


def least_error_ball(public: PublicData, n: int, mu: float) -> Ball:
    """Return the ball with the smallest predicted error at this budget.

    The price of a ball ``(R, c)`` is the squared bias of truncation (:func:`squared_bias`) plus the variance of the
    privacy noise at ``n`` rows and this budget. It is the error of predictions (coefficients in whitened units), so the
    choice does not depend on the units of the table; prices in raw or in standardized coefficients chose the same radii
    within noise on the real tables (decision 0004). Three variants were tried and rejected: subtracting the sampling
    variance from the bias, extrapolating the tail, and separate bounds for features and response.

    Args:
        public: public data; without rows, :func:`moment_only_ball` decides.
        n: number of private rows.
        mu: budget of the moment.
    """
    if public.whitened is None or public.m is None:
        return moment_only_ball(public.d + 1)
    if public not in _CACHE:
        _CACHE[public] = _Candidates.of(public.whitened)
    prior = public.d * public.fit_variance  # expected squared length of the correction
    return _CACHE[public].best(prior, n, mu)


def covering_ball(public: PublicData, factor: float) -> Ball:
    """Return the ball with ``R^2 = factor`` times the largest left-out squared norm of a public row.

    It truncates almost no row, so confidence intervals keep their coverage, at the cost of more noise.
    """
    rows = public.whitened
    if rows is None:
        ball = moment_only_ball(public.d + 1)
        return Ball(ball.radius * math.sqrt(factor), ball.response_scale)
    return Ball(math.sqrt(factor * float(np.max(np.sum(rows**2, axis=1)))), 1.0)


def inference_ball(public: PublicData, n: int, mu: float) -> Ball:
    """Return the ball for confidence intervals, with ``R^2`` four or two times the largest squared public norm.

    The factor is four where the noise at that radius is below the sampling error, and two elsewhere.
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
    # Inverting through the Cholesky factor costs a third of a general inverse.
    factor, failed = dpotrf(gram, lower=True)
    inverse, singular = dpotri(factor, lower=True) if not failed else (gram, True)
    if failed or singular:
        return np.asarray(np.linalg.pinv(gram, hermitian=True))
    return symmetric_from_lower(np.tril(inverse))


def _bias_and_factor(rows: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """Return the squared bias of truncation (:func:`squared_bias`) and ``||P_w^{-1}||_F^2``, P_w the weighted Gram.

    Args:
        rows: whitened joint rows (m, d + 1).
        weights: truncation weights (m,).
    """
    inverse, m, truncated = _inverse_gram(rows, weights), len(rows), weights < 1
    shifts = cut_off(rows[truncated], weights[truncated]) @ inverse
    bias = squared_bias(np.sum(shifts, axis=0) / m, np.sum(np.abs(shifts), axis=0) / m)
    return float(bias), float(np.sum(inverse**2))


def common_direction(share: np.ndarray) -> np.ndarray:
    """Return the expected cosine between the clipped parts of two gradients, given the share of clipped rows.

    It grows as the share falls: with skewed columns the few longest gradients mostly point the same way
    (proofs/radius.md, 5.1).
    """
    odds = _COMMON_ODDS * (np.maximum(share, 1e-9) / _COMMON_SHARE) ** -_COMMON_POWER
    return np.asarray(odds / (1 + odds))


@dataclass(frozen=True, eq=False)
class GradientNorms:
    """Distribution of gradient lengths, and the clipping bound with the least predicted error.

    The gradient of one whitened row at the first-stage estimate is ``x~ r``, and its length is clipped. Truncation of
    the joint row would also shorten a row of high leverage with a small residual; clipping its gradient does not. The
    bound is chosen as the radius is, but with a released histogram of the private lengths beside the public ones: its
    sensitivity is ``sqrt(2)`` for any number of columns, and twenty private rows beyond the largest public length
    influence the bound more than hundreds of public rows do (proofs/radius.md, 5.1).

    Attributes:
        lengths: of the gradients of public rows (m,), each as if left out, in whitened units.
        d: number of coefficients.
        reach: last edge of the histogram, in units of the largest public length.
    """

    lengths: np.ndarray
    d: int
    reach: float = _LEAST_REACH

    @classmethod
    def at(cls, lengths: np.ndarray, d: int, n: int, mu: float) -> GradientNorms:
        """Return the distribution with the last edge at the bound whose noise is half the sampling error of n rows."""
        top = max(float(np.max(lengths)), 1e-12)
        farthest = _MOST_NOISE / HARMLESS * negligible_noise_bound(n, mu)
        return cls(lengths, d, float(np.clip(farthest / top, _LEAST_REACH, _MOST_REACH)))

    @cached_property
    def bin_count(self) -> int:
        """Return the number of bins K: 31 for the least reach, and as many more as the reach needs."""
        return _BINS + math.ceil(math.log(self.reach / _LEAST_REACH) / math.log(_BIN_RATIO))

    @cached_property
    def edges(self) -> np.ndarray:
        """Return edges (K + 1,) of the histogram; the first is 0, and the last bin also counts all longer gradients."""
        top = float(np.max(self.lengths))
        edges = self.reach * max(top, 1e-12) * _BIN_RATIO ** np.arange(-float(self.bin_count), 1.0)
        edges[0] = 0.0
        return edges

    @property
    def sensitivity(self) -> float:
        """Return the sensitivity of the histogram: a replaced row leaves one bin and enters another."""
        return float(np.sqrt(2))

    def bins(self, lengths: np.ndarray) -> np.ndarray:
        """Return the bin indices of gradient lengths, same shape."""
        return np.searchsorted(self.edges[1:-1], lengths, side="right")

    def counts(self, bins: np.ndarray) -> np.ndarray:
        """Return the histogram (K,) of bin indices (k,), or one for each column (T, K) of indices (k, T)."""
        flat = bins.reshape(len(bins), -1)
        columns = flat.shape[1]
        places = flat + self.bin_count * np.arange(columns)
        by_column = np.bincount(places.ravel(), minlength=self.bin_count * columns).reshape(columns, self.bin_count)
        return by_column if bins.ndim > 1 else by_column[0]

    @cached_property
    def tail(self) -> PowerTail:
        """Return the power law of the largest fifth of the public lengths."""
        return PowerTail.of(np.sort(self.lengths))

    @cached_property
    def shares(self) -> np.ndarray:
        """Return the expected share of rows (K,) in each bin: public counts, and their power law within the tail."""
        low, high = self.edges[:-1], self.edges[1:]
        body = self.counts(self.bins(self.lengths)) + _PRIOR_ROWS
        started = self.counts(self.bins(self.lengths[self.lengths <= self.tail.start]))
        beyond = self.tail.count_beyond(low) - self.tail.count_beyond(high)
        beyond[-1] += self.tail.count_beyond(high[-1:])[0]
        rows = np.where(high > self.tail.start, started + beyond, body)
        return np.asarray(np.maximum(rows, 1e-12) / np.sum(np.maximum(rows, 1e-12)))

    def expected(self, n: int, counts: np.ndarray | None, noise: float) -> np.ndarray:
        """Estimate the number of private rows (T, K) in each bin: released counts and public shares by precision.

        Args:
            n: number of private rows.
            counts: released counts (T, K); ``None`` where none were released.
            noise: standard deviation of the noise on a released count.
        """
        if counts is None:
            return n * self.shares[None]
        tail, in_tail = self._counted_tail(counts, noise)
        low, middle = self.edges[:-1], (self.edges[1:] + self.edges[:-1]) / 2
        beyond = tail.count_beyond(low)
        prior = np.where(
            in_tail, beyond - np.append(beyond[:, 1:], np.zeros((len(beyond), 1)), axis=1), n * self.shares
        )
        tail_variance = np.where(in_tail, tail.count_variance(prior, middle), self.tail.count_variance(prior, middle))
        body_variance = prior * (1 - self.shares) * (1 + n / (len(self.lengths) + 1))
        variance = np.where(self.edges[1:] > self.tail.start, tail_variance, body_variance)
        total = variance + noise**2
        ratio, share = (counts - prior) ** 2 / total, variance / total
        # Where a count conflicts with the public share, the prior variance is inflated so that the count prevails.
        variance = variance * conflict_inflation(ratio, share, 1)
        rows = np.maximum(prior + variance / (variance + noise**2) * (counts - prior), 0.0)
        # Elsewhere an estimate below half a row is set to zero: fractions of very long gradients inflate the price.
        may_be_empty = (noise < _HALF_A_ROW) | (low >= _LEAST_REACH * np.max(self.lengths) * (1 - 1e-9))
        may_be_empty = may_be_empty | (in_tail & (beyond < _HALF_A_ROW))
        empty = (rows < _HALF_A_ROW) & may_be_empty & ~is_conflict(ratio, share, 1)
        return np.where(empty, 0.0, rows)

    def _counted_tail(self, counts: np.ndarray, noise: float) -> tuple[PowerTail, np.ndarray]:
        """Fit a power law to the outermost significant counts (T, K); return it and the bins (T, K) that it covers.

        On most tables no power law holds yet where the largest fifth of the public lengths begins, and one fitted from
        there expects rows beyond all actual ones. So this one starts at the last edge beyond which the counts exceed
        the prior's ten rows by three standard deviations of noise. Without such an edge it covers no bin.
        """
        low = self.edges[:-1]
        beyond = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        chance = noise * np.sqrt(np.arange(self.bin_count, 0.0, -1.0))
        significant = (beyond > PRIOR_ROWS + _BEYOND_CHANCE * chance) & (low >= self.tail.start)
        first = self.bin_count - 1 - np.argmax(significant[:, ::-1], axis=1)[:, None]
        has_tail = np.any(significant, axis=1)[:, None]
        start = np.where(has_tail, low[first], self.edges[-1])
        in_tail = has_tail & (np.arange(self.bin_count) >= first)
        logs = np.log(np.maximum(np.append(self._midpoints[:-1], low[-1]) / start, 1.0))
        many = np.where(has_tail, np.take_along_axis(beyond, first, axis=1), 0.0)
        log_excess = np.maximum(np.sum(np.where(in_tail, counts * logs, 0.0), axis=1, keepdims=True), 0.0)
        return PowerTail(many, start, log_excess, LEAST_POWER), in_tail

    @cached_property
    def _bounds(self) -> np.ndarray:
        return np.asarray(
            self.edges[-1] * _BIN_RATIO ** (-np.arange(_BOUNDS_PER_BIN * (self.bin_count - 7)) / _BOUNDS_PER_BIN)
        )

    def predicted_mse(self, n: int, mu: float) -> float:
        """Return the least predicted squared error if private lengths are distributed as the public ones, no tail."""
        excess = np.maximum(self.lengths - self._bounds[:, None], 0.0)
        return float(np.min(np.mean(excess**2, axis=1) / n + self._noise(n, mu)))

    def _noise(self, n: int, mu: float) -> np.ndarray:
        """Return the squared error (B,) of the noise that each bound needs."""
        return np.asarray(self.d * (2 * self._bounds / (mu * n)) ** 2)

    def expected_tail_counts(self, n: int) -> np.ndarray:
        """Return the expected private rows (K,) in the bins before a histogram is released, with an exponential tail.

        The power law of :attr:`shares` is heavier than most tables; it serves only as a prior that counts correct.
        """
        low, ordered = self.edges[:-1], np.sort(self.lengths)
        tail = ExponentialTail.of(ordered)
        at_least = len(ordered) - np.searchsorted(ordered, low)
        survival = np.where(low > tail.longest, tail.count_beyond(low), at_least)
        return np.asarray(n / len(ordered) * (survival - np.append(survival[1:], 0.0)))

    def bound(self, n: int, mu: float, counts: np.ndarray | None, noise: float) -> np.ndarray:
        """Return clipping bounds (T,) with the least predicted squared error of the step at this budget.

        The length of a clipped gradient does not change with its residual. So clipping reduces the slope of the mean
        gradient to about the unclipped share, and the step divides the error by it.
        """
        rows = self.expected(n, counts, noise)
        error = self.clipping_mse_by_bound(rows, n, self._bounds) + self._noise(n, mu)
        unclipped = _unclipped_share(rows @ self._fraction_below(self._bounds).T, np.sum(rows, axis=1, keepdims=True))
        return least_error(self._bounds, error / unclipped**_SLOPE_POWER)

    def unclipped_share(self, rows: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Return the share (T,) of rows (T, K) that bounds (T,) do not clip, at least a twentieth."""
        return _unclipped_share(np.sum(rows * self._fraction_below(bounds), axis=1), np.sum(rows, axis=1))

    def _fraction_below(self, bounds: np.ndarray) -> np.ndarray:
        """Return the fraction (B, K) of each bin below each bound (B,); it is zero for the last bin, which is open."""
        parts = np.clip((bounds[:, None] - self.edges[:-1]) / np.diff(self.edges), 0.0, 1.0)
        parts[:, -1] = 0.0
        return np.asarray(parts)

    def clipping_mse_by_bound(self, rows: np.ndarray, n: int, bounds: np.ndarray) -> np.ndarray:
        """Return the squared error (T, B) expected from clipping at bounds (B,), with rows (T, K) in the bins.

        A clipped row shifts the mean by its excess over the bound, partly in a direction common to all clipped rows.
        """
        excess = self._excess_over(bounds)
        return self._mean_square_shift(rows @ (excess**2).T, rows @ excess.T, rows @ (excess > 0).T, n)

    def clipping_mse(self, rows: np.ndarray, n: int, bounds: np.ndarray) -> np.ndarray:
        """Return the squared error (T,) expected from clipping at one bound (T,) for each row of counts (T, K)."""
        excess = self._excess_over(bounds)
        squares, sums = np.sum(rows * excess**2, axis=1), np.sum(rows * excess, axis=1)
        return self._mean_square_shift(squares, sums, np.sum(rows * (excess > 0), axis=1), n)

    def largest_clipping_bias(self, rows: np.ndarray, n: int, bounds: np.ndarray) -> np.ndarray:
        """Return upper bounds (T,) on the clipping bias at bounds (T,): all clipped parts point in one direction.

        Lengths beyond the last edge, which the bins do not show, follow a power law from the start of the public tail,
        with Hill's estimate of the power. Rows in the open last bin enter the estimate as if at its lower edge.

        Args:
            rows: rows in the bins (T, K).
            n: number of private rows.
            bounds: clipping bounds (T,).
        """
        low = self.edges[:-1]
        tail = low >= self.tail.start
        logs = np.log(np.append(self._midpoints[:-1], low[-1])[tail] / low[tail][0])
        counted = np.sum(rows[:, :-1] * tail[:-1], axis=1)
        power = np.maximum((counted + PRIOR_ROWS) / (rows[:, tail] @ logs + PRIOR_ROWS / PRIOR_POWER), LEAST_POWER)
        edge = self.edges[-1]
        beyond = rows[:, -1] * (edge / low[-1]) ** -power * edge / (power - 1)
        excess = self._excess_over(bounds)
        return np.asarray((np.sum(rows * excess, axis=1) + beyond) / n)

    def _excess_over(self, bounds: np.ndarray) -> np.ndarray:
        """Return the excess (B, K) of a length in the middle of each bin over each bound (B,)."""
        return np.maximum(self._midpoints - bounds[:, None], 0.0)

    @staticmethod
    def _mean_square_shift(squares: np.ndarray, sums: np.ndarray, many: np.ndarray, n: int) -> np.ndarray:
        """Return the expected squared length of ``(1/n) sum c_i``, c_i the clipped parts of the gradients.

        Args:
            squares: sum of ``||c_i||^2``.
            sums: sum of ``||c_i||``.
            many: number of clipped rows.
            n: number of private rows.
        """
        pairs = np.maximum(sums**2 - squares, 0.0)
        return np.asarray((squares + common_direction(many / n) * pairs) / n**2)

    @cached_property
    def _midpoints(self) -> np.ndarray:
        """Return the midpoints of the bins (K,), and the upper edge for the last bin, which is open."""
        return np.append((self.edges[1:-1] + self.edges[:-2]) / 2, self.edges[-1])


def _unclipped_share(unclipped: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return ``unclipped/rows``, at least a twentieth, for two arrays of counts of one shape."""
    return np.maximum(unclipped / np.maximum(rows, 1.0), _LEAST_UNCLIPPED)
