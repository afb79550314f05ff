"""The scripts that a page sends to the browser: fixed texts, nothing of a table's or a user's among them."""

from __future__ import annotations

import streamlit as st

CLOSE_MENU = (
    "if (window.innerWidth < 768) {const b = document.querySelector("
    "'[data-testid=\"stSidebarCollapseButton\"] button'); if (b) b.click();}"
)
TO_VERDICT = (
    "const v = document.querySelector('.st-key-verdict'); if (v) {v.tabIndex = -1; v.focus({preventScroll: true});}"
)


def run(script: str) -> None:
    """Let the browser run one of the scripts above."""
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)
