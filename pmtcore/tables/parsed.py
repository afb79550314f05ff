"""Numbers that one pass over a text has read, for the next pass over the same rows.

To read a number in a text costs more than to sum it. The ledger's fingerprint reads every cell of a table before the
spend; the first pass of a method starts from the numbers it read, where these are few enough, and drops each block when
it is done with it. What a cell is read as is the same either way, and whether numbers are kept depends on the number
of rows, on columns and on the public dialect alone.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from pmtcore.base.memory import bytes_for_rows
from pmtcore.base.private_rows import StaysInSession
from pmtcore.tables.limits import block_rows
from pmtcore.tables.sources import Cells

# Bytes of a number.
_NUMBER_BYTES = 8


class ParsedNumbers(StaysInSession):
    """Columns of numbers between two passes; private.

    Passes of several threads may meet here: a pass leaves all rows at once, and one pass takes them all.

    Args:
        names: columns whose numbers are kept.
        decimal: decimal mark that they are read with.
    """

    def __init__(self, names: Sequence[str], decimal: str | None) -> None:
        self.names, self.decimal = tuple(names), decimal
        # The blocks of the last pass, or nothing: a list, because no other thread can come between its pop.
        self._left: list[deque[Cells]] = []

    def drop(self) -> None:
        """Drop what an earlier pass left."""
        self._left.clear()

    def cells(self, rows: int, columns: Mapping[str, np.ndarray]) -> Cells:
        """Return the numbers (k,) of a block's columns to be left, NaN where a cell has none."""
        return Cells(rows, {name: pa.array(columns[name]) for name in self.names})

    def leave(self, blocks: Iterable[Cells]) -> None:
        """Leave the blocks of all rows for the next pass."""
        self._left[:] = [deque(blocks)]

    @property
    def is_complete(self) -> bool:
        """Return True where the next pass can start from these numbers."""
        return bool(self._left)

    def taken(self) -> Iterator[Cells] | None:
        """Return the blocks in the order of the table, each dropped when the next is asked for; ``None`` without any.

        Whoever asks next has none.
        """
        try:
            return _one_by_one(self._left.pop())
        except IndexError:
            return None

    def __repr__(self) -> str:
        return f"<numbers of {len(self.names)} columns>"


def _one_by_one(blocks: deque[Cells]) -> Iterator[Cells]:
    while blocks:
        yield blocks.popleft()


def fits(rows: int, used: int, columns: int) -> bool:
    """Return whether numbers of a table are kept: they are few enough, and both passes cut the same blocks.

    Args:
        rows: of the table.
        used: columns that are kept.
        columns: of the table, all of which the fingerprint reads.
    """
    return rows * used * _NUMBER_BYTES <= bytes_for_rows() and block_rows(used) == block_rows(columns)
