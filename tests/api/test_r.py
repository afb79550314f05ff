"""The R package reads a record as Python does: estimates, limits, covariances, tests, predictions."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pmtcore as pc

PACKAGE = Path(__file__).resolve().parents[2] / "deploy" / "r" / "secondmoment"
_RSCRIPT = shutil.which("Rscript")
_HAS_R = (
    _RSCRIPT is not None
    and subprocess.run([_RSCRIPT, "-e", "library(jsonlite)"], capture_output=True, check=False).returncode == 0
)
pytestmark = pytest.mark.skipif(not _HAS_R, reason="needs Rscript and R's jsonlite")

_READ = """
source(file.path(commandArgs(TRUE)[1], "R", "release.R"))
release <- read_release(commandArgs(TRUE)[2])
rows <- read.csv(commandArgs(TRUE)[3])
cat(jsonlite::toJSON(list(
  tidy = tidy(release, conf.int = TRUE, conf.level = 0.9), glance = glance(release),
  covariance = vcov(release), privacy = vcov(release, "privacy"), limits = confint(release),
  predicted = predict(release, rows), names = names(coef(release)), nobs = nobs(release)
), digits = NA, na = "null"))
"""


def in_r(script: str, *given: str) -> subprocess.CompletedProcess:
    """Run a script; arguments are its files."""
    return subprocess.run(
        [str(_RSCRIPT), "--vanilla", "-e", script, *given], capture_output=True, text=True, check=False, timeout=600
    )


def rows_of(n: int, seed: int, family: str) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(50, 10, n), "sex": rng.choice(["f", "m", "x"], n)})
    frame["hours"] = rng.gamma(3, 1, n)
    eta = 0.02 * frame["age"] + 0.5 * (frame["sex"] == "m") - 0.2 * frame["hours"]
    law = {"gaussian": lambda: eta + rng.normal(size=n), "poisson": lambda: rng.poisson(np.exp(eta))}
    labels = lambda: np.where(rng.random(n) < 1 / (1 + np.exp(-eta)), "yes", "no")  # noqa: E731
    return frame.assign(y=law.get(family, labels)())


CASES = [
    ("gaussian", {"features": ["age", "sex", "hours"]}),
    ("gaussian", {"formula": "y ~ age*C(sex) + log(hours) + I(age**2)"}),
    ("gaussian", {"formula": "y ~ 0 + age + hours"}),
    ("logistic", {"features": ["age", "sex", "hours"], "missing": "public-median"}),
    ("poisson", {"formula": "y ~ age + sex"}),
]


@pytest.mark.parametrize(("family", "asked"), CASES, ids=[f"{f}-{at}" for at, (f, _) in enumerate(CASES)])
def test_r_says_what_python_says(family, asked, tmp_path):
    """Every figure to 1e-9, a missing value and an unknown level too."""
    private, public = rows_of(2000, 1, family), rows_of(200, 2, family)
    kind = pc.PrivateClassifier if family == "logistic" else pc.PrivateRegressor
    model = kind(mu=1.0, family=family, **asked).fit(
        private, public, target=None if "formula" in asked else "y", seed=1, quiet=True
    )
    record, rows = tmp_path / "release.json", tmp_path / "rows.csv"
    record.write_text(json.dumps(model.record_))
    new = rows_of(6, 3, family).drop(columns="y").astype({"sex": object})
    new.loc[0, "age"], new.loc[1, "sex"], new.loc[2, "sex"] = np.nan, "unknown", None
    new.to_csv(rows, index=False)
    done = in_r(_READ, str(PACKAGE), str(record), str(rows))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    results = pc.load(record)
    tidy = pd.DataFrame(answer["tidy"]).set_index("term")
    theirs = {"estimate": results.params, "std.error": results.bse, "statistic": results.tvalues}
    theirs |= {"p.value": results.pvalues, "conf.low": results.conf_int(0.9)["low"]}
    for column, values in theirs.items():
        assert np.allclose(tidy[column], values, rtol=1e-9), column
    assert np.allclose(answer["limits"], results.conf_int(), rtol=1e-9)
    assert np.allclose(answer["covariance"], results.cov_params(), rtol=1e-9, atol=1e-18)
    assert np.allclose(answer["privacy"], results.cov_params("privacy"), rtol=1e-9, atol=1e-18)
    predicted = np.array(answer["predicted"], dtype=float)
    assert np.allclose(predicted, np.asarray(results.predict(new), dtype=float), rtol=1e-9, equal_nan=True)
    assert answer["nobs"] == [2000] and answer["glance"][0]["mu"] == 1


_REFUSED = """
given <- commandArgs(TRUE)
source(file.path(given[1], "R", "release.R"))
rows <- read.csv(given[2])
reasons <- sapply(given[-(1:2)], function(record) tryCatch(
  {predict(read_release(record), rows); "evaluated"}, error = conditionMessage))
cat(jsonlite::toJSON(unname(reasons)))
"""
_CALLS = ("system('id')", "log(age, base = Sys.time())", "(function(x) x)(age)", "get('age')")


def test_a_formula_calls_nothing_else(tmp_path):
    """A record may come from anybody: what is not on the list of functions is not evaluated."""
    model = pc.PrivateRegressor(mu=1.0, formula="y ~ age")
    model.fit(rows_of(300, 1, "gaussian"), rows_of(60, 2, "gaussian"), seed=1, quiet=True)
    records = [tmp_path / f"{at}.json" for at in range(len(_CALLS))]
    for call, record in zip(_CALLS, records, strict=True):
        fields = json.loads(json.dumps(model.record_))
        fields["design"]["formula"]["right"] = call
        record.write_text(json.dumps(fields))
    rows_of(3, 3, "gaussian").to_csv(tmp_path / "rows.csv", index=False)
    done = in_r(_REFUSED, str(PACKAGE), str(tmp_path / "rows.csv"), *map(str, records))
    assert done.returncode == 0, done.stderr
    reasons = dict(zip(_CALLS, json.loads(done.stdout), strict=True))
    assert all("not evaluated here" in reason for reason in reasons.values()), reasons


@pytest.mark.slow
def test_the_package_installs(tmp_path):
    """R builds and loads it, and finds its methods."""
    built = subprocess.run(
        [str(shutil.which("R")), "CMD", "INSTALL", "--no-docs", "-l", str(tmp_path), str(PACKAGE)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert built.returncode == 0, built.stderr
    script = "library(secondmoment, lib.loc = commandArgs(TRUE)[1]); stopifnot(is.function(read_release))"
    done = in_r(script, str(tmp_path))
    assert done.returncode == 0, done.stderr
