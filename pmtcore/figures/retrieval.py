"""Where a planned epsilon goes, as the modulus grows."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import plotly.graph_objects as go

from pmtcore.figures.style import PRIVACY, SAMPLING, TRUNCATION, finish, log_axis
from pmtcore.retrieval import Split


def parts(factors: Sequence[float], found: Sequence[Split]) -> go.Figure:
    """Noise, Jacobian and retrieved share, stacked, against the modulus in units of the least free one."""
    figure = go.Figure()
    planned = found[0].planned
    shares = {
        "noise, as planned": ([min(s.noise, planned - s.jacobian - s.retrieved) for s in found], PRIVACY),
        "Jacobian": ([s.jacobian for s in found], TRUNCATION),
        "retrieved": ([s.retrieved for s in found], SAMPLING),
    }
    for name, (values, colour) in shares.items():
        figure.add_scatter(
            x=list(factors),
            y=[max(v, 0.0) for v in values],
            name=name,
            stackgroup="epsilon",
            line={"color": colour, "width": 1},
            hovertemplate=f"{name}<br>modulus %{{x:.3g}}: epsilon %{{y:.3g}}<extra></extra>",
        )
    log_axis(figure, "x")
    return finish(figure, "modulus, in units of the least at which the Jacobian is free", "epsilon", 360)


def table(factors: Sequence[float], found: Sequence[Split]) -> pd.DataFrame:
    """The same figures in rows."""
    return pd.DataFrame([{"modulus": x} | vars(s) for x, s in zip(factors, found, strict=True)])
