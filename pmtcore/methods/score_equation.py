"""Estimate of the private fit from a released score at one point, with the curvature of public rows.

Proof: proofs/score.md, 10.

    mean_pub w x~ (b'(x~'theta) - b'(x~'t)) + P (theta - t) = q + B - P t

q is the released mean score at t, w the weights of clipped rows, B the mean score that clipping removes from public
rows, and P the penalty. The equation is solved for theta, weighted by its covariance and combined with the public
prior: the posterior mode given q. In ``pmt-score`` t is the public fit, in ``pmt-objective`` the released minimizer.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmtcore.base.bands import Bands
from pmtcore.base.private_rows import PrivateRows
from pmtcore.methods.gradients.frame import Frame
from pmtcore.methods.gradients.rehearsal import DRAWS, RehearsedPlan, simulated_table
from pmtcore.methods.registry import Plan, Prediction
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.gaussian_update import inflate_on_conflict
from pmtcore.public.shape import Clip, LeftOutRows

# Ratio of actual errors to standard deviations in a prediction; intervals use the ratio on simulated rows. The
# covariance is of first order and takes that of the public fit as known: intervals of 22 settings of *tune* (m = 5d, mu
# .5 and 1.5) cover .90 to .93 with a ratio of 1 and .94 to .95 with 1.3; on *check* .94.
_USUAL_ERROR_RATIO = 1.3
_MOST_STEPS = 60  # most Levenberg-Marquardt steps from the public fit
_CONVERGED_STEP = 1e-10  # length of a step, relative to the coefficients, that ends the iteration
# The same as a decrease of minus twice the log posterior, for simulated rows, which need less precision.
_SETTLED_SIMULATED = 0.01
# Iterations between the fit and the covariance of the equation, which depend on each other.
_ERROR_ROUNDS = 3
# Factor on the prior variances where the public fit is not combined.
_UNINFORMATIVE_FACTOR = 1e4
# Lower bound on the prior's eigenvalues relative to the largest, so that it can be inverted.
_LEAST_PRIOR = 1e-12


@dataclass(frozen=True, eq=False)
class Posterior:
    """Fits (t, d) in whitened coordinates, and the covariance (t, d, d) of the private fit around them."""

    fits: np.ndarray
    covariance: np.ndarray


@dataclass(frozen=True, eq=False)
class ScoreEquation:
    """The public side of a score of clipped private rows.

    Attributes:
        frame: public rows.
        clip: of the private rows.
        noise: covariance (d, d) of the noise on the mean score.
        combined: whether the public fit counts as a prior.
    """

    frame: Frame
    clip: Clip
    noise: np.ndarray
    combined: bool = True

    @cached_property
    def rows(self) -> LeftOutRows:
        """Return the public rows as if each had been left out of the whitening, clipped."""
        frame = self.frame
        return LeftOutRows.of(frame.rows, frame.left_out, frame.response, frame.start[0]).clipped(self.clip)

    @cached_property
    def _prior(self) -> np.ndarray:
        """Return the covariance (d, d) of the private fit around the public one, invertible in rounding."""
        values, vectors = np.linalg.eigh(self.frame.start[1])
        wide = 1.0 if self.combined else _UNINFORMATIVE_FACTOR
        return np.asarray((vectors * (wide * np.maximum(values, _LEAST_PRIOR * values[-1]))) @ vectors.T)

    @cached_property
    def _clipped(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the mean score that clipping removes from public rows (d,), and its covariance (d, d).

        Without the response the mean is zero, as if residuals had mean zero at all features.
        """
        frame, rows = self.frame, self.rows
        if not frame.public.labelled:
            removed = rows.features - rows.shortened * rows.weights[:, None]
            parts = removed * frame.residuals(rows.centre[None])[0][:, None]
            return np.zeros(frame.public.d), parts.T @ parts / frame.m / frame.n
        unclipped = replace(rows, factors=np.ones(frame.m), weights=np.ones(frame.m))
        parts = unclipped.scores(frame.public.family) - rows.scores(frame.public.family)
        parts = parts * frame.inflation[:, None]
        return np.mean(parts, axis=0), self._sampled(parts)

    def _sampled(self, parts: np.ndarray) -> np.ndarray:
        """Return the covariance (d, d) of a mean of public parts (m, d) around that of n private ones."""
        frame = self.frame
        return np.asarray(parts.T @ parts / frame.m**2 * (1 + frame.m / frame.n))

    def hessians(self, fits: np.ndarray) -> np.ndarray:
        """Return the penalized Hessians (t, d, d) of clipped public rows at fits (t, d)."""
        slopes = self.rows.slopes(self.frame.public.family, fits) * self.rows.factors**2
        return np.asarray(self.frame.hessians(slopes.T) + self.frame.penalty)

    def _changes(self, points: np.ndarray, fits: np.ndarray) -> np.ndarray:
        """Return the changes (t, m) of the weighted means of clipped public rows from points (t, d) to fits (t, d)."""
        mean, rows = self.frame.public.family.mean, self.rows
        return np.asarray(rows.weights * (mean(rows.predictors(fits)) - mean(rows.predictors(points))))

    def moved(self, points: np.ndarray, fits: np.ndarray) -> np.ndarray:
        """Return the change of the penalized mean score (t, d) from points (t, d) to fits (t, d)."""
        change = self._changes(points, fits) @ self.rows.shortened / self.frame.m
        return np.asarray(change + (fits - points) @ self.frame.penalty)

    def _error(self, points: np.ndarray, fits: np.ndarray, covariance: np.ndarray | None = None) -> np.ndarray:
        """Return the covariance (t, d, d) of the equation: of the noise, of clipping, and of its public left side.

        Args:
            points: where the scores were released (t, d).
            fits: means of the private fits (t, d).
            covariance: of the private fits around these means (t, d, d); ``None``: zero.
        """
        x = self.rows.shortened
        squares = self._changes(points, fits) ** 2
        if covariance is not None:
            slopes = self.rows.slopes(self.frame.public.family, fits)
            squares = squares + slopes**2 * np.stack([np.sum((x @ matrix) * x, axis=1) for matrix in covariance])
        known = self.noise + self._clipped[1]
        return np.stack([known + self._sampled(x * np.sqrt(square)[:, None]) for square in squares])

    def _covariance(self, fits: np.ndarray, error: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return the posterior covariance (t, d, d) at fits (t, d)."""
        hessians = self.hessians(fits)
        return np.asarray(np.linalg.inv(hessians @ np.linalg.solve(error, hessians) + np.linalg.inv(prior)))

    def expected(self, distance: np.ndarray) -> Posterior:
        """Return the posterior to expect if private and public rows are of one population.

        Args:
            distance: expected second moment (d, d) of the private fit minus the point of the score.
        """
        centre = self.frame.start[0][None]
        return Posterior(centre, self._covariance(centre, self._error(centre, centre, distance[None]), self._prior))

    def solve(self, points: np.ndarray, scores: np.ndarray, settled: float = -1.0) -> Posterior:
        """Return the posterior for mean scores (t, d) released at points (t, d), without the penalty.

        The prior covariance is inflated where it conflicts with the score (proofs/shrinkage.md, 6.1).

        Args:
            points: where the scores were released (t, d).
            scores: (t, d).
            settled: decrease of minus twice the log posterior that ends the iteration; negative: only the length of a
                step ends it.
        """
        centres = np.tile(self.frame.start[0], (len(scores), 1))
        target = scores + self._clipped[0] - points @ self.frame.penalty
        error = self._error(points, points)
        hessians = self.hessians(centres)
        from_prior = hessians @ self._prior @ hessians
        innovation = target - self.moved(points, centres)
        prior = inflate_on_conflict(from_prior, innovation, from_prior + error)[:, None, None] * self._prior
        fits = self._modes(points, target, error, np.linalg.inv(prior), fits=centres, settled=settled)
        for _ in range(_ERROR_ROUNDS):
            error = self._error(points, fits, self._covariance(fits, error, prior))
            fits = self._modes(points, target, error, np.linalg.inv(prior), fits=fits, settled=settled)
        covariance = self._covariance(fits, error, prior)
        return Posterior(fits, self._covariance(fits, self._error(points, fits, covariance), prior))

    def _modes(
        self,
        points: np.ndarray,
        target: np.ndarray,
        error: np.ndarray,
        precision: np.ndarray,
        *,
        fits: np.ndarray,
        settled: float,
    ) -> np.ndarray:
        """Return the posterior modes (t, d) by the Levenberg-Marquardt method.

        They minimize the squared residual of the equation in the metric of its covariance, plus the prior's quadratic.

        Args:
            points: where the scores were released (t, d).
            target: right-hand sides (t, d).
            error: covariance of the equation (t, d, d).
            precision: of the prior (t, d, d).
            fits: initial fits (t, d).
            settled: see :meth:`solve`.
        """
        centre, d = self.frame.start[0], self.frame.public.d
        metric = np.linalg.inv(error)

        def at(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            gap, deviation = self.moved(points, theta) - target, theta - centre
            cost = np.einsum("ti,tij,tj->t", gap, metric, gap)
            cost += np.einsum("ti,tij,tj->t", deviation, precision, deviation)
            return gap, self.hessians(theta), cost

        gap, jacobian, cost = at(fits)
        damping, going = np.full(len(fits), 1e-3), np.ones(len(fits), dtype=bool)
        for _ in range(_MOST_STEPS):
            curvature = jacobian @ metric @ jacobian + precision
            slope = np.einsum("tij,tjk,tk->ti", jacobian, metric, gap)
            slope += np.einsum("tij,tj->ti", precision, fits - centre)
            size = np.trace(curvature, axis1=1, axis2=2)[:, None, None] / d * np.eye(d)
            step = np.linalg.solve(curvature + damping[:, None, None] * size, slope[..., None])[..., 0]
            going &= np.linalg.norm(step, axis=1) > _CONVERGED_STEP * (1 + np.linalg.norm(fits, axis=1))
            if not going.any():
                break
            next_gap, next_jacobian, after = at(fits - step)
            better = (after <= cost) & going
            going &= ~better | (cost - after > settled)
            damping = np.where(better, damping / 5, damping * 5)
            fits = np.where(better[:, None], fits - step, fits)
            gap = np.where(better[:, None], next_gap, gap)
            jacobian = np.where(better[:, None, None], next_jacobian, jacobian)
            cost = np.where(better, after, cost)
        return fits

    def sampling(self, posterior: Posterior) -> ErrorPart:
        """Return the sampling error of the private rows around the fit of the first trial."""
        return self.frame.sampling(posterior.fits[0])


@dataclass(frozen=True)
class ScorePlan(RehearsedPlan, Plan):
    """A plan that releases a score, from which :class:`ScoreEquation` estimates the fit."""

    # Sampling errors are summed over groups first.
    clusters_errors = True

    @property
    @abstractmethod
    def equation(self) -> ScoreEquation | None:
        """Return the equation for a released score; ``None`` without public rows."""

    @property
    @abstractmethod
    def distance(self) -> np.ndarray:
        """Return the expected second moment (d, d) of the private fit minus the point of the score."""

    @abstractmethod
    def simulated_score(self, rows: PrivateRows, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a point (d,) and the noisy score (d,) there of simulated rows, with the noise for n private rows.

        Args:
            rows: any number of simulated rows in the coordinates of the table.
            draw: number of the simulated table.
        """

    @property
    def solvable(self) -> ScoreEquation:
        """Return the equation where there is one.

        Raises:
            ValueError: there are no public rows.
        """
        if self.equation is None:
            raise ValueError("public rows are needed")
        return self.equation

    @property
    def frame(self) -> Frame:
        """See :class:`RehearsedPlan`."""
        return self.solvable.frame

    def rehearse(self) -> tuple[np.ndarray, np.ndarray]:
        """Return errors and covariances of scores of simulated rows."""
        frame = self.frame
        drawn = [simulated_table(frame, draw) for draw in range(DRAWS)]
        tables = [table.private(frame.features, self.public.names, None) for table in drawn]
        points, scores = zip(*(self.simulated_score(rows, draw) for draw, rows in enumerate(tables)), strict=True)
        posterior = self.solvable.solve(np.array(points), np.array(scores), _SETTLED_SIMULATED)
        return posterior.fits - np.stack([table.fit for table in drawn]), posterior.covariance

    def privacy_part(self, posterior: Posterior, error_ratios: np.ndarray) -> ErrorPart:
        """Return the privacy part of the first trial's error, in the units of the table.

        Args:
            posterior: of the equation.
            error_ratios: factors (d,) by which actual errors exceed the standard deviations of its covariance.
        """
        return ErrorPart.of(self.in_table_units(posterior.covariance[0]) * np.outer(error_ratios, error_ratios))

    def bands(self, posterior: Posterior) -> Bands:
        """Return the intervals of the first trial; noise, clipping and the error of the curvature are one part."""
        estimate = self.frame.to_table(posterior.fits[0])
        return limits(estimate, self.privacy_part(posterior, self.error_ratios), self.solvable.sampling(posterior))

    def predicted(self) -> Prediction | None:
        """Return the expected standard errors from public rows; ``None`` without public rows."""
        if self.equation is None:
            return None
        expected = self.equation.expected(self.distance)
        privacy = self.privacy_part(expected, np.full(self.public.d, _USUAL_ERROR_RATIO)).sd
        return Prediction(privacy, self.equation.sampling(expected).sd, clipping_in_privacy=True)

    def prepare(self) -> None:
        """Compute the figures and the scores of simulated rows, which intervals need."""
        self.facts()
        if self.equation is not None:
            _ = self.error_ratios
