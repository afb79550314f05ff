"""Compare: repeated trials in the lab, error against budget."""

from __future__ import annotations

import time
from typing import Any

import streamlit as st

from pages.common.session import curator, session
from pages.common.widgets import at_first, badge, chart, problem_or_sentence, show_error
from pmtcore.base.checks import InputError
from pmtcore.base.records import Curator, Label, Standing
from pmtcore.data.problem import Problem
from pmtcore.lab.comparison import AXES, Comparison, budget_grid, grid, rescaled
from pmtcore.methods.registry import method, recommended, suiting
from pmtcore.show.figures import compare as figures
from pmtcore.show.words import comparison_words

ALWAYS = ["public-only"]
PAPERS = ["pmt-ridge", "pmt-logistic"]
KEEP: dict[str, Any] = {"persist_state": "session"}
SCALES = {"z": "z-scores", "none": "as it is", "minmax": "to [0, 1]", "max": "by the largest"}


def _named(id: str) -> str:
    return f"{id} (lab)" if method(id).standing is Standing.LAB else id


def _places(problem: Problem, axis: str) -> tuple[float, float, int, float]:
    """The range on the axis, how many places, and the budget where the axis is another."""
    d, m = problem.public.d, problem.public.m or 0
    ranges: dict[str, tuple[float, float]] = {
        "budget": (0.1, 10.0),
        "private rows": (float(max(problem.private.n // 20, 10)), float(problem.private.n)),
        "public rows": (float(d + 2), float(max(m, d + 2))),
        "penalty": (1e-4, 1.0),
        "steps": (1.0, 20.0),
    }
    name = "mu" if axis == "budget" else AXES[axis]
    a, b, c, e = st.columns(4)
    start = ranges[axis]
    low = a.number_input(f"Smallest {name}", 1e-9, 1e9, start[0], format="%g", key=f"compare-low-{axis}", **KEEP)
    high = b.number_input(f"Largest {name}", 1e-9, 1e9, start[1], format="%g", key=f"compare-high-{axis}", **KEEP)
    count = c.number_input("Places between", 1, 50, 10 if axis == "budget" else 6, key=f"compare-count-{axis}", **KEEP)
    mu = 1.0
    if axis != "budget":
        mu = e.number_input("Total mu", 1e-3, 100.0, 1.0, format="%g", key="compare-mu", **KEEP)
    return float(low), float(high), int(count), float(mu)


def controls(problem: Problem) -> None:
    """What to run; starts a comparison."""
    axis = (
        st.segmented_control(
            "Error against",
            [axis for axis in AXES if axis != "epsilon"],
            key="compare-axis",
            required=True,
            **at_first("compare-axis", default="budget"),
            **KEEP,
        )
        or "budget"
    )
    ids = [
        entry.id
        for entry in suiting(problem.public)
        if entry.gives_coefficients and entry.same_target and entry.id not in (*ALWAYS, "non-private")
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
        low, high, count, mu = _places(problem, axis)
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
            places: dict[str, Any] = {"mus": budget_grid(low, high, count)}
            if axis != "budget":
                places = {"mus": [mu], "axis": axis, "values": grid(low, high, count, whole=axis not in ("penalty",))}
            session().comparison = Comparison(
                rescaled(problem, scale), [*chosen, *always], trials=int(trials), seed=int(seed), **places
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
    st.markdown(f"**{comparison_words(found, run.axis)}**")
    mean = st.toggle(
        "Means with one standard deviation", key="compare-mean", help="Else medians with 10 to 90 %.", **KEEP
    )
    chart(
        figures.comparison(found, run.axis, mean, run.sampling),
        "comparison",
        f"Distance to the fit without privacy against {AXES[run.axis]}, with bands",
        figures.comparison_table(found),
        Label.PRIVATE,
    )
    note = "stopped" if run.stopped else "done" if not run.live else "running"
    st.caption(
        f"{run.trials_done} trials for each method and place, {note}. The fit without privacy is at distance 0 from "
        "itself; the dotted line is what it is itself expected to be off by, from public rows."
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
