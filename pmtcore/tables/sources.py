"""Sources: tables that are read where they are stored, block by block, in constant memory.

A source has column names and number of rows without reading a cell, and yields blocks of cells, as text or as typed
scalars. Cells are converted elsewhere, one by one, so that the results do not depend on the blocks.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, Self, SupportsIndex, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pt

from pmtcore.base.messages import InputError, TableMessage, reraised_as
from pmtcore.base.private_rows import StaysInSession
from pmtcore.tables import lines
from pmtcore.tables.cells import OBJECT, from_objects, texts
from pmtcore.tables.dialect import SEPARATORS, Dialect, Header, check_names, header_of
from pmtcore.tables.limits import PARQUET_BUFFER, block_rows
from pmtcore.tables.streams import Place, decompressed_pieces, open_stream

if TYPE_CHECKING:
    import narwhals as nw
    import pyarrow.parquet as pq
    from _typeshed import ReadableBuffer

_PARQUET_FOOTER = 8  # bytes at the end of a Parquet file: length of its metadata, and a mark


@dataclass(frozen=True, eq=False)
class Cells:
    """Block of cells: Arrow arrays of one length, by column."""

    rows: int
    columns: Mapping[str, pa.Array]

    def __repr__(self) -> str:
        return f"<{self.rows} rows of cells>"


class Source(Protocol):
    """Interface of all sources."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the column names."""
        ...

    def rows(self, dialect: Dialect) -> int:
        """Return the number of rows: from metadata, declared, or counted by the ends of rows."""
        ...

    @property
    def sha256(self) -> str:
        """Return a digest that distinguishes tables."""
        ...

    @property
    def in_memory(self) -> bool:
        """Return whether the table is in memory."""
        ...

    @property
    def separator(self) -> str | None:
        """Return the separator of cells of a text; ``None`` for other sources."""
        ...

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        """Yield blocks of the named columns, in one pass.

        Raises:
            InputError: the file is damaged or missing.
        """
        ...


class FileSource(StaysInSession):
    """Base of a source that is a file, which can be sent to other processes by its name, unless it is in memory."""

    in_memory: bool

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        return super().__reduce_ex__(protocol) if self.in_memory else object.__reduce_ex__(self, protocol)

    def __copy__(self) -> Self:
        view = object.__new__(type(self))
        view.__dict__ |= self.__dict__
        return view


class TextSource(FileSource):
    """Text file such as CSV, possibly gzip'ed."""

    def __init__(self, place: Place, where: str, private: bool, limit: int | None = None) -> None:
        self.place, self._where, self._limit, self._private = place, where, limit, private
        self.in_memory = isinstance(place, bytes)
        self._counted: dict[tuple[str, bool], tuple[int, int]] = {}
        self._numbers: frozenset[str] = frozenset()
        line = lines.after_header(decompressed_pieces(place, where, limit))[0]
        if not line.strip(b"\r\n \t\xef\xbb\xbf"):
            raise InputError(TableMessage.EMPTY_FILE, where=where)
        self.header: Header = header_of(line, where, private)

    @property
    def names(self) -> tuple[str, ...]:
        return self.header.names

    @property
    def separator(self) -> str | None:
        return self.header.separator

    def rows(self, dialect: Dialect) -> int:
        return self._count(dialect)[0]

    @property
    def size(self) -> int:
        """Return the number of uncompressed bytes."""
        return next(iter(self._counted.values()))[1] if self._counted else self._count(Dialect())[1]

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for piece in decompressed_pieces(self.place, self._where, self._limit):
            digest.update(piece)
        return digest.hexdigest()

    def reading_numbers(self, names: Iterable[str]) -> TextSource:
        """Return the same text, with these columns read only as numbers."""
        view = copy(self)
        view._numbers = frozenset(names)
        return view

    def _shape(self, dialect: Dialect) -> lines.TextShape:
        width = len(self.names) + dialect.row_names
        quoted, multiline = dialect.quoting != "none", not self._private or dialect.quoting == "multiline"
        return lines.TextShape(self.header.separator, width, quoted, dialect.encoding, self._private, multiline)

    def has_line_breaks(self, dialect: Dialect) -> bool:
        """Return whether a public file has cells with line breaks, that is, more lines than rows."""
        shape = replace(self._shape(dialect), multiline=False)
        text = lines.after_header(decompressed_pieces(self.place, self._where, self._limit))[1]
        return lines.count_rows(text, shape) > self.rows(dialect)

    def _count(self, dialect: Dialect) -> tuple[int, int]:
        """Return the number of rows, and of uncompressed bytes."""
        key = (dialect.quoting, dialect.row_names)
        if key not in self._counted:
            size = 0

            def measured_pieces() -> Iterator[bytes]:
                nonlocal size
                for piece in decompressed_pieces(self.place, self._where, self._limit):
                    size += len(piece)
                    yield piece

            count = lines.count_rows(lines.after_header(measured_pieces())[1], self._shape(dialect))
            self._counted[key] = count, size
        return self._counted[key]

    def sample(self, most: int) -> bytes:
        """Return at least the first ``most`` bytes of a public file, or all."""
        start = b""
        for piece in decompressed_pieces(self.place, self._where, self._limit):
            start += piece
            if len(start) >= most:
                break
        return start

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        positions = [self.names.index(name) + dialect.row_names for name in names]
        with_point = dialect.decimal_mark(self.separator) == "."
        numbers = {j for j, name in zip(positions, names, strict=True) if with_point and name in self._numbers}
        text_pieces = lines.after_header(decompressed_pieces(self.place, self._where, self._limit))[1]
        for batch in lines.batches(text_pieces, self._shape(dialect), positions, numbers):
            if batch.unreadable and not self._private:
                raise InputError(
                    TableMessage.RAGGED_ROWS,
                    where=self._where,
                    count=len(self.names),
                    separator=SEPARATORS[self.header.separator],
                )
            yield from slice_block(Cells(batch.rows, dict(zip(names, batch.cells, strict=True))))


