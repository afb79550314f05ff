"""Data: open tables, choose columns; opens on a demo with a result."""

from __future__ import annotations

import streamlit as st

from pages.common import choose
from pages.common.session import Session, session
from pages.common.widgets import badge, chart, show_error
from pmtcore.base.checks import InputError
from pmtcore.base.records import Curator, Label
from pmtcore.lab.comparison import Comparison, rescaled
from pmtcore.methods.registry import recommended, suiting
from pmtcore.models.families import GAUSSIAN
from pmtcore.show.figures import compare as figures
from pmtcore.show.words import comparison_words

BESIDE = ["pmt-ridge", "pmt-logistic", "public-only"]
GLM_TRIALS = 10  # each is a fit of its own, not a share of one solve


def showcase(found: Session) -> None:
    """What the open tables already show: a quick comparison, on tables that harm nobody."""
    if found.problem is None or found.tables is None or not found.tables.may_be_studied:
        return
    try:
        if found.showcase is None:
            suits = suiting(found.problem.public)
            chosen = [recommended(found.problem.public).id, *(m.id for m in suits if m.id in BESIDE)]
            linear = found.problem.public.family is GAUSSIAN
            mus = [0.1, 0.3, 1.0, 3.0, 10.0] if linear else [0.3, 1.0, 3.0]
            found.showcase = Comparison(
                rescaled(found.problem, "z"), chosen, mus, trials=50 if linear else GLM_TRIALS, seed=1
            ).run()
        summaries = found.showcase.summaries().reveal(Curator("synthetic or public rows, shown on the Data page"))
    except InputError as error:
        show_error(error)
        return
    st.subheader("What a budget buys on this table")
    st.markdown(f"**{comparison_words(summaries)}**")
    chart(
        figures.comparison(summaries),
        "showcase",
        "Median distance to the fit without privacy against the total budget for three methods",
        figures.comparison_table(summaries),
        Label.PRIVATE,
    )
    st.caption(
        f"Coefficients of the standardized table, {found.showcase.trials} repeated releases each, in the lab; the "
        "rows are synthetic or public, so this harms nobody."
    )


st.title("Data")
st.markdown(
    "A private table, a little public data about the same population, and a budget: that is all it takes to publish "
    "a regression. The demo below is ready; open your own tables when you are."
)
choose.source()
problem = choose.columns()
if problem is not None:
    rows = "unknown" if problem.public.m is None else f"{problem.public.m:,}"
    st.markdown(
        f"{badge(Label.PUBLIC)} **{problem.private.n:,}** private rows, **{rows}** public rows, "
        f"**{problem.public.d}** columns explain **{problem.public.target}**."
    )
    for note in problem.notes:
        st.caption(note)
    showcase(session())
    choose.preview()
    st.page_link("pages/work/conditioning.py", label="Next: Conditioning", icon=":material/arrow_forward:")
