"""What one released moment answers: regressions, tests, pictures, labels; and that none of it spends."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import t as student

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import ExploreMessage, InputError
from pmtcore.base.numbers import with_equal_decimals
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.explore import _text
from pmtcore.cli.main import main
from pmtcore.explore.confirm import combine_with_release, problem_of
from pmtcore.explore.functionals import Marginals
from pmtcore.explore.moment import Moment, read_formula, with_public_rows
from pmtcore.explore.regression import regression
from pmtcore.glm.families import family
from pmtcore.glm.solvers import Data
from pmtcore.glm.solvers import fit as fit_exactly
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise, ZeroNoise
from pmtcore.methods.joint_moment.influence import GaussianInfluence
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import INTERCEPT, public_from_rows
from pmtcore.releases.release import Request, recorded_release
from pmtcore.report.figures import explore as figures
from pmtcore.tables.named import entry as entry_of
from pmtcore.tables.named import load
from pmtcore.tables.problem import prepare
from tests.helpers import TEST, plan, refused
from tests.methods.test_joint_moment import NAMES as FOUR
from tests.methods.test_joint_moment import table as continuous

NAMES = (INTERCEPT, "a", "b", "g=x")


def table(n, seed):
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    b = 0.6 * a + 0.8 * rng.standard_normal(n)
    g = (rng.random(n) < 0.3).astype(float)
    label = (rng.random(n) < 1 / (1 + np.exp(0.5 - a + 0.5 * b - g))).astype(float)
    return np.column_stack([np.ones(n), 10 + 2 * a, b, g]), label


def opened(n=20_000, m=2000, mu=50.0, noise=None, **values):
    """Return the moment of a table, hardly any noise by default, and the rows (n, 5)."""
    x, y = table(m, 1)
    px, py = table(n, 2)
    planned = plan(
        "joint-moment", public_from_rows(x, y, NAMES, "hit"), n, mu, **{"radius": 30.0, "public_rows": "yes", **values}
    )
    outcome = planned.run(PrivateRows.from_arrays(px, py, NAMES), noise or ZeroNoise(), 1)
    return Moment(outcome.record()), np.column_stack([px, py])


@pytest.fixture(scope="module")
def moment():
    return opened()


def test_regressions_by_formula_and_by_name(moment):
    """The same model however it is asked for; listed once; the exact fit where there is no noise."""
    result, z = moment
    one = result.regress("b ~ a + `g=x`")
    two = result.regress(response="b", features=["a", "g=x"])
    assert one.coefficients == two.coefficients and one.formula == "b ~ a + `g=x`"
    exact = np.linalg.lstsq(z[:, [0, 1, 3]], z[:, 2], rcond=None)[0]
    assert np.allclose(one.fit.coefficients, exact, atol=0.01)
    assert len([fit for fit in result.looked if fit.formula == one.formula]) == 1
    assert result.regress("b ~ . - 1").names == ("a", "g=x", "hit")
    share = 1 - np.var(z[:, 2] - z[:, [0, 1, 3]] @ exact) / np.var(z[:, 2])
    assert one.r_squared.values[0] == pytest.approx(share, abs=0.01)
    inside = np.linalg.inv(np.corrcoef(z[:, [1, 3]].T))
    assert one.inflation.values[0] == pytest.approx(inside[0, 0], rel=0.01)
    alone = result.regress("b ~ a").inflation
    assert alone.values == [1.0] and alone.bands.privacy == [0.0], "by definition, without a band of rounding errors"


@pytest.mark.parametrize("formula", ["b", "b ~ q", "b ~ a ~ a", "b ~ b", "b ~ a:b", "q ~ a", "b ~ a*2"])
def test_bad_formulas_get_a_sentence(moment, formula):
    """What is wrong, and which columns there are."""
    with pytest.raises(InputError):
        moment[0].regress(formula)


def test_products_in_either_order():
    """``a:b`` is the declared column ``b:a``; an undeclared one says how to declare it."""
    names = [INTERCEPT, "a", "b", "b:a", "x + y", "y"]
    assert read_formula("y ~ a + a:b + `x + y`", names, names[1:3])[1] == ("a", "x + y", "b:a")
    with refused(ExploreMessage.UNDECLARED_PRODUCT):
        read_formula("y ~ a:y", names, names[1:3])


def test_contrasts_tests_and_predictions_agree(moment):
    """A contrast of one coefficient is that coefficient; its Wald test is its t squared; a prediction is a contrast."""
    fit = moment[0].regress("b ~ a + `g=x`")
    value, bands = fit.contrast({"a": 1.0})
    assert value == fit.coefficients["a"]
    assert bands.low[0] == pytest.approx(fit.bands.low[1]) and bands.high[0] == pytest.approx(fit.bands.high[1])
    test = fit.test(["a"])
    assert test.statistic == pytest.approx(value**2 / fit.fit.total[1, 1]) and test.pvalue < 1e-6
    at = moment[0].predict(fit, {"a": 12.0, "g=x": 1.0})
    assert at.value == pytest.approx(sum(c * v for c, v in zip(fit.fit.coefficients, (1, 12, 1), strict=True)))
    assert at.new_low < at.low < at.value < at.high < at.new_high
    for bad in ({"a": 1.0}, {}):
        with refused(ExploreMessage.VALUE_MISSING):
            moment[0].predict(fit, bad)
    with pytest.raises(InputError):
        fit.test(["q"])


def test_corrections_widen(moment):
    """Bonferroni by the models looked at, Scheffe by the columns; neither narrower than the plain band."""
    fit = moment[0].regress("b ~ a")
    plain = fit.bands.high - fit.bands.low
    wide = [fit.corrected("bonferroni", k) for k in (1, 10, 1000)]
    widths = [float((b.high - b.low)[1] / plain[1]) for b in (*wide, fit.corrected("scheffe"))]
    assert 1 < widths[0] < widths[1] < widths[2] and widths[3] > 1
    assert len(moment[0].names) > 2  # other models may have more coefficients than this one: they count in full
    among = 2 + 9 * len(moment[0].names)
    assert widths[1] == pytest.approx(
        student.isf(0.025 / among, fit.freedom) / student.isf(0.025, fit.freedom), rel=0.1
    )
    with pytest.raises(InputError):
        fit.corrected("hope")


def test_the_whole_in_pictures(moment):
    """Means, spreads, correlations, partial correlations, components and group means of the rows."""
    result, z = moment
    rest = z[:, 1:]
    summary = result.summary()
    assert np.allclose([row["mean"] for row in summary], rest.mean(axis=0), atol=0.01)
    assert np.allclose([row["sd"] for row in summary], rest.std(axis=0), rtol=0.01)
    r, upper = np.corrcoef(rest.T), np.triu_indices(4, 1)
    assert np.allclose([row["value"] for row in result.pairs()], r[upper], atol=0.01)
    for column in result.columns:
        beside = {row["name"]: (row["value"], row["low"], row["high"]) for row in result.correlations_with(column)}
        all_pairs = [row for row in result.pairs() if column in (row["first"], row["second"])]
        assert beside == {
            row["second"] if row["first"] == column else row["first"]: (row["value"], row["low"], row["high"])
            for row in all_pairs
        }
    last = result.correlations_with("b", {"g=w": ["g=x"], "rest": ["a", "g=x"]})[-2:]
    other = next(row for row in result.correlations_with("b") if row["name"] == "g=x")
    assert [row["name"] for row in last] == ["g=w", "rest"]
    # The level that has no column of its own is 1 where the others are 0.
    assert np.allclose([last[0][k] for k in ("value", "low", "high")], [-other[k] for k in ("value", "high", "low")])
    places = [result.columns.index(name) for name in ("a", "g=x", "b")]
    summed = -np.sum(rest[:, places[:2]], axis=1)
    assert last[1]["value"] == pytest.approx(np.corrcoef(summed, rest[:, places[2]])[0, 1], abs=0.01)
    inverse = np.linalg.inv(r)
    partial = -inverse / np.sqrt(np.outer(np.diag(inverse), np.diag(inverse)))
    assert np.allclose([row["value"] for row in result.pairs(True)], partial[upper], atol=0.01)
    shares, loadings = result.components()
    assert np.allclose(shares.values, np.sort(np.linalg.eigvalsh(r))[::-1] / 4, atol=0.01)
    assert np.allclose(loadings.T @ loadings, np.eye(4), atol=1e-9)
    groups = result.group_means("b", ["g=x"])
    assert groups[0]["value"] == pytest.approx(z[z[:, 3] == 1, 2].mean(), abs=0.02)
    assert groups[1]["value"] == pytest.approx(z[z[:, 3] == 0, 2].mean(), abs=0.02)
    assert groups[0]["share"] == pytest.approx(z[:, 3].mean(), abs=0.01)
    with pytest.raises(InputError):
        result.group_means("b", ["a"])


@pytest.mark.slow
@pytest.mark.parametrize("what", ["means", "spreads", "correlations", "partial_correlations"])
def test_gradients_are_those_of_the_figures(moment, what):
    """Privacy variances against the figures' own differences under small noise."""
    result, _ = moment
    state = replace(result.state, weight=np.ones_like(result.state.moment))
    rng = np.random.default_rng(5)
    base, drawn = getattr(Marginals(state), what)(), []
    for _ in range(1500):
        g = rng.standard_normal(state.moment.shape) * np.sqrt(0.5)
        g = np.triu(g, 1) + np.triu(g, 1).T + np.diag(rng.standard_normal(len(g)))
        moved = replace(state, moment=state.moment + 0.1 * g * np.sqrt(state.noise))
        drawn.append(getattr(Marginals(moved), what)().values)
    assert np.allclose(np.std(drawn, axis=0), 0.1 * base.bands.privacy, rtol=0.12)


