"""The registry: what a method says of itself, and the contract it keeps.

App, command line, comparison, audit and documentation read this and nothing else. Adding a method is one
file in ``pmtcore/methods`` and one test.
"""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any, Literal, final

import numpy as np

from pmtcore.accounting.budgets import Budget, Guarantee, Neighbours
from pmtcore.accounting.spends import Spend
from pmtcore.base.checks import InputError, listed, number_between, one_of, whole_number_between
from pmtcore.base.records import Bands, Private, PrivateRows, ReleaseStatus
from pmtcore.base.refusals import Refusal, RefusedError
from pmtcore.glm.families import GAUSSIAN
from pmtcore.mechanisms.noise import NoiseSource
from pmtcore.methods.facts import Facts
from pmtcore.public.moments import PublicData

Role = Literal["method", "public", "reference"]


def parameter(
    default: Any,
    *,
    label: str,
    help: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    log: bool = False,
) -> Any:
    """A field of a method's parameters: what a form needs to draw it and a check needs to refuse it."""
    return dataclasses.field(
        default=default,
        metadata={"label": label, "help": help, "low": low, "high": high, "choices": choices, "log": log},
    )


@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Public parameters of a method; subclasses add fields made with :func:`parameter`."""

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, _checked(item, getattr(self, item.name)))


class Outcome(ABC):
    """What a method gives back: released figures of all trials of one run, post-processed on demand."""

    @property
    @abstractmethod
    def coefficients(self) -> np.ndarray:
        """Coefficients in the units of the table, (trials, d); a failed trial is a row of NaN."""

    def bands(self) -> Bands | None:
        """Error bands of the first trial; ``None`` with a note where there are none."""
        return None

    def released(self) -> Mapping[str, Any]:
        """What else the first trial releases at no further cost."""
        return {}

    def released_under(self, guarantee: Guarantee | None) -> Mapping[str, Any]:
        """Return :meth:`released`, with this guarantee wherever a figure states its own; ``None``: that of one row."""
        return self.released()

    def seen(self) -> np.ndarray:
        """What an attacker gets of each trial, (trials, k): the coefficients, or all that they were made from."""
        return self.coefficients

    def notes(self) -> tuple[str, ...]:
        """Stated outcomes of the first trial, a sentence each."""
        return ()


@final
@dataclass(frozen=True)
class Prediction:
    """Predicted standard errors of the coefficients, (d,) each.

    Attributes:
        privacy: from privacy noise.
        sampling: from the private rows being a sample.
        truncation: from rows that are truncated or clipped, as far as public rows tell.
        clipping_in_privacy: whether what clipping moves is not told apart, but part of ``privacy``.
        interval_factors: what the length of :attr:`to_exact` is multiplied by for the ends of an 80 % interval of
            the outcome; ``None`` where they were not calibrated.
    """

    privacy: np.ndarray
    sampling: np.ndarray
    truncation: np.ndarray | float = 0.0
    clipping_in_privacy: bool = field(default=False, kw_only=True)
    interval_factors: tuple[float, float] | None = field(default=None, kw_only=True)

    @property
    def to_exact(self) -> np.ndarray:
        """Distance to the non-private fit to expect: all but sampling."""
        return np.hypot(self.privacy, self.truncation)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Return the ends of an 80 % interval of the Euclidean distance to the non-private fit, where calibrated."""
        if self.interval_factors is None:
            return None
        length = float(np.linalg.norm(self.to_exact))
        return self.interval_factors[0] * length, self.interval_factors[1] * length

    @property
    def total(self) -> np.ndarray:
        """All together."""
        return np.hypot(self.to_exact, self.sampling)


