"""The record of a release in plain fields: the contract of the command line's JSON, of files and of the ledger."""

from typing import Any, NotRequired, TypedDict


class ReleaseRecord(TypedDict):
    """A release in plain fields, as the command line prints and a ledger keeps them (docs/record.schema.json).

    Fields that are not required came with version 2, with a ledger, with a study
    among sites, or with an application that can show exact private figures.
    """

    format: NotRequired[str]
    version: NotRequired[int]
    date: NotRequired[str]
    software: NotRequired[str]
    method: str
    title: str
    standing: str
    standing_reasons: list[str]
    target: str
    coefficients: dict[str, float]
    bands: dict[str, dict[str, float]]
    guarantee: dict[str, Any]
    guarantee_in_words: str
    parameters: dict[str, Any]
    n: int
    public_rows: int | None
    seed: int | None
    parts: NotRequired[list[dict[str, Any]]]
    public: dict[str, Any]
    released: dict[str, Any]
    notes: list[str]
    inference: NotRequired[dict[str, Any]]
    design: NotRequired[dict[str, Any]]
    rows_disagree: NotRequired[bool]
    ledger: NotRequired[dict[str, Any]]
    ledger_key: NotRequired[str]
    study: NotRequired[dict[str, Any]]
    exact_figures_shown: NotRequired[bool]
