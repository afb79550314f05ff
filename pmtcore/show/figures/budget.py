"""Pictures of the ledger."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from pmtcore.ledger.log import Account
from pmtcore.show.figures.style import AFTER, BEFORE, QUIET, finish


def spends(account: Account) -> go.Figure:
    """Total mu after each spend, and the cap."""
    figure, total, totals = go.Figure(), 0.0, []
    for entry in account.entries:
        total = math.hypot(total, entry.counted)
        totals.append(total)
    count = list(range(1, len(totals) + 1))
    figure.add_scatter(
        x=[0, *count],
        y=[0.0, *totals],
        name="spent in all",
        mode="lines+markers",
        line={"color": AFTER, "width": 2.5, "shape": "hv"},
        hovertemplate="after spend %{x}: mu %{y:.3g}<extra></extra>",
    )
    if account.cap is not None:
        line = {"color": BEFORE, "width": 2, "dash": "dash"}
        ends = [0, max(len(totals), 1)]
        figure.add_scatter(x=ends, y=[account.cap] * 2, name="cap", mode="lines", line=line)
    figure.update_xaxes(dtick=1 if len(totals) < 20 else None, gridcolor=QUIET)
    return finish(figure, "spends", "total mu", 300)


def table(account: Account) -> pd.DataFrame:
    """One row for each spend."""
    columns = ["at", "method", "mu", "neighbours", "state", "standing", "purpose", "key"]
    return pd.DataFrame([entry.as_dict() for entry in account.entries], columns=columns)
