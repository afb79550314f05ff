"""The ledger's tables, their versions, and the steps from each version to the next.

A step is a function of its own, run under the ledger's lock in the same transaction as the new version number, so
a process killed in between leaves the old version. Version 1 had the tables; version 2 makes the database itself
refuse to change or remove an event, so that a slip of the hand is refused and not only found afterwards; version 3
gives each event a seal, which needs the ledger's key; version 4 has events of registered data sets and of agreements;
version 5 has no event without a seal, so that one that lacks it is damage wherever it is read.
Whoever owns the database can lift the refusal: then the chain says so, and whoever writes the chain anew lacks the key.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sql

NAME_LENGTH = 200  # of a column; longer names are refused in a sentence


def _events(meta: sql.MetaData, *more: sql.Column[Any]) -> sql.Table:
    """Return the table of events as version 1 had it, and columns that later versions added."""
    return sql.Table(
        "pmt_events",
        meta,
        sql.Column("seq", sql.Integer, primary_key=True, autoincrement=False),
        sql.Column("at", sql.String(40), nullable=False),
        sql.Column("dataset", sql.String(NAME_LENGTH), nullable=False, index=True),
        sql.Column("kind", sql.String(16), nullable=False),
        sql.Column("key", sql.String(NAME_LENGTH), nullable=False),
        sql.Column("payload", sql.Text, nullable=False),
        sql.Column("previous", sql.String(64), nullable=False),
        sql.Column("hash", sql.String(64), nullable=False),
        *more,
        sql.UniqueConstraint("key", "kind", name="pmt_once"),
    )


_FIRST = sql.MetaData()
_events(_FIRST)
VERSION = sql.Table("pmt_schema", _FIRST, sql.Column("version", sql.Integer, nullable=False))
EVENTS = _events(sql.MetaData(), sql.Column("seal", sql.String(64)))

_WORDS = "the ledger only grows"
_SQLITE = [
    f"CREATE TRIGGER pmt_no_{verb.lower()} BEFORE {verb} ON pmt_events BEGIN SELECT RAISE(ABORT, '{_WORDS}'); END"
    for verb in ("UPDATE", "DELETE")
]
_POSTGRES = [
    "CREATE OR REPLACE FUNCTION pmt_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{_WORDS}'; END $$",
    "CREATE TRIGGER pmt_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON pmt_events "
    "FOR EACH STATEMENT EXECUTE FUNCTION pmt_only_grows()",
]


def _tables(connection: sql.Connection) -> None:
    """To version 1: the tables."""
    _FIRST.create_all(connection)


def _only_grows(connection: sql.Connection) -> None:
    """To version 2: events can be neither changed nor removed."""
    for statement in _SQLITE if connection.dialect.name == "sqlite" else _POSTGRES:
        connection.exec_driver_sql(statement)


def _sealed(connection: sql.Connection) -> None:
    """To version 3: room for the seal of each event; events from before have none."""
    connection.exec_driver_sql("ALTER TABLE pmt_events ADD COLUMN seal VARCHAR(64)")


def _agreed(connection: sql.Connection) -> None:
    """To version 4: no column more, but events of kinds that older programs would take for damage."""


def _all_sealed(connection: sql.Connection) -> None:
    """To version 5: no column more; whoever has the key seals the events from before (:func:`add_seals`)."""


STEPS: tuple[Callable[[sql.Connection], None], ...] = (_tables, _only_grows, _sealed, _agreed, _all_sealed)
SCHEMA = len(STEPS)


def add_seals(connection: sql.Connection, seals: dict[int, str]) -> None:
    """Write the seals of events from before version 3, by their numbers; nothing else about an event changes."""
    with _writable_events(connection):
        for number, text in seals.items():
            connection.execute(EVENTS.update().where(EVENTS.c.seq == number).values(seal=text))


@contextmanager
def _writable_events(connection: sql.Connection) -> Iterator[None]:
    """Lift the refusal to change events inside the caller's transaction, and put it back."""
    lite = connection.dialect.name == "sqlite"
    connection.exec_driver_sql("DROP TRIGGER " + ("pmt_no_update" if lite else "pmt_only_grows ON pmt_events"))
    yield
    connection.exec_driver_sql(_SQLITE[0] if lite else _POSTGRES[1])


def version(connection: sql.Connection) -> int:
    """Return the version of the database; 0 where there is no ledger yet.

    Raises:
        ValueError: what stands there is no version.
    """
    if not sql.inspect(connection).has_table(VERSION.name):
        return 0
    found = int(connection.execute(sql.select(VERSION.c.version)).scalar() or 0)
    if found <= 0:
        raise ValueError("a ledger without a version")
    return found


def upgrade(connection: sql.Connection, found: int) -> None:
    """Bring a database at version ``found`` to :data:`SCHEMA`, inside the caller's transaction."""
    for step in STEPS[found:]:
        step(connection)
    if found < SCHEMA:
        connection.execute(VERSION.delete())
        connection.execute(VERSION.insert().values(version=SCHEMA))
