"""Errors and notes: the kinds, the sentence of each, the error that a user sees, and the checks that raise it.

An error or a note is made of a kind and of the facts it concerns (columns, counts, limits). Code and tests ask for the
kind and the facts; the sentence is rendered from them here, last, and nothing reads it again. The templates of all
sentences stand in ``messages.toml``, by the name of the kind, in the form *what is wrong and where; what to do*.

A template takes ``{column!r}``, ``{n:,}`` and other formats of Python, and four of its own: ``{columns:listed}`` for
``'a', 'b' and 3 more`` (``listed 12`` shows up to twelve), ``{words:joined}`` for ``a, b, c``,
``{references:paired}`` for ``'north' of 'town', ...``, and ``{n:plural row}`` for ``2,000 rows``.

No fact is private: ``tests/base/test_messages.py`` says what each one is, and holds every template to these.
"""

import copyreg
import math
import string
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, auto
from functools import cache
from pathlib import Path
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


@cache
def _templates() -> dict[str, dict[str, str]]:
    """Return the templates by class and name of the kinds; read when the first sentence is rendered."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


class Message(Enum):
    """Base of the kinds: each member has a template in ``messages.toml``, under its class and name."""

    @property
    def code(self) -> str:
        """Return the name of the kind in records and messages between programs."""
        return self.name.lower().replace("_", "-")

    @property
    def template(self) -> str:
        """Return the template of the sentence."""
        return _templates()[type(self).__name__][self.name]

    @property
    def facts(self) -> frozenset[str]:
        """Return the names of the facts that the template takes."""
        return frozenset(name for _, name, _, _ in _FORMATTER.parse(self.template) if name)

    def sentence(self, **facts: object) -> str:
        """Render the sentence.

        Raises:
            KeyError: a fact of the template is not given.
        """
        return _FORMATTER.vformat(self.template, (), facts)

    def statement(self, **facts: object) -> str:
        """Render what is wrong, without the advice: the template up to its first semicolon, without a full stop.

        The template is cut before names are put in, so a semicolon in a column's name cuts nothing.
        """
        return _FORMATTER.vformat(self.template.partition(";")[0].rstrip("."), (), facts)


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


class TableMessage(Message):
    """What is wrong with tables, or with the choices about them."""

    PENALTY_OF_LINEAR_FIT = auto()
    TARGET_AMONG_FEATURES = auto()
    COLUMN_THERE = auto()
    FEATURE_TWICE = auto()
    FORMULA_AND_FEATURES = auto()
    EXPOSURE_NEEDS_COUNTS = auto()
    EXPOSURE_WEIGHS = auto()
    KINDS_FORM = auto()
    WEIGHTS_ARE_NO_FEATURE = auto()
    COVARIATES_NEED_LINEAR = auto()
    RESPONSE_IS_NO_COVARIATE = auto()
    COVARIATES_OF_MEANS = auto()
    WEIGHTS_OF_MEANS = auto()
    WEIGHTS_REFUSE_NO_ROW = auto()
    PERSON_IS_NO_FEATURE = auto()
    MEAN_OF_LABELS = auto()
    PEOPLE_REFUSE_NO_ROW = auto()
    CHOICES_UNREADABLE = auto()
    CATEGORIES_FORM = auto()
    CLUSTER_NEEDS_FILES = auto()
    WORKER_FAILED = auto()
    NO_DASK = auto()
    NO_SCHEDULER = auto()
    CLUSTER_FAILED = auto()
    UNKNOWN_LEVELS = auto()
    MISSING_VALUES = auto()
    TOO_MANY_FEATURES = auto()
    NAME_TOO_LONG = auto()
    NEW_ROWS_LACK_COLUMNS = auto()
    DESIGN_UNREADABLE = auto()
    UTF16 = auto()
    NOT_A_TABLE = auto()
    ONE_COLUMN = auto()
    HEADER_UNREADABLE = auto()
    NO_HEADER = auto()
    TOO_MANY_COLUMNS = auto()
    NAMES_TWICE = auto()
    NAME_TWICE = auto()
    TOO_MANY_CATEGORIES = auto()
    SIGNED_NUMBERS = auto()
    SLASHED_DATES = auto()
    PARQUET_UNREADABLE = auto()
    TITLE_LINE = auto()
    UNNAMED_COLUMN = auto()
    EMPTY_COLUMN = auto()
    ONE_CATEGORY = auto()
    FORMULA_OF_OTHER_VERSION = auto()
    FORMULA_LACKS_COLUMNS = auto()
    FORMULA_TOO_LONG = auto()
    FORMULA_MANY_TERMS = auto()
    FORMULA_READS_PUBLICLY = auto()
    DECLARED_NOWHERE = auto()
    FORMULA_UNREADABLE = auto()
    FORMULA_TWO_RIGHT_SIDES = auto()
    FORMULA_FORM = auto()
    FORMULA_BAR = auto()
    MANY_EFFECTS = auto()
    FORMULA_LEFT_SIDE = auto()
    FORMULA_UNUSABLE = auto()
    NUMBER_AND_CATEGORIES = auto()
    NOT_AN_EXPRESSION = auto()
    NOT_ROW_BY_ROW = auto()
    NO_FORMULAIC = auto()
    TOO_MANY_RELEASES = auto()
    TOO_MANY_FITS = auto()
    NO_NAMED_TABLE = auto()
    TABLE_NOT_HERE = auto()
    DEMO_TOO_SMALL = auto()
    NO_PERSON_COLUMN = auto()
    TOO_MANY_PEOPLE = auto()
    NO_NUMERIC_COLUMN = auto()
    SAME_FILE = auto()
    FORMULA_NEEDS_ROWS = auto()
    NO_PUBLIC_COLUMN = auto()
    NO_MOMENT_COLUMN = auto()
    OWN_ROWS_LACK_COLUMNS = auto()
    CATEGORIES_IN_CONFIGURATION = auto()
    NO_CLUSTER_COLUMN = auto()
    NO_PUBLIC_WEIGHTS = auto()
    NO_POSITIVE_WEIGHTS = auto()
    NO_FEATURES = auto()
    NO_OTHER_COMMON_COLUMN = auto()
    ALL_CONSTANT = auto()
    NO_COMMON_COLUMN = auto()
    NO_PRIVATE_WEIGHTS = auto()
    NO_PRIVATE_COLUMN = auto()
    WEIGHTS_NEED_ROWS = auto()
    NO_MEDIANS = auto()
    NO_INTERCEPT_ROW = auto()
    QUERY_WITHOUT_COLUMNS = auto()
    QUERY_FAILED = auto()
    NO_DUCKDB = auto()
    QUERY_READS_TEXT = auto()
    LEVELS_TWICE = auto()
    CODES_FORM = auto()
    NO_SCHEMA_COLUMN = auto()
    SCHEMA_FORM = auto()
    SCHEMA_NOT_JSON = auto()
    EMPTY_FILE = auto()
    RAGGED_ROWS = auto()
    DAMAGED_PARQUET = auto()
    NOT_A_FRAME = auto()
    NAMES_NOT_TEXT = auto()
    FRAME_COLUMN_TWICE = auto()
    NO_FILES = auto()
    UNLIKE_FILES = auto()
    ROW_GROUP_TOO_LARGE = auto()
    FILE_UNREADABLE = auto()
    GZIP_TWICE = auto()
    TOO_LARGE_UNPACKED = auto()
    NO_FILE = auto()
    GZIP_CUT_SHORT = auto()
    GZIP_DAMAGED = auto()
    NOT_READABLE = auto()
    NO_FSSPEC = auto()
    ADDRESS_UNREADABLE = auto()
    SCHEMA_OF_PRIVATE_ROWS = auto()
    TOO_MANY_CELLS = auto()
    NO_FILE_NAMED = auto()
    NO_ROWS = auto()
    MOMENT_NAMES_DIFFER = auto()
    MOMENT_NOT_SQUARE = auto()
    MOMENT_NOT_FINITE = auto()
    NO_SUCH_LABEL = auto()
    TOO_MANY_LABELS = auto()
    TARGET_IS_TEXT = auto()
    NEGATIVE_COUNTS = auto()


class PublicMessage(Message):
    """What is wrong with public rows or a public moment matrix."""

    TOO_FEW_GROUPS = auto()
    ZERO_COLUMNS = auto()
    CONSTANT = auto()
    COLLINEAR = auto()
    COLLINEAR_LABELS = auto()
    TARGET_CONSTANT = auto()
    TARGET_FITTED_EXACTLY = auto()
    TOO_FEW_ROWS = auto()
    TOO_FEW_COMPLETE_ROWS = auto()
    MOMENT_TOO_FEW_ROWS = auto()
    MOMENT_NOT_SYMMETRIC = auto()
    MOMENT_NOT_POSITIVE = auto()
    MOMENT_COLLINEAR = auto()
    NO_MODULUS = auto()


class ReleaseMessage(Message):
    """Why a release, a plan or a configuration cannot be made."""

    DECLINED = auto()
    SERVER_BUSY = auto()
    PERSON_BUSY = auto()
    TOO_MANY_BUDGETS = auto()
    NO_PREDICTION = auto()
    NO_COEFFICIENT = auto()
    REGISTERED_REFUSES_NO_ROW = auto()
    NOT_REGISTERED = auto()
    LACKING_FIELDS = auto()
    UNKNOWN_FIELDS = auto()
    PARAMETERS_FORM = auto()
    MU_IS_TRUTH_VALUE = auto()
    CONFIGURATION_NOT_JSON = auto()
    CONFIGURATION_FORM = auto()
    LAB_METHOD = auto()
    COVARIATES_NOT_DECLARED = auto()
    RESPONSES_NEED_ROWS = auto()
    METHOD_WITHOUT_CLUSTERS = auto()
    PLACES_SHARE_NOISE = auto()
    PERSON_UNPROTECTED = auto()


class AccountingMessage(Message):
    """Why a budget cannot be taken or met."""

    OUTSIDE_USEFUL_RANGE = auto()
    MODULUS_COSTS_MU = auto()
    NOISE_COSTS_TOO_MUCH = auto()
    JACOBIAN_COSTS_TOO_MUCH = auto()
    REPLACE_ONE_ONLY = auto()
    MODULUS_COSTS_EPSILON = auto()
    MEANS_NEED_COLUMN = auto()


class TableNote(Message):
    """What was done about tables that can be used, or should be known of them."""

    REFUSES_ROWS = auto()
    DECIMAL_COMMA = auto()
    BROKEN_LINES = auto()
    MORE_PUBLIC_ROWS = auto()
    EMPTY_ROWS = auto()
    FILLED_GAPS = auto()
    LARGE_DELTA = auto()
    ROWS_OF_A_PERSON = auto()
    METHOD_UNCLUSTERED = auto()
    DECISIVE_PENALTY = auto()
    METHOD_BEHIND_PUBLIC_FIT = auto()
    SHARED_ROWS = auto()
    UNIT = auto()
    MODELLED = auto()
    PUBLIC_ROW_LEFT_OUT = auto()
    PUBLIC_ROWS_LEFT_OUT = auto()
    PUBLIC_ROWS_UNFILLED = auto()
    ONE_PUBLIC_LABEL = auto()
    LEVELS_OF_ONE_LABEL = auto()
    UNLABELLED = auto()
    CLUSTERED = auto()
    COVARIATES_PUBLIC = auto()
    WEIGHTED = auto()
    EXPOSED = auto()
    PASTED = auto()
    LEFT_OUT = auto()
    ZERO = auto()
    TINY = auto()
    CONSTANT = auto()
    COLLINEAR = auto()
    IDENTIFIER_LEFT_OUT = auto()
    LIKE_IDENTIFIER = auto()
    CODED = auto()
    DATES = auto()
    SLASHED_DATES = auto()
    OPEN_DATES = auto()
    UNREADABLE_CELL = auto()
    UNREADABLE_CELLS = auto()
    REFERENCES = auto()
    RARE_LEVELS = auto()
    SPELLINGS = auto()
    READ_ALIKE = auto()
    UNKNOWN_LEVELS = auto()
    FEW_PRIVATE_ROWS = auto()
    NEARLY_COLLINEAR = auto()
    FEW_PUBLIC_ROWS = auto()
    SWAPPED = auto()
    NAMES_ALIKE = auto()
    PUBLIC_ONLY = auto()
    PRIVATE_COLUMN = auto()
    PRIVATE_COLUMNS = auto()
    NOT_IN_BOTH = auto()
    TARGET_NOT_IN_BOTH = auto()
    TEXT_TARGET = auto()
    ONE_TARGET_VALUE = auto()
    NOT_TWO_LABELS = auto()
    SIGNED_NUMBERS = auto()
    MOSTLY_NUMBERS = auto()
    COUNT_TARGET = auto()
    LABEL_TARGET = auto()
    CODE_FOR_MISSING = auto()
    SOME_NOT_NUMBERS = auto()


class ArgumentMessage(Message):
    """What is wrong with a value that was given."""

    FAR_TOO_LARGE = auto()
    NOT_A_NUMBER = auto()
    OUT_OF_RANGE = auto()
    NOT_WHOLE = auto()
    NOT_ONE_OF = auto()
    NEGATIVE_MU = auto()
    TOO_MANY_ROWS_AT_ONCE = auto()
    ROLES_FORM = auto()
    FORBIDDEN = auto()


class LedgerMessage(Message):
    """Why the ledger does not do what was asked of it."""

    NOBODY_ASKS = auto()
    KEY_OF_ANOTHER_REQUEST = auto()
    NOBODY_ANSWERS = auto()
    AGREES_WITH_THEMSELVES = auto()
    ANSWERED_ALREADY = auto()
    SECOND_PERSON_NEEDED = auto()
    NOT_AGREED = auto()
    OTHER_THAN_AGREED = auto()
    NOT_ASKED = auto()
    NOT_RESERVED = auto()
    SPENT_UNFINISHED = auto()
    SPENT_AND_FAILED = auto()
    NO_LEDGER = auto()
    LEDGER_IS_NO_FILE = auto()
    KEY_MISSING = auto()
    OTHER_VERSION = auto()
    UNWRITABLE_NAME = auto()
    REASON_FOR_COPY = auto()
    SQLITE_FORM = auto()
    NAME_FORM = auto()
    KEY_WITH_BLANKS = auto()
    REASON_NEEDED = auto()
    NO_CAP = auto()
    NO_DATASET = auto()
    RETIRED = auto()
    OTHER_UNIT = auto()
    UNUSABLE = auto()
    DAMAGED = auto()
    BEYOND_CAP = auto()
    BEYOND_CAP_TOGETHER = auto()


class CommandMessage(Message):
    """What is wrong with a call of the command line."""

    ONE_PUBLIC_SIDE = auto()
    NOTHING_TO_FIT = auto()
    SCHEDULER_NEEDS_DASK = auto()
    NUMBERS_NEEDED = auto()
    ONE_BUDGET = auto()
    EPSILON_NEEDS_DELTA = auto()
    OPTION_FORM = auto()
    WIDTH_NEEDS_COEFFICIENT = auto()
    NO_STORED_RESULT = auto()
    RELEASE_OR_LEDGER = auto()
    NO_RELEASE_OF_KEY = auto()
    RELEASE_NOT_JSON = auto()
    NOT_A_RELEASE = auto()
    PEOPLE_NEED_METHOD = auto()
    NOTHING_TO_CHECK = auto()
    NOT_TOML = auto()
    SHOW_FORM = auto()
    FORMULA_OR_RESPONSE = auto()
    RECORD_OF_OTHER_FAMILY = auto()
    INSTRUMENTS_FORM = auto()
    CONFIRM_IS_NO_RELEASE = auto()
    NO_INPUT = auto()
    INPUT_TWICE = auto()
    INPUT_TOO_LARGE = auto()
    NO_FILE = auto()
    FILE_TOO_LARGE = auto()
    NO_FILE_NAME = auto()
    NOT_A_REGULAR_FILE = auto()
    APPLICATION_ENDED = auto()
    NO_COMPLETION = auto()
    NO_APPLICATION = auto()
    LEDGER_CHANGED = auto()
    RECORD_NEEDS_KEY = auto()
    NO_SPEND_OF_KEY = auto()
    SPEND_WITHOUT_RECORD = auto()
    CAP_NEEDS_DATASET = auto()
    STEP_NEEDS_DATASET = auto()
    REGISTER_FORM = auto()
    STEP_NEEDS_KEY = auto()
    OTHER_PUBLIC_TABLE = auto()
    LOCAL_STEP_NEEDS = auto()
    WRONG_CALL = auto()
    LEDGER_NEEDS_DATASET = auto()
    STUDY_EXISTS = auto()
    SITE_FORM = auto()
    SETTINGS_WRONG = auto()


class ResultMessage(Message):
    """Why a question about a result has no answer."""

    DEPENDENT_CONSTRAINTS = auto()
    NO_STANDARD_ERRORS = auto()
    NO_SUCH_PART = auto()
    NO_COVARIANCES = auto()
    NO_DESIGN = auto()
    TEST_FORM = auto()
    CONSTRAINT_FORM = auto()
    NO_COEFFICIENT = auto()
    LEVEL_RANGE = auto()
    NO_SCORE = auto()


class FaceMessage(Message):
    """What is wrong with a call from Python."""

    LINK_PLACE = auto()
    LINK_COLUMNS = auto()
    LINK_NUMBER = auto()
    CUTS_ASCEND = auto()
    NO_PERIODS = auto()
    NO_HAZARDS = auto()
    NOT_A_FRAME = auto()
    EMPTY_FRAME = auto()
    NO_SUCH_ARGUMENT = auto()
    CLAIM_MISSING = auto()
    NOT_AN_ESTIMATOR = auto()
    ONE_BUDGET = auto()
    EPSILON_NEEDS_DELTA = auto()
    NO_TARGET = auto()
    FORMULA_AND_FEATURES = auto()
    SCHEMA_UNREADABLE = auto()
    RECORD_UNREADABLE = auto()
    RECORD_TOO_LARGE = auto()
    RECORD_NEWER = auto()
    NOT_A_RELEASE = auto()
    NOT_A_CONFIGURATION = auto()
    ONE_REPORT_BUDGET = auto()
    MOMENTS_NEED_MU = auto()
    LINK_NEEDS_MOMENTS = auto()
    NO_CONFIGURATION = auto()
    FIT_FORM = auto()
    NOTHING_TO_FIT = auto()
    NO_COEFFICIENTS = auto()
    NO_SUCH_PARAMETER = auto()
    LAB_NEEDS_NO_LEDGER = auto()
    LEDGER_FORM = auto()
    TITLES_FORM = auto()
    NO_TABLES_EXTRA = auto()
    NOT_A_FIT = auto()
    NOT_FITTED = auto()


class LocalMessage(Message):
    """What is wrong with a configuration, or with reports of devices."""

    PRIVUNIT_FORM = auto()
    CONFIGURATION_FORM = auto()
    OFFSET_FORM = auto()
    PRIVUNIT_NEEDS_EPSILON = auto()
    OTHER_VERSION = auto()
    NO_REPORTS = auto()
    REPORTS_NOT_PARQUET = auto()
    REPORTS_OTHER_COLUMNS = auto()
    RESPONSE_BOUND_NEEDED = auto()
    PUBLIC_ROWS_NEEDED = auto()
    NO_USABLE_REPORT = auto()


class SiteMessage(Message):
    """Why a study of several sites cannot be made, or a folder of one not used."""

    SITES_SHARE_A_FILE = auto()
    STUDY_EXISTS = auto()
    SITE_NAME_FORM = auto()
    SITES_FORM = auto()
    NO_BOARD = auto()
    NO_KEYS = auto()
    KEYS_EXIST = auto()


class AuditMessage(Message):
    """Why a comparison or an audit cannot be run."""

    NO_ATTACK = auto()
    NOTHING_TO_COMPARE = auto()
    AXIS_NEEDS_VALUES = auto()
    TOO_MANY_CELLS = auto()
    BUDGETS_REVERSED = auto()
    VALUES_REVERSED = auto()
    AXIS_NEEDS_ROWS = auto()
    SCALE_NEEDS_ROWS = auto()
    OTHER_CURVE = auto()
    NO_COEFFICIENTS = auto()
    NO_WORST_PAIR = auto()
    NOT_ONE_ROW_APART = auto()
    REPORT_IS_ONE_ROW = auto()
    LABELS_HAVE_NO_MEAN = auto()


class Damage(Message):
    """How a ledger differs from what was written: clauses of :attr:`LedgerMessage.DAMAGED`."""

    UNREADABLE_EVENT = auto()
    UNSEALED_EVENT = auto()
    BROKEN_CHAIN = auto()
    ALL_UNSEALED = auto()
    UNREADABLE = auto()
    UNREADABLE_HEAD = auto()
    EVENTS_MISSING = auto()
    EVENTS_GONE = auto()
    FILE_DAMAGED = auto()
    CUT_SHORT = auto()
    CHANGED_BY_ANOTHER = auto()
    BROKEN_OR_UNKEYED = auto()


class ExploreMessage(Message):
    """Why a released moment does not answer a question."""

    NO_PUBLIC_ROWS = auto()
    NO_RESPONSE = auto()
    OTHER_QUESTION = auto()
    BESIDE_THE_LARGER = auto()
    NOT_NESTED = auto()
    DISJOINT_REASON = auto()
    TWO_MOMENTS_NEEDED = auto()
    MOMENT_TWICE = auto()
    OTHER_COLUMNS = auto()
    OTHER_RADII = auto()
    OTHER_TABLES = auto()
    CONFIRMING_NEEDS_ROWS = auto()
    CONFIRMING_PENALIZED = auto()
    OTHER_INTERCEPT = auto()
    NO_FEATURE_TO_CONFIRM = auto()
    SECOND_WITHOUT_COVARIANCE = auto()
    SECOND_UNREADABLE = auto()
    DUMMIES_NEEDED = auto()
    TOO_FEW_INSTRUMENTS = auto()
    STRAY_ENDOGENOUS = auto()
    INSTRUMENT_IN_FORMULA = auto()
    INSTRUMENT_COUNT = auto()
    LOGISTIC_NEEDS_ROWS = auto()
    NOT_A_LABEL = auto()
    LOGISTIC_TOO_FEW_ROWS = auto()
    NEW_ROWS_LACK_COLUMN = auto()
    RECORD_UNREADABLE = auto()
    NO_MOMENT = auto()
    RIDGE_NEEDS_FEATURE = auto()
    LASSO_NEEDS_INTERCEPT = auto()
    MEANS_NEED_INTERCEPT = auto()
    NOT_A_GROUP = auto()
    TOO_MANY_SUBSETS = auto()
    CORRECTION_FORM = auto()
    JOINT_TEST_EMPTY = auto()
    VALUE_MISSING = auto()
    STANDARDIZING_NEEDS_INTERCEPT = auto()
    NO_COEFFICIENTS_NAMED = auto()
    NO_RECORD_COLUMNS = auto()
    COLUMN_TWICE = auto()
    NOTHING_TO_REGRESS = auto()
    PENALTY_RANGE = auto()
    TERM_TWICE = auto()
    NO_RECORD_COLUMN = auto()
    NO_DUMMIES = auto()
    UNDECLARED_FUNCTION = auto()
    UNDECLARED_PRODUCT = auto()


class LossMessage(Message):
    """Why a loss cannot be bounded."""

    PREDICTOR_BOUND_TOO_SMALL = auto()


class MethodMessage(Message):
    """Why a method or one of its parameters does not suit."""

    NO_METHOD = auto()
    NO_PARAMETER = auto()
    TEXT_TOO_LONG = auto()
    OTHER_FAMILY = auto()
    LABELS_NEEDED = auto()
    LOSSES_UNWEIGHTED = auto()
    ROWS_NEEDED = auto()
    BOUNDS_NEED_ROWS = auto()
    TINY_BOUND = auto()
    PASSES_NEED_ROWS = auto()
    MEAN_UNBOUNDED = auto()
    RESPONSE_BOUND_NEEDED = auto()
    PUBLIC_FIT_NEEDED = auto()
    DIVERGES = auto()
    LASSO_WHITENED = auto()
    HINGE_NEEDS_LABELS = auto()
    BOUND_NEEDED = auto()
    TARGET_NOT_CONVEX = auto()
    INTERCEPT_IN_LINK = auto()
    MOMENT_TOO_WIDE = auto()
    IMPORTANT_NEED_ROWS = auto()
    NO_IMPORTANT_COLUMN = auto()
    DERIVED_NEED_ROWS = auto()
    DERIVED_WEIGHTED = auto()
    DERIVED_NOT_FINITE = auto()
    DERIVED_TWICE = auto()
    DERIVED_TOO_MANY = auto()
    DERIVED_UNREADABLE = auto()
    DERIVED_OF_UNKNOWN = auto()
    PRODUCT_OF_TWO = auto()
    LOG_OF_NOTHING = auto()
    SPLINE_OF_FEW = auto()
    NO_FIGURE = auto()
    TABLE_NOT_HERE = auto()


class RecordMessage(Message):
    """Why a file is no record of a joint moment."""

    UNREADABLE = auto()
    NO_RECORD = auto()
    NOT_JSON = auto()
    TOO_LARGE = auto()
    OTHER_VERSION = auto()
    DIGEST_DIFFERS = auto()
    DEGENERATE = auto()
    INDEFINITE = auto()
    DEFAULT_COLUMNS = auto()
    LABEL_COLUMNS = auto()
    COLUMN_NAMES = auto()
    COLUMN_TWICE = auto()
    ROWS_MISFIT = auto()
    ROWS_NOT_FINITE = auto()
    NO_INFLUENCE = auto()
    GROUPS_MISNUMBERED = auto()
    NUMBERS_NEEDED = auto()
    POSITIVE_NEEDED = auto()
    COUNT_NEEDED = auto()
    RULE_UNREADABLE = auto()


class StudyFault(Message):
    """What went wrong with a study among sites; the error adds the sites it concerns."""

    NOT_A_STUDY = auto()
    NOT_INSTALLED = auto()
    UNKNOWN_SITE = auto()
    TOO_FEW_SITES = auto()
    TOO_LITTLE_NOISE = auto()
    NO_KEYS = auto()
    OTHER_PUBLIC = auto()
    OTHER_STUDY = auto()
    OTHER_ROWS = auto()
    STRICT_POLICY = auto()
    FORMULA = auto()
    EFFECTS = auto()
    FEW_PUBLIC_ROWS = auto()
    SITE_COLUMN = auto()
    SITE_LINES = auto()
    NEEDS_TABLE = auto()
    NOT_AGREED = auto()
    METHOD = auto()
    FORGED = auto()
    OPENED_BEFORE = auto()
    SITES_CHANGED = auto()
    LOST = auto()
    PATIENCE = auto()
    STOPPED = auto()
    RANGE = auto()
    UNREACHABLE = auto()


class Party(Message):
    """Who looks at a study among sites."""

    OUTSIDERS = auto()
    ONE_SITE = auto()
    COALITION = auto()
    PERSON_IN_TWO_SITES = auto()


class PartyKnowledge(Message):
    """What a study promises against a party."""

    NOTHING = auto()
    EACH_ROW = auto()
    ALL_ROWS = auto()


class SiteState(Message):
    """How far a site of a study is."""

    INVITED = auto()
    AGREED = auto()
    HERE = auto()
    FAILED = auto()
    DONE = auto()


class SettingFault(Message):
    """What is wrong with a setting of a server."""

    MISSING = auto()
    PLACEHOLDER = auto()
    SHORT = auto()
    PREDICTABLE = auto()
    NOT_ENCRYPTED = auto()
    SWITCHED_OFF = auto()
    UNREADABLE = auto()
    NOBODY = auto()
    WRONG_PLACE = auto()


class DatabaseFault(Message):
    """Why a ledger cannot be used, of what a driver says."""

    READ_ONLY = auto()
    DISK_FULL = auto()
    DAMAGED = auto()
    UNWRITABLE = auto()
    LOCKED = auto()
    NO_CONNECTION = auto()
    UNOPENED = auto()
    NO_LEDGER = auto()
    REFUSED = auto()
    NO_DRIVER = auto()
    NO_URL = auto()
    SILENT = auto()


class SpendMessage(Message):
    """What became of a budget."""

    NOTHING = auto()
    NO_RESULT = auto()
    RECORD_KEPT = auto()
    UNKNOWN = auto()
    STOPPED = auto()
    STOPPED_IN_TIME = auto()
    SYSTEM_REFUSED = auto()
    OWN_ERROR = auto()
    NO_PRIVATE_ROW = auto()
    DEMO = auto()
    LAB = auto()
    REPEATED = auto()
    SPENT = auto()


class ReleaseNote(Message):
    """What is said about a release or its plan."""

    INDEFINITE_COMBINED = auto()
    CORRECTION_TOO_LARGE = auto()
    GRAM_TOO_FAR = auto()
    FIT_TOO_FAR = auto()
    HEAVY_TRUNCATION = auto()
    PUBLIC_MOMENT_WEIGHS_MORE = auto()
    PUBLIC_MOMENT_ALONE = auto()
    NO_FOURTH_MOMENTS = auto()
    INDEFINITE = auto()
    NO_INVERSE = auto()
    NO_SCALE = auto()
    NO_BANDS = auto()
    OTHER_HAS_BANDS = auto()
    OTHERS_HAVE_BANDS = auto()
    UNSETTLED = auto()
    MODULUS_PULLS = auto()
    FEWER_SITES = auto()
    DUPLICATE_IDS = auto()
    FORGED_REPORTS = auto()
    SWAMPED = auto()
    PUBLIC_FIT_MAY_DO_BETTER = auto()
    PUBLIC_FIT_MAY_DO_AS_WELL = auto()


class PlanVerdict(Message):
    """Whether private rows can help at a budget."""

    IS_PUBLIC_FIT = auto()
    NO_TARGET = auto()
    UNKNOWN_SIZE = auto()
    CANNOT_IMPROVE = auto()
    MAY_NOT_IMPROVE = auto()
    IMPROVES = auto()
    TRUNCATION_LEFT_OUT = auto()


class CuratorNote(Message):
    """What a curator is told of the private rows, without noise."""

    EMPTY_ROWS = auto()
    MOSTLY_EMPTY = auto()
    SHARED_BY_CHANCE = auto()
    SHARED_BEYOND_CHANCE = auto()
    BEYOND_RADIUS = auto()
