"""Examples that are run again and again: they never meet a cap, and say what was spent."""

from __future__ import annotations

import json
import os
import re
import sqlite3
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import pmtcore as sm
from pmtcore.api import spending
from pmtcore.base.messages import FaceMessage, LedgerMessage
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.releases import release as releasing
from pmtcore.tables.table import MomentTable, query_table, table_from, with_rows
from tests.helpers import refused

ROOT = Path(__file__).resolve().parents[2]
DEMO = {name: str(ROOT / "assets" / f"demo-{name}.csv") for name in ("private", "public")}
README = (ROOT / "README.md").read_text()
RUNS = 12  # more releases at mu 1 than fit under a cap of 3


def restarted() -> None:
    """Forget what this process remembers, as another kernel would."""
    spending._REQUEST_KEYS.clear()
    releasing._ADMITTED.clear()


def frame(seed: int, n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    data_frame = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)})
    return data_frame.assign(y=data_frame["a"] - data_frame["b"] + rng.standard_normal(n))


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


def _queried(folder: Path, number: int) -> object:
    """A query in the words of every other, of a database of its own."""
    place = folder / f"{number}.db"
    with sqlite3.connect(place) as connection:
        frame(number).to_sql("people", connection, index=False)
    connection.close()
    return query_table(f"sqlite:///{place}", "SELECT * FROM people")


def _bare_parquet(folder: Path, number: int) -> object:
    """A file whose description of itself says nothing of its cells."""
    place = folder / f"{number}.parquet"
    options = {"write_statistics": False, "use_dictionary": False, "compression": "none"}
    parquet.write_table(pa.Table.from_pandas(frame(number), preserve_index=False), place, **options)
    return place


def _declared(folder: Path, number: int) -> object:
    return with_rows(table_from(frame(1), "people", "private"), 200 + 50 * number)


@pytest.mark.parametrize("private", [_queried, _bare_parquet, _declared], ids=lambda made: made.__name__.strip("_"))
def test_a_table_that_only_looks_the_same_is_fitted_and_admitted_anew(private, tmp_path):
    """A query's words, a file's description, the rows of one table: none of them makes two tables one."""
    place, public = str(tmp_path / "l.db"), frame(99, 60)
    Ledger(place).cap("people", 50.0)
    tables = [private(tmp_path, number) for number in (1, 2)]
    fits = [
        sm.PrivateRegressor(mu=1.0).fit(table, public, target="y", ledger=place, dataset="people", quiet=True)
        for table in (*tables, tables[0])
    ]
    assert [model.spent_.repeated for model in fits] == [False, False, True]
    assert list(fits[0].coef_) == list(fits[2].coef_) != list(fits[1].coef_)
    marks = [mark for mark in releasing._ADMITTED if mark[0] == Ledger(place).url]
    # Rows of a query are looked at each time: those of now may be others.
    assert len(marks) == (0 if private is _queried else 2), "each is known again"


def _coded(number: int, n: int) -> pd.DataFrame:
    return frame(number, n).assign(g=np.resize([1, 2, 3], n))


def _schema_of_codes(public: pd.DataFrame) -> dict:
    """The schema of the rows, where numbers of ``g`` are names."""
    schema = table_from(public, "p", "public").schema.as_dict()
    next(one for one in schema["columns"] if one["name"] == "g").update(kind="level", levels=["1", "2", "3"])
    return schema


def test_another_question_about_the_same_rows_is_no_repetition(tmp_path):
    """A declared schema, and the rows behind a public moment, are part of what is asked."""
    place, table, public = str(tmp_path / "l.db"), _coded(1, 300), _coded(99, 60)
    Ledger(place).cap("people", 50.0)
    told = {"target": "y", "ledger": place, "dataset": "people", "quiet": True}
    schemas = (None, _schema_of_codes(public))
    fits = [sm.PrivateRegressor(mu=1.0, schema=schema).fit(table, public, **told) for schema in schemas]
    assert [len(model.coef_) for model in fits] == [3, 4] and not fits[1].spent_.repeated
    columns = np.column_stack([np.ones(60), public[["a", "b", "y"]]])
    moment = MomentTable("moment", ("(intercept)", "a", "b", "y"), columns.T @ columns / 60)
    counts = [
        sm.PrivateRegressor(mu=1.0).fit(table, moment, public_rows=rows, **told).release_.public_rows
        for rows in (60, 6000)
    ]
    assert counts == [60, 6000]


def test_a_repeated_key_reads_new_rows_as_its_release_did(tmp_path):
    """The same key gives the earlier release; its predictions are by the design that it was made with."""
    table, public = _coded(1, 300), _coded(99, 60)
    told = {"target": "y", "ledger": str(tmp_path / "l.db"), "key": "once", "quiet": True}
    schemas = (None, _schema_of_codes(public))
    first, second = (sm.PrivateRegressor(mu=1.0, schema=schema).fit(table, public, **told) for schema in schemas)
    assert second.spent_.repeated and np.array_equal(first.predict(public), second.predict(public))


@pytest.mark.parametrize("whose", [{"person": "g"}, {}], ids=["a column of persons", "a declared number of rows"])
def test_what_is_said_to_be_spent_is_what_the_ledger_counts(whose, tmp_path):
    """With several rows a person spends as often; a first cap has room for it, as on the command line."""
    place, told = str(tmp_path / "l.db"), {"target": "y", "quiet": True}
    table, public = frame(1).assign(g=np.arange(300) // 3), frame(99, 60).assign(g=np.arange(60) // 3)
    model = sm.PrivateRegressor(mu=1.5, features=["a", "b"], rows_per_person=3, **whose)
    said = model.fit(table, public, ledger=place, dataset="people", **told).spent_
    assert (said.mu, said.total, said.cap) == (4.5, 4.5, 4.5) and "Spent mu = 4.5" in said.sentence
