"""Planning before spending: predicted errors of methods at budgets, from public figures and n alone; free."""

import math
from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypedDict

import numpy as np

from pmtcore.accounting.budgets import MU_RANGE, Budget
from pmtcore.base.computed_once import computed_once
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import (
    InputError,
    Note,
    Phrase,
    PlanVerdict,
    ReleaseMessage,
    number_between,
    whole_number_between,
)
from pmtcore.base.numbers import rounded
from pmtcore.base.steps import Steps
from pmtcore.methods.parameters import Parameters
from pmtcore.methods.registry import Method, Plan, Prediction, method, methods_for, of_role, recommended_method
from pmtcore.public.bands import Z95
from pmtcore.public.moments import PublicData

_BUDGETS_TRIED = 60  # budgets on the search grid of five decades, twelve a decade
NO_GAIN = 0.9  # ratio of standard errors above which no gain is stated: predictions are accurate to about 10 %
_FAR_APART = 10  # ratio of the ends of an interval of precisions, beyond which its median is not stated
_WORTHLESS_RATIO = 100.0  # standard error over that of the public fit, beyond which the ratio is not stated
_SEARCH_STRIDE = 10  # grid points that the search for a sufficient value skips at a time
_RELATIVE_TOLERANCE = 1e-3  # of the bisection for a sufficient budget or number of rows
MOST_ROWS = 10**12  # private rows: beyond it a number is a typing error
_MOST_BUDGETS = 60  # budgets of one call: as many as a curve has
# Budgets mu of a curve, two to four per doubling, from one too small to be useful to one too large to protect.
LADDER = (0.05, 0.07, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 7.0, 10.0)
# Budget at which a method is tried first, to learn whether it predicts at all.
_FIRST_MU = 1.0
# Budgets computed first, so that every method soon has a line across the chart. The largest budgets come last: at these
# some methods plan more passes, which take longer to simulate.
_OUTLINE = (0.1, 2.0)


class PlanRow(TypedDict):
    """Errors predicted for one coefficient, in the keys of ``plan --json``.

    Attributes:
        half_width: of the 95 % band that a release is expected to state.
        half_width_median: median half-width according to the distances between releases and the non-private fit on
            the calibration tables; ``None`` where the method was not calibrated.
        half_width_low, half_width_high: ends of an 80 % interval of the half-width, likewise.
    """

    method: str
    mu: float
    coefficient: str
    privacy_sd: float
    sampling_sd: float
    truncation_sd: float
    half_width: float
    half_width_median: float | None
    half_width_low: float | None
    half_width_high: float | None


@dataclass(frozen=True)
class Planned:
    """Predicted standard errors of one method at one budget."""

    method: str
    mu: float
    names: tuple[str, ...]
    prediction: Prediction
    truncation_rate: float | None

    @property
    def knows_truncation(self) -> bool:
        """Return True where the prediction, and with it the half-width, includes a truncation error."""
        return np.ndim(self.prediction.truncation) > 0

    @property
    def is_complete(self) -> bool:
        """Return True where no part of the error is missing: truncation is predicted, or no row is truncated."""
        return method(self.method).role == "public" or self.prediction.is_complete(self.truncation_rate)

    def half_width(self, j: int) -> float:
        """Return the 95 % half-width of the j-th coefficient."""
        return Z95 * float(self.prediction.total[j])

    def half_width_interval(self, j: int) -> tuple[float, float] | None:
        """Return the ends of an 80 % interval of the j-th half-width, where the method's outcomes were calibrated.

        It covers what is unknown before a release: the tails of the rows, truncation, and how well the public moment
        whitens. The sampling part is as predicted.
        """
        ends = self.prediction.total_interval
        return None if ends is None else (Z95 * float(ends[0][j]), Z95 * float(ends[1][j]))

    def default_half_width(self, j: int, largest: float) -> float:
        """Return the default target for the j-th coefficient's 95 % half-width, which a larger budget can attain.

        It is midway between the current half-width and that expected at mu = ``largest``, with a privacy sd
        proportional to ``1/mu``.
        """
        truncation = self._truncation(j)
        privacy = float(self.prediction.privacy[j]) * min(self.mu / largest, 1.0)
        least = Z95 * math.hypot(privacy, float(self.prediction.sampling[j]), truncation)
        return (self.half_width(j) + min(least, self.half_width(j))) / 2

    def _truncation(self, j: int) -> float:
        """Return the standard error of the j-th coefficient from truncation."""
        return float(np.broadcast_to(self.prediction.truncation, len(self.names))[j])

    def rows(self) -> list[PlanRow]:
        """Return a record for each coefficient."""
        return [self.row(j) for j in range(len(self.names))]

    def row(self, j: int) -> PlanRow:
        """Return the record of the j-th coefficient."""
        low, high = self.half_width_interval(j) or (None, None)
        return {
            "method": self.method,
            "mu": self.mu,
            "coefficient": self.names[j],
            "privacy_sd": float(self.prediction.privacy[j]),
            "sampling_sd": float(self.prediction.sampling[j]),
            "truncation_sd": self._truncation(j),
            "half_width": self.half_width(j),
            "half_width_median": None if low is None else Z95 * float(self.prediction.median_total[j]),
            "half_width_low": low,
            "half_width_high": high,
        }


