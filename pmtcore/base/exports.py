"""The gate of every export: plain JSON types, and nothing private."""

import json
import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import numpy as np

from pmtcore.base.private_rows import Private, PrivateRows
from pmtcore.base.strict_json import Json

# Exact types of most values of a record, which are checked first for speed.
_PLAIN = frozenset((type(None), str, bool, int, float))


class PrivateFigureError(TypeError):
    """A private figure was about to leave."""


def plain_json(value: object, name: str = "value") -> Any:  # noqa: ANN401
    """Return the value in plain JSON types; every export passes this gate.

    Raises:
        PrivateFigureError: a private figure; TypeError: a type that is not known to be safe.
    """
    if type(value) in _PLAIN:
        return value
    if isinstance(value, Private | PrivateRows):
        raise PrivateFigureError(f"{name} is private and cannot leave")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist() if value.dtype != object else [plain_json(item, name) for item in value.tolist()]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain_json(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_json(item, name) for item in value]
    raise TypeError(f"{name} has type {type(value).__name__}, which no export accepts")


def json_text(record: Mapping[str, Any]) -> str:
    """Return a record as standard JSON: NaN and infinite values, which it lacks, become null.

    Raises:
        TypeError: as :func:`plain_json`.
    """
    return json.dumps(without_nonfinite(plain_json(dict(record))), indent=2, allow_nan=False)


def without_nonfinite(value: Json) -> Json:
    """Return a value in which NaN and infinities are replaced by None, since JSON has neither."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: without_nonfinite(item) for key, item in value.items()}
    return [without_nonfinite(item) for item in value] if isinstance(value, list | tuple) else value
