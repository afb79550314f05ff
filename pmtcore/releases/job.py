"""A release in a thread of its own, which continues whatever its user clicks.

A spent budget must lead to a release. Its user sees the progress, and can stop the release before the spend.
"""

from collections.abc import Callable
from threading import Event, Thread
from typing import final

from pmtcore.releases.progress import Progress, Report
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request, progress_of
from pmtcore.tables.problem import Problem

_SECONDS_BEFORE_PROGRESS = 1.0  # seconds to wait before progress is shown
_MOST_ROWS_QUIET = 200_000  # most rows in memory that are released without showing progress
_PATIENCE = 20.0  # seconds to wait for so few rows: the machine may be busy


@final
class Job:
    """One release under way.

    Args:
        run: function that makes the release, given its progress counter.
        done: function called once with the release.
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
        few = self.problem.private.n <= _MOST_ROWS_QUIET and table is not None and table.source.in_memory
        self._thread.join(_PATIENCE if few else _SECONDS_BEFORE_PROGRESS)

    @property
    def has_ended(self) -> bool:
        """Return whether the release has ended."""
        return not self._thread.is_alive()

    @property
    def stoppable(self) -> bool:
        """Return whether stopping still costs nothing."""
        return not self._follow.spend_begun and not self._stop.is_set()

    def stop(self) -> None:
        """Stop the release, if it has not spent yet."""
        self._stop.set()
