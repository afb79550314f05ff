"""Rivals that use the public rows: noisy gradient descent started at their fit, preconditioned by them or not.

Both clip gradients in length at the median of the public ones and spend mu in equal parts on their steps; full batches,
so that no subsampling has to be accounted for. Learning rates are the largest stable ones by the public Hessian.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from pmtcore.mechanisms.truncation import length_weights
from pmtcore.public.moments import PublicData

STEPS = 20


def descent(
    public: PublicData, x: np.ndarray, y: np.ndarray, mu: float, trials: int, seed: int, preconditioned: bool
) -> np.ndarray:
    """Return coefficients (trials, d) for private rows (n, d), (n,).

    Args:
        preconditioned: in coordinates that whiten the public rows; else in units of their columns' root mean square.
    """
    if public.rows is None:
        raise ValueError("public rows are needed")
    d, n, family = public.d, len(y), public.family
    size = np.sqrt(np.mean(public.rows[:, :-1] ** 2, axis=0))
    root = public.feature_root if preconditioned else np.diag(size)
    inverse = np.linalg.inv(root).T  # coefficients of the table = inverse @ whitened ones
    private_rows, theirs = x @ inverse, public.rows[:, :-1] @ inverse
    start = root.T @ public.coefficients
    residual = public.rows[:, -1] - family.mean(theirs @ (root.T @ public.coefficients))
    clip = float(np.median(np.linalg.norm(theirs, axis=1) * np.abs(residual))) or 1.0
    slope = family.slope(theirs @ (root.T @ public.coefficients))
    free = np.ones(d)
    free[0] = 0.0 if public.has_intercept else 1.0
    ridge = public.lam * inverse.T @ np.diag(free) @ inverse
    rate = 1 / float(np.linalg.eigvalsh((theirs * slope[:, None]).T @ theirs / len(theirs) + ridge)[-1])
    rng, points = np.random.default_rng(seed), np.tile(start, (trials, 1))
    norms = np.linalg.norm(private_rows, axis=1)[:, None]
    for _ in range(STEPS):
        r = y[:, None] - family.mean(private_rows @ points.T)
        gradient = (length_weights(norms * np.abs(r), clip) * r).T @ private_rows / n - points @ ridge
        points = points + rate * (gradient + 2 * clip * np.sqrt(STEPS) / (mu * n) * rng.standard_normal(points.shape))
    return points @ inverse.T


def diffprivlib(
    x: np.ndarray, y: np.ndarray, epsilon: float, trials: int, labels: bool, lam: float
) -> np.ndarray | None:
    """Return coefficients (trials, d) from the environment that PMT_PEERS names; ``None`` without one.

    Its guarantee is pure: it gets the epsilon that this mu has at delta = 1/n^2, though it needs no delta.
    """
    python = os.environ.get("PMT_PEERS")
    if not python:
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "in.npz", Path(folder) / "out.npy"
        weight = 1 / (lam * len(y)) if lam else 1e6
        np.savez(source, x=x, y=y, epsilon=epsilon, trials=trials, labels=labels, C=weight)
        subprocess.run([python, str(Path(__file__).with_name("peer.py")), str(source), str(target)], check=True)
        return np.asarray(np.load(target))


def best_gradient(
    public: PublicData,
    x: np.ndarray,
    y: np.ndarray,
    mu: float,
    exact: np.ndarray,
    *,
    metric: np.ndarray,
    clipped_slope: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the bias (d,) of a step by one clipped gradient with all of mu at the private fit, and its noise (d, d).

    The noise is the factor of a standard normal vector. Rows are whitened by their own moment, and of 24 bounds the one
    is taken whose squared bias and noise together are least. No Gaussian release of d clipped numbers can do what this
    one knows; public rows help below it at small budgets.

    Args:
        metric: (d, d), in which errors are squared.
        clipped_slope: whether the step has the slope of the clipped gradient, to which clipped rows contribute nothing;
            else the whole Hessian, which only who knows the private fit can take there.
    """
    n, family = len(y), public.family
    root = np.linalg.cholesky(x.T @ x / n + 1e-12 * np.eye(public.d))
    z = np.linalg.solve(root, x.T).T
    fitted = x @ exact
    residual, slope = y - family.mean(fitted), family.slope(fitted)
    free = np.ones(public.d)
    free[0] = 0.0 if public.has_intercept else 1.0
    v = z * residual[:, None]
    lengths = np.linalg.norm(v, axis=1)
    steps: list[tuple[float, np.ndarray, np.ndarray]] = []
    for bound in np.quantile(lengths, np.append(np.linspace(0.3, 0.98, 12), np.linspace(0.99, 1.0, 12))):
        weights = slope * (lengths <= bound) if clipped_slope else slope
        hessian = (x * weights[:, None]).T @ x / n + public.lam * np.diag(free)
        if np.linalg.matrix_rank(hessian) < public.d:
            continue
        solve = np.linalg.inv(hessian) @ root  # from whitened gradients to coefficients
        bias = -solve @ (v.T @ (1 - length_weights(lengths, bound))) / n
        scale = 2 * bound / (mu * n) * solve
        steps.append((float(bias @ metric @ bias + np.sum(scale * (metric @ scale))), bias, scale))
    return min(steps, key=lambda step: step[0])[1:]
