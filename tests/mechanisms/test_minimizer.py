"""Publishing a minimizer: what is computed lies as near the ideal as is claimed, whatever the rows; noise is exact."""

from __future__ import annotations

import math
from itertools import product

import mpmath as mp
import numpy as np
import pytest
from scipy.stats import gamma, kstest

from pmtcore.glm.families import LOGISTIC
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.mechanisms.grid import FINE
from pmtcore.mechanisms.minimizer import MinimizerRelease, RoundingBound
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.mechanisms.objective import Perturbation
from pmtcore.mechanisms.spherical import _floor, spherical_integers
from pmtcore.mechanisms.truncation import truncate_within
from tests.helpers import FALSE_ALARM, in_pieces


def perturbation(n, mu=1.0, penalty=0.0):
    return Perturbation(LOGISTIC, n, 2.0, 1.5, mu, penalty * np.eye(2), np.array([0.3, -0.2]))


def hostile(n, kind, seed=1):
    """Rows at the limit: ordinary, separable, all alike with one label, one direction against the other."""
    rng = np.random.default_rng(seed)
    x = truncate_within(3 * rng.standard_normal((n, 2)), 3.0)
    y = (rng.random(n) < 0.5).astype(float)
    if kind == "separable":
        y = (x[:, 0] > 0).astype(float)
    if kind == "alike":
        x, y = np.tile(truncate_within(np.array([[5.0, 5.0]]), 3.0), (n, 1)), np.ones(n)
    if kind == "cancelling":
        x, y = (
            np.tile(truncate_within(np.array([[5.0, 0.1]]), 3.0), (n, 1)) * (-1.0) ** np.arange(n)[:, None],
            np.ones(n),
        )
    weights = np.minimum(1.0, 2.0 / np.linalg.norm(x, axis=1)) * (1 - 2.0**-40)
    return Rows(x, y, weights)


def exact_minimizer(made, rows, b):
    """Newton in 40 digits."""
    with mp.workdps(40):
        x = [[mp.mpf(v) for v in row] for row in rows.features.tolist()]
        w, y = [mp.mpf(v) for v in rows.weights.tolist()], [mp.mpf(v) for v in rows.response.tolist()]
        modulus, c = mp.mpf(made.modulus), [mp.mpf(v) for v in made.centre.tolist()]
        own = mp.mpf(float(made.penalty[0, 0])) * made.n
        t = mp.matrix(c)
        for _ in range(80):
            g = mp.matrix([modulus * (t[j] - c[j]) + own * t[j] + mp.mpf(float(b[j])) for j in range(2)])
            h = (modulus + own) * mp.eye(2)
            for xi, wi, yi in zip(x, w, y, strict=True):
                p = 1 / (1 + mp.exp(-(xi[0] * t[0] + xi[1] * t[1])))
                for j in range(2):
                    g[j] += wi * (p - yi) * xi[j]
                    for k in range(2):
                        h[j, k] += wi * p * (1 - p) * xi[j] * xi[k]
            step = mp.lu_solve(h, g)
            size = mp.norm(step)
            t -= step / max(1, 3 * size / mp.log(1 + 3 * size) if size > mp.mpf("1e-3") else 1)
            if size < mp.mpf("1e-30"):
                break
        return np.array([float(v) for v in t]), t


