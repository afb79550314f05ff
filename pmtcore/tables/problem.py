"""From two tables to a regression problem: choice of columns, checks between the tables, and access to private rows.

The schema comes from the public table or is declared, never from private rows. Preparing a problem reads no private
cells; they are read in ``PrivateRows.sum``, after the spend is in the ledger. There are two exceptions: the strict
policies check private cells, and say so, and with a column of persons these are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.types as pt

from pmtcore.accounting.budgets import Unit
from pmtcore.base.memory import bytes_for_rows
from pmtcore.base.messages import InputError, LabReason, Note, PublicMessage, TableMessage, TableNote, kind_of
from pmtcore.base.private_rows import PrivateRows, StaysInSession
from pmtcore.glm.families import GAUSSIAN
from pmtcore.public.cholesky import collinear_with
from pmtcore.public.moments import INTERCEPT, PublicData, public_from_moment, public_from_rows
from pmtcore.tables.choices import Choices
from pmtcore.tables.cluster import Cluster
from pmtcore.tables.coder import Coder, Weights, check_width, row_blocks
from pmtcore.tables.design import Design
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.features import Feature, category_notes, feature, numeric, target_coding
from pmtcore.tables.kinds import CAPPED, CODED, ORDERS, WITH_UNKNOWN, number_format
from pmtcore.tables.limits import SMALLEST_FEATURE
from pmtcore.tables.parsed import ParsedNumbers, fits_in_memory
from pmtcore.tables.persons import Persons, bounded_rows, identifiers, numbered_by_occurrence
from pmtcore.tables.queries import DeclaredSource
from pmtcore.tables.schema import (
    Schema,
    code_for_missing,
    frequencies,
    identifier_note,
    levels_of_one_spelling,
    merged_spellings,
    named_as_identifier,
    values,
)
from pmtcore.tables.sources import ArrowSource, Cells, ParquetSource, TextSource, is_same_file
from pmtcore.tables.table import MomentTable, Table

if TYPE_CHECKING:
    from pmtcore.tables.formula import Expansion

# Least norm of a standardized column after projection on earlier ones; above the bound of public_from_rows.
_LEAST_RESIDUAL_NORM = 2e-6
_FEW_ROWS_PER_COLUMN = 3  # public rows per column, below which whitening and predictions are called rough
# Names of columns that are targets by default.
_TARGET_NAMES = ("y", "target", "outcome", "label", "response")
# Notes on identifiers: where they are features by choice, and where they are left out by default.
_IDENTIFIER_NOTES = {
    TableNote.LIKE_IDENTIFIER: TableNote.IDENTIFIER_LEFT_OUT,
    TableNote.NAMED_IDENTIFIER: TableNote.NAMED_IDENTIFIER_LEFT_OUT,
}
_INTERCEPT_NAMES = (INTERCEPT, "intercept", "const", "1")


@dataclass(frozen=True, eq=False)
class Problem(StaysInSession):
    """Regression problem for methods: access to private rows, and public data.

    Attributes:
        private: the private rows.
        public: the public data.
        choices: of the user.
        notes: on the tables.
        lab_reasons: why a release would be a lab figure; empty: it would not.
        coder: public rules for rows of such tables.
        table: the private table, for the ledger's fingerprint and the persons.
        dialect: of the private table.
        design: rules by which rows of the user's own tables become features.
        parsed: numbers that the ledger's fingerprint parsed, for the first pass; ``None``: the pass reads the table.
        cluster: on whose workers the private table is read; ``None``: in this process.
        public_table: the public table; ``None`` where only a moment is public.
    """

    private: PrivateRows
    public: PublicData
    choices: Choices
    notes: tuple[str, ...] = ()
    lab_reasons: tuple[str, ...] = ()
    coder: Coder | None = None
    table: Table | None = None
    dialect: Dialect | None = None
    design: Design | None = None
    parsed: ParsedNumbers | None = None
    cluster: Cluster | None = None
    public_table: Table | None = None

    @property
    def unit(self) -> Unit | None:
        """Return the unit of protection of a column of persons; None without one."""
        return self.choices.unit

    @property
    def reads_n_rows(self) -> bool:
        """Return whether n is the number of rows of the table: it is not with persons, nor with a declared number."""
        return self.unit is None and not (self.table is not None and isinstance(self.table.source, DeclaredSource))

    @property
    def positive(self) -> str | None:
        """Return the label whose probability is modelled; None for a numeric response."""
        return None if self.coder is None else self.coder.target.positive

    @property
    def other_label(self) -> str | None:
        """Return the label that counts as 0, where there is only one, if necessary from the public rows; else None."""
        others = None if self.coder is None else self.coder.target.others
        if others is None and self.design is not None and self.positive is not None:
            others = tuple(label for label in self.design.labels if label != self.positive)
        return others[0] if others is not None and len(others) == 1 else None

    def __repr__(self) -> str:
        return f"<regression of {self.choices.target!r}, {self.private!r}>"

    def __post_init__(self) -> None:
        # The default penalty depends on the number of private rows, which a copy of the problem may change.
        if self.public.penalty_units is not None:
            public = self.public.weakly_penalized(self.private.n)
            if public.lam != self.public.lam:
                object.__setattr__(self, "public", public)


@dataclass(frozen=True, eq=False)
class PublicSide:
    """Public side of a problem: the public data, and the rules for rows."""

    data: PublicData
    coder: Coder
    dialect: Dialect
    notes: tuple[str, ...] = ()

    def shared_numbers(self, private: Table) -> ParsedNumbers | None:
        """Return a store for the numbers of a file between passes; ``None`` where it cannot be used."""
        decimal, names = self.dialect.decimal_mark(private.source.separator), self.coder.columns()
        if not isinstance(private.source, TextSource | ParquetSource) or not self.coder.reads_numbers_alone:
            return None
        if not fits_in_memory(private.source.rows(self.dialect), len(names), len(private.columns)):
            return None
        return ParsedNumbers(names, decimal)

    def read(
        self,
        private: Table,
        cluster: Cluster | None = None,
        parsed: ParsedNumbers | None = None,
        people: Persons | None = None,
    ) -> PrivateRows:
        """Return the private rows, which are read when they are summed; only the strict policies read them now.

        Args:
            private: the private table.
            cluster: on which sums are computed; ``None``: in this process.
            parsed: store in which another pass may leave the numbers of all rows.
            people: persons, whose numbers become the last column, for :func:`pmtcore.tables.persons.bounded_rows`.

        Raises:
            InputError: a strict policy refuses a row.
        """
        coder = replace(self.coder, decimal=self.dialect.decimal_mark(private.source.separator))
        if "refuse" in (coder.choices.missing, coder.choices.unseen):
            coder.check(private.source.blocks(coder.columns(), self.dialect), "private")
        n = private.source.rows(self.dialect)
        adder = None if cluster is None else cluster.sum_function(private.source, coder, self.dialect)
        blocks = row_blocks(private.source, coder, self.dialect, n, parsed=parsed, people=people)
        names, has_loss_weights = coder.names + (() if people is None else (people.column,)), coder.has_loss_weights
        in_memory = private.source.table.nbytes if isinstance(private.source, ArrowSource) else 0
        return PrivateRows(blocks, n, names, adder, keeps=bytes_for_rows(in_memory), weighted=has_loss_weights)


def default_choices(private: Table, public: Table | MomentTable) -> Choices:
    """Return default choices, from the public table and the names of columns.

    The target is the first of these that exists, identifiers excepted: the last common column with the name of a target
    (``y``, ``target``, ...) that has numbers or two labels; the last common column if it has two labels; the last one
    of numbers; the last one of two labels. If there is none, it is the last identifier.

    Raises:
        InputError: the tables have no column in common that could be a target.
    """
    names = common_columns(private, public)
    if isinstance(public, MomentTable):
        return Choices(target=names[-1])
    columns = public.schema
    numbers = [name for name in names if columns[name].kind == "number"]
    labels = [name for name in names if columns[name].kind == "level" and _are_two_labels(columns[name].levels)]
    measurements = [name for name in numbers if not _is_identifier(public, name)]
    named_as_target = [name for name in names if name in (*labels, *measurements) and name.casefold() in _TARGET_NAMES]
    last_labels = [name for name in names[-1:] if name in labels and not named_as_identifier(name)]
    for name in (*named_as_target[-1:], *last_labels, *measurements[-1:], *labels[-1:], *numbers[-1:]):
        return Choices(target=name, family="logistic") if name in labels else Choices(target=name)
    raise InputError(TableMessage.NO_NUMERIC_COLUMN)


def _are_two_labels(levels: Sequence[str]) -> bool:
    """Return whether levels are two labels, and not two spellings of one."""
    return len(levels) == 2 and not levels_of_one_spelling(levels)


def _is_identifier(public: Table, name: str) -> bool:
    """Return whether a public column of numbers looks like row numbers or identifiers."""
    numbers = values(public.column(name), "number", public.decimal)
    return identifier_note(name, numbers) is not None


def chosen_features(
    private: Table, public: Table | MomentTable, choices: Choices, schema: Schema | None = None
) -> tuple[str, ...]:
    """Return the columns that become features: chosen or by default; empty where there is none.

    Args:
        private: the private table, of which only column names are used.
        public: the public table or moment.
        choices: of the user.
        schema: declared schema in place of the inferred one.
    """
    if choices.features:
        return choices.features
    try:
        names = _features(private, public, choices)
        if isinstance(public, MomentTable):
            return tuple(names)
        features, _ = _usable_features(public, names, choices, schema or public.schema, decimal=public.decimal)
    except InputError:
        return ()
    return tuple(one.name for one in features)


def prepare(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    *,
    lab_reasons: tuple[str, ...] = (),
    public_rows: int | None = None,
    schema: Schema | None = None,
    cluster: Cluster | None = None,
    side: Callable[[], PublicSide] | None = None,
) -> Problem:
    """Return the problem of two tables, after checking their columns; private rows are read later.

    Args:
        private: the private table.
        public: the public table, or a public moment.
        choices: of the user.
        lab_reasons: why a release from these tables would be a lab figure.
        public_rows: number of rows of a public moment, if known.
        schema: declared schema in place of the inferred one.
        cluster: on which sums over private rows are computed; ``None``: in this process.
        side: returns the :func:`public_side` of these tables and choices, as a caller remembers it; ``None``: it is
            computed.

    Raises:
        InputError: the tables or choices cannot be used; it states table, column and remedy.
    """
    if isinstance(public, Table):
        check_not_swapped(private, public, choices)
    _check_public_rows(public, public_rows)
    _check_declared(choices, public)
    if choices.formula:
        return _prepare_by_formula(private, public, choices, lab_reasons, schema=schema, cluster=cluster, side=side)
    known = public_side(private, public, choices, public_rows, schema=schema) if side is None else side()
    reasons = _lab_reasons(private, choices, known.dialect)
    notes = (
        known.notes
        + ((Note(TableNote.REFUSES_ROWS),) if LabReason.REFUSES_ROWS in map(kind_of, reasons) else ())
        + _text_notes(private, public, known.dialect)
    )
    if choices.overlap:
        notes += (Note(TableNote.SHARED_ROWS, reason=choices.overlap),)
    parsed = known.shared_numbers(private) if choices.unit is None and cluster is None else None
    if choices.unit is None:
        rows = known.read(private, cluster, parsed)
        # With persons, the number of rows is private.
        notes += (Note(TableNote.MORE_PUBLIC_ROWS),) if isinstance(public, Table) and public.n > rows.n else ()
    else:
        people = Persons.counted(private, choices.unit.column, known.dialect)
        rows = bounded_rows(known.read(private, people=people), people.count, choices.unit)
        notes += (Note(TableNote.UNIT, unit=choices.unit.words),)
        needs_clusters = choices.unit.rows > 1 and known.data.clusters is None
        notes += (Note(TableNote.ROWS_OF_A_PERSON),) if needs_clusters else ()
    design = design_of(known.coder, public)
    lab_reasons += reasons
    return Problem(
        *(rows, known.data, choices, notes, lab_reasons, known.coder, private, known.dialect, design),
        parsed=parsed,
        cluster=cluster if choices.unit is None else None,
        public_table=public if isinstance(public, Table) else None,
    )


def design_of(coder: Coder, public: Table | MomentTable) -> Design:
    """Return the design of a coder, with the public labels where there are any."""
    target = coder.target.name
    if not isinstance(public, Table) or not coder.target.family.binary or target not in public.columns:
        return Design(coder)
    cells = public.column(target)
    written = "boolean" if pt.is_boolean(cells.type) else "number"
    if isinstance(public.source, ArrowSource) and not pt.is_primitive(cells.type):
        written = "text"  # in a frame texts differ from numbers; in a file all cells are text
    counts = frequencies(cells)
    labels = sorted(merged_spellings(counts) if coder.target.kind == "caseless" else counts)
    return Design(coder, None, tuple(labels), written)


def _prepare_by_formula(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    lab_reasons: tuple[str, ...],
    *,
    schema: Schema | None,
    cluster: Cluster | None,
    side: Callable[[], PublicSide] | None,
) -> Problem:
    """Return the problem of both tables expanded by the formula; the ledger recognises the original table."""
    _check_schema(schema, private, public)
    expansion = _expansion(public, choices, schema).with_columns(choices.non_features)
    if not isinstance(public, Table):
        raise TypeError("an expansion is learned from public rows")
    inner = _expanded_choices(choices, expansion)
    tables = expansion.table(private), expansion.table(public)
    problem = prepare(*tables, inner, lab_reasons=lab_reasons, schema=expansion.schema, cluster=cluster, side=side)
    if problem.coder is None:
        raise ValueError("a problem from tables has a coder")
    full_choices = replace(choices, intercept=expansion.intercept)
    design = replace(design_of(problem.coder, public), expansion=expansion)
    # Reasons and notes on the original table, which the call for the expanded one lacks.
    reasons = tuple(dict.fromkeys((*problem.lab_reasons, *_lab_reasons(private, choices, expansion.dialect))))
    notes = tuple(dict.fromkeys((*problem.notes, *_text_notes(private, public, expansion.dialect))))
    return replace(
        problem,
        table=private,
        public_table=public,
        choices=full_choices,
        design=design,
        lab_reasons=reasons,
        notes=notes,
    )


def _expanded_choices(choices: Choices, expansion: Expansion) -> Choices:
    """Return the choices for the columns of the expanded tables."""
    kinds = {name: kind for name, kind in choices.kinds.items() if name in (*expansion.names, expansion.response)}
    names, intercept = expansion.names, expansion.intercept
    return replace(choices, formula="", features=names, intercept=intercept, kinds=kinds, levels={})


def _expansion(public: Table | MomentTable, choices: Choices, schema: Schema | None = None) -> Expansion:
    if not isinstance(public, Table):
        raise InputError(TableMessage.FORMULA_NEEDS_ROWS)
    from pmtcore.tables.formula import Expansion  # noqa: PLC0415  # formulaic is slow to load

    learned = Expansion.from_public(choices.formula, public, schema)
    kinds_of_cells = ("caseless", WITH_UNKNOWN, CODED, CAPPED, *ORDERS)
    declared_kinds = (
        name for name, kind in choices.kinds.items() if kind in kinds_of_cells or number_format(kind) is not None
    )
    declared = [*choices.levels, *declared_kinds]
    if unused := [name for name in dict.fromkeys(declared) if name in (*learned.inputs, learned.response)]:
        raise InputError(TableMessage.FORMULA_READS_PUBLICLY, columns=unused)
    return learned


def check_not_swapped(private: Table, public: Table, choices: Choices) -> None:
    """Check that the two tables are not one file, and not swapped by two of three public signs.

    The signs are the name of each file, and more public than private rows. Public rows are used without protection, so
    private rows in their place would be disclosed.

    Raises:
        InputError: they are, or seem to be.
    """
    if is_same_file(public.source, private.source):
        raise InputError(TableMessage.SAME_FILE)
    signs = [_is_named(public, "private", "public"), _is_named(private, "public", "private")]
    # With persons, the number of rows is private.
    if sum([*signs, choices.unit is None and public.n > private.n]) > 1:
        raise InputError(TableMessage.SWAPPED_FILES, public=public.name, private=private.name)


def _is_named(table: Table, word: str, other: str) -> bool:
    """Return whether the file name of a table has one word and not the other."""
    name = table.name.rstrip("/").rpartition("/")[2].casefold()
    return word in name and other not in name


def _no_column(kind: TableMessage, missing: Sequence[str], present: Sequence[str]) -> InputError:
    """Return the error of missing columns, which lists those present, the most similar names first."""
    from difflib import SequenceMatcher  # noqa: PLC0415  # only an error needs it

    similarity = {
        name: max((SequenceMatcher(None, name.casefold(), other.casefold()).ratio() for other in missing), default=0.0)
        for name in present
    }
    return InputError(kind, columns=missing, present=sorted(present, key=lambda name: -similarity[name]))


def _check_public_rows(public: Table | MomentTable, public_rows: int | None) -> None:
    """Check that no number of public rows is declared for a table, which has its own.

    Raises:
        InputError: one is.
    """
    if public_rows is not None and isinstance(public, Table):
        raise InputError(PublicMessage.ROWS_OF_A_TABLE)


def _check_declared(choices: Choices, public: Table | MomentTable) -> None:
    """Check that columns with declared kinds or levels exist: a misspelled declaration would have no effect.

    Raises:
        InputError: one is neither a public column nor the target.
    """
    declared = dict.fromkeys((*choices.kinds, *choices.levels))
    if unknown := [name for name in declared if name not in (*public.columns, choices.target)]:
        raise _no_column(TableMessage.DECLARED_NOWHERE, unknown, public.columns)


def _check_schema(schema: Schema | None, private: Table, public: Table | MomentTable) -> None:
    """Check that the columns of a declared schema exist: a misspelled rule would have no effect.

    Raises:
        InputError: a column is in neither table.
    """
    present = (*public.columns, *private.columns)
    if unknown := [one.name for one in schema.columns if one.name not in present] if schema else []:
        raise _no_column(TableMessage.SCHEMA_NOWHERE, unknown, public.columns)


def _lab_reasons(private: Table, choices: Choices, dialect: Dialect) -> tuple[str, ...]:
    """Return the reasons for which one private row may influence others, so that no release is sound."""
    strict = "refuse" in (choices.missing, choices.unseen)
    multiline = private.source.separator is not None and dialect.quoting == "multiline"
    reasons = {LabReason.REFUSES_ROWS: strict, LabReason.LINE_BREAKS: multiline}
    return tuple(Note(reason) for reason, applies in reasons.items() if applies)


def _text_notes(private: Table, public: Table | MomentTable, dialect: Dialect) -> tuple[str, ...]:
    """Return notes on the private text file that the public one suggests: decimal commas, line breaks."""
    if not isinstance(public, Table) or not isinstance(public.source, TextSource):
        return ()
    rows_are_lines = private.source.separator is not None and dialect.quoting == "double"
    has_line_breaks = rows_are_lines and public.source.has_line_breaks(dialect)
    notes = ((dialect.decimal == ",", TableNote.DECIMAL_COMMA), (has_line_breaks, TableNote.BROKEN_LINES))
    return tuple(Note(kind) for applies, kind in notes if applies)


def public_side(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None = None,
    *,
    schema: Schema | None = None,
) -> PublicSide:
    """Return the public side for a private table with these column names; see :func:`prepare`.

    Raises:
        InputError: as :func:`prepare`.
    """
    _check_public_rows(public, public_rows)
    _check_schema(schema, private, public)
    if choices.formula:
        expansion = _expansion(public, choices, schema).with_columns(choices.non_features)
        public = public if isinstance(public, MomentTable) else expansion.table(public)
        inner = _expanded_choices(choices, expansion)
        return public_side(expansion.table(private), public, inner, public_rows, schema=expansion.schema)
    features = _features(private, public, choices)
    if isinstance(public, MomentTable):
        return _moment_side(public, choices, features, public_rows, schema=schema)
    return _public_side(public, choices, features, schema)


def prepare_public(public: Table | MomentTable, choices: Choices, public_rows: int | None = None) -> PublicSide:
    """Return the public side without a private table; see :func:`prepare`.

    Raises:
        InputError: as :func:`prepare`.
    """
    _check_public_rows(public, public_rows)
    _check_declared(choices, public)
    if isinstance(public, MomentTable):
        return _moment_alone(public, choices, public_rows)
    if choices.formula:
        expansion = _expansion(public, choices).with_columns(choices.non_features)
        inner = _expanded_choices(choices, expansion)
        return _public_side(expansion.table(public), inner, list(expansion.names), expansion.schema)
    names = [name for name in public.columns if name not in (choices.target, *choices.non_features)]
    missing = [name for name in choices.features or () if name not in names]
    if missing:
        raise _no_column(TableMessage.NO_PUBLIC_COLUMN, missing, names)
    return _public_side(public, choices, list(choices.features or names), None)


def _moment_alone(public: MomentTable, choices: Choices, public_rows: int | None) -> PublicSide:
    if choices.formula:
        _expansion(public, choices)
    names = _without_intercept(choices.features or public.columns, choices)
    features = [name for name in names if name != choices.target]
    missing = [name for name in (*features, choices.target) if name not in public.columns]
    if missing or not features:
        raise _no_column(TableMessage.NO_MOMENT_COLUMN, missing, public.columns)
    return _moment_side(public, choices, features, public_rows, schema=None)


def device_rows(table: Table, names: tuple[str, ...], choices: Choices) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Yield blocks of features (k, d) and responses (k,) of a device's own table, in the order of published names.

    A row with a missing or unreadable value is NaN: it answers too (decision 0010).

    Raises:
        InputError: a column is missing, or the configuration has categorical columns.
    """
    if any(name not in table.columns for name in (*(choices.features or ()), choices.target)):
        raise InputError(TableMessage.OWN_ROWS_LACK_COLUMNS)
    decimal = Dialect().decimal_mark(table.source.separator)
    coder = _numeric_coder(list(choices.features or ()), choices, decimal)
    if len(coder.names) != len(names):
        raise InputError(TableMessage.CATEGORIES_IN_CONFIGURATION)
    for block in table.source.blocks(coder.columns(), Dialect()):
        rows = coder.rows(block)
        rows.x[~rows.complete] = np.nan
        yield rows.x, rows.y


