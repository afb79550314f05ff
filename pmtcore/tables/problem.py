"""From two tables to a problem: choice of columns, checks between the tables, the private rows in their box.

The schema comes from the public table or is declared, never learned from private rows, and preparing a problem
reads none of them: private cells are read inside ``PrivateRows.sum``, after the ledger was asked. Only the strict
policies look at private cells earlier, and say so; and where a column says whose a row is, people are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
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
from pmtcore.tables.features import Feature, category_notes, coding, feature, numeric
from pmtcore.tables.kinds import CAPPED, CODED, ORDERS, WITH_UNKNOWN, number_format
from pmtcore.tables.limits import SMALLEST
from pmtcore.tables.parsed import ParsedNumbers, fits
from pmtcore.tables.persons import Persons, bounded, identifiers, in_order_met
from pmtcore.tables.queries import DeclaredSource
from pmtcore.tables.schema import (
    Schema,
    as_identifier,
    code_for_missing,
    frequencies,
    merged_spellings,
    named_as_identifier,
    spelled_alike,
    values,
)
from pmtcore.tables.sources import ArrowSource, Cells, ParquetSource, TextSource, is_same_file
from pmtcore.tables.table import MomentTable, Table

if TYPE_CHECKING:
    from pmtcore.tables.formula import Expansion

_DEPENDENT = 2e-6  # share of a column left after those before it; beyond what public_from_rows asks for
_FEW_FOR_A_COLUMN = 3  # public rows for each column, below which whitening and predictions are called rough
# Names of columns that are there to be explained.
_TARGETS = ("y", "target", "outcome", "label", "response")
# Columns that are no features unless they are chosen: what is said where they are, and where they are not.
_LEFT_OUT = {
    TableNote.LIKE_IDENTIFIER: TableNote.IDENTIFIER_LEFT_OUT,
    TableNote.NAMED_IDENTIFIER: TableNote.NAMED_IDENTIFIER_LEFT_OUT,
}
_INTERCEPT_NAMES = (INTERCEPT, "intercept", "const", "1")


@dataclass(frozen=True, eq=False)
class Problem(StaysInSession):
    """A regression problem ready for methods: private rows in their box, and what is public."""

    private: PrivateRows
    public: PublicData
    choices: Choices
    notes: tuple[str, ...] = ()
    lab_reasons: tuple[str, ...] = ()
    coder: Coder | None = None  # how any row of such tables is read, new ones too; public
    table: Table | None = None  # the private one, for the ledger's fingerprint and for whose rows are whose
    dialect: Dialect | None = None  # how it is read
    design: Design | None = None  # how rows of the user's own tables become features
    # Numbers that the ledger's fingerprint read, for the first pass; None where it reads the table anew.
    parsed: ParsedNumbers | None = None
    cluster: Cluster | None = None  # whose workers read the private table; None: this process
    public_table: Table | None = None  # None where only a moment is public

    @property
    def unit(self) -> Unit | None:
        """Return what an identifier column keeps of each person; None without one."""
        return self.choices.unit

    @property
    def reads_n_rows(self) -> bool:
        """Return whether the number of rows read is n: not of people's rows, nor of those of a declared n."""
        return self.unit is None and not (self.table is not None and isinstance(self.table.source, DeclaredSource))

    @property
    def positive(self) -> str | None:
        """Return the level of a label target whose chance is modelled; None for a numeric response."""
        return None if self.coder is None else self.coder.target.positive

    @property
    def other_label(self) -> str | None:
        """Return the one level that counts as 0, where there is just one; of a declared label the public rows say."""
        others = None if self.coder is None else self.coder.target.others
        if others is None and self.design is not None and self.positive is not None:
            others = tuple(label for label in self.design.labels if label != self.positive)
        return others[0] if others is not None and len(others) == 1 else None

    def __repr__(self) -> str:
        return f"<regression of {self.choices.target!r}, {self.private!r}>"

    def __post_init__(self) -> None:
        # A default penalty depends on the number of rows, which a problem alone knows, and which a copy may change.
        if self.public.penalty_units is not None:
            public = self.public.weakly_penalized(self.private.n)
            if public.lam != self.public.lam:
                object.__setattr__(self, "public", public)


