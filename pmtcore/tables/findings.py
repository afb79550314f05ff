"""Everything that is wrong with a pair of tables, at once, each with a repair that can be applied.

Findings look at public facts alone: the public table, the choices, and the shape of the private one (its column
names and the number of its rows). A repair is a change of the choices, nothing else: whoever applies it sees the new
choices, and a saved configuration holds them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, final

from pmtcore.base.checks import InputError, listed
from pmtcore.base.numbers import plural
from pmtcore.glm.families import FAMILIES, GAUSSIAN
from pmtcore.tables import cells, schema
from pmtcore.tables.choices import Choices
from pmtcore.tables.limits import MAX_LEVELS
from pmtcore.tables.problem import PublicSide, default_choices, public_side
from pmtcore.tables.schema import Schema
from pmtcore.tables.table import MomentTable, Table

About = Literal[
    "tables", "target", "features", "labels", "numbers", "missing", "collinear", "rows", "columns", "dates", "other"
]
_ALMOST = 0.5  # share of numbers from which a text column is offered as one of numbers
# Private rows below which the noise is larger than any sum of them, at the largest budget that is taken.
_FEW = 10
_ROUNDS = 12  # repairs that follow from one another


@final
@dataclass(frozen=True)
class Repair:
    """Change of the choices, with the label of its button."""

    label: str
    changes: Mapping[str, Any] = field(default_factory=dict)

    def apply(self, choices: Choices) -> Choices:
        """Return the choices with the change."""
        return replace(choices, **dict(self.changes))


@final
@dataclass(frozen=True)
class Finding:
    """One thing about the tables that somebody should know.

    Attributes:
        columns: public columns it is about.
        stops: whether no problem can be made before it is repaired; else the sentence says what was done about it.
        repairs: what can be done, the first recommended.
    """

    about: About
    sentence: str
    columns: tuple[str, ...] = ()
    stops: bool = False
    repairs: tuple[Repair, ...] = ()


def findings(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None = None,
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
    if isinstance(public, Table):
        collected += [*_target(public, choices)]
        collected += [] if choices.formula else [*_features(private, public, choices)]
    collected += _rest(private, public, choices, public_rows, declared, any(one.stops for one in collected))
    return tuple(sorted(collected, key=lambda one: not one.stops))


def repaired(private: Table, public: Table | MomentTable, choices: Choices, declared: Schema | None = None) -> Choices:
    """Return the choices after the recommended repair of everything that stops, as far as there is one."""
    for _ in range(_ROUNDS):
        every = findings(private, public, choices, None, declared)
        first = next((one for one in every if one.stops and one.repairs), None)
        if first is None:
            break
        choices = first.repairs[0].apply(choices)
    return choices


def _tables(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    if choices.unit is None and private.n < _FEW:
        yield Finding(
            "tables",
            f"The private table has {plural(private.n, 'row')}: no budget lets a release say anything about so few.",
        )
    if isinstance(public, MomentTable) or choices.unit is not None:  # the number of people's rows is private
        return
    if public.n > private.n:
        yield Finding(
            "tables",
            f"The public table has {public.n:,} rows, the private one {private.n:,}: check that they are not swapped.",
        )


def _columns(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Finding]:
    common = [name for name in public.columns if name in private.columns]
    if not common:
        return
    only = [name for name in public.columns if name not in private.columns]
    more = len(private.columns) - len(common)
    if only:
        yield Finding("columns", f"The private table has no column {listed(only)}: left out.", tuple(only))
    if more:
        words = "1 column of the private table is" if more == 1 else f"{more} columns of the private table are"
        yield Finding("columns", f"{words} not in the public one: left out.")
    lost = [name for name in choices.features or () if name not in common]
    if lost:
        rest = tuple(name for name in choices.features or () if name in common) or None
        repair = Repair(f"Leave out {listed(lost)}", {"features": rest})
        yield Finding("features", f"Not both tables have {listed(lost)}.", tuple(lost), True, (repair,))
    hidden = choices.target in private.columns and choices.model is not GAUSSIAN
    if choices.target not in common and not hidden:
        yield Finding(
            "target",
            f"Not both tables have the target {choices.target!r}.",
            (choices.target,),
            True,
            _other_target(private, public),
        )


def _other_target(private: Table, public: Table | MomentTable) -> tuple[Repair, ...]:
    try:
        first = default_choices(private, public)
    except InputError:
        return ()
    changes = {"target": first.target, "family": first.family, "lam": None, "positive": None}
    return (Repair(f"Take {first.target!r} as the target", changes),)


def _target(public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield findings on a target that does not suit its regression."""
    name = choices.target
    if name not in public.columns:
        return
    column = public.cells[public.columns.index(name)]
    levels = schema.frequencies(column)
    share = schema.number_share(column, public.decimal)
    if not choices.model.binary and share < 0.5 and levels:
        yield Finding(
            "target",
            f"The target {name!r} has {plural(len(levels), 'text value')}: {listed(list(levels))}.",
            (name,),
            True,
            _as_labels(list(levels)),
        )
    known = choices.positive is not None and cells.canonical(choices.positive) in levels
    if choices.model.binary and not known and set(levels) != {"0", "1"} and len(levels) != 2:
        numbers = {"family": GAUSSIAN.id, "lam": None, "positive": None}
        linear = (Repair("Linear regression", numbers),) if share >= 0.5 and len(levels) > 2 else ()
        marks = _as_labels(list(levels), choices.family)
        few = len(levels) <= MAX_LEVELS
        yield Finding(
            "labels",
            f"The target {name!r} has {len(levels)} different values; a regression of labels needs two.",
            (name,),
            True,
            (*marks, *linear) if few else (*linear, *marks),
        )


