"""Sentences about accounts of the ledger and what was asked for."""

from pmtcore.base.messages import listed
from pmtcore.ledger.account import Account
from pmtcore.ledger.agreements import PendingRequest


def asked_words(one: PendingRequest) -> str:
    """Return who asked for what, and how it stands."""
    choices, request = one.fields.get("choices", {}), one.fields["request"]
    features = choices.get("features")
    by = "all columns" if features is None else listed(features)
    state = {"asked": "not answered yet", "agreed": f"agreed to by {one.answered_by}"}.get(
        one.state, f"declined by {one.answered_by}: {one.reason}"
    )
    purpose = f", for {one.fields['purpose']!r}" if one.fields["purpose"] else ""
    return (
        f"{one.by} asks to release {choices.get('target', '')!r} by {by} from {one.dataset!r} with "
        f"{request['method']} at mu = {one.fields['mu']:.4g}{purpose}: {state}."
    )


def balance(account: Account) -> str:
    """Return spent and left in one line."""
    if account.cap is None:
        return f"{account.dataset}: mu {account.spent:.4g} spent, no cap yet."
    count = len(account.entries)
    spent = (
        f"{account.dataset}: mu {account.spent:.4g} of {account.cap:.4g} spent in {count} release{'s' * (count != 1)}; "
    )
    if account.left == 0:
        return f"{spent}nothing more is released from it under this cap."
    return f"{spent}one more may take up to {account.left:.4g}, since squares of mu add up."
