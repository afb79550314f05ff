"""The ledger: every spend, before it happens, in a log that can only grow.

One table of events (cap, reserve, release, fail), each holding the hash of the one before. A spend is an event
of its own transaction, made *before* a private row is read, under a lock, against the data set's cap; nothing
gives it back. Repeating a request with its key finds the first outcome. SQLite by default, PostgreSQL by its
URL, both through SQLAlchemy.

Composition: ``accounts``. What the chain cannot show is that its newest events were cut off, or all of it written
anew: keep a head elsewhere (every report prints it) and give it to :meth:`Ledger.verify`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any, final

import sqlalchemy as sql

from pmtcore.accounting.budgets import Neighbours
from pmtcore.base.checks import listed, number_between, one_of
from pmtcore.base.records import plain
from pmtcore.ledger import chain
from pmtcore.ledger.account import START_CAP, Account, Entry, counted_mu
from pmtcore.ledger.beside import data_folder
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.database import Database, sentence
from pmtcore.ledger.fingerprint import Cells, Sketch, overlap, sketch
from pmtcore.ledger.schema import EVENTS, NAME_LENGTH

_RECORD_ROOM = 8_192  # bytes, where a release does not say how long its record may be

__all__ = ["Account", "Entry", "Ledger", "LedgerError", "default_url"]

Row = sql.RowMapping | dict[str, Any]


@final
class Ledger:
    """A ledger at a database URL, or a file name for SQLite.

    Args:
        make: whether a ledger is begun where there is none.

    Raises:
        LedgerError: the database cannot be opened, is of another version, or is not there and none is to be made.
    """

    def __init__(self, url: str, *, make: bool = True) -> None:
        self._database = Database(url, make)

    @property
    def url(self) -> str:
        """The address, as SQLAlchemy takes it."""
        return self._database.url

    @property
    def place(self) -> str:
        """Where the ledger is, as one may say it: a file, or a database's address without its password."""
        return self._database.place

    def verify(self, head: str = "") -> dict[str, Any]:
        """Recompute the chain; see :meth:`Database.verify`."""
        return self._database.verify(head)

    def accept(self, reason: str) -> None:
        """Take an older copy as it is, for a stated reason; see :meth:`Database.accept`."""
        self._database.accept(reason)

    def cap(self, dataset: str, mu: float) -> Account:
        """Set a data set's cap, a total mu under replace-one; a new cap replaces the old from now on."""
        value = number_between("cap", mu, 1e-6, 1000.0)
        dataset = _named(dataset)
        with self._database.writing() as connection:
            at = self._database.head(connection)[0]
            self._append(connection, dataset, "cap", f"cap-{at + 1}", {"mu": value})
        return self.account(dataset)

    def first_cap(self, dataset: str, mu: float) -> None:
        """A cap for a data set that has none: :data:`START_CAP`, or its first spend where that is larger."""
        if self.account(dataset).cap is None:
            self.cap(dataset, max(START_CAP, mu))

    def reserve(
        self,
        dataset: str,
        key: str,
        request: Mapping[str, Any],
        mu: float,
        neighbours: str,
        purpose: str = "",
        *,
        pure_epsilon: float = 0.0,
        gaussian_mu: float = 0.0,
        room: int = _RECORD_ROOM,
    ) -> Entry | None:
        """Spend, before a private row is read; ``None`` when new, the earlier entry when the key is known.

        Args:
            mu: what it costs, and what the cap is held against.
            pure_epsilon: where the release is purely private in this part, and ``gaussian_mu`` in the rest: the
                total's epsilon is then stated from these.
            room: bytes that the record will need at most, taken now so that a full disk is noticed before the spend.

        Raises:
            LedgerError: no cap, the cap would be passed, the key belongs to another request, or an earlier try
                with this key never finished.
        """
        dataset = _named(dataset)
        if _named(key, "key") != key:
            raise LedgerError("A key has no blanks around it; give it as it was handed out.")
        cost = number_between("mu", mu, 0.0, 1000.0)
        relation = one_of("neighbours", neighbours, [item.value for item in Neighbours])
        fields = {"request": plain(dict(request)), "mu": cost, "neighbours": relation, "purpose": purpose[:2000]}
        if pure_epsilon:
            fields["pure_epsilon"] = number_between("epsilon", pure_epsilon, 0.0, 500.0)
            fields["gaussian_mu"] = number_between("mu", gaussian_mu, 0.0, cost)
        with self._database.writing(room) as connection:
            known = self._entry(connection, key)
            if known is not None:
                return _same(known, dataset, fields)
            account = self._account(connection, dataset)
            if account.cap is None:
                raise LedgerError(f"The data set {dataset!r} has no cap in this ledger; set one first ('ledger cap').")
            if account.retired:
                raise LedgerError(f"The data set {dataset!r} is retired ({account.retired}); nothing more is released.")
            counted = counted_mu(cost, relation)
            if not account.fits(counted):
                raise LedgerError(
                    f"This release would pass the cap of {dataset!r}: mu {account.spent:.4g} of {account.cap:.4g} is "
                    f"spent, {account.left:.4g} is left, {counted:.4g} was asked for."
                    + (f" It spends together with {listed(account.together)}." if account.together else "")
                )
            self._database.make_room(room)
            self._append(connection, dataset, "reserve", key, fields)
        return None

    def finish(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a release's record, plain JSON types, with its spend."""
        record = plain(record)
        self._database.give_room()
        with self._database.writing() as connection:
            dataset = self._dataset_of(connection, key)
            self._append(connection, dataset, "release", key, {"record": record, "standing": record["standing"]})

    def fail(self, key: str, reason: str) -> None:
        """Note that a reserved release did not come about; the spend stays."""
        self._database.give_room()
        with self._database.writing() as connection:
            self._append(connection, self._dataset_of(connection, key), "fail", key, {"reason": reason})

    def account(self, dataset: str, others: Iterable[str] = ()) -> Account:
        """A data set's cap and spends, with those of all that it spends together with.

        Args:
            others: data sets that it would be joined with.
        """
        with self._database.reading() as connection:
            return self._account(connection, dataset.strip(), others)

    def accounts(self) -> list[Account]:
        """All data sets, by name."""
        with self._database.reading() as connection:
            names = connection.execute(
                sql.select(EVENTS.c.dataset).distinct().where(EVENTS.c.kind != "accept")
            ).scalars()
            return [self._account(connection, name) for name in sorted(map(str, names))]

    def entry(self, key: str) -> Entry | None:
        """The spend of that key."""
        with self._database.reading() as connection:
            return self._entry(connection, key)

    def _append(
        self, connection: sql.Connection, dataset: str, kind: str, key: str, payload: Mapping[str, Any]
    ) -> None:
        self._database.append(connection, dataset, kind, key, payload)

    def _dataset_of(self, connection: sql.Connection, key: str) -> str:
        found = self._entry(connection, key)
        if found is None:
            raise LedgerError("This release was never reserved in the ledger.")
        return found.dataset

    def admit(self, dataset: str, cells: Cells) -> tuple[str, ...]:
        """Keep the fingerprint of a table under a data set; the data sets that it overlaps with and spends with.

        Every table that was admitted is known again, whatever its file, order, columns or names. A table that
        overlaps with one of another data set joins the two: from then on they spend together (:meth:`part`).

        Raises:
            LedgerError: as :meth:`reserve`.
        """
        dataset = _named(dataset)
        with self._database.writing() as connection:
            known = self._known(connection)
            mine = False
            others: dict[str, float] = {}
            for name, held in known:
                share = overlap(cells, held)
                if name == dataset:
                    mine = mine or (share > 0 and held.rows >= len(cells.hashes) and held.names == cells.names)
                elif share > 0:
                    others[name] = max(share, others.get(name, 0.0))
            if not mine:
                text = sketch(cells).as_text(self._database.seal_key)
                fields = {"fingerprint": text, "rows": len(cells.hashes)}
                self._numbered(connection, dataset, "table", fields)
            said = self._joins(connection)
            for name, share in others.items():
                if frozenset((dataset, name)) not in said:
                    self._numbered(connection, dataset, "join", {"other": name, "share": share})
            return tuple(sorted(others))

    def recognised(self, cells: Cells) -> dict[str, float]:
        """The data sets that a table overlaps with, and by which share of their rows; reads only."""
        with self._database.reading() as connection:
            found: dict[str, float] = {}
            for name, held in self._known(connection):
                found[name] = max(overlap(cells, held), found.get(name, 0.0))
            return {name: share for name, share in found.items() if share > 0}

    def part(self, dataset: str, other: str, reason: str) -> None:
        """A curator's word that two data sets share nobody after all: they spend apart, and the reason is kept."""
        if not reason.strip():
            raise LedgerError("Say why the two data sets share nobody; the reason is kept in the ledger.")
        with self._database.writing() as connection:
            self._numbered(connection, _named(dataset), "part", {"other": _named(other), "reason": reason[:2000]})

    def retire(self, dataset: str, reason: str) -> None:
        """Nothing more may be spent on a data set, for a stated reason."""
        if not reason.strip():
            raise LedgerError("Say why the data set is retired; the reason is kept in the ledger.")
        with self._database.writing() as connection:
            self._numbered(connection, _named(dataset), "retire", {"reason": reason[:2000]})

    @property
    def fingerprint_key(self) -> bytes:
        """The key under which tables are hashed; it never leaves the machine."""
        return self._database.seal_key

    def _numbered(self, connection: sql.Connection, dataset: str, kind: str, fields: Mapping[str, Any]) -> None:
        seq = self._database.head(connection)[0] + 1
        self._append(connection, dataset, kind, f"{kind}-{seq}", fields)

    def _known(self, connection: sql.Connection) -> list[tuple[str, Sketch]]:
        rows = connection.execute(EVENTS.select().where(EVENTS.c.kind == "table").order_by(EVENTS.c.seq)).mappings()
        key = self._database.seal_key
        return [(r["dataset"], Sketch.from_text(chain.read(r, self._database.key)["fingerprint"], key)) for r in rows]

    def _joins(self, connection: sql.Connection) -> dict[frozenset[str], bool]:
        """Pairs of data sets that were joined, or parted, by what was said last."""
        kinds = EVENTS.c.kind.in_(("join", "part"))
        rows = connection.execute(EVENTS.select().where(kinds).order_by(EVENTS.c.seq)).mappings()
        return {
            frozenset((row["dataset"], chain.read(row, self._database.key)["other"])): row["kind"] == "join"
            for row in rows
        }

    def _account(self, connection: sql.Connection, dataset: str, others: Iterable[str] = ()) -> Account:
        """The account of a data set with all that spend together with it."""
        said = self._joins(connection)
        joined = [pair for pair, together in said.items() if together]
        joined += [pair for name in others if (pair := frozenset((dataset, name))) not in said]
        group, before = {dataset}, 0
        while len(group) > before:
            before = len(group)
            group |= {name for pair in joined if pair & group for name in pair}
        parts = [self._alone(connection, name) for name in sorted(group)]
        caps = [part.cap for part in parts if part.cap is not None]
        entries = sorted((entry for part in parts for entry in part.entries), key=lambda entry: entry.seq)
        retired = next((part.retired for part in parts if part.retired), "")
        return Account(dataset, min(caps, default=None), tuple(entries), tuple(sorted(group - {dataset})), retired)

    def _alone(self, connection: sql.Connection, dataset: str) -> Account:
        rows = connection.execute(EVENTS.select().where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.seq)).mappings()
        cap, found, after, retired = None, [], {}, ""
        for row in rows:
            fields = chain.read(row, self._database.key)
            if row["kind"] == "cap":
                cap = float(fields["mu"])
            elif row["kind"] == "retire":
                retired = fields["reason"]
            elif row["kind"] in ("table", "join", "part", "unit"):
                continue
            elif row["kind"] == "reserve":
                found.append((row, fields))
            else:
                after[row["key"]] = (row["kind"], fields)
        entries = tuple(_entry(row, fields, after.get(row["key"])) for row, fields in found)
        return Account(dataset, cap, entries, (), retired)

    def _entry(self, connection: sql.Connection, key: str) -> Entry | None:
        rows = {row["kind"]: row for row in connection.execute(EVENTS.select().where(EVENTS.c.key == key)).mappings()}
        if "reserve" not in rows:
            return None
        found = {kind: (kind, chain.read(row, self._database.key)) for kind, row in rows.items()}
        return _entry(rows["reserve"], found["reserve"][1], found.get("release") or found.get("fail"))


