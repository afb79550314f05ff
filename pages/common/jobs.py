"""A release that takes more than a moment: it runs beside the page, which shows how far it is and offers Stop.

The page's own script may be cut off by any click, and a release must not be: what is spent has to come to its figures.
The work is in a thread that touches no page; the page asks how far it is.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import final

import streamlit as st

from pages.common.live import redrawn
from pages.common.session import session
from pmtcore.base.messages import InputError
from pmtcore.releases.progress import Progress, Report
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request, progress_of
from pmtcore.tables.problem import Problem

_MOMENT = 1.0  # seconds until the page shows progress in place of a spinner
_SMALL = 200_000  # rows in memory that are looked at in a moment
_PATIENCE = 20.0  # seconds for those: a machine may be busy
_EVERY = 0.5  # seconds between two looks at how far it is
# In the session where a release has just ended, until its verdict is drawn.
FOCUS = "verdict-takes-focus"


@final
class Job:
    """One release under way.

    Args:
        run: the release, given what follows it.
        done: what to do with it, once.
    """

    def __init__(
        self,
        problem: Problem,
        request: Request,
        run: Callable[[Progress], Release],
        done: Callable[[Release], None],
    ) -> None:
        self.problem = problem
        self.report: Report | None = None
        self.error: BaseException | None = None
        self._stop = Event()
        self._follow = progress_of(problem, request, self._tell, self._stop.is_set)
        self._run, self._done = run, done
        self._thread = Thread(target=self._work, name="release", daemon=False)
        self._thread.start()

    def _tell(self, report: Report) -> None:
        self.report = report

    def _work(self) -> None:
        try:
            self._done(self._run(self._follow))
        except BaseException as error:  # for the page to show
            self.error = error

    def wait(self) -> None:
        """Wait for a moment; longer for few rows, which need no progress."""
        table = self.problem.table
        few = self.problem.private.n <= _SMALL and table is not None and table.source.in_memory
        self._thread.join(_PATIENCE if few else _MOMENT)

    @property
    def over(self) -> bool:
        """Return whether it ended."""
        return not self._thread.is_alive()

    @property
    def stoppable(self) -> bool:
        """Return whether stopping still costs nothing."""
        return not self._follow.spent and not self._stop.is_set()

    def stop(self) -> None:
        """Stop it, if it has not spent yet."""
        self._stop.set()


def ended(job: Job) -> None:
    """Take a job that is over off the session.

    Raises:
        InputError: it was stopped, or refused.
    """
    session().job = None
    st.session_state[FOCUS] = job.error is None
    if isinstance(job.error, InputError):
        raise job.error
    if job.error is not None:
        raise job.error


def show(job: Job) -> None:
    """Draw how far a release is, until it is over; the page is drawn anew then."""
    redrawn(lambda: _how_far(job), _EVERY)


def _how_far(job: Job) -> bool:
    report = job.report
    st.progress(0.0 if report is None else report.whole, text="Begun" if report is None else report.words)
    if job.stoppable:
        st.button("Stop before the spend", on_click=job.stop, key="release-stop", icon=":material/stop_circle:")
    else:
        st.caption("The budget is being spent: the release finishes, and waits on this page.")
    return not job.over
