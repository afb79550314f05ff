"""People with many rows: an identifier column says whose a row is, and at most ``k`` rows of each person count.

The rule is public: the first ``k`` rows of a person, in the order of the table, are kept, and any further one counts
as a row of zeros, so that n stays public (maths.md, 1). Then all rows of one person, replaced, change at most ``k``
rows of what a method sees, and its guarantee for a person is the one for ``k`` rows, however many somebody has. Rows
without an identifier are one person's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd

from pmtcore.accounting.budgets import MOST_ROWS
from pmtcore.base.checks import InputError, whole_number_between
from pmtcore.base.records import Block, PrivateRows
from pmtcore.data.cells import texts
from pmtcore.data.dialect import Dialect
from pmtcore.data.problem import Problem
from pmtcore.data.tables import Table


def bounded(problem: Problem, column: str, rows: int) -> Problem:
    """The same problem with at most so many rows of each person; no private row is read here.

    Args:
        column: of the private table, whose cells say whose a row is.

    Raises:
        InputError: no such column, or it is one of the features.
    """
    most = whole_number_between("rows per person", rows, 1, MOST_ROWS)
    table = problem.table
    if table is None or column not in table.columns:
        raise InputError(f"The private table has no column {column!r} that says whose a row is.")
    inputs = {name.split("=")[0] for name in problem.public.names} | {problem.public.target}
    if column in inputs:
        raise InputError(f"{column!r} says whose a row is; leave it out of the features.")
    old = problem.private
    dialect = problem.dialect or Dialect()
    kept: list[np.ndarray] = []  # found in the first pass, after the ledger was asked

    def blocks() -> Iterator[Block]:
        if not kept:
            kept.append(_first_rows(table, column, dialect, most))
        at = 0
        for x, y in old._blocks():
            keep = kept[0][at : at + len(y)]
            at += len(y)
            yield x * keep[:, None], y * keep

    note = f"At most {most} row{'s' * (most > 1)} of each person (column {column!r}) count; others are rows of zeros."
    return replace(problem, private=PrivateRows(blocks, old.n, old.names), notes=(*problem.notes, note))


def _first_rows(table: Table, column: str, dialect: Dialect, most: int) -> np.ndarray:
    """1 for the first rows of each person, else 0; (n,)."""
    parts = [texts(block.columns[column]).fill_null("") for block in table.source.blocks((column,), dialect)]
    of = pd.Series(np.concatenate([part.to_numpy(zero_copy_only=False) for part in parts]), dtype=object)
    return (of.groupby(of, sort=False).cumcount().to_numpy() < most).astype(float)