def default_url() -> str:
    """``PMT_LEDGER``, or a file in the user's data folder."""
    url = os.environ.get("PMT_LEDGER")
    if not url:
        try:
            data_folder().mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(sentence(error)) from None
    return url or str(data_folder() / "ledger.db")


def _entry(row: Row, fields: Mapping[str, Any], after: tuple[str, Mapping[str, Any]] | None) -> Entry:
    kind, done = ("", {}) if after is None else after
    return Entry(
        seq=row["seq"],
        at=row["at"],
        dataset=row["dataset"],
        key=row["key"],
        method=str(fields["request"].get("method", "")),
        mu=fields["mu"],
        neighbours=fields["neighbours"],
        purpose=fields["purpose"],
        request=fields["request"],
        state={"": "reserved", "release": "released"}.get(kind, "failed"),
        standing=done.get("standing", ""),
        record=done.get("record"),
        pure_epsilon=fields.get("pure_epsilon", 0.0),
        gaussian_mu=fields.get("gaussian_mu", 0.0),
        hash=row["hash"],
    )


def _same(known: Entry, dataset: str, fields: Mapping[str, Any]) -> Entry:
    if known.dataset != dataset or dict(known.request) != fields["request"] or known.mu != fields["mu"]:
        raise LedgerError("This key was used for another request; take a new key.")
    if known.state == "reserved":
        raise LedgerError(
            "This key is spent, but its release did not finish: it is still running, or it was stopped. Nothing is "
            "released twice; take a new key for a new spend."
        )
    if known.state == "failed":
        raise LedgerError(
            "An earlier try with this key spent its budget and did not finish; take a new key for a new spend."
        )
    return known


def _named(text: str, what: str = "data set") -> str:
    """The name without blanks around it: 'survey ' and 'survey' have one cap."""
    name = text.strip()
    if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise LedgerError(f"A {what} needs a name of 1 to {NAME_LENGTH} printable characters.")
    return name
