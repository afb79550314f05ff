"""The ridge prior from public rows: left-out losses, units, and what it tends to with many rows."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.glm.families import GAUSSIAN, LOGISTIC
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import Data
from pmtcore.public.moments import public_from_moment, public_from_rows
from pmtcore.public.ridge import (
    _PENALTY_PATH,
    _cauchy_weights,
    _least_loss,
    _LeastSquares,
    _left_out,
    _leverage,
    _path,
    prior_of,
    ridge_prior,
)
from tests.helpers import names


def table(m, d, seed, noise=1.0):
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(m), rng.standard_normal((m, d - 1)) * np.geomspace(1, 20, d - 1) + 7])
    beta = rng.standard_normal(d) / np.append(1, np.geomspace(1, 20, d - 1))
    return x, x @ beta + noise * rng.standard_normal(m), beta


FREE = np.array([0.0, 1, 1, 1])


@pytest.mark.parametrize("penalty", [0.0, 0.03, 2.0])
def test_left_out_losses_are_those_of_fits_without_the_row(penalty, seed):
    """Squared loss: exactly those of twelve refits. Labels: near them."""
    x, y, _ = table(12, 4, seed)
    record = np.diag(penalty * FREE * np.var(x, axis=0))
    hessian = x.T @ x / 12 + record
    fit = np.linalg.solve(hessian, x.T @ y / 12)
    result = _left_out(Data(GAUSSIAN, x, y), penalty, hessian, fit, leverage=_leverage(x, hessian)).losses
    labels = (y > np.median(y)).astype(float)
    curved = x.T @ x / 48 + record + 0.05 * np.diag(FREE)
    near = _left_out(Data(LOGISTIC, x, labels), 0.1, curved, np.zeros(4), leverage=_leverage(x, curved))
    for i in range(12):
        keep = np.arange(12) != i
        beta = np.linalg.solve(x[keep].T @ x[keep] / 12 + record, x[keep].T @ y[keep] / 12)
        assert result[i] == pytest.approx((x[i] @ beta) ** 2 / 2 - y[i] * (x[i] @ beta), rel=1e-6, abs=1e-8)
    assert np.all(np.isfinite(near.losses))


@pytest.mark.parametrize("family", [GAUSSIAN, LOGISTIC], ids=lambda each: each.id)
def test_the_covariance_has_the_curvature_at_the_fit(family, seed):
    """Dispersion over m times the inverse Hessian there, of weighted rows and the ridge as far as it counts."""
    x, y, _ = table(60, 4, seed, 3.0)
    y = y if family is GAUSSIAN else (y > np.median(y)).astype(float)
    weights = np.linspace(0.5, 1.5, 60)
    prior = prior_of(family, x, y, FREE, penalties=0 * FREE, weights=weights)
    slope = weights * family.slope(x @ prior.coefficients)
    ridge = min(prior.penalty, 0.03 if family is GAUSSIAN else 0.3) * np.diag(prior.shape)
    hessian = np.einsum("i,ij,ik->jk", slope, x, x) / 60 + ridge
    assert prior.covariance == pytest.approx(prior.dispersion / 60 * np.linalg.inv(hessian), rel=1e-5)


@pytest.mark.parametrize("m", [3, 12, 400])
def test_one_decomposition_gives_every_fit_of_the_path(m, seed):
    """Fits and leverages at each penalty are those of that penalty alone, in raw units, with weights, with few rows."""
    x, y, _ = table(m, 6, seed)
    free, weights = np.array([0.0, 1, 1, 1, 1, 1]), np.linspace(0.5, 1.5, m)
    spread = free * np.var(x, axis=0)
    hessian = (x * weights[:, None]).T @ x / m + np.diag(1e-10 * np.maximum(spread, 1e-6))
    together = _LeastSquares.of(Rows(x, y, weights), hessian, spread)
    for penalty in _PENALTY_PATH if m > 6 else _PENALTY_PATH[:-1]:
        fit, leverage = together.at(float(penalty))
        alone = hessian + np.diag(penalty * spread)
        assert x @ fit == pytest.approx(x @ np.linalg.solve(alone, x.T @ (weights * y) / m), rel=1e-7, abs=1e-7)
        assert leverage == pytest.approx(_leverage(x, alone), rel=1e-7)


def test_without_a_factor_each_fit_is_made_alone(seed):
    """A column that nothing tells from another one of no spread: no factor, and the prior is there all the same."""
    assert _LeastSquares.of(Rows(np.ones((5, 1)), np.ones(5), np.ones(5)), -np.eye(1), np.zeros(1)) is None


def test_units_and_offsets_do_not_matter(seed):
    """Other units, another zero of a column: the same predictions, penalties and doubts of them."""
    x, y, _ = table(15, 4, seed, 3.0)
    turn = np.diag([1.0, 10, 0.01, 3])
    turn[0, 1:] = [4.0, -20, 100]
    one, other = (prior_of(GAUSSIAN, rows, y, FREE, penalties=0 * FREE) for rows in (x, x @ turn))
    assert np.allclose(x @ one.coefficients, x @ turn @ other.coefficients, rtol=1e-6)
    assert one.penalty == other.penalty and one.whitening == other.whitening
    assert np.allclose(x @ one.covariance @ x.T, x @ turn @ other.covariance @ turn.T @ x.T, rtol=1e-5)


def test_many_rows_leave_next_to_nothing_of_the_ridge(seed):
    """The fit tends to least squares and its covariance to ``s^2 (X'X)^{-1}``."""
    x, y, _ = table(4000, 4, seed)
    prior = prior_of(GAUSSIAN, x, y, FREE, penalties=0 * FREE)
    beta = np.linalg.lstsq(x, y, rcond=None)[0]
    plain = np.mean((y - x @ beta) ** 2) * np.linalg.inv(x.T @ x)
    assert prior.whitening <= 1e-3
    assert np.allclose(x @ prior.coefficients, x @ beta, atol=0.05)
    assert np.allclose(np.diag(prior.covariance), np.diag(plain), rtol=0.05)


def few_large(seed, m=400, d=40):
    """Return rows of labels whose first effect is large, and d - 3 of nothing, beside an intercept."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(m), rng.standard_normal((m, d - 1)) * np.geomspace(1, 1e3, d - 1)])
    beta = np.zeros(d)
    beta[:3] = 0.3, 3.0, 0.05
    return x, (rng.random(m) < 1 / (1 + np.exp(-x @ beta))).astype(float)


def test_one_large_effect_among_small_ones_is_not_shrunk_like_them(seed):
    """It keeps more of itself, and left-out losses fall by four at least."""
    x, y = few_large(seed)
    free = np.append(0.0, np.ones(39))
    prior = prior_of(LOGISTIC, x, y, free, penalties=0 * free)
    data, own = Data(LOGISTIC, x, y), 1e-10 * np.maximum(prior.spread, 1e-6)
    alike, chosen = (_least_loss(_path(data, shape, own)) for shape in (prior.spread, prior.shape))
    assert np.sum(alike.losses - chosen.losses) > 4 * alike.dispersion
    assert chosen.coefficients == pytest.approx(prior.coefficients, rel=1e-6, abs=1e-9)
    assert abs(prior.coefficients[1]) > abs(alike.coefficients[1])
    weights = prior.shape[1:] / prior.spread[1:]
    assert weights[0] < 0.2 * np.median(weights)
    assert np.all(weights <= 2)


def test_few_rows_and_least_squares_have_one_penalty_for_all(seed):
    """Below a hundred rows left-out losses tell no priors apart, and a Gram matrix is released for least squares."""
    free = np.append(0.0, np.ones(39))
    for family in (LOGISTIC, GAUSSIAN):
        rows = 99 if family is LOGISTIC else 400
        x, y = few_large(seed, rows)
        prior = prior_of(family, x, y, free, penalties=0 * free)
        assert np.array_equal(prior.shape, prior.spread)


@pytest.mark.slow
def test_a_prior_that_predicts_hardly_better_is_not_taken():
    """Effects of one size: in some tables a Cauchy prior has a smaller left-out loss, by less than tells them apart."""
    free, rng, better = np.append(0.0, np.ones(9)), np.random.default_rng(7), 0
    for _ in range(6):
        x = np.column_stack([np.ones(120), rng.standard_normal((120, 9))])
        y = (rng.random(120) < 1 / (1 + np.exp(-x @ np.append(0.0, 0.3 * rng.standard_normal(9))))).astype(float)
        prior, data = prior_of(LOGISTIC, x, y, free, penalties=0 * free), Data(LOGISTIC, x, y)
        assert np.array_equal(prior.shape, prior.spread)
        own = 1e-10 * np.maximum(prior.spread, 1e-6)
        ridge = _least_loss(_path(data, prior.spread, own))
        if ridge.penalty:
            weights = _cauchy_weights(ridge, prior.spread, own, spread=prior.spread, m=120)
            better += np.mean(_least_loss(_path(data, prior.spread * weights, own)).losses) < np.mean(ridge.losses)
    assert better > 0


def test_weights_are_mean_precisions_of_a_cauchy_effect():
    """By numerical integration: the mean precision given the effect's second moment."""
    x = np.eye(3)[np.arange(3000) % 3] * np.sqrt(3)
    fit = np.array([0.0, 0.7, 4.0])
    point = _left_out(
        Data(GAUSSIAN, x, x @ fit + np.tile([1.0, -1, 1, -1, 1, -1], 500)),
        1.0,
        np.eye(3),
        fit,
        leverage=np.full(3000, 1e-3),
    )
    result = _cauchy_weights(point, np.ones(3), np.zeros(3), spread=np.ones(3), m=3000)
    prior_variance = point.dispersion / 3000
    squares = fit**2 + point.dispersion / 3000 / 2
    precision = np.geomspace(1e-9, 60, 400_001)
    for square, weight in zip(squares, result, strict=True):
        # gamma(1/2, 1/2) times the normal density of the effect, on the logarithm of the precision
        density = precision ** (0.5 - 1 + 0.5 + 1) * np.exp(-precision / 2 * (1 + square / prior_variance))
        assert weight == pytest.approx(np.sum(density * precision) / np.sum(density), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("m", [7, 12, 30])
def test_the_doubt_is_true_where_rows_are_few(m):
    """Over 200 draws of coefficients and rows the squared distance in units of the doubt is d, within a factor two."""
    sizes, ratio = [], []
    for seed in range(200):
        x, y, beta = table(m, 5, seed, 2.0)
        prior = prior_of(GAUSSIAN, x, y, np.array([0.0, 1, 1, 1, 1]), penalties=np.zeros(5))
        away = prior.coefficients - beta
        sizes.append(away @ np.linalg.solve(prior.covariance, away))
        plain = np.linalg.lstsq(x, y, rcond=None)[0] - beta
        ratio.append(np.linalg.norm(x @ away) / np.linalg.norm(x @ plain))
    assert 2.5 < np.median(sizes) < 10
    assert np.median(ratio) < 1.05


def test_rows_with_the_response_are_needed(seed):
    """A moment matrix, or rows without the response, give no prior; public data give theirs once."""
    x, y, _ = table(20, 4, seed)
    public = public_from_rows(x, y, names(4, True), "y")
    assert ridge_prior(public) is ridge_prior(public)
    moment = public_from_moment(public.moment, names(4, True), "y", 20)
    with pytest.raises(ValueError):
        ridge_prior(moment)
