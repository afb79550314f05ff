"""Arguments of a wrong type, or that contradict one another: a sentence, and nothing spent."""

from __future__ import annotations

import io
import pickle
import struct
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pmtcore import Ledger, LocalAggregator, LocalClient, Moment, PrivateRegressor, load, plan
from pmtcore.api.frames import moment
from pmtcore.base.messages import ArgumentMessage, FaceMessage, InputError, TableMessage
from tests.helpers import refused
from tests.ledger.test_log import table

HALF = "\ud800"  # of a character
TRUTHS = [True, np.True_]
WRONG = [
    ({"settings": "radius=1"}, {}),
    ({"features": [1]}, {}),
    ({"features": ["a", None]}, {}),
    ({"levels": {"a": 1}}, {}),
    ({"levels": {"a": "12"}}, {}),
    ({"levels": "a=1|2"}, {}),
    ({"levels": {1: ["u"]}}, {}),
    ({"kinds": {"a": 1}}, {}),
    ({"kinds": "a=level"}, {}),
    ({"positive": 1}, {}),
    ({"schema": 1}, {}),
    ({"schema": []}, {}),
    ({"person": "a", "features": ["a", "b"]}, {}),
    ({}, {"dataset": 1}),
    ({}, {"key": 1}),
    ({}, {"purpose": 1}),
    ({}, {"ledger": None, "dataset": "D", "lab": True}),
    ({}, {"ledger": None, "dataset": None, "key": "k", "seed": 1}),
    ({}, {"ledger": None, "dataset": None, "purpose": "why", "lab": True}),
    *(({name: ""}, {}) for name in ("person", "weights", "exposure", "cluster", "method", "family", "positive")),
    *(({}, {name: ""}) for name in ("target", "dataset", "key")),
    ({"formula": ""}, {"target": None}),
    *(({"mu": None, name: truth, "delta": 1e-6}, {}) for name in ("rho", "epsilon") for truth in TRUTHS),
    *(({name: truth}, {}) for name in ("mu", "public_ridge", "rows_per_person", "delta") for truth in TRUTHS),
    *(({"settings": {"radius": truth}}, {}) for truth in TRUTHS),
    ({}, {"ledger": None, "dataset": None, "seed": True}),
    *(({}, {"ledger": None, "dataset": None, "lab": lab}) for lab in ("no", "", 0.5)),
    ({}, {"quiet": "no"}),
    *(({name: value}, {}) for name in ("missing", "unseen", "collinear", "person_rule") for value in (1, np.eye(2))),
    *(({name: value}, {}) for name in ("mu", "lam", "public_ridge") for value in (Decimal(1), np.ones(1), [1.0])),
    *(({"features": value}, {}) for value in (1, True, Path("a"))),
    *(({"schema": value}, {}) for value in ("a\0b", "\ud800")),
    *(({name: value}, {}) for name, value in (("positive", HALF), ("kinds", {"a": f"like {HALF}1"}))),
    ({"levels": {"a": ["u", HALF]}}, {}),
    ({"cluster": "y"}, {}),
    ({"cluster": "a", "features": ["a", "b"]}, {}),
    ({"cluster": "a", "formula": "y ~ a + b"}, {"target": None}),
    ({"formula": "y ~ a + log(abs(y))"}, {"target": None}),
]


