"""The chain of events: hashes, seals, and what a payload must hold to be believed.

Each event holds the hash of the one before it, and a seal that needs the ledger's key. An event that is read is
checked again, whatever its kind: a changed one, and one without a seal, is a sentence and never believed.
"""

import hashlib
import hmac
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pmtcore.accounting.budgets import Neighbours, Unit
from pmtcore.base.messages import CapError, Damage, InputError, LedgerMessage
from pmtcore.ledger.sidecar import Head, seal

Row = Mapping[str, Any]
_HASHED = ("seq", "at", "dataset", "kind", "key", "payload", "previous")


class LedgerError(InputError):
    """The ledger cannot do what was asked of it.

    Its sentence says nothing about spends: the same error comes before and after one. Whoever makes a release says
    what became of the budget (:class:`pmtcore.releases.outcome.SpendFailure`).
    """


class CapReached(LedgerError, CapError):
    """The cap of a data set refuses a spend, or there is none."""


class Damaged(LedgerError):
    """The ledger is not what was written.

    Attributes:
        kind: how it differs.
        why: the same as a clause.
    """

    kind: Damage

    def __init__(self, kind: Damage, /, **facts: object) -> None:
        self.why = kind.sentence(**facts)
        super().__init__(LedgerMessage.DAMAGED, reason=self.why, **facts)
        self.kind = kind


@dataclass(frozen=True)
class CheckedChain:
    """Result of checking the chain.

    Attributes:
        events: how many events there are, up to the first bad one.
        head: hash of the last of them.
        first_bad: number of the first event that does not fit.
        passed: whether the chain passes through the head that was asked for.
        sealed: how many events have a seal that was checked with the key.
    """

    events: int
    head: str
    first_bad: int | None = None
    passed: bool = True
    sealed: int = 0


def digest(row: Row) -> str:
    """Return the hash of an event."""
    return hashlib.sha256(json.dumps([row[name] for name in _HASHED]).encode()).hexdigest()


def is_authentic(row: Row, key: bytes | None, *, legacy: bool = False) -> bool:
    """Return whether an event is what was written: its hash fits, and so does its seal.

    Args:
        row: the event as it lies in the table.
        key: the ledger's key; without it a seal must be there and cannot be checked.
        legacy: whether an event may be without a seal, as programs before version 3 of the schema wrote it.
    """
    if row["hash"] != digest(row):
        return False
    if row["seal"] is None:
        return legacy
    return key is None or hmac.compare_digest(str(row["seal"]), seal(key, row["hash"]))


def walk(
    rows: Iterable[Row], key: bytes | None, start: Head | None = None, required_hash: str = "", *, legacy: bool = False
) -> CheckedChain:
    """Walk the chain from ``start``, or from its beginning.

    Args:
        rows: events in their order.
        key: the ledger's key, with which seals are checked; ``None``: it is not here.
        start: head of what was checked before; ``None``: from the first event.
        required_hash: a hash that the chain must come through, empty for none.
        legacy: whether the first events may be without a seal, up to the first one that has one.
    """
    previous, count = ("", 0) if start is None else (start.hash, start.seq)
    passed, sealed = not required_hash or previous == required_hash, 0
    for row in rows:
        count += 1
        legacy = legacy and row["seal"] is None
        if row["seq"] != count or row["previous"] != previous or not is_authentic(row, key, legacy=legacy):
            return CheckedChain(count, str(row["hash"]), count, sealed=sealed)
        try:
            payload(row)
        except Damaged:
            return CheckedChain(count, row["hash"], count, sealed=sealed)
        previous = row["hash"]
        passed = passed or previous == required_hash
        sealed += key is not None and row["seal"] is not None
    return CheckedChain(count, previous, None, passed, sealed)


def payload(row: Row) -> dict[str, Any]:
    """Return the fields of an event, each checked for its type.

    Raises:
        Damaged: they are not.
    """
    try:
        fields = json.loads(row["payload"])
        for name, fits in _FIELDS[row["kind"]].items():
            if not fits(fields.get(name)):
                raise ValueError(name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Damaged(Damage.UNREADABLE_EVENT, event=row["seq"]) from None
    return dict(fields)


def read(row: Row, key: bytes | None) -> dict[str, Any]:
    """Return the fields of an event that is checked before it is believed.

    Raises:
        Damaged: it is not what was written, or has no seal.
    """
    if row["seal"] is None:
        raise Damaged(Damage.UNSEALED_EVENT, event=row["seq"])
    if not is_authentic(row, key):
        raise Damaged(Damage.BROKEN_CHAIN, event=row["seq"])
    return payload(row)


def _amount(low: float, high: float) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _text(value: object) -> bool:
    return isinstance(value, str)


def _table(value: object) -> bool:
    return isinstance(value, dict)


def _unit(value: object) -> bool:
    return isinstance(value, Mapping) and bool(Unit.from_dict(value))  # raises where it is none


def _if_any(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_RESERVE = {
    "request": _table,
    "mu": _amount(0.0, 1000.0),
    "neighbours": lambda value: value in [item.value for item in Neighbours],
    "purpose": _text,
    "pure_epsilon": _if_any(_amount(0.0, 500.0)),
    "gaussian_mu": _if_any(_amount(0.0, 1000.0)),
    "choices": _if_any(_table),
    "unit": _if_any(_unit),
    "by": _if_any(_text),
    "tables": _if_any(_text),
}
# Who did it, and in which role, where somebody is known.
_SAID = {"by": _if_any(_text), "role": _if_any(_text)}
_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "cap": {"mu": _amount(0.0, 1000.0), **_SAID},
    "reserve": _RESERVE,
    "release": {"record": _table, "standing": _text},
    "fail": {"reason": _text},
    "accept": {"reason": _text},
    "table": {"fingerprint": _text, "rows": _amount(0, 10**12)},
    "join": {"other": _text, "share": _amount(0.0, 1.0)},
    "part": {"other": _text, "reason": _text, **_SAID},
    "retire": {"reason": _text, **_SAID},
    "register": {
        "private": _text,
        "public": _text,
        "unit": _unit,
        "second": lambda value: isinstance(value, bool),
        "schema": _if_any(_table),
        **_SAID,
    },
    "ask": {**_RESERVE, "by": _text},
    "agree": {"by": _text, "reason": _text, "role": _if_any(_text)},
    "decline": {"by": _text, "reason": _text, "role": _if_any(_text)},
}
