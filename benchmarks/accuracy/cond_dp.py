"""Cond-DP (Jiang, Krichene, Mayoraz 2026, arXiv 2606.18773), as a peer; written from a summary of the paper.

Noisy full-batch gradient descent on least squares, from zero, in coordinates that the features of the private rows
themselves whiten: ``z = C x``, ``C = V S^{-1} V'`` by the singular value decomposition of the features. Each row's
gradient is clipped in length, and each of T steps has the budget ``mu/sqrt(T)``. The Hessian is the identity there, so
the learning rate is 1. **It protects the responses alone**: the features are public, so C is exact.

Its advantages: the noise is that for adding or removing a row, as in the authors' program, half of what replacing a
response needs (``cond-dp-replace`` in zoo.py has the latter: Cond-DP at half of mu). The paper tunes without privacy,
and so it is here: the clip, T and the output (the last iterate, as in that program; the mean of all, as in the theory;
the mean of the later half) are those of least true error in releases of their own, and the range of clips comes from
the private rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

# Numbers of steps, each tried with every clip.
STEPS = (1, 2, 4, 8, 16, 32, 64, 128)
CLIPS = 8
# Releases by whose errors clip, steps and output are chosen.
TUNING = 4
# Singular values below this share of the largest count as zero.
_FLAT = 1e-10


def fit(x: np.ndarray, y: np.ndarray, mu: float, trials: int, seed: int) -> np.ndarray:
    """Return coefficients (trials, d)."""
    n = len(y)
    u, singular, v = np.linalg.svd(x, full_matrices=False)
    nonzero = singular > _FLAT * singular[0]
    z = math.sqrt(n) * u[:, nonzero]
    exact = z.T @ y / n
    tried, rng = clips(z, y, exact), np.random.default_rng(seed)
    nearest, least = np.zeros((len(exact), trials)), math.inf
    for steps in STEPS:
        noise = rng.standard_normal((steps, len(exact), TUNING + trials)) * math.sqrt(steps) / (mu * n)
        for points in outputs(z, y, tried, noise):
            errors = np.sum((points[..., :TUNING] - exact[:, None, None]) ** 2, axis=(0, 2))
            best = int(np.argmin(errors))
            if errors[best] < least:
                nearest, least = points[:, best, TUNING:], float(errors[best])
    return np.asarray((math.sqrt(n) * (v[nonzero].T / singular[nonzero]) @ nearest).T)


def clips(z: np.ndarray, y: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Return clips (CLIPS,) from twice the median length of a gradient at the fit to the longest one at zero."""
    norms = np.linalg.norm(z, axis=1)
    longest = float(np.max(norms * np.abs(y)))
    median = float(np.median(norms * np.abs(y - z @ exact)))
    return np.geomspace(min(max(2 * median, 1e-6 * longest), longest), longest, CLIPS)


def outputs(z: np.ndarray, y: np.ndarray, tried: np.ndarray, noise: np.ndarray) -> Iterator[np.ndarray]:
    """Yield what descent may output (d, clips, trials): its last iterate, the mean of all, that of the later half.

    Args:
        z: whitened rows (n, d), with the identity as their Gram matrix over n.
        y: responses (n,).
        tried: clips (c,).
        noise: (steps, d, trials), for a clip of 1.
    """
    (n, d), (steps, _, trials) = z.shape, noise.shape
    clip = np.repeat(tried, trials)
    bounds = clip / np.maximum(np.linalg.norm(z, axis=1), 1e-300)[:, None]
    points = np.zeros((steps + 1, d, len(clip)))
    for step in range(steps):
        # A gradient is a row times its residual: clipped in length, it has a clipped residual.
        residual = np.clip(y[:, None] - z @ points[step], -bounds, bounds)
        points[step + 1] = points[step] + z.T @ residual / n + clip * np.tile(noise[step], len(tried))
    for chosen in (points[-1:], points[1:], points[1 + steps // 2 :]):
        yield chosen.mean(axis=0).reshape(d, len(tried), trials)
