"""Hostile input: ``PYTHONPATH=. python benchmarks/fuzz.py [--inputs 3000] [--seed 1]``.

Makes damaged tables, configurations, records and arguments from seeds, gives each to a command in this process, and
counts: every answer is exit status 0 or 2; no error of the program's own, no traceback, no answer after 20 s, no
planted private value in what is printed, memory below 1 GB at its peak. Prints one line for each kind and fails on
any other.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import io
import json
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as some

SECRET = "98765.4321"
CELLS = [
    SECRET,
    "",
    "NA",
    "inf",
    "-inf",
    "nan",
    "1e400",
    "1" * 400,
    "0x1p3",
    "text",
    '"',
    "'",
    "=1+1",
    "\x00",
    "\ufeff",
]
CELLS += ["é", "\u202e", "1,5", "2020-02-30", "true", "-0", "1e-400", "\x1b[2J", "![x](http://evil/x)", "a" * 5000]


def table(chance: random.Random) -> bytes:
    """A CSV that was meant well, with some of its cells, bytes or lines replaced."""
    rows = [["a", "b", "y"]] + [[f"{chance.gauss(0, 1):.4f}" for _ in range(3)] for _ in range(60)]
    for _ in range(chance.choice([0, 1, 3, 40])):
        rows[chance.randrange(len(rows))][chance.randrange(3)] = chance.choice(CELLS)
    if chance.random() < 0.2:
        rows[chance.randrange(len(rows))] += ["more"] * chance.randrange(1, 5)
    if chance.random() < 0.1:
        rows[0] = chance.choice([["a", "a", "y"], ["", "", ""], ["1", "2", "3"], ["a"], ["x" * 10_000, "b", "y"]])
    mark = chance.choice([",", ",", ",", ";", "\t"])
    text = chance.choice(["\n", "\n", "\r\n", "\r"]).join(mark.join(row) for row in rows)
    data = bytearray(text.encode(chance.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), errors="replace"))
    for _ in range(chance.choice([0, 0, 1, 20])):
        data[chance.randrange(len(data))] = chance.randrange(256)
    if chance.random() < 0.1:
        data = data[: chance.randrange(len(data))]
    if chance.random() < 0.15:
        packed = bytearray(gzip.compress(bytes(data)))
        if chance.random() < 0.5:
            packed[chance.randrange(len(packed))] ^= 255
        data = packed
    if chance.random() < 0.1:
        out = io.BytesIO()
        pd.DataFrame({"a": [1.0, None] * 30, "b": [b"\xff", b"98765.4321"] * 30, "y": range(60)}).to_parquet(out)
        data = bytearray(out.getvalue())
        if chance.random() < 0.7:
            data[chance.randrange(len(data))] ^= 255
    return bytes(data)


def document(value: object, chance: random.Random) -> bytes:
    """JSON, deep JSON, or what was JSON."""
    text = json.dumps(value)
    if chance.random() < 0.1:
        text = "[" * chance.choice([10, 10_000, 200_000])
    if chance.random() < 0.2:
        text = text[: chance.randrange(len(text) + 1)]
    return text.encode()


def commands(folder: Path, chance: random.Random, drawn: object) -> list[str]:
    """One command on files made for it."""
    private, public, config = folder / "p.csv", folder / "b.csv", folder / "c.json"
    private.write_bytes(table(chance))
    public.write_bytes(table(chance) if chance.random() < 0.3 else table(random.Random(0)))
    fields = {
        "method": chance.choice(["joint-pmt", "pmt-ridge", "", None, 3]),
        "mu": chance.choice([1, -1, 1e400, "x", drawn]),
    }
    fields[chance.choice(["parameters", "delta", "rows_per_person", "more"])] = drawn
    config.write_bytes(document(fields, chance))
    files = [
        "--private",
        str(private),
        "--public",
        str(public),
        "--target",
        chance.choice(["y", "y", "y", "b", "zz", ""]),
    ]
    more = chance.choice(
        [[], ["--missing", "empty-row"], ["--family", "logistic"], ["--features", "a"], ["--unseen", "x"]]
    )
    numbers = chance.choice(["1", "1", "0", "-1", "nan", "inf", "9" * 400, "x", "", "1e-400"])
    kind = chance.choice(["release", "release", "config", "describe", "plan", "convert", "report", "ledger"])
    return {
        "release": [
            "release",
            *files,
            *more,
            "--method",
            chance.choice(["joint-pmt", "pmt-ridge", "zz"]),
            "--mu",
            numbers,
            "--lab",
        ],
        "config": ["release", *files, "--config", str(config), "--lab"],
        "describe": ["describe", *files, *more],
        "plan": ["plan", *files[2:], "--rows", "1000", "--mu", numbers],
        "convert": ["convert", "--epsilon", numbers, "--delta", chance.choice(["1e-6", "0", "1", "x"])],
        "report": ["report", "--release", str(config), "--html", str(folder / "r.html")],
        "ledger": [
            "ledger",
            chance.choice(["show", "verify"]),
            "--ledger",
            str(chance.choice([private, config, folder])),
        ],
    }[kind]


def main() -> int:
    """Run; the exit status says whether everything held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    bad: list[str] = []
    longest = [0.0]
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"PMT_LEDGER": str(Path(home) / "l.db"), "XDG_DATA_HOME": home}
        from pmtcore.cli.main import main as command  # noqa: PLC0415  # after its ledger is named

        simple = some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=20)
        nested = some.recursive(
            simple, lambda x: some.lists(x, max_size=3) | some.dictionaries(some.text(max_size=5), x, max_size=3)
        )

        @seeded(chosen.seed)
        @settings(
            max_examples=chosen.inputs,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(some.integers(0, 2**62), nested)
        def one(number: int, drawn: object) -> None:
            asked = commands(Path(home), random.Random(number), drawn)
            out, start = io.StringIO(), time.monotonic()
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    status: object = command(asked)
            except SystemExit as stop:
                status = stop.code
            except BaseException as error:
                status = type(error).__name__
            took = time.monotonic() - start
            longest[0] = max(longest[0], took)
            counts[f"{asked[0]} {status}"] += 1
            said = out.getvalue()
            if status not in (0, 2) or took > 20 or "Traceback" in said or (asked[0] != "describe" and SECRET in said):
                bad.append(f"{number}: status {status}, {took:.1f} s, {asked[:1]} {said[-200:]!r}")

        one()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total = sum(counts.values())
    for name, count in sorted(counts.items()):
        print(f"{name:24} {count}")
    print(f"{total} inputs, {len(bad)} failures, longest {longest[0]:.2f} s, peak {peak:.0f} MB")
    print("\n".join(bad[:20]))
    return int(bool(bad) or peak > 1024)


if __name__ == "__main__":
    sys.exit(main())
