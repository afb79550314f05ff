"""One private row, replaced by any other in any source, changes its own row of what a method sees and nothing else.

Nothing else is: the other rows bit for bit, n, the notes and the standing of the problem, and that nothing fails.
"""

from __future__ import annotations

import datetime
import decimal
import gzip
import io
import itertools
import json
import sqlite3
import warnings
import zoneinfo
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.base.messages import TableMessage
from pmtcore.cli.main import main
from pmtcore.tables.cells import OBJECT, codes, days, from_objects, numbers, texts
from pmtcore.tables.choices import Choices
from pmtcore.tables.cluster import part_sum, table_parts
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.findings import findings
from pmtcore.tables.problem import Problem, prepare
from pmtcore.tables.schema import Schema, schema_from_json
from pmtcore.tables.table import Table, query_table, read_path, read_table, table_from
from tests.helpers import TEST, refused

D = decimal.Decimal
BERLIN = zoneinfo.ZoneInfo("Europe/Berlin")
HEADER = ("number", "level", "day", "y")
LEVELS = ("0.1", "2.5", "1", "north")
CHOICES = Choices(target="y", levels={"level": LEVELS})
WORDS = [
    "",
    "NA",
    "unknown",
    "x",
    "0.1",
    " 2.5 ",
    "1",
    "north",
    "1e61",
    "inf",
    '"',
    'a"b',
    '"a',
    "é",
    "2020-01-02",
    "\x00",
]
BYTES = [b"\xff", b"a\xffb", b"\xed\xa0\x80", b"", b"0.1", b"north", b"2020-01-03", b"2\xff", b"\xff1"]
# what a cell of an object column may be
OBJECTS = [
    *(None, pd.NA, pd.NaT, np.nan, True, np.bool_(False), 1, 0, -3, 2**63, 2**64, 10**30, 10**200, np.int8(1)),
    *(0.1, 2.5, 1.0, 1e16, float("inf"), np.float32(0.1), np.float32(2.5), np.float16(0.1), np.float64(0.1)),
    *(D("0.1"), D("2.50"), D("1E-30"), D("1E+70"), D("NaN"), D("Infinity"), D(1) / 3, D("1E+200"), D(7), D("1E-90")),
    *(datetime.date(2020, 1, 2), datetime.date(1, 1, 1), datetime.datetime(2020, 1, 2, 3), datetime.time(1)),
    *(datetime.datetime(2020, 1, 2, 3, tzinfo=BERLIN), datetime.datetime(2020, 7, 2, tzinfo=datetime.UTC)),
    *(pd.Timestamp("2020-01-02 03:00", tz="US/Eastern"), pd.Timestamp("2020-01-02"), datetime.timedelta(1)),
    *(np.datetime64("2020-01-02"), np.datetime64("NaT"), np.datetime64("2020-01-02T03:00", "ns"), 1j, [1], {"a": 1}),
    *(np.array([1.0, 2.0]), object(), "\ud800", bytearray(b"1"), *WORDS, *BYTES),
]
PLAIN = [value for value in OBJECTS if value is None or isinstance(value, str | int | float | bytes)]


@cache
def public() -> Table:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"number": rng.normal(size=80), "level": [LEVELS[j % 4] for j in range(80)]})
    frame["day"] = [f"2020-{1 + j % 12:02}-{1 + j % 28:02}" for j in range(80)]
    return read_table(frame.assign(y=rng.normal(size=80)).to_csv(index=False).encode(), "b", "public")


def prepared(table: Table, schema: Schema | None = None, choices: Choices = CHOICES) -> Problem:
    return prepare(table, public(), choices, schema=schema)


def rows_of(problem: Problem) -> np.ndarray:
    """Return what a method sees, private."""
    return problem.private.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)