def _public_side(public: Table, choices: Choices, names: list[str], schema: Schema | None) -> PublicSide:
    """Return the public side of a public table, whose coder is also that of private rows."""
    rules, decimal = schema or public.schema, public.decimal
    features, notes = _usable_features(public, names, choices, rules, decimal=decimal)
    labelled = choices.target in public.columns
    labels = public.column(choices.target) if labelled else None
    target = target_coding(
        labels, choices.target, choices.model, choices.positive, decimal=decimal, kind=choices.target_kind
    )
    coder = Coder(tuple(features), choices, target, decimal, weights=_weights(public, choices, decimal))
    check_width(coder)
    if target.kind == "caseless" and (alike := levels_of_one_spelling(frequencies(labels or ()))):
        notes += (Note(TableNote.READ_ALIKE, column=target.name, levels=alike),)
    notes = target.notes + notes + tuple(note for one in features for note in one.notes)
    notes += category_notes(features, choices)
    block = _one_block(public, coder, labelled)
    if "refuse" in (choices.missing, choices.unseen):
        coder.check([block], "public", labelled)
    rows = coder.rows(block, labelled)
    complete = rows.complete
    if not np.all(complete):
        n_incomplete = int(np.sum(~complete))
        n_complete, n_columns = len(complete) - n_incomplete, rows.x.shape[1]
        if n_complete <= n_columns < len(complete) and (columns_to_leave_out := coder.columns_to_leave_out(block)):
            raise InputError(
                PublicMessage.TOO_FEW_COMPLETE_ROWS,
                rows=n_complete,
                total=len(complete),
                count=n_columns,
                limit=n_columns + 1,
                columns=columns_to_leave_out,
            )
        if choices.missing == "public-median" and (columns := coder.unfilled_columns(block, labelled)):
            notes += (Note(TableNote.PUBLIC_ROWS_UNFILLED, count=n_incomplete, columns=columns),)
        else:
            kind = TableNote.PUBLIC_ROW_LEFT_OUT if n_incomplete == 1 else TableNote.PUBLIC_ROWS_LEFT_OUT
            notes += (Note(kind, count=n_incomplete),)
    if not labelled:
        notes += (Note(TableNote.UNLABELLED),)
    elif choices.model is not GAUSSIAN and np.ptp(rows.y[complete]) == 0:
        notes += (Note(TableNote.ONE_PUBLIC_LABEL, column=choices.target),)
    coder, x, dropped = _without_dependent_columns(coder, rows.x[complete])
    if labelled and choices.model.binary and (levels := _columns_of_one_label(coder.names, x, rows.y[complete])):
        notes += (Note(TableNote.LEVELS_OF_ONE_LABEL, column=choices.target, levels=levels),)
    for name, numbers in zip(coder.names, x.T, strict=True):
        if name in public.columns and (code := code_for_missing(numbers)) is not None:
            notes += (Note(TableNote.CODE_FOR_MISSING, column=name, number=code),)
    if choices.groups in public.columns:
        notes += (Note(TableNote.CLUSTERED, column=choices.groups),)
    if choices.weights:
        notes += (Note(TableNote.WEIGHTED, column=choices.weights),)
    if choices.exposure:
        notes += (Note(TableNote.EXPOSED, column=choices.exposure),)
    data = public_from_rows(
        x,
        rows.y[complete] if labelled else None,
        coder.names,
        choices.target,
        ridge=choices.public_ridge,
        family=choices.model,
        lam=choices.penalty,
        clusters=_groups(public, choices, complete),
        weights=None if rows.weights is None else rows.weights[complete],
    )
    if choices.is_weakly_penalized:
        data = data.weakly_penalized(None)
    if coder.weights is not None and coder.weights.in_rows:
        data = replace(data, rows_are_weighted=True)
    if choices.covariates_are_public:
        data = replace(data, covariates_are_public=True)
        coder = replace(coder, expected=tuple(data.coefficients.tolist()))
        notes += (Note(TableNote.COVARIATES_PUBLIC),)
    if data.m is not None and data.m < _FEW_ROWS_PER_COLUMN * data.d:
        notes += (Note(TableNote.FEW_PUBLIC_ROWS, rows=data.m, count=data.d),)
    if data.m is not None and data.m < len(x):
        notes += (Note(TableNote.PASTED, count=len(x) - data.m, rows=len(x)),)
    notes += dropped + _gap_notes(choices)
    return PublicSide(data, coder, rules.dialect if schema else public.dialect, notes)


