"""Three roles, each forbidden thing tried: in the functions, and over links to the pages."""

from __future__ import annotations

import os

import pytest

from pages.elements import actors
from pmtcore.accounting.budgets import Unit
from pmtcore.base.messages import ArgumentMessage, ReleaseMessage
from pmtcore.base.roles import MAY, OWNER, Action, Actor, Denied, Forbidden, Role, role_of
from pmtcore.cli.main import main
from pmtcore.ledger.log import Ledger
from pmtcore.releases.register import answer, cap, open_registered, part, register, registered_names, retire
from tests.app.conftest import go, visit, words
from tests.app.test_hostile_names import PAGES
from tests.app.test_pages import csv, upload
from tests.helpers import refused

WHO = {role: Actor(role.value, role) for role in Role} | {None: Actor("", None)}
_CURATORS = ["OPEN_TABLES", "SEE_PRIVATE", "REGISTER", "CAP", "PART", "RETIRE", "AGREE"]
FORBIDDEN = {
    None: set(Action),
    Role.ANALYST: {a for a in Action if a.name in _CURATORS},
    Role.REVIEWER: {a for a in Action if a.name not in ["READ_LEDGER", "REPORT"]},
    Role.CURATOR: set(),
    Role.OWNER: set(),
}


@pytest.mark.parametrize("role", [None, *Role])
@pytest.mark.parametrize("action", Action)
def test_each_role_and_each_action(role, action):
    """What is forbidden is refused in a sentence that names role and action; the rest is allowed."""
    if action in FORBIDDEN[role]:
        with refused(ArgumentMessage.FORBIDDEN, Forbidden):
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
    twice = (b'{"a": "analyst", "a": "curator"}', b'{"A": "analyst", "a": "curator"}')
    for broken in (b"", b"[]", b"[" * 10_000, *twice):
        with refused(ArgumentMessage.ROLES_FORM):
            role_of("a", "curator", broken)


@pytest.fixture
def files(tmp_path):
    (tmp_path / "p.csv").write_bytes(csv(400, 1))
    (tmp_path / "b.csv").write_bytes(csv(60, 2))
    return str(tmp_path / "p.csv"), str(tmp_path / "b.csv")


def as_(monkeypatch, role) -> None:
    monkeypatch.setattr(actors, "signs_in", lambda: False)
    monkeypatch.setattr(actors, "has_single_user", lambda: role is Role.OWNER)
    places = ("session", "agreements", "ledger_form", "curate", "actors")  # each is imported before the last is changed
    for place in [f"pages.elements.{name}.actor" for name in places]:
        monkeypatch.setattr(place, lambda: WHO[role])


@pytest.mark.slow
@pytest.mark.parametrize("role", [None, Role.ANALYST, Role.REVIEWER])
def test_only_curators_bring_tables(app, monkeypatch, role):
    """An upload by another is refused in a sentence; its tables are not opened."""
    as_(monkeypatch, role)
    app.segmented_control(key="source").set_value("upload").run()
    assert any("may not open private tables" in error.value for error in app.error)
    assert not app.get("file_uploader")


@pytest.mark.slow
def test_the_switch_for_private_figures_does_nothing_for_an_analyst(app, files, monkeypatch):
    """A registered table opened by name: with the switch on, by any link, no private figure and no private row."""
    register(WHO[Role.CURATOR], Ledger(os.environ["PMT_LEDGER"]), "survey", files[0], public=files[1], cap=2.0)
    as_(monkeypatch, Role.ANALYST)
    app.run()
    app.segmented_control(key="source").set_value("registered").run()
    assert "**400 private rows**" in words(app) and not app.exception
    app.toggle(key="curator").set_value(True).run()
    for page in ("data", "conditioning", "compare", "release"):
        go(app, page)
        assert "private, curator only" not in "\n".join(m.value for m in app.main.markdown)
    assert not [box for box in app.text_input if box.label == "Data set, in the ledger"], "the name is not theirs"


