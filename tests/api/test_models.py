"""The estimators: five lines from frames to a released model, each spend said and recorded once."""

from __future__ import annotations

import json
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pmtcore as pc
from pmtcore.api import frames
from pmtcore.base.messages import (
    ArgumentMessage,
    FaceMessage,
    LedgerMessage,
    MethodMessage,
    ReleaseMessage,
    TableMessage,
)
from pmtcore.cli.main import main
from pmtcore.ledger.log import LedgerError
from tests.helpers import refused

FEATURES = ["age", "income", "sex"]


def regressor(**settings):
    return pc.PrivateRegressor(**{"mu": 1.0, "features": FEATURES, **settings})


def test_five_lines(private, public, tmp_path, capsys):
    """Plan, fit, summary, predict, record: what the README promises, with the spend in the ledger named."""
    model = regressor()
    expected = model.plan(public, target="y", n=len(private))
    assert "joint-pmt" in str(expected) and len(expected.frame()) == 4
    model.fit(private, public, target="y", ledger=tmp_path / "budget.db")
    said = capsys.readouterr().out
    assert said.strip() == model.spent_.sentence and "Spent mu = 1" in said and "budget.db" in said
    assert model.record_["standing"] == "sound"
    assert "sex=m" in str(model.summary()) and "<table>" in model.summary()._repr_html_()
    assert model.coef_.shape == (3,) and list(model.coef_names_) == ["age", "income", "sex=m"]
    assert list(model.feature_names_in_) == FEATURES and model.n_features_in_ == 3
    limits = model.conf_int()
    assert np.all(limits["low"] < limits["high"]) and limits.index[0] == "Intercept"
    errors = model.predict(private) - private["y"]
    assert np.std(errors) < 1.2
    assert model.guarantee_.mu == 1.0 and "26 %" in model.guarantee_.words
    path = tmp_path / "release.json"
    assert json.loads(model.to_json(path)) == json.loads(path.read_text())
    (account,) = pc.Ledger(str(tmp_path / "budget.db")).accounts()
    assert account.spent == 1.0 and account.entries[0].key == model.spent_.key


def test_without_a_ledger_it_is_the_users_own(private, public, monkeypatch, tmp_path, capsys):
    """No figure is sound without its spend; each frame has an account, and frames that share rows spend together."""
    monkeypatch.setenv("PMT_LEDGER", str(tmp_path / "own.db"))
    regressor().fit(private, public, target="y")
    regressor(mu=2.0).fit(private.iloc[:1500], public, target="y")
    book = pc.Ledger(str(tmp_path / "own.db"))
    assert len(accounts := book.accounts()) == 2 and all(a.dataset.startswith("unnamed table ") for a in accounts)
    assert all(a.together and book.account(a.dataset).spent == pytest.approx(5**0.5) for a in accounts)
    with refused(LedgerMessage.BEYOND_CAP_TOGETHER, LedgerError):
        regressor(mu=2.5).fit(private, public, target="y")


def test_a_cell_run_again_spends_nothing(private, public, tmp_path, capsys):
    """The same request on the same tables finds its release; a key of its own asks for another."""
    book = tmp_path / "l.db"
    one = regressor().fit(private, public, target="y", ledger=book)
    two = regressor().fit(private.copy(), public, target="y", ledger=book)
    assert np.array_equal(one.coef_, two.coef_) and "Nothing was spent" in two.spent_.sentence
    three = regressor().fit(private, public, target="y", ledger=book, key="again")
    assert not np.array_equal(one.coef_, three.coef_)
    other = private.copy()
    other.loc[0, "age"] = 41.0
    four = regressor().fit(other, public, target="y", ledger=book)
    assert "Nothing" not in four.spent_.sentence and four.spent_.total == pytest.approx(3**0.5)


def test_nothing_of_the_private_rows_is_kept(private, public, tmp_path):
    """A stored model holds public and released figures: none of the private cells, no digest of them."""
    model = regressor().fit(private, public, target="y", ledger=tmp_path / "l.db", quiet=True)
    stored = pickle.dumps(model)
    digest = frames.table(private, "private").sha256
    book = (tmp_path / "l.db").read_bytes()
    for text in (model.to_json(), repr(vars(model)), str(model.summary())):
        assert digest not in text
    assert digest.encode() not in stored + book
    assert private["age"].to_numpy().tobytes()[:64] not in stored
    assert np.array_equal(pickle.loads(stored).predict(public), model.predict(public))


