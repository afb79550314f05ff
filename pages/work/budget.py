"""Budget: the ledger, with the spends of each data set and what is left of its cap."""

import json
from collections.abc import Mapping

import streamlit as st

from pages.elements.actors import actor, require
from pages.elements.agreements import answer_forms
from pages.elements.controls import control
from pages.elements.curate import forms
from pages.elements.ledger_form import server_ledger
from pages.elements.session import session
from pages.elements.widgets import badge, chart, errors_shown
from pmtcore.accounting.budgets import PERSON, Guarantee, compose
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import join_names, plural, power_of_ten, rounded
from pmtcore.base.roles import Action
from pmtcore.ledger.log import Account
from pmtcore.releases.record import Release
from pmtcore.releases.retrieval import retrieved_epsilon
from pmtcore.report.figures import budget as figures
from pmtcore.report.figures import release as tradeoff
from pmtcore.report.ledger_words import balance, short_mark


def account_page(account: Account) -> None:
    """Draw the account of one data set."""
    st.markdown(f"{badge(Label.PUBLIC)} **{plain(balance(account))}**")
    for unit in account.units:
        st.caption(plain(unit.words))
    if account.second:
        st.caption("A second person agrees to each release.")
    spent = account.as_dict()["spent"]
    at_delta = f"epsilon at delta {power_of_ten(spent['delta'])}"
    amounts = {"mu": spent["mu"], "rho": spent["rho"], at_delta: spent["epsilon"]}
    for column, (name, value) in zip(st.columns(3), amounts.items(), strict=True):
        column.metric(f"Spent, {name}", f"{value:.4g}")
    if not account.entries:
        st.caption("Nothing was spent yet.")
        return
    chart(figures.spends(account), "spends", "Total mu after each spend", figures.table(account), label=Label.PUBLIC)
    total = Guarantee(account.spent, account.neighbours, spent["delta"], PERSON)
    back = retrieved_epsilon(account)
    if back:
        st.caption(f"Retrieved: epsilon {back:.3g} in all was planned for the Jacobian and was not needed.")
    st.header("What all of it means")
    st.markdown(total.words)
    alt = "Detections against false alarms of the best attacker who has all these releases"
    chart(tradeoff.tradeoff(total.mu), "total-tradeoff", alt, tradeoff.tradeoff_table(total.mu), label=Label.PUBLIC)
    if not account.retired:
        mu = st.slider(**control("budget-more"), min_value=0.05, max_value=5.0, value=1.0)
        place = "within" if account.fits(mu) else "beyond"
        st.markdown(f"It would bring the total to mu = **{account.total_with(mu):.4g}**, {place} the cap.")
    report_links(account)


def report_links(account: Account) -> None:
    """Draw a link to the reports of these releases, and a download of their account."""
    if not actor().may(Action.REPORT) or not any(entry.record is not None for entry in account.entries):
        return
    left, right = st.columns(2, vertical_alignment="center")
    left.page_link("pages/work/report.py", label="Reports of these releases", icon=":material/description:")
    right.download_button(**control("budget-account"), data=json.dumps(account.as_dict(), indent=1))


def unwritten(written: set[str]) -> None:
    """Draw this session's spends that are in no ledger: those of lab figures.

    Args:
        written: keys of the spends that the ledger has.
    """
    opened = session()
    by_table: dict[str, list[Release]] = {}
    for id, one in opened.releases.items():
        if one.guarantee.mu > 0 and id not in written:
            by_table.setdefault(opened.sources[id], []).append(one)
    if not by_table:
        return
    sentences = []
    for source, made in by_table.items():
        here = opened.tables is not None and source == opened.tables.private.sha256
        table = plain(opened.tables.title) if here and opened.tables else "a table opened before"
        mu = rounded(compose(one.guarantee.person.mu for one in made))
        sentences.append(f"{plural(len(made), 'lab figure')} from {table}, mu = {mu}")
    st.info(
        f"Of this session and in no ledger: {join_names(sentences)}. Report has each of them.",
        icon=":material/science:",
    )


def open_table_position(accounts: Mapping[str, Account]) -> int:
    """Return the position of the data set of the last release from the open table, else of the newest spend."""
    opened = session()
    here = (
        [] if opened.tables is None else [id for id, at in opened.sources.items() if at == opened.tables.private.sha256]
    )
    for id in reversed(here):
        for at, account in enumerate(accounts.values()):
            if any(entry.key == id for entry in account.entries):
                return at
    st.caption("No release of this session is in the ledger: the newest data set comes first.")
    newest = [max((entry.at for entry in account.entries), default="") for account in accounts.values()]
    return newest.index(max(newest))


def page() -> None:
    """Draw the whole page."""
    require(Action.READ_LEDGER)
    ledger = server_ledger()
    accounts = {account.dataset: account for account in ledger.accounts()}
    checked = ledger.verify()
    if checked["intact"] and checked["events"]:
        st.caption(
            f"The log is intact: {plural(checked['events'], 'event')}, mark {short_mark(checked['head'])}.",
            help=PageWords.LEDGER_COLUMNS.sentence(),
        )
    elif not checked["intact"]:
        st.error(f"The ledger is not what was written: {plain(checked['why'])}. Nothing can be spent on it.")
    unwritten({entry.key for account in accounts.values() for entry in account.entries})
    if accounts:
        name = st.selectbox(**control("budget-dataset"), options=list(accounts), index=open_table_position(accounts))
        account_page(accounts[name])
    else:
        st.info(
            "The ledger is empty. A release from your own tables is written here before a private row is used.",
            icon=":material/info:",
        )
    answer_forms()
    forms(ledger, list(accounts))


st.title("Budget")
st.markdown("Every spend of each data set, written before it happens, in a log that can only grow.")
with errors_shown():
    page()
