"""Errata as attacks: events that one table never gives and its neighbour does (E11, E12).

Each returns the claim and the probabilities of one event under two neighbouring tables, in one dimension with a
logistic loss: no row against one row. A ratio beyond ``e^eps`` breaks the claim; a probability of 0 against more
than 0 breaks every claim. The same attack on our own variant stays within ``e^eps``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.audit import epsilon_bound
from pmtcore.families import LOGISTIC
from pmtcore.napp import Target, limit
from pmtcore.newton import Rows
from pmtcore.noise import SeededNoise
from pmtcore.objective import Perturbation

_SHARE = 0.5


@final
@dataclass(frozen=True)
class Attack:
    """An event and how often it came under each table.

    Attributes:
        without, with_row: counts in ``runs`` runs each.
        bound: lower bound on epsilon at 99 %.
    """

    id: str
    words: str
    claimed: float
    without: int
    with_row: int
    runs: int

    @property
    def bound(self) -> float:
        """From the counts, by Clopper-Pearson."""
        return epsilon_bound(self.without, self.runs - self.with_row, self.runs, 0.0)

    @property
    def wins(self) -> bool:
        """Whether the claim is broken."""
        return self.bound > self.claimed

    @property
    def sentence(self) -> str:
        """What happened."""
        return (
            f"{self.words}: {self.without / self.runs:.3g} without the person, {self.with_row / self.runs:.3g} with; "
            f"epsilon is at least {self.bound:.3g} where {self.claimed:.3g} was claimed."
        )


def _row(label: float | None) -> Rows:
    if label is None:
        return Rows(np.zeros((1, 1)), np.zeros(1), np.zeros(1))
    return Rows(np.ones((1, 1)), np.array([label]), np.ones(1))


def _laplace(runs: int, epsilon: float, seed: int) -> np.ndarray:
    """b as printed: density ``exp(-r eps |b|)``, zeta1 = zeta2 = 1."""
    return np.random.default_rng(seed).laplace(0.0, 1 / (_SHARE * epsilon), (runs, 1))


def selection(runs: int = 20_000, epsilon: float = 1.0) -> Attack:
    """E11: with b > 0 a table without rows always gives 0; one row makes other values possible."""
    target = Target("ridge", 0.1, 0.25 / epsilon)
    b = np.abs(_laplace(runs, epsilon, 1))
    without, with_row = (_selected(_row(label), target, b) for label in (None, 1.0))
    return Attack(
        "E11", "NAPP-VS+ gives a coefficient other than 0", epsilon, int(without.sum()), int(with_row.sum()), runs
    )


def _selected(rows: Rows, target: Target, b: np.ndarray) -> np.ndarray:
    """Where the minimizer of ``l + v theta^2 + b |theta|`` is not 0: the slope of l at 0 beats b."""
    slope = rows.sums(LOGISTIC, np.zeros((1, 1)))[0][0, 0]
    return np.asarray(np.abs(slope) > b[:, 0])


def iterated(runs: int = 2000, epsilon: float = 1.0, iterations: int = 1000) -> Attack:
    """E12: the iterated lasso has no curvature near zero, so without rows no solution lies there."""
    target = Target("lasso", 0.5, 0.25 / epsilon, printed=True)
    edge = target.lam / target.least
    b = _laplace(runs, epsilon, 2)

    def inside(label: float | None) -> int:
        theta = np.abs(limit(LOGISTIC, _row(label), target, b, iterations)[:, 0])
        return int(np.sum((theta > 1e-3 * edge) & (theta < 0.999 * edge)))

    return Attack(
        "E12", "NAPP-ERM gives a coefficient between 0 and the kink", epsilon, inside(None), inside(1.0), runs
    )


def ours(runs: int = 20_000, epsilon: float = 1.0) -> list[Attack]:
    """The same two events on objective perturbation with public weights, at the same pure epsilon (add-remove)."""
    mu = _mu(2 * epsilon)  # replace-one at 2 eps is add-remove at eps
    mechanism = Perturbation(LOGISTIC, 1, 1.0, 1.0, mu, np.zeros((1, 1)), np.zeros(1), pure=True)
    b = mechanism.draw(SeededNoise(4), runs)
    found = []
    for label in (None, 1.0):
        value = Target("ridge", mechanism.modulus / 2, 0.0)
        found.append(np.abs(limit(LOGISTIC, _row(label), value, b, 1)[:, 0]))
    edge = float(np.quantile(found[0], 0.3))
    events = [("a coefficient other than 0", found[0] > 0, found[1] > 0)]
    events.append(("a coefficient near 0", found[0] < edge, found[1] < edge))
    return [
        Attack("ours", f"napp-public gives {words}", epsilon, int(a.sum()), int(c.sum()), runs)
        for words, a, c in events
    ]


def _mu(epsilon: float) -> float:
    from pmtcore.local.randomizers import mu_for  # noqa: PLC0415  # only this one function

    return mu_for(epsilon) / math.sqrt(1 - 1e-4)
