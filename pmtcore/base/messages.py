"""Errors and notes: the kinds, the sentence of each, the error that a user sees, and the checks that raise it.

An error or a note is made of a kind and of the facts it concerns (columns, counts, limits). Code and tests ask for the
kind and the facts; the sentence is rendered from them here, last, and nothing reads it again. A member keeps its name;
its value is the template of the sentence, in the form *what is wrong and where; what to do*.

A template takes ``{column!r}``, ``{n:,}`` and other formats of Python, and four of its own: ``{columns:listed}`` for
``'a', 'b' and 3 more`` (``listed 12`` shows up to twelve), ``{words:joined}`` for ``a, b, c``,
``{references:paired}`` for ``'north' of 'town', ...``, and ``{n:plural row}`` for ``2,000 rows``.

No fact is private: ``tests/base/test_messages.py`` says what each one is, and holds every template to these.
"""

import copyreg
import math
import string
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, unique
from typing import Any, Self

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


class _Formatter(string.Formatter):
    """Format of templates: Python's, and ``listed``, ``joined``, ``paired`` and ``plural`` as the module says."""

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401
        form, _, rest = format_spec.partition(" ")
        if form == "listed":
            return listed(value, int(rest or 5))
        if form == "joined":
            return ", ".join(value)
        if form == "paired":
            return ", ".join(f"{of!r} of {name!r}" for name, of in value.items())
        if form == "plural":
            return plural(value, rest)
        return str(super().format_field(value, format_spec))


_FORMATTER = _Formatter()


class Message(Enum):
    """Base of the kinds: a member's value is the template of its sentence."""

    @property
    def facts(self) -> frozenset[str]:
        """Return the names of the facts that the template takes."""
        return frozenset(name for _, name, _, _ in _FORMATTER.parse(self.value) if name)

    def sentence(self, **facts: object) -> str:
        """Render the sentence.

        Raises:
            KeyError: a fact of the template is not given.
        """
        return _FORMATTER.vformat(self.value, (), facts)

    def statement(self, **facts: object) -> str:
        """Render what is wrong, without the advice: the template up to its first semicolon, without a full stop.

        The template is cut before names are put in, so a semicolon in a column's name cuts nothing.
        """
        return _FORMATTER.vformat(self.value.partition(";")[0].rstrip("."), (), facts)


class Note(str):
    """A sentence that knows its kind: shown, stored and exported as any text.

    Attributes:
        kind: what code and tests ask for.
        facts: what the sentence was rendered from.
    """

    kind: Message
    facts: Mapping[str, Any]

    def __new__(cls, kind: Message, /, **facts: object) -> Self:
        """Render the sentence of a kind from its facts."""
        made = super().__new__(cls, kind.sentence(**facts))
        made.kind, made.facts = kind, facts
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[Message], dict[str, Any]]:
        return (self.kind,), dict(self.facts)


def kind_of(note: str) -> Message | None:
    """Return the kind of a note; None for one that was stored as text, or written where it was made."""
    return note.kind if isinstance(note, Note) else None


MOST_HELD = 2**27  # numbers of all rows at once: 1 GB, and what holds its rows needs a few times that at work


class InputError(ValueError):
    """Bad input, in one sentence that says what is wrong, where, and what to do.

    The sentence is shown to whoever is at the screen and may land in a log: it never holds a value taken
    from a private row, nor a column or level name that only the private table has.

    Attributes:
        message: the kind of its sentence; None for one that was written where it was raised.
        kind: what code and tests ask for: the message, or the class of questions that a subclass refuses.
        facts: what the sentence was rendered from.
        endings: sentences that follow: what became of a spend.
    """

    # Whether an error of the program itself is behind it.
    by_program = False
    kind: Enum | None = None
    message: Message | None = None
    endings: tuple[str, ...] = ()

    def __init__(self, message: Message | str, /, **facts: object) -> None:
        super().__init__(message.sentence(**facts) if isinstance(message, Message) else message)
        self.facts: Mapping[str, Any] = facts
        if isinstance(message, Message):
            self.kind = self.message = message

    def __reduce__(self) -> tuple[Any, ...]:
        # In another process no constructor runs: a subclass may take other arguments than the sentence.
        return copyreg.__newobj__, (type(self), *self.args), self.__dict__  # type: ignore[attr-defined]

    def __str__(self) -> str:
        return " ".join((*map(str, self.args[:1]), *self.endings))

    def add(self, sentence: str) -> None:
        """Let another sentence follow, once."""
        if sentence not in self.endings:
            self.endings += (sentence,)

    @property
    def note(self) -> str:
        """Return the sentence, with its kind where it has one."""
        return str(self) if self.message is None else Note(self.message, **self.facts)

    @property
    def statement(self) -> str:
        """Return the sentence without its advice, as a note says it."""
        return str(self) if self.message is None else self.message.statement(**self.facts)


# What reading data of another form than expected raises.
_MALFORMED = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


@contextmanager
def reraised_as(error: Exception, *kinds: type[Exception]) -> Iterator[None]:
    """Raise ``error`` in place of exceptions of these kinds; an :class:`InputError` says enough and passes.

    Args:
        error: what is raised.
        kinds: kinds of exceptions; without one, all that reading malformed data raises.
    """
    kinds = kinds or _MALFORMED
    try:
        yield
    except InputError:
        raise
    except kinds:
        raise error from None


def number_between(name: str, value: float | str, low: float, high: float) -> float:
    """Return the value as a float; NaN is refused as out of range.

    Raises:
        InputError: the value is not a number, or is out of range.
    """
    try:
        result = float(value)
    except OverflowError:  # a whole number of more than 308 digits
        raise InputError(ArgumentMessage.FAR_TOO_LARGE, name=name, low=low, high=high) from None
    except (TypeError, ValueError):
        raise InputError(ArgumentMessage.NOT_A_NUMBER, name=name, low=low, high=high, given=value) from None
    if not low <= result <= high:
        raise InputError(ArgumentMessage.OUT_OF_RANGE, name=name, low=low, high=high, given=value)
    return result


def whole_number_between(name: str, value: float | str, low: int, high: int) -> int:
    """Return the value as an int.

    Raises:
        InputError: the value is not whole, or is out of range.
    """
    result = number_between(name, value, low, high)
    if not math.floor(result) == result:
        raise InputError(ArgumentMessage.NOT_WHOLE, name=name, low=low, high=high, given=value)
    return int(result)


