"""Ten journeys of real users in a real browser; each keeps a screenshot where the run keeps its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.conftest import Server
from tests.e2e.test_browser import csv, file, settled

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def picture(request: pytest.FixtureRequest, page: Page, shots: Path) -> Iterator[None]:
    """Yield the last thing a user saw, kept with the run."""
    yield
    page.screenshot(path=str(shots / f"{request.node.name}.png"), full_page=True)
    assert page.get_by_test_id("stException").count() == 0


def main(page: Page):
    return page.get_by_test_id("stMain")


def upload(page: Page, private: tuple[str, bytes], public: tuple[str, bytes]) -> None:
    settled(page)  # a click on a page that is still being drawn may be lost
    page.get_by_role("radio", name="Upload").click()
    inputs = page.get_by_test_id("stFileUploaderDropzoneInput")
    expect(inputs).to_have_count(2)
    inputs.nth(0).set_input_files(file(*private))
    expect(page.get_by_text(private[0]).first).to_be_visible()
    settled(page)  # Streamlit may lose the second of two files chosen within milliseconds of each other
    inputs.nth(1).set_input_files(file(*public))
    settled(page)


def upload_for(page: Page, url: str, tables: tuple[tuple[str, bytes], tuple[str, bytes]], next_page: str) -> None:
    """Open a private and a public file on the Data page, and go on to another page by its link."""
    page.goto(f"{url}/data")
    upload(page, *tables)
    page.get_by_test_id("stSidebar").get_by_role("link", name=next_page).click()
    settled(page)


def spend(page: Page) -> None:
    page.get_by_text(re.compile("I spend mu|I know that this is for study")).click()
    settled(page)
    main(page).get_by_role("button", name=re.compile("^(Release|Compute a lab figure)$")).click()


def release(page: Page) -> None:
    spend(page)
    expect(page.get_by_role("heading", name="Take it with you", exact=True)).to_be_visible()
    settled(page)


def messy(n: int, seed: int) -> bytes:
    """Semicolons, gaps, categories with stray spaces, a text among numbers, a copy of a column, unseen levels."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["Male", "Female", " female", "unknown" if seed == 1 else "Male"], n)
    frame = pd.DataFrame({"age": rng.normal(40, 10, n).round(1), "sex": sex})
    frame["months"] = 12 * frame["age"]
    frame["pay"] = 20 + frame["age"] + rng.normal(0, 3, n)
    text = frame.astype(object)
    text.loc[:3, "age"] = ["", "NA", "?", "n/a"]
    return text.to_csv(index=False, sep=";").encode()


def test_first_visit(page: Page, server: str) -> None:
    """A figure before any click, the page named in the tab."""
    page.goto(f"{server}/data")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    expect(page).to_have_title(re.compile("Data"))
    expect(page.get_by_text(re.compile("losest to the fit without privacy")).first).to_be_visible()


def test_upload_with_everything_wrong_to_release(page: Page, server: str) -> None:
    """A messy pair of files opens, is explained, and is released; nothing private is on the way."""
    page.goto(f"{server}/data")
    upload(page, ("pay.csv", messy(900, 1)), ("sample.csv", messy(120, 2)))
    expect(page.get_by_text(re.compile("pay on")).first).to_be_visible()
    expect(page.get_by_text(re.compile("What was done to the columns"))).to_be_visible()
    page.get_by_test_id("stSidebar").get_by_role("link", name="Release").click()
    settled(page)
    release(page)
    expect(page.get_by_text("These figures may be published")).to_be_visible()


def test_plan_to_release(page: Page, server: str) -> None:
    """Method and budget of a plan are carried, and the budget page is next."""
    page.goto(f"{server}/plan")
    expect(page.locator(".js-plotly-plot").first).to_be_visible()
    page.get_by_role("button", name="Next: Release", exact=True).click()
    expect(page.get_by_text("A release spends budget permanently")).to_be_visible()
    settled(page)
    expect(main(page).get_by_text("Plan: mu 1")).to_be_visible()
    release(page)
    main(page).get_by_role("link", name="Next: Report").click()
    expect(page.get_by_role("heading", name="Report", exact=True)).to_be_visible()


def test_comparison_with_stop_and_reload(page: Page, server: str) -> None:
    """A long comparison is found again by a reload, and stopped there."""
    page.goto(f"{server}/compare")
    settled(page)
    trials = page.get_by_role("spinbutton", name="Trials")
    trials.fill("5000")
    trials.press("Tab")
    main(page).get_by_role("button", name="Run", exact=True).click()
    expect(page.get_by_text(re.compile(r"\d+% done"))).to_be_visible()
    page.wait_for_url(re.compile("run=[0-9a-f]{32}"))
    page.reload()
    expect(page.get_by_text(re.compile(r"\d+% done"))).to_be_visible()
    main(page).get_by_role("button", name="Stop").click()
    expect(page.get_by_text(re.compile("for each method and place, stopped"))).to_be_visible()