@pytest.mark.parametrize("kind", ["ordinary", "separable", "alike", "cancelling"])
@pytest.mark.parametrize("mu", [0.1, 1.0, 30.0])
def test_the_computed_minimizer_is_as_near_as_claimed(kind, mu, seed):
    """Against 40 digits, with b off the grid by half a step: within the claimed distance, in
    the ball too."""
    made, rows = perturbation(40, mu), hostile(40, kind)
    b = made.noise * np.random.default_rng(seed).standard_normal(2)
    on_grid = np.rint(b / made.minimizer_release.step_of_noise) * made.minimizer_release.step_of_noise
    data = Data(LOGISTIC, rows.features, rows.response, rows.weights)
    computed = minimize(data, Penalty.of(on_grid, made.modulus, made.centre), made.minimizer_release.tolerance).theta
    ideal, _ = exact_minimizer(made, rows, b)
    for ball in (made.minimizer_release.ball, 0.5 * float(np.linalg.norm(computed - made.centre)) + 1e-3):
        minimizer_release = MinimizerRelease(
            made.centre,
            ball,
            made.minimizer_release.modulus,
            made.minimizer_release.least_gradient,
            made.minimizer_release.rounding_bound,
            made.minimizer_release.step_of_noise,
        )
        inside = [_moved(minimizer_release, theta) for theta in (computed[0], ideal)]
        assert np.linalg.norm(inside[0] - inside[1]) <= minimizer_release.distance
        steps = minimizer_release.integers(np.stack([computed[0], ideal]))
        assert np.linalg.norm(steps[0] - steps[1]) <= minimizer_release.sensitivity


def _moved(minimizer_release, theta):
    away = theta - minimizer_release.centre
    return minimizer_release.centre + away * min(1.0, minimizer_release.ball / max(np.linalg.norm(away), 1e-300))


def test_the_tolerance_is_never_below_what_rounding_leaves():
    """The doubt of a gradient against 40 digits, at points far and near, on rows that cancel."""
    made = perturbation(60, 1.0, 0.5)
    for kind, far in product(("ordinary", "cancelling"), (1.0, 1e3, 1e6)):
        rows, theta = hostile(60, kind), made.centre + np.array([far, -0.7 * far])
        result = rows.sums(LOGISTIC, theta[None])[0][0]
        with mp.workdps(40):
            exact = [mp.mpf(0), mp.mpf(0)]
            for xi, wi, yi in zip(rows.features.tolist(), rows.weights.tolist(), rows.response.tolist(), strict=True):
                z = mp.fsum(mp.mpf(a) * mp.mpf(t) for a, t in zip(xi, theta.tolist(), strict=True))
                for j in range(2):
                    exact[j] += mp.mpf(wi) * (1 / (1 + mp.exp(-z)) - mp.mpf(yi)) * mp.mpf(xi[j])
            off = float(mp.sqrt(sum((mp.mpf(float(result[j])) - exact[j]) ** 2 for j in range(2))))
        rounding_bound = made.minimizer_release.rounding_bound
        assert off <= rounding_bound.fixed + rounding_bound.slope * np.linalg.norm(theta - made.centre)


def test_the_least_gradient_is_reached_where_rounding_allows_it():
    """The tolerance is the larger of both; the distance grows with either, and is never beyond the ball."""
    base = {"centre": np.zeros(3), "ball": 10.0, "modulus": 2.0, "step_of_noise": 0.0}
    near = MinimizerRelease(least_gradient=1e-3, rounding_bound=RoundingBound(1e-6, 1e-9), **base)
    assert near.tolerance(np.array([[3.0, 4.0, 0.0]])) == pytest.approx(1e-3 + 5e-9)
    rough = MinimizerRelease(least_gradient=1e-9, rounding_bound=RoundingBound(1e-6, 1e-9), **base)
    assert rough.tolerance(np.zeros((1, 3))) == pytest.approx(1e-6)
    assert near.distance == pytest.approx((1e-3 + 1e-6 + 4e-8) / 2, rel=1e-6)
    assert MinimizerRelease(least_gradient=1e-9, rounding_bound=RoundingBound(1e-6, 1.0), **base).distance == 20.0
    assert MinimizerRelease(least_gradient=1e9, rounding_bound=RoundingBound(0.0, 0.0), **base).distance == 20.0
    far = near.integers(np.array([[3e6, 4e6, 0.0]])) * near.step
    assert np.allclose(far, [[6.0, 8.0, 0.0]]), "moved into the ball"
    grid = MinimizerRelease(np.zeros(3), 10.0, 2.0, 1e-3, RoundingBound(0.0, 0.0), 0.01)
    assert grid.distance == pytest.approx((1e-3 + 0.005 * math.sqrt(3)) / 2, rel=1e-6), "half a step of b's grid"


