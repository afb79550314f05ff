"""The sentences of errors and notes, each under its kind.

An error or a note is made of a kind and of the facts it concerns (columns, counts, limits). Code and tests ask for the
kind and the facts; the sentence is rendered from them here, last, and nothing reads it again. A member keeps its name;
its value is the template of the sentence, in the form *what is wrong and where; what to do*.

A template takes ``{column!r}``, ``{n:,}`` and other formats of Python, and three of its own: ``{columns:listed}`` for
``'a', 'b' and 3 more`` (``listed 12`` shows up to twelve), ``{words:joined}`` for ``a, b, c``, and ``{n:plural row}``
for ``2,000 rows``.

No fact is a value of a private cell, or a name that only the private table has; :data:`FACTS` says what each one is.
"""

from __future__ import annotations

import string
from collections.abc import Iterable, Mapping
from enum import Enum, unique
from typing import Any, Self, final

from pmtcore.base.numbers import plural


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return names as a phrase: ``'a', 'b' and 3 more``.

    Args:
        names: the names, each cut after 60 characters.
        most: how many are shown.

    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    items = [str(name) for name in names]
    shown = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in items[:most])
    rest = len(items) - most
    return shown if rest <= 0 else f"{shown} and {rest} more"


@final
class _Formatter(string.Formatter):
    """Format of templates: Python's, and ``listed``, ``joined`` and ``plural`` as the module says."""

    def format_field(self, value: Any, format_spec: str) -> str:
        form, _, rest = format_spec.partition(" ")
        if form == "listed":
            return listed(value, int(rest or 5))
        if form == "joined":
            return ", ".join(value)
        if form == "plural":
            return plural(value, rest)
        return str(super().format_field(value, format_spec))


_FORMATTER = _Formatter()


class Message(Enum):
    """Base of the kinds: a member's value is the template of its sentence."""

    @property
    def facts(self) -> frozenset[str]:
        """The names of the facts that the template takes."""
        return frozenset(name for _, name, _, _ in _FORMATTER.parse(self.value) if name)

    def sentence(self, **facts: Any) -> str:
        """Render the sentence.

        Raises:
            KeyError: a fact of the template is not given.
        """
        return _FORMATTER.vformat(self.value, (), facts)

    def statement(self, **facts: Any) -> str:
        """Render what is wrong, without the advice: the template up to its first semicolon, without a full stop.

        The template is cut before names are put in, so a semicolon in a column's name cuts nothing.
        """
        return _FORMATTER.vformat(self.value.partition(";")[0].rstrip("."), (), facts)


@final
class Note(str):
    """A sentence that knows its kind: shown, stored and exported as any text.

    Attributes:
        kind: what code and tests ask for.
        facts: what the sentence was rendered from.
    """

    kind: Message
    facts: Mapping[str, Any]

    def __new__(cls, kind: Message, /, **facts: Any) -> Self:
        """Render the sentence of a kind from its facts."""
        made = super().__new__(cls, kind.sentence(**facts))
        made.kind, made.facts = kind, facts
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[Message], dict[str, Any]]:
        return (self.kind,), dict(self.facts)


def kind_of(note: str) -> Message | None:
    """Return the kind of a note; None for one that was stored as text, or written where it was made."""
    return note.kind if isinstance(note, Note) else None


