"""Weights: rows times the square root, each by itself; the fit, its errors and its refusals."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

import pmtcore as pc
from pmtcore.api.frames import table
from pmtcore.base.messages import MethodMessage, TableMessage
from pmtcore.cli.main import main
from pmtcore.glm.families import POISSON
from pmtcore.mechanisms.grid import SCALE, join_words
from pmtcore.mechanisms.passes import GRADIENT, CurvatureSum, GradientSum
from pmtcore.mechanisms.quantized_rows import Quantizer
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.sources import Cells
from tests.helpers import refused


def rows_of(n: int, seed: int) -> pd.DataFrame:
    """Return a bent line: the weighted fit is another than the plain one."""
    rng = np.random.default_rng(seed)
    a, b = rng.normal(5, 2, n), rng.normal(size=n)
    w = 30 * np.exp(0.5 * rng.normal(size=n) + 0.2 * a)
    y = 1 + 2 * a - b + 0.06 * a * a + rng.normal(size=n) * (1 + 0.3 * np.abs(b))
    return pd.DataFrame({"a": a, "b": b, "w": w, "y": y})


def made(private: pd.DataFrame, public: pd.DataFrame, **choices):
    return prepare(table(private, "private"), table(public, "public"), Choices(target="y", weights="w", **choices))


def blocks_of(problem) -> np.ndarray:
    return np.vstack([np.column_stack(block) for block in problem.private._blocks()])


def test_rows_are_multiplied_by_the_root_of_their_weight():
    """Relative to the public mean; a weight that is missing, negative or infinite makes a row of zeros."""
    private, public = rows_of(50, 1), rows_of(60, 2)
    private.loc[:4, "w"] = [np.nan, -1.0, np.inf, 0.0, 1e308]
    result = blocks_of(made(private, public))
    root = np.sqrt(private["w"].to_numpy()[5:] / public["w"].mean())[:, None]
    plain = np.column_stack([np.ones(50), private[["a", "b", "y"]].to_numpy()])
    assert np.allclose(result[5:], root * plain[5:])
    assert not result[:4].any() and np.isfinite(result).all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.one_of(st.floats(), st.text(max_size=4), st.none(), st.booleans()), st.integers(0, 19))
def test_a_weight_concerns_its_row_alone(cell, at):
    """Whatever stands for one weight, the others' rows stay bit for bit, and nothing is raised or warned."""
    private, public = rows_of(20, 3), rows_of(60, 2)
    problem = made(private, public)
    coder = problem.coder

    def read(frame):
        columns = {name: table(frame, "private").source.blocks([name], problem.dialect) for name in coder.columns()}
        return coder.rows(Cells(20, {name: next(iter(result)).columns[name] for name, result in columns.items()})).x

    other = private.astype(object)
    other.at[at, "w"] = cell
    assert np.array_equal(np.delete(read(other), at, 0), np.delete(read(private), at, 0))


@pytest.mark.parametrize("id", ["joint-pmt", "pmt-ridge", "pmt-gradients"])
def test_the_fit_is_the_weighted_one(id):
    """Within its own standard errors of weighted least squares, and far from the plain fit."""
    private, public = rows_of(20_000, 1), rows_of(500, 2)
    model = pc.PrivateRegressor(mu=20.0, weights="w", formula="y ~ a + b", method=id).fit(
        private, public, seed=1, quiet=True
    )
    theirs = smf.wls("y ~ a + b", private, weights=private["w"]).fit(cov_type="HC0")
    plain = smf.ols("y ~ a + b", private).fit()
    away = np.abs(model.params - theirs.params) / theirs.bse
    assert (away < 8).all() and (np.abs(plain.params - theirs.params) / theirs.bse).max() > 10
    assert np.allclose(model.results_.parts["sampling"], theirs.bse, rtol=0.5)
    assert np.allclose(model.predict(private.drop(columns="w")), model.results_.predict(private))


