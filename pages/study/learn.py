"""Learn: guided demos, each with a knob, a picture and one sentence."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from pages.common.widgets import chart
from pmtcore.base.records import Label
from pmtcore.lab import attacks, lessons
from pmtcore.lab.faults import FAULTS
from pmtcore.show.figures import audit as audits
from pmtcore.show.figures import learn as figures


def whitening() -> None:
    """A needle becomes a ball."""
    a, b = st.columns(2)
    ratio = a.select_slider("How long is the needle?", [2, 5, 10, 30, 100], 30, key="learn-ratio")
    rows = b.select_slider("Public rows", [4, 10, 30, 100, 1000], 30, key="learn-rows")
    found = lessons.whitening(float(ratio), int(rows))
    st.markdown(f"**{found.sentence}**")
    table = figures.points_table("before", found.before, "after", found.after)
    chart(figures.clouds(found), "learn-clouds", "Rows before and after whitening", table, Label.PUBLIC)


def inverse() -> None:
    """Noise and the inverse of an ill-conditioned matrix."""
    a, b = st.columns(2)
    ratio = a.select_slider("How ill-conditioned?", [1, 3, 10, 30], 10, key="learn-inverse")
    mu = b.select_slider("Budget mu", [0.1, 0.3, 1.0, 3.0, 10.0], 1.0, key="learn-mu")
    found = lessons.inverse(float(ratio), float(mu))
    st.markdown(f"**{found.sentence}**")
    table = figures.points_table("as it is", found.plain, "whitened", found.whitened)
    chart(figures.solutions(found), "learn-slopes", "Slopes of repeated releases around the truth", table, Label.PUBLIC)


def radius() -> None:
    """Too small, too large."""
    a, b = st.columns(2)
    chosen = a.slider("Radius", 0.5, 12.0, 6.0, 0.1, key="learn-radius")
    mu = b.select_slider("Budget mu", [0.1, 0.3, 1.0, 3.0], 0.3, key="learn-radius-mu")
    found = lessons.radius(chosen, float(mu))
    st.markdown(f"**{found.sentence}**")
    chart(figures.radii(found), "learn-radii", "Error along the radius", figures.radii_table(found), Label.PUBLIC)


def composition() -> None:
    """Budgets add up in squares."""
    a, b = st.columns(2)
    mu = a.slider("mu of each release", 0.1, 2.0, 0.5, 0.1, key="learn-each")
    count = b.slider("Releases", 1, 50, 10, key="learn-count")
    total, added, words = lessons.composition(mu, count)
    st.markdown(f"**{words}**")
    table = pd.DataFrame({"composed": total, "simply added": added})
    chart(figures.budgets(total, added), "learn-budgets", "Total mu after each release", table, Label.PUBLIC)


def trust() -> None:
    """Central against local."""
    n = st.select_slider("People", [100, 1000, 10_000, 100_000, 1_000_000], 10_000, key="learn-n")
    central, local, words = lessons.central_and_local(int(n), 1.0)
    st.markdown(f"**{words}**")
    a, b = st.columns(2)
    a.metric("With a curator", f"± {central:.2g}")
    b.metric("On every device", f"± {local:.2g}")
    st.page_link("pages/study/local.py", label="The local model on a table", icon=":material/smartphone:")


def leaks() -> None:
    """Watch an attacker win."""
    demos = {"own-radius": FAULTS["own-radius"].words, "bottom-symbol": FAULTS["bottom-symbol"].words}
    id = st.segmented_control(
        "Mistake", list(demos), default="own-radius", format_func=demos.__getitem__, key="learn-leak", required=True
    )
    found = FAULTS[id or "own-radius"].run(1.0, 10_000)
    st.markdown(f"**{found.verdict[0].upper()}{found.verdict[1:]}.**")
    table = audits.table([found])
    chart(audits.points(found), "learn-attack", "The attacker's test against the claim", table, Label.PUBLIC)


def retrieval() -> None:
    """When a budget really comes back."""
    printed, ours = attacks.attack("vs-plus"), attacks.attack("vs-plus", "napp-public")
    st.markdown(f"**As published, with weights or support from the private fit:** {printed.sentence}")
    st.markdown(f"**With public weights:** {ours.sentence}")
    st.page_link("pages/study/retrieval.py", label="The parts of a budget", icon=":material/savings:")


DEMOS = {
    "Whitening": whitening,
    "Noise and the inverse": inverse,
    "The radius": radius,
    "Composition": composition,
    "Whom to trust": trust,
    "Leaks": leaks,
    "Retrieved budget": retrieval,
}

st.title("Learn")
st.markdown("Move a knob, look at the picture, take one sentence away. All of it is synthetic.")
chosen = st.segmented_control("Demo", list(DEMOS), default="Whitening", key="learn-demo", required=True)
DEMOS[chosen or "Whitening"]()