def test_ledger_over_a_restart(page: Page, restartable: Server) -> None:
    """A spend is there after the server was started anew, and counts."""
    upload_for(page, restartable.url, (("mine.csv", csv(800, 1)), ("theirs.csv", csv(60, 2))), "Release")
    release(page)
    restartable.restart()
    page.goto(f"{restartable.url}/budget")
    expect(page.get_by_text(re.compile("in 1 release")).first).to_be_visible()
    main(page).get_by_role("link", name="Reports of these releases").click()
    expect(page.get_by_role("button", name="Report (HTML)", exact=True)).to_be_visible()


def test_a_release_by_keyboard(page: Page, server: str) -> None:
    """Tick and button by keys alone: the tick keeps the focus, and Tab leads to the button; then the verdict has it."""
    page.goto(f"{server}/release")
    settled(page)
    tick = page.get_by_role("checkbox", name=re.compile("I know that this is for study"))
    tick.focus()
    page.keyboard.press("Space")
    settled(page)
    expect(tick).to_be_focused()
    # The help of the tick is a stop of its own.
    button = main(page).get_by_role("button", name="Compute a lab figure", exact=True)
    for _ in range(2):
        if not button.evaluate("it => it === document.activeElement"):
            page.keyboard.press("Tab")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Take it with you", exact=True)).to_be_visible()
    page.wait_for_function("document.activeElement && document.activeElement.classList.contains('st-key-verdict')")


def test_report(page: Page, server: str, shots: Path) -> None:
    """A report is downloaded, opens offline, and reads on a phone without scrolling sideways."""
    page.goto(f"{server}/release")
    settled(page)
    release(page)
    with page.expect_download() as download:
        page.get_by_role("button", name="Report (HTML)", exact=True).click()
    text = Path(download.value.path()).read_text()
    assert "NIST SP 800-226" in text and "<script" not in text
    other = page.context.new_page()
    other.set_viewport_size({"width": 390, "height": 844})
    other.set_content(text)
    assert other.evaluate("document.documentElement.scrollWidth") <= 390
    other.screenshot(path=str(shots / "report-390.png"), full_page=True)
    with page.expect_download() as download:
        page.get_by_role("button", name="Notebook", exact=True).click()
    assert json.loads(Path(download.value.path()).read_text())["nbformat"] == 4


def test_a_lesson(page: Page, server: str) -> None:
    """A link opens a lesson in a state; the answer opens and closes with it; back in the browser changes it back."""
    page.goto(f"{server}/learn?lesson=composition&count=4")
    expect(page.get_by_text("4 releases of mu = 0.5 cost 1 together").first).to_be_visible()
    page.get_by_text("Answer", exact=True).click()
    expect(page.get_by_text(re.compile("the root of 1 is 1"))).to_be_visible()
    page.get_by_role("button", name="Next: One release, every question").click()
    page.wait_for_url(re.compile("lesson=questions"))
    expect(page.get_by_text(re.compile("Only the release itself"))).to_be_hidden()
    page.go_back()
    expect(page.get_by_text(re.compile("What do four releases"))).to_be_visible()
    page.get_by_role("button", name="All lessons", exact=True).click()
    page.get_by_role("button", name=re.compile(r"^\d+\. Leaks")).click()
    expect(page.get_by_text(re.compile("attacks show")).first).to_be_visible()
    page.wait_for_url(re.compile("lesson=leaks"))


def test_a_bad_file(page: Page, server: str) -> None:
    """A file that is no table gets one sentence; what was open stays open."""
    page.goto(f"{server}/data")
    page.get_by_role("radio", name="Upload").click()
    inputs = page.get_by_test_id("stFileUploaderDropzoneInput")
    inputs.nth(0).set_input_files(file("scan.csv", b"%PDF-1.4\x00\x01\x02 not a table"))
    settled(page)
    expect(page.get_by_test_id("stAlert").first).to_be_visible()
    expect(page.get_by_test_id("stSidebar").get_by_text("Synthetic demo").first).to_be_visible()


def test_two_sessions_at_once(page: Page, server: str) -> None:
    """What one visitor opens, another does not see."""
    page.goto(f"{server}/data")
    upload(page, ("mine.csv", csv(800, 1)), ("theirs.csv", csv(60, 2)))
    other = page.context.browser.new_context().new_page()
    other.goto(f"{server}/data")
    expect(other.get_by_test_id("stSidebar").get_by_text("Synthetic demo").first).to_be_visible()
    assert other.get_by_text("mine.csv").count() == 0
    expect(page.get_by_test_id("stSidebar").get_by_text("mine.csv").first).to_be_visible()
    page.reload()
    expect(page.get_by_text(re.compile("starts without tables"))).to_be_visible()
    other.context.close()


def test_a_deep_link_on_a_fresh_server(page: Page, server: str) -> None:
    """The first request a server ever gets is a link to a state: table, method and budget are there."""
    page.goto(f"{server}/plan?table=demo&n=1000&method=pmt-ridge&mu=0.5")
    expect(page.get_by_text(re.compile(r"At mu\s=\s0.5 .Whitened ridge.")).first).to_be_visible()
    expect(page.get_by_text(re.compile("1,000 private")).first).to_be_visible()
    settled(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
