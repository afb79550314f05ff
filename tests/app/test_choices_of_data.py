"""The Data page takes what Python and the command line take: each choice, into the problem that is worked on."""

from __future__ import annotations

import gc
import json
import re
import weakref
from dataclasses import fields, replace

import numpy as np
import pandas as pd
import pytest

from pmtcore.public.moments import EFFECT_SD
from pmtcore.public.shrinkage import StrongestShrinkage
from pmtcore.report import cautions
from pmtcore.tables import named
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from tests.app.conftest import go, words
from tests.app.test_pages import upload


def csv(n: int, seed: int) -> bytes:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.integers(0, 3, n), "w": rng.gamma(4, 1, n)})
    frame["days"], frame["id"] = rng.gamma(4, 1, n), [f"p{seed}-{k // 3}" for k in range(n)]
    frame["y"] = rng.poisson(frame["days"] * np.exp(0.3 * frame["a"]))
    return frame.to_csv(index=False).encode()


def widget(app, kind: str, name: str):
    """Return the one widget of the Data page whose key begins so; keys carry the tables' own mark."""
    (result,) = (one for one in getattr(app, kind) if one.key and one.key.startswith(f"{name}-"))
    return result


def test_the_page_takes_every_choice(app):
    """Formula, weights, exposure, groups, collinear columns, kinds, person and a schema reach the problem."""
    upload(app, csv(600, 1), csv(90, 2))
    widget(app, "selectbox", "target").set_value("y").run()
    widget(app, "selectbox", "family").set_value("poisson").run()
    app.text_input(key=widget(app, "text_input", "formula").key).set_value("y ~ a + C(b)")
    for name, value in (("weights", "w"), ("exposure", "days"), ("cluster", "id"), ("collinear", "refuse")):
        widget(app, "selectbox", name).set_value(value)
    widget(app, "text_area", "kinds").set_value("a = number")
    app.run()
    assert not app.exception and not app.error
    session = app.session_state["second_moment"]
    choices = session.choices
    assert (choices.formula, choices.target, choices.features) == ("y ~ a + C(b)", "y", None)
    assert (choices.weights, choices.exposure, choices.cluster) == ("w", "days", "id")
    assert choices.collinear == "refuse" and choices.kinds == {"a": "number"}
    public = session.problem.public
    assert public.weights is not None and public.clusters is not None
    assert "C(b)[T.1]" in public.names and len(public.names) == 4
    schema = {"columns": [{"name": name, "kind": "number"} for name in ("a", "w", "days", "y")], "dialect": {}}
    schema["columns"] += [{"name": n, "kind": "level", "levels": ["1", "2"]} for n in ("b", "id")]
    widget(app, "text_input", "formula").set_value("")
    widget(app, "text_area", "schema").set_value(json.dumps(schema)).run()
    assert app.session_state["second_moment"].tables.schema is not None


