"""Small pictures, axes of shares, and the room that a picture keeps for what is still computed."""

import re

import numpy as np
import plotly.graph_objects as go
import pytest

from benchmarks.thumbnails import of_figure
from pmtcore.report.figures.planning import widths
from pmtcore.report.figures.style import finish, log_axis
from pmtcore.report.figures.thumbnail import Line, thumbnail


@pytest.mark.parametrize(
    ("x", "y"),
    [([1, 2, 3], [1, 10, 100]), ([1, 1], [5, 5]), ([1, 2, 3], [np.nan, 2, np.inf]), ([2], [3]), ([], [])],
)
@pytest.mark.parametrize("log", [False, True])
def test_every_place_is_inside_the_picture(x, y, log):
    """Gaps, one point, equal points and none: a picture without an error, no place outside it."""
    drawn = thumbnail([Line(np.array(x, float), np.array(y, float), "#0072B2")], "words", log, log)
    numbers = [float(n) for points in re.findall(r'points="([^"]*)"', drawn) for n in re.split("[ ,]", points)]
    assert drawn.startswith("<svg") and all(0 <= n <= 200 for n in numbers) and "nan" not in drawn


def test_names_in_a_small_picture_are_shown_as_written():
    """A name out of a file cannot end the attribute it stands in."""
    drawn = thumbnail([Line(np.arange(2.0), np.arange(2.0), '"><script>')], '"><script>alert(1)')
    assert "<script" not in drawn


def test_a_figure_becomes_small_without_its_bands():
    """Lines and marks stay, invisible edges of bands do not; names of places count."""
    figure = go.Figure()
    figure.add_scatter(x=[1, 2], y=[1.0, 2.0], mode="lines", line={"width": 0})
    figure.add_scatter(x=["a", "b"], y=np.array([1.0, 2.0]), mode="lines", line={"color": "#111111"})
    figure.add_scatter(x=[1, 2], y=[2, 1], mode="markers", marker={"color": "#222222"})
    drawn = of_figure(figure.to_plotly_json(), "words")
    assert drawn.count("<polyline") == 1 and drawn.count("<circle") == 2


@pytest.mark.parametrize("title", ["share of rows outside", "detections", "accuracy on the test rows"])
def test_axes_of_shares_stay_within_0_and_1(title):
    """Neither a band nor a margin is drawn below 0 or above 1; other axes are free."""
    drawn = finish(go.Figure(go.Scatter(x=[0, 5], y=[-0.2, 1.3])), "steps", title)
    assert drawn.layout.yaxis.minallowed == 0 and drawn.layout.yaxis.maxallowed == 1
    assert drawn.layout.xaxis.maxallowed is None


def test_a_log_axis_of_shares_ends_at_1():
    """Its limits are powers of ten: as 0 and 1 they would be 1 and 10, where no share is drawn."""
    drawn = go.Figure(go.Scatter(x=[0.4, 1.0], y=[0.2, 0.3]))
    log_axis(drawn, "y")
    finish(drawn, "epsilon", "share of new rows misclassified")
    assert drawn.layout.yaxis.minallowed is None and drawn.layout.yaxis.maxallowed == 0


def test_a_plan_keeps_room_for_what_is_still_computed():
    """With the first curve and with all of them axes and the room around them are the same."""
    from pages.elements.session import demo_tables
    from pmtcore.releases.planning import plan

    tables = demo_tables()
    public = tables.problem(tables.first).public
    ids = ["joint-pmt", "pmt-ridge", "public-only"]
    planned = plan(public, 5000, [0.1, 1.0, 10.0], ids)
    first = [one for one in planned if one.mu == 1.0 and one.method != "pmt-ridge"]
    early, late = (widths(result, "x1", 1.0) for result in (first, planned))
    assert early.layout.margin == late.layout.margin and early.layout.height == late.layout.height
    assert early.layout.xaxis.range == late.layout.xaxis.range
    assert early.layout.yaxis.range is not None and early.layout.yaxis.range == late.layout.yaxis.range
