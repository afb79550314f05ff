"""Draw what is still being computed, again and again, until it ends."""

import time
from collections.abc import Callable

import streamlit as st


def work(step: Callable[[], bool], seconds: float) -> bool:
    """Go on for some seconds, at least by one step; return whether some work is left.

    Args:
        step: does a part of the work and returns whether some is left.
        seconds: after which no further step is begun.
    """
    end = time.monotonic() + seconds
    while step():
        if time.monotonic() >= end:
            return True
    return False


def redrawn(draw: Callable[[], bool], every: float) -> None:
    """Draw a part of the page now and on a timer; draw the whole page once more when the work has ended.

    The whole page is asked for by the timer alone: a rerun within the page's own run would begin anew without the
    click or the form that caused the run, and the click would be lost.

    Args:
        draw: draws the part, works for a moment, and returns whether work is left.
        every: seconds between two redraws.
    """
    by_timer = False

    def part() -> None:
        if not draw() and by_timer:
            st.rerun()

    st.fragment(part, run_every=every)()
    by_timer = True
