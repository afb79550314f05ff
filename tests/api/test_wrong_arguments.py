"""Arguments of a wrong type, or that contradict one another: a sentence, and nothing spent."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from pmtcore import Ledger, PrivateRegressor
from pmtcore.base.messages import InputError
from tests.ledger.test_log import table

WRONG = [
    ({"settings": "radius=1"}, {}),
    ({"features": [1]}, {}),
    ({"features": ["a", None]}, {}),
    ({"levels": {"a": 1}}, {}),
    ({"levels": {"a": "12"}}, {}),
    ({"levels": "a=1|2"}, {}),
    ({"levels": {1: ["u"]}}, {}),
    ({"kinds": {"a": 1}}, {}),
    ({"kinds": "a=level"}, {}),
    ({"positive": 1}, {}),
    ({"schema": 1}, {}),
    ({"schema": []}, {}),
    ({"person": "a", "features": ["a", "b"]}, {}),
    ({}, {"dataset": 1}),
    ({}, {"key": 1}),
    ({}, {"purpose": 1}),
    ({}, {"ledger": None, "dataset": "D", "lab": True}),
    ({}, {"ledger": None, "dataset": None, "key": "k", "seed": 1}),
    ({}, {"ledger": None, "dataset": None, "purpose": "why", "lab": True}),
]


@pytest.fixture
def fit(tmp_path):
    """Return a function that fits with these arguments, and the ledger it spends in."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("D", 10)
    private, public = (pd.read_csv(io.BytesIO(table(n, seed))) for n, seed in ((400, 1), (50, 2)))

    def fitted(model, call):
        call = {"target": "y", "ledger": ledger, "dataset": "D", "quiet": True, **call}
        return PrivateRegressor(0.5, **model).fit(private, public, **call)

    return fitted, ledger


@pytest.mark.parametrize(("model", "call"), WRONG, ids=map(str, WRONG))
def test_a_wrong_argument_is_a_sentence(fit, model, call):
    """They were errors of Python from deep inside, or passed over in silence."""
    fitted, ledger = fit
    with pytest.raises(InputError):
        fitted(model, call)
    assert not ledger.account("D").entries


@pytest.mark.parametrize("intercept", [np.bool_(False), 0])
def test_numpys_truth_values_are_truth_values(fit, intercept):
    """The record of such a release could not be written."""
    fitted, ledger = fit
    assert "(intercept)" not in fitted({"intercept": intercept}, {"purpose": None}).record_["coefficients"]
    assert len(ledger.account("D").entries) == 1
