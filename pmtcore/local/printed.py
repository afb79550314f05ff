"""The local algorithms as paper C prints them, for the lab, and attacks on them (E5, E6, E7).

* E5: a device whose row lies outside the radius answers with a symbol that no other device gives.
* E6: the classical Gaussian formula, at half of epsilon and delta for each of the two parts.
* E7: the l1 norm as radius where the noise needs the Euclidean one: loose only.

Proofs and figures: proofs/local.md, 12.
"""

import math
from dataclasses import dataclass

import numpy as np

from pmtcore.base.symmetric import isometric_scale
from pmtcore.local.protocol import Configuration
from pmtcore.mechanisms.noise import NoiseSource

# Distance of the attacker's second candidate, in units of the radius.
_OUTSIDE_FACTOR = 1.01


def answered_by_symbol(configuration: Configuration, features: np.ndarray) -> np.ndarray:
    """Return a mask (k,) of the rows (k, d) that the printed algorithm answers with a symbol instead of a number."""
    return np.linalg.norm(features - configuration.shift, axis=1) > configuration.radius


def classical_size(epsilon: float, delta: float) -> float:
    """Return noise over ``r^2`` and ``r Y``: ``sqrt(32 log(2.5/delta))/epsilon`` (C, Lemma 4 and Algorithms 1 to 4)."""
    return math.sqrt(32 * math.log(2.5 / delta)) / epsilon


def printed_sds(configuration: Configuration, epsilon: float, delta: float) -> np.ndarray:
    """Return the printed noise on each coordinate of a report (dimension,).

    Every entry of the upper triangle of ``x x'`` has the same noise, so an off-diagonal entry counts sqrt(2)
    times in the coordinates of a report.
    """
    c, size = configuration, classical_size(epsilon, delta)
    gram = isometric_scale(c.d) * c.radius**2 * size
    return np.concatenate([gram, np.full(c.d, c.radius * c.response_bound * size)])


@dataclass(frozen=True)
class SymbolAttack:
    """Error rates of an attacker who sees one report and must say which of two rows it came from.

    Attributes:
        detections: share of reports of the row outside that the attacker names as such.
        false_alarms: share of reports of the row on the radius that the attacker names so too.
        trials: number of reports of each row.
    """

    detections: float
    false_alarms: float
    trials: int


def symbol_attack(configuration: Configuration, trials: int, source: NoiseSource, printed: bool) -> SymbolAttack:
    """Attack a row on the radius and one a hundredth further out in the same direction.

    In each trial the attacker sees one report of each. The attacker's rule: a symbol means the row outside. Where
    devices clip instead there is no symbol, and the best remaining rule is a report longer than usual in the direction
    of the rows.
    """
    c = configuration
    direction = np.zeros((1, c.d))
    direction[0, -1] = 1.0
    named_outside = []
    for reach in (1.0 - 1e-9, _OUTSIDE_FACTOR):
        row = reach * c.radius * direction + c.shift
        rows, response = np.repeat(row, trials, axis=0), np.full(trials, c.high)
        if printed:
            named_outside.append(answered_by_symbol(c, rows))
            continue
        expected = c.statistic(row, response[:1])[0]
        reports = c.randomize(rows, response, source)
        named_outside.append((reports - expected) @ (expected / c.noise_sds() ** 2) > 0)
    return SymbolAttack(float(np.mean(named_outside[1])), float(np.mean(named_outside[0])), trials)
