"""A private row is read by itself: one replaced row changes its own line of the design, whatever the file."""

from __future__ import annotations

import csv
import datetime
import decimal
import gzip
import io
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pmtcore.tables.cells import MISSING_CODE, codes, numbers, texts
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import PublicSide, public_side
from pmtcore.tables.schema import code_for_missing, looks_like_counts
from pmtcore.tables.table import Table, read_table, table_from
from tests.helpers import TEST

TABLES = 2080  # with one row replaced, in all: 520 for each form of text and as many for Parquet
VARIANTS = 4  # of one table of text, each with another row replaced
ROWS = 12
TOWNS = ["north", "south", "west"]
CODES = ["01", "02", "03"]
ODD = [
    *["", " ", "NA", "?", "nan", "inf", "-Infinity", "1e61", "-1e308", "9" * 400, "1e999999", "0x10", "1_0", "x", "X"],
    *["1,5", "1;5"],
    *["1\t5", "1.5.5", "--1", "+1", " 2 ", "true", "False", "TRUE", "Unknown", "1.0", "1", "2", "01", "1e0"],
    *['"', '"a', 'a"'],
    *['""', "a\nb", 'a\n"b', "1,2\n3", "é", "\ud7ff", "\x00", "\r", "a\rb", "north", "north ", "NORTH"],
    *["2020-02-30", "2020-01-01", "1" * 70_000, "nan(1)", ".5", "5.", "1e-400", "１２", "=1+1", "\x1b[2J"],
]


@cache
def public(separator: str = ",", comma: bool = False) -> Table:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "number": rng.normal(size=60).round(3),
            "count": rng.integers(0, 50, 60),
            "town": rng.choice(TOWNS, 60),
            "code": rng.choice(CODES, 60),
            "flag": rng.choice(["True", "False"], 60),
            "day": [f"2020-01-{1 + j % 28:02}" for j in range(60)],
            "y": rng.normal(size=60).round(4),
        }
    )
    text = frame.to_csv(index=False, sep=separator, decimal="," if comma else ".")
    return read_table(text.encode(), "public", "public")


CHOICES = Choices(target="y", levels={"code": tuple(CODES)})


SIDES: dict[int, tuple[Table, PublicSide]] = {}


def design(table: Table, others: Table, choices: Choices = CHOICES) -> np.ndarray:
    """Return the rows that every method gets."""
    known, side = SIDES.get(id(others), (None, None))
    if known is not others or side.coder.choices != choices:
        side = public_side(table, others, choices)
        SIDES[id(others)] = others, side
    rows = side.read(table)
    result = rows.concatenate(lambda x, y: np.column_stack([x, y])).reveal(TEST)
    assert len(result) == rows.n and np.all(np.isfinite(result))
    return result


def assert_apart(first: np.ndarray, second: np.ndarray, at: int) -> None:
    """Compare rows: the same but one, bit for bit."""
    assert first.shape == second.shape
    assert np.array_equal(np.delete(first, at, axis=0), np.delete(second, at, axis=0))


def pick(rng: np.random.Generator, words: list[str]) -> str:
    return words[int(rng.integers(len(words)))]


def a_row(rng: np.random.Generator, odd: float) -> list[str]:
    row = [
        repr(round(float(rng.normal()), 4)),
        str(rng.integers(0, 50)),
        pick(rng, TOWNS),
        pick(rng, CODES),
        pick(rng, ["True", "False"]),
        f"2020-01-{rng.integers(1, 29):02}",
        repr(round(float(rng.normal()), 4)),
    ]
    # A line break would make two rows of it: of a private text file a row is a line (test_one_row.py).
    return [pick(rng, ODD).replace("\n", " ") if rng.random() < odd else cell for cell in row]


HEADER = ["number", "count", "town", "code", "flag", "day", "y"]


def written(rows: list[list[str]], separator: str, quoting: int) -> bytes:
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, quoting=quoting, lineterminator="\n")
    writer.writerow(HEADER)
    writer.writerows(rows)
    return out.getvalue().encode("utf-8", "replace")


