"""What Conditioning predicts from public rows, beside what private rows of the same population turn out to be."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.auditing.diagnostics import bootstrapped_after, expected_after, predicted_diagnosis
from pmtcore.base.labels import Label
from pmtcore.public.moments import INTERCEPT, conditioning, public_from_rows, whiten
from tests.helpers import make, names

_FLAGS = np.array([0.02, 0.02, 0.03, 0.03, 0.05, 0.1, 0.2, 0.5])
TABLES = {
    "flags": lambda m, rng: rng.random((m, 8)) < _FLAGS,
    "mostly zero": lambda m, rng: (rng.random((m, 8)) < 0.03) * np.exp(rng.normal(scale=0.5, size=(m, 8))),
    "lognormal": lambda m, rng: np.exp(rng.normal(size=(m, 8))),
    "uniform": lambda m, rng: rng.random((m, 8)),
}


@pytest.mark.parametrize("kind", TABLES)
def test_condition_number_after_whitening(kind, seed):
    """Over 20 tables of 300 rows the prediction's median is near the exact one; the Gaussian law's alone is not.

    But for rows without tails, whose spectrum has the Gaussian law.
    """
    logs = []
    for draw in range(20):
        rng = np.random.default_rng([seed, draw])
        x, new = (np.column_stack([np.ones(m), TABLES[kind](m, rng)]) for m in (300, 20_000))
        if np.all(np.count_nonzero(x, axis=0) > 1):
            public = public_from_rows(x, None, (INTERCEPT, *names(8)), "y")
            rows = whiten(public.feature_root, new)
            result = (
                predicted_diagnosis(public, 20_000, 0.05).after,
                conditioning(rows.T @ rows / len(rows)),
                expected_after(9, 300),
            )
            logs.append([np.log(each.kappa) for each in result])
    guess, exact, gaussian = np.median(logs, axis=0)
    assert abs(guess - exact) < 0.6
    assert (gaussian < exact - 0.2) == (kind != "uniform")


def test_gaussian_rows_are_predicted_by_their_law(seed):
    """With few Gaussian rows the condition number is at least that of the Wishart law; the label is public."""
    _, public, _ = make(50, 30, seed)
    result = predicted_diagnosis(public, 50, 0.05)
    assert result.label is Label.PUBLIC
    assert result.after.kappa >= expected_after(10, 30).kappa
    assert result.rate(0.0) == pytest.approx(1.0)


def test_draws_of_the_population_are_second_moments():
    """Their eigenvalues add up to the mean squared length of the rows, and lie about those of the rows' own moment."""
    rows = np.random.default_rng(3).standard_normal((400, 4)) * [1.0, 2.0, 3.0, 4.0]
    result, own = bootstrapped_after(rows).eigenvalues, np.linalg.eigvalsh(rows.T @ rows / len(rows))
    assert np.sum(result) == pytest.approx(np.mean(np.sum(rows**2, axis=1)), rel=0.05)
    assert result == pytest.approx(own, rel=0.1)