def _as_labels(levels: list[str], family: str = "logistic") -> tuple[Repair, ...]:
    """Return repairs that make labels: two levels as they are, of more each of the most frequent against the rest."""
    title = FAMILIES[family].title.capitalize()
    if len(levels) == 2:
        return (Repair(f"{title} regression of the two labels", {"family": family, "positive": None}),)
    return tuple(
        Repair(f"{title} regression: {level!r} against the rest", {"family": family, "positive": level})
        for level in levels[:3]
    )


def _features(private: Table, public: Table, choices: Choices) -> Iterator[Finding]:
    """Yield findings on text columns that are mostly numbers, on dates, and on columns no regression can use."""
    chosen = choices.features or tuple(name for name in public.columns if name in private.columns)
    for name in chosen:
        if name == choices.target or name not in public.columns:
            continue
        rule = public.schema[name]
        column = public.cells[public.columns.index(name)]
        share = schema.number_share(column, public.decimal)
        kind = choices.kinds.get(name, rule.kind)
        if kind == "level" and name not in choices.levels and _ALMOST <= share < 1:
            numbers = Repair(f"Read {name!r} as numbers", {"kinds": {**choices.kinds, name: "number"}})
            sentence = f"{share:.0%} of the public cells of {name!r} are numbers, the others text: read as categories."
            yield Finding("numbers", sentence, (name,), False, (numbers,))
        elif kind == "number" and share < 1 and any(cells.texts(c).null_count < len(c) for c in column.chunks):
            levels = Repair(f"Read {name!r} as categories", {"kinds": {**choices.kinds, name: "level"}})
            sentence = f"Some public cells of {name!r} are not numbers: they count as missing."
            yield Finding("numbers", sentence, (name,), False, (levels,))
        if kind == "date":
            leave = _without(private, public, choices, (name,))
            yield Finding("dates", f"Dates of {name!r} count as days since 1970-01-01.", (name,), False, (leave,))


def _without(private: Table, public: Table | MomentTable, choices: Choices, names: tuple[str, ...]) -> Repair:
    every = choices.features or tuple(n for n in public.columns if n in private.columns and n != choices.target)
    return Repair(f"Leave out {listed(names)}", {"features": tuple(n for n in every if n not in names)})


def _rest(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None,
    declared: Schema | None,
    stopped: bool,
) -> list[Finding]:
    """Yield findings that only the attempt shows: the first error that stops it, or its notes."""
    try:
        side = public_side(private, public, choices, public_rows, declared)
    except InputError as error:
        return [] if stopped else [_stopping(str(error), private, public, choices)]
    return [Finding(_about(note), note) for note in side.notes if _about(note) != "other"] + _thin(side)


def _thin(side: PublicSide) -> list[Finding]:
    m, d = side.data.m, side.data.d
    if m is None or m >= 3 * d:
        return []
    return [Finding("rows", f"{m} public rows for {d} columns are few: whitening will be rough; add public rows.")]


def _about(note: str) -> About:
    words: tuple[tuple[str, About], ...] = (
        ("public rows: left out", "collinear"),
        ("public rows (collinear): left out", "collinear"),
        ("public row: left out", "collinear"),
        (": left out", "features"),
        ("with missing values w", "missing"),
    )
    return next((about for word, about in words if word in note), "other")


def _stopping(sentence: str, private: Table, public: Table | MomentTable, choices: Choices) -> Finding:
    """Make a finding of the sentence that stopped the attempt, with the repair that removes it."""
    repairs: list[Repair] = []
    about: About = "other"
    if "missing values" in sentence or "levels that the public table does not have" in sentence:
        about = "missing"
        repairs.append(Repair("Missing values become empty rows", {"missing": "empty-row", "unseen": "other"}))
    elif "collinear" in sentence or "constant" in sentence or "zero in every row" in sentence:
        about = "collinear"
        repairs.append(Repair("Leave out what others give away", {"collinear": "drop"}))
    elif "usable rows" in sentence:
        about = "rows"
        repairs += _fewer(private, public, choices)
    else:
        bad = tuple(name for name in choices.features or () if f"Column {name!r}" in sentence)
        if bad and len(bad) < len(choices.features or ()):
            about = "features"
            repairs.append(_without(private, public, choices, bad))
    return Finding(about, sentence, (), True, tuple(repairs))


def _fewer(private: Table, public: Table | MomentTable, choices: Choices) -> Iterator[Repair]:
    """Yield the repair of too few public rows: the first half of the features."""
    every = choices.features or tuple(n for n in public.columns if n in private.columns and n != choices.target)
    if len(every) > 1:
        half = every[: len(every) // 2]
        yield Repair(f"Only the first {len(half)} features", {"features": half})
