"""The public schema: rules for reading cells, inferred from the public table or declared, never from private rows.

A schema has the name and kind of each column (number, one of listed levels, date), and the dialect of text files.
:meth:`Column.read` converts a private cell by that cell and these rules alone, on which every sensitivity is based
(proofs/rows.md, 20).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pmtcore.base.json_fields import JsonFields
from pmtcore.base.messages import InputError, TableMessage, TableNote, reraised_as
from pmtcore.base.strict_json import parse_json
from pmtcore.tables import cells
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.kinds import (
    CAPPED,
    CODED,
    DATES,
    LEVELS,
    LIKE,
    NUMBERS_WITH_SIGNS,
    ORDERS,
    UNKNOWN,
    WITH_UNKNOWN,
    Kind,
    Order,
    as_kind,
    example_parts,
    number_format,
    sample,
)
from pmtcore.tables.limits import MAX_LEVELS

_EXPECTED_EQUAL_PAIRS = 5.0  # expected by chance, from which on their absence shows an identifier (exp(-5) = .7 %)
# Least distinct public numbers for one to be a code. With 3 a code is found in 0 of 1,027 columns of the zoo's tune
# part, and in 2 of 940 of its check part, both of which are codes.
_LEAST_VALUES = 3
_MOST_EXAMPLES = 1000  # most cells from which a sign or an example is inferred
_EXAMPLES_TRIED = 20  # most frequent cells that are tried as the example
_CURRENCY = re.compile(r"[A-Z]{2,3}\$?|[^\w\s]{1,2}")  # what may precede a number: CHF, US$, a sign
# A number whose points may separate thousands; any with a point, or above 999 without one.
_GROUPED, _POINTED_OR_LARGE = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$", r"^[+-]?(\d*\.[\d.]*|\d{4,})$"
_FIRST_CELLS = 100  # cells that are read first
_LEAST_GROUPED = 10  # public cells with a point: with fewer, all may have three digits after it by chance
_SMALLEST_CODE = 99  # smaller numbers of nines may be ages, grades and counts
MOST_COUNTED = 30  # largest count for which the Poisson family is proposed; above it a normal law is as good
# Last words of names of columns that may identify persons.
_IDENTIFIER_WORDS = (
    *("id", "ids", "pid", "uid", "identifier", "key", "nr", "person", "patient", "subject", "participant"),
    *("respondent", "customer", "client", "user", "member", "employee", "student", "household"),
)
# Those among them that mean people; a column with another word may number the rows.
_PEOPLE_WORDS = frozenset(_IDENTIFIER_WORDS) - {"id", "ids", "identifier", "key", "nr"}
_MOSTLY_NUMBERS = 0.9  # least share of numbers of a public column with many distinct cells that is read as numbers


@dataclass(frozen=True)
class Column(JsonFields):
    """Rule for the cells of one column.

    Attributes:
        name: of the column.
        kind: one of the kinds in :mod:`pmtcore.tables.kinds`.
        levels: known levels, by whose positions cells are encoded. For kind ``coded`` the numbers that stand for a
            missing value; for kind ``capped`` the number to which larger ones are reduced.
    """

    name: str
    kind: Kind = "number"
    levels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        as_kind(self.kind)
        if self.kind in LEVELS and len(set(self.levels)) < max(len(self.levels), 1):
            raise InputError(TableMessage.LEVELS_TWICE, column=self.name)
        if self.kind == CODED and not (self.levels and np.all(np.isfinite(self._declared_numbers))):
            raise InputError(TableMessage.CODES_FORM, column=self.name)
        if self.kind == CAPPED and not (len(self.levels) == 1 and np.all(np.isfinite(self._declared_numbers))):
            raise InputError(TableMessage.CAP_FORM, column=self.name)

    def read(self, column: pa.Array, decimal: str | None = ".") -> np.ndarray:
        """Read cells (k,) as floats, NaN where missing.

        The value is the number (50 for 50 %), the days since 1970-01-01, or the position of the level; for a text that
        is not a level it is ``cells.UNSEEN_CODE``. A missing cell of kind ``with-unknown`` has the level ``unknown``.
        """
        if self.kind == "number":
            return cells.numbers(column, decimal)
        if self.kind == CODED:
            values = cells.numbers(column, decimal)
            return np.where(np.isin(values, self._declared_numbers), np.nan, values)
        if self.kind == CAPPED:
            return np.minimum(cells.numbers(column, decimal), self._declared_numbers)
        if self.kind in DATES:
            return cells.days(column, cast(Order, self.kind))
        format = number_format(self.kind)
        if format is not None and format.signs:
            return cells.signed_numbers(column, format.signs, format.decimal or decimal)
        if format is not None:
            return cells.numbers(column, format.decimal or decimal)
        codes = cells.codes(column, self.levels).astype(float)
        has_unknown = self.kind == WITH_UNKNOWN and UNKNOWN in self.levels
        return np.where(codes == cells.MISSING_CODE, self.levels.index(UNKNOWN) if has_unknown else np.nan, codes)

    @property
    def _declared_numbers(self) -> np.ndarray:
        """Return the levels as numbers, NaN for a level that is not a number."""
        return cells.numbers(pa.array(self.levels, pa.large_string()))


@dataclass(frozen=True)
class Schema(JsonFields):
    """Columns and dialect of a table; public."""

    columns: tuple[Column, ...]
    dialect: Dialect = field(default_factory=Dialect)

    def __getitem__(self, name: str) -> Column:
        for column in self.columns:
            if column.name == name:
                return column
        raise InputError(TableMessage.NO_SCHEMA_COLUMN, column=name, present=tuple(c.name for c in self.columns))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Schema:
        """Return a declared schema.

        Raises:
            InputError: the fields have another form.
        """
        with reraised_as(InputError(TableMessage.SCHEMA_FORM), KeyError, TypeError, AttributeError):
            if not {"columns"} <= set(fields) <= {"columns", "dialect"}:
                raise TypeError("other fields")
            columns = tuple(_declared_column(one) for one in fields["columns"])
            dialect = Dialect(**fields.get("dialect", {}))
        twice = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
        if twice:
            raise InputError(TableMessage.DECLARED_TWICE, column=twice[0])
        return cls(columns, dialect)


def _declared_column(fields: Mapping[str, Any]) -> Column:
    """Return the column in plain fields; its levels are texts or numbers.

    Raises:
        TypeError, KeyError: the fields have another form.
    """
    name, kind, levels = fields["name"], fields.get("kind", "number"), fields.get("levels", [])
    if set(fields) - {"name", "kind", "levels"} or not isinstance(name, str) or not isinstance(levels, list | tuple):
        raise TypeError("other fields, or a name or levels of another type")
    if any(isinstance(level, bool) or not isinstance(level, str | int | float) for level in levels):
        raise TypeError("a level of another type")
    return Column(name, kind, tuple(map(str, levels)))


def schema_from_json(data: bytes) -> Schema:
    """Parse a declared schema from the bytes of a file.

    Raises:
        InputError: it is not JSON, or not a schema.
    """
    with reraised_as(InputError(TableMessage.SCHEMA_NOT_JSON), ValueError):
        fields = parse_json(data)
    return Schema.from_dict(fields)


def infer_schema(table: pa.Table, dialect: Dialect, decimal: str | None) -> Schema:
    """Return the schema inferred from a public table: numbers or dates where all cells are, else levels."""
    return Schema(
        tuple(_inferred_column(str(name).strip(), table[name], decimal) for name in table.column_names), dialect
    )


def frequencies(column: Sequence[pa.Array] | pa.ChunkedArray) -> dict[str, int]:
    """Return the frequency of each level in public cells, in decreasing order; ``1.0`` and ``1`` are one level."""
    counts: dict[str, int] = {}
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else column:
        for entry in pc.value_counts(cells.texts(chunk)).to_pylist():
            if entry["values"] is not None:
                level = cells.canonical_level(entry["values"])
                counts[level] = counts.get(level, 0) + int(entry["counts"])
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def levels_of_one_spelling(levels: Iterable[str]) -> list[str]:
    """Return the public levels that differ from another level only in capitals or blanks, grouped."""
    by_form: dict[str, list[str]] = {}
    for level in levels:
        by_form.setdefault(cells.plain_form(level), []).append(level)
    return [level for alike in by_form.values() if len(alike) > 1 for level in alike]


def merged_spellings(counts: Mapping[str, int], declared: Iterable[str] = ()) -> dict[str, int]:
    """Return the frequencies with levels merged that differ only in capitals or blanks, in decreasing order.

    Args:
        counts: frequency of each level; the most frequent spelling names the merged level.
        declared: spellings that are preferred to the most frequent.
    """
    names: dict[str, str] = {}
    merged: dict[str, int] = {}
    for level in (*declared, *counts):
        name = names.setdefault(cells.plain_form(level), level)
        if level in counts:
            merged[name] = merged.get(name, 0) + counts[level]
    return dict(sorted(merged.items(), key=lambda item: (-item[1], item[0])))


def inferred_format(counts: Mapping[str, int], decimal: str | None) -> Kind | None:
    """Return the kind that reads most public cells as numbers with a sign or another decimal mark; else ``None``.

    The example of a kind by example is a cell of the column, if one determines the same format.

    Args:
        counts: frequency of each level.
        decimal: decimal mark of the table.
    """
    texts, frequency = pa.array(list(counts), pa.large_string()), np.fromiter(counts.values(), float, len(counts))

    def read(kind: Kind) -> np.ndarray:
        return Column("", kind).read(texts, decimal)

    def reads_most_cells(kind: Kind) -> bool:
        return bool(2 * np.sum(frequency[np.isfinite(read(kind))]) > np.sum(frequency))

    if reads_most_cells("number"):
        return None
    kind = next(filter(reads_most_cells, (*NUMBERS_WITH_SIGNS, *_kinds_by_example(counts))), None)
    if kind is None or not kind.startswith(LIKE):
        return kind
    own_examples = (LIKE + level for level in islice(counts, _EXAMPLES_TRIED) if example_parts(level) is not None)
    return next((one for one in own_examples if np.array_equal(read(one), read(kind), equal_nan=True)), kind)


def example(texts: Iterable[str | None], kind: Kind, decimal: str | None) -> str:
    """Return the first public cell that a kind with signs can read; a sample of the kind where it can read none.

    Args:
        texts: cells of the column, of which the first thousand are read.
        kind: the kind.
        decimal: decimal mark of the table.
    """
    first = [text for text in islice(texts, _MOST_EXAMPLES) if text is not None]
    is_read = np.isfinite(Column("", kind).read(pa.array(first, pa.large_string()), decimal))
    return next((text for text, readable in zip(first, is_read, strict=True) if readable), sample(kind))


def _kinds_by_example(counts: Mapping[str, int]) -> list[Kind]:
    """Return kinds by example with the text that most of the frequent levels have before or after a number, if any."""
    counts_by_text: dict[tuple[str, str], int] = {}
    for level, count in islice(counts.items(), _MOST_EXAMPLES):
        parts = example_parts(level)
        if parts is not None and (not parts[0] or _CURRENCY.fullmatch(parts[0])):
            counts_by_text[parts] = counts_by_text.get(parts, 0) + count
    if not counts_by_text:
        return []
    before, after = max(counts_by_text, key=lambda parts: counts_by_text[parts])
    numbers = (*(("5",) if before or after else ()), "1,234.50", "1.234,50")
    return [LIKE + f"{before} {number} {after}".strip() for number in numbers]


def date_orders(counts: Mapping[str, int]) -> dict[Kind, int]:
    """Return the number of public cells that are dates in each order of day and month; empty where none has slashes.

    Args:
        counts: frequency of each level.
    """
    texts = pa.array(list(counts), pa.large_string())
    counts_by_order: dict[Kind, int] = {}
    for order in ORDERS:
        kind = as_kind(order)
        dates = np.isfinite(Column("", kind).read(texts))
        if any(is_date and "/" in text for text, is_date in zip(counts, dates, strict=True)):
            counts_by_order[kind] = sum(count for count, is_date in zip(counts.values(), dates, strict=True) if is_date)
    return counts_by_order


def likely_orders(counts: Mapping[str, int]) -> list[Kind]:
    """Return the orders in which most public cells are dates with slashes; both where no cell decides."""
    counts_by_order = date_orders(counts)
    return [
        kind
        for kind, count in counts_by_order.items()
        if count == max(counts_by_order.values()) and 2 * count > sum(counts.values())
    ]


def values(
    column: pa.ChunkedArray, kind: Kind, decimal: str | None, *, name: str = "", levels: tuple[str, ...] = ()
) -> np.ndarray:
    """Return the numbers or days (m,) of a public column, NaN where missing; arguments as of :class:`Column`."""
    read = Column(name, kind, levels).read
    chunks = [read(chunk, decimal) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.empty(0)


def grouped_by_points(column: pa.ChunkedArray, decimal: str | None) -> str | None:
    """Return a public cell whose point may separate thousands, if this is possible for all of them; else ``None``.

    It is if every number with a point has three digits after it, and every number without one is below a thousand.

    Args:
        column: public cells.
        decimal: decimal mark of the table.
    """
    if decimal != "." or not (pt.is_string(column.type) or pt.is_large_string(column.type)):
        return None
    for cells_read in (column.slice(0, _FIRST_CELLS), column):  # the first cells decide for nearly every column
        texts = pa.chunked_array([cells.texts(chunk) for chunk in cells_read.chunks], pa.large_string()).drop_null()
        grouped = texts.filter(pc.match_substring_regex(texts, _GROUPED))
        if len(grouped) != (pc.sum(pc.match_substring_regex(texts, _POINTED_OR_LARGE)).as_py() or 0):
            return None
    return str(grouped[0].as_py()) if len(grouped) >= _LEAST_GROUPED else None


def looks_like_counts(values: np.ndarray) -> bool:
    """Return whether public numbers (m,) look like counts: more than two distinct small integers, with 0."""
    distinct = np.unique(values[np.isfinite(values)])
    integers = len(distinct) > 2 and bool(np.all(distinct == np.round(distinct)))
    return integers and bool(distinct[0] == 0 and distinct[-1] <= MOST_COUNTED)


def code_for_missing(values: np.ndarray) -> float | None:
    """Return a number of nines, such as -999, that is far outside the range of the other values; else ``None``.

    Args:
        values: numbers (m,) of a public column, NaN where missing.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or not (_is_of_nines(np.min(finite)) or _is_of_nines(np.max(finite))):
        return None  # so for most columns, which are not sorted
    distinct = np.unique(finite)
    if len(distinct) < _LEAST_VALUES:
        return None
    for extreme, next_value, others in (
        (distinct[0], distinct[1], distinct[1:]),
        (distinct[-1], distinct[-2], distinct[:-1]),
    ):
        if _is_of_nines(extreme) and abs(extreme - next_value) > np.ptp(others):
            return float(extreme)
    return None


