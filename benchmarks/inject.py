"""Fault injection: the k-th call of one kind fails, for every k, once before and once after the call did its work.

    PYTHONPATH=. python benchmarks/inject.py              all kinds
    PYTHONPATH=. python benchmarks/inject.py --kind files --most 20

As in the tests of SQLite, one release is repeated: first its first call fails, then the second, until no call is left
to fail. Kinds: ``ledger`` (statements and commits of its database), ``files`` (opening, renaming, removing,
syncing, locking, reserving space), ``reader`` (blocks of private rows). After each release the ledger is opened without
faults, and compared with the output:

* after a spend there is a result, or an exit status other than 0 and a sentence with spend and key; no sentence says
  that nothing was spent;
* if the record is stored, the sentence says so, and the key gives it;
* without a spend there is no result, and no sentence that claims one;
* there is always a sentence, without a traceback or a cell.

Prints a line for each kind and fails on any violation.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import itertools
import json
import os
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pmtcore.cli.main import main as command
from pmtcore.ledger import database, engines, sidecar
from pmtcore.ledger.log import Ledger
from pmtcore.releases import release
from pmtcore.tables import sources

KINDS = ("ledger", "files", "reader")
SECRET = "98765.4321"  # a private cell, which the error of a failing reader quotes
KEY = "the-key"
_WAIT = 0.5  # seconds for a lock, which here only the failed call's own connection may hold
_NOTHING = ("nothing was spent", "nothing was released")


@dataclass
class Fault:
    """Failure of call number ``at``, before or after the call itself; calls are counted while it is armed."""

    at: int
    after: bool
    calls: int = 0
    armed: bool = False
    failed: list[str] = field(default_factory=list)

    def wrap(self, name: str, inner: Callable[..., Any], error: Callable[[], Exception]) -> Callable[..., Any]:
        """Return the function, which fails when its turn has come."""

        def run(*arguments: Any, **settings: Any) -> Any:
            if not self.armed:
                return inner(*arguments, **settings)
            self.calls += 1
            fails = self.calls == self.at
            if fails and not self.after:
                self.failed.append(name)
                raise error()
            result = inner(*arguments, **settings)
            if fails:
                self.failed.append(name)
                _close(result)
                raise error()
            return result

        return run


def _close(made: object) -> None:
    """Close what a failed call has opened."""
    if isinstance(made, io.IOBase | sqlite3.Cursor):
        made.close()


def disk_error() -> Exception:
    """Return SQLite's error for a broken disk."""
    return sqlite3.OperationalError("disk I/O error")


def system_error() -> Exception:
    """Return the system's error for a broken disk."""
    return OSError(5, "Input/output error")


def reader_error() -> Exception:
    """Return an error of a reader that quotes a cell."""
    return ValueError(f"could not convert {SECRET!r}")


def _statements(fault: Fault) -> list[tuple[object, str, Any]]:
    class Failing(sqlite3.Connection):
        """Connection in which one statement fails."""

        def execute(self, statement: str, values: Any = (), /) -> sqlite3.Cursor:
            return fault.wrap(statement.split(maxsplit=1)[0].lower(), super().execute, disk_error)(statement, values)

    return [(sqlite3, "connect", partial(sqlite3.connect, factory=Failing))]


def _files(fault: Fault) -> list[tuple[object, str, Any]]:
    calls: list[tuple[Any, str]] = [(Path, "open"), (Path, "replace"), (Path, "unlink"), (Path, "read_bytes")]
    calls += [(os, name) for name in ("open", "fsync", "posix_fallocate") if hasattr(os, name)]
    calls += [(sidecar.fcntl, "flock")] if sidecar.fcntl is not None else []
    return [(place, name, fault.wrap(name, getattr(place, name), system_error)) for place, name in calls]


def _reader(fault: Fault) -> list[tuple[object, str, Any]]:
    inner = sources.TextSource.blocks

    def blocks(source: Any, names: Any, dialect: Any) -> Iterator[Any]:
        start = fault.wrap("look", lambda: None, reader_error)
        for block in inner(source, names, dialect):
            start()
            yield block

    return [(sources.TextSource, "blocks", blocks)]


PLANTS = {"ledger": _statements, "files": _files, "reader": _reader}


@contextlib.contextmanager
def planted(kind: str, fault: Fault) -> Iterator[None]:
    """Replace the calls of a kind in this context."""
    changed = [*PLANTS[kind](fault), (engines, "WAIT_SECONDS", _WAIT), (sidecar, "WAIT_SECONDS", _WAIT)]
    with contextlib.ExitStack() as stack:
        for place, name, new in changed:
            stack.callback(setattr, place, name, getattr(place, name))
            setattr(place, name, new)
        fault.armed = True
        stack.callback(setattr, fault, "armed", False)
        yield


