"""Predictions of gradients in passes: a curve of them costs few rehearsals, and each is near its own rehearsal."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.gradients.method import GradientPlan
from pmtcore.methods.gradients.rehearsal import DRAWS, error_ratio
from tests.helpers import plan
from tests.methods.test_gradients import ID, glm


def test_an_interpolated_ratio_is_near_the_computed_one():
    """With hardly more private than public rows, and with many: within a twentieth in the median, a fifth at most."""
    _, public, _ = glm(10, 150, 4)
    made = [plan(ID, public, n, mu) for n in (300, 30_000) for mu in (0.1, 0.7)]
    away = [abs(math.log(each.expected_error_ratio / each.error_ratio)) for each in made]
    assert np.median(away) < 0.05 and max(away) < 0.2


def test_at_a_decade_nothing_is_interpolated():
    """``n mu = 1000`` with a hundred private rows for a public one: the figure is the rehearsal's own."""
    _, public, _ = glm(10, 100, 5)
    made = plan(ID, public, 10_000, 0.1)
    assert made.expected_error_ratio == pytest.approx(made.error_ratio, rel=1e-9)


@pytest.mark.parametrize("sizes", [(5000,), (400, 12_000)])
def test_a_curve_acts_out_its_passes_at_few_budgets(monkeypatch, sizes):
    """Seven budgets and several numbers of rows: at most five decades for each schedule and reference."""
    _, public, _ = glm(10, 100, 6)
    runs, acted_out = [], GradientPlan._passes

    def counted(self, *arguments):
        runs.append((self.schedule, self.n))
        return acted_out(self, *arguments)

    monkeypatch.setattr(GradientPlan, "_passes", counted)
    for n in sizes:
        for mu in np.geomspace(0.05, 5, 7):
            assert np.all(plan(ID, public, n, mu).predicted().privacy > 0)
    assert len(runs) <= 5 * DRAWS * len(set(runs))
    before = len(runs)
    plan(ID, public, sizes[0], 0.05 * 1.001).predicted()
    assert len(runs) == before


def test_another_table_or_schedule_has_its_own_ratio():
    """What is stored for one public table or number of passes is not read for another."""
    (_, first, _), (_, second, _) = glm(10, 30, 7), glm(10, 60, 7)
    made = [
        plan(ID, public, 100 * public.m, 10 / public.m, **more)
        for public in (first, second)
        for more in ({}, {"passes": 3})
    ]
    for each in made:
        assert each.expected_error_ratio == pytest.approx(each.error_ratio, rel=1e-9)
    assert len({each.error_ratio for each in made}) == 4


def test_the_interpolated_ratio_is_the_prediction_s_alone():
    """A prediction has it; bands are scaled by the ratio at the release's own budget."""
    _, public, rows = glm(3000, 60, 9)
    made = plan(ID, public, 3000, 0.4)
    assert made.predicted().privacy == pytest.approx(made.left(made.expected, made.expected_error_ratio).sd)
    outcome = made.run(rows, SeededNoise(1), 1)
    assert outcome.bands().privacy == pytest.approx(made.left(outcome.state, made.error_ratio).sd)


def test_a_far_error_counts_as_twice_its_covariance():
    """One draw in eight that runs off does not decide the ratio; none is below 1."""
    assert error_ratio(np.full(8, 0.1)) == 1.0
    assert error_ratio(np.full(8, 1e9)) == 2.0
    assert error_ratio(np.array([1e9, *[1.0] * 7])) == pytest.approx(math.sqrt(11 / 8))


@pytest.mark.parametrize(("n", "m", "mu"), [(3000, 150, 0.5), (8000, 100, 1.5), (20_000, 400, 6.0)])
def test_the_foreseen_covariance_is_that_of_releases_in_the_mean(n, m, mu):
    """Five passes and ten: standard errors of five alike samples within a seventh of it."""
    ratios = []
    for seed in range(5):
        _, public, rows = glm(n, m, seed)
        made = plan(ID, public, n, mu)
        released = np.trace(made.run(rows, SeededNoise(seed), 2).state.covariance, axis1=1, axis2=2)
        ratios.append(np.mean(np.log(released / np.trace(made.expected.covariance[0]))) / 2)
    assert abs(np.mean(ratios)) < math.log(1 + 1 / 7)


def test_an_ample_budget_has_ten_passes_and_few_public_rows_twenty():
    """The noise of a gradient beside the sampling error decides, and public rows for a column (decision 73)."""
    (_, many, _), (_, few, _) = glm(10, 100, 1), glm(10, 15, 1)
    assert [plan(ID, many, 20_000, mu).n_passes for mu in (0.5, 2.0)] == [5 + 1, 10 + 2]
    assert [plan(ID, few, 20_000, mu).n_passes for mu in (0.05, 2.0)] == [12 + 2, 20 + 4]
