"""One cell, as text or as a typed scalar, becomes a number, a level, or missing: by itself (proofs/rows.md, 20).

Every function here takes an Arrow array of cells and works elementwise: what becomes of a cell depends on that cell
and on public rules, never on its neighbours. Where a fast conversion of a whole array exists, it is tried first and
gives up on the first cell it does not know; then cells are told apart by a pattern. A test holds both to the same
result. A cell nobody can read is missing: nothing here raises for what a cell holds.
"""

import codecs
import datetime
import decimal as decimals
import math
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pmtcore.tables.kinds import Order
from pmtcore.tables.limits import LARGEST, LINE

MISSING = (
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "N.A.", "n.a.", "NaN", "NAN", "nan", "NULL", "null", "None", "<NA>"),
    *("k.A.", "#N/A", "#NA", "#VALUE!", "#DIV/0!", "#REF!", "#NULL!", "#NUM!", "#NAME?"),  # what spreadsheets leave
)
# Some of them, as a sentence names them.
MISSING_EXAMPLES = "NA, n/a, NULL and ?"
ABSENT, UNSEEN = -1, -2  # codes of a missing cell and of a text that is no level
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_APART = "'\u2019 \u00a0\u202f"  # marks between groups of three digits whatever the decimal mark
_AMOUNT = rf"[0-9.,][0-9.,{_APART}eE+-]*"  # a number with marks between its digits, and blanks after it
_OFFSET = r"[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?"  # of a time from universal time: +02:00, as databases write it
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
_DATE = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{_TIME}(?:Z|{_OFFSET})?)?"
_OFFSET_AFTER_TIME = re.compile(r":[0-9.]+([+-])([0-9]{2}):?([0-9]{2})?\Z")
_DOTTED = r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"  # 31.12.2020: the day is first
_SLASHED = r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"  # in the order that is declared
_DAY = 86_400_000_000  # microseconds
# The calendar that all sources share, in days since 1970: the years 1 to 9999, as Python and SQL have them.
_FIRST_DAY, _DAY_AFTER_LAST = -719_162, 2_932_897
_UNITS_OF_A_DAY = {"day": 1, "s": 86_400, "ms": 86_400_000, "us": _DAY, "ns": _DAY * 1000}
_CODE = re.compile(r"[+-]?0[0-9]")  # a number that starts with a zero too many is a code, such as 01
_WIDEST = 76  # digits of Arrow's longest decimal
_BEYOND = 160  # powers of ten: a number so long is no number here

_Value = TypeVar("_Value", float, str)
# A Python object as a cell: its three readings, made of that object alone. ``typed`` is false where it is text, whose
# number depends on the decimal mark of the table.
OBJECT = pa.struct(
    [("typed", pa.bool_()), ("number", pa.float64()), ("day", pa.float64()), ("text", pa.large_string())]
)


def numbers(cells: pa.Array, decimal: str | None = ".") -> np.ndarray:
    """Read cells as floats (k,), NaN where missing: no number, not finite, or beyond 1e60.

    ``true`` and ``false`` count as 1 and 0. Thousands may be separated by a space, an apostrophe, or whichever of
    point and comma is not the decimal mark.

    Args:
        cells: any Arrow array.
        decimal: decimal mark of numbers written as text; ``None``: a point, or a single comma without one.
    """
    values = _numbers(cells, decimal)
    if len(values) and values.max() <= LARGEST and values.min() >= -LARGEST:  # false for what is no number
        return values
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values) <= LARGEST, values, np.nan)


def signed_numbers(cells: pa.Array, signs: Sequence[str], decimal: str | None = ".") -> np.ndarray:
    """Read numbers that have a sign such as ``%`` or ``EUR`` before or after them as floats (k,), NaN where missing.

    A cell without a sign is missing: 0.5 beside 50 % may be the half of one or a half percent.

    Args:
        cells: any Arrow array.
        signs: texts of which one stands beside each number.
        decimal: decimal mark, as for :func:`numbers`.
    """
    text, sign = texts(cells), "|".join(map(re.escape, signs))
    form = rf"\A([+-]?)(?:(?:{sign})[ \x{{a0}}\x{{202f}}]*([+-]?{_AMOUNT})|({_AMOUNT})(?:{sign}))\z"
    has = pc.match_substring_regex(text, form)
    bare = pc.utf8_trim_whitespace(pc.replace_substring_regex(text, form, r"\1\2\3"))
    return numbers(pc.if_else(pc.fill_null(has, False), bare, pa.scalar(None, text.type)), decimal)


