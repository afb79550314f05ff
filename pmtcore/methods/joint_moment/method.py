"""``joint-moment``: one whitened moment of all columns, released once; every regression from it is free.

With public rows whitened and measured as in :func:`row_norm`, ``y = root^{-1} z`` for the joint row z of all columns
and ``w = min(1, R^2/|y|^2)``:

    M = (1/n) sum w y y' + G,   G isometric, sigma = sqrt(2) R^2/(mu n)

Norm and radius are chosen from public rows, free (proofs/moment.md, 18.2). Whitened rows are measured in the norm
``z' K^{-p} z``, ``K = mean |z~|^2 z~ z~'``: for Gaussian rows the ordinary one, elsewhere directions in which public
rows reach far count less. The radius has the least predicted error of a regression that one might ask for: random
responses and features, in units of their own sampling error.

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
from pmtcore.base.computed_once import computed_once
from pmtcore.base.messages import InputError, MethodMessage, Note, ReleaseNote
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.strict_json import Json
from pmtcore.mechanisms.grid import MomentSum, from_words, release_integer_moment
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.facts import Facts, Regressions
from pmtcore.methods.joint_moment.derived import Derived, parse
from pmtcore.methods.joint_moment.influence import (
    MOST_SHARED,
    MOST_TENSOR,
    GaussianInfluence,
    Influence,
    Moments,
    RowInfluence,
    Tail,
    as_left_out,
)
from pmtcore.methods.joint_moment.linear import Fit, State, floored, solve
from pmtcore.methods.joint_moment.record import MOST_COLUMNS, Combined, Record, combined, mean_difference_variance
from pmtcore.methods.outcome_interval import OF_JOINT_MOMENT
from pmtcore.methods.parameters import Parameters, choice, parameter, small_budgets, truncation_radius
from pmtcore.methods.registry import Method, Origin, Prediction, StatisticOutcome, StatisticPlan, sound
from pmtcore.public.cholesky import with_positive_diagonal
from pmtcore.public.clipping import HARMLESS, candidate_bounds, moment_only_ball
from pmtcore.public.homogeneity import OPEN, Alarm, BootstrapNull, differing_columns, simulated_null
from pmtcore.public.moments import INTERCEPT, PublicData, joint, public_from_rows, whiten

_LEAST_RADIUS = 1e-6  # below it a radius is a typing error
POWER = 0.75  # of K: best or near it on five tables, where 0, 0.5 and 1 are each worst on one (decision 0018)
# No public row is more than half of K in any direction: one that lies far out says little of where private ones do.
# Without it one split in seven of white wine is no better than the public fit; 0.3 costs where tails are well known.
_MOST_ROW_SHARE, _WEIGHT_ROUNDS = 0.5, 15
# Share of common direction in what truncation takes: 0 costs up to half at small budgets, 0.1 a tenth
_COMMON_SHARE = 0.03
_STRETCHES_TRIED = (1.0, 1.4, 2.0, 2.8, 4.0)  # powers of the root of 2; beyond, a row is little but that column
_RADII_TRIED = 30  # on a log grid over a range of about one to ten: a twelfth apart
_MOST_ROWS = 1000  # public rows behind a choice; more change it by less than its own error
# random questions that a radius is priced by, and coefficients of them that are looked at
_REGRESSIONS, _PAIRS = 60, 120
# Of a coefficient that is no exact one: its residual's share of the column, and the variance of what a row adds to its
# error, which is about 1. Smaller is rounding.
_LEAST_SIZE, _LEAST_VARIANCE = 1e-6, 1e-6


class MomentParameters(Parameters):
    """Public parameters of ``joint-moment``."""

    radius_mode: str = choice(
        "Radius chosen for",
        accuracy="the smallest predicted error of a typical regression",
        inference="a radius so wide that error bands are hardly touched by truncation, at the price of more noise",
    )
    radius: float = truncation_radius()
    weights: str = choice(
        "Column weights",
        tails="directions in which public rows reach far count less in the radius and get more noise",
        none="all whitened directions count alike",
    )
    important: str = parameter(
        "",
        "Columns that matter most",
        "Names separated by semicolons: regressions of these columns get less noise, all others more, by as much "
        "as makes the predicted error of the former least.",
    )
    derived: str = parameter(
        "",
        "Derived columns",
        "Declared by name, separated by semicolons: log(a); square(b); a:b; spline(c, 4). Constants and knots "
        "come from public rows.",
    )
    public_rows: str = parameter(
        "no",
        "Public rows in the record",
        "What the bands need of the public rows. no: only their fourth moments; yes: at most 2000 of the "
        "rows themselves, readable by anybody who has the record. Logistic regressions need them. auto: "
        "as yes.",
        choices=("no", "yes", "auto"),
    )
    shrinkage: str = small_budgets(
        "combine the released moment with the public one by precision", none="use it as it is"
    )


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
        product = Whitening(self.root, self.public.has_intercept).product_for(np.eye(self.dimension), self.dimension)
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
            return GaussianInfluence(self.expected)
        rows = self.rows
        return RowInfluence(rows.inside, rows.factor, self.radius, self.n, self.public.clusters, rows.constant)

    def shared(self) -> Influence:
        """Return what a record holds of the public rows, as far as the parameters let them go along."""
        influence = self.influence
        return (
            _shared(influence, self.parameters.public_rows, self.expected)
            if isinstance(influence, RowInfluence)
            else influence
        )

    @cached_property
    def expected(self) -> np.ndarray:
        """Return the moment (D, D) expected from public rows: left-out rows, weighted."""
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

    @cached_property
    def homogeneity(self) -> BootstrapNull | None:
        """Return the law of the released moment where private rows are like the public ones; ``None`` without rows."""
        rows = self.rows
        if rows is None:
            return None
        return simulated_null(
            self.public,
            rows.left_out,
            ball_weights(rows.lengths**2, self.radius),
            self.n,
            root=self.root,
            names=self.derived.names,
            is_open=bool(np.all(rows.lengths * OPEN <= self.radius)),
        )

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
        return prediction if self.rows is None else OF_JOINT_MOMENT.of(prediction, self.n, self.public.m)

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
        return replace(moment, moments=floored(moment.moments, self.plan.expected, self.plan.sigma))

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
            labels=plan.public.zero_one,
            freedom=self._default_freedom(),
        )

    def _default_freedom(self) -> tuple[float, ...] | None:
        """Return the degrees of freedom of the default regression, where a record has not all public rows."""
        plan, influence = self.plan, self.plan.influence
        shared = plan.shared()
        if not isinstance(influence, RowInfluence) or (isinstance(shared, RowInfluence) and shared.m == influence.m):
            return None
        fit = plan.regression(self.state())
        return tuple(fit.freedom(np.eye(len(fit.a))).tolist())

    def released(self) -> Mapping[str, Json]:
        """Return the record that answers every linear question, and the default regression's residual variance."""
        return self.released_under(None)

    def released_under(self, guarantee: Guarantee | None) -> Mapping[str, Json]:
        """Return the same, its record with this guarantee: a person's where somebody may have several rows."""
        variance = self.plan.regression(self.state()).residual_variance
        record = self.record(guarantee).as_dict()
        return {"residual_variance": variance, "joint_moment": record, **differing_columns(self._alarm)}

    @cached_property
    def _alarm(self) -> Alarm | None:
        """Return the finding that the released moment is not that of rows like the public ones, if it is not."""
        null = self.plan.homogeneity
        return None if null is None else null.alarm(self.statistic[0], self.plan.sigma**2 / 2)

    @property
    def disagrees(self) -> bool:
        """Return whether the released moment differs from the public one by more than noise and sampling explain."""
        return self._alarm is not None

    def notes(self) -> tuple[str, ...]:
        """Return what the noise did, whether rows look alike, and what cannot be said without public rows."""
        notes: list[str] = [] if self._alarm is None else list(self._alarm.notes())
        if np.median(self._combined.weights[0]) < 1 / 2:
            notes.append(Note(ReleaseNote.PUBLIC_MOMENT_WEIGHS_MORE))
        if self.plan.rows is None:
            notes.append(Note(ReleaseNote.PUBLIC_MOMENT_ALONE))
        elif self.plan.parameters.public_rows == "no" and self.plan.dimension > MOST_TENSOR:
            notes.append(Note(ReleaseNote.NO_FOURTH_MOMENTS, limit=MOST_TENSOR))
        return tuple(notes)


