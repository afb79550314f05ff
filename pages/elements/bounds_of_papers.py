"""The bounds that the papers prove, at the open table's dimensions, beside simulations."""

import streamlit as st

from pages.elements.controls import control
from pages.elements.session import current_problem
from pages.elements.widgets import chart, frame, opened_on_demand
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError, PageWords


def bounds_of_papers() -> None:
    """Draw, in an expander, the ratio of each proved bound to the simulated quantity; no row of the table is read."""
    opened_on_demand("What the papers prove, at the shape of the open table", "bounds-open", "rule", _draw_bounds)


def _draw_bounds() -> None:
    """Draw the bounds at the dimensions of the open table, and on demand those of the other papers."""
    from pmtcore.papers import bounds as words  # noqa: PLC0415  # loads scipy.stats, which few readers need
    from pmtcore.papers.figures import bounds as figures  # noqa: PLC0415

    try:
        problem = current_problem()
    except InputError:
        st.caption("No tables are open.")
        return
    shape = words.shape(problem.public.d, problem.public.m, problem.private.n)
    if shape is None:
        st.caption("The bounds need more public rows than columns.")
        return
    mu = st.select_slider(**control("bounds-mu"), options=[0.1, 0.3, 1.0, 3.0, 10.0], value=1.0)
    with st.spinner("Measuring on made-up rows", show_time=True):
        bounds = words.central(shape, float(mu))
    alt = "Ratio of each proved bound to the measured quantity"
    chart(figures.bounds(bounds), "bounds", alt, words.table(bounds), label=Label.LAB, words=words.sentence(bounds))
    st.caption(PageWords.BOUNDS_OF_SHAPE.sentence(count=shape.d, public_rows=shape.m, private_rows=shape.n))
    if st.toggle(**control("bounds-more")):
        with st.spinner("Measuring on made-up rows", show_time=True):
            frame(words.table(words.others()), "Bounds of papers A, C and D")
            st.markdown(words.rounds().sentence)
