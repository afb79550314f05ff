"""Losses of one row with the bounds that privacy needs: ``|l'| <= score``, ``l'' <= curvature`` (proofs/erm.md, 15.1).

D requires a bound on the gradient and uses it as one on ``l'``; for unbounded responses, and for Poisson, there is
no finite one (E17). So responses are clipped to a declared range, and losses that grow faster than linearly are
continued linearly beyond a declared bound: convex, once differentiable, and the bounds hold everywhere.
``z = x' theta``; derivatives are with respect to z.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pmtcore.base.messages import InputError, LossMessage, number_between
from pmtcore.glm import families
from pmtcore.glm.families import Family

Curve = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Loss:
    """Loss of one row, with its bounds.

    Attributes:
        id: short name in requests and records.
        title: name in sentences.
        value, first, second: ``l, l', l''`` as functions of (z, y), broadcast together.
        low, high: declared range of responses; others are clipped to it.
        score: bound on ``|l'|`` (zeta2 of D, as it is used).
        curvature: bound on ``l''``; with rows of length zeta1, ``zeta3 = curvature zeta1^2``.
        signed: True where the response alone fixes the sign of ``l'``, whatever theta is.
        jacobian_is_free: True where besides ``l'' <= |l'| (1 - |l'|)``, so that a large enough modulus makes the
            Jacobian free (proofs/erm.md, 15.3).
        augmented: responses of augmented rows at which ``l'(0)`` is not 0 (D, Table 1; E15).
        at_zero: share of ``l''(0)`` that augmented rows realize: 1, or 1/2 at a kink (E16).
    """

    id: str
    title: str
    value: Curve
    first: Curve
    second: Curve
    low: float
    high: float
    score: float
    curvature: float
    signed: bool
    jacobian_is_free: bool
    augmented: tuple[float, ...]
    at_zero: float = 1.0

    def responses(self, y: np.ndarray) -> np.ndarray:
        """Clip responses to the declared range."""
        return np.clip(y, self.low, self.high)


def linear(bound: float = 1.0, response: float = math.inf) -> Loss:
    """Return the squared loss ``(z - y)^2/2``, continued linearly beyond residuals of size ``bound`` (Huber's loss).

    Args:
        bound: residuals within it are squared; it is also the bound on ``|l'|``.
        response: responses are clipped to ``[-response, response]``; the exact minimizer's privacy does not need
            it, a solver in floating point does.
    """
    k = number_between("residual bound", bound, 1e-150, 1e150)

    def value(z: np.ndarray, y: np.ndarray) -> np.ndarray:
        size = np.abs(z - y)
        return np.where(size <= k, size**2 / 2, k * size - k * k / 2)

    return Loss(
        "linear",
        "linear",
        value,
        lambda z, y: np.clip(z - y, -k, k),
        lambda z, y: (np.abs(z - y) <= k).astype(float),
        -response,
        response,
        score=k,
        curvature=1.0,
        signed=False,
        jacobian_is_free=False,
        augmented=(min(1.0, 0.5 * k),),
    )


def poisson(response: float, predictor: float) -> Loss:
    """Return ``e^z - y z`` with responses clipped to ``[0, response]``, linear beyond ``z = predictor``.

    Args:
        response: bound on the responses.
        predictor: value of z beyond which ``e^z`` is continued linearly.

    Raises:
        InputError: the slope ``e^predictor`` is below the response bound, so the loss would be unbounded below.
    """
    most = number_between("response bound", response, 1e-9, 1e9)
    end = number_between("predictor bound", predictor, -50.0, 50.0)
    slope = math.exp(end)
    if not slope >= most * (1 - 1e-12):
        raise InputError(LossMessage.PREDICTOR_BOUND_TOO_SMALL, bound=end, mean=slope, limit=most, least=math.log(most))

    def value(z: np.ndarray, y: np.ndarray) -> np.ndarray:
        inside = np.exp(np.minimum(z, end))
        return inside + slope * np.maximum(z - end, 0.0) - y * z

    return Loss(
        "poisson",
        "Poisson",
        value,
        lambda z, y: np.exp(np.minimum(z, end)) - y,
        lambda z, y: np.where(z <= end, np.exp(np.minimum(z, end)), 0.0) + 0.0 * y,
        0.0,
        most,
        score=max(slope, most),
        curvature=slope,
        signed=False,
        jacobian_is_free=False,
        augmented=(0.0,),
    )


def _labels(family: Family) -> Loss:
    """Return the loss of a canonical family of labels 0 and 1, with its bounds."""
    return Loss(
        family.id,
        family.title,
        family.value,
        family.first,
        family.second,
        0.0,
        1.0,
        1.0,
        family.curvature,
        signed=True,
        jacobian_is_free=True,
        augmented=(0.0, 1.0),
    )


LOGISTIC = _labels(families.LOGISTIC)
BOOSTING = _labels(families.BOOSTING)


def _hinge_value(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    t = (2 * y - 1) * z
    return np.where(t <= 0, 0.5 - t, np.where(t <= 1, (1 - t) ** 2 / 2, 0.0))


def _hinge_first(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    sign = 2 * y - 1
    return -sign * np.clip(1 - sign * z, 0.0, 1.0)


def _hinge_second(z: np.ndarray, y: np.ndarray) -> np.ndarray:
    t = (2 * y - 1) * z
    return ((t > 0) & (t <= 1)).astype(float)


HINGE = Loss(
    "hinge",
    "smoothed hinge",
    _hinge_value,
    _hinge_first,
    _hinge_second,
    0.0,
    1.0,
    score=1.0,
    curvature=1.0,
    signed=True,
    jacobian_is_free=False,
    augmented=(0.0, 1.0),
    at_zero=0.5,
)


# Losses of labels 0 and 1, which need no declared bounds, by the id of their family.
LABEL_LOSSES = {"logistic": LOGISTIC, "boosting": BOOSTING}
