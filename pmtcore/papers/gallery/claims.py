"""What a paper claims of a figure, and what the trials answer: curves, paired resampling, claims, verdicts.

All series of a trial share a draw of the data, and methods that differ in one step share the noise as well. So a
comparison is paired: the trials are resampled, the same ones for every series and every x, and whatever a check
computes from the curves is computed again on each resample. Its standard error is the spread of those values, and
what two series have in common drops out of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from pmtcore.base.computed_once import computed_once
from pmtcore.base.distributions import student

LEVEL = 0.05  # odds that an answer is wrong by chance: half of it that a claim holds, half that it does not
FEWEST_TRIALS = 5  # below it nothing is said: no resample of four trials knows how far a fifth would lie
_RESAMPLES = 200  # their spread is known to 5 %
# Ranks beside the middle, in roots of the number of trials: five standard deviations of a resample's median.
_REACH = 2.5
_ONE_SD = (0.158655, 0.841345)  # quantiles of a normal law at one standard deviation
Statistic = Literal["mean", "median", "sd"]


class Answer(Enum):
    """How a claim fares."""

    HOLDS = "holds"
    FAILS = "does not hold here"
    OPEN = "cannot be told with these trials"
    UNSTATED = "depends on a setting that the paper does not state"


_SPOKEN = {Answer.HOLDS: "holds", Answer.FAILS: "does not hold", Answer.OPEN: "cannot be told with these trials"}


@dataclass(frozen=True)
class ClaimFinding:
    """An answer and the figures behind it, of which a comparison of several series has several parts."""

    answer: Answer
    figures: str
    parts: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the figures, a line for each comparison."""
        return self.parts or (self.figures,)


