"""Six random figures of the gallery, recomputed in plain numpy.

Usage: ``python benchmarks/independent.py [new] [TRIALS]``.

``pmtcore`` is not used: data, noise, fits and errors are written from the papers alone. Prints the median of TRIALS new
trials and the stored median, with their 95 % intervals, which should overlap.
Sampled: ``random.Random(29).sample`` of the figures that are stored: DS2b, A7, D4, D1b, A9, D8d; and, with the argument
``new`` in front, ``random.Random(79).sample`` of those with counts as they are or recycled as displayed: C4, D8d, D8b,
DS4c, C2b, D8c.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize
from scipy.special import expit
from scipy.stats import truncnorm

STORED = Path(__file__).resolve().parents[1] / "assets" / "gallery"
DATA = Path(os.environ.get("PMT_DATA_DIR", Path(__file__).resolve().parents[2] / "shared" / "data"))
ROOT2 = np.sqrt(2)


def interval(values: np.ndarray) -> tuple[float, float, float]:
    """Return the median and its 95 % interval by order statistics."""
    ordered, t = np.sort(values), len(values)
    reach = int(np.ceil(0.98 * np.sqrt(t)))
    return float(np.median(values)), float(ordered[max(t // 2 - reach, 0)]), float(ordered[min(t // 2 + reach, t - 1)])


def beside(id: str, name: str, x: float, own: list[float]) -> bool:
    """Print the new and the stored median; return whether their intervals overlap."""
    series = {each["name"]: each for each in json.loads((STORED / f"{id}.json").read_text())["series"]}[name]
    column = int(np.argmin(np.abs(np.asarray(series["x"]) - x)))
    stored = np.asarray([np.inf if row[column] is None else row[column] for row in series["values"]])
    new, old = interval(np.asarray(own)), interval(stored)
    meets = new[1] <= old[2] and old[1] <= new[2]
    print(
        f"{id:5} {name}, x = {x:g}: {new[0]:.4g} [{new[1]:.4g}, {new[2]:.4g}] of {len(own)} here, "
        f"{old[0]:.4g} [{old[1]:.4g}, {old[2]:.4g}] of {len(stored)} stored: {'meet' if meets else 'APART'}",
        flush=True,
    )
    return meets


# Paper A, figures 7 and 9: noisy Newton on whitened, truncated rows (Algorithm 3).


def symmetric(rng: np.random.Generator, d: int, sd: float) -> np.ndarray:
    """Draw a symmetric matrix, independent N(0, sd^2) on and above the diagonal."""
    upper = np.triu(rng.standard_normal((d, d)) * sd)
    return upper + np.triu(upper, 1).T


def newton(x: np.ndarray, y: np.ndarray, penalty: np.ndarray, sds: tuple[float, float], rng, steps: int) -> np.ndarray:
    """Take steps from 0 on the mean logistic loss with noise on Hessian and gradient."""
    n, d = x.shape
    beta = np.zeros(d)
    for _ in range(steps):
        p = expit(x @ beta)
        hessian = (x * (p * (1 - p))[:, None]).T @ x / n + penalty + symmetric(rng, d, sds[0])
        gradient = x.T @ (p - y) / n + penalty @ beta + sds[1] * rng.standard_normal(d)
        beta = beta - np.linalg.solve(hessian, gradient)
    return beta


def labels_trial(rng, x, y, public, mu: float, eta: float, lam: float, steps: int = 10) -> np.ndarray:
    """Run DP-PMTLR at mu per part."""
    n, d = x.shape
    values, vectors = np.linalg.eigh(public.T @ public / len(public))
    root = (vectors / np.sqrt(values)) @ vectors.T
    radius = np.sqrt(d * (1 + np.log(2 * n / eta)))
    rows = x @ root
    rows *= np.minimum(1, radius / np.linalg.norm(rows, axis=1))[:, None]
    part = np.sqrt(steps) / (mu * n)
    sds = (part * radius**2 / 2, 2 * part * radius)
    return root @ newton(rows, y, lam * root @ root, sds, rng, steps)


def synthetic_labels(rng, n: int, m: int, d: int, trace: float):
    """Return rows with the stated trace and smallest eigenvalue 0.17, the mean supplying the largest."""
    spectrum = np.geomspace(0.17, 1.0, d)
    spectrum[1:] *= min(1.0, 0.4 * trace / spectrum.sum())
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    mean = axes @ (rng.standard_normal(d) * np.sqrt(spectrum))
    mean *= np.sqrt(trace - spectrum.sum()) / np.linalg.norm(mean)
    beta = rng.standard_normal(d)
    x = mean + (rng.standard_normal((n + m, d)) * np.sqrt(spectrum)) @ axes.T
    y = (rng.random(n + m) < expit(x @ beta)).astype(float)
    return x[:n], y[:n], x[n:], beta


def figure_a7(trials: int) -> bool:
    """Recompute the distance to the truth after ten steps at mu = 10."""
    errors = []
    for seed in range(trials):
        rng = np.random.default_rng((71, seed))
        x, y, public, beta = synthetic_labels(rng, 10_000, 100, 8, 10.0)
        errors.append(float(np.linalg.norm(labels_trial(rng, x, y, public, 10.0, 0.05, 1e-3) - beta)))
    return beside("A7", "DP-PMTLR, mu = 10", 10, errors)


def figure_a9(trials: int) -> bool:
    """Recompute bank marketing: distance to the fit without privacy after ten steps at mu = 10."""
    frame = pd.read_csv(DATA / "bank-full.csv.gz", sep=None, engine="python")
    target = frame.columns[-1]
    codes = {
        name: frame[name] if pd.api.types.is_numeric_dtype(frame[name]) else frame[name].astype("category").cat.codes
        for name in frame.columns
    }
    y = np.asarray(codes.pop(target), dtype=float)
    x = np.column_stack([np.asarray(column, dtype=float) for column in codes.values()])
    x = (x - x.min(axis=0)) / np.ptp(x, axis=0)
    errors = []
    for seed in range(trials):
        rng = np.random.default_rng((91, seed))
        order = rng.permutation(len(y))
        private, public = order[4521:], x[order[:4521]]
        exact = newton(x[private], y[private], np.zeros((16, 16)), (0.0, 0.0), rng, 25)
        own = labels_trial(rng, x[private], y[private], public, 10.0, 1e-3, 0.0)
        errors.append(float(np.linalg.norm(own - exact)))
    return beside("A9", "DP-PMTLR, mu = 10", 10, errors)


# Paper D: Table 4, equation 4, Algorithm 1 in the limit of many rows, and the selections.

SIZES = {"linear": 1 - 0.8 * np.arange(8) / 7, "logistic": 4 - 0.5 * np.arange(8) / 7}


def table4(rng, kind: str, n: int):
    """Return rows, responses, and ten thousand rows to test on."""
    half = {"linear": 0.25, "logistic": 0.5}[kind]
    theta = np.concatenate([SIZES[kind], np.zeros(8)])
    x = rng.uniform(-half, half, (n + 10_000, 16))
    z = x @ theta
    y = (
        z + truncnorm(-2, 2, scale=0.25).rvs(len(z), random_state=rng)
        if kind == "linear"
        else rng.random(len(z)) < expit(z)
    )
    return x, np.asarray(y, dtype=float), half * 4.0


def risk(kind: str, x, y, theta):
    """Return the sum of losses and its gradient: Huber's loss at 0.5, or the logistic one."""
    z = x @ theta
    if kind == "linear":
        r = z - y
        inside = np.abs(r) <= 0.5
        return np.where(inside, r**2 / 2, 0.5 * np.abs(r) - 0.125).sum(), x.T @ np.clip(r, -0.5, 0.5)
    return (np.logaddexp(0, z) - y * z).sum(), x.T @ (expit(z) - y)


