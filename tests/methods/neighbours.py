"""Checks of every method: the largest distance between releases of neighbours, and the scales of its noise.

The test of a method calls :func:`distance_over_noise` for a plan whose release is linear in its noise (one step of an
iteration, for example), and :func:`noise_scales` for the scales of the noise of a whole run.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from pmtcore.accounting.budgets import Budget
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm.families import LOGISTIC
from pmtcore.mechanisms.grid import SLACK
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise, ZeroNoise
from pmtcore.methods.registry import Method, Plan, make_parameters, method
from pmtcore.public.moments import PublicData, public_from_rows
from tests.helpers import names

MU, D, ROWS, TRIALS = 1.3, 2, 2, 4000
# Five standard errors of a standard deviation that is estimated from so many releases.
SAMPLING = 5 / np.sqrt(2 * TRIALS)


def public_of(entry: Method) -> PublicData:
    """Return forty public rows: with labels where the method fits labels and no linear model."""
    rng = np.random.default_rng(4)
    x = rng.standard_normal((40, D))
    if "logistic" in entry.families and "gaussian" not in entry.families:
        return public_from_rows(x, (rng.random(40) < 0.5).astype(float), names(D), "y", ridge=0.0, family=LOGISTIC)
    return public_from_rows(x, x @ [1.0, -0.5] + rng.standard_normal(40), names(D), "y")


def plan_of(entry: Method, n: int, mu: float = MU, **values: object) -> Plan:
    """Return the plan of a method for n private rows and these public ones."""
    return entry.plan(public_of(entry), n, Budget(mu), make_parameters(entry, values))


def private_of(entry: Method, n: int) -> PrivateRows:
    """Return n private rows of the same kind as the public ones."""
    rng = np.random.default_rng(2)
    x = rng.standard_normal((n, D))
    labels = public_of(entry).family is LOGISTIC
    return PrivateRows.from_arrays(x, (rng.random(n) < 0.5).astype(float) if labels else x @ [1.0, 1.0], names(D))


def one_row(x: np.ndarray, y: float) -> PrivateRows:
    """Return one hostile row and one far along the first axis, so that the smallest eigenvalue changes too."""
    return PrivateRows.from_arrays(np.vstack([x, [1e5, 0.0]]), np.append(y, 0.0), names(D))


def hostile_rows(seed: int) -> Iterator[tuple[np.ndarray, float]]:
    """Yield a row of zeros, and long and short rows in many directions with extreme and moderate responses."""
    rng = np.random.default_rng(seed)
    yield np.zeros(D), 0.0
    for turn in np.linspace(0, np.pi, 25):
        for size in (1e5, 1e5, 0.3 * rng.random() + 0.1):
            for y in (-1e7, 0.0, 1.0, 1e7):
                yield size * np.array([np.cos(turn), np.sin(turn)]), y


def distance_over_noise(id: str, **values: object) -> float:
    """Return the largest distance of neighbours' releases, in units of the noise, as a share of mu.

    For a plan within its budget it is below ``1 + SAMPLING``; for one that uses all of it, near 1. Distances are in the
    metric of the noise's covariance, estimated from thousands of seeded releases: the release has to be linear in its
    noise.

    Args:
        id: of the method.
        values: of its parameters; ``steps=1`` for an iteration.
    """
    entry = method(id)
    plan = plan_of(entry, 1 if entry.local else ROWS, **values)

    def table(x: np.ndarray, y: float) -> PrivateRows:
        return PrivateRows.from_arrays(x[None], np.array([y]), names(D)) if entry.local else one_row(x, y)

    noise = plan.run(table(np.zeros(D), 0.0), SeededNoise(7), TRIALS).transcript()
    points = np.stack([plan.run(table(x, y), ZeroNoise(), 1).transcript()[0] for x, y in hostile_rows(3)])
    points = np.linalg.solve(np.linalg.cholesky(np.atleast_2d(np.cov(noise.T))), points.T).T
    return float(np.max(np.linalg.norm(points[:, None] - points[None], axis=2))) / MU


class RecordedNoise(NoiseSource):
    """Seeded noise that records the scale of every draw of integer noise, and refuses noise in floating point."""

    secure = False

    def __init__(self) -> None:
        self.inner, self.draws = SeededNoise(3), []

    def integers(self, sigma, trials, size):
        """See :class:`NoiseSource`."""
        self.draws.append((sigma, size))
        return self.inner.integers(sigma, trials, size)

    def spherical(self, scale, trials, size):
        """See :class:`NoiseSource`."""
        self.draws.append((scale, size))
        return self.inner.spherical(scale, trials, size)

    def words(self, trials, size):
        """See :class:`NoiseSource`."""
        self.draws.append((np.inf, size))
        return self.inner.words(trials, size)

    def normal(self, trials, size):
        """Refuse, since the noise of a release is on a grid."""
        raise AssertionError("noise in floating point")


def noise_scales(id: str, n: int = 60, **values: object) -> tuple[list[tuple[float, int]], Plan]:
    """Return scale and size of each draw of integer noise in one release, in order, and the plan.

    Args:
        id: of the method.
        n: number of private rows.
        values: of its parameters.
    """
    entry = method(id)
    plan, noise = plan_of(entry, n, **values), RecordedNoise()
    plan.run(private_of(entry, n), noise, 1)
    return noise.draws, plan


def assert_costs(mu: float) -> None:
    """Check that a cost is the budget less the slack of the discrete Gaussian (proofs/noise.md, 14)."""
    assert mu <= MU / (1 + SLACK) * (1 + 1e-9)
    assert mu == pytest.approx(MU, rel=2e-6)
