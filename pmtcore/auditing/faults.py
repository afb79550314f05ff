"""Planted faults: broken mechanisms that the audit must catch, each by name, and errata as attacks.

Each is a mistake that somebody could make, or that a paper prints; each claims ``mu`` and does not satisfy it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from pmtcore.accounting.budgets import FIRST
from pmtcore.auditing.lower_bound import Audit, People, audit, audit_of, epsilon_bound
from pmtcore.mechanisms.noise import LabNoise, NoiseSource, SeededNoise, in_the_lab

# A value that no honest release takes.
_IMPOSSIBLE_VALUE = 1e4


class UnderscaledNoise(LabNoise):
    """Noise that is too small by a factor."""

    def __init__(self, source: NoiseSource, share: float) -> None:
        self._source, self._share = source, share

    def normal(self, trials: int, size: int) -> np.ndarray:
        """Draw scaled-down noise. See :class:`NoiseSource`."""
        return np.asarray(self._share * in_the_lab(self._source).normal(trials, size))

    def integers(self, sigma: float, trials: int, size: int) -> np.ndarray:
        """Draw scaled-down noise. See :class:`NoiseSource`."""
        return self._source.integers(self._share * sigma, trials, size)

    def spherical(self, scale: float, trials: int, size: int) -> np.ndarray:
        """Draw scaled-down noise. See :class:`NoiseSource`."""
        return self._source.spherical(self._share * scale, trials, size)

    def words(self, trials: int, size: int) -> np.ndarray:
        """Draw from the source behind. See :class:`NoiseSource`."""
        return self._source.words(trials, size)


@dataclass(frozen=True)
class Fault:
    """One planted fault: its id, its description, and its audit at a claim with so many trials."""

    id: str
    words: str
    run: Callable[[float, int], Audit]


def _simulated(id: str, words: str, mechanism: Callable[[float, int, np.ndarray], np.ndarray], width: int = 1) -> Fault:
    """Return the fault of a mechanism written as ``f(mu, table, normals (trials, width))``."""

    def run(mu: float, trials: int) -> Audit:
        def runs(table: int, count: int, stream: int) -> np.ndarray:
            return mechanism(mu, table, SeededNoise(3, table, stream).normal(count, width))

        return audit_of(id, mu, runs, trials, pair="planted")

    return Fault(id, words, run)


def _one_step_more(mu: float, table: int, z: np.ndarray) -> np.ndarray:
    """Split the budget for T = 2 steps but take T + 1 = 3, which costs sqrt(3/2) = 1.22 times the claim."""
    return table * 1.0 + z[:, :3] / (mu / math.sqrt(2))


def _own_radius(mu: float, table: int, z: np.ndarray) -> np.ndarray:
    """Scale the noise by the largest private row: a row of zeros against a distant one."""
    largest = 1.0 if table == 0 else 10.0
    return np.asarray(largest / mu * z[:, :1] ** 2)


def _bottom(mu: float, table: int, z: np.ndarray) -> np.ndarray:
    """Answer with a special symbol for a row outside the radius (E5)."""
    return np.full((len(z), 1), _IMPOSSIBLE_VALUE) if table else z[:, :1] / mu


def _cut_off(mu: float, table: int, z: np.ndarray) -> np.ndarray:
    """Truncate the noise at two standard deviations, so that some values are possible under one table only."""
    return np.asarray(table + np.clip(z[:, :1], -2.0, 2.0) / mu)


def _own_weights(mu: float, table: int, z: np.ndarray) -> np.ndarray:
    """Compute a penalty weight from the private fit: the noise is divided by a number that depends on the data."""
    weight = 1.0 if table == 0 else 2.0
    return np.asarray((table + z[:, :1] / mu) / weight)


def _reused(mu: float, table: int, z: np.ndarray) -> np.ndarray:
    """Add the same noise to two statistics, of which only one depends on the row: their difference has none."""
    noise = z[:, :1] / mu
    return np.hstack([table + noise, noise])


FAULTS = {
    fault.id: fault
    for fault in (
        Fault(
            "less-noise",
            "noise 20 % too small",
            lambda mu, trials: audit(
                "joint-pmt", mu, trials, noise=lambda source: UnderscaledNoise(source, 0.8), passes="1"
            ),
        ),
        Fault(
            "forgotten-part",
            "the sensitivity of the cross moment forgotten",
            lambda mu, trials: audit(
                "pmt-ridge",
                mu,
                trials,
                change=lambda plan: replace(plan, response_noise_factor=0.1),  # type: ignore[type-var]
            ),
        ),
        _simulated("one-step-more", "T + 1 steps on the budget of T", _one_step_more, 3),
        _simulated("own-radius", "the radius computed from private rows (E4)", _own_radius),
        _simulated("bottom-symbol", "a symbol for rows outside the radius (E5)", _bottom),
        _simulated("truncated-noise", "noise cut off at two standard deviations", _cut_off),
        _simulated("own-weights", "weights from the private fit (E12)", _own_weights),
        Fault(
            "all-rows",
            "three rows of a person count where one was promised",
            lambda mu, trials: audit("joint-pmt", mu, trials, people=People.of(1, FIRST, applied=3), passes="1"),
        ),
        _simulated("reused-noise", "one noise for two statistics (E13)", _reused),
    )
}


def wrong_shape(trials: int, *, shape: float | None = 1.0) -> tuple[float, float]:
    """Audit E8: ``||b|| ~ Gamma(1)`` in p = 5 dimensions in place of ``Gamma(p)``, at delta 0.

    The release is ``x + b``, with two tables whose x are opposite and a unit apart; printed shape 1, proved shape p
    (``shape=None``). Near its mode the printed density falls faster than epsilon-privacy allows.

    Returns:
        The claimed epsilon and its lower bound.
    """
    p, claimed = 5, 1.0
    rng = np.random.default_rng(8)
    centre = np.zeros(p)
    centre[0] = 0.5  # the two tables are a unit apart: sensitivity 1

    def draw(sign: float, count: int) -> np.ndarray:
        direction = rng.standard_normal((count, p))
        direction /= np.linalg.norm(direction, axis=1)[:, None]
        length = rng.gamma(p if shape is None else shape, 1 / claimed, count)
        return sign * centre + length[:, None] * direction

    def near(released: np.ndarray) -> np.ndarray:
        return np.linalg.norm(released - centre, axis=1) < 0.25

    half = trials // 2
    false_alarms = int(np.sum(near(draw(-1.0, half))))
    missed = int(np.sum(~near(draw(1.0, half))))
    return claimed, epsilon_bound(false_alarms, missed, half, 0.0)
