"""Tables of several fits side by side, as of Stata's esttab and fixest's etable: releases, public and other fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pandas as pd

from pmtcore.base.arguments import checked
from pmtcore.base.messages import FaceMessage, InputError, reraised_as
from pmtcore.base.results import statsmodels_name

if TYPE_CHECKING:
    from great_tables import GT

_STARS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_ALIASES = {"const": "Intercept", "_cons": "Intercept"}  # statsmodels' array face, and Stata


@checked
def etable(*fits: object, titles: Sequence[str] | None = None, digits: int = 3) -> pd.DataFrame:
    """Return fits side by side: a coefficient with its stars, its standard error in brackets below, R^2 and n last.

    Args:
        fits: releases, estimators, regressions from a moment, and whatever has ``params``, ``bse`` and ``pvalues`` by
            name, as fits of statsmodels have; or one list of them.
        titles: a heading for each; ``None``: (1), (2), ...
        digits: significant ones.

    Raises:
        InputError: no fits, another number of titles, or an object without coefficients by name.
    """
    if len(fits) == 1 and isinstance(fits[0], list | tuple):
        fits = tuple(fits[0])
    if not fits or (titles is not None and len(titles) != len(fits)):
        raise InputError(FaceMessage.TITLES_FORM)
    headings = list(titles) if titles is not None else [f"({at})" for at in range(1, len(fits) + 1)]
    columns = [_column(fit, digits) for fit in fits]
    order = dict.fromkeys(name for column in columns for name in column if name[0] not in _LAST_STATISTICS)
    rows = [*(name for name in order if name[0] != "Intercept"), *(name for name in order if name[0] == "Intercept")]
    rows += [(name, "") for name in _LAST_STATISTICS if any((name, "") in column for column in columns)]
    index = pd.MultiIndex.from_tuples(rows, names=["", "stat"])
    return pd.DataFrame([[column.get(row, "") for column in columns] for row in rows], index=index, columns=headings)


@checked
def great_table(*fits: object, titles: Sequence[str] | None = None, digits: int = 3) -> GT:
    """Return the same as a table of great-tables, for HTML and LaTeX; needs the extra ``tables``.

    Raises:
        InputError: as :func:`etable`, or great-tables is not installed.
    """
    with reraised_as(InputError(FaceMessage.NO_TABLES_EXTRA), ImportError):
        from great_tables import GT  # noqa: PLC0415  # an extra
    frame = etable(*fits, titles=titles, digits=digits).reset_index()
    frame[""] = frame[""].where(frame["stat"] != "se", "")
    return GT(frame.drop(columns="stat"), rowname_col="")


_LAST_STATISTICS = ("R2", "N")


def _column(fit: object, digits: int) -> dict[tuple[str, str], str]:
    """Return cells of one fit by row."""
    with reraised_as(InputError(FaceMessage.NOT_A_FIT, given=type(fit).__name__), AttributeError):
        params, errors, p = (pd.Series(getattr(fit, name)) for name in ("params", "bse", "pvalues"))
    cells: dict[tuple[str, str], str] = {}
    for name in params.index:
        row = _ALIASES.get(str(name), statsmodels_name(str(name)))
        stars = next((mark for level, mark in _STARS if p[name] < level), "")
        cells[row, "coef"] = f"{params[name]:.{digits}g}{stars}"
        cells[row, "se"] = "" if errors[name] != errors[name] else f"({errors[name]:.{digits}g})"
    share = getattr(fit, "rsquared", None)
    if share is not None:
        cells["R2", ""] = f"{share:.{digits}f}"
    n = getattr(getattr(fit, "results_", fit), "nobs", None)
    if n is not None:
        cells["N", ""] = f"{int(n):,}"
    return cells
