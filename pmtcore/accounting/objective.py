"""Cost of a perturbed objective where the label fixes the sign of the score, and where it does not.

Proof: proofs/objective.md, 9.
"""

import math

import numpy as np
from scipy.special import ndtr


def noise_sd(radius: float, mu: float) -> float:
    """Return ``s = 2 R/mu``: replacing a row is removing one and adding one (proofs/objective.md, 9.1)."""
    if not (radius > 0 and mu > 0 and math.isfinite(radius) and math.isfinite(mu)):
        raise ValueError("radius and mu must be positive and finite")
    return 2 * radius / mu


def least_modulus(noise: float, reach: float = 1.0) -> float:
    """Return ``2 s^2 reach``, the modulus from which on the Jacobian costs nothing (proofs/objective.md, 9.1)."""
    if not reach >= 1:
        raise ValueError("reach must be at least 1")
    return 2 * noise**2 * reach


def delta_any_sign(epsilon: float, mu: float, log_jacobian: float, replace: bool) -> float:
    """Return delta of the loss ``mu |Z| + mu^2/2 + c`` (add-remove), or ``2 mu chi_2 + 2 mu^2 + c`` (replace-one).

    ``E[(1 - exp(eps - L))_+]`` is integrated numerically (proofs/objective.md, 9.2).
    """
    from scipy.integrate import quad  # noqa: PLC0415  # slow to load

    size = 2 * mu if replace else mu
    start = max((epsilon - log_jacobian - size**2 / 2) / size, 0.0)

    def part(z: float) -> float:
        density = z * math.exp(-(z**2) / 2) if replace else 2 * float(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
        return density * -math.expm1(min(epsilon - (size * z + size**2 / 2 + log_jacobian), 0.0))

    tail = math.exp(-(start**2) / 2) if replace else 2 * float(ndtr(-start))
    delta = quad(part, start, start + 40, epsabs=1e-14, limit=200)[0]
    return min(max(delta, 0.0), tail)
