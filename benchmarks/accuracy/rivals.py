"""Rivals that use the public rows: noisy gradient descent started at their fit, or preconditioned by them.

Both clip gradients in length at the median of the public ones and spend mu in equal parts on their steps; full batches,
so that no subsampling has to be accounted for. Learning rates are what the public Hessian says is stable.
"""

from __future__ import annotations

import numpy as np

from pmtcore.mechanisms.truncation import length_weights
from pmtcore.public.moments import PublicData

STEPS = 20


def descent(
    public: PublicData, x: np.ndarray, y: np.ndarray, mu: float, trials: int, seed: int, preconditioned: bool
) -> np.ndarray:
    """Coefficients (trials, d) for private rows (n, d), (n,).

    Args:
        preconditioned: in coordinates that whiten the public rows and from 0; else in units of the columns' public root
            mean square and from the public fit.
    """
    if public.rows is None:
        raise ValueError("public rows are needed")
    d, n, family = public.d, len(y), public.family
    size = np.sqrt(np.mean(public.rows[:, :-1] ** 2, axis=0))
    root = public.feature_root if preconditioned else np.diag(size)
    inverse = np.linalg.inv(root).T  # coefficients of the table = inverse @ whitened ones
    mine, theirs = x @ inverse, public.rows[:, :-1] @ inverse
    start = np.zeros(d) if preconditioned else root.T @ public.fit
    residual = public.rows[:, -1] - family.mean(theirs @ (root.T @ public.fit))
    clip = float(np.median(np.linalg.norm(theirs, axis=1) * np.abs(residual))) or 1.0
    slope = family.slope(theirs @ (root.T @ public.fit))
    free = np.ones(d)
    free[0] = 0.0 if public.has_intercept else 1.0
    ridge = public.lam * inverse.T @ np.diag(free) @ inverse
    rate = 1 / float(np.linalg.eigvalsh((theirs * slope[:, None]).T @ theirs / len(theirs) + ridge)[-1])
    rng, points = np.random.default_rng(seed), np.tile(start, (trials, 1))
    norms = np.linalg.norm(mine, axis=1)[:, None]
    for _ in range(STEPS):
        r = y[:, None] - family.mean(mine @ points.T)
        gradient = (length_weights(norms * np.abs(r), clip) * r).T @ mine / n - points @ ridge
        points = points + rate * (gradient + 2 * clip * np.sqrt(STEPS) / (mu * n) * rng.standard_normal(points.shape))
    return points @ inverse.T
