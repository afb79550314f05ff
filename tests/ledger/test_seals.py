"""Events that the ledger's key did not seal: damage wherever they are read, whatever they say."""

from __future__ import annotations

import json
import shutil
import sqlite3

import pytest
import sqlalchemy as sql

from pmtcore.base.messages import Damage
from pmtcore.cli.main import main
from pmtcore.ledger import chain, database
from pmtcore.ledger.chain import Damaged, LedgerError
from pmtcore.ledger.database import SCHEMA, STEPS
from pmtcore.ledger.log import Ledger
from tests.helpers import only_grows, refused, reserve
from tests.ledger.tables import EVENTS
from tests.ledger.test_limits import engine
from tests.ledger.test_log import REQUEST, url  # noqa: F401  # fixture
from tests.ledger.test_upkeep import older

SPEND = {"request": REQUEST, "mu": 0.5, "neighbours": "replace-one", "purpose": ""}
RECORD = {"standing": "sound", "method": "joint-pmt", "coefficients": {"a": 4711.0}}
ALONE = {"rows": 1, "column": "", "rule": "first"}
# What a forger would write: kind, key, fields.
FORGED = [
    ("cap", "cap-9", {"mu": 50.0}),
    ("reserve", "forged", SPEND),
    ("release", "spent", {"record": RECORD, "standing": "sound"}),
    ("fail", "spent", {"reason": "x"}),
    ("table", "table-9", {"fingerprint": "x", "rows": 3}),
    ("join", "join-9", {"other": "weather", "share": 1.0}),
    ("part", "part-9", {"other": "weather", "reason": "x"}),
    ("retire", "retire-9", {"reason": "x"}),
    ("register", "register-9", {"private": "/x", "public": "/y", "unit": ALONE, "second": False}),
    ("ask", "asked", {**SPEND, "by": "ana"}),
    ("agree", "waits", {"by": "carl", "reason": ""}),
    ("decline", "waits", {"by": "carl", "reason": "x"}),
    ("accept", "accept-9", {"reason": "x"}),
]


@pytest.fixture
def book(url):  # noqa: F811
    """Return a ledger that this process has verified, with a spend, and a request that waits for an answer."""
    ledger = Ledger(url)
    ledger.cap("survey", 1.0)
    reserve(ledger, "survey", "spent", REQUEST, 0.5, neighbours="replace-one")
    ledger.agreements.ask("survey", "waits", {**SPEND, "by": "ana"})
    assert ledger.verify()["intact"]
    return ledger


def inserted(ledger: Ledger, kind: str, key: str, fields: dict, seal: str | None) -> None:
    """Put in an event that fits the chain, as somebody who has the database and not the key."""
    outside = engine(ledger.url)
    with outside.begin() as connection:
        last = connection.execute(sql.select(EVENTS).order_by(EVENTS.c.seq.desc()).limit(1)).mappings().one()
        row = {"seq": last["seq"] + 1, "at": "2026", "dataset": "survey", "kind": kind, "key": key}
        row |= {"payload": json.dumps(fields), "previous": last["hash"]}
        connection.execute(sql.insert(EVENTS).values(**row, hash=chain.digest(row), seal=seal))
    outside.dispose()


def readers(ledger: Ledger):
    """Everything that reads what events say."""
    return {
        "account": lambda: ledger.account("survey"),
        "accounts": ledger.accounts,
        "spend": lambda: reserve(ledger, "survey", "new", REQUEST, 0.1, neighbours="replace-one"),
        "cap": lambda: ledger.cap("survey", 2.0),
        "answer": lambda: ledger.agreements.answer("waits", True, "cleo"),
        "finish": lambda: ledger.finish("spent", RECORD),
    }


@pytest.mark.parametrize("seal", [None, "0" * 64, ""])
@pytest.mark.parametrize(("kind", "key", "fields"), FORGED, ids=lambda value: value if isinstance(value, str) else "")
def test_an_event_that_the_key_did_not_seal_is_believed_by_nobody(book, kind, key, fields, seal):
    """A cap, a figure, an agreement: after this process verified, in it and in a fresh one, reading or writing."""
    inserted(book, kind, key, fields, seal)
    own = {
        "release": lambda: book.entry("spent"),
        "fail": lambda: book.entry("spent"),
        "reserve": lambda: book.entry("forged"),
        "ask": book.agreements.all,
        "agree": lambda: book.agreements.one("waits"),
        "decline": lambda: book.agreements.one("waits"),
        "register": book.registered,
        "retire": book.registered,
        "join": lambda: book.account("weather"),
        "part": lambda: book.account("weather"),
    }
    asked = {**readers(book), **({kind: own[kind]} if kind in own else {})}
    if kind == "accept":  # about the ledger, not about a data set: whoever only reads does not meet it
        asked = {name: asked[name] for name in ("spend", "cap", "answer", "finish")}
    for fresh in (False, True):
        if fresh:
            database._VERIFIED.clear()
        for name, question in asked.items():
            with pytest.raises(Damaged):
                question()
                pytest.fail(f"{name} believed it")
        assert not book.verify()["intact"]


def test_a_report_prints_no_forged_figure(tmp_path, capsys):
    """The figure of an event without a seal is in no report: one sentence, and no file."""
    place = str(tmp_path / "l.db")
    ledger = Ledger(place)
    ledger.cap("survey", 1.0)
    reserve(ledger, "survey", "spent", REQUEST, 0.5, neighbours="replace-one")
    inserted(ledger, "release", "spent", {"record": RECORD, "standing": "sound"}, None)
    for asked in (["report", "--html", str(tmp_path / "r.html")], ["ledger", "record"]):
        assert main([*asked, "--ledger", place, "--key", "spent"]) == 2
        said = capsys.readouterr()
        assert "has no seal" in said.err and "4711" not in said.out + said.err
    assert not (tmp_path / "r.html").exists()