def interval_text(row: PlanRow) -> str:
    """Return the 80 % interval of a record's half-width as text; a dash where none was calibrated.

    >>> interval_text({"half_width_low": 0.12, "half_width_high": 0.5})  # a row of a plan has more
    '0.12 to 0.5'
    """
    low, high = row["half_width_low"], row["half_width_high"]
    return "-" if low is None or high is None else f"{low:.3g} to {high:.3g}"


def may_be_planned(entry: Method) -> bool:
    """Return whether plans of a method may predict the errors of coefficients that may leave."""
    sound = entry.standing is ReleaseStatus.SOUND
    return sound and entry.gives_coefficients and entry.same_target and entry.predicts


def methods_with_predictions(public: PublicData, among: Collection[str] | None = None) -> list[str]:
    """Return the ids of sound methods that predict their errors from these public data.

    Args:
        public: the public side.
        among: ids that are asked about; ``None``: all.
    """
    suitable = []
    for entry in methods_for(public):
        if not may_be_planned(entry) or (among is not None and entry.id not in among):
            continue
        try:
            if _plan(public, 1000, entry.id, 1.0).predicted() is not None:
                suitable.append(entry.id)
        except InputError:
            continue  # needs rows that a moment matrix does not have
    return suitable


def plan(
    public: PublicData,
    n: int,
    mus: Sequence[float],
    ids: Sequence[str] | None = None,
    *,
    parameters: Mapping[str, Parameters] | None = None,
) -> list[Planned]:
    """Predict the errors of methods at total budgets, n private rows; reads no private row.

    Args:
        public: public data.
        n: number of private rows.
        mus: total budgets.
        ids: methods; all that predict if ``None``.
        parameters: of methods by id; the others have their default ones.

    Raises:
        InputError: a bad budget, or a method without a prediction.
    """
    whole_number_between("private rows", n, 2, MOST_ROWS)
    mus = list(dict.fromkeys(mus))
    if len(mus) > _MOST_BUDGETS:
        raise InputError(ReleaseMessage.TOO_MANY_BUDGETS, count=len(mus), limit=_MOST_BUDGETS)
    chosen = methods_with_predictions(public) if ids is None else ids
    return [predict_method(public, n, id, mu, parameters=(parameters or {}).get(id)) for id in chosen for mu in mus]


def ranked_methods(plans: Sequence[Planned], first: str) -> list[str]:
    """Return the methods of a plan: the first one, then by the median predicted half-width at the largest budget.

    Methods that protect the responses alone come last: they are no rivals of those that protect rows.
    """
    widths = {plan.method: float(np.median(plan.prediction.total)) for plan in sorted(plans, key=lambda p: p.mu)}
    others = sorted((method(id).protects_responses_only, width, id) for id, width in widths.items() if id != first)
    return [*([first] if first in widths else []), *(id for *_, id in others)]


