"""One parse of a text serves the fingerprint and the first pass: the same numbers, read once, and dropped after use."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base import memory
from pmtcore.base.messages import InputError
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.releases.release import Request, recorded_release
from pmtcore.tables import parsed, problem
from pmtcore.tables.cells import numbers
from pmtcore.tables.choices import Choices
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.fingerprint import hash_cells
from pmtcore.tables.problem import prepare
from pmtcore.tables.sources import TextSource, reading_numbers
from pmtcore.tables.table import read_path, read_table

KEY = bytes(range(32))
ODD = ("", "NA", "nan", "inf", "-inf", "1e200", "1,234.5", " 7 ", "true", "x", "0x10", "1e-400", '"3"', "+.5e1")
ODDER = ("1.5 ", "\t2", "+7", "NaN ", "1e61", "-1e60", "infinity", "1_0", "\x0b3", ".", "\u00e9")


def text(n, seed=1, odd=False, separator=",", town=False):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.standard_normal((n, 3)), columns=["a", "b", "y"]).round(6).astype(object)
    if town:
        frame["town"] = rng.choice(["north", "south"], n)
    if odd:
        for at, cell in enumerate(ODD):
            frame.iloc[7 * at + 3, at % 3] = cell
    quoting = {"quoting": 3, "escapechar": "\\"} if separator != "," else {}
    return frame.to_csv(index=False, sep=separator, **quoting).encode()


def problem_of(data, **choices):
    public = read_table(text(60, 9, town=b"town" in data), "public", "public")
    return prepare(read_table(data, "private", "private"), public, Choices(target="y", **choices))


@pytest.mark.parametrize("separator", [",", ";"])
def test_the_numbers_are_those_of_reading_again(separator):
    """Cells that are no number, too large, or written in unusual ways among them; block by block."""
    made = problem_of(text(40_000, odd=True, separator=separator))
    read = list(made.private._blocks())
    made = problem_of(text(40_000, odd=True, separator=separator))
    hash_cells(made.table, KEY, made.dialect, parsed=made.parsed)
    handed_on = list(made.private._blocks())
    assert [len(y) for _, y in read] == [len(y) for _, y in handed_on]
    for (x, y), (features, response) in zip(read, handed_on, strict=True):
        assert np.array_equal(x, features) and np.array_equal(y, response)


def test_the_numbers_of_a_parquet_file_are_handed_on():
    """Single precision, whole numbers and gaps: as reading them again."""
    rng, out = np.random.default_rng(2), io.BytesIO()
    frame = pd.DataFrame({"a": rng.standard_normal(40_000).astype("float32"), "b": rng.integers(0, 9, 40_000)})
    frame["y"] = np.where(rng.random(40_000) < 0.1, np.nan, frame["a"] + frame["b"])
    frame.to_parquet(out)
    read, handed_on = problem_of(out.getvalue()), problem_of(out.getvalue())
    hash_cells(handed_on.table, KEY, handed_on.dialect, parsed=handed_on.parsed)
    assert handed_on.parsed.is_complete
    for one, other in zip(read.private._blocks(), handed_on.private._blocks(), strict=True):
        assert all(np.array_equal(*each) for each in zip(one, other, strict=True))


@pytest.mark.parametrize("cell", [*ODD, *ODDER, None])
def test_numbers_that_the_reader_converts_are_those_of_their_text(cell):
    """Whatever one cell holds, a line of another length (``None``) among them: same rows, same fingerprint."""
    lines = text(300).split(b"\n")
    lines[41] = b"1,2" if cell is None else cell.encode() + lines[41][lines[41].index(b",") :]
    made = problem_of(b"\n".join(lines).replace(b'"3"', b"3"))
    by_text, by_reader = (
        hash_cells(made.table, KEY, made.dialect, numeric=names) for names in ((), made.coder.numbers | {"no column"})
    )
    assert np.array_equal(by_text.hashes, by_reader.hashes)
    source, names = made.table.source, made.coder.columns()
    for one, other in zip(
        source.blocks(names, made.dialect), reading_numbers(source, names).blocks(names, made.dialect), strict=True
    ):
        assert one.rows == other.rows
        for name in names:
            read, converted = numbers(one.columns[name]), numbers(other.columns[name])
            assert read.tobytes() == converted.tobytes()


def test_only_columns_of_numbers_are_converted():
    """A level that looks like a number keeps its text; so does any number under a decimal comma."""
    made = problem_of(text(50, town=True))
    assert made.coder.numbers == {"a", "b", "y"}
    source = reading_numbers(made.table.source, ["a"])
    (block,) = source.blocks(("a", "b"), made.dialect)
    assert str(block.columns["a"].type) == "double" and str(block.columns["b"].type) == "string"
    (block,) = reading_numbers(problem_of(text(50, separator=";")).table.source, ["a"]).blocks(("a",), Dialect())
    assert str(block.columns["a"].type) == "string", "the decimal mark is not known to be a point"


def test_a_text_on_disk_is_digested_only_where_sizes_agree(tmp_path, monkeypatch):
    """The ledger's fingerprint reads such a table anyway; the same file twice is refused still."""
    places = [tmp_path / "private.csv", tmp_path / "public.csv"]
    for place, data in zip(places, (text(500), text(60, 9)), strict=True):
        place.write_bytes(data)
    digested = []
    monkeypatch.setattr(TextSource, "sha256", property(lambda self: digested.append(self) or "same"))
    private, public = (read_path(str(place), role) for place, role in zip(places, ("private", "public"), strict=True))
    prepare(private, public, Choices(target="y"))
    assert not digested
    with pytest.raises(InputError):
        prepare(private, read_path(str(places[0]), "public"), Choices(target="y"))
    assert digested


