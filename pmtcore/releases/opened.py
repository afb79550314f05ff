"""Two tables that somebody opened, before columns are chosen: read, by name, or registered by a curator."""

from dataclasses import dataclass
from typing import final

from pmtcore.releases.register import Registered
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem, default_choices, prepare
from pmtcore.tables.schema import Schema
from pmtcore.tables.table import MomentTable, Table


@final
@dataclass(slots=True)
class Tables:
    """The two tables as read, before columns are chosen. ``key`` is new whenever they are."""

    key: str
    title: str
    private: Table
    public: Table | MomentTable
    lab_reasons: tuple[str, ...] = ()
    public_rows: int | None = None  # rows behind a moment matrix
    named: Choices | None = None  # what a table opened by name is fitted with
    schema: Schema | None = None  # declared, in place of what the public table suggests
    source: Registered | None = None  # where a curator registered them
    repaired: tuple[str, tuple[str, ...] | None] | None = None  # columns left out at once: why, and what was taken

    @property
    def registered(self) -> str:
        """Return the data set's name, where a curator registered it; else empty."""
        return "" if self.source is None else self.source.name

    @property
    def first(self) -> Choices:
        """Return what to fit when nothing is chosen yet.

        Raises:
            InputError: the tables have no numeric column in common.
        """
        if self.source is not None:
            return self.source.first
        return self.named or default_choices(self.private, self.public)

    def problem(self, choices: Choices) -> Problem:
        """Return the problem of these choices.

        Raises:
            InputError: the tables do not fit the choices.
        """
        if self.source is not None:
            return self.source.problem(choices)
        rows = self.public_rows
        reasons = self.lab_reasons
        return prepare(self.private, self.public, choices, lab_reasons=reasons, public_rows=rows, schema=self.schema)

    @property
    def may_be_studied(self) -> bool:
        """Return whether exact figures of these tables harm nobody: synthetic, or public tables for study."""
        return bool(self.lab_reasons)
