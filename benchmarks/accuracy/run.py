"""Accuracy: error ratios over tables, scalings, budgets and methods, in one command.

    PYTHONPATH=. python benchmarks/accuracy/run.py [--splits 8] [--trials 20] [--out benchmarks/accuracy]

Error is the Euclidean distance to the non-private fit of the same private rows, median over trials and splits; the
ratio is to the papers' own method (pmt-ridge; pmt-logistic at the best of five step counts) at the same total mu
under replace-one. Peers get the (epsilon, delta) of that mu at delta = 1/n^2 and the true bounds of the private rows.
diffprivlib runs in an environment of its own, named by PMT_PEERS; without it its column is empty. Real tables only
where PMT_DATA_DIR has them.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

sys.path.insert(0, str(Path(__file__).parent))
import ihm

from pmtcore.accounting.budgets import Budget, epsilon_from_mu
from pmtcore.base.records import Curator, PrivateRows
from pmtcore.lab.gallery.central import sides
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import PublicData

HARMLESS = Curator("a benchmark on synthetic and public tables")
MUS = (0.5, 1.5, 4.5)
LINEAR: dict[str, Mapping[str, Any]] = {
    "white wine, z": {"table": "white-wine", "scale": "z", "m": 245},
    "white wine, max": {"table": "white-wine", "scale": "max", "m": 245},
    "power plant, z": {"table": "power-plant", "scale": "z", "m": 192},
    "power plant, min-max": {"table": "power-plant", "scale": "minmax", "m": 192},
    "synthetic (3000, 20)": {"table": "synthetic", "m": 20, "n": 3000},
    "synthetic (3000, 50)": {"table": "synthetic", "m": 50, "n": 3000},
    "synthetic (10000, 200)": {"table": "synthetic", "m": 200, "n": 10_000},
}
LABELS: dict[str, Mapping[str, Any]] = {
    "banknote, z": {"table": "banknote", "scale": "z", "m": 137, "one": True, "family": "logistic", "lam": 0.01},
    "bank marketing, min-max": {"table": "bank", "scale": "minmax", "m": 4521, "family": "logistic", "lam": 0.01},
}
STEPS = (1, 2, 3, 5, 8)
METHODS = {
    "linear": (
        "public-only",
        "joint-pmt",
        "pmt-ridge",
        "dp-ridge-public",
        "napp-public",
        "ada-ssp",
        "ihm",
        "diffprivlib",
    ),
    "labels": ("public-only", "pmt-objective", "pmt-score", "napp-public", "pmt-logistic", "dp-erm", "diffprivlib"),
}
COLOURS = {  # ours are filled circles, the papers' are crosses, peers are open
    "joint-pmt": ("#0072B2", "circle"),
    "pmt-objective": ("#0072B2", "circle"),
    "pmt-score": ("#56B4E9", "circle"),
    "napp-public": ("#332288", "circle"),
    "public-only": ("#009E73", "star"),
    "pmt-ridge": ("#D55E00", "x"),
    "pmt-logistic": ("#D55E00", "x"),
    "dp-ridge-public": ("#E69F00", "x"),
    "dp-erm": ("#CC79A7", "diamond-open"),
    "ada-ssp": ("#882255", "diamond-open"),
    "ihm": ("#117733", "square-open"),
    "diffprivlib": ("#555555", "triangle-up-open"),
}
PAPERS = {"linear": "pmt-ridge", "labels": "pmt-logistic"}


def released(id: str, public: PublicData, rows: PrivateRows, mu: float, trials: int, seed: int, **values: Any) -> Any:
    """Coefficients (trials, d) of a registered method."""
    entry = method(id)
    plan = entry.plan(public, rows.n, Budget(mu), make_parameters(entry, values))
    return plan.perturb(plan.measure(rows), SeededNoise(seed), trials).coefficients


def diffprivlib(
    x: np.ndarray, y: np.ndarray, epsilon: float, trials: int, labels: bool, lam: float
) -> np.ndarray | None:
    """Coefficients (trials, d) from the other environment, if there is one."""
    python = os.environ.get("PMT_PEERS")
    if not python:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npy"
        weight = 1 / (lam * len(y)) if lam else 1e6
        np.savez(source, x=x, y=y, epsilon=epsilon, trials=trials, labels=labels, C=weight)
        subprocess.run([python, str(Path(__file__).with_name("peer.py")), str(source), str(target)], check=True)
        return np.asarray(np.load(target))


def errors(kind: str, setting: Mapping[str, Any], mu: float, split: int, trials: int) -> dict[str, float]:
    """Median distance to the non-private fit, each method, on one split."""
    public, rows, _ = sides(split, **setting)
    exact = exact_fit(public, rows).reveal(HARMLESS)
    z = rows.concatenate(lambda x, y: np.column_stack([x, y])).reveal(HARMLESS)
    x, y, delta = z[:, :-1], z[:, -1], 1 / rows.n**2
    epsilon, found = epsilon_from_mu(mu, delta), {}
    for id in METHODS[kind]:
        if id == "ihm":
            drawn: np.ndarray | None = ihm.fit(x, y, epsilon, delta, trials, split)
        elif id == "diffprivlib":
            drawn = diffprivlib(x, y, epsilon, trials, kind == "labels", float(setting.get("lam", 0.0)))
        elif id == "pmt-logistic":
            each = [released(id, public, rows, mu, trials, split, steps=steps) for steps in STEPS]
            drawn = min(each, key=lambda c: float(np.median(np.linalg.norm(c - exact, axis=1))))
        else:
            drawn = released(id, public, rows, mu, trials, split)
        if drawn is not None:
            found[id] = float(np.median(np.nan_to_num(np.linalg.norm(drawn - exact, axis=1), nan=math.inf)))
    return found


def table(kind: str, settings: Mapping[str, Mapping[str, Any]], splits: int, trials: int) -> list[dict[str, Any]]:
    """One row for each setting and budget."""
    rows = []
    for name, setting in settings.items():
        for mu in MUS:
            each = [errors(kind, setting, mu, split, trials) for split in range(splits)]
            median = {id: float(np.median([e[id] for e in each])) for id in each[0]}
            rows.append({"table": name, "mu": mu, "kind": kind, "errors": median})
            ratio = {id: f"{value / median[PAPERS[kind]]:.3g}" for id, value in median.items()}
            print(f"{name:24s} mu {mu:<4g} {ratio}", flush=True)
    return rows


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The table, and geometric means."""
    lines = []
    for kind, papers in PAPERS.items():
        mine = [row for row in rows if row["kind"] == kind]
        if not mine:
            continue
        ids = [id for id in METHODS[kind] if id in mine[0]["errors"]]
        lines += [f"Error over that of `{papers}`.", "", "| table | mu | " + " | ".join(ids) + " |"]
        lines.append("|---|---|" + "---|" * len(ids))
        ratios = {id: [row["errors"][id] / row["errors"][papers] for row in mine] for id in ids}
        for at, row in enumerate(mine):
            cells = " | ".join(f"{ratios[id][at]:.3g}" for id in ids)
            lines.append(f"| {row['table']} | {row['mu']:g} | {cells} |")
        means = " | ".join(f"**{math.exp(float(np.mean(np.log(ratios[id])))):.3g}**" for id in ids)
        lines += [f"| geometric mean |  | {means} |", ""]
    return "\n".join(lines)


