"""Figures of the Release and Compare pages, checked by their JSON: what is drawn is what the record says."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import pytest

import pmtcore as pc
from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours, attacker_power
from pmtcore.auditing.comparison import Comparison, Summary
from pmtcore.auditing.diagnostics import QUANTILES
from pmtcore.base.labels import Label
from pmtcore.base.messages import ReleaseNote, TableNote, kind_of
from pmtcore.base.private_rows import Curator
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.facts import Facts
from pmtcore.methods.registry import method, methods
from pmtcore.papers import lessons
from pmtcore.papers import lessons_papers as papers
from pmtcore.papers.figures import learn
from pmtcore.public.moments import INTERCEPT, Conditioning
from pmtcore.releases.planning import verdict
from pmtcore.releases.record import Release
from pmtcore.releases.release import Preview, Request, preview, release
from pmtcore.report import drawings
from pmtcore.report.figures import coefficients as forest
from pmtcore.report.figures import compare, conditioning, explore, style
from pmtcore.report.figures import release as figures
from pmtcore.report.figures.explore import _along_its_ray
from pmtcore.report.figures.style import finish, log_axis
from pmtcore.report.names import title
from pmtcore.report.rows import BAND_OF_ALL, axis_ends, clarity, round_steps, source, step_words, steps
from pmtcore.tables.named import entry, load
from pmtcore.tables.problem import Problem, default_choices, prepare
from tests.helpers import suited


@pytest.fixture(scope="module")
def problem() -> Problem:
    private, public, reasons = load("demo", n=500, m=60, d=3)
    return prepare(private, public, default_choices(private, public), lab_reasons=reasons)


def released(problem: Problem, id: str = "joint-pmt", mu: float = 1.0) -> Release:
    return release(problem, Request(id, Budget(mu)), SeededNoise(5))


def looked(problem: Problem, id: str = "joint-pmt", mu: float = 1.0) -> Preview:
    return preview(problem, Request(id, Budget(mu)))


def traces(figure: go.Figure) -> dict[str, dict[str, Any]]:
    """Return the figure as a browser gets it: its traces by name, arrays as lists."""
    plain = json.loads(go.Figure(figure).to_json())
    for trace, own in zip(plain["data"], figure.data, strict=True):
        for axis in ("x", "y"):
            if getattr(own, axis) is not None:
                trace[axis] = list(getattr(own, axis))
    return {trace.get("name", ""): trace for trace in plain["data"]}


def drawn_forest(result: Release) -> go.Figure:
    unit = forest.units(result)["sd"]
    return forest.forest(forest.table(result, unit), unit)


def test_forest_plot_is_the_record(problem):
    """Points, bands and public fit are the record's figures times the public spread; the intercept is in the table."""
    release_record = released(problem)
    shown = [j for j, name in enumerate(release_record.names) if name != INTERCEPT]
    spread = np.asarray(release_record.public.spread)[shown]
    unit = forest.units(release_record)["sd"]
    table = forest.table(release_record, unit)
    assert set(table["coefficient"]) == set(release_record.names) and table["coefficient"].iloc[-1] == INTERCEPT
    drawn = traces(forest.forest(table, unit))
    assert list(drawn) == [
        "public fit alone (its band is not drawn)",
        "released",
        "95 % band",
    ]  # the band comes last: over the points
    assert drawn["released"]["y"] == [release_record.names[j] for j in shown]
    np.testing.assert_allclose(drawn["released"]["x"], release_record.coefficients[shown] * spread)
    ends = np.asarray(drawn["95 % band"]["x"]).reshape(-1, 3)
    np.testing.assert_allclose(ends[:, 0], release_record.bands.low[shown] * spread)
    np.testing.assert_allclose(ends[:, 1], release_record.bands.high[shown] * spread)
    assert np.isnan(ends[:, 2]).all()
    assert any("privacy sd" in line for line in drawn["released"]["customdata"][0])


def test_a_round_step_is_the_power_of_ten_next_to_a_standard_deviation():
    """Ten years of age, ten thousand of an income; a level and a column of 0 and 1 are there or not."""
    names = ["age", "income", "share", "smoker", "town=north", INTERCEPT]
    result = round_steps(names, [21.0, 14_000.0, 0.02, 0.4, 0.3, 0.0], {"smoker"})
    assert result == {"age": 10, "income": 1e4, "share": 0.01, "smoker": 1, "town=north": 1, INTERCEPT: 1}
    table = pd.DataFrame(
        {
            "coefficient": ["age", "town=north (clearest of 3 effects)"],
            "column": ["age", "town"],
            forest.STEP: [10.0, 1.0],
        }
    )
    assert forest.row_names(table) == ["age, 10 more", "town=north (clearest of 3 effects)"]


