"""The ledger at its edges: amounts that are none, disks that are really full, old versions, a cut-off log."""

from __future__ import annotations

import math
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
import sqlalchemy as sql

from pmtcore.accounting.budgets import Budget, epsilon_from_mu
from pmtcore.base.labels import SpendState
from pmtcore.base.messages import ArgumentMessage, InputError, LedgerMessage
from pmtcore.cli.main import main
from pmtcore.ledger.database import SCHEMA
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.outcome import SpendFailure
from pmtcore.releases.release import Request, recorded_release
from tests.helpers import only_grows, refused, reserve
from tests.ledger.tables import VERSION, take_steps
from tests.ledger.test_log import REQUEST, emptied, problem, url  # noqa: F401  # fixtures

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def book(tmp_path):
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 1.0)
    return ledger


@pytest.mark.parametrize("mu", [math.nan, math.inf, -math.inf, -0.1, 1e9, "much", None])
def test_an_amount_that_is_none_is_refused(book, mu):
    """NaN compares false with every cap: it must not be taken, nor void the cap for what follows."""
    with pytest.raises(InputError):
        reserve(book, "survey", "k", REQUEST, mu, neighbours="replace-one")
    assert book.account("survey").spent == 0
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        reserve(book, "survey", "l", REQUEST, 1.1, neighbours="replace-one")


@pytest.mark.parametrize("relation", ["zero-out", "add_remove_one", "", "REPLACE-ONE"])
def test_an_unknown_relation_is_refused(book, relation):
    """What is not known cannot be converted, so it is not added up as if it were replace-one."""
    with refused(ArgumentMessage.NOT_ONE_OF):
        reserve(book, "survey", "k", REQUEST, 0.1, neighbours=relation)


def test_names_with_blanks_are_one_data_set(book):
    """A blank behind the name opens no second cap; unprintable names and keys are refused in a sentence."""
    reserve(book, " survey ", "k", REQUEST, 0.9, neighbours="replace-one")
    assert book.account("survey ").spent == pytest.approx(0.9)
    for name, key in (
        ("a\x00b", "k2"),
        ("a\ud800", "k2"),
        ("  ", "k2"),
        ("survey", " k2"),
        ("survey", "k\n2"),
        ("s" * 201, "k2"),
    ):
        with pytest.raises(LedgerError):
            reserve(book, name, key, REQUEST, 0.1, neighbours="replace-one")


def test_many_small_spends_never_pass_the_cap(book):
    """A fortieth of the cap in rho at a time: exactly forty fit, whatever floating point adds up to."""
    path = book.url.removeprefix("sqlite:///")
    mu = math.sqrt(1 / 40)
    done = 0
    for i in range(45):
        try:
            reserve(book, "survey", f"k{i}", REQUEST, mu, neighbours="replace-one")
            done += 1
        except LedgerError:
            break
    assert done == 40 and Path(path).exists()
    assert book.account("survey").left == pytest.approx(0.0, abs=1e-7)


FILLING = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
from tests.ledger.test_log import *
private, public = read_table(table(400, 1), "p.csv", "private"), read_table(table(50, 2), "b.csv", "public")
problem = prepare(private, public, Choices(target="y"))
ledger = Ledger(sys.argv[1])
ledger.cap("survey", 100.0)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]),) * 2)
done = 0
try:
    for done in range(200):
        request = Request("joint-pmt", Budget(0.5))
        recorded_release(problem, request, SecureNoise(), ledger, dataset="survey", key=f"k{done}")
except LedgerError as error:
    print(f"{done}|{error}")
