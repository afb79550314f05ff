"""Recognition of tables with the same rows, by a keyed fingerprint of content that never leaves the ledger.

A cell becomes a keyed hash of what it says, so ``1``, ``1.0`` and ``1e0`` are one, and numbers are taken to five
significant digits, which what is saved as single precision or with ``%.6g`` keeps. Of a table a sample of rows is kept
as hashes, chosen by the key, of columns that the key chooses among all that vary. Another table, at hand in full, is
*the same or overlapping* where it holds rows of that sample: found by columns whose content it shares, whatever their
names and order, and believed where the cells that agree would agree by chance in few rows. Tables whose rows tell
nobody apart (a few yes-no columns) are the same where whole rows are there equally often.

Which tables are known again decides whose budget is spent, so others see it: the threshold is noisy (:func:`known`),
and what a row more or less changes is small (decision 0024). Without the key the hashes tell nothing; it lies outside
the database.
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

_START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)  # SipHash's own
HASHING_BYTES = 16  # of a ledger's key, by which cells are hashed; what is kept is sealed with all of it
_ODD = np.uint64(0x9E3779B97F4A7C15)
# Words of eight bytes of a text that is hashed in whole arrays; a longer one is hashed by itself.
_MOST_WORDS = 32
# Words hashed at a time: what is mixed stays in the cache.
_AT_ONCE = 8192
SAMPLE = 256  # rows kept: a tenth in common shows in 25 of them
# Rows of a large table that are hashed, where its columns tell rows apart: at least half as many are. A sixteenth of
# them, a thousand, would be chosen of a table sixteen times as large too: more than the sample needs.
MOST_ROWS = 32_768
MOST_COLUMNS = 64  # columns that are kept; all are looked at, and the key chooses among those that vary
SHARE = 0.06  # of the sample's rows: from here on two tables overlap; names alone never make them
_FEWEST = 4  # rows of the sample: one or two in common can be a repeated record
_BITS = 5.0  # a row agrees by chance in one of 32: far below the share of rows asked for
_SUPPORT = 0.5  # share of the best column's support that a column needs to be compared
_LEVELS = 128  # a column of more values tells rows apart
_TYPES = 256  # different rows that are kept with how often they are there
_COUNTS_APART = 12.0  # rows: two tables of which no more differ are one
_BY_CHANCE = 36.0  # rows that two draws must be expected to differ in, beyond that, before equal counts say anything
_ALIKE = 0.01  # of independent pairs of equal size; so few differ in less than :func:`_least_apart`
THRESHOLD = 24.0  # rows of the sample that make two tables one; before noise
FEWEST_TO_TELL = int(2 * THRESHOLD)  # rows of a table that is surely known again: fewer may fall below the threshold
# Share of the sample's rows that another table holds as they are: between all and the quarter that chance has at most.
_WHOLE = 5 / 8
_CLEAR = 64.0  # rows beyond that quarter are enough: 21 of :func:`rows_in_whole`, where the noise is a few
_EXCHANGED = 3.0  # what one private row more or less changes that number by, at most (decision 0240)
NOISE = 2.0  # scale of the Laplace noise on threshold and count: about epsilon 1.5 a join (decision 0024)
_BESIDE_NOISE = 3 * NOISE  # rows that counts must differ in less than that, since noise is added to them


# The digit of each byte in base 85; 99 for those that are none.
_DIGITS = np.full(256, 99, dtype=np.uint64)
_DIGITS[
    list((string.digits + string.ascii_uppercase + string.ascii_lowercase + "!#$%&()*+-;<=>?@^_`{|}~").encode())
] = range(85)


@dataclass(frozen=True, eq=False)
class HashedCells:
    """A table as keyed hashes of its cells. Private.

    Attributes:
        names: of columns.
        hashes: (r, d) unsigned integers, of all rows or of those that the key chooses.
        first: which of the chosen ones (r,) a much larger table would keep as well; ``None`` where all are kept.
        table_rows: number of rows of the table.
    """

    names: tuple[str, ...]
    hashes: np.ndarray
    first: np.ndarray | None = None
    table_rows: int = 0

    @property
    def columns(self) -> str:
        """Return a digest of the columns' names, whatever their order: these are public."""
        return hashlib.sha256(json.dumps(sorted(self.names)).encode()).hexdigest()

    @cached_property
    def values(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return the distinct hashes of each column, sorted, and how often each occurs."""
        return [np.unique(column, return_counts=True) for column in self.hashes.T]

    @cached_property
    def varying(self) -> list[int]:
        """Return the columns that hold more than one value: a constant tells nothing of whose rows these are."""
        return [j for j, (values, _) in enumerate(self.values) if len(values) > 1]

    @cached_property
    def types(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the different rows as hashes, sorted, and how often each is there.

        Columns come in an order of their contents, by how often the value of the smallest hash is there, so that names
        do not matter. Where two columns are nearly equal in that, one row can exchange them.
        """
        return self._counted(sorted(self.varying, key=lambda j: (int(self.values[j][1][0]), int(self.values[j][0][0]))))

    @cached_property
    def named_types(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the same with columns in the order of their names, which no row can change."""
        return self._counted(sorted(self.varying, key=lambda j: self.names[j]))

    def _counted(self, columns: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Return the different rows of columns in this order as hashes, sorted, and how often each is there."""
        return np.unique(_row_hashes(self.hashes[:, columns]), return_counts=True)

    @property
    def digest(self) -> bytes:
        """Return a digest of what is held, whatever the order of its rows."""
        types, counts = self.types
        return hashlib.sha256(types.tobytes() + counts.astype("<i8").tobytes()).digest()

    def __repr__(self) -> str:
        return f"<hashes of {len(self.hashes)} rows>"


@dataclass(frozen=True, eq=False)
class Sketch:
    """Fingerprint of a table in the ledger: hashes of some rows, and counts of some different rows.

    Attributes:
        rows: how many rows it has, of those that were looked at.
        names: of the columns that are kept.
        sample: hashes (r, d) of rows in these columns.
        types: how often each different row is there, by its hash: those with the smallest hashes.
        complete: whether these are all different rows.
        named_types: the same, of hashes with the columns in the order of their names.
        table_rows: number of rows of the table; 0 in those of versions that did not keep it.
        columns: digest of the names of all columns (:attr:`HashedCells.columns`); empty in those versions.
        room: bytes that the sketch of any table with these columns takes at most; 0 for one that was read back.
    """

    rows: int
    names: tuple[str, ...]
    sample: np.ndarray  # (r, d)
    types: Mapping[int, int]
    complete: bool = False
    named_types: Mapping[int, int] = field(default_factory=dict)
    table_rows: int = 0
    columns: str = ""
    room: int = 0

    @property
    def digest(self) -> bytes:
        """Return a digest of the rows that are kept, and of how often each is there."""
        rows = np.ascontiguousarray(self.sample).tobytes()
        return hashlib.sha256(rows + repr(sorted(self.types.items())).encode()).digest()

    def as_text(self, key: bytes) -> str:
        """Return the sketch as text for the database, encrypted with the key.

        Its length is that of the room, whatever the rows are: how many there are, how many of them differ and which
        columns vary would shorten it.
        """
        text = json.dumps(
            {
                "rows": self.rows,
                "names": self.names,
                "sample": base64.b85encode(np.ascontiguousarray(self.sample, dtype="<u8").tobytes()).decode(),
                "counts": {},  # of versions before 0.2, which compared columns one by one
                "types": {str(value): often for value, often in self.types.items()},
                "complete": self.complete,
                "named_types": {str(value): often for value, often in self.named_types.items()},
                "table_rows": self.table_rows,
                "columns": self.columns,
            }
        )
        salt = os.urandom(16)
        packed = zlib.compress(text.encode()).ljust(self.room, b"\0")
        return base64.b85encode(salt + _closed(packed, key + salt)).decode()

    @classmethod
    def from_text(cls, text: str, key: bytes) -> Sketch:
        """Return the sketch that :meth:`as_text` wrote.

        Raises:
            ValueError: it is damaged, or closed with another key.
        """
        packed = _from_base85(text)
        try:
            opened = zlib.decompressobj().decompress(_closed(packed[16:], key + packed[:16]))
            fields: dict[str, Any] = json.loads(opened)
        except zlib.error:
            raise ValueError("a fingerprint cannot be opened") from None
        flat = np.frombuffer(_from_base85(fields["sample"]), dtype="<u8")
        types, named = (
            {int(value): int(often) for value, often in fields.get(which, {}).items()}
            for which in ("types", "named_types")
        )
        names = tuple(fields["names"])
        sample = flat.reshape(-1, len(names)) if names else np.empty((0, 0), dtype=np.uint64)
        size, columns = int(fields.get("table_rows", 0)), str(fields.get("columns", ""))
        return cls(int(fields["rows"]), names, sample, types, bool(fields.get("complete", False)), named, size, columns)


def _from_base85(text: str) -> bytes:
    """Return what ``base64.b85encode`` made a text of; ``base64.b85decode`` takes 20 milliseconds for a fingerprint.

    Raises:
        ValueError: the text is none of its.
    """
    digits = _DIGITS[np.frombuffer(text.encode("ascii"), dtype=np.uint8)]
    more = -len(digits) % 5
    groups = np.concatenate([digits, np.full(more, 84, dtype=np.uint64)]).reshape(-1, 5)
    words = groups @ (np.uint64(85) ** np.arange(4, -1, -1, dtype=np.uint64))
    if np.any(digits > 84) or np.any(words >= 2**32):
        raise ValueError("no text in base 85")
    return words.astype(">u4").tobytes()[: 4 * len(words) - more]


def _row_hashes(cells: np.ndarray) -> np.ndarray:
    """Return one hash (r,) of the cells (r, d) of each row, in their order."""
    rows = np.zeros(len(cells), dtype=np.uint64)
    with np.errstate(over="ignore"):
        for column in cells.T:
            rows = (rows ^ (rows >> np.uint64(29))) * _ODD + column
        return np.asarray((rows ^ (rows >> np.uint64(32))) * _ODD)


def _closed(data: bytes, key: bytes) -> bytes:
    """Encrypt or decrypt data by a stream that only the key gives (SHAKE256): the same operation undoes itself."""
    stream = np.frombuffer(hashlib.shake_256(b"fingerprint" + key).digest(len(data)), dtype=np.uint8)
    return bytes(np.frombuffer(data, dtype=np.uint8) ^ stream)


def mixed(values: np.ndarray, key: bytes) -> np.ndarray:
    """Return keyed hashes of unsigned 64-bit words: SipHash's rounds over one word, in whole arrays."""
    flat = np.ascontiguousarray(values, dtype=np.uint64).reshape(-1)
    hashes = np.empty_like(flat)
    for start in range(0, len(flat), _AT_ONCE):
        words = flat[start : start + _AT_ONCE]
        hashes[start : start + _AT_ONCE] = _siphash([words, np.full(len(words), np.uint64(8 << 56))], key)
    return hashes.reshape(values.shape)


def hashed_texts(texts: Sequence[str], key: bytes) -> np.ndarray:
    """Return the keyed hash (k,) of each text, as ``pandas.util.hash_array`` computes it, which ledgers hold.

    SipHash-2-4 of its UTF-8 bytes, and then SplitMix64's finalizer; short texts of one length at once, long ones by
    pandas itself: word by word one cell of a megabyte would take longer than the rest of a release.

    Args:
        texts: the texts.
        key: 16 bytes; characters, where a text is long.
    """
    encoded = [text.encode("utf-8") for text in texts]
    sizes = np.array([len(text) for text in encoded], dtype=np.uint64)
    words = sizes // np.uint64(8) + np.uint64(1)
    hashes = np.empty(len(encoded), dtype=np.uint64)
    long = np.flatnonzero(words > _MOST_WORDS)
    for count in np.unique(words[words <= _MOST_WORDS]).tolist():
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
    """Return SipHash-2-4 of messages given as their 64-bit words, the last with the length in its top byte."""
    k0, k1 = (np.uint64(int.from_bytes(key[at : at + 8], "little")) for at in (0, 8))
    state = [np.full(words[0].shape, np.uint64(c) ^ k) for c, k in zip(_START, (k0, k1) * 2, strict=True)]
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
    """Mix the four words of a state in place: SipHash's round."""
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


def _rotate(word: np.ndarray, by: int, spare: np.ndarray) -> None:
    """Rotate words to the left by some bits, in place."""
    np.left_shift(word, np.uint64(by), out=spare)
    word >>= np.uint64(64 - by)
    word |= spare


def sketch(cells: HashedCells) -> Sketch:
    """Return what is kept of a table."""
    columns = columns_kept(cells)
    hashes = cells.hashes
    if cells.first is not None and np.count_nonzero(cells.first) >= SAMPLE:
        hashes = hashes[cells.first]
    with np.errstate(over="ignore"):
        order = np.argsort((hashes * _ODD).sum(axis=1, dtype=np.uint64), kind="stable")
    types, named = (_fewest(counted) if cells.varying else {} for counted in (cells.types, cells.named_types))
    names = tuple(cells.names[j] for j in columns)
    complete, sample = len(cells.types[0]) <= _TYPES, hashes[order[:SAMPLE]][:, columns]
    return Sketch(
        *(len(cells.hashes), names, sample, types, complete, named),
        table_rows=cells.table_rows,
        columns=cells.columns,
        room=_room(cells.names),
    )


def _room(names: Sequence[str]) -> int:
    """Return the most bytes that the sketch of a table with these columns takes: compressing makes it no longer.

    A hash of the sample is 10 characters, and one of a row with its count and punctuation at most 46.
    """
    return 1024 + len(json.dumps(names)) + 10 * SAMPLE * min(len(names), MOST_COLUMNS) + 2 * 46 * _TYPES


def _fewest(counted: tuple[np.ndarray, np.ndarray]) -> dict[int, int]:
    """Return the rows with the smallest hashes, and how often each is there."""
    types, often = counted
    return dict(zip(types[:_TYPES].tolist(), often[:_TYPES].tolist(), strict=True))


def columns_kept(cells: HashedCells) -> list[int]:
    """Return the columns that are kept, in their order: chosen by the key among all that vary.

    Half of the places are for columns that tell rows apart, where there are so many. A column's place in the choice is
    its smallest hash, which depends on what the column holds and not on its name, its place or the other columns.
    """
    chosen: list[int] = []
    by_hash = sorted(cells.varying, key=lambda j: int(cells.values[j][0][0]))
    telling = [j for j in by_hash if len(cells.values[j][0]) > _LEVELS]
    for some, room in ((telling, MOST_COLUMNS // 2), (by_hash, MOST_COLUMNS)):
        chosen += [j for j in some if j not in chosen][: max(room - len(chosen), 0)]
    return sorted(chosen)


def is_recognised(cells: HashedCells, known: Sketch, key: bytes, joins: int = 0) -> bool:
    """Return whether a table is known again: whether its evidence passes a noisy threshold.

    The noise is a function of the key, the tables and the joins so far, so that asking the same again gives the same
    answer: the threshold's is one for all tables that are compared with this one until one is joined, the count's is
    another for each table. That is the sparse vector technique (Dwork and Roth 2014, section 3.6): answers below the
    threshold cost nothing beyond the first join.
    """
    return _passes(evidence(cells, known), b"threshold" + key + known.digest, cells, joins)


def holds_rows(cells: HashedCells, known: Sketch, key: bytes, joins: int = 0) -> bool:
    """Return whether a table holds the rows of a known one as they are.

    :func:`rows_in_whole` is compared with a threshold, with noise on both as in :func:`is_recognised`.
    """
    return _passes(rows_in_whole(cells, known), b"whole" + key + known.digest, cells, joins)


def _passes(rows: float, secret: bytes, cells: HashedCells, joins: int) -> bool:
    """Return whether evidence passes the threshold, both with noise that only the secret and the table give."""
    threshold = THRESHOLD + _laplace(secret + joins.to_bytes(8, "little"))
    return rows + _laplace(secret + cells.digest) >= threshold


def grown(cells: HashedCells, known: Sketch, key: bytes) -> bool:
    """Return whether a known table has so many more rows that they alone would be known again, were they kept.

    Whoever shares the ledger sees that a fingerprint was kept, so the number of rows is compared with noise, a function
    of the key and of the two tables, as in :func:`is_recognised`.
    """
    secret = b"grown" + key + known.digest
    more = THRESHOLD * max(known.table_rows / SAMPLE, 1.0)
    return cells.table_rows + _laplace(secret + cells.digest) >= known.table_rows + more + _laplace(secret)


def _laplace(seed: bytes) -> float:
    """Return a draw of Laplace noise of scale :data:`NOISE` that only the seed gives."""
    first, second = (
        (int.from_bytes(hashlib.shake_256(part + seed).digest(8), "little") + 1) / 2**64 for part in (b"1", b"2")
    )
    return NOISE * (math.log(first) - math.log(second))


def evidence(cells: HashedCells, known: Sketch) -> float:
    """Return how many rows speak for two tables being one; from :data:`THRESHOLD` on they are, but for noise."""
    if not len(known.sample) or not cells.varying:
        return 0.0
    pairs = _paired(cells, known)
    matches = _rows_found(cells, known, pairs) if pairs else 0
    counts = (
        _counts_evidence(cells.types, known.types, known.complete),
        _counts_evidence(cells.named_types, known.named_types, known.complete),
    )
    return max(float(matches), *counts)


def rows_in_whole(cells: HashedCells, known: Sketch) -> float:
    """Return the evidence that a table holds a known one's rows as they are; from :data:`THRESHOLD` on, but for noise.

    A row of the sample counts if it is the only one of its kind and this table holds it in all columns that vary, by
    their names. The sample keeps rows of a kind together, so such a row is single in the known table too. Of an
    independent sample of as many rows a quarter count at most, since ``exp(-l) (1 - exp(-l)) <= 1/4`` where l of a kind
    are expected: other years of a panel, and rows of few levels, are no evidence. Of a larger table a row counts with
    the chance that a sample of as many rows as the known table has would hold it. Where most rows have others of
    their kind, two tables are the same if these are there equally often. Fewer than :data:`FEWEST_TO_TELL` rows are
    never enough: the noise would take a table without one such row for a known table of nine rows one time in four.
    """
    varying = [k for k in range(len(known.names)) if len(np.unique(known.sample[:, k])) > 1]
    if not len(known.sample) or not all(known.names[k] in cells.names for k in varying):
        return 0.0
    here = cells.hashes[:, [cells.names.index(known.names[k]) for k in varying]]
    kinds, often = np.unique(_row_hashes(known.sample[:, varying]), return_counts=True)
    single = kinds[often == 1]
    mine, copies = np.unique(_row_hashes(here), return_counts=True)
    at = np.minimum(np.searchsorted(mine, single), len(mine) - 1)
    drawn = min((known.table_rows or known.rows) / max(cells.table_rows, 1), 1.0)
    rows = float(np.sum(np.where(mine[at] == single, 1 - (1 - drawn) ** copies[at], 0.0)))
    asked = max(min(_WHOLE * len(known.sample), len(known.sample) / 4 + _CLEAR), FEWEST_TO_TELL)
    counts = _counts_evidence(cells.named_types, known.named_types, known.complete)
    return max(THRESHOLD + (rows - asked) / _EXCHANGED, counts)


def overlap(cells: HashedCells, known: Sketch) -> float:
    """Return the share of a known table's rows that this one holds, as the sample shows.

    An exact figure: of what anybody else may see :func:`is_recognised` decides.
    """
    rows = evidence(cells, known)
    if not len(known.sample) or rows < min(_FEWEST, len(known.sample)) or rows / len(known.sample) < SHARE:
        return 0.0
    return min(rows / len(known.sample), 1.0)


def _paired(cells: HashedCells, known: Sketch) -> list[tuple[int, int]]:
    """Return columns of the two tables that hold the same things, each once: of the same name, or sharing most."""
    varying = [k for k in range(len(known.names)) if len(np.unique(known.sample[:, k])) > 1]
    support = np.zeros((len(known.names), len(cells.values)))
    for j in cells.varying:
        support[:, j] = (_often(cells, j, known.sample) > 0).mean(axis=0)
    wide = np.array([len(different) for different, _ in cells.values])
    taken: set[int] = set()
    pairs = []
    for k in sorted(varying, key=lambda k: -support[k].max()):
        free = np.array([0.0 if j in taken else support[k, j] for j in range(len(wide))])
        name = known.names[k]
        at = cells.names.index(name) if name in cells.names else -1
        if at < 0 or free[at] < _SUPPORT * support[k].max():
            best = free >= free.max() * 0.999
            at = int(np.argmin(np.where(best, wide, np.iinfo(int).max)))  # of equals the one with fewest values
        if free[at] > 0 and free[at] >= _SUPPORT * SHARE:
            pairs.append((k, at))
            taken.add(at)
    return _independent(sorted(pairs), known)


def _independent(pairs: list[tuple[int, int]], known: Sketch) -> list[tuple[int, int]]:
    """Return the pairs without columns that others give away: age in months says nothing beside age in years.

    Asked of columns whose values repeat in the sample: of a column without repeats everything is a function. Of two
    columns that hold the same cells one is enough: row numbers and identifiers from 1 on are in many tables together.
    """
    coded = {k: np.unique(known.sample[:, k], return_inverse=True)[1].reshape(-1) for k, _ in pairs}
    independent: list[tuple[int, int]] = []
    for k, at in sorted(pairs, key=lambda pair: -int(coded[pair[0]].max())):
        levels = int(coded[k].max()) + 1
        alike = (np.sum(known.sample[:, k] == known.sample[:, other]) for other, _ in independent)
        given = any(2 * rows > len(known.sample) for rows in alike)
        for other, _ in independent:
            finer = int(coded[other].max()) + 1
            if 2 * finer <= len(known.sample):
                given = given or len(np.unique(coded[other] * levels + coded[k])) == finer
        if not given:
            independent.append((k, at))
    return sorted(independent)


def _often(cells: HashedCells, column: int, wanted: np.ndarray) -> np.ndarray:
    """Count how often each wanted hash is in a column."""
    values, often = cells.values[column]
    place = np.minimum(np.searchsorted(values, wanted), len(values) - 1)
    return np.asarray(np.where(values[place] == wanted, often[place], 0))


def _rows_found(cells: HashedCells, known: Sketch, pairs: list[tuple[int, int]]) -> int:
    """Return how many rows here agree with a row of the sample in more cells than chance would have it, each once."""
    n = len(cells.hashes)
    rarity = []  # bits that agreement in a column tells, for each row of the sample
    for k, at in pairs:
        rarity.append(-np.log2(np.maximum(_often(cells, at, known.sample[:, k]), 1) / n))
    bits = np.array(rarity)  # (pairs, r)
    best = np.zeros(len(known.sample))
    partner = np.full(len(known.sample), -1)
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
            agreement = np.where(same, (agree * bits - ~agree * 1.0).sum(axis=0), 0.0)
            partner = np.where(agreement > best, order[at_row], partner)
            best = np.maximum(best, agreement)
    return len(np.unique(partner[best > np.maximum(np.log2(n) + _BITS, _between_others(known, pairs, bits, n))]))


def _between_others(known: Sketch, pairs: list[tuple[int, int]], bits: np.ndarray, n: int) -> np.ndarray:
    """Return the bits (r,) in which a row of the sample agrees with rows of others, by chance, among n of them.

    Columns that depend on each other agree together, so that their bits add up to too much. How much that is the
    sample's own rows show, each against the different ones: what the best of so many reaches, and as much more as n
    rows are more than these.
    """
    codes = [np.unique(known.sample[:, k], return_inverse=True)[1].reshape(-1) for k, _ in pairs]
    agree = np.array([code[:, None] == code for code in codes])  # (pairs, r, r)
    agreement = np.einsum("pr,prs->rs", bits + 1.0, agree.astype(float)) - len(pairs)
    agreement[agree.all(axis=0)] = -np.inf  # the row itself, and copies of it: a pasted table is known again
    different = max(len(np.unique(known.sample, axis=0)), 2)
    return np.asarray(agreement.max(axis=1) + max(np.log2(n / different), 0.0) + 1.0)


def _counts_evidence(counted: tuple[np.ndarray, np.ndarray], known: Mapping[int, int], complete: bool) -> float:
    """Return the evidence that whole rows are there equally often, in rows: a row exchanged changes it by about one.

    Two draws of a population differ by about ``0.4 sqrt(2 c)`` rows in a row that is there c times: where that adds up
    to little (few rows, few different ones), equal counts say nothing. Of two to eight different rows the sum varies
    much, so that pairs that happen to be alike are told by :func:`_least_apart`.

    Args:
        counted: of the table at hand, its different rows as hashes and how often each is there.
        known: the same of the known table: all of them, or those with the smallest hashes.
        complete: whether these are all.
    """
    if not known:
        return 0.0
    types, often = counted
    last = 2**64 if complete else max(known) + 1
    mine = dict(zip(types.tolist(), often.tolist(), strict=True))
    names = known.keys() | {value for value in mine if value < last}
    apart = sum(abs(known.get(name, 0) - mine.get(name, 0)) for name in names) / 2
    chance = sum(0.4 * math.sqrt(2 * often) for often in known.values())
    least = _least_apart(np.array(list(known.values()))) - _BESIDE_NOISE
    return max(THRESHOLD + min(_COUNTS_APART, chance - _BY_CHANCE, least) - apart, 0.0)


def _least_apart(counts: np.ndarray) -> float:
    """Return the rows r in which two independent tables of one population and size differ, but for 1 % of such pairs.

    The differences of k + 1 counts lie in k dimensions, where their normal density is at most ``(4 pi)^(-k/2) (n /
    prod c)^(1/2)``. Those whose positive and negative parts add up to at most r fill a volume of ``r^k C(2k, k) / k!``
    (the difference body of a simplex). Rows of the k largest counts are taken by themselves and the others together,
    which moves no two tables apart; the k that tells most is chosen (decision 0265).

    Args:
        counts: how often each different row is there.
    """
    largest = np.sort(counts)[::-1].astype(float)
    k = np.arange(1, len(largest))
    others = np.cumsum(largest[::-1])[::-1][1:]
    spread = np.cumsum(np.log(largest))[:-1] + np.log(others) - math.log(largest.sum())
    factorials = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, 2 * len(largest))))])
    density = (k * math.log(4 * math.pi) + spread) / 2
    return float(
        np.exp(np.max((math.log(_ALIKE) + density + 3 * factorials[k] - factorials[2 * k]) / k, initial=-np.inf))
    )
