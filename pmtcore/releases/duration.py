"""Prediction of a release's time and memory on this machine, from two short runs on synthetic rows before the spend."""

import time
import tracemalloc
from dataclasses import dataclass

import numpy as np

from pmtcore.base.json_fields import JsonFields
from pmtcore.base.memory import LEAST_KEPT, bytes_for_rows
from pmtcore.base.private_rows import PrivateRows, room_for
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import Plan
from pmtcore.public.moments import PublicData

# Rows of the two runs, several blocks each: time and memory are extrapolated by a line through both.
_SIZES = (16_384, 32_768)
# Rows of the blocks of both runs; the memory of a block is separated from the memory that grows with n.
_ROWS_PER_BLOCK = 8192
# Rows of a block as tables are read.
_ROWS_PER_READ = 65_536
# Least bytes per row of a method that stores its rows; an increase of less than half of this counts as none.
_BYTES_PER_NUMBER = 8.0
# Most runs and most seconds in all; the fastest run counts, since other programs use the machine too.
_MOST_RUNS, _MOST_SECONDS = 5, 0.3
# Least share of a run's time that is taken to grow with its rows, against errors of the clock; the largest is 1.
_LEAST_LINEAR_SHARE = 0.25


@dataclass(frozen=True)
class Expected(JsonFields):
    """Expected cost of a release; reading a file comes on top.

    Attributes:
        seconds: of computing.
        megabytes: largest memory besides the rows' own.
    """

    seconds: float
    megabytes: float


def predict_duration(plan: Plan, public: PublicData, n: int, keeps: int | None = None) -> Expected:
    """Predict time and memory of a release of n rows, from runs of a fraction of a second that read no private row.

    Rows are drawn with the public second moment; their values decide neither time nor memory. The runs keep their rows
    between passes where the release does.

    Args:
        plan: of the release.
        public: the public data.
        n: number of private rows.
        keeps: bytes that may be kept between passes: more for a table in memory; ``None``: those for a file.
    """
    rng = np.random.default_rng(0)
    z = rng.standard_normal((_SIZES[1], public.d + 1)) @ public.factor.T
    if public.has_intercept:
        z[:, 0] = 1.0
    if public.family.binary:
        z[:, -1] = z[:, -1] > np.median(z[:, -1])
    x, y = z[:, :-1], np.abs(z[:, -1])
    bytes_each = plan.bytes_kept(public.d)
    kept_bytes = n * bytes_each if room_for(n, bytes_each, bytes_for_rows() if keeps is None else keeps) else 0
    # All of the runs' few rows fit where the release keeps its own.
    room = LEAST_KEPT if kept_bytes else 0
    times = [
        _seconds(plan, _in_blocks(x[:size], y[:size], public.names, _ROWS_PER_BLOCK, keeps=room)) for size in _SIZES
    ]
    peaks = [_peak(plan, _in_blocks(x[:size], y[:size], public.names, _ROWS_PER_BLOCK, keeps=0)) for size in _SIZES]
    # Memory that one block of all rows takes beyond that of several blocks.
    excess = _peak(plan, _in_blocks(x, y, public.names, len(y), keeps=0)) - peaks[1]
    block = max(excess, 0.0) * min(n, _ROWS_PER_READ) / len(y)
    bytes_per_row = _slope(peaks) if _slope(peaks) > _BYTES_PER_NUMBER / 2 else 0.0
    peak_bytes = _line(peaks, n, bytes_per_row) + block + kept_bytes
    largest_slope = times[1] / _SIZES[1]
    return Expected(
        _line(times, n, min(max(_slope(times), _LEAST_LINEAR_SHARE * largest_slope), largest_slope)), peak_bytes / 2**20
    )


def _in_blocks(x: np.ndarray, y: np.ndarray, names: tuple[str, ...], size: int, *, keeps: int) -> PrivateRows:
    """Return synthetic rows in blocks of a size."""
    starts = range(0, len(y), size)
    return PrivateRows(lambda: ((x[at : at + size], y[at : at + size]) for at in starts), len(y), names, keeps=keeps)


def _seconds(plan: Plan, rows: PrivateRows) -> float:
    """Return the seconds of the fastest run, without computations that are cached per plan."""
    plan.run(rows, SeededNoise(0), 1)
    times: list[float] = []
    while len(times) < _MOST_RUNS and sum(times) < _MOST_SECONDS:
        start = time.thread_time()
        plan.run(rows, SeededNoise(0), 1)
        times.append(time.thread_time() - start)
    return min(times)


def _peak(plan: Plan, rows: PrivateRows) -> float:
    """Return the largest number of bytes allocated during a run."""
    already = tracemalloc.is_tracing()
    if not already:
        tracemalloc.start()
    tracemalloc.reset_peak()
    before = tracemalloc.get_traced_memory()[0]
    plan.run(rows, SeededNoise(0), 1)
    peak = tracemalloc.get_traced_memory()[1] - before
    if not already:
        tracemalloc.stop()
    return float(peak)


def _line(values: list[float], n: int, slope: float) -> float:
    """Extrapolate from the second run to n rows with a slope."""
    return values[1] + slope * max(n - _SIZES[1], 0)


def _slope(values: list[float]) -> float:
    """Return the increase per row between both runs."""
    return (values[1] - values[0]) / (_SIZES[1] - _SIZES[0])
