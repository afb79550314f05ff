"""``joint-moment``: one whitened moment of all columns, released once; every regression from it is free.

With public rows whitened and measured as in ``norm``, ``y = root^{-1} z`` for the joint row z of all columns and
``w = min(1, R^2/|y|^2)``:

    M = (1/n) sum w y y' + G,   G isometric, sigma = sqrt(2) R^2/(mu n)

Neighbours: replace-one. Public: the public data, n, the coordinates and the radius chosen from them, the rules of
derived columns. Goes past the papers: the pilot of ``joint-pmt`` with no column singled out; proof in
proofs/moment.md, 18.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours, Spend, reporting_delta
from pmtcore.base.bands import Bands
from pmtcore.base.messages import InputError, MethodMessage, Refusal, RefusedError
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.strict_json import Json
from pmtcore.mechanisms.grid import MomentSum, from_words, release_integer_moment
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.facts import Facts, Regressions
from pmtcore.methods.joint_moment.derived import Derived, parse
from pmtcore.methods.joint_moment.influence import MOST_SHARED, MOST_TENSOR, Gaussian, Influence, Moments, Rows
from pmtcore.methods.joint_moment.linear import Fit, State, floored, solve
from pmtcore.methods.joint_moment.norm import (
    Prospects,
    RowNorm,
    candidates,
    chosen,
    one_sided,
    penalized_norm,
    row_norm,
)
from pmtcore.methods.joint_moment.parameters import MomentParameters
from pmtcore.methods.joint_moment.record import MOST_COLUMNS, Combined, Record, combined, mean_difference_variance
from pmtcore.methods.outcome_interval import OF_JOINT_MOMENT
from pmtcore.methods.registry import Method, Origin, Prediction, StatisticOutcome, StatisticPlan, sound
from pmtcore.public.moments import INTERCEPT, PublicData, joint, public_from_rows

_LEAST_RADIUS = 1e-6  # below it a radius is a typing error


@dataclass(frozen=True, eq=False)
class MomentPlan(StatisticPlan[np.ndarray]):
    """``joint-moment`` with coordinates, radius and noise fixed."""

    public: PublicData  # derived columns among the features
    derived: Derived
    target: str
    features: tuple[int, ...]
    n: int
    mu: float
    radius: float
    rows: RowNorm | None
    parameters: MomentParameters

    @property
    def dimension(self) -> int:
        """Return D, the number of columns of the moment."""
        return len(self.derived.names)

    @property
    def clusters_errors(self) -> bool:
        """Return whether the public rows go along in the record: fourth moments do not tell groups apart."""
        return self.parameters.public_rows != "no"

    @property
    def root(self) -> np.ndarray:
        """Return the mechanism's coordinates (D, D)."""
        return self.public.factor if self.rows is None else self.rows.root

    @property
    def sigma(self) -> float:
        """Return the noise scale: tight replace-one sensitivity of the moment over mu."""
        return sigma_for(moment_sensitivity(self.radius, self.n), self.mu)

    def parts(self) -> tuple[Spend, ...]:
        """Return the spend on the moment."""
        return (Spend.gaussian("moment of all columns", moment_sensitivity(self.radius, self.n), self.sigma),)

    @cached_property
    def statistic(self) -> MomentSum:
        """Return the map from rows of all columns to what is summed."""
        product = Whitening(self.root, self.public.has_intercept).through(np.eye(self.dimension), self.dimension)
        return MomentSum(product, self.radius)

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return ``sum y y'`` of truncated rows on the integer grid (D, D), exact, private."""
        statistic, extend = self.statistic, self.derived.extend

        def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            z = extend(joint(features, response))
            return statistic(z[:, :-1], z[:, -1])

        return rows.sum(block).map(from_words)

    def perturb(self, statistic: Private[np.ndarray], source: NoiseSource, trials: int) -> MomentOutcome:
        """Return released moments.

        Guarantee: mu-GDP under replace-one: one Gaussian mechanism on a statistic of Frobenius sensitivity
        ``sqrt(2) R^2/n`` (proofs/moment.md, 18.1), its noise integers (proofs/noise.md, 14); all else is
        post-processing.
        """
        released = release_integer_moment(statistic, self.mu, self.n, self.radius, source=source, trials=trials)
        return MomentOutcome(self, released)

    @cached_property
    def influence(self) -> Influence:
        """Return the influence of sampling and truncation, from all public rows."""
        if self.rows is None:
            return Gaussian(self.expected)
        return Rows(self.rows.inside, self.rows.factor, self.radius, self.n, self.public.clusters)

    def shared(self) -> Influence:
        """Return what a record holds of the public rows, as far as the parameters let them go along."""
        influence = self.influence
        return (
            _shared(influence, self.parameters.public_rows, self.expected) if isinstance(influence, Rows) else influence
        )

    @cached_property
    def expected(self) -> np.ndarray:
        """Return the moment (D, D) that public rows lead one to expect: left-out rows, weighted."""
        if self.rows is None:
            m = self.public.m
            return np.eye(self.dimension) * (1.0 if m is None else m / max(m - self.dimension - 1, 1))
        weights = ball_weights(self.rows.lengths**2, self.radius)
        return np.asarray(self.rows.left_out.T @ (weights[:, None] * self.rows.left_out) / self.rows.m)

    @cached_property
    def prior(self) -> np.ndarray:
        """Return variances (D, D) of entries of the private moment around the expected one, if rows are alike."""
        if self.rows is None:
            return mean_difference_variance(self.n, self.public.m) * (1 + np.eye(self.dimension))
        truncated = self.rows.left_out * np.sqrt(ball_weights(self.rows.lengths**2, self.radius))[:, None]
        square = (truncated**2).T @ truncated**2 / self.rows.m
        variance = np.maximum(square - self.expected**2, 1e-3 * square) * mean_difference_variance(self.n, self.rows.m)
        return np.asarray(np.maximum(variance, 1e-12 * np.max(variance)))  # the constant squared does not vary

    @cached_property
    def prospects(self) -> Prospects | None:
        """Return predicted errors of random regressions; ``None`` where only a moment is known."""
        if self.rows is None or self.dimension < 3:
            return None
        priced = candidates(self.rows, self.n)
        return priced.prospects(priced.nearest(self.radius), self.mu)

    def state(self, moment: np.ndarray, weight: np.ndarray | None = None, widened: float = 1.0) -> State:
        """Return a released moment (D, D) with what its bands need; ``weight`` (D, D): combined with the public one."""
        share = np.ones_like(moment) if weight is None else weight
        relative_variance = widened * mean_difference_variance(self.n, self.public.m)
        return State(
            self.root,
            moment,
            share,
            self.sigma,
            relative_variance,
            self.expected,
            self.influence,
            self.n,
            self.public.m or 0,
        )

    def regression(self, state: State) -> Fit:
        """Return the regression of the target on all given features."""
        return solve(state, self.derived.names.index(self.target), self.features)

    def with_public(self, moments: np.ndarray) -> Combined:
        """Return moments (T, D, D) combined with the expected one; as they are where nothing is to be shrunk."""
        return combined(moments, self.expected, self.prior, self.sigma, shrunk=self.parameters.shrinkage == "auto")

    def predicted(self) -> Prediction | None:
        """Return errors of the default regression, as if the expected moment were released and combined with itself."""
        weights = self.with_public(self.expected[None]).weights[0]
        fit = self.regression(self.state(self.expected, weights))
        privacy, sampling, truncation = (np.sqrt(np.diag(p)) for p in (fit.privacy, fit.sampling, fit.truncation))
        prediction = Prediction(privacy, sampling, truncation)
        return prediction if self.rows is None else OF_JOINT_MOMENT.of(prediction, self.n, self.public.m, self.mu)

    def facts(self) -> Facts:
        """Return the radius, noise, and what to expect of a typical and of the worst regression."""
        beyond = expected = None
        if self.rows is not None:
            beyond = float(np.mean(self.rows.lengths > self.radius))
        if self.prospects is not None and self.rows is not None:
            errors, pulled = self.prospects.errors, one_sided(self.rows, self.radius, self.n)
            expected = Regressions(
                typical_error_in_standard_errors=float(np.median(errors)),
                nine_in_ten_errors_in_standard_errors=float(np.quantile(errors, 0.9)),
                worst_error_in_standard_errors=float(np.max(errors)),
                public_error_in_standard_errors=float(np.median(np.sqrt(self.prospects.public))),
                one_sided_error_in_standard_errors=float(np.max(np.sqrt(self.prospects.noise + pulled**2))),
            )
        return Facts(
            radius=self.radius,
            noise_sd=self.sigma,
            noise_over_signal=self.sigma * math.sqrt(2 * self.dimension),
            predicted_truncation_rate=beyond,
            regressions=expected,
            more={"columns": self.dimension},
        )


