"""Plans: free, monotone, invertible, near what comes out."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest

from pmtcore.base.messages import InputError, ReleaseMessage
from pmtcore.base.numbers import rounded
from pmtcore.cli.main import main
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import Prediction, recommended_method
from pmtcore.releases import planning
from pmtcore.releases.planning import LADDER, Curves
from pmtcore.report.figures.planning import below_words, half_width_words, reverse_words, table, widths
from tests.helpers import TEST, make, plan, refused


def test_widths_fall_with_budget_and_rows(seed):
    """More budget and more rows never widen a predicted band by more than the radius's own steps."""
    _, public, _ = make(5000, 100, seed)
    for id in ("joint-pmt", "pmt-ridge"):
        width = [float(np.max(p.prediction.total)) for p in planning.plan(public, 5000, [0.1, 0.5, 2, 8], [id])]
        assert width == sorted(width, reverse=True)
        width = [float(np.max(planning.plan(public, n, [1.0], [id])[0].prediction.total)) for n in (500, 5000, 50_000)]
        assert width == sorted(width, reverse=True)


@pytest.mark.slow
def test_the_first_question_has_an_answer(seed):
    """The width that is asked for first is one that some budget of the ladder has."""
    _, public, _ = make(5000, 100, seed)
    curves = Curves(public, 5000)
    while curves.step():
        pass
    for id, mu in product(("joint-pmt", "pmt-ridge"), (0.05, 1.0, 10.0)):
        here = curves.at(id, mu)
        width = here.default_half_width(2, LADDER[-1])
        assert width <= here.half_width(2) * (1 + 1e-9)
        assert curves.budget_for(id, public.names[2], width) is not None


def test_the_reverse_question_is_the_inverse(seed):
    """The budget found meets the width, a tenth less does not; so do the rows; impossible widths have no answer."""
    _, public, _ = make(5000, 100, seed)

    def half(n, mu):
        (result,) = planning.plan(public, n, [mu], ["joint-pmt"])
        return next(row["half_width"] for row in result.rows() if row["coefficient"] == "x3")

    width = half(5000, 0.7)
    mu = planning.budget_for(public, 5000, "joint-pmt", "x3", half_width=width)
    assert half(5000, mu) <= width < half(5000, 0.9 * mu)
    rows = planning.rows_for(public, "joint-pmt", 0.7, "x3", half_width=width)
    assert half(rows, 0.7) <= width < half(int(0.9 * rows), 0.7)
    assert planning.budget_for(public, 5000, "joint-pmt", "x3", half_width=1e-9) is None
    with refused(ReleaseMessage.NO_COEFFICIENT):
        planning.budget_for(public, 5000, "joint-pmt", "nothing", half_width=1.0)


@pytest.mark.slow
def test_prediction_is_near_what_comes_out(seed):
    """Predicted against realized distance to the exact fit: within a factor 1.3 in the median over draws."""
    ratios = []
    for s in range(8):
        _, public, rows = make(10_000, 200, seed + s)
        exact = exact_fit(public, rows).reveal(TEST)
        for mu in (0.5, 1.5):
            planned = plan("joint-pmt", public, 10_000, mu)
            error = np.median(np.linalg.norm(planned.run(rows, SeededNoise(s), 30).coefficients - exact, axis=1))
            ratios.append(np.linalg.norm(planned.predicted().privacy) / error)
    assert 1 / 1.3 < np.median(ratios) < 1.3


def test_the_plain_sentence(seed):
    """Says so when private data cannot help, and how much they help when they do."""
    _, public, _ = make(5000, 100, seed)
    assert "not improve" in planning.verdict(public, 200, 0.01, "pmt-ridge")
    assert "times as precise" in planning.verdict(public, 100_000, 5.0, "joint-pmt")


