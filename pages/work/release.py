"""Release: choose, look at the cost, confirm, release once, download."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import cautions, jobs, released, workflow_state
from pages.elements import release_form as form
from pages.elements.agreements import ask_for, pending_list
from pages.elements.controls import control
from pages.elements.ledger_form import SpendPlan, spend_form
from pages.elements.persons import declared
from pages.elements.session import findings_of_tables, prospect, session
from pages.elements.widgets import budget_input, errors_shown, number, on_tables, parameter_form
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import plural
from pmtcore.mechanisms.noise import NoiseSource, SecureNoise, SeededNoise
from pmtcore.methods.registry import method
from pmtcore.releases.job import Job
from pmtcore.releases.release import Preview, Request
from pmtcore.tables.problem import Problem


def ask(problem: Problem, chosen: str) -> tuple[Request, Preview] | None:
    """Draw budget and parameters; return the request with its cost, or ``None`` under a sentence."""
    with errors_shown():
        budget, delta = budget_input("release", problem.private.n)
        with st.expander("Parameters", icon=":material/tune:"):
            # A method that states parts of its budget does so at the delta of the whole.
            values = parameter_form(method(chosen), "release", {"delta": delta})
        request = Request(chosen, budget, values, delta, declared(problem))
        with st.spinner("Predicting", show_time=True):
            return request, prospect(problem, request)
    return None


def noise_source() -> NoiseSource:
    """Return the source of noise: the system's entropy, unless the lab asks for a seed."""
    with st.expander("Lab: repeatable noise", icon=":material/science:"):
        seeded = st.toggle(**control("release-seeded"))
        seed = number(st, "release-seed", 0, 2**31, start=1) if seeded else 0
    if seeded:
        st.warning("With a seed the result is a lab figure and may not leave.", icon=":material/science:")
    return SeededNoise(seed) if seeded else SecureNoise()


def confirm(problem: Problem, request: Request, expected: Preview, biased: Sequence[str]) -> None:
    """Draw where the spend is kept, the confirmation and the button. One request id releases once.

    Args:
        problem: what is worked on.
        request: what is asked for.
        expected: what it costs and buys.
        biased: what biases the coefficients; the page has it below.
    """
    state = session()
    id = state.next_request
    where = spend_form(expected.guarantee.person.mu)
    if where is None:
        jobs.tell_spent()
        return
    if where.second:
        jobs.tell_spent()
        ask_for(where, problem, request)
        return
    # One line, so that the button is on the first screen; the warnings themselves follow below the form.
    counts = sum(one.is_open for one in findings_of_tables()), len(biased)
    counted = [plural(n, name) for n, name in zip(counts, ("open question", "warning"), strict=True) if n]
    if counted:
        st.page_link("pages/work/data.py", label=f"{', '.join(counted)} on Data", icon=":material/warning:")
    pressed = form.agreement_given(problem, expected, id, where)
    source = noise_source()
    if pressed:
        run(problem, request, where, source=source, id=id)


def run(problem: Problem, request: Request, where: SpendPlan, *, source: NoiseSource, id: str) -> None:
    """Start the release of this request id, unless it was started before, and show it."""
    state = session()
    with errors_shown():
        if id not in state.releases and state.job is None:
            ready = where.ready(problem, request, source, id)
            of = None if state.tables is None else state.tables.private.sha256
            state.job = Job(
                problem,
                request,
                ready,
                lambda release: state.keep(
                    request, release, id, of, choices=problem.choices, dataset=where.dataset.strip()
                ),
            )
            with st.spinner("Releasing", show_time=True):
                state.job.wait()
            if state.job.has_ended:
                jobs.ended(state.job)
        st.rerun()


def head(thread: DeltaGenerator, problem: Problem, *, elsewhere: bool = False) -> None:
    """Draw the steps of the work into their place, and the open fit unless the page is about another one."""
    with thread:
        workflow_state.steps("release", problem, elsewhere=elsewhere)


def page(problem: Problem) -> None:
    """Draw the whole page: the confirmation card, or the release it led to."""
    state = session()
    # Above all, and drawn when the form has said what is planned.
    thread = st.container()
    if state.job is not None:
        if not state.job.has_ended:
            head(thread, problem)
            jobs.show(state.job)
            return
        with errors_shown():
            jobs.ended(state.job)
    done = state.releases.get(state.next_request)
    if done is not None:
        head(thread, problem, elsewhere=released.is_of_other_table(state.next_request))
        released.other_table(state.next_request, problem.choices)
        released.show(done, state.requests[state.next_request])
        return
    pending_list()
    cautions.warn(problem.notes)
    biased = cautions.biases(problem)
    with st.container(border=True):
        wide, right = st.columns([11, 5], gap="medium")
        with wide:
            # Over two columns: the longest name of a method is read to its end.
            chosen = form.method_choice(problem.public)
            left, middle = st.columns([5, 6], gap="medium")
        with left:
            inputs = ask(problem, chosen)
        if inputs is not None:
            workflow_state.store_changed_plan(problem, inputs[0])
        head(thread, problem)
        if inputs is not None:
            with middle:
                form.cost(inputs[1], problem.private.n)
            with right:
                confirm(problem, *inputs, biased)
    if chosen != "joint-moment":
        st.caption(PageWords.ONE_REGRESSION.sentence())
    st.caption(PageWords.REHEARSAL.sentence() if state.is_study else PageWords.RELEASE_SPENDS.sentence())
    cautions.draw_cautions(problem, biased)
    if inputs is not None:
        form.draw_predictions(inputs[1])
    form.about_methods(problem.public)
    released.earlier_list()


st.title("Release")
on_tables(page)
