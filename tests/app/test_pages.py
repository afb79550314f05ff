"""The pages, each from a new session on the demo."""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import replace
from urllib.parse import parse_qs

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from pages.elements import cautions
from pages.elements.session import _of_named_tables, named_tables, prepared
from pmtcore.accounting.budgets import Budget, reporting_delta
from pmtcore.base.messages import PageWords
from pmtcore.base.numbers import rounded, unbroken
from pmtcore.methods.registry import methods
from pmtcore.releases.release import Request, preview
from pmtcore.report.figures import conditioning
from pmtcore.report.html import report
from pmtcore.report.names import title
from pmtcore.report.statistics import NAME
from pmtcore.tables.choices import Choices
from pmtcore.tables.schema import Column, Schema
from tests.app.conftest import ROOT, go, words

SECRET = "98765.4321"
PRIVATE = "private, curator only"


def csv(n: int, seed: int, secret: bool = False) -> bytes:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"height": rng.normal(170, 9, n), "age": rng.normal(40, 12, n)})
    table["weight"] = 0.9 * table["height"] - 80 + 0.2 * table["age"] + rng.normal(0, 5, n)
    if secret:
        table.loc[0, "age"] = float(SECRET)
    return table.to_csv(index=False).encode()


def upload(app, private=None, public=None):
    """Upload a pair of tables on the Data page."""
    app.segmented_control(key="source").set_value("upload").run()
    app.file_uploader(key="upload-private").set_value(("mine.csv", private or csv(400, 1, secret=True), "text/csv"))
    app.file_uploader(key="upload-public-rows").set_value(("theirs.csv", public or csv(60, 2), "text/csv"))
    app.run()
    assert not app.exception
    return app


def messy(n, seed):
    """Return a table of which each column has something to be asked about."""
    rng = np.random.default_rng(seed)
    made = pd.DataFrame({"age": np.where(rng.random(n) < 0.1, -999, rng.integers(18, 80, n))})
    made["town"] = rng.choice(["North", "north", "South"], n)
    made["rate"] = [f"{rate:.1f} %" for rate in 100 * rng.random(n)]
    made["day"] = [f"{day:02d}/{month:02d}/2024" for day, month in rng.integers(1, 13, (n, 2))]
    made["mixed"] = [str(v) if v else "x" for v in rng.integers(0, 20, n)]
    made["y"] = rng.integers(0, 2, n)
    return made.to_csv(index=False).encode()


@pytest.mark.slow
@pytest.mark.parametrize("at", range(8))
def test_every_repair_that_is_offered_can_be_taken(app, at):
    """Whatever button is clicked, the choices hold on the page: it goes on, and the same button is not there again."""
    upload(app, messy(400, 1), messy(90, 2))
    repairs = [button for button in app.button if str(button.key).startswith("repair-")]
    labels = [button.label for button in repairs]
    assert len(set(labels)) >= 8 and any("-999" in label for label in labels)
    repairs[at].click().run()
    assert not app.exception and not app.error, labels[at]
    assert labels[at] not in [button.label for button in app.button]


def test_files_that_do_not_go_together_get_one_sentence(app):
    """While one of two new files is still the old one: what is wrong is said once, under both uploaders."""
    upload(app)
    other = pd.DataFrame({name: np.arange(90.0) for name in ("p", "q")}).to_csv(index=False).encode()
    upload(app, other)
    (error,) = app.error
    assert "no column in common" in error.value


@pytest.mark.slow
@pytest.mark.parametrize("page", ["data", "conditioning", "release", "compare"])
def test_every_page_opens_on_the_demo(app, page):
    """A deep link to any page works in a new session: the demo is open, nothing has to be chosen first."""
    if page != "data":
        go(app, page)
    assert not app.error
    assert "Synthetic demo" in words(app)


def test_the_first_page_shows_a_result(app):
    """A new visitor sees a result before being asked for anything."""
    assert "Closest to the fit" in words(app) or "comes closest to the fit" in words(app)
    (chart,) = app.get("plotly_chart")
    names = [trace.get("name") for trace in json.loads(chart.proto.spec)["data"]]
    assert {title(id) for id in ("joint-pmt", "pmt-ridge", "public-only")} <= set(names)


@pytest.mark.slow
def test_demo_knobs_change_the_demo(app):
    """Fewer rows, and the sidebar says so; the choice survives a page change."""
    app.select_slider(key="demo-n").set_value(1000).run()
    assert "1,000 private rows" in words(app)
    go(app, "conditioning")
    assert "1,000 private rows" in words(app)
    go(app, "data")
    assert app.select_slider(key="demo-n").value == 1000


def test_upload_choose_and_keep(app):
    """Uploaded tables open; the target guessed can be changed; choices survive page changes."""
    upload(app)
    assert "**400 private rows**, **60 public rows**" in words(app)
    target = next(box for box in app.selectbox if box.label == "Target")
    assert target.value == "weight"
    target.set_value("height").run()
    assert "**height** on" in words(app)
    go(app, "conditioning")
    assert "height on 2 columns and an intercept" in words(app)
    go(app, "data")
    assert "**height** on" in words(app)


