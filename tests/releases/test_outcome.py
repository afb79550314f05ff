"""After a spend: what goes wrong is told with the spend, its key and what to do; nothing is silent, nothing denied."""

from __future__ import annotations

import importlib.util
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import ReleaseStatus, SpendState
from pmtcore.base.messages import SpendMessage
from pmtcore.cli.main import main
from pmtcore.ledger import log
from pmtcore.ledger.database import Database
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.methods.registry import methods
from pmtcore.releases import release as releasing
from pmtcore.releases.outcome import SpendFailure
from pmtcore.releases.release import Request, recorded_release
from tests.helpers import refused
from tests.ledger.test_log import problem  # noqa: F401  # fixture

ROOT = Path(__file__).resolve().parents[2]
REQUEST = Request("joint-pmt", Budget(0.5))


@pytest.fixture(scope="module")
def inject():
    """Yield the command that lets calls fail one by one."""
    spec = importlib.util.spec_from_file_location("inject", ROOT / "benchmarks" / "inject.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["inject"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["inject"]


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "step"), [("ledger", 11), ("files", 13), ("reader", 1)])
def test_a_call_that_fails_once_is_told(kind, step, inject, tmp_path):
    """Every so many calls of each kind, before and after they did their work; the command tries every one."""
    counts, bad = inject.run(kind, 10_000, tmp_path, step)
    assert not bad, bad[:3]
    assert sum(counts.values()) >= 4 and any("exit 0" not in name for name in counts), counts


def test_the_command_would_notice_a_denial(inject):
    """What it holds against what was said: each way of being wrong is one of its problems."""
    fine = inject.FaultyRelease(
        2, "mu = 1 is spent, under key the-key; its record is kept", "x", "released", True, True
    )
    assert not fine.problems
    wrong = [
        {"status": 2, "said": "Nothing was released."},
        {"said": ""},
        {"said": f"{inject.SECRET} the-key is spent"},
        {"state": "none", "said": "the-key is spent"},
        {"status": 0, "state": "reserved", "said": "a result"},
        {"fetched": False},
        {"intact": False},
        {"said": "the-key is spent"},
        {"status": "ValueError"},
    ]
    for change in wrong:
        assert inject.FaultyRelease(**{**vars(fine), **change}).problems, change


@pytest.fixture
def book(tmp_path):
    ledger = Ledger(str(tmp_path / "l.db"))
    ledger.cap("survey", 2.0)
    return ledger


BROKE = LedgerError("It broke late.")


def late(monkeypatch, when, error=BROKE):
    """Let the ledger break after a write that it made: the write stands, and an error comes."""
    inner = Database.writing

    @contextmanager
    def writing(self, room=0):
        with inner(self, room) as connection:
            yield connection
        if when(room):
            raise error

    monkeypatch.setattr(Database, "writing", writing)


def assert_named(failure: SpendFailure, kind: SpendState) -> None:
    assert (failure.kind, failure.key, failure.dataset, failure.mu) == (kind, "k", "survey", 0.5)
    said = str(failure)
    assert "mu = 0.5 of 'survey'" in said and "under key k" in said and failure.place in said
    assert SpendMessage.NOTHING.sentence() not in said
    page = failure.on_page
    assert "mu = 0.5 of 'survey'" in page and "under key k" in page
    assert failure.place not in page and "--" not in page and SpendMessage.NOTHING.sentence() not in page


@pytest.mark.parametrize("error", [BROKE, ValueError("x"), MemoryError(), OSError(5, "x")])
def test_an_error_after_the_reserve_was_written(problem, book, monkeypatch, error):  # noqa: F811
    """The spend stands although writing it ended in an error: it is told, with its key."""
    late(monkeypatch, lambda room: room > 0, error)
    with pytest.raises(SpendFailure) as failure:
        recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    assert_named(failure.value, SpendState.NO_RESULT)
    assert book.account("survey").spent == 0.5


def test_an_error_after_the_record_was_written(problem, book, monkeypatch):  # noqa: F811
    """The record is kept although keeping it ended in an error: the release is made, and its record is what is kept."""
    reserved = []
    monkeypatch.setattr(log.Database, "reserve_space", lambda self, size: reserved.append(size))
    late(monkeypatch, lambda room: bool(reserved) and room == 0)
    made = recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    assert made.record == book.entry("k").record and made.record["ledger"]["head"] == book.entry("k").hash


def test_a_record_that_cannot_be_kept(problem, book, monkeypatch):  # noqa: F811
    """Tried twice, then the spend is named; a ledger that breaks once keeps it at the second try."""
    tries = []
    inner = Ledger.finish

    def finish(self, key, record):
        tries.append(key)
        if len(tries) < breaks:
            raise LedgerError("The disk is full.")
        return inner(self, key, record)

    monkeypatch.setattr(Ledger, "finish", finish)
    breaks = 9
    with pytest.raises(SpendFailure) as failure:
        recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    assert_named(failure.value, SpendState.NO_RESULT)
    assert len(tries) == 2
    tries.clear()
    breaks = 2
    made = recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k2")
    assert book.entry("k2").record == made.record


