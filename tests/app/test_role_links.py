"""Every page by every kind of link, in each role that is not a curator's: no form, no private figure, no event."""

from __future__ import annotations

import os

import pytest

from pmtcore.base.labels import Label
from pmtcore.base.roles import Role
from pmtcore.ledger.log import Ledger
from pmtcore.releases.register import register
from tests.app.conftest import go, visit, words
from tests.app.test_hostile_names import PAGES
from tests.app.test_pages import csv
from tests.app.test_roles import WHO, as_

PLANTED = "98765.4321"
# What a link may hold, and what somebody could try to have it hold.
MORE = {"curator": "1", "role": "curator", "source": "upload", "run": "1", "figure": "1", "lesson": "1"}
LINKS = [
    {"table": "demo", "n": "5000", "method": "joint-pmt", "mu": "1", **MORE},
    {"table": "survey", "target": "y", "method": "non-private", **MORE},
    {"table": "own", **MORE},
    {"table": "../p.csv", "features": "![x](http://evil.invalid)", **MORE},
]
TABLES = ("upload-", "register-")  # uploaders of tables; those of released records are for everybody
FORMS = {"Set", "Register", "Part", "Retire", "Agree", "Decline", "Upload"}


@pytest.fixture
def survey(tmp_path):
    """Return a data set that a curator registered, with a planted private value."""
    private = csv(400, 1).decode().rstrip("\n").split("\n")
    private[7] = ",".join([PLANTED] * len(private[7].split(",")))
    (tmp_path / "p.csv").write_text("\n".join(private))
    (tmp_path / "b.csv").write_bytes(csv(60, 2))
    book = Ledger(os.environ["PMT_LEDGER"])
    register(WHO[Role.CURATOR], book, "survey", str(tmp_path / "p.csv"), public=str(tmp_path / "b.csv"), cap=2.0)
    return book


def everything(app) -> str:
    """All text and all data on the page, tables and charts among them."""
    return words(app) + "".join(str(getattr(node, "proto", "")) for node in app._tree)


@pytest.mark.slow
@pytest.mark.parametrize("role", [None, Role.ANALYST, Role.REVIEWER])
def test_no_link_leads_past_a_role(app, survey, monkeypatch, role):
    before = survey.verify()["events"]
    as_(monkeypatch, role)
    if role is Role.ANALYST:
        app.run()
        app.segmented_control(key="source").set_value("registered").run()
        assert "**400 private rows**" in words(app)
    for link in LINKS:
        for page in PAGES:
            app.query_params.clear()
            for name, value in link.items():
                app.query_params[name] = value
            app.session_state["curator"] = True  # as if a link could switch it on
            app.switch_page(page).run()
            where = f"{role} {page} {link}"
            assert not app.exception, where
            assert not {button.label for button in app.button} & FORMS, where
            assert not [box.key for box in app.get("file_uploader") if box.key.startswith(TABLES)], where
            assert PLANTED not in everything(app), where
            if link["table"] == "survey":
                assert "private, curator only" not in "\n".join(m.value for m in app.main.markdown), where
    assert survey.verify()["events"] == before


def seen_by(role, monkeypatch, figures: bool) -> dict[str, str]:
    """Return the text of each page of the tables' own part, as a new visitor of this role sees it."""
    as_(monkeypatch, role)
    app = visit()
    app.segmented_control(key="source").set_value("registered").run()
    if figures:
        app.toggle(key="curator").set_value(True).run()
    return {page: words(go(app, page)) for page in ("data", "conditioning", "plan", "compare", "release", "budget")}


@pytest.mark.slow
def test_what_a_curator_saw_changes_nothing_for_an_analyst(survey, monkeypatch):
    """Nothing that one process keeps between sessions has an exact figure of the private rows."""
    before = seen_by(Role.ANALYST, monkeypatch, False)
    exact = seen_by(Role.CURATOR, monkeypatch, True)
    assert Label.PRIVATE.value in "".join(exact.values())
    assert seen_by(Role.ANALYST, monkeypatch, False) == before
