"""Two passes of joint-pmt: sensitivities, budget, noise, exactness, and what the second pass is for."""

from __future__ import annotations

import math
import warnings
from dataclasses import fields, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pmtcore.auditing.lower_bound import audit
from pmtcore.base.messages import MethodMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.mechanisms.grid import FINE, grid_rows, join_words, split_into_words
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.mechanisms.passes import GRADIENT, GradientSum
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.joint.passes import SecondPass
from pmtcore.methods.joint.plan import expected_truncated_fraction, gradient_norms, pilot_variance
from pmtcore.public.clipping import Ball
from pmtcore.public.moments import public_from_moment, public_from_rows, whiten
from pmtcore.public.ridge import ridge_regularized_public
from tests.helpers import FALSE_ALARM, TEST, make, names, plan, refused
from tests.mechanisms.test_sensitivity import NEIGHBOURS, D, pair, public


def gradient_sum(result, pieces, points, bounds):
    """Exact clipped gradients of a second pass, in integers."""
    return pieces.sum(result.second.gradients(points, bounds)).map(join_words).reveal(TEST)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(NEIGHBOURS, st.floats(0.01, 100.0), st.floats(-50, 50))
def test_gradient_and_histogram_move_at_most_by_their_sensitivities(tables, bound, at):
    """Whatever the two rows, the pilot and the bound: 2 in units of the bound, sqrt(2) rows."""
    base, a, b = tables
    planned = plan("joint-pmt", public(), 5, 1.0)
    points, bounds = np.full((1, D), at), np.array([bound])
    rows = [planned.first.pieces(table) for table in pair(base, a, b)]
    gradients = [gradient_sum(planned, table, points, bounds) for table in rows]
    counts = [planned.second.counts(table, points).reveal(TEST) for table in rows]
    assert np.linalg.norm((gradients[0] - gradients[1]).astype(float)) <= 2 * GRADIENT
    assert np.linalg.norm((counts[0] - counts[1]).astype(float)) <= planned.second.sizes.sensitivity * FINE * (
        1 + 1e-12
    )
    filled = [np.count_nonzero(np.any(x != 0, axis=1)) for x, _ in (next(iter(t._blocks())) for t in pair(base, a, b))]
    assert all(np.sum(each) <= count * FINE for each, count in zip(counts, filled, strict=True))


def test_the_sensitivity_of_the_gradient_is_reached():
    """Opposite rows far out move the clipped sum by twice the bound."""
    data = public()
    rows = [data.factor @ (sign * 1e3 * np.eye(D + 1)[0] + 1e3 * np.eye(D + 1)[-1]) for sign in (1, -1)]
    planned = plan("joint-pmt", data, 5, 1.0)
    tables = [planned.first.pieces(table) for table in pair(np.zeros((4, D + 1)), *rows)]
    first, second = (gradient_sum(planned, table, np.zeros((1, D)), np.ones(1)) for table in tables)
    assert np.linalg.norm(first - second) == pytest.approx(2 * GRADIENT, rel=1e-4)


@pytest.mark.parametrize("mu", [0.05, 1.0, 7.0, 190.0])
@pytest.mark.parametrize("mode", ["accuracy", "inference"])
def test_the_mechanisms_together_cost_the_budget(mu, mode, seed):
    """Sensitivities over noise, written anew, squared and added, are mu^2."""
    _, data, _ = make(200, 60, seed)
    for values in ({}, {"clip": 3.0}, {"passes": "2"}, {"passes": "3"}):
        planned = plan("joint-pmt", data, 4000, mu, radius_mode=mode, **values)
        costs = [math.sqrt(2) * planned.first.ball.radius**2 / 4000 / planned.first.sigma]
        costs += [(2 * 3.0 / 4000) / each.noise_at(3.0) for each in planned.gradients]
        costs += [math.sqrt(2) / each.counting_sd for each in planned.gradients if not each.clip]
        assert math.hypot(*costs) == pytest.approx(mu)
        assert len(planned.gradients) == (1 if values.get("passes") == "2" else 13 if mu == 190.0 and not values else 2)
        assert planned.mu == mu


