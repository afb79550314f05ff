"""One pass over all sites: each adds its share of noise, splits the integers into shares, and only the total is opened.

    share   sealed for each other site, once: uniform words that say nothing by themselves
    ready   every share for me has come: up to here nothing can be opened, and an attempt that fails costs nothing
    sum     all are ready: the sum of the shares that I hold; with those of all sites it is the noisy total

A site publishes its sum of a pass once, whatever the coordinator says, and writes that down before: each pass is opened
at most once, so the budget covers a coordinator that lies about who dropped out (docs/proofs/sites.md).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, Protocol, final

import numpy as np

from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.sites import seals, sharing
from pmtcore.sites.boards import Board, Message
from pmtcore.sites.errors import Kind, StudyError
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.study import Study
from pmtcore.sites.transcript import Transcript

_PATIENCE = 4  # times the study's: the coordinator, who may begin again, gives up first


class Opening(Protocol):
    """What turns one party's noisy integers of a pass into the total of all parties."""

    def total(self, step: int, values: np.ndarray) -> list[int]:
        """Return the opened total (k,) of a pass; ``values`` (k,) are this party's."""


@final
class SharedNoise(NoiseSource):
    """The noise source of one party of a study: sums of its own rows go in, opened totals of all rows come out.

    The method runs as it does for one curator; what differs is where its integers are opened.

    Args:
        shares: adds this site's share of the noise; ``None``: the coordinator, who holds no row and adds nothing.
    """

    def __init__(self, opening: Opening, shares: NoiseShares | None) -> None:
        self._opening, self._shares, self._step = opening, shares, 0
        self.secure = shares is None or shares.source.secure
        self.seed = None if shares is None else shares.source.seed

    def noisy(self, parts: Sequence[tuple[np.ndarray, float]], trials: int) -> list[np.ndarray]:
        """See :meth:`NoiseSource.noisy`; all parts of a pass are opened together."""
        values = [value.reshape(-1) for value, _ in parts]
        if self._shares is not None:
            values = [self._shares.add(value, scale) for value, (_, scale) in zip(values, parts, strict=True)]
        opened = np.array(self._opening.total(self._step, np.concatenate(values)), dtype=object)
        self._step += 1
        ends = np.cumsum([len(value) for value in values])
        if len(opened) != ends[-1]:
            raise StudyError(Kind.RANGE)
        return [each.reshape(trials, -1) for each in np.split(opened, ends[:-1])]

    def integers(self, sigma: float, trials: int, size: int) -> NoReturn:
        """Refuse: noise on its own would be opened at each site, and not in a sum."""
        raise StudyError(Kind.METHOD)

    def spherical(self, scale: float, trials: int, size: int) -> NoReturn:
        """Refuse; see :meth:`integers`."""
        raise StudyError(Kind.METHOD)

    def words(self, trials: int, size: int) -> NoReturn:
        """Refuse; see :meth:`integers`."""
        raise StudyError(Kind.METHOD)


