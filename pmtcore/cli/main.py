"""The command line: ``second-moment COMMAND``, or ``python -m pmtcore COMMAND``; all the application does, headless.

Exit status 0; 2 for a wrong call or bad input, 3 where the ledger's cap refuses a spend, 70 for an error of the program
itself, which quotes nothing, 130 after Ctrl-C; one line on standard error and no traceback. With ``--verbose`` or
PMT_DEBUG the lines of code that an error of the program comes from stand above it. ``--json`` prints one JSON
object; without it, text for people.
"""

import argparse
import errno
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

from pmtcore.base.escaping import one_line, terminal
from pmtcore.base.messages import CapError, CommandMessage, InputError, TableMessage
from pmtcore.cli.files import STANDARD_INPUT, check_outputs, check_writable, write_small
from pmtcore.cli.parser import parser
from pmtcore.cli.startup import loading, own_process

OK, BAD_INPUT, CAP_REACHED, INTERNAL, STOPPED = 0, 2, 3, 70, 130  # 70 is sysexits' EX_SOFTWARE


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    if arguments is None:
        own_process()
    given = list(sys.argv[1:] if arguments is None else arguments)
    how_to_print, verbose = "", False
    try:
        chosen = parser().parse_args(given or ["--help"])
        verbose = chosen.verbose
        if list(vars(chosen).values()).count(STANDARD_INPUT) > 1:
            raise InputError(CommandMessage.INPUT_TWICE)
        check_outputs(chosen)
        check_writable(getattr(chosen, "out", None))
        record, text = _run(chosen)
        how_to_print = _kept(record)
        _hand_out(record, text, chosen)
    except SystemExit as done:  # help or version, printed by argparse
        return _flushed(int(done.code or OK))
    except CapError as error:
        return _complain(f"{error}{how_to_print}", CAP_REACHED)
    except InputError as error:
        if error.by_program and (verbose or os.environ.get("PMT_DEBUG")):
            _print_places(error)
        if error.kind is TableMessage.TARGET_IS_TEXT:
            error.add(CommandMessage.FAMILY_OPTION.sentence())
        return _complain(f"{error}{how_to_print}", INTERNAL if error.by_program else BAD_INPUT)
    except BrokenPipeError:
        # Whoever read the answer has enough of it; only a spend is worth a word.
        reader_left = f"the reader closed standard output; nothing was printed.{how_to_print}"
        return _complain(reader_left) if how_to_print else OK
    except OSError as error:
        why = error.strerror or "the file cannot be used"
        where = f": {error.filename}" if error.filename else "; nothing was printed."
        return _complain(f"{why}{where}{how_to_print}")
    except KeyboardInterrupt as stop:
        return _complain(f"{stop}{how_to_print}" if str(stop) else f"Stopped.{how_to_print}", STOPPED)
    except (Exception, MemoryError) as error:
        shows = verbose or os.environ.get("PMT_DEBUG")
        if shows:
            _print_places(error)
        hint = "" if shows else "; PMT_DEBUG=1 shows where"
        return _complain(f"an error of the program itself ({type(error).__name__}){hint}.{how_to_print}", INTERNAL)
    return OK


def _run(chosen: argparse.Namespace) -> tuple[Mapping[str, Any], str]:
    """Call the command's function, loaded now: no command pays for the libraries of another."""
    room, _, name = chosen.run.partition(":")
    with loading():
        command = getattr(import_module(room), name)
    return command(chosen)


def _kept(record: Mapping[str, Any]) -> str:
    """Say how to read the record of a release whose budget is spent."""
    where = record.get("ledger")
    if not isinstance(where, Mapping) or "place" not in where:
        return ""
    return (
        f" The release is spent and its record is kept: 'report --ledger {where['place']} --key {where['key']}', or "
        f"the same release with --key {where['key']}, gives it again and spends nothing."
    )


def _hand_out(record: Mapping[str, Any], text: str, chosen: argparse.Namespace) -> None:
    """Write the answer to the file asked for, and print it.

    Raises:
        OSError: writing failed; the caller then states the spend.
    """
    from pmtcore.base.exports import json_text  # noqa: PLC0415  # numpy is slow to load

    output = json_text(record) if chosen.json else terminal(text)
    path = getattr(chosen, "out", None)
    if path:
        write_small(path, (json_text(record) if path.endswith(".json") and not chosen.json else output) + "\n")
    if chosen.quiet and not chosen.json:
        return
    if sys.stdout is None:  # closed by whoever started this
        raise OSError(errno.EBADF, "standard output is closed")
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")  # characters that the terminal lacks become codes
    try:
        print(output)
        sys.stdout.flush()
    except OSError:
        _give_up_printing()
        raise


def _flushed(status: int) -> int:
    """Return the status after flushing the output, also where its reader has closed it."""
    try:
        sys.stdout.flush()
    except OSError:
        _give_up_printing()
    return status


def _give_up_printing() -> None:
    """Drop the rest of the output: otherwise the interpreter tries to write it again at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_places(error: BaseException) -> None:
    """Print where an error and its causes come from, without their texts, which may quote a private cell."""
    cause: BaseException | None = error
    while cause is not None:
        frames = "".join(traceback.format_tb(cause.__traceback__))
        with suppress(OSError, ValueError):
            print(
                f"{frames}{type(cause).__name__}; its text is not printed, since it may quote a cell", file=sys.stderr
            )
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)


def _complain(sentence: str, status: int = BAD_INPUT) -> int:
    with suppress(OSError, ValueError):
        print(f"pmtcore: {one_line(sentence)}", file=sys.stderr)
    return status
