"""Regressions from a released moment and the bands around them: post-processing, free (proofs/moment.md, 18.3).

In the mechanism's coordinates ``y = root^{-1} z`` the released moment M is ``S = root M root'`` in the units of the
table. For response t and features F: ``beta = S_FF^{-1} S_Ft``, ``b = root'(e_t - E_F beta)``, ``a_i`` the rows of
``S_FF^{-1} E_F' root``; to first order ``d beta_i = a_i' dM b``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from pmtcore.base.bands import Bands
from pmtcore.base.symmetric import eigenvector_root
from pmtcore.methods.joint_moment.influence import Influence
from pmtcore.public.bands import ErrorPart, limits

_FLOOR = 0.05  # lower bound on a released residual variance, as a share of the public one
_NEGLIGIBLE_SHARE = 1e-4  # share of the expected moment in an entry below which its effect on errors is negligible
# Eigenvalues of a moment are floored at the parallel sum of this share of the expected moment ...
_LEAST_EIGENVALUE = 0.05
_NOISE_FLOOR = 2.0  # ... and this multiple of the scale of the noise (decision 0250)


@dataclass(frozen=True)
class DefaultFreedom:
    """Degrees of freedom of the default regression, where the record has not the rows to compute them.

    Attributes:
        response: index of its response.
        degrees: degrees of freedom by the index of each feature.
    """

    response: int
    degrees: Mapping[int, float]

    def of(self, response: int, features: Sequence[int]) -> np.ndarray | None:
        """Return the degrees (q,) for these columns in this order; ``None`` for another regression."""
        if response != self.response or set(features) != set(self.degrees):
            return None
        return np.array([self.degrees[place] for place in features])


@dataclass(frozen=True, eq=False)
class State:
    """A released moment with all that intervals need; public and released figures only.

    Attributes:
        root: (D, D) lower triangular, the mechanism's coordinates.
        moment: (D, D), the released moment, combined with the expected one where the noise is large.
        weight: W (D, D), the share of the released moment in each entry; 1 throughout without shrinkage.
        sigma: scale of the noise of the released moment.
        relative_variance: variance of the private moment around the expected one, in units of the variance of one row:
            ``1/m + 1/n`` if rows are of one population, larger where the release conflicts with that.
        expected: (D, D), the moment expected from public rows.
        influence: moments of influence values for sampling and truncation errors.
        n, m: numbers of private and of public rows (0 if unknown).
        default_freedom: degrees of freedom of the default regression; ``None`` where ``influence`` determines them.
    """

    root: np.ndarray
    moment: np.ndarray
    weight: np.ndarray
    sigma: float
    relative_variance: float
    expected: np.ndarray
    influence: Influence
    n: int
    m: int
    default_freedom: DefaultFreedom | None = None

    @property
    def noise(self) -> np.ndarray:
        """Return posterior variances (D, D) ``sigma^2 W`` of the entries, as if independent."""
        return np.asarray(self.sigma**2 * self.weight)

    @cached_property
    def expected_share(self) -> np.ndarray | None:
        """Return ``1 - W`` (D, D), the expected moment's share; ``None`` where it is negligible in all entries."""
        share = 1 - self.weight
        return share if np.max(share) > _NEGLIGIBLE_SHARE else None

    @cached_property
    def cholesky_factor(self) -> np.ndarray:
        """Return K (D, D) with ``K K' = M``."""
        return _root(self.moment)

    @cached_property
    def units(self) -> np.ndarray:
        """Return the root mean square (D,) of each column in the units of the table, as expected."""
        return np.asarray(np.sqrt(np.einsum("ij,jk,ik->i", self.root, self.expected, self.root)))

    def variances(self, matrices: np.ndarray) -> np.ndarray:
        """Return privacy variances (q,) of estimates with symmetric derivatives J (q, D, D) by the moment.

        They contain the noise and the variance of the expected moment.
        """
        variance = self.sigma**2 * np.einsum("qij,ij->q", matrices**2, self.weight**2)
        if self.expected_share is not None:
            variance = variance + self.relative_variance * self.influence.truncated_variances(
                matrices * self.expected_share
            )
        return np.asarray(variance)


