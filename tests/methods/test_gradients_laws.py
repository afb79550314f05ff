"""Laws of clipped gradients in passes on tables that are not kind: unlimited budget, more budget, alike samples."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import LOGISTIC, POISSON
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.gradients.frame import Frame
from pmtcore.methods.gradients.passes import (
    CountedLengths,
    FilterState,
    Observation,
    _raised_by_overshoot,
    _safeguarded,
    _step_back,
    ball_bounds,
    chance_if_alike,
    choose_bounds,
    combine_curvature,
    counted_balls,
    counted_bounds,
    curvature_at,
)
from pmtcore.public.clipping import ExponentialTail, GradientNorms, mean_excess
from pmtcore.public.moments import INTERCEPT, public_from_rows, whiten
from pmtcore.public.ridge import COEFFICIENT_SD, INTERCEPT_SD, prior_precision
from tests.helpers import FALSE_ALARM, TEST, names, plan
from tests.methods.test_gradients import ID, glm


def table(kind, n, m, seed):
    """Labels or counts with an intercept, five columns, one of them hard; public rows first."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(n + m), rng.standard_normal((n + m, 4))])
    beta = np.array([-1.0, 0.6, -0.4, 0.3, 0.2])
    if kind == "rare":
        x[:, 4] = (rng.random(n + m) < 0.05) * 4.0
        beta[4] = -0.8
    if kind == "skewed":
        x[:, 4] = np.exp(1.2 * rng.standard_normal(n + m)) - 2.0
    if kind == "steep":
        beta[1] = 4.0
    z = x @ beta
    y = rng.poisson(np.exp(np.minimum(z, 3.0))) if kind == "counts" else rng.random(n + m) < LOGISTIC.mean(z)
    names = (INTERCEPT, *(f"x{j}" for j in range(4)))
    fam = POISSON if kind == "counts" else LOGISTIC
    public = public_from_rows(x[:m], y[:m].astype(float), names, "y", ridge=0.0, family=fam, lam=0.0)
    return public, PrivateRows.from_arrays(x[m:], y[m:].astype(float), names), x[m:]


def with_labels(public, labels):
    """The same public rows with these labels; without labels where there are none."""
    return public_from_rows(public.rows[:, :-1], labels, public.names, "y", ridge=0.0, family=LOGISTIC, lam=0.0)


def separated(kind, n, m, seed):
    """Public rows whose labels one column decides, beside private rows of a table."""
    public, rows, x = table(kind, n, m, seed)
    return with_labels(public, (public.rows[:, 1] > 0).astype(float)), rows, x


def standard_errors(public, rows, x, mu, id=ID, trials=3):
    """Distances (trials,) to the private fit in its own standard errors."""
    exact = exact_fit(public, rows).reveal(TEST)
    information = (x * public.family.slope(x @ exact)[:, None]).T @ x
    away = plan(id, public, rows.n, mu).run(rows, SeededNoise(1), trials).coefficients - exact
    return np.sqrt(np.einsum("ti,ij,tj->t", away, information, away) / public.d)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "rare", "skewed", "steep", "counts"])
@pytest.mark.parametrize("m", [30, 120])
def test_unlimited_budget_gives_the_private_fit_and_more_never_hurts(kind, m):
    """At mu 300 within .1 standard errors; at most 1.1 times the least error at smaller budgets, and .05 more."""
    public, rows, x = table(kind, 3000, m, 7)
    errors = [np.median(standard_errors(public, rows, x, mu)) for mu in (1.5, 15.0, 300.0)]
    assert errors[-1] < 0.1
    assert errors[1] < 1.1 * errors[0] + 0.05


@pytest.mark.parametrize("kind", ["plain", "steep"])
def test_where_noise_is_negligible_the_passes_are_newton_steps(kind):
    """Within a hundredth of a standard error at mu 300, where clipping bounds of public rows alone leave two."""
    public, rows, x = table(kind, 3000, 60, 7)
    assert np.median(standard_errors(public, rows, x, 300.0)) < 0.01


