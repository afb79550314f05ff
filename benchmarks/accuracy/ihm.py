"""Iterative Hessian Mixing (Lev, Shenfeld, Srinivasan, Ligett, Wilson 2026, arXiv 2601.07545), as a peer.

Rows no longer than 1, responses within C. Each of T steps mixes the rows with a Gaussian sketch of k rows and noise of
variance gamma, ``H = Z'Z/k``, ``Z = S X + sqrt(gamma) N``, and takes ``theta + H^{-1} (X' clip(y - X theta) + g)``. The
sketches have the Renyi divergence of the Gaussian mixing mechanism, half of epsilon; a released lower bound on the
data's smallest eigenvalue is subtracted from gamma; the gradients have the other half. Its relation is add-remove-one,
half as strict as replace-one at the same (epsilon, delta), which is an advantage.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from pmtcore.accounting.budgets import mu_from_epsilon

STEPS = 3
_SKETCH = 6.0


def sketch_epsilon(gamma: float, k: int, delta: float, steps: int) -> float:
    """Return the epsilon at delta of the sketches and of the released eigenvalue."""

    def at(alpha: float) -> float:
        if not 1 < alpha < gamma:
            return math.inf
        renyi = k / (2 * (alpha - 1)) * (alpha * math.log1p(-1 / gamma) - math.log1p(-alpha / gamma))
        conversion = (math.log(1 / delta) + (alpha - 1) * math.log1p(-1 / alpha) - math.log(alpha)) / (alpha - 1)
        return steps * renyi + conversion

    best = minimize_scalar(at, bounds=(1 + 1e-5, gamma - 1e-5), method="bounded").fun
    return float(best) + math.sqrt(2 * math.log(1.25 / delta)) * math.sqrt(k) / gamma


def least(enough: Callable[[float], bool], low: float, high: float) -> float:
    """Return the least value that is enough, to a thousandth."""
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def fit(x: np.ndarray, y: np.ndarray, epsilon: float, delta: float, trials: int, seed: int) -> np.ndarray:
    """Return coefficients (trials, d); rows and responses are scaled by the largest, an advantage."""
    longest, largest = float(np.max(np.linalg.norm(x, axis=1))), float(np.max(np.abs(y)))
    x, y = x / longest, y / largest
    d = x.shape[1]
    failure = delta / 10
    k = int(max(_SKETCH * d, _SKETCH * math.log(4 * STEPS / failure)))
    share = 0.75 * delta / 3
    gamma = least(lambda value: sketch_epsilon(value, k, share, STEPS) < epsilon / 2, 2.0, 1e9)
    noise = math.sqrt(STEPS) / mu_from_epsilon(epsilon / 2, delta / 4)
    tau = math.sqrt(2 * math.log(max(4 / delta, 4 / failure)))
    rng = np.random.default_rng(seed)
    own = float(np.linalg.eigvalsh(x.T @ x)[0])
    estimates = np.zeros((trials, d))
    root = np.linalg.cholesky(x.T @ x + 1e-12 * np.eye(d))
    for trial in range(trials):
        free = max(0.0, own - gamma / math.sqrt(k) * (tau - rng.standard_normal()))
        extra = math.sqrt(max(0.0, gamma - free))
        for _ in range(STEPS):
            # S X has rows N(0, X'X): drawn directly, without the k x n sketch
            mixed = rng.standard_normal((k, d)) @ root.T + extra * rng.standard_normal((k, d))
            residual = np.clip(y - x @ estimates[trial], -1.0, 1.0)
            push = x.T @ residual + noise * rng.standard_normal(d)
            estimates[trial] += np.linalg.solve(mixed.T @ mixed / k, push)
    return estimates * largest / longest
