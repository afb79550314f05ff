"""Clipped gradients in passes: sums that keep to their bounds, the private fit without noise, doubts that are true."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, chi2

from pmtcore.base.messages import ReleaseNote, kind_of
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.glm.families import BOOSTING, LOGISTIC, POISSON, family
from pmtcore.mechanisms.grid import SCALE
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.mechanisms.passes import (
    GRADIENT,
    HISTOGRAM_SENSITIVITY,
    CurvatureSum,
    GradientSum,
    LengthCounts,
)
from pmtcore.mechanisms.quantized_rows import Quantizer
from pmtcore.methods.baselines import exact_fit, public_bands
from pmtcore.methods.gradients.frame import Frame
from pmtcore.methods.registry import recommended_method
from pmtcore.public.moments import public_from_rows
from pmtcore.tables.synthetic import synthetic
from tests.helpers import FALSE_ALARM, TEST, names, plan

ID = "pmt-gradients"


def glm(n, m, seed, fam="logistic", lam=0.01, d=5, size=0.3):
    draw = synthetic(n, m, d=d, trace=2.6 * d, seed=seed, family=fam, size=size)
    public = public_from_rows(draw.public_x, draw.public_y, names(d), "y", ridge=0.0, family=family(fam), lam=lam)
    return draw, public, PrivateRows.from_arrays(draw.private_x, draw.private_y, names(d))


def pieces(z):
    """Whitened rows with their responses (n, d + 1) as a pass has them."""
    d = z.shape[1] - 1
    rows = PrivateRows.from_arrays(z[:, :-1], z[:, -1], names(d))
    return Private(Quantizer.features_only(np.eye(d), False).pieces(rows))


def gradients(z, fam, points, bounds, mu=1.0, source=None):
    """In units of their bounds; without noise unless a source is given."""
    return GradientSum(fam, points, bounds).release(pieces(z), mu, len(z), source or ZeroNoise())


def curvatures(z, fam, points, bounds, mu=1.0, source=None):
    """Without noise unless a source is given."""
    return CurvatureSum(fam, points, bounds).release(pieces(z), mu, len(z), source or ZeroNoise())


def distances(result, exact):
    return np.linalg.norm(result.coefficients - exact, axis=1)


@given(st.integers(1, 5), st.floats(0.05, 5), st.sampled_from([LOGISTIC, BOOSTING, POISSON]), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_one_row_moves_sums_by_no_more_than_stated(d, bound, fam, seed):
    """Adversarial neighbours, rows that overflow among them: at most 2 R and sqrt(2) B^2, in integers."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(-3, 400, (2, 1)))
    rows = np.column_stack([rng.standard_normal((2, d)) * sizes, rng.choice([0.0, 1.0, 1e200, -1e5], 2)])
    points = rng.standard_normal((3, d)) * np.exp(rng.uniform(-3, 5))
    bounds = np.full(3, bound)
    first, second = (gradients(row[None], fam, points, bounds) for row in rows)
    assert np.all(np.linalg.norm(np.rint((first - second) * GRADIENT), axis=1) <= 2 * GRADIENT)
    first, second = (curvatures(row[None], fam, points, bounds) / bound**2 for row in rows)
    assert np.all(np.linalg.norm(np.rint((first - second) * SCALE**2), axis=(1, 2)) <= math.sqrt(2) * SCALE**2)


def test_the_bounds_are_reached():
    """Witnesses: opposite gradients at the bound move the sum by 2 R, orthogonal curvatures by sqrt(2) B^2."""
    point = np.zeros((1, 2))
    rows = [np.array([[1e3, 0.0, y]]) for y in (0.0, 1.0)]
    first, second = (gradients(r, LOGISTIC, point, np.ones(1)) for r in rows)
    assert np.linalg.norm(first - second) == pytest.approx(2.0, rel=1e-6)
    rows = [np.array([[1e3, 0.0, 0.0]]), np.array([[0.0, 1e3, 0.0]])]
    first, second = (curvatures(r, LOGISTIC, point, np.ones(1)) for r in rows)
    assert np.linalg.norm(first - second) == pytest.approx(math.sqrt(2), rel=1e-3)


