"""Formulas such as ``y ~ age + C(sex) + age:sex``, read by formulaic wherever the package takes one.

A fit expands a formula with a state computed from public rows only; a released moment looks its terms up.

A formula may contain any Python expression, also one of a whole column: with a mean of the private rows in a feature,
one row would change all others. Therefore only expressions of a single row are allowed: columns, numbers, arithmetic,
and functions from a list. Stateful functions (``center``, ``scale``, ``poly``) have the state of the public rows.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, TableMessage, reraised_as
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.kinds import LEVELS
from pmtcore.tables.limits import LARGEST_NUMBER, MAX_FEATURES, MAX_LEVELS
from pmtcore.tables.schema import Column, Schema, frequencies
from pmtcore.tables.sources import Cells, DerivedSource, Source
from pmtcore.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from formulaic.parser.types import Factor as FormulaicFactor

# State of a transform of formulaic from public rows, in plain fields.
State: TypeAlias = int | float | dict[str | int, "State"] | None
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
_INTERCEPT = "Intercept"  # formulaic's name, so no column may have it
_STATEFUL = (
    "C",
    "center",
    "scale",
    "poly",
)  # no splines, which raise an error for a private row outside the public range
# Without the matrix product (@), which sums over rows.
_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
# Most terms after expansion, before equal ones are merged; (30 columns) ** 3 are 27,000.
_MOST_TERMS = 100 * MAX_FEATURES
_LARGEST_POWER = 100  # of a sum of terms; powers above the number of terms add none, and each takes time
_LONGEST = 20_000  # most characters: enough to name every column of the widest record once
_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
# A level as a formula names it: C(region)[T.north], C(region, Treatment('south'))[T.north] or region[T.north].
# A unit in brackets, as in "weight [kg]", is not a level.
_LEVEL_COLUMN = re.compile(r"C\((?P<factor>[^,()]+)(?:,.*)?\)\[.*\]|(?P<column>[^()\[\]=]+)\[T\..*\]")
_ARTIFICIAL_ROWS = 20  # rows of an artificial table that restores a formula; above any degree of poly


def category(name: str) -> str | None:
    """Return the column of which a dummy column is a level; ``None`` where it is not a dummy.

    >>> category("region=north"), category("C(region)[T.north]"), category("weight [kg]")
    ('region', 'region', None)
    """
    match = _LEVEL_COLUMN.fullmatch(name)
    if match is not None:
        return (match["factor"] or match["column"]).strip()
    return name.partition("=")[0] if "=" in name else None


@dataclass(frozen=True)
class Factor:
    """Factor of a term: the name of a column, or an expression of columns."""

    expression: str
    is_column: bool


@dataclass(frozen=True)
class Parsed:
    """Parts of a formula.

    Attributes:
        response: column on the left side.
        right: right side, with fixed effects as categories.
        terms: terms, each a product of factors.
        intercept: whether there is one.
        effects: columns after ``|``, whose public levels are among the terms.
    """

    response: str
    right: str
    terms: tuple[tuple[Factor, ...], ...]
    intercept: bool
    effects: tuple[str, ...] = ()


def parse(formula: str, names: Sequence[str] = (), given: Sequence[str] | None = None) -> Parsed:
    """Return the parts of a formula, read by formulaic.

    Args:
        formula: as typed.
        names: columns of the table; their names need no backticks, even with blanks or signs.
        given: columns that ``.`` stands for, without the response; ``None``: all of ``names``.

    Raises:
        InputError: it does not have the form ``response ~ terms``, or is too long.
    """
    if len(formula) > _LONGEST:
        raise InputError(TableMessage.FORMULA_TOO_LONG, limit=_LONGEST)
    formula_quoted = quoted(formula, names)
    response, right, effects = _left_and_right(formula_quoted, formula)
    others = [name for name in (names if given is None else given) if name != response]
    context = {"__formulaic_variables_available__": others}
    try:
        _check_terms(right, len(others))
        terms = tuple(_formulaic().Formula(right, _context=context))
    except InputError:
        raise
    except Exception as error:  # of many classes, whose texts are about the formula only
        formula, reason = right.strip()[:200], _first_line(error)
        raise InputError(TableMessage.FORMULA_UNREADABLE, formula=formula, reason=reason) from None
    if any(not hasattr(term, "factors") for term in terms):
        raise InputError(TableMessage.FORMULA_TWO_RIGHT_SIDES, formula=formula)
    products = [tuple(_factor(factor) for factor in term.factors) for term in terms]
    constants = [product for product in products if all(factor.expression == "1" for factor in product)]
    return Parsed(response, right, tuple(p for p in products if p not in constants), bool(constants), effects)


def target_of(formula: str) -> str:
    """Return the column on the left of a formula.

    Raises:
        InputError: it does not have the form ``target ~ features``.
    """
    return _left_and_right(quoted(formula, ()), formula)[0]


def quoted(formula: str, names: Iterable[str]) -> str:
    """Return the formula with backticks around names that formulaic cannot read without."""
    unusual = sorted(
        (name for name in names if not _PLAIN_NAME.fullmatch(name) and "`" not in name), key=len, reverse=True
    )
    if not unusual:
        return formula
    pattern = r"(?<![\w`.])(?:" + "|".join(map(re.escape, unusual)) + r")(?![\w`])"
    pieces = re.split(r"(`[^`]*`)", formula)
    return "".join(
        piece if i % 2 else re.sub(pattern, lambda match: f"`{match.group()}`", piece) for i, piece in enumerate(pieces)
    )


def _left_and_right(written: str, formula: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the response's name, the right side with fixed effects as categories, and the fixed effects."""
    pieces = re.split(r"(`[^`]*`)", written)
    masked = "".join("\0" * len(piece) if bar % 2 else piece for bar, piece in enumerate(pieces))
    left_side, right = written[: masked.find("~")].strip(), written[masked.find("~") + 1 :]
    if masked.count("~") != 1 or not left_side or not right.strip():
        raise InputError(TableMessage.FORMULA_FORM, formula=formula[:200])
    effects: tuple[str, ...] = ()
    if "|" in masked:
        bar = masked.find("|")
        effects = _effects(written[bar + 1 :])
        right = " + ".join([written[masked.find("~") + 1 : bar].strip(), *(f"C(`{effect}`)" for effect in effects)])
    name = left_side.strip("`") if left_side.startswith("`") else left_side
    if not (left_side.startswith("`") and left_side.count("`") == 2) and re.search(r"[()+*/:^`-]", left_side):
        raise InputError(TableMessage.FORMULA_LEFT_SIDE, given=left_side)
    return name, right, effects


