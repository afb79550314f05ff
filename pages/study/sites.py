"""Sites: what several institutions would find together, by their number and by who may collude; spends nothing."""

import shlex
from collections.abc import Callable

import streamlit as st
from pandas import DataFrame

from pages.common.controls import control
from pages.common.widgets import (
    ask_coefficient,
    chart,
    errors_shown,
    figure_first,
    frame,
    number,
    on_tables,
)
from pmtcore.accounting.budgets import Budget
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import SiteState
from pmtcore.base.numbers import figure, plural
from pmtcore.releases.planning import plannable
from pmtcore.releases.release import Request
from pmtcore.report.figures import sites as figures
from pmtcore.report.names import option
from pmtcore.sites.prospects import prospects
from pmtcore.sites.status import status
from pmtcore.sites.study import METHODS, MOST_SITES, Study, create_from, fields_of, knowledge, sites_of
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import Problem

_MUS = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]
_COMMAND = """python -m pmtcore study create study.json --public public.csv --target {target} \\
    --method {method} --mu {mu} --site north={rows} --site south={rows} --site west={rows} --colluders 1
python -m pmtcore study simulate --public public.csv --private a.csv b.csv c.csv --target {target} \\
    --method {method} --mu {mu}"""


def ask(problem: Problem) -> tuple[str, str, float, int]:
    """Return method, coefficient, budget and the rows of each site."""
    first, second, third, fourth = st.columns([4, 2, 3, 2])
    known = plannable(problem.public, METHODS)
    ids = [id for id in METHODS if id in known]
    id = first.selectbox(**control("sites-method"), options=ids, format_func=option)
    coefficient = ask_coefficient(second, problem, "sites-coefficient")
    mu = third.select_slider(**control("sites-mu", value=1.0), options=_MUS, format_func=figure)
    rows = number(fourth, "sites-rows", 10, 10**9, start=max(problem.private.n // 3, 10))
    return id, coefficient, float(mu), int(rows)


def creation(id: str, mu: float, rows: int) -> None:
    """Ask for the rest of a study, and give its file."""
    st.caption(f"Method and budget are those above: {option(id)}, mu = {figure(mu)}.")
    public = st.file_uploader(**control("sites-public"))
    left, right = st.columns(2)
    title = left.text_input(**control("sites-title"))
    target = right.text_input(**control("sites-target"))
    text = st.text_area(**control("sites-list"), value=f"north={rows}\nsouth={rows}\nwest={rows}")
    left, right, last = st.columns(3, vertical_alignment="bottom")
    least = number(left, "sites-least", 2, MOST_SITES, start=2)
    colluders = number(right, "sites-colluders", 0, MOST_SITES - 1, start=1)
    effects = last.toggle(**control("sites-effects"))
    if public is None or not target:
        st.caption("Name the target and choose the public table; the study file appears here.")
        return
    study = create_from(
        public.name,
        public.getvalue(),
        title,
        Choices(target=target),
        request=Request(id, Budget(mu)),
        sites=sites_of(text),
        least=int(least),
        colluders=int(colluders),
        site_effects=effects,
    )
    for each in knowledge(study, len(study.sites)):
        st.markdown(plain(each.words))
    st.download_button(**control("sites-study"), data=study.as_json())
    st.caption(
        "Send it with the public table to each site. To see that all have the same study, let each read to you by "
        f"telephone the mark of its file: {study.plan_digest}"
    )


def agreed() -> None:
    """Show how far a study is, from its file, what sites sent back, and the messages."""
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
        st.download_button(
            "Study with all keys", progress.study.as_json(), "study.json", "application/json", on_click="ignore"
        )


def section(title: str, icon: str, draw: Callable[[], None]) -> None:
    """Draw a part of the page in a fold; what is wrong with its files is said there."""
    with st.expander(title, icon=f":material/{icon}:", key=f"section-{icon}"), errors_shown():
        draw()


def page(problem: Problem) -> None:
    """Draw the picture, what moves it, and the commands of a real study."""
    with figure_first("sites"):
        id, coefficient, mu, rows = ask(problem)
        with st.spinner("Predicting", show_time=True):
            predictions = prospects(problem.public, rows, id, mu, coefficient=problem.public.names.index(coefficient))
        alt = f"Predicted half-width of {coefficient} against the number of sites"
        words = (
            "Several institutions with rows of different people fit one regression. Each sends masked sums of its rows "
            "with its share of the noise; only the noisy total is opened, so none learns another's sums. More sites "
            "make bands narrower; the more of them may pool what they know, the more noise each adds."
        )
        note = "Predictions assume that all sites' rows are like the public ones."
        drawn, table = figures.widths(predictions, coefficient), figures.table(predictions)
        chart(drawn, "sites", alt, table, label=Label.PUBLIC, words=words, folded_note=note)
    section("Create a study", "note_add", lambda: creation(id, mu, rows))
    section("Who has agreed", "how_to_reg", agreed)
    st.markdown(
        "A study runs from the command line, at each site beside its own table and ledger; the coordinator needs no "
        "private file. The guide *Several institutions, one regression* goes through it step by step."
    )
    target = shlex.quote(problem.public.target)
    st.code(_COMMAND.format(target=target, method=id, mu=figure(mu), rows=rows), language=None, wrap_lines=True)


st.title("Sites")
on_tables(page)
