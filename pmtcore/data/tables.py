"""Reading tables: CSV, TSV and Parquet, each also gzip'ed, and second moment matrices.

Parsing is pandas' work; what is here decides what a file is, bounds its size, and turns every failure into
one sentence. A sentence never holds a cell, nor a column name that only a private table has: a file without
a header row has values where names should be.
"""

from __future__ import annotations

import csv
import hashlib
import io
import zlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NoReturn, final

import numpy as np
import pandas as pd

from pmtcore.base.checks import InputError, listed, whole_number_between

Role = Literal["private", "public"]
MAX_BYTES = 512 * 2**20
MAX_UPLOAD_MB = 200
MAX_COLUMNS = 2000
MISSING = ["", "?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>", "#N/A"]
_CHUNK = 2**20
_SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}


@final
@dataclass(frozen=True, eq=False)
class Table:
    """A table as read. A private one prints no value and refuses to be pickled."""

    name: str
    role: Role
    frame: pd.DataFrame
    sha256: str

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.frame)

    def __repr__(self) -> str:
        return f"<{self.role} table {self.name!r}, {self.n} rows>"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("tables stay in the session that loaded them")


@final
@dataclass(frozen=True, eq=False)
class MomentTable:
    """A public second moment matrix with its column names."""

    name: str
    columns: tuple[str, ...]
    matrix: np.ndarray


def read_path(path: str | Path, role: Role, limit: int = MAX_BYTES) -> Table:
    """Read a file; see :func:`read_table`."""
    return read_table(_bytes_of(path), Path(path).name, role, limit)


def read_table(data: bytes, name: str, role: Role, limit: int = MAX_BYTES) -> Table:
    """Read a table from the bytes of a file.

    Args:
        name: as shown to the user.
        limit: largest size after decompression, in bytes.

    Raises:
        InputError: what is wrong with the file, in one sentence.
    """
    where = f"The {role} table {name!r}"
    frame = _frame(_unzipped(data, where, limit), where, hide_names=role == "private")
    if len(frame) == 0:
        raise InputError(f"{where} has a header but no rows; check that the right file was chosen.")
    return Table(name, role, frame, hashlib.sha256(data).hexdigest())


def read_moment_path(path: str | Path) -> MomentTable:
    """Read a second moment matrix from a file; see :func:`read_moment`."""
    return read_moment(_bytes_of(path), Path(path).name)


def read_moment(data: bytes, name: str) -> MomentTable:
    """A square matrix with a header row of names; a first column may repeat the names.

    Raises:
        InputError: not a square table of finite numbers, or row names that differ from the columns.
    """
    where = f"The moment matrix {name!r}"
    frame = _frame(_unzipped(data, where, MAX_BYTES), where, hide_names=False)
    if frame.shape[1] == len(frame) + 1 and not pd.api.types.is_numeric_dtype(frame.iloc[:, 0]):
        labels, frame = [str(label).strip() for label in frame.iloc[:, 0]], frame.iloc[:, 1:]
        if labels != list(frame.columns):
            raise InputError(
                f"{where} names its rows differently from its columns; use the same names in the same order."
            )
    if frame.shape[0] != frame.shape[1]:
        raise InputError(f"{where} has {frame.shape[0]} rows and {frame.shape[1]} columns; it must be square.")
    matrix = frame.apply(pd.to_numeric, errors="coerce").to_numpy(dtype=float)
    if not np.all(np.isfinite(matrix)):
        raise InputError(f"{where} has entries that are missing or not finite numbers; every entry must be a number.")
    return MomentTable(name, tuple(frame.columns), matrix)


def split(table: Table, public_rows: int, seed: int) -> tuple[Table, Table]:
    """A random split of one table into a private and a public part: for the lab.

    Raises:
        InputError: fewer rows than asked for.
    """
    count = whole_number_between("public rows", public_rows, 1, max(table.n - 1, 1))
    order = np.random.default_rng(seed).permutation(table.n)
    public, private = table.frame.iloc[order[:count]], table.frame.iloc[order[count:]]
    stamp = f"{table.sha256}:{seed}:{count}"
    return (
        Table(table.name, "private", private.reset_index(drop=True), hashlib.sha256(f"{stamp}:0".encode()).hexdigest()),
        Table(table.name, "public", public.reset_index(drop=True), hashlib.sha256(f"{stamp}:1".encode()).hexdigest()),
    )


def _bytes_of(path: str | Path) -> bytes:
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {str(path)!r}; check the path.")
    if file.stat().st_size > MAX_BYTES:
        raise InputError(f"The file {str(path)!r} is larger than {MAX_BYTES // 2**20} MB; use a smaller table.")
    return file.read_bytes()