def test_units_are_the_same_in_chart_and_table():
    """Odds ratios are e to the log-odds, their neutral value is 1, per unit of the table is the record itself."""
    private, public, reasons = load("demo-labels", n=2000, m=100, d=3)
    problem = prepare(private, public, replace(entry("demo-labels").choices), lab_reasons=reasons)
    release_record = released(problem, "pmt-objective", 3.0)
    units = forest.units(release_record)
    assert set(units) == {"sd", "round", "table", "sd-ratio", "round-ratio", "table-ratio"}
    plain = forest.table(release_record, units["table"]).set_index("coefficient")
    ratio = forest.table(release_record, units["table-ratio"]).set_index("coefficient")
    np.testing.assert_allclose(plain.loc[list(release_record.names), "value"], release_record.coefficients)
    np.testing.assert_allclose(ratio["value"], np.exp(plain["value"]))
    np.testing.assert_allclose(ratio["low (95 %)"], np.exp(plain["low (95 %)"]))
    rounded = forest.table(release_record, units["round-ratio"]).set_index("coefficient")
    np.testing.assert_allclose(rounded["value"], np.exp(plain["value"] * rounded[forest.STEP]))
    drawn = forest.forest(forest.table(release_record, units["sd-ratio"]), units["sd-ratio"])
    assert drawn.layout.xaxis.type == "log" and drawn.layout.shapes[0].x0 == 1.0


def test_all_coefficients_can_be_found():
    """None is left out in silence: search, orders and groups keep every row that fits."""
    names = ["town=north", "town=south", "age", "agent"]
    unit = forest.DisplayUnit("sd", "w", "spread", False)
    table = pd.DataFrame({"coefficient": names, "column": [source(n) for n in names], "value": [0.1, -3.0, 2.0, 1.0]})
    assert list(forest.matching_rows(table, unit, "AGE")["coefficient"]) == ["age", "agent"]
    assert list(forest.matching_rows(table, unit, order="size")["coefficient"]) == [
        "town=south",
        "age",
        "agent",
        "town=north",
    ]
    assert list(forest.matching_rows(table, unit, order="source")["column"]) == ["age", "agent", "town", "town"]
    assert forest.note(table, table.head(2)) == "The picture has 2 of the 4 coefficients, the table all."
    many = pd.concat([table] * 40)
    assert "first 120" in forest.note(many, many)


def test_many_levels_fold_into_the_clearest():
    """One row for each column, of its levels the one furthest from zero in half-widths; nothing else is dropped."""
    unit = forest.DisplayUnit("sd", "w", "spread", False)
    names = ["age", "town=north", "town=south", "town=west"]
    table = pd.DataFrame(
        {
            "coefficient": names,
            "column": [source(n) for n in names],
            "value": [1.0, 5.0, 1.0, -0.5],
            "low (95 %)": [0.5, -5.0, 0.8, -1.5],
            "high (95 %)": [1.5, 15.0, 1.2, 0.5],
        }
    )
    by_size = forest.one_row_per_column(forest.matching_rows(table, unit, order="size"), unit, "size")
    assert list(by_size["coefficient"]) == ["town=north (largest of 3 effects)", "age"], "and in their order"
    folded = forest.one_row_per_column(table, unit)
    assert list(folded["column"]) == ["age", "town"] and folded["coefficient"][1].startswith(
        "town=south (clearest of 3"
    )
    assert forest.matching_rows(table, unit, order="strength")["coefficient"].iloc[0] == "town=south"


def test_small_pictures_hold_every_column_on_one_axis():
    """Numbers together, each column of categories apart; of many levels the clearest, and the title says so."""
    unit = forest.DisplayUnit("sd", "w", "spread", False)
    names = ["age", "pay", *(f"town=t{j}" for j in range(12)), "<b>=x", "<b>=y"]
    values = np.linspace(-1, 1, len(names))
    table = pd.DataFrame({"coefficient": names, "column": [source(n) for n in names], "value": values})
    table["low (95 %)"], table["high (95 %)"] = values - 0.1, values + 0.1
    for drawn in (forest.multiples(table, unit), forest.multiples(table.assign(value=np.exp(values)), unit)):
        titles = [part.text for part in drawn.layout.annotations]
        assert titles == ["numbers, two levels", "town: clearest 8 of 12, bands for all", "&lt;b&gt;"]
        marks = [list(trace.y) for trace in drawn.data if trace.mode == "markers"]
        assert sorted(marks[0]) == ["age", "pay"] and len(marks[1]) == 8 and sorted(marks[2]) == ["x", "y"]
        ranges = {axis.range for axis in drawn.select_xaxes()}
        assert len(ranges) == 1
    assert forest.multiples(table.iloc[:2], unit).layout.annotations[0].text.startswith("numbers")


