"""Duration of a task: the median of several runs."""

import time
from collections.abc import Callable

import numpy as np


def median_seconds(task: Callable[[], object], runs: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median seconds of several runs: of wall time, or of CPU time with ``time.process_time``."""
    times = []
    for _ in range(runs):
        start = clock()
        task()
        times.append(clock() - start)
    return float(np.median(times))