def test_the_wider_radius_is_for_one_pass(seed):
    """With gradients both purposes of the radius give one release, bit for bit; with one pass they differ."""
    _, data, rows = make(200, 60, seed)
    both = ("accuracy", "inference")
    for values in ({}, {"passes": "2"}, {"clip": 3.0}):
        one, other = (plan("joint-pmt", data, rows.n, 1.0, radius_mode=mode, **values) for mode in both)
        first, second = (each.run(rows, SeededNoise(seed), 1).transcript() for each in (one, other))
        assert np.array_equal(first, second)
    radii = [plan("joint-pmt", data, rows.n, 1.0, radius_mode=mode, passes="1").first.ball.radius for mode in both]
    assert radii[1] > 1.2 * radii[0]


def test_gradient_and_histogram_carry_the_noise_they_state(seed):
    """Released minus exact, at each trial's own pilot and bound: chi-square; 20 % less would be seen."""
    _, data, rows = make(300, 60, seed)
    result, trials = plan("joint-pmt", data, 300, 1.3), 2000
    outcome = result.run(rows, SeededNoise(seed), trials)
    pieces, noise = result.first.pieces(rows), []
    middle, last = outcome.fit.before, outcome.fit
    for each, before in ((middle, outcome.pilot), (last, middle)):
        exact = gradient_sum(result, pieces, before.correction, each.gradient.bound) / GRADIENT / 300
        noise.append((each.gradient.units - exact)[:, 0])
    for each, before in ((middle, outcome.pilot), (last, middle)):
        exact = result.second.counts(pieces, before.correction).reveal(TEST) / FINE
        noise.append((each.gradient.counts - exact)[:, 3])
    shares = [each.shares for each in result.gradients]
    sds = [2 / (each.gradient_mu * 300) for each in shares] + [math.sqrt(2) / each.counting_mu for each in shares]
    for drawn, sd in zip(noise, sds, strict=True):
        total = np.sum(drawn**2) / sd**2
        assert stats.chi2.cdf(total, trials) > FALSE_ALARM and stats.chi2.sf(total, trials) > FALSE_ALARM
        assert stats.chi2.cdf(0.64 * total, trials) < FALSE_ALARM


def test_the_integer_sums_are_those_of_the_definition(seed):
    """Histogram and clipped gradients, written as a loop over pilots in floating point, without noise."""
    draw, data, rows = make(3000, 60, seed)
    planned = plan("joint-pmt", data, 3000, 1.0)
    points = np.random.default_rng(seed).standard_normal((5, 10)) / 5
    pieces, bounds = planned.first.pieces(rows), np.linspace(2.0, 9.0, 5)
    counts = planned.second.counts(pieces, points).reveal(TEST) / FINE
    sums = gradient_sum(planned, pieces, points, bounds) / GRADIENT * bounds[:, None]
    z = whiten(ridge_regularized_public(data).factor, np.column_stack([draw.private_x, draw.private_y]))
    for t, point in enumerate(points):
        gradients = z[:, :-1] * (z[:, -1] - z[:, :-1] @ point)[:, None]
        lengths = np.linalg.norm(gradients, axis=1)
        expected = np.bincount(planned.second.sizes.bins(lengths), minlength=counts.shape[1])
        assert np.sum(np.abs(counts[t] - expected)) <= 2  # a row within 1e-6 of an edge
        clipped = gradients * np.minimum(1, bounds[t] / lengths)[:, None]
        assert np.allclose(sums[t] / 3000, clipped.mean(axis=0), atol=1e-5)
    secure = planned.run(rows, SecureNoise(), 1)
    assert np.all(np.isfinite(secure.coefficients)) and 0 <= secure.released()["clipped_share"] <= 1