class ParquetSource(FileSource):
    """Parquet file, of which the columns needed are read by row groups."""

    separator = None

    def __init__(self, place: Place, where: str, private: bool, limit: int | None = None) -> None:
        self.place, self._where = place, where
        self.in_memory = isinstance(place, bytes)
        with self._file() as file:
            self._rows = int(file.metadata.num_rows)
            schema = file.schema_arrow
            self._fields = {str(field.name).strip(): field for field in schema}
            names = [str(field.name).strip() for field in schema]
            # Without a limit, no length of a cell makes the file unreadable.
            for g in range(file.metadata.num_row_groups):
                _check_group_size(file.metadata.row_group(g), where, limit)
        check_names(names, where, private)
        self.names = tuple(names)
        # Digest of the file's metadata, or of all bytes in memory; that of a copy is the same.
        self.description = _content_digest(place)
        self.sha256 = _file_digest(self.description, place)

    def rows(self, dialect: Dialect) -> int:
        return self._rows

    def rows_of_groups(self) -> list[int]:
        """Return the number of rows of each row group."""
        with self._file() as file:
            return [int(file.metadata.row_group(g).num_rows) for g in range(file.metadata.num_row_groups)]

    @contextmanager
    def _file(self, names: Sequence[str] = ()) -> Iterator[pq.ParquetFile]:
        import pyarrow.parquet as pq  # noqa: PLC0415  # only Parquet needs it

        text_columns = [self._fields[name].name for name in names if _is_text(self._fields[name].type)]
        with ExitStack() as stack:
            try:
                handle = open_stream(self.place)
                stack.callback(handle.close)
                file = pq.ParquetFile(
                    handle, read_dictionary=text_columns, pre_buffer=False, buffer_size=PARQUET_BUFFER
                )
            except Exception:  # errors of pyarrow, whose texts may quote the file
                raise InputError(TableMessage.PARQUET_UNREADABLE, where=self._where) from None
            yield file

    def blocks(self, names: Sequence[str], dialect: Dialect, groups: Sequence[int] | None = None) -> Iterator[Cells]:
        readable = [name for name in names if not pt.is_nested(self._fields[name].type)]
        field_names = [self._fields[name].name for name in readable]
        with self._file(readable) as file:
            batches = file.iter_batches(block_rows(len(names)), groups, field_names, use_threads=False)
            while (batch := self._next(batches)) is not None:
                columns = dict(zip(readable, [batch.column(name) for name in field_names], strict=True))
                yield Cells(batch.num_rows, {name: columns.get(name, pa.nulls(batch.num_rows)) for name in names})

    def _next(self, batches: Iterator[pa.RecordBatch]) -> pa.RecordBatch | None:
        # Texts of pyarrow's errors may quote the file.
        with reraised_as(InputError(TableMessage.DAMAGED_PARQUET, where=self._where), Exception):
            return next(batches, None)


