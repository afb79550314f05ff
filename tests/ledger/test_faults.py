"""A ledger whose database or file system fails at each single step of a release: what is spent is always known."""

from __future__ import annotations

import errno
import fcntl
import os
import sqlite3
import time
from pathlib import Path

import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.labels import SpendState
from pmtcore.base.messages import InputError
from pmtcore.ledger import database, engines
from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases import release
from pmtcore.releases.outcome import SpendFailure
from pmtcore.releases.release import Request, recorded_release
from tests.ledger.test_log import emptied, problem  # noqa: F401

REQUEST = Request("pmt-ridge", Budget(0.5))


class Fault:
    """Fails at the step of this number; without one, counts the steps."""

    def __init__(self, at=None):
        self.at, self.steps = at, 0

    def step(self, fail, *arguments):
        """Count a step, and fail at the chosen one."""
        self.steps += 1
        if self.steps == self.at:
            fail(*arguments)

    def before(self, monkeypatch, owner, name, fail):
        """Have a function fail before it does anything."""
        function = getattr(owner, name)

        def faulty(*arguments, **named):
            self.step(fail, *arguments)
            return function(*arguments, **named)

        monkeypatch.setattr(owner, name, faulty)


def full(*_):
    raise OSError(errno.ENOSPC, "No space left on device")


def full_database(*_):
    raise sqlite3.OperationalError("database or disk is full")


def end_connection(connection, *_):
    """Let the server end the connection, as an administrator or a restart does."""
    number = connection._connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
    other = engines._server(connection._connection.engine.url.render_as_string(hide_password=False), -1)
    with other.begin() as outside:
        outside.exec_driver_sql(f"SELECT pg_terminate_backend({number})")


def outcome(problem, ledger):  # noqa: F811
    """Release, and return the error where there is one."""
    release._ADMITTED.clear()
    database._VERIFIED.clear()
    try:
        recorded_release(problem, REQUEST, SecureNoise(), ledger, dataset="survey", key="k")
    except InputError as error:
        return error
    return None


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_release_whose_ledger_fails_once_at_any_step(kind, problem, tmp_path, request, monkeypatch):  # noqa: F811
    """Each statement, each write beside it: the message says what is spent, and the same key ends the matter."""
    server = request.getfixturevalue("postgres") if kind == "postgres" else ""
    for at in range(1, 500):
        url = emptied(server) if server else str(tmp_path / f"{at}.db")
        ledger = Ledger(url)
        ledger.cap("survey", 0.7)
        fault = Fault(at)
        with monkeypatch.context() as patch:
            owner, fail = (
                (engines.ServerConnection, end_connection) if server else (engines.SqliteConnection, full_database)
            )
            for name in ("run", "rows", "value"):
                fault.before(patch, owner, name, fail)
            fault.before(patch, os, "fsync", lambda *_: full())
            fault.before(patch, Path, "replace", lambda *_: full())
            error = outcome(problem, ledger)
        entries = Ledger(url).account("survey").entries
        assert Ledger(url).verify()["intact"]
        if error is None:
            assert [entry.state for entry in entries] == ["released"]
        elif isinstance(error, SpendFailure) and error.kind is not SpendState.NOT_SPENT:
            assert (error.mu, error.key, error.dataset) == (0.5, "k", "survey")
        else:
            assert not entries
        outcome(problem, Ledger(url))
        # Never twice, and never nothing once it was released.
        assert Ledger(url).account("survey").spent == 0.5
        if fault.steps < at:  # nothing failed any more
            break
    assert 40 < at < 499


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.EIO, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_said_at_once(number, tmp_path, monkeypatch):
    """It took a minute, and then blamed another process that was not there."""
    ledger = Ledger(str(tmp_path / "l.db"))

    def refuse(*_):
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    start = time.monotonic()
    with pytest.raises(InputError):
        ledger.cap("survey", 1.0)
    assert time.monotonic() - start < 5
    with pytest.raises(InputError):
        Ledger(str(tmp_path / "new.db"))
