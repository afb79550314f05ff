"""Time and memory beforehand: constant memory for sums, growing memory for methods that hold their rows."""

from __future__ import annotations

import math

import pytest

from pmtcore.releases.duration import _line, _slope, predict_duration
from tests.helpers import make, plan


@pytest.mark.slow
def test_memory_is_told_apart_from_methods_that_hold_their_rows(seed):
    """joint-pmt holds blocks whatever n; dp-gd holds all rows."""
    _, public, _ = make(100, 60, seed)
    sums = [predict_duration(plan("joint-pmt", public, n, 1.0), public, n) for n in (10**5, 10**8)]
    assert sums[1].megabytes < 160 and all(math.isfinite(result.seconds) and result.seconds > 0 for result in sums)
    assert sums[1].seconds > sums[0].seconds
    record = predict_duration(plan("dp-gd", public, 10**8, 1.0, steps=2), public, 10**8)
    assert record.megabytes > 1e8 * 11 * 8 / 2**20 / 2


def test_the_prediction_is_a_line():
    """Through both runs, and not below the longer one."""
    assert _slope([1.0, 2.0]) * 16_384 == 1.0
    assert _line([1.0, 2.0], 32_768 + 100, 0.5) == 52.0 and _line([2.0, 1.0], 5, 1.0) == 1.0


def test_what_one_block_takes_is_no_part_of_what_grows(seed):
    """For methods of one look too."""
    _, public, _ = make(100, 60, seed)
    result = predict_duration(plan("joint-moment", public, 10**8, 1.0), public, 10**8)
    assert result.megabytes < 160 and result.seconds > 1


@pytest.mark.slow
@pytest.mark.parametrize(("id", "values"), [("joint-pmt", {}), ("dp-gd", {"steps": 2})], ids=["joint-pmt", "dp-gd"])
def test_what_is_kept_is_what_a_run_keeps(id, values, seed):
    """All rows, where there is room for all, as a release does; else none."""
    _, public, _ = make(100, 60, seed)
    n = 2 * 10**6
    chosen = plan(id, public, n, 1.0, **values)
    needed = n * chosen.bytes_kept(public.d)
    none, most, all_rows = (
        predict_duration(chosen, public, n, keeps=room).megabytes for room in (0, needed - 1, needed)
    )
    assert most - none == pytest.approx(0, abs=8)
    assert all_rows - none == pytest.approx(needed / 2**20, abs=8)
