"""Which tables hold the same rows: a keyed fingerprint of content, not of files. It never leaves the ledger.

A cell becomes a keyed hash of what it says, so ``1``, ``1.0`` and ``1e0`` are one, and numbers are taken to five
significant digits, which what is saved as single precision or with ``%.6g`` keeps. Of a table a sample of rows is kept
as hashes, chosen by the key. Another table, at hand in full, is *the same or overlapping* where it holds rows of that
sample: found by columns whose content it shares, whatever their names and order, and believed where the cells that
agree would agree by chance in few rows. Tables whose rows tell nobody apart (a few yes-no
columns) are the same where each column's counts are.

Without the key the hashes tell nothing; it lies outside the database.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)  # SipHash's own
SAMPLE = 256  # rows kept: a tenth in common shows in 25 of them
MOST_COLUMNS = 64  # columns behind a fingerprint; two tables alike in so many are alike
SHARE = 0.06  # of the sample's rows: from here on two tables overlap; names alone never make them
_FEWEST = 4  # rows of the sample: one or two in common can be a repeated record
_BITS = 5.0  # a row agrees by chance in one of 32: far below the share of rows asked for
_SUPPORT = 0.5  # share of the best column's support that a column needs to be compared
_LEVELS = 128  # columns with at most so many values have their counts compared
_COUNTS_APART = 4  # a row changed moves two counts by one; another draw of n rows moves them by the root of n


@final
@dataclass(frozen=True, eq=False)
class Cells:
    """A table as keyed hashes of its cells. Private.

    Attributes:
        names: of columns.
        hashes: (r, d) unsigned integers, of all rows or of those that the key chooses.
        first: which of the chosen ones (r,) a much larger table would keep as well; ``None`` where all are kept.
    """

    names: tuple[str, ...]
    hashes: np.ndarray
    first: np.ndarray | None = None

    @cached_property
    def values(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each column its different hashes, sorted, and how often each is there."""
        d = min(self.hashes.shape[1], MOST_COLUMNS)
        return [np.unique(self.hashes[:, j], return_counts=True) for j in range(d)]

    def __repr__(self) -> str:
        return f"<hashes of {len(self.hashes)} rows>"


@final
@dataclass(frozen=True, eq=False)
class Sketch:
    """What the ledger keeps of a table: hashes of some rows, and of the values of columns that have few."""

    rows: int
    names: tuple[str, ...]
    sample: np.ndarray  # (r, d)
    counts: Mapping[int, Mapping[int, int]]  # column: hash of a value: how often

    def as_text(self, key: bytes) -> str:
        """For the database, closed with the key."""
        text = json.dumps(
            {
                "rows": self.rows,
                "names": self.names,
                "sample": base64.b85encode(np.ascontiguousarray(self.sample, dtype="<u8").tobytes()).decode(),
                "counts": {str(j): {str(k): v for k, v in found.items()} for j, found in self.counts.items()},
            }
        )
        salt = os.urandom(16)
        return base64.b85encode(salt + _closed(zlib.compress(text.encode()), key + salt)).decode()

    @classmethod
    def from_text(cls, text: str, key: bytes) -> Sketch:
        """Back from the database.

        Raises:
            ValueError: it is damaged, or closed with another key.
        """
        held = base64.b85decode(text)
        try:
            found: dict[str, Any] = json.loads(zlib.decompress(_closed(held[16:], key + held[:16])))
        except zlib.error:
            raise ValueError("a fingerprint cannot be opened") from None
        flat = np.frombuffer(base64.b85decode(found["sample"]), dtype="<u8")
        counts = {int(j): {int(k): int(v) for k, v in c.items()} for j, c in found["counts"].items()}
        return cls(int(found["rows"]), tuple(found["names"]), flat.reshape(-1, len(found["names"])), counts)


def _closed(data: bytes, key: bytes) -> bytes:
    """The data under a stream that only the key gives (SHAKE256); the same again opens it."""
    stream = np.frombuffer(hashlib.shake_256(b"fingerprint" + key).digest(len(data)), dtype=np.uint8)
    return bytes(np.frombuffer(data, dtype=np.uint8) ^ stream)


