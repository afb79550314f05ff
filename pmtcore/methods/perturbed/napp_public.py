"""``dp-erm`` and ``napp-public``: one perturbed objective for five losses, with and without public data.

    minimize  sum l(theta; x, y) + n lam ||theta||^2/2 + b' theta + sum_j v_j (theta_j - c_j)^2 + Lambda |theta|_1

* ``dp-erm`` (Kifer, Smith, Thakurta 2012; D, equation 2): v the same in every coordinate, c = 0, noise at the share r
  of the budget; the rest pays for the Jacobian and nothing is retrieved.
* ``napp-public`` (proofs/erm.md, 15.6): v and c from the *public* fit. The Jacobian's cost is then a public number, and
  what it leaves of its share is retrieved with a proof: recycled into less noise, or returned as a smaller guarantee,
  by a choice made before a private row is read (errata E9, E10, E12, E13 repaired; E14: a lasso is a lasso, not an
  iteration).

Pure noise is spherical with ``||b||`` of shape d (E8) and spends the epsilon that implies the budget's mu; Gaussian
noise is accounted as mu-GDP (decision 0014). Responses are clipped and losses continued linearly (E17). Neighbours:
replace-one. Proofs: ``docs/proofs/erm.md``, 15.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pmtcore.accounting.budgets import Budget, Neighbours, Spend, mu_from_pure_epsilon, pure_epsilon_from_mu
from pmtcore.accounting.gdp import Gdp
from pmtcore.accounting.perturbed import CHOICES, ApproxDP
from pmtcore.base.messages import Note, ReleaseNote
from pmtcore.base.strict_json import Json
from pmtcore.glm.losses import Loss
from pmtcore.mechanisms.minimizer import LossSums
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.perturbed import Budgeted, Mechanism, dp_erm, napp_public
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters, choice, noise_share, parameter, penalty, reporting_delta
from pmtcore.methods.perturbed.setting import COORDINATES, PerturbedPlan, Setting, bound_field, loss_field, setting
from pmtcore.methods.registry import Method, Origin, StatisticOutcome, sound
from pmtcore.public.moments import PublicData
from pmtcore.public.penalized import best_weights

_MOST_EPSILON = 500.0  # a larger epsilon protects nothing
FAMILIES = ("gaussian", "logistic", "poisson", "boosting")


def _coordinates(start: str) -> str:
    return parameter(
        start,
        "Coordinates",
        "whitened: by the public moment; scaled: columns by their public root mean square, which a lasso needs.",
        choices=COORDINATES,
    )


class ErmParameters(Parameters):
    """Public parameters of both."""

    noise: str = choice(
        "Noise",
        gaussian="mu-GDP, less noise at one mu",
        pure="epsilon-private, at the epsilon that implies this mu",
    )
    loss: str = loss_field()
    bound: float = bound_field(
        "Residuals (linear) beyond it count linearly; counts (Poisson) are clipped to it. Labels need none."
    )
    coordinates: str = _coordinates("scaled")
    ridge: float = penalty("Target ridge", "On the sum of losses, in these coordinates.", high=1e12)
    lasso: float = penalty(
        "Target lasso",
        "On the sum of losses, in scaled coordinates; with a target ridge an elastic net. Not on the intercept.",
        high=1e12,
    )
    share: float = noise_share("Share planned for the noise (r)", "The rest is planned for the Jacobian.")
    delta: float = reporting_delta(
        1e-6,
        "Delta of the parts",
        "Where the parts of a Gaussian budget are stated as epsilon; no parameter of the mechanism.",
    )


class NappParameters(ErmParameters):
    """Public parameters of ``napp-public``."""

    coordinates: str = _coordinates("whitened")
    gamma: float = parameter(
        0.0,
        "Bridge exponent gamma",
        "Weights grow as |public coefficient|^-gamma: 0 is ridge, 1 leans to the lasso.",
        low=0.0,
        high=1.9,
    )
    modulus: float = penalty(
        "Least weight (0: automatic)",
        "In units of Lambda0 = zeta3/epsilon; automatic: the least predicted error.",
        automatic="modulus",
    )
    retrieved: str = parameter(
        "recycle",
        "Retrieved budget",
        "recycle: less noise; return: a smaller guarantee. Chosen before a private row is read.",
        choices=CHOICES,
    )


@dataclass(frozen=True)
class ErmPlan(PerturbedPlan):
    """A perturbed objective with everything public fixed.

    Attributes:
        build: the mechanism of another guarantee, for comparisons in the lab.
    """

    n: int
    mu: float
    mechanism: Mechanism
    build: Callable[[Budgeted], Mechanism] = field(repr=False, compare=False)

    def release(self, prepared: LossSums[Loss], source: NoiseSource, trials: int) -> ErmOutcome:
        """Return released minimizers.

        Guarantee: mu-GDP under replace-one; with pure noise epsilon-private, which is more (proofs/erm.md, 15.2 to
        15.5).
        """
        return ErmOutcome(self, self.mechanism.release(prepared, self.n, source, trials))

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends of the perturbed objective and of the noise that covers its distance to the optimum."""
        return self.mechanism.parts(self.n)

    def facts(self) -> Facts:
        """Return bounds, noise, modulus, and where the budget went."""
        m, split = self.mechanism, self.mechanism.split
        return Facts(
            radius=m.terms.radius,
            noise_sd=m.noise.sd(len(m.ridge)) / self.n,
            penalty=self.setting.public.stated_penalty,
            prior_sd=self.setting.public.prior_sd,
            pure_epsilon=split.promise.epsilon if m.noise.pure else None,
            retrieved_epsilon=split.retrieved,
            more={
                "modulus": m.terms.modulus / self.n,
                "loss": m.terms.loss.title,
                "score_bound": m.terms.loss.score,
                "planned_epsilon": split.planned.epsilon,
                "noise_epsilon": split.noise_epsilon,
                "jacobian_epsilon": split.jacobian_epsilon,
                "parts_delta": split.planned.delta,
            },
        )

    @property
    def words(self) -> str:
        """Render the guarantee and the retrieved budget, in two sentences."""
        split = self.mechanism.split
        kind = "" if split.gdp is None else f"{split.gdp:.4g}-GDP; at one delta "
        guarantee = f"Guarantee: {kind}{split.promise.words}."
        if split.choice == "none":
            return f"{guarantee} Nothing is retrieved."
        way = "recycled into less noise" if split.choice == "recycle" else "returned: the guarantee is smaller by it"
        return f"{guarantee} Retrieved: epsilon {split.retrieved:.3g} of {split.planned.epsilon:.3g}, {way}."


