"""The ledger: every spend, before it happens, in a log that can only grow.

One table of events (cap, reserve, release, fail), each holding the hash of the one before. A spend is an event
of its own transaction, made *before* a private row is read, under a lock, against the data set's cap; nothing
gives it back. Repeating a request with its key finds the first outcome. SQLite by default, PostgreSQL by its
URL, both through SQLAlchemy.

Composition: ``accounts``. What the chain cannot show is that its newest events were cut off, or all of it written
anew: keep a head elsewhere (every report prints it) and give it to :meth:`Ledger.verify`.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, final

import sqlalchemy as sql

from pmtcore.accounting.budgets import Neighbours
from pmtcore.base.checks import InputError, number_between, one_of
from pmtcore.base.records import plain
from pmtcore.ledger.account import START_CAP, Account, Entry, counted_mu
from pmtcore.ledger.schema import EVENTS, NAME_LENGTH, SCHEMA, upgrade, version

_ROOM = 1 + 1e-12  # a cap may be used up to rounding
_LOCK = 20_261_121
_WAIT_SECONDS = 60

__all__ = ["Account", "Entry", "Ledger", "LedgerError", "default_url"]

Row = sql.RowMapping | dict[str, Any]


class LedgerError(InputError):
    """The ledger cannot take a spend; nothing was released."""


@final
class Ledger:
    """A ledger at a database URL, or a file name for SQLite.

    Raises:
        LedgerError: the database cannot be opened, or is of another version.
    """

    def __init__(self, url: str) -> None:
        self.url = url if "://" in url else f"sqlite:///{Path(url).absolute()}"
        if self.url.startswith("postgresql://"):
            self.url = self.url.replace("postgresql://", "postgresql+psycopg://", 1)
        try:
            self._engine = sql.create_engine(self.url, **self._settings())
            self._prepare()
        except (sql.exc.SQLAlchemyError, ImportError, OSError) as error:
            raise LedgerError(_sentence(error)) from None

    @property
    def place(self) -> str:
        """Where the ledger is, as one may say it: a file, or a database's address without its password."""
        url = sql.make_url(self.url)
        return str(url.database) if self._lite else url.render_as_string(hide_password=True)

    @property
    def _lite(self) -> bool:
        return self.url.startswith("sqlite")

    def _settings(self) -> dict[str, Any]:
        if not self._lite:
            return {"pool_pre_ping": True, "pool_size": 2}
        return {"connect_args": {"timeout": _WAIT_SECONDS}, "poolclass": sql.pool.NullPool}

    def _prepare(self) -> None:
        if self._lite:

            @sql.event.listens_for(self._engine, "connect")
            def connect(connection: Any, _: Any) -> None:
                connection.isolation_level = None  # transactions are ours: BEGIN IMMEDIATE below
                connection.execute("PRAGMA synchronous=FULL")

        with self._alone() as connection:
            found = version(connection)
            if found > SCHEMA:
                raise LedgerError(f"The ledger has version {found}, this program writes {SCHEMA}; use its match.")
            upgrade(connection, found)

    @contextmanager
    def _alone(self) -> Iterator[sql.Connection]:
        """A transaction that no other writer overlaps."""
        try:
            with self._engine.connect() as connection, connection.begin():
                if self._lite:
                    connection.exec_driver_sql("BEGIN IMMEDIATE")
                else:
                    connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
                yield connection
        except LedgerError:
            raise
        except (sql.exc.SQLAlchemyError, OSError) as error:
            raise LedgerError(_sentence(error)) from None

    def cap(self, dataset: str, mu: float) -> Account:
        """Set a data set's cap, a total mu under replace-one; a new cap replaces the old from now on."""
        value = number_between("cap", mu, 1e-6, 1000.0)
        dataset = _named(dataset)
        with self._alone() as connection:
            at = self._head(connection)[0]
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
    ) -> Entry | None:
        """Spend, before a private row is read; ``None`` when new, the earlier entry when the key is known.

        Args:
            mu: what it costs, and what the cap is held against.
            pure_epsilon: where the release is purely private in this part, and ``gaussian_mu`` in the rest: the
                total's epsilon is then stated from these.

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
        with self._alone() as connection:
            known = self._entry(connection, key)
            if known is not None:
                return _same(known, dataset, fields)
            account = self._account(connection, dataset)
            if account.cap is None:
                raise LedgerError(f"The data set {dataset!r} has no cap in this ledger; set one first ('ledger cap').")
            counted = counted_mu(cost, relation)
            if not math.hypot(account.spent, counted) <= account.cap * _ROOM:
                raise LedgerError(
                    f"This release would pass the cap of {dataset!r}: mu {account.spent:.4g} of {account.cap:.4g} is "
                    f"spent, {account.left:.4g} is left, {counted:.4g} was asked for."
                )
            self._append(connection, dataset, "reserve", key, fields)
        return None

    def finish(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep a release's record, plain JSON types, with its spend."""
        record = plain(record)
        with self._alone() as connection:
            dataset = self._dataset_of(connection, key)
            self._append(connection, dataset, "release", key, {"record": record, "standing": record["standing"]})

    def fail(self, key: str, reason: str) -> None:
        """Note that a reserved release did not come about; the spend stays."""
        with self._alone() as connection:
            self._append(connection, self._dataset_of(connection, key), "fail", key, {"reason": reason})

    def account(self, dataset: str) -> Account:
        """A data set's cap and spends."""
        with self._alone() as connection:
            return self._account(connection, dataset.strip())

    def accounts(self) -> list[Account]:
        """All data sets, by name."""
        with self._alone() as connection:
            names = connection.execute(sql.select(EVENTS.c.dataset).distinct().order_by(EVENTS.c.dataset)).scalars()
            return [self._account(connection, name) for name in list(names)]

    def entry(self, key: str) -> Entry | None:
        """The spend of that key."""
        with self._alone() as connection:
            return self._entry(connection, key)

    def verify(self, head: str = "") -> dict[str, Any]:
        """Recompute the chain: ``intact``, the number of events, the head, and the first event that does not fit.

        Args:
            head: one that was written down earlier, perhaps in a report: the chain must still pass through it, which
                shows that no event up to it was cut off, nor the whole log written anew.
        """
        previous, count, passed = "", 0, not head
        with self._alone() as connection:
            for count, row in enumerate(connection.execute(EVENTS.select().order_by(EVENTS.c.seq)).mappings(), 1):
                fits = row["seq"] == count and row["previous"] == previous and row["hash"] == _digest(row)
                if not fits:
                    return {"intact": False, "events": count, "head": row["hash"], "first_bad": row["seq"]}
                previous = row["hash"]
                passed = passed or previous == head.strip().lower()
        return {"intact": passed, "events": count, "head": previous, "first_bad": None}

    def _append(
        self, connection: sql.Connection, dataset: str, kind: str, key: str, payload: Mapping[str, Any]
    ) -> None:
        seq, previous = self._head(connection)
        row = {
            "seq": seq + 1,
            "at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "dataset": dataset,
            "kind": kind,
            "key": key,
            "payload": json.dumps(plain(dict(payload))),
            "previous": previous,
        }
        connection.execute(EVENTS.insert().values(**row, hash=_digest(row)))

    def _head(self, connection: sql.Connection) -> tuple[int, str]:
        row = connection.execute(sql.select(EVENTS.c.seq, EVENTS.c.hash).order_by(EVENTS.c.seq.desc()).limit(1)).first()
        return (0, "") if row is None else (row[0], row[1])

    def _dataset_of(self, connection: sql.Connection, key: str) -> str:
        found = self._entry(connection, key)
        if found is None:
            raise LedgerError("This release was never reserved in the ledger.")
        return found.dataset

    def _account(self, connection: sql.Connection, dataset: str) -> Account:
        rows = connection.execute(EVENTS.select().where(EVENTS.c.dataset == dataset).order_by(EVENTS.c.seq)).mappings()
        cap, found, after = None, [], {}
        for row in rows:
            if row["kind"] == "cap":
                cap = json.loads(row["payload"])["mu"]
            elif row["kind"] == "reserve":
                found.append(row)
            else:
                after[row["key"]] = row
        return Account(dataset, cap, tuple(_entry(row, after.get(row["key"])) for row in found))

    def _entry(self, connection: sql.Connection, key: str) -> Entry | None:
        rows = {row["kind"]: row for row in connection.execute(EVENTS.select().where(EVENTS.c.key == key)).mappings()}
        if "reserve" not in rows:
            return None
        return _entry(rows["reserve"], rows.get("release") or rows.get("fail"))