def tables(home: Path) -> list[str]:
    """Write the two tables, and return the arguments that name them."""
    rng = np.random.default_rng(1)
    for name, rows in (("private", 300), ("public", 60)):
        x = rng.standard_normal((rows, 2))
        y = x @ [1.0, -1.0] + rng.standard_normal(rows)
        lines = [",".join(f"{cell:.6f}" for cell in row) for row in np.column_stack([x, y])]
        (home / f"{name}.csv").write_text("\n".join(["a,b,y", *lines]) + "\n")
    return ["--private", str(home / "private.csv"), "--public", str(home / "public.csv"), "--target", "y"]


@dataclass(frozen=True)
class FaultyRelease:
    """One release with a fault.

    Attributes:
        status: exit status.
        said: output.
        failed: name of the call that failed.
        state: of the spend in the ledger; ``none`` without one.
        intact: whether the ledger is.
        fetched: whether the key gives the record.
    """

    status: object
    said: str
    failed: str
    state: str
    intact: bool
    fetched: bool

    @property
    def problems(self) -> list[str]:
        """Return violations in words."""
        said, problems = self.said.casefold(), []
        denies = any(words in said for words in _NOTHING)
        names = KEY in self.said and "spent" in said
        if self.status not in (0, 2, 3, 70) or "Traceback" in self.said:
            problems.append("no sentence")
        if not self.said.strip():
            problems.append("silence")
        if SECRET in self.said:
            problems.append("a cell was quoted")
        if self.state == "none" and (self.status == 0 or "is spent" in said or "stands" in said):
            problems.append("a spend was claimed that is not there")
        if self.state != "none" and denies:
            problems.append("a spend was denied")
        if self.state != "none" and self.status != 0 and not names:
            problems.append("spend or key were not named")
        if self.state == "released" and not self.fetched:
            problems.append("the record cannot be fetched")
        if self.state == "released" and self.status != 0 and "record is kept" not in said:
            problems.append("the record is kept, and nobody is told")
        if self.status == 0 and self.state != "released":
            problems.append("a result without its record")
        if not self.intact:
            problems.append("the ledger is not intact")
        return problems


def tried(kind: str, fault: Fault, home: Path, files: list[str]) -> FaultyRelease:
    """Make one release with a fault, in a new ledger, and read the ledger afterwards."""
    place = home / "ledger.db"
    for path in home.glob("ledger.db*"):
        path.unlink()
    database._VERIFIED.clear()
    release._ADMITTED.clear()
    Ledger(str(place)).cap("survey", 100.0)
    arguments = ["release", *files, "--method", "joint-pmt", "--mu", "1", "--ledger", str(place), "--dataset", "survey"]
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), planted(kind, fault):
        try:
            status: object = command([*arguments, "--key", KEY])
        except BaseException as error:
            status = type(error).__name__
    database._VERIFIED.clear()
    ledger = Ledger(str(place))
    entry = ledger.entry(KEY)
    fetched = io.StringIO()
    with contextlib.redirect_stdout(fetched), contextlib.redirect_stderr(fetched):
        again = command(["ledger", "record", "--ledger", str(place), "--key", KEY, "--json"])
    known = again == 0 and "coefficients" in json.loads(fetched.getvalue())
    state, intact = "none" if entry is None else entry.state, bool(ledger.verify()["intact"])
    return FaultyRelease(status, out.getvalue(), ", ".join(fault.failed), state, intact, known)


def run(kind: str, most: int, home: Path, step: int = 1) -> tuple[Counter[str], list[str]]:
    """Let every call of a kind fail, or the first ``most``; return the numbers of results, and the violations.

    Args:
        step: 1 for every call; 3 for every third.
    """
    files, counts, bad = tables(home), Counter[str](), []
    for after in (False, True):
        for at in itertools.count(1, step):
            fault = Fault(at, after)
            outcome = tried(kind, fault, home, files)
            if not fault.failed or at > most:
                break
            counts[f"{outcome.state}, exit {outcome.status}"] += 1
            where = f"{kind} call {at} ({outcome.failed}), {'after' if after else 'before'} it"
            bad += [f"{where}: {problem}: {outcome.said.strip()[-300:]}" for problem in outcome.problems]
    return counts, bad


def main() -> int:
    """Inject faults of all kinds, or of one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--most", type=int, default=10_000, help="calls of each kind, at most")
    parser.add_argument("--step", type=int, default=1, help="try every so many calls only")
    chosen = parser.parse_args()
    violations: list[str] = []
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"XDG_DATA_HOME": home}
        for kind in [chosen.kind] if chosen.kind else KINDS:
            counts, bad = run(kind, chosen.most, Path(home), chosen.step)
            total = sum(counts.values())
            print(f"{kind:7} {total:4} points, {len(bad)} violations: {dict(sorted(counts.items()))}", flush=True)
            violations += bad
    print("\n".join(violations[:20]))
    return int(bool(violations))


if __name__ == "__main__":
    sys.exit(main())