def ridge_fit(kind: str, x, y, linear, weights, lasso, start):
    """Minimize losses + linear + weights theta^2 + lasso |theta|, by doubled nonnegative variables."""
    p = len(start)

    def objective(both):
        theta = both[:p] - both[p:]
        value, slope = risk(kind, x, y, theta)
        slope = slope + linear + 2 * weights * theta
        total = value + linear @ theta + weights @ theta**2 + lasso @ (both[:p] + both[p:])
        return total, np.concatenate([slope + lasso, -slope + lasso])

    begin = np.concatenate([np.maximum(start, 0), np.maximum(-start, 0)])
    done = minimize(
        objective,
        begin,
        jac=True,
        method="L-BFGS-B",
        bounds=[(0, None)] * (2 * p),
        options={"maxiter": 500, "ftol": 1e-13, "gtol": 1e-7},
    )
    return done.x[:p] - done.x[p:]


def algorithm_1(kind: str, x, y, b, lam: float, floor: float, *, selects: bool = False, rounds: int = 80) -> np.ndarray:
    """Return weights from the last fit, the larger of target and Lambda0; ``b'|theta|`` for a selection."""
    return iterated(kind, x, y, b, lam, floor, selects=selects, rounds=rounds)[0]


def iterated(kind: str, x, y, b, lam: float, floor: float, *, selects: bool = False, rounds: int = 80):
    """Return the last iterate and the weights that it was fitted with."""
    theta, weights = ridge_fit(kind, x, y, b, np.full(16, floor), np.zeros(16), np.zeros(16)), np.full(16, floor)
    for _ in range(rounds - 1):
        before = theta
        weights = np.maximum(lam / (2 * np.maximum(np.abs(theta), 1e-8)), floor)
        sharp = np.maximum(b, 0) if selects else np.zeros(16)
        linear = np.minimum(b, 0) * np.sign(theta) if selects else b
        theta = ridge_fit(kind, x, y, linear, weights, sharp, theta)
        if np.max(np.abs(theta - before)) < 1e-7:
            break
    return np.where(np.abs(theta) < 1e-4, 0.0, theta), weights


