"""One Gaussian (Kalman) update, and one law for samples that disagree (proofs/shrinkage.md, 6.1).

A prior ``x ~ N(0, V)`` from public rows meets a released statistic ``e = A x + noise``, ``noise ~ N(0, N)``:

    S = A V A' + N,   K = V A' S^{-1},   x^ = K e,   V^ = (I - K A) V (I - K A)' + K N K'

Where the private rows are no sample of the public population, V is too small and e is longer than S allows. Then V is
inflated until it explains e. False alarms increase the prior variance by about ``FALSE_ALARMS`` of itself in the mean.
The difference of two released gradients is a secant: it observes the curvature along the step between them, and so
corrects what truncation removed from a released curvature (:func:`raise_curvatures`)
and the noise on it (:func:`secant_update`;
proofs/radius.md, 5.1).
"""

from dataclasses import dataclass

import numpy as np

from pmtcore.base.distributions import f_distribution

# Probability of inflating a correct prior with negligible noise; in general it is multiplied by the prior's share of S.
FALSE_ALARMS = 0.05
# Lower bound on the prior's share of S. Below it the innovation is noise, which says nothing of the prior.
_LEAST_SHARE = 1e-6
# Degrees of freedom above this count as infinite.
_MANY_DEGREES = 1e9
# Standard deviations by which the secant's curvature along a step must exceed the known one before it is used
SECANT_DEVIATIONS = 3.0
# Least curvature along a step, in whitened units, that is divided by; its square is still above underflow
_LEAST_RISE = 1e-100


@dataclass(frozen=True, eq=False)
class GaussianUpdate:
    """Posterior of x given one observation; leading dimensions are trials.

    Attributes:
        step: posterior mean (..., d) around the prior mean.
        covariance: posterior covariance (..., d, d).
        gain: K (..., d, k).
        inflation: factor (...,) by which the prior covariance was widened; 1 where the samples agree.
        shrinkage: ``I - K A`` (..., d, d), the weight of the prior.
    """

    step: np.ndarray
    covariance: np.ndarray
    gain: np.ndarray
    inflation: np.ndarray
    shrinkage: np.ndarray

    def of_observation(self, covariance: np.ndarray) -> np.ndarray:
        """Return ``K C K'`` (..., d, d), the posterior part of a covariance C (..., k, k) of the observation."""
        return np.asarray(self.gain @ covariance @ np.swapaxes(self.gain, -1, -2))

    def of_prior(self, covariance: np.ndarray) -> np.ndarray:
        """Return ``inflation (I - K A) C (I - K A)'`` (..., d, d), the posterior part of a prior covariance C."""
        inner = self.shrinkage @ covariance @ np.swapaxes(self.shrinkage, -1, -2)
        return np.asarray(self.inflation[..., None, None] * inner)


def gaussian_update(
    prior_covariance: np.ndarray,
    design: np.ndarray,
    innovation: np.ndarray,
    noise_covariance: np.ndarray,
    *,
    prior_dof: float = np.inf,
) -> GaussianUpdate:
    """Combine a prior ``N(0, V)`` with an observation ``e = A x + noise`` (proofs/shrinkage.md, 6.1).

    Args:
        prior_covariance: V (..., d, d).
        design: A (..., k, d).
        innovation: e (..., k), the observation less what the prior mean predicts.
        noise_covariance: N (..., k, k), positive definite.
        prior_dof: degrees of freedom behind the scale of V; infinite where it is known.
    """
    from_prior = design @ prior_covariance @ np.swapaxes(design, -1, -2)
    total = from_prior + noise_covariance
    inflation = inflate_on_conflict(from_prior, innovation, total, prior_dof)
    prior = inflation[..., None, None] * prior_covariance
    total = inflation[..., None, None] * from_prior + noise_covariance
    # K' = S^{-1} A V, since V and S are symmetric
    gain = np.swapaxes(np.linalg.solve(total, design @ prior), -1, -2)
    shrinkage = np.eye(prior.shape[-1]) - gain @ design
    covariance = shrinkage @ prior @ np.swapaxes(shrinkage, -1, -2)
    covariance = covariance + gain @ noise_covariance @ np.swapaxes(gain, -1, -2)
    step = np.einsum("...ij,...j->...i", gain, innovation)
    return GaussianUpdate(step, covariance, gain, inflation, shrinkage)


