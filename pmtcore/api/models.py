"""`PrivateRegressor` and `PrivateClassifier`: plan for free, fit once for a stated price, predict for free."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import pandas as pd

from pmtcore.accounting.budgets import Budget, Guarantee, Unit
from pmtcore.api import frames
from pmtcore.api.inputs import Inputs, as_names, budget_of, budgets_of, check_not_empty, new_rows, schema_of, write_text
from pmtcore.api.loading import results_of
from pmtcore.api.spending import SpendOptions, spend
from pmtcore.api.summary import Expectation, RequiredBudget
from pmtcore.base.arguments import check_arguments, checked
from pmtcore.base.escaping import html as escape
from pmtcore.base.exports import json_text
from pmtcore.base.messages import FaceMessage, InputError, TableMessage, one_of, whole_number_between
from pmtcore.base.results import Reported, Results
from pmtcore.glm.families import GAUSSIAN, POISSON, family
from pmtcore.ledger.log import Ledger
from pmtcore.methods.parameters import Parameters
from pmtcore.methods.registry import make_parameters, recommended_method
from pmtcore.methods.registry import method as method_of
from pmtcore.methods.registry import methods as all_methods
from pmtcore.public.moments import INTERCEPT, PublicData
from pmtcore.releases import planning
from pmtcore.releases.outcome import before_spend
from pmtcore.releases.release import Request
from pmtcore.tables.choices import Choices
from pmtcore.tables.design import Design

if TYPE_CHECKING:
    from sklearn.utils import Tags

_NUMERIC = (GAUSSIAN.id, POISSON.id)
_LABELS = ("logistic", "boosting")


class Parametrized:
    """Base of objects whose constructor only stores its arguments, as scikit-learn requires; it needs no scikit-learn.

    scikit-learn's ``clone``, ``Pipeline`` and searches accept such objects. A clone has the parameters only: no ledger,
    no key, no release.
    """

    @classmethod
    def _parameter_names(cls) -> list[str]:
        return sorted(name for name in inspect.signature(cls.__init__).parameters if name != "self")

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the constructor's arguments by name."""
        return {name: getattr(self, name) for name in self._parameter_names()}

    def set_params(self, **params: object) -> Self:
        """Change arguments; an earlier fit stays until the next one.

        Raises:
            InputError: there is no such argument.
        """
        known = self._parameter_names()
        unknown = sorted(set(params) - set(known))
        if unknown:
            raise InputError(FaceMessage.NO_SUCH_PARAMETER, name=type(self).__name__, names=unknown, allowed=known)
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if repr(value) != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(given)})"


class NotFitted(InputError, AttributeError):
    """An attribute was read before the estimator was fitted."""


def not_fitted(name: str) -> Exception:
    """Return the error of an estimator without a fit: scikit-learn's own where it is loaded, as its tools expect."""
    error = NotFitted(FaceMessage.NOT_FITTED, name=name)
    if "sklearn" not in sys.modules:
        return error
    from sklearn.exceptions import NotFittedError  # noqa: PLC0415  # never a dependency

    return NotFittedError(str(error))


