"""``pmt-logistic``, ``pmt-glm``, ``dp-logistic``: noisy Newton steps, as paper A has them.

    beta <- beta - (H + P + G)^{-1} (score + P beta + g),   T steps from 0
    H = mean b'' x~ x~',  score = mean (b' - y) x~,  G ~ SG_d(sigma1^2),  g ~ N(0, sigma2^2 I)

* ``pmt-logistic`` (A, Algorithm 3): whitened rows truncated to ``R^2 = d (1 + log(2n/eta))``,
  ``sigma1 = sqrt(T) R^2/(2 mu' n)``, ``sigma2 = 2 sqrt(T) R/(mu' n)``, P the penalty in whitened coordinates.
* ``pmt-glm`` (A, Algorithm 4): any canonical family, responses clipped to ``[-Ry, Ry]``,
  ``sigma1 = 2 sqrt(T) R^2 M''/(mu' n)``, ``sigma2 = 2 sqrt(T) R (Ry + M')/(mu' n)``, M over ``|z| <= R_beta R``.
* ``dp-logistic`` (A, Algorithm 5): rows as they are, ``R^2 = tr(S) + d log(n/eta)``.

``mu' = mu/sqrt(2)``: the budget is a total. Departures: E1 (``sigma2`` has R, not R^2; the printed form can be
chosen), E2 (T steps, not T + 1), and E3 (iterates are projected to ``||beta|| <= R_beta`` in the coordinates of the
rows, so that M bounds all means; the projection is post-processing). The eigenvalues of a noisy Hessian are floored at
the noise level ``sigma1 sqrt(d)``, where the print solves without a floor (also a choice). ``pmt-logistic``,
``dp-logistic`` and, for labels, ``pmt-glm`` have 0.707 of the printed noise by default (``calibration=joint``, proved
to be enough; ``papers`` has the printed one). Neighbours: replace-one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.base.messages import InputError, MethodMessage, Note, ReleaseNote
from pmtcore.base.private_rows import PrivateRows, RowCache
from pmtcore.glm.families import FAMILIES, GAUSSIAN, Family
from pmtcore.mechanisms.grid import SLACK, noisy_symmetric, noisy_vector
from pmtcore.mechanisms.integers import COARSE, FACTOR, SLOPES, IntegerRows, at, integer_pieces
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.truncation import calibration_factor, papers_radius, trace_radius
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.as_published import LEAKS, AsPublished
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import choice, parameter, unset
from pmtcore.methods.registry import IterativePlan, Method, OfPublicData, Origin, Outcome, recommended_method, sound
from pmtcore.methods.two_part.whitened import PmtParameters
from pmtcore.public.moments import PublicData

_LABEL_SLOPE = 0.25  # largest slope of the mean of a label
_SETTLED_STEP = 0.1  # ratio of the last step to the length of the coefficients, below which the iteration has converged
_TRUNCATED = sound("2T Gaussian mechanisms on rows truncated to a public radius", "integers")


class NewtonParameters(PmtParameters):
    """Public parameters of the noisy Newton methods."""

    steps: int = parameter(5, "Newton steps", "Each step spends its share of the budget.", low=1, high=1000)
    indefinite: str = choice(
        "Indefinite Hessian",
        floor="eigenvalues below the noise level are raised to it",
        printed="solved as it is",
    )
    score_noise: str = choice(
        "Noise on the score",
        repaired="R as in the proof",
        printed="R squared, as the listing has it (E1)",
    )


class BoundedNewtonParameters(NewtonParameters):
    """Public parameters of ``pmt-glm``."""

    bound: float = unset(
        "Coefficient bound (0: automatic)",
        "Iterates are kept within this length in whitened coordinates; automatic: twice the public fit's.",
        high=1e6,
        automatic="",
    )
    response_bound: float = unset(
        "Response bound (0: automatic)",
        "Responses are clipped to it; automatic: 1 for labels, else 1.5 times the largest public one.",
        automatic="",
    )


@dataclass(frozen=True)
class NewtonConstants:
    """The public constants of an iteration in the coordinates of the rows."""

    root: np.ndarray  # W (d, d): rows are x W', coefficients W' beta~
    radius: float
    score_bound: float  # sup |b' - y|
    slope_bound: float  # the sensitivity of mean b'' x x' is counted as 2 slope_bound R^2/n
    penalty: np.ndarray
    coefficient_bound: float = math.inf
    response_bound: float = 1.0


@dataclass(frozen=True)
class NewtonPlan(OfPublicData, IterativePlan[RowCache[IntegerRows]]):
    """``T`` noisy Newton steps."""

    steps: NewtonConstants
    parameters: NewtonParameters

    @property
    def _joint(self) -> bool:
        """Return whether Hessian and score are calibrated together, which is proved for labels.

        Proof: proofs/sensitivity.md, 3.6.
        """
        p, s = self.parameters, self.steps
        labels = self.public.family.binary and s.score_bound == 1.0 and s.slope_bound == _LABEL_SLOPE
        return p.calibration == "joint" and p.score_noise == "repaired" and labels

    @property
    def sigmas(self) -> tuple[float, float]:
        """Return the noise on Hessian and score of each step (A, Algorithm 4 line 3)."""
        part = self.mu / math.sqrt(2) / math.sqrt(self.parameters.steps)
        s = self.steps
        # The printed noise is used only where it is at least the proved one.
        printed = max(s.radius, 1.0) if self.parameters.score_noise == "printed" else 1.0
        factor = calibration_factor("labels", "joint" if self._joint else "papers")
        return (
            2 * s.radius**2 * s.slope_bound / (part * self.n) * factor,
            2 * s.radius * printed * s.score_bound / (part * self.n) * factor,
        )

    @property
    def n_passes(self) -> int:
        """Return the number of passes: one for each step."""
        return self.parameters.steps

    def prepared(self, rows: PrivateRows) -> RowCache[IntegerRows]:
        """Return transformed and truncated rows in integers, private."""
        s = self.steps
        low = 0.0 if self.public.family.binary else -s.response_bound

        def prepare(x: np.ndarray, y: np.ndarray) -> IntegerRows:
            return IntegerRows.within(row_products(x, s.root.T), np.clip(y, low, s.response_bound), s.radius)

        return integer_pieces(rows, prepare)

    def release(self, prepared: RowCache[IntegerRows], source: NoiseSource, trials: int) -> NewtonOutcome:
        """Return the iterates of all trials at once.

        Guarantee: each of 2T Gaussian mechanisms is ``mu/sqrt(2T)``-GDP under replace-one, together mu-GDP (A, Theorems
        5.2 and 2.1); for labels Hessian and score together by proofs/sensitivity.md, 3.6; for the bits that leave
        (proofs/noise.md, 14; proofs/integers.md, 19).
        """
        s, family = self.steps, self.public.family
        hessian_sd, score_sd = self.sigmas
        unit = s.score_bound * s.radius / FACTOR**2 / self.n
        curved = s.slope_bound * s.radius**2 / (SLOPES * COARSE**2) / self.n
        path = [np.zeros((trials, self.public.d))]
        for _ in range(self.parameters.steps):
            here = path[-1]
            both = at(prepared, partial(_scores_and_hessians, family, here, s))
            scores, hessians = both.map(lambda sums: sums[..., 0]), both.map(lambda sums: sums[..., 1:])
            score = noisy_vector(scores, (1 + SLACK) * score_sd / unit, source, trials) * unit
            hessian = (
                noisy_symmetric(hessians, (1 + SLACK) * hessian_sd / curved, source, trials, form="papers") * curved
            )
            step = self._solve(hessian + s.penalty, score + here @ s.penalty)
            path.append(_projected(here - step, s.coefficient_bound))
        return NewtonOutcome(self, np.stack(path))

    def _solve(self, hessian: np.ndarray, score: np.ndarray) -> np.ndarray:
        if self.parameters.indefinite == "floor":
            values, vectors = np.linalg.eigh(hessian)
            floor = self.sigmas[0] * math.sqrt(self.public.d)
            inner = np.einsum("tji,tj->ti", vectors, score) / np.maximum(values, floor)
            return np.asarray(np.einsum("tij,tj->ti", vectors, inner))
        return np.asarray(np.linalg.solve(hessian, score[..., None])[..., 0])

    def parts(self) -> tuple[Spend, ...]:
        """Return Hessian and score of each step, together where they are calibrated together."""
        s, steps, (hessian_sd, score_sd) = self.steps, self.parameters.steps, self.sigmas
        if self._joint:
            share = self.mu / math.sqrt(steps)
            return (Spend.gaussian("Hessian and score, each over its noise", share, 1.0, steps),)
        return (
            Spend.gaussian("Hessian", 2 * s.radius**2 * s.slope_bound / self.n, hessian_sd, steps),
            Spend.gaussian("score", 2 * s.radius * s.score_bound / self.n, score_sd, steps),
        )

    def facts(self) -> Facts:
        """Return the radius and noise scales."""
        hessian_sd, score_sd = self.sigmas
        return Facts(
            radius=self.steps.radius,
            noise_sd=hessian_sd,
            noise_over_signal=hessian_sd * math.sqrt(2 * self.public.d),
            penalty=self.public.stated_penalty,
            prior_sd=self.public.prior_sd,
            more={"score_noise_sd": score_sd},
        )


class NewtonOutcome(Outcome):
    """Iterates (T + 1, trials, d) in the coordinates of the rows."""

    def __init__(self, plan: NewtonPlan, path: np.ndarray) -> None:
        self.plan = plan
        self.path = path

    def transcript(self) -> np.ndarray:
        """Return all iterates, as if they were released."""
        return np.concatenate(list(self.path[1:]), axis=1)

    @property
    def iterates(self) -> np.ndarray:
        """Return coefficients after each step (T + 1, trials, d), in the units of the table."""
        return np.asarray(self.path @ self.plan.steps.root)

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients after the last step (trials, d)."""
        return np.asarray(self.path[-1] @ self.plan.steps.root)

    def notes(self) -> tuple[str, ...]:
        """Return a note where the iteration did not converge, and that there are no error bands."""
        notes = [Note(ReleaseNote.OTHER_HAS_BANDS, method=recommended_method(self.plan.public).id)]
        last = np.linalg.norm(self.path[-1, 0] - self.path[-2, 0])
        if not last <= _SETTLED_STEP * np.linalg.norm(self.path[-1, 0]):
            notes.append(Note(ReleaseNote.UNSETTLED))
        return tuple(notes)


