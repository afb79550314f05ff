"""Compare: errors of repeated releases in the lab, against the budget or another setting."""

from collections.abc import Iterator, Sequence
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import runs, workflow_state
from pages.elements.controls import control, pick, segments
from pages.elements.live import progress, redrawn, work
from pages.elements.session import quick, session
from pages.elements.widgets import (
    chart,
    curator_may_show,
    errors_shown,
    figure_first,
    number,
    on_tables,
    script_downloads,
    study_label,
)
from pmtcore.auditing.comparison import (
    AXES,
    Comparison,
    Summary,
    budget_grid,
    errors_depend_on_axis,
    grid,
    rescaled_problem,
)
from pmtcore.base.messages import PageWords
from pmtcore.base.private_rows import Curator
from pmtcore.methods.registry import Method, methods_for, of_role, recommended_method
from pmtcore.releases import job_slots
from pmtcore.report import reproduce
from pmtcore.report.figures import compare as figures
from pmtcore.report.names import option
from pmtcore.report.words import comparison_words
from pmtcore.tables.problem import Problem

# Most rows of the form below the methods.
_ROWS = 4
# Initial range of budgets.
FIRST_PLACES = (0.1, 10.0)
SCALES = {"none": "as they are", "z": "z-scores, as in the papers", "minmax": "to [0, 1]", "max": "by the largest"}


