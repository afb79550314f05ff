"""Draw what is still being computed, again and again, until it ends."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st


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
