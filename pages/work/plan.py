"""Plan: predicted errors at each budget, before anything is spent; reads no private row."""

from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import cautions, retrieved, widgets, workflow_state
from pages.elements.controls import control, segments
from pages.elements.live import progress, redrawn, work
from pages.elements.session import prediction_curves, session
from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords, TableNote, kind_of
from pmtcore.base.numbers import rounded, unbroken
from pmtcore.methods.registry import of_role
from pmtcore.releases.planning import LADDER, Curves, Planned, narrowest_plan, rows_for, verdict_of
from pmtcore.report import reproduce
from pmtcore.report.figures import planning as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.names import option
from pmtcore.report.strength import delta_words, unprotected_words
from pmtcore.report.words import unit_step
from pmtcore.tables.problem import Problem

# Seconds of computing before the page is drawn first, and between two redraws after that.
FIRST_DRAW_SECONDS, REDRAW_SECONDS = 0.1, 0.4


def filling(curves: Curves, outlined: bool) -> bool:
    """Draw progress and Stop while curves are computed; return whether the picture stays the same.

    Args:
        curves: of all methods.
        outlined: whether the picture on the page has a line of each method.
    """
    progress(curves.share, f"Predictions of all methods: {curves.share:.0%} done", "plan-stop", curves.stop)
    work(curves.step, REDRAW_SECONDS)
    return curves.live and curves.all_outlined() == outlined


def store_as_plan(key: str, other: str = "") -> None:
    """Store what was just chosen as the plan, with which Release starts.

    Args:
        key: of the control of the method.
        other: id of a method to choose instead; empty: none.
    """
    if other:
        st.session_state[key] = other
    workflow_state.store_plan(st.session_state[key], float(st.session_state["plan-mu"]))


def ask(problem: Problem, curves: Curves) -> tuple[str, str, float]:
    """Draw the controls in one row; return method, coefficient and budget."""
    left, middle, right = st.columns([4, 2, 3])
    key = f"plan-method-{problem.public.family.id}"
    id = widgets.below_all(left, "method").selectbox(
        **control("plan-method", f"-{problem.public.family.id}"),
        options=curves.ids,
        format_func=option,
        on_change=store_as_plan,
        args=(key,),
    )
    coefficient = widgets.ask_coefficient(widgets.below_all(middle, "coefficient"), problem, "plan-coefficient")
    return id, coefficient, ask_budget(right, on_change=store_as_plan, args=(key,))


def ask_budget(place: DeltaGenerator, **more: Any) -> float:
    """Draw the budget; return it."""
    before = st.session_state.get("plan-mu")
    rungs = sorted({*LADDER, *([before] if isinstance(before, float) else [])})
    return float(place.select_slider(**control("plan-mu", value=1.0), options=rungs, format_func=rounded, **more))


def explore_offer(problem: Problem) -> None:
    """Draw what one budget gives on Explore, and the button that leads there."""
    st.markdown(f"{widgets.badge(Label.PUBLIC)} {PageWords.ONE_MOMENT.sentence()}")
    left, right = st.columns(2, gap="large")
    mu = ask_budget(left)
    with right:
        widgets.strength_line(mu)
        st.caption(delta_line(problem, mu))
        if st.button(**control("plan-explore")):
            st.session_state.update({"explore-unit": "mu", "explore-mu": mu})
            st.switch_page("pages/work/explore.py")


def page(problem: Problem) -> None:
    """Draw the whole page: controls, verdict, picture and figures on one screen."""
    workflow_state.steps("plan", problem)
    if questions == "many":
        explore_offer(problem)
        return
    cautions.warn(problem.notes)
    curves = prediction_curves(problem)
    curves.first(str(st.session_state.get(f"plan-method-{problem.public.family.id}", "")))
    curves.first(of_role("public").id)  # it determines the axis of half-widths
    # On the way to Release nothing is computed, and no timer is left, which would leave the new page empty if it fired
    # during the change.
    computing = curves.live and not st.session_state.get("plan-release")
    if computing:
        with st.spinner("Predicting", show_time=True):
            work(curves.step, FIRST_DRAW_SECONDS)
    if not curves.ids:
        st.info(
            "No method predicts its errors from these public data; a release needs no plan.", icon=":material/info:"
        )
        return
    if TableNote.ONE_PUBLIC_LABEL in map(kind_of, problem.notes):  # the warning above says that no figure is meaningful
        return
    cautions.draw_few_rows(problem)  # before any promise
    with widgets.figure_first("plan"):
        id, coefficient, mu = ask(problem, curves)
        here = curves.at(id, mu)
        widgets.below(st, "verdict").markdown(
            f"{widgets.badge(Label.PUBLIC)} {plain(verdict_of(problem.public, here))}"
        )
        left, right = st.columns([3, 2], gap="large")
    with left:
        alt = f"Predicted half-width of {coefficient} against the budget, all methods"
        note = "Predictions assume that private rows are like the public ones."
        drawn, table = figures.widths(curves.plans(), coefficient, mu, id), figures.table(curves.plans(), coefficient)
        widgets.chart(drawn, "plan", alt, table, label=Label.PUBLIC, folded_note=note)
        if words := figures.below_words(curves.plans(), coefficient, id):
            st.caption(plain(words))
        if computing and curves.live:
            outlined = curves.all_outlined()
            redrawn(lambda: filling(curves, outlined), REDRAW_SECONDS)
    with widgets.below_all(right, "answer"):
        answer(problem, curves, here, coefficient, mu=mu)
    reverse(problem, curves, id, coefficient, mu=mu)
    would_be_retrieved(problem, mu)
    widgets.deployments(mu)
    widgets.script_downloads(reproduce.plan_again(problem.choices.as_dict(), problem.private.n, id, mu), "plan")