@pytest.fixture
def fit(tmp_path):
    """Return a function that fits with these arguments, and the ledger it spends in."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("D", 10)
    private, public = (pd.read_csv(io.BytesIO(table(n, seed))) for n, seed in ((400, 1), (50, 2)))

    def fitted(model, call):
        call = {"target": "y", "ledger": ledger, "dataset": "D", "quiet": True, **call}
        return PrivateRegressor(**{"mu": 0.5, **model}).fit(private, public, **call)

    return fitted, ledger


@pytest.mark.parametrize(("model", "call"), WRONG, ids=map(str, WRONG))
def test_a_wrong_argument_is_a_sentence(fit, model, call):
    """They were errors of Python from deep inside, or passed over in silence."""
    fitted, ledger = fit
    with pytest.raises(InputError) as caught:
        fitted(model, call)
    assert not caught.value.by_program
    assert not ledger.account("D").entries


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.float32, np.float64, int])
def test_numpys_numbers_are_numbers(fit, kind):
    """A small integer type overflowed on the way, and a record holds plain numbers."""
    fitted, ledger = fit
    model = fitted({"mu": kind(1), "delta": 1e-6}, {})
    assert model.record_["guarantee"]["mu"] == 1.0 and type(model.release_.guarantee.mu) is float
    assert ledger.account("D").spent == 1.0


@pytest.mark.parametrize("where", [1, None, b"l.db", ["l.db"], True], ids=repr)
def test_a_ledger_is_at_a_path_or_an_address(where, tmp_path):
    """What is neither is a sentence; a path is taken as the estimators take it."""
    with refused(ArgumentMessage.WRONG_TYPE):
        Ledger(where)
    Ledger(tmp_path / "l.db").cap("D", 1.0)
    assert Ledger(str(tmp_path / "l.db")).account("D").cap == 1.0


@pytest.mark.parametrize("path", [1, None, b"r.json", "a\0b", "\ud800", [], pd.DataFrame()], ids=repr)
@pytest.mark.parametrize("read", [load, Moment.load])
def test_what_names_no_file_is_no_record(read, path):
    """A sentence and no error of the system's calls."""
    with pytest.raises(InputError):
        read(path)


@pytest.mark.parametrize("path", [1, b"r.json", "a\0b", "\ud800", [], pd.DataFrame(), ".", "no/such/r.json"], ids=repr)
@pytest.mark.parametrize("write", ["to_json", "report"])
def test_where_no_file_can_be_written_a_sentence_says_so(fit, path, write, tmp_path, monkeypatch):
    """The release is there all the same, and is written elsewhere by the next call."""
    monkeypatch.chdir(tmp_path)
    model = fit[0]({}, {"ledger": None, "dataset": None, "lab": True})
    with refused(FaceMessage.NOT_WRITABLE):
        getattr(model, write)(path)
    getattr(model, write)(tmp_path / "there")
    assert (tmp_path / "there").stat().st_size > 0


@pytest.mark.parametrize(
    "weights",
    [{"a": "x"}, {"a": None}, {1: 1.0}, {"a": 0.0}, {"a": np.inf}, [{"a": [1]}], np.zeros((1, 3)), [[1]], 5],
    ids=repr,
)
def test_constraints_are_numbers_and_not_all_zero(fit, weights):
    """Of a contrast without weights a t was computed as zero by zero, with a warning."""
    results = fit[0]({}, {}).results_
    for ask in (results.t_test, results.wald_test):
        with pytest.raises(InputError):
            ask(weights)
    with pytest.raises(InputError):
        results.cov_params(["privacy"])


@pytest.mark.parametrize("intercept", [np.bool_(False), 0])
def test_numpys_truth_values_are_truth_values(fit, intercept):
    """The record of such a release could not be written."""
    fitted, ledger = fit
    assert "(intercept)" not in fitted({"intercept": intercept}, {"purpose": None}).record_["coefficients"]
    assert len(ledger.account("D").entries) == 1


FOR_INTERCEPTS = [
    ("(intercept)", {"features": ["a", "(intercept)"]}, "y"),
    *((name, {"formula": f"y ~ a + `{name}`"}, None) for name in ("(intercept)", "Intercept")),
    *((name, {"formula": f"y ~ 0 + a + `{name}`"}, None) for name in ("(intercept)", "Intercept")),
]


@pytest.mark.parametrize(("name", "model", "target"), FOR_INTERCEPTS, ids=str)
def test_no_feature_passes_for_the_intercept(name, model, target):
    """A column of its name vanished, or told that a model without intercept had one."""
    frame = pd.DataFrame(np.random.default_rng(0).normal(size=(200, 3)), columns=["a", name, "y"])
    with refused(TableMessage.FEATURE_IS_INTERCEPT):
        PrivateRegressor(1.0, **model).fit(frame[:150], frame[150:], target=target, lab=True)


