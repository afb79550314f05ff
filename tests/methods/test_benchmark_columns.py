"""What ``benchmarks/accuracy`` compares with: BinAgg from its paper, robust standard errors of the non-private fit."""

from __future__ import annotations

import binagg
import numpy as np
import pytest
import zoo

from pmtcore.glm.families import family as family_of


def test_binagg_is_the_fit_of_its_bins_without_noise(seed: int) -> None:
    """At an enormous budget, few rows in many bins, it is near least squares; at a tiny one it has d numbers."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(800), rng.uniform(-1, 1, (800, 2))])
    y = x @ np.array([0.5, 1.5, -2.0]) + 0.1 * rng.standard_normal(800)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    assert np.allclose(binagg.fit(x, y, 1e4, 2, seed), exact, atol=0.05)
    few = binagg.fit(x[:20], y[:20], 1e-3, 3, seed)
    assert few.shape == (3, 3) and np.all(np.isfinite(few))


def test_bins_are_a_partition(seed: int) -> None:
    """Every row is in one leaf, and there are more leaves than columns, however small the budget."""
    x = np.random.default_rng(seed).standard_normal((300, 4))
    for mu in (1e-3, 0.5, 30.0):
        leaves = binagg._tree(x, mu, np.random.default_rng(seed))
        assert sorted(np.concatenate([each.rows for each in leaves])) == list(range(300))
        assert 4 < len(leaves) <= 302


DRAWS = {
    "linear": lambda mean, rng: mean + rng.standard_normal(len(mean)),
    "label": lambda mean, rng: (rng.random(len(mean)) < mean).astype(float),
    "count": lambda mean, rng: rng.poisson(mean).astype(float),
}


@pytest.mark.parametrize("task", DRAWS)
def test_robust_errors_of_a_true_model_are_those_of_its_information(task: str, seed: int) -> None:
    """Where the model holds, the sandwich and the inverse information agree, for every family."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(20_000), rng.standard_normal((20_000, 2))])
    y = DRAWS[task](family_of(zoo.FAMILIES[task]).mean(x @ np.array([-1.0, 0.7, -0.4])), rng)
    case, places = zoo.Case("t", task, "5d", "z", True, False), np.arange(len(x))
    one = zoo.drawn(x, y, ("(intercept)", "a", "b"), places[:500], places[500:], case, False, 0.0)
    expected = np.sqrt(np.diag(np.linalg.inv(one.information)))
    assert zoo.robust_errors(one) == pytest.approx(expected, rel=0.1)


def test_the_report_ends_with_the_row_of_the_accuracy_page():
    """Two tables at two budgets: on one of them zero is nearer at both, so the method is behind."""
    errors = {"a": {"mine": (4.0, 2.0), "zero": (1.0, 1.0)}, "b": {"mine": (1.0, 0.5), "zero": (9.0, 9.0)}}
    lines = [
        {"case": case, "draw": 0, "mu": mu, "method": id, "rule": "5d", "d": 3, "errors": [error], "distances": [error]}
        for case, of_method in errors.items()
        for id, pair in of_method.items()
        for mu, error in zip((0.5, 1.5), pair, strict=True)
    ]
    row = zoo.report(lines, "mine").splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        *("`mine`", "2", "2.5, 1.25", "0.50, 0.00"),
        *("", "", "0.50, 0.50", "yes"),
    ]
