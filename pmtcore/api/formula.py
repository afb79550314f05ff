"""Formulas such as ``y ~ age + C(sex) + age:sex``, through formulaic; every state is learned from public rows only.

A formula may hold any Python, and Python may look at a whole column: a mean of the private rows inside a feature would
let one row change all others. So only what works on each row alone is let through: columns, numbers, arithmetic, and
functions from a list. Stateful functions (``center``, ``scale``, ``poly``) keep the state that public rows gave them.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, final

import numpy as np
import pandas as pd
import pyarrow as pa

from pmtcore.base.checks import InputError, listed
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.schema import Column, Schema, frequencies
from pmtcore.tables.sources import Cells, Source
from pmtcore.tables.table import Table

_ELEMENTWISE: Mapping[str, Any] = {
    "log": np.log,
    "log10": np.log10,
    "log2": np.log2,
    "log1p": np.log1p,
    "exp": np.exp,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "I": lambda column: column,
}
_STATEFUL = ("C", "center", "scale", "poly")  # no splines: outside the public range they refuse, which tells of a row
_NODES = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.Call,
    ast.keyword,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.List,
    ast.Tuple,
    ast.operator,
    ast.unaryop,
)


def target_of(formula: str) -> str:
    """The column on the left of a formula.

    Raises:
        InputError: not of the form ``target ~ features``.
    """
    left, tilde, right = formula.partition("~")
    if not tilde or not left.strip() or not right.strip() or "~" in right:
        raise InputError(f"A formula reads 'target ~ features', such as 'y ~ age + C(sex)', got {formula!r}.")
    name = left.strip().strip("`")
    if not re.fullmatch(r"[^()+*/:|^-]+", name):
        raise InputError(
            f"The left side of a formula is one column, got {left.strip()!r}; compute it in the tables first."
        )
    return name


@final
@dataclass(frozen=True, eq=False)
class Expansion:
    """A formula with its state: from rows to columns of numbers, each row by itself.

    Attributes:
        columns: how the cells that features are made from are read, and the target's.
        dialect: of the public table, in which text files are read.
        names: of the columns made, without the intercept.
        spec: the state, formulaic's.
    """

    columns: tuple[Column, ...]
    target: Column | str
    dialect: Dialect
    decimal: str | None
    names: tuple[str, ...] = ()
    intercept: bool = True
    spec: Any = field(default=None, repr=False)

    @classmethod
    def learned(cls, formula: str, public: Table) -> Expansion:
        """From public rows.

        Raises:
            InputError: not a formula, a function that is not on the list, a column that is not there.
        """
        target, right = target_of(formula), formula.partition("~")[2]
        inputs, grouped = _columns(right, public)
        columns = tuple(_level(name, public) if name in grouped else public.schema[name] for name in inputs)
        response = public.schema[target] if target in public.columns else target
        known = cls(columns, response, public.dialect, public.decimal)
        rows = known._read({name: public.cells[public.columns.index(name)].combine_chunks() for name in inputs})
        settings = {"na_action": "drop", "output": "pandas", "context": dict(_ELEMENTWISE)}
        try:
            spec = _formulaic().model_matrix(right, rows, **settings).model_spec
        except Exception as error:  # formulaic has many; their texts speak of public rows and of the formula only
            raise InputError(f"The formula {formula!r} cannot be used: {_first_line(error)}") from None
        names = tuple(name for name in spec.column_names if name != "Intercept")
        return replace(known, spec=spec, names=names, intercept="Intercept" in spec.column_names)

    @property
    def inputs(self) -> tuple[str, ...]:
        """Columns that features are made from."""
        return tuple(column.name for column in self.columns)

    @property
    def response(self) -> str:
        """The target's name."""
        return self.target if isinstance(self.target, str) else self.target.name

    @property
    def schema(self) -> Schema:
        """Of the columns made: numbers, and the target as it was."""
        target = () if isinstance(self.target, str) else (self.target,)
        return Schema((*(Column(name) for name in self.names), *target), self.dialect)

    def table(self, rows: Table) -> Table:
        """A table that is expanded as it is read.

        Raises:
            InputError: a column is missing.
        """
        missing = [name for name in self.inputs if name not in rows.columns]
        if missing:
            raise InputError(f"The {rows.role} table has no column {listed(missing)}, which the formula names.")
        return Table(rows.name, rows.role, self.source(rows.source))

    def source(self, rows: Source) -> Source:
        """The same for a source."""
        return Expanded(rows, self)

    def apply(self, cells: Mapping[str, pa.Array]) -> np.ndarray:
        """Columns made from a block of cells (k, c); NaN in rows where a value is missing or no number comes out."""
        read = self._read(cells)
        settings = {"na_action": "ignore", "output": "pandas", "context": dict(_ELEMENTWISE)}
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a warning would tell of a row
            found = self.spec.get_model_matrix(read, **settings)
        made = np.array(found[list(self.names)], dtype=float)
        made[read.isna().to_numpy().any(axis=1) | ~np.isfinite(made).all(axis=1)] = np.nan
        return made

    def _read(self, cells: Mapping[str, pa.Array]) -> pd.DataFrame:
        """Cells by the public rules: numbers, days, or public levels."""
        found = {}
        for column in self.columns:
            values = column.read(cells[column.name], self.decimal)
            if column.kind == "level":
                places = np.where(np.isnan(values) | (values < 0), -1, values).astype(int).tolist()
                found[column.name] = pd.Series(pd.Categorical.from_codes(places, pd.Index(column.levels)))
            else:
                found[column.name] = pd.Series(values)
        return pd.DataFrame(found)


