"""Features and responses: from the cells of a column to its part of the design matrix, or to the responses.

Categories become one dummy column for each public level except the most frequent, which is the reference. This is so
with an intercept, with which a complete set of dummies would be collinear, and without, where it would include one. A
category that the public table lacks counts as ``other`` where rare public categories were merged into such a level;
otherwise it is missing, and never the reference.

A response is a number, or a label coded as 0 or 1 by a rule from public data and the user's choices.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, Note, TableMessage, TableNote
from pmtcore.glm.families import Family
from pmtcore.public.moments import OTHER
from pmtcore.tables import cells, kinds, schema
from pmtcore.tables.choices import Choices
from pmtcore.tables.limits import MAX_LEVELS
from pmtcore.tables.schema import Column

# A date whose order of day and month the cell does not determine.
_SLASHED = re.compile(r"[0-9]{1,4}[/-][0-9]{1,2}[/-][0-9]{1,4}.*")
_LEAST_ROWS_OF_LEVEL = 2  # public rows of a level with a dummy: with one row, that row would determine its effect
# Added to what counts as missing, where other gaps are filled.
_UNFILLED = ", and are not filled (the row is replaced by zeros)"
# Of texts that cannot be read a note names so many, by so many of their letters.
_MOST_TEXTS, _LETTERS = 3, 40
_POSITIVE_LABELS = ("1", "yes", "y", "true", "t", "positive", "pos")


@dataclass(frozen=True)
class Gaps:
    """Masks (k,) of the rows of a block with a missing value, and with an unseen level."""

    missing: np.ndarray
    unseen: np.ndarray


@dataclass(frozen=True)
class Feature:
    """Rule by which a column becomes one or several features.

    Attributes:
        column: rule for its cells; the levels of a category are the dummies, the reference and the merged ones.
        fill: number in place of a missing one under the policy ``public-median``.
        dummies: levels with a feature of their own; ``None`` for numbers and dates.
        merged: rare levels that count as ``other_level``.
        other_level: dummy of merged and unseen levels, ``None`` where there is none.
        reference: level without a dummy.
        notes: on how the column is read.
    """

    column: Column
    fill: float = 0.0
    dummies: tuple[str, ...] | None = None
    merged: frozenset[str] = frozenset()
    other_level: str | None = None
    reference: str = ""
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the column."""
        return self.column.name

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its features."""
        return (self.name,) if self.dummies is None else tuple(f"{self.name}={level}" for level in self.dummies)

    def encode(self, column_cells: pa.Array, decimal: str | None) -> tuple[np.ndarray, Gaps]:
        """Return the features (k, w) of cells, NaN where there is no value, and the gaps."""
        values = self.column.read(column_cells, decimal)
        missing = np.isnan(values)
        if self.dummies is None:
            return values[:, None], Gaps(missing, np.zeros(len(values), dtype=bool))
        unseen = values == cells.UNSEEN_CODE
        block = self._dummy_rows()[np.where(missing | unseen, len(self.column.levels), values).astype(np.int64)]
        if self.other_level is not None:
            block[unseen] = [float(level == self.other_level) for level in self.dummies]
        return block, Gaps(missing, unseen)

    def without_gaps(self, block: np.ndarray, gaps: Gaps) -> np.ndarray:
        """Replace missing values by the public median, or by the reference level; unseen levels are not replaced."""
        return np.where(gaps.missing[:, None], self.fill, block)

    def _dummy_rows(self) -> np.ndarray:
        """Return the dummies of each known level (a row each), and a last row of NaN."""
        dummies = self.dummies or ()
        places = [self.other_level if level in self.merged else level for level in self.column.levels]
        rows = [[float(place == dummy) for dummy in dummies] for place in places]
        return np.asarray([*rows, [np.nan] * len(dummies)]).reshape(len(rows) + 1, len(dummies))


def feature(rule: Column, public: pa.ChunkedArray, choices: Choices, decimal: str | None) -> Feature:
    """Return the feature that the public cells of a column determine.

    Args:
        rule: for the column, from the schema.
        public: its public cells.
        choices: of the user.
        decimal: decimal mark of the public table.

    Raises:
        InputError: the column has no value, too many categories, or fewer than two.
    """
    declared = choices.levels.get(rule.name, ())
    kind = kinds.as_kind(choices.kinds.get(rule.name, "level" if declared else rule.kind))
    if kind in kinds.LEVELS:
        counts = schema.frequencies(public)
        if kind == kinds.WITH_UNKNOWN and (blank := _missing_count(public)):
            counts = {**counts, kinds.UNKNOWN: counts.get(kinds.UNKNOWN, 0) + blank}
        return _categories(rule.name, counts, choices, kind, decimal=decimal)
    numbers = tuple(declared) if kind in (kinds.CODED, kinds.CAPPED) else ()
    values = schema.values(public, kind, decimal, name=rule.name, levels=numbers)
    if not np.any(np.isfinite(values)):
        empty = _missing_count(public) == len(public)
        raise InputError(TableMessage.EMPTY_COLUMN if empty else TableMessage.NOTHING_READ, column=rule.name, form=kind)
    notes = []
    like = schema.example(_first_texts(public), kind, decimal) if kinds.number_format(kind) is not None else ""
    median = float(np.nanmedian(values))
    if kind == kinds.CODED and choices.missing == "public-median":
        notes.append(Note(TableNote.CODED_FILLED, column=rule.name, levels=numbers, number=median))
    elif kind == kinds.CODED:
        notes.append(Note(TableNote.CODED, column=rule.name, levels=numbers))
    elif kind == kinds.CAPPED:
        notes.append(Note(TableNote.CAPPED, column=rule.name, label=numbers[0]))
    if like:
        notes.append(Note(TableNote.WRITTEN, column=rule.name, example=like))
    if kind in kinds.DATES:
        notes.append(date_note(rule.name, kind))
    elif (identifier := schema.identifier_note(rule.name, values)) is not None:
        notes.append(Note(identifier, column=rule.name))
    readable = schema.values(public, "number", decimal) if numbers else values
    lost = int(np.sum(np.isnan(readable))) - _missing_count(public)
    if lost > 0:
        cells_lost = TableNote.UNREADABLE_CELL if lost == 1 else TableNote.UNREADABLE_CELLS
        form = f"number like {like}" if like else "date" if kind in kinds.DATES else "number"
        texts = Counter(
            text for text, gap in zip(_first_texts(public), np.isnan(readable), strict=True) if gap and text is not None
        )
        levels = tuple(text[:_LETTERS] for text, _ in texts.most_common(_MOST_TEXTS))
        notes.append(Note(cells_lost, count=lost, column=rule.name, form=form, levels=levels))
    return Feature(Column(rule.name, kind, numbers), median, notes=tuple(notes))


def date_note(name: str, kind: str) -> Note:
    """Return the note on how the dates of a column are read."""
    if kind in kinds.ORDERS:
        return Note(TableNote.SLASHED_DATES, column=name, first=kinds.ORDERS[kind])
    return Note(TableNote.DATES, column=name)


def numeric(name: str) -> Feature:
    """Return a numeric feature of a column without public rows."""
    return Feature(Column(name), float("nan"))


def _first_texts(public: pa.ChunkedArray) -> Iterator[str | None]:
    """Yield the cells of a column as text, chunk by chunk."""
    for chunk in public.chunks:
        yield from cells.texts(chunk).to_pylist()


def _missing_count(public: pa.ChunkedArray) -> int:
    """Return the number of missing cells of a public column."""
    return sum(cells.texts(chunk).null_count for chunk in public.chunks)


def _categories(
    name: str, counts: dict[str, int], choices: Choices, kind: kinds.Kind, *, decimal: str | None
) -> Feature:
    """Return the feature of a categorical column: its public levels with two rows or more, if declared those alone."""
    declared = {cells.canonical_level(level) for level in choices.levels.get(name, ())}
    if declared and kind == kinds.WITH_UNKNOWN:
        declared.add(kinds.UNKNOWN)
    spellings = schema.levels_of_one_spelling(counts) if kind == "caseless" else []
    if kind == "caseless":
        declared = set(schema.merged_spellings(dict.fromkeys(sorted(declared), 1)))
        counts = schema.merged_spellings(counts, declared)
    if not declared and len(counts) > MAX_LEVELS:
        message, orders = TableMessage.TOO_MANY_CATEGORIES, schema.likely_orders(counts)
        written = schema.inferred_format(counts, decimal)
        if any(map(_SLASHED.fullmatch, counts)):
            message = TableMessage.SLASHED_DATES
        elif written is not None:
            message = TableMessage.SIGNED_NUMBERS
        example = "" if written is None else schema.example(counts, written, decimal)
        raise InputError(
            message, column=name, count=len(counts), limit=MAX_LEVELS, example=example, form=written, orders=orders
        )
    frequent = sorted(
        k for k, count in counts.items() if count >= _LEAST_ROWS_OF_LEVEL and (not declared or k in declared)
    )
    if len(frequent) < 2:
        raise InputError(TableMessage.ONE_CATEGORY, column=name)
    reference = max(frequent, key=lambda level: (counts[level], level))
    dummies = [level for level in frequent if level != reference]
    declared_rare = declared - set(frequent)
    rare = (set(counts) - set(frequent)) | declared_rare
    if sum(counts.get(level, 0) for level in rare) >= _LEAST_ROWS_OF_LEVEL and OTHER not in frequent:
        dummies.append(OTHER)
    other_level = OTHER if OTHER in dummies else None
    levels = tuple(dict.fromkeys([*dummies, reference, *sorted(rare)]))
    known = levels if other_level is not None else tuple(level for level in levels if level not in rare)
    notes = [Note(TableNote.READ_ALIKE, column=name, levels=spellings)] if spellings else []
    notes += [Note(TableNote.MISSING_AS_LEVEL, column=name, label=kinds.UNKNOWN)] if kind == kinds.WITH_UNKNOWN else []
    return Feature(
        Column(name, kind, known), 0.0, tuple(dummies), frozenset(rare), other_level, reference, tuple(notes)
    )


def category_notes(features: Sequence[Feature], choices: Choices) -> tuple[str, ...]:
    """Return notes on the treatment of categories, one for all columns that it applies to."""
    # The policy that fills missing values does not fill unseen levels.
    missing = f"missing{_UNFILLED if choices.missing == 'public-median' else ''}"
    categorical = [one for one in features if one.dummies is not None]
    if not categorical:
        return ()
    notes = [Note(TableNote.REFERENCES, references={one.name: one.reference for one in categorical})]
    for one in categorical:
        if alike := schema.levels_of_one_spelling(one.column.levels):
            notes.append(Note(TableNote.SPELLINGS, column=one.name, levels=alike))
        if one.merged:
            treatment = missing if one.other_level is None else repr(one.other_level)
            kind = TableNote.UNDECLARED_LEVELS if one.name in choices.levels else TableNote.RARE_LEVELS
            notes.append(Note(kind, column=one.name, become=treatment, levels=sorted(one.merged)))
    for treatment, has_other in ((missing, False), (repr(OTHER), True)):
        names = [one.name for one in categorical if (one.other_level is not None) == has_other]
        if names and choices.unseen == "other":
            notes.append(Note(TableNote.UNKNOWN_LEVELS, columns=names, become=treatment))
    return tuple(notes)


@dataclass(frozen=True)
class Coding:
    """Rule by which a target column becomes responses.

    Attributes:
        name: of the column.
        family: of the response.
        positive: the level that counts as 1; ``None`` for a numeric response.
        others: levels that count as 0; ``None``: every other level does.
        kind: how cells of a numeric response are read; ``caseless`` for labels in any capitals and blanks.
    """

    name: str
    family: Family
    positive: str | None = None
    others: tuple[str, ...] | None = None
    kind: kinds.Kind = "number"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the note on which level is modelled, for labels."""
        return () if self.positive is None else (Note(TableNote.MODELLED, column=self.name, label=self.positive),)

    def encode(self, column: pa.Array, decimal: str | None) -> tuple[np.ndarray, Gaps]:
        """Return responses (k,), NaN where there is none, and the gaps; other labels are missing."""
        if self.positive is None:
            values = Column(self.name, self.kind).read(column, decimal)
            return values, Gaps(np.isnan(values), np.zeros(len(values), dtype=bool))
        codes = cells.codes(column, (self.positive, *(self.others or ())))
        missing = codes == cells.MISSING_CODE
        unseen = (codes == cells.UNSEEN_CODE) & (self.others is not None)
        return np.where(missing | unseen, np.nan, (codes == 0).astype(float)), Gaps(missing, unseen)


