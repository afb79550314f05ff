"""``pmt-objective``: a generalized linear fit from one noisy objective, centred at the public fit.

The objective is perturbed by one noise draw on whitened rows (``objective``); the papers' Newton methods make ``2T``
draws. The minimizer determines a noisy score at that point. From the score and the curvature of public rows the private
fit is estimated, and combined with the public fit by precision (``score_equation``); both are post-processing.
Neighbours: replace-one. Public: the public data, n, clip, modulus. Goes past the papers; proofs in
``docs/proofs/objective.md``, 9. Rows are clipped at ``reach`` radii, and the modulus grows with it, as the proof needs
(decision 0009).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Budget, Spend
from pmtcore.accounting.perturbed import noise_sd
from pmtcore.base.bands import Bands
from pmtcore.base.messages import Note, ReleaseNote
from pmtcore.base.private_rows import PrivateRows, RowCache
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms.minimizer import bytes_kept, row_pieces
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.objective import Perturbation
from pmtcore.mechanisms.truncation import NORM_FACTOR, truncate_within
from pmtcore.mechanisms.whitening import row_products
from pmtcore.methods.facts import Facts
from pmtcore.methods.gradients.frame import LARGEST_BOUND, Frame, in_frame_coordinates
from pmtcore.methods.parameters import Parameters, choice, parameter, truncation_radius, unset
from pmtcore.methods.registry import IterativePlan, Method, Origin, StatisticOutcome, sound
from pmtcore.methods.score_equation import Posterior, ScoreEquation, ScorePlan
from pmtcore.public.clipping import HARMLESS
from pmtcore.public.moments import PublicData, back_transform, inverse_root
from pmtcore.public.shape import Clip, choose_clip

# Covering noise (for the solver's error) on a coefficient, in units of the noise on a score, below which it is
# negligible.
_NEGLIGIBLE_COVER = 1.0
# Candidate factors on the modulus where the covering noise is not negligible.
_MODULI = tuple(4.0**power for power in range(10))


class GlmParameters(Parameters):
    """Public parameters shared by the methods that choose their own truncation."""

    radius: float = truncation_radius()
    shrinkage: str = choice(
        "Public fit",
        auto="combine the released fit with the public one by their known precision",
        none="leave it alone",
    )


class ObjectiveParameters(GlmParameters):
    """Public parameters of ``pmt-objective``."""

    reach: float = unset(
        "Reach (0: automatic)",
        "Rows are clipped at this many radii; between, their loss is weighted down.",
        high=100.0,
        automatic="reach",
    )
    modulus: float = parameter(
        1.0,
        "Modulus",
        "In units of the least that privacy needs; more for very many rows.",
        low=1.0,
        high=1e6,
        log=True,
    )


@dataclass(frozen=True)
class ObjectivePlan(ScorePlan, IterativePlan[RowCache[Rows]]):
    """``pmt-objective`` with clip and modulus fixed."""

    clip: Clip
    parameters: ObjectiveParameters

    @cached_property
    def centred(self) -> PublicData:
        """Return the public data in the coordinates of the mechanism, with the fit that it is centred at."""
        return in_frame_coordinates(self.public)

    @cached_property
    def mechanism(self) -> Perturbation:
        """Return the mechanism in whitened coordinates."""
        public = self.centred
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
    def equation(self) -> ScoreEquation | None:
        """Return the equation for the score at a minimizer; ``None`` without public rows."""
        if self.public.rows is None:
            return None
        mechanism, frame = self.mechanism, Frame(self.public, self.n)
        noise = (mechanism.noise / self.n) ** 2 * np.eye(self.public.d)
        equation = ScoreEquation(frame, self.clip, noise, self.parameters.shrinkage != "none")
        curvature = equation.hessians(frame.start[0][None])[0] + self.pull * np.eye(self.public.d)
        return replace(equation, noise=noise + mechanism.covering_sd**2 * curvature @ curvature)

    def with_solvable_modulus(self) -> ObjectivePlan:
        """Return this plan with the modulus of least predicted error, at least the one in the parameters.

        The rounding error of a sum over n rows grows faster than n, and the noise that covers it is that error over the
        modulus. Where this noise is negligible the modulus is not changed (proofs/objective.md, 9.5).
        """
        mechanism = self.mechanism
        if self.equation is None or mechanism.covering_sd < _NEGLIGIBLE_COVER * mechanism.noise / self.n:
            return self
        moduli = (min(factor * self.parameters.modulus, 1e6) for factor in _MODULI)
        plans = (replace(self, parameters=replace(self.parameters, modulus=modulus)) for modulus in moduli)
        return min(plans, key=ObjectivePlan._expected_error)

    def _expected_error(self) -> float:
        return float(np.trace(self.solvable.expected(self.distance).covariance[0]))

    @property
    def pull(self) -> float:
        """Return the extra modulus in units of a mean loss."""
        return self.mechanism.modulus / self.n

    def bytes_kept(self, d: int) -> int:
        """See :class:`Plan`."""
        return bytes_kept(d)

    def prepared(self, rows: PrivateRows) -> RowCache[Rows]:
        """Return whitened, clipped and weighted rows, private."""
        reach, inverse = self.clip.radius * self.clip.reach, inverse_root(self.centred.feature_root)

        def prepare(x: np.ndarray, y: np.ndarray) -> Rows:
            clipped = self.clip.apply(truncate_within(row_products(x, inverse), reach), np.clip(y, 0.0, 1.0))
            return replace(clipped, weights=NORM_FACTOR * clipped.weights)

        return row_pieces(rows, prepare)

    def release(self, prepared: RowCache[Rows], source: NoiseSource, trials: int) -> ObjectiveOutcome:
        """Return released minimizers.

        Guarantee: mu-GDP under replace-one: one perturbed objective (proofs/objective.md, 9.1); all else is
        post-processing.
        """
        return ObjectiveOutcome(self, self.mechanism.release(prepared, source, trials))

    @property
    def distance(self) -> np.ndarray:
        """Return the expected second moment (d, d) of the private fit minus a minimizer.

        Noise and the modulus p, which shrinks to the public fit, give ``(H + p I)^{-1} (p^2 V + noise) (H + p
        I)^{-1}``.
        """
        equation = self.solvable
        centre, spread = equation.frame.start
        inverse = np.linalg.inv(equation.hessians(centre[None])[0] + self.pull * np.eye(len(centre)))
        return np.asarray(inverse @ (self.pull**2 * spread + equation.noise) @ inverse)

    def simulated_score(self, rows: PrivateRows, draw: int) -> tuple[np.ndarray, np.ndarray]:
        """See :class:`ScorePlan`."""
        minimizer = self.mechanism.simulated(self.prepared(rows), rows.n, np.random.default_rng([1, draw]))
        return minimizer, self.scores(minimizer)

    def scores(self, minimizers: np.ndarray) -> np.ndarray:
        """Return the mean scores (..., d) of private rows at minimizers (..., d), without the penalty."""
        return np.asarray(self.pull * (minimizers - self.centred.centre) + minimizers @ self.centred.penalty)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spends of the perturbed objective and of the noise that covers its distance to the optimum."""
        return self.mechanism.parts()

    def facts(self) -> Facts:
        """Return radius, reach, noise, modulus, and the share of rows expected outside, from public rows."""
        beyond = None
        if self.equation is not None:
            beyond = float(np.mean(self.equation.frame.norms > self.clip.radius))
        return Facts(
            radius=self.clip.radius,
            noise_sd=self.mechanism.noise / self.n,
            predicted_truncation_rate=beyond,
            penalty=self.public.stated_penalty,
            prior_sd=self.public.prior_sd,
            more={"reach": self.clip.reach, "modulus": self.mechanism.modulus / self.n},
        )


