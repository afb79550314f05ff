"""One fit, one spend: the ledger it is written to, and what is said about it.

A fit repeated in one process (a notebook's cell run again, a clone with the same parameters on the same rows) finds the
release that was made and spends nothing. What tells it is a digest of both tables and the request, kept in this process
only.
"""

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

from pmtcore.base.messages import FaceMessage, GuaranteeWords, InputError, Phrase, SpendMessage
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger.account import counted_mu
from pmtcore.ledger.log import Ledger, default_url
from pmtcore.ledger.sidecar import seal
from pmtcore.mechanisms.noise import SecureNoise, SeededNoise
from pmtcore.releases.outcome import account_after, before_spend
from pmtcore.releases.record import Release
from pmtcore.releases.release import Request, preview, recorded_release, release
from pmtcore.tables.fingerprint import public_digest
from pmtcore.tables.named import is_demo
from pmtcore.tables.problem import Problem

_MARK = 8  # hexadecimal digits: two of a thousand frames are taken for one with odds of 1 in 9,000
_MADE: dict[str, str] = {}  # digest of a request with its tables -> key in the ledger


@dataclass(frozen=True)
class SpendOptions:
    """Options of the spend of a fit.

    Attributes:
        ledger: a file, a database's address, a ledger; ``None``: the user's own.
        dataset: whose cap in the ledger it counts against; ``None``: the file's, or a name by the frame's fingerprint.
        key: a name for this release: repeating it repeats the outcome. ``None``: one is made.
        lab, seed: outside any ledger, or with repeatable noise: the result is a lab figure.
        file: name of the private file, empty for a frame.
    """

    dataset: str | None
    ledger: Ledger | str | Path | None = None
    key: str | None = None
    purpose: str = ""
    lab: bool = False
    seed: int | None = None
    file: str = ""


@dataclass(frozen=True)
class Spent:
    """Public record of the budget that a fit spent.

    Attributes:
        mu: what is spent: of a person, where one may have several rows.
    """

    mu: float
    place: str = ""
    dataset: str = ""
    key: str = ""
    total: float | None = None
    cap: float | None = None
    repeated: bool = False
    synthetic: bool = False
    other_rows: bool = False

    @property
    def sentence(self) -> str:
        """Return what was spent, in one line."""
        if self.mu == 0:
            return GuaranteeWords.NO_PRIVATE_ROW.sentence()
        if self.synthetic:
            return SpendMessage.DEMO.sentence()
        if not self.place:
            return SpendMessage.LAB.sentence(mu=self.mu)
        of_cap = Phrase.ACCOUNT if self.cap is None else Phrase.ACCOUNT_OF_CAP
        account = "" if self.total is None else f", {of_cap.sentence(spent=self.total, cap=self.cap)}"
        kind = SpendMessage.REPEATED if self.repeated else SpendMessage.SPENT
        said = kind.sentence(mu=self.mu, dataset=self.dataset, place=self.place, account=account, key=self.key)
        return f"{said} {SpendMessage.OTHER_ROWS.sentence(dataset=self.dataset)}" if self.other_rows else said


def spend(
    problem: Problem, request: Request, options: SpendOptions, tables: str
) -> tuple[Release, ReleaseRecord, Spent]:
    """Make a release, once.

    Args:
        problem: the tables and what was chosen about them.
        request: method, budget and parameters.
        options: ledger, data set, key and purpose.
        tables: digest of both tables, to recognise a repetition in this process.

    Returns:
        The release, its record in plain fields, and what it did to the budget.

    Raises:
        InputError: as :func:`pmtcore.releases.release.recorded_release`.
    """
    source = SecureNoise() if options.seed is None else SeededNoise(options.seed)
    cost = preview(problem, request).guarantee
    if options.lab or options.seed is not None or cost.mu == 0:
        named = (options.dataset, options.key, options.purpose)
        if cost.mu > 0 and (options.ledger is not None or any(named)):
            raise InputError(FaceMessage.LAB_NEEDS_NO_LEDGER)
        released = release(problem, request, source)
        return released, released.as_dict(), Spent(cost.person.mu)
    if options.dataset is None and problem.table is not None and is_demo(problem.table):
        released = release(problem, request, source)
        return released, released.as_dict(), Spent(cost.person.mu, synthetic=True)
    with before_spend():
        ledger, own = _book(options.ledger)
        dataset = options.dataset or options.file or unnamed(problem, ledger)
        if own:
            ledger.first_cap(dataset, counted_mu(cost.person.mu, cost.neighbours.value))
        same = _digest(ledger.place, dataset, tables, request.as_dict(), *_asked(problem, ledger))
        key = options.key or _MADE.get(same) or uuid4().hex
        repeated = ledger.entry(key) is not None
    made = recorded_release(problem, request, source, ledger, dataset=dataset, key=key, purpose=options.purpose)
    _MADE[same] = key
    account = account_after(ledger, made.dataset)
    total, cap = (None, None) if account is None else (account.spent, account.cap)
    spent = Spent(cost.person.mu, ledger.place, made.dataset, key, total, cap, repeated, other_rows=made.other_rows)
    return made.release, {**made.as_dict(), "ledger_key": key}, spent


def _book(ledger: Ledger | str | Path | None) -> tuple[Ledger, bool]:
    """Return the ledger, and True where it is the user's own file, whose data sets get a first cap by themselves."""
    if isinstance(ledger, Ledger):
        return ledger, False
    if isinstance(ledger, str | Path):
        return Ledger(str(ledger)), "://" not in str(ledger)
    if ledger is None:
        return Ledger(default_url()), True
    raise InputError(FaceMessage.LEDGER_FORM)


def unnamed(problem: Problem, ledger: Ledger) -> str:
    """Return the data set's name for a frame without one: it tells frames apart, and says nothing of their rows.

    The fingerprint is taken under the ledger's key, so that nobody else can compare it with that of a guess. Frames
    that share rows spend together under whatever names, see :meth:`Ledger.admit`.
    """
    mark = "" if problem.table is None else seal(ledger.fingerprint_key, problem.table.sha256)
    return f"unnamed table {mark[:_MARK]}".strip()


def _asked(problem: Problem, ledger: Ledger) -> tuple[object, ...]:
    """Return what distinguishes two questions about the same tables: all that a release is made from but the cells.

    A schema and the rows behind a public moment change what is public, declared rows change n.
    """
    design = None if problem.design is None else problem.design.as_dict()
    public = public_digest(problem.public, ledger.fingerprint_key)
    return problem.choices.as_dict(), design, public, problem.private.n


def _digest(*fields: object) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()
