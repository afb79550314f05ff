"""Conditioning: what whitening does to the second moment, and what a radius does to the rows."""

from __future__ import annotations

import streamlit as st

from pages.common.session import curator
from pages.common.widgets import PLAIN, at_first, badge, chart, problem_or_sentence
from pmtcore.base.records import Curator, Label
from pmtcore.data.problem import Problem
from pmtcore.lab import diagnostics
from pmtcore.lab.diagnostics import Diagnosis
from pmtcore.show.figures import conditioning as figures
from pmtcore.show.words import conditioning_words, truncation_words

ETA = 0.05


def metrics(found: Diagnosis) -> None:
    """Three figures of merit, before and after."""
    st.markdown(badge(found.label))
    after = found.after.as_dict() if found.after else {}
    columns = st.columns(3)
    names = {"kappa": "Condition number", "kappa_bar": "Averaged condition number", "lambda_min": "Smallest eigenvalue"}
    for column, (name, title) in zip(columns, names.items(), strict=True):
        before = found.before.as_dict()[name]
        column.metric(
            title,
            f"{after[name]:.3g}" if after else "unknown",
            f"{before:.3g} before",
            delta_color="off",
            delta_arrow="off",
        )


def page(problem: Problem) -> None:
    """The whole page."""
    shown = [diagnostics.predicted(problem.public, problem.private.n, ETA)]
    if curator():
        shown.append(diagnostics.exact(problem, ETA).reveal(Curator("shown on the Conditioning page")))
    label = Label.PRIVATE if len(shown) > 1 else Label.PUBLIC

    st.title("Conditioning")
    st.markdown(
        "A private fit inverts a noisy second moment. Noise is the same in every direction, so the shortest direction "
        "suffers most. Whitening with the public moment makes all directions about equally long."
    )
    for found in shown:
        metrics(found)
    if not curator():
        st.caption(
            "After whitening as predicted from public rows. Exact figures are private: switch them on in the sidebar."
        )

    left, right = st.columns([3, 2])
    with left:
        st.subheader("Spectrum of the second moment")
        chart(
            figures.spectrum(shown),
            "spectrum",
            "Eigenvalues of the second moment before and after whitening, log axis",
            figures.spectrum_table(shown),
            label,
        )
    with right:
        st.subheader("The two worst directions")
        st.plotly_chart(
            figures.ellipses(shown[-1]),
            width="stretch",
            key="ellipses",
            alt="Ellipse of the longest and shortest direction before and after whitening",
            config=PLAIN,
        )
        st.markdown(f"{badge(shown[-1].label)} {conditioning_words(shown[-1])}")

    st.subheader("Truncation")
    top = float(max(2 * shown[0].radius, 1.0))
    start = at_first("radius", value=shown[0].radius)
    radius = st.slider(
        "Radius, in whitened units",
        0.0,
        top,
        key="radius",
        persist_state="session",
        help="Starts at the papers' radius.",
        **start,
    )
    chart(
        figures.truncation(shown, radius),
        "truncation",
        "Share of rows outside the radius as the radius moves",
        figures.truncation_table(shown),
        label,
    )
    for found in shown:
        st.markdown(f"{badge(found.label)} {truncation_words(found, radius)}")
    st.caption(
        "These are norms of the features alone, as the papers truncate them. The joint release chooses its own for "
        "features and residual together, from public rows; it is shown before each release."
    )
    st.page_link("pages/work/release.py", label="Next: Release", icon=":material/arrow_forward:")


current = problem_or_sentence()
if current is not None:
    page(current)
