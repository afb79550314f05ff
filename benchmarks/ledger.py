"""The ledger under violence: ``python benchmarks/ledger.py [--url URL] [--kills N] [--processes P]``.

1. N releases, each a process killed with SIGKILL at a moment drawn uniformly over the whole release: either no spend
   and nothing released, or a spend. The count of each stage is printed, so one sees that every stage was hit.
2. P processes at a cap, all at once: never over it, none lost, none twice.

Without ``--url``, on SQLite in a temporary folder. With a PostgreSQL URL the database must be an empty one of its own.
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
from pmtcore.ledger.log import Ledger, LedgerError
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.releases.release import Request, recorded_release, release
from pmtcore.tables.named import load
from pmtcore.tables.problem import Problem, default_choices, prepare
from tests.helpers import in_processes

REQUEST = {"method": "joint-pmt", "mu": 0.01, "parameters": {}, "delta": 1e-6}
FORK = multiprocessing.get_context("fork")


def releasing(url: str, key: str, problem: Problem, out: Connection) -> None:
    """Release once in a process: say when it starts, and what left it."""
    out.send("go")
    start = time.perf_counter()
    release = recorded_release(
        problem, Request("joint-pmt", Budget(0.01)), SecureNoise(), Ledger(url), dataset="survey", key=key
    )
    out.send((release.as_dict()["coefficients"], time.perf_counter() - start))


def one(url: str, problem: Problem, key: str, moment: float | None) -> tuple[str, float]:
    """Release once, killed after ``moment`` seconds; return the stage then, and how long it took if it ended."""
    here, there = FORK.Pipe(duplex=False)
    process = FORK.Process(target=releasing, args=(url, key, problem, there))
    process.start()
    there.close()
    here.recv()
    if moment is None:
        return "released", here.recv()[1]
    time.sleep(moment)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    try:
        out = here.recv()
    except (EOFError, OSError, pickle.UnpicklingError):  # killed before or in the middle of saying it
        out = None
    entry = Ledger(url).entry(key)
    if out and (entry is None or entry.state != "released"):
        raise SystemExit(f"VIOLATION: {key} left the process, and the ledger has {entry}")
    return ("no spend" if entry is None else f"spent, {entry.state}") + (", came out" if out else ""), 0.0


def kills(url: str, count: int) -> None:
    """Run part 1: releases that are killed."""
    Ledger(url).cap("survey", 100.0)
    private, public, _ = load("demo", n=2_000, m=100, d=6)
    problem = prepare(private, public, default_choices(private, public))
    release(problem, Request("joint-pmt", Budget(0.01)), SecureNoise())  # what is imported late is imported now
    lengths = [one(url, problem, f"whole{at}", None)[1] for at in range(5)]
    length = sorted(lengths)[2]
    stages: Counter[str] = Counter()
    for at in range(count):
        stages[one(url, problem, f"kill{at}", random.uniform(0, 1.2 * length))[0]] += 1
    ledger = Ledger(url)
    account = ledger.account("survey")
    spent = sum(number for stage, number in stages.items() if stage != "no spend") + len(lengths)
    print(f"{count} kills over {1000 * 1.2 * length:.0f} ms: {dict(stages)}")
    if len(account.entries) != spent or not ledger.verify()["intact"]:
        raise SystemExit(f"VIOLATION: {len(account.entries)} entries for {spent} spends, or a broken chain")
    print(f"chain intact, {len(account.entries)} spends in the ledger, {spent} expected")


def spend(url: str, key: str, gate: object, answers: object) -> None:
    """Spend at the cap in one process."""
    gate.wait()
    try:
        Ledger(url).spend("crowd", key, spend_fields(REQUEST, 0.2, "replace-one"))
        answers.put("spent")
    except LedgerError as error:
        answers.put("refused" if "pass the cap" in str(error) else str(error))


def crowd(url: str, count: int) -> None:
    """Run part 2: 0.2 fits 25 times under a cap of 1."""
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
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        where = chosen.url or str(Path(home) / "ledger.db")
        kills(where, chosen.kills)
        crowd(where, chosen.processes)
