"""What a user of other command lines expects: help, versions, pipes, statuses, names, a method chosen and said."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

import pytest

import pmtcore
from pmtcore.cli import main as command_line
from pmtcore.cli.main import BAD_INPUT, CAP_REACHED, INTERNAL, OK, main
from pmtcore.cli.parser import parser
from pmtcore.mechanisms.quantized_rows import Quantizer
from tests.ledger.test_log import table

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "p.csv").write_bytes(table(400, 1))
    (tmp_path / "b.csv").write_bytes(table(50, 2))
    return ["--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv")]


def called(*arguments, **more):
    return subprocess.run(
        [sys.executable, "-m", "pmtcore", *arguments], cwd=ROOT, capture_output=True, timeout=600, **more
    )


def test_version_and_bare_help(capsys):
    """--version says it; without a command the help is printed, and nothing is opened."""
    assert main(["--version"]) == OK and pmtcore.__version__ in capsys.readouterr().out
    assert main([]) == OK and "exit status" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["second-moment", "/usr/bin/second-moment", "python", "__main__.py"])
def test_usage_names_what_was_called(name, monkeypatch):
    """A line that can be typed again."""
    monkeypatch.setattr(sys, "argv", [name])
    assert parser().prog == ("second-moment" if "second-moment" in name else "python -m pmtcore")


@pytest.mark.parametrize("arguments", [["--help"], ["release", "--help"], []])
def test_help_costs_little(arguments):
    """At most 0.3 CPU seconds, which is ten times what the interpreter needs: no library is loaded for it."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    called(*arguments)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.3
    code = f"import sys; from pmtcore.cli.main import main; main({arguments!r}); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert not {"numpy", "pandas", "scipy", "sqlalchemy", "pyarrow", "opendp"} & set(loaded.split())


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [["--help"], ["methods"], ["methods", "--json"], ["gallery"]])
def test_a_reader_who_has_enough(arguments):
    """``| head`` ends quietly."""
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-m", "pmtcore", *arguments], cwd=ROOT, stdout=write, stderr=subprocess.PIPE, timeout=600
    )
    os.close(write)
    assert done.returncode == OK and not done.stderr


def test_statuses(files, monkeypatch, capsys):
    """A wrong call and bad input, the cap, an error of the program: told apart."""
    assert main(["release", "--nonsense"]) == BAD_INPUT
    assert main(["release", *files, "--target", "nope", "--mu", "1"]) == BAD_INPUT
    asked = ["release", *files, "--target", "y", "--method", "pmt-ridge"]
    assert main([*asked, "--mu", "2.5"]) == OK
    assert main([*asked, "--mu", "2.5"]) == CAP_REACHED
    monkeypatch.setattr(command_line, "_run", lambda _: 1 / 0)
    assert main(["methods"]) == INTERNAL
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("shown_by", ["--verbose", "PMT_DEBUG"])
def test_an_error_of_the_program_shows_its_place_and_no_cell(files, monkeypatch, capsys, shown_by):
    """An error in a pass may quote cells in its text and in those of its causes: lines of code are printed alone."""

    def pass_over_rows(_, features, response):
        try:
            raise ValueError(f"secret {features[0].tolist()}")
        except ValueError as cause:
            raise FloatingPointError(f"secret {response[0]}") from cause

    monkeypatch.setattr(Quantizer, "__call__", pass_over_rows)
    arguments = ["release", *files, "--target", "y", "--method", "joint-pmt", "--mu", "1"]
    if shown_by == "PMT_DEBUG":
        monkeypatch.setenv("PMT_DEBUG", "1")
    else:
        arguments.append(shown_by)
    assert main(arguments) == INTERNAL
    error = capsys.readouterr().err
    assert "pass_over_rows" in error and "FloatingPointError" in error
    assert not re.search(r"secret \[|secret -?\d", error)


