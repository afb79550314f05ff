"""Pictures of the first page: coefficients at a budget, and error against the budget.

They are of synthetic rows and of few budgets, so each is drawn once in a process and shared by all sessions.
"""

from functools import cache

import numpy as np
import plotly.graph_objects as go

from pmtcore.auditing.opening_picture import OpeningPicture
from pmtcore.base.numbers import rounded as said
from pmtcore.methods.registry import of_role
from pmtcore.report.figures.style import PRIVACY, QUIET, SAMPLING, finish, log_axis

_BAND = "#56B4E9"


@cache
def coefficients(shown: OpeningPicture, mu: float) -> go.Figure:
    """Draw the private fit, the public fit and the released fit with its 95 % bands."""
    values, low, high = shown.values(mu)
    names, public = list(shown.names), of_role("public")
    figure = go.Figure()
    figure.add_scatter(
        x=np.column_stack([low, high, np.full(len(low), np.nan)]).ravel(),
        y=[name for name in names for _ in range(3)],
        mode="lines",
        name="95 % band",
        # Taller than the marks: a band that is narrower than they are is seen above and below them.
        line={"color": _BAND, "width": 24},
        hoverinfo="skip",
    )
    for name, x, marker in (
        ("fit without privacy", shown.private, {"symbol": "circle-open", "size": 13, "color": QUIET}),
        (public.title.lower(), shown.public, {"symbol": "diamond-open", "size": 9, "color": public.colour}),
        ("released", values, {"symbol": "circle", "size": 6, "color": PRIVACY}),
    ):
        figure.add_scatter(
            x=x, y=names, mode="markers", name=name, marker={**marker, "line": {"width": 2, "color": marker["color"]}}
        )
    # The axis stays where it is while the slider moves: the range of both fits, a little wider.
    ends = np.concatenate([shown.private, shown.public])
    middle, half = (ends.max() + ends.min()) / 2, 0.7 * (ends.max() - ends.min())
    figure.update_xaxes(range=[middle - half, middle + half])
    figure.update_yaxes(range=[len(names) - 0.5, -0.5])
    return finish(figure, "coefficient, for one standard deviation of the feature", "", 400)


@cache
def errors(shown: OpeningPicture, mu: float) -> go.Figure:
    """Draw the width of the typical band over that of the public fit against the budget."""
    public, budgets = of_role("public"), shown.budgets
    figure = go.Figure()
    figure.add_scatter(
        x=budgets,
        y=[shown.width(one) for one in budgets],
        mode="lines+markers",
        name="released",
        line={"color": PRIVACY, "width": 2.5},
    )
    for name, level, colour, dash in (
        (public.title.lower(), 1.0, public.colour, "dash"),
        ("sampling alone, no privacy", shown.floor, SAMPLING, "dot"),
    ):
        ends = [budgets[0], budgets[-1]]
        figure.add_scatter(x=ends, y=[level] * 2, mode="lines", name=name, line={"color": colour, "dash": dash})
    figure.add_vline(x=mu, line={"color": QUIET, "dash": "dash"})
    log_axis(figure, "x")
    figure.update_yaxes(range=[0, 1.05])
    return finish(figure, "total budget mu", "width of the typical band over the public fit's", 400)


def words(shown: OpeningPicture, mu: float) -> str:
    """Return what this budget buys on the picture, in one sentence and in the unit of Plan and Release."""
    times = said(1 / shown.width(mu), 2)
    return f"At mu = {said(mu)} this release is {times} times as precise as a fit to the public rows alone."
