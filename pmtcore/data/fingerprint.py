"""The cells of a private table as keyed hashes, for the ledger's fingerprint: each cell by itself, no cell refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pmtcore.data.cells import numbers, texts
from pmtcore.data.dialect import Dialect
from pmtcore.data.tables import Table
from pmtcore.ledger.fingerprint import MOST_COLUMNS, Cells, mixed

_MOST_CELLS = 20_000_000  # 160 MB of hashes; of a larger table the rows that the key chooses
_DIGITS = 5  # significant: what single precision and %.6g keep
_FOREIGN = r"[^\x21-\x7e]"


def hashed(table: Table, key: bytes) -> Cells:
    """Every cell of a table as a hash of what it says, under the ledger's key."""
    names = table.columns[:MOST_COLUMNS]
    share = min(1.0, _MOST_CELLS / max(table.n * len(names), 1))
    blocks = []
    for block in table.source.blocks(names, Dialect()):
        found = np.column_stack([_words(block.columns[name], table.source.separator, key) for name in names])
        if share < 1.0:
            with np.errstate(over="ignore"):
                chosen = mixed(found.sum(axis=1, dtype=np.uint64), key)
            found = found[chosen < np.uint64(share * 2**64 * (1 - 1e-12))]
        blocks.append(found)
    hashes = np.vstack(blocks) if blocks else np.empty((0, len(names)), dtype=np.uint64)
    return Cells(tuple(name.strip().casefold() for name in names), hashes)


def _words(cells: pa.Array, separator: str | None, key: bytes) -> np.ndarray:
    """A column's hashes (k,): of the number that a cell is, or of its text; of a missing cell, of nothing."""
    value = numbers(cells, "." if separator in (None, ",") else None)
    words = mixed(_rounded(value), key)
    other = np.isnan(value)
    if np.any(other):
        said = texts(cells)
        plain = pc.ascii_lower(pc.replace_substring_regex(said, _FOREIGN, "")).fill_null("").dictionary_encode()
        different = np.array(plain.dictionary.to_pylist(), dtype=object)
        of_texts = pd.util.hash_array(different, hash_key=key.hex()[:16], categorize=False)
        words = np.where(other, mixed(of_texts, key)[plain.indices.to_numpy(zero_copy_only=False)], words)
    return words


def _rounded(value: np.ndarray) -> np.ndarray:
    """Numbers to a few significant digits, as words."""
    size = np.abs(np.where(np.isfinite(value), value, 0.0))
    exponent = np.floor(np.log10(np.where(size > 0, size, 1.0)))
    digits = np.rint(np.where(np.isfinite(value), value, 0.0) / 10.0 ** (exponent - _DIGITS + 1))
    over = np.abs(digits) >= 10**_DIGITS
    digits, exponent = np.where(over, digits / 10, digits), exponent + over
    return ((digits + 2**20).astype(np.int64) | ((exponent + 1024).astype(np.int64) << 32)).astype(np.uint64)
