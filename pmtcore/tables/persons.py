"""Persons with several rows: a column identifies to whom a row belongs, and at most ``k`` rows of each person count.

The number N of persons is public, as the number of rows is without such a column; the number of rows of each is not. A
method gets ``k`` rows of each person and ``n = k N`` in all: the person's first ``k`` rows in the order of the table,
filled up with rows of zeros, or with the rule ``mean`` one row, the mean of the person's rows. Which rows these are
depends on the person's own rows alone. Replacing all rows of one person by any number of others therefore changes at
most ``k`` rows of the method (proofs/budgets.md, 1). Rows without an identifier belong to one person.

Identifiers are compared in a canonical form: ``7``, ``7.0``, ``07`` and ``7e0`` are one person, ``Ann`` is ``ann``. A
person with two forms would count as two, and the guarantee for one person would not hold. Two persons with one form
share the rows that count, which costs accuracy but no privacy, so the form merges rather than separates. A misspelling
or a second number of a person cannot be recognised (docs/pitfalls.md).
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

_BLOCK_ROWS = 65_536  # most rows of a block of zeros
_MOST_MEANS = 2**28  # numbers of the means of all persons, 2 GB
_NUMBER = re.compile(r"([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]{1,9}))?", re.ASCII)
# Invisible characters that are not format characters: variation selectors, fillers.
_INVISIBLE = re.compile("[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]")
_MISSING = frozenset(MISSING)
# Most characters of an identifier: NFKC may replace one by eighteen, and no cell may take noticeable time.
MOST_CHARACTERS = 4096


def identifiers(cells: pa.Array) -> np.ndarray:
    """Return the canonical identifier (k,) of each cell, a text; empty where it is missing."""
    distinct, positions = _distinct_texts(cells)
    return np.array([canonical_identifier(text) for text in distinct], dtype=object)[positions]


def numbered_by_occurrence(names: np.ndarray) -> tuple[np.ndarray, int]:
    """Return numbers (k,) of names, from 0 on in the order of first occurrence, and the number of distinct names."""
    numbers: dict[str, int] = {}
    codes = np.fromiter((numbers.setdefault(name, len(numbers)) for name in names), dtype=np.int64, count=len(names))
    return codes, len(numbers)


def canonical_identifier(text: str) -> str:
    """Return the canonical form of one identifier; empty where it is missing.

    It is in Unicode's compatibility composition (NFKC) and lower case, with single spaces and without format
    characters; a number is written by its exact value. Only the first :data:`MOST_CHARACTERS` characters count.

    >>> [canonical_identifier(text) for text in ("7", "07", "7.0", "+7e0", "70e-1", "Ann ", "a\u200bnn", "0.50")]
    ['7', '7', '7', '7', '7', 'ann', 'ann', '5e-1']
    """
    return _canonical(text[:MOST_CHARACTERS])[:MOST_CHARACTERS]


def _canonical(text: str) -> str:
    """Return the canonical form, whatever its length."""
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", text))
        text = "".join(letter for letter in text if unicodedata.category(letter) != "Cf")
    text = " ".join("".join(letter for letter in text if letter.isprintable() or letter.isspace()).split())
    if text in _MISSING:
        return ""
    text = text.casefold() if text.isascii() else unicodedata.normalize("NFKC", text.casefold())
    number = _NUMBER.fullmatch(text)
    return text if number is None else _exact(*number.groups("")) or text


def _exact(sign: str, integer: str, fraction: str, exponent: str) -> str:
    """Return the exact number as digits and a power of ten; empty where there are no digits."""
    digits = (integer + fraction).lstrip("0")
    if not integer + fraction:
        return ""
    power = int(exponent or 0) - len(fraction)
    significant = digits.rstrip("0")
    power += len(digits) - len(significant)
    if not significant:
        return "0"
    minus = "-" if sign == "-" else ""
    return minus + (significant + "0" * power if 0 <= power <= 30 else f"{significant}e{power}")


@dataclass(frozen=True, eq=False)
class Persons:
    """Persons of a private table, numbered from 0 on in the order of their first rows.

    Attributes:
        column: column that identifies them.
        count: number of persons; public.
    """

    column: str
    count: int
    _numbers: Mapping[str, int] = field(repr=False)

    @classmethod
    def counted(cls, table: Table, column: str, dialect: Dialect) -> "Persons":
        """Count the persons of a table, and number every spelling of their identifiers, in one pass.

        Raises:
            InputError: the table has no such column.
        """
        if column not in table.columns:
            raise InputError(TableMessage.NO_PERSON_COLUMN, column=column)
        names: dict[str, int] = {}
        spellings: dict[str, int] = {}
        for block in table.source.blocks((column,), dialect):
            for text in _distinct_texts(block.columns[column])[0]:
                if text not in spellings:
                    spellings[text] = names.setdefault(canonical_identifier(text), len(names))
        return cls(column, len(names), spellings)

    def of(self, cells: pa.Array) -> np.ndarray:
        """Return the number of the person (k,) of each cell; ``count`` for an identifier that was not counted."""
        distinct, positions = _distinct_texts(cells)
        return np.array([self._numbers.get(text, self.count) for text in distinct], dtype=float)[positions]


def _distinct_texts(cells: pa.Array) -> tuple[list[str], np.ndarray]:
    """Return the distinct texts of cells in the order of first occurrence, and the position (k,) of each cell."""
    encoded = texts(cells).fill_null("").dictionary_encode()
    return encoded.dictionary.to_pylist(), encoded.indices.to_numpy(zero_copy_only=False)


def bounded_rows(rows: PrivateRows, people: int, unit: Unit) -> PrivateRows:
    """Return the rows that count, at most ``unit.rows`` of each person.

    The person's number is a column of each row, since two passes over a query may have different orders.

    Args:
        rows: all rows; their last column is the person's number, or ``people`` for one who was not counted.
        people: number of persons; public.
        unit: how many rows of a person count, and which.

    Raises:
        InputError: there are too many persons to store their means.
    """
    names = rows.names[:-1]
    if unit.rule == MEAN:
        if people * len(rows.names) > _MOST_MEANS:
            raise InputError(TableMessage.TOO_MANY_PEOPLE)
        return PrivateRows(_means(rows, people), people, names)
    n = people * unit.rows
    return PrivateRows(_first_rows(rows, people, unit.rows), n, names, weighted=rows.weighted)


def _blocks_with_persons(rows: PrivateRows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield the features (k, d), responses and persons (k,) of each block."""
    for x, y in rows._blocks():
        yield x[:, :-1], y, x[:, -1].astype(np.int64)


