"""Small files that commands read and write: regular files only, of bounded size, checked before anything is spent."""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TypeGuard

from pmtcore.base.messages import CommandMessage, InputError, TableMessage

MOST_INPUT = 512 * 2**20  # bytes of a table that is held as it comes, since a pipe cannot be read twice
# Bytes of a configuration or a record: a thousand coefficients' second moment takes a third of it.
_MOST_BYTES = 64 * 2**20
STANDARD_INPUT = "-"
# Attributes of parsed options that name a file to write, with the options' names.
_OUTPUTS = {
    "out": "--out",
    "destination": "--out",
    "html": "--out",
    "save_config": "--save-config",
    "synthetic": "--synthetic",
}
# Attributes of parsed options that name files to read.
_INPUTS = (
    *("private", "public", "public_moment", "schema", "config", "record", "release", "confirm"),
    *("rows", "reports", "joined", "study"),
)
# A request that was read may be saved to the same file.
_READ_AND_WRITTEN = {("save_config", "config")}


def read_input() -> bytes:
    """Read the bytes of standard input.

    Raises:
        InputError: standard input is empty, or too large.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(CommandMessage.NO_INPUT)
    data = sys.stdin.buffer.read(MOST_INPUT + 1)
    if len(data) > MOST_INPUT:
        raise InputError(CommandMessage.INPUT_TOO_LARGE, megabytes=MOST_INPUT // 2**20)
    return data


def read_small(path: str) -> bytes:
    """Read the bytes of a configuration or a record.

    Raises:
        InputError: not a regular file, or too large to be one of these.
    """
    if path == STANDARD_INPUT:
        return read_input()
    file = Path(path)
    if not file.is_file():
        raise InputError(TableMessage.NO_FILE, place=path)
    if file.stat().st_size > _MOST_BYTES:
        raise InputError(CommandMessage.FILE_TOO_LARGE, place=path, megabytes=_MOST_BYTES // 2**20)
    return file.read_bytes()


def check_outputs(chosen: argparse.Namespace) -> None:
    """Refuse an output file that is also an input or a ledger of the call, which would be overwritten.

    Args:
        chosen: parsed arguments.

    Raises:
        InputError: an output is another file of the call.
    """
    outputs = {name: path for name in _OUTPUTS if _is_name(path := getattr(chosen, name, None))}
    if not outputs:
        return
    ledger = list(_files_of_ledger(chosen.ledger)) if hasattr(chosen, "ledger") else []
    for output, path in outputs.items():
        named = [getattr(chosen, name, None) for name in _INPUTS if (output, name) not in _READ_AND_WRITTEN]
        named += [place for name, place in outputs.items() if name != output]
        places = [place for value in named for place in (value if isinstance(value, list) else [value])]
        others = [place for place in places if _is_name(place)]
        if Path(path).resolve() in ledger or any(_is_one(path, other) for other in others):
            raise InputError(CommandMessage.WRITES_OVER, option=_OUTPUTS[output], place=path)


def _is_name(value: object) -> TypeGuard[str]:
    """Return whether an option's value can name a file; :func:`check_writable` refuses others."""
    return isinstance(value, str) and value != "" and "\x00" not in value


def _files_of_ledger(url: str | None) -> Iterator[Path]:
    """Yield the file of a ledger, and those beside it; none of a server."""
    from pmtcore.ledger.database import files_of_ledger  # noqa: PLC0415  # only where something is written
    from pmtcore.ledger.log import default_url  # noqa: PLC0415  # as above

    yield from files_of_ledger(url or default_url())


def _is_one(path: str, other: str) -> bool:
    """Return whether a path is among the files of another one: itself, a link, or one of a folder or pattern."""
    try:
        written, named = Path(path).resolve(), Path(other).resolve()
        if written == named or (written.exists() and named.exists() and written.samefile(named)):
            return True
        # Tables in several files are Parquet files.
        if written.suffix != ".parquet":
            return False
        return written.is_relative_to(named) if named.is_dir() else written.match(str(named))
    except (OSError, ValueError, RuntimeError):  # no name of a file
        return False


def check_writable(path: str | None) -> None:
    """Raise unless a file may be written at a path; checked before the spend.

    Raises:
        InputError: a device, a pipe or a folder, or no name; OSError: the folder is not there, or is not ours.
    """
    if path is None:
        return
    file = Path(path)
    if "\x00" in path or path == STANDARD_INPUT:
        raise InputError(CommandMessage.NO_FILE_NAME, place=path)
    if file.exists() and not file.is_file():
        raise InputError(CommandMessage.NOT_A_REGULAR_FILE, place=path)
    there = file.exists()
    with file.open("ab"):
        pass
    if not there:
        file.unlink()


def write_small(path: str, text: str) -> None:
    """Write a text file.

    Raises:
        InputError: as :func:`check_writable`; OSError: the disk is full; a new file is then removed.
    """
    check_writable(path)
    file = Path(path)
    there = file.exists()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError:
        if not there:
            file.unlink(missing_ok=True)
        raise
