"""Symmetric matrices as vectors of their distinct entries."""

from __future__ import annotations

import numpy as np
import pytest

from pmtcore.base.symmetric import (
    from_lower_triangle,
    from_upper_triangle,
    isometric_scale,
    lower_triangle,
    symmetric_from_lower,
    upper_triangle,
)


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("kind", [np.int64, np.float64])
def test_a_stack_comes_back_with_its_type(d, kind):
    """Packed and unpacked, matrices are the same, and integers stay integers: sums beyond 2^53 are exact."""
    squares = np.arange(3 * d * d).reshape(3, d, d).astype(kind) + 2**60 * (kind is np.int64)
    matrices = np.maximum(squares, np.swapaxes(squares, 1, 2))
    packed = upper_triangle(matrices)
    assert packed.shape == (3, d * (d + 1) // 2) and packed.dtype == kind
    back = from_upper_triangle(packed, d)
    assert back.dtype == kind and np.array_equal(back, matrices)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_scaled_entries_are_as_long_as_the_matrix(d, seed):
    """Their Euclidean length is the Frobenius norm, which sensitivities of moments are stated in."""
    square = np.random.default_rng(seed).standard_normal((d, d))
    matrix = square + square.T
    assert np.linalg.norm(upper_triangle(matrix) * isometric_scale(d)) == pytest.approx(np.linalg.norm(matrix))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_record_keeps_a_triangle(d, seed):
    """Of a triangular matrix all of it, of a symmetric one all that tells it; another number of values is an error."""
    lower = np.tril(np.random.default_rng(seed).standard_normal((d, d)))
    assert np.array_equal(from_lower_triangle(lower_triangle(lower), d), lower)
    complete = lower + np.tril(lower, -1).T
    assert np.array_equal(symmetric_from_lower(from_lower_triangle(lower_triangle(complete), d)), complete)
    with pytest.raises(ValueError):
        from_lower_triangle([0.0] * (d * (d + 1) // 2 + 1), d)
