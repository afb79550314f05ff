"""Releases that a second person must approve: one asks, another agrees or declines, then the release may be made.

Each step is an event of the chain under the key of the release. Where a curator requires approval for a data set (and
so for all joined with it), the ledger refuses a spend unless a second person agreed to exactly this request.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from pmtcore.base.messages import LedgerMessage
from pmtcore.ledger import account, chain
from pmtcore.ledger.account import SpendFields
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.database import TEXT_LENGTH, Database
from pmtcore.ledger.engines import Connection

_ANSWERS = {"agree": "agreed", "decline": "declined"}
# Fields of a spend that must equal those agreed to, so that it is the same release from the same rows.
_AGREED_FIELDS = ("request", "mu", "neighbours", "choices", "unit", "tables")


@dataclass(frozen=True)
class PendingRequest:
    """A request for a release, and its answer.

    Attributes:
        key: name of the release.
        at: time of the request, ISO 8601 in UTC.
        dataset: whose cap the release counts against.
        by: who asked.
        fields: of the spend.
        state: ``asked``, ``agreed`` or ``declined``; after a spend ``reserved``, ``released`` or ``failed``.
        answered_by: who agreed or declined.
        reason: of the answer.
    """

    key: str
    at: str
    dataset: str
    by: str
    fields: SpendFields
    state: str = "asked"
    answered_by: str = ""
    reason: str = ""

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, those of the spend that a second person decides by among them."""
        others = {name: value for name, value in vars(self).items() if name != "fields"}
        return {**others, **{name: self.fields.get(name) for name in ("request", "choices", "mu", "purpose", "unit")}}


class Agreements:
    """Requests and answers in one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def ask(self, dataset: str, key: str, fields: SpendFields) -> PendingRequest:
        """Ask for a release; nothing is spent. Asking again with the same key and fields changes nothing.

        Args:
            dataset: whose cap the release would count against.
            key: name of the release.
            fields: of the spend, which state who asks.

        Raises:
            LedgerError: it is not stated who asks, the cap would be exceeded, or the key belongs to another request.
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
        """Agree or decline, once; the person who asked cannot answer.

        Raises:
            LedgerError: there is no such request, it was answered or is one's own, the cap would be exceeded, or it is
                declined without a reason.
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
                current = account.read_account(connection, self._database.key, pending.dataset)
                account.check_spend(current, pending.fields)
            kind = "agree" if agrees else "decline"
            answer = {"by": by, "reason": reason[:TEXT_LENGTH], **({"role": role} if role else {})}
            self._database.append(connection, pending.dataset, kind, key, payload=answer)
        return self.one(key)

    def one(self, key: str) -> PendingRequest:
        """Return the request of this key.

        Raises:
            LedgerError: there is none.
        """
        with self._database.reading() as connection:
            return self._pending(connection, key)

    def all(self) -> list[PendingRequest]:
        """Return all requests, newest first."""
        with self._database.reading() as connection:
            keys = [row["key"] for row in account.events_of_kind(connection, "ask")]
            return [self._pending(connection, key) for key in reversed(keys)]

    def check(self, connection: Connection, dataset: str, key: str, fields: SpendFields) -> None:
        """Check that a second person agreed to exactly this spend.

        Raises:
            LedgerError: nobody asked or answered, it was declined, or another release was agreed to.
        """
        if "ask" not in self._rows(connection, key):
            raise LedgerError(LedgerMessage.SECOND_PERSON_NEEDED, dataset=dataset)
        pending = self._pending(connection, key)
        if pending.state != "agreed":
            state = "has no agreement yet" if pending.state == "asked" else f"was {pending.state}"
            raise LedgerError(LedgerMessage.NOT_AGREED, dataset=dataset, state=state)
        if pending.dataset != dataset or _differs(pending.fields, fields):
            raise LedgerError(LedgerMessage.OTHER_THAN_AGREED)

    def _pending(self, connection: Connection, key: str) -> PendingRequest:
        """Return the request of this key, in the caller's transaction.

        Raises:
            LedgerError: there is none.
        """
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
        """Return data set, fields and time of each event of a key, by its kind."""
        rows = account.events_of_key(connection, key)
        return {
            row["kind"]: (row["dataset"], chain.authenticated_fields(row, self._database.key), row["at"])
            for row in rows
        }


def _differs(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return whether two spends are of different releases."""
    return any(first.get(name) != second.get(name) for name in _AGREED_FIELDS)
