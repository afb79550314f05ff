"""The ledger: never over the cap, nothing lost or doubled, whatever happens."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sql

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import SpendState
from pmtcore.base.messages import LedgerMessage
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.ledger import database
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.ledger.sidecar import data_folder
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.releases.outcome import SpendFailure
from pmtcore.releases.release import Request, recorded_release
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table
from tests.helpers import in_processes, only_grows, refused, reserve

REQUEST = {"method": "joint-pmt", "mu": 0.5, "parameters": {}, "delta": 1e-6}


def table(n: int, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.standard_normal(n), "b": rng.standard_normal(n)})
    frame["y"] = frame["a"] - frame["b"] + rng.standard_normal(n)
    return frame.to_csv(index=False).encode()


@pytest.fixture(scope="module")
def problem():
    private, public = read_table(table(400, 1), "p.csv", "private"), read_table(table(50, 2), "b.csv", "public")
    return prepare(private, public, Choices(target="y"))


@pytest.fixture(params=["sqlite", "postgres"])
def url(request, tmp_path):
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    return emptied(request.getfixturevalue("postgres"))


def emptied(url):
    """Return a server without a ledger, and without the notes of one."""
    engine = sql.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS pmt_events, pmt_schema")
    engine.dispose()
    for path in data_folder().glob("*"):
        path.unlink()
    database._VERIFIED.clear()
    return url


def spend(url, key, queue):
    try:
        reserve(Ledger(url), "survey", key, {**REQUEST, "mu": 0.2}, 0.2, neighbours="replace-one")
        queue.put((key, "spent"))
    except LedgerError as error:
        queue.put((key, str(error)))


@pytest.mark.slow
def test_fifty_processes_at_a_cap(url):
    """0.2 fits 25 times under a cap of 1: exactly 25 of 50 concurrent processes spend; the log has every answer."""
    Ledger(url).cap("survey", 1.0)
    answers = dict(in_processes(spend, ((url, f"k{i}") for i in range(50))))
    account = Ledger(url).account("survey")
    spent = {key for key, answer in answers.items() if answer == "spent"}
    assert {entry.key for entry in account.entries} == spent
    assert len(spent) == 25 and account.spent == pytest.approx(1.0) and account.spent <= 1.0 * (1 + 1e-12)
    assert all("pass the cap" in answer for answer in answers.values() if answer != "spent")
    assert Ledger(url).verify()["intact"]


@pytest.mark.slow
def test_one_key_in_many_processes_spends_once(url):
    """Ten clicks at once with one key: one spend."""
    Ledger(url).cap("survey", 5.0)
    answers = [answer for _, answer in in_processes(spend, [(url, "same")] * 10)]
    assert answers.count("spent") == 1
    assert len(Ledger(url).account("survey").entries) == 1


def test_a_release_is_recorded_once_and_repeated_from_the_record(problem, url):
    """The same key gives the same record, without another spend or another look at the rows."""
    ledger = Ledger(url)
    ledger.cap("survey", 2.0)
    request = Request("joint-pmt", Budget(1.0))
    first = recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key="k1", purpose="a study")
    again = recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key="k1")
    assert again.as_dict() == first.as_dict()
    account = ledger.account("survey")
    (entry,) = account.entries
    assert (entry.state, entry.purpose, entry.mu, entry.standing) == ("released", "a study", 1.0, "sound")
    assert account.left == pytest.approx(math.sqrt(3))
    with refused(LedgerMessage.KEY_OF_ANOTHER_REQUEST, LedgerError):
        recorded_release(problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), ledger, dataset="survey", key="k1")


def _untouchable():
    raise AssertionError("private rows were touched")


def test_no_cap_no_release_and_a_cap_holds(problem, tmp_path):
    """Without a cap, or beyond it, nothing is spent and no private row is read."""
    ledger = Ledger(str(tmp_path / "l.db"))
    request = Request("joint-pmt", Budget(1.0))

    sealed = dataclasses.replace(problem, private=PrivateRows(_untouchable, problem.private.n, problem.private.names))
    with refused(LedgerMessage.NO_CAP, LedgerError):
        recorded_release(sealed, request, SecureNoise(), ledger, dataset="survey", key="k")
    ledger.cap("survey", 0.9)
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        recorded_release(sealed, request, SecureNoise(), ledger, dataset="survey", key="k")
    assert not ledger.account("survey").entries


def test_a_failure_is_entered_once(tmp_path):
    """Whoever states it again, after it or after the record, changes nothing and gets no error."""
    ledger = Ledger(tmp_path / "ledger.db")
    ledger.cap("survey", 3.0)
    reserve(ledger, "survey", "k", REQUEST, 0.5, neighbours="replace-one")
    ledger.fail("k", "ValueError")
    events = ledger.verify()["events"]
    ledger.fail("k", "KeyError")
    assert ledger.verify()["events"] == events and ledger.entry("k").state == "failed"


def test_a_failed_release_stays_spent(problem, tmp_path, monkeypatch):
    """Fail closed: an error after the spend leaves the spend, and says so to whoever repeats the key."""
    import pmtcore.releases.release as module

    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 2.0)
    request = Request("joint-pmt", Budget(1.0))
    monkeypatch.setattr(module, "release", lambda *_, **__: (_ for _ in ()).throw(MemoryError()))
    with pytest.raises(SpendFailure) as failure:
        recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key="k")
    assert (failure.value.kind, failure.value.key, failure.value.mu) == (SpendState.NO_RESULT, "k", 1.0)
    assert failure.value.by_program
    monkeypatch.undo()
    (entry,) = ledger.account("survey").entries
    assert entry.state == "failed" and ledger.account("survey").spent == 1.0
    with refused(LedgerMessage.SPENT_AND_FAILED, LedgerError):
        recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key="k")


KILLED = """
import sys
from tests.ledger.test_log import *
private, public = read_table(table(400, 1), "p.csv", "private"), read_table(table(50, 2), "b.csv", "public")
problem = prepare(private, public, Choices(target="y"))
ledger = Ledger(sys.argv[1])
print("ready", flush=True)
sys.stdin.readline()
request, key = Request("joint-pmt", Budget(0.05)), sys.argv[2]
found = recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key=key)
print(json.dumps(found.as_dict()["coefficients"]), flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("part", range(int(os.environ.get("PMT_KILLS", "10"))))
def test_killed_at_a_random_moment(part, tmp_path_factory):
    """kill -9 during a release: either no spend and nothing released, or a spend."""
    home = tmp_path_factory.getbasetemp().parent / "killed"
    home.mkdir(exist_ok=True)
    url, key = str(home / f"l{part}.db"), f"k{part}"
    Ledger(url).cap("survey", 100.0)
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url, key],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )
    process.stdout.readline()
    process.stdin.write("\n")
    process.stdin.flush()
    time.sleep(random.uniform(0, 0.03))  # the moment is the point
    process.send_signal(signal.SIGKILL)
    released = process.stdout.read().strip()
    process.wait()
    ledger = Ledger(url)
    entry = ledger.entry(key)
    if released:
        assert entry is not None
    if entry is not None:
        assert ledger.account("survey").spent == pytest.approx(0.05)
    assert ledger.verify()["intact"]