def test_axes_and_legend_of_a_run_are_there_before_its_results():
    """The horizontal axis and the legend do not change between no result, one, and all."""
    methods_run, places = ["joint-pmt", "public-only"], (0.1, 1.0, 10.0)
    everything = [Summary(id, mu, mu, 0.2, 0.2, 0.01, 0.15, 0.3, 5) for id in methods_run for mu in places]
    drawn = [
        compare.comparison(everything[:count], methods=methods_run, axis_values=places)
        for count in (0, 1, len(everything))
    ]
    assert len({figure.layout.xaxis.range for figure in drawn}) == 1
    assert drawn[1].layout.yaxis.range == drawn[2].layout.yaxis.range
    assert len({tuple(t.name for t in figure.data if t.showlegend is not False) for figure in drawn}) == 1


def test_one_large_effect_does_not_squeeze_the_others():
    """The axis keeps to what most need; the outlier's figure stands at the edge; without one nothing changes."""
    unit = forest.DisplayUnit("sd", "w", "spread", False)
    values = [1.0, -1.2, 0.8, 0.9, 500.0]
    table = pd.DataFrame({"coefficient": list("abcde"), "column": list("abcde"), "value": values})
    drawn = forest.forest(table, unit)
    assert drawn.layout.xaxis.range[1] < 50 and "500 →" in [a.text for a in drawn.layout.annotations]
    assert forest.forest(table.head(4), unit).layout.xaxis.range is None
    limits = table.assign(**{"low (95 %)": table["value"] - 0.1, "high (95 %)": table["value"] + 0.1})
    assert "released: 500.00 (499.90 to 500.10) →" in [a.text for a in forest.forest(limits, unit).layout.annotations]


@pytest.mark.parametrize("ratio", [False, True])
@pytest.mark.parametrize("count", [1, 3, 40])
def test_names_stand_above_their_marks(count, ratio):
    """Names take no width from the marks, every row has its own, and the picture grows with their number."""
    unit = forest.DisplayUnit("sd", "w", "spread", ratio)
    names = [f"education={'a' * 50}{at}" for at in range(count)]
    values = np.linspace(0.5, 2, count)
    table = pd.DataFrame({"coefficient": names, "column": names, "value": values})
    table["low (95 %)"], table["high (95 %)"] = values - 0.4, values + 0.4
    apart = table.assign(**{"privacy sd": values, "sampling sd": values})
    for drawn in (forest.forest(table, unit), figures.parts(apart, unit)):
        labels = {note.y: note.text for note in drawn.layout.annotations if note.xref == "x domain"}
        assert list(labels) == list(range(count)) and len(set(labels.values())) == count
        assert drawn.layout.yaxis.showticklabels is False and len(drawn.layout.yaxis.categoryarray) == count
        assert drawn.layout.height > 30 * count


@pytest.mark.parametrize("count", [7, 8])
def test_a_picture_of_rows_takes_no_room_for_a_legend_that_it_does_not_have(count):
    """The same rows with one kind of mark are lower by a legend; from eight rows on each takes fewer pixels."""
    names = [f"x{j}" for j in range(count)]

    def drawn(kinds: int) -> go.Figure:
        figure = go.Figure()
        for kind in range(kinds):
            figure.add_scatter(x=list(range(count)), y=names, mode="markers", name=f"kind {kind}")
        figure.add_vline(x=0)
        return style.finish_rows(figure, names, "change of y")

    alone, two = drawn(1), drawn(2)
    assert two.layout.height - alone.layout.height == 46
    assert two.layout.legend.tracegroupgap == 0, "groups of a legend are as close as its lines"
    assert drawn(0).layout.height == alone.layout.height
    assert round(alone.layout.annotations[0].yshift) == (6 if count < 8 else 4)
    lines = [(shape.yref, round((shape.y0 + shape.y1) / 2, 9)) for shape in alone.layout.shapes]
    assert lines == [("y", at) for at in range(count)], "no line goes through names"


def test_how_many_trials_are_behind_a_picture():
    """A run that was stopped in its first round says what is there, not the least of it."""
    made = [
        Summary("joint-pmt", mu, mu, 1.0, 1.0, 0.1, 0.9, 1.1, trials) for mu, trials in ((0.5, 7), (1.0, 7), (2.0, 3))
    ]
    assert compare.trials_words(made[:2]) == "7 trials for each method and place"
    assert compare.trials_words(made).startswith("Between 3 and 7 trials")