def texts(cells: pa.Array) -> pa.Array:
    """Read cells as stripped text, null where missing.

    A typed scalar has one text: the integer 1 and the float 1.0 are 1. Bytes are read as UTF-8, with invalid bytes
    replaced; lists, structures and durations have no text.
    """
    kind = cells.type
    if kind == OBJECT:
        return cells.field("text")
    if pt.is_dictionary(kind):
        return texts(cells.dictionary).take(cells.indices)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _unmarked(pc.utf8_trim_whitespace(_short(_in_utf8(cells))))
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind) or pt.is_binary_view(kind):
        return texts(_decoded(cells))
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return _printed(_in_calendar(cells))
    if (pt.is_primitive(kind) and not pt.is_duration(kind)) or pt.is_decimal(kind) or pt.is_boolean(kind):
        return _unmarked(cells.cast(pa.float32()).cast(pa.large_string())) if pt.is_float16(kind) else _printed(cells)
    return pa.nulls(len(cells), pa.large_string())


def codes(cells: pa.Array, levels: Sequence[str]) -> np.ndarray:
    """Return the place of each cell's level (k,); ``ABSENT`` for a missing cell, ``UNSEEN`` for any other text.

    A cell is the level of the same text; failing that, the only level that is the same number (``true`` is 1) or the
    same day and time, however its source writes them; failing that too, the only level that differs in capitals, blanks
    and a final point alone.

    Args:
        cells: any Arrow array.
        levels: known levels.
    """
    exact, by_number, by_day, by_form = _places(tuple(levels))
    encoded = texts(cells).dictionary_encode()
    different = encoded.dictionary
    dates = days(different).tolist() if by_day else [math.nan] * len(different)
    readings = zip(different.to_pylist(), numbers(different).tolist(), dates, strict=True)
    places = [
        exact.get(text, by_number.get(number, by_day.get(day, by_form.get(plain_form(text), UNSEEN))))
        for text, number, day in readings
    ]
    table = np.asarray(places, dtype=np.int64)
    at = encoded.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
    return np.append(table, ABSENT)[at]


@lru_cache(maxsize=256)
def _places(levels: tuple[str, ...]) -> tuple[dict[str, int], dict[float, int], dict[float, int], dict[str, int]]:
    """Index levels by their text and, where only one has it, by their number, their day and their plain form."""
    written = pa.array(levels, pa.large_string())
    exact = {level: at for at, level in enumerate(levels)}
    by_form = _only_places([plain_form(level) for level in levels])
    return exact, _only_places(numbers(written).tolist()), _only_places(days(written).tolist()), by_form


def plain_form(level: str) -> str:
    """Return a text without its capitals, blanks and final points; ``>50K.`` and ``>50K`` are one label."""
    return "".join(level.casefold().split()).rstrip(".")


def _only_places(values: Sequence[_Value]) -> dict[_Value, int]:
    """Return the place of each value (k,); ``UNSEEN`` for one that stands twice. NaN has none."""
    places: dict[_Value, int] = {}
    for at, value in enumerate(values):
        if value == value:
            places[value] = UNSEEN if value in places else at
    return places


def days(cells: pa.Array, order: Order = "date") -> np.ndarray:
    """Read dates as days since 1970-01-01 (k,), with the time of day as a fraction; NaN where missing.

    A date outside the years 1 to 9999 is missing in every source, and so is what databases call infinity.
    Text is read in ISO order (2020-12-31, 2020-12-31 23:59:59) or with points (31.12.2020), or with slashes in the
    given order; other text, and a date that does not exist, is missing. A time with an offset (23:59+02:00) is the
    moment that it names, in universal time, as a typed cell with a time zone is.

    Args:
        cells: any Arrow array.
        order: ``day-first`` (31/12/2020) or ``month-first`` (12/31/2020); ``date``: text with slashes is missing.
    """
    if cells.type == OBJECT:
        return np.where(_flags(cells), _plain(cells.field("day")), days(cells.field("text"), order))
    if pt.is_date(cells.type) or pt.is_timestamp(cells.type):
        return _typed_days(cells)
    stripped, forms = texts(cells), f"{_DATE}|{_DOTTED}" + (f"|{_SLASHED}" if order != "date" else "")
    form = pc.fill_null(pc.match_substring_regex(stripped, rf"\A(?:{forms})\z"), False)
    text = pc.if_else(form, stripped, pa.scalar(None, stripped.type)).dictionary_encode()
    table = [_day(value, order) for value in text.dictionary.to_pylist()]
    at = text.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
    return np.append(np.asarray(table, dtype=float), np.nan)[at]


