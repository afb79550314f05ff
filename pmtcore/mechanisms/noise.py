"""Sources of noise, the shape of the noise, and the only mechanisms that open a private figure.

Calibration: a statistic with l2 (Frobenius) sensitivity ``s`` plus ``N(0, (s/mu)^2)`` in each coordinate is
mu-GDP (A, Theorem 2.2). Proofs: ``docs/proofs/gaussian.md``, 2.

The source of noise is always an argument: :class:`SecureNoise` for releases, :class:`SeededNoise` for the lab. There is
no default. The source for releases has integers only, so a sound method cannot add noise in floating point.
"""

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.special import ndtr

from pmtcore.base.messages import whole_number_between
from pmtcore.base.private_rows import Curator, Private
from pmtcore.base.symmetric import from_upper_triangle, isometric_scale
from pmtcore.mechanisms.discrete_gaussian import LARGEST_DRAWN, discrete_gaussian
from pmtcore.mechanisms.spherical import spherical_integers

Form = Literal["isometric", "papers"]
_MECHANISM = Curator("a mechanism adds noise to it")


class NoiseSource(ABC):
    """Source of random integers and bits; sound methods use no other randomness.

    Attributes:
        secure: True where a release may use this source.
        seed: seed of a reproducible source, else None.
    """

    secure: bool
    seed: int | None = None

    @abstractmethod
    def integers(self, sigma: float, trials: int, size: int) -> np.ndarray:
        """Draw independent discrete Gaussian integers of scale ``sigma``, shape (trials, size), from a fresh stream.

        Beyond :data:`LARGEST_DRAWN` they are Python integers, which have no end.
        """

    def noisy(self, parts: Sequence[tuple[np.ndarray, float]], trials: int) -> list[np.ndarray]:
        """Return the integers of one statistic with discrete Gaussian noise, each part at its own scale.

        All integer mechanisms open their sums here, so that several institutions can add theirs up instead
        (:mod:`pmtcore.sites`).

        Args:
            parts: integers (k,) or (trials, k), and the scale of their noise.
            trials: independent releases.

        Returns:
            For each part (trials, k).
        """
        return [value + self.integers(sigma, trials, value.shape[-1]) for value, sigma in parts]

    @abstractmethod
    def spherical(self, scale: float, trials: int, size: int) -> np.ndarray:
        """Draw integer vectors (trials, size).

        Each is the rounding of a real vector of density proportional to ``exp(-|b|/scale)``.
        """

    @abstractmethod
    def words(self, trials: int, size: int) -> np.ndarray:
        """Draw independent uniform 64-bit words (trials, size) from a fresh stream."""


class LabNoise(NoiseSource):
    """Source of noise in floating point, whose bits could distinguish rows: for the lab only."""

    secure = False

    @abstractmethod
    def normal(self, trials: int, size: int) -> np.ndarray:
        """Draw independent N(0, 1) numbers of shape (trials, size) from a fresh stream."""

    def integers(self, sigma: float, trials: int, size: int) -> np.ndarray:
        """Round Gaussian numbers, which is the law of the exact sampler where sigma is large.

        See :meth:`NoiseSource.integers`.
        """
        rounded = np.rint(sigma * self.normal(trials, size))
        if sigma > LARGEST_DRAWN:
            return np.array([int(value) for value in rounded.flat], dtype=object).reshape(rounded.shape)
        return rounded.astype(np.int64)

    def spherical(self, scale: float, trials: int, size: int) -> np.ndarray:
        """Round vectors of :func:`spherical`. See :meth:`NoiseSource.spherical`."""
        return np.rint(scale * spherical(self, trials, size)).astype(np.int64)


def in_the_lab(source: NoiseSource) -> LabNoise:
    """Return the source, which must be one of the lab.

    Raises:
        TypeError: it is not; a method that asks for numbers in floating point is no method for a release.
    """
    if not isinstance(source, LabNoise):
        raise TypeError("noise in floating point is for the lab; a release has integers")
    return source


class SecureNoise(NoiseSource):
    """Source from the operating system's entropy: bits and exactly sampled integers, nothing in floating point."""

    secure = True

    def spherical(self, scale: float, trials: int, size: int) -> np.ndarray:
        """Draw exactly (proofs/minimizer.md, 21). See :meth:`NoiseSource.spherical`."""
        return np.stack([spherical_integers(scale, size) for _ in range(trials)])

    def words(self, trials: int, size: int) -> np.ndarray:
        """Draw from the operating system. See :meth:`NoiseSource.words`."""
        return np.frombuffer(os.urandom(8 * trials * size), dtype=np.uint64).reshape(trials, size)

    def integers(self, sigma: float, trials: int, size: int) -> np.ndarray:
        """Draw exactly (proofs/noise.md, 14). See :meth:`NoiseSource.integers`."""
        if sigma > LARGEST_DRAWN:
            parts = math.ceil((sigma / LARGEST_DRAWN) ** 2)
            drawn = (self.integers(sigma / math.sqrt(parts), trials, size) for _ in range(parts))
            return sum(drawn, start=np.zeros((trials, size), dtype=object))
        return discrete_gaussian(sigma, trials * size).reshape(trials, size)


