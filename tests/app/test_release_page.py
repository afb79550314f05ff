"""The Release page: what is confirmed, what is spent, what is shown, what comes back in."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from pmtcore.accounting.budgets import ONLY_RESPONSES
from pmtcore.base.messages import ReleaseNote
from pmtcore.releases.record import Release
from pmtcore.report.checklist import checklist
from tests.app.conftest import go, words
from tests.app.test_pages import csv, do_release, session, upload


def confirmation(app):
    return next(box for box in app.checkbox if str(box.key).startswith("sure-"))


def bring(app, fields, name="c.json"):
    data = fields if isinstance(fields, bytes) else json.dumps(fields).encode()
    app.file_uploader(key="config-file").set_value((name, data, "application/json")).run()
    assert not app.exception
    return app


def traces(app, with_name):
    """Return the chart that has a trace of that name."""
    charts = [json.loads(chart.proto.spec) for chart in app.get("plotly_chart")]
    return next(c for c in charts if with_name in [trace.get("name") for trace in c["data"]])


@pytest.mark.parametrize(
    "change",
    [
        lambda app: app.number_input(key="release-mu").set_value(5.0).run(),
        lambda app: app.selectbox(key="release-method-gaussian").set_value("pmt-ridge").run(),
    ],
    ids=["budget", "method"],
)
def test_a_tick_counts_only_for_what_was_ticked(app, change):
    """Whoever confirmed mu = 1 has not confirmed mu = 5, nor another method."""
    go(app, "release")
    confirmation(app).check().run()
    change(app)
    assert not confirmation(app).value
    press(app)


@pytest.mark.parametrize("page", ["release", "explore"])
def test_the_button_waits_for_the_tick(app, page):
    """The button is never disabled, since a keyboard would skip it, and releases nothing without the tick."""
    go(app, page)
    press(app)


def press(app):
    """Press the button without a tick: it says what is missing, and nothing is spent."""
    button = next(b for b in app.button if str(b.key).startswith("go-"))
    before = len(app.warning)
    assert not button.disabled
    button.click().run()
    assert not app.exception and len(app.warning) == before + 1
    assert not session(app).releases and session(app).job is None


@pytest.mark.slow
def test_responses_alone_are_protected_only_where_that_was_declared(app):
    """Offered once the covariates are declared public, never chosen first, and what it does not protect is said."""
    go(app, "release")
    method = app.selectbox(key="release-method-gaussian")
    assert not any("response-moment" in option for option in method.options)
    session(app).problem_for(replace(session(app).choices, covariates="public"))
    app.run()
    method = app.selectbox(key="release-method-gaussian")
    assert method.value == "joint-pmt" and any("response-moment" in option for option in method.options)
    method.set_value("response-moment").run()
    assert not app.exception and not app.error
    assert ONLY_RESPONSES in words(app)
    confirmation(app).check().run()
    do_release(app)
    assert not app.exception and words(app).count(ONLY_RESPONSES) >= 1
    assert "replace-one-response" in words(app)
    session(app).problem_for(replace(session(app).choices, covariates="private"))
    go(app, "plan")
    go(app, "release")
    assert not app.exception


def test_more_rows_of_a_person_than_any_budget_protects(app):
    """A sentence in place of figures nobody could keep; nothing entered is lost."""
    go(app, "release")
    rows = next(box for box in app.number_input if box.label == "Rows that one person may have")
    rows.set_value(100_000).run()
    assert not app.exception and "lower the budget" in app.error[0].value
    rows = next(box for box in app.number_input if box.label == "Rows that one person may have")
    assert rows.value == 100_000
    rows.set_value(2).run()
    assert not app.error and "I know that this is for study: nothing is entered" in confirmation(app).label
    assert "mu\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}2 " in words(app)


@pytest.mark.slow
def test_a_spend_without_a_result_names_no_file_and_leaves_a_form_that_works(app, monkeypatch):
    """The key is used up, so the next confirmation has another one; a visitor reads no path of the server."""
    from pmtcore.releases import release as releasing

    upload(app)
    go(app, "release")
    used, real = session(app).next_request, releasing.release
    monkeypatch.setattr(releasing, "release", lambda *_, **__: (_ for _ in ()).throw(OSError(5, "x")))
    do_release(app)
    said = app.error[0].value
    assert "spent without a result" in said and ".db" not in said and "/" not in said
    assert session(app).next_request != used and not session(app).releases
    assert not confirmation(app).value, "below a button that is ready, the sentence would be missed and pressed again"
    app.run()
    assert not confirmation(app).value and not app.error
    monkeypatch.setattr(releasing, "release", real)
    do_release(app)
    assert not app.error and len(session(app).releases) == 1


def test_a_response_of_one_label_does_not_read_as_a_choice_of_rows(app):
    """A moment of labels counts one of them as 1; no row is left out, and the confirmation must not sound so."""
    rows = [f"{k % 13 + k / 1000:.3f},{k % 7 + k / 900:.3f},{'yes' if k % 3 else 'no'}" for k in range(490)]
    upload(app, *("\n".join(("a,b,y", *some)).encode() for some in (rows[:400], rows[400:])))
    go(app, "explore")
    assert not app.error, app.error[0].value
    assert "; y = “yes” counts as 1" in confirmation(app).label


@pytest.mark.slow
def test_a_preview_is_computed_once(app, monkeypatch):
    """Ticks and page changes read what was computed; another budget is another preview, another table too."""
    from pages.elements import session as module

    asked = []
    real = module.preview
    monkeypatch.setattr(module, "preview", lambda problem, request: asked.append(request) or real(problem, request))
    # Previews of tables opened by name outlive a session: the tests before this one, in this process, have had some.
    monkeypatch.setattr(module, "_of_named_tables", module._of_own_tables())
    go(app, "release")
    confirmation(app).check().run()
    go(app, "plan")
    go(app, "release")
    assert len(asked) == 1
    app.number_input(key="release-mu").set_value(2.0).run()
    assert len(asked) == 2
    session(app).problem_for(replace(session(app).choices, features=("x1", "x2")))
    go(app, "release")
    assert len(asked) == 3 and not app.exception


def test_a_tick_counts_only_for_its_table(app):
    """Another table is another question."""
    go(app, "release")
    confirmation(app).check().run()
    go(app, "data")
    upload(app)
    go(app, "release")
    assert not confirmation(app).value


def test_every_lab_method_is_listed_with_its_reason(app):
    """Lab methods are not on offer, and the page says why."""
    go(app, "release")
    offered = app.selectbox(key="release-method-gaussian").options
    assert not any("dp-ridge)" in option for option in offered)
    assert "computed from private rows without noise" in words(app)


@pytest.mark.slow
def test_each_table_has_its_own_form_and_its_own_release(app):
    """With other tables open no release from before stands there, and no purpose; with the first ones both are back."""
    go(app, "release")
    do_release(app)
    (first,) = session(app).releases
    go(app, "data")
    upload(app)
    go(app, "release")
    purpose = next(one for one in app.text_input if one.label == "Purpose")
    assert any(str(button.key).startswith("go-") for button in app.button) and session(app).next_request != first
    purpose.set_value("of the second table").run()
    do_release(app)
    _, second = session(app).releases
    go(app, "report")
    assert next(one for one in app.selectbox if one.label == "Release").value == second
    go(app, "data")
    upload(app, csv(410, 9, secret=True), csv(60, 6))
    go(app, "release")
    assert not next(one for one in app.text_input if one.label == "Purpose").value
    go(app, "data")
    app.segmented_control(key="source").set_value("demo").run()
    go(app, "release")
    assert session(app).next_request == first and not any(str(button.key).startswith("go-") for button in app.button)


@pytest.mark.slow
def test_a_release_of_earlier_choices_says_so(app):
    """Whoever leaves a column out on Data is not shown the release before as one of what is chosen now."""
    go(app, "release")
    do_release(app)
    made = session(app)
    assert not any("choices on Data" in one.value for one in app.warning)
    made.set_choices(replace(made.problem.choices, features=("x1", "x2")))
    go(app, "release")
    assert any("choices on Data" in one.value for one in app.warning)
    app.button(key="release-other").click().run()
    assert not any("choices on Data" in one.value for one in app.warning) and len(made.releases) == 1


@pytest.mark.slow
def test_rows_unlike_the_public_ones_are_named_at_the_verdict(app, monkeypatch):
    """What a method's statistics show of its rows stands beside whether the figures may leave, not in a folded list."""
    go(app, "release")
    do_release(app)
    alarm = ReleaseNote.UNLIKE_OR_FALSE_ALARM.sentence()
    assert alarm not in words(app)
    made = session(app)
    (id,) = made.releases
    made.releases[id] = replace(made.releases[id], disagrees=True)
    app.run()
    (box,) = [one for one in (*app.warning, *app.error, *app.success) if alarm in one.value]
    assert "lab figure" in box.value and not app.exception  # one box, and none that praises above it