def test_newton_steps_are_for_labels_with_public_rows_enough_and_noise_of_no_weight():
    """A curvature and two histograms for each gradient there, however many are asked for; none elsewhere."""
    labels, few, counts = (table(kind, 3000, m, 7)[0] for kind, m in (("plain", 60), ("plain", 12), ("counts", 60)))
    very_ample = plan(ID, labels, 3000, 300.0).schedule
    assert very_ample.curvature_after == tuple(range(len(very_ample.gradients))) and very_ample.counting > 0
    assert len(plan(ID, labels, 3000, 300.0, passes=20).schedule.curvature_after) == 20
    others = (plan(ID, labels, 3000, 4.5), plan(ID, few, 3000, 300.0), plan(ID, counts, 3000, 300.0))
    assert all(each.schedule.counting == 0.0 for each in others)


def counted(norms, lengths, noise=0.01):
    """Histogram of these lengths (n,), of one trial."""
    return CountedLengths(norms, norms.counts(norms.bins(lengths))[None].astype(float), noise)


@pytest.mark.parametrize("farther", [0.5, 1.0, 6.0])
def test_counted_bounds_end_at_the_longest_private_row(farther):
    """Whether public rows are longer, as long or shorter: no row is clipped, and the noise is that of its own bin."""
    public, _, _ = table("plain", 3000, 60, 5)
    frame = plan(ID, public, 3000, 300.0).frame
    state = FilterState.first(frame, 1)
    shown = frame.norms * np.abs(frame.residuals(state.points)[0])
    norms = GradientNorms.at(shown, 5, 3000, 100.0)
    private = farther * np.random.default_rng(0).choice(shown, 3000)
    chosen = counted_bounds(frame, state, 100.0, counted(norms, private))
    assert np.max(private) <= chosen.clipped.bounds[0] <= 1.3 * np.max(private)
    assert chosen.counted and not np.any(chosen.clipped.mean)
    assert np.max(private) <= counted_balls(frame, 100.0, counted(norms, private))[0] <= 1.3 * np.max(private)


def test_one_far_row_is_clipped_where_its_noise_would_cost_more():
    """At a small budget the bound stays with the other rows."""
    public, _, _ = table("plain", 3000, 60, 5)
    frame = plan(ID, public, 3000, 300.0).frame
    state = FilterState.first(frame, 1)
    norms = GradientNorms.at(np.linspace(0.1, 1.0, 60), 5, 3000, 100.0)
    private = np.append(np.random.default_rng(0).uniform(0.1, 1.0, 2999), 20.0)
    bounds = [counted_bounds(frame, state, mu, counted(norms, private)).clipped.bounds[0] for mu in (1.0, 100.0)]
    assert bounds[0] < 2.0 and bounds[1] >= 20.0


def test_only_a_step_that_passed_the_lowest_point_is_taken_back():
    """Of four trials on a parabola: far past it, a little past it, short of it, and past it by no more than noise."""
    true = np.diag([1.0, 4.0, 9.0])
    start = np.tile([1.0, 1.0, 0.5], (4, 1))
    down = -start @ true
    exact = np.sum(down**2, axis=1) / np.einsum("ti,ij,tj->t", down, true, down)
    ends = start + (exact * np.array([3.0, 1.2, 0.5, 3.0]))[:, None] * down
    variance = np.array([1e-12, 1e-12, 1e-12, 1e6])
    before, after = (Observation(points, -points @ true, variance) for points in (start, ends))
    back = _step_back(before, after)
    assert ends[0] + back[0] == pytest.approx(start[0] + exact[0] * down[0])
    assert not np.any(back[1:])


def test_after_a_step_that_went_too_far_the_next_ones_are_short():
    """A quarter of the way to the lowest point, then half of it, then all; as long as they are before any such step."""
    far, long = np.array([[6.0, 0.0]]), np.array([[100.0, 0.0]])
    none, one = np.zeros(1), np.eye(2)[None]
    first = Observation(np.zeros((1, 2)), np.array([[2.0, 0.0]]), none)
    # The slope falls from 2 to -4 over 6: the lowest point is at 2.
    past, short = Observation(far, np.array([[-4.0, 0.0]]), none), Observation(far / 6, np.array([[1.0, 0.0]]), none)
    state = FilterState(far, one, None, first)
    step, covariance, reach = _safeguarded(state, past, long, one)
    assert step[0] == pytest.approx([-4.0, 0.0]) and covariance[0, 0, 0] == pytest.approx(37.0)
    lengths = []
    for _ in range(3):
        step, covariance, reach = _safeguarded(replace(state, reach=reach), short, long, one)
        lengths.append(step[0, 0])
        assert covariance[0, 0, 0] == pytest.approx(1.0 + (100.0 - step[0, 0]) ** 2)
    assert lengths == pytest.approx([1.0, 2.0, 4.0])
    assert np.array_equal(_safeguarded(state, short, long, one)[0], long)


