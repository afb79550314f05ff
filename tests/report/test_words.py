"""Sentences are computed from the numbers beside them, and right at the extremes."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours, attacker_power, mu_from_epsilon
from pmtcore.auditing.comparison import Summary
from pmtcore.auditing.diagnostics import QUANTILES, Diagnosis, extreme_directions, scaled_condition_number
from pmtcore.base.bands import Bands
from pmtcore.base.labels import Label, ReleaseStatus
from pmtcore.base.messages import ArgumentMessage, Note, TableNote, kind_of
from pmtcore.base.numbers import percent, rounded
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import Prediction, methods
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT, Conditioning, public_from_rows
from pmtcore.releases.planning import beside_public
from pmtcore.releases.record import PublicFacts, Release, modelled_response
from pmtcore.releases.release import Request, preview, release
from pmtcore.report import glossary, words
from pmtcore.report.figures import coefficients
from pmtcore.report.figures.coefficients import STEP, DisplayUnit, units
from pmtcore.report.figures.explore import prospects_words
from pmtcore.report.figures.release import results
from pmtcore.report.names import in_quotes, option, title
from pmtcore.report.strength import strength
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import Table, table_from
from tests.helpers import TEST, refused


def diagnosis(before, after=None, norms=(), radius=3.0):
    return Diagnosis(
        Label.PUBLIC,
        Conditioning(np.asarray(before, dtype=float)),
        None if after is None else Conditioning(np.asarray(after, dtype=float)),
        np.asarray(norms, dtype=float),
        radius,
    )


@pytest.mark.parametrize(
    ("before", "after", "must", "must_not"),
    [
        ([0.01, 20], [0.9, 1.1], ["Whitening helps", "about the same harm"], ["hurts", "worse"]),
        ([1, 4.21**2], [1, 4.33**2], ["changes little", "along the shortest"], ["same harm", "helps"]),
        ([1, 1.2], [1, 1.2], ["changes little", "about the same harm"], ["hurts", "worse"]),
        ([1, 4], [1, 100], ["worse", "too few public rows", "along the shortest"], ["helps.", "same harm"]),
        ([0, 1], [0, 1], ["no length at all", "public ridge"], ["inf", "nan", "same harm"]),
        ([0, 1], [1, 1.1], ["no length at all", "about the same harm"], ["inf ", "nan"]),
        ([1, 2], [0, 1], ["no length at all", "public ridge"], ["inf", "same harm"]),
        ([0, 1], None, ["cannot be predicted", "no length at all"], ["inf"]),
        ([0, 0], [0, 0], ["row of zeros"], ["collinear", "inf", "nan"]),
        ([1, 9], None, ["cannot be predicted"], ["harm"]),
        ([1, 1e40], [1, 1e40], ["no length at all"], ["e+", "inf"]),
        ([1e-9, 1], [1, 2.25], ["helps"], ["e+", "number"]),
    ],
)
def test_conditioning(before, after, must, must_not):
    """The verdict follows both figures: helped or not, harmless or not, and never `inf times`."""
    result = " ".join(words.conditioning_words(diagnosis(before, after)))
    assert all(part in result for part in must), result
    assert not any(part in result for part in must_not), result
    assert result.endswith(".") and "nan" not in result


def test_the_columns_that_make_a_condition_number_large_are_named():
    """A column in large numbers is long; a combination that nearly cancels is short; a ball has nothing to name."""
    rng = np.random.default_rng(5)
    a, pay = rng.standard_normal(4000), 50_000 * rng.standard_normal(4000)
    twin = a + 1e-3 * rng.standard_normal(4000)
    x, names = np.column_stack([np.ones(4000), a, twin, pay]), (INTERCEPT, "a", "twin", "pay")
    longest, shortest = extreme_directions(public_from_rows(x, rng.standard_normal(4000), names, "y"))
    assert (list(longest.shares), longest.columns, shortest.columns) == (["pay"], 1, 2)
    assert set(shortest.shares) == {"a", "twin"} and sum(shortest.shares.values()) == pytest.approx(1, abs=1e-3)
    sentence = words.directions_words(diagnosis([1e-6, 1, 1, 2.5e9]), longest, shortest)
    assert "mostly pay" in sentence and "made of" in sentence and "twin (50 %)" in sentence
    assert words.directions_words(diagnosis([1, 2]), longest, shortest) == ""
    data = public_from_rows(x, rng.standard_normal(4000), names, "y")
    spectrum = np.linalg.eigvalsh(np.corrcoef(np.column_stack([a, twin]).T))
    assert scaled_condition_number(data) == pytest.approx(spectrum[1] / spectrum[0], rel=0.1)
    for scale, told in ((1.0, False), (1e-4, True)):
        one = words.conditioning_words(diagnosis([1, 1e9]), scale * 1e9)[0]
        assert ("Units make most of" in one) == told
    towns = np.column_stack([np.ones(4000), a, rng.integers(0, 4, 4000)[:, None] == [0, 1, 2]]).astype(float)
    columns = (INTERCEPT, "a", "town=n", "town=s", "town=w")
    _, shortest = extreme_directions(public_from_rows(towns, rng.standard_normal(4000), columns, "y"))
    assert next(iter(shortest.shares)) == "town" and shortest.shares["town"] > 0.5, "all levels of a column together"
    many = tuple(f"c{j}" for j in range(9))
    spread = rng.standard_normal((900, 1)) + 0.1 * rng.standard_normal((900, 9))
    longest, shortest = extreme_directions(public_from_rows(spread, rng.standard_normal(900), many, "y"))
    assert longest.columns > len(longest.shares) == 3
    assert "spread over 8 columns" in words.directions_words(diagnosis([1, 100]), longest, shortest)


def test_truncation():
    """No row, some rows, nearly no row, every row, and unknown are five different sentences."""
    norms = np.sort(np.random.default_rng(1).chisquare(5, 2001)) ** 0.5
    made = diagnosis([1, 2], [1, 2], norms)
    assert len(norms) == len(QUANTILES)
    assert "no public row;" in words.truncation_words(made, 100.0)
    assert made.rate(made.radius_outside(0.05)) == pytest.approx(0.05, abs=1e-3), "where the slider starts"
    # A radius by the longest private row is a figure of private rows: nobody is asked to choose so.
    for label, exact in ((Label.PRIVATE, True), (Label.PUBLIC, False)):
        assert ("would leak it" in words.truncation_words(replace(made, label=label), 100.0)) is exact
    assert "all private rows" in words.truncation_words(made, 0.0)
    assert "0 %" not in words.truncation_words(made, float(norms[-1]) - 1e-9)
    assert re.search(r"\d+ % of the private rows, to judge", words.truncation_words(made, 2.0))
    assert "cannot be predicted" in words.truncation_words(diagnosis([1], [1]), 2.0)


def test_what_gaps_become_is_said():
    """Columns with gaps are named with their share and what a gap becomes, most gaps first; none without gaps."""
    values = {"age": "its public median, 37", "job": "'Prof-specialty'", "town": "'Bern'"}
    sentence = words.filled_words({"age": 1, "job": 6, "town": 0}, values, 100)
    assert sentence.index("job (6 cells, 6 %) with 'Prof-specialty'") < sentence.index(
        "age (1 cell, 1 %) with its public median, 37"
    )
    assert "town" not in sentence and words.filled_words({"age": 0}, {}, 100) == ""
    many = words.filled_words({f"c{j}": 1 for j in range(26)}, {f"c{j}": "0" for j in range(26)}, 9)
    assert "6 columns more" in many


@pytest.mark.parametrize(("stretch", "told"), [(1.0, False), (3.6, True)])
@pytest.mark.parametrize("id", ["sd", "sd-ratio"])
def test_a_band_wider_than_its_parts_says_why(stretch, told, id):
    """Few public rows widen a band beyond what its parts add up to; the words say so, in either unit."""
    half = 1.96 * 0.05 * stretch
    ratio = id == "sd-ratio"
    ends = [math.exp(v) if ratio else v for v in (0.3 - half, 0.3 + half)]
    row = {"coefficient": "a", "low (95 %)": ends[0], "high (95 %)": ends[1], "privacy sd": 0.03, "sampling sd": 0.04}
    said = words.parts_words(pd.DataFrame([row]), coefficients.DisplayUnit(id, "", "spread", ratio))
    assert ("3.6 times as wide" in said) is told


def summary(method, x, error, trials=50):
    return Summary(method, x, x, error, error, error / 10, 0.9 * error, 1.1 * error, trials)


def test_a_comparison_names_every_method():
    """The winner changes along the axis; whoever does not win is named with its distance, the recommended one too."""
    runs = {"joint-pmt": (1.0, 1.0, 1.0), "pmt-ridge": (9.0, 0.5, 0.2), "public-only": (0.8, 0.8, 0.8)}
    sentence = words.comparison_words(
        [summary(id, x, e) for id, es in runs.items() for x, e in zip((0.1, 1, 10), es, strict=True)]
    )
    assert all(title(id) in sentence for id in runs), sentence
    assert "2 times as far from it" in sentence and "1.6 times as far from it" in sentence and "at mu = 0.1" in sentence
    assert sentence.index(title("public-only")) < sentence.index(title("pmt-ridge"))
    many = dict.fromkeys(("joint-pmt", "public-only", "pmt-ridge", "dp-ridge-public", "dp-ols-public"))
    short = words.comparison_words([summary(id, 1, at + 1.0) for at, id in enumerate(many)])
    assert "2 times as far from it and the farthest of the 4 others" in short and title("pmt-ridge") not in short


@pytest.mark.parametrize(("at", "said"), [(None, "At mu = 1,"), (8.0, "At mu = 10,"), (1e-9, "At mu = 0.1,")])
def test_a_comparison_speaks_of_the_place_that_was_chosen(at, said):
    """Next to the chosen place, or in the middle."""
    runs = {"joint-pmt": (1.0, 1.0, 1.0), "public-only": (2.0, 2.0, 2.0)}
    made = [summary(id, x, e) for id, es in runs.items() for x, e in zip((0.1, 1, 10), es, strict=True)]
    assert said in words.comparison_words(made, at=at)


@pytest.mark.parametrize(
    ("errors", "must"),
    [
        ({}, ""),
        ({"non-private": 0.0}, ""),
        ({"joint-pmt": 1.0}, "comes closest"),
        ({"joint-pmt": math.nan}, "has no finite result at mu = 1."),
        ({"joint-pmt": 1.0, "pmt-ridge": math.inf}, "“Whitened ridge” has no finite result at mu = 1."),
        ({"joint-pmt": 1.0, "pmt-ridge": 1.02}, "about as far"),
        ({"joint-pmt": 0.0, "pmt-ridge": 1.0}, "no distance at all"),
        ({"joint-pmt": 1e-6, "pmt-ridge": 1.0}, "1,000,000 times"),
    ],
)
def test_a_comparison_at_the_extremes(errors, must):
    """Nothing, one method, failures, ties, zero distance and huge ratios each have their sentence."""
    sentence = words.comparison_words([summary(id, 1.0, e) for id, e in errors.items()])
    assert must in sentence and "nan" not in sentence and "inf " not in sentence and "e+" not in sentence


def test_a_method_that_fails_at_some_places_fails_there_alone():
    """Its distance elsewhere and its failures are two statements, each with its places."""
    errors = {1.0: 1.0, 2.0: 2.0, 3.0: math.inf, 4.0: math.nan}
    rows = [summary("pmt-ridge", x, e) for x, e in errors.items()] + [summary("joint-pmt", x, 0.5) for x in errors]
    sentence = words.comparison_words(rows)
    assert "“Whitened ridge” has no finite result at mu = 3 and mu = 4." in sentence
    many = [summary("pmt-ridge", float(x), math.nan) for x in range(1, 7)]
    assert words.comparison_words(many) == "“Whitened ridge” has no finite result at 6 places from mu = 1 to mu = 6."


def released(privacy, sampling, truncation=None, mu=1.0, low=(-1, 1), high=(1, 2), **more):
    k = len(privacy)
    bands = Bands(
        np.asarray(privacy, float),
        np.asarray(sampling, float),
        np.asarray(low, float)[:k],
        np.asarray(high, float)[:k],
        None if truncation is None else np.asarray(truncation, float),
    )
    return Release(
        "joint-pmt", "t", ReleaseStatus.SOUND, (), "y", tuple("abc"[:k]), np.ones(k), bands,
        Guarantee(mu, Neighbours.REPLACE_ONE, 1e-6), {}, 100, 10, None,
        PublicFacts("gaussian", np.ones(k), "exact"),
        released=more,
    )  # fmt: skip


def test_a_release_says_how_precise_it_came_out_beside_the_public_fit():
    """By the typical coefficient without the intercept; nothing where the public fit has no error, or without bands."""
    made = released([0.2, 0.2], [1, 1], low=(-1, 1.5), high=(1, 2.5))
    alone = Prediction(np.zeros(2), np.array([1.0, 0.5]) * 2 / 1.96)
    assert words.precision_words(made, alone) == (
        "As released, the typical coefficient is 2 times as precise as the public fit: the public rows alone have "
        "25 % of that precision."
    )
    assert not words.precision_words(made, None) and not words.precision_words(replace(made, bands=None), alone)


def test_a_release_says_how_far_it_leans_on_the_public_rows():
    """Their share of the precision is the square of the ratio of standard errors; above a half one leans."""

    def told(*public):
        made = released([0.2] * 3, [1] * 3, low=(-1, -1, -1), high=(1, 1, 1))  # standard errors 1/1.96
        return words.precision_words(made, Prediction(np.zeros(3), np.array(public) / 1.96))

    assert told(3, 3, 3).endswith("3 times as precise as the public fit.")
    assert told(2, 2, 2).endswith("the public rows alone have 25 % of that precision.")
    assert told(1.25, 1.25, 1.25).endswith(
        "the public rows alone have 64 % of that precision, so that it leans on them."
    )
    assert told(1.25, 3, 3).endswith(
        "11 % of that precision. 1 coefficient of 3 leans on them: more than half is theirs."
    )
    assert told(0.9, 0.9, 0.9).endswith("it leans on the public rows, which are as precise without this release.")


def test_planned_and_released_half_widths_are_of_one_coefficient():
    """Of the clearest one, in units of the table; nothing is said without bands, a plan, or a spend."""
    made = released([0.2, 0.2], [1, 1], low=(-1, 1.5), high=(1, 2.5))
    plan = Prediction(np.zeros(2), np.full(2, 0.6 / 1.96))
    assert words.planned_words(made, plan) == "95 % half-width of b, for one unit: planned ± 0.6, released ± 0.5."
    calibrated = replace(
        plan, sampling=np.zeros(2), privacy=plan.sampling, interval_factors=(0.4, 2), median_factor=0.5
    )
    assert "planned ± 0.6 (half of releases: at most ± 0.3), released" in words.planned_words(made, calibrated)
    assert "half-width of a," in words.planned_words(made, plan, "a")  # as it was looked at on Plan
    assert words.planned_words(made, plan, "gone") == words.planned_words(made, plan)
    assert not words.planned_words(made, None) and not words.planned_words(replace(made, bands=None), plan)


def test_levels_whose_size_the_prior_gives_are_known_from_a_note():
    """A note that was stored as text names none."""
    note = Note(TableNote.LEVELS_OF_ONE_LABEL, column="y", levels=("town=a",))
    assert words.prior_levels([note]) == {"town=a"} and not words.prior_levels([str(note)])


def test_a_release():
    """The largest part is named; swamped, and nothing spent have their sentences."""
    assert "bands by 2 %" in words.release_words(released([0.2, 0.2], [1, 1]))
    assert "bands by 41 %" in words.release_words(released([1, 1], [1.0001, 1.0001]))
    few = replace(released([0.2, 0.2], [1, 1]), notes=(Note(TableNote.FEW_PUBLIC_ROWS, rows=5, count=3),))
    assert "roughly" in words.release_words(few) and "sampling 1" not in words.release_words(few)
    assert "next to nothing" in words.release_words(released([0.01, 0.01], [1, 1]))
    assert "larger budget" in words.release_words(released([1, 1], [0.0, 0.0]))
    assert "inference radius" in words.release_words(released([1, 1], [1, 1], [2, 2]))
    for parts in ([[1, 1], [1, 1], [2, 2]], [[1, 1], [0, 0]]):  # no radius and no budget mends other rows
        said = words.release_words(replace(released(*parts), disagrees=True))
        assert "part of the error. " in said and "inference radius" not in said and "larger budget" not in said
    assert "swamped" in words.release_words(released([math.inf, math.nan], [1, 1]))
    assert "nothing was spent" in words.release_words(released([0, 0], [1, 1], mu=0.0))


def lines(result, unit="table"):
    chosen = coefficients.units(result)[unit]
    return words.coefficient_words(coefficients.table(result, chosen), chosen)


def test_each_coefficient():
    """In the unit of the table beside it; what moves it, truncation too; without end, without noise, as a ratio."""
    one, two = lines(released([1, 1], [1, 1]))
    assert "could be zero" in one and "positive" in two and "truncation" not in one
    (swamped,) = lines(released([1], [1], low=(-math.inf,), high=(math.inf,)))
    assert "no finite band" in swamped
    (cut,) = lines(released([0], [1], [4.7]))
    assert "no privacy noise moves it" in cut and "truncation by about 4.7" in cut
    wide = released([0.5], [1], low=(2,), high=(4,))
    wide = replace(wide, coefficients=np.array([3.0]), public=PublicFacts("logistic", np.array([2.0]), "exact"))
    (per_sd,), (ratio,) = lines(wide, "sd"), lines(wide, "table-ratio")
    assert "a: 6.0, between 4.0 and 8.0 (positive)" in per_sd and "noise moves it by about 1," in per_sd
    assert "between 7 and 55 (above 1)" in ratio and "a factor of about 1.65" in ratio


def test_what_a_band_holds():
    """Truncation is in the words where it is in the figures, and there alone."""
    for cut, said in (([2.0], "Truncation: rows beyond"), (None, "not listed separately")):
        release_record = released([1], [1], cut)
        unit = coefficients.units(release_record)["sd"]
        assert said in words.parts_words(coefficients.table(release_record, unit), unit)


def test_why_a_value_is_not_in_the_middle():
    """Said where it is so, in any unit, and only there."""
    for middle, said in ((1.5, False), (1.2, True)):
        changed = replace(released([1], [1], low=(1,), high=(2,)), coefficients=np.array([middle]))
        changed = replace(changed, public=PublicFacts("poisson", np.ones(1), "exact"))
        for unit in coefficients.units(changed).values():
            assert bool(words.leaning_words(coefficients.table(changed, unit), unit)) == said


def test_strength():
    """The odds never understate the attacker, and no word judges a budget."""
    for mu in (1e-6, 0.5, 1.0, 2.0, mu_from_epsilon(14.0, 1e-5), 3.01, 1000.0):
        odds = strength(mu)
        assert float(attacker_power(mu, 0.05)) <= odds.detections <= 1.0
        said = re.search(r"at most (?:more than )?([\d.]+) %", odds.sentence)
        assert ("nearly every person" in odds.sentence) is (said is None) is (odds.detections >= 1)
        assert said is None or float(said.group(1)) / 100 >= float(attacker_power(mu, 0.05)) - 2e-4
        assert not set(odds.sentence.lower().split()) & {"good", "strong", "weak", "moderate", "deniable"}
    assert strength(0.0).times_guessing == 1.0 and "nothing is spent" in strength(0.0).sentence
    for bad in (-1.0, math.nan):
        with refused(ArgumentMessage.NEGATIVE_MU):
            strength(bad)


def test_names_are_for_people():
    """Every method has a title of its own, and lists show the id beside it."""
    assert len({title(m.id) for m in methods()}) == len(methods())
    assert all(m.id in option(m.id) and m.id not in in_quotes(m.id) for m in methods())


def test_figures_never_round_to_a_lie():
    """A small share is not 0 %, nearly all is not 100 %, and digits are written out."""
    assert percent(0.9996) == "99.96 %" and percent(1e-7) != "0 %" and percent(float("nan")) == "an unknown share"
    assert rounded(2049.6) == "2,050" and rounded(-0.5) == "-0.5" and rounded(123456.0) == "123,000"
    for value in (1e-9, 1e20, 123.456, -2e-7):
        assert float(rounded(value).replace(",", "")) == pytest.approx(value, rel=6e-3)


def test_the_glossary_is_whole():
    """Terms have unique names, end in a full stop, and every label of a number is explained."""
    terms = glossary.entries()
    assert len({t.name for t in terms}) == len(terms)
    assert all(t.words.endswith(".") for t in terms)
    assert {label.value for label in Label} <= {t.name for t in terms}
    for wanted in ("mu", "kappa_bar", "modulus", "jacobian", "Lambda0", "erratum"):
        assert glossary.help_for(wanted)


def test_the_documentation_has_the_same_glossary():
    """docs/glossary.md is the glossary, word for word."""
    text = (Path(__file__).resolve().parents[2] / "docs" / "glossary.md").read_text()
    assert glossary.markdown() in text


def test_what_the_first_coefficient_means_is_in_the_unit_that_is_chosen():
    """A level is compared with its reference in every unit; a number has one unit or one standard deviation more."""
    row = {"coefficient": "town=north", "column": "town", "value": 2.0, "low (95 %)": 1.0, "high (95 %)": 3.0}
    table = pd.DataFrame([row])
    note = Note(TableNote.REFERENCES, references={"town": "south", "sex": "f"})
    references = words.reference_levels(["a note", note])
    assert references == {"town": "south", "sex": "f"} and "'south' of 'town'" in note
    one = DisplayUnit("table-ratio", "w", "unit", True, "odds ratio", "y = 1")
    spread = DisplayUnit("sd", "w", "spread", False, "", "y")
    told = words.example_words(table, one, references)
    assert (
        told == "For town=north compared with south, the odds of y = 1 are 2.0 times as large (95 % band 1.0 to 3.0)."
    )
    assert "town=north compared with the reference" in words.example_words(table, one)
    assert "For town=north compared with south" in words.example_words(table, spread, references)
    number = table.assign(coefficient="age", column="age")
    assert "For age = 1 compared with 0" in words.example_words(number, spread, zero_one=["age"])
    assert "one standard deviation of the public rows more of age" in words.example_words(number, spread)
    sized = words.example_words(number, spread, spread={"age": 12.5})
    assert "one standard deviation of the public rows more of age (12.5)" in sized
    figures = released([1, 1], [0.5, 0.5])
    tens = DisplayUnit("round", "w", "round", False, "", "y")
    assert "10 more of age" in words.example_words(number.assign(**{STEP: 10.0}), tens)
    assert "Standard errors" not in words.release_words(figures, False), "there is no typical one of years and euros"
    assert "larger budget" not in words.release_words(replace(figures, disagrees=True))


def test_a_larger_budget_that_brings_nothing_is_explained():
    """Where a method gets no nearer with more budget, what is left of its error is truncation, and that is said."""
    nearer = [summary("joint-pmt", mu, 1 / mu) for mu in (0.1, 1.0, 10.0)]
    farther = [summary("joint-pmt", mu, e) for mu, e in ((0.1, 0.3), (1.0, 0.2), (10.0, 0.4))]
    assert "truncated" not in words.comparison_words(nearer)
    assert "With a larger budget “Joint whitened release” comes no nearer" in words.comparison_words(farther)
    assert "With a larger budget" not in words.comparison_words(farther, "private rows")


def test_bands_that_are_wider_than_planned_are_called_so():
    """The ratio of the typical coefficient, where it is more than a little; without plan or bands nothing is said."""
    made = released([1, 1], [1, 1], low=(-1, -1), high=(1, 1))
    size = 1 / Z95
    as_planned, narrow = Prediction(np.full(2, size), np.zeros(2)), Prediction(np.full(2, size / 2), np.zeros(2))
    assert words.as_planned_words(made, as_planned) == "" and words.as_planned_words(made, None) == ""
    assert "2 times as wide as predicted" in words.as_planned_words(made, narrow)
    assert words.as_planned_words(replace(made, bands=None), narrow) == ""
    far = Prediction(np.full(2, 4 * size), np.zeros(2))
    assert "0.25 times as wide as predicted" in words.as_planned_words(made, far)


def test_a_coefficient_of_no_predicted_error_warns_of_no_division():
    """The sentence is about the typical coefficient; one that is predicted exactly does not change it."""
    made = released([1, 1, 1], [1, 1, 1], low=(-1, -1, -1), high=(1, 1, 1))
    exact = Prediction(np.array([0.0, 0.5, 0.5]) / Z95, np.zeros(3))
    assert "2 times as wide as predicted" in words.as_planned_words(made, exact)


@pytest.mark.parametrize(("part", "cause"), [(0, "more noise"), (1, "more scatter"), (2, "more truncation")])
def test_the_part_that_grew_is_named(part, cause):
    """Of bands that came out wider the cause is the part of the error that is larger than predicted, not another."""
    grown = [[0.2, 0.2], [0.2, 0.2], [0.2, 0.2]]
    grown[part] = [3.0, 3.0]
    made = released(*grown, low=(-6, -6), high=(6, 6))
    predicted = Prediction(np.full(2, 0.2), np.full(2, 0.2), np.full(2, 0.2))
    assert cause in words.as_planned_words(made, predicted)


def test_the_example_is_a_coefficient_that_can_be_told_from_none():
    """The first row may be a collinear one whose band holds zero: no example of an effect, unless all are such."""
    rows = [{"coefficient": name, "column": name, "value": value} for name, value in (("date", 1.0), ("age", 2.0))]
    table = pd.DataFrame(rows).assign(**{"low (95 %)": [-3.0, 1.0], "high (95 %)": [5.0, 3.0]})
    clearer = table[1:].assign(coefficient="pay", **{"low (95 %)": 1.5, "high (95 %)": 2.5})
    one = DisplayUnit("table", "w", "unit", False, "", "y")
    assert "more of age" in words.example_words(table, one)
    assert "more of pay" in words.example_words(pd.concat([table, clearer]), one), "not the first, but the clearest"
    assert "more of date" in words.example_words(table, one, ordered=True), "ordered by size the first row is meant"
    alone = words.example_words(table.head(1), one)
    assert "more of date" in alone and "other columns" not in alone
    assert "with the other columns held fixed" in words.example_words(table, one)


def test_codes_for_missing_values_are_in_the_promise_of_regressions():
    """Rows of -999 all pull one way: the promise names how far, and the release is about as far from its fit."""
    made = np.random.default_rng(1)

    def table(n: int, coded: bool, role: str) -> Table:
        age, other = made.integers(18, 80, n).astype(float), made.normal(size=n)
        y = 0.02 * age - 0.3 * other + made.normal(size=n)
        age = np.where(coded & (np.arange(n) % 200 == 0), -999.0, age)
        return table_from(pd.DataFrame({"age": age, "other": other, "y": y}), "t", role)

    for coded in (False, True):
        problem = prepare(table(6000, coded, "private"), table(400, coded, "public"), Choices(target="y"))
        request = Request("joint-moment", Budget(1.0))
        facts = preview(problem, request).facts
        assert ("code for missing" in " ".join(prospects_words(facts, "no"))) == coded
        assert (TableNote.CODE_FOR_MISSING in map(kind_of, problem.notes)) == coded  # so it is in the record too
        fit = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
        x, y = fit[:, :-1], fit[:, -1]
        exact = np.linalg.lstsq(x, y, rcond=None)[0]
        errors = np.sqrt(np.mean((y - x @ exact) ** 2) * np.diag(np.linalg.inv(x.T @ x)))
        released = release(problem, request, SeededNoise(1)).coefficients
        if coded:
            distance = float(np.max(np.abs(released - exact) / errors))
            assert facts.regressions.worst_error_in_standard_errors * 3 < distance
            assert distance < 2 * facts.regressions.one_sided_error_in_standard_errors


@pytest.mark.parametrize(("mu", "swamped"), [(0.005, True), (3.0, False)], ids=["swamped", "ample"])
def test_a_release_that_leans_on_the_public_rows_says_so(mu, swamped):
    """Where noise swamps what was released, no sentence says that it widens bands by little."""
    made = np.random.default_rng(2)

    def table(n: int, role: str) -> Table:
        x = made.normal(size=n)
        return table_from(pd.DataFrame({"x": x, "y": x + made.normal(size=n)}), "t", role)

    problem = prepare(table(3000, "private"), table(100, "public"), Choices(target="y"))
    made_one = release(problem, Request("joint-pmt", Budget(mu)), SeededNoise(1))
    sentence = words.release_words(made_one)
    assert ("that of the public rows" in sentence) == swamped
    assert ("Standard deviation of the residuals" in results(made_one)) == (
        not swamped
    )  # such a figure would be quoted
    assert not results(replace(made_one, released={**made_one.released, "clipped_share": 0.99}))
    assert ("widen bands" in sentence) <= (not swamped)


def test_what_noise_costs_is_one_figure_in_every_unit():
    """A share has no unit, and follows from the parts that stand beside it: sampling 12 and noise 9 are 25 % more."""
    public = PublicFacts("gaussian", np.array([0.01, 40.0, 3.0]), "exact")
    changed = replace(released([0.2, 0.3, 3], [1, 0.5, 4]), public=public)
    told = {
        re.search(r"bands by ([^;.]*)", words.release_words(changed, per_spread))[1] for per_spread in (True, False)
    }
    assert told == {"25 %"} and "privacy 9, sampling 12" in words.release_words(changed)


def test_a_level_is_quoted():
    """``income = >50K`` would read as a slip for at least 50K, and all levels look alike."""
    assert (
        modelled_response("income", ">50K") == "income = “>50K”"
        and modelled_response("price", "low") == "price = “low”"
    )


def test_a_public_fit_outside_its_band_is_explained():
    """Of the coefficients that the picture has; where none is outside, or there is no band, nothing is said."""
    rows = {"coefficient": ["age", "size", INTERCEPT], "low (95 %)": [0.0, 1.0, 5.0], "high (95 %)": [1.0, 2.0, 6.0]}
    table = pd.DataFrame({**rows, "public fit alone": [0.5, 3.0, 0.0]})
    said = words.public_fit_words(table, 320)
    assert "320 rows" in said and "1 of 2 coefficients" in said
    assert not words.public_fit_words(table[:1], 320) and not words.public_fit_words(
        table.drop(columns="low (95 %)"), 9
    )


def test_a_coefficient_and_its_limits_have_one_number_of_decimals():
    """0.390 (0.330 to 0.449), not 0.39 (0.33 to 0.449)."""
    shown = pd.DataFrame(
        [{"coefficient": "age", "column": "age", "value": 0.39, "low (95 %)": 0.33, "high (95 %)": 0.449}]
    )
    sentence = words.example_words(shown, DisplayUnit("table", "", step="unit", ratio=False, scale="pay"))
    assert sentence.endswith("the change in pay is 0.390 (95 % band 0.330 to 0.449).")


def test_nobody_is_promised_that_at_most_all_are_detected():
    """A bound that is 100 % when rounded is none: the words say nearly every person."""
    assert "100 %" not in strength(6.0).sentence and "nearly every person: 20 times" in strength(6.0).sentence
    assert "with probability at most 26 %: 5.2 times" in strength(1.0).sentence


def test_a_list_of_units_names_the_first_round_step():
    """Whoever looks for ten years finds them without a guess."""
    result = units(replace(released([1, 1], [0.5, 0.5]), target="y"))
    assert "round" in result and result["round"].short.startswith("for a round step of each (")


def test_a_chance_of_being_worse_is_said():
    """Where one release in ten is less precise than the public fit, that is said in words."""
    alone = Prediction(np.zeros(3), np.ones(3))
    for most, worse in ((1.5, False), (4.0, True)):
        made = Prediction(np.full(3, 0.3), np.full(3, 0.1), interval_factors=(0.8, most))
        precision, outcomes = beside_public(made, alone)[1:]
        assert "(" not in precision, "nothing is promised and taken back in brackets"
        assert ("is worse than the public fit" in outcomes) == worse


@pytest.mark.parametrize(
    ("coefficient", "step"),
    [("day", "for one day"), ("ward=b", "against a"), ("ward", "for one unit"), ("age", "for one unit")],
)
def test_a_coefficient_says_for_which_step_it_is(coefficient, step):
    """A date is counted in days, and a category has no unit; without facts in the notes a unit is all that is known."""
    notes = (
        Note(TableNote.DATES, column="day"),
        Note(TableNote.REFERENCES, references={"ward": "a"}),
    )
    assert words.unit_step(coefficient, notes) == step
    assert words.unit_step(coefficient, [str(note) for note in notes]) == "for one unit"
    assert words.date_columns(notes) == {"day"}
