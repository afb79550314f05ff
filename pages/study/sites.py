"""Sites: what several institutions would find together, by their number and by who may collude; spends nothing."""

from __future__ import annotations

import shlex

import streamlit as st

from pages.common.widgets import at_first, chart, figure_first, problem_or_sentence, show_error
from pmtcore.base.checks import InputError
from pmtcore.base.numbers import figure
from pmtcore.base.records import Label
from pmtcore.releases.planning import plannable
from pmtcore.report.figures import sites as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.names import option
from pmtcore.sites.prospects import prospects
from pmtcore.sites.study import METHODS
from pmtcore.tables.problem import Problem

_MUS = [0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0]
_COMMAND = """second-moment study create study.json --public public.csv --target {target} --method {method} --mu {mu} \\
    --site north={rows} --site south={rows} --site west={rows} --colluders 1
second-moment study simulate --public public.csv --private a.csv b.csv c.csv --target {target} \
    --method {method} --mu {mu}"""


def ask(problem: Problem) -> tuple[str, str, float, int]:
    """Return method, coefficient, budget and the rows of each site."""
    first, second, third, fourth = st.columns(4)
    known = plannable(problem.public)
    ids = [id for id in METHODS if id in known]
    id = first.selectbox("Method", ids, format_func=option, key="sites-method", help="Its passes are sums of integers.")
    names = [name for name in problem.public.names if name != "(intercept)"] or list(problem.public.names)
    coefficient = second.selectbox("Coefficient", names, key="sites-coefficient", help="Whose band is drawn.")
    mu = third.select_slider(
        "Total budget mu",
        _MUS,
        key="sites-mu",
        format_func=figure,
        help=help_for("mu"),
        **at_first("sites-mu", value=1.0),
    )
    rows = fourth.number_input(
        "Rows of each site", 10, 10**9, max(problem.private.n // 3, 10), key="sites-rows", help="Public, like n."
    )
    return id, coefficient, float(mu), int(rows)


def page(problem: Problem) -> None:
    """Draw the picture, what moves it, and the commands of a real study."""
    top = figure_first("sites")
    id, coefficient, mu, rows = ask(problem)
    with st.spinner("Predicting", show_time=True):
        found = prospects(problem.public, rows, id, mu, problem.public.names.index(coefficient))
    with top:
        chart(
            figures.widths(found, coefficient),
            "sites",
            f"Predicted half-width of {coefficient} against the number of sites",
            figures.table(found),
            Label.PUBLIC,
            words="Nobody sees another's rows, and only the noisy total of all is opened.",
            folded_note="Predictions assume that all sites' rows are like the public ones.",
        )
    st.markdown(
        "A study runs from the command line, at each site beside its own table and ledger; the coordinator needs no "
        "private file. The guide *Several institutions, one regression* goes through it step by step."
    )
    target = shlex.quote(problem.public.target)
    st.code(_COMMAND.format(target=target, method=id, mu=figure(mu), rows=rows), language=None, wrap_lines=True)


st.title("Sites")
current = problem_or_sentence()
if current is not None:
    try:
        page(current)
    except InputError as error:
        show_error(error)