def _unzipped(data: bytes, where: str, limit: int) -> bytes:
    """The bytes, decompressed up to the limit when they are gzip'ed."""
    if not data.strip():
        raise InputError(f"{where} is empty; choose a file with a header row and at least one row.")
    if data[:2] != b"\x1f\x8b":
        return _bounded(data, where, limit)
    stream, parts, size = zlib.decompressobj(wbits=31), [], 0
    pending = data
    try:
        while pending and not stream.eof:
            part = stream.decompress(pending, _CHUNK)
            pending = stream.unconsumed_tail
            size += len(part)
            if size > limit:
                _bounded(b"", where, -1)
            parts.append(part)
    except zlib.error:
        raise InputError(f"{where} is a damaged gzip file; compress or upload it again.") from None
    if not stream.eof:
        raise InputError(f"{where} is a gzip file cut short; upload it again.")
    found = b"".join(parts)
    if found[:2] == b"\x1f\x8b":
        raise InputError(f"{where} is gzip'ed twice; unpack it once and upload it again.")
    if not found.strip():
        raise InputError(f"{where} is empty; choose a file with a header row and at least one row.")
    return found


def _bounded(data: bytes, where: str, limit: int) -> bytes:
    if len(data) > limit:
        raise InputError(f"{where} is larger than the limit after unpacking; use a smaller table.")
    return data


def _frame(data: bytes, where: str, hide_names: bool) -> pd.DataFrame:
    frame = _parquet(data, where) if data[:4] == b"PAR1" else _text(data, where, hide_names)
    frame.columns = pd.Index([str(column).strip() for column in frame.columns])
    _check_names(list(frame.columns), where, hide_names)
    return frame


def _parquet(data: bytes, where: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(io.BytesIO(data))
    except Exception:  # pyarrow has its own family of errors; their texts may quote the file
        raise InputError(f"{where} looks like Parquet but cannot be read; write the file again.") from None


def _text(data: bytes, where: str, hide_names: bool) -> pd.DataFrame:
    text = _decoded(data, where)
    header_line = next(line for line in text.splitlines() if line.strip())
    separator = max(_SEPARATORS, key=header_line.count)
    if header_line.count(separator) == 0:
        raise InputError(f"{where} has a single column; columns must be separated by comma, tab, semicolon or bar.")
    try:
        header = [cell.strip() for cell in next(csv.reader([header_line], delimiter=separator))]
    except csv.Error:
        raise InputError(f"{where} has a header row that cannot be read; check its quotes.") from None
    _check_names(header, where, hide_names)
    if all(_is_number(cell) for cell in header):
        raise InputError(f"{where} has no header row: its first row holds numbers; add a row of column names.")
    options: dict[str, object] = {"decimal": ","} if separator == ";" and _decimal_comma(text) else {}
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=separator,
            keep_default_na=False,
            na_values=MISSING,
            skipinitialspace=True,
            low_memory=False,
            index_col=False,
            on_bad_lines="error",
            **options,  # type: ignore[call-overload]
        )
    except (ValueError, OverflowError, csv.Error, pd.errors.ParserWarning):  # ParserError is a ValueError
        raise InputError(
            f"{where} has rows whose number of cells differs from the header ({len(header)} columns, "
            f"{_SEPARATORS[separator]} separated), or an open quote; check the separator."
        ) from None
    return frame


def _decoded(data: bytes, where: str) -> str:
    for encoding in ("utf-8-sig", "latin-1"):
        try:
            text = data.decode(encoding)
        except UnicodeDecodeError:
            continue
        odd = sum(not (c.isprintable() or c in "\r\n\t") for c in text[:10_000])
        if odd <= len(text[:10_000]) // 100 and "\x00" not in text[:10_000]:
            return text
        break
    raise InputError(f"{where} is not a table in text or Parquet form; save it as CSV, TSV or Parquet.")


def _check_names(names: list[str], where: str, hide_names: bool) -> None:
    if len(names) > MAX_COLUMNS:
        raise InputError(f"{where} has {len(names)} columns; at most {MAX_COLUMNS} are read: leave columns out.")
    if any(not name for name in names):
        raise InputError(f"{where} has a column without a name (number {names.index('') + 1}); name every column.")
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        which = "a column name" if hide_names else listed(twice)
        raise InputError(f"{where} has {which} more than once; rename the columns so that each name is there once.")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _decimal_comma(text: str) -> bool:
    """Whether a semicolon separated text writes its decimals with a comma: looks at the first rows."""
    cells = [cell.strip() for line in text.splitlines()[1:20] for cell in line.split(";")]
    with_comma = [cell for cell in cells if cell.count(",") == 1]
    return bool(with_comma) and all(_is_number(cell.replace(",", ".")) for cell in with_comma)
