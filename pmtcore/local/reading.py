"""Reading of report files in constant memory, without trusting any byte of them.

A line in the form that :func:`pmtcore.local.protocol.report_lines` writes is recognized by one regular expression
without backtracking; its numbers are read by the block. Any other line goes through the standard library's
JSON parser, alone. A block reader of JSON is not used: one hostile line was enough to crash it, to make it hang, or to
discard its neighbours as well.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv
import pyarrow.parquet as pq

from pmtcore.base.messages import InputError, LocalMessage, reraised_as
from pmtcore.local.protocol import VERSION, Configuration
from pmtcore.local.tally import Tally

SCHEMA = pa.schema([("v", pa.int64()), ("c", pa.string()), ("id", pa.string()), ("r", pa.list_(pa.float64()))])
# Constant memory, and few enough blocks that reading is fast.
_BLOCK = 16 * 2**20
# Rows of a batch of Parquet: a few megabytes.
_ROWS_PER_BATCH = 50_000
# Least bytes of an honest report besides its numbers, and of one number.
_BYTES_BESIDES, _BYTES_PER_NUMBER = 60, 14
_NUMBER = rb"-?\d{1,25}+(?:\.\d{1,25}+)?+(?:e[+-]?\d{1,3}+)?+"
_REPORT = re.compile(
    rb'\{"v":(\d{1,9}+),"c":"([0-9a-f]{16})","id":"([0-9a-f]{1,16}+)","r":\[('
    + _NUMBER
    + rb"(?:,"
    + _NUMBER
    + rb")*+)\]\}\r?"
)


def tally_file(path: Path, configuration: Configuration) -> Tally:
    """Tally a file of reports, Parquet or JSON lines.

    The filter of ids is sized once, by the largest number of reports that a file of this size can contain.

    Raises:
        InputError: no regular file, not Parquet although named so, or Parquet with other columns.
        OSError: the file cannot be read.
    """
    if not path.is_file():
        raise InputError(LocalMessage.NO_REPORTS, place=str(path))
    if path.suffix == ".parquet":
        return _parquet(path, configuration)
    tally = Tally(configuration, path.stat().st_size // (_BYTES_BESIDES + _BYTES_PER_NUMBER * configuration.dimension))
    for block, cut in _blocks(path):
        tally.counts["unreadable"] += cut
        _lines(tally, block)
    return tally


def _blocks(path: Path) -> Iterator[tuple[bytes, bool]]:
    """Yield blocks of complete lines, each with True where a line was dropped because it is longer than a block."""
    with path.open("rb") as stream:
        remainder, dropping = b"", False
        while block := stream.read(_BLOCK):
            if dropping:
                _, newline, block = block.partition(b"\n")
                dropping = not newline
            complete, _, remainder = (remainder + block).rpartition(b"\n")
            too_long = len(remainder) > _BLOCK
            if too_long:
                remainder, dropping = b"", True
            yield complete, too_long
        yield remainder, False


def _lines(tally: Tally, data: bytes) -> None:
    """Add a block of lines: well-formed reports together, others one by one."""
    matched = [(line, _REPORT.fullmatch(line)) for line in data.split(b"\n")]
    version, digest = str(VERSION).encode(), tally.configuration.digest.encode()
    well_formed = [match for _, match in matched if match is not None]
    of_configuration = [match for match in well_formed if match[1] == version and match[2] == digest]
    of_dimension = [match for match in of_configuration if match[4].count(b",") == tally.configuration.dimension - 1]
    tally.counts["other version or configuration"] += len(well_formed) - len(of_configuration)
    tally.counts["wrong dimension"] += len(of_configuration) - len(of_dimension)
    if of_dimension:
        ids = np.asarray([int(match[3], 16) for match in of_dimension], dtype=np.uint64)
        tally.add(_numbers(b"\n".join([match[4] for match in of_dimension]), tally.configuration.dimension), ids)
    tally.add_lines([line for line, match in matched if match is None])


def _numbers(text: bytes, columns: int) -> np.ndarray:
    """Parse numbers (k, columns) from comma-separated lines whose form was checked."""
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
        for batch in reports.iter_batches(_ROWS_PER_BATCH):
            _columns(tally, pa.Table.from_batches([batch]))
    except (pa.ArrowException, OSError):
        if not path.exists():
            raise
        raise InputError(LocalMessage.REPORTS_NOT_PARQUET) from None
    return tally


def _columns(tally: Tally, table: pa.Table) -> None:
    with reraised_as(InputError(LocalMessage.REPORTS_OTHER_COLUMNS), pa.ArrowException, KeyError):
        table = table.select(SCHEMA.names).cast(SCHEMA)
    if any(table.column(name).null_count for name in SCHEMA.names) or not _plain_ids(table):
        tally.add_lines([json.dumps(record).encode() for record in table.to_pylist()])
    else:
        tally.add_table(table)


def _plain_ids(table: pa.Table) -> bool:
    """Return True where every id is hexadecimal, so that a block can be read at once."""
    return bool(pc.all(pc.match_substring_regex(table.column("id"), "^[0-9a-f]{1,16}$")).as_py())