class ArrowSource(StaysInSession):
    """Arrow table in memory."""

    in_memory = True
    separator = None

    def __init__(self, table: pa.Table, sha256: str) -> None:
        self.table, self.sha256 = table, sha256
        self.names = tuple(str(name).strip() for name in table.column_names)

    def rows(self, dialect: Dialect) -> int:
        return int(self.table.num_rows)

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        chosen = self.table.select([self.names.index(name) for name in names])
        for batch in chosen.to_batches(max_chunksize=block_rows(len(names))):
            yield Cells(batch.num_rows, dict(zip(names, batch.columns, strict=True)))


def frame_source(frame: object) -> ArrowSource:
    """Return the source for a frame of pandas, Polars, Arrow or another library that narwhals knows.

    Raises:
        InputError: it is no such frame.
    """
    if isinstance(frame, pa.Table):
        table = frame
    else:
        import narwhals as nw  # noqa: PLC0415  # only frames need it

        dataframe = narwhals_frame(frame)
        if not isinstance(dataframe, nw.DataFrame):
            raise InputError(TableMessage.NOT_A_FRAME)
        # A lone surrogate, which UTF-8 cannot encode, is replaced as in a cell.
        names = [str(name).encode("utf-8", "replace").decode() for name in dataframe.columns]
        table = pa.table([_frame_column(dataframe[name]) for name in dataframe.columns], names=names)
    check_names([str(name).strip() for name in table.column_names], "The table", hide_names=True)
    for j, column in enumerate(table.columns):
        if pt.is_run_end_encoded(column.type):
            table = table.set_column(j, table.column_names[j], pc.run_end_decode(column))
    return ArrowSource(table, _table_digest(table))


def narwhals_frame(data: object) -> nw.DataFrame[Any] | nw.LazyFrame[Any] | None:
    """Return the frame of a library that narwhals knows; ``None`` for any other object.

    Raises:
        InputError: column names that cannot be used.
    """
    import narwhals as nw  # noqa: PLC0415  # only frames need it

    _check_frame_names(data)
    try:
        return nw.from_native(cast("nw.typing.IntoFrame", data))
    except TypeError:
        return None


def _check_frame_names(frame: object) -> None:
    """Check that the column names of a pandas frame are texts and unique.

    Raises:
        InputError: they are not; the names, which may be private, are not in the message.
    """
    if not type(frame).__module__.startswith("pandas") or not hasattr(frame, "columns"):
        return
    columns = frame.columns
    if not all(isinstance(name, str) for name in columns):
        raise InputError(TableMessage.NAMES_NOT_TEXT)
    if not columns.is_unique:
        raise InputError(TableMessage.FRAME_COLUMN_TWICE)


def _frame_column(series: nw.Series[Any]) -> pa.Array:
    """Return a column of a frame; Python objects are converted one by one."""
    with suppress(Exception):  # errors of any library
        if str(series.dtype) != "Object" and not _has_objects(series.to_native()):
            return series.to_arrow()
    return from_objects(series.to_list())


def _has_objects(native: object) -> bool:
    """Return whether a pandas series has Python objects, or such categories.

    The series itself decides, since narwhals infers from its first cells whether such a column is text.
    """
    dtype = getattr(native, "dtype", None)
    return "object" in (str(dtype), str(getattr(getattr(dtype, "categories", None), "dtype", "")))


class DerivedSource:
    """Base of a source that is derived from another one."""

    def __init__(self, source: Source) -> None:
        self.source, self.names = source, source.names
        self.separator, self.in_memory = source.separator, source.in_memory

    @property
    def sha256(self) -> str:
        """Return the digest of the original source."""
        return self.source.sha256

    def rows(self, dialect: Dialect) -> int:
        """Return the number of rows of the original source."""
        return self.source.rows(dialect)


class ManySource:
    """Table in several files, read one after the other."""

    def __init__(self, parts: Sequence[Source], where: str) -> None:
        if not parts:
            raise InputError(TableMessage.NO_FILES, where=where)
        if any(set(part.names) != set(parts[0].names) for part in parts):
            raise InputError(TableMessage.UNLIKE_FILES, where=where)
        self.parts, self.names = tuple(parts), parts[0].names
        self.in_memory = False
        self.separator = parts[0].separator

    def with_parts(self, parts: Sequence[Source]) -> ManySource:
        """Return the same table with these views of its files."""
        view = copy(self)
        view.parts = tuple(parts)
        return view

    def rows(self, dialect: Dialect) -> int:
        return sum(part.rows(dialect) for part in self.parts)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(" ".join(part.sha256 for part in self.parts).encode()).hexdigest()

    def blocks(self, names: Sequence[str], dialect: Dialect) -> Iterator[Cells]:
        for part in self.parts:
            yield from part.blocks(names, dialect)


