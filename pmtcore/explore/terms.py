"""Terms of a formula among the columns of a released moment: products, factors and dots, looked up by name."""

from collections.abc import Sequence
from itertools import product

from pmtcore.base.messages import ExploreMessage, Refusal, RefusedError
from pmtcore.tables.formula import Factor, category, columns_of, parse


def read(formula: str, names: Sequence[str], given: Sequence[str]) -> tuple[str, tuple[str, ...], bool]:
    """Return response, features in the order of the formula, and whether there is an intercept.

    ``.`` stands for all given columns but the response; ``C(g)``, or ``g`` alone, for the dummies of g; ``a:b`` for the
    derived column of that name, in either order; ``a*b`` for both and their product.

    Args:
        formula: what the user wrote.
        names: all columns of the record.
        given: those that were given before the release, without derived ones.

    Raises:
        InputError: no formula, an unknown name, or a column twice.
    """
    bases = [base for base in dict.fromkeys(map(category, given)) if base is not None]
    known = [*names, *(base for base in bases if base not in names)]
    asked = parse(formula, known, tuple(given))
    response = column(asked.response, names)
    features: list[str] = []
    for term in asked.terms:
        features += _columns(term, names)
    twice = [name for name in features if features.count(name) > 1 or name == response]
    if twice:
        raise RefusedError(Refusal.REPEATED_COLUMN, ExploreMessage.TERM_TWICE, columns=sorted(set(twice)))
    return response, tuple(features), asked.intercept


def column(name: str, names: Sequence[str]) -> str:
    """Return the column of this name.

    Raises:
        InputError: none.
    """
    if name in names:
        return name
    raise RefusedError(Refusal.UNKNOWN_COLUMN, ExploreMessage.NO_RECORD_COLUMN, column=name[:80], present=names)


def dummies(name: str, names: Sequence[str]) -> list[str]:
    """Return the 0/1 columns that levels of a column have in the record."""
    return [other for other in names if category(other) == name and ":" not in other]


def _columns(term: tuple[Factor, ...], names: Sequence[str]) -> list[str]:
    """Return columns of a term: one for numbers, one for each level of a factor, their products."""
    choices = [_factor(factor, names) for factor in term]
    return [_product(parts, names) for parts in product(*choices)]


def _factor(factor: Factor, names: Sequence[str]) -> list[str]:
    expression = factor.expression
    if factor.is_column:
        return dummies(expression, names) or [column(expression, names)] if expression not in names else [expression]
    compact = expression.replace(" ", "")
    matching = [name for name in names if name.replace(" ", "") == compact]
    if matching:
        return matching
    used = columns_of(expression)
    if expression.startswith("C(") and len(used) == 1:
        levels = dummies(used[0], names)
        if levels:
            return levels
        raise RefusedError(Refusal.UNKNOWN_COLUMN, ExploreMessage.NO_DUMMIES, column=used[0][:80])
    raise RefusedError(Refusal.UNKNOWN_COLUMN, ExploreMessage.UNDECLARED_FUNCTION, expression=expression[:80])


def _product(parts: tuple[str, ...], names: Sequence[str]) -> str:
    """Return the derived column that is the product of these."""
    if len(parts) == 1:
        return parts[0]
    for name in (":".join(parts), ":".join(reversed(parts))):
        if name in names:
            return name
    raise RefusedError(Refusal.UNKNOWN_COLUMN, ExploreMessage.UNDECLARED_PRODUCT, expression=":".join(parts)[:80])
