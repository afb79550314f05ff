"""Recognition of tables with the same rows, by a keyed fingerprint of their content that stays in the ledger.

A cell becomes a keyed hash of its value, so that ``1``, ``1.0`` and ``1e0`` are equal. Numbers are rounded to five
significant digits, which single precision and ``%.6g`` preserve. The fingerprint has the hashes of a sample of rows, in
some of the columns that vary; rows and columns are chosen by the key. Another table, given in full, *overlaps* where it
has rows of that sample: columns are matched by their content, whatever their names and order, and a row matches where
its equal cells would agree by chance in few rows. Tables without columns that identify rows (a few yes-no columns) are
recognised by the number of times that each distinct row occurs.

Which tables are recognised decides whose budget is spent, which others can observe: the threshold is therefore noisy
(:func:`is_recognised`), and one row changes the evidence little (decision 0024). The hashes reveal nothing without the
key, which is outside the database.

Terms of this module: a *type* is a distinct row; *evidence* is a number of rows, compared with :data:`THRESHOLD`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import os
import string
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

_SIPHASH_CONSTANTS = (
    0x736F6D6570736575,
    0x646F72616E646F6D,
    0x6C7967656E657261,
    0x7465646279746573,
)  # words of its initial state
HASHING_BYTES = 16  # bytes of the ledger's key by which cells are hashed; fingerprints are encrypted with all of it
_ODD_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
# Most words of eight bytes of a text that is hashed in whole arrays; longer texts are hashed one by one.
_MOST_WORDS_IN_ARRAYS = 32
# Words hashed at a time, so that they stay in the processor's cache.
_BLOCK_WORDS = 8192
SAMPLE = 256  # rows of a fingerprint; of tables with a tenth of their rows in common they share about 25
# Most rows of a large table that are hashed, where its columns identify rows; at least half as many are. A sixteenth of
# them, about a thousand, would also be chosen from a table sixteen times as large, and the sample needs fewer.
MOST_HASHED = 32_768
MOST_COLUMNS = 64  # most columns of a fingerprint, chosen by the key among those that vary
SHARE = 0.06  # least share of the sample's rows that :func:`sampled_overlap` states
_LEAST_MATCHES = 4  # least rows of the sample that :func:`sampled_overlap` counts: one or two can be repeated records
_LEAST_BITS = 5.0  # bits beyond log2(n) of a matching row: one row in 32 has them by chance, far below the threshold
_LEAST_SUPPORT_RATIO = 0.5  # a column of the same name is compared if it has this share of the best support
_MOST_LEVELS = 128  # a column with more values counts as one that identifies rows
_TYPES_KEPT = 256  # types whose counts a fingerprint has
_MOST_COUNTS_APART = 12.0  # rows in which the counts of one table may differ from those in its fingerprint
_CHANCE_REQUIRED = 36.0  # rows beyond that in which two samples are expected to differ, for equal counts to be evidence
_FALSE_MATCH_RATE = 0.01  # share of independent pairs of equal size that differ in less than :func:`_chance_distance`
THRESHOLD = 24.0  # rows of the sample from which on a table is recognised; before noise
LEAST_RECOGNISED = int(2 * THRESHOLD)  # rows of a table that is always recognised; a smaller one may be missed
# Share of the sample's rows that a table must have unchanged: between 1 and the quarter that chance gives at most.
_UNCHANGED_SHARE = 5 / 8
# Rows beyond that quarter that suffice: 21 in units of :func:`unchanged_rows_evidence`, many times the noise.
_UNCHANGED_ROWS = 64.0
_UNCHANGED_SENSITIVITY = 3.0  # most that one private row changes that number by (decision 0240)
NOISE = 2.0  # scale of the Laplace noise on threshold and evidence: about epsilon 1.5 a join (decision 0024)
_NOISE_MARGIN = 3 * NOISE  # rows by which counts must differ less, to allow for the noise


# The base-85 digit of each byte; 99 where there is none.
_DIGITS = np.full(256, 99, dtype=np.uint64)
_DIGITS[
    list((string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~").encode())
] = range(85)


@dataclass(frozen=True, eq=False)
class HashedCells:
    """Keyed hashes of the cells of a table. Private.

    Attributes:
        names: column names, (d,).
        hashes: (r, d) unsigned integers, of all rows or of those that the key chooses.
        first: whether each chosen row (r,) would also be chosen from a much larger table; ``None`` where all rows are
            hashed.
        table_rows: number of rows of the table.
    """

    names: tuple[str, ...]
    hashes: np.ndarray
    first: np.ndarray | None = None
    table_rows: int = 0

    @property
    def columns(self) -> str:
        """Return a digest of the sorted column names, which are public."""
        return hashlib.sha256(json.dumps(sorted(self.names)).encode()).hexdigest()

    @cached_property
    def values(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the distinct hashes of each column, sorted, with their counts."""
        return [np.unique(column, return_counts=True) for column in self.hashes.T]

    @cached_property
    def varying(self) -> list[int]:
        """Return the positions of the columns with more than one value; a constant identifies nobody."""
        return [j for j, (values, _) in enumerate(self.values) if len(values) > 1]

    @cached_property
    def types(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the hashes of the distinct rows, sorted, with their counts.

        Columns are ordered by their content, namely by the count of their smallest hash, so that names do not matter.
        Where two columns have nearly equal counts, one row can exchange them.
        """
        return self._counts(sorted(self.varying, key=lambda j: (int(self.values[j][1][0]), int(self.values[j][0][0]))))

    @cached_property
    def named_types(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the same with columns ordered by their names, which no row can change."""
        return self._counts(sorted(self.varying, key=lambda j: self.names[j]))

    def _counts(self, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the hashes of the distinct rows of columns in this order, sorted, with their counts."""
        return np.unique(_row_hashes(self.hashes[:, columns]), return_counts=True)

    @property
    def digest(self) -> bytes:
        """Return a digest of the rows, whatever their order."""
        types, counts = self.types
        return hashlib.sha256(types.tobytes() + counts.astype("<i8").tobytes()).digest()

    def __repr__(self) -> str:
        return f"<hashes of {len(self.hashes)} rows>"


@dataclass(frozen=True, eq=False)
class Sketch:
    """Fingerprint of a table in the ledger: hashes of some rows, and counts of some types.

    Attributes:
        rows: number of rows that were hashed.
        names: names (d,) of the columns in the fingerprint.
        sample: hashes (r, d) of the sampled rows in these columns.
        types: count of each type by its hash, for the types with the smallest hashes.
        complete: whether these are all types.
        named_types: the same, with columns ordered by their names (:attr:`HashedCells.named_types`).
        table_rows: number of rows of the table; 0 if a version that did not store it wrote the fingerprint.
        columns: digest of the names of all columns (:attr:`HashedCells.columns`); empty in those versions.
        room: most bytes of the fingerprint of any table with these columns; 0 for one that was read back.
    """

    rows: int
    names: tuple[str, ...]
    sample: np.ndarray
    types: Mapping[int, int]
    complete: bool = False
    named_types: Mapping[int, int] = field(default_factory=dict)
    table_rows: int = 0
    columns: str = ""
    room: int = 0

    @cached_property
    def varying(self) -> list[int]:
        """Return the positions of the columns with more than one value in the sample."""
        return [k for k in range(len(self.names)) if len(np.unique(self.sample[:, k])) > 1]

    @property
    def digest(self) -> bytes:
        """Return a digest of the sampled rows and of the counts."""
        rows = np.ascontiguousarray(self.sample).tobytes()
        return hashlib.sha256(rows + repr(sorted(self.types.items())).encode()).digest()

    def as_text(self, key: bytes) -> str:
        """Return the sketch as encrypted text for the database.

        It is padded to a length that depends on the column names alone: otherwise its length would depend on the number
        of rows, of types and of varying columns.

        Args:
            key: the ledger's key.
        """
        text = json.dumps(
            {
                "rows": self.rows,
                "names": self.names,
                "sample": base64.b85encode(np.ascontiguousarray(self.sample, dtype="<u8").tobytes()).decode(),
                "counts": {},  # read by versions before 0.2, which compared columns one by one
                "types": {str(value): count for value, count in self.types.items()},
                "complete": self.complete,
                "named_types": {str(value): count for value, count in self.named_types.items()},
                "table_rows": self.table_rows,
                "columns": self.columns,
            }
        )
        salt = os.urandom(16)
        compressed = zlib.compress(text.encode()).ljust(self.room, b"\0")
        return base64.b85encode(salt + _encrypted(compressed, key + salt)).decode()

    @classmethod
    def from_text(cls, text: str, key: bytes) -> Sketch:
        """Return the sketch that :meth:`as_text` wrote.

        Raises:
            ValueError: it is damaged, or was encrypted with another key.
        """
        data = _from_base85(text)
        try:
            json_text = zlib.decompressobj().decompress(_encrypted(data[16:], key + data[:16]))
            fields: dict[str, Any] = json.loads(json_text)
        except zlib.error:
            raise ValueError("a fingerprint cannot be opened") from None
        flat = np.frombuffer(_from_base85(fields["sample"]), dtype="<u8")
        types, named = (
            {int(value): int(count) for value, count in fields.get(attribute, {}).items()}
            for attribute in ("types", "named_types")
        )
        names = tuple(fields["names"])
        sample = flat.reshape(-1, len(names)) if names else np.empty((0, 0), dtype=np.uint64)
        size, columns = int(fields.get("table_rows", 0)), str(fields.get("columns", ""))
        return cls(int(fields["rows"]), names, sample, types, bool(fields.get("complete", False)), named, size, columns)


def _from_base85(text: str) -> bytes:
    """Return the bytes of a text in base 85; ``base64.b85decode`` takes 20 milliseconds for a fingerprint.

    Raises:
        ValueError: the text is not base 85.
    """
    digits = _DIGITS[np.frombuffer(text.encode("ascii"), dtype=np.uint8)]
    padding = -len(digits) % 5
    groups = np.concatenate([digits, np.full(padding, 84, dtype=np.uint64)]).reshape(-1, 5)
    words = groups @ (np.uint64(85) ** np.arange(4, -1, -1, dtype=np.uint64))
    if np.any(digits > 84) or np.any(words >= 2**32):
        raise ValueError("no text in base 85")
    return words.astype(">u4").tobytes()[: 4 * len(words) - padding]


def _row_hashes(cells: np.ndarray) -> np.ndarray:
    """Return one hash per row (r,) of its cells (r, d), which depends on the order of columns."""
    rows = np.zeros(len(cells), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in cells.T:
            rows = (rows ^ (rows >> np.uint64(29))) * _ODD_MULTIPLIER + column
        return np.asarray((rows ^ (rows >> np.uint64(32))) * _ODD_MULTIPLIER)


def _encrypted(data: bytes, key: bytes) -> bytes:
    """Encrypt data with a key stream of SHAKE256, or decrypt it: the operation is its own inverse."""
    stream = np.frombuffer(hashlib.shake_256(b"fingerprint" + key).digest(len(data)), dtype=np.uint8)
    return bytes(np.frombuffer(data, dtype=np.uint8) ^ stream)


def keyed_hashes(values: np.ndarray, key: bytes) -> np.ndarray:
    """Return keyed SipHash-2-4 hashes of unsigned 64-bit words, in the same shape."""
    flat = np.ascontiguousarray(values, dtype=np.uint64).reshape(-1)
    hashes = np.empty_like(flat)
    for start in range(0, len(flat), _BLOCK_WORDS):
        words = flat[start : start + _BLOCK_WORDS]
        hashes[start : start + _BLOCK_WORDS] = _siphash([words, np.full(len(words), np.uint64(8 << 56))], key)
    return hashes.reshape(values.shape)


def hashed_texts(texts: Sequence[str], key: bytes) -> np.ndarray:
    """Return the keyed hashes (k,) of texts, equal to those of ``pandas.util.hash_array``, which stored ledgers have.

    They are SipHash-2-4 of the UTF-8 bytes, followed by SplitMix64's finalizer. Short texts with one number of words
    are hashed together, and long ones by pandas: here a cell of a megabyte would take longer than the rest of a
    release.

    Args:
        texts: (k,).
        key: 16 bytes; they must be UTF-8 where a text is long.
    """
    encoded = [text.encode("utf-8") for text in texts]
    sizes = np.array([len(text) for text in encoded], dtype=np.uint64)
    words = sizes // np.uint64(8) + np.uint64(1)
    hashes = np.empty(len(encoded), dtype=np.uint64)
    long = np.flatnonzero(words > _MOST_WORDS_IN_ARRAYS)
    for count in np.unique(words[words <= _MOST_WORDS_IN_ARRAYS]).tolist():
        places = np.flatnonzero(words == count)
        padded = b"".join(encoded[at].ljust(8 * count, b"\0") for at in places.tolist())
        block = np.frombuffer(padded, dtype="<u8").reshape(-1, count).T.astype(np.uint64)
        block[-1] |= sizes[places] << np.uint64(56)
        hashes[places] = _siphash(list(block), key)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1)):
        hashes ^= hashes >> np.uint64(shift)
        hashes *= np.uint64(factor)
    if len(long):
        import pandas as pd  # noqa: PLC0415  # slow to load

        of_long = np.array([texts[at] for at in long.tolist()], dtype=object)
        hashes[long] = pd.util.hash_array(of_long, hash_key=key.decode(), categorize=False)
    return hashes


def _siphash(words: Sequence[np.ndarray], key: bytes) -> np.ndarray:
    """Return SipHash-2-4 of messages given by their 64-bit words; the last word has the length in its top byte."""
    k0, k1 = (np.uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    state = [np.full(words[0].shape, np.uint64(c) ^ k) for c, k in zip(_SIPHASH_CONSTANTS, (k0, k1) * 2, strict=True)]
    spare = np.empty_like(state[0])
    for word in words:
        state[3] ^= word
        for _ in range(2):
            _round(state, spare)
        state[0] ^= word
    state[2] ^= np.uint64(0xFF)
    for _ in range(4):
        _round(state, spare)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _round(state: Sequence[np.ndarray], spare: np.ndarray) -> None:
    """Apply one round of SipHash to the four words of a state, in place."""
    a, b, c, d = state
    for first, second, by in ((a, b, 13), (c, d, 16)):
        first += second
        _rotate(second, by, spare)
        second ^= first
    _rotate(a, 32, spare)
    for first, second, by in ((a, d, 21), (c, b, 17)):
        first += second
        _rotate(second, by, spare)
        second ^= first
    _rotate(c, 32, spare)


def _rotate(word: np.ndarray, bits: int, spare: np.ndarray) -> None:
    """Rotate words to the left by this many bits, in place."""
    np.left_shift(word, np.uint64(bits), out=spare)
    word >>= np.uint64(64 - bits)
    word |= spare


def sketch(cells: HashedCells) -> Sketch:
    """Return the fingerprint of a table."""
    columns = sketched_columns(cells)
    hashes = cells.hashes
    if cells.first is not None and np.count_nonzero(cells.first) >= SAMPLE:
        hashes = hashes[cells.first]
    with np.errstate(over="ignore"):
        order = np.argsort((hashes * _ODD_MULTIPLIER).sum(axis=1, dtype=np.uint64), kind="stable")
    types, named_types = (
        _smallest_hashes(counted) if cells.varying else {} for counted in (cells.types, cells.named_types)
    )
    names = tuple(cells.names[j] for j in columns)
    complete, sample = len(cells.types[0]) <= _TYPES_KEPT, hashes[order[:SAMPLE]][:, columns]
    return Sketch(
        *(len(cells.hashes), names, sample, types, complete, named_types),
        table_rows=cells.table_rows,
        columns=cells.columns,
        room=_most_bytes(cells.names),
    )


def _most_bytes(names: Sequence[str]) -> int:
    """Return the most bytes of the fingerprint of a table with these columns; compression does not lengthen it.

    A hash of the sample is 10 characters, and one of a row with its count and punctuation at most 46.
    """
    return 1024 + len(json.dumps(names)) + 10 * SAMPLE * min(len(names), MOST_COLUMNS) + 2 * 46 * _TYPES_KEPT


def _smallest_hashes(counted: tuple[np.ndarray, np.ndarray]) -> dict[int, int]:
    """Return the counts of the types with the smallest hashes."""
    types, counts = counted
    return dict(zip(types[:_TYPES_KEPT].tolist(), counts[:_TYPES_KEPT].tolist(), strict=True))


def sketched_columns(cells: HashedCells) -> list[int]:
    """Return the positions of the columns in the fingerprint, in increasing order.

    They are the varying columns with the smallest hashes. Half of the places are for columns that identify rows, where
    there are as many. The smallest hash of a column depends on its content and the key, not on its name, its position
    or the other columns.
    """
    kept_columns: list[int] = []
    by_hash = sorted(cells.varying, key=lambda j: int(cells.values[j][0][0]))
    many_levels = [j for j in by_hash if len(cells.values[j][0]) > _MOST_LEVELS]
    for candidates, places in ((many_levels, MOST_COLUMNS // 2), (by_hash, MOST_COLUMNS)):
        kept_columns += [j for j in candidates if j not in kept_columns][: max(places - len(kept_columns), 0)]
    return sorted(kept_columns)


def is_recognised(cells: HashedCells, sketch: Sketch, key: bytes, joins: int = 0) -> bool:
    """Return whether a table is recognised: whether its evidence passes a noisy threshold.

    The noise is a function of the key, the tables and the number of joins, so that a repeated question has the same
    answer. The threshold has one draw for all tables until the next join, the evidence one draw for each table. This is
    the sparse vector technique (Dwork and Roth 2014, section 3.6): answers below the threshold cost nothing more.

    Args:
        cells: the table.
        sketch: fingerprint that it is compared with.
        key: the ledger's key.
        joins: number of pairs of data sets, joined or parted, with that of the fingerprint.
    """
    return _passes(recognition_evidence(cells, sketch), b"threshold" + key + sketch.digest, cells, joins)


def has_unchanged_rows(cells: HashedCells, known: Sketch, key: bytes, joins: int = 0) -> bool:
    """Return whether a table has the rows of a known one unchanged.

    :func:`unchanged_rows_evidence` is compared with the threshold; arguments and noise are those of
    :func:`is_recognised`.
    """
    return _passes(unchanged_rows_evidence(cells, known), b"whole" + key + known.digest, cells, joins)


def _passes(rows: float, secret: bytes, cells: HashedCells, joins: int) -> bool:
    """Return whether evidence passes the threshold, with noise on both, determined by the secret and the table."""
    threshold = THRESHOLD + _laplace(secret + joins.to_bytes(8, "little"))
    return rows + _laplace(secret + cells.digest) >= threshold


def has_grown(cells: HashedCells, known: Sketch, key: bytes) -> bool:
    """Return whether a known table has grown so much that its new rows alone would be recognised.

    Everyone who reads the ledger sees that a fingerprint was stored, so the numbers of rows are compared with noise, as
    in :func:`is_recognised`.
    """
    secret = b"grown" + key + known.digest
    margin = THRESHOLD * max(known.table_rows / SAMPLE, 1.0)
    return cells.table_rows + _laplace(secret + cells.digest) >= known.table_rows + margin + _laplace(secret)


def _laplace(seed: bytes) -> float:
    """Return a draw of Laplace noise of scale :data:`NOISE`, a function of the seed."""
    first, second = (
        (int.from_bytes(hashlib.shake_256(part + seed).digest(8), "little") + 1) / 2**64 for part in (b"1", b"2")
    )
    return NOISE * (math.log(first) - math.log(second))


def recognition_evidence(cells: HashedCells, known: Sketch) -> float:
    """Return the evidence that a table has rows of a known one; before noise :data:`THRESHOLD` suffices."""
    if not len(known.sample) or not cells.varying:
        return 0.0
    pairs = _paired_columns(cells, known)
    matches = _matching_rows(cells, known, pairs) if pairs else 0
    counts = (
        _counts_evidence(cells.types, known.types, known.complete),
        _counts_evidence(cells.named_types, known.named_types, known.complete),
    )
    return max(float(matches), *counts)


def unchanged_rows_evidence(cells: HashedCells, known: Sketch) -> float:
    """Return the evidence that a table has a known one's rows unchanged; before noise :data:`THRESHOLD` suffices.

    A sampled row counts if its type occurs once in the sample, and the table has it in all varying columns by their
    names. The sample has all copies of a type or none, so the row is also unique in the known table. Of an independent
    sample of equal size at most a quarter of the rows count in expectation, since ``exp(-l) (1 - exp(-l)) <= 1/4`` for
    a type with expected count l: other years of a panel, and columns of few levels, are no evidence. For a larger table
    a row counts with the probability that a sample from it, of the known table's size, has the row. Where most rows
    have copies, the counts of types are compared. Fewer than :data:`LEAST_RECOGNISED` rows never suffice:
    through the noise, a known table of nine rows would be recognised one time in four in a table without any of them.
    """
    if not len(known.sample) or not all(known.names[k] in cells.names for k in known.varying):
        return 0.0
    hashes = cells.hashes[:, [cells.names.index(known.names[k]) for k in known.varying]]
    types, copies_in_sample = np.unique(_row_hashes(known.sample[:, known.varying]), return_counts=True)
    unique_types = types[copies_in_sample == 1]
    table_types, copies_in_table = np.unique(_row_hashes(hashes), return_counts=True)
    position = np.minimum(np.searchsorted(table_types, unique_types), len(table_types) - 1)
    inclusion = min((known.table_rows or known.rows) / max(cells.table_rows, 1), 1.0)
    probability = 1 - (1 - inclusion) ** copies_in_table[position]
    expected = float(np.sum(np.where(table_types[position] == unique_types, probability, 0.0)))
    required = max(min(_UNCHANGED_SHARE * len(known.sample), len(known.sample) / 4 + _UNCHANGED_ROWS), LEAST_RECOGNISED)
    counts = _counts_evidence(cells.named_types, known.named_types, known.complete)
    return max(THRESHOLD + (expected - required) / _UNCHANGED_SENSITIVITY, counts)


def sampled_overlap(cells: HashedCells, known: Sketch) -> float:
    """Return the share of a known table's sampled rows that this table has; 0 below :data:`SHARE`.

    It has no noise, so it must not be shown: what others may see is the answer of :func:`is_recognised`.
    """
    rows = recognition_evidence(cells, known)
    if not len(known.sample) or rows < min(_LEAST_MATCHES, len(known.sample)) or rows / len(known.sample) < SHARE:
        return 0.0
    return min(rows / len(known.sample), 1.0)


def _paired_columns(cells: HashedCells, known: Sketch) -> list[tuple[int, int]]:
    """Return pairs of columns (known, table) with the same content, each column once.

    A column of the same name is preferred unless another shares clearly more of the sampled values.
    """
    support = np.zeros((len(known.names), len(cells.values)))
    for j in cells.varying:
        support[:, j] = (_occurrences(cells, j, known.sample) > 0).mean(axis=0)
    n_levels = np.array([len(distinct) for distinct, _ in cells.values])
    used: set[int] = set()
    pairs = []
    for k in sorted(known.varying, key=lambda k: -support[k].max()):
        available = np.array([0.0 if j in used else support[k, j] for j in range(len(n_levels))])
        name = known.names[k]
        j = cells.names.index(name) if name in cells.names else -1
        if j < 0 or available[j] < _LEAST_SUPPORT_RATIO * support[k].max():
            best = available >= available.max() * 0.999
            # Of columns with equal support, the one with the fewest values.
            j = int(np.argmin(np.where(best, n_levels, np.iinfo(int).max)))
        if available[j] > 0 and available[j] >= _LEAST_SUPPORT_RATIO * SHARE:
            pairs.append((k, j))
            used.add(j)
    return _independent(sorted(pairs), known)


def _independent(pairs: list[tuple[int, int]], known: Sketch) -> list[tuple[int, int]]:
    """Return the pairs without columns that are functions of others, such as an age in years beside one in months.

    This is tested for columns whose values repeat in the sample, since every column is a function of one without
    repeats. Of two columns with mostly equal cells one is left out, since row numbers and identifiers from 1 on occur
    together in many tables.
    """
    coded = {k: np.unique(known.sample[:, k], return_inverse=True)[1].reshape(-1) for k, _ in pairs}
    independent: list[tuple[int, int]] = []
    for k, j in sorted(pairs, key=lambda pair: -int(coded[pair[0]].max())):
        n_levels = int(coded[k].max()) + 1
        equal_cells = (np.sum(known.sample[:, k] == known.sample[:, other]) for other, _ in independent)
        is_determined = any(2 * count > len(known.sample) for count in equal_cells)
        for other, _ in independent:
            n_finer = int(coded[other].max()) + 1
            if 2 * n_finer <= len(known.sample):
                is_determined = is_determined or len(np.unique(coded[other] * n_levels + coded[k])) == n_finer
        if not is_determined:
            independent.append((k, j))
    return sorted(independent)


def _occurrences(cells: HashedCells, column: int, hashes: np.ndarray) -> np.ndarray:
    """Return the counts (r,) of hashes (r,) in a column."""
    values, counts = cells.values[column]
    position = np.minimum(np.searchsorted(values, hashes), len(values) - 1)
    return np.asarray(np.where(values[position] == hashes, counts[position], 0))


def _matching_rows(cells: HashedCells, known: Sketch, pairs: list[tuple[int, int]]) -> int:
    """Return the number of distinct rows that agree with a sampled row in more cells than by chance."""
    n = len(cells.hashes)
    rarity = []  # information in bits of an equal cell, for each sampled row
    for k, j in pairs:
        rarity.append(-np.log2(np.maximum(_occurrences(cells, j, known.sample[:, k]), 1) / n))
    bits = np.array(rarity)  # (pairs, r)
    best = np.zeros(len(known.sample))
    partner = np.full(len(known.sample), -1)
    for anchor in np.argsort(-bits.mean(axis=1))[:4]:  # columns whose equal cells have most information
        k, j = pairs[anchor]
        order = np.argsort(cells.hashes[:, j], kind="stable")
        sorted_column = cells.hashes[order, j]
        first = np.searchsorted(sorted_column, known.sample[:, k])
        for step in range(8):  # the first eight rows with an equal cell
            position = np.minimum(first + step, n - 1)
            equal_anchor = sorted_column[position] == known.sample[:, k]
            rows = cells.hashes[order[position]]
            equal = np.array([rows[:, b] == known.sample[:, a] for a, b in pairs])
            agreement = np.where(equal_anchor, (equal * bits - ~equal * 1.0).sum(axis=0), 0.0)
            partner = np.where(agreement > best, order[position], partner)
            best = np.maximum(best, agreement)
    return len(np.unique(partner[best > np.maximum(np.log2(n) + _LEAST_BITS, _chance_bits(known, pairs, bits, n))]))


def _chance_bits(known: Sketch, pairs: list[tuple[int, int]], bits: np.ndarray, n: int) -> np.ndarray:
    """Return the bits (r,) in which a sampled row agrees by chance with the best of n rows of others.

    Dependent columns agree together, so that the sum of their bits overstates the information. It is estimated from the
    sampled rows: the largest agreement of each with a distinct one, plus the logarithm of n over their number.

    Args:
        known: fingerprint with the sample.
        pairs: columns that are compared (p,).
        bits: information of an equal cell (p, r).
        n: number of rows.
    """
    codes = [np.unique(known.sample[:, k], return_inverse=True)[1].reshape(-1) for k, _ in pairs]
    equal = np.array([code[:, None] == code for code in codes])  # (pairs, r, r)
    agreement = np.einsum("pr,prs->rs", bits + 1.0, equal.astype(float)) - len(pairs)
    agreement[equal.all(axis=0)] = -np.inf  # except with itself and its copies
    distinct = max(len(np.unique(known.sample, axis=0)), 2)
    return np.asarray(agreement.max(axis=1) + max(np.log2(n / distinct), 0.0) + 1.0)


def _counts_evidence(counted: tuple[np.ndarray, np.ndarray], known: Mapping[int, int], complete: bool) -> float:
    """Return the evidence that types have equal counts, in rows; replacing one row changes it by about one.

    Two samples of a population differ by about ``0.4 sqrt(2 c)`` rows in a type with count c. Where the sum over types
    is small (few rows, few types), equal counts are no evidence. With two to eight types the sum varies much, so that
    :func:`_chance_distance` bounds the rate of pairs that are equal by chance.

    Args:
        counted: hashes of the types of the table, and their counts.
        known: counts of the known table by hash, of all types or of those with the smallest hashes.
        complete: whether these are all types.
    """
    if not known:
        return 0.0
    types, counts = counted
    end = 2**64 if complete else max(known) + 1
    own = dict(zip(types.tolist(), counts.tolist(), strict=True))
    hashes = known.keys() | {value for value in own if value < end}
    distance = sum(abs(known.get(value, 0) - own.get(value, 0)) for value in hashes) / 2
    chance_sum = sum(0.4 * math.sqrt(2 * count) for count in known.values())
    chance_margin = _chance_distance(np.array(list(known.values()))) - _NOISE_MARGIN
    return max(THRESHOLD + min(_MOST_COUNTS_APART, chance_sum - _CHANCE_REQUIRED, chance_margin) - distance, 0.0)


def _chance_distance(counts: np.ndarray) -> float:
    """Return r such that 99 % of independent pairs of tables of one population and size differ in at least r rows.

    The differences of k + 1 counts are in k dimensions, where their normal density is at most ``(4 pi)^(-k/2) (n /
    prod c)^(1/2)``. Differences whose positive and negative parts are at most r have the volume ``r^k C(2k, k) / k!``
    (the difference body of a simplex). The k largest counts are compared one by one and the others as their sum, which
    does not increase the distance; the k with the largest r is chosen (decision 0265).

    Args:
        counts: counts of the types.
    """
    largest = np.sort(counts)[::-1].astype(float)
    k = np.arange(1, len(largest))
    others = np.cumsum(largest[::-1])[::-1][1:]
    spread = np.cumsum(np.log(largest))[:-1] + np.log(others) - math.log(largest.sum())
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 * len(largest))))])
    density = (k * math.log(4 * math.pi) + spread) / 2
    return float(
        np.exp(
            np.max((math.log(_FALSE_MATCH_RATE) + density + 3 * factorials[k] - factorials[2 * k]) / k, initial=-np.inf)
        )
    )
