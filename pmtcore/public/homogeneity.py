"""Homogeneity test: does a released second moment of the private rows agree with the public rows?

The test works in coordinates that whiten the public rows. If both tables are samples of one population, then a moment
of the private rows differs from the moment of the public rows (each row whitened as if left out) for three reasons
only: the public rows are a sample, the private rows are a sample, and noise was added. The null distribution is
simulated from the public rows by a weighted bootstrap, in the coordinates and with the truncation of the release
(proofs/homogeneity.md, 23). The statistic is

    T = sum over entries of (released - mean)^2/variance,

with mean and variance of the simulated matrices. Where the ball admits rows far longer than any public one, the
variance is scaled by the released diagonal. Only the released matrix comes from private rows. An alarm names the
columns of the table whose mean or mean square differs most.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from pmtcore.base.computed_once import computed_once
from pmtcore.base.distributions import chi2
from pmtcore.base.messages import Note, ReleaseNote
from pmtcore.base.symmetric import upper_indices, upper_triangle
from pmtcore.public.clipping import Ball
from pmtcore.public.moments import OTHER, PublicData, by_table_column

# Level of the test with at least two public rows a column, and with fewer, where it has almost no power (decision 100).
FALSE_ALARMS, FALSE_ALARMS_OF_FEW = 0.05, 0.01
# Public rows a column below which the test had no power.
_FEW_ROWS_PER_COLUMN = 2
# Number of draws, and the number of columns above which a third of them is drawn: fewer suffice and cost less.
_DRAWS, _MANY_COLUMNS = 200, 40
# Most groups of rows with a bootstrap weight each; half of them are sums of rows.
_MOST_GROUPS = 1000
# Most numbers in memory at once for the sums of rows: 16 MB.
_NUMBERS_AT_ONCE = 2**21
# Rounded p-values in words, by the p-value above which each is used.
_ROUNDED_P_VALUES = ((1e-2, "one in twenty"), (1e-3, "one in a hundred"), (1e-6, "one in a thousand"))
# Radius over the longest public row from which on the ball admits private rows unlike all public ones (decision 245).
OPEN_BALL_RATIO = 2.0
# Standard deviations from which on an alarm names a column, which part of the largest deviation it has to reach (where
# rows are truncated since one column is far larger, all other columns look smaller), and how many are named at most.
_NAMED_DEVIATIONS, _NAMED_PART, _MOST_NAMED = 3.0, 1 / 3, 3
# Standard deviations by which the constant's second moment has to be too small to show rows of zeros (once in 30,000
# releases by chance), and above 0 to show the share of other rows.
_CLEAR_DEVIATIONS = 4.0
# Least degrees of freedom of the fitted chi-squared law: that of one squared Gaussian.
_LEAST_LAW_DOF = 1.0


@dataclass(frozen=True)
class Alarm:
    """Finding that private rows are not like the public ones.

    Attributes:
        chance: p-value of the test.
        columns: columns of the table that differ most, the farthest first; empty where none stands out.
    """

    chance: float
    columns: tuple[str, ...]

    def notes(self) -> Iterator[Note]:
        """Yield the finding, and where it is clearest."""
        chance = next((name for limit, name in _ROUNDED_P_VALUES if self.chance > limit), "one in a million")
        yield Note(ReleaseNote.MOMENT_TOO_FAR, chance=chance)
        if self.columns:
            yield Note(ReleaseNote.COLUMNS_DIFFER, columns=self.columns)


def differing_columns(alarm: Alarm | None) -> dict[str, list[str]]:
    """Return what a record keeps of an alarm beside its notes: the columns that differ most, where some do."""
    return {"columns_that_differ": list(alarm.columns)} if alarm is not None and alarm.columns else {}


@dataclass(frozen=True, eq=False)
class BootstrapNull:
    """Null distribution of the released second moment, without noise, as bootstrap draws.

    Attributes:
        moments: upper triangles of the drawn moments, shape (draws, entries).
        root: (d, d) lower triangular; a row y in the coordinates of the moment is ``root @ y`` in the table.
        names: of the d columns in the table; an indicator is ``column=level``.
        has_intercept: whether the first column is the constant.
        is_open: whether the ball admits private rows far longer than any public one.
        false_alarms: rate of false alarms at which the test warns.
        counts: of public and private rows.
    """

    moments: np.ndarray
    root: np.ndarray
    names: tuple[str, ...]
    has_intercept: bool
    is_open: bool
    false_alarms: float
    counts: tuple[int, int]

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Return for each entry whether it lies on the diagonal, shape (entries,)."""
        rows, columns = upper_indices(len(self.root))
        return np.asarray(rows == columns)

    @cached_property
    def means(self) -> np.ndarray:
        """Return for each entry whether it is a mean, one of the intercept with another column, shape (entries,)."""
        return (upper_indices(len(self.root))[0] == 0) & ~self.diagonal & self.has_intercept

    def alarm(self, gram: np.ndarray, noise: float) -> Alarm | None:
        """Return the finding about a released moment; ``None`` where the p-value is no less than false alarms allow.

        There is none either where so many rows are zeros that the noise hides the share of the others.

        Args:
            gram: released matrix (d, d).
            noise: variance of the noise on an entry off the diagonal; the diagonal has twice that variance.
        """
        per_row = self._per_row(upper_triangle(gram), noise)
        if per_row is None:
            return None
        null, released, variance = per_row
        chance = null._p_value(released, variance)
        return None if chance >= self.false_alarms else Alarm(chance, null._columns(released, variance))

    def _columns(self, released: np.ndarray, noise_variance: np.ndarray) -> tuple[str, ...]:
        """Return the columns of the table whose mean, or mean square around the public mean, is farthest off.

        Both are linear in the moment: ``u' M u`` and ``e' M u``, with u the row of ``root`` that belongs to a column,
        less the public mean times that of the constant, e. Of the levels of a category the farthest one counts.
        """
        rows, places = upper_indices(len(self.root))
        drawn = self.moments

        def deviation(left: np.ndarray, right: np.ndarray) -> float:
            """Return how many standard deviations ``left' M right`` is from its mean under the null distribution."""
            weights = (left[rows] * right[places] + left[places] * right[rows]) * np.where(self.diagonal, 0.5, 1.0)
            expected = drawn @ weights
            variance = np.var(expected, ddof=1) + weights**2 @ noise_variance
            return float(abs(released @ weights - np.mean(expected)) / np.sqrt(variance + 1e-300))

        constant = self.root[0]
        far: dict[str, float] = {}
        for column, own in by_table_column(self.names).items():
            for j in own:
                if self.has_intercept and j == 0:
                    continue
                centred = self.root[j] - (self.root[j] @ constant) * constant if self.has_intercept else self.root[j]
                of_mean = deviation(centred, constant) if self.has_intercept else 0.0
                far[column] = max(far.get(column, 0.0), deviation(centred, centred), of_mean)
        least = max([_NAMED_DEVIATIONS, *(size * _NAMED_PART for size in far.values())])
        return tuple(sorted((name for name in far if far[name] >= least), key=lambda name: -far[name]))[:_MOST_NAMED]

    def _p_value(self, released: np.ndarray, noise_variance: np.ndarray) -> float:
        """Return the p-value of a released moment, from entries and their noise per row that is not zero.

        It is the probability of a difference at least as large where both tables come from one population. Where there
        is an intercept it is twice the smaller one (Bonferroni) of two p-values: of all entries, and of the means
        alone, which would have little weight among all entries. Each p-value combines the share of the draws with a
        chi-squared law fitted to them, which extends below one over the number of draws.
        """
        mean, variance = np.mean(self.moments, axis=0), np.var(self.moments, axis=0, ddof=1)
        distances = self._distances(released, mean, variance, noise_variance)
        rng = np.random.default_rng(0)
        noisy = self.moments + np.sqrt(noise_variance) * rng.standard_normal(self.moments.shape)
        simulated = self._distances(noisy, *self._without_each(mean, variance), noise_variance)
        chance = self._chance(float(np.sum(distances)), np.sum(simulated, axis=1))
        if not np.any(self.means):
            return chance
        of_means = self._chance(float(np.sum(distances[self.means])), np.sum(simulated[:, self.means], axis=1))
        return min(2 * min(chance, of_means), 1.0)

    def _per_row(self, released: np.ndarray, noise: float) -> tuple[Self, np.ndarray, np.ndarray] | None:
        """Return null, entries (entries,) and variances of their noise, per row that is not zero where some are.

        A private row with a gap, and an unused place of a person, are rows of zeros: they shrink all entries alike, and
        the second moment of the constant shows by how much. Divided by that share the noise is larger, the draws are
        those of fewer rows, and have the error of the share. ``None`` where noise hides the share.
        """
        variance, constant = noise * np.where(self.diagonal, 2.0, 1.0), self.moments[:, 0]
        expected, sd = np.mean(constant), np.sqrt(np.var(constant, ddof=1) + 2 * noise)
        if not self.has_intercept or expected - released[0] <= _CLEAR_DEVIATIONS * sd:
            return self, released, variance
        error, mean = np.sqrt(2 * noise), np.mean(self.moments, axis=0)
        if released[0] <= _CLEAR_DEVIATIONS * error:
            # Rows that are all shortened have a small constant as well, but not a small trace.
            return (self, released, variance) if np.sum((released - mean)[self.diagonal]) > 0 else None
        share, (m, n) = released[0] / expected, self.counts
        wider = np.sqrt((1 / m + 1 / (share * n)) / (1 / m + 1 / n))
        factors = 1 + error / released[0] * np.random.default_rng(1).standard_normal((len(self.moments), 1))
        null = replace(self, moments=(mean + (self.moments - mean) * wider) * factors)
        return null, released / share, variance / share**2

    def _without_each(self, mean: np.ndarray, variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return mean and variance (draws, entries) of all other draws for each draw.

        The released moment is none of the draws: one that took part in the mean and the variance that it is compared
        with would be nearer, with 66 draws by a sixteenth.
        """
        draws = len(self.moments)
        deviations = self.moments - mean
        others = ((draws - 1) * variance - draws / (draws - 1) * deviations**2) / (draws - 2)
        return mean - deviations / (draws - 1), np.maximum(others, 0.0)

    def _distances(
        self, moments: np.ndarray, mean: np.ndarray, variance: np.ndarray, noise_variance: np.ndarray
    ) -> np.ndarray:
        """Return squared deviations (..., entries) of moments from the mean, in units of their variances.

        Where the ball is open, the variance of an entry is multiplied by the growth of both of its diagonal entries:
        rows unlike all public ones increase the standard deviation of a squared column by the factor by which they
        increase its second moment.
        """
        if self.is_open:
            growth = np.maximum(moments[..., self.diagonal] / np.maximum(mean[..., self.diagonal], 1e-100), 1.0)
            rows, columns = upper_indices(growth.shape[-1])
            variance = variance * growth[..., rows] * growth[..., columns]
        return np.asarray((moments - mean) ** 2 / (variance + noise_variance + 1e-300))

    @staticmethod
    def _chance(statistic: float, simulated: np.ndarray) -> float:
        """Return the p-value of a statistic among simulated ones (draws,)."""
        mean, spread = float(np.mean(simulated)), float(np.var(simulated, ddof=1))
        dof = max(2 * mean**2 / max(spread, 1e-300), _LEAST_LAW_DOF)
        fitted_p = float(chi2.sf(statistic / mean * dof, dof))
        empirical_p = (1 + int(np.sum(simulated >= statistic))) / (1 + len(simulated))
        return max(fitted_p, empirical_p) if empirical_p > 1 / (1 + len(simulated)) else min(fitted_p, empirical_p)


@computed_once(most=100)
def bootstrap_null(public: PublicData, ball: Ball, n: int) -> BootstrapNull:
    """Simulate the Gram matrix of the features that n private rows of the public population would release.

    Args:
        public: public data with rows.
        ball: truncation that the release applies.
        n: number of private rows.

    Raises:
        ValueError: there are no public rows.
    """
    rows = public.whitened
    if rows is None:
        raise ValueError("public rows are needed")
    if public.has_intercept:  # rows left out of the whitening are longer in every coordinate but that of the constant
        rows = np.column_stack([public.whitened_in_sample[:, 0], rows[:, 1:]])
    is_open = bool(np.all(Ball(ball.radius / OPEN_BALL_RATIO, ball.response_scale).weights(rows) == 1))
    inside, root = ball.weights(rows), public.feature_root
    return simulated_null(public, rows[:, :-1], inside, n, root=root, names=public.names, is_open=is_open)


def _merged_levels(public: PublicData) -> np.ndarray:
    """Return the standard deviations (categories, m) of additional weights of the public rows in merged levels.

    A level with one public row is merged, and so are levels without any, so merged levels are more frequent among the
    private rows. By Good and Turing's estimate the merged share ``N_1/m`` grows by ``2 N_2/m``, where N_k is the number
    of levels with k public rows; N_2 is increased by one because few levels estimate it poorly.
    """
    if public.rows is None:
        return np.zeros((0, 0))
    present = public.rows[:, :-1] != 0
    merged = []
    for column, places in by_table_column(public.names).items():
        for j in (j for j in places if public.names[j] == f"{column}={OTHER}"):
            alike = [k for k in places if k != j]
            twice = int(np.sum(np.sum(present[:, alike], axis=0) == 2))
            merged.append(present[:, j] * (2 * (twice + 1) / max(int(np.sum(present[:, j])), 1)))
    return np.array(merged).reshape(len(merged), len(public.rows))


def simulated_null(
    public: PublicData,
    rows: np.ndarray,
    inside: np.ndarray,
    n: int,
    *,
    root: np.ndarray,
    names: tuple[str, ...],
    is_open: bool,
) -> BootstrapNull:
    """Draw second moments around the mean of all public rows from the weighted bootstrap.

    With weights ``1 + w g_i`` a draw is the mean plus ``w sum_i g_i v_i``. For the longest rows ``g_i + 1`` is
    exponential (the Bayesian bootstrap): the frequency of a level with two public rows is as skewed as a gamma law with
    shape two. The other rows, where there are many, are first added with random signs to sums S_b. With standard
    Gaussian g, ``sum_b g_b S_b`` has the same mean and, in expectation over the signs, the same covariance ``sum_i v_i
    v_i'``.

    Args:
        public: public data of these rows, with the names of their columns.
        rows: public rows (m, d) in the coordinates of the release, each as if left out of them.
        inside: weights (m,) that truncation gives them.
        n: number of private rows.
        root: (d, d), from the coordinates of the release to those of the table.
        names: of the d columns in the table.
        is_open: whether the ball admits private rows far longer than any public one.
    """
    rng, (m, d) = np.random.default_rng(0), rows.shape
    upper = upper_indices(d)
    draws = _DRAWS if d <= _MANY_COLUMNS else _DRAWS // 3
    # Variance of a difference of means of rows, in units of that of one row; few rows do not know it well.
    relative_variance, dof = 1 / m + 1 / n, max(m - public.whitened_columns - (d - public.d) - 1, 1.0)
    scale = np.sqrt(relative_variance * dof / rng.chisquare(dof, draws) / m)

    def entries(weights: np.ndarray, at: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Return the entries of ``sum_i w_i x_i x_i'`` over some rows, with weights (m,) beside those of the ball."""
        return np.asarray(((rows[at] * (inside * weights)[at, None]).T @ rows[at])[upper])

    by_norm = np.argsort(np.sum(rows**2, axis=1))
    alone = m if m <= _MOST_GROUPS else _MOST_GROUPS // 2
    signs = rng.choice([-1.0, 1.0], m)
    signs[by_norm[m - alone :]] = 1.0
    deviations = np.zeros((draws, len(upper[0])))
    groups = [*by_norm[m - alone :, None], *np.array_split(rng.permutation(by_norm[: m - alone]), _MOST_GROUPS // 2)]
    at_once = 1 + _NUMBERS_AT_ONCE // len(upper[0])
    for start in range(0, len(groups), at_once):
        batch = groups[start : start + at_once]
        sums = np.array([entries(signs, group) for group in batch])
        weights = rng.standard_normal((draws, len(batch)))
        single = max(min(alone - start, len(batch)), 0)
        weights[:, :single] = rng.exponential(size=(draws, single)) - 1
        deviations += weights @ sums
    middle = entries(np.ones(m)) / m
    moments = middle + deviations * scale[:, None]
    for weight_sd in _merged_levels(public):
        moments += rng.standard_normal((draws, 1)) * entries(weight_sd) / m
    # Two levels without a common public row have variance zero among the draws; the variance of independent columns is
    # a lower bound.
    diagonal = upper[0] == upper[1]
    square = middle[diagonal]
    least = np.where(diagonal, 0.0, relative_variance * square[upper[0]] * square[upper[1]])
    lacking = np.sqrt(np.maximum(least - np.var(moments, axis=0, ddof=1), 0.0))
    moments += rng.standard_normal(moments.shape) * lacking
    rate = FALSE_ALARMS_OF_FEW if m < _FEW_ROWS_PER_COLUMN * d else FALSE_ALARMS
    return BootstrapNull(moments, root, names, public.has_intercept, is_open, rate, (m, n))
