"""Public data regularized by their own ridge prior: coordinates, centre and covariance (proofs/gradients.md, 16).

With few public rows per column, least squares on them is unstable, and so is their moment: its Cholesky factor blows up
a direction that few rows show. Whitening with the least sufficient ridge, around the ridge fit with the least left-out
loss, lets the same release correct a better fit in better coordinates. With many public rows nothing changes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.glm.families import GAUSSIAN
from pmtcore.public.moments import PublicData, RidgeFitCovariance
from pmtcore.public.ridge import ridge_prior

_CACHE: WeakKeyDictionary[PublicData, PublicData] = WeakKeyDictionary()  # public figures only


def ridge_regularized_public(public: PublicData) -> PublicData:
    """Return the same public rows in the coordinates of their ridge prior.

    Data of which only a moment is known, without labels or of another family than the Gaussian are returned unchanged.
    """
    if public.rows is None or public.m is None or public.family is not GAUSSIAN or not public.labelled:
        return public
    if public not in _CACHE:
        _CACHE[public] = _ridge_regularized(public, public.rows, public.m)
    return _CACHE[public]


def _ridge_regularized(public: PublicData, rows: np.ndarray, m: int) -> PublicData:
    """Compute the ridge-regularized factor, and the covariance and leverage of the ridge fit."""
    prior, x, d = ridge_prior(public), rows[:, :-1], public.d
    residual_scale = math.sqrt(prior.dispersion)
    root = prior.whitening_root(x)
    factor = np.zeros((d + 1, d + 1))
    factor[:d, :d], factor[-1, :d], factor[-1, -1] = root, root.T @ prior.fit, residual_scale
    moment = x.T @ x / m
    inverse = np.linalg.inv(moment + np.diag(prior.penalty * prior.spread))
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x, optimize=True) / m
    covariance = prior.whitened(root, residual_scale)[1]
    solve = root.T @ inverse @ root
    shrinkage = covariance - root.T @ inverse @ moment @ inverse @ root / m
    return replace(public, factor=factor, around=RidgeFitCovariance(covariance, leverage, solve, shrinkage))
