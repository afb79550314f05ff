"""Pictures of a study of several sites: predicted half-widths by their number and by who may collude."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.base.numbers import rounded as figure_of
from pmtcore.report.figures.style import QUIET, finish, log_axis
from pmtcore.sites.prospects import Prospect

WORDS = {
    "nobody": "no site colludes",
    "one": "one site may collude with readers",
    "all": "all other sites may collude",
    "local": "every row with noise of its own",
    "alone": "one site alone",
}
_MOST_NAMED_SITES = 5  # sites whose own half-width a sentence gives
_COLOURS = {"nobody": "#3454d1", "one": "#0B7A75", "all": "#C2571A", "local": "#B3261E"}


def widths(prospects: Sequence[Prospect], coefficient: str) -> go.Figure:
    """Draw the 95 % half-width against the number of sites: a line for each way to collude, a mark for a site alone."""
    figure = go.Figure()
    for who, colour in _COLOURS.items():
        rows = [each for each in prospects if each.who == who]
        figure.add_scatter(
            x=[each.sites for each in rows],
            y=[each.half_width for each in rows],
            name=WORDS[who],
            mode="lines+markers",
            line={"color": colour, "width": 2.5},
            hovertemplate=f"{WORDS[who]}<br>%{{x}} sites: ± %{{y:.3g}}<extra></extra>",
        )
    alone = [each for each in prospects if each.who == "alone"]
    figure.add_scatter(
        x=[1] * len(alone),
        y=[each.half_width for each in alone],
        customdata=[each.rows for each in alone],
        name=WORDS["alone"],
        mode="markers",
        marker={"color": QUIET, "size": 9, "symbol": "diamond"},
        hovertemplate="one site of %{customdata:,.0f} rows: ± %{y:.3g}<extra></extra>",
    )
    log_axis(figure, "x")
    figure.update_xaxes(tickvals=sorted({each.sites for each in prospects}))
    log_axis(figure, "y")
    return finish(figure, "number of sites", f"95 % half-width of {coefficient}", 430)


def words(prospects: Sequence[Prospect], coefficient: str, names: Sequence[str]) -> str:
    """Say how wide the band of all sites together is, and that of each site alone."""
    single = [each for each in prospects if each.who == "alone"]
    alone = [f"{name} has ± {figure_of(each.half_width)}" for name, each in zip(names, single, strict=True)]
    more = f", and {len(alone) - _MOST_NAMED_SITES} more are in the table" if len(alone) > _MOST_NAMED_SITES else ""
    together = {each.who: f"± {figure_of(each.half_width)}" for each in prospects if each.sites == len(names)}
    return (
        f"For {coefficient}, the {len(names)} sites together have bands of {together['nobody']} where no site colludes "
        f"and of {together['all']} where all others may, which takes more noise. "
        f"Alone {', '.join(alone[:_MOST_NAMED_SITES])}{more}."
    )


def table(prospects: Sequence[Prospect]) -> pd.DataFrame:
    """Return the same figures in rows."""
    rows = [
        {"sites": each.sites, "rows of each": each.rows, "noise": WORDS[each.who], "half-width": each.half_width}
        for each in prospects
    ]
    return pd.DataFrame(rows)
