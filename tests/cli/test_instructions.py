"""Instructions that contradict themselves, are empty or destroy what they read: refused in one line, nothing spent."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pmtcore.cli.main import BAD_INPUT, OK, main
from pmtcore.ledger.log import Ledger
from tests.ledger.test_log import table


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Return a release from two tables into a ledger, all in the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_bytes(table(400, 1))
    Path("b.csv").write_bytes(table(50, 2))
    Ledger("l.db").cap("D", 100)
    tables = ["--private", "p.csv", "--public", "b.csv", "--target", "y"]
    return ["release", *tables, "--method", "pmt-ridge", "--mu", "0.5", "--ledger", "l.db", "--dataset", "D"]


def refused(arguments, capsys):
    """Run a command that has to be refused, and return its one line on standard error."""
    before = {path.name: path.read_bytes() for path in Path().iterdir()}
    capsys.readouterr()
    assert main(arguments) == BAD_INPUT
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and not said.out
    assert {path.name: path.read_bytes() for path in Path().iterdir()} == before
    return said.err


READ = ["p.csv", "b.csv", "./p.csv", "link.csv", "hard.csv", "l.db", "l.db.key", "l.db.head"]


@pytest.mark.parametrize("option", ["--out", "--save-config"])
@pytest.mark.parametrize("place", READ)
def test_no_output_is_written_over_what_is_read(ask, option, place, capsys):
    """A table, a link to it, the ledger and the files beside it stay as they are."""
    Path("link.csv").symlink_to("p.csv")
    os.link("b.csv", "hard.csv")
    assert option in refused([*ask, option, place], capsys)


@pytest.mark.parametrize(
    "more",
    [
        ["--out", "r.json", "--save-config", "r.json"],
        ["--out", "r.json", "--save-config", "./r.json"],
        ["--out", "new.db", "--ledger", "new.db"],
        ["--out", "new.db", "--ledger", "sqlite:///new.db"],
        ["--out", "part.parquet", "--private", "*.parquet"],
        ["--out", "part.parquet", "--private", "."],
        ["--out", "-"],
        ["--save-config", "-"],
    ],
    ids=" ".join,
)
def test_no_two_files_of_a_call_are_one(ask, more, capsys):
    """Neither two outputs nor an output and a ledger that is only begun; nor one of the files of a pattern. No file is
    made that is called as standard input is."""
    Path("part.parquet").write_bytes(b"")
    named = [option for option in ("--ledger", "--private") if option in more]
    collected = [word for at, word in enumerate(ask) if not {word, ask[at - 1]} & set(named)]
    refused([*collected, *more], capsys)


@pytest.mark.parametrize("ledger", [None, "l.db"])
def test_a_record_is_not_written_over_by_what_is_made_from_it(ask, ledger, capsys):
    """A release that was paid for stays, whatever is asked of it; so does the user's own ledger."""
    assert main([*ask, "--out", "r.json"]) == OK
    for command in (["report", "--record", "r.json"], ["explore", "--record", "r.json"]):
        refused([*command, "--out", "r.json"], capsys)
    own = os.environ["PMT_LEDGER"]
    assert main([*ask[:-4], "--dataset", "D"]) == OK
    before = Path(own).read_bytes()
    assert main([*ask[:-4], "--dataset", "D", "--out", own]) == BAD_INPUT
    assert Path(own).read_bytes() == before


def test_a_configuration_may_be_saved_where_it_was_read(ask):
    """To change one option of a saved request and keep it again is an instruction, and no slip."""
    assert main([*ask, "--save-config", "c.json"]) == OK
    assert main([*ask, "--config", "c.json", "--save-config", "c.json"]) == OK


@pytest.mark.parametrize(
    "more",
    [
        ["--mu", "2"],
        ["--dataset", "E"],
        ["--target", "a"],
        ["--set", "radius=2", "--set", "radius=3"],
        ["--levels", "a=1|2", "--levels", " a = 1|3"],
        ["--kind", "a=number", "--kind", "a=level"],
    ],
    ids=" ".join,
)
def test_what_is_said_twice_is_refused(ask, more, capsys):
    """The last one won in silence: a budget, a data set, a parameter that the user did not see any more."""
    refused([*ask, *more], capsys)


@pytest.mark.parametrize(
    "option", ["--person", "--weights", "--cluster", "--exposure", "--method", "--key", "--ledger", "--save-config"]
)
def test_an_empty_value_is_not_the_default(ask, option, capsys):
    """A script whose variable is empty said --person "" and got a release that protects a row."""
    collected = [word for at, word in enumerate(ask) if option not in (word, ask[at - 1])]
    assert option in refused([*collected, option, ""], capsys)


