"""``pmt-objective``: a generalized linear fit from one noisy objective, centred at the public fit.

Whitened rows, one noise draw (``objective``), where the papers' Newton methods draw ``2T``. What comes out is
then freed from the pull of the extra modulus by one public Newton step, and combined with the public fit by
precision: both post-processing. Neighbours: replace-one. Public: the public data, n, clip, modulus.
Goes past the papers (``science.md`` 4.3); proofs in ``docs/proofs/objective.md``, 9. The design weights rows
beyond four radii down further; here rows are clipped at ``reach`` radii and the modulus grows with it, which
is what the proof needs (decision 0009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.accounting.objective import noise_sd
from pmtcore.base.bands import Bands
from pmtcore.base.distributions import chi2
from pmtcore.base.private_rows import PrivateRows, RowCache
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms.loss_sums import bytes_kept, row_pieces
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.objective import Perturbation
from pmtcore.mechanisms.truncation import SHORTER, bounded
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters, choice, parameter, truncation_radius, unset
from pmtcore.methods.registry import REPLACE_ONE, Mechanism, Method, Origin, Outcome, Plan, Prediction, register, sound
from pmtcore.public.bands import Part, bias_part, limits, robust_part
from pmtcore.public.gaussian_update import gaussian_update
from pmtcore.public.moments import PublicData, back_transform, whiten
from pmtcore.public.shape import Clip, Shape, choose_clip

_FAR = 1e-3  # how rarely alike samples lie further off: then the prior is widened


@dataclass(frozen=True, kw_only=True)
class GlmParameters(Parameters):
    """Public parameters shared by the methods that choose their own truncation."""

    radius: float = truncation_radius()
    shrinkage: str = choice(
        "Public fit",
        auto="combine the released fit with the public one by their known precision",
        none="leave it alone",
    )


@dataclass(frozen=True, kw_only=True)
class ObjectiveParameters(GlmParameters):
    """Public parameters of ``pmt-objective``."""

    reach: float = unset(
        "Reach (0: automatic)", "Rows are clipped at this many radii; between, their loss is weighted down.", high=100.0
    )
    modulus: float = parameter(
        1.0, label="Modulus", help="In units of the least that privacy needs.", low=1.0, high=1e6, log=True
    )


@dataclass(frozen=True)
class ObjectivePlan(Plan):
    """``pmt-objective`` with clip and modulus fixed."""

    public: PublicData
    n: int
    mu: float
    clip: Clip
    parameters: ObjectiveParameters

    @cached_property
    def mechanism(self) -> Perturbation:
        """Return the mechanism in whitened coordinates."""
        public = self.public
        return Perturbation(
            public.family,
            self.n,
            self.clip.radius,
            self.clip.reach,
            self.mu,
            public.penalty,
            public.centre,
            self.parameters.modulus,
        )

    @cached_property
    def shape(self) -> Shape | None:
        """Return the public rows' norms, influence and curvature; ``None`` without rows."""
        return None if self.public.rows is None else Shape.of(self.public)

    def bytes_kept(self, d: int) -> int:
        """See :class:`Plan`."""
        return bytes_kept(d)

    def mechanism_on(self, rows: PrivateRows) -> Mechanism:
        """Return the perturbed objective of these rows."""
        return partial(self._release, self.weighted(rows))

    def weighted(self, rows: PrivateRows) -> RowCache[Rows]:
        """Return whitened, clipped and weighted rows, private."""
        reach, root = self.clip.radius * self.clip.reach, self.public.feature_root

        def prepare(x: np.ndarray, y: np.ndarray) -> Rows:
            clipped = self.clip.apply(bounded(whiten(root, x), reach), np.clip(y, 0.0, 1.0))
            return replace(clipped, weights=SHORTER * clipped.weights)

        return row_pieces(rows, prepare)

    def _release(self, rows: RowCache[Rows], source: NoiseSource, trials: int) -> ObjectiveOutcome:
        """Return released minimizers.

        Guarantee: mu-GDP under replace-one: one perturbed objective (proofs/objective.md, 9.1); all else is
        post-processing.
        """
        return ObjectiveOutcome(self, self.mechanism.release(rows, source, trials))

    @property
    def clusters_errors(self) -> bool:
        """Sampling errors are summed over groups first."""
        return True

    def predicted(self) -> Prediction | None:
        """Privacy sd from the public Hessian, sampling sd from public influence."""
        if self.shape is None:
            return None
        inverse = np.linalg.inv(self.shape.hessians(self.shape.clipped(self.clip), self.public.centre[None])[0])
        covering = self.mechanism.covering * np.eye(self.public.d)
        both = np.concatenate([self.mechanism.noise / self.n * inverse, covering])
        privacy = np.linalg.norm(self._to_table(both), axis=0)
        sampling = robust_part(self._to_table(self.shape.influence), 1.0, self.n, self.public.clusters).sd
        return Prediction(privacy, sampling)

    def _to_table(self, rows: np.ndarray) -> np.ndarray:
        return back_transform(self.public.feature_root, rows)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends of the perturbed objective and of the noise that covers its distance to the optimum."""
        return self.mechanism.parts()

    def facts(self) -> Facts:
        """Radius, reach, noise, modulus, and the share of rows that public rows lead one to expect outside."""
        beyond = None if self.shape is None else float(np.mean(self.shape.norms > self.clip.radius))
        return Facts(
            radius=self.clip.radius,
            noise_sd=self.mechanism.noise / self.n,
            predicted_truncation_rate=beyond,
            penalty=self.public.lam,
            more={"reach": self.clip.reach, "modulus": self.mechanism.modulus / self.n},
        )


class ObjectiveOutcome(Outcome):
    """Post-processing of released minimizers (trials, d) in whitened coordinates."""

    def __init__(self, plan: ObjectivePlan, minimizer: np.ndarray) -> None:
        self.plan = plan
        self.minimizer = minimizer
        self._rows = None if plan.shape is None else plan.shape.clipped(plan.clip)

    def seen(self) -> np.ndarray:
        """Return the released minimizers."""
        return self.minimizer

    @cached_property
    def _inverse(self) -> np.ndarray:
        """Inverse Hessians of the mean loss (trials, d, d) at the minimizers, from public rows."""
        if self.plan.shape is None or self._rows is None:
            raise ValueError("public rows are needed")
        return np.linalg.inv(self.plan.shape.hessians(self._rows, self.minimizer))

    @cached_property
    def free(self) -> np.ndarray:
        """Minimizers without the pull of the extra modulus (trials, d): one public Newton step.

        Proof: proofs/objective.md, 9.3.
        """
        if self.plan.shape is None:
            return self.minimizer
        pull = self.plan.mechanism.modulus / self.plan.n * (self.minimizer - self.plan.public.centre)
        return np.asarray(self.minimizer + np.einsum("tij,tj->ti", self._inverse, pull))

    @cached_property
    def _noise(self) -> np.ndarray:
        """Covariance (trials, d, d) that the noise gives the free minimizers."""
        sd = self.plan.mechanism.noise / self.plan.n
        covering = self.plan.mechanism.covering**2 * np.eye(self.minimizer.shape[1])
        return np.asarray(sd**2 * self._inverse @ self._inverse + covering)

    @cached_property
    def whitened(self) -> np.ndarray:
        """Coefficients (trials, d): free minimizers combined with the public fit by precision."""
        shape, public = self.plan.shape, self.plan.public
        if shape is None or not public.labelled or self.plan.parameters.shrinkage == "none":
            return self.free
        return public.centre + shrunk(self.free - public.centre, shape.prior(self.plan.n), self._noise)

    @property
    def coefficients(self) -> np.ndarray:
        """Coefficients (trials, d) in the units of the table."""
        return back_transform(self.plan.public.feature_root, self.whitened)

    def bands(self) -> Bands | None:
        """Privacy, sampling and truncation parts around the free minimizer (proofs/objective.md, 9.4)."""
        plan, shape, rows = self.plan, self.plan.shape, self._rows
        if shape is None or rows is None:
            return None
        estimate = Free(self.free[0], self._inverse[0], self._noise[0])
        return glm_bands(
            shape, rows, estimate, self.coefficients[0], n=plan.n, combined=plan.parameters.shrinkage != "none"
        )

    def notes(self) -> tuple[str, ...]:
        """Return a note on what is missing without public rows."""
        if self.plan.shape is None:
            return ("Without public rows there are no error bands, and the pull of the modulus stays in.",)
        return ()


def shrunk(correction: np.ndarray, prior: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Corrections (t, d) pulled to zero by precision: ``prior (prior + noise)^{-1} correction``.

    Where a correction is far larger than prior and noise allow (once in a thousand for alike samples), the
    prior is widened to what its size says.
    """
    d = correction.shape[1]
    total = prior + noise
    size = np.einsum("ti,ti->t", correction, np.linalg.solve(total, correction[..., None])[..., 0]) / d
    wide = np.where(size * d > chi2.isf(_FAR, d), np.maximum(size, 1.0), 1.0)[:, None, None] * prior
    return np.asarray((wide @ np.linalg.solve(wide + noise, correction[..., None]))[..., 0])


