"""The local model in two halves: `LocalClient` on a person's device, `LocalAggregator` on the server.

The server publishes a configuration made from public rows; each device randomizes its own row once and sends a report;
the server fits from the reports. A report is private by itself: nobody needs to be trusted, and fitting costs nothing
more.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from pmtcore.accounting.budgets import Guarantee, Neighbours, reporting_delta
from pmtcore.api import frames
from pmtcore.api.inputs import write_text
from pmtcore.api.loading import results_of
from pmtcore.base.arguments import checked, checked_methods
from pmtcore.base.messages import (
    FaceMessage,
    InputError,
    Note,
    Phrase,
    ReleaseNote,
    number_between,
    one_of,
    reraised_as,
)
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.base.results import Results
from pmtcore.base.strict_json import parse_json
from pmtcore.glm.families import FAMILIES
from pmtcore.local import setup
from pmtcore.local.estimators import LINKS, MOST_NUMBERS, Link, largest_shifts
from pmtcore.local.protocol import Configuration, report_lines
from pmtcore.local.reading import tally_file
from pmtcore.local.tally import Tally
from pmtcore.mechanisms.noise import SecureNoise
from pmtcore.methods.local.collected import LocalMomentParameters, LocalOutcome, LocalPlan, WhitenedParameters
from pmtcore.public.moments import INTERCEPT, PublicData
from pmtcore.tables.choices import Choices
from pmtcore.tables.problem import device_rows, prepare_public

SCHEMES = ("whitened", "moments")


@dataclass(frozen=True)
class Published:
    """What a server publishes: the configuration of a report, and which label counts as 1."""

    configuration: Configuration
    family: str
    positive: str | None = None

    def to_json(self) -> str:
        """Return the configuration as the command line writes it."""
        return json.dumps({**self.configuration.as_dict(), "family": self.family, "positive": self.positive})

    @classmethod
    def from_json(cls, data: str | bytes) -> Published:
        """Read the text of a configuration.

        Raises:
            InputError: not a configuration.
        """
        family, positive = "logistic", None
        raw = data.encode() if isinstance(data, str) else data
        try:
            fields = parse_json(raw)
            family, positive = fields.pop("family", family), fields.pop("positive", None)
            raw = json.dumps(fields).encode()
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass  # Configuration.from_json raises the error
        made = Configuration.from_json(raw)
        if not isinstance(family, str) or not (positive is None or isinstance(positive, str)):
            raise InputError(FaceMessage.NOT_A_CONFIGURATION)
        return cls(made, one_of("family", family, FAMILIES), positive)

    def choices(self, family: str | None = None, positive: str | None = None) -> Choices:
        """Return the choices by which a device's table is read."""
        made = self.configuration
        return Choices(
            target=made.target,
            features=tuple(name for name in made.names if name != INTERCEPT),
            intercept=made.names[0] == INTERCEPT,
            family=family or self.family,
            positive=positive or self.positive,
            missing="empty-row",  # a device with a missing value answers too (E5)
        )


@checked
def configure(
    public: PublicData,
    *,
    epsilon: float | None = None,
    mu: float | None = None,
    scheme: str = "whitened",
    people: int = 10_000,
    response_bound: float = 0.0,
) -> Configuration:
    """Choose radius, whitening and bounds of a report from public rows; free.

    Args:
        public: public rows.
        epsilon: budget of a report, as pure epsilon (PrivUnit); either this or ``mu``.
        mu: budget of a report, as mu-GDP.
        scheme: ``whitened`` sends a score, ``moments`` second moments (paper C).
        people: expected number of reports.
        response_bound: responses are clipped to it; 0: from public rows.

    Raises:
        InputError: none or both budgets, or one that the scheme does not take.
    """
    one_of("scheme", scheme, SCHEMES)
    if (epsilon is None) == (mu is None):
        raise InputError(FaceMessage.ONE_REPORT_BUDGET)
    if scheme == "moments":
        if mu is None:
            raise InputError(FaceMessage.MOMENTS_NEED_MU)
        return setup.moments_scheme(public, people, number_between("mu", mu, 1e-6, 1e3), True, zeta=0.05)
    if epsilon is not None:
        epsilon = number_between("epsilon", epsilon, 1e-3, 500.0)
        return setup.whitened_scheme(public, people, 1.0, "privunit", bound=response_bound, epsilon=epsilon)
    return setup.whitened_scheme(
        public, people, number_between("mu", mu or 0.0, 1e-6, 1e3), "gaussian", bound=response_bound
    )


