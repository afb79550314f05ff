"""The cells of a private table as keyed hashes, for the ledger's fingerprint: each cell by itself, no cell refused.

Of a large table the rows are kept whose cells have the smallest quick hashes, so that memory is bounded and the same
rows are chosen whatever their order or file. A row is chosen by any one of its telling columns: where a column is left
out, the rows that the others chose are chosen still.

For agreements there are keyed digests of all cells. A plain digest of private rows would let anybody who sees it test a
guess at them; under the ledger's key it tells only whether the tables are those that were agreed to.
"""

from __future__ import annotations

import hashlib
import hmac
from collections import deque
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pmtcore.base import threads
from pmtcore.base.private_rows import PassObserver
from pmtcore.ledger.fingerprint import HASHING_BYTES, HashedCells, hashed_texts, mixed
from pmtcore.public.moments import PublicData
from pmtcore.tables.cells import numbers, texts
from pmtcore.tables.cluster import Cluster, TablePart, parts
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.parsed import ParsedNumbers
from pmtcore.tables.sources import Cells as Block
from pmtcore.tables.sources import reading_numbers
from pmtcore.tables.table import Table

MOST_CELLS = 1_000_000  # hashes kept: 8 MB, and a few times that while they are sorted
_TELLING = 8  # a column with a different value in one of so many rows tells rows apart
_DIGITS = 5  # significant: what single precision and %.6g keep
_FOREIGN = r"[^\x21-\x7e]"
_POWERS = 10.0 ** np.arange(-330, 309)
_ZERO = 330  # the place of 1 among them
_LEAST = np.finfo(float).tiny  # positive number that is not denormal
_MANTISSA_BITS = 52  # of a double, below its exponent
# By a double's exponent, the place of its power of ten, or the one below it.
_PLACES = np.floor(np.arange(-1023, 1025) * 0.30103).astype(np.int64) + _ZERO
_AT_ONCE = 8192  # numbers rounded at a time: what is computed of them stays in the cache
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # SplitMix64's: every bit of a word moves every other


def content_digest(table: Table, key: bytes, dialect: Dialect | None = None) -> str:
    """Return the digest of all cells of a table, in one pass over its rows, whatever the table is read from.

    Args:
        table: whose cells are read.
        key: of the ledger, under which the digest says nothing to others.
        dialect: how the table is written; ``None``: in the usual way.
    """
    digest = hmac.new(key, repr(table.columns).encode(), hashlib.sha256)
    for block in table.source.blocks(table.columns, dialect or Dialect()):
        sink = pa.BufferOutputStream()
        cells = pa.table({str(at): block.columns[name] for at, name in enumerate(table.columns)})
        with pa.ipc.new_stream(sink, cells.schema) as stream:
            stream.write_table(cells)
        digest.update(sink.getvalue())
    return digest.hexdigest()


def public_digest(public: PublicData, key: bytes) -> str:
    """Return the digest of public rows as they enter a release, or of the public moment in their place."""
    digest = hmac.new(key, repr((public.names, public.target, public.m)).encode(), hashlib.sha256)
    digest.update((public.factor if public.rows is None else public.rows).tobytes())
    return digest.hexdigest()


def hashed(
    table: Table,
    key: bytes,
    dialect: Dialect | None = None,
    *,
    watch: PassObserver | None = None,
    most_rows: int | None = None,
    parsed: ParsedNumbers | None = None,
    numeric: Collection[str] = (),
    cluster: Cluster | None = None,
) -> HashedCells:
    """Hash the cells of a table by their content, under the ledger's key: of all rows, or of chosen ones.

    Args:
        table: the table.
        key: of the ledger.
        dialect: of the table; ``None``: the usual one.
        watch: observer of the progress.
        most_rows: rows that are hashed where columns tell rows apart, see :attr:`Ledger.most_rows_hashed`; ``None``: as
            many as :data:`MOST_CELLS` allows.
        parsed: where the numbers that are read are left for the next pass; ``None``: nowhere.
        numeric: columns that the public schema says are numbers, which are read faster; the hashes are the same.
        cluster: whose workers read the table and choose rows; ``None``: this process. The choice is the same.
    """
    if watch is not None:
        watch.begin()
    names, source = table.columns, reading_numbers(table.source, numeric)
    mark = Dialect().mark(table.source.separator)
    reading = _Reading(names, dialect or Dialect(), mark, key[:HASHING_BYTES], most_rows)
    if parsed is not None and parsed.decimal != reading.mark:
        parsed = None
    if parsed is not None:
        parsed.drop()
    if cluster is None:
        chosen = reading.chosen(source.blocks(names, reading.dialect), threads.readers(), watch=watch, parsed=parsed)
    else:
        first = reading.chosen(islice(source.blocks(names, reading.dialect), 1), 1)
        of_part = replace(reading, telling=first.telling)
        chosen = cluster.joined(parts(source), of_part.of_part, _ChosenRows.joined)
        if watch is not None:
            watch.rows(chosen.rows)
    folded = tuple(name.strip().casefold() for name in names)
    return HashedCells(folded, chosen.hashes(len(names), key), chosen.first(), chosen.rows)


