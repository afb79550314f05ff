"""Connections to a ledger's database: a file through the standard library, a server through SQLAlchemy.

A file is opened for each transaction and closed after it, without SQLAlchemy. A server limits the connections of all
processes together, so each process holds few and its threads wait for one. Statements are the same for both, with
``:name`` for a value.
"""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from pmtcore.base.messages import LedgerMessage
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.sidecar import WAIT_SECONDS

if TYPE_CHECKING:
    import sqlalchemy as sql

Cell = int | float | str | bytes | None

_READ_ONLY = {"mode": "ro", "uri": "true"}  # the only options of a file that are supported
_SQLITE_DRIVERS = ("sqlite", "sqlite+pysqlite")  # SQLAlchemy's names of the standard library's driver
_LOCK = 20_261_121  # number of the advisory lock, arbitrary
_CONNECTIONS = 10  # most of one process; PostgreSQL allows 100 for all processes by default
_QUEUE_SECONDS = 300  # longest wait for a connection or the lock; fifty sessions in two processes waited for 120
_CONNECT_SECONDS = 10  # longest wait for a server to accept a connection
_ENGINES = 16  # most engines that are kept; one that was dropped is created anew


def address(location: str) -> str:
    """Return a ledger's address in SQLAlchemy's form, with links to a file resolved.

    Key, noted head and lock are therefore beside the file itself, whichever link leads to it.

    Raises:
        LedgerError: an SQLite database in memory, or with unsupported options.
        ValueError, OSError, RuntimeError: it is no address, or links form a circle.
    """
    if not location.startswith("sqlite") and "://" in location:
        return location.replace("postgresql://", "postgresql+psycopg://", 1)
    if "://" not in location:
        location = f"sqlite:///{_quoted(Path(location).absolute())}"
    driver, _, rest = location.partition("://")
    if driver not in _SQLITE_DRIVERS or rest[:1] not in ("", "/"):
        raise LedgerError(LedgerMessage.SQLITE_FORM)
    file, _, options = rest[1:].partition("?")
    query = dict(parse_qsl(options, keep_blank_values=True))
    file = unquote(file) or ":memory:"
    read_only = file.startswith("file:") and query == _READ_ONLY
    path = Path(file.removeprefix("file:")).resolve()
    if path.name == ":memory:" or (not read_only and (query or file.startswith("file:"))):
        raise LedgerError(LedgerMessage.SQLITE_FORM)
    return f"{driver}:///file:{_quoted(path)}?mode=ro&uri=true" if read_only else f"{driver}:///{_quoted(path)}"


def _quoted(path: Path) -> str:
    """Return a path with the characters escaped that have a meaning in an address."""
    return str(path).replace("%", "%25").replace("?", "%3F")


def display_address(url: str) -> str:
    """Return the file or the server of a ledger's address, without a password; ``file:`` precedes a read-only file."""
    if url.startswith("sqlite"):
        return unquote(url.partition(":///")[2].partition("?")[0])
    import sqlalchemy as sql  # noqa: PLC0415  # not needed for a file

    return sql.make_url(url).render_as_string(hide_password=True)


