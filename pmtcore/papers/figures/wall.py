"""The gallery as a wall: every published figure as a small picture, and how many claims got each answer."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

from pmtcore.papers.figures.gallery import colours, wanting_words
from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.gallery.engine import Figure, load_stored
from pmtcore.report.figures.thumbnail import Line, thumbnail

# Seconds after which a figure that was computed again is drawn again on the wall.
_FRESH = 600


@final
@dataclass(frozen=True)
class Tile:
    """What the wall shows of one figure: its picture, or why there is none, and how many claims got each answer."""

    id: str
    title: str
    source: str
    picture: str
    wanting: str
    answers: dict[str, int]


def tiles() -> list[Tile]:
    """Return a tile for each figure, in the order of the papers; synthetic and published rows only."""
    return _tiles(int(time.monotonic() // _FRESH))


@lru_cache(maxsize=1)
def _tiles(_period: int) -> list[Tile]:
    """Draw the tiles once in a period, for all sessions: nothing in them is of anybody's table."""
    return [_tile(figure, load_stored(figure, values=False)) for figure in figures()]


def _tile(figure: Figure, record: dict[str, Any] | None) -> Tile:
    if record is None:
        return Tile(figure.id, figure.title, figure.source, "", wanting_words(figure), {})
    series = record["series"]
    lines = [
        Line.of(fields["x"], fields["mean"], colour)
        for fields, colour in zip(series, colours([fields["name"] for fields in series]), strict=True)
    ]
    picture = thumbnail(lines, f"{figure.y_label} against {figure.x_label}", figure.log_x, figure.log_y)
    # The marks count what the paper says; what this project adds stands on the figure's own page.
    answers = Counter(str(entry["answer"]) for entry in record["verdict"] if not entry["ours"])
    return Tile(figure.id, figure.title, figure.source, picture, "", dict(answers))
