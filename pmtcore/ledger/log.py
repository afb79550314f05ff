"""The ledger: an append-only log in which every spend is entered before a private row is read.

One table of events (cap, reserve, release, fail, ...), each with the hash of the event before it. A spend is a
transaction of its own, under a lock, checked against the data set's cap; nothing takes it back. A request that is
repeated with its key gets the result of the first. The ledger is an SQLite file, or a PostgreSQL server through
SQLAlchemy.

Composition: :mod:`pmtcore.ledger.account`. The chain alone cannot show that its newest events were removed, or that all
of it was computed anew: keep a head elsewhere (every report prints it) and give it to :meth:`Ledger.verify`.
"""

import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pmtcore.base.arguments import checked_methods
from pmtcore.base.exports import plain_json
from pmtcore.base.messages import InputError, LedgerMessage, number_between
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger import chain
from pmtcore.ledger.account import (
    CAP_RANGE,
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
from pmtcore.ledger.database import NAME_LENGTH, TEXT_LENGTH, Database, Verification, database_error
from pmtcore.ledger.engines import Connection
from pmtcore.ledger.fingerprint import (
    MOST_HASHED,
    HashedCells,
    Sketch,
    has_grown,
    has_unchanged_rows,
    is_recognised,
    sketch,
)
from pmtcore.ledger.sidecar import data_folder

_RECORD_SIZE = 8_192  # bytes to reserve for a record, where a release does not state its size

__all__ = ["Account", "Entry", "Ledger", "LedgerError", "UnclearSpend", "default_url"]


class UnclearSpend(LedgerError):
    """A spend failed while it was being written, so that only the ledger can show whether it was entered.

    Attributes:
        kind: kind of the failure, where it has one.
    """

    def __init__(self, cause: BaseException) -> None:
        super().__init__(str(cause))
        if isinstance(cause, InputError):
            self.kind, self.message, self.facts = cause.kind, cause.message, cause.facts


@checked_methods
class Ledger:
    """A ledger at a database URL, or a file name for SQLite.

    Args:
        url: database URL or file name.
        make: whether a ledger is created where there is none.
        unsealed: whether events without any seal are accepted; see :class:`Database`.

    Raises:
        LedgerError: the database cannot be opened, has a newer version, or is missing and ``make`` is false.
    """

    def __init__(self, url: str | Path, *, make: bool = True, unsealed: bool = False) -> None:
        self._database = Database(str(url), make, unsealed)
        self.agreements = Agreements(self._database)

    def __repr__(self) -> str:
        return f"<Ledger {self.place}>"

    @property
    def url(self) -> str:
        """Return the ledger's address, in SQLAlchemy's form."""
        return self._database.url

    @property
    def place(self) -> str:
        """Return where the ledger is: a file, or a database's address without its password."""
        return self._database.place

    def verify(self, head: str = "") -> Verification:
        """Check the whole chain; see :meth:`Database.verify`."""
        return self._database.verify(head)

    def accept(self, reason: str) -> None:
        """Accept an older copy for a stated reason; see :meth:`Database.accept_older_copy`."""
        self._database.accept_older_copy(reason)

    def cap(self, dataset: str, mu: float, reason: str = "", *, by: str = "", role: str = "") -> Account:
        """Set the cap of a data set, as total mu under replace-one; it replaces an earlier cap."""
        self.note(dataset, "cap", {"mu": number_between("cap", mu, *CAP_RANGE)}, reason, by=by, role=role)
        return self.account(dataset)

    def note(
        self, dataset: str, kind: str, fields: Mapping[str, Any], reason: str = "", *, by: str = "", role: str = ""
    ) -> None:
        """Append an event about a data set, with the reason, the person and the role where they are given."""
        texts = {"reason": reason[:TEXT_LENGTH], "by": by[:NAME_LENGTH], "role": role[:NAME_LENGTH]}
        fields = {**fields, **{name: text for name, text in texts.items() if text}}
        with self._database.writing() as connection:
            self._append_numbered(connection, checked_name(dataset), kind, fields)

    def first_cap(self, dataset: str, mu: float) -> None:
        """Set the cap of a data set that has none: to :data:`START_CAP`, or to ``mu`` where that is larger."""
        if self.account(dataset).cap is None:
            self.cap(dataset, max(START_CAP, mu))

    def spend(self, dataset: str, key: str, fields: SpendFields, room: int = _RECORD_SIZE) -> Entry | None:
        """Enter a spend, before a private row is read.

        Args:
            dataset: whose cap it counts against.
            key: name of the release.
            fields: of the spend, from :func:`spend_fields`.
            room: most bytes that the record will need; they are reserved so that a full disk is noticed before the
                spend.

        Returns:
            ``None`` where the spend is new; the entry with its record where this release was made before.

        Raises:
            LedgerError: there is no cap or it would be exceeded, a second person has not agreed, the key belongs to
                another request, or an earlier spend with this key did not end in a release.
            UnclearSpend: it failed while it was written.
        """
        dataset, key = checked_name(dataset), checked_key(key)
        writing = False
        try:
            with self._database.writing(room) as connection:
                known = read_entry(connection, self._database.key, key)
                if known is not None:
                    return _repeated(known, dataset, fields)
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
        """Return the last registration of each data set that curators registered and did not retire, by name."""
        with self._database.reading() as connection:
            registrations: dict[str, Mapping[str, Any]] = {}
            for row in events_of_kind(connection, "register", "retire"):
                fields = chain.authenticated_fields(row, self._database.key)
                if row["kind"] == "register":
                    registrations[row["dataset"]] = fields
                else:
                    registrations.pop(row["dataset"], None)
            return registrations

    def finish(self, key: str, record: ReleaseRecord) -> ReleaseRecord:
        """Enter the record of a release.

        Args:
            key: name of the release.
            record: of the release. A field ``ledger`` in it gets the hash of the spend as ``head``.

        Returns:
            The record as it is stored, in plain JSON types.

        Raises:
            LedgerError: there is no spend with this key.
        """
        stored: ReleaseRecord = plain_json(dict(record))
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
        """Enter that a reserved release failed; its spend stays. A release that has ended already stays as it is.

        Args:
            key: name of the release.
            reason: type of the error; never its text, which may have private values.

        Raises:
            LedgerError: there is no spend with this key.
        """
        self._database.free_space()
        with self._database.writing() as connection:
            spent = self._entry_of(connection, key)
            if spent.state == "reserved":
                self._database.append(connection, spent.dataset, "fail", key, payload={"reason": reason})

    def account(self, dataset: str, others: Iterable[str] = ()) -> Account:
        """Return the account of a data set and of those joined with it.

        Args:
            dataset: name of the data set.
            others: data sets that it would be joined with.
        """
        dataset = stripped_name(dataset)
        with self._database.reading() as connection:
            return read_account(connection, self._database.key, dataset, others)

    def accounts(self) -> list[Account]:
        """Return the accounts of all data sets, by name."""
        with self._database.reading() as connection:
            rows = connection.rows("SELECT DISTINCT dataset FROM pmt_events WHERE kind <> 'accept'")
            names = [row["dataset"] for row in rows]
            return [read_account(connection, self._database.key, name) for name in sorted(map(str, names))]

    def entry(self, key: str) -> Entry | None:
        """Return the spend of a release by its key; ``None``: there is none."""
        with self._database.reading() as connection:
            return read_entry(connection, self._database.key, key)

    def _entry_of(self, connection: Connection, key: str) -> Entry:
        """Return the spend of a release by its key.

        Raises:
            LedgerError: there is none.
        """
        entry = read_entry(connection, self._database.key, key)
        if entry is None:
            raise LedgerError(LedgerMessage.NOT_RESERVED)
        return entry

    def enter_table(self, dataset: str, cells: HashedCells) -> bool:
        """Enter the fingerprint of a table under a data set, and join that with each data set whose rows the table has.

        A table that was entered is recognised later in any file, order of rows or columns, and under any names. Whether
        another fingerprint of it is stored depends on its number of rows only through noise (:func:`has_grown`). Joined
        data sets spend from one budget from then on, until a curator parts them (:meth:`part`).

        Args:
            dataset: name of the data set.
            cells: the table.

        Returns:
            Whether the data set has earlier tables and this one is recognised as no table of any data set.

        Raises:
            LedgerError: as :meth:`spend`.
        """
        dataset = checked_name(dataset)
        with self._database.writing() as connection:
            is_joined, key = joined_pairs(connection, self._database.key), self._database.seal_key
            sketches = self._sketches(connection)
            recognised = [
                (name, earlier)
                for name, earlier in sketches
                if is_recognised(cells, earlier, key, _pairs_of(name, is_joined))
            ]
            own = [earlier for name, earlier in recognised if name == dataset and earlier.columns == cells.columns]
            if all(has_grown(cells, earlier, key) for earlier in own):
                text = sketch(cells).as_text(key)
                # The number of rows may be private, so it is only in the fingerprint, which is encrypted.
                self._append_numbered(connection, dataset, "table", {"fingerprint": text, "rows": 0})
            for name in sorted({name for name, _ in recognised} - {dataset}):
                if frozenset((dataset, name)) not in is_joined:
                    # The share of common rows is private: the event only states that they are joined.
                    self._append_numbered(connection, dataset, "join", {"other": name, "share": 1.0})
            return not recognised and any(name == dataset for name, _ in sketches)

    def recognised(self, cells: HashedCells) -> tuple[str, ...]:
        """Return the data sets as whose tables this one is recognised; nothing is written."""
        return self._datasets_where(is_recognised, cells)

    def datasets_with_rows(self, cells: HashedCells) -> tuple[str, ...]:
        """Return the data sets of which a table has unchanged rows; nothing is written."""
        return self._datasets_where(has_unchanged_rows, cells)

    def _datasets_where(
        self, test: Callable[[HashedCells, Sketch, bytes, int], bool], cells: HashedCells
    ) -> tuple[str, ...]:
        """Return the data sets of which a stored fingerprint passes a test.

        Args:
            test: of the table, a fingerprint, the ledger's key, and the number of pairs that the data set is in.
            cells: the table.
        """
        with self._database.reading() as connection:
            is_joined, key = joined_pairs(connection, self._database.key), self._database.seal_key
            sketches = self._sketches(connection)
            passed = {name for name, earlier in sketches if test(cells, earlier, key, _pairs_of(name, is_joined))}
            return tuple(sorted(passed))

    def datasets_with_tables(self) -> frozenset[str]:
        """Return the data sets with the fingerprint of a table."""
        with self._database.reading() as connection:
            return frozenset(str(row["dataset"]) for row in events_of_kind(connection, "table"))

    def part(self, dataset: str, other: str, reason: str, *, by: str = "", role: str = "") -> None:
        """Enter a curator's statement that two data sets share nobody: from then on they spend separately.

        Raises:
            LedgerError: there is no reason, no such data set, or both are one.
        """
        reason = checked_reason(reason, "the two data sets share nobody")
        self._check_known(dataset, other)
        dataset, other = checked_name(dataset), checked_name(other)
        if dataset == other:
            raise LedgerError(LedgerMessage.PARTED_FROM_ITSELF, dataset=dataset)
        self.note(dataset, "part", {"other": other}, reason, by=by, role=role)

    def retire(self, dataset: str, reason: str, *, by: str = "", role: str = "") -> None:
        """Retire a data set for a stated reason: further spends are refused."""
        reason = checked_reason(reason, "the data set is retired")
        self._check_known(dataset)
        self.note(dataset, "retire", {}, reason, by=by, role=role)

    def _check_known(self, *datasets: str) -> None:
        """Check that the ledger has these data sets: a misspelled name would leave the one that was meant unchanged.

        Raises:
            LedgerError: there is no data set of that name.
        """
        present = [account.dataset for account in self.accounts()]
        for dataset in datasets:
            if checked_name(dataset) not in present:
                raise LedgerError(LedgerMessage.NO_DATASET, dataset=dataset, present=present)

    @property
    def fingerprint_key(self) -> bytes:
        """Return the ledger's key, under which cells are hashed and fingerprints encrypted.

        It stays on this machine, except that workers of a cluster get the bytes of it that hash cells.
        """
        return self._database.seal_key

    @property
    def most_rows_hashed(self) -> int | None:
        """Return the most rows of a table that are hashed to recognise it; ``None``: all.

        Earlier versions hashed all rows and sampled from them, so tables are compared with their fingerprints by all
        rows.
        """
        with self._database.reading() as connection:
            return None if any(earlier.rows > MOST_HASHED for _, earlier in self._sketches(connection)) else MOST_HASHED

    def _append_numbered(self, connection: Connection, dataset: str, kind: str, fields: Mapping[str, Any]) -> None:
        """Append an event that is about no release; its number makes its key unique."""
        seq = self._database.head(connection)[0] + 1
        self._database.append(connection, dataset, kind, f"{kind}-{seq}", payload=fields)

    def _sketches(self, connection: Connection) -> list[tuple[str, Sketch]]:
        """Return the stored fingerprints, each with the name of its data set, oldest first."""
        rows, key = events_of_kind(connection, "table"), self._database.seal_key
        return [
            (r["dataset"], Sketch.from_text(chain.authenticated_fields(r, self._database.key)["fingerprint"], key))
            for r in rows
        ]


def default_url() -> str:
    """Return the address in ``PMT_LEDGER``, or else of a file in the user's data folder, which is created."""
    url = os.environ.get("PMT_LEDGER")
    if not url:
        try:
            data_folder().mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise database_error(error) from None
    return url or str(data_folder() / "ledger.db")


def _pairs_of(dataset: str, is_joined: Mapping[frozenset[str], bool]) -> int:
    """Return the number of data sets that were joined with this one, parted later or not."""
    return sum(dataset in pair for pair in is_joined)


def _repeated(known: Entry, dataset: str, fields: SpendFields) -> Entry:
    """Return the entry of a release that is asked for again.

    Raises:
        LedgerError: it is of another request, or did not end in a release.
    """
    other_choices = known.choices and fields.get("choices", known.choices) != known.choices
    other_request = dict(known.request) != fields["request"] or known.mu != fields["mu"]
    if other_choices or other_request or known.dataset != dataset:
        raise LedgerError(LedgerMessage.KEY_OF_ANOTHER_REQUEST)
    if known.state == "reserved":
        raise LedgerError(LedgerMessage.SPENT_UNFINISHED)
    if known.state == "failed":
        raise LedgerError(LedgerMessage.SPENT_AND_FAILED)
    return known
