"""Database of a ledger: exclusive transactions on a log whose chain of hashes is checked.

Before each write the log is checked against the head noted beside it and against the last head that this process
checked; the first check of a process covers the whole chain. After the write the new head is noted.

The schema has a version, and one migration leads from each version to the next. Migrations run under the ledger's lock,
in one transaction with the new version number: a process killed in between leaves the old version. Version 1 has the
tables. In version 2 the database refuses to change or remove an event, which prevents accidents. Version 3 gives each
event a seal under the ledger's key. Version 4 has events of registered data sets and of agreements. Version 5 has no
event without a seal, so that a missing seal is damage. The owner of the database can lift the refusal of version 2.
A changed event then breaks the chain, and a chain computed anew lacks valid seals.
"""

import json
import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypedDict

from pmtcore.base.exports import plain_json
from pmtcore.base.messages import Damage, DatabaseFault, InputError, LedgerMessage, reraised_as
from pmtcore.ledger import chain
from pmtcore.ledger.chain import Damaged, LedgerError
from pmtcore.ledger.engines import Connection, address, database_errors, display_address, engine
from pmtcore.ledger.sidecar import Head, LedgerSidecar, seal

_LOG = logging.getLogger("second_moment.ledger")
_ALL_EVENTS = "SELECT * FROM pmt_events ORDER BY seq"
_INSERT = (
    "INSERT INTO pmt_events (seq, at, dataset, kind, key, payload, previous, hash, seal) "
    "VALUES (:seq, :at, :dataset, :kind, :key, :payload, :previous, :hash, :seal)"
)
_VERIFIED: dict[str, Head] = {}  # by address: the head up to which this process has checked the chain
NAME_LENGTH = 200  # most characters of the name of a data set or a key
TEXT_LENGTH = 2000  # most characters of a reason or a purpose
# Names of the table of events and of the table of the version.
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


def _create_tables(connection: Connection) -> None:
    """Migrate to version 1: make the tables."""
    if not connection.has_table(EVENTS):
        connection.run(_CREATE_EVENTS)
        connection.run("CREATE INDEX ix_pmt_events_dataset ON pmt_events (dataset)")
    if not connection.has_table(VERSION):
        connection.run("CREATE TABLE pmt_schema (version INTEGER NOT NULL)")


def _refuse_changes(connection: Connection) -> None:
    """Migrate to version 2: events can be neither changed nor removed."""
    for statement in _SQLITE if connection.is_sqlite else _POSTGRES:
        connection.run(statement)


def _add_seal_column(connection: Connection) -> None:
    """Migrate to version 3: add the seal of each event; earlier events have none."""
    connection.run("ALTER TABLE pmt_events ADD COLUMN seal VARCHAR(64)")


def _keep_tables(connection: Connection) -> None:
    """Migrate to version 4 or 5, which have the tables of version 3.

    Version 4 has kinds of events that older programs would report as damage. In version 5 each event has a seal: the
    caller, who has the key, seals earlier ones (:func:`add_seals`).
    """


STEPS: tuple[Callable[[Connection], None], ...] = (
    *(_create_tables, _refuse_changes, _add_seal_column),
    *(_keep_tables, _keep_tables),
)
SCHEMA = len(STEPS)


def add_seals(connection: Connection, seals: dict[int, str]) -> None:
    """Add seals, by the numbers of their events, to events from before version 3."""
    with _writable_events(connection):
        for number, text in seals.items():
            connection.run("UPDATE pmt_events SET seal = :seal WHERE seq = :seq", seal=text, seq=number)


@contextmanager
def _writable_events(connection: Connection) -> Iterator[None]:
    """Let events be changed in this context, inside the caller's transaction."""
    connection.run("DROP TRIGGER " + ("pmt_no_update" if connection.is_sqlite else "pmt_only_grows ON pmt_events"))
    yield
    connection.run(_SQLITE[0] if connection.is_sqlite else _POSTGRES[1])


def schema_version(connection: Connection) -> int:
    """Return the version of the database; 0 where there is no ledger yet.

    Raises:
        ValueError: the number stored is not a version.
    """
    if not connection.has_table(VERSION):
        return 0
    number = int(connection.value("SELECT version FROM pmt_schema") or 0)
    if number <= 0:
        raise ValueError("a ledger without a version")
    return number


def upgrade(connection: Connection, schema: int) -> None:
    """Migrate a database from version ``schema`` to :data:`SCHEMA`, inside the caller's transaction."""
    for step in STEPS[schema:]:
        step(connection)
    if schema < SCHEMA:
        connection.run("DELETE FROM pmt_schema")
        connection.run("INSERT INTO pmt_schema (version) VALUES (:version)", version=SCHEMA)


