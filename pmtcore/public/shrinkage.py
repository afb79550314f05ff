"""Shrinkage of rare categories by a ridge penalty, and the largest penalty that shrinks them negligibly.

With curvature ``c`` of the loss, a feature of variance ``v`` has the diagonal entry ``h = c v`` of the Hessian and a
standard error of ``1 / sqrt(n h)``, and a penalty ``lam`` shrinks its effect by the factor ``h / (h + lam)``. An effect
of ``b`` is shrunk by less than its standard error where ``lam <= h t / (1 - t)``, with ``t = 1 / (b sqrt(n h))``. For a
rare level ``h`` is small, and a penalty that is negligible for other columns can dominate. Correlation with other
columns is ignored in ``h``, so that the shrinkage is a lower bound: on Adult the offered 1e-4 shrinks 11 of 73
coefficients, mostly of marital status and relationship, by more than two standard errors.
"""

import math
from dataclasses import dataclass

import numpy as np

from pmtcore.base.messages import Note, TableNote
from pmtcore.glm.families import GAUSSIAN
from pmtcore.public.moments import INTERCEPT, PublicData

# Shrinkage factor below which the penalty weighs more than the rows.
_HALF_SHRINKAGE = 0.5
# Digits of a suggested penalty: the next smaller of these times a power of ten.
_ROUND = (5.0, 2.0, 1.0)


@dataclass(frozen=True)
class StrongestShrinkage:
    """The coefficient that a penalty shrinks most.

    Attributes:
        column: name of its column.
        remaining: upper bound on its shrinkage factor.
        penalty: the largest round penalty that shrinks no coefficient by more than its standard error.
        count: number of coefficients that ``lam`` shrinks by more than their standard error.
        total: number of penalized coefficients.
        lam: the penalty of the problem.
    """

    column: str
    remaining: float
    penalty: float
    count: int
    total: int
    lam: float

    @property
    def note(self) -> Note:
        """Return the note on the penalty of the problem."""
        return Note(
            TableNote.DECISIVE_PENALTY,
            penalty=self.lam,
            count=self.count,
            total=self.total,
            share=self.remaining,
            column=self.column,
            usual=self.penalty,
        )


def strongest_shrinkage(public: PublicData, n: int) -> StrongestShrinkage | None:
    """Return the strongest shrinkage by the penalty of the problem, from public rows alone.

    It is computed for an effect of 1 on the linear predictor: between the two values of a binary column, over one
    standard deviation of any other.

    Args:
        public: rows with the penalty of the problem.
        n: private rows.

    Returns:
        None without a penalty or without rows, and where the penalty halves no effect or shrinks none by more than its
        standard error.
    """
    if public.family is GAUSSIAN or public.rows is None or public.lam == 0:
        return None
    x, y = public.rows[:, :-1], public.rows[:, -1]
    variance = np.var(x, axis=0)
    at = [j for j, name in enumerate(public.names) if name != INTERCEPT and variance[j] > 0]  # penalized columns
    if not at:
        return None
    curvature = float(np.mean(public.family.second(np.zeros(len(y)), y)))
    h = curvature * variance[at]
    binary = np.all((x[:, at] == 0) | (x[:, at] == 1), axis=0)
    effect = np.where(binary, 1.0, 1 / np.sqrt(variance[at]))
    share = 1 / (effect * np.sqrt(n * h))
    with np.errstate(divide="ignore"):
        allowed = np.where(share < 1, h * share / (1 - share), math.inf)
    strongest = int(np.argmin(h))
    penalties = public.lam * public.penalty_shape[at]
    remaining = float(h[strongest] / (h[strongest] + penalties[strongest]))
    if np.all(penalties <= allowed) or remaining >= _HALF_SHRINKAGE:
        return None
    offer, drawn = _round_down(float(allowed.min())), int(np.sum(penalties > allowed))
    return StrongestShrinkage(public.names[at[strongest]], remaining, offer, drawn, len(at), public.lam)


def _round_down(value: float) -> float:
    """Return the next smaller of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(digit for digit in _ROUND if digit * power <= value) * power:g}")