@pytest.mark.slow
@pytest.mark.parametrize("what", ["partial_r_squared", "inflation", "loadings"])
def test_gradients_of_shares_inflation_and_loadings(moment, what):
    """The same for figures of a regression, and for the components."""
    result, _ = moment
    state = replace(result.state, weight=np.ones_like(result.state.moment))

    def figures_of(one):
        if what == "loadings":
            return Marginals(one).loadings(2)
        return getattr(regression(one, result.names, "b", ["a", "g=x"], lam=0.0, intercept=True), what)

    rng, base, drawn = np.random.default_rng(6), figures_of(state), []
    for _ in range(300):
        g = rng.standard_normal(state.moment.shape) * np.sqrt(0.5)
        g = np.triu(g, 1) + np.triu(g, 1).T + np.diag(rng.standard_normal(len(g)))
        drawn.append(figures_of(replace(state, moment=state.moment + 0.1 * g * state.sigma)).values)
    assert np.allclose(np.std(drawn, axis=0), 0.1 * base.bands.privacy, rtol=0.25, atol=1e-4 * base.bands.privacy.max())
    assert np.all((base.bands.low <= base.values) & (base.values <= base.bands.high))


def test_logistic_from_the_linear_model(moment):
    """Close to the exact logistic fit; the floor is said; other responses and records without rows are refused."""
    result, z = moment
    fit = result.logistic("hit ~ a + b + `g=x`")
    at = {"a": 0.4, "b": -1.0, "g=x": 1.0}
    score = fit.coefficients["(intercept)"] + sum(fit.coefficients[name] * value for name, value in at.items())
    assert fit.chance(at) == pytest.approx(1 / (1 + math.exp(-score)))
    exact = fit_exactly(Data(family("logistic"), z[:, :4], z[:, 4]), np.zeros((4, 4)))
    assert np.all((fit.bands.low <= exact) & (exact <= fit.bands.high))
    assert np.allclose(list(fit.coefficients.values()), exact, atol=0.1)
    assert "public rows" in fit.note and np.all(fit.floor > 0)
    with refused(ExploreMessage.NOT_A_LABEL):
        result.logistic("b ~ a")
    closed, _ = opened(2000, 200, public_rows="no")
    with refused(ExploreMessage.LOGISTIC_NEEDS_ROWS):
        closed.logistic("hit ~ a")


