"""Piecewise-exponential survival: rows of periods, hazard ratios and curves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
import statsmodels.formula.api as smf
from hypothesis import given, settings
from hypothesis import strategies as st

import pmtcore as pc
from pmtcore.api.survival import hazard_ratios, person_periods, survival_curve
from pmtcore.base.messages import FaceMessage, InputError
from tests.helpers import refused

CUTS = [0.5, 1.5]


def persons(n: int, seed: int) -> pd.DataFrame:
    """Times with a hazard of 0.6, 0.3 and 0.5 in turn, times e^(0.7 treated - 0.4 age); seen for 3 years at most."""
    rng = np.random.default_rng(seed)
    treated, age = rng.integers(0, 2, n).astype(float), rng.normal(size=n)
    need = rng.exponential(size=n) / np.exp(0.7 * treated - 0.4 * age)
    edges, hazard = np.array([0.0, *CUTS]), np.array([0.6, 0.3, 0.5])
    spent = np.array([0.0, 0.3, 0.6])  # of the baseline hazard, at each edge
    at = np.searchsorted(spent, need, side="right") - 1
    time = edges[at] + (need - spent[at]) / hazard[at]
    stop = rng.uniform(1, 3, n)
    return pd.DataFrame({"treated": treated, "age": age, "t": np.minimum(time, stop), "d": (time <= stop).astype(int)})


def split(frame: pd.DataFrame) -> pd.DataFrame:
    return person_periods(frame, duration="t", event="d", cuts=CUTS)


@pytest.mark.slow
def test_hazard_ratios_and_curves():
    """A release says what statsmodels says of the same periods, what was planted, and the curve that it means."""
    private, public = persons(8000, 1), persons(500, 2)
    rows = split(private)
    model = pc.PrivateRegressor(
        mu=20.0,
        formula="event ~ treated + age + C(period)",
        family="poisson",
        lam=0.0,
        exposure="at_risk",
        person="person",
        rows_per_person=3,
    )
    shown = split(public)
    shown["person"] = -1 - shown["person"]
    model.fit(rows, shown, seed=1, quiet=True)
    observed = rows[rows["at_risk"] > 0]
    theirs = smf.glm(
        "event ~ treated + age + C(period)", observed, family=sm.families.Poisson(), exposure=observed["at_risk"]
    ).fit(cov_type="cluster", cov_kwds={"groups": observed["person"]})
    assert (np.abs(model.params - theirs.params) / theirs.bse < 2).all()
    ratios = hazard_ratios(model.results_)
    assert list(ratios.index) == ["treated", "age"]
    for name, truth in (("treated", np.exp(0.7)), ("age", np.exp(-0.4))):
        assert ratios.loc[name, "low"] < truth < ratios.loc[name, "high"]
    person = pd.DataFrame({"treated": [0.0], "age": [0.0]})
    curve = survival_curve(model.results_, person, cuts=CUTS, times=[0.0, 0.5, 1.5, 2.5])
    assert np.allclose(curve, np.exp([0.0, -0.3, -0.6, -1.1]), atol=0.03)


def test_time_at_risk_adds_up():
    """Everybody has every period; times at risk add up to the time seen, events to one at most."""
    frame = persons(200, 3)
    rows = split(frame)
    assert len(rows) == 600
    sums = rows.groupby("person")[["at_risk", "event"]].sum()
    assert np.allclose(sums["at_risk"], frame["t"]) and np.array_equal(sums["event"], frame["d"])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.one_of(st.floats(), st.none(), st.text(max_size=3)), st.sampled_from(["t", "d"]))
def test_a_time_concerns_its_person_alone(cell, column):
    """Whatever stands for one time or event, there are as many rows, and those of others stay as they are."""
    frame = persons(6, 4)
    other = frame.astype(object)
    other.at[2, column] = cell
    one, two = split(frame), split(other)
    assert len(one) == len(two)
    others = (one["person"] != 2).to_numpy()
    for name in ("at_risk", "event", "period", "person"):
        assert np.array_equal(one.loc[others, name].to_numpy(), two.loc[others, name].to_numpy())


@pytest.mark.parametrize("cell", [10**400, 1j, [1], "2020-01-01", b"1"])
@pytest.mark.parametrize("column", ["t", "d"])
def test_no_cell_ends_or_changes_the_periods_of_others(cell, column):
    """A number too large for a float raised, and a complex one warned."""
    frame = persons(6, 3).astype({column: object})
    frame.iloc[2, frame.columns.get_loc(column)] = None
    other = frame.copy()
    other.at[2, column] = cell
    pd.testing.assert_frame_equal(split(frame).query("person != 2"), split(other).query("person != 2"))


def test_an_index_with_a_label_twice_is_no_more_rows():
    """Whose rows lie under which label is private; each row has its periods."""
    frame = persons(4, 3)
    pd.testing.assert_frame_equal(split(frame.set_axis([7, 7, None, "a"])), split(frame))


@pytest.mark.parametrize("cuts", [[1.0, 0.5], [0.0], [np.inf], [np.nan], [-1.0]])
def test_cuts_are_in_order(cuts):
    """Cuts that are no periods, and columns that are not there or are taken."""
    with pytest.raises(InputError):
        person_periods(persons(3, 1), duration="t", event="d", cuts=cuts)
    with pytest.raises(InputError):
        person_periods(persons(3, 1).assign(person=1), duration="t", event="d", cuts=CUTS)
    with pytest.raises(InputError):
        person_periods(persons(3, 1), duration="time", event="d", cuts=CUTS)


def test_other_regressions_have_no_hazards():
    """A regression that is not of counts."""
    rows = persons(300, 1)
    made = pc.PrivateRegressor(mu=1.0, features=["age"]).fit(rows, persons(60, 2), target="t", seed=1, quiet=True)
    with refused(FaceMessage.NO_HAZARDS):
        hazard_ratios(made.results_)
