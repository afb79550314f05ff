"""One cell, as text or as a typed scalar, becomes a number, a level, or missing: by itself (maths.md, 20).

Every function here takes an Arrow array of cells and works elementwise: what becomes of a cell depends on that cell
and on public rules, never on its neighbours. Where a fast conversion of a whole array exists, it is tried first and
gives up on the first cell it does not know; then cells are told apart by a pattern. A test holds both to the same
result. A cell nobody can read is missing: nothing here raises for what a cell holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pmtcore.tables.limits import LARGEST

MISSING = (
    *("", "?", "-", "--", ".", "NA", "N/A", "n/a", "N.A.", "n.a.", "NaN", "NAN", "nan", "NULL", "null", "None", "<NA>"),
    *("k.A.", "#N/A", "#NA", "#VALUE!", "#DIV/0!", "#REF!", "#NULL!", "#NUM!", "#NAME?"),  # what spreadsheets leave
)
ABSENT, UNSEEN = -1, -2  # codes of a missing cell and of a text that is no level
_NUMBER = r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
_APART = "'\u2019 \u00a0\u202f"  # marks between groups of three digits whatever the decimal mark
_DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[T ][0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,9})?)?Z?)?"
_DOTTED = r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}(?: [0-9]{2}:[0-9]{2}(?::[0-9]{2})?)?"  # 31.12.2020: the day is first
_DAY = 86_400_000_000  # microseconds
_CODE = re.compile(r"[+-]?0[0-9]")  # a number that starts with a zero too many is a code, such as 01


def numbers(cells: pa.Array, decimal: str | None = ".") -> np.ndarray:
    """Cells as floats (k,), NaN where missing: no number, not finite, or beyond 1e150.

    ``true`` and ``false`` count as 1 and 0. Thousands may be set apart by a space, an apostrophe, or whichever of
    point and comma is not the decimal mark.

    Args:
        decimal: the decimal mark of numbers written as text; ``None``: a point, or a single comma without one.
    """
    found = _numbers(cells, decimal)
    if len(found) and found.max() <= LARGEST and found.min() >= -LARGEST:  # false for what is no number
        return found
    with np.errstate(invalid="ignore"):
        return np.where(np.abs(found) <= LARGEST, found, np.nan)


def texts(cells: pa.Array) -> pa.Array:
    """Cells as stripped text, null where missing. A typed scalar has one text: the integer 1 and the float 1.0 are 1.

    Bytes are read as UTF-8, what is not UTF-8 replaced; lists, structures and spans of time have no text.
    """
    kind = cells.type
    if pt.is_dictionary(kind):
        return texts(cells.dictionary).take(cells.indices)
    if pt.is_string(kind) or pt.is_large_string(kind) or pt.is_string_view(kind):
        return _unmarked(pc.utf8_trim_whitespace(cells.cast(pa.large_string())))
    if pt.is_binary(kind) or pt.is_large_binary(kind) or pt.is_fixed_size_binary(kind) or pt.is_binary_view(kind):
        return texts(_decoded(cells))
    if (pt.is_primitive(kind) and not pt.is_duration(kind)) or pt.is_decimal(kind) or pt.is_boolean(kind):
        return _unmarked(cells.cast(pa.float32()).cast(pa.large_string())) if pt.is_float16(kind) else _printed(cells)
    return pa.nulls(len(cells), pa.large_string())


def codes(cells: pa.Array, levels: Sequence[str]) -> np.ndarray:
    """Place of each cell's level (k,); ``ABSENT`` for a missing cell, ``UNSEEN`` for any other text.

    A cell is the level of the same text; failing that, the only level that is the same number (``true`` is 1).
    """
    exact, by_number = _places(tuple(levels))
    found = texts(cells).dictionary_encode()
    different = found.dictionary
    values = numbers(different)
    table = np.asarray(
        [
            exact.get(text, by_number.get(value, UNSEEN))
            for text, value in zip(different.to_pylist(), values.tolist(), strict=True)
        ],
        dtype=np.int64,
    )
    at = found.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
    return np.append(table, ABSENT)[at]


@lru_cache(maxsize=256)
def _places(levels: tuple[str, ...]) -> tuple[dict[str, int], dict[float, int]]:
    """Levels by their text and, where only one is that number, by their number."""
    by_number: dict[float, int] = {}
    for at, value in enumerate(numbers(pa.array(levels, pa.large_string())).tolist()):
        if value == value:
            by_number[value] = UNSEEN if value in by_number else at
    return {level: at for at, level in enumerate(levels)}, by_number


def days(cells: pa.Array) -> np.ndarray:
    """Dates as days since 1970-01-01 (k,), with the time of day as a fraction; NaN where missing.

    Text is read in ISO order (2020-12-31, 2020-12-31 23:59:59) or with points (31.12.2020); other text, and a date
    that is none, is missing.
    """
    if pt.is_date(cells.type):
        cells = cells.cast(pa.timestamp("ms"), safe=False)
    if pt.is_timestamp(cells.type):
        stamps = cells.cast(pa.timestamp("us", cells.type.tz), safe=False).cast(pa.int64())
        return _plain(stamps.cast(pa.float64(), safe=False)) / _DAY
    found = texts(cells)
    form = pc.fill_null(pc.match_substring_regex(found, rf"\A(?:{_DATE}|{_DOTTED})\z"), False)
    text = pc.if_else(form, found, pa.scalar(None, found.type)).dictionary_encode()
    table = [_day(value) for value in text.dictionary.to_pylist()]
    at = text.indices.fill_null(len(table)).to_numpy(zero_copy_only=False)
    return np.append(np.asarray(table, dtype=float), np.nan)[at]


def canonical(text: str) -> str:
    """The name of a level: ``1.0`` and ``1`` are one; ``01`` is a code and stays."""
    text = text.strip()
    if not re.fullmatch(_NUMBER, text) or _CODE.match(text):
        return text
    number = float(text)
    if not abs(number) <= LARGEST:
        return text
    return f"{number:.0f}" if number.is_integer() and abs(number) < 1e15 else repr(number)


def _day(text: str) -> float:
    if "." in text[:3]:
        (day, month, year), time = text[:10].split(" ", maxsplit=1)[0].split("."), text.partition(" ")[2]
        text = f"{year}-{month:0>2}-{day:0>2}" + (f" {time}" if time else "")
    try:
        stamp = np.datetime64(text.removesuffix("Z").replace(" ", "T")[:26], "us")
    except ValueError:
        return float("nan")
    return float(stamp.astype(np.int64)) / _DAY


def _numbers(cells: pa.Array, decimal: str | None) -> np.ndarray:
    kind = cells.type
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


def _from_text(cells: pa.Array, decimal: str | None) -> np.ndarray:
    if decimal == "." and (pt.is_string(cells.type) or pt.is_large_string(cells.type)):
        try:
            return _plain(cells.cast(pa.float64()))  # reads what the pattern below reads, and nan and inf
        except pa.ArrowInvalid:
            pass
    text = _ungrouped(texts(cells), decimal)
    if decimal != ".":
        text = _with_point(text, decimal)
    form = pc.fill_null(pc.match_substring_regex(text, rf"\A(?:{_NUMBER})\z"), False)
    found = _plain(pc.if_else(form, text, pa.scalar(None, text.type)).cast(pa.float64()))
    if not pc.all(form).as_py():
        lower = pc.utf8_lower(text)
        for word, value in (("true", 1.0), ("false", 0.0)):
            found[pc.fill_null(pc.equal(lower, word), False).to_numpy(zero_copy_only=False)] = value
    return found


def _ungrouped(text: pa.Array, decimal: str | None) -> pa.Array:
    """Numbers whose thousands are set apart, without the marks: 1.234,5 under the comma, 1,234.5 under the point."""
    marks = _APART + {".": ",", ",": ".", None: ""}[decimal]
    groups = "|".join(f"(?:{re.escape(mark)}[0-9]{{3}})+" for mark in marks)
    point = {".": r"\.", ",": ",", None: "[.,]"}[decimal]
    form = pc.match_substring_regex(text, rf"\A[+-]?[1-9][0-9]{{0,2}}(?:{groups})(?:{point}[0-9]*)?\z")
    if not pc.any(form).as_py():
        return text
    return pc.if_else(pc.fill_null(form, False), pc.replace_substring_regex(text, f"[{marks}]", ""), text)


def _with_point(text: pa.Array, decimal: str | None) -> pa.Array:
    """Numbers with a decimal comma, with a point; under the comma a point is no mark at all."""
    changed = pc.replace_substring(text, ",", ".", max_replacements=1)
    pointed = pc.match_substring(text, ".")
    other = pa.scalar(None, text.type) if decimal == "," else text
    return pc.if_else(pointed, other, changed)


def _plain(cells: pa.Array) -> np.ndarray:
    """Floats (k,), NaN for null; an array of one's own."""
    return np.array(cells.to_numpy(zero_copy_only=False), dtype=float)


