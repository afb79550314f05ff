"""``napp-erm``, ``napp-vs``, ``napp-vs-plus``: paper D as published, for the lab (E8 to E18, E22).

Algorithm 1 and section 3.5 in the exact limit of many augmented rows (Prop. 1), or with so many rows: weights of Table
2 from the private fit, iterated, with MOOR (the larger of target and Lambda0) or without (their sum, Claim 2).
``b' theta`` for ``napp-erm``; ``b' |theta|`` for selection, of any sign (``napp-vs``, c to -infinity, or above a
finite c) or positive (``napp-vs-plus``, c = 0). Algorithm 2 for any number of passes, with equation 15. Departures:
``||b||`` has shape d, as equation 4's density has it (E8; a choice), losses are bounded (E17), weights realize the
target unless the printed ones are asked for (E14), columns are scaled (``coordinates=plain``: as they are, as in the
experiments), and what is retrieved follows the worked example (E10; ``retrieval=displayed``: equation 13). Weights
and support depend on the private fit, so no guarantee holds and nothing here may be released (E11, E12); the claim is
under add-remove-one. Features are divided by their public root mean square, rows clipped at the longest public one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from pmtcore.accounting.budgets import Budget, Neighbours, Spend, epsilon_from_mu, pure_epsilon_from_mu
from pmtcore.accounting.perturbed import ApproxDP, Noise, ObjectiveConstants, equation_4, noise_for
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, MethodMessage
from pmtcore.base.strict_json import Json
from pmtcore.glm.augment import REGULARIZERS, Augmentation, Iterated, Target, retrieved_share, run_with_recycling
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Losses, Penalty, minimize
from pmtcore.mechanisms.minimizer import LossSums
from pmtcore.mechanisms.noise import NoiseSource, in_the_lab
from pmtcore.mechanisms.perturbed import draw, draw_above, draw_sampled
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters, choice, noise_share, parameter, reporting_delta, unset
from pmtcore.methods.perturbed.napp_public import FAMILIES
from pmtcore.methods.perturbed.setting import PerturbedPlan, bound_field, loss_field, setting
from pmtcore.methods.registry import Method, Origin, Outcome, PrivacyClaim
from pmtcore.public.moments import PublicData

_DIRECT_TOLERANCE = 1e-6  # subgradient over sqrt(n) at which a direct fit ends, as in the iterated fits


class PrintedParameters(Parameters):
    """Public parameters of paper D's methods."""

    regularizer: str = parameter("lasso", "Regularizer", "The target.", choices=REGULARIZERS)
    target: float = parameter(
        1.0, "Lambda", "Of the target regularizer, on the sum of losses.", low=0.0, high=1e9, log=True
    )
    gamma: float = parameter(0.5, "Bridge exponent gamma", "Of the bridge.", low=0.0, high=1.9)
    kappa: float = parameter(0.5, "Elastic net kappa", "Share of the square.", low=0.0, high=1e6)
    share: float = noise_share("Share of the noise (r)", "The rest is for the Jacobian.")
    moor: str = parameter("yes", "MOOR", "The larger of both weights, not their sum (Claim 2).", choices=("yes", "no"))
    weights: str = choice("Weights", repaired="realizes Lambda", printed="2/(2 - gamma) times it (E14)")
    noise: str = parameter(
        "pure", "Noise", "pure epsilon, or Gaussian at (epsilon, delta).", choices=("pure", "gaussian")
    )
    delta: float = reporting_delta(1e-3, "Delta", "Of the claim with Gaussian noise.")
    form: str = choice(
        "Form of the noise",
        density="equation 4",
        sampled="as the sentence after it has it, a length of shape 1 (E8)",
        exact="the least that the claim needs",
    )
    loss: str = loss_field()
    bound: float = bound_field("Of residuals (linear) or counts (Poisson).")
    recycle: str = parameter(
        "no",
        "Recycle what is retrieved",
        "Algorithm 2: the same noise made smaller by what the private fit seems to leave (E13).",
        choices=("no", "yes"),
    )
    passes: int = parameter(1, "Passes of recycling", "Re-runs of Algorithm 2, at most.", low=1, high=20)
    retrieval: str = choice(
        "What is retrieved",
        example="equation 13 as its worked example has it, over the coordinates that surpass Lambda0 (E10)",
        displayed="equation 13 as displayed, over all coordinates, where half comes back with any fit (E9)",
    )
    iterations: int = parameter(80, "Iterations", "Of the weights.", low=1, high=500)
    fit: str = choice(
        "Fit",
        iterated="Algorithm 1",
        direct="the target with Lambda0 ||theta||^2 beside it, as DP-ERM (equation 2)",
    )
    coordinates: str = choice(
        "Coordinates",
        scaled="columns by their public root mean square",
        plain="as they are, as in the paper's experiments",
    )
    row_bound: float = unset(
        "Bound zeta1 on rows (0: the longest public row)", "Rows are clipped to it, in these coordinates."
    )
    floor: float = unset(
        "Lambda0 (0: automatic)",
        "zeta3/(2 (1 - r) epsilon), what the claim needs, or a value that the paper states.",
        automatic="",
    )
    rows: int = parameter(
        0,
        "Augmented rows n_e (0: their limit)",
        "Drawn anew in each iteration and handed to an ordinary solver; the paper has 10,000.",
        low=0,
        high=100_000,
    )


