"""Choice of the unit of protection: one row, a declared number of rows, or the persons of a column."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements.controls import pick
from pages.elements.session import session
from pages.elements.widgets import number
from pmtcore.accounting.budgets import FIRST, MEAN, MOST_ROWS, Unit
from pmtcore.glm.families import GAUSSIAN
from pmtcore.releases.register import Tables
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem

RULES = {FIRST: "their first rows count", MEAN: "one row, the mean of theirs"}


def person_choice(tables: Tables, current: Choices, target: str, key: str, *, below: DeltaGenerator) -> Unit:
    """Draw the choice of the column of persons and of their rows that count; it is fixed for registered tables.

    Args:
        tables: the open ones.
        current: choices so far.
        target: of the regression, which cannot be the column of persons.
        key: end of the keys of the widgets.
        below: where to draw the choice of rows, which has no space beside the column.
    """
    if tables.source is not None:
        return tables.source.unit if tables.source.unit.column else Unit()
    columns = ["", *(name for name in tables.private.columns if name != target)]
    column = pick(
        st, "person", columns, current.person, at=f"-{key}", words=lambda name: name or "each row is one person"
    )
    if not column:
        return Unit()
    left, right = below.columns(2)
    rules = list(RULES) if current.family == GAUSSIAN.id else [FIRST]
    rule = pick(left, "person-rule", rules, current.person_rule, at=f"-{key}", words=RULES.__getitem__)
    if rule == MEAN:
        return Unit(1, column, MEAN)
    rows = number(right, "person-rows", 1, MOST_ROWS, start=current.person_rows, at=f"-{key}")
    return Unit(int(rows), column)


def declared(problem: Problem) -> int:
    """Draw the declared number of rows of a person, unless a column of persons or a curator decides it."""
    tables = session().tables
    unit = problem.unit or (tables.source.unit if tables is not None and tables.source is not None else None)
    if unit is not None:  # the guarantee states it
        return unit.rows
    return int(number(st, "release-rows", 1, MOST_ROWS, start=1))
