"""The filter of ``joint-pmt`` over pilot and gradients: curvature is raised where they say so, never lowered."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import ReleaseNote, kind_of
from pmtcore.base.private_rows import Curator, PrivateRows
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.joint import outcome
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.clipping import RESPONSE_SCALES, GradientNorms, common_direction, negligible_noise_bound
from pmtcore.public.gaussian_update import gaussian_update, raise_curvatures, secant_update
from pmtcore.public.moments import INTERCEPT, back_transform, public_from_rows
from tests.helpers import names, plan

TEST = Curator("a test of the filter on synthetic rows")


def _gram(rng: np.random.Generator, d: int) -> np.ndarray:
    rows = rng.standard_normal((4 * d, d))
    return rows.T @ rows / len(rows)


@pytest.mark.parametrize("d", [1, 2, 6, 20])
def test_a_row_that_was_truncated_is_given_back(d: int) -> None:
    """Without noise the difference of two gradients restores one missing row exactly, whatever the step."""
    rng = np.random.default_rng(d)
    gram, row, step = _gram(rng, d), 5 * rng.standard_normal(d), rng.standard_normal(d)
    complete = gram + np.outer(row, row)
    result = raise_curvatures(
        gram[None], step[None], (complete @ step)[None], np.full(1, 1e-18), entry_variance=np.full(1, 1e-18)
    )
    assert np.allclose(result[0], complete)


def test_curvature_is_never_lowered(seed) -> None:
    """Whatever two gradients say, the matrix that comes out is at least the one that went in."""
    rng = np.random.default_rng(seed)
    for d in (1, 3, 10):
        gram = np.array([_gram(rng, d) for _ in range(200)])
        step, observed = rng.standard_normal((2, 200, d)) * np.exp(3 * rng.standard_normal((2, 200, 1)))
        result = raise_curvatures(gram, step, observed, np.full(200, 0.01), entry_variance=np.full(200, 1e-4))
        assert np.linalg.eigvalsh(result - gram).min() > -1e-9 * np.abs(result).max()
        lowered = raise_curvatures(
            gram, step, np.einsum("tij,tj->ti", gram / 2, step), np.full(200, 1e-9), entry_variance=np.full(200, 1e-9)
        )
        assert np.array_equal(lowered, gram)


def test_noise_alone_raises_nothing(seed) -> None:
    """Of 20,000 steps that are all noise at most 0.0025 are believed, twice what three standard deviations allow."""
    rng = np.random.default_rng(seed)
    gram, step = np.eye(4), 0.1 * rng.standard_normal((20_000, 4))
    observed = step + 0.05 * rng.standard_normal((20_000, 4))
    result = raise_curvatures(
        np.tile(gram, (20_000, 1, 1)), step, observed, np.full(20_000, 0.05**2), entry_variance=np.zeros(20_000)
    )
    assert np.mean(np.any(result != gram, axis=(1, 2))) < 0.0025


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_secant_is_the_conditional_law_of_what_noise_did_to_the_gram_matrix(d: int) -> None:
    """Along a step the matrix has the conditional mean; it stays symmetric and positive definite; the doubt shrinks."""
    rng = np.random.default_rng(d)
    gram, step, v, variance = _gram(rng, d), rng.standard_normal(d), 0.003, 0.02
    observed = gram @ step + 0.1 * rng.standard_normal(d)
    noise = v * (step @ step * np.eye(d) + np.outer(step, step))
    update = gaussian_update(noise[None], np.eye(d), np.zeros((1, d)), variance * np.eye(d))
    wanted = gram @ step + update.gain[0] @ (observed - gram @ step)
    known, error_scale = secant_update(
        *(each[None] for each in (gram, np.eye(d), step, observed)),
        variance=np.full(1, variance),
        entry_variance=np.full(1, v),
    )
    assert np.allclose(known[0] @ step, wanted)
    assert np.allclose(known[0], known[0].T)
    assert np.linalg.eigvalsh(known[0]).min() > 0
    # In a direction across the step an entry keeps the variance that the gradients leave it.
    open_part = variance / (v * (step @ step) + variance)
    assert step @ error_scale[0] @ step == pytest.approx(open_part * (step @ step))


def test_two_gradients_never_leave_a_curvature_of_nothing(seed) -> None:
    """Whatever they say, also that the curvature is negative, the matrix stays positive definite; none is no news."""
    rng = np.random.default_rng(seed)
    for d in (1, 3, 10):
        gram = np.array([_gram(rng, d) for _ in range(200)])
        step, observed = rng.standard_normal((2, 200, d)) * np.exp(2 * rng.standard_normal((2, 200, 1)))
        error_scale = np.tile(np.eye(d), (200, 1, 1))
        for sign, variance in ((1, 1e-2), (-1, 1e-2), (-1, 1e-6)):
            arguments = (gram, error_scale, step, sign * observed)
            variances = {"variance": np.full(200, variance), "entry_variance": np.full(200, 1e-3)}
            known, left = secant_update(*arguments, **variances)
            values = np.linalg.eigvalsh(known)
            assert np.all(values[:, 0] > -1e-12 * values[:, -1])
            assert np.linalg.eigvalsh(left).min() > -1e-12
            assert np.all(left <= error_scale + np.abs(left) + 1e-12)
        loud, _ = secant_update(
            gram, error_scale, step, observed, variance=np.full(200, 1e12), entry_variance=np.full(200, 1e-3)
        )
        assert np.allclose(loud, gram, rtol=1e-3, atol=1e-3)
        still, as_before = secant_update(
            gram, error_scale, 0 * step, 0 * observed, variance=np.ones(200), entry_variance=np.ones(200)
        )
        assert np.array_equal(still, gram)
        assert np.array_equal(as_before, error_scale)


def test_a_weak_direction_of_the_private_rows_is_reached_at_an_ample_budget(seed) -> None:
    """Noise of the Gram matrix is ten times the private rows' curvature there: steps are as long as gradients say."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((20_245, 6))
    x[245:, 0] = x[245:, 1] + 0.06 * x[245:, 0]
    y = x.sum(axis=1) + rng.standard_normal(len(x))
    assert np.median(errors_at_an_ample_budget(x, y, seed, m=245)) < 0.1


