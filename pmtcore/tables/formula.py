"""Formulas such as ``y ~ age + C(sex) + age:sex``, read by formulaic wherever the package takes one.

A fit expands a formula with state that is learned from public rows only; a released moment looks its terms up.

A formula may hold any Python, and Python may look at a whole column: a mean of the private rows inside a feature would
let one row change all others. So only what works on each row alone is let through: columns, numbers, arithmetic, and
functions from a list. Stateful functions (``center``, ``scale``, ``poly``) keep the state that public rows gave them.
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
from pmtcore.tables.limits import LARGEST, MAX_FEATURES, MAX_LEVELS
from pmtcore.tables.schema import Column, Schema, frequencies
from pmtcore.tables.sources import Cells, DerivedSource, Source
from pmtcore.tables.table import Table

if TYPE_CHECKING:
    import pandas as pd
    from formulaic.parser.types import Factor as FormulaicFactor

# What a transform of formulaic learned from public rows, in plain fields.
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
_INTERCEPT = "Intercept"  # formulaic's name of it; a column of that name would pass for it
_STATEFUL = ("C", "center", "scale", "poly")  # no splines: outside the public range they refuse, which tells of a row
# No product of columns (@), which is a sum over rows.
_ARITHMETIC: Mapping[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_MOST_TERMS = 100 * MAX_FEATURES  # multiplied out before equal ones are merged; (30 columns) ** 3 are 27,000
_LARGEST_POWER = 100  # of a sum of terms: beyond its number of terms a power adds none, and each step is multiplied out
_LONGEST = 20_000  # characters: every column of the widest record named once
_PLAIN = re.compile(r"[A-Za-z_]\w*")
# A level as a formula names it: C(region)[T.north], C(region, Treatment('south'))[T.north] or region[T.north].
# A unit in brackets, as in "weight [kg]", is none.
_CODED = re.compile(r"C\((?P<factor>[^,()]+)(?:,.*)?\)\[.*\]|(?P<column>[^()\[\]=]+)\[T\..*\]")
_REBUILT = 20  # rows of a made-up table from which a formula's structure is built again; any number beyond a degree


def category(name: str) -> str | None:
    """Return the column whose level a 0/1 column is; ``None`` where it is none.

    >>> category("region=north"), category("C(region)[T.north]"), category("weight [kg]")
    ('region', 'region', None)
    """
    coded = _CODED.fullmatch(name)
    if coded is not None:
        return (coded["factor"] or coded["column"]).strip()
    return name.partition("=")[0] if "=" in name else None


@dataclass(frozen=True)
class Factor:
    """One factor of a term: a column by name, or an expression of columns."""

    expression: str
    is_column: bool


@dataclass(frozen=True)
class Parsed:
    """A formula as its parts: response, terms (each a product of factors), and whether there is an intercept.

    Attributes:
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
        formula: what the user wrote.
        names: columns that there are; one with blanks or signs in its name may stand without backticks.
        given: those that ``.`` stands for, the response excepted; ``None``: all of them.

    Raises:
        InputError: not of the form ``response ~ terms``.
    """
    if len(formula) > _LONGEST:
        raise InputError(TableMessage.FORMULA_TOO_LONG, limit=_LONGEST)
    written = quoted(formula, names)
    response, right, effects = _sides(written, formula)
    others = [name for name in (names if given is None else given) if name != response]
    context = {"__formulaic_variables_available__": others}
    try:
        _check_terms(right, len(others))
        terms = tuple(_formulaic().Formula(right, _context=context))
    except InputError:
        raise
    except Exception as error:  # formulaic has many; their texts speak of the formula only
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
        InputError: not of the form ``target ~ features``.
    """
    return _sides(quoted(formula, ()), formula)[0]


def quoted(formula: str, names: Iterable[str]) -> str:
    """Return the formula with backticks around names that formulaic could not read otherwise."""
    odd = sorted((name for name in names if not _PLAIN.fullmatch(name) and "`" not in name), key=len, reverse=True)
    if not odd:
        return formula
    edges = r"(?<![\w`.])(?:" + "|".join(map(re.escape, odd)) + r")(?![\w`])"
    pieces = re.split(r"(`[^`]*`)", formula)
    return "".join(
        piece if at % 2 else re.sub(edges, lambda match: f"`{match.group()}`", piece) for at, piece in enumerate(pieces)
    )


