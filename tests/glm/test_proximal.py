"""A lasso in the units of the table for a descent in whitened units."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from pmtcore.glm.solvers import Proximal


def test_the_step_is_the_minimizer(seed):
    """Against a general solver on the smooth form with positive and negative parts; and soft thresholds where W = I."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((3, 3))
    root, sharp, v = a @ a.T + np.eye(3), np.array([0.5, 0.0, 3.0]), rng.standard_normal((2, 3))
    result = Proximal.of(root, sharp).step(v)
    back = np.linalg.inv(root)

    for k in range(2):

        def price(z, k=k):
            theta = back @ (z[:3] - z[3:])
            return np.sum((theta - v[k]) ** 2) / 2 + sharp @ (z[:3] + z[3:])

        best = minimize(price, np.ones(6), bounds=[(0, None)] * 6, options={"ftol": 1e-15, "gtol": 1e-10}).fun
        mine = np.sum((result[k] - v[k]) ** 2) / 2 + sharp @ np.abs(root @ result[k])
        assert mine <= best + 1e-7
    soft = Proximal.of(np.eye(3), sharp).step(v)
    assert np.allclose(soft, np.sign(v) * np.maximum(np.abs(v) - sharp, 0))
    assert Proximal.of(root, 0 * sharp).step(v) is v
