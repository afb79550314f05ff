"""Errata as attacks: an event that one of two neighbouring tables cannot cause, and the other can (E5, E11, E12).

Each attack runs a published step at a claimed (epsilon, 0) on two tables of which one has one row more (an
empty row stands for no row; for E5 one person's row on the radius against one outside), counts the event on both, and
states its exact probabilities where there are any. The same tables and events are then tried on the sound methods,
where the claim must hold: the lower bound on epsilon from the counts (Clopper-Pearson) stays below it. All have one
feature, and r = 1/2 as in D.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmtcore.accounting.budgets import mu_from_epsilon
from pmtcore.accounting.perturbed import Noise
from pmtcore.auditing.lower_bound import CONFIDENCE, epsilon_bound
from pmtcore.base.messages import AttackResult, AuditMessage, InputError, number_between, whole_number_between
from pmtcore.base.private_rows import PrivateRows
from pmtcore.glm import losses
from pmtcore.glm.augment import Target, iterate
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Data, Penalty, minimize
from pmtcore.local.printed import symbol_attack
from pmtcore.local.protocol import Configuration
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.perturbed import Mechanism, add_remove, dp_erm, draw, napp_public

Table = tuple[tuple[float, float], ...]  # rows (x, y)
Event = Callable[[np.ndarray], np.ndarray]
SOUND = ("dp-erm", "napp-public")
# A row that carries no information.
_EMPTY_ROW = (0.0, 0.0)
# r of D, as in all its experiments.
_NOISE_SHARE = 0.5
# A lasso weight at which the interval below is reached under one table only.
_LASSO_WEIGHT = 0.8
# T of D, Figure 6.
_ROUNDS = 80
# Interval where the iterated lasso leaves no estimate under the other table, away from both ends.
_FLAT_INTERVAL = (0.02, 0.78)


@dataclass(frozen=True)
class Counterexample:
    """Two neighbouring tables and an event that distinguishes them.

    Attributes:
        id: short name.
        erratum: number in the list of errata.
        words: description of the published step.
        event_words: description of the event.
        loss: loss of one row.
        tables: D, in which the event cannot happen (or hardly), and D', which has one row more.
        event: from coefficients (trials,) to a mask (trials,).
        exact: probabilities of the event under both, as functions of the claimed epsilon.
        published: coefficients (trials,) of the published method: (rows, epsilon, trials, stream).
    """

    id: str
    erratum: str
    words: str
    event_words: str
    loss: Loss
    tables: tuple[Table, Table]
    event: Event
    exact: Callable[[float], tuple[float, float]]
    published: Callable[[Data[Loss], float, int, int], np.ndarray]


@dataclass(frozen=True)
class Attack:
    """Result of an attack.

    Attributes:
        id: short name of the counterexample.
        method: attacked method.
        words: description of the event.
        claimed: epsilon that the method claims.
        without, with_row: counts of the event under each table, in ``runs`` runs each.
        runs: number of runs.
        exact: exact probabilities, of published steps only.
        tables: names of the two tables in sentences.
    """

    id: str
    method: str
    words: str
    claimed: float
    without: int
    with_row: int
    runs: int
    exact: tuple[float, float] | None = None
    tables: tuple[str, str] = ("without the person", "with")

    @property
    def bound(self) -> float:
        """Return the lower bound on epsilon from the counts, at 99 %."""
        return epsilon_bound(self.without, self.runs - self.with_row, self.runs, 0.0)

    @property
    def refutes(self) -> bool:
        """Return True where the claim is refuted."""
        return self.bound > self.claimed

    @property
    def sentence(self) -> str:
        """Return the result as a sentence."""
        exact = "" if self.exact is None else f" (exactly {self.exact[0]:.3g} and {self.exact[1]:.3g})"
        return (
            f"{self.method}: {self.words}: {self.without / self.runs:.3g} {self.tables[0]}, "
            f"{self.with_row / self.runs:.3g} {self.tables[1]}{exact}; "
            f"{AttackResult.EPSILON_AT_LEAST.sentence(bound=self.bound, claimed=self.claimed)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields."""
        return {
            "attack": self.id,
            "method": self.method,
            "event": self.words,
            "claimed_epsilon": self.claimed,
            "probability": self.without / self.runs,
            "probability_with_the_row": self.with_row / self.runs,
            "exact": None if self.exact is None else list(self.exact),
            "epsilon_lower_bound": self.bound,
            "confidence": CONFIDENCE,
            "trials": self.runs,
            "refuted": self.refutes,
        }


