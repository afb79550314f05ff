"""Augmented rows and the iterations of D's Algorithm 1: limit, rate, targets, errata (proofs/erm.md, 15.7)."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize as reference

from pmtcore.base.messages import ArgumentMessage
from pmtcore.glm import augment, losses
from pmtcore.glm.augment import (
    REGULARIZERS,
    Augmentation,
    Target,
    TargetStack,
    draw_augmented_rows,
    fit_in_the_limit,
    fit_with_augmented_rows,
    iterate,
    retrieved_share,
    run_with_recycling,
)
from pmtcore.glm.solvers import Data, Penalty, minimize
from tests.helpers import refused
from tests.mechanisms.test_perturbed import LOSSES, by_id, rows


@pytest.mark.slow
@by_id
def test_the_literal_form_tends_to_the_limit_at_the_stated_rate(loss, seed):
    """Root mean square distance to the limit falls as n_e^(-1/2): fitted slope within 0.12 of -0.5 (Prop. 1)."""
    x, y = rows(loss, 150, 4, seed)
    data = Data(loss, x, y)
    rng = np.random.default_rng(seed)
    b, weights = 2 * rng.standard_normal(4), np.array([3.0, 5.0, 2.0, 4.0]) * loss.curvature
    end = fit_in_the_limit(data, b[None], weights, 1e-10, start=np.zeros((1, 4))).theta[0]
    counts = [400, 1600, 6400, 25_600]
    far = [
        math.sqrt(
            np.mean([np.sum((fit_with_augmented_rows(data, b, weights, k, rng=rng) - end) ** 2) for _ in range(60)])
        )
        for k in counts
    ]
    slope = np.polyfit(np.log(counts), np.log(far), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.12)
    assert far[-1] < 0.05 * np.linalg.norm(end)


@by_id
def test_the_limit_agrees_with_an_independent_solver(loss, seed):
    """Weighted ridge fits against scipy's BFGS-type solver, to 1e-6."""
    x, y = rows(loss, 150, 4, seed)
    b, weights = np.array([1.0, -2.0, 0.5, 3.0]), np.array([3.0, 5.0, 2.0, 4.0])

    def f(theta):
        z = x @ theta
        return (
            loss.value(z, y).sum() + b @ theta + weights @ theta**2,
            x.T @ loss.first(z, y) + b + 2 * weights * theta,
        )

    other = reference(f, np.zeros(4), jac=True, method="L-BFGS-B", options={"ftol": 0, "gtol": 1e-11}).x
    mine = fit_in_the_limit(Data(loss, x, y), b[None], weights, 1e-10, start=np.zeros((1, 4))).theta[0]
    assert np.linalg.norm(mine - other) < 1e-6


@by_id
def test_augmented_rows_realize_what_they_should(loss, seed):
    """The linear term is exactly b at 0 (E15: pairs within a label); the mean square is the wanted weight (E16)."""
    rng = np.random.default_rng(seed)
    b, weights = np.array([1.0, -2.0]), np.array([3.0, 0.5]) * loss.curvature
    e, y = draw_augmented_rows(loss, b, weights, 100_000, rng=rng)
    assert np.allclose(e.T @ loss.first(np.zeros(len(y)), y), b, atol=1e-9)
    for j in range(2):
        t = np.zeros(2)
        t[j] = 0.5
        realized = (loss.value(e @ t, y) - loss.value(np.zeros(len(y)), y)).sum() - b @ t
        assert realized == pytest.approx(weights[j] * 0.25, rel=0.05)


def test_printed_responses_divide_by_zero():
    """E15: l'(0) = 0 for squared loss at response 0 and for Poisson at 1; the repaired ones are not 0."""
    zero = np.zeros(1)
    assert losses.linear(1.0).first(zero, np.zeros(1))[0] == 0
    assert losses.poisson(5.0, math.log(5.0)).first(zero, np.ones(1))[0] == 0
    for loss in LOSSES:
        assert all(abs(loss.first(zero, np.full(1, label))[0]) > 0.1 for label in loss.augmented)


@pytest.mark.parametrize("kind, gamma", [("lasso", 1.0), ("bridge", 1.0), ("bridge", 0.5)])
def test_iterations_realize_the_target_and_printed_ones_more(kind, gamma, seed):
    """E14: repaired weights end at Lambda |t|^(2 - gamma); printed ones at 2/(2 - gamma) times that."""
    loss = losses.linear(100.0)
    x, y = rows(loss, 300, 4, seed)
    data, lam = Data(loss, x, y), 3.0
    for printed, factor in ((False, 1.0), (True, 2 / (2 - gamma))):
        target = Target(kind=kind, lam=lam, gamma=gamma, printed=printed)
        theta = iterate(data, np.zeros((1, 4)), [target], 2000).theta[0]
        remaining = theta != 0
        slope = x.T @ loss.first(x @ theta, y)
        wanted = factor * lam * (2 - gamma) * np.sign(theta) * np.abs(theta) ** (1 - gamma)
        assert np.allclose(slope[remaining], -wanted[remaining], atol=2e-3)
        if gamma == 1.0:
            direct = minimize(data, Penalty.of(np.zeros((1, 4)), 1e-9, 0.0, factor * lam), 1e-8).theta[0]
            assert np.allclose(theta, direct, atol=2e-3)


