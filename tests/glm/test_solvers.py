"""The one solver: a quadratic term with any matrix, families as losses, and an end that no change of units moves."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pmtcore.glm import families
from pmtcore.glm.solvers import Data, Penalty, fit, minimize, newton_decrements


def sample(family: families.Family, n: int, d: int, seed: int) -> Data:
    """Return weighted rows of a family, with coefficients of size 1."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, d))
    mean = family.mean(x @ rng.uniform(-1, 1, d))
    y = {"gaussian": mean, "poisson": rng.poisson(np.abs(mean))}.get(family.id, rng.random(n) < mean)
    return Data(family, x, np.asarray(y, dtype=float), rng.uniform(0.2, 2.0, n))


EVERY_FAMILY = pytest.mark.parametrize("family", families.FAMILIES.values(), ids=list(families.FAMILIES))


@EVERY_FAMILY
def test_the_gradient_vanishes_at_the_minimizer(family, seed):
    """With a linear term, a ridge around a centre, and a matrix: by finite differences of the objective as written."""
    data, rng = sample(family, 80, 3, seed), np.random.default_rng(seed)
    root = rng.standard_normal((3, 3))
    b, q, c, matrix = rng.standard_normal(3), rng.uniform(1, 2, 3), rng.standard_normal(3), root @ root.T

    def objective(theta):
        z = data.x @ theta
        losses = data.weights * (family.loss(z) - data.y * z)
        return losses.sum() + b @ theta + q @ (theta - c) ** 2 / 2 + theta @ matrix @ theta / 2

    theta = minimize(data, Penalty.of(b, q, c, matrix=matrix), 1e-9).theta[0]
    for axis in 1e-4 * np.eye(3):
        assert (objective(theta + axis) - objective(theta - axis)) / 2e-4 == pytest.approx(0.0, abs=1e-4)


@EVERY_FAMILY
def test_a_fit_is_the_same_in_all_units(family, seed):
    """Columns in units in which no gradient is longer than rounding: the predictions agree."""
    data = sample(family, 120, 4, seed)
    units = np.array([1e-12, 1e-9, 1e-11, 1e-10])
    plain = fit(data, 0.01 * np.eye(4))
    scaled = Data(family, data.x * units, data.y, data.weights)
    other = fit(scaled, 0.01 * np.diag(units**2), least_ridge=0.0)
    assert other * units == pytest.approx(plain, rel=1e-5, abs=1e-7)


def test_the_decrement_is_the_same_in_all_units(seed):
    """``g' H^{-1} g`` is invariant under ``theta -> T theta``; the length of the gradient is not."""
    rng = np.random.default_rng(seed)
    gradient, root, turn = rng.standard_normal((2, 3)), rng.standard_normal((2, 3, 3)), rng.standard_normal((3, 3))
    hessian = root @ root.transpose(0, 2, 1) + np.eye(3)
    assert newton_decrements(gradient @ turn, turn.T @ hessian @ turn) == pytest.approx(
        newton_decrements(gradient, hessian)
    )


@EVERY_FAMILY
def test_no_start_is_too_far(family, seed):
    """From coefficients at which every label is predicted with certainty, or counts overflow: the same end."""
    data = sample(family, 60, 3, seed)
    near = fit(data, 0.01 * np.eye(3))
    far = fit(data, 0.01 * np.eye(3), np.array([40.0, -40.0, 40.0]))
    assert far == pytest.approx(near, abs=1e-7)


@pytest.mark.parametrize("unit", [1e-12, 1.0, 1e10])
def test_least_squares_end_at_the_same_digits_in_any_unit(unit):
    """Responses in units far from 1: as many digits of the coefficients as in theirs."""
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((80, 4)), rng.standard_normal(80)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    fitted = fit(Data(families.GAUSSIAN, x, unit * y), np.zeros((4, 4)), least_ridge=0.0) / unit
    assert np.allclose(fitted, exact, rtol=1e-8)


