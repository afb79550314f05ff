"""Other families in the app: labels opened by name, released, compared; the gallery."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from pmtcore.auditing.faults import FAULTS
from pmtcore.methods.registry import methods
from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.lesson_texts import LESSONS
from tests.app.conftest import go, words
from tests.app.test_pages import do_release, session, upload


def by_name(app, id):
    app.segmented_control(key="source").set_value("name").run()
    app.selectbox(key="table-name").set_value(id).run()
    assert not app.exception and not app.error
    return app


@pytest.mark.slow
def test_labels_release_with_bands(app):
    """The demo with labels opens as a logistic regression; its recommended method releases with bands."""
    by_name(app, "demo-labels")
    assert session(app).problem.public.family.id == "logistic"
    go(app, "release")
    assert app.selectbox(key="release-method-logistic").value == "pmt-gradients"
    assert "joint-pmt" not in app.selectbox(key="release-method-logistic").options
    do_release(app)
    (result,) = session(app).releases.values()
    assert result.method == "pmt-gradients" and result.bands is not None


@pytest.mark.slow
def test_labels_compare(app):
    """Compare offers what fits, and runs it."""
    by_name(app, "demo-labels")
    go(app, "compare")
    chosen = app.multiselect(key="compare-methods-logistic").value
    assert chosen == ["pmt-gradients", "pmt-logistic"]
    app.number_input(key="compare-trials").set_value(2)
    app.number_input(key="compare-count-budget").set_value(2)
    next(b for b in app.button if b.label == "Run").click().run()
    for _ in range(20):  # AppTest runs no timers: each run advances a moment
        if session(app).comparison.share:
            break
        app.run()
    assert not app.exception and session(app).comparison.share > 0


def labelled(n, seed, text=True):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40, 9, n), "income": rng.normal(3, 1, n)})
    yes = rng.random(n) < 1 / (1 + np.exp(-(frame["age"] - 40) / 9 - frame["income"] + 3))
    frame["bought"] = np.where(yes, "yes", "no") if text else yes.astype(int)
    return frame.to_csv(index=False).encode()


@pytest.mark.slow
def test_text_labels_are_coded_and_said(app):
    """A text target under logistic regression: the chance of yes is modelled, and the page says so."""
    upload(app, labelled(500, 1), labelled(80, 2))
    key = session(app).tables.key[:12]
    app.selectbox(key=f"family-{key}").set_value("logistic").run()
    app.selectbox(key=f"target-{key}").set_value("bought").run()
    assert "Logistic regression of the chance that **bought** is **“yes”**" in words(app)
    assert session(app).problem.public.family.id == "logistic"


@pytest.mark.slow
def test_the_gallery_opens_with_a_result(app):
    """Every stored figure is on the wall, filters leave some, one opens at once with its trials; back leads there."""
    app.switch_page("pages/study/gallery.py").run()
    assert not app.exception and f"{len(figures())} of {len(figures())} figures" in words(app)
    app.segmented_control(key="gallery-paper").set_value("B").run()
    shown = [button.label for button in app.button if str(button.key).startswith("gallery-open-")]
    assert shown and all(label.startswith("B") for label in shown)
    app.button(key="gallery-open-B1").click().run()
    assert not app.exception and "trials, computed on" in words(app)
    assert app.selectbox(key="gallery-figure").value == "B1"
    app.button(key="gallery-all").click().run()
    assert app.button(key="gallery-open-B1") and not app.exception
    app.button(key="gallery-open-B2").click().run()
    app.selectbox(key="gallery-figure").set_value("B3k").run()
    assert not app.exception and "1.6 after whitening" in words(app)


@pytest.mark.slow
def test_the_local_page_collects_and_compares(app):
    """It opens on an example where the target is a number, on the open table where it is a label."""
    app.switch_page("pages/study/local.py").run()
    assert not app.exception and "Shown on the synthetic demo with labels" in words(app) and app.get("plotly_chart")
    by_name(app.switch_page("pages/work/data.py").run(), "demo-labels")
    app.switch_page("pages/study/local.py").run()
    assert not app.exception and "have no label" not in words(app)
    assert app.get("plotly_chart") and ":violet-badge" in words(app)
    assert any("estimate" in frame.value.columns for frame in app.dataframe)


@pytest.mark.slow
def test_the_plan_answers_both_ways(app):
    """Predicted widths of all methods, a verdict, and the budget for a wanted width."""
    go(app, "plan")
    assert not app.error and "times as precise as the public fit" in words(app)
    next(b for b in app.button if b.label.startswith("Which budget")).click().run()
    assert "It takes a total of" in words(app)
    next(n for n in app.number_input if n.label.startswith("Wanted")).set_value(1e-9)
    next(b for b in app.button if b.label.startswith("Which budget")).click().run()
    assert "no budget up to mu = 10 is enough" in words(app)
    app.select_slider(key="plan-mu").set_value(0.05).run()
    assert not app.exception


def plan_ridge(app) -> None:
    """Choose ``pmt-ridge`` at mu 0.5 on Plan: neither is what the page begins with."""
    go(app, "plan")
    app.selectbox(key="plan-method-gaussian").set_value("pmt-ridge").run()
    app.select_slider(key="plan-mu").set_value(0.5).run()


@pytest.mark.slow
def test_a_plan_is_carried_to_the_release(app):
    """Next from Plan: the Release page opens on its method and budget, and nothing is spent."""
    plan_ridge(app)
    app.button(key="plan-release").click().run()
    assert not app.exception
    assert app.selectbox(key="release-method-gaussian").value == "pmt-ridge"
    assert app.number_input(key="release-mu").value == 0.5
    assert not session(app).releases


@pytest.mark.slow
def test_the_audit_page_runs_and_attacks(app):
    """It opens on a stored run with its date; a sound method passes, a fault is refuted; results stay on the page."""
    app.switch_page("pages/study/audit.py").run()
    assert "last computed: 20" in words(app) and "none refuted" in words(app)
    (table,) = [frame.value for frame in app.dataframe if "result" in frame.value.columns]
    assert {"refuted", "not refuted"} <= set(table["result"])
    app.button(key="audit-run").click().run()
    assert not app.exception and "no violation found" in app.success[0].value
    app.button(key="audit-printed").click().run()
    assert not app.exception and len(app.error) == 6  # E5, E8, E11 three times, E12; the same on ours fail
    go(app, "data")
    app.switch_page("pages/study/audit.py").run()
    assert len(app.error) == 6


@pytest.mark.slow
def test_the_retrieval_page_adds_up(app):
    """Recycled and returned, every loss, relation and noise, without an error; the relation is said and converted."""
    app.switch_page("pages/study/retrieval.py").run()
    shown = {metric.label: metric.value for metric in app.metric if metric.value.startswith("ε")}
    assert not app.exception and "ε 0.5" in shown.values() and "ε 1" in shown.values()
    assert "The three parts add up to the planned epsilon, 4.38" in words(app)
    assert "replace-one" in words(app) and "plan under add-remove-one" in words(app)
    assert "From here on nothing is about the open table" in words(app), "figures of both parts have the same names"
    app.segmented_control(key="retrieval-choice").set_value("return").run()
    assert next(metric.value for metric in app.metric if metric.label == "Example: guarantee") == "ε 0.5"
    app.selectbox(key="retrieval-relation").set_value("add-remove-one").run()
    assert "Under replace-one the same release has epsilon = 1" in words(app)
    for loss in app.selectbox(key="retrieval-loss").options:
        for kind in app.selectbox(key="retrieval-delta").options[:2]:
            app.selectbox(key="retrieval-loss").set_value(loss)
            app.selectbox(key="retrieval-delta").set_value(kind).run()
            assert not app.exception and not app.error, (loss, kind)
    app.select_slider(key="retrieval-modulus").set_value(0.03).run()
    assert not app.exception and app.error[0].value.endswith("a larger budget.")


@pytest.mark.slow
def test_selection_is_shown_as_it_is(app):
    """Kept coefficients and ROC of six methods, the published ones marked as of the lab."""
    app.switch_page("pages/study/retrieval.py").run()
    app.button(key="selection-run").click().run()
    assert not app.exception and "their claim does not hold" in words(app)
    tables = [frame.value for frame in app.dataframe if "method" in frame.value.columns]
    assert {"dp-erm", "NAPP-VS+ (lab)", "without privacy"} <= set(tables[0]["method"])
    app.selectbox(key="selection-kind").set_value("the open table").run()
    app.button(key="selection-run").click().run()
    assert not app.exception and "their claim does not hold" in words(app)
    tables = [frame.value for frame in app.dataframe if "method" in frame.value.columns]
    assert {"dp-erm", "NAPP-VS+ (lab)", "without privacy"} <= set(tables[0]["method"])


@pytest.mark.slow
@pytest.mark.parametrize("half", [0, 1])
def test_every_lesson_runs(app, half):
    """Each lesson has a card, draws, says its sentence, asks and answers."""
    app.switch_page("pages/study/learn.py").run()
    assert all(app.button(key=f"lesson-{id}").label.endswith(lesson.title) for id, lesson in LESSONS.items())
    for id in list(LESSONS)[half::2]:
        app.query_params["lesson"] = id
        app.run()
        assert not app.exception, id
        assert len(app.get("plotly_chart")) == 1 and LESSONS[id].question in words(app)
        assert LESSONS[id].answer not in words(app)
    if half:
        app.query_params["lesson"] = "radius"
        app.run()
        app.slider(key="radius-at").set_value(0.6).run()
        assert "too small" in words(app)
        app.toggle(key="answer-radius").set_value(True).run()
        assert "the noise grows with the radius squared" in words(app) and "too small" in words(app)
        app.query_params["lesson"] = "whitening"
        app.run()
        app.query_params["lesson"] = "radius"
        app.run()
        assert not app.toggle(key="answer-radius").value, "an open answer closes with its lesson"


@pytest.mark.slow
def test_the_audit_runs_in_steps_and_can_be_stopped(app):
    """Each run of the page does some of it; Stop keeps what is done over what was stored."""
    app.switch_page("pages/study/audit.py").run()
    app.button(key="audit-all").click().run()
    assert not app.exception
    app.button(key="audit-stop").click().run()
    assert not app.exception and "audit-sweep" not in app.session_state
    record = app.session_state["audit-record"]
    assert len(record.audits) >= 30


def test_every_method_has_a_row(app):
    """One table with every method and every planted fault."""
    app.switch_page("pages/study/audit.py").run()
    table = next(box.value for box in app.dataframe if "method or fault" in box.value)
    named = set(table["method or fault"])
    assert named == {entry.title for entry in methods()} | {f.words for f in FAULTS.values()}


@pytest.mark.slow
def test_what_is_chosen_on_plan_goes_to_release_by_any_way(app):
    """Whoever goes on by the menu releases what was chosen, not the recommended method at mu 1."""
    plan_ridge(app)
    go(app, "release")
    assert app.selectbox(key="release-method-gaussian").value == "pmt-ridge"
    assert app.number_input(key="release-mu").value == 0.5
    assert "Plan: mu 0.5" in [link.label for link in app.get("page_link")]


@pytest.mark.slow
def test_other_tables_begin_with_their_own_method_and_budget(app):
    """What was planned on one table is no plan for the next, on no page."""
    plan_ridge(app)
    by_name(app.switch_page("pages/work/data.py").run(), "demo-labels")
    assert "planned" not in app.session_state
    go(app, "release")
    assert app.number_input(key="release-mu").value == 1.0
