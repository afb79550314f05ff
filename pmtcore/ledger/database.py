"""The database behind a ledger: exclusive transactions on a log that is checked against its hashes.

Before each write the log is checked against the head noted beside it and against the last head that this process
read; the first check of a process walks the whole chain. After the write the new head is noted.

The tables have a version, and there is a step from each version to the next. A step is a function of its own, run under
the ledger's lock in the same transaction as the new version number, so a process killed in between leaves the old
version. Version 1 had the tables; version 2 makes the database itself refuse to change or remove an event, so that a
slip of the hand is refused and not only found afterwards; version 3 gives each event a seal, which needs the ledger's
key; version 4 has events of registered data sets and of agreements; version 5 has no event without a seal, so that one
that lacks it is damage wherever it is read. Whoever owns the database can lift the refusal: then the chain says so, and
whoever writes the chain anew lacks the key.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from pmtcore.base.exports import plain
from pmtcore.base.messages import Damage, DatabaseFault, InputError, LedgerMessage, reraised_as
from pmtcore.ledger import chain
from pmtcore.ledger.chain import Damaged, LedgerError
from pmtcore.ledger.engines import Connection, address, database_errors, engine, place_of
from pmtcore.ledger.sidecar import Head, LedgerSidecar, seal

_LOG = logging.getLogger("second_moment.ledger")
_ALL = "SELECT * FROM pmt_events ORDER BY seq"
_INSERT = (
    "INSERT INTO pmt_events (seq, at, dataset, kind, key, payload, previous, hash, seal) "
    "VALUES (:seq, :at, :dataset, :kind, :key, :payload, :previous, :hash, :seal)"
)
_VERIFIED: dict[str, Head] = {}  # by address: the head up to which this process has checked the chain
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
    for statement in _SQLITE if connection.is_sqlite else _POSTGRES:
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
    connection.run("DROP TRIGGER " + ("pmt_no_update" if connection.is_sqlite else "pmt_only_grows ON pmt_events"))
    yield
    connection.run(_SQLITE[0] if connection.is_sqlite else _POSTGRES[1])


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


class Verification(TypedDict):
    """Result of :meth:`Database.verify`.

    Attributes:
        intact: whether the chain fits, and passes through the heads that were given and noted.
        events: number of events; ``head`` is the hash of the newest.
        first_bad: the first event that does not fit. An event without a seal does not, whether or not the key is here.
        sealed: events whose seal was checked: all, or 0 where the key is not here (``key``).
        noted: the event that was noted beside the ledger.
        why: what is wrong, in words.
    """

    intact: bool
    events: int
    head: str
    first_bad: int | None
    sealed: int
    key: bool
    noted: int | None
    why: str


class Database:
    """The events of one ledger, at a database URL or a file name for SQLite.

    Args:
        make: whether a ledger is begun where there is none.
        unsealed: whether events that no key ever sealed are taken as they are, once, when an old ledger is upgraded
            under a key that was there before; the caller keeps a reason in the ledger (:meth:`accept`).

    Raises:
        LedgerError: the database cannot be opened, or is of another version.
    """

    def __init__(self, url: str, make: bool = True, unsealed: bool = False) -> None:
        self._takes_unsealed = unsealed
        try:
            self.url = address(url)
            self._engine = engine(self.url)
            self._sidecar = LedgerSidecar(self._file, self.place)
            if self._file is not None and not make and not self._file.exists():
                raise LedgerError(LedgerMessage.NO_LEDGER, place=self.place)
            if self._file is not None and self._file.exists() and not self._file.is_file():
                raise LedgerError(LedgerMessage.LEDGER_IS_NO_FILE)
            if self._file is not None and not _may_be_ledger(self._file):
                raise LedgerError(LedgerMessage.UNUSABLE, reason=DatabaseFault.NO_LEDGER.sentence())
            self._prepare()
        except LedgerError:
            raise
        except database_errors(ImportError, OSError, ValueError, RuntimeError) as error:
            raise unusable(error) from None

    @property
    def place(self) -> str:
        """Return where the ledger is: a file, or a database's address without its password."""
        return place_of(self.url)

    @property
    def seal_key(self) -> bytes:
        """Return the ledger's key.

        Raises:
            LedgerError: it is not here.
        """
        if self.key is None:
            raise LedgerError(LedgerMessage.KEY_MISSING, file=self._sidecar.key_file.name)
        return self.key

    @property
    def _lite(self) -> bool:
        return self.url.startswith("sqlite")

    @property
    def _file(self) -> Path | None:
        return Path(self.place.removeprefix("file:")) if self._lite else None

    def _prepare(self) -> None:
        new = self._file is not None and not self._file.exists()
        self.key = self._sidecar.key(make=new)
        with self._sidecar.locked():
            with self._transaction(reads=True) as connection:
                schema = version(connection)
            if schema > SCHEMA:
                raise LedgerError(LedgerMessage.OTHER_VERSION, version=schema, expected=SCHEMA)
            if schema < SCHEMA:
                self._upgrade()
            with self._transaction(reads=True) as connection:
                head = self.head(connection)
            if self.key is None and head[0] == 0:
                self.key = self._sidecar.key(make=True)
            if schema < SCHEMA:
                self._sidecar.note(*head)

    def _upgrade(self) -> None:
        """Bring the tables to this program's version, unless another process has; the file must be as it was noted."""
        self._settle()
        file = self._sidecar.digest()
        with self._transaction() as connection:
            schema = version(connection)
            if schema < SCHEMA:
                self._unchanged(connection, schema)
                self._own_file(connection, file)
                upgrade(connection, schema)
                self._seal_old_events(connection)

    def _seal_old_events(self, connection: Connection) -> None:
        """Seal events of programs that had no key; afterwards an event without a seal is damage.

        A first sealed event vouches for those before it, by their hashes. Where there is none, the events are
        believed only if this ledger never had a key, or whoever holds it says so.

        Raises:
            Damaged: the chain is broken, or all seals are gone although there is a key.
            LedgerError: the key is missing.
        """
        rows = list(connection.rows(_ALL))
        if all(row["seal"] is not None for row in rows):
            return
        sealed = any(row["seal"] is not None for row in rows)
        if not sealed and self.key is not None and not self._takes_unsealed:
            raise Damaged(Damage.ALL_UNSEALED)
        if not sealed and self.key is None:
            self.key = self._sidecar.key(make=True)
        first_bad = chain.walk(rows, self.seal_key, legacy=True).first_bad
        if first_bad is not None:
            raise Damaged(Damage.BROKEN_CHAIN, event=first_bad)
        add_seals(connection, {row["seq"]: seal(self.seal_key, row["hash"]) for row in rows if row["seal"] is None})

    @contextmanager
    def _transaction(self, *, reads: bool = False) -> Iterator[Connection]:
        """Open a transaction that no other writer overlaps; on a server those that only read overlap one another."""
        try:
            with self._engine.transaction(reads=reads) as connection:
                yield connection
        except InputError:
            raise
        except database_errors(OSError) as error:
            raise unusable(error) from None
        except UnicodeEncodeError:
            raise LedgerError(LedgerMessage.UNWRITABLE_NAME) from None
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise Damaged(Damage.UNREADABLE) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that only reads; each event is checked when it is read.

        Raises:
            Damaged: an event was removed, or put in outside the chain.
        """
        with self._locked(), self._transaction(reads=True) as connection:
            self._complete(connection)
            yield connection

    def _complete(self, connection: Connection) -> None:
        """Raise unless there are as many events as the newest one's number says.

        Raises:
            Damaged: there are fewer or more.
        """
        if connection.value("SELECT count(*) FROM pmt_events") != self.head(connection)[0]:
            raise Damaged(Damage.EVENTS_MISSING)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            with self._sidecar.locked():
                yield
        except OSError as error:
            raise unusable(error) from None

    @contextmanager
    def writing(self, room: int = 0) -> Iterator[Connection]:
        """Open a transaction on a ledger that was verified; its head is noted afterwards."""
        with self._locked():
            self._settle()
            file = self._sidecar.digest()
            before: tuple[int, str] | None = None
            try:
                with self._transaction() as connection:
                    self._check(connection, file)
                    before = self.head(connection)
                    if self._lite:
                        self._sidecar.note(*before, settled=False)
                    if room and self._lite:
                        _grow(connection, room)
                    yield connection
                    head = self.head(connection)
            except BaseException:
                if before is not None:
                    self._sidecar.note(*before)
                raise
            self._sidecar.note(*head)
            _VERIFIED[self.url] = Head(*head)

    def _settle(self) -> None:
        """Let the database undo what a killed process left half-written, before its file is checked."""
        if self._file is not None and self._file.with_name(self._file.name + "-journal").exists():
            with self._transaction():
                pass

    def _check(self, connection: Connection, file: str) -> None:
        """Raise unless the log is what was written: cheap since the head this process saw last, whole at first.

        Raises:
            Damaged: an event was changed or removed, the log was cut, or it is an older copy.
        """
        key = self.seal_key
        noted = self._noted()
        self._unchanged(connection, 0, noted)
        self._own_file(connection, file, noted)
        head = Head(*self.head(connection))
        self._complete(connection)
        killed = file != "" and noted is not None and noted.file == ""  # a write was begun and never ended
        start = None if killed else _VERIFIED.get(self.url)
        if start is not None and not self._has(connection, start):
            raise Damaged(Damage.EVENTS_GONE)
        after = "SELECT * FROM pmt_events WHERE seq > :seq ORDER BY seq"
        checked = chain.walk(connection.rows(after, seq=start.seq if start else 0), key, start)
        if checked.first_bad is not None:
            raise Damaged(Damage.BROKEN_CHAIN, event=checked.first_bad)
        if self._lite and (start is None or noted is None or noted.hash != head.hash):
            state = connection.value("PRAGMA integrity_check(1)")
            if state != "ok":
                raise Damaged(Damage.FILE_DAMAGED)

    def _unchanged(self, connection: Connection, schema: int, noted: Head | None = None) -> None:
        """Raise unless the log still passes through the head noted beside it."""
        noted = noted or self._noted()
        if noted is None or noted.seq == 0:
            return
        if (schema == 0 and not connection.has_table(EVENTS)) or not self._has(connection, noted):
            raise Damaged(Damage.CUT_SHORT, event=noted.seq)

    def _own_file(self, connection: Connection, file: str, noted: Head | None = None) -> None:
        """Raise unless the file is, byte for byte, what was noted with its head; a step of upgrade notes it anew."""
        noted = noted or self._noted()
        if noted is None or "" in (file, noted.file) or noted.file == file:
            return
        if not connection.has_table(EVENTS) or self.head(connection)[1] == noted.hash:
            raise Damaged(Damage.CHANGED_BY_ANOTHER)

    def _noted(self) -> Head | None:
        with reraised_as(Damaged(Damage.UNREADABLE_HEAD), ValueError):
            return self._sidecar.head()

    def _has(self, connection: Connection, head: Head) -> bool:
        if head.seq == 0:
            return True
        return connection.value("SELECT hash FROM pmt_events WHERE seq = :seq", seq=head.seq) == head.hash

    def reserve_space(self, size: int) -> None:
        """Take the disk space that a record of this size will need beside the file.

        Raises:
            OSError: there is none.
        """
        self._sidecar.reserve_space(size)

    def free_space(self) -> None:
        """Hand that space back, to the record."""
        self._sidecar.free_space()

    def verify(self, head: str = "") -> Verification:
        """Recompute the chain.

        Args:
            head: one that was written down earlier, perhaps in a report: the chain must still pass through it, which
                shows that no event up to it was cut off, nor the whole log written anew.
        """
        with self._locked(), self._transaction(reads=True) as connection:
            checked = chain.walk(connection.rows(_ALL), self.key, None, head.strip().lower())
            why = "" if checked.first_bad is None else Damage.BROKEN_CHAIN.sentence(event=checked.first_bad)
            noted = None
            try:
                noted = self._noted()
                self._unchanged(connection, SCHEMA, noted)
            except Damaged as error:
                why = why or error.why
        return {
            "intact": checked.passed and not why,
            "events": checked.events,
            "head": checked.head,
            "first_bad": checked.first_bad,
            "sealed": checked.sealed,
            "key": self.key is not None,
            "noted": None if noted is None else noted.seq,
            "why": why or ("" if checked.passed else Damage.OTHER_HEAD.sentence()),
        }

    def accept(self, reason: str) -> None:
        """Take the log as it is, where it ends before the head that was noted: after a restore from an older copy.

        The reason is kept in the chain; spends that the copy does not have must be entered again by hand.

        Raises:
            LedgerError: the chain itself is broken, or no reason is given.
        """
        if not reason.strip():
            raise LedgerError(LedgerMessage.REASON_FOR_COPY)
        with self._locked(), self._transaction() as connection:
            checked = chain.walk(connection.rows(_ALL), self.key)
            if checked.first_bad is not None or self.key is None:
                raise Damaged(Damage.BROKEN_OR_UNKEYED)
            self.append(
                connection, "(ledger)", "accept", f"accept-{checked.events + 1}", payload={"reason": reason[:2000]}
            )
            head = self.head(connection)
        self._sidecar.reset(*head)
        _VERIFIED.pop(self.url, None)

    def append(self, connection: Connection, dataset: str, kind: str, key: str, *, payload: Mapping[str, Any]) -> None:
        """Append one event, in the caller's transaction."""
        seq, previous = self.head(connection)
        row = {
            "seq": seq + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "dataset": dataset,
            "kind": kind,
            "key": key,
            "payload": json.dumps(plain(dict(payload))),
            "previous": previous,
        }
        hash = chain.digest(row)
        sealed = None if self.key is None else seal(self.key, hash)
        connection.run(_INSERT, **row, hash=hash, seal=sealed)
        _LOG.info(json.dumps({"event": kind, "dataset": dataset, "key": key, "number": seq + 1}))

    def head(self, connection: Connection) -> tuple[int, str]:
        """Return the newest event's number and hash."""
        rows = list(connection.rows("SELECT seq, hash FROM pmt_events ORDER BY seq DESC LIMIT 1"))
        return (rows[0]["seq"], rows[0]["hash"]) if rows else (0, "")


