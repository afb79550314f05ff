"""Exact noise: the grid keeps lengths and sums, the bits do not depend on blocks, the noise meets its budget."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kstest

from pmtcore.audit import bound
from pmtcore.exact import (
    SCALE,
    _integers,
    grid_rows,
    integer_moment,
    release_integer_moment,
    squared_norms_int,
    whiten_exactly,
)
from pmtcore.moments import whiten
from pmtcore.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.records import PrivateRows
from tests.lab import FALSE_ALARM, TEST, make, names, plan


@given(st.integers(1, 8), st.floats(1e-6, 1e6), st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_no_integer_row_is_too_long(d, radius, seed):
    """Rows near, on and far outside the radius, huge and tiny: at most 2^15 long, and never lost inside."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((50, d)) * np.exp(rng.uniform(-20, 20, (50, 1)))
    rows[:10] *= (radius / np.linalg.norm(rows[:10], axis=1))[:, None]  # on the radius
    found = grid_rows(rows, radius)
    assert np.all(squared_norms_int(found) <= SCALE**2)
    inside = np.minimum(1, radius / np.linalg.norm(rows, axis=1))[:, None] * rows
    assert np.all(np.abs(found * (radius / SCALE) - inside) <= 1.01 * radius / SCALE)


def test_the_same_bits_however_rows_are_split(seed):
    """Blocks of 1, 7, 1000 or all rows: one integer moment, and one release for one seed."""
    draw, public, _ = make(3000, 60, seed)
    found = plan("joint-pmt", public, 3000, 1.0)
    moments, released = [], []
    for block in (1, 7, 1000, 10**6):
        rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, names(10), block_rows=block)
        moments.append(integer_moment(rows, found._scaled, found.ball.radius).reveal(TEST))
        released.append(found.run(rows, SeededNoise(3), 1).coefficients)
    assert all(np.array_equal(a, b) for a, b in pairwise(moments))
    assert all(np.array_equal(a, b) for a, b in pairwise(released))


def test_forward_substitution_is_whitening(seed):
    """The elementwise form agrees with the solver."""
    draw, public, _ = make(50, 60, seed)
    z = np.column_stack([draw.private_x, draw.private_y])
    assert np.allclose(whiten_exactly(public.factor, z), whiten(public.factor, z), atol=1e-8)


def test_without_noise_it_is_the_float_moment(seed):
    """The grid moves the released moment by less than its step."""
    _, public, rows = make(3000, 60, seed)
    found = plan("joint-pmt", public, 3000, 1.0)
    total = integer_moment(rows, found._scaled, found.ball.radius)
    ours = release_integer_moment(total, 1.0, 3000, found.ball.radius, ZeroNoise())
    theirs = found.perturb(found.measure(rows), ZeroNoise(), 1)
    c = found.ball.response_scale
    assert np.allclose(ours[0, :-1, :-1], theirs.gram[0], atol=3 * found.ball.radius**2 / SCALE)
    assert np.allclose(ours[0, :-1, -1] / c, theirs.cross[0], atol=3 * found.ball.radius**2 / SCALE)


def test_integer_noise_is_gaussian_of_the_right_size():
    """OpenDP's integers against the normal distribution, with 20 % less noise seen."""
    sigma = math.sqrt(2) * SCALE**2
    z = _integers(SecureNoise(), sigma, 4000) / sigma
    assert kstest(z, "norm").pvalue > FALSE_ALARM
    assert kstest(0.8 * z, "norm").pvalue < FALSE_ALARM
    assert _integers(SecureNoise(), sigma, 0).shape == (0,)


def test_the_budget_by_opendps_own_map():
    """OpenDP's privacy map, at the proved sensitivity of each part, adds up to mu^2/2-zCDP."""
    from pmtcore.exact import _opendp

    mu = 1.7
    sigma = math.sqrt(2) * SCALE**2 / mu
    for share in (0.0, 0.3, 1.0):  # of the squared sensitivity 2 * 2^60 on the diagonal
        on, off = math.sqrt(2 * share) * SCALE**2, math.sqrt(1 - share) * SCALE**2  # off-diagonal entries count twice
        rho = _opendp(sigma).map(on) + _opendp(sigma / math.sqrt(2)).map(off)
        assert rho <= mu**2 / 2 * (1 + 1e-9)


def test_audit_of_the_integer_release():
    """Orthogonal rows at the radius, secure noise: the bound is near the claim and below it."""
    _, public, _ = make(100, 60, 1)
    found = plan("joint-pmt", public, 4, 1.0)
    far = 1e5 * public.factor
    statistics = []
    for column in (0, 1):
        row = np.vstack([far[:, column], np.zeros((3, 11))])
        rows = PrivateRows.from_arrays(row[:, :-1], row[:, -1], names(10))
        statistics.append(integer_moment(rows, found._scaled, found.ball.radius))

    def runs(which, trials, stream):
        out = [
            release_integer_moment(statistics[which], 1.0, 4, 1.0, SeededNoise(9, which, stream, t))[0]
            for t in range(trials)
        ]
        return np.asarray([[m[0, 0] - m[1, 1]] for m in out])

    found_bound = bound(runs, 20_000)[0]
    assert 0.85 < found_bound < 1.0


@pytest.mark.parametrize("mu", [0.01, 1.0, 50.0])
def test_secure_releases_run_at_every_budget(mu):
    """Large and small noise, no overflow."""
    _, public, rows = make(500, 60, 3)
    assert np.all(np.isfinite(plan("joint-pmt", public, 500, mu).run(rows, SecureNoise(), 1).coefficients))
