"""The command line: a study of three processes on the loopback interface, and the steps of a real one."""

from __future__ import annotations

import json

import pytest

from pmtcore.cli.main import main
from tests.sites.conftest import draw


@pytest.mark.slow
def test_three_processes_release_one_regression(tmp_path, capsys):
    """One command, three files: the record, and in each site's folder its keys, its ledger and what it opened."""
    draw(150, 1).to_csv(tmp_path / "public.csv", index=False)
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    for at, path in enumerate(files):
        draw(200 + 50 * at, 10 + at).to_csv(path, index=False)
    folder = tmp_path / "run"
    command = ["study", "simulate", "--public", str(tmp_path / "public.csv"), "--target", "y", "--mu", "1", "--json"]
    assert main([*command, "--set", "passes=1", "--folder", str(folder), "--private", *map(str, files)]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["n"] == 750
    assert record["standing"] == "sound"
    assert record["study"]["answered"] == ["site-1", "site-2", "site-3"]
    for name in record["study"]["answered"]:
        own = json.loads((folder / name / "log").read_text())
        assert own["coefficients"] == record["coefficients"]
        assert own["ledger"]["dataset"] == name
        assert list((folder / name).glob("*-opened-0"))


def test_a_study_is_made_and_joined_by_hand(tmp_path, capsys):
    """Create, look, agree, add the keys: nothing is written before --agree, and keys are not written over."""
    draw(150, 1).to_csv(tmp_path / "public.csv", index=False)
    study, ledger = str(tmp_path / "study.json"), str(tmp_path / "north.db")
    given = ["--public", str(tmp_path / "public.csv"), "--target", "y", "--mu", "1"]
    sites = ["--site", "north=200", "--site", "south=300"]
    assert main(["study", "create", study, *given, *sites, "--least", "2"]) == 0
    assert main(["ledger", "cap", "--ledger", ledger, "--dataset", "registry", "--mu", "3"]) == 0
    joins = ["study", "join", study, "--site", "north", "--folder", str(tmp_path / "north")]
    joins += ["--ledger", ledger, "--dataset", "registry", "--json"]
    capsys.readouterr()
    assert main(joins) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["mu"] == 1.0
    assert not plan["agreed"]
    assert not (tmp_path / "north").exists()
    assert main([*joins, "--agree"]) == 0
    assert main([*joins, "--agree"]) == 2
    assert main(["study", "create", study, "--joined", str(tmp_path / "north" / "north.joined.json")]) == 0
    assert "Not joined yet: south" in capsys.readouterr().out
    assert main(["study", "run", study]) == 2
    assert "south" in capsys.readouterr().err
