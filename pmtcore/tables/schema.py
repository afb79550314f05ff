"""The public schema: how every cell is read, decided by the public table or declared, never by private rows.

A schema holds, for each column, its name and whether it is a number, one of listed levels, or a date; and the
dialect of text files. With it, :meth:`Column.read` turns any private cell into numbers by looking at that cell
alone: the property on which every sensitivity rests (proofs/rows.md, 20).
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
from pmtcore.base.strict_json import parsed
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

_EQUAL_PAIRS = 5.0  # expected by chance: from here on their absence tells an identifier (exp(-5) = .7 %)
# Different public numbers below which none is told to be a code. With 3 a code is named in 0 of 1,027 columns of the
# zoo's tune part, and in 2 of 940 of its check part, both codes.
_FEWEST_VALUES = 3
_LEVELS_LOOKED_AT = 1000  # for a text that stands beside numbers
_EXAMPLES_TRIED = 20  # of the most frequent cells: nearly any of them will do
_CURRENCY = re.compile(r"[A-Z]{2,3}\$?|[^\w\s]{1,2}")  # what may stand before a number: CHF, US$, a sign
# A number whose points may separate thousands; any with a point, or above 999 without one.
_GROUPED, _POINTED_OR_LARGE = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$", r"^[+-]?(\d*\.[\d.]*|\d{4,})$"
_GLANCE = 100  # cells
_FEWEST_GROUPED = 10  # public cells with a point: fewer have three digits after it by chance
_SHORTEST_CODE = 99  # shorter ones are ages, grades and counts
MOST_COUNTED = 30  # beyond, a normal law is as good for a count
# Last words of the names of columns that tell whose a row is.
_NAMES = (
    *("id", "ids", "pid", "uid", "identifier", "key", "nr", "person", "patient", "subject", "participant"),
    *("respondent", "customer", "client", "user", "member", "employee", "student", "household"),
)
# Of these the ones that mean people: a column of any of the others may number the rows.
_PEOPLE = frozenset(_NAMES) - {"id", "ids", "identifier", "key", "nr"}
_MOSTLY = 0.9  # share of numbers from which a public column with many different cells is one of numbers


@dataclass(frozen=True)
class Column(JsonFields):
    """One column: its kind, and its levels where it has them.

    Attributes:
        levels: known levels; a cell of a column of levels is the place of its level, a missing one of kind
            ``with-unknown`` that of ``unknown``. Of numbers of kind ``coded``: those that stand for a missing value; of
            kind ``capped``: the one number that larger ones count as.
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

        They are the number (50 for 50 %), the days since 1970-01-01, or the place of the level; a text that is no
        level is ``cells.UNSEEN``.
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
        written = number_format(self.kind)
        if written is not None and written.signs:
            return cells.signed_numbers(column, written.signs, written.decimal or decimal)
        if written is not None:
            return cells.numbers(column, written.decimal or decimal)
        codes = cells.codes(column, self.levels).astype(float)
        keeps = self.kind == WITH_UNKNOWN and UNKNOWN in self.levels
        return np.where(codes == cells.ABSENT, self.levels.index(UNKNOWN) if keeps else np.nan, codes)

    @property
    def _declared_numbers(self) -> np.ndarray:
        """Return the levels as numbers, NaN for a level that is none."""
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
            columns = tuple(_declared(one) for one in fields["columns"])
            dialect = Dialect(**fields.get("dialect", {}))
        twice = [name for name, count in Counter(column.name for column in columns).items() if count > 1]
        if twice:
            raise InputError(TableMessage.DECLARED_TWICE, column=twice[0])
        return cls(columns, dialect)


def _declared(fields: Mapping[str, Any]) -> Column:
    """Return a declared column; its levels are texts, or numbers as they would be written.

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
        InputError: not JSON, or no schema.
    """
    with reraised_as(InputError(TableMessage.SCHEMA_NOT_JSON), ValueError):
        fields = parsed(data)
    return Schema.from_dict(fields)


