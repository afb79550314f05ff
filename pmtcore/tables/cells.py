"""Conversion of cells, text or typed scalars, to numbers, levels or missing values (proofs/rows.md, 20).

Every function takes an Arrow array of cells and works elementwise: the result for a cell depends on that cell and on
public rules alone. A fast conversion of the whole array is tried first where there is one; if it fails on a cell, cells
are converted by a pattern, with the same result (a test compares both). An unreadable cell is missing; no content of a
cell raises an error.
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
from pmtcore.tables.limits import LARGEST_NUMBER, LINE

MISSING = (
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "N.A.", "n.a.", "NaN", "NAN", "nan", "NULL", "null", "None", "<NA>"),
    *("k.A.", "#N/A", "#NA", "#VALUE!", "#DIV/0!", "#REF!", "#NULL!", "#NUM!", "#NAME?"),  # errors of spreadsheets
)
# Some of them, for messages.
MISSING_EXAMPLES = "NA, n/a, NULL and ?"
MISSING_CODE, UNSEEN_CODE = -1, -2  # codes of a missing cell, and of a text that is not a level
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_GROUP_MARKS = "'\u2019 \u00a0\u202f"  # separators of thousands under any decimal mark
_AMOUNT = rf"[0-9.,][0-9.,{_GROUP_MARKS}eE+-]*"  # a number with separators of thousands, and blanks after it
_OFFSET = r"[+-](?:[01][0-9]|2[0-3])(?::?[0-5][0-9])?"  # offset of a time from UTC, such as +02:00
_TIME = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?"
_DATE = rf"[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}(?:[T ]{_TIME}(?:Z|{_OFFSET})?)?"
_OFFSET_AFTER_TIME = re.compile(r":[0-9.]+([+-])([0-9]{2}):?([0-9]{2})?\Z")
_DOTTED = r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"  # 31.12.2020
_SLASHED = r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"  # day and month in the declared order
_DAY = 86_400_000_000  # microseconds
# Range of dates in all sources, in days since 1970: the years 1 to 9999, as in Python and SQL.
_FIRST_DAY, _DAY_AFTER_LAST = -719_162, 2_932_897
_UNITS_OF_A_DAY = {"day": 1, "s": 86_400, "ms": 86_400_000, "us": _DAY, "ns": _DAY * 1000}
_LEADING_ZERO = re.compile(r"[+-]?0[0-9]")  # a number with a leading zero, such as 01, is a code
_DECIMAL_DIGITS = 76  # digits of Arrow's longest decimal
_MOST_DIGITS = 160  # most digits of a number; a longer one is missing

_Value = TypeVar("_Value", float, str)
# A Python object as a cell: its number, day and text, each computed from that object alone. ``typed`` is false for
# text, whose number depends on the decimal mark of the table.
OBJECT = pa.struct(
    [("typed", pa.bool_()), ("number", pa.float64()), ("day", pa.float64()), ("text", pa.large_string())]
)


def numbers(cells: pa.Array, decimal: str | None = ".") -> np.ndarray:
    """Read cells as floats (k,); NaN where a cell is not a finite number of at most 1e60.

    ``true`` and ``false`` count as 1 and 0. Thousands may be separated by a space, an apostrophe, or whichever of
    point and comma is not the decimal mark.

    Args:
        cells: any Arrow array.
        decimal: decimal mark of numbers in text; ``None``: a point, or a single comma where there is no point.
    """
    values = _numbers(cells, decimal)
    if len(values) and values.max() <= LARGEST_NUMBER and values.min() >= -LARGEST_NUMBER:  # false with NaN
        return values
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(values) <= LARGEST_NUMBER, values, np.nan)


def signed_numbers(cells: pa.Array, signs: Sequence[str], decimal: str | None = ".") -> np.ndarray:
    """Read numbers that have a sign such as ``%`` or ``EUR`` before or after them as floats (k,), NaN where missing.

    A cell without a sign is missing: in a column with 50 %, 0.5 may mean one half or half a percent.

    Args:
        cells: any Arrow array.
        signs: texts, one of which precedes or follows each number.
        decimal: decimal mark, as for :func:`numbers`.
    """
    text, any_sign = texts(cells), "|".join(map(re.escape, signs))
    pattern = rf"\A([+-]?)(?:(?:{any_sign})[ \x{{a0}}\x{{202f}}]*([+-]?{_AMOUNT})|({_AMOUNT})(?:{any_sign}))\z"
    has_sign = pc.match_substring_regex(text, pattern)
    amounts = pc.utf8_trim_whitespace(pc.replace_substring_regex(text, pattern, r"\1\2\3"))
    return numbers(pc.if_else(pc.fill_null(has_sign, False), amounts, pa.scalar(None, text.type)), decimal)


def texts(cells: pa.Array) -> pa.Array:
    """Read cells as stripped text, null where missing.

    The integer 1 and the float 1.0 both have the text 1. Bytes are read as UTF-8, with invalid bytes
    replaced; lists, structures and durations are missing.
    """
    kind = cells.type
    if kind == OBJECT:
        return cells.field("text")
    if pt.is_dictionary(kind):
        return texts(cells.dictionary).take(cells.indices)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _without_markers(pc.utf8_trim_whitespace(_within_length(_in_utf8(cells))))
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind) or pt.is_binary_view(kind):
        return texts(_decoded(cells))
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return _texts_of_scalars(_in_calendar(cells))
    if (pt.is_primitive(kind) and not pt.is_duration(kind)) or pt.is_decimal(kind) or pt.is_boolean(kind):
        return (
            _without_markers(cells.cast(pa.float32()).cast(pa.large_string()))
            if pt.is_float16(kind)
            else _texts_of_scalars(cells)
        )
    return pa.nulls(len(cells), pa.large_string())


def codes(cells: pa.Array, levels: Sequence[str]) -> np.ndarray:
    """Return the position (k,) of each cell's level: ``MISSING_CODE`` if missing, ``UNSEEN_CODE`` for any other text.

    A cell has the level with the same text; else the only level with the same number (``true`` is 1) or the same day
    and time; else the only level that differs only in capitals, blanks and a final point.

    Args:
        cells: any Arrow array.
        levels: known levels.
    """
    exact, by_number, by_day, by_form = _level_positions(tuple(levels))
    encoded = texts(cells).dictionary_encode()
    distinct = encoded.dictionary
    dates = days(distinct).tolist() if by_day else [math.nan] * len(distinct)
    readings = zip(distinct.to_pylist(), numbers(distinct).tolist(), dates, strict=True)
    positions = [
        exact.get(text, by_number.get(number, by_day.get(day, by_form.get(plain_form(text), UNSEEN_CODE))))
        for text, number, day in readings
    ]
    codes_of_texts = np.asarray(positions, dtype=np.int64)
    indices = encoded.indices.fill_null(len(codes_of_texts)).to_numpy(zero_copy_only=False)
    return np.append(codes_of_texts, MISSING_CODE)[indices]


@lru_cache(maxsize=256)
def _level_positions(
    levels: tuple[str, ...],
) -> tuple[dict[str, int], dict[float, int], dict[float, int], dict[str, int]]:
    """Return the positions of levels by text and, where it is unique, by number, by day and by plain form."""
    level_cells = pa.array(levels, pa.large_string())
    exact = {level: at for at, level in enumerate(levels)}
    by_form = _unique_positions([plain_form(level) for level in levels])
    return (
        exact,
        _unique_positions(numbers(level_cells).tolist()),
        _unique_positions(days(level_cells).tolist()),
        by_form,
    )


def plain_form(level: str) -> str:
    """Return a text in lower case without blanks and final points: ``>50K.`` and ``>50K`` are one label."""
    return "".join(level.casefold().split()).rstrip(".")


def _unique_positions(values: Sequence[_Value]) -> dict[_Value, int]:
    """Return the position of each value; ``UNSEEN_CODE`` for one that occurs twice. NaN has none."""
    positions: dict[_Value, int] = {}
    for position, value in enumerate(values):
        if value == value:
            positions[value] = UNSEEN_CODE if value in positions else position
    return positions


def days(cells: pa.Array, order: Order = "date") -> np.ndarray:
    """Read dates as days since 1970-01-01 (k,), with the time of day as a fraction; NaN where missing.

    A date outside the years 1 to 9999, and the infinity of databases, is missing in every source. Text is read in ISO
    order (2020-12-31, 2020-12-31 23:59:59), with points (31.12.2020), or with slashes in the given order; other text,
    and a date that does not exist, is missing. A time with an offset (23:59+02:00) is converted to UTC, as a typed cell
    with a time zone is.

    Args:
        cells: any Arrow array.
        order: ``day-first`` (31/12/2020) or ``month-first`` (12/31/2020); ``date``: text with slashes is missing.
    """
    if cells.type == OBJECT:
        return np.where(_is_typed(cells), _floats(cells.field("day")), days(cells.field("text"), order))
    if pt.is_date(cells.type) or pt.is_timestamp(cells.type):
        return _typed_days(cells)
    stripped, patterns = texts(cells), f"{_DATE}|{_DOTTED}" + (f"|{_SLASHED}" if order != "date" else "")
    is_date = pc.fill_null(pc.match_substring_regex(stripped, rf"\A(?:{patterns})\z"), False)
    text = pc.if_else(is_date, stripped, pa.scalar(None, stripped.type)).dictionary_encode()
    days_of_texts = [_days_of_text(value, order) for value in text.dictionary.to_pylist()]
    indices = text.indices.fill_null(len(days_of_texts)).to_numpy(zero_copy_only=False)
    return np.append(np.asarray(days_of_texts, dtype=float), np.nan)[indices]


def canonical_level(text: str) -> str:
    """Return the name of a level: ``1`` for ``1.0``; ``01`` is a code and stays unchanged."""
    text = text.strip()
    if not re.fullmatch(_NUMBER, text) or _LEADING_ZERO.match(text):
        return text
    number = float(text)
    if not abs(number) <= LARGEST_NUMBER:
        return text
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def _typed_days(cells: pa.Array) -> np.ndarray:
    """Return the days (k,) of typed dates, computed in floats, so that no integer overflows."""
    kind, unit, cells = cells.type, _unit(cells.type), _in_calendar(cells)
    if unit == "day":
        return _floats(cells.cast(pa.int32()).cast(pa.float64()))
    if unit == "ns":
        cells = cells.cast(pa.timestamp("us", kind.tz), safe=False)
    counts = _floats(cells.cast(pa.int64()).cast(pa.float64(), safe=False))
    return counts * {"s": 1e6, "ms": 1e3}.get(unit, 1.0) / _DAY


def _unit(kind: pa.DataType) -> str:
    """Return the unit of a type of dates."""
    if pt.is_date(kind):
        return "day" if pt.is_date32(kind) else "ms"
    return str(kind.unit)


def _in_calendar(cells: pa.Array) -> pa.Array:
    """Return typed dates (k,), null where one is outside the years 1 to 9999.

    DuckDB writes infinity and -infinity as the largest and the smallest number of a type, which in nanoseconds are
    dates within these years; they are null too.
    """
    number = pa.int32() if pt.is_date32(cells.type) else pa.int64()
    units, largest = _UNITS_OF_A_DAY[_unit(cells.type)], 2 ** (number.bit_width - 1) - 1
    first, last = max(_FIRST_DAY * units, 1 - largest), min(_DAY_AFTER_LAST * units, largest) - 1
    counts = cells.cast(number)
    extremes = pc.min_max(counts).as_py()
    if extremes["min"] is None or (extremes["min"] >= first and extremes["max"] <= last):
        return cells
    inside = pc.and_(pc.greater_equal(counts, first), pc.less_equal(counts, last))
    return pc.if_else(inside, cells, pa.scalar(None, cells.type))


def _days_of_text(text: str, order: Order) -> float:
    """Return the days since 1970-01-01 of a date in text; NaN where it does not exist."""
    if "/" in text[:3]:
        date, _, time = text.partition(" ")
        first, second, year = date.split("/")
        day, month = (first, second) if order == "day-first" else (second, first)
        text = f"{day}.{month}.{year}" + (f" {time}" if time else "")
    if "." in text[:3]:
        (day, month, year), time = text[:10].split(" ", maxsplit=1)[0].split("."), text.partition(" ")[2]
        text = f"{year}-{month:0>2}-{day:0>2}" + (f" {time}" if time else "")
    offset, minutes_ahead = _OFFSET_AFTER_TIME.search(text), 0
    if offset is not None:
        hours, minutes = offset[2], offset[3] or "0"
        minutes_ahead = int(f"{offset[1]}1") * (60 * int(hours) + int(minutes))
        text = text[: offset.start(1)]
    try:
        moment = np.datetime64(text.removesuffix("Z").replace(" ", "T")[:26], "us") - np.timedelta64(minutes_ahead, "m")
    except ValueError:
        return float("nan")
    since_1970 = int(moment.astype(np.int64))  # microseconds
    return float(since_1970) / _DAY if _FIRST_DAY * _DAY <= since_1970 < _DAY_AFTER_LAST * _DAY else float("nan")


def _numbers(cells: pa.Array, decimal: str | None) -> np.ndarray:
    """Read cells as floats (k,), NaN where a cell is not a number."""
    kind = cells.type
    if kind == OBJECT:
        return np.where(_is_typed(cells), _floats(cells.field("number")), _from_text(cells.field("text"), decimal))
    if pt.is_dictionary(kind):
        table = np.append(_numbers(cells.dictionary, decimal), np.nan)
        return table[cells.indices.fill_null(len(table) - 1).to_numpy(zero_copy_only=False)]
    if pt.is_float16(kind):
        cells = cells.cast(pa.float32())
    if pt.is_boolean(kind):
        cells = cells.cast(pa.uint8())
    if pt.is_integer(cells.type) or pt.is_floating(cells.type):
        return _floats(cells.cast(pa.float64(), safe=False))
    if pt.is_decimal(kind):  # by its digits, with the same result as for text
        return _floats(cells.cast(pa.large_string()).cast(pa.float64()))
    return _from_text(cells, decimal)


def _within_length(cells: pa.Array) -> pa.Array:
    """Return cells of text, null where one is longer than a line of a text file may be, whatever the source."""
    lengths = pc.binary_length(cells)
    most = pc.max(lengths).as_py()
    if most is None or most <= LINE:
        return cells
    return pc.if_else(pc.less_equal(lengths, LINE), cells, pa.scalar(None, cells.type))


def _from_text(cells: pa.Array, decimal: str | None) -> np.ndarray:
    """Read cells of text as floats (k,), NaN where a cell is not a number."""
    if decimal == "." and (pt.is_string(cells.type) or pt.is_large_string(cells.type)):
        cells = _within_length(cells)
        try:
            return _floats(cells.cast(pa.float64()))  # reads the same as the pattern below, and nan and inf
        except pa.ArrowInvalid:
            pass
    text = _ungrouped(texts(cells), decimal)
    if decimal != ".":
        text = _with_point(text, decimal)
    is_number = pc.fill_null(pc.match_substring_regex(text, rf"\A(?:{_NUMBER})\z"), False)
    values = _floats(pc.if_else(is_number, text, pa.scalar(None, text.type)).cast(pa.float64()))
    if not pc.all(is_number).as_py():
        lower = pc.utf8_lower(text)
        for word, value in (("true", 1.0), ("false", 0.0)):
            values[pc.fill_null(pc.equal(lower, word), False).to_numpy(zero_copy_only=False)] = value
    return values


def _ungrouped(text: pa.Array, decimal: str | None) -> pa.Array:
    """Remove separators of thousands, such as the point in 1.234,5 under a decimal comma."""
    marks = _GROUP_MARKS + {".": ",", ",": ".", None: ""}[decimal]
    groups = "|".join(f"(?:{re.escape(mark)}[0-9]{{3}})+" for mark in marks)
    decimal_part = {".": r"\.", ",": ",", None: "[.,]"}[decimal]
    is_grouped = pc.match_substring_regex(text, rf"\A[+-]?[1-9][0-9]{{0,2}}(?:{groups})(?:{decimal_part}[0-9]*)?\z")
    if not pc.any(is_grouped).as_py():
        return text
    return pc.if_else(pc.fill_null(is_grouped, False), pc.replace_substring_regex(text, f"[{marks}]", ""), text)


def _with_point(text: pa.Array, decimal: str | None) -> pa.Array:
    """Replace a decimal comma by a point; a number with a point is missing under a declared comma."""
    with_point = pc.replace_substring(text, ",", ".", max_replacements=1)
    has_point = pc.match_substring(text, ".")
    otherwise = pa.scalar(None, text.type) if decimal == "," else text
    return pc.if_else(has_point, otherwise, with_point)


def _floats(cells: pa.Array) -> np.ndarray:
    """Return a new array of floats (k,), NaN for null."""
    return np.array(cells.to_numpy(zero_copy_only=False), dtype=float)


def _texts_of_scalars(cells: pa.Array) -> pa.Array:
    """Return the text of typed scalars; missing for a type that Arrow cannot convert to text."""
    try:
        cells[:0].cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(cells), pa.large_string())
    try:
        return _without_markers(_as_text(cells))
    except pa.ArrowInvalid:
        return pa.concat_arrays([_text_of_scalar(cells[at : at + 1]) for at in range(len(cells))])


def _text_of_scalar(cell: pa.Array) -> pa.Array:
    """Return the text of one typed scalar; missing where Arrow cannot convert it."""
    try:
        return _without_markers(_as_text(cell))
    except pa.ArrowInvalid:
        return pa.nulls(1, pa.large_string())


def _as_text(cells: pa.Array) -> pa.Array:
    """Convert typed scalars to text; a time of day has no trailing zeros, whatever its unit."""
    text = cells.cast(pa.large_string())
    if not pt.is_time(cells.type):
        return text
    return pc.replace_substring_regex(text, r"(\.\d*[1-9])0*$|\.0*$", r"\1")


def _without_markers(text: pa.Array) -> pa.Array:
    """Replace the markers of a missing value by null."""
    is_marker = pc.is_in(text, value_set=pa.array(MISSING, text.type))
    return pc.if_else(is_marker, pa.scalar(None, text.type), text)


def _in_utf8(cells: pa.Array) -> pa.Array:
    """Return text cells as valid UTF-8; invalid bytes in a file are decoded one by one."""
    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        return _decoded(cells.cast(pa.large_binary()))
    return cells.cast(pa.large_string())


def _decoded(cells: pa.Array) -> pa.Array:
    """Decode bytes as UTF-8 text, cell by cell."""
    return pa.array([None if cell is None else decode_bytes(cell) for cell in cells.to_pylist()], pa.large_string())


def decode_bytes(data: bytes, encoding: str = "cp1252") -> str:
    """Decode bytes as UTF-8, and each byte that is not UTF-8 by itself in another encoding (decision 103).

    Some files mix Windows-1252 of spreadsheets into UTF-8; the reading of a byte depends on no other cell.

    Args:
        data: a cell, or lines of cells; separators and line ends are preserved.
        encoding: ``cp1252`` or ``latin-1``, for bytes that are not UTF-8.
    """
    return data.decode("utf-8", f"second-moment-{encoding}")


def _in_encoding(encoding: str) -> Callable[[UnicodeError], tuple[str, int]]:
    """Return an error handler that decodes invalid bytes in an encoding; bytes that it lacks are replaced."""

    def read(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeDecodeError):
            raise error
        return error.object[error.start : error.end].decode(encoding, "replace"), error.end

    return read


for _encoding in ("cp1252", "latin-1"):
    codecs.register_error(f"second-moment-{_encoding}", _in_encoding(_encoding))


def display_texts(cells: pa.Array) -> pa.Array:
    """Return cells for display: Python objects as their text, others unchanged."""
    return texts(cells) if cells.type == OBJECT else cells


def from_objects(values: Sequence[Any]) -> pa.Array:
    """Return Python objects as cells (k,), each converted by itself like a typed cell of its value.

    Values of one simple type become an array of that type, all others an array of :data:`OBJECT`. Their numbers, days
    and texts are the same in both. An object that cannot be converted is missing.
    """
    with suppress(Exception):  # such as of a class with a hash of its own
        kinds = {type(value) for value in values if value is not None}
        if len(kinds) <= 1 and kinds <= {str, int, float, bool, datetime.date}:
            return pa.array(values, from_pandas=True)
    return _by_kind(values)


def _by_kind(values: Sequence[Any]) -> pa.Array:
    """Convert objects to cells; those of one Arrow type are converted together, elementwise."""
    count = len(values)
    groups: dict[pa.DataType, tuple[list[int], list[pa.Scalar | Any]]] = {}
    for position, value in enumerate(values):
        try:
            arrow_type, scalar = _typed_scalar(value)
        except Exception:  # noqa: S112  # an object that raises is a missing cell
            continue
        positions, scalars = groups.setdefault(arrow_type, ([], []))
        positions.append(position)
        scalars.append(scalar)
    number, day, typed = np.full(count, np.nan), np.full(count, np.nan), np.zeros(count, dtype=bool)
    text = np.full(count, None, dtype=object)
    for arrow_type, (positions, scalars) in groups.items():
        cells = pa.array(scalars, arrow_type)
        text[positions] = texts(cells).to_pylist()
        if arrow_type != pa.large_string():
            typed[positions], number[positions], day[positions] = True, _numbers(cells, "."), days(cells)
    parts = [pa.array(typed), pa.array(number), pa.array(day), pa.array(text, pa.large_string())]
    return pa.StructArray.from_arrays(parts, fields=list(OBJECT))


def _typed_scalar(value: object) -> tuple[pa.DataType, Any]:
    """Return the Arrow type of one object, and its value in that type.

    Raises:
        Exception: of any kind, where the object has no typed value.
    """
    pandas = sys.modules.get("pandas")  # where it is not loaded, no value is of its types
    if value is None or (pandas is not None and (value is pandas.NA or value is pandas.NaT)):
        return pa.large_string(), None
    if isinstance(value, str):
        return pa.large_string(), value.encode("utf-8", "replace").decode()
    if isinstance(value, bytes | bytearray | memoryview):
        return pa.large_string(), decode_bytes(bytes(value))
    if isinstance(value, bool | np.bool_):
        return pa.bool_(), bool(value)
    if isinstance(value, int | np.integer):
        return _integer_scalar(int(value))
    if isinstance(value, np.float32 | np.float16):
        return pa.float32(), float(value)
    if isinstance(value, float | np.floating):
        return pa.float64(), float(value)
    if isinstance(value, decimals.Decimal):
        return _decimal_scalar(value)
    cell = pa.array(np.array([value]) if isinstance(value, np.datetime64) else [value], from_pandas=True)
    return cell.type, cell[0].as_py() if pt.is_date(cell.type) else cell[0]


def _integer_scalar(value: int) -> tuple[pa.DataType, Any]:
    """Return the Arrow type and value of an integer; as text where it exceeds 64 bits."""
    if -(2**63) <= value < 2**63:
        return pa.int64(), value
    return pa.large_string(), str(value) if abs(value) < 10**_MOST_DIGITS else None


def _decimal_scalar(value: decimals.Decimal) -> tuple[pa.DataType, Any]:
    """Return the Arrow type and value of a decimal at its own scale, so that its text depends on no other cell."""
    if not value.is_finite() or abs(value.adjusted()) > _MOST_DIGITS:
        return pa.large_string(), None
    scale = max(0, -int(value.as_tuple().exponent))
    if max(value.adjusted(), 0) + scale + 1 > _DECIMAL_DIGITS:
        return pa.large_string(), f"{value:f}"
    return pa.decimal256(_DECIMAL_DIGITS, scale), value


def _is_typed(cells: pa.Array) -> np.ndarray:
    """Return whether each object (k,) is typed."""
    return np.asarray(cells.field("typed").to_numpy(zero_copy_only=False), dtype=bool)
