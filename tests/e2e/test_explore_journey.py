"""The Explore page in a real browser: from two files to a confirmed model; and what a click costs."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.test_browser import settled
from tests.e2e.test_journeys import main, spend, upload_for

pytestmark = pytest.mark.slow

WIDTHS = (1440, 768, 390)


def rows(n: int, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    age, years = rng.normal(40, 10, n), rng.normal(10, 4, n)
    pay = 20 + 0.5 * age + 0.8 * years + rng.normal(0, 3, n)
    return pd.DataFrame({"age": age, "years": years, "pay": pay}).to_csv(index=False).encode()


def pill(page: Page, name: str) -> None:
    page.get_by_test_id("stButtonGroup").get_by_text(name, exact=True).first.click()


@pytest.fixture
def explored(page: Page, server: str) -> Page:
    """Two files opened, and a moment of all their columns released."""
    upload_for(page, server, (("pay.csv", rows(900, 1)), ("sample.csv", rows(120, 2))), "Explore")
    spend(page)
    settled(page)
    expect(page.get_by_text("Models shown: 1")).to_be_visible()
    settled(page)
    return page


def test_upload_release_choose_pin_compare_confirm(explored: Page, shots: Path) -> None:
    """Everything by clicking; one spend for all models, a second one for the chosen model alone."""
    page = explored
    for name in ("all of it", "age alone"):
        box = page.get_by_role("textbox", name="Name of this model")
        box.fill(name)
        box.press("Enter")
        settled(page)
        main(page).get_by_role("button", name="Pin", exact=True).click()
        settled(page)
        if name == "all of it":
            pill(page, "years")
            expect(page.get_by_text("Models shown: 2")).to_be_visible()
            settled(page)
    expect(page.get_by_text(re.compile("2 models were shown")).first).to_be_visible()
    expect(page.get_by_role("textbox", name="Name of this model")).to_have_value("age alone")
    pictures(page, shots)
    page.get_by_role("radio", name="Second release").click()
    settled(page)
    expect(page.get_by_text(re.compile("is expected to cut"))).to_be_visible()
    spend(page)
    expect(page.get_by_text(re.compile("distinguished from zero by both releases together"))).to_be_visible()
    expect(page.get_by_test_id("stException")).to_have_count(0)
    page.screenshot(path=str(shots / "explore-confirmed.png"), full_page=True)


def test_a_click_on_the_map_and_the_keyboard(explored: Page) -> None:
    """A click on a mark takes its column out of the model, another puts it in again; keys reach the marks' list too."""
    page = explored
    chart = page.locator("[class*='st-key-explore-map-']")
    expect(chart.locator(".js-plotly-plot")).to_be_visible()
    for looked in (2, 3):
        marks = chart.locator(".scatterlayer .point")
        expect(marks.first).to_be_visible()
        marks.first.click(force=True)
        expect(page.get_by_text(f"Models shown: {looked}")).to_be_visible()
        settled(page)
    feature = page.get_by_test_id("stButtonGroup").get_by_text("years", exact=True).first
    feature.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Models shown")).to_be_visible()
    settled(page)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def pictures(page: Page, shots: Path) -> None:
    """At three widths in both themes; nothing is wider than the window."""
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for width in WIDTHS:
            page.set_viewport_size({"width": width, "height": 900})
            settled(page)
            page.screenshot(path=str(shots / f"explore-{width}-{theme}.png"))
            assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 900})
    settled(page)
