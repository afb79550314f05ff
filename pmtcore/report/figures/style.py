"""One look for all figures.

Trace colours are set outright; fonts, grid and background are left to the page's theme, so a figure reads in
light and dark. Kinds of numbers and methods have one colour each, everywhere.
"""

import math
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from pmtcore.base import escaping
from pmtcore.base.labels import Label

LABEL_COLOURS = {Label.PUBLIC: "#009E73", Label.RELEASED: "#0072B2", Label.PRIVATE: "#D55E00", Label.LAB: "#882255"}
# Shares of a line's colour in the band around it and in the band's edge: both are seen on black and on white.
BAND_SHADE, BAND_EDGE = 0.28, 0.7
BEFORE, AFTER = "#E69F00", "#0072B2"
QUIET = "#8a8f98"
PRIVACY, SAMPLING, TRUNCATION = "#0072B2", "#E69F00", "#CC79A7"
_TEMPLATE_KEYS = {"hovertemplate", "texttemplate", "annotations", "template"}  # tags of our own; no name stands in them
_AT_MARKS = {"x", "y", "text", "categoryarray", "ticktext", "labels"}  # beside a mark there is little room
_TITLE, _LINE = 220, 44  # characters of an axis title, and of one line of it, as a phone shows in that size
_TITLE_SIZE = 13  # pixels of an axis title
_LAST_LABEL_MARGIN = 24  # of the margin beside the last label of a horizontal axis, which is centred at its end
_LABEL_CHARACTERS = 40  # characters there, as in the report's drawings
# Characters of a name above its marks, which a phone shows, and pixels of its line.
_NAME_CHARACTERS, NAME_HEIGHT = 54, 20
# Pixels of legend and ticks together, those of a legend, and those of a line of an axis title.
_LEGEND_AND_TICKS, _LEGEND, _TITLE_LINE = 112, 46, 19
# Rows from which an axis stands above them, where a laptop shows it with the first rows; pixels of its ticks, and those
# that are free below the rows then.
_AXIS_ABOVE, _TICK_LINE, _FREE_BELOW = 8, 38, 20


# How titles of axes of shares begin: nothing is drawn there below 0 or above 1, bands and margins included.
_SHARE_TITLES = ("share of", "accuracy on", "detections", "false alarms")
_AREA = "area under the ROC"  # from 0 to 1 too, and no share


def finish(figure: go.Figure, x: str, y: str, height: int = 360, *, name: int = _LABEL_CHARACTERS) -> go.Figure:
    """Return the figure with axis titles, margins and a legend above; it has no title, since the page says what it is.

    Args:
        figure: with all its traces.
        x: title of the horizontal axis.
        y: title of the vertical axis.
        height: in pixels.
        name: characters of a name beside a mark; longer ones are cut.
    """
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": _LAST_LABEL_MARGIN if figure.layout.xaxis.type == "log" else 8, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "title": None, "tracegroupgap": 0},
        hovermode="closest",
        font={"size": 14},
    )
    escaped_figure(figure, name)
    for title, update in ((x, figure.update_xaxes), (y, figure.update_yaxes)):
        update(title={"text": _axis_title(title), "font": {"size": _TITLE_SIZE}}, automargin=True, zeroline=False)
    axes = (x, figure.update_xaxes, figure.layout.xaxis), (y, figure.update_yaxes, figure.layout.yaxis)
    for title, update, axis in axes:
        if title.startswith((*_SHARE_TITLES, _AREA)):
            figure.update_layout(margin={"r": _LAST_LABEL_MARGIN})
            log = axis.type == "log"  # whose limits are powers of ten: it ends at 1 and begins anywhere
            update(
                minallowed=None if log else 0.0,
                maxallowed=0.0 if log else 1.0,
                ticklabeloverflow="allow",
                tickformat=None if title.startswith(_AREA) else "~%",
            )
    return figure


def _axis_title(text: str) -> str:
    """Return a title in lines of about one length that fit a phone: unabridged, but for a name without end."""
    text = escaping.one_line(text)[:_TITLE]
    many = len(textwrap.wrap(text, _LINE))
    lines = next(lines for width in range(1, _LINE + 1) if len(lines := textwrap.wrap(text, width)) <= many)
    return "<br>".join(escaping.chart(line) for line in lines)


