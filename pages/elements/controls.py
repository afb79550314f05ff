"""Controls of the pages, with label, help and icon from ``controls.toml``."""

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from pmtcore.report.glossary import help_for
from pmtcore.tables.kinds import OFFERED

CONTROLS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_TERM = re.compile(r"\{(\w+)\}")
_CONTROL_FACTS = {"kinds": ", ".join(OFFERED)}


def at_first(key: str, **start: Any) -> dict[str, Any]:
    """Return the initial value of a control unless the session has its value, since Streamlit warns of both."""
    return {} if key in st.session_state else start


def control(id: str, at: str = "", **start: Any) -> dict[str, Any]:
    """Return the arguments of a control: those in the table, its key, and its initial value until it is changed.

    Args:
        id: of the control in the table.
        at: end of its key, where there are several such controls.
        start: its initial value or index, by the name of the argument.
    """
    settings = dict(CONTROLS[id])
    if "help" in settings:
        settings["help"] = _TERM.sub(lambda term: _CONTROL_FACTS.get(term[1]) or help_for(term[1]), settings["help"])
    if "icon" in settings:
        settings["icon"] = f":material/{settings['icon']}:"
    return {**settings, "key": f"{id}{at}", **at_first(f"{id}{at}", **start)}


def pick(
    place: Any,
    id: str,
    options: Iterable[str],
    current: str | None = None,
    *,
    at: str = "",
    words: Callable[[str], str] | None = None,
    **more: Any,
) -> str:
    """Draw the choice of one of several values; return it.

    Args:
        place: where to draw it.
        id: of the control in the table.
        options: values, or labels by value.
        current: initial value; the first one where it is not among the options.
        at: end of its key, where there are several such controls.
        words: returns the label of a value, in place of those of the options.
        more: further arguments, which depend on the data.
    """
    values = list(options)
    called = words or (options.__getitem__ if isinstance(options, Mapping) else str)
    index = values.index(current) if current in values else 0
    chosen: str = place.selectbox(**{**control(id, at), **more}, options=values, index=index, format_func=called)
    return chosen


def segments(id: str, options: Iterable[str], first: str, place: Any = st, **more: Any) -> str:
    """Draw buttons of which one is selected, initially ``first``; return it; see :func:`pick`."""
    called = options.__getitem__ if isinstance(options, Mapping) else str
    settings = {**control(id, default=first), "required": True, **more}
    return place.segmented_control(**settings, options=list(options), format_func=called) or first