@dataclass(frozen=True, eq=False)
class PublicSide:
    """The public side of a problem: the public data, and the rules by which rows are read."""

    data: PublicData
    coder: Coder
    dialect: Dialect
    notes: tuple[str, ...] = ()

    def shared_numbers(self, private: Table) -> ParsedNumbers | None:
        """Return where passes over a file can leave its numbers for the next one; ``None`` where they cannot."""
        decimal, names = self.dialect.mark(private.source.separator), self.coder.columns()
        if not isinstance(private.source, TextSource | ParquetSource) or not self.coder.reads_numbers_alone:
            return None
        if not fits(private.source.rows(self.dialect), len(names), len(private.columns)):
            return None
        return ParsedNumbers(names, decimal)

    def read(
        self,
        private: Table,
        cluster: Cluster | None = None,
        parsed: ParsedNumbers | None = None,
        people: Persons | None = None,
    ) -> PrivateRows:
        """Return private rows, to be read row by row when they are summed; only the strict policies read them now.

        Args:
            private: the private table.
            cluster: where sums are taken; ``None``: here.
            parsed: where another pass may leave the numbers of all rows.
            people: whose numbers are a last column of the rows, for :func:`pmtcore.tables.persons.bounded`.

        Raises:
            InputError: a strict policy refuses a row.
        """
        coder = replace(self.coder, decimal=self.dialect.mark(private.source.separator))
        if "refuse" in (coder.choices.missing, coder.choices.unseen):
            coder.check(private.source.blocks(coder.columns(), self.dialect), "private")
        n = private.source.rows(self.dialect)
        adder = None if cluster is None else cluster.adder(private.source, coder, self.dialect)
        blocks = row_blocks(private.source, coder, self.dialect, n, parsed=parsed, people=people)
        names, beside = coder.names + (() if people is None else (people.column,)), coder.has_loss_weights
        in_memory = private.source.table.nbytes if isinstance(private.source, ArrowSource) else 0
        return PrivateRows(blocks, n, names, adder, keeps=bytes_for_rows(in_memory), weighted=beside)


def default_choices(private: Table, public: Table | MomentTable) -> Choices:
    """Guess the choices, from the public table and the names of columns.

    The target is the last common column that is called one (``y``, ``target``, ...), is it of numbers or of two labels;
    else a last column of two labels; else the last of numbers. None of them is an identifier. Where there is none, it
    is the last column of two labels, and where there is none either, the last identifier.

    Raises:
        InputError: the tables have no column in common that could be a target.
    """
    names = common_columns(private, public)
    if isinstance(public, MomentTable):
        return Choices(target=names[-1])
    rules = public.schema
    numbers = [name for name in names if rules[name].kind == "number"]
    labels = [name for name in names if rules[name].kind == "level" and _are_two_labels(rules[name].levels)]
    measured = [name for name in numbers if not _numbers_rows(public, name)]
    called = [name for name in names if name in (*labels, *measured) and name.casefold() in _TARGETS]
    last = [name for name in names[-1:] if name in labels and not named_as_identifier(name)]
    for name in (*called[-1:], *last, *measured[-1:], *labels[-1:], *numbers[-1:]):
        return Choices(target=name, family="logistic") if name in labels else Choices(target=name)
    raise InputError(TableMessage.NO_NUMERIC_COLUMN)


def _are_two_labels(levels: Sequence[str]) -> bool:
    return len(levels) == 2 and not spelled_alike(levels)


def _numbers_rows(public: Table, name: str) -> bool:
    """Return whether a column of numbers looks like row numbers or identifiers, so that it is no target by default."""
    numbers = values(public.column(name), "number", public.decimal)
    return as_identifier(name, numbers) is not None


