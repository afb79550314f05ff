"""The ledger in the app: uploaded tables spend from it, once; the Budget page shows and reports."""

from __future__ import annotations

import os

import pytest

from pmtcore.ledger.account import START_CAP
from pmtcore.ledger.log import Ledger
from pmtcore.report.ledger_words import balance
from tests.app.conftest import go, visit, words
from tests.app.test_pages import csv, do_release, session, upload, upload_and_release
from tests.helpers import reserve


def test_one_more_release_is_asked_about_where_there_can_be_one(app):
    """Whether it fits is what the ledger would say, up to rounding; a retired data set has no further release."""
    ledger = Ledger(os.environ["PMT_LEDGER"])
    ledger.cap("survey", 0.5**0.5 * (1 - 5e-13))
    reserve(ledger, "survey", "k", {"method": "joint-pmt", "mu": 0.5}, 0.5, neighbours="replace-one")
    go(app, "budget")
    app.slider(key="budget-more").set_value(0.5).run()
    assert ledger.account("survey").fits(0.5) and "within the cap" in words(app)
    app.slider(key="budget-more").set_value(0.55).run()
    assert "beyond the cap" in words(app)
    ledger.retire("survey", "the study is over")
    app.run()
    assert not app.exception and not [slider for slider in app.slider if slider.key == "budget-more"]


@pytest.mark.slow
def test_an_uploaded_table_spends_from_the_ledger(app):
    """The first release sets the cap and is in the ledger; the next one counts against it."""
    upload_and_release(app)
    (account,) = Ledger(os.environ["PMT_LEDGER"]).accounts()
    assert account.cap == 3.0 and account.spent == 1.0
    (entry,) = account.entries
    assert entry.state == "released" and entry.key in session(app).releases
    app.run()
    go(app, "data")
    go(app, "release")
    assert len(Ledger(os.environ["PMT_LEDGER"]).accounts()[0].entries) == 1, "reruns and page changes spend nothing"
    app.button(key="release-new").click().run()
    assert "mu\u00a0=\u00a01.41 in all. " in words(app), "both together"
    assert "at most 40.9\u00a0%" in words(app), "both together"
    app.number_input(key="release-mu").set_value(2.9).run()
    assert "would pass the cap" in app.error[0].value, "refused before the click"
    assert not [b for b in app.button if str(b.key).startswith("go-")]
    assert len(session(app).releases) == 1
    go(app, "budget")
    assert "mu 1 of 3 spent in 1 release;" in words(app) and "The log is intact" in words(app)
    go(app, "report")
    assert any(b.label == "Report (HTML)" for b in app.get("download_button"))
    assert "mine.csv" in app.selectbox[0].options[0] and any(
        "Private regression of" in part.proto.body for part in app.get("html")
    )
    another = "did not make this release from the table that is open"
    assert another not in words(app)
    go(app, "data")
    app.segmented_control(key="source").set_value("demo").run()
    go(app, "report")
    assert another in words(app), "the report of another table is not taken for one of this table"


@pytest.mark.slow
def test_one_name_for_other_rows_is_said_and_another_one_is_a_click_away(app):
    """The sidebar counts as the form does; the same rows again count under their name without a word."""

    def spent():
        return words(app).split("Spent on this table, in the ledger as ")[1].split("\n")[0]

    def warned():
        return [button.label for button in app.button if (button.key or "").startswith("ledger-rename")]

    ledger = Ledger(os.environ["PMT_LEDGER"])
    upload(app)
    go(app, "release")
    assert not warned() and "nothing yet" in spent()
    name = "mine.csv, theirs.csv"
    do_release(app)
    assert session(app).dataset == name and spent().startswith(name) and "mu\u00a0=\u00a01 in 1 release" in spent()
    for private, button in ((csv(400, 7), [f"Name it '{name} (2)'"]), (csv(400, 1, secret=True), [])):
        app = upload(visit(), private)
        assert "mu\u00a0=\u00a01 in 1 release" in spent(), "on Data already, before the form was drawn"
        go(app, "release")
        assert warned() == button and ledger.account(name).spent == 1.0
        if button:
            app.button(key="ledger-rename").click().run()
            assert not warned() and spent().startswith(f"{name} (2)") and "nothing yet" in spent()
            do_release(app)
            assert session(app).dataset == f"{name} (2)" and ledger.account(f"{name} (2)").spent == 1.0
            assert [title.split(", released")[0] for title in session(app).titles.values()] == [f"{name} (2)"]
            go(app, "explore")
            go(app, "release")
            app.button(key="release-new").click().run()
            assert not warned() and "mu\u00a0=\u00a01 in 1 release" in spent(), "the name stays"
    assert [account.spent for account in ledger.accounts()] == [1.0, 1.0]
    app = upload(visit(), csv(40, 9))
    go(app, "release")
    assert not warned(), "so few rows are not surely known again"


