"""Synthetic data of the papers."""

from dataclasses import dataclass

import numpy as np

from pmtcore.glm import families


@dataclass(frozen=True)
class Synthetic:
    """Draw of the papers' synthetic setting: ``y = X beta + N(0, noise^2)``, ``X ~ N(mean, Psi)``.

    Attributes:
        private_x: (n, d).
        private_y: (n,).
        public_x: (m, d).
        public_y: (m,).
        beta: coefficients (d,).
    """

    private_x: np.ndarray
    private_y: np.ndarray
    public_x: np.ndarray
    public_y: np.ndarray
    beta: np.ndarray


def synthetic(
    n: int,
    m: int,
    *,
    d: int = 10,
    lambda_min: float = 0.17,
    trace: float = 26.0,
    noise: float = 0.05,
    seed: int,
    family: str = "gaussian",
    size: float = 1.0,
) -> Synthetic:
    """Draw the synthetic setting of A section 6 and B section 4; labels or counts for another family.

    The second moment has the given trace and (nearly) smallest eigenvalue: the mean vector supplies the
    large eigenvalue, as B section 4.1 describes, and the covariance the rest, evenly on a log axis.

    Args:
        n: number of private rows.
        m: number of public rows.
        d: number of features.
        lambda_min: smallest eigenvalue of the second moment.
        trace: of the second moment.
        noise: standard deviation of the noise on a numeric response.
        seed: of the draw.
        family: id of the family of the response.
        size: standard deviation of the coefficients.
    """
    rng = np.random.default_rng(seed)
    spectrum = np.geomspace(lambda_min, 1.0, d)
    if d > 1:
        spectrum[1:] *= min(1.0, 0.4 * trace / spectrum.sum())
    axes = np.linalg.qr(rng.standard_normal((d, d)))[0]
    mean = axes @ (rng.standard_normal(d) * np.sqrt(spectrum))
    mean *= np.sqrt(max(trace - spectrum.sum(), 0.0)) / np.linalg.norm(mean)
    beta = size * rng.standard_normal(d)
    x = mean + (rng.standard_normal((n + m, d)) * np.sqrt(spectrum)) @ axes.T
    y = _responses(rng, x @ beta, noise, family)
    return Synthetic(x[:n], y[:n], x[n:], y[n:], beta)


def _responses(rng: np.random.Generator, z: np.ndarray, noise: float, name: str) -> np.ndarray:
    chosen = families.family(name)
    if chosen is families.GAUSSIAN:
        return z + noise * rng.standard_normal(len(z))
    if chosen.binary:
        return np.asarray(rng.random(len(z)) < chosen.mean(z), dtype=float)
    return rng.poisson(chosen.mean(z)).astype(float)