def errors_at_an_ample_budget(x: np.ndarray, y: np.ndarray, seed: int, m: int = 60) -> np.ndarray:
    """Return distances of three releases at mu 300 to the exact fit, in its standard errors; m rows are public."""
    d = x.shape[1]
    public = public_from_rows(x[:m], y[:m], names(d), "y")
    rows = PrivateRows.from_arrays(x[m:], y[m:], names(d))
    exact = exact_fit(public, rows).reveal(TEST)
    entry = method("joint-pmt")
    plan = entry.plan(public, rows.n, Budget(300.0), make_parameters(entry, {}))
    away = plan.run(rows, SeededNoise(seed), 3).coefficients - exact
    variance = float(np.sum((y[m:] - x[m:] @ exact) ** 2)) / (rows.n - d)
    return np.sqrt(np.einsum("ti,ij,tj->t", away, x[m:].T @ x[m:], away) / d / variance)


def test_a_step_that_gradients_measured_is_not_in_doubt(seed) -> None:
    """At mu 190 less than half of the pilot's noise is left along the first step between two gradients; 1 at first."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3060, 3))
    y = x.sum(axis=1) + rng.standard_normal(3060)
    public = public_from_rows(x[:60], y[:60], names(3), "y")
    rows = PrivateRows.from_arrays(x[60:], y[60:], names(3))
    entry = method("joint-pmt")
    result = entry.plan(public, rows.n, Budget(190.0), make_parameters(entry, {})).run(rows, SeededNoise(seed), 1).fit
    step = result.passes[1].point - result.passes[0].point
    left = [np.trace(fit.gram_noise_covariance(step)[0]) for fit in (result.pilot, *result.passes)]
    assert left[1] == pytest.approx(left[0])
    assert np.max(left[2:]) < left[0] / 2


@pytest.mark.parametrize("scale", [1.0, 30.0])
def test_a_large_budget_reaches_the_fit_also_of_skewed_rows(scale: float, seed) -> None:
    """At mu 300 within a tenth of a standard error, with private rows far beyond the public ones too."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3000, 4))
    x[60:90] *= scale
    y = x.sum(axis=1) + rng.standard_normal(3000)
    assert np.max(errors_at_an_ample_budget(x, y, seed)) < 0.1


