"""Accounts of the ledger: of each data set its cap, its spends, what is left, and what a further spend must fulfil.

Every method is mu-GDP under replace-one (a purely epsilon-private one through the mu that it implies), so caps are
kept by ``sqrt(sum mu_i^2)``; the epsilon of the total takes purely private releases as what they are. A budget stated
under add-remove-one counts twice (proofs/ledger.md, 13). A release that protects responses alone counts as any other,
and the total of a data set that has one is a promise about responses alone (proofs/response.md, 5).
A spend must be within the cap, on a data set that is not retired, under the unit of protection its curator asks for.
All are read from events, and each event is checked before it counts.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired, TypedDict

from pmtcore.accounting.budgets import PERSON, Guarantee, Neighbours, Unit, compose
from pmtcore.accounting.mixed import mixed_epsilon
from pmtcore.base.exports import plain
from pmtcore.base.messages import LedgerMessage, number_between, one_of
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger import chain
from pmtcore.ledger.chain import CapReached, LedgerError
from pmtcore.ledger.database import NAME_LENGTH
from pmtcore.ledger.engines import Connection

_ROOM = 1 + 1e-12  # a cap may be used up to rounding
CAP_RANGE = (1e-6, 1000.0)  # total mu
START_CAP = 3.0  # total mu where nobody chose: at 5 % false alarms the best attacker detects 91 %
_DELTA = 1e-6  # where totals are stated when no entry names a delta
MOST_PURE_EPSILON = 500.0  # e^500 is a number still
MOST_WORDS = 2000  # letters of a reason or a purpose
Row = Mapping[str, Any]


def counted_mu(mu: float, neighbours: str) -> float:
    """Return a budget under replace-one, the relation of the caps: remove a row, then add one."""
    return 2 * mu if neighbours == Neighbours.ADD_REMOVE_ONE.value else mu


@dataclass(frozen=True)
class Entry:
    """One spend, with what became of it."""

    seq: int
    at: str
    dataset: str
    key: str
    method: str
    mu: float
    neighbours: str
    purpose: str
    request: Mapping[str, Any]
    state: str  # reserved, released, failed
    standing: str
    record: ReleaseRecord | None
    pure_epsilon: float = 0.0  # of a purely private part; then gaussian_mu is of the rest
    gaussian_mu: float = 0.0
    hash: str = ""  # of its event: a head that the log must pass through for ever
    choices: Mapping[str, Any] = field(default_factory=dict)  # about the table
    by: str = ""  # who released, where somebody is known

    @property
    def counted(self) -> float:
        """Return what it costs under replace-one: add-remove-one budgets count twice."""
        return counted_mu(self.mu, self.neighbours)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, the released record left out."""
        return {name: value for name, value in vars(self).items() if name not in ("record",)}


@dataclass(frozen=True)
class Account:
    """A data set's cap, spends and what is left; tables that overlap with it spend together with it."""

    dataset: str
    cap: float | None  # the smallest of all that spend together
    entries: tuple[Entry, ...]
    together: tuple[str, ...] = ()  # the other data sets
    retired: str = ""  # why nothing more may be spent
    units: tuple[Unit, ...] = ()  # what curators want people protected by
    second: bool = False  # whether a second person has to agree to each release

    @property
    def spent(self) -> float:
        """Return the total mu of all spends, whatever became of them."""
        return math.sqrt(math.fsum(entry.counted**2 for entry in self.entries))

    @property
    def left(self) -> float:
        """Return the largest single mu that the cap still allows."""
        return 0.0 if self.cap is None else math.sqrt(max(self.cap**2 - self.spent**2, 0.0))

    def total_with(self, counted: float) -> float:
        """Return the total mu with one more spend, under replace-one."""
        return math.hypot(self.spent, counted)

    def fits(self, counted: float) -> bool:
        """Return True where one more spend, under replace-one, stays within the cap, or where there is no cap yet."""
        return self.cap is None or self.total_with(counted) <= self.cap * _ROOM

    @property
    def neighbours(self) -> Neighbours:
        """Return the relation of the total: that of responses alone as soon as one spend protects no more."""
        relations = {entry.neighbours for entry in self.entries}
        responses = Neighbours.REPLACE_RESPONSE
        return responses if responses.value in relations else Neighbours.REPLACE_ONE

    def _mixed(self, delta: float) -> float:
        """Return the epsilon of all spends, with purely epsilon-private ones composed as such."""
        pure = [counted_mu(e.pure_epsilon, e.neighbours) for e in self.entries if e.pure_epsilon]
        if not pure:
            return math.inf
        rest = [counted_mu(e.gaussian_mu if e.pure_epsilon else e.mu, e.neighbours) for e in self.entries]
        return mixed_epsilon(compose(rest), pure, delta)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, the total in all three units."""
        stated = [float(entry.request["delta"]) for entry in self.entries if entry.request.get("delta")]
        delta = min(stated, default=_DELTA)
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
    """Fields of a spend as the ledger stores it; those that are not given are left out.

    Attributes:
        request: method, budget and parameters in plain fields.
        mu: what it costs under ``neighbours``, the relation between tables that the cost holds for.
        purpose: what the release is for.
        pure_epsilon, gaussian_mu: the part of the cost that is purely epsilon-private, and the mu of the rest.
        choices: what was chosen about the tables.
        unit: what people are protected by; left out: one row each.
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


