"""JSON that somebody else wrote."""

from __future__ import annotations

import json
from typing import Any

_DIGITS = 300  # of a whole number; longer ones are no floating-point number either


def parsed(data: str | bytes) -> Any:
    """What a JSON text holds.

    Raises:
        ValueError: not JSON, nested too deep to be read, or with a whole number that no float can hold.
    """
    try:
        return json.loads(data, parse_int=_whole)
    except RecursionError:
        raise ValueError("nested too deep") from None


def _whole(text: str) -> int:
    if len(text) > _DIGITS:
        raise ValueError("a whole number of too many digits")
    return int(text)
