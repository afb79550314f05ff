"""Links that restore a public state: a table by name, its choices, a planned method and budget; never data.

Tables that somebody brought have no link: they live in their session alone, and a link that remembers one says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import streamlit as st

from pages.common import scripts, workflow_state
from pages.common.demo import KNOBS
from pages.common.session import named_tables, session
from pages.common.widgets import show_error
from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import InputError, listed
from pmtcore.releases.release import Request
from pmtcore.tables import named
from pmtcore.tables.choices import Choices, kinds_from_text, levels_from_text
from pmtcore.tables.problem import schema_summary

_WORDS = (
    "missing",
    "unseen",
    "collinear",
    "covariates",
    "positive",
    "formula",
    "weights",
    "exposure",
    "cluster",
    "person",
    "person_rule",
    "overlap",
)
_NUMBERS = {"ridge": "public_ridge", "penalty": "lam", "person_rows": "person_rows"}  # name in the link: choice
_WHOLE = ("n", "m", "d", "kappa_bar", "person_rows")
_OWN = "own"


def restore() -> None:
    """Open what the address names, once; one sentence where it cannot be, or where a reload lost something."""
    asked = dict(st.query_params)
    if deleted := st.session_state.pop("deleted", ""):
        st.success(deleted, icon=":material/delete:")
    table = asked.get("table", "")
    if not table or st.session_state.get("link-read") == asked:
        return
    first = "link-read" not in st.session_state and "opened" not in st.session_state
    st.session_state["link-read"] = asked
    if table == _OWN:
        if first and not deleted:
            st.info(
                "This page was loaded anew. Your own tables lived in the session that ended and are gone from here; "
                "open them again on Data. Releases that were kept in the ledger are on Budget.",
                icon=":material/info:",
            )
        return
    try:
        _open(table, asked)
    except InputError as error:
        show_error(error)


def _open(table: str, asked: dict[str, str]) -> None:
    knobs = {name: _number(name, asked[name]) for name in KNOBS if name in asked and table == "demo"}
    for name, value in knobs.items():
        if value not in KNOBS[name]["options"]:
            offered = ", ".join(f"{one:g}" for one in KNOBS[name]["options"])
            raise InputError(f"The link has {name} = {value:g}; the demo offers {offered}.")
    tables = named_tables(table, **knobs)
    state = session()
    state.open(tables)
    st.session_state["opened"] = repr((table, sorted(knobs.items())))
    st.session_state["source"] = "demo" if table == "demo" else "name"
    if table == "demo":
        st.session_state.update({f"demo-{name}": value for name, value in knobs.items()})
    else:
        st.session_state["table-name"] = table
    choices = _choices(tables.first, asked, schema_summary(tables.private, tables.public)["column"].tolist())
    state.take(choices)
    if "method" in asked:
        mu = _number("mu", asked.get("mu", "1"))
        workflow_state.fill(Request(asked["method"], Budget(mu)))
        st.session_state[f"plan-method-{choices.family}"] = asked["method"]
        st.session_state["plan-mu"] = mu


def _choices(first: Choices, asked: dict[str, str], names: Sequence[str]) -> Choices:
    """Return what the address says of the columns, over what the table starts with."""
    found = replace(first, target=asked.get("target", first.target), family=asked.get("family", first.family))
    features = tuple(name for name in asked.get("features", "").split(",") if name)
    unknown = [name for name in (found.target, *features) if name not in names]
    if unknown:
        raise InputError(f"The link names {listed(unknown)}, which is no column of this table; it has {listed(names)}.")
    given: dict[str, Any] = {"features": features} if features else {}
    given |= {name: asked[name] for name in _WORDS if name in asked}
    given |= {field: _number(name, asked[name]) for name, field in _NUMBERS.items() if name in asked}
    given |= {"intercept": asked["intercept"] != "0"} if "intercept" in asked else {}
    given |= {"levels": levels_from_text(asked["levels"].splitlines())} if "levels" in asked else {}
    given |= {"kinds": kinds_from_text(asked["kinds"].splitlines())} if "kinds" in asked else {}
    given |= {"features": None} if given.get("formula") else {}
    return replace(found, **given)


def _chosen(choices: Choices, first: Choices) -> dict[str, str]:
    """Return the same for an address: what differs from the start."""
    found = {n: str(v) for n in ("target", "family", *_WORDS) if (v := getattr(choices, n)) != getattr(first, n) and v}
    for name, field in _NUMBERS.items():
        value = getattr(choices, field)
        if value is not None and value != getattr(first, field):
            found[name] = f"{value:g}"
    if choices.intercept != first.intercept:
        found["intercept"] = "1" if choices.intercept else "0"
    if choices.formula:
        found["target"] = choices.target
    elif choices.features and choices.features != first.features:
        found["features"] = ",".join(choices.features)
    if choices.levels != first.levels:
        found["levels"] = "\n".join(f"{name} = {' | '.join(levels)}" for name, levels in choices.levels.items())
    if choices.kinds != first.kinds:
        found["kinds"] = "\n".join(f"{name} = {kind}" for name, kind in choices.kinds.items())
    return found


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InputError(
            f"The link has {name} = {text!r}, which is not a number; leave it out of the address."
        ) from None
    return int(value) if value.is_integer() and name in _WHOLE else value


def query() -> str:
    """Return the public state as an address's query; of own tables only that there were some."""
    state = session()
    opened = state.tables
    if opened is None:
        return ""
    if not opened.may_be_studied:
        return urlencode({"table": _OWN})
    fields: dict[str, str] = {"table": next((id for id in named.names() if named.entry(id).title == opened.title), "")}
    if fields["table"] == "demo":
        fields |= {k: f"{st.session_state[f'demo-{k}']:g}" for k in KNOBS if f"demo-{k}" in st.session_state}
    choices, first = state.choices, opened.first
    if choices is not None:
        fields |= _chosen(choices, first)
    planned = st.session_state.get("planned")
    if isinstance(planned, Request):
        fields |= {"method": planned.method, "mu": f"{planned.budget.mu:g}"}
    return urlencode(fields)


def keep() -> None:
    """Keep in the address that own tables are open, so that a reload can say what was lost."""
    opened = session().tables
    if opened is not None and opened.may_be_studied == (st.query_params.get("table") == _OWN):
        scripts.address("table", "" if opened.may_be_studied else _OWN)


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
        st.caption("It holds the table's name and your choices, never data.")