EDGES = np.array([0.0, 0.3, 0.6, 1.2, 2.4, 4.8])


def histograms(of_curvatures, z, fam, points, mu=1.0, source=None):
    """Counts of lengths (t, K); without noise unless a source is given."""
    return LengthCounts(fam, points, EDGES, of_curvatures).release(pieces(z), mu, source or ZeroNoise())


@given(st.integers(1, 4), st.sampled_from([LOGISTIC, BOOSTING, POISSON]), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_one_row_moves_a_histogram_of_lengths_by_no_more_than_stated(d, fam, seed):
    """Adversarial neighbours, rows that overflow and rows of zeros among them: at most sqrt(2)."""
    rng = np.random.default_rng(seed)
    sizes = np.exp(rng.uniform(-3, 400, (2, 1))) * rng.choice([0.0, 1.0], (2, 1), p=[0.2, 0.8])
    rows = np.column_stack([rng.standard_normal((2, d)) * sizes, rng.choice([0.0, 1.0, 1e200, -1e5], 2)])
    points = rng.standard_normal((3, d)) * np.exp(rng.uniform(-3, 5))
    for of_curvatures in (False, True):
        first, second = (histograms(of_curvatures, row[None], fam, points) for row in rows)
        assert np.all(np.linalg.norm(first - second, axis=1) <= HISTOGRAM_SENSITIVITY + 1e-9)


@pytest.mark.parametrize(("of_curvatures", "factor"), [(False, 0.9), (True, 0.3)])
def test_a_histogram_counts_the_lengths_that_are_clipped(of_curvatures, factor):
    """At a chance of .1 |y - b'| of a label 1 is .9, the root of b'' .3; a row that moves bins attains the bound."""
    x = np.array([[0.8, 0.0, 1.0], [5.0, 0.0, 1.0], [0.0, 0.0, 1.0]])
    counts, first, second = (
        sum(histograms(of_curvatures, row[None], LOGISTIC, np.array([[-math.log(9) / row[0], 0.0]]))[0] for row in rows)
        for rows in (x[:2], x[:1], x[1:2])
    )
    assert np.array_equal(counts, np.histogram([0.8 * factor, 5.0 * factor], EDGES)[0])
    assert not np.any(histograms(of_curvatures, x[2:], LOGISTIC, np.zeros((1, 2))))
    assert np.linalg.norm(first - second) == pytest.approx(HISTOGRAM_SENSITIVITY)


@pytest.mark.parametrize("of_curvatures", [False, True], ids=["gradients", "curvatures"])
@pytest.mark.parametrize("fault", [1.0, 0.8])
def test_the_noise_of_a_histogram_is_what_the_budget_asks_for(of_curvatures, fault):
    """Variance of 2000 releases by chi-square, both tails at one in a million; a fifth less noise fails."""
    rows, mu, points = np.tile([[0.8, 0.0, 1.0]], (50, 1)), 1.3, np.zeros((2000, 2))
    counts = histograms(of_curvatures, rows, LOGISTIC, points, mu / fault, SeededNoise(3))
    total = np.sum((counts - counts.mean(axis=0)) ** 2) / (math.sqrt(2) / mu) ** 2
    dof = 1999 * (len(EDGES) - 1)
    assert (chi2.ppf(5e-7, dof) < total < chi2.isf(5e-7, dof)) == (fault == 1.0)


@pytest.mark.parametrize("fault", [1.0, 0.8])
def test_the_noise_is_what_the_budget_asks_for(fault):
    """Variance of 4000 releases by chi-square, both tails at one in a million; a fifth less noise fails."""
    rows, n, mu, bounds = np.tile([[0.3, -0.2, 1.0]], (50, 1)), 50, 1.3, np.full(4000, 0.7)
    points = np.zeros((4000, 2))
    result = gradients(rows, LOGISTIC, points, bounds, mu / fault, SeededNoise(3))
    sd = 2 / (mu * n)
    total = np.sum((result - result.mean(axis=0)) ** 2) / sd**2
    inside = chi2.ppf(5e-7, 7998) < total < chi2.isf(5e-7, 7998)
    assert inside == (fault == 1.0)
    moments = curvatures(rows, LOGISTIC, points, bounds, mu / fault, SeededNoise(4))
    sd = math.sqrt(2) * 0.7**2 / (mu * n)
    entries = np.column_stack([moments[:, 0, 0], moments[:, 1, 1], math.sqrt(2) * moments[:, 0, 1]])
    total = np.sum((entries - entries.mean(axis=0)) ** 2) / sd**2
    assert (chi2.ppf(5e-7, 11_997) < total < chi2.isf(5e-7, 11_997)) == (fault == 1.0)


@pytest.mark.parametrize("fam", ["gaussian", "logistic", "boosting", "poisson"])
@pytest.mark.parametrize("m", [25, 300])
def test_without_noise_the_passes_come_to_the_private_fit(fam, m, seed):
    """Zero noise at a large budget: what is left of the public fit's error is what clipping leaves, a little."""
    _, public, rows = glm(4000, m, seed, fam, 0.0 if fam == "gaussian" else 0.01, size=0.1 if fam == "poisson" else 0.3)
    exact = exact_fit(public, rows).reveal(TEST)
    result = plan(ID, public, 4000, 1e3, passes=14).run(rows, ZeroNoise(), 1)
    assert distances(result, exact)[0] < (0.03 if m == 300 else 0.2) * np.linalg.norm(public.coefficients - exact)


def test_more_trials_extend_fewer(seed):
    """Trial 0 is the same whether one or three are drawn, and a release has one."""
    _, public, rows = glm(1000, 60, seed)
    planned = plan(ID, public, 1000, 1.0)
    one, three = (planned.run(rows, SeededNoise(5), trials).transcript() for trials in (1, 3))
    assert three.shape[0] == 3 and np.allclose(one[0], three[0], rtol=1e-9)
    assert np.all(np.isfinite(planned.run(rows, SecureNoise(), 1).coefficients))


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.15, 1.0])
@pytest.mark.parametrize(("fam", "m"), [("logistic", 100), ("logistic", 12), ("poisson", 60)])
def test_it_beats_what_was_recommended_before(fam, m, mu):
    """Geometric mean over four draws, of medians over six releases: below the earlier methods and the public fit."""
    other = "pmt-score" if fam == "poisson" else "pmt-objective"
    ratios = []
    for seed in range(4):
        _, public, rows = glm(5000, m, seed, fam, size=0.1 if fam == "poisson" else 0.3)
        exact = exact_fit(public, rows).reveal(TEST)
        mine, theirs = (
            np.median(distances(plan(id, public, 5000, mu).run(rows, SeededNoise(seed), 6), exact))
            for id in (ID, other)
        )
        ratios.append((mine / theirs, mine / np.linalg.norm(public.coefficients - exact)))
    assert np.all(np.exp(np.mean(np.log(ratios), axis=0)) < 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.15, 2.0])
