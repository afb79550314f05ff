"""One pass over all sites: each adds its share of noise, splits the integers into shares, and only the total is opened.

    share   one for each other site, sealed for it: uniform words, which alone are independent of the integers
    ready   the site has received every share for it; before that no total can be opened, and a failed attempt is free
    sum     after all sites are ready: the sum of the shares that the site received; over all sites, the noisy total

A site publishes its sum of a pass once, whatever the coordinator says, and stores it before: each pass is opened
at most once, so the budget covers a coordinator that lies about who dropped out (docs/proofs/sites.md).
"""

import hashlib
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NoReturn, Protocol

import numpy as np

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.base.strict_json import parse_json
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.sites import seals, sharing
from pmtcore.sites.boards import Board, BoardMessage
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.study import Study
from pmtcore.sites.transcript import OpenedPass, Transcript

_PATIENCE = 4  # multiple of the study's patience that a site waits; the coordinator gives up earlier


class Opening(Protocol):
    """Function that turns one party's noisy integers of a pass into the total of all parties."""

    def total(self, step: int, values: np.ndarray) -> OpenedPass:
        """Return the opened total (k,) of a pass; ``values`` (k,) are this party's."""


class SharedNoise(NoiseSource):
    """Noise source of one party of a study: takes sums of its own rows, and returns the opened totals of all rows.

    The method runs as for one curator; only the totals of its integers are opened among the sites. It plans for the
    rows of the sites of the first opening. The total of a later pass with fewer sites is scaled up to these rows.

    Args:
        study: rows of the sites.
        shares: adds this site's share of the noise; ``None``: the coordinator, who holds no row and adds nothing.

    Attributes:
        passes: sites of each pass so far.
    """

    def __init__(self, study: Study, opening: Opening, shares: NoiseShares | None) -> None:
        self._study, self._opening, self._shares = study, opening, shares
        self.passes: list[tuple[str, ...]] = []
        self.secure = shares is None or shares.source.secure
        self.seed = None if shares is None else shares.source.seed

    def noisy(self, parts: Sequence[tuple[np.ndarray, float]], trials: int) -> list[np.ndarray]:
        """See :meth:`NoiseSource.noisy`; all parts of a pass are opened together."""
        values = [value.reshape(-1) for value, _ in parts]
        if self._shares is not None:
            values = [self._shares.add(value, scale) for value, (_, scale) in zip(values, parts, strict=True)]
        opened = self._opening.total(len(self.passes), np.concatenate(values))
        self.passes.append(opened.names)
        total = np.array(self._scaled(opened), dtype=object)
        ends = np.cumsum([len(value) for value in values])
        if len(total) != ends[-1]:
            raise StudyError(StudyFault.RANGE)
        return [each.reshape(trials, -1) for each in np.split(total, ends[:-1])]

    def _scaled(self, opened: OpenedPass) -> list[int]:
        """Return the total times planned rows over rows in it, to the nearest integer."""
        planned, rows = self._study.rows(self.passes[0]), self._study.rows(opened.names)
        return [(2 * value * planned + rows) // (2 * rows) for value in opened.total]

    def integers(self, sigma: float, trials: int, size: int) -> NoReturn:
        """Refuse: noise that is drawn apart from a total would be known to each site."""
        raise StudyError(StudyFault.METHOD)

    def spherical(self, scale: float, trials: int, size: int) -> NoReturn:
        """Refuse; see :meth:`integers`."""
        raise StudyError(StudyFault.METHOD)

    def words(self, trials: int, size: int) -> NoReturn:
        """Refuse; see :meth:`integers`."""
        raise StudyError(StudyFault.METHOD)


class Openings:
    """The sums that this site has published, in files of the site's folder; one for each pass.

    A message is stored on disk before it is published. A site that is killed in between publishes the same message when
    it runs again, and never another one for that pass.
    """

    def __init__(self, folder: Path, study: Study) -> None:
        self._folder, self._name = folder, f"{study.plan_digest[:32]}-opened"

    def _file(self, step: int) -> Path:
        return self._folder / f"{self._name}-{step}"

    def was_opened(self, step: int) -> bool:
        """Return whether this site has published its sum of a pass, or was about to."""
        return self._file(step).exists()

    def record(self, message: BoardMessage, names: tuple[str, ...]) -> None:
        """Store the signed sum that is about to be published, with the names of the sites of the pass.

        Raises:
            StudyError: a sum of this pass is stored already.
        """
        draft = self._folder / f".{self._name}-{os.urandom(4).hex()}"
        with draft.open("x") as file:
            file.write(json.dumps({"message": vars(message), "names": names}))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, self._file(message.step))
        except FileExistsError:
            raise StudyError(StudyFault.OPENED_BEFORE) from None
        finally:
            draft.unlink()

    def require_plan(self, planned: tuple[str, ...]) -> None:
        """Raise if this site opened the first pass with other sites than those planned for now.

        The plan splits the budget over the passes, so passes of two plans might cost more than the budget.

        Raises:
            StudyError: the sites differ.
        """
        if self.was_opened(0) and tuple(self._read(self._file(0))["names"]) != planned:
            raise StudyError(StudyFault.SITES_CHANGED)

    def _read(self, path: Path) -> dict[str, Any]:
        return dict(parse_json(path.read_bytes()))

    def publish_again(self, board: Board, transcript: Transcript) -> None:
        """Post the stored sums that are not on the board."""
        for path in sorted(self._folder.glob(f"{self._name}-*")):
            message = BoardMessage.from_dict(self._read(path)["message"])
            if message.sender not in transcript.sent("sum", message.attempt, message.step):
                board.post(message)