def features_taken(
    private: Table, public: Table | MomentTable, choices: Choices, schema: Schema | None = None
) -> tuple[str, ...]:
    """Return the columns that become features: those that were chosen, else those taken by default, if there are any.

    Args:
        private: whose names and number of columns count, no cell.
        public: rows or a moment.
        choices: with the target, and features where they were chosen.
        schema: declared; takes the place of what the public table suggests.
    """
    if choices.features:
        return choices.features
    try:
        names = _features(private, public, choices)
        if isinstance(public, MomentTable):
            return tuple(names)
        features, _ = _usable(public, names, choices, schema or public.schema, decimal=public.decimal)
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
) -> Problem:
    """Check the shapes of the tables against each other, and prepare the reading of private rows.

    Args:
        private: the private table.
        public: the public table, or a public moment.
        choices: what was chosen about them.
        lab_reasons: why a release from these tables would be a lab figure.
        public_rows: rows behind a public moment matrix, if known.
        schema: declared; takes the place of what the public table suggests.
        cluster: where sums over private rows are taken; ``None``: here.

    Raises:
        InputError: what is wrong, in which table and column, and what to do.
    """
    if isinstance(public, Table):
        check_exchanged(private, public, choices)
    _check_public_rows(public, public_rows)
    _check_declared(choices, public)
    if choices.formula:
        return _by_formula(private, public, choices, lab_reasons, schema=schema, cluster=cluster)
    side = public_side(private, public, choices, public_rows, schema=schema)
    reasons = _lab_reasons(private, choices, side.dialect)
    notes = (
        side.notes
        + ((Note(TableNote.REFUSES_ROWS),) if LabReason.REFUSES_ROWS in map(kind_of, reasons) else ())
        + _of_text(private, public, side.dialect)
    )
    if choices.overlap:
        notes += (Note(TableNote.SHARED_ROWS, reason=choices.overlap),)
    parsed = side.shared_numbers(private) if choices.unit is None and cluster is None else None
    if choices.unit is None:
        rows = side.read(private, cluster, parsed)
        # Of people's rows the number is private: one person may have any.
        notes += (Note(TableNote.MORE_PUBLIC_ROWS),) if isinstance(public, Table) and public.n > rows.n else ()
    else:
        people = Persons.counted(private, choices.unit.column, side.dialect)
        rows = bounded(side.read(private, people=people), people.count, choices.unit)
        notes += (Note(TableNote.UNIT, unit=choices.unit.words),)
        alike = choices.unit.rows > 1 and side.data.clusters is None
        notes += (Note(TableNote.ROWS_OF_A_PERSON),) if alike else ()
    design = design_of(side.coder, public)
    lab_reasons += reasons
    return Problem(
        *(rows, side.data, choices, notes, lab_reasons, side.coder, private, side.dialect, design),
        parsed=parsed,
        cluster=cluster if choices.unit is None else None,
        public_table=public if isinstance(public, Table) else None,
    )


def design_of(coder: Coder, public: Table | MomentTable) -> Design:
    """Return how rows of such tables become features, with the public labels where there are any."""
    target = coder.target.name
    if not isinstance(public, Table) or not coder.target.family.binary or target not in public.columns:
        return Design(coder)
    cells = public.column(target)
    written = "boolean" if pt.is_boolean(cells.type) else "number"
    if isinstance(public.source, ArrowSource) and not pt.is_primitive(cells.type):
        written = "text"  # a frame tells text from numbers; in a file all cells are text
    counts = frequencies(cells)
    labels = sorted(merged_spellings(counts) if coder.target.kind == "caseless" else counts)
    return Design(coder, None, tuple(labels), written)


