"""The ledger command: caps, spends, curators' steps, agreements, and whether the log is intact."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from pmtcore.accounting.budgets import Unit
from pmtcore.base.messages import CommandMessage, InputError, quoted_names
from pmtcore.cli.arguments import Answer, current_user
from pmtcore.cli.files import read_small

if TYPE_CHECKING:
    from pmtcore.ledger.agreements import PendingRequest
    from pmtcore.ledger.log import Ledger


def run(chosen: argparse.Namespace) -> Answer:
    """Run one step on the ledger."""
    from pmtcore.ledger.log import Ledger, default_url  # noqa: PLC0415
    from pmtcore.report.ledger_words import short_mark  # noqa: PLC0415

    place, makes = chosen.ledger or default_url(), chosen.step in ("cap", "register")
    ledger = Ledger(place, make=makes, unsealed=chosen.step == "accept" and bool(chosen.reason))
    if chosen.step == "accept":
        ledger.accept(chosen.reason or "")
    if chosen.step in ("verify", "accept"):
        report = ledger.verify(chosen.head or "")
        if not report["intact"]:
            raise InputError(CommandMessage.LEDGER_CHANGED, reason=report["why"])
        seals = f"{report['sealed']} seals" if report["key"] else "its key is not here, so seals were not"
        head = f"mark {short_mark(report['head'])}, head {report['head']}"
        return report, f"intact: {report['events']} events, {head}; {seals} checked"
    if chosen.step in ("asked", "agree", "decline", "release"):
        return _agreement(chosen, ledger)
    if chosen.step == "record":
        return _record(ledger, chosen.key)
    if chosen.step != "show":
        _curate(chosen, ledger)
    return _shown(ledger, chosen.dataset)


def _record(ledger: Ledger, key: str | None) -> Answer:
    """Return the record that the ledger stores under a key.

    Raises:
        InputError: no key, or no record under it.
    """
    from pmtcore.api.loading import in_words  # noqa: PLC0415

    if key is None:
        raise InputError(CommandMessage.RECORD_NEEDS_KEY)
    entry = ledger.entry(key)
    if entry is None:
        raise InputError(CommandMessage.NO_SPEND_OF_KEY, key=key)
    if entry.record is None:
        raise InputError(CommandMessage.SPEND_WITHOUT_RECORD, key=key, state=entry.state)
    return entry.record, in_words(entry.record)


def _curate(chosen: argparse.Namespace, ledger: Ledger) -> None:
    """Change a data set's cap, overlap or end, as a curator asks."""
    from pmtcore.releases import register as curators  # noqa: PLC0415

    if chosen.step == "cap" and None in (chosen.dataset, chosen.mu):
        raise InputError(CommandMessage.CAP_NEEDS_DATASET)
    if chosen.dataset is None:
        raise InputError(CommandMessage.STEP_NEEDS_DATASET, step=chosen.step)
    if chosen.step == "cap":
        curators.cap(current_user(), ledger, chosen.dataset, chosen.mu, reason=chosen.reason or "")
    elif chosen.step == "part":
        curators.part(current_user(), ledger, chosen.dataset, chosen.other or "", reason=chosen.reason or "")
    elif chosen.step == "retire":
        curators.retire(current_user(), ledger, chosen.dataset, chosen.reason or "")
    else:
        if None in (chosen.private, chosen.public, chosen.mu):
            raise InputError(CommandMessage.REGISTER_FORM)
        unit = Unit(chosen.rows_per_person, chosen.person or "", chosen.person_rule)
        schema = None if chosen.schema is None else _fields(read_small(chosen.schema))
        curators.register(
            current_user(),
            ledger,
            chosen.dataset,
            chosen.private,
            public=chosen.public,
            cap=chosen.mu,
            unit=unit,
            second=chosen.second,
            schema=schema,
        )


def _fields(data: bytes) -> dict[str, Any]:
    from pmtcore.tables.schema import schema_from_json  # noqa: PLC0415

    schema_from_json(data)
    fields: dict[str, Any] = json.loads(data)
    return fields


def _agreement(chosen: argparse.Namespace, ledger: Ledger) -> Answer:
    """Show the requests for agreement, answer one, or make the release that was agreed to."""
    from pmtcore.api.loading import in_words  # noqa: PLC0415
    from pmtcore.mechanisms.noise import SecureNoise  # noqa: PLC0415
    from pmtcore.releases.outcome import SpendPlace, after_spend  # noqa: PLC0415
    from pmtcore.releases.register import answer, carry_out, pending_requests  # noqa: PLC0415

    if chosen.step == "asked":
        requests = pending_requests(current_user(), ledger)
        lines = "\n".join(map(_line, requests)) or "nothing was asked for"
        return {"asked": [pending.as_dict() for pending in requests]}, lines
    if chosen.key is None:
        raise InputError(CommandMessage.STEP_NEEDS_KEY, step=chosen.step)
    if chosen.step == "release":
        made = carry_out(current_user(), ledger, chosen.key, SecureNoise())
        spend = SpendPlace(ledger, made.dataset, made.key, made.release.guarantee.person.mu)
        with after_spend(spend):
            place = {**made.record.get("ledger", {}), "place": ledger.place, "key": made.key}
            return {**made.as_dict(), "ledger": place}, in_words(made.as_dict())
    pending = answer(current_user(), ledger, chosen.key, chosen.step == "agree", reason=chosen.reason or "")
    return pending.as_dict(), _line(pending)


def _line(pending: PendingRequest) -> str:
    why = f" ({pending.reason})" if pending.reason else ""
    said = f", {pending.state} by {pending.answered_by}{why}" if pending.answered_by else ", not answered"
    method, fields = pending.fields["request"].get("method", ""), pending.fields
    description = f"{method} mu {fields['mu']:.4g} {fields['purpose']}".strip()
    return f"{pending.key}  {pending.at[:19]}  {pending.dataset}  {description}: asked by {pending.by}{said}"


def _shown(ledger: Ledger, dataset: str | None) -> Answer:
    from pmtcore.accounting.budgets import ONLY_RESPONSES, Neighbours  # noqa: PLC0415

    accounts = [account for account in ledger.accounts() if dataset in (None, account.dataset)]
    lines = []
    for account in accounts:
        cap = "no cap" if account.cap is None else f"cap {account.cap:.4g}, left {account.left:.4g}"
        more = f", together with {quoted_names(account.together)}" if account.together else ""
        more += f", retired: {account.retired}" if account.retired else ""
        more += ", a second person agrees to each release" if account.second else ""
        more += f". {ONLY_RESPONSES}" if account.neighbours is Neighbours.REPLACE_RESPONSE else ""
        lines.append(f"{account.dataset}: spent mu {account.spent:.4g}, {cap}{more}")
        lines += [f"  {unit.words}" for unit in account.units]
        lines += [f"  {e.at}  {e.method:16} mu {e.mu:<8.4g} {e.state:9} {e.purpose}" for e in account.entries]
    return {"datasets": [account.as_dict() for account in accounts]}, "\n".join(lines) or "no data set in this ledger"
