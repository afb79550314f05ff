"""Pictures of the Release page: predicted errors, trade-off, coefficients, ridge path, moment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.budgets import attacker_power
from pmtcore.figures.style import AFTER, PRIVACY, QUIET, SAMPLING, finish, log_axis, translucent
from pmtcore.moments import INTERCEPT
from pmtcore.records import Release
from pmtcore.registry import Prediction
from pmtcore.release import Preview

_PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#882255",
    "#999933",
    "#44AA99",
    "#888888",
)
_MOST = 40


def predicted(preview: Preview) -> go.Figure | None:
    """Predicted standard errors, privacy and sampling, relative to those of the public fit alone."""
    if preview.predicted is None or preview.public_alone is None:
        return None
    names, ratios = list(preview.names)[:_MOST], _relative(preview.predicted, preview.public_alone)
    figure = go.Figure()
    for name, colour in (("privacy", PRIVACY), ("sampling", SAMPLING)):
        figure.add_bar(y=names, x=ratios[name][:_MOST], name=name, orientation="h", marker={"color": colour})
    figure.add_vline(x=1, line={"color": QUIET, "dash": "dash"}, annotation_text="public fit alone")
    figure.update_layout(barmode="group", bargap=0.35)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(rangemode="tozero")
    return finish(figure, "standard error, public fit alone = 1", "", _tall(len(names)))


def predicted_table(preview: Preview) -> pd.DataFrame:
    """Predicted standard errors in the units of the table."""
    if preview.predicted is None:
        return pd.DataFrame({"coefficient": list(preview.names)})
    table = pd.DataFrame(
        {
            "coefficient": list(preview.names),
            "privacy sd": preview.predicted.privacy,
            "sampling sd": preview.predicted.sampling,
        }
    )
    if preview.public_alone is not None:
        table["public fit alone sd"] = preview.public_alone.total
    return table


def _relative(found: Prediction, alone: Prediction) -> dict[str, np.ndarray]:
    unit = np.maximum(alone.total, 1e-300)
    return {"privacy": found.privacy / unit, "sampling": found.sampling / unit}


def tradeoff(mu: float) -> go.Figure:
    """What the best attacker detects at each rate of false alarms (the trade-off curve of mu-GDP)."""
    alarms = np.linspace(0.0005, 0.9995, 400)
    at_five = float(attacker_power(mu, 0.05))
    figure = go.Figure()
    figure.add_scatter(
        x=alarms, y=attacker_power(mu, alarms), name="best attacker", mode="lines", line={"color": AFTER, "width": 3}
    )
    figure.add_scatter(x=[0, 1], y=[0, 1], name="guessing", mode="lines", line={"color": QUIET, "dash": "dash"})
    figure.add_scatter(
        x=[0.05],
        y=[at_five],
        mode="markers",
        marker={"size": 11, "color": "#D55E00"},
        name=f"{at_five:.0%} at 5 % false alarms",
    )
    figure.update_xaxes(tickformat=".0%", range=[0, 1])
    figure.update_yaxes(tickformat=".0%", range=[0, 1.02])
    return finish(figure, "false alarms", "detections", 320)


def tradeoff_table(mu: float) -> pd.DataFrame:
    """A few points of the curve."""
    alarms = np.array([0.01, 0.05, 0.1, 0.2, 0.5])
    return pd.DataFrame({"false alarms": alarms, "detections, at most": attacker_power(mu, alarms)})


def coefficients(release: Release) -> go.Figure:
    """Coefficients with their bands, each times the public spread of its column; the intercept is left out."""
    shown = [j for j, name in enumerate(release.names) if name != INTERCEPT][:_MOST]
    names = [release.names[j] for j in shown]
    spread = np.asarray(release.facts["spread"])[shown]
    at = release.coefficients[shown] * spread
    figure = go.Figure()
    if release.bands is not None:
        bands = release.bands
        low, high = bands.low[shown] * spread, bands.high[shown] * spread
        figure.add_scatter(**_segments(low, high, names), name="95 % band", line={"color": QUIET, "width": 2})
        half = 1.96 * bands.privacy[shown] * spread
        figure.add_scatter(
            **_segments(at - half, at + half, names),
            name="of this, privacy noise",
            line={"color": translucent(PRIVACY, 0.45), "width": 9},
        )
    figure.add_scatter(
        x=at, y=names, mode="markers", name="released", marker={"size": 10, "color": PRIVACY, "line": {"width": 0}}
    )
    if "public_fit" in release.facts:
        figure.add_scatter(
            x=np.asarray(release.facts["public_fit"])[shown] * spread,
            y=names,
            mode="markers",
            name="public fit alone",
            marker={"size": 9, "color": "#009E73", "symbol": "diamond-open", "line": {"width": 2}},
        )
    figure.add_vline(x=0, line={"color": QUIET, "width": 1})
    figure.update_yaxes(autorange="reversed", categoryorder="array", categoryarray=names)
    unit = f"change of {release.target} for one standard deviation of the feature"
    return finish(figure, unit, "", _tall(len(names)))


def _segments(low: np.ndarray, high: np.ndarray, names: Sequence[str]) -> dict[str, object]:
    x = np.column_stack([low, high, np.full(len(low), np.nan)]).ravel()
    return {"x": x, "y": [name for name in names for _ in range(3)], "mode": "lines", "hoverinfo": "skip"}


def coefficients_table(release: Release) -> pd.DataFrame:
    """Coefficients and bands in the units of the table."""
    table = pd.DataFrame({"coefficient": list(release.names), "value": release.coefficients})
    if release.bands is not None:
        table["privacy sd"] = release.bands.privacy
        table["sampling sd"] = release.bands.sampling
        if release.bands.truncation is not None:
            table["truncation sd"] = release.bands.truncation
        table["low (95 %)"] = release.bands.low
        table["high (95 %)"] = release.bands.high
    return table


def ridge_path(release: Release, lam: float | None = None) -> go.Figure:
    """Standardized coefficients along the ridge path: read off the one release, at no further cost."""
    table = ridge_path_table(release)
    spread = dict(zip(release.names, release.facts["spread"], strict=True))
    figure = go.Figure()
    features = [name for name in release.names if name != INTERCEPT][:_MOST]
    for j, name in enumerate(features):
        line = {"color": _PALETTE[j % len(_PALETTE)], "width": 2, "dash": ("solid", "dash", "dot")[j // 10 % 3]}
        figure.add_scatter(x=table["penalty"], y=table[name] * spread[name], name=name, mode="lines", line=line)
    if lam:
        figure.add_vline(x=lam, line={"color": QUIET, "dash": "dash"})
    figure.add_hline(y=0, line={"color": QUIET, "width": 1})
    log_axis(figure, "x")
    return finish(figure, "ridge penalty", "standardized coefficient", 380)


def ridge_path_table(release: Release) -> pd.DataFrame:
    """The path in rows: penalty, then coefficients in the units of the table."""
    path = release.released["ridge_path"]
    table = pd.DataFrame(path["coefficients"], columns=list(release.names))
    table.insert(0, "penalty", path["lam"])
    return table


def moment(release: Release) -> go.Figure:
    """A released second moment as a correlation-like picture: entries over the root of their diagonals."""
    matrix = np.asarray(release.released["moment"])
    scale = np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    names = release.released["names"]
    figure = go.Figure(
        go.Heatmap(z=matrix / np.outer(scale, scale), x=names, y=names, zmin=-1, zmax=1, colorscale="RdBu", zmid=0)
    )
    figure.update_yaxes(autorange="reversed")
    return finish(figure, "", "", 440)


def moment_table(release: Release) -> pd.DataFrame:
    """The released moment with its names."""
    names = release.released["names"]
    return pd.DataFrame(release.released["moment"], columns=names, index=names).reset_index(names="column")


def _tall(rows: int) -> int:
    return 140 + 30 * max(rows, 3)
