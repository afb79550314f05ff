"""Release: choose, look at the cost, confirm, release once, download."""

from __future__ import annotations

import streamlit as st

from pages.common import jobs, released, workflow_state
from pages.common import release_form as parts
from pages.common.agreements import ask_for, waiting
from pages.common.ledger_form import SURE, spend_form
from pages.common.persons import declared
from pages.common.session import prospect, session
from pages.common.widgets import budget_input, parameter_form, problem_or_sentence, show_error
from pmtcore.base.checks import InputError
from pmtcore.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise
from pmtcore.methods.registry import method
from pmtcore.releases.release import Preview, Request
from pmtcore.report.glossary import help_for
from pmtcore.tables.problem import Problem


def ask(problem: Problem) -> tuple[Request, Preview] | None:
    """What is to be released, with its cost beside it; a sentence and ``None`` where it cannot be."""
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Method and budget")
        try:
            chosen = parts.method_choice(problem.public)
            budget, delta = budget_input("release", problem.private.n)
            with st.expander("Parameters", icon=":material/tune:"):
                values = parameter_form(method(chosen), "release")
            request = Request(chosen, budget, values, delta, declared(problem))
            with st.spinner("Predicting", show_time=True):
                found = prospect(problem, request)
        except InputError as error:
            show_error(error)
            return None
        parts.cost(found)
    with right:
        parts.meaning(found)
    return request, found


def source() -> NoiseSource:
    """Where the noise comes from: the system's entropy, unless the lab asks for a seed."""
    with st.expander("Lab: repeatable noise", icon=":material/science:"):
        seeded = st.toggle(
            "Use a seed",
            key="release-seeded",
            persist_state="session",
            help="The result can be repeated, so it is a lab figure.",
        )
        seed = st.number_input(
            "Seed", 0, 2**31, 1, key="release-seed", persist_state="session", disabled=not seeded, help=help_for("seed")
        )
    if seeded:
        st.warning("With a seed the result is a lab figure and may not leave.", icon=":material/science:")
    return SeededNoise(int(seed)) if seeded else SecureNoise()


def spend(problem: Problem, request: Request, expected: Preview) -> None:
    """The confirmation and the button. One request id releases once, however often it is pressed."""
    state = session()
    id = state.next_request
    st.header("Spend it")
    noise = source()
    where = spend_form(expected.guarantee.person.mu)
    if where is None:
        return
    # The key holds what is confirmed: another amount, method or table is another question, not yet answered.
    if where.second:
        ask_for(where, problem, request)
        return
    sure = st.checkbox(parts.confirmation(expected), key=parts.confirmation_key(expected), help=SURE)
    if not st.button("Release", type="primary", disabled=not sure, key=f"go-{id}", icon=":material/verified_user:"):
        return
    try:
        if id not in state.releases and state.job is None:
            run = where.ready(problem, request, noise, id)
            of = None if state.tables is None else state.tables.private.sha256
            state.job = jobs.Job(problem, request, run, lambda found: state.keep(request, found, id, of))
            with st.spinner("Releasing", show_time=True):
                state.job.wait()
            if state.job.over:
                jobs.ended(state.job)
        st.rerun()
    except InputError as error:
        show_error(error)


def page(problem: Problem) -> None:
    """The whole page: the form, or the release it led to."""
    state = session()
    st.title("Release")
    workflow_state.summary(problem)
    if state.job is not None:
        if not state.job.over:
            jobs.show(state.job)
            return
        try:
            jobs.ended(state.job)
        except InputError as error:
            show_error(error)
    done = state.releases.get(state.next_request)
    if done is not None:
        released.other_table(state.next_request)
        released.show(done, state.requests[state.next_request])
        return
    st.markdown(
        "One figure that leaves costs budget for good. Everything on this page before the button is public and free."
    )
    waiting()
    parts.import_configuration()
    asked = ask(problem)
    if asked is not None:
        parts.prospects(asked[1])
        spend(problem, *asked)
    released.earlier()


current = problem_or_sentence()
if current is not None:
    page(current)
