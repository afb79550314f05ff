"""Keyed hashes of the cells of a private table, for the ledger's fingerprint; each cell is hashed by itself.

In a large table the rows with the smallest quick hashes are chosen, so that memory is bounded and the choice does not
depend on their order or file. Columns in which most values differ are *telling*. The quick hash of a row is the
smallest over its telling columns: if one of them is removed, rows chosen by the others are still chosen.

For agreements there are keyed digests of all cells. With a plain digest of private rows, any reader could test a guess
of them; under the ledger's key it only shows whether the tables are those that were agreed to.
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
from pmtcore.ledger.fingerprint import HASHING_BYTES, HashedCells, hashed_texts, keyed_hashes
from pmtcore.public.moments import PublicData
from pmtcore.tables.cells import numbers, texts
from pmtcore.tables.cluster import Cluster, TablePart, table_parts
from pmtcore.tables.dialect import Dialect
from pmtcore.tables.parsed import ParsedNumbers
from pmtcore.tables.sources import Cells as Block
from pmtcore.tables.sources import reading_numbers
from pmtcore.tables.table import Table

MOST_CELLS = 1_000_000  # most cells of the chosen rows: 8 MB, and a few times as much while they are sorted
_ROWS_PER_VALUE = 8  # a column with at least one distinct value in so many rows is telling
_DIGITS = 5  # significant digits, which single precision and %.6g preserve
_NON_ASCII = r"[^\x21-\x7e]"
_POWERS_OF_TEN = 10.0 ** np.arange(-330, 309)
_PLACE_OF_ONE = 330  # position of 1 among them
_SMALLEST_NORMAL = np.finfo(float).tiny  # smallest positive number that is not denormal
_MANTISSA_BITS = 52  # of a double, below its exponent
# By the exponent of a double, the position of its power of ten, or of the one below.
_PLACES_BY_EXPONENT = np.floor(np.arange(-1023, 1025) * 0.30103).astype(np.int64) + _PLACE_OF_ONE
_BLOCK_NUMBERS = 8192  # numbers rounded at a time, so that they stay in the processor's cache
_FACTORS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)  # multipliers of SplitMix64


def content_digest(table: Table, key: bytes, dialect: Dialect | None = None) -> str:
    """Return the keyed digest of all cells of a table, in one pass over its rows.

    Args:
        table: the table.
        key: the ledger's key.
        dialect: of the table; ``None``: the default.
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
    """Return the keyed digest of the public rows, or of the public moment, that a release uses."""
    digest = hmac.new(key, repr((public.names, public.target, public.m)).encode(), hashlib.sha256)
    digest.update((public.factor if public.rows is None else public.rows).tobytes())
    return digest.hexdigest()


