"""The two parties of a study: a site with its private table and its ledger, and the coordinator, who has neither."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic, sleep
from typing import Any, final

from pmtcore.base.records import plain
from pmtcore.ledger.agreements import Asked
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.releases.record import Release
from pmtcore.releases.release import (
    Preview,
    admit,
    once_recorded,
    preview,
    record_room,
    release,
    spend_of,
)
from pmtcore.sites import seals
from pmtcore.sites.boards import Board, Message
from pmtcore.sites.errors import Kind, StudyError
from pmtcore.sites.knowledge import knowledge
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.rounds import Exchange, Openings, Replay, SharedNoise, post
from pmtcore.sites.study import GroundOfStudy, Study
from pmtcore.sites.transcript import Superseded, Transcript
from pmtcore.tables.table import Table

_KEYS = "keys.json"
_LONG = 4  # times the study's patience: what a site waits for the others to begin
_GIVES_UP = 3  # times the study's patience: what the coordinator waits for a site that was lost after an opening
_POLL = 0.02  # seconds
_ANY_ATTEMPT = 2**31  # no attempt is newer


def plan_of(ground: GroundOfStudy) -> Preview:
    """Return what the study would spend and find if all sites answer, from public figures; no private row is read."""
    study = ground.study
    return preview(ground.problem(study.names), study.request_of(study.names))


def _fields(ground: GroundOfStudy, name: str, by: str) -> dict[str, Any]:
    """Return what a site spends, in the fields of its ledger: the budget against the declared coalition."""
    study = ground.study
    fields = spend_of(ground.problem(study.names), study.request, study.title, by)
    return {**fields, "request": {**fields["request"], "study": study.plan_digest, "site": name}}


def join(ground: GroundOfStudy, name: str, folder: Path, ledger: Ledger, dataset: str, by: str) -> dict[str, str]:
    """Agree to a study for a site: keys in its folder, the agreement in its ledger; no private row is read.

    Where the data set needs a second person, they answer in the ledger before the study runs.

    Returns:
        What the coordinator adds to the study: the site, the plan's digest, the public keys.

    Raises:
        StudyError: no such site; LedgerError: the cap would be passed; InputError: the folder has keys already.
    """
    study = ground.study
    study.site(name)
    ledger.agreements.ask(dataset, study.key(name), _fields(ground, name, by))
    folder.mkdir(parents=True, exist_ok=True)
    keys = seals.Keys.new()
    keys.write(folder / _KEYS)
    return {"site": name, "plan": study.plan_digest, **keys.public}


@final
@dataclass(frozen=True, eq=False)
class SiteOfStudy:
    """One institution's part.

    Attributes:
        ground: the study as this site read it, with the keys of all sites.
        folder: its keys, and which passes it has opened.
        dataset: whose cap in the ledger the spend counts against.
    """

    ground: GroundOfStudy
    name: str
    table: Table
    folder: Path
    ledger: Ledger
    dataset: str
    source: NoiseSource
    by: str = ""

    def run(self, board: Board) -> dict[str, Any]:
        """Take part until the release is there; the spend is in the ledger before a row is read.

        A site that was stopped may run again: what was opened is read from the board, and its spend stands once.

        Returns:
            The record, as this site's ledger keeps it.

        Raises:
            StudyError: the study does not fit, was not agreed to, or stopped; LedgerError: the ledger refuses.
        """
        study, keys = self.ground.study, seals.Keys.read(self.folder / _KEYS)
        self._require_fit(keys)
        transcript = Transcript(study, board, self.name)
        transcript.update()
        try:
            earlier = self._spend()
        except LedgerError:
            post(board, keys, Message(study.digest, self.name, "failed", body=Kind.NOT_AGREED.value))
            raise
        if earlier is not None:
            return earlier
        last = transcript.attempt  # a site takes part in attempts that begin after it came
        post(board, keys, Message(study.digest, self.name, "here"))
        try:
            found, names = self._released(board, keys, transcript, last)
        except Exception as error:
            kind = error.kind.value if isinstance(error, StudyError) else type(error).__name__
            with suppress(LedgerError):  # the spend stands without this note
                self.ledger.fail(study.key(self.name), kind)
            with suppress(StudyError):
                post(board, keys, Message(study.digest, self.name, "failed", body=kind))
            raise
        record = self._keep(found, names)
        post(board, keys, Message(study.digest, self.name, "done"))
        return record

    def _require_fit(self, keys: seals.Keys) -> None:
        study = self.ground.study
        study.require_keys()
        site = study.site(self.name)
        if keys.public != {"seal": site.seal, "verify": site.verify}:
            raise StudyError(Kind.OTHER_STUDY, self.name)
        if self.table.n != site.rows:
            raise StudyError(Kind.OTHER_ROWS, self.name)

    def _spend(self) -> dict[str, Any] | None:
        """Write the spend down, once; the record where the study was released before.

        Raises:
            LedgerError: the site is over its cap, or the key belongs to something else.
        """
        study, key = self.ground.study, self.ground.study.key(self.name)
        if self._agreement().state == "declined":
            raise LedgerError(str(StudyError(Kind.NOT_AGREED, self.name)))
        entry = self.ledger.entry(key)
        if entry is not None and entry.record is not None:
            return dict(entry.record)
        if entry is not None and entry.state == "reserved":
            return None  # stopped in between: what was opened is on the board, and no pass is opened twice
        problem = self.ground.problem(study.names, self.table)
        admit(problem, self.ledger, self.dataset)
        fields = _fields(self.ground, self.name, self.by)
        self.ledger.spend(self.dataset, key, fields, record_room(problem))
        return None

    def _agreement(self) -> Asked:
        return self.ledger.agreements.one(self.ground.study.key(self.name))

    def _released(
        self, board: Board, keys: seals.Keys, transcript: Transcript, attempt: int
    ) -> tuple[Release, tuple[str, ...]]:
        """Return the release and the sites that answered, whatever attempts it takes after ``attempt``.

        An earlier life of this site may have shared other noise in attempts before.
        """
        study, openings = self.ground.study, Openings(self.folder, self.ground.study)
        while True:
            self._wait_for_attempt(transcript, attempt)
            attempt, names = transcript.attempt, transcript.names
            if len(names) < study.least or not set(names) <= set(study.names):
                raise StudyError(Kind.TOO_FEW_SITES)
            openings.require_same(names)
            shares = NoiseShares(self.source, len(names), study.colluders)
            exchange = Exchange(study, self.name, keys, board, transcript, openings)
            with suppress(Superseded):
                return _run(self.ground, names, self.table, SharedNoise(exchange, shares)), names

    def _wait_for_attempt(self, transcript: Transcript, last: int) -> None:
        def has_begun() -> bool:
            return transcript.attempt > last and self.name in transcript.names

        transcript.wait(has_begun, _ANY_ATTEMPT, _LONG * self.ground.study.patience)

    def _keep(self, found: Release, names: tuple[str, ...]) -> dict[str, Any]:
        key = self.ground.study.key(self.name)
        spent = self.ledger.entry(key)
        place = {"dataset": self.dataset, "key": key, "head": "" if spent is None else spent.hash}
        record = {**record_of(self.ground.study, found, names), "ledger": place}
        self.ledger.finish(key, record)
        return record


def _run(ground: GroundOfStudy, names: tuple[str, ...], table: Table | None, source: NoiseSource) -> Release:
    """Return the release of these sites' rows, computed by one party from the opened totals."""
    study, problem = ground.study, ground.problem(names, table)
    stated = preview(problem, study.request).guarantee
    found = once_recorded(release(problem, study.request_of(names), source, stated=stated))
    return replace(found, notes=found.notes + tuple(each.words for each in knowledge(study, len(names))))