def _columns_of_one_label(names: Sequence[str], x: np.ndarray, y: np.ndarray) -> tuple[str, ...]:
    """Return the columns of zeros and ones in which all rows with a one have the same label.

    Args:
        names: of the columns.
        x: public features (m, d).
        y: public labels (m,), 0 or 1.
    """
    is_indicator = np.all((x == 0) | (x == 1), axis=0) & np.any(x == 1, axis=0)
    rate = (y @ x)[is_indicator] / x.sum(axis=0)[is_indicator]
    return tuple(np.array(names)[is_indicator][(rate == 0) | (rate == 1)].tolist()) if np.ptp(y) > 0 else ()


def _groups(public: Table, choices: Choices, complete: np.ndarray) -> np.ndarray | None:
    """Return the group of each complete public row; ``None`` where errors are not clustered.

    Raises:
        InputError: the public table lacks the column of groups.
    """
    name = choices.groups
    if name not in public.columns:
        if choices.cluster:
            raise InputError(TableMessage.NO_CLUSTER_COLUMN, column=name)
        return None
    cells = public.column(name).combine_chunks()
    return numbered_by_occurrence(identifiers(cells))[0][complete]


def _weights(public: Table, choices: Choices, decimal: str | None) -> Weights | None:
    """Return the rule for weights of rows, with the public mean; ``None`` for equal weights.

    Raises:
        InputError: the public table has no such column, or no positive weights.
    """
    names = choices.weight_columns
    if not names:
        return None
    for name in names:
        if name not in public.columns:
            raise InputError(TableMessage.NO_PUBLIC_WEIGHTS, column=name)
    cells = {name: public.column(name).combine_chunks() for name in names}
    weights = Weights(names, 1.0, choices.exposure, choices.model is GAUSSIAN)
    values = weights.values(Cells(public.cells.num_rows, cells), decimal)
    mean = float(np.mean(values[values >= 0])) if np.any(values > 0) else 0.0
    if not (np.isfinite(mean) and mean > 0):
        raise InputError(TableMessage.NO_POSITIVE_WEIGHTS, column=" * ".join(names))
    return replace(weights, mean=mean)


