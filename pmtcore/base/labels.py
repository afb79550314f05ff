"""The kinds of a number, in the words the user reads, and what may be done with a method's output."""

from __future__ import annotations

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
