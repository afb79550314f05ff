"""Errors clustered by person or by a public column: the real ones where rows of a group are alike."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf

import pmtcore as pc
from pmtcore.base.messages import ReleaseMessage, TableMessage, TableNote, kind_of
from pmtcore.public.bands import robust_part
from tests.helpers import refused

EACH = 5


def rows_of(people: int, seed: int) -> pd.DataFrame:
    """Five rows of each person: what they have in common is in the feature and in the error."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), EACH)
    own, error = rng.normal(size=(2, people))
    a = own[person] + 0.5 * rng.normal(size=len(person))
    y = 1 + 2 * a + error[person] + 0.5 * rng.normal(size=len(person))
    return pd.DataFrame({"id": [f"p{seed}-{k}" for k in person], "a": a, "y": y})


def fitted(private, public, **settings):
    model = pc.PrivateRegressor(mu=3.0, features=["a"], **settings)
    return model.fit(private, public, target="y", seed=1, quiet=True)


def test_rows_of_a_group_are_summed_first():
    """The sandwich of statsmodels with groups, its correction apart; groups of one row are no groups."""
    rows = rows_of(40, 1)
    fit = smf.ols("y ~ a", rows).fit()
    x = np.column_stack([np.ones(len(rows)), rows["a"]])
    influence = x * fit.resid.to_numpy()[:, None] @ np.linalg.inv(x.T @ x / len(x))
    codes = pd.factorize(rows["id"])[0]
    part = robust_part(influence, 1.0, len(rows), codes)
    settings = {"groups": codes, "use_correction": False}
    theirs = rows.pipe(lambda r: smf.ols("y ~ a", r).fit(cov_type="cluster", cov_kwds=settings)).cov_params()
    assert np.allclose(part.covariance * 39 / 40, theirs, rtol=1e-6)
    alone = robust_part(influence, 1.0, len(rows), np.arange(len(rows)))
    plain = robust_part(influence, 1.0, len(rows))
    assert np.allclose(alone.variance, plain.variance * 200 / 199)


@pytest.mark.parametrize("id", ["joint-pmt", "public-only", "pmt-gradients"])
def test_errors_clustered_by_person(id):
    """Sampling errors of the clustered fit are those of statsmodels' clustered fit, well above the plain ones."""
    private, public = rows_of(1500, 1), rows_of(150, 2)
    plain = fitted(private, public.drop(columns="id"), method=id)
    made = fitted(private, public, cluster="id", method=id)
    asked = public if id == "public-only" else private
    settings = {"groups": pd.factorize(asked["id"])[0]}
    theirs = smf.ols("y ~ a", asked).fit(cov_type="cluster", cov_kwds=settings).bse
    assert np.allclose(made.results_.parts["sampling"], theirs, rtol=0.4)
    assert (made.results_.parts["sampling"] > 1.4 * plain.results_.parts["sampling"]).all()
    assert np.array_equal(made.params, plain.params) or id != "public-only"


def labels_of(people: int, seed: int, family: str) -> pd.DataFrame:
    """Ten rows of each person, alike: labels or counts whose residuals go together."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 10)
    own, error = rng.normal(size=(2, people))
    a = own[person] + 0.3 * rng.normal(size=len(person))
    eta = 0.2 + 0.6 * a + 1.2 * error[person]
    rate = 1 / (1 + np.exp(-eta))
    y = (rng.random(len(a)) < rate).astype(int) if family == "logistic" else rng.poisson(3 * rate)
    return pd.DataFrame({"id": [f"p{seed}-{k}" for k in person], "a": a, "y": y})


@pytest.mark.parametrize(
    ("family", "id"),
    [
        *(pytest.param(family, "pmt-gradients", marks=pytest.mark.slow) for family in ("logistic", "poisson")),
        *(("logistic", id) for id in ("pmt-objective", "pmt-score", "public-only")),
        *(("poisson", id) for id in ("pmt-score", "public-only")),
    ],
)
def test_errors_of_labels_and_counts_are_clustered(family, id):
    """As statsmodels' clustered covariance of the same model, well above the plain one."""
    private, public = labels_of(1500, 1, family), labels_of(200, 2, family)
    kind = pc.PrivateClassifier if family == "logistic" else pc.PrivateRegressor
    law = sm.families.Binomial() if family == "logistic" else sm.families.Poisson()
    made, plain = (
        kind(mu=5.0, features=["a"], family=family, method=id, lam=0.0, cluster=cluster).fit(
            private, public, target="y", seed=1, quiet=True
        )
        for cluster in ("id", None)
    )
    asked = public if id == "public-only" else private
    settings = {"groups": pd.factorize(asked["id"])[0]}
    theirs = smf.glm("y ~ a", asked, family=law).fit(cov_type="cluster", cov_kwds=settings).bse
    assert np.allclose(made.results_.parts["sampling"], theirs, rtol=0.5)
    assert (made.results_.parts["sampling"] > 1.4 * plain.results_.parts["sampling"]).all()


