"""Choices of the user about the tables: public fields, exported with a configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

from pmtcore.accounting.budgets import FIRST, Unit
from pmtcore.base.messages import InputError, TableMessage, check_encodable, number_between, one_of, reraised_as
from pmtcore.glm.families import GAUSSIAN, POISSON, Family, family
from pmtcore.public.moments import INTERCEPT
from pmtcore.tables.kinds import KINDS, LIKE, OFFERED, Kind, as_kind, number_format

MISSING_POLICIES = ("empty-row", "public-median", "refuse")
UNSEEN_POLICIES = ("other", "refuse")
COLLINEAR_POLICIES = ("drop", "refuse")
COVARIATES = ("private", "public")
# Choices that have the same names and values on the command line and in the estimators.
COMMON_CHOICES = (
    *("missing", "unseen", "public_ridge", "lam", "positive", "collinear"),
    *("covariates", "overlap", "weights", "exposure", "cluster"),
)
# Fields that older requests in ledgers lack; they are left out at their default.
_LATER_FIELDS = ("formula", "weights", "cluster", "exposure", "covariates")


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Choices of the user about the tables; public, and exported with a configuration.

    Attributes:
        target: name of the response.
        features: names of the features; ``None``: all other common columns that can be used.
        intercept: whether there is one.
        missing: treatment of a row that lacks a value. ``refuse`` reveals something about private rows before
            anything is recorded, outside the guarantee; the others never refuse.
        unseen: treatment of a category that the public table does not have; ``refuse`` as above.
        levels: declared categories of a column; for kind ``coded`` the numbers that stand for a missing value;
            for kind ``capped`` the number to which larger ones are reduced.
        public_ridge: added to the public second moment.
        family: of the response.
        lam: ridge penalty of a family other than the linear one; ``None``: a weak prior (decision 0099).
        positive: the label that counts as 1.
        kinds: kinds of columns, in place of those that the public table suggests: numbers, levels (``caseless``:
            levels that differ only in capitals or blanks are one), dates (with slashes ``day-first`` or
            ``month-first``) or numbers with a sign (``percent``, ``euro``, ``dollar``, ``pound``,
            ``like 1.234,50 CHF``).
        collinear: whether columns that are linear combinations of others in the public rows are left out, with a note,
            or refused.
        overlap: the curator's statement about public rows that are private rows too. It is in each record and has no
            other effect.
        person: column of the private table that identifies to whom a row belongs; empty: each row is a unit.
        person_rows, person_rule: how many rows of each person count, and which; see :class:`Unit`.
        formula: such as ``y ~ age + C(sex)``, in place of features; its left side is the target.
        weights: column of the weights of rows, in both tables; empty: equal weights.
        cluster: column of the public table by whose groups standard errors are clustered.
        exposure: column of the time or number that a count refers to, in both tables: rates are modelled.
        covariates: ``public`` is the user's declaration that all columns of private rows but the target are public,
            which methods that protect only the responses require.
    """

    target: str
    features: tuple[str, ...] | None = None
    intercept: bool = True
    missing: str = "empty-row"
    unseen: str = "other"
    levels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    public_ridge: float = 0.0
    family: str = GAUSSIAN.id
    lam: float | None = None
    positive: str | None = None
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
            check_encodable(text)
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
        for name in self.weight_columns:
            self._check_weights(name)
        if self.person:
            self._check_person()

    @property
    def covariates_are_public(self) -> bool:
        """Return whether the covariates of private rows were declared public."""
        return self.covariates == "public"

    @property
    def groups(self) -> str:
        """Return the column by which errors are clustered, also where persons have several rows; empty for none."""
        has_several_rows = self.person_rows > 1 and self.person_rule == FIRST
        return self.cluster or (self.person if has_several_rows else "")

    @property
    def weight_columns(self) -> tuple[str, ...]:
        """Return the columns whose product is the weight of a row."""
        return tuple(name for name in (self.weights, self.exposure) if name)

    @property
    def non_features(self) -> tuple[str, ...]:
        """Return the columns of person, weight, exposure and group, which are not features."""
        return tuple(name for name in (self.person, *self.weight_columns, self.cluster) if name)

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
        """Return the unit of protection given by the column of persons; ``None`` without one."""
        return Unit(self.person_rows, self.person, self.person_rule) if self.person else None

    def of_person(self, unit: Unit) -> Choices:
        """Return the same choices with this column of persons, which is removed from the features.

        Raises:
            InputError: it is the target, or incompatible with other choices.
        """
        features = None if self.features is None else tuple(name for name in self.features if name != unit.column)
        return replace(self, features=features, person=unit.column, person_rows=unit.rows, person_rule=unit.rule)

    def of_named_person(self, unit: Unit) -> Choices:
        """Return :meth:`of_person` where the user named both features and person.

        Raises:
            InputError: the column is a named feature, which must not be removed silently; or as there.
        """
        if unit.column in (self.features or ()):
            raise InputError(TableMessage.PERSON_IS_NO_FEATURE, column=unit.column)
        return self.of_person(unit)

    @property
    def model(self) -> Family:
        """Return the family of the response."""
        return family(self.family)

    @property
    def target_kind(self) -> Kind:
        """Return the kind by which the response is read: number, number with a sign, or label in any capitals."""
        kind = self.kinds.get(self.target, "number")
        labels = self.model.binary or self.positive is not None
        is_usable = number_format(kind) is not None or (kind == "caseless" and labels)
        return kind if is_usable and not self.formula else "number"

    @property
    def penalty(self) -> float:
        """Return the ridge penalty chosen by the user; 0 for none and for the default."""
        return self.lam or 0.0

    @property
    def is_weakly_penalized(self) -> bool:
        """Return whether the fit has the default penalty of labels and counts."""
        return self.lam is None and self.family != GAUSSIAN.id

    def still_changed(self, before: Choices, after: Choices) -> bool:
        """Return whether every choice that differs between ``before`` and ``after`` differs here from ``before`` too.

        A choice is a field, or the entry of a column in a field that has one for each column.
        """
        old, new, current = (choices._by_place() for choices in (before, after, self))
        return all(current.get(at) != old.get(at) for at in old | new if old.get(at) != new.get(at))

    def without_change(self, before: Choices, after: Choices) -> Choices | None:
        """Return these choices with one change undone; ``None`` where later changes altered the same or need it."""
        old, new, current = (choices._by_place() for choices in (before, after, self))
        changed = {at: old.get(at) for at in old | new if old.get(at) != new.get(at)}
        if any(current.get(at) != new.get(at) for at in changed):
            return None
        fields: dict[str, Any] = {name: {} for name, value in vars(self).items() if isinstance(value, Mapping)}
        for (name, column), value in (current | changed).items():
            if column is None:
                fields[name] = value
            elif value is not None:
                fields[name][column] = value
        try:
            return replace(self, **fields)
        except InputError:  # later choices are incompatible without the change
            return None

    def _by_place(self) -> dict[tuple[str, str | None], Any]:
        """Return the choices by field, and by column where a field has an entry for each; no entry is ``None``."""
        return {
            (name, column): one
            for name, value in vars(self).items()
            for column, one in (value.items() if isinstance(value, Mapping) else [(None, value)])
        }

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back. Later fields are left out at their default."""
        defaults = {"covariates": COVARIATES[0]}
        return {
            name: value
            for name, value in asdict(self).items()
            if name not in _LATER_FIELDS or value not in ("", defaults.get(name, ""))
        }

    @classmethod
    def of(cls, face: object, target: str | None, formula: str | None, **others: object) -> Choices:
        """Return the choices in the attributes of parsed arguments or of an estimator; ``None`` means the default.

        Args:
            face: object with attributes named in :data:`COMMON_CHOICES`; it may lack some.
            target: the response; that of the formula where there is one.
            formula: in place of target and features.
            others: the other fields.
        """
        if formula is not None:
            from pmtcore.tables.formula import target_of  # noqa: PLC0415  # imports this module

            target, others["formula"] = target_of(formula), formula
        others["target"] = target
        values = {name: getattr(face, name, None) for name in COMMON_CHOICES}
        fields: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        return cls(**fields | others)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Choices:
        """Return the choices in plain fields, as JSON has them.

        Raises:
            InputError: a field is missing, unknown or out of range.
        """
        with reraised_as(InputError(TableMessage.CHOICES_UNREADABLE), TypeError, AttributeError):
            values = dict(fields)
            features = values.get("features")
            values["features"] = None if features is None else tuple(map(str, features))
            values["levels"] = {name: tuple(levels) for name, levels in values.get("levels", {}).items()}
            return cls(**values)


def levels_from_text(lines: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Parse declared categories, codes for missing values or a cap from lines such as ``town = north | south | west``.

    Raises:
        InputError: a line has another form, or is the second about a column.
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
    """Parse declared kinds of columns from lines such as ``code = level``.

    Raises:
        InputError: a line has another form, or is the second about a column.
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
