"""Derived columns, declared by name: logarithms, squares, products, splines with public knots (proofs/moment.md, 18.1).

``log(a); square(b); a:b; spline(c, 4)``: each is a rule with public constants, applied to a row by itself. Dummies of
public levels are columns already and enter products under their own names (``age:sex=M``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pmtcore.base.json_fields import JsonFields
from pmtcore.base.messages import InputError, MethodMessage, RecordMessage, reraised_as, whole_number_between

_CALL = re.compile(r"^(log|square|product|spline)\s*\((.*)\)$", re.DOTALL)
_FEWEST_KNOTS, _MOST_KNOTS = 3, 7  # fewer give a linear spline only, more would overfit public rows
_MOST_COLUMNS = 200  # derived columns in one record; each adds a row to the moment
MOST_NAME = 200  # characters that a table heading still shows


@dataclass(frozen=True)
class Rule(JsonFields):
    """One derived column.

    Attributes:
        name: of the column.
        kind: ``log``, ``square``, ``product`` or ``spline``.
        of: columns that it is computed from.
        constants: of a log, the floor of its argument; of a spline, its knots and the index of the basis column.
    """

    name: str
    kind: str
    of: tuple[str, ...]
    constants: tuple[float, ...] = ()

    def apply(self, columns: Sequence[np.ndarray]) -> np.ndarray:
        """Return the derived column (k,) from its arguments, (k,) each."""
        first = columns[0]
        if self.kind == "log":
            return np.asarray(np.log(np.maximum(first, self.constants[0])))
        if self.kind == "square":
            return np.asarray(first * first)
        if self.kind == "product":
            return np.asarray(first * columns[1])
        return _spline(first, np.array(self.constants[:-1]), int(self.constants[-1]))

    @classmethod
    def checked(cls, fields: Mapping[str, Any], known: Iterable[str]) -> Rule:
        """Read the fields of :meth:`as_dict`, whoever wrote them.

        Raises:
            InputError: no such rule.
        """
        with reraised_as(InputError(RecordMessage.RULE_UNREADABLE)):
            rule = cls.from_dict(fields)
            rule = replace(rule, name=rule.name[:MOST_NAME])
        parts = {"log": 1, "square": 1, "product": 2, "spline": 1}.get(rule.kind)
        wanted = {"log": (1, 1), "spline": (_FEWEST_KNOTS + 1, _MOST_KNOTS + 1)}.get(rule.kind, (0, 0))
        fits = parts == len(rule.of) and wanted[0] <= len(rule.constants) <= wanted[1] and set(rule.of) <= set(known)
        if not fits or not np.all(np.isfinite(rule.constants)):
            raise InputError(RecordMessage.RULE_UNREADABLE)
        if rule.kind == "spline" and not 0 <= rule.constants[-1] <= len(rule.constants) - 4:
            raise InputError(RecordMessage.RULE_UNREADABLE)
        return rule


@dataclass(frozen=True)
class Derived:
    """Derived columns between given features and the response.

    Attributes:
        weighted: whether rows are multiplied by the root of their weight, which then stands in the first column: the
            rules are about what was there before (proofs/results.md, 4).
    """

    base: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    weighted: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return all columns: features, derived ones, the response last."""
        return (*self.base[:-1], *(rule.name for rule in self.rules), self.base[-1])

    def extend(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (k, base) with their derived columns (k, all), each row by itself.

        A row of zeros (a missing value, a person's filler) stays one: it adds nothing to a sum, whatever a rule
        makes of 0 (proofs/rows.md, 20).
        """
        if not self.rules:
            return rows
        at = {name: j for j, name in enumerate(self.base)}
        empty = ~np.any(rows, axis=1)
        with np.errstate(all="ignore"):  # rows that overflow are not finite, and count as empty later
            plain, roots = (rows / rows[:, :1], rows[:, 0]) if self.weighted else (rows, 1.0)
            made = [rule.apply([plain[:, at[name]] for name in rule.of]) * roots for rule in self.rules]
        return np.column_stack([rows[:, :-1], *(np.where(empty, 0.0, column) for column in made), rows[:, -1]])


def parse(text: str, base: tuple[str, ...], rows: np.ndarray, weighted: bool = False) -> Derived:
    """Return the derived columns that a text declares, their constants from public rows (m, base).

    Args:
        text: rules separated by semicolons: ``log(a); a:b``.
        base: names of the columns they are made from.
        rows: public rows (m, base).
        weighted: whether the rows are multiplied by the root of their weight.

    Raises:
        InputError: an unknown column or rule, a column twice, or more than 200.
    """
    if weighted:
        counted = rows[:, 0] > 0
        rows = rows[counted] / rows[counted, :1]
    rules: list[Rule] = []
    for part in (piece.strip() for piece in re.split(r"[;\n]", text)):
        if part:
            rules += _rules(part, base, rows)
    names = [rule.name for rule in rules]
    twice = sorted({name for name in names if names.count(name) > 1 or name in base})
    if twice:
        raise InputError(MethodMessage.DERIVED_TWICE, columns=twice)
    if len(rules) > _MOST_COLUMNS:
        raise InputError(MethodMessage.DERIVED_TOO_MANY, count=len(rules), limit=_MOST_COLUMNS)
    return Derived(base, tuple(rules), weighted)


def _rules(expression: str, base: tuple[str, ...], rows: np.ndarray) -> list[Rule]:
    """Return the rules of one declaration: of one column, or of the columns of one spline."""
    call = _CALL.match(expression)
    if call is None:
        pair = _pair(expression, ":", base)
        if pair is None:
            raise InputError(MethodMessage.DERIVED_UNREADABLE, expression=expression[:80])
        return [Rule(f"{pair[0]}:{pair[1]}", "product", pair)]
    kind, inside = call.group(1), call.group(2).strip()
    if kind == "product":
        pair = _pair(inside, ",", base)
        if pair is None:
            raise InputError(MethodMessage.PRODUCT_OF_TWO, expression=inside[:80])
        return [Rule(f"{pair[0]}:{pair[1]}", "product", pair)]
    if kind == "spline":
        return _spline_rules(inside, base, rows)
    name = _column(inside, base)
    values = rows[:, base.index(name)]
    if kind == "square":
        return [Rule(f"square({name})", "square", (name,))]
    positive = values[values > 0]
    if not len(positive):
        raise InputError(MethodMessage.LOG_OF_NOTHING, column=name)
    return [Rule(f"log({name})", "log", (name,), (float(np.min(positive)) / 2,))]


def _spline_rules(arguments: str, base: tuple[str, ...], rows: np.ndarray) -> list[Rule]:
    """Return a restricted cubic spline's columns beside the linear one, knots at Harrell's public quantiles."""
    name, _, count = arguments.rpartition(",")
    if not name:
        name, count = arguments, "4"
    name = _column(name.strip(), base)
    k = whole_number_between(f"the knots of spline({name})", count, _FEWEST_KNOTS, _MOST_KNOTS)
    edge = 0.1 if k == _FEWEST_KNOTS else 0.05
    knots = np.quantile(rows[:, base.index(name)], np.linspace(edge, 1 - edge, k))
    if np.any(np.diff(knots) <= 0):
        raise InputError(MethodMessage.SPLINE_OF_FEW, column=name, count=k)
    return [Rule(f"spline({name})[{j + 1}]", "spline", (name,), (*map(float, knots), float(j))) for j in range(k - 2)]


def _spline(x: np.ndarray, knots: np.ndarray, j: int) -> np.ndarray:
    """Return column j of a restricted cubic spline, in the units of x: cubic inside, linear beyond the outer knots."""
    width = (knots[-1] - knots[0]) ** 2

    def cubed(at: float) -> np.ndarray:
        return np.asarray(np.maximum(x - at, 0.0) ** 3)

    last, before = float(knots[-1]), float(knots[-2])
    basis = cubed(float(knots[j]))
    basis = basis - cubed(before) * (last - knots[j]) / (last - before)
    return np.asarray((basis + cubed(last) * (before - knots[j]) / (last - before)) / width)


def _column(text: str, base: tuple[str, ...]) -> str:
    if text not in base:
        raise InputError(MethodMessage.DERIVED_OF_UNKNOWN, expression=text[:80], present=base)
    return text


def _pair(text: str, separator: str, base: tuple[str, ...]) -> tuple[str, str] | None:
    """Return the two columns around one of the marks, None where there are none; names may have the mark in them."""
    for at in (match.start() for match in re.finditer(re.escape(separator), text)):
        left, right = text[:at].strip(), text[at + 1 :].strip()
        if left in base and right in base:
            return left, right
    return None
