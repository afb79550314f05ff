"""The Explore page: release, open, ask, list, pin, confirm; nothing but the release is spent."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from pages.elements import explore_view
from pmtcore.accounting.budgets import Budget
from pmtcore.base.escaping import markdown as plain
from pmtcore.base.messages import ExploreWords, InputError
from pmtcore.explore.moment import Moment
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.releases.release import Request, release
from pmtcore.report.figures import explore as figures
from pmtcore.report.strength import strength
from tests.app.conftest import go, words
from tests.app.test_choices_of_data import widget
from tests.app.test_pages import upload


@pytest.fixture
def explored(app):
    go(app, "explore")
    app.checkbox[0].check().run()
    (button,) = [b for b in app.button if str(b.key).startswith("go-")]
    button.click().run()
    assert not app.exception
    return app


@pytest.mark.slow
def test_released_here_and_asked(explored):
    """One release; then each response redraws the coefficients and is listed, and nothing more is spent."""
    assert "Further questions are free" in words(explored)
    spent = words(explored).split("Spent on this table")[1][:60]
    for column in ("x1", "x2"):
        explored.selectbox(key="explore-response").set_value(column).run()
        assert not explored.exception
    assert "Models shown: 3" in words(explored) and "3 models were shown" in words(explored)
    assert words(explored).split("Spent on this table")[1][:60] == spent
    explored.button(key="explore-pin").click().run()
    assert not explored.exception


@pytest.mark.slow
@pytest.mark.parametrize(
    "tab",
    [
        "Code",
        "Test and predict",
        "Paths",
        "Correlations",
        "Network",
        "Components",
        "Columns",
        "Second release",
    ],
)
def test_every_tab_draws(explored, tab):
    """Nothing fails, and nothing is spent."""
    explored.segmented_control(key="explore-more").set_value(tab).run()
    assert not explored.exception and not explored.error


def test_the_picture_has_the_features_alone(explored):
    """The intercept has no standard deviation to be scaled by, so it is in the table and not in the picture."""
    state = explored.session_state["explore-held"]
    fit = state.moment.regress()
    assert "(intercept)" in fit.names and "(intercept)" not in fit.features
    assert not any("(intercept)" in str(spec) for spec in (c.proto.spec for c in explored.get("plotly_chart")))


def test_a_click_on_the_map_puts_a_column_in_and_takes_it_out(explored, monkeypatch):
    """The clicked column joins the model or leaves it; an empty selection, as after a redraw, changes nothing."""
    record = explored.session_state["explore-held"]
    assert any("correlation with y" in str(part.proto.spec) for part in explored.get("plotly_chart"))
    state = {"explore-features-y": ["x1"]}
    monkeypatch.setattr(explore_view.st, "session_state", state)
    levels = {"town": ["town=a", "town=b", "town=c"]}
    for name, then, without in (
        ("x2", ["x1", "x2"], []),
        ("x1", ["x2"], []),
        (None, ["x2"], []),
        # A level of a column that is not in the model comes in alone; others follow by a click each.
        ("town=b", ["x2", "town"], ["town=a", "town=c"]),
        ("town=a", ["x2", "town"], ["town=c"]),
        ("town=b", ["x2", "town"], ["town=c", "town=b"]),
        # A row that stands for all levels names the column.
        ("town", ["x2"], ["town=c", "town=b"]),
    ):
        points = [] if name is None else [{"customdata": [name]}]
        state["map"] = {"selection": {"points": points}}
        explore_view._toggle("map", "y", levels)
        assert state["explore-features-y"] == then
        assert state.get("explore-without", []) == without
    drawn, table = figures.neighbours(record.moment, record.moment.regress(response="y", features=["x2"]), "y", {})
    assert list(table[table["in the model"]]["column"]) == ["x2"]
    assert next(list(trace.y) for trace in drawn.data) == ["x2"]


@pytest.mark.slow
def test_one_level_is_taken_out_of_a_model(app):
    """The level leaves the model alone; the column taken out and put in again has all its levels."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=900), "town": rng.choice(["north", "south", "west"], 900)})
    frame["y"] = frame["a"] + (frame["town"] == "west") + rng.normal(size=900)
    upload(app, frame[:700].to_csv(index=False).encode(), frame[700:].to_csv(index=False).encode())
    widget(app, "selectbox", "target").set_value("y").run()
    go(app, "explore")
    app.checkbox[0].check().run()
    next(b for b in app.button if str(b.key).startswith("go-")).click().run()
    state = app.session_state["explore-held"]
    levels = [name for name in state.moment.columns if name.startswith("town=")]
    assert len(levels) == 2 and set(levels) < set(state.moment.looked[-1].features)
    # The level that the others are compared with has a row in the table of correlations, and the picture its column.
    (base,) = {f"town={level}" for level in ("north", "south", "west")} - set(levels)
    fit, references = state.moment.looked[-1], {"town": base.removeprefix("town=")}
    drawn, table = figures.neighbours(state.moment, fit, "y", references)
    beside = table.set_index("column").loc[base]
    assert beside["in the model"] and beside["value"] == pytest.approx(
        np.corrcoef(frame["town"] == base[5:], frame["y"])[0, 1], abs=0.2
    )
    assert base not in {str(mark[0]) for trace in drawn.data for mark in trace.customdata}
    app.multiselect(key="explore-without").set_value(levels[:1]).run()
    assert not app.exception and not app.error
    assert levels[0] not in state.moment.looked[-1].features and levels[1] in state.moment.looked[-1].features
    assert f"Not in the model: {levels[0]}" in words(app).replace("\\", "")
    for chosen in (["a"], ["a", "town"]):
        app.session_state["explore-features-y"] = chosen
        app.run()
    assert app.multiselect(key="explore-without").value == [] and not app.exception
    assert len(state.moment.looked) == 3, "all levels again: the first model, not a fourth one"