@unique
class TableMessage(Message):
    """What is wrong with tables, or with the choices about them."""

    PENALTY_OF_LINEAR_FIT = "The ridge penalty of a linear fit is a parameter of its method; set it there."
    TARGET_AMONG_FEATURES = "The target {column!r} is also among the features; leave it out there."
    FEATURE_TWICE = "A feature is named twice; name each feature once."
    FORMULA_AND_FEATURES = "Give a formula, or target and features: the formula names both."
    CLUSTERS_NEED_LINEAR = "Errors are clustered in linear regressions only."
    WEIGHTS_ARE_NO_FEATURE = "{column!r} says how much a row counts, and nothing else."
    WEIGHTS_NEED_LINEAR = "Weights are for linear regressions: a label's loss takes no fraction of a row here."
    WEIGHTS_OF_MEANS = "The mean of a person's rows has no weight; take their first rows."
    WEIGHTS_REFUSE_NO_ROW = "With weights no row is refused: choose 'empty-row'."
    PERSON_IS_NO_FEATURE = "{column!r} says whose a row is; leave it out of the features and the target."
    MEAN_OF_LABELS = "The mean of a person's labels is no label; let their first rows count (rule 'first')."
    PEOPLE_REFUSE_NO_ROW = (
        "With an identifier column no row is refused: choose 'empty-row' or 'public-median', and 'other'."
    )
    CHOICES_UNREADABLE = "The choices about the tables cannot be read."
    CATEGORIES_FORM = "Declared categories are written as 'column = a | b | c', got {given!r}."
    CLUSTER_NEEDS_FILES = "A cluster reads files that its workers can reach; give a path, not an upload or a query."
    WORKER_FAILED = "A worker could not sum its part of the private table ({reason})."
    NO_DASK = "Dask is not installed: pip install 'second-moment[dask]'."
    NO_SCHEDULER = "No Dask scheduler answers at {address}; check the address."
    CLUSTER_FAILED = "The cluster did not finish a pass ({reason}); look at its log, or run without it."
    UNKNOWN_LEVELS = (
        "Column {columns:listed} of the {table} table has levels that the public table does not have; declare them, "
        "or choose the policy 'other' for unseen levels."
    )
    MISSING_VALUES = (
        "The {table} table has missing values in {columns:listed}; choose a policy for missing values, or leave these "
        "columns out."
    )
    TOO_MANY_FEATURES = "The features make {count} columns; at most {limit} can be used: choose fewer."
    NAME_TOO_LONG = (
        "The column {columns:listed 1} has a name of {count} characters (a category counts as part of the name); at "
        "most {limit} can be used: shorten it, or leave the column out."
    )
    NEW_ROWS_LACK_COLUMNS = "The table of new rows has no column {columns:listed}; it needs {needed:listed}."
    DESIGN_UNREADABLE = "The record's 'design' cannot be read; ask for the original file."
    UTF16 = "{where} is written in UTF-16 ('Unicode text'); save it as CSV in UTF-8."
    NOT_A_TABLE = "{where} is not a table in text or Parquet form; save it as CSV, TSV or Parquet."
    ONE_COLUMN = "{where} has a single column; columns must be separated by comma, tab, semicolon or bar."
    HEADER_UNREADABLE = "{where} has a header row that cannot be read; check its quotes."
    NO_HEADER = "{where} has no header row: its first row holds numbers; add a row of column names."
    TOO_MANY_COLUMNS = "{where} has {count} columns; at most {limit} are read: leave columns out."
    NAMES_TWICE = "{where} has {columns:listed} more than once; rename the columns so that each name is there once."
    NAME_TWICE = "{where} has a column name more than once; rename the columns so that each name is there once."
    TOO_MANY_CATEGORIES = (
        "Column {column!r} has {count} different texts in the public table (at most {limit} categories); leave it "
        "out, or declare its levels."
    )
    SLASHED_DATES = (
        "Column {column!r} has {count} different texts in the public table (at most {limit} categories); write its "
        "dates as 2020-12-31 or 31.12.2020, leave it out, or declare its levels."
    )
    PARQUET_UNREADABLE = "{where} looks like Parquet but cannot be read; write the file again."
    UNNAMED_COLUMN = "{where} has a column without a name (number {number}); name every column."
    EMPTY_COLUMN = "Column {column!r} of the public table is empty; leave it out."
    ONE_CATEGORY = "Column {column!r} has fewer than two categories with public rows; leave it out."
    FORMULA_OF_OTHER_VERSION = "The record's formula makes other columns here; ask for the version that wrote it."
    FORMULA_LACKS_COLUMNS = "The {table} table has no column {columns:listed}, which the formula names."
    FORMULA_TOO_LONG = "A formula has at most {limit:,} characters."
    FORMULA_UNREADABLE = "The formula {formula!r} cannot be read: {reason}"
    FORMULA_TWO_RIGHT_SIDES = "A formula has one right side, got {formula!r}."
    FORMULA_FORM = "A formula reads 'target ~ features', such as 'y ~ age + C(sex)', got {formula!r}."
    FORMULA_BAR = (
        "A formula takes no '|': write fixed effects as categories, 'y ~ x + C(g)', where the levels of g are public; "
        "instruments are asked of a released moment, Moment.iv(formula, instruments=...)."
    )
    FORMULA_LEFT_SIDE = "The left side of a formula is one column, got {given!r}; compute it in the tables first."
    FORMULA_UNUSABLE = "The formula {formula!r} cannot be used: {reason}"
    NUMBER_AND_CATEGORIES = "The formula takes {columns:listed} as a number and as categories; make a column for each."
    NOT_AN_EXPRESSION = "{expression!r} in the formula is no expression of columns and functions."
    NOT_ROW_BY_ROW = (
        "{expression!r} in the formula is not known to work on each row alone; use columns, arithmetic, and "
        "{functions:joined}."
    )
    NO_FORMULAIC = "Formulas need formulaic: pip install formulaic."
    TOO_MANY_RELEASES = (
        "This asks for {count:,} releases (methods times places times trials); at most {limit:,} are repeated: choose "
        "fewer trials."
    )
    TOO_MANY_FITS = (
        "This asks for {count:,} fits of a table this large; at most {limit:,} are made: choose fewer trials, places "
        "or columns."
    )
    NO_NAMED_TABLE = "There is no table called {given!r}; choose one of {allowed:joined}."
    TABLE_NOT_HERE = (
        "The table {title!r} is not on this machine; get it from the UCI archive and put it as {file} into the folder "
        "that PMT_DATA_DIR names."
    )
    DEMO_TOO_SMALL = "The demo needs at least {limit} public rows for {count} features."
    NO_PERSON_COLUMN = "The private table has no column {column!r} that says whose a row is."
    TOO_MANY_PEOPLE = "There are too many people for their means; let the first rows of each count instead."
    NO_NUMERIC_COLUMN = "The two tables have no numeric column in common; a regression needs a numeric target."
    SAME_FILE = "The public table is the same file as the private one; choose rows that really are public."
    FORMULA_NEEDS_ROWS = "A formula needs public rows; with a moment matrix name target and features."
    NO_PUBLIC_COLUMN = "The public table has no column {columns:listed}; it has {present:listed}."
    NO_MOMENT_COLUMN = "The moment matrix has no column {columns:listed}; it has {present:listed}."
    OWN_ROWS_LACK_COLUMNS = "The table of own rows lacks a column of the configuration; see its 'names' and 'target'."
    CATEGORIES_IN_CONFIGURATION = "The configuration has category columns; publish one with numeric features only."
    NO_CLUSTER_COLUMN = (
        "The public table has no column {column!r}: how far rows of a group are alike is learned from public rows."
    )
    NO_PUBLIC_WEIGHTS = (
        "The public table has no column {column!r}: public rows are weighted as private ones are, so both tables need "
        "it; compute it there by the rule of the sampling design."
    )
    NO_POSITIVE_WEIGHTS = "Column {column!r} of the public table has no positive weights."
    NO_FEATURES = "No features are left beside the target; choose at least one."
    ALL_CONSTANT = "No feature differs between the public rows; choose other features, or add public rows."
    NO_COMMON_COLUMN = (
        "The two tables have no column in common; check that both start with a header row and use the same names."
    )
    NO_PRIVATE_WEIGHTS = "The private table has no column {column!r}; both tables need it."
    NO_PRIVATE_COLUMN = "The private table has no column {column!r}; choose a column that both tables have."
    WEIGHTS_NEED_ROWS = "Weights need public rows; a moment matrix is of rows that count the same."
    NO_MEDIANS = "A moment matrix has no medians; choose 'refuse' or 'empty-row' for missing values."
    NO_INTERCEPT_ROW = (
        "The moment matrix has no intercept row; add a column {column!r} of means, or switch the intercept off."
    )
    QUERY_WITHOUT_COLUMNS = "{where} has no columns; give one SELECT."
    QUERY_FAILED = "{where} cannot be answered; check the address of the database and the SELECT."
    NO_DUCKDB = "A duckdb: address needs the package duckdb; install it."
    QUERY_READS_TEXT = (
        "{where} reads a CSV or JSON file, which DuckDB understands by guessing from its rows; give the file itself "
        "as the table, or write it as Parquet."
    )
    LEVELS_TWICE = "The levels of column {column!r} must be listed, each once."
    NO_SCHEMA_COLUMN = "The schema has no column {column!r}; it has {present:listed}."
    SCHEMA_FORM = (
        "A schema is an object with 'columns' (name, kind, levels) and 'dialect' (encoding, decimal, quoting, "
        "row_names)."
    )
    SCHEMA_NOT_JSON = "The schema is not JSON, or has a name twice; it is an object with 'columns' and 'dialect'."
    EMPTY_FILE = "{where} is empty; choose a file with a header row and at least one row."
    RAGGED_ROWS = (
        "{where} has rows whose number of cells differs from the header ({count} columns, {separator} separated), or "
        "an open quote; check the separator."
    )
    DAMAGED_PARQUET = "{where} is a damaged Parquet file; write the file again."
    NOT_A_FRAME = "Rows must come as a pandas, Polars or Arrow table, or from a file."
    NAMES_NOT_TEXT = (
        "The frame has column names that are no text, such as numbers; rename them first: frame.columns = "
        "frame.columns.astype(str)."
    )
    FRAME_COLUMN_TWICE = "The frame has two columns of one name; rename or drop one of them first."
    NO_FILES = "{where} has no files; check the path."
    UNLIKE_FILES = "{where} has files of different columns; give files of one table."
    ROW_GROUP_TOO_LARGE = (
        "{where} has a row group of more than {megabytes} MB in one column; write it with smaller ones."
    )
    FILE_UNREADABLE = "The file {place!r} cannot be read: {reason}."
    GZIP_TWICE = "{where} is gzip'ed twice; unpack it once and upload it again."
    TOO_LARGE_UNPACKED = "{where} is larger than the limit after unpacking ({megabytes} MB); use a smaller table."
    NO_FILE = "There is no file {place!r}; check the path."
    GZIP_CUT_SHORT = "{where} is a gzip file cut short; upload it again."
    GZIP_DAMAGED = "{where} is a damaged gzip file, or has other bytes after its end; compress or upload it again."
    NOT_READABLE = "{where} cannot be read: {reason}."
    NO_FSSPEC = "Reading {scheme}:// needs the package fsspec; install 'second-moment[stores]'."
    ADDRESS_UNREADABLE = "The address {address!r} cannot be read; check it, and the credentials."
    SCHEMA_OF_PRIVATE_ROWS = "A schema is taken from public rows or declared, never from private ones."
    TOO_MANY_CELLS = "{where} has {count:,} cells; at most {limit:,} are held in memory: use a smaller table."
    NO_FILE_NAMED = "No file is named for the {table} table; give its path."
    NO_ROWS = "{where} has a header but no rows; check that the right file was chosen."
    MOMENT_NAMES_DIFFER = "{where} names its rows differently from its columns; use the same names in the same order."
    MOMENT_NOT_SQUARE = "{where} has {rows} rows and {count} columns; it must be square."
    MOMENT_NOT_FINITE = "{where} has entries that are missing or not finite numbers; every entry must be a number."
    NO_SUCH_LABEL = "No public row has {column} = {label!r}, the label that should count as 1."
    TOO_MANY_LABELS = (
        "Column {column!r} has {count} different values in the public table; {family} regression needs two labels: "
        "say which value counts as 1 (positive), or choose another family."
    )
    TARGET_IS_TEXT = (
        "Column {column!r} must be numeric, but in the public table it has text in it ({levels:listed 3}); choose "
        "logistic regression for two labels, or another target."
    )
    NEGATIVE_COUNTS = "Column {column!r} has negative values; a Poisson regression needs counts."


