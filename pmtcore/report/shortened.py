"""The share of rows that a method shortens: one figure under one name, with where it comes from.

Conditioning, Plan, Release and the report all print :attr:`Shortened.words`, so that one number is never read as two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pmtcore.base.numbers import percent

NAME = "Truncated rows"


class Origin(StrEnum):
    """Where a share of shortened rows comes from."""

    PREDICTED = "predicted from public rows"
    RELEASED = "released estimate"
    EXACT = "exact, for the curator alone"


@dataclass(frozen=True)
class Shortened:
    """A share of rows, or of gradients, beyond their bound.

    Attributes:
        share: between 0 and 1.
        origin: whether public rows, a release or the private rows themselves gave it.
    """

    share: float
    origin: Origin

    @property
    def words(self) -> str:
        """Return the share as a percentage, with its origin.

        >>> Shortened(0.0344, Origin.PREDICTED).words, Shortened(0.0, Origin.RELEASED).words
        ('3.4 %, predicted from public rows', 'none, released estimate')
        >>> Shortened(0.0, Origin.PREDICTED).words
        'no public row would be; a few private ones may be'
        """
        share = min(max(self.share, 0.0), 1.0)
        if share == 0 and self.origin is Origin.PREDICTED:
            return "no public row would be; a few private ones may be"
        return f"{percent(share) if share > 0 else 'none'}, {self.origin}"


# Under which name plans and releases keep a share, and what kind of figure it is there.
SOURCES = {"predicted_truncation_rate": Origin.PREDICTED, "clipped_share": Origin.RELEASED}


def shortened(*figures: Mapping[str, Any]) -> list[Shortened]:
    """Return the shares among figures of plans and releases by name, predictions first; empty where there are none.

    Args:
        figures: facts of a plan, or what a release holds, in plain fields.
    """
    return [
        Shortened(float(figure[name]), origin)
        for name, origin in SOURCES.items()
        for figure in figures
        if isinstance(figure.get(name), int | float)
    ]


def shortened_words(*figures: Mapping[str, Any]) -> str:
    """Return the share in one line under its name, the released one where there is one; says so where none is known."""
    shares = shortened(*figures)
    if not shares:
        return f"{NAME}: not predicted for this method."
    known = [share for share in shares if share.origin is not Origin.PREDICTED]
    return f"{NAME}: {'; '.join(share.words for share in known or shares)}."
