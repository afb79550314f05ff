"""Tables from what users pass: frames of pandas, Polars and Arrow (through narwhals), or paths.

Digests and tables are made here and never by the user. A digest of private rows serves to recognise a repeated request;
it stays in this process, and no record contains it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pmtcore.base.messages import FaceMessage, InputError
from pmtcore.tables.sources import narwhals_frame
from pmtcore.tables.streams import without_keys
from pmtcore.tables.table import MomentTable, Role, Table, read_moment_path, read_path, table_from

if TYPE_CHECKING:
    import narwhals as nw


def table(data: object, role: Role) -> Table:
    """Return a frame or the path of a file as a table.

    Raises:
        InputError: neither a frame nor a path, no rows, or a file that cannot be read.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | Path):
        return read_path(data, role)
    frame = _eager(data)
    if frame is None:
        raise InputError(FaceMessage.NOT_A_FRAME, table=role, given=type(data).__name__)
    if not len(frame):
        raise InputError(FaceMessage.EMPTY_FRAME, table=role)
    return table_from(frame.to_native(), "frame", role)


def is_table(data: object) -> bool:
    """Return True where the data can be read as public rows, or as a second moment in their place."""
    return isinstance(data, str | Path | Table | MomentTable) or narwhals_frame(data) is not None


def is_empty(data: object) -> bool:
    """Return True where the data are a frame without rows."""
    frame = None if isinstance(data, str | Path | Table) else _eager(data)
    return frame is not None and not len(frame)


def moment(path: str | Path) -> MomentTable:
    """Read a public second moment matrix from a file; it stands wherever public rows do."""
    return read_moment_path(path)


def file_name(data: object) -> str:
    """Return the name of a table's file, empty for a frame."""
    return Path(without_keys(str(data))).name if isinstance(data, str | Path) else ""


def digest(public: Table | MomentTable) -> str:
    """Return a digest that identifies public data."""
    if isinstance(public, Table):
        return public.sha256
    return hashlib.sha256(repr(public.columns).encode() + public.matrix.tobytes()).hexdigest()


def _eager(data: object) -> nw.DataFrame[Any] | None:
    """Return a frame of any library, a lazy one collected; ``None`` where it is no frame.

    Raises:
        InputError: column names that cannot be used.
    """
    import narwhals as nw  # noqa: PLC0415  # only frames need it

    frame = narwhals_frame(data)
    return frame.collect() if isinstance(frame, nw.LazyFrame) else frame
