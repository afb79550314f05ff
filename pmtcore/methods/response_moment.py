"""``response-moment``: least squares where only the responses are private (label privacy; proofs/response.md).

    H = (1/n) sum x_i x_i'                              exact: the covariates are declared public
    q = (1/n) sum z_i r_i min(1, R/(||z_i|| |r_i|)) + g,   z = C^{-1} x,  CC' = H,  r = (y - x'beta_B)/s_B - z'delta

A response changes its own summand along ``z_i`` only, and by at most 2R (equation 1 of the proof). Each of two passes
releases a histogram, which chooses R, and a clipped cross moment: at the public fit, then at the estimate after the
first. A residual is clipped at ``R/||z_i||``, the largest public bound with that sensitivity (equation 2). In z the
Gram matrix is the identity, so that q over the unclipped share estimates the remaining correction; public fit and
passes are combined by precision (equation 3). Neighbours: the response of one row replaced. Public: the covariates, as
the user declares; public rows, n.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.budgets import Budget, Neighbours, Spend
from pmtcore.base.bands import Bands
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, Note, ReleaseMessage, ReleaseNote
from pmtcore.base.private_rows import Curator, Private, PrivateRows, RowCache
from pmtcore.base.strict_json import Json
from pmtcore.base.symmetric import symmetric_from_lower
from pmtcore.mechanisms.grid import join_words, split_into_words
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.quantized_rows import STEPS, QuantizedRows, Quantizer
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.baselines import NoParameters
from pmtcore.methods.facts import Facts
from pmtcore.methods.joint.fit import long_step
from pmtcore.methods.joint.passes import COUNTING, Gradient, SecondPass, Shares
from pmtcore.methods.joint.plan import gradient_norms
from pmtcore.methods.registry import Method, OfPublicData, Origin, Outcome, Prediction, PrivacyClaim, StatisticPlan
from pmtcore.public.bands import ErrorPart, limits, robust_part
from pmtcore.public.clipping import negligible_noise_bound
from pmtcore.public.gaussian_update import gaussian_update
from pmtcore.public.moments import PublicData, back_transform, whiten
from pmtcore.public.ridge import ridge_regularized_public

_DECLARED = Curator("the user has declared the covariates public, and it depends on nothing else")
# Cap on the length of whitened rows in H, so that a sum of 2^21 rows fits into 63 bits.
LARGEST_RESPONSE_NORM = 2.0**11
# Grid steps of a product of two whitened coordinates: the rounding error of H is below a millionth.
PRODUCT = 2.0**20
# Ridge on H in the whitening, in units of the mean eigenvalue plus 1: a column may be constant in the private rows, or
# missing in all of them.
LEAST_EIGENVALUE = 1e-6
# Share of the pass at the public fit in the mu^2 that the histograms leave; shares from .1 to .55 change the error on
# tune by .03. The ratio of the error to that of joint-pmt is .960, .897 and .844 at mu .15, 1.5 and 4.5 there (108
# settings), and .895, .814 and .705 on check (90).
FIRST_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class PublicCoordinates:
    """Coordinates z that whiten the private rows; they are public, since the covariates are.

    Attributes:
        moment: H (d, d), in the coordinates that the public rows whiten.
    """

    public: PublicData
    moment: np.ndarray

    @property
    def whitening(self) -> np.ndarray:
        """Return C (d, d) with ``CC' = H`` plus a ridge of a millionth of the mean eigenvalue plus 1."""
        least = LEAST_EIGENVALUE * (1 + np.trace(self.moment) / self.public.d)
        return np.asarray(np.linalg.cholesky(self.moment + least * np.eye(self.public.d)))

    @property
    def design(self) -> np.ndarray:
        """Return the Gram matrix (d, d) in z: the identity, except in directions without private variance."""
        return whiten(self.whitening, whiten(self.whitening, self.moment).T)

    @property
    def quantizer(self) -> Quantizer:
        """Return the quantizer of rows ``(z, (y - x'beta_B)/s_B)``."""
        d, factor = self.public.d, self.public.factor.copy()
        factor[:, :d] = factor[:, :d] @ self.whitening
        return Quantizer(Whitening(factor, self.public.has_intercept).product_for(np.eye(d + 1), d + 1), d)

    def to_table(self, step: np.ndarray) -> np.ndarray:
        """Return steps (k, d) in coefficients of the table."""
        root = self.public.feature_root @ self.whitening
        return self.public.residual_scale * back_transform(root, step)


