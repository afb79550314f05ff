"""What a plan spends, mechanism by mechanism, and what that comes to together (maths.md, 2 and 13.1)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, final

from pmtcore.accounting.budgets import compose, implied_mu

_LARGEST = 500.0  # beyond, the mu that a pure epsilon implies is no number any more


@final
@dataclass(frozen=True)
class Spend:
    """One mechanism of a plan, under the method's neighbouring relation.

    Attributes:
        statistic: what is released, in words.
        sensitivity: how far neighbours may lie apart, in Euclidean (for matrices Frobenius) norm.
        sd: standard deviation of the noise on each coordinate in which that norm is taken.
        mu: what it costs.
        times: how often it runs; ``mu`` counts all of them.
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
        """A Gaussian mechanism: ``mu = sqrt(times) sensitivity/sd`` (A, Theorems 2.1 and 2.2)."""
        return cls(statistic, sensitivity, sd, math.sqrt(times) * sensitivity / sd, times)

    @classmethod
    def pure(cls, statistic: str, sensitivity: float, sd: float, epsilon: float) -> Spend:
        """A purely epsilon-private mechanism."""
        return cls(statistic, sensitivity, sd, implied_mu(min(epsilon, _LARGEST)), 1, epsilon)

    def as_dict(self) -> dict[str, Any]:
        """Plain fields."""
        return dict(vars(self))


def gaussian_mu(parts: Iterable[Spend]) -> float:
    """The mu of all parts that are not purely private, together."""
    return compose(part.mu for part in parts if not part.epsilon)


def pure_epsilon(parts: Iterable[Spend]) -> float:
    """The epsilon of all purely private parts, together."""
    return math.fsum(part.epsilon for part in parts)


def total_mu(parts: Iterable[Spend]) -> float:
    """What all parts come to: Gaussian ones composed, purely private ones through the mu that their sum implies."""
    found = tuple(parts)
    pure = pure_epsilon(found)
    return compose([gaussian_mu(found), implied_mu(min(pure, _LARGEST)) if pure else 0.0])
