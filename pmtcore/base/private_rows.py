"""Private figures, private rows, and their cache between passes: the only access that methods have to private rows.

A figure is *public* (computed from public rows, sizes, chosen parameters), *released* (the output of a
mechanism; its cost is stated) or *private*. The third kind is a type of its own, :class:`Private`: a box that prints
nothing, converts to nothing, and can be neither pickled nor serialized. There are two ways out of the box, and a test
names every module that may use them: a mechanism adds noise, or a :class:`Curator` sees an exact figure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import Any, Generic, NoReturn, Protocol, Self, SupportsIndex, TypeVar

import numpy as np

from pmtcore.base import threads
from pmtcore.base.block_sums import (
    Block,
    Summand,
    Transform,
    block_sum,
    quiet_sum,
    resized_blocks,
    split_blocks,
    total,
    without_warnings,
)
from pmtcore.base.labels import Label
from pmtcore.base.memory import bytes_for_rows
from pmtcore.base.messages import check_fits_in_memory

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Curator:
    """Holder of the private rows who reads an exact figure for a stated purpose."""

    purpose: str


class Private(Generic[T]):
    """A value computed from private rows without noise."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def map(self, function: Callable[[T], U]) -> Private[U]:
        """Apply a function to the value; the result is private."""
        with np.errstate(all="ignore"):  # whether something overflowed is private too
            return Private(function(self._value))

    def bind(self, function: Callable[[T], Private[U]]) -> Private[U]:
        """Apply a function whose result is private already, such as a pass over private rows."""
        return function(self._value)

    def zip(self, other: Private[U]) -> Private[tuple[T, U]]:
        """Return both values in one box."""
        return Private((self._value, other._value))

    def reveal(self, curator: Curator) -> T:
        """Return the bare value, for the curator's own eyes."""
        if not isinstance(curator, Curator):
            raise TypeError("a private figure is shown to a curator only")
        return self._value

    def __repr__(self) -> str:
        return f"<{Label.PRIVATE.value}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a private figure cannot be converted, compared, copied or stored")

    __float__ = __int__ = __index__ = __complex__ = __bool__ = __iter__ = __len__ = __array__ = _refuse
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __add__ = __sub__ = __mul__ = __truediv__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _refuse
    __hash__ = None  # type: ignore[assignment]


class StaysInSession:
    """Base of objects with private rows: they are never pickled, so no other process and no shared cache gets them."""

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        raise TypeError("private rows stay in the session that loaded them")


# Bytes of an arena: the system gives memory of such size in large pages.
_ARENA = 16 * 2**20
# Bytes of a thread's own arena, where many share them.
_LEAST_ARENA = 2 * 2**20


class Piece(Protocol):
    """Prepared rows, in buffers that are reused for the next rows."""

    def copied_to(self, store: Arena) -> Self:
        """Return a copy in memory of the arena."""
        ...


