"""Unit of protection: how many rows one person may have, and so what a guarantee is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pmtcore.base.checks import InputError, one_of, whole_number_between
from pmtcore.base.messages import AccountingMessage

# Rows of one person: beyond this no budget that protects them is of use.
MOST_ROWS = 100_000
FIRST, MEAN = "first", "mean"
RULES = (FIRST, MEAN)


@dataclass(frozen=True)
class Unit:
    """Number of rows of one person that count.

    Attributes:
        rows: largest number; a guarantee for a person is that of so many rows.
        column: column that identifies the person; the rule then enforces the bound, however many rows somebody has.
            Where it is empty, the bound is an assertion of the curator.
        rule: ``first``: the first rows of a person in the order of the table count; ``mean``: a person counts as one
            row, their rows weighted to one.
        whole: for a total over releases whose units were counted already: the person with all that they have.
    """

    rows: int = 1
    column: str = ""
    rule: str = FIRST
    whole: bool = False

    def __post_init__(self) -> None:
        whole_number_between("rows per person", self.rows, 1, MOST_ROWS)
        one_of("rule for the rows of a person", self.rule, RULES)
        if self.rule == MEAN and (self.rows != 1 or not self.column):
            raise InputError(AccountingMessage.MEANS_NEED_COLUMN)

    @property
    def differ(self) -> str:
        """Return the difference of two neighbouring tables, to follow 'two tables that differ in'."""
        if self.whole:
            return "all that one person has in them"
        if self.rule == MEAN:
            return f"one person ({self.column!r}), who counts as one row, the mean of theirs"
        if self.column:
            return f"one person ({self.column!r}), of whom at most {_rows(self.rows)} count"
        return f"all rows of one person, who has at most {self.rows} of them"

    @property
    def words(self) -> str:
        """Return the unit in one sentence."""
        if self.rule == MEAN:
            return f"Each person (column {self.column!r}) counts as one row, the mean of theirs."
        if self.column:
            return f"Of each person (column {self.column!r}) at most {_rows(self.rows)} count."
        return f"Each person is taken to have at most {_rows(self.rows)}."

    def covers(self, wanted: Unit) -> bool:
        """Return True where a guarantee with this unit protects everybody whom ``wanted`` protects."""
        if wanted.column and (self.column, self.rule) != (wanted.column, wanted.rule):
            return False
        return self.rows >= wanted.rows

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {"rows": self.rows, "column": self.column, "rule": self.rule}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Unit:
        """Return the unit of plain fields.

        Raises:
            InputError: a field is out of range.
        """
        return cls(int(fields.get("rows", 1)), str(fields.get("column", "")), str(fields.get("rule", FIRST)))


# Unit of a person who is in one row.
ROW = Unit()
# Unit of totals over releases.
PERSON = Unit(whole=True)


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"
