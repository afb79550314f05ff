"""Synthetic rows with the released moment, for trying code; marked as such, never for inference."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pmtcore.base.messages import whole_number_between
from pmtcore.base.symmetric import eigenvector_root
from pmtcore.explore.functionals import Marginals
from pmtcore.methods.joint_moment.derived import Derived
from pmtcore.methods.joint_moment.influence import Rows

MARK = "synthetic"
_MOST = 1_000_000  # rows; more make no code easier to try


def rows(
    marginals: Marginals, derived: Derived, count: int, seed: int = 0, *, labels: Sequence[str] = ()
) -> pd.DataFrame:
    """Return rows of the given columns: Gaussian with the released means and correlations, shaped like public columns.

    Where the record has public rows, each column takes the public column's shape at the Gaussian's rank, shifted and
    stretched to the released mean and spread; dummies stay 0 and 1. A column says that the rows are synthetic.

    Raises:
        InputError: a number of rows out of range.
    """
    whole_number_between("synthetic rows", count, 1, _MOST)
    rng = np.random.default_rng(seed)
    mean, cov, _ = marginals.centred()
    sd = np.sqrt(np.maximum(np.diag(cov)[1:], 0.0))
    r, _ = marginals.units()
    normal = rng.standard_normal((count, len(r))) @ eigenvector_root(r).T
    many = len(derived.base) - 1
    columns = {}
    for j, name in enumerate(derived.base[1 : many + 1]):
        m, s = float(mean[j + 1]), float(sd[j])
        if name in labels:  # 0 and 1, in the released share
            rank = np.argsort(np.argsort(normal[:, j]))
            columns[name] = (rank >= (1 - min(max(m, 0.0), 1.0)) * count).astype(float)
        else:
            columns[name] = _shaped(marginals, normal[:, j], j + 1, m, sd=s)
    frame = pd.DataFrame(columns)
    frame[MARK] = True
    return frame


def _shaped(marginals: Marginals, normal: np.ndarray, j: int, mean: float, *, sd: float) -> np.ndarray:
    """Return one column (k,)."""
    influence = marginals.state.influence
    if not isinstance(influence, Rows):
        return np.asarray(mean + sd * normal)
    public = np.sort(influence.inside @ marginals.state.root[j])
    rank = np.argsort(np.argsort(normal))
    shaped = np.quantile(public, (rank + 0.5) / len(rank))
    spread = float(np.std(public))
    return np.asarray(mean + (shaped - np.mean(public)) * (sd / spread if spread > 0 else 0.0))
