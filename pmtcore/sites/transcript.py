"""Messages of a study's board that one party has read so far, checked and in order."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.sites import seals, sharing
from pmtcore.sites.boards import EVERYTHING, Board, BoardMessage, require_genuine
from pmtcore.sites.study import Study

_POLL = (0.02, 1.0)  # seconds between two readings of the board, at least and at most
_POLL_SHARE = 0.05  # share of the time without a message after which the board is read again
MessageKey = tuple[str, int, int]  # kind, attempt, step


class Superseded(Exception):
    """Signal, not an error: the coordinator began a newer attempt, so this one will not be opened."""


@dataclass(frozen=True)
class OpenedPass:
    """One pass that was opened.

    Attributes:
        names: sites whose rows and noise are in it, in the study's order.
        total: integers (k,).
    """

    names: tuple[str, ...]
    total: tuple[int, ...]


class Transcript:
    """Messages that one reader has received; of each sender the first of a kind, attempt and step counts.

    Args:
        reader: a site's name; by default the coordinator, who follows everything.
    """

    def __init__(self, study: Study, board: Board, reader: str = EVERYTHING) -> None:
        self.study, self._board, self._reader = study, board, reader
        self._next = 0
        self._bodies: dict[MessageKey, dict[str, str]] = {}
        self._readers: dict[tuple[str, int, int], set[str]] = {}  # whom a sender has sealed shares for
        self.done: set[str] = set()  # sites that have the release
        self.failed: set[str] = set()  # sites that refused, or stopped
        self.arrivals: dict[str, int] = {}  # how often each site said that it is here
        self.arrivals_before: dict[str, int] = {}  # the same, of those before the newest attempt was begun
        self.attempt = 0
        self._names: dict[int, tuple[str, ...]] = {0: ()}  # sites of each attempt
        self._opened: dict[int, OpenedPass] = {}
        self.stopped: str | None = None
        self.changed = time.monotonic()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the sites of the newest attempt, in the study's order."""
        return self._names[self.attempt]

    @property
    def planned(self) -> tuple[str, ...]:
        """Return the sites that the release is planned for: those of the first opening, before it the newest attempt's.

        Later passes may be opened with fewer of them; with others never.
        """
        first = self.opened(0)
        return self.names if first is None else first.names

    def update(self) -> None:
        """Read new messages; one without a valid signature is ignored."""
        while True:
            messages, until = self._board.read(self._next, self._reader)
            for message in messages:
                try:
                    require_genuine(message, self.study)
                except StudyError:
                    continue
                self._record(message)
            if until == self._next:
                return
            self._next = until

    def _record(self, message: BoardMessage) -> None:
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
                named = set(message.body.split(","))
                self.attempt, self.arrivals_before = message.attempt, dict(self.arrivals)
                self._names[message.attempt] = tuple(name for name in self.study.names if name in named)
        else:
            place = (message.kind, message.attempt, message.step)
            self._bodies.setdefault(place, {}).setdefault(message.sender, message.body)
            if message.kind == "share":
                self._readers.setdefault((message.sender, message.attempt, message.step), set()).add(message.to)

    def sent(self, kind: str, attempt: int, step: int) -> dict[str, str]:
        """Return the bodies of these messages by sender."""
        return self._bodies.get((kind, attempt, step), {})

    def has_shared(self, sender: str, attempt: int, step: int) -> bool:
        """Return whether a site has sealed a share for each of its neighbours."""
        readers = self._readers.get((sender, attempt, step), set())
        return readers >= set(self.study.neighbours(self._names.get(attempt, ()), sender))

    def opened(self, step: int) -> OpenedPass | None:
        """Return the opened total of a pass, once all sites of one attempt have published their parts.

        Raises:
            StudyError: no rows of this size have such a total.
        """
        if step not in self._opened:
            for attempt, names in self._names.items():
                parts = self.sent("sum", attempt, step)
                if names and set(names) <= set(parts):
                    self._opened[step] = OpenedPass(names, _total([parts[name] for name in names]))
                    break
        return self._opened.get(step)

    def wait(self, ready: Callable[[], bool], attempt: int, seconds: float) -> None:
        """Wait until an expected message is on the board.

        Args:
            ready: returns True when it is there.
            attempt: attempt that this party takes part in; a newer one ends the wait.
            seconds: time without any message after which the study counts as lost.

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
                raise StudyError(StudyFault.STOPPED)
            if self.attempt > attempt:
                raise Superseded
            if time.monotonic() - self.changed > seconds:
                raise StudyError(StudyFault.PATIENCE)
            idle = time.monotonic() - self.changed
            time.sleep(min(max(_POLL[0], _POLL_SHARE * idle), _POLL[1]))


def _total(parts: list[str]) -> tuple[int, ...]:
    words = [sharing.from_bytes(seals.data(part)) for part in parts]
    if len({len(each) for each in words}) != 1:
        raise StudyError(StudyFault.RANGE)
    return tuple(sharing.decode(sharing.total(words)))
