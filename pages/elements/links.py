"""Links that restore a public state: a table by name, its choices, a planned method and budget; never data.

Own tables have no link, since they exist only in their session; an address may say that there were some.
"""

from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import scripts, workflow_state
from pages.elements.session import begun, named_tables, session
from pages.elements.widgets import errors_shown
from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import PageWords
from pmtcore.releases.release import Request
from pmtcore.report.link import KNOBS, choices_of, demo_knobs, fields_of, number
from pmtcore.tables.problem import common_columns

_OWN_TABLES = "own"
_LINK_KEY = "link-written"  # session key of the tables that this program put into the address


def restore() -> None:
    """Open the tables that the address names, once; draw a sentence where that fails, or a reload lost own tables."""
    parameters = dict(st.query_params)
    if deleted := st.session_state.pop("deleted", ""):
        with _container_above():
            st.success(deleted, icon=":material/delete:")
    table = parameters.get("table", "")
    if not table and not begun():
        scripts.run(scripts.REMEMBER_OWN)
    if not table or st.session_state.get("link-read") == parameters or table in st.session_state.get(_LINK_KEY, ()):
        return
    is_new = "link-read" not in st.session_state and "opened" not in st.session_state
    st.session_state["link-read"] = parameters
    if table == _OWN_TABLES:
        if is_new and not deleted:
            with _container_above():
                st.info(PageWords.OWN_TABLES_ARE_GONE.sentence(), icon=":material/info:")
                st.page_link(
                    "pages/work/budget.py", label="Reports of earlier releases", icon=":material/account_balance:"
                )
        return
    with errors_shown():
        _open(table, parameters)


def _container_above() -> DeltaGenerator:
    """Return a container above the title of a page (assets/style.css)."""
    return st.container(key="above")


def _open(table: str, parameters: dict[str, str]) -> None:
    knobs = demo_knobs(parameters) if table == "demo" else {}
    tables = named_tables(table, **knobs)
    state = session()
    state.open(tables)
    st.session_state["opened"] = repr((table, sorted(knobs.items())))
    st.session_state["source"] = "demo" if table == "demo" else "name"
    if table == "demo":
        st.session_state.update({f"demo-{name}": value for name, value in knobs.items()})
    else:
        st.session_state["table-name"] = table
    choices = choices_of(parameters, tables.first, common_columns(tables.private, tables.public))
    state.set_choices(choices)
    if "method" in parameters:
        mu = number("mu", parameters.get("mu", "1"))
        workflow_state.fill_release_form(Request(parameters["method"], Budget(mu)))
        st.session_state[f"plan-method-{choices.family}"] = parameters["method"]
        st.session_state["plan-mu"] = mu


def query() -> str:
    """Return the public state as the query of an address; for own tables only that there are some."""
    state = session()
    opened = state.tables
    if opened is None:
        return ""
    if not opened.may_be_studied:
        return urlencode({"table": _OWN_TABLES})
    fields: dict[str, str] = {"table": "" if opened.named is None else opened.named.id}
    if fields["table"] == "demo":
        fields |= {k: f"{st.session_state[f'demo-{k}']:g}" for k in KNOBS if f"demo-{k}" in st.session_state}
    choices, first = state.choices, opened.first
    if choices is not None:
        fields |= fields_of(choices, first)
    planned = st.session_state.get("planned")
    if isinstance(planned, Request):
        fields |= {"method": planned.method, "mu": f"{planned.budget.mu:g}"}
    return urlencode(fields)


def keep() -> None:
    """Put the open table into the address, so that a reload opens it again; for own tables only that there are some."""
    opened = session().tables
    if opened is None:
        return
    current, shown = parse_qs(query()).get("table", [""])[0], st.query_params.get("table") or "demo"
    if current != shown:
        st.session_state[_LINK_KEY] = {current, *st.session_state.get(_LINK_KEY, ())}
        # Parameters for another table do not apply.
        for name in [name for name in st.query_params if shown != "demo" and name not in ("table", "run", "lesson")]:
            scripts.address(name, "")
        scripts.address("table", "" if current == "demo" else current)
    if (current == _OWN_TABLES) != (shown == _OWN_TABLES):
        scripts.run(scripts.HAVE_OWN if current == _OWN_TABLES else scripts.FORGET_OWN)


def share() -> None:
    """Draw the link that restores the current state."""
    opened = session().tables
    with st.expander("Link to this", icon=":material/link:"):
        if opened is None or not opened.may_be_studied:
            st.caption("Your own tables have no link: they live in this session alone.")
            return
        base = str(st.context.url or "").split("?", 1)[0]
        # Not st.code, which would load half a megabyte of scripts on every first visit.
        st.markdown(f"`{base}?{query()}`")
        st.caption("It contains the table's name and your choices, never data.")
