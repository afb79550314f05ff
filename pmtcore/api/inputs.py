"""Conversion of a user's arguments (target, features or a formula, a budget in some unit) to problems and budgets."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import MU_RANGE, Budget
from pmtcore.api import frames
from pmtcore.base.messages import ArgumentMessage, FaceMessage, InputError, number_between, reraised_as
from pmtcore.public.moments import PublicData
from pmtcore.tables.choices import Choices
from pmtcore.tables.design import Design
from pmtcore.tables.findings import open_findings, public_alone
from pmtcore.tables.problem import Problem, prepare
from pmtcore.tables.schema import Schema, schema_from_json
from pmtcore.tables.table import MomentTable

_NEVER_EMPTY = {
    *("target", "method", "formula", "family", "person", "weights", "cluster", "exposure", "positive"),
    *("missing", "unseen", "collinear", "covariates", "person_rule", "dataset", "key"),
}


def budget_of(mu: float | None, rho: float | None, epsilon: float | None, delta: float | None) -> Budget:
    """Return a total budget given in one unit.

    Raises:
        InputError: none or several are given, epsilon without delta, or a value out of range.
    """
    lacks_delta = FaceMessage.EPSILON_NEEDS_DELTA
    return Budget.from_one_unit(mu, rho, epsilon, delta, not_one=FaceMessage.ONE_BUDGET, lacks_delta=lacks_delta)


def budgets_of(mu: float | Sequence[float]) -> list[float]:
    """Return one total budget, or several, as numbers.

    Raises:
        InputError: one is no number, or out of range.
    """
    given = [mu] if isinstance(mu, str) else np.atleast_1d(mu).tolist()
    return [number_between("mu", value, *MU_RANGE) for value in given]


def write_text(path: str | Path, text: str) -> None:
    """Write a text to the file that a user named.

    Raises:
        InputError: no file can be written there.
    """
    with reraised_as(InputError(FaceMessage.NOT_WRITABLE, place=path), OSError, TypeError, ValueError):
        Path(path).write_text(text, encoding="utf-8")


def as_names(given: str | Iterable[str]) -> tuple[str, ...]:
    """Return names of columns or methods; a text is one name, and not the letters it is made of."""
    return (given,) if isinstance(given, str) else tuple(given)


def check_not_empty(given: Mapping[str, Any]) -> None:
    """Refuse an empty text, as of a variable that is not set.

    It would stand for the default, and no person would be protected.

    Raises:
        InputError: an argument is an empty text.
    """
    for name in _NEVER_EMPTY & given.keys():
        if given.get(name) == "":
            raise InputError(ArgumentMessage.EMPTY_TEXT, name=name)


@dataclass(frozen=True)
class Inputs:
    """Model to fit: the user's choices of columns and coding, and a declared schema."""

    choices: Choices
    schema: Schema | None = None

    def public_data(self, public: object, public_rows: int | None) -> tuple[PublicData, tuple[str, ...]]:
        """Return the public data alone, and notes on its columns.

        Raises:
            InputError: as :func:`pmtcore.tables.problem.prepare`.
        """
        shown = public if isinstance(public, MomentTable) else frames.table(public, "public")
        return public_alone(shown, self.choices, public_rows)

    def prepared(self, private: object, public: object, public_rows: int | None = None) -> tuple[Problem, Design, str]:
        """Return both tables as a problem, the design for new rows, and a key of the tables within this process.

        No private row is read.

        Raises:
            InputError: as :func:`pmtcore.tables.problem.prepare`.
        """
        rows = frames.table(private, "private")
        shown = public if isinstance(public, MomentTable) else frames.table(public, "public")
        problem = prepare(rows, shown, self.choices, public_rows=public_rows, schema=self.schema)
        problem = replace(problem, notes=(*open_findings(rows, shown, self.choices, self.schema), *problem.notes))
        if problem.design is None:
            raise ValueError("a problem from tables has a design")
        return problem, problem.design, f"{rows.sha256} {frames.digest(shown)} {self.choices.formula}"


def schema_of(given: Mapping[str, Any] | str | Path | None) -> Schema | None:
    """Return a declared schema, from plain fields or a file.

    Raises:
        InputError: no such file, or another form.
    """
    if given is None:
        return None
    if isinstance(given, Mapping):
        return Schema.from_dict(given)
    with reraised_as(InputError(FaceMessage.SCHEMA_UNREADABLE, given=str(given)[:200]), OSError, TypeError, ValueError):
        return schema_from_json(Path(given).read_bytes())


def new_rows(frame: object, design: Design) -> np.ndarray:
    """Return features (k, d) of new rows, NaN throughout a row that lacks a value.

    Raises:
        InputError: a column is missing, or the rows are no table.
    """
    if frames.is_empty(frame):
        return np.zeros((0, len(design.coder.names)))
    if not frames.is_table(frame):
        raise InputError(FaceMessage.NOT_A_FRAME, table="new", given=type(frame).__name__)
    x, complete = design.features(frames.table(frame, "public"))
    x[~complete] = np.nan
    return x