def inferred(table: pa.Table, dialect: Dialect, decimal: str | None) -> Schema:
    """Infer the schema of a public table: numbers where every cell is one, dates likewise, else the observed levels."""
    return Schema(tuple(_column(str(name).strip(), table[name], decimal) for name in table.column_names), dialect)


def frequencies(column: Sequence[pa.Array] | pa.ChunkedArray) -> dict[str, int]:
    """Count each level in public cells, most frequent first; ``1.0`` and ``1`` are one level."""
    counts: dict[str, int] = {}
    for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else column:
        for entry in pc.value_counts(cells.texts(chunk)).to_pylist():
            if entry["values"] is not None:
                level = cells.canonical(entry["values"])
                counts[level] = counts.get(level, 0) + int(entry["counts"])
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def spelled_alike(levels: Iterable[str]) -> list[str]:
    """Return the public levels that differ from another one in capitals or blanks alone, beside each other."""
    by_form: dict[str, list[str]] = {}
    for level in levels:
        by_form.setdefault(cells.plain_form(level), []).append(level)
    return [level for alike in by_form.values() if len(alike) > 1 for level in alike]


def merged_spellings(counts: Mapping[str, int], declared: Iterable[str] = ()) -> dict[str, int]:
    """Count public levels that differ in capitals or blanks alone as one, most frequent first.

    Args:
        counts: frequency of each level; the commonest spelling names all.
        declared: spellings that are taken before the commonest.
    """
    names: dict[str, str] = {}
    together: dict[str, int] = {}
    for level in (*declared, *counts):
        name = names.setdefault(cells.plain_form(level), level)
        if level in counts:
            together[name] = together.get(name, 0) + counts[level]
    return dict(sorted(together.items(), key=lambda item: (-item[1], item[0])))


def written_as(counts: Mapping[str, int], decimal: str | None) -> Kind | None:
    """Return the kind that reads most public cells as numbers with a sign, or with another decimal mark; else ``None``.

    A kind by example has a cell of the column for its example, where one tells as much.

    Args:
        counts: frequency of each level.
        decimal: decimal mark of the table.
    """
    texts, often = pa.array(list(counts), pa.large_string()), np.fromiter(counts.values(), float, len(counts))

    def read(kind: Kind) -> np.ndarray:
        return Column("", kind).read(texts, decimal)

    def reads_most_cells(kind: Kind) -> bool:
        return bool(2 * np.sum(often[np.isfinite(read(kind))]) > np.sum(often))

    if reads_most_cells("number"):
        return None
    kind = next(filter(reads_most_cells, (*NUMBERS_WITH_SIGNS, *_examples(counts))), None)
    if kind is None or not kind.startswith(LIKE):
        return kind
    own = (LIKE + level for level in islice(counts, _EXAMPLES_TRIED) if example_parts(level) is not None)
    return next((one for one in own if np.array_equal(read(one), read(kind), equal_nan=True)), kind)


def example(texts: Iterable[str | None], kind: Kind, decimal: str | None) -> str:
    """Return the first of some public cells that a kind with signs reads; the kind's own example where it reads none.

    Args:
        texts: cells of the column, of which the first thousand are looked at.
        kind: by which they are read.
        decimal: decimal mark of the table.
    """
    first = [text for text in islice(texts, _LEVELS_LOOKED_AT) if text is not None]
    read = np.isfinite(Column("", kind).read(pa.array(first, pa.large_string()), decimal))
    return next((text for text, is_read in zip(first, read, strict=True) if is_read), sample(kind))


def _examples(counts: Mapping[str, int]) -> list[Kind]:
    """Return kinds by example for the text that most of the frequent levels have beside a number, if any."""
    beside: dict[tuple[str, str], int] = {}
    for level, count in islice(counts.items(), _LEVELS_LOOKED_AT):
        parts = example_parts(level)
        if parts is not None and (not parts[0] or _CURRENCY.fullmatch(parts[0])):
            beside[parts] = beside.get(parts, 0) + count
    if not beside:
        return []
    before, after = max(beside, key=lambda parts: beside[parts])
    numbers = (*(("5",) if before or after else ()), "1,234.50", "1.234,50")
    return [LIKE + f"{before} {number} {after}".strip() for number in numbers]


