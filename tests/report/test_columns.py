"""The columns of the Data page: read off the public rows alone."""

from __future__ import annotations

import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.messages import TableNote
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.releases.release import Request, release
from pmtcore.report.columns import at_a_glance
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import read_table


def _table(name: str, **columns: list[object]):
    return read_table(pd.DataFrame(columns).to_csv(index=False).encode(), f"{name}.csv", name)


def test_each_column_has_its_part_and_its_public_rows():
    """The target first; what is not chosen is left out; a gap counts as missing, and no private value shows."""
    public = _table(
        "public", age=[20.0, 30.0, 40.0, None], town=["a", "a", "b", "a"], pay=[1.0, 2.0, 3.0, 4.0], id=[1, 2, 3, 4]
    )
    choices = Choices(target="pay", features=("age", "town"))
    tables = [
        at_a_glance(
            _table("private", age=ages, town=["a", "b", "a"], pay=[1.0, 2.0, 3.0], id=[7, 8, 9]), public, choices
        )
        for ages in ([1.0, 2.0, 3.0], [999.0, -5.0, 1e6])
    ]
    assert tables[0].equals(tables[1]), "private values decide nothing"
    result = tables[0].set_index("column")
    assert list(result.index) == ["pay", "age", "town", "id"]
    assert list(result["part"]) == ["target", "feature", "feature", "left out"]
    assert result.loc["age", "missing in public rows"] == 1 and sum(result.loc["age", "public rows"]) == 3
    assert result.loc["town", "public rows"] == [3, 1]


def test_a_column_that_is_left_out_of_the_fit_says_so():
    """A number that other columns give away, and a constant: chosen, and left out all the same."""
    age = [20.0, 30.0, 40.0, 50.0, 60.0, 70.0]
    columns = {"age": age, "months": [12 * one for one in age], "one": [1.0] * 6, "pay": [1.0, 2.0, 4.0, 3.0, 6.0, 5.0]}
    public, private = (
        _table("public", **columns),
        _table("private", **{name: values[::-1] for name, values in columns.items()}),
    )
    choices = Choices(target="pay")
    result = at_a_glance(private, public, choices, prepare(private, public, choices).notes).set_index("column")
    assert list(result.loc[["age", "months", "one"], "part"]) == ["feature", "left out", "left out"]


def test_bars_of_whole_numbers_hold_equally_many():
    """No gap between neighbours and none for want of a whole number: 1 to 5, 0 to 30 and the years of a century."""
    for low, high, bars in ((1, 5, 5), (0, 30, 11), (1900, 1999, 12), (7, 7, 1)):
        values = [float(v) for v in range(low, high + 1)]
        table = _table("public", v=values, y=values)
        result = at_a_glance(table, table, Choices(target="y")).set_index("column").loc["v", "public rows"]
        assert len(result) == bars and sum(result) == len(values)
        assert len(set(result[:-1])) <= 1, "each but the last has as many"


def test_a_column_read_as_numbers_is_shown_as_numbers():
    """Its kind and its bars are those of the numbers, whatever their sign."""
    rates = [f"{10 * at} %" for at in range(10)]
    table = _table("public", rate=rates, y=[float(at) for at in range(10)])
    result = at_a_glance(table, table, Choices(target="y", kinds={"rate": "percent"})).set_index("column")
    assert result.loc["rate", "kind"] == "numeric"
    assert len(result.loc["rate", "public rows"]) == 12 and sum(result.loc["rate", "public rows"]) == 10


def test_a_code_for_a_missing_value_is_no_bar():
    """The bars are of the other numbers."""
    table = _table("public", age=[*range(20, 30), -999, -999], y=[float(at) for at in range(12)])
    choices = Choices(target="y", kinds={"age": "coded"}, levels={"age": ("-999",)})
    shown = at_a_glance(table, table, choices).set_index("column").loc["age"]
    assert shown["kind"] == "numeric" and sum(shown["public rows"]) == 10 and 0 not in shown["public rows"][:9]


