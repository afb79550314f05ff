"""Overview of the gallery: every published figure as a card with a small picture and its verdicts."""

import streamlit as st

from pages.elements.bounds_of_papers import bounds_of_papers
from pages.elements.controls import control
from pages.elements.widgets import badge
from pmtcore.base.citations import CITATIONS
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.labels import Label
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import plural
from pmtcore.papers.figures.wall import Tile, tiles
from pmtcore.papers.gallery.claims import Answer

_CARDS_IN_A_ROW = 4
_MARKS = {
    Answer.HOLDS.value: ":green[:material/check_circle:]",
    Answer.FAILS.value: ":orange[:material/cancel:]",
    Answer.OPEN.value: ":grey[:material/help:]",
    Answer.UNSTATED.value: ":blue[:material/tune:]",
}


def cited(letter: str) -> str:
    """Return a paper's name and its number, with a link, as markdown."""
    paper = CITATIONS[letter]
    return f"{plain(paper.name)}, [{paper.number}]({paper.link})"


def open_figure(id: str) -> None:
    """Put the id of the open figure into the address; empty: none."""
    st.query_params.from_dict({"figure": id} if id else {})
    st.session_state.pop("gallery-figure", None)


def draw_wall() -> bool:
    """Draw the title, and the cards where no figure is open; return whether cards were drawn."""
    st.title("Gallery")
    if "figure" in st.query_params or "gallery-run" in st.session_state:
        return False
    st.markdown(f"{badge(Label.LAB)} {PageWords.EXPERIMENTS.sentence()}")
    # Folded: on a phone four titles would fill the first screen.
    with st.expander("The four papers", icon=":material/menu_book:"):
        st.caption("  \n".join(f"{one.letter}: {cited(one.letter)}." for one in CITATIONS.values()))
    with st.spinner("Comparing results with the papers' claims, once for each version", show_time=True):
        all_tiles = tiles()
    papers = sorted({tile.source[0] for tile in all_tiles})
    answers = list(_MARKS)
    left, right = st.columns([1, 2])
    paper = left.segmented_control(**control("gallery-paper"), options=papers)
    answer = right.selectbox(**control("gallery-answer"), options=answers, index=None)
    shown = [
        tile
        for tile in all_tiles
        if (not paper or tile.source.startswith(paper)) and (not answer or tile.answers.get(answer))
    ]
    n_computed = sum(not tile.wanting for tile in all_tiles)
    st.caption(
        f"{len(shown)} of {plural(len(all_tiles), 'figure')} shown; {n_computed} of the {len(all_tiles)} are computed. "
        f"Marks on the cards: {' · '.join(f'{mark} {answer}' for answer, mark in _MARKS.items())}"
    )
    for start in range(0, len(shown), _CARDS_IN_A_ROW):
        for column, tile in zip(st.columns(_CARDS_IN_A_ROW), shown[start : start + _CARDS_IN_A_ROW], strict=False):
            with column.container(border=True, height="stretch", gap="xsmall", key=f"card-{tile.id}"):
                _draw(tile)
    bounds_of_papers()
    return True


def _draw(tile: Tile) -> None:
    if tile.picture:
        st.image(tile.picture, width="stretch", alt=f"Small picture of {tile.title}")
    else:
        st.markdown(f":grey[{plain(tile.wanting)}]")
    verdicts = " ".join(f"{mark}\u00a0{tile.answers[one]}" for one, mark in _MARKS.items() if one in tile.answers)
    st.button(
        **control("gallery-open", f"-{tile.id}"),
        label=plain(f"{tile.id} {tile.title}"),
        on_click=open_figure,
        args=(tile.id,),
    )
    st.caption(f"Paper {plain(tile.source)}  \n{verdicts}")  # on a line of its own, or a mark loses its count
