"""Our accounting against Google's ``dp_accounting``: curves, inverses, composition, pure and Gaussian together."""

from __future__ import annotations

import math

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import common, pld_privacy_accountant, privacy_loss_distribution

from pmtcore.accounting.budgets import compose, delta_from_mu, epsilon_from_mu, mu_from_epsilon
from pmtcore.accounting.mixed import mixed_epsilon


def gaussian(mu: float, step: float = 1e-4):
    return privacy_loss_distribution.from_gaussian_mechanism(
        standard_deviation=1 / mu, value_discretization_interval=step, use_connect_dots=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("mu", [0.05, 0.5, 1.0, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 5.0])
def test_the_curve_is_theirs(mu, epsilon):
    """Delta at epsilon, to their discretization, which is pessimistic."""
    theirs, ours = gaussian(mu).get_delta_for_epsilon(epsilon), delta_from_mu(mu, epsilon)
    assert ours <= theirs * (1 + 1e-6) + 1e-15
    assert ours == pytest.approx(theirs, rel=2e-3, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-3, 1e-6, 1e-9])
@pytest.mark.parametrize("mu", [0.3, 1.0, 2.5])
def test_epsilon_and_its_inverse_are_theirs(mu, delta):
    """Epsilon at delta, and the mu back from their epsilon."""
    theirs = gaussian(mu).get_epsilon_for_delta(delta)
    assert epsilon_from_mu(mu, delta) == pytest.approx(theirs, rel=1e-3)
    assert mu_from_epsilon(theirs, delta) == pytest.approx(mu, rel=1e-3)


def test_composition_is_theirs():
    """Three Gaussian mechanisms by their accountant."""
    mus = (0.3, 0.8, 1.1)
    accountant = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-4)
    for mu in mus:
        accountant.compose(dp_event.GaussianDpEvent(1 / mu))
    assert epsilon_from_mu(compose(mus), 1e-6) == pytest.approx(accountant.get_epsilon(1e-6), rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("mu", "pure"), [(1.0, [0.5]), (0.4, [1.0, 1.0]), (2.0, [0.1, 0.3, 3.0])])
def test_pure_and_gaussian_together_are_theirs(mu, pure):
    """Randomized response dominates a pure release; its losses composed with a Gaussian's."""
    together = gaussian(mu)
    for epsilon in pure:
        together = together.compose(
            privacy_loss_distribution.from_privacy_parameters(
                common.DifferentialPrivacyParameters(epsilon, 0), value_discretization_interval=1e-4
            )
        )
    for delta in (1e-4, 1e-7):
        assert mixed_epsilon(mu, pure, delta) == pytest.approx(together.get_epsilon_for_delta(delta), rel=2e-3)
    assert mixed_epsilon(mu, pure, 1e-6) <= math.fsum(pure) + epsilon_from_mu(mu, 1e-6)
