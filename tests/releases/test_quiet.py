"""What a release says beside its record: one documented log line for each event, and no word of the private rows."""

from __future__ import annotations

import json
import logging
import re
import traceback
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pmtcore as sm
from pmtcore.base.messages import InputError, SpendMessage
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.tables.parsed import ParsedNumbers

SECRET, NAME = "98765.4321", "diagnosis_of_ward_7"
EVENTS = {"cap", "table", "reserve", "release", "fail", "join"}
LINE = {"event", "dataset", "key", "number"}


def frame(n: int, seed: int, labels: bool = False) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    result = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)}).round(5)
    y = result["a"] - result["b"] + rng.standard_normal(n)
    return result.assign(y=(y > 0).astype(int) if labels else y.round(5), who=np.arange(n) // 2)


@pytest.fixture
def asked(tmp_path):
    """Arguments of a release from files that hold a planted value, in a ledger of its own."""

    def make(*more: str, labels: bool = False) -> list[str]:
        private, public = frame(311, 1, labels), frame(60, 2, labels)
        private.loc[5, "a"] = float(SECRET)
        private.to_csv(tmp_path / "p.csv", index=False)
        public.to_csv(tmp_path / "b.csv", index=False)
        Ledger(str(tmp_path / "l.db")).cap("survey", 50.0)
        files = ["--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv"), "--target", "y"]
        where = ["--ledger", str(tmp_path / "l.db"), "--dataset", "survey", "--key", "k"]
        return ["release", *files, "--features", "a,b", *where, "--mu", "1", *more]

    return make


KINDS = [
    (("--method", "joint-pmt"), False),
    (("--method", "pmt-ridge"), False),
    (("--method", "joint-moment"), False),
    (("--method", "joint-pmt", "--person", "who", "--person-rule", "mean"), False),
    (("--method", "joint-pmt", "--missing", "public-median"), False),
    (("--method", "pmt-gradients", "--family", "logistic"), True),
    (("--method", "dp-erm", "--family", "logistic"), True),
]


@pytest.mark.slow
@pytest.mark.parametrize(("more", "labels"), KINDS, ids=lambda value: str(value))
def test_a_release_is_silent_but_for_its_documented_lines(more, labels, asked, capfd, caplog):
    """Nothing on standard error, no warning, and in all loggers, at any level, only the ledger's lines with their four
    fields."""
    order = asked(*more, labels=labels)
    root = logging.getLogger()
    capfd.readouterr()
    with caplog.at_level(logging.NOTSET), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        root.setLevel(logging.NOTSET)
        assert main([*order, "--json"]) == 0
    said = capfd.readouterr()
    assert not said.err and not warned
    json.loads(said.out)  # one object and nothing beside it
    assert caplog.records
    for record in caplog.records:
        assert record.name == "second_moment.ledger" and record.levelno == logging.INFO
        line = json.loads(record.getMessage())
        assert set(line) == LINE and line["event"] in EVENTS and line["dataset"] == "survey"
    assert not re.search(SECRET, caplog.text + said.out)


def test_a_fit_in_a_notebook_says_one_sentence(tmp_path, capfd, caplog):
    """The face for notebooks too: what was spent, on standard output, and no other word."""
    with caplog.at_level(logging.NOTSET):
        sm.PrivateRegressor(mu=1.0, features=["a", "b"]).fit(
            frame(311, 1), frame(60, 2), target="y", ledger=str(tmp_path / "l.db")
        )
    said = capfd.readouterr()
    assert not said.err and said.out.count("\n") == 1 and said.out.startswith("Spent mu = 1 on")
    assert {record.name for record in caplog.records} == {"second_moment.ledger"}


