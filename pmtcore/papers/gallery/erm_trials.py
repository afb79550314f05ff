"""Trials of paper D's experiments: one draw of data, every method on it, one relation.

All budgets here are under add-remove-one, the paper's relation; the sound methods are planned under it too, so that
nothing is compared across relations. Published methods are run in the exact limit of many augmented rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from pmtcore.accounting.perturbed import Noise, Terms, equation_4
from pmtcore.glm.augment import Iterated, Target, augmented, iterate, recycled, retrieved_share
from pmtcore.glm.losses import LOGISTIC
from pmtcore.glm.solvers import Penalty, minimize
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.perturbed import Mechanism, add_remove, dp_erm, draw, napp_public
from pmtcore.papers.gallery.erm import Draw, made
from pmtcore.public.penalized import PublicFit, best_weights, public_fit

Errors = dict[str, list[float]]
Tried = Sequence[tuple[str, str, Mapping[str, Any]]]  # series, method, its choices
_SHARE = 0.5  # r of D, in all its experiments


def weight_trial(seed: int, *, kind: str, theta: float, rows: int = 10_000) -> Errors:
    """The penalty realized at one coefficient (figure 1): target, both frameworks, and rows drawn for the first."""
    lam, floor, gamma = 1.0, 1.0, {"lasso": 1.0, "elastic-net": 1.0, "bridge": 1.5}[kind]
    at = np.array([[theta]])
    with_moor, without = (
        Target(kind=kind, lam=lam, gamma=gamma, floor=floor, moor=m, printed=True) for m in (True, False)
    )
    weight = with_moor.weights(at)[0]
    b = np.zeros(1)
    e, y = augmented(LOGISTIC, b, weight, rows, np.random.default_rng((1, seed)))
    drawn = LOGISTIC.value(e @ at[0], y).sum() - LOGISTIC.value(np.zeros(len(y)), y).sum()
    square = lam * with_moor.kappa * theta**2 if kind == "elastic-net" else 0.0
    return {
        "target": [lam * abs(theta) ** (2 - gamma) + square],
        "NAPP-ERM": [float(weight[0]) * theta**2],
        "DP-ERM": [float(without.weights(at)[0, 0]) * theta**2],
        "NAPP-ERM, rows drawn": [float(drawn)],
    }


def modulus_trial(seed: int, *, kind: str, theta: float, rows: int = 10_000) -> Errors:
    """The modulus of strong convexity at one coefficient (figure 1, below): both frameworks, and rows drawn."""
    lam, floor, gamma = 1.0, 1.0, {"lasso": 1.0, "elastic-net": 1.0, "bridge": 1.5}[kind]
    at = np.array([[theta]])
    with_moor, without = (
        Target(kind=kind, lam=lam, gamma=gamma, floor=floor, moor=m, printed=True) for m in (True, False)
    )
    weight = with_moor.weights(at)[0]
    e, y = augmented(LOGISTIC, np.zeros(1), weight, rows, np.random.default_rng((1, seed)))
    drawn = float(np.sum(e[:, 0] ** 2 * LOGISTIC.second(e @ at[0], y)))
    return {
        "required": [2 * floor],
        "NAPP-ERM": [2 * float(weight[0])],
        "DP-ERM": [2 * float(without.weights(at)[0, 0])],
        "NAPP-ERM, rows drawn": [drawn],
    }


def moor_trial(seed: int, *, kind: str, n: int, lams: Sequence[float], floor: float) -> Errors:
    """Distance to the plain lasso of each Lambda without noise, with MOOR and without (figure 3)."""
    data = made(seed, kind, n, 50).data
    p, t = data.x.shape[1], len(lams)
    sharp = np.broadcast_to(np.asarray(lams, dtype=float)[:, None], (t, p))
    plain = minimize(data, Penalty.of(np.zeros((t, p)), 1e-9, 0.0, sharp), 1e-8).theta
    names = {True: "with MOOR", False: "without MOOR"}
    targets = [Target(kind="lasso", lam=lam, floor=floor, moor=moor) for moor in names for lam in lams]
    theta = iterate(data, np.zeros((2 * t, p)), targets, 200).theta
    far = np.linalg.norm(theta - np.vstack([plain, plain]), axis=1)
    series = [f"{name}, Lambda = {lam:g}" for name in names.values() for lam in lams]
    return {name: [float(distance)] for name, distance in zip(series, far, strict=True)}


@final
@dataclass(frozen=True)
class Tries:
    """One draw with what all methods share."""

    found: Draw
    fit: PublicFit
    epsilon: float
    delta: float
    seed: int
    floor: float | None = None

    @classmethod
    def of(cls, found: Draw, epsilon: float, delta: float, seed: int, floor: float | None = None) -> Tries:
        """With the public fit."""
        return cls(found, public_fit(found.loss, found.public_x, found.public_y), epsilon, delta, seed, floor)

    @property
    def lambda0(self) -> float:
        """``zeta3/(2 (1 - r) eps)``, or what the paper says."""
        own = self.found.loss.curvature * self.found.radius**2 / (2 * (1 - _SHARE) * self.epsilon)
        return own if self.floor is None else self.floor

    def theta(self, id: str, values: Mapping[str, Any], lams: Sequence[float], stream: int) -> np.ndarray:
        """Coefficients (len(lams), p) of a method at each Lambda of a lasso target, one noise draw for all."""
        p, source = self.found.x.shape[1], SeededNoise(self.seed, 4, stream)
        zero = np.zeros((len(lams), p))
        if id == "public-only":
            return np.asarray(zero + self.fit.theta)
        if id == "non-private":
            sharp = np.broadcast_to(np.asarray(lams)[:, None], zero.shape)
            return minimize(self.found.data, Penalty.of(zero, 1e-6, 0.0, sharp), 1e-7 * len(self.found.y)).theta
        if id == "dp-erm" and (self.floor is not None or self.delta):
            held = Penalty.of(zero + self._noise(source), 2 * self.lambda0, 0.0, np.asarray(lams)[:, None] + zero)
            return minimize(self.found.data, held, 1e-6 * np.sqrt(len(self.found.y))).theta
        if id in ("dp-erm", "napp-public"):
            return np.vstack([self._sound(id, values, lam, SeededNoise(self.seed, 4, stream)) for lam in lams])
        return self.published(id, values, lams, source).theta

    def published(self, id: str, values: Mapping[str, Any], lams: Sequence[float], source: SeededNoise) -> Iterated:
        """Algorithm 1, or the selection of section 3.5; with ``recycle`` so many passes of Algorithm 2."""
        b = np.repeat(self._noise(source), len(lams), axis=0)
        b = np.abs(b) if id == "napp-vs-plus" else b
        moor, rounds = bool(values.get("moor", True)), int(values.get("rounds", 80))
        targets = [Target(kind="lasso", lam=lam, floor=self.lambda0, moor=moor) for lam in lams]
        absolute, passes = id != "napp-erm", int(values.get("recycle", 0))
        if not passes:
            return iterate(self.found.data, b, targets, rounds, absolute=absolute)
        return recycled(self.found.data, b, targets, self.epsilon, _SHARE, passes, rounds, absolute=absolute)

    def _noise(self, source: SeededNoise) -> np.ndarray:
        """The paper's noise (1, p), by equation 4."""
        terms = Terms(self.found.loss, self.found.radius, 2 * self.lambda0)
        noise: Noise = equation_4(terms, _SHARE * self.epsilon, self.delta)
        return draw(noise, source, 1, self.found.x.shape[1])

    def _sound(self, id: str, values: Mapping[str, Any], lam: float, source: SeededNoise) -> np.ndarray:
        return self.found.release(self.mechanism(id, values, lam), source)

    def mechanism(self, id: str, values: Mapping[str, Any], lam: float) -> Mechanism:
        """A sound method at the same promise; ``napp-public`` takes no lasso unless it is asked to."""
        found, planned = self.found, add_remove(self.epsilon, self.delta)
        if id == "dp-erm":
            return dp_erm(found.loss, found.radius, planned, found.x.shape[1], lasso=lam)
        weights = best_weights(
            found.loss, found.radius, planned, len(found.y), self.fit, float(values.get("gamma", 0.0))
        )
        choice = str(values.get("choice", "recycle"))
        sharp = lam if values.get("lasso") else 0.0
        centre = self.fit.theta
        return napp_public(found.loss, found.radius, planned, weights, centre, choice=choice, lasso=sharp)


