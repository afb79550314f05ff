"""Sidebar of all pages: the open tables, the switch for the curator, and what was spent."""

from contextlib import suppress
from pathlib import Path

import streamlit as st

from pages.elements import actors, links, scripts, workflow_state
from pages.elements import session as state
from pages.elements.controls import control
from pages.elements.ledger_form import current_account
from pages.elements.widgets import badge
from pmtcore.accounting.budgets import compose
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import plural, unbroken
from pmtcore.report.words import columns_words, private_words

_ASSETS = Path(__file__).resolve().parents[2] / "assets"


def admitted() -> bool:
    """Return whether the user has a role here; otherwise the session is deleted."""
    with suppress(InputError):
        if actors.admitted():
            return True
    if state.begun():
        state.forget()
    return False


def scroll_to_top(page: str) -> None:
    """Close the menu on a phone and scroll to the top, after a change of page."""
    if st.session_state.get("page-open", page) != page:
        scripts.run(scripts.CLOSE_MENU + scripts.TO_TOP)
    st.session_state["page-open"] = page


def draw() -> None:
    """Draw the shared sidebar."""
    st.logo(_ASSETS / "logo.svg", icon_image=_ASSETS / "icon.svg", size="large")
    with st.sidebar:
        # First, so that it is visible on a low screen.
        st.toggle(**control("curator"))
        _tables()
        _spent()
        st.caption(
            f"{badge(Label.PUBLIC)} from public rows and sizes\n\n"
            f"{badge(Label.RELEASED)} output of a private mechanism\n\n"
            f"{badge(Label.PRIVATE)} exact, never leaves\n\n"
            f"{badge(Label.LAB)} may not leave"
        )
        links.share()
        actors.draw()
        if st.button(**control("forget")):
            count = len(state.session().releases)
            rest = f", its choices and {plural(count, 'release')}" if count else " and its choices"
            state.forget()
            st.session_state["deleted"] = f"Deleted: the tables of this session{rest}. What the ledger has stays there."
            st.rerun()


def _tables() -> None:
    """Draw the open tables and the current fit."""
    current = state.session()
    if current.tables is None:
        return
    st.markdown(f"**{plain(current.tables.title)}**")
    workflow_state.another_table()
    opened = current.tables.named
    if opened is not None and opened.id == "demo" and not current.releases:
        st.caption("Each tab begins here, without the tables of other tabs. Releases in the ledger stay there.")
    try:
        problem = state.current_problem()
    except InputError:
        st.caption("The tables need a choice on the Data page.")
        return
    rows = "an unknown number of" if problem.public.m is None else f"{problem.public.m:,}"
    st.caption(
        f"{private_words(problem.private.n, problem.unit)}, {rows} public rows; "
        f"{plain(problem.public.target)} on {plain(columns_words(problem.public.names))}."
    )


def _spent() -> None:
    """Draw what was spent on the open table: in the ledger, or else in this session."""
    account, releases = current_account(), state.session().spent_releases
    if account is not None:
        place, nothing = f"in the ledger as {plain(account.dataset)}", "nothing yet under this name"
        total, count, made = account.spent, len(account.entries), plural(len(account.entries), "release")
    else:
        place, nothing = "in this session", "nothing yet"
        total, count = compose(release.guarantee.person.mu for release in releases), len(releases)
        made = workflow_state.releases_in_words(releases)
    added = " (their squares add up)" if count > 1 else ""
    words = unbroken(f"mu = {total:.3g} in {made}{added}") if count else nothing
    st.caption(f"Spent on this table, {place}: **{words}**")
