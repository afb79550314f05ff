"""How far forged reports move an estimate: any report that could be honest can be forged, and privacy hides which is.

A report is accepted if an honest device could have sent it, which the noise makes a wide range; a forged one lies at
its end. To first order a coefficient moves by its gradient in the mean report times the longest step of the mean.
"""

from collections.abc import Callable

import numpy as np

from pmtcore.local.protocol import Configuration

MOST_NUMBERS = 300  # of a report: each is a fit of its own
_STEP = 1e-3  # of the standard error that noise leaves in the mean


def shifts(
    fit: Callable[[np.ndarray], np.ndarray], made: Configuration, mean: np.ndarray, n: int, *, sd: float
) -> np.ndarray:
    """Return how far one forged report among n can move each coefficient (d,), to first order.

    Args:
        fit: coefficients (t, d) from mean reports (t, dimension).
        made: published configuration of a report.
        mean: mean report (dimension,).
        n: number of reports.
        sd: of one coordinate of a report, about.
    """
    step = _STEP * sd / np.sqrt(n)
    around = np.concatenate([mean + step * np.eye(len(mean)), mean - step * np.eye(len(mean))])
    values = fit(around)
    gradients = (values[: len(mean)] - values[len(mean) :]) / (2 * step)  # (dimension, d)
    if made.randomizer == "privunit":
        reach = made.longest + float(np.linalg.norm(mean))
        return np.asarray(np.linalg.norm(gradients, axis=0) * reach / n)
    return np.asarray((made.largest + np.abs(mean)) @ np.abs(gradients) / n)