def prediction_trial(
    seed: int,
    *,
    kind: str,
    n: int,
    epsilon: float,
    tried: Tried,
    delta: float,
    lam: float = 1.0,
    m: int = 50,
    floor: float | None = None,
    only: Sequence[str] | None = None,
) -> Errors:
    """Prediction error on new rows: mean squared, or the share of labels missed."""
    at = Tries.of(made(seed, kind, n, m), epsilon, delta, seed, floor)
    return {
        series: [float(at.found.error(at.theta(id, values, [float(values.get("lam", lam))], k))[0])]
        for k, (series, id, values) in enumerate(tried)
        if only is None or series in only
    }


def selection_trial(
    seed: int,
    *,
    kind: str,
    n: int,
    epsilon: float,
    tried: Tried,
    lams: Sequence[float],
    delta: float,
    m: int = 50,
    only: Sequence[str] | None = None,
) -> Errors:
    """Area under the ROC curve of selection, Lambda running through ``lams`` (figure 4)."""
    at = Tries.of(made(seed, kind, n, m), epsilon, delta, seed)
    truth = at.found.truth
    if truth is None:
        raise ValueError("selection needs known coefficients")
    return {
        series: [area(*rates(at.theta(id, values, lams, k), truth))]
        for k, (series, id, values) in enumerate(tried)
        if only is None or series in only
    }


