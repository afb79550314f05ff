"""Where to clip the gradients of a second pass: public rows, and a private histogram of sizes (maths.md, 5.1).

The gradient of one whitened row at the pilot is ``x~ r``. It is clipped in length, where the joint row was truncated
whole: a row far out with a small residual loses nothing. The bound is chosen as the radius is, by what clipping
is predicted to cost and what the noise does, but the sizes are counted among the private rows: a histogram has
sensitivity ``sqrt(2)`` however many columns there are, and twenty rows beyond the largest public one decide more
than hundreds of public rows can tell.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from pmtcore.moments import PublicData
from pmtcore.radius import ABSOLUTE_SHARE

_RATIO = 1.25  # between the edges of bins
_BINS = 31
_REACH = 4.0  # the last edge, in units of the largest public gradient
_PRIOR_ROWS = 0.04  # per bin, beside the public counts
_FINER = 4  # candidates per bin
_PRIOR_POWER, _PRIOR_TAIL, _LEAST_POWER = 4.0, 10, 2.3


@final
@dataclass(frozen=True)
class Sizes:
    """Sizes of gradients, whitened units; everything here is public."""

    public: PublicData

    @cached_property
    def _rows(self) -> np.ndarray:
        if self.public.whitened is None:
            raise ValueError("public rows are needed")
        return self.public.whitened

    @cached_property
    def lengths(self) -> np.ndarray:
        """Lengths (m,) of the gradients of public rows, whitened as if left out."""
        return np.linalg.norm(self._rows[:, :-1], axis=1) * np.abs(self._rows[:, -1])

    @cached_property
    def edges(self) -> np.ndarray:
        """Edges (K + 1,) of the histogram; the first is 0, all beyond the last counts in the last bin."""
        top = float(np.max(self.lengths))
        edges = _REACH * max(top, 1e-12) * _RATIO ** np.arange(-_BINS, 1.0)
        edges[0] = 0.0
        return edges

    @property
    def sensitivity(self) -> float:
        """Of the histogram: a replaced row leaves one bin and enters another."""
        return float(np.sqrt(2))

    def bins(self, lengths: np.ndarray) -> np.ndarray:
        """Places in the histogram of lengths of gradients, same shape."""
        return np.clip(np.searchsorted(self.edges, lengths, side="right") - 1, 0, _BINS - 1)

    def counts(self, bins: np.ndarray) -> np.ndarray:
        """Histogram (K,) of bins (k,), or one (T, K) for each column of (k, T)."""
        flat = bins.reshape(len(bins), -1)
        columns = flat.shape[1]
        places = flat + _BINS * np.arange(columns)
        found = np.bincount(places.ravel(), minlength=_BINS * columns).reshape(columns, _BINS)
        return found if bins.ndim > 1 else found[0]

    @cached_property
    def shares(self) -> np.ndarray:
        """Share of rows (K,) that public rows lead one to expect in each bin."""
        seen = self.counts(self.bins(self.lengths))
        return np.asarray((seen + _PRIOR_ROWS) / (len(self._rows) + _BINS * _PRIOR_ROWS))

    def expected(self, n: int, counts: np.ndarray | None, noise: float) -> np.ndarray:
        """Private rows (T, K) in each bin: released counts and public shares, combined by precision.

        Args:
            counts: released (T, K), with noise of this standard deviation; ``None`` where none were released.
        """
        share = self.shares
        prior = n * share
        if counts is None:
            return prior[None]
        variance = prior * (1 - share) * (1 + n / (len(self._rows) + 1))
        return np.asarray(np.maximum(prior + variance / (variance + noise**2) * (counts - prior), 0.0))

    @property
    def _bounds(self) -> np.ndarray:
        return np.asarray(self.edges[-1] * _RATIO ** (-np.arange(_FINER * (_BINS - 7)) / _FINER))

    def price_as_seen(self, n: int, mu: float) -> float:
        """The least predicted squared error if private rows reach no further than public ones."""
        cut = np.maximum(self.lengths - self._bounds[:, None], 0.0)
        return float(np.min(np.mean(cut**2, axis=1) / n + self.public.d * (2 * self._bounds / (mu * n)) ** 2))

    def foreseen(self, n: int, bound: float) -> float:
        """Squared error that a bound is expected to cause, with the tail that no public row shows: for planning.

        Lengths beyond the largest fifth of the public ones follow a power law, its exponent Hill's estimate drawn
        towards 4 by as much as ten rows.
        """
        ordered = np.sort(self.lengths)
        many = min(max(len(ordered) // 5, 5), len(ordered) - 1)
        start = max(float(ordered[-many - 1]), 1e-300)
        far = np.log(np.maximum(ordered[-many:] / start, 1.0)).sum()
        power = max((many + _PRIOR_TAIL) / (far + _PRIOR_TAIL / _PRIOR_POWER), _LEAST_POWER)
        body = np.maximum(ordered[:-many] - bound, 0.0)
        edge = max(start, bound)
        rows = many * (edge / start) ** -power  # of the public ones, beyond the edge
        square = rows * (edge**2 * power / (power - 2) - 2 * bound * edge * power / (power - 1) + bound**2)
        line = rows * (edge * power / (power - 1) - bound)
        m = len(ordered)
        apart, alike = (np.sum(body**2) + square) / (m * n), (np.sum(body) + line) / m
        return float(apart + ABSOLUTE_SHARE * alike**2)

    def foreseen_bound(self, n: int, mu: float) -> float:
        """The bound that costs least by :meth:`foreseen`: what to expect before rows are counted."""
        prices = [self.foreseen(n, b) + self.public.d * (2 * b / (mu * n)) ** 2 for b in self._bounds]
        return float(self._bounds[int(np.argmin(prices))])

    def bound(self, n: int, mu: float, counts: np.ndarray | None, noise: float) -> tuple[np.ndarray, np.ndarray]:
        """Clipping bounds (T,) with the least predicted squared error at this budget, and what they lose (T,)."""
        losses = self.losses(self.expected(n, counts, noise), n, self._bounds)
        best = np.argmin(losses + self.public.d * (2 * self._bounds / (mu * n)) ** 2, axis=1)
        return self._bounds[best], losses[np.arange(len(losses)), best]

    def losses(self, rows: np.ndarray, n: int, bounds: np.ndarray) -> np.ndarray:
        """Squared error (T, B) that clipping at bounds (B,) is expected to cause, with rows (T, K) in the bins.

        A clipped row moves the mean by what is cut off: in a direction of its own, in part in a common one.
        """
        middle = (self.edges[1:] + self.edges[:-1]) / 2
        cut = np.maximum(middle - bounds[:, None], 0.0)  # (B, K)
        return np.asarray(rows @ (cut**2).T / n**2 + ABSOLUTE_SHARE * (rows @ cut.T / n) ** 2)


def clipped_weights(lengths: np.ndarray, bound: np.ndarray | float) -> np.ndarray:
    """``min(1, bound/length)``."""
    return np.minimum(1.0, bound / np.maximum(lengths, 1e-300))