@unique
class PublicMessage(Message):
    """What is wrong with public rows or a public moment matrix."""

    TOO_FEW_GROUPS = "The public rows are of {count} groups; errors clustered by them need {limit} at least."
    ZERO_COLUMNS = "In the public table {columns:listed} is zero in every row; leave it out."
    CONSTANT = "Column {column!r} is constant in the public table; leave it out."
    COLLINEAR = (
        "Column {column!r} is a linear combination of {columns:listed} in the public table (collinear); leave one of "
        "them out, or set a public ridge."
    )
    TARGET_FITTED_EXACTLY = (
        "The public rows fit {column!r} exactly, so they say nothing about its spread; add public rows, or leave out "
        "a feature that repeats the target."
    )
    TOO_FEW_ROWS = (
        "The public table has {rows} usable rows for {count} columns (intercept and category columns counted); "
        "whitening needs at least {limit}: add public rows, or choose fewer features."
    )
    MOMENT_TOO_FEW_ROWS = (
        "The moment matrix stands on {rows} rows for {count} features; whitening needs at least {limit}."
    )
    MOMENT_NOT_SYMMETRIC = (
        "The moment matrix is not symmetric; entry (i, j) must be the mean of column i times column j."
    )
    MOMENT_NOT_POSITIVE = "The moment matrix has no positive mean square for {columns:listed}."
    MOMENT_COLLINEAR = (
        "The moment matrix is not positive definite: some features are collinear in it, or its entries were rounded "
        "too far; leave columns out, or give more digits."
    )
    NO_MODULUS = "No modulus fits this budget; choose a larger budget."