def test_a_stack_of_targets_has_the_weights_of_each():
    """Table 2 for every kind, one formula for all of them: as each target alone, and as written out here."""
    theta = np.array([0.5, -2.0, 0.0])
    targets = [
        Target(kind=kind, lam=2.0, gamma=1.5, kappa=0.25, floor=floor, moor=moor, printed=printed)
        for kind in REGULARIZERS
        for floor in (0.3, 3.0)
        for moor in (True, False)
        for printed in (True, False)
    ]
    together = TargetStack.of(targets).weights(np.tile(theta, (len(targets), 1)))
    for target, result in zip(targets, together, strict=True):
        size = np.maximum(np.abs(theta), 1e-8)
        gamma = 1.5 if target.kind == "bridge" else 1.0
        factor = 1.0 if target.printed else 1 - gamma / 2
        square = {"ridge": 2.0, "elastic-net": 0.5}.get(target.kind, 0.0)
        own = square if target.kind == "ridge" else factor * 2.0 / size**gamma + square
        larger = target.moor or target.kind == "ridge"
        wanted = np.maximum(own, target.floor) if larger else own + target.floor
        assert np.allclose(result, wanted, rtol=1e-12) and np.array_equal(result, target.weights(theta[None])[0])
        first = max(square, target.floor) if larger else square + target.floor
        assert np.allclose(target.weights(None, 3), first) and target.weights(None, 3).shape == (3,)


def test_moor_is_the_larger_and_claim_2_the_sum():
    """Table 2 against Claim 2, ridge excepted; elastic net has both parts."""
    theta = np.array([[0.5, 2.0]])
    moor = Target(kind="lasso", lam=2.0, floor=1.5, printed=True)
    plain = Target(kind="lasso", lam=2.0, floor=1.5, moor=False, printed=True)
    assert np.allclose(moor.weights(theta), [[4.0, 1.5]]) and np.allclose(plain.weights(theta), [[5.5, 2.5]])
    assert np.allclose(moor.weights(None, 2), 1.5)
    net = Target(kind="elastic-net", lam=2.0, kappa=0.5, floor=0.5, printed=True)
    assert np.allclose(net.weights(theta), [[5.0, 2.0]]) and np.allclose(net.weights(None, 1), 1.0)
    for moored in (True, False):
        ridge = Target(kind="ridge", lam=1.0, floor=1.5, moor=moored)
        assert np.allclose(ridge.weights(theta), 1.5)
    with refused(ArgumentMessage.NOT_ONE_OF):
        Target(kind="scad")


def test_variable_selection_with_positive_noise_is_a_random_lasso(seed):
    """VS+ in the limit is a lasso with weights b; large b empties the model (E22: signs do not multiply up)."""
    loss = losses.linear(100.0)
    x, y = rows(loss, 300, 4, seed)
    data = Data(loss, x, y)
    b = np.array([[2.0, 1.0, 0.5, 3.0]])
    direct = minimize(data, Penalty.of(np.zeros((1, 4)), 2.0, 0.0, b), 1e-9).theta[0]
    result = iterate(data, b, [Target(kind="ridge", lam=1.0, floor=1.0)], 400, absolute=True).theta[0]
    remaining = direct != 0
    assert np.allclose(result[remaining], direct[remaining], atol=1e-4)
    empty = iterate(data, np.full((1, 4), 1e4), [Target(kind="lasso", lam=0.1, floor=1.0)], 80, absolute=True)
    assert np.all(empty.theta == 0)


def test_retrieval_as_printed_and_as_proved():
    """E9: half comes back with no surplus as displayed. E10: J ignores the coordinate that decides. Proved: neither."""
    floor, epsilon = 1.0, 1.0
    none = np.array([[1.0, 1.0]])
    some = np.array([[1.0, 50.0]])
    every = np.array([[50.0, 80.0]])
    assert retrieved_share(none, floor, epsilon, "displayed")[0] == 0.5
    assert retrieved_share(none, floor, epsilon, "example")[0] == 0
    assert retrieved_share(some, floor, epsilon, "example")[0] == pytest.approx(0.98)
    proved = [retrieved_share(w, floor, epsilon, "proved")[0] for w in (none, some, every)]
    assert proved[0] == proved[1] == pytest.approx(1 - math.log(1.5) / 0.5)
    assert proved[2] == pytest.approx(1 - math.log1p(0.01) / 0.5)


def test_the_proved_share_has_its_own_r():
    """``(1 - r) eps`` less ``log(1 + zeta3/modulus)``, over ``(1 - r) eps``, for any r."""
    weights, epsilon = np.array([[3.0, 9.0]]), 1.3
    for r in (0.2, 0.5, 0.8):
        zeta3 = 1.7
        floor = zeta3 / (2 * (1 - r) * epsilon)
        result = retrieved_share(weights, floor, epsilon, "proved", share=r)[0]
        rest = (1 - r) * epsilon
        assert result == pytest.approx(max(1 - math.log(1 + zeta3 / 6) / rest, 0))


