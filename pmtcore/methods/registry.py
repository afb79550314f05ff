"""The registry of methods: their descriptions, and the interface that they implement.

App, command line, comparison, audit and documentation read this and nothing else. Adding a method is one
file in ``pmtcore/methods`` and one test.
"""

import dataclasses
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from functools import cache, cached_property, partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Generic, Literal, TypeVar, get_type_hints

import numpy as np

from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours, Spend
from pmtcore.base.bands import Bands
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.messages import InputError, MethodMessage, ReleaseMessage
from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.strict_json import Json
from pmtcore.base.symmetric import upper_triangle
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.mechanisms.quantized_rows import bytes_kept
from pmtcore.methods.facts import Facts
from pmtcore.methods.parameters import Parameters
from pmtcore.public.moments import PublicData

Role = Literal["method", "public", "reference"]
Statistic = TypeVar("Statistic")
Prepared = TypeVar("Prepared")
Mechanism = Callable[[NoiseSource, int], "Outcome"]
Planner = Callable[[PublicData, int, Budget, Any], "Plan"]
AnyPlanner = TypeVar("AnyPlanner", bound=Planner)


class Outcome(ABC):
    """Result of a method: released figures of all trials of one run, post-processed on demand."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """Return coefficients in the units of the table, (trials, d); a failed trial is a row of NaN."""

    def bands(self) -> Bands | None:
        """Return the error bands of the first trial; ``None`` with a note where there are none."""
        return None

    def released(self) -> Mapping[str, Json]:
        """Return further figures that the first trial releases at no cost."""
        return {}

    def released_under(self, guarantee: Guarantee | None) -> Mapping[str, Json]:
        """Return :meth:`released`, with this guarantee wherever a figure states its own; ``None``: that of one row."""
        return self.released()

    def transcript(self) -> np.ndarray:
        """Return all released figures of each trial (trials, k): the coefficients, or what they are computed from."""
        return self.coefficients

    @property
    def disagrees(self) -> bool:
        """Return whether the first trial shows that private rows are not like the public ones; a note says why."""
        return False

    def notes(self) -> tuple[str, ...]:
        """Return notes about the first trial, a sentence each."""
        return ()


class Coefficients(Outcome):
    """Outcome with coefficients (trials, d) in the units of the table that need no post-processing.

    Args:
        coefficients: of each trial (trials, d).
        notes: sentences about the first trial.
        bands: of the first trial; ``None``: the method has none.
        transcript: all released figures (trials, k); ``None``: the coefficients.
    """

    def __init__(
        self,
        coefficients: np.ndarray,
        *notes: str,
        bands: Bands | None = None,
        transcript: np.ndarray | None = None,
    ) -> None:
        self._coefficients, self._notes, self._bands = coefficients, notes, bands
        self._transcript = coefficients if transcript is None else transcript

    @property
    def coefficients(self) -> np.ndarray:
        """See :class:`Outcome`."""
        return self._coefficients

    def bands(self) -> Bands | None:
        """See :class:`Outcome`."""
        return self._bands

    def transcript(self) -> np.ndarray:
        """See :class:`Outcome`."""
        return self._transcript

    def notes(self) -> tuple[str, ...]:
        """See :class:`Outcome`."""
        return self._notes


PlanType = TypeVar("PlanType", bound="Plan")


class StatisticOutcome(Outcome, Generic[PlanType]):
    """Outcome computed from one released statistic, which is its whole transcript.

    Args:
        plan: plan that released it.
        statistic: released vectors (trials, k), or symmetric matrices (trials, k, k).
    """

    def __init__(self, plan: PlanType, statistic: np.ndarray) -> None:
        self.plan, self.statistic = plan, statistic

    def transcript(self) -> np.ndarray:
        """Return the statistic; of a symmetric matrix the upper triangle."""
        return upper_triangle(self.statistic) if self.statistic.ndim == 3 else self.statistic


@dataclass(frozen=True)
class Prediction:
    """Predicted standard errors of the coefficients, (d,) each.

    Attributes:
        privacy: from privacy noise.
        sampling: from the private rows being a sample.
        truncation: from rows that are truncated or clipped, estimated on public rows.
        clipping_in_privacy: whether ``privacy`` includes the clipping error, so that it is not stated separately.
        interval_factors: factors on :attr:`to_exact` that give the ends of an 80 % interval of a typical coefficient's
            distance to the non-private fit; ``None`` where they were not calibrated.
        median_factor: factor on :attr:`to_exact` that gives the median of this distance.
    """

    privacy: np.ndarray
    sampling: np.ndarray
    truncation: np.ndarray | float = 0.0
    clipping_in_privacy: bool = field(default=False, kw_only=True)
    interval_factors: tuple[float, float] | None = field(default=None, kw_only=True)
    median_factor: float = field(default=1.0, kw_only=True)

    def is_complete(self, truncation_rate: float | None) -> bool:
        """Return whether the prediction includes the truncation error, or there is none.

        Args:
            truncation_rate: expected share of truncated rows; ``None`` where it is not predicted.
        """
        return np.ndim(self.truncation) > 0 or self.clipping_in_privacy or truncation_rate == 0

    @property
    def to_exact(self) -> np.ndarray:
        """Return the expected distance (d,) to the non-private fit, of privacy and truncation errors together."""
        return np.hypot(self.privacy, self.truncation)

    @property
    def median_total(self) -> np.ndarray:
        """Return the median total error (d,), with :attr:`median_factor` on the distance to the non-private fit.

        The stated :attr:`privacy` of some methods is conservative, so that actual errors are smaller.
        """
        return self._scaled_total(self.median_factor)

    @property
    def total_interval(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Return :attr:`total` (d,) at both ends of an 80 % interval; the sampling part is the same at both."""
        if self.interval_factors is None:
            return None
        low, high = self.interval_factors
        return self._scaled_total(low), self._scaled_total(high)

    def _scaled_total(self, factor: float) -> np.ndarray:
        return np.hypot(factor * self.to_exact, self.sampling)

    @property
    def total(self) -> np.ndarray:
        """Return the standard errors (d,) of privacy, truncation and sampling together."""
        return self._scaled_total(1.0)