def test_a_bad_upload_is_one_sentence_and_loses_nothing(app):
    """A file without a header row is refused in one sentence; the tables that were open stay open."""
    upload(app)
    app.file_uploader(key="upload-private").set_value(("bad.csv", b"1,2,3\n98765.4321,5,6\n", "text/csv")).run()
    assert len(app.error) == 1
    assert "no header row" in app.error[0].value
    assert SECRET not in words(app)
    assert "mine.csv" in words(app)


def test_one_private_cell_says_nothing(app):
    """A text where the private table should have a number: the page is the same as without it."""
    bad = csv(400, 1).replace(b"\n", b"\ntall,30,70\n", 1)
    upload(app, private=bad)
    assert not app.error and "tall" not in words(app)
    assert "401 private rows" in words(app)


def test_everything_wrong_is_said_at_once_and_repaired_by_a_click(app):
    """A text target and a copied column: opened repaired; undone, the page says so with one button each."""
    rng = np.random.default_rng(4)

    def table(n: int) -> bytes:
        frame = pd.DataFrame({"age": rng.normal(40, 9, n)})
        frame["months"] = 12 * frame["age"]
        frame["pay"] = rng.normal(3, 1, n)
        frame["bought"] = np.where(rng.random(n) < 0.5, "yes", "no")
        return frame.to_csv(index=False).encode()

    upload(app, table(400), table(80))
    assert session(app).problem is not None and not app.error
    assert any("What was" in box.label for box in app.expander)
    next(box for box in app.selectbox if box.label == "Target").set_value("bought").run()
    family = next(box for box in app.selectbox if box.label == "Regression")
    if family.value == "gaussian":
        assert app.error and "text values" in app.error[0].value
        next(b for b in app.button if str(b.key).startswith("repair-stop")).click().run()
    assert not app.error and not app.exception
    assert next(box for box in app.selectbox if box.label == "Regression").value == "logistic"
    assert "**bought** on" in words(app)


def test_one_click_repairs_what_comes_up_after_a_repair_too(app):
    """A text target, and behind it gaps that are refused: one button lifts both."""
    rng = np.random.default_rng(4)

    def table(n: int) -> bytes:
        frame = pd.DataFrame({"age": rng.normal(40, 9, n), "pay": rng.normal(3, 1, n)})
        frame["bought"] = np.where(rng.random(n) < 0.5, "yes", "no")
        frame.loc[:2, "age"] = None
        return frame.to_csv(index=False).encode()

    upload(app, table(400), table(80))
    next(box for box in app.selectbox if box.label == "Regression").set_value("gaussian").run()
    next(box for box in app.selectbox if box.label == "Target").set_value("bought").run()
    next(box for box in app.selectbox if box.label == "Missing values").set_value("refuse").run()
    assert app.error
    app.button(key="repair-all").click().run()
    assert not app.error and not app.exception and "**bought** on" in words(app)


