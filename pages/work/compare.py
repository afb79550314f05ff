"""Compare: repeated trials in the lab, error against budget."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from pages.common.session import curator, session
from pages.common.widgets import badge, chart, problem_or_sentence, show_error
from pmtcore.checks import InputError
from pmtcore.encoding import Problem
from pmtcore.experiments import Comparison, budget_grid, rescaled
from pmtcore.figures import compare as figures
from pmtcore.records import Curator, Label, Standing
from pmtcore.registry import method, recommended, suiting
from pmtcore.words import comparison_words

ALWAYS = ["public-only"]
PAPERS = ["pmt-ridge", "pmt-logistic"]
KEEP: dict[str, Any] = {"persist_state": "session"}
SCALES = {"z": "z-scores", "none": "as it is", "minmax": "to [0, 1]", "max": "by the largest"}


def _named(id: str) -> str:
    return f"{id} (lab)" if method(id).standing is Standing.LAB else id


def controls(problem: Problem) -> None:
    """What to run; starts a comparison."""
    ids = [
        entry.id
        for entry in suiting(problem.public)
        if entry.gives_coefficients and entry.id not in (*ALWAYS, "non-private")
    ]
    always = ALWAYS if problem.public.labelled else []
    family = problem.public.family.id
    with st.form("compare-form"):
        chosen = st.multiselect(
            "Methods",
            ids,
            default=[recommended(problem.public).id, *(id for id in PAPERS if id in ids)],
            format_func=_named,
            key=f"compare-methods-{family}",
            help="public-only is always drawn. 'lab' marks methods that are compared as published but not released.",
            **KEEP,
        )
        a, b, c = st.columns(3)
        low = a.number_input("Smallest mu", 1e-3, 100.0, 0.1, format="%g", key="compare-low", **KEEP)
        high = b.number_input("Largest mu", 1e-3, 100.0, 10.0, format="%g", key="compare-high", **KEEP)
        count = c.number_input("Budgets between", 1, 50, 10, key="compare-count", help="Evenly on a log axis.", **KEEP)
        a, b, c = st.columns(3)
        trials = a.number_input("Trials", 1, 5000, 100, key="compare-trials", **KEEP)
        seed = b.number_input(
            "Seed", 0, 2**31, 1, key="compare-seed", help="The same seed gives the same figure.", **KEEP
        )
        scale = c.selectbox(
            "Scale the whole table", list(SCALES), format_func=SCALES.__getitem__, key="compare-scale", **KEEP
        )
        pressed = st.form_submit_button("Run", type="primary", key="compare-run", icon=":material/play_arrow:")
    if pressed:
        try:
            mus = budget_grid(low, high, int(count))
            session().comparison = Comparison(
                rescaled(problem, scale), [*chosen, *always], mus, trials=int(trials), seed=int(seed)
            )
        except InputError as error:
            show_error(error)


def advance(run: Comparison, seconds: float = 0.4) -> None:
    """Work for a moment; what is done is kept."""
    end = time.monotonic() + seconds
    while time.monotonic() < end and run.step():
        pass


def live() -> None:
    """Progress, stop, and the picture so far; called again and again while a run is going on.

    What can be clicked is drawn before the work, so that it stays under the pointer.
    """
    run = session().comparison
    if run is None:
        return
    if run.live:
        left = "" if run.seconds_left is None else f", about {max(run.seconds_left, 1):.0f} s of computing left"
        st.progress(run.share, f"{run.share:.0%} done{left}")
        if st.button("Stop", key="compare-stop", icon=":material/stop:"):
            run.stop()
            st.rerun()
    picture(run)
    if run.live:
        advance(run)
        if not run.live:
            st.rerun()


def picture(run: Comparison) -> None:
    """What is there so far."""
    found = run.summaries().reveal(Curator("shown on the Compare page"))
    if not found:
        return
    tables = session().tables
    harmless = tables is not None and tables.may_be_studied
    words = "These rows are synthetic or public: no harm done." if harmless else "Distances to a private fit."
    st.markdown(f"{badge(Label.PRIVATE)} {words}")
    st.markdown(f"**{comparison_words(found)}**")
    chart(
        figures.comparison(found),
        "comparison",
        "Median distance to the fit without privacy against the total budget, with 10 to 90 % bands",
        figures.comparison_table(found),
        Label.PRIVATE,
    )
    note = "stopped" if run.stopped else "done" if not run.live else "running"
    st.caption(
        f"{run.trials_done} trials for each method and budget, {note}. Line: median over the trials; band: from the "
        "10 % to the 90 % quantile. The fit without privacy is at distance 0 from itself, so it is not drawn."
    )


def may_show() -> bool:
    """Whether the figures may be on this screen; says so where they may not."""
    tables = session().tables
    if tables is None or tables.may_be_studied or curator():
        return True
    st.info(
        "These figures are distances to an exact private fit, so they are for the curator's eyes. Switch them on in "
        "the sidebar, or open the demo.",
        icon=":material/lock:",
    )
    return False


def page(problem: Problem) -> None:
    """The whole page."""
    st.title("Compare")
    st.markdown(
        "How far from the fit without privacy does each method land? Repeated releases of the same rows, for the lab: "
        "nothing here may be published, and nothing is spent on synthetic tables."
    )
    if not may_show():
        return
    controls(problem)
    run = session().comparison
    if run is None:
        return
    st.fragment(live, run_every=1.0 if run.live else None)()
    if not run.live and st.button("More trials", key="compare-more", icon=":material/add:"):
        run.extend()
        st.rerun()


current = problem_or_sentence()
if current is not None:
    page(current)