def _usable_features(
    public: Table, names: list[str], choices: Choices, rules: Schema, *, decimal: str | None
) -> tuple[list[Feature], tuple[str, ...]]:
    """Return the features of these columns, and notes; columns that were not chosen and cannot be used are left out."""
    usable: list[Feature] = []
    identifiers: list[Feature] = []
    notes: list[str] = []
    for name in names:
        try:
            one = feature(rules[name], public.column(name), choices, decimal)
        except InputError as error:
            if choices.features is not None:
                raise
            notes.append(Note(TableNote.LEFT_OUT, statement=error.statement, cause=error.message, columns=(name,)))
            continue
        unchosen = choices.features is None and any(kind_of(note) in _IDENTIFIER_NOTES for note in one.notes)
        (identifiers if unchosen else usable).append(one)
    if not usable and not identifiers:
        raise InputError(TableMessage.NO_FEATURES)
    if not usable:
        return identifiers, tuple(notes)
    for one in identifiers:
        kinds = [_IDENTIFIER_NOTES[kind] for kind in map(kind_of, one.notes) if kind in _IDENTIFIER_NOTES]
        notes += [Note(kind, column=one.name) for kind in kinds]
    return usable, tuple(notes)


def _one_block(public: Table, coder: Coder, labelled: bool) -> Cells:
    """Return a public table as one block, in the columns of the coder."""

    def one_array(name: str) -> pa.Array:
        column = public.column(name)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    return Cells(public.cells.num_rows, {name: one_array(name) for name in coder.columns(labelled)})


