"""Small pictures: the lines and points of a figure without its axes, as an SVG of a few kilobytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pmtcore.base.escaping import html as escape

# Units of the drawing, which scales: about two to one, with an edge for the widest line.
_WIDTH, _HEIGHT, _EDGE = 200, 96, 6
# Points of one line, and marks of one cloud: more cannot be distinguished at this size.
_MOST_POINTS = 40


@dataclass(frozen=True)
class Line:
    """One line or cloud of a small picture.

    Attributes:
        x, y: places, finite where they are drawn.
        colour: as CSS writes it.
        marks: points alone, without a line between them.
    """

    x: np.ndarray
    y: np.ndarray
    colour: str
    marks: bool = False

    @classmethod
    def of(cls, x: Sequence[float | None], y: Sequence[float | None], colour: str) -> Line:
        """Return a line from stored figures, in which a missing one is not drawn."""
        return cls(np.asarray(x, dtype=float), np.asarray(y, dtype=float), colour)


def thumbnail(lines: Sequence[Line], words: str, log_x: bool = False, log_y: bool = False) -> str:
    """Return the lines as a small SVG that scales with its place.

    Args:
        lines: to draw, in one frame.
        words: what the picture shows, for those who do not see it.
        log_x: whether the horizontal axis is logarithmic.
        log_y: whether the vertical axis is logarithmic.
    """
    scaled = [_scaled(line, log_x, log_y) for line in lines]
    xs = np.concatenate([x for x, _ in scaled]) if scaled else np.empty(0)
    ys = np.concatenate([y for _, y in scaled]) if scaled else np.empty(0)
    shapes = [
        _shape(_positions(x, xs, _WIDTH), _HEIGHT - _positions(y, ys, _HEIGHT), line)
        for line, (x, y) in zip(lines, scaled, strict=True)
        if len(x)
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(words)}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" width="100%">{"".join(shapes)}</svg>'
    )


def _scaled(line: Line, log_x: bool, log_y: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions on their scales, without points that a log scale cannot show, thinned to distinct ones."""
    with np.errstate(all="ignore"):
        x = np.log(line.x) if log_x else np.asarray(line.x, dtype=float)
        y = np.log(line.y) if log_y else np.asarray(line.y, dtype=float)
    drawn = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if len(drawn) > _MOST_POINTS:
        drawn = drawn[np.linspace(0, len(drawn) - 1, _MOST_POINTS).astype(int)]
    return x[drawn], y[drawn]


def _positions(values: np.ndarray, among: np.ndarray, size: int) -> np.ndarray:
    """Return where values lie between the edges of the picture."""
    low, high = float(among.min()), float(among.max())
    share = (values - low) / (high - low) if high > low else np.full(len(values), 0.5)
    return _EDGE + share * (size - 2 * _EDGE)


def _shape(x: np.ndarray, y: np.ndarray, line: Line) -> str:
    colour = escape(line.colour)
    if line.marks or len(x) == 1:
        return "".join(
            f'<circle cx="{a:.0f}" cy="{b:.0f}" r="2.2" fill="{colour}"/>' for a, b in zip(x, y, strict=True)
        )
    points = " ".join(f"{a:.0f},{b:.0f}" for a, b in zip(x, y, strict=True))
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2.2"/>'
