"""The unit of protection: k rows per person declared, or an identifier with at most k rows of each person."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours, attacker_power
from pmtcore.base.checks import InputError
from pmtcore.base.records import Standing
from pmtcore.data.choices import Choices
from pmtcore.data.persons import bounded
from pmtcore.data.problem import prepare
from pmtcore.data.tables import read_table
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.release import Request, recorded_release
from tests.helpers import TEST

CHOICES = Choices(target="y", features=("a", "b"), missing="empty-row")


def frame(n: int, seed: int, who: np.ndarray | None = None) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)})
    made["y"] = made["a"] - made["b"] + rng.standard_normal(n)
    return made if who is None else made.assign(who=who)


def problem_of(private: pd.DataFrame, rows: int | None):
    public = read_table(frame(60, 9).to_csv(index=False).encode(), "b.csv", "public")
    found = prepare(read_table(private.to_csv(index=False).encode(), "p.csv", "private"), public, CHOICES)
    return found if rows is None else bounded(found, "who", rows)


def moved(one, other) -> float:
    """How far a sum of vectors of length at most 1, one for each row, moves between two tables."""

    def unit(x, y):
        z = np.column_stack([x, y])
        return (z / np.maximum(1.0, np.linalg.norm(z, axis=1))[:, None]).sum(axis=0)

    return float(np.linalg.norm(one.private.sum(unit).reveal(TEST) - other.private.sum(unit).reveal(TEST)))


@pytest.mark.parametrize("have", [1, 10, 1000])
@pytest.mark.parametrize("most", [1, 3])
def test_a_person_moves_a_sum_no_more_than_their_rows_allow(have, most):
    """Whole persons exchanged for the worst one, wherever their rows lie: at most 2 k, however many they have."""
    rng = np.random.default_rng(have)
    who = np.array([f"p{i}" for i in range(1200 - have)] + ["x"] * have)[rng.permutation(1200)]
    private = frame(1200, 2, who)
    worst = private.copy()
    theirs = worst["who"] == "x"
    worst.loc[theirs, ["a", "b", "y"]] = [[1e6, -1e6, 1e6]] * have
    worst.loc[theirs, "who"] = "another"
    private.loc[theirs, ["a", "b", "y"]] = [[-1e6, 1e6, -1e6]] * have
    step = moved(problem_of(private, most), problem_of(worst, most))
    assert step <= 2 * min(have, most) * (1 + 1e-9)
    assert step > 1.9 * min(have, most), "the bound is reached: a looser test could not fail"
    assert have <= most or moved(problem_of(private, None), problem_of(worst, None)) > 1.9 * have


def test_rows_without_an_identifier_are_one_persons():
    """Leaving the identifier empty does not give a person more rows."""
    who = np.array([f"p{i}" for i in range(300)], dtype=object)
    private = frame(300, 2, who)
    other = private.copy()
    other.loc[:99, "who"] = ""
    private.loc[:99, "who"] = "NA"
    other.loc[:99, ["a", "b", "y"]] = 1e6
    private.loc[:99, ["a", "b", "y"]] = -1e6
    assert moved(problem_of(private, 2), problem_of(other, 2)) <= 4 * (1 + 1e-9)


@pytest.mark.parametrize("rows", [1, 2, 10])
def test_the_guarantee_is_for_a_person(rows, tmp_path):
    """mu times k in the words, in the record and in the ledger; the cap is held against it."""
    request = Request("joint-pmt", Budget(0.2), rows_per_person=rows)
    assert Request.from_dict(request.as_dict()).rows_per_person == rows
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 2.0)
    found = recorded_release(problem_of(frame(400, 1), None), request, SecureNoise(), ledger, "survey", "k").release
    assert found.guarantee.mu == 0.2 and found.guarantee.person.mu == pytest.approx(0.2 * rows)
    assert ledger.account("survey").spent == pytest.approx(0.2 * rows)
    percent = f"{np.ceil(1000 * attacker_power(0.2 * rows, 0.05)) / 10:g} %"
    assert percent in found.guarantee.words and (rows == 1 or f"at most {rows}" in found.guarantee.words)
    again = type(found).from_dict(found.as_dict())
    assert again.guarantee == found.guarantee and found.standing is Standing.SOUND
    with pytest.raises(LedgerError, match="pass the cap"):
        more = Request("joint-pmt", Budget(2.0), rows_per_person=rows)
        recorded_release(problem_of(frame(400, 1), None), more, SecureNoise(), ledger, "survey", "l")


def test_group_privacy_is_that_of_the_trade_off_curves():
    """k mu is exact for GDP: k neighbours in a row, each mu apart, are normal means k mu apart."""
    promise = Guarantee(0.3, Neighbours.REPLACE_ONE, 1e-6, 5)
    assert promise.person == Guarantee(1.5, Neighbours.REPLACE_ONE, 1e-6)
    assert promise.as_dict()["person"]["epsilon"] == promise.person.epsilon


def test_what_cannot_be_asked():
    """No such column, the identifier among the features, no rows at all."""
    problem = problem_of(frame(100, 1, np.arange(100)), None)
    for column, rows in (("nobody", 1), ("a", 1), ("y", 1), ("who", 0), ("who", 10**9)):
        with pytest.raises(InputError):
            bounded(problem, column, rows)
    with pytest.raises(InputError):
        Request("joint-pmt", Budget(1.0), rows_per_person=0)
