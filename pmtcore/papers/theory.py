"""Numerical values of the bounds that papers A and B prove, and of the bounded quantities on simulated Gaussian rows.

Rows are ``N(0, Sigma)`` with a chosen averaged condition number, and none is truncated: the theorems assume both, the
latter with probability ``1 - O(eta)``. Moments of such rows are Wishart matrices, so no row is ever drawn and trials
are one batch. A constant that a paper leaves open, ``O(.)``, is taken as 1, which for Gaussian singular values is
right (Davidson and Szarek); for the others it is the most favourable reading.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pmtcore.base.messages import number_between, whole_number_between
from pmtcore.mechanisms.noise import SeededNoise, symmetric_noise
from pmtcore.mechanisms.truncation import papers_radius, trace_radius

_SPECTRUM_TRACE = 26.0  # of the papers' synthetic setting
_STATED: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class TheorySetting:
    """A problem of the theorems' kind.

    Attributes:
        d, m, n: features, public rows, private rows.
        mu: of each of the two mechanisms, as the papers count.
        eta: failure probability.
        kappa_bar: averaged condition number of Sigma.
        lam: ridge penalty.
    """

    d: int = 10
    m: int = 200
    n: int = 100_000
    mu: float = 1.0
    eta: float = 0.05
    kappa_bar: float = 15.0
    lam: float = 0.0

    def __post_init__(self) -> None:
        whole_number_between("features", self.d, 1, 200)
        whole_number_between("public rows", self.m, self.d + 1, 10**9)
        whole_number_between("private rows", self.n, self.d + 1, 10**12)
        number_between("mu", self.mu, 1e-3, 1e3)
        number_between("eta", self.eta, 1e-6, 0.5)
        number_between("averaged condition number", self.kappa_bar, 1.0, 1e6)
        number_between("lam", self.lam, 0.0, 1e6)

    @property
    def spectrum(self) -> np.ndarray:
        """Return eigenvalues of Sigma (d,): one large, the rest equal, with the trace of the papers' setting."""
        least = _SPECTRUM_TRACE / (self.kappa_bar * self.d)
        eigenvalues = np.full(self.d, least)
        eigenvalues[-1] = _SPECTRUM_TRACE - least * (self.d - 1)
        return eigenvalues


@dataclass(frozen=True)
class Bound:
    """A proved bound on a quantity and where that quantity lies.

    Attributes:
        source: paper and number.
        words: the quantity in words.
        bound: what is proved, constants left open taken as 1.
        measured: the quantity's quantile at ``1 - eta`` over the trials (at ``eta`` for a lower bound).
        lower: whether it is a lower bound.
        condition: the left side of the theorem's sample-size condition, which must be at most 1/2; NaN without one.
        open: whether the paper leaves a constant before the whole bound open.
    """

    source: str
    words: str
    bound: float
    measured: float
    lower: bool = False
    condition: float = math.nan
    open: bool = False

    @property
    def applies(self) -> bool:
        """Return whether the sample is large enough for the theorem to say anything."""
        return not self.condition > 0.5

    @property
    def holds(self) -> bool:
        """Return whether the measured quantity satisfies the bound."""
        return self.measured >= self.bound if self.lower else self.measured <= self.bound

    @property
    def looseness(self) -> float:
        """Return the bound over the measured quantity, inverted for a lower bound; below 1 the bound does not hold."""
        return self.measured / self.bound if self.lower else self.bound / self.measured

    @property
    def verdict(self) -> str:
        """Return the verdict in one sentence."""
        if not self.applies:
            return f"Says nothing here: its condition has {self.condition:.3g} on the left where 0.5 is allowed."
        if not self.holds:
            how = "with its open constant at 1" if self.open else "as printed"
            return f"Does not hold {how}: it would take {1 / self.looseness:.3g} times it."
        return (
            f"Holds, and is {self.looseness:.3g} times what is measured."
            if not self.lower
            else (f"Holds, and what is measured is {self.looseness:.3g} times the bound.")
        )


def _bound(id: str, bound: float, measured: float, condition: float = math.nan) -> Bound:
    """Return a bound of ``theory.toml`` with its numbers."""
    return Bound(**_STATED[id], bound=bound, measured=measured, condition=condition)


@dataclass(frozen=True)
class Draws:
    """Simulated moments and noise of a setting, stacked over trials."""

    at: TheorySetting
    public: np.ndarray  # S_B (t, d, d)
    private: np.ndarray  # S_A (t, d, d)
    noise: np.ndarray  # unit SG_d (t, d, d)
    cross: np.ndarray  # unit noise on the cross moment (t, d)
    beta: np.ndarray  # (d,)

    @classmethod
    def of(cls, at: TheorySetting, trials: int, seed: int) -> Draws:
        """Run seeded trials."""
        from scipy.stats import wishart  # noqa: PLC0415  # slow to load

        rng, sigma = np.random.default_rng(seed), np.diag(at.spectrum)
        public = wishart(at.m, sigma).rvs(trials, random_state=rng).reshape(trials, at.d, at.d) / at.m
        private = wishart(at.n, sigma).rvs(trials, random_state=rng).reshape(trials, at.d, at.d) / at.n
        source = SeededNoise(seed, 1)
        beta = rng.standard_normal(at.d)
        noise = symmetric_noise(source, trials, at.d, "papers")
        return cls(at, public, private, noise, source.normal(trials, at.d), beta)


