"""Three browsers for ten minutes: ``PYTHONPATH=. python benchmarks/soak.py [--minutes 10] [--browsers 3] [--seed 1]``.

Starts a server on which each Chromium acts at random: it opens pages, uploads tables (sound, damaged, with hostile
names), releases, compares and stops, computes figures and audits and stops, explores, reloads, goes back, deletes.
Counts actions, exceptions on pages, errors of scripts, tracebacks in the server's log and requests to other addresses,
and measures memory. Prints one line for each, and fails on any exception, error, traceback or such request.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, sync_playwright
from playwright.sync_api import Error as Missed

from benchmarks.load import memory
from tests.e2e.conftest import ARGUMENTS, Server
from tests.e2e.test_browser import csv, file
from tests.hostile import table

PATIENCE = 10_000  # milliseconds for a click; where a control is missing, the action is left out
PAGES = ("Data", "Conditioning", "Plan", "Release", "Explore", "Budget", "Compare", "Learn", "Local model")
PAGES += ("Retrieved budget", "Audit", "Gallery")


class Visitor:
    """One browser that acts at random."""

    def __init__(self, browser: Browser, url: str, seed: int, counts: Counter[str]) -> None:
        self.url, self.counts, self.chance = url, counts, random.Random(seed)
        context = browser.new_context(viewport={"width": 1280, "height": 900}, accept_downloads=True)
        self.page: Page = context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.on("pageerror", lambda error: self._count(f"script error: {error}"[:200]))
        self.page.on("request", self._asked)
        self.page.goto(url, timeout=120_000)

    def _count(self, kind: str) -> None:
        self.counts[kind] += 1

    def _asked(self, request: object) -> None:
        place = urlsplit(request.url)  # type: ignore[attr-defined]
        if place.scheme in ("http", "https") and place.netloc != urlsplit(self.url).netloc:
            self._count(f"request to {place.netloc}")

    def step(self) -> None:
        """Act once, and count errors."""
        name, act = self.chance.choice(self.acts())
        try:
            act()
            self._count(f"did: {name}")
        except Missed:
            self._count(f"could not: {name}")
        self.page.wait_for_timeout(self.chance.choice([100, 500, 1500]))  # often before the page is done
        for _ in range(self.page.get_by_test_id("stException").count()):
            self._count("exception on a page")

    def acts(self) -> list[tuple[str, Callable[[], object]]]:
        """Return the actions, frequent ones several times."""
        return [
            *[("open a page", self.walk)] * 6,
            *[("upload", self.upload)] * 2,
            *[("release", self.release)] * 2,
            *[("compare", self.compare)] * 2,
            *[("stop", self.stop)] * 2,
            (
                "a figure of the gallery",
                lambda: (self.go("Gallery"), self.press(re.compile(r"^.*Recompute, \d+ trials"))),
            ),
            ("audit all", lambda: (self.go("Audit"), self.press(re.compile("Audit everything anew")))),
            ("explore", self.explore),
            ("turn a knob", self.knob),
            ("reload", lambda: self.page.reload()),
            ("go back", lambda: self.page.go_back()),
            ("delete", lambda: self.press(re.compile("Delete my data"))),
        ]

    def go(self, name: str) -> None:
        self.page.get_by_test_id("stSidebarNav").get_by_role("link", name=name, exact=True).click()

    def walk(self) -> None:
        self.go(self.chance.choice(PAGES))

    def press(self, name: str | re.Pattern[str]) -> None:
        self.page.get_by_role("button", name=name).first.click()

    def settled(self) -> None:
        self.page.wait_for_selector("[data-testid='stApp'][data-test-script-state='notRunning']", timeout=60_000)

    def upload(self) -> None:
        """Upload two files: as they should be, damaged, or with hostile names."""
        self.go("Data")
        self.page.get_by_role("radio", name="Upload").click()
        inputs = self.page.get_by_test_id("stFileUploaderDropzoneInput")
        inputs.nth(1).wait_for(state="attached")
        kind, seed = self.chance.choice(["sound", "sound", "damaged", "hostile"]), self.chance.randrange(1000)
        if kind == "hostile":
            made = [("p.parquet", table(400, seed)), ("![b](http:b.parquet", table(150, seed + 1))]
        else:
            made = [("mine.csv", csv(800, seed)), ("theirs.csv", csv(60, seed + 1))]
        if kind == "damaged":
            made[0] = ("mine.csv", bytes(self.chance.randrange(256) for _ in range(5000)))
        for at, (name, data) in enumerate(made):
            inputs.nth(at).set_input_files(file(name, data))
            self.settled()
            self.page.wait_for_timeout(700)

    def release(self) -> None:
        self.go("Release")
        self.settled()
        self.page.get_by_text(re.compile("^I (spend|know that this is for study)")).first.click()
        self.page.get_by_test_id("stMain").get_by_role(
            "button", name=re.compile("^(Release|Compute a lab figure)$")
        ).dblclick()

    def compare(self) -> None:
        self.go("Compare")
        self.settled()
        self.page.get_by_label("Trials").first.fill("20")
        self.press(re.compile("Run$"))

    def stop(self) -> None:
        self.press(re.compile("Stop"))

    def explore(self) -> None:
        self.go("Explore")
        self.settled()
        if self.page.get_by_text(re.compile("^I (spend|know that this is for study)")).count():
            self.page.get_by_text(re.compile("^I (spend|know that this is for study)")).first.click()
            self.page.get_by_test_id("stMain").get_by_role(
                "button", name=re.compile("^(Release|Compute a lab figure)$")
            ).click()
        else:
            tabs = self.page.get_by_test_id("stMain").get_by_role("radio")
            tabs.nth(self.chance.randrange(max(tabs.count(), 1))).click()

    def knob(self) -> None:
        """Press a key or two on whatever slider the page has."""
        sliders = self.page.get_by_test_id("stMain").get_by_role("slider")
        one = sliders.nth(self.chance.randrange(max(sliders.count(), 1)))
        one.focus()
        one.press(self.chance.choice(["ArrowRight", "ArrowLeft", "Home", "End"]))


def browse(url: str, seed: int, until: float, counts: Counter[str]) -> None:
    """Let one browser act until the time is over."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        visitor = Visitor(browser, url, seed, counts)
        while time.monotonic() < until:
            visitor.step()
        browser.close()


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--browsers", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    sizes: list[float] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"XDG_DATA_HOME": home, "XDG_CACHE_HOME": home}
        server = Server(Path(home))
        until = time.monotonic() + 60 * chosen.minutes
        seeds = range(chosen.seed, chosen.seed + chosen.browsers)
        threads = [threading.Thread(target=browse, args=(server.url, seed, until, counts)) for seed in seeds]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            sizes.append(memory(server.process.pid))
            time.sleep(5)
        alive = server.process.poll() is None
        time.sleep(100)  # a minute to come back, then the timer
        sizes.append(memory(server.process.pid) if alive else 0.0)
        log = server.log.read_text()
        server.stop()
    for name, count in sorted(counts.items()):
        print(f"{name:40} {count}")
    bad = sum(count for name, count in counts.items() if not name.startswith(("did", "could not")))
    sentences = [line for line in log.splitlines() if re.search("Traceback|Error|Exception|own fault", line)]
    done = sum(count for name, count in counts.items() if name.startswith("did"))
    if sentences:
        print(log[-20_000:])
    print(
        f"{chosen.browsers} browsers, {chosen.minutes:g} minutes: {done} steps, {bad} exceptions and errors in pages, "
        f"{len(sentences)} lines of errors in the server's log, server {'alive' if alive else 'DEAD'}; memory: at most "
        f"{max(sizes):.0f} MB, after all had left {sizes[-1]:.0f} MB"
    )
    return int(bool(bad or sentences or not alive))


if __name__ == "__main__":
    sys.exit(main())