@pytest.mark.parametrize("name", ["(intercept)", "intercept", "const", "1"])
@pytest.mark.parametrize("call", ["plan", "fit"])
def test_no_feature_is_the_intercept_of_a_moment(name, call, tmp_path):
    """The row of the intercept of a matrix was left out of the features in silence."""
    names = [name, "a", "y"]
    pd.DataFrame(np.eye(3), columns=names).to_csv(tmp_path / "m.csv", index=False)
    public = moment(tmp_path / "m.csv")
    model = PrivateRegressor(1.0, features=["a", name])
    private = pd.DataFrame(np.ones((50, 3)), columns=names)
    with refused(TableMessage.FEATURE_IS_INTERCEPT):
        model.plan(public, n=50, target="y") if call == "plan" else model.fit(private, public, target="y", lab=True)


@pytest.mark.parametrize("n", [True, np.True_, 1.5, "x", -1, float("nan")], ids=str)
def test_a_number_of_rows_is_a_whole_number(n):
    """In every question about a budget."""
    rng = np.random.default_rng(0)
    public, model = pd.DataFrame(rng.normal(size=(50, 2)), columns=["a", "y"]), PrivateRegressor(1.0)
    with pytest.raises(InputError):
        model.plan(public, n=n, target="y")
    with pytest.raises(InputError):
        model.needed(public, n=n, target="y", coefficient="a", half_width=0.1)


NAMES = [True, 1, None, 1.5, b"D", ["D"]]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_a_name_that_is_no_text_does_not_damage_a_ledger(name, tmp_path):
    """The ledger said that it was damaged."""
    ledger = Ledger(str(tmp_path / "l.db"))
    for ask in (
        ledger.account,
        ledger.entry,
        lambda name: ledger.cap(name, 1.0),
        lambda name: ledger.retire(name, "why"),
    ):
        with refused(ArgumentMessage.WRONG_TYPE):
            ask(name)
    assert ledger.verify()


CELL = 7.77123
TABLES = [
    pd.DataFrame.copy,
    pd.DataFrame.to_numpy,
    lambda frame: frame["x"],
    lambda frame: frame["x"].tolist(),
    lambda frame: frame[["x"]].head(1).to_numpy(),
    lambda frame: frame.iloc[0].to_dict(),
]


@pytest.mark.parametrize("rows", TABLES)
@pytest.mark.parametrize(
    "call",
    [
        lambda _, rows: load(rows),
        lambda _, rows: LocalClient(rows),
        lambda _, rows: Ledger(rows),
        lambda public, rows: LocalAggregator(public, target=rows, mu=1.0),
        lambda public, rows: LocalAggregator(public, target="y", mu=rows),
        lambda public, rows: plan(public, target=rows, n=100, mu=1),
        lambda public, rows: plan(public, target="y", n=rows, mu=1),
        lambda public, rows: plan(public, target="y", n=100, mu={"a": rows}),
        *(
            lambda public, rows, name=name: plan(public, target="y", n=100, mu=1, **{name: rows})
            for name in PrivateRegressor._parameter_names()
            if name not in ("mu", "schema", "settings")
        ),
    ],
)
def test_rows_in_the_place_of_another_argument_are_not_quoted(call, rows):
    """A table given where a name, a number or a file belongs is refused, and nothing of the error has a value of it."""
    public = pd.DataFrame({"x": [CELL, 2.0, 3.0], "y": [1.0, 2.0, 3.0]})
    with pytest.raises(InputError) as error:
        call(public, rows(public))
    pickled = pickle.dumps((str(error.value), error.value.facts))
    assert not [form for form in (b"7.77123", struct.pack("<d", CELL), struct.pack(">d", CELL)) if form in pickled]
