"""Whitening in integers: the same bits however rows are cut into blocks, at the speed of BLAS (proofs/noise.md, 14).

    t = rint(2^a (x - m x_0)/s)          every cell on a grid of its column, centred and scaled by public figures
    Z = W t,   W = rint(2^b A L^{-1} s)  a matrix product of integers whose sums stay below 2^53: exact in any order

``m`` and ``s`` are the public means (where there is an intercept ``x_0``) and deviations, ``L`` the public Cholesky
factor, ``A`` the wanted linear map of the whitened row. Where one product of 53 bits is too coarse for a badly
conditioned ``L``, cells and matrix are split in two and three products are added, each exact, in a fixed order. A row
with a cell beyond the grid is scaled down by its own power of two, which :attr:`Block.lift` gives back; one that is not
finite becomes a row of zeros. Each row is decided by itself.

:func:`row_products` does the same for methods that take rows in floating point: without public deviations, with nearly
the precision of a double, and with a power of two for every row.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from pmtcore.base.threads import Buffers

# Bits of a double's integer range: sums of integers below 2^53 are exact in any order.
EXACT = 53
# A cell up to 2^7 public deviations from the mean is not scaled; beyond, its row is scaled down.
_RANGE_BITS = 7
# Bits of precision, after rounding of cells, of a whitened row of usual length; the grid of moments has as many.
_LENGTH_BITS = 15
# Bits of precision after rounding of the matrix: 1e-6 of a coefficient, a hundredth of the sampling error at n = 1e8.
_MATRIX_BITS = 18
# Bits of a cell's half where one product is too coarse.
_HALF_BITS = 26
# Largest power of two by which a row is scaled down; a cell beyond 2^507 deviations counts as not finite.
_MOST_HALVINGS = 500
# Cells of a block. With a quarter of these two threads spend their time waiting for the interpreter's lock, which each
# numpy call takes again; one thread is as fast with either (decision 120).
_CELLS_PER_BLOCK = 360_000
# Least and largest number of columns of a block: sums of integers of 36 bits over so many stay below 2^53.
_FEWEST, MOST_COLUMNS = 512, 2**15
# Outputs of one matrix product. Narrower strips skip more of a triangle's zeros, but BLAS is less efficient on them.
_OUTPUTS_PER_PRODUCT = 64
# Blocks have a multiple of so many rows (a tile), so that loops are long and numpy adds in one order.
ROWS_PER_TILE = 64
# Numbers of rows that are split and multiplied at once: with their halves they fit into a core's cache.
_NUMBERS_AT_ONCE = 2**14
# Rows whose cells are all below 2^-900 are not scaled up further, so that no power of two overflows.
_LEAST_POWER = -900

Strips = list[tuple[slice, int]]


@dataclass(eq=False)
class Block:
    """Block of rows, stored as columns.

    Attributes:
        values: whole multiples (E, k) of the units of the product; the buffer is reused for the next block.
        spare: buffer (D, k) for the block's own use.
        lift: factor of each column (k,), powers of two; ``None`` where all are 1.
        rows: number of columns that stand for rows; the others are zeros.
    """

    values: np.ndarray
    spare: np.ndarray
    lift: np.ndarray | None
    rows: int
    _known: tuple[int, np.ndarray | None] = (0, None)  # coordinates whose squares are added up

    def lengths(self, coordinates: int) -> np.ndarray:
        """Return the lengths (k,) of the first coordinates of each column, before multiplication by ``lift``.

        The order of summation does not depend on the block. A call for more coordinates continues from the squares of
        the previous call.
        """
        first, before = self._known
        part = self.values[first:coordinates]
        squares = np.multiply(part, part, out=self.spare[: len(part)])
        if before is not None:
            squares[0] += before
        squares = np.add.reduce(squares, axis=0) if len(squares) > 1 else squares[0].copy()
        self._known = coordinates, squares
        return np.asarray(np.sqrt(squares))


@dataclass(frozen=True, eq=False)
class Whitening:
    """``L^{-1} z`` of joint rows ``z = (x, y)`` for a public Cholesky factor.

    Args:
        factor: L (D, D), lower triangular.
        intercept: whether the first feature is 1 in every row (and 0 in a row that is replaced by zeros).
    """

    factor: np.ndarray
    intercept: bool

    @cached_property
    def shift(self) -> np.ndarray:
        """Return the public means (D,), 0 for the intercept itself; 0 without an intercept."""
        if not self.intercept:
            return np.zeros(len(self.factor))
        means = self.factor[:, 0] / self.factor[0, 0]
        means[0] = 0.0
        return means

    @cached_property
    def spread(self) -> np.ndarray:
        """Return the public standard deviations (D,), root mean squares without an intercept."""
        deviations = np.linalg.norm(self.factor[:, 1 if self.intercept else 0 :], axis=1)
        if self.intercept:
            deviations[0] = 1.0
        return deviations

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray]:
        """Return shifts and scales of the features, repeated for as many rows as a tile has (64 d,)."""
        return np.tile(self.shift[:-1], ROWS_PER_TILE), np.tile(2.0**self.cell_bits / self.spread[:-1], ROWS_PER_TILE)

    @cached_property
    def base(self) -> np.ndarray:
        """Return the map (D, D) from centred, scaled rows to whitened ones."""
        inverse = solve_triangular(self.factor, np.diag(self.spread), lower=True)
        if self.intercept:
            inverse[:, 0] = 0.0
            inverse[0, 0] = 1 / self.factor[0, 0]
        return np.asarray(inverse)

    @cached_property
    def is_split(self) -> bool:
        """Return True where one product of 53 bits would be too coarse, so that cells and matrix are split in two."""
        return self._spare_bits < 0

    @cached_property
    def cell_bits(self) -> int:
        """Return ``a``: a cell is a multiple of ``2^-a`` deviations."""
        if self.is_split:
            return 2 * _HALF_BITS - 1 - _RANGE_BITS
        return math.ceil(self._needed_bits[0]) + self._spare_bits // 2

    @cached_property
    def _needed_bits(self) -> tuple[float, float]:
        """Return the bits after the binary point that cells and matrix need."""
        longest = float(np.max(np.linalg.norm(self.base, axis=1)))
        back = float(np.linalg.norm(np.linalg.inv(self.base), 2))
        usual = math.log2(len(self.factor)) / 2
        return max(_LENGTH_BITS - usual + math.log2(max(longest, 1.0)), 1.0), _MATRIX_BITS + math.log2(max(back, 1.0))

    @cached_property
    def _spare_bits(self) -> int:
        """Return the bits of one product beyond the needed ones."""
        widest = float(np.max(np.sum(np.abs(self.base), axis=1)))
        cells, matrix = (math.ceil(bits) for bits in self._needed_bits)
        return EXACT - 1 - _RANGE_BITS - cells - matrix - math.ceil(math.log2(max(widest, 1.0)))

    def product_for(self, wanted: np.ndarray, alike: int) -> Product:
        """Return the product that computes ``wanted @ L^{-1} z``.

        Args:
            wanted: (E, D), public.
            alike: number of the first rows of ``wanted`` that share one unit; each other row has its own.
        """
        matrix = np.asarray(wanted @ self.base)
        room = EXACT - (_HALF_BITS if self.is_split else self.cell_bits + _RANGE_BITS)
        sums = np.sum(np.abs(matrix), axis=1)
        sums[:alike] = np.max(sums[:alike])
        bits = np.floor(np.log2((2.0**room - matrix.shape[1]) / np.maximum(sums, 2.0**-100)))[:, None]
        first = np.rint(np.ldexp(matrix, bits.astype(int)))
        units = 2.0 ** -(bits[:, 0] + self.cell_bits)
        if not self.is_split:
            return Product(self, first, None, units)
        finer = room - 1 - math.ceil(math.log2(matrix.shape[1]))
        rest = np.rint(np.ldexp(np.ldexp(matrix, bits.astype(int)) - first, finer))
        return Product(self, first, np.ldexp(rest, _HALF_BITS - 1 - finer), units)


@dataclass(frozen=True, eq=False)
class Product:
    """Whitened rows times a public matrix, in integers.

    Attributes:
        whitening: the public whitening.
        first: integer matrix (E, D).
        rest: remainder of the matrix (E, D), for the halves of split cells; ``None`` where nothing is split.
        units: value of 1 in each output (E,), powers of two.
    """

    whitening: Whitening
    first: np.ndarray
    rest: np.ndarray | None
    units: np.ndarray

    @property
    def columns(self) -> int:
        """Return the number of rows of the table in one block."""
        wide = max(self.first.shape)
        return int(min(max(2 ** round(math.log2(_CELLS_PER_BLOCK / wide)), _FEWEST), MOST_COLUMNS))

    def blocks(self, features: np.ndarray, response: np.ndarray, buffers: Buffers | None = None) -> Iterator[Block]:
        """Yield rows (n, d), (n,) in blocks; each block must be used up before the next is asked for.

        Args:
            features: cells (n, d).
            response: responses (n,).
            buffers: memory for the blocks; ``None``: new memory.
        """
        (outputs, width), step = self.first.shape, self.columns
        buffers = buffers or Buffers()
        for start in range(0, len(response), step):
            x, y = features[start : start + step], response[start : start + step]
            k = _in_whole_tiles(len(y))
            cells = buffers.array("cells", width * k)
            t, s = _laid_out_as(x, cells[:-k]), cells[-k:]
            z = buffers.array("values", outputs * k).reshape(outputs, k)
            lift = self._round(x, y, t, s, cells=cells)
            if self._split:
                rest = buffers.array("halves", width * k)
                self._halves(t, s, rest[:-k].reshape(t.shape), rest[-k:], z=z)
            else:
                _times(self.first, self._strips, t, s, z=z)
            yield Block(z, cells.reshape(width, k), lift, len(y))

    @cached_property
    def _strips(self) -> Strips:
        return _strips(self.first if self.rest is None else np.abs(self.first) + np.abs(self.rest))

    @property
    def _split(self) -> bool:
        return self.rest is not None

    def _round(
        self, x: np.ndarray, y: np.ndarray, t: np.ndarray, s: np.ndarray, *, cells: np.ndarray
    ) -> np.ndarray | None:
        """Round the cells of features (k, d) into ``t`` and of responses (k,) into ``s``, which together are ``cells``.

        Returns:
            Powers of two (k,) by which distant rows were scaled down, or None where there are none.
        """
        whitening, count = self.whitening, len(y)
        shift, scale = whitening.tiles
        if t.flags.c_contiguous:
            wide = t.reshape(-1, len(shift))  # tiles of rows, so that the inner loops are long
        else:
            wide, scale = t.T, scale[: t.shape[1], None]
        if whitening.intercept and not np.all(x[:, 0] == 1.0):
            np.subtract(x, whitening.shift[:-1] * x[:, :1], out=t[:count])
            np.subtract(y, whitening.shift[-1] * x[:, 0], out=s[:count])
        elif x.flags.c_contiguous and t.flags.c_contiguous and count == len(s):
            np.subtract(x.reshape(wide.shape), shift, out=wide)
            np.subtract(y, whitening.shift[-1], out=s)
        else:
            np.subtract(x.T, whitening.shift[:-1, None], out=t[:count].T)
            np.subtract(y, whitening.shift[-1], out=s[:count])
        t[count:], s[count:] = 0.0, 0.0
        np.multiply(wide, scale, out=wide)
        np.multiply(s, 2.0**whitening.cell_bits / whitening.spread[-1], out=s)
        np.rint(cells, out=cells)
        most = 2.0 ** (whitening.cell_bits + _RANGE_BITS)
        if cells.max() <= most and cells.min() >= -most:  # false for NaN
            return None
        return _scaled_down(t, s, most)

    def _halves(self, t: np.ndarray, s: np.ndarray, high: np.ndarray, high_s: np.ndarray, *, z: np.ndarray) -> None:
        """Compute three exact products and add them in this order."""
        if self.rest is None:
            raise ValueError("nothing is split")
        half = 2.0 ** (_HALF_BITS - 1)
        for cells, upper in ((t, high), (s, high_s)):
            np.rint(np.multiply(cells, 1 / half, out=upper), out=upper)
            cells -= upper * half  # the lower half, exact
        _times(self.first, self._strips, high, high_s, z=z)
        np.multiply(z, half, out=z)
        more = np.empty_like(z)
        for matrix, cells, response in ((self.first, t, s), (self.rest, high, high_s)):
            _times(matrix, self._strips, cells, response, z=more)
            z += more


def _times(matrix: np.ndarray, strips: Strips, t: np.ndarray, s: np.ndarray, *, z: np.ndarray) -> None:
    """Write ``matrix @ (t, s)'`` to ``z`` (E, k): exact integers, so zeros above a triangle may be left out."""
    for rows, wide in strips:
        np.matmul(matrix[rows, :wide], t[:, :wide].T, out=z[rows])
    for row in np.flatnonzero(matrix[:, -1]):  # few outputs have the response
        z[row] += matrix[row, -1] * s


