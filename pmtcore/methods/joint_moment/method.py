"""``joint-moment``: one whitened moment of all columns, released once; every regression from it is free.

With the coordinates of :func:`row_norm`, ``y = root^{-1} z`` for the joint row z of all columns and
``w = min(1, R^2/|y|^2)``:

    M = (1/n) sum w y y' + G,   G isometric, sigma = sqrt(2) R^2/(mu n)

Norm and radius are chosen from public rows at no cost (proofs/moment.md, 18.2). The squared norm of a whitened row is
``z~' K^{-p} z~`` with ``K = mean |z~|^2 z~ z~'``, which gives directions with heavy tails less weight; for Gaussian
rows it is proportional to the Euclidean norm. The radius minimizes the predicted error of regressions with random
responses and features, in units of their sampling error.

Neighbours: replace-one. Public: the public data, n, the coordinates and the radius chosen from them, the rules of
derived columns. Goes past the papers: the pilot of ``joint-pmt`` without a distinguished response; proof in
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
from pmtcore.mechanisms.grid import MomentSum, join_words, release_integer_moment
from pmtcore.mechanisms.noise import NoiseSource, sigma_for
from pmtcore.mechanisms.truncation import ball_weights, moment_sensitivity
from pmtcore.mechanisms.whitening import Whitening
from pmtcore.methods.facts import Facts, Regressions
from pmtcore.methods.joint_moment.derived import Derived, parse
from pmtcore.methods.joint_moment.influence import (
    MOST_ROWS_IN_RECORD,
    MOST_TENSOR,
    GaussianInfluence,
    Influence,
    Moments,
    RowInfluence,
    Tail,
    left_out_rows,
)
from pmtcore.methods.joint_moment.linear import Fit, State, floor_moments, solve
from pmtcore.methods.joint_moment.record import (
    MOST_COLUMNS,
    Combined,
    Record,
    combine_moments,
    mean_difference_variance,
)
from pmtcore.methods.outcome_interval import OF_JOINT_MOMENT
from pmtcore.methods.parameters import Parameters, choice, parameter, small_budgets, truncation_radius
from pmtcore.methods.registry import Method, Origin, Prediction, StatisticOutcome, StatisticPlan, sound
from pmtcore.public.cholesky import with_positive_diagonal
from pmtcore.public.clipping import HARMLESS, candidate_bounds, moment_only_ball
from pmtcore.public.homogeneity import OPEN_BALL_RATIO, Alarm, BootstrapNull, differing_columns, simulated_null
from pmtcore.public.moments import INTERCEPT, PublicData, joint_rows, public_from_rows, whiten

_LEAST_RADIUS = 1e-6  # smaller radii are refused as typing errors
# Power p of K in the norm: best or nearly so on five tables; 0, 0.5 and 1 are each worst on one (decision 0018)
POWER = 0.75
# Largest share of one public row in K along any direction, since one long row is weak evidence of a heavy tail, and the
# rounds of reweighting. Without the limit one split in seven of white wine is no better than the public fit; 0.3 loses
# accuracy where tails are well known.
_MOST_ROW_SHARE, _WEIGHT_ROUNDS = 0.5, 15
# Weight of the squared mean absolute shift in the truncation error: 0 costs up to half at small budgets, 0.1 a tenth
_COMMON_SHARE = 0.03
_STRETCHES_TRIED = (1.0, 1.4, 2.0, 2.8, 4.0)  # candidate factors on the important columns
_RADII_TRIED = 30  # number of candidate radii on a log grid; neighbours differ by about a twelfth
_MOST_ROWS = 1000  # most public rows that a choice is computed from; more change it by less than its own error
# Number of random regressions from which a radius is priced, and of their coefficients that are used
_REGRESSIONS, _PAIRS = 60, 120
# Coefficients are exact, and not used, where the residual's share of the column or the variance of a row's contribution
# to the error (usually about 1) is below these: they are rounding errors.
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
        """Return whether the record contains public rows: fourth moments alone have no groups."""
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
        """Return the statistic, a sum over rows of all columns."""
        product = Whitening(self.root, self.public.has_intercept).product_for(np.eye(self.dimension), self.dimension)
        return MomentSum(product, self.radius)

    def measure(self, rows: PrivateRows) -> Private[np.ndarray]:
        """Return ``sum y y'`` of truncated rows on the integer grid (D, D), exact, private."""
        statistic, extend = self.statistic, self.derived.extend

        def block(features: np.ndarray, response: np.ndarray) -> np.ndarray:
            z = extend(joint_rows(features, response))
            return statistic(z[:, :-1], z[:, -1])

        return rows.sum(block).map(join_words)

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
            return GaussianInfluence(self.expected_moment)
        rows = self.rows
        return RowInfluence(rows.inside, rows.factor, self.radius, self.n, self.public.clusters, rows.constant)

    def published_influence(self) -> Influence:
        """Return the influence that the record contains: public rows, their moments, or neither, by the parameters."""
        influence = self.influence
        return (
            _shared(influence, self.parameters.public_rows, self.expected_moment)
            if isinstance(influence, RowInfluence)
            else influence
        )

    @cached_property
    def expected_moment(self) -> np.ndarray:
        """Return the expected moment (D, D): that of left-out, truncated public rows."""
        if self.rows is None:
            m = self.public.m
            return np.eye(self.dimension) * (1.0 if m is None else m / max(m - self.dimension - 1, 1))
        weights = ball_weights(self.rows.lengths**2, self.radius)
        return np.asarray(self.rows.left_out.T @ (weights[:, None] * self.rows.left_out) / self.rows.m)

    @cached_property
    def prior(self) -> np.ndarray:
        """Return variances (D, D) of the private moment's entries around the expected one, if of one population."""
        if self.rows is None:
            return mean_difference_variance(self.n, self.public.m) * (1 + np.eye(self.dimension))
        truncated = self.rows.left_out * np.sqrt(ball_weights(self.rows.lengths**2, self.radius))[:, None]
        square = (truncated**2).T @ truncated**2 / self.rows.m
        variance = np.maximum(square - self.expected_moment**2, 1e-3 * square) * mean_difference_variance(
            self.n, self.rows.m
        )
        return np.asarray(np.maximum(variance, 1e-12 * np.max(variance)))  # the squared constant has variance 0

    @cached_property
    def prospects(self) -> Prospects | None:
        """Return predicted errors of random regressions; ``None`` without public rows."""
        if self.rows is None or self.dimension < 3:
            return None
        priced = candidate_radii(self.rows, self.n)
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
            is_open=bool(np.all(rows.lengths * OPEN_BALL_RATIO <= self.radius)),
        )

    def state(self, moment: np.ndarray, weight: np.ndarray | None = None, widened: float = 1.0) -> State:
        """Return a moment (D, D) with all that intervals need.

        Args:
            moment: released, and combined with the expected moment where ``weight`` is given.
            weight: share (D, D) of the released moment in each entry; ``None``: 1.
            widened: factor by which the prior was inflated.
        """
        share = np.ones_like(moment) if weight is None else weight
        relative_variance = widened * mean_difference_variance(self.n, self.public.m)
        return State(
            self.root,
            moment,
            share,
            self.sigma,
            relative_variance,
            self.expected_moment,
            self.influence,
            self.n,
            self.public.m or 0,
        )

    def regression(self, state: State) -> Fit:
        """Return the regression of the target on all given features."""
        return solve(state, self.derived.names.index(self.target), self.features)

    def with_public(self, moments: np.ndarray) -> Combined:
        """Return moments (T, D, D) combined with the expected one, or unchanged where shrinkage is switched off."""
        return combine_moments(
            moments, self.expected_moment, self.prior, self.sigma, shrunk=self.parameters.shrinkage == "auto"
        )

    def predicted(self) -> Prediction | None:
        """Return predicted errors of the default regression, with the expected moment in place of the released one."""
        weights = self.with_public(self.expected_moment[None]).weights[0]
        fit = self.regression(self.state(self.expected_moment, weights))
        privacy, sampling, truncation = (np.sqrt(np.diag(p)) for p in (fit.privacy, fit.sampling, fit.truncation))
        prediction = Prediction(privacy, sampling, truncation)
        return prediction if self.rows is None else OF_JOINT_MOMENT.of(prediction, self.n, self.public.m)

    def facts(self) -> Facts:
        """Return the radius, the noise, and expected errors of a typical and of the worst regression."""
        beyond = expected = None
        if self.rows is not None:
            beyond = float(np.mean(self.rows.lengths > self.radius))
        if self.prospects is not None and self.rows is not None:
            errors, pulled = self.prospects.errors, one_sided_bias(self.rows, self.radius, self.n)
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
        return replace(moment, moments=floor_moments(moment.moments, self.plan.expected_moment, self.plan.sigma))

    def state(self, trial: int = 0) -> State:
        """Return the moment of a trial, combined with the public one, with all that regressions and intervals need."""
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
        """Return the record of the first trial with this guarantee; ``None``: the guarantee for one row."""
        plan = self.plan
        stated = guarantee or Guarantee(plan.mu, Neighbours.REPLACE_ONE, reporting_delta(plan.n))
        return Record(
            derived=plan.derived,
            target=plan.target,
            features=plan.features,
            root=plan.root,
            noisy=self.statistic[0],
            expected=plan.expected_moment,
            prior=plan.prior,
            sigma=plan.sigma,
            radius=plan.radius,
            n=plan.n,
            m=plan.public.m,
            influence=plan.published_influence(),
            spread=_spread(plan.public),
            guarantee=stated.as_dict(),
            shrunk=plan.parameters.shrinkage == "auto",
            labels=plan.public.zero_one,
            freedom=self._default_freedom(),
        )

    def _default_freedom(self) -> tuple[float, ...] | None:
        """Return the degrees of freedom of the default regression; ``None`` where the record has all public rows."""
        plan, influence = self.plan, self.plan.influence
        shared = plan.published_influence()
        if not isinstance(influence, RowInfluence) or (isinstance(shared, RowInfluence) and shared.m == influence.m):
            return None
        fit = plan.regression(self.state())
        return tuple(fit.freedom(np.eye(len(fit.a))).tolist())

    def released(self) -> Mapping[str, Json]:
        """Return the record for all regressions, and the residual variance of the default one."""
        return self.released_under(None)

    def released_under(self, guarantee: Guarantee | None) -> Mapping[str, Json]:
        """Return :meth:`released`, with this guarantee in the record; where persons have several rows, a person's."""
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
        """Return the effects of noise, whether rows look alike, and the limits of what is known without public rows."""
        notes: list[str] = [] if self._alarm is None else list(self._alarm.notes())
        if np.median(self._combined.weights[0]) < 1 / 2:
            notes.append(Note(ReleaseNote.PUBLIC_MOMENT_WEIGHS_MORE))
        if self.plan.rows is None:
            notes.append(Note(ReleaseNote.PUBLIC_MOMENT_ALONE))
        elif self.plan.parameters.public_rows == "no" and self.plan.dimension > MOST_TENSOR:
            notes.append(Note(ReleaseNote.NO_FOURTH_MOMENTS, limit=MOST_TENSOR))
        return tuple(notes)