def symbol(*, printed: bool = True) -> Attack:
    """Attack E5: the printed report reveals that a device's row lies outside the radius; a clipped one does not."""
    d, runs, epsilon = 3, 4000, 1.0
    mu, names = mu_from_epsilon(epsilon, 1e-6), tuple(f"x{j}" for j in range(d))
    made = Configuration(
        "moments", names, "y", np.zeros(d), np.eye(d), radius=5.0, low=0.0, high=1.0, randomizer="gaussian", mu=mu
    )
    result = symbol_attack(made, runs, SeededNoise(5), printed)
    words = "a device answers with a symbol" if printed else "a clipped report looks like the outer row's"
    counts = round(result.false_alarms * runs), round(result.detections * runs)
    tables = ("for a row on the radius", "for one a hundredth outside")
    return Attack("E5", "paper C" if printed else "ours", words, epsilon, *counts, runs, tables=tables)


def _noise(loss: Loss, epsilon: float, trials: int, stream: int, *, floor: float = -math.inf) -> np.ndarray:
    """Draw noise b (trials, 1) at ``r eps``, truncated below at ``floor`` as in D's equation 9 (by rejection)."""
    noise, source = Noise(True, loss.score / (_NOISE_SHARE * epsilon)), SeededNoise(11, stream)
    if floor == 0:
        return np.abs(draw(noise, source, trials, 1))
    accepted = np.empty((0, 1))
    while len(accepted) < trials:
        more = draw(noise, source, trials, 1)
        accepted = np.vstack([accepted, more[more[:, 0] > floor]])
    return accepted[:trials]


def _floor(loss: Loss, epsilon: float) -> float:
    """Return Lambda0 at r = 1/2: ``zeta3/(2 (1 - r) eps)``."""
    return loss.curvature / epsilon


def _selection(floor: float) -> Callable[[Data[Loss], float, int, int], np.ndarray]:
    """Return D's equation 8: ``sum l + Lambda0 theta^2 + b |theta|``, b above ``floor``.

    The result is the better minimizer of both half-lines.
    """

    def run(data: Data[Loss], epsilon: float, trials: int, stream: int) -> np.ndarray:
        b = _noise(data.loss, epsilon, trials, stream, floor=floor)
        ridge = 2 * _floor(data.loss, epsilon)
        best, value = np.zeros(trials), np.zeros(trials)
        start = data.value(np.zeros((trials, 1)))
        for sign in (1.0, -1.0):
            theta = minimize(data, Penalty.of(sign * b, ridge), 1e-10).theta
            theta = np.where(sign * theta > 1e-12, theta, 0.0)
            gain = data.value(theta) + ridge / 2 * theta[:, 0] ** 2 + b[:, 0] * np.abs(theta[:, 0]) - start
            best = np.where(gain < value, theta[:, 0], best)
            value = np.minimum(gain, value)
        return best

    return run


def iterated_lasso(rounds: int) -> Callable[[Data[Loss], float, int, int], np.ndarray]:
    """Return D's Algorithm 1 with lasso and MOOR, weights as printed, for a number of rounds."""

    def run(data: Data[Loss], epsilon: float, trials: int, stream: int) -> np.ndarray:
        target = Target(kind="lasso", lam=_LASSO_WEIGHT, floor=_floor(data.loss, epsilon), printed=True)
        return iterate(data, _noise(data.loss, epsilon, trials, stream), [target], rounds).theta[:, 0]

    return run


def _laplace(low: float, high: float, scale: float) -> float:
    def below(z: float) -> float:
        return 0.5 * math.exp(z / scale) if z < 0 else 1 - 0.5 * math.exp(-z / scale)

    return below(high) - below(low)


def _plus(epsilon: float) -> tuple[float, float]:
    return 0.0, 1 - math.exp(-0.5 * _NOISE_SHARE * epsilon)  # theta moves when b < |l'(0)| = 1/2


def _cut(epsilon: float) -> tuple[float, float]:
    scale = 1 / (_NOISE_SHARE * epsilon)
    return 0.0, _laplace(-1.0, 0.25, scale) / _laplace(-1.0, 1e9, scale)


def _uncut(epsilon: float) -> tuple[float, float]:
    return 0.0, _laplace(-1e9, 0.25, 1 / (_NOISE_SHARE * epsilon))  # theta < 0 when b < |sum l'(0)| = 1/4


def _weights(epsilon: float) -> tuple[float, float]:
    """Return the probabilities in the limit, where theta in the open lasso part is ``1 - b - 2 Lambda``."""
    low, high = _FLAT_INTERVAL
    return 0.0, _laplace(1 - high - 2 * _LASSO_WEIGHT, 1 - low - 2 * _LASSO_WEIGHT, 1 / (_NOISE_SHARE * epsilon))


