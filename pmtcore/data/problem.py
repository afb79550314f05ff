"""From two tables to rows: choice of columns, categories, missing values, checks between the tables.

The schema comes from the public table or is declared, never learned from private rows. Categories become
one column per public level but one (the most frequent, as reference), with an intercept or without: a
complete set of dummies is collinear with an intercept, and without one it would be an intercept in disguise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
import pandas as pd

from pmtcore.base.checks import InputError, listed
from pmtcore.base.records import PrivateRows
from pmtcore.data.choices import Choices
from pmtcore.data.tables import MomentTable, Table
from pmtcore.data.targets import Coding, coding, is_numeric, numbers
from pmtcore.models.families import GAUSSIAN
from pmtcore.public.moments import INTERCEPT, PublicData, public_from_moment, public_from_rows

OTHER = "other"
_MOST_LEVELS = 50
_FEWEST_ROWS = 2
_MOST_FEATURES = 1000
_INTERCEPT_NAMES = (INTERCEPT, "intercept", "const", "1")


@final
@dataclass(frozen=True, eq=False)
class Problem:
    """A regression problem ready for methods: private rows in their box, and what is public."""

    private: PrivateRows
    public: PublicData
    choices: Choices
    notes: tuple[str, ...] = ()
    lab_reasons: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"<regression of {self.choices.target!r}, {self.private!r}>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a problem with private rows stays in the session that made it")


def default_choices(private: Table, public: Table | MomentTable) -> Choices:
    """A first guess: the last numeric column that both tables have is the target.

    Raises:
        InputError: the tables have no numeric column in common.
    """
    names = _common(private, public)
    numeric = [name for name in names if isinstance(public, MomentTable) or is_numeric(public.frame[name])]
    if not numeric:
        raise InputError("The two tables have no numeric column in common; a regression needs a numeric target.")
    return Choices(target=numeric[-1])


def prepare(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    *,
    lab_reasons: tuple[str, ...] = (),
    public_rows: int | None = None,
) -> Problem:
    """Check the tables against each other and encode them.

    Args:
        lab_reasons: why a release from these tables would be a lab figure.
        public_rows: rows behind a public moment matrix, if known.

    Raises:
        InputError: what is wrong, in which table and column, and what to do.
    """
    if isinstance(public, Table) and public.sha256 == private.sha256:
        raise InputError("The public table is the same file as the private one; choose rows that really are public.")
    features = _features(private, public, choices)
    if isinstance(public, MomentTable):
        return _with_moment(private, public, choices, features, lab_reasons, public_rows)
    data, coder, notes = _public_side(public, choices, features)
    px, py, _ = coder.rows(private)
    if choices.missing == "empty-row":
        notes += ("A private row with a missing value counts as a row of zeros, so that n stays public.",)
    return Problem(PrivateRows.from_arrays(px, py, coder.names), data, choices, notes, lab_reasons)


def prepare_public(public: Table, choices: Choices) -> PublicData:
    """The public side alone, where private rows stay on other devices.

    Raises:
        InputError: as :func:`prepare`.
    """
    names = [name for name in public.frame.columns if name != choices.target]
    missing = [name for name in choices.features or () if name not in names]
    if missing:
        raise InputError(f"The public table has no column {listed(missing)}; it has {listed(names)}.")
    return _public_side(public, choices, list(choices.features or names))[0]


def rows_of(table: Table, names: tuple[str, ...], choices: Choices) -> tuple[np.ndarray, np.ndarray]:
    """Numeric rows (k, d), (k,) of a device's own table, in the order of published names; NaN in rows with gaps.

    Raises:
        InputError: a column is missing or not numeric.
    """
    wanted = [*(choices.features or ()), choices.target]
    if any(name not in table.frame.columns for name in wanted):
        raise InputError("The table of own rows lacks a column of the configuration; see its 'names' and 'target'.")
    target = coding(None, choices.target, choices.model, choices.positive)
    x, y, kept = _Coder(tuple(_Column(name) for name in choices.features or ()), choices, target).rows(table)
    x[~kept] = np.nan
    if x.shape[1] != len(names):
        raise InputError("The configuration has category columns; publish one with numeric features only.")
    return x, y


def _public_side(public: Table, choices: Choices, features: list[str]) -> tuple[PublicData, _Coder, tuple[str, ...]]:
    """Public data, the coder that private rows go through too, and what to say about both."""
    columns = [_column(public.frame[name], name, choices) for name in features]
    labelled = choices.target in public.frame.columns
    target = coding(public.frame[choices.target] if labelled else None, choices.target, choices.model, choices.positive)
    notes = target.notes + tuple(note for column in columns for note in column.notes)
    coder = _Coder(tuple(columns), choices, target)
    x, y, kept = coder.rows(public, labelled)
    if not np.all(kept):
        notes += (f"{int(np.sum(~kept))} public rows with missing values were left out.",)
    if not labelled:
        notes += ("The public rows have no target: they serve to whiten and to choose the radius.",)
    data = public_from_rows(
        x[kept],
        y[kept] if labelled else None,
        coder.names,
        choices.target,
        choices.public_ridge,
        choices.model,
        choices.penalty,
    )
    return data, coder, notes


@final
@dataclass(frozen=True)
class _Column:
    """One feature of the public schema: numeric, or categorical with its dummies."""

    name: str
    fill: float = 0.0
    levels: tuple[str, ...] | None = None  # dummies, reference excluded; None: numeric
    reference: str = ""
    merged: frozenset[str] = frozenset()  # public levels that count as `other`
    notes: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,) if self.levels is None else tuple(f"{self.name}={level}" for level in self.levels)

    def encode(self, table: Table, choices: Choices) -> np.ndarray:
        """The column's part of the design matrix (n, k); NaN where a value is missing."""
        values = table.frame[self.name]
        if self.levels is None:
            return numbers(table, self.name)[:, None]
        missing = values.isna().to_numpy()
        text = values.astype(str).str.strip()
        known = text.isin([*self.levels, self.reference])
        merged = text.isin(self.merged)
        unseen = ~(known | merged).to_numpy() & ~missing
        if choices.unseen == "refuse" and np.any(unseen):
            raise InputError(
                f"Column {self.name!r} of the {table.role} table has levels that the public table does not have; "
                f"declare them, or choose the policy 'other' for unseen levels."
            )
        text = text.where(known, OTHER)
        found = np.column_stack([(text == level).to_numpy(dtype=float) for level in self.levels])
        found[missing] = np.nan
        return found


