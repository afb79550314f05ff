"""One table has one answer: pages that judge, plan, release and explore it do not contradict each other."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import of_role
from pmtcore.releases.planning import predict_method
from pmtcore.report.first_look import first_look
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import table_from
from tests.app.conftest import go, visit, words
from tests.app.test_families import by_name, plan_ridge
from tests.app.test_pages import do_release, session, upload
from tests.helpers import TEST


def picked(app, label):
    return next(box for box in [*app.selectbox, *app.multiselect] if box.label.startswith(label))


def table(n: int, seed: int, first: int = 0, gaps: float = 0.0) -> bytes:
    """Return a table with an identifier, a column with gaps and a rare level, and a text of two values."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n)
    place = rng.choice(["north", "south", "isle"], n, p=[0.6, 0.39, 0.01])
    label = np.where(size + (place == "isle") + rng.normal(size=n) > 0, "dear", "cheap")
    size[rng.random(n) < gaps] = np.nan
    columns = {"id": first + np.arange(n), "size": size, "place": place, "class": label, "y": rng.normal(size=n)}
    return pd.DataFrame(columns).to_csv(index=False).encode()


def choose(app, target: str, features: list[str]) -> None:
    """Choose the target and the features of uploaded tables on Data."""
    picked(app, "Target").set_value(target).run()
    picked(app, "Features").set_value(features).run()


def with_identifier(app) -> None:
    """Upload two tables and keep their identifier among the features on purpose."""
    upload(app, table(400, 1, 5000), table(60, 2, 100))
    choose(app, "y", ["size", "id"])


def release_on_explore(app) -> None:
    """Confirm and release the moment that Explore computes from."""
    go(app, "explore")
    app.checkbox[0].check().run()
    next(b for b in app.button if str(b.key).startswith("go-")).click().run()


def delta_boxes(app) -> list:
    return [box for box in app.text_input if box.label == "delta of epsilon"]


def test_release_and_explore_ask_for_one_confirmation():
    """On a table that anybody may study both pages say that the result is a lab figure."""
    pages = [go(visit(), page) for page in ("release", "explore")]
    asked = [next(box.label for box in page.checkbox if str(box.key).startswith("sure-")) for page in pages]
    assert asked[0] == asked[1]


def test_data_measures_what_plan_predicts(app):
    """Both are about the typical coefficient in standard errors of the public fit; collinear ones decide neither."""
    problem = session(app).problem
    public = of_role("public").id
    drawn = next(row for row in first_look(session(app).problem).summaries if row.method == public)
    alone = predict_method(problem.public, problem.private.n, public, 1.0)
    away = np.abs(problem.public.coefficients - exact_fit(problem.public, problem.private).reveal(TEST))
    assert drawn.error_median == pytest.approx(float(np.median(away / alone.prediction.total)))
    assert "in standard errors of the public fit" in words(app)


@pytest.mark.parametrize("labelled", [True, False])
def test_a_first_look_says_what_its_errors_are(labelled):
    """Standard errors of the public fit are a unit only where that fit has any: public rows with labels."""
    private, public = (pd.read_csv(io.BytesIO(table(n, n))) for n in (300, 60))
    public = public if labelled else public.drop(columns="class")
    tables = (table_from(frame, name, name) for frame, name in ((private, "private"), (public, "public")))
    choices = Choices(target="class", features=("size", "y"), family="logistic", positive="dear")
    assert ("typical coefficient" in first_look(prepare(*tables, choices)).measure) is labelled


@pytest.mark.slow
def test_a_method_chosen_on_release_is_the_plan_too(app):
    """After a release with another method no page says that the first one is planned."""
    plan_ridge(app)
    go(app, "release")
    app.selectbox(key="release-method-gaussian").set_value("joint-moment").run()
    app.number_input(key="release-mu").set_value(0.25).run()
    assert any("Plan: mu 0.25" in link.label for link in app.get("page_link"))
    app.selectbox(key="release-method-gaussian").set_value("joint-pmt").run()
    do_release(app)
    assert "Whitened ridge" not in words(app)
    go(app, "plan")
    assert app.selectbox(key="plan-method-gaussian").value == "joint-pmt"
    assert app.select_slider(key="plan-mu").value == 0.25
    go(app, "release")
    app.button(key="release-new").click().run()
    assert app.selectbox(key="release-method-gaussian").value == "joint-pmt"


@pytest.mark.slow
def test_one_delta_on_all_pages(app):
    """The delta at which somebody reads epsilon is that of Plan and Explore too, until other tables are opened."""
    go(app, "release")
    box = delta_boxes(app)[0]
    own = box.value
    box.set_value("1e-9").run()
    go(app, "plan")
    assert "delta\u00a0=\u00a01e-9" in words(app)
    go(app, "explore")
    assert [box.value for box in delta_boxes(app)] == ["1e-9"]
    by_name(app.switch_page("pages/work/data.py").run(), "demo-labels")
    go(app, "explore")
    assert [box.value for box in delta_boxes(app)] == [own]