def test_no_choice_is_left_out_of_the_page():
    """The page names each field of the choices where it puts them together, or among those that are folded."""
    import ast
    import inspect

    from pages.elements import table_picker

    tree = ast.parse(inspect.getsource(table_picker._choices))
    (call,) = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "replace")
    named = {keyword.arg for keyword in call.keywords}
    for node in ast.walk(ast.parse(inspect.getsource(table_picker._more_choices))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            named.add(node.value)
    assert {field.name for field in fields(Choices)} <= named


@pytest.mark.slow
def test_a_repair_is_what_is_modelled_from_then_on(app) -> None:
    """One click on the other level: the sentence, the button, the problem and the next page follow, there and back."""
    app.segmented_control(key="source").set_value("name").run()
    app.selectbox(key="table-name").set_value("demo-labels").run()
    state = app.session_state["second_moment"]
    before = state.problem.positive
    for expected in (state.problem.other_label, before):
        app.button(key="swap-label").click().run()
        assert not app.exception
        assert state.problem.positive == state.choices.positive == expected
        assert f"is **“{expected}”**" in words(app)
    go(app, "release")
    assert state.problem.positive == before


def test_choices_taken_are_never_answered_from_the_problem_before(app) -> None:
    """Whatever a button changes, the problem that is drawn and released has it."""
    state = app.session_state["second_moment"]
    for changed in ({"missing": "public-median"}, {"features": ("x1", "x2")}, {"intercept": False}):
        state.set_choices(replace(state.problem.choices, **changed))
        assert state.problem_for(state.choices).choices == state.choices


def labelled(app) -> None:
    """Check that the text column at the end is the target, and its two labels have a logistic regression."""
    choices = app.session_state["second_moment"].problem.choices
    assert (choices.target, choices.family) == ("class", "logistic")
    assert not app.exception


def test_a_penalty_that_decides_rare_levels_is_said_and_changed_by_one_click(app) -> None:
    """The line names the column; after the click the problem has the smaller one, and the line is gone."""

    def table(n: int, seed: int) -> bytes:
        rng = np.random.default_rng(seed)
        place = rng.choice(["north", "south", "isle"], n, p=[0.6, 0.39, 0.01])
        size = rng.normal(size=n)
        label = np.where(size + (place == "isle") + rng.normal(size=n) > 0, "dear", "cheap")
        return pd.DataFrame({"size": size, "place": place, "class": label}).to_csv(index=False).encode()

    labelled(upload(app, table(2000, 1), table(800, 2)))
    assert "leaves at most" not in words(app) and app.session_state["second_moment"].problem.choices.lam is None
    next(box for box in app.number_input if box.label == "Ridge penalty").set_value(0.01).run()
    assert "leaves at most" in words(app) and "place=isle" in words(app)
    next(b for b in app.button if b.label.startswith("Take penalty")).click().run()
    assert not app.exception and "leaves at most" not in words(app)
    problem = app.session_state["second_moment"].problem
    assert 0 < problem.public.lam < 0.005 and problem.choices.lam == problem.public.lam
    next(box for box in app.number_input if box.label == "Ridge penalty").set_value(None).run()
    assert app.session_state["second_moment"].problem.public.prior_sd == EFFECT_SD


def test_what_a_penalty_does_is_computed_once_for_each_problem(monkeypatch) -> None:
    """Public rows are read for it at the first redraw alone; another problem has its own, and none outlives its own."""
    private, public, reasons = named.load("demo")
    linear = prepare(private, public, named.entry("demo").choices, lab_reasons=reasons)
    problem = replace(linear, choices=replace(linear.choices, family="logistic"))
    asked, pull = [], StrongestShrinkage("a", 0.1, 1e-4, 1, 2, 0.01)
    monkeypatch.setattr(cautions, "strongest_shrinkage", lambda public, n: asked.append(n) or pull)
    first, other = [cautions.decisive_penalty(problem) for _ in range(3)], replace(problem, notes=("another",))
    assert (
        len(asked) == 1
        and first == [first[0]] * 3
        and [*first[0].repairs.values()] == [replace(problem.choices, lam=1e-4)]
    )
    assert cautions.decisive_penalty(other) == first[0] and len(asked) == 2
    gone = weakref.ref(other)
    del other
    gc.collect()
    assert gone() is None and problem in cautions._PENALTIES


def test_the_label_of_own_tables_can_be_swapped_there_and_back(app) -> None:
    """The other level of a declared label is that of the public rows; of three levels there is no single other one."""
    frame = pd.DataFrame({"size": np.arange(300.0) % 17, "class": np.where(np.arange(300) % 3 == 0, "dear", "cheap")})
    data = frame.to_csv(index=False).encode()
    labelled(upload(app, data, frame.head(90).to_csv(index=False).encode()))
    state = app.session_state["second_moment"]
    for expected in ("cheap", "dear", "cheap"):
        app.button(key="swap-label").click().run()
        assert not app.exception and state.problem.positive == expected
        assert f"is **“{expected}”**" in words(app)


def test_what_is_wrong_stands_above_the_choices(app) -> None:
    """The message about a text target stands before the form it was chosen in; other pages have the same one."""
    frame = pd.DataFrame({"class": np.resize(["dear", "fair", "cheap"], 300), "size": np.arange(300.0) % 17})
    upload(app, frame.to_csv(index=False).encode(), frame.head(90).to_csv(index=False).encode())
    next(b for b in app.selectbox if b.label == "Target").set_value("class").run()
    order = [(element.type, getattr(element, "label", "")) for element in app.main]
    message = next(at for at, (kind, _) in enumerate(order) if kind == "error")
    assert message < order.index(("selectbox", "Target"))
    said = app.error[0].value
    go(app, "plan")
    assert app.error[0].value == said


def test_an_identifier_is_asked_about_openly_once_it_is_chosen(app) -> None:
    """A number of rows is in no list of what goes in; all other features are, so that one is left out by one click."""
    rng = np.random.default_rng(1)

    def table(n: int, first: int) -> bytes:
        x = rng.normal(size=n)
        columns = {"row_id": first + np.arange(n), "x": x, "z": rng.normal(size=n), "y": x + rng.normal(size=n)}
        return pd.DataFrame(columns).to_csv(index=False).encode()

    upload(app, table(400, 5000), table(60, 100))
    state = app.session_state["second_moment"]

    def picked():
        return next(b for b in app.multiselect if b.label.startswith("Features"))

    assert picked().value == ["x", "z"] and state.problem.choices.features is None
    assert state.problem.public.names == ("(intercept)", "x", "z")
    assert not any("row_id" in one.value for one in app.warning)
    picked().set_value(["row_id", "x", "z"]).run()
    assert any("row_id" in one.value for one in app.warning)
    next(b for b in app.button if b.label == "Leave out 'row_id'").click().run()
    assert not app.exception and not any("row_id" in one.value for one in app.warning)
    picked().set_value(["x"]).run()
    assert state.problem.public.names == ("(intercept)", "x")


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "warned"), [(5, True), (60, False)])
def test_few_public_rows_are_warned_of_before_a_spend(app, rows, warned):
    """On Data, Plan and Release: what is predicted from five public rows is rough."""
    upload(app, csv(600, 1), csv(rows, 2))
    widget(app, "multiselect", "features").set_value(["a", "w"]).run()
    for page in ("data", "plan", "release"):
        if page != "data":
            go(app, page)
        assert any("columns are few" in line.value for line in app.warning) == warned


