"""Local model: every row is randomized by its owner; compared with a trusted curator."""

import json
import math

import streamlit as st

from pages.elements.controls import control, segments
from pages.elements.live import progress, redrawn, work
from pages.elements.session import named_tables, session
from pages.elements.widgets import badge, below_all, chart, curator_may_show, figure_first, on_tables
from pmtcore.auditing.central_vs_local import CentralVsLocal, papers_local
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import join_names
from pmtcore.base.private_rows import Curator
from pmtcore.glm.families import FAMILIES
from pmtcore.local import setup
from pmtcore.local.protocol import Configuration
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.local.collected import LocalPlan, WhitenedParameters
from pmtcore.methods.registry import method
from pmtcore.report.figures import compare as figures
from pmtcore.report.figures.style import QUIET
from pmtcore.report.first_look import QuickComparison, cached_first_look, remember
from pmtcore.report.names import title
from pmtcore.report.words import comparison_words
from pmtcore.tables.problem import Problem, prepare

EPSILONS = [1.0, 2.0, 4.0, 8.0, 16.0]
TRIALS = 10
REDRAW_SECONDS = 1.5


def ask_epsilon() -> float:
    """Draw the epsilon of each report; return it."""
    chosen = st.select_slider(**control("local-epsilon"), options=[0.5, 1.0, 2.0, 4.0, 8.0, 16.0], value=4.0)
    return float(chosen)


def configuration_for(problem: Problem, epsilon: float) -> Configuration:
    """Return the configuration of a collection of whitened scores at this epsilon."""
    return setup.whitened_scheme(problem.public, problem.private.n, 1.0, "privunit", bound=0.0, epsilon=epsilon)


def collect(problem: Problem, epsilon: float) -> None:
    """Draw the configuration of a collection, and the commands."""
    st.header("A collection from devices")
    configuration = configuration_for(problem, epsilon)
    st.markdown(
        f"{badge(Label.PUBLIC)} Each device sends **{configuration.dimension}** numbers, purely "
        f"**{epsilon:g}**-private in its own row. A report changes the odds between any two rows that the device "
        f"may have by a factor of at most {math.exp(epsilon):,.0f}."
    )
    fields = {**configuration.as_dict(), "family": problem.public.family.id, "positive": problem.choices.positive}
    st.download_button(**control("local-configuration"), data=json.dumps(fields))
    with st.expander("On the command line", icon=":material/terminal:"):
        st.code(
            "python -m pmtcore local randomize --config local-configuration.json --rows own.csv --out reports.jsonl\n"
            "python -m pmtcore local aggregate --config local-configuration.json --reports reports.jsonl "
            "--public public.csv",
            language="bash",
            wrap_lines=True,
        )


def fit_another(problem: Problem, key: tuple[str, ...], kind: Label) -> None:
    """Draw fits of several losses from one collection (remark 16), simulated with a known seed."""
    st.header("Fit another model, no further cost")
    epsilon = float(st.session_state["local-epsilon"])
    if st.session_state.get("local-collected", ("",))[0] != (*key, epsilon):
        configuration, parameters = configuration_for(problem, epsilon), WhitenedParameters(randomizer="privunit")
        plan = LocalPlan(problem.public, problem.private.n, configuration.mu, configuration, parameters)
        with st.spinner("One collection from every device", show_time=True):
            outcome = plan.run(problem.private, SeededNoise(1), 1)
        st.session_state["local-collected"] = ((*key, epsilon), outcome)
    outcome = st.session_state["local-collected"][1]
    losses = {id: family.title for id, family in FAMILIES.items() if family.binary}
    chosen = segments("local-loss", losses, "logistic")
    st.markdown(f"{badge(kind)} Simulated collection (seed 1): the same reports answer every loss.")
    values = outcome.fit(chosen)[0]
    st.dataframe(
        {"coefficient": list(problem.public.names), "estimate": values.tolist()},
        hide_index=True,
        alt="Coefficients from one simulated local collection",
    )