def stripped_name(text: str, what: str = "data set") -> str:
    """Return a name to look up, without blanks around it.

    Raises:
        LedgerError: it is no text.
    """
    if not isinstance(text, str):
        raise LedgerError(LedgerMessage.NAME_FORM, thing=what, limit=NAME_LENGTH)
    return text.strip()


def checked_name(text: str, what: str = "data set") -> str:
    """Return the name without blanks around it: 'survey ' and 'survey' have one cap.

    Raises:
        LedgerError: it is no text, empty, too long, or cannot be printed.
    """
    name = stripped_name(text, what)
    if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise LedgerError(LedgerMessage.NAME_FORM, thing=what, limit=NAME_LENGTH)
    return name


def checked_key(key: str) -> str:
    """Return the key as it was handed out.

    Raises:
        LedgerError: it has blanks around it, or is no name.
    """
    if checked_name(key, "key") != key:
        raise LedgerError(LedgerMessage.KEY_WITH_BLANKS)
    return key


def checked_reason(reason: str, what: str) -> str:
    """Return a reason that is kept in the ledger.

    Raises:
        LedgerError: there is none.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise LedgerError(LedgerMessage.REASON_NEEDED, action=what)
    return reason[:MOST_WORDS]


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
        mu: what it costs.
        neighbours: relation between tables that the cost holds for.
        purpose: what the release is for.
        pure_epsilon: the part of the cost that is purely epsilon-private; beyond :data:`MOST_PURE_EPSILON` (many rows
            of a person) the whole cost is entered as the mu that it implies.
        gaussian_mu: the rest of the cost, mu-GDP.
        choices: what was chosen about the tables.
        unit: what people are protected by; ``None``: one row each.
        by: who releases.
        tables: keyed digest of the tables, where a second person agrees to what is made from them.

    Raises:
        InputError: one is out of range.
    """
    cost = number_between("mu", mu, 0.0, 1000.0)
    relation = one_of("neighbours", neighbours, [item.value for item in Neighbours])
    fields: SpendFields = {
        "request": plain(dict(request)),
        "mu": cost,
        "neighbours": relation,
        "purpose": purpose[:MOST_WORDS],
    }
    if 0 < number_between("epsilon", pure_epsilon, 0.0, sys.float_info.max) <= MOST_PURE_EPSILON:
        fields["pure_epsilon"] = pure_epsilon
        fields["gaussian_mu"] = number_between("mu", gaussian_mu, 0.0, cost)
    if choices:
        fields["choices"] = plain(dict(choices))
    if unit is not None and unit != Unit():
        fields["unit"] = unit.as_dict()
    if by:
        fields["by"] = by[:NAME_LENGTH]
    if tables:
        fields["tables"] = tables
    return fields


def check_spend(account: Account, fields: SpendFields) -> None:
    """Raise unless a spend may be taken from this account.

    Raises:
        LedgerError: no cap, retired, another unit than the curator's, or beyond the cap.
    """
    name = account.dataset
    if account.cap is None:
        raise CapReached(LedgerMessage.NO_CAP, dataset=name, command=_how_to_cap(name))
    if account.retired:
        raise LedgerError(LedgerMessage.RETIRED, dataset=name, reason=account.retired)
    unit = Unit.from_dict(fields.get("unit", {}))
    for wanted in account.units:
        if not unit.covers(wanted):
            raise LedgerError(LedgerMessage.OTHER_UNIT, dataset=name, unit=wanted.words)
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
    """Return how the cap of a data set is set, on the command line and in Python."""
    typed = f"ledger cap --dataset {name!r} --mu M --reason WHY"
    return f"'{typed}' (with the same --ledger, if one was named), or Ledger(...).cap({name!r}, M)"


def read_entry(connection: Connection, seal: bytes | None, key: str) -> Entry | None:
    """Return the spend of that key."""
    rows = {row["kind"]: row for row in events_of_key(connection, key)}
    if "reserve" not in rows:
        return None
    by_kind = {kind: (kind, chain.read(row, seal)) for kind, row in rows.items()}
    return _entry(rows["reserve"], by_kind["reserve"][1], by_kind.get("release") or by_kind.get("fail"))


def joined_pairs(connection: Connection, seal: bytes | None) -> dict[frozenset[str], bool]:
    """Return pairs of data sets that were joined, or parted, by what was said last."""
    return {
        frozenset((row["dataset"], chain.read(row, seal)["other"])): row["kind"] == "join"
        for row in events_of_kind(connection, "join", "part")
    }


def events_of_key(connection: Connection, key: str) -> Iterator[Row]:
    """Yield all events of a key."""
    return connection.rows("SELECT * FROM pmt_events WHERE key = :key", key=key)


def events_of_kind(connection: Connection, kind: str, other: str = "") -> Iterator[Row]:
    """Yield all events of one or two kinds, oldest first."""
    statement = "SELECT * FROM pmt_events WHERE kind = :kind OR kind = :other ORDER BY seq"
    return connection.rows(statement, kind=kind, other=other or kind)


def read_account(connection: Connection, seal: bytes | None, dataset: str, others: Iterable[str] = ()) -> Account:
    """Return the account of a data set with all that spend together with it.

    Args:
        connection: open, in a transaction.
        seal: the ledger's key; ``None``: it is not here.
        dataset: name of the data set.
        others: data sets that it would be joined with.
    """
    said = joined_pairs(connection, seal)
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
