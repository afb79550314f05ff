"""Odd files on the command line: one line, status 2, no wait; and every row of a device answers."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.outcome import SpendFailure
from pmtcore.releases.release import Request, recorded_release
from pmtcore.tables.choices import Choices
from pmtcore.tables.coder import Coder
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_path

ROOT = Path(__file__).resolve().parents[2]
OWN = b'1,2,1\ninf,1,0\n1e200,1,1\ntext,1,0\n1,2,2\n,,\n1,2\n"1,2,1\n' + b"9" * 400 + b",1,1\n1,2,maybe\n\n0.5,0.5,0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    rows = "".join(f"{rng.normal():.4f},{rng.normal():.4f},{rng.integers(2)}\n" for _ in range(50))
    (tmp_path / "b.csv").write_text("a,b,y\n" + rows)
    (tmp_path / "p.csv").write_bytes(b"a,b,y\n" + OWN)
    (tmp_path / "bom.csv").write_bytes(b"\xef\xbb\xbf")
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "big.json").write_text('{"method": "joint-pmt", "mu": ' + "9" * 400 + "}")
    (tmp_path / "bigger.json").write_text('{"mu": ' + "9" * 5000 + "}")
    (tmp_path / "twice.json").write_text('{"method": "joint-pmt", "mu": 1, "mu": 900}')
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    configure = ("local", "configure", "--public", "b.csv", "--target", "y", "--people", "100", "--mu", "1")
    assert main([*configure, "--out", "c.json"]) == 0
    return tmp_path


def test_every_row_of_a_device_answers(folder, capsys):
    """Infinite, far too large, text, another label, missing, too short, an open quote, blank: a report each."""
    assert main(["local", "randomize", "--config", "c.json", "--rows", "p.csv", "--out", "r.jsonl"]) == 0
    reports = [json.loads(line) for line in (folder / "r.jsonl").read_text().splitlines()]
    assert len(reports) == OWN.count(b"\n")
    assert all(len(report["r"]) == 3 and np.all(np.isfinite(report["r"])) for report in reports)
    assert main(["local", "aggregate", "--config", "c.json", "--reports", "r.jsonl", "--public", "b.csv"]) == 0
    assert f"{len(reports)} reports used" in capsys.readouterr().out


RELEASE = "release --target y --method joint-pmt --mu 1 --lab "
ODD = [
    RELEASE + "--private bom.csv --public b.csv",
    RELEASE + "--private p.csv --public bom.csv",
    RELEASE + "--private pipe --public b.csv",
    RELEASE + "--private p.csv --public pipe",
    RELEASE + "--private /dev/zero --public b.csv",
    RELEASE + "--private p.csv --public-moment /dev/zero",
    RELEASE + "--private p.csv --public b.csv --config pipe",
    RELEASE + "--private p.csv --public b.csv --config deep.json",
    RELEASE + "--private p.csv --public b.csv --schema deep.json",
    RELEASE + "--private p.csv --public b.csv --schema big.json",
    "release --target y --private p.csv --public b.csv --lab --config big.json",
    "release --target y --private p.csv --public b.csv --lab --config bigger.json",
    "local randomize --config deep.json --rows p.csv --out q.jsonl",
    "local randomize --config bigger.json --rows p.csv --out q.jsonl",
    "local randomize --config c.json --rows pipe --out q.jsonl",
    "local randomize --config c.json --rows p.csv --out pipe",
    "local aggregate --config c.json --reports pipe --public b.csv",
    "local aggregate --config c.json --reports /dev/zero --public b.csv",
    "local aggregate --config c.json --reports deep.json --public b.csv",
    "local aggregate --config c.json --reports bigger.json --public b.csv",
    RELEASE + "--private p.csv --public b.csv --config twice.json",
    RELEASE + "--private p.csv --public b.csv --out \x00",
    RELEASE + "--private p.csv --public b.csv --seed " + "9" * 5000,
    RELEASE + "--private p.csv --public '",  # an empty name
    RELEASE + "--public b.csv --private '",
    RELEASE + "--private p.csv --public-moment '",
]


@pytest.mark.slow
@pytest.mark.parametrize("command", ODD)
def test_odd_files_get_one_line_at_once(command, folder, capsys):
    """Marks alone, pipes, devices, deep and huge JSON, empty names."""
    assert main([part.strip("'") for part in command.split()]) == 2
    captured = capsys.readouterr()
    assert (
        captured.out == ""
        and captured.err.startswith("pmtcore: ")
        and captured.err.count("\n") == 1
        and len(captured.err) < 1000
    )


@pytest.mark.slow
def test_a_binary_column_is_read_and_never_quoted(folder):
    """Bytes that are no text, in a Parquet column: an unknown category in its own row, and nothing of it in print."""
    rng = np.random.default_rng(1)
    towns = [b"\xfe\xedSECRET", *[b"north", b"south"] * 30]
    columns = {"a": rng.normal(size=61), "town": towns, "y": rng.normal(size=61)}
    pq.write_table(pa.table(columns), folder / "p.parquet")
    pq.write_table(pa.table({name: values[1:] for name, values in columns.items()}), folder / "b.parquet")
    command = [sys.executable, "-m", "pmtcore", *(RELEASE + "--private p.parquet --public b.parquet").split()]
    done = subprocess.run(
        command, capture_output=True, cwd=folder, check=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert b"SECRET" not in done.stdout + done.stderr and b"town=" in done.stdout


def test_the_ledger_is_asked_before_a_private_row_is_read(folder, monkeypatch):
    """A cap that does not hold the spend: refused, and no private row was encoded (its fingerprint refuses no cell)."""
    problem = prepare(read_path("p.csv", "private"), read_path("b.csv", "public"), Choices(target="y"))

    def forbidden(*_):
        raise AssertionError("a private row was read")

    monkeypatch.setattr(Coder, "rows", forbidden)
    ledger = Ledger(str(folder / "l.db"))
    ledger.cap("d", 0.5)
    with pytest.raises(LedgerError) as refusal:
        recorded_release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise(), ledger, dataset="d", key="k")
    assert not isinstance(refusal.value, SpendFailure) and ledger.account("d").spent == 0
    ledger.cap("d", 5.0)
    with pytest.raises(SpendFailure) as failure:
        recorded_release(problem, Request("joint-pmt", Budget(1.0)), SecureNoise(), ledger, dataset="d", key="l")
    assert isinstance(failure.value.__cause__, AssertionError)
    assert ledger.account("d").spent == 1.0


@pytest.mark.slow
def test_whole_numbers_of_400_digits(tmp_path, capsys):
    """In every field of a record, a device's configuration, a request and a schema: one sentence."""
    huge, remaining = 10**400, tmp_path / "kept.json"
    tables = []
    for name, rows in (("p", 120), ("b", 60)):
        lines = [f"{math.sin(7 * i + rows):.4f},{math.cos(3 * i):.4f},{math.sin(i * i):.4f}" for i in range(rows)]
        (tmp_path / name).write_text("\n".join(["a,b,y", *lines]))
        tables += ["--private" if name == "p" else "--public", str(tmp_path / name)]
    asked = ["release", *tables, "--target", "y", "--lab", "--method", "joint-pmt", "--mu", "1", "--json"]
    assert main([*asked, "--out", str(remaining)]) == 0
    record = json.loads(remaining.read_text())
    local = ["local", "configure", "--public", str(tmp_path / "b"), "--target", "y", "--family", "gaussian"]
    assert main([*local, "--people", "100", "--epsilon", "4", "--out", str(tmp_path / "device")]) == 0
    device = json.loads((tmp_path / "device").read_text())
    request = {"method": "joint-pmt", "mu": 1.0, "parameters": {}, "delta": 1e-6}
    schema = {"columns": [{"name": "a", "kind": "number"}]}
    commands = [
        (record, ["report", "--release", str(remaining), "--html", str(tmp_path / "r.html")]),
        (device, ["local", "randomize", "--config", str(remaining), "--rows", str(tmp_path / "p")]),
        (request, ["release", *tables, "--target", "y", "--lab", "--config", str(remaining)]),
        (schema, ["describe", *tables, "--target", "y", "--schema", str(remaining)]),
    ]
    for fields, command in commands:
        for name in fields:
            remaining.write_text(json.dumps({**fields, name: huge}))
            capsys.readouterr()
            assert main(command) == 2, (command[0], name)
            assert "program itself" not in capsys.readouterr().err


