"""Three laws of every recommended linear method, over a fixed draw of real tables in standard errors."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "accuracy"))
zoo = importlib.import_module("zoo")


@pytest.fixture(scope="module")
def errors() -> dict[str, dict[str, np.ndarray]]:
    """Median errors (budgets,) of each method by case: the first of *tune* with five public rows a column."""
    try:
        loader = zoo.zoo_module()
    except FileNotFoundError as missing:
        pytest.skip(f"the zoo of tables is not here: {missing}")
    found: dict[str, dict[str, np.ndarray]] = {}
    for case in [each for each in zoo.cases("tune", "linear", 60, loader) if each.rule == "5d"][:14]:
        one = zoo.draw(case, 0, loader)
        if one is None:
            continue
        for id in ("joint-pmt", "zero", "public-only"):
            measured = [zoo.measured(id, one, mu, 24, 1, {})["errors"] for mu in zoo.MUS]
            found.setdefault(case.key, {})[id] = np.array([np.median(each) for each in measured])
    return found


def test_an_unlimited_budget_gives_the_non_private_fit(errors) -> None:
    """At mu 300 within a tenth of a standard error, but for one table whose fit few rows far out decide."""
    far = [case for case, each in errors.items() if each["joint-pmt"][-1] > 0.1]
    assert len(far) <= 1, far


def test_more_budget_never_hurts(errors) -> None:
    """At most 1.1 times the error at any smaller budget, but for one table."""
    worse = [
        case
        for case, each in errors.items()
        if np.any(each["joint-pmt"][1:] > 1.1 * np.minimum.accumulate(each["joint-pmt"])[:-1])
    ]
    assert len(worse) <= 1, worse


def test_no_worse_than_zero_nor_than_the_public_fit(errors) -> None:
    """At most 1.05 times the error of either at any budget, but for one table."""
    worse = [
        case
        for case, each in errors.items()
        if np.any(each["joint-pmt"] > 1.05 * np.minimum(each["zero"], each["public-only"]))
    ]
    assert len(worse) <= 1, worse
