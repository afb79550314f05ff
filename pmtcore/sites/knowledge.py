"""Who can learn what from a study: a typed record for each party, rendered in words last."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

from pmtcore.sites.study import Study


class Party(Enum):
    """Who looks at a study, in words."""

    OUTSIDERS = "the coordinator, and whoever reads all messages of the study"
    ONE_SITE = "one site that looks at what it received and takes its own noise off"
    COALITION = "{sites} sites that pool all they know with the coordinator"
    PERSON_IN_TWO_SITES = "anybody of these, about a person with rows at two sites"

    @property
    def code(self) -> str:
        """Return the name in records."""
        return self.name.lower().replace("_", "-")


@dataclass(frozen=True)
class Knowledge:
    """What a party can learn of one row: what mu-GDP leaves.

    Attributes:
        sites: how many sites are in the party.
        mu: infinite where nothing is promised.
    """

    party: Party
    sites: int
    mu: float

    @property
    def words(self) -> str:
        """Return the sentence."""
        who = self.party.value.format(sites=self.sites)
        if math.isinf(self.mu):
            return f"Nothing is promised against {who}."
        return f"Against {who} each row is protected as by mu = {self.mu:.4g}."

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        mu = None if math.isinf(self.mu) else self.mu
        return {"party": self.party.code, "sites": self.sites, "mu": mu, "words": self.words}


def knowledge(study: Study, *answering: int) -> tuple[Knowledge, ...]:
    """Return what each party can learn when so many sites answer, in each pass where these numbers differ."""
    known = [
        Knowledge(Party.OUTSIDERS, 0, study.mu_against(0, *answering)),
        Knowledge(Party.ONE_SITE, 1, study.mu_against(1, *answering)),
    ]
    if study.colluders > 1:
        known.append(Knowledge(Party.COALITION, study.colluders, study.mu_against(study.colluders, *answering)))
    # Two rows of a person: the guarantee of a group of two (mu adds up), against the declared coalition.
    known.append(Knowledge(Party.PERSON_IN_TWO_SITES, study.colluders, 2 * study.request.budget.mu))
    return tuple(known)