def test_five_hundred_budgets(tmp_path, capsys):
    """One sentence, not minutes."""
    lines = [f"{math.sin(7 * i):.4f},{math.cos(3 * i):.4f}" for i in range(60)]
    (tmp_path / "b").write_text("\n".join(["a,y", *lines]))
    asked = ["plan", "--public", str(tmp_path / "b"), "--target", "y", "--rows", "1000", "--mu"]
    assert main([*asked, ",".join(str(k) for k in range(1, 501))]) == 2
    assert "at most 60" in capsys.readouterr().err


@pytest.mark.slow
def test_a_closed_output_is_a_sentence(tmp_path):
    """Standard output closed by the caller: one line, status 2."""
    command = f"{sys.executable} -m pmtcore convert --mu 1 >&-"
    done = subprocess.run(["sh", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2 and "nothing was printed" in done.stderr and "program itself" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("column", ["a", "y"])
@pytest.mark.parametrize("factor", [1e-200, 1e-70, 1e-17, 1e-15, 1e-12, 1e15, 1e55, 1e59, 1e140])
def test_numbers_of_any_size_plan_and_release_quietly(factor, column, tmp_path, capfd):
    """In a feature or the target: a plan and a release, or one line; no warning, and no error of the program."""
    rng = np.random.default_rng(7)
    for role, count in (("p", 300), ("b", 60)):
        frame = pd.DataFrame(rng.normal(size=(count, 3)) + 2, columns=["a", "b", "c"])
        frame["y"] = frame.sum(axis=1) + rng.normal(size=count)
        frame[column] *= factor
        frame.to_csv(tmp_path / role, index=False)
    tables = ["--public", str(tmp_path / "b"), "--target", "y", "--mu", "1"]
    for command in (["plan", "--private-rows", "300", "--all"], ["release", "--private", str(tmp_path / "p"), "--lab"]):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            status = main([*command, *tables])
        assert not warned, [str(one.message) for one in warned]
        said = capfd.readouterr().err.splitlines()
        assert status in (0, 2) and len(said) <= 1 and "program itself" not in "".join(said), said
        assert status == 0 or (column == "y" and factor in (1e-200, 1e140))


def test_a_target_of_text_names_the_option_of_the_command_line(folder, capsys):
    """The page has a menu for it; here the option is named, once."""
    for name, first in (("p.csv", 0), ("b.csv", 1000)):
        rows = (f"{i / 7:.3f},{'yes' if i % 3 else 'no'}\n" for i in range(first, first + 40))
        (folder / name).write_text("a,y\n" + "".join(rows))
    files = ("--private", "p.csv", "--public", "b.csv", "--target", "y")
    assert main(["release", *files, "--method", "joint-pmt", "--mu", "1"]) == 2
    said = capsys.readouterr().err
    assert "must be numeric" in said and said.count("--family logistic") == 1 and said.count("\n") == 1
