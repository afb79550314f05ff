"""Tables, opened from files, frames, queries and addresses; and matrices of second moments.

This module recognises the form of a file, limits its size and raises each failure as one sentence. No sentence has a
cell, nor a column name that only the private table has, since a file without a header has values in place of names.
Of a private file only size, header or metadata, and number of rows are read before a release.
"""

from __future__ import annotations

import glob
import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, TableMessage, reraised_as, whole_number_between
from pmtcore.base.private_rows import StaysInSession
from pmtcore.tables import schema as schemas
from pmtcore.tables.cells import OBJECT, display_texts
from pmtcore.tables.dialect import Dialect, public_dialect
from pmtcore.tables.limits import MAX_BYTES, MAX_CELLS
from pmtcore.tables.queries import DeclaredSource, QuerySource
from pmtcore.tables.schema import Schema
from pmtcore.tables.sources import ArrowSource, ManySource, ParquetSource, Source, TextSource, as_table, frame_source
from pmtcore.tables.streams import Place, decompress, decompressed_pieces, is_address, starts_with, without_keys

if TYPE_CHECKING:
    import pandas as pd
from collections.abc import Iterator, Sequence

from pmtcore.tables.sources import Cells, DerivedSource

Role = Literal["private", "public"]
_SAMPLE = 2**22  # bytes of a public text from which its dialect is inferred


