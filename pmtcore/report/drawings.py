"""Drawings and tables of the report, as plain SVG and HTML."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import attacker_power
from pmtcore.base.escaping import html as escape


def curve(mu: float) -> str:
    """Draw the attacker's detections against false alarms."""
    if mu == 0:
        return ""
    alarms = np.linspace(0.0, 1.0, 101)[1:-1]
    detections = attacker_power(mu, alarms)
    points = " ".join(f"{40 + 300 * a:.1f},{230 - 200 * b:.1f}" for a, b in zip(alarms, detections, strict=True))
    at = float(attacker_power(mu, 0.05))
    return (
        '<svg class="small" viewBox="0 0 420 270" role="img" '
        'aria-label="Detections against false alarms of the best attacker: '
        f'{100 * at:.1f} per cent at 5 per cent false alarms">'
        '<rect x="40" y="30" width="300" height="200" fill="none" stroke="#6b727b"/>'
        '<line x1="40" y1="230" x2="340" y2="30" stroke="#6b727b" stroke-dasharray="4 4"/>'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2.5"/>'
        '<text x="40" y="250">0</text><text x="330" y="250">1</text><text x="120" y="262">false alarms</text>'
        '<text x="40" y="22">detections (dashed: guessing)</text></svg>'
    )


def forest(release: Mapping[str, Any]) -> str:
    """Draw coefficients times the public spread of their feature, with 95 % limits."""
    spread = dict(zip(release["coefficients"], release["public"].get("spread", []), strict=False))
    shown = [n for n in release["coefficients"] if n in release["bands"] and n != "(intercept)" and spread.get(n)]
    if not shown or len(shown) > 120:
        return ""
    ends = [spread[n] * release["bands"][n][side] for n in shown for side in ("low", "high")] + [0.0]
    low, high = min(ends), max(ends)
    width = (high - low) or 1.0

    def x(value: float) -> float:
        return 280 + 400 * (value - low) / width

    lines = [f'<line x1="{x(0):.1f}" y1="10" x2="{x(0):.1f}" y2="{26 * len(shown) + 16}" stroke="#6b727b"/>']
    for at, name in enumerate(shown):
        y, band = 26 * at + 26, release["bands"][name]
        a, b, c = (x(spread[name] * v) for v in (band["low"], band["high"], release["coefficients"][name]))
        lines.append(
            f'<text x="270" y="{y + 4}" text-anchor="end">{escape(name if len(name) <= 40 else name[:39] + "…")}</text>'
        )
        lines.append(f'<line x1="{a:.1f}" y1="{y}" x2="{b:.1f}" y2="{y}" stroke="#0072B2" stroke-width="3"/>')
        lines.append(f'<circle cx="{c:.1f}" cy="{y}" r="5" fill="#0072B2"/>')
    height = 26 * len(shown) + 62
    axis = height - 24
    # Zero is always labelled; an end is labelled where it does not lie on it.
    lines.append(f'<text x="{x(0):.1f}" y="{axis}" text-anchor="middle">0</text>')
    if x(0) - 280 > 60:
        lines.append(f'<text x="280" y="{axis}">{number(low)}</text>')
    if 680 - x(0) > 60:
        lines.append(f'<text x="680" y="{axis}" text-anchor="end">{number(high)}</text>')
    lines.append(f'<text x="480" y="{height - 4}" text-anchor="middle">per standard deviation of the feature</text>')
    label = "Coefficients per standard deviation of the feature with 95 % limits; the table below has the same figures"
    return f'<svg viewBox="0 0 700 {height}" role="img" aria-label="{label}">{"".join(lines)}</svg>'


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table whose cells are escaped already."""
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    body = "\n".join(
        "<tr>" + f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="wide"><table><caption>{caption}</caption><thead><tr>{top}</tr></thead><tbody>\n{body}\n'
        "</tbody></table></div>\n"
    )


def number(value: Any) -> str:
    """Write a figure in four digits, escaped."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return escape(str(value))
    return f"{value:.4g}" if math.isfinite(value) else "unknown"
