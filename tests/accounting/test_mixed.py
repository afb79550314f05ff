"""Mixed releases: against every combination of outcomes in high precision, and against the simple bounds."""

from __future__ import annotations

import itertools
import math

import mpmath as mp
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.accounting.budgets import compose, epsilon_from_mu, mu_from_pure_epsilon
from pmtcore.accounting.mixed import mixed_epsilon
from pmtcore.base.messages import InputError
from pmtcore.ledger.log import Ledger
from tests.helpers import reserve


def exact_delta(mu, pure, epsilon):
    """Every one of the 2^k outcomes of k randomized responses, with the Gaussian loss integrated."""
    total = mp.mpf(0)
    for signs in itertools.product((1, -1), repeat=len(pure)):
        weight, shift = mp.mpf(1), mp.mpf(0)
        for sign, value in zip(signs, pure, strict=True):
            weight /= 1 + mp.exp(-sign * mp.mpf(value))
            shift += sign * mp.mpf(value)
        rest = mp.mpf(epsilon) - shift
        if mu == 0:
            total += weight * max(mp.mpf(0), 1 - mp.exp(rest))
        else:
            a, b = rest / mu - mp.mpf(mu) / 2, rest / mu + mp.mpf(mu) / 2
            total += weight * (mp.ncdf(-a) - mp.exp(rest) * mp.ncdf(-b))
    return total


CASES = [
    (0.0, [0.5, 0.5, 0.5]),
    (0.0, [1.0, 0.3, 0.7, 0.11]),
    (1.0, [1.0]),
    (0.3, [2.0, 0.17, 0.9]),
    (3.0, [0.01, 4.0]),
    (0.01, [1.0, 1.0]),
]


@pytest.mark.parametrize(("mu", "pure"), CASES)
@pytest.mark.parametrize("delta", [1e-2, 1e-6, 1e-12])
def test_against_every_combination(mu, pure, delta):
    """The epsilon found holds by enumeration, and one a thousandth smaller does not; 20 % less would be caught."""
    result = mixed_epsilon(mu, pure, delta)
    with mp.workdps(60):
        assert exact_delta(mu, pure, result) <= delta
        assert exact_delta(mu, pure, 0.999 * result - 1e-6) > delta
        assert exact_delta(mu, pure, 0.8 * result) > 1.01 * delta


@pytest.mark.slow
@given(
    st.floats(0.0, 5.0).filter(lambda mu: mu == 0 or mu > 1e-3),
    st.lists(st.floats(1e-3, 5.0), max_size=8),
    st.sampled_from([1e-3, 1e-6, 1e-9]),
)
@settings(max_examples=60, deadline=None)
def test_between_the_simple_bounds(mu, pure, delta):
    """At least each part alone, at most the implied mu of the parts, and at most the plain sum."""
    result = mixed_epsilon(mu, pure, delta)
    alone = epsilon_from_mu(mu, delta) if mu > 0 else 0.0
    assert result >= alone * (1 - 1e-9) - 1e-8
    assert result <= (math.fsum(pure) + alone) * 1.0005 + 1e-6
    implied = compose([mu, *(mu_from_pure_epsilon(value) for value in pure)])
    if implied > 1e-3:
        assert result <= epsilon_from_mu(implied, delta) * 1.0005 + 1e-6


def test_bad_amounts_are_refused():
    """NaN, negative, infinite."""
    for mu, pure in ((math.nan, []), (-1.0, []), (0.0, [math.nan]), (0.0, [-1.0]), (0.0, [math.inf])):
        with pytest.raises(InputError):
            mixed_epsilon(mu, pure, 1e-6)


def test_the_ledger_states_the_mixed_total(tmp_path):
    """A pure release keeps its epsilon, not that of the Gaussian it implies; add-remove counts twice; caps hold."""
    book = Ledger(str(tmp_path / "l.db"))
    book.cap("survey", 3.0)
    request = {"method": "m", "delta": 1e-6}
    reserve(book, "survey", "a", request, mu_from_pure_epsilon(1.0), neighbours="replace-one", pure_epsilon=1.0)
    assert book.account("survey").as_dict()["spent"]["epsilon"] == pytest.approx(1.0, abs=1e-4)
    assert book.account("survey").spent == pytest.approx(mu_from_pure_epsilon(1.0))
    reserve(book, "survey", "b", request, 0.5, neighbours="replace-one")
    reserve(book, "survey", "c", request, mu_from_pure_epsilon(0.5), neighbours="add-remove-one", pure_epsilon=0.5)
    spent = book.account("survey").as_dict()["spent"]
    assert spent["epsilon"] == pytest.approx(mixed_epsilon(0.5, [1.0, 1.0], 1e-6), rel=1e-6)
    assert spent["epsilon"] < epsilon_from_mu(spent["mu"], 1e-6) - 2
    with pytest.raises(InputError):
        reserve(book, "survey", "d", request, 0.1, neighbours="replace-one", pure_epsilon=math.nan)
    assert len(book.account("survey").entries) == 3
