"""Drawings and tables of the report, as plain SVG and HTML."""

import math
from collections.abc import Mapping, Sequence
from textwrap import wrap
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import attacker_power, detected_percent
from pmtcore.base.escaping import html as escape
from pmtcore.base.numbers import rounded, with_equal_decimals
from pmtcore.public.moments import INTERCEPT
from pmtcore.releases.record import modelled_response
from pmtcore.report.rows import (
    BAND_OF_ALL,
    axis_ends,
    axis_limit,
    clarity,
    effects_among,
    few,
    for_all_effects,
    step_words,
    steps,
)
from pmtcore.report.statistics import SCALES

# Marks on the axis of a drawing, at most one more.
_MOST_TICKS = 5
# Of a text that stands above a line of the grid.
_ON_WHITE = 'paint-order="stroke" stroke="#fff" stroke-width="4"'


def curve(mu: float) -> str:
    """Draw the attacker's detections against false alarms."""
    if mu == 0:
        return ""
    alarms = np.linspace(0.0, 1.0, 101)
    detections = np.concatenate([[0.0], attacker_power(mu, alarms[1:-1]), [1.0]])
    points = " ".join(f"{40 + 300 * a:.1f},{230 - 200 * b:.1f}" for a, b in zip(alarms, detections, strict=True))
    at = float(attacker_power(mu, 0.05))
    x, y = 40 + 300 * 0.05, 230 - 200 * at
    return (
        '<svg class="small" viewBox="-12 0 432 270" role="img" '
        'aria-label="Detections against false alarms of the best attacker: '
        f'{detected_percent(mu):.1f} per cent at 5 per cent false alarms">'
        '<rect x="40" y="30" width="300" height="200" fill="none" stroke="#6b727b"/>'
        '<line x1="40" y1="230" x2="340" y2="30" stroke="#6b727b" stroke-dasharray="4 4"/>'
        f'<polyline points="{points}" fill="none" stroke="#0072B2" stroke-width="2.5"/>'
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="#D55E00"/>'
        f'<text x="{x + 10:.1f}" y="{min(y + 18, 222):.1f}" {_ON_WHITE}>{detected_percent(mu):g} % at 5 %</text>'
        '<text x="40" y="248">0 %</text><text x="190" y="248" text-anchor="middle">50 %</text>'
        '<text x="340" y="248" text-anchor="middle">100 %</text><text x="190" y="264" text-anchor="middle">'
        'false alarms</text><text x="36" y="235" text-anchor="end">0 %</text>'
        '<text x="36" y="135" text-anchor="end">50 %</text><text x="36" y="35" text-anchor="end">100 %</text>'
        '<text x="40" y="22">detections (dashed: guessing)</text></svg>'
    )


# Units of a drawing's width, of its edge, of a row with its name above its marks, and of a mark.
_WIDTH, _EDGE, _ROW, _DOT = 420, 16, 36, 3.5
# Letters of a name that fit into such a width.
_LETTERS = 58
# Letters of room between a name and its figures, which the tables have where there is less.
_LABEL_GAP = 4