def test_columns_left_out_for_one_target_come_back_with_another(app):
    """Too few public rows for all columns: another target asks anew which ones fit, and says what is left out."""

    def table(n: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        return pd.DataFrame(rng.normal(size=(n, 5)), columns=["e", "a", "b", "c", "d"]).to_csv(index=False).encode()

    upload(app, table(400, 1), table(5, 2))
    left = session(app).choices.features
    assert session(app).tables.repaired is not None and "e" in left
    next(box for box in app.selectbox if box.label == "Target").set_value("e").run()
    assert len(session(app).choices.features) == len(left)
    assert any("Done already" in one.value for one in app.warning)


def test_the_last_target_becomes_a_feature_and_what_was_left_out_stays_out(app):
    """Whoever left one column out and then changes the target means all others, the last target among them."""

    def table(n: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        return pd.DataFrame(rng.normal(size=(n, 5)), columns=["e", "a", "b", "c", "d"]).to_csv(index=False).encode()

    upload(app, table(400, 1), table(80, 2))
    next(box for box in app.selectbox if box.label == "Target").set_value("d").run()
    next(box for box in app.multiselect if box.label.startswith("Features")).set_value(["a", "b", "e"]).run()
    next(box for box in app.selectbox if box.label == "Target").set_value("a").run()
    assert not app.exception and {*session(app).choices.features} == {"b", "d", "e"}
    next(box for box in app.multiselect if box.label.startswith("Features")).set_value(["b", "c", "d", "e"]).run()
    assert session(app).choices.features is None
    next(box for box in app.selectbox if box.label == "Target").set_value("e").run()
    assert session(app).choices.features is None and {*session(app).problem.public.names} > {"a", "b", "c", "d"}


def test_a_first_look_is_not_taken_at_more_rows_than_are_held(app):
    """A hundred thousand places for the rows of each person are nothing to be drawn at first sight."""
    from pmtcore.report.first_look import is_quick

    problem = session(app).problem
    assert is_quick(problem)
    choices = replace(problem.choices, person="x1", person_rows=100_000, features=("x2", "x3"))
    assert not is_quick(session(app).problem_for(choices))


@pytest.mark.slow
def test_files_and_choices_are_remembered(app):
    """An uploader forgets with a page change; the tables stay, and a replaced file keeps the choices that fit."""
    upload(app)
    next(box for box in app.selectbox if box.label == "Target").set_value("height").run()
    go(app, "plan")
    go(app, "data")
    assert "Open: **mine.csv**" in words(app) and "**height** on" in words(app)
    app.file_uploader(key="upload-private").set_value(("newer.csv", csv(300, 5), "text/csv")).run()
    assert not app.exception and "300 private rows**" in words(app) and "**height** on" in words(app)


@pytest.mark.slow
def test_a_link_restores_a_public_state():
    """Table, target, method and budget come from the address; nonsense in it is one sentence."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    for name, value in {"table": "demo", "n": "1000", "target": "x1", "method": "pmt-ridge", "mu": "0.5"}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception and not app.error
    go(app, "data")
    assert "**1,000 private rows**" in words(app) and "**x1** on" in words(app)
    go(app, "release")
    assert app.selectbox(key="release-method-gaussian").value == "pmt-ridge"
    assert app.number_input(key="release-mu").value == 0.5
    for bad in (
        {"table": "no-such"},
        {"table": "demo", "n": "many"},
        {"table": "demo", "d": "3"},
        {"table": "demo", "target": "z"},
        {"table": "demo", "features": "x1,x99"},
        {"table": "demo", "missing": "guess"},
        {"table": "demo", "method": "dp-ridge"},
    ):
        app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
        for name, value in bad.items():
            app.query_params[name] = value
        app.run()
        assert not app.exception and len(app.error) == 1, bad


def test_a_link_holds_every_public_choice(app):
    """What is chosen about a table by name is in its link, and comes back from there."""
    given = {"missing": "refuse", "unseen": "refuse", "ridge": "0.5", "intercept": "0", "levels": "x1 = a | b"}
    given |= {"collinear": "refuse", "features": "x1,x2"}
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    for name, value in {"table": "demo", **given}.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception
    choices = session(app).choices
    assert choices.missing == choices.unseen == choices.collinear == "refuse" and choices.public_ridge == 0.5
    assert not choices.intercept and choices.levels == {"x1": ("a", "b")} and choices.features == ("x1", "x2")
    (link,) = [part.value.strip("`") for part in app.sidebar.markdown if "table=demo" in part.value]
    asked = {name: values[0] for name, values in parse_qs(link.split("?", 1)[1]).items()}
    assert {name: asked[name] for name in given} == given


@pytest.mark.slow
def test_a_radius_of_another_table_is_brought_in(app):
    """The radius chosen for one table is beyond what the next one offers: the slider keeps to its range."""
    go(app, "conditioning")
    app.slider(key="radius").set_value(float(app.slider(key="radius").max)).run()
    go(app, "data")
    app.select_slider(key="demo-d").set_value(2).run()
    go(app, "conditioning")
    assert app.slider(key="radius").value <= app.slider(key="radius").max


def test_a_page_that_breaks_keeps_its_sidebar(app, monkeypatch):
    """What was switched on in the sidebar can be switched off where it breaks a page."""
    monkeypatch.setattr(conditioning, "ellipses", lambda *_: 1 / 0)
    assert app.switch_page("pages/work/conditioning.py").run().exception
    assert app.toggle(key="curator") and app.button(key="forget")
    monkeypatch.undo()
    assert not app.run().exception


def test_a_reload_says_what_it_lost(app):
    """Own tables leave a mark in the address, no more; a new session with it says that they are gone."""
    upload(app)
    sent = [each.proto.body for each in app.get("html") if "replaceState" in each.proto.body]
    assert len(sent) == 1 and "p.set('table', 'own')" in sent[0]
    assert not app.query_params  # that would be an entry of the history, and the back button would need two presses
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    again.query_params["table"] = "own"
    again.run()
    assert any("starts without tables" in box.value for box in again.info)
    again.run()
    assert not again.exception


@pytest.mark.slow
def test_a_reload_opens_the_same_known_table(app):
    """The address names the open table, so that a reload shows no figure of another one; a session asks it nothing."""
    app.segmented_control(key="source").set_value("name").run()
    app.selectbox(key="table-name").set_value("demo-labels").run()
    sent = [each.proto.body for each in app.get("html") if "replaceState" in each.proto.body]
    assert len(sent) == 1 and "p.set('table', 'demo-labels')" in sent[0]
    # From the next run on the browser sends that address; nothing is opened anew, and no choice is lost.
    chosen = replace(session(app).problem.choices, features=("x1", "x2"))
    session(app).set_choices(chosen)
    app.query_params["table"] = "demo-labels"
    go(app, "plan")
    assert session(app).problem.choices == chosen
    assert not [each for each in app.get("html") if "replaceState" in each.proto.body]
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    again.query_params["table"] = "demo-labels"
    assert session(again.run()).tables.key == session(app).tables.key


@pytest.mark.slow
def test_a_release_of_another_table_does_not_stand_under_the_open_one(app):
    """With other tables open, Release asks for one from them, and shows none of the earlier figures."""
    go(app, "release")
    next(box for box in app.checkbox if str(box.key).startswith("sure-")).check().run()
    next(button for button in app.button if str(button.key).startswith("go-")).click().run()
    assert "private and" in words(app)
    app.query_params["table"] = "demo-labels"
    go(app, "release")
    assert any(str(box.key).startswith("sure-") for box in app.checkbox) and len(session(app).releases) == 1


def test_no_private_figure_without_the_switch(app):
    """With the switch off nothing private is on any page of uploaded tables; with it on, it is labelled."""
    upload(app)
    for page in ("data", "conditioning", "release", "compare"):
        go(app, page)
        shown = words(app).replace(f":red-badge[:material/lock: {PRIVATE}] exact, never leaves", "")
        assert PRIVATE not in shown
        for frame in app.dataframe:
            assert SECRET not in frame.value.to_csv()
    go(app, "conditioning")
    app.sidebar.toggle(key="curator").set_value(True).run()
    assert words(app).count(PRIVATE) > 2
    names = [t.get("name") for t in json.loads(app.get("plotly_chart")[0].proto.spec)["data"]]
    assert "before, exact" in names


def test_the_curator_sees_shared_rows_on_the_data_page_and_gives_a_word(app):
    """Before anything is spent, behind the switch; the word goes into the choices of every record."""
    rows = csv(400, 1, secret=True)
    upload(app, rows, b"\n".join(rows.split(b"\n")[:101]))
    assert not [toggle for toggle in app.toggle if toggle.key == "shared-rows"]
    app.sidebar.toggle(key="curator").set_value(True).run()
    app.toggle(key="shared-rows").set_value(True).run()
    (said,) = [line.value for line in app.markdown if "are they public?" in line.value]
    assert PRIVATE in said and "100%" in said
    (word,) = [field for field in app.text_input if str(field.key).startswith("overlap-")]
    word.set_value("they agreed").run()
    assert "they agreed" in words(app)
    app.sidebar.toggle(key="curator").set_value(False).run()
    assert "are they public?" not in words(app)


def test_compare_on_uploaded_tables_is_for_the_curator(app):
    """Distances to a private fit stay behind the switch."""
    upload(app)
    go(app, "compare")
    assert "for the curator's eyes" in app.info[0].value
    assert not [b for b in app.button if b.label == "Run"]


def test_the_radius_moves_the_rate(app):
    """The truncation rate answers to the slider."""
    go(app, "conditioning")
    before = words(app)
    app.slider(key="radius").set_value(2.0).run()
    assert "the slider's radius, 2, " in words(app) and words(app) != before


@pytest.mark.slow
def test_the_radius_starts_at_that_of_the_plan(app):
    """Slider and plan begin with one number; another plan moves it, and what somebody chose for a plan stays."""
    problem = session(app).problem
    go(app, "conditioning")
    planned = preview(problem, Request("joint-pmt", Budget(1.0))).facts.radius
    assert app.slider(key="radius").value == pytest.approx(planned, abs=0.005)
    app.slider(key="radius").set_value(3.0).run()
    go(app, "plan")
    go(app, "conditioning")
    assert app.slider(key="radius").value == 3.0
    go(app, "plan")
    app.select_slider(key="plan-mu").set_value(3.0).run()
    go(app, "conditioning")
    planned = preview(problem, Request("joint-pmt", Budget(3.0))).facts.radius
    assert app.slider(key="radius").value == pytest.approx(planned, abs=0.005)


@pytest.mark.slow
def test_a_bound_that_is_no_radius_is_not_read_off_the_curve(app):
    """The curve may show that no row is outside while the plan truncates some: it is folded where the bound is none."""
    other, folded = "clips gradients rather than rows", "The papers' truncation (not used by your method)"
    go(app, "conditioning")
    assert other not in words(app) and folded not in [one.label for one in app.expander]
    go(app, "data")
    app.segmented_control(key="source").set_value("name").run()
    app.selectbox(key="table-name").set_value("demo-labels").run()
    go(app, "conditioning")
    assert preview(session(app).problem, Request("pmt-gradients", Budget(1.0))).facts.radius is None
    assert "The planned method" in words(app) and other in words(app)
    assert folded in [one.label for one in app.expander]


def test_private_text_of_no_public_row_has_its_row_counted_as_zeros(app):
    """Said with the label, whatever becomes of gaps."""
    app.segmented_control(key="source").set_value("name").run()
    app.selectbox(key="table-name").set_value("demo-labels").run()
    outcome = session(app).problem.public.target
    assert cautions.UNKNOWN_OUTCOME.format(outcome=outcome) in words(app)


def test_a_step_is_ticked_when_it_is_decided(app):
    """Not where a page was merely opened; a plan is decided once it was changed or carried on."""

    def ticked() -> list[str]:
        return [link.label for link in app.get("page_link") if "check_circle" in link.proto.icon]

    go(app, "conditioning")
    assert not [label for label in ticked() if "Plan" in label]
    go(app, "plan")
    assert not [label for label in ticked() if "Plan" in label or "Conditioning" in label]
    app.select_slider(key="plan-mu").set_value(2.0).run()
    assert [label for label in ticked() if "Plan" in label]


def test_many_questions_are_led_to_explore_before_a_budget_is_spent(app):
    """Data and Plan ask it first; the budget chosen on Plan is the one that Explore opens on."""
    go(app, "data")
    labels = [link.label for link in app.get("page_link")]
    assert {"Next: one regression", "Next: many questions, on Explore"} <= set(labels)
    go(app, "plan")
    app.segmented_control(key="plan-for").set_value("many").run()
    assert PageWords.ONE_MOMENT.sentence() in words(app) and not app.get("plotly_chart")
    app.select_slider(key="plan-mu").set_value(0.5).run()
    app.button(key="plan-explore").click().run()
    assert app.title[0].value == "Explore" and app.number_input(key="explore-mu").value == 0.5


def test_persons_are_counted_where_a_column_says_whose_a_row_is(app):
    """One click takes the column; head, thread and sidebar then speak of persons, each with one row."""

    def patients(table: bytes, whose) -> bytes:
        lines = table.decode().split()
        return "\n".join([f"patient_id,{lines[0]}", *(f"{whose(j)},{x}" for j, x in enumerate(lines[1:]))]).encode()

    upload(app, patients(csv(400, 1), lambda j: j // 4), patients(csv(60, 2), lambda j: 900 + j))
    assert any("patient_id" in box.value and "protects each row" in box.value for box in app.warning)
    (take,) = [button for button in app.button if "'patient_id' is a person" in button.label]
    take.click().run()
    assert not app.exception and "**100 persons (each 1 row)**" in words(app)
    assert "400 private rows" not in words(app)
    assert any(link.label == "**Data: 100 persons**" for link in app.get("page_link"))
    assert any("100 persons (each 1 row)" in line.value for line in app.sidebar.caption)
    assert not any("patient_id" in box.value for box in app.warning)


def do_release(app):
    """Confirm and press."""
    next(box for box in app.checkbox if str(box.key).startswith("sure-")).check().run()
    next(button for button in app.button if str(button.key).startswith("go-")).click().run()
    assert not app.exception
    return app


def upload_and_release(app):
    """Release from an uploaded table."""
    upload(app)
    go(app, "release")
    do_release(app)
    assert "These figures may be published" in words(app)


def session(app):
    return app.session_state["second_moment"]


@pytest.mark.slow
def test_a_release_spends_once(app):
    """Confirm, release; reruns and page changes find it there and spend nothing; a new one has a new id."""
    upload_and_release(app)
    (first,) = session(app).releases.values()
    app.run()
    go(app, "data")
    go(app, "release")
    assert list(session(app).releases.values()) == [first]
    assert "mu\u00a0=\u00a01 in 1 release" in words(app)
    app.button(key="release-new").click().run()
    do_release(app)
    assert len(session(app).releases) == 2
    assert "mu\u00a0=\u00a01.41 in 2 releases" in words(app)
    go(app, "data")
    app.segmented_control(key="source").set_value("demo").run()
    assert "**nothing yet**" in words(app)


@pytest.mark.slow
def test_a_second_click_on_the_same_request_spends_nothing(app):
    """The same request id, pressed again as an impatient user does, finds its release."""
    go(app, "release")
    do_release(app)
    state = session(app)
    (id,) = state.releases
    result = state.releases[id]
    state.next_request = id
    app.run()
    assert state.releases == {id: result}


def test_the_demo_makes_a_lab_figure(app):
    """A release from synthetic tables says that it is not one."""
    go(app, "release")
    do_release(app)
    assert "A lab figure, not a release: the table is synthetic" in words(app)


@pytest.mark.slow
def test_a_seed_makes_a_lab_figure(app):
    """Repeatable noise is said on the face of the result."""
    upload(app)
    go(app, "release")
    app.toggle(key="release-seeded").set_value(True).run()
    do_release(app)
    assert "seed" in next(w.value for w in app.warning)


@pytest.mark.slow
@pytest.mark.parametrize("id", ["pmt-ridge", "pmt-moment", "public-only", "dp-ols-public"])
def test_other_methods_release(app, id):
    """Every kind of result has a page."""
    go(app, "release")
    app.selectbox(key="release-method-gaussian").set_value(id).run()
    do_release(app)
    assert not app.error


@pytest.mark.slow
def test_forms_are_the_registry(app):
    """Each parameter of each sound method has a widget with its label."""
    go(app, "release")
    for entry in methods():
        asks = entry.protects_responses_only  # listed once covariates are declared public
        if entry.standing.value == "sound" and "gaussian" in entry.families and not asks:
            app.selectbox(key="release-method-gaussian").set_value(entry.id).run()
            labels = {w.label for w in [*app.number_input, *app.segmented_control, *app.text_input]}
            for field in dataclasses.fields(entry.parameters):
                assert field.metadata["label"] in labels, (entry.id, field.name)


def test_bad_budget_is_a_sentence(app):
    """A budget of zero, and a delta that is no number: one sentence each, no button."""
    go(app, "release")
    app.number_input(key="release-mu").set_value(0.0).run()
    assert "mu must be between" in app.error[0].value
    app.number_input(key="release-mu").set_value(1.0).run()
    app.text_input(key="release-delta").set_value("small").run()
    assert "must be a number such as 1e-6" in app.error[0].value


@pytest.mark.slow
def test_units_agree(app):
    """A budget in rho or epsilon shows the same total in mu; another unit changes no amount."""
    go(app, "release")
    app.segmented_control(key="release-unit").set_value("rho").run()
    app.number_input(key="release-rho").set_value(2.0).run()
    assert unbroken("mu = 2 ·") in words(app)
    for unit in ("epsilon", "mu", "epsilon", "rho"):
        app.segmented_control(key="release-unit").set_value(unit).run()
        assert unbroken("mu = 2 · rho = 2 · epsilon = 9.997 at") in words(app), unit
    assert app.number_input(key="release-rho").value == 2.0


@pytest.mark.slow
def test_configuration_round_trip(app):
    """An exported configuration fills the form again; a bad one is a sentence."""
    go(app, "release")
    saved = {"method": "pmt-ridge", "mu": 2.5, "parameters": {"lam": 0.25}, "delta": 1e-8}
    app.file_uploader(key="config-file").set_value(("c.json", json.dumps(saved).encode(), "application/json")).run()
    assert app.selectbox(key="release-method-gaussian").value == "pmt-ridge"
    assert app.number_input(key="release-mu").value == 2.5
    assert app.number_input(key="release-pmt-ridge-lam").value == 0.25
    do_release(app)
    (request,) = session(app).requests.values()
    assert request.as_dict()["mu"] == 2.5 and request.as_dict()["delta"] == 1e-8
    app.button(key="release-new").click().run()
    app.file_uploader(key="config-file").set_value(("d.json", b"{}", "application/json")).run()
    assert "needs 'method' and 'mu'" in app.error[0].value


def finish(app, limit: int = 1000):
    """Run the page, which does a part each time, until nothing is left; AppTest runs no timers."""
    for _ in range(limit):
        if not session(app).comparison.live:
            break
        app.run()
    # The part that ends the work is done below the picture of the part before it.
    return app.run()


@pytest.mark.slow
def test_compare_runs_extends_and_repeats(app):
    """A comparison runs to its end, more trials extend it, and the same seed repeats it."""
    go(app, "compare")
    next(b for b in app.button if b.label == "Run").click().run()
    finish(app)
    run = session(app).comparison
    assert run.trials == 100 and run.share == 1 and not run.live
    assert "comes closest" in words(app)
    app.run()
    app.button(key="compare-more").click().run()
    finish(app)
    assert session(app).comparison.trials == 200 and session(app).comparison.share == 1


def test_compare_stops_and_keeps(app):
    """Stop keeps the trials that are done."""
    go(app, "compare")
    app.number_input(key="compare-trials").set_value(5000)
    next(b for b in app.button if b.label == "Run").click().run()
    app.button(key="compare-stop").click().run()
    run = session(app).comparison
    assert run.stopped and not run.live
    assert 0 < run.share < 1
    assert app.get("plotly_chart")


@pytest.mark.slow
@pytest.mark.parametrize("page", sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("pages/[ws]*/*.py")))
def test_what_stands_above_a_title_breaks_no_page(app, page):
    """On every page: a reload that lost own tables, and *Delete my data*, which say so above the title."""
    again = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    again.query_params["table"] = "own"
    again.switch_page(page).run()
    assert not again.exception and any("starts without tables" in box.value for box in again.info)
    app.switch_page(page).run()
    app.sidebar.button(key="forget").click().run()
    assert not app.exception and [one.value.split(":")[0] for one in app.success] == ["Deleted"]


@pytest.mark.slow
def test_delete_my_data(app):
    """The button forgets tables and releases, and says so: nothing was lost by a reload."""
    upload(app)
    app.query_params["table"] = "own"
    app.sidebar.button(key="forget").click().run()
    assert [one.value.split(":")[0] for one in app.success] == ["Deleted"]
    assert not any("gone from here" in box.value for box in app.info)
    assert "mine.csv" not in words(app)
    assert session(app).releases == {}


@pytest.mark.slow
def test_the_share_of_shortened_rows_is_one_figure_by_one_name(app):
    """Conditioning, Plan, the card, the release and the report state the same prediction, with its origin."""
    lines = {}
    for page in ("conditioning", "plan", "release"):
        go(app, page)
        text = words(app)
        line = re.split(r"\.\s", text[text.index(f"{NAME}: ") :])[0]
        lines[page] = line.split(", predicted from public rows")[0]
    do_release(app)
    assert len(set(lines.values())) == 1, lines
    (line,) = set(lines.values())
    (release,) = session(app).releases.values()
    share = line.removeprefix(f"{NAME}: ")
    assert f">{NAME}</th><td>{share}" in report(release.as_dict())
    assert "predicted truncation rate" not in report(release.as_dict())


@pytest.mark.slow
@pytest.mark.parametrize("table", ["demo", "demo-labels"])
def test_what_would_be_retrieved_is_that_of_the_open_table(table):
    """The page states what the release then retrieves on that table; another budget retrieves another amount."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=600)
    app.query_params["table"] = table
    app.run()
    app.switch_page("pages/study/retrieval.py").run()
    before = {metric.label: metric.value for metric in app.metric[:3]}
    assert not set(before) & {metric.label for metric in app.metric[3:]}, "the example has tiles of other names"
    # Another method is planned, so each figure says of which one it is.
    assert all(name.startswith("Instead: ") for name in before)
    before = {name.removeprefix("Instead: "): value for name, value in before.items()}
    problem, back = session(app).problem, "Retrieved, used for smaller noise"
    made = preview(problem, Request("napp-public", Budget(1.0), {"delta": reporting_delta(problem.private.n)}))
    shown = {name: float(before[name].removeprefix("ε ")) for name in ("Spent on noise", "Spent on the Jacobian", back)}
    assert shown[back] == pytest.approx(made.facts.retrieved_epsilon, rel=0.05)
    # The parts add up, as they are written, to the epsilon that Plan and Release state.
    assert sum(shown.values()) == pytest.approx(float(rounded(made.guarantee.epsilon)), abs=2e-3)
    app.select_slider(key="retrieval-open-mu").set_value(0.3).run()
    assert {metric.label: metric.value for metric in app.metric[:3]}[f"Instead: {back}"] != before[back]
    assert not app.exception


def said_twice(text: str) -> set[str]:
    """Return sentences of some length that stand more than once."""
    sentences = [part.strip() for part in re.split(r"(?<=[.!?]) +|\n|<[^>]*>|\*\*", text) if len(part.strip()) > 50]
    return {sentence for sentence in sentences if sentences.count(sentence) > 1}


def main_words(app) -> str:
    """Return all text of the page itself, without the sidebar."""
    main = app.main
    kinds = (main.markdown, main.caption, main.info, main.warning, main.success, main.error)
    return "\n".join(line.value for kind in kinds for line in kind)


@pytest.mark.slow
def test_a_sentence_stands_once_on_a_page(app):
    """The attacker's odds, the verdict and the guarantee are said once on each page, and once in the report."""
    for page in ("conditioning", "plan", "release", "budget"):
        go(app, page)
        assert not said_twice(main_words(app)), page
    go(app, "release")
    do_release(app)
    assert not said_twice(main_words(app))
    (release,) = session(app).releases.values()
    assert not said_twice(report(release.as_dict()))
    go(app, "budget")
    assert not said_twice(main_words(app))


@pytest.mark.slow
@pytest.mark.parametrize("bad", [b"%PDF-1.4\x00\x01", b"", b"a,a\n1,2\n"])
def test_a_bad_private_file_leaves_both_uploaders(app, bad):
    """What cannot be read is said under its own uploader, once; the other one takes its file all the same."""
    app.segmented_control(key="source").set_value("upload").run()
    app.file_uploader(key="upload-private").set_value(("mine.csv", bad, "text/csv")).run()
    assert not app.exception and len(app.error) == 1
    app.file_uploader(key="upload-public-rows").set_value(("theirs.csv", csv(60, 2), "text/csv")).run()
    assert not app.exception and len(app.error) == 1


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 2, 9])
def test_a_private_table_of_few_rows_is_said(app, rows):
    """The number of rows is public: so few are taken, with a word about what they are good for."""
    upload(app, csv(rows, 1))
    said = [line.value for line in (*app.warning, *app.info, *app.markdown) if "about so few" in line.value]
    assert len(said) == 1 and f"{rows} row" in said[0]


