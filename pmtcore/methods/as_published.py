"""Published methods whose constants are computed from private rows: for the lab (E4)."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pmtcore.accounting.budgets import Spend
from pmtcore.base.private_rows import Curator, Private, PrivateRows
from pmtcore.methods.registry import Mechanism, Plan, lab
from pmtcore.public.moments import private_joint_moment

_LAB = Curator("radius from private rows, as published (E4): lab only")

LEAKS = lab("the radius and the noise scale are computed from private rows without noise (E4)")


@dataclass(frozen=True)
class AsPublished(Plan):
    """A plan whose radius is computed from the private moment, and which is therefore not private.

    Args:
        mu: claimed budget.
        planner: function from the private joint moment (d + 1, d + 1) to the plan.
    """

    mu: float
    planner: Callable[[np.ndarray], Plan]

    def inner(self, rows: PrivateRows) -> Private[Plan]:
        """Return the plan from the exact moment of these rows, private."""
        return private_joint_moment(rows).map(lambda total: self.planner(total / rows.n))

    def mechanism_on(self, rows: PrivateRows) -> Mechanism:
        """Return the mechanism of the plan from these rows.

        Guarantee: none. The claim is mu-GDP; the radius leaks (E4).
        """
        return self.inner(rows).reveal(_LAB).mechanism_on(rows)

    def parts(self) -> tuple[Spend, ...]:
        """Return no spend: the private radius is released without noise (E4)."""
        return ()
