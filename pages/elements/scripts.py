"""The scripts that a page sends to the browser: fixed texts, nothing of a table's or a user's among them."""

from urllib.parse import quote

import streamlit as st

CLOSE_MENU = (
    "if (window.innerWidth <= 768) {const b = document.querySelector("
    "'[data-testid=\"stSidebarCollapseButton\"] button'); if (b) b.click();}"
)
# A button that led to another page is gone there: its heading takes the keyboard, unless something has it.
TO_TOP = (
    "document.querySelector('[data-testid=\"stMain\"]')?.scrollTo(0, 0); setTimeout(() => {"
    "const h = document.querySelector('[data-testid=\"stMain\"] h1'); "
    "if (h && document.activeElement === document.body) {h.tabIndex = -1; h.focus({preventScroll: true});}}, 500);"
)
TO_VERDICT = (
    "const v = document.querySelector('.st-key-verdict'); if (v) {v.tabIndex = -1; v.focus({preventScroll: true}); "
    "document.querySelector('[data-testid=\"stMain\"]').scrollTo(0, 0);}"
)
# A tab that has own tables open remembers that, and nothing else, until they are gone: an address that is typed in
# begins a new session, and the address that says so is taken in its place.
HAVE_OWN = "sessionStorage.setItem('second-moment', 'own');"
FORGET_OWN = "sessionStorage.removeItem('second-moment');"
REMEMBER_OWN = (
    "if (sessionStorage.getItem('second-moment')) {sessionStorage.removeItem('second-moment'); "
    "const p = new URLSearchParams(location.search); p.set('table', 'own'); "
    "location.replace(`${location.pathname}?${p}`);}"
)


def place() -> None:
    """Keep a place for scripts above a page, in every run of it.

    A block that came and went would move all that is below it: the browser draws that anew, and whatever had the
    keyboard loses it.
    """
    st.session_state["scripts-place"] = st.container(key="script-place")


def run(script: str) -> None:
    """Let the browser run a script, in a place that takes no room (assets/style.css).

    It stands in a block of its own: what it declares would else be there already when it runs again, an error.

    Args:
        script: one of the above; a browser runs the same text in the same place once, so each run has its number.
    """
    number = st.session_state["scripts"] = st.session_state.get("scripts", 0) + 1
    with st.session_state["scripts-place"], st.container(key=f"script-{number}"):
        st.html(f"<script>{{{script}}}//{number}</script>", unsafe_allow_javascript=True)


def address(name: str, value: str) -> None:
    """Let the address have a parameter without a new entry in the history: one press of the back button leads back.

    Streamlit's own query parameters make an entry for each change.

    Args:
        name: of the parameter.
        value: an id of ours; without one the parameter is taken away.
    """
    change = f"p.set('{quote(name, '')}', '{quote(value, '')}')" if value else f"p.delete('{quote(name, '')}')"
    run(
        f"const p = new URLSearchParams(location.search); {change}; "
        "history.replaceState(history.state, '', `${location.pathname}${p.size ? '?' : ''}${p}`);"
    )