@pytest.mark.parametrize(
    "asked",
    [
        ["--target", "y", "--kind", "agee=coded", "--levels", "agee=-999"],
        ["--target", "y", "--levels", "agee=-999|-998"],
        ["--formula", "y ~ a", "--kind", "a=coded", "--levels", "a=-999"],
        ["--formula", "y ~ a", "--kind", "a=percent"],
        ["--formula", "y ~ log(a)", "--levels", "a=1|2"],
        ["--formula", "y ~ a", "--kind", "y=euro"],
        ["--target", "y", "--person", "a", "--rows-per-person", "0"],
        ["--target", "y", "--rows-per-person", "0"],
        ["--target", "y", "--person-rule", "mean"],
        ["--target", "y", "--mu", "-1"],
        ["--target", "y", "--rho", "1"],
        ["--target", "y", "--set", "nope=1"],
    ],
    ids=" ".join,
)
def test_nothing_that_was_asked_is_left_out_in_silence(asked, files, capsys):
    """A misspelled column, a declaration that nothing reads, a rule without its column: one line before any spend."""
    assert main(["release", *files, "--mu", "1", *asked]) == BAD_INPUT
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and not said.out
    # No ledger was begun.
    assert main(["ledger", "show"]) == BAD_INPUT


def test_lists_without_an_entry(files, capsys):
    """No number in a list of budgets, no method with a word: a sentence, where an empty table was printed."""
    assert main(["plan", *files[2:], "--target", "y", "--private-rows", "100", "--mu", " , "]) == BAD_INPUT
    assert capsys.readouterr().err.count("\n") == 1
    assert main(["methods", "nope"]) == OK
    assert "'nope'" in capsys.readouterr().out


def test_a_release_needs_no_method(files, capsys):
    """The recommended one is chosen, and said on standard error; so are the files beside a new ledger, once."""
    assert main(["release", *files, "--formula", "y ~ a", "--mu", "0.5"]) == OK
    said = capsys.readouterr()
    assert "recommended" in said.err and ".key" in said.err and "[0.025" in said.out
    assert main(["release", *files, "--formula", "y ~ a", "--mu", "0.4", "--json"]) == OK
    said = capsys.readouterr()
    assert json.loads(said.out)["method"] == "joint-pmt" and not said.err
    assert main(["release", *files, "--target", "y", "--mu", "0.3"]) == OK
    assert ".key" not in capsys.readouterr().err
    assert main(["release", *files, "--target", "y", "--mu", "0.2", "--quiet"]) == OK
    assert capsys.readouterr() == ("", "")


def test_what_to_fit_is_asked_once(files, capsys):
    """A target or a formula, one of the two."""
    for arguments in ([], ["--target", ""], ["--formula", ""], ["--target", "y", "--formula", "y ~ a"]):
        assert main(["release", *files, "--mu", "1", *arguments]) == BAD_INPUT
    assert main(["release", *files, "--mu", "1", "--formula", "y ~ a", "--features", "a"]) == BAD_INPUT
    capsys.readouterr()
    assert main(["release", *files, "--mu", "1", "--target", "y", "--features", ","]) == BAD_INPUT
    assert "No features are left" in capsys.readouterr().err


@pytest.mark.slow
def test_a_plan_shows_the_recommended_method_first(files, capsys):
    """It and two others in print, all with --all; JSON has every row, the recommended one's first."""
    asked = ["plan", *files[2:], "--target", "y", "--private-rows", "400", "--mu", "1"]
    assert main(asked) == OK
    short = capsys.readouterr().out
    assert main([*asked, "--all"]) == OK
    complete = capsys.readouterr().out
    assert short.splitlines()[1].startswith("joint-pmt") and len(complete.splitlines()) > len(short.splitlines())
    assert len({line.split()[0] for line in short.splitlines()[1:] if "0." in line and "1 " in line}) >= 3
    assert main([*asked, "--json"]) == OK
    fields = json.loads(capsys.readouterr().out)
    assert fields["recommended"] == "joint-pmt" == fields["rows"][0]["method"]
    assert len({row["method"] for row in fields["rows"]}) > 3


@pytest.mark.slow
def test_a_plan_is_that_of_the_parameters_that_a_release_will_have(files, capsys):
    """``--set`` holds for the method alone; one that it does not have is refused before anything is predicted."""
    asked = ["plan", *files[2:], "--target", "y", "--private-rows", "400", "--mu", "1", "--json"]
    by_name = {}
    for passes in ("auto", "1"):
        assert main([*asked, "--set", f"passes={passes}", "--coefficient", "a", "--width", "0.5"]) == OK
        by_name[passes] = json.loads(capsys.readouterr().out)
    assert main(asked) == OK
    by_default = json.loads(capsys.readouterr().out)
    mine = {passes: [row for row in one["rows"] if row["method"] == "joint-pmt"] for passes, one in by_name.items()}
    others = [[row for row in one["rows"] if row["method"] != "joint-pmt"] for one in by_name.values()]
    assert mine["auto"] == [row for row in by_default["rows"] if row["method"] == "joint-pmt"] != mine["1"]
    assert others[0] == others[1] and by_name["1"]["budget_for_width"] != by_name["auto"]["budget_for_width"]
    assert main([*asked, "--set", "nonsense=1"]) == BAD_INPUT
    assert "no parameter 'nonsense'" in capsys.readouterr().err


