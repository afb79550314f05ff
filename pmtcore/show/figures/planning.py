"""Pictures of a plan: predicted half-widths against the budget."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.methods.registry import method
from pmtcore.releases.planning import Planned
from pmtcore.show.figures.style import SAMPLING, finish, log_axis


def widths(found: Sequence[Planned], coefficient: str) -> go.Figure:
    """Predicted 95 % half-width of one coefficient for each method, and the sampling part alone."""
    figure = go.Figure()
    for id in dict.fromkeys(planned.method for planned in found):
        rows = [
            r for planned in found if planned.method == id for r in planned.rows() if r["coefficient"] == coefficient
        ]
        figure.add_scatter(
            x=[r["mu"] for r in rows],
            y=[r["half_width"] for r in rows],
            name=id,
            mode="lines",
            line={"color": method(id).colour, "width": 2.5, "dash": "dash" if id == "public-only" else "solid"},
            hovertemplate=f"{id}<br>mu %{{x:.3g}}: ± %{{y:.3g}}<extra></extra>",
        )
    private = [planned for planned in found if planned.method != "public-only"]
    if private:
        j = private[0].names.index(coefficient)
        level = 1.96 * float(private[0].prediction.sampling[j])
        ends = [min(p.mu for p in found), max(p.mu for p in found)]
        line = {"color": SAMPLING, "width": 2, "dash": "dot"}
        figure.add_scatter(x=ends, y=[level, level], mode="lines", name="sampling alone, no privacy", line=line)
    log_axis(figure, "x")
    log_axis(figure, "y")
    return finish(figure, "total budget mu", f"predicted 95 % half-width of {coefficient}", 420)


def table(found: Sequence[Planned]) -> pd.DataFrame:
    """The same figures in rows, all coefficients."""
    return pd.DataFrame([row for planned in found for row in planned.rows()])
