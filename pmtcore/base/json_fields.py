"""Dataclasses as plain JSON fields and back, by the names and types that they declare."""

from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from types import NoneType, UnionType
from typing import Any, Self, get_args, get_origin, get_type_hints

import numpy as np

from pmtcore.base.exports import plain_json

# Metadata of a field that is left out at its default, so that records of before the field stay the same to the byte.
OPTIONAL = {"optional": True}


class JsonFields:
    """A dataclass that is stored as its fields by name, in the order of their declaration.

    >>> from dataclasses import dataclass, field
    >>> @dataclass
    ... class Pair(JsonFields):
    ...     names: tuple[str, ...]
    ...     weight: float = 1.0
    ...     note: str | None = field(default=None, metadata=OPTIONAL)
    >>> Pair(("a", "b")).as_dict()
    {'names': ['a', 'b'], 'weight': 1.0}
    >>> Pair.from_dict({"names": ["a", "b"], "weight": 2})
    Pair(names=('a', 'b'), weight=2.0, note=None)
    """

    def as_dict(self) -> dict[str, Any]:
        """Return plain fields; :meth:`from_dict` reads them back.

        Raises:
            TypeError: as :func:`pmtcore.base.exports.plain_json`.
        """
        values = [(item, getattr(self, item.name)) for item in fields(self)]  # type: ignore[arg-type]
        return {item.name: _written(value) for item, value in values if not _is_left_out(item, value)}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Self:
        """Return the record of these plain fields; others are ignored, and a missing one has its default.

        Raises:
            TypeError, ValueError: a value of another type, or a field is missing that has no default.
        """
        kinds = get_type_hints(cls)
        names = [item.name for item in fields(cls) if item.name in given]  # type: ignore[arg-type]
        return cls(**{name: _read_value(given[name], kinds[name]) for name in names})


def _is_left_out(item: Field[Any], value: object) -> bool:
    if "optional" not in item.metadata or isinstance(value, np.ndarray):
        return False
    return bool(value == (item.default if item.default_factory is MISSING else item.default_factory()))


def _written(value: Any) -> Any:  # noqa: ANN401
    """Return a value in plain JSON types, records within it too."""
    if isinstance(value, tuple):
        return [_written(part) for part in value]
    return value.as_dict() if hasattr(value, "as_dict") else plain_json(value)


def _read_value(value: Any, kind: Any) -> Any:  # noqa: ANN401
    """Return a plain value as the declared kind.

    Raises:
        TypeError, ValueError: it is of another type.
    """
    origin, parts = get_origin(kind), get_args(kind)
    if origin is UnionType:
        return None if value is None else _read_value(value, next(part for part in parts if part is not NoneType))
    if hasattr(kind, "from_dict"):
        return kind.from_dict(value)
    if kind is np.ndarray:
        return np.asarray(value, dtype=float)
    if origin is tuple and isinstance(value, list | tuple):
        return tuple(_read_value(part, parts[0]) for part in value)
    if kind is float and type(value) is int:
        return float(value)
    if not isinstance(value, origin or kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"{type(value).__name__} in place of {kind}")
    return value
