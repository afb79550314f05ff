"""Constructors of parameter fields, of each kind and of those that several methods share.

A method declares its parameters as a subclass of :class:`Parameters` with these fields. Forms, the command line's
``--set``, the documentation and the check of a value are all derived from the metadata of a field.
"""

import dataclasses
from dataclasses import dataclass
from typing import TypeVar, dataclass_transform

import numpy as np

from pmtcore.base.messages import InputError, MethodMessage, number_between, one_of, whole_number_between

_LONGEST_TEXT = 10_000  # characters: two hundred derived columns with long names

Value = TypeVar("Value", str, int, float)


def parameter(
    default: Value,
    label: str,
    help: str,
    *,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    log: bool = False,
    automatic: str | None = None,
) -> Value:
    """Return a dataclass field with the metadata by which a form draws it and a check refuses a value.

    Args:
        default: its type is that of the field.
        label: its label in a form.
        help: its meaning, in a sentence.
        low: least value of a number; ``None``: none.
        high: largest value of a number; ``None``: none.
        choices: the texts that may be chosen; empty: any text or number.
        log: whether a form draws it on a logarithmic scale.
        automatic: where 0 means that the plan chooses the value, the name of the public figure with the chosen value,
            or empty where no single figure has it; ``None``: 0 is an ordinary value.
    """
    shown = {"label": label, "help": help, "low": low, "high": high, "choices": choices, "log": log}
    return dataclasses.field(default=default, metadata={**shown, "automatic": automatic})


def choice(label: str, **meanings: str) -> str:
    """Return a field with a few texts to choose from, of which the first is the default.

    Args:
        label: its label in a form.
        meanings: meaning of each choice, without a full stop.
    """
    choices = tuple(meanings)
    help = "; ".join(f"{name}: {meaning}" for name, meaning in meanings.items())
    return parameter(choices[0], label, f"{help}.", choices=choices)


def unset(label: str, help: str, high: float = 1e12, *, automatic: str | None = None) -> float:
    """Return a field of a number from 0 to ``high``, where 0 means that it is not given."""
    return parameter(0.0, label, help, low=0.0, high=high, automatic=automatic)


def penalty(label: str, help: str, high: float = 1e9, *, automatic: str | None = None) -> float:
    """Return a field of a penalty or weight from 0, which is the default, to ``high``, on a logarithmic scale."""
    return parameter(0.0, label, help, low=0.0, high=high, log=True, automatic=automatic)


def truncation_radius() -> float:
    """Return the field of a truncation radius in whitened units."""
    return unset("Radius (0: automatic)", "Truncation radius in whitened units.", 1e6, automatic="radius")


def small_budgets(auto: str, none: str) -> str:
    """Return the field that decides whether released figures are shrunk to the public ones where the noise is large."""
    return choice("Small budgets", auto=f"where the noise is large, {auto}", none=none)


def failure_probability(help: str) -> float:
    """Return the field of the papers' eta."""
    return parameter(0.05, "Failure probability eta", help, low=1e-9, high=0.999, log=True)


def noise_share(label: str, help: str) -> float:
    """Return the field of a perturbed objective's share of the budget that goes to its noise."""
    return parameter(0.5, label, help, low=0.01, high=0.99)


def reporting_delta(default: float, label: str, help: str) -> float:
    """Return the field of a delta at which a budget is stated as epsilon."""
    return parameter(default, label, help, low=1e-12, high=0.1, log=True)


@dataclass_transform(frozen_default=True, kw_only_default=True)
@dataclass(frozen=True, kw_only=True)
class Parameters:
    """Public parameters of a method.

    Subclasses add fields made with :func:`parameter`; each is made a frozen dataclass with keywords alone, so it needs
    no decorator.
    """

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True, kw_only=True)(cls)

    def __post_init__(self) -> None:
        for item in dataclasses.fields(self):
            object.__setattr__(self, item.name, _checked(item, getattr(self, item.name)))


def _checked(item: dataclasses.Field[str | float], value: str | float) -> str | int | float:
    """Return the value in the type of the field's default.

    Raises:
        InputError: a value of another type, out of range, or not among the choices.
    """
    meta = item.metadata
    if isinstance(item.default, str) and not meta["choices"]:
        if len(str(value)) > _LONGEST_TEXT:
            raise InputError(MethodMessage.TEXT_TOO_LONG, name=item.name, limit=_LONGEST_TEXT)
        return str(value)
    if meta["choices"]:
        return one_of(item.name, str(value), meta["choices"])
    low = -np.inf if meta["low"] is None else meta["low"]
    high = np.inf if meta["high"] is None else meta["high"]
    if isinstance(item.default, int):
        return whole_number_between(item.name, value, int(low), int(high))
    return number_between(item.name, value, low, high)