@dataclass(frozen=True, eq=False)
class Table(StaysInSession):
    """Table with its source. A private one prints no value and cannot be pickled.

    Attributes:
        name: as shown to the user.
        role: private or public.
        source: its rows.
    """

    name: str
    role: Role
    source: Source

    @property
    def n(self) -> int:
        """Return the number of rows, under the default dialect."""
        return self.source.rows(Dialect())

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the column names."""
        return self.source.names

    @property
    def sha256(self) -> str:
        """Return a digest that distinguishes tables."""
        return self.source.sha256

    @cached_property
    def dialect(self) -> Dialect:
        """Return the dialect of this public table."""
        if isinstance(self.source, TextSource) and self.role == "public":
            return public_dialect(self.source.sample(_SAMPLE), self.source.header, _table_name(self))
        return Dialect()

    @cached_property
    def cells(self) -> pa.Table:
        """Return all cells, unchanged.

        Raises:
            InputError: there are too many, or the file is damaged.
        """
        self._check_size()
        return as_table(self.source, self.dialect)

    @cached_property
    def schema(self) -> Schema:
        """Infer the schema of this public table."""
        if self.role != "public":
            raise InputError(TableMessage.SCHEMA_OF_PRIVATE_ROWS)
        return schemas.infer_schema(self.cells, self.dialect, self.decimal)

    def column(self, name: str) -> pa.ChunkedArray:
        """Return the cells of a public column, unchanged."""
        return self.cells[self.columns.index(name)]

    @property
    def decimal(self) -> str | None:
        """Return the decimal mark for reading cells."""
        return self.dialect.decimal_mark(self.source.separator)

    def head(self, rows: int) -> pd.DataFrame:
        """Return the first rows for display, to readers who may see them."""
        blocks = self.source.blocks(self.columns, self.dialect)
        first = next(iter(blocks), None)
        if first is None:
            return pa.table({name: pa.nulls(0, pa.large_string()) for name in self.columns}).to_pandas()
        return pa.table(
            {name: display_texts(column.slice(0, rows)) for name, column in first.columns.items()}
        ).to_pandas()

    @cached_property
    def typed(self) -> pa.Table:
        """Return all cells, numbers converted, for readers who may see them: the curator, and the lab."""
        rules = schemas.infer_schema(self.cells, self.dialect, self.decimal).columns
        return pa.table({c.name: _typed(self.cells[j], c, self.decimal) for j, c in enumerate(rules)})

    @property
    def frame(self) -> pd.DataFrame:
        """Return the typed table as a data frame."""
        return self.typed.to_pandas()

    def _check_size(self) -> None:
        """Check the number of cells.

        Raises:
            InputError: there are too many for memory.
        """
        count = self.n * len(self.columns)
        if count > MAX_CELLS:
            raise InputError(TableMessage.TOO_MANY_CELLS, where=_table_name(self), count=count, limit=MAX_CELLS)

    def __repr__(self) -> str:
        return f"<{self.role} table {self.name!r}, {self.n} rows>"


@dataclass(frozen=True, eq=False)
class MomentTable:
    """Public second moment matrix with its column names."""

    name: str
    columns: tuple[str, ...]
    matrix: np.ndarray


def read_path(path: str | Path, role: Role, rows: int | None = None) -> Table:
    """Open a table in place: a file, a folder or pattern of Parquet files, or an address of an object store.

    Only the header or the metadata is read, and the rows are counted; cells are read when they are needed.

    Args:
        path: where the table is.
        role: private or public; public files are limited to 512 MB uncompressed.
        rows: declared number of rows, see :func:`with_rows`; ``None``: as many as there are.

    Raises:
        InputError: there is no such file, or it cannot be used as a table.
    """
    text = str(path)
    if not text.strip():
        raise InputError(TableMessage.NO_FILE_NAMED, table=role)
    if is_address(text):
        name = without_keys(text)
        return _checked(Table(name, role, _source(text, _described(role, name), role)), rows)
    where = _described(role, Path(path).name)
    # Raised for a name that is too long or has a null character.
    with reraised_as(InputError(TableMessage.NO_FILE, place=text[:60]), OSError, ValueError):
        folder, exists = Path(path).is_dir(), Path(path).exists()
    if folder or (any(mark in text for mark in "*?[") and not exists):
        paths = sorted(Path(path).rglob("*.parquet")) if folder else [Path(p) for p in sorted(glob.glob(text))]  # noqa: PTH207  # from any root
        files = [file for file in paths if file.is_file()]
        parts = [_source(file, where, role) for file in files]
        return _checked(Table(Path(path).name, role, ManySource(parts, where)), rows)
    return _checked(Table(Path(path).name, role, _source(Path(path), where, role)), rows)


def read_table(data: bytes, name: str, role: Role, limit: int = MAX_BYTES, *, rows: int | None = None) -> Table:
    """Read a table from the bytes of a file.

    Args:
        data: the bytes.
        name: as shown to the user.
        role: private or public.
        limit: largest size after decompression, in bytes.
        rows: declared number of rows, see :func:`with_rows`; ``None``: as many as there are.

    Raises:
        InputError: the file cannot be used as a table.
    """
    return _checked(Table(name, role, _source(data, _described(role, name), role, limit)), rows)


def read_as(table: Table, role: Role) -> Table:
    """Open a table again in another role: public rows are read further than private ones before a release.

    Raises:
        InputError: it cannot be used in this role.
    """
    source = table.source
    if isinstance(source, TextSource | ParquetSource):
        source = _source(source.place, _described(role, table.name), role, MAX_BYTES)
    return _checked(Table(table.name, role, source))


def table_from(frame: object, name: str, role: Role) -> Table:
    """Make a table from a pandas, Polars or Arrow frame.

    Raises:
        InputError: the object is no such frame, or has no rows.
    """
    return _checked(Table(name, role, frame_source(frame)))


def query_table(url: str, query: str, rows: int | None = None) -> Table:
    """Return the rows of an SQL query as a private table.

    Args:
        url: of the database, as SQLAlchemy writes it; ``duckdb://PATH`` for DuckDB.
        query: one ``SELECT``.
        rows: declared number of rows, see :func:`with_rows`; ``None``: as many as there are.

    Raises:
        InputError: the query fails, or has no rows.
    """
    return _checked(Table("query", "private", QuerySource(url, query, _described("private", "query"))), rows)


def with_rows(table: Table, rows: int) -> Table:
    """Return the same table with a declared number of rows, which are not counted, and may be none.

    Raises:
        InputError: the number of rows is out of range.
    """
    return Table(table.name, table.role, DeclaredSource(table.source, rows))


def _described(role: Role, name: str) -> str:
    """Return the subject of sentences about a table."""
    return f"The {role} table {name!r}"


def _table_name(table: Table) -> str:
    return _described(table.role, table.name)


def _checked(table: Table, rows: int | None = None) -> Table:
    """Return a table with declared rows, or one that has rows.

    Raises:
        InputError: it has none.
    """
    if rows is not None:
        return with_rows(table, rows)
    if table.n == 0:
        raise InputError(TableMessage.NO_ROWS, where=_table_name(table))
    return table


def _source(place: Place, where: str, role: Role, limit: int | None = None) -> Source:
    """Return the source of one file: Parquet where it starts with its mark, else text."""
    private = role == "private"
    if limit is None and not private:
        limit = MAX_BYTES
    if starts_with(place, b"PAR1"):
        return ParquetSource(place, where, private, limit)
    if starts_with(place, b"\x1f\x8b") and next(decompressed_pieces(place, where, limit), b"")[:4] == b"PAR1":
        return ParquetSource(decompress(place, where, limit or MAX_BYTES), where, private, limit)
    return TextSource(place, where, private, limit)


def read_moment_path(path: str | Path) -> MomentTable:
    """Read a second moment matrix from a file; see :func:`read_moment`."""
    return _moment(read_path(path, "public"))


def read_moment(data: bytes, name: str) -> MomentTable:
    """Parse a square matrix with a header of names, which a first column may repeat.

    Raises:
        InputError: it is not a square table of finite numbers, or names of rows and columns differ.
    """
    return _moment(read_table(data, name, "public"))


def _moment(table: Table) -> MomentTable:
    where, cells, names = f"The moment matrix {table.name!r}", table.cells, list(table.columns)
    if len(names) == table.n + 1 and schemas.number_share(cells[0], table.decimal) < 1:
        labels, names = [str(label).strip() for label in cells[0].to_pylist()], names[1:]
        cells = cells.drop_columns(cells.column_names[0])
        if labels != names:
            raise InputError(TableMessage.MOMENT_NAMES_DIFFER, where=where)
    if len(cells) != len(names):
        raise InputError(TableMessage.MOMENT_NOT_SQUARE, where=where, rows=len(cells), count=len(names))
    matrix = np.column_stack([schemas.values(cells[j], "number", table.decimal) for j in range(len(names))])
    if not np.all(np.isfinite(matrix)):
        raise InputError(TableMessage.MOMENT_NOT_FINITE, where=where)
    return MomentTable(table.name, tuple(names), matrix)


def split(table: Table, public_rows: int, seed: int) -> tuple[Table, Table]:
    """Split a table at random into a private and a public part, for the lab.

    Raises:
        InputError: the table has too few rows.
    """
    count = whole_number_between("public rows", public_rows, 1, max(table.n - 1, 1))
    order = np.random.default_rng(seed).permutation(table.n)
    stamp = f"{table.sha256}:{seed}:{count}"

    def part(role: Role, at: np.ndarray) -> Table:
        digest = hashlib.sha256(f"{stamp}:{int(role == 'public')}".encode()).hexdigest()
        return Table(table.name, role, ArrowSource(table.typed.take(pa.array(at)), digest))

    return part("private", order[count:]), part("public", order[:count])


def _typed(column: pa.ChunkedArray, rule: schemas.Column, decimal: str | None) -> pa.Array | pa.ChunkedArray:
    """Return a column with texts that are numbers converted: to integers if all are, else to floats."""
    if column.type == OBJECT:
        column = pa.chunked_array([display_texts(chunk) for chunk in column.chunks], pa.large_string())
    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if rule.kind != "number" or len(column) == 0 or not is_text:
        return column
    numbers = schemas.values(column, "number", decimal)
    are_integers = (
        np.all(np.isfinite(numbers)) and np.all(numbers == np.rint(numbers)) and np.all(np.abs(numbers) < 2**53)
    )
    return pa.array(numbers.astype(np.int64) if are_integers else numbers, from_pandas=True)


class LabelledSource(DerivedSource):
    """Source with an additional column of labels.

    Args:
        source: the other columns.
        column: its name.
        labels: labels of successive rows, repeated in a cycle; a single one makes a constant column.
    """

    def __init__(self, source: Source, column: str, labels: Sequence[str]) -> None:
        if column in source.names:
            raise InputError(TableMessage.COLUMN_THERE, column=column)
        super().__init__(source)
        self._column, self._labels = column, np.array(labels, dtype=object)
        self.names = (*source.names, column)

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield the blocks of one pass."""
        # If only the labels are wanted, the first column of the source is read for the numbers of rows.
        source_names = [name for name in names if name != self._column] or list(self.source.names[:1])
        start = 0
        for block in self.source.blocks(source_names, dialect):
            columns = {name: block.columns[name] for name in source_names if name in names}
            if self._column in names:
                positions = np.arange(start, start + block.rows) % len(self._labels)
                columns[self._column] = pa.array(self._labels[positions], type=pa.string())
            start += block.rows
            yield Cells(block.rows, {name: columns[name] for name in names})


def with_label_column(table: Table, column: str, labels: Sequence[str]) -> Table:
    """Return the table with an additional column of labels; see :class:`LabelledSource`.

    Raises:
        InputError: there is a column of this name.
    """
    return Table(table.name, table.role, LabelledSource(table.source, column, labels))
