"""Estimates of the coefficients from released moments: a correction to the public fit, and its covariance.

    delta = P^{-1} q,   beta = beta_B + s_B L_x^{-T} delta,   M = [[P, c q], [c q', c^2 t]]

With clipped gradients after the pilot, a Gaussian filter combines all releases. Each gradient, divided by the share of
unclipped rows, observes ``P (delta - point)`` with noise. The pilot's P is biased where its ball truncated long rows,
and only downwards. The difference of two gradients observes P along the step between them, which corrects both this
bias and the noise on P. With the corrected P the filter is run again from the prior: pilot first, then the gradients in
order.

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
    raise_curvatures,
    secant_update,
)
from pmtcore.public.moments import PublicData

_FLOOR = 0.05  # lower bound on the eigenvalues of the released Gram matrix, whose expectation is about I
# Factor by which P grows along a direction, from which truncation counts as heavy: it removed more than it left
HEAVY_GROWTH = 2.0


class FirstFit:
    """Estimate of the correction from the joint moments (trials, D, D) alone, in whitened units.

    Args:
        shrinks: whether the estimate is shrunk to the public fit where the noise is large.
        own: releases of metric passes, whose Gram matrix later passes use; ``None``: there were none.
    """

    def __init__(self, first: FirstPass, moment: np.ndarray, shrinks: bool, own: OwnMetric | None = None) -> None:
        c, d = first.ball.response_scale, first.public.d
        self.first, self.public, self.shrinks, self.own = first, first.public, shrinks, own
        self.gram = moment[:, :d, :d]  # P (trials, d, d)
        self.cross = moment[:, :d, d] / c  # q (trials, d)
        self.power = moment[:, d, d] / c**2  # t (trials,)
        self.v = first.sigma**2 / 2  # noise variance of an off-diagonal entry
        self.v_cross = self.v / c**2
        # noise variance of an entry of q - P delta, with delta of the size of the public fit's error
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
        """Return the expectation of P from the public rows, towards which it is shrunk.

        Private rows are not among the rows of the public whitening. So their expected moment is that of left-out public
        rows, about ``m/(m - d - 1) I`` before truncation.
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
        one population. Where the distance of the two matrices conflicts with that and the noise, ``v0`` is estimated
        from the distance.
        """
        if not self.shrinks:
            return np.ones(len(self.gram))
        prior = self.public.moment_variance + 1 / self.first.n
        entries = self.public.d * (self.public.d + 1) // 2
        distance = np.sum((self.gram - self._expected_gram) ** 2, axis=(1, 2)) / (2 * entries)
        expected = prior + self.v
        v0 = prior * conflict_inflation(distance / expected, np.full(len(distance), prior / expected), entries)
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
        """Return the Gram matrix (trials, d, d) of the normal equations."""
        return self.stable_gram if self.own is None else self.own.gram

    @property
    def truncates_heavily(self) -> bool:
        """Return False: one released moment contains no information on its own truncation."""
        return False

    @property
    def last_step(self) -> np.ndarray:
        """Return zeros (d,): :meth:`noise_covariance` includes the noise of the Gram matrix already."""
        return np.zeros(self.public.d)

    @property
    def prior_dof(self) -> float:
        """Return degrees of freedom behind the scale of the public fit's covariance."""
        m = self.public.m
        return np.inf if m is None else max(m - self.public.whitened_columns, 1.0)

    @cached_property
    def entry_variance(self) -> np.ndarray:
        """Return the noise variance (trials,) of an entry of the shrunk Gram matrix."""
        return np.asarray(self.v * self.gram_precision) if self.own is None else self.own.entry_variance

    @cached_property
    def _posterior(self) -> GaussianUpdate:
        """Return the prior of the correction from the public fit, updated by q."""
        noise = (self.cross_noise + self.first.truncation_variance) * np.eye(self.public.d)
        # The prior is of the private fit, which has a sampling variance of its own.
        prior = self.public.fit_covariance + np.eye(self.public.d) / self.first.n
        return gaussian_update(prior, self.stable_gram, self.cross, noise, prior_dof=self.prior_dof)

    @cached_property
    def covariance(self) -> np.ndarray:
        """Return the posterior covariance (trials, d, d) of the correction, with noise and truncation.

        Proof: proofs/shrinkage.md, 6.
        """
        return self._posterior.covariance

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """Return ``P^{-1} q`` (trials, d): corrections without shrinkage, from which intervals are computed."""
        return np.asarray(np.linalg.solve(self.stable_gram, self.cross[..., None])[..., 0])

    @cached_property
    def correction(self) -> np.ndarray:
        """Return the correction to the public fit (trials, d), shrunk where noise dominates it.

        Empirical Bayes where the number of public rows is known, positive-part James-Stein otherwise
        (proofs/shrinkage.md, 6).
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
        """Return the noise covariance C (d, d) of ``q - P delta`` (proofs/bands.md, 7).

        Args:
            penalized: correction (d,) of the penalized solution; delta itself without a penalty.
        """
        return np.asarray(self.v_cross * np.eye(len(penalized)) + self.gram_noise_covariance(penalized[None])[0])

    def gram_noise_covariance(self, step: np.ndarray) -> np.ndarray:
        """Return covariances (t, d, d) of ``(P - E P) step`` in the first t trials, P as combined."""
        return _noise_along(self.entry_variance[: len(step)], self.gram_error_scale[: len(step)], step)

    @property
    def gram_error_scale(self) -> np.ndarray:
        """Return Q (trials, d, d), I for isotropic noise: ``P s`` has covariance ``v (s'Qs Q + Qs s'Q)``."""
        return (
            np.broadcast_to(np.eye(self.public.d), self.gram.shape) if self.own is None else self.own.gram_error_scale
        )

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Return ones (trials,): the joint moment has no clipped gradients."""
        return np.ones(len(self.gram))

    @property
    def clip_weights(self) -> np.ndarray:
        """Return truncation weights (m,) of public rows in the moment."""
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
        """Return the truncation bias on public rows, with the inverse (d, d) of the matrix of the normal equations."""
        return truncation_bias(self.public, self.clip_weights, inverse)


