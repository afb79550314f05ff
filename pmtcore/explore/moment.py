"""A released joint moment, opened: regressions and figures by column names, and the number of models examined.

A record may be released without the public rows, which its readers could otherwise see. The released moment does not
depend on whether they are included, so they can be added later at no further cost: logistic regressions need them
(proofs/moment.md, 18.4).
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import product
from pathlib import Path as File
from typing import Any, TypedDict, Unpack

import numpy as np
import pandas as pd

from pmtcore.accounting.budgets import Budget
from pmtcore.base.arguments import checked_methods
from pmtcore.base.labels import Label, ReleaseStatus
from pmtcore.base.messages import ExploreMessage, FaceMessage, InputError, reraised_as, whole_number_between
from pmtcore.base.symmetric import eigenvector_root
from pmtcore.explore.confirm import combined_record
from pmtcore.explore.functionals import Estimates, Marginals
from pmtcore.explore.logistic import Logistic, logistic_from_linear
from pmtcore.explore.penalized import Path, Subset, best_subsets, lasso_path, ridge_path
from pmtcore.explore.regression import (
    InstrumentalFit,
    NestedTest,
    Predicted,
    Regression,
    checked_roles,
    nested_test,
    regression,
    two_stage,
)
from pmtcore.methods.joint_moment.derived import Derived
from pmtcore.methods.joint_moment.influence import GaussianInfluence, RowInfluence
from pmtcore.methods.joint_moment.linear import State
from pmtcore.methods.joint_moment.method import MomentPlan
from pmtcore.methods.joint_moment.record import Record, record_from_bytes
from pmtcore.methods.registry import make_parameters, method
from pmtcore.public.moments import INTERCEPT, PublicData
from pmtcore.tables.formula import Factor, category, columns_of, parse
from pmtcore.tables.sources import narwhals_frame

_LOADINGS = 5  # components with bands: further ones explain little, and each takes as long
MARK = "synthetic"
_MOST_SYNTHETIC_ROWS = 1_000_000  # most synthetic rows: enough to try code on
_METHOD = "joint-moment"


def read_formula(formula: str, names: Sequence[str], given: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    """Return response, features in the order of the formula, and whether there is an intercept.

    ``.`` stands for all given columns but the response; ``C(g)``, or ``g`` alone, for the dummies of g; ``a:b`` for the
    derived column of that name, in either order; ``a*b`` for both and their product.

    Args:
        formula: what the user wrote.
        names: all columns of the record.
        given: the columns without derived ones.

    Raises:
        InputError: no formula, an unknown name, or a column twice.
    """
    bases = [base for base in dict.fromkeys(map(category, given)) if base is not None]
    known = [*names, *(base for base in bases if base not in names)]
    parsed = parse(formula, known, tuple(given))
    response = column(parsed.response, names)
    features: list[str] = []
    for term in parsed.terms:
        features += _columns(term, names)
    twice = [name for name in features if features.count(name) > 1 or name == response]
    if twice:
        raise InputError(ExploreMessage.TERM_TWICE, columns=sorted(set(twice)))
    return response, tuple(features), parsed.intercept


def column(name: str, names: Sequence[str]) -> str:
    """Return the column of this name.

    Raises:
        InputError: none.
    """
    if name in names:
        return name
    raise InputError(ExploreMessage.NO_RECORD_COLUMN, column=name[:80], present=names)


def dummies(name: str, names: Sequence[str]) -> list[str]:
    """Return the dummies of a column's levels in the record."""
    return [other for other in names if category(other) == name and ":" not in other]


def _columns(term: tuple[Factor, ...], names: Sequence[str]) -> list[str]:
    """Return columns of a term: one for numbers, one for each level of a factor, their products."""
    choices = [_factor(factor, names) for factor in term]
    return [_product(parts, names) for parts in product(*choices)]