@unique
class ReleaseMessage(Message):
    """Why a release, a plan or a configuration cannot be made."""

    DECLINED = "This request was declined: {reason}"
    TOO_MANY_BUDGETS = "{count} budgets were given; at most {limit} are planned at a time."
    NO_PREDICTION = "{method} has no prediction for these public data; choose another method."
    NO_COEFFICIENT = "There is no coefficient {coefficient!r}; choose one of {present:listed}."
    REGISTERED_REFUSES_NO_ROW = "On a registered data set no policy refuses rows: that would tell of private ones."
    NOT_REGISTERED = "There is no registered data set {dataset!r}; ask a curator to register it."
    LACKING_FIELDS = (
        "A configuration needs 'method' and 'mu', and may have 'parameters', 'delta' and 'rows_per_person'."
    )
    UNKNOWN_FIELDS = (
        "A configuration needs 'method' and 'mu', and may have 'parameters', 'delta' and 'rows_per_person'; it has "
        "{fields:listed}."
    )
    PARAMETERS_FORM = "'parameters' in a configuration must be a table of names and values."
    MU_IS_TRUTH_VALUE = "mu in a configuration must be a number, got true or false."
    CONFIGURATION_NOT_JSON = (
        "The configuration is not JSON, or has a name twice; save one with 'Configuration (JSON)' or --save-config."
    )
    CONFIGURATION_FORM = "The configuration must hold one JSON object with 'method' and 'mu'."
    LAB_METHOD = (
        "{method} is for the lab and cannot be released: {reason}; choose a sound method, or study it with compare."
    )
    METHOD_WITHOUT_WEIGHTS = "{method} releases rows that count the same; with weights choose joint-pmt."
    PERSON_UNPROTECTED = (
        "A person with {rows:,} rows would be protected as by mu = {mu:,.0f}, which is not at all; no more than "
        "{limit:,.0f} is released: lower the budget, or the rows of a person."
    )


