"""Damaged ledgers: four hundred corruptions, cut tails, older copies, forged events; a sentence each, never a spend."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import random
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pmtcore.base.messages import Damage, LedgerMessage
from pmtcore.ledger import database
from pmtcore.ledger.chain import Damaged
from pmtcore.ledger.database import SCHEMA
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.ledger.sidecar import LedgerSidecar
from tests.helpers import refused, reserve
from tests.ledger.test_log import REQUEST, url  # noqa: F401  # fixture

CORRUPTIONS = int(os.environ.get("PMT_CORRUPTIONS", "400"))
BESIDE = ("", ".key", ".head")


def copied(source: Path, target: Path, ends=BESIDE) -> Path:
    """Return a ledger and what lies beside it, elsewhere; this process has not seen it yet."""
    for end in ends:
        shutil.copy(f"{source}{end}", f"{target}{end}")
    database._VERIFIED.clear()
    return target


def capped(folder: Path, cap: float) -> tuple[Path, Ledger]:
    """Return a new ledger with a cap for the survey, and its file."""
    path = folder / "l.db"
    ledger = Ledger(str(path))
    ledger.cap("survey", cap)
    return path, ledger


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Path:
    path, ledger = capped(tmp_path_factory.mktemp("original"), 5.0)
    for at in range(12):
        reserve(ledger, "survey", f"k{at}", REQUEST, 0.5, neighbours="replace-one", purpose="a purpose")
        ledger.finish(f"k{at}", {"standing": "sound", "coefficients": {"a": at / 7}})
    ledger.cap("other", 1.0)
    return path


def bytes_flipped(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice([1, 1, 2, 20])):
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)


def block_zeroed(data: bytearray, chance: random.Random) -> None:
    at, size = chance.randrange(len(data)), chance.choice([16, 512, 4096])
    data[at : at + size] = bytes(len(data[at : at + size]))


def cut_short(data: bytearray, chance: random.Random) -> None:
    del data[chance.randrange(len(data)) :]


def pages_swapped(data: bytearray, chance: random.Random) -> None:
    a, b = (4096 * chance.randrange(len(data) // 4096) for _ in range(2))
    data[a : a + 4096], data[b : b + 4096] = data[b : b + 4096], data[a : a + 4096]


def grown(data: bytearray, chance: random.Random) -> None:
    data += chance.randbytes(chance.choice([1, 4096, 5000]))


STATEMENTS = [
    "UPDATE pmt_events SET payload = ? WHERE seq = ?",
    "UPDATE pmt_events SET hash = ? WHERE seq = ?",
    "UPDATE pmt_events SET seal = ? WHERE seq = ?",
    "UPDATE pmt_events SET at = ? WHERE seq = ?",
    "UPDATE pmt_events SET dataset = ? WHERE seq = ?",
    "UPDATE pmt_events SET kind = ? WHERE seq = ?",
    "UPDATE pmt_events SET seq = ? WHERE seq = ?",
    "UPDATE pmt_schema SET version = ? WHERE 1 OR ?",
]
VALUES = [None, "", "{}", "[]", "null", '{"mu": 1e999}', "[" * 5000, b"\xff\xfe", -1, 2**62, "0" * 64, "é" * 10, 1.5]


def edited(path: Path, chance: random.Random) -> None:
    """By somebody who owns the file and lifts its triggers."""
    with sqlite3.connect(path) as connection, contextlib.suppress(sqlite3.Error):
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER pmt_no_{verb}")
        connection.execute(chance.choice(STATEMENTS), (chance.choice(VALUES), chance.randrange(1, 26)))
        if chance.random() < 0.3:
            connection.execute("DELETE FROM pmt_events WHERE seq = ?", (chance.randrange(1, 26),))
    connection.close()


def tried(path: Path) -> bool:
    """Everything one may ask of a ledger; whether a spend was taken. Any other error than a sentence is a failure."""
    spent = False
    asked = [
        lambda book: book.accounts(),
        lambda book: book.account("survey").as_dict(),
        lambda book: book.entry("k3"),
        lambda book: book.verify(),
        lambda book: book.finish("k3", {"standing": "sound"}),
        lambda book: book.cap("survey", 900.0),
    ]
    try:
        book = Ledger(str(path))
    except LedgerError:
        return False
    for question in asked[:4]:
        with contextlib.suppress(LedgerError):
            question(book)
    with contextlib.suppress(LedgerError):
        spent = reserve(book, "survey", "new", REQUEST, 0.1, neighbours="replace-one") is None
    for question in asked[4:]:
        with contextlib.suppress(LedgerError):
            question(book)
            spent = True
    return spent


@pytest.mark.slow
def test_no_spend_on_a_damaged_file(original, tmp_path):
    """Bytes, blocks, pages, tails, rows: what was changed takes no spend, cap or record, and says so in a sentence."""
    complete = original.read_bytes()
    ways = [bytes_flipped, block_zeroed, cut_short, pages_swapped, grown, None]
    damaged = 0
    for number in range(2 * CORRUPTIONS):
        chance, path = random.Random(number), copied(original, tmp_path / f"c{number}.db")
        way = ways[number % len(ways)]
        if way is None:
            edited(path, chance)
        else:
            data = bytearray(complete)
            way(data, chance)
            path.write_bytes(data)
        if path.read_bytes() == complete:
            continue
        damaged += 1
        assert not tried(path), f"corruption {number} took a spend"
        if damaged == CORRUPTIONS:
            break
    assert damaged == CORRUPTIONS
    assert tried(copied(original, tmp_path / "untouched.db")), "the test could not fail"


def test_beside_a_file_of_another_kind_nothing_is_written(tmp_path):
    """A file that somebody names by mistake is refused, and its folder stays as it was."""
    file = tmp_path / "notes.txt"
    file.write_text("no ledger")
    with refused(LedgerMessage.UNUSABLE):
        Ledger(str(file))
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("version", [-1, *range(SCHEMA), SCHEMA + 1, "", "x", 2**62])
def test_another_version_is_no_way_around(original, tmp_path, version):
    """A ledger said to be older is not upgraded, and so noted as whole, when its file is not what was noted."""
    path = copied(original, tmp_path / "l.db")
    with sqlite3.connect(path) as connection:
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER pmt_no_{verb}")
        connection.execute("UPDATE pmt_schema SET version = ?", (version,))
    connection.close()
    assert not tried(path)


@pytest.mark.slow
def test_a_server_with_an_impossible_version_is_refused(url):  # noqa: F811
    """A version that no program wrote is damage on every database."""
    from tests.ledger.test_limits import engine

    Ledger(url).cap("survey", 1.0)
    outside = engine(url)
    with outside.begin() as connection:
        connection.exec_driver_sql("UPDATE pmt_schema SET version = -1")
    outside.dispose()
    with refused(LedgerMessage.DAMAGED, LedgerError):
        Ledger(url)


def test_a_copy_without_its_key_takes_no_spend(original, tmp_path):
    """It can be read and verified; whoever has the file alone cannot go on in it."""
    alone = Ledger(str(copied(original, tmp_path / "l.db", ("",))))
    assert alone.verify()["intact"] and not alone.verify()["sealed"]
    with refused(LedgerMessage.KEY_MISSING, LedgerError):
        reserve(alone, "survey", "new", REQUEST, 0.1, neighbours="replace-one")


def test_an_older_copy_and_a_removed_file_are_noticed(tmp_path):
    """Copied back over the newer one, or deleted: the head beside it says so; a curator accepts it with a reason."""
    path, ledger = capped(tmp_path, 1.0)
    shutil.copy(path, tmp_path / "older")
    reserve(ledger, "survey", "k", REQUEST, 0.9, neighbours="replace-one")
    shutil.copy(tmp_path / "older", path)
    for again in (ledger, Ledger(str(path))):
        database._VERIFIED.clear()
        with refused(Damage.CUT_SHORT, Damaged):
            reserve(again, "survey", "k2", REQUEST, 0.9, neighbours="replace-one")
        assert not again.verify()["intact"]
    with refused(LedgerMessage.REASON_FOR_COPY, LedgerError):
        ledger.accept(" ")
    ledger.accept("restored after a disk failure")
    reserve(ledger, "survey", "k3", REQUEST, 0.5, neighbours="replace-one")
    assert ledger.verify()["intact"] and ledger.verify()["events"] == 3
    path.unlink()
    with refused(Damage.CUT_SHORT, Damaged):
        Ledger(str(path))


@pytest.mark.slow
def test_an_event_without_the_key_is_noticed(url):  # noqa: F811
    """A forger with the whole database writes a well-chained event: its seal does not fit, nothing is spent."""
    import sqlalchemy as sql

    from pmtcore.ledger.chain import digest
    from tests.ledger.tables import EVENTS
    from tests.ledger.test_limits import engine

    ledger = Ledger(url)
    ledger.cap("survey", 1.0)
    head = ledger.verify()["head"]
    forged = {"seq": 2, "at": "2026", "dataset": "survey", "kind": "cap", "key": "cap-2", "payload": '{"mu": 900.0}'}
    forged["previous"] = head
    outside = engine(url)
    for seal in (None, "0" * 64):
        database._VERIFIED.clear()
        with outside.begin() as connection:
            connection.execute(sql.insert(EVENTS).values(**forged, hash=digest(forged), seal=seal))
        with refused(LedgerMessage.DAMAGED, LedgerError):
            reserve(ledger, "survey", "k", REQUEST, 500.0, neighbours="replace-one")
        assert ledger.verify()["first_bad"] == 2
        with outside.begin() as connection:
            for statement in LIFTED[connection.dialect.name]:
                connection.exec_driver_sql(statement)
            connection.exec_driver_sql("DELETE FROM pmt_events WHERE seq = 2")
    outside.dispose()


LIFTED = {
    "sqlite": ["DROP TRIGGER IF EXISTS pmt_no_delete"],
    "postgresql": ["DROP TRIGGER IF EXISTS pmt_only_grows ON pmt_events"],
}


HEADS = [b"", b"x", b"[]", b"{}", b"null", b"\xff\xfe", b"[" * 100_000, b'{"seq": ' + b"9" * 5000 + b', "hash": "x"}']
SEQS = ("NaN", "1e400", "-1", '"1"', "true")
HEADS += [f'{{"seq": {seq}, "hash": {hash}}}'.encode() for seq in SEQS for hash in ('"x"', "1")]


@pytest.mark.parametrize("text", HEADS)
def test_a_note_of_the_head_that_cannot_be_read_stops_all_spends(original, tmp_path, text):
    """One clear sentence for whatever stands there, and the same cause from ``verify``."""
    path = copied(original, tmp_path / "l.db")
    Path(f"{path}.head").write_bytes(text)
    assert not tried(path)
    with refused(Damage.UNREADABLE_HEAD, Damaged):
        reserve(Ledger(str(path)), "survey", "new", REQUEST, 0.1, neighbours="replace-one")
    assert Ledger(str(path)).verify()["why"] == "the note of the head cannot be read"


def test_threads_that_note_at_once_never_leave_half_a_note(tmp_path, monkeypatch):
    """A server's ledger has no lock of a file: whoever reads the head meanwhile finds a whole one, last the newest."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    beside = LedgerSidecar(None, "postgresql://nobody@nowhere/x")

    def note(seq):
        beside.note(seq, f"{seq:064d}")
        return beside.head()

    with ThreadPoolExecutor(16) as pool:
        items = list(pool.map(note, range(1, 400)))
    assert all(int(head.hash) == head.seq for head in items) and beside.head().seq == 399


