"""What is printed, what follows and what is done here, a line each; derivations: docs/proofs/errata.md, 8, 12, 15."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Erratum:
    """One erratum: where it is printed, what is printed and what follows, what is done here."""

    id: str
    where: str
    what: str
    here: str


_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ERRATA = {id: Erratum(id, **fields) for id, fields in _TEXTS.items()}


def words(ids: tuple[str, ...]) -> str:
    """Render the errata of a method as one paragraph; empty where it has none."""
    return " ".join(f"{id}: {ERRATA[id].what}; here {ERRATA[id].here}." for id in ids)
