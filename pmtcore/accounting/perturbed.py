"""Cost of a perturbed objective: noise, Jacobian, and the retrieved budget (proofs/erm.md, 15.2 to 15.5).

A promise is (epsilon, delta) with its neighbouring relation, pure where delta is 0; conversions are functions of their
own and never happen silently. The cost of the Jacobian is public where the modulus is, so D's retrieved budget
(Prop. 6) becomes an equation that is solved before a private row is read (errata E9, E10, E13).

The last three functions follow proofs/objective.md, 9: the label fixes the sign of the score, or it does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import ndtr

from pmtcore.accounting.budgets import Neighbours, mu_from_epsilon, mu_of_checked_epsilon
from pmtcore.base.messages import AccountingMessage, InputError, number_between, one_of
from pmtcore.base.roots import root
from pmtcore.base.strict_json import Json
from pmtcore.glm.losses import Loss

CHOICES = ("recycle", "return")
# A smaller epsilon allows no useful release, a larger one protects nobody.
_EPSILON_RANGE = (1e-6, 500.0)
# Relative margin by which results are rounded to the private side.
_PRIVATE_MARGIN = 1e-12


@dataclass(frozen=True)
class ApproxDP:
    """(epsilon, delta)-privacy under a neighbouring relation; pure where delta is 0."""

    epsilon: float
    delta: float
    neighbours: Neighbours

    def __post_init__(self) -> None:
        number_between("epsilon", self.epsilon, 0.0, 1e6)
        number_between("delta", self.delta, 0.0, 1.0)

    @property
    def mu(self) -> float | None:
        """Return the mu that pure epsilon implies, ``2 Phi^{-1}(e^eps/(1 + e^eps))``; None where delta is not 0."""
        return mu_of_checked_epsilon(min(self.epsilon, 500.0)) if self.delta == 0 else None

    def for_neighbours(self, neighbours: Neighbours) -> ApproxDP:
        """Return the guarantee of the same release under another relation.

        Replacing a row is removing one and adding one: ``2 eps`` and ``(1 + e^eps) delta``. Adding a row is
        replacing an empty one only where n is hidden, so nothing follows the other way.

        Raises:
            InputError: from replace-one to add-remove-one.
        """
        if neighbours is self.neighbours:
            return self
        if neighbours is Neighbours.ADD_REMOVE_ONE:
            raise InputError(AccountingMessage.REPLACE_ONE_ONLY)
        return ApproxDP(2 * self.epsilon, min(1.0, (1 + math.exp(self.epsilon)) * self.delta), neighbours)

    @property
    def words(self) -> str:
        """Return the promise in one sentence."""
        kind = "pure" if self.delta == 0 else f"delta = {self.delta:g}"
        return f"epsilon = {self.epsilon:.4g}, {kind}, {self.neighbours.value}: {self.neighbours.words}"

    def as_dict(self) -> dict[str, Json]:
        """Return plain fields: both relations where both follow, and mu where it does."""
        record: dict[str, Json] = {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours.value,
            "mu": self.mu,
        }
        if self.neighbours is Neighbours.ADD_REMOVE_ONE:
            record["as_replace_one"] = self.for_neighbours(Neighbours.REPLACE_ONE).as_dict()
        return record


@dataclass(frozen=True)
class ObjectiveConstants:
    """Public constants of an objective.

    Attributes:
        loss: loss of one row.
        radius: zeta1, the bound on the length of a row.
        modulus: w, the modulus of strong convexity of all terms other than the data.
    """

    loss: Loss
    radius: float
    modulus: float

    def __post_init__(self) -> None:
        if not (self.radius > 0 and self.modulus > 0 and math.isfinite(self.radius) and math.isfinite(self.modulus)):
            raise ValueError("radius and modulus must be positive and finite")

    @property
    def gradient(self) -> float:
        """Return ``zeta1 zeta2``: the bound on the gradient of one row."""
        return self.radius * self.loss.score

    @property
    def kappa(self) -> float:
        """Return ``R^2/w``: one row's squared length over the modulus."""
        return self.radius**2 / self.modulus

    @property
    def plain(self) -> float:
        """Return ``log(1 + zeta3/w)``: the cost of the Jacobian for any loss."""
        return math.log1p(self.loss.curvature * self.kappa)


@dataclass(frozen=True)
class Noise:
    """Law of the noise b: density proportional to ``exp(-|b|/scale)``, or Gaussian.

    Attributes:
        pure: True for the first law.
        scale: its scale, or the standard deviation of the Gaussian.
    """

    pure: bool
    scale: float

    def sd(self, p: int) -> float:
        """Return the standard deviation of one coordinate in p dimensions."""
        return self.scale * math.sqrt(p + 1) if self.pure else self.scale


