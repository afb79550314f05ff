"""People with many rows: an identifier column says whose a row is, and each person has room for ``k`` rows.

The number of people is public, as the number of rows is without such a column; how many rows each has is not. A method
then sees ``k`` rows of each person and ``n = k N`` in all: their first ``k`` in the order of the table, and rows of
zeros where somebody has fewer; or with the rule ``mean`` one row of each, their rows weighted to one. Which rows those
are is decided by a person's own rows alone, so that all rows of one person, exchanged for any number of others, change
at most ``k`` rows of what a method sees (proofs/budgets.md, 1). Identifiers are told apart by their
canonical form; rows without one are one person's.

Identifiers have one canonical form: ``7``, ``7.0``, ``07`` and ``7e0`` are one person, ``Ann`` is ``ann``. A person who
is written in two ways would count as two, each with rows of their own, and a guarantee for one person would not hold
for them. Two persons who are written alike share the rows that count, which costs accuracy and no privacy: so the form
errs on that side. What it cannot know (a misspelling, a second number) is said in docs/pitfalls.md.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pmtcore.accounting.budgets import MEAN, Unit
from pmtcore.base.block_sums import Block
from pmtcore.base.messages import InputError, TableMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.tables.cells import MISSING, texts
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.table import Table

_BLOCK = 65_536  # rows of zeros handed out at once, as many as other blocks have
_MOST_NUMBERS = 2**28  # of all means, 2 GB
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,9}))?", re.ASCII)
# Characters that are not seen though they are no format characters: variation selectors, fillers.
_UNSEEN = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_MISSING = frozenset(MISSING)
# Letters of an identifier that count: one may stand for eighteen, and no cell's form may take a time that shows.
MOST_LETTERS = 4096


def identifiers(cells: pa.Array) -> np.ndarray:
    """Return the canonical identifier of each cell (k,), text; empty where missing. Each cell by itself."""
    different, places = _different(cells)
    return np.array([canonical(text) for text in different], dtype=object)[places]


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
        text = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
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


@dataclass(frozen=True, eq=False)
class Persons:
    """Persons of a private table, each with a number from 0 on in the order in which they are met.

    Attributes:
        column: that says whose a row is.
        count: number of persons; public.
    """

    column: str
    count: int
    _numbers: Mapping[str, int] = field(repr=False)

    @classmethod
    def counted(cls, table: Table, column: str, dialect: Dialect) -> "Persons":
        """Count the persons of a table in a pass over their identifiers, and number every spelling of each.

        Raises:
            InputError: the table has no such column.
        """
        if column not in table.columns:
            raise InputError(TableMessage.NO_PERSON_COLUMN, column=column)
        names: dict[str, int] = {}
        spellings: dict[str, int] = {}
        for block in table.source.blocks((column,), dialect):
            for text in _different(block.columns[column])[0]:
                if text not in spellings:
                    spellings[text] = names.setdefault(canonical(text), len(names))
        return cls(column, len(names), spellings)

    def of(self, cells: pa.Array) -> np.ndarray:
        """Return the number of the person of each cell (k,); ``count`` for one who was not there to be counted."""
        different, places = _different(cells)
        return np.array([self._numbers.get(text, self.count) for text in different], dtype=float)[places]


def _different(cells: pa.Array) -> tuple[list[str], np.ndarray]:
    """Return the different texts of cells in the order in which they come, and the place of each cell's (k,)."""
    encoded = texts(cells).fill_null("").dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def bounded(rows: PrivateRows, people: int, unit: Unit) -> PrivateRows:
    """Return the rows that count, whatever the order in which a pass reads them.

    Whose a row is comes with the row: two passes over a query may have their rows in different orders.

    Args:
        rows: all rows; their last column is the person's number, or ``people`` for somebody who does not count.
        people: number of people; public.
        unit: bound on the rows of a person.

    Raises:
        InputError: too many people for their means.
    """
    names = rows.names[:-1]
    if unit.rule == MEAN:
        if people * len(rows.names) > _MOST_NUMBERS:
            raise InputError(TableMessage.TOO_MANY_PEOPLE)
        return PrivateRows(_means(rows, people), people, names)
    n = people * unit.rows
    return PrivateRows(_firsts(rows, people, unit.rows), n, names, weighted=rows.weighted)


def _parted(rows: PrivateRows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the features (k, d), responses and persons (k,) of each block."""
    for x, y in rows._blocks():
        yield x[:, :-1], y, x[:, -1].astype(np.int64)


def _firsts(rows: PrivateRows, people: int, most: int) -> Callable[[], Iterator[Block]]:
    """Return blocks of the first rows of each person, then rows of zeros up to so many for each."""

    def blocks() -> Iterator[Block]:
        before, missing = np.zeros(people + 1, dtype=np.int64), people * most
        before[people] = most
        for x, y, whose in _parted(rows):
            chosen = before[whose] + _earlier(whose) < most
            before += np.bincount(whose, minlength=people + 1)
            block = x[chosen], y[chosen]
            missing -= len(block[1])
            yield block
        while missing > 0:
            k = min(missing, _BLOCK)
            missing -= k
            x, y = rows.empty(k)
            yield x[:, :-1], y

    return blocks


def _earlier(whose: np.ndarray) -> np.ndarray:
    """Return how many rows of the same person come before each row (rows,)."""
    order = np.argsort(whose, kind="stable")
    sorted_people = whose[order]
    starts = np.flatnonzero(np.diff(sorted_people, prepend=-1))
    earlier = np.empty(len(whose), dtype=np.int64)
    earlier[order] = np.arange(len(whose)) - np.repeat(starts, np.diff(starts, append=len(whose)))
    return earlier


def _means(rows: PrivateRows, people: int) -> Callable[[], Iterator[Block]]:
    """Return one block with the mean of each person's rows; rows of zeros carry nothing and are left out.

    A mean that is not finite becomes a row of zeros.
    """
    made: list[Block] = []

    def blocks() -> Iterator[Block]:
        if not made:
            made.append(_averaged(_parted(rows), people, len(rows.names) - 1))
        for start in range(0, people, _BLOCK):
            x, y = made[0]
            yield x[start : start + _BLOCK], y[start : start + _BLOCK]

    return blocks


def _averaged(blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], people: int, d: int) -> Block:
    """Divide sums by counts; sums are in the order of the rows, so that blocks do not change a bit."""
    total, count = np.zeros((d + 1, people)), np.zeros(people)
    with np.errstate(all="ignore"):
        for x, y, here in blocks:
            nonzero = ((x != 0).any(axis=1) | (y != 0)) & (here < people)
            np.add.at(count, here[nonzero], 1.0)
            for j in range(d):
                np.add.at(total[j], here[nonzero], np.ascontiguousarray(x[nonzero, j]))
            np.add.at(total[d], here[nonzero], y[nonzero])
        mean = (total / np.maximum(count, 1.0)).T
    mean[~np.isfinite(mean).all(axis=1)] = 0.0
    return np.ascontiguousarray(mean[:, :d]), np.ascontiguousarray(mean[:, d])