class MomentOutcome(StatisticOutcome[MomentPlan]):
    """Post-processing of released moments (trials, D, D)."""

    @cached_property
    def _combined(self) -> Combined:
        moment = self.plan.with_public(self.statistic)
        return replace(moment, moments=floored(moment.moments, self.plan.expected))

    def state(self, trial: int = 0) -> State:
        """Return the moment of a trial, combined with the public one, ready for questions."""
        moment = self._combined
        return self.plan.state(moment.moments[trial], moment.weights[trial], float(moment.widened[trial]))

    @cached_property
    def coefficients(self) -> np.ndarray:
        """Return the default regression of each trial (trials, d)."""
        plan = self.plan
        return np.array([plan.regression(plan.state(moment)).coefficients for moment in self._combined.moments])

    def bands(self) -> Bands:
        """Return the bands of the default regression of the first trial (proofs/moment.md, 18.3)."""
        return self.plan.regression(self.state()).bands

    def record(self, guarantee: Guarantee | None = None) -> Record:
        """Return the first trial's record, which states this guarantee; ``None``: that of one row."""
        plan = self.plan
        stated = guarantee or Guarantee(plan.mu, Neighbours.REPLACE_ONE, reporting_delta(plan.n))
        return Record(
            derived=plan.derived,
            target=plan.target,
            features=plan.features,
            root=plan.root,
            noisy=self.statistic[0],
            expected=plan.expected,
            prior=plan.prior,
            sigma=plan.sigma,
            radius=plan.radius,
            n=plan.n,
            m=plan.public.m,
            influence=plan.shared(),
            spread=_spread(plan.public),
            guarantee=stated.as_dict(),
            shrunk=plan.parameters.shrinkage == "auto",
            labels=_labels(plan.public),
            freedom=self._default_freedom(),
        )

    def _default_freedom(self) -> tuple[float, ...] | None:
        """Return the degrees of freedom of the default regression, where a record has not all public rows."""
        plan, influence = self.plan, self.plan.influence
        shared = plan.shared()
        if not isinstance(influence, Rows) or (isinstance(shared, Rows) and shared.m == influence.m):
            return None
        fit = plan.regression(self.state())
        return tuple(fit.freedom(np.eye(len(fit.a))).tolist())

    def released(self) -> Mapping[str, Json]:
        """Return the record that answers every linear question, and the default regression's residual variance."""
        return self.released_under(None)

    def released_under(self, guarantee: Guarantee | None) -> Mapping[str, Json]:
        """Return the same, its record with this guarantee: a person's where somebody may have several rows."""
        variance = self.plan.regression(self.state()).residual_variance
        return {"residual_variance": variance, "joint_moment": self.record(guarantee).as_dict()}

    def notes(self) -> tuple[str, ...]:
        """Return what the noise did, and what cannot be said without public rows."""
        notes = []
        if np.median(self._combined.weights[0]) < 1 / 2:
            notes.append("At this budget the released moment weighs less than the public one.")
        if self.plan.rows is None:
            notes.append(
                "Only a public moment is known: bands assume Gaussian rows and have no truncation part, there are no "
                "derived columns, and logistic regressions need public rows."
            )
        elif self.plan.parameters.public_rows == "no" and self.plan.dimension > MOST_TENSOR:
            notes.append(
                f"With more than {MOST_TENSOR} columns the record keeps no fourth moments: bands from it assume "
                "Gaussian rows and have no truncation part. Choose public_rows=yes if the public rows may go along."
            )
        return tuple(notes)