class Arena:
    """Memory for stored rows, taken in large pieces: page faults of small ones take longer than the computation."""

    def __init__(self, piece: int = _ARENA) -> None:
        self._piece = piece  # bytes taken at a time
        self._free = np.empty(0, dtype=np.uint8)

    def copy(self, values: np.ndarray, kind: type[np.generic]) -> np.ndarray:
        """Return a copy of the values as numbers of a type, rounded towards zero for integer types."""
        size = values.size * np.dtype(kind).itemsize
        if size > len(self._free):
            self._free = np.empty(max(self._piece, size), dtype=np.uint8)
        stored = self._free[:size].view(kind).reshape(values.shape)
        self._free = self._free[-(-size // 64) * 64 :]
        np.copyto(stored, values, casting="unsafe")
        return stored


P = TypeVar("P", bound=Piece)


class RowCache(StaysInSession, Generic[P]):
    """Cache of prepared blocks of private rows, for sums in several passes.

    The first pass stores all prepared blocks where memory allows; otherwise each pass prepares them anew. A
    stored piece equals one prepared anew, so the cache changes no bit of a sum.

    Args:
        blocks, adder: as of :class:`PrivateRows`; with an ``adder`` nothing is stored.
        cut: splits a block into pieces; a piece must be used up before the next one is requested.
        bytes_each: bytes that a row takes in a stored piece.
        room: most bytes that are stored.
        numbers: count of the numbers in all blocks, which determines the number of threads; ``None``: large.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterable[Block]],
        adder: Callable[[Summand], np.ndarray] | None,
        cut: Callable[[np.ndarray, np.ndarray], Iterator[P]],
        bytes_each: int,
        *,
        room: int,
        numbers: int | None = None,
    ) -> None:
        self._blocks, self._adder, self._cut, self._numbers = blocks, adder, cut, numbers
        self._pieces: list[list[P]] = []  # of each block
        self._complete = False  # whether these are of all blocks
        self._each, self._room = bytes_each, room

    def sum(self, function: Callable[[Iterable[P]], np.ndarray], *, in_order: bool = False) -> Private[np.ndarray]:
        """Return ``sum over blocks of function(pieces)``: one pass, one private array.

        Args:
            function: from the pieces of a block to its summand.
            in_order: True where blocks must be summed one after the other, as for a function that draws random numbers.
        """
        if self._adder is not None:
            return Private(self._adder(_BlockPieces(self._cut, function)))
        many = threads.threads_of_passes() if self._numbers is None else threads.thread_count(self._numbers)
        return Private(total(self._summands(function, 1 if in_order else many)))

    def sum_pieces(self, function: Callable[[P], np.ndarray], *, in_order: bool = False) -> Private[np.ndarray]:
        """Return ``sum over blocks of function(piece)``; each block is one piece (:meth:`PrivateRows.equal_pieces`)."""

        def of_block(pieces: Iterable[P]) -> np.ndarray:
            (piece,) = pieces
            return np.asarray(function(piece))

        return self.sum(of_block, in_order=in_order)

    def _summands(self, function: Callable[[Iterable[P]], np.ndarray], many: int) -> Iterator[np.ndarray]:
        stores = local()
        tasks = (partial(quiet_sum, function, pieces) for pieces in self._pieces_of_blocks(stores, many))
        try:
            yield from threads.in_order(tasks, many)
        except BaseException:
            self._pieces.clear()  # some blocks may be stored in part
            raise

    def _pieces_of_blocks(self, stores: local, many: int) -> Iterator[Iterable[P]]:
        if self._complete:
            yield from self._pieces
            return
        room = self._room
        for features, response in self._blocks():
            room -= len(response) * self._each
            if room < 0:
                # Storing a part would save little: all rows are read again for the rest.
                self._pieces.clear()
                yield self._cut(features, response)
                continue
            pieces_of_block: list[P] = []
            self._pieces.append(pieces_of_block)
            yield self._storing(self._cut(features, response), pieces_of_block, stores, many)
        self._complete = room >= 0

    def _storing(self, pieces: Iterable[P], copies: list[P], stores: local, many: int) -> Iterator[P]:
        """Yield pieces and append their copies, in memory of the thread that made them."""
        if not hasattr(stores, "arena"):
            stores.arena = Arena(max(_ARENA // many, _LEAST_ARENA))
        for piece in pieces:
            copies.append(piece.copied_to(stores.arena))
            yield piece

    def __repr__(self) -> str:
        return "<pieces of private rows>"


@dataclass(frozen=True, eq=False)
class _BlockPieces:
    """A function of the pieces of one block, which can be sent to another process."""

    cut: Callable[[np.ndarray, np.ndarray], Iterator[Any]]
    function: Callable[[Iterable[Any]], np.ndarray]

    def __call__(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        return self.function(self.cut(features, response))


# Rows of a block of public size are a multiple of this number: sums over rows are taken in parts of so many.
_ROWS_OF_A_PART = 4096
# Numbers of a block of public size: 4 MB.
_NUMBERS_OF_A_BLOCK = 2**19
# Rows and numbers (16 MB) of a block of several passes, at most: threads share smaller blocks evenly.
_ROWS_OF_A_PIECE, _NUMBERS_OF_A_PIECE = 65_536, 2**21


class PassObserver(Protocol):
    """Observer of the passes over private rows."""

    def begin(self) -> None:
        """Note that a pass begins."""
        ...

    def rows(self, count: int) -> None:
        """Note that so many more rows were read."""
        ...


class PrivateRows(StaysInSession):
    """Private rows behind the only interface methods have to them: sums over row blocks.

    Args:
        blocks: called once per pass; yields ``(features (k, d), response (k,))``, finite floats. A row that
            was left out for a missing value is a row of zeros, so that ``n`` stays what it was. Where rows of a loss
            have weights the response is (k, 2), with the weight of each row beside it.
        n: number of rows, public under the replace-one relation.
        names: the d feature names, the intercept first when there is one.
        adder: sums a function over all blocks elsewhere (a cluster); ``None``: in this process.
        keeps: most bytes stored between passes; ``None``: as many as this process may spend on that.
        weighted: whether the response has the weights of the loss as its second column.
    """

    __slots__ = ("_adder", "_blocks", "_keeps", "n", "names", "weighted")

    def __init__(
        self,
        blocks: Callable[[], Iterable[Block]],
        n: int,
        names: tuple[str, ...],
        adder: Callable[[Summand], np.ndarray] | None = None,
        *,
        keeps: int | None = None,
        weighted: bool = False,
    ) -> None:
        self._keeps = bytes_for_rows() if keeps is None else keeps
        self.weighted = weighted
        self._blocks = partial(_at_least_one_row, blocks, len(names), weighted)
        self._adder = adder
        self.n = n
        self.names = names

    @classmethod
    def from_arrays(
        cls, features: np.ndarray, response: np.ndarray, names: Iterable[str], block_rows: int = 65_536
    ) -> PrivateRows:
        """Return rows that lie in memory, (n, d) and (n,) or with weights (n, 2), handed out in blocks.

        Between passes as many bytes may be stored as the rows take themselves.
        """
        blocks = partial(split_blocks, [(features, response)], block_rows)
        keeps = bytes_for_rows(features.nbytes + response.nbytes)
        return cls(blocks, len(response), tuple(names), keeps=keeps, weighted=response.ndim > 1)

    def zero_rows(self, count: int) -> Block:
        """Return rows of zeros (count, d) with their responses, in place of rows that the table lacks."""
        return _zeros(count, len(self.names), self.weighted)

    def mapped(self, function: Transform, names: Iterable[str]) -> PrivateRows:
        """Return rows made from these: ``function`` maps (k, d), (k,) to (k, e), (k,), row by row, by public rules."""

        def blocks() -> Iterator[Block]:
            for features, response in self._blocks():
                yield function(features, response)

        adder = None if self._adder is None else partial(_sum_transformed, self._adder, function)
        return PrivateRows(blocks, self.n, tuple(names), adder, keeps=self._keeps, weighted=self.weighted)

    def part_of(self, n: int) -> PrivateRows:
        """Return the same rows as a part of a table of ``n`` rows, whose other rows are summed elsewhere."""
        return PrivateRows(self._blocks, n, self.names, self._adder, keeps=self._keeps, weighted=self.weighted)

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

    def in_equal_blocks(self, multiple: int = 1) -> PrivateRows:
        """Return the same rows in blocks of a public size, so that no bit of a sum depends on the table's own blocks.

        Where the table has fewer rows than declared, rows of zeros replace the missing ones: the number of rows is
        private then. The rows are read in this process even with an ``adder``, whose blocks are others.

        Args:
            multiple: the size is a multiple of this.
        """
        width = len(self.names) + 1
        rows = max(_NUMBERS_OF_A_BLOCK // width // _ROWS_OF_A_PART, 1) * _ROWS_OF_A_PART
        size = max(rows // multiple, 1) * multiple

        def blocks() -> Iterator[Block]:
            return resized_blocks(self._padded(), size)

        return PrivateRows(blocks, self.n, self.names, keeps=self._keeps, weighted=self.weighted)

    def _padded(self) -> Iterator[Block]:
        """Yield the blocks, then rows of zeros up to n rows."""
        lacking = self.n
        for features, response in self._blocks():
            lacking -= len(response)
            yield features, response
        while lacking > 0:
            count = min(lacking, _ROWS_OF_A_PART)
            lacking -= count
            yield self.zero_rows(count)

    def pieces(
        self, cut: Callable[[np.ndarray, np.ndarray], Iterator[P]], bytes_each: int, most: int | None = None
    ) -> RowCache[P]:
        """Return a cache of the pieces that ``cut`` makes of blocks of limited size, for several passes.

        Args:
            cut: splits a block into pieces; a piece must be used up before the next one is requested.
            bytes_each: bytes that a row takes in a stored piece.
            most: most bytes stored; ``None``: as many as these rows allow.
        """
        width = len(self.names) + 1
        size = max(min(_ROWS_OF_A_PIECE, _NUMBERS_OF_A_PIECE // width), 1)
        room = self._cache_bytes(bytes_each, most)
        blocks, numbers = lambda: split_blocks(self._blocks(), size), self.n * width
        return RowCache(blocks, self._adder, cut, bytes_each, room=room, numbers=numbers)

    def equal_pieces(
        self, prepare: Callable[[np.ndarray, np.ndarray], P], bytes_each: int, *, multiple: int = 1
    ) -> RowCache[P]:
        """Return a cache of prepared blocks of a public size, one piece for a block, for several passes.

        Args:
            prepare: from a block (features, response) to its piece, row by row.
            bytes_each: bytes that a row takes in a stored piece.
            multiple: the size is a multiple of this.
        """

        def cut(features: np.ndarray, response: np.ndarray) -> Iterator[P]:
            yield prepare(features, response)

        equal = self.in_equal_blocks(multiple)
        return RowCache(equal._blocks, None, cut, bytes_each, room=self._cache_bytes(bytes_each, bytes_for_rows()))

    def _cache_bytes(self, bytes_each: int, most: int | None) -> int:
        """Return the bytes that these rows may keep between passes."""
        return room_for(self.n, bytes_each, self._keeps if most is None else min(most, self._keeps))

    def with_observer(self, watch: PassObserver) -> PrivateRows:
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
        return PrivateRows(blocks, self.n, self.names, passes, keeps=self._keeps, weighted=self.weighted)

    def sum(self, function: Summand) -> Private[np.ndarray]:
        """Return ``sum over blocks of function(features, response)``: one pass, one private array."""
        if self._adder is not None:
            return Private(self._adder(function))
        return Private(block_sum(self._blocks(), function))

    def concatenate(self, function: Summand, width: int | None = None) -> Private[np.ndarray]:
        """Return the values of ``function`` for exactly n rows, concatenated.

        Where the table has fewer rows than declared, rows of zeros replace the missing ones: the number of rows is
        private then, and nothing may be computed from it.

        Args:
            function: from a block to an array with one entry, or row, for each of its rows.
            width: numbers in such a row; ``None``: about one for each cell.

        Raises:
            InputError: n rows take too much memory.
        """
        check_fits_in_memory(self.n, len(self.names) + 1 if width is None else width)
        parts = [without_warnings(function, x, y) for x, y in self._blocks()]
        lacking = self.n - sum(len(part) for part in parts)
        if lacking > 0:
            parts.append(without_warnings(function, *self.zero_rows(lacking)))
        return Private(np.concatenate(parts))

    def __repr__(self) -> str:
        return f"<{self.n} private rows, {len(self.names)} features>"


def room_for(n: int, bytes_each: int, room: int) -> int:
    """Return the bytes that n rows may keep between passes: all of the room, or none where they do not all fit."""
    return room if n * bytes_each <= room else 0


def _zeros(count: int, d: int, weighted: bool) -> Block:
    return np.zeros((count, d)), np.zeros((count, 2) if weighted else count)


def _at_least_one_row(blocks: Callable[[], Iterable[Block]], d: int, weighted: bool) -> Iterator[Block]:
    """Yield the blocks, or one row of zeros where there is none: that a table is empty is private too."""
    empty = True
    for block in blocks():
        empty = False
        yield block
    if empty:
        yield _zeros(1, d, weighted)


def _sum_transformed(adder: Callable[[Summand], np.ndarray], function: Transform, summand: Summand) -> np.ndarray:
    return adder(partial(_composed, function, summand))


def _composed(function: Transform, summand: Summand, features: np.ndarray, response: np.ndarray) -> np.ndarray:
    """Return the summand of a transformed block; at the top of the module, so that it can be sent to a cluster."""
    return summand(*function(features, response))
