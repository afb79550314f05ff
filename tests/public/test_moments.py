"""Moments and whitening, on units that hurt."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import sqrtm

from pmtcore.base.messages import PublicMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.public.moments import (
    INTERCEPT,
    conditioning,
    equilibrated_solve,
    joint_rows,
    private_joint_moment,
    public_from_moment,
    public_from_rows,
    ridge_from_least_squares,
    whiten,
)
from tests.helpers import TEST, make, names, refused, weather

COLUMNS = (INTERCEPT, "pressure", "warm", "tiny", "dew")


def test_values_whose_squares_are_lost_are_no_constant(seed):
    """A response of size 1e-300 is named as too small for its unit, not as one value in all rows."""
    x, y = weather(300, seed)
    with refused(PublicMessage.VALUES_TOO_SMALL, columns=["load"]):
        public_from_rows(x, y * 1e-300, COLUMNS, "load")


def test_whitening_on_raw_units(seed):
    """A constant column beside pressures near 1000 and a column of size 1e-6: the whitened moment is I to 1e-9."""
    x, y = weather(300, seed)
    data = public_from_rows(x, y, COLUMNS, "load")
    z = whiten(data.factor, joint_rows(x, y))
    assert np.allclose(z.T @ z / 300, np.eye(6), atol=1e-9)
    assert np.linalg.cond(data.moment) > 1e15


def test_public_fit_is_least_squares(seed):
    """The fit read off the factor equals a standardized least squares fit to 1e-9 of its predictions."""
    x, y = weather(300, seed)
    data = public_from_rows(x, y, COLUMNS, "load")
    centre, scale = x[:, 1:].mean(axis=0), x[:, 1:].std(axis=0)
    design = np.column_stack([np.ones(300), (x[:, 1:] - centre) / scale])
    expected = design @ np.linalg.lstsq(design, y, rcond=None)[0]
    assert np.allclose(x @ data.coefficients, expected, rtol=1e-9)
    assert data.residual_scale == pytest.approx(float(np.sqrt(np.mean((y - expected) ** 2))), rel=1e-9)
    assert np.allclose(data.spread[1:], x[:, 1:].std(axis=0), rtol=1e-6)


def test_a_moment_matrix_stands_in_for_rows(seed):
    """The joint moment alone gives the same factor, fit and scales as the rows behind it."""
    draw, data, _ = make(50, 80, seed)
    moment = joint_rows(draw.public_x, draw.public_y)
    alone = public_from_moment(moment.T @ moment / 80, names(10), "y", 80)
    assert np.allclose(alone.factor, data.factor, rtol=1e-6, atol=1e-9)
    assert np.allclose(alone.coefficients, data.coefficients, rtol=1e-6)
    assert alone.whitened is None


def test_left_out_rows_against_really_leaving_them_out(seed):
    """Feature part and residual part of each row, whitened by the other rows: exact, up to the largest growth."""
    draw, data, _ = make(50, 25, seed)
    rows = joint_rows(draw.public_x, draw.public_y)
    inside = np.sum(data.whitened_in_sample[:, :-1] ** 2, axis=1)
    for i in range(25):
        others = np.delete(rows, i, axis=0)
        alone = public_from_rows(others[:, :-1], others[:, -1], names(10), "y")
        expected = whiten(alone.factor, rows[i : i + 1])[0]
        result = data.whitened[i]
        far = min(float(np.sum(expected[:-1] ** 2)), inside[i] * data.largest_growth)
        assert np.sum(result[:-1] ** 2) == pytest.approx(far, rel=1e-8)
        assert result[-1] == pytest.approx(expected[-1], rel=1e-8)


def test_a_row_that_alone_shows_a_direction_is_no_infinity():
    """Its leverage is 1, so that left out it would lie at any distance: it is five times as far as it looks at most."""
    rng = np.random.default_rng(4)
    x = np.column_stack([np.eye(6)[np.arange(14) % 6 * (np.arange(14) < 6)][:, 1:], 50 + rng.random(14)])
    data = public_from_rows(x, x @ np.ones(6) + rng.standard_normal(14), names(6), "y")
    inside = np.sum(data.whitened_in_sample[:, :-1] ** 2, axis=1)
    growth = np.sum(data.whitened[:, :-1] ** 2, axis=1) / inside
    assert np.sum(np.isclose(growth, data.largest_growth)) == 5, "of five months there is one row each"
    assert 1 < data.largest_growth <= 5


def _categories(m: int, rng: np.random.Generator, *, counts: bool = False) -> np.ndarray:
    """Return the places (m,) of rows among 12 categories, the rarest of 1 % of the rows; or 2, 3, ... rows of each."""
    share = 1.5 ** np.arange(12)
    return np.repeat(np.arange(12), np.arange(2, 14)) if counts else rng.choice(12, m, p=share / np.sum(share))


@pytest.mark.parametrize("intercept", [True, False])
def test_a_category_is_as_far_out_for_new_rows(intercept):
    """Where features are categories alone, a left-out row is at m over the rows of its category, as a new one is."""
    place = _categories(0, np.random.default_rng(0), counts=True)
    indicators = np.eye(12)[place][:, 1:] if intercept else np.eye(12)[place]
    x = np.column_stack([np.ones(len(place)), indicators])[:, not intercept :]
    columns = (INTERCEPT, *(f"c={j}" for j in range(1, 12))) if intercept else tuple(f"c={j}" for j in range(12))
    public = public_from_rows(x, None, columns, "y")
    expected = len(place) / np.bincount(place)[place]
    assert np.allclose(public.category_norm, expected)
    assert np.allclose(np.sum(public.whitened[:, :-1] ** 2, axis=1), expected)


def test_rows_of_weight_zero_leave_the_others_their_categories():
    """Such a row, which is zero in every column, had divided by its weight."""
    place = _categories(0, np.random.default_rng(0), counts=True)
    x = np.column_stack([np.ones(len(place)), np.eye(12)[place][:, 1:]])
    columns = (INTERCEPT, *(f"c={j}" for j in range(1, 12)))
    rows = np.vstack([np.zeros((3, 12)), x])
    norms = public_from_rows(rows, None, columns, "y").category_norm
    assert np.allclose(norms[3:], len(rows) / np.bincount(place)[place])


def test_new_rows_are_as_long_as_left_out_ones(seed):
    """Of 20,000 new rows as many are as long as of the left-out public rows, at their 90 and 98 % points, on average.

    Whitened by the other rows alone, public rows of rare categories would be far longer: the second limit would be
    passed by a third as many new rows.
    """
    shares = []
    for draw in range(60):
        rng = np.random.default_rng([seed, draw])
        places, new = _categories(200, rng), _categories(20_000, rng)
        shown = [j for j in range(11) if np.sum(places == j) > 1]
        x, other = (
            np.column_stack([np.ones(len(k)), rng.normal(size=len(k)), np.eye(12)[k][:, shown]]) for k in (places, new)
        )
        public = public_from_rows(x, None, (INTERCEPT, "x", *(f"c={j}" for j in shown)), "y")
        lengths = np.linalg.norm(whiten(public.feature_root, other), axis=1)
        limits = np.quantile(np.linalg.norm(public.whitened[:, :-1], axis=1), [0.9, 0.98])
        shares.append(np.mean(lengths[:, None] > limits, axis=0))
    assert np.allclose(np.mean(shares, axis=0), [0.1, 0.02], rtol=0.4), np.mean(shares, axis=0)


def test_symmetric_root(seed):
    """The papers' root squares to the moment, and its inverse whitens."""
    _, data, _ = make(50, 40, seed)
    root, inverse = data.symmetric_root
    moment = data.moment[:10, :10]
    assert np.allclose(root, sqrtm(moment).real)
    assert np.allclose(inverse @ moment @ inverse, np.eye(10))


