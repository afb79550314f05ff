"""Do the private rows look like the public ones? A released Gram matrix against what public rows lead one to expect.

Where rows are alike, a moment of private rows in coordinates that whiten the public ones differs from what public rows
(each as if left out) lead one to expect only because the public rows are a sample, the private rows are one, and noise
was added. That is acted out on public rows alone (maths.md, 23), in the very coordinates and the ball of the release:
they stand for the population, which weights drawn anew make, all of them, however many. What is seen is then held
against what was acted out:

    T = sum over entries of (seen - mean)^2/variance,

scaled to the mean and the spread that T has when nothing is wrong. Everything is public but the released matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final
from weakref import WeakKeyDictionary

import numpy as np
from scipy.stats import chi2

from pmtcore.public.moments import PublicData
from pmtcore.public.radius import Ball

FALSE_ALARMS = 0.01  # planned; 0.05 and less measured, down to two public rows more than columns
_DRAWS, _WIDE = 200, 40  # a third of the draws where there are more columns than that
_MOST_SUMS = 1000  # sums of rows that are drawn with weights: their variance is known to 1 in sqrt(500)
_NUMBERS = 2**21  # of sums that are held at once: 16 MB
_LEAST_FREEDOM = 1.0  # degrees of freedom: no law has a heavier tail than one squared Gaussian


@final
@dataclass(frozen=True, eq=False)
class Acted:
    """Weighted Gram matrices that alike rows would release, without noise: (draws, entries), upper triangles."""

    moments: np.ndarray
    diagonal: np.ndarray  # (entries,), whether an entry is on the diagonal

    def test(self, gram: np.ndarray, noise: float) -> float:
        """The chance (p-value) of a difference like that of a released matrix (d, d) where rows are alike.

        Args:
            noise: variance on an entry off the diagonal; twice that on it.
        """
        own = noise * np.where(self.diagonal, 2.0, 1.0)
        middle = np.mean(self.moments, axis=0)
        variance = np.var(self.moments, axis=0, ddof=1) + own + 1e-300
        seen = float(np.sum((gram[np.triu_indices(len(gram))] - middle) ** 2 / variance))
        rng = np.random.default_rng(0)
        noisy = self.moments + np.sqrt(own) * rng.standard_normal(self.moments.shape)
        acted = np.sum((noisy - middle) ** 2 / variance, axis=1)
        mean, spread = float(np.mean(acted)), float(np.var(acted, ddof=1))
        freedom = max(2 * mean**2 / max(spread, 1e-300), _LEAST_FREEDOM)
        smooth = float(chi2.sf(seen / mean * freedom, freedom))
        counted = (1 + int(np.sum(acted >= seen))) / (1 + len(acted))
        return max(smooth, counted) if counted > 1 / (1 + len(acted)) else min(smooth, counted)


_CACHE: WeakKeyDictionary[PublicData, dict[tuple[Ball, int], Acted]] = WeakKeyDictionary()  # public figures only


def acted(public: PublicData, ball: Ball, n: int) -> Acted:
    """What n alike private rows, truncated to the ball, would show of the Gram matrix.

    Raises:
        ValueError: no public rows.
    """
    rows = public.whitened
    if rows is None or public.m is None:
        raise ValueError("public rows are needed")
    kept = _CACHE.setdefault(public, {})
    if (ball, n) not in kept:
        freedom = max(public.m - public.whitened_columns - 1, 1.0)
        kept[ball, n] = _act(rows, ball, 1 / freedom + 1 / n, freedom)
    return kept[ball, n]


def _act(rows: np.ndarray, ball: Ball, doubt: float, freedom: float) -> Acted:
    """Draw Gram matrices of the law that alike rows have, around the mean of all public rows.

    With weights ``1 + w g_i``, g standard Gaussian, a draw is the mean plus ``w sum_i g_i v_i``; many rows are first
    added up, with random signs, to :data:`_MOST_SUMS` sums S_b. Then ``sum_b g_b S_b`` has the same mean, and in
    expectation over the signs the same covariance ``sum_i v_i v_i'``, rare rows included.

    Args:
        rows: public rows (m, d + 1), whitened as if left out.
        doubt: variance of a mean of rows, in units of one row's; ``freedom``: how well few rows know even that.
    """
    rng, m, d = np.random.default_rng(0), len(rows), rows.shape[1] - 1
    upper = np.triu_indices(d)
    draws = _DRAWS if d <= _WIDE else _DRAWS // 3
    wide = np.sqrt(doubt * freedom / rng.chisquare(freedom, draws) / m)
    z, inside = rows[:, :d], ball.weights(rows)
    signs = rng.choice([-1.0, 1.0], m)
    found = np.zeros((draws, len(upper[0])))
    parts = np.array_split(rng.permutation(m), min(m, _MOST_SUMS))
    at_once = 1 + _NUMBERS // len(upper[0])
    for start in range(0, len(parts), at_once):
        some = parts[start : start + at_once]
        sums = np.array([((z[part] * (inside * signs)[part, None]).T @ z[part])[upper] for part in some])
        found += rng.standard_normal((draws, len(some))) @ sums
    middle = ((z * inside[:, None]).T @ z / m)[upper]
    return Acted(middle + found * wide[:, None], upper[0] == upper[1])


def words(chance: float) -> str | None:
    """The verdict in words; ``None`` where nothing speaks against rows being alike."""
    if chance >= FALSE_ALARMS:
        return None
    return (
        "The private rows do not look like the public ones: the released Gram matrix of the features differs from "
        f"theirs by more than chance and noise explain (in fewer than {_share(chance)} releases of alike rows). The "
        "public fit may be that of another population; check how its sample was taken, and the units of its columns."
    )


def _share(chance: float) -> str:
    return "one in a hundred" if chance > 1e-3 else "one in a thousand" if chance > 1e-6 else "one in a million"