@computed_once(most=1000)  # each entry is a few vectors (d,)
def predict_method(public: PublicData, n: int, id: str, mu: float, *, parameters: Parameters | None = None) -> Planned:
    """Predict the errors of one method at one budget, with these parameters or its default ones.

    Results are cached, since several pages, and all sessions with the same public data, use them.

    Raises:
        InputError: a bad budget, or a method without a prediction for these public data.
    """
    made = _plan(public, n, id, mu, parameters=parameters)
    prediction = made.predicted()
    if prediction is None:
        raise InputError(ReleaseMessage.NO_PREDICTION, method=id)
    prediction = with_common_sampling(prediction, public, n, id)
    return Planned(id, mu, public.names, prediction, made.facts().predicted_truncation_rate)


def with_common_sampling(prediction: Prediction, public: PublicData, n: int, id: str) -> Prediction:
    """Return a method's prediction with the sampling part that all methods share (:func:`sampling_alone`)."""
    sampling = None if method(id).role == "public" else sampling_alone(public, n)
    return prediction if sampling is None else replace(prediction, sampling=sampling)


def sampling_alone(public: PublicData, n: int) -> np.ndarray | None:
    """Return the standard errors (d,) of the non-private fit to n rows, predicted from those of the public fit.

    The public fit's standard errors shrink with the root of the number of rows. Each method estimates its own sampling
    part after a release. Before the release all methods share this one, so that their predictions differ only in what
    the methods determine.

    Returns:
        None where the public data have no target or their number of rows is not known.
    """
    alone = public_alone(public)
    return None if alone is None or public.m is None else np.asarray(alone.sampling * math.sqrt(public.m / n))


@computed_once(most=1)
def public_alone(public: PublicData) -> Prediction | None:
    """Return the errors of the public fit alone; None without a target or without the number of public rows."""
    return _plan(public, 2, of_role("public").id, 1.0).predicted() if public.labelled else None


def typical_ratio(errors: np.ndarray, others: np.ndarray) -> float:
    """Return standard errors (d,) over others (d,) for the typical coefficient: the median."""
    return float(np.median(errors / np.maximum(others, 1e-300)))


def narrowest_plan(planned_now: Sequence[Planned], plan: Planned) -> Planned | None:
    """Return the plan with the smallest median standard error relative to mine, if it is narrower by more than a tenth.

    Excluded are methods that protect less than mine, and methods whose prediction omits a part of the error.

    Args:
        planned_now: plans of other methods at the same budget.
        plan: the plan that they are compared with.
    """

    def ratio(other: Planned) -> float:
        return typical_ratio(other.prediction.total, plan.prediction.total)

    responses_only = method(plan.method).protects_responses_only
    others = [
        other
        for other in planned_now
        if other.method != plan.method
        and method(other.method).role != "public"
        and other.is_complete
        and (responses_only or not method(other.method).protects_responses_only)
    ]
    best = min(others, key=ratio, default=None)
    return best if best is not None and ratio(best) < NO_GAIN else None


def budget_for(
    public: PublicData,
    n: int,
    id: str,
    coefficient: str,
    *,
    half_width: float,
    parameters: Parameters | None = None,
) -> float | None:
    """Return the smallest total budget at which the predicted 95 % half-width is met; ``None`` where none is enough."""
    j = coefficient_index(public, coefficient)
    number_between("width", half_width, 1e-300, 1e300)
    mus = np.geomspace(1e-3, MU_RANGE[1] / 10, _BUDGETS_TRIED)
    return _first(mus, lambda mu: _half(public, n, id, mu, j=j, parameters=parameters) <= half_width)


def rows_for(
    public: PublicData,
    id: str,
    mu: float,
    coefficient: str,
    *,
    half_width: float,
    parameters: Parameters | None = None,
) -> int | None:
    """Return the smallest number of private rows at which the predicted 95 % half-width is met."""
    j = coefficient_index(public, coefficient)
    sizes = np.geomspace(public.d + 2, 1e9, 2 * _BUDGETS_TRIED)
    rows = _first(sizes, lambda n: _half(public, math.ceil(n), id, mu, j=j, parameters=parameters) <= half_width)
    return None if rows is None else math.ceil(rows)


def verdict(public: PublicData, n: int, mu: float, id: str, *, parameters: Parameters | None = None) -> str:
    """Say in one sentence whether private rows can help at this budget."""
    if method(id).role == "public":
        return Note(PlanVerdict.IS_PUBLIC_FIT)
    return verdict_of(public, predict_method(public, n, id, mu, parameters=parameters))