def _shared(rows: RowInfluence, share: str, expected: np.ndarray) -> Influence:
    """Return the influence that goes into the record: some of the rows, their moments, or a Gaussian approximation."""
    if share != "no":
        step = math.ceil(rows.m / MOST_ROWS_IN_RECORD)
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
    radius = choose_radius(rows, len(derived.names), n, budget.mu, parameters=parameters)
    places = tuple(range(public.d))
    return MomentPlan(extended, derived, public.target, places, n, budget.mu, radius, rows, parameters)


def _responses(text: str, names: tuple[str, ...]) -> tuple[int, ...]:
    """Return indices of the columns that the user named as important.

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
    """Public rows in the coordinates of the mechanism; everything here is public.

    Attributes:
        root: (D, D) lower triangular; the norm of a row z is the length of ``y = root^{-1} z``.
        inside: public rows y (m, D).
        factor: ratio (m,) of each row's length as if left out of the whitening to its length.
        m: number of public rows.
        responses: indices of the important columns; empty: all are equally important.
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
        """Return public rows (m, D), each as if left out of the whitening."""
        return left_out_rows(self.inside, self.factor, self.constant)

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
        """Return directions a and b (K, D): coefficients of random regressions change by ``a'dM b``.

        They are scaled so that the change is in units of the sampling error. Exact coefficients, which have none, are
        omitted: an example is the regression of a level on the other levels without a constant.
        """
        rng = np.random.default_rng(15)  # the same regressions in every plan
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
    """Return public rows in the coordinates of truncation; ``None`` without public rows."""
    if public.whitened is None or public.m is None or public.rows is None:
        return None
    z, left_out = public.whitened_in_sample, public.whitened
    factor = np.linalg.norm(left_out, axis=1) / np.maximum(np.linalg.norm(z, axis=1), 1e-300)
    root = public.factor
    if weights == "tails":
        root = _weighted_root(public, z)
    return RowNorm(root, whiten(root, public.rows), factor, public.m, constant=public.has_intercept)


