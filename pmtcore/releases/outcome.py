"""State of the budget when a release fails: whether it was spent, and how to go on.

An error after the budget was reserved does not show whether the spend or the record was written. The ledger is
therefore asked, and the message names the spend, its key, and the next step.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from pmtcore.base.labels import SpendState
from pmtcore.base.messages import InputError, SpendMessage
from pmtcore.ledger.account import Account
from pmtcore.ledger.log import Ledger, LedgerError, UnclearSpend


@dataclass(frozen=True)
class SpendPlace:
    """Where one spend is written.

    Attributes:
        mu: what it costs, in the relation of its method.
    """

    ledger: Ledger
    dataset: str
    key: str
    mu: float

    def state(self) -> SpendState:
        """Return the state of the key in the ledger."""
        try:
            entry = self.ledger.entry(self.key)
        except LedgerError:
            return SpendState.UNKNOWN
        if entry is None:
            return SpendState.NOT_SPENT
        return SpendState.NO_RESULT if entry.record is None else SpendState.RECORD_KEPT


class SpendFailure(LedgerError):
    """Error of a release that failed while its budget was being spent, or afterwards.

    Attributes:
        kind: state of the key in the ledger.
        dataset, key, mu, place: of the spend.
        by_program: whether the cause is an error of the program itself.
        on_page: the sentence for a page, without the place of the ledger and options of the command line.
    """

    def __init__(self, spend: SpendPlace, kind: SpendState, cause: BaseException) -> None:
        self.kind, self.dataset, self.key, self.mu = kind, spend.dataset, spend.key, spend.mu
        self.place = spend.ledger.place
        self.by_program = not isinstance(cause, InputError | OSError | KeyboardInterrupt)
        self.on_page = sentence(spend, kind, cause, _ON_PAGE)
        super().__init__(sentence(spend, kind, cause))


_SPEND_MESSAGES = {
    SpendState.NOT_SPENT: SpendMessage.NOTHING,
    SpendState.NO_RESULT: SpendMessage.NO_RESULT,
    SpendState.RECORD_KEPT: SpendMessage.RECORD_KEPT,
    SpendState.UNKNOWN: SpendMessage.UNKNOWN,
}
# A visitor of a server learns nothing of its files, and has no command line.
_ON_PAGE = {
    SpendState.NOT_SPENT: SpendMessage.NOTHING,
    SpendState.NO_RESULT: SpendMessage.PAGE_NO_RESULT,
    SpendState.RECORD_KEPT: SpendMessage.PAGE_RECORD_KEPT,
    SpendState.UNKNOWN: SpendMessage.PAGE_UNKNOWN,
}


def sentence(
    spend: SpendPlace,
    kind: SpendState,
    cause: BaseException,
    became_by_kind: Mapping[SpendState, SpendMessage] = _SPEND_MESSAGES,
) -> str:
    """Return the cause, the state of the spend, its key and the next step, without text that could quote a cell."""
    state = became_by_kind[kind].sentence(mu=spend.mu, dataset=spend.dataset, place=spend.ledger.place, key=spend.key)
    return f"{_cause_in_words(cause)} {state}"


def _cause_in_words(cause: BaseException) -> str:
    """Return the cause in words of this program: a message of another program may quote a cell."""
    if isinstance(cause, KeyboardInterrupt):
        return SpendMessage.STOPPED.sentence()
    return str(_in_own_words(cause))


def _in_own_words(cause: BaseException) -> InputError:
    """Return the cause as an error of this program, without its text."""
    if isinstance(cause, InputError):
        return cause
    if isinstance(cause, OSError):
        return InputError(SpendMessage.SYSTEM_REFUSED, reason=cause.strerror or type(cause).__name__)
    error = InputError(SpendMessage.OWN_ERROR, reason=type(cause).__name__)
    error.by_program = True
    return error


def without_text(error: BaseException) -> BaseException:
    """Return an error of the same class and traceback without its text, which may quote a cell.

    It is chained as the cause, which notebooks and logs print. Errors of this program are returned unchanged.
    """
    if isinstance(error, InputError):
        return error
    kind = type(error)
    try:
        bare: BaseException = kind.__new__(kind)
    except Exception:  # a class of another program that cannot be made without arguments
        bare = RuntimeError(kind.__name__)
    return bare.with_traceback(error.__traceback__)


@contextmanager
def before_spend() -> Iterator[None]:
    """Add the sentence that nothing was spent to errors of the ledger and of other programs.

    Private cells are read before a spend too, for the fingerprint, so the text of another program's error may quote
    one and is left out.

    Raises:
        LedgerError: the same error with the sentence added.
        InputError: class of another program's error, with the sentence; InputErrors pass unchanged.
    """
    try:
        yield
    except (SpendFailure, UnclearSpend):
        raise
    except LedgerError as error:
        error.add(SpendMessage.NOTHING.sentence())
        raise
    except InputError:
        raise
    except Exception as error:
        textless = _in_own_words(error)
        textless.add(SpendMessage.NOTHING.sentence())
        raise textless from without_text(error)


@contextmanager
def after_spend(spend: SpendPlace) -> Iterator[None]:
    """Replace every error by one that names the spend, its key and the next step.

    Raises:
        SpendFailure: for an error; KeyboardInterrupt: with the same sentence. Other exceptions that end a program or a
            page pass unchanged.
    """
    try:
        yield
    except SpendFailure:
        raise
    except Exception as error:
        raise SpendFailure(spend, spend.state(), error) from without_text(error)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(str(stop) or sentence(spend, spend.state(), stop)) from None


def account_after(ledger: Ledger, dataset: str) -> Account | None:
    """Return the account after a spend; ``None`` where the ledger does not answer any more."""
    try:
        return ledger.account(dataset)
    except LedgerError:
        return None