@dataclass(frozen=True)
class BudgetSplit:
    """Parts of a planned budget.

    Attributes:
        planned: the planned guarantee.
        share: r of D: planned for the noise; the rest is planned for the Jacobian.
        choice: use of the retrieved budget, ``recycle`` or ``return``.
        noise_epsilon: epsilon at which the noise is drawn.
        jacobian_epsilon: cost of the Jacobian.
        retrieved: planned cost of the Jacobian less its actual cost.
        promise: the guarantee: as planned if recycled, smaller if returned.
        noise: law of the noise.
        gdp: the mu of mu-GDP where that was proved directly; then the promise is its point at one delta.
    """

    planned: ApproxDP
    share: float
    choice: str
    noise_epsilon: float
    jacobian_epsilon: float
    retrieved: float
    promise: ApproxDP
    noise: Noise
    gdp: float | None = None

    @property
    def mu(self) -> float | None:
        """Return the mu that the release costs: proved directly, or implied by pure epsilon; else None."""
        return self.promise.mu if self.gdp is None else self.gdp

    @property
    def retrieved_share(self) -> float:
        """Return the retrieved part of the Jacobian's planned share (D, Figure 7)."""
        return self.retrieved / ((1 - self.share) * self.planned.epsilon)

    def as_dict(self) -> dict[str, Json]:
        """Return plain fields."""
        return {
            "planned_epsilon": self.planned.epsilon,
            "noise_epsilon": self.noise_epsilon,
            "jacobian_epsilon": self.jacobian_epsilon,
            "retrieved_epsilon": self.retrieved,
            "retrieved_share": self.retrieved_share,
            "choice": self.choice,
            "promise": self.promise.as_dict(),
            "mu": self.mu,
        }


def jacobian_cost(terms: ObjectiveConstants, noise_epsilon: float, neighbours: Neighbours, delta: float) -> float:
    """Return the Jacobian's cost: exact for labels, else ``log(1 + zeta3/w)`` (proofs/erm.md, 15.3)."""
    if not terms.loss.jacobian_is_free:
        return terms.plain
    if delta == 0:
        row_epsilon = noise_epsilon / 2 if neighbours is Neighbours.REPLACE_ONE else noise_epsilon
        return min(_label_cost(row_epsilon, terms.kappa), terms.plain)
    mu = _mu(terms, noise_epsilon, delta, neighbours, free_jacobian=True)
    limit = mu**2 / 2 if neighbours is Neighbours.REPLACE_ONE else noise_epsilon + mu**2 / 2
    return 0.0 if terms.kappa <= limit else terms.plain


def _label_cost(epsilon: float, kappa: float) -> float:
    """Return ``max over p of p eps + log(1 + p (1 - p) kappa)``, minus eps: 0 from ``kappa <= eps`` on."""
    if kappa <= epsilon:
        return 0.0
    # the derivative eps + (1 - 2p) kappa/(1 + p (1 - p) kappa) vanishes at the larger root of a quadratic
    a, b, c = -epsilon * kappa, (epsilon - 2) * kappa, epsilon + kappa
    p = min(max(2 * c / (-b + math.sqrt(b * b - 4 * a * c)), 0.0), 1.0)  # the form without cancellation
    return (p - 1) * epsilon + math.log1p(p * (1 - p) * kappa)


def _mu(
    terms: ObjectiveConstants, epsilon: float, delta: float, neighbours: Neighbours, *, free_jacobian: bool
) -> float:
    """Return the largest ``zeta1 zeta2/s`` at which Gaussian noise alone gives (epsilon, delta)."""
    replace = neighbours is Neighbours.REPLACE_ONE
    if terms.loss.signed and not replace:
        return mu_from_epsilon(epsilon, delta)
    if free_jacobian and terms.loss.jacobian_is_free:
        return mu_from_epsilon(epsilon, delta) / 2

    return _any_sign_mu(math.floor(epsilon * 1e9) / 1e9, delta, replace)


@lru_cache(maxsize=4096)
def _any_sign_mu(epsilon: float, delta: float, replace: bool) -> float:
    """Return the largest mu with ``delta_any_sign(epsilon, mu) <= delta``, rounded down."""

    def gap(log_mu: float) -> float:
        reached_delta = delta_any_sign(epsilon, math.exp(log_mu), 0.0, replace)
        return math.log(max(reached_delta, 1e-300)) - math.log(delta)

    return math.exp(root(gap, math.log(1e-6), math.log(1e3), xtol=1e-12)) * (1 - 1e-9)


def noise_for(
    terms: ObjectiveConstants, noise_epsilon: float, delta: float, neighbours: Neighbours, *, free_jacobian: bool
) -> Noise:
    """Return the least noise on the gradient that costs ``noise_epsilon`` (and delta).

    Args:
        terms: constants of the objective.
        noise_epsilon: epsilon of the noise.
        delta: 0 for pure noise.
        neighbours: neighbouring relation.
        free_jacobian: the Jacobian costs nothing.
    """
    if delta == 0:
        width = 2.0 if neighbours is Neighbours.REPLACE_ONE else 1.0
        return Noise(True, width * terms.gradient / noise_epsilon)
    return Noise(False, terms.gradient / _mu(terms, noise_epsilon, delta, neighbours, free_jacobian=free_jacobian))


