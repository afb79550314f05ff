"""Numbers that one pass over a text has read, for the next pass over the same rows.

To read a number in a text costs more than to sum it. The ledger's fingerprint reads every cell of a table before the
spend; the first pass of a method starts from the numbers it read, where these are few enough, and drops each block when
it is done with it. What a cell is read as is the same either way, and whether numbers are kept depends on the number
of rows, on columns and on the public dialect alone.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from pmtcore.base.pass_memory import bytes_for_rows
from pmtcore.base.private_rows import StaysInSession
from pmtcore.tables.limits import block_rows
from pmtcore.tables.sources import Cells

# Bytes of a number.
_NUMBER_BYTES = 8


class ParsedNumbers(StaysInSession):
    """Columns of numbers between two passes; private.

    Args:
        names: columns whose numbers are kept.
        decimal: decimal mark that they are read with.
    """

    def __init__(self, names: Sequence[str], decimal: str | None) -> None:
        self.names, self.decimal = tuple(names), decimal
        self._pending: deque[Cells] = deque()
        self._complete = False

    def begin(self) -> None:
        """Start a pass that reads all rows: what an earlier one left is dropped."""
        self._pending.clear()
        self._complete = False

    def add(self, rows: int, columns: Mapping[str, np.ndarray]) -> None:
        """Keep the numbers (k,) of a block's columns, NaN where a cell has none."""
        self._pending.append(Cells(rows, {name: pa.array(columns[name]) for name in self.names}))

    def end(self) -> None:
        """Note that all rows were read."""
        self._complete = True

    @property
    def is_complete(self) -> bool:
        """Return True where the next pass can start from these numbers."""
        return self._complete

    def taken(self) -> Iterator[Cells]:
        """Yield the blocks in the order of the table, once; each is dropped when the next is asked for."""
        self._complete = False
        try:
            while self._pending:
                yield self._pending.popleft()
        finally:
            self._pending.clear()

    def __repr__(self) -> str:
        return f"<numbers of {len(self.names)} columns>"


def fits(rows: int, used: int, columns: int) -> bool:
    """Return whether numbers of a table are kept: they are few enough, and both passes cut the same blocks.

    Args:
        rows: of the table.
        used: columns that are kept.
        columns: of the table, all of which the fingerprint reads.
    """
    return rows * used * _NUMBER_BYTES <= bytes_for_rows() and block_rows(used) == block_rows(columns)