def penalized_norm(rows: RowNorm, responses: tuple[int, ...], n: int, mu: float) -> RowNorm:
    """Return the rows in a norm that gives regressions of the important columns less noise than the others.

    The residual of an important column on all others is multiplied by a factor. Its noise falls by the factor, and
    every row gets longer. The factor has the least predicted error of these regressions.
    """
    if not responses:
        return rows
    basis, _ = np.linalg.qr(np.linalg.solve(rows.root, np.eye(rows.dimension)[:, list(responses)]))
    scored = []
    for by in _STRETCHES_TRIED:
        upper = np.asarray(np.linalg.qr((rows.root + (1 / by - 1) * (rows.root @ basis) @ basis.T).T, mode="r"))
        root = with_positive_diagonal(upper).T
        inside = rows.inside @ np.linalg.solve(root, rows.root).T
        stretched = replace(rows, root=root, inside=inside, responses=responses)
        priced = candidate_radii(stretched, n)
        scored.append((float(np.mean(np.log(priced.prospects(priced.best(mu), mu).errors))), stretched))
    return min(scored, key=lambda each: each[0])[1]


def _weighted_root(public: PublicData, z: np.ndarray) -> np.ndarray:
    """Return the lower triangular root of ``L K^p L'``, K without the constant, from a QR decomposition."""
    first = int(public.has_intercept)
    kurtosis = _kurtosis(z[:, first:], np.sum(z**2, axis=1))
    values, vectors = np.linalg.eigh(kurtosis)
    values = np.maximum(values, 1e-6 * values[-1])
    values = (values / np.exp(np.mean(np.log(values)))) ** (POWER / 2)
    half = np.eye(len(public.factor))
    half[first:, first:] = vectors * values  # K^{p/2} up to a rotation
    upper = np.asarray(np.linalg.qr(half.T @ public.factor.T, mode="r"))
    return with_positive_diagonal(upper).T


