"""Statistics that a multi-pass method releases: histograms of gradient lengths, clipped gradients, curvatures.

At each of ``t`` released points a row gives the gradient ``x~ (y - b'(x~'theta))``, clipped in length, or the
curvature ``b'' x~ x~'``, truncated in ``sqrt(b'') |x~|``. Both are an integer direction times a rounded length, so
the sums are exact in any order, and the released figures have discrete Gaussian noise (proofs/noise.md, 14), in the
lab as in a release.
"""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from pmtcore.base.private_rows import Private, RowCache
from pmtcore.glm.families import Family
from pmtcore.mechanisms.grid import FINE, SCALE, SLACK, join_words, noisy_symmetric, release_integers, split_into_words
from pmtcore.mechanisms.integers import grid_numbers
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.quantized_rows import STEPS, QuantizedRows, in_steps
from pmtcore.mechanisms.whitening import ROWS_PER_TILE

# Most numbers in memory at once for each quantity: points times columns of a block.
_NUMBERS_AT_ONCE = 2**19
# Grid steps of a clipped length: times those of a direction 2^36, so that a sum over 2^15 columns is below 2^53.
SIZES = 2**14
# Grid steps of a clipped gradient to its bound.
GRADIENT = STEPS * SIZES
# Replace-one sensitivity of a sum of vectors no longer than 1.
GRADIENT_SENSITIVITY = 2.0
# Replace-one sensitivity of a sum of uu', |u| <= 1.
CURVATURE_SENSITIVITY = math.sqrt(2)
# Replace-one sensitivity of a histogram: a row leaves one bin and enters another.
HISTOGRAM_SENSITIVITY = math.sqrt(2)


@dataclass(frozen=True, eq=False)
class LengthCounts:
    """Histograms of ``|x~ (y - b'(x~'theta))|`` or ``sqrt(b'') |x~|``, in words (2, t, K), in units of 2^-30 rows.

    A row of zeros (of a missing value, or padding of a person's rows) is in no bin: its gradient is zero.

    Args:
        family: family of the response.
        points: coefficients (t, d).
        edges: edges of the bins (K + 1,), the first 0; lengths beyond the last edge count in the last bin.
        of_curvatures: whether lengths are those at which curvatures are truncated; else those of gradients.
    """

    family: Family
    points: np.ndarray
    edges: np.ndarray
    of_curvatures: bool = False

    def release(self, rows: Private[RowCache[QuantizedRows]], mu: float, source: NoiseSource) -> np.ndarray:
        """Return counts of rows (t, K) with noise.

        Args:
            rows: private quantized rows.
            mu: budget of each histogram.
            source: source of the noise.

        Guarantee: mu-GDP under replace-one for each point: a row leaves one bin and enters another, which moves the
        counts by ``sqrt(2)`` (proofs/sensitivity.md, 3.4 and 14).
        """
        total = rows.bind(lambda cache: cache.sum(self)).map(join_words)
        return release_integers(total, HISTOGRAM_SENSITIVITY * FINE, mu, source, trials=len(self.points)) / FINE

    def __call__(self, pieces: Iterable[QuantizedRows]) -> np.ndarray:
        """Return the histograms of one block of a table, given in pieces."""
        below = np.zeros((len(self.points), len(self.edges)), dtype=np.int64)  # rows below each edge
        points = in_steps(self.points)
        for piece in pieces:
            for part, along in _linear_predictors(piece, piece.directions, points):
                lengths = _curvature_lengths if self.of_curvatures else _to_gradient_lengths
                sizes = lengths(self.family, piece, along)
                np.copyto(np.abs(sizes, out=sizes), np.inf, where=piece.lengths == 0)  # below no edge
                below[part, 1:-1] += _counts_below(sizes, self.edges[1:-1])
            below[:, -1] += np.count_nonzero(piece.lengths)
        return split_into_words(np.diff(below, axis=1) * FINE)


@dataclass(frozen=True, eq=False)
class PointSum:
    """A sum over rows at each of several points.

    Args:
        family: family of the response.
        points: coefficients (t, d).
        bounds: lengths (t,) that rows are clipped to.
    """

    family: Family
    points: np.ndarray
    bounds: np.ndarray

    def quantized_pieces(
        self, pieces: Iterable[QuantizedRows]
    ) -> Iterator[tuple[QuantizedRows, np.ndarray, slice, np.ndarray]]:
        """Yield each piece, its directions (d, k), and ``x~'theta`` (t', k) for some of the points at a time."""
        points = in_steps(self.points)
        for piece in pieces:
            directions = piece.directions
            for part, predictors in _linear_predictors(piece, directions, points):
                yield piece, directions, part, predictors


