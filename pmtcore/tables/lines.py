"""From lines of text to rows of cells (decision 0016).

In a private file every line is a row, also a blank one, whatever quotes it has. Only where line breaks in cells were
declared (``multiline``), and in public files, may a row have several lines: if a line has an odd number of double
quotes, and the text up to the next such line is one well-formed row (quotes closed before separators, as many cells as
the header). All cells of an unreadable row are missing.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pcsv

from pmtcore.base import threads
from pmtcore.tables.cells import MISSING, decode_bytes
from pmtcore.tables.dialect import BOM
from pmtcore.tables.limits import CHUNK, LARGEST_NUMBER, LINE, SPAN

_NEWLINE = ord("\n")
_OVERLONG = b"\x00"  # stands for a line beyond the limit, and is unreadable
_TEXT, _NUMBER = pa.string(), pa.float64()


@dataclass(frozen=True)
class TextShape:
    """Public format of the rows of a text file.

    Attributes:
        separator: of cells, one byte.
        width: number of cells of a row.
        quoted: whether double quotes enclose cells.
        encoding: of the cells.
        blank_rows: whether a blank line is a row; in a private file it is, so that n does not depend on cells.
        multiline: whether a cell in quotes may have line breaks; a stray quote may then join the lines of other rows.
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
        """Return the pattern of one cell of a well-formed row and the separator after it."""
        s = re.escape(self.separator).encode()
        return re.compile(b"(" + self._cell(s) + b")(" + s + b"|)")

    @cached_property
    def line(self) -> str:
        """Return the pattern, for Arrow, of a well-formed row of one line without a lone carriage return."""
        s = re.escape(self.separator).encode()
        cell = rb'(?:"(?:[^"\r]|"")*"|[ ]*(?:[^" \r\x00' + s + rb"][^\r\x00" + s + rb"]*)?)"
        return (rb"\A" + cell + b"(?:" + s + cell + rb")*\z").decode()

    @staticmethod
    def _cell(s: bytes) -> bytes:
        return rb'(?:[ ]*"(?:[^"]|"")*+"[ ]*|(?![ ]*")[^\n' + s + rb"]++|)"

    @property
    def rows_are_lines(self) -> bool:
        """Return whether every line is a row."""
        return self.blank_rows and not (self.quoted and self.multiline)


def count_rows(data: Iterable[bytes], shape: TextShape) -> int:
    """Return the number of rows."""
    if shape.rows_are_lines:
        return _line_count(data)
    return sum(len(starts) for _, starts, _ in _row_blocks(data, shape))


def _line_count(data: Iterable[bytes]) -> int:
    """Return the number of lines, an unended last one included."""
    count, last = 0, b"\n"
    for piece in data:
        # Takes a third of the time of ``bytes.count``.
        count += int(np.count_nonzero(np.frombuffer(piece, dtype=np.uint8) == _NEWLINE))
        last = piece[-1:] or last
    return count + (last != b"\n")


@dataclass(frozen=True, eq=False)
class Batch:
    """Chosen cells of rows, a column each, and the number of unreadable rows, whose cells are null."""

    rows: int
    cells: list[pa.Array]
    unreadable: int

    def __repr__(self) -> str:
        return f"<{self.rows} rows of text>"


@dataclass(eq=False)
class _ChosenColumns:
    """Columns that a pass reads.

    Attributes:
        columns: their positions.
        numbers: positions of those that are read only as numbers with a decimal point.
        as_numbers: whether Arrow's reader is to convert these. After a block in which it failed this is not tried
            again, which saves time and changes no number.
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
        shape: public format of a row.
        columns: positions of the columns to read.
        numbers: those among them that are read only as numbers with a decimal point. They may be converted here, to the
            same numbers as by :func:`pmtcore.tables.cells.numbers`.
    """
    reading = _ChosenColumns(columns, numbers, as_numbers=bool(numbers))
    if shape.rows_are_lines:
        parsed = (partial(_cells_of_lines, block, end, shape, reading) for block, end in _whole_lines(data))
    else:
        parsed = (partial(_cells, *block, shape, wanted=reading) for block in _row_blocks(data, shape) if len(block[1]))
    return threads.in_order(parsed, threads.reader_threads())