def test_public_rows_join_a_record_afterwards():
    """The record is the one that a release with public rows would have made; other public rows are refused."""
    entry, budget = method("joint-moment"), Budget(2.0)
    public = public_from_rows(*table(200, 1), NAMES, "hit")
    private = PrivateRows.from_arrays(*table(2000, 2), NAMES)

    def released(share, rows):
        planned = entry.plan(rows, 2000, budget, make_parameters(entry, {"public_rows": share}))
        return Moment(planned.run(private, SeededNoise(3), 1).record())

    closed, with_rows = released("no", public), released("yes", public)
    completed = with_public_rows(closed, public, budget, {})
    assert completed.record.as_dict() == with_rows.record.as_dict() and not closed.has_rows
    before, after = (one.regress("hit ~ a + b") for one in (closed, completed))
    assert np.array_equal(before.fit.coefficients, after.fit.coefficients)
    # Up to 30 columns fourth moments are in the record anyway, so no band changes and none is promised to.
    assert np.allclose(before.fit.total, after.fit.total, rtol=1e-9)
    assert not closed.assumes_gaussian and "Gaussian" not in figures.assumptions(closed)
    wide = closed.__class__(replace(closed.record, influence=GaussianInfluence(np.eye(len(closed.names)))))
    assert wide.assumes_gaussian and "assume Gaussian rows" in figures.assumptions(wide)
    with refused(ExploreMessage.OTHER_TABLES):
        with_public_rows(closed, public_from_rows(*table(200, 5), NAMES, "hit"), budget, {})


def test_the_clearest_coefficient_is_explained_in_the_unit_of_the_picture(moment):
    """Its value and limits are those drawn; where no band leaves out zero there is no example."""
    fit = moment[0].regress()
    shown = figures.table(fit, "none", 1)
    scales = figures.in_steps(moment[0], fit)
    words = figures.example_words(moment[0], fit, shown, {})
    row = next(row for _, row in shown.iterrows() if f"{row['coefficient']} higher by one standard deviation" in words)
    assert row["low"] > 0 or row["high"] < 0
    scale = scales[row["coefficient"]]
    value, low, high = with_equal_decimals(*(row[figure] * scale for figure in ("value", "low", "high")))
    assert f"a change of {value} (95 % limits {low} to {high})" in words
    assert f") in {fit.response}, the other columns held fixed." in words, "a label has no standard deviations"
    of_label = figures.example_words(moment[0], fit, shown, {}, event="y is 1")
    assert ") in the chance that y is 1, the other columns held fixed." in of_label
    assert figures.example_words(moment[0], fit, shown.assign(low=-1.0, high=1.0), {}) == ""
    number = moment[0].regress("b ~ a + hit")
    told = figures.example_words(moment[0], number, figures.table(number, "none", 1), {})
    value, sd = (float(text) for text in re.findall(r"a change of (\S+) .* in b \((\S+) standard dev", told)[0])
    spread = moment[0].record.spread[moment[0].names.index("b")]
    assert value / sd == pytest.approx(spread, rel=0.02)


def test_what_is_0_or_1_is_drawn_from_0_to_1(moment):
    """As a feature and as a response, in rows and along a path; a number is drawn for one standard deviation."""
    result, _ = moment
    spread = dict(zip(result.names, result.record.spread, strict=True))
    assert set(result.labels) == {"g=x", "hit"}
    scales = figures.in_steps(result, result.regress("b ~ a + hit"))
    assert scales == pytest.approx({"a": spread["a"], "hit": 1.0}), "the response is in its own unit"
    fit = result.regress("hit ~ a + `g=x`")
    scales = figures.in_steps(result, fit)
    assert scales == pytest.approx({"a": spread["a"], "g=x": 1.0})
    shown = figures.table(fit, "none", 1)
    rows = figures.chart_rows(shown, scales).set_index("coefficient")
    assert rows["value"]["g=x"] == fit.coefficients["g=x"]
    path = result.ridge_path(fit)
    drawn = {trace.name: trace.y for trace in figures.paths(result, path, fit.response).data}
    at = list(path.names).index("g=x")
    assert np.array_equal(drawn["g=x"], path.coefficients[:, at])
    # At no penalty the path and its band are those of the fit.
    assert path.bands[0][0] == pytest.approx(fit.bands.low, rel=0.02) and len(path.bands[1]) == len(path.lam)
    assert np.allclose(drawn["a"], path.coefficients[:, list(path.names).index("a")] * spread["a"])


@pytest.mark.slow
def test_a_folded_column_has_one_level_in_both_pictures():
    """That with the clearest coefficient: also where another one has the larger correlation with the response."""
    rng = np.random.default_rng(4)
    levels = [f"town={place}" for place in range(24)]

    def rows(n):
        place, a = rng.integers(0, 25, n), rng.standard_normal(n)
        # Where a is large there are rows of the first town: it goes with the response by a alone.
        place = np.where(rng.random(n) < 0.7 * (a > 1.2), 0, place)
        y = 3 * a + 1.0 * (place == 7) + 0.3 * rng.standard_normal(n)
        return np.column_stack([np.ones(n), a, *(place == at for at in range(24))]).astype(float), y

    columns = (INTERCEPT, "a", *levels)
    made = plan("joint-moment", public_from_rows(*rows(4000), columns, "y"), 40_000, 50.0, radius=60.0)
    outcome = made.run(PrivateRows.from_arrays(*rows(40_000), columns), ZeroNoise(), 1)
    moment_record = Moment(outcome.record())
    fit = moment_record.regress(response="y", features=list(columns[1:]))
    shown = figures.table(fit, "none", 1)
    drawn = figures.chart_rows(shown, figures.in_steps(moment_record, fit))
    assert list(drawn["coefficient"]) == ["a", "town=7"]

    def named(beside):
        picture, _ = figures.neighbours(moment_record, fit, "y", {}, beside=beside)
        return [name for trace in picture.data for name in trace.y if "town" in name]

    assert [name.split(" ")[0] for name in named(())] == ["town=0"]
    assert named(list(drawn["coefficient"])) == [drawn["row"].iloc[1]]