def test_cells_that_are_not_read_are_missing_and_spellings_read_alike_are_one():
    """The table shows columns as the fit has them."""
    town = ["a", "A", "a", "b", "b ", "b"] * 5
    table = _table("public", town=town, pay=[*range(28), "unknown", "x"], y=[float(at) for at in range(30)])
    for kinds, words in (({}, "3 categories"), ({"town": "caseless"}, "2 categories")):
        shown = at_a_glance(table, table, Choices(target="y", kinds=kinds)).set_index("column")
        assert shown.loc["town", "kind"] == words
        assert shown.loc["pay", "missing in public rows"] == 2


BANDS = ["public-only", "pmt-score", "pmt-objective", "pmt-gradients"]
CONSTANT = [
    ("logistic", ["yes"] * 6, True),
    ("logistic", ["yes", "no"] * 3, False),
    ("poisson", [0] * 6, True),
    ("poisson", [3] * 6, True),
    ("poisson", [3, 0] * 3, False),
]


@pytest.mark.parametrize(("family", "values", "constant"), CONSTANT)
def test_public_rows_of_one_response_are_noted_and_give_no_bands(family, values, constant):
    """On every face: a fit to them knows nothing of the response, and what it says of its error is nothing either."""
    age = [1.0, 2.0, 4.0, 3.0, 6.0, 5.0]
    public, private = (
        _table("public", bought=values, age=age),
        _table("private", bought=["no", "yes"] * 3 if family == "logistic" else [1, 5] * 3, age=age[::-1]),
    )
    choices = Choices(target="bought", family=family, positive="yes" if family == "logistic" else None)
    problem = prepare(private, public, choices)
    assert constant is any(getattr(note, "kind", None) is TableNote.ONE_PUBLIC_LABEL for note in problem.notes)
    for id in {"logistic": BANDS, "poisson": sorted({*BANDS} - {"pmt-objective"})}[family]:
        made = release(problem, Request(id, Budget(1.0)), SeededNoise(1))
        assert (made.bands is None) is constant, id


def test_an_identifier_is_left_out_in_the_table_too():
    """A column that numbers rows goes into no fit that nobody chose it for, and the table of columns says so."""
    columns = {"code": range(60), "x": [at % 7 for at in range(60)], "y": [at % 11 for at in range(60)]}
    private = _table("private", **{name: list(values)[::-1] for name, values in columns.items()})
    public = _table("public", **columns)
    choices = Choices(target="y")
    part = at_a_glance(private, public, choices, prepare(private, public, choices).notes).set_index("column")["part"]
    assert part["code"] == "left out" and part["x"] == "feature"


def test_texts_that_are_no_categories_are_left_out_in_the_table_too():
    """Another text in each of many rows makes no category: left out of the fit, and the table of columns says so."""
    columns = {"share": [f"{at},6 %" for at in range(60)], "x": [at % 7 for at in range(60)], "y": [*range(30)] * 2}
    public = _table("public", **{name: list(values) for name, values in columns.items()})
    private = _table("private", **{name: list(values)[::-1] for name, values in columns.items()})
    choices = Choices(target="y")
    part = at_a_glance(private, public, choices, prepare(private, public, choices).notes).set_index("column")["part"]
    assert part["share"] == "left out" and part["x"] == "feature"


def test_levels_whose_public_rows_have_one_label_are_noted():
    """Their effects have a sign and no size; a number, a level with both labels and a linear target have no note."""
    rows = {
        "town": ["a", "b", "c"] * 20,
        "x": [at % 7 for at in range(60)],
        "bought": ["yes" if at % 3 == 1 or at % 2 else "no" for at in range(60)],
    }
    public, private = _table("public", **rows), _table("private", **{name: one[::-1] for name, one in rows.items()})
    choices = Choices(target="bought", family="logistic", positive="yes")
    notes = [note for note in prepare(private, public, choices).notes if note.kind is TableNote.LEVELS_OF_ONE_LABEL]
    assert [note.facts for note in notes] == [{"column": "bought", "levels": ("town=b",)}]
    linear = prepare(private, public, Choices(target="x", features=("town",)))
    assert not any(note.kind is TableNote.LEVELS_OF_ONE_LABEL for note in linear.notes)
