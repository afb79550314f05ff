"""What public rows give ``napp-public``: centre, weights, and the modulus with the least predicted error.

All of it reads public rows and sizes only, so it is free. The public fit has a ridge chosen by approximate
leave-one-out; its doubt is a sandwich with left-out residuals at the least ridge within a standard error of the best,
so that a fit which chance shrank to nothing is not believed; the modulus is the one whose noise and pull together
are predicted to cost least, noise at what that modulus's Jacobian leaves of the budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.accounting.perturbed import Terms
from pmtcore.base.checks import InputError
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.mechanisms.perturbed import Budgeted, expected_noise

_RIDGES = np.geomspace(1e-8, 10.0, 12)
_MODULI = np.geomspace(1e-2, 1e7, 19)  # in units of zeta3
_FINE = 3  # points either side of the best of the coarse grid
_SMALL = 0.05  # of the largest public coefficient: below, weights grow no further


@final
@dataclass(frozen=True)
class PublicFit:
    """The public fit.

    Attributes:
        theta: coefficients (p,).
        hessian: (p, p), of the mean loss.
        doubt: covariance (p, p) of the fit.
        m: public rows.
    """

    theta: np.ndarray
    hessian: np.ndarray
    doubt: np.ndarray
    m: int

    def prior(self, n: int) -> np.ndarray:
        """Covariance (p, p) of a fit to n private rows around this one, if rows are alike."""
        return np.asarray(self.doubt * (1 + self.m / n))

    def weights(self, gamma: float) -> np.ndarray:
        """``|theta|^-gamma``, 1 at its least (p,)."""
        size = np.abs(self.theta)
        held = np.maximum(size, _SMALL * max(float(size.max()), 1e-300))
        return np.asarray((held.max() / held) ** gamma)


def public_fit(loss: Loss, x: np.ndarray, y: np.ndarray, penalty: np.ndarray | float = 0.0) -> PublicFit:
    """The fit to public rows (m, p), its ridge chosen by approximate leave-one-out.

    Args:
        penalty: ridge weights (p,) per row that the problem itself has: they are part of what is fitted.
    """
    data = Data(loss, x, loss.responses(y))
    m, p = x.shape
    unit = float(np.mean(np.sum(x**2, axis=1))) / p * m
    ridges = (_RIDGES * unit * loss.curvature)[:, None]
    own = m * np.broadcast_to(np.asarray(penalty, dtype=float), (p,))
    theta = minimize(data, Penalty.of(np.zeros((len(ridges), p)), ridges + own), 1e-9 * m).theta
    hessian = data.derivatives(theta)[1]
    inverse = np.linalg.inv(hessian + (ridges + own)[:, :, None] * np.eye(p))
    z = x @ theta.T  # (m, k)
    leverage = np.minimum(np.einsum("ij,kjl,il->ik", x, inverse, x), 1e12)
    first, second = loss.first(z, data.y[:, None]), loss.second(z, data.y[:, None])
    left_out = z + leverage * first / np.maximum(1 - leverage * second, 0.05)
    values = loss.value(left_out, data.y[:, None])  # (m, k)
    best = int(np.argmin(values.mean(axis=0)))
    apart = values - values[:, [best]]
    held = int(np.argmax(apart.mean(axis=0) <= apart.std(axis=0) / np.sqrt(m)))  # the least ridge that may be as good
    residual = loss.first(left_out[:, held], data.y)
    spread = x @ inverse[held] * residual[:, None]
    pull = float(ridges[held, 0]) ** 2 * float(np.mean(theta[held] ** 2)) * inverse[held] @ inverse[held]
    curvature = hessian[best] / m + 1e-3 * loss.curvature * unit / m * np.eye(p)
    return PublicFit(theta[best], curvature, spread.T @ spread + pull, m)


def best_weights(
    loss: Loss,
    radius: float,
    planned: Budgeted,
    n: int,
    public: PublicFit,
    gamma: float,
    *,
    penalty: np.ndarray | None = None,
) -> np.ndarray:
    """Weights v (p,) with the least predicted squared error of predictions.

    To first order the release is off by ``A^{-1} (b + q (theta* - c))``, ``A = n H + q``: noise and pull, the noise
    at all that the Jacobian leaves.

    Args:
        penalty: ridge weights (p,) that the problem itself has, on the sum of losses.
    """
    shape, prior = public.weights(gamma), public.prior(n)
    p, scale = len(shape), loss.curvature * radius**2
    curvature = public.hessian if penalty is None else public.hessian + np.diag(penalty) / n

    def error(modulus: float) -> float:
        try:
            noise = expected_noise(Terms(loss, radius, modulus), planned)
        except InputError:
            return math.inf
        q = np.diag(modulus * shape)
        inverse = np.linalg.inv(n * curvature + q)
        doubt = inverse @ (noise.sd(p) ** 2 * np.eye(p) + q @ prior @ q) @ inverse
        return float(np.trace(public.hessian @ doubt))

    coarse = [error(scale * m) for m in _MODULI]
    at = int(np.argmin(coarse))
    if not math.isfinite(coarse[at]):
        raise InputError("No modulus fits this budget; choose a larger budget.")
    near = scale * np.geomspace(_MODULI[max(at - 1, 0)], _MODULI[min(at + 1, len(_MODULI) - 1)], 2 * _FINE + 1)
    return np.asarray(min(near, key=lambda m: error(float(m))) * shape / 2)
