"""Comparisons that a reload finds again, by an id in the link, on tables for study.

A comparison has rows, so one on own tables stays in its session and ends with it.
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

_MOST_RUNS = 8
_runs: OrderedDict[str, tuple[Comparison, Recipe]] = OrderedDict()
_ID = re.compile(r"[0-9a-f]{32}")


def start(run: Comparison, recipe: Recipe) -> None:
    """Set this session's comparison; on tables for study a link finds it again.

    Raises:
        InputError: the server has as many runs as it allows.
    """
    job_slots.acquire(run, actors.claimant())
    current = session()
    current.comparison = run
    st.session_state["run-recipe"] = recipe
    st.session_state.pop("run", None)
    if current.is_study:
        id = uuid4().hex
        _runs[id] = (run, recipe)
        st.session_state["run"] = id
        while len(_runs) > _MOST_RUNS:
            _runs.popitem(last=False)


def recipe() -> Recipe | None:
    """Return the script of this session's comparison; ``None`` without one."""
    stored: Recipe | None = st.session_state.get("run-recipe")
    return stored


def current_run() -> Comparison | None:
    """Return this session's comparison, or the one that the link names."""
    current = session()
    id_of_link = st.query_params.get("run", "")
    if current.comparison is None and _ID.fullmatch(id_of_link) and id_of_link in _runs:
        current.comparison, st.session_state["run-recipe"] = _runs[id_of_link]
        st.session_state["run"] = id_of_link
    id = st.session_state.get("run")
    if current.comparison is not None and id and st.query_params.get("run") != id:
        scripts.address("run", id)
    if current.comparison is None and id_of_link:
        scripts.address("run", "")
        st.info(
            "The comparison of this link is gone: the server was started anew, or its tables were not for study.",
            icon=":material/info:",
        )
    return current.comparison
