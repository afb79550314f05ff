"""The ledger under kills and contention: ``python benchmarks/ledger.py [--url URL] [--kills N] [--processes P]``.

1. N releases, each a process killed with SIGKILL at a time drawn uniformly over the release: afterwards there is
   either no spend and no result, or a spend. The numbers of kills in each stage are printed.
2. P processes that spend at the same time: the cap is never exceeded, and no spend is lost or doubled.

Without ``--url`` the ledger is an SQLite file in a temporary folder. A PostgreSQL database must be empty.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import pickle
import random
import signal
import tempfile
import time
from collections import Counter
from multiprocessing.connection import Connection
from pathlib import Path

from pmtcore.accounting.budgets import Budget
from pmtcore.ledger.account import spend_fields
from pmtcore.ledger.chain import CapReached
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.release import Request, recorded_release, release
from pmtcore.tables.named import load
from pmtcore.tables.problem import Problem, default_choices, prepare
from tests.helpers import in_processes

REQUEST = {"method": "joint-pmt", "mu": 0.01, "parameters": {}, "delta": 1e-6}
FORK = multiprocessing.get_context("fork")


def releasing(url: str, key: str, problem: Problem, out: Connection) -> None:
    """Make one release in this process, and send its start, then its coefficients and duration."""
    out.send("go")
    start = time.perf_counter()
    release = recorded_release(
        problem, Request("joint-pmt", Budget(0.01)), SecureNoise(), Ledger(url), dataset="survey", key=key
    )
    out.send((release.as_dict()["coefficients"], time.perf_counter() - start))


def killed_release(url: str, problem: Problem, key: str, moment: float | None) -> tuple[str, float]:
    """Make one release in a process killed after ``moment`` seconds; return its stage, or its duration."""
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=releasing, args=(url, key, problem, sender))
    process.start()
    sender.close()
    receiver.recv()
    if moment is None:
        return "released", receiver.recv()[1]
    time.sleep(moment)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    try:
        result = receiver.recv()
    except (EOFError, OSError, pickle.UnpicklingError):  # killed before or while sending it
        result = None
    entry = Ledger(url).entry(key)
    if result and (entry is None or entry.state != "released"):
        raise SystemExit(f"VIOLATION: {key} left the process, and the ledger has {entry}")
    return ("no spend" if entry is None else f"spent, {entry.state}") + (", came out" if result else ""), 0.0


def kills(url: str, count: int) -> None:
    """Run part 1, releases that are killed."""
    Ledger(url).cap("survey", 100.0)
    private, public, _ = load("demo", n=2_000, m=100, d=6)
    problem = prepare(private, public, default_choices(private, public))
    release(problem, Request("joint-pmt", Budget(0.01)), SecureNoise())  # so that all imports are done
    durations = [killed_release(url, problem, f"complete{at}", None)[1] for at in range(5)]
    duration = sorted(durations)[2]
    stages: Counter[str] = Counter()
    for at in range(count):
        stages[killed_release(url, problem, f"kill{at}", random.uniform(0, 1.2 * duration))[0]] += 1
    ledger = Ledger(url)
    account = ledger.account("survey")
    spent = sum(number for stage, number in stages.items() if stage != "no spend") + len(durations)
    print(f"{count} kills over {1000 * 1.2 * duration:.0f} ms: {dict(stages)}")
    if len(account.entries) != spent or not ledger.verify()["intact"]:
        raise SystemExit(f"VIOLATION: {len(account.entries)} entries for {spent} spends, or a broken chain")
    print(f"chain intact, {len(account.entries)} spends in the ledger, {spent} expected")


def spend(url: str, key: str, gate: object, answers: object) -> None:
    """Spend in one process, at the same time as others."""
    gate.wait()
    try:
        Ledger(url).spend("crowd", key, spend_fields(REQUEST, 0.2, "replace-one"))
        answers.put("spent")
    except LedgerError as error:
        answers.put("refused" if isinstance(error, CapReached) else str(error))


def crowd(url: str, count: int) -> None:
    """Run part 2, where 25 spends of 0.2 are within the cap of 1."""
    Ledger(url).cap("crowd", 1.0)
    gate = FORK.Barrier(count)
    answers = Counter(in_processes(spend, ((url, f"crowd{i}", gate) for i in range(count))))
    account = Ledger(url).account("crowd")
    print(
        f"{count} processes at a cap of 1: {dict(answers)}; spent mu = {account.spent:.12g} in "
        f"{len(account.entries)} entries"
    )
    if len(account.entries) != answers["spent"] or answers["spent"] != min(25, count) or account.spent > 1 + 1e-12:
        raise SystemExit("VIOLATION: over the cap, lost, or doubled")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--url")
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--processes", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        url = options.url or str(Path(home) / "ledger.db")
        kills(url, options.kills)
        crowd(url, options.processes)
