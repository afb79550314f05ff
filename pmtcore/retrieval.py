"""A budget's parts in objective perturbation: noise, Jacobian, and what is retrieved (D, Prop. 6; maths.md, 15).

D plans ``r eps`` for the noise and ``(1 - r) eps`` for the change of the Jacobian. What the Jacobian really costs is
a public number, ``log(1 + B R^2/w)`` or nothing from ``w >= 2 R^2/eps`` on (replace-one), when the modulus w comes
from public weights: so the rest is retrieved before a private row is read, with a proof (errata E9 to E13).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

from pmtcore.checks import number_between, one_of
from pmtcore.ledger import Account

CHOICES = ("recycle", "return")
SLOPE = 0.25  # b'' of a logistic loss is at most this


@final
@dataclass(frozen=True)
class Split:
    """Where a planned pure epsilon goes.

    Attributes:
        planned: epsilon in all.
        noise: what the noise is drawn at.
        jacobian: what the Jacobian costs.
        retrieved: of the Jacobian's planned share, not needed.
        total: the guarantee: planned if recycled, less if returned.
    """

    planned: float
    noise: float
    jacobian: float
    retrieved: float
    total: float


def split(planned: float, share: float, factor: float, choice: str) -> Split:
    """The parts of a planned epsilon.

    Args:
        share: r, planned for the noise.
        factor: the modulus in units of ``2 R^2/eps``, the least at which the Jacobian is free.
        choice: ``recycle`` the retrieved part into less noise, or ``return`` it as a smaller guarantee; chosen
            before a private row is read.
    """
    number_between("epsilon", planned, 1e-6, 500.0)
    number_between("share", share, 0.01, 0.99)
    number_between("modulus", factor, 1e-9, 1e9)
    one_of("retrieved budget", choice, CHOICES)
    cost = 0.0 if factor >= 1 else math.log1p(SLOPE * planned / (2 * factor))
    room = (1 - share) * planned
    cost = min(cost, planned * (1 - 1e-9))
    retrieved = max(room - cost, 0.0)
    if choice == "recycle":
        return Split(planned, planned - cost, cost, retrieved, planned)
    noise = min(share * planned, planned - cost)
    return Split(planned, noise, cost, retrieved, noise + cost)


def retrieved(account: Account) -> float:
    """Epsilon that the releases of an account retrieved, in all."""
    records = [entry.record for entry in account.entries if entry.record is not None]
    return math.fsum(float(record["public"].get("retrieved_epsilon", 0.0)) for record in records)
