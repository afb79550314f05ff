"""Objective and score on public labels that are next to separated, on hard tables, and without public labels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binomtest

from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import POISSON
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.gradients.frame import Frame, in_frame_coordinates
from pmtcore.methods.gradients.rehearsal import simulated_table
from pmtcore.public.moments import public_from_rows
from pmtcore.public.shape import Clip, Shape
from tests.helpers import FALSE_ALARM, TEST, plan
from tests.methods.test_gradients import names
from tests.methods.test_gradients_laws import separated, standard_errors, table, with_labels

BOTH = ("pmt-objective", "pmt-score")


@pytest.mark.parametrize("id", BOTH)
@pytest.mark.parametrize("m", [12, 24, 60])
def test_separated_public_labels_do_not_carry_the_fit_away(id, m):
    """Next to a public fit without end: within twenty standard errors of the private one at mu 1, bands finite."""
    public, rows, x = separated("plain", 3000, m, 3)
    assert np.median(standard_errors(public, rows, x, 1.0, id, 5)) < 20
    bands = plan(id, public, rows.n, 1.0).run(rows, SeededNoise(1), 1).bands()
    assert np.all(np.isfinite(bands.low)) and np.all(np.isfinite(bands.high))


@pytest.mark.parametrize("kind", ["plain", "rare", "skewed", "steep"])
def test_more_budget_does_not_hurt_the_objective(kind):
    """Median distances at mu .5, 5 and 300: at most 1.1 times the least at a smaller budget, and .1 more."""
    public, rows, x = table(kind, 3000, 60, 7)
    small, middle, ample = (
        np.median(standard_errors(public, rows, x, mu, "pmt-objective", 5)) for mu in (0.5, 5.0, 300.0)
    )
    assert middle < 1.1 * small + 0.1
    assert ample < 1.1 * min(small, middle) + 0.1


@pytest.mark.parametrize("id", BOTH)
def test_the_plan_is_as_wide_as_the_outcome(id):
    """Errors of ten releases of alike rows: between a third and three times what the plan says, in the mean square."""
    squares = []
    for seed in range(10):
        public, rows, _ = table("plain", 3000, 60, seed)
        planned = plan(id, public, rows.n, 0.5)
        away = planned.run(rows, SeededNoise(seed), 1).coefficients[0] - exact_fit(public, rows).reveal(TEST)
        squares.append(np.sum(away**2) / np.sum(planned.predicted().to_exact ** 2))
    assert 1 / 3 < math.sqrt(np.mean(squares)) < 3


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [True, False])
def test_bands_of_few_public_rows_cover(labelled):
    """Bands of the objective around the private fit of 20 tables, twelve rows a column: 95 % up to one in a million."""
    inside = total = 0
    for seed in range(20):
        public, rows, _ = table("plain", 3000, 60, seed)
        if not labelled:
            public = with_labels(public, None)
        bands = plan("pmt-objective", public, rows.n, 0.5).run(rows, SeededNoise(seed), 1).bands()
        exact = exact_fit(public, rows).reveal(TEST)
        inside += int(np.sum((bands.low <= exact) & (exact <= bands.high)))
        total += public.d
    assert binomtest(inside, total, 0.95, alternative="less").pvalue > FALSE_ALARM


def test_one_public_fit():
    """The score is released at the start of clipped gradients, and the objective is centred there."""
    public, rows, _ = separated("plain", 3000, 24, 3)
    start = Frame(public, rows.n).start
    for id in BOTH:
        planned = plan(id, public, rows.n, 1.0)
        assert np.array_equal(planned.frame.start[0], start[0])
        assert np.array_equal(planned.frame.root, Frame(public, rows.n).root)
    mechanism = plan("pmt-objective", public, rows.n, 1.0).mechanism
    assert np.array_equal(mechanism.centre, start[0])


def test_the_last_trial_does_not_depend_on_the_others():
    """Each trial of the equation stops by itself."""
    public, rows, _ = table("rare", 2000, 60, 2)
    planned = plan("pmt-score", public, rows.n, 1.0)
    scores = planned.run(rows, SeededNoise(0), 6).statistic
    points = np.tile(planned.frame.start[0], (6, 1))
    together = planned.equation.solve(points, scores).fits
    alone = planned.equation.solve(points[5:], scores[5:]).fits
    assert np.allclose(together[5:], alone, rtol=1e-6, atol=1e-8)


def test_an_ample_budget_leaves_the_error_of_the_public_curvature():
    """The score at mu 300: errors in units of the part that bands call privacy are of order one, not of noise alone."""
    squares = []
    for seed in range(6):
        public, rows, _ = table("plain", 3000, 60, seed)
        outcome = plan("pmt-score", public, rows.n, 300.0).run(rows, SeededNoise(seed), 1)
        away = outcome.coefficients[0] - exact_fit(public, rows).reveal(TEST)
        squares.append(np.mean((away / outcome.bands().privacy) ** 2))
    assert math.sqrt(np.mean(squares)) < 3


def test_the_pull_of_the_modulus_comes_out():
    """Without noise, public labels or a prior: under a third of the distance that the minimizer is pulled remains."""
    public, rows, _ = table("plain", 3000, 600, 1)
    public = with_labels(public, None)
    planned = plan("pmt-objective", public, rows.n, 0.7, radius=8.0, shrinkage="none")
    outcome = planned.run(rows, ZeroNoise(), 1)
    exact = planned.equation.frame.root.T @ exact_fit(public, rows).reveal(TEST)
    pulled, free = (np.linalg.norm(at - exact) for at in (outcome.statistic[0], outcome.posterior.fits[0]))
    assert free < 0.3 * pulled


@pytest.mark.parametrize("id", BOTH)
def test_bands_are_scaled_by_errors_over_simulated_rows(id):
    """At a level of two public rows errors are longer than their covariance says, and its band is as long."""
    public, rows, _ = separated("rare", 3000, 40, 5)
    planned = plan(id, public, rows.n, 1.0)
    outcome = planned.run(rows, SeededNoise(2), 1)
    unscaled = planned.privacy_part(outcome.posterior, np.ones(public.d)).sd
    assert outcome.bands().privacy == pytest.approx(planned.error_ratios * unscaled)
    assert planned.error_ratios[-1] > 2 * np.max(planned.error_ratios[:-1])
    assert np.all(planned.error_ratios >= 1)


@pytest.mark.parametrize("id", BOTH)
def test_simulated_scores_have_the_noise_of_the_private_rows(id):
    """However many rows are simulated: where noise is all there is, scores have its standard deviation at n rows."""
    public, _, _ = table("plain", 3000, 60, 3)
    planned = plan(id, public, 1000, 0.02)
    sd = np.sqrt(np.diag(planned.equation.noise))
    rows = simulated_table(planned.frame, 0).private(planned.frame.features, public.names, None)
    scores = np.array([planned.simulated_score(rows, draw)[1] for draw in range(60)])
    count = scores.size
    assert np.sum((scores / sd) ** 2) == pytest.approx(count, abs=5 * math.sqrt(2 * count))


def test_a_simulated_minimizer_is_that_of_as_many_rows_as_there_are():
    """Every simulated row twice: the same objective, and that of a release where they are n."""
    public, _, _ = table("plain", 3000, 60, 3)
    planned = plan("pmt-objective", public, 60, 1.0)
    features, response = public.rows[:, :-1], public.rows[:, -1]
    once = PrivateRows.from_arrays(features, response, public.names)
    twice = PrivateRows.from_arrays(np.tile(features, (2, 1)), np.tile(response, 2), public.names)
    mechanism, one = planned.mechanism, np.random.default_rng
    minimizers = [mechanism.simulated(planned.prepared(each), each.n, one(1)) for each in (once, twice)]
    assert minimizers[0] == pytest.approx(minimizers[1], rel=1e-4, abs=1e-5)
    free = replace(mechanism, mu=1e6)
    released = free.release(planned.prepared(once), ZeroNoise(), 1)[0]
    assert free.simulated(planned.prepared(twice), 120, one(1)) == pytest.approx(released, rel=1e-3, abs=1e-3)


def counts_with_a_long_row(length: float):
    """Return 60 public rows with counts, one of them this long."""
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(60), np.append(rng.exponential(1.0, 59), length)])
    y = rng.poisson(np.exp(np.minimum(0.1 * x[:, 1], 3.0))).astype(float)
    return x, public_from_rows(x, y, names(2), "y", ridge=0.0, family=POISSON, lam=0.0)


@pytest.mark.parametrize("reach", [1.0, 2.0, math.inf])
def test_a_long_public_row_has_the_mean_of_its_own_predictor(reach):
    """At the public fit, shortened by the clip, no longer than the row is: for the price of a clip as for the fit."""
    x, public = counts_with_a_long_row(30.0)
    clip = Clip(1.5, reach)
    own = x @ Frame(public, 1000).to_table(Frame(public, 1000).start[0])
    equation = plan("pmt-score", public, 1000, 1.0).equation
    for rows in (equation.rows, Shape.of(in_frame_coordinates(public)).left_out):
        clipped = replace(rows, factors=np.ones(60), weights=np.ones(60)).clipped(clip)
        lengths = np.linalg.norm(rows.features, axis=1)
        shortened = np.minimum(1.0, 1.5 * reach / lengths)
        assert lengths[-1] > 1.4 * np.linalg.norm(Frame(public, 1000).rows[-1])
        assert clipped.predictors(rows.centre[None])[0] == pytest.approx(shortened * own)
        assert clipped.slopes(POISSON, rows.centre[None])[0] == pytest.approx(
            np.minimum(1.0, 1.5 / (lengths * shortened)) * np.exp(shortened * own), rel=1e-6
        )


def test_the_equation_answers_to_its_own_hessian():
    """The penalized Hessian is the derivative of the moved score, with clipped rows and away from the public fit."""
    _, public = counts_with_a_long_row(30.0)
    equation = replace(plan("pmt-score", public, 1000, 1.0).equation, clip=Clip(2.0, 1.5))
    point = equation.frame.start[0][None] + 0.1
    for along in np.eye(2):
        step = 1e-5 * along
        slope = (equation.moved(point, point + step) - equation.moved(point, point - step)) / 2e-5
        assert slope[0] == pytest.approx(equation.hessians(point)[0] @ along, rel=1e-4)


@pytest.mark.parametrize("length", [30.0, 3e3, 3e6])
def test_a_column_of_any_length_leaves_a_plan_for_counts(length):
    """However long the longest public row of counts: every figure of the plan and every limit is a number."""
    x, public = counts_with_a_long_row(length)
    planned = plan("pmt-score", public, 1000, 1.0)
    assert np.all(np.isfinite(planned.predicted().to_exact))
    rows = PrivateRows.from_arrays(np.tile(x, (17, 1))[:1000], np.ones(1000), names(2))
    bands = planned.run(rows, SeededNoise(1), 1).bands()
    assert np.all(np.isfinite(bands.low)) and np.all(np.isfinite(bands.high))
