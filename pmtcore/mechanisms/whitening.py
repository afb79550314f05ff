"""Whitening in integers: the same bits however rows are cut into blocks, at the speed of BLAS (maths.md, 14).

    t = rint(2^a (x - m x_0)/s)          every cell on a grid of its column, centred and scaled by public figures
    Z = W t,   W = rint(2^b A L^{-1} s)  a matrix product of integers whose sums stay below 2^53: exact in any order

``m`` and ``s`` are the public means (where there is an intercept ``x_0``) and deviations, ``L`` the public root, ``A``
what is wanted of the whitened row. Where one product of 53 bits is too coarse for a badly conditioned ``L``, cells and
matrix are split in two and three products are added, each exact, in a fixed order. A row with a cell too far out is
scaled down by a power of two of its own, which :attr:`Block.lift` gives back; one that is not finite is a row of zeros.
What becomes of a row is decided by that row alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np
from scipy.linalg import solve_triangular

EXACT = 53  # bits that a double holds: sums of integers below 2^53 are exact in any order
_RANGE = 7  # a cell up to 2^7 public deviations off is taken as it is; beyond, its row is scaled down
_CELL_BITS = 15  # of a whitened row's usual length that the rounding of cells leaves: as many as the grid of moments
_MATRIX_BITS = 18  # that the rounding of the matrix leaves: 1e-6 of a coefficient, a hundredth of sampling at n = 1e8
_HALF = 26  # bits of a cell's half where one product is too coarse
_FARTHEST = 500  # powers of two by which a row may be scaled down; a cell beyond 2^507 deviations is not a number
_CELLS = 90_000  # of a block: two buffers of these fit into a second-level cache of 1 MB
_FEWEST, MOST_COLUMNS = 512, 8192  # columns of a block; more of them would leave sums of 40 bits no room below 2^53
_STRIP = 40  # outputs of one matrix product: narrower ones use less of a triangle, and BLAS less of a core
_TILE = 64  # rows: blocks are whole tiles, so that loops are long and numpy adds in one order

Strips = list[tuple[slice, int]]


@final
@dataclass(eq=False)
class Block:
    """Some rows as columns.

    Attributes:
        values: whole multiples (E, k) of the units of the product; the buffer is used again for the next block.
        spare: a buffer (D, k) for the block's own use.
        lift: what each column has to be multiplied with (k,), powers of two; ``None`` where that is 1.
        rows: how many columns stand for rows; the others are zeros.
    """

    values: np.ndarray
    spare: np.ndarray
    lift: np.ndarray | None
    rows: int
    _known: tuple[int, np.ndarray | None] = (0, None)  # coordinates whose squares are added up

    def lengths(self, coordinates: int) -> np.ndarray:
        """Lengths (k,) of the first coordinates of each column, not lifted; added in an order that no block changes.

        Asked for more coordinates, it goes on from the squares of those before.
        """
        first, before = self._known
        part = self.values[first:coordinates]
        found = np.add.reduce(np.multiply(part, part, out=self.spare[: len(part)]), axis=0)
        if before is not None:
            found += before
        self._known = coordinates, found
        return np.asarray(np.sqrt(found))


@final
@dataclass(frozen=True, eq=False)
class Whitening:
    """``L^{-1} z`` of joint rows ``z = (x, y)`` for a public root.

    Args:
        factor: L (D, D), lower triangular.
        intercept: whether the first feature is 1 in every row (and 0 in a row that was left out).
    """

    factor: np.ndarray
    intercept: bool

    @cached_property
    def shift(self) -> np.ndarray:
        """Public means (D,), 0 for the intercept itself; 0 without an intercept."""
        if not self.intercept:
            return np.zeros(len(self.factor))
        means = self.factor[:, 0] / self.factor[0, 0]
        means[0] = 0.0
        return means

    @cached_property
    def spread(self) -> np.ndarray:
        """Public deviations (D,), root mean squares without an intercept."""
        found = np.linalg.norm(self.factor[:, 1 if self.intercept else 0 :], axis=1)
        if self.intercept:
            found[0] = 1.0
        return found

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Shifts and scales of the features of as many rows as a tile has (64 d,)."""
        return np.tile(self.shift[:-1], _TILE), np.tile(2.0**self.cell_bits / self.spread[:-1], _TILE)

    @cached_property
    def base(self) -> np.ndarray:
        """From centred, scaled rows to whitened ones (D, D)."""
        found = solve_triangular(self.factor, np.diag(self.spread), lower=True)
        if self.intercept:
            found[:, 0] = 0.0
            found[0, 0] = 1 / self.factor[0, 0]
        return np.asarray(found)

    @cached_property
    def halved(self) -> bool:
        """Whether cells and matrix are split in two: one product of 53 bits would be too coarse."""
        return self._spare < 0

    @cached_property
    def cell_bits(self) -> int:
        """``a``: a cell is a multiple of ``2^-a`` deviations."""
        if self.halved:
            return 2 * _HALF - 1 - _RANGE
        return math.ceil(self._needed[0]) + self._spare // 2

    @cached_property
    def _needed(self) -> tuple[float, float]:
        """Bits after the point that cells and matrix need."""
        longest = float(np.max(np.linalg.norm(self.base, axis=1)))
        back = float(np.linalg.norm(np.linalg.inv(self.base), 2))
        usual = math.log2(len(self.factor)) / 2
        return max(_CELL_BITS - usual + math.log2(max(longest, 1.0)), 1.0), _MATRIX_BITS + math.log2(max(back, 1.0))

    @cached_property
    def _spare(self) -> int:
        """Bits of one product beyond what is needed."""
        widest = float(np.max(np.sum(np.abs(self.base), axis=1)))
        cells, matrix = (math.ceil(bits) for bits in self._needed)
        return EXACT - 1 - _RANGE - cells - matrix - math.ceil(math.log2(max(widest, 1.0)))

    def through(self, wanted: np.ndarray, alike: int) -> Product:
        """The product that yields ``wanted @ L^{-1} z``.

        Args:
            wanted: (E, D), public.
            alike: how many of its first rows share one unit; the others have each their own.
        """
        matrix = np.asarray(wanted @ self.base)
        room = EXACT - (_HALF if self.halved else self.cell_bits + _RANGE)
        sums = np.sum(np.abs(matrix), axis=1)
        sums[:alike] = np.max(sums[:alike])
        bits = np.floor(np.log2((2.0**room - matrix.shape[1]) / np.maximum(sums, 2.0**-100)))[:, None]
        first = np.rint(np.ldexp(matrix, bits.astype(int)))
        units = 2.0 ** -(bits[:, 0] + self.cell_bits)
        if not self.halved:
            return Product(self, first, None, units)
        finer = room - 1 - math.ceil(math.log2(matrix.shape[1]))
        rest = np.rint(np.ldexp(np.ldexp(matrix, bits.astype(int)) - first, finer))
        return Product(self, first, np.ldexp(rest, _HALF - 1 - finer), units)