def reading_numbers(source: Source, names: Iterable[str]) -> Source:
    """Return the same table for a pass that reads these columns only as numbers.

    A text file may then be parsed faster; the numbers are the same.
    """
    if isinstance(source, ManySource):
        return source.with_parts([reading_numbers(part, names) for part in source.parts])
    return source.reading_numbers(names) if isinstance(source, TextSource) else source


def has_digest_at_hand(source: Source) -> bool:
    """Return whether the digest depends on the rows and needs no pass over a file.

    The digest of a query does not depend on its rows.
    """
    if isinstance(source, ManySource):
        return all(map(has_digest_at_hand, source.parts))
    if isinstance(source, DerivedSource):
        return has_digest_at_hand(source.source)
    return source.in_memory or isinstance(source, ParquetSource)


def slice_block(cells: Cells) -> Iterator[Cells]:
    """Yield a block in parts of at most :func:`block_rows` rows."""
    size = block_rows(len(cells.columns))
    for start in range(0, cells.rows, size):
        rows = min(size, cells.rows - start)
        yield Cells(rows, {name: column.slice(start, rows) for name, column in cells.columns.items()})


def as_table(source: Source, dialect: Dialect) -> pa.Table:
    """Return all cells of a table that fits into memory."""
    blocks = [pa.table(dict(block.columns)) for block in source.blocks(source.names, dialect)]
    if not blocks:
        return pa.table({})
    return pa.concat_tables(_with_common_types(blocks), promote_options="permissive").unify_dictionaries()


def _with_common_types(blocks: Sequence[pa.Table]) -> Sequence[pa.Table]:
    """Return blocks in which columns of Python objects are converted to text if another block has another type."""
    schemas = [block.schema for block in blocks]
    for j, name in enumerate(schemas[0].names):
        kinds = {schema.field(j).type for schema in schemas if not pt.is_null(schema.field(j).type)}
        if OBJECT in kinds and len(kinds) > 1:
            blocks = [block.set_column(j, name, texts(block[j].combine_chunks())) for block in blocks]
    return blocks


def _is_text(kind: pa.DataType) -> bool:
    return bool(pt.is_string(kind) or pt.is_large_string(kind) or pt.is_binary(kind) or pt.is_large_binary(kind))


def _check_group_size(group: pq.RowGroupMetaData, where: str, limit: int | None) -> None:
    """Check the uncompressed size of each column of a row group.

    Raises:
        InputError: one exceeds the limit of the file, in bytes.
    """
    if limit is not None and any(group.column(j).total_uncompressed_size > limit for j in range(group.num_columns)):
        raise InputError(TableMessage.ROW_GROUP_TOO_LARGE, where=where, megabytes=limit // 2**20)


def _content_digest(place: Place) -> str:
    """Return the digest of the bytes in memory; for a file that of its Parquet metadata.

    Metadata are taken as bytes: they have the smallest and largest cells, which may not be valid text.
    """
    if isinstance(place, bytes):
        return hashlib.sha256(place).hexdigest()
    with open_stream(place) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(size - _PARQUET_FOOTER)
        length = int.from_bytes(stream.read(4), "little")
        stream.seek(max(size - _PARQUET_FOOTER - length, 0))
        return hashlib.sha256(stream.read(length)).hexdigest()


def _file_digest(description: str, place: Place) -> str:
    """Return a digest of the metadata with the path and the time of the last change of the file.

    Metadata without statistics have only sizes, and the cells are not to be read.
    """
    if isinstance(place, bytes):
        return description
    where = place if isinstance(place, str) else f"{place.resolve()} {place.stat().st_mtime_ns}"
    return hashlib.sha256(f"{description} {where}".encode()).hexdigest()


def is_same_file(one: Source, other: Source) -> bool:
    """Return whether two sources are one table, also where one is a copy of the other's file."""
    if isinstance(one, ParquetSource) and isinstance(other, ParquetSource):
        return one.description == other.description
    if isinstance(one, TextSource) and isinstance(other, TextSource) and one.size != other.size:
        return False  # texts of different sizes need no digest
    return one.sha256 == other.sha256


def _table_digest(table: pa.Table) -> str:
    """Return the digest of all cells of a table."""
    sink = _Digest()
    with pa.ipc.new_stream(
        pa.PythonFile(sink, "w"), table.schema
    ) as stream:  # of a slice, only its own rows are written
        stream.write_table(table)
    return sink.digest.hexdigest()


class _Digest(io.RawIOBase):
    """File that computes a digest of what is written to it."""

    def __init__(self) -> None:
        super().__init__()
        self.digest = hashlib.sha256()

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        self.digest.update(data)
        return memoryview(data).nbytes