class Verification(TypedDict):
    """Result of :meth:`Database.verify`.

    Attributes:
        intact: whether no event was changed, and the chain contains the given and the noted head.
        events: number of events.
        head: hash of the newest event.
        first_bad: number of the first event that was changed or has no seal; ``None``: none.
        sealed: number of events whose seal was checked: all of them, or 0 without the key.
        key: whether the ledger's key is present.
        noted: number of the event noted beside the ledger; ``None``: there is no note.
        why: what is wrong, as a clause; empty where the log is intact.
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
        url: database URL or file name.
        make: whether a ledger is created where there is none.
        unsealed: whether events without any seal are accepted when an old ledger is upgraded under a key that existed
            before; the caller enters a reason into the ledger (:meth:`accept_older_copy`).

    Raises:
        LedgerError: the database cannot be opened, or has a newer version.
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
            raise database_error(error) from None

    @property
    def place(self) -> str:
        """Return where the ledger is: a file, or a database's address without its password."""
        return display_address(self.url)

    @property
    def seal_key(self) -> bytes:
        """Return the ledger's key.

        Raises:
            LedgerError: it is missing.
        """
        if self.key is None:
            raise LedgerError(LedgerMessage.KEY_MISSING, file=self._sidecar.key_file.name)
        return self.key

    @property
    def _is_sqlite(self) -> bool:
        return self.url.startswith("sqlite")

    @property
    def _file(self) -> Path | None:
        return Path(self.place.removeprefix("file:")) if self._is_sqlite else None

    def _prepare(self) -> None:
        """Create or upgrade the tables where that is needed, and read the key or create it for an empty ledger."""
        new = self._file is not None and not self._file.exists()
        self.key = self._sidecar.key(make=new)
        with self._sidecar.locked():
            with self._transaction(reads=True) as connection:
                schema = schema_version(connection)
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
        """Migrate to this program's version, unless another process has done so; the file must match its note."""
        self._settle()
        file = self._sidecar.digest()
        with self._transaction() as connection:
            schema = schema_version(connection)
            if schema < SCHEMA:
                self._check_noted_head(connection, schema)
                self._check_file(connection, file)
                upgrade(connection, schema)
                self._seal_old_events(connection)

    def _seal_old_events(self, connection: Connection) -> None:
        """Seal the events of programs that had no key.

        The first sealed event authenticates those before it, by their hashes. If no event is sealed, they are
        accepted only where this ledger never had a key, or where the caller asked for it (``unsealed``).

        Raises:
            Damaged: the chain is broken, or there is a key and no event has a seal.
            LedgerError: the key is missing.
        """
        rows = list(connection.rows(_ALL_EVENTS))
        if all(row["seal"] is not None for row in rows):
            return
        sealed = any(row["seal"] is not None for row in rows)
        if not sealed and self.key is not None and not self._takes_unsealed:
            raise Damaged(Damage.ALL_UNSEALED)
        if not sealed and self.key is None:
            self.key = self._sidecar.key(make=True)
        first_bad = chain.check_chain(rows, self.seal_key, legacy=True).first_bad
        if first_bad is not None:
            raise Damaged(Damage.BROKEN_CHAIN, event=first_bad)
        add_seals(connection, {row["seq"]: seal(self.seal_key, row["hash"]) for row in rows if row["seal"] is None})

    @contextmanager
    def _transaction(self, *, reads: bool = False) -> Iterator[Connection]:
        """Open a transaction that excludes writers, and readers too where it writes or the ledger is a file."""
        try:
            with self._engine.transaction(reads=reads) as connection:
                yield connection
        except InputError:
            raise
        except database_errors(OSError) as error:
            raise database_error(error) from None
        except UnicodeEncodeError:
            raise LedgerError(LedgerMessage.UNWRITABLE_NAME) from None
        except (ValueError, TypeError, KeyError, AttributeError, OverflowError):
            raise Damaged(Damage.UNREADABLE) from None

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction to read in; :func:`chain.authenticated_fields` checks each event that is read.

        Raises:
            Damaged: an event was removed, or inserted outside the chain.
        """
        with self._locked(), self._transaction(reads=True) as connection:
            self._check_count(connection)
            yield connection

    def _check_count(self, connection: Connection) -> None:
        """Check that there are as many events as the number of the newest one.

        Raises:
            Damaged: there are fewer or more.
        """
        if connection.value("SELECT count(*) FROM pmt_events") != self.head(connection)[0]:
            raise Damaged(Damage.EVENTS_MISSING)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock of the ledger's file, if it is one; errors say nothing of paths."""
        try:
            with self._sidecar.locked():
                yield
        except OSError as error:
            raise database_error(error) from None

    @contextmanager
    def writing(self, room: int = 0) -> Iterator[Connection]:
        """Open a transaction to write in, after checking the log; the new head is noted afterwards.

        Args:
            room: bytes that the file of a ledger must have free inside; see :func:`_reserve_free_pages`.

        Raises:
            Damaged: the log is not what was written.
            LedgerError: the database cannot be used, or the key is missing.
        """
        with self._locked():
            self._settle()
            file = self._sidecar.digest()
            before: tuple[int, str] | None = None
            try:
                with self._transaction() as connection:
                    self._check(connection, file)
                    before = self.head(connection)
                    if self._is_sqlite:
                        self._sidecar.note(*before, settled=False)
                    if room and self._is_sqlite:
                        _reserve_free_pages(connection, room)
                    yield connection
                    head = self.head(connection)
            except BaseException:
                if before is not None:
                    self._sidecar.note(*before)
                raise
            self._sidecar.note(*head)
            _VERIFIED[self.url] = Head(*head)

    def _settle(self) -> None:
        """Let SQLite roll back the transaction of a killed process, before the digest of the file is taken."""
        if self._file is not None and self._file.with_name(self._file.name + "-journal").exists():
            with self._transaction():
                pass

    def _check(self, connection: Connection, file: str) -> None:
        """Check the log from the head that this process checked last, or all of it the first time.

        Args:
            connection: of the transaction that will write.
            file: digest of the file before the transaction; empty for a server.

        Raises:
            Damaged: an event was changed or removed, the log was cut, or it is an older copy.
        """
        key = self.seal_key
        noted = self._noted()
        self._check_noted_head(connection, 0, noted)
        self._check_file(connection, file, noted)
        head = Head(*self.head(connection))
        self._check_count(connection)
        # A note without the file's digest is from a write that never ended.
        interrupted = file != "" and noted is not None and noted.file == ""
        start = None if interrupted else _VERIFIED.get(self.url)
        if start is not None and not self._contains(connection, start):
            raise Damaged(Damage.EVENTS_GONE)
        newer = "SELECT * FROM pmt_events WHERE seq > :seq ORDER BY seq"
        checked = chain.check_chain(connection.rows(newer, seq=start.seq if start else 0), key, start)
        if checked.first_bad is not None:
            raise Damaged(Damage.BROKEN_CHAIN, event=checked.first_bad)
        unchecked = start is None or noted is None or noted.hash != head.hash
        if self._is_sqlite and unchecked and connection.value("PRAGMA integrity_check(1)") != "ok":
            raise Damaged(Damage.FILE_DAMAGED)

    def _check_noted_head(self, connection: Connection, schema: int, noted: Head | None = None) -> None:
        """Check that the log contains the head noted beside it.

        Raises:
            Damaged: it does not.
        """
        noted = noted or self._noted()
        if noted is None or noted.seq == 0:
            return
        if (schema == 0 and not connection.has_table(EVENTS)) or not self._contains(connection, noted):
            raise Damaged(Damage.CUT_SHORT, event=noted.seq)

    def _check_file(self, connection: Connection, file: str, noted: Head | None = None) -> None:
        """Check that the file is, byte for byte, the one noted with its head.

        Raises:
            Damaged: it has other bytes at the same head, so another program changed it.
        """
        noted = noted or self._noted()
        if noted is None or "" in (file, noted.file) or noted.file == file:
            return
        if not connection.has_table(EVENTS) or self.head(connection)[1] == noted.hash:
            raise Damaged(Damage.CHANGED_BY_ANOTHER)

    def _noted(self) -> Head | None:
        """Return the head noted beside the ledger.

        Raises:
            Damaged: the note cannot be read.
        """
        with reraised_as(Damaged(Damage.UNREADABLE_HEAD), ValueError):
            return self._sidecar.head()

    def _contains(self, connection: Connection, head: Head) -> bool:
        """Return whether the event of that number has that hash."""
        if head.seq == 0:
            return True
        return connection.value("SELECT hash FROM pmt_events WHERE seq = :seq", seq=head.seq) == head.hash

    def reserve_space(self, size: int) -> None:
        """Reserve the disk space that a record of this many bytes will need beside the file.

        Raises:
            OSError: the disk is full.
        """
        self._sidecar.reserve_space(size)

    def free_space(self) -> None:
        """Free the reserved disk space, for the record."""
        self._sidecar.free_space()

    def verify(self, head: str = "") -> Verification:
        """Check the whole chain.

        Args:
            head: hash noted earlier, for example in a report. A chain that contains it still has every event up to
                it, and was not computed anew. Empty: none.

        Raises:
            LedgerError: the database cannot be read.
        """
        with self._locked(), self._transaction(reads=True) as connection:
            checked = chain.check_chain(connection.rows(_ALL_EVENTS), self.key, None, head.strip().lower())
            why = "" if checked.first_bad is None else Damage.BROKEN_CHAIN.sentence(event=checked.first_bad)
            noted = None
            try:
                noted = self._noted()
                self._check_noted_head(connection, SCHEMA, noted)
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

    def accept_older_copy(self, reason: str) -> None:
        """Accept a log that ends before the noted head, as after a restore from an older copy.

        The reason is entered into the chain. Spends that the copy lacks must be entered again by hand.

        Args:
            reason: why the copy is accepted.

        Raises:
            LedgerError: the chain itself is broken, or no reason is given.
        """
        if not reason.strip():
            raise LedgerError(LedgerMessage.REASON_FOR_COPY)
        with self._locked(), self._transaction() as connection:
            checked = chain.check_chain(connection.rows(_ALL_EVENTS), self.key)
            if checked.first_bad is not None or self.key is None:
                raise Damaged(Damage.BROKEN_OR_UNKEYED)
            fields = {"reason": reason[:TEXT_LENGTH]}
            self.append(connection, "(ledger)", "accept", f"accept-{checked.events + 1}", payload=fields)
            head = self.head(connection)
        self._sidecar.reset(*head)
        _VERIFIED.pop(self.url, None)

    def append(self, connection: Connection, dataset: str, kind: str, key: str, *, payload: Mapping[str, Any]) -> None:
        """Append one event in the caller's transaction, with its hash and, where the key is present, its seal."""
        seq, previous = self.head(connection)
        row = {
            "seq": seq + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "dataset": dataset,
            "kind": kind,
            "key": key,
            "payload": json.dumps(plain_json(dict(payload))),
            "previous": previous,
        }
        hash = chain.digest(row)
        sealed = None if self.key is None else seal(self.key, hash)
        connection.run(_INSERT, **row, hash=hash, seal=sealed)
        _LOG.info(json.dumps({"event": kind, "dataset": dataset, "key": key, "number": seq + 1}))

    def head(self, connection: Connection) -> tuple[int, str]:
        """Return number and hash of the newest event; 0 and empty where there is none."""
        rows = list(connection.rows("SELECT seq, hash FROM pmt_events ORDER BY seq DESC LIMIT 1"))
        return (rows[0]["seq"], rows[0]["hash"]) if rows else (0, "")


