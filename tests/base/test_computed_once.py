"""What is computed once for an object: by all its arguments, bounded, and gone with the object."""

from __future__ import annotations

import gc
import weakref

from pmtcore.base.computed_once import computed_once


class Owner:
    """Compared by identity."""


def test_a_value_is_computed_once_for_its_arguments():
    """Another object, and another argument by place or by name, has a value of its own."""
    calls = []

    @computed_once(most=10)
    def value(owner: Owner, n: int, scale: float = 1.0) -> float:
        """Return a product."""
        calls.append((n, scale))
        return n * scale

    one, other = Owner(), Owner()
    assert [value(one, 2), value(one, 2), value(one, 2, scale=3.0), value(one, 3), value(other, 2)] == [2, 2, 6, 3, 2]
    assert calls == [(2, 1.0), (2, 3.0), (3, 1.0), (2, 1.0)]
    assert value.__doc__ == "Return a product."


def test_what_is_kept_is_bounded_and_goes_with_the_object():
    """Beyond the number that is kept all values of the object are forgotten; the object itself is not held."""
    calls = []

    @computed_once(most=2)
    def value(owner: Owner, n: int) -> int:
        calls.append(n)
        return n

    owner = Owner()
    for n in (1, 2, 1, 3, 1):
        value(owner, n)
    assert calls == [1, 2, 3, 1]
    known = weakref.ref(owner)
    del owner
    gc.collect()
    assert known() is None
