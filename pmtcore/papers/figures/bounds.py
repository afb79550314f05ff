"""Picture of the papers' error bounds beside what is measured."""

from __future__ import annotations

from collections.abc import Sequence

import plotly.graph_objects as go

from pmtcore.papers.theory import Bound
from pmtcore.report.figures.style import AFTER, QUIET, finish, log_axis


def bounds(papers_bounds: Sequence[Bound]) -> go.Figure:
    """Draw each bound over what is measured; to the left of 1 it does not hold."""
    figure = go.Figure()
    for name, colour, picked in (
        ("holds", AFTER, [b for b in papers_bounds if b.applies and b.holds]),
        ("does not hold", "#D55E00", [b for b in papers_bounds if b.applies and not b.holds]),
        ("says nothing here", QUIET, [b for b in papers_bounds if not b.applies]),
    ):
        if picked:
            figure.add_bar(
                x=[b.looseness for b in picked],
                y=[f"{b.source.split(';')[0]}{', from below' if b.lower else ''}" for b in picked],
                customdata=[b.words for b in picked],
                hovertemplate="%{y}: %{customdata}<br>%{x:.3g} times what is measured<extra></extra>",
                orientation="h",
                name=name,
                marker={"color": colour},
            )
    figure.add_vline(x=1, line={"color": QUIET, "dash": "dash"})
    log_axis(figure, "x")
    figure.update_yaxes(automargin=True, autorange="reversed")
    return finish(figure, "bound over what is measured", "", 90 + 30 * len(papers_bounds))
