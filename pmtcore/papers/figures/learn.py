"""Pictures of the guided demonstrations."""

from __future__ import annotations

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pmtcore.base.numbers import rounded as said
from pmtcore.papers.lessons import Cloud, Radii, Solutions
from pmtcore.papers.lessons_methods import LessonCurve, RepeatedBands
from pmtcore.report.figures.style import AFTER, BEFORE, PRIVACY, QUIET, TRUNCATION, finish, log_axis

# Half of each axis of the clouds, and of one that has the longest cloud that a place of the knobs leaves.
_HALF_AXIS, _LONG_HALF_AXIS = 4.2, 6.7
# Radius of the noise, where a cloud's longest direction has a standard deviation of 1.
_NOISE, _NOISE_COLOUR = 0.6, "#D6478C"
_NO_HOVER = {"hovertemplate": None, "hoverinfo": "skip"}
# Public rows that are marked among the others: more would hide them.
_MOST_PUBLIC = 30
# A scale so many times as fine as the other one is said beside its axis.
_FINER = 2.0


def _step_up(value: float) -> float:
    """Return the next of 1, 2 and 5 times a power of ten: an axis that ends there stays where it is for most steps.

    >>> _step_up(0.3), _step_up(1.0), _step_up(7.0)
    (0.5, 1.0, 10.0)
    """
    if not (value > 0 and np.isfinite(value)):
        return 1.0
    power = 10.0 ** np.floor(np.log10(value))
    return float(next(k * power for k in (1, 2, 5, 10) if k * power >= value * (1 - 1e-9)))


def _steady_heights(figure: go.Figure, values: np.ndarray, log: bool) -> None:
    """Give the axis of heights ends that few steps of a knob change: tens in a logarithm, else 1, 2 or 5 of them.

    Args:
        figure: to be given them.
        values: all heights drawn.
        log: whether the axis is logarithmic.
    """
    known = values[np.isfinite(values)]
    if log and np.any(known > 0):
        ends = np.log10(known[known > 0])
        figure.update_yaxes(range=[np.floor(ends.min() + 1e-9), np.ceil(ends.max() - 1e-9)])
    elif not log and len(known) and known.min() >= 0:
        figure.update_yaxes(range=[0, 1.02 * _step_up(float(known.max()))])


def clouds(cloud: Cloud) -> go.Figure:
    """Draw both clouds beside each other, each with noise of one size around its middle.

    All axes are as long as each other, so that what looks longer is longer; they are longer where so few public rows
    were taken that the whitened cloud does not fit.
    """
    titles = ("Before", "After whitening")
    figure = make_subplots(1, 2, horizontal_spacing=0.2)
    around = np.linspace(0, 2 * np.pi, 60)
    for at, (points, public) in enumerate(((cloud.before, cloud.public_before), (cloud.after, cloud.public_after)), 1):
        place = {"row": 1, "col": at, "hovertemplate": "%{x:.2f}, %{y:.2f}<extra></extra>"}
        first = {"showlegend": at == 1, **place}
        marker = {"color": AFTER, "size": 5}
        figure.add_scatter(x=points[:, 0], y=points[:, 1], mode="markers", name="private rows", marker=marker, **first)
        shown = public[:_MOST_PUBLIC]
        more = f", the first {_MOST_PUBLIC}" if len(public) > len(shown) else ""
        # White inside, so that no ring is lost among dots; clear enough for the dots below.
        marker = {"size": 9, "color": "rgba(255,255,255,0.5)", "line": {"width": 2, "color": "#009E73"}}
        figure.add_scatter(
            x=shown[:, 0], y=shown[:, 1], mode="markers", name=f"public rows{more}", marker=marker, **first
        )
        edge = {"color": _NOISE_COLOUR, "width": 3}
        x, y = _NOISE * np.cos(around), _NOISE * np.sin(around)
        figure.add_scatter(x=x, y=y, mode="lines", name="noise, of one size", line=edge, **(first | _NO_HOVER))
    finish(figure, "", "", 420)
    figure.update_layout(legend={"y": 1.1}, margin={"t": 80})
    few = np.abs(np.vstack([cloud.after, cloud.public_after])).max() > _HALF_AXIS
    half = _LONG_HALF_AXIS if few else _HALF_AXIS
    for at, (anchor, towards) in enumerate((("x", "right"), ("x2", "left")), 1):
        over = {"xref": f"{anchor} domain", "x": 0.5, "yref": "paper", "y": 1.01, "yanchor": "bottom"}
        figure.add_annotation(text=titles[at - 1], showarrow=False, **over)
        square = {"range": [-half, half], "constrain": "domain", "col": at}
        figure.update_xaxes(constraintoward=towards, **square)
        figure.update_yaxes(scaleanchor=anchor, constraintoward="top", **square)
    return figure


