"""A row far beyond all floats' squares is bounded like any other: no method sees a weight that is not a number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pmtcore.base.records import PrivateRows, ReleaseStatus
from pmtcore.glm.families import family
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.registry import methods
from pmtcore.public.moments import public_from_rows
from tests.helpers import names, plan

SOUND = [(m.id, f) for m in methods() if m.standing is ReleaseStatus.SOUND for f in m.families]
CELLS = {"1e150": (1e150, 0.0), "-1e150": (-1e150, 0.0), "response": (0.0, -1e150), "both": (1e150, 1e150)}


def sides(id: str, kind: str, far: tuple[float, float]):
    """Public rows with standard deviations of 1e-6, and private ones of which one lies far beyond."""
    rng = np.random.default_rng(4)
    x = 1e-6 * rng.normal(size=(300, 3))
    if "nlr" not in id:
        x[:, 0] = 1.0
    y = 1e6 * x[:, 1] + rng.normal(size=300)
    if kind != "gaussian":
        y = (y > 0).astype(float)
    x[70, 2] += far[0]
    if kind in ("gaussian", "poisson"):
        y[70] += far[1]
    columns = names(3, "nlr" not in id)
    lam = 0.0 if kind == "gaussian" else 0.01
    public = public_from_rows(x[:60], y[:60], columns, "y", 0.0, family(kind), lam)
    return public, PrivateRows.from_arrays(x[60:], y[60:], columns)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize(("id", "kind"), SOUND)
def test_no_row_makes_a_release_fail_or_warn(id, kind, cell):
    """Public columns of size 1e-6 and one private cell of 1e150: a release as ever, and nothing on standard error."""
    public, rows = sides(id, kind, CELLS[cell])
    source = ZeroNoise() if id.startswith("ldp") else SeededNoise(1)  # with noise, its estimates may fail on any table
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = plan(id, public, rows.n, 1.0).run(rows, source, 2)
        outcome.bands()
    without = plan(id, public, rows.n, 1.0).run(sides(id, kind, (0.0, 0.0))[1], ZeroNoise(), 1)
    assert np.isfinite(outcome.coefficients).all() or not np.isfinite(without.coefficients).all()
