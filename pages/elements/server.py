"""The server around the sessions: headers of all responses, refused requests, and release of memory.

Streamlit stores an upload in its own manager, deletes a closed session only when the next one ends, and leaves freed
memory with the process. Here closed sessions are ended on a timer, and freed memory is returned to the system, so that
private rows do not remain in it.
"""

import asyncio
import contextlib
import gc
import importlib
import logging
import os
import re
import threading
from collections.abc import AsyncIterator

import pyarrow as pa
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime import Runtime, exists, get_instance

from pages.elements import actors, quota, visitors
from pmtcore.base.memory import map_large_blocks, release_due, release_memory
from pmtcore.base.messages import InputError
from pmtcore.ledger.log import Ledger, default_url

_PURGE_SECONDS = 15.0  # seconds between two checks for closed sessions, which stay for server.disconnectedSessionTTL
# Checks after which memory is released again, two minutes: on a busy machine some of it is freed late.
_RELEASES_OF_MEMORY = 8
_STATIC = re.compile(r"/static/(js|css)/[\w.-]+\.(js|css)$")
_BROTLI = 9  # level: compresses Plotly in 1.4 CPU seconds, once; level 11 takes 14 for a tenth less
_MOST_FILES = 500  # Streamlit has 300 of them
_COOKIE = b"_streamlit_xsrf="
_UNSIGNED_SECONDS = 300.0  # seconds after which a connection without sign-in is closed; browsers open a new one
_visited = threading.Event()  # set with the first session
_HOST = re.compile(rb"[\w.-]+(:\d{1,5})?|\[[0-9a-fA-F:]+\](:\d{1,5})?")
POLICY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' 'wasm-unsafe-eval' blob:; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'{sockets}; "
    "worker-src 'self' blob:; frame-src 'self'; frame-ancestors 'none'; base-uri 'self'; form-action 'self'; "
    "object-src 'none'"
)
_HEADERS = [
    (b"x-frame-options", b"DENY"),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=()"),
]


