"""Private rows behind the only interface that methods have to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, NoReturn, Protocol

import numpy as np

from pmtcore.base.block_sums import Block, Summand, block_sum, parts, quietly, recut
from pmtcore.base.messages import check_held
from pmtcore.base.private import Private
from pmtcore.base.row_cache import MOST_KEPT, P, RowCache

# Rows of a block of public size are a multiple of these: sums over rows are taken in parts of so many.
_ROWS_OF_A_PART = 4096
# Numbers of a block of public size: 4 MB.
_NUMBERS_OF_A_BLOCK = 2**19
# Rows and numbers (16 MB) of a block of several passes, at most: threads share smaller blocks evenly, and of those that
# are kept between passes memory holds as many as fit.
_ROWS_OF_A_PIECE, _NUMBERS_OF_A_PIECE = 32_768, 2**21


class PassObserver(Protocol):
    """Whoever follows the looks at private rows."""

    def begin(self) -> None:
        """Note that a pass begins."""
        ...

    def rows(self, count: int) -> None:
        """Note how many rows more were read."""
        ...


class PrivateRows:
    """Private rows behind the only interface methods have to them: sums over row blocks.

    Args:
        blocks: called once per pass; yields ``(features (k, d), response (k,))``, finite floats. A row that
            was left out for a missing value is a row of zeros, so that ``n`` stays what it was. Where rows of a loss
            have weights the response is (k, 2), with the weight of each row beside it.
        n: number of rows, public under the replace-one relation.
        names: the d feature names, the intercept first when there is one.
        adder: adds a function up over all blocks elsewhere (a cluster); ``None``: here, one after the other.
        keeps: bytes that may be kept between looks, at most.
        weighted: whether the response has the weight of the loss beside it.
    """

    __slots__ = ("_adder", "_blocks", "_keeps", "n", "names", "weighted")

    def __init__(
        self,
        blocks: Callable[[], Iterable[Block]],
        n: int,
        names: tuple[str, ...],
        adder: Callable[[Summand], np.ndarray] | None = None,
        keeps: int = MOST_KEPT,
        weighted: bool = False,
    ) -> None:
        self._keeps = keeps
        self.weighted = weighted
        self._blocks = blocks
        self._adder = adder
        self.n = n
        self.names = names

    @classmethod
    def from_arrays(
        cls, features: np.ndarray, response: np.ndarray, names: Iterable[str], block_rows: int = 65_536
    ) -> PrivateRows:
        """Return rows that lie in memory, (n, d) and (n,) or with weights (n, 2), handed out in blocks."""

        def blocks() -> Iterator[Block]:
            for start in range(0, len(response), block_rows):
                stop = start + block_rows
                yield features[start:stop], response[start:stop]

        return cls(blocks, len(response), tuple(names), weighted=response.ndim > 1)

    def empty(self, count: int) -> Block:
        """Return rows of zeros (count, d) with their responses, such as stand for rows that are not there."""
        shape = (count, 2) if self.weighted else (count,)
        return np.zeros((count, len(self.names))), np.zeros(shape)

    def mapped(
        self, function: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]], names: Iterable[str]
    ) -> PrivateRows:
        """Rows made of these: ``function`` takes (k, d), (k,) to (k, e), (k,), each row by itself, by public rules."""

        def blocks() -> Iterator[Block]:
            for features, response in self._blocks():
                yield function(features, response)

        adder = None if self._adder is None else partial(_added_after, self._adder, function)
        return PrivateRows(blocks, self.n, tuple(names), adder, self._keeps, self.weighted)

    def part_of(self, n: int) -> PrivateRows:
        """Return the same rows as a part of a table of ``n`` rows, whose other rows are summed elsewhere."""
        return PrivateRows(self._blocks, n, self.names, self._adder, self._keeps, self.weighted)

    def first(self, count: int) -> PrivateRows:
        """Return the first rows alone: whole blocks, as many as contain so many rows."""

        def blocks() -> Iterator[Block]:
            rows_read = 0
            for features, response in self._blocks():
                yield features, response
                rows_read += len(response)
                if rows_read >= count:
                    return

        return PrivateRows(blocks, min(self.n, count), self.names, keeps=self._keeps, weighted=self.weighted)

    def in_equal_blocks(self, of: int = 1) -> PrivateRows:
        """Return the same rows in blocks of a public size, so that no bit of a sum depends on how the table is cut.

        Where fewer rows are there than were declared, rows of zeros stand for the others: the number of rows at hand is
        private then. The rows are read here, also where sums are taken elsewhere: there the cut is another.

        Args:
            of: the size is a multiple of this.
        """
        width = len(self.names) + 1
        rows = max(_NUMBERS_OF_A_BLOCK // width // _ROWS_OF_A_PART, 1) * _ROWS_OF_A_PART
        size = max(rows // of, 1) * of

        def blocks() -> Iterator[Block]:
            return recut(self._with_lacking(), size)

        return PrivateRows(blocks, self.n, self.names, keeps=self._keeps, weighted=self.weighted)

    def _with_lacking(self) -> Iterator[Block]:
        """Yield the blocks, and rows of zeros for those of n that are not there."""
        lacking = self.n
        for features, response in self._blocks():
            lacking -= len(response)
            yield features, response
        while lacking > 0:
            count = min(lacking, _ROWS_OF_A_PART)
            lacking -= count
            yield self.empty(count)

    def pieces(self, cut: Callable[[np.ndarray, np.ndarray], Iterator[P]], bytes_each: int, most: int) -> RowCache[P]:
        """Return what ``cut`` makes of blocks, which are cut further, for several passes; see :class:`RowCache`."""
        size = max(min(_ROWS_OF_A_PIECE, _NUMBERS_OF_A_PIECE // (len(self.names) + 1)), 1)
        return RowCache(lambda: parts(self._blocks(), size), self._adder, cut, bytes_each, min(most, self._keeps))

    def equal_pieces(
        self, prepare: Callable[[np.ndarray, np.ndarray], P], bytes_each: int, *, of: int = 1
    ) -> RowCache[P]:
        """Return what rows become in blocks of a public size, one piece for a block, for several passes.

        Args:
            prepare: from a block (features, response) to its piece, each row by itself.
            bytes_each: that a row takes in a piece that is kept.
            of: the size is a multiple of this.
        """

        def cut(features: np.ndarray, response: np.ndarray) -> Iterator[P]:
            yield prepare(features, response)

        equal = self.in_equal_blocks(of)
        return RowCache(equal._blocks, None, cut, bytes_each, min(MOST_KEPT, self._keeps))

    def watched(self, watch: PassObserver) -> PrivateRows:
        """Return the same rows, reporting the beginning of each pass and the number of rows read, which is public."""

        def blocks() -> Iterator[Block]:
            watch.begin()
            for features, response in self._blocks():
                yield features, response
                watch.rows(len(response))

        def adder(function: Summand) -> np.ndarray:
            watch.begin()
            total = elsewhere(function)
            watch.rows(self.n)
            return total

        elsewhere = self._adder or (lambda function: block_sum(self._blocks(), function))
        passes = None if self._adder is None else adder
        return PrivateRows(blocks, self.n, self.names, passes, self._keeps, self.weighted)

    def sum(self, function: Summand) -> Private[np.ndarray]:
        """``sum over blocks of function(features, response)``: one pass, one private array."""
        if self._adder is not None:
            return Private(self._adder(function))
        return Private(block_sum(self._blocks(), function))

    def concatenate(self, function: Summand, width: int | None = None) -> Private[np.ndarray]:
        """Return what ``function`` makes of all rows at once, of n of them whatever there are.

        Where fewer rows are there than were declared, rows of zeros stand for the others: the number of rows at hand
        is private then, and nothing may be computed from it.

        Args:
            function: from a block to a row of figures for each of its rows.
            width: numbers that it makes of a row; ``None``: about one for each cell.

        Raises:
            InputError: their public number is too many to hold.
        """
        check_held(self.n, len(self.names) + 1 if width is None else width)
        parts = [quietly(function, x, y) for x, y in self._blocks()]
        lacking = self.n - sum(len(part) for part in parts)
        if lacking > 0:
            parts.append(quietly(function, *self.empty(lacking)))
        return Private(np.concatenate(parts))

    def __repr__(self) -> str:
        return f"<{self.n} private rows, {len(self.names)} features>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("private rows stay in the session that loaded them")


def _added_after(adder: Callable[[Summand], np.ndarray], function: Any, summand: Summand) -> np.ndarray:
    return adder(partial(_after, function, summand))


def _after(function: Any, summand: Summand, features: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Sum what ``function`` makes of a block; at the top of the module, so that a cluster can be sent it."""
    return summand(*function(features, response))
