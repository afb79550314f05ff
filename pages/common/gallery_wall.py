"""The gallery as a wall: every published figure as a small picture with its verdicts; one opens at a click."""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, final

import streamlit as st

from pages.common.bounds_of_papers import bounds_of_papers
from pages.common.widgets import badge
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.records import Label
from pmtcore.papers.figures.gallery import colours
from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.gallery.engine import Figure, load_stored
from pmtcore.report.figures.thumbnail import Line, thumbnail
from pmtcore.report.glossary import help_for

_ACROSS = 4
# Seconds after which a figure that was computed again is drawn again on the wall.
_FRESH = 600
_MARKS = {
    "holds": ":green[:material/check_circle:]",
    "does not hold here": ":orange[:material/cancel:]",
    "cannot be told with these trials": ":grey[:material/help:]",
}
# Any other answer: the paper leaves open what it depends on.
_OPEN = ":violet[:material/alt_route:]"


@final
@dataclass(frozen=True)
class Tile:
    """What the wall shows of one figure: its picture, and how many claims got each answer."""

    id: str
    title: str
    source: str
    picture: str
    answers: dict[str, int]


def tiles() -> list[Tile]:
    """Return a tile for each figure, in the order of the papers; synthetic and published rows only."""
    return _tiles(int(time.monotonic() // _FRESH))


@lru_cache(maxsize=1)
def _tiles(_period: int) -> list[Tile]:
    """Draw the tiles once in a period, for all sessions: nothing in them is of anybody's table."""
    return [_tile(figure, load_stored(figure)) for figure in figures()]


def _tile(figure: Figure, record: dict[str, Any] | None) -> Tile:
    series = [] if record is None else record["series"]
    lines = [
        Line.of(fields["x"], fields["mean"], colour)
        for fields, colour in zip(series, colours([fields["name"] for fields in series]), strict=True)
    ]
    picture = thumbnail(lines, f"{figure.y_label} against {figure.x_label}", figure.log_x, figure.log_y)
    answers = Counter(str(entry["answer"]) for entry in ([] if record is None else record["verdict"]))
    return Tile(figure.id, figure.title, figure.source, picture, dict(answers))


def _open(id: str) -> None:
    """Let the address name the figure, or none."""
    st.query_params.from_dict({"figure": id} if id else {})
    st.session_state.pop("gallery-figure", None)


def drawn() -> bool:
    """Draw the wall where the address names no figure, else the way back to it; return whether it was the wall."""
    if "figure" in st.query_params or "gallery-run" in st.session_state:
        st.button("All figures", key="gallery-all", icon=":material/apps:", on_click=_open, args=("",))
        return False
    st.title("Gallery")
    st.markdown(
        f"{badge(Label.LAB)} The published experiments, recomputed on data of the same kind: what the paper says "
        "beside what came out."
    )
    whole = tiles()
    papers = sorted({tile.source[0] for tile in whole})
    answers = [*_MARKS, *sorted({answer for tile in whole for answer in tile.answers} - set(_MARKS))]
    left, right = st.columns([1, 2])
    paper = left.segmented_control(
        "Paper",
        papers,
        key="gallery-paper",
        persist_state="session",
        help=f"Figures of one paper; none chosen: all. {help_for('papers')}",
    )
    answer = right.selectbox(
        "With a claim that",
        answers,
        index=None,
        placeholder="has any answer",
        key="gallery-answer",
        help="Figures of which at least one claim came out so.",
        persist_state="session",
    )
    shown = [
        tile
        for tile in whole
        if (not paper or tile.source.startswith(paper)) and (not answer or tile.answers.get(answer))
    ]
    computed = sum(bool(tile.answers) for tile in shown)
    legend = " · ".join(f"{_mark(one)} {one}" for one in answers)
    st.caption(f"{len(shown)} of {len(whole)} figures, {computed} computed on this machine. {legend}")
    for start in range(0, len(shown), _ACROSS):
        for column, tile in zip(st.columns(_ACROSS), shown[start : start + _ACROSS], strict=False):
            with column.container(border=True, height="stretch", key=f"card-{tile.id}"):
                _draw(tile)
    bounds_of_papers()
    return True


def _draw(tile: Tile) -> None:
    if tile.answers:
        st.image(tile.picture, width="stretch", alt=f"Small picture of {tile.title}")
    else:
        st.caption("Not computed on this machine yet: open it to run it.")
    counts: Counter[str] = Counter()
    for answer, count in tile.answers.items():
        counts[_mark(answer)] += count
    verdicts = " ".join(f"{mark} {counts[mark]}" for mark in (*_MARKS.values(), _OPEN) if counts[mark])
    st.button(
        plain(f"{tile.id} {tile.title}"),
        key=f"gallery-open-{tile.id}",
        type="tertiary",
        on_click=_open,
        args=(tile.id,),
    )
    st.caption(f"{plain(tile.source)} {'· ' * bool(verdicts)}{verdicts}")


def _mark(answer: str) -> str:
    return _MARKS.get(answer, _OPEN)
