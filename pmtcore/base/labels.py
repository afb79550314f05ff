"""The kinds of a number, the status of a method's output, and the state of a spend, in the user's words."""

from enum import Enum


class Label(Enum):
    """The kind of a number, in the word the user reads."""

    PUBLIC = "public"
    RELEASED = "released"
    PRIVATE = "private, curator only"
    LAB = "lab"  # from synthetic rows, public tables split for study, or repeatable noise


class ReleaseStatus(Enum):
    """What may be done with a method's output."""

    SOUND = "sound"
    LAB = "lab"


class SpendState(Enum):
    """State of a release's key in the ledger."""

    NOT_SPENT = "not spent"
    NO_RESULT = "spent, without a result"
    RECORD_KEPT = "spent, and the record is kept"
    UNKNOWN = "the ledger cannot be asked"
