"""Choice of a published configuration: radius, whitening and bounds from public rows and n, at no privacy cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.accounting.budgets import mu_from_pure_epsilon
from pmtcore.base.messages import InputError, LocalMessage
from pmtcore.local.protocol import Configuration
from pmtcore.mechanisms.randomizers import PrivUnit
from pmtcore.public.moments import PublicData, whiten

# Quantiles of public lengths that are candidate radii; the predicted variance hardly changes between them.
_RADIUS_QUANTILES = (0.0, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0)
# Factor on the largest public response: the largest of many private ones is larger than that of a few public ones.
_RESPONSE_ROOM = 1.5
# Share of the largest eigenvalue below which a direction is not in the predicted variance: with collinear columns it
# consists of rounding errors, whose inverse would determine the radius.
_LEAST_SHOWN = 1e-9
# Caches for the last public data. References are weak, so that rows are freed with their session.
_CENTRED: WeakKeyDictionary[PublicData, tuple[np.ndarray, np.ndarray]] = WeakKeyDictionary()
_LARGEST: WeakKeyDictionary[PublicData, dict[bool, float]] = WeakKeyDictionary()
_WHITENED: WeakKeyDictionary[PublicData, WhitenedRows] = WeakKeyDictionary()


def response_range(public: PublicData, bound: float) -> tuple[float, float]:
    """Return the range that responses are clipped to.

    It is 0 to 1 for labels; else the declared bound, or 1.5 times the largest public response.

    Raises:
        InputError: no bound is declared and public rows have no target.
    """
    if public.family.binary:
        return 0.0, 1.0
    if not bound:
        if public.rows is None or not public.labelled:
            raise InputError(LocalMessage.RESPONSE_BOUND_NEEDED)
        bound = _RESPONSE_ROOM * float(np.max(np.abs(public.rows[:, -1])))
    return (0.0 if public.family.id == "poisson" else -bound), bound


def features(public: PublicData) -> np.ndarray:
    """Return the public features (m, d).

    Raises:
        InputError: only a moment matrix is known.
    """
    if public.rows is None:
        raise InputError(LocalMessage.PUBLIC_ROWS_NEEDED)
    return public.rows[:, :-1]


@dataclass(frozen=True, eq=False)
class WhitenedRows:
    """Whitened public features, which do not depend on the budget.

    Attributes:
        features: rows (m, d).
        norms: their lengths (m,).
        radii: candidate radii in increasing order (r,).
        shells: as :func:`_shell_moments` returns them (3, r + 1, d, d).
    """

    features: np.ndarray
    norms: np.ndarray
    radii: np.ndarray
    shells: np.ndarray


def whitened_rows(public: PublicData) -> WhitenedRows:
    """Return the whitened public features, cached because plans at several budgets use them."""
    known = _WHITENED.get(public)
    if known is None:
        x = whiten(public.feature_root, features(public))
        norms = np.linalg.norm(x, axis=1)
        radii = radii_of(norms)
        known = WhitenedRows(x, norms, radii, _shell_moments(x, norms, radii))
        _WHITENED.clear()  # an entry is a copy of all rows, so there is one at a time
        _WHITENED[public] = known
    return known


def radii_of(norms: np.ndarray) -> np.ndarray:
    """Return the candidate radii (r,), increasing, from the lengths (m,) of whitened rows."""
    radii = np.unique(np.quantile(norms, _RADIUS_QUANTILES))
    return np.asarray(radii[radii > 0])


def whitened_scheme(
    public: PublicData,
    n: int,
    mu: float,
    randomizer: str,
    *,
    bound: float = 0.0,
    epsilon: float | None = None,
    known: WhitenedRows | None = None,
) -> Configuration:
    """Return the ``whitened`` scheme (proofs/local.md, 12), its radius chosen by predicted variance at n reports.

    Args:
        public: public data, with rows unless these are known.
        n: number of reports.
        mu: budget of a report.
        randomizer: ``gaussian`` or ``privunit``.
        bound: declared bound on responses, 0 if none.
        epsilon: of PrivUnit.
        known: the whitened public features; those of the rows if ``None``.
    """
    low, high = response_range(public, bound)
    if randomizer == "privunit" and epsilon is not None:
        mu = mu_from_pure_epsilon(epsilon)
    unit = PrivUnit.for_epsilon(public.d, epsilon) if randomizer == "privunit" and epsilon is not None else None
    known = whitened_rows(public) if known is None else known
    radii, shells = known.radii, known.shells

    def predicted_variance(radius: float) -> float:
        # Weights are 1 within the radius and radius over length beyond it.
        inside = np.searchsorted(radii, radius, side="right")
        gram, squared = (
            (shells[0, :inside].sum(axis=0) + radius**power * shells[power, inside:].sum(axis=0)) / len(known.norms)
            for power in (1, 2)
        )
        sampling = (high - low) ** 2 / 4 * squared
        size = radius * (high - low)
        noise = (size / mu) ** 2 if unit is None else (size / 2) ** 2 * unit.variance
        inverse = np.linalg.pinv(gram, _LEAST_SHOWN)
        return float(np.trace(inverse @ (sampling + noise * np.eye(public.d)) @ inverse))

    return Configuration(
        "whitened",
        public.names,
        public.target,
        np.zeros(public.d),
        public.feature_root,
        min(map(float, radii), key=predicted_variance),
        low,
        high,
        randomizer,
        mu,
        epsilon,
    )


# Divisor of a row of zeros; its square does not underflow.
_LEAST_LENGTH = 1e-150


def _shell_moments(x: np.ndarray, norms: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """Return ``sum x x' / |x|^k`` (3, shells, d, d) for k = 0, 1, 2 over the rows between one radius and the next.

    Args:
        x: rows (m, d).
        norms: their lengths (m,).
        radii: increasing (r,); the first shell is within the first radius, the last beyond the last.
    """
    shells = np.zeros((3, len(radii) + 1, x.shape[1], x.shape[1]))
    shell = np.searchsorted(radii, norms, side="left")
    for each in range(len(radii) + 1):
        rows, length = x[shell == each], np.maximum(norms[shell == each], _LEAST_LENGTH)
        for power in range(3):
            shells[power, each] = (rows / length[:, None] ** power).T @ rows if power else rows.T @ rows
    return shells


def moments_scheme(
    public: PublicData, n: int, mu: float, gaussian: bool, *, zeta: float, bound: float = 0.0
) -> Configuration:
    """Return the papers' scheme; features are centred with the public mean.

    Args:
        public: public data with rows.
        n: number of reports.
        mu: budget of a report.
        gaussian: ``r^2 = 5 p ||S||_2 log(n/zeta)`` (C, Algorithms 1 and 3); else the longest public row, with
            which every row complies that the papers' bounded design has (Algorithms 2 and 4; E7).
        zeta: failure probability of the radius.
        bound: declared bound on responses, 0 if none.
    """
    low, high = response_range(public, bound)
    shift, _ = centred_public_rows(public)
    radius = moments_radius(public, n, gaussian, zeta)
    offset = (low + high) / 2 if public.has_intercept else 0.0
    return Configuration(
        "moments",
        public.names,
        public.target,
        shift,
        np.eye(public.d),
        radius,
        low,
        high,
        "gaussian",
        mu,
        offset=offset,
    )


def moments_radius(public: PublicData, n: int, gaussian: bool, zeta: float) -> float:
    """Return the radius of :func:`moments_scheme`, which needs no response bound."""
    known = _LARGEST.setdefault(public, {})
    if gaussian not in known:
        _, x = centred_public_rows(public)
        known[gaussian] = float(np.linalg.norm(x.T @ x / len(x), 2) if gaussian else np.linalg.norm(x, axis=1).max())
    return math.sqrt(5 * public.d * known[True] * math.log(n / zeta)) if gaussian else known[False]


def centred_public_rows(public: PublicData) -> tuple[np.ndarray, np.ndarray]:
    """Return the public mean (0 for an intercept) and the centred public rows; both are cached."""
    known = _CENTRED.get(public)
    if known is None:
        x = features(public)
        shift = np.mean(x, axis=0)
        if public.has_intercept:
            shift[0] = 0.0
        known = shift, x - shift
        _CENTRED.clear()  # as above
        _CENTRED[public] = known
    return known
