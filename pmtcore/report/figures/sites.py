"""Pictures of a study of several sites: predicted half-widths by their number and by who may collude."""

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.base.numbers import figure as figure_of
from pmtcore.report.figures.style import QUIET, finish, log_axis
from pmtcore.sites.prospects import Prospect

WORDS = {
    "nobody": "no site colludes",
    "one": "one site may collude with readers",
    "all": "all other sites may collude",
    "local": "every row with noise of its own",
    "alone": "one site alone",
}
_COLOURS = {"nobody": "#3454d1", "one": "#0B7A75", "all": "#C2571A", "local": "#B3261E"}


def widths(prospects: Sequence[Prospect], coefficient: str) -> go.Figure:
    """Draw the 95 % half-width against the number of sites, a line for each way to collude, one site alone dashed."""
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
    ends = [min(each.sites for each in prospects), max(each.sites for each in prospects)]
    (alone,) = [each.half_width for each in prospects if each.who == "alone"]
    line = {"color": QUIET, "dash": "dash"}
    figure.add_scatter(x=ends, y=[alone, alone], name=WORDS["alone"], mode="lines", line=line)
    log_axis(figure, "x")
    figure.update_xaxes(tickvals=sorted({each.sites for each in prospects}))
    log_axis(figure, "y")
    return finish(figure, "number of sites", f"95 % half-width of {coefficient}", 430)


def words(prospects: Sequence[Prospect], coefficient: str, sites: int) -> str:
    """Say what so many sites find together, beside one of them alone."""
    (alone,) = [each.half_width for each in prospects if each.who == "alone"]
    together = {each.who: f"± {figure_of(each.half_width)}" for each in prospects if each.sites == sites}
    return (
        f"For {coefficient}, {sites} sites together have bands of {together['nobody']} where no site colludes and of "
        f"{together['all']} where all others may, which takes more noise; one alone has ± {figure_of(alone)}."
    )


def table(prospects: Sequence[Prospect]) -> pd.DataFrame:
    """Return the same figures in rows."""
    rows = [{"sites": each.sites, "noise": WORDS[each.who], "half-width": each.half_width} for each in prospects]
    return pd.DataFrame(rows)
