"""Data of paper D's experiments: Table 4's settings and Adult, synthetic and public rows only."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import final

import numpy as np
import pandas as pd
from scipy.special import expit
from scipy.stats import truncnorm

from pmtcore.base.records import Private
from pmtcore.glm import losses
from pmtcore.glm.losses import Loss
from pmtcore.glm.solvers import Data
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.perturbed import Mechanism
from pmtcore.mechanisms.truncation import bounded
from pmtcore.tables.named import data_directory
from pmtcore.tables.table import read_path

_TEST = 10_000  # D, section 5.2
_P = 16  # D, Table 4
_COUNTS = 30.0  # declared bound on Poisson responses, and on predicted means
_SETTINGS: dict[str, tuple[float, np.ndarray]] = {  # half width of x, the 8 nonzero coefficients
    "linear": (0.25, 1 - 0.8 * np.arange(8) / 7),
    "poisson": (0.25, 4 - 0.5 * np.arange(8) / 7),
    "logistic": (0.5, 4 - 0.5 * np.arange(8) / 7),
}


@final
@dataclass(frozen=True)
class Draw:
    """One draw: private rows, public rows, test rows, the loss, the bound on rows; all features known."""

    loss: Loss
    x: np.ndarray
    y: np.ndarray
    public_x: np.ndarray
    public_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray
    radius: float
    truth: np.ndarray | None

    @property
    def data(self) -> Data:
        """Private rows, clipped."""
        return Data(self.loss, bounded(self.x, self.radius), self.loss.responses(self.y))

    def error(self, theta: np.ndarray) -> np.ndarray:
        """Prediction error (t,) on the test rows: mean squared, or the share of labels missed."""
        z = self.test_x @ theta.T
        if self.loss.id in ("logistic", "hinge"):
            return np.asarray(np.mean((z > 0) != (self.test_y[:, None] > 0.5), axis=0))
        mean = np.exp(np.minimum(z, math.log(_COUNTS))) if self.loss.id == "poisson" else z
        return np.asarray(np.mean((mean - self.test_y[:, None]) ** 2, axis=0))

    def release(self, mechanism: Mechanism, source: NoiseSource, trials: int = 1) -> np.ndarray:
        """Released coefficients (trials, p)."""
        return mechanism.release(Private(mechanism.rows(self.x, self.y)), len(self.y), source, trials)


def table4(seed: int, kind: str, n: int, m: int = 50) -> Draw:
    """A draw of D's Table 4; bounds are declared from the design, the radius is the longest public row."""
    half, size = _SETTINGS[kind]
    rng = np.random.default_rng((4, seed))
    theta = np.zeros(_P)
    theta[:8] = size
    count = n + m + _TEST
    x = rng.uniform(-half, half, (count, _P))
    z = x @ theta
    if kind == "linear":
        y, loss = z + truncnorm(-2, 2, scale=0.25).rvs(count, random_state=rng), losses.linear(0.5)
    elif kind == "poisson":
        y, loss = rng.poisson(np.exp(z)).astype(float), losses.loss("poisson", response=_COUNTS)
    else:
        y, loss = (rng.random(count) < expit(z)).astype(float), losses.LOGISTIC
    radius = float(np.linalg.norm(x[n : n + m], axis=1).max())
    return Draw(loss, x[:n], y[:n], x[n : n + m], y[n : n + m], x[n + m :], y[n + m :], radius, theta)


@cache
def _adult() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Complete cases of Adult: features of the training and the test table, and labels above 50K."""
    tables = []
    for name in ("adult-train.csv.gz", "adult-test.csv.gz"):
        frame = read_path(data_directory() / name, "public").frame
        frame = frame.apply(lambda c: c.str.strip() if not pd.api.types.is_numeric_dtype(c) else c)
        tables.append(frame[~(frame == "?").any(axis=1) & ~frame.isna().any(axis=1)])
    whole = pd.concat(tables, keys=["train", "test"])
    y = whole["income"].str.rstrip(".").eq(">50K").to_numpy(dtype=float)
    texts = ["workclass", "marital-status", "occupation", "relationship", "race", "sex"]
    numbers = pd.DataFrame(
        {
            "age": whole["age"] / 90,
            "education": whole["education-num"] / 16,
            "gain": np.log1p(whole["capital-gain"]) / np.log1p(99_999),
            "loss": np.log1p(whole["capital-loss"]) / np.log1p(99_999),
            "hours": whole["hours-per-week"] / 99,
            "abroad": whole["native-country"].ne("United-States").astype(float),
        }
    )
    dummies = pd.get_dummies(whole[texts], drop_first=True, dtype=float)
    x = np.column_stack([np.ones(len(whole)), numbers.to_numpy(dtype=float), dummies.to_numpy()])
    train = (whole.index.get_level_values(0) == "train").astype(bool)
    return x[train], y[train], x[~train], y[~train]


def adult(seed: int, m: int = 300) -> Draw:
    """Adult's training rows, m of them public by a new split in each trial; tested on its test table."""
    x, y, test_x, test_y = _adult()
    order = np.random.default_rng((6, seed)).permutation(len(y))
    mine, theirs = order[m:], order[:m]
    radius = float(np.linalg.norm(x[theirs], axis=1).max())
    return Draw(losses.LOGISTIC, x[mine], y[mine], x[theirs], y[theirs], test_x, test_y, radius, None)


def made(seed: int, kind: str, n: int, m: int) -> Draw:
    """A draw of a setting of Table 4, or of Adult."""
    return adult(seed, m) if kind == "adult" else table4(seed, kind, n, m)
