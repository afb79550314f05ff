"""Budgets against independent high-precision formulas, over the whole useful range."""

from __future__ import annotations

import math

import mpmath as mp
import numpy as np
import pytest

from pmtcore.accounting.budgets import (
    Budget,
    Guarantee,
    Neighbours,
    attacker_power,
    compose,
    delta_from_mu,
    detected_percent,
    epsilon_from_mu,
    epsilon_from_rho_bound,
    log_delta,
    mu_from_epsilon,
    mu_from_rho,
    reporting_delta,
)
from pmtcore.base.messages import InputError

MUS = [1e-4, 1e-3, 0.01, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0]
DELTAS = [0.3, 1e-2, 1e-6, 1e-12, 1e-50, 1e-300]


def exact_delta(mu: float, epsilon: float) -> mp.mpf:
    """Return a, Lemma 2.1, as printed, in 400 digits."""
    with mp.workdps(400):
        a, e = mp.mpf(mu), mp.mpf(epsilon)
        return mp.ncdf(-e / a + a / 2) - mp.exp(e) * mp.ncdf(-e / a - a / 2)


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("z", [0.0, 0.3, 1.0, 3.0, 8.0, 20.0, 36.0])
def test_delta_is_the_printed_formula(mu, z):
    """delta agrees with 400 digits to 1e-7 relative, from z = epsilon/mu - mu/2 at 0 to deltas near 1e-284."""
    epsilon = max(mu * (z + mu / 2), 0.0)
    expected = exact_delta(mu, epsilon)
    with mp.workdps(30):
        assert log_delta(mu, epsilon) == pytest.approx(float(mp.log(expected)), rel=1e-9, abs=1e-7)


@pytest.mark.parametrize("mu", MUS)
@pytest.mark.parametrize("delta", DELTAS)
def test_epsilon_inverts_delta(mu, delta):
    """epsilon at delta gives delta back, in high precision; it is 0 only where delta(0) is small enough."""
    epsilon = epsilon_from_mu(mu, delta)
    if epsilon == 0:
        assert exact_delta(mu, 0.0) <= delta
        return
    assert float(mp.log(exact_delta(mu, epsilon))) == pytest.approx(math.log(delta), rel=1e-9, abs=1e-6)
    assert mu_from_epsilon(epsilon, delta) == pytest.approx(mu, rel=1e-6)


def test_largest_and_smallest_budgets_do_not_overflow():
    """The corners of the range give finite numbers."""
    for mu in (1e-6, 1e-4, 50.0, 1000.0):
        for delta in (1e-300, 0.999):
            assert np.isfinite(epsilon_from_mu(mu, delta))
        assert 0 <= delta_from_mu(mu, 1e6) <= delta_from_mu(mu, 0.0) <= 1


def test_zcdp_is_exact_for_gaussians_and_the_paper_bound_is_never_below():
    """rho = mu^2/2 both ways; B Lemma 1 bounds the exact epsilon from above."""
    for mu in MUS:
        assert mu_from_rho(mu**2 / 2) == pytest.approx(mu, rel=1e-12)
        assert Budget.from_rho(mu**2 / 2).mu == pytest.approx(mu)
        for delta in DELTAS:
            assert epsilon_from_rho_bound(mu**2 / 2, delta) >= epsilon_from_mu(mu, delta)


def test_composition_adds_squares():
    """Composition of Gaussian mechanisms: rho adds up."""
    assert compose([3.0, 4.0]) == pytest.approx(5.0)
    assert compose([]) == 0


@pytest.mark.parametrize("mu", [0.01, 0.25, 0.5, 1.0, 3.0, 8.0])
def test_the_percentage_of_detections_is_an_upper_bound(mu):
    """What is called "at most" is rounded up, by less than a tenth of a per cent."""
    stated, exact = detected_percent(mu), 100 * float(attacker_power(mu, 0.05))
    assert exact - 1e-9 <= stated < exact + 0.1


def test_attacker_power_is_the_neyman_pearson_test():
    """The best test between N(0,1) and N(mu,1) at level alpha has the stated power."""
    for mu in (0.1, 1.0, 4.0):
        for alpha in (1e-6, 0.05, 0.5):
            threshold = mp.sqrt(2) * mp.erfinv(1 - 2 * mp.mpf(alpha))
            assert float(attacker_power(mu, alpha)) == pytest.approx(float(mp.ncdf(mu - threshold)), rel=1e-9)


def test_the_guarantee_says_its_relation_and_rounds_up():
    """In words, the power is rounded up: 25.95 % reads 26 %."""
    guarantee = Guarantee(1.0, Neighbours.REPLACE_ONE, 1e-6)
    assert "at most 26 %" in guarantee.words
    assert "differ in one row" in guarantee.words
    assert guarantee.as_dict()["neighbours"] == "replace-one"
    assert guarantee.rho == 0.5


def test_reporting_delta_is_far_below_one_over_n():
    """The delta of the report is at most 1/(10 n)."""
    for n in (1, 9, 10, 11, 4898, 581_012, 10**9):
        assert reporting_delta(n) <= 1 / (10 * n)
        assert reporting_delta(n) > 1 / (1001 * n)


def test_a_part_below_the_least_budget_is_rounded_up():
    """A method that splits the least budget states its parts' epsilons; a release below it stays refused."""
    assert epsilon_from_mu(5e-7, 1e-9) == epsilon_from_mu(1e-6, 1e-9)
    with pytest.raises(InputError):
        Budget(5e-7)
