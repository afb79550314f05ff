"""Rows of an SQL query as a source of blocks: through SQLAlchemy, or DuckDB where it is installed.

The database sends rows in chunks, and each cell is read by itself. Column types come from the database or from the cell
itself, never from other rows. No cell makes a driver fail: bytes that are not UTF-8 are replaced, declared types that
SQLite does not enforce are ignored, and times outside the years 1 to 9999 are missing. Error messages of a database are
not passed on, since they quote statements and values. A query has the access rights of the database user in its
address. A query that itself fails on the value of a row (a division by zero in PostgreSQL) raises an error.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as pt

from pmtcore.base.messages import InputError, TableMessage, reraised_as, whole_number_between
from pmtcore.tables.cells import decode_bytes, from_objects
from pmtcore.tables.dialect import Dialect, check_names
from pmtcore.tables.limits import block_rows
from pmtcore.tables.sources import Cells, DerivedSource, Source

if TYPE_CHECKING:
    import sqlite3

    import duckdb
    import psycopg
    import sqlalchemy as sa
    from psycopg.abc import AdaptContext, Buffer, Loader

_MOST_DECLARED_ROWS = 10**12  # beyond it a declared count is a typing error
# Text files and DuckDB's readers of them, which infer column types from rows.
_TEXT_FILE = re.compile(r"csv|tsv|txt|json", re.IGNORECASE)
# A query with an order, perhaps only in a subquery.
_ORDER = re.compile(r"\bORDER\b", re.IGNORECASE)
# Name that SQLite generates for a column.
_GENERATED_NAME = re.compile(r"column\d+(:\d+)?")
# Name of the log of engines that read private rows.
_LOG = "second_moment"
# User and password in an address, left out of the digest: with another password it is the same table.
_CREDENTIALS = re.compile(r"//[^/@]*@")
# Databases in which a name in double quotes is that of a column, unchanged.
_QUOTES_NAMES = ("postgresql", "sqlite", "duckdb")
_TEXT_READER = re.compile(r"\b(?:READ|SNIFF)_(?:CSV|JSON|NDJSON)")
Answer = tuple[Sequence[str], int, list[pa.Array]]  # names of all columns; rows, and the columns asked for


# Types of PostgreSQL whose cells the driver always reads without an error.
_TYPES_READ_WITHOUT_ERROR = {
    "bool",
    "bpchar",
    "float4",
    "float8",
    "int2",
    "int4",
    "int8",
    "numeric",
    "oid",
    "text",
    "varchar",
}


class QuerySource:
    """Rows of one ``SELECT``; every pass runs the query again, so the rows must not change meanwhile.

    A pass reads only the columns that it uses. The rows are those of the query; a condition in it on private cells
    makes their number, which is public, depend on these cells.

    Args:
        url: of the database, in SQLAlchemy's form; ``duckdb://PATH`` for DuckDB.
        query: one ``SELECT``.
    """

    in_memory = False
    separator = None

    def __init__(self, url: str, query: str, where: str = "The query") -> None:
        self._url, self.query, self._where = url, query.strip().rstrip(";"), where
        self._columns = [str(name) for name in self._column_names()]  # as a query around this one has them
        self.names = tuple(str(name).strip() for name in self._original_names())
        check_names(self.names, where, hide_names=True)

    @property
    def sha256(self) -> str:
        """Return the digest of the database and the query, not of the rows, which would have to be read."""
        address = _CREDENTIALS.sub("//", self._url)
        return hashlib.sha256(f"{address}\0{self.query}".encode()).hexdigest()

    @cached_property
    def _rows(self) -> int:
        for _, rows, columns in self._chunks(f"SELECT COUNT(*) FROM ({self.query}) AS counted", 1, [0]):  # noqa: S608
            if rows:
                return int(columns[0][0].as_py())
        return 0

    def rows(self, dialect: Dialect) -> int:
        """Return the number of rows, counted by the database."""
        return self._rows

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield the blocks of one pass, which runs the whole query again."""
        query, positions = self._projected([self.names.index(name) for name in names])
        for _, rows, columns in self._chunks(query, block_rows(len(self.names)), positions):
            if rows:
                yield Cells(rows, dict(zip(names, columns, strict=True)))

    def _projected(self, positions: Sequence[int]) -> tuple[str, Sequence[int]]:
        """Return a query of only the columns at these positions, and their positions in it.

        A query with an order is returned unchanged, since a database may ignore the order of a subquery; so is one for
        a database that may not take a name in double quotes for that of a column.
        """
        quotes_names = self._url.startswith(_QUOTES_NAMES)
        if not positions or not quotes_names or len(positions) == len(self.names) or _ORDER.search(self.query):
            return self.query, positions
        columns = ", ".join('"' + self._columns[position].replace('"', '""') + '"' for position in positions)
        return f"SELECT {columns} FROM ({self.query}) AS projected", range(len(positions))  # noqa: S608

    def _column_names(self) -> Sequence[str]:
        for names, _, _ in self._chunks(f"SELECT * FROM ({self.query}) AS shape WHERE 1 = 0", 1, []):  # noqa: S608
            return names
        raise InputError(TableMessage.QUERY_WITHOUT_COLUMNS, where=self._where)

    def _original_names(self) -> Sequence[str]:
        """Return the names of the columns; as a subquery, SQLite would rename a column called true or false."""
        if self._url.startswith("sqlite") and any(map(_GENERATED_NAME.fullmatch, self._columns)):
            for names, _, _ in self._chunks(self.query, 1, []):
                return names
        return self._columns

    def _chunks(self, query: str, size: int, at: Sequence[int]) -> Iterator[Answer]:
        """Yield names, and chunks of the columns at these positions; one empty chunk where there are no rows."""
        fetch = self._duckdb if self._url.startswith("duckdb:") else self._sqlalchemy
        # Every driver has its own errors.
        with reraised_as(InputError(TableMessage.QUERY_FAILED, where=self._where), Exception):
            yield from fetch(query, size, at)

    def _sqlalchemy(self, query: str, size: int, at: Sequence[int]) -> Iterator[Answer]:
        import sqlalchemy as sa  # noqa: PLC0415  # only queries need it

        engine = _engine(self._url)
        try:
            with engine.connect().execution_options(stream_results=True, yield_per=size) as connection:
                result = connection.execute(sa.text(query.replace(":", r"\:")))
                names, rows = list(result.keys()), result.fetchmany(size)
                yield names, len(rows), [from_objects([row[j] for row in rows]) for j in at]
                while rows := result.fetchmany(size):
                    yield names, len(rows), [from_objects([row[j] for row in rows]) for j in at]
        finally:
            engine.dispose()

    def _duckdb(self, query: str, size: int, at: Sequence[int]) -> Iterator[Answer]:
        """Yield chunks in DuckDB's types, as Arrow columns, also for values without a Python type."""
        with reraised_as(InputError(TableMessage.NO_DUCKDB), ImportError):
            import duckdb  # noqa: PLC0415  # an extra
        path = self._url.removeprefix("duckdb:").removeprefix("//") or ":memory:"
        with duckdb.connect(path, read_only=path != ":memory:") as connection:
            if _reads_text_file(connection, query):
                raise InputError(TableMessage.QUERY_READS_TEXT, where=self._where)
            relation = connection.sql(query)
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # as versions call it
            batches = reader(size)
            names = batches.schema.names
            yield names, 0, [pa.nulls(0) for _ in at]
            for batch in batches:
                yield names, batch.num_rows, [_without_nested(batch.column(j)) for j in at]

    def __repr__(self) -> str:
        return "<rows of a query>"


