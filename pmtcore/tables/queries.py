"""Rows of an SQL query as a source of blocks: through SQLAlchemy, or DuckDB where it is installed.

The database sends rows in chunks; each cell is read by itself like any other. Column types come from the database or
from the cell itself, never from other rows. No cell makes a driver fail: bytes that are not UTF-8 are replaced,
declared types that SQLite does not enforce are ignored, and times outside the years 1 to 9999 count as missing. Error
messages of a database are not passed on, since they quote statements and values. A query runs with the rights of the
address that it comes with; one that fails on the value of a row (a division by zero in PostgreSQL) fails.
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
from pmtcore.tables.cells import decoded, from_objects
from pmtcore.tables.dialect import Dialect, check_names
from pmtcore.tables.limits import block_rows
from pmtcore.tables.sources import Cells, DerivedSource, Source

if TYPE_CHECKING:
    import sqlite3

    import duckdb
    import psycopg
    import sqlalchemy as sa
    from psycopg.abc import AdaptContext, Buffer, Loader

_MOST_ROWS = 10**12  # beyond it a declared count is a typing error
# Text files and DuckDB's readers of them, whose column types are guessed from rows.
_TEXT_FILE = re.compile(r"csv|tsv|txt|json", re.IGNORECASE)
# A query with an order, perhaps in a part of it only.
_ORDER = re.compile(r"\bORDER\b", re.IGNORECASE)
# What SQLite calls a column without a name that it takes.
_RENAMED = re.compile(r"column\d+(:\d+)?")
# Name of the log of engines that read private rows.
_LOG = "second_moment"
# User and password in an address, left out of the digest: a new password makes no other table.
_CREDENTIALS = re.compile(r"//[^/@]*@")
# Databases in which a name in double quotes is that of a column, as it is written.
_QUOTES_NAMES = ("postgresql", "sqlite", "duckdb")
_TEXT_READER = re.compile(r"\b(?:READ|SNIFF)_(?:CSV|JSON|NDJSON)")
Answer = tuple[Sequence[str], int, list[pa.Array]]  # names of all columns; rows, and the columns asked for


# Types of PostgreSQL of which the driver reads every cell, and fast.
_READ_ALWAYS = {"bool", "bpchar", "float4", "float8", "int2", "int4", "int8", "numeric", "oid", "text", "varchar"}


class QuerySource:
    """Rows of one ``SELECT``; every pass runs the query again, so the rows must not change meanwhile.

    A pass asks for the columns that it uses. Rows are the query's own: a condition on private cells would change their
    number, which is public, so whoever wants fewer rows says so in the query.

    Args:
        url: of the database, as SQLAlchemy writes it; ``duckdb://PATH`` for DuckDB.
        query: one ``SELECT``.
    """

    in_memory = False
    separator = None

    def __init__(self, url: str, query: str, where: str = "The query") -> None:
        self._url, self.query, self._where = url, query.strip().rstrip(";"), where
        self._columns = [str(name) for name in self._shape()]  # as a query around this one has them
        self.names = tuple(str(name).strip() for name in self._own_names())
        check_names(self.names, where, hide_names=True)

    @property
    def sha256(self) -> str:
        """Return the digest of the database and the query: one of the rows would need reading them."""
        place = _CREDENTIALS.sub("//", self._url)
        return hashlib.sha256(f"{place}\0{self.query}".encode()).hexdigest()

    @cached_property
    def _rows(self) -> int:
        for _, rows, columns in self._answers(f"SELECT COUNT(*) FROM ({self.query}) AS counted", 1, [0]):  # noqa: S608
            if rows:
                return int(columns[0][0].as_py())
        return 0

    def rows(self, dialect: Dialect) -> int:
        """Return the number of rows, counted by the database."""
        return self._rows

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield the blocks of one pass, which runs the whole query again."""
        query, at = self._projected([self.names.index(name) for name in names])
        for _, rows, columns in self._answers(query, block_rows(len(self.names)), at):
            if rows:
                yield Cells(rows, dict(zip(names, columns, strict=True)))

    def _projected(self, places: Sequence[int]) -> tuple[str, Sequence[int]]:
        """Return a query of the columns at these places alone, and their places in it; the database sends no other.

        A query with an order is asked as it is: a database may forget the order of a query inside another. So is one of
        a database that is not known to take a name in double quotes for that of a column.
        """
        known = self._url.startswith(_QUOTES_NAMES)
        if not places or not known or len(places) == len(self.names) or _ORDER.search(self.query):
            return self.query, places
        columns = ", ".join('"' + self._columns[at].replace('"', '""') + '"' for at in places)
        return f"SELECT {columns} FROM ({self.query}) AS projected", range(len(places))  # noqa: S608

    def _shape(self) -> Sequence[str]:
        for names, _, _ in self._answers(f"SELECT * FROM ({self.query}) AS shape WHERE 1 = 0", 1, []):  # noqa: S608
            return names
        raise InputError(TableMessage.QUERY_WITHOUT_COLUMNS, where=self._where)

    def _own_names(self) -> Sequence[str]:
        """Return the names of the columns; in a query inside another SQLite calls one named true or false otherwise."""
        if self._url.startswith("sqlite") and any(map(_RENAMED.fullmatch, self._columns)):
            for names, _, _ in self._answers(self.query, 1, []):
                return names
        return self._columns

    def _answers(self, query: str, size: int, at: Sequence[int]) -> Iterator[Answer]:
        """Yield names and chunks of the columns at these places; one empty chunk where there are no rows."""
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
        """Yield columns typed by the query: DuckDB returns Arrow columns, also for values of no Python type."""
        with reraised_as(InputError(TableMessage.NO_DUCKDB), ImportError):
            import duckdb  # noqa: PLC0415  # an extra
        path = self._url.removeprefix("duckdb:").removeprefix("//") or ":memory:"
        with duckdb.connect(path, read_only=path != ":memory:") as connection:
            if _guesses(connection, query):
                raise InputError(TableMessage.QUERY_READS_TEXT, where=self._where)
            relation = connection.sql(query)
            reader = getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader  # as versions call it
            batches = reader(size)
            names = batches.schema.names
            yield names, 0, [pa.nulls(0) for _ in at]
            for batch in batches:
                yield names, batch.num_rows, [_flat(batch.column(j)) for j in at]

    def __repr__(self) -> str:
        return "<rows of a query>"


