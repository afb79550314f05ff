"""How long a task takes: the median of several runs."""

import time
from collections.abc import Callable

import numpy as np


def median_seconds(task: Callable[[], object], runs: int = 5, clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the median of several runs, by the clock given: of the wall, or ``time.process_time`` of the CPU."""
    times = []
    for _ in range(runs):
        start = clock()
        task()
        times.append(clock() - start)
    return float(np.median(times))
