"""Bounds of papers A (logistic regression), C and D, as printed, held against what is measured or needed."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from pmtcore.local.estimators import LINKS
from pmtcore.papers.theory import TheorySetting
from pmtcore.papers.theory_erm import noise_bounds, risk_bounds
from pmtcore.papers.theory_labels import label_bounds
from pmtcore.papers.theory_local import curve, radius_bound, scale_bounds, two_rounds


def test_newton_bounds_hold_and_are_loose():
    """A, section 5: hundreds of times away from what is measured; with little budget they say nothing."""
    found = {(bound.source, bound.words): bound for bound in label_bounds(TheorySetting(d=5, n=5000, mu=40.0), 8)}
    assert all(bound.holds for bound in found.values())
    steps = [bound for (source, _), bound in found.items() if source.startswith("A, Theorem 5")]
    least = {"A, Theorem 5.3": 20, "A, Theorem 5.4": 20, "A, Theorem 5.5": 2}  # the last has no M'' in its bound
    assert len(steps) == 3 and all(bound.looseness > least[bound.source] for bound in steps if bound.applies)
    little = label_bounds(TheorySetting(d=5, n=5000, mu=0.1), 2)
    assert not any(bound.applies for bound in little if bound.source == "A, Theorem 5.3")


@pytest.mark.slow
def test_the_conditions_of_paper_c_hold():
    """Theorems 19, 20, 26: f(6) above 1.22, slope above 0.1, scale below 6; f by sampling; E25 in figures."""
    found = scale_bounds()
    assert len(found) == 9 and all(bound.holds for bound in found)
    z = np.random.default_rng(1).standard_normal(400_000) * 6 / 20
    assert curve(LINKS["sigmoid"], 6.0, 1 / 20) == pytest.approx(6 * np.mean(expit(z) * expit(-z)), rel=1e-3)
    scale = next(b for b in found if b.source == "C, Theorem 19" and "scale" in b.words).measured
    assert scale == pytest.approx(4.06, abs=0.01) and 4 * scale == pytest.approx(16.2, abs=0.1)  # not 20


def test_the_radius_of_lemma_6():
    """Far outside the rows: twenty times the squared length of the longest of 10,000."""
    bound = radius_bound(trials=60)
    assert bound.holds and 10 < bound.looseness < 40


def test_a_second_round_is_worse():
    """Remark 10: at epsilon 2 the noisy scores have no root at all, at a large budget an error many times larger."""
    none = two_rounds(1e-5, n=20_000, trials=5)
    assert "there is none in 5 of 5" in none.sentence
    some = two_rounds(1e-5, n=20_000, epsilon=60.0, trials=9)
    assert some.ratio > 3 and "times as much" in some.sentence


def test_what_paper_d_proves():
    """Equation 4 and Corollary 5 at epsilon 0.4 are 1.9 times the least noise; Lemma 7 holds for every draw."""
    for bound in noise_bounds(0.4, 1e-3):
        assert bound.holds and bound.looseness == pytest.approx(1.9, abs=0.02)
    for bound in risk_bounds(trials=20):
        assert bound.holds and bound.looseness > 2
    assert noise_bounds(0.4, 1e-3)[1].bound == pytest.approx(
        (math.sqrt(-2 * math.log(1e-3) + 0.4) + math.sqrt(-2 * math.log(1e-3))) / 0.4
    )
