"""One results object for every fit: statsmodels' names and numbers, tables of others, records that colleagues open."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as statsmodels
import statsmodels.formula.api as smf
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score

import pmtcore as pc
from pmtcore.api.loading import results_from_record, results_of
from pmtcore.api.tables import great_table
from pmtcore.base.messages import ExploreMessage, FaceMessage, ResultMessage, TableMessage
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.base.results import PARTS, Results
from pmtcore.methods.registry import methods
from pmtcore.releases.record import Release
from tests.api.conftest import frame
from tests.helpers import refused

SCHEMA = json.loads((Path(__file__).resolve().parents[2] / "docs" / "record.schema.json").read_text())
FORMULA = "y ~ age + income + C(sex)"


@pytest.fixture(scope="module")
def model():
    return pc.PrivateRegressor(mu=1.0, formula=FORMULA).fit(frame(2000, 1), frame(200, 2), seed=1, quiet=True)


def of_statsmodels(fit) -> Results:
    """Return a non-private fit as results: what every formula is compared on."""
    covariance = np.asarray(fit.cov_params())
    d = len(covariance)
    return Results(
        names=("(intercept)", *list(fit.params.index)[1:]),
        coefficients=fit.params.to_numpy(),
        centre=fit.params.to_numpy(),
        errors={"sampling": np.sqrt(np.diag(covariance))},
        freedom=np.full(d, fit.df_resid),
        covariances={"sampling": covariance},
        residual_sd=float(np.sqrt(fit.scale)),
        features=lambda rows: np.column_stack([np.ones(len(rows)), rows["age"], rows["income"]]),
        nobs=int(fit.nobs),
    )


def test_the_type_of_a_record_has_the_fields_of_the_contract():
    """The type that code reads a record by, and the JSON schema that others read it by, have the same fields."""
    assert set(ReleaseRecord.__annotations__) == set(SCHEMA["properties"])
    assert ReleaseRecord.__required_keys__ <= set(SCHEMA["required"])


def test_every_quantity_is_that_of_statsmodels():
    """With the same estimate and covariance: t, p, limits, Wald tests, predictions, to 1e-6."""
    rows = frame(300, 3)
    theirs = smf.ols("y ~ age + income", rows).fit()
    ours = of_statsmodels(theirs)
    for mine, other in (
        (ours.bse, theirs.bse),
        (ours.tvalues, theirs.tvalues),
        (ours.pvalues, theirs.pvalues),
        (ours.conf_int(), theirs.conf_int()),
        (ours.conf_int(0.9), theirs.conf_int(0.1)),
        (ours.conf_int(alpha=0.01), theirs.conf_int(0.01)),
        (ours.cov_params(), theirs.cov_params()),
    ):
        assert np.allclose(mine, other, rtol=1e-6, atol=1e-12)
    for constraint in ("age = 0, income = 0", "age = income", "2*age - income = 1", "Intercept = 0"):
        wald, test = ours.wald_test(constraint), theirs.f_test(constraint)
        assert wald.statistic == pytest.approx(float(np.squeeze(test.fvalue)), rel=1e-6)
        assert wald.pvalue == pytest.approx(float(test.pvalue), rel=1e-6, abs=1e-12)
    assert np.allclose(ours.t_test("age - income = 0.5")["t"], theirs.t_test("age - income = 0.5").tvalue)
    new = frame(20, 4)
    mine, other = ours.get_prediction(new).summary_frame(), theirs.get_prediction(new).summary_frame()
    assert list(mine.columns) == list(other.columns)
    assert np.allclose(mine, other, rtol=1e-6)


def test_the_error_that_is_printed_rebuilds_the_band(model):
    """Centre, one standard error and degrees of freedom give the limits of the record, widened to the coefficient."""
    result, record = model.results_, model.record_
    for name, row in zip(record["coefficients"], result.frame().itertuples(), strict=True):
        band = record["bands"][name]
        assert result.bse[row.Index] == pytest.approx(np.sqrt(sum(band[part] ** 2 for part in PARTS)))
        assert (row.low, row.high) == pytest.approx((band["low"], band["high"]))
    parts = sum(result.cov_params(part) for part in PARTS)
    assert np.allclose(parts, result.cov_params()) and np.allclose(np.sqrt(np.diag(parts)), result.bse)
    text = str(result)
    assert "centre" in text and "R^2" in text and "n = 2,000" in text and "std err" in text
    assert len(repr(result)) < 200 and len(repr(model)) < 200


@pytest.mark.parametrize("estimate", [0.3, -0.05, 0.0])
def test_a_small_p_value_is_a_band_without_zero(estimate):
    """At every level: p < 1 - level exactly where the interval leaves out zero, also around another centre."""
    results = Results(
        ("a",), np.array([estimate]), np.array([0.2]), {"privacy": np.array([0.1])}, np.array([12.0]), endog="y"
    )
    for level in np.linspace(0.5, 0.999, 200):
        low, high = results.conf_int(level).loc["a"]
        assert (results.pvalues["a"] < 1 - level) == (low > 0 or high < 0)
    assert ("have different signs" in str(results)) == (results.pvalues["a"] == 1), "why p is 1 though t is not 0"


@pytest.mark.parametrize("entry", methods(), ids=lambda entry: entry.id)
def test_every_method_has_its_covariance(entry):
    """Whatever gives bands gives covariances: their diagonals are the bands', and they are positive semidefinite."""
    if entry.standing.value != "sound" or not entry.gives_coefficients or not entry.same_target:
        return
    family = entry.families[0]
    settings = {"mu": 1.0, "features": ["age", "income"], "method": entry.id}
    kind = pc.PrivateClassifier if family in ("logistic", "boosting") else pc.PrivateRegressor
    target = "high" if kind is pc.PrivateClassifier else "y"
    try:
        made = kind(family=family, **settings).fit(frame(2000, 1), frame(200, 2), target=target, seed=1, quiet=True)
    except pc.InputError:
        return
    bands = made.release_.bands
    jsonschema.validate(made.record_, SCHEMA)
    if bands is None:
        assert np.isnan(made.bse).all()
        return
    for part, matrix in bands.covariance.items():
        assert np.allclose(np.diag(matrix), getattr(bands, part) ** 2, rtol=1e-6, atol=1e-300)
        assert np.linalg.eigvalsh(matrix)[0] > -1e-9 * max(np.trace(matrix), 1e-300)
    back = results_from_record(json.loads(made.to_json()))
    assert np.allclose(back.cov_params(), made.cov_params()) and np.allclose(back.pvalues, made.pvalues)


