"""Responses: numbers as they are, labels as 0 and 1 by a rule that only public data and the user decide."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, Note, TableMessage, TableNote
from pmtcore.glm.families import Family
from pmtcore.tables import cells, schema
from pmtcore.tables.features import Gaps
from pmtcore.tables.kinds import Kind
from pmtcore.tables.schema import Column

_YES = ("1", "yes", "y", "true", "t", "positive", "pos")


@dataclass(frozen=True)
class Coding:
    """How a target column becomes responses.

    Attributes:
        positive: the level that counts as 1; ``None`` for a numeric response.
        others: levels that count as 0; ``None``: every other level does.
        kind: how cells of a numeric response are read; ``caseless`` for labels whatever their capitals and blanks.
    """

    name: str
    family: Family
    positive: str | None = None
    others: tuple[str, ...] | None = None
    kind: Kind = "number"

    @property
    def notes(self) -> tuple[str, ...]:
        """Return which level is modelled, in words."""
        return () if self.positive is None else (Note(TableNote.MODELLED, column=self.name, label=self.positive),)

    def encode(self, column: pa.Array, decimal: str | None) -> tuple[np.ndarray, Gaps]:
        """Return responses (k,), NaN where there is none, and the gaps: a label that is neither counts as missing."""
        if self.positive is None:
            values = Column(self.name, self.kind).read(column, decimal)
            return values, Gaps(np.isnan(values), np.zeros(len(values), dtype=bool))
        codes = cells.codes(column, (self.positive, *(self.others or ())))
        missing = codes == cells.ABSENT
        unseen = (codes == cells.UNSEEN) & (self.others is not None)
        return np.where(missing | unseen, np.nan, (codes == 0).astype(float)), Gaps(missing, unseen)


def coding(
    public: pa.ChunkedArray | None,
    name: str,
    family: Family,
    positive: str | None,
    *,
    decimal: str | None = ".",
    kind: Kind = "number",
) -> Coding:
    """Return the rule for a target column, from public values (``None``: unlabelled) and the user's declaration.

    Raises:
        InputError: a label is wanted and the public values do not say which; text where a number is.
    """
    # A label can be the response of a linear fit too, as a 0/1 column, once a level is named.
    if not family.binary and positive is None:
        if public is not None:
            _check_numbers(public, Column(name, kind), family, decimal)
        return Coding(name, family, kind=kind)
    declared = None if positive is None else cells.canonical(positive)
    if public is None:
        return Coding(name, family, declared or "1", ("0",) if declared is None else None, kind)
    counts, caseless = schema.frequencies(public), kind == "caseless"
    levels = sorted(schema.read_alike(counts) if caseless else counts)
    if declared is not None:
        at = cells.codes(pa.array([declared], pa.large_string()), levels)[0]
        if at < 0:
            raise InputError(TableMessage.NO_SUCH_LABEL, column=name, label=positive)
        return Coding(name, family, levels[at], None, kind)
    if levels and set(levels) <= {"0", "1"}:
        return Coding(name, family, "1", ("0",), kind)
    if len(levels) != 2:
        raise InputError(TableMessage.TOO_MANY_LABELS, column=name, count=len(levels), family=family.title)
    chosen = next((level for level in levels if level.lower() in _YES), _largest(levels))
    return Coding(name, family, chosen, tuple(level for level in levels if level != chosen), kind)


def _check_numbers(public: pa.ChunkedArray, rule: Column, family: Family, decimal: str | None) -> None:
    name, values = rule.name, schema.values(public, rule.kind, decimal)
    if not np.any(np.isfinite(values)):
        text = any(cells.texts(chunk).null_count < len(chunk) for chunk in public.chunks)
        if not text:
            raise InputError(TableMessage.EMPTY_COLUMN, column=name)
    if schema.number_share(public, decimal, rule.kind) < 0.5:
        labels = list(schema.frequencies(public))
        raise InputError(TableMessage.TARGET_IS_TEXT, column=name, levels=labels)
    if family.id == "poisson" and np.any(values < 0):
        raise InputError(TableMessage.NEGATIVE_COUNTS, column=name)


def _largest(levels: list[str]) -> str:
    try:
        return max(levels, key=float)
    except ValueError:
        return levels[-1]