class Plan(ABC):
    """A method with everything fixed that is fixed before a private row is read."""

    mu: float  # what the run costs in total; 0 when no private row is read

    @property
    def looks(self) -> int:
        """How often a run goes through the private rows, at most; what memory keeps is not read again."""
        return 1

    @property
    def clusters_errors(self) -> bool:
        """Whether stated sampling errors allow for public rows of one group being alike."""
        return False

    @property
    def requires_in_memory(self) -> bool:
        """Whether a run holds all rows at once, so that their number is limited by memory."""
        return False

    @abstractmethod
    def measure(self, rows: PrivateRows) -> Private[Any]:
        """The statistic without noise: what a pass over the private rows yields, computed once per plan."""

    @abstractmethod
    def perturb(self, statistic: Private[Any], source: NoiseSource, trials: int) -> Outcome:
        """The mechanism: ``trials`` independent releases of the statistic (1 outside the lab).

        Each docstring ends with the ``Guarantee:``.
        """

    def run(self, rows: PrivateRows, source: NoiseSource, trials: int) -> Outcome:
        """Measure and perturb."""
        return self.perturb(self.measure(rows), source, trials)

    def predicted(self) -> Prediction | None:
        """Standard errors to expect, from public figures alone; ``None`` where the method has no formula."""
        return None

    @abstractmethod
    def parts(self) -> tuple[Spend, ...]:
        """Every mechanism of a run; together they come to ``mu``. Empty where no guarantee is given or none needed."""

    def facts(self) -> Facts:
        """Public figures of the plan: radius, noise scale, predicted truncation."""
        return Facts()


@final
@dataclass(frozen=True)
class Method:
    """One entry of the registry."""

    id: str
    title: str
    summary: str
    task: str
    source: str
    neighbours: Neighbours
    standing: ReleaseStatus
    standing_reason: str
    errata: tuple[str, ...]
    parameters: type[Parameters]
    plan: Callable[[PublicData, int, Budget, Any], Plan]
    paper_names: tuple[str, ...] = ()  # what its paper calls it; the first is the one to say
    gives_coefficients: bool = True
    colour: str = "#555555"
    families: tuple[str, ...] = (GAUSSIAN.id,)
    recommended: bool = False  # the one to start from in its families
    recommended_for: Callable[[PublicData], bool] | None = None  # only for these public data, and before the others
    exact: bool = False  # whether releases add noise on an integer grid, so that the guarantee holds for the bits
    local: bool = False  # whether rows are randomized on their owners' devices, without a curator
    same_target: bool = True  # whether its coefficients estimate the family's own fit
    weighs_losses: bool = False  # whether rows of labels and counts may have weights
    needs_labels: bool = True  # whether public rows must have the response
    role: Role = "method"  # "public": the public fit alone; "reference": the fit without privacy
    at_first: bool = False  # whether it is drawn beside the recommended one at first sight: the papers' own

    def check_suits(self, public: PublicData) -> None:
        """Refuse a method that does not fit the family or the public data.

        Raises:
            InputError: another family, or public rows without the response that the method needs.
        """
        if public.family.id not in self.families:
            sound = [m for m in methods() if public.family.id in m.families and m.standing is ReleaseStatus.SOUND]
            fitting = [m.id for m in sorted(sound, key=lambda m: not m.recommended)]
            raise InputError(
                f"{self.id} fits {listed(self.families)} regression, not {public.family.id!r}; choose "
                f"{listed(fitting)}, or another family."
            )
        if self.needs_labels and not public.labelled:
            raise InputError(f"{self.id} needs public rows with the target {public.target!r}; choose another method.")
        if public.weights is not None and not self.weighs_losses:
            weighing = [m.id for m in methods() if m.weighs_losses and m.standing is ReleaseStatus.SOUND]
            raise RefusedError(
                Refusal.WEIGHTS,
                f"{self.id} takes labels and counts that count the same; with weights or an exposure choose "
                f"{listed(weighing)}.",
            )

    def as_dict(self) -> dict[str, Any]:
        """The entry in plain types (the ``methods`` command)."""
        return {
            "id": self.id,
            "title": self.title,
            "paper_names": list(self.paper_names),
            "summary": self.summary,
            "task": self.task,
            "families": list(self.families),
            "source": self.source,
            "neighbours": self.neighbours.value,
            "standing": self.standing.value,
            "noise": "exact" if self.exact else "floating point",
            "trust": "local" if self.local else "central",
            "recommended": self.recommended,
            "standing_reason": self.standing_reason,
            "errata": list(self.errata),
            "parameters": {
                item.name: {"default": item.default, **{k: v for k, v in item.metadata.items() if k != "log"}}
                for item in dataclasses.fields(self.parameters)
            },
        }


_LONGEST_TEXT = 10_000  # characters: two hundred derived columns with long names
_METHODS: dict[str, Method] = {}
_CLOSE = 16.0  # of 441 between black and white: nearer colours look the same in a line two pixels wide


