"""Symmetric matrices as the vectors of their distinct entries, and back."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np


@lru_cache(maxsize=16)
def upper_indices(d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and columns of the entries on and above the diagonal (d (d + 1)/2,), row by row, to be read only.

    They are cached, since solvers of small fits use them in every pass, and computing them takes a tenth of its time.
    """
    rows, columns = np.triu_indices(d)
    rows.flags.writeable = columns.flags.writeable = False
    return rows, columns


def upper_triangle(matrices: np.ndarray) -> np.ndarray:
    """Return the entries on and above the diagonal, row by row: (..., d, d) -> (..., d (d + 1)/2)."""
    rows, columns = upper_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns])


def from_upper_triangle(entries: np.ndarray, d: int) -> np.ndarray:
    """Return the symmetric matrices of these entries: (..., d (d + 1)/2) -> (..., d, d), of the same type."""
    rows, columns = upper_indices(d)
    matrices = np.empty((*entries.shape[:-1], d, d), dtype=entries.dtype)
    matrices[..., rows, columns] = entries
    matrices[..., columns, rows] = entries
    return matrices


def isometric_scale(d: int) -> np.ndarray:
    """Return 1 for a diagonal entry and sqrt(2) for another (d (d + 1)/2,): lengths become Frobenius norms."""
    rows, columns = upper_indices(d)
    return np.where(rows == columns, 1.0, np.sqrt(2))


def lower_triangle(matrix: np.ndarray) -> list[float]:
    """Return the lower triangle of a matrix (d, d), row by row, as records keep it."""
    return np.asarray(matrix)[np.tril_indices(len(matrix))].tolist()


def from_lower_triangle(values: Sequence[float] | np.ndarray, d: int) -> np.ndarray:
    """Return the lower triangular matrix (d, d) of these entries.

    Raises:
        ValueError: another number of values.
    """
    matrix = np.zeros((d, d))
    matrix[np.tril_indices(d)] = np.asarray(values, dtype=float).reshape(d * (d + 1) // 2)
    return matrix


def eigenvector_root(matrix: np.ndarray, least: float = 0.0) -> np.ndarray:
    """Return K (d, d) with ``K K' = M``, by the eigenvectors of M.

    Args:
        matrix: symmetric matrix M (d, d).
        least: share of the largest eigenvalue that smaller ones, negative ones too, are raised to.
    """
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(vectors * np.sqrt(np.maximum(values, least * values[-1])))


def symmetric_from_lower(lower: np.ndarray) -> np.ndarray:
    """Return the symmetric matrix (d, d) with this lower triangle."""
    return np.asarray(lower + np.tril(lower, -1).T)