def algorithm_2(
    kind: str, x, y, b, lam: float, floor: float, *, epsilon: float, displayed: bool, selects: bool
) -> np.ndarray:
    """Run one pass: what equation 13 gives back of half of epsilon lowers the noise; its modulus is Lambda0."""
    _, weights = iterated(kind, x, y, b, lam, floor, selects=selects)
    counted = weights if displayed else weights[weights > floor * (1 + 1e-9)]
    if not len(counted):
        return iterated(kind, x, y, b, lam, floor, selects=selects)[0]
    share = 1 - floor / (2 * counted.min() if displayed else counted.min())
    smaller = b * (epsilon / 2) / (epsilon / 2 + share * epsilon / 2)
    return iterated(kind, x, y, smaller, lam, float(counted.min()), selects=selects)[0]


def noise(rng, length: float, score: float, epsilon: float, delta: float) -> np.ndarray:
    """Draw the noise of equation 4 at half of epsilon in 16 dimensions."""
    half = epsilon / 2
    if delta:
        return rng.standard_normal(16) * np.sqrt(2 * (half - np.log(delta))) * length * score / half
    direction = rng.standard_normal(16)
    return direction / np.linalg.norm(direction) * rng.gamma(16, length * score / half)


def prediction(seed: int, kind: str, n: int, epsilon: float, delta: float) -> float:
    """Return the test error of NAPP-ERM with MOOR at Lambda = 1."""
    rng = np.random.default_rng((52, seed))
    x, y, length = table4(rng, kind, n)
    score, curvature = (0.5, 1.0) if kind == "linear" else (1.0, 0.25)
    b = noise(rng, length, score, epsilon, delta)
    theta = algorithm_1(kind, x[:n], y[:n], b, 1.0, curvature * length**2 / epsilon)
    return float(np.mean((x[n:] @ theta - y[n:]) ** 2))


