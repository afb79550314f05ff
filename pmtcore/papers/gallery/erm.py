"""Paper D's experiments: data of Table 4 and Adult, and trials of the registered methods on them.

All methods of a trial share a draw of the data and of the noise. Published methods and ours are compared under
add-remove-one, the paper's relation. Synthetic and public rows only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any, TypeVar

import numpy as np
import pandas as pd
from scipy.sparse import csc_array, csr_array, hstack
from scipy.special import expit

from pmtcore.accounting.budgets import mu_from_epsilon, mu_from_pure_epsilon
from pmtcore.accounting.perturbed import ObjectiveConstants, spend
from pmtcore.base.private_rows import PrivateRows
from pmtcore.base.symmetric import from_upper_triangle
from pmtcore.glm.augment import Iterated, draw_augmented_rows
from pmtcore.glm.families import family as family_of
from pmtcore.glm.losses import LOGISTIC, Loss
from pmtcore.glm.rows import Rows
from pmtcore.glm.solvers import NearHessians, loss_values
from pmtcore.mechanisms.minimizer import LossSums
from pmtcore.mechanisms.noise import NoiseSource, SeededNoise, ZeroNoise
from pmtcore.mechanisms.perturbed import add_remove
from pmtcore.mechanisms.truncation import truncate_within
from pmtcore.methods.perturbed.napp_erm import PrintedOutcome, PrintedPlan, fit_stack
from pmtcore.methods.perturbed.napp_public import ErmPlan
from pmtcore.methods.perturbed.setting import Setting
from pmtcore.methods.registry import Plan, method
from pmtcore.papers.gallery.engine import Errors
from pmtcore.papers.gallery.series import PUBLISHED
from pmtcore.public.moments import PublicData
from pmtcore.tables.named import data_directory
from pmtcore.tables.table import read_path

PlanType = TypeVar("PlanType", bound=Plan)
Tried = Sequence[tuple[str, str, Mapping[str, Any]]]  # series, method, its parameters
Measure = Callable[["Draw", np.ndarray, Sequence[float]], Errors]
_TEST = 10_000  # D, section 5.2
_AUGMENTED = 10_000  # rows drawn at one coefficient
_P = 16  # D, Table 4
_COUNTS = 30.0  # declared bound on Poisson responses, and on predicted means
_SETTINGS: dict[str, tuple[float, np.ndarray]] = {  # half width of x, the 8 nonzero coefficients
    "linear": (0.25, 1 - 0.8 * np.arange(8) / 7),
    "poisson": (0.25, 4 - 0.5 * np.arange(8) / 7),
    "logistic": (0.5, 4 - 0.5 * np.arange(8) / 7),
}
BOUNDS = {"linear": 0.5, "poisson": _COUNTS, "logistic": 0.0, "adult": 0.0}  # on residuals and counts
ALMOST_NO_RIDGE = 1e-6  # Lambda0 of a fit without privacy: it leaves the minimizer one
_NEAR = 0.1  # of predictors of Adult's rows: one pass makes many Hessians, and a smaller one saves few gradients
_FLAT = 1e-6  # of the largest public square: directions that 50 or 300 public rows do not show


def fit_together(
    plans: Sequence[PrintedPlan], rows: PrivateRows, sources: Sequence[NoiseSource]
) -> list[PrintedOutcome]:
    """Fit several plans that clip rows alike to one table, those with as many iterations in one stack.

    A stack takes little longer than one fit.

    Args:
        plans: one for each fit.
        rows: private rows.
        sources: noise of each plan; alike where methods that differ in one step are to share it. Plans that differ in
            their target alone may have one source between them: it is asked once.

    Raises:
        ValueError: plans that clip rows differently, or with augmented rows.
    """
    first = plans[0]
    if any(plan.setting.radius != first.setting.radius or plan.parameters.rows for plan in plans):
        raise ValueError("plans fitted together clip rows alike and use the limit of many augmented rows")
    noise: dict[int, np.ndarray] = {}
    for plan, source in zip(plans, sources, strict=True):
        if id(source) not in noise:
            noise[id(source)] = plan.noise_draws(source, 1)
    b = np.vstack([noise[id(source)] for source in sources])
    data = first.prepared(rows)
    outcomes: dict[int, PrintedOutcome] = {}
    alike: dict[tuple[str, float, bytes], np.ndarray] = {}  # of one target and noise in one form and draw
    keys = [(p.selection, p.target.lam, each.tobytes()) for p, each in zip(plans, b, strict=True)]
    kinds = [(p.fit, p.share, p.iterations) for p in (plan.parameters for plan in plans)]
    for way in dict.fromkeys(kinds):
        at = [k for k, other in enumerate(kinds) if other == way]
        # A direct fit begins at an iterated one of the same draw and target, which lies near.
        start = [alike.get(keys[k], np.zeros(b.shape[1])) for k in at]
        fits = fit_stack(data, [plans[k] for k in at], b[at], None, start=np.stack(start))
        for k, theta, weights in zip(at, fits.theta, fits.weights, strict=True):
            outcomes[k] = PrintedOutcome(plans[k], Iterated(theta[None], weights[None]))
            alike.setdefault(keys[k], theta)
    return [outcomes[k] for k in range(len(plans))]


def planned(
    kind: type[PlanType], id: str, public: PublicData, n: int, *, mu: float, values: Mapping[str, Any]
) -> PlanType:
    """Return the plan of a registered method.

    Raises:
        TypeError: it is of another kind.
    """
    plan = method(id).planned(public, n, mu, values)
    if not isinstance(plan, kind):
        raise TypeError(f"{id} has another plan")
    return plan


@dataclass(frozen=True)
class Draw:
    """One draw: private rows, public rows, test rows, and the coefficients where they are known."""

    kind: str
    x: np.ndarray
    y: np.ndarray
    public_x: np.ndarray
    public_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    truth: np.ndarray | None
    which: np.ndarray | None = None  # rows of Adult's training table the private ones are

    @property
    def names(self) -> tuple[str, ...]:
        """Return names of the features."""
        return tuple(f"x{j + 1}" for j in range(self.x.shape[1]))

    @property
    def rows(self) -> PrivateRows:
        """Return private rows."""
        return PrivateRows.from_arrays(self.x, self.y, self.names)

    @property
    def box(self) -> float:
        """Return the length that Table 4's box gives: 2 for logistic rows, 1 for the others."""
        return _SETTINGS[self.kind][0] * math.sqrt(_P)

    @property
    def longest(self) -> float:
        """Return the length of the longest public row."""
        return float(np.linalg.norm(self.public_x, axis=1).max())

    @cached_property
    def plans(self) -> dict[tuple[object, ...], ErmPlan]:
        """Return plans of ours on this draw that were made already, by what they are made of."""
        return {}

    @cached_property
    def public(self) -> PublicData:
        """Return public rows as the methods take them; columns that they do not show have almost no second moment."""
        m, p = self.public_x.shape
        family = {"linear": "gaussian", "adult": "logistic"}.get(self.kind, self.kind)
        rows = np.column_stack([self.public_x, self.public_y])
        moment = self.public_x.T @ self.public_x / m
        root = np.linalg.cholesky(moment + _FLAT * float(np.max(np.diag(moment))) * np.eye(p))
        factor = np.zeros((p + 1, p + 1))
        factor[:p, :p] = root
        if family == "gaussian":
            factor[p, :p] = np.linalg.solve(root, self.public_x.T @ self.public_y / m)
            factor[p, p] = math.sqrt(max(float(np.mean(self.public_y**2) - factor[p, :p] @ factor[p, :p]), 1e-12))
        else:
            factor[p, p] = 1.0
        return PublicData(self.names, "y", factor, m, rows, family_of(family))

    def error(self, theta: np.ndarray) -> np.ndarray:
        """Return the prediction error (t,) on the test rows: mean squared, or the share of labels missed."""
        z = self.test_x @ theta.T
        if self.kind in ("logistic", "adult"):
            return np.asarray(np.mean((z > 0) != (self.test_y[:, None] > 0.5), axis=0))
        mean = np.exp(np.minimum(z, math.log(_COUNTS))) if self.kind == "poisson" else z
        return np.asarray(np.mean((mean - self.test_y[:, None]) ** 2, axis=0))