class ErmOutcome(StatisticOutcome[ErmPlan]):
    """Released minimizers (trials, d)."""

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) in the units of the table."""
        return self.plan.setting.table(self.statistic)

    def released(self) -> dict[str, Json]:
        """Return the number of coefficients that are exactly 0, where there is a lasso."""
        if not np.any(self.plan.mechanism.lasso > 0):
            return {}
        return {"zeros": int(np.sum(self.statistic[0] == 0))}

    def notes(self) -> tuple[str, ...]:
        """Return the guarantee, the retrieved budget, and that there are no bands."""
        return (self.plan.words, Note(ReleaseNote.OTHERS_HAVE_BANDS))


def _budgeted(budget: Budget, parameters: ErmParameters) -> Budgeted:
    if parameters.noise == "gaussian":
        return Gdp(budget.mu, Neighbours.REPLACE_ONE, parameters.delta)
    return ApproxDP(_epsilon(budget), 0.0, Neighbours.REPLACE_ONE)


def _epsilon(budget: Budget) -> float:
    """Return the pure epsilon that implies the budget, or the largest one that still protects."""
    return min(pure_epsilon_from_mu(budget.mu), _MOST_EPSILON)


def _with_own(mechanism: Mechanism, ground: Setting, n: int) -> Mechanism:
    """Add the problem's own ridge to the mechanism's quadratic term, which can only increase the modulus."""
    problem_ridge = n * ground.penalty
    ridge = mechanism.ridge + problem_ridge
    return Mechanism(
        mechanism.terms, mechanism.split, ridge, mechanism.ridge * mechanism.centre / ridge, mechanism.lasso
    )


@Method(
    id="dp-erm",
    title="Objective perturbation",
    summary="Noise in the objective, an extra ridge in every coordinate; ridge, lasso or elastic net as target.",
    origin=Origin("Kifer et al. 2012; D, equation 2", names=("DP-ERM",), errata=("E8", "E17", "E18")),
    claim=sound("one perturbed objective with a public modulus and bounded scores", "erm", "minimizer"),
    behind_public_fit=("poisson",),
    colour="#6B4C3B",
    families=FAMILIES,
    needs_labels=False,
)
def _dp_erm(public: PublicData, n: int, budget: Budget, parameters: ErmParameters) -> ErmPlan:
    ground = setting(public, parameters.coordinates, parameters.loss, parameters.bound)

    def build(planned: Budgeted) -> Mechanism:
        mechanism = dp_erm(
            ground.loss,
            ground.radius,
            planned,
            public.d,
            share=parameters.share,
            ridge=parameters.ridge,
            lasso=ground.lasso_weights(parameters.lasso),
        )
        return _with_own(mechanism, ground, n)

    return ErmPlan(ground, n, budget.mu, build(_budgeted(budget, parameters)), build)


@Method(
    id="napp-public",
    title="Objective perturbation with retrieved budget",
    summary="Weights and centre from the public fit, so the Jacobian's cost is public and its share comes back.",
    origin=Origin("D, repaired; beyond D", errata=("E8", "E9", "E10", "E12", "E13", "E17", "E18")),
    claim=sound("the modulus comes from public weights, so what is retrieved is known beforehand", "erm", "minimizer"),
    has_floor=("poisson",),
    colour="#4A5FD0",
    families=FAMILIES,
)
def _napp_public(public: PublicData, n: int, budget: Budget, parameters: NappParameters) -> ErmPlan:
    ground = setting(public, parameters.coordinates, parameters.loss, parameters.bound, centred=True)
    fit = ground.fit()

    def build(planned: Budgeted) -> Mechanism:
        if parameters.modulus:
            unit = ground.loss.curvature * ground.radius**2 / _epsilon(budget)
            weights = parameters.modulus * unit * fit.weights(parameters.gamma)
        else:
            own = n * ground.penalty
            weights = best_weights(
                ground.loss, ground.radius, planned, n, public=fit, gamma=parameters.gamma, penalty=own
            )
        total, centre = weights + parameters.ridge, weights * fit.coefficients / (weights + parameters.ridge)
        mechanism = napp_public(
            ground.loss,
            ground.radius,
            planned,
            total,
            centre=centre,
            share=parameters.share,
            choice=parameters.retrieved,
            lasso=ground.lasso_weights(parameters.lasso),
        )
        return _with_own(mechanism, ground, n)

    mechanism = build(_budgeted(budget, parameters))
    mu = budget.mu
    if parameters.retrieved == "return":
        mu = min(mechanism.split.gdp or mu_from_pure_epsilon(mechanism.split.promise.epsilon), mu)
    return ErmPlan(ground, n, mu, mechanism, build)
