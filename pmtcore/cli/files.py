"""Small files that commands read and write: regular files only, of bounded size, checked before anything is spent."""

from __future__ import annotations

import sys
from pathlib import Path

from pmtcore.base.checks import InputError

MOST_INPUT = 512 * 2**20  # bytes of a table that is held as it comes, since a pipe cannot be read twice
_MOST = 64 * 2**20  # bytes of a configuration or a record: a thousand coefficients' second moment takes a third of it
STANDARD_INPUT = "-"


def read_input() -> bytes:
    """The bytes of standard input.

    Raises:
        InputError: nobody wrote there, or far too much.
    """
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError("- stands for standard input, and nothing is written there; give a file, or a pipe.")
    data = sys.stdin.buffer.read(MOST_INPUT + 1)
    if len(data) > MOST_INPUT:
        raise InputError(
            f"Standard input has more than {MOST_INPUT // 2**20} MB; give a file, which is read in blocks."
        )
    return data


def read_small(path: str) -> bytes:
    """The bytes of a configuration or a record.

    Raises:
        InputError: not a regular file, or too large to be one of these.
    """
    if path == STANDARD_INPUT:
        return read_input()
    file = Path(path)
    if not file.is_file():
        raise InputError(f"There is no file {path!r}; check the path.")
    if file.stat().st_size > _MOST:
        raise InputError(f"The file {path!r} is larger than {_MOST // 2**20} MB, which no configuration or record is.")
    return file.read_bytes()


def writable(path: str | None) -> None:
    """Raise unless a file may be written there: asked before the spend.

    Raises:
        InputError: a device, a pipe or a folder; OSError: the folder is not there, or is not ours.
    """
    if path is None:
        return
    file = Path(path)
    if "\x00" in path:
        raise InputError(f"{path!r} is no name of a file.")
    if file.exists() and not file.is_file():
        raise InputError(f"{path!r} is not a regular file; give the name of a file to write.")
    there = file.exists()
    with file.open("ab"):
        pass
    if not there:
        file.unlink()


def write_small(path: str, text: str) -> None:
    """Write a text file.

    Raises:
        InputError: as :func:`writable`.
    """
    writable(path)
    Path(path).write_text(text, encoding="utf-8")
