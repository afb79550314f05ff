"""A release does not depend on the units of its columns, but for the penalty, which is in the units of the table."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import family
from pmtcore.mechanisms.noise import SeededNoise, ZeroNoise
from pmtcore.methods.registry import Method, methods
from pmtcore.public.moments import public_from_rows
from tests.helpers import names, plan

SOUND = [(m.id, f) for m in methods() if m.standing is ReleaseStatus.SOUND and m.id != "pmt-moment" for f in m.families]
# Their papers bound the rows of the table itself, so that the largest column decides (decision 94).
IN_THE_UNITS_OF_THE_TABLE = {
    *("ada-ssp", "dp-gd", "dp-ols-public", "dp-ridge-public", "dp-logistic-public"),
    *("ldp-glm", "ldp-glm-gaussian", "ldp-nlr", "ldp-nlr-gaussian"),
}
# Their symmetric root turns with the units, and noise on a symmetric matrix is not the same in every direction.
_WIDTHS = {"pmt-ols": 0.05, "pmt-ridge": 0.05}
INVARIANT = [(id, kind) for id, kind in SOUND if id not in IN_THE_UNITS_OF_THE_TABLE]
N, M, D = 1500, 100, 4
ONES = np.ones(D)


def rows(kind: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features (k, D) with an intercept and columns that depend on each other, and responses (k,)."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal((N + M, D - 1)) @ np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.3], [0.0, 0.0, 1.0]])
    x = np.column_stack([np.ones(N + M), x + np.arange(3.0)])
    linear = x @ [0.2, 0.4, -0.3, 0.1]
    if kind == "gaussian":
        return x, linear + rng.standard_normal(len(x))
    if kind == "poisson":
        return x, rng.poisson(np.exp(linear)).astype(float)
    return x, (rng.random(len(x)) < 1 / (1 + np.exp(-linear))).astype(float)


@lru_cache(maxsize=64)
def released(id: str, kind: str, units: tuple[float, ...], lam: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return coefficients and widths of limits in the first units, and what is paid for, from a run without noise."""
    x, y = rows(kind)
    x = x * np.array(units)
    public = public_from_rows(x[:M], y[:M], names(D, True), "y", ridge=0.0, family=family(kind), lam=lam)
    planned = plan(id, public, N, 1.0)
    planned.prepare()
    noise = SeededNoise(3) if id.startswith("ldp-") else ZeroNoise()
    outcome = planned.run(PrivateRows.from_arrays(x[M:], y[M:], names(D, True)), noise, 1)
    bands = outcome.bands()
    widths = np.ones(D) if bands is None else (bands.high - bands.low) * units
    paid = np.array([(part.sensitivity, part.sd, part.mu) for part in planned.parts()], dtype=float)
    return outcome.coefficients[0] * units, widths, paid


def assert_same(mine: tuple[np.ndarray, ...], plain: tuple[np.ndarray, ...], widths: float = 1e-3) -> None:
    """Compare to a thousandth of a limit's width, beyond which rounding or a solver's end does not reach."""
    assert np.all(np.abs(mine[0] - plain[0]) <= 1e-3 * np.maximum(np.abs(plain[0]), plain[1] * (plain[1] != 1)))
    assert np.allclose(mine[1], plain[1], rtol=widths)
    assert np.allclose(mine[2], plain[2], rtol=1e-6)


@pytest.mark.parametrize("power", [-5, 6])
@pytest.mark.parametrize(("id", "kind"), INVARIANT)
def test_a_column_in_another_unit_has_its_coefficient_in_it(id: str, kind: str, power: int) -> None:
    """Without a penalty: 10^k times a column in both tables, 10^-k times its coefficient, all else the same."""
    scaled = (1.0, 1.0, 10.0**power, 1.0)
    assert_same(released(id, kind, scaled, 0.0), released(id, kind, tuple(ONES), 0.0), _WIDTHS.get(id, 1e-3))


@pytest.mark.parametrize("entry", [entry for entry in methods() if entry.whitens], ids=lambda entry: entry.id)
def test_a_radius_in_whitened_units_does_not_depend_on_those_of_columns(entry: Method) -> None:
    """The entries that say so: the page on conditioning puts their radius on the axis of whitened lengths."""
    x, y = rows(entry.families[0])
    radii = []
    for scale in (1.0, 100.0):
        features = np.column_stack([x[:M, 0], x[:M, 1:] * scale])
        public = public_from_rows(features, y[:M], names(D, True), "y", ridge=0.0, family=family(entry.families[0]))
        radii.append(plan(entry.id, public, N, 1.0).facts().radius or 0.0)
    assert np.isclose(*radii, rtol=1e-6)


@pytest.mark.parametrize("power", [-4])
@pytest.mark.parametrize(("id", "kind"), [(id, kind) for id, kind in INVARIANT if kind != "gaussian"])
def test_a_penalty_has_the_unit_of_the_table(id: str, kind: str, power: int) -> None:
    """All columns times 10^k and the penalty times 10^2k are the same problem."""
    scaled = (1.0, *(10.0**power,) * (D - 1))
    assert_same(released(id, kind, scaled, 0.01 * 100.0**power), released(id, kind, tuple(ONES), 0.01))


@pytest.mark.parametrize("lam", [0.01, 1e9])
@pytest.mark.parametrize("unit", [1e-6, 1e6])
@pytest.mark.parametrize(("id", "kind"), [(id, kind) for id, kind in SOUND if kind in ("logistic", "poisson")])
def test_no_penalty_loses_a_release(id: str, kind: str, unit: float, lam: float) -> None:
    """A penalty beyond all curvature leaves a coefficient of 0 and limits, or is refused before the spend."""
    try:
        coefficients, widths, _ = released(id, kind, (1.0, 1.0, unit, 1.0), lam)
    except InputError as refused:
        assert refused.message is MethodMessage.DIVERGES and lam > 1
        return
    assert np.isfinite(widths).all()
    assert np.isfinite(coefficients).all() or id.startswith("ldp-glm")
