"""Rows of an SQL query as a source of blocks: through SQLAlchemy, or DuckDB where it is installed.

The database sends rows in chunks; each cell is read by itself like any other. A database's own errors never come
through: their texts quote statements and values. The query is whatever its author may ask: it runs with the rights
of the address that it comes with.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, final

import sqlalchemy as sa

from pmtcore.base.checks import InputError, whole_number_between
from pmtcore.tables.cells import from_objects
from pmtcore.tables.dialect import Dialect, check_names
from pmtcore.tables.limits import block_rows
from pmtcore.tables.sources import Cells, Source

_MOST_ROWS = 10**12  # beyond it a declared count is a typing error


@final
class QuerySource:
    """The rows of one ``SELECT``; every pass asks again, so the rows must not change meanwhile.

    Args:
        url: of the database, as SQLAlchemy writes it; ``duckdb://PATH`` for DuckDB.
        query: one ``SELECT``.
    """

    in_memory = False
    separator = None

    def __init__(self, url: str, query: str, where: str = "The query") -> None:
        self._url, self.query, self._where = url, query.strip().rstrip(";"), where
        self.names = tuple(str(name).strip() for name in self._asked(0)[0])
        check_names(self.names, where, hide_names=True)

    @property
    def sha256(self) -> str:
        """Digest of the question: of the rows there is none without reading them."""
        return hashlib.sha256(self.query.encode()).hexdigest()

    @cached_property
    def _rows(self) -> int:
        for _, values in self._chunks(f"SELECT COUNT(*) FROM ({self.query}) AS counted", 1):  # noqa: S608
            return int(values[0][0])
        return 0

    def rows(self, dialect: Dialect) -> int:
        """Counted by the database."""
        return self._rows

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """One pass, the whole query asked again."""
        at = [self.names.index(name) for name in names]
        for _, values in self._chunks(self.query, block_rows(len(self.names))):
            columns = {name: from_objects([row[j] for row in values]) for name, j in zip(names, at, strict=True)}
            yield Cells(len(values), columns)

    def _asked(self, rows: int) -> tuple[Sequence[str], list[Any]]:
        for names, values in self._chunks(f"SELECT * FROM ({self.query}) AS shape WHERE 1 = 0", 1):  # noqa: S608
            return names, values[:rows]
        raise InputError(f"{self._where} has no columns; give one SELECT.")

    def _chunks(self, query: str, size: int) -> Iterator[tuple[Sequence[str], list[Any]]]:
        """Names and rows in chunks; names alone where there are no rows."""
        fetch = self._duckdb if self._url.startswith("duckdb:") else self._sqlalchemy
        try:
            yield from fetch(query, size)
        except (InputError, GeneratorExit):
            raise
        except Exception:  # every driver has its own errors
            raise InputError(
                f"{self._where} cannot be answered; check the address of the database and the SELECT."
            ) from None

    def _sqlalchemy(self, query: str, size: int) -> Iterator[tuple[Sequence[str], list[Any]]]:
        engine = sa.create_engine(self._url)
        try:
            with engine.connect().execution_options(stream_results=True, yield_per=size) as connection:
                result = connection.execute(sa.text(query.replace(":", r"\:")))
                yield from _fetched(list(result.keys()), result.fetchmany, size)
        finally:
            engine.dispose()

    def _duckdb(self, query: str, size: int) -> Iterator[tuple[Sequence[str], list[Any]]]:
        try:
            import duckdb  # noqa: PLC0415  # an extra
        except ImportError:
            raise InputError("A duckdb: address needs the package duckdb; install it.") from None
        path = self._url.removeprefix("duckdb:").removeprefix("//") or ":memory:"
        with duckdb.connect(path, read_only=path != ":memory:") as connection:
            found = connection.execute(query)
            yield from _fetched([column[0] for column in found.description], found.fetchmany, size)

    def __repr__(self) -> str:
        return "<rows of a query>"


@final
class DeclaredSource:
    """A source whose number of rows is declared instead of counted: the n of the release, whatever there is.

    Rows beyond it are not read. Fewer rows count as if the missing ones were rows of zeros.
    """

    def __init__(self, source: Source, rows: int) -> None:
        self._source = source
        self._declared = whole_number_between("declared rows", rows, 1, _MOST_ROWS)
        self.names, self.separator, self.in_memory = source.names, source.separator, source.in_memory

    @property
    def sha256(self) -> str:
        """Of the source, where that is known without counting."""
        return self._source.sha256

    def rows(self, dialect: Dialect) -> int:
        """As declared."""
        return self._declared

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """One pass over as many rows as were declared."""
        left = self._declared
        for block in self._source.blocks(names, dialect):
            if left <= 0:
                return
            if block.rows > left:
                block = Cells(left, {name: column.slice(0, left) for name, column in block.columns.items()})
            left -= block.rows
            yield block


def _fetched(names: Sequence[str], fetch: Any, size: int) -> Iterator[tuple[Sequence[str], list[Any]]]:
    first = True
    while (rows := fetch(size)) or first:
        yield names, list(rows)
        first = False
        if not rows:
            return
