"""Results of ``joint-pmt`` from its released figures: coefficients at any penalty, intervals, moments, notes.

Intervals, and the test of equal populations: proofs/bands.md, 7.
"""

import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from scipy.linalg import solve_triangular

from pmtcore.base.bands import Bands
from pmtcore.base.distributions import chi2, f_distribution
from pmtcore.base.messages import Note, ReleaseNote
from pmtcore.base.strict_json import Json
from pmtcore.methods.joint.fit import FirstFit, Fit, RefinedFit
from pmtcore.methods.registry import Outcome
from pmtcore.public.bands import ErrorPart, limits, robust_part
from pmtcore.public.cholesky import triangular_root
from pmtcore.public.gaussian_update import gaussian_update
from pmtcore.public.homogeneity import Alarm, bootstrap_null, differing_columns
from pmtcore.public.moments import back_transform, conditioning, equilibrated_solve, ridge_from_least_squares

_PATH_POINTS = 31  # points of the ridge path: three a decade over ten decades
_DECISIVE_LEVERAGE = 0.5  # leverage from which a public row's residual is not used alone
# Upper tail probability of the chi-squared quantile in the floor of the sampling variance
_FLOOR_CHANCE = 0.95
_FALSE_ALARMS = 3e-3  # level of each of two tests for a shift
_MANY_DEGREES = 1e9  # degrees of freedom above this count as infinite

# Least residual length of a normalized column on the others; a shorter one is rounding error, and the columns
# collinear.
_LEAST_INDEPENDENT_PART = float(np.sqrt(np.finfo(float).eps))


class JointOutcome(Outcome):
    """Post-processing of released joint moments (trials, D, D), and of gradients (trials, d) after them.

    Args:
        pilot: estimate from the moments.
        fit: estimate from all passes; the pilot where there is one pass only.
        lam: the plan's ridge penalty.
    """

    def __init__(self, pilot: FirstFit, fit: Fit, lam: float) -> None:
        self.pilot, self.fit, self.lam = pilot, fit, lam

    def transcript(self) -> np.ndarray:
        """Return everything that was released (trials, k)."""
        return self.fit.transcript()

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) at the plan's ridge penalty."""
        return self.ridge(self.lam)

    def ridge(self, lam: float) -> np.ndarray:
        """Return coefficients (trials, d) at any ridge penalty, the intercept unpenalized: post-processing, free."""
        if lam == 0:
            return self._unpenalized
        return ridge_from_least_squares(self._unpenalized, self._feature_moment, lam * self.pilot.public.penalized)

    @cached_property
    def _unpenalized(self) -> np.ndarray:
        """Return coefficients (trials, d) without a penalty."""
        public = self.pilot.public
        return np.asarray(
            public.coefficients + public.residual_scale * back_transform(public.feature_root, self.fit.correction)
        )

    @cached_property
    def _feature_moment(self) -> np.ndarray:
        """Return the released second moment of the features (trials, d, d) in the units of the table."""
        root = self.pilot.public.feature_root
        return np.asarray(root @ self.pilot.stable_gram @ root.T)

    def bands(self) -> Bands:
        """Return privacy, sampling and truncation parts, and 95 % limits of all together (proofs/bands.md, 7)."""
        return bands(self.pilot, self.fit, self.coefficients[0], self.lam)

    def joint_moment(self) -> np.ndarray:
        """Return the released joint second moment (D, D) in the units of the table, first trial."""
        public, d, gram = self.pilot.public, self.pilot.public.d, self.pilot.stable_gram[0]
        whitened = np.empty((d + 1, d + 1))
        whitened[:d, :d] = gram
        whitened[:d, d] = whitened[d, :d] = gram @ self.fit.correction[0]
        whitened[d, d] = self.pilot.residual_variance + self.fit.correction[0] @ whitened[:d, d]
        return np.asarray(public.factor @ whitened @ public.factor.T)

    def released(self) -> Mapping[str, Json]:
        """Return residual variance, R^2, ridge path, condition numbers and the second pass's bound: all free."""
        public = self.pilot.public
        moment = self.joint_moment()
        variance = self.pilot.residual_variance * public.residual_scale**2
        total = moment[-1, -1] - (moment[0, -1] ** 2 / moment[0, 0] if public.has_intercept else 0.0)
        spectrum = conditioning(self.pilot.gram[0])
        ends = np.linalg.svd(public.feature_root, compute_uv=False)[[-1, 0]] ** 2  # public eigenvalues
        path = np.geomspace(ends[0] / 100, ends[1] * 10, _PATH_POINTS)  # from negligible to complete shrinkage
        return {
            "residual_variance": variance,
            "residual_sd": float(np.sqrt(variance)),
            "r_squared": float(1 - variance / total) if total > 0 else None,
            "after_whitening": spectrum.as_dict() if spectrum.lambda_min > 0 else {"lambda_min": spectrum.lambda_min},
            "ridge_path": {
                "lam": path.tolist(),
                "coefficients": [self.ridge(float(lam))[0].tolist() for lam in path],
            },
            "alone": private_only_estimate(self.pilot, self.fit),
            **self.fit.released(),
            **differing_columns(self._alarm),
        }

    @property
    def disagrees(self) -> bool:
        """Return whether a test of equal populations fails; a note says so."""
        return self._looks_shifted or self._alarm is not None

    @cached_property
    def _looks_shifted(self) -> bool:
        """Return whether the correction is significantly larger than samples of one population give."""
        return looks_shifted(self.pilot, self.fit)

    @cached_property
    def _alarm(self) -> Alarm | None:
        """Return the finding of the homogeneity test of the released Gram matrix, if it fails."""
        first = self.pilot.first
        if first.public.rows is None:
            return None
        return bootstrap_null(first.public, first.ball, first.n).alarm(self.pilot.gram[0], self.pilot.v)

    def notes(self) -> tuple[str, ...]:
        """Return the notes on noise, truncation and conflicts of this release."""
        notes: list[str] = []
        if conditioning(self.pilot.gram[0]).lambda_min <= 0:
            notes.append(Note(ReleaseNote.INDEFINITE_COMBINED))
        if self._looks_shifted:
            notes.append(Note(ReleaseNote.CORRECTION_TOO_LARGE))
        if self._alarm is not None:
            notes += self._alarm.notes()
        if isinstance(self.fit, RefinedFit):
            share = self.fit.gradient.share_left_out(self.pilot.first.public)
            if share > 0:
                notes.append(Note(ReleaseNote.ROWS_LEFT_OUT, share=share))
        if self.fit.truncates_heavily:
            notes.append(Note(ReleaseNote.HEAVY_TRUNCATION))
        if self.pilot.gram_precision[0] < 0.5:
            notes.append(Note(ReleaseNote.PUBLIC_MOMENT_WEIGHS_MORE))
        return tuple(notes)


