"""Report: a release as its stakeholders get it, to read here and to take along."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import workflow_state
from pages.elements.actors import actor
from pages.elements.explore_view import pinned_answers
from pages.elements.session import current_problem, session
from pages.elements.widgets import errors_shown
from pmtcore.base.exports import json_text
from pmtcore.base.messages import InputError
from pmtcore.base.numbers import figure, unbroken
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.base.roles import Action
from pmtcore.ledger.account import Account
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.report.html import embedded, file_name, report
from pmtcore.report.names import title


@dataclass(frozen=True)
class Filed:
    """A release that has a report.

    Attributes:
        words: in a list to choose from.
        record: the release in plain fields.
        account: of its data set in the ledger, or ``None`` where it is in none.
    """

    words: str
    record: ReleaseRecord
    account: Account | None = None


def releases(book: Ledger | None) -> dict[str, Filed]:
    """Return all releases with a report by their key, newest last: the ledger's, and this session's in no ledger."""
    filed: dict[str, Filed] = {}
    if book is not None and actor().may(Action.REPORT):
        entries = [(entry, account) for account in book.accounts() for entry in account.entries]
        for entry, account in sorted(entries, key=lambda pair: pair[0].at):
            if entry.record is not None:
                when = entry.at[:16].replace("T", " ")
                parts = (
                    account.dataset,
                    when,
                    title(entry.method),
                    unbroken(f"mu = {figure(entry.mu, 4)}"),
                    entry.purpose,
                )
                words = " · ".join(part for part in parts if part)
                filed[entry.key] = Filed(words, entry.record, account)
    for key, made in session().releases.items():
        mu = unbroken(f"mu = {figure(made.guarantee.person.mu, 4)}")
        words = f"this session, in no ledger · {title(made.method)} · {mu} · {made.target}"
        filed.setdefault(key, Filed(words, made.as_dict()))
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
    left, middle, right = st.columns([4, 1, 1], vertical_alignment="bottom")
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
    head = None if book is None or chosen.account is None else book.verify()["head"]
    arguments = (chosen.record, None if chosen.account is None else chosen.account.as_dict(), head)
    named: dict[str, Any] = {"answers": pinned_answers(chosen.record), "table": session().titles.get(key, "")}
    more: dict[str, Any] = {"on_click": "ignore", "width": "stretch"}
    middle.download_button(
        "Report (HTML)",
        lambda: report(*arguments, **named),
        file_name(chosen.record, "report", "html"),
        "text/html",
        icon=":material/description:",
        **more,
    )
    right.download_button(
        "Record (JSON)",
        lambda: json_text(chosen.record),
        file_name(chosen.record, "release", "json"),
        "application/json",
        **more,
    )
    with st.container(key="report-text", border=True):
        st.html(embedded(*arguments, **named))


st.title("Report")
with errors_shown():
    page()
