"""Progress of a release, its remaining time, and the last moment at which stopping costs nothing.

A release reads the table once for its fingerprint, then spends, then reads it for each pass of its method. Progress
consists of row counts, where their total is public, and times. Stop is obeyed until the spend; from then on the release
finishes, since a spent budget stays spent.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from pmtcore.base.messages import InputError, SpendMessage

# Seconds of a pass before the remaining time is estimated from its speed.
_SECONDS_BEFORE_ESTIMATE = 0.3


class Stopped(InputError):
    """Error of a release that was stopped before the spend."""

    def __init__(self) -> None:
        super().__init__(SpendMessage.STOPPED_IN_TIME)


@dataclass(frozen=True)
class Report:
    """Progress of a release.

    Attributes:
        spent: True once the budget is spent.
        number: number of the pass, from 1; 0 before the first.
        n_passes: largest number of passes.
        share: share of this pass that is done (0 to 1); 0 throughout where the number of rows read is private.
        left: seconds that this pass and those after it still take at this speed; ``None`` where that is not known yet.
    """

    spent: bool
    number: int
    n_passes: int
    share: float
    left: float | None

    @property
    def share_done(self) -> float:
        """Return the share of all passes that is done (0 to 1)."""
        return min((max(self.number - 1, 0) + self.share) / max(self.n_passes, 1), 1.0)

    @property
    def words(self) -> str:
        """Return the progress as a sentence."""
        passes = f"pass {self.number} of at most {self.n_passes} over the private rows"
        left = "" if self.left is None else f", about {in_time(self.left)} left in all"
        share = f": {self.share:.0%}" if self.share > 0 else ""
        return f"{passes if self.spent else 'before the spend'}{share}{left}"


class Progress:
    """Counter of the rows of a release, which reports progress and obeys Stop until the spend.

    A solver makes as many passes as its convergence needs, which is private: passes beyond ``n_passes`` are reported as
    the end of the last one.

    Args:
        n: rows of a pass; ``None`` where their number is private (several rows per person, or a declared n): then no
            share of a pass is reported.
        n_passes: largest number of passes over the table.
        tell: called after each block of rows.
        stop: asked after each block before the spend.
    """

    def __init__(
        self, n: int | None, n_passes: int, tell: Callable[[Report], None], stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._n, self._n_passes, self._tell, self._stop = n, n_passes, tell, stop
        self._spent, self._number, self._rows, self._start = False, 0, 0, time.monotonic()

    @property
    def spend_begun(self) -> bool:
        """Return True once the spend was begun."""
        return self._spent

    def begin(self) -> None:
        """Begin a pass."""
        self.check()
        self._number, self._rows, self._start = self._number + 1, 0, time.monotonic()

    def rows(self, count: int) -> None:
        """Count rows of the pass, and report.

        Raises:
            Stopped: a stop was asked for before the spend.
        """
        self.check()
        self._rows += count
        if self._spent and self._number > self._n_passes:
            self._tell(Report(self._spent, self._n_passes, self._n_passes, 1.0, None))
            return
        share = 0.0 if self._n is None else min(self._rows / max(self._n, 1), 1.0)
        elapsed = time.monotonic() - self._start
        left = None
        if elapsed > _SECONDS_BEFORE_ESTIMATE and share > 0:
            left = elapsed / share * (1 - share + max(self._n_passes - self._number, 0))
        self._tell(Report(self._spent, self._number, self._n_passes, share, left))

    def check(self) -> None:
        """Obey Stop, if the budget is not spent yet.

        Raises:
            Stopped: a stop was asked for before the spend.
        """
        if not self._spent and self._stop():
            raise Stopped

    def spend(self) -> None:
        """Mark the spend, the last moment at which Stop is obeyed."""
        self.check()
        self._spent, self._number = True, 0


def in_time(seconds: float) -> str:
    """Return a duration in words."""
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
