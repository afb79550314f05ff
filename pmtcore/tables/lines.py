"""From lines of text to rows of cells: which bytes are a row is decided row by row (decision 0016).

A row is a line, also a blank one, whatever quotes it has: which lines are rows depends on line ends alone. Only where
line breaks in cells are declared (``multiline``), and in public files, is a line with an odd number of double quotes
the start of a longer row, if the text up to the next such line is one row by the letter: cells in quotes closed before
a separator, as many as the header has. A row that cannot be read has all its cells missing.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from pmtcore.base import threads
from pmtcore.tables.cells import MISSING, decoded
from pmtcore.tables.dialect import BOM
from pmtcore.tables.limits import CHUNK, LARGEST, LINE, SPAN

_NEWLINE = ord("\n")
_LONG = b"\x00"  # what a line beyond the limit is cut to: no row
_TEXT, _NUMBER = pa.string(), pa.float64()


@dataclass(frozen=True)
class TextShape:
    """Format of a row of a text file: public.

    Attributes:
        separator: one byte.
        width: cells of a row.
        quoted: whether double quotes hold cells together.
        encoding: of the cells.
        blank_rows: whether a blank line is a row; in a private file it is, so that n does not depend on cells.
        multiline: whether a cell in quotes may have line breaks; then one stray quote may join other rows' lines.
    """

    separator: str
    width: int
    quoted: bool = True
    encoding: str = "utf-8"
    blank_rows: bool = True
    multiline: bool = False

    @cached_property
    def row(self) -> re.Pattern[bytes]:
        """Return the pattern of one well-formed row."""
        s = re.escape(self.separator).encode()
        cell = self._cell(s)
        return re.compile(cell + b"(?:" + s + cell + b"){%d}" % (self.width - 1))

    @cached_property
    def next_cell(self) -> re.Pattern[bytes]:
        """Return the pattern of a cell of such a row, with the separator after it."""
        s = re.escape(self.separator).encode()
        return re.compile(b"(" + self._cell(s) + b")(" + s + b"|)")

    @cached_property
    def line(self) -> str:
        """Return the pattern of one well-formed line, without a lone carriage return, for Arrow."""
        s = re.escape(self.separator).encode()
        cell = rb'(?:"(?:[^"\r]|"")*"|[ ]*(?:[^" \r\x00' + s + rb"][^\r\x00" + s + rb"]*)?)"
        return (rb"\A" + cell + b"(?:" + s + cell + rb")*\z").decode()

    @staticmethod
    def _cell(s: bytes) -> bytes:
        return rb'(?:[ ]*"(?:[^"]|"")*+"[ ]*|(?![ ]*")[^\n' + s + rb"]++|)"

    @property
    def rows_are_lines(self) -> bool:
        """Return True where every line is a row, whatever stands in it."""
        return self.blank_rows and not (self.quoted and self.multiline)


def counted(data: Iterable[bytes], shape: TextShape) -> int:
    """Count rows, from line structure alone."""
    if shape.rows_are_lines:
        return _line_count(data)
    return sum(len(starts) for _, starts, _ in _cut(data, shape))


def _line_count(data: Iterable[bytes]) -> int:
    """Count lines, the last one also where nothing ends it."""
    count, last = 0, b"\n"
    for piece in data:
        # A third of what it takes the bytes to count themselves.
        count += int(np.count_nonzero(np.frombuffer(piece, dtype=np.uint8) == _NEWLINE))
        last = piece[-1:] or last
    return count + (last != b"\n")


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows: the chosen cells of each as text, and the number of unreadable rows, whose cells are null."""

    rows: int
    cells: list[pa.Array]
    unreadable: int

    def __repr__(self) -> str:
        return f"<{self.rows} rows of text>"


@dataclass(eq=False)
class _Wanted:
    """Cells of a row that a pass reads.

    Attributes:
        columns: their places in a row.
        numbers: places of those that are read as numbers with a decimal point, and as nothing else.
        as_numbers: whether Arrow's reader converts these; no longer tried where it failed in a block before, which
            saves time and changes no number.
    """

    columns: Sequence[int]
    numbers: Collection[int]
    as_numbers: bool