def selection(seed: int, epsilon: float, delta: float) -> float:
    """Return the area under the ROC curve of NAPP-VS+ with MOOR, logistic, n = 1000."""
    rng = np.random.default_rng((4, 1, seed))
    x, y, length = table4(rng, "logistic", 1000)
    b = np.abs(noise(rng, length, 1.0, epsilon, delta))
    points = [(0.0, 0.0), (1.0, 1.0)]
    for lam in (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0):
        selected = (
            algorithm_1("logistic", x[:1000], y[:1000], b, lam, 0.25 * length**2 / epsilon, selects=True, rounds=40)
            != 0
        )
        points.append((selected[8:].mean(), selected[:8].mean()))
    points.sort()
    fx, ty = np.asarray(points).T
    ty = np.maximum.accumulate(ty)
    return float(np.sum(np.diff(fx) * (ty[1:] + ty[:-1]) / 2))


def recycled_prediction(seed: int, kind: str, n: int, epsilon: float, delta: float, **how: bool) -> float:
    """Return the test error at Lambda = 1 after one pass of Algorithm 2."""
    rng = np.random.default_rng((53, seed))
    x, y, length = table4(rng, kind, n)
    score, curvature = (0.5, 1.0) if kind == "linear" else (1.0, 0.25)
    b = noise(rng, length, score, epsilon, delta)
    floor = curvature * length**2 / epsilon
    z = x[n:] @ algorithm_2(kind, x[:n], y[:n], b, 1.0, floor, epsilon=epsilon, **how)
    return float(np.mean((z - y[n:]) ** 2) if kind == "linear" else np.mean((z > 0) != (y[n:] > 0.5)))


def recycled_selection(seed: int) -> float:
    """Return the area under the ROC curve of NAPP-VS+, linear, n = 500, epsilon = 1, recycled as displayed."""
    rng = np.random.default_rng((54, seed))
    x, y, length = table4(rng, "linear", 500)
    b = np.abs(noise(rng, length, 0.5, 1.0, 1e-4))
    points = [(0.0, 0.0), (1.0, 1.0)]
    for lam in (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0):
        how = {"epsilon": 1.0, "displayed": True, "selects": True}
        selected = algorithm_2("linear", x[:500], y[:500], b, lam, length**2, **how) != 0
        points.append((selected[8:].mean(), selected[:8].mean()))
    points.sort()
    fx, ty = np.asarray(points).T
    ty = np.maximum.accumulate(ty)
    return float(np.sum(np.diff(fx) * (ty[1:] + ty[:-1]) / 2))


def local_counts(seed: int, p: int, n: int, epsilon: float, *, gaussian: bool) -> float:
    """Return squared relative error of paper C's Algorithm 1 or 2 for counts, pooled with n public rows (Remark 11)."""
    rng, delta = np.random.default_rng((61, seed)), n**-1.1
    truth = np.full(p, p**-0.5)
    if gaussian:
        axes = np.linalg.qr(rng.standard_normal((p, p)))[0]
        x = (rng.standard_normal((2 * n, p)) * np.sqrt(rng.uniform(0, 1, p))) @ axes
    else:
        x = rng.choice([-1.0, 1.0], (2 * n, p)) / p
    own, public = x[:n], x[n:]
    y = rng.poisson(np.exp(own @ truth)).astype(float)
    r2 = 5 * np.linalg.norm(public.T @ public / n, 2) * p * np.log(n / 0.05) if gaussian else 1.0
    inside = np.sum(own**2, axis=1) <= r2
    size = np.sqrt(32 * np.log(2.5 / delta)) / epsilon / np.sqrt(n)
    own, y = own[inside], y[inside]
    gram = own.T @ own / len(own) + symmetric(rng, p, r2 * size)
    cross = own.T @ y / len(own) + np.sqrt(r2) * size * rng.standard_normal(p)
    ols = np.linalg.solve((n * gram + public.T @ public) / (2 * n), cross)
    s = public @ ols

    def gap(c: float) -> float:
        with np.errstate(over="ignore"):
            return min(c * float(np.mean(np.exp(np.minimum(c * s, 700)))), 1e300) - 1

    grid = np.geomspace(1e-6, 1e6, 1200)
    at = next((k for k in range(1, len(grid)) if gap(grid[k]) >= 0), None)
    if at is None:
        return float("inf")
    beta = brentq(gap, grid[at - 1], grid[at], rtol=1e-10) * ols
    order = 2 if gaussian else np.inf
    return float((np.linalg.norm(beta - truth, order) / np.linalg.norm(truth, order)) ** 2)