def finish_rows(figure: go.Figure, names: Sequence[str], x: str, marks: int | None = None) -> go.Figure:
    """Return a finished figure with one row for each name, which stands above its marks: it takes no width from them.

    So a picture with long names can be read on a phone too.

    Args:
        figure: with all its traces, whose vertical places are names.
        names: of the rows, from the top; all of them have a row.
        x: title of the horizontal axis.
        marks: height in pixels of what is drawn in a row; ``None``: 12, or 8 in many rows.
    """
    if marks is None:
        marks = 12 if len(names) < _AXIS_ABOVE else 8
    row = marks + NAME_HEIGHT
    # The name of the first row needs the room that others have between two rows.
    top = -0.5 - NAME_HEIGHT / 2 / row
    labels = _Labels(_NAME_CHARACTERS, {})
    place = {"xref": "x domain", "x": 0, "xanchor": "left", "yanchor": "bottom", "yshift": marks / 2, "borderpad": 0}
    # Beside a ratio's axis too, a row is known by its place: a number among categories.
    above = [
        {"y": at, "text": labels[name], "showarrow": False, "font": {"size": 12}, **place}
        for at, name in enumerate(names)
    ]
    figure.update_yaxes(
        range=[len(names) - 0.5, top],
        categoryorder="array",
        categoryarray=list(names),
        dtick=1,
        showticklabels=False,
    )
    # A line from top to bottom goes through names: it stands at the marks alone.
    half = marks / 2 / row
    lines = [shape.to_plotly_json() | {"yref": "y", "layer": "below"} for shape in figure.layout.shapes]
    shapes = [
        {**line, "y0": at - half, "y1": at + half, "showlegend": bool(line.get("showlegend")) and at == 0}
        for line in lines
        for at in range(len(names))
    ]
    # In place of the line itself, which an update would leave as it is.
    figure.update_layout(annotations=[*figure.layout.annotations, *above], shapes=shapes, overwrite=True)
    title = len(_axis_title(x).split("<br>"))
    inside, axis = round(row * (len(names) - 0.5 - top)), _TITLE_LINE * title
    around = _LEGEND_AND_TICKS - (0 if _has_legend(figure) else _LEGEND)
    around -= _FREE_BELOW if len(names) >= _AXIS_ABOVE else 0
    finish(figure, x, "", around + axis + inside, name=_NAME_CHARACTERS)
    if len(names) >= _AXIS_ABOVE:
        figure.update_xaxes(side="top")
        figure.update_layout(legend={"y": 1 + (_TICK_LINE + axis) / inside})
    return figure


def _has_legend(figure: go.Figure) -> bool:
    """Return whether a legend is drawn: Plotly draws one for two lines or more, unless a figure says otherwise."""
    if figure.layout.showlegend is not None:
        return bool(figure.layout.showlegend)
    named = [trace for trace in figure.data if trace.showlegend is not False and trace.x is not None and len(trace.x)]
    return len(named) > 1 or any(shape.showlegend for shape in figure.layout.shapes)


def escaped_figure(figure: go.Figure, name: int = _LABEL_CHARACTERS) -> go.Figure:
    """Escape every string in the figure: names of columns come from somebody's file.

    Args:
        figure: with all its traces.
        name: characters of a name beside a mark; longer ones are cut.
    """
    labels = _Labels(name, {})
    for part in (*figure.data, figure.layout):
        for key, value in part.to_plotly_json().items():
            shown = value if key in _TEMPLATE_KEYS else _safe(value, key, labels)
            if shown is not value:
                part[key] = shown
    return figure


@dataclass(frozen=True)
class _Labels:
    """Names beside marks: how many characters one may have, and how each is shown, so that two names stay two."""

    limit: int
    shown: dict[str, str]

    def __getitem__(self, name: str) -> str:
        """Return a name as it is shown; two long ones that begin alike stay two."""
        if name not in self.shown:
            short, at = escaping.chart(name, self.limit), 1
            label = short
            while label in self.shown.values():
                at += 1
                label = f"{short} ({at})"
            self.shown[name] = label
        return self.shown[name]


def _safe(value: object, key: str, labels: _Labels) -> object:
    """Return a part of a figure with its strings made harmless, itself where it has none that are not."""
    if isinstance(value, dict):
        parts = {name: part if name in _TEMPLATE_KEYS else _safe(part, name, labels) for name, part in value.items()}
        return parts if any(parts[name] is not value[name] for name in value) else value
    texts = getattr(getattr(value, "dtype", None), "kind", "") in ("O", "U", "T")
    if isinstance(value, list | tuple) or (texts and isinstance(value, Iterable)):
        items = [_safe(part, key, labels) for part in value]
        return items if any(new is not old for new, old in zip(items, value, strict=True)) else value
    if not isinstance(value, str):
        return value
    shown = labels[value] if key in _AT_MARKS else escaping.chart(value)
    return value if shown == value else shown


_WIDE_RANGE, _MIDDLE_RANGE = 100.0, 6.0  # powers of ten, or 1, 2 and 5, then give at least two labels each
# Powers of ten that have a label each; beyond that every second, third ... has one, or they lie over each other.
_MOST_DECADES = 8
_TICKS = 5  # labels on an axis that spans less