def test_inputs_of_a_prediction_are_what_derived_columns_are_made_of(problem):
    """A product asks for both its parts, a column for itself, and the response for nothing."""
    entry = method("joint-moment")
    parameters = make_parameters(entry, {"derived": "x1:x2; square(x3)"})
    planned = entry.plan(problem.public, problem.private.n, Budget(2.0), parameters)
    moment = Moment(planned.run(problem.private, SeededNoise(1), 1).record())
    product, square = (rule.name for rule in moment.record.derived.rules)
    for features, inputs in (([product], {"x1", "x2"}), ([square, "x4"], {"x3", "x4"}), (["x1"], {"x1"})):
        assert moment.inputs(moment.regress(response="y", features=features)) - {INTERCEPT} == inputs


def test_paths_begin_and_end_where_they_should(moment):
    """A ridge path from least squares to nothing; a lasso path from nothing, its shares of draws between 0 and 1."""
    result, _ = moment
    fit = result.regress("b ~ a + `g=x` + hit")
    ridge = result.ridge_path(fit)
    assert np.allclose(ridge.coefficients[0], fit.fit.coefficients, rtol=0.02, atol=0.02)
    assert np.all(np.abs(ridge.coefficients[-1][1:]) < 0.1)
    lasso = result.lasso_path(fit, 20)
    assert np.all(lasso.coefficients[0][1:] == 0) and np.all((lasso.chosen >= 0) & (lasso.chosen <= 1))
    assert np.allclose(lasso.coefficients[-1], fit.fit.coefficients, atol=0.05)
    best = result.best_subsets(fit)
    assert [len(s.names) for s in best] == [0, 1, 2, 3] and best[1].names == ("a",)
    assert all(x.residual_variance >= y.residual_variance - 1e-6 for x, y in pairwise(best))
    told = figures.best_subset_words([*best[:2], replace(best[2], criterion=0.25), best[3]])
    assert "0.25: 2 columns" in told and all(name in told for name in best[2].names) and "All 3 have" in told
    assert "all 3 columns" in figures.best_subset_words([best[0], replace(best[3], criterion=0.0)])
    assert not figures.best_subset_words(best[:1])


def test_a_model_counts_once_however_it_was_looked_at(moment):
    """Shown, compared by best subsets, or by two searches that share columns: one of the different models."""
    moment_record = Moment(moment[0].record)
    fit = moment_record.regress("b ~ a + `g=x` + hit")
    moment_record.regress("b ~ a")
    best = moment_record.best_subsets(fit)
    assert moment_record.models == 2**3 and moment_record.best_subsets(fit) == best and moment_record.models == 2**3
    moment_record.best_subsets(moment_record.regress("b ~ a + `g=x`"))
    assert moment_record.models == 2**3, "a part of what was searched before"
    moment_record.best_subsets(moment_record.regress("a ~ b + hit"))
    assert moment_record.models == 2**3 + 2**2, "another response"
    moment_record.regress("b ~ a")
    moment_record.regress(response="b", features=["a"], ridge=1.0)
    assert moment_record.models == 2**3 + 2**2 + 1 and len(moment_record.looked) == 5