def test_a_release_reads_a_text_once(tmp_path, monkeypatch):
    """The same release with and without what was handed on; with it, one pass over the text in all."""
    passes, blocks = [], TextSource.blocks

    def counted(self, names, dialect):
        passes.append(self._private)
        return blocks(self, names, dialect)

    monkeypatch.setattr(TextSource, "blocks", counted)
    records = []
    for shares in (True, False):
        monkeypatch.setattr(problem, "fits_in_memory", parsed.fits_in_memory if shares else lambda *_: False)
        ledger = Ledger(str(tmp_path / f"{shares}.db"))
        ledger.cap("d", 5.0)
        made = problem_of(text(3000, odd=True))
        passes.clear()
        recorded = recorded_release(
            made, Request("joint-pmt", Budget(1.0)), SeededNoise(3), ledger, dataset="d", key="k"
        )
        records.append((recorded.release.as_dict()["coefficients"], sum(passes)))
        assert made.parsed is None or not made.parsed.is_complete
    assert records[0][0] == records[1][0]
    assert records[0][1] == 1 < records[1][1]


def test_a_refused_release_keeps_no_number(tmp_path):
    """The cap is reached after the fingerprint: nothing waits for a pass that does not come."""
    ledger, made = Ledger(str(tmp_path / "l.db")), problem_of(text(500))
    ledger.cap("d", 0.5)
    with pytest.raises(LedgerError):
        recorded_release(made, Request("joint-pmt", Budget(1.0)), SeededNoise(3), ledger, dataset="d", key="k")
    assert not made.parsed.is_complete


def test_a_pass_that_was_stopped_hands_nothing_on():
    """Half of the rows are no table: the next pass reads the text."""

    class Stops:
        def begin(self):
            self.count = 0

        def rows(self, count):
            self.count += 1
            if self.count == 2:
                raise KeyboardInterrupt

    made = problem_of(text(80_000))
    with pytest.raises(KeyboardInterrupt):
        hash_cells(made.table, KEY, made.dialect, watch=Stops(), parsed=made.parsed)
    assert not made.parsed.is_complete
    assert sum(len(y) for _, y in made.private._blocks()) == 80_000


def test_what_is_kept_is_decided_by_what_is_public(monkeypatch):
    """Levels are read anew, and so are more rows than there is room for."""
    monkeypatch.setattr(memory, "memory_limit", lambda: 0)
    assert problem_of(text(500)).parsed is not None
    assert problem_of(text(500, town=True)).parsed is None
    assert parsed.fits_in_memory(10**6, 11, 11) and not parsed.fits_in_memory(2 * 10**6, 11, 11)
    assert not parsed.fits_in_memory(1000, 11, 100), "blocks are cut elsewhere"


def values(blocks):
    """Return the responses of all blocks, private."""
    return np.concatenate([y for _, y in blocks])


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parsed", "waiting"])
def test_passes_at_one_time_have_each_row_once(form):
    """The curator looks at a figure while a release reads: both, and all later passes, have every row, and once."""
    made = problem_of(text(80_000, town=form == "waiting"))
    assert (made.parsed is None) == (form == "waiting")
    alone = values(problem_of(text(80_000, town=True)).private._blocks())
    if form == "parsed":
        hash_cells(made.table, KEY, made.dialect, parsed=made.parsed)
    passes = [made.private._blocks() for _ in range(3)]
    read = [[], [], []]
    for blocks in zip(*passes, strict=True):
        for mine, block in zip(read, blocks, strict=True):
            mine.append(block)
    for blocks in (*read, made.private._blocks(), made.private._blocks()):
        assert np.array_equal(values(blocks), alone)


def test_fingerprints_at_one_time_leave_each_row_once():
    """Two releases of one problem: the one's pass over the text begins in the middle of the other's."""
    made = problem_of(text(80_000))
    alone = values(made.private._blocks())
    made = problem_of(text(80_000))

    class Meets:
        met = False

        def begin(self):
            pass

        def rows(self, count):
            if not self.met:
                self.met = True
                hash_cells(made.table, KEY, made.dialect, parsed=made.parsed)

    hash_cells(made.table, KEY, made.dialect, watch=Meets(), parsed=made.parsed)
    assert np.array_equal(values(made.private._blocks()), alone)
