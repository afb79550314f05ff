"""Frames that the face's tests fit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pmtcore.api import spending


@pytest.fixture(autouse=True)
def forgetful():
    """No release of another test is found again."""
    spending._REQUEST_KEYS.clear()


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    age, income = rng.normal(40, 10, n), rng.normal(0, 1, n)
    sex = rng.choice(["f", "m"], n)
    y = 0.1 * age + 2 * income + (sex == "m") + rng.standard_normal(n)
    return pd.DataFrame({"age": age, "income": income, "sex": sex, "y": y, "high": (y > 4).astype(int)})


@pytest.fixture
def private():
    return frame(2000, 1)


@pytest.fixture
def public():
    return frame(200, 2)