def assert_one_row(tables: Sequence[Table], at: int, schema: Schema | None = None) -> None:
    """Nothing but row ``at`` differs."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first, second = (prepared(table, schema) for table in tables)
        assert first.notes == second.notes and first.lab_reasons == second.lab_reasons
        assert first.private.n == second.private.n
        rows = [rows_of(first), rows_of(second)]
    assert len(rows[0]) == len(rows[1]) == first.private.n
    assert np.array_equal(np.delete(rows[0], at, axis=0), np.delete(rows[1], at, axis=0))


def rows(cell: st.SearchStrategy[Any], target: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Any]:
    """Return a table of a few rows, a place in it, and another row for that place."""
    row = st.tuples(cell, cell, cell, cell if target is None else target)
    return st.lists(row, min_size=2, max_size=6).flatmap(
        lambda result: st.tuples(st.just(result), st.integers(0, len(result) - 1), row)
    )


def replaced(table: Sequence[Any], at: int, row: Any) -> list[Any]:
    return [*table[:at], row, *table[at + 1 :]]


def _categories(values: list[Any]) -> Any:
    try:
        with np.errstate(over="ignore"):  # pandas sorts them: a large integer beside a small float
            return pd.Series(pd.Categorical(values))
    except (TypeError, ValueError, ArithmeticError, NotImplementedError):  # what pandas makes no category of
        return _object(values)


def _object(values: list[Any]) -> pd.Series:
    result = np.empty(len(values), dtype=object)
    result[:] = [*values, None][:-1]  # no array of arrays
    return pd.Series(result, dtype=object)


FRAMES: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas objects": lambda columns: pd.DataFrame({name: _object(values) for name, values in columns.items()}),
    "pandas categories": lambda columns: pd.DataFrame({name: _categories(v) for name, v in columns.items()}),
    "polars objects": lambda columns: pl.DataFrame({n: pl.Series(n, v, dtype=pl.Object) for n, v in columns.items()}),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FRAMES)
@settings(max_examples=60, deadline=None)
@given(rows(st.sampled_from(OBJECTS)))
def test_objects_of_frames(form, drawn):
    """Dates with time zones, decimals, 32-bit floats, pandas' NA, bytes, arrays: each object by itself."""
    table, at, row = drawn
    made = [
        table_from(FRAMES[form]({name: [line[j] for line in lines] for j, name in enumerate(HEADER)}), "p", "private")
        for lines in (table, replaced(table, at, row))
    ]
    assert_one_row(made, at)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(OBJECTS), min_size=1, max_size=6))
def test_an_object_is_what_it_is_alone(values):
    """Number, day, text and level of each object, among others and by itself, and in a slice."""
    both = from_objects(values)
    alone = [from_objects([value]) for value in values]
    for reading in (numbers, days, lambda cells: codes(cells, LEVELS)):
        result = np.concatenate([reading(cells) for cells in alone])
        assert np.array_equal(reading(both), result, equal_nan=True)
        assert np.array_equal(reading(both[1:]), result[1:], equal_nan=True)
    assert texts(both).to_pylist() == [texts(cells)[0].as_py() for cells in alone]


TYPED = {
    pa.float32(): [0.1, 2.5, -1.0, None],
    pa.float64(): [0.1, 1.0, 1e16, 1e-7, -0.0, None],
    pa.int64(): [1, -3, 2**62, None],
    pa.bool_(): [True, False, None],
    pa.decimal128(20, 2): [D("2.50"), D("0.10"), D("7.00"), None],
    pa.decimal128(20, 3): [D("0.125"), D("-2.500"), None],
    pa.date32(): [datetime.date(2020, 1, 2), datetime.date(1969, 3, 1), None],
    pa.timestamp("us"): [datetime.datetime(2020, 1, 2, 3, 4, 5, 6), None],
    pa.timestamp("us", "Europe/Berlin"): [datetime.datetime(2020, 1, 2, 3, tzinfo=BERLIN), None],
    pa.string(): ["north", " 2.5 ", "2020-01-02", "NA", None],
}


@pytest.mark.parametrize("kind", TYPED, ids=str)
def test_an_object_is_what_its_typed_cell_is(kind):
    """Beside an object of another kind, a value has the number, day, text and level of a typed column's cell."""
    values = TYPED[kind]
    typed = pa.array(values, kind)
    raw = [np.float32(v) if v is not None and kind == pa.float32() else v for v in values]
    mixed = from_objects([*raw, object()])[:-1]
    assert mixed.type == OBJECT and texts(mixed).to_pylist() == texts(typed).to_pylist()
    for reading in (numbers, days, lambda cells: codes(cells, LEVELS)):
        assert np.array_equal(reading(mixed), reading(typed), equal_nan=True)


