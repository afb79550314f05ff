"""Variable selection on one synthetic table, many noise draws: what is kept, and the ROC curve (lab only).

The published selections stand beside the sound ones at the same epsilon under add-remove-one; their claim does not
hold (E11, E12).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

import numpy as np

from pmtcore.accounting.budgets import Neighbours
from pmtcore.accounting.perturbed import Terms, noise_for
from pmtcore.glm.augment import Target, iterate
from pmtcore.mechanisms.noise import SeededNoise
from pmtcore.mechanisms.perturbed import draw
from pmtcore.papers.gallery.erm import made
from pmtcore.papers.gallery.erm_trials import Tries, rates

LAMS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)  # from all kept to none
_SHARE = 0.5  # r of D, in all its experiments
_ROUNDS = 25  # of the weights; a third of the paper's, for a picture that answers at once
_PUBLISHED = (("NAPP-ERM (lab)", "napp-erm"), ("NAPP-VS (lab)", "napp-vs"), ("NAPP-VS+ (lab)", "napp-vs-plus"))


@final
@dataclass(frozen=True)
class Study:
    """What was kept.

    Attributes:
        truth: coefficients (p,).
        kept: how often each coefficient is not 0 at the chosen Lambda, (p,) by method.
        roc: false and true positive rates (k,) at each Lambda of ``lams``, by method.
    """

    names: tuple[str, ...]
    truth: np.ndarray
    lams: tuple[float, ...]
    kept: Mapping[str, np.ndarray]
    roc: Mapping[str, tuple[np.ndarray, np.ndarray]]


def study(kind: str, epsilon: float, lam: float, n: int = 500, trials: int = 10, seed: int = 0) -> Study:
    """Selections of a setting of Table 4 with a lasso target.

    Args:
        kind: ``linear``, ``poisson`` or ``logistic``.
        lam: Lambda at which ``kept`` is told, the nearest of :data:`LAMS`.
    """
    at = Tries.of(made(seed, kind, n, 50), epsilon, 0.0, seed)
    truth = at.found.truth
    if truth is None:
        raise ValueError("a setting of Table 4 is needed")
    thetas = {name: _published(at, id, trials) for name, id in _PUBLISHED}
    for name, values in (("dp-erm", {}), ("napp-public with the lasso", {"lasso": 1})):
        id = name.split()[0]
        made_at = [at.mechanism(id, values, each) for each in LAMS]
        thetas[name] = np.stack([at.found.release(m, SeededNoise(seed, 7), trials) for m in made_at])
    thetas["without privacy"] = at.theta("non-private", {}, LAMS, 0)[:, None]
    nearest = int(np.argmin(np.abs(np.log(np.asarray(LAMS) / lam))))
    kept = {name: np.mean(theta[nearest] != 0, axis=0) for name, theta in thetas.items()}
    roc = {name: _mean_rates(theta, truth) for name, theta in thetas.items()}
    return Study(tuple(f"x{j + 1}" for j in range(len(truth))), truth, LAMS, kept, roc)


def _published(at: Tries, id: str, trials: int) -> np.ndarray:
    """Coefficients (lams, trials, p), all in one stack."""
    p, loss = at.found.x.shape[1], at.found.loss
    terms = Terms(loss, at.found.radius, 2 * at.lambda0)
    noise = noise_for(terms, _SHARE * at.epsilon, 0.0, Neighbours.ADD_REMOVE_ONE, free=False)
    b = draw(noise, SeededNoise(at.seed, 7), trials, p)
    b = np.tile(np.abs(b) if id == "napp-vs-plus" else b, (len(LAMS), 1))
    targets = [Target(kind="lasso", lam=lam, floor=at.lambda0) for lam in LAMS for _ in range(trials)]
    found = iterate(at.found.data, b, targets, _ROUNDS, absolute=id != "napp-erm").theta
    return found.reshape(len(LAMS), trials, p)


def _mean_rates(theta: np.ndarray, truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    lams, trials, p = theta.shape
    false, true = rates(theta.reshape(-1, p), truth)
    return false.reshape(lams, trials).mean(axis=1), true.reshape(lams, trials).mean(axis=1)
