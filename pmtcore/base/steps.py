"""Work that advances in steps, so that a page can show its progress and stop it."""

from abc import ABC, abstractmethod
from typing import Self


class Steps(ABC):
    """Work in steps; results so far are kept when it is stopped."""

    stopped = False

    @property
    @abstractmethod
    def share(self) -> float:
        """Return the share of the work that is done."""

    @abstractmethod
    def _advance(self) -> None:
        """Do one step of work that is left."""

    def step(self) -> bool:
        """Do one step; return False when no work is left or it was stopped."""
        if not self.live:
            return False
        self._advance()
        return True

    @property
    def live(self) -> bool:
        """Return True where work is left and nobody stopped it."""
        return not self.stopped and self.share < 1

    def run(self) -> Self:
        """Do all that is left."""
        while self.step():
            pass
        return self

    def stop(self) -> None:
        """Stop; the results so far stay."""
        self.stopped = True