def record_of(study: Study, found: Release, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the record of a study's release: as of one curator, and who answered and who can learn what."""
    answered = {
        "id": study.id,
        "plan": study.plan_digest,
        "digest": study.digest,
        "answered": list(names),
        "colluders": study.colluders,
        "noise_mu": study.noise_mu(len(names)),
        "knowledge": [each.as_dict() for each in knowledge(study, len(names))],
    }
    return plain({**found.as_dict(), "study": answered})


@final
class Coordinator:
    """Relays messages, and says which sites an attempt is made with; holds no private row and no key.

    Args:
        ground: the study with the keys of all sites.
        board: where the messages lie.
    """

    def __init__(self, ground: GroundOfStudy, board: Board) -> None:
        ground.study.require_keys()
        self._ground, self._study, self._board = ground, ground.study, board
        self._transcript = Transcript(ground.study, board)
        self._arrivals: Mapping[str, int] = {}

    def run(self) -> dict[str, Any]:
        """Lead the study to its release, and compute it from the opened totals, as anybody who reads them may.

        Raises:
            StudyError: too few sites answered, or one was lost after a pass was opened; nothing more is released.
        """
        try:
            self._begin(self._answering())
            while not set(self._transcript.names) <= self._transcript.done:
                self._follow()
                sleep(_POLL)
        except StudyError as error:
            self._post("stop", body=error.kind.value)
            raise
        self._post("stop", body="finished")
        names = self._transcript.names
        found = _run(self._ground, names, None, SharedNoise(Replay(self._transcript), None))
        return record_of(self._study, found, names)

    def _post(self, kind: str, attempt: int = 0, body: str = "") -> None:
        self._board.post(Message(self._study.digest, "", kind, attempt, body=body))

    def _begin(self, names: tuple[str, ...]) -> None:
        if len(names) < self._study.least:
            raise StudyError(Kind.TOO_FEW_SITES, *names)
        self._post("begin", self._transcript.attempt + 1, ",".join(names))
        self._transcript.update()
        self._arrivals = dict(self._transcript.arrivals)

    def _idle(self) -> float:
        return monotonic() - self._transcript.changed

    def _answering(self) -> tuple[str, ...]:
        """Wait until every site is here or has refused, or the study's patience is over."""
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
        while self._transcript.opened(step, self._transcript.names) is not None:
            step += 1
        return step

    def _follow(self) -> None:
        """Look at what came, and begin again, or stop, where a site is lost."""
        transcript = self._transcript
        transcript.update()
        attempt, names, step = transcript.attempt, transcript.names, self._step()
        ready = set(transcript.sent("ready", attempt, step))
        failed = set(names) & (transcript.failed - transcript.done)
        came_back = any(transcript.arrivals.get(name, 0) > self._arrivals.get(name, 0) for name in names)
        if ready >= set(names):  # being opened: every site may have published, so nobody begins again
            if failed or self._idle() > _GIVES_UP * self._study.patience:
                raise StudyError(Kind.LOST, *(failed or set(names) - set(transcript.sent("sum", attempt, step))))
        elif came_back:
            self._begin(names)
        elif step == 0 and (failed or self._idle() > self._study.patience):
            self._begin(self._remaining(ready) if not failed else tuple(n for n in names if n not in failed))
        elif step > 0 and (failed or self._idle() > _GIVES_UP * self._study.patience):
            raise StudyError(Kind.LOST, *(failed or set(names) - ready))

    def _remaining(self, ready: set[str]) -> tuple[str, ...]:
        """Return the sites that have done what was due of them."""
        transcript = self._transcript
        shared = tuple(n for n in transcript.names if transcript.has_shared(n, transcript.attempt, 0))
        if len(shared) < len(transcript.names):
            return shared
        return tuple(name for name in shared if name in ready)
