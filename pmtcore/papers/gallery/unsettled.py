"""Which claims no answer has been found for, why, and how many trials an answer would take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from pmtcore.base.numbers import plural
from pmtcore.papers.gallery.claims import Answer, Curve
from pmtcore.papers.gallery.engine import Figure

_MOST_TRIALS = 4_000  # beyond it a claim is called undecidable: eight times the most that a paper has


class Why(Enum):
    """Why a claim is open."""

    NO_RESULT = "the figure has no result yet"
    FEW_TRIALS = "too few trials yet"
    BEYOND = "more trials are needed than the paper has"
    BORDER = "no number of trials tells: the curves meet, or their points bend away from the line"


@dataclass(frozen=True)
class OpenClaim:
    """A claim without an answer.

    Attributes:
        trials: what the stored result has.
        needed: about how many would give an answer; ``None`` where none would, or where there is no result.
        seconds: processor seconds that the trials still needed take; ``None`` where ``needed`` is.
    """

    figure: str
    claim: str
    ours: bool
    trials: int
    of: int
    why: Why
    needed: int | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {**vars(self), "why": self.why.value, "kind": self.why.name.lower()}

    @property
    def advice(self) -> str:
        """Say how many trials an answer would take, by the paired spread of those there are."""
        if self.why is Why.NO_RESULT:
            return "No result yet"
        if self.needed is None:
            return f"No number of trials tells, as far as these {self.trials:,} show"
        whose = "within" if self.why is Why.FEW_TRIALS else "beyond"
        return f"About {self.needed:,} trials would tell, {whose} the paper's {self.of:,}"

    @property
    def words(self) -> str:
        """Render the claim as a line."""
        about = "" if self.needed is None else f": about {self.needed:,}, {plural(round(self.seconds or 0), 'second')}"
        return f"{self.figure:6}{self.trials:5} of {self.of:<5}{self.why.value}{about}. {self.claim}"


def open_claims(figure: Figure, record: Mapping[str, Any] | None) -> Iterator[OpenClaim]:
    """Yield the open claims of a figure.

    How many trials an answer takes is foretold by counting the stored ones several times: their spread stays, and what
    is left to chance shrinks as with so many new ones.
    """
    if record is None:
        for claim in figure.claims:
            yield OpenClaim(figure.id, claim.words, claim.ours, 0, figure.trials, Why.NO_RESULT)
        return
    curves = [Curve.from_dict(fields) for fields in record["series"]]
    trials, one = int(record["trials"]), float(record["seconds_per_trial"])
    still = [at for at, entry in enumerate(record["verdict"]) if entry["answer"] == Answer.OPEN.value]
    answered: dict[int, int] = {}
    for times in _multiples(trials, figure.trials):
        left = [at for at in still if at not in answered]
        if not left:
            break
        many = {each.name: Curve(each.name, each.x, np.tile(each.values, (times, 1))) for each in curves}
        answers = {at: figure.claims[at].answer(many)["answer"] for at in left}
        answered |= {at: times * trials for at, answer in answers.items() if answer != Answer.OPEN.value}
    for at in still:
        claim, needed = figure.claims[at], answered.get(at)
        why = Why.BORDER if needed is None else Why.FEW_TRIALS if needed <= figure.trials else Why.BEYOND
        seconds = None if needed is None else one * (needed - trials)
        yield OpenClaim(figure.id, claim.words, claim.ours, trials, figure.trials, why, needed, seconds)


def _multiples(trials: int, of: int) -> list[int]:
    """Return how often the trials are counted: doubled up to the paper's number, that, and doubled up to the most."""
    if not trials:
        return []
    doubled = [2**k for k in range(1, 12) if 2**k * trials <= _MOST_TRIALS]
    return sorted({*doubled, *([of // trials] if of >= 2 * trials else [])})
