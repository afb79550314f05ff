"""Reading and encoding tables."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from pmtcore.base.messages import TableMessage, TableNote, kind_of
from pmtcore.public.moments import INTERCEPT
from pmtcore.tables.choices import Choices, levels_from_text
from pmtcore.tables.problem import common_columns, default_choices, prepare
from pmtcore.tables.table import read_moment, read_table, split, table_from
from tests.helpers import TEST, refused


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"age": rng.normal(40, 10, n), "höhe": rng.normal(170, 8, n)})
    table["town"] = rng.choice(["north", "south", "west"], n, p=[0.5, 0.3, 0.2])
    table["member"] = rng.random(n) < 0.5
    table["pay"] = 10 + 0.5 * table["age"] + 3 * (table["town"] == "south") + rng.normal(0, 1, n)
    return table


def parquet(table: pd.DataFrame) -> bytes:
    return table.to_parquet()


WRITERS = {
    "csv": lambda t: t.to_csv(index=False).encode(),
    "csv with BOM": lambda t: t.to_csv(index=False).encode("utf-8-sig"),
    "csv, latin-1": lambda t: t.to_csv(index=False).encode("latin-1"),
    "csv, CRLF and empty lines": lambda t: (t.to_csv(index=False).replace("\n", "\r\n") + "\r\n\r\n").encode(),
    "tsv": lambda t: t.to_csv(index=False, sep="\t").encode(),
    "semicolon": lambda t: t.to_csv(index=False, sep=";").encode(),
    "semicolon, decimal comma": lambda t: t.to_csv(index=False, sep=";", decimal=",").encode(),
    "bar": lambda t: t.to_csv(index=False, sep="|").encode(),
    "spaces in the header": lambda t: t.rename(columns=lambda c: f"  {c} ").to_csv(index=False).encode(),
    "parquet": parquet,
}


def test_signs_of_windows_in_header_and_cells():
    """The euro's sign and curly quotes, in a file as Excel writes it, are what they were; UTF-16 is a sentence."""
    table = frame(60, 1).rename(columns={"pay": "Löhne in €"})
    table["town"] = table["town"].map(lambda name: f"“{name}”")
    text = table.to_csv(index=False)
    public = read_table(text.encode("cp1252"), "t", "public")
    private = read_table((text + "\n").encode("cp1252"), "t", "private")
    assert public.columns == private.columns == tuple(table.columns)
    problem = prepare(private, public, Choices(target="Löhne in €", overlap="a test", collinear="drop"))
    assert any("“" in name for name in problem.public.names) and problem.dialect.encoding == "cp1252"
    with refused(TableMessage.UTF16):
        read_table(text.encode("utf-16"), "t", "public")


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("form", WRITERS)
def test_every_form_reads_the_same_table(form, zipped):
    """CSV, TSV, Parquet, each also gzip'ed, with the quirks of real files, unicode names included."""
    table = frame(60, 1)
    data = WRITERS[form](table)
    result = read_table(gzip.compress(data) if zipped else data, "t", "public").frame
    assert list(result.columns) == list(table.columns)
    assert np.allclose(result["age"], table["age"]) and np.allclose(result["pay"], table["pay"])
    assert list(result["town"]) == list(table["town"])


def sides(change=lambda t: t, **choices):
    private = read_table(change(frame(300, 1)).to_csv(index=False).encode(), "p", "private")
    public = read_table(frame(80, 2).to_csv(index=False).encode(), "b", "public")
    return prepare(private, public, Choices(target="pay", **choices))


def rows(problem):
    return problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)


def test_the_design_is_the_textbook_one():
    """Intercept first, numbers as they are, one column per category but the most frequent public one."""
    problem = sides()
    assert problem.public.names == (INTERCEPT, "age", "höhe", "town=south", "town=west", "member")
    table, z = frame(300, 1), rows(problem)
    assert np.all(z[:, 0] == 1)
    assert np.allclose(z[:, 1], table["age"])
    assert np.array_equal(z[:, 3], table["town"] == "south")
    assert np.array_equal(z[:, 5], table["member"])
    assert np.allclose(z[:, -1], table["pay"])


def test_choices_choose():
    """Features in the order named, without the intercept where it is switched off."""
    assert sides(features=("höhe", "age"), intercept=False).public.names == ("höhe", "age")


def with_other_town(table):
    return table.assign(town=table["town"].where(table.index > 4, "SECRET-TOWN"))