def _without_dependent_columns(coder: Coder, x: np.ndarray) -> tuple[Coder, np.ndarray, tuple[str, ...]]:
    """Return coder and rows without columns that are linearly dependent in the public rows, and a note for each.

    With a public ridge they stay in linear regressions; the whitening of other families does not use the ridge.

    Raises:
        InputError: all features are dependent, or dependent columns are refused.
    """
    has_ridge, refuses_collinear = coder.choices.public_ridge > 0, coder.choices.collinear == "refuse"
    if (has_ridge and coder.choices.model is GAUSSIAN) or (refuses_collinear and not has_ridge) or len(x) <= x.shape[1]:
        return coder, x, ()
    largest = np.max(np.abs(x), axis=0)
    x_used = np.where(largest > SMALLEST_FEATURE, x, 0.0)
    root_mean_squares = np.sqrt(np.mean(x_used**2, axis=0))
    scaled = x_used / np.where(root_mean_squares > 0, root_mean_squares, 1.0) / np.sqrt(len(x))
    basis = np.zeros((len(x), x.shape[1]))
    independent: list[int] = []
    notes = []
    for j, name in enumerate(coder.names):
        residual, earlier_directions = scaled[:, j].copy(), basis[:, : len(independent)]
        for _ in range(2):
            residual -= earlier_directions @ (earlier_directions.T @ residual)
        norm = float(np.linalg.norm(residual))
        if norm > _LEAST_RESIDUAL_NORM:
            basis[:, len(independent)] = residual / norm
            independent.append(j)
        else:
            is_tiny = bool(0 < largest[j] <= SMALLEST_FEATURE)
            notes.append(_left_out_note(name, scaled, independent, j, names=coder.names, tiny=is_tiny))
    if not independent or (independent == [0] and coder.choices.intercept):
        raise InputError(TableMessage.ALL_CONSTANT)
    collinear_notes = [note for note in notes if note.kind is TableNote.COLLINEAR]
    if refuses_collinear and collinear_notes:
        facts = collinear_notes[0].facts
        raise InputError(PublicMessage.COLLINEAR_LABELS, column=facts["column"], columns=facts["columns"])
    if not notes or refuses_collinear:
        return coder, x, ()
    return replace(coder, used_columns=tuple(independent)), x[:, independent], tuple(notes)


