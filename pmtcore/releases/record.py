"""The record of one release: only what may leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np

from pmtcore import __version__
from pmtcore.accounting.budgets import Guarantee, Neighbours, Spend, unit_of
from pmtcore.base.bands import Bands
from pmtcore.base.exports import plain_json
from pmtcore.base.json_fields import OPTIONAL, JsonFields
from pmtcore.base.labels import ReleaseStatus
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.base.symmetric import from_lower_triangle, lower_triangle, symmetric_from_lower
from pmtcore.methods.facts import Facts


@dataclass(frozen=True)
class PublicFacts(JsonFields):
    """Public facts of the problem, whatever the method.

    Attributes:
        spread: standard deviation of each public feature (d,); root mean square where there is no intercept.
        noise: ``exact`` where noise is drawn on an integer grid, else ``floating point``.
        choices: what was chosen about the tables, in plain fields: public, and what a repetition needs.
        positive: the level of a label target whose chance is modelled; None for a numeric response.
        zero_one: features that are 0 or 1 in every public row, levels of categories among them.
        public_fit: coefficients (d,) of the public fit, where public rows have the response.
    """

    family: str = "gaussian"
    spread: np.ndarray = field(default_factory=lambda: np.zeros(0))
    noise: str = "floating point"
    choices: Mapping[str, Any] = field(default_factory=dict, metadata=OPTIONAL)
    positive: str | None = field(default=None, metadata=OPTIONAL)
    zero_one: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    public_fit: np.ndarray | None = field(default=None, metadata=OPTIONAL)


FORMAT = "second-moment/release"
VERSION = 2  # of the record: 1 had no format, date, software or inference; readers open both
# Most coefficients with which a record has covariances: their three lower triangles then take 2.7 MB as text.
_MOST_COVARIANCES = 300


@dataclass(frozen=True)
class Release:
    """One release: only what may leave. Every field is public or released."""

    method: str
    title: str
    standing: ReleaseStatus
    standing_reasons: tuple[str, ...]
    target: str
    names: tuple[str, ...]
    coefficients: np.ndarray
    bands: Bands | None
    guarantee: Guarantee
    parameters: Mapping[str, Any]
    n: int
    public_rows: int | None
    seed: int | None
    public: PublicFacts
    facts: Facts = field(default_factory=Facts)  # public: radius, noise scale, ...
    parts: tuple[Spend, ...] = ()  # spends that compose to the guarantee
    released: Mapping[str, Any] = field(default_factory=dict)  # released beside the coefficients
    notes: tuple[str, ...] = ()
    design: Mapping[str, Any] = field(default_factory=dict)  # public: how rows of a table become features
    disagrees: bool = False  # whether released figures show that private and public rows differ in distribution
    exact_figures_shown: bool | None = None  # to a curator before the release; None where it is not recorded
    date: str = field(default_factory=lambda: datetime.now(UTC).date().isoformat())
    software: str = f"second-moment {__version__}"

    def __post_init__(self) -> None:
        for name, value in [*self.released.items(), *self.parameters.items()]:
            plain_json(value, name)

    def as_dict(self) -> ReleaseRecord:
        """Return the machine-readable record, plain JSON types only."""
        record: ReleaseRecord = {
            "format": FORMAT,
            "version": VERSION,
            "date": self.date,
            "software": self.software,
            "method": self.method,
            "title": self.title,
            "standing": self.standing.value,
            "standing_reasons": list(self.standing_reasons),
            "target": self.target,
            "coefficients": _by_name(self.names, self.coefficients),
            "bands": {} if self.bands is None else dict(zip(self.names, self.bands.rows(), strict=True)),
            "guarantee": self.guarantee.as_dict(),
            "guarantee_in_words": self.guarantee.words,
            "parameters": plain_json(dict(self.parameters)),
            "n": self.n,
            "public_rows": self.public_rows,
            "seed": self.seed,
            "parts": [part.as_dict() for part in self.parts],
            "public": plain_json({**self.facts.as_dict(), **self.public.as_dict()}),
            "released": plain_json(dict(self.released)),
            "notes": list(self.notes),
            "inference": self._inference(),
            "design": plain_json(dict(self.design)),
            "rows_disagree": self.disagrees,
        }
        if self.exact_figures_shown is not None:
            record["exact_figures_shown"] = self.exact_figures_shown
        return record

    @classmethod
    def from_dict(cls, record: ReleaseRecord) -> Release:
        """Return the release from :meth:`as_dict`, as a ledger keeps it."""
        public, names = PublicFacts.from_dict(record["public"]), tuple(record["coefficients"])
        figures = {name: value for name, value in record["public"].items() if name not in vars(public)}
        return cls(
            method=record["method"],
            title=record["title"],
            standing=ReleaseStatus(record["standing"]),
            standing_reasons=tuple(record["standing_reasons"]),
            target=record["target"],
            names=names,
            coefficients=np.array(list(record["coefficients"].values()), dtype=float),
            bands=bands_of(record),
            guarantee=_guarantee_of(record["guarantee"]),
            parameters=record["parameters"],
            n=record["n"],
            public_rows=record["public_rows"],
            seed=record["seed"],
            public=public,
            facts=Facts.from_dict(figures),
            parts=tuple(Spend(**part) for part in record.get("parts", ())),
            released=record["released"],
            notes=tuple(record["notes"]),
            design=record.get("design") or {},
            disagrees=bool(record.get("rows_disagree", False)),
            exact_figures_shown=record.get("exact_figures_shown"),
            date=str(record.get("date", "")),
            software=str(record.get("software", "")),
        )

    @property
    def modelled(self) -> str:
        """Return the modelled response: the target, or for labels the level whose probability is modelled."""
        return modelled_response(self.target, self.public.positive)

    def _inference(self) -> dict[str, Any]:
        """Return the centres of the intervals, their degrees of freedom, and the covariance of each error part."""
        bands = self.bands
        if bands is None or bands.centre is None or bands.freedom is None:
            return {}
        fields = {"centre": plain_json(bands.centre), "freedom": plain_json(bands.freedom)}
        if bands.covariance is not None and len(self.names) <= _MOST_COVARIANCES:
            fields["covariance"] = {part: lower_triangle(matrix) for part, matrix in bands.covariance.items()}
        return fields


def modelled_response(target: str, positive: str | None) -> str:
    """Return the modelled response in words: ``price``, or ``price = “low”`` for a label.

    The level is always quoted, so that it stands apart from the words around it and a sign such as ``>`` in it is not
    taken for a part of the equation.

    >>> modelled_response("price", "low"), modelled_response("quality", None), modelled_response("income", ">50K")
    ('price = “low”', 'quality', 'income = “>50K”')
    """
    return target if positive is None else f"{target} = “{positive}”"


def _guarantee_of(fields: Mapping[str, Any]) -> Guarantee:
    """Return a guarantee from its record."""
    return Guarantee(fields["mu"], Neighbours(fields["neighbours"]), fields["delta"], unit_of(fields))


def bands_of(record: ReleaseRecord) -> Bands | None:
    """Return the bands of a release in plain fields; of version 2 with centres, degrees of freedom and covariances."""
    recorded, names, inference = record["bands"], tuple(record["coefficients"]), record.get("inference") or {}
    rows = [recorded[name] for name in names if name in recorded]
    if not rows:
        return None
    parts = {part: np.array([row[part] for row in rows]) for part in rows[0]}
    covariance = inference.get("covariance")
    return Bands(
        parts["privacy"],
        parts["sampling"],
        parts["low"],
        parts["high"],
        parts.get("truncation"),
        centre=None if "centre" not in inference else np.asarray(inference["centre"], dtype=float),
        freedom=None if "freedom" not in inference else np.asarray(inference["freedom"], dtype=float),
        covariance=None
        if covariance is None
        else {part: symmetric_from_lower(from_lower_triangle(v, len(rows))) for part, v in covariance.items()},
    )


def _by_name(names: Iterable[str], values: np.ndarray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=False)}
