"""The lessons are true: whitening rounds, inverses amplify, radii have an optimum, squares add."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.lab import lessons


def test_whitening_rounds_a_needle():
    """The condition number falls by far, and further with more public rows."""
    few, many = lessons.whitening(30.0, 10), lessons.whitening(30.0, 1000)
    assert few.kappa_before > 300 and many.kappa_after < few.kappa_after < few.kappa_before / 10


def test_the_inverse_amplifies_noise():
    """Ill-conditioned rows: whitened slopes are far closer to the truth at the same budget; round rows: equal."""
    bad, good = lessons.inverse(10.0, 1.0), lessons.inverse(1.0, 1.0)

    def off(x, true):
        return np.median(np.linalg.norm(x - true, axis=1))

    assert off(bad.plain, bad.true) > 3 * off(bad.whitened, bad.true)
    assert off(good.plain, good.true) == pytest.approx(off(good.whitened, good.true), rel=0.3)


def test_the_radius_has_an_optimum_inside():
    """Neither end is best, and the words know the side."""
    found = lessons.radius(6.0, 0.3)
    assert 0 < np.argmin(found.total) < len(found.radius) - 1
    assert "too small" in lessons.radius(0.6, 0.3).sentence and "too large" in lessons.radius(11.0, 0.3).sentence


def test_composition_and_trust():
    """Squares add; the local price is the root of n."""
    total, added, _ = lessons.composition(0.5, 16)
    assert total[-1] == pytest.approx(2.0) and added[-1] == pytest.approx(8.0)
    central, local, _ = lessons.central_and_local(10_000, 1.0)
    assert local / central == pytest.approx(100)
