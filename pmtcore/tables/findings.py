"""Everything that is wrong with a pair of tables, at once, each with a repair that can be applied.

Findings look at public facts alone: the public table, the choices, and the shape of the private one (its column
names and the number of its rows). A repair is a change of the choices, nothing else: whoever applies it sees the new
choices, and a saved configuration holds them.
"""

from collections.abc import Iterator, Mapping, Sequence
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
    listed,
)
from pmtcore.base.numbers import figure
from pmtcore.glm.families import FAMILIES, GAUSSIAN, LOGISTIC, POISSON
from pmtcore.public.moments import PublicData
from pmtcore.tables import cells, schema
from pmtcore.tables.choices import Choices
from pmtcore.tables.features import date_note
from pmtcore.tables.kinds import CAPPED, CODED, DATES, LIKE, ORDERS, WITH_UNKNOWN, Kind, number_format
from pmtcore.tables.limits import MAX_LEVELS
from pmtcore.tables.problem import default_choices, features_taken, prepare_public, public_side
from pmtcore.tables.schema import Schema
from pmtcore.tables.table import MomentTable, Table

_ALMOST = 0.5  # share of numbers from which a text column is offered as one of numbers
# Private rows below which the noise is larger than any sum of them, at the largest budget that is taken.
_FEW = 10
# What every face tells although nothing stops: a release with it would be spent for nothing.
OPEN = (
    TableNote.LIKE_IDENTIFIER,
    TableNote.NAMED_IDENTIFIER,
    TableNote.ROWS_SHARE_A_PERSON,
    TableNote.PERSON_COLUMN,
    TableNote.PRIVATE_PERSON_COLUMN,
    TableNote.CODE_FOR_MISSING,
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
_ROUNDS = 12  # repairs that follow from one another
# Notes of a public side that are findings.
_OF_PUBLIC_SIDE = (
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
# Errors that a policy for gaps lifts, and errors that dropping columns lifts.
_OF_GAPS = (TableMessage.MISSING_VALUES, TableMessage.UNKNOWN_LEVELS)
_OF_COLLINEARITY = (
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
    """One thing about the tables that somebody should know.

    Attributes:
        sentence: what somebody should know, with its kind where it is one of this package.
        columns: public columns it is about.
        stops: whether no problem can be made before it is repaired; else the sentence says what was done about it.
        repairs: what can be done, the first recommended.
        kind: what code and tests ask for.
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
        """Return whether somebody should answer it before a release: also where one click lets a column in again."""
        open_ = self.kind in OPEN or (self.kind is TableNote.LEFT_OUT and bool(self.repairs))
        return open_ and not self.stops


def findings(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None = None,
    *,
    declared: Schema | None = None,
) -> tuple[Finding, ...]:
    """Return all findings, those that stop first.

    Args:
        private: the private table.
        public: the public table or moment.
        choices: what was chosen about them.
        public_rows: behind a moment matrix, if known.
        declared: schema in place of what the public table suggests.
    """
    collected = [*_tables(private, public, choices), *_columns(private, public, choices)]
    features = features_taken(private, public, choices, declared)
    collected += _private_persons(private, public, choices)
    if isinstance(public, Table):
        collected += [*_target(public, choices)]
        collected += _persons(private, public, choices)
        collected += [] if choices.formula else [*_features(private, public, choices, features)]
    stopped = any(one.stops for one in collected)
    collected += _rest(private, public, choices, public_rows, declared=declared, stopped=stopped, features=features)
    return tuple(sorted(collected, key=lambda one: not one.stops))


def open_findings(
    private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None
) -> list[str]:
    """Return the sentences of kinds :data:`OPEN` where nobody can be asked, without those that :func:`prepare` adds.

    Public columns that the private table lacks count where nobody chose the features.

    Args:
        private: the private table; a plan without one has the public table here too.
        public: the public table or moment.
        choices: what was chosen about them.
        declared: schema in place of what the public table suggests.
    """
    own = choices.features is None and not choices.formula
    collected = [] if private is public else [*_tables(private, public, choices)]
    collected += _columns(private, public, choices) if own else ()
    collected += _private_persons(private, public, choices)
    if isinstance(public, Table):
        collected += _target(public, choices)
        collected += [] if private is public else _persons(private, public, choices)
        features = features_taken(private, public, choices, declared)
        collected += [] if choices.formula else _features(private, public, choices, features)
    noted = (  # by prepare
        *(TableNote.SWAPPED, TableNote.CODE_FOR_MISSING, TableNote.DATES, TableNote.SLASHED_DATES),
        *(TableNote.LIKE_IDENTIFIER, TableNote.NAMED_IDENTIFIER),
    )
    return [one.sentence for one in collected if one.kind in OPEN and one.kind not in noted and not one.stops]


def public_alone(
    public: Table | MomentTable, choices: Choices, public_rows: int | None
) -> tuple[PublicData, tuple[str, ...]]:
    """Return the public side alone, as a plan needs it, and what to know about its columns.

    Raises:
        InputError: as :func:`pmtcore.tables.problem.prepare`.
    """
    side = prepare_public(public, choices, public_rows)
    if isinstance(public, MomentTable):
        return side.data, ()
    return side.data, (*open_findings(public, public, choices), *side.notes)


def repaired(private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None) -> Choices:
    """Return the choices after the recommended repair of everything that stops, as far as there is one."""
    return ([choices] + [after for _, after in repairing(private, public, choices, declared)])[-1]


def repairing(
    private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None
) -> Iterator[tuple[Finding, Choices]]:
    """Yield what stops, one after the other, and the choices after its recommended repair."""
    for _ in range(_ROUNDS):
        every = findings(private, public, choices, None, declared=declared)
        first = next((one for one in every if one.stops and one.repairs), None)
        if first is None:
            return
        choices = first.repairs[0].apply(choices)
        yield first, choices


def few_rows(rows: int) -> Note | None:
    """Return a note where a release says nothing about so few private rows; else ``None``."""
    return Note(TableNote.FEW_PRIVATE_ROWS, rows=rows) if rows < _FEW else None


def _tables(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    if choices.unit is None and (few := few_rows(private.n)) is not None:
        yield Finding(few)
    if isinstance(public, MomentTable) or choices.unit is not None:  # the number of people's rows is private
        return
    if public.n > private.n:
        yield Finding(Note(TableNote.SWAPPED, public_rows=public.n, private_rows=private.n))


def _columns(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    common = [name for name in public.columns if name in private.columns]
    if not common:
        return
    only = [name for name in public.columns if name not in (*private.columns, choices.cluster)]
    more = len(private.columns) - len(common)
    if only:
        yield Finding(Note(TableNote.PUBLIC_ONLY, columns=only), tuple(only))
    private_names = {_plain_name(name) for name in private.columns}
    if alike := [name for name in only if _plain_name(name) in private_names]:
        yield Finding(Note(TableNote.NAMES_ALIKE, columns=alike), tuple(alike))
    if more:
        kind = TableNote.PRIVATE_COLUMN if more == 1 else TableNote.PRIVATE_COLUMNS
        yield Finding(Note(kind, count=more))
    lost = [name for name in choices.features or () if name not in common]
    if lost:
        rest = tuple(name for name in choices.features or () if name in common) or None
        repair = Repair(f"Leave out {listed(lost)}", {"features": rest})
        yield Finding(Note(TableNote.NOT_IN_BOTH, columns=lost), tuple(lost), True, (repair,))
    hidden = choices.target in private.columns and choices.model is not GAUSSIAN
    if choices.target not in common and not hidden:
        note = Note(TableNote.TARGET_NOT_IN_BOTH, column=choices.target)
        yield Finding(note, (choices.target,), True, _other_target(private, public))


def _plain_name(name: str) -> str:
    """Return a name of a column without its case, blanks and signs."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())


def _other_target(private: Table, public: Table | MomentTable) -> tuple[Repair, ...]:
    try:
        first = default_choices(private, public)
    except InputError:
        return ()
    changes = {"target": first.target, "family": first.family, "lam": None, "positive": None}
    return (Repair(RepairLabel.TARGET.sentence(column=first.target), changes),)


def _target(public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield findings on a target that does not suit its regression."""
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
        repairs = (*_as_written(name, levels, choices, public.decimal), *_as_labels(list(levels)))
        yield Finding(note, (name,), True, repairs)
    if not choices.model.binary and kind == "number":
        yield from _grouped(name, public, choices)
    known = choices.positive is not None and cells.canonical(choices.positive) in levels
    if choices.model.binary and not known and set(levels) != {"0", "1"} and len(levels) != 2:
        numbers = {"family": GAUSSIAN.id, "lam": None, "positive": None}
        linear = (Repair(RepairLabel.LINEAR.sentence(), numbers),) if share >= 0.5 and len(levels) > 2 else ()
        marks = _as_labels(list(levels), choices.family)
        note = one_value or Note(TableNote.NOT_TWO_LABELS, column=name, count=len(levels))
        too_many = len(levels) > MAX_LEVELS
        yield Finding(note, (name,), True, linear if linear and too_many else (*marks, *linear))
    if choices.family == GAUSSIAN.id and schema.looks_like_counts(schema.values(column, kind, public.decimal)):
        label = RepairLabel.COUNTS.sentence(title=FAMILIES[POISSON.id].title)
        counts = Repair(label, {"family": POISSON.id, "lam": None})
        yield Finding(Note(TableNote.COUNT_TARGET, column=name), (name,), repairs=(counts,))
    if choices.family == GAUSSIAN.id and choices.positive is None and set(levels) == {"0", "1"}:
        title = FAMILIES[LOGISTIC.id].title.capitalize()
        chance = Repair(RepairLabel.LABELS.sentence(title=title), {"family": LOGISTIC.id, "lam": None})
        yield Finding(Note(TableNote.LABEL_TARGET, column=name), (name,), repairs=(chance,))
    alike = schema.spelled_alike(levels)
    if alike and (choices.model.binary or share < 0.5):
        note = Note(TableNote.SPELLINGS, column=name, levels=alike)
        yield Finding(note, (name,), repairs=_as_alike(name, choices))


def _as_written(name: str, levels: Mapping[str, int], choices: Choices, decimal: str | None) -> tuple[Repair, ...]:
    """Return the repair that reads most of these public cells as numbers with a sign or with another decimal mark."""
    # a formula reads columns as the public table suggests
    kind = None if choices.formula else schema.written_as(levels, decimal)
    return () if kind is None else (_as_kind(name, kind, choices, schema.example(levels, kind, decimal)),)


def _grouped(name: str, public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield a finding on numbers whose points may separate thousands: read as decimal marks, 950 exceeds 1.200."""
    if choices.formula or name in choices.kinds:
        return
    cell = schema.grouped_by_points(public.column(name), public.decimal)
    if cell is not None:
        # Of an example with two marks the last one is the decimal mark.
        repair = _as_kind(name, f"{LIKE}{cell},0", choices, f"{cell},0")
        note = Note(TableNote.GROUPED_BY_POINTS, column=name, example=cell, number=float(cell.replace(".", "")))
        yield Finding(note, (name,), repairs=(repair,))


def _as_dates(name: str, counts: Mapping[str, int], choices: Choices) -> tuple[Repair, ...]:
    """Return the repairs that read most of these public cells as dates with slashes, one for each order that fits."""
    orders = [] if choices.formula else schema.likely_orders(counts)
    return tuple(_as_kind(name, order, choices) for order in orders)


def _as_alike(name: str, choices: Choices) -> tuple[Repair, ...]:
    """Return the repair that reads texts of a column alike where they differ in capitals or blanks alone."""
    alike = Repair(RepairLabel.ALIKE.sentence(column=name), {"kinds": {**choices.kinds, name: "caseless"}})
    return () if choices.formula else (alike,)


def _as_coded(name: str, code: float, numbers: np.ndarray, choices: Choices) -> tuple[Repair, ...]:
    """Return the repairs that read one number of a column as a missing value, or cap the column below it.

    Args:
        name: of the column.
        code: the number.
        numbers: public ones of the column (m,), NaN where missing.
        choices: as they are.
    """
    if choices.formula:
        return ()

    def declared(kind: Kind, number: str) -> dict[str, Any]:
        return {"kinds": {**choices.kinds, name: kind}, "levels": {**choices.levels, name: (number,)}}

    text, others = f"{code:.15g}", numbers[np.isfinite(numbers) & (numbers != code)]
    changes = declared(CODED, text)
    repair = Repair(RepairLabel.AS_MISSING.sentence(label=text, column=name), changes)
    median = figure(float(np.median(others)))
    filled = Repair(
        RepairLabel.AS_MISSING_FILLED.sentence(label=text, column=name, value=median),
        {**changes, "missing": "public-median"},
    )
    largest = f"{np.max(others):.15g}"
    capped = Repair(RepairLabel.AS_CAPPED.sentence(column=name, label=largest), declared(CAPPED, largest))
    return (repair, *[filled] * (choices.missing != "public-median"), *[capped] * bool(code > np.max(others)))


def _as_kind(name: str, kind: str, choices: Choices, example: str = "") -> Repair:
    """Return the repair that reads a column as another kind.

    Args:
        name: of the column.
        kind: to be read as.
        choices: as they are.
        example: a cell of the column, for a kind with signs.
    """
    words = "categories" if kind == "level" else f"numbers like {example}" if example else "numbers"
    words = f"dates, {ORDERS[kind]} first" if kind in ORDERS else words
    return Repair(RepairLabel.AS_KIND.sentence(column=name, form=words), {"kinds": {**choices.kinds, name: kind}})


def _as_labels(levels: list[str], family: str = "logistic") -> tuple[Repair, ...]:
    """Return repairs that make labels: two levels as they are, of more each of the most frequent against the rest.

    A level that has another spelling is no label: its own kind would be among the rest.
    """
    title, alike = FAMILIES[family].title.capitalize(), schema.spelled_alike(levels)
    if len(levels) == 1:  # there is no rest
        return ()
    if len(levels) == 2 and not alike:
        return (Repair(RepairLabel.LABELS.sentence(title=title), {"family": family, "positive": None}),)
    return tuple(
        Repair(RepairLabel.ONE_LABEL.sentence(title=title, level=level), {"family": family, "positive": level})
        for level in [level for level in levels if level not in alike][:3]
    )


def _features(private: Table, public: Table, choices: Choices, features: tuple[str, ...]) -> Iterator[Finding]:
    """Yield findings on text columns that are mostly numbers, on dates, and on columns no regression can use."""
    chosen = choices.features or tuple(name for name in public.columns if name in private.columns)
    for name in chosen:
        if name == choices.target or name not in public.columns:
            continue
        rule = public.schema[name]
        column = public.column(name)
        share = schema.number_share(column, public.decimal)
        kind = choices.kinds.get(name, rule.kind)
        counts = schema.frequencies(column) if kind == "level" else {}
        signed, dated = _as_written(name, counts, choices, public.decimal), _as_dates(name, counts, choices)
        if signed and name in features:
            example = schema.example(counts, signed[0].changes["kinds"][name], public.decimal)
            note = Note(TableNote.SIGNED_NUMBERS, column=name, example=example)
            yield Finding(note, (name,), repairs=signed)
        elif dated and name in features and name not in choices.levels:
            example = next(text for text in counts if "/" in text)
            yield Finding(Note(TableNote.OPEN_DATES, column=name, example=example), (name,), repairs=dated)
        elif kind == "level" and name not in choices.levels and _ALMOST <= share < 1:
            note = Note(TableNote.MOSTLY_NUMBERS, share=share, column=name)
            yield Finding(note, (name,), repairs=(_as_kind(name, "number", choices),))
        elif kind == "number" and 0 < share < 1 and any(cells.texts(c).null_count < len(c) for c in column.chunks):
            # Where most cells are numbers, nobody wants a category of each of them.
            repairs = (_as_kind(name, "level", choices),) * (share < _ALMOST)
            yield Finding(Note(TableNote.SOME_NOT_NUMBERS, column=name), (name,), repairs=repairs)
        if kind == "number":
            yield from _grouped(name, public, choices)
        if name in features and (gaps := missing_categories(public, name, choices)):
            note = Note(TableNote.MISSING_CATEGORIES, column=name, share=gaps, example=cells.MISSING_EXAMPLES)
            yield Finding(note, (name,), repairs=(as_unknown((name,), choices),))
        numeric = kind == "number" or number_format(kind) is not None
        numbers = schema.values(column, kind, public.decimal) if numeric else np.empty(0)
        code = schema.code_for_missing(numbers)
        if code is not None:
            repairs = (*_as_coded(name, code, numbers, choices), _without(features, (name,)))
            yield Finding(Note(TableNote.CODE_FOR_MISSING, column=name, number=code), (name,), repairs=repairs)
        if kind in DATES:
            leave = _without(features, (name,))
            yield Finding(date_note(name, kind), (name,), repairs=(leave,))
        elif choices.features and (identifier := schema.as_identifier(name, numbers)) is not None:
            leave = _without(features, (name,))
            yield Finding(Note(identifier, column=name), (name,), repairs=(leave,))


def missing_categories(public: Table, name: str, choices: Choices) -> float:
    """Return the share of missing public cells of a column of categories; 0 where they are kept, or none is there."""
    if choices.kinds.get(name, public.schema[name].kind) not in ("level", "caseless") or choices.formula:
        return 0.0
    return 1 - sum(schema.frequencies(public.column(name)).values()) / max(public.n, 1)


def as_unknown(names: Sequence[str], choices: Choices) -> Repair:
    """Return the repair that keeps missing categories of these columns as a level of their own."""
    kinds = {**choices.kinds, **dict.fromkeys(names, WITH_UNKNOWN)}
    return Repair(RepairLabel.AS_UNKNOWN.sentence(columns=tuple(names)), {"kinds": kinds})


def _persons(private: Table, public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield a finding on each column that says whose a row is: where public rows share one, or its name means people.

    None where that was chosen. Whether private rows share one is private, and not looked at.
    """
    for name in public.columns if choices.unit is None else ():
        if not schema.named_as_identifier(name) or name not in private.columns or name == choices.target:
            continue
        often = [count for text, count in schema.frequencies(public.column(name)).items() if text]
        if len(often) > schema.MOST_COUNTED and max(often) > 1:
            shared = sum(count for count in often if count > 1)
            note = Note(TableNote.ROWS_SHARE_A_PERSON, shared=shared, rows=public.n, column=name)
        elif schema.named_as_people(name) and len(often) > 1 and max(often) == 1:
            note = Note(TableNote.PERSON_COLUMN, column=name)
        else:
            continue
        yield Finding(note, (name,), repairs=_as_person(name, choices))


def unchosen_persons(private: Table, public: Table | MomentTable, choices: Choices) -> list[str]:
    """Return the sentences about columns that say whose a row is, while nobody chose one of them."""
    shown = _persons(private, public, choices) if isinstance(public, Table) else ()
    return [one.sentence for one in (*shown, *_private_persons(private, public, choices))]


def _private_persons(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    """Yield a finding on the first column of the private table alone whose name means people; no sentence names it.

    None where it was chosen who is a person.
    """
    if choices.unit is not None:
        return
    alone = (name for name in private.columns if name not in public.columns and name != choices.target)
    name = next(filter(schema.named_as_people, alone), None)
    if name is not None:
        yield Finding(Note(TableNote.PRIVATE_PERSON_COLUMN), repairs=_as_person(name, choices))


def _as_person(name: str, choices: Choices) -> tuple[Repair, ...]:
    """Return the repair by which one row of each person counts, where it goes with the other choices."""
    try:
        changed = choices.of_person(Unit(1, name, FIRST))
    except InputError:
        return ()
    changes = {each: getattr(changed, each) for each in ("features", "person", "person_rows", "person_rule")}
    return (Repair(RepairLabel.PERSON.sentence(column=name), changes),)


def _without(features: tuple[str, ...], names: tuple[str, ...]) -> Repair:
    return Repair(f"Leave out {listed(names)}", {"features": tuple(n for n in features if n not in names)})


def _rest(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None,
    *,
    declared: Schema | None,
    stopped: bool,
    features: tuple[str, ...],
) -> list[Finding]:
    """Yield findings that only the attempt shows: the first error that stops it, or its notes."""
    try:
        side = public_side(private, public, choices, public_rows, schema=declared)
    except InputError as error:
        return [] if stopped else [_stopping(error, features, choices)]
    noted = [
        Finding(note, repairs=_read_otherwise(public, note, choices))
        for note in side.notes
        if kind_of(note) in _OF_PUBLIC_SIDE
    ]
    # Where persons have several rows, their number is private.
    near = [] if choices.unit is not None else [*_nearly_collinear(side.data, private.n, features, choices)]
    return noted + near


def _read_otherwise(public: Table | MomentTable, note: str, choices: Choices) -> tuple[Repair, ...]:
    """Return the repairs that read a column otherwise: for its spellings, the sign of its numbers, or slashed dates."""
    facts = note.facts if isinstance(note, Note) else {}
    if kind_of(note) is TableNote.SPELLINGS:
        return _as_alike(str(facts["column"]), choices)
    cause = facts.get("cause")
    if cause not in (TableMessage.SIGNED_NUMBERS, TableMessage.SLASHED_DATES) or isinstance(public, MomentTable):
        return ()
    (name,) = facts["columns"]
    counts = schema.frequencies(public.column(name))
    if cause is TableMessage.SLASHED_DATES:
        return _as_dates(name, counts, choices)
    return _as_written(name, counts, choices, public.decimal)


def _nearly_collinear(public: PublicData, rows: int, features: tuple[str, ...], choices: Choices) -> Iterator[Finding]:
    """Yield a finding on features whose variance other features inflate by more than the number of private rows.

    The effect of a standard deviation of such a feature then has a sampling error above a whole residual.
    """
    inflation = public.variance_inflation
    names = tuple(public.names[j] for j in np.argsort(-inflation) if inflation[j] > rows)
    if names:
        first = next((name for name in names if name in features and not choices.formula), None)
        leave = () if first is None else (_without(features, (first,)),)
        note = Note(TableNote.NEARLY_COLLINEAR, columns=names, rows=rows)
        yield Finding(note, names, repairs=leave)


def _stopping(error: InputError, features: tuple[str, ...], choices: Choices) -> Finding:
    """Make a finding of the error that stopped the attempt, with the repair that removes its kind."""
    kind = error.message
    repairs: list[Repair] = []
    columns: tuple[str, ...] = ()
    if kind in _OF_GAPS:
        repairs.append(Repair(RepairLabel.EMPTY_ROWS.sentence(), {"missing": "empty-row", "unseen": "other"}))
    elif kind in _OF_COLLINEARITY:
        repairs.append(Repair(RepairLabel.DROP_COLLINEAR.sentence(), {"collinear": "drop"}))
    elif kind is PublicMessage.TOO_FEW_COMPLETE_ROWS:
        columns = tuple(error.facts["columns"])
        repairs.append(_without(features, columns))
        repairs.append(Repair(RepairLabel.FILL_GAPS.sentence(), {"missing": "public-median"}))
    elif kind is PublicMessage.TOO_FEW_ROWS:
        lifted = int(error.facts["rows"]) > 2 if choices.intercept else int(error.facts["rows"]) > 1
        repairs += _fewer(features) if lifted else ()  # one feature more needs that many
    elif kind is TableMessage.SIGNED_NUMBERS:
        name = str(error.facts["column"])
        columns = (name,)
        repairs.append(_as_kind(name, str(error.facts["form"]), choices, str(error.facts["example"])))
        repairs.append(_without(features, columns))
    elif kind is TableMessage.SLASHED_DATES:
        name, columns = str(error.facts["column"]), (str(error.facts["column"]),)
        repairs += [_as_kind(name, order, choices) for order in error.facts["orders"]]
        repairs.append(_without(features, columns))
    elif error.facts.get("column") in (choices.features or ()) and len(choices.features or ()) > 1:
        columns = (str(error.facts["column"]),)
        repairs.append(_without(features, columns))
    return Finding(error.note, columns, True, tuple(repairs))


def _fewer(features: tuple[str, ...]) -> Iterator[Repair]:
    """Yield the repair of too few public rows: the first half of the features."""
    if len(features) > 1:
        half = features[: len(features) // 2]
        subject = "feature" if len(half) == 1 else f"{len(half)} features"
        yield Repair(f"Only the first {subject}", {"features": half})