def packed(data: bytes, members: int) -> bytes:
    """Gzip'ed in so many members, cut anywhere; not at all for 0."""
    if members == 0:
        return data
    cuts = [len(data) * j // members for j in range(members + 1)]
    return b"".join(gzip.compress(data[a:b]) for a, b in pairwise(cuts))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["csv", "tsv", "semicolon, decimal comma"])
def test_one_replaced_row_changes_its_own_line_of_text_files(form):
    """Over generated tables: quotes, separators, line breaks, marks, words and signs in one row reach no other."""
    separator = {"csv": ",", "tsv": "\t"}.get(form, ";")
    others, rng = public(separator, separator == ";"), np.random.default_rng(len(form))
    for trial in range(TABLES // 4 // VARIANTS):
        rows = [a_row(rng, 0.1 * (trial % 3)) for _ in range(ROWS)]
        if separator == ";":
            rows = [[cell.replace(".", ",") for cell in row] for row in rows]
        quoting = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)[trial % 2]

        def made(rows: list[list[str]], quoting: int = quoting, members: int = trial % 4) -> np.ndarray:
            return design(read_table(packed(written(rows, separator, quoting), members), "p", "private"), others)

        before = made(rows)
        for at in rng.permutation(ROWS)[:VARIANTS]:
            changed = [*rows[:at], a_row(rng, float(rng.choice([0.2, 1.0]))), *rows[at + 1 :]]
            assert_apart(before, made(changed), at)


LINES = [
    b'"',
    b'1,"2', b'"a,b,c', b"", b" ", b",,,,,,", b",,,,,,,,", b"1", b"\xff\xfe", b"\x00", b"1\r2,3", b'a"b,1,2,3,4,5,6',
    b"1;2;3;4;5;6;7", b"1\t2", b'"1","2","3","4","5","6","7"', b'"1""","2', b"x" * 2_000_000, b'1,2,"3"x,4,5,6,7',
]  # fmt: skip


@pytest.mark.parametrize("at", [0, 5, ROWS - 1])
@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_any_line_in_a_rows_place_is_a_row(at, quoting):
    """Raw lines that no writer makes: each is one row without a value, and the others stay."""
    rng = np.random.default_rng(1)
    rows = [a_row(rng, 0.0) for _ in range(ROWS)]
    lines = written(rows, ",", quoting).split(b"\n")
    features = design(read_table(b"\n".join(lines), "p", "private"), public())
    for line in LINES:
        other = b"\n".join([*lines[: at + 1], line, *lines[at + 2 :]])
        assert_apart(features, design(read_table(other, "p", "private"), public()), at)


NUMBER_TYPES = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(),
                pa.float16(), pa.float32(), pa.float64(), pa.decimal128(12, 2), pa.decimal256(40, 3),
                pa.bool_()]  # fmt: skip
