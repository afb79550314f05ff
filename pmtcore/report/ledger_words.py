"""Sentences about accounts of the ledger and requests for agreement."""

from pmtcore.base.messages import quoted_names
from pmtcore.ledger.account import Account
from pmtcore.ledger.agreements import PendingRequest

# What a report says of the mark of the whole ledger, before the whole of it.
MARK = (
    "Mark of the whole ledger: {mark}. The page Budget and the command 'ledger verify' show the same mark until "
    "another spend is added. After that, 'ledger verify --head' with this mark says whether the ledger still contains "
    "all that it did then; in full:"
)


def short_mark(head: str) -> str:
    """Return the first sixteen digits of a ledger's head in fours, to be compared by eye.

    >>> short_mark("0123456789abcdef0123")
    '0123 4567 89ab cdef'
    """
    return " ".join(head[at : at + 4] for at in range(0, 16, 4))


def asked_words(one: PendingRequest) -> str:
    """Return who asked for what, and how it stands."""
    choices, request = one.fields.get("choices", {}), one.fields["request"]
    features = choices.get("features")
    by = "all columns" if features is None else quoted_names(features)
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
    root = root_words(account.cap, account.spent)
    return f"{spent}one more may take up to {account.left:.4g}{root}, since squares of mu add up."


def root_words(cap: float, spent: float) -> str:
    """Say how the remaining budget follows from cap and spends; empty where nothing was spent.

    >>> root_words(3.0, 1.0)
    ', the root of 3² − 1²'
    """
    return f", the root of {cap:.4g}² − {spent:.4g}²" if spent else ""
