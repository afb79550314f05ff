"""Findings about a pair of tables, all at once, with repairs that can be applied.

Findings depend on public facts alone: the public table, the choices, and the column names and number of rows of the
private table. A repair is a change of the choices, so that the user sees it there and a saved configuration has it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import FIRST, Unit
from pmtcore.base.messages import (
    InputError,
    Message,
    Note,
    PublicMessage,
    RepairLabel,
    TableMessage,
    TableNote,
    kind_of,
    quoted_names,
)
from pmtcore.glm.families import FAMILIES, GAUSSIAN, LOGISTIC, POISSON
from pmtcore.public.moments import PublicData
from pmtcore.tables import cells, schema
from pmtcore.tables.choices import Choices
from pmtcore.tables.features import date_note
from pmtcore.tables.kinds import CAPPED, CODED, DATES, LIKE, ORDERS, WITH_UNKNOWN, Kind, number_format
from pmtcore.tables.limits import MAX_LEVELS
from pmtcore.tables.problem import PublicSide, chosen_features, default_choices, prepare_public, public_side
from pmtcore.tables.schema import Schema
from pmtcore.tables.table import MomentTable, Table

_MOSTLY_NUMBERS = 0.5  # share of numbers from which on a column of text is proposed as numbers
_NUMBERS = 0.9  # share of numbers from which on categories may be measurements: other cells are gaps or mistakes
_MOST_GRADES = 10  # most distinct cells that may be grades or codes rather than measurements
# With fewer private rows the noise exceeds every sum of them, at the largest budget that is accepted.
_FEW_ROWS = 10
# Findings that should be answered before a release although a problem can be made: otherwise it may be of no use.
OPEN_KINDS = (
    TableNote.LIKE_IDENTIFIER,
    TableNote.NAMED_IDENTIFIER,
    TableNote.ROWS_SHARE_A_PERSON,
    TableNote.PERSON_COLUMN,
    TableNote.PRIVATE_PERSON_COLUMN,
    TableNote.CODE_FOR_MISSING,
    TableNote.NUMBERS_AS_CATEGORIES,
    TableNote.WORD_FOR_GAPS,
    TableNote.GROUPED_BY_POINTS,
    TableNote.NAMES_ALIKE,
    TableNote.SPELLINGS,
    TableNote.OPEN_DATES,
    TableNote.DATES,
    TableNote.SLASHED_DATES,
    TableNote.PUBLIC_ONLY,
    TableNote.FEW_PRIVATE_ROWS,
    TableNote.FEW_PUBLIC_ROWS,
    TableNote.COUNT_TARGET,
    TableNote.LABEL_TARGET,
    TableNote.SWAPPED,
)
_MOST_REPAIRS = 12  # most repairs that are applied one after the other
# Notes from preparing the public side that are findings.
_PUBLIC_NOTES = (
    TableNote.LEFT_OUT,
    TableNote.IDENTIFIER_LEFT_OUT,
    TableNote.NAMED_IDENTIFIER_LEFT_OUT,
    TableNote.SPELLINGS,
    TableNote.ZERO,
    TableNote.CONSTANT,
    TableNote.COLLINEAR,
    TableNote.PUBLIC_ROW_LEFT_OUT,
    TableNote.PUBLIC_ROWS_LEFT_OUT,
    TableNote.PUBLIC_ROWS_UNFILLED,
    TableNote.FEW_PUBLIC_ROWS,
)
# Errors that a policy for gaps removes, and errors that leaving out columns removes.
_GAP_ERRORS = (TableMessage.MISSING_VALUES, TableMessage.UNKNOWN_LEVELS)
_COLLINEARITY_ERRORS = (
    PublicMessage.COLLINEAR,
    PublicMessage.COLLINEAR_LABELS,
    PublicMessage.CONSTANT,
    PublicMessage.ZERO_COLUMNS,
    PublicMessage.MOMENT_COLLINEAR,
)


@dataclass(frozen=True)
class Repair:
    """Change of the choices, with the label of its button."""

    label: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, choices: Choices) -> Choices:
        """Return the choices with the change."""
        return replace(choices, **dict(self.changes))


@dataclass(frozen=True)
class Finding:
    """A fact about the tables that the user should know.

    Attributes:
        sentence: the fact, with its kind where it is a message of this package.
        columns: public columns that it is about.
        stops: whether it must be repaired before a problem can be made.
        repairs: possible repairs, the recommended one first.
        kind: kind of the message.
    """

    sentence: str
    columns: tuple[str, ...] = ()
    stops: bool = False
    repairs: tuple[Repair, ...] = ()

    @property
    def kind(self) -> Message | None:
        """Return the kind of the sentence."""
        return kind_of(self.sentence)

    @property
    def is_open(self) -> bool:
        """Return whether it should be answered before a release, such as a left-out column with a repair."""
        open_ = self.kind in OPEN_KINDS or (self.kind is TableNote.LEFT_OUT and bool(self.repairs))
        return open_ and not self.stops


def findings(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None = None,
    *,
    declared: Schema | None = None,
    side: Callable[[], PublicSide] | None = None,
) -> tuple[Finding, ...]:
    """Return all findings; those that stop come first.

    Args:
        private: the private table.
        public: the public table or moment.
        choices: what was chosen about them.
        public_rows: number of rows of a public moment, if known.
        declared: schema in place of the inferred one.
        side: returns the public side, as for :func:`pmtcore.tables.problem.prepare`.
    """
    collected = [*_table_findings(private, public, choices), *_column_findings(private, public, choices)]
    features = chosen_features(private, public, choices, declared)
    collected += _private_person_findings(private, public, choices)
    if isinstance(public, Table):
        collected += [*_target_findings(public, choices)]
        collected += _person_findings(private, public, choices)
        collected += [] if choices.formula else [*_feature_findings(private, public, choices, features)]
    stopped = any(one.stops for one in collected)
    side = side or (lambda: public_side(private, public, choices, public_rows, schema=declared))
    collected += _preparation_findings(private, public, choices, side, stopped=stopped, features=features)
    return tuple(sorted(collected, key=lambda one: not one.stops))


def open_findings(
    private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None
) -> list[str]:
    """Return the sentences of kinds :data:`OPEN_KINDS`, without those that :func:`prepare` adds to the notes.

    They are for Python and the command line. Public columns that the private table lacks are among them unless
    features were chosen.

    Args:
        private: the private table; in a plan without one, the public table.
        public: the public table or moment.
        choices: what was chosen about them.
        declared: schema in place of the inferred one.
    """
    chooses_itself = choices.features is None and not choices.formula
    collected = [] if private is public else [*_table_findings(private, public, choices)]
    collected += _column_findings(private, public, choices) if chooses_itself else ()
    collected += _private_person_findings(private, public, choices)
    if isinstance(public, Table):
        collected += _target_findings(public, choices)
        collected += [] if private is public else _person_findings(private, public, choices)
        features = chosen_features(private, public, choices, declared)
        collected += [] if choices.formula else _feature_findings(private, public, choices, features)
    noted_elsewhere = (  # by :func:`prepare`
        *(TableNote.SWAPPED, TableNote.CODE_FOR_MISSING, TableNote.DATES, TableNote.SLASHED_DATES),
        *(TableNote.LIKE_IDENTIFIER, TableNote.NAMED_IDENTIFIER),
    )
    return [
        one.sentence
        for one in collected
        if one.kind in OPEN_KINDS and one.kind not in noted_elsewhere and not one.stops
    ]


def public_alone(
    public: Table | MomentTable, choices: Choices, public_rows: int | None
) -> tuple[PublicData, tuple[str, ...]]:
    """Return the public data for a plan without a private table, and notes on its columns.

    Raises:
        InputError: as :func:`pmtcore.tables.problem.prepare`.
    """
    side = prepare_public(public, choices, public_rows)
    if isinstance(public, MomentTable):
        return side.data, ()
    return side.data, (*open_findings(public, public, choices), *side.notes)


def repaired_choices(
    private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None
) -> Choices:
    """Return the choices after the recommended repairs of all findings that stop and have one."""
    return ([choices] + [after for _, after in successive_repairs(private, public, choices, declared)])[-1]


def successive_repairs(
    private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None
) -> Iterator[tuple[Finding, Choices]]:
    """Yield the findings that stop, one after the other, with the choices after the recommended repair."""
    for _ in range(_MOST_REPAIRS):
        current = findings(private, public, choices, None, declared=declared)
        first = next((one for one in current if one.stops and one.repairs), None)
        if first is None:
            return
        choices = first.repairs[0].apply(choices)
        yield first, choices


def few_rows_note(rows: int) -> Note | None:
    """Return a note if there are too few private rows for any release; else ``None``."""
    return Note(TableNote.FEW_PRIVATE_ROWS, rows=rows) if rows < _FEW_ROWS else None


def _table_findings(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    """Yield findings on the numbers of rows: few private ones, or fewer than public ones."""
    if choices.unit is None and (few := few_rows_note(private.n)) is not None:
        yield Finding(few)
    # With persons, the number of private rows is private.
    if isinstance(public, MomentTable) or choices.unit is not None:
        return
    if public.n > private.n:
        yield Finding(Note(TableNote.SWAPPED, public_rows=public.n, private_rows=private.n))


def _column_findings(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    """Yield findings on columns that only one of the tables has."""
    common = [name for name in public.columns if name in private.columns]
    if not common:
        return
    public_only = [name for name in public.columns if name not in (*private.columns, choices.cluster)]
    private_only = len(private.columns) - len(common)
    if public_only:
        yield Finding(Note(TableNote.PUBLIC_ONLY, columns=public_only), tuple(public_only))
    private_names = {_plain_name(name) for name in private.columns}
    if misspelled := [name for name in public_only if _plain_name(name) in private_names]:
        yield Finding(Note(TableNote.NAMES_ALIKE, columns=misspelled), tuple(misspelled))
    if private_only:
        kind = TableNote.PRIVATE_COLUMN if private_only == 1 else TableNote.PRIVATE_COLUMNS
        yield Finding(Note(kind, count=private_only))
    absent = [name for name in choices.features or () if name not in common]
    if absent:
        remaining = tuple(name for name in choices.features or () if name in common) or None
        repair = Repair(f"Leave out {quoted_names(absent)}", {"features": remaining})
        yield Finding(Note(TableNote.NOT_IN_BOTH, columns=absent), tuple(absent), True, (repair,))
    labels_are_private = choices.target in private.columns and choices.model is not GAUSSIAN
    if choices.target not in common and not labels_are_private:
        note = Note(TableNote.TARGET_NOT_IN_BOTH, column=choices.target)
        yield Finding(note, (choices.target,), True, _choose_other_target(private, public))


def _plain_name(name: str) -> str:
    """Return the letters and digits of a column name, in lower case."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _choose_other_target(private: Table, public: Table | MomentTable) -> tuple[Repair, ...]:
    """Return the repair that models the default target, where there is one."""
    try:
        first = default_choices(private, public)
    except InputError:
        return ()
    changes = {"target": first.target, "family": first.family, "lam": None, "positive": None}
    return (Repair(RepairLabel.TARGET.sentence(column=first.target), changes),)