def _shared(rows: RowInfluence, share: str, expected: np.ndarray) -> Influence:
    """Return what goes into the record of the public rows."""
    if share != "no":
        step = math.ceil(rows.m / MOST_SHARED)
        groups = None if rows.clusters is None else np.unique(rows.clusters[::step], return_inverse=True)[1]
        return replace(rows, inside=rows.inside[::step], factor=rows.factor[::step], clusters=groups)
    return Moments.of(rows) if rows.inside.shape[1] <= MOST_TENSOR else GaussianInfluence(expected)


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
        "noise",
        "moment",
    ),
    colour="#7A4FB5",
    whitens=True,
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
        raise InputError(MethodMessage.DERIVED_WEIGHTED)
    derived = parse(text, base, public.rows, public.rows_are_weighted)
    rows = derived.extend(public.rows)
    if not np.all(np.isfinite(rows)):
        raise InputError(MethodMessage.DERIVED_NOT_FINITE)
    names = derived.names
    extended = public_from_rows(rows[:, :-1], rows[:, -1], names[:-1], names[-1], clusters=public.clusters)
    return replace(extended, rows_are_weighted=public.rows_are_weighted), derived


@dataclass(frozen=True, eq=False)
class RowNorm:
    """Public rows as the mechanism measures them; everything here is public.

    Attributes:
        root: (D, D) lower triangular; a row z counts by the length of ``y = root^{-1} z``.
        inside: public rows y (m, D); ``factor`` (m,) makes them as long as if left out of the whitening.
        responses: places of the columns whose regressions matter most; empty: all alike.
        constant: whether the first column is the constant.
    """

    root: np.ndarray
    inside: np.ndarray
    factor: np.ndarray
    m: int
    responses: tuple[int, ...] = ()
    constant: bool = False

    @cached_property
    def left_out(self) -> np.ndarray:
        """Return public rows (m, D) as new rows would be."""
        return as_left_out(self.inside, self.factor, self.constant)

    @cached_property
    def lengths(self) -> np.ndarray:
        """Return the lengths (m,) of the left-out rows."""
        return np.linalg.norm(self.left_out, axis=1)

    @property
    def dimension(self) -> int:
        """Return D, the number of columns."""
        return len(self.root)

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return directions (K, D) by which random regressions multiply the moment, in sampling errors.

        Regressions whose coefficient has none are left out: a level on the other levels, without a constant, is exact.
        """
        rng = np.random.default_rng(15)  # the same questions for everybody
        d, directions = self.dimension, []
        root = self.root / np.linalg.norm(self.root, axis=1, keepdims=True)  # columns in units of their own size
        moment = self.inside.T @ self.inside / self.m
        for _ in range(_REGRESSIONS):
            t = int(rng.choice(self.responses)) if self.responses else int(rng.integers(1, d))
            others = np.delete(np.arange(1, d), t - 1)
            chosen = rng.permutation(others)[: int(rng.integers(1, len(others) + 1))] if len(others) else others
            features = root[np.concatenate([[0], chosen])]
            inverse = np.linalg.pinv(features @ moment @ features.T, hermitian=True) @ features
            b = root[t] - (inverse @ moment @ root[t]) @ features
            directions += [(a, b) for a in inverse]
        at = rng.permutation(len(directions))[:_PAIRS]
        a, b = (np.array([directions[i][side] for i in at]) for side in (0, 1))
        sizes = [np.sqrt(np.einsum("ki,ij,kj->k", x, moment, x)) for x in (a, b)]
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = a / sizes[0][:, None], b / sizes[1][:, None]
            varies = np.var((self.inside @ a.T) * (self.inside @ b.T), axis=0) > _LEAST_VARIANCE
        varies &= np.minimum(*sizes) > _LEAST_SIZE
        return (a[varies], b[varies]) if np.any(varies) else (np.eye(1, d), np.eye(1, d, d - 1))

    @cached_property
    def products(self) -> np.ndarray:
        """Return the contribution of each left-out row to each pair's error (m, K)."""
        a, b = self.pairs
        return np.asarray((self.left_out @ a.T) * (self.left_out @ b.T))