class Guard:
    """Middleware: headers of all responses; metrics only with ``PMT_METRICS``; downloads only with the app's cookie."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] == "websocket":
            await self._session(scope, receive, send)
            return
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy = (b"content-security-policy", policy_for(scope).encode())
                message["headers"] = [*message.get("headers", []), policy, *_HEADERS]
            await send(message)

        if scope["path"] == "/ready":
            status = 200 if await asyncio.to_thread(_ready) else 503
            await with_headers({"type": "http.response.start", "status": status, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        if _is_closed(scope):
            await with_headers({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
            return
        try:
            await self._serve_counted(scope, receive, with_headers)
        except quota.Refused as refused:
            kind = [(b"content-type", b"text/plain; charset=utf-8")]
            await with_headers({"type": "http.response.start", "status": refused.status, "headers": kind})
            await send({"type": "http.response.body", "body": str(refused).encode()})

    async def _session(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a browser's connection, if there is a place; until people signed in for some minutes only."""
        _visited.set()
        visitor = await asyncio.to_thread(visitors.visitor, scope)
        if not quota.enter(visitor):
            await send({"type": "websocket.close", "code": 1013, "reason": "This server has no place now."})
            return
        waiting = actors.signs_in() and visitor.actor.role is None
        try:
            async with asyncio.timeout(_UNSIGNED_SECONDS if waiting else None):
                await self.app(scope, receive, send)
        except TimeoutError:
            with contextlib.suppress(Exception):  # the browser may have left at the same time
                await send({"type": "websocket.close", "code": 1013, "reason": "Nobody signed in."})
        finally:
            quota.leave(visitor)

    async def _serve_counted(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request, and count it against the limits where it is an upload."""
        upload = quota.size_of(scope)
        if upload is None:
            await self.app(scope, receive, send)
            return
        if not (await asyncio.to_thread(visitors.visitor, scope)).may_upload:
            raise quota.Refused(403, "Only a curator uploads tables here; sign in as one.")
        quota.admit(*upload)
        try:
            await self.app(scope, quota.no_longer_than(upload[1], receive), send)
        finally:
            quota.upload_ended(*upload)


class Squeezed:
    """Middleware: compressed scripts and styles, each compressed once, since they do not change.

    Browsers accept Brotli over HTTPS and on this machine; it is a sixth smaller than gzip.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app, self.squeezing = app, GZipMiddleware(app, compresslevel=9)
        self.kept: dict[tuple[str, bool], list[Message]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request; only requests for whole static files are compressed."""
        if scope["type"] != "http" or not _STATIC.search(scope["path"]) or not _asks_for_file(scope):
            await self.app(scope, receive, send)
            return
        brotli = _takes_brotli(scope)
        key, messages = (scope["path"], brotli), list[Message]()
        if key not in self.kept:

            async def keep(message: Message) -> None:
                messages.append(message)

            if brotli:
                await self.app(_without_compression(scope), receive, keep)
            else:
                await self.squeezing(scope, receive, keep)
            if not _is_complete(messages) or not _is_file(messages[0]) or len(self.kept) >= _MOST_FILES:
                for message in messages:
                    await send(message)
                return
            self.kept[key] = await asyncio.to_thread(_by_brotli, messages) if brotli else messages
        for message in self.kept[key]:
            await send(dict(message))


def policy_for(scope: Scope) -> str:
    """Return the content security policy of a page, with websockets only to the host of the request."""
    host = next((value for name, value in scope["headers"] if name == b"host"), b"")
    named = f" ws://{host.decode()} wss://{host.decode()}" if _HOST.fullmatch(host) else ""
    return POLICY.format(sockets=named)


def _takes_brotli(scope: Scope) -> bool:
    encodings = dict(scope["headers"]).get(b"accept-encoding", b"").split(b",")
    return b"br" in {one.strip() for one in encodings}


def _without_compression(scope: Scope) -> Scope:
    """Return a request without compression."""
    return {**scope, "headers": [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]}


def _by_brotli(messages: list[Message]) -> list[Message]:
    """Return a complete response, compressed with Brotli."""
    start, body = messages[0], b"".join(message.get("body", b"") for message in messages[1:])
    packed = pa.Codec("brotli", compression_level=_BROTLI).compress(body, asbytes=True)
    replaced = (b"content-length", b"content-encoding", b"vary")
    headers = [pair for pair in start["headers"] if pair[0] not in replaced]
    headers += [(b"content-length", str(len(packed)).encode()), (b"content-encoding", b"br")]
    start = {**start, "headers": [*headers, (b"vary", b"Accept-Encoding")]}
    return [start, {"type": "http.response.body", "body": packed}]


def _is_complete(messages: list[Message]) -> bool:
    """Return whether a response is complete; it is not if the browser left."""
    return bool(messages) and messages[-1]["type"] == "http.response.body" and not messages[-1].get("more_body", False)


def _is_file(start: Message) -> bool:
    """Return whether a response is the requested file; Streamlit responds with its page where there is none."""
    kind = dict(start.get("headers", [])).get(b"content-type", b"")
    return start.get("status") == 200 and kind.startswith((b"application/javascript", b"text/javascript", b"text/css"))


def _asks_for_file(scope: Scope) -> bool:
    headers = dict(scope["headers"])
    partial = {b"range", b"if-none-match", b"if-modified-since"} & headers.keys()
    return scope["method"] == "GET" and b"gzip" in headers.get(b"accept-encoding", b"") and not partial


def _ready() -> bool:
    """Return whether the ledger can be used."""
    try:
        Ledger(default_url()).account("-")
    except InputError:
        return False
    return True


def _is_closed(scope: Scope) -> bool:
    path = scope["path"]
    if path.endswith("/_stcore/metrics"):
        return not os.environ.get("PMT_METRICS")
    cookies = next((value for name, value in scope["headers"] if name == b"cookie"), b"")
    return path.startswith("/media/") and _COOKIE not in cookies


@contextlib.asynccontextmanager
async def lifespan(_: object) -> AsyncIterator[None]:
    """End closed sessions on a timer, as long as the server runs."""
    if os.environ.get("PMT_LOG") == "json":
        log = logging.getLogger("second_moment")
        log.setLevel(logging.INFO)
        log.addHandler(logging.StreamHandler())  # messages are lines of JSON
    map_large_blocks()
    loop = asyncio.get_running_loop()
    threading.Thread(target=_warm_up, args=(loop,), daemon=True).start()  # the first visitor does not wait for imports
    timer = asyncio.create_task(_purging())
    try:
        yield
    finally:
        timer.cancel()


async def _purging() -> None:
    again = 0
    while True:
        await asyncio.sleep(_PURGE_SECONDS)
        if (exists() and purge(get_instance())) or release_due.is_set():
            release_due.clear()
            again = _RELEASES_OF_MEMORY
        if again:
            again -= 1
            # Idle worker threads of the library end at this call, and free their small blocks.
            await run_in_threadpool(release_memory)
            release_memory(every_heap=False)  # small blocks of the loop's own thread


def purge(runtime: Runtime) -> int:
    """End the closed sessions that were not reopened in time; return their number. Runs on the server's loop."""
    manager = runtime._session_mgr
    ended = manager._session_storage._cache.expire()  # type: ignore[attr-defined]  # no public way in 1.67
    for _, info in ended:
        info.session.shutdown()
        info.session.session_state.clear()  # so that its tables are freed even if something refers to the session
    return len(ended)


_OF_THE_FIRST_PAGE = ("auditing.opening_picture", "report.figures.opening")


def _warm_up(loop: asyncio.AbstractEventLoop) -> None:
    """Import the modules of all pages, and draw the first picture of Start."""
    importlib.import_module("pages.elements.frame")
    stored, figures = (importlib.import_module(f"pmtcore.{name}") for name in _OF_THE_FIRST_PAGE)
    for draw in (figures.coefficients, figures.errors):
        draw(stored.stored_opening(), stored.FIRST_BUDGET)
    loop.call_soon_threadsafe(_freeze)


def _freeze() -> None:
    """Exclude imported objects from garbage collection, which Streamlit starts after every run.

    Not after the first session began, whose objects must be collected. Runs on the loop, where sessions begin.
    """
    if not _visited.is_set():
        gc.collect()
        gc.freeze()
