"""Hostile and messy input: ``PYTHONPATH=. python benchmarks/fuzz.py [--inputs 3000] [--seed 1]``.

Generates tables, configurations, schemas, records, reports of devices, ledgers and arguments from seeds. Some are
realistic (gaps, number formats of other countries, categories, unusual names), some damaged. Runs a command on each in
this process, with a ledger of its own. The exit status must be 0 or 2, without an internal error or a traceback, within
20 s of computing (90 s on a busy machine), without a planted private value in the output, and with a peak memory below
1 GB. Prints one line for each kind of result and fails on any other. It also fails if fewer than a tenth of the
releases succeed (by a test at level 0.001), since then too little was tried.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as some
from scipy.stats import binom

SECRET = "98765.4321"
CELLS = [
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
NAMES = [
    "a",
    "b",
    "Höhe (m)",
    "a b",
    "class",
    "x=1",
    "<img src=x>",
    "1",
    "a:b",
    "$x$",
    "id",
    "-x",
    "ñ\u0301",
    "A",
    "log(a)",
]
ODD: list[Any] = [
    None,
    True,
    -1,
    0,
    3.7,
    1e308,
    float("nan"),
    float("-inf"),
    10**400,
    "",
    "x",
    "\x00",
    "y" * 9999,
    [],
    {},
]
ODD += [[1] * 3000, {"a": {"b": [None]}}, "../../etc/passwd", "=1+1", [[1.0, 2.0], [3.0]]]
Command = list[str]


def messy(chance: random.Random, private: bool, names: list[str], kinds: str) -> bytes:
    """Return a realistic table, which may be refused for a stated reason."""
    mark, comma = chance.choice([(",", False)] * 4 + [("\t", False), (";", False), (";", True), ("|", False)])
    gaps = chance.choice([0, 0, 0.01, 0.2]) if private else chance.choice([0, 0, 0, 0.02])
    rows = chance.choice([1, 2, 30, 60, 200, 500]) if chance.random() < 0.3 else chance.choice([60, 120, 400])
    head = [f'"{name}"' if chance.random() < 0.2 or mark in name else name for name in names]
    lines = [mark.join(head)]
    for at in range(rows):
        cells = [_cell(kind, chance, at, comma) for kind in kinds]
        cells[-1] = f"{sum(len(cell) for cell in cells) + chance.gauss(0, 1):.4f}".replace(".", "," if comma else ".")
        if private and chance.random() < 0.01:
            cells[0] = SECRET
        lines.append(mark.join(chance.choice(["", "NA", " "]) if chance.random() < gaps else cell for cell in cells))
    if chance.random() < 0.2:
        lines.insert(chance.randrange(1, len(lines) + 1), "")
    if chance.random() < 0.1:
        lines[chance.randrange(1, len(lines))] += mark + "more"
    text = chance.choice(["\n", "\n", "\r\n"]).join(lines) + chance.choice(["", "\n", "\n\n"])
    data = text.encode(chance.choice(["utf-8", "utf-8", "utf-8-sig", "latin-1"]), errors="replace")
    if chance.random() < 0.1:
        data = b"".join(gzip.compress(part) for part in (data[: len(data) // 2], data[len(data) // 2 :]))
    return data


def _cell(kind: str, chance: random.Random, at: int, comma: bool) -> str:
    """Return one cell of a column of numbers, integers, categories, dates, a constant or row numbers."""
    number = f"{chance.gauss(0, 1):.4f}"
    return {
        "n": number.replace(".", ",") if comma else number,
        "w": str(chance.randrange(10)),
        "c": chance.choice(["north", "south", "wést", "=x"]),
        "d": f"20{chance.randrange(10, 24)}-0{chance.randrange(1, 9)}-1{chance.randrange(9)}",
        "k": "5",
        "r": str(at),
    }[kind]


def damaged(chance: random.Random, private: bool = True) -> bytes:
    """Return a CSV file with some of its cells, bytes or lines replaced."""
    planted = SECRET if private else "1"
    rows = [["a", "b", "y"]] + [[f"{chance.gauss(0, 1):.4f}" for _ in range(3)] for _ in range(60)]
    for _ in range(chance.choice([0, 1, 3, 40])):
        rows[chance.randrange(len(rows))][chance.randrange(3)] = chance.choice([planted, *CELLS])
    if chance.random() < 0.2:
        rows[chance.randrange(len(rows))] += ["more"] * chance.randrange(1, 5)
    if chance.random() < 0.1:
        rows[0] = chance.choice([["a", "a", "y"], ["", "", ""], ["1", "2", "3"], ["a"], ["x" * 10_000, "b", "y"]])
    mark = chance.choice([",", ",", ",", ";", "\t"])
    text = chance.choice(["\n", "\n", "\r\n", "\r"]).join(mark.join(row) for row in rows)
    data = text.encode(chance.choice(["utf-8", "utf-8", "latin-1", "utf-16"]), errors="replace")
    data = bitten(data, chance) if chance.random() < 0.4 else data
    if chance.random() < 0.15:
        data = gzip.compress(data) + chance.choice([b"", b"trailing", gzip.compress(b"1,2,3\n")])
    if chance.random() < 0.1:
        out = io.BytesIO()
        pd.DataFrame({"a": [1.0, None] * 30, "b": [b"\xff", planted.encode()] * 30, "y": range(60)}).to_parquet(out)
        data = out.getvalue()
    return bitten(data, chance) if chance.random() < 0.2 else data


def bitten(data: bytes, chance: random.Random) -> bytes:
    """Return bytes of which some are replaced or cut off."""
    changed = bytearray(data)
    for _ in range(chance.choice([0, 1, 20])):
        if changed:
            changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed[: chance.randrange(len(changed) + 1)] if chance.random() < 0.3 else changed)


def document(value: Any, chance: random.Random) -> bytes:
    """Return the JSON of a value with a part replaced, sometimes deeply nested, cut off or damaged."""
    if chance.random() < 0.05:
        return ("[" * chance.choice([10, 10_000, 200_000])).encode()
    value = json.loads(json.dumps(value))
    for _ in range(chance.choice([0, 1, 1, 2])):
        value = _replaced(value, chance)
    text = json.dumps(value, default=str).encode()
    return bitten(text, chance) if chance.random() < 0.2 else text


def _replaced(value: Any, chance: random.Random) -> Any:
    """Return a value of which one part is replaced, removed or repeated."""
    if isinstance(value, dict) and value and chance.random() < 0.9:
        key = chance.choice(sorted(value))
        if chance.random() < 0.15:
            return {name: part for name, part in value.items() if name != key}
        return {**value, key: _replaced(value[key], chance)}
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        if chance.random() < 0.2:
            return value[:at] + value[at + 1 :] if chance.random() < 0.5 else [*value, value[at]]
        return [*value[:at], _replaced(value[at], chance), *value[at + 1 :]]
    return chance.choice(ODD)


class Made:
    """Valid files to start from: records, configuration and reports of devices, a ledger."""

    def __init__(self, home: Path, run: Callable[[Command], Any]) -> None:
        chance = random.Random(0)
        self.names = ["a", "b", "y"]
        tables = {n: home / f"{n}.csv" for n in ("good", "theirs")}
        for path in tables.values():
            lines = [",".join(self.names)] + [",".join(f"{chance.gauss(0, 1):.4f}" for _ in "aby") for _ in range(150)]
            path.write_text("\n".join(lines))
        self.tables = ["--private", str(tables["good"]), "--public", str(tables["theirs"]), "--target", "y"]
        self.public = tables["theirs"]
        for name, method in (("moment", "joint-moment"), ("record", "joint-pmt")):
            run(
                ["release", *self.tables, "--method", method, "--mu", "1", "--lab", "--json", "--out", str(home / name)]
            )
        local = [
            "--public",
            str(tables["theirs"]),
            "--target",
            "y",
            "--people",
            "100",
            "--epsilon",
            "4",
            "--family",
            "gaussian",
        ]
        run(["local", "configure", *local, "--out", str(home / "device")])
        run(
            [
                "local",
                "randomize",
                "--config",
                str(home / "device"),
                "--rows",
                str(tables["good"]),
                "--out",
                str(home / "r"),
            ]
        )
        run(["release", *self.tables, "--method", "pmt-ridge", "--mu", "0.1", "--dataset", "d"])
        self.moment, self.record = (json.loads((home / name).read_bytes()) for name in ("moment", "record"))
        self.device = json.loads((home / "device").read_bytes())
        self.reports = (home / "r").read_bytes()
        self.ledger = Path(os.environ["PMT_LEDGER"]).read_bytes()


def two_tables(folder: Path, chance: random.Random) -> Command:
    """Return a private and a public table and their columns."""
    wild = chance.random() < 0.4
    private, public = folder / chance.choice(["p.csv", "private rows é.csv", "p.gz"]), folder / "b.csv"
    names = [*chance.sample(NAMES, chance.choice([1, 2, 4, 8])), "y"]
    kinds = "".join(chance.choice("nnnnwcdkr") for _ in names)
    if wild:
        names = ["a", "b", "y"]
        private.write_bytes(damaged(chance))
        sound = messy(random.Random(12), False, names, "nnn")
        public.write_bytes(damaged(chance, False) if chance.random() < 0.3 else sound)
    else:
        private.write_bytes(messy(chance, True, names, kinds))
        public.write_bytes(messy(chance, False, names, kinds))
    target = chance.choice(["y"] * 9 + [chance.choice(names), "zz", ""])
    return ["--private", str(private), "--public", str(public), "--target", target]


def commands(folder: Path, chance: random.Random, drawn: object, made: Made) -> Command:
    """Run one command on files made for it."""
    sure = chance.random() < 0.7
    number = (
        chance.choice(["1", "0.3"]) if sure else chance.choice(["0", "-1", "nan", "inf", "9" * 400, "x", "", "1e-400"])
    )
    more = chance.choice(
        [[]] * 6
        + [["--missing", "public-median"], ["--missing", "refuse"], ["--family", "logistic"], ["--family", "poisson"]]
        + [["--features", "a"], ["--unseen", "x"], ["--no-intercept"], ["--kind", "a=level"], ["--levels", "a=1|2"]]
        + [
            ["--public-rows", "-1"],
            ["--schema", str(folder / "schema")],
            ["--collinear", "drop"],
            ["--query", "select"],
        ]
    )
    (folder / "schema").write_bytes(document({"a": {"kind": "number", "low": -4, "high": 4}, "b": "level"}, chance))
    method = chance.choice(
        ["joint-pmt", "pmt-ridge", "joint-moment", "pmt-moment", "pmt-gradients", "zz"][: 5 + (not sure)]
    )
    config, odd = folder / "c.json", folder / "odd"
    fields = {"method": method, "mu": 1, "parameters": {}, "delta": 1e-6, "rows_per_person": 1, "more": drawn}
    fields = fields if chance.random() < 0.3 else {k: v for k, v in fields.items() if k != "more"}
    out = (
        ["--out", chance.choice([str(folder / "out.json"), "/dev/full", str(folder), ""])]
        if chance.random() < 0.1
        else []
    )
    where = ["--lab"] if chance.random() < 0.4 else ["--dataset", f"d{chance.random()}"]

    def released() -> Command:
        return ["release", *two_tables(folder, chance), *more, "--method", method, "--mu", number, *where, *out]

    def configured() -> Command:
        config.write_bytes(document(fields, chance))
        return ["release", *made.tables, "--config", str(config), "--lab", *out]

    def explored() -> Command:
        odd.write_bytes(document(made.moment, chance))
        question = chance.choice(
            ["columns", "summary", "correlations", "partial", "components", "ridge", "lasso", "subsets", "x"]
        )
        option = chance.choice(
            [["--formula", chance.choice(["y ~ a + b", "y ~", "~", "y ~ a:b", "q ~ a", "y ~ " + "(" * 500])]]
        )
        return [
            "explore",
            "--record",
            str(odd),
            *chance.choice([option, [*option, "--show", question], ["--at", "a=x", *option]]),
        ]

    def local() -> Command:
        config.write_bytes(document(made.device, chance))
        odd.write_bytes(bitten(made.reports, chance) if chance.random() < 0.7 else document([drawn], chance))
        rows = chance.choice([made.tables[1], str(odd)])
        return chance.choice(
            [
                ["local", "randomize", "--config", str(config), "--rows", rows, "--out", str(folder / "r.jsonl")],
                ["local", "aggregate", "--config", str(config), "--reports", str(odd), "--public", str(made.public)],
                [
                    "local",
                    "configure",
                    "--public",
                    str(made.public),
                    "--target",
                    "y",
                    "--people",
                    number,
                    "--epsilon",
                    number,
                ],
            ]
        )

    def booked() -> Command:
        ledger = folder / "book.db"
        ledger.write_bytes(bitten(made.ledger, chance) if chance.random() < 0.8 else made.ledger)
        place = str(chance.choice([ledger, ledger, ledger, odd, folder, "/dev/null", "nonsense://x", ""]))
        act = chance.choice(["show", "verify", "accept", "retire", "part", "cap"])
        return [
            "ledger",
            act,
            "--ledger",
            place,
            *chance.choice([[], ["--dataset", "d"], ["--dataset", "d", "--mu", number]]),
        ]

    def reported() -> Command:
        odd.write_bytes(document(made.record, chance))
        return ["report", "--release", str(odd), "--html", str(folder / "r.html")]

    kinds: list[tuple[int, Callable[[], Command]]] = [
        (8, released),
        (2, configured),
        (2, lambda: ["describe", *two_tables(folder, chance), *more]),
        (
            1,
            lambda: [
                "compare",
                *two_tables(folder, chance),
                *more,
                "--methods",
                method,
                "--mu",
                number,
                "--trials",
                "2",
            ],
        ),
        (
            2,
            lambda: [
                "plan",
                *two_tables(folder, chance)[2:],
                *more,
                "--rows",
                chance.choice(["1000", number]),
                "--mu",
                number,
            ],
        ),
        (1, lambda: ["convert", "--epsilon", number, "--delta", chance.choice(["1e-6", "0", "1", "x"])]),
        (2, reported),
        (2, booked),
        (3, explored),
        (2, local),
        (
            1,
            lambda: [
                "audit",
                chance.choice(["zz", "", method]),
                "--mu",
                chance.choice(["x", "-1"]),
                "--trials",
                number,
            ],
        ),
        (1, lambda: ["gallery", chance.choice(["zz", "", "A1"]), "--trials", chance.choice(["0", "-1", "x"])]),
    ]
    made_by = chance.choices([act for _, act in kinds], weights=[weight for weight, _ in kinds])[0]
    return made_by() + (["--json"] if chance.random() < 0.2 else [])


def main() -> int:
    """Run and print; the exit status is 1 on any violation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    counts: Counter[str] = Counter()
    bad: list[str] = []
    longest = [0.0]
    # Hypothesis repeats and shortens what it draws, so that its integers would make the same few files again.
    numbers = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as home:
        os.environ |= {"PMT_LEDGER": str(Path(home) / "l.db"), "XDG_DATA_HOME": home}
        from pmtcore.cli.main import main as command  # noqa: PLC0415  # after its ledger is named

        def run(arguments: Command) -> tuple[object, str]:
            out = io.StringIO()
            try:
                with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
                    return command(arguments), out.getvalue()
            except SystemExit as stop:
                return stop.code, out.getvalue()
            except BaseException as error:
                return f"{type(error).__name__}: {error}"[:300], out.getvalue()

        def surely(command: Command) -> None:
            status, said = run(command)
            if status != 0:
                raise SystemExit(f"the sound files to start from cannot be made: {command} {said}")

        made = Made(Path(home), surely)
        work = Path(home) / "wörk"
        work.mkdir()
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
        @given(nested)
        def one(drawn: object) -> None:
            number = numbers.randrange(2**62)
            command = commands(work, random.Random(number), drawn, made)
            start, computing = time.monotonic(), time.process_time()
            status, said = run(command)
            waited, took = time.monotonic() - start, time.process_time() - computing
            longest[0] = max(longest[0], took)
            counts[f"{command[0]} {status}"] += 1
            private = SECRET in said and command[0] == "release"
            if (
                status not in (0, 2, 3)
                or took > 20
                or waited > 90
                or "Traceback" in said
                or "own fault" in said
                or private
            ):
                seconds = f"{took:.1f} s ({waited:.1f} s in all)"
                bad.append(f"{number}: status {status}, {seconds}, {command} {said[-300:]!r}")

        one()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    total = sum(counts.values())
    for name, count in sorted(counts.items()):
        print(f"{name[:60]:24} {count}")
    print(f"{total} inputs, {len(bad)} failures, longest {longest[0]:.2f} CPU s, peak {peak:.0f} MB")
    print("\n".join(bad[:20]))
    good, refused = counts["release 0"], counts["release 2"]
    print(f"{good} of {good + refused} releases were made")
    too_few = binom.cdf(good, good + refused, 0.1) < 1e-3
    return int(bool(bad) or peak > 1024 or bool(too_few))


if __name__ == "__main__":
    sys.exit(main())
