"""Guided demonstrations for teaching: each has a setting, the numbers of a chart, and a sentence that sums it up.

Everything here is synthetic and seeded: nothing is a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from pmtcore.accounting.budgets import compose
from pmtcore.base.numbers import rounded
from pmtcore.mechanisms.noise import SeededNoise, symmetric_noise
from pmtcore.mechanisms.truncation import cross_sensitivity, moment_sensitivity, truncate

_ROWS = 400  # points of a cloud that can still be distinguished
_N = 5000  # rows at which the noise of the lesson's budgets is visible
_REACH = 3.0  # radius over the root of the summed variances: at most one row in a thousand is longer
_BALL = 2.25  # condition number at which one direction is 1.5 times as long as the other
_LONG = 9.0  # condition number at which one direction is three times as long as the other
_SAMPLES = 201  # samples of public rows, of which the one with the median condition number is drawn


@dataclass(frozen=True)
class Cloud:
    """Points before and after whitening with a public sample (k, 2), both condition numbers, the sample both ways."""

    before: np.ndarray
    after: np.ndarray
    kappa_before: float
    kappa_after: float
    public_before: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))
    public_after: np.ndarray = field(default_factory=lambda: np.empty((0, 2)))

    @property
    def sentence(self) -> str:
        """Return the sentence that sums the lesson up."""
        before, after = (rounded(math.sqrt(kappa), 2) for kappa in (self.kappa_before, self.kappa_after))
        if self.kappa_after >= self.kappa_before:
            return f"Too few public rows: {before} times as long as wide before, {after} times after."
        return (
            f"Whitening takes the private rows from {before} times as long as wide to {after} times: "
            f"{roundness(self.kappa_after)}."
        )

    @property
    def note(self) -> str:
        """Render the condition numbers, and what they do not depend on."""
        return (
            f"Condition number of the private rows, the square of that ratio: {rounded(self.kappa_before)} before, "
            f"{rounded(self.kappa_after)} after. The right side does not depend on how long the cloud was, only on the "
            "public rows."
        )


def roundness(kappa: float) -> str:
    """Say what this condition number of whitened rows means for the noise.

    >>> roundness(1.2), roundness(5.1), roundness(30.0)
    ('nearly a ball, so noise does about the same harm in every direction', 'rounder, not yet a ball', 'still long')
    """
    if kappa <= _BALL:
        return "nearly a ball, so noise does about the same harm in every direction"
    return "rounder, not yet a ball" if kappa <= _LONG else "still long"


def whitening(ratio: float, public_rows: int) -> Cloud:
    """Whiten a cloud of condition number ``ratio`` with a number of public rows of the same population.

    The cloud is scaled to exactly that condition number, so that setting and sentence agree. Of many samples of public
    rows the one with the median condition number is used.
    """
    rng = np.random.default_rng(11)
    turn = np.array([[0.8, -0.6], [0.6, 0.8]])
    axes = np.diag([1.0, 1 / ratio]) @ turn
    drawn = rng.standard_normal((_ROWS, 2))
    private = np.linalg.solve(np.linalg.cholesky(drawn.T @ drawn / _ROWS), drawn.T).T @ axes
    public = np.random.default_rng(16).standard_normal((_SAMPLES, public_rows, 2)) @ axes
    roots = np.linalg.cholesky(public.swapaxes(1, 2) @ public / public_rows)
    clouds = np.linalg.solve(roots, np.broadcast_to(private.T, (_SAMPLES, 2, _ROWS)))
    kappas = np.linalg.cond(clouds @ clouds.swapaxes(1, 2))
    middle = int(np.argsort(kappas)[_SAMPLES // 2])
    after = np.linalg.solve(roots[middle], public[middle].T).T
    before, left = float(np.linalg.cond(private.T @ private)), float(kappas[middle])
    return Cloud(private, clouds[middle].T, before, left, public[middle], after)


@dataclass(frozen=True)
class Solutions:
    """Slopes (trials, 2) from a noisy moment as it is and whitened, around the true ones."""

    plain: np.ndarray
    whitened: np.ndarray
    true: np.ndarray
    ratio: float

    @property
    def sentence(self) -> str:
        """Return the sentence that sums the lesson up."""
        far, near = (float(np.median(np.linalg.norm(x - self.true, axis=1))) for x in (self.plain, self.whitened))
        distances = f"the slopes typically lie {rounded(far)} from the truth without whitening, {rounded(near)} with"
        if far < 1.2 * near:
            why = "The rows are round already" if self.ratio <= 1 else "The noise swamps both"
            return f"{why}: {distances}."
        return (
            f"At the same budget {distances}. Noise added to a moment is divided by its smallest eigenvalue when the "
            f"moment is inverted."
        )


def inverse(ratio: float, mu: float, trials: int = 200) -> Solutions:
    """Compute least squares from noisy moments of the same rows, as they are and whitened, at one total budget.

    In both cases each of the two parts has ``mu/sqrt(2)``, responses are clipped at the same bound, and the radius
    contains 99.9 % of the rows of this known design: no bound is computed from the rows.
    """
    rng = np.random.default_rng(12)
    true = np.array([1.0, -1.0])
    axes = np.array([1.0, 1 / ratio])
    x = rng.standard_normal((_N, 2)) * axes
    bound = _REACH * float(np.linalg.norm(axes * true))
    y = np.clip(x @ true + 0.1 * rng.standard_normal(_N), -bound, bound)
    part, solutions = mu / np.sqrt(2), []
    for at, w in enumerate((np.eye(2), np.diag(1 / axes))):
        radius = _REACH * float(np.linalg.norm(np.diag(w) * axes))
        z = truncate(x @ w, radius)
        noise = moment_sensitivity(radius, _N) / part * symmetric_noise(SeededNoise(13, at), trials, 2, "isometric")
        cross = z.T @ y / _N + cross_sensitivity(radius, bound, _N) / part * SeededNoise(14, at).normal(trials, 2)
        solutions.append(np.linalg.solve(z.T @ z / _N + noise, cross[..., None])[..., 0] @ w)
    return Solutions(solutions[0], solutions[1], true, ratio)


@dataclass(frozen=True)
class Radii:
    """Squared error of a truncated mean moment along the radius: bias, noise, both."""

    radius: np.ndarray
    bias: np.ndarray
    noise: np.ndarray
    chosen: float

    @property
    def total(self) -> np.ndarray:
        """Return bias and noise together."""
        return self.bias + self.noise

    @property
    def sentence(self) -> str:
        """Return the sentence that sums the lesson up."""
        best, least = float(self.radius[np.argmin(self.total)]), float(np.min(self.total))
        # The best radius is not stated, since the reader is asked to find it.
        times = rounded(float(np.interp(self.chosen, self.radius, self.total)) / least, 2)
        side = "too small: too many rows are shortened" if self.chosen < best else "too large: the noise grows with it"
        word = "about right" if best / 1.3 <= self.chosen <= best * 1.3 else side
        return (
            f"Rows longer than {rounded(self.chosen, 2)} are shortened to it. That is {word}: the squared error is "
            f"{times} times the least."
        )


def radius(chosen: float, mu: float, n: int = 2000) -> Radii:
    """Compute the truncation loss and noise of a second moment of Gaussian rows in five dimensions."""
    rows = np.random.default_rng(15).standard_normal((20_000, 5))
    grid = np.geomspace(0.5, 12, 60)
    norms = np.linalg.norm(rows, axis=1)
    lost = [np.mean(1 - np.minimum(1, (r / norms) ** 2) * norms**2 / np.mean(norms**2)) for r in grid]
    bias = 5 * np.asarray(lost) ** 2
    noise = np.asarray([15 * (moment_sensitivity(float(r), n) / mu) ** 2 for r in grid])
    return Radii(grid, bias, noise, chosen)


def composition(mu: float, releases: int) -> tuple[np.ndarray, np.ndarray, str]:
    """Return the total mu after 1, 2, ... releases of mu, the sum of their mu, and the sentence."""
    count = np.arange(1, releases + 1)
    total = np.asarray([compose([mu] * int(k)) for k in count])
    words = (
        f"{releases} releases of mu = {mu:g} cost {rounded(float(total[-1]))} together, not {rounded(releases * mu)}: "
        f"squares add up, as with the length of independent errors."
    )
    return total, mu * count, words
