"""Who is a person: one row each, a declared number of rows, or a column that says whose a row is."""

from __future__ import annotations

import streamlit as st

from pages.common.session import session
from pages.common.widgets import number
from pmtcore.accounting.budgets import FIRST, MEAN, MOST_ROWS, Unit
from pmtcore.base.escaping import markdown as plain
from pmtcore.glm.families import GAUSSIAN
from pmtcore.releases.opened import Tables
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem

_RULES = {FIRST: "their first rows count", MEAN: "one row, the mean of theirs"}


def whose(tables: Tables, current: Choices, target: str, key: str) -> Unit:
    """Draw the identifier column and how many rows of each person count; fixed for registered tables."""
    if tables.source is not None:
        return tables.source.unit if tables.source.unit.column else Unit()
    columns = ["", *(name for name in tables.private.columns if name != target)]
    column = st.selectbox(
        "Who is a person",
        columns,
        index=columns.index(current.person) if current.person in columns else 0,
        format_func=lambda name: name or "each row is one person",
        key=f"person-{key}",
        persist_state="session",
        help="A column of the private table that says whose a row is. The guarantee is then one for people, however "
        "many rows somebody has; the number of people is public. Without one, Release asks how many rows a person has.",
    )
    if not column:
        return Unit()
    left, right = st.columns(2)
    rules = list(_RULES) if current.family == GAUSSIAN.id else [FIRST]
    rule = left.selectbox(
        "Of each person",
        rules,
        index=rules.index(current.person_rule) if current.person_rule in rules else 0,
        format_func=_RULES.__getitem__,
        key=f"person-rule-{key}",
        persist_state="session",
        help="The mean weights the rows of each person to one; it is for numbers only.",
    )
    if rule == MEAN:
        return Unit(1, column, MEAN)
    rows = number(
        right,
        "Rows that count, at most",
        1,
        MOST_ROWS,
        start=current.person_rows,
        key=f"person-rows-{key}",
        words="A person is protected by so many times mu.",
    )
    return Unit(int(rows), column)


def declared(problem: Problem) -> int:
    """Draw how many rows one person is taken to have: asked for only where nothing decides it."""
    tables = session().tables
    fixed = problem.unit or (tables.source.unit if tables is not None and tables.source is not None else None)
    if fixed is not None:
        st.caption(plain(fixed.words))
        return fixed.rows
    return int(
        number(
            st,
            "Rows that one person may have",
            1,
            MOST_ROWS,
            start=1,
            key="release-rows",
            words="The budget is of one row; a person with k rows is protected by k times its mu, and that is what the "
            "ledger counts. A column that says whose a row is can be chosen on the Data page.",
        )
    )