def test_a_colleague_opens_the_record(model, tmp_path):
    """predict, test and tabulate from the file alone, whatever the formula; the record fits its schema."""
    asked = "y ~ center(age) + C(sex) + poly(income, 2) + scale(age):sex"
    made = pc.PrivateRegressor(mu=1.0, formula=asked).fit(frame(2000, 1), frame(200, 2), seed=1, quiet=True)
    made.to_json(tmp_path / "release.json")
    jsonschema.validate(made.record_, SCHEMA)
    result = pc.load(tmp_path / "release.json")
    new = frame(50, 9).drop(columns="y")
    new.loc[0, "sex"] = "other"
    new.loc[1, "age"] = np.nan
    assert (
        np.array_equal(result.predict(new), made.predict(new), equal_nan=True)
        and np.isnan(result.predict(new)[:2]).all()
    )
    assert str(result.wald_test(["center(age)"])) == str(made.wald_test(["center(age)"]))
    with refused(ResultMessage.NO_SCORE):
        result.score(new, None)


def test_old_records_still_open(model):
    """A record of version 1: the same limits and standard errors; covariances and predictions are refused, by kind."""
    record = {k: v for k, v in model.record_.items() if k not in ("format", "version", "date", "software")}
    old = {k: v for k, v in record.items() if k not in ("inference", "design")}
    assert Release.from_dict(old).as_dict()["coefficients"] == record["coefficients"]
    result = results_from_record(old)
    assert np.allclose(result.conf_int(), model.conf_int()) and np.allclose(result.bse, model.bse)
    assert np.allclose(result.conf_int(0.9), model.conf_int(0.9), rtol=1e-3)
    for ask, kind in (
        (result.cov_params, ResultMessage.NO_COVARIANCES),
        (lambda: result.predict(frame(3, 1)), ResultMessage.NO_DESIGN),
    ):
        with refused(kind):
            ask()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "x"}', '{"coefficients": 3}', '{"version": "2"}', "null"])
