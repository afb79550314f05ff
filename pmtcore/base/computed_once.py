"""Cache of values per object, dropped together with the object; mostly for values computed from public data."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
Value = TypeVar("Value")
Rest = ParamSpec("Rest")
Function = Callable[Concatenate[Owner, Rest], Value]


def computed_once(most: int) -> Callable[[Function[Owner, Rest, Value]], Function[Owner, Rest, Value]]:
    """Return a decorator that caches a function's value for its first argument together with the others.

    The first argument is compared by identity, and no value may refer to it. The others are compared by value and must
    be public, since the cache outlives a session.

    Args:
        most: most values stored for one object; when these are exceeded, all of them are dropped.
    """

    def decorate(function: Function[Owner, Rest, Value]) -> Function[Owner, Rest, Value]:
        values: WeakKeyDictionary[Owner, dict[object, Value]] = WeakKeyDictionary()

        @wraps(function)
        def compute(owner: Owner, /, *rest: Rest.args, **named: Rest.kwargs) -> Value:
            known, key = values.setdefault(owner, {}), (rest, tuple(named.items()))
            if key not in known:
                if len(known) >= most:
                    known.clear()
                known[key] = function(owner, *rest, **named)
            return known[key]

        return compute

    return decorate
