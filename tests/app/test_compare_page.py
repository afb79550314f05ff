"""The Compare page: runs in the lab, for the curator where rows are private."""

from __future__ import annotations

import json

import pytest

from pmtcore.auditing.comparison import AXES, errors_depend_on_axis
from pmtcore.methods.registry import method, methods_for
from pmtcore.report.names import option, title
from tests.app.conftest import go, words
from tests.app.test_pages import PRIVATE, finish, session, upload


def run(app, **numbers):
    """Fill the form, press Run, and go on to the end."""
    for key, value in numbers.items():
        name = f"{key}-budget" if key in {"low", "high", "count"} else key
        app.number_input(key=f"compare-{name}").set_value(value)
    next(b for b in app.button if b.label == "Run").click().run()
    assert not app.exception
    return app


def figures(app):
    """Return the table under the picture."""
    return next(frame.value for frame in app.dataframe if "median" in frame.value.columns)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_figures(app):
    """A run repeats under its seed, and another seed gives other figures."""
    go(app, "compare")
    tables = []
    for seed in (7, 7, 8):
        finish(run(app, trials=20, count=3, seed=seed))
        app.run()
        tables.append(figures(app))
    assert tables[0].equals(tables[1])
    assert not tables[0].equals(tables[2])


def test_public_only_is_always_drawn(app):
    """Whatever is chosen, the public fit is there to be beaten, as a dashed line."""
    go(app, "compare")
    app.multiselect(key="compare-methods-gaussian").set_value(["pmt-ols"])
    finish(run(app, trials=20, count=2))
    app.run()
    data = json.loads(app.get("plotly_chart")[0].proto.spec)["data"]
    lines = {t["name"]: t for t in data if "name" in t}
    assert set(lines) == {title("pmt-ols"), title("public-only"), "Without privacy: its own sampling error"}
    assert lines[title("public-only")]["line"]["dash"] == "dash"


def test_lab_methods_are_named_as_such(app):
    """Methods that are compared as published but cannot be released carry the word."""
    go(app, "compare")
    options = app.multiselect(key="compare-methods-gaussian").options
    assert option("dp-ridge") in options and option("joint-pmt") in options and ", lab)" in option("dp-ridge")


def test_a_range_upside_down_is_a_sentence(app):
    """One sentence, and no run."""
    go(app, "compare")
    run(app, low=5.0, high=1.0)
    assert "must not be above the largest" in app.error[0].value
    assert session(app).comparison is None


def test_uploaded_tables_need_the_switch_and_lose_it_again(app):
    """With the switch a run on private rows is shown as private, without a download; without it, it is hidden."""
    upload(app)
    go(app, "compare")
    assert not app.get("plotly_chart") and "distance to an exact fit" in words(app)
    app.button(key="curator-here").click().run()
    assert app.sidebar.toggle(key="curator").value
    finish(run(app, trials=20, count=2))
    app.run()
    assert app.get("plotly_chart")
    assert "distance to an exact fit" in words(app)
    assert words(app).count(PRIVATE) >= 3
    assert {button.key for button in app.get("download_button")} == {"compare-script", "compare-notebook"}  # no figures
    app.sidebar.toggle(key="curator").set_value(False).run()
    assert not app.get("plotly_chart")
    assert not any("median" in frame.value.columns for frame in app.dataframe)


def test_inputs_survive_a_page_change(app):
    """The form keeps what was chosen."""
    go(app, "compare")
    app.multiselect(key="compare-methods-gaussian").set_value(["pmt-ols"])
    finish(run(app, trials=30, count=2, seed=4))
    go(app, "data")
    go(app, "compare")
    assert app.multiselect(key="compare-methods-gaussian").value == ["pmt-ols"]
    assert app.number_input(key="compare-trials").value == 30
    assert app.number_input(key="compare-seed").value == 4
    assert app.get("plotly_chart"), "a finished run is still there"


def test_other_tables_end_a_run(app):
    """A run belongs to its tables: other tables open without it."""
    go(app, "compare")
    run(app, trials=5000)
    go(app, "data")
    upload(app)
    assert session(app).comparison is None


def test_error_against_public_rows(app):
    """Another axis: its range is offered, its name is on the picture and in the sentence."""
    go(app, "compare")
    app.segmented_control(key="compare-axis").set_value("public rows").run()
    app.number_input(key="compare-count-public rows").set_value(3)
    finish(run(app, trials=10))
    app.run()
    assert "public rows" in words(app)
    layout = json.loads(app.get("plotly_chart")[0].proto.spec)["layout"]
    assert layout["xaxis"]["title"]["text"] == "public rows m"
    assert len(set(figures(app)["place on the axis"])) == 3


@pytest.mark.parametrize("axis", [axis for axis in AXES if axis not in ("budget", "epsilon")])
@pytest.mark.parametrize("table", ["demo", "demo-labels"])
def test_an_axis_offers_the_methods_that_it_moves(app, table, axis):
    """No method is drawn as a flat line because it has no such setting; before a run a sentence says so, no panel."""
    if table != "demo":
        app.segmented_control(key="source").set_value("name").run()
        app.selectbox(key="table-name").set_value(table).run()
    public = session(app).problem.public
    go(app, "compare")
    app.segmented_control(key="compare-axis").set_value(axis).run()
    assert not app.exception
    (chosen,) = (widget for widget in app.multiselect if widget.label == "Methods")
    assert chosen.value and all(errors_depend_on_axis(method(id), public, axis) for id in chosen.value)
    offered = {option(entry.id) for entry in methods_for(public) if errors_depend_on_axis(entry, public, axis)}
    assert set(chosen.options) <= offered
    if axis == "steps":
        assert all("steps" in method(id).parameters.__dataclass_fields__ for id in chosen.value)
        assert option("joint-pmt") not in chosen.options and option("pmt-objective") not in chosen.options
    assert not app.get("plotly_chart") and "Nothing is computed against" in words(app)


@pytest.mark.parametrize("page", ["compare", "explore"])
def test_the_way_to_another_table_stands_beside_the_open_one(app, page):
    """At the head of the page: the sidebar's link is below what a low screen shows."""
    go(app, page)
    assert "data" in {link.proto.page for link in app.main.get("page_link")}