class Plan(ABC):
    """A method with all choices made that are made before a private row is read."""

    mu: float  # total cost of a run; 0 where no private row is read

    @property
    def n_passes(self) -> int:
        """Return the largest number of passes over the private rows; cached rows are not read again.

        The number of a solver's passes depends on private rows; they count as one.
        """
        return 1

    @property
    def clusters_errors(self) -> bool:
        """Return whether stated sampling errors are clustered by the groups of public rows."""
        return False

    @property
    def noise_by_place(self) -> bool:
        """Return whether neighbouring rows share random draws, so that a release depends on the order of rows."""
        return False

    def bytes_kept(self, d: int) -> int:
        """Return the bytes that a run keeps of a row of d features between its passes, as far as memory allows."""
        return bytes_kept(d) if self.n_passes > 1 else 0

    @abstractmethod
    def mechanism_on(self, rows: PrivateRows) -> Mechanism:
        """Return the mechanism on these rows; parts that depend on the rows alone are computed once.

        The result gives ``trials`` independent releases from a noise source (1 trial outside the lab). The docstring of
        the function that adds the noise ends with its ``Guarantee:``.
        """

    def run(self, rows: PrivateRows, source: NoiseSource, trials: int) -> Outcome:
        """Return ``trials`` independent releases of these rows (1 outside the lab)."""
        return self.mechanism_on(rows)(source, trials)

    def predicted(self) -> Prediction | None:
        """Return expected standard errors from public figures alone; ``None`` where the method has no formula."""
        return None

    @abstractmethod
    def parts(self) -> tuple[Spend, ...]:
        """Return every mechanism of a run; they compose to ``mu``. Empty where no guarantee is given or needed."""

    def facts(self) -> Facts:
        """Return the plan's public figures: radius, noise scale, predicted truncation."""
        return Facts()

    def prepare(self) -> None:
        """Compute all that depends on public data alone, so that its errors are raised before the spend."""
        self.facts()
        self.predicted()


