"""The one solver: a quadratic term with any matrix, families as losses, and an end that no change of units moves."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.glm import families
from pmtcore.glm.solvers import Data, Penalty, decrement, fit, minimize


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
    assert decrement(gradient @ turn, turn.T @ hessian @ turn) == pytest.approx(decrement(gradient, hessian))


@EVERY_FAMILY
def test_no_start_is_too_far(family, seed):
    """From coefficients at which every label is predicted with certainty, or counts overflow: the same end."""
    data = sample(family, 60, 3, seed)
    near = fit(data, 0.01 * np.eye(3))
    far = fit(data, 0.01 * np.eye(3), np.array([40.0, -40.0, 40.0]))
    assert far == pytest.approx(near, abs=1e-7)
