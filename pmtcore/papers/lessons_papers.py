"""Guided demonstrations of the papers' other ideas: noisy Newton, perturbed objectives, MOOR, response scale, bounds.

As in ``lessons``: synthetic and seeded, nothing is a release.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.special import expit

from pmtcore.accounting.perturbed import least_modulus, noise_sd
from pmtcore.glm.augment import Target
from pmtcore.mechanisms.noise import SeededNoise, symmetric_noise
from pmtcore.papers.lessons_methods import LessonCurve
from pmtcore.papers.theory import Bound, TheorySetting, bounds

_N, _D = 4000, 3  # rows and columns at which the noise of the lesson's budgets is visible
_NEEDLE = np.array([1.0, 0.3, 0.1])  # standard deviations of the columns
_MOST_STEPS = 12  # Newton steps: without noise the fit has converged after six
_TRIALS = 15  # trials, whose medians are precise enough for a chart
_CLOSE = 1.2  # ratio to the least median error up to which errors count as equal
_ETA = 0.05  # of the papers' radius
_BOUND = "A, Theorem 3.3, equation 2"


@cache
def _labelled() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return whitened rows (n, d), labels, and the fit without privacy."""
    rng = np.random.default_rng(41)
    rows = rng.standard_normal((_N, _D))
    labels = (rng.random(_N) < expit(rows @ np.array([1.0, -0.5, 0.5]))).astype(float)
    beta = np.zeros((1, _D))
    for _ in range(20):
        beta = _newton(rows, labels, beta, np.zeros((1, _D, _D)), push=np.zeros((1, _D)))
    return rows, labels, beta[0]


def _newton(x: np.ndarray, y: np.ndarray, beta: np.ndarray, more: np.ndarray, *, push: np.ndarray) -> np.ndarray:
    """Compute a step (t, d) with noise on Hessian (t, d, d) and gradient (t, d)."""
    p = expit(x @ beta.T)
    hessian = np.einsum("nt,ni,nj->tij", p * (1 - p), x, x, optimize=True) / len(x) + more
    gradient = (p - y[:, None]).T @ x / len(x) + push
    return np.asarray(beta - np.linalg.solve(hessian, gradient[..., None])[..., 0])


def newton(mu: float, steps: int) -> LessonCurve:
    """Compute the median error of T noisy Newton steps along T, as rows are and whitened (A, Algorithm 3)."""
    counts = np.arange(1, _MOST_STEPS + 1)
    whitened, plain = (np.asarray([_newton_error(mu, int(t), white) for t in counts]) for white in (True, False))
    # So few trials cannot distinguish errors within that ratio.
    best, here = int(counts[whitened <= _CLOSE * whitened.min()][0]), float(whitened[steps - 1])
    word = (
        "Every step is paid for: " if steps > best else "Fewer steps leave the fit on its way: " if steps < best else ""
    )
    sentence = (
        f"{word}{steps} step{'s' * (steps > 1)} at mu = {mu:g} together end {here:.2g} off, about {best} would be best "
        f"here ({float(whitened.min()):.2g}); without whitening {float(plain[steps - 1]):.2g}."
    )
    curves = {"whitened": whitened, "as the rows are": plain}
    return LessonCurve(counts.astype(float), curves, float(steps), sentence)


@cache
def _newton_error(mu: float, steps: int, white: bool) -> float:
    rows, labels, best = _labelled()
    units = np.ones(_D) if white else _NEEDLE
    x, target = rows * units, best / units
    square = _D * (1 + math.log(2 * _N / _ETA)) if white else float(np.sum(units**2)) + _D * math.log(_N / _ETA)
    part = math.sqrt(2 * steps) / (mu * _N)  # two mechanisms a step
    source, beta = SeededNoise(42, steps, int(white)), np.zeros((_TRIALS, _D))
    for _ in range(steps):
        more = part * square / 2 * symmetric_noise(source, _TRIALS, _D, "papers")
        beta = _newton(x, labels, beta, more, push=2 * part * math.sqrt(square) * source.normal(_TRIALS, _D))
    return float(np.median(np.linalg.norm((beta - target) * units, axis=1)))