def database_errors(*others: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the error classes of the drivers that are loaded, and others, for an ``except`` clause."""
    sqlalchemy_errors = sys.modules.get("sqlalchemy.exc")
    of_server = () if sqlalchemy_errors is None else (sqlalchemy_errors.SQLAlchemyError,)
    return (sqlite3.Error, *of_server, *others)


class SqliteConnection:
    """Connection to an SQLite file, by the standard library."""

    is_sqlite = True

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursors: list[sqlite3.Cursor] = []

    def close(self) -> None:
        """Close the cursors and the connection: a cursor referenced by an error would keep the file locked."""
        for cursor in self._cursors:
            cursor.close()
        self._connection.close()

    def rows(self, statement: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query as dictionaries by column."""
        cursor = self._connection.execute(statement, values)
        self._cursors.append(cursor)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def value(self, statement: str, **values: object) -> Cell:
        """Return the first cell of a query; ``None`` where it has no row."""
        row = self._connection.execute(statement, values).fetchone()
        return None if row is None else row[0]

    def run(self, statement: str, **values: object) -> None:
        """Execute a statement that returns no rows."""
        self._connection.execute(statement, values)

    def has_table(self, name: str) -> bool:
        """Return whether the database has a table of that name."""
        return bool(self.value("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = :name", name=name))


class ServerConnection:
    """Connection of SQLAlchemy, to a server or a file."""

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    @property
    def is_sqlite(self) -> bool:
        """Return whether the database is a file of SQLite."""
        return self._connection.dialect.name == "sqlite"

    def _result(self, statement: str, values: dict[str, Any]) -> sql.CursorResult[Any]:
        import sqlalchemy as sql  # noqa: PLC0415  # as above

        return self._connection.execute(sql.text(statement), values)

    def rows(self, statement: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of a query as dictionaries by column."""
        for row in self._result(statement, values).mappings():
            yield dict(row)

    def value(self, statement: str, **values: object) -> Cell:
        """Return the first cell of a query; ``None`` where it has no row."""
        return self._result(statement, values).scalar()

    def run(self, statement: str, **values: object) -> None:
        """Execute a statement that returns no rows."""
        if values:
            self._result(statement, values)
        else:  # without parameters: a colon in a definition is no placeholder
            self._connection.exec_driver_sql(statement)

    def has_table(self, name: str) -> bool:
        """Return whether the database has a table of that name."""
        import sqlalchemy as sql  # noqa: PLC0415  # as above

        return sql.inspect(self._connection).has_table(name)


# Connection inside a transaction.
Connection = SqliteConnection | ServerConnection


class SqliteEngine:
    """SQLite file, opened for each transaction.

    Args:
        url: an address from :func:`address`.
    """

    def __init__(self, url: str) -> None:
        self._read_only = url.endswith("?mode=ro&uri=true")
        # SQLite itself parses the address of a file that is opened to read only.
        self._file = url.partition(":///")[2].removesuffix("&uri=true") if self._read_only else display_address(url)

    @contextmanager
    def transaction(self, *, reads: bool) -> Iterator[SqliteConnection]:
        """Open a transaction that excludes all others; ``reads`` is not used."""
        connection = sqlite3.connect(self._file, timeout=WAIT_SECONDS, isolation_level=None, uri=self._read_only)
        opened = SqliteConnection(connection)
        try:
            connection.execute("PRAGMA synchronous=FULL")
            connection.execute("BEGIN IMMEDIATE")
            yield opened
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
        finally:
            opened.close()


class ServerEngine:
    """Database server, through the SQLAlchemy engine that all threads of this process share.

    Args:
        url: its address.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: the kind of database is unknown.
        ImportError: its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self._engine = _server(url, os.getpid())  # connections do not survive a fork

    @contextmanager
    def transaction(self, *, reads: bool) -> Iterator[ServerConnection]:
        """Open a transaction under the ledger's lock, which is shared where ``reads`` is true."""
        with self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_QUEUE_SECONDS}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{'_shared' * reads}({_LOCK})")
            yield ServerConnection(connection)


# Source of transactions on one database.
Engine = SqliteEngine | ServerEngine


def engine(url: str) -> Engine:
    """Return the source of transactions for an address of :func:`address`.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: the kind of database is unknown.
        ImportError: its driver is not installed.
    """
    return SqliteEngine(url) if url.startswith("sqlite") else ServerEngine(url)


@lru_cache(maxsize=_ENGINES)
def _server(url: str, _process: int) -> sql.Engine:
    """Return the engine of a server in this process."""
    import sqlalchemy as sql  # noqa: PLC0415  # as above

    arguments: dict[str, Any] = {}
    address = sql.make_url(url)
    if address.drivername == "postgresql+psycopg":
        arguments["prepare_threshold"] = None  # prepared statements do not work through a connection pooler
        if "connect_timeout" not in address.query:
            arguments["connect_timeout"] = _CONNECT_SECONDS
    return sql.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_QUEUE_SECONDS,
        connect_args=arguments,
    )
