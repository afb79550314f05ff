"""What public rows say of a generalized linear fit in whitened coordinates, and the truncation chosen from them.

A private row enters a fit clipped to ``||x~|| <= reach R`` with its loss weighted by ``min(1, R/||x~||)``:
so its score is at most R long, and the direction of rows a little outside the ball is kept. ``R`` and
``reach`` are chosen as in ``radius``: each candidate is priced by the shift it causes on the public rows
plus the variance that the noise leaves (maths.md, 9.3).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.glm.newton import Rows
from pmtcore.mechanisms.truncation import bounded, length_weights
from pmtcore.public.moments import PublicData, whiten
from pmtcore.public.radius import ABSOLUTE_SHARE, moment_only_ball

REACHES = (1.0, 1.5, 2.0, 3.0, 4.0)  # rows shortened beyond the bound on their gradients, or not at all
_RADII = 16  # on a log grid, a tenth apart
_FAR = 1e100  # of a whitened row: its square is a number, and no radius is as long
_MOST_ROWS = 4000  # public rows behind a choice; more change it by less than its own doubt
_MOST_KEPT = 200  # columns: above, 80 inverses of (d, d) are more than 25 MB
_SCANS: WeakKeyDictionary[PublicData, dict[Any, Any]] = WeakKeyDictionary()  # public figures only


@final
@dataclass(frozen=True)
class Clip:
    """Rows are clipped to ``reach * radius``, their loss weighted by ``min(1, radius/||x||)``."""

    radius: float
    reach: float = 1.0

    def factors(self, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What rows of these lengths are multiplied by (k,), and their weights (k,)."""
        outer = self.radius * self.reach
        factor = length_weights(norms, outer)
        return factor, length_weights(norms * factor, self.radius)

    def apply(self, features: np.ndarray, response: np.ndarray, norms: np.ndarray | None = None) -> Rows:
        """The clipped and weighted rows; ``norms`` where they are not the rows' own. A row without a finite length is
        a row of zeros: it gets no weight that is not a number."""
        if norms is None:
            features = bounded(features, _FAR)
            norms = np.linalg.norm(features, axis=1)
        factor, weights = self.factors(norms)
        return Rows(features * factor[:, None], response, weights)


@final
@dataclass(frozen=True)
class Shape:
    """The public fit linearized: rows (m, d) whitened, their left-out lengths, Hessian, influence.

    ``influence`` (m, d) is ``H^{-1} x r`` with residuals as if the row had been left out; the public fit's
    own covariance is ``influence' influence / m^2``.
    """

    public: PublicData
    rows: Rows
    norms: np.ndarray
    hessian: np.ndarray
    influence: np.ndarray

    @classmethod
    def of(cls, public: PublicData) -> Shape:
        """From public rows; without labels, residuals have the size that the family says."""
        if public.rows is None or public.m is None or public.whitened is None:
            raise ValueError("public rows are needed")
        features = whiten(public.feature_root, public.rows[:, :-1])
        rows = Rows(features, public.rows[:, -1], np.ones(public.m))
        hessian = rows.sums(public.family, public.centre[None])[1][0] / public.m + public.penalty
        inverse = np.linalg.pinv(hessian, hermitian=True)
        slope = public.family.slope(features @ public.centre)
        own = np.minimum(np.einsum("ij,jk,ik->i", features, inverse, features) * slope / public.m, 0.9)
        residual = (public.rows[:, -1] - public.family.mean(features @ public.centre)) / (1 - own)
        if not public.labelled:
            residual = np.sqrt(slope) * np.where(np.arange(public.m) % 2, 1.0, -1.0)
        norms = np.linalg.norm(public.whitened[:, :-1], axis=1)
        return cls(public, rows, norms, hessian, features @ inverse * residual[:, None])

    @cached_property
    def covariance(self) -> np.ndarray:
        """Covariance (d, d) of the public fit, and of a private fit of n rows about ``m/n`` times it."""
        return np.asarray(self.influence.T @ self.influence / len(self.influence) ** 2)

    def prior(self, n: int) -> np.ndarray:
        """Covariance (d, d) of the fit to n private rows around the public fit, if rows are alike."""
        return np.asarray(self.covariance * (1 + len(self.influence) / n))

    def clipped(self, clip: Clip) -> Rows:
        """The public rows clipped as private ones would be: by their left-out lengths."""
        return clip.apply(self.rows.features, self.rows.response, self.norms)

    def hessians(self, rows: Rows, theta: np.ndarray) -> np.ndarray:
        """Penalized Hessians (t, d, d) of the mean loss of clipped public rows at coefficients (t, d)."""
        found = rows.sums(self.public.family, theta)[1] / len(rows.response)
        return np.asarray(found + self.public.penalty + 1e-9 * np.eye(theta.shape[1]))

    def moves(self, rows: Rows, inverse: np.ndarray) -> np.ndarray:
        """What clipping each public row moves the public fit by, to first order (m, d)."""
        if not self.public.labelled:
            return np.zeros_like(self.influence)
        mean, centre = self.public.family.mean, self.public.centre
        before = self.rows.features * (self.rows.response - mean(self.rows.features @ centre))[:, None]
        after = rows.features * (rows.weights * (rows.response - mean(rows.features @ centre)))[:, None]
        return np.asarray((after - before) @ inverse)


