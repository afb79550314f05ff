"""Accuracy: error ratios over tables, scalings, budgets and methods, in one command.

    PYTHONPATH=. python benchmarks/accuracy/run.py [--splits 8] [--trials 20] [--out FOLDER] [--again] [--only IDS]

Error is the Euclidean distance to the non-private fit of the same private rows, median over trials and splits; the
ratio is to the papers' own method (pmt-ridge; pmt-logistic at the best of five step counts) at the same total mu
under replace-one. Peers get the (epsilon, delta) of that mu at delta = 1/n^2 and the true bounds of the private rows.
diffprivlib runs in an environment of its own, named by PMT_PEERS; without it its column is empty. Real tables only
where PMT_DATA_DIR has them. Some settings have public rows that are no sample of the private ones: another scale,
selected on a feature or the response, outliers, copies. "limit" is no method: one clipped gradient that knows the fit.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go

sys.path.insert(0, str(Path(__file__).parent))
import ihm
import rivals
import tukey

from pmtcore.accounting.budgets import Budget, epsilon_from_mu
from pmtcore.base.private_rows import Curator, PrivateRows
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import make_parameters, method, recommended_method
from pmtcore.papers.gallery.central import sides
from pmtcore.public.moments import PublicData, public_from_rows

HARMLESS = Curator("a benchmark on synthetic and public tables")
MUS = (0.15, 0.5, 1.5, 4.5)
LINEAR: dict[str, Mapping[str, Any]] = {
    "white wine, z": {"table": "white-wine", "scale": "z", "m": 245},
    "white wine, max": {"table": "white-wine", "scale": "max", "m": 245},
    "power plant, z": {"table": "power-plant", "scale": "z", "m": 192},
    "power plant, min-max": {"table": "power-plant", "scale": "minmax", "m": 192},
    "synthetic (3000, 20)": {"table": "synthetic", "m": 20, "n": 3000},
    "synthetic (3000, 50)": {"table": "synthetic", "m": 50, "n": 3000},
    "synthetic (10000, 200)": {"table": "synthetic", "m": 200, "n": 10_000},
    "white wine, z, m = d + 2": {"table": "white-wine", "scale": "z", "m": 13},
    "white wine, max, m = d + 5": {"table": "white-wine", "scale": "max", "m": 16},
    "white wine, z, m = 2 d": {"table": "white-wine", "scale": "z", "m": 22},
    "power plant, z, m = d + 2": {"table": "power-plant", "scale": "z", "m": 6},
    "power plant, z, m = d + 5": {"table": "power-plant", "scale": "z", "m": 9},
    "synthetic (3000, 12)": {"table": "synthetic", "m": 12, "n": 3000},
    "synthetic d = 50 (5000, 52)": {"table": "synthetic", "m": 52, "n": 5000, "d": 50},
    "synthetic d = 100 (2000, 127)": {"table": "synthetic", "m": 127, "n": 2000, "d": 100},
    "synthetic d = 100 (10000, 150)": {"table": "synthetic", "m": 150, "n": 10_000, "d": 100},
    "power plant, z, a column twice as large": {"table": "power-plant", "scale": "z", "m": 192, "shift": "scale"},
    "power plant, z, selected on a feature": {"table": "power-plant", "scale": "z", "m": 192, "shift": "feature"},
    "white wine, z, selected on the response": {"table": "white-wine", "scale": "z", "m": 245, "shift": "response"},
    "synthetic d = 100 (10000, 200)": {"table": "synthetic", "m": 200, "n": 10_000, "d": 100},
    "synthetic d = 200 (2000, 250)": {"table": "synthetic", "m": 250, "n": 2000, "d": 200},
    "power plant, z, m = 2 d": {"table": "power-plant", "scale": "z", "m": 8},
    "white wine, max, public outliers": {"table": "white-wine", "scale": "max", "m": 245, "shift": "outliers"},
    "power plant, z, 48 rows four times": {"table": "power-plant", "scale": "z", "m": 48, "shift": "copies"},
}
LABELS: dict[str, Mapping[str, Any]] = {
    "banknote, z": {"table": "banknote", "scale": "z", "m": 137, "one": True, "family": "logistic", "lam": 0.01},
    "banknote, z, m = 2 d": {
        "table": "banknote",
        "scale": "z",
        "m": 10,
        "one": True,
        "family": "logistic",
        "lam": 0.01,
    },
    "banknote, min-max": {
        "table": "banknote",
        "scale": "minmax",
        "m": 137,
        "one": True,
        "family": "logistic",
        "lam": 0.01,
    },
    "Adult, z (8000, 300)": {
        "table": "adult",
        "scale": "z",
        "m": 300,
        "n": 8000,
        "one": True,
        "family": "logistic",
        "lam": 0.01,
    },
    "Adult, min-max (8000, 300)": {
        "table": "adult",
        "scale": "minmax",
        "m": 300,
        "n": 8000,
        "one": True,
        "family": "logistic",
        "lam": 0.01,
    },
    "bank marketing, z (9000, 1000)": {
        "table": "bank",
        "scale": "z",
        "m": 1000,
        "n": 9000,
        "one": True,
        "family": "logistic",
        "lam": 0.01,
    },
    "bank marketing, min-max": {"table": "bank", "scale": "minmax", "m": 4521, "family": "logistic", "lam": 0.01},
}
STEPS = (1, 2, 3, 5, 8)
METHODS = {
    "linear": (
        "public-only",
        "joint-pmt",
        "pmt-gradients",
        "pmt-ridge",
        "dp-ridge-public",
        "napp-public",
        "ada-ssp",
        "ihm",
        "tukey",
        "descent",
        "preconditioned",
        "diffprivlib",
        "limit",
    ),
    "labels": (
        "public-only",
        "pmt-gradients",
        "pmt-objective",
        "pmt-score",
        "napp-public",
        "pmt-logistic",
        "dp-erm",
        "descent",
        "preconditioned",
        "diffprivlib",
        "limit",
    ),
}
COLOURS = {  # ours are filled circles, the papers' are crosses, peers are open
    "recommended": ("#000000", "circle-open"),
    "joint-pmt": ("#0072B2", "circle"),
    "pmt-gradients": ("#0B7A75", "circle"),
    "descent": ("#999933", "square-open"),
    "preconditioned": ("#AA4499", "square-open"),
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
    "tukey": ("#44AA99", "triangle-down-open"),
    "diffprivlib": ("#555555", "triangle-up-open"),
    "limit": ("#999999", "line-ns-open"),
}
OWN = ("recommended", "joint-pmt", "pmt-gradients", "pmt-objective", "pmt-score", "napp-public", "limit")
PAPERS = {"linear": "pmt-ridge", "labels": "pmt-logistic"}


def released(id: str, public: PublicData, rows: PrivateRows, mu: float, trials: int, seed: int, **values: Any) -> Any:
    """Return coefficients (trials, d) of a registered method."""
    entry = method(id)
    plan = entry.plan(public, rows.n, Budget(mu), make_parameters(entry, values))
    return plan.run(rows, SeededNoise(seed), trials).coefficients


def drawn(split: int, shift: str = "", **setting: Any) -> tuple[PublicData, PrivateRows]:
    """Return both sides of one split; with a shift the public rows are no sample of the private ones."""
    public, rows, _ = sides(split, **setting)
    if not shift:
        return public, rows
    z = rows.concatenate(lambda x, y: np.column_stack([x, y])).reveal(HARMLESS)
    theirs = public.rows
    if shift == "scale":
        z[:, 1] *= 2
    elif shift == "outliers":
        theirs = theirs.copy()
        theirs[::50, -1] *= 10
    elif shift == "copies":
        theirs = np.tile(theirs, (4, 1))
    else:
        column = 0 if shift == "feature" else -1
        far = np.flatnonzero(z[:, column] > np.quantile(z[:, column], 0.6))[: len(theirs)]
        theirs, z = z[far], np.delete(z, far, axis=0)
    public = public_from_rows(
        theirs[:, :-1], theirs[:, -1], public.names, "y", ridge=0.0, family=public.family, lam=public.lam
    )
    return public, PrivateRows.from_arrays(z[:, :-1], z[:, -1], public.names)


def errors(
    kind: str, setting: Mapping[str, Any], mu: float, split: int, trials: int, only: Sequence[str] = ()
) -> dict[str, float]:
    """Return the median distance to the non-private fit on one split, by method."""
    public, rows = drawn(split, **setting)
    exact = exact_fit(public, rows).reveal(HARMLESS)
    z = rows.concatenate(lambda x, y: np.column_stack([x, y])).reveal(HARMLESS)
    x, y, delta = z[:, :-1], z[:, -1], 1 / rows.n**2
    epsilon = epsilon_from_mu(mu, delta)

    def distance(coefficients: np.ndarray) -> float:
        return float(np.median(np.nan_to_num(np.linalg.norm(coefficients - exact, axis=1), nan=math.inf)))

    errors: dict[str, float] = {}
    for id in METHODS[kind]:
        if only and id not in only:
            continue
        if id == "ihm":
            errors[id] = distance(ihm.fit(x, y, epsilon, delta, trials, split))
        elif id == "tukey":
            errors[id] = distance(tukey.fit(x, y, epsilon, delta, trials, split))
        elif id == "limit":
            bias, noise = rivals.best_gradient(public, x, y, mu, exact, metric=np.eye(public.d), clipped_slope=False)
            errors[id] = float(np.sqrt(np.sum(bias**2) + np.sum(noise**2)))
        elif id in ("descent", "preconditioned"):
            errors[id] = distance(rivals.descent(public, x, y, mu, trials, split, id == "preconditioned"))
        elif id == "diffprivlib":
            theirs = rivals.diffprivlib(x, y, epsilon, trials, kind == "labels", float(setting.get("lam", 0.0)))
            if theirs is not None:
                errors[id] = distance(theirs)
        elif id == "pmt-logistic":
            errors[id] = min(distance(released(id, public, rows, mu, trials, split, steps=steps)) for steps in STEPS)
        else:
            errors[id] = distance(released(id, public, rows, mu, trials, split))
    if recommended_method(public).id in errors:
        errors["recommended"] = errors[recommended_method(public).id]
    return errors


def renewed(rows: list[dict[str, Any]], only: Sequence[str], splits: int, trials: int) -> list[dict[str, Any]]:
    """Return the rows with the figures of these methods redone; those of all others stay as they were."""
    kinds = {"linear": (LINEAR, trials), "labels": (LABELS, max(trials // 3, 1))}
    for row in rows:
        settings, many = kinds[row["kind"]]
        if set(only) & set(METHODS[row["kind"]]):
            each = [errors(row["kind"], settings[row["table"]], row["mu"], at, many, only) for at in range(splits)]
            row["errors"] |= {id: float(np.median([e[id] for e in each])) for id in each[0]}
            print(
                f"{row['table']:24s} mu {row['mu']:<4g}",
                {id: f"{row['errors'][id]:.3g}" for id in only if id in row["errors"]},
                flush=True,
            )
    return rows


def table(kind: str, settings: Mapping[str, Mapping[str, Any]], splits: int, trials: int) -> list[dict[str, Any]]:
    """Return a table with a row for each setting and budget."""
    rows = []
    for name, setting in settings.items():
        for mu in MUS:
            each = [errors(kind, setting, mu, split, trials) for split in range(splits)]
            median = {id: float(np.median([e[id] for e in each])) for id in each[0]}
            rows.append({"table": name, "mu": mu, "kind": kind, "errors": median})
            ratio = {id: f"{value / median[PAPERS[kind]]:.3g}" for id, value in median.items()}
            print(f"{name:24s} mu {mu:<4g} {ratio}", flush=True)
    return rows


def against_rivals(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the recommended method against the best of all that is not this project's own, in a sentence."""
    ratios = []
    for row in rows:
        best = min(value for id, value in row["errors"].items() if id not in OWN)
        ratios.append(row["errors"]["recommended"] / best)
    return (
        f"`recommended` over the best rival of each line, the public fit among them: median {np.median(ratios):.3g}, "
        f"largest {max(ratios):.3g}, above 1.05 in {sum(each > 1.05 for each in ratios)} of {len(ratios)}."
    )


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table, and geometric means."""
    lines = []
    for kind, papers in PAPERS.items():
        chosen = [row for row in rows if row["kind"] == kind]
        if not chosen:
            continue
        ids = ["recommended", *(id for id in METHODS[kind] if id in chosen[0]["errors"])]
        lines += [f"Error over that of `{papers}`.", "", "| table | mu | " + " | ".join(ids) + " |"]
        lines.append("|---|---|" + "---|" * len(ids))
        ratios = {id: [row["errors"][id] / row["errors"][papers] for row in chosen] for id in ids}
        for at, row in enumerate(chosen):
            cells = " | ".join(f"{ratios[id][at]:.3g}" for id in ids)
            lines.append(f"| {row['table']} | {row['mu']:g} | {cells} |")
        means = " | ".join(f"**{math.exp(float(np.mean(np.log(ratios[id])))):.3g}**" for id in ids)
        lines += [f"| geometric mean |  | {means} |", "", against_rivals(chosen), ""]
    return "\n".join(lines)


def picture(rows: Sequence[Mapping[str, Any]]) -> go.Figure:
    """Draw ratios on a log axis, with a line for each method."""
    figure = go.Figure()
    for id in ("recommended", *dict.fromkeys(id for names in METHODS.values() for id in names)):
        method_rows = [row for row in rows if id in row["errors"]]
        if not method_rows:
            continue
        figure.add_scatter(
            x=[row["errors"][id] / row["errors"][PAPERS[row["kind"]]] for row in method_rows],
            y=[f"{row['table']}, mu {row['mu']:g}" for row in method_rows],
            mode="markers",
            name=id,
            marker={"size": 10, "color": COLOURS[id][0], "symbol": COLOURS[id][1]},
        )
    figure.update_xaxes(type="log", title="error over that of the papers' method", exponentformat="none")
    figure.update_yaxes(range=[len(rows) - 0.5, -0.5])
    figure.update_layout(
        height=100 + 24 * len(rows), width=1000, template="plotly_white", margin={"l": 260, "t": 20, "b": 60}
    )
    return figure


def photograph(page: Path, target: Path) -> None:
    """Write the picture as PNG, by the browser that the tests use; without one the page alone is written."""
    if find_spec("playwright") is None:
        print("no picture: playwright is not installed")
        return
    api = import_module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        try:
            browser = playwright.chromium.launch(executable_path=os.environ.get("PMT_CHROMIUM"))
        except api.Error as error:
            print("no picture:", str(error).splitlines()[0])
            return
        view = browser.new_page(viewport={"width": 1020, "height": 800})
        view.goto(page.resolve().as_uri())
        view.wait_for_selector(".main-svg")
        view.screenshot(path=str(target), full_page=True)
        browser.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=8)
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent)
    parser.add_argument("--again", action="store_true", help="table and picture from the figures that are there")
    parser.add_argument("--only", default="", help="methods to redo, by commas; the figures of all others stay")
    parser.add_argument("--picture", type=Path, default=Path(__file__).parents[2] / "assets" / "accuracy.png")
    chosen = parser.parse_args()
    if chosen.again:
        results = json.loads((chosen.out / "results.json").read_text())
    elif chosen.only:
        results = json.loads((chosen.out / "results.json").read_text())
        results = renewed(results, chosen.only.split(","), chosen.splits, chosen.trials)
    else:
        results = table("linear", LINEAR, chosen.splits, chosen.trials)
        results += table("labels", LABELS, chosen.splits, max(chosen.trials // 3, 1))
    (chosen.out / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (chosen.out / "results.md").write_text(markdown(results) + "\n")
    picture(results).write_html(chosen.out / "results.html", include_plotlyjs=True)
    photograph(chosen.out / "results.html", chosen.picture)
    print(markdown(results))
