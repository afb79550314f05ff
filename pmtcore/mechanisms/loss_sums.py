"""Sums of losses over private rows, for the solver of a mechanism: each is a pass over blocks of a public size.

Blocks have the same rows however a table is cut, their sums are taken in parts of at most 4096 rows and added in the
order of the table. So no bit depends on the cut or the number of threads, and the rounding error is within the bound of
proofs/minimizer.md, 21, where sums go through more levels than there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Generic

import numpy as np

from pmtcore.base.private_rows import Curator, PrivateRows, RowCache
from pmtcore.glm.losses import Loss
from pmtcore.glm.rows import RowLoss, Rows
from pmtcore.glm.solvers import Loss_co, loss_values, weighted_gram
from pmtcore.mechanisms.truncation import bounded

_SOLVER = Curator("sums of losses: a solver sees them, and only its minimizer leaves, by a mechanism or for the lab")
# A double.
_BYTES_PER_NUMBER = 8


def bytes_kept(d: int) -> int:
    """Return the bytes that a row of d features, its response and its weight take between passes."""
    return _BYTES_PER_NUMBER * (d + 2)


def row_pieces(rows: PrivateRows, prepare: Callable[[np.ndarray, np.ndarray], Rows]) -> RowCache[Rows]:
    """Return what private rows become, in blocks of a public size, for passes of a solver.

    Args:
        rows: the private rows.
        prepare: from a block (features, response) to its rows, each by itself.
    """
    return rows.equal_pieces(prepare, bytes_kept(len(rows.names)))


class LossSums(Generic[Loss_co]):
    """Sums of a loss over private rows, as :class:`pmtcore.glm.solvers.Losses` has them.

    They are bare figures of private rows: whoever makes this object answers for what its solver gives away.

    Args:
        rows: private rows, from :func:`row_pieces`.
        loss: loss of a row.
        radius: public bound on the length of a row.
        count: public number of rows.
    """

    def __init__(self, rows: RowCache[Rows], loss: Loss_co, radius: float, count: int) -> None:
        self._rows, self.loss, self.radius, self.count = rows, loss, radius, count

    @staticmethod
    def clipped(
        rows: PrivateRows, loss: Loss, radius: float, transform: Callable[[np.ndarray], np.ndarray] = np.asarray
    ) -> LossSums[Loss]:
        """Return the sums of losses of rows clipped to the radius, with responses in the range of the loss.

        A row that is not finite becomes a row of zeros.

        Args:
            rows: the private rows.
            loss: loss of a row.
            radius: bound on the length of a row.
            transform: from the features (k, d) of a block to the coordinates in which they are clipped.
        """

        def clip(x: np.ndarray, y: np.ndarray) -> Rows:
            return Rows(bounded(transform(x), radius), loss.responses(y), np.ones(len(y)))

        return LossSums(row_pieces(rows, clip), loss, radius, rows.n)

    @cached_property
    def hessian_bound(self) -> np.ndarray:
        """Return an upper bound (p, p) of the Hessian of the sum of losses, anywhere."""
        return np.asarray(self.loss.curvature * _sum(self._rows, weighted_gram))

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums of losses (t,) at coefficients (t, p)."""
        return _sum(self._rows, lambda rows: loss_values(self.loss, rows, theta))

    def derivatives(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients (t, p) and Hessians (t, p, p) of the sum of losses."""
        return derivative_sums(self._rows, self.loss, theta)

    def __repr__(self) -> str:
        return "<sums of losses over private rows>"


def derivative_sums(rows: RowCache[Rows], loss: RowLoss, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return ``sum w l' x`` (t, d) and ``sum w l'' x x'`` (t, d, d) over private rows at coefficients (t, d): one pass.

    They are bare figures, for a solver.
    """

    def both(block: Rows) -> np.ndarray:
        gradient, hessian = block.sums(loss, theta)
        return np.concatenate([gradient[..., None], hessian], axis=2)

    total = _sum(rows, both)
    return np.ascontiguousarray(total[..., 0]), np.ascontiguousarray(total[..., 1:])


def _sum(rows: RowCache[Rows], function: Callable[[Rows], np.ndarray]) -> np.ndarray:
    """Return the sum over blocks; of a piece that stays in memory nothing more is kept than its rows."""
    return rows.sum_pieces(lambda block: function(replace(block))).reveal(_SOLVER)