def test_heavy_truncation_is_said(seed) -> None:
    """Private rows far beyond the public ones, a budget at which the ball takes them: the release says so."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4000, 3))
    x[60:] *= np.array([20.0, 1.0, 1.0])
    y = x.sum(axis=1) + rng.standard_normal(4000)
    public = public_from_rows(x[:60], y[:60], names(3), "y")
    entry = method("joint-pmt")
    plan = entry.plan(public, 3940, Budget(4.5), make_parameters(entry, {}))
    outcome = plan.run(PrivateRows.from_arrays(x[60:], y[60:] + 3 * x[60:, 0], names(3)), ZeroNoise(), 1)
    assert outcome.disagrees
    assert outcome.fit.truncates_heavily


@pytest.mark.parametrize("mu", [0.15, 1.0, 300.0])
def test_rows_of_zeros_are_counted_by_what_was_released(mu: float, seed) -> None:
    """A third of the rows lacks a value: the histogram's counts lack a third of n. Without gaps nothing is said."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((9100, 3))
    y = x.sum(axis=1) + rng.standard_normal(9100)
    public = public_from_rows(x[:100], y[:100], names(3), "y")
    plan = method("joint-pmt").plan(public, 9000, Budget(mu), make_parameters(method("joint-pmt"), {}))
    for lost in (0, 3000):
        x[100 : 100 + lost], y[100 : 100 + lost] = 0.0, 0.0
        outcome = plan.run(PrivateRows.from_arrays(x[100:], y[100:], names(3)), SeededNoise(seed), 1)
        assert (ReleaseNote.ROWS_LEFT_OUT in map(kind_of, outcome.notes())) == (lost > 0)
        assert outcome.fit.gradient.share_left_out(public) == pytest.approx(lost / 9000, abs=0.1)


@pytest.mark.parametrize(("lost", "said"), [(0.0, False), (0.01, False), (0.04, True)])
@pytest.mark.parametrize("own_zeros", [False, True])
def test_gaps_are_said_beyond_a_fiftieth_and_complete_rows_of_zeros_are_none(own_zeros, lost, said, seed) -> None:
    """With an intercept every row without gaps has a length; without one, a tenth of the complete rows has none."""
    rng = np.random.default_rng(seed)
    x = np.abs(rng.standard_normal((22_000, 3)))
    if own_zeros:
        x[::10] = 0.0
    else:
        x[:, 0] = 1.0
    y = x.sum(axis=1) + rng.standard_normal(22_000)
    gaps = 2000 + np.flatnonzero(rng.random(20_000) < (2.5 if own_zeros else 1.0) * lost)
    columns = ("x1", "x2", "x3") if own_zeros else (INTERCEPT, "x2", "x3")
    public = public_from_rows(x[:2000], y[:2000], columns, "y")
    x[gaps], y[gaps] = 0.0, 0.0
    plan = method("joint-pmt").plan(public, 20_000, Budget(300.0), make_parameters(method("joint-pmt"), {}))
    outcome = plan.run(PrivateRows.from_arrays(x[2000:], y[2000:], columns), SeededNoise(seed), 1)
    assert (ReleaseNote.ROWS_LEFT_OUT in map(kind_of, outcome.notes())) == said


