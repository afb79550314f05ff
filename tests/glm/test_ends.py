"""A perturbed fit ends, whatever the rows are and however large the budget: in tens of steps, at its minimizer."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pmtcore.accounting.budgets import Neighbours
from pmtcore.accounting.perturbed import ApproxDP
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm import losses, solvers
from pmtcore.glm.solvers import Data, Penalty, minimize, shortest_subgradient
from pmtcore.mechanisms.minimizer import LossSums
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.perturbed import dp_erm
from tests.helpers import names

LOSSES = (
    losses.HINGE,
    losses.BOOSTING,
    losses.LOGISTIC,
    losses.linear(1.0),
    losses.poisson(10.0, math.log(10.0)),
)
MOST = 100  # looks at the rows: the worst of thousands of tables took a third of it


def hostile(kind: str, n: int, p: int, seed: int) -> np.ndarray:
    """Rows that make a fit hard: alike, of signs only, of all sizes, mostly empty, nearly collinear."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, p)) * np.exp(rng.uniform(-8, 0, p) * rng.integers(0, 2))
    if kind == "alike":
        x[:] = x[0]
    elif kind == "signs":
        x = np.sign(x)
    elif kind == "sizes":
        x *= np.exp(rng.uniform(-12, 3, (n, 1)))
    elif kind == "empty":
        x *= rng.random((n, p)) < 0.2
    elif kind == "collinear" and p > 1:
        x[:, -1] = x[:, 0] * (1 + 1e-7 * rng.standard_normal(n))
    return x


def responses(loss: losses.Loss, x: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    score = x @ rng.standard_normal(x.shape[1]) * rng.choice([0, 1, 100]) + rng.standard_normal(len(x))
    return rng.poisson(3, len(x)).astype(float) if loss.id == "poisson" else (score > 0).astype(float)


def counted(monkeypatch) -> list[int]:
    """Return how often the rows were looked at, in memory or in passes."""
    calls = [0]

    def counting(inner):
        def derivatives(self, theta):
            calls[0] += 1
            return inner(self, theta)

        return derivatives

    for sums in (Data, LossSums):
        monkeypatch.setattr(sums, "derivatives", counting(sums.derivatives))
    return calls


@pytest.mark.parametrize("kind", ["ordinary", "alike", "signs", "sizes", "empty", "collinear"])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: loss.id)
def test_a_release_ends(loss, kind, monkeypatch):
    """At budgets from 1 to 1,000, with a lasso and without: no error after the spend, and few looks."""
    calls = counted(monkeypatch)
    for seed, (epsilon, lasso, p) in enumerate(
        (epsilon, lasso, p) for epsilon in (1.0, 50.0, 1000.0) for lasso in (0.0, 0.1, 3.0) for p in (2, 5)
    ):
        x = hostile(kind, 300, p, seed)
        made = dp_erm(loss, 1.0, ApproxDP(epsilon, 1e-6, Neighbours.REPLACE_ONE), p, lasso=lasso)
        calls[0] = 0
        rows = PrivateRows.from_arrays(x, responses(loss, x, seed), names(p))
        made.release(made.clipped(rows), len(x), SeededNoise(seed), 1)
        assert 0 < calls[0] <= MOST, f"{calls[0]} looks: {loss.id}, {kind}, {epsilon}, {lasso}, {p}"


def test_coordinates_that_pull_at_each_other_end(monkeypatch):
    """Rows that are all alike beside a tiny ridge and a lasso: sweeps over coordinates would go on for ever, and steps
    that are not minimizers of their model would take thousands of looks."""
    calls = counted(monkeypatch)
    x = np.tile([[0.5, -0.6, 0.4]], (1000, 1))
    for sign in (1.0, -1.0):
        data = Data(losses.HINGE, x, np.full(1000, (1 + sign) / 2))
        penalty = Penalty.of(np.array([[0.3, -0.1, 0.2]]), 2e-3, 0.0, 0.1)
        minimizers = minimize(data, penalty, 1e-9)
        gradient, _ = data.derivatives(minimizers.theta)
        gradient += penalty.linear + penalty.ridge * minimizers.theta
        assert np.linalg.norm(shortest_subgradient(gradient, minimizers.theta, penalty.lasso)) <= 1e-9
        assert 0 < calls[0] <= MOST


def test_the_exact_step_is_the_minimizer_of_its_model():
    """Against the conditions that decide it, over ill-conditioned models of every sign pattern."""
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = int(rng.integers(1, 8))
        root = rng.standard_normal((p, max(p // 2, 1))) * np.exp(rng.uniform(-4, 4))
        hessian, level = root @ root.T + 10.0 ** rng.uniform(-4, 0) * np.eye(p), rng.standard_normal(p)
        lasso = np.where(rng.random(p) < 0.3, 0.0, rng.uniform(0, 2, p))
        end = solvers._exact_step(level, hessian, lasso, rng.integers(-1, 2, p).astype(float))
        left = shortest_subgradient((level + hessian @ end)[None], end[None], lasso[None])[0]
        assert np.linalg.norm(left) <= 1e-8 * (1 + np.linalg.norm(hessian @ end)), seed


def test_a_step_that_overshoots_is_shortened():
    """Where a kink turns the slope round, the step ends where the slope along it is small; one that does not overshoot
    is taken whole."""
    data = Data(losses.HINGE, np.array([[1.0], [1.0]]), np.array([1.0, 1.0]))
    penalty = Penalty.of(np.zeros((2, 1)), 0.01)
    theta, step = np.array([[-2.0], [-2.0]]), np.array([[2.5], [500.0]])
    ends = solvers._flattened(data, penalty, theta, step)
    slopes = [abs(solvers._slope(data, penalty, at, step)) for at in (theta, ends)]
    assert ends[0, 0] == 0.5 and np.all(slopes[1][1] <= 0.5 * slopes[0][1])
