"""Long computations: a bit of work at each redraw, with progress and a button that stops it."""

import time
from collections.abc import Callable

import streamlit as st

from pages.elements.controls import control


def progress(share: float, words: str, id: str, stop: Callable[[], None]) -> None:
    """Draw how far a computation is, and beside it the button that stops it.

    Args:
        share: done, from 0 to 1.
        words: what is done.
        id: of the button in the table of controls.
        stop: ends the computation; what is done stays.
    """
    left, right = st.columns([3, 1], vertical_alignment="center")
    left.progress(min(share, 1.0), words)
    right.button(**control(id), on_click=stop)


def work(step: Callable[[], bool], seconds: float) -> bool:
    """Compute for some seconds, at least one step; return whether work is left.

    Args:
        step: does a part of the work and returns whether some is left.
        seconds: time after which no further step begins.
    """
    end = time.monotonic() + seconds
    while step():
        if time.monotonic() >= end:
            return True
    return False


def redrawn(draw: Callable[[], bool], every: float) -> None:
    """Draw a part of the page now and on a timer, and the whole page again when the work has ended.

    Only the timer causes the run of the whole page: a rerun within the page's own run would lose the click or the form
    that caused it.

    Args:
        draw: draws the part, computes for a moment, and returns whether work is left.
        every: seconds between two redraws.
    """
    by_timer = False

    def part() -> None:
        if not draw() and by_timer:
            st.rerun()

    st.fragment(part, run_every=every)()
    by_timer = True
