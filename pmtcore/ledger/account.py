"""Accounts of the ledger: entries, and of each data set its cap, its spends and what is left.

Every method is mu-GDP under replace-one (a purely epsilon-private one through the mu that it implies), so caps are
kept by ``sqrt(sum mu_i^2)``; the epsilon of the total takes purely private releases as what they are. A budget stated
under add-remove-one counts twice (proofs/ledger.md, 13). A release that protects responses alone counts as any other,
and the total of a data set that has one is a promise about responses alone (proofs/response.md, 5).
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pmtcore.accounting.budgets import PERSON, Guarantee, Neighbours, Unit, compose
from pmtcore.accounting.mixed import mixed_epsilon
from pmtcore.base.release_record import ReleaseRecord

_ROOM = 1 + 1e-12  # a cap may be used up to rounding
CAP_RANGE = (1e-6, 1000.0)  # total mu
START_CAP = 3.0  # total mu where nobody chose: at 5 % false alarms the best attacker detects 91 %
_DELTA = 1e-6  # where totals are stated when no entry names a delta


def counted_mu(mu: float, neighbours: str) -> float:
    """Return a budget under replace-one, the relation of the caps: remove a row, then add one."""
    return 2 * mu if neighbours == Neighbours.ADD_REMOVE_ONE.value else mu


@dataclass(frozen=True)
class Entry:
    """One spend, with what became of it."""

    seq: int
    at: str
    dataset: str
    key: str
    method: str
    mu: float
    neighbours: str
    purpose: str
    request: Mapping[str, Any]
    state: str  # reserved, released, failed
    standing: str
    record: ReleaseRecord | None
    pure_epsilon: float = 0.0  # of a purely private part; then gaussian_mu is of the rest
    gaussian_mu: float = 0.0
    hash: str = ""  # of its event: a head that the log must pass through for ever
    choices: Mapping[str, Any] = field(default_factory=dict)  # about the table
    by: str = ""  # who released, where somebody is known

    @property
    def counted(self) -> float:
        """Return what it costs under replace-one: add-remove-one budgets count twice."""
        return counted_mu(self.mu, self.neighbours)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, the released record left out."""
        return {name: value for name, value in vars(self).items() if name not in ("record",)}


@dataclass(frozen=True)
class Account:
    """A data set's cap, spends and what is left; tables that overlap with it spend together with it."""

    dataset: str
    cap: float | None  # the smallest of all that spend together
    entries: tuple[Entry, ...]
    together: tuple[str, ...] = ()  # the other data sets
    retired: str = ""  # why nothing more may be spent
    units: tuple[Unit, ...] = ()  # what curators want people protected by
    second: bool = False  # whether a second person has to agree to each release

    @property
    def spent(self) -> float:
        """Return the total mu of all spends, whatever became of them."""
        return math.sqrt(math.fsum(entry.counted**2 for entry in self.entries))

    @property
    def left(self) -> float:
        """Return the largest single mu that the cap still allows."""
        return 0.0 if self.cap is None else math.sqrt(max(self.cap**2 - self.spent**2, 0.0))

    def total_with(self, counted: float) -> float:
        """Return the total mu with one more spend, under replace-one."""
        return math.hypot(self.spent, counted)

    def fits(self, counted: float) -> bool:
        """Return True where one more spend, under replace-one, stays within the cap, or where there is no cap yet."""
        return self.cap is None or self.total_with(counted) <= self.cap * _ROOM

    @property
    def neighbours(self) -> Neighbours:
        """Return the relation of the total: that of responses alone as soon as one spend protects no more."""
        relations = {entry.neighbours for entry in self.entries}
        responses = Neighbours.REPLACE_RESPONSE
        return responses if responses.value in relations else Neighbours.REPLACE_ONE

    def _mixed(self, delta: float) -> float:
        """Return the epsilon of all spends, with purely epsilon-private ones composed as such."""
        pure = [counted_mu(e.pure_epsilon, e.neighbours) for e in self.entries if e.pure_epsilon]
        if not pure:
            return math.inf
        rest = [counted_mu(e.gaussian_mu if e.pure_epsilon else e.mu, e.neighbours) for e in self.entries]
        return mixed_epsilon(compose(rest), pure, delta)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields, the total in all three units."""
        stated = [float(entry.request["delta"]) for entry in self.entries if entry.request.get("delta")]
        delta = min(stated, default=_DELTA)
        total = Guarantee(self.spent, self.neighbours, delta, PERSON)
        epsilon = min(total.epsilon, self._mixed(delta))
        return {
            "dataset": self.dataset,
            "cap": self.cap,
            "spent": {
                **{"mu": total.mu, "rho": total.rho, "epsilon": epsilon, "delta": delta},
                **({} if total.neighbours is Neighbours.REPLACE_ONE else {"neighbours": total.neighbours.value}),
            },
            "left": self.left,
            "together": list(self.together),
            "retired": self.retired,
            **({"units": [unit.as_dict() for unit in self.units]} if self.units else {}),
            **({"second_person": True} if self.second else {}),
            "entries": [entry.as_dict() for entry in self.entries],
        }
