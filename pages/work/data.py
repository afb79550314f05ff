"""Data: open tables, choose columns; opens on a demo with a result."""

from __future__ import annotations

from dataclasses import replace

import streamlit as st

from pages.common import table_picker, workflow_state
from pages.common.session import session
from pages.common.showcase import quick
from pages.common.widgets import badge, chart, show_error
from pmtcore.base.checks import InputError
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.numbers import count
from pmtcore.base.records import Label
from pmtcore.report.figures import compare as figures
from pmtcore.report.words import columns_words, comparison_words
from pmtcore.tables.problem import Problem


def showcase() -> None:
    """What the open tables already show, on tables that harm nobody."""
    try:
        found = quick(session())
    except InputError as error:
        show_error(error)
        return
    opened = session()
    if found is None:
        if opened.tables is not None and opened.tables.may_be_studied and opened.problem is not None:
            st.caption("Too large for an instant comparison; see Plan or Compare.")
        return
    chart(
        figures.comparison(found.summaries),
        "showcase",
        "Median distance to the fit without privacy against the total budget",
        figures.comparison_table(found.summaries),
        Label.LAB,
        comparison_words(found.summaries),
    )
    st.caption(
        f"Coefficients of the standardized table, {found.trials} repeated releases each, in the lab; the rows are "
        "synthetic or public, so this harms nobody."
    )


def modelled(problem: Problem) -> None:
    """Say which level of a label is modelled, with a swap where there are two."""
    if problem.positive is None:
        return
    left, right = st.columns([4, 1], vertical_alignment="center")
    left.markdown(
        f"{badge(Label.PUBLIC)} Modelled: the chance that **{plain(problem.public.target)}** is "
        f"**{plain(problem.positive)}**; a positive coefficient makes it likelier."
    )
    if problem.other_label is not None and right.button(
        f"Model {plain(problem.other_label)}",
        key="swap-label",
        icon=":material/swap_horiz:",
        width="stretch",
        help="Every coefficient changes its sign.",
    ):
        table_picker.take(replace(problem.choices, positive=problem.other_label))


st.title("Data")
table_picker.source()
problem = table_picker.columns()
if problem is not None:
    rows = "an unknown number of" if problem.public.m is None else f"**{count(problem.public.m)}**"
    st.markdown(
        f"{badge(Label.PUBLIC)} **{count(problem.private.n)}** private rows, {rows} public rows; "
        f"**{plain(problem.public.target)}** from **{plain(columns_words(problem.public.names))}**."
    )
    modelled(problem)
    showcase()
    table_picker.notes(problem)
    table_picker.shared_rows(problem)
    table_picker.preview()
    workflow_state.onward("conditioning", "Conditioning")
