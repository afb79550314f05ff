"""Errors and notes: the kinds, the sentence of each, the error that a user sees, and the checks that raise it.

An error or a note is made of a kind and of the facts it concerns (columns, counts, limits). Code and tests ask for the
kind and the facts; the sentence is rendered from them here, last, and nothing reads it again. The kinds of a class and
their templates are the entries of ``messages.toml`` under its name, *what is wrong and where; what to do*: a new kind
is a line there. A test finds every kind that code names and the file lacks.

A template takes ``{column!r}``, ``{n:,}`` and other formats of Python, and four of its own: ``{columns:listed}`` for
``'a', 'b' and 3 more`` (``listed 12`` shows up to twelve), ``{words:joined}`` for ``a, b, c``,
``{references:paired}`` for ``'north' of 'town', ...``, and ``{n:plural row}`` for ``2,000 rows``.

No fact is private: ``tests/base/test_messages.py`` lists the allowed facts and checks every template against the list.
"""

import copyreg
import math
import string
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum, EnumMeta
from numbers import Number
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Self, TypeVar

from pmtcore.base.numbers import plural


def quoted_names(names: Iterable[str], limit: int = 5) -> str:
    """Return names as a phrase: ``'a', 'b' and 3 more``.

    Args:
        names: the names, each cut after 60 characters.
        limit: how many are shown.

    >>> quoted_names(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    items = [str(name) for name in names]
    shown = ", ".join(repr(name if len(name) <= 60 else name[:57] + "...") for name in items[:limit])
    rest = len(items) - limit
    return shown if rest <= 0 else f"{shown} and {rest} more"


_LONGEST_QUOTED = 300  # characters: a column's name has at most 200
# What is quoted as it is. A frame, an array or a list given by mistake may contain private rows.
_QUOTED = (str, bytes, Number, PurePath, type(None))


class TypeName(str):
    """The type of an object that is not quoted, in its place among the facts."""

    def __repr__(self) -> str:
        return str(self)


class _Formatter(string.Formatter):
    """Format of templates: Python's, and ``listed``, ``joined``, ``paired`` and ``plural`` as the module says.

    A quoted value is cut to 300 characters. Anything but a text, a number or a path is named by its type alone.
    """

    def convert_field(self, value: Any, conversion: str | None) -> Any:  # noqa: ANN401
        converted = super().convert_field(value, conversion)
        if conversion == "r" and len(converted) > _LONGEST_QUOTED:
            return f"{converted[: _LONGEST_QUOTED - 3]}..."
        return converted

    def format_field(self, value: Any, format_spec: str) -> str:  # noqa: ANN401
        form, _, rest = format_spec.partition(" ")
        if form == "listed":
            return quoted_names(value, int(rest or 5))
        if form == "joined":
            return ", ".join(value)
        if form == "paired":
            return ", ".join(f"{of!r} of {name!r}" for name, of in value.items())
        if form == "plural":
            return plural(value, rest)
        return str(super().format_field(value, format_spec))


_FORMATTER = _Formatter()


_TEMPLATES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_Kind = TypeVar("_Kind")


class _Kinds(EnumMeta):
    """Metaclass of the kinds: the members of a class are the entries of ``messages.toml`` under its name."""

    @classmethod
    def __prepare__(cls, name: str, bases: tuple[type, ...], **options: object) -> dict[str, object]:  # type: ignore[override]
        members = super().__prepare__(name, bases, **options)
        for kind, template in _TEMPLATES.get(name, {}).items():
            members[kind] = template
        return members

    if TYPE_CHECKING:
        # A checker of types does not read the file: it takes every name, and the test of the kinds checks them.
        def __getattr__(cls: type[_Kind], name: str) -> _Kind: ...


class Message(Enum, metaclass=_Kinds):
    """Base of the kinds. The value of a member is the template of its sentence."""

    @property
    def code(self) -> str:
        """Return the name of the kind in records and messages between programs."""
        return self.name.lower().replace("_", "-")

    @property
    def template(self) -> str:
        """Return the template of the sentence."""
        return str(self.value)

    @property
    def facts(self) -> frozenset[str]:
        """Return the names of the facts that the template takes."""
        return frozenset(name for _, name, _, _ in _FORMATTER.parse(self.template) if name)

    def without_objects(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Return the facts, with the type alone of what the sentence would quote and is no text, number or path.

        An error is logged and pickled with its facts.
        """
        quoted = {name for _, name, _, conversion in _FORMATTER.parse(self.template) if conversion == "r"}
        return {
            name: TypeName(f"<{type(fact).__name__}>") if name in quoted and not isinstance(fact, _QUOTED) else fact
            for name, fact in facts.items()
        }

    def sentence(self, **facts: object) -> str:
        """Render the sentence.

        Raises:
            KeyError: a fact of the template is not given.
        """
        return _FORMATTER.vformat(self.template, (), self.without_objects(facts))

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
        made.kind, made.facts = kind, kind.without_objects(facts)
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[Message], dict[str, Any]]:
        return (self.kind,), dict(self.facts)


def kind_of(note: str) -> Message | None:
    """Return the kind of a note; None for a plain text, such as a note read from a record."""
    return note.kind if isinstance(note, Note) else None


# Numbers of all rows at once: 1 GB, and what holds its rows needs a few times that at work.
MOST_IN_MEMORY = 2**27


