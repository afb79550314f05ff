"""How strong a total budget is, in words, from what the best attacker can do with it.

The scale goes by the detections of the best attacker at 5 % false alarms (guessing: 5 %), because that is what
the picture beside it shows. In epsilon at delta 1e-5 the limits lie at about 2, 4.4, 10.2 and 17; the third is the end
of what Ponomareva et al. (2023, "How to DP-fy ML") call reasonable. NIST SP 800-226 gives no universal limit either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from pmtcore.accounting.budgets import attacker_power
from pmtcore.base.checks import InputError
from pmtcore.base.numbers import percent

FALSE_ALARMS = 0.05  # the customary level of a test


@final
@dataclass(frozen=True)
class Strength:
    """One step of the scale.

    Attributes:
        step: 0 (nothing spent) to 5 (hardly any protection).
        word: for a badge.
        colour: a name that the pages' badges know; never without the word.
        detections: of the best attacker at 5 % false alarms.
    """

    step: int
    word: str
    colour: str
    detections: float

    @property
    def sentence(self) -> str:
        """The step in words, with the figure it stands on."""
        if self.step == 0:
            return "Nothing was spent: no private row is read."
        return (
            f"Protection: {self.word}. The best attacker who accepts {percent(FALSE_ALARMS)} false alarms detects one "
            f"person's row in at most {percent(math.ceil(1000 * self.detections) / 1000, 3)} of the cases; guessing "
            f"detects {percent(FALSE_ALARMS)}. {_MEANING[self.step]}"
        )


# Largest mu of each step: 0.5 and 1 are where the attacker is right 13 % and 26 % of the time, five times guessing at
# most; from 2 on (64 %) he is right more often than not; from 3 on (91 %) nearly always.
_STEPS = ((0.5, "strong", "green"), (1.0, "good", "green"), (2.0, "moderate", "orange"), (3.0, "weak", "red"))
_LAST = ("hardly any", "red")
_MEANING = {
    1: "Little can be learned about any one person.",
    2: "What a person's row says stays deniable.",
    3: "An attacker learns something about some people: have a reason for this much.",
    4: "An attacker detects a person more often than not: do not publish from sensitive rows at this budget.",
    5: "An attacker nearly always detects a person: treat the result as if it were not protected.",
}


def strength(mu: float) -> Strength:
    """The step of a total mu.

    Raises:
        InputError: mu is negative or not a number.

    >>> strength(1.0).word, strength(2.6).word, strength(50.0).word
    ('good', 'weak', 'hardly any')
    """
    if not mu >= 0:
        raise InputError(f"mu must be at least 0, got {mu}.")
    if mu == 0:
        return Strength(0, "nothing spent", "gray", FALSE_ALARMS)
    found = float(attacker_power(mu, FALSE_ALARMS))
    for at, (limit, word, colour) in enumerate(_STEPS, 1):
        if mu <= limit:
            return Strength(at, word, colour, found)
    return Strength(len(_STEPS) + 1, *_LAST, found)


def scale() -> list[tuple[str, float | None]]:
    """The words of the scale with the largest mu of each; the last has none."""
    return [(word, limit) for limit, word, _ in _STEPS] + [(_LAST[0], None)]
