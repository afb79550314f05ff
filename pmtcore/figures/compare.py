"""The picture of a comparison: error against budget."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.experiments import Summary
from pmtcore.figures.style import finish, log_axis, translucent
from pmtcore.registry import method


def comparison(summaries: Sequence[Summary]) -> go.Figure:
    """Median error with the 10 to 90 % band of each method against the total budget, both axes log."""
    figure = go.Figure()
    for id in dict.fromkeys(summary.method for summary in summaries):
        rows = sorted((s for s in summaries if s.method == id), key=lambda s: s.mu)
        if all(row.error_median <= 0 for row in rows):
            continue  # the reference itself has no place on a log axis
        _draw(figure, id, rows)
    log_axis(figure, "x")
    log_axis(figure, "y")
    return finish(figure, "total budget mu", "distance to the fit without privacy", 420)


def _draw(figure: go.Figure, id: str, rows: Sequence[Summary]) -> None:
    entry = method(id)
    x = [row.mu for row in rows]
    band = {"x": x, "mode": "lines", "line": {"width": 0}, "legendgroup": id, "showlegend": False, "hoverinfo": "skip"}
    figure.add_scatter(y=[row.error_high for row in rows], **band)
    fill = translucent(entry.colour, 0.18)
    figure.add_scatter(y=[row.error_low for row in rows], fill="tonexty", fillcolor=fill, **band)
    figure.add_scatter(
        x=x,
        y=[row.error_median for row in rows],
        name=id,
        legendgroup=id,
        mode="lines+markers",
        line={"color": entry.colour, "width": 2.5, "dash": "dash" if id == "public-only" else "solid"},
        marker={"size": 7, "color": entry.colour},
    )


def comparison_table(summaries: Sequence[Summary]) -> pd.DataFrame:
    """The same figures in rows."""
    return pd.DataFrame([summary.as_dict() for summary in summaries])
