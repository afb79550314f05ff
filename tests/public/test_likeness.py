"""Whether private rows look like public ones, copies among public rows, two estimates combined by precision."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.public.deduplicate import distinct
from pmtcore.public.gaussian_update import gaussian_update
from pmtcore.public.homogeneity import FALSE_ALARMS, acted, words
from pmtcore.public.moments import public_from_rows
from pmtcore.public.radius import Ball
from tests.helpers import names

N, BALL = 5000, Ball(12.0, 1.0)


def rows_of(count, rng, d=6):
    x = rng.standard_t(6, (count, d)) @ np.linalg.cholesky(0.4 ** np.abs(np.subtract.outer(range(d), range(d)))).T
    return np.column_stack([x, x.sum(axis=1) + rng.standard_normal(count)])


def chance(public, private, noise, seed):
    """The test's p-value for a released Gram matrix of these private rows."""
    z = np.linalg.solve(public.factor, private.T).T
    x = z[:, : public.d]
    own = SeededNoise(seed).normal(1, public.d**2).reshape(public.d, public.d)
    gram = x.T @ (BALL.weights(z)[:, None] * x) / len(x) + np.sqrt(noise) * (own + own.T) / np.sqrt(2)
    return acted(public, BALL, N).test(gram, noise)


def chances(m, change, noise, draws=40):
    found = []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        table = rows_of(m, rng)
        public = public_from_rows(table[:, :-1], table[:, -1], names(6), "y")
        found.append(chance(public, change(rows_of(N, rng)), noise, seed))
    return np.array(found)


@pytest.mark.parametrize("noise", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("m", [8, 12, 14, 100])
def test_alike_samples_raise_no_alarm(m, noise):
    """Forty tables: no more alarms than one release in twenty explains, at m = d + 2, d + 6 and 2 d + 2 too."""
    alarms = int(np.sum(chances(m, lambda z: z, noise) < FALSE_ALARMS))
    assert binom.sf(alarms - 1, 40, 0.05) > 1e-3


def test_another_shape_is_found():
    """A column on another scale, rows selected by a feature: in at least nine of ten releases."""

    def scaled(z):
        return z * np.array([1.0, 2.0, 1, 1, 1, 1, 1])

    def selected(z):
        return z[z[:, 2] > 0.8]

    for change in (scaled, selected):
        assert np.mean(chances(300, change, 1e-3, 10) < FALSE_ALARMS) >= 0.9


def test_the_verdict_in_words():
    """Nothing where nothing speaks against it; the rarer the more is said."""
    assert words(0.5) is None and words(FALSE_ALARMS) is None
    for found, said in ((5e-3, "hundred"), (1e-5, "thousand"), (1e-9, "million")):
        assert f"one in a {said}" in words(found)


def test_copies_count_once():
    """A table pasted three times is the table; rows that repeat by themselves stay, and so does a stray copy."""
    rng = np.random.default_rng(1)
    table = rows_of(30, rng)
    assert np.array_equal(distinct(np.vstack([table] * 3)), np.arange(30))
    assert len(distinct(np.vstack([table, table[:2]]))) == 32
    assert len(distinct(rng.integers(0, 2, (200, 4)).astype(float))) == 200
    once, thrice = (public_from_rows(z[:, :-1], z[:, -1], names(6), "y") for z in (table, np.vstack([table] * 3)))
    assert thrice.m == once.m == 30 and np.allclose(once.factor, thrice.factor)


def test_two_estimates_are_combined_at_their_best(seed):
    """Below both covariances; the Gauss-Markov combination by an independent formula; a far one is not believed."""
    rng = np.random.default_rng(seed)
    a, b = (z @ z.T for z in rng.standard_normal((2, 5, 5)))
    near = 0.1 * np.linalg.cholesky(a + b) @ rng.standard_normal(5)
    found = gaussian_update(b, np.eye(5), near, a)
    total = found.of_observation(a) + found.of_prior(b)
    assert found.inflation == 1.0
    assert np.allclose(total, np.linalg.inv(np.linalg.inv(a) + np.linalg.inv(b)))
    assert np.all(np.diag(total) <= np.minimum(np.diag(a), np.diag(b)) * (1 + 1e-9))
    far = gaussian_update(b, np.eye(5), 1e3 * near, a)
    assert far.inflation > 100 and np.allclose(far.gain, np.eye(5), atol=0.5)
    assert np.allclose(gaussian_update(b, np.eye(5), 1e9 * near, a).gain, np.eye(5), atol=1e-3)