def _is_of_nines(value: float) -> bool:
    """Return whether a number has only the digit nine, and is not small."""
    return set(f"{abs(value):.15g}") == {"9"} and abs(value) >= _SMALLEST_CODE


def looks_like_identifier(numbers: np.ndarray) -> bool:
    """Return whether a column's public numbers (m,) look like row numbers or identifiers.

    They do if all are integers and distinct, although at least five equal pairs would be expected among as many
    independent uniform draws from their range. That has a probability of at most about ``exp(-5)``, 0.7 %, and less for
    draws that are not uniform. In the 279 tables of the zoo with 50 to 1,000 public rows, all columns that were found
    were identifiers, row numbers or ranks (276 columns in tune, 248 in check).

    Args:
        numbers: with NaN where missing.
    """
    finite = numbers[np.isfinite(numbers)]
    if len(finite) < 2 or np.any(finite != np.round(finite)) or len(np.unique(finite)) < len(finite):
        return False
    return bool(len(finite) * (len(finite) - 1) / 2 >= _EXPECTED_EQUAL_PAIRS * (np.ptp(finite) + 1))


def identifier_note(name: str, numbers: np.ndarray) -> TableNote | None:
    """Return the kind of note if public numbers (m,) or the name show an identifier; else ``None``."""
    if looks_like_identifier(numbers):
        return TableNote.LIKE_IDENTIFIER
    return TableNote.NAMED_IDENTIFIER if is_identifier_by_name(name, numbers) else None


