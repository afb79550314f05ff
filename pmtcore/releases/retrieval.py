"""Parts of a planned budget as the modulus grows, and the budget that an account's releases retrieved.

Proof: proofs/erm.md, 15.6.

These are the figures of D's Figure 7 and of the Retrieval page: planned, drawn as noise, spent on the Jacobian,
returned.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from pmtcore.accounting.budgets import Neighbours
from pmtcore.accounting.perturbed import CHOICES, ApproxDP, BudgetSplit, ObjectiveConstants, spend
from pmtcore.base.messages import InputError, ReleaseNote
from pmtcore.glm import losses
from pmtcore.glm.losses import Loss
from pmtcore.ledger.account import Account

LOSSES: dict[str, Loss] = {
    "logistic": losses.LOGISTIC,
    "boosting": losses.BOOSTING,
    "hinge": losses.HINGE,
    "linear": losses.linear(1.0),
    "poisson": losses.poisson(10.0, math.log(10.0)),
}
TITLES = {id: loss.title for id, loss in LOSSES.items()}
RELATIONS = {entry.value: entry for entry in Neighbours}
__all__ = ["CHOICES", "LOSSES", "RELATIONS", "TITLES", "BudgetSplit", "RetrievalPlan", "retrieved_epsilon"]


@dataclass(frozen=True)
class RetrievalPlan:
    """A planned budget; rows have length 1, so the modulus w is in units of the squared row bound.

    Attributes:
        loss: id of the loss.
        epsilon, delta: planned guarantee.
        relation: name of the neighbouring relation.
        share: r, planned for the noise.
        choice: use of the retrieved budget.
    """

    loss: str
    epsilon: float
    delta: float
    relation: str
    share: float
    choice: str

    @property
    def promise(self) -> ApproxDP:
        """Return the planned guarantee."""
        return ApproxDP(self.epsilon, self.delta, RELATIONS[self.relation])

    def at(self, modulus: float) -> BudgetSplit:
        """Split the budget at this modulus.

        Raises:
            InputError: a budget out of range, or a modulus whose Jacobian alone costs more.
        """
        return spend(ObjectiveConstants(LOSSES[self.loss], 1.0, modulus), self.promise, self.share, self.choice)

    def over_moduli(self, moduli: Sequence[float]) -> tuple[list[float], list[BudgetSplit]]:
        """Return moduli and splits, without the moduli whose Jacobian costs more than the budget."""
        return _affordable(self.at, moduli)

    def over_epsilon(self, epsilons: Sequence[float], modulus: float) -> tuple[list[float], list[BudgetSplit]]:
        """Return budgets and splits at one modulus, without the budgets that do not pay for its Jacobian."""
        return _affordable(lambda epsilon: replace(self, epsilon=epsilon).at(modulus), epsilons)

    @property
    def least(self) -> float:
        """Return D's ``2 Lambda0 = zeta3/((1 - r) eps)``, the unit in which moduli are given."""
        return LOSSES[self.loss].curvature / ((1 - self.share) * self.epsilon)

    def conversion(self, promise: ApproxDP) -> str:
        """Return the same guarantee under the other relation in words, or why there is none."""
        if promise.neighbours is Neighbours.ADD_REMOVE_ONE:
            other = promise.for_neighbours(Neighbours.REPLACE_ONE)
            return ReleaseNote.OTHER_RELATION.sentence(budget=_words(other))
        return ReleaseNote.NO_OTHER_RELATION.sentence()


def _affordable(
    split: Callable[[float], BudgetSplit], arguments: Sequence[float]
) -> tuple[list[float], list[BudgetSplit]]:
    """Return the arguments at which the budget pays for the Jacobian, with the splits there."""
    splits: dict[float, BudgetSplit] = {}
    for argument in arguments:
        with suppress(InputError):
            splits[argument] = split(argument)
    return list(splits), list(splits.values())


def _words(promise: ApproxDP) -> str:
    return f"epsilon = {promise.epsilon:.4g}" + (f", delta = {promise.delta:.3g}" if promise.delta else ", pure")


def retrieved_epsilon(account: Account) -> float:
    """Return the total epsilon that the releases of an account retrieved."""
    records = [entry.record for entry in account.entries if entry.record is not None]
    return math.fsum(float(record["public"].get("retrieved_epsilon", 0.0)) for record in records)
