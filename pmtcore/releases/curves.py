"""Prediction curves: every method at a ladder of budgets, computed once per table; a slider only reads them.

A displayed figure is never interpolated: the ladder's rungs are budgets that people name, and any other budget
that is asked for is computed and stored. Only the reverse question is interpolated between rungs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from pmtcore.base.messages import InputError
from pmtcore.base.steps import Steps
from pmtcore.methods.registry import recommended, suiting
from pmtcore.public.moments import PublicData
from pmtcore.releases.planning import Planned, index, may_be_planned, planned

# About four rungs an octave of use, from where nothing can be had to where nothing is protected.
LADDER = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
# Budget at which a method is tried first, to learn whether it predicts at all.
_FIRST_MU = 1.0
# Rungs that give every method a line across the picture before the ones between are computed. Ample budgets wait:
# there some methods make more passes, which are rehearsed anew.
_OUTLINE = (0.1, 2.0)


class Curves(Steps):
    """Predicted errors of all sound methods that predict, computed in steps from public figures and n alone.

    A budget that is asked for after a stop is still computed.

    Args:
        public: the public side.
        n: number of private rows.
        ladder: budgets.
    """

    def __init__(self, public: PublicData, n: int, ladder: Iterable[float] = LADDER) -> None:
        self.public, self.n = public, n
        self.ladder = tuple(sorted(ladder))
        best = recommended(public).id
        candidates = [entry for entry in suiting(public) if may_be_planned(entry)]
        self._candidates = sorted(candidates, key=lambda entry: entry.id != best)
        self._found: dict[tuple[str, float], Planned] = {}
        self._refused: set[str] = set()
        self._work = [(e.id, _FIRST_MU) for e in self._candidates]
        outline = [mu for mu in _OUTLINE if mu in self.ladder]
        self._work += [(e.id, mu) for mu in outline for e in self._candidates]
        self._work += [(e.id, mu) for e in self._candidates for mu in self.ladder if mu not in (_FIRST_MU, *outline)]
        self._steps = len(self._work)

    @property
    def ids(self) -> list[str]:
        """Return the methods known to predict, the recommended one first."""
        return [entry.id for entry in self._candidates if (entry.id, _FIRST_MU) in self._found]

    @property
    def share(self) -> float:
        """Return the share of the work that is done."""
        return 1 - len(self._work) / self._steps if self._steps else 1.0

    def _advance(self) -> None:
        """Compute one rung of one method."""
        id, mu = self._work.pop(0)
        if id not in self._refused and (id, mu) not in self._found:
            self._try(id, mu)

    def known(self) -> bool:
        """Return True where every method has been tried once, so that :attr:`ids` is complete."""
        return not any(mu == _FIRST_MU for _, mu in self._work)

    def outlined(self) -> bool:
        """Return True where every method that predicts has a line across the picture."""
        return self.known() and not any(mu in _OUTLINE and id not in self._refused for id, mu in self._work)

    def first(self, id: str) -> None:
        """Try this method at once, where it is one of the candidates."""
        if any(entry.id == id for entry in self._candidates) and id not in self._refused:
            self._try(id, _FIRST_MU)

    def at(self, id: str, mu: float) -> Planned:
        """Return the prediction of one method at one budget, exact; it is stored.

        Raises:
            InputError: the method has no prediction for these public data.
        """
        if (id, mu) not in self._found:
            self._found[id, mu] = planned(self.public, self.n, id, mu)
        return self._found[id, mu]

    def at_budget(self, mu: float) -> list[Planned]:
        """Return the predictions of all methods at this budget that are computed already."""
        return [one for one in self.drawn() if one.mu == mu]

    def drawn(self) -> list[Planned]:
        """Return all predictions so far, by method and budget."""
        order = {entry.id: at for at, entry in enumerate(self._candidates)}
        predictions = [self._found[key] for key in sorted(self._found, key=lambda key: (order.get(key[0], 99), key[1]))]
        return [one for one in predictions if one.method not in self._refused]

    def budget_for(self, id: str, coefficient: str, half_width: float) -> float | None:
        """Return the smallest total budget for a 95 % half-width, interpolated between rungs on log axes.

        ``None`` where the last rung is not enough. A width that the first rung already has gives the first rung.
        """
        j = index(self.public, coefficient)
        curve = [(one.mu, one.half_width(j)) for one in self.drawn() if one.method == id]
        for (below, wide), (mu, width) in zip([(0.0, math.inf), *curve], curve, strict=False):
            if width <= half_width:
                if not math.isfinite(wide) or wide <= width or below == 0:
                    return mu
                share = math.log(wide / half_width) / math.log(wide / width)
                return below * (mu / below) ** share
        return None

    def _try(self, id: str, mu: float) -> None:
        try:
            self.at(id, mu)
        except InputError:
            self._refused.add(id)