@final
@dataclass(frozen=True, eq=False)
class Product:
    """Whitened rows times a public matrix, in integers.

    Attributes:
        first: (E, D) integers.
        rest: what they leave of the matrix (E, D), for the halves of split cells; ``None`` where nothing is split.
        units: what 1 of each output means (E,), powers of two.
    """

    whitening: Whitening
    first: np.ndarray
    rest: np.ndarray | None
    units: np.ndarray

    @property
    def columns(self) -> int:
        """Rows of the table in one block."""
        wide = max(self.first.shape)
        return int(min(max(2 ** round(math.log2(_CELLS / wide)), _FEWEST), MOST_COLUMNS))

    def blocks(self, features: np.ndarray, response: np.ndarray) -> Iterator[Block]:
        """Rows (n, d), (n,) in blocks; each block is to be done with before the next is asked for."""
        outputs, width = self.first.shape
        step = self.columns
        most = min(step, _whole(len(response)))
        cells, low, values = (np.empty(size * most) for size in (width, width if self._split else 0, outputs))
        for start in range(0, len(response), step):
            x, y = features[start : start + step], response[start : start + step]
            k = _whole(len(y))
            t, s = _laid_out_as(x, cells[: (width - 1) * k]), cells[(width - 1) * k : width * k]
            z = values[: outputs * k].reshape(outputs, k)
            lift = self._cells(x, y, t, s)
            if self._split:
                rest = low[: width * k]
                self._in_halves(t, s, rest[:-k].reshape(t.shape), rest[-k:], z)
            else:
                _times(self.first, self._strips, t, s, z)
            yield Block(z, cells[: width * k].reshape(width, k), lift, len(y))

    @cached_property
    def _strips(self) -> Strips:
        return _strips(self.first if self.rest is None else np.abs(self.first) + np.abs(self.rest))

    @property
    def _split(self) -> bool:
        return self.rest is not None

    def _cells(self, x: np.ndarray, y: np.ndarray, t: np.ndarray, s: np.ndarray) -> np.ndarray | None:
        """Rounded cells of features (k, d) into ``t``, of responses (k,) into ``s``.

        Returns powers of two (k,) by which far rows were scaled down, if there are any.
        """
        found, count = self.whitening, len(y)
        shift, scale = found.tiles
        if t.flags.c_contiguous:
            wide = t.reshape(-1, len(shift))  # tiles of rows, so that the inner loops are long
        else:
            wide, scale = t.T, scale[: t.shape[1], None]
        if found.intercept and not np.all(x[:, 0] == 1.0):
            np.subtract(x, found.shift[:-1] * x[:, :1], out=t[:count])
            np.subtract(y, found.shift[-1] * x[:, 0], out=s[:count])
        elif x.flags.c_contiguous and t.flags.c_contiguous and count == len(s):
            np.subtract(x.reshape(wide.shape), shift, out=wide)
            np.subtract(y, found.shift[-1], out=s)
        else:
            np.subtract(x.T, found.shift[:-1, None], out=t[:count].T)
            np.subtract(y, found.shift[-1], out=s[:count])
        t[count:], s[count:] = 0.0, 0.0
        np.rint(np.multiply(wide, scale, out=wide), out=wide)
        np.rint(np.multiply(s, 2.0**found.cell_bits / found.spread[-1], out=s), out=s)
        most = 2.0 ** (found.cell_bits + _RANGE)
        if t.max() <= most and t.min() >= -most and s.max() <= most and s.min() >= -most:  # false for what is no number
            return None
        return _scaled_down(t, s, most)

    def _in_halves(self, t: np.ndarray, s: np.ndarray, high: np.ndarray, high_s: np.ndarray, z: np.ndarray) -> None:
        """Three exact products, added in this order."""
        if self.rest is None:
            raise ValueError("nothing is split")
        half = 2.0 ** (_HALF - 1)
        for cells, upper in ((t, high), (s, high_s)):
            np.rint(np.multiply(cells, 1 / half, out=upper), out=upper)
            cells -= upper * half  # the lower half, exact
        _times(self.first, self._strips, high, high_s, z)
        np.multiply(z, half, out=z)
        more = np.empty_like(z)
        for matrix, cells, response in ((self.first, t, s), (self.rest, high, high_s)):
            _times(matrix, self._strips, cells, response, more)
            z += more


