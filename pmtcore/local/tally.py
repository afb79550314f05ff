"""Tally of a stream of reports in constant memory: their sum, and the number left out by each rule.

Reports that break a rule are counted and left out, never averaged in: unreadable, another version or
configuration, a wrong dimension, not finite, impossibly long, or with an id that came before.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from pmtcore.base.messages import InputError, LocalMessage
from pmtcore.base.strict_json import parse_json
from pmtcore.local.protocol import VERSION, Configuration

REASONS = ("accepted", "unreadable", "other version or configuration", "wrong dimension", "impossible", "duplicate")
# Bits of the filter of ids, for each report that a file can contain.
_BITS_PER_REPORT = 128
# Size of the filter as powers of two of bits: 1 MB, 256 MB.
_FEWEST_BITS, _MOST_BITS = 23, 31
_ID = re.compile("[0-9a-f]{1,16}")


@dataclass
class Tally:
    """Tally of a stream of reports in constant memory: their sum, and the number left out by each rule.

    Args:
        configuration: the published configuration.
        expected: largest number of reports; sizes the filter of ids, which keeps its size afterwards.

    Attributes:
        lost: expected number of new ids that the filter took for old ones.
        total: sum of the accepted reports (dimension,).
        square: sum of their squared lengths.
        counts: number of reports by reason.
    """

    configuration: Configuration
    expected: int = 1_000_000
    lost: float = 0.0
    total: np.ndarray = field(init=False)
    square: float = 0.0
    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    _seen: np.ndarray = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.total = np.zeros(self.configuration.dimension)
        power = math.ceil(math.log2(_BITS_PER_REPORT * max(self.expected, 1)))
        self._bits = min(max(power, _FEWEST_BITS), _MOST_BITS)
        self._seen = np.zeros(1 << (self._bits - 3), dtype=np.uint8)
        self._set = 0

    @property
    def accepted(self) -> int:
        """Return the number of reports in the mean."""
        return self.counts["accepted"]

    @property
    def mean(self) -> np.ndarray:
        """Return the mean report (dimension,).

        Raises:
            InputError: no report was accepted.
        """
        if not self.accepted:
            raise InputError(LocalMessage.NO_USABLE_REPORT)
        return self.total / self.accepted

    def add_lines(self, lines: Iterable[bytes]) -> None:
        """Add JSON lines one at a time: for a block with lines that a fast reader refuses."""
        reports: list[tuple[int, list[float]]] = []
        for line in lines:
            if line.strip():
                reason, report = self._read(line)
                self.counts[reason] += reason != "accepted"
                if report is not None:
                    reports.append(report)
        if reports:
            self.add(np.asarray([row for _, row in reports]), np.asarray([id for id, _ in reports], dtype=np.uint64))

    def _read(self, line: bytes) -> tuple[str, tuple[int, list[float]] | None]:
        try:
            record = parse_json(line)
            version, digest, name, row = record["v"], record["c"], record["id"], record["r"]
            if not isinstance(name, str) or not _ID.fullmatch(name):
                return "unreadable", None
            numbers = [float(value) for value in row]
        except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
            return "unreadable", None
        if version != VERSION or isinstance(version, bool) or digest != self.configuration.digest:
            return "other version or configuration", None
        if len(numbers) != self.configuration.dimension or any(isinstance(v, bool | str) for v in row):
            return "wrong dimension", None
        return "accepted", (int(name, 16), numbers)

    def add_table(self, table: pa.Table) -> None:
        """Add a block of reports as columns ``v``, ``c``, ``id``, ``r``."""
        version = table.column("v").to_numpy()
        digest = np.asarray(table.column("c").to_pylist(), dtype=object)
        lists = table.column("r").combine_chunks()
        lengths = np.diff(lists.offsets.to_numpy())
        this_configuration = (version == VERSION) & (digest == self.configuration.digest)
        right_dimension = lengths == self.configuration.dimension
        self.counts["other version or configuration"] += int(np.sum(~this_configuration))
        self.counts["wrong dimension"] += int(np.sum(this_configuration & ~right_dimension))
        accepted = this_configuration & right_dimension
        values = np.asarray(lists.values.to_numpy(zero_copy_only=False), dtype=float)
        chosen = np.repeat(accepted, lengths)
        rows = values[lists.offsets[0].as_py() : lists.offsets[-1].as_py()][chosen]
        ids = [int(id, 16) for id in np.asarray(table.column("id").to_pylist())[accepted]]
        self.add(rows.reshape(-1, self.configuration.dimension), np.asarray(ids, dtype=np.uint64))

    def add(self, rows: np.ndarray, ids: np.ndarray) -> None:
        """Add the reports (k, dimension) of this configuration that are possible and whose ids (k,) are new."""
        possible = self.configuration.possible_reports(rows)
        self.counts["impossible"] += int(np.sum(~possible))
        rows, ids = rows[possible], ids[possible]
        fresh = self._new_ids(ids)
        self.counts["duplicate"] += int(np.sum(~fresh))
        self.counts["accepted"] += int(np.sum(fresh))
        self.total += rows[fresh].sum(axis=0)
        self.square += float(np.sum(rows[fresh] ** 2))

    def _new_ids(self, ids: np.ndarray) -> np.ndarray:
        """Return a mask of the new ids, by a filter of fixed size.

        It is a Bloom filter: it never accepts a repeated id, and with at least 128 bits for each report rejects less
        than one new id in ten million, even at the end of the file.
        """
        _, first = np.unique(ids, return_index=True)
        once = np.zeros(len(ids), dtype=bool)
        once[first] = True
        down = np.uint64(64 - self._bits)
        bits = np.stack([ids * np.uint64(odd) >> down for odd in _HASH_MULTIPLIERS])  # (hashes, k) below 2^bits
        known = np.all(self._seen[bits >> np.uint64(3)] >> (bits & np.uint64(7)).astype(np.uint8) & 1, axis=0)
        new = once & ~known.astype(bool)
        self.lost += float(np.sum(new)) * self._filled_share ** len(_HASH_MULTIPLIERS)
        self._set += bits[:, new].size
        at = bits[:, new].ravel()
        np.bitwise_or.at(self._seen, at >> np.uint64(3), (1 << (at & np.uint64(7))).astype(np.uint8))
        return new

    @property
    def _filled_share(self) -> float:
        """Return the expected share of the filter's bits that are set."""
        return -math.expm1(-self._set / 2.0**self._bits)


# Odd 64-bit constants, one for each hash.
_HASH_MULTIPLIERS = (0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0xD6E8FEB86659FD93, 0xA0761D6478BD642F)