def _printed(cells: pa.Array) -> pa.Array:
    """Typed scalars as text; a kind that Arrow cannot print is missing, whatever it holds."""
    try:
        return _unmarked(cells.cast(pa.large_string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.nulls(len(cells), pa.large_string())


def _unmarked(text: pa.Array) -> pa.Array:
    """Null in place of the markers of a missing value."""
    marked = pc.is_in(text, value_set=pa.array(MISSING, text.type))
    return pc.if_else(marked, pa.scalar(None, text.type), text)


def _decoded(cells: pa.Array) -> pa.Array:
    """Bytes as UTF-8 text, cell by cell."""
    return pa.array(
        [None if cell is None else cell.decode("utf-8", "replace") for cell in cells.to_pylist()], pa.large_string()
    )


def from_objects(values: Sequence[Any]) -> pa.Array:
    """Python scalars as cells: one typed array where all are of one kind, else the text of each."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) <= 1:
        try:
            return pa.array(values, from_pandas=True)
        except (pa.ArrowException, OverflowError, ValueError, TypeError):
            pass
    return pa.array([_object_text(value) for value in values], pa.large_string())


def _object_text(value: Any) -> str | None:
    """The text that a typed cell of this value has."""
    rules: tuple[tuple[type | tuple[type, ...], Callable[[Any], str | None]], ...] = (
        (str, str),
        ((bytes, bytearray, memoryview), lambda v: bytes(v).decode("utf-8", "replace")),
        ((bool, np.bool_), lambda v: "true" if v else "false"),
        ((int, np.integer), lambda v: str(v) if abs(int(v)) < 10**160 else None),
        ((float, np.floating), lambda v: canonical(repr(float(v)))),
    )
    for kind, rule in rules:
        if isinstance(value, kind):
            return rule(value)
    try:
        return None if value is None else str(texts(pa.array([value], from_pandas=True))[0].as_py() or "")
    except (pa.ArrowException, ValueError, TypeError, OverflowError):
        return None