def _negative(theta: np.ndarray) -> np.ndarray:
    return theta < 0


def unreached_interval_mask(theta: np.ndarray) -> np.ndarray:
    """Return a mask of the coefficients in the interval where the iterated lasso has no curvature."""
    return (theta > _FLAT_INTERVAL[0]) & (theta < _FLAT_INTERVAL[1])


# Half a row and a full one, in the design of E11.
_HALF_ROW, _FULL_ROW = (0.5, 1.0), (1.0, 0.0)
_TIPPED: tuple[Table, Table] = ((_HALF_ROW, _EMPTY_ROW), (_HALF_ROW, _FULL_ROW))
ATTACKS = {
    attack.id: attack
    for attack in (
        Counterexample(
            "vs-plus",
            "E11",
            "NAPP-VS+ (c = 0): without a row to move it the coefficient is 0 whatever b is",
            "the coefficient is not 0",
            losses.LOGISTIC,
            ((_EMPTY_ROW,), ((1.0, 1.0),)),
            lambda theta: theta != 0,
            _plus,
            _selection(0.0),
        ),
        Counterexample(
            "vs-finite",
            "E11",
            "NAPP-VS with c = -1: the sign of the coefficient is the sign of the data",
            "the coefficient is negative",
            losses.LOGISTIC,
            _TIPPED,
            _negative,
            _cut,
            _selection(-1.0),
        ),
        Counterexample(
            "vs",
            "E11",
            "NAPP-VS (c to -infinity): not convex where b < 0, and the sign is the sign of the data",
            "the coefficient is negative",
            losses.LOGISTIC,
            _TIPPED,
            _negative,
            _uncut,
            _selection(-math.inf),
        ),
        Counterexample(
            "iterated-weights",
            "E12",
            "Lasso by iterated weights: without data there is no curvature below Lambda/Lambda0",
            f"the coefficient lies between {_FLAT_INTERVAL[0]:g} and {_FLAT_INTERVAL[1]:g}",
            losses.linear(1.0),
            ((_EMPTY_ROW,), ((1.0, 1.0),)),
            unreached_interval_mask,
            _weights,
            iterated_lasso(_ROUNDS),
        ),
    )
}


def attack(id: str, method: str = "published", epsilon: float = 1.0, trials: int = 20_000) -> Attack:
    """Run an attack on the published method, or the same tables and event on a sound one.

    Args:
        id: one of :data:`ATTACKS`.
        method: ``published``, or one of :data:`SOUND`.
        epsilon: claimed epsilon.
        trials: number of runs on each table.

    Raises:
        InputError: unknown attack or method, or numbers out of range.
    """
    if id not in ATTACKS or method not in ("published", *SOUND):
        raise InputError(AuditMessage.NO_ATTACK, given=id, method=method, allowed=ATTACKS, methods=SOUND)
    number_between("epsilon", epsilon, 0.01, 20.0)
    whole_number_between("trials", trials, 1000, 10**6)
    chosen, counts = ATTACKS[id], []
    for which, table in enumerate(chosen.tables):
        rows = np.asarray(table)
        if method == "published":
            data = Data(chosen.loss, rows[:, :1], rows[:, 1])
            theta = chosen.published(data, epsilon, trials, which)
        else:
            made = _sound_mechanism(method, chosen.loss, epsilon)
            measured = made.clipped(PrivateRows.from_arrays(rows[:, :1], rows[:, 1], ("x",)))
            source = SeededNoise(12, which)
            theta = made.release(measured, len(rows), source, trials)[:, 0]
        counts.append(int(np.sum(chosen.event(theta))))
    exact = chosen.exact(epsilon) if method == "published" else None
    name = f"{chosen.words} ({chosen.erratum})" if method == "published" else f"{method}, tables of {id}"
    return Attack(id, name, chosen.event_words, epsilon, counts[0], counts[1], trials, exact)


def _sound_mechanism(method: str, loss: Loss, epsilon: float) -> Mechanism:
    """Return the sound counterpart at the same claim, loss and radius, with a lasso target where the attack has one."""
    lasso = 0.1
    if method == "dp-erm":
        return dp_erm(loss, 1.0, add_remove(epsilon, 0.0), 1, lasso=lasso)
    return napp_public(
        loss, 1.0, add_remove(epsilon, 0.0), np.full(1, loss.curvature / epsilon), centre=np.zeros(1), lasso=lasso
    )
