"""Power-law tails: the power of a Pareto law is recovered, few rows say little, and stacks are rows by themselves."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.public.clipping import PRIOR_POWER, PRIOR_ROWS, PowerTail


@pytest.mark.parametrize("power", [2.5, 4.0, 9.0])
@pytest.mark.parametrize("share", [5, 10])
def test_the_power_of_a_pareto_law_is_recovered(power, share):
    """From its quantiles, in any unit; what is expected beyond a length is what the law has there."""
    m = 200_000
    ordered = 7.0 * (1 - (np.arange(m) + 0.5) / m) ** (-1 / power)
    tail = PowerTail.of(ordered, share, 0.0)
    assert tail.many == m // share
    assert tail.power == pytest.approx(power, rel=2e-3)
    far = 7.0 * np.array([1e-3, 1e-4]) ** (-1 / power)
    assert tail.count_beyond(far) == pytest.approx(m * np.array([1e-3, 1e-4]), rel=0.02)
    assert tail.count_beyond(np.array([0.0])) == tail.many


def test_few_rows_are_drawn_to_the_prior():
    """With five rows as long as the start, ten rows of the prior are left; the floor holds where rows reach far."""
    alike = PowerTail.of(np.ones(12), least_power=0.0)
    assert alike.power == pytest.approx((5 + PRIOR_ROWS) / (PRIOR_ROWS / PRIOR_POWER))
    assert PowerTail.of(np.geomspace(1, 1e9, 12)).power == pytest.approx(2.3)


def test_a_stack_is_each_row_by_itself(seed):
    """Start, power and excess of (t, m) lengths are those of each of the t."""
    ordered = np.sort(np.random.default_rng(seed).pareto(3, (4, 60)), axis=1)
    both = PowerTail.of(ordered)
    for row, start, power in zip(ordered, both.start, both.power, strict=True):
        alone = PowerTail.of(row)
        assert alone.start == start and alone.power == pytest.approx(power)
