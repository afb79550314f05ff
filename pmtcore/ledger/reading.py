"""Entries, accounts and data sets that spend together, read from events; each event is checked before it counts."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pmtcore.accounting.budgets import Unit
from pmtcore.ledger import chain
from pmtcore.ledger.account import Account, Entry
from pmtcore.ledger.engines import Connection

Row = Mapping[str, Any]


def entry(connection: Connection, seal: bytes | None, key: str) -> Entry | None:
    """Return the spend of that key."""
    rows = {row["kind"]: row for row in of_key(connection, key)}
    if "reserve" not in rows:
        return None
    by_kind = {kind: (kind, chain.read(row, seal)) for kind, row in rows.items()}
    return _entry(rows["reserve"], by_kind["reserve"][1], by_kind.get("release") or by_kind.get("fail"))


def joins(connection: Connection, seal: bytes | None) -> dict[frozenset[str], bool]:
    """Return pairs of data sets that were joined, or parted, by what was said last."""
    return {
        frozenset((row["dataset"], chain.read(row, seal)["other"])): row["kind"] == "join"
        for row in of_kind(connection, "join", "part")
    }


def of_key(connection: Connection, key: str) -> Iterator[Row]:
    """Yield all events of a key."""
    return connection.rows("SELECT * FROM pmt_events WHERE key = :key", key=key)


def of_kind(connection: Connection, kind: str, other: str = "") -> Iterator[Row]:
    """Yield all events of one or two kinds, oldest first."""
    statement = "SELECT * FROM pmt_events WHERE kind = :kind OR kind = :other ORDER BY seq"
    return connection.rows(statement, kind=kind, other=other or kind)


def account(connection: Connection, seal: bytes | None, dataset: str, others: Iterable[str] = ()) -> Account:
    """Return the account of a data set with all that spend together with it.

    Args:
        connection: open, in a transaction.
        seal: the ledger's key; ``None``: it is not here.
        dataset: name of the data set.
        others: data sets that it would be joined with.
    """
    said = joins(connection, seal)
    joined = [pair for pair, together in said.items() if together]
    joined += [pair for name in others if (pair := frozenset((dataset, name))) not in said]
    group, before = {dataset}, 0
    while len(group) > before:
        before = len(group)
        group |= {name for pair in joined if pair & group for name in pair}
    parts = [_account_without_others(connection, seal, name) for name in sorted(group)]
    caps = [part.cap for part in parts if part.cap is not None]
    return Account(
        dataset,
        min(caps, default=None),
        tuple(sorted((entry for part in parts for entry in part.entries), key=lambda entry: entry.seq)),
        tuple(sorted(group - {dataset})),
        next((part.retired for part in parts if part.retired), ""),
        tuple(unit for part in parts for unit in part.units),
        any(part.second for part in parts),
    )


def _account_without_others(connection: Connection, seal: bytes | None, dataset: str) -> Account:
    rows = connection.rows("SELECT * FROM pmt_events WHERE dataset = :dataset ORDER BY seq", dataset=dataset)
    reserved: list[tuple[Row, Mapping[str, Any]]] = []
    after: dict[str, tuple[str, Mapping[str, Any]]] = {}
    last: dict[str, Mapping[str, Any]] = {}  # what was said last, by kind
    for row in rows:
        fields, kind = chain.read(row, seal), row["kind"]
        last[kind] = fields
        if kind == "reserve":
            reserved.append((row, fields))
        elif kind in ("release", "fail"):
            after[row["key"]] = (kind, fields)
    entries = tuple(_entry(row, fields, after.get(row["key"])) for row, fields in reserved)
    cap = float(last["cap"]["mu"]) if "cap" in last else None
    registered = last.get("register")
    units = () if registered is None else (Unit.from_dict(registered["unit"]),)
    return Account(
        dataset,
        cap,
        entries,
        (),
        last.get("retire", {}).get("reason", ""),
        units,
        bool(registered and registered["second"]),
    )


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
        choices=fields.get("choices", {}),
        by=fields.get("by", ""),
    )
