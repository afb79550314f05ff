"""What all pictures share."""

from __future__ import annotations

import plotly.graph_objects as go

from pmtcore.report.figures.style import name_clearest


def test_a_legend_names_the_lines_that_reach_furthest():
    """Of a hundred lines twenty are named; of twenty all are, in their own colours."""
    for many, named in ((100, 20), (20, 20)):
        figure = go.Figure([go.Scatter(x=[0, 1], y=[0, -at], mode="lines", name=f"x{at}") for at in range(many)])
        name_clearest(figure)
        shown = [trace.name for trace in figure.data if trace.showlegend is not False]
        assert shown == [f"x{at}" for at in range(many - named, many)]


def test_named_lines_are_clear_of_zero_and_unlike_each_other():
    """Of many lines those whose band has 0 are grey, however far they reach; no two others are alike."""
    figure = go.Figure([go.Scatter(x=[0, 1], y=[0, at], mode="lines", name=f"x{at}") for at in range(60)])
    name_clearest(figure, [2.0 if at % 4 == 0 else 0.5 for at in range(60)])
    named = [trace for trace in figure.data if trace.showlegend is not False]
    assert [trace.name for trace in named] == [f"x{at}" for at in range(0, 60, 4)]
    assert len({(trace.line.color, trace.line.dash) for trace in named}) == len(named)