def test_a_curvature_that_hardly_changed_is_known_better_each_time():
    """Released at one point twice, its entries have at most .6 of the variance; far away the old one is none."""
    _, public, _ = glm(500, 100, 1)
    frame = plan(ID, public, 5000, 3.0).frame
    state = FilterState.first(frame, 1)
    bounds = ball_bounds(frame, state, 30.0)

    def after(place, with_last):
        true = frame.hessians(frame.slopes(place.points))
        return combine_curvature(frame, place, bounds, 30.0, released=true, with_last=with_last)

    once = after(state, True)
    assert after(once, True).released.variance[0] < 0.6 * after(once, False).released.variance[0]
    moved = replace(once, points=once.points + 2.0)
    assert after(moved, True).released.variance[0] > 0.9 * after(moved, False).released.variance[0]


def test_separated_public_rows_have_a_finite_start():
    """A column that decides every public label: the start keeps to the prior's scale, and the fit is still found."""
    public, rows, x = separated("plain", 3000, 24, 3)
    centre, covariance = plan(ID, public, 3000, 1.0).frame.start
    assert np.linalg.norm(centre) < 4 * COEFFICIENT_SD
    assert np.max(np.linalg.eigvalsh(covariance)) < 1.1 * INTERCEPT_SD**2
    assert np.median(standard_errors(public, rows, x, 300.0)) < 0.2


def starts(kind, m):
    """Frame, first state, left-out residuals there, and squared lengths of private gradients over public ones."""
    for seed in range(60):
        public, rows, x = table(kind, 1000, m, seed)
        if np.ptp(public.rows[:, -1]):
            frame = Frame(public, 1000)
            state = FilterState.first(frame, 1)
            residuals = frame.residuals(state.points)
            white, y = whiten(frame.root, x), rows.concatenate(lambda _, y: y).reveal(TEST)
            away = np.linalg.norm(white, axis=1) * (y - LOGISTIC.mean(white @ state.points[0]))
            yield frame, state, residuals, np.mean(away**2) / np.mean((frame.norms * residuals[0]) ** 2)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "steep"])
def test_private_gradients_are_as_long_as_expected_where_public_labels_are_separated(kind, monkeypatch):
    """Of 8 and 12 public rows some samples have next to no residuals; private rows there do not."""
    expected, actual, bounds = [], [], []
    for frame, state, residuals, longer in (start for m in (8, 12) for start in starts(kind, m)):
        expected.append(frame.expected_residual_ratio(residuals, state.points, state.covariance)[0] ** 2)
        actual.append(longer)
        bounds.append(choose_bounds(frame, state, 0.5).clipped.bounds[0])
    expected, actual = np.log(expected), np.log(actual)
    longer = expected > math.log(2)
    assert 8 <= np.sum(longer) <= len(longer) / 2
    assert np.mean(actual[longer]) > math.log(2) and abs(np.mean(actual[~longer])) < 0.2
    assert abs(np.mean(actual[longer]) - np.mean(expected[longer])) < 0.5
    monkeypatch.setattr(Frame, "expected_residual_ratio", lambda frame, residuals, *_: np.ones(len(residuals)))
    by_public = [choose_bounds(*start[:2], 0.5).clipped.bounds[0] for m in (8, 12) for start in starts(kind, m)]
    assert np.all((np.array(bounds) / by_public)[longer] > 1.3)


@pytest.mark.slow
def test_private_gradients_are_no_longer_where_public_rows_are_many():
    ratios = [
        frame.expected_residual_ratio(r, state.points, state.covariance)[0]
        for frame, state, r, _ in starts("plain", 120)
    ]
    assert np.mean(ratios) < 1.05 and min(ratios) >= 1


def test_the_prior_leaves_the_base_rate_free():
    """Along the mean of the rows, which is the intercept's axis where there is one, the prior is wide."""
    rng = np.random.default_rng(0)
    rows = np.column_stack([np.ones(50), rng.standard_normal((50, 3))])
    rows[:, 1:] -= rows[:, 1:].mean(axis=0)
    assert np.allclose(np.linalg.inv(prior_precision(rows)), np.diag([INTERCEPT_SD**2, *[COEFFICIENT_SD**2] * 3]))
    centred = prior_precision(rows[:, 1:])
    assert np.allclose(centred, np.eye(3) / COEFFICIENT_SD**2)


