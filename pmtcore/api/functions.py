"""Functions beside the estimators: release, plan, describe, compare, audit; the application calls the same code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from pmtcore.api.inputs import Inputs, as_names, budget_of, budgets_of
from pmtcore.api.models import PrivateClassifier, PrivateModel, PrivateRegressor
from pmtcore.api.summary import Expectation
from pmtcore.base.arguments import checked
from pmtcore.base.escaping import html as escape
from pmtcore.base.labels import Label
from pmtcore.base.messages import CuratorNote, FaceMessage, InputError, Phrase, whole_number_between
from pmtcore.base.private_rows import Curator
from pmtcore.base.results import Results
from pmtcore.glm.families import family as family_of

if TYPE_CHECKING:
    from pmtcore.auditing.lower_bound import Audit, Fit, PeerAudit

_CURATOR = Curator("a notebook or script, run by whoever holds the private table")
_SPEND_ARGUMENTS = ("ledger", "dataset", "key", "purpose", "public_rows", "lab", "seed", "quiet")
_SELECTION_SHARE = 0.2  # share of an audit's runs that choose the pair of tables


@checked
def release(private: object, public: object, *, family: str = "gaussian", **settings: Any) -> Results:  # noqa: ANN401
    """Make one release of any sound method in one call; it spends budget.

    Args:
        private: rows to protect, one per person: a frame or a path.
        public: public rows, or a second moment matrix.
        family: gaussian, logistic, boosting or poisson.
        settings: arguments of the estimator and of its ``fit``: ``target``, ``mu``, ``method``, ``ledger``, ...

    Raises:
        InputError: as ``fit``.
    """
    spending = {name: settings.pop(name) for name in (*_SPEND_ARGUMENTS, "target") if name in settings}
    return model(family, **settings).fit(private, public, **{"quiet": True, **spending}).results_


@checked
def plan(
    public: object,
    *,
    n: int,
    target: str | None = None,
    mu: float | Sequence[float] = (),
    family: str = "gaussian",
    **settings: Any,  # noqa: ANN401
) -> Expectation:
    """Predict what budgets buy, from public rows and n alone; free.

    Args:
        public: public rows, or a second moment matrix.
        n: number of private rows.
        target: the response; or a formula among the settings.
        mu: one total budget or several.
        family: gaussian, logistic, boosting or poisson.
        settings: arguments of the estimator.
    """
    budgets = budgets_of(mu)
    chosen = {**settings, "mu": budgets[0]} if budgets else settings
    return model(family, **chosen).plan(public, n=n, target=target, mu=budgets)


def model(family: str, **settings: Any) -> PrivateModel:  # noqa: ANN401
    """Return the estimator of a family.

    Raises:
        InputError: no such family, or no such argument.
    """
    kind = PrivateClassifier if family_of(family).binary else PrivateRegressor
    unknown = sorted(set(settings) - set(kind._parameter_names()))
    if unknown:
        raise InputError(FaceMessage.NO_SUCH_ARGUMENT, names=unknown, allowed=tuple(kind._parameter_names()))
    return kind(family=family, **settings)


@dataclass(frozen=True)
class Figures:
    """Figures for the curator's own eyes: private, in no export.

    Attributes:
        frame: the figures.
        words: sentences that describe them.
    """

    frame: pd.DataFrame
    words: str

    def __repr__(self) -> str:
        return f"[{Label.PRIVATE.value}] {self.words}\n{self.frame.to_string()}"

    def _repr_html_(self) -> str:
        shown = self.frame.to_html(float_format="{:.4g}".format, escape=True)
        return f"<p><b>{Label.PRIVATE.value}</b>: {escape(self.words)}</p>{shown}"


@checked
def describe(private: object, public: object, *, target: str, eta: float = 0.05, **choices: object) -> Figures:
    """Return the exact conditioning of the private rows before and after whitening, for the curator alone.

    It also reports rows that could not be read, and more rows common to both tables than chance explains.

    Args:
        private: rows to describe: a frame or a path.
        public: public rows, or a second moment matrix.
        target: the response.
        eta: failure probability behind the papers' radius.
        choices: ``features``, ``intercept``, ``missing``, ... as in the estimators.
    """
    from pmtcore.auditing.diagnostics import exact_diagnosis, rows_in_words, unusual_rows  # noqa: PLC0415
    from pmtcore.mechanisms.truncation import checked_eta  # noqa: PLC0415

    problem, _, _ = _inputs(target, choices).prepared(private, public)
    diagnosed = exact_diagnosis(problem, checked_eta(eta)).reveal(_CURATOR)
    record = diagnosed.as_dict()
    frame = pd.DataFrame({name: record[name] for name in ("before", "after")}).T
    words = CuratorNote.BEYOND_RADIUS.sentence(share=100 * record["truncation_rate"], radius=diagnosed.radius)
    unusual = unusual_rows(problem).reveal(_CURATOR)
    return Figures(frame, " ".join([words, *rows_in_words(unusual, problem.private.n)]))


@checked
def compare(
    private: object,
    public: object,
    *,
    target: str | None = None,
    methods: str | Sequence[str],
    mu: float | Sequence[float],
    trials: int = 100,
    seed: int = 0,
    scale: Literal["none", "z", "minmax", "max"] = "none",
    axis: str = "budget",
    values: Sequence[float] = (),
    typical: bool = False,
    **choices: object,
) -> Figures:
    """Compare methods in the lab: distance to the non-private fit over repeated trials with seeded noise.

    Args:
        private: rows to fit: a frame or a path.
        public: public rows, or a second moment matrix.
        target: the response; or a formula among the choices.
        methods: ids of the registry, or one.
        mu: total budget, or several to compare at.
        trials: releases of each method at each position.
        seed: of the noise.
        scale: rescales the whole table first, as the papers do (E23).
        axis: another axis than the budget: private rows, public rows, penalty or steps.
        values: positions on that axis.
        typical: measure the typical coefficient in standard errors of the public fit, as the application does, in
            place of the Euclidean distance of all coefficients.
        choices: ``features``, ``intercept``, ``missing``, ... as in the estimators.
    """
    from pmtcore.auditing.comparison import Comparison, rescaled_problem  # noqa: PLC0415

    made = rescaled_problem(_inputs(target, choices).prepared(private, public)[0], scale)
    mus, ids = budgets_of(mu), as_names(methods)
    places: dict[str, Any] = {"axis": axis, "values": list(values)}
    run = Comparison(made, list(ids), mus, trials=trials, seed=seed, typical=typical, **places).run()
    frame = pd.DataFrame([vars(summary) for summary in run.summaries().reveal(_CURATOR)])
    norm = run.reference_norm().reveal(_CURATOR)
    kind = Phrase.TYPICAL_DISTANCE if run.is_typical else Phrase.DISTANCE
    index = ["method", "mu"] if axis == "budget" else ["method", "mu", "x"]
    shown = frame[[*index, "error_median", "error_mean", "error_sd", "trials"]].set_index(index)
    return Figures(shown, kind.sentence(value=norm))


def _inputs(target: str | None, choices: Mapping[str, Any]) -> Inputs:
    chosen = dict(choices)
    made = model(chosen.pop("family", "gaussian"), **chosen)
    return made._inputs(target)


@checked
def audit(
    estimator: object,
    *,
    mu: float | None = None,
    epsilon: float | None = None,
    delta: float = 0.0,
    tables: tuple[Any, Any] | None = None,
    bound: float = 1.0,
    response: tuple[float, float] = (0.0, 1.0),
    rows: int = 20,
    features: int = 1,
    trials: int = 2000,
    seed: int = 1,
) -> Audit | PeerAudit:
    """Attack an estimator, and compare the lower bound on its privacy loss with its claim.

    Args:
        estimator: the id of a method of the registry, with its claim ``mu``; or somebody else's, with its claim
            ``epsilon`` (and ``delta``): an object with ``fit(X, y)`` and ``coef_``, or a function of rows, responses
            and a run number that returns what is published.
        mu: claim of a registered method.
        epsilon: claim of another estimator.
        delta: that goes with ``epsilon``.
        tables: two tables ``(X, y)`` that differ in one row; ``None``: several pairs built to be told apart, within
            ``bound`` (largest absolute feature) and ``response`` (its range).
        bound: largest absolute value of a feature in the tables that are built.
        response: range of the response in them.
        rows: rows of such a table.
        features: columns of such a table.
        trials: runs in all.
        seed: of the noise.

    Returns:
        A record with ``violated``, ``lower_bound`` and a sentence.

    Raises:
        InputError: an unknown method, no claim, tables that are no neighbours.
    """
    if isinstance(estimator, str):
        from pmtcore.auditing.lower_bound import audit as of_method  # noqa: PLC0415

        return of_method(estimator, budget_of(mu, None, epsilon, delta or None).mu, trials, seed)
    from pmtcore.auditing.lower_bound import audit_estimator, neighbouring_pairs  # noqa: PLC0415

    if epsilon is None:
        raise InputError(FaceMessage.CLAIM_MISSING)
    whole_number_between("trials", trials, 1000, 10**7)
    fit = _fit_function(estimator)
    pairs = [tables] if tables is not None else neighbouring_pairs(rows, features, bound, response)
    if len(pairs) > 1:
        per_pair = max(int(trials * _SELECTION_SHARE / len(pairs)), 100)
        audits = [audit_estimator(fit, pair, epsilon, delta, trials=per_pair) for pair in pairs]
        pairs = [pairs[int(np.argmax([abs(audit.detections - audit.false_alarms) for audit in audits]))]]
    return audit_estimator(_shifted(fit, trials), pairs[0], epsilon, delta, trials=trials)


def _fit_function(estimator: object) -> Fit:
    """Return the function that publishes a fit, by run number."""
    if not hasattr(estimator, "fit"):
        if not callable(estimator):
            raise InputError(FaceMessage.NOT_AN_ESTIMATOR)
        return lambda x, y, run: np.asarray(estimator(x, y, run))
    kind: Callable[..., Any] = type(estimator)
    parameters = estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}

    def fit(x: np.ndarray, y: np.ndarray, run: int) -> np.ndarray:
        fresh = {**parameters, "random_state": run % 2**31} if "random_state" in parameters else parameters
        made = kind(**fresh).fit(x, y)
        return np.append(np.ravel(made.coef_), np.ravel(getattr(made, "intercept_", 0.0)))

    return fit


def _shifted(fit: Fit, offset: int) -> Fit:
    """Return the fit with run numbers that the choice of a pair did not use."""
    return lambda x, y, run: fit(x, y, run + 4 * offset + 10**8)