def _target_findings(public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield findings on a target that does not fit the family."""
    name = choices.target
    if name not in public.columns:
        return
    column = public.column(name)
    levels, caseless = schema.frequencies(column), choices.kinds.get(name) == "caseless" and not choices.formula
    levels = schema.merged_spellings(levels) if caseless else levels
    kind: Kind = "number" if caseless else choices.target_kind
    share = schema.number_share(column, public.decimal, kind)
    one_value = Note(TableNote.ONE_TARGET_VALUE, column=name) if len(levels) == 1 else None
    if not choices.model.binary and share < 0.5 and levels:
        note = one_value or Note(TableNote.TEXT_TARGET, column=name, count=len(levels), levels=list(levels))
        repairs = (*_read_as_written(name, levels, choices, public.decimal), *_make_labels(list(levels)))
        yield Finding(note, (name,), True, repairs)
    if not choices.model.binary and kind == "number":
        yield from _grouping_findings(name, public, choices)
    known = choices.positive is not None and cells.canonical_level(choices.positive) in levels
    if choices.model.binary and not known and set(levels) != {"0", "1"} and len(levels) != 2:
        numbers = {"family": GAUSSIAN.id, "lam": None, "positive": None}
        linear = (Repair(RepairLabel.LINEAR.sentence(), numbers),) if share >= 0.5 and len(levels) > 2 else ()
        label_repairs = _make_labels(list(levels), choices.family)
        note = one_value or Note(TableNote.NOT_TWO_LABELS, column=name, count=len(levels))
        too_many = len(levels) > MAX_LEVELS
        yield Finding(note, (name,), True, linear if linear and too_many else (*label_repairs, *linear))
    if choices.family == GAUSSIAN.id and schema.looks_like_counts(schema.values(column, kind, public.decimal)):
        label = RepairLabel.COUNTS.sentence(title=FAMILIES[POISSON.id].title)
        counts = Repair(label, {"family": POISSON.id, "lam": None})
        yield Finding(Note(TableNote.COUNT_TARGET, column=name), (name,), repairs=(counts,))
    if choices.family == GAUSSIAN.id and choices.positive is None and set(levels) == {"0", "1"}:
        title = FAMILIES[LOGISTIC.id].title.capitalize()
        chance = Repair(RepairLabel.LABELS.sentence(title=title), {"family": LOGISTIC.id, "lam": None})
        yield Finding(Note(TableNote.LABEL_TARGET, column=name), (name,), repairs=(chance,))
    spellings = schema.levels_of_one_spelling(levels)
    if spellings and (choices.model.binary or share < 0.5):
        note = Note(TableNote.SPELLINGS, column=name, levels=spellings)
        yield Finding(note, (name,), repairs=_merge_spellings(name, choices))


def _read_as_written(name: str, levels: Mapping[str, int], choices: Choices, decimal: str | None) -> tuple[Repair, ...]:
    """Return the repair that reads a column as numbers with a sign or another decimal mark, if most cells are."""
    # in a formula, columns have the kinds of the public schema
    kind = None if choices.formula else schema.inferred_format(levels, decimal)
    return () if kind is None else (_read_as_kind(name, kind, choices, schema.example(levels, kind, decimal)),)


def _grouping_findings(name: str, public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield a finding on numbers whose points may separate thousands: as a decimal number, 1.200 is below 950."""
    if choices.formula or name in choices.kinds:
        return
    cell = schema.grouped_by_points(public.column(name), public.decimal)
    if cell is not None:
        # In an example with two marks the last is the decimal mark.
        repair = _read_as_kind(name, f"{LIKE}{cell},0", choices, f"{cell},0")
        note = Note(TableNote.GROUPED_BY_POINTS, column=name, example=cell, number=float(cell.replace(".", "")))
        yield Finding(note, (name,), repairs=(repair,))


def _read_as_dates(name: str, counts: Mapping[str, int], choices: Choices) -> tuple[Repair, ...]:
    """Return repairs that read a column as dates with slashes, one for each order in which most cells are dates."""
    orders = [] if choices.formula else schema.likely_orders(counts)
    return tuple(_read_as_kind(name, order, choices) for order in orders)


def _merge_spellings(name: str, choices: Choices) -> tuple[Repair, ...]:
    """Return the repair that merges levels of a column which differ only in capitals or blanks."""
    repair = Repair(RepairLabel.ALIKE.sentence(column=name), {"kinds": {**choices.kinds, name: "caseless"}})
    return () if choices.formula else (repair,)


def _read_code_as_missing(name: str, code: float, numbers: np.ndarray, choices: Choices) -> tuple[Repair, ...]:
    """Return repairs that read one number of a column as missing, or cap the column at the next smaller number.

    Args:
        name: of the column.
        code: the number.
        numbers: public numbers (m,) of the column, NaN where missing.
        choices: before the repair.
    """
    if choices.formula:
        return ()

    def declared(kind: Kind, number: str) -> dict[str, Any]:
        return {"kinds": {**choices.kinds, name: kind}, "levels": {**choices.levels, name: (number,)}}

    text, others = f"{code:.15g}", numbers[np.isfinite(numbers) & (numbers != code)]
    changes = declared(CODED, text)
    repair = Repair(RepairLabel.AS_MISSING.sentence(label=text, column=name), changes)
    median = f"{np.median(others):g}"
    filled = Repair(
        RepairLabel.AS_MISSING_FILLED.sentence(label=text, column=name, value=median),
        {**changes, "missing": "public-median"},
    )
    largest = f"{np.max(others):.15g}"
    capped = Repair(RepairLabel.AS_CAPPED.sentence(column=name, label=largest), declared(CAPPED, largest))
    return (repair, *[filled] * (choices.missing != "public-median"), *[capped] * bool(code > np.max(others)))


def _read_as_kind(name: str, kind: str, choices: Choices, example: str = "") -> Repair:
    """Return the repair that reads a column as another kind.

    Args:
        name: of the column.
        kind: new kind of the column.
        choices: before the repair.
        example: a cell of the column, for a kind with signs.
    """
    words = "categories" if kind == "level" else f"numbers like {example}" if example else "numbers"
    words = f"dates, {ORDERS[kind]} first" if kind in ORDERS else words
    return Repair(RepairLabel.AS_KIND.sentence(column=name, form=words), {"kinds": {**choices.kinds, name: kind}})


def _make_labels(levels: list[str], family: str = "logistic") -> tuple[Repair, ...]:
    """Return repairs that model labels: two levels, or each of the three most frequent levels against the others.

    A level with another spelling is not proposed, because that spelling would be among the others.
    """
    title, spellings = FAMILIES[family].title.capitalize(), schema.levels_of_one_spelling(levels)
    if len(levels) == 1:  # there is no other level
        return ()
    if len(levels) == 2 and not spellings:
        return (Repair(RepairLabel.LABELS.sentence(title=title), {"family": family, "positive": None}),)
    return tuple(
        Repair(RepairLabel.ONE_LABEL.sentence(title=title, level=level), {"family": family, "positive": level})
        for level in [level for level in levels if level not in spellings][:3]
    )


def _feature_findings(private: Table, public: Table, choices: Choices, features: tuple[str, ...]) -> Iterator[Finding]:
    """Yield findings on features: kinds of columns, codes and categories for missing values, dates, identifiers."""
    chosen = choices.features or tuple(name for name in public.columns if name in private.columns)
    columns_of_word: dict[str, list[str]] = {}  # of numbers, by the word that stands among them
    for name in chosen:
        if name == choices.target or name not in public.columns:
            continue
        rule = public.schema[name]
        column = public.column(name)
        share = schema.number_share(column, public.decimal)
        kind = choices.kinds.get(name, rule.kind)
        decided = name in choices.kinds or name in choices.levels
        counts = schema.frequencies(column) if kind == "level" else {}
        has_words = _NUMBERS <= share < 1
        word = schema.first_text(column, public.decimal) if has_words else ""
        if has_words and name in features and name not in choices.levels and choices.kinds.get(name) != "level":
            columns_of_word.setdefault(word, []).append(name)
        signed_repairs, date_repairs = (
            _read_as_written(name, counts, choices, public.decimal),
            _read_as_dates(name, counts, choices),
        )
        if signed_repairs and name in features:
            example = schema.example(counts, signed_repairs[0].changes["kinds"][name], public.decimal)
            note = Note(TableNote.SIGNED_NUMBERS, column=name, example=example)
            yield Finding(note, (name,), repairs=signed_repairs)
        elif date_repairs and name in features and name not in choices.levels:
            example = next(text for text in counts if "/" in text)
            yield Finding(Note(TableNote.OPEN_DATES, column=name, example=example), (name,), repairs=date_repairs)
        elif kind == "level" and not decided and has_words and len(counts) > _MOST_GRADES:
            note = Note(TableNote.NUMBERS_AS_CATEGORIES, share=share, column=name, count=len(counts), example=word)
            as_numbers, as_categories = [_read_as_kind(name, each, choices) for each in ("number", "level")]
            yield Finding(note, (name,), repairs=(as_numbers, as_categories))
        elif kind == "level" and name not in choices.levels and _MOSTLY_NUMBERS <= share < 1:
            note = Note(TableNote.MOSTLY_NUMBERS, share=share, column=name)
            yield Finding(note, (name,), repairs=(_read_as_kind(name, "number", choices),))
        elif kind == "number" and 0 < share < 1 and any(cells.texts(c).null_count < len(c) for c in column.chunks):
            # Where most cells are numbers, categories are not proposed.
            repairs = (_read_as_kind(name, "level", choices),) * (share < _MOSTLY_NUMBERS)
            yield Finding(Note(TableNote.SOME_NOT_NUMBERS, column=name), (name,), repairs=repairs)
        if kind == "number":
            yield from _grouping_findings(name, public, choices)
        if name in features and (gap_share := missing_categories(public, name, choices)):
            note = Note(TableNote.MISSING_CATEGORIES, column=name, share=gap_share, example=cells.MISSING_EXAMPLES)
            yield Finding(note, (name,), repairs=(missing_as_level((name,), choices),))
        numeric = kind == "number" or number_format(kind) is not None
        numbers = schema.values(column, kind, public.decimal) if numeric else np.empty(0)
        code = schema.code_for_missing(numbers)
        if code is not None:
            repairs = (*_read_code_as_missing(name, code, numbers, choices), _leave_out(features, (name,)))
            yield Finding(Note(TableNote.CODE_FOR_MISSING, column=name, number=code), (name,), repairs=repairs)
        if kind in DATES:
            leave_out = _leave_out(features, (name,))
            yield Finding(date_note(name, kind), (name,), repairs=(leave_out,))
        elif choices.features and (identifier := schema.identifier_note(name, numbers)) is not None:
            leave_out = _leave_out(features, (name,))
            yield Finding(Note(identifier, column=name), (name,), repairs=(leave_out,))
    if columns_of_word:
        yield from _word_findings(public, choices, features, columns_of_word)


def _word_findings(
    public: Table, choices: Choices, features: tuple[str, ...], columns_of_word: Mapping[str, list[str]]
) -> Iterator[Finding]:
    """Yield a finding on each column of categories that has a text which stands among the numbers of others."""
    for name in features:
        if (
            name not in public.columns
            or name == choices.target
            or choices.kinds.get(name, public.schema[name].kind) != "level"
            or name in choices.levels
        ):
            continue
        levels = schema.frequencies(public.column(name))
        for text, columns in columns_of_word.items():
            if text in levels and name not in columns:
                label = RepairLabel.KEEP_CATEGORY.sentence(label=text, column=name)
                repairs = (Repair(label, {"levels": {**choices.levels, name: tuple(levels)}}),)
                note = Note(TableNote.WORD_FOR_GAPS, label=text, columns=columns, column=name)
                yield Finding(note, (name,), repairs=repairs)


def missing_categories(public: Table, name: str, choices: Choices) -> float:
    """Return the share of missing public cells of a column of categories; 0 where they are a level already."""
    if choices.kinds.get(name, public.schema[name].kind) not in ("level", "caseless") or choices.formula:
        return 0.0
    return 1 - sum(schema.frequencies(public.column(name)).values()) / max(public.n, 1)


def missing_as_level(names: Sequence[str], choices: Choices) -> Repair:
    """Return the repair that makes missing cells of these columns a level."""
    kinds = {**choices.kinds, **dict.fromkeys(names, WITH_UNKNOWN)}
    return Repair(RepairLabel.AS_UNKNOWN.sentence(columns=tuple(names)), {"kinds": kinds})


def _person_findings(private: Table, public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield findings on columns that may identify persons: by repeated public values, or by their name.

    There is none where a column of persons was chosen. Repeated private values are private, and not read.
    """
    for name in public.columns if choices.unit is None else ():
        if not schema.named_as_identifier(name) or name not in private.columns or name == choices.target:
            continue
        group_sizes = [count for text, count in schema.frequencies(public.column(name)).items() if text]
        if len(group_sizes) > schema.MOST_COUNTED and max(group_sizes) > 1:
            n_shared = sum(count for count in group_sizes if count > 1)
            note = Note(TableNote.ROWS_SHARE_A_PERSON, shared=n_shared, rows=public.n, column=name)
        elif schema.named_as_people(name) and len(group_sizes) > 1 and max(group_sizes) == 1:
            note = Note(TableNote.PERSON_COLUMN, column=name)
        else:
            continue
        yield Finding(note, (name,), repairs=_protect_person(name, choices))


def unchosen_persons(private: Table, public: Table | MomentTable, choices: Choices) -> list[str]:
    """Return the sentences about columns that may identify persons, unless one was chosen."""
    shown = _person_findings(private, public, choices) if isinstance(public, Table) else ()
    return [one.sentence for one in (*shown, *_private_person_findings(private, public, choices))]


def _private_person_findings(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    """Yield a finding on the first column, only in the private table, whose name means people; its name is private.

    There is none where a column of persons was chosen.
    """
    if choices.unit is not None:
        return
    private_names = (name for name in private.columns if name not in public.columns and name != choices.target)
    name = next(filter(schema.named_as_people, private_names), None)
    if name is not None:
        yield Finding(Note(TableNote.PRIVATE_PERSON_COLUMN), repairs=_protect_person(name, choices))


def _protect_person(name: str, choices: Choices) -> tuple[Repair, ...]:
    """Return the repair by which one row of each person counts, if it is compatible with the other choices."""
    try:
        changed = choices.of_person(Unit(1, name, FIRST))
    except InputError:
        return ()
    changes = {each: getattr(changed, each) for each in ("features", "person", "person_rows", "person_rule")}
    return (Repair(RepairLabel.PERSON.sentence(column=name), changes),)


def _leave_out(features: tuple[str, ...], names: tuple[str, ...]) -> Repair:
    """Return the repair that leaves out these features."""
    return Repair(f"Leave out {quoted_names(names)}", {"features": tuple(n for n in features if n not in names)})


def _preparation_findings(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    side: Callable[[], PublicSide],
    *,
    stopped: bool,
    features: tuple[str, ...],
) -> list[Finding]:
    """Return findings from preparing the public side: the error that stopped it, or its notes."""
    try:
        known = side()
    except InputError as error:
        return [] if stopped else [_finding_of_error(error, features, choices)]
    from_notes = [
        Finding(note, repairs=_repairs_of_note(public, note, choices))
        for note in known.notes
        if kind_of(note) in _PUBLIC_NOTES
    ]
    # With persons, the number of rows is private.
    nearly_collinear = (
        [] if choices.unit is not None else [*_near_collinearity_findings(known.data, private.n, features, choices)]
    )
    return from_notes + nearly_collinear


def _repairs_of_note(public: Table | MomentTable, note: str, choices: Choices) -> tuple[Repair, ...]:
    """Return repairs for a note on spellings, numbers with signs or dates with slashes."""
    facts = note.facts if isinstance(note, Note) else {}
    if kind_of(note) is TableNote.SPELLINGS:
        return _merge_spellings(str(facts["column"]), choices)
    cause = facts.get("cause")
    if cause not in (TableMessage.SIGNED_NUMBERS, TableMessage.SLASHED_DATES) or isinstance(public, MomentTable):
        return ()
    (name,) = facts["columns"]
    counts = schema.frequencies(public.column(name))
    if cause is TableMessage.SLASHED_DATES:
        return _read_as_dates(name, counts, choices)
    return _read_as_written(name, counts, choices, public.decimal)


def _near_collinearity_findings(
    public: PublicData, rows: int, features: tuple[str, ...], choices: Choices
) -> Iterator[Finding]:
    """Yield a finding on features whose variance inflation factor exceeds the number of private rows.

    The effect of one standard deviation of such a feature has a sampling error above the residual standard deviation.
    """
    inflation = public.variance_inflation
    names = tuple(public.names[j] for j in np.argsort(-inflation) if inflation[j] > rows)
    if names:
        first = next((name for name in names if name in features and not choices.formula), None)
        leave_out = () if first is None else (_leave_out(features, (first,)),)
        note = Note(TableNote.NEARLY_COLLINEAR, columns=names, rows=rows)
        yield Finding(note, names, repairs=leave_out)


def _finding_of_error(error: InputError, features: tuple[str, ...], choices: Choices) -> Finding:
    """Return the finding of an error that stopped the preparation, with repairs by its kind."""
    kind = error.message
    repairs: list[Repair] = []
    columns: tuple[str, ...] = ()
    if kind in _GAP_ERRORS:
        repairs.append(Repair(RepairLabel.EMPTY_ROWS.sentence(), {"missing": "empty-row", "unseen": "other"}))
    elif kind in _COLLINEARITY_ERRORS:
        repairs.append(Repair(RepairLabel.DROP_COLLINEAR.sentence(), {"collinear": "drop"}))
    elif kind is PublicMessage.TOO_FEW_COMPLETE_ROWS:
        columns = tuple(error.facts["columns"])
        repairs.append(_leave_out(features, columns))
        repairs.append(Repair(RepairLabel.FILL_GAPS.sentence(), {"missing": "public-median"}))
    elif kind is PublicMessage.TOO_FEW_ROWS:
        is_mended = int(error.facts["rows"]) > 2 if choices.intercept else int(error.facts["rows"]) > 1
        repairs += _halve_features(features) if is_mended else ()  # a single feature is possible
    elif kind is TableMessage.SIGNED_NUMBERS:
        name = str(error.facts["column"])
        columns = (name,)
        repairs.append(_read_as_kind(name, str(error.facts["form"]), choices, str(error.facts["example"])))
        repairs.append(_leave_out(features, columns))
    elif kind is TableMessage.SLASHED_DATES:
        name, columns = str(error.facts["column"]), (str(error.facts["column"]),)
        repairs += [_read_as_kind(name, order, choices) for order in error.facts["orders"]]
        repairs.append(_leave_out(features, columns))
    elif error.facts.get("column") in (choices.features or ()) and len(choices.features or ()) > 1:
        columns = (str(error.facts["column"]),)
        repairs.append(_leave_out(features, columns))
    return Finding(error.note, columns, True, tuple(repairs))


def _halve_features(features: tuple[str, ...]) -> Iterator[Repair]:
    """Yield the repair for too few public rows: only the first half of the features."""
    if len(features) > 1:
        half = features[: len(features) // 2]
        subject = "feature" if len(half) == 1 else f"{len(half)} features"
        yield Repair(f"Only the first {subject}", {"features": half})