def date_orders(counts: Mapping[str, int]) -> dict[Kind, int]:
    """Return, for each order of day and month, how many public cells are dates in it; empty without a slash in one.

    Args:
        counts: frequency of each level.
    """
    texts = pa.array(list(counts), pa.large_string())
    read: dict[Kind, int] = {}
    for order in ORDERS:
        kind = as_kind(order)
        dates = np.isfinite(Column("", kind).read(texts))
        if any(one and "/" in text for text, one in zip(counts, dates, strict=True)):
            read[kind] = sum(count for count, one in zip(counts.values(), dates, strict=True) if one)
    return read


def likely_orders(counts: Mapping[str, int]) -> list[Kind]:
    """Return the orders in which most public cells are dates with slashes: both where the cells do not tell."""
    read = date_orders(counts)
    return [kind for kind, count in read.items() if count == max(read.values()) and 2 * count > sum(counts.values())]


def values(
    column: pa.ChunkedArray, kind: Kind, decimal: str | None, *, name: str = "", levels: tuple[str, ...] = ()
) -> np.ndarray:
    """Return all numbers or days of a public column (m,), NaN where missing; arguments as of :class:`Column`."""
    read = Column(name, kind, levels).read
    chunks = [read(chunk, decimal) for chunk in column.chunks]
    return np.concatenate(chunks) if chunks else np.empty(0)


def grouped_by_points(column: pa.ChunkedArray, decimal: str | None) -> str | None:
    """Return a public cell whose point may separate thousands, where those of the whole column may; else ``None``.

    They may where every number with a point has three digits after it, and every number without one is below a
    thousand. Measurements with three decimals below 1, or with other numbers of decimals, are none of these.

    Args:
        column: public cells of text; others have no marks.
        decimal: decimal mark of the table.
    """
    if decimal != "." or not (pt.is_string(column.type) or pt.is_large_string(column.type)):
        return None
    for part in (column.slice(0, _GLANCE), column):  # the first cells answer for nearly every column
        texts = pa.chunked_array([cells.texts(chunk) for chunk in part.chunks], pa.large_string()).drop_null()
        grouped = texts.filter(pc.match_substring_regex(texts, _GROUPED))
        if len(grouped) != (pc.sum(pc.match_substring_regex(texts, _POINTED_OR_LARGE)).as_py() or 0):
            return None
    return str(grouped[0].as_py()) if len(grouped) >= _FEWEST_GROUPED else None


def looks_like_counts(values: np.ndarray) -> bool:
    """Return whether public numbers (m,) look like counts: small whole numbers from 0 on, more than two of them."""
    distinct = np.unique(values[np.isfinite(values)])
    integers = len(distinct) > 2 and bool(np.all(distinct == np.round(distinct)))
    return integers and bool(distinct[0] == 0 and distinct[-1] <= MOST_COUNTED)


def code_for_missing(values: np.ndarray) -> float | None:
    """Return a number of nines, such as -999, that lies beyond the range of all other public values; else ``None``.

    Args:
        values: numbers (m,) of a public column, NaN where missing.
    """
    finite = values[np.isfinite(values)]
    if not len(finite) or not (_is_of_nines(np.min(finite)) or _is_of_nines(np.max(finite))):
        return None  # most columns: nothing has to be sorted
    distinct = np.unique(finite)
    if len(distinct) < _FEWEST_VALUES:
        return None
    for end, nearest, others in (
        (distinct[0], distinct[1], distinct[1:]),
        (distinct[-1], distinct[-2], distinct[:-1]),
    ):
        if _is_of_nines(end) and abs(end - nearest) > np.ptp(others):
            return float(end)
    return None


def _is_of_nines(value: float) -> bool:
    return set(f"{abs(value):.15g}") == {"9"} and abs(value) >= _SHORTEST_CODE


