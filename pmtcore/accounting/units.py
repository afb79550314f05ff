"""The unit of protection: what one person may have in a table, and so what a guarantee is about."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, final

from pmtcore.base.checks import InputError, one_of, whole_number_between

MOST_ROWS = 100_000  # of one person: beyond, no budget that protects them is of use
FIRST, MEAN = "first", "mean"
RULES = (FIRST, MEAN)


@final
@dataclass(frozen=True)
class Unit:
    """How many rows of one person count.

    Attributes:
        rows: at most so many; a guarantee for a person is that of so many rows.
        column: says whose a row is, and the bound is then kept by a rule, however many rows somebody has; empty: the
            bound is somebody's word.
        rule: ``first``, the first rows of a person in the order of the table count; ``mean``, a person counts as one
            row, their rows weighted to one.
        whole: of a total over releases whose units were counted already: the person with all that they have.
    """

    rows: int = 1
    column: str = ""
    rule: str = FIRST
    whole: bool = False

    def __post_init__(self) -> None:
        whole_number_between("rows per person", self.rows, 1, MOST_ROWS)
        one_of("rule for the rows of a person", self.rule, RULES)
        if self.rule == MEAN and (self.rows != 1 or not self.column):
            raise InputError("A mean of each person's rows is one row, and needs the column that says whose a row is.")

    @property
    def differ(self) -> str:
        """What two neighbouring tables differ in, to follow 'two tables that differ in'."""
        if self.whole:
            return "all that one person has in them"
        if self.rule == MEAN:
            return f"one person ({self.column!r}), who counts as one row, the mean of theirs"
        if self.column:
            return f"one person ({self.column!r}), of whom at most {_rows(self.rows)} count"
        return f"all rows of one person, who has at most {self.rows} of them"

    @property
    def words(self) -> str:
        """The unit in one sentence."""
        if self.rule == MEAN:
            return f"Each person (column {self.column!r}) counts as one row, the mean of theirs."
        if self.column:
            return f"Of each person (column {self.column!r}) at most {_rows(self.rows)} count."
        return f"Each person is taken to have at most {_rows(self.rows)}."

    def covers(self, wanted: Unit) -> bool:
        """Whether a guarantee with this unit protects whoever a curator wants protected by ``wanted``."""
        if wanted.column and (self.column, self.rule) != (wanted.column, wanted.rule):
            return False
        return self.rows >= wanted.rows

    def as_dict(self) -> dict[str, Any]:
        """Plain fields."""
        return {"rows": self.rows, "column": self.column, "rule": self.rule}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Unit:
        """Back from plain fields.

        Raises:
            InputError: a field is out of range.
        """
        return cls(int(fields.get("rows", 1)), str(fields.get("column", "")), str(fields.get("rule", FIRST)))


ROW = Unit()  # each person is in one row
PERSON = Unit(whole=True)  # what totals are about


def _rows(count: int) -> str:
    return f"{count:,} row{'s' * (count != 1)}"