@pytest.mark.slow
def test_the_same_seed_repeats_a_lab_release(app):
    """The lab's seed makes the same figures again; the warning stands before the button too."""
    go(app, "release")
    app.toggle(key="release-seeded").set_value(True).run()
    assert "may not leave" in app.warning[0].value
    do_release(app)
    app.button(key="release-new").click().run()
    assert app.toggle(key="release-seeded").value
    do_release(app)
    first, second = session(app).releases.values()
    assert first.as_dict() == second.as_dict()
    assert first.standing.value == "lab"


@pytest.mark.slow
def test_without_a_seed_no_release_is_like_another(app):
    """The noise of a release is fresh."""
    go(app, "release")
    do_release(app)
    app.button(key="release-new").click().run()
    do_release(app)
    first, second = session(app).releases.values()
    assert (first.coefficients != second.coefficients).all()


def test_public_only_costs_nothing(app):
    """The public fit asks for no budget and leaves the account alone."""
    go(app, "release")
    app.selectbox(key="release-method-gaussian").set_value("public-only").run()
    assert confirmation(app).label.startswith("I spend nothing")
    do_release(app)
    assert session(app).spent_releases == []
    assert "**nothing yet**" in words(app)


def test_forest_plot_parts_and_words(app):
    """A release shows its bands, their parts apart, and a plain line for each coefficient."""
    upload(app)
    go(app, "release")
    do_release(app)
    assert (
        traces(app, "95 % band")
        and traces(app, "public fit alone (its band is not drawn)")
        and traces(app, "truncation")
    )
    assert "the privacy noise moves it by about" in words(app)
    assert all(
        f"- {name}: " in words(app)
        for name in (
            "Standard deviation of the residuals",
            "R squared",
            "Condition number of the whitened second moment",
        )
    )


