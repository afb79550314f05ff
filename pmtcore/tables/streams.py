"""Bytes of a table from memory, a file or an object store, decompressed up to a limit where they are gzip'ed.

Only regular files are opened: a pipe or a device might never end.
"""

import gzip
import io
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, cast

from pmtcore.base.messages import InputError, TableMessage, reraised_as
from pmtcore.tables.limits import MAX_BYTES

Place = bytes | Path | str  # the bytes themselves, a path, an address such as s3://bucket/key
_GZIP = b"\x1f\x8b"
_PIECE_BYTES = 2**18  # bytes at a read: enough that the call itself costs little


def is_address(text: str) -> bool:
    """Return whether a text is an address, such as of an object store, rather than a path."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text) is not None


def without_keys(address: str) -> str:
    """Return an address without possible secrets: user, password, and everything after a question mark."""
    return re.sub(r"//[^/]*@", "//", address.partition("?")[0]) if is_address(address) else address


def open_stream(place: Place) -> BinaryIO:
    """Open a seekable stream of bytes.

    Raises:
        InputError: there is no such regular file, it cannot be read, or there is no library for the address.
    """
    if isinstance(place, bytes):
        return io.BytesIO(place)
    if isinstance(place, str) and is_address(place):
        return _remote(place)
    path = Path(place)
    _check_regular(path)
    try:
        return path.open("rb")
    except OSError as error:
        raise InputError(TableMessage.FILE_UNREADABLE, place=str(place), reason=error.strerror) from None


def decompressed_pieces(place: Place, where: str, limit: int | None = None) -> Iterator[bytes]:
    """Yield the uncompressed bytes, piece by piece, of all members of a gzip file.

    Raises:
        InputError: a gzip file is damaged, cut short, followed by other bytes or gzip'ed twice, or the limit, in
            uncompressed bytes, is exceeded.
    """
    with open_stream(place) as raw:
        packed = raw.read(2) == _GZIP
        raw.seek(0)
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=raw)) if packed else raw
        size = 0
        while piece := _read(stream, where):
            if packed and size == 0 and piece[:2] == _GZIP:
                raise InputError(TableMessage.GZIP_TWICE, where=where)
            size += len(piece)
            if limit is not None and size > limit:
                raise InputError(TableMessage.TOO_LARGE_UNPACKED, where=where, megabytes=limit // 2**20)
            yield piece


def decompress(place: Place, where: str, limit: int = MAX_BYTES) -> bytes:
    """Return all uncompressed bytes; see :func:`decompressed_pieces`."""
    return b"".join(decompressed_pieces(place, where, limit))


def starts_with(place: Place, mark: bytes) -> bool:
    """Return whether the stored bytes start with this mark."""
    with open_stream(place) as stream:
        return stream.read(len(mark)) == mark


def _check_regular(path: Path) -> None:
    """Check that a path is that of a regular file.

    Raises:
        InputError: it is not.
    """
    try:
        regular = path.is_file()
    except (OSError, ValueError):  # a name too long, or with a null in it
        regular = False
    if not regular:
        raise InputError(TableMessage.NO_FILE, place=str(path))


def _read(stream: BinaryIO, where: str) -> bytes:
    """Return the next piece of a stream.

    Raises:
        InputError: it is damaged, or cannot be read.
    """
    try:
        return stream.read(_PIECE_BYTES)
    except EOFError:
        raise InputError(TableMessage.GZIP_CUT_SHORT, where=where) from None
    except (gzip.BadGzipFile, zlib.error):
        raise InputError(TableMessage.GZIP_DAMAGED, where=where) from None
    except OSError as error:
        raise InputError(
            TableMessage.NOT_READABLE, where=where, reason=error.strerror or "the connection failed"
        ) from None


def _remote(address: str) -> BinaryIO:
    """Open an address of an object store.

    Raises:
        InputError: it cannot be read, or the library for it is missing.
    """
    with reraised_as(InputError(TableMessage.NO_FSSPEC, scheme=address.partition("://")[0]), ImportError):
        import fsspec  # noqa: PLC0415  # an extra
    # Errors differ between stores, and their texts may have keys.
    with reraised_as(InputError(TableMessage.ADDRESS_UNREADABLE, address=without_keys(address)), Exception):
        return cast(BinaryIO, fsspec.open(address, "rb").open())
