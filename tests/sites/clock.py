"""A clock that advances only while every party waits, so that no study depends on the speed of a machine.

Parties are threads of one process, or other processes, each of which a thread here represents.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

_HANGS = 600  # real seconds of computing after which a party counts as hanging


class SharedClock:
    """Clock of the parties of one study.

    It stands still while any party computes; when all of them sleep, it jumps to the first time at which one wakes. A
    party is therefore late only if it has ended.
    """

    def __init__(self) -> None:
        self._now = 0.0
        self._changed = threading.Condition()
        self._parties: set[threading.Thread] = set()
        self._sleeping: dict[threading.Thread, float] = {}

    def monotonic(self) -> float:
        """Return the seconds since the start."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Wait for some seconds; a thread that is not a party becomes one for this time."""
        me = threading.current_thread()
        with self._changed:
            visits = me not in self._parties
            self._parties.add(me)
            until = self._sleeping[me] = self._now + seconds
            self._pass()
            self._changed.wait_for(lambda: self._now >= until)
            del self._sleeping[me]
            if visits:
                self._leave(me)

    @contextmanager
    def party(self) -> Iterator[None]:
        """Make the calling thread a party while this context lasts."""
        me = threading.current_thread()
        with self._changed:
            self._parties.add(me)
        try:
            yield
        finally:
            with self._changed:
                self._leave(me)

    def thread(self, target: Callable[..., object], *arguments: object) -> threading.Thread:
        """Return a thread that is a party until it ends."""

        def run() -> None:
            with self.party():
                target(*arguments)

        party = threading.Thread(target=run)
        with self._changed:
            self._parties.add(party)
        return party

    def serve(self, times: Connection) -> None:
        """Represent a party in another process until it ends: sleep in its place, and send it the time."""
        try:
            times.send(self._now)
            while True:
                if not times.poll(_HANGS):
                    raise TimeoutError("a party neither slept nor ended")
                self.sleep(times.recv())
                times.send(self._now)
        except (EOFError, ConnectionError):
            pass  # the party ended, or was killed

    def _leave(self, party: threading.Thread) -> None:
        self._parties.discard(party)
        self._pass()

    def _pass(self) -> None:
        """Advance to the first time at which a party wakes, if all of them sleep."""
        ends = [self._sleeping.get(party, self._now) for party in self._parties]
        if ends and min(ends) > self._now:
            self._now = min(ends)
            self._changed.notify_all()


class DistantClock:
    """Clock of a party in another process: a pipe to the thread that represents it."""

    def __init__(self, times: Connection) -> None:
        self._times, self._now = times, times.recv()

    def monotonic(self) -> float:
        """Return the seconds since the start, which stand still while this party computes."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Wait until so many seconds have passed."""
        self._times.send(seconds)
        self._now = self._times.recv()