def equation_4(terms: ObjectiveConstants, noise_epsilon: float, delta: float) -> Noise:
    """Return the noise of D, equation 4, for the lab, under add-remove-one.

    Gaussian ``sd^2 = 2 (zeta1 zeta2)^2 (r eps - log delta)/(r eps)^2``. The printed pure noise is the least possible.
    """
    if delta == 0:
        return Noise(True, terms.gradient / noise_epsilon)
    return Noise(False, terms.gradient * math.sqrt(2 * (noise_epsilon - math.log(delta))) / noise_epsilon)


def spend(terms: ObjectiveConstants, planned: ApproxDP, share: float = 0.5, choice: str = "recycle") -> BudgetSplit:
    """Solve ``eps = eps_b + Jacobian`` for the noise, before a private row is read (proofs/erm.md, 15.6).

    Args:
        terms: constants of the objective.
        planned: total budget.
        share: r of D. It decides how much counts as retrieved, and how much is returned.
        choice: ``recycle`` spends on the noise all of epsilon that the Jacobian leaves; ``return`` spends ``share`` of
            epsilon on it, and states a smaller guarantee.

    Raises:
        InputError: the budget is out of range, or the modulus so small that the Jacobian alone costs more.
    """
    number_between("epsilon", planned.epsilon, *_EPSILON_RANGE)
    number_between("share", share, 0.01, 0.99)
    one_of("retrieved budget", choice, CHOICES)
    largest = _largest_noise_epsilon(terms, planned)
    noise_epsilon = largest if choice == "recycle" else min(share * planned.epsilon, largest)
    cost = jacobian_cost(terms, noise_epsilon, planned.neighbours, planned.delta)
    total = planned.epsilon if choice == "recycle" else min(noise_epsilon + cost, planned.epsilon)
    retrieved = max((1 - share) * planned.epsilon - cost, 0.0)
    promise = ApproxDP(total, planned.delta, planned.neighbours)
    drawn_at = noise_epsilon * (1 - _PRIVATE_MARGIN)
    noise = noise_for(terms, drawn_at, planned.delta, planned.neighbours, free_jacobian=cost == 0.0)
    return BudgetSplit(planned, share, choice, noise_epsilon, cost, retrieved, promise, noise)


def _largest_noise_epsilon(terms: ObjectiveConstants, planned: ApproxDP) -> float:
    """Return the largest ``eps_b`` with ``eps_b + Jacobian(eps_b) <= eps``."""

    def over(noise_epsilon: float) -> float:
        cost = jacobian_cost(terms, noise_epsilon, planned.neighbours, planned.delta)
        return noise_epsilon + cost - planned.epsilon

    if over(planned.epsilon) <= 0:
        return planned.epsilon
    if planned.delta > 0 or not terms.loss.jacobian_is_free:
        noise_epsilon = planned.epsilon - terms.plain
    else:
        low = 1e-12 * planned.epsilon
        noise_epsilon = low if over(low) > 0 else root(over, low, planned.epsilon, xtol=1e-15) * (1 - _PRIVATE_MARGIN)
    if not noise_epsilon > 1e-6 * planned.epsilon:
        raise InputError(AccountingMessage.MODULUS_COSTS_EPSILON, modulus=terms.modulus, epsilon=terms.plain)
    return noise_epsilon


def noise_sd(radius: float, mu: float) -> float:
    """Return ``s = 2 R/mu``: replacing a row is removing one and adding one (proofs/objective.md, 9.1)."""
    if not (radius > 0 and mu > 0 and math.isfinite(radius) and math.isfinite(mu)):
        raise ValueError("radius and mu must be positive and finite")
    return 2 * radius / mu


def least_modulus(noise: float, reach: float = 1.0) -> float:
    """Return ``2 s^2 k``, the least modulus at which the Jacobian costs nothing (proofs/objective.md, 9.1).

    Args:
        noise: standard deviation s of the noise.
        reach: k, the bound on the length of a row over the bound R on its weighted length; at least 1.
    """
    if not reach >= 1:
        raise ValueError("reach must be at least 1")
    return 2 * noise**2 * reach


def delta_any_sign(epsilon: float, mu: float, log_jacobian: float, replace: bool) -> float:
    """Return delta of the loss ``mu |Z| + mu^2/2 + c`` (add-remove), or ``2 mu chi_2 + 2 mu^2 + c`` (replace-one).

    ``E[(1 - exp(eps - L))_+]`` is integrated numerically (proofs/objective.md, 9.2).
    """
    from scipy.integrate import quad  # noqa: PLC0415  # slow to load

    size = 2 * mu if replace else mu
    start = max((epsilon - log_jacobian - size**2 / 2) / size, 0.0)

    def part(z: float) -> float:
        density = z * math.exp(-(z**2) / 2) if replace else 2 * float(np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi))
        return density * -math.expm1(min(epsilon - (size * z + size**2 / 2 + log_jacobian), 0.0))

    tail = math.exp(-(start**2) / 2) if replace else 2 * float(ndtr(-start))
    delta = quad(part, start, start + 40, epsabs=1e-14, limit=200)[0]
    return min(max(delta, 0.0), tail)
