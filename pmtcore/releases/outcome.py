"""State of the budget when a release fails: nothing was spent, or which spend stands and how to go on.

An error that comes after the reserve does not tell by itself whether the budget is gone, or whether the record was
kept. The ledger does: it is asked, and the sentence names the spend, its key, and what to do.
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
        """Ask the ledger what became of the key."""
        try:
            entry = self.ledger.entry(self.key)
        except LedgerError:
            return SpendState.UNKNOWN
        if entry is None:
            return SpendState.NOT_SPENT
        return SpendState.NO_RESULT if entry.record is None else SpendState.RECORD_KEPT


class SpendFailure(LedgerError):
    """A release failed when its budget was being spent, or after.

    Attributes:
        kind: what the ledger says of the key.
        dataset, key, mu, place: of the spend.
        by_program: whether the cause is an error of the program itself.
        on_page: the sentence for a page: no place of the ledger, no option of the command line.
    """

    def __init__(self, spend: SpendPlace, kind: SpendState, cause: BaseException) -> None:
        self.kind, self.dataset, self.key, self.mu = kind, spend.dataset, spend.key, spend.mu
        self.place = spend.ledger.place
        self.by_program = not isinstance(cause, InputError | OSError | KeyboardInterrupt)
        self.on_page = sentence(spend, kind, cause, _ON_PAGE)
        super().__init__(sentence(spend, kind, cause))


_BECAME = {
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
    became_by_kind: Mapping[SpendState, SpendMessage] = _BECAME,
) -> str:
    """Return what is spent, under which key, and what to do; of the cause nothing that could quote a cell."""
    became = became_by_kind[kind].sentence(mu=spend.mu, dataset=spend.dataset, place=spend.ledger.place, key=spend.key)
    return f"{_said(cause)} {became}"


def _said(cause: BaseException) -> str:
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
    own = InputError(SpendMessage.OWN_ERROR, reason=type(cause).__name__)
    own.by_program = True
    return own


def without_text(error: BaseException) -> BaseException:
    """Return an error of the same kind and from the same place, to be chained: its text may quote a cell.

    A notebook or a log prints the cause below the error that it led to. Sentences of this program stay.
    """
    if isinstance(error, InputError):
        return error
    kind = type(error)
    try:
        bare: BaseException = kind.__new__(kind)
    except Exception:  # a constructor of another program's
        bare = RuntimeError(kind.__name__)
    return bare.with_traceback(error.__traceback__)


@contextmanager
def before_spend() -> Iterator[None]:
    """Say that nothing was spent with whatever the ledger refuses, and with every error of another program.

    Private cells are read before a spend too, for the fingerprint: what such an error says may quote one.

    Raises:
        LedgerError: the same, with that sentence.
        InputError: the kind of another error, with it; other bad input passes as it is.
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
        own = _in_own_words(error)
        own.add(SpendMessage.NOTHING.sentence())
        raise own from without_text(error)


@contextmanager
def after_spend(spend: SpendPlace) -> Iterator[None]:
    """Name the spend, its key and what to do with whatever goes wrong.

    Raises:
        SpendFailure: for an error; KeyboardInterrupt: with the same words. Whatever else ends a program or a page
            passes as it is.
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