def test_noise_in_many_columns_is_no_truncation() -> None:
    """A step follows the noise of the gradient before it: alike rows of 101 columns are not called truncated."""
    n, m, d = 2000, 500, 101
    for draw in range(3):
        rng = np.random.default_rng(draw)
        x = rng.standard_normal((n + m, d))
        y = 0.5 * x.sum(axis=1) + rng.standard_normal(n + m)
        public = public_from_rows(x[:m], y[:m], names(d), "y")
        entry = method("joint-pmt")
        plan = entry.plan(public, n, Budget(1.0), make_parameters(entry, {}))
        outcome = plan.run(PrivateRows.from_arrays(x[m:], y[m:], names(d)), SeededNoise(draw), 1)
        assert not outcome.fit.truncates_heavily


@pytest.mark.parametrize("d", [1, 2, 7])
def test_a_step_with_too_small_a_gram_matrix_leaves_no_more_than_itself(d: int, seed) -> None:
    """What is left is no longer than the step, in the metric of all rows, however many rows are missing."""
    rng = np.random.default_rng([d, seed])
    for size in (0.1, 3.0, 300.0):
        pilot, rows = _gram(rng, d), size * rng.standard_normal((2, d))
        complete, away = pilot + rows.T @ rows, rng.standard_normal(d)
        step = np.linalg.solve(pilot, complete @ away)
        left = away - step
        assert left @ complete @ left <= step @ complete @ step * (1 + 1e-9)


@pytest.mark.parametrize("mu", [0.5, 4.5])
def test_bands_hold_the_fit_where_the_ball_truncated_what_decides_it(mu: float, seed) -> None:
    """Six private rows in a hundred are fifty times as long as any public one: bands hold the private fit."""
    covered = []
    for draw in range(8):
        rng = np.random.default_rng([draw, seed])
        x = rng.standard_normal((4000, 3))
        x[:240] *= 50
        y = x @ np.ones(3) + rng.standard_normal(4000) * (1 + np.abs(x[:, 0]))
        theirs = rng.standard_normal((12, 3))
        public = public_from_rows(theirs, theirs @ np.ones(3) + rng.standard_normal(12), names(3), "y")
        rows = PrivateRows.from_arrays(x, y, names(3))
        entry = method("joint-pmt")
        outcome = entry.plan(public, 4000, Budget(mu), make_parameters(entry, {})).run(rows, SeededNoise(draw), 1)
        exact, bands = exact_fit(public, rows).reveal(TEST), outcome.bands()
        assert bands is not None
        covered.append(np.mean((bands.low <= exact) & (exact <= bands.high)))
    assert np.mean(covered) > 0.8


