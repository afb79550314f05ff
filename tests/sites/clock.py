"""Time that passes only while every party waits: no machine is too slow for a study, and none waits for real.

Parties are threads of one process, or processes, each of which has a thread here that stands for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

_HANGS = 600  # real seconds of computing after which a party counts as hanging


class SharedClock:
    """A clock for the parties of one study.

    A party that computes stops it; when all of them sleep it jumps to the first that wakes. So a party is late only
    where it is gone, on any machine.
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
        """Wait until so many seconds have passed; a thread that is no party is one for as long."""
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
        """Return a thread that is a party from now on until it ends."""

        def run() -> None:
            with self.party():
                target(*arguments)

        made = threading.Thread(target=run)
        with self._changed:
            self._parties.add(made)
        return made

    def serve(self, times: Connection) -> None:
        """Stand for a party in another process until it ends: sleep in its place, and tell it the time."""
        try:
            times.send(self._now)
            while True:
                if not times.poll(_HANGS):
                    raise TimeoutError("a party neither slept nor ended")
                self.sleep(times.recv())
                times.send(self._now)
        except (EOFError, ConnectionError):
            pass  # it ended, or was killed

    def _leave(self, party: threading.Thread) -> None:
        self._parties.discard(party)
        self._pass()

    def _pass(self) -> None:
        """Let time pass to the first that wakes, if nobody is awake."""
        ends = [self._sleeping.get(party, self._now) for party in self._parties]
        if ends and min(ends) > self._now:
            self._now = min(ends)
            self._changed.notify_all()


class DistantClock:
    """What a party in another process has in place of the time: a pipe to the thread that stands for it."""

    def __init__(self, times: Connection) -> None:
        self._times, self._now = times, times.recv()

    def monotonic(self) -> float:
        """Return the seconds since the start, which stand still while this party computes."""
        return self._now

    def sleep(self, seconds: float) -> None:
        """Wait until so many seconds have passed."""
        self._times.send(seconds)
        self._now = self._times.recv()