@dataclass(frozen=True, eq=False)
class Free:
    """A minimizer (d,) that the public fit does not pull, whitened: inverse Hessian (d, d), covariance of its noise."""

    minimizer: np.ndarray
    inverse: np.ndarray
    noise: np.ndarray


def glm_bands(shape: Shape, rows: Rows, free: Free, estimate: np.ndarray, *, n: int, combined: bool) -> Bands:
    """Bands, all parts from public rows or the release (proofs/objective.md, 9.4).

    Args:
        combined: around the free minimizer and the public fit by precision (23), never trusted further than alike
            samples allow, else around the free minimizer alone; so too where public rows have no labels.
    """
    public, inverse = shape.public, free.inverse

    def to_table(vectors: np.ndarray) -> np.ndarray:
        return back_transform(public.feature_root, vectors)

    if not public.labelled:
        middle = to_table(to_table(inverse - inverse @ public.penalty @ inverse).T)
        privacy = Part.of(to_table(to_table(free.noise).T))
        return limits(estimate, to_table(free.minimizer), privacy, Part.of(middle / n))
    influence = shape.influence @ (inverse @ shape.hessian).T  # in the curvature of the released fit
    moves, m = shape.moves(rows, inverse), len(influence)
    weight, widened = np.eye(public.d), 1.0
    away = free.minimizer - public.centre
    if combined:
        lost = np.mean(moves, axis=0) ** 2 + np.var(moves, axis=0, ddof=1) / m
        mine = free.noise + influence.T @ influence / (m * n) + np.diag(lost)
        both = gaussian_update(shape.covariance, np.eye(public.d), away, mine)
        weight, widened = both.gain, float(both.inflation)
    sampling = robust_part(to_table(influence @ weight.T), 1.0, n, public.clusters)
    if combined:
        rest = np.eye(public.d) - weight
        sampling = sampling.plus(robust_part(to_table(shape.influence @ rest.T), widened, m, public.clusters))
    privacy = Part.of(to_table(to_table(weight @ free.noise @ weight.T).T))
    moves = to_table(moves @ weight.T)
    cut = bias_part(moves)
    return limits(estimate, to_table(public.centre + weight @ away), privacy, sampling, cut)


def _plan(public: PublicData, n: int, budget: Budget, parameters: ObjectiveParameters) -> ObjectivePlan:
    reaches = (parameters.reach,) if parameters.reach else None
    if parameters.radius:
        return ObjectivePlan(public, n, budget.mu, Clip(parameters.radius, max(parameters.reach, 1.0)), parameters)
    noise = noise_sd(1.0, budget.mu) / n
    clip = choose_clip(public, n, noise) if reaches is None else choose_clip(public, n, noise, (max(reaches[0], 1.0),))
    return ObjectivePlan(public, n, budget.mu, clip, parameters)


register(
    Method(
        id="pmt-objective",
        title="Whitened objective perturbation",
        summary="One noisy objective centred at the public fit; for labels where public rows have none.",
        origin=Origin("beyond A"),
        claim=sound(
            REPLACE_ONE,
            "one perturbed objective, strongly convex by public constants; its Jacobian costs nothing",
        ),
        plan=_plan,
        colour="#1F4E9E",
        families=("logistic", "boosting"),
        needs_labels=False,
        recommended=True,
    )
)