def test_a_plan_counts_the_rows_of_a_private_table(files, capsys):
    """In place of their number; one of the two, and no cell of the table changes what is printed."""
    asked = ["plan", *files[2:], "--target", "y", "--mu", "1", "--method", "joint-pmt"]
    assert main([*asked, "--rows", "400"]) == OK
    of_number = capsys.readouterr().out
    rows = Path(files[1])
    for text in (rows.read_text(), re.sub(r"\d", "7", rows.read_text())):
        rows.write_text(text)
        assert main([*asked, "--private", str(rows)]) == OK
        assert capsys.readouterr().out == of_number
    assert main(asked) == BAD_INPUT
    assert main([*asked, "--private", str(rows), "--rows", "400"]) == BAD_INPUT


@pytest.mark.slow
def test_standard_input(files):
    """``-`` reads a table from a pipe, and a record too."""
    rows = Path(files[1]).read_bytes()
    done = called("release", "--private", "-", *files[2:], "--target", "y", "--mu", "1", "--json", input=rows)
    record = json.loads(done.stdout)
    assert record["n"] == 400 and record["ledger"]["dataset"] == "standard input"
    page = Path(files[1]).parent / "r.html"
    done = called("report", "--record", "-", "--out", str(page), input=done.stdout)
    assert done.returncode == OK and page.stat().st_size > 1000


@pytest.mark.slow
def test_old_names_are_aliases(files, tmp_path, capsys):
    """A record is --record and an output --out everywhere; the names of before go on."""
    record, page = tmp_path / "r.json", tmp_path / "r.html"
    asked = ["release", *files, "--target", "y", "--mu", "1", "--method", "joint-moment", "--json", "--out"]
    assert main([*asked, str(record)]) == OK
    for name, out in (("--release", "--html"), ("--record", "--out")):
        assert main(["report", name, str(record), out, str(page)]) == OK
    for name in ("--record", "--release"):
        assert main(["explore", name, str(record), "--formula", "y ~ a"]) == OK
    for name in ("--rows", "--private-rows"):
        assert main(["plan", *files[2:], "--target", "y", name, "400", "--mu", "1"]) == OK
    capsys.readouterr()


@pytest.mark.slow
def test_a_file_named_json_holds_json(files, tmp_path, capsys):
    """The screen shows the table, and the file is the record that report and explore open."""
    asked = ["release", *files, "--target", "y", "--mu", "1", "--method", "joint-moment", "--out"]
    assert main([*asked, str(tmp_path / "r.json")]) == OK
    assert "std err" in capsys.readouterr().out
    assert main(["report", "--record", str(tmp_path / "r.json"), "--out", str(tmp_path / "r.html")]) == OK
    capsys.readouterr()
    assert main([*asked, str(tmp_path / "r.txt")]) == OK
    assert (tmp_path / "r.txt").read_text() == capsys.readouterr().out


def test_completion(capsys):
    """What bash needs, from shtab."""
    assert main(["completion", "bash"]) == OK and "--formula" in capsys.readouterr().out


def test_the_application_listens_where_it_is_told(monkeypatch, capsys):
    """Its server is given the port and the address that were named, and no others; a port is one."""
    asked = []
    monkeypatch.setattr(
        "subprocess.run", lambda command, **_: asked.append(command[5:]) or subprocess.CompletedProcess((), 0)
    )
    assert main(["app"]) == main(["app", "--port", "8600", "--address", "0.0.0.0"]) == OK
    assert asked == [[], ["--server.port=8600", "--server.address=0.0.0.0"]]
    assert main(["app", "--port", "99999"]) == BAD_INPUT and "port" in capsys.readouterr().err


def test_every_command_has_an_example():
    """Its help ends with a line that can be typed, and options stand in groups."""
    (commands,) = (a for a in parser()._actions if a.dest == "command")
    for name, made in commands.choices.items():
        if name != "completion":
            assert made.epilog.startswith(f"example: second-moment {name}"), name
    titles = {group.title for group in commands.choices["release"]._action_groups}
    assert {"tables", "budget", "release"} <= titles