@pytest.mark.slow
@pytest.mark.parametrize("role", [Role.ANALYST, Role.REVIEWER, None])
def test_only_curators_have_the_curators_forms(app, files, monkeypatch, role):
    """No form, and no answer to give, for others; each function behind one refuses them, and nothing is written."""
    book = Ledger(os.environ["PMT_LEDGER"])
    register(WHO[Role.CURATOR], book, "survey", files[0], public=files[1], cap=2.0)
    before = book.verify()["events"]
    as_(monkeypatch, role)
    app.switch_page("pages/work/budget.py").run()
    assert not [button for button in app.button if button.label in ("Set", "Register", "Part", "Retire", "Agree")]
    who = WHO[role]
    for forbidden in (
        lambda: cap(who, book, "survey", 9.0, reason="more"),
        lambda: part(who, book, "survey", "other", reason="no reason"),
        lambda: retire(who, book, "survey", "no more"),
        lambda: register(who, book, "mine", files[0], public=files[1], cap=9.0),
        lambda: answer(who, book, "k", True),
    ):
        with pytest.raises(Forbidden):
            forbidden()
    assert book.verify()["events"] == before


def box(app, kind, label):
    return next(result for result in getattr(app, kind) if result.label == label)


@pytest.mark.slow
def test_a_curator_works_with_forms(app, files):
    """Register with unit and second person, raise for a reason, part, retire; each with who and why in the chain."""
    book = Ledger(os.environ["PMT_LEDGER"])
    app.switch_page("pages/work/budget.py").run()
    app.text_input(key="register-name-new").set_value("survey")
    app.text_input(key="register-private").set_value(files[0])
    app.text_input(key="register-public").set_value("/nowhere.csv")
    app.toggle(key="register-second").set_value(True)
    app.number_input(key="register-rows").set_value(4)
    box(app, "button", "Register").click().run()
    assert app.error and not app.exception and app.text_input(key="register-private").value == files[0]
    app.text_input(key="register-public").set_value(files[1])
    box(app, "button", "Register").click().run()
    assert not app.error and not app.exception
    account = book.account("survey")
    assert account.cap == 3.0 and account.second and account.units == (Unit(4),)
    assert "Each person is taken to have at most 4 rows" in words(app) or "4 rows" in words(app)
    app.selectbox(key="cap-dataset").set_value("survey")
    app.number_input(key="cap-mu").set_value(-1.0)
    box(app, "button", "Set").click().run()
    assert any("cap must be between" in error.value for error in app.error) and book.account("survey").cap == 3.0
    app.number_input(key="cap-mu").set_value(5.0)
    box(app, "button", "Set").click().run()
    assert any("Say why the cap is raised" in error.value for error in app.error)
    app.text_input(key="cap-why").set_value("the board agreed")
    box(app, "button", "Set").click().run()
    assert book.account("survey").cap == 5.0
    box(app, "button", "Retire").click().run()
    assert any("Say why" in error.value for error in app.error)
    app.text_input(key="retire-why").set_value("the study is over")
    box(app, "button", "Retire").click().run()
    assert book.account("survey").retired == "the study is over" and registered_names(OWNER, book) == []


@pytest.mark.slow
def test_two_people_in_the_app(app, files, monkeypatch):
    """An analyst asks, a curator agrees on Budget, the analyst releases what was agreed to, once."""
    book = Ledger(os.environ["PMT_LEDGER"])
    register(WHO[Role.CURATOR], book, "survey", files[0], public=files[1], cap=2.0, unit=Unit(2), second=True)
    as_(monkeypatch, Role.ANALYST)
    app.run()
    app.segmented_control(key="source").set_value("registered").run()
    assert "A second person agrees" in words(app) and "at most 2 rows" in words(app)
    go(app, "release")
    assert not [result for result in app.number_input if result.label == "Rows that one person may have"]
    assert not [button for button in app.button if str(button.key).startswith("go-")]
    app.number_input(key="release-mu").set_value(0.5).run()
    app.button(key="ask-second").click().run()
    (one,) = book.agreements.all()
    assert (one.by, one.state, one.fields["mu"]) == ("analyst", "asked", 1.0) and "not answered yet" in words(app)
    assert not [button for button in app.button if button.label == "Release what was agreed to"]
    as_(monkeypatch, Role.CURATOR)
    app.switch_page("pages/work/budget.py").run()
    assert "analyst asks to release" in words(app)
    app.button(key=f"agree-{one.key}").click().run()
    assert book.agreements.one(one.key).answered_by == "curator"
    as_(monkeypatch, Role.ANALYST)
    go(app, "release")
    app.button(key=f"carry-{one.key}").click().run()
    assert not app.exception and "These figures may be published" in words(app)
    assert [entry.key for entry in book.account("survey").entries] == [one.key]


