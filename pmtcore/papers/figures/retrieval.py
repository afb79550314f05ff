"""Where a planned epsilon goes, along the modulus or the budget; and which coefficients selections keep."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from pmtcore.accounting.perturbed import BudgetSplit
from pmtcore.papers.gallery.selection import SelectionStudy
from pmtcore.report.figures.style import PRIVACY, QUIET, SAMPLING, TRUNCATION, finish, log_axis

_COLOURS = ("#777777", "#0072B2", "#AA4499", "#009E73", "#E69F00", "#4A5FD0")


def planned_parts(split: BudgetSplit) -> dict[str, float]:
    """Return noise as planned, Jacobian and retrieved: they add up to what was planned."""
    planned = split.planned.epsilon
    noise = min(split.share * planned, planned - split.jacobian_epsilon)
    return {
        "noise, as planned": noise,
        "Jacobian": split.jacobian_epsilon,
        "retrieved": planned - noise - split.jacobian_epsilon,
    }


def parts(x: Sequence[float], splits: Sequence[BudgetSplit], title: str, relative: bool = False) -> go.Figure:
    """Draw noise, Jacobian and retrieved, stacked; as shares where budgets differ along x."""
    figure = go.Figure()
    rows = [planned_parts(split) for split in splits]
    for name, colour in zip(
        ("noise, as planned", "Jacobian", "retrieved"), (PRIVACY, TRUNCATION, SAMPLING), strict=True
    ):
        scale = [split.planned.epsilon if relative else 1.0 for split in splits]
        figure.add_scatter(
            x=list(x),
            y=[max(row[name], 0.0) / s for row, s in zip(rows, scale, strict=True)],
            name=name,
            stackgroup="epsilon",
            line={"color": colour, "width": 1},
            hovertemplate=f"{name}<br>%{{x:.3g}}: %{{y:.3g}}<extra></extra>",
        )
    log_axis(figure, "x")
    return finish(figure, title, "share of epsilon" if relative else "epsilon", 340)


def table(name: str, x: Sequence[float], splits: Sequence[BudgetSplit]) -> pd.DataFrame:
    """Return the figures in rows, with the relation of each."""
    return pd.DataFrame(
        [
            {
                name: at,
                "planned epsilon": split.planned.epsilon,
                **planned_parts(split),
                "noise drawn at": split.noise_epsilon,
                "guarantee, epsilon": split.promise.epsilon,
                "delta": split.promise.delta,
                "relation": split.promise.neighbours.value,
            }
            for at, split in zip(x, splits, strict=True)
        ]
    )


def selected(study: SelectionStudy) -> go.Figure:
    """Draw how often each coefficient is not 0, by method; where the truth is known, the true ones first."""
    values = np.vstack(list(study.selected.values()))
    figure = go.Figure(
        go.Heatmap(
            z=values,
            x=list(study.names),
            y=list(study.selected),
            zmin=0,
            zmax=1,
            colorscale="Blues",
            colorbar={"title": "kept"},
            hovertemplate="%{y}, %{x}: kept in %{z:.0%} of the runs<extra></extra>",
        )
    )
    if study.truth is None:
        return finish(figure, "coefficient", "", 320)
    edge = int(np.sum(study.truth != 0)) - 0.5
    figure.add_vline(x=edge, line={"color": "#D55E00", "dash": "dot"})
    return finish(figure, "coefficient (left of the line: truly not 0)", "", 320)


def selected_table(study: SelectionStudy) -> pd.DataFrame:
    """Return the drawn values in rows."""
    return pd.DataFrame(
        [{"method": name, **dict(zip(study.names, values, strict=True))} for name, values in study.selected.items()]
    )


def counts(study: SelectionStudy) -> go.Figure:
    """Draw how many coefficients are kept as Lambda runs, mean over the runs."""
    figure = go.Figure()
    for (name, values), colour in zip(study.counts.items(), _COLOURS, strict=False):
        figure.add_scatter(x=list(study.lams), y=values, mode="lines+markers", name=name, line={"color": colour})
    log_axis(figure, "x")
    return finish(figure, "Lambda", "coefficients kept", 380)


def counts_table(study: SelectionStudy) -> pd.DataFrame:
    """Return the drawn values in rows."""
    rows = [
        {"method": name, "Lambda": lam, "coefficients kept": count}
        for name, values in study.counts.items()
        for lam, count in zip(study.lams, values, strict=True)
    ]
    return pd.DataFrame(rows)


def roc(study: SelectionStudy) -> go.Figure:
    """Draw true against false positives as Lambda runs, mean over the runs."""
    figure = go.Figure()
    figure.add_scatter(x=[0, 1], y=[0, 1], mode="lines", name="by chance", line={"color": QUIET, "dash": "dot"})
    for (name, (false, true)), colour in zip(study.roc.items(), _COLOURS, strict=False):
        figure.add_scatter(x=false, y=true, mode="lines+markers", name=name, line={"color": colour})
    return finish(figure, "share of zero coefficients kept", "share of nonzero coefficients kept", 380)


def roc_table(study: SelectionStudy) -> pd.DataFrame:
    """Return the drawn values in rows."""
    rows = [
        {"method": name, "Lambda": lam, "false positives": f, "true positives": t}
        for name, (false, true) in study.roc.items()
        for lam, f, t in zip(study.lams, false, true, strict=True)
    ]
    return pd.DataFrame(rows)
