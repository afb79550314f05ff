"""Estimates of the coefficients from released moments: a correction to the public fit, and its covariance.

    delta = P^{-1} q,   beta = beta_B + s_B L_x^{-T} delta,   M = [[P, c q], [c q', c^2 t]]

Clipped gradients after the pilot add one Gaussian filter over all that was released. Every gradient, divided by the
share of rows that are not clipped, is a noisy linear observation of how far its point is from the fit, with the Gram
matrix as the design. The pilot's Gram matrix is wrong where its ball truncated rows far out; it can only be too small
there. The difference of two gradients says so, and raises it; it also observes what noise did to the matrix along the
step. Then the filter is run again from the prior: pilot first, gradients in their order.

Post-processing of all passes, free; proofs in ``docs/proofs/radius.md``, 5 to 7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from pmtcore.base.strict_json import Json
from pmtcore.base.symmetric import upper_triangle
from pmtcore.methods.joint.own_metric import OwnMetric
from pmtcore.methods.joint.passes import FirstPass, Gradient
from pmtcore.public.bands import ErrorPart, bias_part
from pmtcore.public.clipping import cut_off
from pmtcore.public.gaussian_update import (
    SECANT_DEVIATIONS,
    GaussianUpdate,
    conflict_inflation,
    gaussian_update,
    raised,
    secant_update,
)
from pmtcore.public.moments import PublicData

_FLOOR = 0.05  # smallest eigenvalue left to the released Gram matrix, relative to whitened units
# Times that the curvature of a direction grew: more of it was truncated than was left
HEAVY_GROWTH = 2.0


class FirstFit:
    """The estimate of the correction to the public fit from joint moments (trials, D, D) alone, in whitened units.

    Args:
        shrinks: whether the public data pull the estimate where the noise is large.
        own: what metric passes released, whose Gram matrix later passes use; ``None``: there were none.
    """

    def __init__(self, first: FirstPass, moment: np.ndarray, shrinks: bool, own: OwnMetric | None = None) -> None:
        c, d = first.ball.response_scale, first.public.d
        self.first, self.public, self.shrinks, self.own = first, first.public, shrinks, own
        self.gram = moment[:, :d, :d]  # P (trials, d, d)
        self.cross = moment[:, :d, d] / c  # q (trials, d)
        self.power = moment[:, d, d] / c**2  # t (trials,)
        self.v = first.sigma**2 / 2  # noise variance of an off-diagonal entry
        self.v_cross = self.v / c**2
        # variance of an entry of q - P delta, delta of the size that the public fit's error has
        self.cross_noise = self.v_cross + self.v * d * first.public.fit_variance

    def transcript(self) -> np.ndarray:
        """Return the released moment (trials, (D + 1) D / 2)."""
        metrics = [] if self.own is None else self.own.transcript
        return np.column_stack([upper_triangle(self.gram), self.cross, self.power, *metrics])

    def released(self) -> Mapping[str, Json]:
        """Return an empty mapping: nothing but the moment is released."""
        return {}

    @cached_property
    def _expected_gram(self) -> np.ndarray:
        """Return the expectation of P by the public rows: the centre it is shrunk towards.

        Private rows are new rows to the public whitening, and so are public rows that were left out of it:
        their weighted moment, about ``m/(m - d - 1) I``, not I, is what P is drawn around.
        """
        public, rows = self.public, self.public.whitened
        if rows is None:
            return np.eye(public.d) * (1.0 if public.m is None else public.m / max(public.m - public.d - 1, 1))
        features = rows[:, :-1]
        return np.asarray(features.T @ (self.first.public_weights[:, None] * features) / len(rows))

    @cached_property
    def gram_precision(self) -> np.ndarray:
        """Return the weight (trials,) of the released Gram matrix against the expected one, ``v0/(v0 + sigma^2/2)``.

        ``v0``, the variance of an entry between the two, is about ``1/m + 1/n`` where public and private rows are from
        one population. Where the released matrix is further from the expected one than that and the noise explain,
        ``v0`` is estimated from the distance.
        """
        if not self.shrinks:
            return np.ones(len(self.gram))
        alike = self.public.moment_variance + 1 / self.first.n
        entries = self.public.d * (self.public.d + 1) // 2
        distance = np.sum((self.gram - self._expected_gram) ** 2, axis=(1, 2)) / (2 * entries)
        expected = alike + self.v
        v0 = alike * conflict_inflation(distance / expected, np.full(len(distance), alike / expected), entries)
        return np.asarray(v0 / (v0 + self.v))

    @cached_property
    def stable_gram(self) -> np.ndarray:
        """Return the precision-weighted Gram matrix (trials, d, d), eigenvalues floored: always positive definite."""
        if not self.shrinks:
            return self.gram
        weight = self.gram_precision[:, None, None]
        values, vectors = np.linalg.eigh(self._expected_gram + weight * (self.gram - self._expected_gram))
        floor = np.minimum(_FLOOR, 4 * np.sqrt(self.v * self.public.d))
        return np.asarray((vectors * np.maximum(values, floor)[:, None, :]) @ np.swapaxes(vectors, 1, 2))

    @property
    def gram_estimate(self) -> np.ndarray:
        """Return the Gram matrix (trials, d, d) of the equation that is solved, for all rows."""
        return self.stable_gram if self.own is None else self.own.gram

    @property
    def truncates_heavily(self) -> bool:
        """Return False: one released moment cannot show what was truncated from it."""
        return False

    @property
    def last_step(self) -> np.ndarray:
        """Return zeros (d,): the noise of the Gram matrix is in :meth:`noise_covariance` already."""
        return np.zeros(self.public.d)

    @property
    def prior_dof(self) -> float:
        """Return degrees of freedom behind the scale of the public fit's covariance."""
        m = self.public.m
        return np.inf if m is None else max(m - self.public.whitened_columns, 1.0)

    @cached_property
    def entry_variance(self) -> np.ndarray:
        """Return the variance (trials,) of an entry of the stable Gram matrix from noise."""
        return np.asarray(self.v * self.gram_precision) if self.own is None else self.own.entry_variance

    @cached_property
    def _posterior(self) -> GaussianUpdate:
        """Return the public fit's own law, updated by q."""
        noise = (self.cross_noise + self.first.truncation_variance) * np.eye(self.public.d)
        # the private fit is a sample's too
        prior = self.public.fit_covariance + np.eye(self.public.d) / self.first.n
        return gaussian_update(prior, self.stable_gram, self.cross, noise, prior_dof=self.prior_dof)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the covariance (trials, d, d) of the error of the correction: noise, truncation, what is shrunk.

        Proof: proofs/shrinkage.md, 6.
        """
        return self._posterior.covariance

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """Return ``P^{-1} q`` (trials, d): unbiased corrections whatever the public fit, on which the bands stand."""
        return np.asarray(np.linalg.solve(self.stable_gram, self.cross[..., None])[..., 0])

    @cached_property
    def correction(self) -> np.ndarray:
        """Return the correction to the public fit (trials, d), shrunk where noise dominates it.

        Empirical Bayes where the noise is above a tenth of the public fit's own variance, positive-part
        James-Stein below (proofs/shrinkage.md, 6).
        """
        public = self.public
        if not self.shrinks:
            return self.unshrunk
        if public.m is not None:
            return self._posterior.step
        squared = np.sum(self.cross**2, axis=1)
        keep = np.maximum(1 - max(public.d - 2, 0) * self.v_cross / np.maximum(squared, 1e-300), 0.0)
        return self.unshrunk * keep[:, None]

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """Return ``C`` (d, d): noise of q, and of P where it multiplies the correction (proofs/bands.md, 7).

        Args:
            penalized: the correction to the public fit that the solution is (d,); delta itself without a penalty.
        """
        return np.asarray(self.v_cross * np.eye(len(penalized)) + self.gram_noise_covariance(penalized[None])[0])

    def gram_noise_covariance(self, step: np.ndarray) -> np.ndarray:
        """Return covariances (t, d, d) of ``(P - E P) step`` in the first t trials; P has the public moment in it."""
        return _noise_along(self.entry_variance[: len(step)], self.gram_error_scale[: len(step)], step)

    @property
    def gram_error_scale(self) -> np.ndarray:
        """Return Q (trials, d, d): in public units no direction of the joint moment is known better than another."""
        return (
            np.broadcast_to(np.eye(self.public.d), self.gram.shape) if self.own is None else self.own.gram_error_scale
        )

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Return ones: the moment is solved as it was released."""
        return np.ones(len(self.gram))

    @property
    def clip_weights(self) -> np.ndarray:
        """Return weights (m,) of public rows in the moment."""
        return self.first.public_weights

    @cached_property
    def residual_variance(self) -> float:
        """Return the residual variance relative to ``s_B^2``, of the first trial, combined with the public one."""
        public, delta = self.public, self.unshrunk[0]
        inverse = np.linalg.inv(self.stable_gram[0])
        raw = self.power[0] - self.cross[0] @ delta + np.trace(inverse @ self.noise_covariance(delta))
        noise = (2 * self.v) * (1 / self.first.ball.response_scale**2 + delta @ delta) ** 2
        if public.rows is None or public.m is None:
            return float(max(raw, 0.05))
        z = public.unbiased_squares * self.first.public_weights
        expected = np.mean(z)
        spread = np.var(z) / public.m
        return float(max(expected + spread / (spread + noise) * (raw - expected), 0.05 * expected))

    def truncation_part(self, inverse: np.ndarray) -> ErrorPart | None:
        """Return the shift of the fit by truncation on public rows, for ``inverse`` (d, d) of the solved equation."""
        return truncation_bias(self.public, self.clip_weights, inverse)