def _first_rows(rows: PrivateRows, people: int, rows_per_person: int) -> Callable[[], Iterator[Block]]:
    """Return the function that yields the first rows of each person, then rows of zeros up to their total number."""

    def blocks() -> Iterator[Block]:
        counts, remaining = np.zeros(people + 1, dtype=np.int64), people * rows_per_person
        counts[people] = rows_per_person
        for x, y, persons in _blocks_with_persons(rows):
            is_counted = counts[persons] + _earlier_count(persons) < rows_per_person
            counts += np.bincount(persons, minlength=people + 1)
            block = x[is_counted], y[is_counted]
            remaining -= len(block[1])
            yield block
        while remaining > 0:
            size = min(remaining, _BLOCK_ROWS)
            remaining -= size
            x, y = rows.zero_rows(size)
            yield x[:, :-1], y

    return blocks


def _earlier_count(persons: np.ndarray) -> np.ndarray:
    """Return the number (k,) of earlier rows of the same person in the block, for each row."""
    order = np.argsort(persons, kind="stable")
    sorted_people = persons[order]
    starts = np.flatnonzero(np.diff(sorted_people, prepend=-1))
    earlier = np.empty(len(persons), dtype=np.int64)
    earlier[order] = np.arange(len(persons)) - np.repeat(starts, np.diff(starts, append=len(persons)))
    return earlier


def _means(rows: PrivateRows, people: int) -> Callable[[], Iterator[Block]]:
    """Return the function that yields the mean of each person's rows, without rows of zeros.

    A mean that is not finite becomes a row of zeros.
    """
    cached: list[Block] = []

    def blocks() -> Iterator[Block]:
        if not cached:
            cached.append(_average(_blocks_with_persons(rows), people, len(rows.names) - 1))
        for start in range(0, people, _BLOCK_ROWS):
            x, y = cached[0]
            yield x[start : start + _BLOCK_ROWS], y[start : start + _BLOCK_ROWS]

    return blocks


def _average(blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], people: int, d: int) -> Block:
    """Return the means (people, d) and (people,); sums are in the order of rows, whatever the blocks."""
    total, count = np.zeros((d + 1, people)), np.zeros(people)
    with np.errstate(all="ignore"):
        for x, y, persons in blocks:
            nonzero = ((x != 0).any(axis=1) | (y != 0)) & (persons < people)
            np.add.at(count, persons[nonzero], 1.0)
            for j in range(d):
                np.add.at(total[j], persons[nonzero], np.ascontiguousarray(x[nonzero, j]))
            np.add.at(total[d], persons[nonzero], y[nonzero])
        mean = (total / np.maximum(count, 1.0)).T
    mean[~np.isfinite(mean).all(axis=1)] = 0.0
    return np.ascontiguousarray(mean[:, :d]), np.ascontiguousarray(mean[:, d])
