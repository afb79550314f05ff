"""Clipping bounds from public data: truncation radii, bounds on gradients, and what each costs (proofs/radius.md, 5).

All bounds are chosen alike and free. Each candidate is priced by the squared error that it leaves: what is cut off
public rows, each as if it had been left out, and the noise that it needs. The least price wins. Rows lie beyond the
longest public one too, so public lengths go on in a tail: a power law, or one that falls off exponentially.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from pmtcore.base.distributions import chi2
from pmtcore.base.symmetric import mirrored
from pmtcore.mechanisms.noise import sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.public.gaussian_update import conflict_inflation, is_conflict
from pmtcore.public.moments import PublicData

# Power to which Hill's estimate is drawn, by as much as so many rows.
PRIOR_POWER, PRIOR_ROWS = 4.0, 10
# A tail is that of the largest fifth, five lengths at least, and a power never below 2.3: below 2 a mean has no error
_TAIL_SHARE, _FEWEST_IN_TAIL, LEAST_POWER = 5, 5, 2.3
# Beyond the longest of m left-out lengths a private one lies with chance 1/(m + 1) at most: half a row is expected.
_ROWS_BEYOND = 0.5
# The mean excess of the largest fifth is drawn towards half of where the fifth begins by as much as ten rows.
_TAIL_ROWS, _TAIL_EXCESS = 10, 0.5
# Share of the absolute shift, which cannot cancel, that counts as bias.
ABSOLUTE_SHARE = 0.05
# Of a sampling error: noise below it is nothing beside it, so a bound that makes no more is free.
HARMLESS = 0.02

# Of the truncation of joint rows.

# Half powers of 2: between neighbours the price changes by a few percent.
RESPONSE_SCALES = (1.0, 1.4, 2.0, 2.8)
# Number of radii on a log grid: they are a tenth apart.
_RADII_TRIED = 30
# Public rows behind a choice: more of them change it by less than its tolerance.
_MOST_PUBLIC_ROWS = 2000
# The largest radius within 5 % of the best is taken: a price estimated on public rows is no better known.
_PRICE_TOLERANCE = 1.05

# Of the histogram of gradient lengths.

_BIN_RATIO = 1.25  # between the edges of bins
_BINS = 31  # counts of lengths, a fixed ratio apart; their noise grows with the number that is seen, not released
_LEAST_REACH = 4.0  # the last edge, in units of the largest public gradient, at least
_MOST_REACH = 1e4  # some forty bins more than usual
# Of a sampling error: the noise of the largest bound that may be chosen, where it is further out than the least reach
_MOST_NOISE = 0.5
_PRIOR_ROWS = 0.04  # per bin, beside the public counts
_BOUNDS_PER_BIN = 4  # candidates per bin
# Standard deviations by which the rows beyond an edge exceed the noise on their counts
_BEYOND_CHANCE = 3.0
# Fewer rows than that are none, and noise below it tells none from one
_HALF_A_ROW = 0.5
# Least share of rows that is taken not to be clipped
_LEAST_UNCLIPPED = 0.05
# Power of the unclipped share that divides a bound's price. A step has the error of the score over that share, hence 2;
# how far the share misjudges the slope grows with what is clipped, too: 4 was measured (decision 261).
_SLOPE_POWER = 4
# Odds of a common direction of two gradients beyond a bound with this share of rows beyond it, and their power
_COMMON_ODDS, _COMMON_SHARE, _COMMON_POWER = 0.062, 0.1, 0.6


def candidate_bounds(lengths: np.ndarray, low: float, high: float, count: int) -> np.ndarray:
    """Return bounds to choose from (..., count) for lengths (..., m), on a log grid.

    Args:
        lengths: of public rows or their gradients, each as if it had been left out.
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

    In whitened units a residual has variance 1; a smaller bound could only save what nobody sees.
    """
    return HARMLESS * mu * math.sqrt(n) / 2


def squared_bias(mean: np.ndarray, mean_size: np.ndarray) -> np.ndarray:
    """Return the squared bias (...,) of truncation with its absolute part.

    Args:
        mean: mean moves (..., d).
        mean_size: mean absolute moves (..., d).
    """
    return np.asarray(np.sum(mean**2, axis=-1) + ABSOLUTE_SHARE * np.sum(mean_size**2, axis=-1))


@dataclass(frozen=True, eq=False)
class PowerTail:
    """Power law of the outermost lengths: ``many`` lie beyond ``start``, ``many (x/start)^-power`` beyond x.

    Attributes:
        many: number of lengths in the tail, or one for each of several (..., 1).
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
            share: one length in so many is in the tail.
            least_power: lower bound on the power.
        """
        m = ordered.shape[-1]
        many = min(max(m // share, _FEWEST_IN_TAIL), m - 1)
        start = np.maximum(ordered[..., -many - 1, None], 1e-300)
        logs = np.log(np.maximum(ordered[..., -many:] / start, 1.0))
        return cls(many, start, np.sum(logs, axis=-1, keepdims=True), least_power)

    @property
    def power(self) -> np.ndarray:
        """Return Hill's estimate (..., 1), drawn towards :data:`PRIOR_POWER`."""
        hill = (self.many + PRIOR_ROWS) / (self.log_excess + PRIOR_ROWS / PRIOR_POWER)
        return np.asarray(np.maximum(hill, self.least_power))

    def beyond(self, lengths: np.ndarray) -> np.ndarray:
        """Return the number of lengths in the tail to expect beyond each of these, same shape."""
        return np.asarray(self.many * np.maximum(lengths / self.start, 1.0) ** -self.power)

    def count_variance(self, rows: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        """Return the variance (..., K) of a number of rows that the tail has about each length (K,), these in the mean.

        It is that of the count, of all rows in the tail, and of the exponent.
        """
        bend = 1 + (self.power * np.log(np.maximum(lengths / self.start, 1.0))) ** 2
        return np.asarray(rows + rows**2 * bend / (self.many + PRIOR_ROWS))

    def excess(self, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the sums of squared excess and of excess (t, K) over bounds (t, K) that the tail leads to expect."""
        edge, power = np.maximum(self.start, bounds), self.power
        rows = self.beyond(edge)
        square = rows * (edge**2 * power / (power - 2) - 2 * bounds * edge * power / (power - 1) + bounds**2)
        return square, rows * (edge * power / (power - 1) - bounds)


@dataclass(frozen=True, eq=False)
class ExponentialTail:
    """Half a row beyond the longest length, which falls off exponentially with the mean excess of the largest fifth.

    No bound is beyond all rows, and the price of a bound falls for ever, so it grows with the budget. A power law is
    too heavy for gradients: its price exceeds what clipping takes on tables with bounded columns (tune, five public
    rows a column: 1.4 and 2.0 times the error at mu 1.5 and 4.5).

    Attributes:
        longest: the longest length (..., 1).
        scale: mean excess over it (..., 1).
    """

    longest: np.ndarray
    scale: np.ndarray
    many = 0  # no length that was seen is in it

    @classmethod
    def of(cls, ordered: np.ndarray) -> ExponentialTail:
        """Estimate the tail of lengths (..., m) in ascending order."""
        m = ordered.shape[-1]
        largest = min(max(m // _TAIL_SHARE, _FEWEST_IN_TAIL), m - 1)
        start, longest = ordered[..., -largest - 1, None], ordered[..., -1:]
        excess = np.sum(ordered[..., -largest:] - start, axis=-1, keepdims=True) + _TAIL_ROWS * _TAIL_EXCESS * start
        return cls(longest, np.maximum(excess / (largest + _TAIL_ROWS), 1e-12 * longest + 1e-300))

    def beyond(self, lengths: np.ndarray) -> np.ndarray:
        """See :meth:`PowerTail.beyond`; of lengths below the longest it is the same as of the longest."""
        return np.asarray(_ROWS_BEYOND * np.exp(-np.maximum(lengths - self.longest, 0.0) / self.scale))

    def excess(self, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See :meth:`PowerTail.excess`."""
        gap = np.maximum(self.longest - bounds, 0.0)
        rows = self.beyond(bounds)
        return rows * (gap**2 + 2 * gap * self.scale + 2 * self.scale**2), rows * (gap + self.scale)


def mean_excess(
    lengths: np.ndarray, bounds: np.ndarray, law: type[PowerTail | ExponentialTail]
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean squared and mean excess (t, K) of lengths (t, m) over bounds (t, K), with a tail of this law."""
    ordered = np.sort(lengths, axis=1)
    m, tail = ordered.shape[1], law.of(ordered)
    square, line = tail.excess(bounds)
    over = [np.maximum(ordered[:, : m - tail.many] - bound[:, None], 0.0) for bound in bounds.T]
    body = (np.stack([np.sum(each**power, axis=1) for each in over], axis=1) for power in (2, 1))
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


def least_error_ball(public: PublicData, n: int, mu: float) -> Ball:
    """Return the ball with the smallest predicted error at this budget.

    The price of a ball ``(R, c)`` adds the squared bias of truncation (and a share of the same with absolute values,
    which cannot cancel) and the variance of the privacy noise at ``n`` rows and this budget. It is the error of
    predictions (coefficients in whitened units), so the choice does not depend on the units of the table; prices in raw
    or in standardized coefficients chose the same radii within noise on the real tables (decision 0004). Three variants
    were tried and rejected: subtracting the sampling variance from the bias, extrapolating the tail, and separate boxes
    for features and response.

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


def common_direction(share: np.ndarray) -> np.ndarray:
    """Return the cosine to expect between what is cut off two rows, where this share of rows is beyond the bound.

    Fewer rows lie further out and then more on one side, as skewed columns have it (proofs/radius.md, 5.1).
    """
    odds = _COMMON_ODDS * (np.maximum(share, 1e-9) / _COMMON_SHARE) ** -_COMMON_POWER
    return np.asarray(odds / (1 + odds))


@dataclass(frozen=True, eq=False)
class GradientNorms:
    """Lengths of the gradients of public rows as if left out (m,), whitened units; everything here is public.

    The gradient of one whitened row at the pilot is ``x~ r``. It is clipped in length, where the joint row was
    truncated whole: a row far out with a small residual loses nothing. The bound is chosen as the radius is, but
    lengths are counted among the private rows: a histogram has sensitivity ``sqrt(2)`` however many columns there are,
    and twenty rows beyond the largest public one decide more than hundreds of public rows can tell (proofs/radius.md,
    5.1).
    """

    lengths: np.ndarray
    d: int
    reach: float = _LEAST_REACH

    @classmethod
    def at(cls, lengths: np.ndarray, d: int, n: int, mu: float) -> GradientNorms:
        """Return lengths whose histogram reaches to the bound whose noise is half a sampling error at n rows."""
        top = max(float(np.max(lengths)), 1e-12)
        farthest = _MOST_NOISE / HARMLESS * negligible_noise_bound(n, mu)
        return cls(lengths, d, float(np.clip(farthest / top, _LEAST_REACH, _MOST_REACH)))

    @cached_property
    def many(self) -> int:
        """Return the number of bins: those of the least reach, and more of the same width beyond."""
        return _BINS + math.ceil(math.log(self.reach / _LEAST_REACH) / math.log(_BIN_RATIO))

    @cached_property
    def edges(self) -> np.ndarray:
        """Return edges (K + 1,) of the histogram; the first is 0, all beyond the last counts in the last bin."""
        top = float(np.max(self.lengths))
        edges = self.reach * max(top, 1e-12) * _BIN_RATIO ** np.arange(-float(self.many), 1.0)
        edges[0] = 0.0
        return edges

    @property
    def sensitivity(self) -> float:
        """Return the sensitivity of the histogram: a replaced row leaves one bin and enters another."""
        return float(np.sqrt(2))

    def bins(self, lengths: np.ndarray) -> np.ndarray:
        """Return places in the histogram of lengths of gradients, same shape."""
        return np.searchsorted(self.edges[1:-1], lengths, side="right")

    def counts(self, bins: np.ndarray) -> np.ndarray:
        """Return the histogram (K,) of bins (k,), or one (T, K) for each column of (k, T)."""
        flat = bins.reshape(len(bins), -1)
        columns = flat.shape[1]
        places = flat + self.many * np.arange(columns)
        by_column = np.bincount(places.ravel(), minlength=self.many * columns).reshape(columns, self.many)
        return by_column if bins.ndim > 1 else by_column[0]

    @cached_property
    def tail(self) -> PowerTail:
        """Return the power law of the largest fifth of the public lengths."""
        return PowerTail.of(np.sort(self.lengths))

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of rows (K,) to expect in each bin: public rows, and their power law where it has begun."""
        low, high = self.edges[:-1], self.edges[1:]
        body = self.counts(self.bins(self.lengths)) + _PRIOR_ROWS
        started = self.counts(self.bins(self.lengths[self.lengths <= self.tail.start]))
        beyond = self.tail.beyond(low) - self.tail.beyond(high)
        beyond[-1] += self.tail.beyond(high[-1:])[0]
        rows = np.where(high > self.tail.start, started + beyond, body)
        return np.asarray(np.maximum(rows, 1e-12) / np.sum(np.maximum(rows, 1e-12)))

    def expected(self, n: int, counts: np.ndarray | None, noise: float) -> np.ndarray:
        """Return private rows (T, K) in each bin: released counts and public shares, combined by precision.

        Args:
            n: number of private rows.
            counts: released (T, K), with noise of this standard deviation; ``None`` where none were released.
            noise: standard deviation of the noise on a released count.
        """
        if counts is None:
            return n * self.shares[None]
        tail, in_tail = self._counted_tail(counts, noise)
        low, middle = self.edges[:-1], (self.edges[1:] + self.edges[:-1]) / 2
        beyond = tail.beyond(low)
        prior = np.where(
            in_tail, beyond - np.append(beyond[:, 1:], np.zeros((len(beyond), 1)), axis=1), n * self.shares
        )
        far = np.where(in_tail, tail.count_variance(prior, middle), self.tail.count_variance(prior, middle))
        near = prior * (1 - self.shares) * (1 + n / (len(self.lengths) + 1))
        variance = np.where(self.edges[1:] > self.tail.start, far, near)
        total = variance + noise**2
        ratio, share = (counts - prior) ** 2 / total, variance / total
        # rows where public ones leave none to expect are believed once they are beyond chance
        variance = variance * conflict_inflation(ratio, share, 1)
        rows = np.maximum(prior + variance / (variance + noise**2) * (counts - prior), 0.0)
        # else such a bin holds no row: a part of one far out would cost more than it says
        believed = (noise < _HALF_A_ROW) | (low >= _LEAST_REACH * np.max(self.lengths) * (1 - 1e-9))
        believed = believed | (in_tail & (beyond < _HALF_A_ROW))
        empty = (rows < _HALF_A_ROW) & believed & ~is_conflict(ratio, share, 1)
        return np.where(empty, 0.0, rows)

    def _counted_tail(self, counts: np.ndarray, noise: float) -> tuple[PowerTail, np.ndarray]:
        """Return the power law of the outermost counts (T, K) that are more than noise, and the bins (T, K) it is for.

        The largest fifth of the public lengths begins where most tables have no power law yet, and one that begins
        there has rows far beyond all. It starts at the last edge with enough rows beyond it to tell a power: as many as
        its prior has, beyond chance; where there is no such edge it is for no bin.
        """
        low = self.edges[:-1]
        beyond = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
        chance = noise * np.sqrt(np.arange(self.many, 0.0, -1.0))
        sure = (beyond > PRIOR_ROWS + _BEYOND_CHANCE * chance) & (low >= self.tail.start)
        first = self.many - 1 - np.argmax(sure[:, ::-1], axis=1)[:, None]
        believed = np.any(sure, axis=1)[:, None]
        start = np.where(believed, low[first], self.edges[-1])
        in_tail = believed & (np.arange(self.many) >= first)
        logs = np.log(np.maximum(np.append(self._middles[:-1], low[-1]) / start, 1.0))
        many = np.where(believed, np.take_along_axis(beyond, first, axis=1), 0.0)
        log_excess = np.maximum(np.sum(np.where(in_tail, counts * logs, 0.0), axis=1, keepdims=True), 0.0)
        return PowerTail(many, start, log_excess, LEAST_POWER), in_tail

    @cached_property
    def _bounds(self) -> np.ndarray:
        return np.asarray(
            self.edges[-1] * _BIN_RATIO ** (-np.arange(_BOUNDS_PER_BIN * (self.many - 7)) / _BOUNDS_PER_BIN)
        )

    def predicted_mse(self, n: int, mu: float) -> float:
        """Return the least predicted squared error if private rows reach no further than public ones."""
        cut = np.maximum(self.lengths - self._bounds[:, None], 0.0)
        return float(np.min(np.mean(cut**2, axis=1) / n + self._noise(n, mu)))

    def _noise(self, n: int, mu: float) -> np.ndarray:
        """Return the squared error (B,) of the noise that each bound needs."""
        return np.asarray(self.d * (2 * self._bounds / (mu * n)) ** 2)

    def expected_tail_counts(self, n: int) -> np.ndarray:
        """Return private rows (K,) to expect in the bins before any are counted, under the law of an exponential tail.

        The power law of :attr:`shares` is a prior that counts correct. Before there are any it has rows far beyond all.
        """
        low, ordered = self.edges[:-1], np.sort(self.lengths)
        tail = ExponentialTail.of(ordered)
        at_least = len(ordered) - np.searchsorted(ordered, low)
        farther = np.where(low > tail.longest, tail.beyond(low), at_least)
        return np.asarray(n / len(ordered) * (farther - np.append(farther[1:], 0.0)))

    def bound(self, n: int, mu: float, counts: np.ndarray | None, noise: float) -> np.ndarray:
        """Return clipping bounds (T,) with the least predicted squared error of the step at this budget.

        A clipped gradient does not move with its residual, so what is left of the slope multiplies the error.
        """
        rows = self.expected(n, counts, noise)
        error = self.clipping_mse_by_bound(rows, n, self._bounds) + self._noise(n, mu)
        unclipped = _unclipped_share(rows @ self._inside(self._bounds).T, np.sum(rows, axis=1, keepdims=True))
        return least_error(self._bounds, error / unclipped**_SLOPE_POWER)

    def unclipped_share(self, rows: np.ndarray, bounds: np.ndarray) -> np.ndarray:
        """Return the share (T,) of rows (T, K) in the bins that bounds (T,) do not clip, a twentieth at least."""
        return _unclipped_share(np.sum(rows * self._inside(bounds), axis=1), np.sum(rows, axis=1))

    def _inside(self, bounds: np.ndarray) -> np.ndarray:
        """Return the part (B, K) of each bin below each bound (B,); of the last, which is open, none."""
        parts = np.clip((bounds[:, None] - self.edges[:-1]) / np.diff(self.edges), 0.0, 1.0)
        parts[:, -1] = 0.0
        return np.asarray(parts)

    def clipping_mse_by_bound(self, rows: np.ndarray, n: int, bounds: np.ndarray) -> np.ndarray:
        """Return the squared error (T, B) expected from clipping at bounds (B,), with rows (T, K) in the bins.

        A clipped row moves the mean by what is cut off: in a direction of its own, in part in a common one.
        """
        cut = np.maximum(self._middles - bounds[:, None], 0.0)  # (B, K)
        return self._mean_square_shift(rows @ (cut**2).T, rows @ cut.T, rows @ (cut > 0).T, n)

    def clipping_mse(self, rows: np.ndarray, n: int, bounds: np.ndarray) -> np.ndarray:
        """Return the same (T,) of a bound (T,) for each row of counts (T, K)."""
        cut = np.maximum(self._middles - bounds[:, None], 0.0)
        squares, sums = np.sum(rows * cut**2, axis=1), np.sum(rows * cut, axis=1)
        return self._mean_square_shift(squares, sums, np.sum(rows * (cut > 0), axis=1), n)

    def clipping_mse_beyond_reach(self, rows: np.ndarray, n: int) -> np.ndarray:
        """Return what rows (T, K) add to it (T,) by what they have beyond the last edge, which nobody counted.

        They follow a power law, Hill's by the rows beyond the start of the public tail; of those in the open bin only
        where it begins is known.
        """
        low = self.edges[:-1]
        tail = low >= self.tail.start
        logs = np.log(np.append(self._middles[:-1], low[-1])[tail] / low[tail][0])
        counted = np.sum(rows[:, :-1] * tail[:-1], axis=1)
        power = np.maximum((counted + PRIOR_ROWS) / (rows[:, tail] @ logs + PRIOR_ROWS / PRIOR_POWER), LEAST_POWER)
        edge = self.edges[-1]
        far = rows[:, -1] * (edge / low[-1]) ** -power
        return self._mean_square_shift(
            far * 2 * edge**2 / ((power - 1) * (power - 2)), far * edge / (power - 1), far, n
        )

    @staticmethod
    def _mean_square_shift(squares: np.ndarray, sums: np.ndarray, many: np.ndarray, n: int) -> np.ndarray:
        """Return the expected squared length of ``(1/n) sum c_i`` by squares, sum and number of lengths cut off."""
        pairs = np.maximum(sums**2 - squares, 0.0)
        return np.asarray((squares + common_direction(many / n) * pairs) / n**2)

    @cached_property
    def _middles(self) -> np.ndarray:
        """Return the middles of the bins (K,); of the last, which is open, its edge."""
        return np.append((self.edges[1:-1] + self.edges[:-2]) / 2, self.edges[-1])


def _unclipped_share(unclipped: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the share of rows that are not clipped, a twentieth at least, for numbers of both of one shape."""
    return np.maximum(unclipped / np.maximum(rows, 1.0), _LEAST_UNCLIPPED)
