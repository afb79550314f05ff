"""Releases that two people stand for, on the pages: asked for and carried out on Release, answered on Budget."""

from contextlib import suppress

import streamlit as st

from pages.elements.actors import actor, require
from pages.elements.controls import control
from pages.elements.ledger_form import SpendPlan
from pages.elements.session import session
from pages.elements.widgets import errors_shown
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.ledger.agreements import PendingRequest
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.register import answer, carry_out, pending_requests, request_of
from pmtcore.releases.release import Request
from pmtcore.report.ledger_words import asked_words
from pmtcore.tables.problem import Problem


def ask_for(where: SpendPlan, problem: Problem, request: Request) -> None:
    """Draw the button that asks a second person; nothing is spent."""
    st.markdown("A second person has to agree to each release from this data set. Asking spends nothing.")
    if st.button(**control("ask-second")):
        with errors_shown():
            where.ask(problem, request, session().next_request)
            session().renew_request()
            st.rerun()


def waiting() -> None:
    """Draw what was asked for and is not released yet; what was agreed to can be released here."""
    tables = session().tables
    if tables is None or tables.source is None or not tables.source.second:
        return
    requests: list[PendingRequest] = []
    with suppress(InputError):
        every = pending_requests(actor(), Ledger(default_url(), make=False))
        requests = [
            one for one in every if one.dataset == tables.registered and one.state in ("asked", "agreed", "declined")
        ]
    if not requests:
        return
    st.header("Asked for")
    for one in requests:
        st.markdown(f"- {plain(asked_words(one))}")
        if one.state == "agreed" and st.button(**control("carry", f"-{one.key}")):
            _carry_out(one)


def _carry_out(one: PendingRequest) -> None:
    with errors_shown():
        require(Action.RELEASE)
        with st.spinner("Releasing", show_time=True):
            made = carry_out(actor(), Ledger(default_url()), one.key, SecureNoise())
        session().keep(request_of(one), made.release, one.key, dataset=one.dataset)
        session().next_request = one.key
        st.rerun()


def answers() -> None:
    """Draw what waits for an answer, for those who may give one."""
    if not actor().may(Action.AGREE):
        return
    open_ones = [one for one in pending_requests(actor(), Ledger(default_url())) if one.state == "asked"]
    if not open_ones:
        return
    st.header("Waiting for a second person")
    for one in open_ones:
        with st.form(f"answer-{one.key}"):
            st.markdown(plain(asked_words(one)))
            reason = st.text_input(**control("reason", f"-{one.key}"))
            left, right = st.columns(2)
            agrees = left.form_submit_button(**control("agree", f"-{one.key}"))
            declines = right.form_submit_button(**control("decline", f"-{one.key}"))
        if agrees or declines:
            with errors_shown():
                answer(actor(), Ledger(default_url()), one.key, agrees, reason=reason)
                st.rerun()
