"""80 % intervals of how far the typical coefficient comes to lie from the non-private fit (decision 272).

A prediction knows public rows, n and the budget. What it does not know beforehand (tails, truncation, whitening) moves
the outcome by factors that real tables show: quantiles of outcome over prediction, a power of the public rows a column,

    ratio = many (min(m/d, 10)/10)^exponent

fitted by quantile regression to settings of the benchmark's part *tune*, one fit a method. The outcome of a setting is
the root mean squared distance of each coefficient over its predicted one, in the median over the coefficients.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pmtcore.methods.registry import Prediction

_MANY = 10.0  # public rows a column from which on more of them tell no more about the ratio


@dataclass(frozen=True)
class OutcomeQuantile:
    """One quantile of outcome over prediction.

    Attributes:
        many: the quantile where public rows are many.
        exponent: of the public rows a column below.
    """

    many: float
    exponent: float

    def ratio(self, rows_per_column: float) -> float:
        """Return the quantile at so many public rows a column."""
        return self.many * float(np.clip(rows_per_column, 1.0, _MANY) / _MANY) ** self.exponent


@dataclass(frozen=True)
class OutcomeInterval:
    """Quantiles at .09, .5 and .91 of outcome over prediction of one method.

    Those at .1 and .9 contain .78 of the outcomes on tables left out of the fit, these .81.

    Attributes:
        combined: whether a release is combined with the public fit by precision: its error is then at most that fit's.
    """

    low: OutcomeQuantile
    median: OutcomeQuantile
    high: OutcomeQuantile
    combined: bool = True

    def of(self, prediction: Prediction, n: int, m: int | None) -> Prediction:
        """Return the prediction with its median and interval, which contains both; unchanged without public rows.

        Args:
            prediction: standard errors (d,) by public figures alone.
            n: number of private rows; ``prediction.sampling`` is that of a fit to them.
            m: number of public rows.
        """
        if m is None:
            return prediction
        rows_per_column = m / len(prediction.privacy)
        most = self._most(prediction, n / m) if self.combined else np.inf
        low = min(self.low.ratio(rows_per_column), 1.0)
        high = max(min(self.high.ratio(rows_per_column), most), 1.0)
        median = float(np.clip(min(self.median.ratio(rows_per_column), most), low, high))
        return replace(prediction, interval_factors=(low, high), median_factor=median)

    @staticmethod
    def _most(prediction: Prediction, private_over_public: float) -> float:
        """Return the public fit's own error, that of sampling with m rows in place of n, over the predicted one."""
        of_public_fit = prediction.sampling * math.sqrt(private_over_public)
        return float(np.median(of_public_fit / np.maximum(prediction.to_exact, 1e-300)))


# Quantile regressions on *tune*, automatic parameters, m from d + 2 to 4,000, mu 0.15 to 300, eight releases each: 384
# draws for least squares, 121 for labels.
OF_JOINT = OutcomeInterval(OutcomeQuantile(0.554, 0.12), OutcomeQuantile(0.854, -0.21), OutcomeQuantile(1.74, -1.04))
OF_JOINT_MOMENT = OutcomeInterval(
    OutcomeQuantile(0.074, 0.73), OutcomeQuantile(0.562, -0.33), OutcomeQuantile(1.06, -1.01), combined=False
)
OF_GRADIENTS = OutcomeInterval(OutcomeQuantile(0.426, 0.94), OutcomeQuantile(0.709, 0.6), OutcomeQuantile(1.48, 0.19))
