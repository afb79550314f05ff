"""What comes of a claim: an answer that knows how far its trials can tell, and the figures behind it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal, final

import numpy as np
from scipy.stats import norm

LEVEL = 0.05  # odds that an answer is wrong by chance, over all points that a check looks at
Statistic = Literal["mean", "median", "sd"]


class Answer(Enum):
    """How a claim fares."""

    HOLDS = "holds"
    FAILS = "does not hold here"
    OPEN = "cannot be told with these trials"
    UNSTATED = "depends on a setting that the paper does not state"


@final
@dataclass(frozen=True)
class Finding:
    """An answer and the figures behind it."""

    answer: Answer
    figures: str


@final
@dataclass(frozen=True)
class Curve:
    """One series of a figure: summaries at each x, arrays (k,).

    Attributes:
        trials: that gave an estimate.
        omitted: that gave none (no root, indefinite): they are in no mean, and in the median as infinite errors.
    """

    name: str
    x: np.ndarray
    mean: np.ndarray
    sd: np.ndarray
    median: np.ndarray
    low: np.ndarray  # 10 % quantile
    high: np.ndarray  # 90 % quantile
    trials: np.ndarray
    omitted: np.ndarray

    def as_dict(self) -> dict[str, Any]:
        """Plain fields."""
        return {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Curve:
        """Back from plain fields; JSON has no infinity, which a median has where most trials have no estimate."""
        missing = {"median": np.inf}
        numbers = {
            k: np.asarray([missing.get(k, np.nan) if v is None else v for v in value], dtype=float)
            for k, value in fields.items()
            if k != "name"
        }
        numbers.setdefault("omitted", np.zeros(len(numbers["x"])))
        return cls(name=fields["name"], **numbers)

    def values(self, statistic: Statistic) -> np.ndarray:
        """Means, medians or standard deviations (k,)."""
        return np.asarray({"mean": self.mean, "median": self.median, "sd": self.sd}[statistic])

    def doubt(self, statistic: Statistic) -> np.ndarray:
        """Relative standard errors (k,) of :meth:`values`; infinite where one trial is all there is.

        A mean's is ``sd/mean/sqrt(T)``; a median's ``sqrt(pi/2)`` times that of a normal law with the same distance
        between the 10 % and 90 % quantiles, or of a log-normal one where that is less; a standard deviation's
        ``sqrt((k - 1)/(4 T))``, the kurtosis k judged by how far the sd lies above that of the quantiles, and never
        taken below a normal law's.
        """
        with np.errstate(all="ignore"):
            middle = (self.high - self.low) / (2 * norm.isf(0.1))  # the sd of a normal law with these quantiles
            if statistic == "mean":
                found = self.sd / np.abs(self.mean) / np.sqrt(self.trials)
            elif statistic == "median":
                logs = (np.log(self.high) - np.log(self.low)) / (2 * norm.isf(0.1))
                spread = np.fmin(middle / np.abs(self.median), logs)  # a law that does not fit has wider tails: less
                found = np.sqrt(np.pi / 2) * spread / np.sqrt(self.trials)
            else:
                kurtosis = np.minimum(3 * np.maximum(self.sd / middle, 1.0) ** 4, np.maximum(self.trials, 3))
                found = np.where(self.sd > 0, np.sqrt((kurtosis - 1) / (4 * self.trials)), 0.0)
        same = self.sd == 0  # a figure without chance
        return np.asarray(np.where((self.trials < 2) & ~same, np.inf, np.where(same, 0.0, np.nan_to_num(found))))


Curves = Mapping[str, Curve]
Check = Callable[[Curves], Finding]


@final
@dataclass(frozen=True)
class Claim:
    """A sentence of the paper (or, marked so, of ours) and its check.

    Attributes:
        unstated: a setting that the answer hangs on and that the paper does not state; the check then answers nothing.
    """

    words: str
    check: Check
    unstated: str = ""

    def answer(self, curves: Curves) -> dict[str, Any]:
        """The claim, its answer and its figures in plain fields."""
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():  # one trial has no deviation, some have no error
                warnings.simplefilter("ignore", RuntimeWarning)
                found = self.check(curves)
        except KeyError as missing:  # of a result that an earlier version of the code stored
            found = Finding(Answer.OPEN, f"{missing.args[0]} is not in the stored result")
        except (ZeroDivisionError, ValueError):
            found = Finding(Answer.OPEN, "a series has no number where the claim needs one")
        answer = Answer.UNSTATED if self.unstated else found.answer
        figures = f"{found.figures}; {self.unstated}" if self.unstated else found.figures
        return {
            "claim": self.words,
            "holds": answer is Answer.HOLDS,
            "answer": answer.value,
            "figures": figures,
        }


def below_zero(value: np.ndarray, doubt: np.ndarray) -> Answer:
    """Whether every value (k,) lies below 0, each known to a standard error (k,)."""
    z = norm.isf(LEVEL / 2 / max(len(value), 1))
    with np.errstate(invalid="ignore"):
        if np.all(value + z * doubt < 0):
            return Answer.HOLDS
        return Answer.FAILS if np.any(value - z * doubt >= 0) else Answer.OPEN


def together(found: list[Finding]) -> Finding:
    """All hold; or one does not; or nobody can tell."""
    answers = [each.answer for each in found]
    answer = next((a for a in (Answer.FAILS, Answer.OPEN) if a in answers), Answer.HOLDS)
    return Finding(answer, "; ".join(each.figures for each in found))