def _by_formula(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    lab_reasons: tuple[str, ...],
    *,
    schema: Schema | None,
    cluster: Cluster | None,
) -> Problem:
    """Expand both tables by the formula; no private row is read, and the ledger recognizes the original table."""
    _check_schema(schema, private, public)
    expansion = _expansion(public, choices, schema).with_columns(choices.beside_features)
    if not isinstance(public, Table):
        raise TypeError("an expansion is learned from public rows")
    inner = _expanded_choices(choices, expansion)
    tables = expansion.table(private), expansion.table(public)
    made = prepare(*tables, inner, lab_reasons=lab_reasons, schema=expansion.schema, cluster=cluster)
    if made.coder is None:
        raise ValueError("a problem from tables has a coder")
    own = replace(choices, intercept=expansion.intercept)
    design = replace(design_of(made.coder, public), expansion=expansion)
    # How the table beneath is read decides too: the inner call saw only what the formula makes of it.
    reasons = tuple(dict.fromkeys((*made.lab_reasons, *_lab_reasons(private, choices, expansion.dialect))))
    notes = tuple(dict.fromkeys((*made.notes, *_of_text(private, public, expansion.dialect))))
    return replace(
        made, table=private, public_table=public, choices=own, design=design, lab_reasons=reasons, notes=notes
    )


def _expanded_choices(choices: Choices, expansion: Expansion) -> Choices:
    """Return the same choices about the columns that a formula makes."""
    kinds = {name: kind for name, kind in choices.kinds.items() if name in (*expansion.names, expansion.response)}
    names, intercept = expansion.names, expansion.intercept
    return replace(choices, formula="", features=names, intercept=intercept, kinds=kinds, levels={})


def _expansion(public: Table | MomentTable, choices: Choices, schema: Schema | None = None) -> Expansion:
    if not isinstance(public, Table):
        raise InputError(TableMessage.FORMULA_NEEDS_ROWS)
    from pmtcore.tables.formula import Expansion  # noqa: PLC0415  # formulaic is slow to load

    learned = Expansion.learned(choices.formula, public, schema)
    own = ("caseless", WITH_UNKNOWN, CODED, CAPPED, *ORDERS)
    stated = (name for name, kind in choices.kinds.items() if kind in own or number_format(kind) is not None)
    declared = [*choices.levels, *stated]
    if unused := [name for name in dict.fromkeys(declared) if name in (*learned.inputs, learned.response)]:
        raise InputError(TableMessage.FORMULA_READS_PUBLICLY, columns=unused)
    return learned


def check_exchanged(private: Table, public: Table, choices: Choices) -> None:
    """Refuse one file as both tables, and tables that two of three public signs show to be swapped.

    The signs are the name of each, and more public rows. Public rows are read as they are, so private ones in their
    place would be published without any noise.

    Raises:
        InputError: they are one file, or seem to be swapped.
    """
    if is_same_file(public.source, private.source):
        raise InputError(TableMessage.SAME_FILE)
    signs = [_name_says(public, "private", "public"), _name_says(private, "public", "private")]
    # Where persons have several rows, their number is private.
    if sum([*signs, choices.unit is None and public.n > private.n]) > 1:
        raise InputError(TableMessage.SWAPPED_FILES, public=public.name, private=private.name)


def _name_says(table: Table, word: str, other: str) -> bool:
    """Return True where the name of a table's file has a word in it, and not the other one."""
    name = table.name.rstrip("/").rpartition("/")[2].casefold()
    return word in name and other not in name


def _near_first(missing: Sequence[str], present: Sequence[str]) -> list[str]:
    """Return the columns that are there, those first whose names are near to one that is not: it was misspelled."""
    from difflib import SequenceMatcher  # noqa: PLC0415  # only an error needs it

    likeness = {
        name: max((SequenceMatcher(None, name.casefold(), other.casefold()).ratio() for other in missing), default=0.0)
        for name in present
    }
    return sorted(present, key=lambda name: -likeness[name])


def _check_public_rows(public: Table | MomentTable, public_rows: int | None) -> None:
    """Refuse a number of public rows beside a table, which has its rows.

    Raises:
        InputError: one is declared for a table.
    """
    if public_rows is not None and isinstance(public, Table):
        raise InputError(PublicMessage.ROWS_OF_A_TABLE)


def _check_declared(choices: Choices, public: Table | MomentTable) -> None:
    """Refuse kinds and levels of a column that is not there: the one that was meant would stay as it was.

    Raises:
        InputError: neither the public rows nor the target have the name.
    """
    declared = dict.fromkeys((*choices.kinds, *choices.levels))
    if unknown := [name for name in declared if name not in (*public.columns, choices.target)]:
        raise InputError(TableMessage.DECLARED_NOWHERE, columns=unknown, present=_near_first(unknown, public.columns))


