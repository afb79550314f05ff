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

_MORE = 100  # trials that are cheap enough to try wherever they would tell
_CHEAP = 600.0  # processor seconds
_MOST_TRIALS = 4_000  # beyond it a claim is called undecidable: eight times the most that a paper has but for C6


class OpenReason(Enum):
    """Why a claim is open."""

    NO_RESULT = "the figure has no result yet"
    FEW_TRIALS = "too few trials yet"
    BEYOND = "more trials are needed than the paper has"
    BORDER = f"not even {_MOST_TRIALS:,} trials would tell: curves meet, or points bend away from the line"


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
    why: OpenReason
    needed: int | None = None
    seconds: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {**vars(self), "why": self.why.value, "kind": self.why.name.lower()}

    @property
    def advice(self) -> str:
        """Say how many trials an answer would take, by the paired spread of those there are."""
        if self.why is OpenReason.NO_RESULT:
            return "No result yet"
        if self.needed is None:
            return f"Not even {_MOST_TRIALS:,} trials would tell, as far as these {self.trials:,} show"
        place = "within" if self.why is OpenReason.FEW_TRIALS else "beyond"
        cost = plural(round(self.seconds or 0), "processor second")
        return f"About {self.needed:,} trials would tell, {place} the paper's {self.of:,}, in {cost} more"

    @property
    def cheap(self) -> bool:
        """Return whether a hundred more trials in ten processor minutes would tell."""
        return self.needed is not None and self.needed <= self.trials + _MORE and (self.seconds or 0) <= _CHEAP

    @property
    def words(self) -> str:
        """Render the claim as a line."""
        about = "" if self.needed is None else f": about {self.needed:,}, {plural(round(self.seconds or 0), 'second')}"
        return f"{self.figure:6}{self.trials:5} of {self.of:<5}{self.why.value}{about}. {self.claim}"


def open_claims(figure: Figure, record: Mapping[str, Any] | None) -> Iterator[OpenClaim]:
    """Yield the open claims of a figure.

    How many trials an answer takes is foretold by counting the stored ones over again, first a hundred more, then twice
    as many and so on: their spread stays, and what is left to chance shrinks as with so many new ones.
    """
    if record is None:
        for claim in figure.claims:
            yield OpenClaim(figure.id, claim.words, claim.ours, 0, figure.trials, OpenReason.NO_RESULT)
        return
    curves = [Curve.from_dict(fields) for fields in record["series"]]
    trials, one = int(record["trials"]), float(record["seconds_per_trial"])
    still = [at for at, entry in enumerate(record["verdict"]) if entry["answer"] == Answer.OPEN.value]
    answered: dict[int, int] = {}
    for count in _counts(trials, figure.trials):
        left = [at for at in still if at not in answered]
        if not left:
            break
        again = np.arange(count) % trials
        many = {each.name: Curve(each.name, each.x, each.values[again]) for each in curves}
        answers = {at: figure.claims[at].answer(many)["answer"] for at in left}
        answered |= {at: count for at, answer in answers.items() if answer != Answer.OPEN.value}
    for at in still:
        claim, needed = figure.claims[at], answered.get(at)
        few = needed is not None and needed <= figure.trials
        why = OpenReason.BORDER if needed is None else OpenReason.FEW_TRIALS if few else OpenReason.BEYOND
        seconds = None if needed is None else one * (needed - trials)
        yield OpenClaim(figure.id, claim.words, claim.ours, trials, figure.trials, why, needed, seconds)


def _counts(trials: int, of: int) -> list[int]:
    """Return the numbers of trials that are tried: a few more, doubled up to the most, and the paper's number."""
    if not trials:
        return []
    doubled = [2**k * trials for k in range(1, 12) if 2**k * trials <= _MOST_TRIALS]
    return sorted({trials + _MORE, *doubled, *([of] if of > trials else [])})
