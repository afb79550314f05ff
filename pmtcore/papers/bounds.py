"""What the papers prove, as a page shows it: the bounds at a table's shape, a sentence, rows of a table."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import pandas as pd

from pmtcore.base.numbers import plural, rounded
from pmtcore.papers.theory import Bound, TheorySetting, bounds
from pmtcore.papers.theory_erm import noise_bounds, risk_bounds
from pmtcore.papers.theory_labels import label_bounds
from pmtcore.papers.theory_local import Rounds, radius_bound, scale_bounds, two_rounds

_TRIALS = 200  # quantiles at 95 % known well enough for a factor
_ROUNDS_DELTA = 1e-5  # one over the rows of its setting
_DELTA = 1e-3  # of paper D, section 4
_MOST_COLUMNS, _MOST_PRIVATE = 60, 10**12  # larger tables are shown at this shape


def shape(d: int, m: int | None, n: int) -> TheorySetting | None:
    """Return the setting with a table's shape; none where no theorem speaks of it."""
    columns = min(d, _MOST_COLUMNS)
    if m is None or min(m, n) <= columns:
        return None
    return TheorySetting(d=columns, m=min(m, 10**9), n=min(n, _MOST_PRIVATE))


@cache
def central(at: TheorySetting, mu: float) -> tuple[Bound, ...]:
    """Compute bounds of A and B for a linear problem; of public shapes and made-up rows, so they may be cached."""
    return bounds(TheorySetting(at.d, at.m, at.n, mu, at.eta, at.kappa_bar, at.lam), _TRIALS)


@cache
def others() -> tuple[Bound, ...]:
    """Compute bounds of A for logistic regression, of C and of D, at settings of their own."""
    return (
        *label_bounds(TheorySetting(n=20_000, mu=30.0), 10),
        radius_bound(),
        *scale_bounds(),
        *noise_bounds(1.0, _DELTA),
        *risk_bounds(),
    )


@cache
def rounds() -> Rounds:
    """Compute C's two-round variant, beside the public scores."""
    return two_rounds(_ROUNDS_DELTA)


def sentence(bounds: Sequence[Bound]) -> str:
    """Return how many hold and how loose those are, how many fail, and how many do not apply."""
    applying = [bound for bound in bounds if bound.applies]
    holding = [bound.looseness for bound in applying if bound.holds]
    words = f"{len(holding)} of {plural(len(bounds), 'bound')} {'holds' if len(holding) == 1 else 'hold'}"
    if holding:
        least, most = rounded(min(holding)), rounded(max(holding))
        words += f" ({least}{'' if least == most else f'–{most}'} times the measured error)"
    if failing := len(applying) - len(holding):
        words += f", {failing} {'fails' if failing == 1 else 'fail'}"
    if silent := len(bounds) - len(applying):
        words += f", {silent} {'does' if silent == 1 else 'do'} not apply"
    return f"{words}."


def table(bounds: Sequence[Bound]) -> pd.DataFrame:
    """Return one row for each bound."""
    return pd.DataFrame(
        {
            "from": [bound.source for bound in bounds],
            "bounds": [bound.words for bound in bounds],
            "proved": [bound.bound for bound in bounds],
            "measured": [bound.measured for bound in bounds],
            "times away": [bound.looseness for bound in bounds],
            "verdict": [bound.verdict for bound in bounds],
        }
    )