@pytest.mark.slow
def test_the_slider_reads_the_released_path(app):
    """Any penalty of the path: its coefficients are those of the record, and nothing is spent."""
    go(app, "release")
    do_release(app)
    (result,) = session(app).releases.values()
    path = result.released["ridge_path"]
    slider = app.select_slider(key="ridge-lam")
    slider.set_value(slider.options[10] if not isinstance(slider.options[10], str) else float(slider.options[10])).run()
    rows = [frame.value for frame in app.dataframe if list(frame.value.columns)[:1] == ["penalty"]]
    (row,) = [frame for frame in rows if len(frame) == 1]
    assert row.iloc[0].tolist() == [path["lam"][10], *path["coefficients"][10]]
    assert len(session(app).releases) == 1


def test_moment_has_a_picture_and_no_coefficients(app):
    """A released moment is a heatmap with a table; there is nothing to download as coefficients."""
    go(app, "release")
    app.selectbox(key="release-method-gaussian").set_value("pmt-moment").run()
    do_release(app)
    kinds = [json.loads(chart.proto.spec)["data"][0]["type"] for chart in app.get("plotly_chart")]
    assert kinds == ["heatmap"]
    assert {b.label for b in app.get("download_button")} >= {"Record (JSON)", "Configuration (JSON)"}
    assert "Coefficients (CSV)" not in {b.label for b in app.get("download_button")}


@pytest.mark.slow
def test_earlier_releases_add_up(app):
    """The list of this session's releases has each with its mu, and the total."""
    go(app, "release")
    for _ in range(2):
        do_release(app)
        app.button(key="release-new").click().run()
    table = next(frame.value for frame in app.dataframe if "standing" in frame.value.columns)
    assert table["mu"].tolist() == [1.0, 1.0]
    assert "Together mu = 1.414" in words(app)