def named_as_identifier(name: str) -> bool:
    """Return whether a name suggests a column of identifiers: ``person``, ``patient_id``, ``CustomerNr``."""
    words = _words_of_name(name)
    return bool(words) and words[-1] in _IDENTIFIER_WORDS


def named_as_people(name: str) -> bool:
    """Return whether a name suggests a column of persons: ``patient_id``, but not ``id`` or ``row_nr``."""
    return named_as_identifier(name) and not _PEOPLE_WORDS.isdisjoint(_words_of_name(name))


def _words_of_name(name: str) -> list[str]:
    """Return the words of a column's name in lower case: ``CustomerNr`` has two."""
    return [word.lower() for word in re.findall(r"[A-Z]*[a-z]+|[A-Z]+", name)]


def is_identifier_by_name(name: str, numbers: np.ndarray) -> bool:
    """Return whether name and public numbers (m,) of a column suggest identifiers, which several rows may share.

    The numbers are integers, and there are more distinct ones than of counts or grades, or all are distinct.
    """
    finite = numbers[np.isfinite(numbers)]
    if not named_as_identifier(name) or np.any(finite != np.round(finite)):
        return False
    n_distinct = len(np.unique(finite))
    return n_distinct > MOST_COUNTED or n_distinct == len(numbers)


