"""Truncation to a ball, radius rules, and the sensitivities that follow.

Proof: proofs/sensitivity.md, 3.
"""

import math

import numpy as np

from pmtcore.base.messages import number_between

# Factor that makes up for the rounding error of a computed length.
NORM_FACTOR = 1 - 2.0**-40


def papers_radius(d: int, n: int, eta: float) -> float:
    """Return ``R = sqrt(d (1 + log(2n/eta)))`` (A and B, Algorithm 1); for a response, ``d = 1``."""
    return math.sqrt(d * (1 + math.log(2 * n / eta)))


def trace_radius(trace: float, d: int, n: int, eta: float) -> float:
    """Return ``R = sqrt(tr(Sigma) + d log(2n/eta))`` (B, Algorithm 4; A, Theorem 4.3 has ``log(n/eta)``)."""
    return math.sqrt(trace + d * math.log(2 * n / eta))


def squared_norms(rows: np.ndarray) -> np.ndarray:
    """Return the squared lengths (k,) of rows (k, D), summed column by column, so that no block changes a bit."""
    total = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        total += rows[:, j] * rows[:, j]
    return total


def truncate(rows: np.ndarray, radius: float) -> np.ndarray:
    """Project rows (k, d) onto the ball: ``x min(1, R/||x||)``."""
    return rows * length_weights(np.linalg.norm(rows, axis=1), radius)[:, None]


def truncate_within(rows: np.ndarray, radius: float) -> np.ndarray:
    """Truncate rows (k, d) so that the stored numbers are no longer than the radius in real arithmetic.

    Rows are treated independently of each other. Lengths do not overflow, since a row is divided by its largest entry
    first. A row that is not finite becomes a row of zeros.
    """
    with np.errstate(all="ignore"):
        top = np.max(np.abs(rows), axis=1)
        good = np.isfinite(top) & (top > 0)
        unit = np.where(good[:, None], rows, 0.0) / np.where(good, top, 1.0)[:, None]
        length = np.sqrt(squared_norms(unit))
        inside = np.minimum(np.where(good, top, 0.0), radius / np.maximum(length, 1.0))
    return np.asarray(unit * (inside * NORM_FACTOR)[:, None])


def length_weights(lengths: np.ndarray, radius: float | np.ndarray) -> np.ndarray:
    """Return ``min(1, R/||x||)``: the factors that bring vectors of these lengths into the ball."""
    return np.minimum(1.0, radius / np.maximum(lengths, 1e-300))


def ball_weights(squared_norms: np.ndarray, radius: float | np.ndarray) -> np.ndarray:
    """Return ``w = min(1, R^2/||z||^2)``: truncating a row in both factors of ``z z'`` is weighting it once."""
    return np.minimum(1.0, radius**2 / np.maximum(squared_norms, 1e-300))


def truncation_rate(norms: np.ndarray, radius: float) -> float:
    """Return the share of rows outside the radius."""
    return float(np.mean(norms > radius))


def moment_sensitivity(radius: float, n: int) -> float:
    """Return the replace-one Frobenius sensitivity of ``(1/n) sum x x'``, ``||x|| <= R``: ``sqrt(2) R^2/n``, tight.

    ``||aa' - bb'||_F^2 = |a|^4 + |b|^4 - 2 (a.b)^2 <= 2 R^4``, reached by orthogonal rows at the radius.
    """
    return math.sqrt(2) * radius**2 / n


def papers_moment_sensitivity(radius: float, n: int) -> float:
    """Return the papers' bound on the same sensitivity: ``2 R^2/n`` (B, Theorem 2)."""
    return 2 * radius**2 / n


def cross_sensitivity(radius: float, response_bound: float, n: int) -> float:
    """Return the replace-one sensitivity of ``(1/n) sum x y``, ``||x|| <= R``, ``|y| <= Ry``: ``2 R Ry/n``, tight."""
    return 2 * radius * response_bound / n


def moment_and_cross_cost(gram: float, cross: float) -> float:
    """Return the replace-one ``mu^2`` of ``sum x x'`` and ``sum x y`` released together, tight.

    Proof: proofs/sensitivity.md, 3.5.

    The two sensitivities are not reached by one replacement: that of the cross moment needs two parallel rows, that of
    the moment two orthogonal ones. With t the cosine of the rows the cost is
    ``max over t of 2 (1 - t^2) gram + 2 (1 + t) cross``.

    Args:
        gram: ``R^4/sigma_1^2``, for noise in a norm no longer than Frobenius'.
        cross: ``R^2 Ry^2/sigma_2^2``, at least half of ``gram``, for which this is proved.

    Raises:
        ValueError: ``cross`` is less than half of ``gram``.
    """
    if not (gram > 0 and 2 * cross >= gram * (1 - 1e-9)):
        raise ValueError("the cross moment must have at least half of the moment's share")
    t = min(cross / (2 * gram), 1.0)
    return 2 * (1 - t * t) * gram + 2 * (1 + t) * cross


def calibration_factor(figure: str, calibration: str) -> float:
    """Return the share of the papers' noise that suffices for joint calibration (proofs/sensitivity.md, 3.5 and 3.6).

    Args:
        figure: ``two parts`` (``2 R^2`` and ``2 R Ry``, half of mu^2 each), ``moment`` (``2 R^2``), ``labels`` (Hessian
            ``R^2/2`` and score ``2 R`` of a loss with ``b'' <= p (1 - p)``), ``three parts`` (smallest eigenvalue
            ``R^2``, moment ``sqrt(2) R^2``, cross moment ``2 R Ry``, a third each).
        calibration: ``joint``; or ``papers``, which calibrates each part by itself and gives 1.
    """
    if calibration == "papers":
        return 1.0
    return {
        "two parts": math.sqrt(moment_and_cross_cost(1 / 8, 1 / 8)),
        "moment": math.sqrt(1 / 2),
        "labels": math.sqrt(1 / 2),
        "three parts": math.sqrt(81 / 32 / 3),
    }[figure]


def checked_eta(eta: float) -> float:
    """Return a failure probability.

    Raises:
        InputError: it does not lie between 1e-9 and 0.999.
    """
    return number_between("eta", eta, 1e-9, 0.999)
