"""Sign-in by OpenID Connect in a real browser: claims become roles, and every page keeps to them, links included."""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from pmtcore.base.roles import Actor, Role
from pmtcore.ledger.log import Ledger
from pmtcore.releases.register import register
from tests.e2e.conftest import Server
from tests.e2e.provider import CLIENT, SECRET, Provider
from tests.e2e.test_browser import csv, settled

pytestmark = pytest.mark.slow

PEOPLE = {
    "cleo@example.org": {"roles": ["curator"]},
    "ana@example.org": {"roles": ["staff", "analyst"]},
    "reed@example.org": {"roles": "reviewer"},
    "olga@example.org": {"roles": ["owner", "admin"]},  # no role of this application
    "una@example.org": {"roles": ["curator"], "email_verified": False},  # whoever made an account in this name
}
OUTSIDE = ("olga", "una")
PAGES = ("", "conditioning", "release", "explore", "compare")  # where private figures can be


class Team(Server):
    """A server whose people sign in."""

    def __init__(self, folder: Path, provider: Provider) -> None:
        self._folder, self._provider = folder, provider
        super().__init__(folder, more=(f"--secrets.files={folder / 'secrets.toml'}",))

    def prepare(self) -> None:
        lines = {
            "redirect_uri": f"{self.url}/oauth2callback",
            "cookie_secret": secrets.token_hex(32),
            "client_id": CLIENT,
            "client_secret": SECRET,
            "server_metadata_url": f"{self._provider.issuer}/.well-known/openid-configuration",
        }
        text = "[auth]\n" + "".join(f'{name} = "{value}"\n' for name, value in lines.items())
        (self._folder / "secrets.toml").write_text(text)


@pytest.fixture(scope="module")
def provider() -> Iterator[Provider]:
    result = Provider(PEOPLE)
    yield result
    result.close()


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, provider: Provider) -> Iterator[Server]:
    """Yield a server with one registered data set that takes two people for a release; each test is a new visitor."""
    folder = tmp_path_factory.mktemp("team")
    for name, n, seed in (("p", 400, 1), ("b", 60, 2)):
        (folder / f"{name}.csv").write_bytes(csv(n, seed))
    cleo = Actor("cleo@example.org", Role.CURATOR)
    book = Ledger(str(folder / "ledger.db"))
    register(cleo, book, "survey", str(folder / "p.csv"), public=str(folder / "b.csv"), cap=2.0, second=True)
    result = Team(folder, provider)
    try:
        yield result
        assert "Traceback" not in result.log.read_text()
    finally:
        result.stop()


@pytest.fixture
def restartable(team: Server) -> Server:
    """Return the team's server."""
    return team


def sign_in(page: Page, url: str, name: str) -> None:
    page.goto(url)
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.get_by_role("link", name=name).click()
    settled(page)


def test_nobody_gets_anywhere_without_signing_in(page, restartable):
    """The sign-in page is all there is: no sidebar, no upload, no ledger, by no link; nothing of a data set's name."""
    for place in ("", *PAGES[1:], "budget", "audit", "gallery"):
        page.goto(f"{restartable.url}/{place}")
        settled(page)
        expect(page.get_by_test_id("stMain").get_by_role("button")).to_have_count(1)
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        expect(page.get_by_text("survey")).to_have_count(0)
        expect(page.get_by_test_id("stSidebar")).to_have_count(0)


@pytest.mark.parametrize("name", PEOPLE)
def test_claims_become_roles(page, restartable, name):
    """Who one is is on screen; what a role forbids is refused on its page, by any link; signing out ends it."""
    role = name.split("@")[0]
    sign_in(page, restartable.url, name)
    said = {"cleo": "curator", "ana": "analyst", "reed": "reviewer"}.get(role, "no role")
    expect(page.get_by_text(re.compile(f"{role}@.?example.org, {said}"))).to_be_visible()  # no link is made of it
    if role in OUTSIDE:
        for place in PAGES:
            page.goto(f"{restartable.url}/{place}?curator=true")
            settled(page)
            expect(page.get_by_test_id("stMain").get_by_role("button")).to_have_count(1)
            expect(page.get_by_test_id("stSidebar")).to_have_count(0)
        page.get_by_role("button", name="Sign out", exact=True).click()
        expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
        return
    page.goto(f"{restartable.url}/data")
    settled(page)
    registered = page.get_by_role("radio", name="Registered")
    expect(registered).to_have_count(1 if role in ("cleo", "ana") else 0)
    page.get_by_role("radio", name="Upload").click()
    settled(page)
    refused = page.get_by_text("may not open private tables")
    expect(refused).to_have_count(0 if role == "cleo" else 1)
    for place in PAGES:
        page.goto(f"{restartable.url}/{place}?curator=true&run=0123456789abcdef0123456789abcdef")
        settled(page)
        assert page.get_by_test_id("stException").count() == 0
        if role != "cleo":
            expect(page.get_by_test_id("stMain").get_by_text("private, curator only")).to_have_count(0)
    page.goto(f"{restartable.url}/budget")
    settled(page)
    expect(page.get_by_text("Register a data set")).to_have_count(1 if role == "cleo" else 0)
    page.get_by_role("button", name="Sign out", exact=True).click()
    expect(page.get_by_role("button", name="Sign in", exact=True)).to_be_visible()