def test_a_page_without_tables_that_fit_keeps_its_title(app):
    """The sentence that says what is missing stands under the title of the page."""
    session(app).tables = None
    for page, name in (("conditioning", "Conditioning"), ("release", "Release"), ("compare", "Compare")):
        session(app).problem = None
        go(app, page)
        assert [line.value for line in app.title] == [name] and len(app.error) == 1


def test_a_click_swaps_the_label_that_is_modelled(app):
    """The sentence follows the swap: no problem of earlier choices stays."""
    go(app, "data")
    app.segmented_control(key="source").set_value("upload").run()
    lines = [f"{k % 7},{k % 5},{'dear' if k % 3 else 'cheap'}\n" for k in range(300)]
    app.file_uploader(key="upload-private").set_value(("p.csv", ("a,b,price\n" + "".join(lines)).encode(), "text/csv"))
    app.file_uploader(key="upload-public-rows").set_value(
        ("q.csv", ("a,b,price\n" + "".join(lines[:90])).encode(), "text/csv")
    )
    app.run()
    assert session(app).problem.positive == "dear", "two labels in the last column are the target"
    app.button(key="swap-label").click().run()
    assert session(app).problem.positive == "cheap" and "**“cheap”**" in words(app)


@pytest.mark.slow
def test_sessions_share_the_public_side_of_study_tables_and_of_no_others():
    """A second visitor of the demo does not compute its predictions anew; own tables stay in their session."""
    # Both are new: what is kept is bounded, and sessions of tests before this one may have pushed it out.
    one, other = (go(AppTest.from_file(str(ROOT / "app.py"), default_timeout=600).run(), "plan") for _ in range(2))
    first, second = session(one).problem, session(other).problem
    assert first.public is second.public and first.private is not second.private
    go(go(one, "release"), "explore")
    previews, all_findings = (dict(one.values) for one in (_of_named_tables.previews, _of_named_tables.findings))
    assert previews and all_findings
    go(go(other, "release"), "explore")
    assert dict(_of_named_tables.previews.values) == previews and not session(other).own.previews.values
    assert dict(_of_named_tables.findings.values) == all_findings and not session(other).own.findings.values
    own = [go(go(go(upload(go(page, "data")), "plan"), "release"), "explore") for page in (one, other)]
    assert session(own[0]).problem.public is not session(own[1]).problem.public
    sides = _of_named_tables.sides.values.values()
    assert all(remaining.data is not session(one).problem.public for remaining in sides)
    assert dict(_of_named_tables.previews.values) == previews and session(own[0]).own.previews.values
    assert dict(_of_named_tables.findings.values) == all_findings and session(own[0]).own.findings.values