@unique
class AccountingMessage(Message):
    """Why a budget cannot be taken or met."""

    OUTSIDE_USEFUL_RANGE = (
        "epsilon = {epsilon:g} with delta = {delta:g} lies outside the useful range (mu from {low:g} to {high:g}); "
        "choose a larger delta or another epsilon."
    )
    DELTA_RANGE = "delta must be between 1e-300 and 1 (1 excluded), got {delta}."
    MODULUS_COSTS_MU = (
        "A modulus of {modulus:.4g} costs more than mu = {mu:g} for the Jacobian alone; choose a larger modulus or a "
        "larger budget."
    )
    NOISE_COSTS_TOO_MUCH = "The noise alone costs more than the budget; choose more noise."
    JACOBIAN_COSTS_TOO_MUCH = "The Jacobian alone costs more than any budget; choose a larger modulus."
    REPLACE_ONE_ONLY = "A replace-one guarantee says nothing about adding a row: plan under add-remove-one."
    MODULUS_COSTS_EPSILON = (
        "A modulus of {modulus:g} costs epsilon = {epsilon:.3g} for the Jacobian alone; choose a larger modulus or a "
        "larger budget."
    )
    MEANS_NEED_COLUMN = "A mean of each person's rows is one row, and needs the column that says whose a row is."