def row_norm(public: PublicData, weights: str) -> RowNorm | None:
    """Return public rows in the norm that truncation uses; ``None`` where only a moment is known."""
    if public.whitened is None or public.m is None or public.rows is None:
        return None
    z, left_out = public.whitened_in_sample, public.whitened
    factor = np.linalg.norm(left_out, axis=1) / np.maximum(np.linalg.norm(z, axis=1), 1e-300)
    root = public.factor
    if weights == "tails":
        root = _weighted_root(public, z)
    return RowNorm(root, whiten(root, public.rows), factor, public.m, constant=public.has_intercept)


def penalized_norm(rows: RowNorm, responses: tuple[int, ...], n: int, mu: float) -> RowNorm:
    """Return the rows in a norm that gives regressions of some columns less noise than the others.

    The part of such a column that no other column explains is stretched. Its noise falls by the factor and every row
    gets longer; the factor with the least predicted error of its regressions is chosen.
    """
    if not responses:
        return rows
    own, _ = np.linalg.qr(np.linalg.solve(rows.root, np.eye(rows.dimension)[:, list(responses)]))
    scored = []
    for by in _STRETCHES_TRIED:
        upper = np.asarray(np.linalg.qr((rows.root + (1 / by - 1) * (rows.root @ own) @ own.T).T, mode="r"))
        root = with_positive_diagonal(upper).T
        inside = rows.inside @ np.linalg.solve(root, rows.root).T
        stretched = replace(rows, root=root, inside=inside, responses=responses)
        priced = candidates(stretched, n)
        scored.append((float(np.mean(np.log(priced.prospects(priced.best(mu), mu).errors))), stretched))
    return min(scored, key=lambda each: each[0])[1]


