"""``napp-erm``, ``napp-vs``, ``napp-vs-plus``: paper D as printed, for the lab (E8, E11 to E13).

Algorithm 1 and section 3.5 in the exact limit of many augmented rows; ``||b||`` has shape d (E8), the budget is read
as a pure epsilon under add-remove-one. Weights from the private fit, and the support of the selection, break the
claim, so nothing here may be released. Features are divided by their public root mean square, rows clipped at the
longest public one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, final

import numpy as np

from pmtcore.budgets import Budget, Neighbours
from pmtcore.glm import Clip
from pmtcore.local.randomizers import epsilon_for
from pmtcore.methods.napp_public import ErmPlan, scaled_mechanism
from pmtcore.moments import PublicData, joint
from pmtcore.napp import REGULARIZERS, Target, limit, retrieved_as_printed
from pmtcore.newton import Rows
from pmtcore.noise import NoiseSource
from pmtcore.records import Curator, Private, PrivateRows, Standing
from pmtcore.registry import Method, Outcome, Parameters, Plan, parameter, register

_LAB = Curator("paper D as printed: lab only")
_SLOPE = 0.25


@dataclass(frozen=True, kw_only=True)
class PrintedParameters(Parameters):
    """Public parameters of paper D's methods."""

    regularizer: str = parameter("lasso", label="Regularizer", help="The target.", choices=REGULARIZERS)
    target: float = parameter(
        1.0, label="Lambda", help="Of the target regularizer, on the sum of losses.", low=0.0, high=1e9, log=True
    )
    gamma: float = parameter(0.5, label="Bridge exponent gamma", help="Of the bridge.", low=0.0, high=1.9)
    share: float = parameter(
        0.5, label="Share of the noise (r)", help="The rest is for the Jacobian.", low=0.01, high=0.99
    )
    moor: str = parameter(
        "yes", label="MOOR", help="The larger of both weights, not their sum (Claim 2).", choices=("yes", "no")
    )
    weights: str = parameter(
        "repaired",
        label="Weights",
        help="repaired: realizes Lambda; printed: 2/(2 - gamma) times it (E14).",
        choices=("repaired", "printed"),
    )
    iterations: int = parameter(20, label="Iterations", help="Of the weights.", low=1, high=500)


@final
@dataclass(frozen=True)
class PrintedPlan(Plan):
    """Paper D's algorithm with everything fixed but what it takes from the private fit."""

    inner: ErmPlan
    mu: float
    target: Target
    epsilon: float
    selection: str
    parameters: PrintedParameters

    def measure(self, rows: PrivateRows) -> Private[Rows]:
        """Scaled and clipped rows, private."""
        clip, scale = Clip(self.inner.mechanism.radius), self.inner.scale
        found = rows.concatenate(lambda x, y: joint(x / scale, np.clip(y, 0.0, 1.0)))
        return found.map(lambda z: clip.apply(z[:, :-1], z[:, -1]))

    def perturb(self, statistic: Private[Rows], source: NoiseSource, trials: int) -> PrintedOutcome:
        """Guarantee: none. The claim is epsilon-DP; weights and support leak (E11, E12)."""
        m = self.inner.mechanism
        b = m.draw(source, trials) * (m.epsilon / 2) / (self.parameters.share * self.epsilon)  # zeta1 zeta2/(r eps)
        b = np.abs(b) if self.selection == "vs-plus" else b
        public = self.inner.public
        held = replace(self.target, least=self.target.least)
        theta = limit(public.family, statistic.reveal(_LAB), held, b, self.parameters.iterations, self.selection)
        return PrintedOutcome(self, theta)


@final
class PrintedOutcome(Outcome):
    """Last iterates (trials, d)."""

    def __init__(self, plan: PrintedPlan, theta: np.ndarray) -> None:
        self.plan = plan
        self.theta = theta

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients (trials, d) in the units of the table."""
        return np.asarray(self.theta / self.plan.inner.scale)

    def released(self) -> dict[str, Any]:
        """What the paper would give back (E13), and how many coefficients are zero."""
        back = retrieved_as_printed(self.plan.epsilon, self.plan.parameters.share, self.plan.target, self.theta[0])
        return {"retrieved_as_printed": back, "zeros": int(np.sum(np.abs(self.theta[0]) < 1e-6))}


def _planner(selection: str) -> Any:
    def plan(public: PublicData, n: int, budget: Budget, parameters: PrintedParameters) -> PrintedPlan:
        scale, mechanism = scaled_mechanism(public, n, budget.mu, pure=True)
        epsilon = epsilon_for(budget.mu)
        least = _SLOPE * mechanism.radius**2 / (2 * (1 - parameters.share) * epsilon)
        target = Target(
            parameters.regularizer,
            parameters.target,
            least,
            parameters.gamma,
            moor=parameters.moor == "yes",
            printed=parameters.weights == "printed",
        )
        return PrintedPlan(
            ErmPlan(public, n, budget.mu, scale, mechanism), budget.mu, target, epsilon, selection, parameters
        )

    return plan


_ALL = ("E8", "E9", "E10", "E12", "E13", "E14")
for _id, _title, _selection, _source, _errata in (
    ("napp-erm", "Noise-augmented objective (as published)", "none", "D, Algorithm 1", _ALL),
    ("napp-vs", "Private selection (as published)", "vs", "D, section 3.5, any b", ("E8", "E11", "E12", "E22")),
    ("napp-vs-plus", "Private selection, b > 0 (as published)", "vs-plus", "D, section 3.5", ("E8", "E11", "E12")),
):
    register(
        Method(
            id=_id,
            title=_title,
            summary="Weights iterated on the private fit; the target regularizer does double duty.",
            task="glm",
            source=_source,
            neighbours=Neighbours.ADD_REMOVE_ONE,
            standing=Standing.LAB,
            standing_reason="weights and support depend on the private fit (E11, E12), so the claim does not hold",
            errata=_errata,
            parameters=PrintedParameters,
            plan=_planner(_selection),
            families=("logistic", "boosting"),
            needs_labels=False,
            same_target=False,
            colour="#AA4499",
        )
    )