def test_a_level_only_private_rows_have_is_refused_without_its_name():
    """The sentence names the column, not the level."""
    with refused(TableMessage.UNKNOWN_LEVELS, columns=["town"], table="private") as caught:
        sides(with_other_town, unseen="refuse")
    assert "town" in str(caught.value) and "SECRET" not in str(caught.value)


def test_a_level_only_private_rows_have_is_never_the_reference():
    """Without a level 'other' in the public rows it is missing, and the note says so without its name."""
    problem = sides(with_other_town)
    assert not np.any(rows(problem)[:5]) and np.all(rows(problem)[5:, 0] == 1)
    assert any("that the public table does not have count as missing" in note for note in problem.notes)
    assert "SECRET" not in " ".join(problem.notes)


def test_rare_public_levels_make_an_other():
    """Two public levels with one row each are merged into 'other', where unseen private ones go too."""
    public = frame(80, 2)
    public.loc[[0, 1], "town"] = ["hill", "isle"]
    private = with_other_town(frame(300, 1))
    problem = prepare(
        read_table(private.to_csv(index=False).encode(), "p", "private"),
        read_table(public.to_csv(index=False).encode(), "b", "public"),
        Choices(target="pay", unseen="other"),
    )
    at = problem.public.names.index("town=other")
    assert rows(problem)[:5, at].sum() == 5


def test_declared_levels():
    """Levels can be declared; public rows outside them are refused like any unseen level."""
    with refused(TableMessage.UNKNOWN_LEVELS):
        sides(with_other_town, levels={"town": ("north", "south", "west")}, unseen="refuse")
    problem = sides(levels=levels_from_text(["town = north | south|west | far"]))
    assert "town=west" in problem.public.names
    assert any("'far'" in note for note in problem.notes)
    with refused(TableMessage.CATEGORIES_FORM):
        levels_from_text(["town: north"])
    assert levels_from_text(["age = -999"]) == {"age": ("-999",)}, "one code is a declaration too"


def holes(table):
    table = table.copy()
    table.loc[3, "age"] = np.nan
    table.loc[4, "pay"] = np.nan
    table.loc[5, "town"] = None
    return table


def test_missing_values_refused_by_name():
    """The strict policy names the columns and the table."""
    with refused(TableMessage.MISSING_VALUES, columns=["age", "town", "pay"], table="private"):
        sides(holes, missing="refuse")


def test_a_private_row_with_a_missing_value_is_a_row_of_zeros():
    """n stays what it was, the row adds nothing to any moment, and the fit is that of the whole rows."""
    problem = sides(holes, missing="empty-row")
    z = rows(problem)
    assert problem.private.n == 300
    assert np.all(z[3:6] == 0)
    assert np.all(z[6:, 0] == 1)


def test_public_medians_fill_private_holes():
    """Numbers get the public median, categories the reference; a row without response stays empty; all that is said."""
    problem = sides(holes, missing="public-median")
    assert TableNote.FILLED_GAPS in map(kind_of, problem.notes)
    z = rows(problem)
    assert z[3, 1] == pytest.approx(np.median(frame(80, 2)["age"]))
    assert np.all(z[4] == 0)
    assert z[5, 0] == 1 and np.all(z[5, 3:5] == 0)


def test_public_rows_with_holes_are_left_out_and_said():
    """Their number is public."""
    private = read_table(frame(300, 1).to_csv(index=False).encode(), "p", "private")
    public = read_table(holes(frame(80, 2)).to_csv(index=False).encode(), "b", "public")
    problem = prepare(private, public, Choices(target="pay", missing="empty-row"))
    assert problem.public.m == 77
    assert any("3 public rows" in note for note in problem.notes)


def test_a_moment_matrix_as_public_data():
    """A labelled square table with an intercept row is the same as the rows behind it."""
    table = frame(80, 2)[["age", "höhe", "pay"]]
    z = np.column_stack([np.ones(80), table])
    columns = ["intercept", "age", "höhe", "pay"]
    matrix = pd.DataFrame(z.T @ z / 80, columns=columns, index=columns)
    result = read_moment(
        matrix.to_csv().replace("höhe", "höhe").encode().replace(b",intercept", b"name,intercept", 1), "m"
    )
    assert result.columns == tuple(columns)
    private = read_table(frame(300, 1).to_csv(index=False).encode(), "p", "private")
    problem = prepare(private, result, Choices(target="pay"), public_rows=80)
    rows_behind = read_table(table.to_csv(index=False).encode(), "b", "public")
    same = prepare(private, rows_behind, Choices(target="pay"))
    assert problem.public.names == same.public.names == (INTERCEPT, "age", "höhe")
    assert np.allclose(problem.public.factor, same.public.factor, rtol=1e-6)


