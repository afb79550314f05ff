"""The public side of gradients in several passes: coordinates, left-out rows, what clipping costs (maths.md, 16).

Coordinates whiten the features with the least public ridge that is enough. Public rows enter as they would look if
each had been left out: longer by the share that they have in the whitening, with the residual of a fit without them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from pmtcore.glm.newton import unpacked
from pmtcore.mechanisms.truncation import length_weights
from pmtcore.public.moments import PublicData, back_transform, left_out_norm, whiten
from pmtcore.public.ridge import RidgePrior, ridge_prior

_MOST_ROWS = 4000  # public rows behind a choice; more change it by less than its own doubt
_NUMBERS = 4_000_000  # held at once
_FEW_POINTS = 4  # Hessians one by one up to here: making all products of columns costs as much as ten of them
_LEAST_SHARE = 0.2  # a row that alone shows a direction: no more than five times as far as it looks, squared
_LEAST_SLACK = 0.1  # a row that decides its own fit says little: no more than ten times its residual
_SHORT, _ROOM = 0.3, 1.5  # bounds: from this share of the median length to so many times the longest
_CANDIDATES = 16  # bounds on a log grid, each some tens of percent from the next
_COMMON = 0.02  # of what is cut off: private rows may lose it in one direction, as no sample of public rows tells


@final
@dataclass(frozen=True)
class Cut:
    """What clipping public gradients at bounds (t,) takes: mean (t, d), and covariance (t, d, d) of that mean."""

    bounds: np.ndarray
    mean: np.ndarray
    doubt: np.ndarray


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """Public rows in the coordinates in which the passes work, for n private rows."""

    public: PublicData
    n: int

    @cached_property
    def prior(self) -> RidgePrior:
        """Where public rows put the coefficients."""
        return ridge_prior(self.public)

    @cached_property
    def root(self) -> np.ndarray:
        """``L_x`` (d, d): of the public moment of the features with the whitening ridge."""
        return self.prior.whitening_root(self._features)

    @property
    def _features(self) -> np.ndarray:
        if self.public.rows is None:
            raise ValueError("public rows are needed")
        return self.public.rows[:, :-1]

    @property
    def m(self) -> int:
        """Public rows that are used."""
        return len(self.response)

    @cached_property
    def _step(self) -> int:
        return math.ceil(len(self._features) / _MOST_ROWS)

    @cached_property
    def response(self) -> np.ndarray:
        """Public responses (m,), every k-th where there are very many."""
        return np.asarray(self.public.rows[:: self._step, -1]) if self.public.rows is not None else np.empty(0)

    @property
    def clusters(self) -> np.ndarray | None:
        """Groups (m,) of the public rows, where errors are clustered."""
        return None if self.public.clusters is None else self.public.clusters[:: self._step]

    @cached_property
    def rows(self) -> np.ndarray:
        """Whitened public features (m, d), as they are."""
        return whiten(self.root, self._features[:: self._step])

    @cached_property
    def left_out(self) -> np.ndarray:
        """The same as if each had been left out of the whitening (m, d)."""
        squares, m = np.sum(self.rows**2, axis=1), len(self._features)
        far = np.minimum(left_out_norm(squares, m), squares / _LEAST_SHARE)
        return np.asarray(self.rows * np.sqrt(far / np.maximum(squares, 1e-300))[:, None])

    @cached_property
    def norms(self) -> np.ndarray:
        """Lengths (m,) of :attr:`left_out`."""
        return np.linalg.norm(self.left_out, axis=1)

    @cached_property
    def start(self) -> tuple[np.ndarray, np.ndarray]:
        """Centre (d,), and covariance (d, d) of a fit to n private rows around it, if rows are alike."""
        centre, covariance = self.prior.whitened(self.root)
        return centre, covariance * (1 + len(self._features) / self.n)

    @cached_property
    def penalty(self) -> np.ndarray:
        """The problem's own ridge (d, d) in these coordinates."""
        free = (self.prior.spread > 0).astype(float)
        inverse = np.linalg.solve(self.root, np.diag(free))
        return np.asarray(self.public.lam * inverse @ inverse.T)

    @cached_property
    def _inflation(self) -> np.ndarray:
        """What left-out residuals (m,) are longer by."""
        slope = self.public.family.slope(self.rows @ self.start[0])
        inverse = np.linalg.inv(self.root)
        held = self.penalty + self.prior.penalty * inverse @ np.diag(self.prior.spread) @ inverse.T
        hessian = (self.rows * slope[:, None]).T @ self.rows / self.m + held
        share = np.einsum("ij,jk,ik->i", self.rows, np.linalg.inv(hessian), self.rows, optimize=True)
        own = share * slope / len(self._features)
        return np.asarray(1 / np.maximum(1 - own, _LEAST_SLACK))

    def slopes(self, points: np.ndarray) -> np.ndarray:
        """``b''`` (m, t) of left-out public rows at points (t, d)."""
        return self.public.family.slope(self.left_out @ points.T)

    def hessians(self, slopes: np.ndarray) -> np.ndarray:
        """Public Hessians (t, d, d) of the mean loss from slopes (m, t), without the penalty."""
        x, d = self.left_out, self.public.d
        if slopes.shape[1] <= _FEW_POINTS:
            return np.stack([(x * slope[:, None]).T @ x for slope in slopes.T]) / self.m
        above = np.triu_indices(d)
        packed = np.zeros((slopes.shape[1], len(above[0])))
        rows = max(_NUMBERS // len(above[0]), 1)
        for start in range(0, self.m, rows):
            part = x[start : start + rows]
            packed += slopes[start : start + rows].T @ (part[:, above[0]] * part[:, above[1]])
        return unpacked(packed / self.m, d)

    def roughness(self, slopes: np.ndarray) -> np.ndarray:
        """Mean variance (t,) of an entry of the public Hessian around that of n private rows."""
        squares = self.left_out**2
        first = np.sum(slopes**2 * np.sum(squares, axis=1)[:, None] ** 2, axis=0) / self.m
        own = np.sum(self.hessians(slopes) ** 2, axis=(1, 2))
        return np.asarray(np.maximum(first - own, 1e-12) / squares.shape[1] ** 2 * (1 / self.m + 1 / self.n))

    def residuals(self, points: np.ndarray) -> np.ndarray:
        """Left-out public residuals (t, m) at points (t, d)."""
        found = self.response - self.public.family.mean(points @ self.rows.T)
        return np.asarray(found * self._inflation)

    def cut(self, residuals: np.ndarray, bounds: np.ndarray) -> Cut:
        """What clipping takes, by left-out public residuals (t, m); with a share of its size in a common direction."""
        lengths = self.norms * np.abs(residuals)
        share = residuals * (1 - length_weights(lengths, bounds[:, None]))
        apart = self.hessians((share**2).T) / self.m * (1 + self.m / self.n)
        size = np.mean(self.norms * np.abs(share), axis=1) ** 2
        common = (_COMMON * size / self.public.d)[:, None, None] * np.eye(self.public.d)
        return Cut(bounds, share @ self.left_out / self.m, apart + common)

    def candidates(self, residuals: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Bounds to choose from (t, K), and the mean variance of a coordinate of :meth:`cut` at each."""
        lengths = self.norms * np.abs(residuals)
        top = np.maximum(_ROOM * np.max(lengths, axis=1), 1e-290)
        low = np.maximum(_SHORT * np.median(lengths, axis=1), 1e-9 * top)
        bounds = np.geomspace(low, top, _CANDIDATES, axis=1)
        found = np.empty_like(bounds)
        for k, bound in enumerate(bounds.T):
            over = np.maximum(lengths - bound[:, None], 0.0)
            apart = np.mean(over**2, axis=1) / self.m * (1 + self.m / self.n)
            found[:, k] = (apart + _COMMON * np.mean(over, axis=1) ** 2) / self.public.d
        return bounds, found

    def to_table(self, points: np.ndarray) -> np.ndarray:
        """Coefficients (..., d) in the units of the table."""
        return back_transform(self.root, points)