TEXT_TYPES = [pa.string(), pa.large_string(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]
DAY_TYPES = [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ms", "UTC"), pa.string()]


def _number(rng: np.random.Generator, kind: pa.DataType, odd: bool):
    if odd and rng.random() < 0.5:
        return None
    if pa.types.is_boolean(kind):
        return bool(rng.integers(2))
    if pa.types.is_decimal(kind):
        return decimal.Decimal(int(rng.integers(-4000, 4000))) / 2 if kind.scale else decimal.Decimal(7)
    if pa.types.is_floating(kind):
        value = float(rng.choice([np.inf, -np.inf, np.nan, 3e4, -0.0])) if odd else float(rng.normal())
        return np.float16(value) if pa.types.is_float16(kind) else value
    if odd and kind == pa.uint64():
        return 2**64 - 1
    return int(rng.integers(0, 100))


def _cell(rng: np.random.Generator, kind: pa.DataType, odd: bool):
    if kind in TEXT_TYPES:
        text = pick(rng, ODD) if odd else pick(rng, TOWNS)
        if odd and rng.random() < 0.3:
            return None
        if pa.types.is_binary(kind):
            return b"\xff\xfe" if odd and rng.random() < 0.3 else text.encode()
        return text
    return _number(rng, kind, odd)


def parquet(columns: dict[str, pa.Array], group: int = 5) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, row_group_size=group)
    return out.getvalue()


def _day(rng: np.random.Generator, kind: pa.DataType, odd: bool):
    if odd and rng.random() < 0.5:
        return None
    day = datetime.date(int(rng.integers(1, 9999)) if odd else 2020, 1, int(rng.integers(1, 29)))
    if kind == pa.string():
        return pick(rng, ODD) if odd else day.isoformat()
    return day if pa.types.is_date(kind) else datetime.datetime.combine(day, datetime.time(3))


def _parquet_row(rng: np.random.Generator, kinds: dict[str, pa.DataType], odd: bool) -> dict[str, object]:
    makers = {"day": _day}
    return {name: makers.get(name, _cell)(rng, kind, odd) for name, kind in kinds.items()}


def _table(rows: list[dict[str, object]], kinds: dict[str, pa.DataType]) -> bytes:
    arrays = {}
    for name, kind in kinds.items():
        values = [row[name] for row in rows]
        dictionary = pa.types.is_dictionary(kind)
        made = pa.array(values, kind.value_type if dictionary else kind)
        arrays[name] = made.dictionary_encode() if dictionary else made
    return parquet(arrays)


@pytest.mark.slow
def test_one_replaced_row_changes_its_own_line_of_parquet():
    """Over generated tables of every integer, float, decimal, boolean, dictionary, text, byte and date type."""
    rng = np.random.default_rng(5)
    for trial in range(TABLES // 4):
        kinds = {
            "number": NUMBER_TYPES[trial % len(NUMBER_TYPES)],
            "count": NUMBER_TYPES[(trial * 5 + 1) % len(NUMBER_TYPES)],
            "town": TEXT_TYPES[trial % len(TEXT_TYPES)],
            "code": [pa.int8(), pa.uint64(), pa.float64(), pa.decimal128(8, 1), pa.string()][trial % 5],
            "flag": [pa.bool_(), pa.int8(), pa.string()][trial % 3],
            "day": DAY_TYPES[trial % len(DAY_TYPES)],
            "y": [pa.float64(), pa.int64(), pa.decimal128(12, 2)][trial % 3],
        }
        rows = [_parquet_row(rng, kinds, False) for _ in range(ROWS)]
        at = int(rng.integers(ROWS))
        changed = [*rows[:at], _parquet_row(rng, kinds, True), *rows[at + 1 :]]
        collected = [design(read_table(_table(t, kinds), "p", "private"), public()) for t in (rows, changed)]
        assert_apart(*collected, at)


SAME = {
    "integer": pa.array([1, 2, 3, 1], pa.int32()),
    "integer, with a null as floats": pa.array([1.0, 2.0, 3.0, 1.0]),
    "float 32": pa.array([1, 2, 3, 1], pa.float32()),
    "decimal": pa.array([decimal.Decimal(v) for v in ("1.00", "2.00", "3.00", "1.00")]),
    "text": pa.array(["1", "2", " 3", "1"]),
    "text of floats": pa.array(["1.0", "2.0", "3.0", "1e0"]),
    "bytes": pa.array([b"1", b"2", b"3", b"1"]),
    "dictionary": pa.array(["1", "2", "3", "1"]).dictionary_encode(),
}


@pytest.mark.parametrize("form", SAME)
@pytest.mark.parametrize("levels", [("1", "2", "3"), None])
def test_a_value_is_the_same_in_every_type(form, levels):
    """Level 1, number 1: integer, float, decimal, text, bytes alike; a writer's choice of type changes nothing."""
    choices = Choices(target="y", levels={} if levels is None else {"k": levels})
    rng = np.random.default_rng(2)
    others = table_from(pd.DataFrame({"k": rng.choice([1, 2, 3], 30), "y": rng.normal(size=30)}), "b", "public")
    y = pa.array([0.5, 1.5, 2.5, 3.5])
    expected = design(table_from(pa.table({"k": SAME["integer"], "y": y}), "p", "private"), others, choices)
    features = design(read_table(parquet({"k": SAME[form], "y": y}), "p", "private"), others, choices)
    assert np.array_equal(features, expected) and np.all(features[:, 0] == 1)


DAY, LATER = datetime.datetime(2020, 3, 1), datetime.datetime(2021, 7, 15)
EARLY, LATE = datetime.time(2), datetime.time(14, 30, 10, 250_000)
MOMENTS = {
    "day": {
        "text": pa.array(["2020-03-01", "2021-07-15"]),
        "text with a time": pa.array(["2020-03-01 00:00:00", "2021-07-15T00:00:00"]),
        "points": pa.array(["01.03.2020", "15.07.2021"]),
        "date 32": pa.array([DAY.date(), LATER.date()]),
        "date 64": pa.array([DAY.date(), LATER.date()], pa.date64()),
        **{f"stamp {unit}": pa.array([DAY, LATER], pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
    },
    "time": {
        "text": pa.array(["02:00:00", "14:30:10.25"]),
        "ms": pa.array([EARLY, LATE], pa.time32("ms")),
        "us": pa.array([EARLY, LATE], pa.time64("us")),
        "ns": pa.array([EARLY, LATE], pa.time64("ns")),
    },
}


@pytest.mark.parametrize(("kind", "form"), [(kind, form) for kind, forms in MOMENTS.items() for form in forms])
def test_a_day_and_a_time_are_one_level_in_every_type(kind, form):
    """Levels as any source writes them, rows as any other does: each has its own level, and none is unseen."""
    levels = texts(MOMENTS[kind][form]).to_pylist()
    for name, cells in MOMENTS[kind].items():
        assert codes(cells, levels).tolist() == [0, 1], name


# the demonstrations of the audit: what is there, what one row is changed to, choices
def _levels(n: int, words: list[str], last: str) -> tuple[str, str]:
    rng = np.random.default_rng(3)
    rows = [f"{rng.choice(words)},{rng.normal():.4f}" for _ in range(n)]
    return "k,y\n" + "\n".join(rows), "k,y\n" + "\n".join([*rows[:-1], f"{last},{rows[-1].split(',')[1]}"])


DEMONSTRATIONS = {
    "declared levels 1, 2, 3 and an empty cell": (["1", "2", "3"], "", {"levels": {"k": ("1", "2", "3")}}),
    "labels True, False and Unknown": (["True", "False"], "Unknown", {"target": "k", "family": "logistic"}),
    "levels 01, 02, 03 and X": (["01", "02", "03"], "X", {"levels": {"k": ("01", "02", "03")}}),
    "numbers and text": (["1", "2", "3"], "text", {}),
    "numbers and infinity": (["1", "2", "3"], "inf", {}),
    "numbers and 2^65": (["1", "2", "3"], str(2**65), {}),
    "a decimal comma": (["1.5", "2.5"], "2,5", {}),
    "a comma in a cell": (["north", "south"], "no, th", {}),
}


@pytest.mark.parametrize("name", DEMONSTRATIONS)
@pytest.mark.parametrize("separator", [",", ";", "\t"])
@pytest.mark.parametrize("missing", ["empty-row", "public-median"])
def test_each_demonstration_of_the_audit_is_without_effect(name, separator, missing):
    """n = 2000, one row differs: 1,999 rows of the design are the same, and nothing is refused."""
    words, last, changes = DEMONSTRATIONS[name]
    texts = [*_levels(2000, words, "LAST"), _levels(300, words, words[0])[0]]
    texts[1] = texts[1].replace("LAST", f'"{last}"' if separator in last else last)
    texts = [text if separator == "," else _resplit(text, separator) for text in texts]
    choices = Choices(**{"target": "y", "missing": missing, **changes})
    others = read_table(texts[2].encode(), "b", "public")
    collected = [design(read_table(text.encode(), "p", "private"), others, choices) for text in texts[:2]]
    assert_apart(*collected, 1999)


def _resplit(text: str, separator: str) -> str:
    rows = list(csv.reader(io.StringIO(text)))
    out = io.StringIO(newline="")
    csv.writer(out, delimiter=separator, lineterminator="\n").writerows(rows)
    return out.getvalue()


def test_parquet_integers_with_one_null():
    """The audit's second demonstration: a null turns pandas' integers into floats; here nothing changes."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"k": rng.integers(1, 4, 2000), "y": rng.normal(size=2000)})
    other = frame.astype({"k": float})
    other.loc[7, "k"] = np.nan
    others = table_from(frame[:200].assign(y=rng.normal(size=200)), "b", "public")
    choices = Choices(target="y", levels={"k": ("1", "2", "3")})
    collected = []
    for table in (frame, other):
        out = io.BytesIO()
        table.to_parquet(out)
        collected.append(design(read_table(out.getvalue(), "p", "private"), others, choices))
    assert_apart(*collected, 7)


def test_one_byte_that_is_not_utf8():
    """The audit's encoding demonstration: one byte 0xff changes its own cell."""
    rows = [f"{'höhe' if j % 2 else 'tief'},{j}.5" for j in range(200)]
    others = read_table(("k,y\n" + "\n".join(rows)).encode(), "b", "public")
    data = ("k,y\n" + "\n".join(rows[:100])).encode()
    other = data.replace("höhe".encode(), b"h\xffhe", 1)
    collected = [design(read_table(d, "p", "private"), others) for d in (data, other)]
    assert_apart(*collected, 1)
    assert np.all(collected[0][:, 0] == 1) and not np.any(collected[1][1])


def test_a_gzip_file_of_several_members_is_whole():
    """2,000 rows in four members are 2,000 rows."""
    data = b"a,y\n" + b"".join(b"%d,%d\n" % (j, j) for j in range(2000))
    for members in (1, 2, 4):
        assert read_table(packed(data, members), "p", "private").n == 2000


def test_a_header_one_name_short_shifts_nothing():
    """R's write.table: seen in the public rows, row names are left out; else such rows are missing, never shifted."""
    rng = np.random.default_rng(6)
    rows = [(float(rng.normal()), float(rng.normal())) for _ in range(40)]
    named = ('"x","y"\n' + "".join(f'"{j}",{x!r},{y!r}\n' for j, (x, y) in enumerate(rows))).encode()
    bare = ("x,y\n" + "".join(f"{x!r},{y!r}\n" for x, y in rows)).encode()
    more = ('"x","y"\n' + "".join(f'"{j}",{x!r},{2 * y!r}\n' for j, (x, y) in enumerate(rows))).encode()
    plain = design(read_table(bare, "p", "private"), read_table(bare + b"0,0\n", "b", "public"))
    assert np.array_equal(design(read_table(named, "p", "private"), read_table(more, "b", "public")), plain)
    assert not np.any(design(read_table(named, "p", "private"), read_table(bare, "b", "public")))


@pytest.mark.parametrize("line", [b'1,"2', b'"', b'1,2,3,4,5,6,"7'])
def test_two_open_quotes_swallow_nothing_between_them(line):
    """A stray quote in one row and another in a second: two rows without a value, and those between them stay."""
    rng = np.random.default_rng(7)
    lines = written([a_row(rng, 0.0) for _ in range(ROWS)], ",", csv.QUOTE_MINIMAL).split(b"\n")
    features = design(read_table(b"\n".join(lines), "p", "private"), public())
    spoiled = [line if at in (3, 9) else text for at, text in enumerate(lines)]
    features = design(read_table(b"\n".join(spoiled), "p", "private"), public())
    assert not np.any(features[[2, 8]])
    assert np.array_equal(np.delete(features, [2, 8], axis=0), np.delete(features, [2, 8], axis=0))


def test_a_null_of_a_dictionary_is_missing():
    """Not the first word of the dictionary."""
    column = pa.array(["north", None, "1.5", None]).dictionary_encode()
    assert texts(column).to_pylist() == ["north", None, "1.5", None]
    assert codes(column, ("north", "1.5")).tolist() == [0, MISSING_CODE, 1, MISSING_CODE]
    assert np.array_equal(numbers(column), [np.nan, np.nan, 1.5, np.nan], equal_nan=True)


def _in_windows_1252(text: str) -> bytes:
    return text.encode("cp1252")


@pytest.mark.parametrize("turned", [False, True], ids=["private file in Windows-1252", "public file in Windows-1252"])
def test_bytes_that_are_no_utf8_are_windows_1252(turned):
    """A spreadsheet's file beside one in UTF-8: every level is known, in a file of lines and in Parquet."""
    rng = np.random.default_rng(1)

    def lines(rows: int, seed: int) -> str:
        towns = np.random.default_rng(seed).choice(["München", "Zürich", "Bern"], rows)
        cells = zip(towns, rng.normal(size=rows), rng.normal(size=rows), strict=True)
        return "\n".join(["town,x,y", *(f"{town},{x:.4f},{y:.4f}" for town, x, y in cells)])

    texts_ = lines(300, 1), lines(60, 2)
    first, second = (_in_windows_1252, str.encode) if not turned else (str.encode, _in_windows_1252)
    public_table = read_table(second(texts_[1]), "b.csv", "public")
    rows = design(read_table(first(texts_[0]), "a.csv", "private"), public_table, Choices(target="y"))
    assert np.all(np.any(rows != 0, axis=1)) and len(np.unique(rows[:, 1])) == 2
    cells_ = pa.array([_in_windows_1252("München"), "München".encode()], pa.binary()).view(pa.string())
    assert texts(cells_).to_pylist() == ["München"] * 2
    assert texts(pa.array([b"\x81"], pa.binary()).view(pa.string())).to_pylist() == ["\ufffd"]


@pytest.mark.parametrize("packing", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_one_row_in_another_encoding_turns_no_other(packing):
    """A row that somebody's program wrote in Windows-1252 into a file in UTF-8: that row alone is another, if any."""
    towns = ["München", "Zürich", "Bern"]
    lines = [f"{towns[j % 3]},{j % 7}.5,{j % 5}" for j in range(90)]
    others = read_table("\n".join(["town,x,y", *lines[:60]]).encode(), "b.csv", "public")

    def read(at: int | None) -> np.ndarray:
        cells = [line.encode("cp1252" if j == at else "utf-8") for j, line in enumerate(lines)]
        data = packing(b"\n".join([b"town,x,y", *cells]))
        return design(read_table(data, "a.csv", "private"), others, Choices(target="y"))

    for at in (0, 1, 88):
        assert np.array_equal(read(at), read(None))


@pytest.mark.parametrize(
    ("values", "code"),
    [
        ([*range(18, 79), -999.0, -999.0], -999.0),
        ([*range(18, 79), 9999.0], 9999.0),
        ([*range(18, 79), 99.0], None),
        ([*range(-2000, 0, 50), -999.0], None),
        ([*range(18, 79), -500.0], None),
        ([0.0, 1.0, 2.0, -999.0], -999.0),
        ([0.0, 999.0], None),
    ],
    ids=["-999", "9999", "an age", "among others", "no nines", "few counts", "two values"],
)
def test_a_number_of_nines_far_out_is_a_code(values, code):
    """Only where it lies further from the other values than they from each other."""
    assert code_for_missing(np.array([*values, np.nan], dtype=float)) == code


@pytest.mark.parametrize(
    ("values", "counts"),
    [
        ([0, 1, 2, 3, 5], True),
        ([0, 1, 0, 1], False),
        ([1, 2, 3], False),
        ([0, 1.5, 3], False),
        ([0, 1, 2, 400], False),
        ([-1, 0, 1], False),
    ],
    ids=["counts", "labels", "no zero", "not whole", "large", "negative"],
)
def test_small_whole_numbers_from_zero_on_are_counts(values, counts):
    """A target of them is offered the regression of rates."""
    assert looks_like_counts(np.array([*values, np.nan], dtype=float)) is counts
