"""A public fit that no direction can carry away: the ridge prior times a weakly informative one.

Proof: proofs/gradients.md, 16.

Labels that are almost separated in few public rows have no finite fit, and the public Hessian there has a direction
without curvature. A normal law of standard deviation 1 on whitened coefficients says that one standard deviation of a
column moves the linear predictor by about 1, in the way of Gelman et al. (2008); it counts as much as a handful of
public rows and gives way to more. On *tune* 1 is as good as 2.5 at five public rows a column, and has .88, .92 and .94
of its error at two and fewer (mu .15, .5, 1.5). The fit maximizes the posterior density, and its covariance is taken
where that fit is, not where a fit without the prior would have run off to.
"""

from __future__ import annotations

import numpy as np

from pmtcore.glm import solvers
from pmtcore.glm.families import Family
from pmtcore.glm.solvers import Data

# Standard deviations of whitened coefficients and of the intercept on the scale of the linear predictor.
COEFFICIENT_SD, INTERCEPT_SD = 1.0, 10.0
# The ridge of few rows is believed up to this much in the covariance, as in :mod:`pmtcore.public.ridge`.
_MOST_BELIEVED = 0.3


def prior_precision(features: np.ndarray) -> np.ndarray:
    """Return the inverse covariance (d, d) of the prior, from whitened public rows (k, d).

    The base rate may be anything: along the mean of the rows, which is the intercept's axis where there is one, the
    standard deviation is that of an intercept, as far as the rows lie along it.
    """
    d = features.shape[1]
    mean = np.mean(features, axis=0)
    covariance = COEFFICIENT_SD**2 * np.eye(d) + (INTERCEPT_SD**2 - COEFFICIENT_SD**2) * np.outer(mean, mean)
    return np.asarray(np.linalg.inv(covariance))


def weakly_informed_fit(
    family: Family,
    features: np.ndarray,
    response: np.ndarray,
    penalty: np.ndarray,
    *,
    ridge: tuple[float, np.ndarray],
    dispersion: float,
    rows: int,
    weights: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the posterior mode (d,) and its covariance (d, d) around the population's own fit.

    Args:
        family: of the response.
        features: public rows (k, d) in whitened coordinates.
        response: (k,).
        penalty: of the problem itself (d, d), part of what is fitted.
        ridge: the left-out penalty and the matrix (d, d) that it multiplies.
        dispersion: mean squared residual over mean slope, left out.
        rows: public rows that the fit stands for; more than k where only some are used.
        weights: of the loss of each row (k,).
    """
    amount, shape = ridge
    own = penalty + dispersion / rows * prior_precision(features)
    mode = solvers.fit(Data(family, features, response, weights), own + amount * shape)
    hessian = (features * (weights * family.slope(features @ mode))[:, None]).T @ features / len(features)
    believed = hessian + own + min(amount, _MOST_BELIEVED) * shape
    return mode, dispersion / rows * np.linalg.inv(believed)