def _scores_and_hessians(family: Family, theta: np.ndarray, steps: NewtonConstants, rows: IntegerRows) -> np.ndarray:
    """Return the sums of scores and, beside them, of Hessians (t, d, 1 + d)."""
    scores = rows.scores(family, theta, steps.score_bound, clipped=False)
    return np.concatenate([scores[..., None], rows.hessians(family, theta, steps.slope_bound)], axis=2)


def _projected(theta: np.ndarray, bound: float) -> np.ndarray:
    length = np.maximum(np.linalg.norm(theta, axis=1), 1e-300)
    return np.asarray(theta * np.minimum(1.0, bound / length)[:, None])


def _whitened(public: PublicData) -> tuple[np.ndarray, np.ndarray]:
    """Return the symmetric root, and the penalty in its coordinates: the intercept is not penalized."""
    _, root = public.symmetric_root
    return root, public.lam * (root * public.penalty_shape) @ root.T


@Method(
    id="pmt-logistic",
    title="Whitened noisy Newton",
    summary="T noisy Newton steps on whitened, truncated rows.",
    origin=Origin("A, Algorithm 3", names=("DP-PMTLR",), errata=("E1", "E2")),
    claim=_TRUNCATED,
    colour="#E4572E",
    families=("logistic",),
    needs_labels=False,
    at_first=True,
    whitens=True,
)
def _pmt_logistic(public: PublicData, n: int, budget: Budget, parameters: NewtonParameters) -> NewtonPlan:
    root, penalty = _whitened(public)
    steps = NewtonConstants(root, papers_radius(public.d, n, parameters.eta), 1.0, 0.25, penalty)
    return NewtonPlan(public, n, budget.mu, steps, parameters)


