"""Examples that are run again and again: they never meet a cap, and say what was spent."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import pmtcore as sm
from pmtcore.api import spending
from pmtcore.base.messages import FaceMessage, LedgerMessage
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.releases import release as releasing
from tests.helpers import refused

ROOT = Path(__file__).resolve().parents[2]
DEMO = {name: str(ROOT / "assets" / f"demo-{name}.csv") for name in ("private", "public")}
README = (ROOT / "README.md").read_text()
RUNS = 12  # more releases at mu 1 than fit under a cap of 3


def restarted() -> None:
    """Forget what this process remembers, as another kernel would."""
    spending._MADE.clear()
    releasing._ADMITTED.clear()


def frame(seed: int, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    found = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)})
    return found.assign(y=found["a"] - found["b"] + rng.standard_normal(n))


@pytest.mark.slow
def test_the_readmes_example_runs_as_often_as_one_likes(tmp_path, monkeypatch, capsys):
    """The code as printed, in one folder with one ledger, each time as if in a new kernel."""
    code = re.search(r"<!-- example -->\n```python\n(.*?)```", README, re.DOTALL).group(1)
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    monkeypatch.chdir(tmp_path)
    for _ in range(RUNS):
        restarted()
        exec(code, {})
    assert capsys.readouterr().out.count("nothing that counts was spent") >= RUNS
    assert json.loads((tmp_path / "release.json").read_text())["standing"] == "lab"
    assert not Ledger(str(tmp_path / "budget.db")).accounts()


@pytest.mark.slow
def test_the_readmes_command_runs_as_often_as_one_likes(monkeypatch, capsys):
    """The line of the command line too, against the user's own ledger."""
    line = re.search(r"python -m pmtcore (release --private assets/demo.*)", README).group(1)
    monkeypatch.chdir(ROOT)
    for _ in range(RUNS):
        assert main(line.split()) == 0
        said = capsys.readouterr().out
    assert "the table is synthetic" in said and not Ledger(os.environ["PMT_LEDGER"]).accounts()


@pytest.mark.parametrize("read", [pd.read_csv, pl.read_csv, str], ids=["pandas", "polars", "path"])
def test_the_demo_is_known_from_whatever_it_is_read(read, tmp_path):
    """Any frame or the file: a lab figure for a reason that is said, outside any ledger unless a data set is named."""
    place, tables = str(tmp_path / "l.db"), [read(DEMO[name]) for name in ("private", "public")]
    model = sm.PrivateRegressor(mu=1.0).fit(*tables, target="y", ledger=place, quiet=True)
    assert model.record_["standing"] == "lab" and "the table is synthetic" in model.record_["standing_reasons"]
    assert model.spent_.synthetic and not Path(place).exists()
    named = sm.PrivateRegressor(mu=1.0).fit(*tables, target="y", ledger=place, dataset="practice", quiet=True)
    assert Ledger(place).account("practice").spent == 1.0 and named.record_["standing"] == "lab"


@pytest.mark.parametrize("change", ["cell", "row less", "column"])
def test_what_only_looks_like_the_demo_is_not_the_demo(change, tmp_path):
    """A table of people that came to have the demo's columns and rows spends as any other."""
    table = pd.read_csv(DEMO["private"])
    if change == "cell":
        table.loc[7, "x1"] += 0.01
    elif change == "row less":
        table = table.iloc[1:]
    else:
        table = table.assign(x6=0.5 * table["x1"])
    model = sm.PrivateRegressor(mu=0.1).fit(
        table, pd.read_csv(DEMO["public"]), target="y", ledger=str(tmp_path / "l.db"), quiet=True
    )
    assert model.record_["standing"] == "sound" and model.spent_.total == pytest.approx(0.1)


