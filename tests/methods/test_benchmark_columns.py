"""What ``benchmarks/accuracy`` compares with: BinAgg and Cond-DP, robust standard errors of the non-private fit."""

from __future__ import annotations

import binagg
import cond_dp
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


def test_cond_dp_is_least_squares_without_noise(seed: int) -> None:
    """At an enormous budget it is the fit, in any units, with a dependent column too; at a small one it is finite."""
    rng = np.random.default_rng(seed)
    x = np.column_stack([np.ones(800), 1e3 * rng.standard_normal(800), rng.uniform(-1, 1, 800)])
    y = x @ np.array([0.5, 1.5e-3, -2.0]) + 0.1 * rng.standard_normal(800)
    exact = np.linalg.lstsq(x, y, rcond=None)[0]
    assert cond_dp.fit(x, y, 1e9, 2, seed) == pytest.approx(np.tile(exact, (2, 1)), rel=1e-5)
    twice = np.column_stack([x, x[:, 1]])
    assert twice @ cond_dp.fit(twice, y, 1e9, 1, seed)[0] == pytest.approx(x @ exact, rel=1e-5)
    # the mean of all iterates lags behind the last
    assert cond_dp.fit(x, y, 1e9, 1, seed, "cond-dp-fixed")[0] == pytest.approx(exact, rel=0.1)
    assert np.array_equal(cond_dp.fit(x, y, 1.0, 2, seed, "cond-dp-replace"), cond_dp.fit(x, y, 0.5, 2, seed))
    few = cond_dp.fit(x[:20], y[:20], 1e-3, 3, seed)
    assert few.shape == (3, 3) and np.all(np.isfinite(few))


@pytest.mark.parametrize(("steps", "expected"), [(1, 1.0), (2, np.sqrt(1.625))])
def test_the_steps_of_cond_dp_spend_its_budget(steps: int, expected: float, seed: int, monkeypatch) -> None:
    """Where all gradients reach the clip 1, the noise of T steps is that of mu/sqrt(T) each, over n rows.

    One feature and responses of 1 and -1 in equal numbers: a step halves what the steps before made of their noise, so
    the mean of two iterates is 3/4 of the first noise and 1/2 of the second.
    """
    monkeypatch.setattr(cond_dp, "STEPS", (steps,))
    monkeypatch.setattr(cond_dp, "CLIPS", 1)
    monkeypatch.setattr(cond_dp, "TUNING", 1000)
    x, y, mu = np.ones((100, 1)), np.tile([1.0, -1.0], 50), 0.7
    coefficients = cond_dp.fit(x, y, mu, 4000, seed)
    assert np.std(coefficients) * mu * len(y) == pytest.approx(expected, rel=0.06)


def test_a_clip_of_cond_dp_bounds_what_a_response_moves() -> None:
    """Without noise a step moves by less than clip/n in length for any one response, and by nearly as much for some."""
    z = np.linalg.qr(np.random.default_rng(1).standard_normal((40, 3)))[0] * np.sqrt(40)
    tried, quiet, y = np.array([0.2, 1.0]), np.zeros((1, 3, 1)), np.zeros(40)
    before = cond_dp.outputs(z, y, tried, quiet)[0]
    for response in (0.01, 5.0, -1e6):
        y[7] = response
        moved = np.linalg.norm(cond_dp.outputs(z, y, tried, quiet)[0] - before, axis=0)[:, 0]
        assert np.all(moved <= tried / 40 * (1 + 1e-12))
    assert moved == pytest.approx(tried / 40)


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


def test_a_weaker_guarantee_is_no_rival_from_outside():
    """The report compares with Cond-DP, but does not count it among those that are nearer at the same guarantee."""
    line = {"case": "a", "draw": 0, "mu": 0.5, "rule": "5d", "d": 3, "distances": [1.0]}
    lines = [{**line, "method": id, "errors": [e]} for id, e in (("mine", 2.0), ("cond-dp", 1.0), ("zero", 3.0))]
    text = zoo.report(lines, "mine")
    assert "over cond-dp           mu 0.5: 2," in text
    assert "best from outside, mu .5 and 1.5: nearer by 1.05 in 0.000" in text


def test_alarms_are_counted_where_both_samples_are_of_one_population() -> None:
    """Private rows drawn again and again from what the public rows left are of another."""
    common = {"case": "a", "mu": 1.0, "method": "joint-pmt", "rule": "5d", "d": 3, "errors": [0.1]}
    lines = [
        common | {"draw": number, "large": large, "alarm": number == 0}
        for number, large in ((0, True), (1, True), (1, False), (2, False))
    ]
    assert zoo.pooled(lines)["a", 1.0, "joint-pmt"]["alarm"] == [False, False, False]
