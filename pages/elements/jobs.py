"""A release that takes more than a moment: it runs beside the page, which shows how far it is and offers Stop.

The page's own script may be cut off by any click, and a release must not be: what is spent has to come to its figures.
The work is in a thread that touches no page; the page asks how far it is.
"""

import streamlit as st

from pages.elements.controls import control
from pages.elements.live import redrawn
from pages.elements.session import session
from pages.elements.widgets import show_error
from pmtcore.base.labels import SpendState
from pmtcore.releases.job import Job
from pmtcore.releases.outcome import SpendFailure

_EVERY = 0.5  # seconds between two looks at how far it is
# In the session where a release has just ended, until its verdict is drawn.
FOCUS = "verdict-takes-focus"
# The spend without a result that is still to be told.
_SPENT = "spent-without-result"


def ended(job: Job) -> None:
    """Take a job that is over off the session.

    Raises:
        InputError: it was stopped, or refused; a spend without a result is told by :func:`tell_spent`.
    """
    session().job = None
    st.session_state[FOCUS] = job.error is None
    if job.error is not None:
        if not without_result(job.error):
            raise job.error
        session().renew_request()
        to_tell(job.error)


def to_tell(error: BaseException) -> None:
    """Tell of a spend without a result on the next run, which has a new form with an empty tick."""
    st.session_state[_SPENT] = error


def tell_spent() -> None:
    """Draw the spend without a result that has just been made, if any: above the tick, where the reader looks."""
    error = st.session_state.pop(_SPENT, None)
    if error is not None:
        show_error(error)


def without_result(error: BaseException | None) -> bool:
    """Return whether the key of a request is used up: its budget is gone, and the same key gives nothing."""
    return isinstance(error, SpendFailure) and error.kind is SpendState.NO_RESULT


def show(job: Job) -> None:
    """Draw how far a release is, until it is over; the page is drawn anew then."""
    redrawn(lambda: _how_far(job), _EVERY)


def _how_far(job: Job) -> bool:
    report = job.report
    st.progress(0.0 if report is None else report.done, text="Begun" if report is None else report.words)
    if job.stoppable:
        st.button(**control("release-stop"), on_click=job.stop)
    else:
        st.caption("The budget is being spent: the release finishes, and waits on this page.")
    return not job.over