"""


@pytest.mark.slow
@pytest.mark.parametrize("room", [110_000, 116_000, 122_000])
def test_a_disk_that_really_fills_up(room, tmp_path):
    """The operating system refuses to write on: a sentence without a path; what had been said is all there."""
    path = tmp_path / "l.db"
    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(path), str(room)], cwd=ROOT, capture_output=True, text=True, timeout=600
    )
    count, sentence = done.stdout.strip().split("|")
    assert done.returncode == 0 and not done.stderr
    assert "Nothing was released" in sentence and str(tmp_path) not in sentence
    ledger = Ledger(str(path))
    entries = ledger.account("survey").entries
    assert ledger.verify()["intact"]
    assert [e.state for e in entries[: int(count)]] == ["released"] * int(count) and int(count) > 0
    assert len(entries) in (int(count), int(count) + 1)
    if len(entries) > int(count):  # it filled up between the spend and its record
        assert entries[-1].state == "reserved" and "The budget is spent" in sentence


def test_a_read_only_ledger(book, problem):  # noqa: F811
    """No release, a clear sentence; an auditor can still read and verify it."""
    path = book.url.removeprefix("sqlite:///")
    sealed = Ledger(f"sqlite:///file:{path}?mode=ro&uri=true")
    with refused(LedgerMessage.UNUSABLE, LedgerError):
        recorded_release(problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), sealed, dataset="survey", key="k")
    assert sealed.verify()["intact"] and sealed.account("survey").cap == 1.0
    assert not book.account("survey").entries


def test_a_record_that_cannot_be_kept_says_that_it_is_spent(book, problem, monkeypatch):  # noqa: F811
    """The disk fills up between the spend and the record: nothing leaves, and the sentence does not hide the spend."""
    monkeypatch.setattr(Ledger, "finish", lambda *_: (_ for _ in ()).throw(LedgerError("The disk is full.")))
    with pytest.raises(SpendFailure) as failure:
        recorded_release(problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), book, dataset="survey", key="k")
    assert failure.value.kind is SpendState.NO_RESULT
    assert book.account("survey").spent == 0.5
    with refused(LedgerMessage.SPENT_UNFINISHED, LedgerError):
        recorded_release(problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), book, dataset="survey", key="k")


def test_the_first_error_is_the_one_shown(book, problem, monkeypatch):  # noqa: F811
    """A ledger that is gone by then does not hide why a release failed."""
    import pmtcore.releases.release as module

    monkeypatch.setattr(module, "release", lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt()))
    monkeypatch.setattr(Ledger, "fail", lambda *_: (_ for _ in ()).throw(LedgerError("gone")))
    with pytest.raises(KeyboardInterrupt):
        recorded_release(problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), book, dataset="survey", key="k")
    assert book.account("survey").spent == 0.5


def engine(url):  # noqa: F811
    return sql.create_engine(
        url.replace("postgresql://", "postgresql+psycopg://") if "://" in url else f"sqlite:///{url}"
    )


def test_an_old_ledger_is_brought_up_to_date(url):  # noqa: F811
    """Version 1 with entries opens, keeps every event and its chain, and grows only from then on."""
    old = engine(url)
    with old.begin() as connection:
        take_steps(connection, 1)
        connection.execute(VERSION.insert().values(version=1))
    ledger = Ledger(url)
    ledger.cap("survey", 1.0)
    reserve(ledger, "survey", "k", REQUEST, 0.5, neighbours="replace-one")
    head = ledger.verify()["head"]
    assert Ledger(url).verify(head)["intact"]
    with old.begin() as connection:
        assert connection.execute(sql.select(VERSION.c.version)).scalars().all() == [SCHEMA]
    for statement in ("UPDATE pmt_events SET at = 'never'", "DELETE FROM pmt_events"):
        with only_grows(), old.begin() as connection:
            connection.exec_driver_sql(statement)
    old.dispose()
    assert ledger.verify(head)["intact"] and ledger.account("survey").spent == 0.5


def test_a_newer_ledger_is_left_alone(url):  # noqa: F811
    """A version from the future is refused, not rewritten."""
    Ledger(url).cap("survey", 1.0)
    later = engine(url)
    with later.begin() as connection:
        connection.execute(VERSION.update().values(version=SCHEMA + 1))
    with refused(LedgerMessage.OTHER_VERSION, LedgerError):
        Ledger(url)
    later.dispose()


def test_a_cut_off_log_is_seen_from_a_head(book, tmp_path, capsys):
    """The chain of a shortened or rewritten log is whole; a head noted before says otherwise."""
    reserve(book, "survey", "a", REQUEST, 0.1, neighbours="replace-one")
    noted = book.verify()["head"]
    reserve(book, "survey", "b", REQUEST, 0.1, neighbours="replace-one")
    assert book.verify(noted)["intact"] and book.verify(book.verify()["head"])["intact"]
    cut = tmp_path / "cut.db"
    shutil.copy(book.url.removeprefix("sqlite:///"), cut)
    with sqlite3.connect(cut) as connection:
        connection.execute("DROP TRIGGER pmt_no_delete")
        connection.execute("DELETE FROM pmt_events WHERE seq >= 2")
    connection.close()
    shortened = Ledger(str(cut))
    assert shortened.verify()["intact"] and not shortened.verify(noted)["intact"]
    assert main(["ledger", "verify", "--ledger", str(cut)]) == 0
    assert main(["ledger", "verify", "--ledger", str(cut), "--head", noted]) == 2
    assert "cut off" in capsys.readouterr().err


def test_a_server_that_goes_away(postgres, problem):  # noqa: F811
    """Every connection of a PostgreSQL ledger is cut before a release: it reconnects, and spends once."""
    ledger = Ledger(emptied(postgres))
    ledger.cap("survey", 1.0)
    outside = engine(postgres)

    def cut():
        with outside.begin() as connection:
            connection.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
            )

    cut()
    first = recorded_release(
        problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), ledger, dataset="survey", key="k"
    )
    cut()
    again = recorded_release(
        problem, Request("joint-pmt", Budget(0.5)), SecureNoise(), ledger, dataset="survey", key="k"
    )
    outside.dispose()
    assert again.as_dict() == first.as_dict()
    assert ledger.account("survey").spent == 0.5


@pytest.mark.parametrize(("mu", "pure"), [(1.0, True), (40.0, False)])
def test_a_pure_cost_of_many_rows_is_entered_by_its_mu(book, problem, mu, pure):  # noqa: F811
    """Beyond e^500 the ledger takes the mu that it implies, in place of naming an epsilon that nobody typed."""
    book.cap("survey", 400.0)
    request = Request("napp-public", Budget(mu), parameters={"noise": "pure"}, rows_per_person=8)
    recorded_release(problem, request, SecureNoise(), book, dataset="survey", key="k")
    entry = book.entry("k")
    assert entry.mu == pytest.approx(8 * mu, rel=1e-3) and (entry.pure_epsilon > 0) == pure
    spent = book.account("survey").as_dict()["spent"]
    assert 0 < spent["epsilon"] <= epsilon_from_mu(8 * mu, spent["delta"]) * (1 + 1e-6)
