"""Tail of lengths as a power law: the one estimate of how far rows reach beyond public ones (proofs/radius.md, 5.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Power to which Hill's estimate is drawn, by as much as so many rows.
PRIOR_POWER, PRIOR_ROWS = 4.0, 10


@dataclass(frozen=True, eq=False)
class PowerTail:
    """Power law of the outermost lengths: ``many`` lie beyond ``start``, ``many (x/start)^-power`` beyond x.

    Attributes:
        many: number of lengths in the tail.
        start: length at which the tail begins (..., 1).
        log_excess: sum of ``log(length/start)`` over the tail (..., 1).
        least_power: lower bound on the power.
    """

    many: int
    start: np.ndarray
    log_excess: np.ndarray
    least_power: float = 0.0

    @classmethod
    def of(cls, ordered: np.ndarray, share: int, least_power: float = 0.0) -> PowerTail:
        """Estimate the tail of lengths.

        Args:
            ordered: lengths (..., m) in ascending order.
            share: one length in so many is in the tail, and five at least.
            least_power: lower bound on the power.
        """
        m = ordered.shape[-1]
        many = min(max(m // share, 5), m - 1)
        start = np.maximum(ordered[..., -many - 1, None], 1e-300)
        logs = np.log(np.maximum(ordered[..., -many:] / start, 1.0))
        return cls(many, start, np.sum(logs, axis=-1, keepdims=True), least_power)

    @property
    def power(self) -> np.ndarray:
        """Return Hill's estimate (..., 1), drawn towards :data:`PRIOR_POWER`."""
        hill = (self.many + PRIOR_ROWS) / (self.log_excess + PRIOR_ROWS / PRIOR_POWER)
        return np.asarray(np.maximum(hill, self.least_power))

    def beyond(self, lengths: np.ndarray) -> np.ndarray:
        """Return the number of lengths in the tail to expect beyond each of these, same shape."""
        return np.asarray(self.many * np.maximum(lengths / self.start, 1.0) ** -self.power)