# The last day and the first of the years 1 to 9999, and what lies beyond, in days since 1970.
CALENDAR = {"inside": (-719_162, 2_932_896), "outside": (-719_163, 2_932_897, 10**9, -(10**9))}
DATE_TYPES = {
    pa.date32(): 1,
    pa.date64(): 86_400_000,
    **{pa.timestamp(unit, zone): 86_400 * by for unit, by in (("s", 1), ("ms", 10**3), ("us", 10**6))
       for zone in (None, "Europe/Berlin")},
}  # fmt: skip


def dates_of(counts: Sequence[int], kind: pa.DataType) -> pa.Array:
    """Return dates that no Python object has, from their counts of units."""
    return pa.array(counts, pa.int32() if kind == pa.date32() else pa.int64()).view(kind)


@pytest.mark.parametrize("kind", DATE_TYPES, ids=str)
def test_a_date_outside_the_calendar_is_missing_in_every_type(kind):
    """As PostgreSQL's infinity is, for which Python has no date: no day, no text and no level; by itself."""
    each = DATE_TYPES[kind]
    inside = [day * each for day in CALENDAR["inside"]]
    largest = 2**31 - 1 if kind == pa.date32() else 2**63 - 1
    outside = [day * each for day in CALENDAR["outside"] if abs(day * each) < 2**63] + (
        [largest, -largest] if kind != pa.date64() else []
    )
    cells = dates_of([*inside, *outside], kind)
    assert days(cells).tolist()[:2] == list(CALENDAR["inside"])
    assert np.isnan(days(cells)[2:]).all() and texts(cells).null_count == len(outside)
    assert texts(dates_of(inside, kind)).to_pylist() == texts(cells).to_pylist()[:2]
    assert np.isnan(days(cells.dictionary_encode())[2:]).all()


@pytest.mark.parametrize("largest", [2**63 - 1, 1 - 2**63])
def test_the_infinity_of_nanoseconds_is_missing(largest):
    """It lies in the calendar: DuckDB writes it as the largest number there is."""
    cells = dates_of([largest, largest - 10**9 if largest > 0 else largest + 10**9], pa.timestamp("ns"))
    assert np.isnan(days(cells)).tolist() == [True, False] and texts(cells).null_count == 1


@pytest.mark.parametrize("text", ["0000-01-01", "0000-12-31 23:59:59", "01.01.0000"])
def test_a_text_of_the_year_0_is_missing(text):
    """A typed column cannot hold that year in every source."""
    assert np.isnan(days(pa.array([text, "0001-01-01"]))).tolist() == [True, False]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMPTZ"])
@pytest.mark.parametrize("cell", ["infinity", "-infinity"])
def test_an_infinite_date_of_duckdb_is_missing(kind, cell, tmp_path):
    """One row has an infinite date or none: the same rows, and the same in a release of it."""
    duckdb = pytest.importorskip("duckdb")
    made = []
    for at, value in enumerate(("NULL", f"'{cell}'")):
        path = tmp_path / f"{at}.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.execute(f"CREATE TABLE t (number DOUBLE, level VARCHAR, day {kind}, y DOUBLE)")
            for day in ("'2020-01-02'", value, "'2020-03-04'"):
                connection.execute(f"INSERT INTO t VALUES (1, '1', {day}, 2)")
        made.append(query_table(f"duckdb://{path}", "SELECT * FROM t"))
    assert_one_row(made, 1)
    first, second = (rows_of(prepared(table)) for table in made)
    assert np.array_equal(first, second) and not np.any(first[1]) and np.all(np.any(first[[0, 2]], axis=1))


def test_a_column_whose_type_its_library_cannot_name_is_read():
    """Decimals in steps of hundreds: narwhals has no type of them and raised."""
    hundreds = pd.array(
        pa.array([D(100), D(-200), D(0)], pa.decimal128(9, -2)), dtype=pd.ArrowDtype(pa.decimal128(9, -2))
    )
    frame = pd.DataFrame({"number": hundreds, "level": "1", "day": "2020-01-02", "y": 1.0})
    result = rows_of(prepared(table_from(frame, "p", "private")))
    plain = rows_of(prepared(table_from(frame.assign(number=[100.0, -200.0, 0.0]), "p", "private")))
    assert np.array_equal(result, plain)


