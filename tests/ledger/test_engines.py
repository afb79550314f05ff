"""A ledger in a file goes through the standard library alone, and is what SQLAlchemy made of it before."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest
import sqlalchemy as sql

from pmtcore.base.messages import LedgerMessage
from pmtcore.ledger import engines
from pmtcore.ledger.chain import LedgerError
from pmtcore.ledger.engines import ServerConnection, SqliteEngine, address, display_address, engine
from pmtcore.ledger.log import Ledger
from tests.helpers import refused
from tests.ledger.tables import EVENTS, VERSION
from tests.ledger.test_log import url  # noqa: F401


@pytest.fixture
def file(tmp_path):
    return tmp_path / "a ledger%20?.db"


@pytest.fixture
def is_sqlite(file):
    return SqliteEngine(address(str(file)))


def test_a_transaction_is_alone_and_on_the_disk_when_it_ends(is_sqlite, file):
    """Nobody else begins one before it ends, and its end waits for the disk."""
    with is_sqlite.transaction(reads=False) as connection:
        assert connection.value("PRAGMA synchronous") == 2
        other = sqlite3.connect(file, timeout=0)
        with pytest.raises(sqlite3.OperationalError) as caught:
            other.execute("BEGIN IMMEDIATE")
        assert caught.value.sqlite_errorname == "SQLITE_BUSY"
        connection.run("CREATE TABLE t (a INTEGER)")
        connection.run("INSERT INTO t VALUES (:a)", a=1)
    assert other.execute("SELECT a FROM t").fetchall() == [(1,)]
    other.close()


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_transaction_that_fails_leaves_nothing(is_sqlite, error):
    """Whatever raised, what it wrote is undone and the file is free again."""
    with is_sqlite.transaction(reads=False) as connection:
        connection.run("CREATE TABLE t (a INTEGER)")
    with pytest.raises(error), is_sqlite.transaction(reads=False) as connection:
        connection.run("INSERT INTO t VALUES (1)")
        raise error
    with is_sqlite.transaction(reads=False) as connection:
        assert connection.value("SELECT count(*) FROM t") == 0


def test_both_kinds_of_connection_answer_alike(is_sqlite, file):
    """Rows by the names of their columns, single values, nothing where there is nothing."""
    with is_sqlite.transaction(reads=False) as connection:
        connection.run("CREATE TABLE t (a INTEGER, b TEXT)")
        connection.run("INSERT INTO t VALUES (:a, :b)", a=1, b="x: :b ? %s")

    def answers(connection):
        return (
            list(connection.rows("SELECT * FROM t WHERE a = :a", a=1)),
            list(connection.rows("SELECT b FROM t WHERE a > 5")),
            connection.value("SELECT b FROM t WHERE a = :a", a=1),
            connection.value("SELECT b FROM t WHERE a = 2"),
            [connection.has_table(name) for name in ("t", "u")],
            connection.is_sqlite,
        )

    with is_sqlite.transaction(reads=True) as connection:
        own = answers(connection)
    outside = sql.create_engine(sql.URL.create("sqlite", database=str(file)))
    with outside.begin() as connection:
        assert answers(ServerConnection(connection)) == own
    outside.dispose()
    assert own[0] == [{"a": 1, "b": "x: :b ? %s"}] and own[3:] == (None, [True, False], True)


@pytest.mark.slow
def test_the_tables_are_those_that_sqlalchemy_made(url):  # noqa: F811
    """Columns, their types, keys and indexes, on a file and on a server: a contract with older programs."""
    Ledger(url).cap("survey", 1.0)
    target = url.replace("postgresql://", "postgresql+psycopg://") if "://" in url else f"sqlite:///{url}"
    outside = sql.create_engine(target)
    result = sql.inspect(outside)
    for table in (EVENTS, VERSION):
        columns = {c["name"]: (str(c["type"]), c["nullable"]) for c in result.get_columns(table.name)}
        assert columns == {c.name: (str(c.type), c.nullable) for c in table.columns}
    assert result.get_pk_constraint("pmt_events")["constrained_columns"] == ["seq"]
    (unique,) = result.get_unique_constraints("pmt_events")
    assert (unique["name"], unique["column_names"]) == ("pmt_once", ["key", "kind"])
    indexes = {index["name"]: index["column_names"] for index in result.get_indexes("pmt_events")}
    assert indexes["ix_pmt_events_dataset"] == ["dataset"]
    outside.dispose()


@pytest.mark.parametrize(
    "wrong",
    [
        *("sqlite://", "sqlite:///:memory:", ":memory:/../:memory:", "sqlite:///a.db?timeout=3", "sqlite:///file:a.db"),
        *("sqlite:///file:a.db?mode=rw&uri=true", "sqlite://host/a.db", "sqlite+other:///a.db"),
    ],
)
def test_another_form_of_a_file_is_refused(wrong):
    """In memory, with options that would be passed over, or of a driver that is not the standard library's."""
    with refused(LedgerMessage.SQLITE_FORM, LedgerError):
        address(wrong)