@dataclass(frozen=True)
class OfPublicData:
    """Base of plans for given public data, n and mu.

    Attributes:
        public: public data, which alone decide the plan.
        n: number of private rows.
        mu: budget.
    """

    public: PublicData
    n: int
    mu: float


class StatisticPlan(Plan, Generic[Statistic]):
    """A plan that adds noise to one statistic of the private rows."""

    @abstractmethod
    def measure(self, rows: PrivateRows) -> Private[Statistic]:
        """Return the statistic without noise, from a pass over the private rows."""

    @abstractmethod
    def perturb(self, statistic: Private[Statistic], source: NoiseSource, trials: int) -> Outcome:
        """Return ``trials`` independent releases of the statistic; the docstring ends with the ``Guarantee:``."""

    def mechanism_on(self, rows: PrivateRows) -> Mechanism:
        """Return the noise on the statistic of these rows, which is measured once."""
        return partial(self.perturb, self.measure(rows))


class IterativePlan(Plan, Generic[Prepared]):
    """A plan whose solver or steps read the private rows several times."""

    @abstractmethod
    def prepared(self, rows: PrivateRows) -> Prepared:
        """Return the private rows in the form that the steps read: transformed, truncated, in memory where they fit."""

    @abstractmethod
    def release(self, prepared: Prepared, source: NoiseSource, trials: int) -> Outcome:
        """Return ``trials`` independent releases of prepared rows; the docstring ends with the ``Guarantee:``."""

    def mechanism_on(self, rows: PrivateRows) -> Mechanism:
        """Return the release of these rows, which are prepared once."""
        return partial(self.release, self.prepared(rows))


@dataclass(frozen=True)
class PrivacyClaim:
    """Privacy claim of a method, and the reason for it.

    Attributes:
        standing: whether its releases may leave.
        neighbours: the tables between which the claim holds.
        reason: ground of the claim, or of its failure, in a clause.
        proofs: pages of docs/proofs that prove it; their index names the method beside each.
    """

    standing: ReleaseStatus
    neighbours: Neighbours
    reason: str
    proofs: tuple[str, ...] = ()


def sound(reason: str, *proofs: str) -> PrivacyClaim:
    """Return the claim of a method that is proved to be mu-GDP where a row is replaced, for the bits that leave.

    Its noise is on a grid. A method that protects another relation states a :class:`PrivacyClaim` of its own.
    """
    return PrivacyClaim(ReleaseStatus.SOUND, Neighbours.REPLACE_ONE, reason, proofs)


def lab(reason: str) -> PrivacyClaim:
    """Return the claim of a method, about a replaced row, whose releases may not leave the lab because of this."""
    return PrivacyClaim(ReleaseStatus.LAB, Neighbours.REPLACE_ONE, reason)


@dataclass(frozen=True)
class Origin:
    """Where a method comes from.

    Attributes:
        source: paper and algorithm.
        names: its names in the paper; the first is the one to display.
        errata: errata of the papers that it repairs or reproduces.
        also: further listings and names in papers by which it is found in a search.
    """

    source: str
    names: tuple[str, ...] = ()
    errata: tuple[str, ...] = ()
    also: tuple[str, ...] = ()


def _unplanned(public: PublicData, n: int, budget: Budget, parameters: Parameters) -> Plan:
    """Refuse to plan: a method that is not registered has no planner yet."""
    raise TypeError("a method is registered as the decorator of its planner")