def register(method: Method) -> Method:
    """Add a method; its id must be new, and its colour told apart from all others.

    Raises:
        ValueError: the id is taken, or the colour or one next to it is.
    """
    if method.id in _METHODS:
        raise ValueError(f"two methods are called {method.id!r}")
    for other in _METHODS.values():
        if _apart(method.colour, other.colour) < _CLOSE:
            raise ValueError(
                f"the colours of {method.id} ({method.colour}) and {other.id} ({other.colour}) cannot be told apart"
            )
    _METHODS[method.id] = method
    return method


def _apart(first: str, second: str) -> float:
    """Distance of two hex colours in red, green and blue, each from 0 to 255."""
    parts = zip(bytes.fromhex(first.lstrip("#")), bytes.fromhex(second.lstrip("#")), strict=True)
    return math.dist(*zip(*parts, strict=True))


def methods() -> list[Method]:
    """All methods: the sound ones first, then by id."""
    _find()
    return sorted(_METHODS.values(), key=lambda m: (m.standing is ReleaseStatus.LAB, m.id))


@cache
def _find() -> None:
    """Import every module beside this one, so that each method registers itself; a new file needs no list."""
    for module in walk_packages([str(Path(__file__).parent)], "pmtcore.methods."):
        import_module(module.name)


def of_role(role: Role) -> Method:
    """The method that plays this part: the public fit alone, or the fit without privacy."""
    return next(entry for entry in methods() if entry.role == role)


def suiting(public: PublicData) -> list[Method]:
    """Methods that suit the family and these public data."""
    return [
        entry
        for entry in methods()
        if public.family.id in entry.families
        and (public.labelled or not entry.needs_labels)
        and (public.weights is None or entry.weighs_losses)
    ]


def recommended(public: PublicData) -> Method:
    """The method to start from: a sound one recommended for just these data, else for its families, else the first."""
    sound = [entry for entry in suiting(public) if entry.standing is ReleaseStatus.SOUND and entry.gives_coefficients]
    special = (entry for entry in sound if entry.recommended_for is not None and entry.recommended_for(public))
    general = (entry for entry in sound if entry.recommended and entry.recommended_for is None)
    return next(special, next(general, sound[0]))


def method(id: str) -> Method:
    """Return the method of that id, or that a paper calls so.

    Raises:
        InputError: there is none.
    """
    found = {entry.id: entry for entry in methods()}
    named = {name.lower(): entry for entry in found.values() for name in entry.paper_names}
    entry = found.get(id) or named.get(id.lower())
    if entry is None:
        near = get_close_matches(id, found, 3, 0.4) or list(found)[:5]
        raise InputError(
            f"There is no method {id!r}; did you mean {', '.join(near)}? 'methods' lists all {len(found)}."
        )
    return entry


def search(words: str) -> list[Method]:
    """Return the methods that have all words in their id, names, title, summary or source, capitals aside."""
    wanted = words.lower().split()

    def text(entry: Method) -> str:
        return " ".join([entry.id, *entry.paper_names, entry.title, entry.summary, entry.source]).lower()

    return [entry for entry in methods() if all(word in text(entry) for word in wanted)]


def make_parameters(entry: Method, values: Mapping[str, Any]) -> Parameters:
    """A method's parameters from named values, strings (from a command line) or numbers.

    Raises:
        InputError: an unknown name, or a value out of range.
    """
    fields = {item.name: item for item in dataclasses.fields(entry.parameters)}
    unknown = [name for name in values if name not in fields]
    if unknown:
        known = ", ".join(fields) or "none"
        raise InputError(f"{entry.id} has no parameter {listed(unknown)}; it has: {known}.")
    return entry.parameters(**values)


def _checked(item: dataclasses.Field[Any], value: Any) -> Any:
    meta = item.metadata
    if isinstance(item.default, str) and not meta["choices"]:
        if len(str(value)) > _LONGEST_TEXT:
            raise InputError(f"{item.name} takes at most {_LONGEST_TEXT} characters.")
        return str(value)
    if meta["choices"]:
        return one_of(item.name, str(value), meta["choices"])
    low = -np.inf if meta["low"] is None else meta["low"]
    high = np.inf if meta["high"] is None else meta["high"]
    if isinstance(item.default, int):
        return whole_number_between(item.name, value, int(low), int(high))
    return number_between(item.name, value, low, high)