def test_a_record_opens_without_a_table(explored, tmp_path):
    """The saved record is what the command line and the package read; markup in a name stays text."""
    state = explored.session_state["explore-held"]
    fields = json.loads(json.dumps(state.moment.record.as_dict()))
    again = Moment.from_bytes(json.dumps(fields).encode())
    assert again.regress().coefficients == state.moment.regress().coefficients
    with pytest.raises(InputError):
        Moment.from_bytes(json.dumps({**fields, "columns": ["<script>\n"] * 9}).encode())


@pytest.mark.slow
def test_the_record_can_be_put_away(explored):
    """Close, and open the release of this session again: it is named, and its models are still counted."""
    explored.selectbox(key="explore-response").set_value("x1").run()
    explored.button(key="explore-close").click().run()
    (button,) = [b for b in explored.button if b.label.startswith("Open Synthetic demo, released 2")]
    button.click().run()
    assert not explored.exception and "questions are free" in words(explored)
    assert "2 models were shown" in words(explored), "closing a record undid the search"


@pytest.mark.slow
def test_the_order_of_a_choice_is_no_other_model(explored):
    """The same features clicked in another order: the same model, looked at once; what was chosen stays chosen."""
    pills = "explore-features-y"
    for chosen in (["x1", "x2"], ["x2", "x1"]):
        explored.session_state[pills] = chosen
        explored.run()
    assert "Models shown: 2" in words(explored)
    go(explored, "plan")
    go(explored, "explore")
    state = explored.session_state["explore-held"]
    assert state.features["y"] == ["x1", "x2"] and "Models shown: 2" in words(explored)
    assert "Not in the model: x3" in words(explored)


@pytest.mark.slow
def test_pinned_models_become_one_table(explored):
    """Models in columns, coefficients in rows, on the page and in the report section; a blank where one has none."""
    explored.button(key="explore-pin").click().run()
    explored.selectbox(key="explore-response").set_value("x1").run()
    explored.button(key="explore-pin").click().run()
    assert not explored.exception
    (table,) = [
        f.value for f in explored.dataframe if "coefficient" in f.value and "response" in set(f.value["coefficient"])
    ]
    assert list(table.iloc[0, 1:]) == ["y", "x1"] and (table == "").any().any()
    state = explored.session_state["explore-held"]
    page = figures.section(state.pinned_models, state.moment)
    assert "Side by side" in page and ExploreWords.FOR_STUDY.sentence() in page
    assert re.search(r"<td>[^<]*e[+]", page) is None
    go(explored, "report")
    (shown,) = [part.proto.body for part in explored.get("html") if "Answers from the" in part.proto.body]
    assert all(f"{name}: {figures.model_words(fit)}" in shown for name, fit in state.pinned_models.items())


