"""Public inputs of ``napp-public``: centre, weights, and the modulus with the least predicted error.

Everything here reads public rows and sizes only, so it costs no privacy. The ridge of the public fit is chosen by
approximate leave-one-out. The covariance of the fit is a sandwich estimate with left-out residuals. It is taken at the
least ridge within one standard error of the best one, because a strong ridge chosen by chance would make it too small.
The modulus minimizes the predicted error: the variance of the noise plus the squared bias of the penalty. The noise has
the budget that remains after the Jacobian of that modulus is paid for.
"""

import math
from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.perturbed import ObjectiveConstants
from pmtcore.base.messages import InputError, PublicMessage
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.mechanisms.perturbed import Budgeted, expected_noise

_RIDGES = np.geomspace(1e-8, 10.0, 12)
_MODULI = np.geomspace(1e-2, 1e7, 19)  # in units of zeta3
# Points on either side of the best modulus of the coarse grid.
_REFINED_POINTS = 3
# Share of the largest public coefficient below which weights grow no further.
_LEAST_RELATIVE_SIZE = 0.05


@dataclass(frozen=True)
class PublicFit:
    """Coefficients of the public fit, with its curvature and uncertainty.

    Attributes:
        coefficients: (p,).
        hessian: Hessian (p, p) of the mean loss.
        covariance: covariance (p, p) of the fit.
        m: number of public rows.
    """

    coefficients: np.ndarray
    hessian: np.ndarray
    covariance: np.ndarray
    m: int

    def prior(self, n: int) -> np.ndarray:
        """Return the covariance (p, p) of a fit to n private rows around this fit, for rows of one population."""
        return np.asarray(self.covariance * (1 + self.m / n))

    def weights(self, gamma: float) -> np.ndarray:
        """Return the penalty weights ``|theta|^-gamma`` (p,), scaled so that the least weight is 1.

        Coefficients below a twentieth of the largest one count as that twentieth, which bounds the weights.
        """
        size = np.abs(self.coefficients)
        floored = np.maximum(size, _LEAST_RELATIVE_SIZE * max(float(size.max()), 1e-300))
        return np.asarray((floored.max() / floored) ** gamma)


def public_fit(loss: Loss, x: np.ndarray, y: np.ndarray, penalty: np.ndarray | float = 0.0) -> PublicFit:
    """Fit public rows with a ridge chosen by approximate leave-one-out.

    Args:
        loss: loss of one row.
        x: features (m, p).
        y: responses (m,).
        penalty: ridge weights (p,) per row that belong to the problem itself; they are part of what is fitted.
    """
    data = Data(loss, x, loss.responses(y))
    m, p = x.shape
    row_scale = float(np.mean(np.sum(x**2, axis=1))) / p * m
    ridges = (_RIDGES * row_scale * loss.curvature)[:, None]
    problem_penalty = m * np.broadcast_to(np.asarray(penalty, dtype=float), (p,))
    theta = minimize(
        data, Penalty.of(np.zeros((len(ridges), p)), ridges + problem_penalty), 1e-9 * m * loss.score
    ).theta
    hessian = data.derivatives(theta)[1]
    inverse = np.linalg.inv(hessian + (ridges + problem_penalty)[:, :, None] * np.eye(p))
    z = x @ theta.T  # (m, k)
    leverage = np.minimum(np.einsum("ij,kjl,il->ik", x, inverse, x), 1e12)
    first, second = loss.first(z, data.y[:, None]), loss.second(z, data.y[:, None])
    left_out = z + leverage * first / np.maximum(1 - leverage * second, 0.05)
    values = loss.value(left_out, data.y[:, None])  # (m, k)
    best = int(np.argmin(values.mean(axis=0)))
    excess = values - values[:, [best]]
    # The ridges ascend, so the first within one standard error of the best is the least that may be as good.
    sparing = int(np.argmax(excess.mean(axis=0) <= excess.std(axis=0) / np.sqrt(m)))
    residual = loss.first(left_out[:, sparing], data.y)
    influence = x @ inverse[sparing] * residual[:, None]
    shrinkage_variance = (
        float(ridges[sparing, 0]) ** 2 * float(np.mean(theta[sparing] ** 2)) * inverse[sparing] @ inverse[sparing]
    )
    curvature = hessian[best] / m + 1e-3 * loss.curvature * row_scale / m * np.eye(p)
    return PublicFit(theta[best], curvature, influence.T @ influence + shrinkage_variance, m)


def best_weights(
    loss: Loss,
    radius: float,
    planned: Budgeted,
    n: int,
    *,
    public: PublicFit,
    gamma: float,
    penalty: np.ndarray | None = None,
) -> np.ndarray:
    """Return the penalty weights v (p,) with the least predicted squared error of predictions.

    To first order the error of the release is ``A^{-1} (b + q (theta* - c))`` with ``A = n H + q``: noise b, and bias
    of the penalty q towards the centre c. The noise has the budget that remains after the Jacobian is paid for.

    Args:
        loss: loss of one row.
        radius: bound on the length of a row.
        planned: budget of the release.
        n: number of private rows.
        public: the public fit.
        gamma: exponent of the adaptive weights.
        penalty: ridge weights (p,) of the problem itself, on the sum of losses.

    Raises:
        InputError: no modulus fits the budget.
    """
    shape, prior = public.weights(gamma), public.prior(n)
    p, scale = len(shape), loss.curvature * radius**2
    curvature = public.hessian if penalty is None else public.hessian + np.diag(penalty) / n

    def error(modulus: float) -> float:
        try:
            noise = expected_noise(ObjectiveConstants(loss, radius, modulus), planned)
        except InputError:
            return math.inf
        q = np.diag(modulus * shape)
        inverse = np.linalg.inv(n * curvature + q)
        covariance = inverse @ (noise.sd(p) ** 2 * np.eye(p) + q @ prior @ q) @ inverse
        return float(np.trace(public.hessian @ covariance))

    errors = [error(scale * m) for m in _MODULI]
    best = int(np.argmin(errors))
    if not math.isfinite(errors[best]):
        raise InputError(PublicMessage.NO_MODULUS)
    near = scale * np.geomspace(
        _MODULI[max(best - 1, 0)], _MODULI[min(best + 1, len(_MODULI) - 1)], 2 * _REFINED_POINTS + 1
    )
    return np.asarray(min(near, key=lambda m: error(float(m))) * shape / 2)