def table4(seed: int, kind: str, n: int, m: int = 50) -> Draw:
    """Draw a setting of D's Table 4."""
    half, size = _SETTINGS[kind]
    rng = np.random.default_rng((4, seed))
    theta = np.zeros(_P)
    theta[:8] = size
    count = n + m + _TEST
    x = rng.uniform(-half, half, (count, _P))
    z = x @ theta
    if kind == "linear":
        from scipy.stats import truncnorm  # noqa: PLC0415  # slow to load

        y = z + truncnorm(-2, 2, scale=0.25).rvs(count, random_state=rng)
    elif kind == "poisson":
        y = rng.poisson(np.exp(z)).astype(float)
    else:
        y = (rng.random(count) < expit(z)).astype(float)
    return Draw(kind, x[:n], y[:n], x[n : n + m], y[n : n + m], x[n + m :], y[n + m :], theta)


@cache
def _adult() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Complete cases of Adult, as many as the paper has: features of both tables, and labels above 50K.

    Every text column is one-hot without its first level, every number is over its maximum, and there is a column of
    ones: 97 features.
    """
    tables = []
    for name in ("adult-train.csv.gz", "adult-test.csv.gz"):
        frame = read_path(data_directory() / name, "public").frame
        frame = frame.apply(lambda c: c.str.strip() if not pd.api.types.is_numeric_dtype(c) else c)
        tables.append(frame[~(frame == "?").any(axis=1) & ~frame.isna().any(axis=1)])
    both = pd.concat(tables, keys=["train", "test"])
    y = both.pop("income").str.rstrip(".").eq(">50K").to_numpy(dtype=float)
    texts = [name for name in both.columns if not pd.api.types.is_numeric_dtype(both[name])]
    numbers = both.drop(columns=texts).to_numpy(dtype=float)
    dummies = pd.get_dummies(both[texts], drop_first=True, dtype=float).to_numpy()
    x = np.column_stack([np.ones(len(both)), numbers / numbers.max(axis=0), dummies])
    train = (both.index.get_level_values(0) == "train").astype(bool)
    return x[train], y[train], x[~train], y[~train]


def adult(seed: int, m: int = 300) -> Draw:
    """Draw Adult's training rows, m of them public by a new split in each trial; tested on its test table."""
    x, y, test_x, test_y = _adult()
    order = np.random.default_rng((6, seed)).permutation(len(y))
    private, public = order[m:], order[:m]
    return Draw("adult", x[private], y[private], x[public], y[public], test_x, test_y, None, private)