def test_bands_contain_a_last_step_longer_than_expected(seed) -> None:
    """The pilot's ball truncates far rows, so the last step is long; the truncation part is at least that step."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4000, 3))
    x[:240] *= 50
    y = x @ np.ones(3) + rng.standard_normal(4000) * (1 + np.abs(x[:, 0]))
    theirs = rng.standard_normal((12, 3))
    public = public_from_rows(theirs, theirs @ np.ones(3) + rng.standard_normal(12), names(3), "y")
    plan = method("joint-pmt").planned(public, 4000, 4.5)
    made = plan.run(PrivateRows.from_arrays(x, y, names(3)), SeededNoise(seed), 1)
    step = public.residual_scale * back_transform(public.feature_root, made.fit.last_step)
    bands = made.bands()
    assert bands is not None and np.linalg.norm(step) > 0
    assert np.all(bands.parts["truncation"] >= 0.999 * np.abs(step))


def test_a_plan_expects_rows_beyond_the_longest_public_one(seed) -> None:
    """Half a row in a table as long as the public one, further out the fewer: an exponential tail."""
    lengths = np.random.default_rng(seed).exponential(size=60)
    sizes = GradientNorms.at(lengths, 3, 6000, 1.0)
    counts, beyond = sizes.expected_tail_counts(6000), sizes.edges[:-1] > np.max(lengths)
    assert 6000 / 60 * 0.05 < np.sum(counts[beyond]) <= 6000 / 60 * 0.5
    assert np.all(np.diff(counts[beyond][:-1]) <= 0) and np.sum(counts) == pytest.approx(6000)


@pytest.mark.parametrize("scale", [1e-30, 1.0, 1e12])
def test_variances_below_zero_by_rounding_are_zero(scale: float) -> None:
    """A difference of covariances that rounding leaves below zero makes bands of no width, and none of NaN."""
    covariance = scale * np.array([[-1e-16, 0.0], [0.0, 4.0]])
    part = ErrorPart.of(covariance)
    assert part.sd[0] == 0.0 and part.sd[1] == pytest.approx(2 * np.sqrt(scale))
    nothing = ErrorPart.of(np.zeros((2, 2)))
    bands = limits(np.zeros(2), part, nothing, nothing.plus(nothing))
    assert np.all(np.isfinite(bands.low)) and np.all(np.isfinite(bands.high))


def test_bounds_grow_with_the_budget() -> None:
    """The noise of a harmless bound is a fiftieth of the sampling error; the histogram reaches half of that error."""
    for n, mu in ((500, 0.5), (20_000, 4.5), (1000, 300.0)):
        bound = negligible_noise_bound(n, mu)
        assert 2 * bound / (mu * n) == pytest.approx(0.02 / np.sqrt(n))
    lengths = np.linspace(0.1, 3.0, 50)
    assert GradientNorms.at(lengths, 3, 1000, 0.5).edges[-1] == pytest.approx(12.0)
    assert GradientNorms.at(lengths, 3, 1000, 300.0).edges[-1] == pytest.approx(
        25 * negligible_noise_bound(1000, 300.0)
    )


@pytest.mark.parametrize("mu", [0.5, 4.5, 300.0])
def test_a_histogram_that_reaches_further_has_more_bins_of_the_same_width(mu: float) -> None:
    """The bins within the public lengths are as fine at any budget, and every row falls in exactly one."""
    sizes = GradientNorms.at(np.linspace(0.1, 3.0, 50), 3, 5000, mu)
    edges = sizes.edges
    assert len(edges) == sizes.bin_count + 1
    assert np.allclose(edges[2:] / edges[1:-1], 1.25)
    assert edges[1] < 0.02
    lengths = np.random.default_rng(1).pareto(1.0, 4000)
    assert sizes.counts(sizes.bins(lengths)).sum() == 4000


@pytest.mark.parametrize("mu", [0.02, 0.1])
def test_a_bound_is_priced_by_the_error_of_the_step(mu: float, seed: int) -> None:
    """The chosen bound has the least error of score over unclipped share, by counts of rows below it (decision 261)."""
    lengths = np.random.default_rng(seed).exponential(1.0, 400)
    sizes, n = GradientNorms.at(lengths, 3, 4000, mu), 4000
    rows = sizes.expected(n, None, 0.0)
    candidates = sizes.edges[-1] * 1.25 ** -np.arange(0.0, 20.0, 0.25)
    below = np.array([np.interp(each, sizes.edges[:-1], np.cumsum(rows[0]) - rows[0]) for each in candidates]) / n
    score = sizes.clipping_mse_by_bound(rows, n, candidates)[0] + 3 * (2 * candidates / (mu * n)) ** 2
    step = candidates[np.argmin(score / np.maximum(below, 0.05) ** 4)]
    bound = sizes.bound(n, mu, None, 0.0)[0]
    assert bound == pytest.approx(step)
    assert bound > 1.05 * candidates[np.argmin(score)]
    share = sizes.unclipped_share(rows, np.array([bound]))[0]
    assert share == pytest.approx(below[candidates == step][0], abs=1e-6)


@pytest.mark.parametrize("mu", [0.15, 1.5])
def test_a_pilot_leaves_its_ball_to_the_features(mu: float, seed: int) -> None:
    """A pilot's response scale is one of those of a moment alone, over the root of 2."""
    rng = np.random.default_rng(seed)
    public = public_from_rows(rng.standard_normal((80, 5)), rng.standard_normal(80), names(5), "y")
    ball = plan("joint-pmt", public, 3000, mu).first.ball
    assert ball.response_scale * math.sqrt(2) == pytest.approx(
        min(RESPONSE_SCALES, key=lambda each: abs(each - ball.response_scale * math.sqrt(2)))
    )
    assert ball.response_scale not in RESPONSE_SCALES