def _effects(written: str) -> tuple[str, ...]:
    """Return the columns after ``|``, such as ``firm + year``.

    Raises:
        InputError: there is anything but names of columns, such as an interaction or another ``|``.
    """
    names = [name.strip() for name in re.split(r"\+(?=(?:[^`]*`[^`]*`)*[^`]*$)", written)]
    if not all(re.fullmatch(rf"`[^`]+`|{_PLAIN_NAME.pattern}", name) for name in names):
        raise InputError(TableMessage.FORMULA_BAR)
    return tuple(name.strip("`") for name in names)


def _check_effects(effects: Iterable[str], columns: Iterable[Column]) -> None:
    """Check the number of public levels of fixed effects.

    Raises:
        InputError: there are too many.
    """
    levels = {column.name: len(column.levels) for column in columns}
    for name in effects:
        if levels[name] > MAX_LEVELS:
            raise InputError(TableMessage.MANY_EFFECTS, column=name, count=levels[name], limit=MAX_LEVELS)


def _factor(factor: FormulaicFactor) -> Factor:
    return Factor(str(factor.expr), factor.eval_method.value == "lookup")


@dataclass(frozen=True, eq=False)
class Expansion:
    """Formula with its state, which expands each row by itself to columns of numbers.

    Attributes:
        columns: rules for the columns that the formula uses.
        target: rule for the target, or its name where the public table lacks it.
        dialect: of the public table.
        decimal: decimal mark of the table that is read.
        names: columns of the expanded table, without the intercept.
        intercept: whether there is one.
        right: right side of the formula.
        passed: columns that a fit needs unchanged, such as those of persons and weights.
        spec: formulaic's specification with the state.
    """

    columns: tuple[Column, ...]
    target: Column | str
    dialect: Dialect
    decimal: str | None
    names: tuple[str, ...] = ()
    intercept: bool = True
    right: str = ""
    passed: tuple[str, ...] = ()
    spec: Any = field(default=None, repr=False)

    @classmethod
    def from_public(cls, formula: str, public: Table, declared: Schema | None = None) -> Expansion:
        """Return the expansion with its state from public rows.

        Args:
            formula: as typed.
            public: the public table.
            declared: schema in place of the inferred one.

        Raises:
            InputError: it is not a formula, or has a function or a column that does not exist.
        """
        parsed, rules = parse(formula, public.columns), declared or public.schema
        target, right = parsed.response, _resolved(parsed)
        inputs, grouped = _checked_columns(parsed, public.columns, rules)
        if _INTERCEPT in inputs:
            raise InputError(TableMessage.FEATURE_IS_INTERCEPT, column=_INTERCEPT)
        if target in inputs:
            raise InputError(TableMessage.TARGET_AMONG_FEATURES, column=target)
        columns = tuple(_as_categories(rules[name], public) if name in grouped else rules[name] for name in inputs)
        response = rules[target] if target in public.columns else target
        _check_effects(parsed.effects, columns)
        known = cls(columns, response, rules.dialect, public.decimal, right=right)
        return known._with_spec(known._read({name: public.column(name).combine_chunks() for name in inputs}))

    def _with_spec(self, rows: pd.DataFrame) -> Expansion:
        """Return the expansion with the state from these public rows."""
        settings = {"na_action": "drop", "output": "pandas", "context": dict(_ELEMENTWISE)}
        try:
            with _without_warnings():
                spec = _formulaic().model_matrix(self.right, rows, **settings).model_spec
        except Exception as error:  # as above; the texts are about public rows and the formula only
            formula, reason = self.right.strip()[:200], _first_line(error)
            raise InputError(TableMessage.FORMULA_UNUSABLE, formula=formula, reason=reason) from None
        names = tuple(name for name in spec.column_names if name != _INTERCEPT)
        return replace(self, spec=spec, names=names, intercept=_INTERCEPT in spec.column_names)

    def with_columns(self, names: Iterable[str]) -> Expansion:
        """Return the same expansion, whose table also has these columns unchanged."""
        return replace(self, passed=tuple(name for name in dict.fromkeys(names) if name and name != self.response))

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back."""
        return {
            "right": self.right,
            "columns": [column.as_dict() for column in self.columns],
            "target": self.response,
            "decimal": self.decimal,
            "names": list(self.names),
            "state": _plain_state(self.spec.transform_state),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Expansion:
        """Return the expansion in plain fields, with all checks of a formula.

        Raises:
            InputError: they have another form, or the formula is not allowed.
        """
        columns = tuple(Column(str(c["name"]), c["kind"], tuple(map(str, c["levels"]))) for c in fields["columns"])
        right, target = str(fields["right"]), str(fields["target"])
        schema = Schema(columns)
        _checked_columns(parse(f"`{target}` ~ {right}"), [column.name for column in columns], schema)
        expansion = cls(columns, target, Dialect(), fields["decimal"], right=right)._with_spec(_made_up_rows(columns))
        state = {str(name): _state(values) for name, values in fields["state"].items()}
        expansion.spec.transform_state.clear()
        expansion.spec.transform_state.update(state)
        if list(expansion.names) != list(fields["names"]):
            raise InputError(TableMessage.FORMULA_OF_OTHER_VERSION)
        return expansion

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the columns that the formula uses."""
        return tuple(column.name for column in self.columns)

    @property
    def response(self) -> str:
        """Return the name of the target."""
        return self.target if isinstance(self.target, str) else self.target.name

    @property
    def schema(self) -> Schema:
        """Return the schema of the expanded table: numbers, and the target unchanged."""
        target = () if isinstance(self.target, str) else (self.target,)
        return Schema((*(Column(name) for name in self.names), *target), self.dialect)

    def table(self, rows: Table) -> Table:
        """Return a table that is expanded as it is read.

        Raises:
            InputError: a column is missing.
        """
        missing = [name for name in self.inputs if name not in rows.columns]
        if missing:
            raise InputError(TableMessage.FORMULA_LACKS_COLUMNS, table=rows.role, columns=missing)
        return Table(rows.name, rows.role, self.source(rows.source))

    def source(self, rows: Source) -> Source:
        """Return a source that is expanded as it is read."""
        return Expanded(rows, self)

    def apply(self, cells: Mapping[str, pa.Array]) -> np.ndarray:
        """Return the expanded columns (k, c) of a block; rows in which a value is missing or not finite are NaN."""
        read = self._read(cells)
        settings = {"na_action": "ignore", "output": "pandas", "context": dict(_ELEMENTWISE)}
        with _without_warnings():
            matrix = self.spec.get_model_matrix(read, **settings)
        columns_made = np.array(matrix[list(self.names)], dtype=float)
        columns_made[read.isna().to_numpy().any(axis=1) | ~np.isfinite(columns_made).all(axis=1)] = np.nan
        return columns_made

    def _read(self, cells: Mapping[str, pa.Array]) -> pd.DataFrame:
        """Return the cells of a block as numbers, days or public levels."""
        import pandas as pd  # noqa: PLC0415  # slow to load, as formulaic is

        columns = {}
        for column in self.columns:
            values = column.read(cells[column.name], self.decimal)
            if column.kind in LEVELS:
                places = np.where(np.isnan(values) | (values < 0), -1, values).astype(int).tolist()
                columns[column.name] = pd.Series(pd.Categorical.from_codes(places, pd.Index(column.levels)))
            else:
                columns[column.name] = pd.Series(values)
        return pd.DataFrame(columns)


