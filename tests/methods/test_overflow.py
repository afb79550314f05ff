"""Numbers of any size: rows far beyond all floats' squares, and columns whose units lie far apart."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.private_rows import PrivateRows
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
    public = public_from_rows(x[:60], y[:60], columns, "y", ridge=0.0, family=family(kind), lam=lam)
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


def far_apart(id: str, kind: str):
    """Public and private rows whose columns are about 1, 1e12 and 1e-9, two of them skewed and alike."""
    rng = np.random.default_rng(6)
    z = rng.normal(size=(400, 4))
    big = np.exp(27 + 2 * z[:, :1] + z[:, 1:3])
    x = np.column_stack([np.ones(400), 500 + 100 * z[:, 3], big, 1e-9 * z[:, 0]])[:, int("nlr" in id) :]
    y = 1e10 * (z[:, 0] + z[:, 1]) if kind == "gaussian" else (z[:, 0] + rng.normal(size=400) > 0).astype(float)
    columns = names(x.shape[1], "nlr" not in id)
    lam = 0.0 if kind == "gaussian" else 0.01
    public = public_from_rows(x[:100], y[:100], columns, "y", ridge=0.0, family=family(kind), lam=lam)
    return public, PrivateRows.from_arrays(x[100:], y[100:], columns)


@pytest.mark.parametrize(("id", "kind"), SOUND)
def test_units_far_apart_lose_no_release(id, kind):
    """Whatever is derived after a spend is computed: coefficients, bands, all other released figures."""
    public, rows = far_apart(id, kind)
    source = ZeroNoise() if id.startswith("ldp") else SeededNoise(1)
    outcome = plan(id, public, rows.n, 1.0).run(rows, source, 1)
    outcome.bands()
    release_record = outcome.released()
    for coefficients in np.array(release_record.get("ridge_path", {}).get("coefficients", ()))[-1:]:
        assert np.all(np.abs(coefficients[1:]) * public.spread[1:] < 1e-3 * public.spread.max())