ERRORS = [
    ValueError(f"could not convert {SECRET!r}"),
    KeyError(SECRET),
    RuntimeError(SECRET),
    OSError(5, "Input/output error", SECRET),
    UnicodeDecodeError("utf-8", SECRET.encode(), 0, 1, SECRET),
    pa.ArrowInvalid(f"In CSV column #1: conversion error to double: invalid value '{SECRET}'"),
    np.linalg.LinAlgError(SECRET),
    MemoryError(SECRET),
    AssertionError(SECRET),
    KeyboardInterrupt(),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_errors_text_is_kept_and_told_nowhere(error, asked, tmp_path, capfd, caplog, monkeypatch):
    """An error after the spend may quote a cell: not in the ledger's file, its log, the sentence, or a chained error;
    the sentence names spend and key."""
    order = asked("--method", "joint-pmt")

    def taken(numbers):
        raise error

    # The first pass after the spend starts from the numbers that the fingerprint read before it.
    monkeypatch.setattr(ParsedNumbers, "pop", taken)
    with caplog.at_level(logging.NOTSET):
        assert main(order) in (2, 3, 70, 130)
    said = capfd.readouterr()
    assert not said.out and SECRET not in said.err + caplog.text
    assert "spent" in said.err and "under key k" in said.err and "otherwise" not in said.err
    assert SECRET.encode() not in b"".join(path.read_bytes() for path in tmp_path.glob("l.db*"))
    monkeypatch.undo()
    (entry,) = Ledger(str(tmp_path / "l.db")).account("survey").entries
    assert entry.state == "failed"
    with Ledger(str(tmp_path / "l.db"))._database.reading() as connection:
        rows = list(connection.rows("SELECT payload FROM pmt_events WHERE kind = 'fail'"))
    assert json.loads(rows[0]["payload"]) == {"reason": type(error).__name__}


class Odd(Exception):
    """An error of another program, which cannot be made without its arguments."""

    def __new__(cls, cell, row):
        """Make it."""
        return super().__new__(cls, cell, row)


@pytest.mark.parametrize("error", [*ERRORS, Odd(SECRET, 5)], ids=lambda error: type(error).__name__)
def test_no_traceback_of_a_notebook_quotes_a_cell(error, tmp_path, monkeypatch):
    """What a notebook and a log print of an error after the spend, with its cause: kind and place, no text."""

    def taken(numbers):
        raise error

    monkeypatch.setattr(ParsedNumbers, "pop", taken)
    frame(311, 1).to_csv(tmp_path / "p.csv", index=False)
    model = sm.PrivateRegressor(mu=1.0, features=["a", "b"])
    with pytest.raises((InputError, KeyboardInterrupt)) as failed:
        model.fit(tmp_path / "p.csv", frame(60, 2), target="y", ledger=str(tmp_path / "l.db"))
    shown = "".join(traceback.format_exception(failed.value))
    assert SECRET not in shown and "spent" in shown
    if not isinstance(error, KeyboardInterrupt):
        assert "in taken" in shown


@pytest.mark.parametrize("place", ["pmtcore.api.frames.table_from", "pmtcore.tables.fingerprint._words_of"])
@pytest.mark.parametrize("error", [*ERRORS, Odd(SECRET, 5)], ids=lambda error: type(error).__name__)
def test_no_traceback_before_a_spend_quotes_a_cell(error, place, tmp_path, monkeypatch):
    """Cells of a frame are read before the spend, for the ledger's fingerprint: one sentence, which says that nothing
    was spent."""

    def fails(*_, **__):
        raise error

    monkeypatch.setattr(place, fails)
    model, book = sm.PrivateRegressor(mu=1.0, features=["a", "b"]), Ledger(str(tmp_path / "l.db"))
    book.cap("survey", 3.0)
    with pytest.raises((InputError, KeyboardInterrupt)) as failed:
        model.fit(frame(311, 1), frame(60, 2), target="y", ledger=book, dataset="survey")
    shown = "".join(traceback.format_exception(failed.value))
    assert SECRET not in shown and not book.account("survey").entries
    if not isinstance(error, KeyboardInterrupt):
        assert "in fails" in shown and SpendMessage.NOTHING.sentence() in shown


def written(path, text: str) -> str:
    path.write_text(text)
    return str(path)


PUBLIC = "a,b,y\n" + "\n".join(f"{i * 0.1:.1f},{(i * 7) % 11},{i % 5}" for i in range(30)) + "\n"
ROWS = "\n".join(f"{i},{i % 7},{i % 3}" for i in range(40)) + "\n"
PRIVATE = {
    "other columns": f"{NAME},{NAME}2,{NAME}3\n{ROWS}",
    "no target": f"a,b,{NAME}\n{ROWS}",
    "no feature": f"{NAME},{NAME}2,y\n{ROWS}",
    "twice": f"a,{NAME},{NAME}\n{ROWS}",
    "unnamed": f"a,,{NAME}\n{ROWS}",
    "long": f"a,b,{NAME}{'x' * 300}\n{ROWS}",
    "one column": f"{NAME}\n1\n2\n3\n",
    "no rows": f"a,b,{NAME}\n",
    "control": f"a,b,{NAME}\x00\n{ROWS}",
    "open quote": f'a,b,"{NAME}\n{ROWS}',
    "many": ",".join(f"{NAME}{at}" for at in range(3000)) + "\n" + ROWS,
    "values as names": f"{SECRET},{NAME},3\n{ROWS}",
}
CHOICES = [
    [],
    ["--features", "a,b"],
    ["--features", "a,zz"],
    ["--person", "nobody"],
    ["--kind", "a=date"],
    ["--levels", "zz=1|2"],
    ["--missing", "refuse"],
]


@pytest.mark.parametrize("choices", CHOICES, ids=lambda value: "-".join(value) or "plain")
@pytest.mark.parametrize("kind", PRIVATE)
def test_no_refusal_names_a_column_that_only_the_private_file_has(kind, choices, tmp_path, capfd):
    """Release and describe, files that do not fit in many ways: the sentence does without the file's own names."""
    private, public = written(tmp_path / "p.csv", PRIVATE[kind]), written(tmp_path / "b.csv", PUBLIC)
    files = ["--private", private, "--public", public, "--target", "y"]
    for order in (["release", "--method", "joint-pmt", "--mu", "1", "--lab"], ["describe"]):
        if order[0] == "describe" and choices[:1] == ["--person"]:
            continue
        status = main([*order, *files, *choices])
        said = capfd.readouterr()
        assert status == 2 and said.err.count("\n") == 1 and not said.out
        assert NAME not in said.err and SECRET not in said.err


FITS = f"a,b,y,{NAME}\n" + "\n".join(f"{i},{i % 7},{i % 3},{i}" for i in range(40)) + "\n"
WRONG = [
    ["--person", "nobody"],
    ["--features", "a,zz"],
    ["--target", "zz"],
    ["--family", "logistic"],
    ["--private-rows", "-1"],
]


@pytest.mark.parametrize("choices", WRONG, ids="-".join)
def test_no_refusal_of_a_choice_names_a_private_column(choices, tmp_path, capfd):
    """The files fit, and what was asked of them does not: the sentence does without the private file's own names."""
    private, public = written(tmp_path / "p.csv", FITS), written(tmp_path / "b.csv", PUBLIC)
    files = ["--private", private, "--public", public, "--target", "y", *choices]
    assert main(["release", "--method", "joint-pmt", "--mu", "1", "--lab", *files]) == 2
    said = capfd.readouterr()
    assert said.err.count("\n") == 1 and NAME not in said.err + said.out


@pytest.mark.parametrize("kind", PRIVATE)
def test_no_refusal_of_the_estimators_names_one(kind, tmp_path):
    """The same from Python, with a frame where it can be one."""
    private = written(tmp_path / "p.csv", PRIVATE[kind])
    public = pd.read_csv(written(tmp_path / "b.csv", PUBLIC))
    with pytest.raises(InputError) as refused:
        sm.PrivateRegressor(mu=1.0).fit(private, public, target="y", ledger=str(tmp_path / "l.db"))
    assert NAME not in str(refused.value) and SECRET not in str(refused.value)