class Wide(GradientSum):
    """A planted fault: sums in the units of a narrow bound, clipped far out."""

    def __call__(self, pieces):
        far = GradientSum(self.family, self.points, 1e6 * np.ones_like(self.bounds))
        total = join_words(far(pieces)) * (1e6 / self.bounds)[:, None]
        return split_into_words(np.rint(total).astype(np.int64))


class Unclipped(SecondPass):
    """A planted fault: noise for clipped gradients, gradients hardly clipped."""

    def gradients(self, points, bound):
        return Wide(**vars(super().gradients(points, bound)))


class Uncounted(SecondPass):
    """A planted fault: every row is counted thirty times."""

    def counts(self, rows, points):
        return super().counts(rows, points).map(lambda total: 30 * total)


def planted(fault, result):
    """Return the second pass of a plan with a fault in it."""
    return fault(**{field.name: getattr(result.second, field.name) for field in fields(SecondPass)})


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Unclipped, Uncounted])
def test_planted_faults_of_the_second_pass_are_caught(fault):
    """No clipping; a histogram whose sensitivity was forgotten."""
    assert audit(
        "joint-pmt", 1.0, 10_000, change=lambda result: replace(result, second=planted(fault, result))
    ).violated


@pytest.mark.slow
def test_a_planted_fault_of_the_gradient_between_is_caught():
    """No clipping there."""

    def change(result):
        (between,) = result.middle
        return replace(result, middle=(planted(Unclipped, replace(result, second=between)),))

    assert audit("joint-pmt", 1.0, 10_000, change=change).violated


def distance(public, rows, seed, trials=20, **values):
    """Median distance to the non-private fit, and that of the public fit."""
    exact = exact_fit(public, rows).reveal(TEST)
    mu = values.pop("mu", 1.0)
    result = plan("joint-pmt", public, rows.n, mu, **values).run(rows, SeededNoise(seed), trials)
    return np.median(np.linalg.norm(result.coefficients - exact, axis=1)), np.linalg.norm(public.coefficients - exact)


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
    collected = [distance(*heavy(5000, 60, s, shift=0.5), s, mu=2.0) for s in range(8)]
    assert np.median([ours / public_fit for ours, public_fit in collected]) < 0.1


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.003, 0.03, 0.1])
def test_never_worse_than_the_public_fit(mu):
    """Down to no budget at all, over alike samples, small and large m: the median ratio is at most 1."""
    for n, m in ((500, 13), (3000, 13), (500, 15), (3000, 20), (3000, 200)):
        collected = [distance(*make(n, m, s)[1:], s, mu=mu) for s in range(10)]
        assert np.median([ours / public_fit for ours, public_fit in collected]) < 1.05


def test_counts_and_public_shares_are_combined_by_precision(seed):
    """Without counts the public shares; with noiseless counts the counts; between, between."""
    _, data, _ = make(100, 60, seed)
    sizes = gradient_norms(data, 1000, 1.0)
    prior = sizes.expected(1000, None, 0.0)
    counts = prior[::-1].copy() + 5.0
    assert np.allclose(sizes.expected(1000, counts, 1e-9), counts)
    assert np.allclose(sizes.expected(1000, counts, 1e9), prior)
    assert sizes.shares.sum() == pytest.approx(1.0)
    wide, narrow = sizes.bound(1000, 10.0, None, 0.0), sizes.bound(1000, 0.1, None, 0.0)
    assert wide > narrow


def test_two_passes_without_public_rows_are_refused(seed):
    """One sentence that says what to choose; auto takes one pass."""
    _, data, _ = make(100, 60, seed)
    moment = data.factor @ data.factor.T
    known = public_from_moment(moment, names(10), "y", 60)
    with refused(MethodMessage.PASSES_NEED_ROWS):
        plan("joint-pmt", known, 100, 1.0, passes="2")
    assert plan("joint-pmt", known, 100, 1.0).second is None


