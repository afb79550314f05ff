"""A table with one more column of text that follows from a row's place, such as the site it belongs to."""

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, TableMessage
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.sources import Cells, DerivedSource, Source
from pmtcore.tables.table import Table


class LabelledSource(DerivedSource):
    """Source with a column of labels.

    Args:
        source: the other columns.
        column: its name.
        labels: of the rows in turn, over and over: one label for a constant column.
    """

    def __init__(self, source: Source, column: str, labels: Sequence[str]) -> None:
        if column in source.names:
            raise InputError(TableMessage.COLUMN_THERE, column=column)
        super().__init__(source)
        self._column, self._labels = column, np.array(labels, dtype=object)
        self.names = (*source.names, column)

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield the blocks of one pass."""
        # A block needs a column to have rows; with the labels alone the source's first one is read and left out.
        inner = [name for name in names if name != self._column] or list(self.source.names[:1])
        start = 0
        for block in self.source.blocks(inner, dialect):
            columns = {name: block.columns[name] for name in inner if name in names}
            if self._column in names:
                places = np.arange(start, start + block.rows) % len(self._labels)
                columns[self._column] = pa.array(self._labels[places], type=pa.string())
            start += block.rows
            yield Cells(block.rows, {name: columns[name] for name in names})


def labelled(table: Table, column: str, labels: Sequence[str]) -> Table:
    """Return the table with a column of labels; see :class:`LabelledSource`.

    Raises:
        InputError: there is a column of this name.
    """
    return Table(table.name, table.role, LabelledSource(table.source, column, labels))