def simulation_for(problem: Problem, key: tuple[str, ...], axis: str, epsilon: float) -> CentralVsLocal:
    """Return the simulation for these tables and this axis: the running one, or a new one."""
    last: tuple[tuple[str, ...], CentralVsLocal] | None = st.session_state.get("local-run")
    if last is None or last[0] != key:
        n = problem.private.n
        sizes = [] if axis == "epsilon" else [n // 16, n // 8, n // 4, n // 2, n]
        epsilons = EPSILONS if axis == "epsilon" else [epsilon]
        others = papers_local(problem.public)
        last = (key, CentralVsLocal(problem, epsilons, TRIALS, 1, sizes=sizes, others=others, scale="z"))
        st.session_state["local-run"] = last
    return last[1]


def current_results(run: CentralVsLocal) -> QuickComparison:
    """Return the results of a simulation so far."""
    return QuickComparison(
        run.summaries().reveal(Curator("shown on the Local page, harmless or curator")), TRIALS, run.is_typical
    )


def live(run: CentralVsLocal, key: tuple[str, ...], kind: Label, axis: str) -> bool:
    """Draw progress, Stop and the picture so far; return whether work is left. Results on tables for study stay."""
    if run.live:
        progress(run.share, f"Simulating every device: {run.share:.0%} done", "local-stop", run.stop)
    picture(current_results(run), kind, axis, run)
    work(run.step, REDRAW_SECONDS)  # after the picture, so that it appears first
    if not run.live and kind is Label.LAB and not run.stopped:
        remember(key, lambda: current_results(run))
    return run.live


def picture(shown: QuickComparison, kind: Label, axis: str, run: CentralVsLocal | None = None) -> None:
    """Draw central and local methods along the axis; axes and legend are those of the complete run."""
    methods, places = (run.methods, run.places) if run is not None else ((), ())
    # The sentence is about the epsilon of the slider above.
    at = float(st.session_state["local-epsilon"]) if axis == "epsilon" else None
    alt = f"Distance to the fit without privacy against {axis}, central and local"
    # During a run the sentence would change.
    compared = "" if run and run.live else comparison_words(shown.summaries, axis, at)
    words = f"{_trusted(shown)}{compared}" or "No simulated release yet."
    drawn = figures.comparison(shown.summaries, axis, methods=methods, axis_values=places, measure=shown.measure)
    for id in _with_curator(shown):
        drawn.update_traces({"name": f"{title(id)}: with a curator"}, {"legendgroup": id})
    if at is not None:
        drawn.add_vline(x=at, line={"color": QUIET, "dash": "dash"})
    table = figures.comparison_table(shown.summaries)
    # The sentence is below the picture, so that the axis is on the first screen of a projector.
    drawn.update_layout(height=370)
    chart(drawn, "local-comparison", alt, table, label=kind)
    st.markdown(f"{badge(kind)} {plain(words)}")
    st.caption(
        f"Up to {TRIALS} simulated releases of the standardized table for each point"
        f"{', in standard errors of the public fit' * shown.typical}. With a curator epsilon is at the reporting "
        "delta. A report of the whitened score keeps epsilon without a delta, one of paper C's Algorithms 1 to 4 (for "
        "a Gaussian or a bounded design, as printed and repaired) epsilon with a delta."
    )


def _with_curator(shown: QuickComparison) -> list[str]:
    """Return the ids of methods that have a curator."""
    ids = dict.fromkeys(one.method for one in shown.summaries)
    return [id for id in ids if method(id).role == "method" and not method(id).local]


def _trusted(shown: QuickComparison) -> str:
    """Return a sentence on which methods have a curator; empty where none has."""
    names = [title(id) for id in _with_curator(shown)]
    return f"With a curator: {join_names(names)}; the others trust nobody. " if names else ""


def draw_comparison(problem: Problem, mark: tuple[str, ...], kind: Label, axis: str) -> None:
    """Draw the comparison of central and local methods at equal epsilon."""
    epsilon = float(st.session_state["local-epsilon"])
    key = ("local", *mark, axis, repr(epsilon if axis != "epsilon" else 0.0))
    finished = cached_first_look(key) if kind is Label.LAB else None
    if finished is not None:
        picture(finished, kind, axis)
        return
    run = simulation_for(problem, key, axis, epsilon)
    if run.live:
        redrawn(lambda: live(run, key, kind, axis), REDRAW_SECONDS)
    else:
        picture(current_results(run), kind, axis, run)


def example() -> tuple[Problem, tuple[str, ...]]:
    """Return the problem of the synthetic demo with labels, and its key."""
    if "local-example" not in st.session_state:
        tables = named_tables("demo-labels")
        made = prepare(tables.private, tables.public, tables.first, lab_reasons=tables.lab_reasons)
        st.session_state["local-example"] = (made, (tables.key,))
    remembered_example: tuple[Problem, tuple[str, ...]] = st.session_state["local-example"]
    return remembered_example


def page(current: Problem) -> None:
    """Draw the whole page, on the open tables if their target is a label, else on the demo with labels."""
    tables = session().tables
    mark: tuple[str, ...] = (tables.key if tables else "", repr(current.choices))
    study = session().is_study
    shown_on = ""
    if not current.public.family.binary:
        target = current.public.target
        (current, mark), study = example(), True
        sizes = {"private_rows": current.private.n, "count": current.public.d}
        shown_on = PageWords.LABELS_ARE_SHOWN.sentence(column=target, **sizes)
    with figure_first("local"):
        left, right = st.columns([2, 1], gap="large")
        with left:
            epsilon = ask_epsilon()
        kind = Label.LAB if study else Label.PRIVATE
        simulated = curator_may_show(study, "A simulation on your own rows compares with their exact fit")
        if simulated:
            with below_all(right, "axis"):
                axis = segments("local-axis", ["epsilon", "private rows"], "epsilon")
            draw_comparison(current, mark, kind, axis)
    if shown_on:
        st.caption(plain(shown_on))
    collect(current, epsilon)
    if simulated:
        fit_another(current, mark, kind)


st.title("Local model")
st.markdown(
    "**A trusted curator** adds noise once, to the result: its effect falls as 1/n. **Where nobody is trusted**, "
    "each device randomizes its own row: the effect falls as 1/√n, so far more rows are needed."
)
on_tables(page)
