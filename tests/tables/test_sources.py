"""Private rows from where they lie: the same design from every kind of source, in constant memory, n without a cell."""

from __future__ import annotations

import io
import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pcsv
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pmtcore.base.messages import InputError, TableMessage
from pmtcore.cli.main import main
from pmtcore.tables import cells, lines, streams
from pmtcore.tables.cells import MISSING_CODE, UNSEEN_CODE, codes, from_objects, numbers, texts
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.limits import LINE
from pmtcore.tables.persons import identifiers
from pmtcore.tables.problem import prepare
from pmtcore.tables.table import query_table, read_path, read_table, table_from, with_rows
from tests.helpers import TEST, refused

ROOT = Path(__file__).resolve().parents[2]


def frame(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    made = pd.DataFrame(
        {"a": rng.normal(size=n), "town": rng.choice(["north", "south"], n), "k": rng.integers(0, 9, n)}
    )
    made["rate"] = [f"{rate:.1f} %" for rate in 100 * rng.random(n)]
    made["age"] = np.where(rng.random(n) < 0.1, -999, rng.integers(18, 80, n))
    made["y"] = made["a"] + rng.normal(size=n)
    return made


PUBLIC = table_from(frame(50, 2), "b", "public")
PRIVATE = frame(300, 1)
KINDS = {"rate": "percent", "age": "coded"}


def design(table) -> np.ndarray:
    rows = prepare(table, PUBLIC, Choices(target="y", kinds=KINDS, levels={"age": ("-999",)})).private
    return rows.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)


EXPECTED = design(table_from(PRIVATE, "p", "private"))


def _sqlite(folder: Path) -> str:
    with sqlite3.connect(folder / "t.db") as connection:
        PRIVATE.to_sql("people", connection, index=False)
    connection.close()
    return f"sqlite:///{folder / 't.db'}"


def _parts(folder: Path) -> Path:
    (folder / "parts").mkdir()
    for j in range(3):
        PRIVATE[100 * j : 100 * (j + 1)].to_parquet(folder / "parts" / f"{j}.parquet", index=False)
    return folder / "parts"


def _written(folder: Path, name: str, how: str, **options) -> Path:
    getattr(PRIVATE, how)(folder / name, index=False, **options)
    return folder / name


def _memory_store(folder: Path) -> str:
    fsspec = pytest.importorskip("fsspec")
    with fsspec.open("memory://shelf/p.parquet", "wb") as sink:
        PRIVATE.to_parquet(sink, index=False)
    return "memory://shelf/p.parquet"


def _polars(folder: Path):
    polars = pytest.importorskip("polars")
    return table_from(polars.from_pandas(PRIVATE), "p", "private")


def _duckdb(folder: Path):
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("people_frame", pa.Table.from_pandas(PRIVATE, preserve_index=False))
        connection.execute("CREATE TABLE people AS SELECT * FROM people_frame")
    return query_table(f"duckdb://{folder / 't.duckdb'}", "SELECT * FROM people")


