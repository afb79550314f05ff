"""Second moments of the private features, each whitened by the one released before it (proofs/radius.md, 5.2).

Public rows whiten private ones badly where a few private rows are far longer than all public ones, or where the private
variance along a direction is much smaller. Then no ball in public units combines little truncation with little noise.
With P = W^{-T} W^{-1} released, rows ``W'x~`` have a second moment of about I, so that none is longer than ``sqrt(n)``.
W is called a metric; the first is I, in public units. Each pass releases at metric W:

    R   the edge beyond which a histogram of ``|W'x~|`` has no row, but at most the radius with a noise norm of 0.3
    P   W^{-T} ((1/n) sum u u' + G) W^{-1},   u = W'x~ min(1, R/|W'x~|),   sigma = sqrt(2) R^2/(mu n)

W is a function of released figures alone, so that the sensitivity of each pass is that of a ball and of a histogram.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.private_rows import Private, PrivateRows, RowCache
from pmtcore.base.symmetric import upper_triangle
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.passes import CURVATURE_SENSITIVITY, HISTOGRAM_SENSITIVITY, CurvatureSum, LengthCounts
from pmtcore.mechanisms.quantized_rows import QuantizedRows, Quantizer
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.joint.passes import Gradient, SecondPass, in_public_units
from pmtcore.public.moments import PublicData

# Share of the pass's mu^2 for its histogram: from mu 200 on the noise sd of a count is below a tenth of a row.
_COUNTING_SHARE = 1 / 16
# Edges of the histogram in whitened units, from the smallest radius worth choosing to beyond every row.
_EDGES = np.append(0.0, 2.0 ** (np.arange(-8, 97) / 4))
# A bin counts as occupied above this many noise sds (one false in 30,000 bins) and above half a row.
_OCCUPIED_DEVIATIONS, _HALF_A_ROW = 4.0, 0.5
# Largest noise norm of a moment; rows longer than that allows are released by later passes, in a better metric.
_MOST_MOMENT_ERROR = 0.3


@dataclass(frozen=True)
class MetricPass:
    """One release of a histogram of lengths and of the second moment of features, with ``mu`` for both."""

    public: PublicData
    n: int
    mu: float

    @property
    def counting_mu(self) -> float:
        """Return the budget of the histogram."""
        return self.mu * math.sqrt(_COUNTING_SHARE)

    @property
    def moment_mu(self) -> float:
        """Return the budget of the moment."""
        return self.mu * math.sqrt(1 - _COUNTING_SHARE)

    @property
    def counting_sd(self) -> float:
        """Return the noise sd of each count."""
        return sigma_for(HISTOGRAM_SENSITIVITY, self.counting_mu)

    @property
    def unit_sigma(self) -> float:
        """Return the noise scale of the moment in units of the squared radius."""
        return sigma_for(CURVATURE_SENSITIVITY / self.n, self.moment_mu)

    def radius(self, counts: np.ndarray) -> np.ndarray:
        """Return radii (T,) for histograms (T, K): the edge of the outermost occupied bin, limited by the noise."""
        occupied = counts > max(_OCCUPIED_DEVIATIONS * self.counting_sd, _HALF_A_ROW)
        outermost = np.where(occupied, np.arange(1, counts.shape[1] + 1), 1).max(axis=1)
        largest = math.sqrt(_MOST_MOMENT_ERROR / (self.unit_sigma * math.sqrt(self.public.d)))
        return np.minimum(_EDGES[outermost], largest)

    def release(self, rows: Private[RowCache[QuantizedRows]], source: NoiseSource) -> ReleasedMetric:
        """Release counts, then the moment (1, d, d) in a ball that they choose, of rows in one metric.

        Guarantee: mu-GDP under replace-one, for the bits that leave: a histogram of sensitivity ``sqrt(2)``, then a
        moment of vectors no longer than R (proofs/sensitivity.md, 3.1, 3.4 and 14).
        """
        origin = np.zeros((1, self.public.d))
        counts = LengthCounts(GAUSSIAN, origin, _EDGES, of_curvatures=True).release(rows, self.counting_mu, source)
        radius = self.radius(counts)
        moment = CurvatureSum(GAUSSIAN, origin, radius).release(rows, self.moment_mu, self.n, source)
        return ReleasedMetric(self, counts, radius, moment)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends: the histogram, and the moment in units of its squared radius."""
        return (
            Spend.gaussian("histogram of row lengths", HISTOGRAM_SENSITIVITY, self.counting_sd),
            Spend.gaussian(
                "second moment, in units of its squared radius", CURVATURE_SENSITIVITY / self.n, self.unit_sigma
            ),
        )


