"""What paper A proves of logistic regression in numbers (Lemmas 5.1, 5.2, Theorems 5.3 to 5.5), and what is measured.

Rows and constants as in :mod:`pmtcore.papers.theory`: Gaussian, nothing truncated, what a paper leaves open taken as 1.
Coefficients have the length at which ``x'beta`` has standard deviation 1, so that labels are not all certain.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import expit

from pmtcore.glm.families import LOGISTIC, POISSON, Family
from pmtcore.mechanisms.noise import SeededNoise, symmetric_noise
from pmtcore.mechanisms.truncation import papers_radius, trace_radius
from pmtcore.papers.theory import Bound, TheorySetting, isotropy, logs, shrunk

_STEPS = 6  # of Newton's method: of order log log n, and still by then
_REACH = 1.0  # R_beta R: predictors of Theorem 5.5 lie within it
_COUNTS = 5.0  # R_y: counts above it are clipped, one in 1,700 at mean 1
_PAIRS = 30  # of coefficients, for the Lipschitz constant


@dataclass(frozen=True)
class _Problem:
    """One draw: rows, labels, public moment, in whitened coordinates or as they are."""

    rows: np.ndarray  # (n, d)
    labels: np.ndarray
    penalty: np.ndarray  # (d, d)
    family: Family = LOGISTIC

    def mean(self, beta: np.ndarray) -> np.ndarray:
        return np.asarray(self.family.mean(self.rows @ beta))

    def gradient(self, beta: np.ndarray) -> np.ndarray:
        return np.asarray(self.rows.T @ (self.mean(beta) - self.labels) / len(self.rows) + self.penalty @ beta)

    def hessian(self, beta: np.ndarray) -> np.ndarray:
        slope = self.family.slope(self.rows @ beta)
        return np.asarray((self.rows * slope[:, None]).T @ self.rows / len(self.rows) + self.penalty)

    def fit(self) -> np.ndarray:
        beta = np.zeros(self.rows.shape[1])
        for _ in range(30):
            beta = beta - np.linalg.solve(self.hessian(beta), self.gradient(beta))
        return beta

    def noisy(self, one: float, two: float, source: SeededNoise) -> np.ndarray:
        """Run Algorithms 3 and 5: T steps from 0 with noise on Hessian and gradient."""
        d = self.rows.shape[1]
        beta = np.zeros(d)
        for _ in range(_STEPS):
            noisy_hessian = self.hessian(beta) + one * symmetric_noise(source, 1, d, "papers")[0]
            beta = beta - np.linalg.solve(noisy_hessian, self.gradient(beta) + two * source.normal(1, d)[0])
        return beta


def label_bounds(at: TheorySetting, trials: int = 20, seed: int = 0) -> tuple[Bound, ...]:
    """Compute the bounds of A, section 5. Rows are drawn, so n is at most 20,000, with the same ``mu n``."""
    if at.n > 20_000:
        at = replace(at, n=20_000, mu=at.mu * at.n / 20_000)
    measured = [_one(at, np.random.default_rng((seed, k)), SeededNoise(seed, k)) for k in range(trials)]
    return tuple(_stated(at, {name: np.asarray([each[name] for each in measured]) for name in measured[0]}))


def _one(at: TheorySetting, rng: np.random.Generator, source: SeededNoise) -> dict[str, float]:
    root = np.sqrt(at.spectrum)
    beta = rng.standard_normal(at.d) / root
    beta /= np.linalg.norm(root * beta)
    x = rng.standard_normal((at.n, at.d)) * root
    y = (rng.random(at.n) < expit(x @ beta)).astype(float)
    public = rng.standard_normal((at.m, at.d)) * root
    values, vectors = np.linalg.eigh(public.T @ public / at.m)
    white = (vectors / np.sqrt(values)) @ vectors.T
    plain = _Problem(x, y, at.lam * np.eye(at.d))
    whitened = _Problem(x @ white, y, at.lam * white @ white)
    one, two = _noise(at, papers_radius(at.d, at.n, at.eta))
    three, four = _noise(at, trace_radius(float(at.spectrum.sum()), at.d, at.n, 2 * at.eta))
    best, original = whitened.fit(), plain.fit()
    moment = whitened.rows.T @ whitened.rows / at.n
    lipschitz = 0.0
    for _ in range(_PAIRS):
        step = rng.standard_normal(at.d)
        step *= 0.1 / np.linalg.norm(step)
        moved = whitened.hessian(best + step) - whitened.hessian(best)
        lipschitz = max(lipschitz, float(np.linalg.norm(moved, 2)) / 0.1)
    curvature = float(np.linalg.eigvalsh(whitened.hessian(best))[0])
    flat = float(np.linalg.eigvalsh(plain.hessian(original))[0])
    least = [float(np.linalg.eigvalsh(gram)[0]) for gram in (moment, x.T @ x / at.n)]
    return {
        "curvature": curvature,
        "plain curvature": flat,
        "tau": min((curvature - at.lam / float(values[-1])) / least[0], (flat - at.lam) / least[1]),
        "longest": float(np.max(np.linalg.norm(whitened.rows, axis=1))),
        "lipschitz": lipschitz,
        "error": float(np.linalg.norm(whitened.noisy(one, two, source) - best)),
        "plain error": float(np.linalg.norm(plain.noisy(three, four, source) - original)),
        "top": float(values[-1]),
        **_counts(at, rng, source, white, x=x),
    }


def _counts(
    at: TheorySetting, rng: np.random.Generator, source: SeededNoise, white: np.ndarray, *, x: np.ndarray
) -> dict[str, float]:
    """Run Algorithm 4 on Poisson counts, with its own noise: the slopes of ``e^z`` within ``|z| <= R_beta R``."""
    radius = papers_radius(at.d, at.n, at.eta)
    rows = x @ white
    beta = rng.standard_normal(at.d)
    beta *= _REACH / (2 * radius * np.linalg.norm(beta))
    counts = np.minimum(rng.poisson(np.exp(rows @ beta)), _COUNTS).astype(float)
    problem = _Problem(rows, counts, at.lam * white @ white, POISSON)
    best, steepest = problem.fit(), math.exp(_REACH)
    part = 2 * math.sqrt(_STEPS) / (at.mu * at.n)
    noisy_fit = problem.noisy(part * radius**2 * steepest, part * radius * (_COUNTS + steepest), source)
    least = float(np.linalg.eigvalsh(rows.T @ rows / at.n)[0])
    return {
        "count error": float(np.linalg.norm(noisy_fit - best)),
        "count tau": (float(np.linalg.eigvalsh(problem.hessian(best))[0]) - at.lam / _top(white)) / least,
    }


def _top(white: np.ndarray) -> float:
    """Return the largest eigenvalue of the public moment, whose inverse root this is."""
    return float(np.linalg.eigvalsh(white)[0]) ** -2


def _noise(at: TheorySetting, radius: float) -> tuple[float, float]:
    """Return ``sqrt(T) R^2/(2 mu n)`` and ``2 sqrt(T) R/(mu n)`` (E1)."""
    part = math.sqrt(_STEPS) / (at.mu * at.n)
    return part * radius**2 / 2, 2 * part * radius


def _stated(at: TheorySetting, measured: dict[str, np.ndarray]) -> Iterator[Bound]:
    def high(name: str) -> float:
        return float(np.quantile(measured[name], 1 - at.eta))

    def low(name: str) -> float:
        return float(np.quantile(measured[name], at.eta))

    tau, top = float(np.median(measured["tau"])), float(np.median(measured["top"]))
    whitened = tau * isotropy(at.d, at.m, at.eta)[0] * shrunk(at) + at.lam / top
    plain = tau * float(at.spectrum[0]) * shrunk(at) + at.lam
    words = "smallest eigenvalue of the Hessian"
    yield Bound("A, Lemma 5.1", f"{words}, whitened", whitened, low("curvature"), lower=True)
    yield Bound("A, Lemma 5.1", f"{words}, rows as they are", plain, low("plain curvature"), lower=True)
    radius = papers_radius(at.d, at.n, at.eta)
    yield Bound("A, Corollary 3.1; B, Corollary 2", "length of the longest whitened row", radius, high("longest"))
    constant = (at.d * (1 + math.log(at.n / at.eta))) ** 1.5 / (6 * math.sqrt(3))
    yield Bound("A, Lemma 5.2", "Lipschitz constant of the Hessian, whitened", constant, high("lipschitz"))
    rate = math.sqrt(_STEPS * at.d**3 * math.log(2 * _STEPS * at.d / at.eta)) / (at.mu * at.n)
    whitened_log, plain_log = logs(at)
    for source, what, size, modulus, name in (
        ("A, Theorem 5.3", "error of whitened noisy Newton steps", rate * whitened_log, whitened, "error"),
        ("A, Theorem 5.4", "error of noisy Newton steps on rows as they are", rate * plain_log, plain, "plain error"),
    ):
        yield Bound(source, what, size / modulus**2, high(name), open=True, condition=size / modulus)
    # Theorem 5.5: M'' = max b'' stands in the condition, and not in the bound, as it is printed.
    modulus = float(np.median(measured["count tau"])) * isotropy(at.d, at.m, at.eta)[0] * shrunk(at) + at.lam / top
    words, size = "error of whitened noisy Newton steps, Poisson counts", rate * whitened_log
    bound, condition = size / modulus**2, size * math.exp(_REACH) / modulus
    yield Bound("A, Theorem 5.5", words, bound, high("count error"), open=True, condition=condition)