@final
@dataclass(frozen=True, eq=False)
class Expanded:
    """A source whose cells are a formula's columns, made block by block."""

    inner: Source
    expansion: Expansion

    @property
    def names(self) -> tuple[str, ...]:
        """The columns made, and the target where the rows have it."""
        target = self.expansion.response
        return (*self.expansion.names, *([target] if target in self.inner.names else []))

    @property
    def sha256(self) -> str:
        """Of the table beneath."""
        return self.inner.sha256

    @property
    def in_memory(self) -> bool:
        """As the table beneath."""
        return self.inner.in_memory

    @property
    def separator(self) -> str | None:
        """As the table beneath."""
        return self.inner.separator

    def rows(self, dialect: Dialect) -> int:
        """As the table beneath."""
        return self.inner.rows(dialect)

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """One pass over the named columns."""
        made, target = self.expansion, self.expansion.response
        asked = [target] if target in names else []
        reading = replace(made, decimal=dialect.mark(self.inner.separator))
        for block in self.inner.blocks(list(dict.fromkeys([*made.inputs, *asked])), dialect):
            values = reading.apply(block.columns)
            found = {name: pa.array(values[:, j]) for j, name in enumerate(made.names)}
            if asked:
                found[target] = _response(block.columns[target], reading)
            yield Cells(block.rows, {name: found[name] for name in names})


def _response(cells: pa.Array, reading: Expansion) -> pa.Array:
    """The target: a number as a number, a label as it is written."""
    if isinstance(reading.target, Column) and reading.target.kind == "number":
        return pa.array(reading.target.read(cells, reading.decimal))
    return cells


def _level(name: str, public: Table) -> Column:
    """A column as categories, whatever its cells look like."""
    if public.schema[name].kind == "level":
        return public.schema[name]
    return Column(name, "level", tuple(sorted(frequencies(public.cells[public.columns.index(name)]))))


def _columns(right: str, public: Table) -> tuple[tuple[str, ...], set[str]]:
    """Columns that the right side names, and those in ``C(...)``, after a look at everything it asks for."""
    try:
        factors = {factor.expr: factor for term in _formulaic().Formula(right) for factor in term.factors}
    except InputError:
        raise
    except Exception as error:  # as above
        raise InputError(f"The formula {right.strip()!r} cannot be read: {_first_line(error)}") from None
    numbers: dict[str, None] = {}
    grouped: dict[str, None] = {}
    for expression, factor in factors.items():
        kind = factor.eval_method.value
        if kind == "lookup":
            numbers[expression] = None
        elif kind != "literal":
            (grouped if expression.startswith("C(") else numbers).update(dict.fromkeys(_checked(expression)))
    missing = [name for name in (*numbers, *grouped) if name not in public.columns]
    if missing:
        raise InputError(f"The public table has no column {listed(missing)}, which the formula names.")
    both = [name for name in grouped if name in numbers and public.schema[name].kind != "level"]
    if both:
        raise InputError(f"The formula takes {listed(both)} as a number and as categories; make a column for each.")
    return tuple({**numbers, **grouped}), set(grouped)


def _checked(expression: str) -> list[str]:
    """Columns of a Python factor; refused unless all it does works on each row alone."""
    try:
        nodes = list(ast.walk(ast.parse(expression, mode="eval")))
    except SyntaxError:
        raise InputError(f"{expression!r} in the formula is no expression of columns and functions.") from None
    calls = [node.func for node in nodes if isinstance(node, ast.Call)]
    unknown = [node for node in calls if not isinstance(node, ast.Name) or node.id not in {*_ELEMENTWISE, *_STATEFUL}]
    if unknown or any(not isinstance(node, _NODES) for node in nodes):
        raise InputError(
            f"{expression!r} in the formula is not known to work on each row alone; use columns, arithmetic, and "
            f"{', '.join((*_ELEMENTWISE, *_STATEFUL))}."
        )
    return [node.id for node in nodes if isinstance(node, ast.Name) and not any(node is call for call in calls)]


def _first_line(error: Exception) -> str:
    return "".join(c for c in str(error).partition("\n")[0] if c.isprintable())


def _formulaic() -> Any:
    try:
        import formulaic  # noqa: PLC0415  # an extra
    except ImportError:
        raise InputError("Formulas need the extra 'formula': pip install 'second-moment[formula]'.") from None
    return formulaic
