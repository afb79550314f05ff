"""The automated accessibility check (axe-core) on every page in both themes: no serious finding of our own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.app.walk import PAGES
from tests.e2e.test_browser import settled

pytestmark = pytest.mark.slow

# Streamlit's navigation puts a group between a list and its items; only Streamlit can mend it (its issue 8399).
STREAMLITS_OWN = {"list", "listitem"}
RULES = {"runOnly": ["wcag2a", "wcag2aa", "best-practice"]}


def serious(page: Page, where: str) -> Iterator[tuple[str, str, str]]:
    """Serious and critical findings on what is shown, and headings out of order."""
    settled(page)
    for one in Axe().run(page, options=RULES).response["violations"]:
        grave = one["impact"] in ("serious", "critical") or one["id"] == "heading-order"
        if grave and one["id"] not in STREAMLITS_OWN:
            yield where, one["id"], one["nodes"][0]["html"][:120]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_finding(page: Page, server: str, theme: str) -> None:
    """WCAG A and AA, serious and critical; every page has its own title."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    result, titles = [], set()
    for path in PAGES:
        name = path.rsplit("/", 1)[1].removesuffix(".py")
        page.goto(f"{server}/{'' if name == 'start' else name}")
        result += serious(page, name)
        titles.add(page.title())
    assert not result
    assert len(titles) == len(PAGES)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_no_serious_finding_after_a_release(page: Page, server: str, theme: str) -> None:
    """The same where results are shown: a release, and an opened moment with its questions."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    collected = []
    for name, shown in (("release", "Take it with you"), ("explore", "Models shown")):
        page.goto(f"{server}/{name}")
        settled(page)
        page.get_by_text("I know that this is for study").click()
        settled(page)
        page.get_by_test_id("stMain").get_by_role("button", name="Compute a lab figure", exact=True).click()
        expect(page.get_by_role("heading", name=shown).first).to_be_visible()
        collected += serious(page, f"{name}, released")
    assert not collected


# Smallest contrast of a text in a picture, or a part of code, with the page behind it; axe does not look at drawings.
_LEAST_CONTRAST = """() => {
    const parts = colour => {
        const [, inside] = colour.match(/\\((?:srgb )?([^)]+)\\)/), all = inside.split(/[ ,\\/]+/).map(Number);
        const unit = colour.startsWith("color") ? 1 : 255;
        return [...all.slice(0, 3).map(part => part / unit), all.length > 3 ? all[3] : 1];
    };
    const linear = part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    const light = rgb => 0.2126 * linear(rgb[0]) + 0.7152 * linear(rgb[1]) + 0.0722 * linear(rgb[2]);
    const behind = parts(getComputedStyle(document.querySelector("[data-testid='stApp']")).backgroundColor);
    const texts = [...document.querySelectorAll(".js-plotly-plot :is(.xtick, .ytick, .g-xtitle, .g-ytitle) text, "
        + ".js-plotly-plot .annotation-text, .js-plotly-plot .legendtext, [data-testid='stCode'] .token")];
    return texts.map(text => {
        const style = getComputedStyle(text);
        const [r, g, b, share] = parts(text instanceof SVGElement ? style.fill : style.color);
        const drawn = [r, g, b].map((part, at) => part * share + behind[at] * (1 - share));
        const [low, high] = [light(drawn), light(behind)].sort((a, b) => a - b);
        return [(high + 0.05) / (low + 0.05), text.textContent];
    }).sort((a, b) => a[0] - b[0])[0];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", ["", "conditioning", "release", "sites"])
def test_text_in_pictures_and_code_can_be_read(page: Page, server: str, name: str, theme: str) -> None:
    """Axes, names above marks, legends and parts of code have the contrast of text, 4.5 to 1, in both themes."""
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    page.goto(f"{server}/{name}")
    settled(page)
    expect(page.locator(".js-plotly-plot .xtick").first).to_be_attached()
    contrast, text = page.evaluate(_LEAST_CONTRAST)
    assert contrast >= 4.5, text
