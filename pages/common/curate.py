"""What curators do with data sets, as forms; roles are asked in the functions behind them."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st

from pages.common.actors import actor
from pages.common.widgets import amount, number, show_error
from pmtcore.accounting.budgets import FIRST, MEAN, MOST_ROWS, Unit
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.ledger.account import START_CAP
from pmtcore.ledger.log import Ledger
from pmtcore.releases import register
from pmtcore.report.glossary import help_for
from pmtcore.tables.schema import schema_from_json

_WHY = "Kept in the ledger, with your name."
_RULES = {FIRST: "their first rows count", MEAN: "one row, the mean of theirs"}


def forms(ledger: Ledger, names: list[str]) -> None:
    """Register, cap, part, retire: those that whoever is at the screen may do."""
    made: list[tuple[Action, str, str, Callable[[Ledger, list[str]], bool], int]] = [
        (Action.CAP, "Set a cap", ":material/speed:", _cap, 0),
        (Action.REGISTER, "Register a data set", ":material/add_box:", _register, 0),
        (Action.PART, "Part two data sets", ":material/call_split:", _part, 2),
        (Action.RETIRE, "Retire a data set", ":material/archive:", _retire, 1),
    ]
    for action, title, icon, form, fewest in made:
        if actor().may(action) and len(names) >= fewest:
            with st.expander(title, icon=icon):
                _run(form, ledger, names)


def _run(form: Callable[[Ledger, list[str]], bool], ledger: Ledger, names: list[str]) -> None:
    """Draw a form whose words stay where they are when the ledger refuses."""
    try:
        done = form(ledger, names)
    except InputError as error:
        show_error(error)
        return
    if done:
        st.rerun()


def _cap(ledger: Ledger, names: list[str]) -> bool:
    with st.form("cap-form"):
        name = st.selectbox(
            "Data set", names, index=None, key="cap-dataset", help="Type another name to set the cap of a new one.",
            accept_new_options=True, placeholder="choose one",
        )  # fmt: skip
        cap = amount("Cap (total mu)", "cap-mu", START_CAP, help_for("cap"))
        why = st.text_input("Reason (needed where a cap is raised)", key="cap-why", help=_WHY)
        sent = st.form_submit_button("Set")
    if not sent or name is None:
        return False
    before = ledger.account(name).cap
    if before is not None and cap > before and not why.strip():
        raise InputError("Say why the cap is raised; the reason is kept in the ledger.")
    register.cap(actor(), ledger, name, cap, reason=why)
    return True


def _register(ledger: Ledger, _: list[str]) -> bool:
    with st.form("register-form"):
        name = st.text_input("Name", key="register-name-new", help="What analysts choose it by.")
        private = st.text_input("Private table", key="register-private", help="A path on the server, or an address.")
        public = st.text_input("Public companion", key="register-public", help="A path on the server, or an address.")
        cap = amount("Cap (total mu)", "register-cap", START_CAP, help_for("cap"))
        column = st.text_input(
            "Column that says whose a row is (empty: none)",
            key="register-person",
            help="Then people are protected however many rows they have, and the number of people is public.",
        )
        rule = st.selectbox(
            "Of each person",
            list(_RULES),
            format_func=_RULES.__getitem__,
            key="register-rule",
            help="With a column.",
        )
        rows = number(
            st,
            "Rows of one person, at most",
            1,
            MOST_ROWS,
            start=1,
            key="register-rows",
            words="Analysts cannot declare fewer.",
        )
        second = st.toggle(
            "A second person agrees to each release",
            key="register-second",
            help="A curator, and never who asks for the release.",
        )
        schema = st.file_uploader(
            "Declared schema (else the public table's)",
            type=["json"],
            key="register-schema",
            help="JSON with 'columns' (name, kind, levels) and 'dialect': how cells are read.",
        )
        sent = st.form_submit_button("Register")
    if not sent:
        return False
    declared = None if schema is None else schema_from_json(schema.getvalue()).as_dict()
    unit = Unit(int(rows), column.strip(), rule if column.strip() else FIRST)
    register.register(
        actor(),
        ledger,
        name,
        private.strip(),
        public=public.strip(),
        cap=cap,
        unit=unit,
        second=second,
        schema=declared,
    )
    return True


def _part(ledger: Ledger, names: list[str]) -> bool:
    with st.form("part-form"):
        one = st.selectbox("Data set", names, key="part-one", help="One of two that hold the same rows.")
        other = st.selectbox("Shares nobody with", names, key="part-other", help="From then on each has its own cap.")
        why = st.text_input("Why", key="part-why", help=_WHY)
        sent = st.form_submit_button("Part")
    if not sent or one is None or other is None:
        return False
    register.part(actor(), ledger, one, other, reason=why)
    return True


def _retire(ledger: Ledger, names: list[str]) -> bool:
    with st.form("retire-form"):
        name = st.selectbox("Data set", names, key="retire-name", help="Nothing more can be released from it.")
        why = st.text_input("Why", key="retire-why", help=_WHY)
        sent = st.form_submit_button("Retire")
    if not sent or name is None:
        return False
    register.retire(actor(), ledger, name, why)
    return True
