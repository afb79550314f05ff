"""Time that passes only while every party waits: no machine is too slow for a study, and none waits for real."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class SharedClock:
    """A clock for parties that are threads of one process.

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

    def _leave(self, party: threading.Thread) -> None:
        self._parties.discard(party)
        self._pass()

    def _pass(self) -> None:
        """Let time pass to the first that wakes, if nobody is awake."""
        ends = [self._sleeping.get(party, self._now) for party in self._parties]
        if ends and min(ends) > self._now:
            self._now = min(ends)
            self._changed.notify_all()