def batches(
    data: Iterable[bytes], shape: TextShape, columns: Sequence[int], numbers: Collection[int] = ()
) -> Iterator[Batch]:
    """Yield rows in blocks, parsed by the threads of a pass.

    Args:
        data: pieces of the text after the header.
        shape: public form of a row.
        columns: places of the cells in a row.
        numbers: those of these places that are read as numbers with a decimal point, and as nothing else: their cells
            may be numbers already, the same that :func:`pmtcore.tables.cells.numbers` makes of their text.
    """
    wanted = _Wanted(columns, numbers, as_numbers=bool(numbers))
    if shape.rows_are_lines:
        parsed = (partial(_cells_of_lines, block, done, shape, wanted) for block, done in _whole_lines(data))
    else:
        parsed = (partial(_cells, *block, shape, wanted=wanted) for block in _cut(data, shape) if len(block[1]))
    return threads.in_order(parsed, threads.readers())


def after_header(data: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first line that is not blank, and the pieces after it."""
    source = iter(data)
    buffer = b""
    for piece in source:
        buffer += piece
        line, newline, remainder = buffer.lstrip(b"\r\n \t").partition(b"\n")
        if newline or len(buffer) > LINE:
            return line.rstrip(b"\r"), _chained(remainder, source)
    return buffer.strip(), iter(())


def _chained(first: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield from rest


def _whole_lines(data: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield blocks, each with the place after its last complete line; there is one."""
    remainder, dropping = b"", False
    for pieces in _filled(data):
        if dropping:
            _, newline, rest = b"".join(pieces).partition(b"\n")
            if not newline:
                continue
            pieces, dropping = [b"\n", rest], False
        block = b"".join([remainder, *pieces])
        done = block.rfind(b"\n") + 1
        remainder = block[done:]
        if len(remainder) > LINE + SPAN:
            remainder, dropping = _LONG, True
        if done:
            yield block, done
    if remainder:
        yield remainder + b"\n", len(remainder) + 1


def _cut(data: Iterable[bytes], shape: TextShape) -> Iterator[tuple[bytes, np.ndarray, np.ndarray]]:
    """Yield blocks of complete rows with the places where rows start and end."""
    remainder, dropping = b"", False
    for pieces in _filled(data):
        piece = b"".join(pieces)
        if dropping:
            _, newline, piece = piece.partition(b"\n")
            if not newline:
                continue
            piece, dropping = b"\n" + piece, False
        block = remainder + piece
        starts, ends, done = _rows(block, shape, final=False)
        remainder = block[done:]
        if len(remainder) > LINE + SPAN and b"\n" not in remainder:
            remainder, dropping = _LONG, True
        yield block, starts, ends
    if remainder:
        block = remainder if remainder.endswith(b"\n") else remainder + b"\n"
        starts, ends, _ = _rows(block, shape, final=True)
        yield block, starts, ends


def _filled(data: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield pieces that together have a size worth parsing."""
    buffer: list[bytes] = []
    size = 0
    for piece in data:
        buffer.append(piece)
        size += len(piece)
        if size >= CHUNK:
            yield buffer
            buffer, size = [], 0
    if buffer:
        yield buffer


def _rows(block: bytes, shape: TextShape, final: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return starts and ends of rows, and the place where the remainder for the next block begins."""
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    done = int(ends[-1]) + 1 if len(ends) else 0
    if not shape.blank_rows:
        first = np.frombuffer(block, dtype=np.uint8)[starts]
        filled = (ends - starts > 1) | ((ends - starts == 1) & (first != 13))
        starts, ends = starts[filled], ends[filled]
    if not shape.quoted or not shape.multiline or b'"' not in block:
        return starts, ends, done
    return _joined(block, starts, ends, done, shape=shape, final=final)


def _joined(
    block: bytes, starts: np.ndarray, ends: np.ndarray, done: int, *, shape: TextShape, final: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """Join lines with quotes where the text is one well-formed row."""
    quotes = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 34)
    odd = np.flatnonzero((np.searchsorted(quotes, ends) - np.searchsorted(quotes, starts)) % 2)
    keep, ends, at = np.ones(len(starts), dtype=bool), ends.copy(), 0
    while at < len(odd):
        first, last = int(odd[at]), int(odd[at + 1]) if at + 1 < len(odd) else None
        if last is None and not final and len(block) - starts[first] <= SPAN:
            keep[first:] = False  # the row may go on in the next block
            done = int(starts[first])
            break
        if last is not None and _is_row(block, int(starts[first]), int(ends[last]), shape):
            ends[first] = ends[last]
            keep[first + 1 : last + 1] = False
            at += 1
        at += 1
    return starts[keep], ends[keep], done


def _is_row(block: bytes, start: int, end: int, shape: TextShape) -> bool:
    return end - start <= SPAN and shape.row.fullmatch(block[start:end].rstrip(b"\r")) is not None


def _cells_of_lines(block: bytes, done: int, shape: TextShape, wanted: _Wanted) -> Batch:
    """Parse the chosen cells of the lines up to a place, each of which is a row."""
    if _is_plain(block, shape) and not _has_long_line(block, done):
        text = pa.py_buffer(block)[:done] if block.isascii() else pa.py_buffer(_utf8(block[:done], shape.encoding))
        return _parsed(text, None, shape, wanted, quoted=False)
    return _cells(block, *_rows(block, shape, final=False)[:2], shape, wanted=wanted)


def _is_plain(block: bytes, shape: TextShape) -> bool:
    """Return True where neither quotes nor lone carriage returns, nor zeros, need a second look."""
    # To count pairs costs far more than to find that there is no carriage return.
    plain = b"\x00" not in block and (b"\r" not in block or block.count(b"\r") == block.count(b"\r\n"))
    return plain and not (shape.quoted and b'"' in block)


def _has_long_line(block: bytes, done: int) -> bool:
    """Return whether one of the lines up to a place is longer than a row may be."""
    start = 0
    while start < done:
        last = block.rfind(b"\n", start, start + LINE + 1)
        if last < 0:
            return True
        start = last + 1
    return False


def _cells(block: bytes, starts: np.ndarray, ends: np.ndarray, shape: TextShape, *, wanted: _Wanted) -> Batch:
    """Parse the chosen cells of the rows of a block."""
    columns = wanted.columns
    if _is_plain(block, shape) and int(np.max(ends - starts)) <= LINE:
        text = block[int(starts[0]) : int(ends[-1]) + 1] if shape.blank_rows else _lines_of(block, starts, ends)
        return _parsed(pa.py_buffer(_utf8(text, shape.encoding)), len(starts), shape, wanted, quoted=False)
    rows = [block[start:end].rstrip(b"\r") for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    easy = _easy(rows, shape)
    fast = [row for row, simple in zip(rows, easy, strict=True) if simple]
    slow = [_one(row, shape, columns) for row, simple in zip(rows, easy, strict=True) if not simple]
    text = pa.py_buffer(_utf8(b"\n".join(fast) + b"\n", shape.encoding))
    easy_rows = _parsed(text, len(fast), shape, _Wanted(columns, (), as_numbers=False), quoted=shape.quoted)
    order = np.empty(len(rows), dtype=np.int64)
    order[easy], order[~easy] = np.arange(len(fast)), len(fast) + np.arange(len(slow))
    lost = [None] * len(columns)
    cells = [
        pa.concat_arrays([part, pa.array([(row or lost)[j] for row in slow], _TEXT)]).take(pa.array(order))
        for j, part in enumerate(easy_rows.cells)
    ]
    return Batch(len(rows), cells, easy_rows.unreadable + sum(row is None for row in slow))


def _lines_of(block: bytes, starts: np.ndarray, ends: np.ndarray) -> bytes:
    return b"".join(block[start : end + 1] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))


def _easy(rows: list[bytes], shape: TextShape) -> np.ndarray:
    """Return a mask of the rows that Arrow's reader reads correctly: one line, quotes only where they belong."""
    short = np.array([len(row) <= LINE for row in rows], dtype=bool)
    if not shape.quoted:
        return short & np.array([b"\r" not in row and b"\x00" not in row for row in rows], dtype=bool)
    lines = pa.array(rows, pa.large_binary())
    fit = pc.match_substring_regex(lines, shape.line).to_numpy(zero_copy_only=False)
    broken = pc.match_substring(lines, b"\n").to_numpy(zero_copy_only=False)
    return np.asarray(short & fit & ~broken, dtype=bool)


def _one(row: bytes, shape: TextShape, columns: Sequence[int]) -> list[str | None] | None:
    """Parse the cells of one unusual row; return ``None`` where it is not well-formed."""
    if not shape.quoted or len(row) > LINE or shape.row.fullmatch(row) is None:
        return None
    cells: list[str | None] = []
    at = 0
    while match := shape.next_cell.match(row, at):
        cells.append(_unquoted(match[1]).decode(shape.encoding, "replace"))
        if not match[2]:
            break
        at = match.end()
    return [cells[j] for j in columns]


def _unquoted(cell: bytes) -> bytes:
    bare = cell.strip(b" ")
    return bare[1:-1].replace(b'""', b'"') if bare[:1] == b'"' else cell


def _parsed(text: pa.Buffer, rows: int | None, shape: TextShape, wanted: _Wanted, *, quoted: bool) -> Batch:
    """Parse lines of UTF-8 with Arrow's reader; a line with another number of cells is null in every column.

    The number of rows is that of the lines; ``None``: as many as the reader finds.

    Numbers are converted by the reader itself where all of a block are finite and no larger than a number may be: a
    cell that is anything else has a text, which others may need.
    """
    if rows == 0:
        return Batch(0, [pa.array([], _TEXT) for _ in wanted.columns], 0)
    if wanted.as_numbers:
        try:
            batch = _read(text, rows, shape, wanted.columns, numbers=wanted.numbers, quoted=quoted)
            if all(_are_usual(cells) for cells in batch.cells if cells.type == _NUMBER):
                return batch
        except pa.ArrowInvalid:
            pass
        wanted.as_numbers = False
    return _read(text, rows, shape, wanted.columns, quoted=quoted)


def _are_usual(numbers: pa.Array) -> bool:
    """Return whether all cells are null or numbers no larger than a number may be."""
    values = numbers.to_numpy(zero_copy_only=False)
    if values.max() <= LARGEST and values.min() >= -LARGEST:  # false for what is no number
        return True
    return bool(np.count_nonzero(np.abs(values) <= LARGEST) == len(values) - numbers.null_count)


def _read(
    text: pa.Buffer,
    rows: int | None,
    shape: TextShape,
    columns: Sequence[int],
    *,
    numbers: Collection[int] = (),
    quoted: bool,
) -> Batch:
    """Read lines of UTF-8 as text, some columns as numbers.

    Raises:
        pa.ArrowInvalid: a cell of these is no number.
    """
    wrong: list[int] = []

    def skipped(row: pcsv.InvalidRow) -> str:
        wrong.append(row.number)
        return "skip"

    names = [str(j) for j in range(shape.width)]
    wanted = {str(j): _NUMBER if j in numbers else _TEXT for j in columns}
    table = pcsv.read_csv(
        pa.BufferReader(text),
        pcsv.ReadOptions(use_threads=False, block_size=text.size * 2 + 16, column_names=names),
        pcsv.ParseOptions(
            delimiter=shape.separator,
            quote_char='"' if quoted else False,
            double_quote=quoted,
            ignore_empty_lines=False,
            invalid_row_handler=skipped,
        ),
        pcsv.ConvertOptions(
            check_utf8=False,
            include_columns=list(wanted),
            column_types=wanted,
            null_values=list(MISSING),
            strings_can_be_null=True,
        ),
    )
    rows = table.num_rows + len(wrong) if rows is None else rows
    columns_by_name = {name: _one_array(table.column(name), kind) for name, kind in wanted.items()}
    return Batch(rows, [_with_gaps(columns_by_name[str(j)], wrong, rows) for j in columns], len(wrong))


def _one_array(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], kind), *column.chunks])


def _with_gaps(cells: pa.Array, wrong: Sequence[int], rows: int) -> pa.Array:
    """Insert a null at each line that was left out (counted from 1)."""
    if not wrong:
        return cells
    good = np.ones(rows, dtype=bool)
    good[np.asarray(wrong) - 1] = False
    at = np.where(good, np.cumsum(good) - 1, 0)
    return cells.take(pa.array(at, mask=~good))


def _utf8(text: bytes, encoding: str) -> bytes:
    """Convert bytes to UTF-8 for Arrow; bytes that are none are read in place, never beyond a separator or a line.

    Arrow's reader drops a byte order mark at the start of what it is given. Which row that is depends on how the rows
    before it are cut, so a mark of its own goes before one in a cell.
    """
    if text.isascii():
        return text
    text = _decoded(text, encoding)
    return BOM + text if text.startswith(BOM) else text


def _decoded(text: bytes, encoding: str) -> bytes:
    return decoded(text, "latin-1" if encoding == "latin-1" else "cp1252").encode("utf-8")
