"""The chain of events: hashes, seals, and the fields that each kind of event must have.

Each event has the hash of the event before it, and a seal that only the ledger's key gives. Every event is checked each
time it is read; one that was changed, or has no seal, raises an error.
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

    Its sentence says nothing about the budget, since it may be raised before or after a spend. What was spent is stated
    by :class:`pmtcore.releases.outcome.SpendFailure`.
    """


class CapReached(LedgerError, CapError):
    """A spend would exceed the cap of its data set, or there is no cap."""


class Damaged(LedgerError):
    """The ledger differs from what was written.

    Attributes:
        kind: kind of damage.
        why: the same as a clause of a sentence.
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
        events: number of events, up to and including the first bad one.
        head: hash of the last of them.
        first_bad: number of the first event that was changed, or does not follow the one before it; ``None``: none.
        passed: whether the required hash is in the chain.
        sealed: number of events whose seal was checked with the key.
    """

    events: int
    head: str
    first_bad: int | None = None
    passed: bool = True
    sealed: int = 0


def digest(row: Row) -> str:
    """Return the hash of an event: SHA-256 of its fields and of the hash before it."""
    return hashlib.sha256(json.dumps([row[name] for name in _HASHED]).encode()).hexdigest()


def is_authentic(row: Row, key: bytes | None, *, legacy: bool = False) -> bool:
    """Return whether an event is unchanged: whether its hash and its seal are correct.

    Args:
        row: the event as it is in the table.
        key: the ledger's key; ``None``: that there is a seal is checked, but not the seal itself.
        legacy: whether the seal may be missing, as in events from before version 3 of the schema.
    """
    if row["hash"] != digest(row):
        return False
    if row["seal"] is None:
        return legacy
    return key is None or hmac.compare_digest(str(row["seal"]).encode(), seal(key, row["hash"]).encode())


def check_chain(
    rows: Iterable[Row], key: bytes | None, start: Head | None = None, required_hash: str = "", *, legacy: bool = False
) -> CheckedChain:
    """Check the chain from ``start`` on, up to the first bad event.

    Args:
        rows: events by their number, those after ``start``.
        key: the ledger's key; ``None``: seals cannot be checked.
        start: head up to which the chain was checked before; ``None``: all of it is checked.
        required_hash: a hash that must be in the chain; empty for none.
        legacy: whether events before the first sealed one may have no seal.
    """
    previous, count = ("", 0) if start is None else (start.hash, start.seq)
    passed, sealed = not required_hash or previous == required_hash, 0
    for row in rows:
        count += 1
        legacy = legacy and row["seal"] is None
        if row["seq"] != count or row["previous"] != previous or not is_authentic(row, key, legacy=legacy):
            return CheckedChain(count, str(row["hash"]), count, sealed=sealed)
        try:
            checked_fields(row)
        except Damaged:
            return CheckedChain(count, row["hash"], count, sealed=sealed)
        previous = row["hash"]
        passed = passed or previous == required_hash
        sealed += key is not None and row["seal"] is not None
    return CheckedChain(count, previous, None, passed, sealed)


def checked_fields(row: Row) -> dict[str, Any]:
    """Return the fields of an event, with types and ranges checked.

    Raises:
        Damaged: a field is missing, or is not of its type or range.
    """
    try:
        fields = json.loads(row["payload"])
        for name, fits in _FIELDS[row["kind"]].items():
            if not fits(fields.get(name)):
                raise ValueError(name)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Damaged(Damage.UNREADABLE_EVENT, event=row["seq"]) from None
    return dict(fields)


def authenticated_fields(row: Row, key: bytes | None) -> dict[str, Any]:
    """Return the fields of an event after checking its hash, its seal and their types.

    Args:
        row: the event as it is in the table.
        key: the ledger's key; ``None``: the seal itself is not checked.

    Raises:
        Damaged: it was changed, or has no seal.
    """
    if row["seal"] is None:
        raise Damaged(Damage.UNSEALED_EVENT, event=row["seq"])
    if not is_authentic(row, key):
        raise Damaged(Damage.BROKEN_CHAIN, event=row["seq"])
    return checked_fields(row)


def _number_test(low: float, high: float) -> Callable[[Any], bool]:
    """Return a test of numbers in a range."""
    return lambda value: isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high


def _text(value: object) -> bool:
    return isinstance(value, str)


def _table(value: object) -> bool:
    return isinstance(value, dict)


def _unit(value: object) -> bool:
    # Fields that are no unit raise an error, which the caller takes for damage.
    return isinstance(value, Mapping) and bool(Unit.from_dict(value))


def _optional(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


_RESERVE = {
    "request": _table,
    "mu": _number_test(0.0, 1000.0),
    "neighbours": lambda value: value in [item.value for item in Neighbours],
    "purpose": _text,
    "pure_epsilon": _optional(_number_test(0.0, 500.0)),
    "gaussian_mu": _optional(_number_test(0.0, 1000.0)),
    "choices": _optional(_table),
    "unit": _optional(_unit),
    "by": _optional(_text),
    "tables": _optional(_text),
}
# Who did it and in which role, where it is known.
_ACTOR_FIELDS = {"by": _optional(_text), "role": _optional(_text)}
_FIELDS: dict[str, dict[str, Callable[[Any], bool]]] = {
    "cap": {"mu": _number_test(0.0, 1000.0), **_ACTOR_FIELDS},
    "reserve": _RESERVE,
    "release": {"record": _table, "standing": _text},
    "fail": {"reason": _text},
    "accept": {"reason": _text},
    "table": {"fingerprint": _text, "rows": _number_test(0, 10**12)},
    "join": {"other": _text, "share": _number_test(0.0, 1.0)},
    "part": {"other": _text, "reason": _text, **_ACTOR_FIELDS},
    "retire": {"reason": _text, **_ACTOR_FIELDS},
    "register": {
        "private": _text,
        "public": _text,
        "unit": _unit,
        "second": lambda value: isinstance(value, bool),
        "schema": _optional(_table),
        **_ACTOR_FIELDS,
    },
    "ask": {**_RESERVE, "by": _text},
    "agree": {"by": _text, "reason": _text, "role": _optional(_text)},
    "decline": {"by": _text, "reason": _text, "role": _optional(_text)},
}
