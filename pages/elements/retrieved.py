"""Retrieved budget of the open table, predicted before a spend and stated after one."""

from collections.abc import Sequence

import streamlit as st

from pages.elements.controls import control
from pages.elements.session import current_problem, prospect, session
from pages.elements.widgets import badge, chart, epsilon_delta
from pages.elements.workflow_state import planned
from pmtcore.accounting.budgets import Budget
from pmtcore.accounting.perturbed import CHOICES
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.numbers import rounded as said
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import methods_for
from pmtcore.releases.planning import LADDER
from pmtcore.releases.release import Preview, Request
from pmtcore.report.figures import budget as figures
from pmtcore.report.glossary import help_for
from pmtcore.report.names import in_quotes
from pmtcore.tables.problem import Problem

# The one sound method whose retrieved amount is a public number.
METHOD = "napp-public"


def applies(problem: Problem) -> bool:
    """Return whether the method that retrieves budget can be used on these tables."""
    return any(entry.id == METHOD for entry in methods_for(problem.public))


def previews(problem: Problem, mu: float) -> Sequence[Preview]:
    """Return the plans at a total budget with the retrieved part recycled, and with it returned.

    Parts of epsilon are at the delta of the other pages.

    Raises:
        InputError: the method cannot be used on these tables or at this budget.
    """
    delta = epsilon_delta(problem.private.n)
    return [prospect(problem, Request(METHOD, Budget(mu), {"retrieved": choice, "delta": delta})) for choice in CHOICES]


def show_retrieved(facts: Facts, recycled: bool, key: str, prefix: str = "") -> None:
    """Draw the parts of epsilon: spent, retrieved and recycled, in figures and as one bar.

    Args:
        facts: of the plan or the release.
        recycled: whether the retrieved part is used for smaller noise.
        key: of the picture.
        prefix: of each name, where the figures are of a method that is not planned.
    """
    for column, (name, value) in zip(st.columns(3), figures.retrieved_metrics(facts, recycled).items(), strict=True):
        column.metric(f"{prefix}{name}", f"ε {value}", help=help_for("retrieved"))
    alt = "Where the planned epsilon goes: noise, Jacobian, retrieved"
    bar, table = figures.retrieved(facts), figures.retrieved_table(facts)
    chart(bar, key, alt, table, label=Label.PUBLIC, words=figures.retrieved_words(facts))


def planned_on_open_table(problem: Problem, mu: float, key: str) -> None:
    """Draw the retrieved budget of the open table at a total budget, and how it reduces the error."""
    plan = planned(problem).method
    recycled, returned = previews(problem, mu)
    amount = figures.amount_words(recycled.facts)
    words = f"Your plan, {in_quotes(plan)}, retrieves {amount}."
    if plan != METHOD:
        alternative = f"With {in_quotes(METHOD)} ({METHOD}) instead, {amount} could be used for smaller noise:"
        words = f"Your plan, {in_quotes(plan)}, retrieves nothing. {alternative}"
    st.markdown(f"{badge(Label.PUBLIC)} {plain(words)}")
    show_retrieved(recycled.facts, True, key, "" if plan == METHOD else "Instead: ")
    if words := figures.bought_words(recycled, returned):
        st.markdown(f"{badge(Label.PUBLIC)} {words}")


def open_table() -> Problem | None:
    """Draw budget and picture for the open table; return its problem, or ``None`` where the method cannot be used.

    Raises:
        InputError: the tables do not fit together.
    """
    problem = current_problem()
    if not applies(problem):
        return None
    tables = session().tables
    mu = st.select_slider(
        **control("retrieval-open-mu", value=min(LADDER, key=lambda rung: abs(rung - planned(problem).budget.mu))),
        label=f"Total budget mu on {plain(tables.title if tables else 'the open table')}",
        options=LADDER,
        format_func=said,
    )
    planned_on_open_table(problem, float(mu), "retrieval-open")
    return problem