def _sides(written: str, formula: str) -> tuple[str, str, tuple[str, ...]]:
    """Return the response's name, the right side with fixed effects as categories, and the fixed effects."""
    pieces = re.split(r"(`[^`]*`)", written)
    plain = "".join("\0" * len(piece) if at % 2 else piece for at, piece in enumerate(pieces))
    left, right = written[: plain.find("~")].strip(), written[plain.find("~") + 1 :]
    if plain.count("~") != 1 or not left or not right.strip():
        raise InputError(TableMessage.FORMULA_FORM, formula=formula[:200])
    effects: tuple[str, ...] = ()
    if "|" in plain:
        at = plain.find("|")
        effects = _effects(written[at + 1 :])
        right = " + ".join([written[plain.find("~") + 1 : at].strip(), *(f"C(`{effect}`)" for effect in effects)])
    name = left.strip("`") if left.startswith("`") else left
    if not (left.startswith("`") and left.count("`") == 2) and re.search(r"[()+*/:^`-]", left):
        raise InputError(TableMessage.FORMULA_LEFT_SIDE, given=left)
    return name, right, effects


def _effects(written: str) -> tuple[str, ...]:
    """Return the columns after ``|``, such as ``firm + year``.

    Raises:
        InputError: anything but names of columns: an interaction, another ``|``.
    """
    names = [name.strip() for name in re.split(r"\+(?=(?:[^`]*`[^`]*`)*[^`]*$)", written)]
    if not all(re.fullmatch(rf"`[^`]+`|{_PLAIN.pattern}", name) for name in names):
        raise InputError(TableMessage.FORMULA_BAR)
    return tuple(name.strip("`") for name in names)


def _check_effects(effects: Iterable[str], columns: Iterable[Column]) -> None:
    """Refuse fixed effects with more public levels than are taken as columns.

    Raises:
        InputError: too many levels.
    """
    levels = {column.name: len(column.levels) for column in columns}
    for name in effects:
        if levels[name] > MAX_LEVELS:
            raise InputError(TableMessage.MANY_EFFECTS, column=name, count=levels[name], limit=MAX_LEVELS)


def _factor(factor: FormulaicFactor) -> Factor:
    return Factor(str(factor.expr), factor.eval_method.value == "lookup")


