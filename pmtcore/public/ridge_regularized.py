"""Public data held by their own ridge prior: what whitens, where the fit is, how far both are doubted (maths.md, 16).

Where public rows are few for their columns, least squares on them says little, and their moment less: a direction that
few of them show is blown up by its root. Whitened with the least ridge that is enough, around the ridge fit with the
least left-out loss, the same release corrects a better fit in better coordinates. With many rows nothing changes.
"""

from __future__ import annotations

import math
from dataclasses import replace
from weakref import WeakKeyDictionary

import numpy as np

from pmtcore.glm.families import GAUSSIAN
from pmtcore.public.moments import Around, PublicData
from pmtcore.public.ridge import ridge_prior

_CACHE: WeakKeyDictionary[PublicData, PublicData] = WeakKeyDictionary()  # public figures only


def held(public: PublicData) -> PublicData:
    """The same public rows in the coordinates of their ridge prior; unchanged where only a moment is known."""
    if public.rows is None or public.m is None or public.family is not GAUSSIAN or not public.labelled:
        return public
    if public not in _CACHE:
        _CACHE[public] = _held(public, public.rows, public.m)
    return _CACHE[public]


def _held(public: PublicData, rows: np.ndarray, m: int) -> PublicData:
    prior, x, d = ridge_prior(public), rows[:, :-1], public.d
    size = math.sqrt(prior.dispersion)
    root = prior.whitening_root(x)
    factor = np.zeros((d + 1, d + 1))
    factor[:d, :d], factor[-1, :d], factor[-1, -1] = root, root.T @ prior.fit, size
    moment = x.T @ x / m
    inverse = np.linalg.inv(moment + np.diag(prior.penalty * prior.spread))
    leverage = np.einsum("ij,jk,ik->i", x, inverse, x, optimize=True) / m
    covariance = prior.whitened(root, size)[1]
    solve = root.T @ inverse @ root
    pull = covariance - root.T @ inverse @ moment @ inverse @ root / m
    return replace(public, factor=factor, around=Around(covariance, leverage, solve, pull))