def like_identifier(numbers: np.ndarray) -> bool:
    """Return whether a column's public numbers (m,) look like row numbers or identifiers.

    They do where all are whole and different, although of as many independent draws, spread evenly over their range,
    five pairs or more would be expected to be equal. That happens by chance in at most ``exp(-5)``, 0.7 %, of columns:
    less where draws are not spread evenly. In the 279 tables of the zoo with 50 to 1,000 public rows, all columns
    that it found were identifiers, row numbers or ranks (276 times in tune, 248 in check).

    Args:
        numbers: with NaN where missing.
    """
    known = numbers[np.isfinite(numbers)]
    if len(known) < 2 or np.any(known != np.round(known)) or len(np.unique(known)) < len(known):
        return False
    return bool(len(known) * (len(known) - 1) / 2 >= _EQUAL_PAIRS * (np.ptp(known) + 1))


def as_identifier(name: str, numbers: np.ndarray) -> TableNote | None:
    """Return in what way a column of public numbers (m,) is an identifier, by them or its name; ``None``: in none."""
    if like_identifier(numbers):
        return TableNote.LIKE_IDENTIFIER
    return TableNote.NAMED_IDENTIFIER if identifies(name, numbers) else None


def named_as_identifier(name: str) -> bool:
    """Return whether a name says that its column tells whose a row is: ``person``, ``patient_id``, ``CustomerNr``."""
    words = _words(name)
    return bool(words) and words[-1] in _NAMES


def named_as_people(name: str) -> bool:
    """Return whether a name says that its column tells people apart: ``patient_id``, not ``id`` or ``row_nr``."""
    return named_as_identifier(name) and not _PEOPLE.isdisjoint(_words(name))


def _words(name: str) -> list[str]:
    """Return the words of a column's name in small letters: ``CustomerNr`` has two."""
    return [word.lower() for word in re.findall(r"[A-Z]*[a-z]+|[A-Z]+", name)]


def identifies(name: str, numbers: np.ndarray) -> bool:
    """Return whether a column's name and its public numbers (m,) say whose a row is: several rows may share one.

    The numbers are whole, and either more of them differ than counts or grades do, or, of few public rows, all.
    """
    known = numbers[np.isfinite(numbers)]
    if not named_as_identifier(name) or np.any(known != np.round(known)):
        return False
    different = len(np.unique(known))
    return different > MOST_COUNTED or different == len(numbers)


def number_share(column: pa.ChunkedArray, decimal: str | None, kind: Kind = "number") -> float:
    """Return the share of the nonempty public cells that are numbers, with the sign of the kind where it has one."""
    filled = len(column) - sum(cells.texts(chunk).null_count for chunk in column.chunks)
    numbers = int(np.sum(~np.isnan(values(column, kind, decimal))))
    return numbers / filled if filled else 0.0


def _column(name: str, column: pa.ChunkedArray, decimal: str | None) -> Column:
    kind = column.type
    if pt.is_date(kind) or pt.is_timestamp(kind):
        return Column(name, "date")
    if pt.is_integer(kind) or pt.is_floating(kind) or pt.is_boolean(kind) or pt.is_decimal(kind):
        return Column(name)
    if pt.is_string(kind) or pt.is_large_string(kind):
        column = column.dictionary_encode()  # each text is read once, however many cells hold it
    filled = len(column) - sum(cells.texts(chunk).null_count for chunk in column.chunks)
    tries: tuple[Kind, ...] = ("number", "date")
    for tried in tries:
        if np.sum(~np.isnan(values(column, tried, decimal))) == filled:
            return Column(name, tried)
    counts = frequencies(column)
    levels, orders = tuple(counts), [kind for kind, read in date_orders(counts).items() if read == filled]
    if len(orders) == 1:  # some day is beyond 12, and none contradicts
        return Column(name, orders[0])
    many = len(levels) > MAX_LEVELS or 2 * len(levels) > filled
    if many and number_share(column, decimal) >= _MOSTLY:
        return Column(name)  # numbers with a few cells that are none
    return Column(name, "level", levels)
