"""Data: open tables, choose columns; opens on a demo with a result."""

from __future__ import annotations

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
            st.caption("Repeated releases of this table take long: Plan predicts, Compare runs them.")
        return
    st.header("What a budget buys on this table")
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


st.title("Data")
ON_DEMO = " The demo below is ready; open your own tables when you are."
st.markdown(
    "A private table, a little public data about the same population, and a budget: that is all it takes to publish "
    f"a regression.{ON_DEMO if st.session_state.get('source', 'demo') == 'demo' else ''}"
)
table_picker.source()
problem = table_picker.columns()
if problem is not None:
    rows = "an unknown number of" if problem.public.m is None else f"**{count(problem.public.m)}**"
    st.markdown(
        f"{badge(Label.PUBLIC)} **{count(problem.private.n)}** private rows, {rows} public rows; "
        f"**{plain(problem.public.target)}** from **{plain(columns_words(problem.public.names))}**."
    )
    table_picker.notes(problem)
    table_picker.shared_rows(problem)
    showcase()
    table_picker.preview()
    workflow_state.onward("conditioning", "Conditioning")