def test_the_price_of_a_bound_falls_for_ever():
    """Against the sum over rows and a numerical integral of half an exponential row beyond the longest."""
    lengths = np.sort(np.random.default_rng(2).chisquare(5, 40))
    bounds = np.append(np.linspace(0.1, 3, 12) * lengths[-1], 30 * lengths[-1])
    square, line = (each[0] for each in mean_excess(lengths[None], bounds[None], ExponentialTail))
    start = lengths[-9]
    scale = (np.sum(lengths[-8:] - start) + 5 * start) / 18
    grid = np.linspace(0, 60 * scale, 400_001)
    density = 0.5 * np.exp(-grid / scale) / scale
    for bound, first, second in zip(bounds, line, square, strict=True):
        beyond = np.maximum(lengths[-1] + grid - bound, 0.0)
        for power, value in ((1, first), (2, second)):
            shown = np.sum(np.maximum(lengths - bound, 0.0) ** power)
            assert value == pytest.approx(
                (shown + np.trapezoid(beyond**power * density, grid)) / 40, rel=1e-3, abs=1e-9
            )
    assert np.all(np.diff(square) < 0) and np.all(np.diff(line) < 0) and line[-1] > 0


@pytest.mark.parametrize("kind", ["plain", "skewed", "counts"])
def test_bounds_give_way_as_the_budget_grows(kind):
    """A bound grows with the budget, past five times the longest public gradient, without an end in sight."""
    public, _, _ = table(kind, 3000, 60, 5)
    frame = plan(ID, public, 3000, 1.0).frame
    state = FilterState.first(frame, 1)
    longest = np.max(frame.norms * np.abs(frame.residuals(state.points)[0]))
    bounds = [choose_bounds(frame, state, mu).clipped.bounds[0] / longest for mu in (0.1, 1.0, 10.0, 100.0, 1000.0)]
    assert np.all(np.diff(bounds) >= 0) and bounds[0] < 1.5 and bounds[-1] > 5.0


@pytest.mark.parametrize("kind", ["plain", "skewed", "rare"])
def test_radii_of_a_perturbed_objective_give_way_too(kind):
    """At small budgets a radius is one that public rows price; at large ones its noise alone limits it, up to a cap."""
    public, _, _ = table(kind, 3000, 60, 5)
    plans = [plan("pmt-objective", public, 3000, mu) for mu in (0.1, 1.0, 100.0, 1000.0)]
    plans.append(plan("pmt-objective", public, 10**9, 1000.0))
    longest = np.max(plans[0].frame.norms)
    radii = [each.clip.radius / longest for each in plans]
    assert np.all(np.diff(radii) >= 0) and radii[0] < 1.5 and radii[3] > 5.0
    assert radii[-1] == pytest.approx(100.0)


def test_a_far_row_is_no_longer_clipped_by_a_perturbed_objective_where_the_budget_is_ample():
    """A column in which private rows are up to ten times as long as the public ones: within .1 standard errors."""
    public, _, x = table("plain", 3000, 60, 7)
    x = x.copy()
    x[:150, 4] *= 10.0
    rng = np.random.default_rng(1)
    labels = (rng.random(3000) < LOGISTIC.mean(x @ np.array([-1.0, 0.6, -0.4, 0.3, 0.2]))).astype(float)
    far = PrivateRows.from_arrays(x, labels, public.names)
    assert np.median(standard_errors(public, far, x, 300.0, "pmt-objective")) < 0.1


@pytest.mark.parametrize("mu", [1.0, 10.0])
def test_the_modulus_of_an_objective_over_very_many_rows_pays_for_its_solver(mu):
    """With usual numbers of rows it is the least; over a billion it is larger, and the error to expect a fifth."""
    public, _, _ = table("plain", 3000, 120, 1)
    assert plan("pmt-objective", public, 10**5, mu).parameters.modulus == 1.0
    made = plan("pmt-objective", public, 10**9, mu)
    least = replace(made, parameters=replace(made.parameters, modulus=1.0))
    assert made.parameters.modulus > 4.0
    assert np.median(made.predicted().privacy) < np.median(least.predicted().privacy) / 5