@dataclass(eq=False, repr=False)
class PrivateModel(Parametrized, Reported):
    """Base of the two estimators: budget, choices about the tables, plan, fit and what follows from a release.

    Args:
        mu, rho, epsilon, delta: the total budget, in one unit: ``mu``, or ``rho``, or ``epsilon`` with ``delta``. With
            ``mu`` or ``rho``, ``delta`` is the one at which epsilon is stated.
        method: an id of the registry; ``None``: the recommended one.
        settings: parameters of the method, by name.
        formula: such as ``"y ~ age + C(sex)"``, in place of ``target`` and ``features``.
        features: columns to use; ``None``: all that both tables have, without row numbers and identifiers.
        intercept: whether the model has one.
        family: what is fitted: ``gaussian`` or ``poisson``, for a classifier ``logistic`` or ``boosting``; ``None``:
            the first of these.
        missing, unseen: what becomes of a missing value and of a category that no public row has.
        levels: declared categories by column; for a column of kind ``coded`` the numbers that stand for a missing
            value, for one of kind ``capped`` the largest number, as which larger ones count.
        kinds: columns to be read as ``number``, ``coded`` (numbers; those declared as its levels stand for a missing
            value), ``capped`` (numbers, at most the one declared as its level), ``level``, ``caseless`` (levels that
            differ in capitals or blanks alone are one), ``with-unknown`` (levels, a missing cell has one of its
            own), ``date``, for dates with slashes ``day-first`` or ``month-first``, for numbers with a sign
            ``percent``, ``euro``, ``dollar``, ``pound`` or an example such as ``like 1.234,50 CHF``, whatever the
            public rows suggest.
        overlap: why public rows may be private rows too; the record keeps it (see :func:`describe`).
        public_ridge: ridge added to the public second moment, for columns that are collinear in the public rows.
        lam: ridge penalty of a family other than the linear one; ``None``: a weak prior, which the rows outweigh.
        positive: the label that counts as 1.
        covariates: ``public`` declares that all columns but the target are public for every private row; method
            ``response-moment`` then protects the responses alone.
        collinear: ``drop`` columns that are linear combinations of others in the public rows, or ``refuse`` them.
        person: the column that identifies the person of a row.
        rows_per_person: how many rows one person may have.
        person_rule: which rows of a person count: the ``first`` ones, or their ``mean``.
        cluster: a column of the public rows by which standard errors are clustered; ``None``: the column of
            ``person``, where a person has several rows and the public rows have that column.
        weights: the column of the weights of rows, in both tables.
        exposure: the column of exposures (the time or number that a count refers to), in both tables: rates are
            modelled.
        schema: a declared schema, in place of what the public rows suggest: plain fields, or a path.
    """

    mu: float | None = None
    _: KW_ONLY
    rho: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    method: str | None = None
    settings: Mapping[str, Any] | None = None
    formula: str | None = None
    features: str | Iterable[str] | None = None
    intercept: bool = True
    family: str | None = None
    missing: str = "empty-row"
    unseen: str = "other"
    levels: Mapping[str, Iterable[str | float]] | None = None
    public_ridge: float = 0.0
    lam: float | None = None
    positive: str | None = None
    kinds: Mapping[str, str] | None = None
    overlap: str = ""
    collinear: str = "drop"
    person: str | None = None
    rows_per_person: int = 1
    person_rule: str = "first"
    schema: Mapping[str, Any] | str | Path | None = None
    weights: str | None = None
    cluster: str | None = None
    exposure: str | None = None
    covariates: str = "private"

    _families: ClassVar[tuple[str, ...]] = _NUMERIC

    @classmethod
    def methods(cls) -> pd.DataFrame:
        """Return the methods for these families: what ``method`` accepts, and where each comes from."""
        fitting = [entry for entry in all_methods() if set(entry.families) & set(cls._families)]
        rows = [(entry.id, entry.standing.value, entry.title, entry.origin.source) for entry in fitting]
        return pd.DataFrame(rows, columns=["id", "standing", "title", "source"]).set_index("id")

    @checked
    def plan(
        self,
        public: object,
        *,
        n: int,
        target: str | None = None,
        mu: float | Sequence[float] = (),
        public_rows: int | None = None,
    ) -> Expectation:
        """Predict what this budget buys, from public rows and the number of private ones. Free.

        Args:
            public: a frame or a path; or a second moment matrix (:func:`pmtcore.api.frames.moment`).
            n: number of private rows.
            target: the response; or a formula of the model.
            mu: other total budgets to look at beside the model's own.
            public_rows: rows behind a moment matrix, if known.

        Raises:
            InputError: bad input, or a method without a prediction for these public data.
        """
        given, n = self._inputs(target), whole_number_between("private rows", n, 2, planning.MOST_ROWS)
        budgets = budgets_of(mu) or [self._budget().mu]
        data, notes = given.public_data(public, public_rows)
        id, parameters = self._method_for(data)
        expectations = planning.plan(data, n, budgets, [id], parameters={id: parameters})
        verdicts = tuple(planning.verdict(data, n, m, id, parameters=parameters) for m in budgets)
        return Expectation(tuple(row for planned in expectations for row in planned.rows()), verdicts, n, notes)

    def _method_for(self, data: PublicData) -> tuple[str, Parameters]:
        """Return the id of the method chosen, or of the recommended one for these public data, and its parameters.

        Raises:
            InputError: ``settings`` that the method does not have, or out of range.
        """
        entry = recommended_method(data) if self.method is None else method_of(self.method)
        return entry.id, make_parameters(entry, self.settings or {})

    @checked
    def needed(
        self,
        public: object,
        *,
        n: int,
        coefficient: str,
        half_width: float,
        target: str | None = None,
        public_rows: int | None = None,
    ) -> RequiredBudget:
        """Return the budget, or the rows, that a 95 % half-width of one coefficient needs. Free.

        Raises:
            InputError: as :meth:`plan`, or no such coefficient.
        """
        n = whole_number_between("private rows", n, 2, planning.MOST_ROWS)
        data, _ = self._inputs(target).public_data(public, public_rows)
        id, parameters = self._method_for(data)
        mu = self._budget().mu
        budget = planning.budget_for(data, n, id, coefficient, half_width=half_width, parameters=parameters)
        rows = planning.rows_for(data, id, mu, coefficient, half_width=half_width, parameters=parameters)
        return RequiredBudget(budget, rows)

    @checked
    def fit(
        self,
        private: object,
        public: object = None,
        *,
        target: str | None = None,
        ledger: Ledger | str | Path | None = None,
        dataset: str | None = None,
        key: str | None = None,
        purpose: str | None = "",
        public_rows: int | None = None,
        lab: bool = False,
        seed: int | None = None,
        quiet: bool = False,
    ) -> Self:
        """Spend the budget, once, and fit; prints a sentence on the spend.

        The spend is written to the ledger before a private row is read. The same fit on the same tables in this process
        returns the earlier release and spends nothing; another ``key`` makes a new release.

        Args:
            private: a frame (pandas, Polars, Arrow) or a path, one row per person.
            public: the same with public rows, or a second moment matrix; always needed, ``None`` is refused.
            target: the response; or a formula of the model.
            ledger: where the spend is kept: a file, a database's address, a :class:`Ledger`; ``None``: your own.
            dataset: data set against whose cap in the ledger the spend counts; ``None``: the file's name, or for a
                frame a name from its fingerprint, so that each frame has its own account.
            key: name of this release; the same key again spends nothing.
            purpose: what the release is for, kept in the ledger.
            public_rows: rows behind a moment matrix, if known.
            lab: release without a ledger; the result is a lab figure, which may not leave, as it is with a ``seed``.
            seed: of the noise, for the lab.
            quiet: say nothing; ``spent_`` holds the sentence.

        Raises:
            InputError: what is wrong and what to do; LedgerError where the ledger refuses, and then nothing was
                released.
        """
        if not frames.is_table(public):
            raise InputError(FaceMessage.FIT_FORM)
        given = self._inputs(target)
        with before_spend():
            problem, design, tables = given.prepared(private, public, public_rows)
        id = recommended_method(problem.public).id if self.method is None else method_of(self.method).id
        if not method_of(id).gives_coefficients:
            raise InputError(FaceMessage.NOTHING_TO_FIT, method=id)
        rows = 1 if self.person else self.rows_per_person
        request = Request(id, self._budget(), dict(self.settings or {}), self.delta, rows)
        named = {"dataset": dataset, "key": key, "purpose": purpose}
        check_not_empty(named)
        options = SpendOptions(dataset, ledger, key, purpose or "", lab, seed, frames.file_name(private))
        self.release_, self.record_, self.spent_ = spend(problem, request, options, tables)
        # A repeated key returns the stored release, whose design may differ from this one.
        stored_design = self.record_.get("design") if self.spent_.repeated else None
        self._design = Design.from_dict(stored_design) if stored_design else design
        self._read()
        if not quiet:
            sys.stdout.write(self.spent_.sentence + "\n")
        return self

    @property
    def results_(self) -> Results:
        """Return estimates, standard errors, tests and predictions of the release, named as in statsmodels."""
        self._fitted()
        return results_of(self.record_, self.spent_.sentence, self._design)

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the record of the release, as ``release --json`` prints it; also write it to a file."""
        self._fitted()
        text = json_text(self.record_)
        if path is not None:
            write_text(path, text + "\n")
        return text

    def report(self, path: str | Path) -> None:
        """Write one self-contained HTML file for stakeholders."""
        from pmtcore.report.html import report  # noqa: PLC0415

        self._fitted()
        write_text(path, report(self.record_))

    @property
    def guarantee_(self) -> Guarantee:
        """Return the guarantee of the release, in all units; ``guarantee_.words`` is a sentence."""
        self._fitted()
        return self.release_.guarantee

    def _linear(self, frame: object) -> np.ndarray:
        """Return ``x' beta`` of each row (k,), NaN where a value is missing."""
        self._fitted()
        return np.asarray(new_rows(frame, self._design) @ self.release_.coefficients)

    def _read(self) -> None:
        """Set the attributes that scikit-learn's users expect, from the release."""
        by_name = dict(zip(self.release_.names, self.release_.coefficients.tolist(), strict=True))
        if not by_name:
            raise InputError(FaceMessage.NO_COEFFICIENTS, method=self.release_.method)
        self.intercept_: Any = by_name.pop(INTERCEPT, 0.0)
        self.coef_ = np.asarray(list(by_name.values()))
        self.coef_names_ = np.asarray(list(by_name), dtype=object)
        self.feature_names_in_ = np.asarray(self._design.inputs, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def _fitted(self) -> None:
        if not hasattr(self, "release_"):
            raise not_fitted(type(self).__name__)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "release_")

    def _budget(self) -> Budget:
        return budget_of(self.mu, self.rho, self.epsilon, self.delta)

    def _inputs(self, target: str | None) -> Inputs:
        check_arguments(type(self).__init__, self.get_params())
        check_not_empty({**self.get_params(), "target": target})
        if self.formula is None and target is None:
            raise InputError(FaceMessage.NO_TARGET)
        if self.formula is not None and (target is not None or self.features is not None):
            raise InputError(TableMessage.FORMULA_AND_FEATURES)
        choices = Choices.of(
            self,
            target,
            self.formula,
            features=None if self.features is None else as_names(self.features),
            intercept=bool(self.intercept),
            family=one_of("family", family(self.family or self._families[0]).id, self._families),
            levels={name: tuple(map(str, names)) for name, names in dict(self.levels or {}).items()},
            kinds=dict(self.kinds or {}),
        )
        unit = Unit(self.rows_per_person, self.person or "", self.person_rule)
        if unit.column:
            choices = choices.of_named_person(unit)
        return Inputs(choices, schema_of(self.schema))

    def _repr_html_(self) -> str:
        return self.results_._repr_html_() if hasattr(self, "release_") else f"<code>{escape(repr(self))}</code>"