def test_editing_the_past_is_detected(tmp_path):
    """A changed amount, a removed event, a re-ordered one: each breaks the chain."""
    path = tmp_path / "l.db"
    ledger = Ledger(str(path))
    ledger.cap("survey", 3.0)
    for i in range(3):
        reserve(ledger, "survey", f"k{i}", REQUEST, 0.5, neighbours="replace-one")
    assert ledger.verify() == {**ledger.verify(), "intact": True, "events": 4}
    for change in (
        "UPDATE pmt_events SET payload = replace(payload, '0.5', '0.1') WHERE seq = 2",
        "DELETE FROM pmt_events WHERE seq = 3",
        "UPDATE pmt_events SET dataset = 'other' WHERE seq = 1",
    ):
        copy = tmp_path / "copy.db"
        shutil.copy(path, copy)
        with sqlite3.connect(copy) as connection:
            with only_grows():
                connection.execute(change)
            for verb in ("update", "delete"):  # whoever owns the file can lift that
                connection.execute(f"DROP TRIGGER pmt_no_{verb}")
            connection.execute(change)
        connection.close()
        assert not Ledger(str(copy)).verify()["intact"], change


def test_add_remove_budgets_count_twice(tmp_path):
    """A budget under another relation is converted, never added as it is."""
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 1.0)
    reserve(ledger, "survey", "a", REQUEST, 0.4, neighbours="add-remove-one")
    assert ledger.account("survey").spent == pytest.approx(0.8)
    with pytest.raises(LedgerError):
        reserve(ledger, "survey", "b", REQUEST, 0.4, neighbours="add-remove-one")


