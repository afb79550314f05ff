"""People with many rows: an identifier column says whose a row is, and each person has room for ``k`` rows.

The number of people is public, as the number of rows is without such a column; how many rows each has is not. A method
then sees ``k`` rows of each person and ``n = k N`` in all: their first ``k`` in the order of the table, and rows of
zeros where somebody has fewer; or with the rule ``mean`` one row of each, their rows weighted to one. Which rows those
are is decided by a person's own rows alone, so that all rows of one person, exchanged for any number of others, change
at most ``k`` rows of what a method sees (proofs/budgets.md, 1). Identifiers are told apart by their
canonical form (``identifiers``); rows without one are one person's.
"""

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from pmtcore.accounting.budgets import MEAN, Unit
from pmtcore.base.block_sums import Block
from pmtcore.base.messages import InputError, TableMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.identifiers import identifiers, in_order_met
from pmtcore.tables.table import Table

_BLOCK = 65_536  # rows of zeros handed out at once, as many as other blocks have
_MOST_NUMBERS = 2**28  # of all means, 2 GB


def by_person(rows: PrivateRows, table: Table, unit: Unit, dialect: Dialect) -> PrivateRows:
    """Return the same rows, bounded per person; the identifiers of the private table are read, to count people.

    Raises:
        InputError: the private table has no such column, or has too many people for their means.
    """
    if unit.column not in table.columns:
        raise InputError(TableMessage.NO_PERSON_COLUMN, column=unit.column)
    whose, people = _whose(table, unit.column, dialect)
    return bounded(rows, whose, people, unit)


def bounded(rows: PrivateRows, whose: np.ndarray, people: int, unit: Unit) -> PrivateRows:
    """Return the rows that count.

    Args:
        rows: all rows.
        whose: person of each row (rows,), numbers from 0 on.
        people: number of people; public.
        unit: bound on the rows of a person.

    Raises:
        InputError: too many people for their means.
    """
    if unit.rule == MEAN:
        if people * (len(rows.names) + 1) > _MOST_NUMBERS:
            raise InputError(TableMessage.TOO_MANY_PEOPLE)
        return PrivateRows(_means(rows, whose, people), people, rows.names)
    n = people * unit.rows
    return PrivateRows(_firsts(rows, whose, n, unit.rows), n, rows.names, weighted=rows.weighted)


def _whose(table: Table, column: str, dialect: Dialect) -> tuple[np.ndarray, int]:
    """Return the person of each row (rows,), as numbers from 0 on, and the number of people."""
    names = [identifiers(block.columns[column]) for block in table.source.blocks((column,), dialect)]
    return in_order_met(np.concatenate(names) if names else np.array([], dtype=object))


def _firsts(rows: PrivateRows, whose: np.ndarray, n: int, most: int) -> Callable[[], Iterator[Block]]:
    """Return blocks of the first rows of each person, then rows of zeros up to n."""
    keep = _earlier(whose) < most

    def blocks() -> Iterator[Block]:
        at, missing = 0, n
        for x, y in rows._blocks():
            chosen = keep[at : at + len(y)]
            at += len(y)
            block = x[chosen], y[chosen]
            missing -= len(block[1])
            yield block
        while missing > 0:
            k = min(missing, _BLOCK)
            missing -= k
            yield rows.empty(k)

    return blocks


def _earlier(whose: np.ndarray) -> np.ndarray:
    """Return how many rows of the same person come before each row (rows,)."""
    order = np.argsort(whose, kind="stable")
    sorted_people = whose[order]
    starts = np.flatnonzero(np.diff(sorted_people, prepend=-1))
    earlier = np.empty(len(whose), dtype=np.int64)
    earlier[order] = np.arange(len(whose)) - np.repeat(starts, np.diff(starts, append=len(whose)))
    return earlier


def _means(rows: PrivateRows, whose: np.ndarray, people: int) -> Callable[[], Iterator[Block]]:
    """Return one block with the mean of each person's rows; rows of zeros carry nothing and are left out.

    A mean that is not finite becomes a row of zeros.
    """
    made: list[Block] = []

    def blocks() -> Iterator[Block]:
        if not made:
            made.append(_averaged(rows._blocks(), whose, people, len(rows.names)))
        for start in range(0, people, _BLOCK):
            x, y = made[0]
            yield x[start : start + _BLOCK], y[start : start + _BLOCK]

    return blocks


def _averaged(blocks: Iterable[Block], whose: np.ndarray, people: int, d: int) -> Block:
    """Divide sums by counts; sums are in the order of the rows, so that blocks do not change a bit."""
    total, count, at = np.zeros((d + 1, people)), np.zeros(people), 0
    with np.errstate(all="ignore"):
        for x, y in blocks:
            here = whose[at : at + len(y)]
            at += len(y)
            nonzero = (x != 0).any(axis=1) | (y != 0)
            np.add.at(count, here[nonzero], 1.0)
            for j in range(d):
                np.add.at(total[j], here[nonzero], np.ascontiguousarray(x[nonzero, j]))
            np.add.at(total[d], here[nonzero], y[nonzero])
        mean = (total / np.maximum(count, 1.0)).T
    mean[~np.isfinite(mean).all(axis=1)] = 0.0
    return np.ascontiguousarray(mean[:, :d]), np.ascontiguousarray(mean[:, d])
