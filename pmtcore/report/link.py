"""Public choices in a page's address: those about a table opened by name that differ from its defaults; never data."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmtcore.base.messages import FaceMessage, InputError, parse_number, reraised_as
from pmtcore.report.glossary import term
from pmtcore.tables.choices import COMMON_CHOICES, Choices, kinds_from_text, levels_from_text

_NUMBERS = {"ridge": "public_ridge", "penalty": "lam", "person_rows": "person_rows"}  # name in the link: choice
_TEXTS = (*(name for name in COMMON_CHOICES if name not in _NUMBERS.values()), "formula", "person", "person_rule")
_ALL_COLUMNS = "*"
_WHOLE_NUMBERS = ("n", "m", "d", "kappa_bar", "person_rows")
# Labels, values and help of the settings of the synthetic demo, on pages and in links.
_TEXT = Path(__file__).with_name("demo_knobs.toml").read_text(encoding="utf-8")
KNOBS: dict[str, dict[str, Any]] = tomllib.loads(_TEXT.replace("{kappa_bar}", term("kappa_bar").words))


def demo_knobs(fields: Mapping[str, str]) -> dict[str, float]:
    """Return the places of the demo's knobs that an address names.

    Raises:
        InputError: no number, or a place that the demo does not have.
    """
    knobs = {name: number(name, fields[name]) for name in KNOBS if name in fields}
    for name, value in knobs.items():
        if value not in KNOBS[name]["options"]:
            offered = [f"{one:g}" for one in KNOBS[name]["options"]]
            raise InputError(FaceMessage.LINK_PLACE, name=name, number=value, allowed=offered)
    return knobs


def choices_of(fields: Mapping[str, str], first: Choices, names: Sequence[str]) -> Choices:
    """Return the choices of columns in an address, over the defaults of the table.

    Raises:
        InputError: a column that the table does not have, or a number that is none.
    """
    target, family = fields.get("target", first.target), fields.get("family", first.family)
    chosen = replace(first, target=target, family=family, features=None)
    features = tuple(name for name in fields.get("features", "").split(",") if name)
    unknown = [name for name in (chosen.target, *features) if name not in (*names, _ALL_COLUMNS)]
    if unknown:
        raise InputError(FaceMessage.LINK_COLUMNS, columns=unknown, present=list(names))
    # Without a word about them those that the table starts with; all of them where it starts with fewer.
    usual = None if first.features is None else tuple(name for name in first.features if name != chosen.target)
    given: dict[str, Any] = {"features": None if features == (_ALL_COLUMNS,) else features or usual}
    given |= {name: fields[name] for name in _TEXTS if name in fields}
    given |= {field: number(name, fields[name]) for name, field in _NUMBERS.items() if name in fields}
    given |= {"intercept": fields["intercept"] != "0"} if "intercept" in fields else {}
    given |= {"levels": levels_from_text(fields["levels"].splitlines())} if "levels" in fields else {}
    given |= {"kinds": kinds_from_text(fields["kinds"].splitlines())} if "kinds" in fields else {}
    given |= {"features": None} if given.get("formula") else {}
    return replace(chosen, **given)


def fields_of(choices: Choices, first: Choices) -> dict[str, str]:
    """Return the fields of an address: the choices that differ from the defaults."""
    fields = {n: str(v) for n in ("target", "family", *_TEXTS) if (v := getattr(choices, n)) != getattr(first, n) and v}
    for name, field in _NUMBERS.items():
        value = getattr(choices, field)
        if value is not None and value != getattr(first, field):
            fields[name] = f"{value:g}"
    if choices.intercept != first.intercept:
        fields["intercept"] = "1" if choices.intercept else "0"
    if choices.formula:
        fields["target"] = choices.target
    elif choices.features != first.features:
        fields["features"] = ",".join(choices.features or (_ALL_COLUMNS,))
    if choices.levels != first.levels:
        fields["levels"] = "\n".join(f"{name} = {' | '.join(levels)}" for name, levels in choices.levels.items())
    if choices.kinds != first.kinds:
        fields["kinds"] = "\n".join(f"{name} = {kind}" for name, kind in choices.kinds.items())
    return fields


def number(name: str, text: str) -> float:
    """Return the number that an address has under a name.

    Raises:
        InputError: it is none.
    """
    with reraised_as(InputError(FaceMessage.LINK_NUMBER, name=name, given=text), ValueError):
        value = parse_number(text)
    return int(value) if value.is_integer() and name in _WHOLE_NUMBERS else value
