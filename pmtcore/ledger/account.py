"""Accounts of data sets: cap, spends, remaining budget, and the conditions of a further spend.

Every method is mu-GDP under replace-one (a purely epsilon-private one through the mu that it implies), so the total
that is compared with the cap is ``sqrt(sum mu_i^2)``; the epsilon of the total composes purely private releases as
such. A budget stated under add-remove-one counts twice (proofs/ledger.md, 13). A release that protects responses alone
counts in full, and the total of a data set with such a release protects responses alone (proofs/response.md, 5).
A spend must stay within the cap, on a data set that is not retired, under the unit of protection that its curator
requires. Accounts are computed from events, each of which is checked when it is read.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from pmtcore.accounting.budgets import PERSON, Guarantee, Neighbours, Unit, compose
from pmtcore.accounting.mixed import mixed_epsilon
from pmtcore.base.exports import plain_json
from pmtcore.base.messages import LedgerMessage, number_between, one_of
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger import chain
from pmtcore.ledger.chain import CapReached, LedgerError
from pmtcore.ledger.database import NAME_LENGTH, TEXT_LENGTH
from pmtcore.ledger.engines import Connection

_CAP_ROUNDING = 1 + 1e-12  # a total may exceed its cap by this factor, through rounding
CAP_RANGE = (1e-6, 1000.0)  # smallest and largest cap, as total mu
# Cap, as total mu, where nobody chose one: the best test with 5 % false alarms then detects a row with power 91 %.
START_CAP = 3.0
_DEFAULT_DELTA = 1e-6  # of a total, where no spend states a delta
MOST_PURE_EPSILON = 500.0  # e^500 is still a floating-point number
Row = Mapping[str, Any]


def counted_mu(mu: float, neighbours: str) -> float:
    """Return the cost under replace-one, in which caps are stated: twice an add-remove-one budget."""
    return 2 * mu if neighbours == Neighbours.ADD_REMOVE_ONE.value else mu


@dataclass(frozen=True)
class Entry:
    """One spend and its result.

    Attributes:
        seq: number of its event.
        at: time of the event, ISO 8601 in UTC.
        dataset: whose cap it counts against.
        key: name of the release.
        method: id of the method.
        mu: cost under ``neighbours``.
        neighbours: relation between tables that the cost holds for.
        purpose: what the release is for.
        request: method, budget and parameters in plain fields.
        state: ``reserved``, ``released`` or ``failed``.
        standing: of the release; empty before there is one.
        record: of the release, where there is one.
        pure_epsilon: epsilon of a purely private part; 0: there is none.
        gaussian_mu: mu of the rest, where there is such a part.
        hash: of its event; a log that still contains the spend has this hash in its chain.
        choices: what was chosen about the table.
        by: who made the release, where it is known.
    """

    seq: int
    at: str
    dataset: str
    key: str
    method: str
    mu: float
    neighbours: str
    purpose: str
    request: Mapping[str, Any]
    state: str
    standing: str
    record: ReleaseRecord | None
    pure_epsilon: float = 0.0
    gaussian_mu: float = 0.0
    hash: str = ""
    choices: Mapping[str, Any] = field(default_factory=dict)
    by: str = ""

    @property
    def counted_mu(self) -> float:
        """Return the cost under replace-one."""
        return counted_mu(self.mu, self.neighbours)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, the released record left out."""
        return {name: value for name, value in vars(self).items() if name != "record"}


