"""Releases from the Explore page: a joint moment, and a second release of one chosen model."""

from dataclasses import replace
from uuid import uuid4

import pandas as pd
import streamlit as st

from pages.elements.agreements import ask_for
from pages.elements.jobs import tell_later, tell_spent, without_result
from pages.elements.ledger_form import spend_form
from pages.elements.release_form import agreement_given
from pages.elements.session import current_problem, prepared, prospect, session
from pages.elements.widgets import badge, budget_input, errors_shown, frame, guarantee_line, parameter_form
from pmtcore.accounting.budgets import of_person
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import plural
from pmtcore.explore.confirm import combine_with_release, problem_of
from pmtcore.explore.moment import Moment, with_public_rows
from pmtcore.explore.regression import Regression
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.methods.registry import method
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.outcome import SpendFailure
from pmtcore.releases.record import Release
from pmtcore.releases.release import Preview, Request
from pmtcore.report.figures import explore as figures
from pmtcore.tables.problem import Problem

# Most columns that are named; of more, the number is stated.
_MOST_NAMES = 12


def linear(problem: Problem) -> Problem:
    """Return the problem as a linear one, whose moment can be released: a label is a column of 0 and 1."""
    tables = session().tables
    if problem.public.family is GAUSSIAN or tables is None:
        return problem
    choices = replace(problem.choices, family=GAUSSIAN.id, lam=None, positive=problem.positive, exposure="")
    return prepared(tables, choices)


def releasing(problem: Problem) -> Release | None:
    """Draw columns, derived columns, budget and predictions, and beside them the confirmation and the button."""
    label, problem, tables = problem.positive, linear(problem), session().tables
    table_key = "" if tables is None else tables.key
    target = problem.public.target if label is None else f"{problem.public.target} (1 where it is {label}, else 0)"
    names = list(figures.by_source([name for name in problem.public.names if name != INTERCEPT]))
    features = ", ".join(names) if len(names) <= _MOST_NAMES else plural(len(names), "column")
    left, right = st.columns([3, 2], gap="large")
    with left:
        # Beside the confirmation and not above it, whose button is on the first screen of a projector.
        unit_note = "" if label is None else " Coefficients are changes of a chance: not comparable with log-odds."
        st.caption(plain(f"What goes in: {target} and {features}, as chosen on the Data page.{unit_note}"))
        budget, delta = budget_input("explore", problem.private.n)
        with st.expander("Derived columns and parameters", icon=":material/tune:"):
            # Columns derived from one table mean nothing on another.
            values = parameter_form(method("joint-moment"), f"explore-{table_key}")
        request = Request("joint-moment", budget, values, delta)
        expected = prospect(problem, request)
        headline, *details = map(plain, figures.prospects_words(expected.facts, str(values["public_rows"])))
        st.markdown("\n".join([f"{badge(Label.PUBLIC)} **{headline}**\n", *(f"* {line}" for line in details)]))
    with right:
        return _spending(problem, request, expected, "explore")


def confirming(moment: Moment, fit: Regression, label: Label) -> None:
    """Draw the second release of a model with ``joint-pmt`` on a further budget, and both releases combined."""
    state, second_release = session(), _second(moment, fit)
    if second_release is not None:
        rows = combine_with_release(fit, second_release.as_dict())
        st.markdown(f"{badge(label)} {plain(figures.confirmed_words(rows))}")
        frame(pd.DataFrame(rows.as_rows()), "The model confirmed: both releases together")
        return
    st.markdown(PageWords.CONFIRM_ONCE_MORE.sentence())
    if state.tables is None:
        st.caption("It needs the private table: open it on the Data page.")
        return
    with errors_shown():
        problem = problem_of(linear(current_problem()), moment.record, fit)
        budget, delta = budget_input("explore-confirm", problem.private.n)
        request = Request("joint-pmt", budget, {}, delta)
        expected = prospect(problem, request)
        spent, mu = of_person(moment.record.guarantee)["mu"], expected.guarantee.person.mu
        st.markdown(f"{badge(Label.PUBLIC)} **{plain(figures.confirming_words(fit, expected.predicted, spent, mu))}**")
        if _spending(problem, request, expected, "explore-confirm") is not None:
            st.rerun()


def release_of_moment(moment: Moment) -> str | None:
    """Return the id of this session's release of a moment; ``None`` for a moment from a file."""
    digest = moment.record.as_dict()["digest"]
    moments = ((id, one.released.get("joint_moment", {})) for id, one in session().releases.items())
    return next((id for id, released in moments if released.get("digest") == digest), None)


def columns_unlike_public(moment: Moment) -> list[str] | None:
    """Return the columns that differ from the public rows by this session's releases; ``None`` without an alarm."""
    state, own_id = session(), release_of_moment(moment)
    ids = [] if own_id is None else [id for id in state.releases if state.sources[id] == state.sources[own_id]]
    alarms = [state.releases[id] for id in ids if state.releases[id].disagrees]
    columns = dict.fromkeys(name for alarm in alarms for name in alarm.released.get("columns_that_differ", ()))
    return list(columns) if alarms else None


def _second(moment: Moment, fit: Regression) -> Release | None:
    """Return this session's last release of the same model on the same rows; ``None`` where there is none.

    The rows are those of the moment's release if this session made it, else those of the open table.
    """
    state, own_id = session(), release_of_moment(moment)
    open_table = None if state.tables is None else state.tables.private.sha256
    source = open_table if own_id is None else state.sources[own_id]
    for id, released in reversed(state.releases.items()):
        same_model = released.target == fit.response and set(released.names) == set(fit.names)
        same_rows = released.n == moment.record.n and state.sources[id] == source
        if released.method == "joint-pmt" and same_model and same_rows:
            return released
    return None


def completed(moment: Moment) -> Moment | None:
    """Return a moment with public rows; ``None`` unless its tables are open and this session released it."""
    state, id = session(), release_of_moment(moment)
    if id is None or state.tables is None or state.sources[id] != state.tables.private.sha256:
        return None
    request = state.requests[id]
    with errors_shown():
        return with_public_rows(moment, linear(current_problem()).public, request.budget, request.parameters)
    return None


def _spending(problem: Problem, request: Request, expected: Preview, prefix: str) -> Release | None:
    """Draw guarantee, ledger form, confirmation and button; return the release once it is made."""
    st.caption(guarantee_line(expected.guarantee))
    spend_plan = spend_form(expected.guarantee.person.mu)
    if spend_plan is None:
        tell_spent()
        return None
    request_key = f"{prefix}-request"
    id = st.session_state.setdefault(request_key, uuid4().hex)
    if spend_plan.second:
        if request.method == "joint-moment":
            ask_for(spend_plan, problem, request)
        else:
            st.info("A second person agrees to each release of this data set: ask on the Release page.")
        return None
    if not agreement_given(problem, expected, id, spend_plan):
        return None
    state = session()
    if id not in state.releases:
        with st.spinner("Releasing", show_time=True):
            try:
                released = spend_plan.release(problem, request, SecureNoise(), id)
            except SpendFailure as failure:
                if not without_result(failure):
                    raise
                del st.session_state[request_key]
                tell_later(failure)
                st.rerun()
            state.keep(request, released, id, dataset=spend_plan.dataset.strip())
    del st.session_state[request_key]  # the next release gets another id
    return state.releases[id]