def truncation_bias(public: PublicData, weights: np.ndarray, inverse: np.ndarray) -> ErrorPart | None:
    """Return the shift of the fit by weights (m,) on public rows: its mean squared, and the variance of that mean."""
    if public.whitened is None or public.m is None:
        return None
    moves = cut_off(public.whitened, weights) @ inverse.T
    return bias_part(moves)


def _noise_along(entry_variance: np.ndarray, error_scale: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return covariances ``v (s'Qs Q + Qs s'Q)`` (t, d, d) of ``(P - E P) s``: v (t,), Q (t, d, d) and s (t, d)."""
    left = np.einsum("tij,tj->ti", error_scale, step)
    size = np.sum(step * left, axis=1)[:, None, None]
    return np.asarray(entry_variance[:, None, None] * (size * error_scale + left[:, :, None] * left[:, None, :]))


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
        return np.asarray(self.gradient.public_score / self.unclipped_share[:, None])

    @cached_property
    def score_variance(self) -> np.ndarray:
        """Return the variance (trials,) of a coordinate of :attr:`score`, from noise and clipping."""
        return np.asarray((self.gradient.noise**2 + self.gradient.clipping_mse) / self.unclipped_share**2)

    @cached_property
    def _known_gram(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the Gram matrix and the scale Q (trials, d, d) of its error, as known after this pass."""
        before = self.before
        if isinstance(before, FirstFit) or self.pilot.own is not None:
            return before.gram_estimate, before.gram_error_scale
        gram, error_scale = self._raised(before, before.gram_estimate), before.gram_error_scale
        step, difference, variance = self._secant(before)
        entry = self.pilot.entry_variance
        return secant_update(gram, error_scale, step, difference, variance=variance, entry_variance=entry)

    @property
    def gram_estimate(self) -> np.ndarray:
        """Return the Gram matrix (trials, d, d) as far as is known after this pass."""
        return self._known_gram[0]

    @property
    def gram_error_scale(self) -> np.ndarray:
        """Return Q (trials, d, d): which directions of the Gram matrix still have the noise of the pilot."""
        return self._known_gram[1]

    @cached_property
    def least_raised_gram(self) -> np.ndarray:
        """Return the Gram matrix raised only as far as the noise along a chosen step cannot explain.

        A step has in it the noise of the gradient that it starts from, whose product with the step has ``sqrt(d)`` of
        the standard deviations of a step chosen without it.
        """
        if isinstance(self.before, FirstFit) or self.pilot.own is not None:
            return self.pilot.gram_estimate
        deviations = max(SECANT_DEVIATIONS, math.sqrt(self.point.shape[1]))
        return self._raised(self.before, self.before.least_raised_gram, deviations)

    def _secant(self, before: RefinedFit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the step (trials, d) between two gradients, their difference (trials, d), its variance (trials,)."""
        variance = before.score_variance + self.score_variance
        return self.point - before.point, before.score - self.score, variance

    def _raised(self, before: RefinedFit, gram: np.ndarray, deviations: float = SECANT_DEVIATIONS) -> np.ndarray:
        """Return a Gram matrix (trials, d, d) raised by what the last two gradients say of it."""
        step, difference, variance = self._secant(before)
        entry = self.pilot.entry_variance
        return raised(gram, step, difference, variance, entry_variance=entry, deviations=deviations)

    @property
    def truncates_heavily(self) -> bool:
        """Return whether the first trial shows that clipping removed far more than public rows predict.

        Either gradients show that the pilot's ball removed more than it left, or rows were counted beyond every bound.
        """
        if self.gradient.exceeds_expected_tail[0]:
            return True
        if np.array_equal(self.pilot.gram_estimate[0], self.least_raised_gram[0]):
            return False
        grown = np.linalg.solve(self.pilot.gram_estimate[0], self.least_raised_gram[0])
        return bool(np.linalg.eigvals(grown).real.max() > HEAVY_GROWTH)

    @cached_property
    def _posterior(self) -> tuple[np.ndarray, GaussianUpdate]:
        """Return mean (trials, d) and last update of the filter over all gradients, from the pilot's posterior on."""
        mean, covariance = self.pilot.correction, self.pilot.covariance
        update = None
        for each in self.passes:
            innovation = each.score - np.einsum("tij,tj->ti", self.gram_estimate, mean - each.point)
            expected = np.linalg.solve(self.gram_estimate, each.score[..., None])[..., 0]
            noise = each.score_variance[:, None, None] * each.gradient.error_scale + self.gram_noise_covariance(
                expected
            )
            update = gaussian_update(covariance, self.gram_estimate, innovation, noise, prior_dof=self.pilot.prior_dof)
            mean, covariance = mean + update.step, update.covariance
        if update is None:
            raise ValueError("a refined fit has a pass")
        return mean, update

    def gram_noise_covariance(self, step: np.ndarray) -> np.ndarray:
        """Return covariances (t, d, d) of ``(P - E P) step`` in the first t trials."""
        many = len(step)
        return _noise_along(self.pilot.entry_variance[:many], self.gram_error_scale[:many], step)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the covariance (trials, d, d) of the error of the correction."""
        return self._posterior[1].covariance

    @cached_property
    def correction(self) -> np.ndarray:
        """Return the mean of the filter (trials, d); where nothing is shrunk, of the gradients alone."""
        filtered = self.pilot.shrinks and self.pilot.own is None
        return self._posterior[0] if filtered else self.unshrunk

    @cached_property
    def _weights(self) -> np.ndarray:
        """Return weights (passes, trials) of the gradients, by their noise and by that of the Gram matrix."""
        last = self.passes[-1]
        there = last.point + np.linalg.solve(self.gram_estimate, last.score[..., None])[..., 0]
        ways = [there - each.point for each in self.passes]
        far = np.array([np.einsum("ti,tij,tj->t", way, self.gram_error_scale, way) for way in ways])
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
        return np.asarray(self.noise[0] ** 2 * self.gradient.error_scale[0] + self.gram_noise_covariance(step)[0])

    def truncation_part(self, inverse: np.ndarray) -> ErrorPart | None:
        """Return the shift on public rows, floored at what the released histogram says is cut off."""
        part = truncation_bias(self.pilot.public, self.clip_weights, inverse)
        if part is None or self.gradient.counts is None:
            return part
        lost = self.gradient.clipping_mse_with_far_rows[0] * np.sum(
            inverse @ self.gradient.error_scale[0] * inverse, axis=1
        )
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
