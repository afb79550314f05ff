"""Refusals of questions about a result, each with a kind that code reads and a sentence that people read."""

from __future__ import annotations

from enum import Enum
from typing import Any

from pmtcore.base.checks import InputError
from pmtcore.base.messages import Message


class Refusal(Enum):
    """Why a question about a result, a formula or a set of moments has no answer."""

    SCORE = "score"
    LEVEL = "level"
    CONSTRAINTS = "constraints"
    NO_COVARIANCE = "no covariance"
    NO_DESIGN = "no design"
    NO_RECORD = "no record"
    NEWER_RECORD = "newer record"
    NO_FORMULA = "no formula"
    FIXED_EFFECTS = "fixed effects"
    UNKNOWN_COLUMN = "unknown column"
    NOT_ROW_BY_ROW = "not row by row"
    REPEATED_COLUMN = "repeated column"
    COLUMN_NAMES = "column names"
    INSTRUMENTS = "instruments"
    NOT_NESTED = "not nested"
    UNLIKE_MOMENTS = "unlike moments"
    OVERLAPPING_TABLES = "overlapping tables"
    WEIGHTS = "weights"
    CLUSTERS = "clusters"
    EXPOSURE = "exposure"
    PUBLIC_COVARIATES = "public covariates"


class RefusedError(InputError):
    """Bad input with a kind.

    Attributes:
        kind: the class of questions that have no answer; ``message`` says which sentence.
    """

    kind: Refusal

    def __init__(self, kind: Refusal, message: Message | str, /, **facts: Any) -> None:
        super().__init__(message, **facts)
        self.kind = kind


class CapError(InputError):
    """A ledger's cap refuses a spend; nothing was released."""
