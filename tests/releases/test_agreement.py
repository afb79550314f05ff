"""Releases that two people stand for: what was agreed to, by another person, once; nothing else gets through."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import os
import pwd
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget, Unit
from pmtcore.base.messages import InputError, LedgerMessage, ReleaseMessage
from pmtcore.base.roles import Actor, Forbidden, Role
from pmtcore.cli import arguments
from pmtcore.cli.main import main
from pmtcore.ledger import account, chain
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.register import answer, ask, carry_out, open_registered, pending_requests, register
from pmtcore.releases.release import Request, recorded_release
from pmtcore.tables.choices import Choices
from pmtcore.tables.fingerprint import content_digest
from tests.helpers import refused
from tests.tables.test_persons import frame

ANA, CLEO, CARL, REED = (
    Actor(name, role)
    for name, role in (
        ("ana", Role.ANALYST),
        ("cleo", Role.CURATOR),
        ("carl", Role.CURATOR),
        ("reed", Role.REVIEWER),
    )
)
REQUEST = Request("joint-pmt", Budget(0.5))


@pytest.fixture
def files(tmp_path):
    private, public = tmp_path / "p.csv", tmp_path / "b.csv"
    frame(400, 1, np.arange(400) // 2).to_csv(private, index=False)
    frame(60, 2).to_csv(public, index=False)
    return str(private), str(public)


@pytest.fixture
def book(files):
    ledger = Ledger(os.environ["PMT_LEDGER"])
    register(CLEO, ledger, "survey", files[0], public=files[1], cap=2.0, unit=Unit(1, "who"), second=True)
    return ledger


def problem_of(book, actor=ANA, **choices):
    return open_registered(actor, book, "survey").problem(Choices(**{"target": "y", "features": ("a", "b"), **choices}))


def test_ask_agree_release(book):
    """Nothing is spent until the release; who asked and who agreed is in the chain; carried out twice it is one."""
    one = ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k", purpose="a study")
    assert (one.state, one.by) == ("asked", "ana") and not book.account("survey").entries
    assert ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k", purpose="a study") == one, (
        "the same again changes nothing"
    )
    assert answer(CLEO, book, "k", True).state == "agreed"
    made = carry_out(ANA, book, "k", SecureNoise())
    assert made.release.guarantee.unit == Unit(1, "who") and made.release.n == 200
    assert carry_out(ANA, book, "k", SecureNoise()).record == made.record
    (entry,) = book.account("survey").entries
    assert (entry.by, entry.purpose, entry.state) == ("ana", "a study", "released")
    (result,) = pending_requests(REED, book)
    assert (result.state, result.answered_by) == ("released", "cleo") and book.verify()["intact"]


def test_without_agreement_the_ledger_refuses(book):
    """Nobody asked, nobody answered, declined, by every way of releasing, a copy under another name too."""
    problem = problem_of(book)
    for dataset in ("survey", "a copy"):
        if dataset != "survey":
            book.cap(dataset, 2.0)
        with refused(LedgerMessage.SECOND_PERSON_NEEDED, LedgerError):
            recorded_release(problem, REQUEST, SecureNoise(), book, dataset=dataset, key="n", by="ana")
    ask(ANA, problem, REQUEST, book, dataset="survey", key="k")
    with refused(LedgerMessage.NOT_AGREED, LedgerError):
        carry_out(ANA, book, "k", SecureNoise())
    with refused(LedgerMessage.REASON_NEEDED, LedgerError):
        answer(CLEO, book, "k", False)
    answer(CLEO, book, "k", False, reason="too narrow")
    with refused(ReleaseMessage.DECLINED):
        carry_out(ANA, book, "k", SecureNoise())
    with refused(LedgerMessage.NOT_AGREED, LedgerError):
        recorded_release(problem, REQUEST, SecureNoise(), book, dataset="survey", key="k", by="ana")
    with refused(LedgerMessage.ANSWERED_ALREADY, LedgerError):
        answer(CARL, book, "k", True)
    with refused(LedgerMessage.NOT_ASKED, LedgerError):
        answer(CLEO, book, "other", True)
    assert not book.account("survey").entries


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"mu": 0.6},
        {"method": "pmt-ols"},
        {"features": ("a",)},
        {"intercept": False},
        {"delta": 1e-3},
        {"rows_per_person": 2},
    ],
)
def test_only_what_was_agreed_to_is_released(book, change):
    """Another budget, method, column, delta or unit with the agreed key is refused."""
    ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k")
    answer(CLEO, book, "k", True)
    fields = {**REQUEST.as_dict(), **{k: v for k, v in change.items() if k not in ("features", "intercept")}}
    choices = {k: v for k, v in change.items() if k in ("features", "intercept")}
    with refused(LedgerMessage.OTHER_THAN_AGREED, LedgerError):
        recorded_release(
            problem_of(book, **choices),
            Request.from_dict(fields),
            SecureNoise(),
            book,
            dataset="survey",
            key="k",
            by="ana",
        )
    with refused(LedgerMessage.KEY_OF_ANOTHER_REQUEST, LedgerError):
        ask(ANA, problem_of(book, **choices), Request.from_dict(fields), book, dataset="survey", key="k")
    assert not book.account("survey").entries


def test_nobody_agrees_with_themselves(book):
    """In any spelling of one's name; whoever asks must be somebody."""
    ask(CLEO, problem_of(book, CLEO), REQUEST, book, dataset="survey", key="k")
    for same in (CLEO, Actor("Cleo", Role.CURATOR), Actor("CLEO", Role.OWNER)):
        with refused(LedgerMessage.AGREES_WITH_THEMSELVES, LedgerError):
            answer(same, book, "k", True)
    with refused(LedgerMessage.NOBODY_ASKS, LedgerError):
        ask(Actor("", Role.CURATOR), problem_of(book), REQUEST, book, dataset="survey", key="l")
    with refused(LedgerMessage.NOBODY_ANSWERS, LedgerError):
        answer(Actor("", Role.CURATOR), book, "k", True)
    assert answer(CARL, book, "k", True).state == "agreed"


