"""Small files that commands read and write: regular files only, of bounded size, checked before anything is spent."""

import sys
from pathlib import Path

from pmtcore.base.messages import CommandMessage, InputError, TableMessage

MOST_INPUT = 512 * 2**20  # bytes of a table that is held as it comes, since a pipe cannot be read twice
_MOST = 64 * 2**20  # bytes of a configuration or a record: a thousand coefficients' second moment takes a third of it
STANDARD_INPUT = "-"


def read_input() -> bytes:
    """Read the bytes of standard input.

    Raises:
        InputError: nobody wrote there, or far too much.
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
    if file.stat().st_size > _MOST:
        raise InputError(CommandMessage.FILE_TOO_LARGE, place=path, megabytes=_MOST // 2**20)
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
        InputError: as :func:`writable`; OSError: there is no room. A file that was not there is then not left behind.
    """
    writable(path)
    file = Path(path)
    there = file.exists()
    try:
        file.write_text(text, encoding="utf-8")
    except OSError:
        if not there:
            file.unlink(missing_ok=True)
        raise
