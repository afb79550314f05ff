"""The command line: a study of three processes on the loopback interface, and the steps of a real one."""

from __future__ import annotations

import json
import sys

import pytest

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.cli.main import main
from pmtcore.sites import simulation
from pmtcore.sites.study import Study
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


@pytest.mark.parametrize("name", ["least", "colluders", "patience"])
def test_a_word_for_a_number_is_no_study(name, tmp_path, capsys):
    """A study file that somebody else wrote is refused in a sentence, and is no error of the program."""
    draw(150, 1).to_csv(tmp_path / "public.csv", index=False)
    path = tmp_path / "study.json"
    sites = ["--site", "north=200", "--site", "south=300"]
    assert (
        main(
            [
                "study",
                "create",
                str(path),
                "--public",
                str(tmp_path / "public.csv"),
                "--target",
                "y",
                "--mu",
                "1",
                *sites,
            ]
        )
        == 0
    )
    path.write_text(json.dumps({**json.loads(path.read_text()), name: "soon"}))
    capsys.readouterr()
    assert main(["study", "status", str(path)]) == 2
    with pytest.raises(StudyError) as caught:
        Study.from_json(path.read_bytes())
    assert caught.value.kind is StudyFault.NOT_A_STUDY


@pytest.mark.parametrize("fault", ["another column", "no rows", "no file", "one file twice"])
def test_a_file_that_does_not_fit_is_told_before_anybody_spends(fault, tmp_path, capsys, monkeypatch):
    """A simulation refuses it at once: no process is started, and no site has spent."""
    started = []
    monkeypatch.setattr(simulation, "start_site", lambda *given: started.append(given) or sys.exit(1))
    draw(150, 1).to_csv(tmp_path / "public.csv", index=False)
    files = [tmp_path / f"{name}.csv" for name in "abc"]
    for at, path in enumerate(files):
        draw(50, 10 + at).to_csv(path, index=False)
    if fault == "another column":
        draw(50, 3).rename(columns=str.upper).to_csv(files[1], index=False)
    elif fault == "no rows":
        draw(50, 3).iloc[:0].to_csv(files[1], index=False)
    else:
        files[1] = files[0] if fault == "one file twice" else tmp_path / "missing.csv"
    command = ["study", "simulate", "--public", str(tmp_path / "public.csv"), "--target", "y", "--mu", "1"]
    assert main([*command, "--folder", str(tmp_path / "run"), "--private", *map(str, files)]) == 2
    assert not started and not list(tmp_path.glob("run/site-*/ledger.db"))
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    # The same folder serves a second try: it is refused for the file again, not for a folder that is there already.
    assert main([*command, "--folder", str(tmp_path / "run"), "--private", *map(str, files)]) == 2
    assert capsys.readouterr().err == said