def test_a_ridge_path_begins_at_its_own_fit_for_every_response(moment):
    """Also with a column that hardly varies around a large mean; each point is an independent ridge of the moment."""
    result, _ = moment
    for response in result.columns:
        fit = result.regress(response=response, features=[name for name in result.columns if name != response])
        path = result.ridge_path(fit)
        spreads = dict(zip(result.names, result.record.spread, strict=True))
        spread = np.array([spreads.get(name, 1.0) for name in fit.names])
        assert np.allclose(path.coefficients[0] * spread, fit.fit.coefficients * spread, rtol=0.01, atol=1e-3)
        root = result.state.root[list(fit.fit.features)]
        gram, cross = (
            root @ result.state.moment @ root.T,
            root @ result.state.moment @ result.state.root[fit.fit.response],
        )
        for at in (0, len(path.lam) // 2, -1):
            penalty = np.diag([0.0 if name == "(intercept)" else path.lam[at] for name in fit.names])
            assert np.allclose(path.coefficients[at], np.linalg.solve(gram + penalty, cross), rtol=1e-6, atol=1e-8)


def test_a_ridge_path_for_comparable_changes_knows_no_units(moment):
    """Each point is a ridge fit of columns divided by their steps, and the table has what is drawn."""
    result, _ = moment
    fit = result.regress("b ~ a + `g=x` + hit")
    by = figures.comparable_steps(result)
    path = result.ridge_path(fit, by)
    steps = np.array([1.0 if name == "(intercept)" else by[name] for name in fit.names])
    root = result.state.root[list(fit.fit.features)] / steps[:, None]
    gram, cross = root @ result.state.moment @ root.T, root @ result.state.moment @ result.state.root[fit.fit.response]
    for at in (0, len(path.lam) // 2, -1):
        penalty = np.diag([0.0 if name == "(intercept)" else path.lam[at] for name in fit.names])
        in_steps = np.linalg.solve(gram + penalty, cross)
        assert np.allclose(path.coefficients[at] * steps, in_steps, rtol=1e-6, atol=1e-8)
        row = figures.path_table(result, path).iloc[at]
        assert row["a"] == pytest.approx(in_steps[fit.names.index("a")], rel=1e-6, abs=1e-8)


def test_a_model_without_features_is_no_path(moment):
    """A sentence for each path; subsets of nothing are the intercept alone."""
    result, _ = moment
    alone = result.regress("hit ~ 1")
    needs = {
        result.ridge_path: ExploreMessage.RIDGE_NEEDS_FEATURE,
        result.lasso_path: ExploreMessage.LASSO_NEEDS_INTERCEPT,
    }
    for path, kind in needs.items():
        with refused(kind):
            path(alone)
    assert [subset.names for subset in result.best_subsets(alone)] == [()]


def test_synthetic_rows_are_marked(moment):
    """The released means and correlations, 0 and 1 where columns are, and a column that says what they are."""
    result, z = moment
    frame = result.synthetic(20_000, 1)
    assert frame["synthetic"].all() and set(frame["g=x"].unique()) == {0.0, 1.0}
    assert frame["a"].mean() == pytest.approx(z[:, 1].mean(), abs=0.05)
    assert np.corrcoef(frame["a"], frame["b"])[0, 1] == pytest.approx(np.corrcoef(z[:, 1], z[:, 2])[0, 1], abs=0.05)
    with pytest.raises(InputError):
        result.synthetic(0)


@pytest.fixture(scope="module")
def problem():
    private, public, _ = load("demo", n=2000, m=80, d=4)
    return prepare(private, public, entry_of("demo").choices)


@pytest.mark.slow
def test_a_thousand_models_spend_nothing(problem, tmp_path):
    """The ledger before and after: one spend, of the release; a confirmation is a second, combined with the first."""
    ledger = Ledger(str(tmp_path / "book.db"))
    ledger.cap("d", 3.0)
    recorded = recorded_release(
        problem, Request("joint-moment", Budget(1.0)), SecureNoise(), ledger, dataset="d", key="k"
    )
    moment = Moment.of(recorded.as_dict())
    rng = np.random.default_rng(1)
    for _ in range(1000):
        chosen = rng.permutation(moment.columns)[: int(rng.integers(2, len(moment.columns) + 1))]
        fit = moment.regress(response=str(chosen[0]), features=[str(name) for name in chosen[1:]])
        assert np.all(np.isfinite(fit.fit.coefficients))
    account = ledger.account("d")
    assert len(account.entries) == 1 and account.spent == pytest.approx(1.0)
    mine = moment.regress("y ~ x1 + x2" if "x3" in moment.columns else None)
    again = recorded_release(
        problem_of(problem, moment.record, mine),
        Request("joint-pmt", Budget(1.0)),
        SecureNoise(),
        ledger,
        dataset="d",
        key="k2",
    )
    account = ledger.account("d")
    assert len(account.entries) == 2 and account.spent == pytest.approx(np.sqrt(2.0))
    both = combine_with_release(mine, again.as_dict())
    assert both.names == mine.names and np.all(both.limits[0] < both.limits[1])
    assert np.trace(both.privacy + np.diag(both.truncation)) > 0
    with refused(ExploreMessage.OTHER_QUESTION):
        combine_with_release(moment.regress(response=moment.columns[0], features=[]), again.as_dict())
    old = json.loads(json.dumps(again.as_dict()))
    with refused(ExploreMessage.SECOND_WITHOUT_COVARIANCE):
        combine_with_release(mine, {**old, "released": {}})
    for bad in ({"coefficients": [1.0]}, {**old["released"]["alone"], "privacy": [["x"]]}):
        with refused(ExploreMessage.SECOND_UNREADABLE):
            combine_with_release(mine, {**old, "released": {"alone": bad}})


def test_a_chosen_model_is_confirmed_with_its_derived_columns(problem, seed):
    """The second problem is the chosen regression itself: without noise, the exact coefficients, any response."""
    names = [name for name in (*problem.public.names, problem.public.target) if name != INTERCEPT]
    rule = f"{names[0]}:{names[1]}; square({names[2]})"
    entry = method("joint-moment")
    plan_ = entry.plan(problem.public, problem.private.n, Budget(2.0), make_parameters(entry, {"derived": rule}))
    moment = Moment(plan_.run(problem.private, SeededNoise(seed), 1).record())
    fit = moment.regress(f"{names[1]} ~ {names[0]} + square({names[2]}) + {names[-1]}")
    second = problem_of(problem, moment.record, fit)
    assert second.public.names == fit.names and second.public.target == names[1]
    given = rows_of(problem.private)
    complete = moment.record.derived.extend(given)
    exact = np.linalg.lstsq(complete[:, list(fit.fit.features)], complete[:, fit.fit.response], rcond=None)[0]
    chosen = method("joint-pmt")
    wide = make_parameters(chosen, {"passes": "1", "radius": 50.0})
    result = chosen.plan(second.public, second.private.n, Budget(50.0), wide).run(second.private, ZeroNoise(), 1)
    assert np.allclose(result.coefficients[0], exact, rtol=1e-2, atol=1e-2)
    with refused(ExploreMessage.CONFIRMING_PENALIZED):
        problem_of(problem, moment.record, moment.regress(ridge=1.0))
    one = PrivateRows.from_arrays(given[:1, :-1], given[:1, -1], problem.private.names)
    with refused(ExploreMessage.OTHER_TABLES):
        problem_of(replace(problem, private=one), moment.record, fit)


def rows_of(private):
    collected = []
    private.sum(lambda x, y: (collected.append(np.column_stack([x, y])), np.zeros(1))[1]).reveal(TEST)
    return np.concatenate(collected)


@pytest.mark.slow
def test_both_releases_together_are_nearer_and_their_bands_hold(seed):
    """Sixty tables: about the error of the nearer release or less, and nine in ten of the exact coefficients inside."""
    errors, inside = [], []
    moment_, chosen = method("joint-moment"), method("joint-pmt")
    for at in range(60):
        x, y = continuous(60, 100 * seed + at)
        px, py = continuous(2000, 100 * seed + at + 50_000)
        public, rows = public_from_rows(x, y, FOUR, "y"), PrivateRows.from_arrays(px, py, FOUR)
        one = moment_.plan(public, 2000, Budget(0.7), make_parameters(moment_, {})).run(rows, SeededNoise(at, 1), 1)
        fit = Moment(one.record()).regress("y ~ a + b + c")
        plan_ = chosen.plan(public, 2000, Budget(0.7), make_parameters(chosen, {}))
        two = plan_.run(rows, SeededNoise(at, 2), 1)
        bands = two.bands()
        fields = {
            "n": 2000,
            "target": "y",
            "coefficients": dict(zip(FOUR, two.coefficients[0], strict=True)),
            "bands": {n: {"low": bands.low[j], "high": bands.high[j]} for j, n in enumerate(FOUR)},
            "released": two.released(),
        }
        both = combine_with_release(fit, fields)
        exact = np.linalg.lstsq(px, py, rcond=None)[0]
        scale = np.sqrt(np.diag(fit.fit.sampling))
        own = np.array(fields["released"]["alone"]["coefficients"])
        errors.append([np.mean(((v - exact) / scale) ** 2) for v in (fit.fit.coefficients, own, both.coefficients)])
        inside.append((both.limits[0] <= exact) & (exact <= both.limits[1]))
    first, second, together = np.mean(errors, axis=0)
    # The second release leans on the same public rows as the first, so the nearer one can be as near as both.
    assert together < 1.1 * min(first, second)
    assert np.mean(inside) >= 0.9


def files(problem, tmp_path):
    import pandas as pd

    rng = np.random.default_rng(3)
    for name, n in (("private", 800), ("public", 80)):
        frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "c d"])
        frame.assign(y=frame["a"] + rng.standard_normal(n)).to_csv(tmp_path / f"{name}.csv", index=False)
    return ["--private", str(tmp_path / "private.csv"), "--public", str(tmp_path / "public.csv"), "--target", "y"]


