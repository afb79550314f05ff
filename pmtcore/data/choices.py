"""What the user chose about the tables: public fields, exported with a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, final

from pmtcore.base.checks import InputError, number_between, one_of
from pmtcore.models.families import GAUSSIAN, Family, family

MISSING_POLICIES = ("empty-row", "public-median", "refuse")
UNSEEN_POLICIES = ("other", "refuse")
COLLINEAR_POLICIES = ("drop", "refuse")
KINDS = ("number", "level", "date")
_DEFAULT_LAM = 0.01  # of the families other than the linear one (decision 0009)


@final
@dataclass(frozen=True, kw_only=True)
class Choices:
    """What the user chose about the tables; public, and exported with a configuration.

    Attributes:
        missing: what becomes of a row that lacks a value. ``refuse`` answers about private rows before anything is
            recorded, outside the guarantee; the others never refuse.
        unseen: what becomes of a category that the public table does not have; ``refuse`` as above.
        levels: declared categories of a column.
        kinds: columns to be read as numbers, levels or dates, whatever the public table suggests.
        overlap: the curator's word on public rows that are private rows too; recorded with each release.
        collinear: whether columns that others give away in the public rows are left out, with a note, or refused.
    """

    target: str
    features: tuple[str, ...] | None = None
    intercept: bool = True
    missing: str = "empty-row"
    unseen: str = "other"
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    public_ridge: float = 0.0
    family: str = GAUSSIAN.id
    lam: float | None = None  # ridge penalty of a family other than the linear one; None: 0.01
    positive: str | None = None  # the label that counts as 1
    kinds: Mapping[str, str] = field(default_factory=dict)
    collinear: str = "drop"
    overlap: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family(self.family).id)
        if self.lam is not None:
            number_between("lam", self.lam, 0.0, 1e9)
            if self.family == GAUSSIAN.id:
                raise InputError("The ridge penalty of a linear fit is a parameter of its method; set it there.")
        one_of("missing", self.missing, MISSING_POLICIES)
        one_of("unseen", self.unseen, UNSEEN_POLICIES)
        one_of("collinear", self.collinear, COLLINEAR_POLICIES)
        for name, kind in self.kinds.items():
            one_of(f"kind of {name!r}", kind, KINDS)
        number_between("public ridge", self.public_ridge, 0.0, 1e6)
        if self.features is not None and self.target in self.features:
            raise InputError(f"The target {self.target!r} is also among the features; leave it out there.")
        if self.features is not None and len(set(self.features)) < len(self.features):
            raise InputError("A feature is named twice; name each feature once.")

    @property
    def model(self) -> Family:
        """The family."""
        return family(self.family)

    @property
    def penalty(self) -> float:
        """The penalty that is part of what is fitted."""
        if self.family == GAUSSIAN.id:
            return 0.0
        return _DEFAULT_LAM if self.lam is None else self.lam

    def as_dict(self) -> dict[str, Any]:
        """Plain fields."""
        return asdict(self)


def levels_from_text(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Declared categories from lines such as ``town = north | south | west``.

    Raises:
        InputError: a line of another form.
    """
    found = {}
    for line in lines:
        name, equals, levels = line.partition("=")
        parts = tuple(part.strip() for part in levels.split("|") if part.strip())
        if not equals or len(parts) < 2:
            raise InputError(f"Declared categories are written as 'column = a | b | c', got {line.strip()!r}.")
        found[name.strip()] = parts
    return found