def mixed(values: np.ndarray, key: bytes) -> np.ndarray:
    """Keyed hashes of unsigned 64-bit words: SipHash's rounds over one word, in whole arrays."""
    k0, k1 = (np.uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    v = [np.full(values.shape, np.uint64(c) ^ k) for c, k in zip(_START, (k0, k1) * 2, strict=True)]
    for word in (values.astype(np.uint64), np.full(values.shape, np.uint64(8 << 56))):
        v[3] = v[3] ^ word
        for _ in range(2):
            v = _round(v)
        v[0] = v[0] ^ word
    v[2] = v[2] ^ np.uint64(0xFF)
    for _ in range(4):
        v = _round(v)
    return np.asarray(v[0] ^ v[1] ^ v[2] ^ v[3])


def _round(v: list[np.ndarray]) -> list[np.ndarray]:
    def turn(x: np.ndarray, by: int) -> np.ndarray:
        return (x << np.uint64(by)) | (x >> np.uint64(64 - by))

    a, b, c, d = v
    with np.errstate(over="ignore"):
        a = a + b
        b = turn(b, 13) ^ a
        a = turn(a, 32)
        c = c + d
        d = turn(d, 16) ^ c
        a = a + d
        d = turn(d, 21) ^ a
        c = c + b
        b = turn(b, 17) ^ c
        c = turn(c, 32)
    return [a, b, c, d]


def sketch(cells: Cells) -> Sketch:
    """What is kept of a table."""
    hashes = cells.hashes[:, :MOST_COLUMNS]
    if cells.first is not None and np.count_nonzero(cells.first) >= SAMPLE:
        hashes = hashes[cells.first]
    with np.errstate(over="ignore"):
        order = np.argsort((hashes * np.uint64(0x9E3779B97F4A7C15)).sum(axis=1, dtype=np.uint64), kind="stable")
    counts = {}
    for j, (values, often) in enumerate(cells.values):
        if len(values) <= _LEVELS:
            counts[j] = dict(zip(values.tolist(), often.tolist(), strict=True))
    return Sketch(len(cells.hashes), cells.names[:MOST_COLUMNS], hashes[order[:SAMPLE]], counts)


def overlap(cells: Cells, known: Sketch) -> float:
    """The share of a known table's rows that this one holds, as far as the sample shows; 1 where counts agree."""
    if not len(known.sample) or not cells.names:
        return 0.0
    pairs = _paired(cells, known)
    if len(pairs) == 0:
        return 0.0
    found = _rows_found(cells, known, pairs)
    if found >= min(_FEWEST, len(known.sample)) and found / len(known.sample) >= SHARE:
        return found / len(known.sample)
    return 1.0 if _same_counts(cells, known) else 0.0


def _paired(cells: Cells, known: Sketch) -> list[tuple[int, int]]:
    """Columns of the two tables that hold the same things: of the same name, or else the one that shares most."""
    d = len(cells.values)
    support = np.array(
        [[(_often(cells, j, known.sample[:, k]) > 0).mean() for j in range(d)] for k in range(len(known.names))]
    )
    wide = np.array([len(found) for found, _ in cells.values])
    pairs = []
    for k, name in enumerate(known.names):
        at = cells.names.index(name) if name in cells.names[:d] else -1
        if at < 0 or support[k, at] < _SUPPORT * support[k].max():
            best = support[k] >= support[k].max() * 0.999
            at = int(np.argmin(np.where(best, wide, np.iinfo(int).max)))  # of equals the one with fewest values
        if support[k, at] > 0:
            pairs.append((k, at))
    return [(k, at) for k, at in pairs if support[k, at] >= _SUPPORT * SHARE]


def _often(cells: Cells, column: int, wanted: np.ndarray) -> np.ndarray:
    """How often each wanted hash is in a column."""
    values, often = cells.values[column]
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.where(values[place] == wanted, often[place], 0)


def _rows_found(cells: Cells, known: Sketch, pairs: list[tuple[int, int]]) -> int:
    """How many rows of the sample agree with one row here in more cells than chance would have it."""
    n = len(cells.hashes)
    rarity = []  # bits that agreement in a column tells, for each row of the sample
    for k, at in pairs:
        rarity.append(-np.log2(np.maximum(_often(cells, at, known.sample[:, k]), 1) / n))
    bits = np.array(rarity)  # (pairs, r)
    best = np.zeros(len(known.sample))
    for anchor in np.argsort(-bits.mean(axis=1))[:4]:  # the columns that tell most apart lead to candidates
        k, at = pairs[anchor]
        order = np.argsort(cells.hashes[:, at], kind="stable")
        sorted_column = cells.hashes[order, at]
        start = np.searchsorted(sorted_column, known.sample[:, k])
        for step in range(8):  # rows with the same cell, as far as they are few
            at_row = np.minimum(start + step, n - 1)
            same = sorted_column[at_row] == known.sample[:, k]
            rows = cells.hashes[order[at_row]]
            agree = np.array([rows[:, b] == known.sample[:, a] for a, b in pairs])
            best = np.maximum(best, np.where(same, (agree * bits - ~agree * 1.0).sum(axis=0), 0.0))
    return int((best > np.log2(n) + _BITS).sum())


def _same_counts(cells: Cells, known: Sketch) -> bool:
    """Whether the columns, which have few values each, have the same counts in both but for a row or two."""
    if abs(len(cells.hashes) - known.rows) > _COUNTS_APART or not known.counts:
        return False
    mine = {
        name: dict(zip(values.tolist(), often.tolist(), strict=True))
        for name, (values, often) in zip(cells.names, cells.values, strict=False)
        if len(values) <= _LEVELS
    }
    matched = 0
    for j, counts in known.counts.items():
        name = known.names[j]
        candidates = [mine[name]] if name in mine else list(mine.values())
        apart = [sum(abs(counts.get(v, 0) - m.get(v, 0)) for v in counts.keys() | m.keys()) for m in candidates]
        matched += min(apart, default=_COUNTS_APART + 1) <= _COUNTS_APART
    asked = max(len(cells.values), len(known.names)) - 1  # a column less, or a column more
    return matched >= max(asked, min(2, len(known.counts)))