def one_of(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return the value where it is one of the allowed words.

    Raises:
        InputError: the value is another word.
    """
    words = list(allowed)
    if value not in words:
        raise InputError(ArgumentMessage.NOT_ONE_OF, name=name, allowed=words, given=value)
    return value


def check_held(n: int, width: int) -> None:
    """Refuse to hold n rows of so many numbers at once: n is public, and a machine without memory would end the run.

    Raises:
        InputError: too many.
    """
    if n * width > MOST_HELD:
        raise InputError(ArgumentMessage.TOO_MANY_ROWS_AT_ONCE, rows=n, count=width, limit=MOST_HELD // 10**6)


class Refusal(Enum):
    """Why a question about a result, a formula or a set of moments has no answer."""

    SCORE = "score"
    LEVEL = "level"
    CONSTRAINTS = "constraints"
    NO_COVARIANCE = "no covariance"
    NO_DESIGN = "no design"
    NO_RECORD = "no record"
    NEWER_RECORD = "newer record"
    NO_FORMULA = "no formula"
    FIXED_EFFECTS = "fixed effects"
    UNKNOWN_COLUMN = "unknown column"
    NOT_ROW_BY_ROW = "not row by row"
    REPEATED_COLUMN = "repeated column"
    COLUMN_NAMES = "column names"
    INSTRUMENTS = "instruments"
    NOT_NESTED = "not nested"
    UNLIKE_MOMENTS = "unlike moments"
    OVERLAPPING_TABLES = "overlapping tables"
    WEIGHTS = "weights"
    CLUSTERS = "clusters"
    EXPOSURE = "exposure"
    PUBLIC_COVARIATES = "public covariates"


class RefusedError(InputError):
    """Bad input with a kind.

    Attributes:
        kind: the class of questions that have no answer; ``message`` says which sentence.
    """

    kind: Refusal

    def __init__(self, kind: Refusal, message: Message | str, /, **facts: object) -> None:
        super().__init__(message, **facts)
        self.kind = kind


class CapError(InputError):
    """A ledger's cap refuses a spend; nothing was released."""


@unique
class TableMessage(Message):
    """What is wrong with tables, or with the choices about them."""

    PENALTY_OF_LINEAR_FIT = "The ridge penalty of a linear fit is a parameter of its method; set it there."
    TARGET_AMONG_FEATURES = "The target {column!r} is also among the features; leave it out there."
    COLUMN_THERE = "There is a column {column!r} already; rename it."
    FEATURE_TWICE = "A feature is named twice; name each feature once."
    FORMULA_AND_FEATURES = "Give a formula, or target and features: the formula names both."
    EXPOSURE_NEEDS_COUNTS = "An exposure is for counts: choose the family 'poisson'."
    EXPOSURE_WEIGHS = "{column!r} is the exposure, which weighs its row already; leave it out of the weights."
    KINDS_FORM = "Kinds of columns are written as 'column = kind', of {allowed:joined}; got {given!r}."
    WEIGHTS_ARE_NO_FEATURE = (
        "{column!r} says how much a row counts, and nothing else; leave it out of the features and the target."
    )
    COVARIATES_NEED_LINEAR = (
        "Only a linear fit protects responses alone; take the family 'gaussian', or leave 'covariates' private."
    )
    RESPONSE_IS_NO_COVARIATE = (
        "The right side of the formula uses the target {column!r}, which is private; leave it out there."
    )
    COVARIATES_OF_MEANS = (
        "With public covariates a person counts with their first rows (rule 'first'): which rows enter a mean would "
        "depend on responses."
    )
    WEIGHTS_OF_MEANS = "The mean of a person's rows has no weight; take their first rows."
    WEIGHTS_REFUSE_NO_ROW = "With weights no row is refused: choose 'empty-row'."
    PERSON_IS_NO_FEATURE = "{column!r} says whose a row is; leave it out of the features and the target."
    MEAN_OF_LABELS = "The mean of a person's labels is no label; let their first rows count (rule 'first')."
    PEOPLE_REFUSE_NO_ROW = (
        "With an identifier column no row is refused: choose 'empty-row' or 'public-median', and 'other'."
    )
    CHOICES_UNREADABLE = "The choices about the tables cannot be read; save the configuration anew."
    CATEGORIES_FORM = "Declared categories are written as 'column = a | b | c', got {given!r}."
    CLUSTER_NEEDS_FILES = "A cluster reads files that its workers can reach; give a path, not an upload or a query."
    WORKER_FAILED = (
        "A worker could not sum its part of the private table ({reason}); look at its log, or run without the cluster."
    )
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
    NAME_TWICE = "{where} has one name for columns {places:listed}; rename them so that each name is there once."
    TOO_MANY_CATEGORIES = (
        "Column {column!r} has {count} different texts in the public table (at most {limit} categories); leave it "
        "out, or declare its levels."
    )
    SIGNED_NUMBERS = (
        "Column {column!r} has {count} different texts in the public table (at most {limit} categories), most of them "
        "numbers with the sign {sign}; read it as numbers (kind {form}), or leave the column out."
    )
    SLASHED_DATES = (
        "Column {column!r} has {count} different texts in the public table (at most {limit} categories); read "
        "its dates in their order (kind day-first or month-first), write them as 2020-12-31, or leave it out."
    )
    PARQUET_UNREADABLE = "{where} looks like Parquet but cannot be read; write the file again."
    TITLE_LINE = (
        "{where} has a first line with text in one of its {count} cells, as a title has; delete the lines above the "
        "row of column names."
    )
    UNNAMED_COLUMN = "{where} has a column without a name (number {number}); name every column."
    EMPTY_COLUMN = (
        "Column {column!r} of the public table has no number, date or text in it; leave it out, or choose another "
        "target."
    )
    ONE_CATEGORY = "Column {column!r} has fewer than two categories with public rows; leave it out."
    FORMULA_OF_OTHER_VERSION = "The record's formula makes other columns here; use the version that wrote it."
    FORMULA_LACKS_COLUMNS = (
        "The {table} table has no column {columns:listed}, which the formula names; check the names."
    )
    FORMULA_TOO_LONG = "A formula has at most {limit:,} characters; compute columns in the tables first."
    FORMULA_MANY_TERMS = (
        "Multiplied out, the formula has more than {limit:,} terms; name the products that matter, such as a:b."
    )
    FORMULA_READS_PUBLICLY = (
        "A formula reads {columns:listed} as the public table shows it; leave out the kind or the levels that are "
        "declared of it, or name features in place of a formula."
    )
    DECLARED_NOWHERE = (
        "A kind or levels are declared of {columns:listed}, and the public table has no such column; it has "
        "{present:listed}."
    )
    FORMULA_UNREADABLE = "The formula {formula!r} cannot be read: {reason}"
    FORMULA_TWO_RIGHT_SIDES = "A formula has one right side, got {formula!r}; write each model as a formula of its own."
    FORMULA_FORM = "A formula reads 'target ~ features', such as 'y ~ age + C(sex)', got {formula!r}."
    FORMULA_BAR = (
        "After '|' a formula names columns whose public levels are fixed effects: 'y ~ x | firm + year'. Instruments "
        "are asked of a released moment: Moment.iv(formula, instruments=...)."
    )
    MANY_EFFECTS = (
        "{column!r} has {count:,} public levels; as columns of a fit {limit} are taken. Absorbing them would need the "
        "mean of each group of private rows, which is more than a row by itself and would have to be paid for: group "
        "the levels, or take differences in the table beforehand."
    )
    FORMULA_LEFT_SIDE = "The left side of a formula is one column, got {given!r}; compute it in the tables first."
    FORMULA_UNUSABLE = "The formula {formula!r} cannot be used: {reason}"
    NUMBER_AND_CATEGORIES = "The formula takes {columns:listed} as a number and as categories; make a column for each."
    NOT_AN_EXPRESSION = (
        "{expression!r} in the formula is no expression of columns and functions; name columns, and functions of them."
    )
    NOT_ROW_BY_ROW = (
        "{expression!r} in the formula is not known to work on each row alone; use columns, numbers up to 1e60, "
        "arithmetic (+ - * / // % **), and functions of one column or expression: {functions:joined}."
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
    NO_PERSON_COLUMN = "The private table has no column {column!r} that says whose a row is; check its name."
    TOO_MANY_PEOPLE = "There are too many people for their means; let the first rows of each count instead."
    NO_NUMERIC_COLUMN = "The two tables have no numeric column in common; a regression needs a numeric target."
    SAME_FILE = "The public table is the same file as the private one; choose rows that really are public."
    FORMULA_NEEDS_ROWS = "A formula needs public rows; with a moment matrix name target and features."
    NO_PUBLIC_COLUMN = "The public table has no column {columns:listed}; it has {present:listed}."
    NO_MOMENT_COLUMN = "The moment matrix has no column {columns:listed}; it has {present:listed}."
    OWN_ROWS_LACK_COLUMNS = "The table of own rows lacks a column of the configuration; see its 'names' and 'target'."
    CATEGORIES_IN_CONFIGURATION = "The configuration has category columns; publish one with numeric features only."
    NO_CLUSTER_COLUMN = (
        "The public table has no column {column!r}: the correlation within groups is estimated from public rows; add "
        "the column, or leave the cluster out."
    )
    NO_PUBLIC_WEIGHTS = (
        "The public table has no column {column!r}: public rows are weighted as private ones are, so both tables need "
        "it; compute it there by the rule of the sampling design."
    )
    NO_POSITIVE_WEIGHTS = (
        "Column {column!r} of the public table has no positive weights; choose the column of the sampling weights."
    )
    NO_FEATURES = "No features are left beside the target; choose at least one."
    NO_OTHER_COMMON_COLUMN = (
        "The two tables have no column in common but {column!r}: both need the target and the features under the same "
        "names; take the public table of the same population."
    )
    ALL_CONSTANT = "No feature differs between the public rows; choose other features, or add public rows."
    NO_COMMON_COLUMN = (
        "The two tables have no column in common; check that both start with a header row and use the same names."
    )
    NO_PRIVATE_WEIGHTS = "The private table has no column {column!r}; both tables need it."
    NO_PRIVATE_COLUMN = "The private table has no column {column!r}; choose a column that both tables have."
    WEIGHTS_NEED_ROWS = "Weights need public rows; the rows behind a moment matrix all count the same."
    NO_MEDIANS = "A moment matrix has no medians; choose 'refuse' or 'empty-row' for missing values."
    NO_INTERCEPT_ROW = (
        "The moment matrix has no intercept row; add a column {column!r} of means, or switch the intercept off."
    )
    QUERY_WITHOUT_COLUMNS = "{where} has no columns; give one SELECT."
    QUERY_FAILED = "{where} cannot be answered; check the address of the database and the SELECT."
    NO_DUCKDB = "A duckdb: address needs the package duckdb; install it."
    QUERY_READS_TEXT = (
        "{where} reads a CSV or JSON file, whose types DuckDB guesses from its rows; give the file itself as the "
        "table, or write it as Parquet."
    )
    LEVELS_TWICE = "The levels of column {column!r} must be listed, each once."
    CODES_FORM = (
        "Column {column!r} of kind coded needs the numbers that stand for a missing value as its levels, such as -999."
    )
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
    NO_FILES = "{where} is a folder or pattern without a Parquet file; check the path."
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
    ADDRESS_UNREADABLE = (
        "The address {address!r} cannot be read; check it, and the credentials; a database needs a query too."
    )
    SCHEMA_OF_PRIVATE_ROWS = "A schema is never taken from private rows; take it from public ones, or declare it."
    TOO_MANY_CELLS = "{where} has {count:,} cells; at most {limit:,} are held in memory: use a smaller table."
    NO_FILE_NAMED = "No file is named for the {table} table; give its path."
    NO_ROWS = "{where} has a header but no rows; check that the right file was chosen."
    MOMENT_NAMES_DIFFER = "{where} names its rows differently from its columns; use the same names in the same order."
    MOMENT_NOT_SQUARE = "{where} has {rows} rows and {count} columns; it must be square."
    MOMENT_NOT_FINITE = "{where} has entries that are missing or not finite numbers; every entry must be a number."
    NO_SUCH_LABEL = (
        "No public row has {column} = {label!r}, the label that should count as 1; choose a label that public rows "
        "have."
    )
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

    TOO_FEW_GROUPS = "The public rows belong to {count} groups; clustered errors need at least {limit}."
    ZERO_COLUMNS = "In the public table {columns:listed} is zero in every row; leave it out."
    CONSTANT = "Column {column!r} is constant in the public table; leave it out."
    COLLINEAR = (
        "Column {column!r} is a linear combination of {columns:listed} in the public table (collinear); leave one of "
        "them out, or set a public ridge."
    )
    COLLINEAR_LABELS = (
        "Column {column!r} is a linear combination of {columns:listed} in the public table (collinear); leave one of "
        "them out: a public ridge helps linear regressions alone."
    )
    TARGET_CONSTANT = (
        "The target {column!r} has one value in all public rows, so they say nothing about its spread; add public rows "
        "with other values."
    )
    TARGET_FITTED_EXACTLY = (
        "The public rows fit {column!r} exactly, so they say nothing about its spread; add public rows, or leave out "
        "a feature that repeats the target."
    )
    TOO_FEW_ROWS = (
        "The public table has {rows:plural usable row} for {count} columns (intercept and category columns counted); "
        "whitening needs at least {limit}: add public rows, or choose fewer features."
    )
    TOO_FEW_COMPLETE_ROWS = (
        "Only {rows} of {total} public rows have a value in every chosen column, and {count} columns (intercept and "
        "category columns counted) need at least {limit}: leave out {columns:listed}, or fill gaps with public medians."
    )
    MOMENT_TOO_FEW_ROWS = (
        "The moment matrix rests on {rows} rows for {count} features; whitening needs at least {limit}."
    )
    MOMENT_NOT_SYMMETRIC = (
        "The moment matrix is not symmetric; entry (i, j) must be the mean of column i times column j."
    )
    MOMENT_NOT_POSITIVE = "The moment matrix has no positive mean square for {columns:listed}; leave it out."
    MOMENT_COLLINEAR = (
        "The moment matrix is not positive definite: some features are collinear in it, or its entries were rounded "
        "too far; leave columns out, or give more digits."
    )
    NO_MODULUS = "No modulus fits this budget; choose a larger budget."


@unique
class ReleaseMessage(Message):
    """Why a release, a plan or a configuration cannot be made."""

    DECLINED = "This request was declined: {reason}"
    SERVER_BUSY = (
        "This server has {count} long runs under way, the most that it takes at a time; press again in a minute. "
        "Nothing is lost."
    )
    PERSON_BUSY = "You have {count} long runs under way; wait for one, or stop it."
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
        "{method} is for the lab and cannot be released: {reason}; choose a sound method, or study it with {command}."
    )
    COVARIATES_NOT_DECLARED = (
        "{method} protects the responses alone, and uses the covariates of the private rows as they are: say that "
        "these are public (covariates='public', on the command line --covariates public), or choose another method."
    )
    RESPONSES_NEED_ROWS = "This method needs public rows; a moment matrix does not tell how far responses lie."
    METHOD_WITHOUT_CLUSTERS = (
        "{method} states errors as if rows were independent; with a cluster choose {methods:listed}, or joint-moment "
        "with public_rows=yes."
    )
    PLACES_SHARE_NOISE = (
        "{method} with PrivUnit protects a row at its place in the table, and with a person column rows move up where "
        "another person has fewer; set randomizer=gaussian, or leave the person column out."
    )
    PERSON_UNPROTECTED = (
        "A person with {rows:,} rows would be protected at mu = {mu:,.0f}, which is no protection at all; at most "
        "{limit:,.0f} is released: lower the budget, or the rows of a person."
    )


@unique
class AccountingMessage(Message):
    """Why a budget cannot be taken or met."""

    OUTSIDE_USEFUL_RANGE = (
        "epsilon = {epsilon:g} with delta = {delta:g} lies outside the useful range (mu from {low:g} to {high:g}); "
        "choose a larger delta or another epsilon."
    )
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
    DECIMAL_COMMA = (
        "Numbers of the public file have a decimal comma, so 16,734 is read as 16.734; a file that means thousands by "
        "it needs a declared schema."
    )
    BROKEN_LINES = (
        "Public cells have line breaks. Of a private text file every line is a row, so a row with such a cell is "
        "missing: write it as Parquet, or without line breaks."
    )
    MORE_PUBLIC_ROWS = "The public table has more rows than the private one: check that they are not swapped."
    EMPTY_ROWS = (
        "A private row with a missing value is replaced by zeros, so that n stays public. The number of "
        "such rows stays secret; if there are many, the fit is biased and the residual sd too small."
    )
    FILLED_GAPS = (
        "A missing private value is replaced by the public median of its column, a missing category by the "
        "commonest one of the public rows; a row without a response is replaced by zeros. How many there are stays "
        "secret; if there are many, the fit is biased, and its bands and the residual sd are too small."
    )
    LARGE_DELTA = (
        "delta = {delta:g} is not below one over the {rows:,} rows: publishing one random row outright would satisfy "
        "it, so the epsilon stated at this delta says little. The usual choice is {usual:g} or less."
    )
    ROWS_OF_A_PERSON = (
        "The bands treat the rows of one person as independent: the public rows lack the identifier column, from "
        "which their correlation would be estimated. With that column errors are clustered by person; without it one "
        "row of each person is safer."
    )
    METHOD_UNCLUSTERED = (
        "The method's errors take the rows of one person as independent: they are too small where those are alike."
    )
    DECISIVE_PENALTY = (
        "The ridge penalty of {penalty:g} shrinks {count} of {total} coefficients by more than their sampling error, "
        "so this is not the fit without a penalty: of an effect of {column!r} it leaves at most {share:.1%}, and other "
        "columns take up the rest. A penalty of {usual:g} shrinks no coefficient by that much, except where columns "
        "nearly determine each other. Their bands become wider."
    )
    METHOD_BEHIND_PUBLIC_FIT = (
        "On most real tables {method} was further from the {family} fit without privacy than the public fit or zero, "
        "at mu 0.5 and 1.5; {methods:listed}, with a curator, is nearer."
    )
    SHARED_ROWS = "On public rows that are private rows too the curator states: {reason}"
    UNIT = "{unit}"
    MODELLED = "Modelled: the chance that {column} is {label}."
    PUBLIC_ROW_LEFT_OUT = "One public row with missing values was left out: the number of public rows is no secret."
    PUBLIC_ROWS_LEFT_OUT = "{count:,} public rows with missing values were left out: their number is no secret."
    PUBLIC_ROWS_UNFILLED = (
        "Public rows left out although gaps are filled: {count:,}, for their {columns:listed}. A response is never "
        "filled, nor is a category that has no coefficient."
    )
    ONE_PUBLIC_LABEL = (
        "All public rows have one value of {column!r}: the public fit knows nothing of it, predictions from it mean "
        "nothing, and a release has no error bands. Give public rows that differ in it."
    )
    UNLABELLED = "The public rows have no target: they are used for whitening and for choosing the radius."
    CLUSTERED = "Errors are clustered by {column!r}, with the correlation that public rows of one group show."
    COVARIATES_PUBLIC = (
        "The covariates of the private rows were declared public; a method may then protect the responses alone. A row "
        "without a readable response counts as what the public fit predicts for it."
    )
    WEIGHTED = (
        "Rows are weighted by {column!r}, divided by its public mean; a row with a missing or negative weight does "
        "not count."
    )
    EXPOSED = "Counts are for a unit of {column!r}; a row where it is missing or zero does not count."
    PASTED = (
        "The public table is pasted together several times: {count:,} of {rows:,} public rows are copies; one copy "
        "was counted."
    )
    LEFT_OUT = "{statement}: left out."
    ZERO = "{column!r} is zero in every public row: left out."
    TINY = "{column!r} has no public number beyond {limit:g}: left out; write it in a smaller unit in both tables."
    CONSTANT = "{column!r} is constant in the public rows: left out."
    COLLINEAR = "{column!r} is a combination of {columns:listed} in the public rows (collinear): left out."
    IDENTIFIER_LEFT_OUT = (
        "{column!r} has a different whole number in every public row, as row numbers and identifiers have: left out. "
        "Choose it among the features to keep it."
    )
    LIKE_IDENTIFIER = (
        "{column!r} has a different whole number in every public row, as row numbers and identifiers have; its "
        "coefficient says nothing about other rows."
    )
    CODED = "In {column!r} {levels:listed} counts as a missing value."
    DATES = "Dates of {column!r} count as days since 1970-01-01."
    SLASHED_DATES = "Dates of {column!r} are read with the {first} first, and count as days since 1970-01-01."
    OPEN_DATES = (
        "{column!r} has dates such as {example!r}, read as categories: its public cells do not tell whether the day or "
        "the month comes first."
    )
    UNREADABLE_CELL = "One public cell of {column!r} is no {form} and counts as missing."
    UNREADABLE_CELLS = "{count:,} public cells of {column!r} are no {form}s and count as missing."
    REFERENCES = "Categories are compared with {references:paired}."
    RARE_LEVELS = "Categories of {column!r} with fewer than two public rows count as {become}: {levels:listed}."
    SPELLINGS = (
        "In {column!r} each of {levels:listed} differs from another one in capitals or blanks alone, and counts as "
        "different; read them alike "
        "(kind caseless), or write them so in both tables."
    )
    READ_ALIKE = "In {column!r} levels that differ in capitals or blanks alone count as one, such as {levels:listed 2}."
    UNKNOWN_LEVELS = "Categories of {columns:listed 99} that the public table does not have count as {become}."
    FEW_PRIVATE_ROWS = "The private table has {rows:plural row}: no budget lets a release say anything about so few."
    NEARLY_COLLINEAR = (
        "In the public rows {columns:listed} nearly determine each other: {rows:,} rows cannot tell their effects "
        "apart, and bands are those of a fit that is shrunk slightly towards zero. Leave out one of them."
    )
    FEW_PUBLIC_ROWS = (
        "{rows} public rows for {count} columns are few: whitening is rough, and so is what is predicted of truncation "
        "and errors. More public rows help most."
    )
    SWAPPED = (
        "The public table has {public_rows:,} rows, the private one {private_rows:,}: check that they are not swapped."
    )
    NAMES_ALIKE = (
        "{columns:listed} of the public table and a private column differ in case, blanks or signs alone, so they are "
        "not used: write them alike in both files."
    )
    PUBLIC_ONLY = "The private table has no column {columns:listed}: left out."
    PRIVATE_COLUMN = "One column of the private table is not in the public one: left out."
    PRIVATE_COLUMNS = "{count} columns of the private table are not in the public one: left out."
    NOT_IN_BOTH = "Not both tables have {columns:listed}."
    TARGET_NOT_IN_BOTH = "Not both tables have the target {column!r}."
    TEXT_TARGET = (
        "The target {column!r} has {count:plural text value}: {levels:listed}. A linear regression needs numbers: "
        "choose another target, or a regression of labels."
    )
    ONE_TARGET_VALUE = (
        "The target {column!r} has one value in the public rows: no regression can explain it. Choose another target, "
        "or public rows that have other values too."
    )
    NOT_TWO_LABELS = "The target {column!r} has {count:plural different value}; a regression of labels needs two."
    SIGNED_NUMBERS = (
        "Most public cells of {column!r} are numbers with the sign {sign}, read as categories. Read as numbers, "
        "5{sign} counts as 5, and a cell without the sign as missing."
    )
    MOSTLY_NUMBERS = "{share:.0%} of the public cells of {column!r} are numbers, the others text: read as categories."
    COUNT_TARGET = (
        "The target {column!r} has small whole numbers from 0 on in the public rows: where they are counts, a Poisson "
        "regression models their rate, and the linear one their difference."
    )
    LABEL_TARGET = (
        "The target {column!r} is 0 or 1 in all public rows: a logistic regression models the chance of 1 in log-odds, "
        "and the linear one the chance itself."
    )
    CODE_FOR_MISSING = (
        "{column!r} holds {number:g}, further from all other public values than these are from each other. Where that "
        "stands for a missing value, read it so (kind coded), or write an empty cell in both tables: as a number it "
        "decides the fit."
    )
    SOME_NOT_NUMBERS = "Some public cells of {column!r} are not numbers: they count as missing."


@unique
class ArgumentMessage(Message):
    """What is wrong with a value that was given."""

    FAR_TOO_LARGE = "{name} must be between {low:g} and {high:g}; the number given is far larger."
    NOT_A_NUMBER = "{name} must be a number between {low:g} and {high:g}, got {given!r}."
    OUT_OF_RANGE = "{name} must be between {low:g} and {high:g}, got {given}."
    NOT_WHOLE = "{name} must be a whole number between {low} and {high}, got {given}."
    NOT_ONE_OF = "{name} must be one of {allowed:joined}, got {given!r}."
    NEGATIVE_MU = "mu must be at least 0, got {given}."
    TOO_MANY_ROWS_AT_ONCE = (
        "{rows:,} rows are too many to hold at once: {count:,} numbers of each come to more than {limit:,} million. "
        "A release never holds them; this figure for the curator or the lab does. Take a part of the rows."
    )
    ROLES_FORM = 'The list of roles must be JSON such as {{"name": "analyst"}}, each name once; nobody has a role.'
    FORBIDDEN = "{person} {role} and may not {action}; ask a curator."


@unique
class LedgerMessage(Message):
    """Why the ledger does not do what was asked of it."""

    NOBODY_ASKS = "Say who asks: another person has to agree."
    KEY_OF_ANOTHER_REQUEST = "This key was used for another request; take a new key."
    NOBODY_ANSWERS = "Say who answers: it must be another person than who asked."
    AGREES_WITH_THEMSELVES = "Another person has to answer: nobody agrees to what they ask for themselves."
    ANSWERED_ALREADY = "This request was {state} already; ask anew with another key."
    SECOND_PERSON_NEEDED = "A second person has to agree to each release of {dataset!r}: ask for it first."
    NOT_AGREED = "A second person has to agree to each release of {dataset!r}; this request {state}."
    OTHER_THAN_AGREED = (
        "This is not what was agreed to: another data set, table choice, method or budget, or a table that was "
        "changed since; ask anew."
    )
    NOT_ASKED = "Nobody asked for a release with this key; check it, or ask first."
    NOT_RESERVED = "This release was never reserved in the ledger; reserve its budget before it is made."
    SPENT_UNFINISHED = (
        "This key is spent, but its release did not finish: it is still running, or it was stopped. Nothing is "
        "released twice; take a new key for a new spend."
    )
    SPENT_AND_FAILED = (
        "An earlier try with this key spent its budget and did not finish; take a new key for a new spend."
    )
    NO_LEDGER = "There is no ledger at {place!r}; check --ledger."
    LEDGER_IS_NO_FILE = "The ledger cannot be used: it is no file; check --ledger."
    KEY_MISSING = "The key of this ledger is missing; put {file!r} back beside it, or set PMT_LEDGER_KEY."
    OTHER_VERSION = "The ledger has version {version}, this program writes {expected}; use its match."
    UNWRITABLE_NAME = "A name holds characters that cannot be written; choose another."
    REASON_FOR_COPY = "Say why an older copy is taken; the reason is kept in the ledger."
    SQLITE_FORM = (
        "A ledger in SQLite is a file, not in memory, without options other than file:...?mode=ro&uri=true to read it "
        "alone; give its name."
    )
    NAME_FORM = "A {thing} needs a name of 1 to {limit} printable characters."
    KEY_WITH_BLANKS = "A key has no blanks around it; give it as it was handed out."
    REASON_NEEDED = "Say why {action}; the reason is kept in the ledger."
    NO_CAP = "The data set {dataset!r} has no cap in this ledger; set one first: {command}."
    NO_DATASET = "This ledger has nothing about a data set {dataset!r}; it has {present:listed}."
    RETIRED = "The data set {dataset!r} is retired ({reason}); nothing more is released."
    OTHER_UNIT = (
        "The curator of {dataset!r} requires another unit of protection. {unit} Open the data set by its name, or ask "
        "for this unit."
    )
    UNUSABLE = "The ledger cannot be used: {reason}; check --ledger and try again."
    DAMAGED = "The ledger is damaged: {reason}; restore it from a copy, with the files beside it."
    BEYOND_CAP = (
        "This release would pass the cap of {dataset!r}: mu {spent:.4g} of {cap:.4g} is spent, {left:.4g} is left, "
        "{mu:.4g} was asked for. If these are rows of other people, name them (--dataset NAME, dataset=...). Whoever "
        "answers for them sets another cap: {command}."
    )
    BEYOND_CAP_TOGETHER = (
        "This release would pass the cap of {dataset!r}: mu {spent:.4g} of {cap:.4g} is spent, {left:.4g} is left, "
        "{mu:.4g} was asked for. It spends together with {datasets:listed}. If these are rows of other people, name "
        "them (--dataset NAME, dataset=...). Whoever answers for them sets another cap: {command}."
    )


@unique
class CommandMessage(Message):
    """What is wrong with a call of the command line."""

    ONE_PUBLIC_SIDE = "Give --public FILE or --public-moment FILE, one of the two."
    NOTHING_TO_FIT = "Say what to fit: --target COLUMN (and --features A,B), or --formula 'Y ~ A + C(B)'."
    SCHEDULER_NEEDS_DASK = "--scheduler needs --engine dask."
    NUMBERS_NEEDED = "{option} takes numbers, got {given!r}."
    ONE_BUDGET = "Give the total budget once: --mu M, or --rho R, or --epsilon E with --delta D."
    EPSILON_NEEDS_DELTA = "--epsilon needs --delta."
    OPTION_FORM = "{option} takes {form}, got {given!r}."
    WIDTH_NEEDS_COEFFICIENT = "--width needs --coefficient NAME."
    NO_STORED_RESULT = "Figure {id} has no stored result of its description; compute it first."
    RELEASE_OR_LEDGER = "Give --ledger URL with --key KEY, or --record FILE (what release --json printed)."
    NO_RELEASE_OF_KEY = "The ledger has no release with this key; see 'ledger show'."
    RELEASE_NOT_JSON = "The file is not JSON; save one with 'release --json --out FILE'."
    NOT_A_RELEASE = "The file is not the record of a release; save one with 'release --json --out FILE'."
    PEOPLE_NEED_METHOD = "With --rows-per-person name one method."
    NOTHING_TO_CHECK = "Say what is to be checked: check --deploy."
    NOT_TOML = "The file {place!r} is not TOML; check it, or name another."
    SHOW_FORM = "--show takes one of {allowed:joined}."
    FORMULA_OR_RESPONSE = "Give --formula, or --response and --features, not both."
    RECORD_OF_OTHER_FAMILY = "A record answers gaussian and logistic regressions; choose one of them."
    INSTRUMENTS_FORM = "Two-stage least squares needs --formula, --endogenous and --instruments."
    CONFIRM_IS_NO_RELEASE = "The file of --confirm is no release; make one with 'release --method joint-pmt --json'."
    NO_INPUT = "- stands for standard input, and nothing is written there; give a file, or a pipe."
    INPUT_TWICE = "- stands for standard input, which can be read once; give a file for the others."
    INPUT_TOO_LARGE = "Standard input has more than {megabytes} MB; give a file, which is read in blocks."
    NO_FILE = "There is no file {place!r}; check the path."
    FILE_TOO_LARGE = (
        "The file {place!r} is larger than {megabytes} MB, which no configuration or record is; check its name."
    )
    NO_FILE_NAME = "{place!r} is no name of a file; give one."
    NOT_A_REGULAR_FILE = "{place!r} is not a regular file; give the name of a file to write."
    APPLICATION_ENDED = "The application ended with status {status}; what it said stands above."
    NO_COMPLETION = "Completion needs the extra 'completion': pip install 'second-moment[completion]'."
    NO_APPLICATION = (
        "The application needs the extra 'app': pip install 'second-moment[app]'; the command line works without it, "
        "see 'second-moment --help'."
    )
    LEDGER_CHANGED = "The ledger is not what was written: {reason}; restore it from a copy."
    RECORD_NEEDS_KEY = "'ledger record' needs --key KEY, as the release was answered with."
    NO_SPEND_OF_KEY = "The ledger has no spend with key {key!r}; 'ledger show --json' lists them."
    SPEND_WITHOUT_RECORD = "The spend with key {key!r} has no record: it was {state}, and stays spent."
    CAP_NEEDS_DATASET = "'ledger cap' needs --dataset NAME and --mu M."
    STEP_NEEDS_DATASET = "'ledger {step}' needs --dataset NAME."
    REGISTER_FORM = "'ledger register' needs --private FILE, --public FILE and --mu M, the cap."
    STEP_NEEDS_KEY = "'ledger {step}' needs --key KEY; see 'ledger asked'."
    OTHER_PUBLIC_TABLE = (
        "The public table does not have the columns of the configuration; use the table it was made from."
    )
    LOCAL_STEP_NEEDS = "'local {step}' needs --{option}."
    WRONG_CALL = "{reason}; see '{command} --help'."
    LEDGER_NEEDS_DATASET = "--ledger needs --dataset NAME, whose cap the spend counts against."
    STUDY_EXISTS = "There is a file {place!r} already; a study is written once."
    SITE_FORM = "A site needs --private FILE, --folder FOLDER, and --server URL or --board FOLDER."
    SETTINGS_WRONG = "{problems}"


@unique
class ResultMessage(Message):
    """Why a question about a result has no answer."""

    DEPENDENT_CONSTRAINTS = "The constraints are not independent of each other; leave out those that follow."
    NO_STANDARD_ERRORS = "This method gives no standard errors; choose joint-pmt."
    NO_SUCH_PART = "There is no part {part!r}; there are {present:listed}."
    NO_COVARIANCES = (
        "This release has standard errors and no covariances: it was made by an earlier version, or has very many "
        "coefficients."
    )
    NO_DESIGN = "This record does not say how rows are read, so it cannot predict; use its table of coefficients."
    TEST_FORM = "A test needs names of coefficients, a text, or weights of {count} columns."
    CONSTRAINT_FORM = "{given!r} is no constraint; write 'a = 0', 'a = b' or '2*a - b = 1'."
    NO_COEFFICIENT = "There is no coefficient {coefficient!r}; there are {present:listed 12}."
    LEVEL_RANGE = "level is the share of intervals that hold the truth, such as 0.95, got {level}; or alpha=0.05."
    NO_SCORE = (
        "score is refused: on private rows it would be an exact private figure, which nobody paid for. rsquared is "
        "the released one; on public rows compare predict(frame) with the response yourself."
    )


@unique
class FaceMessage(Message):
    """What is wrong with a call from Python."""

    LINK_PLACE = "The link has {name} = {number:g}; the demo offers {allowed:joined}."
    LINK_COLUMNS = "The link names {columns:listed}, which is no column of this table; it has {present:listed}."
    LINK_NUMBER = "The link has {name} = {given!r}, which is not a number; leave it out of the address."
    CUTS_ASCEND = "Cuts are finite, positive and ascending; give the ends of the periods in order."
    NO_PERIODS = "The table needs {needed:listed}, and no other column called {names:listed}; rename those."
    NO_HAZARDS = "Hazard ratios are of a regression of counts with an exposure; fit one with family='poisson'."
    NOT_A_FRAME = "The {table} table must be a frame (pandas, Polars, Arrow) or a file's path, got {given}."
    EMPTY_FRAME = "The {table} table has no rows; check that the right frame was chosen."
    NO_SUCH_ARGUMENT = "There is no argument {names:joined}; there are {allowed:joined}."
    CLAIM_MISSING = "Say what the estimator claims: epsilon=..., and delta=... where it is not pure."
    NOT_AN_ESTIMATOR = "estimator must be a method's id, an object with fit(X, y), or a function of (X, y, run)."
    ONE_BUDGET = "Give the total budget once: mu=M, or rho=R, or epsilon=E with delta=D."
    EPSILON_NEEDS_DELTA = "epsilon needs delta: PrivateRegressor(epsilon=1, delta=1e-6)."
    NO_TARGET = "Say which column is the target: target='y', or formula='y ~ ...'."
    FORMULA_AND_FEATURES = "Give a formula, or target and features: the formula names both."
    SCHEMA_UNREADABLE = "The schema {given!r} cannot be read; check its name."
    RECORD_UNREADABLE = "The record {place!r} cannot be read; check its name."
    RECORD_TOO_LARGE = "A record has at most {megabytes} MB; check that the file is one."
    RECORD_NEWER = (
        "The record is of version {version}; this program reads up to {expected}: pip install -U second-moment."
    )
    NOT_A_RELEASE = "The file is no release; give what 'release --json --out FILE' or model.to_json(path) wrote."
    NOT_A_CONFIGURATION = "The file is not a local configuration; publish one with 'local configure'."
    ONE_REPORT_BUDGET = "Give the budget of a report once: epsilon (pure), or mu."
    MOMENTS_NEED_MU = "The scheme 'moments' has Gaussian noise; give mu."
    LINK_NEEDS_MOMENTS = "A link needs reports of the scheme 'moments', configured without an intercept."
    NO_CONFIGURATION = "There is no configuration {place!r}; give its text or the path of its file."
    FIT_FORM = (
        "fit takes private rows and public rows, each as a frame with the target in it: fit(private, public, "
        "target='y'). A target apart from its rows, as in fit(X, y), leaves no room for public rows."
    )
    NOTHING_TO_FIT = "{method} releases no coefficients, so there is nothing to fit; 'pmtcore release' makes it."
    NO_COEFFICIENTS = "{method} releases no coefficients; its record is in record_. Choose another method."
    NO_SUCH_PARAMETER = "{name} has no parameter {names:listed}; it has {allowed:joined}."
    LAB_NEEDS_NO_LEDGER = "A lab figure has no place in a ledger: leave out the ledger, or lab and seed."
    LEDGER_FORM = "ledger takes a file name, a database's address, or a Ledger."
    TITLES_FORM = "A table needs fits, and as many titles as fits."
    NO_TABLES_EXTRA = "This table needs the extra 'tables': pip install 'second-moment[tables]'."
    NOT_A_FIT = "A table takes fits with params, bse and pvalues, got {given}; fit it first."
    NOT_FITTED = "This {name} is not fitted yet; call fit with private and public rows first."


@unique
class LocalMessage(Message):
    """What is wrong with a configuration, or with reports of devices."""

    PRIVUNIT_FORM = "PrivUnit needs the scheme 'whitened' and a pure epsilon."
    CONFIGURATION_FORM = "A configuration needs low < high, a positive radius and a positive budget."
    OFFSET_FORM = "A configuration needs an offset that is a number."
    PRIVUNIT_NEEDS_EPSILON = "PrivUnit needs a pure epsilon."
    OTHER_VERSION = "The configuration has version {version}; this program reads version {expected}."
    NO_REPORTS = "There is no file of reports {place!r}; check the path."
    REPORTS_NOT_PARQUET = "The file of reports is not Parquet; check that it was written completely."
    REPORTS_OTHER_COLUMNS = "The file of reports has other columns than v, c, id and r; give what devices wrote."
    RESPONSE_BOUND_NEEDED = "Responses need a declared bound (response_bound) where public rows have no target."
    PUBLIC_ROWS_NEEDED = "The local methods need public rows; a moment matrix is not enough."
    NO_USABLE_REPORT = "No report could be used; see the counts."


@unique
class SiteMessage(Message):
    """Why a study of several sites cannot be made, or a folder of one not used."""

    SITES_SHARE_A_FILE = "Two sites cannot have one file: the rows of {place!r} would count twice."
    STUDY_EXISTS = "There is a study in {place!r} already; take another folder."
    SITE_NAME_FORM = "A site's name must have 1 to 40 letters, digits, '-' or '_'."
    SITES_FORM = "A study needs 2 to {limit} sites, each with a name of its own."
    NO_BOARD = "There is no folder {place!r} for the messages of the study; make it first."
    NO_KEYS = "There are no keys of this site at {place!r}; 'study join' makes them."
    KEYS_EXIST = "There are keys at {place!r} already; take another folder."


@unique
class AuditMessage(Message):
    """Why a comparison or an audit cannot be run."""

    NO_ATTACK = (
        "There is no attack {given!r} on {method!r}; attacks: {allowed:joined}; on: published, {methods:joined}."
    )
    NOTHING_TO_COMPARE = "A comparison needs at least one method and one budget."
    AXIS_NEEDS_VALUES = "A comparison along {axis} takes one budget, and values to try."
    TOO_MANY_CELLS = "So many places hold more than {limit} million cells in all; choose fewer, or fewer rows."
    BUDGETS_REVERSED = "The smallest budget ({low:g}) must not be above the largest ({high:g})."
    VALUES_REVERSED = "The smallest value ({low:g}) must be positive and not above the largest ({high:g})."
    AXIS_NEEDS_ROWS = "A moment matrix has no public rows to choose from; choose another axis."
    SCALE_NEEDS_ROWS = "Rescaling the table needs public rows; with a moment matrix choose the scale 'none'."
    OTHER_CURVE = (
        "{columns:listed} fits another curve, so its distance to the family's fit says nothing; leave it out of the "
        "comparison, and study it with {command}."
    )
    NO_COEFFICIENTS = "{columns:listed} estimates a moment and has no coefficients to compare; leave it out."
    NO_WORST_PAIR = "There is no worst pair for {method}; choose another method to audit."
    NOT_ONE_ROW_APART = "The two tables of an audit must have the same shape and differ in exactly one row."
    REPORT_IS_ONE_ROW = "{method} takes no people: a report is one row; leave the rows of a person out."
    LABELS_HAVE_NO_MEAN = "{method} takes no means: labels have none; let the first rows of a person count."


@unique
class Damage(Message):
    """How a ledger differs from what was written: clauses of :attr:`LedgerMessage.DAMAGED`."""

    UNREADABLE_EVENT = "event {event} cannot be read"
    UNSEALED_EVENT = "event {event} has no seal, so another program wrote it"
    BROKEN_CHAIN = "event {event} does not fit the chain"
    ALL_UNSEALED = (
        "it has a key, and none of its events has a seal ('ledger accept' seals those of an old program, with a reason)"
    )
    UNREADABLE = "what is in it cannot be read"
    UNREADABLE_HEAD = "the note of the head cannot be read"
    EVENTS_MISSING = "events are missing"
    EVENTS_GONE = "events that this program saw before are gone"
    FILE_DAMAGED = "its file is damaged"
    CUT_SHORT = (
        "it does not hold event {event}, which was noted beside it: it was cut short, removed, or is an older copy "
        "('ledger accept' takes an older one, with a reason)"
    )
    CHANGED_BY_ANOTHER = "its file was changed by another program"
    BROKEN_OR_UNKEYED = "its chain is broken, or its key is missing"


@unique
class ExploreMessage(Message):
    """Why a released moment does not answer a question."""

    NO_PUBLIC_ROWS = "There are no public rows to put into the record; it was made with a moment alone."
    NO_RESPONSE = "There is no column {column!r} in this record; choose one that it has."
    OTHER_QUESTION = "The second release answers another question: response and features must be the same."
    BESIDE_THE_LARGER = (
        "One regression must contain the other, with the same response and without a penalty; leave out "
        "{columns:listed}."
    )
    NOT_NESTED = "One regression must contain the other and more, with the same response and without a penalty."
    DISJOINT_REASON = (
        "Say why nobody is in two of the tables (disjoint='one hospital each'): otherwise somebody's guarantees would "
        "add up, and their rows would count twice."
    )
    TWO_MOMENTS_NEEDED = "Combining needs two moments or more."
    MOMENT_TWICE = "The same moment was given twice; each table counts once."
    OTHER_COLUMNS = "The moments are of other columns; release them with the same ones."
    OTHER_RADII = (
        "The moments are of other public rows or radii; release each with the same public rows and the same radius "
        "(--set radius=R)."
    )
    OTHER_TABLES = "The open tables are not those of the record: columns and rows must be the same."
    CONFIRMING_NEEDS_ROWS = "A second release of a chosen model needs public rows."
    CONFIRMING_PENALIZED = "A ridge penalty shrinks on purpose: confirm the model without it."
    OTHER_INTERCEPT = "The model must have the intercept that the record has."
    NO_FEATURE_TO_CONFIRM = "The model has no feature: choose one."
    SECOND_WITHOUT_COVARIANCE = (
        "The second release says nothing of its covariance; release the model with joint-pmt again."
    )
    SECOND_UNREADABLE = "The second release's covariance cannot be read; release the model again."
    DUMMIES_NEEDED = "Group means need the dummies of a column."
    TOO_FEW_INSTRUMENTS = "There are fewer instruments than endogenous features; each needs one of its own."
    STRAY_ENDOGENOUS = "Endogenous columns are features of the formula; got {columns:listed}."
    INSTRUMENT_IN_FORMULA = "An excluded instrument is no column of the formula; {columns:listed} is one."
    INSTRUMENT_COUNT = "{limit} endogenous columns need as many instruments, got {count}."
    LOGISTIC_NEEDS_ROWS = "A logistic regression needs the public rows, and the record has none (public_rows=no)."
    NOT_A_LABEL = "A logistic regression needs a response of 0 and 1; {column!r} has other values."
    LOGISTIC_TOO_FEW_ROWS = "A logistic regression needs more public rows than coefficients."
    NEW_ROWS_LACK_COLUMN = "The table of new rows has no column {column!r}; add it."
    RECORD_UNREADABLE = "The record {place!r} cannot be read; check its name."
    NO_MOMENT = "The release has no joint moment; make one with the method joint-moment."
    RIDGE_NEEDS_FEATURE = "A ridge path needs at least one feature beside the intercept."
    LASSO_NEEDS_INTERCEPT = "A lasso path needs an intercept and at least one feature."
    MEANS_NEED_INTERCEPT = "Means and correlations need a record with an intercept."
    NOT_A_GROUP = "Group means need a column and 0/1 columns; {columns:listed} is neither."
    TOO_MANY_SUBSETS = "Best subsets try every combination of at most {limit} features; choose fewer."
    CORRECTION_FORM = "The correction must be one of {allowed:listed}."
    JOINT_TEST_EMPTY = "A joint test needs at least one coefficient."
    VALUE_MISSING = "The prediction needs a value of {columns:listed}."
    STANDARDIZING_NEEDS_INTERCEPT = "Standardized coefficients need an intercept."
    NO_COEFFICIENTS_NAMED = "The regression has no coefficient {columns:listed}; it has {present:listed 12}."
    NO_RECORD_COLUMNS = "The record has no column {columns:listed}; it has {present:listed 12}."
    COLUMN_TWICE = "A column can be in a regression once; name it as the response or as a feature."
    NOTHING_TO_REGRESS = "A regression needs a feature, or an intercept."
    PENALTY_RANGE = "The ridge penalty must be a number from 0 on."
    TERM_TWICE = "The formula has {columns:listed} twice; write each term once."
    NO_RECORD_COLUMN = "The record has no column {column!r}; it has {present:listed 12}."
    NO_DUMMIES = "The record has no dummies of {column!r}; release it as categories."
    UNDECLARED_FUNCTION = (
        "The record has no column {expression!r}: functions of columns are declared before the release, such as --set "
        "derived='log(a); square(b)'."
    )
    UNDECLARED_PRODUCT = (
        "The record has no product {expression!r}: products are declared before the release (--set "
        "derived='{expression}')."
    )


@unique
class LossMessage(Message):
    """Why a loss cannot be bounded."""

    PREDICTOR_BOUND_TOO_SMALL = (
        "The predictor bound {bound:g} allows means up to {mean:.4g} only, below the response bound {limit:g}; choose "
        "at least {least:.4g}."
    )


@unique
class MethodMessage(Message):
    """Why a method or one of its parameters does not suit."""

    NO_METHOD = "There is no method {method!r}; did you mean {methods:joined}? 'methods' lists all {count}."
    NO_PARAMETER = "{method} has no parameter {names:listed}; it has: {present:joined}."
    TEXT_TOO_LONG = "{name} takes at most {limit} characters."
    OTHER_FAMILY = (
        "{method} fits {allowed:listed} regression, not {family!r}; choose {methods:listed}, or another family."
    )
    LABELS_NEEDED = "{method} needs public rows with the target {column!r}; choose another method."
    LOSSES_UNWEIGHTED = (
        "{method} takes labels and counts that count the same; with weights or an exposure choose {methods:listed}."
    )
    ROWS_NEEDED = "{method} needs public rows; with a moment matrix choose pmt-objective."
    BOUNDS_NEED_ROWS = "{method} takes its bounds from public rows; a moment matrix has none."
    TINY_BOUND = "{name} must be 0 (automatic) or at least {least:g}, got {given}."
    PASSES_NEED_ROWS = "More than one pass needs public rows to choose its bound from; choose passes=1."
    MEAN_UNBOUNDED = (
        "The mean of a {family} regression is not bounded within this coefficient bound; set a smaller one."
    )
    RESPONSE_BOUND_NEEDED = (
        "{method} needs a bound on the responses of {family} regression: set response_bound, or give public rows with "
        "the target."
    )
    PUBLIC_FIT_NEEDED = "{method} needs labelled public rows; choose dp-erm or pmt-objective."
    DIVERGES = "Under this ridge penalty the steps diverge: the learning rate must be below {limit:.3g}, got {given}."
    LASSO_WHITENED = "A lasso selects columns, so it needs scaled coordinates; choose coordinates = scaled."
    HINGE_NEEDS_LABELS = "The smoothed hinge needs labels, not a {family} response; choose loss = family."
    BOUND_NEEDED = "Without public responses the bound on residuals or counts must be given (bound)."
    TARGET_NOT_CONVEX = "A direct fit needs napp-erm and a convex target: ridge, lasso or elastic-net."
    INTERCEPT_IN_LINK = "A nonlinear regression y = f(x'w) has no intercept; switch the intercept off."
    MOMENT_TOO_WIDE = "The moment would have {count} columns; at most {limit} can be used."
    IMPORTANT_NEED_ROWS = (
        "Columns that matter most need public rows; a moment matrix does not say what they would gain."
    )
    NO_IMPORTANT_COLUMN = "Columns that matter most: there is no {columns:listed}; the columns are {present:listed 12}."
    DERIVED_NEED_ROWS = "Derived columns need public rows; a moment matrix does not say what their moments are."
    DERIVED_WEIGHTED = "Derived columns of weighted rows need the intercept, which has the weight."
    DERIVED_NOT_FINITE = "A derived column is not finite in the public rows; leave it out."
    DERIVED_TWICE = "Derived column {columns:listed} is declared twice; leave one out."
    DERIVED_TOO_MANY = "{count} derived columns are declared; at most {limit} can be used."
    DERIVED_UNREADABLE = (
        "{expression!r} declares no derived column: write log(a), square(a), a:b or spline(a, 4), separated by "
        "semicolons, with names of chosen columns."
    )
    DERIVED_OF_UNKNOWN = "A derived column names {expression!r}; the columns are {present:listed}."
    PRODUCT_OF_TWO = "The product of {expression!r} needs two chosen columns, as in product(a, b)."
    LOG_OF_NOTHING = "The logarithm of {column!r} needs positive public values."
    SPLINE_OF_FEW = (
        "A spline of {column!r} with {count} knots needs more different public values; use fewer, or dummies."
    )
    NO_FIGURE = "There is no figure {id!r}; choose one of {present:joined}."
    TABLE_NOT_HERE = (
        "Figure {id} needs the table {table_id!r}, which is not on this machine: get {title} from "
        "archive.ics.uci.edu and put it as {file} into the folder that PMT_DATA_DIR names."
    )


@unique
class RecordMessage(Message):
    """Why a file is no record of a joint moment."""

    UNREADABLE = (
        "The file is no record of a joint moment that can be read; make one with 'release --method joint-moment "
        "--out FILE'."
    )
    NO_RECORD = "The file is no record of a joint moment; make one with 'release --method joint-moment --out FILE'."
    NOT_JSON = "The record is not JSON; make one with 'release --method joint-moment --out FILE'."
    TOO_LARGE = "The record has more than {megabytes} MB; records are much smaller."
    OTHER_VERSION = "The record is of another format or version; this program reads {form}, version {version}."
    DIGEST_DIFFERS = "The record was changed after it was written: its digest does not fit. Ask for the original."
    DEGENERATE = "The record's coordinates are degenerate; it was changed, or made by another program."
    INDEFINITE = "The record's expected moment is not positive definite; it was changed."
    DEFAULT_COLUMNS = "The record's default regression must name columns that it has."
    LABEL_COLUMNS = "The record's 0/1 columns must be among its columns."
    COLUMN_NAMES = "A record has 2 to {limit} columns with names of at most {count} characters; this one has others."
    COLUMN_TWICE = "The record has two columns of one name; each needs a name of its own."
    ROWS_MISFIT = "The record's public rows must fit its columns."
    ROWS_NOT_FINITE = "The record's public rows must be finite numbers."
    NO_INFLUENCE = "The record must hold what its bands are computed from."
    GROUPS_MISNUMBERED = "The record's groups of public rows must be numbered from 0 on."
    NUMBERS_NEEDED = "The record's {name!r} must be {count} finite numbers."
    POSITIVE_NEEDED = "The record's {name!r} must be a positive number."
    COUNT_NEEDED = "The record's {name!r} must be a whole number from 2 on."
    RULE_UNREADABLE = "A derived column of the record needs a rule that can be read."