def _left_out_note(
    name: str, scaled: np.ndarray, independent: list[int], j: int, *, names: tuple[str, ...], tiny: bool
) -> Note:
    """Return the note on why a column is left out."""
    if tiny:
        return Note(TableNote.TINY, column=name, limit=SMALLEST_FEATURE)
    if not np.any(scaled[:, j]):
        return Note(TableNote.ZERO, column=name)
    others = collinear_with(scaled[:, independent], scaled[:, j], [names[i] for i in independent])
    if others == [INTERCEPT]:
        return Note(TableNote.CONSTANT, column=name)
    return Note(TableNote.COLLINEAR, column=name, columns=others)


def common_columns(private: Table, public: Table | MomentTable) -> list[str]:
    """Return the names of the columns that both tables have, in public order.

    Raises:
        InputError: there is none.
    """
    common = [name for name in public.columns if name in private.columns]
    if not common:
        raise InputError(TableMessage.NO_COMMON_COLUMN)
    return common


def _features(private: Table, public: Table | MomentTable, choices: Choices) -> list[str]:
    """Return the features: as chosen, else all common columns in public order."""
    common = common_columns(private, public)
    columns = list(public.columns)
    missing = [name for name in choices.weight_columns if name not in private.columns]
    if missing:
        raise InputError(TableMessage.NO_PRIVATE_WEIGHTS, column=missing[0])
    for name in (choices.target, *(choices.features or ())):
        labels_are_private = name == choices.target and choices.model is not GAUSSIAN and isinstance(public, Table)
        if labels_are_private and name not in columns and name in private.columns:
            continue  # labels are private only
        if name not in columns:
            raise _no_column(TableMessage.NO_PUBLIC_COLUMN, [name], columns)
        if name not in common:
            raise InputError(TableMessage.NO_PRIVATE_COLUMN, column=name)
    chosen = common if choices.features is None else list(choices.features)
    names = [name for name in chosen if name not in (choices.target, *choices.non_features, *_INTERCEPT_NAMES[:1])]
    if isinstance(public, MomentTable):
        names = _without_intercept(names, choices)
    if not names and len(common) == 1 < max(len(columns), len(private.columns)):
        raise InputError(TableMessage.NO_OTHER_COMMON_COLUMN, column=common[0])
    if not names:
        raise InputError(TableMessage.NO_FEATURES)
    return names