def test_curves_of_a_lesson_are_told_apart():
    """By colour and by dash, however many there are."""
    for result in (papers.objective(0.3, 1.0), papers.moor(1.0, 1.0)):
        lines = [t.line for t in learn.line(result, "x", "y").data if t.mode == "lines"]
        assert len({line.color for line in lines}) == len({line.dash for line in lines}) == len(result.curves) == 3


def test_parts_are_the_record(problem):
    """The three parts of each standard error are drawn apart, in the forest plot's units and order."""
    release_record = released(problem)
    for unit, spread in (("sd", release_record.public.spread[1:]), ("table", 1.0)):
        chosen = forest.units(release_record)[unit]
        drawn = traces(figures.parts(forest.table(release_record, chosen), chosen))
        assert list(drawn) == ["privacy", "sampling", "truncation"]
        for part in drawn:
            np.testing.assert_allclose(drawn[part]["x"], getattr(release_record.bands, part)[1:] * spread)
    hatches = {trace["marker"]["pattern"]["shape"] for trace in drawn.values()}
    assert len(hatches) == 3, "the parts are told apart by more than colour"


def test_no_bands_no_parts(problem):
    """A method without bands has a forest plot without them, and no picture of parts."""
    entry = next(e for e in methods() if e.gives_coefficients and released_bands(problem, e.id) is None)
    release_record = released(problem, entry.id)
    chosen = forest.units(release_record)["sd"]
    assert figures.parts(forest.table(release_record, chosen), chosen) is None
    assert "95 % band" not in traces(drawn_forest(release_record))


def released_bands(problem: Problem, id: str):
    return None if method(id).standing.value == "lab" else released(problem, id).bands


@pytest.mark.parametrize("id", [e.id for e in methods() if e.standing.value == "sound"])
def test_every_sound_method_has_its_pictures(problem, id):
    """No sound method breaks a figure, and every figure has a table."""
    if "gaussian" not in method(id).families:
        private, public, reasons = load("demo-labels", n=500, m=60, d=3)
        problem = prepare(private, public, entry("demo-labels").choices, lab_reasons=reasons)
    problem = suited(method(id), problem)
    result, prospect = released(problem, id), looked(problem, id)
    assert isinstance(figures.results(result), dict)
    assert figures.facts_words(prospect.facts, len(prospect.names)) or id == "public-only"
    table = figures.predicted_table(prospect)
    assert list(table["coefficient"]) == list(problem.public.names)
    if result.names:
        assert len(figures.coefficients_table(result)) == len(result.names)
        traces(drawn_forest(result))
    else:
        assert np.shape(figures.moment_table(result)) == (problem.public.d, problem.public.d + 1)


def test_predicted_is_relative_to_the_public_fit(problem):
    """Bars are predicted standard errors over those of the public fit; at 1 stands the line."""
    result = looked(problem)
    figure = figures.predicted(result)
    drawn = traces(figure)
    np.testing.assert_allclose(drawn["privacy"]["x"], result.predicted.privacy / result.public_alone.total)
    np.testing.assert_allclose(drawn["sampling"]["x"], result.predicted.sampling / result.public_alone.total)
    assert {shape.x0 for shape in figure.layout.shapes} == {1}
    assert sum(bool(shape.showlegend) for shape in figure.layout.shapes) == 1, "one entry of the legend, not one a row"


def test_predicted_words_follow_the_budget(problem):
    """A larger budget lengthens the errors less, and the public fit says that it is one."""
    assert "times what sampling alone gives" in figures.predicted_words(looked(problem, mu=0.01))
    assert any(
        w in figures.predicted_words(looked(problem, mu=50.0)) for w in ("widen the typical band", "next to nothing")
    )
    assert "the public fit itself" in figures.predicted_words(looked(problem, "public-only"))
    assert figures.predicted_words(looked(problem, "pmt-moment")) == ""


def test_a_swamped_release_is_not_called_cheap(problem):
    """Where noise is about as large as what is released, no sentence says that it widens bands by little."""
    cheap = replace(looked(problem, mu=50.0), facts=Facts(noise_over_signal=0.8, predicted_truncation_rate=0.8))
    assert cheap.facts.noise_dominates
    assert not re.search("widen|next to nothing", figures.predicted_words(cheap))


@pytest.mark.parametrize(("mu", "objects"), [(0.001, True), (50.0, False)], ids=["swamped", "ample"])
def test_a_release_that_gains_nothing_is_called_so(problem, mu, objects):
    """Where noise says nothing, the estimate is the public fit: as precise as that alone, neither better nor worse."""
    kinds = [kind_of(objection) for objection in looked(problem, mu=mu).verdict]
    assert (ReleaseNote.PUBLIC_FIT_MAY_DO_AS_WELL in kinds) == objects
    assert ReleaseNote.PUBLIC_FIT_MAY_DO_BETTER not in kinds