def test_all_the_same_is_no_weight():
    """Equal weights, however large, give the very fit without weights: with a seed, bit for bit."""
    private, public = (rows_of(n, n).assign(w=64.0) for n in (2000, 200))
    asked = {"target": "y", "seed": 1, "quiet": True}
    one = pc.PrivateRegressor(mu=1.0, features=["a", "b"], weights="w").fit(private, public, **asked)
    two = pc.PrivateRegressor(mu=1.0, features=["a", "b"]).fit(private, public, **asked)
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.parametrize(
    ("change", "settings", "kind"),
    [
        (lambda f: f.drop(columns="w"), {}, TableMessage.NO_PUBLIC_WEIGHTS),
        (lambda f: f.assign(w=-1.0), {}, TableMessage.NO_POSITIVE_WEIGHTS),
        (lambda f: f.assign(w=np.nan), {}, TableMessage.NO_POSITIVE_WEIGHTS),
        (lambda f: f, {"features": ["a", "w"]}, TableMessage.WEIGHTS_ARE_NO_FEATURE),
        (
            lambda f: f.assign(y=(f["y"] > 10).astype(int)),
            {"family": "poisson", "method": "pmt-glm"},
            MethodMessage.LOSSES_UNWEIGHTED,
        ),
        (lambda f: f, {"missing": "refuse"}, TableMessage.WEIGHTS_REFUSE_NO_ROW),
        (lambda f: f, {"family": "poisson", "exposure": "w"}, TableMessage.EXPOSURE_WEIGHS),
        (
            lambda f: f,
            {"method": "joint-moment", "intercept": False, "settings": {"derived": "a:b"}},
            MethodMessage.DERIVED_WEIGHTED,
        ),
        (lambda f: f, {"person": "w"}, TableMessage.WEIGHTS_ARE_NO_FEATURE),
    ],
    ids=["absent", "negative", "no number", "a feature", "labels", "gaps", "exposure", "derived", "person"],
)
def test_what_weights_are_not_for(change, settings, kind):
    """Public rows without weights, methods whose losses have none, products without an intercept."""
    with refused(kind):
        pc.PrivateRegressor(**{"mu": 1.0, "weights": "w", **settings}).fit(
            rows_of(300, 1), change(rows_of(100, 2)), target="y", lab=True, quiet=True
        )


def counts_of(n: int, seed: int, family: str = "poisson") -> pd.DataFrame:
    """Labels or counts whose curve is bent, weights that go with the bend, and what a count is of."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(-1.7, 1.7, (2, n))
    w, e = 30 * np.exp(0.5 * rng.uniform(-1, 1, n) + 0.4 * a), rng.gamma(4, 0.5, n)
    eta = 0.2 + 0.5 * a - 0.4 * b + 0.3 * a * a
    y = rng.poisson(e * np.exp(eta)) if family == "poisson" else (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    return pd.DataFrame({"a": a, "b": b, "w": w, "e": e, "y": y})


@pytest.mark.slow
@pytest.mark.parametrize("id", ["pmt-gradients", "public-only"])
@pytest.mark.parametrize(
    ("family", "asked"),
    [
        ("logistic", {"weights": "w"}),
        ("poisson", {"weights": "w"}),
        ("poisson", {"exposure": "e"}),
        ("poisson", {"weights": "w", "exposure": "e"}),
    ],
)
def test_labels_and_counts_are_weighted_in_the_loss(family, asked, id):
    """statsmodels' fit with weights and exposure: to 1e-6 on public rows, within standard errors after a release."""
    private, public = counts_of(20_000, 1, family), counts_of(500, 2, family)
    kind, law = {
        "logistic": (pc.PrivateClassifier, sm.families.Binomial()),
        "poisson": (pc.PrivateRegressor, sm.families.Poisson()),
    }[family]
    model = kind(mu=20.0, formula="y ~ a + b", family=family, lam=0.0, method=id, **asked)
    model.fit(private, public, seed=1, quiet=True)
    rows = public if id == "public-only" else private
    given = {"freq_weights": rows["w"] / rows["w"].mean()} if "weights" in asked else {}
    given |= {"exposure": rows["e"]} if "exposure" in asked else {}
    theirs = smf.glm("y ~ a + b", rows, family=law, **given).fit(cov_type="HC0")
    plain = smf.glm("y ~ a + b", rows, family=law).fit()
    if id == "public-only":
        assert np.allclose(model.params, theirs.params, rtol=1e-6, atol=1e-6)
    else:
        assert (np.abs(model.params - theirs.params) / theirs.bse < 2).all()
        assert (np.abs(plain.params - theirs.params) / theirs.bse).max() > 5
    assert np.allclose(model.results_.parts["sampling"], theirs.bse, rtol=0.4)
    bare = private.drop(columns=["w", "e"])
    assert np.array_equal(model.results_.predict(bare), model.results_.predict(private))


