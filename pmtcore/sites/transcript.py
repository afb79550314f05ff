"""What one party has read of a study's board so far, checked and in order."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import final

from pmtcore.sites import seals, sharing
from pmtcore.sites.boards import EVERYTHING, Board, Message, require_genuine
from pmtcore.sites.errors import Kind, StudyError
from pmtcore.sites.study import Study

_POLL = 0.02  # seconds between looks at the board
Place = tuple[str, int, int]  # kind, attempt, step


@final
class Superseded(Exception):  # no error: the coordinator began again
    """A newer attempt began: this one will not be opened."""


@final
class Transcript:
    """The board as one reader sees it; of each sender the first message of a kind, attempt and step counts.

    Args:
        reader: a site's name; by default the coordinator, who follows everything.
    """

    def __init__(self, study: Study, board: Board, reader: str = EVERYTHING) -> None:
        self.study, self._board, self._reader = study, board, reader
        self._next = 0
        self._bodies: dict[Place, dict[str, str]] = {}
        self._readers: dict[tuple[str, int, int], set[str]] = {}  # whom a sender has sealed shares for
        self.done: set[str] = set()  # sites that have the release
        self.failed: set[str] = set()  # sites that refused, or stopped
        self.arrivals: dict[str, int] = {}  # how often each site said that it is here
        self.attempt, self.names = 0, ()
        self.stopped: str | None = None
        self.changed = time.monotonic()

    names: tuple[str, ...]

    def update(self) -> None:
        """Read what is new; what is not genuine counts as not sent."""
        while True:
            messages, until = self._board.read(self._next, self._reader)
            for message in messages:
                try:
                    require_genuine(message, self.study)
                except StudyError:
                    continue
                self._take(message)
            if until == self._next:
                return
            self._next = until

    def _take(self, message: Message) -> None:
        self.changed = time.monotonic()
        if message.kind == "here":
            self.arrivals[message.sender] = self.arrivals.get(message.sender, 0) + 1
            self.failed.discard(message.sender)
        elif message.kind == "done":
            self.done.add(message.sender)
        elif message.kind == "failed":
            self.failed.add(message.sender)
        elif message.kind == "stop":
            self.stopped = message.body
        elif message.kind == "begin":
            if message.attempt > self.attempt:
                self.attempt, self.names = message.attempt, tuple(message.body.split(","))
        else:
            place = (message.kind, message.attempt, message.step)
            self._bodies.setdefault(place, {}).setdefault(message.sender, message.body)
            if message.kind == "share":
                self._readers.setdefault((message.sender, message.attempt, message.step), set()).add(message.to)

    def sent(self, kind: str, attempt: int, step: int) -> dict[str, str]:
        """Return the bodies of these messages by sender."""
        return self._bodies.get((kind, attempt, step), {})

    def has_shared(self, sender: str, attempt: int, step: int) -> bool:
        """Return whether a site has sealed a share for every other one."""
        return self._readers.get((sender, attempt, step), set()) >= set(self.names) - {sender}

    def opened(self, step: int, names: tuple[str, ...]) -> list[int] | None:
        """Return the opened total of a pass, once all sites have published their parts of one attempt.

        Raises:
            StudyError: the total is none of such rows.
        """
        for attempt in range(1, self.attempt + 1):
            parts = self.sent("sum", attempt, step)
            if set(names) <= set(parts):
                words = [sharing.from_bytes(seals.data(parts[name])) for name in names]
                if len({len(each) for each in words}) != 1:
                    raise StudyError(Kind.RANGE)
                return list(sharing.decode(sharing.total(words)))
        return None

    def wait(self, ready: Callable[[], bool], attempt: int, seconds: float) -> None:
        """Wait until something is on the board.

        Args:
            ready: whether it is there.
            attempt: that this party takes part in; a newer one ends the waiting.
            seconds: without any message, after which the study counts as lost.

        Raises:
            Superseded: a newer attempt began.
            StudyError: the coordinator stopped the study, or nothing came for too long.
        """
        self.changed = time.monotonic()
        while True:
            self.update()
            if ready():
                return
            if self.stopped is not None:
                raise StudyError(Kind.STOPPED)
            if self.attempt > attempt:
                raise Superseded
            if time.monotonic() - self.changed > seconds:
                raise StudyError(Kind.PATIENCE)
            time.sleep(_POLL)