class Expanded(DerivedSource):
    """Source expanded by a formula, block by block.

    Its columns are those of the formula, then target and unchanged columns where the table has them.
    """

    def __init__(self, source: Source, expansion: Expansion) -> None:
        super().__init__(source)
        self.expansion = expansion
        others = (expansion.response, *expansion.passed)
        self.names = (*expansion.names, *(name for name in others if name in source.names))

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield blocks of the named columns, in one pass."""
        expansion, target = self.expansion, self.expansion.response
        others = [name for name in (target, *expansion.passed) if name in names]
        reading = replace(expansion, decimal=dialect.decimal_mark(self.separator))
        for block in self.source.blocks(list(dict.fromkeys([*expansion.inputs, *others])), dialect):
            values = reading.apply(block.columns)
            arrays = {name: pa.array(values[:, j]) for j, name in enumerate(expansion.names)}
            for name in others:
                arrays[name] = _response(block.columns[name], reading) if name == target else block.columns[name]
            yield Cells(block.rows, {name: arrays[name] for name in names})


def _response(cells: pa.Array, reading: Expansion) -> pa.Array:
    """Return the cells of the target, converted where it is numeric."""
    if isinstance(reading.target, Column) and reading.target.kind == "number":
        return pa.array(reading.target.read(cells, reading.decimal))
    return cells


def _as_categories(column: Column, public: Table) -> Column:
    """Return a column as categories, whatever its kind."""
    if column.kind in LEVELS:
        return column
    return Column(column.name, "level", tuple(sorted(frequencies(public.column(column.name)))))


def _resolved(parsed: Parsed) -> str:
    """Return the right side with ``.`` replaced by its terms, so that it does not depend on other columns."""
    if not re.search(r"(?<![\w`.])\.(?![\w`.])", parsed.right):
        return parsed.right
    terms = [":".join(f"`{f.expression}`" if f.is_column else f.expression for f in term) for term in parsed.terms]
    return " + ".join(["1" if parsed.intercept else "0", *terms])


def _checked_columns(parsed: Parsed, columns: Sequence[str], schema: Schema) -> tuple[tuple[str, ...], set[str]]:
    """Return the columns of the right side, and those in ``C(...)``, after checking all expressions."""
    numbers: dict[str, None] = {}
    grouped: dict[str, None] = {}
    for factor in dict.fromkeys(factor for term in parsed.terms for factor in term):
        expression = factor.expression
        if factor.is_column:
            numbers[expression] = None
        elif not re.fullmatch(r"[\d.]+", expression):
            (grouped if expression.startswith("C(") else numbers).update(dict.fromkeys(columns_of(expression)))
    missing = [name for name in (*numbers, *grouped) if name not in columns]
    if missing:
        raise InputError(TableMessage.FORMULA_LACKS_COLUMNS, table="public", columns=missing)
    both = [name for name in grouped if name in numbers and schema[name].kind not in LEVELS]
    if both:
        raise InputError(TableMessage.NUMBER_AND_CATEGORIES, columns=both)
    return tuple({**numbers, **grouped}), set(grouped)


def columns_of(expression: str) -> list[str]:
    """Return the columns of an expression of a single row.

    Raises:
        InputError: it is not an expression, or has a function that is not on the list.
    """
    quoted_names = re.findall(r"`([^`]*)`", expression)
    names_by_placeholder = {f"_quoted_{at}": name for at, name in enumerate(quoted_names)}
    with_placeholders = re.sub(
        r"`[^`]*`", lambda match: f"_quoted_{quoted_names.index(match.group().strip('`'))}", expression
    )
    with reraised_as(InputError(TableMessage.NOT_AN_EXPRESSION, expression=expression), SyntaxError):
        tree = ast.parse(with_placeholders, mode="eval")
    functions = (*_ELEMENTWISE, *_STATEFUL)
    refused = InputError(TableMessage.NOT_ROW_BY_ROW, expression=expression, functions=functions)
    with reraised_as(refused, ValueError, ArithmeticError, RecursionError):
        columns, _ = _columns_and_constant(tree.body)
    return [names_by_placeholder.get(name, name) for name in columns]


def _columns_and_constant(node: ast.expr) -> tuple[list[str], float]:
    """Return the columns of an expression of a single row, and its value where it has no columns.

    A constant is computed in floats, since the integer 9**9**9 would take hours.

    Raises:
        ValueError: it is no such expression, or a constant exceeds 1e60.
        ArithmeticError: a constant overflows, or is divided by zero.
    """
    match node:
        case ast.Name(id=name):
            return [name], math.nan
        case ast.Constant(value=int() | float() as value) if abs(value) <= LARGEST_NUMBER:
            return [], float(value)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
            columns, value = _columns_and_constant(operand)
            return columns, -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            (left_columns, left_value), (right_columns, right_value) = (
                _columns_and_constant(left),
                _columns_and_constant(right),
            )
            if left_columns or right_columns:
                return left_columns + right_columns, math.nan
            value = _ARITHMETIC[type(op)](left_value, right_value)
            if isinstance(value, float) and abs(value) <= LARGEST_NUMBER:
                return [], value
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _ELEMENTWISE:
            return _columns_and_constant(argument)[0], math.nan
        case ast.Call(func=ast.Name(id=name), args=[argument, *settings], keywords=keywords) if name in _STATEFUL:
            for setting in (*settings, *(keyword.value for keyword in keywords)):
                ast.literal_eval(setting)
            return _columns_and_constant(argument)[0], math.nan
    raise ValueError("not an expression of one row")


def _check_terms(right: str, columns: int) -> None:
    """Check the number of terms of a right side before it is expanded.

    Args:
        right: the right side.
        columns: number of columns that ``.`` stands for.

    Raises:
        InputError: there are too many terms, or a power is too large.
    """
    nodes: list[Any] = [_formulaic().parser.DefaultFormulaParser().get_ast(right)]
    counts: dict[int, int] = {}
    for node in nodes:
        nodes += getattr(node, "args", ())
    for node in reversed(nodes):
        symbol, term_counts = (
            str(getattr(node, "operator", "")),
            [counts[id(part)] for part in getattr(node, "args", ())],
        )
        if symbol in ("**", "^"):
            power = str(node.args[1])
            if power.isdecimal() and float(power) > _LARGEST_POWER:
                raise InputError(TableMessage.FORMULA_LARGE_POWER, limit=_LARGEST_POWER)
            count = term_counts[0] ** int(power) if power.isdecimal() else 1
        elif symbol in ("*", "/", ":", "in"):
            count = math.prod(term_count + 1 for term_count in term_counts)
        else:
            count = columns if symbol == "." else max(sum(term_counts), 1)
        counts[id(node)] = min(count, _MOST_TERMS + 1)
        if count > _MOST_TERMS:
            raise InputError(TableMessage.FORMULA_MANY_TERMS, limit=_MOST_TERMS)


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Suppress warnings about values, which would reveal something about private rows."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _plain_state(value: State | np.number) -> State:
    """Return the state of formulaic's transforms in plain fields."""
    if isinstance(value, Mapping):
        return {str(key): _plain_state(item) for key, item in value.items()}
    return None if value is None else int(value) if isinstance(value, int | np.integer) else float(value)


def _state(value: State) -> State:
    """Return the state from plain fields, with integer keys restored."""
    if isinstance(value, Mapping):
        return {int(key) if str(key).isdigit() else str(key): _state(item) for key, item in value.items()}
    return value


def _made_up_rows(columns: Sequence[Column]) -> pd.DataFrame:
    """Return artificial rows with the kinds and levels of these columns, from which formulaic restores a formula."""
    import pandas as pd  # noqa: PLC0415  # slow to load, as formulaic is

    steps = np.arange(1.0, _ARTIFICIAL_ROWS + 1)
    return pd.DataFrame(
        {
            c.name: pd.Series(pd.Categorical.from_codes((steps % len(c.levels)).astype(int), pd.Index(c.levels)))
            if c.kind in LEVELS
            else pd.Series(steps)
            for c in columns
        }
    )


def _first_line(error: Exception) -> str:
    return "".join(c for c in str(error).partition("\n")[0] if c.isprintable())


def _formulaic() -> ModuleType:
    with reraised_as(InputError(TableMessage.NO_FORMULAIC), ImportError):
        import formulaic  # noqa: PLC0415  # an extra
    return formulaic