class _ChosenRows:
    """Rows with the smallest quick hashes, up to a limit; the choice does not depend on their order.

    The words of their cells are kept, and hashed when all rows are chosen.

    Args:
        most: rows to choose.
        most_telling: rows to choose where columns tell rows apart, if that is fewer. Where none does, whole rows are
            counted, and to choose few of them would be to choose one or two different ones.
        telling: places of the columns that tell rows apart; ``None``: the first block says.

    Attributes:
        rows: how many were added.
    """

    def __init__(self, most: int, most_telling: int | None = None, telling: list[int] | None = None) -> None:
        self._most, self._most_telling = most, most_telling
        self._bound = np.uint64(2**64 - 1)
        self.telling: list[int] | None = None
        self._words: list[np.ndarray] = []
        self._quick: list[np.ndarray] = []
        self._count = self._near = self.rows = 0
        self._stride = 1  # of rows that are chosen, where many are alike
        if telling is not None:
            self._tell(telling)

    def _tell(self, columns: list[int]) -> None:
        """Tell rows apart by the columns at these places."""
        self.telling = columns
        if columns and self._most_telling is not None:
            self._most = min(self._most, self._most_telling)

    def add(self, words: list[np.ndarray], key: bytes, quick: np.ndarray | None = None) -> None:
        """Add a block's columns of words (k,), with their quick hashes (k,) where they are known."""
        if self.telling is None:
            wide = len(words[0]) / _TELLING if words else 0
            self._tell([j for j, column in enumerate(words) if _different(column) > max(wide, 1)])
        if quick is None:
            quick = _quick(words, self.telling or [], key)
        near = np.flatnonzero(quick <= self._bound)
        near, self._near = near[-self._near % self._stride :: self._stride], self._near + len(near)
        self._words.append(np.column_stack([column[near] for column in words]))
        self._quick.append(quick[near])
        self._count += len(near)
        self.rows += len(quick)
        while self._count > self._most:
            self._fewer()

    def joined(self, later: _ChosenRows) -> _ChosenRows:
        """Return what is chosen of these rows and of later ones, of which the same columns tell rows apart.

        It is what one pass over both chooses. Only of rows that are all alike it may be another number of copies.
        """
        both = _ChosenRows(self._most, self._most_telling, self.telling)
        both._bound, both._stride = min(self._bound, later._bound), max(self._stride, later._stride)
        both.rows, both._near = self.rows + later.rows, self._near + later._near
        for each in (self, later):
            if each._quick:
                words, quick = np.vstack(each._words), np.concatenate(each._quick)
                near = np.flatnonzero(quick <= both._bound)[:: both._stride // each._stride]
                both._words.append(words[near])
                both._quick.append(quick[near])
                both._count += len(near)
        while both._count > both._most:
            both._fewer()
        return both

    def _fewer(self) -> None:
        """Drop half of the rows by their hashes; of rows that are all alike every other one."""
        words, quick, bound = np.vstack(self._words), np.concatenate(self._quick), self._bound >> np.uint64(1)
        chosen = np.flatnonzero(quick <= bound)
        if len(chosen):
            self._bound = bound
        else:
            chosen, self._stride = np.arange(0, len(quick), 2), 2 * self._stride
        self._words, self._quick, self._count = [words[chosen]], [quick[chosen]], len(chosen)

    def hashes(self, columns: int, key: bytes) -> np.ndarray:
        """Return keyed hashes (r, d) of the chosen rows."""
        return mixed(np.vstack(self._words), key) if self._words else np.empty((0, columns), dtype=np.uint64)

    def first(self) -> np.ndarray | None:
        """Return a mask (r,) of the rows that a much larger table would choose too; ``None`` where all are chosen."""
        if self._bound == np.uint64(2**64 - 1):
            return None
        return np.asarray(np.concatenate(self._quick) <= self._bound >> np.uint64(4))


def _different(words: np.ndarray) -> int:
    """Return how many different words there are."""
    ordered = np.sort(words)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + (len(words) > 0)


def _quick(words: list[np.ndarray], telling: list[int], key: bytes) -> np.ndarray:
    """Return the smallest keyed hash of a row's telling cells (k,), or that of all cells together where none tells."""
    columns, apart = [words[j] for j in telling] or words, bool(telling)
    k0, k1 = (np.uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    combined: np.ndarray | None = None
    with np.errstate(over="ignore"):
        for column in columns:
            h = _spread(column, k0, k1)
            combined = h if combined is None else np.minimum(combined, h) if apart else combined + h
        if combined is None:
            return np.empty(0, dtype=np.uint64)
        return combined if apart else _spread(combined, k1, k0)


def _spread(words: np.ndarray, k0: np.uint64, k1: np.uint64) -> np.ndarray:
    """Return a quick keyed hash of words, good enough to choose by; the stored hashes are SipHash."""
    h = words ^ k0
    for factor, key in zip(_FACTORS, (k1, k0), strict=True):
        h ^= h >> np.uint64(29)
        h *= np.uint64(factor)
        h += key
    h ^= h >> np.uint64(32)
    return h


@dataclass(frozen=True, eq=False)
class _Read:
    """Contents of a block: of each column its numbers (k,) and words (k,), quick hashes (k,) where they are known.

    Which columns tell rows apart is known when the first block was added; threads that are ahead of it do not wait.
    """

    rows: int
    values: dict[str, np.ndarray]
    words: list[np.ndarray]
    quick: np.ndarray | None

    def __repr__(self) -> str:
        return f"<{self.rows} rows as hashes>"


@dataclass(frozen=True)
class _Reading:
    """Rules by which cells of a table are read for its fingerprint, here or on a worker.

    Attributes:
        names: of the columns.
        mark: decimal mark.
        key: the part of the ledger's key that hashes cells. Workers are told no more: what a ledger keeps is sealed
            with all of it.
        most_rows: see :func:`hashed`.
        telling: places of the columns that tell rows apart; ``None``: the first block says.
    """

    names: Sequence[str]
    dialect: Dialect
    mark: str | None
    key: bytes = field(repr=False)
    most_rows: int | None
    telling: list[int] | None = None

    def chosen(
        self,
        blocks: Iterable[Block],
        readers: int,
        *,
        watch: PassObserver | None = None,
        parsed: ParsedNumbers | None = None,
    ) -> _ChosenRows:
        """Return the rows that are chosen of blocks.

        Args:
            blocks: of the table, or of a part of it.
            readers: threads that read cells.
            watch: observer of the progress.
            parsed: where the numbers that are read are left for the next pass.
        """
        chosen = _ChosenRows(MOST_CELLS // max(len(self.names), 1), self.most_rows, self.telling)
        left: deque[Block] = deque()
        tasks = (partial(_read, block, self.names, self.mark, self.key, telling=chosen.telling) for block in blocks)
        for read in threads.in_order(tasks, readers):
            chosen.add(read.words, self.key, read.quick)
            if parsed is not None:
                left.append(parsed.cells(read.rows, read.values))
            if watch is not None:
                watch.rows(read.rows)
        if parsed is not None:
            parsed.leave(left)
        return chosen

    def of_part(self, part: TablePart) -> _ChosenRows:
        """Return the rows that are chosen of one part, on a worker."""
        return self.chosen(part.blocks(self.names, self.dialect), 1)


def _read(block: Block, names: Sequence[str], mark: str | None, key: bytes, *, telling: list[int] | None) -> _Read:
    """Return the numbers of a block, its words, and its quick hashes."""
    values = {name: numbers(block.columns[name], mark) for name in names}
    words = [_said(block.columns[name], values[name], key) for name in names]
    return _Read(block.rows, values, words, None if telling is None else _quick(words, telling, key))


def _said(cells: pa.Array, value: np.ndarray, key: bytes) -> np.ndarray:
    """Return a column's words (k,): of the number that a cell is, or of its text; of a missing cell, of nothing."""
    words = _rounded(value)
    other = np.isnan(value)
    if np.any(other):
        said = texts(cells)
        plain = pc.ascii_lower(pc.replace_substring_regex(said, _FOREIGN, "")).fill_null("").dictionary_encode()
        of_texts = hashed_texts(plain.dictionary.to_pylist(), key.hex()[:16].encode())
        words = np.where(other, of_texts[plain.indices.to_numpy(zero_copy_only=False)], words)
    return words


def _rounded(values: np.ndarray) -> np.ndarray:
    """Round numbers (k,) to a few significant digits, as words; those that are none, or denormal, count as 0."""
    words = np.empty(len(values), dtype=np.uint64)
    for start in range(0, len(values), _AT_ONCE):
        part = values[start : start + _AT_ONCE]
        digits = np.where(np.isfinite(part), part, 0.0)
        size = np.abs(digits)
        place = _PLACES[size.view(np.int64) >> _MANTISSA_BITS]
        place += size >= _POWERS[place + 1]
        place[size < _LEAST] = _ZERO
        digits /= _POWERS[place - (_DIGITS - 1)]
        np.rint(digits, out=digits)
        over = np.abs(digits) >= 10**_DIGITS
        digits[over] /= 10
        place += over
        words[start : start + _AT_ONCE] = (digits + 2**20).astype(np.int64) | ((place - _ZERO + 1024) << 32)
    return words
