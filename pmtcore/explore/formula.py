"""``y ~ a + b + a:b``: a response and features by name; names with other characters in backticks or as they are."""

from __future__ import annotations

from collections.abc import Sequence

from pmtcore.base.checks import InputError, listed

_MOST = 20_000  # characters: every column of the widest record named once


def read(formula: str, names: Sequence[str], given: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    """Response, features in the order given, and whether there is an intercept.

    ``.`` stands for all given columns but the response; ``-1`` or ``+ 0`` leaves the intercept out; ``a:b`` is the
    derived column of that name, in either order.

    Raises:
        InputError: no tilde, an unknown name, or a column twice.
    """
    if len(formula) > _MOST or formula.count("~") != 1:
        raise InputError("A formula has one tilde, as in 'y ~ a + b + a:b'.")
    left, right = formula.split("~")
    response = name_of(left.strip(), names)
    features: list[str] = []
    intercept = True
    for term in _terms(right, names):
        if term in ("0", "-1"):
            intercept = False
        elif term == ".":
            features += [name for name in given if name != response and name not in features]
        elif term != "1":
            features.append(name_of(term, names))
    twice = [name for name in features if features.count(name) > 1 or name == response]
    if twice:
        raise InputError(f"The formula has {listed(sorted(set(twice)))} twice.")
    return response, tuple(features), intercept


def name_of(text: str, names: Sequence[str]) -> str:
    """The column that a text names.

    Raises:
        InputError: none.
    """
    plain = text.strip()
    if plain in names:
        return plain
    plain = plain.replace("`", "")
    if plain in names:
        return plain
    parts = [part.strip() for part in plain.split(":")]
    for other in (":".join(parts), ":".join(reversed(parts))):
        if other in names:
            return other
    if ":" in plain and all(part in names for part in parts):
        raise InputError(
            f"The record has no product {plain[:80]!r}: products are declared before the release "
            f"(--set derived='{plain[:80]}')."
        )
    raise InputError(f"The record has no column {plain[:80]!r}; it has {listed(names, 12)}.")


def _terms(text: str, names: Sequence[str]) -> list[str]:
    """Terms between pluses; a plus or minus inside a name that the record has stays in it."""
    if text.strip() in names:
        return [text.strip()]
    found, kept, quoted = [], "", False
    for sign in text:
        quoted ^= sign == "`"
        if sign == "+" and not quoted:
            found.append(kept.strip())
            kept = ""
        elif sign == "-" and not quoted and kept.strip() in ("", ".", *names):
            found.append(kept.strip())
            kept = "-"
        else:
            kept += sign
    found.append(kept.strip())
    return [term.replace("- 1", "-1") for term in found if term]
