"""Forms by which curators manage data sets; the functions that they call check roles."""

from collections.abc import Callable

import streamlit as st

from pages.elements.actors import actor
from pages.elements.controls import control, pick
from pages.elements.persons import RULES
from pages.elements.widgets import amount, errors_shown, number
from pmtcore.accounting.budgets import FIRST, MOST_ROWS, Unit
from pmtcore.base.messages import InputError
from pmtcore.base.roles import Action
from pmtcore.ledger.account import START_CAP
from pmtcore.ledger.log import Ledger
from pmtcore.releases import register
from pmtcore.tables.schema import schema_from_json


def forms(ledger: Ledger, names: list[str]) -> None:
    """Draw the forms that the user may use: set a cap, register, separate, retire."""
    form_list: list[tuple[Action, str, str, Callable[[Ledger, list[str]], bool], int]] = [
        (Action.CAP, "Set a cap", ":material/speed:", _cap, 0),
        (Action.REGISTER, "Register a data set", ":material/add_box:", _register, 0),
        (Action.PART, "Separate two data sets", ":material/call_split:", _part, 2),
        (Action.RETIRE, "Retire a data set", ":material/archive:", _retire, 1),
    ]
    for action, title, icon, form, least_names in form_list:
        if actor().may(action) and len(names) >= least_names:
            with st.expander(title, icon=icon):
                _run(form, ledger, names)


def _run(form: Callable[[Ledger, list[str]], bool], ledger: Ledger, names: list[str]) -> None:
    """Draw a form, which stays filled when the ledger refuses."""
    with errors_shown():
        if form(ledger, names):
            st.rerun()


def _cap(ledger: Ledger, names: list[str]) -> bool:
    with st.form("cap-form"):
        name = st.selectbox(**control("cap-dataset"), options=names, index=None)
        cap = amount("cap-mu", START_CAP)
        why = st.text_input(**control("cap-why"))
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
        name = st.text_input(**control("register-name-new"))
        private = st.text_input(**control("register-private"))
        public = st.text_input(**control("register-public"))
        cap = amount("register-cap", START_CAP)
        column = st.text_input(**control("register-person"))
        rule = pick(st, "register-rule", RULES)
        rows = number(st, "register-rows", 1, MOST_ROWS, start=1)
        second = st.toggle(**control("register-second"))
        schema = st.file_uploader(**control("register-schema"))
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
        one = st.selectbox(**control("part-one"), options=names)
        other = st.selectbox(**control("part-other"), options=names)
        why = st.text_input(**control("part-why"))
        sent = st.form_submit_button("Part")
    if not sent or one is None or other is None:
        return False
    register.part(actor(), ledger, one, other, reason=why)
    return True


def _retire(ledger: Ledger, names: list[str]) -> bool:
    with st.form("retire-form"):
        name = st.selectbox(**control("retire-name"), options=names)
        why = st.text_input(**control("retire-why"))
        sent = st.form_submit_button("Retire")
    if not sent or name is None:
        return False
    register.retire(actor(), ledger, name, why)
    return True
