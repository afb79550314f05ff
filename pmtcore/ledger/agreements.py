"""Releases that two people agree to: one asks, another agrees or declines, then that very release may be made.

Each step is an event of the chain under one key. Where a curator wants it for a data set (and for all that spend
together with it) a spend without the agreement of a second person to exactly this request is refused by the ledger.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pmtcore.base.messages import LedgerMessage
from pmtcore.ledger import account, chain
from pmtcore.ledger.account import SpendFields
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.database import Database
from pmtcore.ledger.engines import Connection

_ANSWERS = {"agree": "agreed", "decline": "declined"}
# What was agreed to is what may be released: the same choices from the same rows.
_COMPARED = ("request", "mu", "neighbours", "choices", "unit", "tables")


@dataclass(frozen=True)
class PendingRequest:
    """A request for a release that waits for a second person, or was answered."""

    key: str
    at: str
    dataset: str
    by: str
    fields: SpendFields
    state: str = "asked"  # asked, agreed, declined, then what became of the spend: reserved, released, failed
    answered_by: str = ""
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        own = {name: value for name, value in vars(self).items() if name != "fields"}
        return {**own, **{name: self.fields.get(name) for name in ("request", "choices", "mu", "purpose", "unit")}}


class Agreements:
    """Requests and answers in one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, dataset: str, key: str, fields: SpendFields) -> PendingRequest:
        """Ask for a release; nothing is spent. The same again with its key changes nothing.

        Args:
            dataset: whose cap the release would count against.
            key: name of the release.
            fields: of the spend, with who asks.

        Raises:
            LedgerError: nobody asks, the cap would be passed, or the key belongs to something else.
        """
        dataset, key = account.checked_name(dataset), account.checked_key(key)
        if not fields.get("by"):
            raise LedgerError(LedgerMessage.NOBODY_ASKS)
        with self._database.writing() as connection:
            known = self._rows(connection, key).get("ask")
            if known is None and account.read_entry(connection, self._database.key, key) is not None:
                raise LedgerError(LedgerMessage.KEY_OF_ANOTHER_REQUEST)
            if known is None:
                account.check_spend(account.read_account(connection, self._database.key, dataset), fields)
                self._database.append(connection, dataset, "ask", key, payload=fields)
            elif known[0] != dataset or _differs(known[1], fields) or known[1]["by"] != fields["by"]:
                raise LedgerError(LedgerMessage.KEY_OF_ANOTHER_REQUEST)
        return self.one(key)

    def answer(self, key: str, agrees: bool, by: str, reason: str = "", *, role: str = "") -> PendingRequest:
        """Agree or decline, once; whoever asked cannot answer.

        Raises:
            LedgerError: nobody asked, it was answered, it is one's own, or it is declined without a reason.
        """
        if not by:
            raise LedgerError(LedgerMessage.NOBODY_ANSWERS)
        if not agrees:
            reason = account.checked_reason(reason, "it is declined")
        with self._database.writing() as connection:
            pending = self._pending(connection, key)
            if pending.by.casefold() == by.casefold():
                raise LedgerError(LedgerMessage.AGREES_WITH_THEMSELVES)
            if pending.state != "asked":
                raise LedgerError(LedgerMessage.ANSWERED_ALREADY, state=pending.state)
            if agrees:
                present = account.read_account(connection, self._database.key, pending.dataset)
                account.check_spend(present, pending.fields)
            kind = "agree" if agrees else "decline"
            said = {"by": by, "reason": reason[: account.MOST_WORDS], **({"role": role} if role else {})}
            self._database.append(connection, pending.dataset, kind, key, payload=said)
        return self.one(key)

    def one(self, key: str) -> PendingRequest:
        """Return what was asked for under this key.

        Raises:
            LedgerError: nothing.
        """
        with self._database.reading() as connection:
            return self._pending(connection, key)

    def all(self) -> list[PendingRequest]:
        """Return everything that was asked for, newest first."""
        with self._database.reading() as connection:
            keys = [row["key"] for row in account.events_of_kind(connection, "ask")]
            return [self._pending(connection, key) for key in reversed(keys)]

    def check(self, connection: Connection, dataset: str, key: str, fields: SpendFields) -> None:
        """Raise unless a second person agreed to this very spend.

        Raises:
            LedgerError: nobody asked or answered, it was declined, or it is another request.
        """
        if "ask" not in self._rows(connection, key):
            raise LedgerError(LedgerMessage.SECOND_PERSON_NEEDED, dataset=dataset)
        pending = self._pending(connection, key)
        if pending.state != "agreed":
            what = "has no agreement yet" if pending.state == "asked" else f"was {pending.state}"
            raise LedgerError(LedgerMessage.NOT_AGREED, dataset=dataset, state=what)
        if pending.dataset != dataset or _differs(pending.fields, fields):
            raise LedgerError(LedgerMessage.OTHER_THAN_AGREED)

    def _pending(self, connection: Connection, key: str) -> PendingRequest:
        rows = self._rows(connection, key)
        if "ask" not in rows:
            raise LedgerError(LedgerMessage.NOT_ASKED)
        dataset, fields, at = rows["ask"]
        state, answer = next(((_ANSWERS[kind], rows[kind][1]) for kind in _ANSWERS if kind in rows), ("asked", {}))
        spent = account.read_entry(connection, self._database.key, key)
        state = state if spent is None else spent.state
        answered_by, reason = answer.get("by", ""), answer.get("reason", "")
        return PendingRequest(key, at, dataset, fields["by"], cast(SpendFields, fields), state, answered_by, reason)

    def _rows(self, connection: Connection, key: str) -> dict[str, tuple[str, dict[str, Any], str]]:
        rows = account.events_of_key(connection, key)
        return {row["kind"]: (row["dataset"], chain.read(row, self._database.key), row["at"]) for row in rows}


def _differs(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    return any(one.get(name) != other.get(name) for name in _COMPARED)