def canonical(text: str) -> str:
    """Return the name of a level: ``1.0`` and ``1`` are one level; ``01`` is a code and stays."""
    text = text.strip()
    if not re.fullmatch(_NUMBER, text) or _CODE.match(text):
        return text
    number = float(text)
    if not abs(number) <= LARGEST:
        return text
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def _typed_days(cells: pa.Array) -> np.ndarray:
    """Return the days (k,) of typed dates; multiplied as floats, so that no date of any year overflows into another."""
    kind, unit, cells = cells.type, _unit(cells.type), _in_calendar(cells)
    if unit == "day":
        return _plain(cells.cast(pa.int32()).cast(pa.float64()))
    if unit == "ns":
        cells = cells.cast(pa.timestamp("us", kind.tz), safe=False)
    stamps = _plain(cells.cast(pa.int64()).cast(pa.float64(), safe=False))
    return stamps * {"s": 1e6, "ms": 1e3}.get(unit, 1.0) / _DAY


def _unit(kind: pa.DataType) -> str:
    """Return the unit in which a type counts dates."""
    if pt.is_date(kind):
        return "day" if pt.is_date32(kind) else "ms"
    return str(kind.unit)


def _in_calendar(cells: pa.Array) -> pa.Array:
    """Return typed dates (k,), null where one is outside the calendar, each by itself.

    The largest and the smallest number of a type are what DuckDB writes for infinity and -infinity, which in
    nanoseconds lie in the calendar.
    """
    number = pa.int32() if pt.is_date32(cells.type) else pa.int64()
    units, largest = _UNITS_OF_A_DAY[_unit(cells.type)], 2 ** (number.bit_width - 1) - 1
    first, last = max(_FIRST_DAY * units, 1 - largest), min(_DAY_AFTER_LAST * units, largest) - 1
    counts = cells.cast(number)
    span = pc.min_max(counts).as_py()
    if span["min"] is None or (span["min"] >= first and span["max"] <= last):
        return cells
    inside = pc.and_(pc.greater_equal(counts, first), pc.less_equal(counts, last))
    return pc.if_else(inside, cells, pa.scalar(None, cells.type))


def _day(text: str, order: Order) -> float:
    if "/" in text[:3]:
        date, _, time = text.partition(" ")
        first, second, year = date.split("/")
        day, month = (first, second) if order == "day-first" else (second, first)
        text = f"{day}.{month}.{year}" + (f" {time}" if time else "")
    if "." in text[:3]:
        (day, month, year), time = text[:10].split(" ", maxsplit=1)[0].split("."), text.partition(" ")[2]
        text = f"{year}-{month:0>2}-{day:0>2}" + (f" {time}" if time else "")
    offset, ahead = _OFFSET_AFTER_TIME.search(text), 0
    if offset is not None:
        hours, minutes = offset[2], offset[3] or "0"
        ahead = int(f"{offset[1]}1") * (60 * int(hours) + int(minutes))
        text = text[: offset.start(1)]
    try:
        stamp = np.datetime64(text.removesuffix("Z").replace(" ", "T")[:26], "us") - np.timedelta64(ahead, "m")
    except ValueError:
        return float("nan")
    since_1970 = int(stamp.astype(np.int64))  # microseconds
    return float(since_1970) / _DAY if _FIRST_DAY * _DAY <= since_1970 < _DAY_AFTER_LAST * _DAY else float("nan")


def _numbers(cells: pa.Array, decimal: str | None) -> np.ndarray:
    kind = cells.type
    if kind == OBJECT:
        return np.where(_flags(cells), _plain(cells.field("number")), _from_text(cells.field("text"), decimal))
    if pt.is_dictionary(kind):
        table = np.append(_numbers(cells.dictionary, decimal), np.nan)
        return table[cells.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)]
    if pt.is_float16(kind):
        cells = cells.cast(pa.float32())
    if pt.is_boolean(kind):
        cells = cells.cast(pa.uint8())
    if pt.is_integer(cells.type) or pt.is_floating(cells.type):
        return _plain(cells.cast(pa.float64(), safe=False))
    if pt.is_decimal(kind):  # through its digits, so that 0.10 is the number that the text 0.10 is
        return _plain(cells.cast(pa.large_string()).cast(pa.float64()))
    return _from_text(cells, decimal)


def _short(cells: pa.Array) -> pa.Array:
    """Return cells of text, null where one is longer than a line may be: missing as it is in a text, in any source."""
    size = pc.binary_length(cells)
    longest = pc.max(size).as_py()
    if longest is None or longest <= LINE:
        return cells
    return pc.if_else(pc.less_equal(size, LINE), cells, pa.scalar(None, cells.type))


