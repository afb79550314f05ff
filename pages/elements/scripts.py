"""Scripts that pages send to the browser: fixed texts without content of tables or users."""

from urllib.parse import quote

import streamlit as st

CLOSE_MENU = (
    "if (window.innerWidth <= 768) {const b = document.querySelector("
    "'[data-testid=\"stSidebarCollapseButton\"] button'); if (b) b.click();}"
)
# After a change of page the heading gets the keyboard focus, unless another element has it.
TO_TOP = (
    "document.querySelector('[data-testid=\"stMain\"]')?.scrollTo(0, 0); setTimeout(() => {"
    "const h = document.querySelector('[data-testid=\"stMain\"] h1'); "
    "if (h && document.activeElement === document.body) {h.tabIndex = -1; h.focus({preventScroll: true});}}, 500);"
)
TO_VERDICT = (
    "const v = document.querySelector('.st-key-verdict'); if (v) {v.tabIndex = -1; v.focus({preventScroll: true}); "
    "document.querySelector('[data-testid=\"stMain\"]').scrollTo(0, 0);}"
)
# A tab remembers only whether own tables are open in it. A typed address begins a new session; if own tables were open,
# the address that says so replaces it.
HAVE_OWN = "sessionStorage.setItem('second-moment', 'own');"
FORGET_OWN = "sessionStorage.removeItem('second-moment');"
REMEMBER_OWN = (
    "if (sessionStorage.getItem('second-moment')) {sessionStorage.removeItem('second-moment'); "
    "const p = new URLSearchParams(location.search); p.set('table', 'own'); "
    "location.replace(`${location.pathname}?${p}`);}"
)


def place() -> None:
    """Create the container of scripts above a page, in every run of it.

    If it appeared and disappeared, the browser would redraw everything below, and the focus would be lost.
    """
    st.session_state["scripts-place"] = st.container(key="script-place")


def run(script: str) -> None:
    """Let the browser run a script, in a container without height (assets/style.css).

    The script is in a block of its own, because declaring a constant twice would be an error.

    Args:
        script: one of the above. Each run is numbered, because a browser runs the same text in one place only once.
    """
    number = st.session_state["scripts"] = st.session_state.get("scripts", 0) + 1
    with st.session_state["scripts-place"], st.container(key=f"script-{number}"):
        st.html(f"<script>{{{script}}}//{number}</script>", unsafe_allow_javascript=True)


def address(name: str, value: str) -> None:
    """Set a parameter of the address without a new entry in the history.

    Streamlit's own query parameters add an entry for each change, so that the back button would not leave the page.

    Args:
        name: of the parameter.
        value: an id of this program; empty: the parameter is removed.
    """
    change = f"p.set('{quote(name, '')}', '{quote(value, '')}')" if value else f"p.delete('{quote(name, '')}')"
    run(
        f"const p = new URLSearchParams(location.search); {change}; "
        "history.replaceState(history.state, '', `${location.pathname}${p.size ? '?' : ''}${p}`);"
    )