def _check_schema(schema: Schema | None, private: Table, public: Table | MomentTable) -> None:
    """Refuse a declared schema of columns that no table has: the one that was meant would be read by other rules.

    Raises:
        InputError: a name of the schema is in neither table.
    """
    present = (*public.columns, *private.columns)
    if unknown := [one.name for one in schema.columns if one.name not in present] if schema else []:
        raise InputError(TableMessage.SCHEMA_NOWHERE, columns=unknown, present=_near_first(unknown, public.columns))


def _lab_reasons(private: Table, choices: Choices, dialect: Dialect) -> tuple[str, ...]:
    """Return why one private row may decide more than its own row: then no release of it is sound."""
    strict = "refuse" in (choices.missing, choices.unseen)
    multiline = private.source.separator is not None and dialect.quoting == "multiline"
    reasons = {LabReason.REFUSES_ROWS: strict, LabReason.LINE_BREAKS: multiline}
    return tuple(Note(reason) for reason, holds in reasons.items() if holds)


def _of_text(private: Table, public: Table | MomentTable, dialect: Dialect) -> tuple[str, ...]:
    """Return what the writing of a public text file lets expect of a private one: decimal commas, line breaks."""
    if not isinstance(public, Table) or not isinstance(public.source, TextSource):
        return ()
    one_line = private.source.separator is not None and dialect.quoting == "double"
    broken = one_line and public.source.has_line_breaks(dialect)
    notes = ((dialect.decimal == ",", TableNote.DECIMAL_COMMA), (broken, TableNote.BROKEN_LINES))
    return tuple(Note(kind) for holds, kind in notes if holds)


def public_side(
    private: Table,
    public: Table | MomentTable,
    choices: Choices,
    public_rows: int | None = None,
    *,
    schema: Schema | None = None,
) -> PublicSide:
    """Prepare what the public side decides for private tables of these column names; see :func:`prepare`.

    Raises:
        InputError: as :func:`prepare`.
    """
    _check_public_rows(public, public_rows)
    _check_schema(schema, private, public)
    if choices.formula:
        expansion = _expansion(public, choices, schema).with_columns(choices.beside_features)
        public = public if isinstance(public, MomentTable) else expansion.table(public)
        inner = _expanded_choices(choices, expansion)
        return public_side(expansion.table(private), public, inner, public_rows, schema=expansion.schema)
    features = _features(private, public, choices)
    if isinstance(public, MomentTable):
        return _moment_side(public, choices, features, public_rows, schema=schema)
    return _public_side(public, choices, features, schema)


def prepare_public(public: Table | MomentTable, choices: Choices, public_rows: int | None = None) -> PublicSide:
    """Prepare the public side alone, where no private rows are at hand; see :func:`prepare`.

    Raises:
        InputError: as :func:`prepare`.
    """
    _check_public_rows(public, public_rows)
    _check_declared(choices, public)
    if isinstance(public, MomentTable):
        return _moment_alone(public, choices, public_rows)
    if choices.formula:
        expansion = _expansion(public, choices).with_columns(choices.beside_features)
        inner = _expanded_choices(choices, expansion)
        return _public_side(expansion.table(public), inner, list(expansion.names), expansion.schema)
    names = [name for name in public.columns if name not in (choices.target, *choices.beside_features)]
    missing = [name for name in choices.features or () if name not in names]
    if missing:
        raise InputError(TableMessage.NO_PUBLIC_COLUMN, columns=missing, present=_near_first(missing, names))
    return _public_side(public, choices, list(choices.features or names), None)


def _moment_alone(public: MomentTable, choices: Choices, public_rows: int | None) -> PublicSide:
    if choices.formula:
        _expansion(public, choices)
    names = _without_intercept(choices.features or public.columns, choices)
    features = [name for name in names if name != choices.target]
    missing = [name for name in (*features, choices.target) if name not in public.columns]
    if missing or not features:
        raise InputError(TableMessage.NO_MOMENT_COLUMN, columns=missing, present=_near_first(missing, public.columns))
    return _moment_side(public, choices, features, public_rows, schema=None)