def test_splits_and_guesses():
    """A split keeps every row once; the guessed target is the last numeric column both have."""
    complete = read_table(frame(100, 1).to_csv(index=False).encode(), "t", "public")
    private, public = split(complete, 30, 0)
    assert (private.n, public.n) == (70, 30)
    assert sorted([*private.frame["age"], *public.frame["age"]]) == sorted(complete.frame["age"])
    assert default_choices(private, public).target == "pay"
    assert common_columns(private, public) == list(complete.columns)


@pytest.mark.parametrize(
    ("separator", "decimal", "cells"),
    [
        (";", ",", ["1.234,5", "2.000.000,25", "-17,5", "1.500", "1'234,5", "k.A."]),
        (";", ".", ["1,234.5", "2,000,000.25", "-17.5", "1,500", "1 234.5", "-"]),
        (",", ".", ["1,234.5", "2,000,000.25", "-17.5", "1,500", "1\u202f234.5", "#VALUE!"]),
        ("\t", ",", ["1 234,5", "2\u00a0000\u00a0000,25", "-17,5", "1.500", "1\u2019234,5", "n.a."]),
    ],
)
def test_numbers_as_people_write_them(separator, decimal, cells):
    """Thousands apart, in each file's own way; a blank of any name is missing; the decimal mark is found."""
    text = separator.join(["pay", "y"]) + "\n"
    text += "\n".join(separator.join([f'"{cell}"', str(j)]) for j, cell in enumerate(cells))
    table = read_table(text.encode(), "b.csv", "public")
    assert table.dialect.decimal == decimal
    fields = table.schema["pay"].read(pa.array(cells), table.decimal)
    assert table.schema["pay"].kind == "number"
    np.testing.assert_array_equal(fields, [1234.5, 2000000.25, -17.5, 1500, 1234.5, np.nan])


def test_three_digits_after_one_mark_are_thousands_where_other_numbers_say_so():
    """2.050 beside 1,5 is two thousand and fifty; alone it is a little more than two."""
    for more, value in (("1,5", 2050.0), ("1.5", 2.05), ("7", 2.05)):
        table = read_table(f"a;y\n2.050;1\n{more};2\n".encode(), "b.csv", "public")
        assert table.schema["a"].read(pa.array(["2.050"]), table.decimal)[0] == value


@pytest.mark.parametrize(("separator", "mark", "noted"), [(";", ",", True), (";", ".", False), (",", ".", False)])
def test_a_decimal_comma_is_said(separator, mark, noted):
    """How the public file writes numbers decides how private ones are read, so a comma is named before a spend."""
    rows = [separator.join(cells) for cells in (("a", "y"), *((f"{60 + j}{mark}{j % 7}", str(j)) for j in range(30)))]
    public = read_table("\n".join(rows).encode(), "b.csv", "public")
    private = read_table("\n".join([*rows, rows[-1]]).encode(), "p.csv", "private")
    notes = prepare(private, public, Choices(target="y")).notes
    assert noted is any(getattr(note, "kind", None) is TableNote.DECIMAL_COMMA for note in notes)


def test_dates_with_points():
    """The day comes first; a day that is none is missing; with slashes the order is not known, and is said."""
    rows = [f"{1 + j % 28}.{1 + j % 12:02}.20{10 + j // 9}" for j in range(60)]
    collected = [f"{1 + j % 12}/{1 + j % 11:02}/20{10 + j // 9}" for j in range(60)]
    table = table_from(pd.DataFrame({"since": rows, "seen": collected, "y": range(60)}), "b", "public")
    assert table.schema["since"].kind == "date"
    fields = table.schema["since"].read(pa.array(["31.12.2020", "1.2.1970 12:00", "31.2.2020", "12.31.2020"]))
    np.testing.assert_array_equal(fields, [18627.0, 31.5, np.nan, np.nan])
    private = table_from(table.frame[::-1], "p", "private")
    with refused(TableMessage.SLASHED_DATES):
        prepare(private, table, Choices(target="y", features=("since", "seen")))