def free_page(data: bytes) -> int:
    """Return where a page begins that the database keeps nothing in: the first leaf of the list of free pages."""
    size, trunk = int.from_bytes(data[16:18], "big"), int.from_bytes(data[32:36], "big")
    at = (trunk - 1) * size
    assert trunk and int.from_bytes(data[at + 4 : at + 8], "big"), "no free pages: the test could not fail"
    return (int.from_bytes(data[at + 8 : at + 12], "big") - 1) * size


@pytest.mark.parametrize("killed", [True, False])
def test_free_pages_after_a_kill(tmp_path, killed):
    """SQLite does not put back what a killed write left in free pages: the ledger goes on. Without a kill: damage."""
    path, ledger = capped(tmp_path, 5.0)
    with ledger._database.writing(200_000) as connection:  # the room of a record, which is free afterwards
        ledger._database.append(connection, "survey", "fail", "k", payload={"reason": "a test"})
    if killed:
        process = multiprocessing.get_context("fork").Process(target=die_in_a_write, args=(str(path),))
        process.start()
        process.join()
    data = bytearray(path.read_bytes())
    at = free_page(data)
    data[at : at + 64] = b"x" * 64
    path.write_bytes(data)
    if killed:
        reserve(ledger, "survey", "a", REQUEST, 0.1, neighbours="replace-one")
        assert ledger.verify()["intact"] and ledger.account("survey").spent == pytest.approx(0.1)
    else:
        with refused(Damage.CHANGED_BY_ANOTHER, Damaged):
            reserve(ledger, "survey", "a", REQUEST, 0.1, neighbours="replace-one")


def die_in_a_write(place):
    with Ledger(place)._database.writing():
        os._exit(9)


def test_after_a_kill_all_events_are_looked_at(tmp_path):
    """A process that has walked the chain walks it again, from its beginning, where another was killed in a write."""
    path = tmp_path / "l.db"
    ledger = Ledger(str(path))
    for at in range(4):
        ledger.cap("survey", 5.0 - at)
    process = multiprocessing.get_context("fork").Process(target=die_in_a_write, args=(str(path),))
    process.start()
    process.join()
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER pmt_no_update")
        connection.execute("UPDATE pmt_events SET payload = replace(payload, '5.0', '9.0') WHERE seq = 1")
    connection.close()
    with refused(Damage.BROKEN_CHAIN, Damaged):
        reserve(ledger, "survey", "a", REQUEST, 0.1, neighbours="replace-one")


def test_a_refused_spend_leaves_the_note_settled(tmp_path):
    """The digest of the file stands in the note again, so that a change of the file is still found."""
    path, ledger = capped(tmp_path, 0.5)
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        reserve(ledger, "survey", "a", REQUEST, 0.9, neighbours="replace-one")
    assert LedgerSidecar(path, str(path)).head().file == LedgerSidecar(path, str(path)).digest() != ""