def test_bands_cover_and_are_no_wider_than_the_public_ones(mu):
    """95 % bands over 40 draws, five true coefficients each: at least 0.9; narrower than the public ones."""
    inside, total, widths = 0, 0, []
    for seed in range(40):
        draw, public, rows = glm(3000, 150, 1000 + seed, lam=1e-4)
        bands = plan(ID, public, 3000, mu).run(rows, SeededNoise(seed), 1).bands()
        inside += int(np.sum((bands.low <= draw.beta) & (draw.beta <= bands.high)))
        total += 5
        alone = public_bands(public)
        widths.append(np.median((bands.high - bands.low) / (alone.high - alone.low)))
    assert binomtest(inside, total, 0.95, alternative="less").pvalue > FALSE_ALARM and inside / total > 0.9
    assert np.median(widths) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.15, 0.5, 1.5, 4.5])
def test_the_prediction_is_one_to_bet_on(mu):
    """Predicted over realized distance within a factor 1.5 in the median of eight draws."""
    collected = []
    for seed in range(8):
        _, public, rows = glm(5000, 100, seed)
        exact = exact_fit(public, rows).reveal(TEST)
        made = plan(ID, public, 5000, mu)
        realized = math.sqrt(np.mean(distances(made.run(rows, SeededNoise(seed), 6), exact) ** 2))
        collected.append(np.linalg.norm(made.predicted().to_exact) / realized)
    assert 1 / 1.5 < np.median(collected) < 1.5