def _kurtosis(x: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """Return ``mean v |z|^2 x x'`` (d, d) with weights v that limit the share of a row in any direction."""
    m, d = x.shape
    share, weights = min(max(_MOST_ROW_SHARE, 2 * d / m), 0.9), np.ones(m)
    for _ in range(_WEIGHT_ROUNDS):
        fourth = (x.T * (weights * squares)) @ x / m
        half = np.linalg.cholesky(fourth + 1e-12 * np.trace(fourth) * np.eye(d))
        leverage = weights * squares * np.sum(np.linalg.solve(half, x.T) ** 2, axis=0) / m
        odds = np.maximum(leverage, 1e-300) / np.maximum(1 - leverage, 1e-12)  # exact with one such row per direction
        weights = np.minimum(1.0, weights * (share / (1 - share)) / odds)
    return np.asarray((x.T * (weights * squares)) @ x / m)


def one_sided_bias(rows: RowNorm, radius: float, n: int) -> np.ndarray:
    """Return the truncation bias of random regressions (K,), in sampling errors, if all shifts have one sign.

    The choice of a radius lets shifts of either sign cancel. Codes for missing values are the same number in every row,
    so that their shifts do not.
    """
    removed = 1 - ball_weights(rows.lengths**2, radius)
    return np.asarray(math.sqrt(n) * np.mean(removed[:, None] * np.abs(rows.products), axis=0))


@dataclass(frozen=True)
class Prospects:
    """Predicted squared errors (K,) of random regressions, in units of their sampling variances.

    Attributes:
        noise: from the noise, around the non-private coefficient.
        truncation: from truncation, around the non-private coefficient.
        public: of the public fit, around the non-private coefficient.
    """

    noise: np.ndarray
    truncation: np.ndarray
    public: np.ndarray

    @property
    def errors(self) -> np.ndarray:
        """Return root mean squared errors (K,) after combination with the public fit by precision."""
        released = self.noise + self.truncation
        return np.sqrt(1 / (1 / np.maximum(released, 1e-12) + 1 / self.public))


@dataclass(frozen=True)
class Candidates:
    """Candidate radii, with the parts of their predicted errors that do not depend on the budget.

    Attributes:
        radii: (C,).
        truncation: squared truncation errors (C, K) in units of sampling variances.
        shape: noise variances (K,) in these units, times ``n (mu/R^2)^2``.
        public: squared errors (K,) of the public fit in these units.
        n: number of private rows.
    """

    radii: np.ndarray
    truncation: np.ndarray
    shape: np.ndarray
    public: np.ndarray
    n: int

    def prospects(self, at: int, mu: float) -> Prospects:
        """Return the predicted errors at one of the radii."""
        noise = self.shape * (self.radii[at] ** 2 / mu) ** 2 / self.n
        return Prospects(noise, self.truncation[at], self.public)

    def best(self, mu: float) -> int:
        """Return the index of the radius with the least geometric mean of errors at this budget."""
        return int(np.argmin([np.mean(np.log(self.prospects(at, mu).errors)) for at in range(len(self.radii))]))

    def negligible_noise_radius(self, mu: float) -> float:
        """Return the radius whose noise is a fiftieth of a median regression's sampling error, which is negligible."""
        return math.sqrt(mu) * (HARMLESS**2 * self.n / float(np.median(self.shape))) ** 0.25

    def nearest(self, radius: float) -> int:
        """Return the index of the candidate nearest to a radius."""
        return int(np.argmin(np.abs(np.log(self.radii / radius))))


@computed_once(most=9)  # sizes of a plan
def candidate_radii(rows: RowNorm, n: int) -> Candidates:
    """Return candidate radii with the predicted truncation error and noise of each at n private rows."""
    step = math.ceil(rows.m / _MOST_ROWS)
    lengths, products = rows.lengths[::step], rows.products[::step]
    m, tail = len(lengths), Tail.of(lengths, n)
    radii = candidate_bounds(lengths, 0.5, 4.0, _RADII_TRIED)
    direction = products[tail.rows] / np.maximum(lengths[tail.rows] ** 2, 1e-300)[:, None]
    body = np.ones(m, dtype=bool)
    body[tail.rows] = False
    truncation = []
    for radius in radii:
        shifts = (1 - np.minimum(1.0, radius**2 / np.maximum(lengths**2, 1e-300)))[:, None] * products
        excess = np.maximum(tail.lengths**2 - radius**2, 0.0)
        square = np.sum(shifts[body] ** 2, axis=0) / m + np.sum(excess**2 * tail.shares) * np.mean(direction**2, axis=0)
        in_tail = np.sum(excess * tail.shares) * np.mean(np.abs(direction), axis=0)
        line = np.sum(np.abs(shifts[body]), axis=0) / m + in_tail
        truncation.append(square / n + _COMMON_SHARE * line**2)
    a, b = rows.pairs
    shape = np.sum(a**2, axis=1) * np.sum(b**2, axis=1) + np.sum(a * b, axis=1) ** 2
    public = n * np.var(products, axis=0) * (1 / rows.m + 1 / n)
    return Candidates(radii, n * np.array(truncation), shape, public, n)


def choose_radius(rows: RowNorm | None, dimension: int, n: int, mu: float, *, parameters: MomentParameters) -> float:
    """Return the truncation radius: the user's, one that truncates almost no row, or that of least predicted error."""
    if parameters.radius:
        return float(parameters.radius)
    covering = parameters.radius_mode == "inference"
    if rows is None:
        return moment_only_ball(dimension).radius * (math.sqrt(2.0) if covering else 1.0)
    if not covering:
        priced = candidate_radii(rows, n)
        return max(float(priced.radii[priced.best(mu)]), priced.negligible_noise_radius(mu))
    top = min(float(np.max(rows.lengths)), Tail.expected_longest(rows.lengths))
    # R^2 is four times the largest squared public norm where the noise is then below the sampling error, else twice.
    wide = 2 * top
    return wide if (wide**2 / mu) ** 2 < n else math.sqrt(2.0) * top
