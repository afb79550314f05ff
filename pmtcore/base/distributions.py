"""Distribution functions from ``scipy.special``, without the start-up of ``scipy.stats``.

Importing ``scipy.stats`` takes longer than a release of a small table. Each function computes what the distribution of
that name in ``scipy.stats`` does, to the last bit; ``tests/base/test_distributions.py`` compares them. Arguments are
arrays or numbers that broadcast: ``q`` a probability between 0 and 1, both excluded, ``x`` a value of the
distribution; the degrees of freedom of F are finite.
"""

from typing import Any

import numpy as np
from scipy import special

Numbers = Any  # an array, or a number where all arguments are numbers


class student:  # noqa: N801  # as scipy.stats names its distributions
    """Student's t distribution with ``df`` degrees of freedom."""

    @staticmethod
    def ppf(q: Numbers, df: Numbers) -> Numbers:
        """Return the quantile of a lower tail probability."""
        return special.stdtrit(df, q)

    @staticmethod
    def isf(q: Numbers, df: Numbers) -> Numbers:
        """Return the quantile of an upper tail probability."""
        return -special.stdtrit(df, q)

    @staticmethod
    def sf(x: Numbers, df: Numbers) -> Numbers:
        """Return the upper tail probability."""
        return special.stdtr(df, -x)


class chi2:  # noqa: N801
    """Chi-squared distribution with ``df`` degrees of freedom."""

    @staticmethod
    def ppf(q: Numbers, df: Numbers) -> Numbers:
        """Return the quantile of a lower tail probability."""
        return 2 * special.gammaincinv(df / 2, q)

    @staticmethod
    def isf(q: Numbers, df: Numbers) -> Numbers:
        """Return the quantile of an upper tail probability."""
        return special.chdtri(df, q)

    @staticmethod
    def sf(x: Numbers, df: Numbers) -> Numbers:
        """Return the upper tail probability; 1 below zero."""
        return special.chdtrc(df, np.maximum(x, 0.0))


class chi:  # noqa: N801
    """Chi distribution: the length of ``df`` independent standard normal numbers."""

    @staticmethod
    def isf(q: Numbers, df: Numbers) -> Numbers:
        """Return the quantile of an upper tail probability."""
        return np.sqrt(2 * special.gammainccinv(0.5 * df, q))


class f_distribution:  # noqa: N801
    """Fisher's F distribution with ``dfn`` and ``dfd`` degrees of freedom."""

    @staticmethod
    def ppf(q: Numbers, dfn: Numbers, dfd: Numbers) -> Numbers:
        """Return the quantile of a lower tail probability."""
        return special.fdtri(dfn, dfd, q)

    @staticmethod
    def isf(q: Numbers, dfn: Numbers, dfd: Numbers) -> Numbers:
        """Return the quantile of an upper tail probability."""
        return special.fdtri(dfn, dfd, 1.0 - q)

    @staticmethod
    def sf(x: Numbers, dfn: Numbers, dfd: Numbers) -> Numbers:
        """Return the upper tail probability; 1 below zero."""
        return special.fdtrc(dfn, dfd, np.maximum(x, 0.0))


class gamma:  # noqa: N801
    """Gamma distribution of a shape and a scale."""

    @staticmethod
    def ppf(q: Numbers, shape: Numbers, scale: float = 1.0) -> Numbers:
        """Return the quantile of a lower tail probability."""
        return special.gammaincinv(shape, q) * scale


class beta:  # noqa: N801
    """Beta distribution."""

    @staticmethod
    def isf(q: Numbers, a: Numbers, b: Numbers) -> Numbers:
        """Return the quantile of an upper tail probability."""
        return special.betainccinv(a, b, q)


# Largest mean that is drawn: above any count, and accepted by numpy's generator of Poisson variables.
_LARGEST_MEAN = 1e15


def poisson_counts(mean: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return Poisson variables of these means, same shape; a mean beyond any count is drawn as 1e15."""
    return rng.poisson(np.minimum(mean, _LARGEST_MEAN))
