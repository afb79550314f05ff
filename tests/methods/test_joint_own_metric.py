"""Metric passes of joint-pmt: sensitivities in any released metric, the budget, the noise, and what they are for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.accounting.budgets import Budget
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.grid import FINE, SCALE, join_words
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.passes import GRADIENT, CurvatureSum, GradientSum, LengthCounts
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.joint.own_metric import MetricPass, rows_in_metric
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import public_from_rows
from tests.helpers import TEST, names, plan
from tests.mechanisms.test_sensitivity import NEIGHBOURS, D, pair, public

AMPLE = 300.0


def summed(rows, statistic) -> np.ndarray:
    """Return an exact statistic of rows, in its integers."""
    return rows.bind(lambda cache: cache.sum(statistic)).map(join_words).reveal(TEST).astype(float)


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(NEIGHBOURS, st.floats(0.01, 100.0), st.integers(0, 2**16), st.floats(-4, 4))
def test_statistics_in_any_metric_move_at_most_by_their_sensitivities(tables, bound, seed, power):
    """Whatever the two rows and the metric that was released: 2 and sqrt(2) in units of the bound, sqrt(2) rows."""
    base, a, b = tables
    rng = np.random.default_rng(seed)
    whitening = 10.0**power * rng.standard_normal((D, D)) * 10.0 ** rng.uniform(-2, 2, D)
    points, bounds = rng.standard_normal((1, D)), np.array([bound])
    edges = np.append(0.0, bound * 2.0 ** np.arange(-3, 4))
    statistics = (
        (GradientSum(GAUSSIAN, points, bounds), 2 * GRADIENT),
        (CurvatureSum(GAUSSIAN, points, bounds), math.sqrt(2) * SCALE**2),
        (LengthCounts(GAUSSIAN, points, edges, of_curvatures=True), math.sqrt(2) * FINE),
        (LengthCounts(GAUSSIAN, points, edges), math.sqrt(2) * FINE),
    )
    for statistic, most in statistics:
        first, second = (
            summed(rows_in_metric(Private(table), public(), whitening), statistic) for table in pair(base, a, b)
        )
        assert np.linalg.norm(first - second) <= most * (1 + 1e-12)


def test_the_mechanisms_together_cost_the_budget():
    """Sensitivities over noise, written anew, squared and added, are mu^2; so are the stated parts, in their order."""
    planned = plan("joint-pmt", public(), 4000, AMPLE)
    costs = [math.sqrt(2) * planned.first.ball.radius**2 / 4000 / planned.first.sigma]
    for each in planned.metrics:
        costs += [math.sqrt(2) / each.counting_sd, math.sqrt(2) / 4000 / each.unit_sigma]
    for each in planned.gradients:
        costs += [math.sqrt(2) / each.counting_sd, 2 / 4000 / each.noise_at(1.0)]
    assert math.hypot(*costs) == pytest.approx(AMPLE)
    assert planned.n_passes == len(costs) == len(planned.parts())


def test_below_an_ample_budget_nothing_is_whitened_anew():
    """Nor where a bound, a radius or the number of passes is set by hand."""
    assert plan("joint-pmt", public(), 4000, AMPLE).metrics
    assert not plan("joint-pmt", public(), 4000, 100.0).metrics
    for values in ({"clip": 3.0}, {"radius": 5.0}, {"passes": "3"}):
        assert not plan("joint-pmt", public(), 4000, AMPLE, **values).metrics


def test_counts_and_moments_carry_the_noise_they_state(seed):
    """Released minus exact over 600 releases: the stated standard deviations within a tenth."""
    rng = np.random.default_rng(seed)
    data, n = public(), 50
    table = PrivateRows.from_arrays(rng.standard_normal((n, D)), rng.standard_normal(n), data.names)
    each, whitening = MetricPass(data, n, 3.0), np.diag(rng.uniform(0.5, 2.0, D))
    rows, source = rows_in_metric(Private(table), data, whitening), SeededNoise(seed)
    released = [each.release(rows, source) for _ in range(600)]
    counts = np.array([one.counts[0, -1] for one in released])
    assert np.std(counts) == pytest.approx(math.sqrt(2) / each.counting_mu, rel=0.1)
    entries = []
    for one in released:
        exact = summed(rows, CurvatureSum(GAUSSIAN, np.zeros((1, D)), one.radius)) / SCALE**2 / n
        entries.append((one.moment[0] / one.radius[0] ** 2 - exact[0])[0, 0])
    assert np.std(entries) == pytest.approx(math.sqrt(2) / n / each.moment_mu, rel=0.1)


@pytest.mark.parametrize("small", [1.0, 0.01])
@pytest.mark.parametrize("far", [1.0, 400.0])
def test_rows_far_out_and_weak_directions_are_fitted(small: float, far: float, seed) -> None:
    """A private row 400 times as long as public ones, and a column that varies a hundredth as much: within a tenth."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4060, 4))
    x[60] *= far
    x[60:, 3] = x[60:, 2] + small * x[60:, 3]
    y = x.sum(axis=1) + rng.standard_normal(4060)
    data, rows = public_from_rows(x[:60], y[:60], names(4), "y"), PrivateRows.from_arrays(x[60:], y[60:], names(4))
    exact, entry = exact_fit(data, rows).reveal(TEST), method("joint-pmt")
    outcome = entry.plan(data, rows.n, Budget(AMPLE), make_parameters(entry, {})).run(rows, SeededNoise(seed), 3)
    away = outcome.coefficients - exact
    assert np.max(np.sqrt(np.einsum("ti,ij,tj->t", away, x[60:].T @ x[60:], away) / 4)) < 0.1
