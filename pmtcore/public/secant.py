"""What the difference of two released gradients says of a curvature: it can only have been too small.

Proof: proofs/radius.md, 5.1.
"""

from __future__ import annotations

import numpy as np

# Standard deviations by which the curvature along a step must exceed what is known before it is believed
_SECANT_DEVIATIONS = 3.0
# In whitened units: far below any curvature, whose square does not yet vanish
_LEAST_RISE = 1e-100


def raised(
    curvature: np.ndarray,
    step: np.ndarray,
    difference: np.ndarray,
    variance: np.ndarray,
    *,
    entry_variance: np.ndarray,
) -> np.ndarray:
    """Return curvatures (T, d, d) raised where two gradients differ by more than they explain.

    A truncated row adds ``u u'`` to the curvature P, so what a step s misses, ``r = y - P s``, is ``u (u's)``, and
    ``r r'/(r's)`` gives it back. Only where ``r's`` is positive beyond chance; the part of r across the step is
    shrunk by what noise explains of it.

    Args:
        curvature: P (T, d, d).
        step: s (T, d), between the points of two gradients.
        difference: y (T, d), by how much the gradients differ.
        variance: of a coordinate of y (T,), from noise.
        entry_variance: of an entry of P (T,).
    """
    missing = difference - np.einsum("tij,tj->ti", curvature, step)
    length = np.maximum(np.linalg.norm(step, axis=1), 1e-300)
    along = step / length[:, None]
    by = np.sum(missing * along, axis=1)
    noise = variance + entry_variance * length**2
    # What a step sees of nothing, or of rows that all have one response, is rounding: no quotient of it.
    rises = by * length
    believed = (by > _SECANT_DEVIATIONS * np.sqrt(noise + entry_variance * length**2)) & (rises > _LEAST_RISE)
    across = missing - by[:, None] * along
    square = np.maximum(np.sum(across**2, axis=1), 1e-300)
    across = across * np.maximum(1 - (step.shape[1] - 1) * noise / square, 0.0)[:, None]
    clean = np.where(believed[:, None], by[:, None] * along + across, 0.0)
    raise_by = clean[:, :, None] * clean[:, None, :] / np.where(believed, rises, 1.0)[:, None, None]
    return np.asarray(curvature + raise_by)