@pytest.mark.slow
@pytest.mark.parametrize("moment", [False, True])
def test_command(tmp_path, capsys, moment):
    """Rows for every coefficient with the keys that scripts rely on; no private table is named."""
    draw, *_ = make(100, 60, 3)
    frame = pd.DataFrame(np.column_stack([draw.public_x[:, :3], draw.public_y]), columns=["a", "b", "c", "y"])
    frame.insert(0, "(intercept)", 1.0)
    path = tmp_path / "p.csv"
    if moment:
        (frame.T @ frame / 60).to_csv(path, index=False)
        source = ["--public-moment", str(path), "--public-rows", "60"]
    else:
        frame.drop(columns="(intercept)").to_csv(path, index=False)
        source = ["--public", str(path)]
    common = ["plan", *source, "--rows", "5000", "--target", "y", "--mu", "0.5,2"]
    assert main([*common, "--json", "--coefficient", "a", "--width", "0.5"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert {"method", "mu", "coefficient", "privacy_sd", "sampling_sd"} <= set(record["rows"][0])
    assert {"(intercept)", "a", "b", "c"} == {row["coefficient"] for row in record["rows"]}
    assert {"joint-pmt", "public-only"} <= {row["method"] for row in record["rows"]}
    assert "budget_for_width" in record and len(record["verdict"]) == 2
    assert main([*common, "--coefficient", "a", "--width", "1e-9"]) == 0
    assert "no budget is enough with 5,000 rows, no number of rows is enough at mu = 0.5." in capsys.readouterr().out
    assert main([*common, "--method", "joint-pmt", "--time"]) == 0
    assert " MB beside the program" in capsys.readouterr().out
    assert main([*common, "--time", "--json"]) == 0
    assert set(json.loads(capsys.readouterr().out)["expected"]) == {"method", "seconds", "megabytes"}
    assert main([*common, "--method", "dp-gd"]) == 2
    assert "has no prediction" in capsys.readouterr().err


def test_curves_are_what_a_plan_says(seed):
    """Each rung is the plan's own figure; other budgets are computed, not interpolated; Stop keeps what is there."""
    _, public, _ = make(5000, 100, seed)
    outlined = Curves(public, 5000)
    while not outlined.all_outlined():
        assert outlined.step()
    across = {id: [one.mu for one in outlined.plans() if one.method == id] for id in outlined.ids}
    assert all(mus == [0.1, 1.0, 2.0] for mus in across.values()), "a line of each method before any is complete"
    curves = Curves(public, 5000, ladder=(0.5, 1.0, 2.0))
    curves.first("pmt-ridge")
    assert curves.ids == ["pmt-ridge"]
    while not curves.all_tried():
        curves.step()
    assert curves.ids[0] == recommended_method(public).id and "public-only" in curves.ids and 0 < curves.share < 1
    curves.stop()
    assert not curves.step() and not curves.live
    for mu in (1.0, 0.77):
        (own,) = planning.plan(public, 5000, [mu], ["joint-pmt"])
        np.testing.assert_array_equal(curves.at("joint-pmt", mu).prediction.total, own.prediction.total)
    with pytest.raises(InputError):
        curves.at("pmt-logistic", 1.0)


@pytest.mark.parametrize(
    ("budget", "said"),
    [(None, "no budget up to mu = 8"), (0.05, "mu = 0.05 or less is enough"), (0.3, "It takes a total of mu = 0.3")],
    ids=["none", "the smallest", "one"],
)
def test_the_smallest_budget_that_was_tried_is_no_answer_to_what_it_takes(budget, said):
    """It may be more than that."""
    assert said in reverse_words(budget, 208, 6000, 1.0, tried=(0.05, 1.0, 8.0))


@pytest.mark.slow
def test_the_budget_is_read_off_the_curve(seed):
    """Between rungs on log axes: near the exact answer; none where the last rung is not enough."""
    _, public, _ = make(5000, 100, seed)
    curves = Curves(public, 5000)
    while curves.step():
        pass
    for mu in (0.3, 0.66, 1.9):
        width = curves.at("joint-pmt", mu).half_width(2)
        result = curves.budget_for("joint-pmt", public.names[2], width)
        assert result == pytest.approx(mu, rel=0.25)
    assert curves.budget_for("joint-pmt", public.names[2], 1e-9) is None
    assert curves.budget_for("joint-pmt", public.names[2], 1e9) == LADDER[0]


def test_half_widths_have_an_interval(seed):
    """Its ends are those of the error, with the same sampling part; a method that was not calibrated has none."""
    _, public, _ = make(5000, 100, seed)
    for id in ("joint-pmt", "joint-moment"):
        (result,) = planning.plan(public, 5000, [0.5], [id])
        prediction = result.prediction
        low, high = prediction.interval_factors
        for j, row in enumerate(result.rows()):
            ends = [
                1.959964 * np.sqrt((f * prediction.to_exact[j]) ** 2 + prediction.sampling[j] ** 2) for f in (low, high)
            ]
            assert [row["half_width_low"], row["half_width_high"]] == pytest.approx(ends)
            assert result.half_width_interval(j) == pytest.approx(tuple(ends))
            assert row["half_width_low"] < row["half_width"] < row["half_width_high"]
            assert row["half_width_low"] <= row["half_width_median"] <= row["half_width_high"]
            median = np.hypot(prediction.median_factor * prediction.to_exact[j], prediction.sampling[j])
            assert row["half_width_median"] == pytest.approx(1.959964 * median)
    (plain,) = planning.plan(public, 5000, [0.5], ["pmt-ridge"])
    assert plain.half_width_interval(0) is None and plain.rows()[0]["half_width_high"] is None
    assert plain.rows()[0]["half_width_median"] is None
    ends = [rounded(end) for end in result.half_width_interval(2)]
    told = [rounded(result.row(2)["half_width_median"]), ends[1]]
    values = [value for _, value in half_width_words(result, public.names[2])[1]]
    assert values == [f"± {end}" for end in told], "the figure that one release in ten exceeds has the same weight"
    assert len(half_width_words(plain, public.names[2])[1]) == 1 and planning.interval_text(plain.rows()[0]) == "-"
    shown = table([result, plain], public.names[2])[["median", "80 % from", "80 % to"]]
    expected = (result.row(2)["half_width_median"], *result.half_width_interval(2))
    assert tuple(shown.iloc[0]) == pytest.approx(expected) and shown.iloc[-1].isna().all()


def test_the_chosen_method_has_its_interval_in_the_picture(seed):
    """The band around its line is the 80 % interval, named in the legend; budgets not computed yet are shaded."""
    _, public, _ = make(5000, 100, seed)
    plans = planning.plan(public, 5000, [0.5, 2.0], ["joint-pmt", "pmt-ridge"])
    drawn = widths(plans, public.names[2], 0.5, "joint-pmt")
    high, low = list(drawn.select_traces({"legendgroup": "interval"}))
    ends = [one.half_width_interval(2) for one in plans if one.method == "joint-pmt"]
    assert np.allclose(np.column_stack([low.y, high.y]), ends) and low.showlegend is not False
    assert not list(widths(plans, public.names[2], 0.5, "pmt-ridge").select_traces({"legendgroup": "interval"}))
    (shade,) = (shape for shape in drawn.layout.shapes if shape.type == "rect")
    assert shade.x0 == 2.0 and any("computed up to" in note.text for note in drawn.layout.annotations)


def test_a_width_that_leaves_a_part_out_is_no_narrower_one():
    """A method whose truncation is not predicted is not offered as better; one that truncates nothing is."""
    names, one = ("a", "b"), np.ones(2)

    def plan_of(id, size, rate, **more):
        return planning.Planned(id, 1.0, names, Prediction(size * one, one, **more), rate)

    mine = plan_of("joint-pmt", 3.0, 0.1, truncation=one)
    unknown, known = plan_of("pmt-objective", 1.0, 0.17), plan_of("pmt-gradients", 1.5, 0.17, clipping_in_privacy=True)
    assert not unknown.is_complete and known.is_complete and mine.is_complete
    assert planning.narrowest_plan([mine, unknown], mine) is None
    assert planning.narrowest_plan([mine, unknown, known], mine) is known
    assert below_words([mine, known], "a") == "" and "truncation" in below_words([mine, unknown], "a")
    nothing_cut = plan_of("pmt-objective", 1.0, 0.0)
    assert planning.narrowest_plan([mine, known, nothing_cut], mine) is nothing_cut


def test_a_prediction_is_made_once_for_the_same_public_data(seed):
    """Another page or session that asks the same of the same public data gets what is there; another n is computed."""
    _, public, _ = make(5000, 100, seed)
    first = planning.predict_method(public, 5000, "pmt-ridge", 1.0)
    assert planning.predict_method(public, 5000, "pmt-ridge", 1.0) is first
    assert planning.predict_method(public, 4000, "pmt-ridge", 1.0).prediction is not first.prediction


def test_only_methods_that_are_asked_about_are_tried(monkeypatch, seed):
    """Sites asks about three: the others make no plan."""
    tried, made = [], planning._plan
    monkeypatch.setattr(planning, "_plan", lambda *given, **more: tried.append(given[2]) or made(*given, **more))
    _, public, _ = make(5000, 100, seed)
    assert planning.methods_with_predictions(public, ("pmt-ridge",)) == ["pmt-ridge"] == tried


@pytest.mark.parametrize(("low", "high", "first"), [(1e4, 1e7, 1e4), (1e4, 1e12, 1e4), (-1.0, 1e3, 1.0)])
def test_the_least_number_of_rows_is_there_where_more_are_not_enough(low, high, first):
    """The noise that covers a solver's distance grows with very many rows: the largest number does not decide."""
    sizes = np.geomspace(1, 1e9, 120)
    assert planning._first(sizes, lambda rows: low < rows < high) == pytest.approx(first, rel=0.02)


def test_there_is_no_least_number_where_none_is_enough():
    assert planning._first(np.geomspace(1, 1e9, 120), lambda _: False) is None


def test_no_drawn_width_rises_with_the_budget():
    """Simulated predictions scatter; line and band are their isotonic regressions, and say so."""
    one = np.ones(2)
    sizes = {0.1: 1.0, 0.2: 1.3, 0.5: 0.7, 1.0: 0.75}
    plans = [
        planning.Planned(
            "joint-pmt", mu, ("a", "b"), Prediction(size * one, 0.1 * one, 0 * one, interval_factors=(0.5, 2.0)), 0.0
        )
        for mu, size in sizes.items()
    ]
    figure = widths(plans, "a", chosen="joint-pmt")
    drawn = [np.asarray(trace.y, dtype=float) for trace in figure.data if len(trace.x) == len(sizes)]
    assert len(drawn) == 3 and all(np.all(np.diff(y) <= 0) for y in drawn)
    assert drawn[2] == pytest.approx([plans[at].half_width(0) for at in range(4)], rel=0.15)
    assert "a larger budget never has a wider one" in below_words(plans, "a", "joint-pmt")


def test_what_lies_beyond_the_axis_is_named_and_not_drawn():
    """A line that no place of the picture shows has no line in the legend either; a sentence names its method."""
    one = np.ones(2)

    def plan_of(id, mu, size):
        return planning.Planned(id, mu, ("a", "b"), Prediction(size * one, one, truncation=0 * one), 0.0)

    plans = [plan_of(id, mu, size) for id, size in (("joint-pmt", 1.0), ("pmt-ols", 1e4)) for mu in (0.5, 1.0)]
    assert len(widths(plans, "a").data) == 3, "without the public fit the axis has no end yet: two methods, sampling"
    plans.append(plan_of("public-only", 0.5, 3.0))
    drawn = [trace.name for trace in widths(plans, "a").data]
    assert len(drawn) == 3 and not any("Whitened least squares" in name for name in drawn)
    assert "Whitened least squares" in below_words(plans, "a")
