"""The attacker's point against the trade-off curve of the claim."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.lab.audit import Audit, curve_points
from pmtcore.show.figures.style import AFTER, BEFORE, QUIET, finish


def points(found: Audit) -> go.Figure:
    """Largest detections that the claim allows, guessing, and the test that the audit counted."""
    figure = go.Figure()
    alarms, detections = curve_points(found)
    line = {"color": AFTER, "width": 2.5}
    figure.add_scatter(x=alarms, y=detections, mode="lines", name="most that the claim allows", line=line)
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="guessing", line={"color": QUIET, "dash": "dot"})
    figure.add_scatter(
        x=[found.false_alarms],
        y=[found.detections],
        mode="markers",
        name="the audit's test",
        marker={"size": 14, "color": BEFORE, "symbol": "star"},
    )
    return finish(figure, "false alarms", "detections", 360)


def table(found: Sequence[Audit]) -> pd.DataFrame:
    """One row for each audit."""
    columns = {
        "method": "method",
        "claimed": "claimed mu",
        "lower_bound": "lower bound",
        "smallest_found": "smallest violation found",
        "trials": "trials",
        "pair": "worst pair",
        "verdict": "verdict",
    }
    return pd.DataFrame([entry.as_dict() for entry in found], columns=list(columns)).rename(columns=columns)