def corner_trial(
    seed: int,
    *,
    kind: str,
    n: int,
    epsilon: float,
    tried: Tried,
    lam: float,
    m: int = 50,
    only: Sequence[str] | None = None,
) -> Errors:
    """How many features without effect are kept at one Lambda (the text on figure 4)."""
    at = Tries.of(made(seed, kind, n, m), epsilon, 0.0, seed)
    truth = at.found.truth
    if truth is None:
        raise ValueError("selection needs known coefficients")
    return {
        series: [float(np.sum(at.theta(id, values, [lam], k)[0][truth == 0] != 0))]
        for k, (series, id, values) in enumerate(tried)
        if only is None or series in only
    }


def rates(theta: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """False and true positive rates (t,) of selections (t, p) against the true coefficients (p,)."""
    picked = theta != 0
    return picked[:, truth == 0].mean(axis=1), picked[:, truth != 0].mean(axis=1)


def area(false: np.ndarray, true: np.ndarray) -> float:
    """Area under the curve through (0, 0), the points in order of their false positives, and (1, 1)."""
    order = np.lexsort((true, false))
    x = np.concatenate([[0.0], false[order], [1.0]])
    y = np.concatenate([[0.0], np.maximum.accumulate(true[order]), [1.0]])
    return float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2))


def retrieved_trial(seed: int, *, kind: str, n: int, epsilon: float, lam: float, m: int = 50) -> Errors:
    """Share of ``(1 - r) eps`` retrieved, read as the paper's example, and what can be proved (figure 7)."""
    at = Tries.of(made(seed, kind, n, m), epsilon, 0.0, seed)
    errors: Errors = {}
    for k, (name, id) in enumerate((("NAPP-ERM", "napp-erm"), ("NAPP-VS", "napp-vs"), ("NAPP-VS+", "napp-vs-plus"))):
        for words, moor in (("", True), (" without MOOR", False)):
            found = at.published(id, {"moor": moor}, [lam], SeededNoise(seed, 4, k))
            errors[name + words] = [float(retrieved_share(found.weights, at.lambda0, epsilon, "example")[0])]
    public = at.mechanism("napp-public", {}, 0.0)
    errors["napp-public (proved)"] = [public.split.retrieved_share]
    pull = napp_public(
        at.found.loss,
        at.found.radius,
        add_remove(epsilon, 0.0),
        np.full(len(at.fit.theta), lam + at.lambda0),
        at.fit.theta,
    )
    errors["ridge of Lambda + Lambda0 (proved)"] = [pull.split.retrieved_share]
    return errors
