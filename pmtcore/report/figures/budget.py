"""Pictures of the ledger."""

from __future__ import annotations

import math

import pandas as pd
import plotly.graph_objects as go

from pmtcore.base.numbers import figure as said
from pmtcore.ledger.log import Account
from pmtcore.releases.record import Release
from pmtcore.report.figures.style import AFTER, BEFORE, PRIVACY, QUIET, SAMPLING, TRUNCATION, finish


def spends(account: Account) -> go.Figure:
    """Draw the total mu after each spend, and the cap."""
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
    """Return one row for each spend."""
    columns = ["at", "method", "mu", "neighbours", "state", "standing", "purpose", "key"]
    return pd.DataFrame([entry.as_dict() for entry in account.entries], columns=columns)


def retrieved(release: Release) -> go.Figure:
    """Draw the parts of the planned epsilon of a perturbed objective as one stacked bar."""
    drawn = go.Figure()
    for name, value, colour in _retrieved_parts(release):
        drawn.add_bar(x=[value], y=["epsilon"], name=name, orientation="h", marker={"color": colour})
    drawn.update_layout(barmode="stack")
    return finish(drawn, "epsilon", "", 180)


def _retrieved_parts(release: Release) -> list[tuple[str, float, str]]:
    planned, jacobian, back = (_epsilon(release, part) for part in ("planned", "jacobian", "retrieved"))
    return [
        ("noise, as planned", max(planned - jacobian - back, 0.0), PRIVACY),
        ("Jacobian", jacobian, TRUNCATION),
        ("retrieved", back, SAMPLING),
    ]


def _epsilon(release: Release, part: str) -> float:
    return float(release.facts.as_dict().get(f"{part}_epsilon", 0.0))


def retrieved_table(release: Release) -> pd.DataFrame:
    """Return the parts of the planned epsilon in rows."""
    return pd.DataFrame([(name, value) for name, value, _ in _retrieved_parts(release)], columns=["part", "epsilon"])


def retrieved_words(release: Release) -> str:
    """Describe the retrieved epsilon in one sentence."""
    back = _epsilon(release, "retrieved")
    if back <= 0:
        return "Nothing was retrieved: the Jacobian takes all that was planned for it."
    return f"Epsilon {said(back)} was planned for the Jacobian and provably not needed; a public number."