SOURCES = {
    "csv": lambda f: read_path(_written(f, "p.csv", "to_csv"), "private"),
    "tsv, gzip'ed": lambda f: read_path(_written(f, "p.tsv.gz", "to_csv", sep="\t"), "private"),
    "parquet": lambda f: read_path(_written(f, "p.parquet", "to_parquet", row_group_size=37), "private"),
    "folder": lambda f: read_path(_parts(f), "private"),
    "pattern": lambda f: read_path(f"{_parts(f)}/*.parquet", "private"),
    "arrow": lambda f: table_from(pa.Table.from_pandas(PRIVATE, preserve_index=False), "p", "private"),
    "objects": lambda f: table_from(PRIVATE.astype(object), "p", "private"),
    "polars": _polars,
    "object store": lambda f: read_path(_memory_store(f), "private"),
    "sqlite": lambda f: query_table(_sqlite(f), "SELECT * FROM people ORDER BY rowid;"),
    "duckdb": _duckdb,
    "declared": lambda f: with_rows(read_path(_written(f, "p.csv", "to_csv"), "private"), 300),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_source_gives_the_same_rows(kind, tmp_path):
    """Files, folders, patterns, stores, frames and queries: one design, bit for bit, and n with it."""
    result = SOURCES[kind](tmp_path)
    assert result.n == 300
    assert np.array_equal(design(result), EXPECTED)


def test_preparing_reads_no_private_cell(tmp_path, monkeypatch):
    """A problem is made from the header and the number of rows: cells wait for the first sum."""
    table = read_path(_written(tmp_path, "p.csv", "to_csv"), "private")

    def forbidden(*_):
        raise AssertionError("a private cell was read")

    monkeypatch.setattr(lines, "batches", forbidden)
    problem = prepare(table, PUBLIC, Choices(target="y"))
    assert problem.private.n == 300
    with pytest.raises(AssertionError):
        problem.private.sum(lambda x, y: x.sum(axis=0))


def test_declared_rows_are_a_bound(tmp_path):
    """Fewer rows than declared are filled up with rows of zeros; rows beyond are not read."""
    table = read_path(_written(tmp_path, "p.csv", "to_csv"), "private")
    few, many = with_rows(table, 120), with_rows(table, 500)
    assert np.array_equal(design(few), EXPECTED[:120]) and few.n == 120
    filled = design(many)
    assert len(filled) == 500 and np.array_equal(filled[:300], EXPECTED) and not np.any(filled[300:])
    assert prepare(many, PUBLIC, Choices(target="y")).private.n == 500


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(st.text('a,"\n\r 1.é', max_size=5), min_size=3, max_size=3), max_size=8),
    st.lists(st.integers(1, 40), max_size=12),
)
def test_blocks_may_be_cut_anywhere(rows, cuts):
    """However a text arrives in pieces, rows and cells are those of the whole, and as many as counted."""
    out = io.StringIO(newline="")
    import csv

    csv.writer(out, lineterminator="\n").writerows(rows)
    data, shape = out.getvalue().encode(), lines.TextShape(",", 3, multiline=True)

    def read(pieces):
        collected = []
        for batch in lines.batches(iter(pieces), shape, [0, 1, 2]):
            collected += list(zip(*[column.to_pylist() for column in batch.cells], strict=True))
        return collected

    at = np.cumsum(cuts).tolist()
    pieces = [data[a:b] for a, b in zip([0, *at], [*at, len(data)], strict=True)]
    fields = read([data])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "CHUNK", 1)
        assert read(pieces) == fields
        assert lines.count_rows(iter(pieces), shape) == len(fields) == len(rows)


CELL = st.one_of(
    st.text(max_size=6),
    st.from_regex(r"\A *[+-]?[0-9]{0,4}\.?[0-9]{0,4}(e[+-]?[0-9]{1,3})? *\Z"),
    st.floats().map(repr),
    st.integers().map(str),
    st.sampled_from([*cells.MISSING, "inf", "Infinity", "nan(1)", "1e400", "True", "FALSE", "1,5", "1.5,0"]),
    st.from_regex(r"\A[+-]?[0-9]{1,3}([., '][0-9]{3}){1,2}([.,][0-9]{0,2})?\Z"),
    st.from_regex(r"\A[+-]?(€ ?)?[0-9]{1,4}([.,][0-9]{1,2})?( ?[%€])?\Z"),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=12), st.sampled_from([".", ",", None]))
def test_fast_and_slow_reading_are_one_function(texts, decimal):
    """A column read at once, its cells one by one, and Python's own reading of the same digits agree bit for bit."""
    complete = cells.numbers(pa.array(texts), decimal)
    one_by_one = [cells.numbers(pa.array([text]), decimal)[0] for text in texts]
    assert np.array_equal(complete, one_by_one, equal_nan=True)
    for text, result in zip(texts, complete, strict=True):
        if not np.isnan(result):
            bare = text.strip().lower()
            apart = [mark for mark in " '\u00a0\u202f\u2019.," if mark not in (decimal or ".,")]
            bare = "".join(letter for letter in bare if letter not in apart)
            bare = bare.replace(",", ".") if decimal != "." else bare
            assert result == {"true": 1.0, "false": 0.0}.get(
                bare, None if bare in ("true", "false") else float(bare or 0)
            )


@pytest.mark.slow
@settings(max_examples=100, deadline=None)
@given(st.lists(CELL, min_size=1, max_size=8))
def test_a_cell_is_its_own_business(texts):
    """Levels, days and numbers with a sign too: each cell alone gives what it gives in company."""
    for read in (
        lambda c: cells.codes(c, ("1", "a", "01", "True")),
        cells.days,
        lambda c: cells.days(c, "day-first"),
        lambda c: cells.days(c, "month-first"),
        lambda c: cells.signed_numbers(c, ("%",), None),
        lambda c: cells.signed_numbers(c, ("€", "EUR"), ","),
        lambda c: cells.signed_numbers(c, ("kg",), "."),
    ):
        fields = read(pa.array(texts))
        alone = [read(pa.array([text]))[0] for text in texts]
        assert np.array_equal(fields, alone, equal_nan=True)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(
            ("50 %", 50.0),
            ("50%", 50.0),
            ("-5 %", -5.0),
            ("68,1\u00a0%", 68.1),
            ("%7", 7.0),
            (" 7 % ", 7.0),
            ("0 %", 0.0),
        ),
        *(("50", None), ("0.5", None), ("%", None), ("% %", None), ("5 % 5 %", None), ("true %", None), ("nan%", None)),
        *(("€ 5", None), ("", None), ("-", None), ("5 €%", None), ("-%-5", None)),
    ],
)
def test_a_number_with_its_sign(text, number):
    """The sign once, before or after; without it there is no number."""
    (result,) = cells.signed_numbers(pa.array([text]), ("%",), None)
    assert (None if np.isnan(result) else result) == number