@Method(
    id="pmt-glm",
    title="Whitened noisy Newton, any family",
    summary="T noisy Newton steps with bounded responses and coefficients.",
    origin=Origin("A, Algorithm 4", names=("DP-PMTGLM",), errata=("E2", "E3")),
    claim=_TRUNCATED,
    behind_public_fit=("gaussian", "poisson"),
    has_floor=("poisson",),
    colour="#E377C2",
    families=tuple(FAMILIES),
    needs_labels=False,
    whitens=True,
)
def _pmt_glm(public: PublicData, n: int, budget: Budget, parameters: BoundedNewtonParameters) -> NewtonPlan:
    root, penalty = _whitened(public)
    family, radius = public.family, papers_radius(public.d, n, parameters.eta)
    bound = parameters.bound or 2 * float(np.linalg.norm(public.centre)) or 1.0
    response = parameters.response_bound or _response_bound(public)
    score = 1.0 if family.binary else response + family.largest_mean(bound * radius)
    slope = family.largest_slope(bound * radius)
    if not math.isfinite(score * slope * radius) or slope > 1e100:
        raise InputError(MethodMessage.MEAN_UNBOUNDED, family=family.title)
    steps = NewtonConstants(root, radius, score, slope, penalty, bound, response)
    return NewtonPlan(public, n, budget.mu, steps, parameters)