@dataclass(frozen=True, eq=False)
class Estimate:
    """Estimate of the private fit less the public one: mean (T, d), and its covariances (T, d, d) by source.

    Attributes:
        largest_clipping: upper bound on ``clipping`` where private rows are far longer than public ones, for bands.
        long_step: part (T, d) of the last step that exceeds what the covariance before it explains, for bands.
    """

    mean: np.ndarray
    public: np.ndarray
    noise: np.ndarray
    clipping: np.ndarray
    largest_clipping: np.ndarray
    long_step: np.ndarray

    @classmethod
    def at_start(cls, coordinates: PublicCoordinates, n: int, trials: int) -> Estimate:
        """Return the public fit, with the covariance of its error and of the sampling error of n rows."""
        d, root = coordinates.public.d, coordinates.whitening
        prior = root.T @ (coordinates.public.fit_covariance + np.eye(d) / n) @ root
        vectors, matrices = np.zeros((trials, d)), np.zeros((trials, d, d))
        return cls(vectors, matrices + prior, matrices, matrices, matrices, vectors)

    def after(self, coordinates: PublicCoordinates, gradient: Gradient) -> Estimate:
        """Return the estimate combined with a clipped cross moment at its mean (proofs/response.md, 4)."""
        unit, share = np.eye(self.mean.shape[1]), gradient.unclipped_share[:, None]
        noise, clipping, largest = (
            (variance[:, None] / share**2)[..., None] * unit
            for variance in (gradient.noise**2, gradient.clipping_mse, gradient.largest_clipping_mse)
        )
        m, d = coordinates.public.m or 0, coordinates.public.d
        before = self.public + self.noise + self.clipping
        update = gaussian_update(
            before, coordinates.design, gradient.score / share, noise + clipping, prior_dof=max(m - d, 1)
        )
        return Estimate(
            self.mean + update.step,
            update.of_prior(self.public),
            update.of_prior(self.noise) + update.of_observation(noise),
            update.of_prior(self.clipping) + update.of_observation(clipping),
            update.of_prior(self.largest_clipping) + update.of_observation(largest),
            long_step(update.step, before),
        )


@dataclass(frozen=True, eq=False)
class CovariatesAndRows:
    """H (d, d), of the covariates alone; the rows, whose passes depend on the noise before them."""

    moment: np.ndarray
    rows: RowCache[QuantizedRows]


@dataclass(frozen=True)
class ResponsePlan(OfPublicData, StatisticPlan[CovariatesAndRows]):
    """``response-moment`` with its passes fixed."""

    passes: tuple[SecondPass, ...]

    # Sampling errors are summed over groups first.
    clusters_errors = True

    @property
    def n_passes(self) -> int:
        """Return the number of passes: the covariates; a histogram and a cross moment in each pass."""
        return 1 + 2 * len(self.passes)

    def measure(self, rows: PrivateRows) -> Private[CovariatesAndRows]:
        """Return H, which does not depend on responses, and the rows in the coordinates z."""
        covariates = Quantizer.features_only(self.public.feature_root, self.public.has_intercept)
        words = rows.sum(lambda x, y: covariate_moment(covariates(x, np.zeros(len(y))), self.public.d))
        values, vectors = np.linalg.eigh(join_words(words.reveal(_DECLARED)).astype(float) / (PRODUCT * self.n))
        # With few rows rounding may leave an eigenvalue below 0.
        moment = (vectors * np.maximum(values, 0.0)) @ vectors.T
        return Private(CovariatesAndRows(moment, PublicCoordinates(self.public, moment).quantizer.pieces(rows)))

    def perturb(self, statistic: Private[CovariatesAndRows], source: NoiseSource, trials: int) -> ResponseOutcome:
        """Return estimates from H, histograms and noisy cross moments.

        Guarantee: mu-GDP where the response of one row is replaced, for the bits that leave: in each pass a histogram
        of sensitivity ``sqrt(2)`` and a mean in which one row moves by at most 2R, composed adaptively
        (proofs/response.md, 1 and 3).
        """
        where = PublicCoordinates(self.public, statistic.map(lambda pair: pair.moment).reveal(_DECLARED))
        rows, gradients = statistic.map(lambda pair: pair.rows), []
        estimate = Estimate.at_start(where, self.n, trials)
        for moment_pass in self.passes:
            gradients.append(moment_pass.release(rows, estimate.mean, source))
            estimate = estimate.after(where, gradients[-1])
        return ResponseOutcome(self, where, estimate, tuple(gradients))

    def errors(
        self, where: PublicCoordinates, estimate: Estimate, clipped: np.ndarray
    ) -> tuple[ErrorPart, ErrorPart, ErrorPart]:
        """Return the first trial's error parts, in table units: noise with public fit, sampling, clipping.

        Sampling variances are at least the homoscedastic ones, ``s^2 H^{-1}/n`` with the H of the private rows.

        Args:
            where: coordinates of the estimate.
            estimate: after the passes.
            clipped: covariance (d, d) of the estimate by clipping.
        """
        public, residual = self.public, self.public.left_out_residual
        rows = whiten(where.whitening, public.whitened_in_sample[:, :-1] * residual[:, None])
        robust = robust_part(where.to_table(rows - rows.mean(axis=0)), 1.0, self.n, public.clusters)
        equal = where.to_table(where.to_table(where.design * np.mean(residual**2)).T) / self.n
        sampling = robust.at_least(equal)
        noise, clipping = (
            ErrorPart.of(where.to_table(where.to_table(covariance).T))
            for covariance in (estimate.public[0] + estimate.noise[0], clipped)
        )
        return noise, sampling, clipping

    def predicted(self) -> Prediction | None:
        """Return the expected standard errors if private and public rows are of one population."""
        where = PublicCoordinates(self.public, np.eye(self.public.d))
        trials = len(self.passes[0].rehearsal.bound)
        estimate = Estimate.at_start(where, self.n, trials)
        for moment_pass in self.passes:
            estimate = estimate.after(where, moment_pass.rehearsal)
        mean = Estimate(*(np.mean(part, axis=0, keepdims=True) for part in vars(estimate).values()))
        noise, sampling, clipping = self.errors(where, mean, mean.clipping[0])
        return Prediction(noise.sd, sampling.sd, clipping.sd)

    def parts(self) -> tuple[Spend, ...]:
        """Return histogram and clipped cross moment of each pass; the covariates cost nothing."""
        return tuple(part for moment_pass in self.passes for part in moment_pass.parts())

    def facts(self) -> Facts:
        """Return bound and noise of the last pass, and the share of rows to expect beyond the bound."""
        passes, beyond = self.passes[-1].facts()
        return Facts(
            noise_sd=passes.gradient_noise_sd,
            predicted_truncation_rate=beyond,
            more={"clipping_bound_expected": passes.expected_clipping_bound},
        )