def picture(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Ratios on a log axis, one line for each method."""
    figure = go.Figure()
    for id in dict.fromkeys(id for names in METHODS.values() for id in names):
        mine = [row for row in rows if id in row["errors"]]
        if not mine:
            continue
        figure.add_scatter(
            x=[row["errors"][id] / row["errors"][PAPERS[row["kind"]]] for row in mine],
            y=[f"{row['table']}, mu {row['mu']:g}" for row in mine],
            mode="markers",
            name=id,
            marker={"size": 10, "color": COLOURS[id][0], "symbol": COLOURS[id][1]},
        )
    figure.update_xaxes(type="log", title="error over that of the papers' method")
    figure.update_yaxes(autorange="reversed")
    figure.update_layout(
        height=100 + 24 * len(rows), width=1000, template="plotly_white", margin={"l": 260, "t": 20, "b": 60}
    )
    return figure


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    chosen = parser.parse_args()
    results = table("linear", LINEAR, chosen.splits, chosen.trials)
    results += table("labels", LABELS, max(chosen.splits // 2, 1), max(chosen.trials // 4, 1))
    (chosen.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (chosen.out / "results.md").write_text(markdown(results) + "\n")
    picture(results).write_html(chosen.out / "results.html", include_plotlyjs=True)
    print(markdown(results))
