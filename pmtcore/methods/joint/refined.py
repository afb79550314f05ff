"""What clipped gradients after the pilot add: one Gaussian filter over all that was released (proofs/radius.md, 5.1).

Every gradient, divided by the share of rows that are not clipped, is a noisy linear observation of how far its point is
from the fit, with the Gram matrix as the design. The pilot's Gram matrix is wrong where its ball truncated rows far
out; it can only be too small there. The difference of two gradients says so, and raises it. Then the filter is run
again from the prior: pilot first, gradients in their order. Post-processing of all passes, free.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from pmtcore.base.strict_json import Json
from pmtcore.methods.joint.fit import FirstFit, truncation_bias
from pmtcore.methods.joint.second_pass import Gradient
from pmtcore.public.bands import Part
from pmtcore.public.gaussian_update import GaussianUpdate, gaussian_update
from pmtcore.public.secant import raised

# Times that the curvature of a direction grew: more of it was truncated than was left
HEAVY = 2.0


class RefinedFit:
    """The estimate from what came before and from clipped gradients (trials, d) at it, as :class:`FirstFit` has it."""

    def __init__(self, before: Fit, gradient: Gradient) -> None:
        self.before, self.gradient = before, gradient
        self.point = before.correction
        self.pilot: FirstFit = before if isinstance(before, FirstFit) else before.pilot
        self.passes: tuple[RefinedFit, ...] = (*(() if isinstance(before, FirstFit) else before.passes), self)

    def transcript(self) -> np.ndarray:
        """Return the pilot's moment, each gradient in units of its bound, the histogram."""
        return np.column_stack([self.before.transcript(), *self.gradient.transcript])

    def released(self) -> Mapping[str, Json]:
        """Return the bound, and the share of private rows beyond it where it was counted."""
        return self.gradient.released()

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Share (trials,) of rows whose gradients are not clipped."""
        return self.gradient.unclipped_share

    @cached_property
    def score(self) -> np.ndarray:
        """Return the gradient (trials, d) over the unclipped share: about the Gram matrix times the way to the fit."""
        return np.asarray(self.gradient.score / self.unclipped_share[:, None])

    @cached_property
    def score_variance(self) -> np.ndarray:
        """Return the variance (trials,) of a coordinate of :attr:`score`, from noise and clipping."""
        return np.asarray((self.gradient.noise**2 + self.gradient.clipping_mse) / self.unclipped_share**2)

    @cached_property
    def gram_estimate(self) -> np.ndarray:
        """Return the Gram matrix (trials, d, d) as far as is known after this pass."""
        if isinstance(self.before, FirstFit):
            return self.pilot.gram_estimate
        gram, step = self.before.gram_estimate, self.point - self.before.point
        difference = self.before.score - self.score
        variance = self.before.score_variance + self.score_variance
        return raised(gram, step, difference, variance, entry_variance=self.pilot.entry_variance)

    @property
    def truncates_heavily(self) -> bool:
        """Return whether the first trial shows that clipping took far more than public rows foresee.

        Either gradients say that the pilot's ball took more than it left, or rows were counted beyond every bound.
        """
        if self.gradient.exceeds_reach[0]:
            return True
        if np.array_equal(self.pilot.gram_estimate[0], self.gram_estimate[0]):
            return False
        grown = np.linalg.solve(self.pilot.gram_estimate[0], self.gram_estimate[0])
        return bool(np.linalg.eigvals(grown).real.max() > HEAVY)

    @cached_property
    def _posterior(self) -> tuple[np.ndarray, GaussianUpdate]:
        """Return mean (trials, d) and last update of the filter over all gradients; its prior is the pilot's posterior.

        Where this gradient did not raise the Gram matrix, the filter goes on from where it was.
        """
        before = self.before
        if isinstance(before, RefinedFit) and np.array_equal(before.gram_estimate, self.gram_estimate):
            mean, covariance = before._posterior[0], before.covariance
            passes: tuple[RefinedFit, ...] = (self,)
        else:
            mean, covariance, passes = self.pilot.correction, self.pilot.covariance, self.passes
        eye = np.eye(mean.shape[1])
        update = None
        for each in passes:
            innovation = each.score - np.einsum("tij,tj->ti", self.gram_estimate, mean - each.point)
            expected = np.linalg.solve(self.gram_estimate, each.score[..., None])[..., 0]
            noise = each.score_variance[:, None, None] * eye + self.pilot.gram_noise_covariance(expected)
            update = gaussian_update(covariance, self.gram_estimate, innovation, noise, prior_dof=self.pilot.prior_dof)
            mean, covariance = mean + update.step, update.covariance
        if update is None:
            raise ValueError("a refined fit has a pass")
        return mean, update

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the covariance (trials, d, d) of the error of the correction."""
        return self._posterior[1].covariance

    @cached_property
    def correction(self) -> np.ndarray:
        """Return the mean of the filter (trials, d); where nothing is shrunk, of the gradients alone."""
        return self._posterior[0] if self.pilot.shrinks else self.unshrunk

    @cached_property
    def _weights(self) -> np.ndarray:
        """Return weights (passes, trials) of the gradients, by their noise and by that of the Gram matrix."""
        last = self.passes[-1]
        there = last.point + np.linalg.solve(self.gram_estimate, last.score[..., None])[..., 0]
        far = np.array([np.sum((there - each.point) ** 2, axis=1) for each in self.passes])
        own = np.array([(each.gradient.noise / each.unclipped_share) ** 2 for each in self.passes])
        clipped = np.array([each.gradient.clipping_mse for each in self.passes])
        # what the mildest bound clips all have in common, so that no weighing takes it off
        own = own + clipped - np.min(clipped, axis=0)
        precision = 1 / (own + 2 * self.pilot.entry_variance * far)
        return np.asarray(precision / np.sum(precision, axis=0))

    @cached_property
    def noise(self) -> np.ndarray:
        """Return the noise sd (trials,) on a coordinate of all gradients combined, on the scale of the last one."""
        own = np.array([(each.gradient.noise / each.unclipped_share) ** 2 for each in self.passes])
        return np.asarray(self.unclipped_share * np.sqrt(np.sum(self._weights**2 * own, axis=0)))

    @cached_property
    def base(self) -> np.ndarray:
        """Return the points where the gradients were taken (trials, d), in the mean."""
        return np.asarray(sum(w[:, None] * each.point for w, each in zip(self._weights, self.passes, strict=True)))

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """Return the points (trials, d) a whole step from where the gradients were taken, without prior and pilot."""
        score = sum(w[:, None] * each.score for w, each in zip(self._weights, self.passes, strict=True))
        return np.asarray(self.base + np.linalg.solve(self.gram_estimate, np.asarray(score)[..., None])[..., 0])

    @property
    def clip_weights(self) -> np.ndarray:
        """Return weights (m,) that public rows get in the gradient."""
        return self.gradient.weights

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """Return ``C`` (d, d): noise of the gradients, and of P where it multiplies the steps."""
        step = self.unclipped_share[:1, None] * (penalized - self.base[0])
        return np.asarray(self.noise[0] ** 2 * np.eye(step.shape[1]) + self.pilot.gram_noise_covariance(step)[0])

    def truncation_part(self, inverse: np.ndarray) -> Part | None:
        """Return the shift on public rows, floored at what the released histogram says is cut off."""
        part = truncation_bias(self.pilot.public, self.clip_weights, inverse)
        if part is None or self.gradient.counts is None:
            return part
        lost = self.gradient.clipping_mse_with_far_rows[0] * np.sum(inverse**2, axis=1)
        return part.with_variance(np.maximum(part.variance, lost))

    @property
    def last_step(self) -> np.ndarray:
        """Return the last step (d,), first trial, as far as it is longer than the filter expected (proofs/bands.md, 7).

        What the pilot truncates makes the Gram matrix too small, and a step with such a matrix leaves an error no
        longer than itself.
        """
        step = self.correction[0] - self.point[0]
        ratio = float(step @ np.linalg.solve(self.before.covariance[0], step)) / len(step)
        return np.asarray(step * math.sqrt(max(1 - 1 / max(ratio, 1.0), 0.0)))


# The estimate of one pass, or of more: bands and coefficients are made of either.
Fit = FirstFit | RefinedFit
