"""Registered data sets on the Data page: chosen by name, never uploaded."""

from contextlib import suppress
from uuid import uuid4

import streamlit as st

from pages.elements import actors
from pages.elements import session as state
from pages.elements.controls import control
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import InputError
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.releases.register import Tables, opened, registered


def on_offer() -> list[str]:
    """Return what whoever is at the screen may choose from; nothing without a ledger that can be read."""
    with suppress(InputError):
        return registered(actors.actor(), Ledger(default_url(), make=False))
    return []


def named_by_a_curator() -> None:
    """Open the data set that is chosen."""
    known = on_offer()
    if not known:
        st.info("No data set is registered here; curators register them.", icon=":material/info:")
        return
    chosen = st.selectbox(**control("registered-name"), options=known)
    ledger = Ledger(default_url())
    mark = repr(("registered", chosen, ledger.registered().get(chosen)))
    if st.session_state.get("opened") != mark:
        by_curator = opened(actors.actor(), ledger, chosen)
        state.session().open(Tables(uuid4().hex, chosen, by_curator.private, by_curator.public, source=by_curator))
        st.session_state["opened"] = mark
    tables = state.session().tables
    if tables is not None and tables.source is not None:
        source = tables.source
        more = " A second person agrees to each release." if source.second else ""
        st.caption(f"{plain(source.unit.words)}{more} Both are the curator's choice.")
