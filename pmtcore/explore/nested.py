"""A regression against a smaller one, and criteria that charge for each coefficient: post-processing, free."""

from __future__ import annotations

import math
from dataclasses import dataclass

from pmtcore.base.distributions import f_distribution
from pmtcore.base.messages import ExploreMessage, Refusal, RefusedError
from pmtcore.explore.regression import Regression, Test


@dataclass(frozen=True)
class NestedTest:
    """Whether the coefficients that a larger regression has beside a smaller one are zero together.

    Attributes:
        statistic, pvalue, df_num, df_denom: Wald's F with all parts of the error, the noise too: the one to report.
        textbook_f, textbook_pvalue: from the two residual sums as if the moment had no noise, as others print it.
    """

    statistic: float
    pvalue: float
    df_num: int
    df_denom: float
    textbook_f: float
    textbook_pvalue: float

    def as_dict(self) -> dict[str, float]:
        """Plain fields."""
        return dict(vars(self))


def nested(small: Regression, large: Regression) -> NestedTest:
    """Return the test of a smaller regression within a larger one.

    Raises:
        InputError: other responses or penalties, or features of the smaller one that the larger one lacks.
    """
    beyond = [name for name in small.names if name not in large.names]
    more = [name for name in large.names if name not in small.names]
    if beyond or not more or small.response != large.response or small.lam or large.lam:
        kind = ExploreMessage.BESIDE_THE_LARGER if beyond else ExploreMessage.NOT_NESTED
        raise RefusedError(Refusal.NOT_NESTED, kind, columns=beyond)
    wald: Test = large.test(more)
    n, rest, restricted = large.state.n, large.residual_sum, small.residual_sum
    left = n - len(large.names)
    f = (restricted - rest) / len(more) / (rest / left)
    p = float(f_distribution.sf(f, len(more), left))
    return NestedTest(wald.statistic, wald.p, len(more), wald.freedom, f, p)


def log_likelihood(fit: Regression) -> float:
    """Return the Gaussian log-likelihood at the released moment, as statsmodels counts it."""
    n = fit.state.n
    return -n / 2 * (math.log(2 * math.pi) + math.log(fit.residual_sum / n) + 1)


def criteria(fit: Regression) -> dict[str, float]:
    """Return log-likelihood, AIC, BIC and the adjusted R^2 of a regression.

    They are taken at the released moment as it is: at small budgets the noise moves them by more than a coefficient
    costs, and what the limits and tests say is to be preferred.
    """
    n, k = fit.state.n, len(fit.names)
    value = log_likelihood(fit)
    values = {"llf": value, "aic": 2 * k - 2 * value, "bic": k * math.log(n) - 2 * value}
    if fit.r_squared is not None:
        values["adjusted_r_squared"] = 1 - (1 - float(fit.r_squared.values[0])) * (n - 1) / (n - k)
    return values