def test_the_register(files, capsys):
    """Only a curator registers; an analyst opens by name; a reviewer sees no name; the command line is the owner's."""
    book = Ledger(os.environ["PMT_LEDGER"])
    for role in (Role.ANALYST, Role.REVIEWER, None):
        with pytest.raises(Forbidden):
            register(WHO[role], book, "survey", files[0], public=files[1], cap=2.0)
    ask = ["ledger", "register", "--dataset", "survey", "--private", files[0], "--public", files[1], "--mu", "2"]
    assert main(ask) == 0
    assert book.account("survey").cap == 2.0 and registered_names(WHO[Role.ANALYST], book) == ["survey"]
    assert registered_names(WHO[Role.REVIEWER], book) == []
    assert open_registered(WHO[Role.ANALYST], book, "survey").private.n == 400
    with pytest.raises(Forbidden):
        open_registered(WHO[Role.REVIEWER], book, "survey")
    with refused(ReleaseMessage.NOT_REGISTERED):
        open_registered(OWNER, book, "other")
    capsys.readouterr()


def test_a_server_open_to_the_network_without_sign_in_opens_nothing(app, monkeypatch):
    """It says so; the demo is all there is."""
    as_(monkeypatch, None)
    app.run()
    assert any("without sign-in" in warning.value for warning in app.sidebar.warning)
    with pytest.raises(KeyError):
        upload(app)


def _open_tables(app):
    return app.session_state["second_moment"].tables


@pytest.mark.slow
@pytest.mark.parametrize("left", [None, Role.REVIEWER])
@pytest.mark.usefixtures("app")
def test_a_role_taken_back_closes_the_table_on_every_page(files, monkeypatch, left):
    """Struck off the list while a registered table is open: the next step, on whichever page, has it no more."""
    register(WHO[Role.CURATOR], Ledger(os.environ["PMT_LEDGER"]), "survey", files[0], public=files[1], cap=2.0)
    for page in PAGES:
        as_(monkeypatch, Role.ANALYST)
        app = visit()
        app.segmented_control(key="source").set_value("registered").run()
        assert _open_tables(app).registered == "survey", page
        as_(monkeypatch, left)
        app.switch_page(page).run()
        assert not app.exception and _open_tables(app).may_be_studied, page
        # A reviewer reads the ledger, in which the data set has its account; nobody sees the table itself.
        in_the_ledger = page.endswith("budget.py") and left is Role.REVIEWER
        assert in_the_ledger or "survey" not in words(app), page
        assert "**400 private rows**" not in words(app), page


@pytest.mark.slow
@pytest.mark.parametrize("role", [None, Role.ANALYST])
def test_a_curator_no_more_keeps_no_upload(app, monkeypatch, role):
    """Tables of one's own are for curators, also those that were opened before."""
    upload(app)
    assert not _open_tables(app).may_be_studied
    as_(monkeypatch, role)
    app.switch_page("pages/work/conditioning.py").run()
    assert not app.exception and _open_tables(app).may_be_studied and "own-tables" not in app.session_state


@pytest.mark.slow
@pytest.mark.parametrize("denied", list(Denied))
def test_without_a_role_there_is_only_the_sign_in_page(app, monkeypatch, denied):
    """No page, no sidebar, no table in the session, whichever page is asked for and why ever there is no role."""
    for page in PAGES:
        app.switch_page("pages/work/data.py").run()
        assert "second_moment" in app.session_state, page
        with monkeypatch.context() as struck_off:
            struck_off.setattr(actors, "signs_in", lambda: True)
            struck_off.setattr(actors, "actor", lambda: Actor("x@example.org", None, denied))
            app.switch_page(page).run()
        assert not app.exception and "second_moment" not in app.session_state, page
        assert [title.value for title in app.title] == ["Second Moment"] and not app.sidebar.markdown, page
        assert [button.label for button in app.button] in (["Sign in"], ["Sign out"]), page
        assert not app.get("plotly_chart") and not app.get("file_uploader"), page
