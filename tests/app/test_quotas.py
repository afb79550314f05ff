"""Quotas: uploads of a session and of all, open sessions, long runs at a time, runs of one comparison."""

from __future__ import annotations

import asyncio
import gzip
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from streamlit.testing.v1 import AppTest

from pages.elements import quota, visitors
from pages.elements.server import Guard, Squeezed, policy_for
from pages.elements.visitors import Visitor
from pmtcore.auditing.comparison import Comparison
from pmtcore.base import memory as process_memory
from pmtcore.base.messages import AuditMessage, InputError, ReleaseMessage, TableMessage
from pmtcore.base.roles import Actor, Role
from pmtcore.releases import job_slots
from pmtcore.tables import limits
from pmtcore.tables.named import load
from pmtcore.tables.problem import default_choices, prepare
from tests.helpers import refused

ROOT = Path(__file__).resolve().parents[2]
PATH = "/_stcore/upload_file/one/file"


async def answer(scope: Any, receive: Any, send: Any) -> None:
    """Answer as the server behind the guard, which takes everything."""
    await send({"type": "http.response.start", "status": 204, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def asked(scope: dict[str, Any], app: Any = answer) -> list[dict[str, Any]]:
    """Return what the guard sends."""
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
    counter = Counter({"one": limits.MAX_SESSION_BYTES - 100, "two": 5})
    monkeypatch.setattr(quota, "stored_bytes", lambda: counter.copy())
    assert asked(upload(100))[0]["status"] == 204
    refused = asked(upload(101))
    assert refused[0]["status"] == 413 and b"A session takes at most" in refused[1]["body"]
    assert asked(upload(None))[0]["status"] == 411 and asked(upload(-1))[0]["status"] == 411
    counter["two"] = limits.server_bytes()
    assert b"All sessions together" in asked(upload(1))[1]["body"]
    assert asked({**upload(None), "path": "/"})[0]["status"] == 204
    assert not quota._arriving


def test_uploads_on_their_way_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many at once, each within the share: the first that passes it is refused; a broken one gives its share back."""
    monkeypatch.setattr(quota, "stored_bytes", Counter)
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
    quota.upload_ended("one", size)
    quota.upload_ended("one", size)
    assert any(message.get("status") == 413 for message in asked(upload(size), slow))
    assert not quota._arriving


def test_a_full_server_takes_no_more_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    """The connection is closed with a reason; a place that is given up is a place."""
    monkeypatch.setattr(quota, "MAX_SESSIONS", 1)
    observed: list[str] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        observed.append("in")
        if len(observed) == 1:
            await Guard(inside)(scope, receive, send)

    closed = asked({"type": "websocket", "path": "/_stcore/stream"}, inside)
    assert closed == [{"type": "websocket.close", "code": 1013, "reason": "This server has no place now."}]
    asked({"type": "websocket", "path": "/_stcore/stream"}, inside)
    assert observed == ["in", "in"]


def test_long_runs_wait_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as the server takes; one that ends, or that nobody looks at, gives its place up."""
    monkeypatch.setattr(job_slots, "_seen", {})
    jobs = [object() for _ in range(limits.MAX_RUNNING)]
    for job in jobs:
        job_slots.acquire(job)
    with refused(ReleaseMessage.SERVER_BUSY, count=limits.MAX_RUNNING):
        job_slots.acquire(object())
    job_slots.note(jobs[0], running=False)
    job_slots.acquire(object())
    monkeypatch.setattr(job_slots, "_FORGOTTEN", 0.0)
    job_slots.acquire(object())


def test_a_comparison_nobody_would_wait_for() -> None:
    """Refused when it is asked for, and when it is asked to go on."""
    private, public, _ = load("demo", n=500, m=50, d=3)
    problem = prepare(private, public, default_choices(private, public))
    with refused(TableMessage.TOO_MANY_RELEASES, limit=500_000):
        Comparison(problem, ["joint-pmt"], [1.0] * 50, trials=100_000, seed=1)
    run = Comparison(problem, ["joint-pmt"], [0.1 * k for k in range(1, 11)], trials=30_000, seed=1)
    with refused(TableMessage.TOO_MANY_RELEASES):
        run.extend()
    assert run.trials == 30_000
    with refused(AuditMessage.TOO_MANY_CELLS):
        Comparison(problem, ["joint-pmt"], [1.0], trials=1, seed=1, axis="private rows", values=[500.0] * 100_000)
    with refused(TableMessage.TOO_MANY_FITS):
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


@pytest.mark.parametrize(
    ("accepted", "encoding"),
    [(b"gzip, deflate, br, zstd", b"br"), (b"gzip, deflate", b"gzip"), (b"br;q=0, gzip", b"gzip")],
    ids=["brotli", "gzip", "refused"],
)
def test_scripts_come_in_the_form_that_the_browser_takes(accepted, encoding) -> None:
    """Brotli where it is asked for, gzip elsewhere; one browser's form is never another's, and the text is the same."""
    text = b"const one = 1;" * 500
    kind = (b"content-type", b"text/javascript")

    async def file(scope: Any, receive: Any, send: Any) -> None:
        length = (b"content-length", str(len(text)).encode())
        await send({"type": "http.response.start", "status": 200, "headers": [kind, length]})
        await send({"type": "http.response.body", "body": text})

    server = Squeezed(file)

    def answer(taken: bytes) -> tuple[dict[bytes, bytes], bytes]:
        scope = {"type": "http", "method": "GET", "path": "/static/js/a.js", "headers": [(b"accept-encoding", taken)]}
        sent: list[dict[str, Any]] = []

        async def send(message: dict[str, Any]) -> None:
            sent.append(message)

        asyncio.run(server(scope, None, send))  # type: ignore[arg-type]
        return dict(sent[0]["headers"]), b"".join(message.get("body", b"") for message in sent)

    answer(b"gzip, br")
    for _ in range(2):
        headers, body = answer(accepted)
        assert headers[b"content-encoding"] == encoding and int(headers[b"content-length"]) == len(body) < len(text)
        assert headers[b"vary"].lower() == b"accept-encoding"
        brotli = encoding == b"br"
        assert text == (pa.decompress(body, len(text), "brotli", asbytes=True) if brotli else gzip.decompress(body))


KEEPER, STRANGER = Actor("cleo", Role.CURATOR), Actor("", None)


def test_nobody_fills_the_server_alone() -> None:
    """Strangers of one address, of many, and one person in many windows: whoever has a role still gets in."""
    opened: list[Visitor] = []

    def enter(visitor: Visitor) -> bool:
        taken = quota.enter(visitor)
        if taken:
            opened.append(visitor)
        return taken

    one = [enter(Visitor("10.0.0.1", STRANGER)) for _ in range(200)]
    assert sum(one) == limits.MAX_ADDRESS_SESSIONS
    many = [enter(Visitor(f"10.1.{k // 250}.{k % 250}", STRANGER)) for k in range(500)]
    assert sum(one + many) == limits.MAX_UNSIGNED < limits.MAX_SESSIONS
    mine = [enter(Visitor("10.0.0.1", KEEPER)) for _ in range(200)]
    assert sum(mine) == limits.MAX_PERSON_SESSIONS
    assert enter(Visitor("10.0.0.1", Actor("ana", Role.ANALYST)))
    for visitor in opened:
        quota.leave(visitor)
    assert not quota._connections


@pytest.mark.parametrize(
    ("client", "headers", "proxies", "address"),
    [
        ("9.9.9.9", [], "", "9.9.9.9"),
        ("9.9.9.9", ["1.2.3.4"], "", "9.9.9.9"),
        ("172.30.0.2", ["1.2.3.4"], "172.30.0.0/24", "1.2.3.4"),
        ("172.30.0.2", ["6.6.6.6, 1.2.3.4"], "172.30.0.0/24", "1.2.3.4"),
        ("172.30.0.2", ["6.6.6.6", "1.2.3.4, 172.30.0.9"], "172.30.0.0/24", "1.2.3.4"),
        ("172.30.0.2", ["nonsense"], "172.30.0.0/24", "unknown"),
        ("172.30.0.2", [], "172.30.0.0/24 ::1", "172.30.0.2"),
        ("172.30.0.2", ["1.2.3.4"], "not a network", "172.30.0.2"),
        ("2001:db8:1:2:3:4:5:6", [], "", "2001:db8:1:2::/64"),
        ("2001:db8:1:2:ffff::1", [], "", "2001:db8:1:2::/64"),
        ("::ffff:9.9.9.9", [], "", "9.9.9.9"),
    ],
)
def test_whose_address_counts(client, headers, proxies, address, monkeypatch) -> None:
    """A header is believed from a named proxy alone, and of what it says only what that proxy added."""
    monkeypatch.setenv("PMT_TRUSTED_PROXIES", proxies)
    pairs = [(b"x-forwarded-for", value.encode()) for value in headers]
    assert visitors.address_of({"client": (client, 1), "headers": pairs}) == address


@pytest.mark.parametrize("role", [None, Role.ANALYST, Role.REVIEWER])
def test_only_curators_upload_a_byte(role, monkeypatch) -> None:
    """Refused before it is read, whoever knows a session's id."""
    monkeypatch.setattr(visitors, "visitor", lambda scope: Visitor("1.1.1.1", Actor("x", role)))
    assert asked(upload(100))[0]["status"] == 403
    monkeypatch.setattr(visitors, "visitor", lambda scope: Visitor("1.1.1.1", KEEPER))
    assert asked(upload(100))[0]["status"] == 204


@pytest.mark.parametrize(
    "headers",
    [
        [(b"content-length", b"5"), (b"transfer-encoding", b"chunked")],
        [(b"transfer-encoding", b"gzip, chunked"), (b"content-length", b"5")],
        [(b"transfer-encoding", b"chunked")],
        [(b"content-length", b"5"), (b"content-length", b"5")],
        [(b"content-length", b"5"), (b"content-length", b"500")],
        [(b"content-length", "٥".encode())],
        [(b"content-length", b"1" * 5000)],
        [(b"content-length", b"+5")],
    ],
)
def test_an_upload_says_once_how_long_it_is(headers) -> None:
    assert asked({**upload(None), "headers": headers})[0]["status"] in (400, 411)


def test_an_upload_ends_where_it_is_longer_than_it_said() -> None:
    """Whatever a server in front believes of a length, no more is taken than was admitted."""
    taken: list[int] = []

    async def reader(scope: Any, receive: Any, send: Any) -> None:
        while (message := await receive())["more_body"]:
            taken.append(len(message["body"]))

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 40, "more_body": True}

    sent: list[dict[str, Any]] = []

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    asyncio.run(Guard(reader)(upload(100), receive, send))
    assert sum(taken) == 80 and sent[0]["status"] == 413 and not quota._arriving


def test_uploads_leave_room_for_work(monkeypatch, tmp_path) -> None:
    """All uploads, once more for reading them, and the program itself: below the memory that the compose file gives."""
    given = re.search(r"mem_limit: (\d+)g", (ROOT / "compose.yaml").read_text())
    assert given is not None
    memory = int(given[1]) * 2**30
    place = tmp_path / "memory.max"
    place.write_text(str(memory))
    monkeypatch.setattr(process_memory, "_CGROUPS", (str(tmp_path / "none"), str(place)))
    assert process_memory.memory_limit() == memory and limits.server_bytes() >= limits.MAX_SESSION_BYTES
    assert 2 * limits.server_bytes() + limits.MAX_RUNNING * process_memory.bytes_for_rows() + 2**30 <= memory
    place.write_text("max\n")
    assert process_memory.memory_limit() > 2**30


def test_a_page_opens_sockets_to_its_own_server_alone() -> None:
    """No other websocket, whatever the name that was asked for has in it."""
    hosts = (b"sm.example.org", b"localhost:8501", b"[::1]:8501", b"10.0.0.1", b"x *", b"x; script-src *", b"", b"a b")
    for host in hosts:
        policy = policy_for({"headers": [(b"host", host)] if host else []})
        sources = re.search(r"connect-src ([^;]*);", policy)[1].split()
        assert sources in (["'self'"], ["'self'", f"ws://{host.decode()}", f"wss://{host.decode()}"])
        assert "*" not in policy and policy.count("script-src") == 1
        assert (len(sources) == 3) == (host in hosts[:4])


def test_one_person_does_not_take_every_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some long runs at a time for one, and places left for others."""
    monkeypatch.setattr(job_slots, "_seen", {})
    jobs = [object() for _ in range(limits.MAX_PERSON_RUNNING)]
    for job in jobs:
        job_slots.acquire(job, "ana")
        job_slots.note(job)
    with pytest.raises(InputError):
        job_slots.acquire(object(), "ana")
    job_slots.acquire(object(), "bob")
    job_slots.note(jobs[0], running=False)
    job_slots.acquire(object(), "ana")
