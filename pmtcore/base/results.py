"""Results of a regression: estimates, standard errors, tests, intervals, predictions; all post-processing.

One class for every fit: of a private estimator, from a released moment, or from a record that a colleague sent. The
limits of a release lie around its *centre* (the coefficients before any shrinkage to the public fit) and are widened to
contain the published coefficients; so t is ``centre / bse``, and a p-value is below 0.05 exactly where the 95 % band
does not contain zero.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, update_wrapper
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

import numpy as np

from pmtcore.base.arguments import checked_methods
from pmtcore.base.distributions import chi2, f_distribution, student
from pmtcore.base.escaping import html as escape
from pmtcore.base.escaping import one_line, terminal
from pmtcore.base.messages import InputError, ReleaseNote, ResultMessage, reraised_as
from pmtcore.base.numbers import rounded

if TYPE_CHECKING:
    import pandas as pd

PARTS = ("privacy", "sampling", "truncation")
INTERCEPT = "Intercept"  # as formulas, statsmodels and pyfixest name it, so that rows of tables align
_RECORD_INTERCEPT = "(intercept)"  # as records name it
_LEVEL = 0.95  # confidence level of the bands in a record
KNOWN_DOF = 1e5  # degrees of freedom from which a variance counts as known
_CELL_STYLE = "padding:2px 10px;text-align:right"
Features = Callable[[object], np.ndarray]


def _frame(
    columns: dict[str, np.ndarray] | np.ndarray, index: list[str] | None = None, names: list[str] | None = None
) -> pd.DataFrame:
    """Return a table of numbers; pandas is loaded here, since the command line prints without it."""
    import pandas as pd  # noqa: PLC0415

    return pd.DataFrame(columns, index=index, columns=names, dtype=float)


def statsmodels_name(name: str) -> str:
    """Return the name of a coefficient in the spelling of statsmodels and pyfixest."""
    return INTERCEPT if name == _RECORD_INTERCEPT else name


class Mean(Protocol):
    """Function from a linear predictor to the mean response: the inverse link."""

    def __call__(self, linear: np.ndarray, /) -> np.ndarray:
        """Return the mean response (k,)."""
        ...


@dataclass(frozen=True)
class WaldTest:
    """A joint test of linear constraints.

    Attributes:
        statistic: F with ``df_num`` and ``df_denom`` degrees of freedom; ``df_denom`` is infinite where variances are
            known, and the p-value then comes from the chi-square law.
    """

    statistic: float
    pvalue: float
    df_num: int
    df_denom: float

    def __str__(self) -> str:
        return f"F({self.df_num}, {denominator_dof(self)}) = {self.statistic:.4g}, p = {self.pvalue:.3g}"


def denominator_dof(test: WaldTest) -> str:
    """Write the degrees of freedom of the denominator; infinite where the p-value is of the chi-square law.

    >>> denominator_dof(WaldTest(4.2, 0.006, 3, 194.26)), denominator_dof(WaldTest(1.0, 0.3, 1, 1e12))
    ('194', '∞')
    """
    return rounded(test.df_denom) if test.df_denom < KNOWN_DOF else "∞"


def wald_test(deviation: np.ndarray, covariance: np.ndarray, freedom: float) -> WaldTest:
    """Return Wald's F test that deviations (q,) from zero, with a covariance (q, q), are zero.

    The p-value comes from the chi-square law where variances count as known.
    """
    scale, q = 1 / np.sqrt(np.diag(covariance)), len(deviation)
    size = float((deviation * scale) @ np.linalg.solve(covariance * np.outer(scale, scale), deviation * scale))
    pvalue = float(f_distribution.sf(size / q, q, freedom) if freedom < KNOWN_DOF else chi2.sf(size, q))
    return WaldTest(size / q, pvalue, q, freedom)


@checked_methods
@dataclass(frozen=True, eq=False)
class PredictedMeans:
    """Predicted means of rows with their standard errors, in the names of statsmodels.

    Attributes:
        predicted_mean: (k,), NaN where a value is missing.
        linear, centre: (k,), the published linear predictor, and the centre of its limits.
        se_mean: (k,), of the linear predictor.
        slope: of the mean in the linear predictor (k,), so that a table has the standard error of the mean.
        residual_sd: around the regression; ``None`` where no new row has an interval.
    """

    predicted_mean: np.ndarray
    linear: np.ndarray
    centre: np.ndarray
    se_mean: np.ndarray
    freedom: np.ndarray
    residual_sd: float | None
    mean: Mean
    slope: Mean = np.ones_like

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Return mean, its standard error and limits, and limits of a new row where there are any."""
        quantile = student.isf((1 - _checked(1 - alpha)) / 2, self.freedom)
        columns = {"mean": self.predicted_mean, "mean_se": self.slope(self.linear) * self.se_mean}
        low, high = self._limits_around(quantile * self.se_mean)
        columns |= {"mean_ci_lower": self.mean(low), "mean_ci_upper": self.mean(high)}
        if self.residual_sd is not None:
            low, high = self._limits_around(quantile * np.hypot(self.se_mean, self.residual_sd))
            columns |= {"obs_ci_lower": low, "obs_ci_upper": high}
        return _frame(columns)

    def _limits_around(self, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return limits of the linear predictor around its centre, widened to contain the published one."""
        return np.minimum(self.centre - half, self.linear), np.maximum(self.centre + half, self.linear)


@checked_methods
@dataclass(frozen=True, eq=False)
class Results:
    """Estimates of one regression and everything that follows from them.

    Attributes:
        names: of the coefficients (d,).
        coefficients, centre: (d,), the published coefficients, and the centres of their limits.
        errors: standard errors (d,) of each part, by its name.
        freedom: (d,), degrees of freedom of Student's law.
        covariances: (d, d) of each part; ``None`` where the method or the record knows standard errors alone.
        endog: name of the response.
        nobs: number of private rows, as released.
        record: plain fields behind it; empty for a regression from a moment.
        mean, slope: inverse link, and its derivative; the identity, and 1, for linear models.
        features: design (k, d) of a frame of new rows; ``None`` where the record does not say how rows are read.
        words: sentences shown below the table, in order.
        spent: sentence on the spend of the fit.
    """

    names: tuple[str, ...]
    coefficients: np.ndarray
    centre: np.ndarray
    errors: Mapping[str, np.ndarray]
    freedom: np.ndarray
    covariances: Mapping[str, np.ndarray] | None = None
    endog: str = "y"
    title: str = ""
    family: str = "gaussian"
    nobs: int = 0
    public_rows: int | None = None
    rsquared: float | None = None
    residual_sd: float | None = None
    guarantee: Mapping[str, Any] = field(default_factory=dict)
    standing: str = ""
    record: Mapping[str, Any] = field(default_factory=dict)
    mean: Mean = np.asarray
    slope: Mean = np.ones_like
    features: Features | None = None
    words: tuple[str, ...] = ()
    spent: str = ""
    more: Mapping[str, float] = field(default_factory=dict)

    @property
    def index(self) -> list[str]:
        """Return the names of the coefficients as tables show them."""
        return [statsmodels_name(name) for name in self.names]

    @property
    def params(self) -> pd.Series:
        """Return the published coefficients."""
        return self._series(self.coefficients)

    @property
    def bse(self) -> pd.Series:
        """Return standard errors, all parts together: privacy, sampling and truncation."""
        return self._series(self._total)

    @property
    def tvalues(self) -> pd.Series:
        """Return ``centre / bse``."""
        return self._series(self._ratios)

    @property
    def pvalues(self) -> pd.Series:
        """Return two-sided p-values: the largest level at which the interval of :meth:`conf_int` contains zero."""
        return self._series(self._two_sided)

    @property
    def df_resid(self) -> float:
        """Return the least degrees of freedom among the coefficients."""
        return float(np.min(self.freedom, initial=math.inf))

    def conf_int(self, level: float = _LEVEL, *, alpha: float | None = None) -> pd.DataFrame:
        """Return limits of each coefficient, all parts of the error together: columns ``low`` and ``high``.

        Args:
            level: share of releases whose interval contains the truth.
            alpha: ``1 - level``, as statsmodels asks for it.

        Raises:
            InputError: a level that is not between 0.5 and 1.
        """
        low, high = self._limits(level if alpha is None else 1 - alpha)
        return _frame({"low": low, "high": high}, self.index)

    def cov_params(self, part: str | None = None) -> pd.DataFrame:
        """Return the covariance of the coefficients: of one part, or of all together.

        Args:
            part: ``privacy``, ``sampling`` or ``truncation``; ``None``: their sum.

        Raises:
            InputError: no such part, or only standard errors are known.
        """
        covariance = self._covariance if part is None else self._part(part)
        return _frame(covariance, self.index, self.index)

    def wald_test(self, constraints: object) -> WaldTest:
        """Test linear constraints jointly.

        Args:
            constraints: names of coefficients that are zero together, a text such as ``"a = b, c = 0"``, weights by
                name, or a matrix (q, d).

        Raises:
            InputError: no such coefficient, constraints that are not independent, or only standard errors are known.
        """
        weights, right = self._constraints(constraints)
        deviation = weights @ self.centre - right
        covariance = weights @ self._covariance @ weights.T
        if np.linalg.matrix_rank(weights) < len(weights):
            raise InputError(ResultMessage.DEPENDENT_CONSTRAINTS)
        freedom = self.df_resid
        return wald_test(deviation, covariance, math.inf if freedom >= KNOWN_DOF else freedom)

    def t_test(self, constraints: object, level: float = _LEVEL) -> pd.DataFrame:
        """Return a t test of each linear constraint separately: ``coef``, ``std err``, ``t``, ``p``, ``low``, ``high``.

        Raises:
            InputError: as :meth:`wald_test`.
        """
        weights, right = self._constraints(constraints)
        value = weights @ self.centre - right
        error = np.sqrt(np.einsum("ki,ij,kj->k", weights, self._covariance, weights))
        half = student.isf((1 - _checked(level)) / 2, self.df_resid) * error
        columns = {
            "coef": value,
            "std err": error,
            "t": value / error,
            "p": 2 * student.sf(np.abs(value / error), self.df_resid),
            "low": value - half,
            "high": value + half,
        }
        return _frame(columns)

    def predict(self, frame: object) -> np.ndarray:
        """Return the expected response of each row (k,); NaN where a value is missing. Free.

        Raises:
            InputError: a column is missing, or the record does not say how rows are read.
        """
        return np.asarray(self.mean(self._design(frame) @ self.coefficients))

    def get_prediction(self, frame: object) -> PredictedMeans:
        """Return predictions with standard errors and limits, of the mean and of a new row.

        Raises:
            InputError: as :meth:`predict`, or only standard errors are known.
        """
        x = self._design(frame)
        linear = x @ self.coefficients
        error = np.sqrt(np.einsum("ki,ij,kj->k", x, self._covariance, x))
        freedom = np.full(len(x), self.df_resid)
        return PredictedMeans(
            np.asarray(self.mean(linear)),
            linear,
            x @ self.centre,
            error,
            freedom,
            self.residual_sd,
            self.mean,
            self.slope,
        )

    def score(self, *_: object, **__: object) -> float:
        """Refuse: a score would be an exact figure of private rows, which needs a budget.

        Raises:
            InputError: always, with the reason.
        """
        raise InputError(ResultMessage.NO_SCORE)

    def frame(self, level: float = _LEVEL) -> pd.DataFrame:
        """Return the table of coefficients: coef, std err, t, p, limits, their centre, and the parts of the error."""
        low, high = self._limits(level)
        columns = {
            "coef": self.coefficients,
            "std err": self._total,
            "t": self.tvalues.to_numpy(),
            "p": self.pvalues.to_numpy(),
            "low": low,
            "high": high,
            "centre": self.centre,
            **{f"{part} sd": self.errors[part] for part in PARTS if part in self.errors},
        }
        return _frame(columns, self.index)

    def summary(self) -> Results:
        """Return itself: it prints as a table, in a terminal and in a notebook."""
        return self

    def __str__(self) -> str:
        return terminal("\n".join([*self._head(), "", *self._rows(), *self.words, self.spent])).rstrip()

    def __repr__(self) -> str:
        size = f"{len(self.names)} coefficients"
        return f"<Results: {one_line(self.title or 'regression')[:60]} of {one_line(self.endog)[:60]!r}, {size}>"

    def _repr_html_(self) -> str:
        names = self._columns()
        head = "".join(f'<th style="{_CELL_STYLE}">{escape(name)}</th>' for name in ("", *names))
        rows = "".join(
            f'<tr><th style="{_CELL_STYLE}">{escape(name)}</th>'
            + "".join(f'<td style="{_CELL_STYLE}">{escape(cell)}</td>' for cell in cells)
            + "</tr>"
            for name, cells in self._cells()
        )
        words = "".join(f"<p>{escape(line)}</p>" for line in (*self._head(), *self.words, self.spent) if line)
        return (
            f'<div class="tex2jax_ignore mathjax_ignore">{words}'
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"
        )

    @property
    def parts(self) -> pd.DataFrame:
        """Return standard errors by part: privacy noise, sampling, truncation."""
        return _frame(dict(self.errors), self.index)

    def _head(self) -> list[str]:
        lines = [f"{self.title} of {self.endog}" + (f", standing: {self.standing}" if self.standing else "")]
        public = "unknown" if self.public_rows is None else f"{self.public_rows:,}"
        sizes = f"n = {self.nobs:,}, public rows = {public}"
        lines.append(sizes + ("" if self.rsquared is None else f", R^2 = {self.rsquared:.4f}"))
        if self.guarantee:
            g = self.guarantee
            lines.append(
                f"mu = {g['mu']:.4g}, rho = {g['rho']:.4g}, epsilon = {g['epsilon']:.4g} at delta = {g['delta']:g} "
                f"({g['neighbours']})"
            )
        return lines

    @cached_property
    def _off_centre(self) -> bool:
        """Return True where a centre differs from its coefficient, so that a column shows the centres."""
        shift = np.abs(self.coefficients - self.centre)
        return bool(np.any(shift > 1e-3 * self._total))

    def _columns(self) -> tuple[str, ...]:
        return ("coef", "std err", "t", "P>|t|", "[0.025", "0.975]", *(("centre",) if self._off_centre else ()))

    def _cells(self) -> list[tuple[str, list[str]]]:
        """Return names and cells of the table as texts; empty where a method gives no bands."""
        low, high = self._limits(_LEVEL)
        t, p = self._ratios, self._two_sided
        table = []
        for j, name in enumerate(self.index):
            cells = [f"{self.coefficients[j]:.4g}", f"{self._total[j]:.3g}", f"{t[j]:.2f}", f"{p[j]:.3f}"]
            cells += [f"{low[j]:.4g}", f"{high[j]:.4g}", *([f"{self.centre[j]:.4g}"] if self._off_centre else [])]
            table.append((name, ["" if cell == "nan" else cell for cell in cells]))
        return table

    def _rows(self) -> list[str]:
        cells = self._cells()
        width = max([len(one_line(name)) for name, _ in cells], default=10)
        lines = [f"{'':{width}} " + " ".join(f"{name:>10}" for name in self._columns())]
        lines += [f"{one_line(name):{width}} " + " ".join(f"{cell:>10}" for cell in row) for name, row in cells]
        if self._off_centre:
            lines.append(ReleaseNote.AROUND_CENTRE.sentence())
            if np.any(self.coefficients * self.centre <= 0):
                lines.append(ReleaseNote.P_IS_ONE.sentence())
        return lines if self.names else []

    def _series(self, values: np.ndarray) -> pd.Series:
        import pandas as pd  # noqa: PLC0415  # as above

        return pd.Series(values, index=self.index, dtype=float)

    @cached_property
    def _total(self) -> np.ndarray:
        squares = [np.asarray(self.errors[part], dtype=float) ** 2 for part in PARTS if part in self.errors]
        return np.sqrt(np.sum(squares, axis=0)) if squares else np.full(len(self.coefficients), np.nan)

    @property
    def _ratios(self) -> np.ndarray:
        return self.centre / self._total

    @property
    def _two_sided(self) -> np.ndarray:
        p = 2 * student.sf(np.abs(self._ratios), self.freedom)
        return np.where(self.coefficients * self.centre > 0, p, np.where(np.isnan(p), np.nan, 1.0))

    @cached_property
    def _covariance(self) -> np.ndarray:
        if not self.errors:
            raise InputError(ResultMessage.NO_STANDARD_ERRORS)
        return np.asarray(sum(self._part(part) for part in PARTS if part in self.errors))

    def _part(self, part: str) -> np.ndarray:
        if not self.errors:
            raise InputError(ResultMessage.NO_STANDARD_ERRORS)
        if part not in list(self.errors):
            raise InputError(ResultMessage.NO_SUCH_PART, part=part, present=self.errors)
        if self.covariances is None:
            raise InputError(ResultMessage.NO_COVARIANCES)
        return np.asarray(self.covariances[part])

    def _limits(self, level: float) -> tuple[np.ndarray, np.ndarray]:
        half = student.isf((1 - _checked(level)) / 2, self.freedom) * self._total
        return np.minimum(self.centre - half, self.coefficients), np.maximum(self.centre + half, self.coefficients)

    def _design(self, frame: object) -> np.ndarray:
        if self.features is None:
            raise InputError(ResultMessage.NO_DESIGN)
        return self.features(frame)

    def _constraints(self, constraints: object) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (q, d) and right sides (q,)."""
        d = len(self.names)
        refusal = InputError(ResultMessage.TEST_FORM, count=d)
        if isinstance(constraints, str):
            return self._parsed_constraints(constraints)
        if isinstance(constraints, Mapping):
            constraints = [constraints]
        if isinstance(constraints, Sequence) and constraints and all(isinstance(one, str) for one in constraints):
            constraints = [{name: 1.0} for name in dict.fromkeys(constraints)]
        if isinstance(constraints, Sequence) and constraints and all(isinstance(one, Mapping) for one in constraints):
            rows = np.zeros((len(constraints), d))
            with reraised_as(refusal):
                for row, weights in zip(rows, constraints, strict=True):
                    for name, weight in weights.items():
                        row[self._position(name)] = float(weight)
        else:
            with reraised_as(refusal):
                rows = np.atleast_2d(np.asarray(constraints, dtype=float))
        if rows.ndim != 2 or rows.shape[1] != d or not np.all(np.isfinite(rows)) or not np.all(rows.any(axis=1)):
            raise refusal
        return rows, np.zeros(len(rows))

    def _parsed_constraints(self, text: str) -> tuple[np.ndarray, np.ndarray]:
        """Parse constraints such as ``a = b, c = 0``, separated by commas; a name may have any signs in it."""
        names = sorted({*self.names, *self.index}, key=len, reverse=True)
        known = re.compile(rf"(`?)(?<!\w)({'|'.join(map(re.escape, names))})(?!\w)\1")
        # Names are replaced by their positions, since they may contain the signs at which a constraint is split.
        marked = known.sub(lambda match: f"\0{self._position(match[2])}\0", text)
        rows, right = [], []
        for part in marked.split(","):
            given = re.sub(r"\0(\d+)\0", lambda match: self.index[int(match[1])], part.strip())
            left, _, other = part.partition("=")
            with reraised_as(InputError(ResultMessage.CONSTRAINT_FORM, given=given), ValueError):
                left_sum, right_sum = self._sum(left), self._sum(other or "0")
            rows.append(left_sum[0] - right_sum[0])
            right.append(right_sum[1] - left_sum[1])
            if not np.all(np.isfinite([*rows[-1], right[-1]])) or not rows[-1].any():
                raise InputError(ResultMessage.CONSTRAINT_FORM, given=given)
        return np.array(rows), np.array(right)

    def _sum(self, text: str) -> tuple[np.ndarray, float]:
        """Return weights (d,) and constant of a sum of numbers and coefficients, written as positions between NULs."""
        weights, constant = np.zeros(len(self.names)), 0.0
        for piece in re.split(r"(?<![0-9.][eE])(?:\+|(?=-))", text):
            term = piece.strip()
            if not term:
                continue
            sign = -1.0 if term.startswith("-") else 1.0
            factor, times, name = term.lstrip("-").strip().rpartition("*")
            size, place = sign * (float(factor) if times else 1.0), name.strip()
            if re.fullmatch(r"\0\d+\0", place):
                weights[int(place.strip("\0"))] += size
            elif re.fullmatch(r"[^\W\d]\w*", place) and place not in ("nan", "inf"):
                self._position(place)
            else:
                constant += size * float(place)
        return weights, constant

    def _position(self, name: str) -> int:
        for names in (list(self.names), self.index):
            if name in names:
                return names.index(name)
        raise InputError(ResultMessage.NO_COEFFICIENT, coefficient=name[:80], present=self.index)

    # The protocol of maketables (PLUGIN_EXTRACTOR_FORMAT.md): LaTeX, HTML and Word beside columns of other packages.

    @property
    def __maketables_coef_table__(self) -> pd.DataFrame:
        frame = self.frame()
        return frame.rename(columns={"coef": "b", "std err": "se", "low": "ci95l", "high": "ci95u"})[
            ["b", "se", "t", "p", "ci95l", "ci95u"]
        ].rename_axis("Coefficient")

    @property
    def __maketables_depvar__(self) -> str:
        return self.endog

    @property
    def __maketables_vcov_info__(self) -> dict[str, str | None]:
        return {"vcov_type": "privacy + sampling + truncation", "clustervar": None}

    @property
    def __maketables_default_stat_keys__(self) -> list[str]:
        return ["N", "mu", *([] if self.rsquared is None else ["r2"])]

    @property
    def __maketables_stat_labels__(self) -> dict[str, str]:
        return {"mu": "mu (GDP)"}

    def __maketables_stat__(self, key: str) -> float | None:
        stats = {"N": self.nobs, "r2": self.rsquared, "mu": self.guarantee.get("mu"), **self.more}
        return stats.get(key)


Value = TypeVar("Value")
Given = ParamSpec("Given")


class _OfResults(Generic[Value]):
    """Descriptor that reads an attribute of a fit from its results."""

    def __init__(self, name: str) -> None:
        self._name, self.__doc__ = name, f"See :attr:`Results.{name}`."

    def __get__(self, fit: Reported | None, owner: type[Reported]) -> Value:
        return self if fit is None else getattr(fit.results_, self._name)  # type: ignore[return-value]


def _of_results(method: Callable[Concatenate[Results, Given], Value]) -> Callable[Concatenate[Reported, Given], Value]:
    """Return the method of a fit that calls a method of its results."""

    def call(fit: Reported, /, *values: Given.args, **named: Given.kwargs) -> Value:
        return method(fit.results_, *values, **named)

    update_wrapper(call, method)
    return call


class Reported:
    """Base of an object with :attr:`results_`, which offers the attributes of these under the names of statsmodels."""

    @property
    def results_(self) -> Results:
        """Return the results object of this fit."""
        raise NotImplementedError

    def summary(self) -> Results:
        """Return coefficients, errors and limits: a table in a notebook, text when printed."""
        return self.results_

    def score(self, *_: object, **__: object) -> float:
        """See :meth:`Results.score`: refused, with the reason, before a fit too."""
        raise InputError(ResultMessage.NO_SCORE)

    params: _OfResults[pd.Series] = _OfResults("params")
    bse: _OfResults[pd.Series] = _OfResults("bse")
    tvalues: _OfResults[pd.Series] = _OfResults("tvalues")
    pvalues: _OfResults[pd.Series] = _OfResults("pvalues")
    rsquared: _OfResults[float | None] = _OfResults("rsquared")
    conf_int = _of_results(Results.conf_int)
    cov_params = _of_results(Results.cov_params)
    wald_test = _of_results(Results.wald_test)
    t_test = _of_results(Results.t_test)
    get_prediction = _of_results(Results.get_prediction)
    __maketables_coef_table__: _OfResults[pd.DataFrame] = _OfResults("__maketables_coef_table__")
    __maketables_depvar__: _OfResults[str] = _OfResults("endog")
    __maketables_vcov_info__: _OfResults[dict[str, str | None]] = _OfResults("__maketables_vcov_info__")
    __maketables_default_stat_keys__: _OfResults[list[str]] = _OfResults("__maketables_default_stat_keys__")
    __maketables_stat_labels__: _OfResults[dict[str, str]] = _OfResults("__maketables_stat_labels__")
    __maketables_stat__ = _of_results(Results.__maketables_stat__)


def _checked(level: float) -> float:
    """Return the level.

    Raises:
        InputError: it is no level of confidence.
    """
    if not 0.5 <= level < 1:
        raise InputError(ResultMessage.LEVEL_RANGE, level=level)
    return float(level)