def _reserve_free_pages(connection: Connection, room: int) -> None:
    """Give the file this many free bytes inside, so that a full disk is noticed before the spend, not at its record."""
    page, free = (int(connection.value(f"PRAGMA {name}") or 0) for name in ("page_size", "freelist_count"))
    if page * free < room:
        connection.run("CREATE TABLE pmt_room (filler BLOB)")
        connection.run("INSERT INTO pmt_room VALUES (zeroblob(:size))", size=room - page * free)
        connection.run("DROP TABLE pmt_room")


# First bytes of every SQLite file that is not empty.
_SQLITE_HEADER = b"SQLite format 3\0"
# Parts of messages of SQLite and PostgreSQL drivers, in lower case; the first that occurs gives the fault.
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
    """Return whether a file is empty or an SQLite file; True also where it cannot be read."""
    with suppress(OSError), file.open("rb") as opened:
        return opened.read(len(_SQLITE_HEADER)) in (b"", _SQLITE_HEADER)
    return True


def database_error(error: Exception) -> LedgerError:
    """Return the error that stands for a driver's; statements, parameters and paths of its message are left out."""
    text = str(getattr(error, "orig", error)).lower()
    fault = next((fault for part, fault in _FAULTS.items() if part in text), DatabaseFault.SILENT)
    return LedgerError(LedgerMessage.UNUSABLE, reason=fault.sentence())


def files_of_ledger(url: str) -> list[Path]:
    """Return the file of a ledger and the files beside it; none for a server or for what is no address."""
    try:
        url = address(url)
    except (LedgerError, ValueError, OSError, RuntimeError):
        return []
    if not url.startswith("sqlite"):
        return []
    file = Path(display_address(url).removeprefix("file:"))
    return [file, *LedgerSidecar(file, str(file)).files, file.with_name(f"{file.name}-journal")]