def objective(mu: float, times: float) -> LessonCurve:
    """Compute the effect of noise and ridge on a perturbed logistic fit, along the ridge over the least private one."""
    radius, rows, size, columns, curvature = 3.0, 5000, 1.0, 5, 0.2
    noise = noise_sd(radius, mu)
    least = least_modulus(noise)
    along = np.geomspace(1.0, 300.0, 60)

    def parts(at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        penalized = rows * curvature + at * least
        return noise * math.sqrt(columns) / penalized, at * least * size / penalized

    moved, pulled = parts(along)
    one, two = (float(part) for part in parts(np.asarray(times)))
    sentence = (
        f"One draw of noise moves the fit by {one:.2g}; the ridge of {times * least:.3g} pulls it by {two:.2g}. With "
        f"a ridge of at least {least:.3g} the change of variables costs nothing; with less the guarantee is gone."
    )
    both = np.hypot(moved, pulled)
    return LessonCurve(along, {"noise": moved, "pull of the ridge": pulled, "both": both}, times, sentence)


def moor(lam: float, floor: float) -> LessonCurve:
    """Compute the realized penalty along a coefficient: lasso wanted, the larger of two weights, their sum (D, 3.3)."""
    theta = np.linspace(0.01, 1.99, 100)  # midpoints of cells of (0, 2), so that means approximate integrals
    weights = [
        Target(kind="lasso", lam=lam, floor=floor, moor=moor, printed=True).weights(theta[None])[0]
        for moor in (True, False)
    ]
    larger, both = (weight * theta**2 for weight in weights)
    wanted, turn = lam * theta, lam / floor
    extra = [float(np.mean(values - wanted)) for values in (larger, both)]
    if turn >= 2.0:
        sentence = (
            f"With MOOR the lasso itself is curved enough up to a coefficient of {turn:.2g}: nothing is added here. "
            f"The sum of both adds {extra[1]:.2g} on average over 0 to 2."
        )
    else:
        sentence = (
            f"Up to a coefficient of {turn:.2g} the lasso is curved enough, and MOOR adds nothing; beyond, the ridge "
            f"takes over. On average over 0 to 2 it adds {extra[0]:.2g}, the sum of both {extra[1]:.2g}."
        )
    return LessonCurve(theta, {"lasso wanted": wanted, "with MOOR": larger, "without": both}, min(turn, 2.0), sentence)


def response_scale(chosen: float, ratio: float) -> LessonCurve:
    """Compute the noise on cross moment and Gram matrix along the response scale c, each over its minimum.

    Args:
        ratio: length of a row over that of its response, ``Rx/Rr``.
    """
    along = np.geomspace(0.1, 30.0, 80)

    def cross(c: np.ndarray) -> np.ndarray:
        return np.asarray((ratio**2 + c**2) / (2 * c * ratio))

    def gram(c: np.ndarray) -> np.ndarray:
        return np.asarray((ratio**2 + c**2) / ratio**2)

    one, two = float(cross(np.asarray(chosen))), float(gram(np.asarray(chosen)))
    words = "the price of releasing it alone, and the Gram matrix rides free" if one < 1.02 else "what it could be"
    sentence = (
        f"At c = {chosen:g} the noise on the cross moment is {one:.3g} times {words}; that on the Gram matrix is "
        f"{two:.3g} times that without a response. The least for the cross moment is at c = Rx/Rr = {ratio:g}."
    )
    curves = {"noise on the cross moment": cross(along), "noise on the Gram matrix": gram(along)}
    return LessonCurve(along, curves, chosen, sentence)


def looseness(d: int, n: int) -> LessonCurve:
    """Compute the error of the inverse whitened moment along n, proved and measured (A, Theorem 3.3)."""
    sizes = np.geomspace(3000, 1e6, 9).astype(int)
    inverse_bounds = [_inverse_bound(d, int(size)) for size in sizes]
    here = _inverse_bound(d, n)
    curves = {
        "proved": np.asarray([b.bound for b in inverse_bounds]),
        "measured": np.asarray([b.measured for b in inverse_bounds]),
    }
    return LessonCurve(
        sizes.astype(float), curves, float(n), f"With {n:,} rows the bound {here.verdict[0].lower()}{here.verdict[1:]}"
    )


@cache
def _inverse_bound(d: int, n: int) -> Bound:
    return next(bound for bound in bounds(TheorySetting(d=d, n=n), 60) if bound.source == _BOUND)
