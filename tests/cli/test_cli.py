"""The command line's contract: JSON keys that scripts rely on."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

from pmtcore.cli.main import main
from pmtcore.cli.parser import parser
from pmtcore.methods.registry import methods
from pmtcore.tables.named import load


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("tables")
    private, public, _ = load("demo", n=1500, m=100, d=4)
    private.frame.to_csv(folder / "private.csv", index=False)
    public.frame.to_csv(folder / "public.csv", index=False)
    z = np.column_stack([np.ones(100), public.frame])
    names = ["intercept", *public.frame.columns]
    lines = [",".join(names), *(",".join(f"{v:.17g}" for v in row) for row in z.T @ z / 100)]
    (folder / "moment.csv").write_text("\n".join(lines))
    return {name: str(folder / f"{name}.csv") for name in ("private", "public", "moment")} | {"folder": str(folder)}


def run(capsys, *arguments: str) -> dict:
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def tables(files: dict[str, str]) -> list[str]:
    return ["--private", files["private"], "--public", files["public"], "--target", "y"]


def test_methods(capsys):
    """Every entry has the keys of the contract; the ids asked for are there."""
    entries = run(capsys, "methods")["methods"]
    for entry in entries:
        assert {"id", "title", "task", "source", "neighbours", "standing", "errata"} <= set(entry)
    ids = {"pmt-moment", "pmt-ols", "pmt-ridge", "joint-pmt", "dp-ols", "dp-ridge", "public-only", "non-private"}
    assert ids <= {entry["id"] for entry in entries}


def test_convert(capsys):
    """All units from any one."""
    result = run(capsys, "convert", "--mu", "1", "--delta", "1e-6")
    assert result["rho"] == 0.5
    back = run(capsys, "convert", "--epsilon", str(result["epsilon"]), "--delta", "1e-6")
    assert back["mu"] == pytest.approx(1.0)
    assert run(capsys, "convert", "--rho", "0.5")["mu"] == pytest.approx(1.0)


def test_release(capsys, files):
    """The record has the keys of the contract, for every coefficient."""
    result = run(capsys, "release", *tables(files), "--method", "joint-pmt", "--mu", "1")
    keys = {"method", "coefficients", "bands", "guarantee", "parameters", "n", "public_rows", "standing"}
    assert keys <= set(result)
    assert set(result["coefficients"]) == {"(intercept)", "x1", "x2", "x3", "x4"} == set(result["bands"])
    for band in result["bands"].values():
        assert {"privacy", "sampling", "low", "high"} <= set(band)
        assert band["low"] < band["high"]
    assert set(result["guarantee"]) == {"mu", "rho", "epsilon", "delta", "neighbours"}
    assert (result["n"], result["public_rows"], result["standing"]) == (1500, 100, "sound")


def test_release_in_other_units_and_with_parameters(capsys, files):
    """--rho and --epsilon are totals; --set reaches the method; --seed makes a repeatable lab figure."""
    result = run(
        capsys, "release", *tables(files), "--method", "pmt-ridge", "--rho", "2", "--set", "lam=0.5", "--seed", "3"
    )
    assert result["guarantee"]["mu"] == pytest.approx(2.0)
    assert result["parameters"]["lam"] == 0.5
    assert (result["standing"], result["seed"]) == ("lab", 3)
    same = run(
        capsys, "release", *tables(files), "--method", "pmt-ridge", "--rho", "2", "--set", "lam=0.5", "--seed", "3"
    )
    assert same["coefficients"] == result["coefficients"]
    other = run(capsys, "release", *tables(files), "--method", "pmt-ridge", "--epsilon", "1", "--delta", "1e-6")
    assert other["guarantee"]["epsilon"] == pytest.approx(1.0)
    assert other["guarantee"]["delta"] == 1e-6


def test_two_secure_releases_differ(capsys, files):
    """Without a seed the noise is fresh each time."""
    first = run(capsys, "release", *tables(files), "--method", "joint-pmt", "--mu", "1")
    second = run(capsys, "release", *tables(files), "--method", "joint-pmt", "--mu", "1")
    assert first["coefficients"] != second["coefficients"]


def test_configuration_round_trip(capsys, files):
    """A saved request, read back, asks for the same release."""
    saved = files["folder"] + "/request.json"
    arguments = ["--method", "joint-pmt", "--mu", "2", "--set", "radius_mode=inference", "--delta", "1e-7"]
    first = run(capsys, "release", *tables(files), *arguments, "--save-config", saved)
    second = run(capsys, "release", *tables(files), "--config", saved)
    assert first["guarantee"] == second["guarantee"]
    assert first["parameters"] == second["parameters"]


def test_moment_matrix_and_choices(capsys, files):
    """--public-moment in place of rows; --features; --no-intercept; --family."""
    moment = [
        "--private",
        files["private"],
        "--public-moment",
        files["moment"],
        "--public-rows",
        "100",
        "--target",
        "y",
    ]
    result = run(capsys, "release", *moment, "--method", "joint-pmt", "--mu", "1", "--family", "gaussian")
    assert result["public_rows"] == 100 and len(result["coefficients"]) == 5
    few = run(
        capsys, "release", *tables(files), "--method", "joint-pmt", "--mu", "1", "--features", "x2,x1", "--no-intercept"
    )
    assert list(few["coefficients"]) == ["x2", "x1"]


def test_a_number_of_public_rows_beside_a_public_table_is_refused(files):
    """With a plan and with a release: a table has its rows, and a number that nobody uses would be believed."""
    rows = ("--public-rows", "90", "--mu", "1")
    assert main(["plan", "--public", files["public"], "--private-rows", "500", "--target", "y", *rows]) == 2
    assert main(["release", *tables(files), *rows]) == 2


def test_describe_and_compare(capsys, files):
    """Curator-only figures say so; keys as in the contract."""
    result = run(capsys, "describe", *tables(files))
    assert result["label"] == "private, curator only"
    for side in ("before", "after"):
        assert {"kappa", "kappa_bar", "lambda_min"} == set(result[side])
    assert result["after"]["kappa"] < result["before"]["kappa"]
    assert {"radius", "truncation_rate"} <= set(result)
    arguments = ["--methods", "joint-pmt,pmt-ridge", "--mu", "0.5,2", "--trials", "20", "--scale", "z", "--seed", "1"]
    compared = run(capsys, "compare", *tables(files), *arguments)
    assert len(compared["rows"]) == 4
    for row in compared["rows"]:
        assert {"method", "mu", "error_median", "error_mean", "error_sd", "trials"} <= set(row)
    assert compared["reference_norm"] > 0
    assert run(capsys, "compare", *tables(files), *arguments) == compared


@pytest.mark.parametrize("id", ["pmt-moment", "public-only", "dp-ridge-public"])
def test_text_output(capsys, files, id):
    """Without --json every sound kind of method prints text for people."""
    assert main(["release", *tables(files), "--method", id, "--mu", "1"]) == 0
    assert "standing: sound" in capsys.readouterr().out


@pytest.mark.slow
def test_selections_of_paper_d_on_a_table_of_ones_own(files, capsys):
    """``select``: what each procedure keeps at each Lambda, private figures; a refusal elsewhere leads to it."""
    result = run(capsys, "select", *tables(files), "--epsilon", "2", "--trials", "3", "--Lambda", "4")
    assert result["label"].startswith("private") and result["lam"] == 5.0 and result["trials"] == 3
    assert {"NAPP-ERM (lab)", "NAPP-VS (lab)", "NAPP-VS+ (lab)", "dp-erm", "without privacy"} <= set(result["kept"])
    assert all(len(share) == len(result["names"]) for share in result["kept"].values())
    assert all(len(count) == len(result["lams"]) for count in result["counts"].values())
    for id in ("napp-erm", "napp-vs", "napp-vs-plus"):
        assert main(["compare", *tables(files), "--methods", id, "--mu", "1", "--trials", "1"]) == 2
        assert "select" in capsys.readouterr().err
        assert main(["release", *tables(files), "--method", id, "--mu", "1"]) == 2
        assert "select" in capsys.readouterr().err


def test_every_method_of_the_lab_names_a_command_that_takes_it():
    """The methods that compare refuses name another command, and each is one of the program's."""
    commands = next(action.choices for action in parser()._actions if isinstance(action, argparse._SubParsersAction))
    for entry in methods():
        assert entry.studied_with in commands, entry.id
        assert entry.same_target == (entry.studied_with == "compare"), entry.id