class SeededNoise(LabNoise):
    """Reproducible source for the lab.

    More trials extend fewer: row t does not depend on how many trials follow.

    Args:
        seed: seed set by the user.
        path: further integers that separate streams under one seed (method, block of trials).
    """

    def __init__(self, seed: int, *path: int) -> None:
        self.seed = whole_number_between("seed", seed, 0, 2**63 - 1)
        self._streams = np.random.SeedSequence((self.seed, *path))

    def normal(self, trials: int, size: int) -> np.ndarray:
        """Draw from a seeded stream. See :meth:`LabNoise.normal`."""
        (stream,) = self._streams.spawn(1)
        return np.random.Generator(np.random.PCG64DXSM(stream)).standard_normal((trials, size))

    def words(self, trials: int, size: int) -> np.ndarray:
        """Draw from a seeded stream. See :meth:`NoiseSource.words`."""
        (stream,) = self._streams.spawn(1)
        return np.random.Generator(np.random.PCG64DXSM(stream)).integers(0, 2**64, (trials, size), dtype=np.uint64)


class ZeroNoise(LabNoise):
    """Source of zeros, for the algebra in tests and demonstrations."""

    def normal(self, trials: int, size: int) -> np.ndarray:
        """Return zeros. See :meth:`LabNoise.normal`."""
        return np.zeros((trials, size))

    def words(self, trials: int, size: int) -> np.ndarray:
        """Return zeros. See :meth:`NoiseSource.words`."""
        return np.zeros((trials, size), dtype=np.uint64)


def uniform(source: NoiseSource, trials: int, size: int) -> np.ndarray:
    """Draw independent numbers from (0, 1), shape (trials, size), from the same source as the noise."""
    return np.asarray(ndtr(in_the_lab(source).normal(trials, size)))


def spherical(source: NoiseSource, trials: int, size: int) -> np.ndarray:
    """Draw vectors (trials, size) of density proportional to ``exp(-|b|)`` in floating point, for the lab.

    Each is a direction times a length that is ``Gamma(size)`` (E8), drawn as a sum of ``-log U``.
    """
    direction = in_the_lab(source).normal(trials, size)
    direction = direction / np.maximum(np.linalg.norm(direction, axis=1), 1e-300)[:, None]
    length = -np.log(np.maximum(uniform(source, trials, size), 1e-300)).sum(axis=1)
    return np.asarray(length[:, None] * direction)


def sigma_for(sensitivity: float, mu: float) -> float:
    """Return the noise standard deviation at which a statistic of this l2 sensitivity is mu-GDP.

    Raises:
        ValueError: sensitivity or mu is not positive and finite.
    """
    if not (sensitivity > 0 and mu > 0 and np.isfinite(sensitivity) and np.isfinite(mu)):
        raise ValueError("sensitivity and mu must be positive and finite")
    return sensitivity / mu


def symmetric_noise(source: NoiseSource, trials: int, d: int, form: Form) -> np.ndarray:
    """Draw symmetric matrices of unit noise, (trials, d, d).

    ``papers``: upper triangle with diagonal i.i.d. N(0, 1), mirrored (``SG_d`` of A). ``isometric``: the same
    with the off-diagonal variance halved, which is N(0, I) in the coordinates ``(M_ii, sqrt(2) M_ij)`` where
    the Euclidean norm is the Frobenius norm: private with the same sensitivity, and strictly less noise.
    """
    draws = in_the_lab(source).normal(trials, d * (d + 1) // 2)
    if form == "isometric":
        draws = draws * np.where(isometric_scale(d) > 1, np.sqrt(0.5), 1.0)
    return from_upper_triangle(draws, d)


def release_vector(statistic: Private[np.ndarray], sigma: float, source: NoiseSource, trials: int) -> np.ndarray:
    """Return a private vector plus independent noise, shape (trials, k).

    Args:
        statistic: private vector (k,), or one for each trial.
        sigma: standard deviation of the noise on each coordinate.
        source: source of the noise.
        trials: number of independent releases.

    Guarantee: mu-GDP for ``sigma = sensitivity / mu``, sensitivity in Euclidean norm (``docs/proofs/gaussian.md``, 2).
    """
    value = statistic.reveal(_MECHANISM)
    return value + sigma * in_the_lab(source).normal(trials, value.shape[-1])
