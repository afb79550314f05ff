"""Links that restore a public state: a table by name, its choices, a planned method and budget; never data.

Tables that somebody brought have no link: they live in their session alone, and a link that remembers one says so.
"""

from urllib.parse import parse_qs, urlencode

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from pages.elements import scripts, workflow_state
from pages.elements.session import begun, named_tables, session
from pages.elements.widgets import errors_shown
from pmtcore.accounting.budgets import Budget
from pmtcore.releases.release import Request
from pmtcore.report.link import KNOBS, choices_of, demo_knobs, fields_of, number
from pmtcore.tables.problem import common_columns

_OWN = "own"
_WRITTEN = "link-written"  # tables that the address was given here: no wish of the reader's


def restore() -> None:
    """Open what the address names, once; one sentence where it cannot be, or where a reload lost something."""
    asked = dict(st.query_params)
    if deleted := st.session_state.pop("deleted", ""):
        with _above():
            st.success(deleted, icon=":material/delete:")
    table = asked.get("table", "")
    if not table and not begun():
        scripts.run(scripts.REMEMBER_OWN)
    if not table or st.session_state.get("link-read") == asked or table in st.session_state.get(_WRITTEN, ()):
        return
    first = "link-read" not in st.session_state and "opened" not in st.session_state
    st.session_state["link-read"] = asked
    if table == _OWN:
        if first and not deleted:
            with _above():
                st.info(
                    "This page starts without tables: own tables stay in the page that they were opened in, and go "
                    "with it. Open them here on Data. Reports of releases in the ledger are on Report and Budget.",
                    icon=":material/info:",
                )
                st.page_link(
                    "pages/work/budget.py", label="Reports of earlier releases", icon=":material/account_balance:"
                )
        return
    with errors_shown():
        _open(table, asked)


def _above() -> DeltaGenerator:
    """Return the place above a page's title, clear of the browser's bar (assets/style.css)."""
    return st.container(key="above")


def _open(table: str, asked: dict[str, str]) -> None:
    knobs = demo_knobs(asked) if table == "demo" else {}
    tables = named_tables(table, **knobs)
    state = session()
    state.open(tables)
    st.session_state["opened"] = repr((table, sorted(knobs.items())))
    st.session_state["source"] = "demo" if table == "demo" else "name"
    if table == "demo":
        st.session_state.update({f"demo-{name}": value for name, value in knobs.items()})
    else:
        st.session_state["table-name"] = table
    choices = choices_of(asked, tables.first, common_columns(tables.private, tables.public))
    state.take(choices)
    if "method" in asked:
        mu = number("mu", asked.get("mu", "1"))
        workflow_state.fill(Request(asked["method"], Budget(mu)))
        st.session_state[f"plan-method-{choices.family}"] = asked["method"]
        st.session_state["plan-mu"] = mu


def query() -> str:
    """Return the public state as an address's query; of own tables only that there were some."""
    state = session()
    opened = state.tables
    if opened is None:
        return ""
    if not opened.may_be_studied:
        return urlencode({"table": _OWN})
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
    """Keep in the address which table is open, so that a reload opens it again, or says what was lost.

    Of own tables it says that there were some.
    """
    opened = session().tables
    if opened is None:
        return
    here, there = parse_qs(query()).get("table", [""])[0], st.query_params.get("table") or "demo"
    if here != there:
        st.session_state[_WRITTEN] = {here, *st.session_state.get(_WRITTEN, ())}
        # What a link asked of another table means nothing here.
        for name in [name for name in st.query_params if there != "demo" and name not in ("table", "run", "lesson")]:
            scripts.address(name, "")
        scripts.address("table", "" if here == "demo" else here)
    if (here == _OWN) != (there == _OWN):
        scripts.run(scripts.HAVE_OWN if here == _OWN else scripts.FORGET_OWN)


def share() -> None:
    """Draw the link to what is on screen."""
    opened = session().tables
    with st.expander("Link to this", icon=":material/link:"):
        if opened is None or not opened.may_be_studied:
            st.caption("Your own tables have no link: they live in this session alone.")
            return
        base = str(st.context.url or "").split("?", 1)[0]
        # No box of code: that alone brings half a megabyte of scripts to every first visit.
        st.markdown(f"`{base}?{query()}`")
        st.caption("It contains the table's name and your choices, never data.")