@pytest.mark.slow
def test_what_is_exported_comes_back_the_same(app):
    """Export, import in a new form, release: the two requests are equal to the last digit."""
    go(app, "release")
    app.selectbox(key="release-method-gaussian").set_value("pmt-ridge").run()
    app.segmented_control(key="release-unit").set_value("epsilon").run()
    app.number_input(key="release-epsilon").set_value(2.7).run()
    app.text_input(key="release-delta").set_value("1.2345678e-7").run()
    app.number_input(key="release-pmt-ridge-lam").set_value(0.3).run()
    do_release(app)
    (request,) = session(app).requests.values()
    app.button(key="release-new").click().run()
    app.selectbox(key="release-method-gaussian").set_value("joint-pmt").run()
    bring(app, request.as_dict())
    do_release(app)
    first, second = session(app).requests.values()
    assert first.as_dict() == second.as_dict()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (b"not json", "not JSON"),
        (b"[1, 2]", "one JSON object"),
        ({"method": "dp-ridge", "mu": 1}, "dp-ridge, which cannot be released"),
        ({"method": "nobody", "mu": 1}, "no method 'nobody'"),
        ({"method": "joint-pmt", "mu": 0}, "mu must be between"),
        ({"method": "joint-pmt", "mu": 1, "delta": 2}, "delta must be"),
        ({"method": "joint-pmt", "mu": 1, "parameters": {"bogus": 1}}, "no parameter"),
        ({"method": "joint-pmt", "mu": 1, "rows": "/etc/passwd"}, "it has"),
    ],
)
def test_a_bad_configuration_is_one_sentence(app, fields, sentence):
    """A file that is no configuration changes nothing and says what is wrong."""
    go(app, "release")
    bring(app, fields)
    (error,) = app.error
    assert sentence in error.value
    assert app.selectbox(key="release-method-gaussian").value == "joint-pmt"
    assert app.number_input(key="release-mu").value == 1.0


def test_a_configuration_with_delta_as_text(app):
    """1e-6 in quotes is read as the number it is."""
    go(app, "release")
    bring(app, {"method": "joint-pmt", "mu": 1, "delta": "1e-6"})
    assert not app.error
    assert float(app.text_input(key="release-delta").value) == 1e-6


@pytest.mark.slow
def test_inputs_survive_a_page_change(app):
    """Method, budget and seed are still there after a look at another page."""
    go(app, "release")
    app.selectbox(key="release-method-gaussian").set_value("pmt-ridge").run()
    app.number_input(key="release-mu").set_value(2.0).run()
    app.toggle(key="release-seeded").set_value(True).run()
    go(app, "conditioning")
    go(app, "release")
    assert app.selectbox(key="release-method-gaussian").value == "pmt-ridge"
    assert app.number_input(key="release-mu").value == 2.0
    assert app.toggle(key="release-seeded").value


def test_open_findings_of_data_are_counted_before_a_spend(app):
    """A date among the features has its own box on Data, and Release leads there."""
    days = [f"2020-01-{day % 28 + 1:02}" for day in range(300)]
    rows = [f"{at % 7},{days[at]},{at % 5 + 0.1 * (at % 7)}" for at in range(300)]
    private, public = ("\n".join(["a,day,y", *some]).encode() for some in (rows, rows[:60]))
    upload(app, private, public)
    go(app, "data")
    (box,) = (one.value for one in app.warning if "1970-01-01" in one.value)
    go(app, "release")
    assert not app.exception and "steady change with each day" in box
    assert any(
        re.fullmatch("[0-9]+ open questions?(, [0-9]+ warnings?)? on Data", link.label) for link in app.get("page_link")
    )


@pytest.mark.slow
@pytest.mark.parametrize("switched_on", [False, True])
def test_the_record_says_whether_exact_private_figures_were_switched_on(app, switched_on):
    """Also where they were off again when the button was pressed; the report's questions say it in words."""
    upload(app)
    if switched_on:
        app.sidebar.toggle(key="curator").set_value(True).run()
        app.sidebar.toggle(key="curator").set_value(False).run()
    go(app, "release")
    do_release(app)
    (made,) = session(app).releases.values()
    record = made.as_dict()
    assert record["exact_figures_shown"] is switched_on
    assert Release.from_dict(record).exact_figures_shown is switched_on
    unprotected = dict(checklist(record))["Unprotected quantities"]
    assert ("outside the guarantee" in unprotected) is switched_on


def test_a_release_from_rows_that_anybody_may_study_says_nothing_of_exact_figures(app):
    """They are on every page then, behind no switch."""
    go(app, "release")
    do_release(app)
    (made,) = session(app).releases.values()
    assert "exact_figures_shown" not in made.as_dict()
