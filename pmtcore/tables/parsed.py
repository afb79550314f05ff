"""Numbers that one pass over a file has parsed, stored for the next pass over the same rows.

Parsing a number costs more than summing it. The ledger's fingerprint parses every cell of a table before the spend; if
the numbers fit into memory, the first pass of a method uses them and drops each block after it. The numbers are the
same either way, and whether they are stored depends only on the numbers of rows and columns and on the public dialect.
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
    """Store of columns of numbers between two passes; private.

    It is safe with several threads: a pass stores all rows at once, and only one pass gets them.

    Args:
        names: columns whose numbers are stored.
        decimal: decimal mark by which they are parsed.
    """

    def __init__(self, names: Sequence[str], decimal: str | None) -> None:
        self.names, self.decimal = tuple(names), decimal
        # The blocks of the last pass, if any, in a list because ``pop`` is atomic.
        self._left: list[deque[Cells]] = []

    def clear(self) -> None:
        """Drop the stored blocks."""
        self._left.clear()

    def cells(self, rows: int, columns: Mapping[str, np.ndarray]) -> Cells:
        """Return a block of the columns to be stored, from numbers (k,), NaN where a cell is missing."""
        return Cells(rows, {name: pa.array(columns[name]) for name in self.names})

    def store(self, blocks: Iterable[Cells]) -> None:
        """Store the blocks of all rows for the next pass."""
        self._left[:] = [deque(blocks)]

    @property
    def is_complete(self) -> bool:
        """Return whether the numbers of all rows are stored."""
        return bool(self._left)

    def pop(self) -> Iterator[Cells] | None:
        """Remove and return the blocks in the order of the table; ``None`` where none are stored.

        Each block is dropped when the next one is asked for.
        """
        try:
            return _dropping_blocks(self._left.pop())
        except IndexError:
            return None

    def __repr__(self) -> str:
        return f"<numbers of {len(self.names)} columns>"


def _dropping_blocks(blocks: deque[Cells]) -> Iterator[Cells]:
    """Yield blocks, each dropped from the queue."""
    while blocks:
        yield blocks.popleft()


def fits_in_memory(rows: int, bytes_used: int, columns: int) -> bool:
    """Return whether numbers of a table are stored: they fit into memory, and both passes have the same blocks.

    Args:
        rows: number of rows of the table.
        bytes_used: number of columns that are stored.
        columns: number of all columns, which the fingerprint reads.
    """
    return rows * bytes_used * _NUMBER_BYTES <= bytes_for_rows() and block_rows(bytes_used) == block_rows(columns)