def verdict_of(public: PublicData, plan: Planned) -> str:
    """Return the verdict from a computed prediction; its figures are medians over coefficients, rounded."""
    if not public.labelled:
        return Note(PlanVerdict.NO_TARGET)
    alone = public_alone(public)
    if alone is None:
        return Note(PlanVerdict.UNKNOWN_SIZE)
    title = method(plan.method).title
    ratio, precision, outcomes = beside_public(plan.prediction, alone)
    if not ratio <= _WORTHLESS_RATIO:
        return Note(PlanVerdict.CANNOT_IMPROVE, mu=plan.mu, title=title)
    kind = PlanVerdict.MAY_NOT_IMPROVE if ratio > NO_GAIN else PlanVerdict.IMPROVES
    omission = "" if plan.is_complete else PlanVerdict.TRUNCATION_LEFT_OUT.sentence()
    sentences = (kind.sentence(mu=plan.mu, title=title, precision=precision), outcomes, omission)
    return " ".join(filter(None, sentences))


def beside_public(prediction: Prediction, alone: Prediction) -> tuple[float, str, str]:
    """Compare a release's standard error with that of the public fit; both are medians over the coefficients.

    The figure is the median over calibrated releases. Where the ends of its 80 % interval differ by more than a factor
    of 10, as with few public rows, the interval is stated without the median. Where the prediction itself has no gain,
    none is claimed: a release that learns nothing from the private rows equals the public fit.

    Args:
        prediction: of the method.
        alone: of the public fit.

    Returns:
        The ratio; how many times as precise the release is, in words; and sentences on how such releases came out on
        real tables, empty where a method's outcomes were not calibrated.
    """
    ratio, ends = typical_ratio(prediction.total, alone.total), prediction.total_interval
    if ends is not None and ratio <= NO_GAIN:
        ratio = typical_ratio(prediction.median_total, alone.total)
    else:
        ends = None
    times = rounded(1 / max(ratio, 1e-300), 2)
    if ends is None:
        return ratio, Phrase.TIMES_AS_PRECISE.sentence(value=times), ""
    best, worst = (1 / max(typical_ratio(end, alone.total), 1e-300) for end in ends)
    least, most = rounded(worst, 2), rounded(best, 2)
    if best > _FAR_APART * worst:
        return ratio, Phrase.RANGE_OF_PRECISION.sentence(low=least, high=most), PlanVerdict.EIGHT_OF_TEN.sentence()
    outcomes = PlanVerdict.HALF_OR_WORSE if worst < 1 else PlanVerdict.HALF_IN_RANGE
    return ratio, Phrase.TIMES_AS_PRECISE.sentence(value=times), outcomes.sentence(low=least)


def _half(public: PublicData, n: int, id: str, mu: float, *, j: int, parameters: Parameters | None) -> float:
    prediction = _plan(public, n, id, mu, parameters=parameters).predicted()
    if prediction is None:
        return math.inf
    return Z95 * float(with_common_sampling(prediction, public, n, id).total[j])


def _first(values: np.ndarray, enough: Callable[[float], bool]) -> float | None:
    """Return the smallest of increasing values that is enough, refined by bisection; None where none is enough.

    The largest value need not be enough where a smaller one is: with very many rows, the noise that covers the solver's
    distance to the optimum of ``pmt-objective`` grows with n. The search therefore first goes down from the largest.
    """
    last = next((k for k in range(len(values) - 1, -1, -_SEARCH_STRIDE) if enough(float(values[k]))), None)
    if last is None:
        return None
    first = bisect_left(values[:last].tolist(), True, key=enough)
    if first == 0:
        return float(values[0])
    a, b = float(values[first - 1]), float(values[first])
    while b > a * (1 + _RELATIVE_TOLERANCE):
        c = math.sqrt(a * b)
        a, b = (a, c) if enough(c) else (c, b)
    return b


def coefficient_index(public: PublicData, coefficient: str) -> int:
    """Return the position of a coefficient by its name.

    Raises:
        InputError: no coefficient has that name.
    """
    if coefficient not in public.names:
        raise InputError(ReleaseMessage.NO_COEFFICIENT, coefficient=coefficient, present=public.names)
    return public.names.index(coefficient)


