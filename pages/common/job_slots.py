"""Whose turn it is: a server computes a few long things at a time, whoever asked for them."""

from __future__ import annotations

import time
from threading import Lock

from pmtcore.base.checks import InputError
from pmtcore.tables.limits import MAX_RUNNING

_FORGOTTEN = 15.0  # seconds without a step, after which nobody is looking: a page steps each second
_seen: dict[int, float] = {}  # what is computed: when it last made a step
_lock = Lock()


def take(job: object) -> None:
    """A place for a long computation that is about to start.

    Raises:
        InputError: as many as can be are going on.
    """
    now = time.monotonic()
    with _lock:
        for id_, last in list(_seen.items()):
            if now - last >= _FORGOTTEN:
                del _seen[id_]
        others = len(_seen)
        if others >= MAX_RUNNING:
            raise InputError(
                f"This server is at {others} long runs now, which is all that it takes at a time; press again in a "
                "minute. Nothing is lost."
            )
        _seen[id(job)] = now


def note(job: object, live: bool = True) -> None:
    """It made a step, or has none left and gives its place up."""
    with _lock:
        if live:
            _seen[id(job)] = time.monotonic()
        else:
            _seen.pop(id(job), None)