def device_rows(table: Table, names: tuple[str, ...], choices: Choices) -> Iterable[tuple[np.ndarray, np.ndarray]]:
    """Return numeric rows (k, d), (k,) of a device's own table, in the order of published names, in blocks.

    A row that lacks a value, or has one that cannot be read, is NaN: it answers too (decision 0010).

    Raises:
        InputError: a column is missing, or the configuration has category columns.
    """
    if any(name not in table.columns for name in (*(choices.features or ()), choices.target)):
        raise InputError(TableMessage.OWN_ROWS_LACK_COLUMNS)
    decimal = Dialect().mark(table.source.separator)
    coder = _numeric_coder(list(choices.features or ()), choices, decimal)
    if len(coder.names) != len(names):
        raise InputError(TableMessage.CATEGORIES_IN_CONFIGURATION)
    for block in table.source.blocks(coder.columns(), Dialect()):
        rows = coder.rows(block)
        rows.x[~rows.complete] = np.nan
        yield rows.x, rows.y


def _public_side(public: Table, choices: Choices, names: list[str], schema: Schema | None) -> PublicSide:
    """Return public data, the coder that private rows go through too, and what to say about both."""
    rules, decimal = schema or public.schema, public.decimal
    features, notes = _usable(public, names, choices, rules, decimal=decimal)
    labelled = choices.target in public.columns
    labels = public.column(choices.target) if labelled else None
    target = coding(labels, choices.target, choices.model, choices.positive, decimal=decimal, kind=choices.target_kind)
    coder = Coder(tuple(features), choices, target, decimal, weights=_weights(public, choices, decimal))
    check_width(coder)
    if target.kind == "caseless" and (alike := spelled_alike(frequencies(labels or ()))):
        notes += (Note(TableNote.READ_ALIKE, column=target.name, levels=alike),)
    notes = target.notes + notes + tuple(note for encoded in features for note in encoded.notes)
    notes += category_notes(features, choices)
    block = _one_block(public, coder, labelled)
    if "refuse" in (choices.missing, choices.unseen):
        coder.check([block], "public", labelled)
    rows = coder.rows(block, labelled)
    complete = rows.complete
    if not np.all(complete):
        many = int(np.sum(~complete))
        left, width = len(complete) - many, rows.x.shape[1]
        if left <= width < len(complete) and (columns_to_leave_out := coder.columns_to_leave_out(block)):
            raise InputError(
                PublicMessage.TOO_FEW_COMPLETE_ROWS,
                rows=left,
                total=len(complete),
                count=width,
                limit=width + 1,
                columns=columns_to_leave_out,
            )
        if choices.missing == "public-median" and (columns := coder.unfilled(block, labelled)):
            notes += (Note(TableNote.PUBLIC_ROWS_UNFILLED, count=many, columns=columns),)
        else:
            notes += (Note(TableNote.PUBLIC_ROW_LEFT_OUT if many == 1 else TableNote.PUBLIC_ROWS_LEFT_OUT, count=many),)
    if not labelled:
        notes += (Note(TableNote.UNLABELLED),)
    elif choices.model is not GAUSSIAN and np.ptp(rows.y[complete]) == 0:
        notes += (Note(TableNote.ONE_PUBLIC_LABEL, column=choices.target),)
    coder, x, dropped = _independent(coder, rows.x[complete])
    if labelled and choices.model.binary and (uniform := _of_one_label(coder.names, x, rows.y[complete])):
        notes += (Note(TableNote.LEVELS_OF_ONE_LABEL, column=choices.target, levels=uniform),)
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
    if data.m is not None and data.m < _FEW_FOR_A_COLUMN * data.d:
        notes += (Note(TableNote.FEW_PUBLIC_ROWS, rows=data.m, count=data.d),)
    if data.m is not None and data.m < len(x):
        notes += (Note(TableNote.PASTED, count=len(x) - data.m, rows=len(x)),)
    notes += dropped + _gap_notes(choices)
    return PublicSide(data, coder, rules.dialect if schema else public.dialect, notes)


