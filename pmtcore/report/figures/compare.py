"""The picture of a comparison: error against budget."""

import math
from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.auditing.comparison import AXES, Summary
from pmtcore.base.numbers import plural
from pmtcore.methods.registry import method, of_role
from pmtcore.report.figures.style import BAND_EDGE, BAND_SHADE, finish, log_axis, rgba
from pmtcore.report.names import title

_SYMBOLS = ("circle", "square", "triangle-up", "x", "star", "cross", "pentagon", "triangle-down", "hexagram")
# Kinds of errors: Euclidean distances, or the error of the typical coefficient.
DISTANCE = "distance to the fit without privacy, all coefficients together"
TYPICAL = "distance of the typical coefficient, in standard errors"
_ROUNDING = 1e-12  # spread relative to the mean below which trials count as equal
_COLUMNS = {
    "method": "method",
    "mu": "total mu",
    "x": "place on the axis",
    "error_median": "median",
    "error_low": "10 %",
    "error_high": "90 %",
    "error_mean": "mean",
    "error_sd": "sd",
    "trials": "trials",
}
# Names of a legend that fit above a picture, and pixels that each of more takes from it.
_FEW, _LEGEND = 4, 14


def comparison(
    summaries: Sequence[Summary],
    axis: str = "budget",
    mean: bool = False,
    sampling: float | None = None,
    *,
    methods: Sequence[str] = (),
    axis_values: Sequence[float] = (),
    measure: str = DISTANCE,
    height: int = 420,
) -> go.Figure:
    """Draw the error of each method along the axis, both axes log.

    Args:
        summaries: one for each method and position.
        axis: one of :data:`pmtcore.auditing.comparison.AXES`.
        mean: draw means with a band of one standard deviation, in place of medians with the 10 to 90 % band.
        sampling: expected error of the non-private fit itself, drawn as a line.
        methods: ids that get a place in the legend before they have a result.
        axis_values: positions that the horizontal axis reaches before they have a result.
        measure: what the errors are.
        height: in pixels.
    """
    figure = go.Figure()
    for at, id in enumerate(dict.fromkeys([*methods, *(summary.method for summary in summaries)])):
        rows = sorted((s for s in summaries if s.method == id), key=lambda s: s.x)
        if method(id).role != "reference":  # its distance is 0, which a log axis cannot show
            _draw(figure, id, rows, _SYMBOLS[at % len(_SYMBOLS)], mean=mean, axis=axis)
    across = [*axis_values, *(s.x for s in summaries)]
    if sampling is not None and across:
        ends = [min(across), max(across)]
        line = {"color": of_role("reference").colour, "width": 2, "dash": "dot"}
        name = f"{of_role('reference').title}: its own sampling error"
        figure.add_scatter(x=ends, y=[sampling, sampling], mode="lines", name=name, line=line)
    if axis_values:
        _reach(figure, axis_values)
    log_axis(figure, "x")
    log_axis(figure, "y")
    more = len({trace.name for trace in figure.data if trace.showlegend is not False}) - _FEW
    return finish(figure, AXES[axis], measure, height + _LEGEND * max(more, 0))


def _reach(figure: go.Figure, axis_values: Sequence[float]) -> None:
    """Fix the horizontal axis to all places and round the vertical one out to powers of ten.

    Results that come in later then move neither, as a rule.
    """
    low, high = math.log10(min(axis_values)), math.log10(max(axis_values))
    margin = 0.03 * max(high - low, 1.0)
    figure.update_xaxes(range=[low - margin, high + margin])
    drawn = [y for trace in figure.data for y in trace.y if y is not None and 0 < y < math.inf]
    ends = (math.floor(math.log10(min(drawn))), math.ceil(math.log10(max(drawn)))) if drawn else (-3, 1)
    figure.update_yaxes(range=[ends[0], max(ends[1], ends[0] + 1)])


def _draw(figure: go.Figure, id: str, rows: Sequence[Summary], symbol: str, *, mean: bool, axis: str) -> None:
    entry, flat = method(id), method(id).role == "public"
    # Without a result yet: no mark, but a line of the legend.
    x: list[float | None] = [row.x for row in rows] or [None]
    y: list[float | None] = [row.error_mean if mean else row.error_median for row in rows] or [None]
    high = [row.error_mean + row.error_sd if mean else row.error_high for row in rows]
    low = [max(row.error_mean - row.error_sd, row.error_low) if mean else row.error_low for row in rows]
    edge = {"width": 1, "color": rgba(entry.colour, BAND_EDGE)}
    band = {"x": x, "mode": "lines", "line": edge, "legendgroup": id, "showlegend": False, "hoverinfo": "skip"}
    if rows and not flat:  # flat: reads no private row, so all trials are equal
        figure.add_scatter(y=high, **band)
        figure.add_scatter(y=low, fill="tonexty", fillcolor=rgba(entry.colour, BAND_SHADE), **band)
    figure.add_scatter(
        x=x,
        y=y,
        name=title(id),
        legendgroup=id,
        mode="lines" if flat and len(rows) > 1 else "lines+markers",
        line={"color": entry.colour, "width": 2.5, "dash": "dash" if flat else "solid"},
        marker={"size": 8, "color": entry.colour, "symbol": symbol},
        hovertemplate=f"{title(id)}<br>{axis} %{{x:.3g}}<br>{'mean' if mean else 'median'} distance %{{y:.3g}}"
        "<extra></extra>",
    )


def trials_words(summaries: Sequence[Summary]) -> str:
    """Describe how many trials are behind each drawn position."""
    least, most = min(s.trials for s in summaries), max(s.trials for s in summaries)
    if least == most:
        return f"{plural(most, 'trial')} for each method and place"
    return f"Between {least:,} and {most:,} trials for each method and place"


def comparison_table(summaries: Sequence[Summary]) -> pd.DataFrame:
    """Return distances to the fit without privacy over the trials, in rows."""
    rows = [{**vars(summary), "method": title(summary.method)} for summary in summaries]
    columns = [name for name in _COLUMNS if name != "x" or any(row["x"] != row["mu"] for row in rows)]
    frame = pd.DataFrame(rows, columns=columns)
    frame["error_sd"] = frame["error_sd"].where(frame["error_sd"] > _ROUNDING * frame["error_mean"].abs(), 0.0)
    return frame.rename(columns=_COLUMNS)
