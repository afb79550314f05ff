"""What one browser session holds. Private rows live here and nowhere else: never in a shared cache."""

from __future__ import annotations

from dataclasses import dataclass, field
from uuid import uuid4

import streamlit as st

from pmtcore.encoding import Choices, Problem
from pmtcore.experiments import Comparison
from pmtcore.records import Release
from pmtcore.tables import MomentTable, Table

_KEY = "second_moment"


@dataclass(slots=True)
class Tables:
    """The two tables as read, before columns are chosen."""

    title: str
    private: Table
    public: Table | MomentTable
    lab_reasons: tuple[str, ...] = ()
    public_rows: int | None = None  # rows behind a moment matrix


@dataclass(slots=True)
class Session:
    """Everything a session keeps between reruns; one object under one key.

    ``releases`` is keyed by request id, made when the confirmation is shown: a second click, a rerun or a
    page change finds the id already there and spends nothing.
    """

    tables: Tables | None = None
    choices: Choices | None = None
    problem: Problem | None = None
    releases: dict[str, Release] = field(default_factory=dict)
    next_request: str = field(default_factory=lambda: uuid4().hex)
    comparison: Comparison | None = None

    @property
    def spent(self) -> list[Release]:
        """Releases that cost something, oldest first."""
        return [release for release in self.releases.values() if release.guarantee.mu > 0]


def session() -> Session:
    """This browser session's state, made on first use."""
    if _KEY not in st.session_state:
        st.session_state[_KEY] = Session()
    found: Session = st.session_state[_KEY]
    return found


def curator() -> bool:
    """Whether the person at the screen switched on figures for the curator's eyes."""
    return bool(st.session_state.get("curator", False))