@dataclass(frozen=True, kw_only=True)
class Method:
    """One entry of the registry: a decorator that registers its planner.

    Attributes:
        id: its name in commands and records.
        title: its name on pages.
        summary: what it does, in a sentence.
        origin: paper and names.
        claim: its guarantee.
        plan: the decorated function, which makes a plan from public data, number of private rows, budget and
            parameters. The annotation of its last argument is the class of the parameters.
        colour: of its lines and marks, distinct from all others.
        families: ids of the families that it fits.
        task: what it estimates, where the families do not determine it.
        gives_coefficients: whether coefficients are among what it releases.
        recommended: whether it is the one to start from in its families.
        recommended_for: whether it is the one to start from for these public data, before the others.
        local: whether rows are randomized on their owners' devices, without a curator.
        same_target: whether its coefficients estimate those of the family's (penalized) regression.
        weighs_losses: whether rows of labels and counts may have weights.
        whitens: whether it truncates rows that are whitened by the public second moment, so that its radius is in
            whitened units and not in those of the columns.
        needs_labels: whether public rows must have the response.
        behind_public_fit: families in which the public fit or zero was nearer to the fit without privacy on half of the
            real tables or more, at mu 0.5 and at 1.5 (docs/accuracy.md): offered last, and with a note.
        has_floor: families in which its error does not vanish at any budget: at mu 300 it is more than one standard
            error on half of the real tables (docs/accuracy.md, three laws).
        role: the public fit alone is ``public``, the fit without privacy ``reference``.
        at_first: whether a comparison shows it beside the recommended one by default, as the papers' methods.
        studied_with: the command that shows its behaviour in the lab.
    """

    id: str
    title: str
    summary: str
    origin: Origin
    claim: PrivacyClaim
    colour: str
    plan: Planner = _unplanned
    families: tuple[str, ...] = (GAUSSIAN.id,)
    task: str = ""
    gives_coefficients: bool = True
    recommended: bool = False
    recommended_for: Callable[[PublicData], bool] | None = None
    local: bool = False
    same_target: bool = True
    weighs_losses: bool = False
    whitens: bool = False
    needs_labels: bool = True
    behind_public_fit: tuple[str, ...] = ()
    has_floor: tuple[str, ...] = ()
    role: Role = "method"
    at_first: bool = False
    studied_with: str = "compare"

    def __post_init__(self) -> None:
        if not self.task:
            object.__setattr__(self, "task", "linear" if self.families == (GAUSSIAN.id,) else "glm")

    def __call__(self, planner: AnyPlanner) -> AnyPlanner:
        """Register the method with this planner, which is returned."""
        register(dataclasses.replace(self, plan=planner))
        return planner

    def planned(self, public: PublicData, n: int, mu: float, values: Mapping[str, Any] | None = None) -> Plan:
        """Return the plan for n private rows at a total budget, with default parameters except the given values.

        Raises:
            InputError: a bad budget, or a parameter that is unknown or out of range.
        """
        return self.plan(public, n, Budget(mu), make_parameters(self, values or {}))

    @property
    def standing(self) -> ReleaseStatus:
        """Return whether its releases may leave."""
        return self.claim.standing

    @property
    def protects_responses_only(self) -> bool:
        """Return whether covariates are not protected; such a method is never recommended, only used on request."""
        return self.claim.neighbours is Neighbours.REPLACE_RESPONSE

    @property
    def noise(self) -> str:
        """Return how its noise is drawn: on an integer grid where it is sound and reads private rows."""
        exact = self.standing is ReleaseStatus.SOUND and self.role == "method"
        return "exact" if exact else "floating point"

    @property
    def trust(self) -> str:
        """Return where its noise is added: by a curator, or on each owner's device."""
        return "local" if self.local else "central"

    @cached_property
    def parameters(self) -> type[Parameters]:
        """Return the class of its parameters: the annotation of the planner's last argument.

        Raises:
            TypeError: it is not annotated with a class of parameters.
        """
        annotation = get_type_hints(self.plan).get("parameters")
        if not (isinstance(annotation, type) and issubclass(annotation, Parameters)):
            raise TypeError(f"the planner of {self.id} must say the class of its parameters")
        return annotation

    @cached_property
    def predicts(self) -> bool:
        """Return whether plans of its class may predict errors, from the class alone."""
        made = get_type_hints(self.plan).get("return")
        return not isinstance(made, type) or made is Plan or getattr(made, "predicted", None) is not Plan.predicted

    def fits(self, public: PublicData) -> bool:
        """Return whether it fits the family, and protects covariates unless they are declared public."""
        declared = public.covariates_are_public or not self.protects_responses_only
        return public.family.id in self.families and declared

    def check_suits(self, public: PublicData) -> None:
        """Refuse a method that does not fit the family or the public data.

        Raises:
            InputError: another family, public rows without the response that the method needs, or covariates that
                nobody has declared public.
        """
        if self.protects_responses_only and not public.covariates_are_public:
            raise InputError(ReleaseMessage.COVARIATES_NOT_DECLARED, method=self.id)
        if public.family.id not in self.families:
            sound = [m for m in methods() if m.standing is ReleaseStatus.SOUND and m.fits(public)]
            fitting = [m.id for m in sorted(sound, key=lambda m: not m.recommended)]
            raise InputError(
                MethodMessage.OTHER_FAMILY,
                method=self.id,
                allowed=self.families,
                family=public.family.id,
                methods=fitting,
            )
        if self.needs_labels and not public.labelled:
            raise InputError(MethodMessage.LABELS_NEEDED, method=self.id, column=public.target)
        if public.weights is not None and not self.weighs_losses:
            weighing = [m.id for m in methods() if m.weighs_losses and m.standing is ReleaseStatus.SOUND]
            raise InputError(MethodMessage.LOSSES_UNWEIGHTED, method=self.id, methods=weighing)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry in plain types (the ``methods`` command)."""
        parameters = {
            item.name: {"default": item.default, **{k: v for k, v in item.metadata.items() if k != "log"}}
            for item in dataclasses.fields(self.parameters)
        }
        fields = {name: _plain_value(attrgetter(place)(self)) for name, place in _RECORDED.items()}
        return {**fields, "parameters": parameters}


_RECORDED = {  # where each entry of the record stands
    "id": "id",
    "title": "title",
    "paper_names": "origin.names",
    "summary": "summary",
    "task": "task",
    "families": "families",
    "source": "origin.source",
    "neighbours": "claim.neighbours",
    "standing": "claim.standing",
    "noise": "noise",
    "trust": "trust",
    "recommended": "recommended",
    "standing_reason": "claim.reason",
    "errata": "origin.errata",
    "behind_public_fit": "behind_public_fit",
    "has_floor": "has_floor",
}
_METHODS: dict[str, Method] = {}
_LEAST_COLOUR_DISTANCE = 16.0  # of 441 between black and white: nearer colours look the same in a line two pixels wide


def register(method: Method) -> Method:
    """Add a method; its id must be new, and its colour distinct from all others.

    Raises:
        ValueError: the id is taken, or the colour or one next to it is.
    """
    if method.id in _METHODS:
        raise ValueError(f"two methods are called {method.id!r}")
    for other in _METHODS.values():
        if _colour_distance(method.colour, other.colour) < _LEAST_COLOUR_DISTANCE:
            raise ValueError(
                f"the colours of {method.id} ({method.colour}) and {other.id} ({other.colour}) cannot be told apart"
            )
    _METHODS[method.id] = method
    return method


def _plain_value(value: object) -> object:
    """Return the value as JSON has it: of an enumeration its value, of a tuple a list."""
    if isinstance(value, Enum):
        return value.value
    return list(value) if isinstance(value, tuple) else value


def _colour_distance(first: str, second: str) -> float:
    """Return the distance of two hex colours in red, green and blue, each from 0 to 255."""
    parts = zip(bytes.fromhex(first.lstrip("#")), bytes.fromhex(second.lstrip("#")), strict=True)
    return math.dist(*zip(*parts, strict=True))


def methods() -> list[Method]:
    """Return all methods: the sound ones first, then by id."""
    _find()
    return sorted(_METHODS.values(), key=lambda m: (m.standing is ReleaseStatus.LAB, m.id))


@cache
def _modules() -> tuple[str, ...]:
    """Return the names of all modules beside this one."""
    return tuple(module.name for module in walk_packages([str(Path(__file__).parent)], "pmtcore.methods."))


@cache
def _find() -> None:
    """Import every module beside this one, so that each method registers itself; a new file needs no list."""
    for module in _modules():
        import_module(module)


def _find_one(id: str) -> None:
    """Import modules until the method of that id has registered itself, those first whose names have words of it."""
    words = set(id.split("-"))
    for module in sorted(_modules(), key=lambda name: -len(words & set(re.split(r"\W|_", name)))):
        if id in _METHODS:
            return
        import_module(module)


def of_role(role: Role) -> Method:
    """Return the method that plays this part: the public fit alone, or the fit without privacy."""
    return next(entry for entry in methods() if entry.role == role)


def methods_for(public: PublicData) -> list[Method]:
    """Return methods that suit the family and these public data."""
    return [
        entry
        for entry in methods()
        if entry.fits(public)
        and (public.labelled or not entry.needs_labels)
        and (public.weights is None or entry.weighs_losses)
    ]


def offered_methods(public: PublicData) -> list[Method]:
    """Return the sound methods that suit: the recommended one first, those that are behind the public fit last."""
    sound = [entry for entry in methods_for(public) if entry.standing is ReleaseStatus.SOUND]
    first = recommended_method(public)
    return sorted(sound, key=lambda entry: (entry is not first, public.family.id in entry.behind_public_fit))


def recommended_method(public: PublicData) -> Method:
    """Return the sound method to start from: one recommended for these data, else for its families, else the first."""
    sound = [
        entry
        for entry in methods_for(public)
        if entry.standing is ReleaseStatus.SOUND and entry.gives_coefficients and not entry.protects_responses_only
    ]
    special = (entry for entry in sound if entry.recommended_for is not None and entry.recommended_for(public))
    general = (entry for entry in sound if entry.recommended and entry.recommended_for is None)
    return next(special, next(general, sound[0]))


def method(id: str) -> Method:
    """Return the method of that id, or that a paper calls so.

    Raises:
        InputError: there is none.
    """
    if id not in _METHODS:
        _find_one(id)
    if id in _METHODS:
        return _METHODS[id]
    entries = {entry.id: entry for entry in methods()}
    named = {name.lower(): entry for entry in entries.values() for name in entry.origin.names}
    entry = named.get(id.lower())
    if entry is None:
        near = get_close_matches(id, entries, 3, 0.4) or list(entries)[:5]
        raise InputError(MethodMessage.NO_METHOD, method=id, methods=near, count=len(entries))
    return entry


_PHRASE = re.compile(r"\balgorithm (\d) (?:of|in) (?:paper )?([a-d])\b")
_LISTING = re.compile(r"\b(?:([a-d]),? )?algorithm (\d)\b")


def search(words: str) -> list[Method]:
    """Return the methods that have all words in their id, names, title, summary or source, capitals aside.

    A letter or digit by itself must stand by itself, and an algorithm's number belongs to its paper: ``C, Algorithm 1``
    is neither Algorithm 2 of C nor Algorithm 1 of D.
    """
    wanted = _PHRASE.sub(r"\2, algorithm \1", words.lower())
    listings = _LISTING.findall(wanted)
    parts = [part.strip(",;") for part in _LISTING.sub(" ", wanted).split() if part.strip(",;") not in ("", "paper")]

    def fits(entry: Method) -> bool:
        origin = entry.origin
        text = " ".join([entry.id, *origin.names, *origin.also, entry.title, entry.summary, origin.source]).lower()
        own, single = _LISTING.findall(text), set(re.findall(r"[a-z0-9]+", text))
        return all(any(n == number and p in ("", paper) for paper, number in own) for p, n in listings) and all(
            part in single if len(part) == 1 else part in text for part in parts
        )

    return [entry for entry in methods() if fits(entry)]


def make_parameters(entry: Method, values: Mapping[str, Any]) -> Parameters:
    """Make a method's parameters from named values, strings (from a command line) or numbers.

    Raises:
        InputError: an unknown name, or a value out of range.
    """
    fields = {item.name: item for item in dataclasses.fields(entry.parameters)}
    unknown = [name for name in values if name not in fields]
    if unknown:
        raise InputError(MethodMessage.NO_PARAMETER, method=entry.id, names=unknown, present=fields or ["none"])
    return entry.parameters(**values)
