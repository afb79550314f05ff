"""The two parties of a study: a site with its private table and its ledger, and the coordinator, who has neither."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import monotonic, sleep

from pmtcore.base.exports import plain_json
from pmtcore.base.messages import InputError, Note, ReleaseNote, StudyError, StudyFault
from pmtcore.base.numbers import rounded
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.ledger.account import SpendFields
from pmtcore.ledger.agreements import PendingRequest
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.releases.record import Release
from pmtcore.releases.release import (
    Preview,
    admit,
    guarantee_of_budget,
    preview,
    record_room,
    release,
    spend_of,
    tables_digest,
    without_unrecorded_reason,
)
from pmtcore.sites import seals
from pmtcore.sites.boards import EVERYTHING, Board, BoardMessage
from pmtcore.sites.effects import homogeneity
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.rounds import Exchange, Openings, Replay, SharedNoise, sign_message
from pmtcore.sites.study import Study, StudyContext, knowledge
from pmtcore.sites.transcript import Superseded, Transcript
from pmtcore.tables.problem import Problem
from pmtcore.tables.table import Table

FINISHED = "finished"  # the body of the coordinator's last message, where there is a release
_KEYS = "keys.json"
_BEGIN_PATIENCE = 4  # multiple of the study's patience that a site waits for the others to begin
_LOST_SITE_PATIENCE = 3  # multiple of the study's patience that the coordinator waits for a site lost after an opening
_POLL = 0.02  # seconds
_ANY_ATTEMPT = 2**31  # no attempt is newer


def plan_of(context: StudyContext) -> Preview:
    """Return cost and predicted errors of the study if all sites answer, from public figures; reads no private row."""
    study = context.study
    return preview(context.problem(study.names), study.request_of(study.names))


def _fields(study: Study, problem: Problem, name: str, by: str, *, ledger: Ledger, dataset: str) -> SpendFields:
    """Return the ledger fields of a site's spend: the mu against the declared coalition.

    Args:
        study: the study.
        problem: problem of the rows of all sites, with this site's own table, or with no rows.
        name: of the site.
        by: name of the user.
        ledger: of the site.
        dataset: whose cap counts.

    Raises:
        StudyError: a second person has to agree to the table, and no table is given.
    """
    tables = ""
    if ledger.account(dataset).second:
        if problem.table is None:
            raise StudyError(StudyFault.NEEDS_TABLE, name)
        tables = tables_digest(problem, ledger)
    fields = spend_of(problem, study.request, study.title, by, tables=tables)
    return {**fields, "request": {**fields["request"], "study": study.plan_digest, "site": name}}


def join(
    context: StudyContext,
    name: str,
    folder: Path,
    ledger: Ledger,
    *,
    dataset: str,
    by: str,
    table: Table | None = None,
) -> dict[str, str]:
    """Agree to a study for a site: keys in its folder, the agreement in its ledger.

    No private row is read, unless a second person has to agree: they agree, in the ledger and before the study runs, to
    this table, whose digest under the ledger's key is part of the agreement.

    Args:
        context: the study, whose sites need no keys yet.
        name: of the site.
        folder: for its keys.
        ledger: where the agreement stands.
        dataset: whose cap counts.
        by: who asks.
        table: the site's own, where a second person has to agree.

    Returns:
        What the coordinator adds to the study: the site, the plan's digest, the public keys.

    Raises:
        StudyError: no such site; LedgerError: the cap would be passed; InputError: the folder has keys already.
    """
    study = context.study
    study.site(name)
    problem = context.problem(study.names, table, name)
    ledger.agreements.ask(dataset, study.key(name), _fields(study, problem, name, by, ledger=ledger, dataset=dataset))
    folder.mkdir(parents=True, exist_ok=True)
    keys = seals.Keys.new()
    keys.write(folder / _KEYS)
    return {"site": name, "plan": study.plan_digest, **keys.public}


@dataclass(frozen=True, eq=False)
class SiteOfStudy:
    """One institution's part.

    Attributes:
        context: the study as this site read it, with the keys of all sites.
        folder: its keys, and which passes it has opened.
        dataset: whose cap in the ledger the spend counts against.
    """

    context: StudyContext
    name: str
    table: Table
    folder: Path
    ledger: Ledger
    dataset: str
    source: NoiseSource
    by: str = ""

    def run(self, board: Board) -> ReleaseRecord:
        """Take part until the release is there; the spend is in the ledger before a row is read.

        A site that was stopped may run again: it reads the opened totals from the board, and its spend counts once.

        Returns:
            The record, as this site's ledger keeps it.

        Raises:
            StudyError: the study does not fit, was not agreed to, or stopped; LedgerError: the ledger refuses.
            InputError: the ledger knows the public rows as private ones, or the table does not fit.
        """
        study, keys = self.context.study, seals.Keys.read(self.folder / _KEYS)
        self._require_fit(keys)
        transcript = Transcript(study, board, self.name)
        transcript.update()
        try:
            earlier = self._spend()
        except (InputError, LedgerError):
            self._report_state(board, keys, "failed", StudyFault.NOT_AGREED.code)
            raise
        if earlier is not None:
            return earlier
        Openings(self.folder, study).publish_again(board, transcript)
        last = transcript.attempt  # a site takes part only in attempts that begin after it joined the run
        self._report_state(board, keys, "here")
        try:
            result = self._released(board, keys, transcript, last)
        except Exception as error:
            kind = error.kind.code if isinstance(error, StudyError) else type(error).__name__
            with suppress(LedgerError):  # the spend stands without this note
                self.ledger.fail(study.key(self.name), kind)
            with suppress(StudyError):
                self._report_state(board, keys, "failed", kind)
            raise
        record = self._keep(result)
        self._report_state(board, keys, "done")
        return record

    def _report_state(self, board: Board, keys: seals.Keys, kind: str, body: str = "") -> None:
        """Report this site's state to the coordinator alone."""
        board.post(
            sign_message(keys, BoardMessage(self.context.study.digest, self.name, kind, to=EVERYTHING, body=body))
        )

    def _require_fit(self, keys: seals.Keys) -> None:
        study = self.context.study
        study.require_keys()
        site = study.site(self.name)
        if keys.public != {"seal": site.seal, "verify": site.verify}:
            raise StudyError(StudyFault.OTHER_STUDY, self.name)
        if self.table.n != site.rows:
            raise StudyError(StudyFault.OTHER_ROWS, self.name)

    def _spend(self) -> ReleaseRecord | None:
        """Record the spend, once; return the record where the study was released before.

        Raises:
            LedgerError: the site is over its cap, or the key belongs to something else.
        """
        study, key = self.context.study, self.context.study.key(self.name)
        if self._agreement().state == "declined":
            raise LedgerError(str(StudyError(StudyFault.NOT_AGREED, self.name)))
        entry = self.ledger.entry(key)
        if entry is not None and entry.record is not None:
            return entry.record.copy()
        if entry is not None and entry.state == "reserved":
            return None  # stopped after the spend: opened totals are on the board, and no pass is opened twice
        problem = self._problem
        admit(problem, self.ledger, self.dataset)
        fields = _fields(study, problem, self.name, self.by, ledger=self.ledger, dataset=self.dataset)
        self.ledger.spend(self.dataset, key, fields, record_room(problem))
        return None

    @cached_property
    def _problem(self) -> Problem:
        """Return the problem of the rows of all sites, with the rows of this site alone; cached."""
        return self.context.problem(self.context.study.names, self.table, self.name)

    def _agreement(self) -> PendingRequest:
        return self.ledger.agreements.one(self.context.study.key(self.name))

    def _released(self, board: Board, keys: seals.Keys, transcript: Transcript, attempt: int) -> Result:
        """Return the result, in as many attempts after ``attempt`` as are needed.

        In earlier attempts this site may have shared other noise, before it was restarted.
        """
        study, openings = self.context.study, Openings(self.folder, self.context.study)
        while True:
            self._wait_for_attempt(transcript, attempt)
            attempt, names, planned = transcript.attempt, transcript.names, transcript.planned
            if transcript.stopped == FINISHED:
                # The other sites continued without this one; their opened totals give its release too.
                return _run(study, planned, SharedNoise(study, Replay(transcript), None), self.context.problem(planned))
            if len(names) < study.least:
                raise StudyError(StudyFault.TOO_FEW_SITES)
            if not set(names) <= set(planned):
                raise StudyError(StudyFault.SITES_CHANGED)
            openings.require_plan(planned)
            shares = NoiseShares(self.source, len(names), study.colluders, len(planned))
            exchange = Exchange(study, self.name, keys, board, transcript=transcript, openings=openings)
            every = planned == study.names
            problem = self._problem if every else self.context.problem(planned, self.table, self.name)
            with suppress(Superseded):
                return _run(study, planned, SharedNoise(study, exchange, shares), problem)

    def _wait_for_attempt(self, transcript: Transcript, last: int) -> None:
        def has_begun() -> bool:
            if transcript.stopped == FINISHED and self.name in transcript.planned:
                return True
            return transcript.attempt > last and self.name in transcript.names

        transcript.wait(has_begun, _ANY_ATTEMPT, _BEGIN_PATIENCE * self.context.study.patience)

    def _keep(self, result: Result) -> ReleaseRecord:
        key = self.context.study.key(self.name)
        spent = self.ledger.entry(key)
        place = {"dataset": self.dataset, "key": key, "head": "" if spent is None else spent.hash}
        record: ReleaseRecord = {**result.as_dict(), "ledger": place}
        self.ledger.finish(key, record)
        return record