@pytest.mark.slow
def test_two_nested_models_are_compared(explored):
    """The list says what a model has more than the one before; of two pinned ones the F test of that is given."""
    explored.button(key="explore-pin").click().run()
    fit = explored.session_state["explore-held"].moment.looked[0]
    explored.session_state["explore-features-y"] = ["x1"]
    explored.run()
    explored.button(key="explore-pin").click().run()
    assert not explored.exception
    (table,) = [frame.value for frame in explored.dataframe if "change" in frame.value]
    more = [name for name in fit.features if name != "x1"]
    assert list(table["change"]) == [" ".join(f"\N{MINUS SIGN} {name}" for name in more), ""]
    assert plain(figures.f_words(fit.test(more))) in words(explored)


def test_a_prediction_asks_for_the_columns_of_the_model_alone(explored):
    """A column that is not in the model has no field; a squared one asks for the column it is made of."""
    explored.segmented_control(key="explore-more").set_value("Test and predict").run()
    explored.session_state["explore-features-y"] = ["x1"]
    explored.run()
    assert [field.key for field in explored.number_input if field.key.startswith("explore-at-")] == ["explore-at-x1"]
    assert not explored.exception


def test_another_response_keeps_the_chosen_columns(explored):
    """The columns of the model before, without the new response."""
    explored.session_state["explore-features-y"] = ["x1", "x2"]
    explored.run()
    explored.selectbox(key="explore-response").set_value("x1").run()
    assert explored.session_state["explore-held"].features["x1"] == ["x2"]


def test_a_column_of_figures_is_as_wide_as_its_longest(explored):
    """The browser measures a table once, and would cut the sign of figures that come later."""
    widths = {}
    for response in ("y", "x1"):
        explored.selectbox(key="explore-response").set_value(response).run()
        for one in explored.dataframe:
            if list(one.value.columns[:4]) == ["coefficient", "value", "low", "high"]:
                widths[response] = json.loads(one.proto.columns)["low"]["width"], one.value["low"]
    for width, values in widths.values():
        assert width >= 7 * max(len(f"{value:.4g}") for value in values)
    assert len(widths) == 2


