"""Every exit, every kind of private figure: nothing gets through, and nothing is left behind on the disk."""

from __future__ import annotations

import io
import json
import logging
import pickle
import re

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.auditing.comparison import Comparison
from pmtcore.auditing.diagnostics import exact_diagnosis
from pmtcore.base.exports import plain_json
from pmtcore.base.messages import InputError
from pmtcore.base.private_rows import Private
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.papers.gallery.engine import store
from pmtcore.releases.release import Request, recorded_release, release
from pmtcore.report.html import report
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table
from tests.helpers import reserve

SECRET = "98765.4321"


def planted(text: str) -> bool:
    """Return whether a text has the planted value, to six figures: fewer turn up among random digits now and then."""
    return re.search(r"98,?765\.4", text) is not None


def csv(n: int, seed: int, secret: bool = False) -> bytes:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)})
    frame["y"] = frame["a"] + rng.standard_normal(n)
    if secret:
        frame.loc[0, "a"] = float(SECRET)
    return frame.to_csv(index=False).encode()


@pytest.fixture(scope="module")
def problem():
    private, public = read_table(csv(300, 1, True), "p.csv", "private"), read_table(csv(60, 2), "b.csv", "public")
    return prepare(private, public, Choices(target="y"))


def private_things(problem):
    """Each kind of private figure that the package makes."""
    run = Comparison(problem, ["joint-pmt"], [1.0], trials=2, seed=1).run()
    return {
        "rows": problem.private,
        "problem": problem,
        "fit": exact_fit(problem.public, problem.private),
        "diagnosis": exact_diagnosis(problem, 0.05),
        "errors": run.summaries(),
        "norm": run.reference_norm(),
        "moment": problem.private.sum(lambda x, y: x.T @ x),
        "each row": problem.private.concatenate(lambda x, y: x),
        "nested": {"deep": [Private(float(SECRET))]},
    }


def exits(tmp_path, record):
    """Each way out of the package, as a function of a value."""
    ledger = Ledger(str(tmp_path / "exit.db"))
    ledger.cap("d", 5.0)
    return {
        "plain": plain_json,
        "json": lambda value: json.dumps(plain_json({"v": value})),
        "release record": lambda value: report({**record, "released": {"v": value}}),
        "report facts": lambda value: report({**record, "public": {"v": value}}),
        "ledger account": lambda value: report(record, {"dataset": "d", "v": value}),
        "ledger": lambda value: reserve(ledger, "d", "k", {"v": value}, 0.1, neighbours="replace-one"),
        "gallery store": lambda value: store({"id": "x", "v": value}, tmp_path),
        "pickle": pickle.dumps,
        "configuration": lambda value: Request("joint-pmt", Budget(1.0), {"radius": value}),
    }


@pytest.mark.slow
def test_no_private_figure_passes_an_exit(problem, tmp_path):
    """Every kind through every exit is refused by type, and no refusal names the value."""
    record = release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise()).as_dict()
    ways = exits(tmp_path, record)
    for kind, thing in private_things(problem).items():
        for name, out in ways.items():
            with pytest.raises((TypeError, InputError)) as caught:
                out(thing)
            assert not planted(str(caught.value)), (kind, name)


def test_nothing_private_is_printed_or_logged(problem, caplog, capsys):
    """repr, format and logging of everything private, and a whole release, leave no value."""
    with caplog.at_level(logging.DEBUG):
        for thing in private_things(problem).values():
            logging.getLogger("test").info("%s %r", thing, thing)
        release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(1))
    out = capsys.readouterr()
    assert not planted(caplog.text + out.out + out.err)


def test_no_file_holds_a_planted_value(problem, tmp_path, capsys):
    """Release, ledger, report, configuration and plan: every file written is searched for the planted value."""
    private, public = tmp_path / "in-p.csv", tmp_path / "in-b.csv"
    private.write_bytes(csv(300, 1, True))
    public.write_bytes(csv(60, 2))
    out = tmp_path / "out"
    out.mkdir()
    ledger = Ledger(str(out / "l.db"))
    ledger.cap("d", 5.0)
    recorded_release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise(), ledger, dataset="d", key="k")
    common = ["--private", str(private), "--public", str(public), "--target", "y"]
    more = ["--method", "pmt-ridge", "--mu", "1", "--out", str(out / "r.json"), "--save-config", str(out / "c.json")]
    assert main(["release", *common, *more, "--json"]) == 0
    assert main(["report", "--ledger", str(out / "l.db"), "--key", "k", "--html", str(out / "r.html")]) == 0
    capsys.readouterr()
    collected = [path for path in out.rglob("*") if path.is_file()]
    assert len(collected) >= 4
    for path in collected:
        assert not planted(path.read_bytes().decode("latin-1")), path


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: data.replace(b"\n98765", b"\ntext98765", 1),
        lambda data: data.replace(b"98765.4321", b"1e300", 1),
        lambda data: data.replace(b"a,b,y", b"98765,98766,98767", 1),
        lambda data: data[: len(data) // 2] + b'"98765',
    ],
    ids=["text", "too large", "in the header", "open quote"],
)
def test_error_texts_hold_no_private_value(spoil):
    """Spoiled private tables: the sentence names what is wrong, never a cell."""
    public = read_table(csv(60, 2), "b.csv", "public")
    try:
        prepare(read_table(spoil(csv(300, 1, True)), "p.csv", "private"), public, Choices(target="y"))
    except InputError as error:
        assert "98765" not in str(error)


def test_a_report_is_text_of_known_fields():
    """A report of a record with an unknown object is refused, not rendered."""
    with pytest.raises(TypeError):
        report({"method": io.BytesIO(b"98765")})
