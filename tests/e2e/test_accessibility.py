"""The automated accessibility check (axe-core) on every page in both themes: no serious finding of our own.

axe-core is not part of the project; where its script lies is read from ``PMT_AXE`` (``npm pack axe-core``).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.e2e.test_browser import settled

PAGES = ["", "conditioning", "plan", "release", "budget", "compare", "learn", "local", "retrieval", "audit", "gallery"]
STREAMLITS_OWN = {"list", "listitem"}  # its navigation puts sections between list and items (streamlit issue 8399)
AXE = os.environ.get("PMT_AXE", "")


@pytest.mark.skipif(not Path(AXE).is_file(), reason="PMT_AXE does not name axe.min.js")
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_finding(page: Page, server: str, theme: str) -> None:
    """WCAG A and AA, serious and critical; every page has its own title."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    found, titles = [], set()
    for name in PAGES:
        page.goto(f"{server}/{name}")
        settled(page)
        titles.add(page.title())
        page.evaluate(Path(AXE).read_text(encoding="utf-8"))
        result = page.evaluate("axe.run(document, {runOnly: ['wcag2a', 'wcag2aa']})")
        for one in result["violations"]:
            if one["impact"] in ("serious", "critical") and one["id"] not in STREAMLITS_OWN:
                found.append((name, one["id"], one["nodes"][0]["html"][:120]))
    assert not found
    assert len(titles) == len(PAGES)
