"""Argument checks: the one kind of error a user sees, and the rules that raise it."""

from __future__ import annotations

import copyreg
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from pmtcore.base.messages import ArgumentMessage, Message, Note, listed

__all__ = [
    "MOST_HELD",
    "InputError",
    "check_held",
    "listed",
    "number_between",
    "one_of",
    "whole_number_between",
]

MOST_HELD = 2**27  # numbers of all rows at once: 1 GB, and what holds its rows needs a few times that at work


class InputError(ValueError):
    """Bad input, in one sentence that says what is wrong, where, and what to do.

    The sentence is shown to whoever is at the screen and may land in a log: it never holds a value taken
    from a private row, nor a column or level name that only the private table has.

    Attributes:
        message: the kind of its sentence; None for one that was written where it was raised.
        kind: what code and tests ask for: the message, or the class of questions that a subclass refuses.
        facts: what the sentence was rendered from.
        endings: sentences that follow: what became of a spend.
    """

    # Whether an error of the program itself is behind it.
    by_program = False
    kind: Enum | None = None
    message: Message | None = None
    endings: tuple[str, ...] = ()

    def __init__(self, message: Message | str, /, **facts: Any) -> None:
        super().__init__(message.sentence(**facts) if isinstance(message, Message) else message)
        self.facts: Mapping[str, Any] = facts
        if isinstance(message, Message):
            self.kind = self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        # In another process no constructor runs: a subclass may take other arguments than the sentence.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return " ".join((*map(str, self.args[:1]), *self.endings))

    def add(self, sentence: str) -> None:
        """Let another sentence follow, once."""
        if sentence not in self.endings:
            self.endings += (sentence,)

    @property
    def note(self) -> str:
        """Return the sentence, with its kind where it has one."""
        return str(self) if self.message is None else Note(self.message, **self.facts)

    @property
    def statement(self) -> str:
        """Return the sentence without its advice, as a note says it."""
        return str(self) if self.message is None else self.message.statement(**self.facts)


def number_between(name: str, value: float, low: float, high: float) -> float:
    """Return the value as a float; NaN is refused as out of range.

    Raises:
        InputError: the value is not a number, or is out of range.
    """
    try:
        result = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        raise InputError(ArgumentMessage.FAR_TOO_LARGE, name=name, low=low, high=high) from None
    except (TypeError, ValueError):
        raise InputError(ArgumentMessage.NOT_A_NUMBER, name=name, low=low, high=high, given=value) from None
    if not low <= result <= high:
        raise InputError(ArgumentMessage.OUT_OF_RANGE, name=name, low=low, high=high, given=value)
    return result


def whole_number_between(name: str, value: float, low: int, high: int) -> int:
    """Return the value as an int.

    Raises:
        InputError: the value is not whole, or is out of range.
    """
    result = number_between(name, value, low, high)
    if not math.floor(result) == result:
        raise InputError(ArgumentMessage.NOT_WHOLE, name=name, low=low, high=high, given=value)
    return int(result)


def one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return the value where it is one of the allowed words.

    Raises:
        InputError: the value is another word.
    """
    words = list(allowed)
    if value not in words:
        raise InputError(ArgumentMessage.NOT_ONE_OF, name=name, allowed=words, given=value)
    return value


def check_held(n: int, width: int) -> None:
    """Refuse to hold n rows of so many numbers at once: n is public, and a machine without memory would end the run.

    Raises:
        InputError: too many.
    """
    if n * width > MOST_HELD:
        raise InputError(ArgumentMessage.TOO_MANY_ROWS_AT_ONCE, rows=n, count=width, limit=MOST_HELD // 10**6)
