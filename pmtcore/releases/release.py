"""One release: a request in plain fields, a preview that reads no private row, the release itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from pmtcore.accounting import budgets
from pmtcore.base.exports import plain_json
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import (
    InputError,
    LabReason,
    Note,
    ReleaseMessage,
    ReleaseNote,
    TableNote,
    kind_of,
    number_between,
    reraised_as,
    whole_number_between,
)
from pmtcore.base.private_rows import PassObserver
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.base.strict_json import parse_json
from pmtcore.ledger.account import SpendFields, spend_fields
from pmtcore.ledger.fingerprint import LEAST_RECOGNISED
from pmtcore.ledger.log import Entry, Ledger, LedgerError, UnclearSpend
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters
from pmtcore.methods.registry import Method, Outcome, Plan, Prediction, make_parameters, method, recommended_method
from pmtcore.public.shrinkage import strongest_shrinkage
from pmtcore.releases.outcome import SpendFailure, SpendPlace, after_spend, before_spend, sentence, without_text
from pmtcore.releases.planning import NO_GAIN, beside_public, public_alone, with_common_sampling
from pmtcore.releases.progress import Progress, Report
from pmtcore.releases.record import PublicFacts, Release
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.fingerprint import content_digest, hash_cells, public_digest
from pmtcore.tables.named import is_demo
from pmtcore.tables.problem import Problem
from pmtcore.tables.sources import has_digest_at_hand

# Cache of the plan of each problem's last request. Plans are public; an entry is dropped together with its problem.
_LAST_PLANS: WeakKeyDictionary[Problem, tuple[Request, tuple[Method, Parameters, Plan]]] = WeakKeyDictionary()
_ADMITTED: set[tuple[object, ...]] = set()  # identifiers of tables that this process has registered in a ledger


@dataclass(frozen=True)
class Request:
    """Request of a user: a method, a total budget, its parameters, the delta at which epsilon is stated.

    ``rows_per_person`` is the declared largest number of rows of one person, for tables without an identifier column
    (with one, :attr:`Problem.unit` applies). The budget protects one row; the ledger charges ``rows_per_person`` times
    it.
    """

    method: str
    budget: budgets.Budget
    parameters: Mapping[str, Any] = field(default_factory=dict)
    delta: float | None = None
    rows_per_person: int = 1

    def __post_init__(self) -> None:
        whole_number_between("rows per person", self.rows_per_person, 1, budgets.MOST_ROWS)
        if self.delta is not None:
            budgets.checked_delta(self.delta)
        entry = method(self.method)
        make_parameters(entry, self.parameters)
        # A method may be requested by the name that a paper gives it; the record has its id.
        object.__setattr__(self, "method", entry.id)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back."""
        return {
            "method": self.method,
            "mu": self.budget.mu,
            "parameters": plain_json(dict(self.parameters)),
            "delta": self.delta,
            **({"rows_per_person": self.rows_per_person} if self.rows_per_person > 1 else {}),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Request:
        """Read the request from plain fields.

        Raises:
            InputError: a field is missing, unknown or out of range.
        """
        unknown = set(fields) - {"method", "mu", "parameters", "delta", "rows_per_person"}
        if unknown or "method" not in fields or "mu" not in fields:
            if unknown:
                raise InputError(ReleaseMessage.UNKNOWN_FIELDS, fields=sorted(map(str, unknown)))
            raise InputError(ReleaseMessage.LACKING_FIELDS)
        entry = method(str(fields["method"]))
        values = fields.get("parameters", {})
        if not isinstance(values, Mapping):
            raise InputError(ReleaseMessage.PARAMETERS_FORM)
        budget = budgets.Budget(number_between("mu", fields["mu"], *budgets.MU_RANGE))
        delta = None if fields.get("delta") is None else budgets.checked_delta(fields["delta"])
        rows = whole_number_between("rows per person", fields.get("rows_per_person", 1), 1, budgets.MOST_ROWS)
        return cls(entry.id, budget, vars(make_parameters(entry, values)), delta, rows)


def request_from_json(data: bytes) -> Request:
    """Return a request from the bytes of a saved configuration.

    Raises:
        InputError: not JSON, not one object, or a field that :meth:`Request.from_dict` refuses.
    """
    with reraised_as(InputError(ReleaseMessage.CONFIGURATION_NOT_JSON)):
        fields = parse_json(data)
    if not isinstance(fields, dict):
        raise InputError(ReleaseMessage.CONFIGURATION_FORM)
    return Request.from_dict(fields)


@dataclass(frozen=True)
class Preview:
    """Public information before a private row is read: cost, public facts, predicted errors, a verdict."""

    method: Method
    parameters: Parameters
    guarantee: budgets.Guarantee
    facts: Facts
    names: tuple[str, ...]
    predicted: Prediction | None
    public_alone: Prediction | None
    verdict: tuple[str, ...]


def planned_guarantee(problem: Problem, request: Request) -> budgets.Guarantee:
    """Return the guarantee of a release of this request; free, and no error is predicted."""
    return _guarantee(problem, request, _plan(problem, request)[2].mu)


def preview(problem: Problem, request: Request) -> Preview:
    """Return the cost and the predicted errors of a request, from public figures alone; free."""
    entry, parameters, plan = _plan(problem, request)
    facts, predicted = plan.facts(), plan.predicted()
    if predicted is not None:
        predicted = with_common_sampling(predicted, problem.public, problem.private.n, entry.id)
    alone = public_alone(problem.public)
    guarantee = _guarantee(problem, request, plan.mu)
    return Preview(
        entry,
        parameters,
        guarantee,
        facts,
        problem.public.names,
        predicted,
        alone,
        _cautions(problem, entry, guarantee) + (_verdict(facts, predicted, alone) if plan.mu > 0 else ()),
    )


def release(
    problem: Problem,
    request: Request,
    source: NoiseSource,
    watch: PassObserver | None = None,
    *,
    stated: budgets.Guarantee | None = None,
    exact_figures_shown: bool | None = None,
) -> Release:
    """Run a method once without a ledger; a result that depends on private rows then has the status *lab*.

    Only :func:`recorded_release`, which records the spend first, makes figures that may leave.

    Args:
        problem: the tables and what was chosen about them.
        request: method, budget and parameters.
        source: source of the noise.
        watch: observer of each pass over the private rows.
        stated: guarantee to state in place of the plan's: a weaker one, which holds against readers who know a part of
            the noise.
        exact_figures_shown: whether exact figures of the private rows were on a curator's screen before; ``None`` where
            nobody can tell.

    Guarantee: the method's own at the request's total budget; stated in the record.

    Raises:
        InputError: the method is for the lab, or a parameter is out of range.
    """
    entry, parameters, plan = _plan(problem, request)
    _check_may_leave(entry)
    outcome = plan.run(problem.private if watch is None else problem.private.with_observer(watch), source, 1)
    reasons = problem.lab_reasons
    if LabReason.SYNTHETIC not in map(kind_of, reasons) and problem.table is not None and is_demo(problem.table):
        reasons += (Note(LabReason.SYNTHETIC),)
    if plan.mu > 0 and not source.secure:
        reasons += (Note(LabReason.SEEDED),)
    if plan.mu > 0:
        reasons += (Note(LabReason.UNRECORDED),)
    guarantee = stated or _guarantee(problem, request, plan.mu)
    return Release(
        method=entry.id,
        title=entry.title,
        standing=ReleaseStatus.LAB if reasons else ReleaseStatus.SOUND,
        standing_reasons=reasons or (entry.claim.reason,),
        target=problem.public.target,
        names=problem.public.names if entry.gives_coefficients else (),
        coefficients=outcome.coefficients[0],
        bands=None if problem.public.response_is_constant else outcome.bands(),
        guarantee=guarantee,
        parameters=vars(parameters),
        n=problem.private.n,
        public_rows=problem.public.m,
        seed=source.seed,
        public=_public_facts(problem, entry),
        facts=plan.facts(),
        parts=plan.parts(),
        released=outcome.released_under(guarantee),
        notes=problem.notes
        + _fit_notes(problem, plan)
        + _cautions(problem, entry, guarantee)
        + _row_notes(problem, outcome),
        design={} if problem.design is None else problem.design.as_dict(),
        disagrees=outcome.disagrees,
        exact_figures_shown=exact_figures_shown,
    )


@dataclass(frozen=True)
class Recorded:
    """A release that is in the ledger: the record kept there, in plain fields, under its data set and key."""

    record: ReleaseRecord
    dataset: str
    key: str
    release: Release  # made just now, or for a repeated key made again from the record
    other_rows: bool = False  # whether the data set has a table, and this one does not match it (decision 226)

    def as_dict(self) -> ReleaseRecord:
        """Return the record as the ledger keeps it."""
        return self.record.copy()


def recorded_release(
    problem: Problem,
    request: Request,
    source: NoiseSource,
    ledger: Ledger,
    *,
    dataset: str,
    key: str,
    purpose: str = "",
    by: str = "",
    progress: Progress | None = None,
    exact_figures_shown: bool | None = None,
) -> Recorded:
    """Make one release for each key; the ledger has the spend before a private row is encoded.

    Only this function makes figures that may leave. A key that was used before returns the release stored with it.

    Args:
        problem: the tables and what was chosen about them.
        request: method, budget and parameters.
        source: source of the noise.
        ledger: that the spend is written to.
        dataset: whose cap it counts against.
        key: name of the release.
        purpose: what it is for, kept in the ledger.
        by: who releases.
        progress: observer of each pass over the table; it may stop the release before the spend, and not after.
        exact_figures_shown: as of :func:`release`.

    Raises:
        InputError: as :func:`release`; LedgerError where the ledger refuses, and then nothing was released.
        SpendFailure: something failed after the spend; it names the spend, its key and what to do.
    """
    if method(request.method).standing is ReleaseStatus.LAB:
        release(problem, request, source)  # raises, with the reason
    with ExitStack() as stack:
        if problem.parsed is not None:
            stack.callback(problem.parsed.clear)  # no later pass needs the parsed rows
        with before_spend():
            _plan(problem, request)[2].prepare()
            other_rows = admit(problem, ledger, dataset, progress)
            agreed = tables_digest(problem, ledger) if ledger.account(dataset).second else ""
        if progress is not None:
            progress.spend()
        fields = spend_of(problem, request, purpose, by, tables=agreed)
        place = SpendPlace(ledger, dataset.strip(), key, fields["mu"])
        earlier = _reserved(place, fields, record_room(problem))
        if earlier is not None and earlier.record is not None:
            return Recorded(earlier.record, earlier.dataset, key, Release.from_dict(earlier.record))
        with after_spend(place):
            try:
                made = without_unrecorded_reason(
                    release(problem, request, source, progress, exact_figures_shown=exact_figures_shown)
                )
            except BaseException as error:
                with suppress(
                    LedgerError
                ):  # the spend stands without this note, and the first error is the one to show
                    ledger.fail(key, type(error).__name__)
                raise
            return Recorded(_store_record(place, made), place.dataset, key, made, other_rows)


def _reserved(place: SpendPlace, fields: SpendFields, room: int) -> Entry | None:
    """Write a spend to the ledger; if writing fails, ask the ledger whether the spend was recorded.

    Returns:
        The earlier entry of the key, or ``None`` for a new spend.

    Raises:
        LedgerError: nothing was spent; SpendFailure: the budget was spent, or the ledger does not answer.
    """
    try:
        with before_spend():
            return place.ledger.spend(place.dataset, place.key, fields, room)
    except UnclearSpend as error:
        cause, state = error.__cause__ or error, place.state()
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt(sentence(place, state, cause)) from None
        raise SpendFailure(place, state, cause) from without_text(cause)
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(sentence(place, place.state(), stop)) from None


def _store_record(place: SpendPlace, made: Release) -> ReleaseRecord:
    """Store a record with its spend and return it as stored; tried twice, since the budget is spent already.

    Raises:
        LedgerError: both attempts failed.
    """
    record: ReleaseRecord = {**made.as_dict(), "ledger": {"dataset": place.dataset, "key": place.key, "head": ""}}
    try:
        return place.ledger.finish(place.key, record)
    except LedgerError:
        entry = place.ledger.entry(place.key)  # the record may have been written before the error
        if entry is not None and entry.record is not None:
            return entry.record.copy()
        return place.ledger.finish(place.key, record)


def spend_of(problem: Problem, request: Request, purpose: str = "", by: str = "", *, tables: str = "") -> SpendFields:
    """Return the ledger fields of a release's spend, for a request that awaits agreement or for the release itself.

    Args:
        problem: the tables and what was chosen about them.
        request: method, budget and parameters.
        purpose: what it is for.
        by: who releases.
        tables: digest of both tables (:func:`tables_digest`), where a second person has to agree to the release.

    Raises:
        InputError: as :func:`preview`, or the method is for the lab.
    """
    entry, _, plan = _plan(problem, request)
    _check_may_leave(entry)
    unit = _unit(problem, request)
    return spend_fields(
        request.as_dict(),
        unit.rows * plan.mu,
        entry.claim.neighbours.value,
        purpose,
        pure_epsilon=unit.rows * budgets.pure_epsilon(plan.parts()),
        gaussian_mu=unit.rows * budgets.gaussian_mu(plan.parts()),
        choices=problem.choices.as_dict(),
        unit=unit,
        by=by,
        tables=tables,
    )


def tables_digest(problem: Problem, ledger: Ledger) -> str:
    """Return the digest of both tables under the ledger's key; an agreement to a release holds for this digest only.

    It takes one pass over the private rows. Without the key nobody can compute the digest of a guessed table.
    """
    if problem.table is None:
        return ""
    key = ledger.fingerprint_key
    return content_digest(problem.table, key, problem.dialect) + public_digest(problem.public, key)


def admit(problem: Problem, ledger: Ledger, dataset: str, watch: PassObserver | None = None) -> bool:
    """Register a problem's table in the ledger by its fingerprint; return whether its data set has other tables.

    The fingerprint recognises a table under any name. Which tables share rows counts as public, since it decides whose
    budget a release spends.
    """
    if problem.table is None:
        return False
    refuse_known_public_rows(problem, ledger)
    table, read = problem.table, problem.dialect or Dialect()
    # Hashing a file needs an extra pass over it, so files are not cached; the fingerprint's pass also parses the rows
    # for the release.
    mark = None
    if has_digest_at_hand(table.source):
        # A table with another declared number of rows, or read with another dialect, is another table.
        mark = (ledger.url, dataset.strip(), table.sha256, table.source.rows(read), read)
    if mark is None or mark not in _ADMITTED:
        numeric = () if problem.coder is None else problem.coder.numbers
        key, most_rows, parsed = ledger.fingerprint_key, ledger.most_rows_hashed, problem.parsed
        cells = hash_cells(
            *(table, key, problem.dialect),
            watch=watch,
            most_rows=most_rows,
            parsed=parsed,
            numeric=numeric,
            cluster=problem.cluster,
        )
        other_rows = ledger.enter_table(dataset, cells) and cells.table_rows >= LEAST_RECOGNISED
        if mark is not None:
            _ADMITTED.add(mark)
        return other_rows
    return False


def refuse_known_public_rows(problem: Problem, ledger: Ledger) -> None:
    """Refuse public rows that the ledger has recorded as private, unless the overlap is declared or the status is lab.

    If the two tables were exchanged by mistake, the public fit, scales and levels would be computed from the private
    one without noise. :meth:`Ledger.datasets_with_rows` compares rows, with noise on the number of matches; another
    sample of the same people has other rows and passes.

    Raises:
        InputError: public rows are private rows of the data sets that the error names.
    """
    public = problem.public_table
    if public is None or problem.choices.overlap or problem.lab_reasons:
        return
    cells = hash_cells(public, ledger.fingerprint_key, problem.dialect, most_rows=ledger.most_rows_hashed)
    if known := ledger.datasets_with_rows(cells):
        raise InputError(ReleaseMessage.PUBLIC_ROWS_ARE_PRIVATE, datasets=sorted(known))


def progress_of(
    problem: Problem, request: Request, tell: Callable[[Report], None], stop: Callable[[], bool] = lambda: False
) -> Progress:
    """Return the progress counter of a release of this request."""
    n = problem.private.n if problem.reads_n_rows else None
    return Progress(n, _plan(problem, request)[2].n_passes, tell, stop)


def record_room(problem: Problem) -> int:
    """Return the most bytes that the record of a release takes, the description of its design included."""
    design = "" if problem.design is None else json.dumps(problem.design.as_dict())
    return _room(problem.public.d) + len(design)


def _room(d: int) -> int:
    """Return the most bytes that a record of ``d`` coefficients takes: 1.1 times the sizes measured up to d = 50.

    Three lower triangles of covariances are ``1.5 d^2`` numbers of 22 characters and a comma.
    """
    return 4_096 + 1_500 * d + 90 * d * d


def without_unrecorded_reason(release: Release) -> Release:
    """Return a release without the reason that its spend is not recorded; sound where no other reason is left."""
    reasons = tuple(reason for reason in release.standing_reasons if kind_of(reason) is not LabReason.UNRECORDED)
    if reasons:
        return replace(release, standing_reasons=reasons)
    return replace(release, standing=ReleaseStatus.SOUND, standing_reasons=(method(release.method).claim.reason,))


def _public_facts(problem: Problem, entry: Method) -> PublicFacts:
    """Return the public figures of the problem."""
    public = problem.public
    return PublicFacts(
        public.family.id,
        public.spread,
        entry.noise,
        problem.choices.as_dict(),
        problem.positive,
        tuple(name for name in public.zero_one if name in public.names),
        public.coefficients if public.labelled else None,
    )


def _plan(problem: Problem, request: Request) -> tuple[Method, Parameters, Plan]:
    """Return the method, its parameters and its plan; cached for the last request of a problem."""
    last = _LAST_PLANS.get(problem)
    if last is None or last[0] != request:
        last = _LAST_PLANS[problem] = (request, _planned(problem, request))
    return last[1]


def _planned(problem: Problem, request: Request) -> tuple[Method, Parameters, Plan]:
    entry = method(request.method)
    entry.check_suits(problem.public)
    parameters = make_parameters(entry, request.parameters)
    plan = entry.plan(problem.public, problem.private.n, request.budget, parameters)
    if problem.choices.cluster and not plan.clusters_errors:
        other = recommended_method(problem.public).id
        raise InputError(ReleaseMessage.METHOD_WITHOUT_CLUSTERS, method=entry.id, methods=[other])
    # Removing a person's rows shifts the positions of all later rows (proofs/rows.md, 20).
    if problem.unit is not None and plan.noise_by_place:
        raise InputError(ReleaseMessage.PLACES_SHARE_NOISE, method=entry.id)
    unit = _unit(problem, request)
    if plan.mu * unit.rows > budgets.MU_RANGE[1]:
        raise InputError(
            ReleaseMessage.PERSON_UNPROTECTED, rows=unit.rows, mu=plan.mu * unit.rows, limit=budgets.MU_RANGE[1]
        )
    return entry, parameters, plan


def _row_notes(problem: Problem, outcome: Outcome) -> tuple[str, ...]:
    """Return notes on rows, from the released figures.

    Where persons may have several rows, unused places are rows of zeros too: their note is dropped.
    """
    notes = outcome.notes()
    return notes if problem.unit is None else tuple(n for n in notes if kind_of(n) is not ReleaseNote.ROWS_LEFT_OUT)


def _fit_notes(problem: Problem, plan: Plan) -> tuple[str, ...]:
    """Return notes on the fit: standard errors that ignore clustering, and a ridge penalty that outweighs the rows."""
    notes: tuple[str, ...] = ()
    if problem.public.clusters is not None and not plan.clusters_errors:
        notes += (Note(TableNote.METHOD_UNCLUSTERED),)
    pull = strongest_shrinkage(problem.public, problem.private.n)
    return notes if pull is None else (*notes, pull.note)


def _cautions(problem: Problem, entry: Method, guarantee: budgets.Guarantee) -> tuple[str, ...]:
    """Return warnings on a request, shown before the spend and in the record.

    They concern a delta of at least ``1/n``, which publishing one row in full would satisfy, and a method that on most
    tables is less accurate than the public fit or than zero.
    """
    notes: tuple[str, ...] = ()
    if guarantee.mu > 0 and guarantee.delta * problem.private.n >= 1:
        usual = budgets.reporting_delta(problem.private.n)
        notes += (Note(TableNote.LARGE_DELTA, delta=guarantee.delta, rows=problem.private.n, usual=usual),)
    family = problem.public.family
    if family.id in entry.behind_public_fit:
        other = recommended_method(problem.public).id
        notes += (Note(TableNote.METHOD_BEHIND_PUBLIC_FIT, method=entry.id, family=family.title, methods=[other]),)
    return notes


def guarantee_of_budget(problem: Problem, request: Request) -> budgets.Guarantee:
    """Return the guarantee of a release that spends the whole budget of a request; nothing is planned."""
    return _guarantee(problem, request, request.budget.mu)


def _guarantee(problem: Problem, request: Request, mu: float) -> budgets.Guarantee:
    """Return the guarantee of a request's method that spends this mu."""
    delta = budgets.reporting_delta(problem.private.n) if request.delta is None else request.delta
    return budgets.Guarantee(mu, method(request.method).claim.neighbours, delta, _unit(problem, request))


def _unit(problem: Problem, request: Request) -> budgets.Unit:
    """Return the unit of protection: that of the table's identifier column, else the declared rows per person."""
    return problem.unit or budgets.Unit(request.rows_per_person)


def _verdict(facts: Facts, predicted: Prediction | None, alone: Prediction | None) -> tuple[str, ...]:
    """Return the reasons, from public figures, to expect no gain from the release; a note each."""
    objections = [Note(ReleaseNote.SWAMPED)] if facts.noise_dominates else []
    if predicted is not None and alone is not None:
        ratio, precision, _ = beside_public(predicted, alone)
        if ratio > NO_GAIN:
            nearer = ratio > 1 / NO_GAIN
            kind = ReleaseNote.PUBLIC_FIT_MAY_DO_BETTER if nearer else ReleaseNote.PUBLIC_FIT_MAY_DO_AS_WELL
            objections.append(Note(kind, precision=precision))
    return tuple(objections)


def _check_may_leave(entry: Method) -> None:
    """Raise where a method is for the lab.

    Raises:
        InputError: the error names the command that studies the method.
    """
    if entry.standing is ReleaseStatus.LAB:
        reason, command = entry.claim.reason, entry.studied_with
        raise InputError(ReleaseMessage.LAB_METHOD, method=entry.id, reason=reason, command=command)