def forest(release: Mapping[str, Any]) -> str:
    """Draw coefficients for comparable steps of their features, with 95 % limits, names above their marks.

    Many are folded to the clearest level of each column; an effect far beyond the others stands at the edge in figures.
    """
    zero_one = release["public"].get("zero_one", ())
    by = steps(list(release["coefficients"]), release["public"].get("spread", []), zero_one)
    names = [n for n in release["coefficients"] if n in release["bands"] and n != INTERCEPT and by.get(n)]
    if not names:
        return ""
    values = np.array([by[n] * release["coefficients"][n] for n in names])
    ends = np.array([[by[n] * release["bands"][n][side] for side in ("low", "high")] for n in names])
    rows = few(names, clarity(values, ends[:, 0], ends[:, 1]))
    at = [place for place, _ in rows]
    inference = release.get("inference") or {}
    freedom = dict(zip(release["coefficients"], inference.get("freedom", ()), strict=False))
    least = np.array([float(freedom.get(name, math.inf)) for name in names])
    effects = np.array(effects_among(names))
    ends = np.column_stack(for_all_effects(ends[:, 0], ends[:, 1], effects, least))
    values, ends, called = values[at], ends[at], [name for _, name in rows]
    dashes = ['stroke-dasharray="8 4" ' if one > 1 else "" for one in effects[at]]
    limit = axis_limit(values, np.max(np.abs(np.column_stack([values, ends])), axis=1))
    marks = _round_steps(*axis_ends(ends[:, 0], ends[:, 1], limit))
    low, high = marks[0], marks[-1]

    def x(value: float) -> float:
        return _EDGE + (_WIDTH - 2 * _EDGE) * (min(max(value, low), high) - low) / (high - low)

    foot = _ROW * len(called) + 8
    # Every second row is shaded, so that a mark belongs to the name above it and not to the one below.
    lines = [
        f'<rect x="0" y="{_ROW * row + 2}" width="{_WIDTH}" height="{_ROW}" fill="#f3f4f6"/>'
        for row in range(0, len(called), 2)
    ]
    lines += [f'<line x1="{x(mark):.1f}" y1="4" x2="{x(mark):.1f}" y2="{foot}" stroke="#d5d9de"/>' for mark in marks]
    lines += [f'<line x1="{x(0):.1f}" y1="4" x2="{x(0):.1f}" y2="{foot}" stroke="#6b727b"/>']
    for at_row, (name, value, (a, b), dash) in enumerate(zip(called, values, ends, dashes, strict=True)):
        y = _ROW * at_row + 28
        shown = name if len(name) <= _LETTERS else name[: _LETTERS - 1] + "…"
        lines.append(f'<text x="{_EDGE}" y="{y - 10}" {_ON_WHITE}>{escape(shown)}</text>')
        if limit is not None and not low <= value <= high:
            far = "{} ({} to {})".format(*with_equal_decimals(value, a, b))
            anchor, text = ("end", f"{far} →") if value > 0 else ("start", f"← {far}")
            lines.append(f'<text x="{x(value):.1f}" y="{y + 4}" text-anchor="{anchor}" {_ON_WHITE}>{text}</text>')
            continue
        lines.append(
            f'<line x1="{x(a):.1f}" y1="{y}" x2="{x(b):.1f}" y2="{y}" {dash}stroke="#0072B2" stroke-width="3"/>'
        )
        lines.append(f'<circle cx="{x(value):.1f}" cy="{y}" r="{_DOT}" fill="#0072B2"/>')
        # A bar that runs off the axis is not read as one that ends there.
        for end, anchor, sign in ((a, "start", "◂"), (b, "end", "▸")):
            if not low <= end <= high:
                lines.append(f'<text x="{x(end):.1f}" y="{y + 5}" text-anchor="{anchor}">{sign}</text>')
        figures = "{} ({} to {})".format(*with_equal_decimals(value, a, b))
        if len(shown) + len(figures) < _LETTERS - _LABEL_GAP:
            lines.append(f'<text x="{_WIDTH - _EDGE}" y="{y - 10}" text-anchor="end" {_ON_WHITE}>{figures}</text>')
    lines += [f'<text x="{x(mark):.1f}" y="{foot + 16}" text-anchor="middle">{number(mark)}</text>' for mark in marks]
    of = SCALES.get(release["public"].get("family", ""), "") + modelled_response(
        str(release["target"]), release["public"].get("positive")
    )
    title = f"change of {of} for {step_words(names, zero_one)};"
    words = [*wrap(title, _LETTERS), "dot: coefficient, bar: 95 % band"]
    words += [f"dashed: {BAND_OF_ALL}"] * any(dashes)
    lines += [
        f'<text x="{_WIDTH / 2:.0f}" y="{foot + 34 + 16 * at}" text-anchor="middle">{escape(text)}</text>'
        for at, text in enumerate(words)
    ]
    label = f"Coefficients for {step_words(names, zero_one)}, with 95 % bands; the table below has the same figures"
    size = f"0 0 {_WIDTH} {foot + 26 + 16 * len(words)}"
    return f'<svg class="rows" viewBox="{size}" role="img" aria-label="{label}">{"".join(lines)}</svg>'


def _round_steps(low: float, high: float) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten around a range, about five of them, zero included."""
    step = (high - low) / _MOST_TICKS or 1.0
    size = 10.0 ** math.floor(math.log10(step))
    step = size * next(n for n in (1, 2, 5, 10) if n * size >= step)
    first = math.floor(low / step)
    return [k * step for k in range(first, max(math.ceil(high / step), first + 1) + 1)]


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Write a table whose cells are escaped already; two columns that need no names have none."""
    top = "".join(f'<th scope="col">{name}</th>' for name in head)
    top = f"<thead><tr>{top}</tr></thead>" if head else ""
    body = "\n".join(
        "<tr>" + f'<th scope="row">{row[0]}</th>' + "".join(f"<td>{cell}</td>" for cell in row[1:]) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><caption>{caption}</caption>{top}<tbody>\n{body}\n</tbody></table></div>\n'


def number(value: object) -> str:
    """Write a figure in four digits, escaped."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return escape(str(value))
    return rounded(value, 4) if math.isfinite(value) else "unknown"
