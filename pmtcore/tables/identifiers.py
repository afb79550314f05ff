"""One canonical form of identifiers of persons: ``7``, ``7.0``, ``07`` and ``7e0`` are one person, ``Ann`` is ``ann``.

A person who is written in two ways would count as two, each with rows of their own, and a guarantee for one person
would not hold for them. Two persons who are written alike share the rows that count, which costs accuracy and no
privacy: so the form errs on that side. What it cannot know (a misspelling, a second number) is said in
docs/pitfalls.md.
"""

import re
import unicodedata
from functools import cache

import numpy as np
import pyarrow as pa

from pmtcore.tables.cells import MISSING, texts

_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,9}))?", re.ASCII)
# Characters that are not seen though they are no format characters: variation selectors, fillers.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_MISSING = frozenset(MISSING)
# Letters of an identifier that count: one may stand for eighteen, and no cell's form may take a time that shows.
MOST_LETTERS = 4096


def identifiers(cells: pa.Array) -> np.ndarray:
    """Return the canonical identifier of each cell (k,), text; empty where missing. Each cell by itself."""
    encoded = texts(cells).fill_null("").dictionary_encode()
    different = np.array([canonical(text) for text in encoded.dictionary.to_pylist()], dtype=object)
    return different[encoded.indices.to_numpy(zero_copy_only=False)] if len(encoded) else np.array([], dtype=object)


def in_order_met(names: np.ndarray) -> tuple[np.ndarray, int]:
    """Return numbers (k,) that stand for names, from 0 on in the order in which names first come, and how many."""
    places: dict[str, int] = {}
    codes = np.fromiter((places.setdefault(name, len(places)) for name in names), dtype=np.int64, count=len(names))
    return codes, len(places)


def canonical(text: str) -> str:
    """Return the canonical form of one identifier; empty where it is none.

    Unicode's compatibility composition (NFKC), no format characters, single spaces, no case; of a number its exact
    value, whatever its leading zeros, decimals and exponent. Of a long identifier the first :data:`MOST_LETTERS` count.

    >>> [canonical(text) for text in ("7", "07", "7.0", "+7e0", "70e-1", "Ann ", "a\u200bnn", "0.50")]
    ['7', '7', '7', '7', '7', 'ann', 'ann', '5e-1']
    """
    return _canonical(text[:MOST_LETTERS])[:MOST_LETTERS]


def _canonical(text: str) -> str:
    if not text.isascii():
        text = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
        text = "".join(letter for letter in text if _category(letter) != "Cf")
    text = " ".join("".join(letter for letter in text if letter.isprintable() or letter.isspace()).split())
    if text in _MISSING:
        return ""
    text = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text.casefold())
    number = _NUMBER.fullmatch(text)
    return text if number is None else _exact(*number.groups("")) or text


def _exact(sign: str, integer: str, fraction: str, exponent: str) -> str:
    """Return a number as digits and a power of ten, exactly; empty where there are no digits."""
    digits = (integer + fraction).lstrip("0")
    if not integer + fraction:
        return ""
    power = int(exponent or 0) - len(fraction)
    short = digits.rstrip("0")
    power += len(digits) - len(short)
    if not short:
        return "0"
    minus = "-" if sign == "-" else ""
    return minus + (short + "0" * power if 0 <= power <= 30 else f"{short}e{power}")


@cache
def _category(letter: str) -> str:
    return unicodedata.category(letter)
