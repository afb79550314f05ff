"""Rows of queries against real databases: a pass asks for the columns that it uses, and order stays what it was."""

from __future__ import annotations

import sqlite3

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sql

from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, TableMessage
from pmtcore.cli.releases import _data_set
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import methods
from pmtcore.tables.cells import days, numbers, texts
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.problem import prepare
from pmtcore.tables.queries import QuerySource
from pmtcore.tables.table import query_table, read_path, table_from
from tests.helpers import TEST, plan, refused

# A name with a quote, one with a colon and one that a database takes for something else.
TABLE = (
    """CREATE TABLE people (age INTEGER, "the ""size"" :x" DOUBLE PRECISION, """
    """"Select" DOUBLE PRECISION, y INTEGER)"""
)
ROWS = [(20 + k % 50, k / 7, float(-k), k % 3) for k in range(500)]
NAMES = ("age", 'the "size" :x', "Select", "y")


@pytest.fixture(params=["sqlite", "duckdb", "postgres"])
def url(request, tmp_path):
    """A database with a table of people."""
    if request.param == "sqlite":
        with sqlite3.connect(tmp_path / "t.db") as connection:
            connection.execute(TABLE)
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", ROWS)
        connection.close()
        return f"sqlite:///{tmp_path / 't.db'}"
    if request.param == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
            connection.execute(TABLE)
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", ROWS)
        return f"duckdb://{tmp_path / 't.duckdb'}"
    address = request.getfixturevalue("postgres").replace("postgresql://", "postgresql+psycopg://")
    engine = sql.create_engine(address)
    with engine.begin() as connection:
        connection.exec_driver_sql("DROP TABLE IF EXISTS people")
        connection.exec_driver_sql(TABLE)
        for row in ROWS:
            connection.exec_driver_sql("INSERT INTO people VALUES (%s, %s, %s, %s)", row)
    engine.dispose()
    return address


def asked(source, monkeypatch):
    """What a source asks its database from now on."""
    queries, inner = [], QuerySource._chunks
    monkeypatch.setattr(
        QuerySource, "_chunks", lambda self, query, *rest: queries.append(query) or inner(self, query, *rest)
    )
    return queries


