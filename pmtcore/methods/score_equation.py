"""A released score of private rows at a point, solved for their fit: public rows stand for the curvature.

Proof: proofs/score.md, 10.

    mean_pub w x~ (b'(x~'theta) - b'(x~'t)) + P (theta - t) = q + B - P t

q is the released score at t, w the weights of clipped rows, B what clipping took from public rows. The solution is the
mode of the posterior given q: ``pmt-score`` has t at the public fit, ``pmt-objective`` at its minimizer.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmtcore.base.bands import Bands
from pmtcore.base.private_rows import PrivateRows
from pmtcore.methods.gradients.frame import Frame
from pmtcore.methods.gradients.rehearsal import DRAWS, RehearsedPlan, simulated
from pmtcore.methods.registry import Plan, Prediction
from pmtcore.public.bands import ErrorPart, limits
from pmtcore.public.gaussian_update import inflate_on_conflict
from pmtcore.public.shape import Clip, LeftOutRows

# What errors are longer by than their covariance says, which is of first order and takes the public fit's as known:
# bands of 22 settings of *tune* (m = 5d, mu .5 and 1.5) cover .90 to .93 at 1
# and .94 to .95 at 1.3; on *check* .94. A prediction has this; bands have that of simulated rows.
_USUAL_ERROR_RATIO = 1.3
_MOST_STEPS = 60  # of Levenberg and Marquardt, from the public fit, which is near
_SETTLED = 1e-10  # a step of this length, for coefficients of length 1, is the last one
# Over simulated rows, twice the logarithm of the posterior need not be nearer to its largest value than about this.
_SETTLED_SIMULATED = 0.01
# The curvature's error depends on how far the fit is from the point, the fit on that error.
_ERROR_ROUNDS = 3
# Variances of the prior where it is not to count.
_UNINFORMATIVE_FACTOR = 1e4
# A direction that the prior knows a million times better than another is one without freedom, up to rounding.
_LEAST_PRIOR = 1e-12


@dataclass(frozen=True, eq=False)
class Posterior:
    """Fits (t, d) in whitened coordinates, and the covariance (t, d, d) of their distance to that of private rows."""

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
        """Return what clipping took from the mean public score (d,), and the covariance (d, d) of its difference.

        Where public rows have no response, a residual's mean is taken to be 0 for all features: nothing is added back.
        """
        frame, rows = self.frame, self.rows
        if not frame.public.labelled:
            lost = rows.features - rows.shortened * rows.weights[:, None]
            parts = lost * frame.residuals(rows.centre[None])[0][:, None]
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
        """Return how far the penalized mean score (t, d) moves from points (t, d) to fits (t, d)."""
        change = self._changes(points, fits) @ self.rows.shortened / self.frame.m
        return np.asarray(change + (fits - points) @ self.frame.penalty)

    def _error(self, points: np.ndarray, fits: np.ndarray, covariance: np.ndarray | None = None) -> np.ndarray:
        """Return the covariance (t, d, d) of the equation: noise, clipping, and the left side a mean of m rows.

        Args:
            points: where the scores were released (t, d).
            fits: the private fits are expected around these (t, d).
            covariance: with this covariance (t, d, d); ``None``: exactly there.
        """
        x = self.rows.shortened
        squares = self._changes(points, fits) ** 2
        if covariance is not None:
            slopes = self.rows.slopes(self.frame.public.family, fits)
            squares = squares + slopes**2 * np.stack([np.sum((x @ one) * x, axis=1) for one in covariance])
        known = self.noise + self._clipped[1]
        return np.stack([known + self._sampled(x * np.sqrt(square)[:, None]) for square in squares])

    def _left(self, fits: np.ndarray, error: np.ndarray, prior: np.ndarray) -> np.ndarray:
        """Return the posterior covariance (t, d, d) at fits (t, d)."""
        hessians = self.hessians(fits)
        return np.asarray(np.linalg.inv(hessians @ np.linalg.solve(error, hessians) + np.linalg.inv(prior)))

    def expected(self, distance: np.ndarray) -> Posterior:
        """Return the posterior that alike rows would leave.

        Args:
            distance: expected second moment (d, d) of the distance from the point of the score to the private fit.
        """
        centre = self.frame.start[0][None]
        return Posterior(centre, self._left(centre, self._error(centre, centre, distance[None]), self._prior))

    def solve(self, points: np.ndarray, scores: np.ndarray, settled: float = -1.0) -> Posterior:
        """Return the posterior for mean scores (t, d) released at points (t, d), without the penalty.

        The prior is widened where the score is longer than it explains (proofs/shrinkage.md, 6.1).

        Args:
            points: where the scores were released (t, d).
            scores: (t, d).
            settled: a step that lowers twice the negative logarithm of the posterior by at most this is the last one;
                below 0: none, the length of a step decides.
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
            error = self._error(points, fits, self._left(fits, error, prior))
            fits = self._modes(points, target, error, np.linalg.inv(prior), fits=fits, settled=settled)
        return Posterior(fits, self._left(fits, self._error(points, fits, self._left(fits, error, prior)), prior))

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
        """Return minimizers (t, d) of the square of the equation in units of its error, plus the prior's pull.

        Levenberg's damping, all trials at once; each stops by itself.

        Args:
            points: where the scores were released (t, d).
            target: right sides (t, d).
            error: covariance of the equation (t, d, d).
            precision: of the prior (t, d, d).
            fits: to begin with (t, d).
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
            going &= np.linalg.norm(step, axis=1) > _SETTLED * (1 + np.linalg.norm(fits, axis=1))
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
    """A plan whose release is a score, which the equation is solved for."""

    # Sampling errors are summed over groups first.
    clusters_errors = True

    @property
    @abstractmethod
    def equation(self) -> ScoreEquation | None:
        """Return the equation that a released score is put into; ``None`` without public rows."""

    @property
    @abstractmethod
    def distance(self) -> np.ndarray:
        """Return the expected second moment (d, d) of the distance from the point of the score to the private fit."""

    @abstractmethod
    def simulated_score(self, rows: PrivateRows, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a point (d,) and the score (d,) there, of simulated rows in place of n private ones, with noise.

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
        drawn = [simulated(frame, draw) for draw in range(DRAWS)]
        tables = [one.private(frame.features, self.public.names, None) for one in drawn]
        points, scores = zip(*(self.simulated_score(rows, draw) for draw, rows in enumerate(tables)), strict=True)
        posterior = self.solvable.solve(np.array(points), np.array(scores), _SETTLED_SIMULATED)
        return posterior.fits - np.stack([one.fit for one in drawn]), posterior.covariance

    def left(self, posterior: Posterior, error_ratios: np.ndarray) -> ErrorPart:
        """Return what is left open in the first trial, in the units of the table.

        Args:
            posterior: of the equation.
            error_ratios: what errors (d,) are longer by than its covariance says.
        """
        return ErrorPart.of(self.in_table(posterior.covariance[0]) * np.outer(error_ratios, error_ratios))

    def bands(self, posterior: Posterior) -> Bands:
        """Return the bands of the first trial; noise, clipping and the rough curvature are one part."""
        estimate = self.frame.to_table(posterior.fits[0])
        return limits(estimate, self.left(posterior, self.error_ratios), self.solvable.sampling(posterior))

    def predicted(self) -> Prediction | None:
        """Return the same parts, expected from public rows; ``None`` without public rows."""
        if self.equation is None:
            return None
        expected = self.equation.expected(self.distance)
        privacy = self.left(expected, np.full(self.public.d, _USUAL_ERROR_RATIO)).sd
        return Prediction(privacy, self.equation.sampling(expected).sd, clipping_in_privacy=True)

    def prepare(self) -> None:
        """Compute the figures and the scores of simulated rows, which intervals need."""
        self.facts()
        if self.equation is not None:
            _ = self.error_ratios
