"""Intervals of a prediction: the stated law, the prediction inside, and the share of real tables inside."""

from __future__ import annotations

import math
from types import ModuleType

import numpy as np
import pytest
import zoo

from pmtcore.accounting.budgets import Budget
from pmtcore.methods.outcome_interval import OutcomeInterval, OutcomeQuantile
from pmtcore.methods.registry import Prediction, make_parameters, method
from pmtcore.public.moments import public_from_moment, public_from_rows

LAW = OutcomeInterval(
    OutcomeQuantile(-1.0, 0.2, -0.1),
    OutcomeQuantile(0.5, -0.1, -0.15),
    OutcomeQuantile(2.0, -0.5, -0.2),
    errors=(-5.0, 3.0),
    budgets=(2.0, 9.0),
)
# Tables, releases of each and the share inside at least: of 80 % on about 55 settings all but 1 in 1,000 have .6
SHARES = {"joint-pmt": ("linear", 12), "joint-moment": ("linear", 12), "pmt-gradients": ("label", 7)}
LEAST = 0.6


def predicted(error: float, sampling: float) -> Prediction:
    """Errors of two coefficients, both parts along the first."""
    return Prediction(np.array([0.6 * error, 0.0]), np.array([sampling, 0.0]), np.array([0.8 * error, 0.0]))


@pytest.mark.parametrize("error", [0.02, 0.2, 1.5])
@pytest.mark.parametrize("n", [100, 2_000])
def test_the_ends_follow_the_stated_law(error: float, n: int) -> None:
    """Powers of the error over the public fit's, ``sampling sqrt(n/m)``, and of n mu: computed here by products."""
    found = LAW.of(predicted(error, 0.1), n, 25, 0.5)
    over_public = error / (0.1 * math.sqrt(n / 25))
    low = error * math.exp(-1) * over_public**0.2 * (n / 2) ** -0.1
    high = error * math.exp(2) * over_public**-0.5 * (n / 2) ** -0.2
    median = error * math.exp(0.5) * over_public**-0.1 * (n / 2) ** -0.15
    assert found.interval == pytest.approx((low, max(high, error)), rel=1e-9)
    assert found.median_distance == pytest.approx(np.clip(median, *found.interval), rel=1e-9)
    assert np.linalg.norm(found.median_total[1:]) == 0
    assert found.median_total[0] == pytest.approx(math.hypot(found.median_distance, 0.1))
    assert np.array_equal(found.to_exact, predicted(error, 0.1).to_exact)


def test_the_interval_contains_the_prediction_and_stops_where_no_setting_was() -> None:
    """Factors are at most and at least 1; beyond the settings that were seen the nearest one counts."""
    quantiles = OutcomeQuantile(3.0, 0, 0), OutcomeQuantile(-9.0, 0, 0), OutcomeQuantile(-3.0, 0, 0)
    wide = OutcomeInterval(*quantiles, errors=(-3, 1), budgets=(2, 9))
    assert wide.of(predicted(1.0, 0.1), 100, 25, 0.5).median_factor == 1.0
    assert wide.of(predicted(1.0, 0.1), 100, 25, 0.5).interval_factors == (1.0, 1.0)
    assert LAW.of(predicted(1e-9, 0.1), 100, 25, 0.5).interval_factors == (
        LAW.of(predicted(1e-7, 0.1), 100, 25, 0.5).interval_factors
    )
    many = [LAW.of(predicted(0.1, 0.1 / math.sqrt(n)), n, 25, 0.5).interval_factors for n in (10**6, 10**9)]
    assert many[0] == pytest.approx(many[1])


@pytest.mark.parametrize(
    "prediction",
    [predicted(0.0, 0.1), predicted(0.1, 0.0), predicted(math.inf, 0.1)],
    ids=["no privacy error", "no sampling error", "infinite"],
)
def test_no_interval_without_error_or_sampling(prediction: Prediction) -> None:
    """Where either part is zero or infinite there is no ratio to judge by; so without a number of public rows."""
    assert LAW.of(prediction, 100, 25, 0.5).interval is None
    assert LAW.of(prediction, 100, 25, 0.5).median_distance == pytest.approx(np.linalg.norm(prediction.to_exact))
    assert LAW.of(predicted(0.1, 0.1), 100, None, 0.5).interval is None


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
        assert entry.plan(alone, 2_000, Budget(1.0), make_parameters(entry, {})).predicted().interval is None


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
            found = zoo.measured(id, one, mu, 3, 1, {})
            low, high = found["interval"]
            inside.append(low <= np.median(found["distances"]) <= high)
    assert np.mean(inside) >= LEAST