@dataclass(frozen=True)
class Result:
    """Release of a study.

    Attributes:
        release: as of one curator who holds the rows of the sites of the first pass.
        passes: sites of each pass.
    """

    study: Study
    release: Release
    passes: tuple[tuple[str, ...], ...]

    @property
    def _answering(self) -> tuple[int, ...]:
        return tuple(len(names) for names in self.passes)

    def as_dict(self) -> ReleaseRecord:
        """Return the record: as of one curator, and who answered and who can learn what."""
        study, names, learns = self.study, self.passes[0], knowledge(self.study, *self._answering)
        answered = {
            "id": study.id,
            "plan": study.plan_digest,
            "digest": study.digest,
            "answered": list(names),
            "passes": [list(each) for each in self.passes],
            "widening": study.widening(self.passes),
            "colluders": study.colluders,
            "noise_mu": study.noise_mu(len(names)),
            "knowledge": [each.as_dict() for each in learns],
            **({"homogeneity": homogeneity(self.release)} if study.site_effects else {}),
        }
        return plain_json({**self.release.as_dict(), "study": answered})


def _run(study: Study, names: tuple[str, ...], source: SharedNoise, problem: Problem) -> Result:
    """Return the result for these sites' rows, computed by one party from the opened totals.

    Args:
        study: the study.
        names: of the sites of the first pass.
        source: opens totals.
        problem: of the rows of these sites, as the party sees it: with its own table, or with none.

    Raises:
        StudyError: the first pass was opened with other sites.
    """
    stated = guarantee_of_budget(problem, study.request)
    released = without_unrecorded_reason(release(problem, study.request_of(names), source, stated=stated))
    if source.passes[0] != names:
        raise StudyError(StudyFault.SITES_CHANGED)
    passes = tuple(source.passes)
    words = tuple(each.words for each in knowledge(study, *(len(each) for each in passes)))
    factor = study.widening(passes)
    if factor > 1:
        words += (Note(ReleaseNote.FEWER_SITES, factor=rounded(factor)),)
    if factor > 1 and released.bands is not None:
        released = replace(released, bands=released.bands.widened(factor, released.coefficients))
    return Result(study, replace(released, notes=released.notes + words), passes)


