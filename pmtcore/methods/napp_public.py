"""``napp-public`` and ``dp-erm``: objective perturbation in the units of the table, with and without public data.

* ``napp-public`` (``science.md`` 4.5): penalty ``sum_j v_j (theta_j - c_j)^2``, weights and centre from the *public*
  fit, ``v_j >= Lambda0`` for all j: public constants, so the Jacobian costs nothing and the share that D plans for it
  is retrieved with a proof; recycled into less noise, or returned as a smaller guarantee, by a choice made before a
  private row is read (errata E9 to E13 repaired). Purely epsilon-private noise by default.
* ``dp-erm`` (Kifer, Smith, Thakurta 2012; D, equation 2): ``b' theta + Lambda0 ||theta||^2``, the same in every
  coordinate, centred at 0, with the exact accounting of section 9.

Features are divided by their public root mean square, rows clipped at the longest public one. Neighbours:
replace-one. Proof: ``docs/maths.md``, sections 9 and 15.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from pmtcore.budgets import Budget, Neighbours
from pmtcore.checks import InputError
from pmtcore.glm import Clip
from pmtcore.local.randomizers import epsilon_for, mu_for
from pmtcore.moments import PublicData, joint
from pmtcore.newton import Rows
from pmtcore.noise import NoiseSource
from pmtcore.objective import Perturbation
from pmtcore.records import Private, PrivateRows, Standing
from pmtcore.registry import Method, Outcome, Parameters, Plan, parameter, register
from pmtcore.retrieval import Split, split

_SMALL = 0.05  # of the largest public coefficient: below, weights grow no further


@dataclass(frozen=True, kw_only=True)
class ErmParameters(Parameters):
    """Public parameters shared by both."""

    modulus: float = parameter(
        1.0, label="Modulus", help="In units of the least that privacy needs.", low=1.0, high=1e6, log=True
    )


@dataclass(frozen=True, kw_only=True)
class NoiseParameters(ErmParameters):
    """Public parameters of ``dp-erm``."""

    noise: str = parameter(
        "gaussian",
        label="Noise",
        help="gaussian: less at one mu; pure: epsilon-private, the epsilon that implies this mu.",
        choices=("gaussian", "pure"),
    )


@dataclass(frozen=True, kw_only=True)
class NappParameters(ErmParameters):
    """Public parameters of ``napp-public``."""

    gamma: float = parameter(
        0.0,
        label="Bridge exponent gamma",
        help="Weights grow as |public coefficient|^-gamma: 0 is ridge, 1 leans to the lasso.",
        low=0.0,
        high=1.9,
    )
    share: float = parameter(
        0.5,
        label="Share planned for the noise",
        help="r in the paper; the rest is planned for the Jacobian.",
        low=0.01,
        high=0.99,
    )
    retrieved: str = parameter(
        "recycle",
        label="Retrieved budget",
        help="recycle: less noise; return: a smaller guarantee. Chosen before a private row is read.",
        choices=("recycle", "return"),
    )


@final
@dataclass(frozen=True)
class ErmPlan(Plan):
    """Objective perturbation in scaled units of the table."""

    public: PublicData
    n: int
    mu: float
    scale: np.ndarray
    mechanism: Perturbation
    budget: Split | None = None

    def measure(self, rows: PrivateRows) -> Private[Rows]:
        """Scaled and clipped rows, labels clipped to 0 and 1, private."""
        clip = Clip(self.mechanism.radius)
        found = rows.concatenate(lambda x, y: joint(x / self.scale, np.clip(y, 0.0, 1.0)))
        return found.map(lambda z: clip.apply(z[:, :-1], z[:, -1]))

    def perturb(self, statistic: Private[Rows], source: NoiseSource, trials: int) -> ErmOutcome:
        """The release.

        Guarantee: mu-GDP under replace-one; purely epsilon-private where the noise is (maths.md, 9.1 and 15).
        """
        return ErmOutcome(self, self.mechanism.release(statistic, source, trials))

    def facts(self) -> Mapping[str, Any]:
        """Radius, noise, modulus, and where the budget went."""
        facts: dict[str, Any] = {
            "radius": self.mechanism.radius,
            "noise_sd": self.mechanism.noise / self.n,
            "modulus": self.mechanism.modulus / self.n,
            "penalty": self.public.lam,
        }
        if self.mechanism.pure:
            facts |= {"pure_epsilon": self.mechanism.epsilon, "gaussian_mu": self.mechanism.gaussian_mu}
        if self.budget is not None:
            facts |= {
                "planned_epsilon": self.budget.planned,
                "noise_epsilon": self.budget.noise,
                "jacobian_epsilon": self.budget.jacobian,
                "retrieved_epsilon": self.budget.retrieved,
            }
        return facts


@final
class ErmOutcome(Outcome):
    """Released minimizers (trials, d)."""

    def __init__(self, plan: ErmPlan, minimizer: np.ndarray) -> None:
        self.plan = plan
        self.minimizer = minimizer

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Coefficients (trials, d) in the units of the table."""
        return np.asarray(self.minimizer / self.plan.scale)

    def seen(self) -> np.ndarray:
        """The released minimizers."""
        return self.minimizer

    def notes(self) -> tuple[str, ...]:
        """What came back of the budget; it has no bands."""
        found = ["This method has no error bands; pmt-objective has."]
        budget = self.plan.budget
        if budget is not None:
            way = "recycled into less noise" if budget.total >= budget.planned else "returned: the guarantee is smaller"
            found.append(f"Retrieved budget: epsilon {budget.retrieved:.3g} of {budget.planned:.3g}, {way}.")
        return tuple(found)