SCHEMA = {"columns": [{"name": "a", "kind": "number"}, {"name": "y"}], "dialect": {"row_names": False}}
ODD = [None, True, 0, -1, 0.5, float("nan"), "", "x", [], {}, [1], {"a": 1}, "long" * 10_000]


def replaced(fields, value):
    """Yield the fields with each of their parts, at any depth, replaced by the value."""
    for at in fields if isinstance(fields, dict) else range(len(fields)):
        for part in [value, *(replaced(fields[at], value) if isinstance(fields[at], dict | list) else ())]:
            made = fields.copy()
            made[at] = part
            yield made


@pytest.mark.parametrize("value", ODD, ids=lambda value: repr(value)[:20])
@pytest.mark.parametrize("option", ["--schema", "--config"])
def test_a_file_of_instructions_is_taken_or_one_short_sentence(ask, option, value, capsys):
    """A schema whose row_names were no truth value ended in a traceback, or after the spend."""
    sound = SCHEMA if option == "--schema" else {"method": "pmt-ridge", "mu": 0.1, "parameters": {"radius": 1}}
    collected = [word for at, word in enumerate(ask) if not {word, ask[at - 1]} & {"--ledger", "--dataset"}]
    for fields in replaced(sound, value):
        Path("given.json").write_text(json.dumps(fields))
        assert main([*collected, "--lab", option, "given.json"]) in (OK, BAD_INPUT), fields
        said = capsys.readouterr()
        assert len(said.err) < 1000 and said.err.count("\n") <= 1


@pytest.mark.parametrize(
    "fields",
    [
        {**SCHEMA, "colums": []},
        {"columns": [{"name": "a", "kind": "number", "level": ["1"]}]},
        {"columns": [{"name": "a"}, {"name": "a", "kind": "date"}]},
        {"columns": [{"name": None}]},
        {"columns": [{"name": "a", "kind": "level", "levels": "12"}]},
        {"columns": [{"name": "a", "kind": "level", "levels": [None, True]}]},
        {"columns": [], "dialect": {"row_names": 0}},
    ],
    ids=str,
)
def test_nothing_of_a_schema_is_passed_over(ask, fields, capsys):
    """A field that is not known, a column declared twice, a name or level of another type vanished in silence."""
    Path("s.json").write_text(json.dumps(fields))
    refused([*ask, "--schema", "s.json"], capsys)


@pytest.mark.parametrize("value", [None, False, 0, "", [], -0.0], ids=str)
def test_parameters_of_a_configuration_are_a_table(ask, value, capsys):
    """What is false to Python stood for the defaults."""
    Path("c.json").write_text(json.dumps({"method": "pmt-ridge", "mu": 1, "parameters": value}))
    refused([*ask, "--config", "c.json"], capsys)


def test_an_empty_purpose_is_none(ask):
    """Where the default is an empty text, it may be said."""
    assert main([*ask, "--purpose", ""]) == OK


@pytest.mark.parametrize(
    "more", [["--mu", "1_0"], ["--mu", "0.5", "--set", "radius=1_0"], ["--mu", "1", "--seed", "1_0"]]
)
def test_no_digits_are_grouped(ask, more, capsys):
    """1_5 for 1.5 spent fifteen."""
    at = ask.index("--mu")
    refused([*ask[:at], *ask[at + 2 :], *more], capsys)


@pytest.mark.parametrize(
    "more",
    [
        ["--lab", "--dataset", "D"],
        ["--lab", "--ledger", "l.db", "--dataset", "D"],
        ["--lab", "--key", "k"],
        ["--lab", "--purpose", "why"],
        ["--lab", "--ask"],
        ["--seed", "1", "--dataset", "D"],
        ["--seed", "1", "--key", "k"],
        ["--ask", "--seed", "1", "--ledger", "l.db", "--dataset", "D"],
    ],
    ids=" ".join,
)
def test_outside_a_ledger_nothing_of_a_ledger_is_asked(ask, more, capsys):
    """What names a spend goes with no release that spends nothing; a request to others has no noise of its own."""
    refused([*ask[:-4], *more], capsys)


@pytest.mark.parametrize("more", [["--features", "a,b", "--cluster", "a"], ["--cluster", "y"]], ids=" ".join)
def test_what_groups_rows_is_no_feature(ask, more, capsys):
    """A feature that was asked for by name was left out in silence; the target made groups of its own values."""
    assert more[-1] in refused([*ask, *more], capsys)


def test_who_is_a_person_is_no_feature(ask, capsys):
    """A feature that was asked for by name was left out in silence, because it says whose a row is."""
    assert "'a'" in refused([*ask, "--features", "a,b", "--person", "a"], capsys)
