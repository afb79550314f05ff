"""Argument checks: the one kind of error a user sees, and the rules that raise it."""

from __future__ import annotations

import math
from collections.abc import Iterable

MOST_HELD = 2**27  # numbers of all rows at once: 1 GB, and what holds its rows needs a few times that at work


class InputError(ValueError):
    """Bad input, in one sentence that says what is wrong, where, and what to do.

    The sentence is shown to whoever is at the screen and may land in a log: it never holds a value taken
    from a private row, nor a column or level name that only the private table has.
    """

    by_program = False  # whether an error of the program itself is behind it


def number_between(name: str, value: float | str, low: float, high: float) -> float:
    """The value as a float, refused unless ``low <= value <= high`` (so NaN is refused).

    Raises:
        InputError: the value is not a number, or is out of range.
    """
    try:
        result = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        raise InputError(f"{name} must be between {low:g} and {high:g}; the number given is far larger.") from None
    except (TypeError, ValueError):
        raise InputError(f"{name} must be a number between {low:g} and {high:g}, got {value!r}.") from None
    if not low <= result <= high:
        raise InputError(f"{name} must be between {low:g} and {high:g}, got {value}.")
    return result


def whole_number_between(name: str, value: float | str, low: int, high: int) -> int:
    """The value as an int, refused unless it is a whole number in range.

    Raises:
        InputError: the value is not whole, or is out of range.
    """
    result = number_between(name, value, low, high)
    if not math.floor(result) == result:
        raise InputError(f"{name} must be a whole number between {low} and {high}, got {value}.")
    return int(result)


def one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """The value, refused unless it is one of the allowed words.

    Raises:
        InputError: the value is another word.
    """
    words = list(allowed)
    if value not in words:
        raise InputError(f"{name} must be one of {', '.join(words)}, got {value!r}.")
    return value


def listed(names: Iterable[str], most: int = 5) -> str:
    """Names as a phrase: ``'a', 'b' and 3 more``.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    items = [str(name) for name in names]
    shown = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in items[:most])
    rest = len(items) - most
    return shown if rest <= 0 else f"{shown} and {rest} more"


def check_held(n: int, width: int) -> None:
    """Refuse to hold n rows of so many numbers at once: n is public, and a machine without memory would end the run.

    Raises:
        InputError: too many.
    """
    if n * width > MOST_HELD:
        raise InputError(
            f"{n:,} rows are too many to hold at once: {width:,} numbers of each come to more than "
            f"{MOST_HELD // 10**6:,} million. Choose another method, as the recommended ones hold some rows at a time; "
            f"or, where a person has room for many rows, fewer of them."
        )
