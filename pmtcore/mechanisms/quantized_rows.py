"""Quantized rows (integer direction and length), shared by all multi-pass methods (proofs/noise.md, 14).

A whitened row ``x~`` is stored as its direction ``x~/|x~|`` in multiples of ``2^-22``, rounded to a length of at most
1, with ``|x~|`` and the response. The linear predictor ``x~'theta`` at a released point is a product of integers below
2^53. So its bits do not depend on how rows are cut into blocks, and it costs d products per row instead of the d
squared of whitening again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from pmtcore.base.private_rows import Arena, PrivateRows, RowCache
from pmtcore.base.threads import Buffers
from pmtcore.mechanisms.whitening import EXACT, Block, Product, Whitening

# Grid steps of a direction: its product with a point of 2^30 steps is below 2^53, and it fits into 32 bits.
STEPS = 2**22
# The margin covers the error of the computed length (proofs/noise.md, 14).
_SCALE_WITH_MARGIN = STEPS * (1 - 2.0**-40)
# Bytes of a row's length and response.
_BYTES_BESIDES = 16
# Bytes of the weight of a row's loss.
_BYTES_OF_WEIGHT = 8


class QuantizedRows:
    """Block of quantized rows, stored as columns; columns beyond ``rows`` are zeros.

    Args:
        rows: number of columns that stand for rows.
        lengths: lengths in whitened units (k,).
        response: responses (k,).
        made: whitened block, the lengths of its columns (k,) and the number of features, while its buffers are valid.
        stored_directions: directions (d, k) of rows that stay in memory between passes.
        weights: of the loss of each row (k,); ``None``: all count the same.
        buffers: memory for directions as floats; ``None``: new memory.
    """

    def __init__(
        self,
        rows: int,
        lengths: np.ndarray,
        response: np.ndarray,
        made: tuple[Block, np.ndarray, int] | None = None,
        *,
        stored_directions: np.ndarray | None = None,
        weights: np.ndarray | None = None,
        buffers: Buffers | None = None,
    ) -> None:
        self.rows, self.lengths, self.response, self.weights = rows, lengths, response, weights
        self._made, self._stored, self._buffers = made, stored_directions, buffers or Buffers()

    @property
    def block(self) -> Block:
        """Return the whitened block, before any direction was computed.

        Raises:
            ValueError: the rows are cached as directions only.
        """
        if self._made is None:
            raise ValueError("whitened rows are not kept")
        return self._made[0]

    def copied_to(self, store: Arena) -> QuantizedRows:
        """Return a copy whose directions stay in the store; the whitened block stays as it is."""
        stored = store.copy(self._unrounded_directions(), np.int32)
        lengths, response = (store.copy(values, np.float64) for values in (self.lengths, self.response))
        weights = None if self.weights is None else store.copy(self.weights, np.float64)
        return QuantizedRows(
            self.rows, lengths, response, stored_directions=stored, weights=weights, buffers=self._buffers
        )

    @property
    def directions(self) -> np.ndarray:
        """Return ``2^22 x~/|x~|`` (d, k), rounded towards zero; never longer than 2^22.

        The array is reused: it is valid until the directions of another piece are requested.
        """
        if self._stored is not None:
            floats = self._buffers.array("values", self._stored.size).reshape(self._stored.shape)
            np.copyto(floats, self._stored)
            return floats
        turned = self._unrounded_directions()
        return np.trunc(turned, out=turned)

    def _unrounded_directions(self) -> np.ndarray:
        """Compute the unrounded directions in the block's spare buffer."""
        if self._made is None:
            raise ValueError("there is no block to turn")
        block, lengths, d = self._made
        return np.multiply(block.values[:d], _SCALE_WITH_MARGIN / np.maximum(lengths, 1e-300), out=block.spare[:d])

    def projections(self, directions: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return ``x~'theta`` (t, k) at points (t, d) from :func:`in_steps`: an exact product of integers."""
        predictors = points @ directions
        predictors *= self.lengths
        return np.asarray(predictors)


def in_steps(points: np.ndarray, steps: int = STEPS) -> np.ndarray:
    """Return points (t, d) divided by the steps of a direction and rounded to multiples of a power of two.

    The precision is such that products with a direction stay below 2^53: 30 bits for 2^22 steps.
    """
    power = EXACT - int(steps).bit_length() - np.frexp(np.linalg.norm(points, axis=1))[1][:, None]
    return np.asarray(np.ldexp(np.rint(np.ldexp(points, power)) / steps, -power))


@dataclass(frozen=True, eq=False)
class Quantizer:
    """Conversion of the blocks of a table to quantized rows.

    Args:
        product: d whitened features with one unit, and after them the response; nothing after them where the response
            is taken as it is.
        d: number of features.
        scale: factor of the response in the product.
        buffers: memory for one piece of each thread.
    """

    product: Product
    d: int
    scale: float = 1.0
    buffers: Buffers = field(default_factory=Buffers)

    @classmethod
    def features_only(cls, root: np.ndarray, intercept: bool) -> Quantizer:
        """Quantize ``L^{-1} x`` for the public Cholesky factor (d, d) of the features; responses stay as they are."""
        d = len(root)
        factor = np.eye(d + 1)
        factor[:d, :d] = root
        return cls(Whitening(factor, intercept).product_for(np.eye(d, d + 1), d), d)

    def __call__(self, features: np.ndarray, response: np.ndarray) -> Iterator[QuantizedRows]:
        """Yield the rows (n, d), (n,) of one block of a table, some at a time.

        Responses that are taken as they are may be (n, 2), with the weights of the loss beside them.
        """
        d, unit, at = self.d, float(self.product.units[0]), 0
        whitened = len(self.product.units) > d
        weights = None
        if response.ndim > 1:
            response, weights = response[:, 0], response[:, 1]
        joined = response if whitened else np.broadcast_to(0.0, len(response))
        for block in self.product.blocks(features, joined, self.buffers):
            lengths = block.lengths(d)
            factor = unit if block.lift is None else unit * block.lift
            if whitened:
                responses = block.values[d] * (factor / self.scale)
            else:
                responses = np.zeros(len(lengths))
                responses[: block.rows] = response[at : at + block.rows]
            row_weights = None if weights is None else np.zeros(len(lengths))
            if weights is not None and row_weights is not None:
                row_weights[: block.rows] = weights[at : at + block.rows]
            made = block, lengths, d
            yield QuantizedRows(
                block.rows, lengths * factor, responses, made, weights=row_weights, buffers=self.buffers
            )
            at += block.rows

    def pieces(self, rows: PrivateRows, most: int | None = None) -> RowCache[QuantizedRows]:
        """Return private rows for several passes; see :meth:`PrivateRows.pieces`."""
        return rows.pieces(self, bytes_kept(self.d) + (_BYTES_OF_WEIGHT if rows.weighted else 0), most)


def bytes_kept(d: int) -> int:
    """Return the bytes that a row of d features takes between passes."""
    return 4 * d + _BYTES_BESIDES