def bands(first: FirstFit, fit: Fit, ridge: np.ndarray, lam: float) -> Bands:
    """Return the error bands of the first trial: privacy, sampling and truncation parts, and 95 % limits of their sum.

    The limits are around the unshrunk fit, so they do not assume that the public fit is unbiased. With public rows and
    without a penalty the two are combined by precision, with the public variance inflated where they conflict
    (proofs/homogeneity.md, 23). Limits that do not contain the published coefficient are widened to contain it.

    Args:
        first: fit of the first pass.
        fit: fit of all passes; the same without others.
        ridge: the published coefficients (d,) at the penalty ``lam``.
        lam: ridge penalty in the units of the table.
    """
    public = first.public
    if lam == 0 and first.shrinks and public.rows is not None and public.m is not None:
        return _with_public(first, fit, ridge)
    root, gram = public.feature_root, fit.unclipped_share[0] * fit.gram_estimate[0]
    solution, centre = fit.unshrunk[0], ridge
    if lam == 0:
        inverse = public.residual_scale * back_transform(root, np.linalg.inv(gram)).T
        centre = public.coefficients + public.residual_scale * back_transform(root, fit.unshrunk[0])
    else:
        penalty = np.diag(fit.unclipped_share[0] * lam * public.penalized)
        inverse = public.residual_scale * equilibrated_solve(root @ gram @ root.T + penalty, root)
        solution = (root.T @ ridge - public.factor[-1, : public.d]) / public.residual_scale
    privacy = ErrorPart.of(inverse @ fit.noise_covariance(solution) @ inverse.T)
    sampling = _sampling_part(first, fit.clip_weights, inverse, fit.unshrunk[0] - solution)
    moved = inverse @ (gram @ fit.last_step)
    return limits(ridge, privacy, sampling, _with_step(fit.truncation_part(inverse), moved), centre=centre)


