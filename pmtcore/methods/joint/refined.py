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
from pmtcore.methods.joint.second_pass import Gradient
from pmtcore.public.bands import Part


@final
class RefinedFit:
    """The estimate from a pilot and from clipped gradients (trials, d) at it; see ``Fit``."""

    def __init__(self, pilot: FirstFit, gradient: Gradient) -> None:
        self.pilot = pilot
        self.gradient = gradient

    def seen(self) -> np.ndarray:
        """The pilot's moment, the gradient in units of its bound, the histogram."""
        return np.column_stack([self.pilot.seen(), *self.gradient.seen])

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
        """``(a P)^{-1} q`` (trials, d): from the pilot to the fit, whatever the pilot."""
        return np.asarray(np.linalg.solve(self.slope, self.gradient.score[..., None])[..., 0])

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """The pilot's correction and the whole step (trials, d)."""
        return np.asarray(self.pilot.correction + self.step)

    @cached_property
    def correction(self) -> np.ndarray:
        """The pilot's correction and the step, shrunk by the precision of both (trials, d)."""
        if not self.pilot.shrinks:
            return self.unshrunk
        rough = self.pilot.gram_doubt(self.whole[:, None] * self.step)
        return np.asarray(
            self.pilot.correction + self.gradient.combined(self.pilot.doubt, self.step, self.slope, rough)
        )

    @property
    def clip_weights(self) -> np.ndarray:
        """Weights (m,) that public rows get in the gradient."""
        return self.gradient.weights

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """``C`` (d, d): noise of the gradient, and of P where it multiplies the step."""
        step = self.whole[:1, None] * (penalized - self.pilot.correction[0])
        return np.asarray(self.gradient.noise[0] ** 2 * np.eye(step.shape[1]) + self.pilot.gram_doubt(step)[0])

    def truncation_part(self, inverse: np.ndarray) -> Part | None:
        """As on public rows, and not below what the released histogram says is cut off."""
        part = cut_part(self.pilot.public, self.clip_weights, inverse)
        if part is None or self.gradient.counts is None:
            return part
        return Part(np.maximum(part.variance, self.gradient.lost * np.sum(inverse**2, axis=1)))
