"""Names out of somebody's file in a real browser: no other address is asked, nothing of theirs is a link."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_browser import settled
from tests.hostile import NAMES, table

pytestmark = pytest.mark.slow

PAGES = ("", "conditioning", "plan", "release", "explore", "compare", "budget", "local", "learn")
BAD = "a[href*='evil'], img[src*='evil'], img[alt='Streamlit logo'], [aria-label='skull icon'], .katex, [onerror]"


def test_no_name_is_acted_upon(page: Page, server: str, tmp_path: Path) -> None:
    """Every page with hostile tables open."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: asked.append(f"http://evil.invalid/{dialog.message}"))
    for name, rows, seed in (("![n](http:··evil.invalid·n).parquet", 800, 1), (":material·skull:.parquet", 150, 2)):
        (tmp_path / name).write_bytes(table(rows, seed))
    private, public = sorted(tmp_path.glob("*.parquet"), key=lambda path: path.name[0] != "!")
    page.goto(f"{server}/data")
    page.get_by_role("radio", name="Upload").click()
    inputs = page.get_by_test_id("stFileUploaderDropzoneInput")
    expect(inputs).to_have_count(2)
    inputs.nth(1).set_input_files(public)
    settled(page)
    inputs.nth(0).set_input_files(private)
    expect(page.get_by_text("800 private rows").first).to_be_visible()
    for at in PAGES:
        if at:
            page.get_by_test_id("stSidebarNav").get_by_role("link").filter(
                has=page.locator(f"xpath=self::*[contains(@href, '/{at}')]")
            ).first.click()
        settled(page)
        assert page.locator(BAD).count() == 0, (at, page.locator(BAD).first.evaluate("e => e.outerHTML"))
        shown = page.locator("body").inner_text()
        assert "![n](http:" in shown.replace("\u2060", ""), at  # the title in the sidebar, as it is written
        assert NAMES[12] not in shown and "\u202e" not in shown, at
    others = {urlsplit(url).netloc for url in asked if urlsplit(url).scheme in ("http", "https", "ws", "wss")}
    assert others == {urlsplit(server).netloc}