def test_a_step_too_far_is_no_end_and_no_error():
    """Figures that are not finite, and a Hessian that rounding left without an inverse: as far away as can be."""
    gradient = np.array([[1.0, 1.0], [np.inf, 0.0], [1.0, 1.0], [1.0, 1.0]])
    hessian = np.array([np.eye(2), np.eye(2), np.zeros((2, 2)), np.full((2, 2), np.inf)])
    assert np.array_equal(newton_decrements(gradient, hessian), [np.sqrt(2), np.inf, np.inf, np.inf])


def test_counts_are_fitted_from_where_a_newton_step_overflows():
    """From a start at which all counts are expected to be 0, a whole Newton step expects more than a float holds."""
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(60), rng.standard_normal((60, 2))])
    y = rng.poisson(20, 60).astype(float)
    start = np.array([-12.0, 0.0, 0.0])
    data = Data(families.family("poisson"), x, y)
    assert np.allclose(fit(data, np.zeros((3, 3)), start), fit(data, np.zeros((3, 3))), atol=1e-7)


@pytest.mark.parametrize("largest", [10, 5_000, 1e5, 1e7])
def test_a_step_that_overflows_on_the_way_warns_of_nothing(largest):
    """Counts up to millions, a column in units far from 1: the first step overflows, and is shortened in silence."""
    rng = np.random.default_rng(0)
    x = np.column_stack([np.ones(200), rng.normal(60, 8, 200)])
    data = Data(families.family("poisson"), x, rng.integers(1, largest, 200).astype(float))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theta = fit(data, 1e-6 * np.eye(2))
    assert np.exp(x @ theta).mean() == pytest.approx(data.y.mean(), rel=1e-3)


def test_many_rows_are_fitted_as_by_hessians_of_their_own(seed):
    """Gradients by all rows and Hessians of points near by end at the same fit; both are those of the sums."""
    rng = np.random.default_rng(seed)
    x, weights = rng.standard_normal((9000, 4)), rng.uniform(0.2, 1.0, 9000)
    y = (rng.random(9000) < 1 / (1 + np.exp(-x.sum(axis=1)))).astype(float)
    logistic = families.LOGISTIC
    own, near = Data(logistic, x, y, weights), Data(logistic, x, y, weights, reuses_hessians=True)
    theta = rng.standard_normal((3, 4))
    gradients, hessians = own.derivatives(theta)
    np.testing.assert_allclose(own.rows.gradients(logistic, theta), gradients, rtol=1e-12)
    np.testing.assert_allclose(own.rows.hessian(logistic, theta[0]), hessians[0], rtol=1e-12)
    penalty = Penalty.of(rng.standard_normal((2, 4)), 3.0)
    fits = [minimize(data, penalty, 1e-8).theta for data in (own, near)]
    np.testing.assert_allclose(*fits, rtol=0, atol=1e-10)


def test_a_coefficient_that_few_rows_decide_does_not_stall(monkeypatch):
    """A rare level changes predictors little on average, its own curvature a hundredfold: Hessians are renewed."""
    rng = np.random.default_rng(8)
    x = np.column_stack([np.ones(20_000), rng.standard_normal(20_000), np.zeros(20_000)])
    x[:3, 2] = 1.0
    y = (rng.random(20_000) < 0.5).astype(float)
    y[:3] = 1.0
    data = Data(families.LOGISTIC, x, y, reuses_hessians=True)
    calls, gradients = [], type(data.rows).gradients
    monkeypatch.setattr(type(data.rows), "gradients", lambda *args: calls.append(1) or gradients(*args))
    penalty = Penalty.of(np.zeros((1, 3)), 0.001)
    end = minimize(data, penalty, 1e-9)
    assert len(calls) < 1000, "thousands with the Hessian of the start"
    own = minimize(Data(families.LOGISTIC, x, y), penalty, 1e-9)
    assert own.theta[0, 2] > 6 and np.allclose(end.theta, own.theta, rtol=1e-6)
