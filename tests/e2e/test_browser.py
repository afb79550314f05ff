"""What only a browser can show: uploads, downloads, timers, deep links."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

MARK = "4711.625"


def csv(n: int, seed: int, mark: bool = False) -> bytes:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"AT": rng.normal(20, 7, n), "AP": rng.normal(1013, 6, n)})
    table["PE"] = 450 - 2 * table["AT"] + 0.06 * table["AP"] + rng.normal(0, 4, n)
    if mark:
        table.loc[3, "AT"] = float(MARK)
    return table.to_csv(index=False).encode()


def file(name: str, data: bytes) -> dict:
    return {"name": name, "mimeType": "text/csv", "buffer": data}


def settled(page: Page) -> None:
    """Wait until no script run is going on: a click during one can meet a button about to be replaced."""
    page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']", timeout=180_000)
    page.wait_for_timeout(1000)
    page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']", timeout=180_000)


def test_a_deep_link_on_a_fresh_server(page: Page, server: str) -> None:
    """The first request a server ever gets is a deep link: the page comes with its frame and no dialog."""
    page.goto(f"{server}/conditioning")
    expect(page.get_by_role("heading", name="Conditioning")).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("Synthetic demo")).to_be_visible()
    expect(page.get_by_role("link", name="Release", exact=True)).to_be_visible()
    settled(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_test_id("stException")).to_have_count(0)


def upload(page: Page, server: str) -> None:
    """A private table with the planted value, a public one, and the Release page with its box ticked."""
    page.goto(f"{server}/data")
    page.get_by_role("radio", name="Upload").click()
    inputs = page.get_by_test_id("stFileUploaderDropzoneInput")
    expect(inputs).to_have_count(2)
    inputs.nth(0).set_input_files(file("mine.csv", csv(800, 1, mark=True)))
    expect(page.get_by_text("mine.csv").first).to_be_visible()
    settled(page)  # Streamlit may lose the second of two files chosen within milliseconds of each other
    inputs.nth(1).set_input_files(file("theirs.csv", csv(60, 2)))
    expect(page.get_by_text("800 private rows, 60 public rows; PE on 2 columns and an intercept.")).to_be_visible()
    page.get_by_role("link", name="Release", exact=True).click()
    settled(page)
    page.get_by_text("I spend mu = 1 on this table").click()
    settled(page)


def test_upload_release_download(page: Page, server: str, tmp_path: Path) -> None:
    """Two tables uploaded, one release, a double click, a download: one spend, and a record with its keys."""
    upload(page, server)
    button = page.get_by_test_id("stMain").get_by_role("button", name="Release", exact=True)
    expect(button).to_be_enabled()
    button.dblclick()
    expect(page.get_by_text("These figures may be published")).to_be_visible()
    expect(page.get_by_text("mu = 1 in 1 release")).to_be_visible()
    settled(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Record (JSON)", exact=True).click()
    text = Path(download.value.path()).read_text()
    record = json.loads(text)
    keys = {"method", "coefficients", "bands", "guarantee", "parameters", "n", "public_rows", "standing"}
    assert keys <= set(record)
    assert {"mu", "rho", "epsilon", "delta", "neighbours"} == set(record["guarantee"])
    assert (record["n"], record["public_rows"], record["standing"]) == (800, 60, "sound")
    assert set(record["coefficients"]) == {"(intercept)", "AT", "AP"}
    assert MARK not in text and MARK not in page.content()
    page.set_viewport_size({"width": 400, "height": 900})
    page.wait_for_function("document.documentElement.scrollWidth <= 400")
    settled(page)
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 400  # what is drawn last makes it no wider again
    page.screenshot(path=str(tmp_path / "release-400.png"))


def test_compare_runs_stops_and_draws(page: Page, server: str, tmp_path: Path) -> None:
    """A long comparison shows progress, stops on request, and keeps its picture."""
    page.goto(f"{server}/compare")
    trials = page.get_by_role("spinbutton", name="Trials")
    trials.fill("5000")
    trials.press("Tab")
    page.get_by_test_id("stMain").get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text(re.compile(r"\d+% done"))).to_be_visible()
    page.get_by_test_id("stMain").get_by_role("button", name="Stop", exact=True).click()
    expect(page.get_by_text(re.compile(r"trials? for each method and place, stopped"))).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    expect(page.locator(".js-plotly-plot")).to_be_visible()
    expect(page.get_by_role("button", name="More trials", exact=True)).to_be_visible()
    page.screenshot(path=str(tmp_path / "compare.png"), full_page=True)
    assert page.get_by_test_id("stException").count() == 0