def test_the_command_line_confirms(problem, tmp_path, capsys):
    """Both releases combined, as the package combines them; figures of the lab are said to be so; no odd name acts."""
    made = {}
    for id in ("joint-moment", "joint-pmt"):
        made[id] = str(tmp_path / f"{id}.json")
        ask = ["release", *files(problem, tmp_path), "--method", id, "--mu", "1", "--lab", "--json", "--out", made[id]]
        assert main([*ask, "--features", "a,b"]) == 0
    capsys.readouterr()
    asked = ["explore", "--record", made["joint-moment"], "--confirm", made["joint-pmt"]]
    assert main([*asked, "--json"]) == 0
    fields = json.loads(capsys.readouterr().out)
    moment, second = Moment.load(made["joint-moment"]), json.loads(Path(made["joint-pmt"]).read_text())
    assert fields["confirmed"] == combine_with_release(moment.regress(), second).as_rows() and fields["label"] == "lab"
    assert main(asked) == 0
    assert "both releases together" in (shown := capsys.readouterr().out) and "lab" in shown
    assert main([*asked, "--response", "a", "--features", "y"]) == 2
    for bad in ("[]", "nonsense", json.dumps({**second, "bands": []}), json.dumps({**second, "coefficients": 3})):
        (tmp_path / "bad.json").write_text(bad)
        assert main([*asked[:3], "--confirm", str(tmp_path / "bad.json")]) == 2, bad
    assert "\x1b" not in (shown := _text({**fields, "formula": "y ~ a\n\x1b[2J"}, moment)) and "a\\n" in shown


