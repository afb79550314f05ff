"""The noise that covers what is not ideal of a minimizer (proofs/minimizer.md, 21): asked for, of the right size,
and *added*."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pmtcore.accounting.budgets import Neighbours
from pmtcore.accounting.gdp import Gdp
from pmtcore.accounting.perturbed import ApproxDP
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm import losses
from pmtcore.glm.families import LOGISTIC
from pmtcore.glm.rows import Rows
from pmtcore.mechanisms.grid import FINE, SLACK
from pmtcore.mechanisms.minimizer import MinimizerRelease, Reserve, RoundingBound
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.objective import Perturbation
from pmtcore.mechanisms.perturbed import dp_erm, napp_public
from pmtcore.mechanisms.truncation import truncate_within
from tests.helpers import in_pieces, names

NOISE = np.array([[10_000_019, -30_000_001, 7]])
PURE = ApproxDP(2.0, 0.0, Neighbours.REPLACE_ONE)
GAUSSIAN = Gdp(1.0, Neighbours.REPLACE_ONE, 1e-6)


class Scripted(NoiseSource):
    """Gives what it is told, call by call, and keeps what was asked for."""

    secure = False

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), []

    def _next(self, kind, scale, trials, size):
        self.asked.append((kind, scale, trials, size))
        return np.array(np.broadcast_to(self.answers.pop(0), (trials, size)), dtype=np.int64)

    def integers(self, sigma, trials, size):
        return self._next("integers", sigma, trials, size)

    def spherical(self, scale, trials, size):
        return self._next("spherical", scale, trials, size)

    def words(self, trials, size):
        raise AssertionError("no words are asked for here")


def minimizer_release(d=3, ball=50.0, modulus=2.0):
    return MinimizerRelease(np.linspace(-1, 1, d), ball, modulus, 1e-6, RoundingBound(1.0, 1e-9), 1e-8)


@pytest.mark.parametrize("pure", [False, True])
def test_the_covering_noise_is_added_in_whole_steps(pure):
    """With a known draw the release is the grid's point plus exactly that draw; without one, the grid's point."""
    made, theta = minimizer_release(), np.array([[0.3, -2.0, 5.0]])
    with_noise, without = Scripted(NOISE), Scripted(np.zeros((1, 3)))
    reserve = Reserve(50.0 if pure else 25.0, pure)  # 1 % and 2 % of it are 0.5
    difference = made.covered(theta, reserve, with_noise) - made.covered(theta, reserve, without)
    assert difference / made.step == pytest.approx(NOISE, abs=0.01)
    scale = (1.0 if pure else 1 + SLACK) * made.sensitivity / 0.5
    assert with_noise.asked == [("spherical" if pure else "integers", pytest.approx(scale), 1, 3)]
    spend = made.spend(reserve)
    assert (spend.epsilon if pure else spend.mu) == pytest.approx(0.5)


def rows_and_labels(n=60, d=3):
    rng = np.random.default_rng(5)
    return truncate_within(2 * rng.standard_normal((n, d)), 1.0), (rng.random(n) < 0.5).astype(float)


def perturbation():
    x, y = rows_and_labels()
    weights = np.full(len(y), 1 - 2.0**-40)
    made = Perturbation(LOGISTIC, len(y), 1.0, 1.0, 1.0, np.zeros((3, 3)), np.zeros(3))
    return made, in_pieces(Rows(x, y, weights)), made.minimizer_release, made.mu


def mechanisms():
    """Each mechanism that publishes a minimizer, with the rows it is run on."""
    x, y = rows_and_labels()
    for budget in (GAUSSIAN, PURE):
        yield dp_erm(losses.LOGISTIC, 1.0, budget, 3), x, y
        yield dp_erm(losses.LOGISTIC, 1.0, budget, 3, lasso=0.01), x, y
        yield napp_public(losses.LOGISTIC, 1.0, budget, np.full(3, 4.0), centre=np.zeros(3)), x, y


@pytest.mark.parametrize("at", range(6))
def test_a_release_has_its_covering_noise(at):
    """dp-erm and napp-public, Gaussian and pure, with a lasso and without: the second draw arrives, step by step."""
    made, x, y = list(mechanisms())[at]
    ideal = made.minimizer_release(len(y))
    shift = 10**12 * np.array([[1, -2, 3]])  # far beyond what a lasso sets to zero
    with_noise, without = Scripted(np.zeros((1, 3)), shift), Scripted(np.zeros((1, 3)), 0 * shift)
    rows = made.clipped(PrivateRows.from_arrays(x, y, names(3)))
    collected = [made.release(rows, len(y), source, 1) for source in (with_noise, without)]
    assert (collected[0] - ideal.centre) / ideal.step == pytest.approx(ideal.integers(collected[1]) + shift, rel=1e-6)
    (_, first, *_), (kind, scale, *_) = with_noise.asked
    assert first == FINE and kind == ("spherical" if made.noise.pure else "integers")
    paid = made.parts(len(y))[1]
    assert scale * ideal.step >= (
        paid.sensitivity / paid.mu if not made.noise.pure else paid.sensitivity / paid.epsilon
    )


def test_an_objective_has_its_covering_noise():
    """pmt-objective: the second draw arrives."""
    made, rows, ideal, _ = perturbation()
    with_noise, without = Scripted(np.zeros((1, 3)), 10**9 * NOISE), Scripted(np.zeros((1, 3)), 0 * NOISE)
    difference = made.release(rows, with_noise, 1) - made.release(rows, without, 1)
    assert difference / ideal.step == pytest.approx(10**9 * NOISE, rel=1e-6)
    assert next(scale for _, scale, *_ in with_noise.asked) == FINE


def optima():
    for d in (1, 2, 10, 50):
        for modulus in (1e-3, 1.0, 1e6):
            for fixed, slope in ((1e-12, 1e-12), (1e-6, 1e-9), (1.0, 1e-3), (1e3, 1e3)):
                yield MinimizerRelease(np.zeros(d), 100.0, modulus, 1e-6, RoundingBound(fixed, slope), 1e-8)
    yield perturbation()[2]
    yield from (made.minimizer_release(len(y)) for made, _, y in mechanisms())


@pytest.mark.parametrize("made", list(optima()), ids=lambda made: f"{len(made.centre)}-{made.modulus:.3g}")
def test_the_grid_is_no_finer_than_the_distance_allows(made):
    """Two neighbours' integers lie at most ``2 rho/step + sqrt(d)`` apart: what the noise is calibrated to."""
    apart = 2 * made.distance / made.step + math.sqrt(len(made.centre))
    assert apart <= made.sensitivity * (1 + 1e-12)
    assert made.coefficient_sensitivity == pytest.approx(made.sensitivity * made.step, rel=1e-12)
    assert 2 * made.ball / made.step < 2.0**62, "the integers of the ball have room"


@pytest.mark.parametrize("made", list(optima()), ids=lambda made: f"{len(made.centre)}-{made.modulus:.3g}")
def test_points_within_the_distance_get_integers_within_the_sensitivity(made):
    """Witness: two points, each as far from one ideal as is claimed, in opposite directions, over random directions."""
    rng = np.random.default_rng(1)
    d = len(made.centre)
    directions = rng.standard_normal((200, d))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    ideal = made.centre + min(0.1 * made.ball, 1.0) * rng.standard_normal(d) / math.sqrt(d)
    apart = made.integers(ideal + made.distance * directions) - made.integers(ideal - made.distance * directions)
    assert np.max(np.linalg.norm(apart.astype(float), axis=1)) <= made.sensitivity * (1 + 1e-9)
