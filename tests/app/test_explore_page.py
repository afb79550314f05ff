"""The Explore page: release, open, ask, list, pin, confirm; nothing but the release is spent."""

from __future__ import annotations

import json

import pytest

from pmtcore.base.checks import InputError
from pmtcore.explore.moment import Moment
from pmtcore.report.figures import explore as figures
from tests.app.conftest import go, words


@pytest.fixture
def explored(app):
    go(app, "explore")
    app.checkbox[0].check().run()
    (button,) = [b for b in app.button if b.label == "Release"]
    button.click().run()
    assert not app.exception
    return app


def test_released_here_and_asked(explored):
    """One release; then each response redraws the coefficients and is listed, and nothing more is spent."""
    assert "Every question from here on is free" in words(explored)
    spent = words(explored).split("Spent on this table")[1][:60]
    for column in ("x1", "x2"):
        explored.selectbox(key="explore-response").set_value(column).run()
        assert not explored.exception
    assert "Models looked at: 3" in words(explored) and "3 models were looked at" in words(explored)
    assert words(explored).split("Spent on this table")[1][:60] == spent
    explored.button(key="explore-pin").click().run()
    assert not explored.exception


@pytest.mark.slow
@pytest.mark.parametrize(
    "tab", ["Code", "Test and predict", "Paths", "Correlations", "Network", "Components", "Columns", "Confirm"]
)
def test_every_tab_draws(explored, tab):
    """Nothing fails, and nothing is spent."""
    explored.segmented_control(key="explore-more").set_value(tab).run()
    assert not explored.exception and not explored.error


def test_the_picture_has_the_features_alone(explored):
    """The intercept has no standard deviation to be scaled by, so it is in the table and not in the picture."""
    held = explored.session_state["explore-held"]
    fit = held.moment.regress()
    assert "(intercept)" in fit.names and "(intercept)" not in fit.features
    assert not any("(intercept)" in str(spec) for spec in (c.proto.spec for c in explored.get("plotly_chart")))


def test_a_record_opens_without_a_table(explored, tmp_path):
    """The saved record is what the command line and the package read; markup in a name stays text."""
    held = explored.session_state["explore-held"]
    fields = json.loads(json.dumps(held.moment.record.as_dict()))
    again = Moment.from_bytes(json.dumps(fields).encode())
    assert again.regress().coefficients == held.moment.regress().coefficients
    with pytest.raises(InputError):
        Moment.from_bytes(json.dumps({**fields, "columns": ["<script>\n"] * 9}).encode())


def test_the_record_can_be_put_away(explored):
    """Close, and open the release of this session again."""
    explored.button(key="explore-close").click().run()
    (button,) = [b for b in explored.button if b.label.startswith("Open the release")]
    button.click().run()
    assert not explored.exception and "free" in words(explored)


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
    held = explored.session_state["explore-held"]
    fits = {f.formula: f for f in held.moment.looked}
    assert "Side by side" in figures.section(fits, held.moment, 2)
