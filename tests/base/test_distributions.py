"""Distribution functions and roots that load quickly are those of scipy, to the last bit where they say so."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq

from pmtcore.accounting.budgets import epsilon_from_mu, log_delta
from pmtcore.base.distributions import beta, chi, chi2, f_distribution, gamma, student
from pmtcore.base.roots import first_at_most_zero, root

TAILS = np.geomspace(1e-12, 0.5, 60)
Q = np.concatenate([TAILS, 1 - TAILS])[:, None]
X = np.concatenate([-np.geomspace(1e-3, 1e3, 30), [0.0], np.geomspace(1e-6, 1e4, 60)])[:, None]
DF = np.array([0.3, 1.0, 2.0, 2.5, 7.0, 50.0, 1e3, 1e6])
WITH_LIMIT = np.append(DF, np.inf)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (student.ppf(Q, WITH_LIMIT), stats.t.ppf(Q, WITH_LIMIT)),
        (student.isf(Q, WITH_LIMIT), stats.t.isf(Q, WITH_LIMIT)),
        (student.sf(X, WITH_LIMIT), stats.t.sf(X, WITH_LIMIT)),
        (chi2.ppf(Q, DF), stats.chi2.ppf(Q, DF)),
        (chi2.isf(Q, DF), stats.chi2.isf(Q, DF)),
        (chi2.sf(X, DF), stats.chi2.sf(X, DF)),
        (chi.isf(Q, DF), stats.chi.isf(Q, DF)),
        (f_distribution.ppf(Q, 3.0, DF), stats.f.ppf(Q, 3.0, DF)),
        (f_distribution.isf(Q, 3.0, DF), stats.f.isf(Q, 3.0, DF)),
        (f_distribution.sf(X, 3.0, DF), stats.f.sf(X, 3.0, DF)),
        (gamma.ppf(Q, DF, scale=2), stats.gamma(DF, scale=2).ppf(Q)),
        (beta.isf(Q, 4.0, DF), stats.beta.isf(Q, 4.0, DF)),
        (student.sf(1.0, np.array([-1.0, 0.0, np.nan])), np.full(3, np.nan)),
    ],
    ids=[
        *("t-ppf", "t-isf", "t-sf", "chi2-ppf", "chi2-isf", "chi2-sf", "chi-isf"),
        *("f-ppf", "f-isf", "f-sf", "gamma-ppf", "beta-isf", "t-sf-no-df"),
    ],
)
def test_the_same_bits_as_scipys_distributions(ours, theirs):
    """So no released interval and no test changed when the import did."""
    np.testing.assert_array_equal(ours, theirs)


def test_a_root_is_brents():
    """The same algorithm with the same tolerances, loaded when it is asked for."""
    function = lambda x: math.cos(x) - x  # noqa: E731
    assert root(function, 0.0, 1.0) == brentq(function, 0.0, 1.0)


@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 5.0, 100.0])
@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-2])
def test_a_stated_epsilon_is_rounded_up(mu, delta):
    """At the stated epsilon the computed delta is small enough, and at the number just below it is not."""
    epsilon, goal = epsilon_from_mu(mu, delta), math.log(delta)
    if epsilon > 0:
        assert log_delta(mu, epsilon) <= goal < log_delta(mu, math.nextafter(epsilon, 0.0))


@pytest.mark.parametrize("place", [1e-300, 1e-17, 0.3, 1.0, 12345.678])
def test_bisection_ends_at_the_last_bit(place):
    """Whatever the size of the root."""
    assert first_at_most_zero(lambda x: place - x, 0.0, 2 * place) == place