def solutions(slopes: Solutions) -> go.Figure:
    """Draw slopes of repeated releases around the true ones."""
    figure = go.Figure()
    for name, points, colour in (("as it is", slopes.plain, BEFORE), ("whitened", slopes.whitened, AFTER)):
        figure.add_scatter(
            x=points[:, 0], y=points[:, 1], mode="markers", name=name, marker={"color": colour, "size": 5}
        )
    # Dark with a light edge: it lies among both clouds, in either theme.
    marker = {"color": "#1a1d21", "size": 15, "symbol": "x", "line": {"color": "#ffffff", "width": 2}}
    figure.add_scatter(x=[slopes.true[0]], y=[slopes.true[1]], mode="markers", name="truth", marker=marker)
    # Each axis is as long as its own slope needs: on the first one both clouds are alike, on the second they are not.
    reach = np.array([_step_up(1.2 * q) for q in np.quantile(np.abs(slopes.plain - slopes.true), 0.95, axis=0)])
    low, high = slopes.true - reach, slopes.true + reach
    figure.update_xaxes(range=[low[0], high[0]])
    figure.update_yaxes(range=[low[1], high[1]])
    finer = reach[1] / reach[0]
    scale = f", on a scale {said(finer, 2)} times as fine" if finer >= _FINER else ""
    # Room for half of the label at the right end, in large print too.
    return finish(figure, f"first slope{scale}", "second slope", 400).update_layout(margin={"r": 40})


def radii(errors: Radii) -> go.Figure:
    """Draw bias, noise and both along the radius, the chosen one marked."""
    figure = go.Figure()
    # The sum is drawn first and wider: where one part decides, both can be seen.
    lines = (
        ("both", errors.total, QUIET, 6.0),
        ("truncation", errors.bias, TRUNCATION, 2.5),
        ("noise", errors.noise, PRIVACY, 2.5),
    )
    for name, y, colour, width in lines:
        drawn = {"color": colour, "width": width}
        figure.add_scatter(x=errors.radius, y=y, mode="lines", name=name, line=drawn)
    style = {"color": BEFORE, "dash": "dash", "width": 2.5}
    figure.add_scatter(x=[errors.chosen] * 2, y=[1e-6, 1e2], mode="lines", name="this radius", line=style)
    log_axis(figure, "x")
    log_axis(figure, "y")
    figure.update_yaxes(range=[-6, 2])
    return finish(figure, "radius", "squared error", 380)


def budgets(total: np.ndarray, added: np.ndarray) -> go.Figure:
    """Draw composition against simple addition."""
    count, figure = list(range(1, len(total) + 1)), go.Figure()
    figure.add_scatter(x=count, y=total, mode="lines+markers", name="composed", line={"color": AFTER, "width": 2.5})
    figure.add_scatter(x=count, y=added, mode="lines", name="simply added", line={"color": QUIET, "dash": "dot"})
    _steady_heights(figure, added, log=False)
    return finish(figure, "releases", "total mu", 340)


def points_table(first: str, a: np.ndarray, second: str, b: np.ndarray) -> pd.DataFrame:
    """Return two clouds in rows."""
    parts = [pd.DataFrame(x, columns=["first", "second"]).assign(which=name) for name, x in ((first, a), (second, b))]
    return pd.concat(parts, ignore_index=True)


def radii_table(errors: Radii) -> pd.DataFrame:
    """Return the curves in rows."""
    return pd.DataFrame(
        {"radius": errors.radius, "truncation": errors.bias, "noise": errors.noise, "both": errors.total}
    )


_TONES = ((AFTER, "solid"), (BEFORE, "longdash"), ("#AA4499", "dashdot"))  # told apart without colour, too


def line(drawn: LessonCurve, x: str, y: str, log: str = "xy", *, guess: bool = False) -> go.Figure:
    """Draw curves along a knob, the chosen place marked."""
    figure = go.Figure()
    for at, (name, values) in enumerate(drawn.curves.items()):
        colour, dash = _TONES[at]
        style = {"color": colour, "width": 3, "dash": dash}
        figure.add_scatter(x=drawn.x, y=values, mode="lines", name=name, line=style)
    if guess:
        figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="guessing", line={"color": QUIET, "dash": "dot"})
    figure.add_vline(x=drawn.chosen, line={"color": QUIET, "dash": "dash"})
    for axis in log:
        log_axis(figure, axis)
    _steady_heights(figure, np.concatenate([np.asarray(v, dtype=float) for v in drawn.curves.values()]), "y" in log)
    figure.update_layout(showlegend=True)
    return finish(figure, x, y, 380)


def bands(intervals: RepeatedBands) -> go.Figure:
    """Draw repeated bands around the truth; those that miss it are dashed, in another colour."""
    figure = go.Figure()
    for hit, name, colour in ((True, "contains the truth", AFTER), (False, "misses it", "#D55E00")):
        at = np.flatnonzero(intervals.hit == hit)
        ends = np.column_stack(
            [intervals.at[at] - intervals.half, intervals.at[at] + intervals.half, np.full(len(at), np.nan)]
        ).ravel()
        style = {"color": colour, "width": 2.5, "dash": "solid" if hit else "dot"}
        figure.add_scatter(x=ends, y=np.repeat(at + 1, 3), mode="lines", name=name, line=style, hoverinfo="skip")
    figure.add_vline(x=0, line={"color": QUIET})
    return finish(figure, "released means with bands (truth: 0)", "repetition", 420)


def bands_table(intervals: RepeatedBands) -> pd.DataFrame:
    """Return the drawn bands in rows."""
    return pd.DataFrame(
        {
            "low": intervals.at - intervals.half,
            "released": intervals.at,
            "high": intervals.at + intervals.half,
            "contains the truth": intervals.hit,
        }
    )
