"""Spends of a plan, mechanism by mechanism, and their total (proofs/gaussian.md, 2 and 13.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pmtcore.accounting.budgets import compose, mu_of_checked_epsilon

# Beyond this the mu that a pure epsilon implies overflows.
_LARGEST_EPSILON = 500.0


@dataclass(frozen=True)
class Spend:
    """One mechanism of a plan, under the method's neighbouring relation.

    Attributes:
        statistic: name of the released statistic.
        sensitivity: largest distance between neighbours, in Euclidean (for matrices Frobenius) norm.
        sd: standard deviation of the noise on each coordinate in which that norm is taken.
        mu: cost.
        times: number of runs; ``mu`` counts all of them.
        epsilon: the pure epsilon, where it is purely private; ``mu`` is then the one that follows.
    """

    statistic: str
    sensitivity: float
    sd: float
    mu: float
    times: int = 1
    epsilon: float = 0.0

    @classmethod
    def gaussian(cls, statistic: str, sensitivity: float, sd: float, times: int = 1) -> Spend:
        """Return the spend of a Gaussian mechanism: ``mu = sqrt(times) sensitivity/sd`` (A, Theorems 2.1 and 2.2)."""
        return cls(statistic, sensitivity, sd, math.sqrt(times) * sensitivity / sd, times)

    @classmethod
    def pure(cls, statistic: str, sensitivity: float, sd: float, epsilon: float) -> Spend:
        """Return the spend of a purely epsilon-private mechanism."""
        return cls(statistic, sensitivity, sd, mu_of_checked_epsilon(min(epsilon, _LARGEST_EPSILON)), 1, epsilon)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return dict(vars(self))


def gaussian_mu(parts: Iterable[Spend]) -> float:
    """Return the total mu of all parts that are not purely private."""
    return compose(part.mu for part in parts if not part.epsilon)


def pure_epsilon(parts: Iterable[Spend]) -> float:
    """Return the total epsilon of all purely private parts."""
    return math.fsum(part.epsilon for part in parts)