def test_a_column_name_without_utf_8_is_a_name():
    """A lone surrogate in a name of a frame: replaced as in cells; two that become one name are refused."""
    names = pd.Index(["number", "y", "\ud800", "\ud801"], dtype=object)
    frame = pd.DataFrame([[1.0, 2.0, 3.0, 4.0]], columns=names)
    assert table_from(frame[names[:3]], "p", "private").columns[-1] == "?"
    with refused(TableMessage.NAME_TWICE, places=[3, 4]):
        table_from(frame, "p", "private")


@pytest.mark.parametrize("zone", ["UTC", "America/New_York", "Asia/Kathmandu", "+05:30"])
@pytest.mark.parametrize("unit", ["s", "us"])
def test_a_moment_is_the_same_in_text_and_in_a_type(zone, unit):
    """As pandas, Arrow and databases write times with their offset: a text file is read as the typed table is."""
    first = datetime.datetime(1960, 3, 1, 6, 30, 1)
    moments = [first + datetime.timedelta(days=97 * step, minutes=11 * step) for step in range(200)]
    typed = pa.array(moments, pa.timestamp(unit, zone))
    plain = [str(moment) for moment in typed.to_pylist()]
    short = [text[:-3] if text.endswith(":00") else text.replace("+05:30", "+0530") for text in plain]
    for written in (pa.array(plain), typed.cast(pa.string()), pa.array(short)):
        assert np.array_equal(days(written), days(typed))
    table = read_table(pd.DataFrame({"since": plain, "y": range(200)}).to_csv(index=False).encode(), "p", "public")
    assert table.schema["since"].kind == "date"


@pytest.mark.parametrize(
    "text",
    [
        "0001-01-01 00:00+01:00",
        "9999-12-31 23:30-01:00",
        "2020-01-02+02:00",
        "2020-01-02 06:30+24",
        "2020-02-30 06:30+00",
    ],
)
def test_what_is_no_moment_is_missing(text):
    """Outside the calendar once the offset is taken off, an offset without a time or of a day, and no date."""
    assert np.isnan(days(pa.array([text]))[0])


@pytest.mark.parametrize("frame", [pa.table, lambda columns: pa.table(columns).to_pandas(types_mapper=pd.ArrowDtype)])
@pytest.mark.parametrize("values", [[1.5, 2.5, None], ["north", "south", None]], ids=["numbers", "levels"])
def test_runs_of_equal_cells_are_cells(frame, values):
    """A column that keeps runs in place of cells had none: no row of the table had a value."""
    column = pa.array(np.repeat(np.array(values, dtype=object), 20).tolist())
    runs = pa.RunEndEncodedArray.from_arrays([20, 40, 60], values)
    plain, encoded = (table_from(frame({"a": each, "y": range(60)}), "p", "public") for each in (column, runs))
    assert encoded.schema == plain.schema and encoded.schema["a"].kind != "date"
    rule = plain.schema["a"]
    read = [np.concatenate([rule.read(chunk) for chunk in table.column("a").chunks]) for table in (plain, encoded)]
    assert np.array_equal(*read, equal_nan=True) and np.sum(np.isnan(read[0])) == 20


def test_one_unknown_among_dates_with_time_zones():
    """The audit's case: 2,000 dates in an object column, one cell of which says unknown."""
    stamps: list[Any] = [datetime.datetime(2020, 1, 1 + j % 28, j % 24, tzinfo=BERLIN) for j in range(2000)]
    frame = pd.DataFrame({"number": np.arange(2000.0), "level": ["1"] * 2000, "day": _object(stamps), "y": 1.0})
    other = frame.copy()
    other["day"] = _object([*stamps[:-1], "unknown"])
    tables = [table_from(one, "p", "private") for one in (frame, other)]
    assert_one_row(tables, 1999)
    assert len(np.unique(rows_of(prepared(tables[1]))[:-1, -2])) > 100  # the dates are read


