"""Prices of truncation balls: the ball that is chosen is the one that a naive pricing of all of them would choose."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.mechanisms.noise import sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.public import clipping
from pmtcore.public.clipping import _Candidates


def rows_of(d, seed, tails=False):
    """Whitened joint rows whose lengths are nearly alike where d is large, or of which some are far longer."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((6 * d + 20, d + 1))
    return rows / rng.uniform(0.1, 1.0, (len(rows), 1)) if tails else rows


def naive(rows, size, scale):
    """Squared bias, and factor of the noise, of one ball, by sums over rows."""
    length = np.sum(rows[:, :-1] ** 2, axis=1) + (scale * rows[:, -1]) ** 2
    weights, x, m = ball_weights(length, size), rows[:, :-1], len(rows)
    inverse = np.linalg.inv(sum(w * np.outer(z, z) for w, z in zip(weights, x, strict=True)) / m)
    moves = np.array([(1 - w) * r * inverse @ z for w, r, z in zip(weights, rows[:, -1], x, strict=True)])
    line = np.sum(np.abs(moves), axis=0) / m
    return np.sum(np.mean(moves, axis=0) ** 2) + clipping.ABSOLUTE_SHARE * np.sum(line**2), np.sum(inverse**2)


@pytest.mark.parametrize("tails", [False, True], ids=["alike", "tails"])
@pytest.mark.parametrize("d", [3, 12, 40])
def test_the_ball_is_that_of_the_least_naive_price(d, tails, seed):
    """At budgets from next to nothing, where the smallest ball is best, to one where no row is cut."""
    rows, prior = rows_of(d, seed, tails), 0.3
    candidates, chosen = _Candidates.of(rows), set()
    balls = list(zip(candidates.radii, candidates.scales, strict=True))
    bias, factor = np.transpose([naive(rows, *ball) for ball in balls])
    radii, scales = np.transpose(balls)
    for mu in (0.003, 0.03, 0.1, 0.3, 1.0, 30.0):
        noise = (sigma_for(moment_sensitivity(1.0, 1000), mu) * radii**2) ** 2 / 2 * (1 / scales**2 + prior)
        price = bias + noise * factor
        best = scales[np.argmin(price)]
        near = radii[(price <= 1.05 * np.min(price)) & (scales == best)]
        ball = candidates.best(prior, 1000, mu)
        assert (ball.radius, ball.response_scale) == (np.max(near), best)
        chosen.add(ball)
    assert len(chosen) > 3
    priced = ~np.isnan(candidates.known[0])
    np.testing.assert_allclose(candidates.known[0][priced], bias[priced], rtol=1e-9, atol=1e-18)
    np.testing.assert_allclose(candidates.known[1][priced], factor[priced], rtol=1e-9)


def test_few_balls_take_an_inverse(monkeypatch, seed):
    """One for all that cut nothing, and one for each that may be the best at some budget."""
    rows, inverses = rows_of(60, seed), []
    plain = clipping._inverse_gram
    monkeypatch.setattr(clipping, "_inverse_gram", lambda *each: inverses.append(1) or plain(*each))
    candidates = _Candidates.of(rows)
    for mu in (0.2, 0.3, 0.5):
        candidates.best(0.3, 10**5, mu)
    assert len(inverses) < len(candidates.radii) / 8
