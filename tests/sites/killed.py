"""A site as a process that kills itself at a message, and records its sums."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import numpy as np

from pmtcore.ledger.log import Ledger
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.sites import parties, transcript
from pmtcore.sites.boards import FolderBoard
from pmtcore.sites.noise_shares import NoiseShares
from pmtcore.sites.parties import SiteOfStudy
from pmtcore.sites.rounds import Exchange
from pmtcore.sites.sharing import decode
from pmtcore.sites.study import Study, StudyContext
from pmtcore.tables.table import read_path
from tests.sites.clock import DistantClock

SUMS = "sums"  # a line for each pass that was shared: attempt, step, noisy integers
VALUES = "values"  # a line for each noise added: integers without noise


class Kills:
    """Board that kills this process before or after the first message of a kind and pass."""

    def __init__(self, board, kind, step, moment):
        self.board, self.kind, self.step, self.moment = board, kind, step, moment

    def post(self, message):
        fatal = (message.kind, message.step) == (self.kind, self.step)
        if fatal and self.moment == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        self.board.post(message)
        if fatal:
            os.kill(os.getpid(), signal.SIGKILL)

    def read(self, after, reader):
        return self.board.read(after, reader)


def _append(path, line):
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def _write_down(own):
    """Let this process record every sum that it computes, and every one that it shares."""
    add, shared = NoiseShares.add, Exchange._open

    def added(self, values, scale):
        _append(own / VALUES, [int(value) for value in np.ravel(values)])
        return add(self, values, scale)

    def opened(self, step, words):
        _append(own / SUMS, [self._attempt, step, [int(value) for value in decode(words)]])
        shared(self, step, words)

    NoiseShares.add, Exchange._open = added, opened


def take_part(folder, name, death, times):
    """Run a site of the study in a folder; ``death``: kind, step, before or after, or None; ``times``: a pipe."""
    folder, clock = Path(folder), DistantClock(times)
    parties.monotonic, parties.sleep, transcript.time = clock.monotonic, clock.sleep, clock
    own = folder / name
    _write_down(own)
    context = StudyContext.of(Study.from_json((folder / "study.json").read_bytes()), str(folder))
    board = FolderBoard(folder / "board")
    table, ledger = read_path(own / "private.csv", "private"), Ledger(str(own / "ledger.db"))
    site = SiteOfStudy(context, name, table, own, ledger, name, SecureNoise())
    site.run(board if death is None else Kills(board, *death))
