"""Running comparisons that a reload finds again: by an id in the link, on tables that harm nobody.

A comparison holds rows, so one on tables that somebody brought stays in its session alone and ends with it.
"""

import re
from collections import OrderedDict
from uuid import uuid4

import streamlit as st

from pages.elements import actors, scripts
from pages.elements.session import session
from pmtcore.auditing.comparison import Comparison
from pmtcore.releases import job_slots
from pmtcore.report.reproduce import Recipe

_MOST = 8
_runs: OrderedDict[str, tuple[Comparison, Recipe]] = OrderedDict()
_ID = re.compile(r"[0-9a-f]{32}")


def start(run: Comparison, recipe: Recipe) -> None:
    """Make it this session's comparison; where the tables are for study, a link finds it again.

    Raises:
        InputError: the server is at as many runs as it takes.
    """
    job_slots.acquire(run, actors.claimant())
    current = session()
    current.comparison = run
    st.session_state["run-recipe"] = recipe
    st.session_state.pop("run", None)
    if current.studied:
        id = uuid4().hex
        _runs[id] = (run, recipe)
        st.session_state["run"] = id
        while len(_runs) > _MOST:
            _runs.popitem(last=False)


def recipe() -> Recipe | None:
    """Return how to ask for this session's comparison again."""
    stored: Recipe | None = st.session_state.get("run-recipe")
    return stored


def find() -> Comparison | None:
    """Return this session's comparison, or the one that the link names."""
    current = session()
    asked = st.query_params.get("run", "")
    if current.comparison is None and _ID.fullmatch(asked) and asked in _runs:
        current.comparison, st.session_state["run-recipe"] = _runs[asked]
        st.session_state["run"] = asked
    known = st.session_state.get("run")
    if current.comparison is not None and known and st.query_params.get("run") != known:
        scripts.address("run", known)
    if current.comparison is None and asked:
        scripts.address("run", "")
        st.info(
            "The comparison of this link is gone: the server was started anew, or its tables were not for study.",
            icon=":material/info:",
        )
    return current.comparison
