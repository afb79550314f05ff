"""All figures of the gallery."""

from __future__ import annotations

from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.papers.gallery import paper_a, paper_b, paper_c, paper_d
from pmtcore.papers.gallery.engine import Figure

_PAPERS = (paper_a, paper_b, paper_c, paper_d)
_FIGURES = {figure.id: figure for part in _PAPERS for figure in part.FIGURES}


def figures() -> list[Figure]:
    """Return every figure, by paper."""
    return list(_FIGURES.values())


def figure(id: str) -> Figure:
    """Return the figure of that id.

    Raises:
        InputError: there is none.
    """
    if id not in _FIGURES:
        raise InputError(MethodMessage.NO_FIGURE, id=id, present=_FIGURES)
    return _FIGURES[id]
