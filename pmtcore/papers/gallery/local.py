"""Trials of paper C's experiments: the papers' local methods beside the whitened one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import Budget, mu_from_epsilon
from pmtcore.base.records import PrivateRows
from pmtcore.glm.families import LOGISTIC
from pmtcore.glm.families import family as family_of
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.methods.baselines import exact_fit
from pmtcore.methods.local.collected import LocalPlan, WhitenedParameters
from pmtcore.methods.registry import make_parameters, method
from pmtcore.papers.gallery.central import HARMLESS, whole
from pmtcore.public.moments import PublicData, public_from_rows

_NOISE = 0.001  # C of paper C, section 6
_COUNTS = {"bernoulli": 10.0}  # declared bound on Poisson responses, whose mean is below 1.4 there
_WIDE_COUNTS = 50.0  # for Gaussian rows: one mean in 20,000 is larger


def trial(
    seed: int,
    *,
    design: str,
    target: str,
    p: int,
    n: int,
    m: int,
    epsilons: Sequence[float],
    power: float = 1.1,
    largest: bool = False,
    squared: bool = True,
    beyond: Sequence[float] = (),
    methods: Sequence[str] = (),
) -> dict[str, list[float]]:
    """Relative error of each method at each epsilon, delta = n^-power, one draw of data.

    Args:
        design: ``diagonal``, ``orthogonal`` (Gaussian) or ``bernoulli``.
        target: ``logistic``, ``poisson``, ``cubic`` or ``softplus``.
        largest: l_inf error, else l2.
        beyond: epsilons at which the whitened score runs too, which has a report for every row.
        methods: ids, for the record.
    """
    rng = np.random.default_rng(seed)
    w = np.full(p, 1 / np.sqrt(p))
    x = _design(rng, design, n + m, p)
    z = x @ w
    linked = target in LINKS
    y = LINKS[target].value(z) + rng.uniform(-_NOISE, _NOISE, n + m) if linked else _labels(rng, z, target)
    names = tuple(f"x{j + 1}" for j in range(p))
    public = public_from_rows(x[n:], None, names, "y", 0.0, family_of("gaussian" if linked else target))
    rows = PrivateRows.from_arrays(x[:n], y[:n], names)
    order = np.inf if largest else 2

    def error(found: np.ndarray) -> list[float]:
        size = float(np.linalg.norm(found - w, order) / np.linalg.norm(w, order))
        return [float("inf") if np.isnan(size) else size**2 if squared else size]

    id = ("ldp-nlr" if linked else "ldp-glm") + ("" if design == "bernoulli" else "-gaussian")
    bound = _COUNTS.get(design, _WIDE_COUNTS) if target == "poisson" else 0.0
    values: dict[str, Any] = {"link": target, "noise_bound": _NOISE} if linked else {"response_bound": bound}
    errors = {}
    for at, epsilon in enumerate(epsilons):
        mu = mu_from_epsilon(epsilon, n**-power)
        entry = method(id)
        plan = entry.plan(public, n, Budget(mu), make_parameters(entry, values))
        errors[f"{id}, eps = {epsilon:g}"] = error(plan.run(rows, SeededNoise(seed, at), 1).coefficients[0])
        if epsilon in beyond and not linked:
            errors[f"ldp-whitened, eps = {epsilon:g}"] = error(_pure(public, rows, epsilon, bound, seed))
    return errors


def _pure(public: PublicData, rows: PrivateRows, epsilon: float, bound: float, seed: int) -> np.ndarray:
    """``ldp-whitened`` with PrivUnit at a pure epsilon."""
    made = setup.whitened(public, rows.n, 1.0, "privunit", bound, epsilon)
    plan = LocalPlan(public, rows.n, made.mu, made, WhitenedParameters(randomizer="privunit", response_bound=bound))
    return np.asarray(plan.run(rows, SeededNoise(seed, 99), 1).coefficients[0])


def accuracy_trial(
    seed: int,
    *,
    table: str,
    n: int,
    epsilons: Sequence[float],
    train_rows: int = 406_708,
    rows_used: int | None = None,
    label: float = 2.0,
) -> dict[str, list[float]]:
    """Share of test rows that are told right: one label against the rest.

    Args:
        rows_used: of the table, drawn anew; all of them if ``None``.
    """
    x, y, names = whole(table, "z", False)
    keep = np.linalg.norm(x, axis=0) > 0
    x, y = x[:, keep], (y == label).astype(float)
    order = np.random.default_rng(seed).permutation(len(y))[:rows_used]
    train, test = order[:train_rows], order[train_rows:]
    mine, theirs = train[:n], train[n : 2 * n] if 2 * n <= len(train) else train[-n:]
    x = np.column_stack([x, np.ones(len(x))])
    names = (*[name for name, k in zip(names, keep, strict=True) if k], "one")
    public = public_from_rows(x[theirs], None, names, "y", 1e-3, LOGISTIC, 1e-4)
    rows = PrivateRows.from_arrays(x[mine], y[mine], names)

    def right(beta: np.ndarray) -> list[float]:
        return [float(np.mean((x[test] @ beta > 0) == (y[test] > 0.5)))]

    errors = {
        "always the larger class": [float(max(np.mean(y[test]), 1 - np.mean(y[test])))],
        "without privacy": right(exact_fit(public, rows).reveal(HARMLESS)),
    }
    for at, epsilon in enumerate(epsilons):
        mu = mu_from_epsilon(epsilon, n**-1.1)
        entry = method("ldp-glm-gaussian")
        plan = entry.plan(public, n, Budget(mu), make_parameters(entry, {}))
        found = np.nan_to_num(plan.run(rows, SeededNoise(seed, at), 1).coefficients[0])
        errors[f"ldp-glm-gaussian, eps = {epsilon:g}"] = right(found)
        errors[f"ldp-whitened, eps = {epsilon:g}"] = right(_pure(public, rows, epsilon, 0.0, seed))
    return errors


def _design(rng: np.random.Generator, design: str, count: int, p: int) -> np.ndarray:
    if design == "bernoulli":
        return rng.choice([-1.0, 1.0], (count, p)) / p
    x = rng.standard_normal((count, p))
    if design == "diagonal":
        return x * np.sqrt(rng.uniform(0, 1, p))
    return np.asarray(x @ np.linalg.qr(rng.standard_normal((p, p)))[0])


def _labels(rng: np.random.Generator, z: np.ndarray, target: str) -> np.ndarray:
    mean = family_of(target).mean(z)
    return rng.poisson(mean).astype(float) if target == "poisson" else (rng.random(len(z)) < mean).astype(float)
