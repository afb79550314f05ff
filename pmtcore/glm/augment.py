"""D's noise-augmented rows, their exact limit, and the iterations of Algorithm 1 (lab only: E11, E12).

Augmented rows realize ``b' theta + sum_j a_j theta_j^2`` with ``a = n_e l''(0) V/2`` (Prop. 1): literally, as rows
handed to an ordinary solver, or as the limit ``n_e -> infinity``, the weighted ridge itself. Table 2 gives the target
weights ``a`` from the last iterate. Departures: responses at which ``l'(0)`` is not 0, and pairs within a label (E15);
double variance at the hinge's kink (E16); the weight ``(1 - gamma/2) Lambda |theta|^-gamma``, so the target is realized
and not ``2/(2 - gamma)`` times it (E14, printed one as option); signs from b, not multiplied
up (E22).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pmtcore.base.messages import number_between, one_of
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Data, Losses, Penalty, Solution, minimize, model_minimum

REGULARIZERS = ("ridge", "bridge", "lasso", "elastic-net")
_LEAST_SIZE = 1e-8  # lower bound on |theta| in the weights
_CONVERGED_CHANGE = 1e-7  # largest change of a coefficient at which a fit has converged
_ROUGH_FACTOR = 100.0  # tolerance of earlier rounds over that of the last
# Largest curvature along a step, over the tolerance, for which the quadratic model replaces the losses (rows up to 20
# long)
_SLIGHT_CURVATURE = 0.1
# Number of last rounds in which the sign of a selected coefficient must not change; others are set to 0 (D, 3.5)
_SETTLED_ROUNDS = 5
_LEAST_GAIN = 1e-6  # share of the Jacobian's budget below which retrieval is negligible
_NEGLIGIBLE_SIZE = 1e-4  # coefficients below it are set to 0 after the iterations, as the paper's fluctuating estimates


@dataclass(frozen=True, kw_only=True)
class Target:
    """A regularizer and how paper D realizes it.

    Attributes:
        kind: one of :data:`REGULARIZERS`.
        lam: Lambda.
        gamma: bridge ``|theta|^(2 - gamma)``; lasso is 1.
        kappa: share of the square in the elastic net ``Lambda (|theta| + kappa theta^2)``.
        floor: Lambda0, for strong convexity.
        moor: whether the weight is the larger of target and Lambda0 (Table 2), or their sum (Claim 2).
        printed: weights as printed (E14).
    """

    kind: str = "lasso"
    lam: float = 1.0
    gamma: float = 1.0
    kappa: float = 0.5
    floor: float = 0.0
    moor: bool = True
    printed: bool = False

    def __post_init__(self) -> None:
        one_of("regularizer", self.kind, REGULARIZERS)
        number_between("Lambda", self.lam, 0.0, 1e12)
        number_between("gamma", self.gamma, 0.0, 1.999)
        number_between("kappa", self.kappa, 0.0, 1e6)
        number_between("Lambda0", self.floor, 0.0, 1e12)

    @property
    def square(self) -> float:
        """Return the weight of ``theta_j^2`` in the target itself."""
        return self.lam if self.kind == "ridge" else self.lam * self.kappa if self.kind == "elastic-net" else 0.0

    @property
    def has_lasso(self) -> bool:
        """Return True where the target has ``Lambda |theta|``."""
        return self.kind in ("lasso", "elastic-net")

    def weights(self, theta: np.ndarray | None, p: int = 1) -> np.ndarray:
        """Return weights a of ``theta_j^2`` from the last iterate (t, p); at the start (``None``) those of t = 1."""
        alone = TargetStack.of([self])
        return np.full(p, alone.start()[0, 0]) if theta is None else alone.weights(theta)


@dataclass(frozen=True)
class TargetStack:
    """Targets of a stack of fits: the weight of ``theta_j^2`` is ``scale |theta_j|^-gamma + square``, and Lambda0.

    Attributes:
        scale, square, floor: numbers of each target (t, 1).
        gamma: exponent of each (t, 1), or of all.
        moor: whether the weight is the larger of target and Lambda0 (t, 1); else their sum.
    """

    scale: np.ndarray
    square: np.ndarray
    floor: np.ndarray
    gamma: np.ndarray | float
    moor: np.ndarray

    @classmethod
    def of(cls, targets: Sequence[Target]) -> TargetStack:
        """Return the stack of these targets."""

        def column(values: Iterable[float]) -> np.ndarray:
            return np.asarray(list(values))[:, None]

        ridge = [target.kind == "ridge" for target in targets]
        gammas = [target.gamma if target.kind == "bridge" else 1.0 for target in targets]
        factors = [1.0 if target.printed else 1 - gamma / 2 for target, gamma in zip(targets, gammas, strict=True)]
        return cls(
            column(0.0 if flat else f * t.lam for f, t, flat in zip(factors, targets, ridge, strict=True)),
            column(target.square for target in targets),
            column(target.floor for target in targets),
            # One number for all is much faster to raise to.
            gammas[0] if len(set(gammas)) == 1 else column(gammas),
            column(target.moor or flat for target, flat in zip(targets, ridge, strict=True)),
        )

    def subset(self, which: np.ndarray) -> TargetStack:
        """Return the stack of some of the targets."""
        gamma = self.gamma[which] if isinstance(self.gamma, np.ndarray) else self.gamma
        return TargetStack(self.scale[which], self.square[which], self.floor[which], gamma, self.moor[which])

    def start(self) -> np.ndarray:
        """Return the weights of the first round (t, 1), which no iterate precedes."""
        return self._floored(self.square)

    def weights(self, theta: np.ndarray) -> np.ndarray:
        """Return the weights (t, p) from the last iterates (t, p)."""
        return self._floored(self.scale * np.maximum(np.abs(theta), _LEAST_SIZE) ** -self.gamma + self.square)

    def _floored(self, own: np.ndarray) -> np.ndarray:
        return np.where(self.moor, np.maximum(own, self.floor), own + self.floor)


def draw_augmented_rows(
    loss: Loss, b: np.ndarray, weights: np.ndarray, count: int, *, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw about ``count`` augmented rows and their responses (D, Table 1, equations 3 and 5, repaired).

    Args:
        loss: with its constants.
        b: (p,), the linear term to realize.
        weights: a (p,), of ``theta_j^2``.
        count: rows to make, about.
        rng: source of the rows.
    """
    labels = loss.augmented
    half = max(count // (2 * len(labels)), 1)  # pairs within each label
    total = 2 * half * len(labels)
    zero = np.zeros(1)
    rows, responses = [], []
    for label in labels:
        y = np.full(1, label)
        slope = float(loss.first(zero, y)[0])
        curvature = float(max(loss.second(zero, y)[0], loss.second(np.full(1, 1e-9 * (2 * label - 1)), y)[0]))
        variance = 2 * weights / (total * curvature * loss.at_zero)
        noise = rng.standard_normal((half, len(b))) * np.sqrt(variance)
        rows.append(np.vstack([noise, -noise]) + b / (total * slope))
        responses.append(np.full(2 * half, label))
    return np.vstack(rows), np.concatenate(responses)


@dataclass(frozen=True)
class _TwoSums:
    """The sum of two sums of one loss: rows and augmented rows."""

    rows: Losses[Loss]
    augmented: Losses[Loss]

    @property
    def loss(self) -> Loss:
        return self.rows.loss

    @property
    def count(self) -> int:
        return self.rows.count + self.augmented.count

    @property
    def hessian_bound(self) -> np.ndarray:
        return self.rows.hessian_bound + self.augmented.hessian_bound

    def value(self, theta: np.ndarray) -> np.ndarray:
        return self.rows.value(theta) + self.augmented.value(theta)

    def derivatives(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        first, second = self.rows.derivatives(theta), self.augmented.derivatives(theta)
        return first[0] + second[0], first[1] + second[1]


def fit_with_augmented_rows(
    data: Losses[Loss],
    b: np.ndarray,
    weights: np.ndarray,
    count: int,
    *,
    rng: np.random.Generator,
    tolerance: float = 1e-8,
) -> np.ndarray:
    """Return one fit (p,) without any penalty to rows and augmented rows together: step 5 of Algorithm 1."""
    rows, responses = draw_augmented_rows(data.loss, b, weights, count, rng=rng)
    return minimize(
        _TwoSums(data, Data(data.loss, rows, responses)), Penalty.of(np.zeros((1, len(b))), 1e-12), tolerance
    ).theta[0]


def fit_in_the_limit(
    data: Losses[Loss], b: np.ndarray, weights: np.ndarray, tolerance: float, *, start: np.ndarray
) -> Solution:
    """Return the limit of :func:`fit_with_augmented_rows` as rows are added: weighted ridge fits (t, p) (Prop. 1)."""
    return minimize(data, Penalty.of(b, 2 * weights), tolerance, start)


@dataclass(frozen=True)
class Iterated:
    """Result of the iterations: coefficients (t, p), negligible ones set to 0, and the last weights a (t, p)."""

    theta: np.ndarray
    weights: np.ndarray


def iterate(
    data: Losses[Loss],
    b: np.ndarray,
    targets: list[Target],
    rounds: int = 80,
    *,
    absolute: bool | np.ndarray = False,
    rows: Augmentation | None = None,
) -> Iterated:
    """Run Algorithm 1: ``napp-erm``, or with ``b'|theta|`` the variable selection of Sec. 3.5.

    Args:
        data: sums of the losses of the private rows.
        b: (t, p), one draw for each fit.
        targets: one for each fit, or one for all.
        rounds: iterations of the weights.
        absolute: the DP term is ``b'|theta|`` (E22), in all fits or in some (t,): a lasso term where b is positive,
            which is what turning signs tend to; the sign of the last iterate where it is negative.
        rows: augmented rows are drawn anew in every round and handed to an ordinary solver; without, their limit.
    """
    t, p = b.shape
    turned = np.broadcast_to(np.asarray(absolute), (t,))
    if rows is not None:
        return _iterate_as_printed(data, b, targets, rounds, absolute=turned, rows=rows)
    stack = TargetStack.of(targets if len(targets) == t else [targets[0]] * t)
    weights = np.array(np.broadcast_to(stack.start(), (t, p)))
    # The first weights do not depend on Lambda, so that fits with the same b mostly have the same first fit.
    apart, of = np.unique(np.hstack([b, weights]), axis=0, return_inverse=True)
    rough = _loose_tolerance(data) * _ROUGH_FACTOR
    first = fit_in_the_limit(data, apart[:, :p], apart[:, p:] + 1e-9, rough, start=np.zeros((len(apart), p)))
    theta, known = first.theta[of], _DerivativeCache(first.theta[of], *(part[of] for part in first.derivatives))
    live, centre, matrix = np.arange(t), np.zeros((t, p)), np.zeros((p, p))
    for count in range(rounds - 1):
        before, weights[live] = theta[live], stack.subset(live).weights(theta[live])
        selects = turned[live, None]
        sharp = np.where(selects, np.maximum(b[live], 0.0), 0.0)
        signed = np.where(selects, np.minimum(b[live], 0.0) * np.sign(before), b[live])
        penalty = Penalty(signed, 2 * weights[live], centre[: len(live)], sharp, matrix)
        if count < rounds - 2:
            # Fits before the last round only determine weights, for which a rough fit, started at the previous,
            # suffices.
            theta[live] = known.approximate_minimizers(
                data, live, penalty, before, tolerance=_loose_tolerance(data) * _ROUGH_FACTOR
            )
        else:
            theta[live] = minimize(data, penalty, _loose_tolerance(data), before).theta
        live = live[np.max(np.abs(theta[live] - before), axis=1) >= _CONVERGED_CHANGE]
        if not len(live):
            break
    return Iterated(np.where(np.abs(theta) < _NEGLIGIBLE_SIZE, 0.0, theta), weights)


@dataclass(frozen=True)
class _DerivativeCache:
    """Derivatives of the losses of each fit at the last point where they were computed: a local quadratic model.

    Attributes:
        point: coefficients (t, p).
        gradient: there (t, p).
        hessian: there (t, p, p).
    """

    point: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    def approximate_minimizers(
        self, data: Losses[Loss], active: np.ndarray, penalty: Penalty, start: np.ndarray, *, tolerance: float
    ) -> np.ndarray:
        """Return minimizers (k, p) of some fits to a tolerance, from the quadratic model where it is accurate enough.

        The error of the model's gradient is at most ``R/2`` times the curvature along the step, R the length of a row.
        """
        hessian = self.hessian[active]
        gradient = self.gradient[active] + np.einsum("tij,tj->ti", hessian, start - self.point[active])
        theta = model_minimum((gradient, hessian), penalty, start, tolerance)
        way = theta - self.point[active]
        inaccurate = ~(np.einsum("ti,tij,tj->t", way, hessian, way) <= _SLIGHT_CURVATURE * tolerance)
        if np.any(inaccurate):
            refitted = active[inaccurate]
            fit = minimize(data, penalty.subset(inaccurate), tolerance, theta[inaccurate])
            self.point[refitted], theta[inaccurate] = fit.theta, fit.theta
            self.gradient[refitted], self.hessian[refitted] = fit.derivatives
        return theta


@dataclass(frozen=True)
class Augmentation:
    """Algorithm 1 exactly as printed: n_e rows are drawn in each round."""

    count: int
    rng: np.random.Generator


def _iterate_as_printed(
    data: Losses[Loss], b: np.ndarray, targets: list[Target], rounds: int, *, absolute: np.ndarray, rows: Augmentation
) -> Iterated:
    """Run steps 3 to 8 of Algorithm 1; in a selection, coefficients whose sign does not settle are set to 0."""
    t, p = b.shape
    theta, weights = np.zeros((t, p)), np.zeros((t, p))
    for k in range(t):
        target = targets[0] if len(targets) == 1 else targets[k]
        lasting = np.ones(p, dtype=bool)
        for at in range(rounds):
            before = theta[k].copy()
            weights[k] = target.weights(before[None])[0] if at else target.weights(None, p)
            signed = b[k] * np.sign(before) if absolute[k] and at else b[k]
            theta[k] = fit_with_augmented_rows(
                data, signed, weights[k] + _LEAST_SIZE, rows.count, rng=rows.rng, tolerance=_loose_tolerance(data)
            )
            if at >= rounds - _SETTLED_ROUNDS:
                lasting &= (np.sign(before) == np.sign(theta[k])) | (at == 0)
        theta[k] = np.where(lasting | (not absolute[k]), theta[k], 0.0)
    return Iterated(np.where(np.abs(theta) < _NEGLIGIBLE_SIZE, 0.0, theta), weights)


def run_with_recycling(
    data: Losses[Loss],
    b: np.ndarray,
    targets: list[Target],
    epsilon: float | np.ndarray,
    *,
    share: float,
    passes: int | np.ndarray,
    rounds: int = 80,
    absolute: bool | np.ndarray = False,
    displayed: bool | np.ndarray = False,
    rows: Augmentation | None = None,
) -> Iterated:
    """Run Algorithm 2 with *recycle*: again with the same noise, scaled down, and the same modulus.

    The noise of pass k is ``b r eps/(r eps + cum)``. By equation 15 no weight may then lie below the modulus that the
    retrieval was computed from, which becomes Lambda0. The next pass retrieves from what is left of ``(1 - r) eps``.

    Args:
        data: sums of the losses of the private rows.
        b: noise (t, p), one draw for each fit.
        targets: one for each fit.
        epsilon: of the claim, of all fits or of each (t,).
        share: r.
        passes: most re-runs, of all fits or of each (t,); they end by themselves where nothing more is retrieved.
        rounds: iterations of the weights in each run.
        absolute: the noise enters as ``b'|theta|``, in all fits or in some (t,).
        displayed: equation 13 is read as it is displayed, its minimum over all weights, by all fits or by each (t,);
            else as the worked example has it, over J (E9, E10).
        rows: augmented rows; ``None``: their limit.
    """
    t = len(b)
    over_all = np.broadcast_to(np.asarray(displayed), (t,))
    current = [targets[0]] * t if len(targets) == 1 else list(targets)
    turned, epsilon = np.broadcast_to(np.asarray(absolute), (t,)), np.broadcast_to(epsilon, (t,))
    fitted = iterate(data, b, current, rounds, absolute=turned, rows=rows)
    rest, gained = (1 - share) * epsilon, np.zeros(t)
    for count in range(int(np.max(passes))):
        floors = np.asarray([target.floor for target in current])
        shares = (
            retrieved_share(fitted.weights, floors, epsilon, how, share=share) for how in ("displayed", "example")
        )
        more = (rest - gained) * np.where(over_all, *shares)
        live = np.flatnonzero((more > _LEAST_GAIN * rest) & (np.broadcast_to(passes, (t,)) > count))
        if not len(live):
            break
        gained[live] += more[live]
        counts = over_all[:, None] | (fitted.weights > floors[:, None] * (1 + 1e-9))
        counted = np.where(counts, fitted.weights, np.inf).min(axis=1)
        for fit in live:
            current[fit] = replace(current[fit], floor=float(counted[fit]))
        smaller = b[live] * (share * epsilon[live] / (share * epsilon[live] + gained[live]))[:, None]
        rerun = iterate(data, smaller, [current[fit] for fit in live], rounds, absolute=turned[live], rows=rows)
        fitted.theta[live], fitted.weights[live] = rerun.theta, rerun.weights
    return fitted


def _loose_tolerance(data: Losses[Loss]) -> float:
    return 1e-6 * max(float(np.sqrt(data.count)), 1.0)


def retrieved_share(
    weights: np.ndarray, floor: np.ndarray | float, epsilon: float | np.ndarray, how: str, *, share: float = 0.5
) -> np.ndarray:
    """Return the share of ``(1 - r) eps`` that a modulus leaves: as printed, or as it can be proved.

    Args:
        weights: a (t, p) of ``theta_j^2``; the modulus is ``2 min_j a_j``.
        floor: Lambda0 = ``zeta3/(2 (1 - r) eps)``.
        epsilon: of the claim, of all fits or of each (t,).
        how: ``displayed`` (D, equation 13 with max for min: half comes back with no surplus, E9); ``example``
            (the worked example: the minimum over J only, E10); ``proved`` (``log(1 + zeta3/modulus)``, all j).
        share: r.
    """
    one_of("retrieval", how, ("displayed", "example", "proved"))
    least = weights.min(axis=1)
    if how == "displayed":
        return np.asarray(np.maximum(1 - floor / (2 * least), 0.0))
    if how == "example":
        column = np.broadcast_to(np.asarray(floor, dtype=float), least.shape)[:, None]
        chosen = np.where(weights > column * (1 + 1e-9), weights, np.inf).min(axis=1)
        return np.asarray(np.where(np.isfinite(chosen), 1 - column[:, 0] / np.where(chosen > 0, chosen, 1.0), 0.0))
    rest = (1 - share) * epsilon
    return np.asarray(np.maximum(1 - np.log1p(2 * rest * floor / (2 * least)) / rest, 0.0))
