"""As few public rows as are accepted: what is derived from them is computed, whatever their responses are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, PublicMessage, TableNote, kind_of
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import family
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import methods
from pmtcore.public.moments import public_from_rows
from pmtcore.public.ridge import prior_of
from pmtcore.releases.release import Request, release
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table
from tests.helpers import names, plan, refused

SOUND = [(m.id, f) for m in methods() if m.standing is ReleaseStatus.SOUND for f in m.families]
# Its bands come from simulated passes: more than a CPU second for each kind of label.
SLOW = {("pmt-gradients", "logistic"), ("pmt-gradients", "boosting"), ("pmt-gradients", "poisson")}
EACH = [pytest.param(*case, marks=[pytest.mark.slow] * (case in SLOW)) for case in SOUND]
# Large counts beside few rows: no penalty of the path leaves as few columns as these rows support.
RESPONSES = {
    "gaussian": {"small": [1.0, 2.0, 0.5, 1.0], "far": [1e9, -1e9, 3.0, 0.0], "same": [7.0, 7.0, 7.0, 7.0]},
    "poisson": {"small": [0.0, 1.0, 2.0, 0.0], "large": [66.0, 32.0, 39.0, 51.0], "huge": [9e5, 1.0, 4e6, 0.0]},
    "label": {"one": [1.0, 0.0, 0.0, 0.0], "half": [1.0, 1.0, 0.0, 0.0], "none": [0.0, 0.0, 0.0, 0.0]},
}
CASES = [(kind, name) for kind, named in RESPONSES.items() for name in named]


def few(kind: str, name: str, m: int, column: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features (m, 2) with an intercept and a column of numbers or of 0 and 1, and responses (m,)."""
    values = [0.0, 1.0, 1.0, 0.0] if column == "level" else [41.5, 87.0, 12.0, 30.0]
    return np.column_stack([np.ones(m), values[:m]]), np.array(RESPONSES[kind][name][:m])


@pytest.mark.parametrize(("kind", "name"), CASES)
@pytest.mark.parametrize("column", ["level", "number"])
@pytest.mark.parametrize("m", [2, 3, 4])
def test_public_rows_of_any_number_have_a_prior(kind, name, column, m):
    """Two rows or more: a whitening penalty within its limits, and finite coefficients."""
    x, y = few(kind, name, m, column)
    for id in ("logistic", "boosting") if kind == "label" else (kind,):
        prior = prior_of(family(id), x, y, np.array([0.0, 1.0]), penalties=np.array([0.0, 0.01]))
        assert 0 <= prior.whitening <= 0.1 and np.isfinite(prior.coefficients).all()


@pytest.mark.parametrize(("id", "kind"), EACH)
def test_the_fewest_public_rows_lose_no_release(id, kind):
    """One row more than columns, each kind of response: refused before a run (not all), or computed in full."""
    kinds = {"gaussian": "gaussian", "poisson": "poisson"}.get(kind, "label")
    rng, ran = np.random.default_rng(3), 0
    for name, mu in zip(RESPONSES[kinds], (0.05, 300.0, 1.0), strict=True):
        x, y = few(kinds, name, 3, "level")
        start = int("nlr" in id)
        columns = names(2 - start, not start)
        lam = 0.0 if kind == "gaussian" else 0.01
        try:
            public = public_from_rows(x[:, start:], y, columns, "y", ridge=0.0, family=family(kind), lam=lam)
        except InputError:
            continue
        at = rng.integers(0, 3, 200)
        private = PrivateRows.from_arrays(x[at][:, start:], y[at], columns)
        planned = plan(id, public, 200, mu)
        planned.prepare()
        outcome = planned.run(private, SeededNoise(1), 1)
        outcome.bands(), outcome.released()
        # A local method may have no estimate at a draw of its noise, and says so.
        assert np.isfinite(outcome.coefficients).all() or (id.startswith("ldp-") and outcome.notes()), name
        ran += 1
    assert ran


@pytest.mark.parametrize("id", sorted(id for id, kind in SOUND if kind == "gaussian" and "nlr" not in id))
def test_columns_that_are_combinations_of_others_lose_no_release(id):
    """With a public ridge they are let in: what follows the run is computed all the same."""
    rng = np.random.default_rng(4)
    x = np.column_stack([np.ones(260), rng.standard_normal((260, 3))])
    x[:, 3] = x[:, 1] + x[:, 2]
    y = x[:, 3] + rng.standard_normal(260)
    columns = names(4, True)
    public = public_from_rows(x[:60], y[:60], columns, "y", ridge=0.01)
    planned = plan(id, public, 200, 1.0)
    planned.prepare()
    outcome = planned.run(PrivateRows.from_arrays(x[60:], y[60:], columns), SeededNoise(1), 1)
    outcome.bands(), outcome.released()


@pytest.mark.parametrize("ridge", [0.0, 0.01])
@pytest.mark.parametrize("kind", ["logistic", "poisson"])
def test_labels_never_meet_columns_that_are_combinations_of_others(kind, ridge):
    """A public ridge is no part of the coordinates of their methods: such columns are left out, or refused by name."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.integers(0, 9, (360, 2)), columns=["a", "b"])
    frame["c"] = frame["a"] + frame["b"]
    frame["y"] = (rng.random(360) < 0.5).astype(int) if kind == "logistic" else rng.poisson(2.0, 360)
    data = (part.to_csv(index=False).encode() for part in (frame[:300], frame[300:]))
    sides = [read_table(each, "t.csv", side) for each, side in zip(data, ("private", "public"), strict=True)]
    asked = Choices(target="y", family=kind, public_ridge=ridge)
    problem = prepare(*sides, asked)
    assert problem.public.names == ("(intercept)", "a", "b") and TableNote.COLLINEAR in map(kind_of, problem.notes)
    release(problem, Request("pmt-score", Budget(1.0)), SeededNoise(1))
    with refused(PublicMessage.COLLINEAR_LABELS if ridge else PublicMessage.COLLINEAR, columns=["a", "b"]):
        prepare(*sides, replace(asked, collinear="refuse"))
