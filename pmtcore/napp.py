"""NAPP-ERM as printed (paper D, Algorithm 1), for the lab: noise-augmented rows, and their exact limit.

Minimize ``sum l + sum_j v_j theta_j^2 + b' theta`` again and again, with ``v_j`` from the last solution (Table 2):
ridge Lambda, bridge ``Lambda |theta_j|^-gamma`` (lasso: gamma = 1), elastic net ``Lambda |theta_j|^-1 + Lambda kappa``,
each at least ``Lambda0`` (MOOR) or plus it (Claim 2). The weights come from the private fit: no guarantee holds (E12).
Selection replaces ``b' theta`` by ``b' |theta|`` (E11): ``vs`` with any b, ``vs-plus`` with b > 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.families import Family
from pmtcore.newton import Rows, minimize

REGULARIZERS = ("ridge", "bridge", "lasso", "elastic-net")
_TINY = 1e-10  # below, a coefficient counts as zero


@final
@dataclass(frozen=True)
class Target:
    """The target regularizer and how it is realized.

    Attributes:
        lam, gamma, kappa: Lambda, bridge exponent, elastic net's ridge share.
        least: Lambda0, what privacy is said to need.
        moor: the larger of both weights, else their sum (Claim 2).
        printed: the weight as printed, which realizes ``2/(2 - gamma)`` times the target; else repaired (E14).
    """

    regularizer: str
    lam: float
    least: float
    gamma: float = 1.0
    kappa: float = 0.5
    moor: bool = True
    printed: bool = False

    @property
    def exponent(self) -> float:
        """gamma of the weight."""
        return {"ridge": 0.0, "bridge": self.gamma, "lasso": 1.0, "elastic-net": 1.0}[self.regularizer]

    def weights(self, theta: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray:
        """``v_j`` (t, d) for the last solution (t, d), or at the start."""
        if self.regularizer == "ridge":
            return np.full(shape, max(self.lam, self.least))
        if theta is None:
            return np.full(shape, max(self.lam * self.kappa * (self.regularizer == "elastic-net"), self.least, 1e-6))
        factor = 1.0 if self.printed else 1 - self.exponent / 2
        found = factor * self.lam * np.maximum(np.abs(theta), _TINY) ** -self.exponent
        if self.regularizer == "elastic-net":
            found = found + self.lam * self.kappa
        return np.asarray(np.maximum(found, self.least) if self.moor else found + self.least)


def limit(
    family: Family, rows: Rows, target: Target, b: np.ndarray, iterations: int = 80, selection: str = "none"
) -> np.ndarray:
    """Solutions (t, d) after the iterations, in the exact limit of many augmented rows (Prop. 1).

    Args:
        b: noise (t, d); with ``selection`` it multiplies ``|theta|``, by the sign of the last solution.
    """
    theta: np.ndarray | None = None
    sign = np.ones_like(b)
    reach = float(np.max(np.linalg.norm(rows.features, axis=1), initial=1e-9))
    for _ in range(iterations):
        v = target.weights(theta, b.shape)
        if theta is not None and selection != "none":
            sign = np.where(theta < 0, -1.0, 1.0)
        push = b * sign

        def derivatives(at: np.ndarray, v: np.ndarray = v, push: np.ndarray = push) -> tuple[np.ndarray, np.ndarray]:
            gradient, hessian = rows.sums(family, at)
            return gradient + 2 * v * at + push, hessian + 2 * v[:, :, None] * np.eye(b.shape[1])

        start = np.zeros_like(b) if theta is None else theta
        found = minimize(derivatives, start, reach, 1e-9 * (1 + float(np.max(np.abs(push))) + reach))
        if selection != "none" and theta is not None:  # a sign that flips has gone through zero
            found = np.where(found * theta < 0, 0.0, found)
        if theta is not None and np.allclose(found, theta, rtol=0, atol=1e-12):
            return found
        theta = found
    return np.asarray(theta)


def augmented(family: Family, target: Target, theta: np.ndarray | None, b: np.ndarray, count: int, seed: int) -> Rows:
    """``n_e`` augmented rows of one iteration (Table 1), for b (d,); labels so that ``l'(0)`` is not zero (E15).

    Linear: ``e_y = 1``; Poisson: ``e_y = 0``; logistic: halves of both labels, the paired noise within a label.
    """
    d = len(b)
    slope = float(family.slope(np.zeros(1))[0])
    v = target.weights(None if theta is None else theta[None], (1, d))[0]
    rng = np.random.default_rng(seed)
    quarter = count // 4
    drawn = rng.standard_normal((2 * quarter, d)) * np.sqrt(2 * v / (4 * quarter * slope))
    noise = np.vstack([drawn[:quarter], -drawn[:quarter], drawn[quarter:], -drawn[quarter:]])
    y = np.full(4 * quarter, {"gaussian": 1.0, "poisson": 0.0}.get(family.id, 0.0))
    if family.binary:
        y[2 * quarter :] = 1.0
    first = family.mean(np.zeros(len(y))) - y  # l'(0) of each row
    return Rows(noise + b / (len(y) * first)[:, None], y, np.ones(len(y)))


def literal(
    family: Family, rows: Rows, target: Target, b: np.ndarray, count: int, iterations: int = 1, seed: int = 0
) -> np.ndarray:
    """One solution (d,) from rows with ``count`` augmented ones, handed to an ordinary solver."""
    theta: np.ndarray | None = None
    for step in range(iterations):
        more = augmented(family, target, theta, b, count, seed + step)
        both = Rows(
            np.vstack([rows.features, more.features]),
            np.concatenate([rows.response, more.response]),
            np.concatenate([rows.weights, more.weights]),
        )
        reach = float(np.max(np.linalg.norm(both.features, axis=1)))
        start = np.zeros((1, len(b))) if theta is None else theta[None]
        theta = minimize(lambda at, both=both: both.sums(family, at), start, reach, 1e-8 * (1 + reach))[0]  # type: ignore[misc]
    return np.asarray(theta)


def retrieved_as_printed(
    epsilon: float, share: float, target: Target, theta: np.ndarray, all_of_them: bool = True
) -> float:
    """Equation 13 with its signs repaired (E9): ``(1 - r) eps (1 - Lambda0/min v)_+`` at a private fit (d,): lab only.

    Args:
        all_of_them: the minimum over all coordinates (E10); else over those that are not zero, as printed.
    """
    v = target.weights(theta[None], (1, len(theta)))[0]
    if not all_of_them and np.any(np.abs(theta) > _TINY):
        v = v[np.abs(theta) > _TINY]
    return max(0.0, (1 - share) * epsilon * (1 - target.least / float(np.min(v))))
