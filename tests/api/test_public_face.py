"""Every documented call, with every argument of another type: a sentence, and no value of a table in it."""

from __future__ import annotations

import inspect
import pickle
import struct
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import pmtcore as pc
from pmtcore.api.local import configure
from pmtcore.base.messages import InputError
from tests.releases.test_explore import opened

CELL = 7.77123
FRAME = pd.DataFrame({"a": [CELL, 1.0], "b": [1.0, CELL], "y": [CELL, CELL]})
WRONG = [None, True, "text", "", 1.5, -1, 10**400, float("nan"), Decimal(1), b"x", [], [CELL], [None], {}, {"a": CELL}]
WRONG += [
    {1: 2},
    {"a": [CELL]},
    object(),
    FRAME,
    FRAME.to_numpy(),
    FRAME["a"],
    np.array(CELL),
    (CELL,),
    {CELL},
    1j,
]
WRONG += [["a", 1], "a\0b", "\ud800", iter([CELL]), pd.NaT, pd.NA, [[CELL]], lambda *_: CELL, FRAME.iloc[0]]
MARKS = (b"7.77123", struct.pack("<d", CELL), struct.pack(">d", CELL))
# Nobody calls these by hand.
INTERNAL = {"design", "enter_table", "finish", "recognised", "spend", "datasets_with_rows", "mean", "slope", "features"}


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    """Return the objects of the face, each with a call of a method of it that is right, by name."""
    moment, *_ = opened(n=400, m=200)
    fit = moment.regress("b ~ a")
    rng = np.random.default_rng(0)
    public = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "y"])
    model = pc.PrivateRegressor(1.0).fit(public, public.iloc[:50] + 1, target="y", lab=True, quiet=True)
    ledger = pc.Ledger(str(tmp_path_factory.mktemp("l") / "l.db"))
    ledger.cap("D", 1.0)
    labels = public.assign(y=(public["y"] > 0).astype(int))
    server = pc.LocalAggregator(labels, target="y", mu=1.0)
    return {
        "moment": (
            moment,
            {
                "iv": {"formula": "b ~ a", "endogenous": "a", "instruments": "g=x"},
                "nested": {"small": "b ~ 1", "large": "b ~ a"},
                "combine": {"moments": [moment, moment], "disjoint": "years"},
                "logistic": {"formula": "hit ~ a"},
                "predict": {"fit": fit, "values": {"a": 1.0}},
                **{name: {"fit": fit} for name in ("inputs", "ridge_path", "lasso_path", "best_subsets")},
                "with_derived": {"values": {"a": 1.0}},
                "load": {"path": "x"},
                "from_bytes": {"data": b"x"},
                "of": {"release": model},
                "correlations_with": {"response": "a"},
                "group_means": {"value": "a", "dummies": ["g=x"]},
                "synthetic": {"count": 3},
            },
        ),
        "regression": (
            fit,
            {
                "corrected": {"correction": "scheffe"},
                "contrast": {"weights": {"a": 1.0}},
                "test": {"names": ["a"]},
                "predict": {"values": {"a": 1.0}},
                "wald_test": {"constraints": "a = 0"},
                "t_test": {"constraints": "a = 0"},
                "get_prediction": {"frame": public},
            },
        ),
        "results": (
            model.results_,
            {
                "wald_test": {"constraints": "a = 0"},
                "t_test": {"constraints": "a = 0"},
                "predict": {"frame": public},
                "get_prediction": {"frame": public},
            },
        ),
        "prediction": (model.results_.get_prediction(public), {}),
        "model": (
            model,
            {
                "plan": {"public": public, "n": 50, "target": "y"},
                "needed": {"public": public, "n": 50, "coefficient": "a", "half_width": 1.0, "target": "y"},
                "fit": {"private": public, "public": public + 1, "target": "y", "lab": True, "quiet": True},
                "predict": {"frame": public},
                "t_test": {"constraints": "a = 0"},
                "report": {"path": "/dev/null"},
            },
        ),
        "ledger": (
            ledger,
            {
                "cap": {"dataset": "D", "mu": 1.0},
                "account": {"dataset": "D"},
                "entry": {"key": "k"},
                "part": {"dataset": "D", "other": "D", "reason": "why not"},
                "retire": {"dataset": "D", "reason": ""},
                "accept": {"reason": ""},
                "verify": {},
                "first_cap": {"dataset": "D", "mu": 1.0},
                "note": {"dataset": "D", "kind": "cap", "fields": {}},
                "fail": {"key": "k", "reason": "r"},
            },
        ),
        "server": (server, {"add": {"reports": ["x"]}, "fit": {}}),
        "device": (pc.LocalClient(server.configuration()), {"report": {"rows": labels}}),
        "functions": (
            FUNCTIONS,
            {
                "release": {"private": public, "public": public + 1, "target": "y", "mu": 1.0, "lab": True},
                "plan": {"public": public, "n": 50, "target": "y", "mu": 1.0},
                "describe": {"private": public, "public": public + 1, "target": "y"},
                "compare": {
                    "private": public,
                    "public": public + 1,
                    "target": "y",
                    "methods": "joint-pmt",
                    "mu": 1.0,
                    "trials": 2,
                },
                "audit": {"estimator": lambda x, y, run: [0.0], "epsilon": 1.0, "trials": 1000},
                "load": {"path": "x"},
                "etable": {},
                "LocalClient": {"configuration": "x"},
                "Ledger": {"url": str(tmp_path_factory.mktemp("m") / "l.db")},
                "LocalAggregator": {"public": labels, "target": "y", "mu": 1.0},
                "configure": {"public": labels},
                "Moment": {"record": moment.record},
            },
        ),
    }


class FUNCTIONS:
    """The functions and constructors of the face."""

    release, plan, describe, compare, audit = map(
        staticmethod, (pc.release, pc.plan, pc.describe, pc.compare, pc.audit)
    )
    load, etable, configure = map(staticmethod, (pc.load, pc.etable, configure))
    LocalClient, LocalAggregator, Ledger, Moment = pc.LocalClient, pc.LocalAggregator, pc.Ledger, pc.Moment


KINDS = ("moment", "regression", "results", "prediction", "model", "ledger", "server", "device", "functions")


def calls(kind, thing, right):
    """Yield each public method with the arguments of a right call and one of them replaced, as far as it is known."""
    for name in dir(thing):
        method = None if name.startswith("_") or name in INTERNAL else getattr(thing, name)
        if method is None or not (inspect.ismethod(method) or kind == "functions"):
            continue
        for parameter in inspect.signature(method).parameters.values():
            if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                continue
            for value in WRONG:
                yield name, parameter.name, value, method, {**right.get(name, {}), parameter.name: value}


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_every_argument_of_another_type_is_a_sentence(kind, objects, tmp_path, monkeypatch):
    """An answer or an InputError, whatever is given; and no cell of a table in the error, its facts included."""
    monkeypatch.chdir(tmp_path)
    bad = []
    for name, argument, value, method, given in calls(kind, *objects[kind]):
        try:
            method(**given)
        except InputError as error:
            pickled = pickle.dumps(error)
            if error.by_program or any(mark in pickled for mark in MARKS):
                bad.append((name, argument, repr(value)[:30], str(error)))
        except Exception as error:
            bad.append((name, argument, repr(value)[:30], f"{type(error).__name__}: {error}"[:90]))
    assert not bad, f"{len(bad)}:\n" + "\n".join(map(str, bad))
