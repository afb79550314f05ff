"""Releases that take more than a moment: they run in a thread, while the page shows progress and Stop.

A page's script is interrupted by any click, but a release must not be, since its budget is spent. The thread does not
touch the page; the page asks for its progress.
"""

import streamlit as st

from pages.elements.controls import control
from pages.elements.live import redrawn
from pages.elements.session import session
from pages.elements.widgets import show_error
from pmtcore.base.labels import SpendState
from pmtcore.releases.job import Job
from pmtcore.releases.outcome import SpendFailure

_REDRAW_SECONDS = 0.5  # seconds between two redraws of the progress
# Session key that is set from the end of a release until its verdict is drawn.
FOCUS = "verdict-takes-focus"
# Session key of a spend without a result that was not shown yet.
_SPENT = "spent-without-result"


def ended(job: Job) -> None:
    """Remove a finished job from the session.

    Raises:
        InputError: it was stopped or refused; a spend without a result is shown by :func:`tell_spent` instead.
    """
    session().job = None
    st.session_state[FOCUS] = job.error is None
    if job.error is not None:
        if not without_result(job.error):
            raise job.error
        session().renew_request()
        tell_later(job.error)


def tell_later(error: BaseException) -> None:
    """Let the next run show a spend without a result; its form is new, with an empty box."""
    st.session_state[_SPENT] = error


def tell_spent() -> None:
    """Draw the error of a spend without a result that has just been made, if any."""
    error = st.session_state.pop(_SPENT, None)
    if error is not None:
        show_error(error)


def without_result(error: BaseException | None) -> bool:
    """Return whether the budget was spent without a result, so that another release needs a new key."""
    return isinstance(error, SpendFailure) and error.kind is SpendState.NO_RESULT


def show(job: Job) -> None:
    """Draw the progress of a release until it is over, and then the page anew."""
    redrawn(lambda: _draw_progress(job), _REDRAW_SECONDS)


def _draw_progress(job: Job) -> bool:
    report = job.report
    st.progress(0.0 if report is None else report.share_done, text="Begun" if report is None else report.words)
    if job.stoppable:
        st.button(**control("release-stop"), on_click=job.stop)
    else:
        st.caption("The budget is being spent: the release finishes, and waits on this page.")
    return not job.has_ended