def truncation_bias(public: PublicData, weights: np.ndarray, inverse: np.ndarray) -> ErrorPart | None:
    """Return the bias of the fit by truncation weights (m,) on public rows; ``None`` without public rows."""
    if public.whitened is None or public.m is None:
        return None
    shifts = cut_off(public.whitened, weights) @ inverse.T
    return bias_part(shifts)


def _noise_along(entry_variance: np.ndarray, error_scale: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Return covariances ``v (s'Qs Q + Qs s'Q)`` (t, d, d) of ``(P - E P) s``: v (t,), Q (t, d, d) and s (t, d)."""
    scaled = np.einsum("tij,tj->ti", error_scale, step)
    size = np.sum(step * scaled, axis=1)[:, None, None]
    return np.asarray(entry_variance[:, None, None] * (size * error_scale + scaled[:, :, None] * scaled[:, None, :]))


class RefinedFit:
    """Estimate of the correction from an earlier estimate and clipped gradients (trials, d) at it.

    It has the properties of :class:`FirstFit`.
    """

    def __init__(self, before: Fit, gradient: Gradient) -> None:
        self.before, self.gradient = before, gradient
        self.point = before.correction
        self.pilot: FirstFit = before if isinstance(before, FirstFit) else before.pilot
        self.passes: tuple[RefinedFit, ...] = (*(() if isinstance(before, FirstFit) else before.passes), self)

    def transcript(self) -> np.ndarray:
        """Return the pilot's moment, each gradient in units of its bound, and each histogram."""
        return np.column_stack([self.before.transcript(), *self.gradient.transcript])

    def released(self) -> Mapping[str, Json]:
        """Return the clipping bound and, where a histogram was released, the share of private rows beyond it."""
        return self.gradient.released()

    @cached_property
    def unclipped_share(self) -> np.ndarray:
        """Share (trials,) of rows whose gradients are not clipped."""
        return self.gradient.unclipped_share

    @cached_property
    def score(self) -> np.ndarray:
        """Return the gradient over the unclipped share (trials, d), with expectation about ``P (delta - point)``."""
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
        gram, error_scale = self._raised_gram(before, before.gram_estimate), before.gram_error_scale
        step, difference, variance = self._secant(before)
        entry = self.pilot.entry_variance
        return secant_update(gram, error_scale, step, difference, variance=variance, entry_variance=entry)

    @property
    def gram_estimate(self) -> np.ndarray:
        """Return the estimate of P (trials, d, d) after this pass."""
        return self._known_gram[0]

    @property
    def gram_error_scale(self) -> np.ndarray:
        """Return Q (trials, d, d): as in :class:`FirstFit`, reduced along the steps that gradients have observed."""
        return self._known_gram[1]

    @cached_property
    def least_raised_gram(self) -> np.ndarray:
        """Return P (trials, d, d) raised only where the secant is significant for a step chosen from the data.

        A step contains the noise of the gradient that it starts from. The product of that noise with the step is up to
        ``sqrt(d)`` of the standard deviations that it would have for an independent step.
        """
        if isinstance(self.before, FirstFit) or self.pilot.own is not None:
            return self.pilot.gram_estimate
        deviations = max(SECANT_DEVIATIONS, math.sqrt(self.point.shape[1]))
        return self._raised_gram(self.before, self.before.least_raised_gram, deviations)

    def _secant(self, before: RefinedFit) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the step (trials, d) between two gradients, their difference (trials, d), its variance (trials,)."""
        variance = before.score_variance + self.score_variance
        return self.point - before.point, before.score - self.score, variance

    def _raised_gram(self, before: RefinedFit, gram: np.ndarray, deviations: float = SECANT_DEVIATIONS) -> np.ndarray:
        """Return a Gram matrix (trials, d, d) raised by the secant of the last two gradients."""
        step, difference, variance = self._secant(before)
        entry = self.pilot.entry_variance
        return raise_curvatures(gram, step, difference, variance, entry_variance=entry, deviations=deviations)

    @property
    def truncates_heavily(self) -> bool:
        """Return whether clipping removed far more in the first trial than public rows predict.

        Either gradients raise P along some direction by more than ``HEAVY_GROWTH``, or the open bin of the histogram
        has more rows than expected.
        """
        if self.gradient.exceeds_expected_tail[0]:
            return True
        if np.array_equal(self.pilot.gram_estimate[0], self.least_raised_gram[0]):
            return False
        grown = np.linalg.solve(self.pilot.gram_estimate[0], self.least_raised_gram[0])
        return bool(np.linalg.eigvals(grown).real.max() > HEAVY_GROWTH)

    @cached_property
    def _posterior(self) -> tuple[np.ndarray, GaussianUpdate]:
        """Return mean (trials, d) and last update of the filter over all gradients, from the pilot's posterior."""
        mean, covariance = self.pilot.correction, self.pilot.covariance
        update = None
        for fit in self.passes:
            innovation = fit.score - np.einsum("tij,tj->ti", self.gram_estimate, mean - fit.point)
            expected = np.linalg.solve(self.gram_estimate, fit.score[..., None])[..., 0]
            noise = fit.score_variance[:, None, None] * fit.gradient.error_scale + self.gram_noise_covariance(expected)
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
        """Return the posterior covariance (trials, d, d) of the correction."""
        return self._posterior[1].covariance

    @cached_property
    def correction(self) -> np.ndarray:
        """Return the posterior mean (trials, d), or :attr:`unshrunk` where there is no shrinkage."""
        filtered = self.pilot.shrinks and self.pilot.own is None
        return self._posterior[0] if filtered else self.unshrunk

    @cached_property
    def _weights(self) -> np.ndarray:
        """Return precision weights (passes, trials) of the gradients, from their noise and that of P along the step."""
        last = self.passes[-1]
        solution = last.point + np.linalg.solve(self.gram_estimate, last.score[..., None])[..., 0]
        steps = [solution - fit.point for fit in self.passes]
        step_sizes = np.array([np.einsum("ti,tij,tj->t", step, self.gram_error_scale, step) for step in steps])
        variance = np.array([(fit.gradient.noise / fit.unclipped_share) ** 2 for fit in self.passes])
        clipped = np.array([fit.gradient.clipping_mse for fit in self.passes])
        # The clipping error at the largest bound is common to all gradients, so that weighting cannot reduce it.
        variance = variance + clipped - np.min(clipped, axis=0)
        precision = 1 / (variance + 2 * self.pilot.entry_variance * step_sizes)
        return np.asarray(precision / np.sum(precision, axis=0))

    @cached_property
    def noise(self) -> np.ndarray:
        """Return the noise sd (trials,) of a coordinate of the weighted gradient, on the scale of the last one."""
        variance = np.array([(fit.gradient.noise / fit.unclipped_share) ** 2 for fit in self.passes])
        return np.asarray(self.unclipped_share * np.sqrt(np.sum(self._weights**2 * variance, axis=0)))

    @cached_property
    def base(self) -> np.ndarray:
        """Return the weighted mean (trials, d) of the points at which the gradients were released."""
        return np.asarray(sum(w[:, None] * fit.point for w, fit in zip(self._weights, self.passes, strict=True)))

    @cached_property
    def unshrunk(self) -> np.ndarray:
        """Return the Newton step with the weighted gradient from :attr:`base` (trials, d), without prior and pilot."""
        score = sum(w[:, None] * fit.score for w, fit in zip(self._weights, self.passes, strict=True))
        return np.asarray(self.base + np.linalg.solve(self.gram_estimate, np.asarray(score)[..., None])[..., 0])

    @property
    def clip_weights(self) -> np.ndarray:
        """Return clipping weights (m,) of public rows in the last gradient."""
        return self.gradient.weights

    def noise_covariance(self, penalized: np.ndarray) -> np.ndarray:
        """Return the noise covariance C (d, d) of the gradients and of P times the step."""
        step = self.unclipped_share[:1, None] * (penalized - self.base[0])
        return np.asarray(self.noise[0] ** 2 * self.gradient.error_scale[0] + self.gram_noise_covariance(step)[0])

    def truncation_part(self, inverse: np.ndarray) -> ErrorPart | None:
        """Return the clipping bias on public rows, floored at the clipping error from the released histogram."""
        part = truncation_bias(self.pilot.public, self.clip_weights, inverse)
        if part is None or self.gradient.counts is None:
            return part
        floor = self.gradient.largest_clipping_mse[0] * np.sum(inverse @ self.gradient.error_scale[0] * inverse, axis=1)
        return part.with_variance(np.maximum(part.variance, floor))

    @property
    def last_step(self) -> np.ndarray:
        """Return the long part (d,) of the first trial's last step, see :func:`long_step`."""
        return long_step(self.correction[:1] - self.point[:1], self.before.covariance[:1])[0]


def long_step(step: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Return steps s (t, d) times ``sqrt(1 - 1/z)``, with ``z = s'C^{-1}s/d`` at least 1.

    C (t, d, d) is the covariance before the step. Truncation makes the known curvature too small, and the error that
    remains after a step with such a curvature is at most as long as the step (proofs/bands.md, 7).
    """
    ratio = np.sum(step * np.linalg.solve(covariance, step[..., None])[..., 0], axis=1) / step.shape[1]
    return np.asarray(step * np.sqrt(1 - 1 / np.maximum(ratio, 1.0))[:, None])


# Estimates after one pass and after several, with the same properties.
Fit = FirstFit | RefinedFit
