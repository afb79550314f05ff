"""One Gaussian update, and the law for samples that disagree."""

import numpy as np
import pytest
from scipy.stats import binom

from pmtcore.public.gaussian_update import FALSE_ALARMS, conflict_inflation, gaussian_update, inflate_on_conflict


def _spd(rng: np.random.Generator, d: int, spread: float) -> np.ndarray:
    root = rng.standard_normal((d, d)) * np.exp(spread * rng.standard_normal(d))
    return root @ root.T + 0.1 * np.eye(d)


@pytest.mark.parametrize("d", [1, 2, 5, 30])
def test_update_is_the_conditional_law(d: int) -> None:
    """Where the samples agree, mean and covariance are those of x given e under the joint Gaussian law."""
    rng = np.random.default_rng(d)
    v, noise, a = _spd(rng, d, 1.0), _spd(rng, d, 1.0), rng.standard_normal((d, d))
    e = 0.1 * np.linalg.cholesky(a @ v @ a.T + noise) @ rng.standard_normal(d)
    updated = gaussian_update(v, a, e, noise)
    precision = np.linalg.inv(v) + a.T @ np.linalg.solve(noise, a)
    assert float(updated.inflation) == 1.0
    assert np.allclose(updated.covariance, np.linalg.inv(precision), rtol=1e-6, atol=1e-9)
    assert np.allclose(updated.step, np.linalg.solve(precision, a.T @ np.linalg.solve(noise, e)), rtol=1e-6)
    assert np.allclose(updated.of_prior(v) + updated.of_observation(noise), updated.covariance)


def test_trials_are_updated_one_by_one() -> None:
    """A stack of trials gives what each gives alone, also where one of them disagrees."""
    rng = np.random.default_rng(0)
    v, a, noise = np.eye(4), np.eye(4), 0.1 * np.eye(4)
    e = rng.standard_normal((6, 4)) * np.array([1, 1, 1, 9, 1, 99])[:, None]
    together = gaussian_update(v, a, e, noise)
    for t in range(6):
        alone = gaussian_update(v, a, e[t], noise)
        assert np.allclose(together.step[t], alone.step)
        assert np.allclose(together.covariance[t], alone.covariance)
        assert np.allclose(together.inflation[t], alone.inflation)
    assert np.all(together.inflation[[3, 5]] > 10)


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("share", [1.0, 0.5, 0.1])
def test_false_alarms_are_as_stated(d: int, share: float) -> None:
    """Agreeing samples are widened in ``FALSE_ALARMS`` times the prior's share of all cases; one in a million."""
    rng, many = np.random.default_rng(d), 40_000
    e = rng.standard_normal((many, d))
    result = inflate_on_conflict(share * np.eye(d), e, np.eye(d))
    alarms, rate = int(np.sum(result > 1)), FALSE_ALARMS * share
    assert binom.ppf(5e-7, many, rate) <= alarms <= binom.isf(5e-7, many, rate)
    # power: four times the rate would be told
    assert alarms < binom.ppf(5e-7, many, 4 * rate)


@pytest.mark.parametrize("dof", [4, 12])
def test_an_estimated_scale_of_the_prior_counts(dof: int) -> None:
    """With the prior's scale estimated from few rows false alarms stay as rare; short of one the scale is updated."""
    rng, many, d = np.random.default_rng(dof), 40_000, 5
    e = rng.standard_normal((many, d)) / np.sqrt(rng.chisquare(dof, many) / dof)[:, None]
    result, squares = inflate_on_conflict(np.eye(d), e, np.eye(d), dof), np.mean(e**2, axis=1)
    alarms = int(np.sum(np.isclose(result, squares) & (squares > 1)))
    below = (squares > 1) & ~np.isclose(result, squares)
    assert np.allclose(result[below], (dof + d * squares[below]) / (dof + d))
    assert binom.ppf(5e-7, many, FALSE_ALARMS) <= alarms <= binom.isf(5e-7, many, FALSE_ALARMS)


def test_a_widened_prior_explains_the_innovation() -> None:
    """Where all directions have one share, the mean square over the widened expectation is 1."""
    e = 20 * np.ones(6)
    factor = float(inflate_on_conflict(np.eye(6), e, 3 * np.eye(6)))
    assert e @ e / 6 / (factor + 2) == pytest.approx(1.0)


def test_a_far_private_sample_is_believed() -> None:
    """The further the samples are apart, the more of the private estimate is taken."""
    for size in (1e2, 1e5):
        step = gaussian_update(np.eye(5), np.eye(5), np.full(5, size), np.eye(5)).step
        assert np.all(step > (1 - 3 / size) * size)


def test_widening_is_no_smaller_for_larger_squares() -> None:
    """The factor rises with the squares and never falls below 1."""
    ratios = np.linspace(0, 50, 400)
    for share in (1e-9, 0.01, 0.5, 1.0):
        result = conflict_inflation(ratios, np.full(400, share), 3)
        assert np.all(result >= 1)
        assert np.all(np.diff(result) >= 0)
