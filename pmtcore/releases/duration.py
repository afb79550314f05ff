"""How long a release will take here, and how much memory: two short runs on made-up rows, before anything is spent."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from pmtcore.base.records import PrivateRows
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import Plan
from pmtcore.public.moments import PublicData

_SIZES = (4096, 16_384)  # rows of the two runs: a line through both is the prediction


_NUMBER = 8.0  # bytes: a method that holds its rows holds at least one number of each


@final
@dataclass(frozen=True)
class Expected:
    """Seconds of computing and most memory held beside the rows' own, for n rows; reading a file comes on top."""

    seconds: float
    megabytes: float

    def as_dict(self) -> dict[str, Any]:
        """Plain fields."""
        return dict(vars(self))


def expected(plan: Plan, public: PublicData, n: int) -> Expected:
    """What a release of n rows takes on this machine, from runs of a fraction of a second that read no private row.

    Rows are drawn with the public second moment; what is drawn decides neither time nor memory.
    """
    rng = np.random.default_rng(0)
    z = rng.standard_normal((_SIZES[1], public.d + 1)) @ public.factor.T
    if public.has_intercept:
        z[:, 0] = 1.0
    if public.family.binary:
        z[:, -1] = z[:, -1] > np.median(z[:, -1])
    times, peaks = [], []
    for size in _SIZES:
        rows = PrivateRows.from_arrays(z[:size, :-1], np.abs(z[:size, -1]), public.names)
        plan.run(rows, SeededNoise(0), 1)  # what is computed once per plan is no part of what grows
        start = time.perf_counter()
        plan.run(rows, SeededNoise(0), 1)
        times.append(time.perf_counter() - start)
        peaks.append(_peak(plan, rows))
    return Expected(_line(times, n, 0.0), _line(peaks, n, _NUMBER) / 2**20)


def _peak(plan: Plan, rows: PrivateRows) -> float:
    """Most bytes held during a run."""
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    plan.run(rows, SeededNoise(0), 1)
    found = tracemalloc.get_traced_memory()[1] - before
    if not already:
        tracemalloc.stop()
    return float(found)


def _line(values: list[float], n: int, least: float) -> float:
    """The line through both runs at n, flat where it rises by less than ``least`` a row; never below the second run."""
    slope = (values[1] - values[0]) / (_SIZES[1] - _SIZES[0])
    return values[1] + (slope if slope > least else 0.0) * max(n - _SIZES[1], 0)
