"""Take the picture of README from today's application: Start, Plan, Release after one, and Explore, two by two.

``python -m benchmarks.pictures`` starts a server with a ledger of its own and writes ``assets/screenshot.png``.
"""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import tempfile
import time
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
# Pages on which something is released, and a text that stands below what came out.
_AFTER = {"release": "Take it with you", "explore": "Models shown"}
# Looks, half a second apart, at which nothing may be under way: between two steps of work a page looks idle.
_STILL = 6
_SIZE = {"width": 1280, "height": 720}
# Of a screen's width: four of them side by side are read in a README at this size.
_SCALE = 0.75
_ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]


def settled(page: Page) -> None:
    """Wait until nothing is being computed or drawn."""
    page.wait_for_selector("h1", timeout=120_000)
    page.wait_for_timeout(2000)
    still = 0
    for _ in range(240):
        busy = page.locator('[data-testid="stStatusWidget"], [data-testid="stSpinner"], [data-testid="stSkeleton"]')
        idle = busy.count() == 0 and page.get_by_text("Predictions of all methods").count() == 0
        still = still + 1 if idle else 0
        if still > _STILL:
            break
        page.wait_for_timeout(500)
    page.wait_for_timeout(1000)


def confirm(page: Page, after: str) -> None:
    """Press the button that releases, and wait for a text of the result."""
    page.get_by_text(re.compile("I spend mu|I know that this is for study")).first.click()
    settled(page)
    page.get_by_role("button", name=re.compile("^(Release|Compute a lab figure)$")).click()
    page.get_by_text(after).first.wait_for()
    settled(page)


def shots(page: Page, url: str) -> list[Image.Image]:
    """Return the four pages as they look to a visitor."""
    pictures = []
    for name in ("", "plan", "release", "explore"):
        page.goto(f"{url}/{name}?table=demo")
        settled(page)
        if name in _AFTER:
            confirm(page, _AFTER[name])
        pictures.append(Image.open(BytesIO(page.screenshot())).convert("RGB"))
    return pictures


def montage(pictures: list[Image.Image]) -> Image.Image:
    """Return the pictures two by two."""
    width, height = (int(_SCALE * side) for side in pictures[0].size)
    sheet = Image.new("RGB", (2 * width, 2 * height))
    for at, picture in enumerate(pictures):
        sheet.paste(picture.resize((width, height), Image.Resampling.LANCZOS), ((at % 2) * width, (at // 2) * height))
    return sheet


def main() -> None:
    """Start a server, take the pictures, stop it."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        place = {"PMT_SINGLE_USER": "1", "PMT_LEDGER": f"sqlite:///{folder}/ledger.db"}
        command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
        server = subprocess.Popen([*command, "--server.headless=true"], cwd=ROOT, env={**os.environ, **place})
        try:
            time.sleep(8)
            with sync_playwright() as player:
                browser = player.chromium.launch(
                    executable_path=os.environ.get("PMT_CHROMIUM", "/usr/bin/chromium"), args=_ARGUMENTS
                )
                page = browser.new_page(viewport=_SIZE)  # type: ignore[arg-type]
                page.set_default_timeout(120_000)
                montage(shots(page, f"http://127.0.0.1:{port}")).save(ROOT / "assets" / "screenshot.png", optimize=True)
                browser.close()
        finally:
            server.terminate()


if __name__ == "__main__":
    main()