def scaled_mechanism(
    public: PublicData, n: int, mu: float, modulus: float = 1.0, **more: Any
) -> tuple[np.ndarray, Perturbation]:
    """Public root mean squares (d,), and the mechanism on features divided by them.

    Raises:
        InputError: no public rows to take bounds from.
    """
    if public.rows is None:
        raise InputError("Objective perturbation in table units needs public rows for its bounds.")
    scale = np.sqrt(np.maximum(np.diag(public.moment)[: public.d], 1e-300))
    radius = float(np.max(np.linalg.norm(public.rows[:, :-1] / scale, axis=1)))
    free = np.ones(public.d)
    free[0] = 0.0 if public.has_intercept else 1.0
    penalty = public.lam * np.diag(free / scale**2)
    fields: dict[str, Any] = {"centre": np.zeros(public.d)} | more
    return scale, Perturbation(public.family, n, radius, 1.0, mu, penalty, extra=modulus, **fields)


def _dp_erm(public: PublicData, n: int, budget: Budget, parameters: NoiseParameters) -> ErmPlan:
    pure = parameters.noise == "pure"
    scale, mechanism = scaled_mechanism(public, n, budget.mu, parameters.modulus, pure=pure)
    return ErmPlan(public, n, budget.mu, scale, mechanism)


def _napp_public(public: PublicData, n: int, budget: Budget, parameters: NappParameters) -> ErmPlan:
    parts = split(epsilon_for(budget.mu), parameters.share, parameters.modulus, parameters.retrieved)
    mu = min(mu_for(parts.total), budget.mu)
    scale = np.sqrt(np.maximum(np.diag(public.moment)[: public.d], 1e-300))
    centre = public.fit * scale
    size = np.maximum(np.abs(centre), _SMALL * max(float(np.max(np.abs(centre))), 1e-300))
    weights = (float(np.max(size)) / size) ** parameters.gamma
    scale, mechanism = scaled_mechanism(public, n, mu, parameters.modulus, centre=centre, weights=weights, pure=True)
    return ErmPlan(public, n, mu, scale, mechanism, parts)


_COMMON: dict[str, Any] = {
    "task": "glm",
    "neighbours": Neighbours.REPLACE_ONE,
    "standing": Standing.SOUND,
    "families": ("logistic", "boosting"),
}

register(
    Method(
        id="dp-erm",
        title="Objective perturbation",
        summary="Noise in the objective, an extra ridge in every coordinate, rows as they are.",
        source="Kifer et al. 2012; D, equation 2",
        standing_reason="one perturbed objective with a public modulus",
        errata=("E18",),
        parameters=NoiseParameters,
        plan=_dp_erm,
        needs_labels=False,
        colour="#777777",
        **_COMMON,
    )
)
register(
    Method(
        id="napp-public",
        title="Objective perturbation with retrieved budget",
        summary="Weights and centre from the public fit; the Jacobian is free, so its share comes back, with a proof.",
        source="D, repaired; beyond D",
        standing_reason="the modulus comes from public weights, so what is retrieved is known beforehand",
        errata=("E8", "E9", "E10", "E12", "E13"),
        parameters=NappParameters,
        plan=_napp_public,
        colour="#332288",
        **_COMMON,
    )
)
