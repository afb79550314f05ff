"""State of the work across pages: the current fit, the steps, and the plan that Release starts from."""

from collections.abc import Sequence
from typing import Any

import streamlit as st

from pages.elements.session import session
from pmtcore.accounting.budgets import Budget
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, PageWords
from pmtcore.base.numbers import count, plural, rounded
from pmtcore.glm.families import FAMILIES
from pmtcore.methods.registry import method, recommended_method
from pmtcore.releases.record import Release, modelled_response
from pmtcore.releases.release import Request
from pmtcore.report.words import columns_words, private_words
from pmtcore.tables.problem import Problem

# Steps with a decision have a number, the others a page as their icon.
_STEP_ICONS = {
    "data": "counter_1",
    "conditioning": "article",
    "plan": "counter_2",
    "release": "counter_3",
    "report": "article",
}


def summary_and_others(problem: Problem) -> None:
    """Draw the current fit and the way to another table, on a page without the steps."""
    with st.container(horizontal=True, key="open-table", gap="small", vertical_alignment="center"):
        st.caption(_fit(problem), width="content")
        another_table()


def another_table() -> None:
    """Draw the way to another table."""
    st.page_link("pages/work/data.py", label="Another table", icon=":material/table:")


def _fit(problem: Problem) -> str:
    """Return tables and current fit, as markdown."""
    current, public = session(), problem.public
    target = plain(modelled_response(public.target, problem.positive))
    parts = [
        f"**{plain(current.tables.title)}**" if current.tables else "",
        f"{private_words(problem.private.n, problem.unit)}, {'?' if public.m is None else count(public.m)} public rows",
        f"{FAMILIES[public.family.id].title} fit of **{target}** on {plain(columns_words(public.names))}",
    ]
    return " · ".join(part for part in parts if part)


def steps(page: str, problem: Problem | None, *, elsewhere: bool = False) -> None:
    """Draw the steps of the work in one line, each with its state, and the current fit.

    Args:
        here: file name of the page, without its folder and ending.
        problem: the current one; ``None`` while a choice of tables or columns is missing.
        elsewhere: whether the page is about another fit, so that the current one is not drawn.
    """
    planned, spent = st.session_state.get("planned"), session().spent_releases
    private_size = "" if problem is None else plural(problem.private.n, "row")
    if problem is not None and problem.unit is not None and problem.unit.column:
        private_size = plural(problem.private.n // problem.unit.rows, "person")
    labels = {
        "data": f"Data: {private_size or 'something is missing'}",
        "conditioning": "Conditioning",
        "plan": f"Plan: mu {rounded(planned.budget.mu)}" if isinstance(planned, Request) else "Plan",
        "release": f"Release: {releases_in_words(spent)}" if spent else "Release: not yet",
        "report": "Report",
    }
    # A tick marks a decision that was made; Conditioning and Report have none.
    is_done = {"data": problem is not None, "plan": isinstance(planned, Request) or bool(spent), "release": bool(spent)}
    if page == "data" and problem is None:  # the later steps were done with tables that are open still, not with these
        labels |= {"plan": "Plan", "release": "Release"}
        is_done = {}
    with st.container(horizontal=True, key="steps", gap="small", vertical_alignment="center"):
        for name, words in labels.items():
            icon = f":material/{'check_circle' if is_done.get(name) else _STEP_ICONS[name]}:"
            st.page_link(f"pages/work/{name}.py", label=f"**{words}**" if name == page else words, icon=icon)
    # A report states its own release, which is often of another fit.
    if page not in ("data", "report") and problem is not None and not elsewhere:
        st.caption(_fit(problem))


def releases_in_words(spent: Sequence[Release]) -> str:
    """Return the numbers of releases that may be published and of lab figures, in words."""
    sound = sum(release.standing is ReleaseStatus.SOUND for release in spent)
    lab = len(spent) - sound
    return ", ".join(plural(number, name) for number, name in ((sound, "release"), (lab, "lab figure")) if number)


def planned(problem: Problem) -> Request:
    """Return the plan that was made, if its method suits this problem; else the recommended method at mu 1."""
    request = st.session_state.get("planned")
    if isinstance(request, Request) and problem.public.family.id in method(request.method).families:
        return request
    return Request(recommended_method(problem.public).id, Budget(1.0))


def store_plan(id: str, mu: float) -> None:
    """Store a plan, with which the Release page starts."""
    request = Request(id, Budget(mu))
    st.session_state["planned"] = request
    fill_release_form(request)


def store_changed_plan(problem: Problem, request: Request) -> None:
    """Store the request of the Release form as the plan, so that all pages have one method and budget."""
    if "planned" in st.session_state:
        st.session_state["planned"] = request
        st.session_state.update(
            {f"plan-method-{problem.public.family.id}": request.method, "plan-mu": request.budget.mu}
        )


def fill_release_form(request: Request) -> None:
    """Put a request into the widgets of the Release page.

    Raises:
        InputError: its method cannot be released.
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


def kind_of_release() -> None:
    """Draw the choice between one regression and many questions, which need different budgets."""
    st.markdown("**What is to be asked of these rows?**")
    left, right = st.columns(2)
    with left:
        next_step("conditioning", "one regression")
        st.caption("One budget buys the coefficients of this fit. Each other fit of the same rows costs budget again.")
    with right:
        next_step("explore", "many questions, on Explore")
        st.caption(PageWords.ONE_MOMENT.sentence())


def next_step(page: str, label: str) -> None:
    """Draw the link to the next step."""
    st.page_link(f"pages/work/{page}.py", label=f"Next: {label}", icon=":material/arrow_forward:")