def made(seed: int, kind: str, n: int, m: int = 50) -> Draw:
    """Draw a setting of Table 4, or of Adult."""
    return adult(seed, max(m, 300)) if kind == "adult" else table4(seed, kind, n, m)


class CachedSums(LossSums[Loss]):
    """Sums of losses whose rows stay in memory with the products of their columns, which every pass needs.

    Args:
        sums: of the clipped rows.
        rows: the same rows in memory.
    """

    def __init__(self, sums: LossSums[Loss], rows: Rows) -> None:
        super().__init__(sums._rows, sums.loss, sums.radius, sums.count)
        self._own = rows

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums of losses (t,) at coefficients (t, p)."""
        return loss_values(self.loss, self._own, theta)

    def derivatives(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients (t, p) and Hessians (t, p, p)."""
        return self._own.sums(self.loss, theta)


class AdultSums(LossSums[Loss]):
    """Sums of losses of Adult's rows, of whose columns few are not 0, with the Hessians of points near by.

    Args:
        sums: of the clipped rows.
        rows: the same rows in memory.
        which: rows of Adult's training table that they are.
    """

    def __init__(self, sums: LossSums[Loss], rows: Rows, which: np.ndarray) -> None:
        super().__init__(sums._rows, sums.loss, sums.radius, sums.count)
        sparse = csr_array(rows.features)
        parts = [(sparse[part], rows.response[part, None]) for part in rows.parts(1)]
        self._sparse_blocks = [(x, x.T, y) for x, y in parts]
        self._which, self._shorter = which, rows.features[:, [0]]  # the column of ones says by what a row was clipped
        self._near = NearHessians(self._hessians, sums.count * sums.loss.curvature, _NEAR)

    def value(self, theta: np.ndarray) -> np.ndarray:
        """Return the sums of losses (t,) at coefficients (t, p)."""
        return np.sum([self.loss.value(x @ theta.T, y).sum(axis=0) for x, _, y in self._sparse_blocks], axis=0)

    def derivatives(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return gradients (t, p) and Hessians (t, p, p), of points whose predictors are near where these serve."""
        gradients = np.sum([turned @ self.loss.first(x @ theta.T, y) for x, turned, y in self._sparse_blocks], axis=0)
        return gradients.T, self._near.at(theta)

    def _hessians(self, theta: np.ndarray) -> np.ndarray:
        """Return the Hessians (t, p, p) of these coefficients themselves, by one pass over the products of columns."""
        curvature = np.zeros((_products().shape[0], len(theta)))
        own = np.vstack([self.loss.second(x @ theta.T, y) for x, _, y in self._sparse_blocks])
        curvature[self._which] = self._shorter**2 * own
        return from_upper_triangle((_products().T @ curvature).T, theta.shape[1])


@cache
def _products() -> csc_array:
    """Return the products of Adult's columns (n, p (p + 1)/2): few are not 0, and a Hessian is a sum of their rows."""
    x = _adult()[0]
    return csc_array(hstack([csc_array(x[:, [j]] * x[:, j:]) for j in range(x.shape[1])]))


@dataclass(frozen=True)
class _CachedSetting(Setting):
    """The setting of a draw, with the rows that its fits are made to."""

    drawn: Draw

    def clipped(self, rows: PrivateRows) -> CachedSums | AdultSums:
        """Return the sums of losses of the draw's rows."""
        y = self.loss.responses(self.drawn.y)
        own = Rows(truncate_within(self.rows(self.drawn.x), self.radius), y, np.ones(len(y)))
        sums = super().clipped(rows)
        return CachedSums(sums, own) if self.drawn.which is None else AdultSums(sums, own, self.drawn.which)


@dataclass(frozen=True)
class Trial:
    """What all methods of a trial share.

    Attributes:
        floor: Lambda0 where the paper states it; what the claim needs if ``None``.
    """

    drawn: Draw
    epsilon: float
    delta: float
    seed: int
    floor: float | None = None

    @cached_property
    def mu(self) -> float:
        """Return the budget whose claim is this epsilon and delta."""
        return mu_from_epsilon(self.epsilon, self.delta) if self.delta else mu_from_pure_epsilon(self.epsilon)

    def source(self, id: str = "") -> NoiseSource:
        """Return the noise, the same for every method of the trial; none without privacy."""
        return ZeroNoise() if id == "non-private" else SeededNoise(self.seed, 4)

    def published(self, id: str, values: Mapping[str, Any]) -> PrintedPlan:
        """Plan a method of the paper, DP-ERM and the fit without privacy among them, as the experiments state."""
        direct = id in ("dp-erm", "non-private")
        values = dict(values)
        public = values.pop("zeta1", None) == "public" or self.drawn.kind == "adult"
        chosen: dict[str, Any] = {
            "regularizer": "lasso",
            "coordinates": "plain",
            "row_bound": self.drawn.longest if public else self.drawn.box,
            "bound": BOUNDS[self.drawn.kind],
            "noise": "gaussian" if self.delta else "pure",
            "delta": self.delta or 1e-3,
            "fit": "direct" if direct else "iterated",
            "floor": ALMOST_NO_RIDGE if id == "non-private" else self.floor or 0.0,
        }
        plan = self._planned(PrintedPlan, "napp-erm" if direct else id, chosen | values)
        return replace(plan, setting=_CachedSetting(**vars(plan.setting), drawn=self.drawn))

    def _planned(self, kind: type[PlanType], id: str, values: Mapping[str, Any]) -> PlanType:
        return planned(kind, id, self.drawn.public, len(self.drawn.y), mu=self.mu, values=values)

    def ours(self, values: Mapping[str, Any], **more: object) -> ErmPlan:
        """Plan ``napp-public`` on the same rows, once for all budgets of a draw: a promise is asked of it in the lab.

        Its public fit, which has no budget, takes most of the time.
        """
        chosen = {"bound": BOUNDS[self.drawn.kind], "noise": "pure", **values, **more}
        own = (*sorted(chosen.items()), self.mu if chosen.get("modulus") else None)  # in units of the budget
        if own not in self.drawn.plans:
            self.drawn.plans[own] = self._planned(ErmPlan, "napp-public", chosen)
        return self.drawn.plans[own]

    def released(self, plan: ErmPlan) -> np.ndarray:
        """Return the coefficients (1, p) of a plan of ours under the paper's relation, at epsilon and no delta."""
        mechanism = plan.build(add_remove(self.epsilon, 0.0))
        clipped = _CachedSetting(**vars(plan.setting), drawn=self.drawn).clipped(self.drawn.rows)
        minimizers = mechanism.release(clipped, len(self.drawn.y), SeededNoise(self.seed, 5), 1)
        return plan.setting.table(minimizers)

    def own(self, id: str, values: Mapping[str, Any], lams: Sequence[float]) -> np.ndarray:
        """Return the coefficients (len(lams), p) of the public fit, or of ``napp-public`` with each Lambda a lasso."""
        own = {name: value for name, value in values.items() if name != "lasso"}
        if id == "public-only":
            ground = self.ours({}).setting
            return np.repeat(ground.table(ground.fit().coefficients[None]), len(lams), axis=0)
        if values.get("lasso"):
            plain = {"coordinates": "scaled", **own}
            return np.vstack([self.released(self.ours(plain, lasso=lam)) for lam in lams])
        return np.repeat(self.released(self.ours(own)), len(lams), axis=0)


def coefficients(trials: Sequence[Trial], tried: Tried, lams: Sequence[float]) -> dict[str, np.ndarray]:
    """Return coefficients (len(trials), len(lams), p) of each series, a lasso of each Lambda its target.

    Args:
        trials: budgets of one draw of the data; all fits of the paper's methods are made together.
    """
    by_series: dict[str, list[np.ndarray]] = {}
    plans: list[tuple[str, Trial, NoiseSource, PrintedPlan]] = []
    for series, id, values in tried:
        if id == "public-only":
            by_series[series] = [trials[0].own(id, values, lams)] * len(trials)
            continue
        for at in trials[:1] if id == "non-private" else trials:
            if id == "napp-public":
                by_series.setdefault(series, []).append(at.own(id, values, lams))
                continue
            plan, source = at.published(id, values), at.source(id)
            plans += [(series, at, source, plan if "target" in values else plan.with_lambda(lam)) for lam in lams]
    for length in dict.fromkeys(plan.setting.radius for *_, plan in plans):
        alike = [entry for entry in plans if entry[3].setting.radius == length]
        rows = trials[0].drawn.rows
        outcomes = fit_together([plan for *_, plan in alike], rows, [source for _, _, source, _ in alike])
        for (series, *_), outcome in zip(alike, outcomes, strict=True):
            by_series.setdefault(series, []).append(outcome.coefficients)
    stacks = {series: np.vstack(theta) for series, theta in by_series.items()}
    p, shape = trials[0].drawn.x.shape[1], (len(trials), len(lams))
    return {series: np.broadcast_to(theta.reshape(-1, len(lams), p), (*shape, p)) for series, theta in stacks.items()}


def _at(
    seed: int, kind: str, n: int, epsilons: Sequence[float], *, delta: float, floor: float | str | None = None
) -> list[Trial]:
    """Return all budgets of one draw; a floor of ``1/epsilon`` is that of each."""
    drawn = made(seed, kind, n)
    floors = [1 / epsilon if floor == "1/epsilon" else floor for epsilon in epsilons]
    return [
        Trial(drawn, epsilon, delta, seed, None if least is None else float(least))
        for epsilon, least in zip(epsilons, floors, strict=True)
    ]


def _trial(
    seed: int,
    *,
    kind: str,
    n: int,
    epsilons: Sequence[float],
    tried: Tried,
    delta: float,
    lams: Sequence[float] = (1.0,),
    floor: float | str | None = None,
    measure: Measure,
) -> Errors:
    """Fit each series to one draw at each epsilon and Lambda, and measure the coefficients.

    Args:
        floor: Lambda0, or ``1/epsilon``; what the claim needs if ``None``.
        measure: of the coefficients (epsilons, lams, p) of one series, by words after its name.
    """
    trials = _at(seed, kind, n, epsilons, delta=delta, floor=floor)
    return {
        series + words: values
        for series, theta in coefficients(trials, tried, lams).items()
        for words, values in measure(trials[0].drawn, theta, lams).items()
    }


def _prediction(drawn: Draw, theta: np.ndarray, lams: Sequence[float]) -> Errors:
    """Return the prediction error on new rows, mean squared or labels missed, at each epsilon or each Lambda."""
    return {"": drawn.error(theta.reshape(-1, theta.shape[-1])).tolist()}


def _selection(drawn: Draw, theta: np.ndarray, lams: Sequence[float]) -> Errors:
    """Return the area under the ROC curve of selection over ``lams``, at each epsilon (figure 4)."""
    return {"": [area(*rates(each, _truth(drawn))) for each in theta]}


def _false_features(drawn: Draw, theta: np.ndarray, lams: Sequence[float]) -> Errors:
    """Count the features without effect that are kept at large Lambda, at each epsilon (the text on figure 4)."""
    false_selections = np.sum(theta[:, :, _truth(drawn) == 0] != 0, axis=2).astype(float)
    return {f", Lambda = {lam:g}": false_selections[:, k].tolist() for k, lam in enumerate(lams)}


# By the names that stored results have for them.
prediction_trial = partial(_trial, measure=_prediction)
selection_trial = partial(_trial, measure=_selection)
corner_trial = partial(_trial, measure=_false_features)


def _truth(drawn: Draw) -> np.ndarray:
    if drawn.truth is None:
        raise ValueError("selection needs known coefficients")
    return drawn.truth


def rates(theta: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return false and true positive rates (t,) of selections (t, p) against the true coefficients (p,)."""
    picked = theta != 0
    return picked[:, truth == 0].mean(axis=1), picked[:, truth != 0].mean(axis=1)


def area(false: np.ndarray, true: np.ndarray) -> float:
    """Return the area under the curve through (0, 0), the points by their false positives, and (1, 1)."""
    order = np.lexsort((true, false))
    heights = np.concatenate([[0.0], np.maximum.accumulate(true[order]), [1.0]])
    return float(np.sum(np.diff(false[order], prepend=0.0, append=1.0) * (heights[1:] + heights[:-1]) / 2))


def retrieved_trial(
    seed: int,
    *,
    kind: str,
    n: int,
    epsilons: Sequence[float],
    delta: float,
    lams: Sequence[float],
    form: str = "density",
) -> Errors:
    """Share of ``(1 - r) eps`` retrieved in both readings of the paper, and what can be proved (figure 7).

    One value for each epsilon, and at each for each Lambda.

    Args:
        form: of the noise, by the density of equation 4 or as the sentence after it samples it.
    """
    trials = _at(seed, kind, n, epsilons, delta=delta)
    kinds = [
        (f"{name}{words}", id, moor) for name, id in PUBLISHED for words, moor in (("", "yes"), (" without MOOR", "no"))
    ]
    begun = [
        (name, at.source(), at.published(id, {"moor": moor, "form": form})) for name, id, moor in kinds for at in trials
    ]
    plans = [(name, source, plan.with_lambda(lam)) for name, source, plan in begun for lam in lams]
    sources = [source for _, source, _ in plans]
    outcomes = fit_together([plan for *_, plan in plans], trials[0].drawn.rows, sources)
    errors: Errors = {}
    for how, words in (("displayed", "as displayed"), ("example", "as the example has it")):
        for (name, _, plan), outcome in zip(plans, outcomes, strict=True):
            errors.setdefault(f"{name}, {words}", []).append(float(plan.share_retrieved(outcome.iterates, how)[0]))
    for at in trials:
        planned = add_remove(at.epsilon, 0.0)
        own, planned_as = at.ours({}).build(planned).split.retrieved_share, at.published("napp-erm", {})
        for lam in lams:
            plan = planned_as.with_lambda(lam)
            terms = ObjectiveConstants(plan.setting.loss, plan.setting.radius, 2 * (lam + plan.target.floor))
            errors.setdefault("napp-public (proved)", []).append(own)
            share = spend(terms, planned).retrieved_share
            errors.setdefault("ridge of Lambda + Lambda0 (proved)", []).append(share)
    return errors


def moor_trial(seed: int, *, kind: str, n: int, lams: Sequence[float], floors: Sequence[float]) -> Errors:
    """Compute distances to the plain lasso without noise, with MOOR and without, at each Lambda0 (figure 3)."""
    drawn = made(seed, kind, n)
    trials = [Trial(drawn, 1.0, 0.0, seed, floor=floor) for floor in floors]
    plain = [trials[0].published("non-private", {}).with_lambda(lam) for lam in lams]
    names = {"with MOOR": "yes", "without MOOR": "no"}
    iterated = [
        at.published("napp-erm", {"moor": moor, "iterations": 200}).with_lambda(lam)
        for moor in names.values()
        for lam in lams
        for at in trials
    ]
    outcomes = fit_together([*plain, *iterated], drawn.rows, [ZeroNoise() for _ in [*plain, *iterated]])
    theta = np.vstack([outcome.coefficients for outcome in outcomes])
    target, fits = theta[: len(lams)], theta[len(lams) :].reshape(2, len(lams), len(floors), -1)
    far = np.linalg.norm(fits - target[:, None], axis=-1)
    return {
        f"{words}, Lambda = {lam:g}": far[k, i].tolist() for k, words in enumerate(names) for i, lam in enumerate(lams)
    }


def _realized(seed: int, kind: str, theta: float) -> tuple[Errors, Errors]:
    """Return penalty and modulus of convexity at one coefficient, Lambda = Lambda0 = 1, weights as printed (figure 1).

    Of what is wanted, of both frameworks, and of augmented rows drawn for the first.
    """
    one = np.ones((2, 1))
    public = PublicData(("x1",), "y", np.eye(2), 2, np.column_stack([one, one]), family_of("logistic"))
    gamma = 1.5 if kind == "bridge" else 1.0
    values = {"regularizer": kind, "target": 1.0, "gamma": gamma, "floor": 1.0, "weights": "printed"}
    target, both = (
        planned(PrintedPlan, "napp-erm", public, 2, mu=1.0, values={**values, "moor": moor}).target
        for moor in ("yes", "no")
    )
    larger, added = (float(each.weights(np.array([[theta]]))[0, 0]) for each in (target, both))
    rng = np.random.default_rng((1, seed))
    e, y = draw_augmented_rows(LOGISTIC, np.zeros(1), np.array([larger]), _AUGMENTED, rng=rng)
    z = e @ np.array([theta])
    drawn = (LOGISTIC.value(z, y).sum() - LOGISTIC.value(0 * z, y).sum(), np.sum(e[:, 0] ** 2 * LOGISTIC.second(z, y)))
    wanted = {"target": target.lam * abs(theta) ** (2 - gamma) + target.square * theta**2, "required": 2.0}
    penalty, modulus = (
        {
            name: [value],
            "NAPP-ERM": [factor * larger],
            "DP-ERM": [factor * added],
            "NAPP-ERM, rows drawn": [float(rows)],
        }
        for (name, value), factor, rows in zip(wanted.items(), (theta**2, 2), drawn, strict=True)
    )
    return penalty, modulus


def weight_trial(seed: int, *, kind: str, theta: float) -> Errors:
    """Return the penalty realized at one coefficient (figure 1)."""
    return _realized(seed, kind, theta)[0]


def modulus_trial(seed: int, *, kind: str, theta: float) -> Errors:
    """Return the modulus of convexity at one coefficient (figure 1, below)."""
    return _realized(seed, kind, theta)[1]
