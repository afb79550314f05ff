"""Publishing a minimizer that was found in floating point, with a proof for the bits that leave (maths.md, 21).

The ideal mechanism has real numbers, a continuous perturbation b and the exact minimizer. What is computed has b on a
grid and a minimizer found to a tolerance; by strong convexity the two lie within a public distance of each other. The
computed one is moved into a ball (the distance holds there whatever the rows are), rounded to integers, and gets
integer noise that covers the distance: a second mechanism, paid for, composed with the ideal one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.glm.newton import ROWS_AT_ONCE
from pmtcore.mechanisms.grid import FINE, SLACK
from pmtcore.mechanisms.noise import NoiseSource

_UNIT = 2.0**-53  # relative error of one operation
_OPERATIONS = 64  # beside the sums: products, differences, the ulps of an exponential; a bound with room
_SDS = 40.0  # length of b in sds beyond which everything is counted as failed (e^-800)
_STEPS = 2.0**60  # to the radius of the ball, at most: integers have 63 bits


@final
@dataclass(frozen=True)
class Doubt:
    """What floating point may leave of a gradient at theta: ``fixed + slope |theta - c|``."""

    fixed: float
    slope: float


@final
@dataclass(frozen=True, kw_only=True)
class Sums:
    """Public constants of a perturbed objective over n rows in d dimensions.

    Attributes:
        length: of a row times its weight, at most.
        row: length of a row.
        score, curvature: bounds on ``|l'|`` and ``l''``.
        response: bound on responses.
        held: Frobenius norm of the quadratic term.
        centre: length of its centre.
        noise: standard deviation of a coordinate of b.
        sharp: sum of the lasso weights.
    """

    n: int
    d: int
    length: float
    row: float
    score: float
    curvature: float
    response: float
    held: float
    centre: float
    noise: float
    sharp: float = 0.0

    @property
    def doubt(self) -> Doubt:
        """Sums in blocks of 4096 rows, then over blocks, in any order within a block; each l' rounded."""
        depth = min(self.n, ROWS_AT_ONCE) + math.ceil(self.n / ROWS_AT_ONCE) + _OPERATIONS
        by_theta = self.n * self.length * self.curvature * (self.d + 8) * self.row + 2 * (self.d + 8) * self.held
        fixed = (
            depth * self.n * self.length * (self.score + self.curvature * self.response)
            + by_theta * self.centre
            + 4 * (_SDS * math.sqrt(self.d) * self.noise + self.sharp)
        )
        return Doubt(2 * _UNIT * fixed, 2 * _UNIT * by_theta)


@final
@dataclass(frozen=True, eq=False)
class Optimum:
    """How a minimizer leaves.

    Attributes:
        centre: (d,), middle of the ball.
        ball: its radius.
        modulus: of strong convexity.
        wanted: length of the gradient at which a minimizer counts as found, if floating point can tell.
        doubt: what it can tell.
        step_of_noise: of the grid of b.
    """

    centre: np.ndarray
    ball: float
    modulus: float
    wanted: float
    doubt: Doubt
    step_of_noise: float

    def tolerance(self, theta: np.ndarray) -> np.ndarray:
        """Length of the gradient (t,) that ends the search at coefficients (t, d): never below what rounding leaves.

        A public rule: a release must not fail because of a row.
        """
        away = np.linalg.norm(theta - self.centre, axis=1)
        return np.asarray(max(self.wanted, self.doubt.fixed) + self.doubt.slope * away)

    @property
    def distance(self) -> float:
        """How far the computed minimizer, moved into the ball, may lie from the ideal one, moved into it too."""
        slip = self.step_of_noise * math.sqrt(len(self.centre)) / 2
        fixed = (max(self.wanted, self.doubt.fixed) + self.doubt.fixed + slip) / self.modulus
        slope = 2 * self.doubt.slope / self.modulus
        found = fixed + 2 * self.ball * slope + 8 * _UNIT * self.ball
        if slope > 0.25 or fixed > self.ball / 2:  # then only that both lie in the ball
            return 2 * self.ball
        return min(found, 2 * self.ball)

    @property
    def step(self) -> float:
        """One step of the grid on which the minimizer leaves."""
        return max(2 * self.distance / FINE, self.ball / _STEPS)

    @property
    def sensitivity(self) -> float:
        """How many steps apart the integers of two neighbours lie, at most, given the ideal minimizer."""
        return FINE + math.sqrt(len(self.centre))

    @property
    def moved(self) -> float:
        """The same in the units of the coefficients."""
        return self.sensitivity * self.step

    def integers(self, theta: np.ndarray) -> np.ndarray:
        """Coefficients (t, d) moved into the ball, in steps from its centre."""
        away = theta - self.centre
        length = np.linalg.norm(away, axis=1)
        inside = away * np.minimum(1.0, self.ball / np.maximum(length, 1e-300))[:, None]
        return np.rint(inside / self.step).astype(np.int64)

    def gaussian(self, theta: np.ndarray, mu: float, source: NoiseSource) -> np.ndarray:
        """Coefficients (t, d) with discrete Gaussian noise.

        Guarantee: mu-GDP given the ideal minimizer (maths.md, 21).
        """
        noise = source.integers((1 + SLACK) * self.sensitivity / mu, *theta.shape)
        return np.asarray(self.centre + (self.integers(theta) + noise) * self.step)

    def pure(self, theta: np.ndarray, epsilon: float, source: NoiseSource) -> np.ndarray:
        """Coefficients (t, d) with spherical integer noise.

        Guarantee: epsilon-private given the ideal minimizer (maths.md, 21).
        """
        noise = source.spherical(self.sensitivity / epsilon, *theta.shape)
        return np.asarray(self.centre + (self.integers(theta) + noise) * self.step)
