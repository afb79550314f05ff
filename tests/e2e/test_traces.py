"""What a real server leaves behind: no planted private value in any file, log, download or address; one spend."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pmtcore.ledger.log import Ledger
from tests.e2e.conftest import PATIENCE, ROOT, free_port
from tests.e2e.test_browser import MARK, settled, upload

pytestmark = pytest.mark.slow

SIGNS = [MARK.encode(), MARK[:6].encode(), MARK.replace(".", ",").encode(), MARK.encode("utf-16-le")]


@dataclass
class Place:
    """A server with every folder it may write to inside one of ours."""

    url: str
    home: Path
    start: float

    @property
    def ledger(self) -> Ledger:
        return Ledger(str(self.home / "ledger.db"))

    def files(self) -> list[Path]:
        """All that the server wrote: its home, temporary files, log, ledger, and anything new beside the code."""
        own = [path for path in self.home.rglob("*") if path.is_file()]
        skip = {".git", ".venv", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", "__pycache__"}
        beside = [
            p for p in ROOT.rglob("*") if not skip & set(p.parts) and p.is_file() and p.stat().st_mtime > self.start
        ]
        return own + beside


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """In place of the shared one: the address, and ``place`` finds the rest by it."""
    home = tmp_path / "server"
    (home / "tmp").mkdir(parents=True)
    folders = {"HOME": home, "TMPDIR": home / "tmp", "XDG_DATA_HOME": home / "data", "XDG_CACHE_HOME": home / "cache"}
    env = {**os.environ, **{name: str(path) for name, path in folders.items()}, "PMT_LEDGER": str(home / "ledger.db")}
    port, start = free_port(), time.time() - 1
    command = [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port), "--logger.level=debug"]
    with (home / "server.log").open("wb") as out:
        process = subprocess.Popen(
            [*command, "--server.address", "127.0.0.1"], cwd=ROOT, env=env, stdout=out, stderr=subprocess.STDOUT
        )
    url = f"http://127.0.0.1:{port}"
    try:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            if process.poll() is not None:
                raise RuntimeError((home / "server.log").read_text())
            try:
                if urllib.request.urlopen(f"{url}/_stcore/health", timeout=1).read() == b"ok":
                    break
            except OSError:
                time.sleep(0.1)
        _PLACES[url] = Place(url, home, start)
        yield url
    finally:
        process.terminate()
        process.wait(PATIENCE)


_PLACES: dict[str, Place] = {}


def test_nothing_private_is_left_behind(page: Page, server: str, tmp_path: Path) -> None:
    """Upload, release, downloads, the Budget page, the report: the value is in no file, log, page, address or store."""
    place = _PLACES[server]
    collected = [tmp_path / "seen"]
    collected[0].mkdir()
    addresses: list[str] = []
    page.on("request", lambda request: addresses.append(request.url))
    upload(page, server)
    page.get_by_test_id("stMain").get_by_role("button", name="Release", exact=True).click()
    expect(page.get_by_text("These figures may be published")).to_be_visible()
    settled(page)
    pages = [page.content()]
    for name in ("Record (JSON)", "Coefficients (CSV)", "Configuration (JSON)"):
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        download.value.save_as(collected[0] / name)
    page.get_by_role("link", name="Budget", exact=True).click()
    settled(page)
    pages.append(page.content())
    for name in ("Ledger of this data set (JSON)", "Report (HTML)"):
        if name == "Report (HTML)":
            page.get_by_test_id("stSidebar").get_by_role("link", name="Report", exact=True).click()
            settled(page)
            pages.append(page.content())
        with page.expect_download() as download:
            page.get_by_role("button", name=name, exact=True).click()
        download.value.save_as(collected[0] / name)
    pages.append(
        page.evaluate("JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href])")
    )
    result = place.files() + list(collected[0].iterdir())
    assert {"server.log", "ledger.db", "Record (JSON)", "Report (HTML)"} <= {path.name for path in result}
    assert (place.home / "server.log").stat().st_size > 1000, "the log is on, at its most talkative"
    assert json.loads((collected[0] / "Record (JSON)").read_text())["n"] == 800
    for sign in SIGNS:
        for path in result:
            assert sign not in path.read_bytes(), path
        for text in pages + addresses:
            assert sign.decode(errors="ignore").replace("\x00", "") not in text


@pytest.mark.parametrize("trouble", ["double click and reload", "lost connection"])
def test_trouble_spends_once(page: Page, server: str, trouble: str) -> None:
    """Clicks in a row, then a reload or a lost connection at once: one spend in the ledger at most."""
    place = _PLACES[server]
    upload(page, server)
    button = page.get_by_test_id("stMain").get_by_role("button", name="Release", exact=True)
    expect(button).to_be_enabled()
    if trouble == "lost connection":
        button.click()
        page.context.set_offline(True)
        page.wait_for_timeout(3000)
        page.context.set_offline(False)
    else:
        button.dblclick()
        page.reload()
    page.wait_for_timeout(5000)
    entries = [entry for account in place.ledger.accounts() for entry in account.entries]
    assert len(entries) <= 1 and place.ledger.verify()["intact"]
    assert all(entry.state in {"released", "reserved"} for entry in entries)
    page.goto(f"{server}/budget")
    settled(page)
    expect(page.get_by_text("The log is intact" if place.ledger.accounts() else "The ledger is empty")).to_be_visible()
