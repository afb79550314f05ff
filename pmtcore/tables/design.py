"""Rules by which rows of a table become features, from public data and the user's choices; also for new rows.

The record of a release has its design in plain fields, so that its reader can predict: the columns, how each is read,
levels and reference, the formula with its state from public rows. Nothing in it comes from a private row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pmtcore.base.messages import InputError, TableMessage, reraised_as
from pmtcore.glm.families import family
from pmtcore.tables.choices import Choices
from pmtcore.tables.coder import Coder
from pmtcore.tables.features import Coding, Feature
from pmtcore.tables.kinds import as_kind
from pmtcore.tables.schema import Column
from pmtcore.tables.table import Table

if TYPE_CHECKING:
    from pmtcore.tables.formula import Expansion

_TRUE_TEXTS = ("true", "1")  # the label of a true value, by name or as the number that a formula reads


@dataclass(frozen=True)
class Design:
    """Rules by which rows of tables with these columns become features.

    Attributes:
        coder: of the columns, or of those that the formula makes.
        expansion: the formula with its state; ``None`` without one.
        labels: levels of the public target, where it has labels.
        written: type of these labels in the public rows: ``number``, ``text`` or ``boolean``.
    """

    coder: Coder
    expansion: Expansion | None = None
    labels: tuple[str, ...] = ()
    written: str = "number"

    @property
    def inputs(self) -> tuple[str, ...]:
        """Return the columns of a table that are used for features."""
        return self.coder.columns(labelled=False, weighted=False) if self.expansion is None else self.expansion.inputs

    def features(self, rows: Table) -> tuple[np.ndarray, np.ndarray]:
        """Return features (k, d) of new rows, and whether each row (k,) is complete.

        Raises:
            InputError: a column is missing.
        """
        missing = [name for name in self.inputs if name not in rows.columns]
        if missing:
            raise InputError(TableMessage.NEW_ROWS_LACK_COLUMNS, columns=missing, needed=self.inputs)
        source = rows.source if self.expansion is None else self.expansion.source(rows.source)
        coder = replace(self.coder, decimal=rows.dialect.decimal_mark(source.separator))
        blocks = source.blocks(coder.columns(labelled=False, weighted=False), rows.dialect)
        parts = [coder.rows(block, labelled=False, weighted=False) for block in blocks]
        return np.vstack([part.x for part in parts]), np.concatenate([part.complete for part in parts])

    def classes(self) -> np.ndarray:
        """Return the two labels (2,), the one that counts as 1 last, in their type in the public rows."""
        coding = self.coder.target
        positive = coding.positive or "1"
        others = coding.others or tuple(label for label in self.labels if label != positive)
        pair = [others[0] if len(others) == 1 else f"not {positive}", positive]
        if self.written == "boolean":
            return np.asarray([label in _TRUE_TEXTS for label in pair])
        if self.written == "text":
            return np.asarray(pair, dtype=object)
        try:
            return np.asarray([int(label) for label in pair])
        except ValueError:
            return np.asarray(pair, dtype=object)

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back."""
        coder = self.coder
        target = coder.target
        return {
            "columns": [_feature_fields(feature) for feature in coder.features],
            "intercept": coder.choices.intercept,
            "missing": coder.choices.missing,
            "kept": None if coder.used_columns is None else list(coder.used_columns),
            "decimal": coder.decimal,
            "target": {
                "name": target.name,
                "family": target.family.id,
                "positive": target.positive,
                "others": None if target.others is None else list(target.others),
                "labels": list(self.labels),
                "written": self.written,
                **({} if target.kind == "number" else {"kind": target.kind}),
            },
            "formula": None if self.expansion is None else self.expansion.as_dict(),
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Design:
        """Return the design in plain fields.

        Raises:
            InputError: they have another form.
        """
        with reraised_as(InputError(TableMessage.DESIGN_UNREADABLE), KeyError, TypeError, ValueError, AttributeError):
            features = tuple(_feature(one) for one in fields["columns"])
            target = fields["target"]
            choices = Choices(
                target=str(target["name"]),
                intercept=bool(fields["intercept"]),
                missing=str(fields["missing"]),
                family=str(target["family"]),
            )
            others = None if target["others"] is None else tuple(map(str, target["others"]))
            kind = as_kind(str(target.get("kind", "number")))
            coding = Coding(str(target["name"]), family(str(target["family"])), target["positive"], others, kind)
            columns = None if fields["kept"] is None else tuple(int(j) for j in fields["kept"])
            coder = Coder(features, choices, coding, fields["decimal"], columns)
            labels, written = tuple(map(str, target["labels"])), str(target.get("written", "number"))
            if fields.get("formula") is None:
                return cls(coder, None, labels, written)
            from pmtcore.tables.formula import Expansion  # noqa: PLC0415  # formulaic is slow to load

            return cls(coder, Expansion.from_dict(fields["formula"]), labels, written)


def _feature_fields(feature: Feature) -> dict[str, Any]:
    """Return a feature in plain fields."""
    fields: dict[str, Any] = {"name": feature.name, "kind": feature.column.kind}
    if feature.dummies is None:
        return {**fields, "fill": feature.fill if np.isfinite(feature.fill) else None}
    return {
        **fields,
        "levels": list(feature.column.levels),
        "dummies": list(feature.dummies),
        "merged": sorted(feature.merged),
        "home": feature.other_level,
        "reference": feature.reference,
    }


def _feature(fields: Mapping[str, Any]) -> Feature:
    """Return the feature in plain fields."""
    name, kind = str(fields["name"]), fields["kind"]
    if "dummies" not in fields:
        fill = fields.get("fill")
        return Feature(Column(name, kind), float("nan") if fill is None else float(fill))
    other_level = fields["home"]
    return Feature(
        Column(name, kind, tuple(map(str, fields["levels"]))),
        0.0,
        tuple(map(str, fields["dummies"])),
        frozenset(map(str, fields["merged"])),
        None if other_level is None else str(other_level),
        str(fields["reference"]),
    )