def test_recycling_raises_the_modulus_and_shrinks_the_noise(seed):
    """Equation 15: after a pass no weight lies below the modulus that was counted on; passes end."""
    loss = losses.linear(100.0)
    x, y = rows(loss, 200, 4, seed)
    data, b = Data(loss, x, y), np.random.default_rng(seed).standard_normal((3, 4))
    targets = [Target(kind="lasso", lam=30.0, floor=1.0)]
    first = iterate(data, b, targets, 40)
    counted = np.where(first.weights > 1 + 1e-9, first.weights, np.inf).min(axis=1)
    share = retrieved_share(first.weights, 1.0, 1.0, "example")
    result = run_with_recycling(data, b, targets, 1.0, share=0.5, passes=1, rounds=40)
    assert np.all(share > 0) and np.all(result.weights >= counted[:, None] * (1 - 1e-12))
    smaller = b * (0.5 / (0.5 + 0.5 * share))[:, None]
    again = iterate(data, smaller, [Target(kind="lasso", lam=30.0, floor=float(c)) for c in counted], 40)
    assert np.allclose(result.theta, again.theta)
    displayed = retrieved_share(first.weights, 1.0, 1.0, "displayed")
    least = first.weights.min(axis=1)
    literally = run_with_recycling(
        data, b, targets, 1.0, share=0.5, passes=1, rounds=40, displayed=np.array([True, False, True])
    )
    assert np.all(displayed >= 0.5) and np.all(literally.weights[[0, 2]] >= least[[0, 2], None] * (1 - 1e-12))
    smaller = b * (0.5 / (0.5 + 0.5 * displayed))[:, None]
    again = iterate(data, smaller, [Target(kind="lasso", lam=30.0, floor=float(c)) for c in least], 40)
    assert np.allclose(literally.theta[[0, 2]], again.theta[[0, 2]]) and np.allclose(
        literally.theta[1], result.theta[1]
    )
    many, more = (run_with_recycling(data, b, targets, 1.0, share=0.5, passes=k, rounds=40) for k in (6, 12))
    assert np.allclose(many.theta, more.theta, atol=1e-3)


@by_id
def test_rounds_by_a_model_of_the_losses_end_where_rounds_by_the_losses_do(loss, seed, monkeypatch):
    """Where the losses are read only when a step leaves the reach of their model, far less often, iterates stay."""
    x, y = rows(loss, 300, 5, seed)
    data, b = Data(loss, x, y), np.random.default_rng(seed).standard_normal((4, 5))
    asked, own = [], Data.derivatives

    def counted(self: Data, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked.append(len(theta))
        return own(self, theta)

    monkeypatch.setattr(Data, "derivatives", counted)
    for absolute in (False, True):
        targets, result, read = [Target(kind="lasso", lam=5.0, floor=1.0)], [], []
        for share in (0.1, 0.0):
            monkeypatch.setattr(augment, "_SLIGHT_CURVATURE", share)
            asked.clear()
            result.append(iterate(data, b, targets, 60, absolute=absolute).theta)
            read.append(sum(asked))
        assert np.allclose(result[0], result[1], atol=1e-4) and read[0] < read[1], read


def test_the_literal_algorithm_is_near_its_limit(seed):
    """Algorithm 1 with 20,000 rows in every round, for napp-erm and for the selection, against the exact limit."""
    loss = losses.linear(100.0)
    x, y = rows(loss, 100, 3, seed)
    data, b = Data(loss, x, y), np.array([[3.0, -2.0, 1.0]])
    target = [Target(kind="ridge", lam=5.0, floor=1.0)]
    for absolute in (False, True):
        made = Augmentation(20_000, np.random.default_rng(seed))
        drawn = iterate(data, np.abs(b) if absolute else b, target, 6, absolute=absolute, rows=made).theta
        exact = iterate(data, np.abs(b) if absolute else b, target, 6, absolute=absolute).theta
        assert np.allclose(drawn, exact, atol=0.05)


@pytest.mark.parametrize("kind", ["linear", "logistic"])
def test_a_fit_has_the_derivatives_where_it_ended(kind, seed):
    """They are those of the losses at each minimizer, whenever its fit ended."""
    loss = losses.LOGISTIC if kind == "logistic" else losses.linear(100.0)
    x, y = rows(loss, 200, 4, seed)
    data, b = Data(loss, x, y), 10 * np.random.default_rng(seed).standard_normal((5, 4))
    ridge = np.array([1e-3, 1e-1, 1.0, 10.0, 1e4])[:, None] + 0 * b
    minimizers = minimize(data, Penalty.of(b, ridge, 0.0, 0.1), 1e-8)
    for known, there in zip(minimizers.derivatives, data.derivatives(minimizers.theta), strict=True):
        assert np.allclose(known, there, rtol=1e-9, atol=1e-9)