@pytest.mark.parametrize("mu", [0.05, 0.3, 1.0, 10.0])
def test_release_and_plan_promise_the_same(problem, mu):
    """The precision before a spend is the one that Plan states, with its range, and both are predictions."""
    said = figures.predicted_words(looked(problem, mu=mu))
    planned = verdict(problem.public, problem.private.n, mu, "joint-pmt")
    assert "is predicted to" in said
    stated = [re.search(r"[\d. to]+times as precise[^:;,]*?eight of ten real tables", text) for text in (said, planned)]
    if stated[1] is not None:
        assert stated[0][0].strip() == stated[1][0].strip()
        *gain, low, high = map(float, re.findall(r"\d[\d.]*", stated[0][0]))
        assert low <= (gain or [low])[0] <= high


@pytest.mark.parametrize(
    ("delta", "said"), [(1e-5, False), (1e-3, False), (2e-3, True), (0.5, True)], ids=["far", "below", "at", "half"]
)
def test_a_delta_of_a_whole_row_is_named(problem, delta, said):
    """From one over the number of rows on, before the spend and in the record."""
    asked = Request("joint-pmt", Budget(1.0), delta=delta)
    assert (TableNote.LARGE_DELTA in map(kind_of, preview(problem, asked).verdict)) is said
    assert (TableNote.LARGE_DELTA in map(kind_of, release(problem, asked, SeededNoise(1)).notes)) is said


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_tradeoff_is_the_guarantee(mu):
    """The curve rises from guessing to certainty with the budget, and the marked point is the sentence's."""
    drawn = traces(figures.tradeoff(mu))
    curve = drawn["best attacker"]
    np.testing.assert_allclose(curve["y"], attacker_power(mu, np.asarray(curve["x"])))
    assert all(y >= x for x, y in zip(curve["x"], curve["y"], strict=True))
    (marked,) = (name for name in drawn if name.endswith(" at 5 % false alarms"))
    assert drawn[marked]["y"] == [float(attacker_power(mu, 0.05))]
    assert marked.removesuffix(" at 5 % false alarms") in Guarantee(mu, Neighbours.REPLACE_ONE, 1e-6).words
    table = figures.tradeoff_table(mu)
    assert table["detections, at most"].is_monotonic_increasing


def test_ridge_path_and_its_slider(problem):
    """The path drawn is the released one; a penalty of the slider reads its row."""
    release_record = released(problem)
    path = release_record.released["ridge_path"]
    drawn = traces(figures.ridge_path(release_record, 1.0))
    assert set(drawn) == set(release_record.names) - {INTERCEPT}
    j = 1
    np.testing.assert_allclose(
        drawn[release_record.names[j]]["y"], np.asarray(path["coefficients"])[:, j] * release_record.public.spread[j]
    )
    for at, lam in enumerate(figures.penalties(release_record)):
        row = figures.at_penalty(release_record, lam)
        np.testing.assert_allclose(row.to_numpy()[0], [path["lam"][at], *path["coefficients"][at]])


def test_moment_is_scaled_to_its_diagonal(problem):
    """The heatmap has ones on the diagonal; the table has the released entries."""
    release_record = released(problem, "pmt-moment")
    (heat,) = figures.moment(release_record).data
    np.testing.assert_allclose(np.diag(np.asarray(heat.z)), 1.0)
    np.testing.assert_allclose(figures.moment_table(release_record).iloc[:, 1:], release_record.released["moment"])


def summaries(problem: Problem) -> list[Summary]:
    ids = ["joint-pmt", "pmt-ridge", "non-private", "public-only"]
    run = Comparison(problem, ids, [0.5, 5.0], trials=20, seed=1).run()
    return run.summaries().reveal(Curator("synthetic rows in a test"))


def test_comparison_is_its_summaries(problem):
    """A median line and a 10 to 90 % band for each method, both axes log; the reference itself is not drawn."""
    result = summaries(problem)
    figure = compare.comparison(result)
    drawn = {t.name: t for t in figure.data if t.name}
    assert set(drawn) == {title(id) for id in ("joint-pmt", "pmt-ridge", "public-only")}
    assert (figure.layout.xaxis.type, figure.layout.yaxis.type) == ("log", "log")
    for id in ("joint-pmt", "pmt-ridge", "public-only"):
        line, rows = drawn[title(id)], [s for s in result if s.method == id]
        assert line.line.color == method(id).colour
        assert list(line.x) == [0.5, 5.0]
        assert list(line.y) == [s.error_median for s in rows]
        bands = [t for t in figure.data if t.legendgroup == id and not t.name]
        if id == "public-only":
            assert line.line.dash == "dash" and not bands
        else:
            assert [list(b.y) for b in bands] == [[s.error_high for s in rows], [s.error_low for s in rows]]
    assert drawn[title("joint-pmt")].marker.symbol != drawn[title("pmt-ridge")].marker.symbol


