"""Responses: numbers as they are, labels as 0 and 1 by a rule that only public data and the user decide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import pandas as pd

from pmtcore.base.checks import InputError, listed
from pmtcore.data.tables import Table
from pmtcore.models.families import Family

_LARGEST = 1e150
_YES = ("1", "1.0", "yes", "y", "true", "t", "positive", "pos")


def is_numeric(column: pd.Series[Any]) -> bool:
    """Whether a column holds numbers or truth values."""
    return bool(pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))


def numbers(table: Table, name: str) -> np.ndarray:
    """A numeric column (n,), NaN where missing.

    Raises:
        InputError: text, dates, infinite or absurdly large values.
    """
    column = table.frame[name]
    if not is_numeric(column):
        if not column.isna().all():
            raise InputError(
                f"Column {name!r} must be numeric, but in the {table.role} table it has text in it; clean the column, "
                f"or leave it out."
            )
        raise InputError(f"Column {name!r} of the {table.role} table is empty; leave it out.")
    values = column.astype(float).to_numpy(dtype=float, na_value=np.nan).copy()
    if np.any(np.isinf(values)):
        raise InputError(f"Column {name!r} of the {table.role} table has infinite values; replace or remove them.")
    if np.any(np.abs(values) > _LARGEST):
        raise InputError(f"Column {name!r} of the {table.role} table has values beyond 1e150; rescale or clean it.")
    return values


@final
@dataclass(frozen=True)
class Coding:
    """How a target column becomes responses.

    Attributes:
        positive: the level that counts as 1; ``None`` for a numeric response.
        others: levels that count as 0; ``None``: every other level does.
    """

    name: str
    family: Family
    positive: str | None = None
    others: tuple[str, ...] | None = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What counts as 1, in words."""
        return () if self.positive is None else (f"{self.name} = {self.positive} counts as 1.",)

    def encode(self, table: Table) -> np.ndarray:
        """Responses (n,), NaN where missing.

        Raises:
            InputError: text for a number, a level that is not declared, negative public counts.
        """
        if self.positive is None:
            values = numbers(table, self.name)
            if self.family.id == "poisson" and table.role == "public" and np.any(values < 0):
                raise InputError(f"Column {self.name!r} has negative values; a Poisson regression needs counts.")
            return values
        text = _text(table.frame[self.name])
        found = (text == self.positive).to_numpy(dtype=float)
        if self.others is not None and not text[~text.isna()].isin([self.positive, *self.others]).all():
            raise InputError(
                f"Column {self.name!r} of the {table.role} table has labels beside {listed([*self.others])} and "
                f"{self.positive!r}; say which label counts as 1 (positive), and all others count as 0."
            )
        found[text.isna().to_numpy()] = np.nan
        return found


def coding(public: pd.Series[Any] | None, name: str, family: Family, positive: str | None) -> Coding:
    """The rule for a target column, from its public values (``None``: unlabelled) and what the user declared.

    Raises:
        InputError: a label is wanted and the public values do not say which.
    """
    if not family.binary:
        return Coding(name, family)
    declared = None if positive is None else _canonical(positive)
    if public is None:
        return Coding(name, family, declared or "1", ("0",) if declared is None else None)
    levels = sorted(_text(public).dropna().unique())
    if declared is not None:
        if declared not in levels:
            raise InputError(f"No public row has {name} = {positive!r}, the label that should count as 1.")
        return Coding(name, family, declared, None)
    if set(levels) <= {"0", "1"}:
        return Coding(name, family, "1", ("0",))
    if len(levels) != 2:
        raise InputError(
            f"Column {name!r} has {len(levels)} different values in the public table; {family.title} regression needs "
            f"two labels: say which value counts as 1 (positive), or choose another family."
        )
    chosen = next((level for level in levels if level.lower() in _YES), _largest(levels))
    return Coding(name, family, chosen, tuple(level for level in levels if level != chosen))


def _largest(levels: list[str]) -> str:
    try:
        return max(levels, key=float)
    except ValueError:
        return levels[-1]


def _canonical(value: str) -> str:
    """``1.0`` and ``1`` are one label."""
    value = value.strip()
    try:
        number = float(value)
    except ValueError:
        return value
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def _text(column: pd.Series[Any]) -> pd.Series[Any]:
    """A column's labels as text, missing ones kept."""
    if is_numeric(column):
        column = column.astype(float)
    return column.map(lambda value: value if pd.isna(value) else _canonical(str(value)))