def _from_text(cells: pa.Array, decimal: str | None) -> np.ndarray:
    if decimal == "." and (pt.is_string(cells.type) or pt.is_large_string(cells.type)):
        cells = _short(cells)
        try:
            return _plain(cells.cast(pa.float64()))  # reads what the pattern below reads, and nan and inf
        except pa.ArrowInvalid:
            pass
    text = _ungrouped(texts(cells), decimal)
    if decimal != ".":
        text = _with_point(text, decimal)
    form = pc.fill_null(pc.match_substring_regex(text, rf"\A(?:{_NUMBER})\z"), False)
    values = _plain(pc.if_else(form, text, pa.scalar(None, text.type)).cast(pa.float64()))
    if not pc.all(form).as_py():
        lower = pc.utf8_lower(text)
        for word, value in (("true", 1.0), ("false", 0.0)):
            values[pc.fill_null(pc.equal(lower, word), False).to_numpy(zero_copy_only=False)] = value
    return values


def _ungrouped(text: pa.Array, decimal: str | None) -> pa.Array:
    """Remove thousands separators: from 1.234,5 under the comma, from 1,234.5 under the point."""
    marks = _APART + {".": ",", ",": ".", None: ""}[decimal]
    groups = "|".join(f"(?:{re.escape(mark)}[0-9]{{3}})+" for mark in marks)
    point = {".": r"\.", ",": ",", None: "[.,]"}[decimal]
    form = pc.match_substring_regex(text, rf"\A[+-]?[1-9][0-9]{{0,2}}(?:{groups})(?:{point}[0-9]*)?\z")
    if not pc.any(form).as_py():
        return text
    return pc.if_else(pc.fill_null(form, False), pc.replace_substring_regex(text, f"[{marks}]", ""), text)


def _with_point(text: pa.Array, decimal: str | None) -> pa.Array:
    """Replace a decimal comma by a point; under the comma a point is not a decimal mark."""
    changed = pc.replace_substring(text, ",", ".", max_replacements=1)
    pointed = pc.match_substring(text, ".")
    other = pa.scalar(None, text.type) if decimal == "," else text
    return pc.if_else(pointed, other, changed)


def _plain(cells: pa.Array) -> np.ndarray:
    """Return floats (k,), NaN for null, in a new array."""
    return np.array(cells.to_numpy(zero_copy_only=False), dtype=float)


def _printed(cells: pa.Array) -> pa.Array:
    """Write typed scalars as text; a type that Arrow cannot print is missing throughout."""
    try:
        cells[:0].cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(cells), pa.large_string())
    try:
        return _unmarked(_as_text(cells))
    except pa.ArrowInvalid:
        return pa.concat_arrays([_printed_alone(cells[at : at + 1]) for at in range(len(cells))])


def _printed_alone(cell: pa.Array) -> pa.Array:
    try:
        return _unmarked(_as_text(cell))
    except pa.ArrowInvalid:
        return pa.nulls(1, pa.large_string())


def _as_text(cells: pa.Array) -> pa.Array:
    """Write typed scalars; a time of day has no zeros behind its last digit, whatever its unit can hold."""
    text = cells.cast(pa.large_string())
    if not pt.is_time(cells.type):
        return text
    return pc.replace_substring_regex(text, r"(\.\d*[1-9])0*$|\.0*$", r"\1")


def _unmarked(text: pa.Array) -> pa.Array:
    """Replace the markers of a missing value by null."""
    marked = pc.is_in(text, value_set=pa.array(MISSING, text.type))
    return pc.if_else(marked, pa.scalar(None, text.type), text)


def _in_utf8(cells: pa.Array) -> pa.Array:
    """Return text cells as valid UTF-8: a file may claim so of invalid bytes, which are read one by one."""
    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        return _decoded(cells.cast(pa.large_binary()))
    return cells.cast(pa.large_string())


def _decoded(cells: pa.Array) -> pa.Array:
    """Decode bytes as UTF-8 text, cell by cell."""
    return pa.array([None if cell is None else decoded(cell) for cell in cells.to_pylist()], pa.large_string())


def decoded(data: bytes, encoding: str = "cp1252") -> str:
    """Return bytes as text: UTF-8, and each byte that is none by itself in another encoding (decision 103).

    Spreadsheets write Windows-1252 beside files in UTF-8; of one byte nothing but that byte decides.

    Args:
        data: a cell, or lines of them: separators and line ends stay what they are.
        encoding: ``cp1252`` or ``latin-1``, of bytes that are no UTF-8.
    """
    return data.decode("utf-8", f"second-moment-{encoding}")