@dataclass(frozen=True)
class Account:
    """Cap and spends of a data set and of all data sets joined with it.

    Attributes:
        dataset: its name.
        cap: smallest of their caps, as total mu; ``None``: none of them has one.
        entries: spends of all of them, oldest first.
        together: names of the other data sets.
        retired: why nothing more may be spent; empty: it may.
        units: units of protection that curators require.
        second: whether a second person has to agree to each release.
    """

    dataset: str
    cap: float | None
    entries: tuple[Entry, ...]
    together: tuple[str, ...] = ()
    retired: str = ""
    units: tuple[Unit, ...] = ()
    second: bool = False

    @property
    def spent(self) -> float:
        """Return the total mu of all spends, those of failed releases included."""
        return math.sqrt(math.fsum(entry.counted_mu**2 for entry in self.entries))

    @property
    def left(self) -> float:
        """Return the largest mu under replace-one of one more spend within the cap; 0 without a cap."""
        return 0.0 if self.cap is None else math.sqrt(max(self.cap**2 - self.spent**2, 0.0))

    def total_with(self, counted: float) -> float:
        """Return the total mu with one more spend of this mu, under replace-one."""
        return math.hypot(self.spent, counted)

    def fits(self, counted: float) -> bool:
        """Return whether the total with one more spend stays within the cap; True without a cap."""
        return self.cap is None or self.total_with(counted) <= self.cap * _CAP_ROUNDING

    @property
    def neighbours(self) -> Neighbours:
        """Return the neighbours of the total: a single spend that protects responses alone limits it to responses."""
        relations = {entry.neighbours for entry in self.entries}
        responses = Neighbours.REPLACE_RESPONSE
        return responses if responses.value in relations else Neighbours.REPLACE_ONE

    def _mixed(self, delta: float) -> float:
        """Return the total epsilon at delta with purely private parts composed as such; infinite without one."""
        pure = [counted_mu(e.pure_epsilon, e.neighbours) for e in self.entries if e.pure_epsilon]
        if not pure:
            return math.inf
        gaussian = [counted_mu(e.gaussian_mu if e.pure_epsilon else e.mu, e.neighbours) for e in self.entries]
        return mixed_epsilon(compose(gaussian), pure, delta)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, with the total as mu, rho and epsilon at the smallest delta that a spend states."""
        stated = [float(entry.request["delta"]) for entry in self.entries if entry.request.get("delta")]
        delta = min(stated, default=_DEFAULT_DELTA)
        total = Guarantee(self.spent, self.neighbours, delta, PERSON)
        epsilon = min(total.epsilon, self._mixed(delta))
        return {
            "dataset": self.dataset,
            "cap": self.cap,
            "spent": {
                **{"mu": total.mu, "rho": total.rho, "epsilon": epsilon, "delta": delta},
                **({} if total.neighbours is Neighbours.REPLACE_ONE else {"neighbours": total.neighbours.value}),
            },
            "left": self.left,
            "together": list(self.together),
            "retired": self.retired,
            **({"units": [unit.as_dict() for unit in self.units]} if self.units else {}),
            **({"second_person": True} if self.second else {}),
            "entries": [entry.as_dict() for entry in self.entries],
        }


class SpendFields(TypedDict):
    """Fields of a spend as the ledger stores it; optional fields that are empty are not stored.

    Attributes:
        request: method, budget and parameters in plain fields.
        mu: cost under ``neighbours``, the relation between tables that it holds for.
        purpose: what the release is for.
        pure_epsilon, gaussian_mu: epsilon of the purely private part of the cost, and mu of the rest.
        choices: what was chosen about the tables.
        unit: unit of protection; not stored where it is one row.
        by: who releases.
        tables: keyed digest of the tables, where a second person agrees to what is made from them.
    """

    request: Mapping[str, Any]
    mu: float
    neighbours: str
    purpose: str
    pure_epsilon: NotRequired[float]
    gaussian_mu: NotRequired[float]
    choices: NotRequired[Mapping[str, Any]]
    unit: NotRequired[Mapping[str, Any]]
    by: NotRequired[str]
    tables: NotRequired[str]


def stripped_name(text: str, thing: str = "data set") -> str:
    """Return a name without blanks around it, to look up.

    Raises:
        LedgerError: it is not text.
    """
    if not isinstance(text, str):
        raise LedgerError(LedgerMessage.NAME_FORM, thing=thing, limit=NAME_LENGTH)
    return text.strip()


def checked_name(text: str, thing: str = "data set") -> str:
    """Return the name without blanks around it: 'survey ' and 'survey' have one cap.

    Raises:
        LedgerError: it is not text, empty, too long, or not printable.
    """
    name = stripped_name(text, thing)
    if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise LedgerError(LedgerMessage.NAME_FORM, thing=thing, limit=NAME_LENGTH)
    return name


def checked_key(key: str) -> str:
    """Return the key of a release unchanged.

    Raises:
        LedgerError: it has blanks around it, or is not a valid name.
    """
    if checked_name(key, "key") != key:
        raise LedgerError(LedgerMessage.KEY_WITH_BLANKS)
    return key


def checked_reason(reason: str, action: str) -> str:
    """Return a reason for the ledger, cut at its maximal length.

    Args:
        reason: as typed.
        action: clause that the reason is for, for the error.

    Raises:
        LedgerError: it is empty.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise LedgerError(LedgerMessage.REASON_NEEDED, action=action)
    return reason[:TEXT_LENGTH]


