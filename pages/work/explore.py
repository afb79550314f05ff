"""Explore: open a released joint moment, or release one; then every linear question is free."""

from __future__ import annotations

from uuid import uuid4

import streamlit as st

from pages.common import explore_parts as parts
from pages.common.book import SURE, spend_form
from pages.common.session import current_problem, session
from pages.common.widgets import badge, budget_input, guarantee_line, parameter_form, show_error
from pmtcore.base.checks import InputError, listed
from pmtcore.base.foreign import markdown as plain
from pmtcore.base.records import Label, Standing
from pmtcore.data.problem import Problem
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.methods.registry import method
from pmtcore.releases.explore.moment import Moment
from pmtcore.releases.release import Request, preview
from pmtcore.show.figures import explore as figures


def opening() -> None:
    """A record from a file, from a release of this session, or a new release."""
    left, right = st.columns(2, gap="large")
    with left:
        st.header("Open a record")
        st.caption("What `release --method joint-moment --out FILE` or this page saved. No private table is needed.")
        file = st.file_uploader(
            "Record (JSON)",
            type=["json"],
            key="explore-file",
            max_upload_size=64,
            help="A file with a released moment.",
        )
        if file is not None and st.session_state.get("explore-read") != file.file_id:
            st.session_state["explore-read"] = file.file_id
            try:
                parts.take_up(Moment.from_bytes(file.getvalue()), file.name)
                st.rerun()
            except InputError as error:
                show_error(error)
        earlier()
    with right:
        st.header("Release one here")
        try:
            releasing(current_problem())
        except InputError as error:
            show_error(error)


def earlier() -> None:
    """Joint moments released in this session."""
    for id, found in session().releases.items():
        if "joint_moment" in found.released and st.button(
            f"Open the release of {found.n:,} rows at mu = {found.guarantee.mu:.4g}",
            key=f"explore-open-{id}",
            icon=":material/folder_open:",
        ):
            parts.take_up(Moment.of(found.as_dict()), "release of this session", found.standing is Standing.SOUND)
            st.rerun()


def releasing(problem: Problem) -> None:
    """Columns, derived columns, budget; what to expect; the confirmation and the button."""
    names = [name for name in (*problem.public.names, problem.public.target) if name != "(intercept)"]
    st.caption(f"All columns chosen on the Data page go in: {plain(listed(names, 12))}.")
    budget, delta = budget_input("explore", problem.private.n)
    with st.expander("Derived columns and parameters", icon=":material/tune:"):
        values = parameter_form(method("joint-moment"), "explore")
    request = Request("joint-moment", budget, values, delta)
    prospect = preview(problem, request)
    st.markdown(f"{badge(Label.PUBLIC)} **{plain(figures.prospects_words(prospect.facts))}**")
    st.caption(guarantee_line(prospect.guarantee))
    where = spend_form(prospect.guarantee.mu)
    if where is None:
        return
    id = st.session_state.setdefault("explore-request", uuid4().hex)
    key = f"explore-sure-{id}-{prospect.guarantee.mu!r}"
    words = f"I spend mu = {prospect.guarantee.mu:.4g} on this table. It cannot be taken back."
    sure = st.checkbox(words, key=key, help=SURE)
    if not st.button(
        "Release", type="primary", disabled=not sure, key=f"explore-go-{id}", icon=":material/verified_user:"
    ):
        return
    state = session()
    if id not in state.releases:
        with st.spinner("Releasing", show_time=True):
            state.keep(request, where.release(problem, request, SecureNoise(), id), id)
    found = state.releases[id]
    st.session_state["explore-request"] = uuid4().hex
    parts.take_up(Moment.of(found.as_dict()), "released just now", found.standing is Standing.SOUND)
    st.rerun()


st.title("Explore")
st.markdown(
    "One released moment of all columns answers every linear question about them. Nothing on this page reads a private "
    "row, but for the release itself."
)
held = parts.held()
if held is None:
    opening()
else:
    try:
        parts.page(held)
    except InputError as error:
        show_error(error)
