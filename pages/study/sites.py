"""Sites: predictions for a study of several institutions, its files and its commands; spends nothing."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st
from pandas import DataFrame

from pages.elements.controls import control, pick
from pages.elements.widgets import ask_coefficient, chart, errors_shown, figure_first, frame, number, on_tables
from pmtcore.accounting.budgets import Budget
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords, SiteState
from pmtcore.base.numbers import plural, rounded, unbroken
from pmtcore.releases.planning import methods_with_predictions
from pmtcore.releases.release import Request
from pmtcore.report.figures import sites as figures
from pmtcore.report.names import option
from pmtcore.sites.prospects import prospects
from pmtcore.sites.status import status
from pmtcore.sites.study import (
    METHODS,
    MOST_SITES,
    Site,
    Study,
    StudySettings,
    create_from,
    fields_of,
    knowledge,
    sites_of,
)
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem
from pmtcore.tables.table import read_table

_MUS = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]
# Commands of coordinator and sites.
_STEPS = Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").strip()
_NAMES = ["north", "south", "west"]  # of the sites of the example
_FEWEST_ROWS = 10  # of each of them


def ask(problem: Problem) -> tuple[str, str, float, list[Site]]:
    """Draw the controls; return method, coefficient, budget, and the sites with their rows."""
    first, second, third, fourth = st.container(key="pairs-sites").columns([4, 2, 2, 4])
    known = methods_with_predictions(problem.public, METHODS)
    ids = [id for id in METHODS if id in known]
    id = first.selectbox(**control("sites-method"), options=ids, format_func=option)
    coefficient = ask_coefficient(second, problem, "sites-coefficient")
    mu = third.select_slider(**control("sites-mu", value=1.0), options=_MUS, format_func=rounded)
    rows = max(problem.private.n // len(_NAMES), _FEWEST_ROWS)
    text = fourth.text_input(**control("sites-list"), value=", ".join(f"{name}={rows}" for name in _NAMES))
    return id, coefficient, float(mu), sites_of(text)


def creation(id: str, mu: float, sites: Sequence[Site]) -> Study | None:
    """Draw the other settings of a study and the download of its file; return the study."""
    st.caption(unbroken(f"Method, budget and sites are those above: {option(id)}, mu = {rounded(mu)}."))
    public = st.file_uploader(**control("sites-public"))
    if public is None:
        st.caption(PageWords.STUDY_NEEDS_PUBLIC_FILE.sentence())
        return None
    left, right = st.columns(2)
    title = left.text_input(**control("sites-title"))
    target = pick(right, "sites-target", read_table(public.getvalue(), public.name, "public").columns)
    left, right, last = st.columns(3, vertical_alignment="bottom")
    least = number(left, "sites-least", 2, MOST_SITES, start=2)
    colluders = number(right, "sites-colluders", 0, MOST_SITES - 1, start=1)
    effects = last.toggle(**control("sites-effects"))
    # Created once for the same settings: each study has a random mark, which the file sent to sites must keep.
    settings = (public.file_id, title, target, tuple(sites), least, colluders, effects, id, mu)
    if st.session_state.get("sites-made", ((),))[0] != settings:
        more: StudySettings = {"least": int(least), "colluders": int(colluders), "site_effects": effects}
        request, data = Request(id, Budget(mu)), public.getvalue()
        made = create_from(public.name, data, title, Choices(target=target), request=request, sites=sites, **more)
        st.session_state["sites-made"] = (settings, made)
    study: Study = st.session_state["sites-made"][1]
    for each in knowledge(study, len(study.sites)):
        st.markdown(plain(each.words))
    if study.colluders and study.least < len(study.sites):
        st.caption("Where fewer sites answer, each adds more noise: colluders then learn no more.")
    st.download_button(**control("sites-study"), data=study.as_json())
    st.caption(
        "Send it with the public table to each site. `study join` prints the mark of what it says (not of its bytes) "
        f"there; all sites have the same study if it is this one: {study.plan_digest}"
    )
    return study


def agreed() -> None:
    """Draw the progress of a study from its file, the replies of sites, and the messages."""
    file = st.file_uploader(**control("sites-file"))
    left, right = st.columns(2)
    joined = left.file_uploader(**control("sites-joined"))
    messages = right.file_uploader(**control("sites-messages"))
    if file is None:
        st.caption("Nothing private is in these files; each site's keys and ledger stay with it.")
        return
    study = Study.from_json(file.getvalue())
    ordered = sorted(messages, key=lambda message: message.name)
    progress = status(
        study,
        [fields_of(each.getvalue()) for each in joined],
        [fields_of(each.getvalue()) for each in ordered],
    )
    frame(DataFrame(progress.rows()), "Sites of the study, their rows and how far they are")
    if progress.passes:
        st.markdown(
            f"Opened: {plural(len(progress.passes), 'pass', 'passes')}, the last one of {progress.passes[-1]} sites."
        )
    if joined and SiteState.INVITED not in progress.states:
        st.download_button(**control("sites-all-keys"), data=progress.study.as_json())


def steps(problem: Problem, id: str, mu: float, sites: Sequence[Site], *, study: Study | None) -> None:
    """Draw the commands of coordinator and sites, for the study that was created or for the sites above."""
    sites = study.sites if study else sites
    st.header("Step by step")
    st.markdown(PageWords.STUDY_RUNS.sentence())
    words = _STEPS.format(
        program="python -m pmtcore",
        target=shlex.quote(study.choices.target if study else problem.public.target),
        method=id,
        mu=rounded(mu),
        name=sites[0].name,
        sites=" ".join(f"--site {site.name}={site.rows}" for site in sites),
        joined=" ".join(f"--joined {site.name}.joined.json" for site in sites),
        least=study.least if study else 2,
        colluders=study.colluders if study else 1,
    )
    st.code(words, language="bash", wrap_lines=True)


def section(title: str, icon: str, draw: Callable[[], Study | None]) -> Study | None:
    """Draw a folded part of the page with its errors; return what it returns."""
    with st.expander(title, icon=f":material/{icon}:", key=f"section-{icon}"), errors_shown():
        return draw()
    return None


def page(problem: Problem) -> None:
    """Draw the predictions with their controls, and the parts of a study."""
    with figure_first("sites"):
        id, coefficient, mu, sites = ask(problem)
        rows, place = [site.rows for site in sites], problem.public.names.index(coefficient)
        with st.spinner("Predicting", show_time=True):
            predictions = prospects(problem.public, rows, id, mu, coefficient=place)
        alt = f"Predicted half-width of {coefficient} against the number of sites"
        predicted = figures.words(predictions, coefficient, [site.name for site in sites])
        words = f"{PageWords.MASKED_SUMS.sentence()} {predicted}"
        note = "Predictions assume that all sites' rows are like the public ones."
        drawn, table = figures.widths(predictions, coefficient), figures.table(predictions)
        chart(drawn, "sites", alt, table, label=Label.PUBLIC, words=words, folded_note=note)
    study = section("Create a study", "note_add", lambda: creation(id, mu, sites))
    section("Who has agreed", "how_to_reg", agreed)
    steps(problem, id, mu, sites, study=study)


st.title("Sites")
on_tables(page)
