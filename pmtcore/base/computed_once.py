"""Values that are computed once for an object and go when it does: what follows from public data, above all."""

from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary

Owner = TypeVar("Owner")
Value = TypeVar("Value")
Rest = ParamSpec("Rest")
Function = Callable[Concatenate[Owner, Rest], Value]


def computed_once(most: int) -> Callable[[Function[Owner, Rest, Value]], Function[Owner, Rest, Value]]:
    """Return a decorator: a function's value is computed once for its first argument and the others together.

    The first argument is known by identity, and no value may hold it; the others are compared, and are public: what
    is kept outlives a session.

    Args:
        most: values of one object that are kept; beyond, they are forgotten together.
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
