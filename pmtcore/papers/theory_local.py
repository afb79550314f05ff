"""What paper C proves of the scale in numbers: Theorems 19, 20, 26, the radius of Lemma 6, Remark 10's two rounds.

In Theorems 19, 20 and 26 ``x ~ N(0, I/p)``, ``||w*|| = sqrt(p)/4`` and ``||w_ols|| = sqrt(p)/20``, so ``x'w`` has
standard deviation 1/4 and 1/20 and everything is an integral over one Gaussian. Both lengths cannot hold at once:
``w* = c w_ols`` with ``c = 4.06`` for the first makes the second ``sqrt(p)/16.2`` (E25).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.integrate import quad
from scipy.stats import norm

from pmtcore.accounting.budgets import mu_from_epsilon
from pmtcore.glm.families import BOOSTING, LOGISTIC
from pmtcore.local.estimators import LINKS, Link, family_link, scale_root
from pmtcore.papers.theory import Bound

_TRUE, _FLAT = 1 / 4, 1 / 20  # standard deviations of x'w* and x'w_ols in the three theorems
_END, _MORE, _SLOPE = 6.0, 0.22, 0.1  # c-bar, tau and M as the theorems state them
_THEOREMS = (("C, Theorem 19", LOGISTIC), ("C, Theorem 20", BOOSTING))


def curve(link: Link, c: float, sd: float) -> float:
    """Return ``f(c) = c E[curve(c x'w)]`` for ``x'w ~ N(0, sd^2)``."""
    return c * float(quad(lambda z: float(link.curve(np.array(c * sd * z))) * norm.pdf(z), -12, 12)[0])


def scale_bounds() -> tuple[Bound, ...]:
    """Return the testable conditions: ``f(c-bar) >= 1 + tau``, ``f' >= M`` on ``[0, c-bar]``, and ``c <= c-bar``."""
    links = [(source, family_link(family)) for source, family in _THEOREMS] + [("C, Theorem 26", LINKS["sigmoid"])]
    bounds = []
    for source, link in links:
        grid = np.linspace(0, _END, 61)
        slopes = np.diff([curve(link, float(c), _FLAT) for c in grid]) / np.diff(grid)
        top = curve(link, _END, _FLAT)
        scale = 1 / float(quad(lambda z, link=link: float(link.curve(np.array(_TRUE * z))) * norm.pdf(z), -12, 12)[0])
        bounds += [
            Bound(source, "f at c-bar = 6, to be above 1 + tau = 1.22", 1 + _MORE, top, lower=True),
            Bound(source, "least slope of f up to c-bar, to be above M = 0.1", _SLOPE, float(slopes.min()), lower=True),
            Bound(source, "the scale c, to be below c-bar = 6", _END, scale),
        ]
    return tuple(bounds)


def radius_bound(p: int = 10, n: int = 10_000, zeta: float = 0.05, trials: int = 200, *, seed: int = 0) -> Bound:
    """Check Lemma 6 as Algorithms 1 and 3 use it: no row of n is above ``sqrt(5 p ||S|| log(n/zeta))``."""
    rng = np.random.default_rng(seed)
    variances = rng.uniform(0, 1, p)
    longest = [np.max((rng.standard_normal((n, p)) ** 2) @ variances) for _ in range(trials)]
    bound = 5 * p * float(variances.max()) * math.log(n / zeta)
    return Bound("C, Lemma 6", "squared length of the longest row", bound, float(np.quantile(longest, 1 - zeta)))


@dataclass(frozen=True)
class Rounds:
    """The scale by public rows, and by Remark 10's second round without them: relative errors (t,)."""

    public: np.ndarray
    second: np.ndarray

    @property
    def ratio(self) -> float:
        """Return the second round's error over the first's, by medians."""
        return float(np.median(self.second) / np.median(self.public))

    @property
    def sentence(self) -> str:
        """Return the result in words."""
        none, trials = int(np.sum(~np.isfinite(self.second))), len(self.second)
        one = f"The scale from public rows is off by {100 * float(np.median(self.public)):.2g} %"
        if none > trials / 2:
            return f"{one}; from a second round of noisy scores there is none in {none} of {trials} trials (Remark 10)."
        two = 100 * float(np.median(self.second))
        return (
            f"{one}, from a second round of noisy scores by {two:.2g} %: {self.ratio:.3g} times as much, as Remark 10 "
            f"of paper C fears."
        )


def two_rounds(delta: float, n: int = 100_000, epsilon: float = 2.0, trials: int = 40, *, seed: int = 0) -> Rounds:
    """Compute Remark 10 for the logistic loss, ``x'w_ols ~ N(0, 1/16)``: n scores, public or noisy, clipped at 3 sds.

    The noise is calibrated exactly for one number in ``[-3 sd, 3 sd]``, and enters the equation as the remark has it.
    """
    rng, sd, link = np.random.default_rng(seed), 0.25, family_link(LOGISTIC)
    reach, mu = 3 * sd, mu_from_epsilon(epsilon, delta)
    truth = scale_root(link, sd * norm.ppf((np.arange(20_000) + 0.5) / 20_000))
    public, second = [], []
    for _ in range(trials):
        scores = sd * rng.standard_normal(n)
        noisy = np.clip(scores, -reach, reach) + 2 * reach / mu * rng.standard_normal(n)
        public.append(abs(scale_root(link, scores) / truth - 1))
        second.append(abs(scale_root(link, noisy) / truth - 1))
    return Rounds(np.asarray(public), np.nan_to_num(np.asarray(second), nan=np.inf))