def _plan(public: PublicData, n: int, id: str, mu: float, *, parameters: Parameters | None = None) -> Plan:
    entry = method(id)
    entry.check_suits(public)
    return entry.planned(public, n, mu) if parameters is None else entry.plan(public, n, Budget(mu), parameters)


class Curves(Steps):
    """Predicted errors of all sound methods that predict, computed in steps from public figures and n alone.

    After the steps were stopped, :meth:`at` still computes the prediction that it is asked for.

    Args:
        public: the public side.
        n: number of private rows.
        ladder: budgets.
    """

    def __init__(self, public: PublicData, n: int, ladder: Iterable[float] = LADDER) -> None:
        self.public, self.n = public, n
        self.ladder = tuple(sorted(ladder))
        best = recommended_method(public).id
        candidates = [entry for entry in methods_for(public) if may_be_planned(entry)]
        self._candidates = sorted(candidates, key=lambda entry: entry.id != best)
        self._predictions: dict[tuple[str, float], Planned] = {}
        self._refused: set[str] = set()
        self._work = [(e.id, _FIRST_MU) for e in self._candidates]
        outline = [mu for mu in _OUTLINE if mu in self.ladder]
        self._work += [(e.id, mu) for mu in outline for e in self._candidates]
        self._work += [(e.id, mu) for e in self._candidates for mu in self.ladder if mu not in (_FIRST_MU, *outline)]
        self._steps = len(self._work)

    @property
    def ids(self) -> list[str]:
        """Return the methods known to predict, the recommended one first."""
        return [entry.id for entry in self._candidates if (entry.id, _FIRST_MU) in self._predictions]

    @property
    def share(self) -> float:
        """Return the share of the work that is done."""
        return 1 - len(self._work) / self._steps if self._steps else 1.0

    def _advance(self) -> None:
        """Compute one method at one budget."""
        id, mu = self._work.pop(0)
        if id not in self._refused and (id, mu) not in self._predictions:
            self._try(id, mu)

    def all_tried(self) -> bool:
        """Return True where every method has been tried once, so that :attr:`ids` is complete."""
        return not any(mu == _FIRST_MU for _, mu in self._work)

    def all_outlined(self) -> bool:
        """Return True where every method that predicts has a line across the chart."""
        return self.all_tried() and not any(mu in _OUTLINE and id not in self._refused for id, mu in self._work)

    def first(self, id: str) -> None:
        """Try this method at once, where it is one of the candidates."""
        if any(entry.id == id for entry in self._candidates) and id not in self._refused:
            self._try(id, _FIRST_MU)

    def at(self, id: str, mu: float) -> Planned:
        """Return the prediction of one method at one budget, exact; it is stored.

        Raises:
            InputError: the method has no prediction for these public data.
        """
        if (id, mu) not in self._predictions:
            self._predictions[id, mu] = predict_method(self.public, self.n, id, mu)
        return self._predictions[id, mu]

    def at_budget(self, mu: float) -> list[Planned]:
        """Return the predictions of all methods at this budget that are computed already."""
        return [point for point in self.plans() if point.mu == mu]

    def plans(self) -> list[Planned]:
        """Return all predictions so far, by method and budget."""
        order = {entry.id: at for at, entry in enumerate(self._candidates)}
        keys = sorted(self._predictions, key=lambda key: (order.get(key[0], 99), key[1]))
        return [self._predictions[key] for key in keys if key[0] not in self._refused]

    def budget_for(self, id: str, coefficient: str, half_width: float) -> float | None:
        """Return the smallest total budget for a 95 % half-width, interpolated between budgets on log axes.

        ``None`` where the largest budget is not enough; the smallest budget where that is already enough.
        """
        j = coefficient_index(self.public, coefficient)
        curve = [(point.mu, point.half_width(j)) for point in self.plans() if point.method == id]
        for (below, wide), (mu, width) in zip([(0.0, math.inf), *curve], curve, strict=False):
            if width <= half_width:
                if not math.isfinite(wide) or wide <= width or below == 0:
                    return mu
                share = math.log(wide / half_width) / math.log(wide / width)
                return below * (mu / below) ** share
        return None

    def _try(self, id: str, mu: float) -> None:
        try:
            self.at(id, mu)
        except InputError:
            self._refused.add(id)
