"""Trials of paper D's experiments: Table 4's logistic and linear settings, and Adult."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmtcore.budgets import Budget
from pmtcore.families import GAUSSIAN, LOGISTIC
from pmtcore.gallery.central import whole
from pmtcore.local.randomizers import mu_for
from pmtcore.moments import public_from_rows
from pmtcore.napp import Target, limit
from pmtcore.newton import Rows
from pmtcore.noise import SeededNoise
from pmtcore.records import PrivateRows
from pmtcore.registry import make_parameters, method

_P, _TRUE = 16, 8


def _draw(seed: int, kind: str, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, responses and coefficients of Table 4."""
    rng = np.random.default_rng(seed)
    k = np.arange(_TRUE)
    width, theta = (0.25, 1 - 0.8 * k / 7) if kind == "linear" else (0.5, 4 - 0.5 * k / 7)
    x = rng.uniform(-width, width, (n, _P))
    full = np.concatenate([theta, np.zeros(_P - _TRUE)])
    z = x @ full
    if kind == "linear":
        return x, z + np.clip(0.25 * rng.standard_normal(n), -0.5, 0.5), full
    return x, (rng.random(n) < LOGISTIC.mean(-z)).astype(float), -full


def moor_trial(seed: int, *, kind: str, n: int, lam: float, least: float) -> dict[str, list[float]]:
    """Distance to the plain lasso without noise, with MOOR and without (figure 3)."""
    x, y, _ = _draw(seed, kind, n)
    family, rows = GAUSSIAN if kind == "linear" else LOGISTIC, Rows(x, y, np.ones(n))
    zero = np.zeros((1, _P))
    plain = limit(family, rows, Target("lasso", lam, 0.0), zero, 200)[0]
    return {
        name: [float(np.linalg.norm(limit(family, rows, Target("lasso", lam, least, moor=moor), zero, 200)[0] - plain))]
        for name, moor in (("with MOOR", True), ("without MOOR", False))
    }


def weight_trial(seed: int, *, theta: float) -> dict[str, list[float]]:
    """The penalty realized at one coefficient (figure 1): target, larger of both, sum."""
    at = np.array([[theta]])

    def realized(target: Target) -> float:
        return float(target.weights(at, (1, 1))[0, 0] * theta**2)

    return {
        "target lasso": [realized(Target("lasso", 1.0, 0.0))],
        "with MOOR": [realized(Target("lasso", 1.0, 0.5))],
        "without MOOR": [realized(Target("lasso", 1.0, 0.5, moor=False))],
    }


def private_trial(
    seed: int,
    *,
    epsilon: float,
    n: int,
    m: int,
    tried: Sequence[tuple[str, str, Mapping[str, Any]]],
    measure: str,
    table: str = "",
    relation: float = 2.0,
) -> dict[str, list[float]]:
    """One release of each method on the logistic setting or Adult.

    Args:
        measure: ``error`` (share of new rows told wrong), ``auc`` (of ``|theta|`` for the true support), or
            ``retrieved`` (share of epsilon, as printed, or proved).
        relation: replace-one epsilon per add-remove epsilon, which the paper's is.
    """
    if table:
        x, y, names = whole(table, "minmax", True)
        order = np.random.default_rng(seed).permutation(len(y))
        x, y = x[order], y[order]
        full = np.zeros(x.shape[1])
    else:
        x, y, full = _draw(seed, "logistic", n + m + 4000)
        names = tuple(f"x{j + 1}" for j in range(_P))
    public = public_from_rows(x[:m], y[:m], names, "y", 1e-6, LOGISTIC, 1e-3)
    rows = PrivateRows.from_arrays(x[m : m + n], y[m : m + n], names)
    new_x, new_y = x[m + n : m + n + 4000], y[m + n : m + n + 4000]
    found: dict[str, list[float]] = {}
    for at, (series, id, values) in enumerate(tried):
        entry = method(id)
        printed = entry.neighbours.value == "add-remove-one"
        mu = mu_for(epsilon if printed else relation * epsilon)
        plan = entry.plan(public, n, Budget(mu), make_parameters(entry, values))
        outcome = plan.run(rows, SeededNoise(seed, at), 1)
        beta = outcome.coefficients[0]
        if measure == "error":
            found[series] = [float(np.mean((new_x @ beta > 0) != (new_y > 0.5)))]
        elif measure == "auc":
            size, true = np.abs(beta), full != 0
            found[series] = [float(np.mean(size[true][:, None] > size[~true][None, :]))]
        else:
            got = outcome.released().get("retrieved_as_printed")
            proved = plan.facts().get("retrieved_epsilon", 0.0)
            planned = epsilon if printed else relation * epsilon
            found[series] = [float(proved if got is None else got) / planned]
    return found