def _times(matrix: np.ndarray, strips: Strips, t: np.ndarray, s: np.ndarray, z: np.ndarray) -> None:
    """``matrix @ (t, s)'`` into ``z`` (E, k): integers, exact, so zeros above a triangle may be left out of the sum."""
    for rows, wide in strips:
        np.matmul(matrix[rows, :wide], t[:, :wide].T, out=z[rows])
    for row in np.flatnonzero(matrix[:, -1]):  # few outputs have the response
        z[row] += matrix[row, -1] * s


def _strips(matrix: np.ndarray) -> Strips:
    """Some rows at a time, and before which column they end in zeros, the last column aside."""
    found = []
    for strip in np.array_split(np.arange(len(matrix)), max(round(len(matrix) / _STRIP), 1)):
        rows = slice(int(strip[0]), int(strip[-1]) + 1)
        used = np.flatnonzero(np.any(matrix[rows, :-1], axis=0))
        found.append((rows, int(used[-1]) + 1 if len(used) else 1))
    return found


def _laid_out_as(x: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """A buffer for features (k, d), by columns where they are: what is done to each cell is the same."""
    d = x.shape[1]
    if x.strides[0] == x.itemsize and d > 1:
        return cells.reshape(d, -1).T
    return cells.reshape(-1, d)


def _whole(rows: int) -> int:
    """Rows rounded up to whole tiles."""
    return -(-max(rows, 1) // _TILE) * _TILE


def _scaled_down(t: np.ndarray, s: np.ndarray, most: float) -> np.ndarray:
    """Rows brought within ``most`` by powers of two (k,); one that is not finite becomes zeros."""
    length = np.maximum(np.max(np.abs(t), axis=1), np.abs(s))  # nan where there is one
    lost = ~(length <= most * 2.0**_FARTHEST)
    t[lost], s[lost], length[lost] = 0.0, 0.0, 0.0
    power = np.where(length > most, np.frexp(length / most)[1], 0)
    np.copyto(t, np.rint(np.ldexp(t, -power[:, None])))
    np.copyto(s, np.rint(np.ldexp(s, -power)))
    return np.ldexp(1.0, power)