def hash_cells(
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
    """Return the keyed hashes of the cells of a table, of all rows or of chosen ones.

    Args:
        table: the table.
        key: the ledger's key.
        dialect: of the table; ``None``: the default.
        watch: observer of the progress.
        most_rows: most rows that are hashed where there are telling columns, see :attr:`Ledger.most_rows_hashed`;
            ``None``: as many as :data:`MOST_CELLS` allows.
        parsed: stores the numbers that are read, for the next pass; ``None``: they are not stored.
        numeric: columns that are numbers in the public schema, which are read faster, with the same hashes.
        cluster: reads the table and chooses rows on its workers, with the same result; ``None``: this process does.
    """
    if watch is not None:
        watch.begin()
    names, source = table.columns, reading_numbers(table.source, numeric)
    decimal = Dialect().decimal_mark(table.source.separator)
    rules = _HashingRules(names, dialect or Dialect(), decimal, key[:HASHING_BYTES], most_rows)
    if parsed is not None and parsed.decimal != rules.mark:
        parsed = None
    if parsed is not None:
        parsed.clear()
    if cluster is None:
        chosen = rules.chosen(source.blocks(names, rules.dialect), threads.reader_threads(), watch=watch, parsed=parsed)
    else:
        of_first_block = rules.chosen(islice(source.blocks(names, rules.dialect), 1), 1)
        of_part = replace(rules, telling=of_first_block.telling)
        chosen = cluster.joined(table_parts(source), of_part.of_part, _ChosenRows.joined)
        if watch is not None:
            watch.rows(chosen.rows)
    folded_names = tuple(name.strip().casefold() for name in names)
    return HashedCells(folded_names, chosen.hashes(len(names), key), chosen.first(), chosen.rows)


class _ChosenRows:
    """Rows with the smallest quick hashes, up to a limit; the choice does not depend on their order.

    The words of their cells are stored, and hashed when all rows are chosen.

    Args:
        most: most rows to choose.
        most_telling: most rows to choose where there are telling columns, if that is fewer. Without such columns types
            are counted, and few rows would have only one or two of them.
        telling: positions of the telling columns; ``None``: the first block determines them.

    Attributes:
        rows: number of rows that were added.
        telling: positions of the telling columns; ``None`` before the first block.
    """

    def __init__(self, most: int, most_telling: int | None = None, telling: list[int] | None = None) -> None:
        self._most, self._most_telling = most, most_telling
        self._bound = np.uint64(2**64 - 1)
        self.telling: list[int] | None = None
        self._words: list[np.ndarray] = []
        self._quick: list[np.ndarray] = []
        self._count = self._near = self.rows = 0
        self._stride = 1  # one of so many rows is chosen, where all have one hash
        if telling is not None:
            self._set_telling(telling)

    def _set_telling(self, columns: list[int]) -> None:
        """Set the telling columns, by their positions."""
        self.telling = columns
        if columns and self._most_telling is not None:
            self._most = min(self._most, self._most_telling)

    def add(self, words: list[np.ndarray], key: bytes, quick: np.ndarray | None = None) -> None:
        """Add the rows of a block.

        Args:
            words: a column of words (k,) for each column of the table.
            key: by which cells are hashed.
            quick: quick hashes (k,) of the rows; ``None``: they are computed.
        """
        if self.telling is None:
            least_distinct = len(words[0]) / _ROWS_PER_VALUE if words else 0
            self._set_telling([j for j, column in enumerate(words) if _distinct_count(column) > max(least_distinct, 1)])
        if quick is None:
            quick = _quick_hashes(words, self.telling or [], key)
        below = np.flatnonzero(quick <= self._bound)
        below, self._near = below[-self._near % self._stride :: self._stride], self._near + len(below)
        self._words.append(np.column_stack([column[below] for column in words]))
        self._quick.append(quick[below])
        self._count += len(below)
        self.rows += len(quick)
        while self._count > self._most:
            self._halve()

    def joined(self, later: _ChosenRows) -> _ChosenRows:
        """Return the choice from these rows and later ones with the same telling columns.

        It equals that of one pass over both; only of rows that are all equal the number of copies may differ.
        """
        both = _ChosenRows(self._most, self._most_telling, self.telling)
        both._bound, both._stride = min(self._bound, later._bound), max(self._stride, later._stride)
        both.rows, both._near = self.rows + later.rows, self._near + later._near
        for each in (self, later):
            if each._quick:
                words, quick = np.vstack(each._words), np.concatenate(each._quick)
                below = np.flatnonzero(quick <= both._bound)[:: both._stride // each._stride]
                both._words.append(words[below])
                both._quick.append(quick[below])
                both._count += len(below)
        while both._count > both._most:
            both._halve()
        return both

    def _halve(self) -> None:
        """Drop about half of the rows, those with larger hashes; of rows with one hash, every other one."""
        words, quick, bound = np.vstack(self._words), np.concatenate(self._quick), self._bound >> np.uint64(1)
        chosen = np.flatnonzero(quick <= bound)
        if len(chosen):
            self._bound = bound
        else:
            chosen, self._stride = np.arange(0, len(quick), 2), 2 * self._stride
        self._words, self._quick, self._count = [words[chosen]], [quick[chosen]], len(chosen)

    def hashes(self, columns: int, key: bytes) -> np.ndarray:
        """Return the keyed hashes (r, d) of the cells of the chosen rows."""
        return keyed_hashes(np.vstack(self._words), key) if self._words else np.empty((0, columns), dtype=np.uint64)

    def first(self) -> np.ndarray | None:
        """Return whether each row (r,) would be chosen from a table 16 times as large; ``None`` where all rows are."""
        if self._bound == np.uint64(2**64 - 1):
            return None
        return np.asarray(np.concatenate(self._quick) <= self._bound >> np.uint64(4))


def _distinct_count(words: np.ndarray) -> int:
    """Return the number of distinct words."""
    ordered = np.sort(words)
    return int(np.count_nonzero(ordered[1:] != ordered[:-1])) + (len(words) > 0)


def _quick_hashes(words: list[np.ndarray], telling: list[int], key: bytes) -> np.ndarray:
    """Return the smallest keyed hash (k,) of each row's telling cells; without telling columns that of all cells."""
    columns, has_telling = [words[j] for j in telling] or words, bool(telling)
    k0, k1 = (np.uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    combined: np.ndarray | None = None
    with np.errstate(over="ignore"):
        for column in columns:
            mixed_words = _mixed(column, k0, k1)
            combined = (
                mixed_words
                if combined is None
                else np.minimum(combined, mixed_words)
                if has_telling
                else combined + mixed_words
            )
        if combined is None:
            return np.empty(0, dtype=np.uint64)
        return combined if has_telling else _mixed(combined, k1, k0)


def _mixed(words: np.ndarray, k0: np.uint64, k1: np.uint64) -> np.ndarray:
    """Return a quick keyed hash of words, to choose rows by; the stored hashes are SipHash."""
    mixed_words = words ^ k0
    for factor, key in zip(_FACTORS, (k1, k0), strict=True):
        mixed_words ^= mixed_words >> np.uint64(29)
        mixed_words *= np.uint64(factor)
        mixed_words += key
    mixed_words ^= mixed_words >> np.uint64(32)
    return mixed_words


@dataclass(frozen=True, eq=False)
class _HashedBlock:
    """A block that was read.

    Attributes:
        rows: number of its rows k.
        values: numbers (k,) of each column, by name.
        words: words (k,) of each column.
        quick: quick hashes (k,); ``None`` where the block was read before the telling columns were known.
    """

    rows: int
    values: dict[str, np.ndarray]
    words: list[np.ndarray]
    quick: np.ndarray | None

    def __repr__(self) -> str:
        return f"<{self.rows} rows as hashes>"


@dataclass(frozen=True)
class _HashingRules:
    """Rules by which cells of a table are read for its fingerprint, in this process or on a worker.

    Attributes:
        names: of the columns.
        dialect: of the table.
        mark: decimal mark.
        key: the part of the ledger's key that hashes cells; workers get no more of it.
        most_rows: see :func:`hash_cells`.
        telling: positions of the telling columns; ``None``: the first block determines them.
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
        """Return the rows chosen from blocks.

        Args:
            blocks: of the table, or of a part of it.
            readers: number of threads that read cells.
            watch: observer of the progress.
            parsed: stores the numbers that are read, for the next pass; ``None``: they are not stored.
        """
        chosen = _ChosenRows(MOST_CELLS // max(len(self.names), 1), self.most_rows, self.telling)
        numbers_read: deque[Block] = deque()
        tasks = (partial(_hashed, block, self.names, self.mark, self.key, telling=chosen.telling) for block in blocks)
        for read in threads.in_order(tasks, readers):
            chosen.add(read.words, self.key, read.quick)
            if parsed is not None:
                numbers_read.append(parsed.cells(read.rows, read.values))
            if watch is not None:
                watch.rows(read.rows)
        if parsed is not None:
            parsed.store(numbers_read)
        return chosen

    def of_part(self, part: TablePart) -> _ChosenRows:
        """Return the rows chosen from one part, on a worker."""
        return self.chosen(part.blocks(self.names, self.dialect), 1)


def _hashed(
    block: Block, names: Sequence[str], decimal: str | None, key: bytes, *, telling: list[int] | None
) -> _HashedBlock:
    """Return a block with its numbers, words and, where telling columns are known, quick hashes."""
    values = {name: numbers(block.columns[name], decimal) for name in names}
    words = [_words_of(block.columns[name], values[name], key) for name in names]
    return _HashedBlock(block.rows, values, words, None if telling is None else _quick_hashes(words, telling, key))


def _words_of(cells: pa.Array, value: np.ndarray, key: bytes) -> np.ndarray:
    """Return the words (k,) of cells: of the rounded number, or else of the text, empty for a missing cell."""
    words = _rounded(value)
    is_text = np.isnan(value)
    if np.any(is_text):
        cell_texts = texts(cells)
        normalized = (
            pc.ascii_lower(pc.replace_substring_regex(cell_texts, _NON_ASCII, "")).fill_null("").dictionary_encode()
        )
        text_hashes = hashed_texts(normalized.dictionary.to_pylist(), key.hex()[:16].encode())
        words = np.where(is_text, text_hashes[normalized.indices.to_numpy(zero_copy_only=False)], words)
    return words


def _rounded(values: np.ndarray) -> np.ndarray:
    """Return numbers (k,), rounded to five significant digits, as words; NaN and denormal numbers as 0."""
    words = np.empty(len(values), dtype=np.uint64)
    for start in range(0, len(values), _BLOCK_NUMBERS):
        block = values[start : start + _BLOCK_NUMBERS]
        digits = np.where(np.isfinite(block), block, 0.0)
        magnitude = np.abs(digits)
        position = _PLACES_BY_EXPONENT[magnitude.view(np.int64) >> _MANTISSA_BITS]
        position += magnitude >= _POWERS_OF_TEN[position + 1]
        position[magnitude < _SMALLEST_NORMAL] = _PLACE_OF_ONE
        digits /= _POWERS_OF_TEN[position - (_DIGITS - 1)]
        np.rint(digits, out=digits)
        is_carried = np.abs(digits) >= 10**_DIGITS
        digits[is_carried] /= 10
        position += is_carried
        words[start : start + _BLOCK_NUMBERS] = (digits + 2**20).astype(np.int64) | (
            (position - _PLACE_OF_ONE + 1024) << 32
        )
    return words
