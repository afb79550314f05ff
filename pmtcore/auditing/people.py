"""Neighbours of an audit that differ in a person: tables of people with any number of rows, bounded as in a release."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.budgets import Unit
from pmtcore.base.private_rows import PrivateRows
from pmtcore.tables.persons import bounded

# Any name will do.
_COLUMN = "person"


@dataclass(frozen=True)
class People:
    """People in the tables of an audit.

    Attributes:
        unit: claimed bound on the rows of each person.
        have: rows of the attacked person in the one table and in the other.
        applied: bound that is applied; ``None``: the claimed one. Another one is a planted fault.
    """

    unit: Unit
    have: tuple[int, int] = (1000, 10)
    applied: Unit | None = None

    @classmethod
    def of(cls, rows: int, rule: str, applied: int | None = None) -> People:
        """Return people of whom so many rows count by that rule.

        Raises:
            InputError: no such rule, or a number that does not go with it.
        """
        return cls(Unit(rows, _COLUMN, rule), applied=None if applied is None else Unit(applied, _COLUMN, rule))

    def table(
        self, which: int, row: tuple[np.ndarray, float], rest: tuple[np.ndarray, np.ndarray], names: tuple[str, ...]
    ) -> PrivateRows:
        """Return a table of the attacked person, with many copies of their worst row, before the others.

        Args:
            which: number of the table, 0 or 1.
            row: features (d,) and response of the attacked person.
            rest: rows (n, d), (n,) of the others, who have as many rows each as count.
            names: names of the features.
        """
        have, k = self.have[which], self.unit.rows
        x = np.vstack([np.tile(row[0], (have, 1)), rest[0]])
        y = np.concatenate([np.full(have, row[1]), rest[1]])
        others = 1 + np.arange(len(rest[1])) // k
        person = np.concatenate([np.zeros(have, dtype=int), others])
        rows = PrivateRows.from_arrays(np.column_stack([x, person]), y, (*names, _COLUMN))
        return bounded(rows, 1 + len(rest[1]) // k, self.applied or self.unit)

    @property
    def words(self) -> str:
        """Return the neighbours in words, after the pair of rows."""
        counts = " and ".join(f"{count:,}" for count in self.have)
        return f"as all {counts} rows of one person"