def _shared(rows: Rows, share: str, expected: np.ndarray) -> Influence:
    """Return what goes into the record of the public rows."""
    if share != "no":
        step = math.ceil(rows.m / MOST_SHARED)
        groups = None if rows.clusters is None else np.unique(rows.clusters[::step], return_inverse=True)[1]
        return replace(rows, inside=rows.inside[::step], factor=rows.factor[::step], clusters=groups)
    return Moments.of(rows) if rows.inside.shape[1] <= MOST_TENSOR else Gaussian(expected)


def _labels(public: PublicData) -> tuple[str, ...]:
    """Return columns that are 0 or 1 in every public row, and not one of them throughout."""
    if public.rows is None:
        return ()
    binary = np.all((public.rows == 0) | (public.rows == 1), axis=0) & (np.ptp(public.rows, axis=0) > 0)
    return tuple(name for name, is_ in zip((*public.names, public.target), binary, strict=True) if is_)


def _spread(public: PublicData) -> np.ndarray:
    """Return the public standard deviation (D,) of each column; root mean square without an intercept."""
    moment = public.moment
    mean = moment[0] if public.has_intercept else np.zeros(len(moment))
    return np.asarray(np.sqrt(np.maximum(np.diag(moment) - mean**2, 0.0)))


@Method(
    id="joint-moment",
    title="Joint moment of all columns",
    summary="One whitened moment of all columns: every regression among them is then free, with bands, for anybody "
    "who holds the record.",
    origin=Origin("beyond A and B"),
    claim=sound(
        "One Gaussian mechanism with a tight sensitivity; whatever is computed from it costs no more",
    ),
    colour="#7A4FB5",
)
def plan(public: PublicData, n: int, budget: Budget, parameters: MomentParameters) -> MomentPlan:
    """Plan ``joint-moment`` for these public data, n private rows and this total budget.

    Raises:
        InputError: derived columns without public rows, or that are collinear; a radius of next to nothing.
    """
    if 0 < parameters.radius < _LEAST_RADIUS:
        raise InputError(MethodMessage.TINY_BOUND, name="radius", least=_LEAST_RADIUS, given=f"{parameters.radius:g}")
    base = (*public.names, public.target)
    if parameters.public_rows == "no":
        public = replace(public, clusters=None)
    extended, derived = _with_derived(public, base, parameters.derived)
    if len(derived.names) > MOST_COLUMNS:
        raise InputError(MethodMessage.MOMENT_TOO_WIDE, count=len(derived.names), limit=MOST_COLUMNS)
    rows = row_norm(extended, parameters.weights)
    responses = _responses(parameters.important, derived.names)
    if rows is not None:
        rows = penalized_norm(rows, responses, n, budget.mu)
    elif responses:
        raise InputError(MethodMessage.IMPORTANT_NEED_ROWS)
    radius = chosen(rows, len(derived.names), n, budget.mu, parameters=parameters)
    places = tuple(range(public.d))
    return MomentPlan(extended, derived, public.target, places, n, budget.mu, radius, rows, parameters)


