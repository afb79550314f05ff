"""Report: a release as its stakeholders get it, to read here and to take along."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import workflow_state
from pages.elements.actors import actor
from pages.elements.explore_view import pinned_answers
from pages.elements.session import current_problem, session
from pages.elements.widgets import errors_shown
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.report.downloads import FiledRelease, filed_releases, report_files


def releases(book: Ledger | None) -> dict[str, FiledRelease]:
    """Return all releases with a report by their key, newest last: the ledger's, and this session's in no ledger."""
    filed = filed_releases(book) if book is not None and actor().may(Action.REPORT) else {}
    for key, made in session().releases.items():
        record = made.as_dict()
        filed.setdefault(key, FiledRelease(record, table=session().titles.get(key, "")))
    return filed


def ledger() -> Ledger | None:
    """Return the ledger; ``None`` where there is none yet."""
    with suppress(InputError):
        return Ledger(default_url(), make=False)
    return None


def steps(place: DeltaGenerator) -> None:
    """Draw the steps of the work with the open table into their place."""
    with place, suppress(InputError):
        workflow_state.steps("report", current_problem())


def page() -> None:
    """Draw the whole page: which release, its downloads, its report."""
    thread, book = st.container(), ledger()
    filed = releases(book)
    if not filed:
        steps(thread)
        st.info("There is no release yet: a report is made of one.", icon=":material/info:")
        st.page_link("pages/work/release.py", label="Go to Release", icon=":material/verified_user:")
        return
    keys = list(filed)
    # The newest from the open table: what the steps above speak of.
    last = next((key for key in reversed(session().released) if key in filed), session().next_request)
    left, *files = st.columns([8, 3, 3, 4], vertical_alignment="bottom")
    key = left.selectbox(
        "Release",
        keys,
        index=keys.index(last) if last in filed else len(keys) - 1,
        format_func=lambda key: filed[key].words,
        help="Of this session, and those that the ledger keeps.",
    )
    chosen = filed[key]
    if key in session().released:
        steps(thread)
    else:  # the steps are of the open table, and would stand above another one
        st.caption("This session did not make this release from the table that is open; the report names its data set.")
    chosen = replace(chosen, answers=pinned_answers(chosen.record))
    for place, file in zip(files, report_files(chosen), strict=True):
        place.download_button(file.label, file.make, file.name, file.media_type, on_click="ignore", width="stretch")
    with st.container(key="report-text", border=True):
        st.html(chosen.embedded())


st.title("Report")
with errors_shown():
    page()
