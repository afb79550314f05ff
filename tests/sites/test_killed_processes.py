"""Sites as processes, killed with SIGKILL in every phase: the sum is right or nothing is released."""

from __future__ import annotations

import json
import multiprocessing
import signal

import pytest

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.sites import seals, sharing
from pmtcore.sites.boards import EVERYTHING, FolderBoard
from pmtcore.sites.parties import Coordinator
from pmtcore.sites.transcript import Transcript
from tests.sites.killed import SUMS, VALUES, take_part

pytestmark = pytest.mark.slow
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(["tests.sites.killed", "pmtcore.methods.joint.plan", "nacl.public"])


class Run:
    """A study in processes, and what is left of it."""

    def __init__(self, setup, deaths, comes_back):
        self.setup, self.folder, self.deaths = setup, setup.folder, deaths
        (self.folder / "study.json").write_text(setup.context.study.as_json())
        (self.folder / "board").mkdir()
        self.board = FolderBoard(self.folder / "board")
        self.names = setup.context.study.names
        self.clock, self.comes_back, self.exits = setup.clock, comes_back, {}
        threads = [self.clock.thread(self._live, name) for name in self.names]
        self.record = self.error = None
        with self.clock.party():
            for thread in threads:
                thread.start()
            try:
                self.record = Coordinator(setup.context, self.board).run()
            except StudyError as error:
                self.error = error.kind
        for thread in threads:
            thread.join()

    def _live(self, name):
        """Run a site until it ends, in one process or, where it was killed and comes back, in two.

        This thread stands for the site at the clock: no time passes while one of them starts, computes or is brought
        back, so a busy machine counts as no lost site.
        """
        lives = [self.deaths.get(name)]
        if lives != [None] and self.comes_back:
            lives.append(None)
        self.exits[name] = []
        for death in lives:
            here, there = PROCESSES.Pipe()
            process = PROCESSES.Process(target=take_part, args=(str(self.folder), name, death, there))
            process.start()
            there.close()
            self.clock.serve(here)
            process.join(600)
            self.exits[name].append(process.exitcode)

    def lines(self, name, file):
        path = self.folder / name / file
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    @property
    def transcript(self):
        transcript = Transcript(self.setup.context.study, self.board)
        transcript.update()
        return transcript

    def require_right_sums(self):
        """Raise unless each opened total is the sum of what the sites in it shared in one attempt."""
        transcript = self.transcript
        shared = {n: {(a, s): values for a, s, values in self.lines(n, SUMS)} for n in self.names}
        step = 0
        while (opened := transcript.opened(step)) is not None:
            attempts = set.intersection(*({a for a, s in shared[n] if s == step} for n in opened.names))
            totals = [
                tuple(map(sum, zip(*(shared[n][attempt, step] for n in opened.names), strict=True)))
                for attempt in attempts
            ]
            assert opened.total in totals
            if self.record is not None:
                assert self.record["study"]["passes"][step] == list(opened.names)
            step += 1
        if self.record is not None:
            assert len(self.record["study"]["passes"]) == step

    def require_right_ledgers(self):
        """Raise unless each site spent once or never, and those who released kept the coordinator's record."""
        for name in self.names:
            ledger = self.setup.ledger(name)
            entry, summed = ledger.entry(self.setup.context.study.key(name)), self.lines(name, VALUES)
            spent = ledger.account(name).spent
            assert spent == (0.0 if entry is None else 1.0)
            assert entry is not None or not summed
            if entry is not None and entry.state == "released":
                assert self.record is not None
                assert entry.record["coefficients"] == self.record["coefficients"]
                assert entry.record["bands"] == self.record["bands"]

    def require_nothing_unmasked(self):
        """Raise if a message holds a site's sum, noisy or not: as bytes, in boxes, or as digits."""
        messages = [message for at in range(0, 10**5, 2000) for message in self.board.read(at, EVERYTHING)[0]]
        texts = "".join(message.body for message in messages if message.kind not in ("share", "sum"))
        words = set()
        for message in messages:
            if message.kind in ("share", "sum"):
                body = seals.data(message.body)
                words |= {body[at : at + 16] for at in range(len(body) - 15)}
        values = {value for n in self.names for line in self.lines(n, VALUES) for value in line}
        values |= {value for n in self.names for *_, line in self.lines(n, SUMS) for value in line}
        assert len(values) > 20
        assert not {sharing.to_bytes(sharing.encode([value])) for value in values} & words
        assert not any(str(value) in texts for value in values if abs(value) > 10**6)


def run(study, deaths, comes_back=False, **settings):
    """Run a study whose sites die, and check what holds whatever happens."""
    result = Run(study(**{"least": 2, "patience": 5.0, **settings}), deaths, comes_back)
    assert [result.exits[name][0] for name in deaths] == [-signal.SIGKILL] * len(deaths)
    result.require_right_sums()
    result.require_right_ledgers()
    result.require_nothing_unmasked()
    return result


@pytest.mark.parametrize(
    "kind, step, moment, released",
    [
        ("here", 0, "before", True),
        ("share", 0, "after", True),
        ("ready", 0, "before", True),
        ("sum", 0, "before", False),
        ("sum", 0, "after", True),
        ("share", 1, "before", True),
        ("ready", 1, "before", True),
        ("sum", 1, "before", False),
        ("done", 0, "before", True),
    ],
)
def test_a_killed_process_never_makes_a_wrong_release(study, kind, step, moment, released):
    """The others release the sum of those who answered; or nothing, where a pass was half opened."""
    result = run(study, {"s1": (kind, step, moment)})
    assert (result.record is not None) is released, result.error
    assert released or result.error is StudyFault.LOST


@pytest.mark.parametrize(
    "kind, step, moment",
    [("share", 0, "after"), ("sum", 0, "before"), ("ready", 1, "before"), ("sum", 1, "before"), ("done", 0, "before")],
)
def test_a_killed_process_that_runs_again_has_the_release(study, kind, step, moment):
    """All sites are in every pass, and all have the record, with one spend each."""
    result = run(study, {"s1": (kind, step, moment)}, comes_back=True)
    assert result.record is not None, result.error
    assert {tuple(names) for names in result.record["study"]["passes"]} == {result.names}
    for name in result.names:
        assert result.setup.ledger(name).entry(result.setup.context.study.key(name)).state == "released"


TEN = (60, 50, 40, 70, 80, 90, 45, 55, 65, 75)


def test_ten_processes_of_which_three_are_killed(study):
    """One before the first opening, one after it, one at the end: three numbers of sites, and one release."""
    deaths = {"s1": ("share", 0, "after"), "s4": ("share", 1, "after"), "s7": ("done", 0, "before")}
    result = run(study, deaths, rows=TEN, least=5, colluders=3)
    assert result.record is not None, result.error
    counts = [len(names) for names in result.record["study"]["passes"]]
    assert counts[0] == 9
    assert set(counts[1:]) == {8}


def test_ten_processes_of_which_one_is_killed_while_a_pass_is_opened(study):
    """Nothing is released, at any of the ten."""
    result = run(study, {"s3": ("sum", 1, "before")}, rows=TEN, least=5, colluders=3)
    assert result.error is StudyFault.LOST