@pytest.mark.parametrize(
    "convert",
    [pl.from_pandas, pa.Table.from_pandas, lambda f: pl.from_pandas(f).lazy()],
    ids=["polars", "arrow", "polars-lazy"],
)
def test_any_frame_will_do(convert, private, public):
    """pandas, Polars (lazy too) and Arrow give the same fit: with a seed, bit for bit."""
    settings = {"target": "y", "seed": 7, "quiet": True}
    reference = regressor().fit(private, public, **settings)
    model = regressor().fit(convert(private), convert(public), **settings)
    assert np.array_equal(model.coef_, reference.coef_)
    assert np.allclose(model.predict(convert(public)), reference.predict(public))


def test_paths_and_the_command_line_agree(private, public, tmp_path, capsys):
    """A file's name is its data set; a seeded fit is what the command line prints for the same seed."""
    files = [str(tmp_path / "p.csv"), str(tmp_path / "b.csv")]
    private.to_csv(files[0], index=False)
    public.to_csv(files[1], index=False)
    model = regressor().fit(*files, target="y", seed=3, quiet=True)
    arguments = ["--features", "age,income,sex", "--missing", "empty-row", "--unseen", "other", "--seed", "3", "--json"]
    asked = ["release", "--private", files[0], "--public", files[1], "--target", "y", "--method", "joint-pmt"]
    assert main([*asked, "--mu", "1", *arguments]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["coefficients"] == model.record_["coefficients"] and printed["standing"] == "lab"
    sound = regressor().fit(*files, target="y", ledger=tmp_path / "l.db", quiet=True)
    assert sound.spent_.dataset == "p.csv"
    assert np.all(np.isfinite(sound.predict(files[1])))


def test_lab_figures_say_so(private, public, capsys):
    """Outside a ledger, or with a seed, the record is lab; a lab figure has no place in a ledger."""
    model = regressor().fit(private, public, target="y", lab=True)
    assert model.record_["standing"] == "lab" and "may not leave" in capsys.readouterr().out
    with refused(FaceMessage.LAB_NEEDS_NO_LEDGER):
        regressor().fit(private, public, target="y", seed=1, ledger="x.db")


def test_a_ledger_of_the_curator_needs_a_cap(private, public, tmp_path):
    """Into a ledger object nothing is spent without a cap that somebody set."""
    book = pc.Ledger(str(tmp_path / "l.db"))
    with refused(LedgerMessage.NO_CAP, LedgerError):
        regressor().fit(private, public, target="y", ledger=book, dataset="survey")
    book.cap("survey", 2.0)
    assert regressor().fit(private, public, target="y", ledger=book, dataset="survey").spent_.cap == 2.0


def test_labels(private, public):
    """The classifier: two labels, probabilities, scikit-learn's shapes."""
    model = pc.PrivateClassifier(mu=2.0, features=["age", "income"])
    model.fit(private, public, target="high", lab=True, quiet=True)
    assert model.coef_.shape == (1, 2) and model.intercept_.shape == (1,) and model.classes_.tolist() == [0, 1]
    p = model.predict_proba(private)
    assert p.shape == (2000, 2) and np.allclose(p.sum(axis=1), 1)
    assert np.mean(model.predict(private) == private["high"]) > 0.8
    assert np.array_equal(model.predict(private) == 1, model.decision_function(private) > 0)


def test_declared_labels(private, public):
    """A label that counts as 1 by name."""
    named = [f.assign(high=np.where(f["high"] == 1, "rich", "poor")) for f in (private, public)]
    model = pc.PrivateClassifier(mu=2.0, features=["age", "income"], positive="rich")
    model.fit(*named, target="high", lab=True, quiet=True)
    assert model.classes_.tolist() == ["poor", "rich"]
    assert np.mean(model.predict(named[0]) == named[0]["high"]) > 0.8


def test_new_rows_with_gaps(private, public):
    """A missing value gives NaN for that row and changes no other; a missing column gets a sentence."""
    model = regressor().fit(private, public, target="y", lab=True, quiet=True)
    rows = public[FEATURES].copy()
    rows.loc[3, "age"] = np.nan
    result, complete = model.predict(rows), model.predict(public)
    assert np.isnan(result[3]) and np.array_equal(np.delete(result, 3), np.delete(complete, 3))
    assert model.predict(rows.iloc[:0]).shape == (0,)
    with refused(TableMessage.NEW_ROWS_LACK_COLUMNS, columns=["sex"]):
        model.predict(rows.drop(columns="sex"))


@pytest.mark.parametrize(
    ("settings", "kind", "facts"),
    [
        ({}, FaceMessage.ONE_BUDGET, {}),
        ({"mu": 1.0, "rho": 1.0}, FaceMessage.ONE_BUDGET, {}),
        ({"epsilon": 1.0}, FaceMessage.EPSILON_NEEDS_DELTA, {}),
        ({"mu": -1.0}, ArgumentMessage.OUT_OF_RANGE, {"name": "mu", "given": -1.0}),
        ({"mu": 1.0, "family": "logistic"}, ArgumentMessage.NOT_ONE_OF, {"name": "family", "given": "logistic"}),
        ({"mu": 1.0, "method": "nope"}, MethodMessage.NO_METHOD, {"method": "nope"}),
        ({"mu": 1.0, "settings": {"nope": 1}}, MethodMessage.NO_PARAMETER, {"names": ["nope"]}),
        ({"mu": 1.0, "features": ["nope"]}, TableMessage.NO_PUBLIC_COLUMN, {"columns": ["nope"]}),
        ({"mu": 1.0, "method": "dp-ridge"}, ReleaseMessage.LAB_METHOD, {}),
        ({"mu": "1"}, ArgumentMessage.WRONG_TYPE, {"name": "mu"}),
        ({"epsilon": 1.0, "delta": "1e-6"}, ArgumentMessage.WRONG_TYPE, {"name": "delta"}),
        ({"mu": 1.0, "lam": "1"}, ArgumentMessage.WRONG_TYPE, {"name": "lam"}),
        ({"mu": 1.0, "rows_per_person": "2"}, ArgumentMessage.WRONG_TYPE, {"name": "rows_per_person"}),
        ({"mu": 1.0, "method": 3}, ArgumentMessage.WRONG_TYPE, {"name": "method"}),
        ({"mu": 1.0, "weights": 0}, ArgumentMessage.WRONG_TYPE, {"name": "weights"}),
        ({"mu": 1.0, "intercept": "no"}, ArgumentMessage.WRONG_TYPE, {"given": "no"}),
    ],
)
def test_bad_words_get_a_sentence(settings, kind, facts, private, public):
    """Nothing is spent, and no traceback names a private value."""
    with refused(kind, **facts):
        pc.PrivateRegressor(**settings).fit(private, public, target="y")


def test_a_text_is_one_name(public):
    """Not the letters it is made of: ``features='xy'`` took the columns x and y."""
    with refused(TableMessage.NO_PUBLIC_COLUMN, columns=["xy"]):
        regressor(features="xy").plan(public.assign(x=1.0 * np.arange(len(public)), y=public["age"]), n=50, target="y")


@pytest.mark.parametrize(
    ("more", "kind", "facts"),
    [
        ({"target": 3}, ArgumentMessage.WRONG_TYPE, {"name": "target"}),
        ({"n": "50"}, ArgumentMessage.WRONG_TYPE, {"name": "n"}),
        ({"mu": "x"}, ArgumentMessage.WRONG_TYPE, {"name": "mu", "given": "x"}),
        ({"mu": [[1.0, 2.0]]}, ArgumentMessage.WRONG_TYPE, {"name": "mu"}),
        ({"mu": [1.0, None]}, ArgumentMessage.WRONG_TYPE, {"name": "mu"}),
    ],
)
def test_wrong_types_of_a_plan(more, kind, facts, public):
    """One sentence each, from the function and from the estimator."""
    with refused(kind, **facts):
        pc.plan(public, **{"n": 50, "target": "y", "mu": 1.0, **more})
    with refused(kind, **facts):
        regressor().plan(public, **{"n": 50, "target": "y", **more})


def test_a_plan_is_that_of_the_settings_of_the_fit(public):
    """What is planned is what will be released: settings count, and wrong ones are refused as by ``fit``."""
    by_default, one_pass = (regressor(settings=each).plan(public, n=500, target="y") for each in ({}, {"passes": "1"}))
    assert by_default.rows != one_pass.rows
    wanted = {"coefficient": FEATURES[0], "half_width": by_default.rows[1]["half_width"]}
    needed = [regressor(settings=each).needed(public, n=500, target="y", **wanted).mu for each in ({}, {"passes": "1"})]
    assert needed[0] != needed[1]
    for call in ({"mu": 1.0}, {}):
        with refused(MethodMessage.NO_PARAMETER):
            regressor(settings={"nonsense": 3}).plan(public, n=500, target="y", **call)


def test_what_is_no_table(private, public):
    """A target apart from its rows, a list, an empty frame: one sentence each."""
    with refused(FaceMessage.FIT_FORM):
        regressor().fit(private[FEATURES], private["y"])
    with refused(FaceMessage.NOT_A_FRAME):
        regressor().fit([[1, 2]], public, target="y")
    with refused(FaceMessage.EMPTY_FRAME):
        regressor().fit(private.iloc[:0], public, target="y")
    with refused(FaceMessage.NO_TARGET):
        regressor().fit(private, public)
    with pytest.raises(AttributeError) as caught:
        regressor().summary()
    assert type(caught.value).__name__ in ("NotFitted", "NotFittedError")  # the other one is scikit-learn's own


def test_hostile_names_are_text(private, public):
    """A column called like a tag is shown as text in a notebook."""
    name = "<img src=x onerror=alert(1)>"
    tables = [f.rename(columns={"income": name}) for f in (private, public)]
    model = pc.PrivateRegressor(mu=1.0, features=["age", name]).fit(*tables, target="y", lab=True, quiet=True)
    assert "<img" not in model._repr_html_() and "&lt;img" in model._repr_html_()
    assert "<img" not in model.plan(tables[1], target="y", n=100)._repr_html_()


def test_importing_is_light():
    """The face itself loads neither numpy nor pandas, and knows its names."""
    code = "import sys, pmtcore as pc; assert not {'numpy', 'pandas'} & set(sys.modules); print(*dir(pc))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert set(pc.__all__) <= set(done.stdout.split())
    for name in pc.__all__:
        assert callable(getattr(pc, name)), name
    with pytest.raises(AttributeError):
        _ = pc.nothing


def test_a_moment_in_place_of_rows(private, public):
    """A published second moment stands where public rows do."""
    from pmtcore.tables.table import MomentTable

    chosen = public[["age", "income", "y"]].assign(**{"(intercept)": 1.0}).to_numpy()
    moment = MomentTable("m", ("age", "income", "y", "(intercept)"), chosen.T @ chosen / len(chosen))
    model = pc.PrivateRegressor(mu=1.0, features=["age", "income"])
    model.fit(private, moment, target="y", public_rows=200, lab=True, quiet=True)
    assert np.std(model.predict(private) - private["y"]) < 1.6
    assert isinstance(model.plan(moment, target="y", n=2000, public_rows=200).frame(), pd.DataFrame)


@pytest.mark.parametrize(
    "convert", [lambda f: f, pl.from_pandas, pa.Table.from_pandas], ids=["pandas", "polars", "arrow"]
)
def test_two_slices_of_one_frame_are_two_tables(convert, private):
    """Public and private rows cut from one frame share its memory: they are told apart all the same."""
    complete = convert(private)
    sizes = {frames.table(complete[a:b], "private").sha256 for a, b in ((0, 200), (200, 400), (0, 400))}
    assert len(sizes) == 3
    model = regressor().fit(complete[200:2000], complete[:200], target="y", lab=True, quiet=True)
    assert model.record_["n"] == 1800


def test_public_rows_that_are_private_rows_change_no_standing(private, public, tmp_path):
    """Such a release is sound, with a word or without, and keeps the word; a column's kind may be declared."""
    both = pd.concat([public, private.iloc[:400]])
    asked = {"target": "y", "ledger": tmp_path / "l.db", "quiet": True}
    assert regressor().fit(private, both, **asked).record_["standing"] == "sound"
    told = regressor(overlap="these people agreed to be published").fit(private, both, **asked)
    assert told.record_["standing"] == "sound" and "agreed" in " ".join(told.record_["notes"])
    coded = [f.assign(sex=(f["sex"] == "m").astype(int)) for f in (private, public)]
    model = regressor(kinds={"sex": "level"}).fit(*coded, target="y", lab=True, quiet=True)
    assert any(name.startswith("sex=") for name in model.coef_names_)
