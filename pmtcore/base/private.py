"""A box for figures that were computed from private rows without noise.

A figure is *public* (computed from public rows, sizes, chosen parameters), *released* (the output of a
mechanism; its cost is stated) or *private*. The third kind is a type of its own, :class:`Private`: a box that prints
nothing, converts to nothing, and can be neither pickled nor serialized. There are two ways out of the box, and a test
names every module that may use them: a mechanism adds noise, or a :class:`Curator` looks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, NoReturn, TypeVar

import numpy as np

from pmtcore.base.labels import Label

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Curator:
    """Somebody who holds the private rows anyway and looks at an exact figure, for a stated purpose."""

    purpose: str


class Private(Generic[T]):
    """A value computed from private rows without noise."""

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    def map(self, function: Callable[[T], U]) -> Private[U]:
        """Compute on, staying private."""
        with np.errstate(all="ignore"):  # whether something overflowed is private too
            return Private(function(self._value))

    def bind(self, function: Callable[[T], Private[U]]) -> Private[U]:
        """Compute on with what gives a box itself, as a pass over private rows does."""
        return function(self._value)

    def zip(self, other: Private[U]) -> Private[tuple[T, U]]:
        """Both values in one box."""
        return Private((self._value, other._value))

    def reveal(self, curator: Curator) -> T:
        """Return the bare value, for the curator's own eyes."""
        if not isinstance(curator, Curator):
            raise TypeError("a private figure is shown to a curator only")
        return self._value

    def __repr__(self) -> str:
        return f"<{Label.PRIVATE.value}>"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("a private figure cannot be converted, compared, copied or stored")

    __float__ = __int__ = __index__ = __complex__ = __bool__ = __iter__ = __len__ = __array__ = _refuse
    __eq__ = __lt__ = __gt__ = __le__ = __ge__ = __add__ = __sub__ = __mul__ = __truediv__ = _refuse
    __reduce__ = __reduce_ex__ = __copy__ = __deepcopy__ = __getstate__ = _refuse
    __hash__ = None  # type: ignore[assignment]
