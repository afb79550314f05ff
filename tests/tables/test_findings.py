"""All problems of a pair of tables at once, each with a repair that works."""

from __future__ import annotations

import json
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import pmtcore as pc
from pmtcore.base.messages import InputError, PublicMessage, TableMessage, TableNote, kind_of
from pmtcore.base.private_rows import PrivateRows
from pmtcore.cli.main import main
from pmtcore.report.cautions import filled_gaps, public_rows_words
from pmtcore.tables.choices import Choices
from pmtcore.tables.design import Design
from pmtcore.tables.findings import _halve_features, _make_labels, findings, open_findings, repaired_choices
from pmtcore.tables.kinds import number_format
from pmtcore.tables.named import entry, load
from pmtcore.tables.problem import chosen_features, default_choices, prepare
from pmtcore.tables.schema import date_orders, inferred_format, likely_orders
from pmtcore.tables.table import read_table, table_from
from tests.helpers import TEST, refused

RNG = np.random.default_rng(0)


def frame(n: int) -> pd.DataFrame:
    made = pd.DataFrame({"a": RNG.normal(size=n), "b": RNG.normal(size=n), "sex": RNG.choice(["Male", "Female"], n)})
    made["y"] = made["a"] + RNG.normal(size=n)
    return made


def tables(change=lambda t: t, private=lambda t: t):
    made = [table_from(private(frame(200)), "p", "private"), table_from(change(frame(60)), "b", "public")]
    return made[0], made[1]


ONE_BAD = ["kg 5", *[str(j) for j in range(59)]]
CASES = {
    "text target, two labels": (lambda t: t.assign(y=["low", "high"] * 30), {}, TableNote.TEXT_TARGET),
    "text target, three labels": (lambda t: t.assign(y=["low", "high", "mid"] * 20), {}, TableNote.TEXT_TARGET),
    "a label among many": (lambda t: t.assign(y=[1, 2, 3] * 20), {"family": "logistic"}, TableNote.NOT_TWO_LABELS),
    "numbers as labels": (lambda t: t, {"family": "logistic"}, TableNote.NOT_TWO_LABELS),
    "no such target": (lambda t: t, {"target": "pay"}, TableNote.TARGET_NOT_IN_BOTH),
    "no such feature": (lambda t: t, {"features": ("a", "q")}, TableNote.NOT_IN_BOTH),
    "a useless feature": (
        lambda t: t.assign(b=[f"id{j}" for j in range(60)]),
        {"features": ("a", "b")},
        TableMessage.TOO_MANY_CATEGORIES,
    ),
    "collinear": (lambda t: t.assign(b=2 * t.a), {"collinear": "refuse"}, PublicMessage.COLLINEAR),
    "constant": (lambda t: t.assign(b=7.0), {"collinear": "refuse"}, PublicMessage.CONSTANT),
    "missing": (
        lambda t: t.assign(b=[None, *[1.0, 2.5] * 29, 3.0]),
        {"missing": "refuse"},
        TableMessage.MISSING_VALUES,
    ),
    "gaps nearly everywhere": (
        lambda t: t.assign(b=[1.0, 2.5, *[None] * 58]),
        {"features": ("a", "b", "sex")},
        PublicMessage.TOO_FEW_COMPLETE_ROWS,
    ),
    "gaps of two columns that leave no row": (
        lambda t: t.assign(b=[1.0, 2.5] * 15 + [None] * 30, a=[None] * 31 + [0.5] * 28 + [1.0]),
        {},
        PublicMessage.TOO_FEW_COMPLETE_ROWS,
    ),
    "few rows": (lambda t: t[:4], {"features": ("a", "b", "sex")}, PublicMessage.TOO_FEW_ROWS),
}


@pytest.mark.parametrize("name", CASES)
def test_what_stops_is_found_and_its_repair_lifts_it(name):
    """Each thing that stops is a finding that stops; applying the first repair gives a problem."""
    change, choices, kind = CASES[name]
    private, public = tables(change)
    chosen = Choices(**{"target": "y", **choices})
    with pytest.raises(InputError):
        prepare(private, public, chosen)
    listed = findings(private, public, chosen)
    assert listed[0].stops and listed[0].kind is kind and listed[0].repairs
    assert all(one.sentence.endswith(".") and "\n" not in one.sentence for one in listed)
    better = repaired_choices(private, public, chosen)
    assert better != chosen
    assert prepare(private, public, better).private.n == 200
    assert not any(one.stops for one in findings(private, public, better))


def test_too_few_complete_rows_name_the_columns_whose_gaps_take_them():
    """Not that rows are few: 60 are there. Both repairs lift it: without the column, and with its gaps filled."""
    private, public = tables(lambda t: t.assign(b=[1.0, 2.5, *[None] * 58]))
    chosen = Choices(target="y")
    with refused(PublicMessage.TOO_FEW_COMPLETE_ROWS) as caught:
        prepare(private, public, chosen)
    assert caught.value.facts == {"rows": 2, "total": 60, "count": 4, "limit": 5, "columns": ["b"]}
    for repair in findings(private, public, chosen)[0].repairs:
        assert prepare(private, public, repair.apply(chosen)).public.m == 60


