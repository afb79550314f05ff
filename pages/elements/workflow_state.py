"""The thread through the pages: what was chosen so far, and carrying it on."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.elements.session import session
from pmtcore.accounting.budgets import Budget
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import count, figure, plural
from pmtcore.glm.families import FAMILIES
from pmtcore.methods.registry import method, recommended
from pmtcore.releases.record import Release, modelled
from pmtcore.releases.release import Request
from pmtcore.report.words import columns_words, private_words
from pmtcore.tables.problem import Problem

# Decisions are counted; what is for reading has a page.
_STEP_ICONS = {
    "data": "counter_1",
    "conditioning": "article",
    "plan": "counter_2",
    "release": "counter_3",
    "report": "article",
}


def summary(problem: Problem) -> None:
    """Draw the fit that is worked on in one line."""
    st.caption(_fit(problem))


def summary_and_others(problem: Problem) -> None:
    """Draw the fit that is worked on, and beside it the way to another table, on a page without the steps."""
    with st.container(horizontal=True, key="open-table", gap="small", vertical_alignment="center"):
        st.caption(_fit(problem), width="content")
        another_table()


def another_table() -> None:
    """Draw the way to another table."""
    st.page_link("pages/work/data.py", label="Another table", icon=":material/table:")


def _fit(problem: Problem) -> str:
    """Return the tables and the fit that is worked on, as markdown."""
    current, public = session(), problem.public
    target = plain(modelled(public.target, problem.positive))
    parts = [
        f"**{plain(current.tables.title)}**" if current.tables else "",
        f"{private_words(problem.private.n, problem.unit)}, {'?' if public.m is None else count(public.m)} public rows",
        f"{FAMILIES[public.family.id].title} fit of **{target}** on {plain(columns_words(public.names))}",
    ]
    return " · ".join(part for part in parts if part)


def steps(here: str, problem: Problem | None, *, elsewhere: bool = False) -> None:
    """Draw the steps of the work in one line, each with its state, and the fit that they are about.

    Args:
        here: file name of the page, without its folder and ending.
        problem: what is worked on; ``None`` while a choice of tables or columns is missing.
        elsewhere: whether the page is about another fit than the open one, which then has no place in its head.
    """
    planned, spent = st.session_state.get("planned"), session().spent
    size = "" if problem is None else plural(problem.private.n, "row")
    if problem is not None and problem.unit is not None and problem.unit.column:
        size = plural(problem.private.n // problem.unit.rows, "person")
    states = {
        "data": f"Data: {size or 'something is missing'}",
        "conditioning": "Conditioning",
        "plan": f"Plan: mu {figure(planned.budget.mu)}" if isinstance(planned, Request) else "Plan",
        "release": f"Release: {made(spent)}" if spent else "Release: not yet",
        "report": "Report",
    }
    # A number is a decision, and a tick one that was made; Conditioning and Report are for reading.
    done = {"data": problem is not None, "plan": isinstance(planned, Request) or bool(spent), "release": bool(spent)}
    if here == "data" and problem is None:  # the later steps were done with tables that are open still, not with these
        states |= {"plan": "Plan", "release": "Release"}
        done = {}
    with st.container(horizontal=True, key="steps", gap="small", vertical_alignment="center"):
        for name, words in states.items():
            icon = f":material/{'check_circle' if done.get(name) else _STEP_ICONS[name]}:"
            st.page_link(f"pages/work/{name}.py", label=f"**{words}**" if name == here else words, icon=icon)
    # A report says itself what it is about: another release than the open fit, often.
    if here not in ("data", "report") and problem is not None and not elsewhere:
        summary(problem)


def made(spent: Sequence[Release]) -> str:
    """Count releases that may leave, and lab figures."""
    sound = sum(one.standing is ReleaseStatus.SOUND for one in spent)
    lab = len(spent) - sound
    return ", ".join(plural(many, name) for many, name in ((sound, "release"), (lab, "lab figure")) if many)


def planned(problem: Problem) -> Request:
    """Return the plan that was carried on where it suits this problem, else the recommended method at mu 1."""
    plan = st.session_state.get("planned")
    if isinstance(plan, Request) and problem.public.family.id in method(plan.method).families:
        return plan
    return Request(recommended(problem.public).id, Budget(1.0))


def carry(id: str, mu: float) -> None:
    """Take a plan along: the Release page opens on it."""
    request = Request(id, Budget(mu))
    st.session_state["planned"] = request
    fill(request)


def changed(problem: Problem, request: Request) -> None:
    """Plan what the form of Release asks for, so that one method and one budget stand on all pages."""
    if "planned" in st.session_state:
        st.session_state["planned"] = request
        st.session_state.update(
            {f"plan-method-{problem.public.family.id}": request.method, "plan-mu": request.budget.mu}
        )


def fill(request: Request) -> None:
    """Put a request into the widgets of the Release page.

    Raises:
        InputError: its method is for the lab.
    """
    entry = method(request.method)
    if entry.standing is ReleaseStatus.LAB:
        raise InputError(f"The configuration names {entry.id}, which cannot be released: {entry.claim.reason}.")
    keys: dict[str, Any] = {f"release-method-{family}": request.method for family in entry.families}
    keys |= {"release-unit": "mu", "release-mu": request.budget.mu}
    if request.delta is not None:
        keys["release-delta"] = repr(float(request.delta))
    keys |= {f"release-{request.method}-{name}": value for name, value in request.parameters.items()}
    st.session_state.update(keys)


def one_or_many() -> None:
    """Ask, before anything is planned, whether one regression or many questions shall be answered: budgets differ."""
    st.markdown("**What is to be asked of these rows?**")
    left, right = st.columns(2)
    with left:
        onward("conditioning", "one regression")
        st.caption("One budget buys the coefficients of this fit. Each other fit of the same rows costs budget again.")
    with right:
        onward("explore", "many questions, on Explore")
        st.caption(MANY)


# What one release on Explore answers.
MANY = (
    "One budget buys the second moment of all columns. Every linear regression, correlation and test is then free, "
    "each with wider bands than a fit that is released alone. What the page Release releases cannot be explored "
    "afterwards."
)


def onward(page: str, label: str) -> None:
    """Draw the link to the next page of the thread."""
    st.page_link(f"pages/work/{page}.py", label=f"Next: {label}", icon=":material/arrow_forward:")
