"""The ledger: every spend, before it happens, in a log that can only grow.

One table of events (cap, reserve, release, fail, ...), each holding the hash of the one before. A spend is an event
of its own transaction, made *before* a private row is read, under a lock, against the data set's cap; nothing
gives it back. Repeating a request with its key finds the first outcome. SQLite by default, PostgreSQL by its
URL, both through SQLAlchemy.

Composition: ``accounts``. What the chain cannot show is that its newest events were cut off, or all of it written
anew: keep a head elsewhere (every report prints it) and give it to :meth:`Ledger.verify`.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pmtcore.base.arguments import checked_methods
from pmtcore.base.exports import plain
from pmtcore.base.messages import InputError, LedgerMessage, number_between
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger import chain
from pmtcore.ledger.account import (
    CAP_RANGE,
    MOST_WORDS,
    START_CAP,
    Account,
    Entry,
    SpendFields,
    check_spend,
    checked_key,
    checked_name,
    checked_reason,
    events_of_kind,
    joined_pairs,
    read_account,
    read_entry,
    stripped_name,
)
from pmtcore.ledger.agreements import Agreements
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.database import NAME_LENGTH, Database, Verification, unusable
from pmtcore.ledger.engines import Connection
from pmtcore.ledger.fingerprint import MOST_ROWS, HashedCells, Sketch, grown, holds_rows, is_recognised, sketch
from pmtcore.ledger.sidecar import data_folder

_RECORD_ROOM = 8_192  # bytes, where a release does not say how long its record may be

__all__ = ["Account", "Entry", "Ledger", "LedgerError", "UnclearSpend", "default_url"]


class UnclearSpend(LedgerError):
    """A spend failed while it was being written: only the ledger can tell whether it stands.

    Attributes:
        kind: of the failure itself, where it has one.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        if isinstance(cause, InputError):
            self.kind, self.message, self.facts = cause.kind, cause.message, cause.facts