def cells(source, names):
    """The values of columns, row by row."""
    columns = {name: [] for name in names}
    for block in source.blocks(names, Dialect()):
        for name in names:
            columns[name] += block.columns[name].to_pylist()
    return [tuple(map(float, row)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.parametrize("names", [("y", "age"), (NAMES[1],), ("Select", NAMES[1]), NAMES])
def test_a_pass_asks_for_the_columns_that_it_uses(url, names, monkeypatch):
    """Whatever their names hold, in the order asked for; the others are neither sent nor named."""
    source = QuerySource(url, "SELECT * FROM people WHERE age < 60;")
    queries = asked(source, monkeypatch)
    expected = [tuple(float(row[NAMES.index(name)]) for name in names) for row in ROWS if row[0] < 60]
    assert sorted(cells(source, names)) == sorted(expected)
    (query,) = queries
    assert (query == source.query) == (len(names) == len(NAMES))
    if len(names) < len(NAMES):
        head = query[: query.index(" FROM ")]
        assert all((name.replace('"', '""') in head) == (name in names) for name in NAMES)


def test_a_query_with_an_order_is_asked_as_it_is(url, monkeypatch):
    """Of which the first rows may be all that is read."""
    source = QuerySource(url, 'SELECT * FROM people order by "Select"')
    queries = asked(source, monkeypatch)
    assert cells(source, ("y", "Select")) == [(float(row[3]), row[2]) for row in sorted(ROWS, key=lambda row: row[2])]
    assert queries == [source.query]


KEYWORDS = ("true", "FALSE", "null", "rowid", "column1", "column3", "current_date", "a:1", "a.b", "select *", "y")


@pytest.mark.parametrize("database", ["sqlite", "duckdb"])
@pytest.mark.parametrize("names", [KEYWORDS[:1], KEYWORDS[1:3], ("y", "column1", "true"), KEYWORDS])
def test_columns_that_are_called_like_words_of_the_language_keep_their_names(database, names, tmp_path):
    """SQLite calls a column true another name in a query inside a query, where its own name is a text."""
    columns = ", ".join(f'"{name}" INTEGER' for name in KEYWORDS)
    table = f"CREATE TABLE words ({columns})"
    insert = f"INSERT INTO words VALUES ({', '.join('?' * len(KEYWORDS))})"
    rows = [[k * len(KEYWORDS) + j for j in range(len(KEYWORDS))] for k in range(5)]
    place = tmp_path / "words.db"
    connection = sqlite3.connect(place) if database == "sqlite" else pytest.importorskip("duckdb").connect(str(place))
    connection.execute(table)
    connection.executemany(insert, rows)
    connection.commit()
    connection.close()
    source = QuerySource(f"{database}://{'/' if database == 'sqlite' else ''}{place}", "SELECT * FROM words")
    assert source.names == KEYWORDS
    assert cells(source, names) == [tuple(float(row[KEYWORDS.index(name)]) for name in names) for row in rows]


def test_no_log_has_a_row(url, caplog):
    """SQLAlchemy logs what it fetches where somebody asks it to, in the place of a whole server's log."""
    caplog.set_level("DEBUG")
    for name in ("sqlalchemy", "sqlalchemy.engine", "sqlalchemy.engine.Engine"):
        caplog.set_level("DEBUG", logger=name)
    assert len(cells(QuerySource(url, "SELECT * FROM people"), ("age", "Select"))) == len(ROWS)
    assert "-499.0" not in caplog.text


TIMES = [
    *("'infinity'::date", "'-infinity'::date", "'4713-01-01 BC'::date", "'20200-01-02'::date", "NULL::date"),
    *("'infinity'::timestamp", "'294276-01-01'::timestamp", "'-infinity'::timestamptz", "'24:00'::time"),
    *("'24:00+02'::timetz", "'3000000 years'::interval", "'{infinity}'::date[]", "'[2020-01-01,infinity)'::daterange"),
    *("'NaN'::numeric", "'1e200'::numeric", "'infinity'::float8", "'{\"a\": 1}'::jsonb", "'1'::money", "B'101'"),
    # Too deep, or with a number too long, for Python.
    *("(repeat('[', 3000) || repeat(']', 3000))::json", "repeat('9', 5000)::json", "repeat('9', 5000)::jsonb"),
    *("array[repeat('9', 5000)::json]", "row(repeat('9', 5000)::json)"),
]


@pytest.mark.parametrize("cell", TIMES)
def test_no_cell_of_postgres_ends_a_pass(cell, postgres):
    """A far date in one row is missing there; the same column's other rows are read, and nothing is raised."""
    url = postgres.replace("postgresql://", "postgresql+psycopg://")
    table = query_table(url, f"SELECT * FROM (VALUES (1, NULL), (2, {cell})) AS t(at, day) ORDER BY at")
    (block,) = table.source.blocks(("at", "day"), Dialect())
    assert numbers(block.columns["at"]).tolist() == [1, 2] and not np.isfinite(days(block.columns["day"])[1])


def test_times_of_postgres_are_what_they_were(postgres):
    """Dates, times of day and time zones that Python has are read as before."""
    url = postgres.replace("postgresql://", "postgresql+psycopg://")
    row = "'2020-01-02'::date, '2020-01-02 12:00'::timestamp, '2020-01-02 12:00+12'::timestamptz, '10:11'::time"
    table = query_table(url, f"SELECT t.* FROM (VALUES ({row})) AS t(a, b, c, d)")
    (block,) = table.source.blocks(("a", "b", "c", "d"), Dialect())
    assert [days(block.columns[name])[0] for name in "abc"] == [18263.0, 18263.5, 18263.0]
    assert texts(block.columns["d"]).to_pylist() == ["10:11:00"]


def test_a_database_that_is_not_there_is_not_begun(tmp_path):
    """A misspelled path of SQLite's: one sentence, and no empty file."""
    with refused(TableMessage.NO_FILE):
        query_table(f"sqlite:///{tmp_path / 'nope.db'}", "SELECT 1")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("scheme", ["postgresql", "s3", "nope"])
def test_no_sentence_quotes_a_password(scheme):
    """Of an address that cannot be read; nor is it in the table's name, which ledgers keep."""
    address = f"{scheme}://ann:secr@et@127.0.0.1:1/people?key=secret"
    with pytest.raises(InputError) as caught:
        read_path(address, "private")
    assert "secr" not in str(caught.value) and "127.0.0.1:1/people" in str(caught.value)
    assert "secr" not in _data_set(address) and _data_set(f"{scheme}://ann:secret@host") == "host"


def test_a_database_that_is_not_known_is_asked_as_it_is():
    """Another one may take a name in quotes for a text."""
    source = object.__new__(QuerySource)
    source._url, source.query, source.names, source._columns = "mysql://h/d", "SELECT * FROM t", ("a", "b"), ["a", "b"]
    assert source._projected([1]) == ("SELECT * FROM t", [1])


def test_a_design_has_the_same_rows(url):
    """From a query of all columns, of which two are used, and from a query of these."""
    public = table_from(pd.DataFrame(ROWS[:40], columns=list(NAMES)), "b", "public")
    choices = Choices(target="y", features=("age",))
    collected = [
        prepare(query_table(url, text), public, choices).private
        for text in ("SELECT * FROM people", "SELECT age, y FROM people")
    ]
    moments = [rows.sum(lambda x, y: x.T @ x).reveal(TEST).tolist() for rows in collected]
    assert moments[0] == moments[1] and collected[0].n == collected[1].n == len(ROWS)


@pytest.mark.slow
def test_every_method_releases_the_same_bits_from_a_database_as_from_a_file(url, tmp_path):
    """All sound methods of the registry, at one seed; of rows whose numbers have all digits of a double."""
    query = f'SELECT age, "{NAMES[1].replace(chr(34), chr(34) * 2)}" AS size, y FROM people'
    frame = pd.DataFrame([(age, size, y) for age, size, _, y in ROWS], columns=["age", "size", "y"])
    for entry in methods():
        if entry.standing is not ReleaseStatus.SOUND:
            continue
        logistic, covariates = entry.families[0] == "logistic", "public" if entry.id == "response-moment" else "private"
        rows = frame.assign(y=(frame["y"] > 0).astype(int)) if logistic else frame
        rows.to_csv(tmp_path / "private.csv", index=False)
        choices = Choices(
            target="y", family=entry.families[0], intercept=entry.task != "nonlinear", covariates=covariates
        )
        asked_for = query.replace(" y ", " CASE WHEN y > 0 THEN 1 ELSE 0 END AS y ") if logistic else query
        released = []
        for private in (query_table(url, asked_for), read_path(str(tmp_path / "private.csv"), "private")):
            problem = prepare(private, table_from(rows[::7], "b", "public"), choices)
            made = plan(entry.id, problem.public, len(rows), 1.0)
            released.append(np.asarray(made.run(problem.private, SeededNoise(3), 2).coefficients))
        np.testing.assert_array_equal(*released, err_msg=entry.id)
