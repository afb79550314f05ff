"""Strict parsing of JSON from others, and the type of the JSON that this program writes."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

# Type of what records consist of. Data read from elsewhere are typed Any until they are checked.
Json: TypeAlias = "bool | int | float | str | Sequence[Json] | Mapping[str, Json] | None"

# Digits of a whole number; a longer one overflows a floating-point number too.
_MOST_DIGITS = 300


def parse_json(data: str | bytes) -> Any:  # noqa: ANN401
    """Parse a JSON text.

    Raises:
        ValueError: not JSON, nested too deep to be read, with a whole number that no float can represent, or with a
            name twice in one object, of which other readers might take the other.
    """
    try:
        return json.loads(data, parse_int=_whole_number, object_pairs_hook=_unique_names)
    except RecursionError:
        raise ValueError("nested too deep") from None


def parse_json_object(data: str | bytes) -> dict[str, Any]:
    """Parse the text of one JSON object.

    Raises:
        ValueError: as :func:`parse_json`, or JSON of another form.
    """
    fields = parse_json(data)
    if not isinstance(fields, dict):
        raise ValueError("not an object")
    return fields


def _unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise ValueError("a name twice in one object")
    return fields


def _whole_number(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("a whole number of too many digits")
    return int(text)
