"""Quotas: uploads of a session and of all, open sessions, long runs at a time, runs of one comparison."""

from __future__ import annotations

import asyncio
import gzip
from collections import Counter
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from pages.common import job_slots, quota
from pages.common.server import Guard, Squeezed
from pmtcore.auditing.comparison import Comparison
from pmtcore.base.checks import InputError
from pmtcore.tables import limits
from pmtcore.tables.named import load
from pmtcore.tables.problem import default_choices, prepare

PATH = "/_stcore/upload_file/one/file"


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """The server behind the guard: takes everything."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def asked(scope: dict[str, Any], app: Any = answer) -> list[dict[str, Any]]:
    """What the guard sends."""
    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    asyncio.run(Guard(app)(scope, receive, send))
    return sent


def upload(size: int | None, path: str = PATH) -> dict[str, Any]:
    headers = [] if size is None else [(b"content-length", str(size).encode())]
    return {"type": "http", "method": "PUT", "path": path, "headers": headers}


def test_uploads_are_counted_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Over the session's share, over everybody's, without a length: refused in a sentence; else it passes."""
    kept = Counter({"one": limits.MAX_SESSION_BYTES - 100, "two": 5})
    monkeypatch.setattr(quota, "held", lambda: kept.copy())
    assert asked(upload(100))[0]["status"] == 204
    refused = asked(upload(101))
    assert refused[0]["status"] == 413 and b"A session holds at most" in refused[1]["body"]
    assert asked(upload(None))[0]["status"] == 411 and asked(upload(-1))[0]["status"] == 411
    kept["two"] = limits.MAX_SERVER_BYTES
    assert b"All sessions together" in asked(upload(1))[1]["body"]
    assert asked({**upload(None), "path": "/"})[0]["status"] == 204
    assert not quota._coming


def test_uploads_on_their_way_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once, each within the share: the first that passes it is refused; a broken one gives its share back."""
    monkeypatch.setattr(quota, "held", Counter)
    size = limits.MAX_SESSION_BYTES // 2
    inner: list[int] = []

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        if len(inner) < 3:
            inner.append(0)
            await Guard(slow)(upload(size), receive, send)
        else:
            raise OSError

    with pytest.raises(quota.Refused):
        quota.admit("one", size)
        quota.admit("one", size)
        quota.admit("one", 1)
    quota.done("one", size)
    quota.done("one", size)
    assert any(message.get("status") == 413 for message in asked(upload(size), slow))
    assert not quota._coming


def test_a_full_server_takes_no_more_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is closed with a reason; a place that is given up is a place."""
    monkeypatch.setattr(quota, "MAX_SESSIONS", 1)
    seen: list[str] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        seen.append("in")
        if len(seen) == 1:
            await Guard(inside)(scope, receive, send)

    closed = asked({"type": "websocket", "path": "/_stcore/stream"}, inside)
    assert closed == [{"type": "websocket.close", "code": 1013, "reason": "This server has no place now."}]
    asked({"type": "websocket", "path": "/_stcore/stream"}, inside)
    assert seen == ["in", "in"]


def test_long_runs_wait_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the server takes; one that ends, or that nobody looks at, gives its place up."""
    monkeypatch.setattr(job_slots, "_seen", {})
    jobs = [object() for _ in range(limits.MAX_RUNNING)]
    for job in jobs:
        job_slots.take(job)
    with pytest.raises(InputError, match="press again"):
        job_slots.take(object())
    job_slots.note(jobs[0], live=False)
    job_slots.take(object())
    monkeypatch.setattr(job_slots, "_FORGOTTEN", 0.0)
    job_slots.take(object())


def test_a_comparison_nobody_would_wait_for() -> None:
    """Refused when it is asked for, and when it is asked to go on."""
    private, public, _ = load("demo", n=500, m=50, d=3)
    problem = prepare(private, public, default_choices(private, public))
    with pytest.raises(InputError, match="at most 500,000"):
        Comparison(problem, ["joint-pmt"], [1.0] * 50, trials=100_000, seed=1)
    run = Comparison(problem, ["joint-pmt"], [0.1 * k for k in range(1, 11)], trials=30_000, seed=1)
    with pytest.raises(InputError, match="choose fewer trials"):
        run.extend()
    assert run.trials == 30_000
    with pytest.raises(InputError, match="So many places"):
        Comparison(problem, ["joint-pmt"], [1.0], trials=1, seed=1, axis="private rows", values=[500.0] * 100_000)
    with pytest.raises(InputError, match="fits of a table this large"):
        limits.check_runs(1000, 10**12)


def test_the_page_says_so(app: AppTest, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sentence on Compare; what was entered is still there."""
    app.switch_page("pages/work/compare.py").run()
    app.number_input(key="compare-trials").set_value(5000)
    app.number_input(key="compare-count-budget").set_value(50)
    next(button for button in app.button if button.key == "compare-run").click().run()
    assert not app.exception and "are repeated" in app.error[0].value
    assert app.number_input(key="compare-trials").value == 5000


def test_a_browser_that_leaves_cuts_nothing_for_others() -> None:
    """A script's answer that ended early, or never began, is not kept; the next one gets it whole."""
    scope = {"type": "http", "method": "GET", "path": "/static/js/a.js", "headers": [(b"accept-encoding", b"gzip")]}
    ends: list[int] = []

    async def file(scope: Any, receive: Any, send: Any) -> None:
        ends.append(0)
        messages = [
            {"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/javascript")]},
            {"type": "http.response.body", "body": b"a" * 2000, "more_body": True},
            {"type": "http.response.body", "body": b"b" * 2000, "more_body": False},
        ]
        for message in messages[: (0, 2, 3, 3)[len(ends) - 1]]:
            await send(message)

    server = Squeezed(file)
    answers = []
    for _ in range(4):
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any], sent: list[dict[str, Any]] = sent) -> None:
            sent.append(message)

        asyncio.run(server(scope, None, send))  # type: ignore[arg-type]
        answers.append(b"".join(message.get("body", b"") for message in sent))
    assert len(ends) == 3 and gzip.decompress(answers[3]) == b"a" * 2000 + b"b" * 2000