def _without_intercept(names: Iterable[str], choices: Choices) -> list[str]:
    """Return columns of a moment matrix without its intercept.

    Raises:
        InputError: the intercept was chosen as a feature.
    """
    for name in choices.features or ():
        if name in _INTERCEPT_NAMES:
            raise InputError(TableMessage.FEATURE_IS_INTERCEPT, column=name)
    return [name for name in names if name not in _INTERCEPT_NAMES]


def _numeric_coder(features: list[str], choices: Choices, decimal: str | None = ".") -> Coder:
    target = target_coding(None, choices.target, choices.model, choices.positive, kind=choices.target_kind)
    return Coder(tuple(numeric(name) for name in features), choices, target, decimal)


def _moment_side(
    public: MomentTable, choices: Choices, features: list[str], public_rows: int | None, *, schema: Schema | None
) -> PublicSide:
    """Return the public side of a moment matrix, with numeric features only."""
    if choices.weight_columns:
        raise InputError(TableMessage.WEIGHTS_NEED_ROWS)
    coder = _numeric_coder(features, choices)
    order = [*features, choices.target]
    if choices.missing == "public-median":
        raise InputError(TableMessage.NO_MEDIANS)
    if choices.intercept:
        intercepts = [name for name in _INTERCEPT_NAMES if name in public.columns]
        if not intercepts:
            raise InputError(TableMessage.NO_INTERCEPT_ROW, column=INTERCEPT)
        order = [intercepts[0], *order]
    positions = [public.columns.index(name) for name in order]
    data = public_from_moment(
        public.matrix[np.ix_(positions, positions)],
        coder.names,
        choices.target,
        public_rows,
        ridge=choices.public_ridge,
        family=choices.model,
        lam=choices.penalty,
    )
    data = replace(data, covariates_are_public=choices.covariates_are_public)
    if choices.is_weakly_penalized:
        data = data.weakly_penalized(None)
    return PublicSide(data, coder, schema.dialect if schema else Dialect(), _gap_notes(choices))


def _gap_notes(choices: Choices) -> tuple[Note, ...]:
    """Return the note on the treatment of private rows with gaps."""
    kinds = {"empty-row": TableNote.EMPTY_ROWS, "public-median": TableNote.FILLED_GAPS}
    return (Note(kinds[choices.missing]),) if choices.missing in kinds else ()
