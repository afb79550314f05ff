"""Files of reports, read in constant memory without trusting a byte of them.

A line in the form that :func:`pmtcore.local.protocol.report_lines` writes is recognized by one regular expression
that never goes back; its numbers are read by the block. Any other line goes through the standard library's
JSON, alone. A block reader of JSON is not used: one hostile line was enough to crash it or to hang it, or to
take its neighbours with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from pmtcore.base.checks import InputError
from pmtcore.local.protocol import VERSION, Configuration
from pmtcore.local.tally import Tally

SCHEMA = pa.schema([("v", pa.int64()), ("c", pa.string()), ("id", pa.string()), ("r", pa.list_(pa.float64()))])
_BLOCK = 16 * 2**20  # bytes: constant memory, and few enough blocks that reading is fast
_ROWS = 50_000  # of a batch of Parquet: a few megabytes
_BESIDE, _EACH = 60, 14  # bytes of a report beside its numbers, and of a number, at least in an honest one
_NUMBER = rb"-?\d{1,25}+(?:\.\d{1,25}+)?+(?:e[+-]?\d{1,3}+)?+"
_REPORT = re.compile(
    rb'\{"v":(\d{1,9}+),"c":"([0-9a-f]{16})","id":"([0-9a-f]{1,16}+)","r":\[('
    + _NUMBER
    + rb"(?:,"
    + _NUMBER
    + rb")*+)\]\}\r?"
)


def tally_file(path: Path, made: Configuration) -> Tally:
    """A file of reports, Parquet or JSON lines.

    The filter of ids is sized once, by the most reports that a file of this size can hold.

    Raises:
        InputError: no regular file, not Parquet although named so, or Parquet with other columns.
        OSError: the file cannot be read.
    """
    if not path.is_file():
        raise InputError(f"There is no file of reports {str(path)!r}; check the path.")
    if path.suffix == ".parquet":
        return _parquet(path, made)
    tally = Tally(made, path.stat().st_size // (_BESIDE + _EACH * made.dimension))
    for block, cut in _blocks(path):
        tally.counts["unreadable"] += cut
        _lines(tally, block)
    return tally


def _blocks(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Whole lines in blocks, and whether a line was dropped because it is longer than a block."""
    with path.open("rb") as stream:
        rest, dropping = b"", False
        while block := stream.read(_BLOCK):
            if dropping:
                _, newline, block = block.partition(b"\n")
                dropping = not newline
            whole, _, rest = (rest + block).rpartition(b"\n")
            cut = len(rest) > _BLOCK
            if cut:
                rest, dropping = b"", True
            yield whole, cut
        yield rest, False


def _lines(tally: Tally, data: bytes) -> None:
    """A block of lines: reports as they should be together, others one by one."""
    found = [(line, _REPORT.fullmatch(line)) for line in data.split(b"\n")]
    version, digest = str(VERSION).encode(), tally.configuration.digest.encode()
    plain = [match for _, match in found if match is not None]
    mine = [match for match in plain if match[1] == version and match[2] == digest]
    whole = [match for match in mine if match[4].count(b",") == tally.configuration.dimension - 1]
    tally.counts["other version or configuration"] += len(plain) - len(mine)
    tally.counts["wrong dimension"] += len(mine) - len(whole)
    if whole:
        ids = np.asarray([int(match[3], 16) for match in whole], dtype=np.uint64)
        tally.add(_numbers(b"\n".join([match[4] for match in whole]), tally.configuration.dimension), ids)
    tally.add_lines([line for line, match in found if match is None])


def _numbers(text: bytes, columns: int) -> np.ndarray:
    """Numbers (k, columns) from comma-separated lines whose form was checked."""
    names = [f"r{j}" for j in range(columns)]
    table = pcsv.read_csv(
        pa.BufferReader(text),
        pcsv.ReadOptions(column_names=names, block_size=max(2**20, 32 * columns)),
        convert_options=pcsv.ConvertOptions(column_types=dict.fromkeys(names, pa.float64()), null_values=[]),
    )
    return np.column_stack([column.to_numpy() for column in table.columns])


def _parquet(path: Path, made: Configuration) -> Tally:
    try:
        reports = pq.ParquetFile(path)
        tally = Tally(made, reports.metadata.num_rows)
        for batch in reports.iter_batches(_ROWS):
            _columns(tally, pa.Table.from_batches([batch]))
    except (pa.ArrowException, OSError):
        if not path.exists():
            raise
        raise InputError("The file of reports is not Parquet; check that it was written completely.") from None
    return tally


def _columns(tally: Tally, table: pa.Table) -> None:
    try:
        table = table.select(SCHEMA.names).cast(SCHEMA)
    except (pa.ArrowException, KeyError):
        raise InputError("The file of reports has other columns than v, c, id and r.") from None
    if any(table.column(name).null_count for name in SCHEMA.names) or not _plain_ids(table):
        tally.add_lines([json.dumps(record).encode() for record in table.to_pylist()])
    else:
        tally.add_table(table)


def _plain_ids(table: pa.Table) -> bool:
    """Whether every id is hexadecimal, so that a block can be read at once."""
    return bool(pc.all(pc.match_substring_regex(table.column("id"), "^[0-9a-f]{1,16}$")).as_py())