def test_a_count_is_explored_as_a_number(app):
    """Counts with an exposure: the moment of all columns is released, the count among them."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=700), "days": rng.gamma(4, 1, 700)})
    frame["visits"] = rng.poisson(frame["days"] * np.exp(0.3 * frame["a"]))
    upload(app, frame[:600].to_csv(index=False).encode(), frame[600:].to_csv(index=False).encode())
    for name, value in (("target", "visits"), ("family", "poisson"), ("exposure", "days")):
        widget(app, "selectbox", name).set_value(value).run()
    assert app.session_state["second_moment"].problem.public.family.id == "poisson"
    go(app, "explore")
    assert not app.error
    app.checkbox[0].check().run()
    next(b for b in app.button if str(b.key).startswith("go-")).click().run()
    assert not app.exception and not app.error
    assert {"a", "visits"} <= set(app.session_state["explore-held"].moment.columns)


@pytest.mark.slow
def test_a_label_gets_its_logistic_regression_after_a_release_without_public_rows(app):
    """One switch draws it from public rows on this machine: they are in no saved record, unless that is asked for."""
    app.segmented_control(key="source").set_value("name").run()
    app.selectbox(key="table-name").set_value("demo-labels").run()
    go(app, "explore")
    app.checkbox[0].check().run()
    next(b for b in app.button if str(b.key).startswith("go-")).click().run()
    state = app.session_state["explore-held"]
    assert not state.moment.has_rows and state.with_rows is None
    app.toggle(key="explore-logistic").set_value(True).run()
    assert not app.exception and not app.error and any("Logistic" in str(frame.proto) for frame in app.dataframe)
    assert state.with_rows.has_rows and state.with_rows.looked == state.moment.looked
    assert not state.moment.has_rows and not app.toggle(key="explore-complete").value
    assert len(app.session_state["second_moment"].releases) == 1


def test_a_prediction_stays_beside_a_joint_test(explored):
    """Asking for a test draws no other answer away; a column of categories is tested as a whole."""
    explored.segmented_control(key="explore-more").set_value("Test and predict").run()
    assert "predicted mean of y" in words(explored) and "limits of one new row" in words(explored)
    explored.multiselect(key="explore-test").set_value(["x1", "x2"]).run()
    assert "predicted mean of y" in words(explored) and "F(2," in words(explored).replace("\\", "")
    assert not explored.exception


@pytest.mark.parametrize("here", [True, False], ids=["the same rows", "another table"])
def test_only_a_release_of_the_same_rows_confirms_a_model(explored, here):
    """A release of the same names and as many rows, made from another table, is not combined with this one."""
    state = explored.session_state["second_moment"]
    (id,) = [id for id, one in state.releases.items() if one.method == "joint-moment"]
    fit = explored.session_state["explore-held"].moment.regress()
    problem = state.tables.problem(state.choices or state.tables.first)
    made = release(problem, Request("joint-pmt", Budget(1.0)), SeededNoise(1))
    assert set(made.names) == set(fit.names) and made.n == fit.state.n
    state.keep(Request("joint-pmt", Budget(1.0)), made, "second", state.sources[id] if here else "another table's")
    explored.segmented_control(key="explore-more").set_value("Second release").run()
    tables = [str(one.value.columns.tolist()) for one in explored.dataframe]
    assert not explored.exception and any("second_low" in columns for columns in tables) == here


def test_the_table_says_that_it_has_other_units_than_the_picture(explored):
    """The picture has standard deviations, the table units."""
    assert "the table is for one unit" in words(explored)
    (table,) = [f.value for f in explored.dataframe if "step of the picture" in f.value]
    state = explored.session_state["explore-held"]
    sizes = dict(zip(table["coefficient"], table["step of the picture"], strict=True))
    assert sizes["x1"] == figures.comparable_steps(state.moment)["x1"]


@pytest.mark.parametrize("unlike", [True, False])
def test_what_another_release_says_of_the_rows_stands_here_too(explored, unlike):
    """That the samples differ is a warning where a release of the same rows says so; else what bands assume stands."""
    state = explored.session_state["second_moment"]
    (id,) = state.releases
    other = replace(state.releases[id], disagrees=unlike)
    state.keep(state.requests[id], other, "second", state.sources[id])
    explored.run()
    warned = [box.value for box in explored.warning if box.value == ExploreWords.UNLIKE.sentence(most="")]
    assert len(warned) == unlike and not explored.exception
    assert ExploreWords.ASSUMES_ALIKE.sentence() in words(explored)


def test_an_own_alarm_names_the_columns(explored):
    """The moment itself may say that the samples differ, and in which columns."""
    state = explored.session_state["second_moment"]
    (id,) = state.releases
    alone = state.releases[id]
    state.releases[id] = replace(alone, disagrees=True, released={**alone.released, "columns_that_differ": ["x2"]})
    explored.run()
    assert [box.value for box in explored.warning] == [ExploreWords.UNLIKE.sentence(most=", most in 'x2'")]


def test_a_second_spend_states_odds_with_their_false_alarms(app):
    """The total of all releases is said in the one sentence for it, and the ledger's name stands in its field."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.normal(size=700)})
    frame["y"] = frame["a"] + rng.normal(size=700)
    upload(app, frame[:600].to_csv(index=False).encode(), frame[600:].to_csv(index=False).encode())
    go(app, "explore")
    (field,) = [one for one in app.text_input if str(one.key).startswith("ledger-name")]
    field.set_value("Hospital 2024").run()
    app.checkbox[0].check().run()
    next(b for b in app.button if str(b.key).startswith("go-")).click().run()
    assert not app.exception and not app.error and "Hospital 2024, released" in words(app)
    app.button(key="explore-close").click().run()
    (field,) = [one for one in app.text_input if str(one.key).startswith("ledger-name")]
    assert field.value == "Hospital 2024"
    assert plain(strength(2**0.5).sentence) in words(app)
