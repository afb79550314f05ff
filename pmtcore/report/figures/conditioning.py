"""Pictures of the Conditioning page: spectrum, ellipse, truncation."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from pmtcore.auditing.diagnostics import QUANTILES, Diagnosis
from pmtcore.base.labels import Label
from pmtcore.base.numbers import rounded as said
from pmtcore.public.moments import Conditioning
from pmtcore.report.figures.style import AFTER, BEFORE, LABEL_COLOURS, QUIET, finish, log_axis

# Directions that have a mark and a number each; of more, marks lie over each other.
_MOST_NUMBERED_DIRECTIONS = 15


# Of the longest row: how far the axis of radii goes.
_AXIS_FACTOR = 1.2


def spectrum(diagnoses: list[Diagnosis]) -> go.Figure:
    """Draw the eigenvalues of the second moment before and after whitening, on a log axis."""
    figure = go.Figure()
    size = 8 if len(diagnoses[0].before.eigenvalues) <= _MOST_NUMBERED_DIRECTIONS else 4
    for diagnosis in diagnoses:
        exact = diagnosis.label is Label.PRIVATE
        for name, part, colour in (("before", diagnosis.before, BEFORE), ("after", diagnosis.after, AFTER)):
            if part is not None:
                figure.add_scatter(
                    x=np.arange(1, len(part.eigenvalues) + 1),
                    y=part.eigenvalues[::-1],
                    name=f"{name}, {'exact' if exact else 'public rows' if name == 'before' else 'predicted'}",
                    mode="lines+markers",
                    line={"color": colour, "dash": "dot" if exact else "solid", "width": 2},
                    marker={"size": size, "symbol": "diamond-open" if exact else "circle", "color": colour},
                )
    log_axis(figure, "y")
    figure.update_xaxes(dtick=1 if len(diagnoses[0].before.eigenvalues) <= _MOST_NUMBERED_DIRECTIONS else None)
    return finish(figure, "direction, from longest to shortest", "eigenvalue", 260)


def spectrum_table(diagnoses: list[Diagnosis]) -> pd.DataFrame:
    """Return the eigenvalues in rows."""
    columns = {}
    for diagnosis in diagnoses:
        exact = diagnosis.label is Label.PRIVATE
        columns[f"before, {'exact' if exact else 'public rows'}"] = diagnosis.before.eigenvalues[::-1]
        if diagnosis.after is not None:
            columns[f"after, {'exact' if exact else 'predicted'}"] = diagnosis.after.eigenvalues[::-1]
    return pd.DataFrame(columns)


def ellipses(diagnosis: Diagnosis) -> go.Figure:
    """Draw the longest and the shortest direction before and after, each scaled to its longest."""
    parts = [("before", diagnosis.before, BEFORE), ("after", diagnosis.after, AFTER)]
    drawn = [(name, part, colour) for name, part, colour in parts if part is not None]
    figure = make_subplots(rows=1, cols=len(drawn), subplot_titles=[_axes_words(n, p) for n, p, _ in drawn])
    angle = np.linspace(0, 2 * np.pi, 181)
    for column, (_, part, colour) in enumerate(drawn, start=1):
        longest = float(part.eigenvalues[-1])
        short = np.sqrt(max(part.lambda_min, 0.0) / longest) if longest > 0 else 0.0  # rows of zeros have no direction
        line = {"color": colour, "width": 3}
        figure.add_scatter(
            x=np.cos(angle), y=short * np.sin(angle), mode="lines", line=line, fill="toself", row=1, col=column
        )
        figure.update_xaxes(range=[-1.1, 1.1], showticklabels=False, dtick=0.5, row=1, col=column)
        figure.update_yaxes(
            range=[-1.1, 1.1], showticklabels=False, dtick=0.5, scaleanchor=f"x{column}", row=1, col=column
        )
    figure = finish(figure, "longest", "", 260)
    figure.update_yaxes(title="shortest", col=1)
    return figure.update_layout(showlegend=False, margin={"t": 62})


def _axes_words(name: str, part: Conditioning) -> str:
    return f"{name}:<br>{said(part.kappa)}" if np.isfinite(part.kappa) else f"{name}<br>flat"


def largest_radius(diagnoses: list[Diagnosis], planned: float) -> float:
    """Return the largest radius of interest, in whitened units: a little more than the longest row and than a plan's.

    Args:
        diagnoses: what is known of the lengths of rows.
        planned: radius of the plan.
    """
    longest = [float(diagnosis.norms[-1]) for diagnosis in diagnoses if len(diagnosis.norms)]
    return max(_AXIS_FACTOR * max([planned, *(longest or [2 * diagnoses[0].radius])]), 1.0)


def truncation(diagnoses: list[Diagnosis], radius: float, end: float) -> go.Figure:
    """Draw the share of rows outside a radius, as the radius varies up to an end, with the chosen radius marked."""
    figure = go.Figure()
    drawn = [diagnosis for diagnosis in diagnoses if len(diagnosis.norms)]
    for diagnosis in drawn:
        exact = diagnosis.label is Label.PRIVATE
        figure.add_scatter(
            x=[0.0, *diagnosis.norms, max(end, diagnosis.norms[-1])],
            y=[1.0, *(1 - QUANTILES), 0.0],
            name="exact" if exact else "predicted",
            mode="lines",
            line={"color": LABEL_COLOURS[diagnosis.label], "width": 2.5, "dash": "dot" if exact else "solid"},
        )
    figure.add_vline(x=radius, line={"color": QUIET, "dash": "dash"}, annotation_text="radius", annotation_yshift=14)
    figure.update_yaxes(rangemode="tozero")
    figure.update_xaxes(range=[0, end])
    label = "share of rows outside" if len(drawn) > 1 else "share of public rows outside"
    return finish(figure, "radius, in whitened units", label, 250)


def truncation_table(diagnoses: list[Diagnosis]) -> pd.DataFrame:
    """Return the share of rows outside, at a few radii."""
    radii = np.linspace(0.5, 2 * diagnoses[0].radius, 16)
    columns = {f"share outside, {d.label.value}": [d.rate(radius) for radius in radii] for d in diagnoses}
    return pd.DataFrame({"radius": radii, **columns})