def test_a_release_is_whole_steps_from_the_centre(seed):
    """Every coordinate, from the system's entropy and from a seed; without noise the minimizer to within a step."""
    made, rows = perturbation(200, 1.0), hostile(200, "ordinary")
    for source in (SecureNoise(), SeededNoise(seed)):
        released = made.release(in_pieces(rows), source, 30)  # 60 integers: all even or all odd in one run of 2^59
        steps = np.rint((released - made.centre) / made.minimizer_release.step)
        assert np.array_equal(made.centre + steps * made.minimizer_release.step, released)
        assert len(np.unique(np.mod(steps, 2))) == 2
    quiet = made.release(in_pieces(rows), ZeroNoise(), 1)[0]
    ideal, _ = exact_minimizer(made, rows, np.zeros(2))
    assert np.linalg.norm(quiet - ideal) <= made.minimizer_release.distance


@pytest.mark.slow
def test_spherical_integers_have_their_distribution():
    """Length Gamma(p), direction uniform; a length of shape 1 (E8) or noise 10 % too small would be seen."""
    result = np.array([spherical_integers(2.0**30, 3) for _ in range(1500)]) / 2.0**30
    length = np.linalg.norm(result, axis=1)
    assert kstest(length, gamma(3).cdf).pvalue > FALSE_ALARM
    assert kstest(result[:, 0] / length, "uniform", (-1, 2)).pvalue > FALSE_ALARM  # a coordinate on the sphere in 3d
    assert kstest(length, gamma(1).cdf).pvalue < FALSE_ALARM
    assert kstest(0.8 * length, gamma(3).cdf).pvalue < FALSE_ALARM
    assert np.array([spherical_integers(0.01, 2) for _ in range(20)]).any() == np.False_


def test_floors_of_interval_ends_are_exact():
    """Negative ones, halves, and far beyond 53 bits."""
    from mpmath.ctx_iv import MPIntervalContext

    context = MPIntervalContext()
    context.prec = 200
    for value in (2.5, -2.5, -3.0, 3.0, 0.0, -0.25, 2.0**80, -(2.0**80)):
        assert _floor(context.mpf(value).a) == math.floor(value)
    assert _floor((context.mpf(2) ** 100 - context.mpf(0.5)).a) == 2**100 - 1


def test_spherical_integers_have_no_end_at_64_bits():
    """The noise that covers a minimizer at the least budgets is added to integers of 64 bits without wrapping."""
    noise = spherical_integers(2.0**80, 3)
    assert max(abs(value) for value in noise) > 2**64, "all below: once in 10^14"
    assert (np.array([1, 2, 3]) + noise).tolist() == [value + k for k, value in enumerate(noise, start=1)]


@pytest.mark.slow
def test_seeded_and_exact_spherical_noise_agree(seed):
    """Kolmogorov-Smirnov on the first coordinate, whose law both give."""
    exact = np.array([spherical_integers(FINE, 2)[0] for _ in range(1000)])
    seeded = SeededNoise(seed).spherical(FINE, 4000, 2)[:, 0]
    assert kstest(exact, seeded).pvalue > FALSE_ALARM


def test_bounded_rows_are_bounded_in_real_arithmetic():
    """By exact fractions: near, on and outside the radius; overflow and not-a-number become zeros or the limit."""
    rng = np.random.default_rng(5)
    rows = rng.standard_normal((300, 3)) * np.exp(rng.uniform(-5, 5, (300, 1)))
    rows[:100] *= 2.0 / np.linalg.norm(rows[:100], axis=1)[:, None]
    with mp.workdps(60):
        for row in truncate_within(rows, 2.0).tolist():
            assert mp.fsum(mp.mpf(v) ** 2 for v in row) <= 4
    far = truncate_within(np.array([[1e300, 1e300], [np.inf, 0.0], [np.nan, 1.0], [0.0, 0.0], [3e-310, 0.0]]), 2.0)
    assert far[0] == pytest.approx([math.sqrt(2), math.sqrt(2)]) and not far[1:4].any()