class Exchange:
    """One site's part in opening totals, in one attempt with the sites that answer."""

    def __init__(
        self, study: Study, name: str, keys: seals.Keys, board: Board, *, transcript: Transcript, openings: Openings
    ) -> None:
        self._study, self._name, self._keys = study, name, keys
        self._board, self._transcript, self._openings = board, transcript, openings
        self._attempt, self._names = transcript.attempt, transcript.names

    def total(self, step: int, values: np.ndarray) -> OpenedPass:
        """See :class:`Opening`.

        Raises:
            Superseded: the coordinator began again before the pass was opened.
            StudyError: the study stopped, or a site did not follow the protocol.
        """
        self._transcript.update()
        if self._transcript.opened(step) is None and not self._openings.was_opened(step):
            self._open(step, sharing.encode(values))
        self._wait(lambda: self._transcript.opened(step) is not None)
        return Replay(self._transcript).total(step, values)

    def _open(self, step: int, words: np.ndarray) -> None:
        """Share this site's words (k, 2), and publish the sum of the received shares once all sites are ready."""
        others = set(self._names) - {self._name}
        neighbours = self._study.neighbours(self._names, self._name)
        *theirs, own = sharing.split(words, len(neighbours) + 1)
        for other, share in zip(neighbours, theirs, strict=True):
            body = self._header(step, self._name, other) + sharing.to_bytes(share)
            sealed = seals.seal_message(body, self._study.site(other).seal)
            self._post(self._message("share", step, seals.base64_text(sealed), other))
        self._wait(lambda: set(neighbours) <= set(self._sent("share", step)))
        received = [self._share(step, other, len(words)) for other in neighbours]
        self._post(self._message("ready", step))
        self._wait(lambda: others <= set(self._sent("ready", step)))
        part = self._message("sum", step, seals.base64_text(sharing.to_bytes(sharing.total([own, *received]))))
        self._openings.record(part, self._names)
        self._post(part)

    def _share(self, step: int, sender: str, count: int) -> np.ndarray:
        """Return the share (count, 2) that a site sealed for this one.

        Raises:
            StudyError: it was sealed for another pass, attempt, sender or study, or has another size.
        """
        opened = self._keys.open(seals.data(self._sent("share", step)[sender]))
        header = self._header(step, sender, self._name)
        if opened[: len(header)] != header:
            raise StudyError(StudyFault.FORGED, sender)
        words = sharing.from_bytes(opened[len(header) :])
        if len(words) != count:
            raise StudyError(StudyFault.RANGE, sender)
        return words

    def _header(self, step: int, sender: str, reader: str) -> bytes:
        place = f"{self._study.digest} {self._attempt} {step} {sender} {reader} {','.join(self._names)}"
        return hashlib.sha256(place.encode()).digest()

    def _sent(self, kind: str, step: int) -> dict[str, str]:
        return self._transcript.sent(kind, self._attempt, step)

    def _wait(self, ready: Callable[[], bool]) -> None:
        self._transcript.wait(ready, self._attempt, _PATIENCE * self._study.patience)

    def _message(self, kind: str, step: int, body: str = "", to: str = "") -> BoardMessage:
        """Return a signed message of this attempt."""
        message = BoardMessage(self._study.digest, self._name, kind, self._attempt, step, to, body)
        return sign_message(self._keys, message)

    def _post(self, message: BoardMessage) -> None:
        self._board.post(message)


def sign_message(keys: seals.Keys, message: BoardMessage) -> BoardMessage:
    """Return the message with the signature of its sender."""
    return replace(message, signature=keys.sign(message.signed_bytes))


class Replay:
    """Opened totals as read from the board, by the coordinator or any other reader of the messages."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript

    def total(self, step: int, values: np.ndarray) -> OpenedPass:
        """See :class:`Opening`.

        Raises:
            StudyError: the pass was not opened.
        """
        opened = self._transcript.opened(step)
        if opened is None:
            raise StudyError(StudyFault.LOST)
        return opened
