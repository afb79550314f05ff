"""Sums of integer rows: the same integers however they are added up."""

from __future__ import annotations

import numpy as np

from pmtcore.glm.families import LOGISTIC
from pmtcore.mechanisms import integers


def test_hessians_are_the_same_one_by_one_and_by_products_of_columns(seed, monkeypatch):
    """Both ways add up the same integers, and each is the Hessian up to its steps."""
    rng = np.random.default_rng(seed)
    x, theta = rng.standard_normal((500, 4)), rng.standard_normal((3, 4)) / 2
    rows = integers.IntegerRows.within(x, np.zeros(500), 4.0)
    one_by_one = rows.hessians(LOGISTIC, theta, 0.25)
    monkeypatch.setattr(integers, "_MOST_FITS_ONE_BY_ONE", 0)
    by_products = rows.hessians(LOGISTIC, theta, 0.25)
    assert one_by_one.dtype == by_products.dtype == np.int64 and np.array_equal(one_by_one, by_products)
    unit = 0.25 / integers.SLOPES * (4.0 / integers.COARSE) ** 2
    clipped = x * np.minimum(1, 4 / np.linalg.norm(x, axis=1))[:, None]
    for fit, coefficients in zip(one_by_one, theta, strict=True):
        slopes = LOGISTIC.slope(clipped @ coefficients)
        assert np.allclose(fit * unit, (clipped * slopes[:, None]).T @ clipped, atol=500 * 0.25 * 0.02)