def inflate_on_conflict(
    from_prior: np.ndarray, innovation: np.ndarray, total: np.ndarray, prior_dof: float = np.inf
) -> np.ndarray:
    """Return the factor (...,) by which a prior covariance is inflated so that it explains an innovation.

    Let ``z = e' S^{-1} e/k`` and let ``s = tr(S^{-1} A V A')/k`` be the prior's share. Where the samples agree, z is
    distributed about as ``F(k, dof/s^2)``. Beyond the ``1 - FALSE_ALARMS s`` quantile the excess is attributed to the
    prior: ``z = (1 - s) + inflation s``.

    Args:
        from_prior: ``A V A'`` (..., k, k).
        innovation: e (..., k).
        total: S (..., k, k).
        prior_dof: degrees of freedom behind the scale of V.
    """
    k = innovation.shape[-1]
    batch = np.broadcast_shapes(innovation.shape[:-1], total.shape[:-2])
    right = np.empty((*batch, k, k + 1))
    right[..., :k], right[..., k] = from_prior, innovation
    solved = np.linalg.solve(np.broadcast_to(total, (*batch, k, k)), right)
    share = np.clip(np.trace(solved[..., :k], axis1=-2, axis2=-1) / k, _LEAST_SHARE, 1.0)
    ratio = np.einsum("...i,...i->...", innovation, solved[..., k]) / k
    return conflict_inflation(ratio, share, k, prior_dof)


def is_conflict(ratio: np.ndarray, share: np.ndarray, entries: float, prior_dof: float = np.inf) -> np.ndarray:
    """Return where samples disagree (...,): z beyond the ``1 - FALSE_ALARMS s`` quantile of its law.

    Args:
        ratio: z (...,), the mean over ``entries`` of squared innovations in units of their expected size.
        share: s (...,), the prior's part of that size, between 0 and 1.
        entries: k, independent entries behind the mean.
        prior_dof: degrees of freedom behind the scale of the prior.
    """
    share, dof = _law(share, prior_dof)
    return np.asarray(ratio > f_distribution.isf(FALSE_ALARMS * share, entries, dof))


def chance_if_agreeing(ratio: float, share: float, entries: float, prior_dof: float = np.inf) -> float:
    """Return the p-value of z under the law of :func:`is_conflict`, with the same arguments."""
    return float(f_distribution.sf(ratio, entries, _law(np.asarray(share), prior_dof)[1]))


