"""Triangular factors of rows: of many columns from their moment, where that loses next to nothing."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.base.messages import PublicMessage
from pmtcore.public import cholesky
from pmtcore.public.cholesky import triangular_root
from pmtcore.public.moments import INTERCEPT, public_from_rows
from tests.helpers import refused


def positive(upper):
    return upper * np.sign(np.diag(upper))[:, None]


def test_many_columns_have_the_factor_of_their_rows(seed):
    """To nine digits, whatever the units of the columns."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((600, 150)) * np.geomspace(1e-6, 1e6, 150)
    exact = positive(np.linalg.qr(rows, mode="r"))
    result = positive(triangular_root(rows))
    assert not np.array_equal(result, exact)
    assert np.max(np.abs(result - exact) / np.linalg.norm(rows, axis=0)) < 1e-9


@pytest.mark.parametrize("noise", [0.0, 1e-9, 1e-4])
def test_nearly_dependent_columns_are_decomposed_from_rows(noise, seed):
    """Among many columns too: to square their condition number would lose what is left of the last one."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((600, 150))
    rows[:, -1] = rows[:, 3] + noise * rng.standard_normal(600)
    assert np.array_equal(triangular_root(rows), np.linalg.qr(rows, mode="r"))


def test_few_columns_are_decomposed_from_rows(seed):
    """So releases of ordinary tables keep every bit."""
    rows = np.random.default_rng(seed).standard_normal((300, cholesky._MANY_COLUMNS))
    assert np.array_equal(triangular_root(rows), np.linalg.qr(rows, mode="r"))


def test_a_dependent_column_of_many_is_named(seed):
    """As of few."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((600, 150))
    x[:, 0] = 1.0
    x[:, 140] = 2 * x[:, 7] - x[:, 9]
    names = (INTERCEPT, *(f"x{j}" for j in range(1, 150)))
    with refused(PublicMessage.COLLINEAR, column="x140"):
        public_from_rows(x, rng.standard_normal(600), names, "y")
