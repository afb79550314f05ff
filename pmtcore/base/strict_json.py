"""JSON that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any

_DIGITS = 300  # of a whole number; longer ones are no floating-point number either


def parsed(data: str | bytes) -> Any:
    """What a JSON text holds.

    Raises:
        ValueError: not JSON, nested too deep to be read, with a whole number that no float can hold, or with a name
            twice in one object, of which other readers might take the other.
    """
    try:
        return json.loads(data, parse_int=_whole, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice in one object")
    return found


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError("a whole number of too many digits")
    return int(text)
