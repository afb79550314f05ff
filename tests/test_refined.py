"""Two passes of joint-pmt: sensitivities, budget, noise, exactness, and what the second pass is for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pmtcore.audit import audit
from pmtcore.checks import InputError
from pmtcore.clipping import Sizes
from pmtcore.methods.baselines import exact_fit
from pmtcore.moments import public_from_moment, public_from_rows
from pmtcore.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.records import PrivateRows
from pmtcore.refined import RefinedPlan
from tests.lab import FALSE_ALARM, TEST, make, names, plan
from tests.test_sensitivity import NEIGHBOURS, D, pair, public


@settings(max_examples=300, deadline=None)
@given(NEIGHBOURS, st.floats(0.01, 100.0), st.floats(-50, 50))
def test_gradient_and_histogram_move_at_most_by_their_sensitivities(tables, bound, at):
    """Whatever the two rows, the pilot and the bound: 2/n in units of the bound, sqrt(2) rows."""
    base, a, b = tables
    found = plan("joint-pmt", public(), 5, 1.0)
    rows = [found.measure(table).reveal(TEST)[1] for table in pair(base, a, b)]
    pilots, bounds = np.full((1, D), at), np.array([bound])
    with np.errstate(over="ignore", invalid="ignore"):
        gradients = [found._gradients(z, pilots, bounds) for z in rows]
        counts = [found._counts(z, pilots) for z in rows]
    assert np.linalg.norm(gradients[0] - gradients[1]) <= 2 / 5 * (1 + 1e-9)
    assert np.linalg.norm(counts[0] - counts[1]) <= found.sizes.sensitivity * (1 + 1e-12)
    assert np.all(np.sum(counts, axis=2) == 5)


def test_the_sensitivity_of_the_gradient_is_reached():
    """Opposite rows far out move the clipped mean by 2/n."""
    data = public()
    rows = [data.factor @ (sign * 1e3 * np.eye(D + 1)[0] + 1e3 * np.eye(D + 1)[-1]) for sign in (1, -1)]
    found = plan("joint-pmt", data, 5, 1.0)
    z = [found.measure(table).reveal(TEST)[1] for table in pair(np.zeros((4, D + 1)), *rows)]
    first, second = (found._gradients(part, np.zeros((1, D)), np.ones(1)) for part in z)
    assert np.linalg.norm(first - second) == pytest.approx(2 / 5, rel=1e-9)


@pytest.mark.parametrize("mu", [0.05, 1.0, 7.0])
@pytest.mark.parametrize("mode", ["accuracy", "inference"])
def test_the_three_mechanisms_together_cost_the_budget(mu, mode, seed):
    """Sensitivities over noise, written anew, squared and added, are mu^2."""
    _, data, _ = make(200, 60, seed)
    for values in ({}, {"clip": 3.0}):
        found = plan("joint-pmt", data, 4000, mu, radius_mode=mode, **values)
        assert isinstance(found, RefinedPlan)
        moment = math.sqrt(2) * found.ball.radius**2 / 4000 / found.sigma
        gradient = (2 * 3.0 / 4000) / found.noise_at(3.0)
        counting = 0.0 if values else math.sqrt(2) / (math.sqrt(2) / found.shares.counting_mu)
        assert math.sqrt(moment**2 + gradient**2 + counting**2) == pytest.approx(mu)
        assert found.mu == mu


def test_gradient_and_histogram_carry_the_noise_they_state(seed):
    """Released minus exact, at each trial's own pilot and bound: chi-square; 20 % less would be seen."""
    _, data, rows = make(300, 60, seed)
    found, trials = plan("joint-pmt", data, 300, 1.3), 2000
    outcome = found.run(rows, SeededNoise(seed), trials)
    z = found.measure(rows).reveal(TEST)[1]
    noise = (outcome.score / outcome.bound[:, None] - found._gradients(z, outcome.pilot.correction, outcome.bound))[
        :, 0
    ]
    counts = (outcome.counts - found._counts(z, outcome.pilot.correction))[:, 3]
    sds = 2 / (found.shares.gradient_mu * 300), math.sqrt(2) / found.shares.counting_mu
    for drawn, sd in zip((noise, counts), sds, strict=True):
        total = np.sum(drawn**2) / sd**2
        assert stats.chi2.cdf(total, trials) > FALSE_ALARM and stats.chi2.sf(total, trials) > FALSE_ALARM
        assert stats.chi2.cdf(0.64 * total, trials) < FALSE_ALARM


def test_the_exact_release_is_the_float_one_without_noise(seed):
    """Integer gradients and counts differ from floating ones by less than their step."""
    _, data, rows = make(3000, 60, seed)
    found = plan("joint-pmt", data, 3000, 1.0, shrinkage="none")
    ours, theirs = found.run(rows, ZeroNoise(), 1), found.perturb(found.measure(rows), ZeroNoise(), 1)
    assert np.max(np.abs(ours.counts - theirs.counts)) <= 3  # the pilots differ by their grid
    assert np.allclose(ours.coefficients, theirs.coefficients, atol=1e-4)
    secure = found.run(rows, SecureNoise(), 1)
    assert np.all(np.isfinite(secure.coefficients)) and 0 <= secure.released()["clipped_share"] <= 1


