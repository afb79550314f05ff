"""Choices of the user about the tables: public fields, exported with a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from pmtcore.accounting.budgets import FIRST, Unit
from pmtcore.base.messages import InputError, TableMessage, encodable, number_between, one_of, reraised_as
from pmtcore.glm.families import GAUSSIAN, POISSON, Family, family
from pmtcore.public.moments import INTERCEPT
from pmtcore.tables.kinds import KINDS, LIKE, OFFERED, Kind, as_kind, number_format

MISSING_POLICIES = ("empty-row", "public-median", "refuse")
UNSEEN_POLICIES = ("other", "refuse")
COLLINEAR_POLICIES = ("drop", "refuse")
COVARIATES = ("private", "public")
# Choices that the command line and the estimators take under the same names, as they are.
SAME_ON_ALL_FACES = (
    *("missing", "unseen", "public_ridge", "lam", "positive", "collinear"),
    *("covariates", "overlap", "weights", "exposure", "cluster"),
)
# Requests that wait in a ledger were written without these.
_LATER = ("formula", "weights", "cluster", "exposure", "covariates")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Choices of the user about the tables; public, and exported with a configuration.

    Attributes:
        missing: what becomes of a row that lacks a value. ``refuse`` answers about private rows before anything is
            recorded, outside the guarantee; the others never refuse.
        unseen: what becomes of a category that the public table does not have; ``refuse`` as above.
        levels: declared categories of a column; of kind ``coded``, the numbers that stand for a missing value;
            of kind ``capped``, the number that larger ones count as.
        kinds: columns to be read as numbers, levels (``caseless``: those that differ in capitals or
            blanks alone are one), dates (those with slashes ``day-first`` or ``month-first``) or
            numbers with a sign (``percent``, ``euro``, ``dollar``, ``pound``, ``like 1.234,50 CHF``),
            whatever the public table suggests.
        overlap: the curator's statement about public rows that are private rows too. Each record has it; nothing else
            depends on it.
        person: the column of the private table that says whose a row is; empty: each row is by itself.
        person_rows, person_rule: how many rows of each person count, and which; see :class:`Unit`.
        formula: such as ``y ~ age + C(sex)``, in place of features; its left side is the target.
        weights: the column that says how much a row counts, in both tables; empty: all rows the same.
        exposure: the column that says how long, or how many, a count is of: rates are modelled; in both tables.
        cluster: the column of the public table that says which rows are correlated; standard errors are then clustered.
        covariates: ``public`` is the user's declaration that all columns but the target are known anyway, of every
            private row: methods that protect the responses alone ask for it.
        collinear: whether columns that are linear combinations of others in the public rows are left out, with a note,
            or refused.
    """

    target: str
    features: tuple[str, ...] | None = None
    intercept: bool = True
    missing: str = "empty-row"
    unseen: str = "other"
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    public_ridge: float = 0.0
    family: str = GAUSSIAN.id
    lam: float | None = None  # ridge penalty of a family other than the linear one; None: a weak prior (decision 0099)
    positive: str | None = None  # the label that counts as 1
    kinds: Mapping[str, str] = field(default_factory=dict)
    collinear: str = "drop"
    overlap: str = ""
    person: str = ""
    person_rows: int = 1
    person_rule: str = FIRST
    formula: str = ""
    weights: str = ""
    cluster: str = ""
    exposure: str = ""
    covariates: str = "private"

    def __post_init__(self) -> None:
        object.__setattr__(self, "family", family(self.family).id)
        if self.lam is not None:
            number_between("lam", self.lam, 0.0, 1e9)
            if self.family == GAUSSIAN.id:
                raise InputError(TableMessage.PENALTY_OF_LINEAR_FIT)
        one_of("missing", self.missing, MISSING_POLICIES)
        one_of("unseen", self.unseen, UNSEEN_POLICIES)
        one_of("collinear", self.collinear, COLLINEAR_POLICIES)
        one_of("covariates", self.covariates, COVARIATES)
        for text in chain([self.positive or ""], self.kinds.values(), *self.levels.values()):
            encodable(text)
        for name, kind in self.kinds.items():
            as_kind(kind, f"kind of {name!r}")
        number_between("public ridge", self.public_ridge, 0.0, 1e6)
        if self.features is not None and self.target in self.features:
            raise InputError(TableMessage.TARGET_AMONG_FEATURES, column=self.target)
        if self.features is not None and len(set(self.features)) < len(self.features):
            raise InputError(TableMessage.FEATURE_TWICE)
        if self.features is not None and INTERCEPT in self.features:
            raise InputError(TableMessage.FEATURE_IS_INTERCEPT, column=INTERCEPT)
        if self.cluster and self.cluster in (self.target, *(self.features or ())):
            raise InputError(TableMessage.CLUSTER_IS_NO_FEATURE, column=self.cluster)
        if self.formula and self.features is not None:
            raise InputError(TableMessage.FORMULA_AND_FEATURES)
        if self.exposure and self.family != POISSON.id:
            raise InputError(TableMessage.EXPOSURE_NEEDS_COUNTS)
        if self.covariates_are_public:
            self._check_covariates()
        for name in self.weighing:
            self._check_weights(name)
        if self.person:
            self._check_person()

    @property
    def covariates_are_public(self) -> bool:
        """Return whether the covariates of private rows were declared public."""
        return self.covariates == "public"

    @property
    def groups(self) -> str:
        """Return the public column by which errors are clustered, else the identifier; empty for none."""
        several = self.person_rows > 1 and self.person_rule == FIRST
        return self.cluster or (self.person if several else "")

    @property
    def weighing(self) -> tuple[str, ...]:
        """Return the columns whose product says how much a row counts."""
        return tuple(name for name in (self.weights, self.exposure) if name)

    @property
    def beside_features(self) -> tuple[str, ...]:
        """Return the columns that say whose a row is, how much it counts, or what its group is: no features."""
        return tuple(name for name in (self.person, *self.weighing, self.cluster) if name)

    def _check_covariates(self) -> None:
        if self.family != GAUSSIAN.id:
            raise InputError(TableMessage.COVARIATES_NEED_LINEAR)
        if self.person and self.person_rule != FIRST:
            raise InputError(TableMessage.COVARIATES_OF_MEANS)

    def _check_weights(self, name: str) -> None:
        if name in (self.target, self.person, *(self.features or ())):
            raise InputError(TableMessage.WEIGHTS_ARE_NO_FEATURE, column=name)
        if self.weights == self.exposure:
            raise InputError(TableMessage.EXPOSURE_WEIGHS, column=name)
        if self.person and self.person_rule != FIRST:
            raise InputError(TableMessage.WEIGHTS_OF_MEANS)
        if self.missing == "refuse":
            raise InputError(TableMessage.WEIGHTS_REFUSE_NO_ROW)

    def _check_person(self) -> None:
        if self.person in (self.target, *(self.features or ())):
            raise InputError(TableMessage.PERSON_IS_NO_FEATURE, column=self.person)
        if self.unit is not None and self.unit.rule != FIRST and self.family != GAUSSIAN.id:
            raise InputError(TableMessage.MEAN_OF_LABELS)
        if "refuse" in (self.missing, self.unseen) and self.unit is not None:
            raise InputError(TableMessage.PEOPLE_REFUSE_NO_ROW)

    @property
    def unit(self) -> Unit | None:
        """Return the unit of protection that an identifier column keeps; ``None`` without one."""
        return Unit(self.person_rows, self.person, self.person_rule) if self.person else None

    def of_person(self, unit: Unit) -> Choices:
        """Return the same choices with this identifier column, which is then no feature.

        Raises:
            InputError: it is the target, or does not go with other choices.
        """
        features = None if self.features is None else tuple(name for name in self.features if name != unit.column)
        return replace(self, features=features, person=unit.column, person_rows=unit.rows, person_rule=unit.rule)

    def of_named_person(self, unit: Unit) -> Choices:
        """Return :meth:`of_person` where features and person were both named by the user.

        Raises:
            InputError: the column is a feature, which would be left out in silence; or as there.
        """
        if unit.column in (self.features or ()):
            raise InputError(TableMessage.PERSON_IS_NO_FEATURE, column=unit.column)
        return self.of_person(unit)

    @property
    def model(self) -> Family:
        """Return the family."""
        return family(self.family)

    @property
    def target_kind(self) -> Kind:
        """Return how a response is read: as a number, as one with a sign, or as a label regardless of capitals."""
        kind = self.kinds.get(self.target, "number")
        labels = self.model.binary or self.positive is not None
        stated = number_format(kind) is not None or (kind == "caseless" and labels)
        return kind if stated and not self.formula else "number"

    @property
    def penalty(self) -> float:
        """Return the ridge penalty that was chosen as part of what is fitted; 0 for none and for the default one."""
        return self.lam or 0.0

    @property
    def is_weakly_penalized(self) -> bool:
        """Return whether what is fitted has the default penalty of labels and counts."""
        return self.lam is None and self.family != GAUSSIAN.id

    def still_changed(self, before: Choices, after: Choices) -> bool:
        """Return whether each field that a change from one to another of these choices moved is moved here too."""
        moved = [name for name, value in vars(before).items() if vars(after)[name] != value]
        return all(vars(self)[name] != vars(before)[name] for name in moved)

    def taken_back(self, before: Choices, after: Choices) -> Choices | None:
        """Return these choices without one change; ``None`` where later ones moved its fields on, or depend on it."""
        moved = [name for name, value in vars(before).items() if vars(after)[name] != value]
        if any(vars(self)[name] != vars(after)[name] for name in moved):
            return None
        try:
            return replace(self, **{name: vars(before)[name] for name in moved})
        except InputError:  # what was chosen since does not fit without it
            return None

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back. Later fields are left out at their default."""
        usual = {"covariates": COVARIATES[0]}
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in _LATER or value not in ("", usual.get(name, ""))
        }

    @classmethod
    def of(cls, face: object, target: str | None, formula: str | None, **others: object) -> Choices:
        """Return the choices that parsed arguments or an estimator have as attributes; ``None`` means the default.

        Args:
            face: an object with the fields of :data:`SAME_ON_ALL_FACES`, or some of them.
            target: the response; that of the formula where there is one.
            formula: in place of target and features.
            others: the other fields.
        """
        if formula is not None:
            from pmtcore.tables.formula import target_of  # noqa: PLC0415  # which needs the tables

            target, others["formula"] = target_of(formula), formula
        others["target"] = target
        chosen = {name: getattr(face, name, None) for name in SAME_ON_ALL_FACES}
        fields: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        return cls(**fields | others)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Choices:
        """Read choices from plain fields, as JSON keeps them.

        Raises:
            InputError: a field is missing, unknown or out of range.
        """
        with reraised_as(InputError(TableMessage.CHOICES_UNREADABLE), TypeError, AttributeError):
            chosen = dict(fields)
            features = chosen.get("features")
            chosen["features"] = None if features is None else tuple(map(str, features))
            chosen["levels"] = {name: tuple(levels) for name, levels in chosen.get("levels", {}).items()}
            return cls(**chosen)


def levels_from_text(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Read declared categories, codes for missing values, or a cap, from lines such as ``town = north | south | west``.

    Raises:
        InputError: a line of another form, or a second one about a column.
    """
    by_column: dict[str, tuple[str, ...]] = {}
    for line in lines:
        name, _, levels = line.partition("=")
        if name.strip() in by_column:
            raise InputError(TableMessage.DECLARED_TWICE, column=name.strip())
        by_column[name.strip()] = tuple(part.strip() for part in levels.split("|") if part.strip())
        if not by_column[name.strip()]:
            raise InputError(TableMessage.CATEGORIES_FORM, given=line.strip())
    return by_column


def kinds_from_text(lines: Iterable[str]) -> dict[str, str]:
    """Return declared kinds of columns from lines such as ``code = level``.

    Raises:
        InputError: a line of another form, or a second one about a column.
    """
    kinds: dict[str, str] = {}
    for line in lines:
        name, _, kind = line.partition("=")
        if name.strip() in kinds:
            raise InputError(TableMessage.DECLARED_TWICE, column=name.strip())
        if kind.strip() not in KINDS and not kind.strip().startswith(LIKE):
            raise InputError(TableMessage.KINDS_FORM, allowed=OFFERED, given=line.strip())
        kinds[name.strip()] = kind.strip()
    return kinds
