"""How long a release will take here, and how much memory: two short runs on made-up rows, before anything is spent."""

from __future__ import annotations

import time
import tracemalloc
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from pmtcore.base.records import MOST_KEPT, PrivateRows
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.quantized_rows import bytes_kept
from pmtcore.methods.registry import Plan
from pmtcore.public.moments import PublicData

_SIZES = (16_384, 32_768)  # rows of the two runs, several blocks each: a line through both is the prediction
_BLOCK = 8192  # rows of their blocks; what a block takes is told apart from what grows with n
_READ = 65_536  # rows of a block as tables are read
_NUMBER = 8.0  # bytes: a method that holds its rows holds at least one number of each; half of it is none
_RUNS, _LONG = 5, 0.3  # the fastest of so many runs counts, one where it takes seconds: others use the machine too
_RATE = 0.25  # of a run's time, at least, grows with its rows, and at most all: whatever the clock makes of the slope


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
    x, y = z[:, :-1], np.abs(z[:, -1])
    kept = n * bytes_kept(public.d) if plan.looks > 1 else 0
    keeps = MOST_KEPT if kept <= MOST_KEPT else 0  # most rows of a large table are made anew at each look
    times = [_seconds(plan, _in_blocks(x[:size], y[:size], public.names, _BLOCK, keeps)) for size in _SIZES]
    peaks = [_peak(plan, _in_blocks(x[:size], y[:size], public.names, _BLOCK, 0)) for size in _SIZES]
    one = _peak(plan, _in_blocks(x, y, public.names, len(y), 0)) - peaks[1]  # what one block of all rows takes more
    block = max(one, 0.0) * min(n, _READ) / len(y)
    each = _slope(peaks) if _slope(peaks) > _NUMBER / 2 else 0.0
    held = _line(peaks, n, each) + block + min(kept, MOST_KEPT)
    most = times[1] / _SIZES[1]
    return Expected(_line(times, n, min(max(_slope(times), _RATE * most), most)), held / 2**20)


def _in_blocks(x: np.ndarray, y: np.ndarray, names: tuple[str, ...], size: int, keeps: int) -> PrivateRows:
    """Made-up rows in blocks of a size."""
    starts = range(0, len(y), size)
    return PrivateRows(lambda: ((x[at : at + size], y[at : at + size]) for at in starts), len(y), names, keeps=keeps)


def _seconds(plan: Plan, rows: PrivateRows) -> float:
    """Of the fastest of some runs, without what is computed once per plan."""
    plan.run(rows, SeededNoise(0), 1)
    found: list[float] = []
    while len(found) < _RUNS and sum(found) < _LONG:
        start = time.thread_time()
        plan.run(rows, SeededNoise(0), 1)
        found.append(time.thread_time() - start)
    return min(found)


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


def _line(values: list[float], n: int, slope: float) -> float:
    """At n, from the second run on with a slope."""
    return values[1] + slope * max(n - _SIZES[1], 0)


def _slope(values: list[float]) -> float:
    """Per row, through both runs."""
    return (values[1] - values[0]) / (_SIZES[1] - _SIZES[0])