def test_each_role(book):
    """Analysts and curators ask and carry out; curators alone answer; who reads the ledger sees what was asked."""
    nobody = Actor("x", None)
    for who in (REED, nobody):
        with pytest.raises(Forbidden):
            ask(who, problem_of(book), REQUEST, book, dataset="survey", key="k")
        with pytest.raises(Forbidden):
            carry_out(who, book, "k", SecureNoise())
    ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k")
    for who in (ANA, Actor("another", Role.ANALYST), REED, nobody):
        for agrees in (True, False):
            with pytest.raises(Forbidden):
                answer(who, book, "k", agrees, reason="no")
    with pytest.raises(Forbidden):
        pending_requests(nobody, book)
    assert all(len(pending_requests(who, book)) == 1 for who in (ANA, CLEO, REED))


def test_the_cap_holds_at_each_step(book):
    """Nobody asks beyond it; what fits alone may no longer fit when it is agreed to or carried out."""
    big = Request("joint-pmt", Budget(1.5))
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        ask(ANA, problem_of(book), Request("joint-pmt", Budget(2.5)), book, dataset="survey", key="k")
    for key in ("a", "b", "c"):
        ask(ANA, problem_of(book), big, book, dataset="survey", key=key)
    for key in ("a", "b"):
        answer(CLEO, book, key, True)
    carry_out(ANA, book, "a", SecureNoise())
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        carry_out(ANA, book, "b", SecureNoise())
    with refused(LedgerMessage.BEYOND_CAP, LedgerError):
        answer(CLEO, book, "c", True)
    assert book.account("survey").spent == 1.5


def test_the_curators_unit_cannot_be_lowered(files, tmp_path):
    """Whatever an analyst declares: fewer rows, another column, the table under another name."""
    ledger = Ledger(str(tmp_path / "l.db"))
    for wanted in (Unit(3), Unit(3, "who")):
        name = f"visits{wanted.column}"
        register(CLEO, ledger, name, files[0], public=files[1], cap=5.0, unit=wanted)
        ledger.part(name, "visits", "a test") if wanted.column else None
        result = open_registered(ANA, ledger, name)
        plain = Choices(target="y", features=("a", "b"))
        problem = result.problem(plain)
        if wanted.column:
            problem = dataclasses.replace(problem, choices=dataclasses.replace(problem.choices, person=""))
        with refused(LedgerMessage.OTHER_UNIT, LedgerError):
            recorded_release(
                problem, Request("joint-pmt", Budget(0.1)), SecureNoise(), ledger, dataset=name, key=f"{name} 1"
            )
        recorded = recorded_release(
            result.problem(plain),
            Request("joint-pmt", Budget(0.1), rows_per_person=3),
            SecureNoise(),
            ledger,
            dataset=name,
            key=name,
        )
        assert recorded.release.guarantee.unit.rows == 3
        with refused(ReleaseMessage.REGISTERED_REFUSES_NO_ROW):
            result.problem(dataclasses.replace(plain, missing="refuse"))


@pytest.mark.parametrize("order", list(itertools.permutations(("ask", "agree", "release")))[1:])
def test_steps_in_any_other_order_release_nothing(book, order):
    """Only ask, agree, release leads to a spend."""
    steps = {
        "ask": lambda: ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k"),
        "agree": lambda: answer(CLEO, book, "k", True),
        "release": lambda: carry_out(ANA, book, "k", SecureNoise()),
    }
    for step in order:
        try:
            steps[step]()
        except InputError:
            continue
    assert not book.account("survey").entries


def runs_as(monkeypatch, name):
    """Let the system say that another of its users runs the command, with a variable that says somebody else."""
    monkeypatch.setattr(arguments.pwd, "getpwuid", lambda _: SimpleNamespace(pw_name=name))
    for variable in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.setenv(variable, "somebody else")