def _response_bound(public: PublicData) -> float:
    if public.family.binary:
        return 1.0
    if public.rows is not None and public.labelled:
        return 1.5 * float(np.max(np.abs(public.rows[:, -1])))
    if public.family is GAUSSIAN and public.labelled:
        return 4 * public.response_scale
    raise InputError(MethodMessage.RESPONSE_BOUND_NEEDED, method="pmt-glm", family=public.family.title)


def _untransformed(
    public: PublicData, n: int, mu: float, parameters: NewtonParameters, *, moment: np.ndarray
) -> NewtonPlan:
    """Return the plan on untransformed rows for a joint moment (d + 1, d + 1), public or (in the lab) private."""
    trace = float(np.trace(moment[:-1, :-1]))
    radius = trace_radius(trace, public.d, n, 2 * parameters.eta)  # log(n/eta)
    penalty = public.lam * np.diag(public.penalty_shape)
    return NewtonPlan(public, n, mu, NewtonConstants(np.eye(public.d), radius, 1.0, 0.25, penalty), parameters)


@Method(
    id="dp-logistic-public",
    title="Untransformed noisy Newton, public radius",
    summary="T noisy Newton steps on untransformed rows; only the radius is public.",
    origin=Origin("A, Algorithm 5, repaired", errata=("E1",)),
    claim=sound(_TRUNCATED.reason, "baselines"),
    colour="#F4B942",
    families=("logistic",),
    needs_labels=False,
)
def _public_radius(public: PublicData, n: int, budget: Budget, parameters: NewtonParameters) -> NewtonPlan:
    return _untransformed(public, n, budget.mu, parameters, moment=public.moment)


@Method(
    id="dp-logistic",
    title="Untransformed noisy Newton (as published)",
    summary="T noisy Newton steps on untransformed rows; the baseline of paper A.",
    origin=Origin("A, Algorithm 5 with Theorem 5.4", names=("DP-LR",), errata=("E1", "E2", "E4")),
    claim=LEAKS,
    colour="#ABABAB",
    families=("logistic",),
    needs_labels=False,
)
def _private_radius(public: PublicData, n: int, budget: Budget, parameters: NewtonParameters) -> AsPublished:
    def planner(moment: np.ndarray) -> NewtonPlan:
        return _untransformed(public, n, budget.mu, parameters, moment=moment)

    return AsPublished(budget.mu, planner)