def test_fewer_rows_beyond_a_bound_have_more_of_one_direction() -> None:
    """The cosine is one between 0 and 1 that falls with the share, 0.06 where a tenth is beyond (proofs/radius.md)."""
    shares = np.array([0.0, 1e-6, 1e-3, 0.1, 1.0])
    result = common_direction(shares)
    assert np.all((result > 0) & (result < 1))
    assert np.all(np.diff(result) < 0) or np.isclose(result[0], 1, atol=1e-3)
    assert result[3] == pytest.approx(0.058, abs=0.001)


def test_rows_that_public_rows_do_not_foresee_are_believed_beyond_chance() -> None:
    """Twelve rows ten times as far as any public one choose a bound near them; a count that is noise does not."""
    lengths = np.abs(np.random.default_rng(3).standard_normal(200)) + 0.1
    sizes = GradientNorms.at(lengths, 3, 5000, 30.0)
    counts = np.round(sizes.expected_tail_counts(5000))[None]
    place = int(sizes.bins(np.array([30.0]))[0])
    alone = sizes.bound(5000, 30.0, counts, 0.2)[0]
    there = counts.copy()
    there[0, place] += 12
    chance = counts.copy()
    chance[0, place] += 0.2
    assert sizes.expected(5000, there, 0.2)[0, place] > 11
    assert sizes.bound(5000, 30.0, there, 0.2)[0] > 1.5 * alone
    assert sizes.expected(5000, chance, 0.2)[0, place] == 0
    assert sizes.bound(5000, 30.0, chance, 0.2)[0] == alone


def test_a_tail_of_counts_ends_where_they_end(seed) -> None:
    """Lengths that fall exponentially have a power law at their largest fifth with rows far out, counts none."""
    rng = np.random.default_rng(seed)
    public, private = rng.exponential(2.0, 1000), rng.exponential(2.0, 20_000)
    sizes = GradientNorms.at(public, 7, 20_000, 4.5)
    exact = sizes.counts(sizes.bins(private)).astype(float)
    for noise in (0.3, 1.6, 6.0):
        counts = exact + noise * rng.standard_normal((20, sizes.bin_count))
        rows = sizes.expected(20_000, counts, noise)
        assert rows.sum(axis=1) == pytest.approx(20_000, rel=0.02)
        assert np.median(sizes.bound(20_000, 4.0, counts, noise)) < 1.3 * private.max()
        far = rows[:, sizes.edges[:-1] > 2 * private.max()]
        assert np.median(np.sum(far, axis=1)) < 1
        assert np.mean(far == 0) > 0.8
    assert sizes.bound(20_000, 4.0, None, 0.3)[0] > 1.5 * private.max()
    assert np.sum(sizes.expected_tail_counts(20_000)) == pytest.approx(20_000)
    assert np.sum(sizes.expected_tail_counts(20_000)[sizes.edges[:-1] > 2 * private.max()]) < 1
    assert np.sum(sizes.expected_tail_counts(20_000)[sizes.edges[1:] > 1.2 * public.max()]) > 0.5


def test_counts_that_are_noise_start_no_tail(seed) -> None:
    """Where no count is beyond chance the public tail stays: twenty histograms of noise alone far out."""
    rng = np.random.default_rng(seed)
    sizes = GradientNorms.at(rng.exponential(2.0, 60), 3, 600, 0.5)
    beyond = sizes.edges[:-1] >= sizes.tail.start
    counts = np.where(beyond, 0.0, 600 * sizes.shares) + 50.0 * rng.standard_normal((20, sizes.bin_count))
    _, in_tail = sizes._counted_tail(counts, 50.0)
    assert np.mean(np.any(in_tail, axis=1)) < 0.2