def test_regressions_from_a_moment_are_weighted_and_clustered():
    """A record with weights, groups and a product of columns answers as statsmodels' clustered weighted fit does."""
    rng = np.random.default_rng(5)
    tables = [rows_of(people, seed).assign(b=0.0, w=1.0) for people, seed in ((4000, 1), (200, 2))]
    for one in tables:
        one["b"] = rng.normal(size=len(one))
        one["w"] = 30 * np.exp(0.3 * one["a"] + 0.3 * rng.normal(size=len(one)))
        one["y"] += 0.5 * one["a"] * one["b"] + 0.2 * one["a"] ** 2
    private, public = tables
    model = pc.PrivateRegressor(
        mu=20.0,
        features=["a", "b"],
        method="joint-moment",
        settings={"derived": "a:b", "public_rows": "yes"},
        weights="w",
        cluster="id",
    ).fit(private, public, target="y", seed=1, quiet=True)
    opened = pc.Moment.of(json.loads(json.dumps(model.record_)))
    fit = opened.regress("y ~ a + b + a:b")
    settings = {"groups": pd.factorize(private["id"])[0]}
    weighted = smf.wls("y ~ a + b + a:b", private, weights=private["w"])
    theirs, plain = weighted.fit(cov_type="cluster", cov_kwds=settings), weighted.fit(cov_type="HC0")
    assert (np.abs(np.array(list(fit.coefficients.values())) - theirs.params) / theirs.bse < 2).all()
    sampling = np.sqrt(np.diag(fit.fit.sampling))
    assert np.allclose(sampling, theirs.bse, rtol=0.5)
    assert sampling[0] > 1.3 * plain.bse.iloc[0]
    # New rows have no weight: the same product either way.
    assert np.allclose(opened.with_derived({"a": 2.0, "b": 3.0})["a:b"], 6.0)


@pytest.mark.parametrize(("id", "settings"), [("joint-moment", {"public_rows": "no"}), ("pmt-ols", {})])
def test_methods_that_do_not_cluster_say_so(id, settings):
    """Asked for, groups are refused; of a person with several rows a note says that errors are too small."""
    private, public = rows_of(600, 1), rows_of(100, 2)
    with refused(ReleaseMessage.METHOD_WITHOUT_CLUSTERS):
        fitted(private, public, cluster="id", method=id, settings=settings)
    asked = {"person": "id", "rows_per_person": EACH, "method": id, "settings": settings}
    notes = fitted(private, public, **asked).release_.notes
    assert TableNote.METHOD_UNCLUSTERED in map(kind_of, notes)


def test_a_person_with_several_rows_is_a_group():
    """With the identifier in the public rows errors are clustered; without it, a note says what is missing."""
    private, public = rows_of(600, 1), rows_of(100, 2)
    asked = {"person": "id", "rows_per_person": EACH}
    made = fitted(private, public, **asked)
    assert made.release_.guarantee.unit.rows == EACH
    bare = fitted(private, public.drop(columns="id"), **asked)
    assert (made.results_.parts["sampling"] > 1.4 * bare.results_.parts["sampling"]).all()
    missing = set(bare.record_["notes"]) - set(made.record_["notes"])
    assert len(missing) == 1 and "identifier" in missing.pop()


@pytest.mark.slow
def test_limits_hold_the_truth():
    """Over sixty draws the clustered 95 % limits hold the slope; those that take rows as independent do not."""
    inside = {"id": 0, None: 0}
    for draw in range(60):
        private, public = rows_of(200, 2 * draw), rows_of(60, 2 * draw + 1)
        for cluster in inside:
            given = public if cluster else public.drop(columns="id")
            low, high = fitted(private, given, cluster=cluster).conf_int().loc["a"]
            inside[cluster] += low <= 2 <= high
    # 60 draws at 0.95 fall below 50 once in two million; at the share of plain limits (about 0.7) they do not pass 55.
    assert inside["id"] >= 50 and inside[None] <= 55 and inside["id"] > inside[None]


def test_what_has_no_groups():
    """No such public column, and too few groups."""
    private, public = rows_of(300, 1), rows_of(40, 2)
    with refused(TableMessage.NO_CLUSTER_COLUMN):
        fitted(private, public.drop(columns="id"), cluster="id")
    with pytest.raises(pc.InputError):
        fitted(private, public.assign(id="one"), cluster="id")