@pytest.mark.slow
def test_on_the_command_line(files, tmp_path, capsys, monkeypatch):
    """register, release --ask, agree by another user, release with the key; by the same user it is refused."""
    where = ["--ledger", str(tmp_path / "l.db")]
    register_it = ["ledger", "register", *where, "--dataset", "s", "--private", files[0], "--public", files[1]]
    assert main([*register_it, "--mu", "2", "--second", "--person", "who"]) == 0
    assert "a second person agrees" in capsys.readouterr().out
    want = ["release", *where, "--dataset", "s", "--private", files[0], "--public", files[1], "--target", "y"]
    want += ["--features", "a,b", "--method", "joint-pmt", "--mu", "0.5", "--key", "k", "--json"]
    runs_as(monkeypatch, "ana")
    assert main([*want, "--ask"]) == 2 and "who" in capsys.readouterr().err
    want += ["--person", "who"]
    assert main([*want, "--ask"]) == 0 and json.loads(capsys.readouterr().out)["state"] == "asked"
    assert main(want) == 2 and "second person" in capsys.readouterr().err
    assert main(["ledger", "agree", *where, "--key", "k"]) == 2 and "Another person" in capsys.readouterr().err
    runs_as(monkeypatch, "cleo")
    assert main(["ledger", "agree", *where, "--key", "k"]) == 0 and "agreed by cleo" in capsys.readouterr().out
    assert main(["ledger", "asked", *where, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["asked"][0]["answered_by"] == "cleo"
    runs_as(monkeypatch, "ana")
    assert main(want) == 0 and json.loads(capsys.readouterr().out)["guarantee"]["unit"]["column"] == "who"
    assert main(["ledger", "release", *where, "--key", "k", "--json"]) == 0, "the same record again"
    capsys.readouterr()
    assert main(["ledger", "decline", *where]) == 2 and "needs --key" in capsys.readouterr().err


@pytest.mark.parametrize("variable", ["LOGNAME", "USER", "LNAME", "USERNAME"])
def test_a_variable_makes_nobody_else(variable, monkeypatch):
    """Who runs a command is asked of the system, so nobody agrees to their own request under another name."""
    own = pwd.getpwuid(os.getuid()).pw_name
    monkeypatch.setenv(variable, "carl")
    assert arguments.current_user() == Actor(own, Role.OWNER)


def test_a_user_without_a_name_is_not_every_user(monkeypatch):
    """Two users of a container whom no list names are two people."""
    monkeypatch.setattr(arguments.pwd, "getpwuid", lambda number: {}[number])
    monkeypatch.setattr(os, "getuid", lambda: 4711)
    one = arguments.current_user()
    monkeypatch.setattr(os, "getuid", lambda: 4712)
    assert one != arguments.current_user() and one.name


def changed_cell(path):
    lines = path.read_text().splitlines()
    cells = lines[5].split(",")
    cells[0] = f"{float(cells[0]) + 1:.6f}"
    path.write_text("\n".join([*lines[:5], ",".join(cells), *lines[6:]]) + "\n")


def other_order(path):
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([first, *rest[::-1]]) + "\n")


def half_of_it(path):
    lines = path.read_text().splitlines()
    path.write_text("\n".join(lines[: len(lines) // 2]) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize("exchange", [changed_cell, other_order, half_of_it])
@pytest.mark.parametrize("which", [0, 1])
def test_files_exchanged_after_the_agreement_are_not_released(book, files, exchange, which):
    """What was agreed to were these rows: one cell, the order or half of either table is another request."""
    ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k")
    answer(CLEO, book, "k", True)
    original = Path(files[which]).read_bytes()
    exchange(Path(files[which]))
    with refused(LedgerMessage.OTHER_THAN_AGREED, LedgerError):
        carry_out(ANA, book, "k", SecureNoise())
    assert not book.account("survey").entries
    Path(files[which]).write_bytes(original)
    assert carry_out(ANA, book, "k", SecureNoise()).record["standing"] == "sound"


def test_the_digest_of_an_agreement_needs_the_key(book, files):
    """Whoever sees the ledger cannot test a guess at the rows: no plain digest of them stands in it."""
    problem = problem_of(book)
    one = ask(ANA, problem, REQUEST, book, dataset="survey", key="k")
    plain = [hashlib.sha256(Path(file).read_bytes()).hexdigest() for file in files] + [problem.table.sha256]
    assert one.fields["tables"] and not any(text in str(one.fields) for text in plain)
    assert content_digest(problem.table, b"1" * 32) != content_digest(problem.table, b"2" * 32)


def test_roles_stand_in_the_chain(book):
    """Who registered, capped and agreed did it in a role, which the sealed event keeps."""
    ask(ANA, problem_of(book), REQUEST, book, dataset="survey", key="k")
    answer(CLEO, book, "k", True)
    with book._database.reading() as connection:
        rows = [*account.events_of_kind(connection, "register", "cap"), *account.events_of_kind(connection, "agree")]
    said = {row["kind"]: chain.authenticated_fields(row, book._database.key) for row in rows}
    assert {kind: (one["by"], one["role"]) for kind, one in said.items()} == dict.fromkeys(said, ("cleo", "curator"))
    assert set(said) == {"register", "cap", "agree"}