def test_what_is_no_record(text, tmp_path):
    """One kind of refusal, whatever the file holds."""
    (tmp_path / "r.json").write_text(text)
    with refused(FaceMessage.NOT_A_RELEASE):
        pc.load(tmp_path / "r.json")


def test_a_later_record_says_so(model):
    """A record of a later version is not guessed at."""
    with refused(FaceMessage.RECORD_NEWER):
        results_from_record({**model.record_, "version": 99})


def test_names_with_any_sign_stand_in_constraints():
    """Levels such as k=a, dates and amounts hold the signs that a constraint is cut at; backticks are not needed."""
    names = ("(intercept)", "age", "k=a", "k=a-b", "town=x, y", "age:k", "2*age")
    root = np.random.default_rng(0).normal(size=(7, 7))
    made = Results(
        names=names,
        coefficients=np.arange(7.0),
        centre=np.arange(7.0),
        errors={"sampling": np.sqrt(np.diag(root @ root.T))},
        freedom=np.full(7, 9.0),
        covariances={"sampling": root @ root.T},
        endog="y",
        nobs=90,
    )
    for written, weights in (
        ("k=a = 0", [0, 0, 1, 0, 0, 0, 0]),
        ("k=a = k=a-b", [0, 0, 1, -1, 0, 0, 0]),
        ("`town=x, y` - 1e-1*age:k", [0, 0, 0, 0, 1, -0.1, 0]),
        ("2 * k=a-b - age + 1e+1 * 2*age", [0, -1, 0, 2, 0, 0, 10]),
    ):
        assert made.wald_test(written).statistic == pytest.approx(made.wald_test([weights]).statistic)
    both = made.wald_test("k=a = 0, town=x, y = 0").statistic
    assert both == pytest.approx(made.wald_test(["k=a", "town=x, y"]).statistic)
    for unknown in ("k=b = 0", "ages = 0", "age = nope"):
        with refused(ResultMessage.NO_COEFFICIENT):
            made.wald_test(unknown)


def test_a_moment_of_what_has_none(model):
    """A fitted model is taken as its record is; anything else is one sentence."""
    for given in (model, {}, {"released": None}, None, "record.json"):
        with refused(ExploreMessage.NO_MOMENT):
            pc.Moment.of(given)
    fitted = pc.PrivateRegressor(mu=1.0, method="joint-moment").fit(
        frame(200, 1), frame(60, 2), target="y", seed=1, quiet=True
    )
    assert pc.Moment.of(fitted).names == pc.Moment.of(fitted.record_).names


def test_new_rows_are_called_so(model):
    """What is no table of new rows is not called public rows."""
    with refused(FaceMessage.NOT_A_FRAME, table="new"):
        model.predict(np.zeros((2, 2)))


NO_CONSTRAINTS = {
    *(ResultMessage.CONSTRAINT_FORM, ResultMessage.DEPENDENT_CONSTRAINTS),
    *(ResultMessage.NO_COEFFICIENT, ResultMessage.TEST_FORM),
}
SAYS_NOTHING = ["nope = 0", "age = nan", "age = 1e999", "age = 0 = 0", "age = = 1", "age = 0, age = 0", ""]


