"""Lessons on the papers' other ideas: each a knob, a picture, one sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from pmtcore.papers import lessons_papers as lessons
from pmtcore.papers.figures import learn as figures

Knob = Callable[[Any, str, Sequence[Any], Any, str, str], Any]
Show = Callable[[str, go.Figure, str, str, pd.DataFrame], None]
_MU = "How much one person's row can change what is seen; smaller protects better."


def newton(knob: Knob, show: Show) -> None:
    """Draw the lesson on noisy Newton steps."""
    a, b = st.container(), st.container()
    mu = knob(a, "Total budget mu", [0.3, 1.0, 3.0, 10.0], 3.0, "newton-mu", _MU)
    steps = knob(b, "Steps", list(range(1, 13)), 6, "steps", "Each spends its share of the budget.")
    found = lessons.newton(float(mu), int(steps))
    figure = figures.line(found, "Newton steps", "distance to the fit without privacy", log="y")
    show(found.sentence, figure, "learn-newton", "Error against steps", figures.line_table(found, "steps"))


def objective(knob: Knob, show: Show) -> None:
    """Draw the lesson on one draw of noise in the objective."""
    a, b = st.container(), st.container()
    mu = knob(a, "Budget mu", [0.1, 0.3, 1.0, 3.0], 0.3, "objective-mu", _MU)
    times = knob(b, "Ridge over the least", [1, 3, 10, 30, 100, 300], 1, "ridge", "1: the least that is private.")
    found = lessons.objective(float(mu), float(times))
    figure = figures.line(found, "ridge over the least", "how far the fit moves")
    show(found.sentence, figure, "learn-objective", "Noise and ridge", figures.line_table(found, "ridge"))


def moor(knob: Knob, show: Show) -> None:
    """Draw the lesson on one weight for two purposes."""
    a, b = st.container(), st.container()
    lam = knob(a, "Lasso, Lambda", [0.2, 0.5, 1.0, 2.0], 1.0, "lam", "The penalty that is wanted.")
    floor = knob(b, "Ridge that privacy needs, Lambda0", [0.25, 0.5, 1.0, 2.0, 4.0], 1.0, "floor", "See the glossary.")
    found = lessons.moor(float(lam), float(floor))
    figure = figures.line(found, "coefficient", "penalty", log="")
    show(found.sentence, figure, "learn-moor", "Penalty realized", figures.line_table(found, "coefficient"))
    st.page_link("pages/study/gallery.py", label="The published picture", icon=":material/collections:")


def response_scale(knob: Knob, show: Show) -> None:
    """Draw the lesson on how long to make the response."""
    a, b = st.container(), st.container()
    c = knob(a, "Response scale c", [0.3, 1.0, 1.4, 2.0, 2.8, 5.0, 10.0], 1.0, "scale", "Of whitened residuals.")
    ratio = knob(b, "Row over response, Rx/Rr", [1.0, 2.0, 3.0, 5.0], 3.0, "over", "Lengths of the longest.")
    found = lessons.response_scale(float(c), float(ratio))
    figure = figures.line(found, "response scale c", "noise, times its least")
    show(found.sentence, figure, "learn-scale", "Noise along the scale", figures.line_table(found, "c"))


def looseness(knob: Knob, show: Show) -> None:
    """Draw the lesson on theory against measurement."""
    a, b = st.container(), st.container()
    d = knob(a, "Columns", [3, 5, 10, 20], 10, "bound-columns", "Features of the table.")
    n = knob(b, "Private rows", [3000, 10_000, 30_000, 100_000, 1_000_000], 100_000, "bound-rows", "At mu = 1 a part.")
    found = lessons.looseness(int(d), int(n))
    figure = figures.line(found, "private rows", "error of the inverse moment")
    show(found.sentence, figure, "learn-bounds", "Proved and measured", figures.line_table(found, "rows"))
    st.page_link("pages/study/gallery.py", label="All bounds on your table", icon=":material/straighten:")


DEMOS: dict[str, Callable[[Knob, Show], None]] = {
    "newton": newton,
    "objective": objective,
    "moor": moor,
    "response-scale": response_scale,
    "bounds": looseness,
}
