"""Rules of a spend: a cap, a data set that is not retired, the unit of protection that its curator asks for."""

import sys
from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from pmtcore.accounting.budgets import Neighbours, Unit
from pmtcore.base.exports import plain
from pmtcore.base.messages import LedgerMessage, number_between, one_of
from pmtcore.ledger.account import Account, counted_mu
from pmtcore.ledger.chain import CapReached, LedgerError
from pmtcore.ledger.schema import NAME_LENGTH

MOST_PURE_EPSILON = 500.0  # e^500 is a number still
MOST_WORDS = 2000  # letters of a reason or a purpose


class SpendFields(TypedDict):
    """What a spend is, as the ledger keeps it, asked for or made; what is not given is left out.

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


def named(text: str, what: str = "data set") -> str:
    """Return the name without blanks around it: 'survey ' and 'survey' have one cap.

    Raises:
        LedgerError: it is empty, too long, or cannot be printed.
    """
    name = text.strip()
    if not 0 < len(name) <= NAME_LENGTH or not name.isprintable():
        raise LedgerError(LedgerMessage.NAME_FORM, thing=what, limit=NAME_LENGTH)
    return name


def keyed(key: str) -> str:
    """Return the key as it was handed out.

    Raises:
        LedgerError: it has blanks around it, or is no name.
    """
    if named(key, "key") != key:
        raise LedgerError(LedgerMessage.KEY_WITH_BLANKS)
    return key


def reasoned(reason: str, what: str) -> str:
    """Return a reason that is kept in the ledger.

    Raises:
        LedgerError: there is none.
    """
    if not reason.strip():
        raise LedgerError(LedgerMessage.REASON_NEEDED, action=what)
    return reason[:MOST_WORDS]


def spend(
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


def check(account: Account, fields: SpendFields) -> None:
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
