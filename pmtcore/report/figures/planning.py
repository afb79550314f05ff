"""Pictures of a plan: predicted half-widths against the budget."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.base.numbers import figure as said
from pmtcore.base.numbers import percent
from pmtcore.methods.registry import method
from pmtcore.public.bands import Z95
from pmtcore.releases.curves import LADDER
from pmtcore.releases.planning import Planned
from pmtcore.report.figures.style import QUIET, SAMPLING, finish, log_axis
from pmtcore.report.names import title


def widths(predictions: Sequence[Planned], coefficient: str, mu: float | None = None) -> go.Figure:
    """Draw each method's predicted 95 % half-width of one coefficient, the sampling part alone, and the budget."""
    figure = go.Figure()
    j = predictions[0].names.index(coefficient)
    for id in dict.fromkeys(one.method for one in predictions):
        rows = [one for one in predictions if one.method == id]
        figure.add_scatter(
            x=[one.mu for one in rows],
            y=[one.half_width(j) for one in rows],
            name=title(id),
            mode="lines" if len(rows) > 1 else "markers",  # while curves are being filled
            line={"color": method(id).colour, "width": 2.5, "dash": "dash" if _public(id) else "solid"},
            hovertemplate=f"{title(id)}<br>mu %{{x:.3g}}: ± %{{y:.3g}}<extra></extra>",
        )
    private = [one for one in predictions if not _public(one.method)]
    if private:
        # One figure for all methods (planning.sampling_alone), so the first method's is everybody's.
        level = Z95 * float(private[0].prediction.sampling[j])
        ends = [min(one.mu for one in predictions), max(one.mu for one in predictions)]
        line = {"color": SAMPLING, "width": 2, "dash": "dot"}
        figure.add_scatter(x=ends, y=[level, level], mode="lines", name="sampling alone, no privacy", line=line)
    if mu is not None:
        figure.add_vline(x=mu, line={"color": QUIET, "dash": "dash"})
    log_axis(figure, "x")
    log_axis(figure, "y")
    # The axis of budgets and the room of the legend are there before all curves are.
    low, high = LADDER[0], LADDER[-1]
    figure.update_xaxes(range=[math.log10(low / 1.1), math.log10(high * 1.1)])
    figure = finish(figure, "total budget mu", f"95 % half-width of {coefficient}", 430)
    return figure.update_layout(legend={"font": {"size": 11}})


def _public(id: str) -> bool:
    return method(id).role == "public"


def table(predictions: Sequence[Planned]) -> pd.DataFrame:
    """Return the half-widths of all coefficients in rows; truncation is missing where it is not predicted."""
    parts = []
    for one in predictions:
        p = one.prediction
        parts.append(
            pd.DataFrame(
                {
                    "method": title(one.method),
                    "mu": one.mu,
                    "coefficient": one.names,
                    "privacy sd": p.privacy,
                    "sampling sd": p.sampling,
                    "truncation sd": p.truncation if one.knows_truncation else None,
                    "95 % half-width": [one.half_width(j) for j in range(len(one.names))],
                }
            )
        )
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame()


def metrics(one: Planned, coefficient: str) -> dict[str, str]:
    """Describe the parts of one coefficient's error in words; an unknown part says so and is not a zero."""
    j, p = one.names.index(coefficient), one.prediction
    lost = "included" if p.clipping_in_privacy else "unknown"
    if one.knows_truncation:
        lost = said(float(np.broadcast_to(p.truncation, len(one.names))[j]))
    return {
        "Privacy sd": said(float(p.privacy[j])),
        "Sampling sd": said(float(p.sampling[j])),
        "Truncation sd": lost,
        "95 % half-width": f"± {said(one.half_width(j))}",
    }


def truncation_words(one: Planned) -> str:
    """Describe how many rows the method is expected to truncate, and whether the half-widths account for it."""
    rate = one.truncation_rate
    if rate is None:
        return "How many rows this method shortens is not predicted."
    share = "No public row is" if rate == 0 else f"About {percent(rate)} of the public rows are"
    tail = "the truncation sd says what that moves." if one.knows_truncation else "the widths above leave it out."
    if one.prediction.clipping_in_privacy:
        tail = "the privacy sd holds what that moves."
    if rate == 0 and one.prediction.clipping_in_privacy:
        tail = "the privacy sd allows for rows that none of them shows."
    if rate == 0 and one.knows_truncation:
        tail = "the truncation sd allows for rows that none of them shows."
    return f"{share} beyond this method's own radius or bound; {tail}"


def narrower_words(mine: Planned, other: Planned) -> str:
    """Return the sentence that another method is predicted to be narrower, with both figures."""
    share = float(np.median(other.prediction.total / np.maximum(mine.prediction.total, 1e-300)))
    return f"“{title(other.method)}” is predicted to have {said(share, 2)} times the standard error of this method."


def reverse_words(budget: float | None, rows: int | None, n: int, mu: float, least: float) -> str:
    """Describe which budget, or how many rows, a wanted half-width takes."""
    first = (
        f"With {n:,} rows no budget up to mu = {said(least)} is enough"
        if budget is None
        else f"It takes a total of mu = {said(budget)} with {n:,} rows"
    )
    second = f"no number of rows is enough at mu = {said(mu)}" if rows is None else f"{rows:,} rows at mu = {said(mu)}"
    return f"{first}; {'or ' if budget is not None and rows is not None else ''}{second}."
