"""Ridge and lasso paths, best subsets, and selection frequencies of features; all post-processing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from pmtcore.base.messages import ExploreMessage, InputError, whole_number_between
from pmtcore.explore.regression import Regression
from pmtcore.mechanisms.noise import SeededNoise, symmetric_noise
from pmtcore.methods.joint_moment.influence import RowInfluence
from pmtcore.methods.joint_moment.linear import State, floor_moments, solve

PATH_POINTS = 31  # of a path, several a decade
_SWEEPS = 60  # sweeps over the coordinates at each penalty, started at the solution of the previous penalty
_CONVERGED_CHANGE = 1e-6  # relative change of the coefficients at which sweeps end: it changes no printed digit
_MOST_SUBSET_FEATURES = 14  # 2^14 subsets answer in about a second
_MOST_DRAWS = 10_000  # the standard error of a selection frequency is then 0.5 %
_DRAWS = 60  # of noise and sampling: the standard error of a selection frequency is then about 6 %


@dataclass(frozen=True)
class Path:
    """Coefficients (points, q) along penalties (points,), in the units of the table.

    Attributes:
        chosen: for a lasso, share of draws (points, q) in which each feature is in the model.
        bands: for a ridge, 95 % limits at each penalty, which allow for noise, sampling and truncation but not for the
            bias of the penalty.
    """

    names: tuple[str, ...]
    lam: np.ndarray
    coefficients: np.ndarray
    chosen: np.ndarray | None = None
    bands: tuple[np.ndarray, np.ndarray] | None = None


def ridge_path(fit: Regression, steps: Mapping[str, float] | None = None) -> Path:
    """Compute ridge fits from no shrinkage, which is the fit itself, to full shrinkage.

    The penalties follow the eigenvalues of the penalized columns after the free one (the intercept) is projected
    out: a column that hardly varies around its mean is shrunk by a penalty far below its second moment.

    Args:
        fit: the regression.
        steps: changes of its features by name; penalties are then on coefficients for these changes, so that units make
            no difference. ``None``: for one unit of the table each.

    Raises:
        InputError: no feature beside the intercept.
    """
    if not fit.features:
        raise InputError(ExploreMessage.RIDGE_NEEDS_FEATURE)
    state, features, free = fit.state, fit.fit.features, fit.free
    # A column that is constant in the public rows has no step.
    step = np.array([(steps or {}).get(name) or 1.0 for name in fit.names])
    penalized = [j for j in features if j not in free]
    of_penalized = step[~np.isin(features, free)]
    slopes, others = state.root[penalized] / of_penalized[:, None], state.root[[j for j in features if j in free]]
    gram = slopes @ state.moment @ slopes.T
    if len(others):
        cross = slopes @ state.moment @ others.T
        gram = gram - cross @ np.linalg.solve(others @ state.moment @ others.T, cross.T)
    sizes = np.linalg.eigvalsh((gram + gram.T) / 2)
    path = np.geomspace(max(sizes[0], 1e-12 * sizes[-1]) / 1000, sizes[-1] * 10, PATH_POINTS)
    fits = [solve(state, fit.fit.response, features, lam * step**2, free=free) for lam in path]
    limits = np.array([[one.bands.low, one.bands.high] for one in fits])
    return Path(fit.names, path, np.array([one.coefficients for one in fits]), bands=(limits[:, 0], limits[:, 1]))


def lasso_path(fit: Regression, draws: int = _DRAWS) -> Path:
    """Minimize ``b'S b/2 - s'b + lam sum sd_j |b_j|`` on centred columns, the first feature being the constant.

    Args:
        fit: the regression.
        draws: number of moments drawn from noise and sampling, for the selection frequencies of the features.

    Raises:
        InputError: no intercept, no feature beside it, or a number of draws out of range.
    """
    whole_number_between("draws", draws, 0, _MOST_DRAWS)
    if not fit.constant or not fit.features:
        raise InputError(ExploreMessage.LASSO_NEEDS_INTERCEPT)
    state, response, features = fit.state, fit.fit.response, fit.fit.features
    moments = np.concatenate([state.moment[None], draw_moments(state, draws)]) if draws else state.moment[None]
    centred = state.root - np.einsum("t,d->td", state.root @ state.moment[0] / state.moment[0, 0], state.root[0])
    slopes = list(features)[1:]
    x, y = centred[slopes], centred[response]
    gram = np.einsum("qi,tij,rj->tqr", x, moments, x, optimize=True)
    cross = np.einsum("qi,tij,j->tq", x, moments, y, optimize=True)
    sd = np.sqrt(np.einsum("tqq->tq", gram))
    gram, cross = gram / (sd[:, :, None] * sd[:, None, :]), cross / sd
    top = float(np.max(np.abs(cross[0]))) * 1.0001
    path = np.geomspace(top, top / 1000, PATH_POINTS)
    inner = np.zeros(cross.shape)
    coefficients, chosen = [], []
    for lam in path:
        inner = _lasso(gram, cross, float(lam), inner)
        coefficients.append(inner[0] / sd[0])
        chosen.append(np.mean(inner[1:] != 0, axis=0) if draws else np.zeros(len(slopes)))
    slopes_path = np.array(coefficients)
    mean = state.root @ state.moment @ state.root[0] / (state.root[0] @ state.moment @ state.root[0])
    constant = mean[response] - slopes_path @ mean[slopes]
    return Path(fit.names, path, np.column_stack([constant, slopes_path]), np.array(chosen) if draws else None)


def _lasso(gram: np.ndarray, cross: np.ndarray, lam: float, start: np.ndarray) -> np.ndarray:
    """Return lasso coefficients (t, q) of moments (t, q, q), (t, q) by coordinate descent, vectorized over t."""
    b = start.copy()
    for _ in range(_SWEEPS):
        before = b.copy()
        for j in range(b.shape[1]):
            rest = cross[:, j] - np.einsum("tq,tq->t", gram[:, j], b) + b[:, j]
            b[:, j] = np.sign(rest) * np.maximum(np.abs(rest) - lam, 0.0)
        if np.max(np.abs(b - before)) < _CONVERGED_CHANGE * max(float(np.max(np.abs(cross))), 1e-300):
            break
    return b


@dataclass(frozen=True)
class Subset:
    """Subset of a given size with the least residual variance, and a criterion that includes the noise."""

    names: tuple[str, ...]
    residual_variance: float
    criterion: float


def best_subsets(fit: Regression) -> list[Subset]:
    """Return the subset of each size with the least residual variance; its criterion is the predicted squared error.

    Raises:
        InputError: too many features to try all.
    """
    state, response, features, free = fit.state, fit.fit.response, fit.fit.features, fit.free
    choice = [j for j in features if j not in free]
    if len(choice) > _MOST_SUBSET_FEATURES:
        raise InputError(ExploreMessage.TOO_MANY_SUBSETS, limit=_MOST_SUBSET_FEATURES, count=len(choice))
    subsets = []
    for size in range(len(choice) + 1):
        tried = [((*free, *some), _residual_sum(state, response, some, free)) for some in combinations(choice, size)]
        some, _ = min(tried, key=lambda each: each[1])
        if not some:
            continue
        best = solve(state, response, some, 0.0, free=free)
        gram = state.root[list(some)] @ state.moment @ state.root[list(some)].T
        added = float(np.sum(gram * best.total))  # squared error of a new row's prediction due to the coefficients
        at = dict(zip(features, fit.names, strict=True))
        subsets.append(
            Subset(tuple(at[j] for j in some if j not in free), best.residual_variance, best.residual_variance + added)
        )
    return subsets


def _residual_sum(state: State, response: int, some: Sequence[int], unpenalized: Sequence[int]) -> float:
    used = [*unpenalized, *some]
    target = state.root[response] @ state.cholesky_factor
    if not used:
        return float(target @ target)
    q, _ = np.linalg.qr((state.root[used] @ state.cholesky_factor).T)
    return float(target @ target - np.sum((target @ q) ** 2))


def draw_moments(state: State, draws: int) -> np.ndarray:
    """Draw moments (draws, D, D) from the distribution of noise and sampling, for statistics without a gradient.

    Sampling uses multinomial weights of the public rows where the record has them, else the law of Gaussian rows.
    """
    source = SeededNoise(0, 15)
    d = len(state.moment)
    noise = symmetric_noise(source, draws, d, "isometric") * np.sqrt(state.noise)
    if isinstance(state.influence, RowInfluence):
        rng = np.random.default_rng((0, 16))
        m = state.influence.m
        weights = rng.multinomial(m, np.full(m, 1 / m), draws) / m - 1 / m
        y = state.influence.inside * np.sqrt(state.influence.weights)[:, None]
        sampling = np.einsum("tm,mi,mj->tij", weights, y, y, optimize=True) * np.sqrt(m / state.n)
    else:
        half = state.cholesky_factor
        unit = symmetric_noise(source, draws, d, "isometric") * np.sqrt(2 / state.n)
        sampling = half @ unit @ half.T
    return floor_moments(state.moment + noise + sampling, state.expected, state.sigma)