@pytest.mark.parametrize("far", [[1e149, 0.0, 1.0], [1e149, 1e149, -1e149], [5e-324, 0.0, 1e149]])
def test_no_warning_tells_of_a_private_row(far):
    """Values that overflow on the way: no warning, so nothing in a log that depends on the row."""
    rng = np.random.default_rng(1)
    x = 1e-6 * rng.standard_normal((60, 2))
    data = public_from_rows(x, x @ [1.0, 2.0] + 1e-6 * rng.standard_normal(60), names(2), "y")
    table = np.vstack([np.zeros((4, 3)), far])
    rows = PrivateRows.from_arrays(table[:, :-1], table[:, -1], names(2))
    for values in ({}, {"passes": "1"}, {"response_scale": 2.0}):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            result = plan("joint-pmt", data, 5, 1.0, **values).run(rows, SecureNoise(), 1)
        assert np.all(np.isfinite(result.coefficients))


@pytest.mark.parametrize("name", ["clip", "radius", "response_scale"])
def test_a_bound_of_next_to_nothing_is_refused_before_anything_is_spent(name):
    """It would divide by zero, or worse, pass for a bound."""
    with refused(MethodMessage.TINY_BOUND):
        plan("joint-pmt", public(), 100, 1.0, **{name: 1e-200})
    assert grid_rows(np.zeros((1, 3)), 1e-300, FINE).tolist() == [[0, 0, 0]]
    assert grid_rows(np.array([[2.0**-541] * 3]), 2.0**-590, FINE).tolist() == [[0, 0, 0]]


@pytest.mark.slow
@pytest.mark.parametrize("passes", ["1", "2"])
@pytest.mark.parametrize("lam", [0.1, 1.0])
def test_bands_along_the_ridge_path_hold_the_penalized_coefficients(lam, passes, seed):
    """The noise of P and its sampling move a penalized fit too: at least 90 % (exact binomial test)."""
    hits = 0
    for at in range(150):
        rng = np.random.default_rng(seed + at)
        x = rng.standard_normal((3060, 4))
        y = x @ np.arange(1.0, 5.0) + rng.standard_normal(3060)
        data = public_from_rows(x[:60], y[:60], names(4), "y")
        rows = PrivateRows.from_arrays(x[60:], y[60:], names(4))
        bands = plan("joint-pmt", data, 3000, 1.0, lam=lam, passes=passes).run(rows, SeededNoise(seed, at), 2).bands()
        hits += bool(bands.low[at % 4] <= (1 + at % 4) / (1 + lam) <= bands.high[at % 4])
    assert stats.binom.cdf(hits, 150, 0.9) > FALSE_ALARM


@pytest.mark.slow
def test_a_direction_that_one_public_row_decides(seed):
    """Its residual is 0 and says nothing: the band assumes equal variances there, and holds."""
    hits = 0
    for at in range(100):
        rng = np.random.default_rng(seed + at)
        x = rng.standard_normal((3060, 3))
        x[:, 2] = rng.random(3060) < 0.02
        x[:60, 2] = np.arange(60) == 5
        y = x @ np.ones(3) + rng.standard_normal(3060)
        data = public_from_rows(x[:60], y[:60], names(3), "y")
        rows = PrivateRows.from_arrays(x[60:], y[60:], names(3))
        bands = plan("joint-pmt", data, 3000, 3.0).run(rows, SeededNoise(seed, at), 2).bands()
        hits += bool(bands.low[2] <= 1.0 <= bands.high[2])
    assert stats.binom.cdf(hits, 100, 0.85) > FALSE_ALARM


def test_what_a_ball_takes(seed):
    """Less the wider it is; all of it at nothing, little at four times the longest row."""
    _, data, _ = make(3000, 60, seed)
    longest = float(np.max(np.linalg.norm(ridge_regularized_public(data).whitened, axis=1)))
    shares = [
        expected_truncated_fraction(ridge_regularized_public(data), Ball(radius, 1.0))
        for radius in (1e-3, 1.0, longest, 4 * longest)
    ]
    assert shares == sorted(shares, reverse=True) and shares[0] > 0.95 and shares[-1] < 0.02


