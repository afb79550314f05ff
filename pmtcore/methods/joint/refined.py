"""What a clipped gradient at the pilot adds: ``delta = delta_1 + S (a P)^{-1} q`` (maths.md, 5.1).

The pilot is wrong by little, so P, the Hessian, may be rough. ``a`` is the share of rows that are not clipped, S
shrinks where noise dominates. Post-processing of both passes, free.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, final

import numpy as np

from pmtcore.methods.joint.fit import FirstFit, cut_part
from pmtcore.methods.joint.second_pass import Gradient, Refined
from pmtcore.public.bands import Part


@final
class RefinedFit:
    """The estimate from what came before and from clipped gradients (trials, d) at it; see ``Fit``."""

    def __init__(self, before: FirstFit | RefinedFit, gradient: Gradient) -> None:
        self.before, self.gradient = before, gradient
        self.pilot: FirstFit = before if isinstance(before, FirstFit) else before.pilot

    def seen(self) -> np.ndarray:
        """The pilot's moment, each gradient in units of its bound, the histogram."""
        return np.column_stack([self.before.seen(), *self.gradient.seen])

    def released(self) -> Mapping[str, Any]:
        """The bound, and the share of private rows beyond it where it was counted."""
        return self.gradient.released()

    @cached_property
    def whole(self) -> np.ndarray:
        """Share (trials,) of rows whose gradients are not clipped."""
        return self.gradient.whole

    @cached_property
    def slope(self) -> np.ndarray:
        """How the expected gradient falls with the coefficients (trials, d, d): P times the unclipped share."""
        return np.asarray(self.whole[:, None, None] * self.pilot.stable_gram)

    @cached_property
    def step(self) -> np.ndarray:
        """``(a P)^{-1} q`` (trials, d): from what came before to the fit, whatever came before."""
        return np.asarray(np.linalg.solve(self.slope, self.gradient.score[..., None])[..., 0])

    @cached_property
    def _share(self) -> np.ndarray:
        """Weight (trials,) of this gradient beside the one before, by precision; 1 where there is none."""
        if isinstance(self.before, FirstFit):
            return np.ones(len(self.whole))
        mine, theirs = self.before.noise / self.before.whole, self.gradient.noise / self.whole
        return np.asarray(mine**2 / (mine**2 + theirs**2))

    @cached_property
    def noise(self) -> np.ndarray:
        """Standard deviation (trials,) of the noise on a coordinate of both gradients together."""
        if isinstance(self.before, FirstFit):
            return self.gradient.noise
        before = (1 - self._share) * self.before.noise * self.whole / self.before.whole
        return np.hypot(self._share * self.gradient.noise, before)

    @cached_property
    def base(self) -> np.ndarray:
        """Where the gradients were taken (trials, d), in the mean."""
        if isinstance(self.before, FirstFit):
            return self.before.correction
        share = self._share[:, None]
        return np.asarray(share * self.before.correction + (1 - share) * self.before.base)

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """Where each whole step leads (trials, d), by the precision of its gradient."""
        there = np.asarray(self.before.correction + self.step)
        if isinstance(self.before, FirstFit):
            return there
        share = self._share[:, None]
        return np.asarray(share * there + (1 - share) * self.before.unshrunk)

    @cached_property
    def _refined(self) -> Refined:
        rough = self.pilot.gram_doubt(self.whole[:, None] * self.step)
        return self.gradient.combined(self.before.doubt, self.step, self.slope, rough)

    @property
    def doubt(self) -> np.ndarray:
        """Covariance (trials, d, d) of the error of the correction."""
        return self._refined.doubt

    @cached_property
    def correction(self) -> np.ndarray:
        """What came before and the step, shrunk by the precision of both (trials, d)."""
        if not self.pilot.shrinks:
            return self.unshrunk
        return np.asarray(self.before.correction + self._refined.step)

    @property
    def clip_weights(self) -> np.ndarray:
        """Weights (m,) that public rows get in the gradient."""
        return self.gradient.weights

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """``C`` (d, d): noise of the gradients, and of P where it multiplies the steps."""
        step = self.whole[:1, None] * (penalized - self.base[0])
        return np.asarray(self.noise[0] ** 2 * np.eye(step.shape[1]) + self.pilot.gram_doubt(step)[0])

    def truncation_part(self, inverse: np.ndarray) -> Part | None:
        """As on public rows, and not below what the released histogram says is cut off."""
        part = cut_part(self.pilot.public, self.clip_weights, inverse)
        if part is None or self.gradient.counts is None:
            return part
        return part.with_variance(np.maximum(part.variance, self.gradient.lost[0] * np.sum(inverse**2, axis=1)))
