"""A table as a file that a spreadsheet may open."""

import numpy as np
import pandas as pd

from pmtcore.base.escaping import cell
from pmtcore.base.numbers import with_equal_decimals

# Columns of a value and of its limits.
_WITH_LIMITS = (("value", "low", "high"), ("value", "low (95 %)", "high (95 %)"))


def csv_text(table: pd.DataFrame) -> str:
    """Write comma-separated values with a header; text that looks like a formula is quoted, numbers stay numbers."""
    shown = table.copy()
    for at, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            column = [cell(value) if isinstance(value, str) else value for value in table.iloc[:, at]]
            shown.isetitem(at, np.asarray(column, dtype=object))
    shown.columns = [cell(str(name)) for name in table.columns]
    return str(shown.to_csv(index=False))


def values_with_limits(table: pd.DataFrame) -> dict[str, dict[float, str]]:
    """Return values and their limits as they are written, by column and number; a row has equally many decimals.

    Empty for a table without a value and two limits.

    >>> values_with_limits(pd.DataFrame({"value": [1.0291], "low": [1.02328], "high": [1.035]}))["value"]
    {1.0291: '1.0291'}
    """
    names = next((names for names in _WITH_LIMITS if set(names) <= set(table)), None)
    if names is None:
        return {}
    written: dict[str, dict[float, str]] = {name: {} for name in names}
    for row in table[list(names)].itertuples(index=False):
        for name, number, text in zip(names, row, with_equal_decimals(*map(float, row)), strict=True):
            written[name][float(number)] = text
    return written
