"""Connections to a ledger's database: a file through the standard library, a server through SQLAlchemy.

A file is opened for each transaction and closed after it; no other library is loaded for it. A server gives out a
limited number of connections, to all processes together. A process therefore holds few, and its sessions wait for one
another. Statements are the same text for both, with ``:name`` for a value.
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

_SEALED = {"mode": "ro", "uri": "true"}  # the one way to open a file that the driver does not pass over
_DRIVERS = ("sqlite", "sqlite+pysqlite")  # names of the standard library's
_LOCK = 20_261_121  # any number that no other program of the database locks by
_CONNECTIONS = 10  # of one process: writers are one at a time anyway; PostgreSQL gives 100 to all processes by default
_QUEUE_SECONDS = 300  # for a connection, or the lock: fifty sessions of two busy processes at once took two minutes
_ANSWER_SECONDS = 10  # to connect: a server that is there answers within one
_ENGINES = 16  # servers that one process may use, tests included; an engine more would only be made anew


def address(place: str) -> str:
    """Return a ledger's address as the driver takes it; a file under its own name, whatever links lead to it.

    What lies beside a ledger (its key, its head, its lock) then lies beside one file, and not beside each link.

    Raises:
        LedgerError: in memory, where it would be lost, or with options that the driver would pass over.
        ValueError, OSError, RuntimeError: it is no address, or links lead in a circle.
    """
    if not place.startswith("sqlite") and "://" in place:
        return place.replace("postgresql://", "postgresql+psycopg://", 1)
    if "://" not in place:
        place = f"sqlite:///{_quoted(Path(place).absolute())}"
    driver, _, rest = place.partition("://")
    if driver not in _DRIVERS or rest[:1] not in ("", "/"):
        raise LedgerError(LedgerMessage.SQLITE_FORM)
    file, _, options = rest[1:].partition("?")
    query = dict(parse_qsl(options, keep_blank_values=True))
    file = unquote(file) or ":memory:"
    sealed = file.startswith("file:") and query == _SEALED
    path = Path(file.removeprefix("file:")).resolve()
    if path.name == ":memory:" or (not sealed and (query or file.startswith("file:"))):
        raise LedgerError(LedgerMessage.SQLITE_FORM)
    return f"{driver}:///file:{_quoted(path)}?mode=ro&uri=true" if sealed else f"{driver}:///{_quoted(path)}"


def _quoted(path: Path) -> str:
    """Return a path as an address has it: what would end it, or stand for another character, is quoted."""
    return str(path).replace("%", "%25").replace("?", "%3F")


def place_of(url: str) -> str:
    """Return where a ledger is, of its address: a file (``file:`` before one that is only read), or a server's name.

    A server is named without its password.
    """
    if url.startswith("sqlite"):
        return unquote(url.partition(":///")[2].partition("?")[0])
    import sqlalchemy as sql  # noqa: PLC0415  # a ledger in a file does without

    return sql.make_url(url).render_as_string(hide_password=True)


def database_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Return the errors of the drivers that this process has loaded, and others."""
    loaded = sys.modules.get("sqlalchemy.exc")
    return (sqlite3.Error, *more) if loaded is None else (sqlite3.Error, loaded.SQLAlchemyError, *more)


