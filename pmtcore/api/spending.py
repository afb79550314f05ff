"""Spend of a fit: the ledger that records it, and the sentence about it.

A fit repeated in one process (a notebook's cell run again, a clone with the same parameters on the same rows) returns
the earlier release and spends nothing. It is recognised by a digest of both tables and the request, which stays in this
process.
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

# Hexadecimal digits of a digest in a name: two of 1,000 frames have the same with probability 1/9,000.
_DIGEST_DIGITS = 8
_REQUEST_KEYS: dict[str, str] = {}  # digest of a request with its tables -> key in the ledger


@dataclass(frozen=True)
class SpendOptions:
    """Options of the spend of a fit.

    Attributes:
        ledger: a file, a database's address, a ledger; ``None``: the user's own.
        dataset: data set against whose cap the spend counts; ``None``: the file's, or a name from the frame's
            fingerprint.
        key: name of this release; repeating it returns the same release. ``None``: a random one.
        lab, seed: release without a ledger, or with repeatable noise: the result is a lab figure.
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
        mu: spent budget; that of a person, where one may have several rows.
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
        spent = kind.sentence(mu=self.mu, dataset=self.dataset, place=self.place, account=account, key=self.key)
        return f"{spent} {SpendMessage.OTHER_ROWS.sentence(dataset=self.dataset)}" if self.other_rows else spent


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
        The release, its record in plain fields, and its spend.

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
        ledger, is_own_file = _opened_ledger(options.ledger)
        dataset = options.dataset or options.file or name_for_frame(problem, ledger)
        if is_own_file:
            ledger.first_cap(dataset, counted_mu(cost.person.mu, cost.neighbours.value))
        request_digest = _digest(ledger.place, dataset, tables, request.as_dict(), *_request_parts(problem, ledger))
        key = options.key or _REQUEST_KEYS.get(request_digest) or uuid4().hex
        repeated = ledger.entry(key) is not None
    made = recorded_release(problem, request, source, ledger, dataset=dataset, key=key, purpose=options.purpose)
    _REQUEST_KEYS[request_digest] = key
    account = account_after(ledger, made.dataset)
    total, cap = (None, None) if account is None else (account.spent, account.cap)
    spent = Spent(cost.person.mu, ledger.place, made.dataset, key, total, cap, repeated, other_rows=made.other_rows)
    return made.release, {**made.as_dict(), "ledger_key": key}, spent


def _opened_ledger(ledger: Ledger | str | Path | None) -> tuple[Ledger, bool]:
    """Return the ledger, and True where it is the user's own file, whose data sets get a first cap by themselves."""
    if isinstance(ledger, Ledger):
        return ledger, False
    if isinstance(ledger, str | Path):
        return Ledger(str(ledger)), "://" not in str(ledger)
    if ledger is None:
        return Ledger(default_url()), True
    raise InputError(FaceMessage.LEDGER_FORM)


def name_for_frame(problem: Problem, ledger: Ledger) -> str:
    """Return a name for the data set of a frame, which distinguishes frames and reveals nothing of their rows.

    The fingerprint is taken under the ledger's key, so that nobody else can compute that of a guessed frame. Frames
    that share rows share an account under any names, see :meth:`Ledger.enter_table`.
    """
    mark = "" if problem.table is None else seal(ledger.fingerprint_key, problem.table.sha256)
    return f"unnamed table {mark[:_DIGEST_DIGITS]}".strip()


def _request_parts(problem: Problem, ledger: Ledger) -> tuple[object, ...]:
    """Return everything but the cells that a release depends on, to distinguish requests on the same tables.

    A schema and the number of rows behind a public moment change the public data, declared rows change n.
    """
    design = None if problem.design is None else problem.design.as_dict()
    public = public_digest(problem.public, ledger.fingerprint_key)
    return problem.choices.as_dict(), design, public, problem.private.n


def _digest(*fields: object) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()
