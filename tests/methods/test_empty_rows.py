"""A row of zeros adds nothing to any sum: over all methods, derived columns, missing policies and people's fillers."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.private_rows import PrivateRows
from pmtcore.explore.confirm import problem_of
from pmtcore.explore.moment import Moment
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.perturbed import Mechanism
from pmtcore.methods.registry import make_parameters, method, methods
from pmtcore.releases.release import Request, release
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import Problem, prepare
from pmtcore.tables.table import read_path, table_from, with_rows
from tests.helpers import TEST

DERIVED = ["", "log(a); log(c)", "square(a); a:b; product(b, c)", "spline(b, 3); spline(c, 5)", "log(y); spline(y)"]
# A device without a value answers too (decision 10), so the local methods are no sums over rows that are there.
CENTRAL = [entry for entry in methods() if not entry.id.startswith("ldp")]
EMPTY = 40

KEY = bytes(range(32))


def frame(rows: int, seed: int, labels: bool = False) -> pd.DataFrame:
    """Positive, signed and far from zero: columns of which a logarithm or a spline of 0 is not 0."""
    rng = np.random.default_rng(seed)
    data_frame = pd.DataFrame(
        {"a": np.exp(rng.normal(size=rows)), "b": rng.normal(size=rows), "c": 50 + rng.normal(size=rows)}
    )
    y = 2 * np.log(data_frame["a"]) + data_frame["b"] + 0.1 * rng.normal(size=rows)
    return data_frame.assign(y=(y > 0).astype(int) if labels else np.abs(y) + 1)


def problem(private: pd.DataFrame, choices: Choices, rows: int | None = None) -> Problem:
    table = table_from(private, "p", "private")
    public = frame(80, 1, choices.family != "gaussian")
    return prepare(table if rows is None else with_rows(table, rows), table_from(public, "b", "public"), choices)


def choices(entry, **more) -> Choices:
    intercept = entry.task != "nonlinear"
    return Choices(target="y", family=entry.families[0], intercept=intercept, **more)


def released(entry, result: Problem, **values: object) -> np.ndarray:
    """Return what leaves at one seed, as numbers."""
    plan = entry.plan(result.public, result.private.n, Budget(2.0), make_parameters(entry, values))
    outcome = plan.run(result.private, SeededNoise(3), 1)
    return np.asarray(outcome.coefficients)


@pytest.mark.parametrize("gap", ["a", "y"])
@pytest.mark.parametrize("missing", ["empty-row", "public-median"])
@pytest.mark.parametrize("entry", CENTRAL, ids=lambda entry: entry.id)
def test_a_row_without_a_value_adds_nothing(entry, missing, gap):
    """What is released from n rows, some without a value, is what the others give alone at the same n."""
    asked = choices(entry, missing=missing)
    rows = frame(300, 2, asked.family != "gaussian")
    holes = rows.astype(float)
    holes.loc[: EMPTY - 1, gap] = np.nan
    remaining = rows.iloc[EMPTY:]
    if missing == "public-median" and gap == "a":
        remaining = pd.concat([rows[:EMPTY].assign(a=float(frame(80, 1)["a"].median())), remaining])
    alone = released(entry, problem(remaining, asked, 300))
    assert np.allclose(released(entry, problem(holes, asked)), alone, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("entry", CENTRAL, ids=lambda entry: entry.id)
def test_a_table_without_rows_is_one_of_rows_of_zeros(entry, rows, tmp_path):
    """Where n is declared nothing tells whether anybody is there: no error, and what leaves is drawn alike."""
    asked = choices(entry)
    labels = asked.family != "gaussian"
    some = frame(300, 2, labels).iloc[:rows]
    some.to_csv(tmp_path / "p.csv", index=False)
    private = read_path(tmp_path / "p.csv", "private", 300)
    assert len(hash_cells(private, KEY).hashes) == rows
    few = prepare(private, table_from(frame(80, 1, labels), "b", "public"), asked)
    holes = frame(300, 2, labels).astype(float)
    holes.loc[rows:, "y"] = np.nan
    assert np.allclose(released(entry, few), released(entry, problem(holes, asked)), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("derived", DERIVED)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("missing", ["empty-row", "public-median"])
def test_nothing_is_derived_from_a_row_of_zeros(missing, intercept, derived):
    """The moment of all columns, bit for bit, whatever is derived."""
    entry, asked = method("joint-moment"), Choices(target="y", missing=missing, intercept=intercept)
    holes = frame(300, 2)
    holes.loc[: EMPTY - 1, "y"] = np.nan
    collected = [problem(holes, asked), problem(holes.iloc[EMPTY:], asked, 300)]
    plan = entry.plan(collected[0].public, 300, Budget(2.0), make_parameters(entry, {"derived": derived}))
    first, second = (plan.measure(one.private).reveal(TEST) for one in collected)
    assert np.array_equal(first, second)
    zeros = PrivateRows.from_arrays(np.zeros((5, len(plan.public.names) - len(plan.derived.rules))), np.zeros(5), ())
    assert not np.any(plan.measure(zeros).reveal(TEST))


@pytest.mark.parametrize("entry", CENTRAL, ids=lambda entry: entry.id)
def test_the_fillers_of_people_add_nothing(entry):
    """Everybody has one row and room for three: two in three rows are fillers, and the sums stay what they were."""
    asked = choices(entry)
    rows = frame(200, 4, asked.family != "gaussian").assign(who=[f"p{j}" for j in range(200)])
    filled = problem(rows, replace(asked, person="who", person_rows=3))
    assert filled.private.n == 600
    alone = released(entry, problem(rows.drop(columns="who"), asked, 600))
    assert np.allclose(released(entry, filled), alone, rtol=1e-6, atol=1e-9)


def test_a_slope_of_a_logarithm_is_not_drawn_to_zero():
    """One cell in ten missing: the slope of log(a) is 2, in the record and in what confirms it."""
    rows = frame(20_000, 5)
    rows["y"] = 2 * np.log(rows["a"]) + rows["b"] + 0.1 * np.random.default_rng(6).normal(size=20_000)
    holes = rows.copy()
    holes.loc[:1999, "b"] = np.nan
    public = table_from(rows[-300:], "b", "public")
    prepared = prepare(table_from(holes[:-300], "p", "private"), public, Choices(target="y"))
    record = release(prepared, Request("joint-moment", Budget(20.0), {"derived": "log(a)"}), SeededNoise(1)).as_dict()
    fit = Moment.from_bytes(json.dumps(record).encode()).regress("y ~ log(a) + b")
    assert fit.fit.coefficients[fit.names.index("log(a)")] == pytest.approx(2.0, abs=0.02)
    again = problem_of(prepared, Moment.from_bytes(json.dumps(record).encode()).record, fit)
    z = again.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    assert int(np.sum(~np.any(z, axis=1))) == 2000


@pytest.mark.parametrize("id", ["dp-erm", "napp-public", "pmt-objective", "non-private"])
def test_a_declared_number_of_rows_hides_how_many_are_there(id):
    """Methods that go through rows many times take the declared n of them, whether so many are at hand or fewer."""
    entry = method(id)
    asked = choices(entry)
    rows = frame(300, 2, asked.family != "gaussian")
    for at_hand in (300, 299, 260):
        prepared = problem(rows[:at_hand], asked, 300)
        plan = entry.plan(prepared.public, 300, Budget(2.0), make_parameters(entry, {}))
        sizes = prepared.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
        assert len(sizes) == 300 and not np.any(sizes[at_hand:])
        passed = prepared.private.in_equal_blocks().sum(
            lambda x, y: np.array([len(y), np.count_nonzero(x.any(axis=1))])
        )
        assert passed.reveal(TEST).tolist() == [300, at_hand]
        assert np.all(np.isfinite(released(entry, prepared))) and plan.mu <= 2.0


@pytest.mark.parametrize("id", ["dp-erm", "napp-public"])
def test_the_lattice_is_that_of_the_declared_rows(id, monkeypatch):
    """The grid and the covering noise of a minimizer come from n, never from the rows that are held."""
    entry, called = method(id), []
    minimizer_release = Mechanism.minimizer_release
    monkeypatch.setattr(Mechanism, "minimizer_release", lambda self, n: called.append(n) or minimizer_release(self, n))
    prepared = problem(frame(300, 2), choices(entry))
    plan = entry.plan(prepared.public, 300, Budget(2.0), make_parameters(entry, {}))
    z = prepared.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    for at_hand in (300, 299):
        fewer = PrivateRows(lambda at_hand=at_hand: [(z[:at_hand, :-1], z[:at_hand, -1])], 300, prepared.private.names)
        plan.run(fewer, SeededNoise(3), 1)
    assert set(called) == {300}
