"""From covariance parts to error bands."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from pmtcore.records import Bands

Z95 = float(ndtri(0.975))


def limits(
    estimate: np.ndarray,
    centre: np.ndarray,
    privacy: np.ndarray,
    sampling: np.ndarray,
    truncation: np.ndarray | None = None,
) -> Bands:
    """Standard errors of each part and 95 % limits of their sum around ``centre``.

    Args:
        estimate: the published coefficients (d,); the limits are widened to contain them.
        centre: the coefficients (d,) the parts belong to.
        privacy, sampling, truncation: covariance matrices (d, d).
    """
    total = privacy + sampling + (0 if truncation is None else truncation)
    half = Z95 * np.sqrt(np.diag(total))
    return Bands(
        privacy=np.sqrt(np.diag(privacy)),
        sampling=np.sqrt(np.diag(sampling)),
        low=np.minimum(centre - half, estimate),
        high=np.maximum(centre + half, estimate),
        truncation=None if truncation is None else np.sqrt(np.diag(truncation)),
    )