def _with_step(truncation: ErrorPart | None, moved: np.ndarray) -> ErrorPart | None:
    """Return the truncation part plus the outer product of ``moved`` (d,), the last step in coefficients."""
    return None if truncation is None else truncation.plus(ErrorPart.of(np.outer(moved, moved)))


def private_only_estimate(first: FirstFit, fit: Fit) -> dict[str, Json]:
    """Return the estimate from the private rows alone, in the units of the table, for combining two releases of them.

    It has the first trial's coefficients (d,) without the public fit, the covariance (d, d) of their noise, and their
    truncation variances (d,).
    """
    public, deviation = first.public, fit.unshrunk[0]
    table = public.residual_scale * back_transform(public.feature_root, np.eye(len(deviation))).T
    solve = table @ np.linalg.inv(fit.unclipped_share[0] * fit.gram_estimate[0])
    noise = solve @ fit.noise_covariance(deviation) @ solve.T
    part = _with_step(fit.truncation_part(solve), table @ fit.last_step)
    truncation = np.zeros(len(deviation)) if part is None else part.variance
    centre = public.coefficients + table @ deviation
    return {"coefficients": centre.tolist(), "privacy": noise.tolist(), "truncation": truncation.tolist()}


def _two_estimates(first: FirstFit, fit: Fit, inverse: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return covariances (d, d) of the unshrunk correction and of the public fit, both around the population fit.

    Args:
        first: fit of the first pass.
        fit: fit of all passes.
        inverse: (d, d), from the right-hand side of the normal equations to the correction.
    """
    public = first.public
    truncation = fit.truncation_part(inverse)
    sampling = first.stable_gram[0] * first.residual_variance / first.first.n
    unshrunk = inverse @ (fit.noise_covariance(fit.unshrunk[0]) + sampling) @ inverse.T
    unshrunk = unshrunk + (0.0 if truncation is None else np.diag(truncation.variance))
    influence = public.fit_influence
    return unshrunk, influence.T @ influence / len(influence) ** 2 + public.remaining_fit_covariance


def _with_public(first: FirstFit, fit: Fit, estimate: np.ndarray) -> Bands:
    """Return intervals around the precision-weighted mean of unshrunk and public fit, for the first trial."""
    public, deviation = first.public, fit.unshrunk[0]
    inverse = np.linalg.inv(fit.unclipped_share[0] * fit.gram_estimate[0])
    unshrunk_covariance, public_covariance = _two_estimates(first, fit, inverse)
    identity: np.ndarray = np.eye(len(deviation))
    update = gaussian_update(public_covariance, identity, deviation, unshrunk_covariance, prior_dof=first.prior_dof)
    inflation, influence = float(update.inflation), public.fit_influence
    table = public.residual_scale * back_transform(public.feature_root, identity).T
    solve, public_weight = table @ update.gain @ inverse, table @ update.shrinkage
    privacy = ErrorPart.of(solve @ fit.noise_covariance(deviation) @ solve.T)
    sampling = _sampling_part(first, fit.clip_weights, solve, np.zeros_like(deviation))
    pull = ErrorPart.of(public_weight @ (inflation * public.remaining_fit_covariance) @ public_weight.T)
    public_part = robust_part(influence @ public_weight.T, inflation, len(influence), public.clusters)
    total = sampling.plus(public_part).plus(pull)
    total = total.with_variance(np.maximum(total.variance, _least_squares_variance(first)))
    truncation = _with_step(fit.truncation_part(solve), table @ fit.last_step)
    return limits(estimate, privacy, total, truncation, centre=public.coefficients + table @ update.step)


def _least_squares_variance(first: FirstFit) -> np.ndarray:
    """Return the sampling variances (d,) of least squares without a prior on all rows, public and private.

    They are a floor of the sampling variance: with nearly collinear columns the public prior may make it smaller than
    the rows justify. A diagonal entry of the inverse moment of m Gaussian rows is ``m/chi2(m - d + 1)`` times the
    population's, so the floor uses the 5 % quantile of that chi-squared law. It is zero with at most d + 1 rows, or
    with columns that are collinear to half of the digits.
    """
    public = first.public
    if public.rows is None or len(public.rows) <= public.d + 1:
        return np.zeros(public.d)
    features, m = public.rows[:, :-1], len(public.rows)
    scale = np.sqrt(np.mean(features**2, axis=0))
    basis = triangular_root(features / scale) / math.sqrt(m)
    if np.min(np.abs(np.diag(basis))) < _LEAST_INDEPENDENT_PART:
        return np.zeros(public.d)
    inverse = solve_triangular(basis, np.eye(public.d)) / scale[:, None]
    variance = first.residual_variance * public.residual_scale**2 / (first.first.n + m)
    known = float(chi2.isf(_FLOOR_CHANCE, m - public.d + 1)) / m
    return np.asarray(variance * known * np.sum(inverse**2, axis=1))


def _sampling_part(first: FirstFit, weights: np.ndarray, inverse: np.ndarray, deviation: np.ndarray) -> ErrorPart:
    """Return the sampling part ``inverse Omega inverse'/n`` with ``Omega = E[w^2 r^2 x x']``.

    The shape of Omega comes from public rows, its size from the released residual variance. Where a public row has a
    leverage of a half or more, its residual is not informative, and variances are at least the homoscedastic ones.

    Args:
        first: fit of the first pass.
        weights: truncation or clipping weights (m,) of the public rows.
        inverse: (d, d), from the right-hand side of the normal equations to the correction.
        deviation: unpenalized minus penalized correction (d,), which adds ``x'deviation`` to every residual.
    """
    public, n = first.public, first.first.n
    equal = ErrorPart.of(inverse @ (first.stable_gram[0] * first.residual_variance) @ inverse.T / n)
    if public.rows is None or public.m is None:
        return equal
    x, residual = public.whitened_in_sample[:, :-1], public.left_out_residual
    scale = first.residual_variance / np.mean(weights * residual**2)
    rows = x * (weights * (residual + x @ deviation / math.sqrt(scale)))[:, None]
    robust = robust_part(
        (rows - rows.mean(axis=0)) @ inverse.T if np.any(deviation) else rows @ inverse.T, scale, n, public.clusters
    )
    if np.max(np.sum(x**2, axis=1)) / len(x) < _DECISIVE_LEVERAGE:
        return robust
    return robust.with_variance(np.maximum(robust.variance, equal.variance))


def looks_shifted(first: FirstFit, fit: Fit) -> bool:
    """Test at level 0.003 whether the correction is larger than samples of one population give.

    With public rows the statistic is the ratio of section 6.1 with the robust covariances of the intervals, truncation
    included, and has Hotelling's law, since the public covariance is estimated. With a moment alone
    ``|delta|^2 (m - d)/d`` is F-distributed for Gaussian errors, since ``delta`` is the error of the public fit in
    units of its standard errors; noise and private sampling are added.
    """
    public, delta = first.public, fit.unshrunk[0]
    if public.m is None:
        return False
    inverse = np.linalg.inv(fit.unclipped_share[0] * fit.gram_estimate[0])
    d = public.d
    if public.rows is not None:
        unshrunk_covariance, public_covariance = _two_estimates(first, fit, inverse)
        solution = np.linalg.solve(unshrunk_covariance + public_covariance, np.column_stack([public_covariance, delta]))
        share = float(np.clip(np.trace(solution[:, :d]) / d, 1e-6, 1.0))
        dof = min(first.prior_dof / share**2, _MANY_DEGREES)
        denominator_dof = max(dof - d + 1, 1.0)
        return bool(
            delta @ solution[:, d] * denominator_dof / (d * dof) > f_distribution.isf(_FALSE_ALARMS, d, denominator_dof)
        )
    denominator_dof = public.m - d
    threshold = d / denominator_dof * f_distribution.isf(_FALSE_ALARMS, d, denominator_dof)
    noise = float(np.linalg.eigvalsh(inverse @ fit.noise_covariance(delta) @ inverse)[-1])
    return bool(delta @ delta > threshold + (noise + 1 / first.first.n) * chi2.isf(_FALSE_ALARMS, d))