def test_comparison_table_has_all_rows(problem):
    """Every method and budget has a row, the reference with distance 0 too."""
    table = compare.comparison_table(summaries(problem))
    assert len(table) == 8
    assert list(table.columns) == [
        "method",
        "total mu",
        "median",
        "10 %",
        "90 %",
        "mean",
        "sd",
        "trials",
    ]
    assert (table.loc[table["method"] == title("non-private"), "median"] < 1e-9).all()


def test_no_axis_title_is_cut():
    """A long title is broken into lines; only a name without end is cut, and no markup in it is one of ours."""
    long = "change of the log-odds of income for one standard deviation of the feature"
    figure = style.finish(go.Figure(), long, "<b>" + 1000 * "x")
    assert figure.layout.xaxis.title.text.replace("<br>", " ") == long
    assert "<b>" not in figure.layout.yaxis.title.text and len(figure.layout.yaxis.title.text) < 300


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ((1.0, 2.0, 5e4), 1),
        ((3.0, 20.0), "D2"),
        ((0.18, 0.31), "L0.05"),
        ((7.0, 7.0), "D2"),
        ((1e-4, 1e12), 2),
        ((1e-40, 1.0), 5),
        ((0.0, np.nan), 1),
        ((), 1),
    ],
)
def test_a_log_axis_has_labels_however_little_it_spans(values, step):
    """Powers of ten where there are two; else 1, 2 and 5, or even steps; what cannot be drawn counts for nothing."""
    drawn = go.Figure(go.Scatter(x=list(range(len(values))), y=values))
    style.log_axis(drawn, "y")
    assert drawn.layout.yaxis.dtick == step


@pytest.mark.parametrize(
    ("low", "value", "high", "holds"),
    [
        (0.2, 0.4, 0.6, True),
        (0.7, 1.1, 1.5, False),
        (1.1, 1.2, 1.3, False),
        (-0.2, 0.1, 0.4, False),
        (0.0, 0.5, 1.0, True),
    ],
)
def test_a_chance_is_said_as_one_where_it_is_one(low, value, high, holds):
    """A linear model beyond 0 or 1 is said to be no chance there; its band is not cut to a certainty."""
    event = explore.event("hit", {"hit": "yes"})
    words = explore.predicted_words(
        SimpleNamespace(response="hit"), SimpleNamespace(low=low, value=value, high=high), event
    )
    assert words.startswith("The chance that hit is yes") == holds and ("does not apply" in words) != holds
    assert explore.event("hit", {}) == "hit is 1" and explore.event("town=north", {}) == "town is north"
    assert all(f"{one:g}" in words for one in (low, value, high))


def test_the_clearest_level_is_one_whose_band_leaves_out_none():
    """A value need not be in the middle of its band: the level nearest its own band's end is not the clearest."""
    value, low, high = np.array([[-0.9, -1.0], [-0.976, -1.737], [0.031, -0.063]])
    assert np.argmax(clarity(value, low, high)) == 1
    assert np.array_equal(clarity(value, low, high) > 1, (high < 0) | (low > 0))
    assert np.array_equal(clarity(value, value, value), np.abs(value))


@pytest.mark.parametrize(("ends", "texts"), [((-50.0, 60.0), ["← \N{MINUS SIGN}50", "60 →"]), ((-0.1, 60.0), ["60 →"])])
def test_a_band_beyond_the_axis_says_where_it_ends(ends, texts):
    """A bar that runs off a picture is not read as one that ends there."""
    figure, value = go.Figure(), np.zeros(12)
    low, high = np.full(12, -1.0), np.full(12, 1.0)
    low[3], high[3] = ends
    forest.at_the_edge(figure, value, low, high)
    assert [one.text for one in figure.layout.annotations] == texts
    assert {one.y for one in figure.layout.annotations} == {3} and figure.layout.xaxis.range[1] < 10


def test_an_axis_has_every_end_that_it_can_have():
    """A band of an outlier that ends within reach on its other side is drawn to that end, in picture and report."""
    figure, value = go.Figure(), np.full(6, 0.5)
    low, high = np.full(6, 0.3), np.full(6, 0.7)
    low[5], high[5] = -1.3, 6.0
    forest.at_the_edge(figure, value, low, high)
    least, most = figure.layout.xaxis.range
    assert least < -1.3 and 1.4 < most < 6 and [one.text for one in figure.layout.annotations] == ["6 →"]
    assert axis_ends(low, high, 2.1) == (-1.3, 2.1) and axis_ends(low, high, None) == (-1.3, 6.0)
    assert axis_ends(low + 9, high + 9, None) == (0.0, 15.0) and axis_ends(low - 9, high - 9, None) == (-10.3, 0.0)