@dataclass(frozen=True, eq=False)
class Curve:
    """One series of a figure.

    Attributes:
        x: positions (k,).
        values: one error for each trial and position (trials, k); infinite where a trial gave no estimate (no root,
            indefinite), which is in no mean and in the median as an infinite error.
    """

    name: str
    x: np.ndarray
    values: np.ndarray

    @property
    def count(self) -> int:
        """Return the number of trials."""
        return len(self.values)

    @cached_property
    def omitted(self) -> np.ndarray:
        """Return the number of trials without an estimate at each position (k,)."""
        return np.sum(~np.isfinite(self.values), axis=0)

    @property
    def mean(self) -> np.ndarray:
        """Return means (k,)."""
        return self.statistic("mean")[0]

    @property
    def sd(self) -> np.ndarray:
        """Return standard deviations (k,)."""
        return self.statistic("sd")[0]

    @property
    def median(self) -> np.ndarray:
        """Return medians (k,)."""
        return self.statistic("median")[0]

    def quantile(self, share: float) -> np.ndarray:
        """Return quantiles (k,) of the trials that gave an estimate."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return np.asarray(np.nanquantile(np.where(np.isfinite(self.values), self.values, np.nan), share, axis=0))

    @computed_once(most=3)
    def statistic(self, which: Statistic) -> np.ndarray:
        """Return a statistic and its resamples (1 + resamples, k): the first row is that of the trials themselves.

        Below :data:`FEWEST_TRIALS` the resamples are NaN.
        """
        statistics = np.stack([*map(_medians, self.values.T)], 1) if which == "median" else _moments(self.values, which)
        if self.count < FEWEST_TRIALS:
            statistics[1:] = np.nan
        return statistics

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields: the values to five digits, and their summaries."""
        return {
            "name": self.name,
            "x": self.x.tolist(),
            "mean": self.mean.tolist(),
            "sd": self.sd.tolist(),
            "median": self.median.tolist(),
            "low": self.quantile(0.1).tolist(),
            "high": self.quantile(0.9).tolist(),
            "trials": (self.count - self.omitted).tolist(),
            "omitted": self.omitted.tolist(),
            "values": [[float(f"{v:.5g}") for v in row] for row in self.values.tolist()],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Curve:
        """Return the curve from plain fields; JSON has no infinity, so no number stands for no estimate."""
        values = np.asarray(fields["values"], dtype=float).reshape(-1, len(fields["x"]))
        return cls(fields["name"], np.asarray(fields["x"], dtype=float), np.where(np.isnan(values), np.inf, values))


Curves = Mapping[str, Curve]
Check = Callable[[Curves], ClaimFinding]


@cache
def _resamples(trials: int) -> np.ndarray:
    """Draw how often each trial counts (1 + resamples, trials), once each in the first row; the same for all series."""
    rng = np.random.default_rng(trials)
    drawn = rng.multinomial(trials, np.full(trials, 1 / trials), _RESAMPLES)
    return np.vstack([np.ones((1, trials)), drawn])


@cache
def _by_trial(trials: int) -> np.ndarray:
    """Return :func:`_resamples` (trials, 1 + resamples) in small integers, whose running sums are fast."""
    return np.ascontiguousarray(_resamples(trials).T.astype(np.int16))


def _medians(values: np.ndarray) -> np.ndarray:
    """Return the median of values (t,), and of each resample (1 + resamples,)."""
    order, counts, middle = np.argsort(values, kind="stable"), _by_trial(len(values)), len(values) // 2
    for reach in (int(_REACH * np.sqrt(len(values))) + 1, len(values)):  # few ranks as a rule, else all
        start, end = max(middle - reach, 0), middle + reach
        before = np.sum(counts[order[:start]], axis=0, dtype=np.int16)
        below = before + np.cumsum(counts[order[start:end]], axis=0, dtype=np.int16)
        low, high = (values[order[start + np.argmax(below > at, axis=0)]] for at in ((len(values) - 1) // 2, middle))
        if np.all(before < middle) and np.all(below[-1] > middle):
            break
    with np.errstate(invalid="ignore"):
        return np.where(low == high, low, (low + high) / 2)


def _moments(values: np.ndarray, which: Statistic) -> np.ndarray:
    """Return means or standard deviations (1 + resamples, k) of finite values (t, k), and of each resample."""
    counts, finite = _resamples(len(values)), np.isfinite(values)
    centre = np.where(finite.any(axis=0), np.mean(np.where(finite, values, 0.0), axis=0), 0.0)
    off = np.where(finite, values - centre, 0.0)
    with np.errstate(all="ignore"):
        number = counts @ finite
        mean = counts @ off / number
        if which == "mean":
            return np.asarray(mean + centre)
        return np.asarray(np.sqrt(np.maximum(counts @ off**2 / number - mean**2, 0.0)))


def spread_of(draws: np.ndarray) -> np.ndarray:
    """Return the standard error (...) of a figure from its resamples (1 + resamples, ...); NaN where it has none."""
    value, ordered = draws[0], np.sort(draws[1:], axis=0)  # NaN last
    places = [divmod(share * (len(ordered) - 1), 1) for share in _ONE_SD]
    with np.errstate(invalid="ignore"):
        ends = [ordered[int(at)] + part * (ordered[int(at) + 1] - ordered[int(at)]) for at, part in places]
        sides = [np.where(end == value, 0.0, np.abs(end - value)) for end in ends]
    return np.where(np.isnan(ordered[-1]), np.nan, np.maximum(*sides))


def below_zero(draws: np.ndarray, trials: int) -> Answer:
    """Return whether every figure lies below 0.

    That all do is believed where each of them alone is surely below: it would be wrong where a single one is not, and
    that one is tested at its own level (Berger 1982, intersection-union). That one does not is believed only where it
    surely is not among as many as were looked at, since each had its chance. An infinite figure is believed where
    every resample has its sign.

    Args:
        draws: figures and their resamples (1 + resamples, k) or (1 + resamples,).
        trials: how many were resampled, which decides the tails.
    """
    draws = draws.reshape(len(draws), -1)
    spread = spread_of(draws)
    # An infinite figure, such as a ratio to a curve that has no estimate in most trials, has no standard error.
    with np.errstate(invalid="ignore"):
        endless = [np.isinf(draws[0]) & np.all(side * draws > 0, axis=0) for side in (-1, 1)]
        if np.all((draws[0] + two_sided(trials) * spread < 0) | endless[0]):
            return Answer.HOLDS
        failed = np.any((draws[0] - two_sided(trials, draws.shape[1]) * spread >= 0) | endless[1])
    return Answer.FAILS if failed else Answer.OPEN


@cache
def two_sided(trials: int, points: int = 1) -> float:
    """Return the standard errors on either side that a true value leaves at odds of :data:`LEVEL`, at any of points."""
    return float(student.isf(LEVEL / 2 / max(points, 1), max(trials - 1, 1)))


def together(findings: Sequence[ClaimFinding]) -> ClaimFinding:
    """Combine answers: FAILS if any fails, else OPEN if any is open, else HOLDS."""
    answers = [each.answer for each in findings]
    answer = next((a for a in (Answer.FAILS, Answer.OPEN) if a in answers), Answer.HOLDS)
    lines = tuple(line for each in findings for line in each.lines)
    return ClaimFinding(answer, "; ".join(lines), lines)


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (or of this project) and its check.

    Attributes:
        ours: the sentence is this project's, about this project's methods: no paper says it.
        check: of the one reading there is; with several readings that of the first.
        unstated: a setting that the answer hangs on and that the paper does not state.
        readings: what the paper can be read to have done, each with its check. Where they agree that is the answer;
            where one holds and another does not, it depends on ``unstated``, as it does where none holds and one of
            them is :func:`not_drawn`. With ``unstated`` and no readings it holds where it does with the setting that is
            taken here; where it does not, that may be for the setting, and nothing is answered.
        stated: beginnings of the names of readings that the paper states: where one of them holds, so does the claim,
            however the others fare.
    """

    words: str
    check: Check | None = None
    unstated: str = ""
    readings: Mapping[str, Check] = field(default_factory=dict)
    stated: tuple[str, ...] = ()
    ours: bool = False

    def __post_init__(self) -> None:
        if self.check is None and not self.readings:
            raise ValueError("a claim needs a check or readings")
        if not all(any(name.startswith(start) for name in self.readings) for start in self.stated):
            raise ValueError("a stated reading is none of the readings")

    def answer(self, curves: Curves) -> dict[str, Any]:
        """Return the claim, its answer and its figures in plain fields."""
        finding = self._read(curves) if self.readings else _checked(self.check, curves)
        if self.unstated and not self.readings:
            lines = (f"with the setting taken here it {_SPOKEN[finding.answer]}", *finding.lines)
            answer = Answer.HOLDS if finding.answer is Answer.HOLDS else Answer.UNSTATED
            finding = ClaimFinding(answer, "; ".join(lines), lines)
        depends = finding.answer is Answer.UNSTATED
        return {
            "claim": self.words,
            "holds": finding.answer is Answer.HOLDS,
            "answer": finding.answer.value,
            "figures": f"{finding.figures}; {self.unstated}" if depends else finding.figures,
            "lines": list(finding.lines),
            "unstated": self.unstated if depends else "",
            "ours": self.ours,
        }

    def _read(self, curves: Curves) -> ClaimFinding:
        checked = {name: _checked(check, curves) for name, check in self.readings.items()}
        answers = {each.answer for each in checked.values()}
        lines = tuple(
            f"{name}: {each.figures if each.answer is Answer.UNSTATED else f'{each.answer.value}; {each.figures}'}"
            for name, each in checked.items()
        )
        tried = answers - {Answer.UNSTATED}
        answer = Answer.OPEN if Answer.OPEN in tried else next(iter(tried))
        if Answer.FAILS in answers and answers & {Answer.HOLDS, Answer.UNSTATED}:
            answer = Answer.UNSTATED
        if any(each.answer is Answer.HOLDS and name.startswith(self.stated) for name, each in checked.items()):
            answer = Answer.HOLDS
        return ClaimFinding(answer, "; ".join(lines), lines)


def not_drawn(why: str) -> Check:
    """Return the check of a reading that no curve here answers: it confirms nothing, and keeps others from refuting."""
    return lambda curves: ClaimFinding(Answer.UNSTATED, why)


def _checked(check: Check | None, curves: Curves) -> ClaimFinding:
    """Apply a check to curves that may lack a series, a spread or a number."""
    if check is None:
        raise ValueError("a claim without readings needs a check")
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():  # one trial has no deviation, some have no error
            warnings.simplefilter("ignore", RuntimeWarning)
            return check(curves)
    except KeyError as missing:  # of a result that an earlier version of the code stored
        return ClaimFinding(Answer.OPEN, f"{missing.args[0]} is not in the stored result")
    except (ZeroDivisionError, ValueError):
        return ClaimFinding(Answer.OPEN, "a series has no number where the claim needs one")