def answer(problem: Problem, curves: Curves, here: Planned, coefficient: str, *, mu: float) -> None:
    """Draw the parts of the error, the cost, and the button to Release."""
    name, values, parts = figures.half_width_words(here, coefficient, unit_step(coefficient, problem.notes))
    st.markdown(plain(name), help=help_for("half_width"))
    for place, (which, value) in zip(st.columns(len(values)), values, strict=True):
        place.metric(which, value)
    sentences = (parts, figures.truncation_words(here))
    terms = help_for("privacy_sd", "sampling_sd", "truncation_sd")
    st.caption(" ".join(words for words in sentences if words), help=terms)
    if nobody := unprotected_words(mu):
        st.warning(nobody, icon=":material/warning:")
    other = narrowest_plan(curves.at_budget(mu), here)
    if other is not None:
        st.markdown(f"{widgets.badge(Label.PUBLIC)} {plain(figures.narrower_words(here, other))}")
        key = f"plan-method-{problem.public.family.id}"
        st.button(
            **control("plan-other"),
            label=f"Plan with {option(other.method)}",
            on_click=store_as_plan,
            args=(key, other.method),
        )
    if st.button(**control("plan-release")):
        workflow_state.store_plan(here.method, mu)
        session().begin_request()
        st.switch_page("pages/work/release.py")
    # Below the button, which is then on the first screen of a projector.
    widgets.strength_line(mu)
    st.caption(delta_line(problem, mu))


def delta_line(problem: Problem, mu: float) -> str:
    """Return the budget in the other units, at the delta that was typed or the default."""
    delta = widgets.epsilon_delta(problem.private.n)
    epsilon = Guarantee(mu, Neighbours.REPLACE_ONE, delta).epsilon
    return unbroken(
        f"rho = {rounded(Budget(mu).rho)}, epsilon = {rounded(epsilon)} at delta = "
        f"{delta_words(delta, problem.private.n)}; replace-one."
    )


def would_be_retrieved(problem: Problem, mu: float) -> None:
    """Draw, in an expander, the budget that would be retrieved on these tables."""
    if not retrieved.applies(problem):
        return
    widgets.opened_on_demand(
        unbroken(f"Retrieved budget at mu = {rounded(mu)}"),
        "plan-retrieved",
        "savings",
        lambda: retrieved.planned_on_open_table(problem, mu, "plan-retrieved-bar"),
    )


def reverse(problem: Problem, curves: Curves, id: str, coefficient: str, *, mu: float) -> None:
    """Draw the inverse question: the budget, or the number of rows, for a given width."""
    st.header("Budget for a width you need")
    j = problem.public.names.index(coefficient)
    start = curves.at(id, mu).default_half_width(j, LADDER[-1])
    with st.form("plan-reverse"):
        left, right = st.columns([2, 1], vertical_alignment="bottom")
        width = widgets.number(
            left,
            "plan-width",
            1e-12,
            1e12,
            start=float(f"{start:.3g}"),
            at=f"-{coefficient}",
            label=f"Wanted 95 % half-width of {coefficient}",
        )
        if right.form_submit_button(**control("plan-reverse-ask")):
            with st.spinner("Searching", show_time=True):
                budget = curves.budget_for(id, coefficient, width)
                rows = rows_for(problem.public, id, mu, coefficient, half_width=width)
            words = figures.reverse_words(budget, rows, problem.private.n, mu, tried=LADDER)
            st.session_state["plan-reversed"] = (curves, id, coefficient, mu, words)
    # Stored, because the page is drawn again when the curves of other methods are ready.
    answered = st.session_state.get("plan-reversed")
    if answered is not None and answered[0] is curves and answered[1:4] == (id, coefficient, mu):
        st.markdown(f"{widgets.badge(Label.PUBLIC)} {answered[4]}")


with st.container(key="above-title"):
    title, choice = st.columns([1, 2], vertical_alignment="center")
title.title("Plan")
with choice:
    questions = segments("plan-for", {"one": "One regression", "many": "Many questions (Explore)"}, "one")
widgets.on_tables(
    page, lambda: st.caption("What a budget buys, from the public rows and the number of private ones alone: free.")
)