class DeclaredSource(DerivedSource):
    """Source whose number of rows is declared instead of counted: the n of the release, whatever there is.

    Rows beyond it are not read. Fewer rows count as if the missing ones were rows of zeros.
    """

    def __init__(self, source: Source, rows: int) -> None:
        super().__init__(source)
        self._declared = whole_number_between("declared rows", rows, 1, _MOST_ROWS)

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


def _guesses(connection: duckdb.DuckDBPyConnection, query: str) -> bool:
    """Return True where a DuckDB query reads a text file, the same whatever the file contains."""
    try:
        plan = str(connection.execute(f"EXPLAIN {query}").fetchall())
    except Exception:  # the guess itself may fail, by what the rows are
        return _TEXT_FILE.search(query) is not None
    return _TEXT_READER.search(plan) is not None


def _flat(cells: pa.Array) -> pa.Array:
    """Return a column of single values; lists and structures become null."""
    return pa.nulls(len(cells)) if pt.is_nested(cells.type) else cells


def _engine(url: str) -> sa.Engine:
    """Return an engine whose driver converts no cell in a way that may fail."""
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
        raise InputError(TableMessage.NO_FILE, place=path)  # SQLite would begin an empty one
    # Converters of declared types (?detect_types=1) raise for a cell that is of another type.
    engine = sa.create_engine(url, connect_args={"detect_types": 0}, logging_name=_LOG)

    @sa.event.listens_for(engine, "connect")
    def _lenient(connection: sqlite3.Connection, _: object) -> None:
        connection.text_factory = decoded

    return engine


def _read_any_cell(connection: psycopg.Connection[Any], _: object) -> None:
    """Make cells missing where the driver would raise: times that Python lacks, JSON too deep or with long numbers."""
    from psycopg.pq import Format  # noqa: PLC0415  # an extra

    known = connection.adapters
    for kind in known.types:
        for form in (Format.TEXT, Format.BINARY):
            usual = known.get_loader(kind.oid, form)
            if usual is not None and kind.name not in _READ_ALWAYS:
                known.register_loader(kind.oid, _lenient(usual))


def _lenient(usual: type[Loader]) -> type[Loader]:
    """Return a loader of cells that reads what the usual one reads, and has ``None`` where that raises."""
    from psycopg.adapt import Loader  # noqa: PLC0415  # an extra

    class Lenient(Loader):
        format = usual.format

        def __init__(self, oid: int, context: AdaptContext | None = None) -> None:
            super().__init__(oid, context)
            self._usual = usual(oid, context)

        def load(self, data: Buffer) -> object:
            try:
                return self._usual.load(data)
            except Exception:  # the driver's own, and Python's of numbers too large
                return None

    return Lenient
