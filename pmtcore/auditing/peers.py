"""Audit of an estimator of somebody else: a black box that fits a table, against the epsilon it claims.

The box is run many times on two tables that differ in one row; the test is learned on half of the runs and
counted on the other (``audit``). It works with any library: wrap its fit in a function of rows, responses and a run
number, and give it an environment of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pmtcore.auditing.lower_bound import ClaimTest, bound, epsilon_bound
from pmtcore.base.messages import AuditMessage, InputError, number_between, whole_number_between

Fit = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
Table = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True)
class PeerAudit(ClaimTest):
    """Result of an audit: a lower bound on epsilon at the stated delta."""

    delta: float

    @property
    def sentence(self) -> str:
        """Return the result in one line."""
        word = "VIOLATION" if self.violated else "no violation found"
        return (
            f"{word}: epsilon at least {self.lower_bound:.3g} (claimed {self.claimed:.3g}) at delta {self.delta:g}, "
            f"{self.trials} runs, {self.confidence:.0%} confidence; the test fires in {self.false_alarms:.3g} of the "
            f"runs on one table and {self.detections:.3g} on the other."
        )


def audit_estimator(
    fit: Fit, tables: tuple[Table, Table], epsilon: float, delta: float, *, trials: int = 2000
) -> PeerAudit:
    """Audit a black box.

    Args:
        fit: from rows (n, d), responses (n,) and a run number to its output, of any shape.
        tables: two tables of equal shape that differ in one row.
        epsilon: claimed epsilon.
        delta: claimed delta.
        trials: number of runs on each table.

    Raises:
        InputError: the tables are not neighbours.
    """
    number_between("epsilon", epsilon, 1e-6, 1e3)
    number_between("delta", delta, 0.0, 1.0)
    whole_number_between("trials", trials, 100, 10**7)
    (x, y), (other_x, other_y) = tables
    if x.shape != other_x.shape or np.sum(np.any(x != other_x, axis=1) | (y != other_y)) != 1:
        raise InputError(AuditMessage.NOT_ONE_ROW_APART)

    def runs(which: int, count: int, stream: int) -> np.ndarray:
        rows, responses = tables[which]
        outputs = [
            np.ravel(fit(rows.copy(), responses.copy(), stream * trials + which * 10**9 + t)) for t in range(count)
        ]
        return _views(np.asarray(outputs, dtype=float))

    half = trials // 2
    _, alarms, detections = bound(runs, trials)
    lower_bound = max(
        epsilon_bound(round(alarms * half), round((1 - detections) * half), half, delta),
        epsilon_bound(round((1 - detections) * half), round(alarms * half), half, delta),
    )
    return PeerAudit(epsilon, lower_bound, trials, alarms, detections, delta=delta)


def neighbouring_pairs(
    rows: int, features: int, bound: float, response: tuple[float, float]
) -> list[tuple[Table, Table]]:
    """Build pairs of tables that differ in their first row: a large row against an empty one, and its opposites.

    Args:
        rows: of each table; all but the first say almost nothing.
        features: columns of each table.
        bound: largest absolute value of a feature.
        response: range of the response.
    """
    x, low, high = np.full((rows, features), 1e-3 * bound), *map(float, response)
    y = np.full(rows, low)
    large = (np.full(features, bound), high)
    others = [(np.zeros(features), low), (np.full(features, bound), low), (np.full(features, -bound), high)]
    pairs = []
    for other in others:
        one, two = (x.copy(), y.copy()), (x.copy(), y.copy())
        one[0][0], one[1][0] = large
        two[0][0], two[1][0] = other
        pairs.append((one, two))
    return pairs


def _views(outputs: np.ndarray) -> np.ndarray:
    """Return the outputs, their size on a log scale, and a large value where they are not finite."""
    finite = np.isfinite(outputs)
    values = np.where(finite, outputs, 0.0)
    size = np.log(np.abs(values) + 1e-12)
    return np.hstack([np.clip(values, -1e6, 1e6), np.where(finite, size, 50.0)])