def test_a_full_or_read_only_disk_stops_releases(problem, tmp_path, monkeypatch):
    """A clear sentence, nothing spent, nothing released, no path in the text."""
    path = tmp_path / "l.db"
    ledger = Ledger(str(path))
    ledger.cap("survey", 2.0)
    request = Request("joint-pmt", Budget(1.0))

    for words in ("database or disk is full", "attempt to write a readonly database"):
        with monkeypatch.context() as patch:
            patch.setattr(
                database.Database,
                "append",
                lambda *_, w=words, **__: (_ for _ in ()).throw(sqlite3.OperationalError(w)),
            )
            with refused(LedgerMessage.UNUSABLE, LedgerError) as caught:
                recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key="k")
            assert str(tmp_path) not in str(caught.value)
    assert not ledger.account("survey").entries


@pytest.mark.parametrize("bad", ["/nowhere/at/all/l.db", "nonsense://x", "postgresql://127.0.0.1:1/none"])
def test_a_ledger_that_cannot_be_opened_is_a_sentence(bad):
    """Unreachable, unknown, missing."""
    with refused(LedgerMessage.UNUSABLE, LedgerError):
        Ledger(bad)


def test_a_file_that_is_no_ledger(tmp_path):
    """A CSV given as ledger is refused and left as it is."""
    path = tmp_path / "x.csv"
    path.write_bytes(table(400, 1))
    before = path.read_bytes()
    with refused(LedgerMessage.UNUSABLE, LedgerError):
        Ledger(str(path))
    assert path.read_bytes() == before


def test_commands(tmp_path, capsys):
    """cap, release, show, verify from the command line; a repeated key spends nothing more."""
    (tmp_path / "p.csv").write_bytes(table(400, 1))
    (tmp_path / "b.csv").write_bytes(table(50, 2))
    book = ["--ledger", str(tmp_path / "l.db")]
    assert main(["ledger", "cap", *book, "--dataset", "survey", "--mu", "1", "--json"]) == 0
    release = ["release", "--private", str(tmp_path / "p.csv"), "--public", str(tmp_path / "b.csv"), "--target", "y"]
    release += ["--method", "joint-pmt", "--mu", "0.7", *book, "--dataset", "survey", "--key", "mine", "--json"]
    capsys.readouterr()
    records = []
    for _ in range(2):
        assert main(release) == 0
        records.append(json.loads(capsys.readouterr().out))
    assert records[0]["coefficients"] == records[1]["coefficients"]
    assert main([*release[:-3], "--key", "other"]) == 0
    capsys.readouterr()
    assert main([*release[:-3], "--key", "third"]) == 3
    assert "pass the cap" in capsys.readouterr().err
    assert main(["ledger", "show", *book, "--json"]) == 0
    (account,) = json.loads(capsys.readouterr().out)["datasets"]
    assert account["cap"] == 1 and len(account["entries"]) == 2
    assert account["spent"]["mu"] == pytest.approx(0.7 * math.sqrt(2))
    assert main(["ledger", "verify", *book]) == 0
    assert main(["ledger", "cap", *book]) == 2
    with sqlite3.connect(tmp_path / "l.db") as connection:
        connection.execute("DROP TRIGGER pmt_no_update")
        connection.execute("UPDATE pmt_events SET at = 'never' WHERE seq = 2")
    connection.close()
    assert main(["ledger", "verify", *book]) == 2
    assert "event 2" in capsys.readouterr().err