def unsealed(path, version=SCHEMA) -> None:
    """Strip all seals of a file, as its owner may, and say that it is of an older version."""
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER pmt_no_update")
        connection.execute("UPDATE pmt_events SET seal = NULL")
        connection.execute("UPDATE pmt_schema SET version = ?", (version,))
        connection.execute(
            "CREATE TRIGGER pmt_no_update BEFORE UPDATE ON pmt_events BEGIN SELECT RAISE(ABORT, 'the ledger only "
            "grows'); END"
        )
    connection.close()
    database._VERIFIED.clear()


@pytest.mark.parametrize("version", range(1, SCHEMA + 1))
def test_a_ledger_stripped_of_its_seals_is_damaged(tmp_path, version):
    """All seals gone and the head file too, as any version: never intact, nothing spent on it, while the key is
    there."""
    path = tmp_path / "l.db"
    ledger = Ledger(str(path))
    ledger.cap("survey", 1.0)
    reserve(ledger, "survey", "spent", REQUEST, 0.5, neighbours="replace-one")
    path.with_name("l.db.head").unlink()
    unsealed(path, version)
    try:
        again = Ledger(str(path))
        assert not again.verify()["intact"] and again.verify()["sealed"] == 0 and version == SCHEMA
        with pytest.raises(Damaged):
            again.account("survey")
        reserve(again, "survey", "new", REQUEST, 0.1, neighbours="replace-one")
    except LedgerError:
        return
    pytest.fail("a stripped ledger was believed")


def test_a_stripped_copy_without_its_key_gets_no_new_one(tmp_path):
    """Where events stand without seals no key is made that would seal what comes after them."""
    path = tmp_path / "l.db"
    Ledger(str(path)).cap("survey", 1.0)
    shutil.copy(path, tmp_path / "copy.db")
    unsealed(tmp_path / "copy.db")
    copy = Ledger(str(tmp_path / "copy.db"))
    assert not copy.verify()["intact"] and not (tmp_path / "copy.db.key").exists()
    with pytest.raises(LedgerError):
        copy.cap("survey", 9.0)


def test_sealed_counts_seals(book, monkeypatch):
    """One for each event that was checked with the key, none without it."""
    assert (book.verify()["sealed"], book.verify()["key"]) == (book.verify()["events"], True) == (3, True)
    monkeypatch.setattr(book._database, "key", None)
    assert (book.verify()["sealed"], book.verify()["key"], book.verify()["intact"]) == (0, False, True)
    monkeypatch.undo()
    inserted(book, "cap", "cap-9", {"mu": 50.0}, None)
    assert book.verify()["sealed"] == 3 and book.verify()["first_bad"] == 4


def test_a_seal_of_other_letters_is_named(book):
    """No seal that somebody writes keeps the check from saying which event is bad."""
    inserted(book, "cap", "cap-9", {"mu": 50.0}, "\u00e9" * 64)
    assert book.verify()["first_bad"] == 4


@pytest.mark.parametrize("version", range(1, SCHEMA))
def test_an_old_ledger_is_sealed_once(url, version):  # noqa: F811
    """Events from before there was a key get their seals with the upgrade, and can still not be changed."""
    older(url, version)
    ledger = Ledger(url)
    assert ledger.verify()["intact"] and ledger.verify()["sealed"] == 3
    outside = engine(url)
    with only_grows(), outside.begin() as connection:
        connection.exec_driver_sql("UPDATE pmt_events SET kind = 'cap' WHERE seq = 2")
    outside.dispose()


def test_an_old_ledger_under_a_key_from_elsewhere_is_accepted_with_a_reason(tmp_path, monkeypatch, capsys):
    """Where the key was there first, stripped and never sealed look alike: whoever holds the key says which."""
    monkeypatch.setenv("PMT_LEDGER_KEY", "from a safe")
    place = str(tmp_path / "l.db")
    older(place, 2)
    with refused(Damage.ALL_UNSEALED, Damaged):
        Ledger(place)
    assert main(["ledger", "accept", "--ledger", place]) == 2
    assert main(["ledger", "accept", "--ledger", place, "--reason", "written before there was a key"]) == 0
    capsys.readouterr()
    assert Ledger(place).verify()["sealed"] == 4 and len(STEPS) == SCHEMA
    assert Ledger(place).account("survey").spent == 0.5


@pytest.mark.parametrize("seq", [1, 2, 3])
def test_a_removed_event_is_noticed_by_whoever_reads(book, seq):
    """Also where a reader writes nothing: a lowered cap or a spend cannot be taken out from between the others."""
    outside = engine(book.url)
    is_sqlite = book.url.startswith("sqlite")
    with outside.begin() as connection:
        connection.exec_driver_sql(
            "DROP TRIGGER pmt_no_delete" if is_sqlite else "DROP TRIGGER pmt_only_grows ON pmt_events"
        )
        connection.exec_driver_sql(f"DELETE FROM pmt_events WHERE seq = {seq}")
    outside.dispose()
    assert not book.verify()["intact"]
    for name, question in readers(book).items():
        if seq == 3 and name in ("account", "accounts"):
            continue  # the newest: only the head that was noted tells, and whoever writes is told by it
        with pytest.raises(LedgerError):
            question()
            pytest.fail(f"{name} noticed nothing")
