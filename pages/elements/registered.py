"""Registered data sets on the Data page: chosen by name, never uploaded."""

from contextlib import suppress
from uuid import uuid4

import streamlit as st

from pages.elements import actors
from pages.elements import session as state
from pages.elements.controls import control
from pages.elements.ledger_form import server_ledger
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError
from pmtcore.releases.register import Tables, open_registered, registered_names


def registered_names_offered() -> list[str]:
    """Return the registered data sets that the user may open; none without a readable ledger."""
    with suppress(InputError):
        return registered_names(actors.actor(), server_ledger(make=False))
    return []


def named_by_a_curator() -> None:
    """Draw the choice of a registered data set, and open it."""
    names = registered_names_offered()
    if not names:
        st.info("No data set is registered here; curators register them.", icon=":material/info:")
        return
    chosen = st.selectbox(**control("registered-name"), options=names)
    ledger = server_ledger()
    mark = repr(("registered", chosen, ledger.registered().get(chosen)))
    if st.session_state.get("opened") != mark:
        by_curator = open_registered(actors.actor(), ledger, chosen)
        state.session().open(Tables(uuid4().hex, chosen, by_curator.private, by_curator.public, source=by_curator))
        st.session_state["opened"] = mark
    tables = state.session().tables
    if tables is not None and tables.source is not None:
        source = tables.source
        second_note = " A second person agrees to each release." if source.second else ""
        st.caption(f"{plain(source.unit.words)}{second_note} Both are the curator's choice.")
