"""The papers' bounds: computed as printed, and held against what is measured."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pmtcore.base.messages import InputError
from pmtcore.papers.theory import Bound, Draws, TheorySetting, bounds, isotropy, noise_scales


def by_source(at: TheorySetting) -> dict[str, Bound]:
    return {bound.source: bound for bound in bounds(at, 200)}


@pytest.mark.slow
def test_the_bounds_that_are_proved_hold():
    """Isotropy and the noise norm, over shapes that hurt; with odds of a false alarm far below one in a million
    (bounds are at least 1.2 times away from a quantile of 200 trials)."""
    for at in (
        TheorySetting(),
        TheorySetting(d=3, m=50),
        TheorySetting(d=40, m=300, n=10**6),
        TheorySetting(kappa_bar=1000.0),
    ):
        found = by_source(at)
        assert all(bound.holds for bound in bounds(at, 200) if bound.source.startswith("A, Theorem 3.1"))
        assert found["A, Lemma A.1"].holds
        assert found["A, Theorem 3.3, equation 2"].holds == (found["A, Theorem 3.3, equation 2"].looseness >= 1)


def test_two_printed_bounds_do_not_hold():
    """E24: equation 1 has (1 + log) under the root and lacks 2 sqrt(2); Theorem 3.4 lacks the latter."""
    found = by_source(TheorySetting())
    printed, lemma = found["A, equation 1"], found["A, Lemma A.1"]
    assert not printed.holds and printed.looseness < 0.2 and "as printed" in printed.verdict
    ratio = 2 * math.sqrt(2) * math.sqrt(1 + math.log(2 * 100_000 / 0.05))  # the factor between the two, exactly
    assert lemma.bound / printed.bound == pytest.approx(ratio, rel=1e-12)
    assert not found["A, Theorem 3.4"].holds


def test_noise_scales_are_those_of_the_theorems():
    """``2 d (1 + log(2n/eta))/(mu n)``, and ``2 (tr + d log(n/eta))/(mu n)``."""
    at = TheorySetting(d=7, n=5000, m=60, mu=2.0, eta=0.01)
    one, two = noise_scales(at)
    assert one == pytest.approx(2 * 7 * (1 + math.log(2 * 5000 / 0.01)) / (2.0 * 5000), rel=1e-12)
    assert two == pytest.approx(2 * (26.0 + 7 * math.log(5000 / 0.01)) / (2.0 * 5000), rel=1e-12)


def test_moments_are_those_of_rows():
    """The stack of Wishart matrices has the mean and the spread that moments of rows have."""
    at = TheorySetting(d=4, m=30, n=50)
    draws = Draws.of(at, 4000, 1)
    assert np.allclose(draws.private.mean(axis=0), np.diag(at.spectrum), atol=0.5)
    spread = np.var(draws.private[:, 0, 0]) / (2 * at.spectrum[0] ** 2 / at.n)
    assert 0.85 < spread < 1.15
    assert at.spectrum.mean() / at.spectrum[0] == pytest.approx(at.kappa_bar)


def test_a_theorem_that_says_nothing_says_so():
    """Its condition is not met at a small budget; too few public rows have no upper bound."""
    found = by_source(TheorySetting(n=2000, mu=0.1))
    assert not found["A, Theorem 4.2"].applies and "Says nothing" in found["A, Theorem 4.2"].verdict
    assert isotropy(10, 12, 0.05)[1] == math.inf
    with pytest.raises(InputError):
        TheorySetting(m=5)
