"""The scripts that a page sends to the browser: fixed texts, nothing of a table's or a user's among them."""

from __future__ import annotations

import streamlit as st

CLOSE_MENU = (
    "if (window.innerWidth <= 768) {const b = document.querySelector("
    "'[data-testid=\"stSidebarCollapseButton\"] button'); if (b) b.click();}"
)
TO_VERDICT = (
    "const v = document.querySelector('.st-key-verdict'); if (v) {v.tabIndex = -1; v.focus({preventScroll: true});}"
)


def run(script: str, time: int = 0) -> None:
    """Let the browser run one of the scripts above.

    Args:
        script: one of them.
        time: a number that was not given before: a browser runs the same text in the same place once.
    """
    st.html(f"<script>{script}//{time}</script>", unsafe_allow_javascript=True)