@pytest.mark.parametrize("asked", [*SAYS_NOTHING, ["nope"], [], [[1.0]], {"nope": 1.0}])
def test_constraints_that_say_nothing(model, asked):
    """Unknown names, wrong shapes, repeated constraints."""
    with pytest.raises(pc.InputError) as caught:
        model.wald_test(asked)
    assert caught.value.kind in NO_CONSTRAINTS


@pytest.mark.parametrize("level", [0.05, 0.0, 1.0, float("nan"), -1])
def test_alpha_is_not_taken_for_a_level(model, level):
    """conf_int(0.05), as statsmodels has it, is refused rather than answered with a band of 5 %."""
    with refused(ResultMessage.LEVEL_RANGE):
        model.conf_int(level)


@pytest.mark.slow
def test_tables_beside_other_packages(model, tmp_path):
    """maketables and great-tables take a release beside a fit of statsmodels; the intercepts share a row."""
    maketables = pytest.importorskip("maketables")
    public = smf.ols("y ~ age + income", frame(200, 2)).fit()
    table = maketables.ETable([public, model.results_, model])
    assert "age" in table.make(type="tex")
    assert "age" in str(table.make(type="gt").as_raw_html())
    table.save(type="docx", file_name=str(tmp_path / "t.docx"), show=False) if hasattr(table, "save") else None
    beside = pc.etable(public, model, titles=["public", "private"])
    assert list(beside.loc[("Intercept", "coef")] != "") == [True, True]
    assert beside.loc[("N", ""), "private"] == "2,000" and beside.loc[("age", "coef"), "private"].endswith("***")
    assert "private" in great_table(public, model, titles=["public", "private"]).as_raw_html()
    with pytest.raises(pc.InputError):
        pc.etable(3)
    assert pc.etable([public, model], titles=["public", "private"]).equals(beside)


# Six scripts, as users of statsmodels and scikit-learn write them.


def test_script_fit_and_table(private, public, tmp_path):
    """Fit, summary, coefficients, errors, p-values, limits, a table for the paper."""
    res = pc.release(private, public, formula=FORMULA, mu=1.0, ledger=tmp_path / "l.db")
    assert list(res.params.index) == ["Intercept", "age", "income", "C(sex)[T.m]"]
    assert (res.pvalues < 0.05)["income"] and res.bse["income"] < 0.1 and 0.5 < res.rsquared < 1
    low, high = res.conf_int().loc["income"]
    assert low < 2 < high
    assert "income" in str(res.summary()) and "<table>" in res._repr_html_()


def test_script_polars_and_formula(private, public):
    """A Polars frame in, predictions for a Polars frame out, factors and products by formula."""
    model = pc.PrivateRegressor(mu=1.0, formula="y ~ age*income + C(sex)")
    model.fit(pl.from_pandas(private), pl.from_pandas(public), lab=True, quiet=True)
    assert "age:income" in model.params.index
    assert np.allclose(model.predict(pl.from_pandas(private)), model.predict(private))
    bands = model.get_prediction(pl.from_pandas(private)).summary_frame()
    assert (bands["obs_ci_lower"] < bands["mean_ci_lower"]).all()
    assert ((bands["obs_ci_lower"] < private["y"]) & (private["y"] < bands["obs_ci_upper"])).mean() > 0.9


@pytest.mark.slow
@pytest.mark.parametrize(
    "convert",
    [lambda high: high.astype(bool), lambda high: high, lambda high: high.map(str)],
    ids=["booleans", "numbers", "words"],
)
def test_script_classification(private, public, convert):
    """Labels come back as they went in, truth values too; scikit-learn's metrics take them."""
    rows, others = (f.assign(high=convert(f["high"])).drop(columns="y") for f in (private, public))
    model = pc.PrivateClassifier(mu=2.0, formula="high ~ age + income").fit(rows, others, lab=True, quiet=True)
    predicted = model.predict(rows)
    assert accuracy_score(rows["high"], predicted) > 0.8 and (predicted == rows["high"]).mean() > 0.8
    p = model.predict_proba(rows)[:, 1]
    assert roc_auc_score(rows["high"], p) > 0.85 and log_loss(rows["high"], p) < 0.6
    assert np.allclose(model.get_prediction(rows).predicted_mean, p)
    assert (model.get_prediction(rows).summary_frame()["mean_ci_upper"] <= 1).all()