def test_two_problems_of_a_label_have_one_public_side():
    """The default penalty depends on the number of private rows; predictions are computed once all the same."""
    tables = named_tables("demo-labels")
    one, other = prepared(tables, tables.first), prepared(named_tables("demo-labels"), tables.first)
    assert one.public is other.public and one.public.lam > 0 and one.private is not other.private


def test_a_declared_schema_stays_in_its_session():
    """A second visitor of the same table gets what its public rows suggest, not what the first one declared."""
    first, second = named_tables("demo"), named_tables("demo")
    collected = [one for one in first.public.schema.columns if one.name != "x1"]
    first.schema = Schema((*collected, Column("x1", "level", ("1", "2"))), first.public.schema.dialect)
    choices = Choices(target="y", features=("x2", "x3"))
    assert prepared(first, choices).public is not prepared(second, choices).public


def test_a_refused_file_is_not_followed_by_a_demo(app):
    """Under the sentence on the file stands what to do, and no page of a table that nobody asked for."""
    app.segmented_control(key="source").set_value("upload").run()
    app.file_uploader(key="upload-private").set_value(("p.csv", csv(400, 1), "text/csv"))
    app.file_uploader(key="upload-public-rows").set_value(("q.csv", b"a,b,a\n1,2,3\n", "text/csv")).run()
    assert len(app.error) == 1 and "Replace the one that was refused" in app.info[0].value
    assert not app.exception and not app.selectbox
    app.file_uploader(key="upload-public-rows").set_value(("q.csv", csv(60, 2), "text/csv")).run()
    assert not app.error and session(app).tables.title == "p.csv, q.csv"