class SelectionParameters(PrintedParameters):
    """Public parameters of ``napp-vs``."""

    cut: float = unset(
        "Truncation -c, in scales of the noise (0: none)",
        "Noise is drawn above c (equations 9 and 10); none is c to minus infinity, and c = 0 is napp-vs-plus.",
        high=1e6,
    )


@dataclass(frozen=True)
class PrintedPlan(PerturbedPlan):
    """Paper D's algorithm; its weights and support are computed from the private fit."""

    mu: float
    target: Target
    claim: ApproxDP
    noise: Noise
    selection: str
    parameters: PrintedParameters

    def release(self, prepared: LossSums[Loss], source: NoiseSource, trials: int) -> PrintedOutcome:
        """Return the last iterates.

        Guarantee: none. The claim is ``claim`` under add-remove-one; weights and support leak (E11, E12).
        """
        b = self.noise_draws(source, trials)
        rows = Augmentation(self.parameters.rows, _generator(source)) if self.parameters.rows else None
        return PrintedOutcome(self, fit_stack(prepared, [self] * trials, b, rows))

    def with_lambda(self, lam: float) -> PrintedPlan:
        """Return the same plan with another Lambda of the target: neither noise nor Lambda0 depends on it."""
        return replace(self, target=replace(self.target, lam=lam))

    def noise_draws(self, source: NoiseSource, trials: int) -> np.ndarray:
        """Return the noise b (trials, d) as the selection takes it."""
        cut, d = getattr(self.parameters, "cut", 0.0), self.setting.public.d
        if self.selection == "vs" and cut:
            return draw_above(self.noise, cut * self.noise.scale, source, trials, p=d)
        by = draw_sampled if self.parameters.form == "sampled" and self.noise.pure else draw
        b = by(self.noise, source, trials, d)
        return np.abs(b) if self.selection == "vs-plus" else b

    def share_retrieved(self, iterates: Iterated, correction: str) -> np.ndarray:
        """Return the share of ``(1 - r) eps`` that the paper counts as retrieved, of each trial (t,)."""
        return retrieved_share(
            iterates.weights, self.target.floor, self.claim.epsilon, correction, share=self.parameters.share
        )

    def parts(self) -> tuple[Spend, ...]:
        """Return no spend: weights and support leak (E11, E12)."""
        return ()

    def facts(self) -> Facts:
        """Return the claim and the public constants."""
        return Facts(
            radius=self.setting.radius,
            more={
                "claimed_epsilon": self.claim.epsilon,
                "claimed_delta": self.claim.delta,
                "lambda0": self.target.floor,
                "loss": self.setting.loss.title,
            },
        )


def _generator(source: NoiseSource) -> np.random.Generator:
    """Return a generator for augmented rows, seeded by one draw; privacy does not depend on them."""
    return np.random.default_rng(abs(int(in_the_lab(source).normal(1, 1)[0, 0] * 2.0**40)))


def fit_stack(
    data: Losses[Loss],
    plans: Sequence[PrintedPlan],
    b: np.ndarray,
    rows: Augmentation | None,
    *,
    start: np.ndarray | None = None,
) -> Iterated:
    """Return the fits (t, d) of one plan each, in one stack.

    Args:
        data: sums of the losses of rows that all plans clip alike.
        plans: one for each fit, alike in their fit, share and iterations.
        b: noise (t, d).
        rows: augmented rows; ``None``: their limit.
        start: coefficients (t, d) at which direct fits begin; 0 if ``None``.
    """
    parameters, targets = plans[0].parameters, [plan.target for plan in plans]
    if parameters.fit == "direct":
        return _direct(data, targets, b, start)
    selects = np.asarray([plan.selection != "none" for plan in plans])
    epsilons = np.asarray([plan.claim.epsilon for plan in plans])
    passes = np.asarray([plan.parameters.passes if plan.parameters.recycle == "yes" else 0 for plan in plans])
    displayed = np.asarray([plan.parameters.retrieval == "displayed" for plan in plans])
    return run_with_recycling(
        data,
        b,
        targets,
        epsilons,
        share=parameters.share,
        passes=passes,
        rounds=parameters.iterations,
        absolute=selects,
        displayed=displayed,
        rows=rows,
    )


def _direct(data: Losses[Loss], targets: Sequence[Target], b: np.ndarray, start: np.ndarray | None = None) -> Iterated:
    """Return the target and ``Lambda0 ||theta||^2`` in one convex objective (D, equation 2)."""
    ridge = np.asarray([target.floor + target.square for target in targets])[:, None] + 0 * b
    lasso = np.asarray([target.lam if target.has_lasso else 0.0 for target in targets])[:, None] + 0 * b
    tolerance = _DIRECT_TOLERANCE * max(float(np.sqrt(data.count)), 1.0)
    return Iterated(minimize(data, Penalty.of(b, 2 * ridge, 0.0, lasso), tolerance, start).theta, ridge)