@pytest.mark.slow
def test_what_ruins_a_fit_is_said_before_the_spend(app):
    """An identifier kept on purpose stands on Plan and above the button, not on Data alone."""
    with_identifier(app)
    for page in ("data", "plan", "release"):
        go(app, page)
        assert sum("'id'" in one.value for one in app.warning) == 1, page


@pytest.mark.slow
def test_nobody_is_asked_about_an_identifier_first(app):
    """Where a coefficient is chosen, an identifier that was kept comes last, on every page."""
    with_identifier(app)
    choose(app, "y", ["id", "size"])
    for page in ("work/plan", "study/sites"):
        app.switch_page(f"pages/{page}.py").run()
        offered = next(box for box in app.selectbox if box.label == "Coefficient").options
        assert offered == ["size", "id"], page


@pytest.mark.slow
def test_what_biases_coefficients_is_said_where_it_is_mended_and_where_they_are_released(app):
    """Rows of zeros in place of gaps and a penalty that decides rare levels: on Data and Release, then beside the
    coefficients; nothing of them where the choices mend it."""
    upload(app, table(2000, 1, gaps=0.12), table(800, 2, gaps=0.12))
    picked(app, "Target").set_value("class").run()
    picked(app, "Features").set_value(["size", "place"]).run()
    next(box for box in app.number_input if box.label == "Ridge penalty").set_value(0.01).run()
    for page in ("data", "release"):
        go(app, page)
        assert "have gaps" in words(app) and "place=isle" in words(app), page
    below = sum("Data mends it" in one.value for one in app.warning)
    counted = [link.label for link in app.get("page_link") if link.label.endswith(" on Data")]
    assert below and any(f"{below} warning" in label for label in counted), "counted at the button"
    do_release(app)
    assert words(app).count("have gaps") == 1
    go(app, "data")
    next(b for b in app.button if b.label == "Fill from the public rows").click().run()
    next(b for b in app.button if b.label.startswith("Take penalty")).click().run()
    assert "have gaps" not in words(app) and "leaves at most" not in words(app)
    # The release made before stands on the page with what was true of it, until another one is asked for.
    go(app, "release")
    app.button(key="release-other").click().run()
    assert "have gaps" not in words(app) and "leaves at most" not in words(app)


@pytest.mark.slow
def test_a_level_without_a_column_has_its_name_in_explore(app):
    """Whoever predicts for a category chooses among the levels as they are called."""
    upload(app, table(900, 1), table(120, 2))
    choose(app, "y", ["size", "place"])
    release_on_explore(app)
    app.segmented_control(key="explore-more").set_value("Test and predict").run()
    assert not app.exception
    place = next(box for box in app.selectbox if box.label == "place")
    assert set(place.options) <= {"north", "south", "isle"} and "the reference level" not in place.options


@pytest.mark.slow
def test_release_this_plan_opens_the_form(app):
    """Also where a release stands on the page: who goes on from Plan asks for another one, and the first is kept."""
    go(app, "release")
    do_release(app)
    go(app, "plan")
    app.button(key="plan-release").click().run()
    assert not app.exception and any(str(box.key).startswith("sure-") for box in app.checkbox)
    assert len(session(app).releases) == 1


@pytest.mark.slow
def test_an_identifier_is_named_beside_its_release_too(app):
    """Who released with one sees it at the verdict, not in a folded note alone."""
    with_identifier(app)
    go(app, "release")
    do_release(app)
    assert sum("'id'" in one.value for one in app.warning) == 1


def test_clear_leaves_a_column_of_the_model(app):
    """It puts none in that was not there."""
    release_on_explore(app)
    key = next(box.key for box in app.button_group if box.label == "Features")
    app.button_group(key=key).set_value(["x3", "x2"]).run()
    app.button(key="explore-clear").click().run()
    assert not app.exception and app.session_state[key] == ["x2"]


def wide(n: int, columns: int, seed: int) -> bytes:
    """Return a table of so many features and a target."""
    numbers = np.random.default_rng(seed).normal(size=(n, columns + 1))
    named = pd.DataFrame(numbers[:, 1:], columns=[f"v{j}" for j in range(columns)])
    return named.assign(y=numbers[:, 0] + numbers[:, 1]).to_csv(index=False).encode()


@pytest.mark.slow
def test_columns_that_a_repair_left_out_are_told_openly_and_come_back(app):
    """Too few public rows: why half of the columns are out stands open; better files begin with all of them again."""
    upload(app, wide(300, 12, 1), wide(12, 12, 2))
    told = [one.value for one in app.warning if "Done already: Only the first" in one.value]
    assert len(told) == 1 and session(app).problem.public.d < 13
    upload(app, wide(300, 12, 3), wide(1, 12, 4))
    upload(app, wide(300, 12, 5), wide(100, 12, 6))
    assert session(app).problem.public.d == 13
    assert not any("Done already" in one.value for one in app.warning)


@pytest.mark.slow
def test_what_makes_a_release_worthless_is_no_small_print(app):
    """A private table of one row, or files that look swapped, are told openly on Data."""
    upload(app, wide(1, 3, 1), wide(100, 3, 2))
    told = " ".join(one.value for one in app.warning)
    assert "1 row" in told and "not swapped" in told