def _of_one_label(names: Sequence[str], x: np.ndarray, y: np.ndarray) -> tuple[str, ...]:
    """Return the columns of zeros and ones whose rows with a one have one label, where the labels differ.

    Args:
        names: of the columns.
        x: public features (m, d).
        y: public labels (m,), 0 or 1.
    """
    of_levels = np.all((x == 0) | (x == 1), axis=0) & np.any(x == 1, axis=0)
    rate = (y @ x)[of_levels] / x.sum(axis=0)[of_levels]
    return tuple(np.array(names)[of_levels][(rate == 0) | (rate == 1)].tolist()) if np.ptp(y) > 0 else ()


def _groups(public: Table, choices: Choices, complete: np.ndarray) -> np.ndarray | None:
    """Return the group of each public row used, where errors are clustered and the public table can say so.

    Raises:
        InputError: the column that was asked for is not there.
    """
    name = choices.groups
    if name not in public.columns:
        if choices.cluster:
            raise InputError(TableMessage.NO_CLUSTER_COLUMN, column=name)
        return None
    cells = public.column(name).combine_chunks()
    return in_order_met(identifiers(cells))[0][complete]


def _weights(public: Table, choices: Choices, decimal: str | None) -> Weights | None:
    """Return how much rows count, from the public weights; ``None`` where all count the same.

    Raises:
        InputError: the public rows have no such column, or no positive weights in it.
    """
    names = choices.weighing
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


def _usable(
    public: Table, names: list[str], choices: Choices, rules: Schema, *, decimal: str | None
) -> tuple[list[Feature], tuple[str, ...]]:
    """Return features of the named columns; unchosen columns that give none are left out, with a note."""
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
        unchosen = choices.features is None and any(kind_of(note) in _LEFT_OUT for note in one.notes)
        (identifiers if unchosen else usable).append(one)
    if not usable and not identifiers:
        raise InputError(TableMessage.NO_FEATURES)
    if not usable:
        return identifiers, tuple(notes)
    for one in identifiers:
        notes += [Note(_LEFT_OUT[kind], column=one.name) for kind in map(kind_of, one.notes) if kind in _LEFT_OUT]
    return usable, tuple(notes)


def _one_block(public: Table, coder: Coder, labelled: bool) -> Cells:
    """Return a public table as one block."""

    def one_array(name: str) -> pa.Array:
        column = public.column(name)
        return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column

    return Cells(public.cells.num_rows, {name: one_array(name) for name in coder.columns(labelled)})