@pytest.mark.parametrize("ratio", [1.5, 2.5, 5.0])
def test_an_axis_has_every_value_that_does_not_squeeze_the_others(ratio):
    """A point of up to six times what other bands need is on the axis with room around it, also by its public fit."""
    figure, value = go.Figure(), np.full(6, 0.5)
    value[5] = 0.7 * ratio
    low, high = value - 0.2, value + 0.2
    high[5] = 9.0
    forest.at_the_edge(figure, value, low, high, beside=value + 0.1)
    assert figure.layout.xaxis.range[1] > value[5] + 0.1
    assert [one.text for one in figure.layout.annotations] == ["9 →"]


def test_rows_of_zeros_are_drawn_too() -> None:
    """A moment without any direction, as of rows that all lack a value, has its pictures: a point, not an error."""
    flat = Conditioning(np.zeros(3))
    for after in (flat, None):
        result: Any = SimpleNamespace(
            label=Label.PRIVATE, before=flat, after=after, norms=np.zeros(len(QUANTILES)), radius=2.0
        )
        assert np.ptp(np.asarray(conditioning.ellipses(result).data[0].y)) == 0
        assert (
            conditioning.spectrum([result]).data
            and conditioning.truncation([result], 1.0, conditioning.largest_radius([result], 1.0)).data
        )