def _law(share: np.ndarray, prior_dof: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the prior's share (...,) clipped to its limits, and the denominator degrees of freedom (...,) of z."""
    share = np.clip(share, _LEAST_SHARE, 1.0)
    return share, np.minimum(prior_dof / share**2, _MANY_DEGREES)


def conflict_inflation(ratio: np.ndarray, share: np.ndarray, entries: float, prior_dof: float = np.inf) -> np.ndarray:
    """Return the inflation (...,) of the prior covariance for a mean of squares z; arguments of :func:`is_conflict`."""
    conflict = is_conflict(ratio, share, entries, prior_dof)
    share = np.clip(share, _LEAST_SHARE, 1.0)
    explained = (ratio - (1 - share)) / share
    # Without a conflict an estimated prior scale is updated by z, which has k s^2 degrees of freedom on that scale.
    weight = entries * share**2 / (entries * share**2 + prior_dof)
    return np.where(conflict, explained, np.maximum(1 + weight * (explained - 1), 1.0))


def raise_curvatures(
    curvature: np.ndarray,
    step: np.ndarray,
    difference: np.ndarray,
    variance: np.ndarray,
    *,
    entry_variance: np.ndarray,
    deviations: float = SECANT_DEVIATIONS,
) -> np.ndarray:
    """Return curvatures P (T, d, d) raised where the difference y of two gradients significantly exceeds ``P s``.

    A truncated row u lacks ``u u'`` in the curvature P. So the residual of the secant, ``r = y - P s``, is ``u (u's)``,
    and adding ``r r'/(r's)`` to P restores it (a symmetric rank-one update). P is unchanged where ``r's`` is not
    significantly positive. The part of r orthogonal to the step is shrunk by the variance of its noise.

    Args:
        curvature: P (T, d, d).
        step: s (T, d), between the points of two gradients.
        difference: y (T, d), the difference of the two gradients.
        variance: noise variance of a coordinate of y (T,).
        entry_variance: variance of an entry of P (T,).
        deviations: number of standard deviations by which ``r's`` has to be above zero.
    """
    missing = difference - np.einsum("tij,tj->ti", curvature, step)
    length = np.maximum(np.linalg.norm(step, axis=1), 1e-300)
    along = step / length[:, None]
    residual_along = np.sum(missing * along, axis=1)
    noise = variance + entry_variance * length**2
    # A zero step, or one along which all rows have one response, has a rise of rounding errors only.
    rises = residual_along * length
    significant = (residual_along > deviations * np.sqrt(noise + entry_variance * length**2)) & (rises > _LEAST_RISE)
    across = missing - residual_along[:, None] * along
    square = np.maximum(np.sum(across**2, axis=1), 1e-300)
    across = across * np.maximum(1 - (step.shape[1] - 1) * noise / square, 0.0)[:, None]
    clean = np.where(significant[:, None], residual_along[:, None] * along + across, 0.0)
    raise_by = clean[:, :, None] * clean[:, None, :] / np.where(significant, rises, 1.0)[:, None, None]
    return np.asarray(curvature + raise_by)


def secant_update(
    curvature: np.ndarray,
    error_scale: np.ndarray,
    step: np.ndarray,
    difference: np.ndarray,
    *,
    variance: np.ndarray,
    entry_variance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Combine curvatures P and their error scales Q (T, d, d) with the difference y of two gradients (BFGS).

    Both ``P s`` and y estimate the curvature along the step s; ``y~`` combines them by precision. The BFGS update is
    the positive definite matrix nearest to P with ``P s = y~``. In the direction s, Q falls to the posterior variance.

    Args:
        curvature: P (T, d, d).
        error_scale: Q (T, d, d): the noise of ``P t`` has covariance ``v (t'Qt Q + Qt t'Q)``.
        step: s (T, d), between the points of two gradients.
        difference: y (T, d), the difference of the two gradients.
        variance: noise variance of a coordinate of y (T,).
        entry_variance: v (T,), noise variance of an entry of the released P.
    """
    expected = np.einsum("tij,tj->ti", curvature, step)
    scaled_step = np.einsum("tij,tj->ti", error_scale, step)
    square = np.maximum(np.sum(step**2, axis=1), 1e-300)
    error_size = np.maximum(np.sum(step * scaled_step, axis=1), 0.0)  # s'Q s
    noise = entry_variance * error_size
    gain = noise / np.maximum(noise + variance, 1e-300)
    gain_along = 2 * noise / np.maximum(2 * noise + variance, 1e-300)
    missing = difference - expected
    missing_along = np.sum(missing * step, axis=1) / square
    combined = expected + gain[:, None] * missing + ((gain_along - gain) * missing_along)[:, None] * step
    rises, known_rises = np.sum(combined * step, axis=1), np.sum(expected * step, axis=1)
    # The update needs a positive curvature along the step: y~'s above its posterior standard deviation.
    is_updated = (
        (rises > np.sqrt(gain_along * variance * square)) & (known_rises > _LEAST_RISE) & (error_size > _LEAST_RISE)
    )
    divisors = (rises, known_rises, error_size)
    weights = [np.where(is_updated, 1 / np.where(is_updated, divisor, 1.0), 0.0)[:, None, None] for divisor in divisors]
    squares = [vector[:, :, None] * vector[:, None, :] for vector in (combined, expected, scaled_step)]
    updated = curvature + weights[0] * squares[0] - weights[1] * squares[1]
    return np.asarray(updated), np.asarray(error_scale - gain[:, None, None] * weights[2] * squares[2])