MEMORY = """
import resource, sys
from pathlib import Path
from pmtcore.tables.table import read_path, table_from
from pmtcore.tables.problem import prepare
from pmtcore.tables.choices import Choices
import numpy as np, pandas as pd
rng = np.random.default_rng(0)
public = table_from(pd.DataFrame(rng.normal(size=(50, 3)), columns=["a", "b", "y"]), "b", "public")
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
table = read_path(Path(sys.argv[1]), "private")
rows = prepare(table, public, Choices(target="y")).private
for _ in range(2):
    rows.sum(lambda x, y: x.T @ x)
print(rows.n, (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def _peak(path: Path) -> tuple[int, int]:
    done = subprocess.run(
        [sys.executable, "-c", MEMORY, str(path)], capture_output=True, text=True, cwd=ROOT, check=True
    )
    rows, megabytes = done.stdout.split()
    return int(rows), int(megabytes)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "parquet", "expanding parquet"])
def test_memory_does_not_grow_with_rows(form, tmp_path):
    """Two passes over millions of rows: under 300 MB above the start, whether the file is large or only unpacks so."""
    n = {"csv": 1_500_000, "parquet": 4_000_000}.get(form, 30_000_000)
    path = tmp_path / ("p.csv" if form == "csv" else "p.parquet")
    value = np.random.default_rng(1).integers(0, 1000, 1_000_000) if form != "expanding parquet" else np.zeros(10**6)
    block = pa.table({"a": value, "b": value, "y": value, "text": pa.array(["x" * 50] * 10**6).dictionary_encode()})
    if form == "csv":
        with path.open("wb") as sink:
            for j in range(n // 500_000):
                pcsv.write_csv(
                    block.slice(0, 500_000).drop_columns("text"), sink, pcsv.WriteOptions(include_header=j == 0)
                )
    else:
        with pq.ParquetWriter(path, block.schema) as sink:
            for _ in range(n // 1_000_000):
                sink.write_table(block)
    rows, megabytes = _peak(path)
    assert rows == n and megabytes < 300
    if form == "expanding parquet":
        assert path.stat().st_size < 2**20


@pytest.mark.parametrize("form", ["columns", "cells", "row group"])
def test_a_small_file_cannot_unpack_without_end(form, tmp_path, monkeypatch):
    """Columns, cells and unpacked bytes are bounded from metadata, before anything is read."""
    path = tmp_path / "p.parquet"
    columns = 2500 if form == "columns" else 4
    pq.write_table(pa.table({f"c{j}": np.zeros(1000) for j in range(columns)}), path)
    if form == "cells":
        monkeypatch.setattr("pmtcore.tables.table.MAX_CELLS", 3999)
    if form == "row group":
        monkeypatch.setattr("pmtcore.tables.table.MAX_BYTES", 10)
    kinds = {"columns": TableMessage.TOO_MANY_COLUMNS, "cells": TableMessage.TOO_MANY_CELLS}
    count = {"columns": {"count": 2500}, "cells": {"count": 4000}}
    with refused(kinds.get(form, TableMessage.ROW_GROUP_TOO_LARGE), **count.get(form, {})):
        assert read_path(path, "public").schema


def test_one_long_cell_refuses_no_private_file(tmp_path, monkeypatch):
    """It is missing, as in a text, and the rows beside it stay; a public file and an upload have a limit of bytes."""
    monkeypatch.setattr("pmtcore.tables.table.MAX_BYTES", 2**20)
    path, column = tmp_path / "p.parquet", ["3", "1" * (LINE + 1), "4"]
    pq.write_table(pa.table({"a": column, "y": [1.0, 2.0, 3.0]}), path)
    (block,) = read_path(path, "private").source.blocks(["a", "y"], Dialect())
    assert np.array_equal(numbers(block.columns["a"]), [3, np.nan, 4], equal_nan=True)
    assert codes(block.columns["a"], ["3"]).tolist() == [0, MISSING_CODE, UNSEEN_CODE]
    with refused(TableMessage.ROW_GROUP_TOO_LARGE):
        read_path(path, "public")
    with refused(TableMessage.ROW_GROUP_TOO_LARGE):
        read_table(path.read_bytes(), "p", "private", 2**20)


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.binary_view()])
def test_a_long_cell_is_missing_in_every_type(kind):
    """At the limit of a line it is read, beyond it not; its neighbours are what they are alone.

    Of an identifier the first letters count, here zeros.
    """
    at, beyond = "0" * (LINE - 1) + "7", "0" * LINE + "7"
    column = pa.array([at, beyond, "8", None], pa.large_string()).cast(kind)
    for read in (column, from_objects(column.to_pylist())):
        assert np.array_equal(numbers(read), [7, np.nan, 8, np.nan], equal_nan=True)
        assert texts(read).is_null().to_pylist() == [False, True, False, True]
        assert identifiers(read).tolist() == ["0", "", "8", ""]


@pytest.mark.parametrize("url", ["sqlite:////nowhere/x.db", "nonsense://x", "sqlite://"])
def test_a_query_that_cannot_be_answered_is_one_sentence(url):
    """Neither the statement nor the driver's text is in it."""
    with refused(TableMessage.NO_FILE if "nowhere" in url else TableMessage.QUERY_FAILED) as caught:
        query_table(url, "SELECT secret4711 FROM nothing")
    assert "4711" not in str(caught.value)


