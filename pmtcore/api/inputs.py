"""From a user's words (target, features or a formula, a budget in some unit) to what the core takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from pmtcore.accounting.budgets import Budget, checked_delta
from pmtcore.api import frames
from pmtcore.base.checks import InputError, listed
from pmtcore.public.moments import PublicData
from pmtcore.tables.choices import Choices
from pmtcore.tables.coder import Coder
from pmtcore.tables.problem import Problem, prepare, prepare_moment, prepare_public
from pmtcore.tables.schema import frequencies
from pmtcore.tables.table import MomentTable, Table

if TYPE_CHECKING:
    from pmtcore.api.formula import Expansion


def budget_of(mu: float | None, rho: float | None, epsilon: float | None, delta: float | None) -> Budget:
    """A total budget given in one unit.

    Raises:
        InputError: none or several are given, epsilon without delta, or a value out of range.
    """
    given = [name for name, value in (("mu", mu), ("rho", rho), ("epsilon", epsilon)) if value is not None]
    if len(given) != 1:
        raise InputError("Give the total budget once: mu=..., or rho=..., or epsilon=... with delta=....")
    if delta is not None:
        checked_delta(delta)
    if mu is not None:
        return Budget(mu)
    if rho is not None:
        return Budget.from_rho(rho)
    if epsilon is None or delta is None:
        raise InputError("epsilon needs delta: PrivateRegressor(epsilon=1, delta=1e-6).")
    return Budget.from_epsilon(epsilon, delta)


@final
@dataclass(frozen=True)
class Design:
    """How rows of a table become features: decided by public data and the user's choices, the same for new rows.

    Attributes:
        inputs: columns of the table that are used.
        labels: of the public target, where it has labels.
    """

    coder: Coder
    inputs: tuple[str, ...]
    expansion: Expansion | None = None
    labels: tuple[str, ...] = ()

    def features(self, frame: Any) -> tuple[np.ndarray, np.ndarray]:
        """Features (k, d) of new rows, and which rows have all their values.

        Raises:
            InputError: a column is missing.
        """
        if frames.is_empty(frame):
            return np.zeros((0, len(self.coder.names))), np.zeros(0, dtype=bool)
        rows = frames.table(frame, "public")
        missing = [name for name in self.inputs if name not in rows.columns]
        if missing:
            raise InputError(f"The table of new rows has no column {listed(missing)}; it needs {listed(self.inputs)}.")
        source = rows.source if self.expansion is None else self.expansion.source(rows.source)
        coder = replace(self.coder, decimal=rows.dialect.mark(source.separator))
        blocks = source.blocks(coder.columns(labelled=False), rows.dialect)
        found = [coder.rows(block, labelled=False) for block in blocks]
        return np.vstack([part.x for part in found]), np.concatenate([part.whole for part in found])

    def classes(self) -> np.ndarray:
        """The two labels, the one that counts as 1 last; numbers where the labels are numbers."""
        coding = self.coder.target
        positive = coding.positive or "1"
        others = coding.others or tuple(label for label in self.labels if label != positive)
        found = [others[0] if len(others) == 1 else f"not {positive}", positive]
        try:
            return np.asarray([int(label) for label in found])
        except ValueError:
            return np.asarray(found, dtype=object)


@final
@dataclass(frozen=True)
class Inputs:
    """What to fit, in the user's words; ``choices`` without features where a formula names them."""

    choices: Choices
    formula: str | None = None

    @classmethod
    def of(
        cls, target: str | None, features: tuple[str, ...] | None, formula: str | None, fields: Mapping[str, Any]
    ) -> Inputs:
        """From target and features, or a formula.

        Raises:
            InputError: neither or both are given.
        """
        if formula is None:
            if target is None:
                raise InputError("Say which column is the target: target='y', or formula='y ~ ...'.")
            return cls(Choices(target=target, features=features, **fields))
        if target is not None or features is not None:
            raise InputError("Give a formula, or target and features: the formula names both.")
        from pmtcore.api.formula import target_of  # noqa: PLC0415  # needs the extra

        return cls(Choices(target=target_of(formula), **fields), formula)

    def public_data(self, public: Any, public_rows: int | None) -> PublicData:
        """The public side alone.

        Raises:
            InputError: as :func:`pmtcore.tables.problem.prepare`.
        """
        if isinstance(public, MomentTable):
            return prepare_moment(self._plain(public), self.choices, public_rows)
        table = frames.table(public, "public")
        expansion = self._expansion(table)
        if expansion is None:
            return prepare_public(table, self.choices)
        return prepare_public(expansion.table(table), self._chosen(expansion))

    def prepared(self, private: Any, public: Any, public_rows: int | None = None) -> Prepared:
        """Both tables, expanded by the formula where there is one, as a problem; no private row is read.

        Raises:
            InputError: as :func:`pmtcore.tables.problem.prepare`.
        """
        hidden = frames.table(private, "private")
        if isinstance(public, MomentTable):
            problem = prepare(hidden, self._plain(public), self.choices, public_rows=public_rows)
            return Prepared(problem, _design(problem), f"{hidden.sha256} {frames.digest(public)}")
        shown = frames.table(public, "public")
        same = f"{hidden.sha256} {shown.sha256} {self.formula}"
        expansion = self._expansion(shown)
        if expansion is None:
            problem = prepare(hidden, shown, self.choices)
            return Prepared(problem, _design(problem, shown), same)
        choices, schema = self._chosen(expansion), expansion.schema
        problem = prepare(expansion.table(hidden), expansion.table(shown), choices, schema=schema)
        problem = replace(problem, table=hidden)  # the ledger knows the rows again, whatever is made of them
        return Prepared(problem, _design(problem, shown, expansion), same)

    def _expansion(self, public: Table) -> Expansion | None:
        if self.formula is None:
            return None
        from pmtcore.api.formula import Expansion  # noqa: PLC0415  # needs the extra

        return Expansion.learned(self.formula, public)

    def _chosen(self, expansion: Expansion) -> Choices:
        return replace(self.choices, features=expansion.names, intercept=expansion.intercept)

    def _plain(self, public: MomentTable) -> MomentTable:
        if self.formula is not None:
            raise InputError("A formula needs public rows; with a moment matrix name target and features.")
        return public


@final
@dataclass(frozen=True)
class Prepared:
    """A problem, how new rows are read in the same way, and what tells its tables from others in this process."""

    problem: Problem
    design: Design
    tables: str


def _design(problem: Problem, public: Table | None = None, expansion: Expansion | None = None) -> Design:
    if problem.coder is None:
        raise ValueError("a problem from tables has a coder")
    inputs = problem.coder.columns(labelled=False) if expansion is None else expansion.inputs
    target = problem.choices.target
    labels: tuple[str, ...] = ()
    if public is not None and problem.choices.model.binary and target in public.columns:
        labels = tuple(sorted(frequencies(public.cells[public.columns.index(target)])))
    return Design(problem.coder, inputs, expansion, labels)
