"""One regression from a released moment: coefficients, bands in three parts, tests, prediction; all free.

Also a test against a smaller regression, information criteria, and two-stage least squares; all post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from pmtcore.accounting.budgets import of_person
from pmtcore.base.arguments import checked_methods
from pmtcore.base.bands import Bands
from pmtcore.base.distributions import f_distribution, student
from pmtcore.base.escaping import one_line
from pmtcore.base.json_fields import JsonFields
from pmtcore.base.messages import ExploreMessage, InputError, Note, ReleaseNote
from pmtcore.base.results import Reported, Results, WaldTest, wald_test
from pmtcore.explore.functionals import Estimates, moment_figures
from pmtcore.methods.joint_moment.linear import Fit, State, combined_residual_variance, solve
from pmtcore.public.bands import limits

if TYPE_CHECKING:
    import pandas as pd

CORRECTIONS = ("none", "bonferroni", "scheffe")
_LEVEL = 0.95  # of every band
_NAME_CHARACTERS = 100  # characters of a formula in a short name
_LEAST_RATIO = 0.1  # least ratio u0 at which its error differs from that at 0 by more than rounding
_INFINITE_RATIO = 1e9  # ratio u0 whose share ``u0^2/(1 + u0^2)`` is 1 up to rounding
# First-stage F below which limits are too narrow and the estimate is biased towards least squares (Staiger and Stock
# 1997).
_WEAK_F = 10.0


@dataclass(frozen=True)
class Predicted:
    """A prediction: its value, 95 % limits of the mean, and of a new row."""

    value: float
    low: float
    high: float
    new_low: float
    new_high: float


class MomentDesign(Protocol):
    """Design of new rows in columns of a moment."""

    def __call__(self, frame: object, names: Sequence[str]) -> np.ndarray:
        """Return columns (k, D) of these names from rows of a frame."""
        ...


@checked_methods
@dataclass(frozen=True, eq=False, repr=False)
class Regression(Reported):
    """A regression of one column on others.

    Attributes:
        names: of the coefficients, ``(intercept)`` included.
        lam: ridge penalty, in the units of the table, the intercept excepted.
        design: columns (k, D) of the moment from a frame of new rows.
        guarantee: of the release, in plain fields.
    """

    fit: Fit
    response: str
    names: tuple[str, ...]
    lam: float = 0.0
    constant: bool = True
    label: str = field(default="", compare=False)
    design: MomentDesign | None = None
    guarantee: Mapping[str, Any] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """Return the moment it was computed from."""
        return self.fit.state

    @property
    def coefficients(self) -> dict[str, float]:
        """Return the coefficients by name."""
        return {name: float(value) for name, value in zip(self.names, self.fit.coefficients, strict=True)}

    @property
    def bands(self) -> Bands:
        """Return privacy, sampling and truncation parts, and 95 % limits, for a regression chosen beforehand."""
        return self.fit.bands

    @cached_property
    def results_(self) -> Results:
        """Return estimates, standard errors, tests and predictions, named as in statsmodels."""
        fit, bands, share = self.fit, self.bands, self.r_squared
        freedom = np.full(len(self.names), np.inf) if bands.freedom is None else bands.freedom
        return Results(
            names=self.names,
            coefficients=fit.coefficients,
            centre=fit.coefficients,
            errors=bands.parts,
            freedom=freedom,
            covariances=bands.covariance,
            endog=self.response,
            title="Regression from a released moment",
            nobs=self.state.n,
            public_rows=self.state.m or None,
            rsquared=None if share is None else float(share.values[0]),
            residual_sd=self.residual_sd,
            guarantee=of_person(self.guarantee),
            features=None if self.design is None else partial(self.design, names=self.names),
            words=(Note(ReleaseNote.FROM_MOMENT),),
        )

    def __repr__(self) -> str:
        formula = one_line(self.formula)
        return f"<Regression {formula if len(formula) <= _NAME_CHARACTERS else formula[:_NAME_CHARACTERS] + '...'}>"

    def __str__(self) -> str:
        return str(self.results_)

    def _repr_html_(self) -> str:
        return self.results_._repr_html_()

    def corrected(self, correction: str, models: int = 1) -> Bands:
        """Return limits that allow for a search.

        Args:
            correction: ``bonferroni`` over all coefficients of the models looked at, or ``scheffe`` over every contrast
                of one response on all columns.
            models: number of models examined.

        Raises:
            InputError: another correction.
        """
        if correction == "none":
            return self.bands
        if correction not in CORRECTIONS:
            raise InputError(ExploreMessage.CORRECTION_FORM, allowed=CORRECTIONS)
        bands, parts = self.bands, self.fit.parts()
        total = np.sqrt(sum(part.variance for part in parts if part is not None))
        if correction == "bonferroni":
            # Every other model counts with as many coefficients as there are columns.
            among = len(self.names) + (max(models, 1) - 1) * len(self.state.root)
            half = student.isf((1 - _LEVEL) / 2 / among, self.freedom) * total
        else:
            among = len(self.state.root) - 1
            half = np.sqrt(among * f_distribution.ppf(_LEVEL, among, self.freedom)) * total
        centre = self.fit.coefficients
        return Bands(bands.privacy, bands.sampling, centre - half, centre + half, bands.truncation)

    @property
    def freedom(self) -> float:
        """Return the least degrees of freedom of the coefficients' total variances."""
        return self.results_.df_resid

    def contrast(self, weights: Mapping[str, float]) -> tuple[float, Bands]:
        """Return a weighted sum of coefficients with its parts and limits (arrays of one).

        Raises:
            InputError: a name that is no coefficient.
        """
        c = self._row(weights)[None]
        value = c @ self.fit.coefficients
        return float(value[0]), limits(value, *self.fit.parts(c))

    def test(self, names: Sequence[str]) -> WaldTest:
        """Test jointly that these coefficients are zero (Wald), all three parts of the error included.

        Raises:
            InputError: a name that is no coefficient, or none.
        """
        if not len(names):
            raise InputError(ExploreMessage.JOINT_TEST_EMPTY)
        c = np.array([self._row({name: 1.0}) for name in dict.fromkeys(names)])
        return wald_test(c @ self.fit.coefficients, c @ self.fit.total @ c.T, self.freedom)

    @overload
    def predict(self, values: Mapping[str, float]) -> Predicted: ...

    @overload
    def predict(self, values: pd.DataFrame) -> np.ndarray: ...

    def predict(self, values: object) -> Predicted | np.ndarray:
        """Return the prediction at values of the features by name, with its limits; or means (k,) of a frame's rows.

        Raises:
            InputError: a feature without a value.
        """
        if not isinstance(values, Mapping):
            return self.results_.predict(values)
        missing = [name for name in self.names if name not in values and name != self.names[0]]
        missing += [self.names[0]] if not self.constant and self.names[0] not in values else []
        if missing:
            raise InputError(ExploreMessage.VALUE_MISSING, columns=missing)
        row = {name: 1.0 if self.constant and j == 0 else values[name] for j, name in enumerate(self.names)}
        value, bands = self.contrast(row)
        low, high = float(bands.low[0]), float(bands.high[0])
        half = math.hypot((high - low) / 2, float(student.ppf(0.975, self.freedom)) * self.residual_sd)
        return Predicted(value, low, high, value - half, value + half)

    @property
    def residual_sd(self) -> float:
        """Return the released standard deviation around the regression."""
        return math.sqrt(self.fit.residual_variance)

    @cached_property
    def r_squared(self) -> Estimates | None:
        """Return the explained share of the response's variance, with its band; ``None`` without an intercept."""
        if not self.constant:
            return None
        root = self.state.root
        s = root @ self.state.moment @ root.T
        t, mean = self.fit.response, s[0, self.fit.response] / s[0, 0]
        weights = np.outer(self.fit.b, self.fit.b)
        centred = root[t] - mean * root[0]
        total = float(centred @ self.state.moment @ centred)
        rest = float(self.fit.b @ self.state.moment @ self.fit.b)
        gradient = rest / total**2 * np.outer(centred, centred) - weights / total
        return moment_figures(self.state, np.array([1 - rest / total]), gradient[None], (0.0, 1.0))

    @property
    def features(self) -> tuple[str, ...]:
        """Return the names of the features without the constant."""
        return self.names[1:] if self.constant else self.names

    @property
    def free(self) -> tuple[int, ...]:
        """Return the positions of the unpenalized columns: that of the constant, where there is one."""
        return self.fit.features[: int(self.constant)]

    @property
    def residual_sum(self) -> float:
        """Return the sum of squared residuals at the released moment."""
        return self.state.n * float(self.fit.b @ self.state.moment @ self.fit.b)

    @cached_property
    def standardized(self) -> Estimates:
        """Return coefficients in standard deviations of feature and response, with their bands.

        Raises:
            InputError: no intercept.
        """
        if not self.constant:
            raise InputError(ExploreMessage.STANDARDIZING_NEEDS_INTERCEPT)
        root = self.state.root
        s = root @ self.state.moment @ root.T
        centred = root - np.outer(s[:, 0] / s[0, 0], root[0])
        spread = np.einsum("di,ij,dj->d", centred, self.state.moment, centred)
        y, variance = centred[self.fit.response], spread[self.fit.response]
        values, gradients = [], []
        for place, a, beta in list(zip(self.fit.features, self.fit.a, self.fit.coefficients, strict=True))[1:]:
            x, ratio = centred[place], math.sqrt(spread[place] / variance)
            both = (np.outer(a, self.fit.b) + np.outer(self.fit.b, a)) / 2
            moved = np.outer(x, x) / spread[place] - np.outer(y, y) / variance
            values.append(beta * ratio)
            gradients.append(ratio * (both + beta / 2 * moved))
        return moment_figures(self.state, np.array(values), _stacked(gradients, self.state))

    @cached_property
    def partial_correlations(self) -> Estimates:
        """Return the partial correlation of the response with each feature, given the others, with its band."""
        values, gradients = [], []
        for beta, both, relative, scale in self._by_feature():
            size = math.sqrt(scale)
            u = beta / size
            values.append(u / math.sqrt(1 + u * u))
            gradients.append((both / 2 / size + u / 2 * relative) / (1 + u * u) ** 1.5)
        return moment_figures(self.state, np.array(values), _stacked(gradients, self.state), (-1.0, 1.0))

    @cached_property
    def partial_r_squared(self) -> Estimates:
        """Return the partial R^2 of each feature given the others, with its band.

        With u a coefficient over the root of its scale it is ``u^2/(1 + u^2)``. The limits are those of all u0 that are
        not rejected (Fieller 1954). At ``u0 = 0`` the error is that of the coefficient, so that the band contains 0
        exactly where the coefficient's does.
        """
        rows = list(self._by_feature())
        sizes = np.sqrt([scale for *_, scale in rows])
        u = np.array([beta for beta, *_ in rows]) / sizes

        def of_difference(at: np.ndarray) -> np.ndarray:
            """Return the derivatives (q, D, D) of ``u - u0`` where u0 is this (q,)."""
            each = zip(rows, sizes, at, strict=True)
            gradients = [both / 2 / size + one / 2 * relative for (_, both, relative, _), size, one in each]
            return _stacked(gradients, self.state)

        by_u = (2 * u / (1 + u**2) ** 2)[:, None, None]
        share = moment_figures(self.state, u**2 / (1 + u**2), by_u * of_difference(u), (0.0, 1.0))
        # The squared error is a quadratic in u0, which its values at three points determine.
        away = np.maximum(np.abs(u), _LEAST_RATIO)
        minus, none, plus = (
            _half_widths(moment_figures(self.state, u, of_difference(at)).bands) ** 2 for at in (-away, 0 * away, away)
        )
        zero = _half_widths(self.bands)[int(self.constant) :] / sizes
        curve = np.maximum((plus + minus) / 2 - none, 0.0) / away**2
        low, high = (one**2 / (1 + one**2) for one in _fieller_limits(u, zero**2, (plus - minus) / 2 / away, curve))
        return Estimates(share.values, replace(share.bands, low=low, high=high))

    def _by_feature(self) -> Iterator[tuple[float, np.ndarray, np.ndarray, float]]:
        """Yield for each feature the quantities behind its partial correlation and partial R^2.

        They are its coefficient, the derivative (D, D) of twice the coefficient by the moment, the derivative (D, D) of
        the logarithm of ``1/scale``, and the scale: its entry of the inverse moment times the residual variance.
        """
        b = self.fit.b
        rest = float(b @ self.state.moment @ b)
        features = zip(self.fit.a, self.fit.coefficients, np.diag(self._inverse), strict=True)
        for a, beta, own in list(features)[int(self.constant) :]:
            yield beta, np.outer(a, b) + np.outer(b, a), np.outer(a, a) / own - np.outer(b, b) / rest, own * rest

    @cached_property
    def inflation(self) -> Estimates:
        """Return the variance inflation factor of each feature, with its band; exactly 1 for a single feature."""
        if len(self.features) == 1:
            return moment_figures(self.state, np.ones(1), np.zeros((1, *self.state.moment.shape)), (1.0, math.inf))
        root, first = self.state.root[list(self.fit.features)], int(self.constant)
        s = root @ self.state.moment @ root.T
        centred = root - np.outer(s[0] / s[0, 0], root[0]) if self.constant else root
        spread = np.einsum("qi,ij,qj->q", centred, self.state.moment, centred)
        inverse = np.diag(self._inverse)
        derivatives = [
            own * np.outer(c, c) - size * np.outer(a, a)
            for a, c, own, size in list(zip(self.fit.a, centred, inverse, spread, strict=True))[first:]
        ]
        return moment_figures(
            self.state, (inverse * spread)[first:], _stacked(derivatives, self.state), (1.0, math.inf)
        )

    @property
    def _inverse(self) -> np.ndarray:
        """Return ``S_FF^{-1}`` (with the penalty, if there is one)."""
        a = self.fit.a
        return np.asarray(a @ self.state.moment @ a.T)

    def _row(self, weights: Mapping[str, float]) -> np.ndarray:
        unknown = [name for name in weights if name not in self.names]
        if unknown:
            raise InputError(ExploreMessage.NO_COEFFICIENTS_NAMED, columns=unknown, present=self.names)
        return np.array([float(weights.get(name, 0.0)) for name in self.names])

    @property
    def formula(self) -> str:
        """Return the formula of the regression."""
        right = " + ".join(map(quote_name, self.features)) if self.features else "1"
        return f"{quote_name(self.response)} ~ {right}" + ("" if self.constant else " - 1")

    def as_dict(self) -> dict[str, Any]:
        """Return the fields under the keys of a release."""
        share = self.r_squared
        return {
            "response": self.response,
            "features": list(self.features),
            "formula": self.formula,
            "lam": self.lam,
            "coefficients": self.coefficients,
            "bands": dict(zip(self.names, self.bands.rows(), strict=True)),
            "residual_sd": self.residual_sd,
            "r_squared": None if share is None else share.as_rows(("r_squared",))[0],
            "partial_r_squared": dict(zip(self.features, map(float, self.partial_r_squared.values), strict=True)),
            "variance_inflation": dict(zip(self.features, map(float, self.inflation.values), strict=True)),
            "partial_r_squared_bands": self.partial_r_squared.as_rows(self.features),
            "variance_inflation_bands": self.inflation.as_rows(self.features),
        }