def test_the_command_line_releases_and_asks(problem, tmp_path, capsys):
    """``release`` makes the record, ``explore`` answers in the keys of a release; a bad record is status 2."""
    out = str(tmp_path / "R.json")
    ask = ["release", *files(problem, tmp_path), "--method", "joint-moment", "--mu", "2", "--lab", "--out", out]
    assert main([*ask, "--set", "derived=a:b; square(c d)", "--json"]) == 0
    first = json.loads(capsys.readouterr().out)
    assert main(["explore", "--record", out, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["coefficients"] == pytest.approx(first["coefficients"]) and set(again["bands"]) == set(first["bands"])
    asked = ["explore", "--record", out, "--response", "c d", "--features", "a,y", "--ridge", "0.5", "--json"]
    assert main(asked) == 0
    fields = json.loads(capsys.readouterr().out)
    assert set(fields["coefficients"]) == {"(intercept)", "a", "y"} and fields["lam"] == 0.5
    assert set(fields["bands"]["a"]) == {"privacy", "sampling", "truncation", "low", "high"}
    for more in (
        ["--formula", "y ~ a + b:a", "--test", "a", "--at", "a=1,b=2"],
        ["--correction", "scheffe"],
        *(["--show", what] for what in ("columns", "summary", "correlations", "partial", "components")),
        *(["--show", what] for what in ("ridge", "lasso", "subsets")),
        ["--synthetic", str(tmp_path / "s.csv")],
    ):
        assert main(["explore", "--record", out, *more]) == 0, more
        assert capsys.readouterr().out
    for more in (["--response", "q"], ["--show", "everything"], ["--family", "poisson"], ["--ridge", "-1"]):
        assert main(["explore", "--record", out, *more]) == 2, more
        assert capsys.readouterr().err.count("\n") == 1
    assert main(["explore", "--record", str(tmp_path / "private.csv")]) == 2


def test_levels_of_a_column_are_tested_together():
    """One row for each column, whether of numbers or of levels; the words name those with several effects."""

    class Fit:
        features = ("age", "town=north", "town=south", "sex=male")

        def test(self, names):
            assert list(names) in (["age"], ["town=north", "town=south"], ["sex=male"])
            return SimpleNamespace(statistic=4.5, df_denom=7.5, pvalue=0.0)

    tests = figures.factor_tests(Fit())
    assert list(tests["column"]) == ["age", "town", "sex"]
    assert list(tests)[:3] == ["column", "F", "p"], "in a narrow table the answer is seen first"
    assert figures.together_words(tests).startswith("All effects of a column together, against none: town (p")
    row = tests.to_dict("records")[1]
    expected = {"column": "town", "effects": 2, "F": 4.5, "df": "7.5", "p": "< 1e-12"}
    assert row == expected, "a p-value is never zero"


def test_a_joint_test_says_what_is_tested(levels):
    """Columns are offered before single effects; of a part of a column the effects are named, and none counts twice."""
    fit = levels.regress(response="y", features=["a", "town=0", "town=1", "sex=F"])
    offered = figures.tests_offered(fit)
    assert list(offered).index("town (all 2 effects)") < list(offered).index("town=0")
    both = [*offered["town (all 2 effects)"], *offered["town=0"], *offered["a"]]
    assert "of 3 effects (of town and a)" in figures.joint_test_words(fit, both, levels)
    assert "of 1 effect (of town=1)" in figures.joint_test_words(fit, ["town=1"], levels)


@pytest.mark.parametrize(
    ("mu", "radius", "cause"), [(0.5, 30.0, "privacy noise"), (300.0, 1.5, "truncation")], ids=["noise", "truncation"]
)
def test_wide_bands_have_their_own_cause(mu, radius, cause):
    """The larger of privacy noise and truncation is named; neither where bands are narrow."""
    fit = opened(mu=mu, radius=radius, noise=SeededNoise(3))[0].regress("b ~ a + `g=x`")
    parts = {"privacy noise": fit.bands.privacy, "truncation": fit.bands.truncation}
    assert np.median(parts[cause][1:]) > 2 * max(
        np.median(fit.bands.sampling[1:]), *(np.median(part[1:]) for name, part in parts.items() if name != cause)
    )
    assert f"mainly because of {'the ' * (mu < 1)}{cause}" in figures.fit_words(fit)
    assert "mainly because of" not in figures.fit_words(opened()[0].regress("b ~ a + `g=x`"))


def test_a_level_without_a_column_has_its_mean_too(levels):
    """It is 1 less those of the others, and stands with its column."""
    table = figures.summary_table(levels, {"town": "3", "gone": "x"})
    means = table.set_index("column")["mean"]
    assert means["town=3"] == pytest.approx(1 - means[["town=0", "town=1", "town=2"]].sum())
    assert list(table["column"])[1:5] == ["town=0", "town=1", "town=2", "town=3"]
    assert (table["mean low"] < table["mean high"]).all()


def test_a_wide_table_begins_with_whole_columns(monkeypatch):
    """As many columns of the table as the picture holds, whatever their levels; what is left out is said."""
    names = ("(intercept)", "age", "town=a", "town=b", "town=c", "sex=m", "y")
    record = SimpleNamespace(features=(1, 2, 3, 4, 5))
    moment = SimpleNamespace(names=names, columns=names[1:], record=record)
    assert figures.first_columns(moment, "y") == ["age", "town", "sex"]
    assert figures.first_columns(moment, "age") == ["town", "sex"]
    monkeypatch.setattr(figures, "MOST_COLUMNS", 2)
    assert figures.first_columns(moment, "y") == ["age", "town"]
    assert figures.left_out_words(["age", "town", "sex"], ["age", "sex"]) == "Not in the model: town."
    assert figures.left_out_words(["age"], ["age"]) == ""


def test_a_prediction_at_a_level_is_asked_by_its_name(tmp_path, capsys):
    """The column of a level has a '=' in its name: the value stands behind the last one."""
    rng = np.random.default_rng(5)
    for name, n in (("private.csv", 400), ("public.csv", 60)):
        sex = rng.choice(["m", "f"], n)
        rows = [f"{s},{a:.3f},{a + (s == 'f') + e:.3f}" for s, a, e in zip(sex, *rng.normal(size=(2, n)), strict=True)]
        (tmp_path / name).write_text("\n".join(["sex,a,y", *rows]) + "\n")
    out, tables = str(tmp_path / "R.json"), [str(tmp_path / name) for name in ("private.csv", "public.csv")]
    ask = ["release", "--private", tables[0], "--public", tables[1], "--target", "y", "--method", "joint-moment"]
    assert main([*ask, "--mu", "20", "--lab", "--out", out]) == 0
    column = next(name for name in json.loads(Path(out).read_text())["coefficients"] if name.startswith("sex="))
    capsys.readouterr()
    asked = ["explore", "--record", out, "--json", "--at"]
    assert main([*asked, f"{column}=1,a=0.5"]) == 0
    assert "prediction" in json.loads(capsys.readouterr().out)
    for odd in (
        f"{column}=yes,a=1",
        f"{column},a=1",
        "a",
        "5",
        "=5",
        "",
        " ,",
        f"{column}=1,a=1,a=2",
        f"{column}=1,a=1,5",
    ):
        assert main([*asked, odd]) == 2, odd


@pytest.mark.parametrize("formula", ["y ~ age + C(region)", "y ~ age + region", "y ~ ."])
def test_levels_named_by_a_formula_are_found_by_their_column(formula):
    """A release by formula names them C(region)[T.north]; the formula of the release is one on its columns."""
    names = ("age", "C(region)[T.north]", "C(region)[T.south]", "y")
    assert read_formula(formula, names, names) == ("y", names[:3], True)


@pytest.fixture(scope="module")
def levels():
    """Return a moment with two columns of levels, and a number that one of them goes with; noise as at mu = 1."""

    def rows(n, seed):
        rng = np.random.default_rng(seed)
        town, sex, a = rng.integers(0, 4, n), rng.integers(0, 2, n), rng.standard_normal(n)
        y = a + 0.2 * sex + rng.standard_normal(n)
        return np.column_stack([np.ones(n), a, *(town == at for at in range(3)), sex]).astype(float), y

    columns = (INTERCEPT, "a", "town=0", "town=1", "town=2", "sex=F")
    made = plan("joint-moment", public_from_rows(*rows(500, 1), columns, "y"), 4000, 1.0)
    return Moment(made.run(PrivateRows.from_arrays(*rows(4000, 2), columns), SeededNoise(3), 1).record())


def test_levels_of_one_column_are_no_relation(levels):
    """Their pairs are shaded in the map, no line of the network, and not counted; every other cell has its ±."""
    pairs = {frozenset((row["first"], row["second"])) for row in levels.pairs()}
    excluding = {frozenset(pair) for pair in (("town=0", "town=1"), ("town=0", "town=2"), ("town=1", "town=2"))}
    for drawn, shown in (figures.heat(levels, False), figures.heat(levels, True), figures.network(levels)):
        listed = {frozenset(pair) for pair in zip(shown["first"], shown["second"], strict=True)}
        assert listed <= pairs - excluding
        assert len(shown) == 12 or "clear of zero" not in shown, "15 pairs, 3 of them levels of one column"
        if "clear of zero" not in shown:
            assert len(drawn.data) == len(shown) + 1, "a line each, and the marks of all columns"
    assert "none of the 12 pairs" in figures.chance_words(levels)
    drawn, shown = figures.heat(levels, False)
    shaded, coloured, grey = drawn.data
    assert np.sum(np.asarray(shaded.z) == 1) == 2 * len(excluding)
    assert list(shown["value"].abs()) == sorted(shown["value"].abs(), reverse=True), "the strongest first"
    two, pair = figures.heat(levels, False, ["a", "sex"])
    assert len(pair) == 1 and np.asarray(two.data[0].z).shape == (2, 2)
    written = [text for text in np.asarray(coloured.text).ravel() if text not in ("", "1")] + list(grey.text)
    assert all(" ± " in text for text in grey.text) and all("±" in text or text == "" for text in written)
    assert np.sum(np.isfinite(np.asarray(coloured.z))) - 6 + len(grey.text) == 2 * len(shown)


def test_a_share_is_told_from_zero_where_its_coefficient_is(levels):
    """Limits of partial R^2 contain 0 exactly where the coefficient's band does, at every budget and in every model."""
    for moment in (levels, opened(2000, 300, 1.0, SeededNoise(5))[0], opened(600, 100, 0.3, SeededNoise(6))[0]):
        for response in moment.columns:
            fit = moment.regress(response=response, features=[name for name in moment.columns if name != response])
            shares, slopes = fit.partial_r_squared, slice(int(fit.constant), None)
            told = (fit.bands.low[slopes] > 0) | (fit.bands.high[slopes] < 0)
            assert np.array_equal(shares.bands.low > 0, told)
            assert np.all((shares.bands.low <= shares.values) & (shares.values <= shares.bands.high))
            assert np.all(shares.bands.high <= 1)


def test_both_pictures_have_the_same_first_rows(levels):
    """Correlations stand in the order of the coefficients beside them, on an axis that their bands fill."""
    fit = levels.regress(response="y", features=["sex=F", "town=0", "town=1"])
    shown = figures.chart_rows(figures.table(fit, "none", 1), figures.in_steps(levels, fit))
    beside = list(shown["coefficient"])
    picture, table = figures.neighbours(levels, fit, "y", {"town": "3"}, beside=beside)
    assert list(picture.layout.yaxis.categoryarray)[: len(beside)] == beside
    assert "town=3" in set(table["column"]) and "town=3" not in set(picture.layout.yaxis.categoryarray)
    least, most = picture.layout.xaxis.range
    reach = [table["low"].min(), table["high"].max()]
    assert least < min(reach[0], 0) and most > reach[1] and most - least < 1.3 * (reach[1] - min(reach[0], 0))


def test_names_stand_at_the_ends_of_a_path(levels):
    """Each line has its name, none over another, and bands are said to be shaded where they are."""
    fit = levels.regress(response="y", features=["a", "sex=F", "town=0", "town=1", "town=2"])
    path = levels.ridge_path(fit, figures.comparable_steps(levels))
    drawn = figures.paths(levels, path, "y")
    named = [note for note in drawn.layout.annotations if note.text in fit.names]
    places = np.sort([note.y for note in named])
    assert len(named) == len(fit.names) - 1 and not drawn.layout.showlegend
    values = np.concatenate([np.asarray(trace.y) for trace in drawn.data])
    assert np.all(np.diff(places) > 0.04 * (np.nanmax(values) - np.nanmin(values)))
    assert figures.has_bands(levels, path) == any(trace.fill for trace in drawn.data)


def test_models_side_by_side_have_one_row_for_each_column(levels, monkeypatch):
    """Of many effects the clearest in either model, the same in both; the table has all."""
    monkeypatch.setattr("pmtcore.report.rows.MANY_LEVELS", 2)
    large = levels.regress(response="y", features=["a", "town=0", "town=1", "town=2"])
    small = levels.regress(response="y", features=["town=0", "town=1", "town=2"])
    picture, table = figures.side_by_side({"large": large, "small": small}, levels)
    rows = list(picture.layout.yaxis.categoryarray)
    assert len(rows) == 2 and rows[0] == "a" and re.fullmatch(r"town=\d \(clearest of 3 effects\)", rows[1])
    assert [list(trace.y) for trace in picture.data] == [rows, rows[1:]]
    assert len(table) == len(large.names) + len(small.names)
    bare = levels.regress(response="y", features=[])
    for models, count in (({"bare": bare}, 0), ({"bare": bare, "large": large}, 2)):
        picture, _ = figures.side_by_side(models, levels)
        assert len(picture.layout.yaxis.categoryarray or ()) == count, "an intercept alone is a model too"


def test_pictures_of_a_label_name_the_level_that_counts_as_1(levels):
    """Beside each other, alone and along a path: a positive effect makes that level likelier."""
    fit = levels.regress(response="sex=F", features=["a", "town=0"])
    shown = figures.chart_rows(figures.table(fit, "none", 1), figures.in_steps(levels, fit))
    path = levels.ridge_path(fit, figures.comparable_steps(levels))
    alone, along = figures.forest(levels, fit, shown), figures.paths(levels, path, "sex=F")
    beside = figures.side_by_side({"one": fit, "two": fit}, levels)[0]
    titles = [alone.layout.xaxis.title.text, along.layout.yaxis.title.text, beside.layout.xaxis.title.text]
    assert all("the chance that sex is F" in title.replace("<br>", " ") for title in titles)
    assert "label is yes" in figures.event("label", {"label": "yes"})