def after_header(data: Iterable[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """Return the first line that is not blank, and the pieces after it."""
    source = iter(data)
    buffer = b""
    for piece in source:
        buffer += piece
        line, newline, remainder = buffer.lstrip(b"\r\n \t").partition(b"\n")
        if newline or len(buffer) > LINE:
            return line.rstrip(b"\r"), chain((remainder,), source)
    return buffer.strip(), iter(())


def _whole_lines(data: Iterable[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield blocks, each with the position after its last complete line."""
    remainder, dropping = b"", False
    for pieces in _gathered(data):
        if dropping:
            _, newline, rest = b"".join(pieces).partition(b"\n")
            if not newline:
                continue
            pieces, dropping = [b"\n", rest], False
        block = b"".join([remainder, *pieces])
        end = block.rfind(b"\n") + 1
        remainder = block[end:]
        if len(remainder) > LINE + SPAN:
            remainder, dropping = _OVERLONG, True
        if end:
            yield block, end
    if remainder:
        yield remainder + b"\n", len(remainder) + 1


def _row_blocks(data: Iterable[bytes], shape: TextShape) -> Iterator[tuple[bytes, np.ndarray, np.ndarray]]:
    """Yield blocks of complete rows with the positions where rows start and end."""
    remainder, dropping = b"", False
    for pieces in _gathered(data):
        piece = b"".join(pieces)
        if dropping:
            _, newline, piece = piece.partition(b"\n")
            if not newline:
                continue
            piece, dropping = b"\n" + piece, False
        block = remainder + piece
        starts, ends, end = _row_bounds(block, shape, final=False)
        remainder = block[end:]
        if len(remainder) > LINE + SPAN and b"\n" not in remainder:
            remainder, dropping = _OVERLONG, True
        yield block, starts, ends
    if remainder:
        block = remainder if remainder.endswith(b"\n") else remainder + b"\n"
        starts, ends, _ = _row_bounds(block, shape, final=True)
        yield block, starts, ends


def _gathered(data: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of pieces that together have about :data:`CHUNK` bytes."""
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


def _row_bounds(block: bytes, shape: TextShape, final: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """Return starts and ends of rows, and the position where the remainder for the next block begins."""
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == _NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1]) if len(ends) else ends
    end = int(ends[-1]) + 1 if len(ends) else 0
    if not shape.blank_rows:
        first_bytes = np.frombuffer(block, dtype=np.uint8)[starts]
        is_filled = (ends - starts > 1) | ((ends - starts == 1) & (first_bytes != 13))
        starts, ends = starts[is_filled], ends[is_filled]
    if not shape.quoted or not shape.multiline or b'"' not in block:
        return starts, ends, end
    return _join_quoted_lines(block, starts, ends, end, shape=shape, final=final)


def _join_quoted_lines(
    block: bytes, starts: np.ndarray, ends: np.ndarray, done: int, *, shape: TextShape, final: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """Join lines with an odd number of quotes where the text is one well-formed row; see :func:`_row_bounds`."""
    quotes = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == 34)
    odd = np.flatnonzero((np.searchsorted(quotes, ends) - np.searchsorted(quotes, starts)) % 2)
    keep, ends, i = np.ones(len(starts), dtype=bool), ends.copy(), 0
    while i < len(odd):
        first, last = int(odd[i]), int(odd[i + 1]) if i + 1 < len(odd) else None
        if last is None and not final and len(block) - starts[first] <= SPAN:
            keep[first:] = False  # the row may continue in the next block
            done = int(starts[first])
            break
        if last is not None and _is_row(block, int(starts[first]), int(ends[last]), shape):
            ends[first] = ends[last]
            keep[first + 1 : last + 1] = False
            i += 1
        i += 1
    return starts[keep], ends[keep], done


def _is_row(block: bytes, start: int, end: int, shape: TextShape) -> bool:
    return end - start <= SPAN and shape.row.fullmatch(block[start:end].rstrip(b"\r")) is not None


def _cells_of_lines(block: bytes, end: int, shape: TextShape, wanted: _ChosenColumns) -> Batch:
    """Parse the chosen cells of the lines up to a position, where each line is a row."""
    if _is_plain(block, shape) and not _has_long_line(block, end):
        text = pa.py_buffer(block)[:end] if block.isascii() else pa.py_buffer(_utf8(block[:end], shape.encoding))
        return _parsed(text, None, shape, wanted, quoted=False)
    return _cells(block, *_row_bounds(block, shape, final=False)[:2], shape, wanted=wanted)


def _is_plain(block: bytes, shape: TextShape) -> bool:
    """Return whether a block has no quotes, lone carriage returns or zero bytes."""
    # Counting pairs takes much longer than finding that there is no carriage return.
    plain = b"\x00" not in block and (b"\r" not in block or block.count(b"\r") == block.count(b"\r\n"))
    return plain and not (shape.quoted and b'"' in block)


def _has_long_line(block: bytes, end: int) -> bool:
    """Return whether a line up to a position is longer than a row may be."""
    start = 0
    while start < end:
        last = block.rfind(b"\n", start, start + LINE + 1)
        if last < 0:
            return True
        start = last + 1
    return False


def _cells(block: bytes, starts: np.ndarray, ends: np.ndarray, shape: TextShape, *, wanted: _ChosenColumns) -> Batch:
    """Parse the chosen cells of the rows of a block."""
    columns = wanted.columns
    if _is_plain(block, shape) and int(np.max(ends - starts)) <= LINE:
        text = block[int(starts[0]) : int(ends[-1]) + 1] if shape.blank_rows else _lines_of(block, starts, ends)
        return _parsed(pa.py_buffer(_utf8(text, shape.encoding)), len(starts), shape, wanted, quoted=False)
    rows = [block[start:end].rstrip(b"\r") for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    is_regular = _arrow_mask(rows, shape)
    regular = [row for row, regular_row in zip(rows, is_regular, strict=True) if regular_row]
    irregular = [
        _parse_row(row, shape, columns) for row, regular_row in zip(rows, is_regular, strict=True) if not regular_row
    ]
    text = pa.py_buffer(_utf8(b"\n".join(regular) + b"\n", shape.encoding))
    regular_rows = _parsed(
        text, len(regular), shape, _ChosenColumns(columns, (), as_numbers=False), quoted=shape.quoted
    )
    order = np.empty(len(rows), dtype=np.int64)
    order[is_regular], order[~is_regular] = np.arange(len(regular)), len(regular) + np.arange(len(irregular))
    no_cells = [None] * len(columns)
    cells = [
        pa.concat_arrays([regular_cells, pa.array([(row or no_cells)[j] for row in irregular], _TEXT)]).take(
            pa.array(order)
        )
        for j, regular_cells in enumerate(regular_rows.cells)
    ]
    return Batch(len(rows), cells, regular_rows.unreadable + sum(row is None for row in irregular))


def _lines_of(block: bytes, starts: np.ndarray, ends: np.ndarray) -> bytes:
    return b"".join(block[start : end + 1] for start, end in zip(starts.tolist(), ends.tolist(), strict=True))


def _arrow_mask(rows: list[bytes], shape: TextShape) -> np.ndarray:
    """Return whether Arrow's reader reads each row correctly: rows of one line with well-formed quotes."""
    is_short = np.array([len(row) <= LINE for row in rows], dtype=bool)
    if not shape.quoted:
        return is_short & np.array([b"\r" not in row and b"\x00" not in row for row in rows], dtype=bool)
    lines = pa.array(rows, pa.large_binary())
    is_well_formed = pc.match_substring_regex(lines, shape.line).to_numpy(zero_copy_only=False)
    has_line_break = pc.match_substring(lines, b"\n").to_numpy(zero_copy_only=False)
    return np.asarray(is_short & is_well_formed & ~has_line_break, dtype=bool)


def _parse_row(row: bytes, shape: TextShape, columns: Sequence[int]) -> list[str | None] | None:
    """Return the chosen cells of one row; ``None`` where it is not well-formed."""
    if not shape.quoted or len(row) > LINE or shape.row.fullmatch(row) is None:
        return None
    cells: list[str | None] = []
    position = 0
    while match := shape.next_cell.match(row, position):
        cells.append(_unquoted(match[1]).decode(shape.encoding, "replace"))
        if not match[2]:
            break
        position = match.end()
    return [cells[j] for j in columns]


def _unquoted(cell: bytes) -> bytes:
    stripped = cell.strip(b" ")
    return stripped[1:-1].replace(b'""', b'"') if stripped[:1] == b'"' else cell


def _parsed(text: pa.Buffer, rows: int | None, shape: TextShape, wanted: _ChosenColumns, *, quoted: bool) -> Batch:
    """Parse lines of UTF-8 with Arrow's reader; a line with another number of cells is null in every column.

    The reader converts numbers only where all numbers of a block are finite and in range: otherwise the text of a cell
    may be needed.

    Args:
        text: the lines.
        rows: their number; ``None``: as many as the reader finds.
        shape: public format of a row.
        wanted: columns to read.
        quoted: whether cells may be in quotes.
    """
    if rows == 0:
        return Batch(0, [pa.array([], _TEXT) for _ in wanted.columns], 0)
    if wanted.as_numbers:
        try:
            batch = _typed_columns(text, rows, shape, wanted.columns, numbers=wanted.numbers, quoted=quoted)
            if all(_are_in_range(cells) for cells in batch.cells if cells.type == _NUMBER):
                return batch
        except pa.ArrowInvalid:
            pass
        wanted.as_numbers = False
    return _typed_columns(text, rows, shape, wanted.columns, quoted=quoted)


def _are_in_range(numbers: pa.Array) -> bool:
    """Return whether all cells are null or numbers of at most :data:`LARGEST_NUMBER`."""
    values = numbers.to_numpy(zero_copy_only=False)
    if values.max() <= LARGEST_NUMBER and values.min() >= -LARGEST_NUMBER:  # false for what is no number
        return True
    return bool(np.count_nonzero(np.abs(values) <= LARGEST_NUMBER) == len(values) - numbers.null_count)


def _typed_columns(
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
        pa.ArrowInvalid: a cell of ``numbers`` is not a number.
    """
    unreadable: list[int] = []

    def skip_row(row: pcsv.InvalidRow) -> str:
        unreadable.append(row.number)
        return "skip"

    names = [str(j) for j in range(shape.width)]
    types = {str(j): _NUMBER if j in numbers else _TEXT for j in columns}
    table = pcsv.read_csv(
        pa.BufferReader(text),
        pcsv.ReadOptions(use_threads=False, block_size=text.size * 2 + 16, column_names=names),
        pcsv.ParseOptions(
            delimiter=shape.separator,
            quote_char='"' if quoted else False,
            double_quote=quoted,
            ignore_empty_lines=False,
            invalid_row_handler=skip_row,
        ),
        pcsv.ConvertOptions(
            check_utf8=False,
            include_columns=list(types),
            column_types=types,
            null_values=list(MISSING),
            strings_can_be_null=True,
        ),
    )
    rows = table.num_rows + len(unreadable) if rows is None else rows
    columns_by_name = {name: _one_array(table.column(name), kind) for name, kind in types.items()}
    return Batch(rows, [_with_nulls(columns_by_name[str(j)], unreadable, rows) for j in columns], len(unreadable))


def _one_array(column: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays([pa.array([], kind), *column.chunks])


def _with_nulls(cells: pa.Array, unreadable: Sequence[int], rows: int) -> pa.Array:
    """Return cells with a null inserted at each unreadable row (counted from 1)."""
    if not unreadable:
        return cells
    is_read = np.ones(rows, dtype=bool)
    is_read[np.asarray(unreadable) - 1] = False
    positions = np.where(is_read, np.cumsum(is_read) - 1, 0)
    return cells.take(pa.array(positions, mask=~is_read))


def _utf8(text: bytes, encoding: str) -> bytes:
    """Convert bytes to UTF-8 for Arrow; invalid bytes are decoded one by one, so that separators and line ends stay.

    Arrow's reader drops a byte order mark at the start of a block. If a cell starts the block with such a mark, another
    one is put before it, since the start of a block depends on other rows.
    """
    if text.isascii():
        return text
    text = _decoded(text, encoding)
    return BOM + text if text.startswith(BOM) else text


def _decoded(text: bytes, encoding: str) -> bytes:
    return decode_bytes(text, "latin-1" if encoding == "latin-1" else "cp1252").encode("utf-8")