def bounds(at: TheorySetting, trials: int = 400, seed: int = 0) -> tuple[Bound, ...]:
    """Compute every bound of A and B that is a number for a linear problem, with what is measured."""
    draws = Draws.of(at, trials, seed)
    return (*_eigenvalues(draws), *_norms(draws), *_inverses(draws), *_estimates(draws))


def isotropy(d: int, m: int, eta: float) -> tuple[float, float]:
    """Return ``L`` and ``U`` with ``L I <= S_B^{-1/2} Sigma S_B^{-1/2} <= U I`` (A, Theorem 3.1; B, Theorem 1).

    U is infinite where m is too small for the theorem to say anything.
    """
    far = math.sqrt(d) + math.sqrt(2 * math.log(1 / eta))
    root = math.sqrt(m)
    return m / (root + far) ** 2, m / (root - far) ** 2 if root > far else math.inf


def noise_scales(at: TheorySetting) -> tuple[float, float]:
    """Return the noise on the Gram matrix of whitened rows, and of rows as they are (A, Theorems 3.2 and 3.4)."""
    whitened = papers_radius(at.d, at.n, at.eta) ** 2
    plain = trace_radius(float(at.spectrum.sum()), at.d, at.n, 2 * at.eta) ** 2  # with log(n/eta)
    return 2 * whitened / (at.mu * at.n), 2 * plain / (at.mu * at.n)


def _eigenvalues(draws: Draws) -> Iterator[Bound]:
    at = draws.at
    root = np.sqrt(at.spectrum)
    # S_B^{-1/2} Sigma S_B^{-1/2} has the eigenvalues of Sigma^{1/2} S_B^{-1} Sigma^{1/2}
    values = 1 / np.linalg.eigvalsh(draws.public / root[:, None] / root)[:, ::-1]
    low, high = isotropy(at.d, at.m, at.eta)
    yield _bound("least-eigenvalue", low, float(np.quantile(values[:, 0], at.eta)))
    yield _bound("largest-eigenvalue", high, float(np.quantile(values[:, -1], 1 - at.eta)))


def _norms(draws: Draws) -> Iterator[Bound]:
    at = draws.at
    sigma, _ = noise_scales(at)
    size = float(np.quantile(sigma * np.linalg.norm(draws.noise, 2, axis=(1, 2)), 1 - at.eta))
    log_n, log_d = 1 + math.log(2 * at.n / at.eta), math.log(2 * at.d / at.eta)
    yield _bound("noise-of-lemma", sigma * math.sqrt(2 * at.d * log_d), size)
    yield _bound("noise-of-a", math.sqrt(at.d**3 * log_d * log_n) / (at.mu * at.n), size)
    rho = at.mu**2 / 2
    yield _bound("noise-of-b", at.d**1.5 * log_n * math.log(1 / at.eta) / (math.sqrt(rho) * at.n), size)


def shrunk(at: TheorySetting) -> float:
    """Return ``(1 - sqrt(d/n) - sqrt(log(1/eta)/n))^2``."""
    return max(1 - math.sqrt(at.d / at.n) - math.sqrt(math.log(1 / at.eta) / at.n), 0.0) ** 2


def logs(at: TheorySetting) -> tuple[float, float]:
    """Return the logarithmic factors of the noise on whitened rows and on rows as they are."""
    return 1 + math.log(2 * at.n / at.eta), float(at.spectrum.mean()) + math.log(at.n / at.eta)


@dataclass(frozen=True)
class _Rates:
    """Factors common to Theorems 3.3, 3.4, 4.2 and 4.3, for whitened rows and for rows as they are."""

    rate: float  # sqrt(d^3 log(2d/eta))/(mu n)
    whitened: float
    plain: float
    whitened_condition: float
    plain_condition: float

    @classmethod
    def of(cls, at: TheorySetting, public_size: float) -> _Rates:
        """Return the rates; ``public_size`` is the norm of S_B."""
        rate = math.sqrt(at.d**3 * math.log(2 * at.d / at.eta)) / (at.mu * at.n)
        factor, (low, _) = shrunk(at), isotropy(at.d, at.m, at.eta)
        least = float(at.spectrum[0])
        whitened_log, plain_log = logs(at)
        return cls(
            rate,
            rate * whitened_log / (low**2 * factor**2 + (at.lam / public_size) ** 2),
            rate * plain_log / (least**2 * factor**2 + at.lam**2),
            rate * whitened_log / (low * factor + at.lam / public_size),
            rate * plain_log / (least * factor + at.lam),
        )