@dataclass(frozen=True, eq=False)
class ReleasedMetric:
    """Release of a metric pass: counts (T, K), radii (T,), moments (T, d, d) in the metric they were released in."""

    plan: MetricPass
    counts: np.ndarray
    radius: np.ndarray
    moment: np.ndarray

    @property
    def transcript(self) -> list[np.ndarray]:
        """Return all that an attacker gets, a matrix for each statistic."""
        return [self.counts, upper_triangle(self.moment / self.radius[:, None, None] ** 2)]

    @property
    def sigma(self) -> np.ndarray:
        """Return the noise scale (T,) of the moment."""
        return self.radius**2 * self.plan.unit_sigma

    def whitening_after(self, whitening: np.ndarray) -> np.ndarray:
        """Return the next W (T, d, d) from that of the release, with eigenvalues of the moment floored at the noise."""
        values, vectors = np.linalg.eigh(self.moment)
        roots = np.sqrt(np.maximum(values, self.sigma[:, None]))
        return np.asarray(whitening @ (vectors / roots[:, None, :]))

    @staticmethod
    def stacked(trials: list[ReleasedMetric]) -> ReleasedMetric:
        """Return releases of one trial each as one release of all trials."""
        counts, radii, moments = ([getattr(trial, name) for trial in trials] for name in ("counts", "radius", "moment"))
        return ReleasedMetric(trials[0].plan, np.concatenate(counts), np.concatenate(radii), np.concatenate(moments))


@dataclass(frozen=True, eq=False)
class OwnMetric:
    """Releases of the metric passes, and the private metric from them.

    Attributes:
        releases: in order.
        whitenings: W (T, d, d) of each pass, and last the one by which gradients are whitened.
    """

    releases: tuple[ReleasedMetric, ...]
    whitenings: tuple[np.ndarray, ...]

    @property
    def transcript(self) -> list[np.ndarray]:
        """Return all that an attacker gets, a matrix for each statistic."""
        return [part for release in self.releases for part in release.transcript]

    @property
    def whitening(self) -> np.ndarray:
        """Return W (T, d, d), by which gradients are whitened."""
        return self.whitenings[-1]

    @cached_property
    def gram(self) -> np.ndarray:
        """Return the last released Gram matrix (T, d, d), in public units."""
        return in_public_units(self.whitening)

    @cached_property
    def gram_error_scale(self) -> np.ndarray:
        """Return Q (T, d, d), I in the metric of the last pass, where the noise on its moment is isotropic."""
        return in_public_units(self.whitenings[-2])

    @cached_property
    def entry_variance(self) -> np.ndarray:
        """Return the noise variance (T,) of an entry of the last moment, in the metric of its pass."""
        return np.asarray(self.releases[-1].sigma ** 2 / 2)


def release_metrics(
    passes: tuple[MetricPass, ...], rows: Private[PrivateRows], source: NoiseSource, trials: int
) -> OwnMetric:
    """Release all metric passes, each in the metric of the one before.

    Args:
        passes: in their order, at least one.
        rows: the private table.
        source: source of the noise.
        trials: number of independent releases.

    Guarantee: the mu^2 of the passes add up (adaptive composition); metrics are post-processing.
    """
    public = passes[0].public
    whitenings = [np.tile(np.eye(public.d), (trials, 1, 1))]
    releases: list[ReleasedMetric] = []
    for metric_pass in passes:
        released = [
            metric_pass.release(rows_in_metric(rows, public, whitening), source) for whitening in whitenings[-1]
        ]
        releases.append(ReleasedMetric.stacked(released))
        whitenings.append(releases[-1].whitening_after(whitenings[-1]))
    return OwnMetric(tuple(releases), tuple(whitenings))


def rows_in_metric(
    rows: Private[PrivateRows], public: PublicData, whitening: np.ndarray
) -> Private[RowCache[QuantizedRows]]:
    """Return private rows ``(W'x~, r~)`` in a released metric W (d, d), for several passes."""
    d = public.d
    wanted = np.eye(d + 1)
    wanted[:d, :d] = whitening.T
    product = Whitening(public.factor, public.has_intercept).product_for(wanted, d + 1)
    return rows.map(Quantizer(product, d).pieces)


def release_gradients(
    each: SecondPass,
    caches: Sequence[Private[RowCache[QuantizedRows]]],
    points: np.ndarray,
    whitening: np.ndarray,
    *,
    source: NoiseSource,
) -> Gradient:
    """Release histogram, bound and mean gradient at each point, of rows in one metric for each trial.

    Args:
        each: the pass.
        caches: private rows for each trial (T), in its metric.
        points: corrections to the public fit, in public units (T, d).
        whitening: W (T, d, d).
        source: source of the noise.

    Guarantee: that of :meth:`SecondPass.release`, for rows with another whitening.
    """
    in_metric = np.linalg.solve(whitening, points[..., None])[..., 0]
    released = [each.release(cache, point[None], source) for cache, point in zip(caches, in_metric, strict=True)]
    counts = [trial.counts for trial in released if trial.counts is not None]
    bound, score = (np.concatenate([getattr(trial, name) for trial in released]) for name in ("bound", "score"))
    return Gradient(each, np.concatenate(counts) if counts else None, bound, score, whitening)
