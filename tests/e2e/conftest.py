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
PATIENCE = 180  # seconds; nothing here is timed
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
    """Return a free port, below those of outgoing connections, from the range of this worker."""
    while True:
        port = next(_PORTS)
        with socket.socket() as candidate, suppress(OSError):
            candidate.bind(("127.0.0.1", port))
            return port


class Server:
    """The app, started as in the README, with a ledger of its own; it can be restarted."""

    def __init__(self, folder: Path, ledger: str = "", more: tuple[str, ...] = ()) -> None:
        self._more = more
        self.log, self.ledger, self.port = folder / "server.log", ledger or str(folder / "ledger.db"), free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.prepare()
        self.start()

    def prepare(self) -> None:
        """Prepare the first start, when the port is known."""

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
    """Yield a server, then check that no private value is in its log, and stop it."""
    try:
        yield started
        # MARK of test_browser.py without its last digits; no port or time has this form
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
    """Return the folder of screenshots: PMT_SHOTS, or a folder of the run, which pytest deletes after three runs."""
    folder = Path(os.environ.get("PMT_SHOTS") or tmp_path_factory.mktemp("shots"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield the browser of a module, in which each test is another visitor."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: CI must install it")
        pytest.skip("no Chromium on this machine: install the package 'chromium', or set CHROMIUM")
    expect.set_options(timeout=1000 * PATIENCE)
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture
def page(browser: Browser, server: str) -> Iterator[Page]:  # the server ends after the page
    """Yield an empty page of a new visitor; fail on any script error."""
    context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page_of_visitor = context.new_page()
    page_of_visitor.set_default_timeout(1000 * PATIENCE)
    errors: list[str] = []
    page_of_visitor.on("pageerror", lambda error: errors.append(str(error)))
    try:
        yield page_of_visitor
        assert not errors, errors
    finally:
        context.close()