def covariate_moment(pieces: Iterable[QuantizedRows], d: int) -> np.ndarray:
    """Return ``sum x x'`` of one block in steps of 2^-20, as words (2, d, d): the same wherever blocks are cut."""
    total = np.zeros((d, d), dtype=np.int64)
    for piece in pieces:
        directions = piece.directions
        squares = (np.minimum(piece.lengths, LARGEST_RESPONSE_NORM) / STEPS) ** 2 * PRODUCT
        for j in range(d):
            products = directions[j] * directions[: j + 1]
            total[j, : j + 1] += np.rint(products * squares).astype(np.int64).sum(axis=1)
    return split_into_words(symmetric_from_lower(total))


class ResponseOutcome(Outcome):
    """Estimates from what the passes released, in coordinates that are public."""

    def __init__(
        self, plan: ResponsePlan, where: PublicCoordinates, estimate: Estimate, gradients: tuple[Gradient, ...]
    ) -> None:
        self.plan, self.where, self.estimate, self.gradients = plan, where, estimate, gradients

    def transcript(self) -> np.ndarray:
        """Return all released histograms and cross moments; H is known anyway."""
        return np.column_stack([part for gradient in self.gradients for part in gradient.transcript])

    @property
    def coefficients(self) -> np.ndarray:
        """See :class:`Outcome`."""
        return np.asarray(self.plan.public.coefficients + self.where.to_table(self.estimate.mean))

    def bands(self) -> Bands | None:
        """Return limits of noise, sampling and clipping together, clipping as in the bands of ``joint-pmt``."""
        step = self.estimate.long_step[0]
        clipped = self.estimate.largest_clipping[0] + np.outer(step, step)
        return limits(self.coefficients[0], *self.plan.errors(self.where, self.estimate, clipped))

    def notes(self) -> tuple[str, ...]:
        """Return a note where far more rows lie beyond every bound than public rows predict."""
        return (Note(ReleaseNote.HEAVY_TRUNCATION),) if self.gradients[-1].exceeds_expected_tail[0] else ()

    def released(self) -> Mapping[str, Json]:
        """Return the last bound, and the share of rows beyond it."""
        return self.gradients[-1].released()


@Method(
    id="response-moment",
    title="Responses alone private",
    summary="Least squares where covariates are public and only responses private: an exact Gram matrix and "
    "clipped cross moments. Its 95 % bands hold the population's fit in .87 to .94 of the coefficients.",
    origin=Origin("beyond the papers", names=("label-DP",)),
    claim=PrivacyClaim(
        ReleaseStatus.SOUND,
        Neighbours.REPLACE_RESPONSE,
        "Gaussian mechanisms on residuals clipped by public leverage",
        ("response",),
    ),
    colour="#8B5A00",
)
def _plan(public: PublicData, n: int, budget: Budget, parameters: NoParameters) -> ResponsePlan:
    """Plan ``response-moment`` for these public data.

    Raises:
        InputError: no public rows.
    """
    if public.rows is None:
        raise InputError(ReleaseMessage.RESPONSES_NEED_ROWS)
    public, without_histograms = ridge_regularized_public(public), 1 - 2 * COUNTING
    sizes, passes = gradient_norms(public, n, budget.mu), []
    for at, share in enumerate((FIRST_SHARE * without_histograms, (1 - FIRST_SHARE) * without_histograms), 1):
        shares = Shares(budget.mu, 1 - share - COUNTING, COUNTING)
        name = f"clipped cross moment {at}, in units of its bound"
        passes.append(SecondPass(sizes, n, shares, 0.0, negligible_noise_bound(n, shares.gradient_mu), name))
    return ResponsePlan(public, n, budget.mu, tuple(passes))