def test_rows_that_are_not_alike_are_noticed_and_followed(seed):
    """Private labels from other coefficients: the release says so and comes near the private fit all the same."""
    draw, public, _ = glm(8000, 100, seed)
    flipped = PrivateRows.from_arrays(draw.private_x, 1 - draw.private_y, names(5))
    exact = exact_fit(public, flipped).reveal(TEST)
    result = plan(ID, public, 8000, 3.0).run(flipped, SeededNoise(seed), 6)
    assert kind_of(result.notes()[0]) is ReleaseNote.FIT_TOO_FAR
    assert np.median(distances(result, exact)) < 0.15 * np.linalg.norm(public.coefficients - exact)


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.15, 1.5])
@pytest.mark.parametrize(("d", "m"), [(10, 12), (10, 15), (30, 32), (30, 45)])
def test_least_squares_with_few_public_rows(d, m, mu):
    """Geometric means over four draws: the recommended method is below AdaSSP and the public fit."""
    ratios = []
    for seed in range(4):
        draw = synthetic(4000, m, d=d, trace=2.0 * d, noise=1.0, seed=seed)
        public = public_from_rows(draw.public_x, draw.public_y, names(d), "y")
        rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, names(d))
        assert recommended_method(public).id == "joint-pmt"
        exact = exact_fit(public, rows).reveal(TEST)
        error = {
            id: np.median(distances(plan(id, public, 4000, mu).run(rows, SeededNoise(seed), 4), exact))
            for id in (ID, "joint-pmt", "ada-ssp")
        }
        alone = np.linalg.norm(public.coefficients - exact)
        ratios.append([error["joint-pmt"] / other for other in (error[ID], error["ada-ssp"], alone)])
    mean = np.exp(np.mean(np.log(ratios), axis=0))
    # At the least budget the gradients alone are up to a third nearer; joint-pmt pays for its pilot.
    assert mean[0] < 1.35 and mean[1] < 1.0 and mean[2] < 0.6


def test_what_is_recommended():
    """Labels and counts; for least squares, or without the response, another."""
    for m in (12, 60):
        draw = synthetic(100, m, d=10, seed=1)
        assert recommended_method(public_from_rows(draw.public_x, draw.public_y, names(10), "y")).id == "joint-pmt"
    for fam in ("logistic", "boosting", "poisson"):
        _, public, _ = glm(100, 60, 1, fam)
        assert recommended_method(public).id == ID
    draw = synthetic(100, 60, d=5, seed=1, family="logistic")
    unlabelled = public_from_rows(draw.public_x, None, names(5), "y", ridge=0.0, family=LOGISTIC, lam=0.01)
    assert recommended_method(unlabelled).id != ID


def test_a_long_public_row_has_the_mean_of_its_own_predictor():
    """A row left out of the whitening is longer; an exponential mean of that length would be that of no row."""
    rng = np.random.default_rng(1)
    x = np.column_stack([np.ones(60), np.append(rng.exponential(1.0, 59), 30.0)])
    public = public_from_rows(
        x, rng.poisson(np.exp(0.1 * x[:, 1])).astype(float), names(2), "y", ridge=0.0, family=POISSON, lam=0.0
    )
    frame = Frame(public, 1000)
    centre = frame.start[0]
    assert frame.norms[-1] > 1.5 * np.linalg.norm(frame.rows[-1])
    assert frame.slopes(centre[None])[:, 0] == pytest.approx(np.exp(x @ frame.to_table(centre)))