def default_url() -> str:
    """``PMT_LEDGER``, or a file in the user's data folder."""
    home = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    place = Path(home) / "second-moment"
    url = os.environ.get("PMT_LEDGER")
    if not url:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LedgerError(_sentence(error)) from None
    return url or str(place / "ledger.db")


def _entry(row: Row, after: Row | None) -> Entry:
    fields = json.loads(row["payload"])
    done = {} if after is None else json.loads(after["payload"])
    state = "reserved" if after is None else {"release": "released", "fail": "failed"}[after["kind"]]
    return Entry(
        seq=row["seq"],
        at=row["at"],
        dataset=row["dataset"],
        key=row["key"],
        method=fields["request"].get("method", ""),
        mu=fields["mu"],
        neighbours=fields["neighbours"],
        purpose=fields["purpose"],
        request=fields["request"],
        state=state,
        standing=done.get("standing", ""),
        record=done.get("record"),
        pure_epsilon=fields.get("pure_epsilon", 0.0),
        gaussian_mu=fields.get("gaussian_mu", 0.0),
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


def _digest(row: Row) -> str:
    parts = [row[name] for name in ("seq", "at", "dataset", "kind", "key", "payload", "previous")]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _named(text: str, what: str = "data set") -> str:
    """The name without blanks around it: 'survey ' and 'survey' have one cap."""
    name = text.strip()
    if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise LedgerError(f"A {what} needs a name of 1 to {NAME_LENGTH} printable characters.")
    return name


def _sentence(error: Exception) -> str:
    """One clear sentence; no statement, no parameter and no path of the driver's message."""
    text = str(getattr(error, "orig", error)).lower()
    reasons = {
        "readonly": "it is read-only",
        "read-only": "it is read-only",
        "full": "the disk is full",
        "locked": "another process holds it",
        "unable to open": "the file cannot be opened",
        "not a database": "the file is not a ledger",
        "permission": "access is refused",
        "no module": "its driver is not installed",
        "could not parse": "the URL is not a database URL",
    }
    why = next((words for sign, words in reasons.items() if sign in text), "the database does not answer")
    return f"The ledger cannot be used: {why}. Nothing was released; check --ledger and try again."
