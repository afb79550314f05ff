"""``public-only`` and ``non-private``: the two fits that every private method is compared with.

``public-only`` is the fit to the public data: it reads no private row and costs nothing.
``non-private`` is the fit to the private rows without noise: for the lab, never released.
"""

import math
from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.bands import Bands
from pmtcore.base.private_rows import Curator, Private, PrivateRows
from pmtcore.glm import solvers
from pmtcore.glm.families import FAMILIES, GAUSSIAN
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms.minimizer import LossSums, bytes_kept, row_pieces
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.methods import registry
from pmtcore.methods.parameters import Parameters, penalty
from pmtcore.public.bands import ErrorPart, limits, robust_part
from pmtcore.public.moments import PublicData, back_transform, joint_rows, ridge_from_least_squares, whiten
from pmtcore.public.shape import Shape

_LAB = Curator("the non-private fit, lab only")


def exact_fit(public: PublicData, rows: PrivateRows, lam: float | None = None) -> Private[np.ndarray]:
    """Return the exact fit (d,) of the family to private rows, private; every private method estimates it."""
    if public.family is GAUSSIAN:
        return least_squares(public, rows, lam or 0.0)
    penalty = public.penalty if lam is None else lam * public.unit_penalty

    def prepare(x: np.ndarray, y: np.ndarray) -> Rows:
        response, weights = (y[:, 0], y[:, 1]) if rows.weighted else (y, np.ones(len(y)))
        return Rows(whiten(public.feature_root, x), response, weights)

    with np.errstate(all="ignore"):  # whether something overflowed is private too
        data = LossSums(row_pieces(rows, prepare), public.family, math.inf, rows.n)
        fitted = solvers.fit(data, penalty, public.centre)
        return Private(back_transform(public.feature_root, fitted))


def least_squares(public: PublicData, rows: PrivateRows, lam: float = 0.0) -> Private[np.ndarray]:
    """Return the exact ridge fit (d,) of private rows: ``(X'X/n + lam I)^{-1} X'y/n`` (A, Theorem 4.1), private.

    Solved in the coordinates in which the public moment is the identity, so raw units do no harm.
    """
    d, root = public.d, public.feature_root

    def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
        z = whiten(public.factor, joint_rows(features, response))
        return np.asarray(z.T @ z)

    def solve(total: np.ndarray) -> np.ndarray:
        moment = total / rows.n
        # Only the correction is solved for: exact where the public fit is.
        correction = np.linalg.lstsq(moment[:d, :d], moment[:d, d], rcond=None)[0]
        fit = public.coefficients + public.residual_scale * back_transform(root, correction)
        if lam == 0:
            return fit
        return ridge_from_least_squares(fit, root @ moment[:d, :d] @ root.T, np.full(d, lam))

    return rows.sum(block).map(solve)


class NoParameters(Parameters):
    """No parameters."""


class NonPrivateParameters(Parameters):
    """Parameters of the non-private fit."""

    lam: float = penalty(
        "Ridge penalty",
        "Of a linear fit, in the units of the table, the intercept included; of another family, the problem's.",
    )


@dataclass(frozen=True)
class PublicPlan(registry.Plan):
    """The public fit."""

    public: PublicData
    mu: float = 0.0

    # Sampling errors are summed over groups first.
    clusters_errors = True

    def mechanism_on(self, rows: PrivateRows) -> registry.Mechanism:
        """Return the public fit in every trial.

        Guarantee: no private row is read.
        """
        fit, bands = self.public.coefficients, public_bands(self.public)
        return lambda source, trials: registry.Coefficients(np.tile(fit, (trials, 1)), bands=bands)

    def parts(self) -> tuple[Spend, ...]:
        """Return no spend: no private row is read."""
        return ()

    def predicted(self) -> registry.Prediction | None:
        """Return the sampling error of the public fit."""
        bands = public_bands(self.public)
        return None if bands is None else registry.Prediction(bands.privacy, bands.sampling)


def public_bands(public: PublicData) -> Bands | None:
    """Return sampling bands of the public fit; robust (HC3) with rows, homoskedastic with a moment alone."""
    if public.m is None or public.m <= public.d:
        return None
    if public.family is not GAUSSIAN:
        return None if public.rows is None else _glm_bands(public)
    inverse = public.residual_scale * back_transform(public.feature_root, np.eye(public.d)).T  # s_B L_x^{-T}
    nothing = ErrorPart.of(np.zeros((public.d, public.d)))
    if public.rows is None:
        sampling = ErrorPart.of(inverse @ inverse.T / (public.m - public.d), public.m - public.d)
        return limits(public.coefficients, nothing, sampling)
    influence = (public.whitened_in_sample[:, :-1] * public.left_out_residual[:, None]) @ inverse.T
    return limits(public.coefficients, nothing, robust_part(influence, 1.0, public.m, public.clusters))


def _glm_bands(public: PublicData) -> Bands:
    """Return robust intervals of a public fit to labels or counts, floored at the model's (proofs/bands.md, 7)."""
    shape, root = Shape.of(public), public.feature_root
    influence = back_transform(root, shape.influence)
    robust = robust_part(influence, 1.0, len(influence), public.clusters)
    model = back_transform(root, back_transform(root, shape.model_covariance).T)
    return limits(public.coefficients, ErrorPart.of(np.zeros((public.d, public.d))), robust.at_least(model))


@dataclass(frozen=True)
class NonPrivatePlan(registry.StatisticPlan[np.ndarray]):
    """The fit without privacy."""

    public: PublicData
    lam: float
    mu: float = 0.0

    def bytes_kept(self, d: int) -> int:
        """Return 0 for least squares, which needs one pass; else the bytes of a row in an iterated fit's cache."""
        return 0 if self.public.family is GAUSSIAN else bytes_kept(d)

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return the exact fit (d,), private."""
        return exact_fit(self.public, rows, self.lam if self.public.family is GAUSSIAN else None)

    def parts(self) -> tuple[Spend, ...]:
        """Return no spend: there is no guarantee."""
        return ()

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> registry.Outcome:
        """Return the exact fit in every trial.

        Guarantee: none.
        """
        return registry.Coefficients(np.tile(statistic.reveal(_LAB), (trials, 1)))


@registry.Method(
    id="public-only",
    title="Public fit alone",
    summary="The fit to the public data: spends nothing, and often hard to beat.",
    origin=registry.Origin("baseline"),
    claim=registry.sound("reads no private row", "baselines"),
    colour="#009E73",
    families=tuple(FAMILIES),
    task="any",
    weighs_losses=True,
    role="public",
    at_first=True,
)
def _public_plan(public: PublicData, n: int, budget: Budget, parameters: NoParameters) -> registry.Plan:
    return PublicPlan(public)


@registry.Method(
    id="non-private",
    title="Without privacy",
    summary="The fit to the private rows: the figure every private method tries to reach.",
    origin=registry.Origin("baseline"),
    claim=registry.lab("no noise at all"),
    colour="#888888",
    families=tuple(FAMILIES),
    task="any",
    needs_labels=False,
    role="reference",
)
def _non_private_plan(public: PublicData, n: int, budget: Budget, parameters: NonPrivateParameters) -> registry.Plan:
    return NonPrivatePlan(public, parameters.lam)