class InputError(ValueError):
    """Bad input, in one sentence that says what is wrong, where, and what to do.

    The sentence is shown to whoever is at the screen and may land in a log: it never holds a value taken
    from a private row, nor a column or level name that only the private table has.

    Attributes:
        message: the kind of its sentence; None for an error that was raised with a plain text.
        kind: identifies the error in code and tests: the message, or the kind that a subclass has in its place.
        facts: values that the sentence was rendered from.
        endings: sentences that follow, on the state of a spend.
    """

    # Whether its cause is an error in the program itself.
    by_program = False
    kind: Enum | None = None
    message: Message | None = None
    endings: tuple[str, ...] = ()

    def __init__(self, message: Message | str, /, **facts: object) -> None:
        super().__init__(message.sentence(**facts) if isinstance(message, Message) else message)
        self.facts: Mapping[str, Any] = facts
        if isinstance(message, Message):
            self.kind = self.message = message
            self.facts = message.without_objects(facts)

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


def parse_number(value: float | str, kind: type[float] = float) -> float:
    """Return a number, parsed if it is given as text.

    Args:
        value: number or text.
        kind: of the number, ``float`` or ``int``.

    Raises:
        ValueError: it holds none, or its digits are grouped: Python takes 1_5, a slip for 1.5, as fifteen.
        TypeError: it is a truth value, which Python takes as 1, or neither text nor number.
        OverflowError: it is too large for ``kind``.
    """
    if isinstance(value, bool) or not isinstance(value, str | Number):  # numpy's truth values are no numbers
        raise TypeError("a truth value, or an object")
    if isinstance(value, str) and "_" in value:
        raise ValueError("grouped digits")
    return kind(value)


def number_between(name: str, value: float | str, low: float, high: float) -> float:
    """Return the value as a float; NaN is refused as out of range.

    Raises:
        InputError: the value is not a number, or is out of range.
    """
    try:
        result = parse_number(value)
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


def check_encodable(text: str) -> str:
    """Return a text that a table may have.

    Raises:
        InputError: it has half of a character, as of a terminal with another encoding.
    """
    with reraised_as(InputError(ArgumentMessage.NOT_UNICODE, given=text), UnicodeEncodeError):
        text.encode()
    return text


def check_fits_in_memory(n: int, width: int) -> None:
    """Refuse n rows of ``width`` numbers that would not fit in memory; n is public.

    Raises:
        InputError: too many.
    """
    if n * width > MOST_IN_MEMORY:
        raise InputError(ArgumentMessage.TOO_MANY_ROWS_AT_ONCE, rows=n, count=width, limit=MOST_IN_MEMORY // 10**6)


class CapError(InputError):
    """A ledger's cap refuses a spend; nothing was released."""


class TableMessage(Message):
    """What is wrong with tables, or with the choices about them."""


class PublicMessage(Message):
    """What is wrong with public rows or a public moment matrix."""


class ReleaseMessage(Message):
    """Why a release, a plan or a configuration cannot be made."""


class AccountingMessage(Message):
    """Why a budget cannot be taken or met."""


class TableNote(Message):
    """What was done about tables that can be used, or should be known of them."""


class ArgumentMessage(Message):
    """What is wrong with a value that was given."""


class LedgerMessage(Message):
    """Why the ledger refuses a request."""


class CommandMessage(Message):
    """What is wrong with a call of the command line."""


class ResultMessage(Message):
    """Why a question about a result has no answer."""


class FaceMessage(Message):
    """What is wrong with a call from Python."""


class LocalMessage(Message):
    """What is wrong with a configuration, or with reports of devices."""


class SiteMessage(Message):
    """Why a study of several sites cannot be made, or a folder of one not used."""


class AuditMessage(Message):
    """Why a comparison or an audit cannot be run."""


class Damage(Message):
    """Kinds of damage to a ledger: clauses of :attr:`LedgerMessage.DAMAGED`."""


class ExploreMessage(Message):
    """Why a released moment does not answer a question."""


class LossMessage(Message):
    """Why a loss cannot be bounded."""


class MethodMessage(Message):
    """Why a method or one of its parameters does not suit."""


class RecordMessage(Message):
    """Why a file is no record of a joint moment."""


class StudyFault(Message):
    """What went wrong with a study among sites; the error adds the sites it concerns."""


class StudyError(InputError):
    """A study cannot begin, or stopped.

    Attributes:
        kind: why.
        sites: names of the sites concerned.
    """

    kind: StudyFault

    def __init__(self, kind: StudyFault, *sites: str) -> None:
        self.kind, self.sites = kind, sites
        super().__init__(f"{kind.sentence().removesuffix('.')} ({quoted_names(sites)})." if sites else kind.sentence())


class Party(Message):
    """Who looks at a study among sites."""


class PartyKnowledge(Message):
    """What a study promises against a party."""


class SiteState(Message):
    """State of a site in a study."""


class SettingFault(Message):
    """What is wrong with a setting of a server."""


class DatabaseFault(Message):
    """Why a ledger cannot be used, by the error of a database driver."""


class SpendMessage(Message):
    """State of a budget after a release that ended, failed or was stopped."""


class ReleaseNote(Message):
    """What is said about a release or its plan."""


class PlanVerdict(Message):
    """Whether private rows can help at a budget."""


class CuratorNote(Message):
    """Exact facts of the private rows, for a curator."""


class LabReason(Message):
    """Why a release may not leave: clauses."""


class GuaranteeWords(Message):
    """What a guarantee says, and for whom."""


class GuaranteePhrase(Message):
    """Parts of the statement of a guarantee: clauses."""


class AttackResult(Message):
    """Result of an audit or an attack: clauses."""


class RepairLabel(Message):
    """What a repair of a table or a choice does, as a button says it."""


class ExploreWords(Message):
    """What Explore says of regressions from a released moment."""


class PageWords(Message):
    """What the pages explain beside their controls and pictures."""


class ReportWords(Message):
    """What reports and pictures explain of their figures."""


class Phrase(Message):
    """Parts of sentences about plans, runs and spends."""