def test_no_private_value_is_in_the_ledger(tmp_path):
    """A planted value of the private table appears nowhere in the file."""
    private = read_table(table(400, 1).replace(b"\n", b"\n", 1) + b"98765.4321,1,1\n", "p.csv", "private")
    problem = prepare(private, read_table(table(50, 2), "b.csv", "public"), Choices(target="y"))
    path = tmp_path / "l.db"
    ledger = Ledger(str(path))
    ledger.cap("survey", 2.0)
    recorded_release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(1), ledger, dataset="survey", key="k")
    assert not re.search(rb"98,?765\.4", path.read_bytes())  # five digits alone turn up in random ones


def test_the_number_of_rows_is_in_no_entry(tmp_path):
    """Where n is declared, or of persons, how many rows there are is private; a key closes the fingerprint."""
    book = Ledger(str(tmp_path / "l.db"))
    book.enter_table("d", hash_cells(read_table(table(4321, 1), "t", "private"), book.fingerprint_key))
    with sqlite3.connect(tmp_path / "l.db") as connection:
        (payload,) = connection.execute("SELECT payload FROM pmt_events WHERE kind = 'table'").fetchone()
    fields = json.loads(payload)
    assert len(fields.pop("fingerprint")) > 100 and fields == {"rows": 0}


def test_only_a_data_set_that_is_there_is_retired_or_parted(tmp_path):
    """A misspelled name would leave the one that was meant as it is."""
    book = Ledger(str(tmp_path / "l.db"))
    book.cap("survey", 1.0)
    with refused(LedgerMessage.NO_DATASET, LedgerError, dataset="survey"[:-1]):
        book.retire("surve", "the study is over")
    with refused(LedgerMessage.NO_DATASET, LedgerError, dataset="other"):
        book.part("survey", "other", "they share nobody")
    with refused(LedgerMessage.PARTED_FROM_ITSELF, LedgerError, dataset="survey"):
        book.part("survey", " survey ", "they share nobody")
    assert book.verify()["events"] == 1
    assert [account.dataset for account in book.accounts()] == ["survey"] and not book.account("survey").retired


def test_writers_whose_key_comes_from_elsewhere_wait_for_one_another(tmp_path, monkeypatch):
    """Without a key beside the file there is still a lock: nobody takes another's write for damage."""
    monkeypatch.setenv("PMT_LEDGER_KEY", "from a safe")
    place = str(tmp_path / "l.db")
    Ledger(place).cap("survey", 3.0)

    def spent(at):
        reserve(Ledger(place), "survey", f"k{at}", REQUEST, 0.1, neighbours="replace-one")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(spent, range(40)))
    assert len(Ledger(place).account("survey").entries) == 40 and not (tmp_path / "l.db.key").exists()


@pytest.mark.slow
def test_many_threads_hold_few_connections(postgres):
    """Sixty ledgers at once in sixty threads: a server sees ten connections of this process, and refuses none."""
    address = emptied(postgres)
    Ledger(address).cap("survey", 3.0)

    def spent(at):
        reserve(Ledger(address), "survey", f"k{at}", REQUEST, 0.1, neighbours="replace-one")
        return Ledger(address)

    with ThreadPoolExecutor(60) as pool:
        items = list(pool.map(spent, range(60)))
    assert len(items[0].account("survey").entries) == 60
    outside = sql.create_engine(address.replace("postgresql://", "postgresql+psycopg://"))
    with outside.connect() as connection:
        count = (
            "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        assert connection.exec_driver_sql(count).scalar() <= 10
    outside.dispose()
