"""Releases that need a second person, on the pages: requested and made on Release, answered on Budget."""

from contextlib import suppress

import streamlit as st

from pages.elements.actors import actor, require
from pages.elements.controls import control
from pages.elements.ledger_form import SpendPlan, server_ledger
from pages.elements.session import session
from pages.elements.widgets import errors_shown
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.ledger.agreements import PendingRequest
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.register import answer, carry_out, pending_requests, request_of
from pmtcore.releases.release import Request
from pmtcore.report.ledger_words import asked_words
from pmtcore.tables.problem import Problem

# States of requests whose budget is not spent.
_BEFORE_A_SPEND = ("asked", "agreed", "declined")


def ask_for(spend_plan: SpendPlan, problem: Problem, request: Request) -> None:
    """Draw the button that asks for the agreement of a second person; nothing is spent."""
    st.markdown("A second person has to agree to each release from this data set. Asking spends nothing.")
    if st.button(**control("ask-second")):
        with errors_shown():
            spend_plan.ask(problem, request, session().next_request)
            session().renew_request()
            st.rerun()


def pending_list() -> None:
    """Draw the requests for the open data set that are not released yet, with a button for those agreed to."""
    tables = session().tables
    if tables is None or tables.source is None or not tables.source.second:
        return
    requests: list[PendingRequest] = []
    with suppress(InputError):
        requests = pending_requests(actor(), server_ledger(make=False))
    requests = [
        pending for pending in requests if pending.dataset == tables.registered and pending.state in _BEFORE_A_SPEND
    ]
    if not requests:
        return
    st.header("Asked for")
    for pending in requests:
        st.markdown(f"- {plain(asked_words(pending))}")
        if pending.state == "agreed" and st.button(**control("carry", f"-{pending.key}")):
            _release_agreed(pending)


def _release_agreed(pending: PendingRequest) -> None:
    """Make a release that was agreed to."""
    with errors_shown():
        require(Action.RELEASE)
        with st.spinner("Releasing", show_time=True):
            released = carry_out(actor(), server_ledger(), pending.key, SecureNoise())
        session().keep(request_of(pending), released.release, pending.key, dataset=pending.dataset)
        session().next_request = pending.key
        st.rerun()


def answer_forms() -> None:
    """Draw a form for each request without an answer, for those who may answer."""
    if not actor().may(Action.AGREE):
        return
    unanswered = [pending for pending in pending_requests(actor(), server_ledger()) if pending.state == "asked"]
    if not unanswered:
        return
    st.header("Waiting for a second person")
    for pending in unanswered:
        with st.form(f"answer-{pending.key}"):
            st.markdown(plain(asked_words(pending)))
            reason = st.text_input(**control("reason", f"-{pending.key}"))
            left, right = st.columns(2)
            agrees = left.form_submit_button(**control("agree", f"-{pending.key}"))
            declines = right.form_submit_button(**control("decline", f"-{pending.key}"))
        if agrees or declines:
            with errors_shown():
                answer(actor(), server_ledger(), pending.key, agrees, reason=reason)
                st.rerun()
