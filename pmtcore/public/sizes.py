"""Where to clip the gradients of a second pass: public rows, and a private histogram of sizes (proofs/radius.md, 5.1).

The gradient of one whitened row at the pilot is ``x~ r``. It is clipped in length, where the joint row was truncated
whole: a row far out with a small residual loses nothing. The bound is chosen as the radius is, by what clipping
is predicted to cost and what the noise does, but the sizes are counted among the private rows: a histogram has
sensitivity ``sqrt(2)`` however many columns there are, and twenty rows beyond the largest public one decide more
than hundreds of public rows can tell.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.public.gaussian_update import conflict_inflation, is_conflict
from pmtcore.public.tails import PRIOR_POWER, PRIOR_ROWS, PowerTail

_BIN_RATIO = 1.25  # between the edges of bins
_BINS = 31  # counts of lengths, a fixed ratio apart; their noise grows with the number that is seen, not released
_LEAST_REACH = 4.0  # the last edge, in units of the largest public gradient, at least
_MOST_REACH = 1e4  # some forty bins more than usual
# Of a sampling error: the noise of the largest bound that may be chosen, where it is further out than the least reach
_MOST_NOISE = 0.5
# Of a sampling error: noise below it is nothing beside it, so a bound that makes no more is free.
HARMLESS = 0.02
_PRIOR_ROWS = 0.04  # per bin, beside the public counts
_BOUNDS_PER_BIN = 4  # candidates per bin
# Fewer rows than that are none, and noise below it tells none from one
_HALF_A_ROW = 0.5
# The tail is that of the largest fifth, never heavier than 2.3: below 2 a mean has no error
_TAIL_SHARE, _LEAST_POWER = 5, 2.3
# Odds of a common direction of two gradients beyond a bound with this share of rows beyond it, and their power
_COMMON_ODDS, _COMMON_SHARE, _COMMON_POWER = 0.062, 0.1, 0.6


def harmless_bound(n: int, mu: float) -> float:
    """Return the clipping bound whose noise ``2 R/(mu n)`` is a fiftieth of the sampling error ``1/sqrt(n)``.

    In whitened units a residual has variance 1; a smaller bound could only save what nobody sees.
    """
    return HARMLESS * mu * math.sqrt(n) / 2


def common_direction(share: np.ndarray) -> np.ndarray:
    """Return the cosine to expect between what is cut off two rows, where this share of rows is beyond the bound.

    Fewer rows lie further out and then more on one side, as skewed columns have it (proofs/radius.md, 5.1).
    """
    odds = _COMMON_ODDS * (np.maximum(share, 1e-9) / _COMMON_SHARE) ** -_COMMON_POWER
    return np.asarray(odds / (1 + odds))


def beyond(ordered: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean squared and mean excess (t, K) of ascending lengths (t, m) over bounds (t, K).

    The largest fifth follows a power law, so a bound beyond the longest one still costs.
    """
    tail = PowerTail.of(ordered, _TAIL_SHARE, _LEAST_POWER)
    edge, power = np.maximum(tail.start, bounds), tail.power
    rows = tail.beyond(edge)
    square = rows * (edge**2 * power / (power - 2) - 2 * bounds * edge * power / (power - 1) + bounds**2)
    line = rows * (edge * power / (power - 1) - bounds)
    body = excess_sums(ordered[:, : -tail.many], bounds)
    return (square + body[0]) / ordered.shape[1], (line + body[1]) / ordered.shape[1]


def excess_sums(lengths: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums of squared excess and of excess (t, K) of lengths (t, m) over bounds (t, K)."""
    excess = [np.maximum(lengths - bound[:, None], 0.0) for bound in bounds.T]
    square, line = (np.stack([np.sum(each**power, axis=1) for each in excess], axis=1) for power in (2, 1))
    return square, line


@dataclass(frozen=True, eq=False)
class GradientNorms:
    """Lengths of the gradients of public rows as if left out (m,), whitened units; everything here is public."""

    lengths: np.ndarray
    d: int
    reach: float = _LEAST_REACH

    @classmethod
    def at(cls, lengths: np.ndarray, d: int, n: int, mu: float) -> GradientNorms:
        """Return lengths whose histogram reaches to the bound whose noise is half a sampling error at n rows."""
        top = max(float(np.max(lengths)), 1e-12)
        farthest = _MOST_NOISE / HARMLESS * harmless_bound(n, mu)
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
        return PowerTail.of(np.sort(self.lengths), _TAIL_SHARE, _LEAST_POWER)

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
        prior = n * self.shares
        if counts is None:
            return prior[None]
        middle, tail = (self.edges[1:] + self.edges[:-1]) / 2, self.tail
        bend = 1 + (tail.power * np.log(np.maximum(middle / tail.start, 1.0))) ** 2
        far = prior + prior**2 * bend / (tail.many + PRIOR_ROWS)
        near = prior * (1 - self.shares) * (1 + n / (len(self.lengths) + 1))
        variance = np.where(self.edges[1:] > tail.start, far, near)
        total = variance + noise**2
        ratio, share = (counts - prior) ** 2 / total, variance / total
        # rows where public ones leave none to expect are believed once they are beyond chance
        variance = variance * conflict_inflation(ratio, share, 1)
        rows = np.maximum(prior + variance / (variance + noise**2) * (counts - prior), 0.0)
        # else such a bin holds no row: a part of one far out would cost more than it says
        believed = (noise < _HALF_A_ROW) | (self.edges[:-1] >= _LEAST_REACH * np.max(self.lengths) * (1 - 1e-9))
        empty = (prior < _HALF_A_ROW) & believed & ~is_conflict(ratio, share, 1)
        return np.where(empty, 0.0, rows)

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

    def whole_rows(self, n: int) -> np.ndarray:
        """Return rows (K,) to expect in the bins, in whole rows: half a row in or beyond a bin is none.

        A tail that holds a twentieth of a row in the mean holds nothing as a rule, and costs nothing then.
        """
        farther = np.floor(np.cumsum((n * self.shares)[::-1])[::-1] + 0.5)
        return np.asarray(farther - np.append(farther[1:], 0.0))

    def counted_bound(self, n: int, mu: float, noise: float) -> float:
        """Return the bound to expect of a histogram of rows that fall as public ones lead one to expect."""
        return float(self.bound(n, mu, self.whole_rows(n)[None], noise)[0])

    def bound(self, n: int, mu: float, counts: np.ndarray | None, noise: float) -> np.ndarray:
        """Return clipping bounds (T,) with the least predicted squared error at this budget."""
        losses = self.clipping_mse_by_bound(self.expected(n, counts, noise), n, self._bounds)
        return np.asarray(self._bounds[np.argmin(losses + self._noise(n, mu), axis=1)])

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
        power = np.maximum((counted + PRIOR_ROWS) / (rows[:, tail] @ logs + PRIOR_ROWS / PRIOR_POWER), _LEAST_POWER)
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
