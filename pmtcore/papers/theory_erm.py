"""What paper D proves in numbers: Corollary 5, Lemma 7 and Theorem 8, beside what is needed or measured.

The risk bounds are held against fits of Table 4's logistic setting with a lasso target, in the limit of many augmented
rows; constants that the paper leaves open are taken as 1.
"""

from __future__ import annotations

import math

import numpy as np

from pmtcore.accounting.budgets import Neighbours
from pmtcore.accounting.perturbed import ObjectiveConstants, equation_4, noise_for
from pmtcore.glm.augment import Target, iterate
from pmtcore.glm.losses import LOGISTIC
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.perturbed import draw
from pmtcore.mechanisms.truncation import truncate_within
from pmtcore.papers.gallery.erm import Draw, table4
from pmtcore.papers.theory import Bound

_SHARE = 0.5  # r of D, in all its experiments
_ODDS = 0.05  # pi of Theorem 8
_DELTA = 1e-3  # D, Table 4


def corollary_5(gradient: float, epsilon: float, delta: float) -> float:
    """Return D, equation 12: the least sd of Gaussian noise by the paper's proof, with half of epsilon for the noise.

    Args:
        gradient: ``zeta1 zeta2``.
        epsilon: total budget.
        delta: of the guarantee.
    """
    tail = -2 * math.log(delta)
    return gradient * (math.sqrt(tail + epsilon) + math.sqrt(tail)) / epsilon


def noise_bounds(epsilon: float, delta: float) -> tuple[Bound, ...]:
    """Compare the standard deviations that D prints with the least that keep the noise's half of epsilon (labels)."""
    terms = ObjectiveConstants(LOGISTIC, 1.0, 1.0)
    least = noise_for(terms, _SHARE * epsilon, delta, Neighbours.ADD_REMOVE_ONE, free_jacobian=False).scale
    words = "standard deviation of the Gaussian noise, against the least that is private"
    return (
        Bound("D, equation 4", words, equation_4(terms, _SHARE * epsilon, delta).scale, least),
        Bound("D, Corollary 5", words, corollary_5(terms.gradient, epsilon, delta), least),
        Bound(
            "D, Corollary 5, simplified",
            words,
            2 * terms.gradient * math.sqrt(-2 * math.log(delta) + epsilon) / epsilon,
            least,
        ),
    )


def risk_bounds(
    epsilon: float = 1.0, lam: float = 1.0, n: int = 1000, trials: int = 60, *, seed: int = 0
) -> tuple[Bound, ...]:
    """Compare the excess of the penalized mean loss with Lemma 7, at each draw, and Theorem 8 (B1 and B2), in the mean.

    Args:
        epsilon: total budget.
        lam: the lasso's Lambda.
        n: rows of Table 4's setting.
        trials: draws of the noise.
        seed: of the table and the noise.
    """
    drawn = table4(seed, "logistic", n)
    p, gradient = drawn.x.shape[1], _terms(drawn, epsilon).gradient
    noise, budget = gradient / (_SHARE * epsilon), _SHARE * epsilon
    pure = (p * noise * math.log(p / _ODDS)) ** 2 / n
    gaussian = 4 * p * noise**2 * (budget + math.log(2 / _DELTA)) * math.log(1 / _ODDS) / n
    excess, lemma_7, factor = _excess(drawn, epsilon, 0.0, lam, trials=trials, seed=seed)
    gaussian_excess, _, gaussian_factor = _excess(drawn, epsilon, _DELTA, lam, trials=trials, seed=seed)
    worst = float(np.max(excess / np.maximum(lemma_7, 1e-300)))
    mean, gaussian_mean = float(np.mean(excess)), float(np.mean(gaussian_excess))
    words = "excess risk over its bound for the same draw, at the worst of the draws"
    return (
        Bound("D, Lemma 7", words, 1.0, worst),
        Bound("D, Theorem 8", "mean excess risk", pure * factor, mean, open=True),
        Bound("D, Theorem 8, Gaussian", "mean excess risk", gaussian * gaussian_factor, gaussian_mean, open=True),
    )


def _terms(drawn: Draw, epsilon: float) -> ObjectiveConstants:
    return ObjectiveConstants(LOGISTIC, drawn.longest, LOGISTIC.curvature * drawn.longest**2 / ((1 - _SHARE) * epsilon))


def _excess(
    drawn: Draw, epsilon: float, delta: float, lam: float, *, trials: int, seed: int
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return excess risk (t,), Lemma 7's bound on it (t,), and the factor by which Theorem 8 multiplies the noise."""
    data = Data(LOGISTIC, truncate_within(drawn.x, drawn.longest), drawn.y)
    n, p = drawn.x.shape
    terms = _terms(drawn, epsilon)
    b = draw(equation_4(terms, _SHARE * epsilon, delta), SeededNoise(seed, 3), trials, p)
    target = Target(kind="lasso", lam=lam, floor=terms.modulus / 2)
    fits = iterate(data, b, [target], 60)
    best = minimize(data, Penalty.of(np.zeros((1, p)), 1e-9, 0.0, lam), 1e-8).theta

    def risk(theta: np.ndarray) -> np.ndarray:
        z = data.x @ theta.T
        return np.asarray(LOGISTIC.value(z, data.y[:, None]).sum(axis=0) + lam * np.abs(theta).sum(axis=1)) / n

    excess = risk(fits.theta) - risk(best)
    modulus = 2 * fits.weights.min(axis=1)
    surplus = (fits.weights * best**2).sum(axis=1) - lam * np.abs(best).sum()
    lemma_7 = (np.sum(b**2, axis=1) / modulus + surplus) / n
    return excess, lemma_7, float(np.median(1 / modulus + np.maximum(surplus, 0.0)))
