"""More guided demonstrations: public rows, bands, epsilon and delta, several rows of one person, trust.

As in ``lessons``: synthetic and seeded, nothing is a release.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache

import numpy as np

from pmtcore.accounting.budgets import attacker_power, delta_from_mu, epsilon_from_mu
from pmtcore.auditing.diagnostics import expected_after
from pmtcore.base.numbers import percent, plural, rounded
from pmtcore.methods.registry import method
from pmtcore.papers.lessons import roundness
from pmtcore.public.bands import Z95
from pmtcore.public.moments import INTERCEPT, PublicData, public_from_rows

_BANDS = 40  # most bands in one chart
_REPEATS = 20_000  # repetitions: the standard error of a share is then at most a third of a percentage point
_MANY = f"{_REPEATS:,} repetitions, of which {_BANDS} are drawn"


@dataclass(frozen=True)
class LessonCurve:
    """A curve with a chosen position, and the sentence that sums it up.

    Attributes:
        curves: name and y along x, (k,) each.
        chosen: position on x of the setting.
    """

    x: np.ndarray
    curves: dict[str, np.ndarray]
    chosen: float
    sentence: str


def public_rows(d: int, rows: int) -> LessonCurve:
    """Compute the condition number that remains after whitening d columns with so many public rows."""
    m = np.unique(np.round(np.geomspace(d + 1, 100 * d, 60)).astype(int))
    left = np.asarray([expected_after(d, int(k)).kappa for k in m])
    here = expected_after(d, max(rows, d + 1)).kappa
    if rows <= d:
        sentence = f"{rows} public rows cannot tell {d} columns apart: at least {d + 1} are needed, better {10 * d}."
    else:
        times = rounded(math.sqrt(here), 2)
        sentence = (
            f"{rows:,} public rows for {d} columns leave a condition number of {rounded(here)}, the longest direction "
            f"{times} times the shortest: {roundness(here)}."
        )
    return LessonCurve(m.astype(float), {"condition number after whitening": left}, float(rows), sentence)


@dataclass(frozen=True)
class RepeatedBands:
    """Repeated releases of one number with their bands, (k,) each; the truth is 0.

    ``coverage`` is of many more repetitions.
    """

    at: np.ndarray
    half: float
    hit: np.ndarray
    coverage: float
    with_noise: bool

    @property
    def sentence(self) -> str:
        """Return the sentence that sums the lesson up."""
        share = percent(self.coverage, 3)
        if self.with_noise:
            return f"Bands that allow for noise and sampling contain the truth in {share} of {_MANY}."
        if self.coverage > 0.93:
            return f"Without the noise in the band it is {share}: at this budget the noise is too small to matter."
        return f"Bands that forget the privacy noise promise 95 % and contain the truth in {share} of {_MANY}."


def bands(mu: float, with_noise: bool) -> RepeatedBands:
    """Release a mean of 1,000 numbers of standard deviation 1 in [-4, 4] at mu; bands with or without the noise."""
    rng = np.random.default_rng(21)
    sampling, noise = 1 / math.sqrt(1000), 8 / 1000 / mu
    at = sampling * rng.standard_normal(_REPEATS) + noise * rng.standard_normal(_REPEATS)
    half = Z95 * (math.hypot(sampling, noise) if with_noise else sampling)
    hit = np.abs(at) <= half
    return RepeatedBands(at[:_BANDS], half, hit[:_BANDS], float(np.mean(hit)), with_noise)


def pairs(mu: float, log_delta: int) -> LessonCurve:
    """Compute the curve of (epsilon, delta) that one mu implies, and its point at ``10**log_delta``."""
    delta = 10.0**log_delta
    most = delta_from_mu(mu, 0.0)
    deltas = np.geomspace(1e-12, min(0.9 * most, 0.5), 80)
    epsilon = np.asarray([epsilon_from_mu(mu, float(x)) for x in deltas])
    here = epsilon_from_mu(mu, delta)
    sentence = (
        f"mu = {mu:g} is epsilon = {rounded(here)} at delta = 1e{log_delta}, and epsilon = "
        f"{rounded(epsilon_from_mu(mu, 1e-12))} at delta = 1e-12: one guarantee, many pairs. An epsilon without its "
        f"delta says nothing."
    )
    return LessonCurve(deltas, {"epsilon": epsilon}, delta, sentence)


def several_rows(mu: float, rows: int) -> LessonCurve:
    """Compute what the best attacker detects of a person with one row, and of one with several."""
    alarms = np.linspace(0.001, 0.999, 200)
    one, many = (float(attacker_power(k * mu, 0.05)) for k in (1, rows))
    if rows == 1:
        sentence = f"One row: detected in at most {percent(one, 3)} of the cases at 5 % false alarms."
    else:
        sentence = (
            f"A person with {rows} rows is protected at mu = {rounded(rows * mu)} only: detected in at "
            f"most {percent(many, 3)} of the cases at 5 % false alarms; a person with one row in {percent(one, 3)}."
        )
    curves = {"one row": attacker_power(mu, alarms), f"{rows} rows": attacker_power(rows * mu, alarms)}
    return LessonCurve(alarms, curves, 0.05, sentence)


def trust(n: int) -> LessonCurve:
    """Compute what mu = 1 adds to the standard error of a mean of n numbers in [0, 1], with and without a curator."""
    sizes = np.geomspace(100, 1e6, 40)
    central, local = 1 / n, 1 / math.sqrt(n)
    sentence = (
        f"With {n:,} people a curator's noise moves the mean by {rounded(central, 2)}; noise added on every device "
        f"moves it by {rounded(local, 2)}, {rounded(local / central)} times as much. Trusting nobody costs that."
    )
    curves = {"with a curator": 1 / sizes, "on every device": 1 / np.sqrt(sizes)}
    return LessonCurve(sizes, curves, float(n), sentence)


_SITE = 1_000  # rows of each site


def sites(count: int, colluders: int) -> LessonCurve:
    """Return the error that privacy at mu = 1 adds to a mean over sites of 1,000 rows, against the number of sites.

    The noise of the total is sized for the sites that do not collude (proofs/sites.md, 1).

    Args:
        count: sites of the study.
        colluders: number of sites that may collude; at most all but one count.
    """
    counts = np.unique(np.round(np.geomspace(2, 100, 30)).astype(int))

    def error(k: np.ndarray) -> np.ndarray:
        return np.sqrt(k / (k - np.minimum(colluders, k - 1))) / (k * _SITE)

    here, alone = float(error(np.array([count]))[0]), 1 / _SITE
    sentence = (
        f"{count} sites that add up shares of noise move their mean by {rounded(here, 2)}; one site alone moves its "
        f"own by {rounded(alone, 2)}, {rounded(alone / here, 2)} times as much. "
    )
    if colluders == 0:
        sentence += "That is one curator's noise, and there is no curator."
    else:
        colluding = plural(min(colluders, count - 1), "colluding site")
        sentence += f"Allowing for {colluding} makes the noise {rounded(here * count * _SITE, 3)} times a curator's."
    curves = {
        "a study of sites": error(counts),
        "one curator of all": 1 / (counts * _SITE),
        "one site alone": np.full(len(counts), alone),
    }
    return LessonCurve(counts.astype(float), curves, float(count), sentence)


def questions(mu: float, count: int) -> LessonCurve:
    """Compute the expected error of a regression among many, with a release for each or one moment for all.

    In standard errors of the non-private fit; 10,000 private rows of eight columns, 200 public ones.
    """
    counts = np.unique(np.round(np.geomspace(1, 1000, 8)).astype(int))
    moment, here = _expected("joint-moment", mu), _expected("joint-pmt", mu / math.sqrt(count))
    if here <= moment:
        sentence = (
            f"For {plural(count, 'question')} a release for each is better: {_errors(here)} off, against "
            f"{rounded(moment, 2)}."
        )
    else:
        sentence = (
            f"{plural(count, 'question')}, a release for each, mu = {rounded(mu)} in all: {_errors(here)} off. "
            f"One moment for all: {rounded(moment, 2)}, and the next question is free."
        )
    curves = {
        "a release for each question": np.array([_expected("joint-pmt", mu / math.sqrt(k)) for k in counts]),
        "one moment for all": np.full(len(counts), moment),
    }
    return LessonCurve(counts.astype(float), curves, float(count), sentence)


def _errors(size: float) -> str:
    """Return so many standard errors in words."""
    number = rounded(size, 2)
    return f"{number} standard error{'' if number == '1' else 's'}"


@cache
def _expected(id: str, mu: float) -> float:
    """Return the predicted distance to the non-private fit of the middle coefficient, in standard errors."""
    prediction = method(id).planned(_eight_columns(), 10_000, mu).predicted()
    return math.nan if prediction is None else float(np.median(prediction.to_exact / prediction.sampling))


@cache
def _eight_columns() -> PublicData:
    """Return two hundred public rows of eight columns."""
    x = np.random.default_rng(33).standard_normal((200, 8)) @ (np.eye(8) + 0.4)
    names = (INTERCEPT, *(f"x{j}" for j in range(1, 8)))
    return public_from_rows(np.column_stack([np.ones(200), x[:, :7]]), x[:, 7], names, "y")