def _in_encoding(encoding: str) -> Callable[[UnicodeError], tuple[str, int]]:
    """Return an error handler that reads invalid bytes in an encoding; what that has not is replaced."""

    def read(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        return error.object[error.start : error.end].decode(encoding, "replace"), error.end

    return read


for _encoding in ("cp1252", "latin-1"):
    codecs.register_error(f"second-moment-{_encoding}", _in_encoding(_encoding))


def shown(cells: pa.Array) -> pa.Array:
    """Return cells as people read them: those of Python objects as their text, others as they are."""
    return texts(cells) if cells.type == OBJECT else cells


def from_objects(values: Sequence[Any]) -> pa.Array:
    """Return Python objects as cells (k,), each converted by itself to what a typed cell of its value would be.

    Values of one simple kind become an array of that type, all others an array of :data:`OBJECT`: their numbers, days
    and texts are the same, so which of the two it is tells nothing. An object without a reading is missing.
    """
    with suppress(Exception):  # of an array of one kind, or of a class that has a hash of its own
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) <= 1 and kinds <= {str, int, float, bool, datetime.date}:
            return pa.array(values, from_pandas=True)
    return _by_kind(values)


def _by_kind(values: Sequence[Any]) -> pa.Array:
    """Read objects by type; those of one Arrow type are read at once, elementwise."""
    count = len(values)
    groups: dict[pa.DataType, tuple[list[int], list[pa.Scalar | Any]]] = {}
    for at, value in enumerate(values):
        try:
            kind, plain = _scalar(value)
        except Exception:  # noqa: S112  # whatever an object answers, it is that cell's own business
            continue
        places, same = groups.setdefault(kind, ([], []))
        places.append(at)
        same.append(plain)
    number, day, typed = np.full(count, np.nan), np.full(count, np.nan), np.zeros(count, dtype=bool)
    text = np.full(count, None, dtype=object)
    for kind, (places, same) in groups.items():
        cells = pa.array(same, kind)
        text[places] = texts(cells).to_pylist()
        if kind != pa.large_string():
            typed[places], number[places], day[places] = True, _numbers(cells, "."), days(cells)
    parts = [pa.array(typed), pa.array(number), pa.array(day), pa.array(text, pa.large_string())]
    return pa.StructArray.from_arrays(parts, fields=list(OBJECT))


def _scalar(value: object) -> tuple[pa.DataType, Any]:
    """Return the Arrow type that one object has, and its value there: of the object alone.

    Raises:
        Exception: of whatever kind, where the object has no typed value.
    """
    pandas = sys.modules.get("pandas")  # where it was never loaded, no value is its own
    if value is None or (pandas is not None and (value is pandas.NA or value is pandas.NaT)):
        return pa.large_string(), None
    if isinstance(value, str):
        return pa.large_string(), value.encode("utf-8", "replace").decode()
    if isinstance(value, bytes | bytearray | memoryview):
        return pa.large_string(), decoded(bytes(value))
    if isinstance(value, bool | np.bool_):
        return pa.bool_(), bool(value)
    if isinstance(value, int | np.integer):
        return _whole_number(int(value))
    if isinstance(value, np.float32 | np.float16):
        return pa.float32(), float(value)
    if isinstance(value, float | np.floating):
        return pa.float64(), float(value)
    if isinstance(value, decimals.Decimal):
        return _decimal_number(value)
    cell = pa.array(np.array([value]) if isinstance(value, np.datetime64) else [value], from_pandas=True)
    return cell.type, cell[0].as_py() if pt.is_date(cell.type) else cell[0]


def _whole_number(value: int) -> tuple[pa.DataType, Any]:
    if -(2**63) <= value < 2**63:
        return pa.int64(), value
    return pa.large_string(), str(value) if abs(value) < 10**_BEYOND else None


def _decimal_number(value: decimals.Decimal) -> tuple[pa.DataType, Any]:
    """Convert a decimal at its own scale: at the scale of a column it would be written as its neighbours are."""
    if not value.is_finite() or abs(value.adjusted()) > _BEYOND:
        return pa.large_string(), None
    scale = max(0, -int(value.as_tuple().exponent))
    if max(value.adjusted(), 0) + scale + 1 > _WIDEST:
        return pa.large_string(), f"{value:f}"
    return pa.decimal256(_WIDEST, scale), value


def _flags(cells: pa.Array) -> np.ndarray:
    """Return a mask (k,) of the objects that are typed."""
    return np.asarray(cells.field("typed").to_numpy(zero_copy_only=False), dtype=bool)
