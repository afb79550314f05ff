"""The demo table of the repository, recognised by its cells: made up, so a release from it costs nobody anything."""

import hashlib

import numpy as np

from pmtcore.tables.cells import numbers
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.table import Table

# The shape of assets/demo-private.csv.
COLUMNS = ("x1", "x2", "x3", "x4", "x5", "y")
ROWS = 2000  # of the same file
# Of assets/demo-private.csv, as :func:`_digest` computes it.
_DIGEST = "0ecf6b774aebadd3592d0c059799393f40f49234317417f7d995dec1f480617d"
# Readers of CSV differ in the last bit of a number; a ten-thousandth is the same in all of them.
_STEPS = 1e4


def is_demo(table: Table) -> bool:
    """Return whether a private table is the demo, from a file or a frame.

    Names and the number of rows are compared first, so that no other table is looked at.
    """
    if table.columns != COLUMNS or table.source.rows(Dialect()) != ROWS:
        return False
    return _digest(table) == _DIGEST


def _digest(table: Table) -> str:
    """Return the digest of the numbers, row by row, whatever the table is read from."""
    digest = hashlib.sha256(repr(table.columns).encode())
    for block in table.source.blocks(COLUMNS, Dialect()):
        values = np.column_stack([numbers(block.columns[name], None) for name in COLUMNS])
        digest.update(np.rint(np.nan_to_num(values) * _STEPS).astype(np.int64).tobytes())
    return digest.hexdigest()