def target_coding(
    public: pa.ChunkedArray | None,
    name: str,
    family: Family,
    positive: str | None,
    *,
    decimal: str | None = ".",
    kind: kinds.Kind = "number",
) -> Coding:
    """Return the rule for a target column.

    Args:
        public: its public cells; ``None``: the public table does not have it.
        name: of the column.
        family: of the response.
        positive: declared label that counts as 1; ``None``: inferred from two public labels.
        decimal: decimal mark of the public table.
        kind: how its cells are read.

    Raises:
        InputError: the public labels do not determine the two labels, or cells are not numbers.
    """
    # A declared label becomes a response of 0 and 1 in a linear fit too.
    if not family.binary and positive is None:
        if public is not None:
            _check_numbers(public, Column(name, kind), family, decimal)
        return Coding(name, family, kind=kind)
    declared = None if positive is None else cells.canonical_level(positive)
    if public is None:
        return Coding(name, family, declared or "1", ("0",) if declared is None else None, kind)
    counts, caseless = schema.frequencies(public), kind == "caseless"
    levels = sorted(schema.merged_spellings(counts) if caseless else counts)
    if declared is not None:
        at = cells.codes(pa.array([declared], pa.large_string()), levels)[0]
        if at < 0:
            raise InputError(TableMessage.NO_SUCH_LABEL, column=name, label=positive)
        return Coding(name, family, levels[at], None, kind)
    if levels and set(levels) <= {"0", "1"}:
        return Coding(name, family, "1", ("0",), kind)
    if len(levels) != 2:
        raise InputError(TableMessage.TOO_MANY_LABELS, column=name, count=len(levels), family=family.title)
    chosen = next((level for level in levels if level.lower() in _POSITIVE_LABELS), _largest_label(levels))
    return Coding(name, family, chosen, tuple(level for level in levels if level != chosen), kind)


def _check_numbers(public: pa.ChunkedArray, rule: Column, family: Family, decimal: str | None) -> None:
    """Check that the public cells of a target are numbers, of counts not negative.

    Raises:
        InputError: they are missing, text, or negative counts.
    """
    name, values = rule.name, schema.values(public, rule.kind, decimal)
    if not np.any(np.isfinite(values)):
        text = any(cells.texts(chunk).null_count < len(chunk) for chunk in public.chunks)
        if not text:
            raise InputError(TableMessage.EMPTY_COLUMN, column=name)
    if schema.number_share(public, decimal, rule.kind) < 0.5:
        labels = list(schema.frequencies(public))
        raise InputError(TableMessage.TARGET_IS_TEXT, column=name, levels=labels)
    if family.id == "poisson" and np.any(values < 0):
        raise InputError(TableMessage.NEGATIVE_COUNTS, column=name)


def _largest_label(levels: list[str]) -> str:
    """Return the label with the largest number; the last one where some are not numbers."""
    try:
        return max(levels, key=float)
    except ValueError:
        return levels[-1]
