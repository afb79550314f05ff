"""One check of the types of arguments: by the annotations of the function that takes them.

A value is never quoted by the error unless it is a text, a number or a path: what was given in the place of another
argument may be a table of private rows.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import is_dataclass
from functools import lru_cache, wraps
from numbers import Integral, Real
from typing import Any, Literal, ParamSpec, TypeVar, Union, Unpack, get_args, get_origin, get_type_hints, is_typeddict

from pmtcore.base.messages import ArgumentMessage, InputError

Given = ParamSpec("Given")
Value = TypeVar("Value")

_WORDS = {
    str: "a text",
    float: "a number",
    int: "a whole number",
    bool: "True or False",
    bytes: "bytes",
    types.NoneType: "None",
}


def checked(function: Callable[Given, Value]) -> Callable[Given, Value]:
    """Return the function with a check of its arguments: one of another type than annotated is an InputError."""
    signature = inspect.signature(function)

    @wraps(function)
    def call(*values: Given.args, **named: Given.kwargs) -> Value:
        check_arguments(function, signature.bind(*values, **named).arguments)
        return function(*values, **named)

    return call


def checked_methods(kind: type[Value]) -> type[Value]:
    """Return the class with a check of the arguments of its constructor and of its public methods."""
    for name, method in list(vars(kind).items()):
        is_constructor = name == "__init__" and not is_dataclass(kind)
        if isinstance(method, types.FunctionType) and (not name.startswith("_") or is_constructor):
            setattr(kind, name, checked(method))
        elif isinstance(method, classmethod) and not name.startswith("_"):
            setattr(kind, name, classmethod(checked(method.__func__)))
    return kind


def check_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> None:
    """Refuse arguments of other types than a function's annotations say, before anything is computed from them.

    Args:
        function: takes the arguments; what it does not annotate is not checked.
        arguments: arguments by name.

    Raises:
        InputError: one is of another type.
    """
    hints = _hints(function)
    for name, value in arguments.items():
        hint = hints.get(name, object)
        if get_origin(hint) is Unpack:
            check_arguments(get_args(hint)[0], value)
        elif not _is_a(value, hint):
            raise InputError(ArgumentMessage.WRONG_TYPE, name=name, form=_form(hint), given=value)


@lru_cache(maxsize=512)
def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    """Return the types of a function's arguments, or of the fields of a typed dictionary."""
    if is_typeddict(function):
        return get_type_hints(function)
    function = inspect.unwrap(function)
    annotations = {name: hint for name, hint in function.__annotations__.items() if name != "return"}
    return get_type_hints(types.SimpleNamespace(__annotations__=annotations), function.__globals__)


def _is_a(value: object, hint: Any) -> bool:  # noqa: ANN401
    """Return whether a value is of an annotated type; numpy's numbers and truth values are what Python's are."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return any(_is_a(value, each) for each in of)
    if origin is Literal:
        return any(isinstance(value, type(each)) for each in of)
    if hint is bool:
        return type(value).__name__ in ("bool", "bool_") or (isinstance(value, Integral) and value in (0, 1))
    if hint is float:
        return isinstance(value, Real) and not isinstance(value, bool)
    if hint is int:
        return _is_a(value, float) and (isinstance(value, Integral) or float(value).is_integer())  # type: ignore[arg-type]
    if hint in (Any, object) or getattr(hint, "_is_protocol", False):
        return True
    kind = Mapping if is_typeddict(hint) else origin or hint
    if kind is Callable or not of:
        return isinstance(value, kind)
    if issubclass(kind, Mapping):
        return isinstance(value, Mapping) and all(_is_a(k, of[0]) and _is_a(v, of[1]) for k, v in value.items())
    # A text is not the letters it is made of, a number of numpy cannot be gone through, and of a generator nothing may
    # be taken here.
    if isinstance(value, str | bytes) or getattr(value, "ndim", 1) == 0:
        return False
    if kind is Iterable and not isinstance(value, Collection):
        return isinstance(value, Iterable)
    return isinstance(value, Collection) and all(_is_a(each, of[0]) for each in value)


def _form(hint: Any) -> str:  # noqa: ANN401
    """Return a type in words."""
    origin, of = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return " or ".join(dict.fromkeys(_form(each) for each in of if each is not types.NoneType))
    if origin is Literal:
        return "a text"
    if origin is not None and issubclass(origin, Mapping):
        return "a dictionary by name"
    if origin is not None:
        return "a list"
    return _WORDS.get(hint, f"a {getattr(hint, '__name__', 'value')}")
