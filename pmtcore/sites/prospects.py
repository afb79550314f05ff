"""What a study would find, from public figures alone: predicted bands by the number of sites and of colluders; free."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pmtcore.accounting.budgets import MU_RANGE
from pmtcore.public.moments import PublicData
from pmtcore.releases.planning import planned

COUNTS = (2, 3, 5, 10, 30)  # sites of a picture
# Predictions of a table that are kept: those of a dozen pictures.
_MOST_KEPT = 256
# Public figures only.
_CACHE: WeakKeyDictionary[PublicData, dict[tuple[int, str, float], tuple[float, ...]]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Prospect:
    """One predicted 95 % half-width of a coefficient.

    Attributes:
        sites: how many answer, with the same number of rows each.
        who: how the noise is sized: ``nobody`` colludes, ``one`` site may, ``all`` other sites may; or ``alone``, a
            site by itself; or ``local``, every row with noise of its own.
    """

    sites: int
    who: str
    half_width: float


def noise_mus(mu: float, rows: int, sites: int) -> dict[str, float]:
    """Return the mu of the noise on the total, by who may collude (proofs/sites.md, 1).

    ``local`` is the limit in which every row is a site and all others may collude: its noise alone keeps the budget.
    """
    mus = {"nobody": mu, "one": mu * math.sqrt(1 - 1 / sites), "all": mu / math.sqrt(sites)}
    return {**mus, "local": max(mu / math.sqrt(rows * sites), MU_RANGE[0])}


def prospects(
    public: PublicData, rows: int, id: str, mu: float, *, coefficient: int, counts: Sequence[int] = COUNTS
) -> list[Prospect]:
    """Return predictions for studies of sites with so many rows each; reads no private row.

    Args:
        public: the study's public data.
        rows: of each site.
        id: of the method.
        mu: total budget.
        coefficient: its place among the public names.
        counts: numbers of sites.

    Raises:
        InputError: the method predicts nothing from these public data.
    """
    drawn = [Prospect(1, "alone", _half_widths(public, rows, id, mu)[coefficient])]
    for sites in counts:
        for who, noise_mu in noise_mus(mu, rows, sites).items():
            width = _half_widths(public, rows * sites, id, noise_mu)[coefficient]
            drawn.append(Prospect(sites, who, width))
    return drawn


def _half_widths(public: PublicData, n: int, id: str, mu: float) -> tuple[float, ...]:
    """Return the predicted half-width of every coefficient; computed once for each table, size, method and budget.

    ``pmt-gradients`` acts its passes out on public rows at every decade of n mu, which takes a second or more.
    """
    predictions = _CACHE.setdefault(public, {})
    if (n, id, mu) not in predictions:
        if len(predictions) >= _MOST_KEPT:
            predictions.clear()
        made = planned(public, n, id, mu)
        predictions[n, id, mu] = tuple(made.half_width(j) for j in range(public.d))
    return predictions[n, id, mu]