def aggregate(public: PublicData, config: Configuration, tally: Tally, link: str | None = None) -> dict[str, Any]:
    """Return coefficients from counted reports, in plain fields; post-processing, free.

    Raises:
        InputError: no report could be used, or a link that the scheme does not take.
    """
    whitened = config.randomizer == "privunit" or config.scheme == "whitened"
    parameters: Any = WhitenedParameters(randomizer=config.randomizer) if whitened else LocalMomentParameters()
    plan = LocalPlan(public, max(tally.accepted, 1), config.mu, config, parameters, _link(link, config))
    outcome = LocalOutcome(plan, tally.mean[None])
    coefficients, bands, notes = outcome.coefficients[0], outcome.bands(), outcome.notes()
    moved = _forged(plan, config, tally)
    if tally.lost > 1:
        notes += (Note(ReleaseNote.DUPLICATE_IDS, count=tally.lost),)
    return {
        "coefficients": dict(zip(config.names, map(float, coefficients), strict=True)),
        "bands": {} if bands is None else dict(zip(config.names, bands.rows(), strict=True)),
        "counts": tally.counts,
        "n": tally.accepted,
        "family": public.family.id if link is None else None,
        "link": link,
        "guarantee": {
            "mu": config.mu,
            "epsilon": config.epsilon,
            "neighbours": Neighbours.REPLACE_ONE.value,
            "trust": "local",
        },
        "notes": [*notes, Note(ReleaseNote.FORGED_REPORTS)],
        "one_forged_report": dict(zip(config.names, moved, strict=True)),
    }


def _forged(plan: LocalPlan, config: Configuration, tally: Tally) -> list[float | None]:
    """Compute how far one forged report can move each coefficient; None where that would take too many fits."""
    if config.dimension > MOST_NUMBERS:
        return [None] * config.d
    sd = float(np.sqrt(tally.square / tally.accepted / config.dimension))
    try:
        moved = largest_shifts(
            lambda means: LocalOutcome(plan, means).coefficients, config, tally.mean, tally.accepted, sd=sd
        )
    except np.linalg.LinAlgError:
        return [None] * config.d
    return [float(value) if np.isfinite(value) else None for value in moved]


def _link(name: str | None, made: Configuration) -> Link | None:
    if name is None:
        return None
    link = LINKS[one_of("link", name, LINKS)]
    if made.scheme != "moments" or made.names[0] == INTERCEPT:
        raise InputError(FaceMessage.LINK_NEEDS_MOMENTS)
    return link


@checked_methods
class LocalClient:
    """A device: randomizes its own rows, once each, with noise from the system's entropy.

    Args:
        configuration: what the server published: its text, or the path of a file.

    Raises:
        InputError: not a configuration.
    """

    def __init__(self, configuration: str | Path) -> None:
        self.published = Published.from_json(_text(configuration))

    @property
    def guarantee(self) -> Mapping[str, Any]:
        """Return what each report promises about its row."""
        return self.published.configuration.guarantee

    def report(self, rows: object) -> list[str]:
        """Make a report for each row (a frame or a path), one JSON text each. Reporting a row twice spends twice.

        A row with a missing value is reported too, so that a missing report reveals nothing.
        """
        made = self.published.configuration
        blocks = device_rows(frames.table(rows, "private"), made.names, self.published.choices())
        reports = (made.randomize(features, response, SecureNoise()) for features, response in blocks)
        return [line for block in reports for line in report_lines(block, made.digest)]

    def __repr__(self) -> str:
        made = self.published.configuration
        return f"LocalClient({made.target!r} from {len(made.names)} columns, {dict(self.guarantee)})"