class ObjectiveOutcome(StatisticOutcome[ObjectivePlan]):
    """Post-processing of released minimizers (trials, d) in whitened coordinates."""

    @cached_property
    def posterior(self) -> Posterior | None:
        """Return the posterior from the scores at the minimizers and the public fit; ``None`` without public rows.

        Proof: proofs/objective.md, 9.3.
        """
        plan = self.plan
        if plan.equation is None:
            return None
        return plan.equation.solve(self.statistic, plan.scores(self.statistic))

    @property
    def coefficients(self) -> np.ndarray:
        """Return coefficients (trials, d) in the units of the table."""
        whitened = self.statistic if self.posterior is None else self.posterior.fits
        return back_transform(self.plan.centred.feature_root, whitened)

    def bands(self) -> Bands | None:
        """Return intervals (proofs/objective.md, 9.4); none without public rows."""
        return None if self.posterior is None else self.plan.bands(self.posterior)

    def notes(self) -> tuple[str, ...]:
        """Return a note on the bias by the modulus, which is not corrected without public rows."""
        return (Note(ReleaseNote.MODULUS_PULLS),) if self.plan.equation is None else ()


@Method(
    id="pmt-objective",
    title="Whitened objective perturbation",
    summary="One noisy objective centred at the public fit; for labels, also where the public rows lack them.",
    origin=Origin("beyond A"),
    claim=sound(
        "one perturbed objective, strongly convex by public constants; its Jacobian costs nothing",
        "objective",
        "minimizer",
    ),
    colour="#1F4E9E",
    families=("logistic", "boosting"),
    needs_labels=False,
    recommended=True,
    whitens=True,
)
def _plan(public: PublicData, n: int, budget: Budget, parameters: ObjectiveParameters) -> ObjectivePlan:
    around = in_frame_coordinates(public)
    reaches = (parameters.reach,) if parameters.reach else None
    if parameters.radius:
        return ObjectivePlan(public, n, budget.mu, Clip(parameters.radius, max(parameters.reach, 1.0)), parameters)
    noise = noise_sd(1.0, budget.mu) / n
    clip = choose_clip(around, n, noise) if reaches is None else choose_clip(around, n, noise, (max(reaches[0], 1.0),))
    if public.rows is not None:
        # Private rows may be longer than public ones: the radius is at least the one with negligible noise (decision
        # 175).
        frame = Frame(public, n)
        hessians = frame.hessians(frame.slopes(frame.start[0][None])) + frame.penalty
        harmless = min(frame.negligible_noise_bounds(hessians, noise, HARMLESS)[0], LARGEST_BOUND * np.max(frame.norms))
        clip = replace(clip, radius=float(max(clip.radius, harmless)))
    return ObjectivePlan(public, n, budget.mu, clip, parameters).with_solvable_modulus()
