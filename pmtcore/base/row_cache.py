"""What blocks of private rows become, kept between several passes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from threading import local
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar

import numpy as np

from pmtcore.base import threads
from pmtcore.base.block_sums import Block, Summand, quiet_sum, total
from pmtcore.base.private import Private

# Bytes of an arena: the system gives memory of such size in large pages.
_ARENA = 16 * 2**20
# Bytes of a thread's own arena, where many share them.
_LEAST_ARENA = 2 * 2**20
# Bytes that a method keeps between its passes: a release stays far below 300 MB.
MOST_KEPT = 96 * 2**20


class Piece(Protocol):
    """What some rows became, in buffers that are used again."""

    def kept(self, store: Arena) -> Self:
        """Return the same, in memory of the store."""
        ...


class Arena:
    """Memory for what is kept, taken in large pieces: small ones cost more in page faults than in computing."""

    def __init__(self, piece: int = _ARENA) -> None:
        self._piece = piece  # bytes taken at a time
        self._free = np.empty(0, dtype=np.uint8)

    def copy(self, values: np.ndarray, kind: type[np.generic]) -> np.ndarray:
        """Return the values as numbers of another kind, rounded towards zero where these are integers."""
        size = values.size * np.dtype(kind).itemsize
        if size > len(self._free):
            self._free = np.empty(max(self._piece, size), dtype=np.uint8)
        stored = self._free[:size].view(kind).reshape(values.shape)
        self._free = self._free[-(-size // 64) * 64 :]
        np.copyto(stored, values, casting="unsafe")
        return stored


P = TypeVar("P", bound=Piece)


class RowCache(Generic[P]):
    """What blocks of private rows become, for sums in several looks.

    The first look keeps what it made of as many blocks as memory allows; later looks start from that, and make the rest
    anew. A kept piece is the same as one made anew, so how many there are changes no bit.

    Args:
        blocks, adder: as of :class:`PrivateRows`; elsewhere nothing is kept.
        cut: from a block to its pieces, each to be done with before the next is asked for.
        bytes_each: that a row takes in a piece that is kept.
        most: bytes to keep.
    """

    def __init__(
        self,
        blocks: Callable[[], Iterable[Block]],
        adder: Callable[[Summand], np.ndarray] | None,
        cut: Callable[[np.ndarray, np.ndarray], Iterator[P]],
        bytes_each: int,
        most: int,
    ) -> None:
        self._blocks, self._adder, self._cut = blocks, adder, cut
        self._kept: list[list[P]] = []  # of the first blocks
        self._whole = False  # whether these are all
        self._each, self._room = bytes_each, most

    def sum(self, function: Callable[[Iterable[P]], np.ndarray], *, in_order: bool = False) -> Private[np.ndarray]:
        """``sum over blocks of function(pieces)``: one look, one private array.

        Args:
            function: from the pieces of a block to its summand.
            in_order: blocks are summed one after the other, as a function that draws random numbers needs it.
        """
        if self._adder is not None:
            return Private(self._adder(_Look(self._cut, function)))
        return Private(total(self._summands(function, 1 if in_order else threads.number())))

    def sum_pieces(self, function: Callable[[P], np.ndarray], *, in_order: bool = False) -> Private[np.ndarray]:
        """``sum over blocks of function(piece)``, where each block has one piece (:meth:`PrivateRows.equal_pieces`)."""

        def of_block(pieces: Iterable[P]) -> np.ndarray:
            (piece,) = pieces
            return np.asarray(function(piece))

        return self.sum(of_block, in_order=in_order)

    def _summands(self, function: Callable[[Iterable[P]], np.ndarray], many: int) -> Iterator[np.ndarray]:
        stores = local()
        looks = (partial(quiet_sum, function, pieces) for pieces in self._look(stores, many))
        try:
            yield from threads.in_order(looks, many)
        except BaseException:
            self._kept.clear()  # some of these may be kept in part
            raise

    def _look(self, stores: local, many: int) -> Iterator[Iterable[P]]:
        yield from self._kept
        if self._whole:
            return
        known, keeping = len(self._kept), True
        for at, (features, response) in enumerate(self._blocks()):
            if at < known:
                continue
            keeping = keeping and len(response) * self._each <= self._room
            if not keeping:
                yield self._cut(features, response)
                continue
            pieces_to_keep: list[P] = []
            yield self._keeping(self._cut(features, response), pieces_to_keep, stores, many)
            self._room -= len(response) * self._each
            self._kept.append(pieces_to_keep)
        self._whole = keeping

    def _keeping(self, pieces: Iterable[P], kept: list[P], stores: local, many: int) -> Iterator[P]:
        """Yield pieces that are kept too, in memory of the thread that made them."""
        if not hasattr(stores, "arena"):
            stores.arena = Arena(max(_ARENA // many, _LEAST_ARENA))
        for piece in pieces:
            kept.append(piece.kept(stores.arena))
            yield piece

    def __repr__(self) -> str:
        return "<pieces of private rows>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("private rows stay in the session that loaded them")


@dataclass(frozen=True, eq=False)
class _Look:
    """A look at one block, to be sent elsewhere."""

    cut: Callable[[np.ndarray, np.ndarray], Iterator[Any]]
    function: Callable[[Iterable[Any]], np.ndarray]

    def __call__(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        return self.function(self.cut(features, response))