def _whitened(draws: Draws) -> tuple[np.ndarray, np.ndarray]:
    """Return symmetric roots ``S_B^{-1/2}`` and ``S~ + lam S_B^{-1}``, (t, d, d) each."""
    values, vectors = np.linalg.eigh(draws.public)
    root = (vectors / np.sqrt(values)[:, None, :]) @ np.swapaxes(vectors, 1, 2)
    return root, root @ (draws.private + draws.at.lam * np.eye(draws.at.d)) @ root


def _quantile(errors: np.ndarray, at: TheorySetting) -> float:
    """Return the quantile of spectral norms (t, d, d) or lengths (t, d)."""
    size = np.linalg.norm(errors, 2, axis=(1, 2)) if errors.ndim == 3 else np.linalg.norm(errors, axis=1)
    return float(np.quantile(size, 1 - at.eta))


def _inverses(draws: Draws) -> Iterator[Bound]:
    at = draws.at
    root, gram = _whitened(draws)
    whitened_sd, plain_sd = noise_scales(at)
    rates = _Rates.of(at, float(np.median(np.linalg.norm(draws.public, 2, axis=(1, 2)))))
    moved = np.linalg.inv(gram + whitened_sd * draws.noise) - np.linalg.inv(gram)
    yield _bound("whitened-inverse", rates.whitened, _quantile(moved, at), rates.whitened_condition)
    size, recovered = _inverse_size(draws), _quantile(root @ moved @ root, at)
    yield _bound("recovered-inverse", rates.whitened * size, recovered, rates.whitened_condition)
    penalized = draws.private + at.lam * np.eye(at.d)
    plain = _quantile(np.linalg.inv(penalized + plain_sd * draws.noise) - np.linalg.inv(penalized), at)
    yield _bound("plain-inverse", rates.plain, plain, rates.plain_condition)


def _estimates(draws: Draws) -> Iterator[Bound]:
    """Return coefficients: the response is ``x'beta`` without error, so that only the theorems' own terms are seen."""
    at = draws.at
    whitened_sd, plain_sd = noise_scales(at)
    root, gram = _whitened(draws)
    length, largest = float(np.linalg.norm(draws.beta)), float(at.spectrum[-1])
    scale = np.sqrt(np.einsum("i,tij,j->t", draws.beta, draws.public, draws.beta))  # sigma_B of a noiseless response
    cross = np.einsum("tij,j->ti", draws.private, draws.beta)
    exact = np.linalg.solve(draws.private + at.lam * np.eye(at.d), cross[..., None])[..., 0]
    response = papers_radius(1, at.n, at.eta) / papers_radius(at.d, at.n, at.eta)  # Ry over R
    right = np.einsum("tij,tj->ti", root, cross) / scale[:, None] + whitened_sd * response * draws.cross
    whitened_solution = np.linalg.solve(gram + whitened_sd * draws.noise, right[..., None])[..., 0]
    rates = _Rates.of(at, float(np.median(np.linalg.norm(draws.public, 2, axis=(1, 2)))))
    whitened = _quantile(scale[:, None] * np.einsum("tij,tj->ti", root, whitened_solution) - exact, at)
    proved = rates.whitened * _inverse_size(draws) * largest * length
    yield _bound("whitened-ridge", proved, whitened, rates.whitened_condition)
    noisy = draws.private + at.lam * np.eye(at.d) + plain_sd * draws.noise
    plain_solution = np.linalg.solve(noisy, (cross + plain_sd * length * draws.cross)[..., None])[..., 0]
    plain = _quantile(plain_solution - exact, at)
    yield _bound("plain-ridge", rates.plain * largest * length, plain, rates.plain_condition)
    if not at.lam:
        yield from _of_paper_b(draws, whitened, plain)


def _of_paper_b(draws: Draws, whitened: float, plain: float) -> Iterator[Bound]:
    """Compare errors without a penalty with B's Theorems 3 and 4; ``rho = mu^2/2`` of each part.

    Args:
        draws: the trials.
        whitened: error measured of whitened least squares.
        plain: that of least squares from private rows alone.
    """
    at = draws.at
    rate = at.d**1.5 * math.log(1 / at.eta) / (at.mu / math.sqrt(2) * at.n)
    (low, _), factor, length = isotropy(at.d, at.m, at.eta), shrunk(at), float(np.linalg.norm(draws.beta))
    log_n, least = math.log(2 * at.n / at.eta), float(at.spectrum[0])
    size = float(at.spectrum[-1]) * _inverse_size(draws)
    proved = rate * length * size * (1 + log_n) / (low**2 * factor**2)
    yield _bound("whitened-least-squares", proved, whitened, rate * (1 + log_n) / (low * factor))
    kappa, average = float(at.spectrum[-1]) / least, float(at.spectrum.mean())
    proved = rate * length * kappa * (log_n / least + average / least)
    yield _bound("plain-least-squares", proved, plain, rate * (average + log_n) / least)


def _inverse_size(draws: Draws) -> float:
    """Return the median spectral norm of ``S_B^{-1}``."""
    return float(np.median(np.linalg.norm(np.linalg.inv(draws.public), 2, axis=(1, 2))))