@final
class Openings:
    """Which passes this site has published its sum of, in files of the site's folder; a pass once.

    The file is there, on disk, before the sum is published; a site that is killed in between never publishes it.
    """

    def __init__(self, folder: Path, study: Study) -> None:
        self._folder, self._study = folder, study

    def _file(self, step: int) -> Path:
        return self._folder / f"{self._study.plan_digest[:32]}-opened-{step}"

    def was_opened(self, step: int) -> bool:
        """Return whether this site has published its sum of a pass, or was about to."""
        return self._file(step).exists()

    def record(self, step: int, names: tuple[str, ...]) -> None:
        """Write down that a pass is about to be opened with these sites.

        Raises:
            StudyError: it was before.
        """
        try:
            descriptor = os.open(self._file(step), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            raise StudyError(Kind.OPENED_BEFORE) from None
        with os.fdopen(descriptor, "w") as file:
            file.write(",".join(names))
            file.flush()
            os.fsync(file.fileno())

    def require_same(self, names: tuple[str, ...]) -> None:
        """Raise if a pass was opened with other sites: sums of different rows do not make one release.

        Raises:
            StudyError: one was.
        """
        first = self._file(0)
        if first.exists() and first.read_text() != ",".join(names):
            raise StudyError(Kind.SITES_CHANGED)


@final
class Exchange:
    """One site's part in opening totals, in one attempt with the sites that answer."""

    def __init__(
        self, study: Study, name: str, keys: seals.Keys, board: Board, transcript: Transcript, openings: Openings
    ) -> None:
        self._study, self._name, self._keys = study, name, keys
        self._board, self._transcript, self._openings = board, transcript, openings
        self._attempt, self._names = transcript.attempt, transcript.names

    def total(self, step: int, values: np.ndarray) -> list[int]:
        """See :class:`Opening`.

        Raises:
            Superseded: the coordinator began again before the pass was opened.
            StudyError: the study stopped, or a site did not follow the protocol.
        """
        self._transcript.update()
        if self._transcript.opened(step, self._names) is None and not self._openings.was_opened(step):
            self._open(step, sharing.encode(values))
        self._wait(lambda: self._transcript.opened(step, self._names) is not None)
        opened = self._transcript.opened(step, self._names)
        if opened is None:
            raise StudyError(Kind.LOST)
        return opened

    def _open(self, step: int, words: np.ndarray) -> None:
        """Share this site's words (k, 2), and publish the sum of what it received once all sites are ready."""
        others = [name for name in self._names if name != self._name]
        *theirs, mine = sharing.split(words, len(self._names))
        for other, share in zip(others, theirs, strict=True):
            body = self._header(step, self._name, other) + sharing.to_bytes(share)
            self.post("share", step, seals.text(seals.sealed(body, self._study.site(other).seal)), other)
        self._wait(lambda: set(others) <= set(self._sent("share", step)))
        received = [self._share(step, other, len(words)) for other in others]
        self.post("ready", step)
        self._wait(lambda: set(others) <= set(self._sent("ready", step)))
        self._openings.record(step, self._names)
        self.post("sum", step, seals.text(sharing.to_bytes(sharing.total([mine, *received]))))

    def _share(self, step: int, sender: str, count: int) -> np.ndarray:
        """Return what a site sealed for this one (count, 2).

        Raises:
            StudyError: it was sealed for another pass, attempt, sender or study, or has another size.
        """
        opened = self._keys.open(seals.data(self._sent("share", step)[sender]))
        header = self._header(step, sender, self._name)
        if opened[: len(header)] != header:
            raise StudyError(Kind.FORGED, sender)
        words = sharing.from_bytes(opened[len(header) :])
        if len(words) != count:
            raise StudyError(Kind.RANGE, sender)
        return words

    def _header(self, step: int, sender: str, reader: str) -> bytes:
        place = f"{self._study.digest} {self._attempt} {step} {sender} {reader} {','.join(self._names)}"
        return hashlib.sha256(place.encode()).digest()

    def _sent(self, kind: str, step: int) -> dict[str, str]:
        return self._transcript.sent(kind, self._attempt, step)

    def _wait(self, ready: Callable[[], bool]) -> None:
        self._transcript.wait(ready, self._attempt, _PATIENCE * self._study.patience)

    def post(self, kind: str, step: int = 0, body: str = "", to: str = "") -> None:
        """Post a signed message of this attempt."""
        post(self._board, self._keys, Message(self._study.digest, self._name, kind, self._attempt, step, to, body))


def post(board: Board, keys: seals.Keys, message: Message) -> None:
    """Sign a message and post it."""
    board.post(Message(**{**vars(message), "signature": keys.sign(message.signed_bytes)}))


@final
class Replay:
    """The totals that the board shows: what the coordinator, or anybody who reads the messages, computes with."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def total(self, step: int, values: np.ndarray) -> list[int]:
        """See :class:`Opening`.

        Raises:
            StudyError: the pass was not opened.
        """
        opened = self._transcript.opened(step, self._transcript.names)
        if opened is None:
            raise StudyError(Kind.LOST)
        return opened