class DeclaredSource(DerivedSource):
    """Source whose number of rows, the n of the release, is declared instead of counted.

    Rows beyond it are not read. Missing ones count as rows of zeros.
    """

    def __init__(self, source: Source, rows: int) -> None:
        super().__init__(source)
        self._declared = whole_number_between("declared rows", rows, 1, _MOST_DECLARED_ROWS)

    def rows(self, dialect: Dialect) -> int:
        """Return the declared number of rows."""
        return self._declared

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield the blocks of one pass over as many rows as were declared."""
        remaining = self._declared
        for block in self.source.blocks(names, dialect):
            if remaining <= 0:
                return
            if block.rows > remaining:
                block = Cells(remaining, {name: column.slice(0, remaining) for name, column in block.columns.items()})
            remaining -= block.rows
            yield block


def _reads_text_file(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Return whether a DuckDB query reads a text file; the answer does not depend on its content."""
    try:
        plan = str(connection.execute(f"EXPLAIN {query}").fetchall())
    except Exception:  # inferring types may fail on some rows
        return _TEXT_FILE.search(query) is not None
    return _TEXT_READER.search(plan) is not None


def _without_nested(cells: pa.Array) -> pa.Array:
    """Return a column of single values; lists and structures become null."""
    return pa.nulls(len(cells)) if pt.is_nested(cells.type) else cells


def _engine(url: str) -> sa.Engine:
    """Return an engine whose driver raises no error on the content of a cell."""
    import sqlalchemy as sa  # noqa: PLC0415  # as above

    # At level DEBUG SQLAlchemy logs the rows that it fetches.
    logging.getLogger(f"sqlalchemy.engine.Engine.{_LOG}").setLevel(logging.WARNING)
    address = sa.make_url(url)
    if address.get_backend_name() == "postgresql" and address.get_driver_name() == "psycopg":
        engine = sa.create_engine(url, logging_name=_LOG)
        sa.event.listen(engine, "connect", _read_any_cell)
        return engine
    if address.get_backend_name() != "sqlite":
        return sa.create_engine(url, logging_name=_LOG)
    path = address.database or ":memory:"
    if path != ":memory:" and not path.startswith("file:") and not Path(path).exists():
        raise InputError(TableMessage.NO_FILE, place=path)  # SQLite would create it
    # Converters of declared types (?detect_types=1) raise on a cell of another type.
    engine = sa.create_engine(url, connect_args={"detect_types": 0}, logging_name=_LOG)

    @sa.event.listens_for(engine, "connect")
    def _lenient(connection: sqlite3.Connection, _: object) -> None:
        connection.text_factory = decode_bytes

    return engine


def _read_any_cell(connection: psycopg.Connection[Any], _: object) -> None:
    """Let cells be missing on which the driver would raise: times that Python lacks, deep JSON or long numbers."""
    from psycopg.pq import Format  # noqa: PLC0415  # an extra

    adapters = connection.adapters
    for kind in adapters.types:
        for format in (Format.TEXT, Format.BINARY):
            loader = adapters.get_loader(kind.oid, format)
            if loader is not None and kind.name not in _TYPES_READ_WITHOUT_ERROR:
                adapters.register_loader(kind.oid, _lenient(loader))


def _lenient(usual: type[Loader]) -> type[Loader]:
    """Return a loader of cells with the values of the usual one, and ``None`` where that raises."""
    from psycopg.adapt import Loader  # noqa: PLC0415  # an extra

    class Lenient(Loader):
        format = usual.format

        def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
            super().__init__(oid, context)
            self._usual = usual(oid, context)

        def load(self, data: Buffer) -> object:
            try:
                return self._usual.load(data)
            except Exception:  # of the driver, or of Python for numbers that are too large
                return None

    return Lenient
