"""Start: an example that changes with the budget, and links to the next pages."""

import streamlit as st

from pages.elements.controls import control
from pages.elements.session import session
from pages.elements.widgets import badge, picture
from pmtcore.auditing.opening_picture import FIRST_BUDGET, stored_opening
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import rounded, unbroken
from pmtcore.report.figures import opening as figures
from pmtcore.report.strength import strength


def entrances() -> None:
    """Draw buttons that lead to the next pages."""
    *places, teach = st.columns(4)
    sources = {"start-own": "upload", "start-known": "name", "start-demo": "demo"}
    for place, (id, source) in zip(places, sources.items(), strict=True):
        if place.button(**control(id)):
            st.session_state["source"] = source
            st.switch_page("pages/work/data.py")
    if teach.button(**control("start-teach")):
        st.switch_page("pages/study/learn.py")
    opened = session().tables
    if opened is not None and not opened.may_be_studied:
        page = "report" if session().spent_releases else "release" if "planned" in st.session_state else "data"
        label = f"Go on with {plain(opened.title)}: {page.capitalize()}"
        st.page_link(f"pages/work/{page}.py", label=label, icon=":material/arrow_forward:")


st.title("Publish a regression on private rows, with a guarantee")
shown = stored_opening()
with st.container(key="start"):
    with st.container(key="start-ways"):
        entrances()
    mu = st.select_slider(**control("start-mu", value=FIRST_BUDGET), options=shown.budgets, format_func=rounded)
    words = unbroken(f"**{figures.words(shown, mu)}** {strength(mu).sentence}")
    st.markdown(f"{badge(Label.LAB)} An example on synthetic rows. {words}")
    wide, narrow = st.columns([3, 2], gap="large")
    with wide:
        picture(
            figures.coefficients(shown, mu),
            "start-coefficients",
            "Private, public and released coefficients with 95 % bands",
        )
    with narrow:
        picture(figures.errors(shown, mu), "start-errors", "Width of the typical band against the budget")
st.caption(PageWords.KNOWN_TABLES.sentence())