@final
@dataclass(frozen=True)
class Candidate:
    """What one clip does to the public fit, whatever the noise: computed once per public table.

    ``inverse`` (d, d) of the clipped Hessian, ``bias`` squared of what clipping moves, ``doubt`` (d, d) of the score
    equation's public side.
    """

    clip: Clip
    inverse: np.ndarray
    bias: float
    doubt: np.ndarray | None

    @classmethod
    def of(cls, shape: Shape, clip: Clip, from_public: bool) -> Candidate:
        """Of one clip."""
        rows = shape.clipped(clip)
        inverse = np.linalg.inv(shape.hessians(rows, shape.public.centre[None])[0])
        moves = shape.moves(rows, inverse)
        bias = np.sum(np.mean(moves, axis=0) ** 2) + ABSOLUTE_SHARE * np.sum(np.mean(np.abs(moves), axis=0) ** 2)
        return cls(clip, inverse, float(bias), score_doubt(shape, rows) if from_public else None)

    def price(self, prior: np.ndarray, noise: float) -> float:
        """Predicted squared error of predictions: clipping's shift, and the variance left after shrinking.

        Args:
            prior: covariance (d, d) of the private fit around the public one.
            noise: standard deviation of the noise on the mean score at radius 1.
        """
        spread = (noise * self.clip.radius) ** 2 * self.inverse @ self.inverse
        if self.doubt is not None:
            spread = spread + self.inverse @ self.doubt @ self.inverse
        return float(self.bias + np.trace(prior - prior @ np.linalg.solve(prior + spread, prior)))


def score_doubt(shape: Shape, rows: Rows) -> np.ndarray:
    """Covariance (d, d) of the public side of the score equation: it is a mean of m rows (D3)."""
    spread = np.sqrt(np.einsum("ij,jk,ik->i", rows.features, shape.covariance, rows.features))
    slope = shape.public.family.slope(rows.features @ shape.public.centre)
    parts = rows.features * (rows.weights * slope * spread)[:, None]
    return np.asarray(parts.T @ parts / len(parts) ** 2)


def choose_clip(
    public: PublicData, n: int, noise: float, reaches: tuple[float, ...] = REACHES, from_public: bool = False
) -> Clip:
    """The clip with the smallest price, from public rows alone; without rows, what Gaussian rows leave rarely."""
    if public.rows is None:
        return Clip(moment_only_ball(public.d).radius)
    shape, candidates = _scan(public, reaches, from_public)
    prior = shape.prior(n)
    return min(candidates, key=lambda candidate: candidate.price(prior, noise)).clip


def _scan(public: PublicData, reaches: tuple[float, ...], from_public: bool) -> tuple[Shape, tuple[Candidate, ...]]:
    """All clips to choose from, for these public rows; kept as long as the rows are, where they fit."""
    kept = _SCANS.setdefault(public, {})
    if (reaches, from_public) not in kept:
        shape = _thinned(Shape.of(public))
        radii = np.geomspace(0.5 * float(np.median(shape.norms)), 1.5 * float(np.max(shape.norms)), _RADII)
        found = (Candidate.of(shape, Clip(float(radius), reach), from_public) for reach in reaches for radius in radii)
        if public.d > _MOST_KEPT:
            return shape, tuple(found)
        kept[reaches, from_public] = shape, tuple(found)
    return kept[reaches, from_public]


def _thinned(shape: Shape) -> Shape:
    """Every k-th row where there are very many: prices need no more."""
    step = math.ceil(len(shape.norms) / _MOST_ROWS)
    if step == 1:
        return shape
    rows = Rows(shape.rows.features[::step], shape.rows.response[::step], shape.rows.weights[::step])
    influence = shape.influence[::step] / math.sqrt(step)  # same covariance from fewer rows
    return Shape(shape.public, rows, shape.norms[::step], shape.hessian, influence)