@pytest.mark.parametrize("family", ["logistic", "poisson"])
def test_the_error_of_a_predicted_mean_is_that_of_the_mean(private, public, family):
    """A table has the standard error of a probability or a count, as statsmodels' has, not of its linear predictor."""
    high = {
        "logistic": lambda f: (f["y"] > f["y"].median()) * 1,
        "poisson": lambda f: (f["age"] > 40) * 1 + (f["y"] > 4),
    }
    rows, others = (f.assign(high=high[family](f).astype(int)).drop(columns="y") for f in (private, public))
    face = pc.PrivateClassifier if family == "logistic" else pc.PrivateRegressor
    model = face(mu=2.0, formula="high ~ age + income", family=family).fit(rows, others, seed=1, quiet=True)
    result = model.get_prediction(rows)
    mean, step = result.mean, 1e-5
    slope = (mean(result.linear + step) - mean(result.linear - step)) / (2 * step)
    assert np.allclose(result.summary_frame()["mean_se"], slope * result.se_mean, rtol=1e-5)


def test_counts_of_one_value_are_released(private, public):
    """A response that is 1 in every row: no step has a curvature to learn, and no figure is lost."""
    rows, others = (f.assign(one=1) for f in (private, public))
    model = pc.PrivateRegressor(mu=2.0, formula="one ~ age + income", family="poisson")
    assert np.isfinite(model.fit(rows, others, seed=1, quiet=True).params).all()


def test_script_planning(public):
    """What does a budget buy; what does a width take; nothing is spent."""
    plan = pc.plan(public, n=2000, formula=FORMULA, mu=[0.5, 1.0])
    assert set(plan.frame()["coefficient"]) == {"(intercept)", "age", "income", "C(sex)[T.m]"}
    needed = pc.PrivateRegressor(mu=1.0, formula=FORMULA).needed(public, n=2000, coefficient="income", half_width=0.2)
    assert needed.mu is not None


@pytest.mark.parametrize(
    ("kind", "family", "target"),
    [
        (pc.PrivateRegressor, "gaussian", "y"),
        (pc.PrivateRegressor, "poisson", "visits"),
        (pc.PrivateClassifier, "logistic", "high"),
        (pc.PrivateClassifier, "boosting", "high"),
    ],
    ids=["gaussian", "poisson", "logistic", "boosting"],
)
def test_what_a_fit_hands_out_can_be_stored(kind, family, target, private, public):
    """Estimator, results and predictions go through pickle, which joblib, caches and other processes use."""
    visits = np.random.default_rng(0).poisson(2.0, len(private))
    private, public = private.assign(visits=visits), public.assign(visits=visits[: len(public)])
    fit = kind(mu=1.0, family=family, features=["age", "sex"]).fit(private, public, target=target, seed=1, quiet=True)
    results, stored = fit.results_, pickle.loads(pickle.dumps(fit.results_))
    assert str(stored) == str(results) == str(pickle.loads(pickle.dumps(fit)).results_)
    there, again = (each.get_prediction(public) for each in (results, stored))
    for each in (again, pickle.loads(pickle.dumps(there))):
        assert each.summary_frame().equals(there.summary_frame())


def test_regressions_of_a_release_can_be_stored(private, public):
    """The moment, a regression from it, and its results."""
    release = pc.release(private, public, target="y", mu=2.0, method="joint-moment", seed=1)
    moment = pc.Moment.of(release)
    fit = moment.regress("y ~ age + income")
    again = pickle.loads(pickle.dumps(moment)).regress("y ~ age + income")
    for stored in (again, pickle.loads(pickle.dumps(fit))):
        assert str(stored) == str(fit) and np.array_equal(stored.predict(private), fit.predict(private))
    assert str(pickle.loads(pickle.dumps(fit.results_))) == str(fit.results_)
    assert str(pickle.loads(pickle.dumps(release))) == str(release)