def number_share(column: pa.ChunkedArray, decimal: str | None, kind: Kind = "number") -> float:
    """Return the share of numbers, in the format of the kind, among the public cells that are not missing."""
    filled = len(column) - sum(cells.texts(chunk).null_count for chunk in column.chunks)
    numbers = int(np.sum(~np.isnan(values(column, kind, decimal))))
    return numbers / filled if filled else 0.0


def first_text(column: pa.ChunkedArray, decimal: str | None) -> str:
    """Return the most frequent public cell that is not a number; empty where there is none."""
    read = Column("").read
    others = [pc.filter(cells.texts(chunk), pa.array(np.isnan(read(chunk, decimal)))) for chunk in column.chunks]
    return next(iter(frequencies(others)), "")


def _inferred_column(name: str, column: pa.ChunkedArray, decimal: str | None) -> Column:
    kind = column.type
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return Column(name, "date")
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_decimal(kind):
        return Column(name)
    if pt.is_string(kind) or pt.is_large_string(kind):
        column = column.dictionary_encode()  # each distinct text is read once
    n_present = len(column) - sum(cells.texts(chunk).null_count for chunk in column.chunks)
    tries: tuple[Kind, ...] = ("number", "date")
    for tried in tries:
        if np.sum(~np.isnan(values(column, tried, decimal))) == n_present:
            return Column(name, tried)
    counts = frequencies(column)
    levels, orders = tuple(counts), [kind for kind, count in date_orders(counts).items() if count == n_present]
    if len(orders) == 1:  # a day above 12 decides
        return Column(name, orders[0])
    has_many_levels = len(levels) > MAX_LEVELS or 2 * len(levels) > n_present
    if has_many_levels and number_share(column, decimal) >= _MOSTLY_NUMBERS:
        return Column(name)  # numbers with a few other cells
    return Column(name, "level", levels)
