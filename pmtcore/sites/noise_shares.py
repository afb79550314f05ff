"""Noise in shares: each site adds a discrete Gaussian, and the sum of those of honest sites is accounted for.

The sum of h discrete Gaussians of scale s is no discrete Gaussian, but nearly one of scale ``s sqrt(h)``: the log ratio
of the two probabilities of any integer is at most ``tau = 10 sum_{k<h} exp(-2 pi^2 s^2 k/(k + 1))`` (Kairouz, Liu,
Steinke 2021). Proof: docs/proofs/sites.md.
"""

import math

import numpy as np

from pmtcore.base.messages import StudyError, StudyFault
from pmtcore.mechanisms.noise import NoiseSource

# A negligible log ratio: with 10^6 integers in all passes it changes epsilon by less than 1e-294.
MOST_TAU = 1e-300


def share_scale(scale: float, planned: int, answering: int, colluders: int) -> float:
    """Return the scale of one site's noise in a pass.

    Args:
        scale: scale of the total noise that the method plans with, when all planned sites answer.
        planned: number of sites that the release is planned for.
        answering: number of them that answer in this pass.
        colluders: most sites that are not honest; the noise of the others alone satisfies the pass's budget.
    """
    return scale / math.sqrt(planned) * math.sqrt((planned - colluders) / (answering - colluders))


def tau(scale: float, honest: int) -> float:
    """Return a bound on the log ratio between the sum of ``honest`` discrete Gaussians and one of its variance.

    Args:
        scale: of each site's noise.
        honest: sites whose noise is unknown.
    """
    exponents = [-2 * math.pi**2 * scale**2 * k / (k + 1) for k in range(1, honest)]
    return 10 * math.fsum(math.exp(exponent) for exponent in exponents)


def concentrated_epsilon(sensitivity: float, scale: float, honest: int, integers: int) -> float:
    """Return epsilon of ``epsilon^2/2``-zCDP for the sum over honest sites (Kairouz, Liu, Steinke 2021).

    ``min(sqrt(D^2/(h s^2) + tau m/2), D/(sqrt(h) s) + tau sqrt(m))``, D the Euclidean sensitivity of m integers.
    """
    gap, plain = tau(scale, honest), sensitivity / (math.sqrt(honest) * scale)
    return min(math.sqrt(plain**2 + gap * integers / 2), plain + gap * math.sqrt(integers))


def require_fine(scale: float, honest: int) -> None:
    """Raise unless the log ratio :func:`tau` of a sum over honest sites is negligible.

    Raises:
        StudyError: the noise of one site is a few integers wide.
    """
    if tau(scale, max(honest, 2)) > MOST_TAU:
        raise StudyError(StudyFault.TOO_LITTLE_NOISE)


class NoiseShares:
    """One site's share of the noise of each pass.

    Args:
        source: of discrete Gaussians; the system's entropy for a release.
        answering: number of sites that add a share.
        colluders: most of them that are not honest.
        planned: number of sites that the release is planned for; ``None``: those that answer.
    """

    def __init__(self, source: NoiseSource, answering: int, colluders: int, planned: int | None = None) -> None:
        self.source, self.answering, self.colluders = source, answering, colluders
        self.planned = answering if planned is None else planned

    def add(self, values: np.ndarray, scale: float) -> np.ndarray:
        """Return one site's integers (k,) with its share of noise whose total has this scale; integers of any size.

        Raises:
            StudyError: the share is too coarse to be accounted for.
        """
        share = share_scale(scale, self.planned, self.answering, self.colluders)
        require_fine(share, self.answering - self.colluders)
        return np.asarray(values.astype(object) + self.source.integers(share, 1, len(values))[0].astype(object))