def test_script_explore(private, public, tmp_path):
    """One release, then any regression: the same results object, short names, predictions of a frame."""
    res = pc.release(private, public, target="y", mu=2.0, method="joint-moment", ledger=tmp_path / "l.db")
    moment = pc.Moment.of(res)
    fit = moment.regress("y ~ age + income")
    assert {"params", "bse", "tvalues", "pvalues", "conf_int", "rsquared", "wald_test"} <= set(dir(fit))
    assert np.allclose(fit.conf_int(), np.column_stack([fit.bands.low, fit.bands.high]))
    assert fit.predict(private).shape == (2000,) and len(repr(fit)) < 200 and len(repr(moment)) < 200
    assert np.allclose(moment.regress("y ~ age + sex").params, moment.regress("y ~ age + `sex=m`").params)
    assert fit.wald_test("age = 0").pvalue < 0.05
    assert len(repr(pc.Ledger(str(tmp_path / "l.db")))) < 300


def test_script_load_a_colleagues_record(model, tmp_path):
    """The file alone: a summary, predictions, a table beside one's own public fit."""
    path = tmp_path / "release.json"
    model.to_json(path)
    res = pc.load(path)
    assert np.allclose(res.predict(frame(5, 7)), model.predict(frame(5, 7)))
    own = statsmodels.OLS(frame(200, 2)["y"], statsmodels.add_constant(frame(200, 2)[["age"]])).fit()
    assert pc.etable(own, res, titles=["mine", "theirs"]).shape[1] == 2
    assert str(res) == str(results_of(model.record_))


# What is refused, in our own sentences.


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (lambda f: f.rename(columns={"age": 3}), TableMessage.NAMES_NOT_TEXT),
        (lambda f: pd.concat([f, f[["age"]]], axis=1), TableMessage.FRAME_COLUMN_TWICE),
    ],
    ids=["a number", "twice"],
)
@pytest.mark.parametrize("which", [0, 1])
def test_frames_with_odd_names(private, public, change, kind, which):
    """Columns with numbers for names, two of one name: refused by kind, in either table, without a name in the text."""
    tables = [private, public]
    tables[which] = change(tables[which])
    with refused(kind) as caught:
        pc.PrivateRegressor(mu=1.0).fit(*tables, target="y", lab=True, quiet=True)
    assert "age" not in str(caught.value)


def test_fixed_effects_are_public_levels_as_columns():
    """``y ~ x | firm + year`` is statsmodels' fit with C(firm) + C(year), and the same release as with C() written."""
    rng = np.random.default_rng(3)

    def rows(n):
        firm, year = rng.choice(list("abcdef"), n), rng.choice([2020, 2021], n)
        x = rng.normal(size=n) + (firm == "a")
        return pd.DataFrame({"x": x, "firm": firm, "year": year, "y": x + (firm == "a") * 3 + rng.normal(size=n)})

    private, public = rows(20_000), rows(400)
    one, two = (
        pc.PrivateRegressor(mu=20.0, formula=formula).fit(private, public, seed=1, quiet=True)
        for formula in ("y ~ x | firm + year", "y ~ x + C(firm) + C(year)")
    )
    assert np.array_equal(one.coef_, two.coef_) and len(one.params) == 8
    theirs = smf.ols("y ~ x + C(firm) + C(year)", private).fit()
    assert abs(one.params["x"] - theirs.params["x"]) < 2 * theirs.bse["x"]
    assert np.allclose(
        one.predict(private),
        pc.release(private, public, mu=20.0, formula="y ~ x | firm + year", seed=1).predict(private),
    )


@pytest.mark.parametrize("formula", ["y ~ age | ", "y ~ age | sex^age", "y ~ age | sex | age", "y ~ age | log(age)"])
def test_other_fixed_effects_are_refused(public, formula):
    """Interactions, functions and a second bar: one kind."""
    with refused(TableMessage.FORMULA_BAR):
        pc.plan(public, n=100, formula=formula, mu=1.0)


