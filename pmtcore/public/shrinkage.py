"""What a ridge penalty does to rare categories, and the penalty that does next to nothing to them.

With curvature ``c`` of the loss, a feature of variance ``v`` has the diagonal entry ``h = c v`` of the Hessian, a
standard error of ``1 / sqrt(n h)``, and a penalty ``lam`` leaves ``h / (h + lam)`` of its effect. An effect of ``b`` is
drawn to 0 by less than its standard error where ``lam <= h t / (1 - t)``, with ``t = 1 / (b sqrt(n h))``; for a rare
level, whose ``h`` is small, a penalty that is nothing to other columns can be all there is. Other columns are left out
of ``h``, so it is an upper bound and what is said of the penalty is the least that it does: on Adult the offered 1e-4
leaves 11 of 73 coefficients, of marital status and relationship above all, more than two standard errors from the fit
without a penalty. Public rows do not show that: there, levels are as common as they are rare among the private rows.
"""

import math
from dataclasses import dataclass

import numpy as np

from pmtcore.base.messages import Note, TableNote
from pmtcore.glm.families import GAUSSIAN
from pmtcore.public.moments import INTERCEPT, PublicData

# Share of an effect below which the penalty has more to say of a coefficient than the rows.
_HALF = 0.5
# Digits of a suggested penalty: the next smaller of these times a power of ten.
_ROUND = (5.0, 2.0, 1.0)


@dataclass(frozen=True)
class StrongestShrinkage:
    """The coefficient that a penalty draws to 0 the most.

    Attributes:
        column: its name.
        remaining: share of its effect that the penalty leaves, at most.
        penalty: the largest round penalty that draws no coefficient by more than its standard error.
        count: coefficients that the penalty of the problem draws by more.
        total: coefficients that it draws at all.
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
        """Return what to say of the penalty of the problem."""
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
    """Return what the penalty of the problem does to the coefficient that it draws the most, from public rows alone.

    An effect is one on the scale of the linear predictor: for a column of zeros and ones between its two values, for
    others over one standard deviation.

    Args:
        public: rows with the penalty of the problem.
        n: private rows.

    Returns:
        None where there is no penalty or are no rows, or where the penalty decides no coefficient: it leaves at least
        half of each effect, or draws none by more than its standard error.
    """
    if public.family is GAUSSIAN or public.rows is None or public.lam == 0:
        return None
    x, y = public.rows[:, :-1], public.rows[:, -1]
    variance = np.var(x, axis=0)
    at = [j for j, name in enumerate(public.names) if name != INTERCEPT and variance[j] > 0]
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
    if np.all(penalties <= allowed) or remaining >= _HALF:
        return None
    offer, drawn = _round_down(float(allowed.min())), int(np.sum(penalties > allowed))
    return StrongestShrinkage(public.names[at[strongest]], remaining, offer, drawn, len(at), public.lam)


def _round_down(value: float) -> float:
    """Return the next smaller of 1, 2 and 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return float(f"{next(digit for digit in _ROUND if digit * power <= value) * power:g}")
