"""A row becomes the same numbers wherever it stands and whatever else is in the table (proofs/rows.md, 20)."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base import private_rows
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import ReleaseMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import family
from pmtcore.local import protocol
from pmtcore.mechanisms import grid, integers, minimizer, randomizers
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods import dp_gd, pmt_objective
from pmtcore.methods.registry import make_parameters, methods
from pmtcore.public.moments import INTERCEPT, public_from_rows
from pmtcore.releases.release import Request, planned_guarantee
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table
from tests.helpers import refused

# As many columns as make a library's product add up rows near the end of a block in another order.
COLUMNS, ROWS = 20, 65
SOUND = [entry for entry in methods() if entry.standing is ReleaseStatus.SOUND]
# Their statistics are sums of integers: a release has the same bits whatever the order of the rows.
SUMS_OF_REALS = {"pmt-objective", "dp-erm", "napp-public"}


def rows(chosen):
    """Rows of 20 features with an intercept, of sizes far apart, and responses that suit a family."""
    rng = np.random.default_rng(11)
    x = rng.normal(size=(ROWS, COLUMNS)) * 10.0 ** rng.integers(-3, 4, size=COLUMNS)
    x[:, 0] = 1.0
    y = np.sum(x / np.abs(x).max(axis=0), axis=1) + rng.normal(size=ROWS)
    return x, (y > np.median(y)).astype(float) if family(chosen).binary else np.abs(np.rint(y))


def run(entry, x, y, first=0, **values):
    """Return a plan's coefficients, or what else it releases, of these rows at one seed."""
    chosen = entry.families[0]
    a, b = rows(chosen)
    rng = np.random.default_rng(1)
    more = np.repeat(a, 8, axis=0) * rng.uniform(0.5, 1.5, (8 * ROWS, 1))
    names = (INTERCEPT, *(f"x{j}" for j in range(1, COLUMNS)))[first:]
    more[:, 0] = 1.0
    public = public_from_rows(more[:, first:], np.repeat(b, 8), names, "y", family=family(chosen))
    plan = entry.plan(public, len(y), Budget(1.0), make_parameters(entry, values))
    return plan.run(PrivateRows.from_arrays(x[:, first:], y, names), SeededNoise(3), 1)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2, 3, 8, 20, 101])
@pytest.mark.parametrize("outputs", [1, 2, 7, 101])
def test_a_product_has_the_same_bits_in_every_place_of_every_block(columns, outputs):
    """Rows moved, cut into blocks of any size, laid out by columns, beside rows that are far larger or no numbers."""
    rng = np.random.default_rng(columns)
    x = rng.normal(size=(999, columns)) * 10.0 ** rng.integers(-150, 150, size=(999, 1))
    matrix = rng.normal(size=(columns, outputs)) * 10.0 ** rng.integers(-9, 9, size=(columns, 1))
    x[5], x[6, 0], x[7, 0], x[8] = 0.0, np.nan, np.inf, 1e-308
    expected = row_products(x, matrix)
    order = rng.permutation(len(x))
    np.testing.assert_array_equal(row_products(x[order], matrix), expected[order])
    np.testing.assert_array_equal(row_products(np.asfortranarray(x), matrix), expected)
    for size in (1, 2, 3, 64, 97):
        cut = [row_products(x[at : at + size], matrix) for at in range(0, len(x), size)]
        np.testing.assert_array_equal(np.concatenate(cut), expected)
    assert np.isnan(expected[6:8]).all() and np.all(expected[5] == 0.0)
    good = np.isfinite(expected).all(axis=1)
    exact = x[good].astype(np.longdouble) @ matrix.astype(np.longdouble)
    size = np.max(np.abs(x[good])[:, :, None] * np.abs(matrix)[None], axis=1).max(axis=1, keepdims=True)
    assert np.all(np.abs(expected[good] - exact) <= 1e-12 * columns * size + 1e-290)


def test_a_predictor_of_integer_rows_has_the_same_bits_in_every_place():
    """Directions of 16 bits times points of 36 bits: every product is exact."""
    rng = np.random.default_rng(0)
    x, theta = rng.normal(size=(ROWS, COLUMNS)), rng.normal(size=(1, COLUMNS))
    order = rng.permutation(ROWS)
    predictors = []
    for rows_in_order in (x, x[order]):
        made = integers.IntegerRows.of_any_length(rows_in_order, np.zeros(ROWS))
        ((_, _, z),) = made._linear_predictors(theta)
        predictors.append(z[:, 0])
    np.testing.assert_array_equal(predictors[0][order], predictors[1])
    np.testing.assert_allclose(predictors[0], (x @ theta.T)[:, 0], atol=1e-3)


@pytest.mark.parametrize("entry", SOUND, ids=lambda entry: entry.id)
def test_a_row_is_the_same_numbers_wherever_it_stands(entry, monkeypatch):
    """Rows before they are rounded, in another order and behind a row that is gone, as people's rows move others up."""
    x, y = rows(entry.families[0])
    first = 1 if entry.task == "nonlinear" else 0
    monkeypatch.setattr(private_rows, "_NUMBERS_OF_A_BLOCK", 1)
    monkeypatch.setattr(private_rows, "_ROWS_OF_A_PART", 64)
    met = []

    def spied(module, name):
        original = getattr(module, name)

        def function(values, *more):
            met[-1].update(row.tobytes() for row in np.ascontiguousarray(values))
            return original(values, *more)

        monkeypatch.setattr(module, name, function)

    for module, name in (
        (integers, "grid_rows"),
        (grid, "grid_rows"),
        (protocol, "grid_rows"),
        (randomizers, "grid_rows"),
        (dp_gd, "truncate_within"),
        (pmt_objective, "truncate_within"),
        (minimizer, "truncate_within"),
    ):
        spied(module, name)
    order = np.random.default_rng(4).permutation(ROWS)
    outcomes = []
    for places in (np.arange(ROWS), order, np.roll(order, 1)):
        met.append(set())
        outcomes.append(run(entry, x[places], y[places], first, **({"steps": 1} if entry.id == "dp-gd" else {})))
    assert met[0] == met[1] == met[2]
    if entry.id not in SUMS_OF_REALS:
        for other in outcomes[1:]:
            np.testing.assert_array_equal(other.transcript(), outcomes[0].transcript())


def test_privunit_is_refused_where_people_move_rows():
    """The rows of a block share their directions: the guarantee is for a row at its place."""
    rng = np.random.default_rng(0)

    def made(n, role):
        frame = pd.DataFrame({"a": rng.normal(size=n), "y": rng.integers(0, 2, n), "who": rng.integers(0, 50, n)})
        return read_table(frame.to_csv(index=False).encode(), f"{role}.csv", role)

    choices = Choices(target="y", features=("a",), family="logistic", person="who")
    problem = prepare(made(200, "private"), made(80, "public"), choices)
    privunit = {"randomizer": "privunit"}
    with refused(ReleaseMessage.PLACES_SHARE_NOISE):
        planned_guarantee(problem, Request("ldp-whitened", Budget(1.0), privunit))
    planned_guarantee(problem, Request("ldp-whitened", Budget(1.0), {}))