def test_a_row_that_a_clear_count_shows_is_one(seed) -> None:
    """Noise far below a row: a bin with one row has one, whatever its neighbours lead one to expect."""
    rng = np.random.default_rng(seed)
    lengths = np.abs(rng.standard_t(3, 400))
    sizes = GradientNorms.at(lengths[:60], 3, 340, 300.0)
    exact = sizes.counts(sizes.bins(lengths[60:])).astype(float)
    rows = sizes.expected(340, exact + 0.05 * rng.standard_normal((10, sizes.bin_count)), 0.05)
    assert np.all(np.abs(rows - exact) < 0.5)


@pytest.mark.parametrize("power", [2.5, 3.0, 4.0])
def test_rows_beyond_every_bound_are_priced_by_the_lengths_that_were_counted(power: float) -> None:
    """The more rows beyond the last edge, and the more on the way there, the more is lost; none there, nothing."""
    sizes = GradientNorms.at(np.linspace(0.1, 3.0, 50), 3, 5000, 0.5)
    edge = np.array([sizes.edges[-1]])
    lengths = sizes.tail.start[0] * (1 - (np.arange(200_000) + 0.5) / 200_000) ** (-1 / power)
    rows = sizes.counts(sizes.bins(lengths)).astype(float)[None]
    excess = np.maximum(lengths - edge, 0.0)
    assert sizes.clipping_mse(rows, 200_000, edge)[0] == 0
    assert sizes.largest_clipping_bias(rows, 200_000, edge)[0] == pytest.approx(np.mean(excess), rel=0.3)
    inside = edge / 2
    bias = sizes.largest_clipping_bias(rows, 200_000, inside)[0]
    assert bias == pytest.approx(np.mean(np.maximum(lengths - inside, 0.0)), rel=0.3)
    rows[0, -1] = 0
    assert sizes.largest_clipping_bias(rows, 200_000, edge)[0] == 0


@pytest.mark.parametrize("mu", [0.5, 1.5])
def test_rows_beyond_every_bound_are_said_and_widen_the_bands(mu: float, seed) -> None:
    """Two hundred rows in the open bin: the release says so, and its bands allow for what they may have beyond it."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((4000, 3))
    public = public_from_rows(x[:100], x[:100].sum(axis=1) + rng.standard_normal(100), names(3), "y")
    entry = method("joint-pmt")
    plan = entry.plan(public, 3900, Budget(mu), make_parameters(entry, {}))
    lost = []
    for reach in (1.0, 30.0):
        far = np.append(np.full(300, reach), np.ones(3700))[:, None]
        z, y = x * far, np.sum(x * far, axis=1) + rng.standard_normal(4000) * far[:, 0]
        outcome = plan.run(PrivateRows.from_arrays(z[100:], y[100:], names(3)), ZeroNoise(), 1)
        assert outcome.fit.truncates_heavily == (reach > 1)
        gradient = outcome.fit.gradient
        lost.append(gradient.largest_clipping_mse[0])
        assert np.all(outcome.fit.truncation_part(np.eye(3)).variance >= lost[-1])
    assert lost[1] > 10 * lost[0]
    bias = gradient.plan.sizes.largest_clipping_bias(gradient.rows, 3900, gradient.bound)[0]
    assert lost[1] == pytest.approx(bias**2 / 3)
    assert lost[1] > 2 * gradient.clipping_mse[0]


def test_gradients_between_share_an_ample_budget(seed) -> None:
    """At mu 190 several, each with its histogram; at usual budgets one; all parts compose to the total."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((60, 4))
    public = public_from_rows(x, x.sum(axis=1) + rng.standard_normal(60), names(4), "y")
    entry = method("joint-pmt")
    for mu, many in ((0.5, 1), (190.0, 12)):
        plan = entry.plan(public, 3000, Budget(mu), make_parameters(entry, {}))
        assert len(plan.middle) == many
        assert plan.n_passes == 1 + 2 * (many + 1)
        spent = plan.first.mu**2 + sum(g.shares.gradient_mu**2 + g.shares.counting_mu**2 for g in plan.gradients)
        assert spent == pytest.approx(mu**2)


