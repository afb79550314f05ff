"""The sidebar every page shares: which tables are open, the curator's switch, what was spent."""

from __future__ import annotations

import streamlit as st


def draw() -> None:
    """Draw the shared sidebar."""
    st.sidebar.markdown("**Second Moment**")
