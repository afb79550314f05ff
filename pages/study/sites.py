"""Sites: what several institutions would find together, by their number and by who may collude; spends nothing."""

from __future__ import annotations

import shlex
from collections.abc import Callable

import streamlit as st
from pandas import DataFrame

from pages.common.widgets import ask_coefficient, at_first, chart, figure_first, frame, number, on_tables, show_error
from pmtcore.accounting.budgets import Budget
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import figure, plural
from pmtcore.releases.planning import plannable
from pmtcore.releases.release import Request
from pmtcore.report.figures import sites as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.names import option
from pmtcore.sites.prospects import prospects
from pmtcore.sites.status import State, status
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
    first, second, third, fourth = st.columns(4)
    known = plannable(problem.public, METHODS)
    ids = [id for id in METHODS if id in known]
    id = first.selectbox("Method", ids, format_func=option, key="sites-method", help="Its passes are sums of integers.")
    coefficient = ask_coefficient(second, problem, "sites-coefficient")
    mu = third.select_slider(
        "Total budget mu",
        _MUS,
        key="sites-mu",
        format_func=figure,
        help=help_for("mu"),
        **at_first("sites-mu", value=1.0),
    )
    rows = number(
        fourth,
        "Rows of each site",
        10,
        10**9,
        start=max(problem.private.n // 3, 10),
        key="sites-rows",
        words="Public, like n.",
    )
    return id, coefficient, float(mu), int(rows)


def creation(id: str, mu: float) -> None:
    """Ask for the rest of a study, and give its file."""
    public = st.file_uploader(
        "Public table of the study", type=["csv", "tsv", "txt", "parquet"], key="sites-public", max_upload_size=50,
        help="It lies beside the study at every site; its columns are the study's.",
    )  # fmt: skip
    left, right = st.columns(2)
    title = left.text_input("Title", key="sites-title", help="What the study is for; every site sees it.")
    target = right.text_input("Target column", key="sites-target", help="A column of every site's table.")
    text = st.text_area(
        "Sites and their rows", "north=1000\nsouth=1000\nwest=1000", key="sites-list", help="One in a line: NAME=ROWS."
    )
    left, right, last = st.columns(3, vertical_alignment="bottom")
    least = number(
        left,
        "Sites that must answer",
        2,
        MOST_SITES,
        start=2,
        key="sites-least",
        words="With fewer answers the study ends.",
    )
    colluders = number(
        right,
        "Sites that may collude",
        0,
        MOST_SITES - 1,
        start=0,
        key="sites-colluders",
        words="Their noise is not counted on.",
    )
    effects = last.toggle(
        "A level for each site", key="sites-effects", help="With joint-moment; tests whether all agree."
    )
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
    st.download_button(
        "Study file", study.as_json(), "study.json", "application/json", key="sites-study", on_click="ignore"
    )
    st.caption(f"Send it with the public table to each site, and compare the plan by telephone: {study.plan_digest}.")


def agreed() -> None:
    """Show how far a study is, from its file, what sites sent back, and the messages."""
    file = st.file_uploader(
        "Study file",
        type=["json"],
        key="sites-file",
        max_upload_size=5,
        help="What 'study create' wrote, or the form above.",
    )
    left, right = st.columns(2)
    joined = left.file_uploader(
        "Files of sites that joined",
        type=["json"],
        accept_multiple_files=True,
        key="sites-joined",
        max_upload_size=5,
        help="What 'study join' wrote at each site: public keys, no rows.",
    )
    messages = right.file_uploader(
        "Messages of the study's folder",
        type=["json"],
        accept_multiple_files=True,
        key="sites-messages",
        max_upload_size=64,
        help="As they lie there: signed, the shares sealed.",
    )
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
    if joined and State.INVITED not in progress.states:
        st.download_button(
            "Study with all keys", progress.study.as_json(), "study.json", "application/json", on_click="ignore"
        )


def section(title: str, icon: str, draw: Callable[[], None]) -> None:
    """Draw a part of the page in a fold; what is wrong with its files is said there."""
    with st.expander(title, icon=f":material/{icon}:"):
        try:
            draw()
        except InputError as error:
            show_error(error)


def page(problem: Problem) -> None:
    """Draw the picture, what moves it, and the commands of a real study."""
    with figure_first("sites"):
        id, coefficient, mu, rows = ask(problem)
        with st.spinner("Predicting", show_time=True):
            predictions = prospects(problem.public, rows, id, mu, coefficient=problem.public.names.index(coefficient))
        chart(
            figures.widths(predictions, coefficient),
            "sites",
            f"Predicted half-width of {coefficient} against the number of sites",
            figures.table(predictions),
            label=Label.PUBLIC,
            words="Nobody sees another's rows, and only the noisy total of all is opened.",
            folded_note="Predictions assume that all sites' rows are like the public ones.",
        )
    section("Create a study", "note_add", lambda: creation(id, mu))
    section("Who has agreed", "how_to_reg", agreed)
    st.markdown(
        "A study runs from the command line, at each site beside its own table and ledger; the coordinator needs no "
        "private file. The guide *Several institutions, one regression* goes through it step by step."
    )
    target = shlex.quote(problem.public.target)
    st.code(_COMMAND.format(target=target, method=id, mu=figure(mu), rows=rows), language=None, wrap_lines=True)


st.title("Sites")
on_tables(page)
