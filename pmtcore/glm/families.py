"""Families of canonical generalized linear models: one small record each (A, Section 5.2).

The loss of a row is ``b(z) - y z`` with ``z = x' beta``; ``b'`` is the mean, ``b''`` the slope of the mean.
A new family is one record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from pmtcore.base.messages import one_of

Curve = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Family:
    """Canonical family of a generalized linear model.

    Attributes:
        id: short name in requests and records.
        title: name in sentences.
        loss: ``b(z)``.
        mean: ``b'(z)``.
        slope: ``b''(z)``.
        largest_mean: ``max |b'|`` over ``|z| <= r``, as a function of r.
        largest_slope: ``max b''`` over ``|z| <= r``, as a function of r.
        binary: True where responses are labels 0 and 1, so that ``|b' - y| <= 1`` with a sign the label fixes.
    """

    id: str
    title: str
    loss: Curve
    mean: Curve
    slope: Curve
    largest_mean: Callable[[float], float]
    largest_slope: Callable[[float], float]
    binary: bool = False

    def __reduce__(self) -> tuple[Callable[[str], Family], tuple[str]]:
        return family, (self.id,)

    @property
    def curvature(self) -> float:
        """Return an upper bound of ``b''``; for Poisson one that no double exceeds."""
        return self.largest_slope(math.inf)

    def value(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the loss ``b(z) - y z`` of rows."""
        return self.loss(z) - y * z

    def first(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the derivative of the loss with respect to z, ``b'(z) - y``."""
        return self.mean(z) - y

    def second(self, z: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the second derivative of the loss, ``b''(z)``, whatever y is."""
        return self.slope(z)


# Curves that results hold have names: without one nothing that holds them could be pickled.
def _linear_mean(z: np.ndarray) -> np.ndarray:
    return z


def _boosting_mean(z: np.ndarray) -> np.ndarray:
    return np.asarray(0.5 + z / (4 * np.sqrt(1 + z**2 / 4)))


def _boosting_slope(z: np.ndarray) -> np.ndarray:
    return np.asarray(0.25 * (1 + z**2 / 4) ** -1.5)


def _logistic_slope(z: np.ndarray) -> np.ndarray:
    p = expit(z)
    return np.asarray(p * (1 - p))


def _capped_exp(z: np.ndarray) -> np.ndarray:
    return np.exp(np.minimum(z, 700.0))


GAUSSIAN = Family("gaussian", "linear", lambda z: z**2 / 2, _linear_mean, np.ones_like, lambda r: r, lambda r: 1.0)
LOGISTIC = Family(
    "logistic",
    "logistic",
    lambda z: np.logaddexp(0.0, z),
    expit,
    _logistic_slope,
    lambda r: float(expit(r)),
    lambda r: 0.25,
    binary=True,
)
POISSON = Family(
    "poisson",
    "Poisson",
    _capped_exp,
    _capped_exp,
    _capped_exp,
    lambda r: float(_capped_exp(np.asarray(r))),
    lambda r: float(_capped_exp(np.asarray(r))),
)
BOOSTING = Family(
    "boosting",
    "boosting",
    lambda z: z / 2 + np.sqrt(1 + z**2 / 4),
    _boosting_mean,
    _boosting_slope,
    lambda r: float(0.5 + r / (4 * np.sqrt(1 + r**2 / 4))),
    lambda r: 0.25,
    binary=True,
)
FAMILIES = {entry.id: entry for entry in (GAUSSIAN, LOGISTIC, POISSON, BOOSTING)}
_ALIASES = {"linear": "gaussian"}


def family(id: str) -> Family:
    """Return the family of that id; ``linear`` is another word for ``gaussian``.

    Raises:
        InputError: there is no such family.
    """
    return FAMILIES[one_of("family", _ALIASES.get(id, id), FAMILIES)]
