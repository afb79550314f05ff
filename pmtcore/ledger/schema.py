"""The ledger's tables, their versions, and the steps from each version to the next.

A step is a function of its own, run under the ledger's lock in the same transaction as the new version number, so
a process killed in between leaves the old version. Version 1 had the tables; version 2 makes the database itself
refuse to change or remove an event, so that a slip of the hand is refused and not only found afterwards; version 3
gives each event a seal, which needs the ledger's key; version 4 has events of registered data sets and of agreements;
version 5 has no event without a seal, so that one that lacks it is damage wherever it is read.
Whoever owns the database can lift the refusal: then the chain says so, and whoever writes the chain anew lacks the key.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from pmtcore.ledger.engines import Connection

# Characters of the name of a data set or a key.
NAME_LENGTH = 200
# Names of the table of events and of the table that holds the version.
EVENTS = "pmt_events"
VERSION = "pmt_schema"
_CREATE_EVENTS = f"""CREATE TABLE {EVENTS} (
    seq INTEGER NOT NULL,
    at VARCHAR(40) NOT NULL,
    dataset VARCHAR({NAME_LENGTH}) NOT NULL,
    kind VARCHAR(16) NOT NULL,
    key VARCHAR({NAME_LENGTH}) NOT NULL,
    payload TEXT NOT NULL,
    previous VARCHAR(64) NOT NULL,
    hash VARCHAR(64) NOT NULL,
    PRIMARY KEY (seq),
    CONSTRAINT pmt_once UNIQUE (key, kind)
)"""
_REFUSAL = "the ledger only grows"
_SQLITE = [
    f"CREATE TRIGGER pmt_no_{verb.lower()} BEFORE {verb} ON pmt_events BEGIN SELECT RAISE(ABORT, '{_REFUSAL}'); END"
    for verb in ("UPDATE", "DELETE")
]
_POSTGRES = [
    "CREATE OR REPLACE FUNCTION pmt_only_grows() RETURNS trigger LANGUAGE plpgsql AS "
    f"$$ BEGIN RAISE EXCEPTION '{_REFUSAL}'; END $$",
    "CREATE TRIGGER pmt_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON pmt_events "
    "FOR EACH STATEMENT EXECUTE FUNCTION pmt_only_grows()",
]


def _tables(connection: Connection) -> None:
    """Migrate to version 1: make the tables."""
    if not connection.has_table(EVENTS):
        connection.run(_CREATE_EVENTS)
        connection.run("CREATE INDEX ix_pmt_events_dataset ON pmt_events (dataset)")
    if not connection.has_table(VERSION):
        connection.run("CREATE TABLE pmt_schema (version INTEGER NOT NULL)")


def _only_grows(connection: Connection) -> None:
    """Migrate to version 2: events can be neither changed nor removed."""
    for statement in _SQLITE if connection.lite else _POSTGRES:
        connection.run(statement)


def _sealed(connection: Connection) -> None:
    """Migrate to version 3: add the seal of each event; earlier events have none."""
    connection.run("ALTER TABLE pmt_events ADD COLUMN seal VARCHAR(64)")


def _agreed(connection: Connection) -> None:
    """Migrate to version 4: no new column, but kinds of events that older programs would take for damage."""


def _all_sealed(connection: Connection) -> None:
    """Migrate to version 5: no new column; whoever has the key seals the earlier events (:func:`add_seals`)."""


STEPS: tuple[Callable[[Connection], None], ...] = (_tables, _only_grows, _sealed, _agreed, _all_sealed)
SCHEMA = len(STEPS)


def add_seals(connection: Connection, seals: dict[int, str]) -> None:
    """Write the seals of events from before version 3, by their numbers; nothing else about an event changes."""
    with _writable_events(connection):
        for number, text in seals.items():
            connection.run("UPDATE pmt_events SET seal = :seal WHERE seq = :seq", seal=text, seq=number)


@contextmanager
def _writable_events(connection: Connection) -> Iterator[None]:
    """Lift the refusal to change events inside the caller's transaction, and put it back."""
    connection.run("DROP TRIGGER " + ("pmt_no_update" if connection.lite else "pmt_only_grows ON pmt_events"))
    yield
    connection.run(_SQLITE[0] if connection.lite else _POSTGRES[1])


def version(connection: Connection) -> int:
    """Return the version of the database; 0 where there is no ledger yet.

    Raises:
        ValueError: what stands there is no version.
    """
    if not connection.has_table(VERSION):
        return 0
    number = int(connection.value("SELECT version FROM pmt_schema") or 0)
    if number <= 0:
        raise ValueError("a ledger without a version")
    return number


def upgrade(connection: Connection, schema: int) -> None:
    """Bring a database at version ``schema`` to :data:`SCHEMA`, inside the caller's transaction."""
    for step in STEPS[schema:]:
        step(connection)
    if schema < SCHEMA:
        connection.run("DELETE FROM pmt_schema")
        connection.run("INSERT INTO pmt_schema (version) VALUES (:version)", version=SCHEMA)