def _factor(factor: Factor, names: Sequence[str]) -> list[str]:
    expression = factor.expression
    if factor.is_column:
        return dummies(expression, names) or [column(expression, names)] if expression not in names else [expression]
    compact = expression.replace(" ", "")
    matching = [name for name in names if name.replace(" ", "") == compact]
    if matching:
        return matching
    used = columns_of(expression)
    if expression.startswith("C(") and len(used) == 1:
        levels = dummies(used[0], names)
        if levels:
            return levels
        raise InputError(ExploreMessage.NO_DUMMIES, column=used[0][:80])
    raise InputError(ExploreMessage.UNDECLARED_FUNCTION, expression=expression[:80])


def _product(parts: tuple[str, ...], names: Sequence[str]) -> str:
    """Return the derived column that is the product of these."""
    if len(parts) == 1:
        return parts[0]
    for name in (":".join(parts), ":".join(reversed(parts))):
        if name in names:
            return name
    raise InputError(ExploreMessage.UNDECLARED_PRODUCT, expression=":".join(parts)[:80])


class Model(TypedDict, total=False):
    """Names in place of a formula; see :meth:`Moment.regress`."""

    response: str | None
    features: Sequence[str] | None
    ridge: float
    intercept: bool


@checked_methods
class Moment:
    """A released joint moment; regressions, tests and figures from it are post-processing and spend nothing.

    >>> moment = Moment.load("R.json")  # doctest: +SKIP
    >>> moment.regress("quality ~ alcohol + pH").coefficients  # doctest: +SKIP
    """

    def __init__(self, record: Record, sound: bool = True) -> None:
        self.record = record
        self.label = Label.RELEASED if sound else Label.LAB
        self.guarantees: tuple[Mapping[str, Any], ...] = (record.guarantee,)  # of each table, where several were added
        self.disjoint = ""  # why nobody is in two of them
        self._looked: list[Regression] = []
        # Features that best subsets chose among, by the response and whether there is a constant.
        self._searches: dict[tuple[str, bool], set[frozenset[str]]] = {}

    def __repr__(self) -> str:
        return f"<Moment of {len(self.columns)} columns, n = {self.record.n:,}, mu = {self.record.guarantee['mu']:.4g}>"

    def _design(self, frame: Any, names: Sequence[str]) -> np.ndarray:  # noqa: ANN401
        """Return columns (k, q) of these names from rows of a frame: derived ones by their rules, dummies from levels.

        Raises:
            InputError: a column is missing, or the rows are no table.
        """
        if narwhals_frame(frame) is None:
            raise InputError(FaceMessage.NOT_A_FRAME, table="new", given=type(frame).__name__)
        given = (
            pd.DataFrame({name: frame[name] for name in frame.columns})
            if not isinstance(frame, pd.DataFrame)
            else frame
        )
        return np.column_stack([self._column(given, name) for name in names])

    def _column(self, frame: pd.DataFrame, name: str) -> np.ndarray:
        rules = {rule.name: rule for rule in self.record.derived.rules}
        if name == INTERCEPT:
            return np.ones(len(frame))
        if name in frame.columns:
            return pd.to_numeric(frame[name], errors="coerce").to_numpy(dtype=float)
        if name in rules:
            return rules[name].apply([self._column(frame, part) for part in rules[name].of])
        column, equals, level = name.partition("=")
        if equals and column in frame.columns:
            return np.asarray(frame[column].astype(str) == level, dtype=float)
        raise InputError(ExploreMessage.NEW_ROWS_LACK_COLUMN, column=name[:80])

    @classmethod
    def load(cls, path: str | File) -> Moment:
        """Read a file: the record, or the release that contains it.

        Raises:
            InputError: no such file, or no record.
        """
        with reraised_as(
            InputError(FaceMessage.RECORD_UNREADABLE, place=str(path)[:200]), OSError, TypeError, ValueError
        ):
            data = File(path).read_bytes()
        return cls.from_bytes(data)

    @classmethod
    def from_bytes(cls, data: bytes) -> Moment:
        """Read the bytes of such a file.

        Raises:
            InputError: no record.
        """
        return cls(*record_from_bytes(data))

    @classmethod
    def of(cls, release: object) -> Moment:
        """Return the moment of a release: of its plain fields, of a fitted model, or of an object with a ``record``.

        Raises:
            InputError: a release of another method.
        """
        fields: Any = getattr(release, "record_", getattr(release, "record", release))
        inside = fields.get("released") if isinstance(fields, Mapping) else None
        if not isinstance(inside, Mapping) or "joint_moment" not in inside:
            raise InputError(ExploreMessage.NO_MOMENT)
        return cls(Record.from_dict(inside["joint_moment"]), fields.get("standing") != ReleaseStatus.LAB.value)

    @cached_property
    def state(self) -> State:
        """Return the moment ready for questions."""
        return self.record.state()

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all columns: the constant first where there is one, derived ones last."""
        return self.record.names

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the names of all columns but the constant."""
        return self.names[1:] if self.has_constant else self.names

    @property
    def has_constant(self) -> bool:
        """Return whether the first column is the constant 1."""
        return self.names[0] == INTERCEPT

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the columns that are 0 or 1 in every public row: dummies, and labels for logistic regressions."""
        return self.record.labels

    @property
    def has_rows(self) -> bool:
        """Return whether the record contains public rows: logistic regressions need them."""
        return isinstance(self.record.influence, RowInfluence)

    @property
    def assumes_gaussian(self) -> bool:
        """Return whether bands assume Gaussian rows: neither public rows nor their fourth moments are in the record."""
        return isinstance(self.record.influence, GaussianInfluence)

    @property
    def looked(self) -> tuple[Regression, ...]:
        """Return the distinct regressions computed so far; uncorrected bands hold for one chosen beforehand."""
        return tuple(self._looked)

    @property
    def models(self) -> int:
        """Return the number of distinct models examined, best subsets included, for a Bonferroni correction."""
        tried = sum(_subsets(families) for families in self._searches.values())
        return tried + sum(not self._was_searched(fit) for fit in self._looked)

    def _was_searched(self, fit: Regression) -> bool:
        """Return whether best subsets examined this model too."""
        families = self._searches.get((fit.response, fit.constant), ())
        return fit.lam == 0 and any(family.issuperset(fit.features) for family in families)

    def regress(
        self,
        formula: str | None = None,
        *,
        response: str | None = None,
        features: Sequence[str] | None = None,
        ridge: float = 0.0,
        intercept: bool = True,
    ) -> Regression:
        """Return a regression by formula (``y ~ a + b + a:b``) or by names; without either, the default one.

        Args:
            formula: ``y ~ a + b + a:b``.
            response: name of the response, in place of a formula.
            features: names of the features; all others without any.
            ridge: penalty in the units of the table, the intercept excepted.
            intercept: whether the model has a constant, where there is no formula.

        Raises:
            InputError: unknown columns, or a column twice.
        """
        if formula is not None:
            given = [name for name in self.record.derived.base if name != INTERCEPT]
            response, features, intercept = read_formula(formula, self.names, given)
        response = self.record.target if response is None else response
        if features is None:
            features = [self.names[j] for j in self.record.features if self.names[j] not in (response, INTERCEPT)]
        fit = regression(
            self.state, self.names, response, features, lam=ridge, intercept=intercept and self.has_constant
        )
        fit = replace(fit, design=self._design, guarantee=self.record.guarantee)
        if all(_identity(fit) != _identity(other) for other in self._looked):
            self._looked.append(fit)
        return fit

    def iv(self, formula: str, *, endogenous: str | Sequence[str], instruments: str | Sequence[str]) -> InstrumentalFit:
        """Fit two-stage least squares, with instruments for the endogenous features; free.

        Args:
            formula: the second stage, endogenous features included: ``y ~ x + d``.
            endogenous: the endogenous features.
            instruments: the excluded instruments, columns that are not in the formula.

        Raises:
            InputError: unknown columns, or roles that do not fit together.
        """
        second = self.regress(formula)
        inner = [endogenous] if isinstance(endogenous, str) else list(endogenous)
        outer = [instruments] if isinstance(instruments, str) else list(instruments)
        inner = [name for one in inner for name in (dummies(one, self.names) or [column(one, self.names)])]
        outer = [name for one in outer for name in (dummies(one, self.names) or [column(one, self.names)])]
        checked_roles(second.features, inner, outer, second.response)
        exogenous = [name for name in second.features if name not in inner]
        constant = [self.names[0]] if second.constant else []
        places = [self.names.index(name) for name in (*constant, *exogenous, *outer)]
        fit = two_stage(self.state, second.fit.response, second.fit.features, places)
        stages = {
            name: nested_test(
                self._unlisted(name, exogenous, second.constant),
                self._unlisted(name, [*exogenous, *outer], second.constant),
            )
            for name in inner
        }
        return InstrumentalFit(replace(second, fit=fit), stages)

    def _unlisted(self, response: str, features: Sequence[str], constant: bool) -> Regression:
        """Return a regression that is an intermediate step, and does not count as a model examined."""
        return regression(self.state, self.names, response, features, lam=0.0, intercept=constant)

    def nested(self, small: str, large: str) -> NestedTest:
        """Test whether the coefficients that a smaller regression lacks are zero in a larger one; both by formula.

        Raises:
            InputError: as :meth:`regress`, or the regressions are not nested.
        """
        return nested_test(self.regress(small), self.regress(large))

    @classmethod
    def combine(cls, moments: Sequence[Moment], *, disjoint: str) -> Moment:
        """Add moments of disjoint tables under one public whitening: several sites or years as one analysis; free.

        Args:
            moments: one of each table, under one public whitening.
            disjoint: why nobody is in two of the tables; recorded in :attr:`disjoint`.

        Raises:
            InputError: no reason, other columns, public rows or radii, or one moment twice.
        """
        made = cls(combined_record([one.record for one in moments], disjoint))
        if any(one.label is Label.LAB for one in moments):
            made.label = Label.LAB
        made.guarantees = tuple(promise for one in moments for promise in one.guarantees)
        made.disjoint = disjoint.strip()
        return made

    def logistic(self, formula: str | None = None, **choices: Unpack[Model]) -> Logistic:
        """Fit a logistic regression of a 0/1 column with the help of public rows; the bands include its floor.

        Raises:
            InputError: as :meth:`regress`; a response that is not 0/1; a record without public rows.
        """
        return logistic_from_linear(self.regress(formula, **choices))

    def predict(self, fit: Regression, values: Mapping[str, float]) -> Predicted:
        """Predict at values of the given columns; derived ones are computed by their rules.

        Raises:
            InputError: a missing value.
        """
        return fit.predict(self.with_derived(values))

    def inputs(self, fit: Regression) -> set[str]:
        """Return the given columns that a regression's prediction depends on, directly or through derived ones."""
        inputs = {name for name in fit.names if name != fit.response}
        for rule in reversed(self.record.derived.rules):
            if rule.name in inputs:
                inputs = inputs - {rule.name} | set(rule.of)
        return inputs & set(self.record.derived.base)

    def with_derived(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return the values together with those of derived columns that can be computed from them."""
        row = {name: float(value) for name, value in values.items()}
        for rule in self.record.derived.rules:
            if all(name in row for name in rule.of):
                row.setdefault(rule.name, float(rule.apply([np.array([row[name]]) for name in rule.of])[0]))
        return row

    def ridge_path(self, fit: Regression, steps: Mapping[str, float] | None = None) -> Path:
        """Return the coefficients of a regression along ridge penalties: :func:`pmtcore.explore.penalized.ridge_path`.

        Args:
            fit: the regression.
            steps: changes of its features by name, for which coefficients are penalized.

        Raises:
            InputError: no feature beside the intercept.
        """
        return ridge_path(fit, steps)

    def lasso_path(self, fit: Regression, draws: int = 60) -> Path:
        """Return coefficients along lasso penalties, with the share of draws in which each feature is chosen.

        Raises:
            InputError: no intercept, or no feature beside it.
        """
        return lasso_path(fit, draws)

    def best_subsets(self, fit: Regression) -> list[Subset]:
        """Return the best subset of a regression's features of each size; all subsets count as examined.

        Raises:
            InputError: too many features to try all.
        """
        subsets = best_subsets(fit)
        self._searches.setdefault((fit.response, fit.constant), set()).add(frozenset(fit.features))
        return subsets

    @property
    def marginals(self) -> Marginals:
        """Return means, spreads, correlations, components and groups.

        Raises:
            InputError: no constant among the columns.
        """
        if not self.has_constant:
            raise InputError(ExploreMessage.MEANS_NEED_INTERCEPT)
        return Marginals(self.state)

    def summary(self, references: Mapping[str, Sequence[str]] | None = None) -> list[dict[str, Any]]:
        """Return mean and standard deviation of each column, with bands.

        Args:
            references: as of :meth:`correlations_with`.
        """
        names, sums = [*self.columns, *(references or {})], self._sums(references)
        means = self.marginals.means(sums).as_rows(names)
        spreads = self.marginals.spreads(sums).as_rows(names)
        return [
            {"column": m["name"], "mean": m["value"], "mean_low": m["low"], "mean_high": m["high"]}
            | {"sd": s["value"], "sd_low": s["low"], "sd_high": s["high"]}
            for m, s in zip(means, spreads, strict=True)
        ]

    def pairs(self, partial: bool = False) -> list[dict[str, Any]]:
        """Return correlations of all pairs, plain or partial; ``told`` where the band excludes zero."""
        estimates = self.marginals.partial_correlations() if partial else self.marginals.correlations()
        i, j = np.triu_indices(len(self.columns), 1)
        names = [f"{self.columns[a]} ~ {self.columns[b]}" for a, b in zip(i, j, strict=True)]
        rows = estimates.as_rows(names)
        for row, a, b in zip(rows, i, j, strict=True):
            row |= {"first": self.columns[a], "second": self.columns[b], "told": row["low"] > 0 or row["high"] < 0}
        return rows

    def correlations_with(
        self, response: str, references: Mapping[str, Sequence[str]] | None = None
    ) -> list[dict[str, Any]]:
        """Return the correlation of every other column with this one, with bands, in the order of the columns.

        Args:
            response: a column.
            references: names of levels without a column of their own, each with the 0/1 columns of the other levels: it
                is 1 where they are all 0. They come last.

        Raises:
            InputError: no such column.
        """
        if response not in self.columns:
            raise InputError(ExploreMessage.NO_RESPONSE, column=response)
        names = [*(name for name in self.columns if name != response), *(references or {})]
        return self.marginals.correlations(self.columns.index(response), self._sums(references)).as_rows(names)

    def _sums(self, references: Mapping[str, Sequence[str]] | None) -> np.ndarray | None:
        """Return weights (levels, columns) with which a level without a column is 1 less those of the others."""
        if not references:
            return None
        return -np.array([[name in others for name in self.columns] for others in references.values()], dtype=float)

    def components(self) -> tuple[Estimates, np.ndarray]:
        """Return shares of variance of principal components, and loadings (columns, components)."""
        return self.marginals.components()

    def loadings(self) -> list[dict[str, Any]]:
        """Return the loadings of the columns on the first five components, with bands."""
        count = min(_LOADINGS, len(self.columns))
        names = [(f"component {k + 1}", column) for k in range(count) for column in self.columns]
        rows = self.marginals.loadings(count).as_rows([column for _, column in names])
        return [{"component": k, "column": row.pop("name"), **row} for (k, _), row in zip(names, rows, strict=True)]

    def group_means(self, value: str, dummies: Sequence[str]) -> list[dict[str, Any]]:
        """Return the mean of a column in each group that a dummy marks, and in the remaining rows.

        Raises:
            InputError: columns that are no dummies.
        """
        wrong = [name for name in dummies if name not in self.labels]
        if wrong or value not in self.columns:
            raise InputError(ExploreMessage.NOT_A_GROUP, columns=wrong or [value])
        estimates, shares = self.marginals.groups(self.names.index(value), [self.names.index(name) for name in dummies])
        rows = estimates.as_rows([*dummies, "all others"])
        return [{**row, "share": float(share)} for row, share in zip(rows, shares, strict=True)]

    def synthetic(self, count: int, seed: int = 0) -> pd.DataFrame:
        """Draw rows for trying code, marked as synthetic; never for inference.

        Raises:
            InputError: as :func:`synthetic_rows`.
        """
        return synthetic_rows(self.marginals, self.record.derived, count, seed, labels=self.labels)


def _subsets(families: Collection[frozenset[str]]) -> int:
    """Count the sets, the empty one included, that are subsets of at least one of these.

    >>> _subsets([frozenset("ab"), frozenset("bc")])
    6
    """
    largest = [one for one in set(families) if not any(one < other for other in families)]
    if not largest:
        return 0
    last, *rest = largest
    return 2 ** len(last) + _subsets(rest) - _subsets([last & one for one in rest])


def _identity(fit: Regression) -> tuple[Any, ...]:
    """Return a key of a model that does not depend on the order of its features."""
    return fit.response, frozenset(fit.features), fit.constant, fit.lam


def synthetic_rows(
    marginals: Marginals, derived: Derived, count: int, seed: int = 0, *, labels: Sequence[str] = ()
) -> pd.DataFrame:
    """Return rows of the given columns: Gaussian with the released means and correlations, shaped like public columns.

    Where the record has public rows, each Gaussian value is replaced by the public quantile of its rank, shifted and
    scaled to the released mean and standard deviation; dummies stay 0 and 1. A column says that the rows are synthetic.

    Raises:
        InputError: a number of rows or a seed out of range.
    """
    whole_number_between("synthetic rows", count, 1, _MOST_SYNTHETIC_ROWS)
    rng = np.random.default_rng(whole_number_between("seed", seed, 0, 2**63 - 1))
    mean, cov, _ = marginals.centred()
    sd = np.sqrt(np.maximum(np.diag(cov)[1:], 0.0))
    r, _ = marginals.units()
    normal = rng.standard_normal((count, len(r))) @ eigenvector_root(r).T
    many = len(derived.base) - 1
    columns = {}
    for j, name in enumerate(derived.base[1 : many + 1]):
        m, s = float(mean[j + 1]), float(sd[j])
        if name in labels:  # 0 and 1, in the released share
            rank = np.argsort(np.argsort(normal[:, j]))
            columns[name] = (rank >= (1 - min(max(m, 0.0), 1.0)) * count).astype(float)
        else:
            columns[name] = _shaped(marginals, normal[:, j], j + 1, m, sd=s)
    frame = pd.DataFrame(columns)
    frame[MARK] = True
    return frame


def _shaped(marginals: Marginals, normal: np.ndarray, j: int, mean: float, *, sd: float) -> np.ndarray:
    """Return one column (k,)."""
    influence = marginals.state.influence
    if not isinstance(influence, RowInfluence):
        return np.asarray(mean + sd * normal)
    public = np.sort(influence.inside @ marginals.state.root[j])
    rank = np.argsort(np.argsort(normal))
    shaped = np.quantile(public, (rank + 0.5) / len(rank))
    spread = float(np.std(public))
    return np.asarray(mean + (shaped - np.mean(public)) * (sd / spread if spread > 0 else 0.0))


def with_public_rows(moment: Moment, public: PublicData, budget: Budget, parameters: Mapping[str, Any]) -> Moment:
    """Return the same moment, with the models examined so far, and with public rows in its record.

    Args:
        moment: released from these public data.
        public: the public data of the release.
        budget: of the release.
        parameters: of the release, by name.

    Raises:
        InputError: the public data or the parameters are others than those of the release, or there are no rows.
    """
    entry = method(_METHOD)
    plan = entry.plan(public, moment.record.n, budget, make_parameters(entry, {**parameters, "public_rows": "yes"}))
    if not isinstance(plan, MomentPlan) or plan.rows is None:
        raise InputError(ExploreMessage.NO_PUBLIC_ROWS)
    if plan.derived != moment.record.derived or not np.array_equal(plan.root, moment.record.root):
        raise InputError(ExploreMessage.OTHER_TABLES)
    completed = copy.copy(moment)
    shared = plan.published_influence()
    # The degrees of freedom of a regression follow from all public rows, not from a part of them.
    freedom = None if shared.m == plan.public.m else moment.record.freedom
    completed.record = replace(moment.record, influence=shared, freedom=freedom)
    vars(completed).pop("state", None)  # cached, with the bands of the record before
    return completed