def spend_fields(
    request: Mapping[str, Any],
    mu: float,
    neighbours: str,
    purpose: str = "",
    *,
    pure_epsilon: float = 0.0,
    gaussian_mu: float = 0.0,
    choices: Mapping[str, Any] | None = None,
    unit: Unit | None = None,
    by: str = "",
    tables: str = "",
) -> SpendFields:
    """Return the fields of a spend, each checked; see :class:`SpendFields`.

    Args:
        request: method, budget and parameters in plain fields.
        mu: its cost.
        neighbours: relation between tables that the cost holds for.
        purpose: what the release is for.
        pure_epsilon: epsilon of the purely private part of the cost. Beyond :data:`MOST_PURE_EPSILON` (many rows
            of a person) it is left out, and the whole cost counts as ``mu``.
        gaussian_mu: mu of the rest of the cost.
        choices: what was chosen about the tables.
        unit: unit of protection; ``None``: one row.
        by: who releases.
        tables: keyed digest of the tables, where a second person agrees to what is made from them.

    Raises:
        InputError: a field is out of range.
    """
    cost = number_between("mu", mu, 0.0, 1000.0)
    relation = one_of("neighbours", neighbours, [item.value for item in Neighbours])
    fields: SpendFields = {
        "request": plain_json(dict(request)),
        "mu": cost,
        "neighbours": relation,
        "purpose": purpose[:TEXT_LENGTH],
    }
    if 0 < number_between("epsilon", pure_epsilon, 0.0, sys.float_info.max) <= MOST_PURE_EPSILON:
        fields["pure_epsilon"] = pure_epsilon
        fields["gaussian_mu"] = number_between("mu", gaussian_mu, 0.0, cost)
    if choices:
        fields["choices"] = plain_json(dict(choices))
    if unit is not None and unit != Unit():
        fields["unit"] = unit.as_dict()
    if by:
        fields["by"] = by[:NAME_LENGTH]
    if tables:
        fields["tables"] = tables
    return fields


def check_spend(account: Account, fields: SpendFields) -> None:
    """Check that a spend may be made from this account.

    Raises:
        LedgerError: the data set has no cap, is retired, requires another unit of protection, or has too little left.
    """
    name = account.dataset
    if account.cap is None:
        raise CapReached(LedgerMessage.NO_CAP, dataset=name, command=_how_to_cap(name))
    if account.retired:
        raise LedgerError(LedgerMessage.RETIRED, dataset=name, reason=account.retired)
    unit = Unit.from_dict(fields.get("unit", {}))
    for required in account.units:
        if not unit.covers(required):
            raise LedgerError(LedgerMessage.OTHER_UNIT, dataset=name, unit=required.words)
    counted = counted_mu(fields["mu"], fields["neighbours"])
    if not account.fits(counted):
        kind = LedgerMessage.BEYOND_CAP_TOGETHER if account.together else LedgerMessage.BEYOND_CAP
        raise CapReached(
            kind,
            dataset=name,
            spent=account.spent,
            cap=account.cap,
            left=account.left,
            mu=counted,
            datasets=account.together,
            command=_how_to_cap(name),
        )


def _how_to_cap(name: str) -> str:
    """Return the command line and the Python call that set the cap of a data set."""
    command = f"ledger cap --dataset {name!r} --mu M --reason WHY"
    return f"'{command}' (with the same --ledger, if one was named), or Ledger(...).cap({name!r}, M)"


def read_entry(connection: Connection, seal: bytes | None, key: str) -> Entry | None:
    """Return the spend of a release by its key; ``None``: there is none.

    Args:
        connection: open, in a transaction.
        seal: the ledger's key; ``None``: seals cannot be checked.
        key: name of the release.

    Raises:
        Damaged: an event is not what was written.
    """
    rows = {row["kind"]: row for row in events_of_key(connection, key)}
    if "reserve" not in rows:
        return None
    by_kind = {kind: (kind, chain.authenticated_fields(row, seal)) for kind, row in rows.items()}
    return _entry(rows["reserve"], by_kind["reserve"][1], by_kind.get("release") or by_kind.get("fail"))