def test_condition_numbers():
    """kappa = lmax/lmin, kappa_bar = mean/lmin; infinite for a matrix that is not positive definite."""
    result = conditioning(np.diag([4.0, 1.0, 0.5]))
    assert (result.kappa, result.lambda_min) == (8.0, 0.5)
    assert result.kappa_bar == pytest.approx(5.5 / 3 / 0.5)
    assert conditioning(np.diag([1.0, -1.0])).kappa == np.inf


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_blocks_do_not_matter(size, seed):
    """One pass over blocks of any size gives the same sum."""
    draw, _, _ = make(100, 40, seed)
    rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, names(10), block_rows=size)
    z = joint_rows(draw.private_x, draw.private_y)
    assert np.allclose(private_joint_moment(rows).reveal(TEST), z.T @ z)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda x: x.__setitem__((slice(None), 2), 7.0), PublicMessage.CONSTANT),
        (lambda x: x.__setitem__((slice(None), 2), 0.0), PublicMessage.ZERO_COLUMNS),
        (lambda x: x.__setitem__((slice(None), 2), 2 * x[:, 1] - x[:, 3]), PublicMessage.COLLINEAR),
    ],
    ids=["constant", "zero", "combination"],
)
def test_columns_that_cannot_be_inverted_are_named(change, kind, seed):
    """A constant, zero or collinear public column is refused by name."""
    x, y = weather(50, seed)
    change(x)
    with refused(kind) as caught:
        public_from_rows(x, y, COLUMNS, "load")
    assert "'warm'" in str(caught.value) or "'tiny'" in str(caught.value) or "'dew'" in str(caught.value)


def test_a_public_ridge_is_the_way_out(seed):
    """Collinear public columns are accepted with an opt-in ridge."""
    x, y = weather(50, seed)
    x[:, 2] = 2 * x[:, 1]
    assert public_from_rows(x, y, COLUMNS, "load", ridge=0.01).d == 5


@pytest.mark.parametrize("lam", [1e-20, 1e-6, 1.0, 1e9, 1e24])
def test_ridge_fits_solve_their_equations_whatever_the_units(lam):
    """Columns of size 1, 1e12 (two, alike) and 1e-9, an intercept without a penalty: each equation in its own size."""
    rng = np.random.default_rng(6)
    z = rng.normal(size=(400, 4))
    x = np.column_stack([np.ones(400), 500 + 100 * z[:, 3], np.exp(27 + z[:, :1] + z[:, 1:3]), 1e-9 * z[:, 0]])
    size = np.sqrt(np.mean(x**2, axis=0))
    fit = rng.normal(size=5) / size
    moment, penalty = x.T @ x / 400, lam * np.array([0.0, 1, 1, 1, 1])
    result = ridge_from_least_squares(fit, moment, penalty)
    left = (moment + np.diag(penalty)) @ result - moment @ fit
    assert np.all(np.abs(left) <= 1e-9 * (size + penalty / size))


def test_units_do_not_change_one_bit_of_an_inverse(seed):
    """Columns in units that are powers of two apart: the same digits, in the other units."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(200, 6)) @ (np.eye(6) + 20)
    units = 2.0 ** rng.integers(-40, 40, 6)
    matrix, sizes, eye = rows.T @ rows, np.outer(units, units), np.eye(6)
    assert np.array_equal(equilibrated_solve(matrix * sizes, eye) * sizes, equilibrated_solve(matrix, eye))
