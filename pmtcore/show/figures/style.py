"""One look for all figures.

Trace colours are set outright; fonts, grid and background are left to the page's theme, so a figure reads in
light and dark. Kinds of numbers and methods have one colour each, everywhere.
"""

from __future__ import annotations

import plotly.graph_objects as go

from pmtcore.base.records import Label

LABEL_COLOURS = {Label.PUBLIC: "#009E73", Label.RELEASED: "#0072B2", Label.PRIVATE: "#D55E00", Label.LAB: "#882255"}
BEFORE, AFTER = "#E69F00", "#0072B2"
QUIET = "#8a8f98"
PRIVACY, SAMPLING, TRUNCATION = "#0072B2", "#E69F00", "#CC79A7"


def finish(figure: go.Figure, x: str, y: str, height: int = 360) -> go.Figure:
    """Axis titles, margins, legend above, no title: the page says what it is."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": 8, "b": 8},
        legend={"orientation": "h", "yanchor": "bottom", "y": 1.02, "x": 0, "title": None},
        hovermode="closest",
        font={"size": 14},
    )
    figure.update_xaxes(title=x, automargin=True, zeroline=False)
    figure.update_yaxes(title=y, automargin=True, zeroline=False)
    return figure


def log_axis(figure: go.Figure, axis: str) -> None:
    """A log axis labelled in plain numbers at powers of ten."""
    settings = {"type": "log", "dtick": 1, "tickformat": "~g", "minor": {"showgrid": False}}
    (figure.update_xaxes if axis == "x" else figure.update_yaxes)(**settings)


def translucent(colour: str, share: float) -> str:
    """A hex colour as rgba."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{share})"


def projected(figure: go.Figure) -> go.Figure:
    """The same figure in large print: to be read from the last row."""
    figure.update_layout(font={"size": 24}, height=max(640, figure.layout.height or 0))
    figure.update_traces(line={"width": 5}, selector={"mode": "lines"})
    figure.update_xaxes(title_font_size=24, tickfont_size=22)
    figure.update_yaxes(title_font_size=24, tickfont_size=22)
    return figure