def test_the_solver_does_not_set_the_error_of_dp_erm_at_ample_budgets():
    """At mu 40 and 300 the error is at most that at 10."""
    public, rows, x = table("plain", 3000, 60, 7)
    errors = [np.median(standard_errors(public, rows, x, mu, "dp-erm")) for mu in (10.0, 40.0, 300.0)]
    assert errors[1] < errors[0] and errors[2] < errors[0]


@pytest.mark.slow
@pytest.mark.parametrize("m", [7, 10, 25, 245])
def test_alike_samples_are_not_called_different(m):
    """At most the stated rate over forty draws at two budgets, with room for chance."""
    alarms = 0
    for seed in range(40):
        _, public, rows = glm(600, m, 2000 + seed)
        alarms += plan(ID, public, 600, (0.5, 3.0)[seed % 2]).run(rows, SeededNoise(seed), 1).disagrees
    assert binomtest(alarms, 40, 0.07, alternative="greater").pvalue > FALSE_ALARM


@pytest.mark.parametrize("kind", ["skewed", "rare"])
def test_a_direction_that_few_rows_decide_is_weak_evidence(kind):
    """Two gradients of one length by their covariance: along the longest public score the p-value is far larger."""
    public, _, _ = table(kind, 3000, 60, 1)
    frame = plan(ID, public, 3000, 20.0).frame
    state = FilterState.first(frame, 1)
    chosen = choose_bounds(frame, state, 20.0)
    hessian = chosen.curvature.hessian[0] + frame.penalty
    total = hessian @ state.covariance[0] @ hessian + chosen.noise[0] ** 2 * np.eye(5) + chosen.clipped.covariance[0]
    scores = frame.left_out * frame.residuals(state.points)[0][:, None]
    chances = []
    for place in np.argsort(-np.linalg.norm(scores, axis=1))[[0, 30]]:
        gradient = 4.0 * scores[place] / np.sqrt(scores[place] @ np.linalg.solve(total, scores[place]))
        gradient = gradient - chosen.clipped.mean[0] + frame.penalty @ state.points[0]
        chances.append(chance_if_alike(frame, state, chosen, gradient))
    assert chances[0] > 5 * chances[1]


def test_flipped_labels_are_called_different():
    """In at least five of six draws at the usual number of public rows."""
    called = 0
    for seed in range(6):
        draw, public, _ = glm(1500, 245, 3000 + seed)
        flipped = PrivateRows.from_arrays(draw.private_x, 1 - draw.private_y, names(5))
        called += plan(ID, public, 1500, 3.0).run(flipped, SeededNoise(seed), 1).disagrees
    assert called >= 5


@pytest.mark.parametrize("mu", [0.1, 0.9, 40.0, 400.0])
@pytest.mark.parametrize("m", [8, 100])
def test_every_schedule_spends_the_whole_budget(m, mu):
    """Gradients and curvature matrices together come to mu, whichever schedule is chosen."""
    _, public, _ = glm(500, m, 1)
    made = plan(ID, public, 500, mu)
    total = sum((part.sensitivity / part.sd) ** 2 for part in made.parts())
    assert total == pytest.approx(mu**2, rel=1e-9)
    assert made.n_passes == len(made.parts())
    assert replace(made.schedule, curvature_after=()).curvature_share == made.schedule.curvature


def test_steps_are_bought_where_precision_is_not_scarce():
    """More passes with more budget, and sooner where public rows are few."""
    _, few, _ = glm(500, 8, 1)
    _, many, _ = glm(500, 100, 1)
    passes = [
        [len(plan(ID, public, 5000, mu).schedule.gradients) for mu in (0.05, 0.5, 30.0)] for public in (few, many)
    ]
    assert passes[0] == sorted(passes[0]) and passes[1] == sorted(passes[1])
    assert passes == [[5, 10, 20], [5, 5, 14]]
    assert math.isclose(sum(plan(ID, many, 5000, 0.5).schedule.gradients), 0.9)


@pytest.mark.parametrize("kind", ["plain", "counts"])
def test_few_rows_have_a_schedule_for_each_size_of_noise(kind):
    """Five passes where noise is large, ten with three matrices where it is small, twenty with four where it is none.

    The noise of a gradient is 0.3, 0.1, 0.01 and 0.001 of the sampling error (decision 252).
    """
    public = table(kind, 3000, 8, 7)[0]
    budgets = [2 * math.sqrt(public.d / 3000) / noise for noise in (0.3, 0.1, 0.01, 0.001)]
    schedules = [plan(ID, public, 3000, mu).schedule for mu in budgets]
    assert [(len(each.gradients), len(each.curvature_after)) for each in schedules] == [
        (5, 1),
        (10, 3),
        (10, 3),
        (20, 4),
    ]