def log_axis(figure: go.Figure, axis: str) -> None:
    """Label a log axis in plain numbers, far spans in powers of ten, or closer where what is drawn spans little.

    A range of the axis, in powers of ten, is set before.
    """
    step = _log_step(figure, axis)
    numbers = (
        {"exponentformat": "power", "tickfont": {"size": 10}}
        if isinstance(step, int) and step > 1
        else {"tickformat": ",~r"}
    )
    if axis == "x":
        figure.update_layout(margin={"r": _LAST_LABEL_MARGIN})
    settings = {"type": "log", "dtick": step, "minor": {"showgrid": False}, **numbers}
    (figure.update_xaxes if axis == "x" else figure.update_yaxes)(**settings)


def _log_step(figure: go.Figure, axis: str) -> int | str:
    """Return Plotly's step of a log axis: 1 (powers of ten), ``D2`` (1, 2, 5), or ``L`` with an even step in value."""
    drawn = [np.ravel(np.asarray(trace[axis], dtype=float)) for trace in figure.data if trace[axis] is not None]
    values = np.concatenate(drawn) if drawn else np.empty(0)
    values = values[np.isfinite(values) & (values > 0)]
    shown = (figure.layout.xaxis if axis == "x" else figure.layout.yaxis).range
    if shown is not None:  # labels are those of the whole axis, also where marks are still to come
        values = np.power(10.0, np.asarray(shown, dtype=float))
    if not len(values) or values.max() >= _WIDE_RANGE * values.min():
        decades = 0.0 if not len(values) else np.log10(values.max()) - np.log10(values.min())
        return max(1, math.ceil(decades / _MOST_DECADES))
    if values.max() >= _MIDDLE_RANGE * values.min() or values.max() == values.min():
        return "D2"
    step = (values.max() - values.min()) / _TICKS
    size = 10.0 ** np.floor(np.log10(step))
    return f"L{size * next(n for n in (1, 2, 5, 10) if n * size >= step):g}"


_PALETTE = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#AA4499",
    "#999933",
    "#44AA99",
    "#A65628",
)


def distinct_line(at: int) -> dict[str, Any]:
    """Return the style of the at-th of many lines: ten colours, then the same ones dashed and dotted."""
    dash = ("solid", "dash", "dot", "dashdot", "longdash")[at // len(_PALETTE) % 5]
    return {"color": _PALETTE[at % len(_PALETTE)], "width": 2, "dash": dash}


def name_clearest(figure: go.Figure, clarity: Sequence[float] | None = None) -> None:
    """Leave the clearest lines in the legend, each unlike all others, and draw the rest in grey: names would hide them.

    Args:
        figure: whose lines are all drawn.
        clarity: of each line; at most 1 where its band has 0, which makes it none of many to be named. ``None``: the
            lines that reach furthest.
    """
    lines = list(figure.select_traces(selector={"mode": "lines"}))
    reach = [float(np.max(np.abs(line.y), initial=0.0)) for line in lines] if clarity is None else list(clarity)
    few = len(lines) <= MOST_NAMED
    named = [at for at in np.argsort(reach)[::-1][:MOST_NAMED] if few or clarity is None or reach[at] > 1]
    for at, line in enumerate(lines):
        if at not in named:
            line.update(showlegend=False, line={"color": QUIET, "width": 1, "dash": "solid"})
    for style, at in enumerate(sorted(named)):
        lines[at].update(line=distinct_line(style))


def rgba(colour: str, share: float) -> str:
    """Return a hex colour as rgba."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


# Names of lines that a legend above a picture has room for.
MOST_NAMED = 20
# Pixels that a screen of 720 leaves below title, ways and sentence.
_PROJECTED = 405
# Lower edge of the legend in large print, in heights of the plot.
_PROJECTED_LEGEND = 1.05
# Pixels of a mark in large print, at least.
_PROJECTED_MARK = 9


def in_large_print(figure: go.Figure) -> go.Figure:
    """Return the figure in large print: to be read from the last row, and with its knob on one screen of 720 lines."""
    # A legend that touches the plot would hide half of a mark at its upper edge.
    above = max(figure.layout.legend.y or 0.0, _PROJECTED_LEGEND)
    figure.update_layout(font={"size": 22}, legend={"font": {"size": 20}, "y": above}, height=_PROJECTED)
    figure.update_annotations(font_size=20)
    figure.update_traces(line={"width": 5}, selector={"mode": "lines"})
    for trace in figure.select_traces({"mode": "markers"}):
        # A mark that is larger than the others stays larger: a ring as large as the dots around it is hidden by them.
        size, least = trace.marker.size, _PROJECTED_MARK
        trace.update(marker={"size": max(least, 1.5 * size) if isinstance(size, int | float) else least})
    figure.update_xaxes(title_font_size=22, tickfont_size=20)
    figure.update_yaxes(title_font_size=22, tickfont_size=20)
    return figure