@pytest.mark.slow
def test_equal_weights_of_losses_are_no_weights():
    """Weights that are all the same, however large, give the fit without weights: with a seed, bit for bit."""
    private, public = (counts_of(n, n, "logistic").assign(w=64.0) for n in (2000, 200))
    asked = {"target": "y", "seed": 1, "quiet": True}
    one = pc.PrivateClassifier(mu=1.0, features=["a", "b"], weights="w").fit(private, public, **asked)
    two = pc.PrivateClassifier(mu=1.0, features=["a", "b"]).fit(private, public, **asked)
    assert np.array_equal(one.coef_, two.coef_)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.one_of(st.floats(), st.text(max_size=4), st.none()), st.sampled_from(["w", "e"]), st.integers(0, 19))
def test_weight_and_exposure_concern_their_row_alone(cell, column, at):
    """Whatever stands for one of them, the other rows with their responses and weights stay bit for bit."""
    private, public = counts_of(20, 3), counts_of(60, 2)
    choices = Choices(target="y", weights="w", exposure="e", family="poisson")

    def read(frame):
        return blocks_of(prepare(table(frame, "private"), table(public, "public"), choices))

    other = private.astype(object)
    other.at[at, column] = cell
    assert np.array_equal(np.delete(read(other), at, 0), np.delete(read(private), at, 0))
    assert np.isfinite(read(other)).all()


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(1e-9, 1e9), st.floats(1e-3, 1e3))
def test_a_weighted_gradient_is_no_longer_than_its_bound(seed, weight, bound):
    """However large a weight, one row moves a sum of clipped gradients by its bound at most, in both sums."""
    rng = np.random.default_rng(seed)
    x, y = rng.normal(size=(1, 3)), np.array([[float(rng.integers(0, 50)), weight]])
    piece = next(Quantizer.features_only(np.eye(3), False)(x, y))
    point = rng.normal(size=(1, 3))
    units = join_words(GradientSum(POISSON, point, np.array([bound]))([piece]))[0] / GRADIENT
    assert np.linalg.norm(units) <= 1
    curved = join_words(CurvatureSum(POISSON, point, np.array([bound]))([piece]))[0] / SCALE**2
    assert np.linalg.norm(curved) <= 1


@pytest.mark.slow
def test_the_command_line_takes_weights(tmp_path, capsys):
    """--weights, with a target or a formula; the record says so, and a plan takes it too."""
    files = []
    for role, rows in (("private", rows_of(500, 1)), ("public", rows_of(100, 2))):
        rows.to_csv(tmp_path / f"{role}.csv", index=False)
        files += [f"--{role}", str(tmp_path / f"{role}.csv")]
    for fit in (["--target", "y"], ["--formula", "y ~ a + b"]):
        assert main(["release", *files, *fit, "--weights", "w", "--mu", "1", "--lab", "--json"]) == 0
        record = json.loads(capsys.readouterr().out)
        assert record["public"]["choices"]["weights"] == "w" and set(record["coefficients"]) == {
            "(intercept)",
            "a",
            "b",
        }
        assert main(["plan", *files[2:], *fit, "--weights", "w", "--mu", "1", "--private-rows", "500"]) == 0
        capsys.readouterr()
