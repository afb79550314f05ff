"""Exact noise for releases: moments on an integer grid, discrete Gaussian noise (proofs/noise.md, 14).

Every truncated whitened row is rounded towards zero to 16-bit integers in units of ``R / 2^15``,
so its length stays within R; the sum of outer products is an integer, exact whatever the order. Noise is a discrete
Gaussian, sampled exactly from the system's entropy, so the guarantee holds for the bits that leave, not only for
idealized real numbers. Only elementwise arithmetic is used: in a floating-point matrix product the bits of a row's
value may depend on its neighbours in memory.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pmtcore.base.block_sums import Summand
from pmtcore.base.private_rows import Curator, Private, PrivateRows
from pmtcore.mechanisms.noise import Form, NoiseSource
from pmtcore.mechanisms.truncation import squared_norms
from pmtcore.mechanisms.whitening import Block, Product

# Bits of an entry: products of two entries, summed over a block, stay below 2^53.
BITS = 15
SCALE = 2**BITS
# Relative increase of the noise, for the difference between discrete and continuous Gaussian (proofs/noise.md, 14).
SLACK = 2.0**-20
# Grid steps to a bound where only sums are taken, not products.
FINE = 2**30
# Bits of each of the two words of a sum, which suffice for any number of rows.
_WORD_BITS = 32
# Number of columns over which a sum of products of 15-bit entries stays below 2^53.
_COLUMNS_PER_FLUSH = 2**22
# Upper words below this leave three of 63 bits for noise.
_LEAST_LARGE_WORD = 2**28
_MECHANISM = Curator("integer noise is added to it")


def grid_rows(rows: np.ndarray, radius: float, scale: int = SCALE) -> np.ndarray:
    """Truncate rows to the radius and round them towards zero to integers, never longer than ``scale``.

    A row whose length is not finite, by overflow, becomes a row of zeros. Rows are treated independently of each other.

    Args:
        rows: real rows (k, D).
        radius: R, the bound on the length of a row.
        scale: number of grid steps to the radius.

    Returns:
        Integers (k, D) in units of ``R/scale``.
    """
    with np.errstate(all="ignore"):  # a length that overflows is infinite, and handled as such
        length = np.sqrt(squared_norms(rows))
        finite = np.isfinite(length)
        inside = (
            np.where(finite[:, None], rows, 0.0) * (scale / np.maximum(np.where(finite, length, 1.0), radius))[:, None]
        )
        inside = np.where(np.all(np.abs(inside) <= 2.0 * scale, axis=1)[:, None], inside, 0.0)  # nan too
    steps = np.trunc(inside * (1 - 2.0**-40)).astype(np.int64)  # the factor covers rounding errors of the length
    steps[np.sum(steps * steps, axis=1) > scale**2] = 0  # no entry is beyond the scale, so the check cannot overflow
    return steps


def integer_sum(rows: PrivateRows, integers: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Private[np.ndarray]:
    """Add up integers over the blocks of a private table, for any number of rows.

    Args:
        rows: the private rows.
        integers: from a block (features, response) to its integers.
    """
    return rows.sum(lambda x, y: split_into_words(integers(x, y))).map(join_words)


def truncate_to_grid(block: Block, length: float, steps: int) -> np.ndarray:
    """Truncate the columns of a block to ``length`` and round them to integers, in place.

    No column becomes longer than ``steps``: the relative error of the computed length is below 2^-42 for up to 4000
    coordinates, which the factor ``1 - 2^-40`` covers; rounding is towards zero.

    Args:
        block: columns (E, k); its buffer is overwritten.
        length: bound, in the units of the block.
        steps: number of grid steps to the bound.

    Returns:
        Integers (E, k) in units of ``length/steps``.
    """
    z = block.values
    reach = length if block.lift is None else length / block.lift
    factor = steps * (1 - 2.0**-40) / np.maximum(block.lengths(len(z)), reach)
    return np.trunc(np.multiply(z, factor, out=z), out=z)


@dataclass(frozen=True, eq=False)
class MomentSum:
    """Exact ``sum z z'`` over rows truncated to a radius, in units ``(radius/2^15)^2``, as words (2, E, E).

    Args:
        product: whitening product with one unit for all outputs.
        radius: bound on the length of a whitened row.
    """

    product: Product
    radius: float

    def __call__(self, features: np.ndarray, response: np.ndarray) -> np.ndarray:
        """Return the sum over one block of a table, features (n, d) and responses (n,)."""
        return self.of(self.product.blocks(features, response))

    def of(self, blocks: Iterable[Block]) -> np.ndarray:
        """Return the sum over whitened blocks, whose buffers are overwritten."""
        outputs, columns = len(self.product.units), 0
        total, part = np.zeros((outputs, outputs), dtype=np.int64), np.zeros((outputs, outputs))
        for block in blocks:
            z = truncate_to_grid(block, self.radius / float(self.product.units[0]), SCALE)
            part += z @ z.T
            columns += z.shape[1]
            if columns > _COLUMNS_PER_FLUSH:
                total += part.astype(np.int64)
                part[:], columns = 0.0, 0
        return split_into_words(total + part.astype(np.int64))


def split_into_words(total: np.ndarray) -> np.ndarray:
    """Split integers into two words, the upper one first, shape (2, ...).

    Sums of such words over any number of blocks fit into 63 bits each.
    """
    return np.stack([total >> _WORD_BITS, total & (2**_WORD_BITS - 1)])


def join_words(words: np.ndarray) -> np.ndarray:
    """Join sums of words to integers: of 64 bits where they fit with room for noise, else Python integers."""
    if np.all(np.abs(words[0]) < _LEAST_LARGE_WORD) and np.all(words[1] < 2**_WORD_BITS * _LEAST_LARGE_WORD):
        return np.asarray(words[0] * 2**_WORD_BITS + words[1])
    return np.asarray(words[0].astype(object) * 2**_WORD_BITS + words[1].astype(object))


def noisy_symmetric(
    total: Private[np.ndarray], scale: float, source: NoiseSource, trials: int, *, form: Form
) -> np.ndarray:
    """Return symmetric integers with discrete Gaussian noise, shape (trials, d, d), as floats.

    ``papers``: the same noise on the whole upper triangle (``SG_d`` of A). ``isometric``: off the diagonal
    ``scale/sqrt(2)``, which is private with the same Frobenius sensitivity.

    Args:
        total: private integers (d, d), or one matrix for each trial.
        scale: scale of the noise on the diagonal.
        source: source of the noise.
        trials: number of independent releases.
        form: shape of the noise.

    Guarantee: mu-GDP for ``scale = (1 + SLACK) sensitivity/mu`` (proofs/gaussian.md, 2 and 14).
    """
    value = total.reveal(_MECHANISM)
    d = value.shape[-1]
    rows, columns = np.triu_indices(d, 1)
    corner = np.arange(d)
    off_diagonal = scale if form == "papers" else scale / np.sqrt(2)
    noisy = np.empty((trials, d, d))
    noisy[:, corner, corner], noisy[:, rows, columns] = source.noisy(
        [(value[..., corner, corner], scale), (value[..., rows, columns], off_diagonal)], trials
    )
    noisy[:, columns, rows] = noisy[:, rows, columns]
    return noisy


def noisy_vector(total: Private[np.ndarray], scale: float, source: NoiseSource, trials: int) -> np.ndarray:
    """Return integers with discrete Gaussian noise, shape (trials, k), as floats.

    Args:
        total: private integers (k,), or one vector for each trial.
        scale: scale of the noise.
        source: source of the noise.
        trials: number of independent releases.

    Guarantee: as :func:`noisy_symmetric`, sensitivity in Euclidean norm.
    """
    value = total.reveal(_MECHANISM)
    (noisy,) = source.noisy([(value, scale)], trials)
    return np.asarray(noisy.astype(float))


def release_integer_moment(
    total: Private[np.ndarray], mu: float, n: int, radius: float, *, source: NoiseSource, trials: int = 1
) -> np.ndarray:
    """Return the mean moment (trials, D, D) in real units with discrete Gaussian noise.

    Args:
        total: integers in units of ``(radius/2^15)^2``, shape (D, D), or one matrix for each trial.
        mu: budget of each trial.
        n: public number of rows.
        radius: bound on the length of a row.
        source: source of the noise.
        trials: number of independent releases.

    Guarantee: ``mu^2/2``-zCDP under replace-one, exactly, for the bits that leave; and the epsilon of mu-GDP at every
    delta between 1e-300 and 1/2, for mu up to 1000 and D up to 4000 (proofs/noise.md, 14). A seeded source gives
    rounded Gaussian noise, for the lab.
    """
    scale = (1 + SLACK) * math.sqrt(2) * SCALE**2 / mu
    noisy = noisy_symmetric(total, scale, source, trials, form="isometric")
    return np.asarray(noisy * ((radius / SCALE) ** 2 / n))


def integer_vectors(rows: PrivateRows, transform: Summand, bound: float) -> Private[np.ndarray]:
    """Return the exact private ``sum v`` (d,) of rows clipped to the bound, in units of ``bound/2^30``.

    Args:
        rows: the private rows.
        transform: from a block (features, response) to rows (k, d) before clipping, elementwise.
        bound: bound on the length of a row.
    """
    total = rows.sum(lambda x, y: split_into_words(grid_rows(transform(x, y), bound, FINE).sum(axis=0)))
    return total.map(join_words)


def release_integers(
    total: Private[np.ndarray], sensitivity: float, mu: float, source: NoiseSource, *, trials: int = 1
) -> np.ndarray:
    """Return integers (trials, k) with discrete Gaussian noise, in their own units.

    Args:
        total: private integers (k,), or one vector for each trial (trials, k).
        sensitivity: Euclidean, in the same units; large, so that the grid is fine beside the noise.
        mu: budget of each trial.
        source: source of the noise.
        trials: number of independent releases.

    Guarantee: as :func:`release_integer_moment`.
    """
    return noisy_vector(total, integer_sd(sensitivity, mu), source, trials)


def integer_sd(sensitivity: float, mu: float) -> float:
    """Return the scale of the discrete Gaussian at which integers of this sensitivity cost mu (proofs/noise.md, 14)."""
    return (1 + SLACK) * sensitivity / mu