@pytest.mark.parametrize("rows", [8, 100])
@pytest.mark.parametrize("mu", [0.3, 30.0])
def test_more_passes_than_usual_leave_the_first_its_part(rows, mu):
    """The first share is to the last as in the automatic schedule, however many passes are asked for."""
    _, public, _ = glm(500, rows, 1)
    automatic = plan(ID, public, 5000, mu).schedule.gradients
    asked = plan(ID, public, 5000, mu, passes=40).schedule.gradients
    assert len(asked) == 40
    assert asked[-1] / asked[0] == pytest.approx(automatic[-1] / automatic[0])
    fewer = plan(ID, public, 5000, mu, passes=2).schedule.gradients
    assert fewer[1] / fewer[0] == pytest.approx(automatic[1] / automatic[0])


@pytest.mark.parametrize("rows", [8, 100])
def test_a_released_curvature_stays_as_it_was_released(rows):
    """Wherever the points go after it; before it the public Hessian follows them."""
    _, public, _ = glm(500, rows, 1)
    frame = plan(ID, public, 5000, 3.0).frame
    state = FilterState.first(frame, 2)
    bounds = ball_bounds(frame, state, 3.0)
    public_hessian = curvature_at(frame, state).hessian
    released = combine_curvature(frame, state, bounds, 3.0, released=1.3 * public_hessian)
    for away in (0.0, 2.0, 30.0):
        moved = replace(released, points=released.points + away)
        assert np.array_equal(curvature_at(frame, moved).hessian, curvature_at(frame, released).hessian)
    moved = replace(state, points=state.points + 2.0)
    assert not np.allclose(curvature_at(frame, moved).hessian, public_hessian)


def heavy(seed):
    """Counts whose mean is exponential in a log-normal column: the longest rows decide curvature and fit."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(5060), np.exp(rng.standard_normal(5060)), rng.standard_normal(5060)])
    y = rng.poisson(np.exp(np.minimum(x @ np.array([0.5, 0.2, 0.3]), 12))).astype(float)
    public = public_from_rows(x[:60], y[:60], (INTERCEPT, "a", "b"), "y", ridge=0.0, family=POISSON, lam=0.0)
    return public, PrivateRows.from_arrays(x[60:], y[60:], public.names), x[60:]


@pytest.mark.parametrize("number", [0, 2, 4])
def test_far_rows_of_counts_do_not_send_steps_to_and_fro(number):
    """Public rows see a tenth of the curvature: at mu 300 the fit is within .1 standard errors all the same."""
    assert np.median(standard_errors(*heavy(number), 300.0, trials=1)) < 0.1


def test_only_a_step_that_went_too_far_raises_the_curvature():
    """Of three trials on a parabola one step goes too far, one falls short, one too far by no more than its noise."""
    far = np.array([3.0, 0.0, 4.0])
    true, known = np.eye(3) + np.outer(far, far), np.tile(np.eye(3), (3, 1, 1))
    start = np.tile([1.0, 1.0, 0.5], (3, 1))
    ends = start - np.array([0.3, 0.01, 0.3])[:, None] * (start @ true)
    variance = np.array([1e-12, 1e-12, 1e6])
    observed = (Observation(points, -points @ true, variance) for points in (start, ends))
    raised = _raised_by_overshoot(known, np.full(3, 1e-12), *observed)
    assert raised[0] == pytest.approx(true, rel=1e-6, abs=1e-6)
    assert np.array_equal(raised[1:], known[1:])


@pytest.mark.slow
def test_the_sampling_part_is_the_standard_error_of_the_private_fit():
    """Two public rows a column at mu .5, eight tables: never three times the textbook one in the median coefficient."""
    for seed in range(8):
        public, rows, x = table("plain", 3000, 12, seed)
        slope = LOGISTIC.slope(x @ exact_fit(public, rows).reveal(TEST))
        error = np.sqrt(np.diag(np.linalg.inv((x * slope[:, None]).T @ x)))
        sampling = plan(ID, public, rows.n, 0.5).run(rows, SeededNoise(1), 1).bands().sampling
        assert 1 / 3 < np.median(sampling / error) < 3