def arrow_texts(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return a text column whose bytes nobody checked."""
    raw = [None if v is None else v if isinstance(v, bytes) else str(v).encode("utf-8", "replace") for v in values]
    if pa.types.is_dictionary(kind):
        made = pa.array(raw, pa.binary()).dictionary_encode()
        return pa.DictionaryArray.from_arrays(made.indices, made.dictionary.view(pa.string()))
    return pa.array(raw, pa.large_binary() if kind == pa.large_string() else pa.binary()).view(kind)


TEXT_TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]


def arrow_table(lines: Sequence[Any], kind: pa.DataType) -> pa.Table:
    columns = {name: arrow_texts([line[j] for line in lines], kind) for j, name in enumerate(HEADER)}
    return pa.table({**columns, "unused": arrow_texts([line[0] for line in lines], kind)})


def _parquet(table: pa.Table, folder: Path) -> Path:
    path = folder / f"{len(list(folder.iterdir()))}.parquet"
    pq.write_table(table, path, row_group_size=2)
    return path


def _bytes(path: Path) -> Table:
    return read_table(path.read_bytes(), "p", "private")


ARROW: dict[str, Callable[[pa.Table, Path], Table]] = {
    "arrow": lambda table, _: table_from(table, "p", "private"),
    "polars": lambda table, _: table_from(pl.from_arrow(_checked(table)), "p", "private"),
    "parquet in memory": lambda table, folder: _bytes(_parquet(table, folder)),
    "parquet": lambda table, folder: read_path(_parquet(table, folder), "private"),
    "gzip'ed parquet": lambda table, f: read_table(gzip.compress(_parquet(table, f).read_bytes()), "p", "private"),
}


def _checked(table: pa.Table) -> pa.Table:
    """Return as Polars takes it: its texts are UTF-8."""
    columns = {name: pa.array(texts(table[name].combine_chunks())) for name in table.column_names}
    return pa.table(columns)


@pytest.mark.slow
@pytest.mark.parametrize("form", ARROW)
@settings(max_examples=60, deadline=None)
@given(rows(st.sampled_from([None, *WORDS, *BYTES])), st.sampled_from(TEXT_TYPES))
def test_texts_of_columns(form, drawn, kind):
    """Bytes that are not UTF-8 in columns of text, used or not, statistics and dictionaries with them."""
    table, at, row = drawn
    with TemporaryDirectory() as folder:
        made = [ARROW[form](arrow_table(lines, kind), Path(folder)) for lines in (table, replaced(table, at, row))]
        assert_one_row(made, at)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(rows(st.sampled_from([None, *WORDS, *BYTES])))
def test_parts_of_a_cluster(drawn):
    """What a Dask worker adds up of each part differs in the part of the row alone."""
    table, at, row = drawn
    with TemporaryDirectory() as folder:
        sums = []
        for lines in (table, replaced(table, at, row)):
            made = read_path(_parquet(arrow_table(lines, pa.string()), Path(folder)), "private")
            coder = prepared(made).coder
            each = partial(part_sum, coder=coder, dialect=Dialect(), function=lambda x, y: x.sum(0))
            sums.append([each(part) for part in table_parts(made.source)])
        assert all(np.array_equal(a, b) for j, (a, b) in enumerate(zip(*sums, strict=True)) if j != at // 2)


def _sqlite(lines: Sequence[Any], folder: Path) -> Table:
    path = folder / f"{len(list(folder.iterdir()))}.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t (number, level TEXT, day DATE, y REAL)")
        for line in lines:
            cells = [("CAST(? AS TEXT)" if isinstance(v, bytes) else "?", v) for v in line]
            connection.execute(f"INSERT INTO t VALUES ({', '.join(c for c, _ in cells)})", [v for _, v in cells])
    connection.close()
    return query_table(f"sqlite:///{path}?detect_types=3", "SELECT * FROM t ORDER BY rowid")


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(rows(st.sampled_from([None, True, 1, 0.1, 2.5, 10**15, "\ud7ff", *WORDS, *BYTES])))
def test_rows_of_sqlite(drawn):
    """Any type in any column, text that is not UTF-8, and a declared type that the cell does not have."""
    table, at, row = drawn
    with TemporaryDirectory() as folder:
        assert_one_row([_sqlite(lines, Path(folder)) for lines in (table, replaced(table, at, row))], at)


DUCK = ["NULL", "'infinity'", "'290000-01-01'", "'2020-01-02'", "'4713-01-01 (BC)'"]


def _duckdb(lines: Sequence[Any]) -> Table:
    cells = ", ".join(
        f"({j}, ({a})::HUGEINT, ({b})::FLOAT, {day}::TIMESTAMP, {y}::DOUBLE)" for j, (a, b, day, y) in enumerate(lines)
    )
    values = f"(VALUES {cells}) AS t(place, number, level, day, y)"
    return query_table("duckdb://", f"SELECT number, level, day, y FROM {values} ORDER BY place")


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.data())
def test_rows_of_duckdb(data):
    """Values of DuckDB's that no Python type has: infinite and far dates, integers of 128 bits, nested ones."""
    pytest.importorskip("duckdb")
    number = st.sampled_from(["NULL", "1", "170141183460469231731687303715884105727"])
    level = st.sampled_from(["NULL", "0.1", "2.5", "'nan'", "'inf'"])
    row = st.tuples(number, level, st.sampled_from(DUCK), st.sampled_from(["NULL", "1.5", "'inf'"]))
    table = data.draw(st.lists(row, min_size=2, max_size=5))
    at, other = data.draw(st.integers(0, len(table) - 1)), data.draw(row)
    assert_one_row([_duckdb(lines) for lines in (table, replaced(table, at, other))], at)


@pytest.mark.parametrize(
    "text", ["a,y\n1,2\n", "a,y\n1,2\n" * 30_000, "a;y\n1;2\nx,1,2,3\n", '"a,y\n1,2\n', "a,y\n1,\udcff\n"]
)
def test_no_schema_is_guessed_from_rows(text, tmp_path):
    """A text file that DuckDB would understand by its rows is refused with one sentence, whatever it holds."""
    pytest.importorskip("duckdb")
    (tmp_path / "p.csv").write_text(text, encoding="utf-8", errors="surrogateescape")
    with refused(TableMessage.QUERY_READS_TEXT):
        query_table("duckdb://", f"SELECT * FROM '{tmp_path / 'p.csv'}'")


LINE = st.one_of(
    st.binary(max_size=12).map(lambda b: b.replace(b"\n", b"")),
    st.lists(st.sampled_from([*WORDS, "1.5", "3"]), min_size=3, max_size=5).map(lambda c: ",".join(c).encode()),
    st.sampled_from([b'1,north,2020-01-02,"a', b'b",0.1,2020-01-02,3', b'"', b'""', b'"1","1","2020-01-02","2"']),
)
SEPARATORS = [b",", b"\t", b";", b"|"]


@pytest.mark.slow
@pytest.mark.parametrize("packing", ["plain", "gzip"])
@settings(max_examples=100, deadline=None)
@given(st.lists(LINE, min_size=2, max_size=8), st.data())
def test_lines_of_text(packing, lines, data):
    """Any bytes in the place of a line, stray quotes elsewhere: every line is a row and stays one."""
    at, line = data.draw(st.integers(0, len(lines) - 1)), data.draw(LINE)
    separator = data.draw(st.sampled_from(SEPARATORS))
    made = []
    for each in (lines, replaced(lines, at, line)):
        text = b"\n".join([",".join(HEADER).encode(), *each, b""]).replace(b",", separator)
        made.append(read_table(gzip.compress(text) if packing == "gzip" else text, "p", "private"))
    assert all(table.n == len(lines) for table in made)
    assert_one_row(made, at)


@pytest.mark.parametrize("before", ["3,north,2020-01-02,1", '"3","north","2020-01-02","1"', ' "3,x", ,y,""', '"3'])
def test_a_byte_order_mark_in_a_cell_is_of_that_row_alone(before):
    """Arrow drops a mark at the start of a block: the row before decided whether a second row was first in its block.

    A row with quotes around a blank is read by itself, so that the next one was the first that Arrow was given.
    """
    text = "\n".join([",".join(HEADER), before, "\ufeff7.5,north,2020-01-02,1", ""])
    block, *more = read_table(text.encode(), "p", "private").source.blocks(["number", "y"], Dialect())
    first, *_ = read_table(
        "\n".join([",".join(HEADER), "\ufeff7.5,north,2020-01-02,1", ""]).encode(), "p", "private"
    ).source.blocks(["number", "y"], Dialect())
    assert not more and block.rows == 2
    assert np.isnan(numbers(block.columns["number"])[1]) and numbers(block.columns["y"])[1] == 1
    assert np.isnan(numbers(first.columns["number"])[0]) and numbers(first.columns["y"])[0] == 1


def test_one_line_break_beside_a_stray_quote():
    """The audit's case: the released n was 2,000 or 601; now every line is a row, with the line break or without."""
    lines = [f"{j % 7}.5,north,2020-01-0{1 + j % 9},{j % 5}" for j in range(2000)]
    lines[600] = '1.5,"north,2020-01-02,1'
    text = "\n".join([",".join(HEADER), *lines, ""])
    broken = "\n".join([",".join(HEADER), *lines[:-1], '1.5,"no', 'rth",2020-01-02,1', ""])
    plain, other = (read_table(one.encode(), "p", "private") for one in (text, broken))
    assert plain.n == 2000 and other.n == 2001
    first, second = rows_of(prepared(plain)), rows_of(prepared(other))
    assert np.array_equal(first[:1999], second[:1999]) and not np.any(second[1999:])


def test_line_breaks_in_cells_are_declared_at_a_price():
    """Declared, a cell with a line break is read; then the release is of the lab, and the record says why."""
    text = ",".join(HEADER) + '\n1.5,"no\nrth",2020-01-02,1\n2.5,"north",2020-01-03,2\n'
    table = read_table(text.encode(), "p", "private")
    schema = public().schema.as_dict()
    schema["dialect"]["quoting"] = "multiline"
    problem = prepared(table, schema_from_json(json.dumps(schema).encode()))
    assert problem.private.n == 2 and len(problem.lab_reasons) == 1 and not prepared(table).lab_reasons
    assert prepared(table).private.n == 3
    written = pd.DataFrame({name: [0.5, 1.5] for name in HEADER})
    assert not prepared(table_from(written, "p", "private"), Schema(public().schema.columns)).lab_reasons


@pytest.mark.parametrize("formula", ["", "c2 ~ c0 + c1"])
def test_a_schema_of_columns_that_no_table_has_is_refused(formula):
    """A misspelled name would leave the column that was meant to other rules; which names those are is said."""
    names = [f"c{j}" for j in range(3)]
    rows = np.random.default_rng(0).normal(size=(2, 40, 3))
    private = table_from(pd.DataFrame(rows[0], columns=names), "p", "private")
    shown = table_from(pd.DataFrame(rows[1], columns=names), "b", "public")
    schema = Schema((*shown.schema.columns, replace(shown.schema.columns[0], name="C0")))
    choices = Choices(target="c2", features=None if formula else ("c0", "c1"), formula=formula)
    with refused(TableMessage.SCHEMA_NOWHERE, columns=["C0"]):
        prepare(private, shown, choices, schema=schema)
    prepare(private, shown, choices, schema=shown.schema)


def test_public_cells_with_line_breaks_are_said():
    """A public file shows that the private one may have such cells, each of which is a missing row there."""
    rng = np.random.default_rng(1)
    lines = [
        f'{rng.normal()},"a\nb",{rng.normal()}\n' if j % 2 else f"{rng.normal()},c,{rng.normal()}\n" for j in range(40)
    ]
    text = ("x,k,y\n" + "".join(lines)).encode()
    private = read_table(text.replace(b"x,k", b"x,k", 1) + b"1,c,2\n", "p", "private")
    problem = prepare(private, read_table(text, "b", "public"), Choices(target="y"))
    assert sum("line breaks" in note for note in problem.notes) == 1
    typed = table_from(pd.DataFrame({"x": [1.0], "k": ["c"], "y": [2.0]}), "p", "private")
    assert not any(
        "line breaks" in n for n in prepare(typed, read_table(text, "b", "public"), Choices(target="y")).notes
    )


@pytest.mark.parametrize("policy", [{"missing": "refuse"}, {"unseen": "refuse"}])
def test_a_policy_that_answers_about_rows_is_of_the_lab(policy):
    """What was not refused was asked about: the record says so."""
    lines = "".join(f"1.5,{LEVELS[j % 4]},2020-01-02,1\n" for j in range(8))
    table = read_table((",".join(HEADER) + "\n" + lines).encode(), "p", "private")
    choices = Choices(target="y", features=("number", "level"), **policy)
    assert len(prepared(table, choices=choices).lab_reasons) == 1
    assert not prepared(table, choices=Choices(target="y", features=("number", "level"))).lab_reasons


PLACES = ["used", "unused"]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", ["parquet", "sqlite"])
def test_the_command_line_says_the_same(form, place, tmp_path, capsys):
    """One cell that is not UTF-8, in a column that is used or not: status, sentences and n are the same."""
    rng = np.random.default_rng(3)
    (tmp_path / "b.csv").write_text(pd.DataFrame(public().frame).to_csv(index=False))
    lines = [[str(rng.normal()), LEVELS[j % 4], "2020-01-02", str(rng.normal())] for j in range(30)]
    said = []
    for bad in (None, b"a\xffb"):
        cells = [list(line) for line in lines]
        if bad is not None:
            cells[7][1] = bad
        if form == "parquet":
            pq.write_table(arrow_table(cells, pa.string()), tmp_path / "p.parquet")
            private = [str(tmp_path / "p.parquet")]
        else:
            table = _sqlite(cells, tmp_path)
            private = [str(table.source._url), "--query", "SELECT * FROM t ORDER BY rowid"]
        features = "number,level" if place == "used" else "number"
        asked = ["--public", str(tmp_path / "b.csv"), "--target", "y", "--features", features, "--mu", "1"]
        status = main(["release", "--private", *private, *asked, "--method", "joint-pmt", "--seed", "1", "--json"])
        out, err = capsys.readouterr()
        record = json.loads(out)
        said.append((status, err, record["n"], record["notes"]))
    assert said[0] == said[1] and said[0][0] == 0


def test_a_devices_own_file(tmp_path, monkeypatch, capsys):
    """Reports of a device whose Parquet file has a cell that is not UTF-8: as many as it has rows."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    text = "".join(f"{rng.normal():.4f},{rng.normal():.4f},{rng.integers(2)}\n" for _ in range(50))
    Path("b.csv").write_text("a,b,y\n" + text)
    configure = ("local", "configure", "--public", "b.csv", "--target", "y", "--people", "100", "--mu", "1")
    assert main([*configure, "--out", "c.json"]) == 0
    for cell, name in itertools.product(("1", b"\xff1"), ("a", "y")):
        columns = {"a": ["1", "2"], "b": ["1", "2"], "y": ["0", "1"]}
        columns[name][0] = cell
        pq.write_table(pa.table({n: arrow_texts(v, pa.string()) for n, v in columns.items()}), "p.parquet")
        out = io.BytesIO()
        out.write(b"a,b,y\n" + b"".join(b"%b,1,1\n" % (c if isinstance(c, bytes) else c.encode()) for c in ("1", cell)))
        Path("p.csv").write_bytes(out.getvalue())
        for own in ("p.parquet", "p.csv"):
            assert main(["local", "randomize", "--config", "c.json", "--rows", own, "--out", "r.jsonl"]) == 0
            assert len(Path("r.jsonl").read_text().splitlines()) == 2


def test_one_persons_number_of_rows_is_in_no_sentence():
    """A person with one row or with a thousand: the same notes, findings and n."""
    said = []
    for many in (1, 1000):
        frame = pd.DataFrame({"number": 0.5, "level": "1", "day": "2020-01-02", "y": 1.0, "who": ["a"] * many + ["b"]})
        private = table_from(frame, "p", "private")
        choices = Choices(target="y", levels={"level": LEVELS}, person="who")
        problem = prepared(private, choices=choices)
        said.append((problem.notes, problem.lab_reasons, problem.private.n, findings(private, public(), choices)))
    assert said[0] == said[1]
    table = table_from(frame[:1].drop(columns="who"), "p", "private")
    assert any("swapped" in note for note in prepared(table).notes)
    assert any("swapped" in one.sentence for one in findings(table, public(), CHOICES))
