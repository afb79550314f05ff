"""How a process reaches a ledger's database: one engine for each server, however many sessions ask.

A server gives out a limited number of connections, to all processes together. A process therefore holds few, and its
sessions wait for one another; an SQLite file is opened for each transaction and closed after it.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from pmtcore.base.messages import LedgerMessage
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.sidecar import WAIT_SECONDS

_SEALED = {"mode": "ro", "uri": "true"}  # the one way to open a file that the driver does not pass over
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
        ValueError, OSError, RuntimeError, sqlalchemy.exc.SQLAlchemyError: it is no address, or links lead in a circle.
    """
    if not place.startswith("sqlite") and "://" in place:
        return place.replace("postgresql://", "postgresql+psycopg://", 1)
    if "://" not in place:
        place = f"sqlite:///{Path(place).absolute()}"
    url = sql.make_url(place)
    file = url.database or ":memory:"
    sealed = file.startswith("file:") and url.query == _SEALED
    path = Path(file.removeprefix("file:")).resolve()
    if path.name == ":memory:" or (not sealed and (url.query or file.startswith("file:"))):
        raise LedgerError(LedgerMessage.SQLITE_FORM)
    return f"{url.drivername}:///file:{path}?mode=ro&uri=true" if sealed else f"{url.drivername}:///{path}"


def engine(url: str) -> sql.Engine:
    """Return the engine for a database's address; for a server it is shared by all threads of this process.

    Raises:
        sqlalchemy.exc.SQLAlchemyError: no such kind of database.
        ImportError: its driver is not installed.
    """
    if url.startswith("sqlite"):
        return _file(url)
    return _server(url, os.getpid())  # connections do not survive a fork


def lock(connection: sql.Connection, *, shared: bool) -> None:
    """Take the ledger's lock on PostgreSQL, until the transaction ends: with other readers, or alone."""
    connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_QUEUE_SECONDS}s'")
    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{'_shared' * shared}({_LOCK})")


def _file(url: str) -> sql.Engine:
    made = sql.create_engine(url, connect_args={"timeout": WAIT_SECONDS}, poolclass=sql.pool.NullPool)

    @sql.event.listens_for(made, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are the ledger's: BEGIN IMMEDIATE
        connection.execute("PRAGMA synchronous=FULL")

    return made


@lru_cache(maxsize=_ENGINES)
def _server(url: str, _process: int) -> sql.Engine:
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