@pytest.mark.parametrize("text", ["mu", "mu proved by the attack, over the claimed mu", "a " * 40, "x" * 200])
def test_titles_of_axes_have_lines_of_about_one_length(text: str) -> None:
    """As few lines as a phone allows, none of them a word or two left over."""
    shown = finish(go.Figure(), text, "").layout.xaxis.title.text.split("<br>")
    lengths = [len(line) for line in shown]
    assert max(lengths) <= 44 and len(shown) == -(-min(len(text.strip()), 220) // 44)
    assert max(lengths) - min(lengths) <= 4


@pytest.mark.parametrize(("low", "high", "powers"), [(0.01, 10.0, False), (1e-4, 1e9, True), (0.9, 1.1, False)])
def test_far_spans_are_labelled_in_powers_of_ten(low: float, high: float, powers: bool) -> None:
    """No axis has 10000 beside 1e+6."""
    figure = go.Figure().add_scatter(x=[1, 2], y=[low, high])
    log_axis(figure, "y")
    assert (figure.layout.yaxis.exponentformat == "power") is powers
    assert (figure.layout.yaxis.tickformat == ",~r") is not powers
    style.log_axis(figure, "x")
    for drawn in (figure, style.finish(figure, "rows", "error")):
        assert drawn.layout.margin.r >= 20, "the last label of the axis is centred at its end"


def test_many_names_of_a_network_stand_along_their_rays():
    """Neighbours on the circle do not cover each other, and no name stands on its head."""
    figure, many = go.Figure(), 74
    for at in range(many):
        _along_its_ray(figure, f"a column of some length {at}", 2 * math.pi * at / many)
    notes = figure.layout.annotations
    assert all(-90 <= note.textangle <= 90 for note in notes)
    for note in notes:  # read along the ray that its middle lies on
        ray = math.degrees(math.atan2(note.y, note.x))
        assert math.isclose(math.sin(math.radians(note.textangle + ray)), 0, abs_tol=1e-9)
        assert 1.06 < math.hypot(note.x, note.y) < 2


def test_an_effect_whose_size_the_prior_gives_has_a_star():
    """Behind the name of the coefficient, also where it stands for its column."""
    rows = pd.DataFrame({"coefficient": ["age", "town=a (clearest of 5 effects)"], "effect": ["age", "town=a"]})
    assert list(forest.star_levels(rows, {"town=a"})["coefficient"]) == ["age", "town=a* (clearest of 5 effects)"]
    assert forest.star_levels(rows[["coefficient"]], {"age"})["coefficient"].iloc[0] == "age*"


def test_an_axis_has_no_room_for_a_row_that_stands_in_figures() -> None:
    """A band wholly beyond the limit does not stretch the axis; another mark within the limit is on it."""
    figure, value = go.Figure(), np.array([0.1, 0.1, 0.1, 0.1, 0.1, -9.0])
    low, high = value - 0.05, value + 0.05
    forest.at_the_edge(figure, value, low, high, beside=np.array([0.1, 0.1, 0.2, 0.1, 0.1, -9.5]))
    least, most = figure.layout.xaxis.range
    assert -0.05 < least <= 0 and 0.2 < most < 0.3
    assert [one.text for one in figure.layout.annotations] == [
        "← released: \N{MINUS SIGN}9.000 (\N{MINUS SIGN}9.050 to \N{MINUS SIGN}8.950)"
    ]


def test_a_level_has_one_step_in_every_comparable_unit():
    """A level is there or not, as a column of 0 and 1; a number has its deviation, a constant feature no step."""
    names = ["age", "member", "town=north", "town=none", "constant", INTERCEPT]
    assert steps(names, [12.5, 0.4, 0.3, 0.0, 0.0, 0.0], ["member"]) == {
        "age": 12.5,
        "member": 1.0,
        "town=north": 1.0,
        "town=none": 0.0,
        "constant": 0.0,
        INTERCEPT: 1.0,
    }
    assert "reference" in step_words(names, ()) and "0 to 1" not in step_words(names, ())
    assert "0 to 1" in step_words(names, ["member"]) and "0 to 1" not in step_words(["town=north"], ["town=north"])
    coded = ["C(town)[T.north]", "age:town=north", "C(town, Treatment('south'))[T.a=b]", "weight [kg]", "town[T.x]"]
    assert list(steps(coded, [0.3, 4.0, 0.2, 7.0, 0.5], ()).values()) == [1.0, 4.0, 1.0, 7.0, 1.0]
    assert [source(name) for name in coded] == ["town", "age:town", "town", "weight [kg]", "town"]
    assert "reference" not in step_words(["age", INTERCEPT], ())


def test_a_record_says_which_features_are_0_or_1_and_every_picture_draws_them_so():
    """By the public rows: a number of 0 and 1 has its coefficient as it is on the page, the path and in the report."""
    rng = np.random.default_rng(2)
    rows = pd.DataFrame({"age": rng.normal(40, 12, 900), "member": rng.integers(0, 2, 900)})
    rows["half"] = rng.integers(0, 2, 900) / 2
    rows["pay"] = rows["age"] + 9 * rows["member"] + rng.normal(size=900)
    public, private = rows[:300], rows[300:]
    record = pc.PrivateRegressor(mu=2.0).fit(private, public, target="pay", seed=1, quiet=True).record_
    assert record["public"]["zero_one"] == ["member"]
    result = Release.from_dict(record)
    assert result.public.zero_one == ("member",) and result.as_dict()["public"] == record["public"]
    table = forest.table(result, forest.units(result)["sd"]).set_index("coefficient")
    at = result.names.index("member")
    assert table["value"]["member"] == result.coefficients[at]
    assert table["value"]["half"] != result.coefficients[result.names.index("half")]
    if "ridge_path" in result.released:
        path = traces(figures.ridge_path(result))
        assert path["member"]["y"] == list(figures.ridge_path_table(result)["member"])
    shorts = [unit.short for unit in forest.units(result).values()]
    assert len(set(shorts)) == len(shorts) and not any("deviation" in short for short in shorts)
    # A record from before the field has a deviation for it.
    before = Release.from_dict({**record, "public": {n: v for n, v in record["public"].items() if n != "zero_one"}})
    old = forest.table(before, forest.units(before)["sd"]).set_index("coefficient")
    assert old["value"]["member"] == result.coefficients[at] * result.public.spread[at]
    assert drawings.forest(record) != drawings.forest(before.as_dict())


def test_large_print_keeps_what_is_larger_larger():
    """A ring around a public row as large as the dots of the cloud is hidden by them; the truth is the largest mark."""
    clouds = style.in_large_print(learn.clouds(lessons.whitening(30, 4)))
    sizes = {trace.name: trace.marker.size for trace in clouds.data}
    assert sizes["private rows"] == 9 and sizes["public rows"] > 12
    assert {trace.marker.line.color for trace in clouds.data if trace.name == "public rows"} == {"#009E73"}
    slopes = style.in_large_print(learn.solutions(lessons.inverse(30, 1.0, trials=20)))
    assert {trace.name: trace.marker.size for trace in slopes.data}["truth"] > 15


def test_a_band_for_all_levels_has_its_own_line_and_name():
    """Wider bands of picked levels are dashed and in the legend; those of numbers stay solid."""
    rows = pd.DataFrame(
        {"coefficient": ["age", "town=a (clearest of 3 effects)"], "column": ["age", "town"], "value": [1.0, 2.0]}
    ).assign(**{"low (95 %)": [0.5, 1.0], "high (95 %)": [1.5, 3.0], "effects": [1, 3]})
    drawn = forest.forest(rows, forest.DisplayUnit("table", "", step="unit", ratio=False, scale="y"))
    styles = {trace.name: trace.line.dash for trace in drawn.data if trace.mode == "lines+markers"}
    assert styles == {"95 % band": "solid", BAND_OF_ALL: "4px,3px"}