@checked_methods
class Ledger:
    """A ledger at a database URL, or a file name for SQLite.

    Args:
        make: whether a ledger is begun where there is none.
        unsealed: whether events that no key ever sealed are taken as they are; see :class:`Database`.

    Raises:
        LedgerError: the database cannot be opened, is of another version, or is not there and none is to be made.
    """

    def __init__(self, url: str | Path, *, make: bool = True, unsealed: bool = False) -> None:
        self._database = Database(str(url), make, unsealed)
        self.agreements = Agreements(self._database)

    def __repr__(self) -> str:
        return f"<Ledger {self.place}>"

    @property
    def url(self) -> str:
        """Return the address, as SQLAlchemy takes it."""
        return self._database.url

    @property
    def place(self) -> str:
        """Return where the ledger is: a file, or a database's address without its password."""
        return self._database.place

    def verify(self, head: str = "") -> Verification:
        """Recompute the chain; see :meth:`Database.verify`."""
        return self._database.verify(head)

    def accept(self, reason: str) -> None:
        """Take an older copy as it is, for a stated reason; see :meth:`Database.accept`."""
        self._database.accept(reason)

    def cap(self, dataset: str, mu: float, reason: str = "", *, by: str = "", role: str = "") -> Account:
        """Set a data set's cap, a total mu under replace-one; a new cap replaces the old from now on."""
        self.note(dataset, "cap", {"mu": number_between("cap", mu, *CAP_RANGE)}, reason, by=by, role=role)
        return self.account(dataset)

    def note(
        self, dataset: str, kind: str, fields: Mapping[str, Any], reason: str = "", *, by: str = "", role: str = ""
    ) -> None:
        """Add an event about a data set, with a reason, who said it and in which role, where they are given."""
        said = {"reason": reason[:MOST_WORDS], "by": by[:NAME_LENGTH], "role": role[:NAME_LENGTH]}
        with self._database.writing() as connection:
            self._numbered(connection, checked_name(dataset), kind, {**fields, **{k: v for k, v in said.items() if v}})

    def first_cap(self, dataset: str, mu: float) -> None:
        """Set a cap for a data set that has none: :data:`START_CAP`, or its first spend where that is larger."""
        if self.account(dataset).cap is None:
            self.cap(dataset, max(START_CAP, mu))

    def spend(self, dataset: str, key: str, fields: SpendFields, room: int = _RECORD_ROOM) -> Entry | None:
        """Spend, before a private row is read; ``None`` when new, the earlier entry when the key is known.

        Args:
            dataset: whose cap it counts against.
            key: name of the release.
            fields: what is spent.
            room: bytes that the record will need at most, taken now so that a full disk is noticed before the spend.

        Raises:
            LedgerError: no cap, the cap would be passed, a second person has not agreed, the key belongs to another
                request, or an earlier try with this key never finished. UnclearSpend: it failed while it was written.
        """
        dataset, key = checked_name(dataset), checked_key(key)
        writing = False
        try:
            with self._database.writing(room) as connection:
                known = read_entry(connection, self._database.key, key)
                if known is not None:
                    return _same(known, dataset, fields)
                account = read_account(connection, self._database.key, dataset)
                check_spend(account, fields)
                if account.second:
                    self.agreements.check(connection, dataset, key, fields)
                self._database.reserve_space(room)
                writing = True
                self._database.append(connection, dataset, "reserve", key, payload=fields)
        except BaseException as error:
            if not writing:
                raise
            raise UnclearSpend(error) from error
        return None

    def registered(self) -> dict[str, Mapping[str, Any]]:
        """Return the data sets that curators registered and did not retire, by name, as was said last."""
        with self._database.reading() as connection:
            data_sets: dict[str, Mapping[str, Any]] = {}
            for row in events_of_kind(connection, "register", "retire"):
                fields = chain.read(row, self._database.key)
                if row["kind"] == "register":
                    data_sets[row["dataset"]] = fields
                else:
                    data_sets.pop(row["dataset"], None)
            return data_sets

    def finish(self, key: str, record: ReleaseRecord) -> ReleaseRecord:
        """Keep the record of a release, in plain JSON types, with its spend.

        Args:
            key: name of the release.
            record: of the release. Where it has a field ``ledger``, the hash of the spend is added to that as ``head``.

        Returns:
            The record as it is kept.
        """
        stored: ReleaseRecord = plain(dict(record))
        self._database.free_space()
        with self._database.writing() as connection:
            spent = self._entry_of(connection, key)
            if "ledger" in stored:
                stored["ledger"]["head"] = spent.hash
            self._database.append(
                connection, spent.dataset, "release", key, payload={"record": stored, "standing": stored["standing"]}
            )
        return stored

    def fail(self, key: str, reason: str) -> None:
        """Note that a reserved release did not come about; the spend stays. One that has its record stays released."""
        self._database.free_space()
        with self._database.writing() as connection:
            spent = self._entry_of(connection, key)
            if spent.record is None:
                self._database.append(connection, spent.dataset, "fail", key, payload={"reason": reason})

    def account(self, dataset: str, others: Iterable[str] = ()) -> Account:
        """Return a data set's cap and spends, with those of all that it spends together with.

        Args:
            dataset: name of the data set.
            others: data sets that it would be joined with.
        """
        dataset = stripped_name(dataset)
        with self._database.reading() as connection:
            return read_account(connection, self._database.key, dataset, others)

    def accounts(self) -> list[Account]:
        """Return all data sets, by name."""
        with self._database.reading() as connection:
            rows = connection.rows("SELECT DISTINCT dataset FROM pmt_events WHERE kind <> 'accept'")
            names = [row["dataset"] for row in rows]
            return [read_account(connection, self._database.key, name) for name in sorted(map(str, names))]

    def entry(self, key: str) -> Entry | None:
        """Return the spend of that key."""
        with self._database.reading() as connection:
            return read_entry(connection, self._database.key, key)

    def _entry_of(self, connection: Connection, key: str) -> Entry:
        entry = read_entry(connection, self._database.key, key)
        if entry is None:
            raise LedgerError(LedgerMessage.NOT_RESERVED)
        return entry

    def admit(self, dataset: str, cells: HashedCells) -> bool:
        """Keep the fingerprint of a table under a data set, and join that with the data sets that it overlaps with.

        Every table that was admitted is known again, whatever its file, order, columns or names; that another
        fingerprint is kept tells of the rows no more than noise allows (:func:`grown`). A table that
        overlaps with one of another data set joins the two: from then on they spend together (:meth:`part`).

        Returns:
            Whether the data set has tables, and this one is recognised neither as one of them nor as any other.

        Raises:
            LedgerError: as :meth:`spend`.
        """
        dataset = checked_name(dataset)
        with self._database.writing() as connection:
            said, key = joined_pairs(connection, self._database.key), self._database.seal_key
            known = self._known(connection)
            recognised = [each for each in known if is_recognised(cells, each[1], key, _joined(each[0], said))]
            mine = [earlier for name, earlier in recognised if name == dataset and earlier.columns == cells.columns]
            if all(grown(cells, earlier, key) for earlier in mine):
                text = sketch(cells).as_text(key)
                # How many rows there are may be private; the fingerprint, which the key closes, has it.
                self._numbered(connection, dataset, "table", {"fingerprint": text, "rows": 0})
            for name in sorted({name for name, _ in recognised} - {dataset}):
                if frozenset((dataset, name)) not in said:
                    # How large a share is in common is a private figure: that they are joined is all that is told.
                    self._numbered(connection, dataset, "join", {"other": name, "share": 1.0})
            return not recognised and any(name == dataset for name, _ in known)

    def recognised(self, cells: HashedCells) -> tuple[str, ...]:
        """Return the data sets that a table would be joined with, or that it is of; reads only."""
        return self._datasets_where(is_recognised, cells)

    def with_rows_of(self, cells: HashedCells) -> tuple[str, ...]:
        """Return the data sets whose rows a table holds as they are; reads only."""
        return self._datasets_where(holds_rows, cells)

    def _datasets_where(
        self, test: Callable[[HashedCells, Sketch, bytes, int], bool], cells: HashedCells
    ) -> tuple[str, ...]:
        """Return the data sets of which a kept fingerprint passes a test against a table."""
        with self._database.reading() as connection:
            said, key = joined_pairs(connection, self._database.key), self._database.seal_key
            known = self._known(connection)
            return tuple(sorted({name for name, earlier in known if test(cells, earlier, key, _joined(name, said))}))

    def datasets_with_tables(self) -> frozenset[str]:
        """Return the data sets of which the fingerprint of a table is kept."""
        with self._database.reading() as connection:
            return frozenset(str(row["dataset"]) for row in events_of_kind(connection, "table"))

    def part(self, dataset: str, other: str, reason: str, *, by: str = "", role: str = "") -> None:
        """Record a curator's word that two data sets share nobody: they spend apart from then on."""
        reason = checked_reason(reason, "the two data sets share nobody")
        self._check_known(dataset, other)
        self.note(dataset, "part", {"other": checked_name(other)}, reason, by=by, role=role)

    def retire(self, dataset: str, reason: str, *, by: str = "", role: str = "") -> None:
        """Retire a data set for a stated reason: nothing more may be spent on it."""
        reason = checked_reason(reason, "the data set is retired")
        self._check_known(dataset)
        self.note(dataset, "retire", {}, reason, by=by, role=role)

    def _check_known(self, *datasets: str) -> None:
        """Refuse the name of a data set that the ledger has nothing about: misspelled, the other would go on spending.

        Raises:
            LedgerError: there is no such data set.
        """
        present = [account.dataset for account in self.accounts()]
        for dataset in datasets:
            if checked_name(dataset) not in present:
                raise LedgerError(LedgerMessage.NO_DATASET, dataset=dataset, present=present)

    @property
    def fingerprint_key(self) -> bytes:
        """Return the key under which tables are hashed, and sealed.

        It never leaves the machine, but for the bytes that hash cells, which workers of a cluster are told.
        """
        return self._database.seal_key

    @property
    def most_rows_hashed(self) -> int | None:
        """Return how many rows of a table are hashed at most, so that it is known again; ``None``: no such limit.

        Earlier versions had no limit. What they kept is a sample of all the rows that they hashed, so a table is
        compared with that by as many.
        """
        with self._database.reading() as connection:
            return None if any(known.rows > MOST_ROWS for _, known in self._known(connection)) else MOST_ROWS

    def _numbered(self, connection: Connection, dataset: str, kind: str, fields: Mapping[str, Any]) -> None:
        seq = self._database.head(connection)[0] + 1
        self._database.append(connection, dataset, kind, f"{kind}-{seq}", payload=fields)

    def _known(self, connection: Connection) -> list[tuple[str, Sketch]]:
        rows, key = events_of_kind(connection, "table"), self._database.seal_key
        return [(r["dataset"], Sketch.from_text(chain.read(r, self._database.key)["fingerprint"], key)) for r in rows]


def default_url() -> str:
    """Return ``PMT_LEDGER``, or a file in the user's data folder."""
    url = os.environ.get("PMT_LEDGER")
    if not url:
        try:
            data_folder().mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise unusable(error) from None
    return url or str(data_folder() / "ledger.db")


def _joined(dataset: str, said: Mapping[frozenset[str], bool]) -> int:
    """Return how many data sets were joined with this one or parted from it."""
    return sum(dataset in pair for pair in said)


def _same(known: Entry, dataset: str, fields: SpendFields) -> Entry:
    other = known.choices and fields.get("choices", known.choices) != known.choices
    if other or known.dataset != dataset or dict(known.request) != fields["request"] or known.mu != fields["mu"]:
        raise LedgerError(LedgerMessage.KEY_OF_ANOTHER_REQUEST)
    if known.state == "reserved":
        raise LedgerError(LedgerMessage.SPENT_UNFINISHED)
    if known.state == "failed":
        raise LedgerError(LedgerMessage.SPENT_AND_FAILED)
    return known
