"""Three roles, each forbidden thing tried: in the functions, and over links to the pages."""

from __future__ import annotations

import os

import pytest

from pages.common import actors
from pmtcore.base.checks import InputError
from pmtcore.base.roles import MAY, OWNER, Action, Actor, Forbidden, Role, role_of
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.releases.register import opened, register, registered
from tests.app.conftest import go, words
from tests.app.test_pages import csv, upload

WHO = {role: Actor(role.value, role) for role in Role} | {None: Actor("", None)}
FORBIDDEN = {
    None: set(Action),
    Role.ANALYST: {a for a in Action if a.name in ["OPEN_TABLES", "SEE_PRIVATE", "REGISTER", "CAP", "PART", "RETIRE"]},
    Role.REVIEWER: {a for a in Action if a.name not in ["READ_LEDGER", "REPORT"]},
    Role.CURATOR: set(),
    Role.OWNER: set(),
}


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("action", Action)
def test_each_role_and_each_action(role, action):
    """What is forbidden is refused in a sentence that names role and action; the rest is allowed."""
    if action in FORBIDDEN[role]:
        with pytest.raises(Forbidden, match="may not"):
            WHO[role].require(action)
    else:
        WHO[role].require(action)
    assert set(MAY) == set(Role)


def test_roles_come_from_claims_or_a_list():
    """One claim, several, none; a list goes before claims; an unreadable list gives nobody a role; nobody is owner."""
    assert role_of("a", "analyst", None) is Role.ANALYST
    assert role_of("a", ["reviewer", "curator"], None) is Role.CURATOR
    assert role_of("a", ["owner", "admin", 3], None) is None and role_of("a", None, None) is None
    assert role_of("A@x.org", "curator", b'{"a@x.org": "reviewer"}') is Role.REVIEWER
    assert role_of("b", "curator", b'{"a": "reviewer"}') is None
    for broken in (b"", b"[]", b"[" * 10_000):
        with pytest.raises(InputError, match="nobody has a role"):
            role_of("a", "curator", broken)


@pytest.fixture
def files(tmp_path, monkeypatch):
    (tmp_path / "p.csv").write_bytes(csv(400, 1))
    (tmp_path / "b.csv").write_bytes(csv(60, 2))
    monkeypatch.setenv("PMT_REGISTER", str(tmp_path / "register.json"))
    return str(tmp_path / "p.csv"), str(tmp_path / "b.csv")


def as_(monkeypatch, role) -> None:
    monkeypatch.setattr(actors, "signs_in", lambda: False)
    monkeypatch.setattr(actors, "alone", lambda: role is Role.OWNER)
    for place in ("pages.common.session.actor", "pages.common.choose.actor", "pages.common.actors.actor"):
        monkeypatch.setattr(place, lambda: WHO[role])


@pytest.mark.parametrize("role", [None, Role.ANALYST, Role.REVIEWER])
def test_only_curators_bring_tables(app, monkeypatch, role):
    """An upload by another is refused in a sentence; its tables are not opened."""
    as_(monkeypatch, role)
    app.segmented_control(key="source").set_value("upload").run()
    assert any("may not open private tables" in error.value for error in app.error)
    assert not app.get("file_uploader")


def test_the_switch_for_private_figures_does_nothing_for_an_analyst(app, files, monkeypatch):
    """A registered table opened by name: with the switch on, by any link, no private figure and no private row."""
    register(WHO[Role.CURATOR], Ledger(os.environ["PMT_LEDGER"]), "survey", *files, 2.0)
    as_(monkeypatch, Role.ANALYST)
    app.run()
    app.segmented_control(key="source").set_value("registered").run()
    assert "400** private rows" in words(app) and not app.exception
    app.toggle(key="curator").set_value(True).run()
    for page in ("data", "conditioning", "compare", "release"):
        go(app, page)
        assert "private, curator only" not in "\n".join(m.value for m in app.main.markdown)
    assert not [box for box in app.text_input if box.label == "Data set, in the ledger"], "the name is not theirs"


@pytest.mark.parametrize("role", [Role.ANALYST, Role.REVIEWER, None])
def test_only_curators_set_caps(app, monkeypatch, role):
    """The form answers with a sentence, and the ledger has no cap."""
    as_(monkeypatch, role)
    monkeypatch.setattr("pages.common.actors.require", WHO[role].require)
    app.switch_page("pages/work/budget.py").run()
    if role is None:
        assert any("may not read the ledger" in error.value for error in app.error)
        return
    next(box for box in app.text_input if box.label == "Data set").set_value("mine")
    next(button for button in app.button if button.label == "Set").click().run()
    assert any("may not set a cap" in error.value for error in app.error)
    assert not Ledger(os.environ["PMT_LEDGER"]).accounts()


def test_the_register(files, capsys):
    """Only a curator registers; an analyst opens by name; a reviewer sees no name; the command line is the owner's."""
    book = Ledger(os.environ["PMT_LEDGER"])
    for role in (Role.ANALYST, Role.REVIEWER, None):
        with pytest.raises(Forbidden):
            register(WHO[role], book, "survey", *files, 2.0)
    ask = ["ledger", "register", "--dataset", "survey", "--private", files[0], "--public", files[1], "--mu", "2"]
    assert main(ask) == 0
    assert book.account("survey").cap == 2.0 and registered(WHO[Role.ANALYST]) == ["survey"]
    assert registered(WHO[Role.REVIEWER]) == []
    assert opened(WHO[Role.ANALYST], "survey")[0].n == 400
    with pytest.raises(Forbidden):
        opened(WHO[Role.REVIEWER], "survey")
    with pytest.raises(InputError, match="no registered"):
        opened(OWNER, "other")
    capsys.readouterr()


def test_a_server_open_to_the_network_without_sign_in_opens_nothing(app, monkeypatch):
    """It says so; the demo is all there is."""
    as_(monkeypatch, None)
    app.run()
    assert any("without sign-in" in warning.value for warning in app.sidebar.warning)
    with pytest.raises(KeyError):
        upload(app)