class SqliteConnection:
    """A connection of the standard library to an SQLite file."""

    is_sqlite = True

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cursors: list[sqlite3.Cursor] = []

    def close(self) -> None:
        """Close the connection and what it was reading: an error that somebody keeps would hold the file's lock."""
        for cursor in self._cursors:
            cursor.close()
        self._connection.close()

    def rows(self, statement: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of an answer, each cell by the name of its column."""
        cursor = self._connection.execute(statement, values)
        self._cursors.append(cursor)
        names = [column[0] for column in cursor.description]
        for row in cursor:
            yield dict(zip(names, row, strict=True))

    def value(self, statement: str, **values: object) -> Cell:
        """Return the first cell of an answer; ``None`` where there is none."""
        row = self._connection.execute(statement, values).fetchone()
        return None if row is None else row[0]

    def run(self, statement: str, **values: object) -> None:
        """Carry out a statement that has no answer."""
        self._connection.execute(statement, values)

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""
        return bool(self.value("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = :name", name=name))


class ServerConnection:
    """A connection of SQLAlchemy, to a server or a file."""

    def __init__(self, connection: sql.Connection) -> None:
        self._connection = connection

    @property
    def is_sqlite(self) -> bool:
        """Return whether the database is a file of SQLite."""
        return self._connection.dialect.name == "sqlite"

    def _answer(self, statement: str, values: dict[str, Any]) -> sql.CursorResult[Any]:
        import sqlalchemy as sql  # noqa: PLC0415  # as above

        return self._connection.execute(sql.text(statement), values)

    def rows(self, statement: str, **values: object) -> Iterator[dict[str, Any]]:
        """Yield the rows of an answer, each cell by the name of its column."""
        for row in self._answer(statement, values).mappings():
            yield dict(row)

    def value(self, statement: str, **values: object) -> Cell:
        """Return the first cell of an answer; ``None`` where there is none."""
        return self._answer(statement, values).scalar()

    def run(self, statement: str, **values: object) -> None:
        """Carry out a statement that has no answer."""
        if values:
            self._answer(statement, values)
        else:  # as it is: a definition may hold a colon
            self._connection.exec_driver_sql(statement)

    def has_table(self, name: str) -> bool:
        """Return whether there is a table of that name."""
        import sqlalchemy as sql  # noqa: PLC0415  # as above

        return sql.inspect(self._connection).has_table(name)


# A connection inside a transaction.
Connection = SqliteConnection | ServerConnection


class SqliteEngine:
    """An SQLite file, opened for each transaction.

    Args:
        url: an address from :func:`address`.
    """

    def __init__(self, url: str) -> None:
        self._sealed = url.endswith("?mode=ro&uri=true")
        # A sealed file is opened by a name that SQLite takes apart again.
        self._file = url.partition(":///")[2].removesuffix("&uri=true") if self._sealed else place_of(url)

    @contextmanager
    def transaction(self, *, reads: bool) -> Iterator[SqliteConnection]:
        """Open a transaction that no other one overlaps, whether it writes or not."""
        connection = sqlite3.connect(self._file, timeout=WAIT_SECONDS, isolation_level=None, uri=self._sealed)
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
    """A server, by the engine that all threads of this process share.

    Args:
        url: its address.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: no such kind of database.
        ImportError: its driver is not installed.
    """

    def __init__(self, url: str) -> None:
        self._engine = _server(url, os.getpid())  # connections do not survive a fork

    @contextmanager
    def transaction(self, *, reads: bool) -> Iterator[ServerConnection]:
        """Open a transaction under the ledger's lock: with other readers, or alone."""
        with self._engine.connect() as connection, connection.begin():
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_QUEUE_SECONDS}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{'_shared' * reads}({_LOCK})")
            yield ServerConnection(connection)


# What opens transactions on one database.
Engine = SqliteEngine | ServerEngine


def engine(url: str) -> Engine:
    """Return what opens transactions on the database of an address.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: no such kind of database.
        ImportError: its driver is not installed.
    """
    return SqliteEngine(url) if url.startswith("sqlite") else ServerEngine(url)


@lru_cache(maxsize=_ENGINES)
def _server(url: str, _process: int) -> sql.Engine:
    import sqlalchemy as sql  # noqa: PLC0415  # as above

    more: dict[str, Any] = {}
    address = sql.make_url(url)
    if address.drivername == "postgresql+psycopg":
        more["prepare_threshold"] = None  # statements kept by a connection do not pass through a pooler in between
        if "connect_timeout" not in address.query:
            more["connect_timeout"] = _ANSWER_SECONDS
    return sql.create_engine(
        url,
        pool_pre_ping=True,
        pool_size=_CONNECTIONS,
        max_overflow=0,
        pool_timeout=_QUEUE_SECONDS,
        connect_args=more,
    )
