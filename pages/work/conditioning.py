"""Conditioning: what whitening does to the second moment, and what a radius does to the rows."""

from __future__ import annotations

import streamlit as st

from pages.common import workflow_state
from pages.common.session import curator
from pages.common.widgets import (
    PLAIN,
    at_first,
    badge,
    chart,
    figure_first,
    frame,
    keep_within,
    problem_or_sentence,
    study_label,
)
from pmtcore.auditing import diagnostics
from pmtcore.auditing.diagnostics import Diagnosis
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.numbers import figure as said
from pmtcore.base.records import Curator, Label
from pmtcore.papers import bounds as bounds_words
from pmtcore.papers.figures import bounds as bounds_figures
from pmtcore.report.figures import conditioning as figures
from pmtcore.report.glossary import help_for, term
from pmtcore.report.words import conditioning_words, truncation_words
from pmtcore.tables.problem import Problem

ETA = 0.05


def metrics(found: Diagnosis, kind: Label) -> None:
    """Three figures of merit, before and after."""
    st.markdown(badge(kind))
    after = found.after.as_dict() if found.after else {}
    columns = st.columns(3)
    for column, name in zip(columns, ("kappa", "kappa_bar", "lambda_min"), strict=True):
        column.metric(
            term(name).name,
            said(after[name]) if after else "unknown",
            f"{said(found.before.as_dict()[name])} before",
            delta_color="off",
            delta_arrow="off",
            help=term(name).words,
        )


def page(problem: Problem) -> None:
    """The whole page."""
    shown = [diagnostics.predicted(problem.public, problem.private.n, ETA)]
    kinds = [Label.PUBLIC]
    if curator():
        shown.append(diagnostics.exact(problem, ETA).reveal(Curator("shown on the Conditioning page")))
        kinds.append(study_label())
    label = kinds[-1]

    st.title("Conditioning")
    workflow_state.summary(problem)
    st.markdown(
        "A private fit inverts a noisy second moment. Noise is the same in every direction, so the shortest direction "
        "suffers most. Whitening with the public moment makes directions about equally long, as far as there are "
        "enough public rows."
    )
    for found, kind in zip(shown, kinds, strict=True):
        metrics(found, kind)
    if not curator():
        st.caption(
            "After whitening as predicted from public rows. Exact figures are private: switch them on in the sidebar."
        )

    left, right = st.columns([3, 2])
    with left:
        st.header("Spectrum of the second moment")
        chart(
            figures.spectrum(shown),
            "spectrum",
            "Eigenvalues of the second moment before and after whitening, log axis",
            figures.spectrum_table(shown),
            label,
            conditioning_words(shown[-1]),
        )
    with right:
        st.header("The two worst directions")
        st.markdown(badge(label))
        st.plotly_chart(
            figures.ellipses(shown[-1]),
            width="stretch",
            key="ellipses",
            alt="Ellipse of the longest and shortest direction before and after whitening",
            config=PLAIN,
        )

    st.header("Truncation")
    with figure_first("radius"):
        top = float(max(2 * shown[0].radius, 1.0))
        keep_within("radius", 0.0, top)
        start = at_first("radius", value=shown[0].radius)
        radius = st.slider(
            "Radius, in whitened units",
            0.0,
            top,
            key="radius",
            persist_state="session",
            help=f"{help_for('radius')} Starts at the papers' radius.",
            **start,
        )
        chart(
            figures.truncation(shown, radius),
            "truncation",
            "Share of rows outside the radius as the radius moves",
            figures.truncation_table(shown),
            label,
        )
    for found, kind in zip(shown, kinds, strict=True):
        st.markdown(f"{badge(kind)} {plain(truncation_words(found, radius))}")
    st.caption(
        "These are norms of the features alone, as the papers truncate them. Each method chooses its own radius, or "
        "bound on gradients, from public rows: Plan and Release show what that one shortens."
    )
    proved(problem)
    workflow_state.onward("plan", "Plan")


def proved(problem: Problem) -> None:
    """What the papers prove about this step, at this shape of table, beside what is measured on made-up rows."""
    st.header("What the papers prove")
    shape = bounds_words.shape(problem.public.d, problem.public.m, problem.private.n)
    if shape is None:
        st.caption("The bounds need more public rows than columns.")
        return
    mu = st.select_slider(
        "mu of each part", [0.1, 0.3, 1.0, 3.0, 10.0], 1.0, key="bounds-mu", help="As the papers count their budgets."
    )
    found = bounds_words.central(shape, float(mu))
    chart(
        bounds_figures.bounds(found),
        "bounds",
        "How many times each proved bound is away from what is measured",
        bounds_words.table(found),
        Label.LAB,
        bounds_words.sentence(found),
    )
    st.caption(
        f"{shape.d} columns, {shape.m:,} public and {shape.n:,} private rows, drawn Gaussian with an averaged "
        "condition number of 15, as the theorems assume; no row of the table is read. Open constants are 1."
    )
    with st.expander("Other bounds of the papers", icon=":material/rule:"):
        if st.toggle(
            "Compute them (seconds)",
            key="bounds-more",
            help="On made-up rows, at the settings named in each line; no row of your tables is read.",
        ):
            frame(bounds_words.table(bounds_words.others()), "Bounds of papers A, C and D")
            st.markdown(bounds_words.rounds().sentence)


current = problem_or_sentence()
if current is not None:
    page(current)
