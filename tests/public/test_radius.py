"""Prices of truncation balls: what is computed once for many radii is what each of them alone would give."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.mechanisms.truncation import ball_weights
from pmtcore.public import radius
from pmtcore.public.radius import RESPONSE_SCALES, _candidates


def rows_of(d, seed):
    """Whitened joint rows whose lengths are nearly alike where d is large: then most radii cut every row."""
    return np.random.default_rng(seed).standard_normal((6 * d + 20, d + 1))


@pytest.mark.parametrize("d", [3, 12, 40])
def test_prices_are_those_of_each_candidate_alone(d, seed):
    """By a naive sum over rows: no row cut, some, and all."""
    rows = rows_of(d, seed)
    found = _candidates(rows)
    kinds = set()
    for at in range(0, len(found.radii), 7):
        length = np.sum(rows[:, :-1] ** 2, axis=1) + (found.scales[at] * rows[:, -1]) ** 2
        weights = ball_weights(length, found.radii[at])
        x, m = rows[:, :-1], len(rows)
        inverse = np.linalg.inv(sum(w * np.outer(z, z) for w, z in zip(weights, x, strict=True)) / m)
        moves = np.array([(1 - w) * r * inverse @ z for w, r, z in zip(weights, rows[:, -1], x, strict=True)])
        line = np.sum(np.abs(moves), axis=0) / m
        bias = np.sum(np.mean(moves, axis=0) ** 2) + radius.ABSOLUTE_SHARE * np.sum(line**2)
        assert found.bias[at] == pytest.approx(bias, rel=1e-9, abs=1e-18)
        assert found.spread[at] == pytest.approx(np.sum(inverse**2), rel=1e-9)
        kinds.add("all" if np.all(weights < 1) else "some" if np.any(weights < 1) else "none")
    assert kinds >= ({"all", "none"} if d == 40 else {"some", "none"})


def test_radii_below_every_row_share_an_inverse(monkeypatch, seed):
    """One for each response scale, one for all balls that cut nothing, and one for each ball between."""
    rows, inverses = rows_of(60, seed), []
    plain = radius._inverse_gram
    monkeypatch.setattr(radius, "_inverse_gram", lambda *each: inverses.append(1) or plain(*each))
    found = _candidates(rows)
    squared = np.sum(rows[:, :-1] ** 2, axis=1) + (found.scales[:, None] * rows[:, -1]) ** 2
    shortest, longest = np.min(squared, axis=1), np.max(squared, axis=1)
    between = np.sum((found.radii**2 > shortest) & (found.radii**2 < longest))
    assert len(inverses) <= between + len(RESPONSE_SCALES) + 1 < len(found.radii)
