"""The picture of a comparison: error against budget."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.experiments import Summary
from pmtcore.figures.style import finish, log_axis, translucent
from pmtcore.registry import method

_SYMBOLS = ("circle", "square", "triangle-up", "x", "star", "cross", "pentagon", "triangle-down", "hexagram")
_COLUMNS = {
    "method": "method",
    "mu": "total mu",
    "error_median": "median",
    "error_low": "10 %",
    "error_high": "90 %",
    "error_mean": "mean",
    "error_sd": "sd",
    "trials": "trials",
}


def comparison(summaries: Sequence[Summary]) -> go.Figure:
    """Median error with the 10 to 90 % band of each method against the total budget, both axes log."""
    figure = go.Figure()
    for at, id in enumerate(dict.fromkeys(summary.method for summary in summaries)):
        rows = sorted((s for s in summaries if s.method == id), key=lambda s: s.mu)
        if id != "non-private":  # the reference itself has no place on a log axis
            _draw(figure, id, rows, _SYMBOLS[at % len(_SYMBOLS)])
    log_axis(figure, "x")
    log_axis(figure, "y")
    return finish(figure, "total budget mu", "distance to the fit without privacy", 420)


def _draw(figure: go.Figure, id: str, rows: Sequence[Summary], symbol: str) -> None:
    entry, flat = method(id), id == "public-only"
    x = [row.mu for row in rows]
    band = {"x": x, "mode": "lines", "line": {"width": 0}, "legendgroup": id, "showlegend": False, "hoverinfo": "skip"}
    if not flat:  # it reads no private row, so all trials are the same
        figure.add_scatter(y=[row.error_high for row in rows], **band)
        fill = translucent(entry.colour, 0.18)
        figure.add_scatter(y=[row.error_low for row in rows], fill="tonexty", fillcolor=fill, **band)
    figure.add_scatter(
        x=x,
        y=[row.error_median for row in rows],
        name=id,
        legendgroup=id,
        mode="lines" if flat and len(rows) > 1 else "lines+markers",
        line={"color": entry.colour, "width": 2.5, "dash": "dash" if flat else "solid"},
        marker={"size": 8, "color": entry.colour, "symbol": symbol},
        hovertemplate=f"{id}<br>mu = %{{x:.3g}}<br>median distance %{{y:.3g}}<extra></extra>",
    )


def comparison_table(summaries: Sequence[Summary]) -> pd.DataFrame:
    """The same figures in rows: distances to the fit without privacy over the trials."""
    rows = [summary.as_dict() for summary in summaries]
    return pd.DataFrame(rows, columns=list(_COLUMNS)).rename(columns=_COLUMNS)
