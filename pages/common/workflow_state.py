"""The thread through the pages: what was chosen so far, and carrying it on."""

from __future__ import annotations

from typing import Any

import streamlit as st

from pages.common.session import session
from pmtcore.accounting.budgets import Budget, compose
from pmtcore.base.checks import InputError
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.numbers import count, figure, plural
from pmtcore.base.records import Standing
from pmtcore.glm.families import FAMILIES
from pmtcore.methods.registry import method
from pmtcore.releases.release import Request
from pmtcore.report.names import title
from pmtcore.report.words import columns_words
from pmtcore.tables.problem import Problem


def summary(problem: Problem) -> None:
    """Earlier choices in one line, on each page of the thread."""
    found, public = session(), problem.public
    parts = [
        f"**{plain(found.tables.title)}**" if found.tables else "",
        f"{count(problem.private.n)} private and {'?' if public.m is None else count(public.m)} public rows",
        f"{FAMILIES[public.family.id].title} fit of **{plain(public.target)}** on {plain(columns_words(public.names))}",
    ]
    planned = st.session_state.get("planned")
    if isinstance(planned, Request):
        parts.append(f"planned: {title(planned.method)} at mu = {figure(planned.budget.mu)}")
    if found.spent:
        total = compose(release.guarantee.person.mu for release in found.spent)
        parts.append(f"spent: mu = {figure(total)} in {plural(len(found.spent), 'release')}")
    st.caption(" · ".join(part for part in parts if part))


def carry(id: str, mu: float) -> None:
    """Take a plan along: the Release page opens on it."""
    request = Request(id, Budget(mu))
    st.session_state["planned"] = request
    fill(request)


def fill(request: Request) -> None:
    """Put a request into the widgets of the Release page.

    Raises:
        InputError: its method is for the lab.
    """
    entry = method(request.method)
    if entry.standing is Standing.LAB:
        raise InputError(f"The configuration names {entry.id}, which cannot be released: {entry.standing_reason}.")
    keys: dict[str, Any] = {f"release-method-{family}": request.method for family in entry.families}
    keys |= {"release-unit": "mu", "release-mu": request.budget.mu}
    if request.delta is not None:
        keys["release-delta"] = repr(float(request.delta))
    keys |= {f"release-{request.method}-{name}": value for name, value in request.parameters.items()}
    st.session_state.update(keys)


def onward(page: str, label: str) -> None:
    """The next page of the thread."""
    st.page_link(f"pages/work/{page}.py", label=f"Next: {label}", icon=":material/arrow_forward:")
