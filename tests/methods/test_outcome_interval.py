"""Intervals of a prediction: the stated law, the prediction inside, and the share of real tables inside."""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import zoo

from pmtcore.accounting.budgets import Budget
from pmtcore.methods.outcome_interval import OutcomeInterval, OutcomeQuantile
from pmtcore.methods.registry import Prediction, make_parameters, method
from pmtcore.public.moments import public_from_moment, public_from_rows

LAW = OutcomeInterval(OutcomeQuantile(0.5, 0.3), OutcomeQuantile(0.8, -0.2), OutcomeQuantile(1.5, -0.9))
# Tables, releases of each and the share inside at least: of 80 % on about 55 settings all but 1 in 1,000 have .6
SHARES = {"joint-pmt": ("linear", 12), "joint-moment": ("linear", 12), "pmt-gradients": ("label", 7)}
LEAST = 0.6


def predicted(error: float) -> Prediction:
    """Errors of two coefficients, in other units."""
    units = np.array([1.0, 100.0])
    return Prediction(0.6 * error * units, 0.1 * units, 0.8 * error * units)


@pytest.mark.parametrize("m", [4, 10, 20, 200])
def test_the_ends_follow_the_stated_law(m: int) -> None:
    """A power of the public rows a column, two columns here, up to ten: computed here by products."""
    result = LAW.of(predicted(0.2), 10**6, m)
    share = min(m / 20, 1.0)
    assert result.interval_factors == pytest.approx((0.5 * share**0.3, 1.5 * share**-0.9))
    assert result.median_factor == pytest.approx(0.8 * share**-0.2)
    for total, factor in zip(
        (result.median_total, *result.total_interval), (result.median_factor, *result.interval_factors), strict=True
    ):
        assert total == pytest.approx(math.hypot(0.2 * factor, 0.1) * np.array([1.0, 100.0]))
    assert np.array_equal(result.to_exact, predicted(0.2).to_exact)


@pytest.mark.parametrize("n", [100, 121, 400])
def test_no_factor_leads_beyond_the_public_fit(n: int) -> None:
    """Few rows, noise of any size: the error is at most the public fit's, ``sampling sqrt(n/m)``, or as predicted."""
    own = 0.1 * math.sqrt(n / 4)
    result = LAW.of(predicted(0.5), n, 4)
    assert result.interval_factors[1] == pytest.approx(min(max(own / 0.5, 1.0), 1.5 * 0.2**-0.9))
    assert result.median_factor <= result.interval_factors[1]
    free = replace(LAW, combined=False).of(predicted(0.5), n, 4)
    assert free.interval_factors[1] == pytest.approx(1.5 * 0.2**-0.9)


def test_the_interval_contains_the_prediction_and_its_median() -> None:
    """Factors are at most and at least 1, with the median between them; fewer rows than columns count as one each."""
    wide = OutcomeInterval(OutcomeQuantile(3.0, 0), OutcomeQuantile(0.1, 0), OutcomeQuantile(0.2, 0))
    assert wide.of(predicted(1.0), 10**8, 25).median_factor == 1.0
    assert wide.of(predicted(1.0), 10**8, 25).interval_factors == (1.0, 1.0)
    assert LAW.of(predicted(1.0), 10**8, 1).interval_factors == LAW.of(predicted(1.0), 10**8, 2).interval_factors


def test_no_interval_without_public_rows() -> None:
    """There is nothing to judge by then: the prediction stays as it is."""
    assert LAW.of(predicted(0.1), 100, None).total_interval is None
    assert np.array_equal(LAW.of(predicted(0.1), 100, None).median_total, predicted(0.1).total)


@pytest.mark.parametrize("error", [0.0, math.inf])
def test_an_error_of_zero_or_without_end_stays_one(error: float) -> None:
    """Multiplied by the factors, both stay what they are."""
    privacy = Prediction(np.full(2, error), np.full(2, 0.1))
    low, high = LAW.of(privacy, 100, 25).total_interval
    assert np.array_equal(low, privacy.total)
    assert np.array_equal(high, privacy.total)


@pytest.mark.parametrize("id", sorted(SHARES))
def test_the_methods_that_were_calibrated_have_one(id: str, seed: int) -> None:
    """With public rows; without them none, as nothing was calibrated there."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(60), rng.standard_normal((60, 2))])
    labels = id == "pmt-gradients"
    y = x.sum(axis=1) + rng.standard_normal(60)
    y = (y > 0).astype(float) if labels else y
    family = zoo.family_of("logistic" if labels else "gaussian")
    names = (zoo.INTERCEPT, "a", "b")
    entry = method(id)
    public = public_from_rows(x, y, names, "y", ridge=0.0, family=family, lam=0.1 if labels else 0.0)
    low, high = entry.plan(public, 2_000, Budget(1.0), make_parameters(entry, {})).predicted().interval_factors
    assert 0 < low <= 1 <= high < math.inf
    if not labels:
        z = np.column_stack([x, y])
        alone = public_from_moment(z.T @ z / 60, names, "y", 60)
        assert entry.plan(alone, 2_000, Budget(1.0), make_parameters(entry, {})).predicted().interval_factors is None


@pytest.mark.slow
@pytest.mark.parametrize("id", sorted(SHARES))
def test_outcomes_on_real_tables_lie_inside(id: str, zoo_loader: ModuleType) -> None:
    """Over a fixed draw of *tune*, every number of public rows: at least so many of the intervals of 80 %."""
    task, many = SHARES[id]
    inside, chosen = [], zoo.cases("tune", task, 40, zoo_loader)
    for case in chosen[:many]:
        one = zoo.draw(case, 0, zoo_loader)
        if one is None:
            continue
        for mu in zoo.MUS:
            result = zoo.measured(id, one, mu, 8, 1, {})
            low, high = result["interval"]
            inside.append(low <= result["outcome"] <= high)
    assert np.mean(inside) >= LEAST
