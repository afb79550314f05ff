"""Kinds in which a column can be read."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from pmtcore.base.messages import InputError, TableMessage, one_of

# One of KINDS, or "like" with an example of how numbers are written: "like 1.234,50 EUR".
Kind = str
Order = Literal["date", "day-first", "month-first"]
ORDERS = {"day-first": "day", "month-first": "month"}  # kinds of dates with slashes, and what they begin with
DATES = ("date", *ORDERS)
CODED = "coded"  # numbers, except declared codes for missing values
CAPPED = "capped"  # numbers, reduced to a declared largest one
WITH_UNKNOWN = "with-unknown"  # levels, and one for missing cells
UNKNOWN = "unknown"  # the level of missing cells
LEVELS = ("level", "caseless", WITH_UNKNOWN)  # in "caseless", levels that differ only in capitals and blanks are one
_SIGNS = {"percent": ("%",), "euro": ("€", "EUR"), "dollar": ("$", "USD", "US$"), "pound": ("£", "GBP")}
NUMBERS_WITH_SIGNS = tuple(_SIGNS)
KINDS = ("number", CODED, CAPPED, *LEVELS, *DATES, *_SIGNS)
LIKE = "like "
# Kinds that messages list; the last stands for any example.
OFFERED = (*KINDS, f"{LIKE}EXAMPLE")
# A sign has no digits, points, commas or minus signs, so that "No. 5" and "5-10" are not numbers with a sign.
_SIGN = r"([^\d\s.,+-][^\d.,+-]{0,11}?)?"
_EXAMPLE = re.compile(rf"\s*{_SIGN}\s*[+-]?[.,]?\d(?:[\d.,'\u2019\s]*\d)?\s*{_SIGN}\s*")


@dataclass(frozen=True)
class NumberFormat:
    """Format of the numbers of a column, a public rule.

    Attributes:
        signs: texts, one of which precedes or follows each number; empty: none does.
        decimal: the decimal mark; empty: that of the table.
    """

    signs: tuple[str, ...]
    decimal: str = ""


@lru_cache(maxsize=256)
def number_format(kind: Kind) -> NumberFormat | None:
    """Return the format of a kind of numbers with signs or by example; ``None`` for another kind.

    In an example, the last of two different marks is the decimal mark, and so is a single mark unless exactly three
    digits follow it. Otherwise the mark of the table is used.

    Raises:
        InputError: the example is not one number, with at most one text before or after it.
    """
    if kind in _SIGNS:
        return NumberFormat(_SIGNS[kind])
    if not kind.startswith(LIKE):
        return None
    example = kind.removeprefix(LIKE)
    parts = example_parts(example)
    if parts is None:
        raise InputError(TableMessage.EXAMPLE_FORM, given=kind)
    marks = re.findall(r"[.,]", example)
    tells = len(set(marks)) == 2 or (len(marks) == 1 and not re.search(r"[.,]\d{3}(?!\d)", example))
    return NumberFormat(tuple(filter(None, parts)), marks[-1] if tells else "")


def sample(kind: Kind) -> str:
    """Return a number in the format of a kind with signs, such as ``5 %``."""
    return f"5 {_SIGNS[kind][0]}" if kind in _SIGNS else kind.removeprefix(LIKE)


def example_parts(text: str) -> tuple[str, str] | None:
    """Return the text before and after the only number of a text; ``None`` for a text of another form."""
    parts = _EXAMPLE.fullmatch(text)
    return None if parts is None or (parts[1] and parts[2]) else (parts[1] or "", parts[2] or "")


def as_kind(word: str, name: str = "kind") -> Kind:
    """Return a kind that was checked.

    Args:
        word: the kind.
        name: what it is the kind of, for the error.

    Raises:
        InputError: there is no such kind.
    """
    if number_format(word) is None:
        one_of(name, word, OFFERED)
    return word