def _independent(coder: Coder, x: np.ndarray) -> tuple[Coder, np.ndarray, tuple[str, ...]]:
    """Return the coder without columns that are dependent in the public rows, with a note for each.

    A public ridge lets them in, but for linear regressions alone: elsewhere it is no part of the methods' whitening.

    Raises:
        InputError: all columns are dependent, or some where such are refused.
    """
    ridged, refused = coder.choices.public_ridge > 0, coder.choices.collinear == "refuse"
    if (ridged and coder.choices.model is GAUSSIAN) or (refused and not ridged) or len(x) <= x.shape[1]:
        return coder, x, ()
    largest = np.max(np.abs(x), axis=0)
    used = np.where(largest > SMALLEST, x, 0.0)
    sizes = np.sqrt(np.mean(used**2, axis=0))
    scaled = used / np.where(sizes > 0, sizes, 1.0) / np.sqrt(len(x))
    basis = np.zeros((len(x), x.shape[1]))
    independent: list[int] = []
    notes = []
    for j, name in enumerate(coder.names):
        rest, before = scaled[:, j].copy(), basis[:, : len(independent)]
        for _ in range(2):
            rest -= before @ (before.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > _DEPENDENT:
            basis[:, len(independent)] = rest / length
            independent.append(j)
        else:
            notes.append(
                _left_out(name, scaled, independent, j, names=coder.names, tiny=bool(0 < largest[j] <= SMALLEST))
            )
    if not independent or (independent == [0] and coder.choices.intercept):
        raise InputError(TableMessage.ALL_CONSTANT)
    combinations = [note for note in notes if note.kind is TableNote.COLLINEAR]
    if refused and combinations:
        facts = combinations[0].facts
        raise InputError(PublicMessage.COLLINEAR_LABELS, column=facts["column"], columns=facts["columns"])
    if not notes or refused:
        return coder, x, ()
    return replace(coder, used=tuple(independent)), x[:, independent], tuple(notes)


def _left_out(
    name: str, scaled: np.ndarray, independent: list[int], j: int, *, names: tuple[str, ...], tiny: bool
) -> Note:
    """Say why a column is left out."""
    if tiny:
        return Note(TableNote.TINY, column=name, limit=SMALLEST)
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
    """Return the chosen features in public order."""
    common = common_columns(private, public)
    columns = list(public.columns)
    missing = [name for name in choices.weighing if name not in private.columns]
    if missing:
        raise InputError(TableMessage.NO_PRIVATE_WEIGHTS, column=missing[0])
    for name in (choices.target, *(choices.features or ())):
        unlabelled = name == choices.target and choices.model is not GAUSSIAN and isinstance(public, Table)
        if unlabelled and name not in columns and name in private.columns:
            continue  # labels are private only
        if name not in columns:
            raise InputError(TableMessage.NO_PUBLIC_COLUMN, columns=[name], present=_near_first([name], columns))
        if name not in common:
            raise InputError(TableMessage.NO_PRIVATE_COLUMN, column=name)
    chosen = common if choices.features is None else list(choices.features)
    names = [name for name in chosen if name not in (choices.target, *choices.beside_features, *_INTERCEPT_NAMES[:1])]
    if isinstance(public, MomentTable):
        names = _without_intercept(names, choices)
    if not names and len(common) == 1 < max(len(columns), len(private.columns)):
        raise InputError(TableMessage.NO_OTHER_COMMON_COLUMN, column=common[0])
    if not names:
        raise InputError(TableMessage.NO_FEATURES)
    return names


def _without_intercept(names: Iterable[str], choices: Choices) -> list[str]:
    """Return columns of a moment matrix without the row of its intercept.

    Raises:
        InputError: that was chosen as a feature.
    """
    for name in choices.features or ():
        if name in _INTERCEPT_NAMES:
            raise InputError(TableMessage.FEATURE_IS_INTERCEPT, column=name)
    return [name for name in names if name not in _INTERCEPT_NAMES]


def _numeric_coder(features: list[str], choices: Choices, decimal: str | None = ".") -> Coder:
    target = coding(None, choices.target, choices.model, choices.positive, kind=choices.target_kind)
    return Coder(tuple(numeric(name) for name in features), choices, target, decimal)


def _moment_side(
    public: MomentTable, choices: Choices, features: list[str], public_rows: int | None, *, schema: Schema | None
) -> PublicSide:
    """Prepare a public side that is a moment matrix: numeric features only."""
    if choices.weighing:
        raise InputError(TableMessage.WEIGHTS_NEED_ROWS)
    coder = _numeric_coder(features, choices)
    order = [*features, choices.target]
    if choices.missing == "public-median":
        raise InputError(TableMessage.NO_MEDIANS)
    if choices.intercept:
        given = [name for name in _INTERCEPT_NAMES if name in public.columns]
        if not given:
            raise InputError(TableMessage.NO_INTERCEPT_ROW, column=INTERCEPT)
        order = [given[0], *order]
    at = [public.columns.index(name) for name in order]
    data = public_from_moment(
        public.matrix[np.ix_(at, at)],
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
    """Return what becomes of private rows with gaps under a policy that fills them."""
    kinds = {"empty-row": TableNote.EMPTY_ROWS, "public-median": TableNote.FILLED_GAPS}
    return (Note(kinds[choices.missing]),) if choices.missing in kinds else ()