def _draw_range(problem: Problem, axis: str, cells: Iterator[DeltaGenerator]) -> tuple[float, float, int, float]:
    """Draw the range of the axis, the number of its values, and the budget unless that is the axis."""
    d, m = problem.public.d, problem.public.m or 0
    ranges: dict[str, tuple[float, float]] = {
        "budget": FIRST_PLACES,
        "private rows": (float(max(problem.private.n // 20, 10)), float(problem.private.n)),
        "public rows": (float(d + 2), float(max(m, d + 2))),
        "penalty": (1e-4, 1.0),
        "steps": (1.0, 20.0),
    }
    end, at = control(f"compare-{axis}"), f"-{axis}"
    name, words = end["label"], end["help"]
    start = ranges[axis]
    low = number(next(cells), "compare-low", 1e-9, 1e9, start=start[0], at=at, label=f"Smallest {name}", words=words)
    high = number(next(cells), "compare-high", 1e-9, 1e9, start=start[1], at=at, label=f"Largest {name}", words=words)
    count = number(next(cells), "compare-count", 1, 50, start=10 if axis == "budget" else 6, at=at)
    mu = 1.0 if axis == "budget" else number(next(cells), "compare-mu", 1e-3, 100.0, start=1.0)
    return low, high, count, mu


def comparable_methods(problem: Problem, axis: str) -> list[Method]:
    """Return the methods for these tables whose errors change along the axis."""
    entries = [e for e in methods_for(problem.public) if e.gives_coefficients and e.same_target and e.role == "method"]
    return [entry for entry in entries if errors_depend_on_axis(entry, problem.public, axis)]


def choose_axis(problem: Problem) -> str:
    """Draw the choice of the horizontal axis, among those along which some method changes; return it."""
    axes = [axis for axis in AXES if axis != "epsilon" and comparable_methods(problem, axis)]
    if st.session_state.get("compare-axis") not in axes:  # from a table with other methods
        st.session_state.pop("compare-axis", None)
    run = runs.current_run()
    return segments("compare-axis", axes, "budget" if run is None else run.axis)


def controls(problem: Problem, axis: str) -> None:
    """Draw the form of a comparison, and start it."""
    with st.form("compare-form"):
        chosen = _methods(problem, axis)
        # Two in a row, created as needed, so that the button is on the first screen.
        cells = (column for _ in range(_ROWS) for column in st.columns(2))
        low, high, count, mu = _draw_range(problem, axis, cells)
        trials, seed, scale = _trials(cells)
        pressed = st.form_submit_button(**control("compare-run"))
    if not pressed:
        return
    with errors_shown():
        places: dict[str, Any] = {"mus": budget_grid(low, high, count)}
        if axis != "budget":
            places = {"mus": [mu], "axis": axis, "values": grid(low, high, count, integers=axis not in ("penalty",))}
        run = Comparison(rescaled_problem(problem, scale), chosen, trials=trials, seed=seed, typical=True, **places)
        names = {"mus": "mu"}  # name of the argument in the package's compare
        arguments = {names.get(name, name): value for name, value in places.items()}
        arguments |= {"methods": chosen, "trials": trials, "seed": seed, "scale": scale, "typical": run.is_typical}
        runs.start(run, reproduce.compare_again(problem.choices.as_dict(), **arguments))


def _methods(problem: Problem, axis: str) -> list[str]:
    """Draw the choice of methods that change along the axis; return their ids and that of the public fit."""
    entries = comparable_methods(problem, axis)
    first = [entry.id for entry in entries if entry.at_first or entry.id == recommended_method(problem.public).id]
    # An axis with other methods has another control, since chosen ones may not be in its list.
    own = "" if len(entries) == len(comparable_methods(problem, "budget")) else f"-{axis}"
    chosen = st.multiselect(
        **control("compare-methods", f"-{problem.public.family.id}{own}"),
        options=[entry.id for entry in entries],
        default=first or [entry.id for entry in entries[:1]],
        format_func=option,
        help=PageWords.COMPARED_METHODS.sentence() + (f" Listed: the methods that {AXES[axis]} change." if own else ""),
    )
    return [*chosen, *([of_role("public").id] if problem.public.labelled else [])]


def _trials(cells: Iterator[DeltaGenerator]) -> tuple[int, int, Any]:
    trials = number(next(cells), "compare-trials", 1, 5000, start=100)
    seed = number(next(cells), "compare-seed", 0, 2**31, start=1)
    scale = pick(next(cells), "compare-scale", SCALES)
    return int(trials), int(seed), scale


def advance(run: Comparison, seconds: float = 0.4) -> None:
    """Compute for some seconds."""
    work(run.step, seconds)
    job_slots.note(run, run.live)


def live() -> bool:
    """Draw progress, Stop and the picture so far; return whether work is left.

    Controls are drawn before the computation, so that they can be clicked during it.
    """
    run = session().comparison
    if run is None:
        return False
    if run.live:
        left = "" if run.seconds_left is None else f", about {max(run.seconds_left, 1):.0f} s of computing left"
        progress(run.share, f"{run.share:.0%} done{left}", "compare-stop", run.stop)
    summaries = run.summaries().reveal(Curator("shown on the Compare page"))
    note = "stopped" if run.stopped else "done" if not run.live else "running"
    words = f"{figures.trials_words(summaries)}, {note}." if summaries else "No result yet."
    measure = figures.TYPICAL if run.is_typical else figures.DISTANCE
    picture(summaries, run.axis, run.sampling, words, run=run, measure=measure)
    if run.live:
        advance(run)
    return run.live


def picture(
    summaries: Sequence[Summary],
    axis: str,
    sampling: float | None,
    note: str,
    *,
    run: Comparison | None = None,
    measure: str,
) -> None:
    """Draw the distances of all methods to the fit without privacy; axes and legend are those of the complete run."""
    mean = bool(st.session_state.get("compare-mean", False))
    methods = run.methods if run is not None else ()
    places = run.places if run is not None else ()
    alt = f"{measure[0].upper()}{measure[1:]} against {AXES[axis]}, with bands"
    words = comparison_words(summaries, axis) or "Computing: no trial is done yet."
    drawn = figures.comparison(summaries, axis, mean, sampling, methods=methods, axis_values=places, measure=measure)
    table = figures.comparison_table(summaries)
    chart(drawn, "comparison", alt, table, label=study_label(), words=words)
    st.toggle(**control("compare-mean"))
    off = " The dotted line is how far that fit itself is expected to be from the truth, by sampling alone."
    st.caption(f"{note} The {measure}.{off if sampling else ''}")


def page(problem: Problem) -> None:
    """Draw controls and results."""
    workflow_state.summary_and_others(problem)
    if not curator_may_show(session().is_study, "Every figure here is a distance to an exact fit"):
        return
    axis = choose_axis(problem)
    left, right = figure_first("compare").columns([2, 3], gap="medium")
    with left:
        controls(problem, axis)
        st.caption(PageWords.COMPARED_IN_THE_LAB.sentence())
    with right:
        results(axis)
    recipe = runs.recipe() if runs.current_run() is not None else None
    if recipe is not None:
        script_downloads(recipe, "compare")


def results(axis: str) -> None:
    """Draw the running or finished comparison; before one, the quick comparison or a sentence."""
    run = runs.current_run()
    first = quick() if run is None and axis == "budget" else None
    if first is not None:
        picture(
            first.summaries,
            "budget",
            None,
            f"A first look: columns as they are, {first.trials} trials. The papers rescale them first.",
            measure=first.measure,
        )
        return
    if run is None or (run.axis != axis and not run.live):
        st.info(f"Nothing is computed against {AXES[axis]} yet: Run draws it here.", icon=":material/play_arrow:")
        return
    if run.live:
        redrawn(live, 1.0)
        return
    live()
    if st.button(**control("compare-more")):
        run.extend()
        st.rerun()


st.title("Compare")
on_tables(page)
