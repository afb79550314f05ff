"""A real server and a real browser."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
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
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """A fresh server, as the README starts it; its address."""
    log = tmp_path / "server.log"
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port := free_port())]
    with log.open("wb") as out:
        process = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1"], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(300):
            if process.poll() is not None:
                raise RuntimeError(log.read_text())
            try:
                if urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read() == b"ok":
                    break
            except OSError:
                time.sleep(0.1)
        yield url
        assert "4711" not in log.read_text(), "a private value is in the server's log"
    finally:
        process.terminate()
        process.wait(20)


@pytest.fixture
def page(server: str) -> Iterator[object]:
    """A browser page that has not been anywhere yet; fails on any script error."""
    if CHROMIUM is None:
        if os.environ.get("CI"):
            pytest.fail("no Chromium: CI must install it")
        pytest.skip("no Chromium on this machine: install the package 'chromium', or set CHROMIUM")
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=30_000)  # a noisy machine may take its time; nothing here is timed

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
        found = context.new_page()
        found.set_default_timeout(30_000)
        errors: list[str] = []
        found.on("pageerror", lambda error: errors.append(str(error)))
        yield found
        assert not errors, errors
        context.close()
        browser.close()