def _strips(matrix: np.ndarray) -> Strips:
    """Return groups of rows, each with the first column from which on its entries are zero (the last column aside)."""
    strips = []
    for strip in np.array_split(np.arange(len(matrix)), max(round(len(matrix) / _OUTPUTS_PER_PRODUCT), 1)):
        rows = slice(int(strip[0]), int(strip[-1]) + 1)
        used = np.flatnonzero(np.any(matrix[rows, :-1], axis=0))
        strips.append((rows, int(used[-1]) + 1 if len(used) else 1))
    return strips


def _laid_out_as(x: np.ndarray, cells: np.ndarray) -> np.ndarray:
    """Return a buffer for features (k, d) in their own memory order; the arithmetic of each cell is the same."""
    d = x.shape[1]
    if x.strides[0] == x.itemsize and d > 1:
        return cells.reshape(d, -1).T
    return cells.reshape(-1, d)


def _in_whole_tiles(rows: int) -> int:
    """Round a number of rows up to an odd number of tiles.

    Cells of a row that lay a power of two apart would share few places of a cache.
    """
    return (-(-max(rows, 1) // ROWS_PER_TILE) | 1) * ROWS_PER_TILE


def _scaled_down(t: np.ndarray, s: np.ndarray, most: float) -> np.ndarray:
    """Scale rows down to ``most`` by powers of two (k,), which are returned; a row that is not finite becomes zeros."""
    length = np.maximum(np.max(np.abs(t), axis=1), np.abs(s))  # nan where there is one
    unusable = ~(length <= most * 2.0**_MOST_HALVINGS)
    t[unusable], s[unusable], length[unusable] = 0.0, 0.0, 0.0
    power = np.where(length > most, np.frexp(length / most)[1], 0)
    np.copyto(t, np.rint(np.ldexp(t, -power[:, None])))
    np.copyto(s, np.rint(np.ldexp(s, -power)))
    return np.ldexp(1.0, power)


def row_products(rows: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Return ``rows @ matrix`` (k, e), with the same bits for a row wherever it stands and however many there are.

    A library's product of doubles may add up a row in another order near the end of a block. Here cells and matrix are
    split in two integer halves each, and three products whose sums stay below 2^53 are added in a fixed order
    (proofs/noise.md, 14). The error is that of rounding cells and matrix to some 50 bits.

    Args:
        rows: (k, d), of any size; a row with a cell that is no number, or is infinite, becomes a row of NaN.
        matrix: (d, e), public and finite.
    """
    d, room = len(matrix), EXACT - _HALF_BITS
    power = np.frexp(np.max(np.abs(matrix), axis=1))[1]
    columns = np.ldexp(matrix, -power[:, None])
    bits = np.floor(np.log2((2.0**room - d) / np.maximum(np.sum(np.abs(columns), axis=0), 2.0**-100))).astype(int)
    first = np.rint(np.ldexp(columns, bits))
    finer = room - math.ceil(math.log2(d))
    rest = np.ldexp(np.rint(np.ldexp(np.ldexp(columns, bits) - first, finer)), -finer)
    first_for_lower = np.ldexp(first, -_HALF_BITS)
    scale, units = np.ldexp(1.0, power), np.ldexp(1.0, -bits)
    result = np.empty((len(rows), matrix.shape[1]))
    step = max(_NUMBERS_AT_ONCE // d, ROWS_PER_TILE)
    with np.errstate(all="ignore"):
        for start in range(0, len(rows), step):
            cells, z = rows[start : start + step] * scale, result[start : start + step]
            largest = np.max(np.abs(cells), axis=1)  # nan where there is one
            usable = np.isfinite(largest)
            cells[~usable] = 0.0
            lift = np.maximum(np.frexp(np.where(usable, largest, 0.0))[1], _LEAST_POWER)
            cells *= np.ldexp(1.0, _HALF_BITS - lift)[:, None]
            upper = np.rint(cells)
            cells -= upper  # exact
            np.rint(np.multiply(cells, 2.0**_HALF_BITS, out=cells), out=cells)
            np.matmul(cells, first_for_lower, out=z)
            z += upper @ rest
            z += upper @ first
            z *= np.where(usable, np.ldexp(1.0, lift - _HALF_BITS), np.nan)[:, None]
            z *= units
    return result