class GradientSum(PointSum):
    """``sum v min(1, R/|v|)``, ``v = w x~ (y - b'(x~'theta))``, in integers of ``R/2^36``, R the bounds.

    The result is in words (2, t, d).
    """

    def release(self, rows: Private[RowCache[QuantizedRows]], mu: float, n: int, source: NoiseSource) -> np.ndarray:
        """Return mean clipped gradients (t, d) in units of their bounds, with noise.

        Args:
            rows: private quantized rows.
            mu: budget of each point.
            n: public number of rows.
            source: source of the noise.

        Guarantee: mu-GDP under replace-one for each point: a sum of vectors no longer than the bound
        (proofs/sensitivity.md, 3.4, 14).
        """
        total = rows.bind(lambda cache: cache.sum(self)).map(join_words)
        units = release_integers(total, GRADIENT_SENSITIVITY * GRADIENT, mu, source, trials=len(self.points))
        return units / GRADIENT / n

    def __call__(self, pieces: Iterable[QuantizedRows]) -> np.ndarray:
        """Return the sums over one block of a table, given in pieces."""
        total = np.zeros(self.points.shape, dtype=np.int64)
        for piece, directions, part, along in self.quantized_pieces(pieces):
            sizes = _to_gradient_lengths(self.family, piece, along)
            sizes = _rounded(np.divide(sizes, self.bounds[part, None], out=sizes))
            total[part] += (sizes @ directions.T).astype(np.int64)
        return split_into_words(total)


class CurvatureSum(PointSum):
    """``sum uu' min(1, B^2/|u|^2)``, ``u = x~ sqrt(b''(x~'theta))``, in integers of ``(B/2^15)^2``.

    The result is in words (2, t, d, d); B are the bounds.
    """

    def release(self, rows: Private[RowCache[QuantizedRows]], mu: float, n: int, source: NoiseSource) -> np.ndarray:
        """Return mean truncated curvatures (t, d, d), with isometric noise; arguments as of a gradient's release.

        Guarantee: mu-GDP under replace-one for each point: a moment of vectors no longer than the bound, of Frobenius
        sensitivity ``sqrt(2) bound^2/n`` (proofs/sensitivity.md, 3.1 and 14).
        """
        total = rows.bind(lambda cache: cache.sum(self)).map(join_words)
        scale = (1 + SLACK) * CURVATURE_SENSITIVITY * SCALE**2 / mu
        noisy = noisy_symmetric(total, scale, source, len(self.points), form="isometric")
        return np.asarray(noisy * ((self.bounds / SCALE) ** 2)[:, None, None] / n)

    def __call__(self, pieces: Iterable[QuantizedRows]) -> np.ndarray:
        """Return the sums over one block of a table, given in pieces."""
        t, d = self.points.shape
        total = np.zeros((t, d, d), dtype=np.int64)
        for piece, directions, part, along in self.quantized_pieces(pieces):
            factor = (
                grid_numbers(_curvature_lengths(self.family, piece, along) / self.bounds[part, None], 1.0, SCALE)
                / STEPS
            )
            for at, scale in zip(range(t)[part], factor, strict=True):
                u = np.trunc(directions * scale)
                total[at] += (u @ u.T).astype(np.int64)
        return split_into_words(total)


def _linear_predictors(
    piece: QuantizedRows, directions: np.ndarray, points: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield ``x~'theta`` (t', k) for some of the points (t, d) at a time; points are in grid steps."""
    many = max(_NUMBERS_AT_ONCE // directions.shape[1], 1)
    for first in range(0, len(points), many):
        part = slice(first, first + many)
        yield part, piece.projections(directions, points[part])


def _rounded(shares: np.ndarray) -> np.ndarray:
    """Clip shares of the bound to 1 and round them to the nearest integer, so without bias; NaN becomes 0."""
    if np.isnan(shares.sum()):  # infinities of both signs too, which are clipped as they are
        shares = np.where(np.isnan(shares), 0.0, shares)
    clipped = np.clip(shares, -1.0, 1.0, out=shares)
    clipped *= SIZES
    return np.rint(clipped, out=clipped)


def _counts_below(sizes: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Count the entries below each edge (K,) in each row of sizes (t, k), k in whole tiles; NaN is below none.

    Comparing all numbers with all edges takes a fifth of the time of sorting them.
    """
    (t, k), many = sizes.shape, len(edges)
    counts = np.empty((t, many), dtype=np.int64)
    rows, columns = max(_NUMBERS_AT_ONCE // (k * many), 1), max(_NUMBERS_AT_ONCE // k, 1)
    for first, edge in product(range(0, t, rows), range(0, many, columns)):
        part = slice(first, first + rows), slice(edge, edge + columns)
        below = np.less(sizes[part[0], None], edges[part[1], None]).view(np.uint8)
        # A byte has room for the rows of a tile.
        tiles = below.reshape(*below.shape[:2], ROWS_PER_TILE, -1)
        counts[part] = np.add.reduce(tiles, axis=2, dtype=np.uint8).sum(axis=2, dtype=np.int64)
    return counts


def _curvature_lengths(family: Family, piece: QuantizedRows, along: np.ndarray) -> np.ndarray:
    """Return the lengths ``sqrt(w b'') |x~|`` (t, k) of rows with predictors ``x~'theta`` (t, k)."""
    slopes = family.slope(along)
    return np.asarray(np.sqrt(slopes if piece.weights is None else slopes * piece.weights) * piece.lengths)


def _to_gradient_lengths(family: Family, piece: QuantizedRows, along: np.ndarray) -> np.ndarray:
    """Replace ``x~'theta`` (t, k), in place, by the signed gradient lengths ``|x~| w (y - b')``."""
    sizes = np.subtract(piece.response, family.mean(along), out=along)
    if piece.weights is not None:
        sizes *= piece.weights
    sizes *= piece.lengths
    return sizes