@dataclass(frozen=True, eq=False)
class Fit:
    """One regression: its coefficients, and their derivatives by the moment.

    Attributes:
        response, features: indices of columns.
        coefficients: (q,), in the units of the table.
        a: (q, D) and b: (D,): ``d beta_i = a_i' dM b``.
        residual_variance: of the response, in its units squared.
    """

    state: State
    response: int
    features: tuple[int, ...]
    coefficients: np.ndarray
    a: np.ndarray
    b: np.ndarray
    residual_variance: float

    @cached_property
    def noise(self) -> np.ndarray:
        """Return the covariance (q, q) from the noise, exact to first order: ``sigma^2 sum W_ij^2 J^k_ij J^l_ij``."""
        derivatives = self.a[:, :, None] * self.b
        derivatives = (derivatives + np.swapaxes(derivatives, 1, 2)) / 2
        flat = (derivatives * self.state.weight).reshape(len(self.a), -1)
        return np.asarray(self.state.sigma**2 * (flat @ flat.T))

    @cached_property
    def expected_covariance(self) -> np.ndarray:
        """Return the covariance (q, q) from the expected moment: that of ``y'((1 - W) o J)y`` over public rows."""
        if self.state.expected_share is None:
            return np.zeros((len(self.a), len(self.a)))
        return self.state.relative_variance * self.state.influence.product_covariance(
            self.a, self.b, self.state.expected_share
        )

    @property
    def privacy(self) -> np.ndarray:
        """Return the privacy covariance (q, q), of the noise and of the expected moment that replaces it in part."""
        return self.noise + self.expected_covariance

    @cached_property
    def sampling(self) -> np.ndarray:
        """Return the sampling covariance (q, q): its shape from public rows, its size from the residual variance."""
        shape = self.state.influence.second_moments(self.a, self.b)
        size = self.residual_variance / max(self.state.influence.weighted_mean_square(self.b), 1e-300)
        return np.asarray(shape * size / self.state.n)

    @cached_property
    def truncation(self) -> np.ndarray:
        """Return the truncation covariance (q, q): the squared bias on public rows, and the variance of the bias."""
        mean, spread = self.state.influence.residual_products(self.a, self.b)
        rows = max(self.state.influence.m, 1)
        beyond = self.state.influence.tail_covariance(self.a, self.b)
        return np.asarray(np.outer(mean, mean) + spread / rows + (spread + beyond) / self.state.n)

    @property
    def total(self) -> np.ndarray:
        """Return the covariance (q, q) of all three parts."""
        return self.privacy + self.sampling + self.truncation

    def parts(self, contrasts: np.ndarray | None = None) -> tuple[ErrorPart, ErrorPart, ErrorPart | None]:
        """Return the privacy, sampling and truncation parts of contrasts (k, q), or of each coefficient without any."""
        c = np.eye(len(self.a)) if contrasts is None else contrasts
        noise, expected_covariance, sampling, truncation = (
            c @ matrix @ c.T for matrix in (self.noise, self.expected_covariance, self.sampling, self.truncation)
        )
        freedom = self.freedom(c)
        privacy = ErrorPart.of(noise).plus(ErrorPart.of(expected_covariance, freedom))
        return (privacy, ErrorPart.of(sampling, freedom), ErrorPart.of(truncation) if self.state.influence.m else None)

    def freedom(self, contrasts: np.ndarray) -> np.ndarray:
        """Return the degrees of freedom of contrasts (k, q): the least of their coefficients' where these are known."""
        default = self.state.default_freedom
        known = None if default is None else default.of(self.response, self.features)
        if known is None:
            some = contrasts.any(axis=1)  # a contrast of nothing is known
            freedom = np.full(len(contrasts), np.inf)
            freedom[some] = self.state.influence.freedom(contrasts[some] @ self.a, self.b)
            return freedom
        return np.min(np.where(contrasts != 0, known, np.inf), axis=1)

    @cached_property
    def bands(self) -> Bands:
        """Return standard errors of the three parts and 95 % limits."""
        return limits(self.coefficients, *self.parts())