def test_a_target_brings_the_regression_that_fits_it(app):
    """Two texts are a label without a further click, numbers are linear again; which of three texts is asked."""
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"paid": rng.choice(["yes", "no"], 800), "town": rng.choice(["a", "b", "c"], 800)})
    frame["x"] = rng.normal(size=800)
    frame["y"] = frame["x"] + rng.normal(size=800)
    upload(app, frame[:700].to_csv(index=False).encode(), frame[700:].to_csv(index=False).encode())
    for target, family, stops in (("paid", "logistic", 0), ("y", "gaussian", 0), ("town", "gaussian", 1)):
        widget(app, "selectbox", "target").set_value(target).run()
        assert not app.exception and bool(app.error) == bool(stops)
        assert app.session_state["second_moment"].choices.family == family or stops


def test_a_repair_is_taken_back_by_a_click(app):
    """Undo names the button that it takes back, and what buttons changed is said; another table has no undo."""
    frame = pd.DataFrame({"a": [*range(20, 60)] * 9 + [-999.0] * 40, "y": np.random.default_rng(1).normal(size=400)})
    upload(app, frame.to_csv(index=False).encode(), frame.tail(120).to_csv(index=False).encode())
    assert not [b for b in app.button if str(b.key).startswith("undo")]
    before = app.session_state["second_moment"].choices
    next(b for b in app.button if b.label.startswith("Read -999")).click().run()
    after = app.session_state["second_moment"].choices
    assert after.kinds == {"a": "coded"}
    assert "Applied: Read -999 in 'a' as missing." in words(app)
    assert app.button(key="undo-0").label == "Undo “Read -999 in 'a' as missing”"
    app.button(key="undo-0").click().run()
    assert app.session_state["second_moment"].choices == before and not app.exception
    assert "Applied" not in words(app) and not [b for b in app.button if str(b.key).startswith("undo")]
    next(b for b in app.button if b.label.startswith("Read -999")).click().run()
    app.segmented_control(key="source").set_value("demo").run()
    assert not [b for b in app.button if str(b.key).startswith("undo")]