def test_a_ledger_that_does_not_answer_any_more(problem, book, monkeypatch):  # noqa: F811
    """Nobody knows, and that is said: with the key under which repeating spends once at most."""
    monkeypatch.setattr(releasing, "release", lambda *_, **__: (_ for _ in ()).throw(LedgerError("gone")))
    monkeypatch.setattr(Ledger, "entry", lambda *_: (_ for _ in ()).throw(LedgerError("gone")))
    with pytest.raises(SpendFailure) as failure:
        recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    assert_named(failure.value, SpendState.UNKNOWN)


@pytest.mark.parametrize("where", ["reserve", "release", "finish"])
def test_an_interrupt_says_what_it_cost(problem, book, monkeypatch, where):  # noqa: F811
    """Ctrl-C while the spend is written, while rows are read, and after the record is kept: still an interrupt, with
    spend and key."""
    stop = KeyboardInterrupt()
    if where == "release":
        monkeypatch.setattr(releasing, "release", lambda *_, **__: (_ for _ in ()).throw(stop))
    else:
        reserved = []
        if where == "finish":
            monkeypatch.setattr(log.Database, "reserve_space", lambda self, size: reserved.append(size))
        late(monkeypatch, lambda room: room > 0 if where == "reserve" else bool(reserved) and room == 0, stop)
    with pytest.raises(KeyboardInterrupt) as stopped:
        recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    said = str(stopped.value)
    assert "mu = 0.5 of 'survey'" in said and "under key k" in said
    assert ("record is kept" in said) == (where == "finish")


def test_a_refusal_before_the_spend_says_so(problem, book, monkeypatch):  # noqa: F811
    """Beyond the cap, or where the write is undone: nothing was released and nothing was spent, said once."""
    with pytest.raises(LedgerError) as refused:
        recorded_release(problem, Request("joint-pmt", Budget(3.0)), SecureNoise(), book, dataset="survey", key="k")
    assert str(refused.value).count(SpendMessage.NOTHING.sentence()) == 1
    assert not isinstance(refused.value, SpendFailure)
    monkeypatch.setattr(Database, "append", lambda *_, **__: (_ for _ in ()).throw(LedgerError("The disk is full.")))
    with pytest.raises(LedgerError) as undone:
        recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    assert undone.value.kind is SpendState.NOT_SPENT
    assert not book.account("survey").entries


def test_the_record_is_fetched_by_its_key(problem, book, capsys):  # noqa: F811
    """`ledger record` prints what the ledger keeps; without a key, or under another one, a sentence."""
    recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k")
    where = ["ledger", "record", "--ledger", book.place]
    assert main([*where, "--key", "k"]) == 0
    assert "standing: sound" in capsys.readouterr().out
    for wrong in ([], ["--key", "other"]):
        assert main([*where, *wrong]) == 2
        assert capsys.readouterr().err.count("\n") == 1


def test_only_what_knows_of_the_spend_says_that_nothing_was_released():
    """A sentence that may come after a spend does not deny it: two kinds say so, which three modules name."""
    denials = {kind.name for kind in SpendMessage if "nothing was released" in kind.template.casefold()}
    assert denials == {"NOTHING", "STOPPED_IN_TIME"}
    said = {
        path.name
        for path in (ROOT / "pmtcore").rglob("*.py")
        if any(f"SpendMessage.{name}" in path.read_text() for name in denials)
    }
    assert said == {"outcome.py", "progress.py", "releases.py"}


CENTRAL = [
    m.id
    for m in methods()
    if m.standing is ReleaseStatus.SOUND and "gaussian" in m.families and not m.id.startswith("ldp")
]


@pytest.mark.parametrize("id", sorted({*CENTRAL} - {"response-moment"}))
def test_what_fails_on_public_rows_fails_before_the_spend(id, problem, book, monkeypatch):  # noqa: F811
    """The figures of a plan need no private row: an error in them is raised while nothing is spent."""

    def broken(self):
        raise ValueError("rounding")

    request = Request(id, Budget(0.5))
    plan = releasing._planned(problem, request)[2]
    monkeypatch.setattr(type(plan), "facts", broken)
    with refused(SpendMessage.OWN_ERROR, reason="ValueError") as caught:
        recorded_release(problem, request, SecureNoise(), book, dataset="survey", key="k")
    assert caught.value.by_program
    assert book.account("survey").spent == 0.0 and book.entry("k") is None