@pytest.mark.parametrize(("cap", "closed"), [(3.0, False), (1.0, True), (0.5, True)], ids=["room", "spent", "lowered"])
def test_a_cap_that_is_used_up_is_said(tmp_path, cap, closed):
    """What is left is a figure as long as there is some."""
    book = Ledger(str(tmp_path / "budget.db"))
    book.cap("survey", 2.0)
    reserve(book, "survey", "key", {}, 1.0, neighbours="replace-one")
    said = balance(book.cap("survey", cap))
    assert ("nothing more" in said) is closed and ("up to 0" not in said)


@pytest.mark.slow
def test_what_is_in_no_ledger_is_said_on_budget(app):
    """A lab release is said where spends are read, with the way to its report; one in the ledger is not said twice."""
    go(app, "release")
    do_release(app)
    go(app, "budget")
    assert any("in no ledger: 1 lab figure from Synthetic demo" in part.value for part in app.info)


def test_the_step_named_report_leads_to_the_report(app):
    """Without a release it says so; after one, in the ledger or not, the report is on the page and to be taken."""
    go(app, "report")
    assert not app.exception and "no release yet" in app.info[0].value
    go(app, "release")
    assert any(link.proto.page == "report" or "report" in link.proto.page for link in app.get("page_link"))
    do_release(app)
    assert "1 lab figure" in " ".join(link.label for link in app.get("page_link"))
    go(app, "report")
    (shown,) = [part.proto.body for part in app.get("html") if "Private regression of" in part.proto.body]
    assert not app.exception and "<h2>Private regression of" in shown and "<h1" not in shown
    assert {"Report (HTML)", "Record (JSON)"} <= {b.label for b in app.get("download_button")}


def test_study_tables_stay_out_unless_asked(app):
    """The demo's releases are not in the ledger."""
    go(app, "release")
    do_release(app)
    assert not Ledger(os.environ["PMT_LEDGER"]).accounts()
    go(app, "budget")
    assert "The ledger is empty" in words(app)


def test_a_broken_ledger_stops_the_release(app, monkeypatch):
    """A sentence, no button, nothing released."""
    upload(app)
    monkeypatch.setenv("PMT_LEDGER", "/nowhere/at/all/ledger.db")
    go(app, "release")
    assert "Nothing was released" in app.error[0].value
    assert not [b for b in app.button if str(b.key).startswith("go-")]
    go(app, "budget")
    assert "cannot be used" in app.error[0].value


def test_a_budget_beyond_the_first_cap_is_no_cap(app):
    """The cap offered with the first spend does not follow a slip of the budget; a huge one is called what it is."""
    upload(app)
    go(app, "release")
    app.number_input(key="release-mu").set_value(500.0).run()
    (cap,) = (one for one in app.number_input if one.label.startswith("Cap of this data set"))
    assert cap.value == START_CAP
    assert any("beyond this cap" in one.value for one in app.error)
    assert any("protects nobody" in one.value for one in app.warning)
    assert not any(str(button.key).startswith("go-") for button in app.button)
    cap.set_value(600.0).run()
    assert any(str(button.key).startswith("go-") for button in app.button) and not app.exception


@pytest.mark.slow
def test_the_data_set_of_the_open_table_comes_first(app):
    """Of several data sets in the ledger, Budget opens on the one that was just released."""
    upload(app, csv(400, 5, secret=True), csv(60, 6))
    for name, again in (("a first one", False), ("another one", True)):
        if again:
            go(app, "data")
            upload(app, csv(500, 7, secret=True), csv(60, 6))
        go(app, "release")
        next(one for one in app.text_input if one.label.startswith("Data set")).set_value(name).run()
        do_release(app)
    go(app, "budget")
    assert app.selectbox(key="budget-dataset").value == "another one"


@pytest.mark.slow
def test_a_new_session_opens_the_newest_release(app):
    """Not the first in the alphabet: Budget and Report stand at what was spent last."""
    for at, name in enumerate(("c, the first", "a, the second", "b, the newest")):
        go(app, "data")
        upload(app, csv(400 + at, 5 + at, secret=True), csv(60, 6))
        go(app, "release")
        next(one for one in app.text_input if one.label.startswith("Data set")).set_value(name).run()
        do_release(app)
    later = visit()
    go(later, "budget")
    assert later.selectbox(key="budget-dataset").value == "b, the newest"
    go(later, "report")
    releases = later.selectbox[0]
    assert releases.options[-1].startswith("b, the newest") and releases.index == len(releases.options) - 1