@dataclass(frozen=True, eq=False)
class Expansion:
    """A formula with its state: from rows to columns of numbers, each row by itself.

    Attributes:
        columns: how the cells that features are made from are read, and the target's.
        dialect: of the public table, in which text files are read.
        names: of the columns made, without the intercept.
        right: the right side of the formula.
        passed: columns that a fit needs beside them, as they are: whose a row is, its weight.
        spec: the state, formulaic's.
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
    def learned(cls, formula: str, public: Table, declared: Schema | None = None) -> Expansion:
        """Learn the expansion from public rows.

        Args:
            formula: what the user wrote.
            public: the rows.
            declared: schema in place of what they suggest.

        Raises:
            InputError: not a formula, a function that is not on the list, a column that is not there.
        """
        parsed, rules = parse(formula, public.columns), declared or public.schema
        target, right = parsed.response, _resolved(parsed)
        inputs, grouped = _columns(parsed, public.columns, rules)
        if _INTERCEPT in inputs:
            raise InputError(TableMessage.FEATURE_IS_INTERCEPT, column=_INTERCEPT)
        if target in inputs:
            raise InputError(TableMessage.TARGET_AMONG_FEATURES, column=target)
        columns = tuple(_level(rules[name], public) if name in grouped else rules[name] for name in inputs)
        response = rules[target] if target in public.columns else target
        _check_effects(parsed.effects, columns)
        known = cls(columns, response, rules.dialect, public.decimal, right=right)
        return known._with_spec(known._read({name: public.column(name).combine_chunks() for name in inputs}))

    def _with_spec(self, rows: pd.DataFrame) -> Expansion:
        """Return the expansion with the state that these public rows give."""
        settings = {"na_action": "drop", "output": "pandas", "context": dict(_ELEMENTWISE)}
        try:
            with _quiet():
                spec = _formulaic().model_matrix(self.right, rows, **settings).model_spec
        except Exception as error:  # as above; the texts speak of public rows and of the formula only
            formula, reason = self.right.strip()[:200], _first_line(error)
            raise InputError(TableMessage.FORMULA_UNUSABLE, formula=formula, reason=reason) from None
        names = tuple(name for name in spec.column_names if name != _INTERCEPT)
        return replace(self, spec=spec, names=names, intercept=_INTERCEPT in spec.column_names)

    def with_columns(self, names: Iterable[str]) -> Expansion:
        """Return the same, handing on these columns of the table too, as they are."""
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
        """Return the expansion with these plain fields, whoever wrote them.

        Raises:
            InputError: another form, or a formula that would not be let through.
        """
        columns = tuple(Column(str(c["name"]), c["kind"], tuple(map(str, c["levels"]))) for c in fields["columns"])
        right, target = str(fields["right"]), str(fields["target"])
        schema = Schema(columns)
        _columns(parse(f"`{target}` ~ {right}"), [column.name for column in columns], schema)
        made_up = cls(columns, target, Dialect(), fields["decimal"], right=right)._with_spec(_made_up(columns))
        state = {str(name): _state(values) for name, values in fields["state"].items()}
        made_up.spec.transform_state.clear()
        made_up.spec.transform_state.update(state)
        if list(made_up.names) != list(fields["names"]):
            raise InputError(TableMessage.FORMULA_OF_OTHER_VERSION)
        return made_up

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return columns that features are made from."""
        return tuple(column.name for column in self.columns)

    @property
    def response(self) -> str:
        """Return the target's name."""
        return self.target if isinstance(self.target, str) else self.target.name

    @property
    def schema(self) -> Schema:
        """Return the schema of the columns made: numbers, and the target as it was."""
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
        """Return columns made from a block of cells (k, c); NaN in rows where a value is missing or not a number."""
        read = self._read(cells)
        settings = {"na_action": "ignore", "output": "pandas", "context": dict(_ELEMENTWISE)}
        with _quiet():
            matrix = self.spec.get_model_matrix(read, **settings)
        made = np.array(matrix[list(self.names)], dtype=float)
        made[read.isna().to_numpy().any(axis=1) | ~np.isfinite(made).all(axis=1)] = np.nan
        return made

    def _read(self, cells: Mapping[str, pa.Array]) -> pd.DataFrame:
        """Return cells by the public rules: numbers, days, or public levels."""
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
    """A source whose cells are a formula's columns, made block by block.

    Its columns are those made, and the target where the rows have it.
    """

    def __init__(self, source: Source, expansion: Expansion) -> None:
        super().__init__(source)
        self.expansion = expansion
        beside = (expansion.response, *expansion.passed)
        self.names = (*expansion.names, *(name for name in beside if name in source.names))

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield blocks of the named columns, in one pass."""
        made, target = self.expansion, self.expansion.response
        beside = [name for name in (target, *made.passed) if name in names]
        reading = replace(made, decimal=dialect.mark(self.separator))
        for block in self.source.blocks(list(dict.fromkeys([*made.inputs, *beside])), dialect):
            values = reading.apply(block.columns)
            arrays = {name: pa.array(values[:, j]) for j, name in enumerate(made.names)}
            for name in beside:
                arrays[name] = _response(block.columns[name], reading) if name == target else block.columns[name]
            yield Cells(block.rows, {name: arrays[name] for name in names})


def _response(cells: pa.Array, reading: Expansion) -> pa.Array:
    """Return the target: a number as a number, a label as it is written."""
    if isinstance(reading.target, Column) and reading.target.kind == "number":
        return pa.array(reading.target.read(cells, reading.decimal))
    return cells


def _level(column: Column, public: Table) -> Column:
    """Return a column as categories, whatever its cells look like."""
    if column.kind in LEVELS:
        return column
    return Column(column.name, "level", tuple(sorted(frequencies(public.column(column.name)))))


def _resolved(parsed: Parsed) -> str:
    """Return the right side with ``.`` written out, so that it means the same beside other columns."""
    if not re.search(r"(?<![\w`.])\.(?![\w`.])", parsed.right):
        return parsed.right
    terms = [":".join(f"`{f.expression}`" if f.is_column else f.expression for f in term) for term in parsed.terms]
    return " + ".join(["1" if parsed.intercept else "0", *terms])


def _columns(parsed: Parsed, columns: Sequence[str], schema: Schema) -> tuple[tuple[str, ...], set[str]]:
    """Return columns that the right side names, and those in ``C(...)``, after a look at everything it asks for."""
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
    """Return the columns of an expression, refused unless all it does works on each row alone.

    Raises:
        InputError: a function that is not on the list, or no expression.
    """
    odd = re.findall(r"`([^`]*)`", expression)
    named = {f"_quoted_{at}": name for at, name in enumerate(odd)}
    plain = re.sub(r"`[^`]*`", lambda match: f"_quoted_{odd.index(match.group().strip('`'))}", expression)
    with reraised_as(InputError(TableMessage.NOT_AN_EXPRESSION, expression=expression), SyntaxError):
        tree = ast.parse(plain, mode="eval")
    functions = (*_ELEMENTWISE, *_STATEFUL)
    refused = InputError(TableMessage.NOT_ROW_BY_ROW, expression=expression, functions=functions)
    with reraised_as(refused, ValueError, ArithmeticError, RecursionError):
        used, _ = _columns_and_constant(tree.body)
    return [named.get(name, name) for name in used]


def _columns_and_constant(node: ast.expr) -> tuple[list[str], float]:
    """Return the columns of an expression that works on each row alone, and its value where it has none.

    A constant is computed in floats: Python would take hours for the integer 9**9**9.

    Raises:
        ValueError: it is no such expression, or a constant beyond 1e60.
        ArithmeticError: a constant that is too large for a float, or divided by zero.
    """
    match node:
        case ast.Name(id=name):
            return [name], math.nan
        case ast.Constant(value=int() | float() as value) if abs(value) <= LARGEST:
            return [], float(value)
        case ast.UnaryOp(op=ast.UAdd() | ast.USub() as sign, operand=operand):
            used, value = _columns_and_constant(operand)
            return used, -value if isinstance(sign, ast.USub) else value
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _ARITHMETIC:
            (before, first), (after, second) = _columns_and_constant(left), _columns_and_constant(right)
            if before or after:
                return before + after, math.nan
            value = _ARITHMETIC[type(op)](first, second)
            if isinstance(value, float) and abs(value) <= LARGEST:
                return [], value
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _ELEMENTWISE:
            return _columns_and_constant(argument)[0], math.nan
        case ast.Call(func=ast.Name(id=name), args=[argument, *more], keywords=keywords) if name in _STATEFUL:
            for setting in (*more, *(keyword.value for keyword in keywords)):
                ast.literal_eval(setting)
            return _columns_and_constant(argument)[0], math.nan
    raise ValueError("not an expression of one row")


def _check_terms(right: str, columns: int) -> None:
    """Refuse a right side that has too many terms when it is multiplied out, before anybody multiplies.

    Args:
        right: the right side.
        columns: how many ``.`` stands for.

    Raises:
        InputError: too many terms, or a power that takes long to multiply out.
    """
    nodes: list[Any] = [_formulaic().parser.DefaultFormulaParser().get_ast(right)]
    counts: dict[int, int] = {}
    for node in nodes:
        nodes += getattr(node, "args", ())
    for node in reversed(nodes):
        sign, many = str(getattr(node, "operator", "")), [counts[id(part)] for part in getattr(node, "args", ())]
        if sign in ("**", "^"):
            power = str(node.args[1])
            if power.isdecimal() and float(power) > _LARGEST_POWER:
                raise InputError(TableMessage.FORMULA_LARGE_POWER, limit=_LARGEST_POWER)
            count = many[0] ** int(power) if power.isdecimal() else 1
        elif sign in ("*", "/", ":", "in"):
            count = math.prod(one + 1 for one in many)
        else:
            count = columns if sign == "." else max(sum(many), 1)
        counts[id(node)] = min(count, _MOST_TERMS + 1)
        if count > _MOST_TERMS:
            raise InputError(TableMessage.FORMULA_MANY_TERMS, limit=_MOST_TERMS)


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence warnings about values: one about a private row would tell of it."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _plain_state(value: State | np.number) -> State:
    """State of formulaic's transforms in plain fields."""
    if isinstance(value, Mapping):
        return {str(key): _plain_state(item) for key, item in value.items()}
    return None if value is None else int(value) if isinstance(value, int | np.integer) else float(value)


def _state(value: State) -> State:
    """Restore the state: places are numbers again."""
    if isinstance(value, Mapping):
        return {int(key) if str(key).isdigit() else str(key): _state(item) for key, item in value.items()}
    return value


def _made_up(columns: Sequence[Column]) -> pd.DataFrame:
    """Return rows that show a formula each column's kind and levels, and nothing else."""
    import pandas as pd  # noqa: PLC0415  # slow to load, as formulaic is

    steps = np.arange(1.0, _REBUILT + 1)
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
