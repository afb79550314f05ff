"""Explore: release a joint moment, or open one; then every linear question is free."""

from contextlib import suppress

import streamlit as st

from pages.elements import cautions, workflow_state
from pages.elements import explore_view as parts
from pages.elements.controls import control
from pages.elements.explore_release import linear, releasing
from pages.elements.session import current_problem, session
from pages.elements.widgets import errors_shown
from pmtcore.base.messages import InputError, PageWords
from pmtcore.explore.moment import Moment
from pmtcore.report.words import private_words


def release_or_record() -> None:
    """Draw the form of a new release, and the choice of a record from a file or from this session."""
    with suppress(InputError):  # the form below shows what is missing
        workflow_state.summary_and_others(linear(current_problem()))
    with errors_shown():
        problem = current_problem()
        cautions.draw_cautions(problem, cautions.biases(problem))
        release = releasing(problem)
        if release is not None:
            parts.open_record(Moment.of(release.as_dict()), title_of(list(session().releases)[-1]), release.notes)
            st.rerun()
    st.header("Open a record")
    st.caption("A file from *Save record* on this page, or from the command line. No private table is needed.")
    file = st.file_uploader(**control("explore-file"))
    if file is not None and st.session_state.get("explore-read") != file.file_id:
        st.session_state["explore-read"] = file.file_id
        with errors_shown():
            parts.open_record(Moment.from_bytes(file.getvalue()), file.name)
            st.rerun()
    earlier_moments()


def title_of(id: str) -> str:
    """Return table and time of a release of this session."""
    return session().titles.get(id, "a release of this session")


def earlier_moments() -> None:
    """Draw the joint moments released in this session."""
    for id, release in session().releases.items():
        rows = private_words(release.n, release.guarantee.unit)
        if "joint_moment" in release.released and st.button(
            **control("explore-open", f"-{id}"),
            label=f"Open {title_of(id)}: {rows} at mu = {release.guarantee.person.mu:.4g}",
        ):
            parts.open_record(Moment.of(release.as_dict()), title_of(id), release.notes)
            st.rerun()


st.title("Explore")
record = parts.open_view()
if record is None:
    st.markdown(PageWords.RELEASE_A_MOMENT.sentence())
    release_or_record()
else:
    with errors_shown():
        parts.page(record)