@pytest.mark.parametrize("m", [8, 9])
def test_fewest_rows_release_all_that_they_tell(m, seed):
    """At d + 1 and d + 2 public rows coefficients, bands, notes and released figures come without a failure."""
    rng = np.random.default_rng(seed)
    for at in range(10):
        x = rng.standard_t(4, (m + 400, 7))
        y = x.sum(axis=1) + rng.standard_normal(m + 400)
        data = public_from_rows(x[:m], y[:m], names(7), "y")
        result = plan("joint-pmt", data, 400, 1.0).run(
            PrivateRows.from_arrays(x[m:], y[m:], names(7)), SeededNoise(seed, at), 1
        )
        assert np.all(np.isfinite(result.coefficients)) and np.all(np.isfinite(result.bands().high))
        assert isinstance(result.notes(), tuple) and result.released()


def test_a_plan_expects_what_its_passes_leave(seed):
    """With a bound that no row reaches precisions add up, of gradients with the error of a pilot that truncates."""
    _, data, _ = make(3000, 60, seed)
    clip = 1.01 * plan("joint-pmt", data, 3000, 10.0).second.sizes.edges[-1]
    planned = plan("joint-pmt", data, 3000, 10.0, clip=clip, radius=1.0)
    assert [each.expected_bound for each in planned.gradients] == [clip, clip]
    v, alike = planned.first.sigma**2 / 2, 1 / 3000 + planned.first.public.moment_variance
    gram_mse = planned.first.public.d + 1
    gram_mse *= v * alike / (v + alike)
    gram_mse += expected_truncated_fraction(planned.first.public, planned.first.ball) ** 2
    precision = 1 / pilot_variance(planned.first)
    for each in planned.gradients:
        noise = 2 * clip / (each.shares.gradient_mu * 3000)
        precision += 1 / (noise**2 + gram_mse / precision)
    predicted = planned.predicted()
    assert predicted.privacy / planned.first.coefficient_units == pytest.approx(precision**-0.5, rel=1e-3)
    assert np.all(predicted.truncation < 0.01 * predicted.privacy)


def test_a_plan_rehearses_releases_of_rows_like_the_public_ones(seed):
    """Bounds and unclipped shares of a plan are those of releases whose rows have the public lengths' law."""
    _, data, rows = make(10_000, 200, seed)
    planned = plan("joint-pmt", data, 10_000, 1.5)
    released = planned.run(rows, SeededNoise(seed), 40)
    last, cut = released.fit.passes[-1], released.bands().truncation
    assert 0.8 < planned.second.expected_bound / np.median(last.gradient.bound) < 1.25
    assert np.median(planned.second.rehearsal.unclipped_share) == pytest.approx(
        np.median(last.unclipped_share), abs=0.03
    )
    assert np.std(planned.second.rehearsal.counts[:, -3:]) == pytest.approx(planned.second.counting_sd, rel=0.5)
    assert 1 / 3 < np.median(planned.predicted().truncation / cut) < 3
    assert np.array_equal(planned.second.rehearsal.bound, replace(planned.second).rehearsal.bound)
    heavy = replace(planned.second, sizes=replace(planned.second.sizes, lengths=planned.second.sizes.lengths**2))
    assert heavy.expected_bound > 1.5 * planned.second.expected_bound


def test_the_share_of_truncated_rows_is_foreseen_with_few_public_rows():
    """Within a factor of 2 in the median of ten tables, though no public row is longer than the bound, as a rule."""
    apart, beyond = [], []
    for draw in range(10):
        _, data, rows = make(5000, 40, 7 + draw)
        planned = plan("joint-pmt", data, 5000, 1.5)
        released = planned.run(rows, SeededNoise(draw), 1).released()
        apart.append(math.log(planned.facts().predicted_truncation_rate / released["clipped_share"]))
        beyond.append(np.mean(planned.second.sizes.lengths > planned.second.expected_bound))
    assert abs(np.median(apart)) < math.log(2) and np.median(beyond) == 0
    assert planned.facts().predicted_truncation_rate == np.median(planned.second.rehearsal.clipped_shares)