def _grow(connection: Connection, room: int) -> None:
    """Let the file have as many free bytes inside as the record will need: its spend then meets a full disk first."""
    page, free = (int(connection.value(f"PRAGMA {name}") or 0) for name in ("page_size", "freelist_count"))
    if page * free < room:
        connection.run("CREATE TABLE pmt_room (filler BLOB)")
        connection.run("INSERT INTO pmt_room VALUES (zeroblob(:size))", size=room - page * free)
        connection.run("DROP TABLE pmt_room")


# How every SQLite file that is not empty begins.
_BEGINNING_OF_SQLITE = b"SQLite format 3\0"
# What drivers of SQLite and PostgreSQL say, in lower case; the first that is there counts.
_FAULTS = {
    "readonly": DatabaseFault.READ_ONLY,
    "read-only": DatabaseFault.READ_ONLY,
    "full": DatabaseFault.DISK_FULL,
    "malformed": DatabaseFault.DAMAGED,
    "corrupt": DatabaseFault.DAMAGED,
    "disk i/o": DatabaseFault.UNWRITABLE,
    "no space": DatabaseFault.DISK_FULL,
    "file too large": DatabaseFault.DISK_FULL,
    "locked": DatabaseFault.LOCKED,
    "lock timeout": DatabaseFault.LOCKED,
    "no locks": DatabaseFault.NO_LOCKS,
    "not supported": DatabaseFault.NO_LOCKS,
    "queuepool": DatabaseFault.NO_CONNECTION,
    "too many clients": DatabaseFault.NO_CONNECTION,
    "connection slots": DatabaseFault.NO_CONNECTION,
    "unable to open": DatabaseFault.UNOPENED,
    "not a database": DatabaseFault.NO_LEDGER,
    "permission": DatabaseFault.REFUSED,
    "no module": DatabaseFault.NO_DRIVER,
    "could not parse": DatabaseFault.NO_URL,
}


def _may_be_ledger(file: Path) -> bool:
    """Return False for a file of another kind, beside which nothing is to be written; True where it cannot be read."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(len(_BEGINNING_OF_SQLITE)) in (b"", _BEGINNING_OF_SQLITE)
    return True


def unusable(error: Exception) -> LedgerError:
    """Return the error for a driver's message, without the statements, parameters and paths in it."""
    text = str(getattr(error, "orig", error)).lower()
    fault = next((fault for sign, fault in _FAULTS.items() if sign in text), DatabaseFault.SILENT)
    return LedgerError(LedgerMessage.UNUSABLE, reason=fault.sentence())


def files_of_ledger(url: str) -> list[Path]:
    """Return the file of a ledger at an address, and all that lie beside it; none of a server, or of no address."""
    try:
        url = address(url)
    except (LedgerError, ValueError, OSError, RuntimeError):
        return []
    if not url.startswith("sqlite"):
        return []
    file = Path(place_of(url).removeprefix("file:"))
    return [file, *LedgerSidecar(file, str(file)).files, file.with_name(f"{file.name}-journal")]