class PrivateRegressor(PrivateModel):
    """A private regression of a number: ``family`` gaussian (linear) or poisson.

    Attributes:
        coef_: (d,), without the intercept, which is ``intercept_``; names in ``coef_names_``.
        feature_names_in_: columns of the table that were used.
        release_, record_, spent_, guarantee_: the release, its plain record, its spend and its guarantee.

    >>> PrivateRegressor(mu=1.0)
    PrivateRegressor(mu=1.0)
    """

    def predict(self, frame: object) -> np.ndarray:
        """Predict the response of each row (k,); free. NaN where a value is missing."""
        scores = self._linear(frame)
        return np.asarray(family(self.release_.public.family).mean(scores))

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, RegressorTags, Tags, TargetTags  # noqa: PLC0415  # only sklearn asks

        return Tags(
            "regressor",
            TargetTags(required=False),
            regressor_tags=RegressorTags(),
            input_tags=InputTags(string=True, allow_nan=True),
            non_deterministic=True,
        )


class PrivateClassifier(PrivateModel):
    """A private regression of labels: ``family`` logistic or boosting.

    Attributes:
        classes_: the two labels, the one that counts as 1 last.
        coef_: (1, d), with ``intercept_`` (1,), as scikit-learn has them.
        feature_names_in_, release_, record_, spent_, guarantee_: as in :class:`PrivateRegressor`.

    >>> PrivateClassifier(mu=1.0, positive=">50K")
    PrivateClassifier(mu=1.0, positive='>50K')
    """

    _families = _LABELS

    def decision_function(self, frame: object) -> np.ndarray:
        """Return ``x' beta`` of each row (k,); positive where the label that counts as 1 is likelier."""
        return self._linear(frame)

    def predict_proba(self, frame: object) -> np.ndarray:
        """Return the probability of each label (k, 2), in the order of ``classes_``; NaN where a value is missing."""
        scores = self._linear(frame)
        p = np.asarray(family(self.release_.public.family).mean(scores))
        return np.column_stack([1 - p, p])

    def predict(self, frame: object) -> np.ndarray:
        """Return the likelier label of each row (k,); the one that counts as 0 where a value is missing."""
        scores = self._linear(frame)
        return np.asarray(self.classes_[(np.nan_to_num(scores) > 0).astype(int)])

    def _read(self) -> None:
        super()._read()
        self.coef_, self.intercept_ = self.coef_[None], np.asarray([self.intercept_])
        self.classes_ = self._design.classes()

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags  # noqa: PLC0415  # only sklearn asks

        return Tags(
            "classifier",
            TargetTags(required=False),
            classifier_tags=ClassifierTags(multi_class=False),
            input_tags=InputTags(string=True, allow_nan=True),
            non_deterministic=True,
        )