class Coordinator:
    """Coordinator: relays messages and chooses the sites of an attempt; holds no private row and no key.

    Args:
        context: the study with the keys of all sites.
        board: board of the messages.
    """

    def __init__(self, context: StudyContext, board: Board) -> None:
        context.study.require_keys()
        self._context, self._study, self._board = context, context.study, board
        self._transcript = Transcript(context.study, board)

    def run(self) -> ReleaseRecord:
        """Lead the study to its release, which is computed from the opened totals, as any reader can do.

        Raises:
            StudyError: too few sites answered, or one was lost after a pass was opened; nothing more is released.
        """
        transcript = self._transcript
        transcript.update()
        try:
            # A coordinator that was stopped continues the attempt that is on the board.
            if not transcript.attempt:
                self._begin(self._answering())
            while not self._is_finished():
                self._follow()
                sleep(_POLL)
            source = SharedNoise(self._study, Replay(transcript), None)
            problem = self._context.problem(transcript.planned)
            result = _run(self._study, transcript.planned, source, problem)
        except StudyError as error:
            self._post("stop", body=error.kind.code)
            raise
        self._post("stop", body=FINISHED)
        return result.as_dict()

    def _is_finished(self) -> bool:
        """Return whether the sites have the release. A site that has it saw every pass opened, so none is lost."""
        transcript = self._transcript
        late = set(transcript.names) - transcript.done
        return not late or (
            bool(transcript.done) and (self._idle() > self._study.patience or late <= transcript.failed)
        )

    def _post(self, kind: str, attempt: int = 0, body: str = "") -> None:
        self._board.post(BoardMessage(self._study.digest, "", kind, attempt, body=body))

    def _begin(self, names: tuple[str, ...]) -> None:
        if len(names) < self._study.least:
            raise StudyError(StudyFault.TOO_FEW_SITES, *names)
        self._post("begin", self._transcript.attempt + 1, ",".join(names))
        self._transcript.update()

    def _idle(self) -> float:
        return monotonic() - self._transcript.changed

    def _answering(self) -> tuple[str, ...]:
        """Wait until every site has joined the run or refused, at most for the study's patience; return those here."""
        transcript = self._transcript
        while True:
            transcript.update()
            here = tuple(name for name in self._study.names if name in set(transcript.arrivals) - transcript.failed)
            known = set(here) | transcript.failed
            if known >= set(self._study.names) or self._idle() > self._study.patience:
                return here
            sleep(_POLL)

    def _step(self) -> int:
        """Return the first pass that is not opened."""
        step = 0
        while self._transcript.opened(step) is not None:
            step += 1
        return step

    def _follow(self) -> None:
        """Read new messages; begin a new attempt, or stop, where a site is lost."""
        transcript = self._transcript
        transcript.update()
        if transcript.done:
            return  # every pass is opened, and each site can compute the release
        attempt, names, step = transcript.attempt, transcript.names, self._step()
        ready = set(transcript.sent("ready", attempt, step))
        failed = set(names) & transcript.failed
        came_back = any(transcript.arrivals.get(name, 0) > transcript.arrivals_before.get(name, 0) for name in names)
        # After the first opening the release would lack a lost site's rows, so it has longer to come back.
        patience = self._study.patience * (1 if step == 0 else _LOST_SITE_PATIENCE)
        if ready >= set(names):  # every site may have published its sum, so no new attempt begins
            if failed or self._idle() > _LOST_SITE_PATIENCE * self._study.patience:
                raise StudyError(StudyFault.LOST, *(failed or set(names) - set(transcript.sent("sum", attempt, step))))
        elif came_back:
            self._begin(names)
        elif failed or self._idle() > patience:
            self._begin(tuple(n for n in names if n not in failed) if failed else self._remaining(step, ready))

    def _remaining(self, step: int, ready: set[str]) -> tuple[str, ...]:
        """Return the sites that have sent all that this pass needs of them."""
        transcript = self._transcript
        shared = tuple(n for n in transcript.names if transcript.has_shared(n, transcript.attempt, step))
        if len(shared) < len(transcript.names):
            return shared
        return tuple(name for name in shared if name in ready)