def test_an_address_is_that_of_one_file(is_sqlite, file):
    """Whatever its name holds: as a path, as an address, and as the address of that."""
    with is_sqlite.transaction(reads=False) as connection:
        connection.run("CREATE TABLE t (a INTEGER)")
    once = address(str(file))
    assert address(once) == once and display_address(once) == str(file)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_a_place_is_told_without_a_password(tmp_path):
    """A file by its path, a server by its address."""
    assert display_address(address(f"sqlite+pysqlite:///{tmp_path}/l.db")) == f"{tmp_path}/l.db"
    assert display_address(address(f"sqlite:///file:{tmp_path}/l.db?mode=ro&uri=true")) == f"file:{tmp_path}/l.db"
    assert display_address("postgresql+psycopg://ana:secret@db/x") == "postgresql+psycopg://ana:***@db/x"


def test_a_sealed_file_is_only_read(is_sqlite, file):
    """An address that says so opens it without the right to write."""
    with is_sqlite.transaction(reads=False) as connection:
        connection.run("CREATE TABLE t (a INTEGER)")
    name = str(file).replace("%", "%25").replace("?", "%3F")
    sealed = engine(address(f"sqlite:///file:{name}?mode=ro&uri=true"))
    with (
        pytest.raises(sqlite3.OperationalError) as caught,
        sealed.transaction(reads=True) as connection,
    ):
        connection.run("INSERT INTO t VALUES (1)")
    assert caught.value.sqlite_errorname == "SQLITE_READONLY"


@pytest.mark.slow
def test_a_file_loads_no_other_library(tmp_path):
    """A cap and an account in a process of its own."""
    code = (
        "import sys; from pmtcore.ledger.log import Ledger; ledger = Ledger(sys.argv[1]); ledger.cap('a', 1.0); "
        "assert ledger.account('a').cap == 1.0 and ledger.verify()['intact']; assert 'sqlalchemy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "l.db")], check=True, capture_output=True)


@pytest.mark.parametrize("statement", ["SELECT * FROM pmt_events", "SELECT seq FROM pmt_events ORDER BY dataset"])
def test_an_error_that_is_kept_keeps_no_lock(statement, tmp_path, monkeypatch):
    """What was being read when an error came is let go of, also while the error is still looked at."""
    monkeypatch.setattr(engines, "WAIT_SECONDS", 0.2)
    ledger = Ledger(str(tmp_path / "l.db"))
    for name in ("a", "b", "c"):
        ledger.cap(name, 1.0)
    with pytest.raises(LedgerError) as remaining, ledger._database.reading() as connection:
        rows = connection.rows(statement)
        next(rows)
        raise LedgerError(LedgerMessage.NOT_RESERVED)
    assert Ledger(str(tmp_path / "l.db")).cap("d", 2.0).cap == 2.0
    assert remaining.value.message is LedgerMessage.NOT_RESERVED
