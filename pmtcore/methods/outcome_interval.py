"""80 % prediction intervals of a typical coefficient's distance to the non-private fit (decision 272).

A prediction is made from public rows, n and the budget. Unknown tails, truncation and whitening multiply the error by a
random factor, the ratio of outcome to prediction. Its quantiles are modelled as a power of the public rows a column,

    ratio = many (min(m/d, 10)/10)^exponent

and fitted by quantile regression to settings of the benchmark's part *tune*, for each method. The outcome of a setting
is the median over coefficients of the root mean squared distance over the predicted distance.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from pmtcore.methods.registry import Prediction

_MANY_ROWS = 10.0  # public rows a column above which the ratio is constant


@dataclass(frozen=True)
class OutcomeQuantile:
    """One quantile of outcome over prediction.

    Attributes:
        limit: the quantile with ten public rows a column or more.
        exponent: of the public rows a column, where there are fewer.
    """

    limit: float
    exponent: float

    def ratio(self, rows_per_column: float) -> float:
        """Return the quantile at a number of public rows a column."""
        return self.limit * float(np.clip(rows_per_column, 1.0, _MANY_ROWS) / _MANY_ROWS) ** self.exponent


@dataclass(frozen=True)
class OutcomeInterval:
    """Quantiles at .09, .5 and .91 of outcome over prediction of one method.

    On tables left out of the fit these levels cover .81 of the outcomes; levels of .1 and .9 cover .78.

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
        most = self._largest_median(prediction, n / m) if self.combined else np.inf
        low = min(self.low.ratio(rows_per_column), 1.0)
        high = max(min(self.high.ratio(rows_per_column), most), 1.0)
        median = float(np.clip(min(self.median.ratio(rows_per_column), most), low, high))
        return replace(prediction, interval_factors=(low, high), median_factor=median)

    @staticmethod
    def _largest_median(prediction: Prediction, private_over_public: float) -> float:
        """Return the median ratio of the public fit's sampling error (of m rows, not n) to the predicted distance."""
        of_public_fit = prediction.sampling * math.sqrt(private_over_public)
        return float(np.median(of_public_fit / np.maximum(prediction.to_exact, 1e-300)))


# Quantile regressions on *tune*, automatic parameters, m from d + 2 to 4,000, mu 0.15 to 300, eight releases each: 384
# draws for least squares, 121 for labels.
OF_JOINT = OutcomeInterval(OutcomeQuantile(0.554, 0.12), OutcomeQuantile(0.854, -0.21), OutcomeQuantile(1.74, -1.04))
OF_JOINT_MOMENT = OutcomeInterval(
    OutcomeQuantile(0.074, 0.73), OutcomeQuantile(0.562, -0.33), OutcomeQuantile(1.06, -1.01), combined=False
)
OF_GRADIENTS = OutcomeInterval(OutcomeQuantile(0.426, 0.94), OutcomeQuantile(0.709, 0.6), OutcomeQuantile(1.48, 0.19))