class PrintedOutcome(Outcome):
    """Last iterates (trials, d)."""

    def __init__(self, plan: PrintedPlan, iterates: Iterated) -> None:
        self.plan = plan
        self.iterates = iterates

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) in the units of the table."""
        return self.plan.setting.table(self.iterates.theta)

    def released(self) -> dict[str, Json]:
        """Return the retrieved budget in three readings of the paper (E9, E10, E13), and the number of zeros."""
        back = {
            f"retrieved_share_{how}": float(self.plan.share_retrieved(self.iterates, how)[0])
            for how in ("displayed", "example", "proved")
        }
        return {**back, "zeros": int(np.sum(self.iterates.theta[0] == 0))}


@lru_cache(maxsize=64)
def _claimed(mu: float, delta: float) -> float:
    """Return the claimed epsilon of a budget, cached because figures need it in every trial; both are public."""
    return epsilon_from_mu(mu, delta)


def _planned(public: PublicData, budget: Budget, parameters: PrintedParameters, selection: str) -> PrintedPlan:
    ground = setting(public, parameters.coordinates, parameters.loss, parameters.bound)
    if parameters.row_bound:
        ground = replace(ground, radius=parameters.row_bound)
    if parameters.fit == "direct" and (selection != "none" or parameters.regularizer == "bridge"):
        raise InputError(MethodMessage.TARGET_NOT_CONVEX)
    pure = parameters.noise == "pure"
    epsilon = min(pure_epsilon_from_mu(budget.mu), 500.0) if pure else max(_claimed(budget.mu, parameters.delta), 1e-6)
    claim = ApproxDP(epsilon, 0.0 if pure else parameters.delta, Neighbours.ADD_REMOVE_ONE)
    needed = ground.loss.curvature * ground.radius**2 / (2 * (1 - parameters.share) * epsilon)
    least = parameters.floor or needed
    target = Target(
        kind=parameters.regularizer,
        lam=parameters.target,
        gamma=parameters.gamma,
        kappa=parameters.kappa,
        floor=least,
        moor=parameters.moor == "yes",
        printed=parameters.weights == "printed",
    )
    terms = ObjectiveConstants(ground.loss, ground.radius, 2 * least)
    drawn = parameters.share * epsilon
    noise = equation_4(terms, drawn, claim.delta)
    if parameters.form == "exact":
        noise = noise_for(terms, drawn, claim.delta, claim.neighbours, free_jacobian=False)
    return PrintedPlan(ground, budget.mu, target, claim, noise, selection, parameters)


_LEAKS = PrivacyClaim(
    ReleaseStatus.LAB,
    Neighbours.ADD_REMOVE_ONE,
    "weights and support depend on the private fit (E11, E12), so the claim does not hold",
)
_SELECTION_ERRATA = ("E8", "E11", "E12", "E22")


def _published(id: str, name: str, title: str, source: str, *, errata: tuple[str, ...], colour: str) -> Method:
    """Return the entry of one of paper D's methods."""
    return Method(
        id=id,
        title=f"{title} (as published)",
        summary="Weights iterated on the private fit; the target regularizer does double duty.",
        origin=Origin(source, names=(name,), errata=errata, also=("D, Algorithm 1", "D, Algorithm 2 (recycle=yes)")),
        claim=_LEAKS,
        colour=colour,
        families=FAMILIES,
        needs_labels=False,
        same_target=False,
        studied_with="select",
    )


@_published(
    "napp-erm",
    "NAPP-ERM",
    "Noise-augmented objective",
    "D, Algorithm 1",
    errata=("E8", "E9", "E10", "E12", "E13", "E14", "E15", "E16", "E17", "E18"),
    colour="#AA4499",
)
def _napp_erm(public: PublicData, n: int, budget: Budget, parameters: PrintedParameters) -> PrintedPlan:
    return _planned(public, budget, parameters, "none")


@_published(
    "napp-vs",
    "NAPP-VS",
    "Private selection",
    "D, section 3.5, any b",
    errata=_SELECTION_ERRATA,
    colour="#C2185B",
)
def _napp_vs(public: PublicData, n: int, budget: Budget, parameters: SelectionParameters) -> PrintedPlan:
    return _planned(public, budget, parameters, "vs")


@_published(
    "napp-vs-plus",
    "NAPP-VS+",
    "Private selection, b > 0",
    "D, section 3.5",
    errata=_SELECTION_ERRATA,
    colour="#7B1FA2",
)
def _napp_vs_plus(public: PublicData, n: int, budget: Budget, parameters: PrintedParameters) -> PrintedPlan:
    return _planned(public, budget, parameters, "vs-plus")