@pytest.mark.slow
@pytest.mark.parametrize("path", sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")), ids=lambda path: path.name[:1])
def test_no_notebook_meets_a_cap(path, tmp_path, monkeypatch):
    """Each release of a notebook has its key, so that running it again gives it again; run as often as it takes."""
    cells = ["".join(cell["source"]) for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    spends = [cell for cell in cells if re.search(r"Private\w+\(.*mu=|sm\.release\(|\.fit\((private|labels)", cell)]
    for cell in spends:
        calls = len(re.findall(r"\.fit\(|sm\.release\(", cell))
        again = "again = " in cell  # the cell that shows that a repetition costs nothing
        assert cell.count("key=") >= calls - again - cell.count("lab=True"), cell
    if path.name.startswith(("1", "7")):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("PMT_LEDGER", str(tmp_path / "own.db"))
        for _ in range(RUNS if path.name.startswith("1") else 4):
            restarted()
            values: dict = {}
            for cell in cells[: 4 if path.name.startswith("1") else 2]:
                exec(cell, values)
        ledger = Ledger(str(tmp_path / ("budget.db" if path.name.startswith("1") else "own.db")))
        assert [account.spent for account in ledger.accounts()] == [1.0]


def test_frames_without_a_name_have_accounts_of_their_own(tmp_path):
    """Other rows, other account; the same rows again, in any order of runs, the same one; the name tells no row."""
    place, public = str(tmp_path / "l.db"), frame(99, 60)
    for seed in (1, 2, 3, 4, 1):
        restarted()
        sm.PrivateRegressor(mu=1.5).fit(frame(seed), public, target="y", ledger=place, quiet=True)
    accounts = Ledger(place).accounts()
    assert sorted(len(account.entries) for account in accounts) == [1, 1, 1, 2]
    assert all(not account.together for account in accounts)
    other = str(tmp_path / "other.db")
    sm.PrivateRegressor(mu=1.5).fit(frame(1), public, target="y", ledger=other, quiet=True)
    names = {account.dataset for account in accounts}
    assert {account.dataset for account in Ledger(other).accounts()}.isdisjoint(names), "not without the ledger's key"


def test_a_frame_with_a_row_more_spends_with_the_other(tmp_path):
    """A name by the fingerprint is no way round a cap: tables that share rows spend together."""
    place, public = str(tmp_path / "l.db"), frame(99, 60)
    sm.PrivateRegressor(mu=2.5).fit(frame(1), public, target="y", ledger=place, quiet=True)
    more = pd.concat([frame(1), frame(5, 1)])
    with refused(LedgerMessage.BEYOND_CAP_TOGETHER, LedgerError):
        sm.PrivateRegressor(mu=2.5).fit(more, public, target="y", ledger=place, quiet=True)


@pytest.mark.slow
def test_the_refusal_says_how_to_go_on(tmp_path):
    """How a data set is named and how its cap is set, in words that work when they are done."""
    place, public = str(tmp_path / "l.db"), frame(99, 60)
    table = frame(1)
    with pytest.raises(LedgerError) as refused:
        for _ in range(RUNS):
            restarted()
            sm.PrivateRegressor(mu=1.0).fit(table, public, target="y", ledger=place, quiet=True)
    said = str(refused.value)
    assert "dataset=" in said and "Nothing was released and nothing was spent" in said
    name = re.search(r"--dataset '(.*?)' --mu M --reason WHY", said).group(1)
    assert main(["ledger", "cap", "--ledger", place, "--dataset", name, "--mu", "5", "--reason", "a study"]) == 0
    sm.PrivateRegressor(mu=1.0).fit(table, public, target="y", ledger=place, quiet=True)


def test_nothing_to_fit_is_said_before_the_spend(tmp_path):
    """A method that releases no coefficients is refused by ``fit`` while nothing is spent."""
    place = str(tmp_path / "l.db")
    with refused(FaceMessage.NOTHING_TO_FIT):
        sm.PrivateRegressor(mu=1.0, method="pmt-moment").fit(frame(1), frame(2, 60), target="y", ledger=place)
    assert not Path(place).exists()
