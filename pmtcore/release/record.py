"""The record of one release: only what may leave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np

from pmtcore.accounting.budgets import Guarantee
from pmtcore.base.records import Bands, Standing, plain

UNRECORDED = "its spend is in no ledger"


@final
@dataclass(frozen=True)
class Release:
    """One release: only what may leave. Every field is public or released."""

    method: str
    title: str
    standing: Standing
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
    facts: Mapping[str, Any] = field(default_factory=dict)  # public: radius, noise scale, ...
    released: Mapping[str, Any] = field(default_factory=dict)  # released beside the coefficients
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name, value in [*self.facts.items(), *self.released.items(), *self.parameters.items()]:
            plain(value, name)

    def as_dict(self) -> dict[str, Any]:
        """The machine-readable record, plain JSON types only."""
        record: dict[str, Any] = {
            "method": self.method,
            "title": self.title,
            "standing": self.standing.value,
            "standing_reasons": list(self.standing_reasons),
            "target": self.target,
            "coefficients": _named(self.names, self.coefficients),
            "bands": self._bands(),
            "guarantee": self.guarantee.as_dict(),
            "guarantee_in_words": self.guarantee.words,
            "parameters": plain(dict(self.parameters)),
            "n": self.n,
            "public_rows": self.public_rows,
            "seed": self.seed,
            "public": plain(dict(self.facts)),
            "released": plain(dict(self.released)),
            "notes": list(self.notes),
        }
        return record

    def _bands(self) -> dict[str, dict[str, float]]:
        if self.bands is None:
            return {}
        parts = {"privacy": self.bands.privacy, "sampling": self.bands.sampling}
        if self.bands.truncation is not None:
            parts["truncation"] = self.bands.truncation
        parts |= {"low": self.bands.low, "high": self.bands.high}
        return {name: {part: float(values[j]) for part, values in parts.items()} for j, name in enumerate(self.names)}


def _named(names: Iterable[str], values: np.ndarray) -> dict[str, float]:
    return {name: float(value) for name, value in zip(names, values, strict=False)}