@unique
class TableNote(Message):
    """What was done about tables that can be used, or should be known of them."""

    REFUSES_ROWS = (
        "The policy 'refuse' answers about private rows before anything is recorded; that is outside the guarantee."
    )
    BROKEN_LINES = (
        "Public cells have line breaks. Of a private text file every line is a row, so a row with such a cell is "
        "missing: write it as Parquet, or without line breaks."
    )
    MORE_PUBLIC_ROWS = "The public table has more rows than the private one: check that they are not swapped."
    EMPTY_ROWS = (
        "A private row with a missing value is replaced by zeros, so that n stays public; how many stays secret; many "
        "would bias the fit."
    )
    ROWS_OF_A_PERSON = (
        "The bands take the rows of one person as independent: the public rows lack the identifier column, from which "
        "it is learned how far they are alike. With it errors are clustered by person; else one row of each is "
        "safer."
    )
    SHARED_ROWS = "On public rows that are private rows too the curator states: {reason}"
    UNIT = "{unit}"
    MODELLED = "Modelled: the chance that {column} is {label}."
    PUBLIC_ROW_LEFT_OUT = "1 public row with missing values was left out."
    PUBLIC_ROWS_LEFT_OUT = "{count:,} public rows with missing values were left out."
    UNLABELLED = "The public rows have no target: they serve to whiten and to choose the radius."
    CLUSTERED = "Errors are clustered by {column!r}, as far as public rows of one group are alike."
    WEIGHTED = "Rows count by {column!r}, divided by its public mean; no weight or a negative one: not."
    PASTED = (
        "The public table is pasted together several times: {count:,} of {rows:,} public rows are copies; one copy "
        "was counted."
    )
    LEFT_OUT = "{statement}: left out."
    ZERO = "{column!r} is zero in every public row: left out."
    CONSTANT = "{column!r} is constant in the public rows: left out."
    COLLINEAR = "{column!r} is a combination of {columns:listed} in the public rows (collinear): left out."
    DATES = "Dates of {column!r} count as days since 1970-01-01."
    UNREADABLE_CELL = "1 public cell of {column!r} is no {form} and counts as missing."
    UNREADABLE_CELLS = "{count:,} public cells of {column!r} are no {form}s and count as missing."
    REFERENCES = "Categories are compared with {levels:joined}."
    RARE_LEVELS = "Categories of {column!r} with fewer than two public rows count as {become}: {levels:listed}."
    UNKNOWN_LEVELS = "Categories of {columns:listed 99} that the public table does not have count as {become}."
    FEW_PRIVATE_ROWS = "The private table has {rows:plural row}: no budget lets a release say anything about so few."
    FEW_PUBLIC_ROWS = "{rows} public rows for {count} columns are few: whitening will be rough; add public rows."
    SWAPPED = (
        "The public table has {public_rows:,} rows, the private one {private_rows:,}: check that they are not swapped."
    )
    PUBLIC_ONLY = "The private table has no column {columns:listed}: left out."
    PRIVATE_COLUMN = "1 column of the private table is not in the public one: left out."
    PRIVATE_COLUMNS = "{count} columns of the private table are not in the public one: left out."
    NOT_IN_BOTH = "Not both tables have {columns:listed}."
    TARGET_NOT_IN_BOTH = "Not both tables have the target {column!r}."
    TEXT_TARGET = "The target {column!r} has {count:plural text value}: {levels:listed}."
    NOT_TWO_LABELS = "The target {column!r} has {count} different values; a regression of labels needs two."
    MOSTLY_NUMBERS = "{share:.0%} of the public cells of {column!r} are numbers, the others text: read as categories."
    SOME_NOT_NUMBERS = "Some public cells of {column!r} are not numbers: they count as missing."