@checked_methods
class LocalAggregator:
    """A server: publishes a configuration, collects reports, fits as often as it likes.

    Args:
        public: public rows, a frame or a path.
        target: the response.
        epsilon, mu: the budget of each report, one of the two.
        family: family that is fitted unless :meth:`fit` names another.
        features, intercept, positive: as in the estimators.
        scheme, people, response_bound: as in :func:`configure`.

    Raises:
        InputError: what is wrong with the public rows or the budget.
    """

    def __init__(
        self,
        public: object,
        *,
        target: str,
        epsilon: float | None = None,
        mu: float | None = None,
        family: str = "logistic",
        features: Iterable[str] | None = None,
        intercept: bool = True,
        positive: str | None = None,
        scheme: str = "whitened",
        people: int = 10_000,
        response_bound: float = 0.0,
    ) -> None:
        self._table = frames.table(public, "public")
        chosen = None if features is None else tuple(features)
        choices = Choices(target=target, features=chosen, intercept=intercept, family=family, positive=positive)
        data = prepare_public(self._table, choices).data
        made = configure(data, epsilon=epsilon, mu=mu, scheme=scheme, people=people, response_bound=response_bound)
        self.published = Published(made, data.family.id, positive)
        self.tally = Tally(made)

    def configuration(self, path: str | Path | None = None) -> str:
        """Return what devices need, as text to publish; also written to a file."""
        text = self.published.to_json()
        if path is not None:
            write_text(path, text + "\n")
        return text

    def add(self, reports: Iterable[str] | str | Path) -> Mapping[str, int]:
        """Add reports, one JSON text each, or replace all earlier ones by those of a file; returns the counts.

        Reports that violate the protocol are counted by the reason and excluded from the mean.
        """
        if isinstance(reports, str | Path):
            self.tally = tally_file(Path(reports), self.published.configuration)
        else:
            self.tally.add_lines(line.encode() for line in reports)
        return dict(self.tally.counts)

    def fit(self, family: str | None = None, link: str | None = None) -> Results:
        """Fit the reports so far. Another family or link from the same reports costs nothing.

        Raises:
            InputError: no report could be used.
        """
        made = self.published.configuration
        public = prepare_public(self._table, self.published.choices(family)).data
        results = aggregate(public, made, self.tally, link)
        return results_of(_as_release(results, made), ReleaseNote.REPORTS_USED.sentence(count=results["n"]))


def _as_release(fit: Mapping[str, Any], config: Configuration) -> ReleaseRecord:
    """Return a local fit in the fields of a release that results are read from."""
    promise = Guarantee(config.mu, Neighbours.REPLACE_ONE, reporting_delta(fit["n"]))
    guarantee = promise.as_dict() | ({} if config.epsilon is None else {"epsilon": config.epsilon, "delta": 0.0})
    fields = {
        **fit,
        "title": f"Local collection, {config.scheme}",
        "method": f"ldp-{config.scheme}",
        "standing": "sound",
        "standing_reasons": [Phrase.REPORTS_ARE_PRIVATE.sentence()],
        "target": config.target,
        "public_rows": None,
        "guarantee": {**guarantee, "trust": "local"},
        "guarantee_in_words": f"Of one report: {promise.words[0].lower()}{promise.words[1:]}",
    }
    return cast(ReleaseRecord, fields)


def _text(source: str | Path) -> str | bytes:
    if isinstance(source, str) and source.lstrip().startswith("{"):
        return source
    with reraised_as(InputError(FaceMessage.NO_CONFIGURATION, place=source), OSError, TypeError, ValueError):
        return Path(source).read_bytes()
