"""What a command hands out: nothing lost after a spend, no pipe or device waited for, no sign acted upon."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from pmtcore.base import escaping
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from tests.ledger.test_log import table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ask(tmp_path):
    (tmp_path / "p.csv").write_bytes(table(400, 1))
    (tmp_path / "b.csv").write_bytes(table(50, 2))
    files = ["--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv"), "--target", "y"]
    return ["release", *files, "--method", "pmt-ridge", "--mu", "0.5"]


def command(arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "pmtcore", *arguments], cwd=ROOT, stderr=subprocess.PIPE, timeout=600, **more
    )


@pytest.mark.slow
@pytest.mark.parametrize("way", ["full", "closed", "ascii"])
def test_a_spend_whose_print_fails_can_be_had_again(ask, way):
    """A full device, a closed pipe, a terminal without the letter: it says that it was spent, and with which key."""
    if way == "ascii":
        done = command(ask, stdout=subprocess.PIPE, env={**os.environ, "PYTHONIOENCODING": "ascii"})
        assert done.returncode == 0 and b"A ledger is begun" in done.stderr and done.stderr.count(b"\n") == 1
        return
    if way == "full":
        with Path("/dev/full").open("w") as full:
            done = command(ask, stdout=full)
    else:
        read, write = os.pipe()
        os.close(read)
        done = command(ask, stdout=write)
        os.close(write)
    (entry,) = Ledger(os.environ["PMT_LEDGER"]).accounts()[0].entries
    said = done.stderr.decode()
    assert done.returncode == 2 and entry.state == "released" and entry.key in said and "spends nothing" in said
    assert said.count("\n") == 2 and "A ledger is begun" in said and "Traceback" not in said
    again = command([*ask, "--key", entry.key, "--json"], stdout=subprocess.PIPE)
    assert json.loads(again.stdout)["coefficients"] == entry.record["coefficients"]
    assert len(Ledger(os.environ["PMT_LEDGER"]).accounts()[0].entries) == 1


def test_where_nothing_can_be_written_nothing_is_spent(ask, tmp_path, capsys):
    """A folder that is not there, a device, a pipe: refused before the spend, without waiting."""
    os.mkfifo(tmp_path / "pipe")
    for out in ("/dev/full", str(tmp_path), str(tmp_path / "no" / "r.json"), str(tmp_path / "pipe")):
        for flag in ("--out", "--save-config"):
            assert main([*ask, flag, out]) == 2
    assert not Ledger(os.environ["PMT_LEDGER"]).accounts()
    capsys.readouterr()


def test_pipes_and_devices_are_not_read(ask, tmp_path, capsys):
    """A configuration, record or ledger that is a pipe, a device or endless is a sentence at once."""
    os.mkfifo(tmp_path / "pipe")
    for odd in (str(tmp_path / "pipe"), "/dev/zero", "/dev/stdin", str(tmp_path), "", "/nowhere"):
        assert main([*ask, "--config", odd]) == 2 or odd == ""
        assert main(["report", "--release", odd, "--html", str(tmp_path / "r.html")]) == 2
        assert main(["explore", "--record", odd]) == 2
        assert main(["ledger", "show", "--ledger", odd or "/nowhere"]) == 2
        assert main([*ask[:1], "--private", odd, *ask[3:]]) == 2
        assert main([*ask[:3], "--public", odd, *ask[5:]]) == 2
    deep = tmp_path / "deep.json"
    deep.write_text("[" * 100_000)
    assert main([*ask, "--config", str(deep)]) == 2
    assert main(["report", "--release", str(deep), "--html", str(tmp_path / "r.html")]) == 2
    assert main(["gallery", "A1", "--trials", "0"]) == 2
    huge = "9" * 400
    for flag in ("--seed", "--mu"):
        assert main([*ask, flag, huge]) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_full_disk_after_a_spend_leaves_no_empty_file(ask, tmp_path, capsys, monkeypatch):
    """What could not be written is not there; the message has the key, and the key gives the release again."""

    def full(path, *_, **__):
        path.touch()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    (tmp_path / "old.json").write_text("old")
    with monkeypatch.context() as patched:
        patched.setattr(Path, "write_text", full)
        for name in ("r.json", "old.json"):
            assert main([*ask, "--out", str(tmp_path / name)]) == 2
    keys = [entry.key for account in Ledger(os.environ["PMT_LEDGER"]).accounts() for entry in account.entries]
    said = capsys.readouterr().err
    assert len(keys) == 2 and all(key in said for key in keys)
    assert not (tmp_path / "r.json").exists() and (tmp_path / "old.json").exists()


def test_standard_input_is_read_once(ask, tmp_path, capsys, monkeypatch):
    """A second file from there is refused before the first is read; a record is read from there too."""
    assert main([*ask[:2], "-", "--public", "-", *ask[5:]]) == 2
    assert "once" in capsys.readouterr().err
    assert main([*ask[:-3], "joint-moment", *ask[-2:], "--quiet", "--out", str(tmp_path / "r.json")]) == 0
    record = io.TextIOWrapper(io.BytesIO((tmp_path / "r.json").read_bytes()))
    monkeypatch.setattr(sys, "stdin", record)
    assert main(["explore", "--record", "-"]) == 0


def test_show_makes_no_ledger(tmp_path, capsys):
    """Looking at a ledger that is not there is a sentence, and leaves none behind."""
    for step in ("show", "verify"):
        assert main(["ledger", step, "--ledger", str(tmp_path / "l.db")]) == 2
    assert "no ledger" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_report_vouches_only_for_what_the_ledger_holds(ask, tmp_path, capsys):
    """The record as printed: may leave. One figure changed, or made up: a lab figure, and why."""
    record, page = tmp_path / "r.json", tmp_path / "r.html"
    assert main([*ask, "--json", "--out", str(record)]) == 0
    assert main(["report", "--release", str(record), "--html", str(page)]) == 0
    assert "This report may be published" in page.read_text()
    fields = json.loads(record.read_text())
    fields["coefficients"]["a"] += 1
    record.write_text(json.dumps(fields))
    assert main(["report", "--release", str(record), "--html", str(page)]) == 0
    assert "This report may be published" not in page.read_text() and "does not contain this record" in page.read_text()
    capsys.readouterr()


NASTY = [
    "![x](http://evil/p.png)",
    "<img src=x onerror=alert(1)>",
    "\x1b[2J\x1b]0;x\x07",
    "a\u202eb",
    "=cmd|' /C calc'!A0",
]


@pytest.mark.parametrize("name", NASTY)
def test_foreign_names_are_shown_not_acted_upon(name):
    """One function for each kind of place."""
    assert escaping.terminal(name).isprintable()
    shown = escaping.markdown(name)
    assert "](" not in shown.replace("\\](", "") and "<" not in shown.replace("\\<", "")
    assert "<" not in escaping.chart(name) and "<" not in escaping.html(name) and '"' not in escaping.html(name)
    assert not escaping.cell(name).startswith(("=", "+", "-", "@", "\t"))
    assert escaping.cell("-1.5") == "-1.5"


def test_the_terminal_gets_no_escape_code(ask, capsys):
    """Names with escape codes: the codes are printed, in answers and in complaints."""
    assert main([*ask, "--features", "c\x1b[31m"]) == 2
    assert main([*ask, "--dataset", "d", "--purpose", "\x1b[31m"]) == 0
    assert main(["ledger", "show"]) == 0
    printed = capsys.readouterr()
    assert "\x1b" not in printed.out + printed.err and "x1b[31m" in printed.err and "\\x1b[31m" in printed.out