def test_files_of_other_columns_are_no_table(tmp_path):
    """Parts of a table have the same columns; an empty pattern is no table."""
    folder = _parts(tmp_path)
    frame(5, 1).rename(columns={"a": "other"}).to_parquet(folder / "3.parquet")
    with refused(TableMessage.UNLIKE_FILES):
        read_path(folder, "private")
    with refused(TableMessage.NO_FILES):
        read_path(tmp_path / "*.parquet", "private")


def test_pipes_and_devices_are_not_waited_for(tmp_path):
    """A pipe nobody writes to, a device without an end: no file."""
    import os

    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", Path("/dev/zero"), Path("/dev/stdin"), tmp_path, Path("a" * 5000), ""):
        with pytest.raises(InputError):
            read_path(path, "public")
    assert streams.is_address("s3://bucket/key") and not streams.is_address("C:\\x")


def test_the_command_line_reads_them(tmp_path, capsys):
    """A folder, a query, a declared schema and declared rows, through the release command."""
    PUBLIC_FILE = tmp_path / "b.csv"
    frame(50, 2).to_csv(PUBLIC_FILE, index=False)
    schema = {
        "columns": [
            {"name": "a"},
            {"name": "k"},
            {"name": "age"},
            {"name": "town", "kind": "level", "levels": ["north", "south"]},
        ]
    }
    (tmp_path / "s.json").write_text(json.dumps(schema))
    more = [
        "--public",
        str(PUBLIC_FILE),
        "--target",
        "y",
        "--method",
        "joint-pmt",
        "--mu",
        "1",
        "--seed",
        "1",
        "--json",
    ]
    url, folder = _sqlite(tmp_path), _parts(tmp_path)
    answers = []
    for place in (
        ["--private", str(folder)],
        ["--private", url, "--query", "SELECT * FROM people ORDER BY rowid"],
        ["--private", str(folder), "--schema", str(tmp_path / "s.json"), "--private-rows", "300"],
    ):
        assert main(["release", *place, *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert {answer["n"] for answer in answers} == {300}
    assert answers[0]["coefficients"] == answers[1]["coefficients"] == answers[2]["coefficients"]


def test_a_declared_dialect_is_followed():
    """Quotes as plain characters, where a schema says so: every line is a row."""
    shape = lines.TextShape(",", 2, quoted=False)
    (batch,) = lines.batches(iter([b'"a,1\n"b,2\n']), shape, [0])
    assert batch.cells[0].to_pylist() == ['"a', '"b']
    assert read_table(b'a;y\n"1,5;2\n1,5;3\n', "p", "private").source.rows(Dialect(quoting="none")) == 2


class _NoHash(type):
    """A kind of class that cannot be told apart from others."""

    def __hash__(cls) -> int:
        raise RuntimeError("4711")

    def __eq__(cls, other: object) -> bool:
        raise RuntimeError("4711")


class _Unlike(metaclass=_NoHash):
    pass


def test_an_object_of_any_class_is_a_missing_cell():
    """Also where the class itself answers nothing: its neighbours are what they are alone."""
    assert np.array_equal(numbers(from_objects([1.5, _Unlike(), 2.5])), [1.5, np.nan, 2.5], equal_nan=True)
    assert texts(from_objects(["a", _Unlike()])).to_pylist() == ["a", None]
