"""Report: a release as its stakeholders get it, to read here and to download."""

from contextlib import suppress
from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import workflow_state
from pages.elements.actors import actor
from pages.elements.explore_view import pinned_answers
from pages.elements.ledger_form import server_ledger
from pages.elements.session import current_problem, session
from pages.elements.widgets import download, errors_shown
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.report.downloads import FiledRelease, filed_releases, report_files


def releases() -> dict[str, FiledRelease]:
    """Return all releases with a report, by key: those in the ledger, then those of this session in no ledger."""
    ledger = None
    with suppress(InputError):  # there may be none yet
        ledger = server_ledger(make=False)
    filed = filed_releases(ledger) if ledger is not None and actor().may(Action.REPORT) else {}
    for key, release in session().releases.items():
        filed.setdefault(key, FiledRelease(release.as_dict(), table=session().titles.get(key, "")))
    return filed


def steps(place: DeltaGenerator) -> None:
    """Draw the steps of the work with the open table into their place."""
    with place, suppress(InputError):
        workflow_state.steps("report", current_problem())


def page() -> None:
    """Draw the whole page: choice of the release, downloads, and the report."""
    thread, filed = st.container(), releases()
    if not filed:
        steps(thread)
        st.info("There is no release yet: a report is made of one.", icon=":material/info:")
        st.page_link("pages/work/release.py", label="Go to Release", icon=":material/verified_user:")
        return
    keys = list(filed)
    # The newest release from the open table, to which the steps above refer.
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
    else:  # the steps refer to the open table, not to that of this release
        st.caption("This session did not make this release from the table that is open; the report names its data set.")
    chosen = replace(chosen, answers=pinned_answers(chosen.record))
    for place, file in zip(files, report_files(chosen), strict=True):
        download(place, file)
    with st.container(key="report-text", border=True):
        st.html(chosen.embedded())


st.title("Report")
with errors_shown():
    page()
