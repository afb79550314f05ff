"""How far a release is, how long it still takes, and the last moment at which stopping costs nothing.

A release looks at the table once to know it again, then spends, then looks at it for each pass of its method. What is
told are rows, which are public in number, and times. Stop is heard until the spend; from then on the release finishes,
since what is spent stays spent.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import final

from pmtcore.base.checks import InputError

_SOON = 0.3  # seconds of a look before the time left is told from its speed


class Stopped(InputError):
    """A release was stopped in time: nothing was spent."""

    def __init__(self) -> None:
        super().__init__("Stopped before the spend: nothing was released, and nothing was spent.")


@final
@dataclass(frozen=True)
class Report:
    """Where a release is.

    Attributes:
        spent: whether the budget is spent.
        look: which of the looks, from 1; 0 before the first.
        looks: how many there are at most.
        share: of this look (0 to 1).
        left: seconds that this look and those after it still take at this speed; ``None`` where that is not known yet.
    """

    spent: bool
    look: int
    looks: int
    share: float
    left: float | None

    @property
    def whole(self) -> float:
        """Share of all (0 to 1)."""
        return min((max(self.look - 1, 0) + self.share) / max(self.looks, 1), 1.0)

    @property
    def words(self) -> str:
        """A sentence."""
        what = f"look {self.look} of at most {self.looks} at the private rows" if self.spent else "before the spend"
        left = "" if self.left is None else f", about {in_time(self.left)} left in all"
        return f"{what}: {self.share:.0%}{left}"


@final
class Progress:
    """Counts the rows of a release, tells where it is, and hears Stop while that is in time.

    Args:
        n: rows of a look.
        looks: at the table, at most.
        tell: called after each block of rows.
        stop: asked after each block before the spend.
    """

    def __init__(
        self, n: int, looks: int, tell: Callable[[Report], None], stop: Callable[[], bool] = lambda: False
    ) -> None:
        self._n, self._looks, self._tell, self._stop = n, looks, tell, stop
        self._spent, self._look, self._rows, self._start = False, 0, 0, time.monotonic()

    @property
    def spent(self) -> bool:
        """Whether the spend was begun."""
        return self._spent

    def begin(self) -> None:
        """A look begins."""
        self.check()
        self._look, self._rows, self._start = self._look + 1, 0, time.monotonic()

    def rows(self, count: int) -> None:
        """So many rows more were looked at.

        Raises:
            Stopped: asked to, before the spend.
        """
        self.check()
        self._rows += count
        share = min(self._rows / max(self._n, 1), 1.0)
        gone = time.monotonic() - self._start
        left = None
        if gone > _SOON and share > 0:
            left = gone / share * (1 - share + max(self._looks - self._look, 0))
        self._tell(Report(self._spent, self._look, self._looks, share, left))

    def check(self) -> None:
        """Hear Stop, where it is in time.

        Raises:
            Stopped: asked to, before the spend.
        """
        if not self._spent and self._stop():
            raise Stopped

    def spend(self) -> None:
        """The budget is about to be spent: the last moment to stop."""
        self.check()
        self._spent, self._look = True, 0


def in_time(seconds: float) -> str:
    """A duration in words."""
    if seconds < 100:
        return f"{max(round(seconds), 1)} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 6000 else f"{seconds / 3600:.1f} hours"
