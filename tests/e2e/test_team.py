"""Two app processes on one PostgreSQL: fifty visitors release at once at a cap."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import urllib.parse
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql

from pmtcore.base.messages import Damage
from pmtcore.ledger import database
from pmtcore.ledger.log import Ledger, LedgerError
from tests.e2e.conftest import Server
from tests.e2e.visitor import Visitor
from tests.helpers import only_grows, refused, reserve
from tests.ledger.test_log import emptied

pytestmark = pytest.mark.slow

VISITORS, FIT = 50, 25  # a cap of 5 holds 25 releases of mu = 1
NAME = "Synthetic demo"


@pytest.fixture
def shared(postgres: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return an empty ledger on the server, under one key for all processes."""
    monkeypatch.setenv("PMT_LEDGER_KEY", "a key for this test")
    monkeypatch.setenv("PMT_LEDGER", emptied(postgres))
    return postgres


@pytest.fixture
def servers(shared: str, tmp_path: Path) -> Iterator[list[Server]]:
    collected = []
    try:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            collected.append(Server(tmp_path / name, ledger=shared))
        yield collected
    finally:
        for server in collected:
            server.stop()


async def release(port: int, ready: asyncio.Barrier) -> str:
    """Return a whole visit: what the page says at the end."""
    async with Visitor(port) as visitor:
        await visitor.go("release")
        await visitor.set("checkbox", "ledger-study", True)
        await visitor.set("checkbox", "I spend mu", True)
        await ready.wait()  # everybody has confirmed: now all click at once
        await visitor.set("button", "Compute a lab figure", True)
        await visitor.ended()
        return visitor.words()


def others(said: list[str], known: list[str]) -> str:
    """Return the pages that say neither, whole."""
    return "\n\n".join(words for words in said if words not in known) or "every page said one or the other"


def test_fifty_releases_at_once_on_two_processes(servers, shared):
    """Exactly 25 fit; each of them has its record; everybody else reads that the cap would be passed."""
    ledger = Ledger(shared)
    ledger.cap(NAME, FIT**0.5)

    async def crowd() -> list[str]:
        ready = asyncio.Barrier(VISITORS)
        return await asyncio.gather(*(release(servers[k % 2].port, ready) for k in range(VISITORS)))

    said = asyncio.run(crowd())
    account = ledger.account(NAME)
    done = [words for words in said if "A lab figure, not a release" in words]  # the demo is for study
    refused = [words for words in said if "would pass the cap" in words]
    assert (len(done), len(refused)) == (FIT, VISITORS - FIT), others(said, done + refused)
    assert len(account.entries) == FIT and account.spent <= FIT**0.5 * (1 + 1e-12)
    assert all(entry.state == "released" and entry.record is not None for entry in account.entries), "none is lost"
    assert ledger.verify()["intact"]


def test_a_dump_of_the_server_is_restored(shared, tmp_path):
    """pg_dump, everything gone, restored: the chain passes through the head of a record, is sealed, and goes on.

    An older dump does not pass through a newer head, and takes no spend until somebody accepts it with a reason.
    """
    dump = shutil.which("pg_dump")
    if dump is None:
        pytest.skip("no pg_dump on this machine (apt-get install postgresql-client)")
    host = urllib.parse.parse_qs(urllib.parse.urlsplit(shared).query)["host"][0]
    at = ["-h", host, "-U", "pmt", "postgres"]
    request = {"method": "joint-pmt", "mu": 0.5, "parameters": {}, "delta": None}

    def saved(name: str) -> Path:
        path = tmp_path / name
        path.write_bytes(subprocess.run([dump, *at], check=True, capture_output=True, timeout=600).stdout)
        return path

    def restored(path: Path) -> Ledger:
        engine = sql.create_engine(shared.replace("postgresql://", "postgresql+psycopg://"))
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP SCHEMA public CASCADE; CREATE SCHEMA public")
        engine.dispose()
        command = ["psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", str(path), *at]
        subprocess.run(command, check=True, capture_output=True, timeout=600)
        database._VERIFIED.clear()
        return Ledger(shared)

    ledger = Ledger(shared)
    ledger.cap("survey", 2.0)
    reserve(ledger, "survey", "a", request, 0.5, neighbours="replace-one")
    old, first = saved("old.sql"), ledger.entry("a").hash
    reserve(ledger, "survey", "b", request, 0.5, neighbours="replace-one")
    new, second = saved("new.sql"), ledger.entry("b").hash
    again = restored(new)
    assert again.verify(first)["intact"] and again.verify(second)["intact"] and again.verify()["sealed"]
    with only_grows():
        engine = sql.create_engine(again.url)
        with engine.begin() as connection:
            connection.exec_driver_sql("DELETE FROM pmt_events")
    reserve(again, "survey", "c", request, 0.5, neighbours="replace-one")
    older = restored(old)
    assert older.verify(first)["events"] == 2 and not older.verify(second)["intact"]
    with refused(Damage.CUT_SHORT, LedgerError):
        reserve(older, "survey", "d", request, 0.5, neighbours="replace-one")
    older.accept("the disk was lost")
    older.cap("survey", 1.5)
    reserve(older, "survey", "d", request, 0.5, neighbours="replace-one")
    assert older.verify(first)["intact"] and os.environ["PMT_LEDGER_KEY"] not in old.read_text()
