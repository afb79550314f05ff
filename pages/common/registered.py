"""Registered data sets on the Data page: chosen by name, never uploaded."""

from __future__ import annotations

from uuid import uuid4

import streamlit as st

from pages.common import actors
from pages.common import session as state
from pages.common.session import Tables
from pmtcore.releases.register import opened, registered


def named_by_a_curator() -> None:
    """Open the data set that is chosen."""
    who = actors.actor()
    names = registered(who)
    if not names:
        st.info("No data set is registered here; curators register them.", icon=":material/info:")
        return
    chosen = st.selectbox(
        "Data set",
        names,
        key="registered-name",
        persist_state="session",
        help="Registered by a curator; rows cannot be seen here.",
    )
    mark = repr(("registered", chosen))
    if st.session_state.get("opened") != mark:
        private, public = opened(who, chosen)
        state.session().open(Tables(uuid4().hex, chosen, private, public, registered=chosen))
        st.session_state["opened"] = mark