def test_few_private_rows_far_out_are_summed_in_full_at_an_ample_budget(seed) -> None:
    """Three of 3,000 rows with gradients a hundred times as long as public ones: 0.3 standard errors at most."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((3060, 3))
    y = x.sum(axis=1) + rng.standard_normal(3060)
    x[60:63] *= 10.0
    y[60:63] += np.array([60.0, 80.0, 70.0])
    assert np.max(errors_at_an_ample_budget(x, y, seed)) < 0.3


def test_the_plan_has_an_interval_that_narrows_with_public_rows(seed) -> None:
    """Its ends are around the prediction, further apart the fewer public rows there are; none without public rows."""
    rng = np.random.default_rng(seed)
    entry, ratios = method("joint-pmt"), []
    for m in (8, 20, 40):
        x = rng.standard_normal((m, 4))
        public = public_from_rows(x, x.sum(axis=1) + rng.standard_normal(m), names(4), "y")
        predicted = entry.plan(public, 2000, Budget(1.0), make_parameters(entry, {})).predicted()
        low, high = predicted.interval_factors
        assert low < 1 < high
        ratios.append(high / low)
    assert ratios == sorted(ratios, reverse=True)
    alone = entry.plan(public, 2000, Budget(1.0), make_parameters(entry, {"passes": "1"})).predicted()
    assert alone.interval_factors is None


@pytest.mark.parametrize("number", [0, 1, 2, 3])
def test_bands_of_columns_that_determine_each_other_are_those_of_the_rows(number):
    """Of a column that is another one up to a thousandth: at least half of least squares' errors, and its fit is in."""
    rng = np.random.default_rng(number)
    x = rng.standard_normal((4060, 3))
    x = np.column_stack([x, x[:, 0] + 1e-3 * rng.standard_normal(4060)])
    y = x[:, 0] + x[:, 1] + rng.standard_normal(4060)
    public = public_from_rows(x[:60], y[:60], names(4), "y")
    exact, *_ = np.linalg.lstsq(x[60:], y[60:], rcond=None)
    errors = np.sqrt(np.mean((y[60:] - x[60:] @ exact) ** 2) * np.diag(np.linalg.inv(x[60:].T @ x[60:])))
    rows = PrivateRows.from_arrays(x[60:], y[60:], names(4))
    bands = plan("joint-pmt", public, 4000, 1.0).run(rows, SeededNoise(number), 1).bands()
    assert np.all(bands.sampling > 0.5 * errors)
    assert np.all((bands.low <= exact) & (exact <= bands.high))


def test_an_estimated_covariance_is_in_the_law_of_a_shift(monkeypatch, seed) -> None:
    """Public errors whose covariance 24 degrees of freedom estimate: as many alarms as the level, where rows differ."""
    rng, d, freedom, draws = np.random.default_rng(seed), 10, 24, 4000
    alarms = 0
    for _ in range(draws):
        rows = rng.standard_normal((freedom, d))
        monkeypatch.setattr(outcome, "_two_estimates", lambda *_, of=rows: (np.zeros((d, d)), of.T @ of / len(of)))
        public = SimpleNamespace(m=freedom + d, d=d, rows=rows)
        fit = SimpleNamespace(
            unshrunk=rng.standard_normal((1, d)), unclipped_share=np.ones(1), gram_estimate=np.eye(d)[None]
        )
        alarms += outcome.looks_shifted(SimpleNamespace(public=public, prior_dof=freedom), fit)
    level = outcome._FALSE_ALARMS
    assert binom.cdf(alarms, draws, level) > 1e-3 and binom.sf(alarms - 1, draws, level) > 1e-3
