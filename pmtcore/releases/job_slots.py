"""Slots for long computations: a server runs a few at a time, for all users together and for each."""

import time
from threading import Lock

from pmtcore.base.messages import InputError, ReleaseMessage
from pmtcore.tables.limits import MAX_PERSON_RUNNING, MAX_RUNNING

_FORGOTTEN = 15.0  # seconds without a step after which a job counts as abandoned: an open page steps each second
_seen: dict[int, tuple[float, str]] = {}  # running jobs: time of the last step, and user
_lock = Lock()


def acquire(job: object, person: str = "") -> None:
    """Take a place for a long computation that is about to start.

    Args:
        job: the computation, by which :func:`note` knows it.
        person: name of the user; empty where the server has one user.

    Raises:
        InputError: the largest number of computations is running, of all users or of this one.
    """
    now = time.monotonic()
    with _lock:
        for id_, (last, _) in list(_seen.items()):
            if now - last >= _FORGOTTEN:
                del _seen[id_]
        others = len(_seen)
        if others >= MAX_RUNNING:
            raise InputError(ReleaseMessage.SERVER_BUSY, count=others)
        if person and sum(name == person for _, name in _seen.values()) >= MAX_PERSON_RUNNING:
            raise InputError(ReleaseMessage.PERSON_BUSY, count=MAX_PERSON_RUNNING)
        _seen[id(job)] = now, person


def note(job: object, running: bool = True) -> None:
    """Record that a computation made a step, or is finished and frees its place."""
    with _lock:
        if running:
            _seen[id(job)] = time.monotonic(), _seen.get(id(job), (0.0, ""))[1]
        else:
            _seen.pop(id(job), None)
