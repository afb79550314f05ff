"""A ledger kept over years: every earlier version opens, a backup is restored, many processes share one."""

from __future__ import annotations

import json
import logging
import shutil

import pytest

from pmtcore.base.messages import Damage, LedgerMessage
from pmtcore.ledger import chain, database
from pmtcore.ledger.chain import Damaged
from pmtcore.ledger.database import SCHEMA
from pmtcore.ledger.log import Ledger, LedgerError
from tests.helpers import refused, reserve
from tests.ledger.tables import VERSION, take_steps
from tests.ledger.test_limits import engine
from tests.ledger.test_log import REQUEST, url  # noqa: F401  # fixture


def older(address: str, to: int) -> None:
    """Write a ledger as a program of that version wrote it: a cap, a spend, its record."""
    written = engine(address)
    events = [
        ("cap", "cap-1", {"mu": 1.0}),
        ("reserve", "k", {"request": REQUEST, "mu": 0.5, "neighbours": "replace-one", "purpose": "old"}),
        ("release", "k", {"record": {"standing": "sound"}, "standing": "sound"}),
    ]
    with written.begin() as connection:
        take_steps(connection, to)
        connection.execute(VERSION.insert().values(version=to))
        previous = ""
        for seq, (kind, key, fields) in enumerate(events, 1):
            row = {"seq": seq, "at": "2025-01-01", "dataset": "survey", "kind": kind, "key": key}
            row |= {"payload": json.dumps(fields), "previous": previous}
            previous = chain.digest(row)
            names = [*row, "hash"]
            sign = "%(" if connection.dialect.name == "postgresql" else ":"
            places = [f"{sign}{name}" + (")s" if sign == "%(" else "") for name in names]
            statement = f"INSERT INTO pmt_events ({', '.join(names)}) VALUES ({', '.join(places)})"
            connection.exec_driver_sql(statement, {**row, "hash": previous})
    written.dispose()


@pytest.mark.parametrize("version", range(1, SCHEMA))
def test_every_earlier_version_opens(url, version):  # noqa: F811
    """Its events, chain and spends are what they were; what comes after is sealed; the old cap still holds."""
    older(url, version)
    ledger = Ledger(url)
    assert ledger.verify()["intact"] and ledger.verify()["events"] == 3
    (entry,) = ledger.account("survey").entries
    assert (entry.state, entry.mu, entry.purpose) == ("released", 0.5, "old")
    reserve(ledger, "survey", "new", REQUEST, 0.5, neighbours="replace-one")
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        reserve(ledger, "survey", "newer", REQUEST, 0.9, neighbours="replace-one")
    database._VERIFIED.clear()
    assert Ledger(url).verify()["intact"] and Ledger(url).account("survey").spent == pytest.approx(0.5**0.5)


def test_a_backup_is_restored(tmp_path):
    """File, key and head copied, all lost, all put back: the chain passes through the head of a record; it goes on."""
    home, safe = tmp_path / "home", tmp_path / "safe"
    home.mkdir()
    ledger = Ledger(str(home / "l.db"))
    ledger.cap("survey", 1.0)
    reserve(ledger, "survey", "a", REQUEST, 0.5, neighbours="replace-one")
    head = ledger.entry("a").hash
    shutil.copytree(home, safe)
    shutil.rmtree(home)
    shutil.copytree(safe, home)
    database._VERIFIED.clear()
    again = Ledger(str(home / "l.db"))
    assert again.verify(head)["intact"] and again.verify()["sealed"]
    assert reserve(again, "survey", "b", REQUEST, 0.5, neighbours="replace-one") is None


def test_the_log_is_one_json_line_for_each_event(tmp_path, caplog):
    """Kind, data set, key and number; nothing of the request or the record."""
    with caplog.at_level(logging.INFO, "second_moment.ledger"):
        ledger = Ledger(str(tmp_path / "l.db"))
        ledger.cap("survey", 1.0)
        reserve(
            ledger, "survey", "a", {**REQUEST, "method": "planted"}, 0.5, neighbours="replace-one", purpose="planted"
        )
        ledger.finish("a", {"standing": "sound", "coefficients": {"planted": 4711.0}})
    collected = [json.loads(record.message) for record in caplog.records]
    assert [line["event"] for line in collected] == ["cap", "reserve", "release"]
    assert "planted" not in caplog.text and "4711" not in caplog.text


def test_links_to_a_ledger_are_the_ledger(tmp_path):
    """By any link there is one key, one head and one lock; a link made anew is no way past an older copy."""
    (tmp_path / "home").mkdir()
    place = tmp_path / "home" / "l.db"
    ways = [tmp_path / "link.db", tmp_path / "folder" / "l.db", place]
    ways[0].symlink_to(place)
    ways[1].parent.symlink_to(place.parent)
    Ledger(str(ways[0])).cap("survey", 1.0)
    older_one = place.read_bytes()
    for at, way in enumerate(ways):
        reserve(Ledger(str(way)), "survey", f"k{at}", REQUEST, 0.5, neighbours="replace-one")
    assert len(Ledger(f"sqlite:///{ways[0]}").account("survey").entries) == 3
    assert {path.resolve() for path in tmp_path.rglob("*.key")} == {place.with_name("l.db.key")}
    place.write_bytes(older_one)
    database._VERIFIED.clear()
    (tmp_path / "new.db").symlink_to(place)
    with refused(Damage.CUT_SHORT, Damaged):
        reserve(Ledger(str(tmp_path / "new.db")), "survey", "k", REQUEST, 0.5, neighbours="replace-one")


SEALED = "sqlite:///l.db?mode=ro&uri=true"
MEMORY = "sqlite:///file:l.db?mode=memory&uri=true"


@pytest.mark.parametrize(
    "place", ["sqlite://", "sqlite:///:memory:", ":memory:", "sqlite:///l.db?mode=ro", SEALED, MEMORY]
)
def test_a_ledger_is_kept_in_a_file(tmp_path, monkeypatch, place, recwarn):
    """In memory it would be lost, and options would be passed over: a sentence, and no file left behind."""
    monkeypatch.chdir(tmp_path)
    with refused(LedgerMessage.SQLITE_FORM, LedgerError):
        Ledger(place)
    assert not list(tmp_path.iterdir()) and not recwarn


def test_links_in_a_circle_and_names_that_cannot_be_written(tmp_path):
    """A sentence that does not speak of damage."""
    (tmp_path / "a.db").symlink_to(tmp_path / "b.db")
    (tmp_path / "b.db").symlink_to(tmp_path / "a.db")
    ledger = Ledger(str(tmp_path / "l.db"))
    asked = [lambda: Ledger(str(tmp_path / "a.db")), lambda: ledger.account("\udcff"), lambda: ledger.entry("\ud800")]
    for question in asked:
        try:
            question()
        except LedgerError as result:
            assert "damaged" not in str(result)