IDENTIFIERS = {
    "row numbers": np.arange(60),
    "identifiers in any order": 105_000 + np.random.default_rng(3).permutation(200)[:60],
    "with gaps": np.where(np.arange(60) % 9 == 0, np.nan, np.arange(60) * 3),
}
MEASURED = {
    "ages": np.random.default_rng(3).integers(18, 90, 60),
    "incomes": np.random.default_rng(3).permutation(90_000)[:60],
    "measured": np.random.default_rng(3).normal(size=60),
    "a constant": np.ones(60),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_identifiers_are_left_out_unless_they_are_chosen(name):
    """Nobody chose it: left out and said. Chosen: kept, with a finding whose repair leaves it out."""
    private, public = tables(lambda t: t.assign(code=IDENTIFIERS[name]), lambda t: t.assign(code=range(len(t))))
    every, some = Choices(target="y"), Choices(target="y", features=("a", "code"))
    problem = prepare(private, public, every)
    assert "code" not in problem.public.names and "a" in problem.public.names
    assert TableNote.IDENTIFIER_LEFT_OUT in map(kind_of, problem.notes)
    assert any(kind_of(one.sentence) is TableNote.IDENTIFIER_LEFT_OUT for one in findings(private, public, every))
    assert "code" in prepare(private, public, some).public.names
    one = next(one for one in findings(private, public, some) if one.columns == ("code",))
    assert one.repairs[0].apply(some).features == ("a",) and not one.stops
    assert prepare(private, public, Choices(target="y", features=("code",))).public.d == 2


PERSONS = {"numbers": np.arange(60) // 1.4, "texts": [f"p{j // 1.4:.0f}" for j in range(60)]}


@pytest.mark.parametrize("kind", PERSONS)
def test_persons_with_several_rows_are_noticed_by_the_name_of_a_column(kind):
    """Their numbers are no feature unless chosen; where public rows share one, one click says who is a person."""
    codes = np.round(PERSONS[kind]) if kind == "numbers" else PERSONS[kind]
    private, public = tables(
        lambda t: t.assign(patient_id=codes), lambda t: t.assign(patient_id=[*codes, *codes, *codes, *codes][:200])
    )
    every = Choices(target="y")
    problem = prepare(private, public, every)
    assert "patient_id" not in problem.public.names and "a" in problem.public.names
    assert (TableNote.NAMED_IDENTIFIER_LEFT_OUT in map(kind_of, problem.notes)) is (kind == "numbers")
    (one,) = [one for one in findings(private, public, every) if one.kind is TableNote.ROWS_SHARE_A_PERSON]
    assert not one.stops and one.sentence.facts == {"shared": 34, "rows": 60, "column": "patient_id"}
    mended = one.repairs[0].apply(every)
    assert mended.person == "patient_id" and prepare(private, public, mended).unit.rows == 1
    assert TableNote.ROWS_SHARE_A_PERSON not in [one.kind for one in findings(private, public, mended)]
    refusing = Choices(target="y", missing="refuse")
    (one,) = [one for one in findings(private, public, refusing) if one.kind is TableNote.ROWS_SHARE_A_PERSON]
    assert not one.repairs, "with persons no row is refused"
    if kind == "numbers":
        some = Choices(target="y", features=("a", "patient_id"))
        said = {one.kind: one for one in findings(private, public, some)}
        assert said[TableNote.NAMED_IDENTIFIER].repairs[0].apply(some).features == ("a",)
        assert said[TableNote.ROWS_SHARE_A_PERSON].repairs[0].apply(some).features == ("a",)


@pytest.mark.parametrize(
    "codes",
    [np.arange(60) % 7, np.linspace(0, 1, 60), np.arange(60), [f"p{j}" for j in range(60)]],
    ids=["few numbers", "no whole numbers", "each its own", "texts, each its own"],
)
def test_a_name_alone_makes_no_persons(codes):
    """Where no public rows share a value, or few values are there, nothing is asked."""
    private, public = tables(lambda t: t.assign(student=codes), lambda t: t.assign(student=1))
    assert TableNote.ROWS_SHARE_A_PERSON not in [one.kind for one in findings(private, public, Choices(target="y"))]


@pytest.mark.parametrize("codes", [range(200), [f"p{j}" for j in range(200)]], ids=["numbers", "texts"])
@pytest.mark.parametrize("private_rows", ["each its own", "shared"])
def test_a_column_named_after_people_is_asked_about_whatever_private_rows_have(codes, private_rows):
    """Public rows share no patient; private rows may, and whether they do changes nothing."""
    whose = codes if private_rows == "each its own" else [codes[j // 4] for j in range(200)]
    private, public = tables(lambda t: t.assign(patient_id=list(codes)[: len(t)]), lambda t: t.assign(patient_id=whose))
    every = Choices(target="y")
    (one,) = [one for one in findings(private, public, every) if one.kind is TableNote.PERSON_COLUMN]
    assert not one.stops and one.columns == ("patient_id",)
    assert one.sentence in open_findings(private, public, every)
    mended = one.repairs[0].apply(every)
    assert mended.person == "patient_id"
    assert TableNote.PERSON_COLUMN not in [one.kind for one in findings(private, public, mended)]


def test_a_column_of_people_in_the_private_table_alone_is_asked_about_without_its_name():
    """Public rows often come without one; columns that number rows are not asked about."""
    private, public = tables(lambda t: t, lambda t: t.assign(customer_id=1, row_id=range(len(t))))
    every = Choices(target="y")
    (one,) = [one for one in findings(private, public, every) if one.kind is TableNote.PRIVATE_PERSON_COLUMN]
    assert one.sentence.facts == {}
    assert one.repairs[0].apply(every).person == "customer_id"
    assert "customer" not in " ".join(open_findings(private, public, every))
    private, public = tables(lambda t: t.assign(id=range(len(t))), lambda t: t.assign(id=range(len(t)), row_id=1))
    assert TableNote.PRIVATE_PERSON_COLUMN not in [one.kind for one in findings(private, public, every)]


@pytest.mark.parametrize("name", MEASURED)
def test_measured_columns_are_no_identifiers(name):
    """Whole numbers with repeats, or spread so far that none are expected, and broken ones."""
    private, public = tables(lambda t: t.assign(code=MEASURED[name]), lambda t: t.assign(code=1.5))
    said = [kind_of(note) for note in prepare(private, public, Choices(target="y")).notes]
    assert TableNote.IDENTIFIER_LEFT_OUT not in said and TableNote.LIKE_IDENTIFIER not in said


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("apart", "said"), [(1e-3, True), (0.3, False)])
@pytest.mark.parametrize("unit", [1.0, 1e9])
def test_features_that_determine_each_other_are_named(apart, said, unit, intercept):
    """The finding asks for more inflation of a variance than there are private rows, in any unit, and can be mended."""

    def near(t):
        return t.assign(c=unit * (t["a"] - 2 * t["b"] + apart * np.cos(np.arange(len(t)))))

    private, public = tables(near, near)
    choices = Choices(target="y", features=("a", "b", "c"), intercept=intercept)
    inflation = prepare(private, public, choices).public.variance_inflation
    assert len(inflation) == 3 + intercept and np.all(inflation >= 1)
    near_ones = [one for one in findings(private, public, choices) if one.kind is TableNote.NEARLY_COLLINEAR]
    assert bool(near_ones) is said
    if said:
        assert set(near_ones[0].columns) == {"a", "b", "c"} and not near_ones[0].stops
        mended = near_ones[0].repairs[0].apply(choices)
        assert all(kind_of(one.sentence) is not TableNote.NEARLY_COLLINEAR for one in findings(private, public, mended))


def test_variance_inflation_is_that_of_regressions_on_the_others():
    """The factor of a feature is 1/(1 - R^2), less what so few rows fit by chance."""
    private, public = tables()
    data = prepare(private, public, Choices(target="y")).public
    x = data.rows[:, 1 : data.d]
    by_hand = np.diag(np.linalg.inv(np.corrcoef(x.T)))
    assert data.variance_inflation[1:] == pytest.approx(np.maximum(by_hand * (1 - data.d / data.m), 1.0))


def test_several_at_once():
    """A text target, a missing feature, dates, text that is a number, a column only one table has: said together."""

    def messy(t):
        days = [f"2024-03-{1 + j % 28:02}" for j in range(60)]
        return t.assign(y=["no", "yes"] * 30, b=ONE_BAD, day=days, code=["1", "2", "x"] * 20, only=1.5)

    private, public = tables(messy, lambda t: t.assign(day="2024-03-01", code="1", mine=1))
    chosen = Choices(target="y", features=("a", "b", "day", "code", "q"))
    listed = findings(private, public, chosen)
    assert {one.kind for one in listed} == {
        *(TableNote.NOT_IN_BOTH, TableNote.TEXT_TARGET, TableNote.PUBLIC_ONLY, TableNote.PRIVATE_COLUMN),
        *(TableNote.SOME_NOT_NUMBERS, TableNote.LIKE_IDENTIFIER, TableNote.DATES, TableNote.MOSTLY_NUMBERS),
    }
    assert sum(one.stops for one in listed) == 2
    assert "'only'" in " ".join(one.sentence for one in listed)
    assert "mine" not in " ".join(one.sentence for one in listed)  # a private name
    better = repaired_choices(private, public, chosen)
    assert better.family == "logistic" and "q" not in better.features
    problem = prepare(private, public, better)
    assert {"day", "b"} <= set(problem.public.names)
    code = next(one for one in listed if one.columns == ("code",))
    numbers = prepare(private, public, code.repairs[0].apply(better)).public.names
    assert "code" in numbers and "code=2" not in numbers


def test_measurements_with_a_word_for_gaps_are_a_question():
    """Numbers of many values among which a word stands are asked about; either answer settles it. Grades are not."""
    measured = [f"{4 + j % 25 / 10:.1f}" for j in range(57)]

    def with_words(t):
        return t.assign(b=[*measured, *["lost"] * 3], sex=[*[str(1 + j % 5) for j in range(57)], *["lost"] * 3])

    private, public = tables(with_words)
    choices = Choices(target="y")
    (one,) = [one for one in findings(private, public, choices) if one.kind is TableNote.NUMBERS_AS_CATEGORIES]
    assert one.is_open and one.columns == ("b",) and one.sentence in open_findings(private, public, choices)
    facts = one.sentence.facts
    assert (facts["share"], facts["count"], facts["example"]) == (pytest.approx(0.95), 26, "lost")
    numbers, categories = [repair.apply(choices) for repair in one.repairs]
    for chosen in (numbers, categories):
        assert TableNote.NUMBERS_AS_CATEGORIES not in [each.kind for each in findings(private, public, chosen)]
    assert "b" in prepare(private, public, numbers).public.names
    assert "b" not in prepare(private, public, categories).public.names


def test_a_word_for_gaps_in_numbers_is_asked_about_where_it_is_a_category():
    """A word among numbers that is also a category may mean a gap there: it is asked about, and kept by a click."""

    def with_word(t):
        return t.assign(b=["lost", *t.b[1:]], sex=[*t.sex[:-3], *["lost"] * 3])

    private, public = tables(with_word)
    choices = Choices(target="y")
    (one,) = [one for one in findings(private, public, choices) if one.kind is TableNote.WORD_FOR_GAPS]
    assert one.is_open and one.columns == ("sex",) and list(one.sentence.facts["columns"]) == ["b"]
    as_category = one.repairs[0].apply(choices)
    assert TableNote.WORD_FOR_GAPS not in [each.kind for each in findings(private, public, as_category)]
    before, after = [prepare(private, public, each).public for each in (choices, as_category)]
    assert before.names == after.names and np.array_equal(before.rows, after.rows)
    without = tables(lambda t: t.assign(sex=[*t.sex[:-3], *["lost"] * 3]))
    assert TableNote.WORD_FOR_GAPS not in [each.kind for each in findings(*without, choices)]


def test_an_unknown_sex_is_nobodys_reference():
    """A third sex in a private row is neither Male nor Female: the row is missing, or the public 'other' takes it."""
    private, public = tables(private=lambda t: t.assign(sex=["X", *t.sex[1:]]))
    rows = prepare(private, public, Choices(target="y")).private.concatenate(lambda x, y: x).reveal(TEST)
    assert not np.any(rows[0]) and np.all(rows[1:, 0] == 1)
    private, public = tables(lambda t: t.assign(sex=["Q", "R", *t.sex[2:]]), lambda t: t.assign(sex=["X", *t.sex[1:]]))
    problem = prepare(private, public, Choices(target="y"))
    rows = problem.private.concatenate(lambda x, y: x).reveal(TEST)
    assert rows[0, problem.public.names.index("sex=other")] == 1


@pytest.mark.parametrize("marker", ["", "?", "NA", "nan", "NULL", "None", " "])
def test_missing_markers_are_the_same_in_every_format(marker):
    """A marker in text, in a Parquet string, in a frame: missing in each."""
    import io

    made = frame(30).assign(sex=[marker, *["Male", "Female"] * 14, "Male"])
    parquet = io.BytesIO()
    made.to_parquet(parquet)
    _, public = tables()
    for data in (made.to_csv(index=False).encode(), made.to_csv(index=False, sep="\t").encode(), parquet.getvalue()):
        rows = prepare(read_table(data, "p", "private"), public, Choices(target="y")).private
        assert not np.any(rows.concatenate(lambda x, y: x).reveal(TEST)[0])


def test_a_level_that_was_not_declared_is_not_called_rare():
    """The note on merged levels gives their reason: not declared, although ten public rows have the level."""
    private, public = tables(lambda t: t.assign(sex=[*["none"] * 10, *t.sex[10:]]))
    declared = prepare(private, public, Choices(target="y", levels={"sex": ("Male", "Female")})).notes
    (note,) = [note for note in declared if kind_of(note) is TableNote.UNDECLARED_LEVELS]
    assert note.facts["levels"] == ["none"] and TableNote.RARE_LEVELS not in map(kind_of, declared)


def test_dropped_columns_are_named():
    """Constant, collinear and useless columns nobody chose are left out, each with its name and reason."""

    def change(t):
        return t.assign(b=3.0, twice=2 * t.a, id=[f"p{j}" for j in range(60)])

    private, public = tables(change, lambda t: t.assign(twice=0.0, id="p"))
    notes = " ".join(prepare(private, public, Choices(target="y")).notes)
    for words in ("'b' is constant", "'twice' is a combination of 'a'", "'id' has 60 different texts"):
        assert words in notes


def test_swapped_tables_are_asked_about():
    """100 private and 2,000 public rows: is that so?"""
    private, public = table_from(frame(100), "p", "private"), table_from(frame(2000), "b", "public")
    assert any("swapped" in one.sentence for one in findings(private, public, Choices(target="y")))


@pytest.mark.parametrize(
    ("private", "public", "rows", "swapped"),
    [
        ("survey-public.csv", "survey-private.csv", (100, 60), True),
        ("survey.csv", "survey-private.csv", (60, 100), True),
        ("s3://public-bucket/survey.csv", "s3://private-bucket/survey.csv", (60, 100), False),
        ("Public.csv", "survey.csv", (60, 100), True),
        ("survey.csv", "survey-private.csv", (100, 60), False),
        ("schools.csv", "private-and-public.csv", (60, 100), False),
        ("a.csv", "b.csv", (60, 100), False),
    ],
)
def test_swapped_files_are_refused_before_anything_is_read(private, public, rows, swapped):
    """Two of three public signs: a name of each, and more public rows."""
    tables = table_from(frame(rows[0]), private, "private"), table_from(frame(rows[1]), public, "public")
    with refused(TableMessage.SWAPPED_FILES) if swapped else nullcontext():
        prepare(*tables, Choices(target="y"))


def test_a_misspelled_column_gets_the_one_that_was_meant():
    """Of many columns a sentence names five: those come first that are written alike."""
    many = frame(60).assign(**{f"x{j}": 1.0 * j for j in range(30)}, Weight=2.0)
    tables = table_from(many, "p", "private"), table_from(many.iloc[1:], "b", "public")
    with refused(TableMessage.NO_PUBLIC_COLUMN) as error:
        prepare(*tables, Choices(target="wieght"))
    assert error.value.facts["present"][0] == "Weight" and len(error.value.facts["present"]) == len(many.columns)


def test_how_many_rows_people_have_is_no_sign():
    """Their number is private: files are as they are named, however many there are."""
    private = frame(60).assign(id=range(60))
    tables = table_from(private, "survey.csv", "private"), table_from(frame(100), "private.csv", "public")
    prepare(*tables, Choices(target="y", features=("a", "b"), person="id"))


@pytest.mark.slow
@pytest.mark.usefixtures("real_tables")
@pytest.mark.parametrize("id", ["adult", "covertype", "bank"])
def test_tables_of_our_own_list_open(id):
    """Opened by name, they make a problem without a repair."""
    if not entry(id).available:
        pytest.skip(f"{id} is not here")
    private, public, reasons = load(id)
    problem = prepare(private, public, entry(id).choices, lab_reasons=reasons)
    assert problem.private.n == private.n and len(problem.public.names) > 40


def test_only_the_first_rows_are_looked_at():
    """A prefix of whole blocks; the rest is never asked for."""

    def blocks():
        yield np.ones((5, 1)), np.ones(5)
        yield np.ones((5, 1)), np.ones(5)
        raise AssertionError("a block too many")

    rows = PrivateRows(blocks, 15, ("a",)).first(6)
    assert rows.n == 6 and rows.sum(lambda x, y: np.array(len(y))).reveal(TEST) == 10


@pytest.mark.parametrize(("written", "alike"), [("B ", True), ("b_", True), ("bee", False)])
def test_names_that_differ_in_case_or_blanks_are_named(written, alike):
    """A column that is lost to a capital letter or a blank is said so, with no name of a private column."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60), "y": rng.normal(size=60)})
    private = table_from(pd.concat([frame] * 3), "private", "private")
    every = findings(private, table_from(frame.rename(columns={"b": written}), "public", "public"), Choices(target="y"))
    said = [one for one in every if kind_of(one.sentence) is TableNote.NAMES_ALIKE]
    assert bool(said) is alike and all(one.columns == (written.strip(),) for one in said)


@pytest.mark.slow
@pytest.mark.parametrize("face", ["command line", "Python"])
@pytest.mark.parametrize(
    "kind",
    ["PUBLIC_ONLY", "NAMES_ALIKE", "CODE_FOR_MISSING", "GROUPED_BY_POINTS", "COUNT_TARGET", "FEW_PRIVATE_ROWS"],
)
def test_what_the_application_asks_every_face_tells(kind, face, tmp_path, capsys):
    """A column lost to a capital letter, a code for missing values, counts: said with the release, and once.

    Where the public rows show it, with the plan too.
    """
    rng = np.random.default_rng(3)
    tables = {
        role: pd.DataFrame({**{name: rng.normal(size=n) for name in "abc"}, "y": rng.normal(size=n)})
        for role, n in (("private", 5 if kind == "FEW_PRIVATE_ROWS" else 200), ("public", 60))
    }
    for frame in tables.values():
        frame["y"] = rng.poisson(2.0, len(frame)) if kind == "COUNT_TARGET" else frame["y"]
    if kind == "CODE_FOR_MISSING":
        tables["public"].loc[3:5, "a"] = -999
    if kind == "GROUPED_BY_POINTS":
        for frame in tables.values():
            frame["a"] = [f"{number:,}".replace(",", ".") for number in rng.integers(200, 90_000, len(frame))]
    if kind in ("PUBLIC_ONLY", "NAMES_ALIKE"):
        tables["private"] = tables["private"].rename(columns={"b": "B" if kind == "NAMES_ALIKE" else "other"})
    paths = {role: tmp_path / f"{role}.csv" for role in tables}
    for role, frame in tables.items():
        frame.to_csv(paths[role], index=False)
    expected = getattr(TableNote, kind)
    if face == "Python":
        made = pc.release(tables["private"], tables["public"], target="y", mu=1.0, lab=True)
        released = made.record["notes"]
        planned = pc.plan(tables["public"], n=200, target="y", mu=1.0).notes
    else:
        common = ["--public", str(paths["public"]), "--target", "y", "--mu", "1", "--json"]
        assert main(["release", "--private", str(paths["private"]), "--lab", *common]) == 0
        released = json.loads(capsys.readouterr().out)["notes"]
        assert main(["plan", "--private-rows", "200", *common]) == 0
        planned = json.loads(capsys.readouterr().out)["notes"]
    facts = findings(*(table_from(tables[role], role, role) for role in ("private", "public")), Choices(target="y"))
    (sentence,) = [str(one.sentence) for one in facts if one.kind is expected]
    assert list(released).count(sentence) == 1
    assert (sentence in planned) == (kind in ("CODE_FOR_MISSING", "GROUPED_BY_POINTS", "COUNT_TARGET"))


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        (["24.230", "950", "1.200"], True),
        (["24.230", "31.750", "1.200"], True),
        (["-24.230", "12", "1.200"], True),
        (["24.230", "31.75", "1.200"], False),
        (["24.230", "0.950", "1.200"], False),
        (["24.230", "95000", "1.200"], False),
        (["24.230", "n/a", "1.200"], True),
        (["24.230 kg", "31.750 kg", "1.200 kg"], False),
    ],
)
def test_points_that_may_separate_thousands(written, asked):
    """950 and 24.230 in one column: as decimals the first is larger. The recommended reading is the other one."""
    y = np.random.default_rng(0).normal(size=90)
    cells = {"a": written * 30, "b": [f"{each:.2f}" for each in y[::-1]], "y": [f"{each:.2f}" for each in y]}
    private, public = pair({**cells, "y": cells["b"]}, cells)
    kinds = {one.kind: one for one in findings(private, public, Choices(target="y"))}
    assert (TableNote.GROUPED_BY_POINTS in kinds) is asked
    if asked:
        repaired = kinds[TableNote.GROUPED_BY_POINTS].repairs[0].apply(Choices(target="y"))
        assert TableNote.GROUPED_BY_POINTS not in {one.kind for one in findings(private, public, repaired)}
        numbers = prepare(private, public, repaired).public.rows[:, 1]
        assert np.max(np.abs(numbers)) == max(abs(float(cell.replace(".", ""))) for cell in written if cell != "n/a")


@pytest.mark.parametrize("code", [-99, 999, 99_999_999, -999_999_999])
def test_a_code_of_any_length_is_one(code):
    """Nines beyond all other values, also more of them than a number has digits in its short form."""
    y = np.random.default_rng(0).normal(size=60)
    a = np.append(np.arange(50) / 7, [code] * 10)
    private, public = pair({"a": a, "y": y[::-1]}, {"a": a, "y": y})
    one = next(one for one in findings(private, public, Choices(target="y")) if one.columns == ("a",))
    assert one.kind is TableNote.CODE_FOR_MISSING
    assert str(code) in one.sentence
    read = prepare(private, public, one.repairs[0].apply(Choices(target="y")))
    assert read.public.m == 50


def pair(private: dict, public: dict):
    """Return both tables of columns by name."""
    return table_from(pd.DataFrame(private), "p", "private"), table_from(pd.DataFrame(public), "b", "public")


def numbered(n: int, seed: int) -> dict:
    """Return columns that end with row numbers, as exports do."""
    x = np.random.default_rng(seed).normal(size=(n, 3))
    return {"y": x[:, 0], "a": x[:, 1], "b": x[:, 2], "rownames": 1 + np.arange(n)}


def test_row_numbers_are_no_target_that_nobody_chose():
    """The last number that numbers no rows is; where nothing else is there, the row numbers are."""
    private, public = pair(*({k: v for k, v in numbered(n, n).items() if k != "y"} for n in (300, 60)))
    assert default_choices(private, public).target == "b"
    private, public = pair({"rownames": np.arange(300)}, {"rownames": np.arange(60)})
    assert default_choices(private, public).target == "rownames"


@pytest.mark.parametrize("features", [None, ("a", "b", "rownames")])
def test_a_repair_puts_no_identifier_in(features):
    """Whoever leaves a column out where nothing was chosen is given no row numbers; who chose them keeps them."""
    private, public = (numbered(n, n) | {"b": pd.date_range("2020-01-01", periods=n).astype(str)} for n in (300, 60))
    choices = Choices(target="y", features=features)
    (dates,) = (one for one in findings(*pair(private, public), choices) if one.kind is TableNote.DATES)
    assert dates.repairs[0].apply(choices).features == (("a",) if features is None else ("a", "rownames"))


@pytest.mark.parametrize("y", [np.full(60, 20.0), np.zeros(60)])
def test_a_target_of_one_value_is_called_so(y):
    """No feature repeats a target that does not vary in the public rows."""
    private, public = pair(numbered(300, 1), numbered(60, 2) | {"y": y})
    with refused(PublicMessage.TARGET_CONSTANT):
        prepare(private, public, Choices(target="y"))
    repeated = numbered(60, 2)
    private, public = pair(numbered(300, 1), repeated | {"y": 3 * repeated["a"]})
    with refused(PublicMessage.TARGET_FITTED_EXACTLY):
        prepare(private, public, Choices(target="y"))


def test_tables_of_other_things_are_told_apart():
    """A public table with one column in common is another table, not one whose features were left out."""
    private, public = pair(numbered(300, 1), {"rownames": np.arange(60), "price": np.arange(60.0) ** 0.5})
    with refused(TableMessage.NO_OTHER_COMMON_COLUMN):
        prepare(private, public, default_choices(private, public))


READ_ANOTHER_WAY = {
    "a code read as categories": ({"code": np.arange(80) % 40}, {"kinds": {"code": "level"}}),
    "row numbers with declared levels": ({"code": np.arange(80)}, {"levels": {"code": ("1", "2")}}),
    "row numbers read as dates": ({"code": np.arange(80)}, {"kinds": {"code": "date"}}),
    "text that makes no feature": ({"code": [f"t{i}" for i in range(80)]}, {}),
    "text read as numbers": ({"code": [str(i) if i % 3 else "no" for i in range(80)]}, {"kinds": {"code": "number"}}),
    "the column of persons": ({"code": np.arange(80) % 7}, {"person": "code"}),
    "a weight": ({"code": 1.5 + np.arange(80)}, {"weights": "code"}),
    "a group": ({"code": np.arange(80) % 20}, {"cluster": "code"}),
    "row numbers": ({"code": np.arange(80)}, {}),
    "nothing but row numbers": ({"code": np.arange(80), "a": None, "b": None}, {}),
}


@pytest.mark.parametrize("name", READ_ANOTHER_WAY)
def test_repairs_and_lists_name_the_columns_that_go_in(name):
    """What is taken by default is decided once: what findings and pages list is what the problem is made of."""
    columns, changed = READ_ANOTHER_WAY[name]
    x = np.random.default_rng(5).normal(size=(80, 3))
    columns = {"y": x[:, 0], "a": x[:, 1], "b": x[:, 2]} | columns
    made = {name: cells for name, cells in columns.items() if cells is not None}
    private, public = pair({**made, "y": made["y"] + 1}, made)
    choices = Choices(target="y", **changed)
    coder = prepare(private, public, choices).coder
    assert chosen_features(private, public, choices) == tuple(one.name for one in coder.features)


SPELLINGS = {
    "capitals": ("Yes", "yes"),
    "blanks within": ("New York", "NewYork"),
    "another alphabet": ("STRASSE", "straße"),
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_levels_spelled_alike_are_named_and_make_no_label(name):
    """Of a feature and of a target: named everywhere, and never offered against a rest that holds its own kind."""
    first, second = SPELLINGS[name]
    rng = np.random.default_rng(6)

    def made(n: int) -> dict:
        texts = rng.choice([first, second, "other one", "another"], n)
        return {"y": rng.normal(size=n), "a": rng.normal(size=n), "t": texts}

    private, public = pair(made(200), made(80))
    notes = prepare(private, public, Choices(target="y")).notes
    (said,) = [note for note in notes if kind_of(note) is TableNote.SPELLINGS]
    assert said.facts["column"] == "t" and {first, second} <= set(said.facts["levels"])
    assert TableNote.SPELLINGS in [one.kind for one in findings(private, public, Choices(target="y"))]
    listed = findings(private, public, Choices(target="t", family="logistic"))
    assert TableNote.SPELLINGS in [one.kind for one in listed]
    offered = {repair.changes.get("positive") for one in listed for repair in one.repairs}
    assert {"other one", "another"} <= offered and not offered & {first, second}
    two = {"y": np.arange(80.0), "t": rng.choice([first, second], 80)}
    (stop,) = [one for one in findings(*pair(two, {**two, "y": two["y"] + 1}), Choices(target="t")) if one.stops]
    assert not stop.repairs, "two spellings of one label are no two labels"


def test_a_number_of_many_values_is_offered_no_label():
    """A target of numbers is offered as one: no value of it against all others."""
    rng = np.random.default_rng(7)
    frames = [{"y": rng.normal(size=n), "a": rng.normal(size=n)} for n in (200, 80)]
    (stop,) = [one for one in findings(*pair(*frames), Choices(target="y", family="logistic")) if one.stops]
    assert [repair.changes["family"] for repair in stop.repairs] == ["gaussian"]


@pytest.mark.parametrize("form", ["{} %", "{}%", "$ {}", "$    {}", "{}   %", "€{}", "{} €", "-{} %"])
def test_numbers_with_a_sign_are_called_so(form):
    """They are left out as texts; what is said names the sign."""
    rng = np.random.default_rng(8)

    def made(n: int) -> dict:
        return {"y": rng.normal(size=n), "a": rng.normal(size=n), "p": [form.format(f"{v:.3f}") for v in rng.random(n)]}

    frames = [{"a": rng.normal(size=n), **made(n)} for n in (200, 80)]
    notes = prepare(*pair(*frames), Choices(target="y")).notes
    (said,) = [note for note in notes if kind_of(note) is TableNote.LEFT_OUT]
    assert said.facts["cause"] is TableMessage.SIGNED_NUMBERS


@pytest.mark.parametrize(("values", "offered"), [((0, 1), True), ((0, 2), False), ((0, 1, 2), False)])
def test_a_target_of_zeros_and_ones_is_offered_the_chance_of_one(values, offered):
    """A linear fit of it is taken where nobody chose, and the other one is a click away."""
    private, public = pair(
        *[{"a": np.arange(n) % 11, "y": np.array(values)[np.arange(n) % len(values)]} for n in (60, 45)]
    )
    noted = [one for one in findings(private, public, Choices(target="y")) if one.kind is TableNote.LABEL_TARGET]
    assert len(noted) == offered
    for one in noted:
        chosen = one.repairs[0].apply(Choices(target="y"))
        assert prepare(private, public, chosen).positive == "1"
        assert not any(other.kind is TableNote.LABEL_TARGET for other in findings(private, public, chosen))


def test_a_code_for_missing_values_is_read_as_missing_by_one_click():
    """The fit is that of tables with empty cells; the record says which number counts as a missing value."""
    rng = np.random.default_rng(3)

    def made(n: int) -> dict:
        age, a = rng.integers(18, 80, n), rng.normal(size=n)
        return {"age": np.where(np.arange(n) % 9 == 0, -999, age), "a": a, "y": a + age + rng.normal(size=n)}

    coded = [made(n) for n in (300, 150)]
    private, public = pair(*coded)
    (one,) = [one for one in findings(private, public, Choices(target="y")) if one.columns == ("age",)]
    chosen = one.repairs[0].apply(Choices(target="y"))
    assert not any(one.columns == ("age",) for one in findings(private, public, chosen))
    empty = [{**one, "age": [None if v == -999 else float(v) for v in one["age"]]} for one in coded]
    read, usual = prepare(private, public, chosen), prepare(*pair(*empty), Choices(target="y"))
    assert np.array_equal(read.public.moment, usual.public.moment)
    assert exact_moment(read) == pytest.approx(exact_moment(usual), rel=1e-12)
    assert TableNote.CODED in map(kind_of, read.notes) and TableNote.CODE_FOR_MISSING not in map(kind_of, read.notes)


@pytest.mark.parametrize("codes", [(), ("none",), ("-999", "x"), ("inf",)], ids=["no code", "text", "one text", "inf"])
def test_codes_for_missing_values_are_numbers(codes):
    """Without them the kind says nothing."""
    private, public = pair(*[{"a": np.arange(n), "y": np.arange(n) % 7} for n in (60.0, 40.0)])
    with refused(TableMessage.CODES_FORM):
        prepare(private, public, Choices(target="y", features=("a",), kinds={"a": "coded"}, levels={"a": codes}))


def exact_moment(problem) -> np.ndarray:
    rows = problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    return rows.T @ rows


def in_german(value: float, digits: int) -> str:
    """Write a number with points between groups of three digits, and a decimal comma."""
    return f"{value:,.{digits}f}".translate(str.maketrans(",.", ".,"))


WRITTEN = {
    "percent": (lambda v, digits: f"{v:.{digits}f} %", "percent"),
    "a currency's code": (lambda v, digits: f"{v:.{digits}f} USD", "dollar"),
    "a unit": (lambda v, digits: f"{v:.{digits}f}kg", None),
    "a code before it": (lambda v, digits: f"CHF {v:,.{digits}f}", None),
    "a comma in a file of commas": (lambda v, digits: f"{in_german(v, digits + 1)} EUR", None),
    "a comma and no sign": (lambda v, digits: in_german(v, digits + 1), None),
}


@pytest.mark.parametrize(("written", "kind"), WRITTEN.values(), ids=WRITTEN)
def test_a_column_with_a_sign_is_read_as_numbers_by_one_click(written, kind):
    """Left out for its many texts, taken for categories, or the target: the same repair, and the numbers' own fit.

    The example that it is offered by, in the kind or in the words, is a cell of the public column.
    """
    rng = np.random.default_rng(9)

    def made(n: int, digits: int) -> dict:
        p, a = (100 if digits == 0 else 3000) * rng.random(n), rng.normal(size=n)
        p = np.round(p, digits)
        return {"p": p, "a": a, "y": a + p + rng.normal(size=n)}

    for digits, choices in ((1, Choices(target="y")), (0, Choices(target="y")), (1, Choices(target="p"))):
        plain = [made(n, digits) for n in (300, 150)]
        signed = [{**one, "p": [written(v, digits) for v in one["p"]]} for one in plain]
        private, public = pair(*signed)
        repairs = [r for one in findings(private, public, choices) for r in one.repairs if "'p'" in r.label]
        offered = next(r for r in repairs if "kinds" in r.changes and r.changes["kinds"]["p"] != "level")
        chosen, form = offered.apply(choices), offered.changes["kinds"]["p"]
        assert form == kind or (kind is None and form.removeprefix("like ") in signed[1]["p"])
        assert any(f"numbers like {cell}" in offered.label for cell in signed[1]["p"])
        told = [note for note in prepare(private, public, chosen).notes if kind_of(note) is TableNote.WRITTEN]
        assert len(told) == (choices.target != "p") and all(n.facts["example"] in signed[1]["p"] for n in told)
        assert not any(one.stops for one in findings(private, public, chosen))
        numbers = [{**one, "p": [f"{v:.{digits}f}" for v in one["p"]]} for one in plain]
        read, usual = prepare(private, public, chosen), prepare(*pair(*numbers), choices)
        assert read.public.names == usual.public.names
        assert np.array_equal(read.public.moment, usual.public.moment)


def test_an_identifier_of_persons_is_no_target_by_default():
    """Its name and its many whole numbers say so, although persons have several rows; a count of that name is one."""
    rng = np.random.default_rng(3)

    def made(n: int) -> dict:
        rows = {"a": rng.normal(size=n), "visits": rng.integers(0, 9, n), "household": rng.integers(1, 6, n)}
        return {**rows, "patientId": rng.integers(1, 900, n)}

    private, public = pair(made(400), made(150))
    assert default_choices(private, public).target == "household"
    few = {**made(5), "patientId": [1017, 40, 233, 871, 5], "household": [1, 2, 2, 4, 1]}
    assert default_choices(*pair(made(400), few)).target == "household"


def test_one_label_is_offered_against_no_rest():
    """Where all public rows have one label, no regression of it against others is offered."""
    assert _make_labels(["high"]) == ()
    assert len(_make_labels(["high", "low"])) == 1


def test_a_repair_that_keeps_one_feature_says_so_in_the_singular():
    """Not "the first 1 features"."""
    assert [one.label for one in _halve_features(("a", "b"))] == ["Only the first feature"]
    assert [one.label for one in _halve_features(("a", "b", "c", "d"))] == ["Only the first 2 features"]


def test_a_kind_that_reads_nothing_is_said_to_read_nothing():
    """The column has text in every cell: not "no number, date or text"."""
    rows = {"p": ["a few"] * 60, "a": list(range(60)), "y": [k**2 for k in range(60)]}
    private = {name: [*cells, *cells] for name, cells in rows.items()}
    with refused(TableMessage.NOTHING_READ, column="p", form="like 5 kg"):
        prepare(*pair(private, rows), Choices(target="y", features=("p", "a"), kinds={"p": "like 5 kg"}))


WRITINGS = {
    "like 1.234,50 EUR": (("EUR",), ","),
    "like CHF 1'200": (("CHF",), ""),
    "like -5.25 $": (("$",), "."),
    "like 1,234 sq m": (("sq m",), ""),
    "like 1.234,5": ((), ","),
}


@pytest.mark.parametrize("kind", WRITINGS)
def test_an_example_tells_sign_and_decimal_mark(kind):
    """Three digits after a single mark may be thousands: the table's own mark decides there."""
    assert (number_format(kind).signs, number_format(kind).decimal) == WRITINGS[kind]


@pytest.mark.parametrize("kind", ["like few", "like EUR 5 kg", "like 5 to 7", "like ", "like 5-7"])
def test_an_example_is_one_number_with_one_text(kind):
    """Anything else is refused before a cell is read."""
    with refused(TableMessage.EXAMPLE_FORM, given=kind):
        Choices(target="y", kinds={"p": kind})


TEXTS = {
    "thousands and a comma": (["3.402,19 EUR", "950,50 EUR"], "like 3.402,19 EUR"),
    "an example that tells less is none": (["3.402 EUR", "950,50 EUR", "12,75 EUR"], "like 950,50 EUR"),
    "letters first": (["A1", "A2"], None),
    "words first": (["Grade 1", "Grade 2"], None),
    "ranges": (["18-24", "25-30"], None),
    "dates": (["2021-03-11", "2021-03-12"], None),
    "times": (["10:30", "11:45"], None),
    "versions": (["1.2.3", "1.3.0"], None),
    "numbers": (["10", "20", "x"], None),
    "words": (["no", "yes"], None),
}


@pytest.mark.parametrize("name", TEXTS)
def test_only_numbers_with_a_sign_are_taken_for_such(name):
    """Codes, ranges, dates and words are none."""
    levels, kind = TEXTS[name]
    assert inferred_format(dict.fromkeys(levels, 1), ".") == kind


@pytest.mark.parametrize("form", ["$ {},234.50", "${},234.50", "{}.234,50 $", "$ {}.5"])
def test_numbers_with_a_sign_and_thousands_are_known(form):
    """Whatever stands between the groups of digits, and with a blank or none."""
    assert inferred_format({form.format(k): 1 for k in range(1, 400)}, None if "," in form else ".") is not None
    assert inferred_format({f"{k} $ or so {k}": 1 for k in range(400)}, ".") is None


TWO = np.array(["low", "high"])
GUESSED = {
    "two labels at the end": (lambda x: {"y_": x, "price": TWO[(x > 0).astype(int)]}, "price", "logistic"),
    "a name, though not at the end": (lambda x: {"Outcome": x, "b": np.roll(x, 1)}, "Outcome", "gaussian"),
    "a name and two labels": (lambda x: {"y": TWO[(x > 0).astype(int)], "previous": x}, "y", "logistic"),
    "two labels within": (lambda x: {"sex": TWO[(x > 0).astype(int)], "b": x}, "b", "gaussian"),
    "two spellings of one label": (lambda x: {"b": x, "z": np.where(x > 0, "yes", "Yes")}, "b", "gaussian"),
    "row numbers of that name": (lambda x: {"b": x, "y": np.arange(len(x))}, "b", "gaussian"),
    "an identifier of two labels": (lambda x: {"b": x, "user": TWO[(x > 0).astype(int)]}, "b", "gaussian"),
    "many labels of that name": (lambda x: {"b": x, "label": np.resize(["p", "q", "r"], len(x))}, "b", "gaussian"),
}


@pytest.mark.parametrize("case", GUESSED)
def test_the_target_that_nobody_chose_is_what_tables_are_about(case):
    """A column of such a name, else two labels at the end, else the last number; the guess makes a problem."""
    made, target, family = GUESSED[case]
    rng = np.random.default_rng(4)
    private, public = pair(*({"a": rng.normal(size=n), **made(rng.normal(size=n))} for n in (300, 90)))
    chosen = default_choices(private, public)
    assert (chosen.target, chosen.family) == (target, family)
    assert prepare(private, public, chosen).private.n == 300


def with_dates(n: int, form: str, days: int = 28) -> dict:
    """Return columns with dates in this form, on days up to this one of the month."""
    rng = np.random.default_rng(n)
    parts = rng.integers(1, [25, 13, days + 1], (n, 3)).tolist()
    dates = pd.to_datetime([f"20{year:02}-{month:02}-{day:02}" for year, month, day in parts])
    a, since = rng.normal(size=n), dates.astype("datetime64[s]").astype("int64") / 86_400
    return {"listed": dates.strftime(form), "a": a, "y": a + since / 1000 + rng.normal(size=n)}


def rows_read(private, public, choices):
    """Return the rows that a method sees."""
    return prepare(private, public, choices).private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)


ORDERS = {"day-first": "%d/%m/%Y", "month-first": "%m/%d/%Y"}


@pytest.mark.parametrize("order", ORDERS)
def test_dates_with_slashes_are_read_where_public_rows_leave_one_order(order):
    """As the same dates are in ISO order; a private cell that does not fit is a gap of its own row alone."""
    public, iso = (
        table_from(pd.DataFrame(with_dates(90, form)), "b", "public") for form in (ORDERS[order], "%Y-%m-%d")
    )
    cells, choices = with_dates(300, ORDERS[order]), Choices(target="y")
    private = table_from(pd.DataFrame(cells), "p", "private")
    usual = table_from(pd.DataFrame(with_dates(300, "%Y-%m-%d")), "p", "private")
    read = rows_read(private, public, choices)
    assert public.schema["listed"].kind == order and np.array_equal(read, rows_read(usual, iso, choices))
    (said,) = [one for one in findings(private, public, choices) if one.kind is TableNote.SLASHED_DATES]
    assert said.repairs
    for odd in ("31/31/2020", "30/02/2020" if order == "day-first" else "02/30/2020", "1/2", "soon"):
        other = table_from(pd.DataFrame({**cells, "listed": [odd, *cells["listed"][1:]]}), "p", "private")
        changed = rows_read(other, public, choices)
        assert not np.any(changed[0]) and np.array_equal(changed[1:], read[1:])


@pytest.mark.parametrize("n", [90, 12])
def test_dates_whose_order_is_open_are_offered_both(n):
    """Left out for their many texts or taken for categories: a button for each order, and the dates of that order."""
    for order, form in ORDERS.items():
        cells = with_dates(90, form, days=12)
        cells["listed"] = np.resize(np.asarray(cells["listed"])[:n], 90)
        private = table_from(pd.DataFrame(with_dates(300, form)), "p", "private")
        public = table_from(pd.DataFrame(cells), "b", "public")
        (one,) = [one for one in findings(private, public, Choices(target="y")) if len(one.repairs) == 2]
        assert one.kind is (TableNote.LEFT_OUT if n == 90 else TableNote.OPEN_DATES)
        assert [repair.changes["kinds"]["listed"] for repair in one.repairs] == list(ORDERS)
        assert [repair.label for repair in one.repairs] == [
            f"Read 'listed' as dates, {k} first" for k in ("day", "month")
        ]
        chosen = next(r for r in one.repairs if r.changes["kinds"]["listed"] == order).apply(Choices(target="y"))
        usual = with_dates(300, "%Y-%m-%d")
        read = rows_read(private, public, chosen)
        days = pd.to_datetime(usual["listed"]).astype("datetime64[s]").astype("int64") / 86_400
        assert np.array_equal(read[:, 1], days)
        both = Choices(target="y", features=("listed", "a"))
        if n == 90:
            (stop,) = [one for one in findings(private, public, both) if one.stops]
            assert [list(r.changes) for r in stop.repairs] == [["kinds"], ["kinds"], ["features"]]


def test_dates_that_contradict_each_other_are_no_dates():
    """Days beyond 12 on both sides leave no order; one cell of another kind leaves the order of the rest."""
    cells = [f"{13 + j % 15}/0{1 + j % 9}/2020" for j in range(40)]
    assert date_orders(dict.fromkeys([*cells, "01/20/2020"], 1)) == {"day-first": 40, "month-first": 1}
    made = with_dates(90, "%d/%m/%Y")
    odd = table_from(pd.DataFrame({**made, "listed": ["01/20/2020", *made["listed"][1:]]}), "b", "public")
    assert odd.schema["listed"].kind == "level"
    assert likely_orders(dict.fromkeys([*cells, "unknown"], 1)) == ["day-first"]
    assert likely_orders({"2020-01-31": 3, "unknown": 1}) == []


@pytest.mark.parametrize("name", SPELLINGS)
def test_levels_spelled_alike_are_read_alike_by_one_click(name):
    """Of a feature and of a target: what the tables give whose texts are written in one way, each cell by itself."""
    first, second = SPELLINGS[name]

    def made(n: int, write) -> pd.DataFrame:
        rng = np.random.default_rng(n)
        texts = rng.choice([first, first, second, "other one"], n)
        return pd.DataFrame({"y": rng.normal(size=n), "a": rng.normal(size=n), "t": [write(text) for text in texts]})

    def as_they_are(text):
        return text

    private, public = (table_from(made(n, as_they_are), "t", role) for n, role in ((300, "private"), (90, "public")))
    usual = [
        table_from(made(n, lambda text: first if text == second else text), "t", role)
        for n, role in ((300, "private"), (90, "public"))
    ]
    labels = Choices(target="t", family="logistic", positive="other one")
    for choices in (Choices(target="y"), labels, Choices(target="t", family="logistic")):
        (one,) = [one for one in findings(private, public, choices) if one.kind is TableNote.SPELLINGS]
        chosen = one.repairs[0].apply(choices)
        assert chosen.kinds == {"t": "caseless"} and not any(one.stops for one in findings(private, public, chosen))
        assert TableNote.SPELLINGS not in [one.kind for one in findings(private, public, chosen)]
        assert TableNote.READ_ALIKE in [kind_of(note) for note in prepare(private, public, chosen).notes]
        assert np.array_equal(rows_read(private, public, chosen), rows_read(*usual, choices))
        read, same = prepare(private, public, chosen), prepare(*usual, choices)
        assert (read.public.names, read.positive, read.other_label) == (
            same.public.names,
            same.positive,
            same.other_label,
        )
        assert read.design.labels == same.design.labels
        again = Design.from_dict(read.design.as_dict())
        assert again.as_dict() == read.design.as_dict()
    cells = made(300, as_they_are)
    new = table_from(cells.assign(t=[" ".join(first.upper()), *cells["t"][1:]]), "t", "private")  # no public spelling
    chosen = Choices(target="y", kinds={"t": "caseless"})
    before, after = rows_read(private, public, chosen), rows_read(new, public, chosen)
    assert np.array_equal(after[1:], before[1:]) and np.any(after[0])
    declared = Choices(target="y", kinds={"t": "caseless"}, levels={"t": (second.upper(), "OTHER ONE")})
    assert prepare(private, public, declared).public.d == 3


def test_a_missing_category_can_be_a_level_of_its_own():
    """Its share is said and one click keeps it: no row is left out or filled for it; other cells are read as before."""
    private, public = tables(*[lambda t: t.assign(sex=[None, "?", *t.sex[2:]])] * 2)
    choices = Choices(target="y", missing="public-median")
    (one,) = [one for one in findings(private, public, choices) if one.kind is TableNote.MISSING_CATEGORIES]
    assert not one.is_open and one.sentence.facts["share"] == pytest.approx(2 / public.n)
    remaining = one.repairs[0].apply(choices)
    assert remaining.kinds == {"sex": "with-unknown"}
    assert TableNote.MISSING_CATEGORIES not in [one.kind for one in findings(private, public, remaining)]
    problem = prepare(private, public, remaining)
    assert TableNote.MISSING_AS_LEVEL in [kind_of(note) for note in problem.notes]
    at = problem.public.names.index("sex=unknown")
    before, after = rows_read(private, public, choices), rows_read(private, public, remaining)
    assert list(after[:3, at]) == [1.0, 1.0, 0.0] and np.array_equal(before[2:], np.delete(after, at, 1)[2:])
    again = Design.from_dict(problem.design.as_dict())
    assert again.as_dict() == problem.design.as_dict()


def test_public_rows_that_cannot_be_filled_are_said_with_their_columns():
    """Gaps are filled; a public row without a response, or of a level of one row, is left out, and that is said."""
    private, public = tables(
        lambda t: t.assign(sex=["X", *t.sex[1:]], y=[1.0, np.nan, *t.y[2:]], a=[*t.a[:-1], np.nan])
    )
    filled = prepare(private, public, Choices(target="y", missing="public-median"))
    (said,) = [note for note in filled.notes if kind_of(note) is TableNote.PUBLIC_ROWS_UNFILLED]
    assert said.facts["count"] == 2 and set(said.facts["columns"]) == {"sex", "y"} and filled.public.m == 58
    assert public_rows_words(filled, public) == ("58 of 60 public rows (2 have a rare or missing 'sex', 'y')")
    usual = prepare(private, public, Choices(target="y"))
    assert public_rows_words(usual, public) == "57 of 60 public rows (3 have gaps)"
    assert TableNote.PUBLIC_ROWS_UNFILLED not in map(kind_of, usual.notes)


def test_every_column_that_is_filled_is_named():
    """Cells that are no numbers are gaps as empty ones are; more than three columns are named."""
    made = {f"c{j}": np.random.default_rng(j).normal(size=60).astype(str) for j in range(5)}
    for j, cells in enumerate(made.values()):
        cells[j] = "" if j else "see notes"
    private, public = tables(lambda t: t.assign(**made), lambda t: t.assign(**dict.fromkeys(made, 1.5)))
    assert public.schema["c0"].kind == "number"
    words = filled_gaps(prepare(private, public, Choices(target="y", missing="public-median")), public)
    assert all(f"{name} (" in words for name in made)


def test_too_few_public_rows_for_one_feature_offer_no_smaller_choice():
    """One sentence: leaving features out lifts nothing, so nothing is done and nothing said twice."""
    private, public = tables(lambda t: t[["a", "b", "y"]][:2], lambda t: t[["a", "b", "y"]])
    (stop,) = [one for one in findings(private, public, Choices(target="y")) if one.stops]
    assert stop.kind is PublicMessage.TOO_FEW_ROWS and not stop.repairs
    private, public = tables(lambda t: t[["a", "b", "y"]][:3], lambda t: t[["a", "b", "y"]])
    better = repaired_choices(private, public, Choices(target="y"))
    assert better.features == ("a",) and prepare(private, public, better).public.m == 3


def test_a_name_that_is_there_twice_is_placed():
    """Of a public file the name is said; of a private one, whose names are nobody's business, the columns' numbers."""
    rows = b"a,b,a,y\n" + b"1,2,3,4\n" * 30
    with refused(TableMessage.NAMES_TWICE, columns=["a"]):
        read_table(rows, "b.csv", "public")
    with refused(TableMessage.NAME_TWICE, places=[1, 3]):
        read_table(rows, "p.csv", "private")


@pytest.mark.parametrize("family", ["gaussian", "logistic"])
def test_a_target_of_one_text_value_is_not_offered_another_regression(family):
    """No regression can explain what does not vary: the sentence says so, whichever is chosen."""
    rows = "".join(f"{k % 7},{k % 5},Yes\n" for k in range(60))
    public, private = (read_table(("a,b,y\n" + rows).encode(), "t.csv", role) for role in ("public", "private"))
    (stops,) = [one for one in findings(private, public, Choices(target="y", family=family)) if one.stops]
    assert stops.kind is TableNote.ONE_TARGET_VALUE and "no regression can explain it" in stops.sentence


def test_labels_are_read_whatever_their_capitals_blanks_and_final_point():
    """UCI's Adult has ">50K" in one file and ">50K." in the other: no private row is lost by that."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=400)
    high = rng.random(400) < 1 / (1 + np.exp(-x))

    def made(rows: slice, low: str, top: str) -> dict[str, object]:
        return {"x": x[rows].tolist(), "y": np.where(high[rows], top, low).tolist()}

    choices = Choices(target="y", family="logistic", positive=">50K.", features=("x",))
    public = made(slice(300, 400), "<=50K.", ">50K.")
    spellings = (("<=50K.", ">50K."), (" <=50k", ">50 K"))
    problems = [prepare(*pair(made(slice(0, 300), *labels), public), choices) for labels in spellings]
    read = [one.private.concatenate(lambda x, y: y).reveal(TEST) for one in problems]
    assert np.array_equal(*read) and 0 < read[0].mean() < 1


def test_a_code_that_is_a_cap_is_capped_by_one_click():
    """Each row is read by itself: the number declared is the most that counts; the code itself is no gap."""
    rng = np.random.default_rng(4)

    def made(n: int) -> dict:
        gain = np.where(np.arange(n) % 9 == 0, 99999, rng.integers(0, 5000, n))
        return {"gain": gain, "y": rng.normal(size=n)}

    cells = made(300)
    private, public = pair(cells, made(150))
    (one,) = [one for one in findings(private, public, Choices(target="y")) if one.columns == ("gain",)]
    repair = next(repair for repair in one.repairs if repair.changes["kinds"] == {"gain": "capped"})
    chosen = repair.apply(Choices(target="y"))
    (limit,) = chosen.levels["gain"]
    gains = public.schema["gain"].read(public.column("gain").combine_chunks())
    assert float(limit) == np.max(gains[gains != 99999])
    assert not any(one.columns == ("gain",) for one in findings(private, public, chosen))
    problem = prepare(private, public, chosen)
    rows = problem.private.concatenate(lambda x, y: x).reveal(TEST)
    assert np.array_equal(rows[:, 1], np.minimum(cells["gain"], float(limit)))
    assert TableNote.CAPPED in map(kind_of, problem.notes)


@pytest.mark.parametrize("limits", [(), ("none",), ("1", "2"), ("inf",)], ids=["no cap", "text", "two", "inf"])
def test_a_cap_is_one_number(limits):
    """Without it the kind says nothing."""
    private, public = pair(*[{"a": np.arange(n), "y": np.arange(n) % 7} for n in (60.0, 40.0)])
    with refused(TableMessage.CAP_FORM):
        prepare(private, public, Choices(target="y", features=("a",), kinds={"a": "capped"}, levels={"a": limits}))


def test_it_is_said_what_a_code_is_filled_with():
    """The note, the repair and the line about gaps name one value: the median of the other public values."""
    private, public = pair(*[{"gain": [99999, *range(n)], "y": np.arange(n + 1) % 7} for n in (61, 41)])
    (one,) = [one for one in findings(private, public, Choices(target="y")) if one.columns == ("gain",)]
    filled = next(repair for repair in one.repairs if "missing" in repair.changes)
    assert "with 20)" in filled.label
    problem = prepare(private, public, filled.apply(Choices(target="y")))
    (note,) = [note for note in problem.notes if kind_of(note) is TableNote.CODED_FILLED]
    assert note.facts["number"] == 20
    assert "its public median, 20" in filled_gaps(problem, public)


def test_an_unknown_category_is_never_filled():
    """Also where gaps are filled a row with one counts as zeros, and the notes say so."""
    towns = [["a", "b", None] * 20 + ["unknown"] * 3, ["a", "b", "b"] * 20]
    private, public = pair(*[{"town": town, "y": np.arange(len(town)) % 7.0} for town in towns])
    problem = prepare(private, public, Choices(target="y", missing="public-median"))
    rows = problem.private.concatenate(lambda x, y: x).reveal(TEST)
    assert not np.any(rows[-3:]) and np.all(rows[:-3, 0] == 1)
    (note,) = [note for note in problem.notes if kind_of(note) is TableNote.UNKNOWN_LEVELS]
    assert "not filled" in note


def test_text_that_is_read_as_a_gap_is_named():
    """The note and the sentence on filled gaps name public texts that are no numbers, the most frequent ones first."""
    private, public = tables(lambda t: t.assign(b=["kg 5", "kg 5", "about 3", None, *map(str, range(56))]))
    for missing in ("empty-row", "public-median"):
        choices = Choices(target="y", features=("a", "b"), kinds={"b": "number"}, missing=missing)
        problem = prepare(private, public, choices)
        note = next(note for note in problem.notes if kind_of(note) is TableNote.UNREADABLE_CELLS)
        assert "3 public cells of 'b', such as 'kg 5', 'about 3'," in note
        assert note.index("'kg 5'") < note.index("'about 3'")
        said = filled_gaps(problem, public)
        assert (note in said and "b (4 cells, 6.7 %)" in said) is (missing == "public-median")
