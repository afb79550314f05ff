"""Predicted bands of a study by the number of sites and of colluders, from public figures alone; free."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pmtcore.accounting.budgets import MU_RANGE
from pmtcore.public.moments import PublicData
from pmtcore.releases.planning import predict_method

COUNTS = (2, 3, 5, 10, 30)  # numbers of sites in the chart


@dataclass(frozen=True)
class Prospect:
    """One predicted 95 % half-width of a coefficient.

    Attributes:
        sites: how many answer.
        rows: mean number of rows of a site.
        who: what the noise allows for: ``nobody`` colludes, ``one`` site may, ``all`` other sites may; or ``alone``, a
            release of one site; or ``local``, noise on every row.
    """

    sites: int
    rows: float
    who: str
    half_width: float


def noise_mus(mu: float, rows: float, sites: int) -> dict[str, float]:
    """Return the mu of the noise on the total, by who may collude (proofs/sites.md, 1).

    ``local`` is the limit in which every row is a site and all others may collude: its noise alone keeps the budget.
    """
    mus = {"nobody": mu, "one": mu * math.sqrt(1 - 1 / sites), "all": mu / math.sqrt(sites)}
    return {**mus, "local": max(mu / math.sqrt(rows * sites), MU_RANGE[0])}


def prospects(
    public: PublicData, rows: Sequence[int], id: str, mu: float, *, coefficient: int, counts: Sequence[int] = COUNTS
) -> list[Prospect]:
    """Return predictions for each site alone, for all of them, and for other numbers of sites of their mean size.

    No private row is read.

    Args:
        public: the study's public data.
        rows: of each site.
        id: of the method.
        mu: total budget.
        coefficient: its place among the public names.
        counts: other numbers of sites.

    Raises:
        InputError: the method predicts nothing from these public data.
    """
    drawn = [Prospect(1, own, "alone", predict_method(public, own, id, mu).half_width(coefficient)) for own in rows]
    mean = sum(rows) / len(rows)
    for sites in sorted({*counts, len(rows)}):
        for who, noise_mu in noise_mus(mu, mean, sites).items():
            width = predict_method(public, round(mean * sites), id, noise_mu).half_width(coefficient)
            drawn.append(Prospect(sites, mean, who, width))
    return drawn
