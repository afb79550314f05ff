"""Public data held by their own ridge prior: coordinates, doubt, and what a root of few rows is worth."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.public.moments import public_from_moment, public_from_rows, whiten
from pmtcore.public.ridge import ridge_prior, ridge_regularized_public
from pmtcore.tables.synthetic import synthetic
from tests.helpers import names


def data(m, d, seed=0):
    """Public rows of the synthetic table."""
    draw = synthetic(100, m, d=d, seed=seed)
    return public_from_rows(draw.public_x, draw.public_y, names(d), "y")


@pytest.mark.parametrize(("m", "d"), [(200, 10), (12, 10), (52, 50)])
def test_coordinates_are_those_of_the_ridge_prior(m, d):
    """The root is that of the moment with its ridge, the last row the ridge fit, the covariance that of the prior."""
    public = data(m, d)
    result, prior = ridge_regularized_public(public), ridge_prior(public)
    x = public.rows[:, :-1]
    moment = x.T @ x / m + np.diag(prior.whitening * prior.spread)
    assert np.allclose(result.feature_root @ result.feature_root.T, moment, rtol=1e-8)
    assert np.allclose(result.coefficients, prior.coefficients, rtol=1e-6)
    back = np.linalg.solve(result.feature_root.T, np.linalg.solve(result.feature_root.T, result.fit_covariance).T)
    assert np.allclose(back * result.residual_scale**2, prior.covariance, rtol=1e-5)
    residual = (public.rows[:, -1] - x @ prior.coefficients) / result.residual_scale
    assert np.allclose(result.whitened_in_sample[:, -1], residual, rtol=1e-6, atol=1e-8)
    assert result.whitened_columns <= max(m / 2, d if m > 2 * d else 0) + 1e-6 or prior.whitening == 0.1


def test_with_many_rows_it_is_least_squares():
    """Centre and root are within a hundredth of a standard error of what they are without."""
    public = data(2000, 6)
    result = ridge_regularized_public(public)
    away = public.feature_root.T @ (result.coefficients - public.coefficients) / public.residual_scale
    assert np.linalg.norm(away) < 0.5 * np.sqrt(6 / 2000)
    assert np.allclose(result.feature_root, public.feature_root, atol=0.02 * np.max(np.abs(public.feature_root)))
    assert result.fit_variance == pytest.approx(public.fit_variance, rel=0.05)


def test_a_row_left_out_is_a_new_row():
    """Left-out residuals are those of ridge fits without each row."""
    public = data(14, 10)
    result, prior = ridge_regularized_public(public), ridge_prior(public)
    x, y = public.rows[:, :-1], public.rows[:, -1]
    for at in range(14):
        rest = np.delete(np.arange(14), at)
        # the ridge stays that of all rows: m times the mean, one row fewer
        matrix = x[rest].T @ x[rest] + 14 * np.diag(prior.penalty * prior.shape)
        fit = np.linalg.solve(matrix + 1e-12 * np.eye(10), x[rest].T @ y[rest])
        expected = (y[at] - x[at] @ fit) / result.residual_scale
        assert result.left_out_residual[at] == pytest.approx(expected, rel=1e-3, abs=1e-6)


def test_the_doubt_about_a_moment():
    """Entries of the population's moment, whitened by m Gaussian rows, over 3000 draws; the standard error is 3 %."""
    m, d, rng = 30, 8, np.random.default_rng(1)
    collected = []
    for _ in range(3000):
        x = rng.standard_normal((m, d))
        inverse = np.linalg.inv(np.linalg.cholesky(x.T @ x / m))
        collected.append((inverse @ inverse.T)[np.triu_indices(d, 1)])
    public = data(m, d)
    assert public.moment_variance == pytest.approx(np.mean(np.square(collected)), rel=0.15)
    assert public.moment_variance > 3 / m  # not the 1/m of many rows


def test_a_moment_without_rows_stays_as_it_is():
    """There is nothing to leave out."""
    public = data(60, 5)
    known = public_from_moment(public.moment, names(5), "y", 60)
    assert (
        ridge_regularized_public(known) is known
        and known.remaining_fit_covariance.shape == (5, 5)
        and not np.any(known.remaining_fit_covariance)
    )
    assert ridge_regularized_public(public) is ridge_regularized_public(public)
    assert np.allclose(whiten(public.factor, public.rows), public.whitened_in_sample)