def test_each_repair_is_taken_back_by_itself(app):
    """The first of two, which changed other choices than the second, without the second."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": [*range(20, 60)] * 9 + [-999.0] * 40, "b": rng.normal(size=400)})
    frame["y"] = rng.normal(size=400)
    frame.loc[::9, "b"] = np.nan
    upload(app, frame.to_csv(index=False).encode(), frame.tail(160).to_csv(index=False).encode())
    before = app.session_state["second_moment"].choices
    pressed = ["Read -999 in 'a' as missing", "Fill from the public rows"]
    for label in pressed:
        next(button for button in app.button if button.label == label).click().run()
    after = app.session_state["second_moment"].choices
    app.button(key="undo-0").click().run()
    one = app.session_state["second_moment"].choices
    assert one not in (before, after) and not app.exception
    assert [b.label for b in app.button if str(b.key).startswith("undo")] == [f"Undo “{pressed[1]}”"]


def test_repairs_of_several_columns_are_taken_back_in_any_order(app):
    """The first of two that changed the same kind of choice, each for its own column; fills are written in full."""
    rng = np.random.default_rng(1)
    years = [*range(1951, 2001)] * 8
    frame = pd.DataFrame({"a": years, "b": rng.permutation(years), "y": rng.normal(size=400)}).astype(float)
    for name in ("a", "b"):
        frame.loc[rng.choice(400, 40, replace=False), name] = -999.0
    upload(app, frame.to_csv(index=False).encode(), frame.tail(160).to_csv(index=False).encode())
    pressed = [f"Read -999 in '{name}' as missing" for name in ("a", "b")]
    for label in pressed:
        next(button for button in app.button if button.label == label).click().run()
    assert app.session_state["second_moment"].choices.kinds == {"a": "coded", "b": "coded"}
    app.button(key="undo-0").click().run()
    choices = app.session_state["second_moment"].choices
    assert choices.kinds == {"b": "coded"} and dict(choices.levels) == {"b": ("-999",)} and not app.exception
    assert [b.label for b in app.button if str(b.key).startswith("undo")] == [f"Undo “{pressed[1]}”"]
    (fill,) = (button.label for button in app.button if button.label.startswith("Read -999 as missing, and fill"))
    assert re.search(r"'a' with (19|20)\d\d(\.5)?\)", fill), "a year is not rounded to tens"


def test_two_files_are_exchanged_by_one_click(app):
    """Each is read anew in its role, and a second click takes it back; no other file is asked for."""
    upload(app, csv(90, 2), csv(600, 1))
    for private, public in ((600, 90), (90, 600)):
        app.button(key="upload-exchange").click().run()
        assert not app.exception
        opened = app.session_state["second_moment"].tables
        assert (opened.private.n, opened.public.n) == (private, public)
        assert (opened.private.role, opened.public.role) == ("private", "public")


def test_a_known_table_is_opened_once_it_is_chosen(app):
    """Before that the tables of before stay open, and the page says so."""
    before = app.session_state["second_moment"].tables
    go(app, "data")
    app.segmented_control(key="source").set_value("name").run()
    assert app.selectbox(key="table-name").value is None and app.session_state["second_moment"].tables is before
    assert not app.exception and "Until a table is chosen" in app.info[0].value
    app.selectbox(key="table-name").set_value("demo-labels").run()
    assert app.session_state["second_moment"].tables.title == named.entry("demo-labels").title


def test_gaps_that_are_filled_are_said_to_be_missing_at_first(app):
    """The table of columns counts gaps of the file: under "missing" alone they would read as still there."""

    def title() -> str:
        """Return the title of the column of gaps."""
        shown = next(one for one in app.dataframe if "missing in public rows" in one.value.columns)
        return json.loads(shown.proto.columns)["missing in public rows"]["label"]

    private, public = (csv(n, seed).replace(b",1,", b",,") for n, seed in ((600, 1), (90, 2)))
    upload(app, private, public)
    assert title() == "missing"
    widget(app, "selectbox", "missing").set_value("public-median").run()
    assert not app.exception and title() == "missing at first"