def _half_widths(bands: Bands) -> np.ndarray:
    """Return half the widths (q,) of bands."""
    return np.asarray((bands.high - bands.low) / 2)


def _fieller_limits(
    u: np.ndarray, square: np.ndarray, slope: np.ndarray, curve: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the least and largest size (q,) of all u0 with ``(u - u0)^2 <= square + slope u0 + curve u0^2``.

    Args:
        u: estimates (q,).
        square: error squared (q,) at ``u0 = 0``.
        slope: its slope there (q,).
        curve: its curvature (q,), at least 0.
    """
    middle, rest = u + slope / 2, 1 - curve
    root = np.sqrt(np.maximum(middle**2 - rest * (u**2 - square), 0.0))
    ends = np.abs([(middle + side * root) / np.where(rest == 0, 1e-12, rest) for side in (-1, 1)])
    low = np.where(u**2 <= square, 0.0, np.minimum(*ends))
    # Where the scale may be 0, no u0 is rejected for its size.
    return low, np.where(rest > 0, np.maximum(*ends), _INFINITE_RATIO)


def _stacked(gradients: list[np.ndarray], state: State) -> np.ndarray:
    """Return gradients stacked (q, D, D), also where q is 0."""
    return np.array(gradients) if gradients else np.zeros((0, *state.moment.shape))


def quote_name(name: str) -> str:
    """Return a name quoted for a formula, where it needs quotes."""
    return name if name.replace("_", "a").replace(":", "a").isalnum() else f"`{name}`"


def regression(
    state: State, names: Sequence[str], response: str, features: Sequence[str], *, lam: float, intercept: bool
) -> Regression:
    """Return the regression of a response on features, by names.

    Raises:
        InputError: no features, the response among them, or columns that the record does not have.
    """
    used = [*([names[0]] if intercept else []), *features]
    unknown = [name for name in (response, *used) if name not in names]
    if unknown:
        raise InputError(ExploreMessage.NO_RECORD_COLUMNS, columns=unknown, present=names)
    if response in used or len(set(used)) < len(used):
        raise InputError(ExploreMessage.COLUMN_TWICE)
    if not used:
        raise InputError(ExploreMessage.NOTHING_TO_REGRESS)
    if not 0 <= lam <= 1e300:
        raise InputError(ExploreMessage.PENALTY_RANGE)
    places = [list(names).index(name) for name in used]
    fit = solve(state, list(names).index(response), places, lam, free=(0,) if intercept else ())
    return Regression(fit, response, tuple(used), lam, intercept)


@dataclass(frozen=True)
class NestedTest(WaldTest, JsonFields):
    """Joint test that the coefficients of a larger regression that a smaller one lacks are zero.

    Attributes:
        statistic, pvalue, df_num, df_denom: Wald's F with all parts of the error, noise included: the one to report.
        textbook_f, textbook_pvalue: from the two residual sums of squares, as if the moment had no noise.
    """

    textbook_f: float
    textbook_pvalue: float


def nested_test(small: Regression, large: Regression) -> NestedTest:
    """Return the test of a smaller regression within a larger one.

    Raises:
        InputError: other responses or penalties, or features of the smaller one that the larger one lacks.
    """
    beyond = [name for name in small.names if name not in large.names]
    more = [name for name in large.names if name not in small.names]
    if beyond or not more or small.response != large.response or small.lam or large.lam:
        kind = ExploreMessage.BESIDE_THE_LARGER if beyond else ExploreMessage.NOT_NESTED
        raise InputError(kind, columns=beyond)
    with_noise = large.test(more)
    n, rest, restricted = large.state.n, large.residual_sum, small.residual_sum
    left = n - len(large.names)
    f = (restricted - rest) / len(more) / (rest / left)
    p = float(f_distribution.sf(f, len(more), left))
    return NestedTest(**vars(with_noise), textbook_f=f, textbook_pvalue=p)


def log_likelihood(fit: Regression) -> float:
    """Return the Gaussian log-likelihood at the released moment, as statsmodels counts it."""
    n = fit.state.n
    return -n / 2 * (math.log(2 * math.pi) + math.log(fit.residual_sum / n) + 1)


def information_criteria(fit: Regression) -> dict[str, float]:
    """Return log-likelihood, AIC, BIC and the adjusted R^2 of a regression.

    They are computed at the released moment without allowance for its noise: at small budgets the noise changes them by
    more than the penalty of a coefficient, and limits and tests are to be preferred.
    """
    n, k = fit.state.n, len(fit.names)
    value = log_likelihood(fit)
    values = {"llf": value, "aic": 2 * k - 2 * value, "bic": k * math.log(n) - 2 * value}
    if fit.r_squared is not None:
        values["adjusted_r_squared"] = 1 - (1 - float(fit.r_squared.values[0])) * (n - 1) / (n - k)
    return values


@dataclass(frozen=True, eq=False)
class InstrumentalFit:
    """A regression with instruments.

    Attributes:
        regression: coefficients, limits, tests and predictions of the second stage.
        first_stage: for each endogenous feature, the test that the coefficients of all excluded instruments are zero.
    """

    regression: Regression
    first_stage: dict[str, NestedTest]

    @property
    def weak(self) -> tuple[str, ...]:
        """Return the endogenous features whose first-stage F is below ten: their limits cannot be relied on."""
        return tuple(name for name, test in self.first_stage.items() if not test.textbook_f >= _WEAK_F)

    def __repr__(self) -> str:
        strength = ", ".join(
            f"first-stage F of {name} {test.textbook_f:.3g}" for name, test in self.first_stage.items()
        )
        return f"<InstrumentalFit {self.regression.formula[:80]}; {strength}>"


def two_stage(state: State, response: int, features: Sequence[int], instruments: Sequence[int]) -> Fit:
    """Return two-stage least squares of one column on others (proofs/results.md, 2).

    With features X, instruments Z (the exogenous features among them) and response y, all columns of the moment S:
    ``Pi = S_ZZ^{-1} S_ZX``, ``beta = (Pi' S_ZX)^{-1} Pi' S_Zy``. To first order ``d beta_i = a_i' dM b`` as for least
    squares, with ``a = (Pi' S_ZX)^{-1} Pi' root_Z`` and ``b = root'(e_y - X beta)``, the over-identifying moments taken
    as zero, as textbooks do; so bands, tests and predictions are those of a regression with other rows a.

    Args:
        state: the released moment with its errors.
        response: position of the response.
        features: positions of the columns that it is regressed on.
        instruments: positions of all columns of Z: the exogenous features and the excluded instruments.

    Raises:
        InputError: fewer instruments than features.
    """
    if len(instruments) < len(features):
        raise InputError(ExploreMessage.TOO_FEW_INSTRUMENTS)
    root_x, root_z = state.root[list(features)], state.root[list(instruments)]
    # Columns are scaled to mean square 1, so that the solves are as accurate as the moment.
    scale_x = np.linalg.norm(root_x @ state.cholesky_factor, axis=1)
    scale_z = np.linalg.norm(root_z @ state.cholesky_factor, axis=1)
    x, z = root_x / scale_x[:, None], root_z / scale_z[:, None]
    s_zx, s_zz = z @ state.moment @ x.T, z @ state.moment @ z.T
    stage = np.linalg.solve(s_zz, s_zx)  # (l, q)
    rows = np.linalg.solve(stage.T @ s_zx, stage.T @ z)  # (q, D)
    beta = rows @ state.moment @ state.root[response]
    coefficients, a = beta / scale_x, rows / scale_x[:, None]
    b = state.root[response] - coefficients @ root_x
    # The residual sum is not minimized, so the noise does not bias it downwards.
    residual = combined_residual_variance(state, b, float(b @ state.moment @ b))
    return Fit(state, response, tuple(features), coefficients, a, b, residual)


def checked_roles(
    features: Sequence[str], endogenous: Sequence[str], instruments: Sequence[str], response: str
) -> None:
    """Raise unless the roles of columns fit together.

    Raises:
        InputError: an endogenous column that is no feature, an instrument that is one, or too few instruments.
    """
    stray = [name for name in endogenous if name not in features]
    if stray or not endogenous:
        raise InputError(ExploreMessage.STRAY_ENDOGENOUS, columns=stray)
    both = [name for name in instruments if name in features or name == response]
    if both:
        raise InputError(ExploreMessage.INSTRUMENT_IN_FORMULA, columns=both)
    if len(set(instruments)) < len(endogenous):
        raise InputError(ExploreMessage.INSTRUMENT_COUNT, limit=len(endogenous), count=len(set(instruments)))