def figure_d1b() -> bool:
    """Return the elastic net's realized penalty at every coefficient, to rounding."""
    series = {each["name"]: each for each in json.loads((STORED / "D1b.json").read_text())["series"]}
    theta = np.asarray(series["target"]["x"])
    own = 1 / theta + 0.5
    wanted = {
        "target": theta + 0.5 * theta**2,
        "NAPP-ERM": np.maximum(own, 1) * theta**2,
        "DP-ERM": (own + 1) * theta**2,
    }
    same = all(np.allclose(series[name]["mean"], values, rtol=1e-4) for name, values in wanted.items())
    print(
        f"D1b   target, NAPP-ERM, DP-ERM at {len(theta)} coefficients: {'equal' if same else 'DIFFERENT'}", flush=True
    )
    return same


def new(trials: int) -> list[bool]:
    """Recompute the six that were drawn of the new readings."""
    printed, erm, any_b = "as printed, noise for |y| <= 1,", {"selects": False}, {"selects": True}
    few = max(trials // 2, 10)

    def predicted(kind: str, n: int, epsilon: float, delta: float, **how: bool) -> list[float]:
        return [recycled_prediction(s, kind, n, epsilon, delta, **how) for s in range(trials)]

    return [
        beside(
            "C4", f"{printed} eps = 10", 90_000, [local_counts(s, 10, 90_000, 10.0, gaussian=False) for s in range(few)]
        ),
        beside(
            "C2b",
            f"{printed} p = 5, eps = 10",
            200_000,
            [local_counts(s, 5, 200_000, 10.0, gaussian=True) for s in range(few)],
        ),
        beside(
            "D8d", "NAPP-ERM, recycled as displayed", 1.0, predicted("linear", 200, 1.0, 1e-4, displayed=True, **erm)
        ),
        beside(
            "D8b",
            "NAPP-VS, recycled as displayed",
            0.8,
            predicted("logistic", 1000, 0.8, 1e-4, displayed=True, **any_b),
        ),
        beside("DS4c", "NAPP-ERM, recycled", 1.0, predicted("linear", 200, 1.0, 0.0, displayed=False, **erm)),
        beside("D8c", "NAPP-VS+, recycled as displayed", 1.0, [recycled_selection(s) for s in range(few)]),
    ]


def main() -> int:
    """Recompute and print; fail where an interval does not overlap the stored one."""
    numbers = [word for word in sys.argv[1:] if word != "new"]
    trials = int(numbers[0]) if numbers else 30
    if "new" in sys.argv[1:]:
        agree = new(trials)
        print(f"{sum(agree)} of {len(agree)} agree")
        return 0 if all(agree) else 1
    agree = [
        figure_d1b(),
        figure_a7(trials),
        beside("DS2b", "NAPP-ERM with MOOR", 0.8, [prediction(s, "linear", 500, 0.8, 0.0) for s in range(trials)]),
        beside("D8d", "NAPP-ERM", 1.0, [prediction(s, "linear", 200, 1.0, 1e-4) for s in range(trials)]),
        beside("D4", "NAPP-VS+ with MOOR", 1.0, [selection(s, 1.0, 1e-4) for s in range(max(trials // 3, 8))]),
        figure_a9(max(trials // 3, 8)),
    ]
    print(f"{sum(agree)} of {len(agree)} agree")
    return 0 if all(agree) else 1


if __name__ == "__main__":
    sys.exit(main())