def _responses(text: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return places of the columns that matter most.

    Raises:
        InputError: an unknown column, or the constant.
    """
    wanted = list(dict.fromkeys(part.strip() for part in text.split(";") if part.strip()))
    known = [name for name in names if name != INTERCEPT]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise InputError(MethodMessage.NO_IMPORTANT_COLUMN, columns=unknown, present=known)
    return tuple(names.index(name) for name in wanted)


def _with_derived(public: PublicData, base: tuple[str, ...], text: str) -> tuple[PublicData, Derived]:
    """Return public data with derived columns among the features."""
    if not text.strip():
        return public, Derived(base, weighted=public.rows_are_weighted)
    if public.rows is None:
        raise InputError(MethodMessage.DERIVED_NEED_ROWS)
    if public.rows_are_weighted and not public.has_intercept:
        raise RefusedError(Refusal.WEIGHTS, MethodMessage.DERIVED_WEIGHTED)
    derived = parse(text, base, public.rows, public.rows_are_weighted)
    rows = derived.extend(public.rows)
    if not np.all(np.isfinite(rows)):
        raise InputError(MethodMessage.DERIVED_NOT_FINITE)
    names = derived.names
    extended = public_from_rows(rows[:, :-1], rows[:, -1], names[:-1], names[-1], clusters=public.clusters)
    return replace(extended, rows_are_weighted=public.rows_are_weighted), derived