def test_uploaders_without_files_stand_alone(app):
    """Beneath them is no picture of a demo that nobody asked for; it stays open elsewhere, and says so."""
    app.segmented_control(key="source").set_value("upload").run()
    assert not app.error and not app.get("plotly_chart") and not app.dataframe
    assert "is open on the other pages" in app.info[0].value
    assert not go(app, "plan").error and app.get("plotly_chart")


def test_what_was_guessed_stands_above_what_is_asked(app):
    """The sentence with target and columns comes before the warnings about own tables."""
    rows = [f"{-999 if k % 40 == 0 else 20 + k % 50},{k % 7},{(k * k) % 11}.5\n" for k in range(600)]
    upload(app, ("age,a,y\n" + "".join(rows)).encode(), ("age,a,y\n" + "".join(rows[:200])).encode())
    said = [(one.type, str(getattr(one, "value", ""))) for one in app.main]
    guess = next(at for at, (_, text) in enumerate(said) if "**y** on" in text)
    assert guess < min(at for at, (kind, _) in enumerate(said) if kind == "warning")


def test_what_awaits_a_decision_is_named_on_the_closed_list(app):
    """Which columns a click would change is said outside the list that holds the buttons."""
    rows = [f"{k % 7},{'see notes' if k % 9 == 0 else k},{(k * k) % 11}.5,1\n" for k in range(300)]
    private, public = (
        ("a,bmi,e,only" if k else "a,bmi,e,mine") + "\n" + "".join(rows[: 300 - 210 * k]) for k in (0, 1)
    )
    upload(app, private.encode(), public.encode())
    label = next(one.label for one in app.expander if one.label.startswith("What was done to the columns"))
    assert label.endswith("inside is a choice for 'bmi'")
    assert any("Not in both files, so not to be chosen: 'only'." in one.value for one in app.caption)


