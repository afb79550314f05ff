"""Local model: every row randomized by its owner; what that costs beside a trusted curator."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import streamlit as st

from pages.common.live import redrawn
from pages.common.session import curator, named_tables, session
from pages.common.showcase import Quick, remember, remembered
from pages.common.widgets import badge, chart, problem_or_sentence, show_error
from pmtcore.auditing.central_vs_local import Sides, papers_local
from pmtcore.auditing.comparison import Summary, rescaled
from pmtcore.base.checks import InputError
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.records import Curator, Label
from pmtcore.glm.families import FAMILIES
from pmtcore.local import setup
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.local.collected import LocalPlan, WhitenedParameters
from pmtcore.report.figures import compare as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.words import comparison_words
from pmtcore.tables.problem import Problem, prepare

EPSILONS = [1.0, 2.0, 4.0, 8.0, 16.0]
TRIALS = 10
A_MOMENT = 1.0  # seconds of work between two pictures


def words() -> None:
    """Who is trusted with what."""
    left, right = st.columns(2, gap="large")
    left.markdown(
        "**A trusted curator** sees all rows and adds noise once, to the result. The noise does not grow with the "
        "number of rows, so its effect falls as 1/n."
    )
    right.markdown(
        "**Nobody is trusted**: each person's own device randomizes their row before it leaves. n noises are averaged, "
        "so the effect falls as 1/√n: far more rows are needed for the same accuracy."
    )


def collect(problem: Problem) -> None:
    """What a device would be sent, and what it would send back."""
    epsilon = st.select_slider(
        "Epsilon of each report",
        [0.5, 1.0, 2.0, 4.0, 8.0, 16.0],
        4.0,
        key="local-epsilon",
        persist_state="session",
        help=help_for("epsilon"),
    )
    made = setup.whitened(problem.public, problem.private.n, 1.0, "privunit", 0.0, float(epsilon))
    st.markdown(
        f"{badge(Label.PUBLIC)} Each device sends **{made.dimension}** numbers, purely **{epsilon:g}**-private in its "
        f"own row (any two rows of one person look alike up to a factor e^{epsilon:g})."
    )
    st.download_button(
        "Configuration for the devices (JSON)",
        json.dumps({**made.as_dict(), "family": problem.public.family.id, "positive": problem.choices.positive}),
        "local-configuration.json",
        "application/json",
        on_click="ignore",
        icon=":material/download:",
    )
    with st.expander("On the command line", icon=":material/terminal:"):
        st.code(
            "python -m pmtcore local randomize --config local-configuration.json --rows own.csv --out reports.jsonl\n"
            "python -m pmtcore local aggregate --config local-configuration.json --reports reports.jsonl "
            "--public public.csv",
            language="bash",
            wrap_lines=True,
        )


def may_simulate(study: bool) -> bool:
    """Whether simulated collections of these rows may be on this screen; says so where they may not."""
    if study or curator():
        return True
    st.info(
        "A simulation on your own rows is for the curator: switch it on in the sidebar, or open a demo. A collection "
        "that may be published comes from the devices, by the commands above.",
        icon=":material/lock:",
    )
    return False


def fit_another(problem: Problem, mark: tuple[str, ...], kind: Label) -> None:
    """Remark 16: many losses from one collection, simulated with a seed: whoever knows it can undo the noise."""
    st.header("Fit another model, no further cost")
    epsilon = float(st.session_state["local-epsilon"])
    if st.session_state.get("local-collected", ("",))[0] != (*mark, epsilon):
        made = setup.whitened(problem.public, problem.private.n, 1.0, "privunit", 0.0, epsilon)
        plan = LocalPlan(problem.public, problem.private.n, made.mu, made, WhitenedParameters(randomizer="privunit"))
        with st.spinner("One collection from every device", show_time=True):
            outcome = plan.run(problem.private, SeededNoise(1), 1)
        st.session_state["local-collected"] = ((*mark, epsilon), outcome)
    outcome = st.session_state["local-collected"][1]
    chosen = st.segmented_control(
        "Loss",
        [id for id, family in FAMILIES.items() if family.binary],
        default="logistic",
        format_func=lambda id: FAMILIES[id].title,
        key="local-loss",
        required=True,
        help="Fitted to the same reports: post-processing, so nothing more is spent.",
    )
    st.markdown(f"{badge(kind)} Simulated collection (seed 1): the same reports answer every loss.")
    values = outcome.fit(chosen or "logistic")[0]
    st.dataframe(
        {"coefficient": list(problem.public.names), "estimate": values.tolist()},
        hide_index=True,
        alt="Coefficients from one simulated local collection",
    )


def running(problem: Problem, key: tuple[str, ...], axis: str, epsilon: float) -> Sides:
    """The simulation for these tables and this axis: the one that is under way, or a new one."""
    held: tuple[tuple[str, ...], Sides] | None = st.session_state.get("local-run")
    if held is None or held[0] != key:
        n = problem.private.n
        sizes = [] if axis == "epsilon" else [n // 16, n // 8, n // 4, n // 2, n]
        epsilons = EPSILONS if axis == "epsilon" else [epsilon]
        scaled = rescaled(problem, "z")
        held = (key, Sides(scaled, epsilons, TRIALS, 1, sizes, papers_local(scaled.public)))
        st.session_state["local-run"] = held
    return held[1]


def live(run: Sides, key: tuple[str, ...], kind: Label, axis: str) -> bool:
    """Draw progress, Stop and the picture so far; return whether it goes on. The end is kept where it harms nobody."""
    if run.live:
        st.progress(run.share, f"Simulating every device: {run.share:.0%} done")
        st.button("Stop", key="local-stop", icon=":material/stop:", help="Keeps what is done.", on_click=run.stop)
    end = time.monotonic() + A_MOMENT
    while time.monotonic() < end and run.step():
        pass
    found = run.summaries().reveal(Curator("shown on the Local page, harmless or curator"))
    picture(found, kind, axis)
    if not run.live and kind is Label.LAB and not run.stopped:
        remember(key, lambda: Quick(found, None, TRIALS))
    return run.live


def picture(found: Sequence[Summary], kind: Label, axis: str) -> None:
    """Central and local along the axis."""
    if not found:
        return
    chart(
        figures.comparison(found, axis),
        "local-comparison",
        f"Distance to the fit without privacy against {axis}, central and local",
        figures.comparison_table(found),
        kind,
        comparison_words(found, axis),
    )
    st.caption(
        f"Up to {TRIALS} simulated releases of the standardized table for each point. Central: (epsilon, delta) at the "
        "reporting delta; ldp-whitened: purely epsilon for each report; paper C's Algorithms 1 to 4, as printed and "
        "repaired: (epsilon, delta) for each report. Algorithms 3 and 4 need a table without an intercept."
    )


def beside(problem: Problem, mark: tuple[str, ...], kind: Label) -> None:
    """Central and local at equal epsilon."""
    st.header("Central and local on this table")
    chosen = st.segmented_control(
        "Error against",
        ["epsilon", "private rows"],
        default="epsilon",
        key="local-axis",
        required=True,
        help=f"What changes from left to right. {help_for('epsilon')}",
    )
    axis, epsilon = chosen or "epsilon", float(st.session_state["local-epsilon"])
    key = ("local", *mark, axis, repr(epsilon if axis != "epsilon" else 0.0))
    kept = remembered(key) if kind is Label.LAB else None
    if kept is not None:
        picture(kept.summaries, kind, axis)
        return
    run = running(problem, key, axis, epsilon)
    if run.live:
        redrawn(lambda: live(run, key, kind, axis), A_MOMENT)
    else:
        picture(run.summaries().reveal(Curator("shown on the Local page, harmless or curator")), kind, axis)


def example() -> tuple[Problem, tuple[str, ...]]:
    """The synthetic demo with labels, for tables whose target is not a label."""
    if "local-example" not in st.session_state:
        tables = named_tables("demo-labels")
        made = prepare(tables.private, tables.public, tables.first, lab_reasons=tables.lab_reasons)
        st.session_state["local-example"] = (made, (tables.key,))
    found: tuple[Problem, tuple[str, ...]] = st.session_state["local-example"]
    return found


def page(current: Problem) -> None:
    """The whole page: on the open tables where they have labels, else on the demo that has."""
    tables = session().tables
    mark: tuple[str, ...] = (tables.key if tables else "", repr(current.choices))
    study = bool(tables and tables.may_be_studied)
    if not current.public.family.binary:
        st.info(
            f"The open tables have no label to fit ({plain(current.public.target)} is a number): what follows is on "
            "the synthetic demo with labels. A table of your own with a label, opened on Data, takes its place.",
            icon=":material/info:",
        )
        (current, mark), study = example(), True
    collect(current)
    if may_simulate(study):
        kind = Label.LAB if study else Label.PRIVATE
        fit_another(current, mark, kind)
        beside(current, mark, kind)


st.title("Local model")
words()
opened = problem_or_sentence()
if opened is not None:
    try:
        page(opened)
    except InputError as error:
        show_error(error)
