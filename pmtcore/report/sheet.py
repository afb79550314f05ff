"""A table as a file that a spreadsheet may open."""

import numpy as np
import pandas as pd

from pmtcore.base.escaping import cell


def csv(table: pd.DataFrame) -> str:
    """Write comma-separated values with a header; text that looks like a formula is quoted, numbers stay numbers."""
    shown = table.copy()
    for at, kind in enumerate(table.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            column = [cell(value) if isinstance(value, str) else value for value in table.iloc[:, at]]
            shown.isetitem(at, np.asarray(column, dtype=object))
    shown.columns = [cell(str(name)) for name in table.columns]
    return str(shown.to_csv(index=False))