@pytest.mark.slow
def test_a_release_of_few_rows_and_a_plan_of_one_label_promise_nothing(app):
    """Data's warning is said again where a budget would be spent; under one public label no precision is predicted."""
    upload(app, csv(1, 1), csv(60, 2))
    go(app, "release")
    assert any("no budget lets a release say anything" in one.value for one in app.warning)
    go(app, "data")
    lines = "".join(f"{k % 7},{(k * k) % 5},{k % 2}\n" for k in range(300))
    one = "".join(f"{k % 7},{(k * k) % 5},1\n" for k in range(90))
    upload(app, ("a,b,y\n" + lines).encode(), ("a,b,y\n" + one).encode())
    session(app).set_choices(Choices(target="y", family="logistic", positive="1"))
    go(app, "plan")
    assert any("All public rows have one value" in one.value for one in app.warning)
    assert not app.metric and "times as precise" not in words(app)


def test_a_code_read_as_missing_leaves_the_page_as_it_was(app):
    """After the click stands the same page: no sentence against what the click itself declared."""
    rows = [f"{-999 if k % 40 == 0 else 20 + k % 50},{k % 7},{(k * k) % 11}.5\n" for k in range(600)]
    upload(app, ("age,a,y\n" + "".join(rows)).encode(), ("age,a,y\n" + "".join(rows[:200])).encode())
    label = "Read -999 in 'age' as missing"
    next(one for one in app.button if one.label == label).click().run()
    assert not app.exception and not app.error
    assert label not in [one.label for one in app.button]
    assert session(app).problem.choices.levels == {"age": ("-999",)}
