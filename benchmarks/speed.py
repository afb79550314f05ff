"""Durations that a user waits for: ``python benchmarks/speed.py``.

Read the figures as ratios within one run, since machines differ. The unit is one exact least squares fit of the same
rows by numpy.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from clock import median_seconds

from pmtcore.accounting.budgets import Budget
from pmtcore.auditing.comparison import Comparison
from pmtcore.base.private_rows import PrivateRows
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import public_from_rows
from pmtcore.tables.named import load
from pmtcore.tables.problem import default_choices, prepare
from pmtcore.tables.synthetic import synthetic


def main() -> None:
    """Measure and print."""
    private, public, reasons = load("demo", n=10_000, m=200, d=10)
    problem = prepare(private, public, default_choices(private, public), lab_reasons=reasons)
    x, y = private.frame.to_numpy()[:, :-1], private.frame.to_numpy()[:, -1]
    yardstick = median_seconds(lambda: np.linalg.lstsq(x, y, rcond=None))
    mus = list(np.geomspace(0.1, 10, 10))
    rows = {
        "least squares by numpy, 10,000 x 10": yardstick,
        "one figure: joint-pmt, 300 trials x 10 budgets": median_seconds(
            lambda: Comparison(problem, ["joint-pmt"], mus, trials=300, seed=1).run()
        ),
        "the same, joint-pmt, pmt-ridge, dp-ridge, public-only": median_seconds(
            lambda: Comparison(
                problem, ["joint-pmt", "pmt-ridge", "dp-ridge", "public-only"], mus, trials=300, seed=1
            ).run()
        ),
        "slider to answer, 10,000 x 20: plan, one release, bands": _slider(),
        "command line, release, start-up included": _command_line(private.frame, public.frame),
    }
    for name, seconds in rows.items():
        print(f"{name:58} {seconds:8.3f} s  {seconds / yardstick:8.1f} x")


def _slider() -> float:
    draw = synthetic(10_000, 400, d=20, seed=2)
    names = tuple(f"x{j}" for j in range(20))
    public = public_from_rows(draw.public_x, draw.public_y, names, "y")
    rows = PrivateRows.from_arrays(draw.private_x, draw.private_y, names)
    entry = method("joint-pmt")

    def answer() -> object:
        plan = entry.plan(public, rows.n, Budget(1.0), make_parameters(entry, {}))
        return plan.run(rows, SeededNoise(1), 1).bands()

    return median_seconds(answer)


def _command_line(private: object, public: object) -> float:
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / "private.csv", Path(folder) / "public.csv"]
        for frame, file in zip((private, public), files, strict=True):
            frame.to_csv(file, index=False)  # type: ignore[attr-defined]
        command = [sys.executable, "-m", "pmtcore", "release", "--private", files[0], "--public", files[1]]
        command += ["--target", "y", "--method", "joint-pmt", "--mu", "1", "--json"]
        return median_seconds(lambda: subprocess.run(command, check=True, capture_output=True), 3)


if __name__ == "__main__":
    main()