@pytest.mark.parametrize("levels", [50, 51])
def test_many_fixed_effects_are_refused(levels):
    """As columns up to fifty public levels; beyond them a refusal by kind, before anything is read of private rows."""
    rng = np.random.default_rng(1)
    public = pd.DataFrame({"x": rng.normal(size=1000), "firm": [f"f{k % levels}" for k in range(1000)]})
    public["y"] = public["x"] + rng.normal(size=1000)
    if levels == 50:
        assert pc.plan(public, n=5000, formula="y ~ x | firm", mu=1.0) is not None
        return
    with refused(TableMessage.MANY_EFFECTS):
        pc.plan(public, n=5000, formula="y ~ x | firm", mu=1.0)


def test_predict_takes_folders_and_patterns_of_parquet(private, public, tmp_path):
    """What ``fit`` took, ``predict`` takes: a folder of Parquet files, or a pattern of their names."""
    folder = tmp_path / "parts"
    folder.mkdir()
    half = len(private) // 2
    private[:half].to_parquet(folder / "a.parquet", index=False)
    private[half:].to_parquet(folder / "b.parquet", index=False)
    model = pc.PrivateRegressor(mu=1.0, formula=FORMULA)
    model.fit(str(folder), public, seed=1, quiet=True)
    expected = model.predict(private)
    assert np.array_equal(model.predict(str(folder)), expected)
    assert np.array_equal(model.predict(folder / "*.parquet"), expected)
    assert np.array_equal(model.results_.predict(str(folder / "*.parquet")), expected)


@pytest.mark.slow
def test_a_record_is_read_without_sqlalchemy(model, tmp_path):
    """SQL is loaded where a query or a ledger is read: opening a record and predicting from it needs neither."""
    model.to_json(tmp_path / "release.json")
    code = (
        "import sys, pandas as pd, pmtcore as pc; from pmtcore.tables.table import table_from;"
        "pc.load(sys.argv[1]).predict(pd.read_json(sys.argv[2])); print('sqlalchemy' in sys.modules)"
    )
    model_rows = tmp_path / "rows.json"
    frame(50, 9).to_json(model_rows)
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "release.json"), str(model_rows)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize(
    "asked",
    [
        lambda made, _: made.results_.cov_params(),
        lambda made, _: made.results_.wald_test("age = 0"),
        lambda made, _: made.results_.t_test("age = 0"),
        lambda made, rows: made.results_.get_prediction(rows),
    ],
    ids=["cov_params", "wald_test", "t_test", "get_prediction"],
)
def test_a_method_without_standard_errors_says_so(asked, private, public):
    """No covariance is no matrix of zeros: what needs one is refused by kind."""
    settings = {"mu": 1.0, "features": ["age", "income"], "method": "ldp-glm"}
    made = pc.PrivateClassifier(**settings).fit(private, public, target="high", seed=1, quiet=True)
    assert made.bse.isna().all()
    with refused(ResultMessage.NO_STANDARD_ERRORS):
        asked(made, public)


def test_a_release_without_an_estimate_is_a_record_like_any_other(tmp_path, private, public):
    """Where an equation has no root at this draw of the noise the record has null, and opens again."""
    settings = {"mu": 1e-3, "features": ["age", "income"], "method": "ldp-glm", "family": "boosting"}
    drawn = (
        pc.PrivateClassifier(**settings).fit(private.head(10), public, target="high", seed=seed, quiet=True)
        for seed in range(100)
    )
    made = next(one for one in drawn if np.isnan(one.coef_).any())
    text = made.to_json(tmp_path / "release.json")
    assert set(json.loads(text)["coefficients"].values()) == {None}
    assert pc.load(tmp_path / "release.json").params.isna().all()
    jsonschema.validate(json.loads(text), SCHEMA)