def _weighted_root(public: PublicData, z: np.ndarray) -> np.ndarray:
    """Lower triangular root of ``L K^p L'``, the constant apart; no moment is squared on the way."""
    first = int(public.has_intercept)
    kurtosis = _kurtosis(z[:, first:], np.sum(z**2, axis=1))
    values, vectors = np.linalg.eigh(kurtosis)
    values = np.maximum(values, 1e-6 * values[-1])
    values = (values / np.exp(np.mean(np.log(values)))) ** (POWER / 2)
    half = np.eye(len(public.factor))
    half[first:, first:] = vectors * values  # K^{p/2}, a rotation apart
    upper = np.asarray(np.linalg.qr(half.T @ public.factor.T, mode="r"))
    return with_positive_diagonal(upper).T


def _kurtosis(x: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return ``mean v |z|^2 x x'`` (d, d) with weights v such that no row has more than its share in any direction."""
    m, d = x.shape
    share, weights = min(max(_MOST_ROW_SHARE, 2 * d / m), 0.9), np.ones(m)
    for _ in range(_WEIGHT_ROUNDS):
        fourth = (x.T * (weights * squares)) @ x / m
        half = np.linalg.cholesky(fourth + 1e-12 * np.trace(fourth) * np.eye(d))
        own = weights * squares * np.sum(np.linalg.solve(half, x.T) ** 2, axis=0) / m
        odds = np.maximum(own, 1e-300) / np.maximum(1 - own, 1e-12)  # exact where a direction has one such row
        weights = np.minimum(1.0, weights * (share / (1 - share)) / odds)
    return np.asarray((x.T * (weights * squares)) @ x / m)


def one_sided(rows: RowNorm, radius: float, n: int) -> np.ndarray:
    """Return what truncation moves random regressions by (K,), in sampling errors, where all of it pulls one way.

    The choice of a radius takes the rows' signs as they come, which codes for missing values do not do: they are the
    same number in every row.
    """
    lost = 1 - ball_weights(rows.lengths**2, radius)
    return np.asarray(math.sqrt(n) * np.mean(lost[:, None] * np.abs(rows.products), axis=0))


@dataclass(frozen=True)
class Prospects:
    """Predicted errors (K,) of random regressions in units of their own sampling errors, squared.

    Attributes:
        noise, truncation: to the non-private coefficient; ``public``: of the public fit.
    """

    noise: np.ndarray
    truncation: np.ndarray
    public: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Return expected distances (K,) to non-private coefficients, combined with the public fit by precision."""
        mine = self.noise + self.truncation
        return np.sqrt(1 / (1 / np.maximum(mine, 1e-12) + 1 / self.public))


@dataclass(frozen=True)
class Candidates:
    """Radii (C,) with what does not depend on the budget: truncation's squared error (C, K), the noise's shape (K,)."""

    radii: np.ndarray
    truncation: np.ndarray
    shape: np.ndarray
    public: np.ndarray
    n: int

    def prospects(self, at: int, mu: float) -> Prospects:
        """Return what to expect at one of the radii."""
        noise = self.shape * (self.radii[at] ** 2 / mu) ** 2 / self.n
        return Prospects(noise, self.truncation[at], self.public)

    def best(self, mu: float) -> int:
        """Place of the radius with the least error at this budget, in the geometric mean: of a typical regression."""
        return int(np.argmin([np.mean(np.log(self.prospects(at, mu).errors)) for at in range(len(self.radii))]))

    def negligible_noise_radius(self, mu: float) -> float:
        """Return the radius whose noise is a fiftieth of a typical regression's sampling error: it cannot be seen."""
        return math.sqrt(mu) * (HARMLESS**2 * self.n / float(np.median(self.shape))) ** 0.25

    def nearest(self, radius: float) -> int:
        """Place of the candidate nearest to a radius."""
        return int(np.argmin(np.abs(np.log(self.radii / radius))))


@computed_once(most=9)  # sizes of a plan
def candidates(rows: RowNorm, n: int) -> Candidates:
    """Return radii and what each is predicted to cost at n private rows."""
    step = math.ceil(rows.m / _MOST_ROWS)
    lengths, products = rows.lengths[::step], rows.products[::step]
    m, tail = len(lengths), Tail.of(lengths, n)
    radii = candidate_bounds(lengths, 0.5, 4.0, _RADII_TRIED)
    direction = products[tail.rows] / np.maximum(lengths[tail.rows] ** 2, 1e-300)[:, None]
    body = np.ones(m, dtype=bool)
    body[tail.rows] = False
    lost = []
    for radius in radii:
        moves = (1 - np.minimum(1.0, radius**2 / np.maximum(lengths**2, 1e-300)))[:, None] * products
        cut = np.maximum(tail.lengths**2 - radius**2, 0.0)
        square = np.sum(moves[body] ** 2, axis=0) / m + np.sum(cut**2 * tail.shares) * np.mean(direction**2, axis=0)
        line = np.sum(np.abs(moves[body]), axis=0) / m + np.sum(cut * tail.shares) * np.mean(np.abs(direction), axis=0)
        lost.append(square / n + _COMMON_SHARE * line**2)
    a, b = rows.pairs
    shape = np.sum(a**2, axis=1) * np.sum(b**2, axis=1) + np.sum(a * b, axis=1) ** 2
    public = n * np.var(products, axis=0) * (1 / rows.m + 1 / n)
    return Candidates(radii, n * np.array(lost), shape, public, n)


def chosen(rows: RowNorm | None, dimension: int, n: int, mu: float, *, parameters: MomentParameters) -> float:
    """Return the truncation radius: as given, covering (inference), or of least predicted error (accuracy)."""
    if parameters.radius:
        return float(parameters.radius)
    covering = parameters.radius_mode == "inference"
    if rows is None:
        return moment_only_ball(dimension).radius * (math.sqrt(2.0) if covering else 1.0)
    if not covering:
        priced = candidates(rows, n)
        return max(float(priced.radii[priced.best(mu)]), priced.negligible_noise_radius(mu))
    top = min(float(np.max(rows.lengths)), Tail.expected_longest(rows.lengths))
    wide = 2 * top  # four times the largest public norm^2 where the noise is then below the sampling error, else twice
    return wide if (wide**2 / mu) ** 2 < n else math.sqrt(2.0) * top