def joined_pairs(connection: Connection, seal: bytes | None) -> dict[frozenset[str], bool]:
    """Return whether two data sets are joined, of each pair that was joined or parted before: the last event counts."""
    return {
        frozenset((row["dataset"], chain.authenticated_fields(row, seal)["other"])): row["kind"] == "join"
        for row in events_of_kind(connection, "join", "part")
    }


def events_of_key(connection: Connection, key: str) -> Iterator[Row]:
    """Yield all events of a release, by its key."""
    return connection.rows("SELECT * FROM pmt_events WHERE key = :key", key=key)


def events_of_kind(connection: Connection, kind: str, other: str = "") -> Iterator[Row]:
    """Yield all events of one or two kinds, oldest first."""
    statement = "SELECT * FROM pmt_events WHERE kind = :kind OR kind = :other ORDER BY seq"
    return connection.rows(statement, kind=kind, other=other or kind)


def read_account(connection: Connection, seal: bytes | None, dataset: str, others: Iterable[str] = ()) -> Account:
    """Return the account of a data set and of those joined with it.

    Args:
        connection: open, in a transaction.
        seal: the ledger's key; ``None``: seals cannot be checked.
        dataset: name of the data set.
        others: data sets that it would be joined with.

    Raises:
        Damaged: an event is not what was written.
    """
    is_joined = joined_pairs(connection, seal)
    pairs = [pair for pair, joined in is_joined.items() if joined]
    pairs += [pair for name in others if (pair := frozenset((dataset, name))) not in is_joined]
    group, size = {dataset}, 0
    while len(group) > size:
        size = len(group)
        group |= {name for pair in pairs if pair & group for name in pair}
    accounts = [_account_without_others(connection, seal, name) for name in sorted(group)]
    caps = [account.cap for account in accounts if account.cap is not None]
    return Account(
        dataset,
        min(caps, default=None),
        tuple(sorted((entry for account in accounts for entry in account.entries), key=lambda entry: entry.seq)),
        tuple(sorted(group - {dataset})),
        next((account.retired for account in accounts if account.retired), ""),
        tuple(unit for account in accounts for unit in account.units),
        any(account.second for account in accounts),
    )


def _account_without_others(connection: Connection, seal: bytes | None, dataset: str) -> Account:
    """Return the account of a data set by itself."""
    rows = connection.rows("SELECT * FROM pmt_events WHERE dataset = :dataset ORDER BY seq", dataset=dataset)
    reserved: list[tuple[Row, Mapping[str, Any]]] = []
    results: dict[str, tuple[str, Mapping[str, Any]]] = {}  # kind and fields, by key of the release
    latest: dict[str, Mapping[str, Any]] = {}  # fields of the newest event of each kind
    for row in rows:
        fields, kind = chain.authenticated_fields(row, seal), row["kind"]
        latest[kind] = fields
        if kind == "reserve":
            reserved.append((row, fields))
        elif kind in ("release", "fail"):
            results[row["key"]] = (kind, fields)
    entries = tuple(_entry(row, fields, results.get(row["key"])) for row, fields in reserved)
    cap = float(latest["cap"]["mu"]) if "cap" in latest else None
    registered = latest.get("register")
    units = () if registered is None else (Unit.from_dict(registered["unit"]),)
    return Account(
        dataset,
        cap,
        entries,
        (),
        latest.get("retire", {}).get("reason", ""),
        units,
        bool(registered and registered["second"]),
    )


def _entry(row: Row, fields: Mapping[str, Any], result: tuple[str, Mapping[str, Any]] | None) -> Entry:
    """Return the spend of an event.

    Args:
        row: the event.
        fields: its fields, checked.
        result: kind and fields of the event that ended it, if there is one.
    """
    kind, ending = ("", {}) if result is None else result
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
        standing=ending.get("standing", ""),
        record=ending.get("record"),
        pure_epsilon=fields.get("pure_epsilon", 0.0),
        gaussian_mu=fields.get("gaussian_mu", 0.0),
        hash=row["hash"],
        choices=fields.get("choices", {}),
        by=fields.get("by", ""),
    )