@final
@dataclass(frozen=True)
class _Coder:
    columns: tuple[_Column, ...]
    choices: Choices
    target: Coding

    @property
    def names(self) -> tuple[str, ...]:
        found = tuple(name for column in self.columns for name in column.names)
        return ((INTERCEPT, *found)) if self.choices.intercept else found

    def rows(self, table: Table, labelled: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features (n, d), response (n,), and which rows are whole; the others are zeros."""
        y = self.target.encode(table) if labelled else np.zeros(table.n)
        blocks = [np.ones((table.n, 1))] if self.choices.intercept else []
        for column in self.columns:
            block = column.encode(table, self.choices)
            if self.choices.missing == "public-median":
                block = np.where(np.isnan(block), column.fill, block)
            blocks.append(block)
        x = np.hstack(blocks)
        if x.shape[1] > _MOST_FEATURES:
            raise InputError(
                f"The features make {x.shape[1]} columns; at most {_MOST_FEATURES} can be used: choose fewer."
            )
        kept = ~(np.isnan(y) | np.isnan(x).any(axis=1))
        if self.choices.missing == "refuse" and not np.all(kept):
            names = [c.name for c in self.columns if table.frame[c.name].isna().any()]
            if np.any(np.isnan(y)):
                names.append(self.choices.target)
            raise InputError(
                f"The {table.role} table has missing values in {listed(names)}; choose a policy for missing values, "
                f"or leave these columns out."
            )
        x[~kept], y[~kept] = 0.0, 0.0
        return x, y, kept


def _common(private: Table, public: Table | MomentTable) -> list[str]:
    columns = public.columns if isinstance(public, MomentTable) else tuple(public.frame.columns)
    found = [name for name in columns if name in private.frame.columns]
    if not found:
        raise InputError(
            "The two tables have no column in common; check that both start with a header row and use the same names."
        )
    return found


def _features(private: Table, public: Table | MomentTable, choices: Choices) -> list[str]:
    """The chosen features in public order."""
    common = _common(private, public)
    columns = list(public.columns if isinstance(public, MomentTable) else public.frame.columns)
    for name in (choices.target, *(choices.features or ())):
        unlabelled = name == choices.target and choices.model is not GAUSSIAN and isinstance(public, Table)
        if unlabelled and name not in columns and name in private.frame.columns:
            continue  # labels are private only
        if name not in columns:
            raise InputError(f"The public table has no column {name!r}; it has {listed(columns)}.")
        if name not in common:
            raise InputError(f"The private table has no column {name!r}; choose a column that both tables have.")
    chosen = common if choices.features is None else list(choices.features)
    found = [name for name in chosen if name != choices.target and name not in _INTERCEPT_NAMES[:1]]
    if isinstance(public, MomentTable):
        found = [name for name in found if name not in _INTERCEPT_NAMES]
    if not found:
        raise InputError("No features are left beside the target; choose at least one.")
    return found


def _public_median(values: pd.Series[Any]) -> float:
    return float(values.median()) if is_numeric(values) else float("nan")


def _column(values: pd.Series[Any], name: str, choices: Choices) -> _Column:
    if pd.api.types.is_datetime64_any_dtype(values):
        raise InputError(
            f"Column {name!r} holds dates; turn it into numbers (days since a fixed day), or leave it out."
        )
    if is_numeric(values) and name not in choices.levels:
        return _Column(name, fill=_public_median(values))
    return _categories(values, name, choices)


def _categories(values: pd.Series[Any], name: str, choices: Choices) -> _Column:
    """Levels of a categorical column: public ones with at least two rows, or the declared among them."""
    found = values.dropna().astype(str).str.strip().value_counts()
    counts = {str(level): int(count) for level, count in found.items()}
    declared = {str(level) for level in choices.levels.get(name, ())}
    if not declared and len(counts) > _MOST_LEVELS:
        raise InputError(
            f"Column {name!r} has {len(counts)} different texts in the public table (at most {_MOST_LEVELS} "
            f"categories); leave it out, or declare its levels."
        )
    often = sorted(k for k, count in counts.items() if count >= _FEWEST_ROWS and (not declared or k in declared))
    if len(often) < 2:
        raise InputError(f"Column {name!r} has fewer than two categories with public rows; leave it out.")
    reference = max(often, key=lambda level: (counts[level], level))
    levels = [level for level in often if level != reference]
    rare = set(counts) - set(often)
    notes = [f"Categories of {name!r} are compared with {reference!r}."]
    if sum(counts[level] for level in rare) >= _FEWEST_ROWS and OTHER not in often:
        levels.append(OTHER)
        notes.append(f"Rare public categories of {name!r} count as {OTHER!r}.")
    home = OTHER if OTHER in levels else reference
    few = declared - set(often)
    if few:
        notes.append(
            f"Declared categories of {name!r} with fewer than two public rows count as {home!r}: {listed(sorted(few))}."
        )
    if choices.unseen == "other":
        notes.append(f"Categories of {name!r} that the public table does not have count as {home!r}.")
    return _Column(name, 0.0, tuple(levels), reference, frozenset(rare | few), tuple(notes))


def _with_moment(
    private: Table,
    public: MomentTable,
    choices: Choices,
    features: list[str],
    lab_reasons: tuple[str, ...],
    public_rows: int | None,
) -> Problem:
    """A problem whose public side is a moment matrix: numeric features only."""
    coder = _numeric_coder(features, choices)
    data = _moment_side(public, choices, features, coder.names, public_rows)
    x, y, _ = coder.rows(private)
    return Problem(PrivateRows.from_arrays(x, y, coder.names), data, choices, (), lab_reasons)


def prepare_moment(public: MomentTable, choices: Choices, public_rows: int | None) -> PublicData:
    """The public side alone, from a moment matrix.

    Raises:
        InputError: as :func:`prepare`.
    """
    features = [name for name in choices.features or public.columns if name not in (choices.target, *_INTERCEPT_NAMES)]
    missing = [name for name in (*features, choices.target) if name not in public.columns]
    if missing or not features:
        raise InputError(f"The moment matrix has no column {listed(missing)}; it has {listed(public.columns)}.")
    return _moment_side(public, choices, features, _numeric_coder(features, choices).names, public_rows)


def _numeric_coder(features: list[str], choices: Choices) -> _Coder:
    target = coding(None, choices.target, choices.model, choices.positive)
    return _Coder(tuple(_Column(name) for name in features), choices, target)


def _moment_side(
    public: MomentTable, choices: Choices, features: list[str], names: tuple[str, ...], public_rows: int | None
) -> PublicData:
    order = [*features, choices.target]
    if choices.missing == "public-median":
        raise InputError("A moment matrix has no medians; choose 'refuse' or 'empty-row' for missing values.")
    if choices.intercept:
        given = [name for name in _INTERCEPT_NAMES if name in public.columns]
        if not given:
            raise InputError(
                f"The moment matrix has no intercept row; add a column {INTERCEPT!r} of means, or switch the "
                f"intercept off."
            )
        order = [given[0], *order]
    at = [public.columns.index(name) for name in order]
    return public_from_moment(
        public.matrix[np.ix_(at, at)],
        names,
        choices.target,
        public_rows,
        choices.public_ridge,
        choices.model,
        choices.penalty,
    )


def schema_summary(private: Table, public: Table | MomentTable) -> pd.DataFrame:
    """Columns that both tables have, with their kind in the public table: names from public data only."""
    names = _common(private, public)
    if isinstance(public, MomentTable):
        return pd.DataFrame({"column": names, "kind": ["numeric"] * len(names)})
    frame = public.frame
    kinds = ["numeric" if is_numeric(frame[name]) else f"{frame[name].nunique()} categories" for name in names]
    return pd.DataFrame(
        {"column": names, "kind": kinds, "missing in public rows": [int(frame[n].isna().sum()) for n in names]}
    )