def solve(
    state: State,
    response: int,
    features: Sequence[int],
    lam: float | np.ndarray = 0.0,
    *,
    free: Sequence[int] = (0,),
) -> Fit:
    """Fit one column on others by least squares, or ridge.

    Args:
        state: the released moment with its errors.
        response: index of the response.
        features: indices of the features.
        lam: added to the second moments of the features in the units of the table: one number, or one each (q,).
        free: indices of columns that are not penalized.
    """
    places = tuple(features)
    root = state.root[list(places)]  # (q, D)
    penalty = np.where(np.isin(places, free), 0.0, lam)
    scale = np.sqrt(np.sum((root @ state.cholesky_factor) ** 2, axis=1) + penalty)
    stack = np.vstack([(state.cholesky_factor.T @ root.T) / scale, np.diag(np.sqrt(penalty) / scale)])
    right = np.concatenate([state.cholesky_factor.T @ state.root[response], np.zeros(len(places))])
    _, upper = np.linalg.qr(stack)
    inner = np.linalg.solve(upper, np.linalg.solve(upper.T, stack.T @ right))
    inverse = np.linalg.solve(upper, np.linalg.solve(upper.T, root / scale[:, None])) / scale[:, None]
    beta = inner / scale
    b = state.root[response] - beta @ root
    fit = Fit(state, response, places, beta, inverse, b, 1.0)
    return Fit(state, response, places, beta, inverse, b, _residual_variance(fit, root))


def _residual_variance(fit: Fit, root: np.ndarray) -> float:
    """Return the residual variance ``b'M b``, corrected for the noise of beta and combined with the public one."""
    moment = fit.state.moment
    raw = float(fit.b @ moment @ fit.b + np.sum(root @ moment @ root.T * fit.privacy))
    return combined_residual_variance(fit.state, fit.b, raw)


def combined_residual_variance(state: State, b: np.ndarray, released: float) -> float:
    """Return a released residual variance combined with the public one by precision.

    Args:
        state: the moment that it was computed from.
        b: response less fit, in the coordinates of the moment (D,).
        released: residual variance of the released moment.
    """
    public = state.influence.weighted_mean_square(b)
    if not state.influence.m:
        return max(released, _FLOOR * float(b @ state.expected @ b))
    noise = float(state.variances(np.outer(b, b)[None])[0])
    spread = 2 * public**2 / state.influence.m
    return max(public + spread / (spread + noise) * (released - public), _FLOOR * public)


def _root(moment: np.ndarray) -> np.ndarray:
    """Return K (D, D) with ``K K' = M``, of a moment that is positive definite but for rounding.

    Columns that are collinear but for a public ridge leave eigenvalues of the size of rounding, of either sign.
    """
    try:
        return np.linalg.cholesky(moment)
    except np.linalg.LinAlgError:
        return eigenvector_root(moment, len(moment) * np.finfo(float).eps)


def floor_moments(moment: np.ndarray, expected: np.ndarray, sigma: float) -> np.ndarray:
    """Return moments (..., D, D) floored to be positive definite.

    The floor is the parallel sum of a twentieth of the expected moment and of twice the scale of the noise. An
    eigenvalue above the noise is not raised, even if it is far below the expected one, which is ten times too large
    with few public rows.

    Args:
        moment: released and combined moments (..., D, D).
        expected: their expectation from public rows (D, D).
        sigma: scale of the noise.
    """
    sizes, axes = np.linalg.eigh(expected)
    sizes = _LEAST_EIGENVALUE * np.maximum(sizes, len(expected) * np.finfo(float).eps * sizes[-1])
    half = axes * np.sqrt(sizes * _NOISE_FLOOR * sigma / (sizes + _NOISE_FLOOR * sigma))
    turned = np.linalg.solve(half, np.swapaxes(np.linalg.solve(half, moment), -1, -2))
    values, vectors = np.linalg.eigh((turned + np.swapaxes(turned, -1, -2)) / 2)
    if np.all(values >= 1):
        return moment
    raised = (vectors * np.maximum(values, 1.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    return np.asarray(half @ raised @ half.T)
