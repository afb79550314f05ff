"""More guided demonstrations: public rows, bands, epsilon and delta, several rows of one person, trust.

As in ``lessons``: synthetic and seeded, nothing is a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.accounting.budgets import attacker_power, delta_from_mu, epsilon_from_mu
from pmtcore.lab.diagnostics import expected_after

_BANDS = 40
_REPEATS = 20_000
_Z = 1.959964


@final
@dataclass(frozen=True)
class Line:
    """A curve with a chosen place, and the sentence to take away.

    Attributes:
        curves: name and y along x, (k,) each.
        chosen: where on x the knob stands.
    """

    x: np.ndarray
    curves: dict[str, np.ndarray]
    chosen: float
    sentence: str


def public_rows(d: int, rows: int) -> Line:
    """Condition number that is left after whitening d columns with so many public rows."""
    m = np.unique(np.round(np.geomspace(d + 1, 100 * d, 16)).astype(int))
    left = np.asarray([expected_after(d, int(k)).kappa for k in m])
    here = expected_after(d, max(rows, d + 1)).kappa
    if rows <= d:
        sentence = f"{rows} public rows cannot tell {d} columns apart: at least {d + 1} are needed, better {10 * d}."
    elif here > 10:
        sentence = f"{rows:,} public rows for {d} columns leave a condition number of {here:.3g}: far from a ball."
    elif here > 2:
        sentence = f"{rows:,} public rows for {d} columns leave a condition number of {here:.3g}: good enough."
    else:
        sentence = f"{rows:,} public rows for {d} columns leave a condition number of {here:.3g}: nearly a ball."
    return Line(m.astype(float), {"condition number after whitening": left}, float(rows), sentence)


@final
@dataclass(frozen=True)
class Bands:
    """Repeated releases of one number with their bands, (k,) each; the truth is 0.

    ``coverage`` is of many more repetitions.
    """

    at: np.ndarray
    half: float
    hit: np.ndarray
    coverage: float
    whole: bool

    @property
    def sentence(self) -> str:
        """What to take away."""
        share = f"{100 * self.coverage:.3g} %"
        if self.whole:
            return f"Bands that hold the noise and the sampling contain the truth in {share} of the repetitions."
        if self.coverage > 0.93:
            return f"Without the noise in the band it is {share}: at this budget the noise is too small to matter."
        return f"Bands that forget the privacy noise promise 95 % and contain the truth in {share} of the repetitions."


def bands(mu: float, whole: bool) -> Bands:
    """A mean of 1,000 numbers of standard deviation 1 in [-4, 4], released at mu; bands with or without the noise."""
    rng = np.random.default_rng(21)
    sampling, noise = 1 / math.sqrt(1000), 8 / 1000 / mu
    at = sampling * rng.standard_normal(_REPEATS) + noise * rng.standard_normal(_REPEATS)
    half = _Z * (math.hypot(sampling, noise) if whole else sampling)
    hit = np.abs(at) <= half
    return Bands(at[:_BANDS], half, hit[:_BANDS], float(np.mean(hit)), whole)


def pairs(mu: float, log_delta: int) -> Line:
    """Every (epsilon, delta) that one mu stands for, and the one at ``10**log_delta``."""
    delta = 10.0**log_delta
    most = delta_from_mu(mu, 0.0)
    deltas = np.geomspace(1e-12, min(0.9 * most, 0.5), 80)
    epsilon = np.asarray([epsilon_from_mu(mu, float(x)) for x in deltas])
    here = epsilon_from_mu(mu, delta)
    sentence = (
        f"mu = {mu:g} is epsilon = {here:.3g} at delta = 1e{log_delta}, and epsilon = {epsilon_from_mu(mu, 1e-12):.3g} "
        f"at delta = 1e-12: one guarantee, many pairs. An epsilon without its delta says nothing."
    )
    return Line(deltas, {"epsilon": epsilon}, delta, sentence)


def several_rows(mu: float, rows: int) -> Line:
    """What the best attacker detects of a person with one row, and of one with several."""
    alarms = np.linspace(0.001, 0.999, 200)
    one, many = (float(attacker_power(k * mu, 0.05)) for k in (1, rows))
    if rows == 1:
        sentence = f"One row: detected in at most {100 * one:.3g} % of the cases at 5 % false alarms."
    else:
        sentence = (
            f"A person with {rows} rows is protected only as by mu = {rows * mu:g}: detected in at most "
            f"{100 * many:.3g} % of the cases at 5 % false alarms, a person with one row in {100 * one:.3g} %."
        )
    curves = {"one row": attacker_power(mu, alarms), f"{rows} rows": attacker_power(rows * mu, alarms)}
    return Line(alarms, curves, 0.05, sentence)


def trust(n: int, mu: float) -> Line:
    """Standard error that privacy adds to a mean of n numbers in [0, 1], with a curator and without, along n."""
    sizes = np.geomspace(100, 1e6, 40)
    central, local = 1 / (n * mu), 1 / (math.sqrt(n) * mu)
    sentence = (
        f"With {n:,} people a curator's noise moves the mean by {central:.2g}; noise added on every device moves it by "
        f"{local:.2g}, {local / central:,.0f} times as much. That is what trusting nobody costs."
    )
    curves = {"with a curator": 1 / (sizes * mu), "on every device": 1 / (np.sqrt(sizes) * mu)}
    return Line(sizes, curves, float(n), sentence)
