"""Progress of a release on standard error, and what Ctrl-C costs."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from pmtcore.releases.outcome import NOTHING
from pmtcore.releases.progress import Progress, Report
from pmtcore.releases.release import Request, progress_of
from pmtcore.tables.problem import Problem

_AFTER = 1.0  # seconds: whatever takes less says nothing
_EACH = 0.5  # seconds between two lines, on a terminal; ten times as long elsewhere


@contextmanager
def following(always: bool, problem: Problem, request: Request) -> Iterator[Progress]:
    """Report progress on standard error, where that is a terminal or it was asked for.

    Raises:
        KeyboardInterrupt: with a sentence on what is spent.
    """
    terminal = sys.stderr.isatty()
    start = last = time.monotonic()
    said = False

    def tell(report: Report) -> None:
        nonlocal last, said
        now = time.monotonic()
        if not (terminal or always) or now - start < _AFTER or now - last < (_EACH if terminal else 10 * _EACH):
            return
        last, said = now, True
        sys.stderr.write(f"\r\x1b[K{report.words}" if terminal else f"{report.words}\n")
        sys.stderr.flush()

    progress = progress_of(problem, request, tell)
    try:
        yield progress
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(str(stop) or f"Stopped. {NOTHING}") from None
    finally:
        if said and terminal:
            sys.stderr.write("\r\x1b[K")