class Unclipped(RefinedPlan):
    """A planted fault: noise for clipped gradients, gradients not clipped."""

    def _gradients(self, z, corrections, bound):
        return super()._gradients(z, corrections, np.full_like(bound, 1e6)) * (1e6 / bound)[:, None]


class Uncounted(RefinedPlan):
    """A planted fault: every row is counted three times."""

    def _counts(self, z, corrections):
        return 30 * super()._counts(z, corrections)


@pytest.mark.parametrize("fault", [Unclipped, Uncounted])
def test_planted_faults_of_the_second_pass_are_caught(fault):
    """No clipping; a histogram whose sensitivity was forgotten."""
    assert audit("joint-pmt", 1.0, 10_000, change=lambda found: fault(**vars(found))).violated


def distance(public, rows, seed, trials=20, **values):
    """Median distance to the non-private fit, and that of the public fit."""
    exact = exact_fit(public, rows).reveal(TEST)
    mu = values.pop("mu", 1.0)
    found = plan("joint-pmt", public, rows.n, mu, **values).run(rows, SeededNoise(seed), trials)
    return np.median(np.linalg.norm(found.coefficients - exact, axis=1)), np.linalg.norm(public.fit - exact)


@pytest.mark.parametrize(("n", "m"), [(3000, 20), (3000, 50), (10_000, 200)])
def test_two_passes_beat_one(n, m):
    """At mu = 1 over eight draws; the measured ratio is 0.65 to 0.9."""
    ratios = []
    for seed in range(8):
        _, public_data, rows = make(n, m, seed)
        ratios.append(distance(public_data, rows, seed)[0] / distance(public_data, rows, seed, passes="1")[0])
    assert np.exp(np.mean(np.log(ratios))) < 1


def heavy(n, m, seed, shift=0.0):
    """Features with heavy tails; the public response may follow other coefficients."""
    rng = np.random.default_rng(seed)
    x = rng.standard_t(3, (n + m, 4))
    beta = np.ones(4)
    y = x @ beta + rng.standard_normal(n + m)
    y[:m] += x[:m] @ np.full(4, shift)
    return public_from_rows(x[:m], y[:m], names(4), "y"), PrivateRows.from_arrays(x[m:], y[m:], names(4))


def test_rows_far_out_with_ordinary_residuals_are_kept():
    """Student features with three degrees of freedom: the clipped gradient loses far less than the ball."""
    ratios = [distance(*heavy(5000, 60, s), s)[0] / distance(*heavy(5000, 60, s), s, passes="1")[0] for s in range(8)]
    assert np.median(ratios) < 0.8


def test_a_shifted_public_sample_costs_accuracy_only():
    """Coefficients half a residual standard deviation off: the second pass finds most of the way back."""
    found = [distance(*heavy(5000, 60, s, shift=0.5), s, mu=2.0) for s in range(8)]
    assert np.median([ours / public_fit for ours, public_fit in found]) < 0.1


@pytest.mark.parametrize("mu", [0.003, 0.03, 0.1])
def test_never_worse_than_the_public_fit(mu):
    """Down to no budget at all, over alike samples, small and large m: the median ratio is at most 1."""
    for n, m in ((500, 15), (3000, 20), (3000, 200)):
        found = [distance(*make(n, m, s)[1:], s, mu=mu) for s in range(10)]
        assert np.median([ours / public_fit for ours, public_fit in found]) < 1.05


def test_counts_and_public_shares_are_combined_by_precision(seed):
    """Without counts the public shares; with noiseless counts the counts; between, between."""
    _, data, _ = make(100, 60, seed)
    sizes = Sizes(data)
    prior = sizes.expected(1000, None, 0.0)
    counts = prior[::-1].copy() + 5.0
    assert np.allclose(sizes.expected(1000, counts, 1e-9), counts)
    assert np.allclose(sizes.expected(1000, counts, 1e9), prior)
    assert sizes.shares.sum() == pytest.approx(1.0)
    wide, narrow = sizes.bound(1000, 10.0, None, 0.0)[0], sizes.bound(1000, 0.1, None, 0.0)[0]
    assert wide > narrow


def test_two_passes_without_public_rows_are_refused(seed):
    """One sentence that says what to choose; auto takes one pass."""
    _, data, _ = make(100, 60, seed)
    moment = data.factor @ data.factor.T
    known = public_from_moment(moment, names(10), "y", 60)
    with pytest.raises(InputError, match="passes=1"):
        plan("joint-pmt", known, 100, 1.0, passes="2")
    assert not isinstance(plan("joint-pmt", known, 100, 1.0), RefinedPlan)
