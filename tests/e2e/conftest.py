"""A real server and a real browser."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
PATIENCE = 180  # seconds: a busy machine may take its time; nothing here is timed
_WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
_PORTS = itertools.cycle(range(20_000 + 1000 * _WORKER, 21_000 + 1000 * _WORKER))
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def free_port() -> int:
    """Return a port that nobody listens at: below those that connections get, and of this worker alone."""
    while True:
        port = next(_PORTS)
        with socket.socket() as tried, suppress(OSError):
            tried.bind(("127.0.0.1", port))
            return port


class Server:
    """The app as the README starts it, with a ledger of its own; can be started anew."""

    def __init__(self, folder: Path, ledger: str = "", more: tuple[str, ...] = ()) -> None:
        self._more = more
        self.log, self.ledger, self.port = folder / "server.log", ledger or str(folder / "ledger.db"), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.prepare()
        self.start()

    def prepare(self) -> None:
        """Prepare what has to be there before the first start, with the port at hand."""

    def start(self) -> None:
        command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(self.port)]
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                [*command, "--server.address", "127.0.0.1", *self._more],
                cwd=ROOT,
                stdout=out,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PMT_LEDGER": self.ledger},
            )
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise RuntimeError(self.log.read_text())
            try:
                if urllib.request.urlopen(f"{self.url}/_stcore/health", timeout=1).read() == b"ok":
                    return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(self.log.read_text())

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)

    def restart(self) -> None:
        self.stop()
        self.start()


def served(started: Server) -> Iterator[Server]:
    """Yield a server, and stop it; no private value is in its log."""
    try:
        yield started
        # MARK of test_browser.py but its last digits; a port or a time has no such point
        assert "4711.6" not in started.log.read_text(), "a private value is in the server's log"
    finally:
        started.stop()


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[Server]:
    """Yield a fresh server."""
    yield from served(Server(tmp_path))


@pytest.fixture
def server(restartable: Server) -> str:
    """Return the address of a fresh server."""
    return restartable.url


@pytest.fixture(scope="session")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where screenshots are kept: PMT_SHOTS, or the run's own folder, which pytest keeps for three runs."""
    found = Path(os.environ.get("PMT_SHOTS") or tmp_path_factory.mktemp("shots"))
    found.mkdir(parents=True, exist_ok=True)
    return found


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield the browser of a module's tests, each of which is another visitor."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: CI must install it")
        pytest.skip("no Chromium on this machine: install the package 'chromium', or set CHROMIUM")
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:  # the server outlives its visitor
    """Yield a page of a visitor who has not been anywhere yet; fails on any script error."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    found = context.new_page()
    found.set_default_timeout(1000 * PATIENCE)
    errors: list[str] = []
    found.on("pageerror", lambda error: errors.append(str(error)))
    try:
        yield found
        assert not errors, errors
    finally:
        context.close()
