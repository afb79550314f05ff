"""Parser of the command line, made from the table of commands and options in ``parser.toml``.

It is read without any library, so that help comes at once: a command's module is loaded when the command is called.
"""

import argparse
import sys
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, NoReturn

from pmtcore import __version__
from pmtcore.base.messages import CommandMessage, InputError, parse_number

_LONGEST = 400  # characters of a complaint that repeats an argument: five lines of a terminal
_EPILOG = """exit status: 0 done, 2 a wrong call or bad input, 3 refused by the cap of the ledger, 70 an error of the
program, 130 stopped. FILE may be - for standard input, once."""


def _reader(kind: type[float]) -> Callable[[str], float]:
    """Return a reader of numbers that has the name of its kind, which complaints of the parser give."""

    @wraps(kind, updated=())
    def read(text: str) -> float:
        return parse_number(text, kind)

    return read


_TYPES = {"int": _reader(int), "float": _reader(float)}


class _Once(argparse.Action):
    """Keep the value of an option; refuse an option that is given twice, or with an empty text.

    Otherwise the last of several values would be used without a warning, and an empty text, as from an unset variable
    of a script, would select the default. An empty text is allowed where it is the default.
    """

    _filled: argparse.Namespace | None = None

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: str | Sequence[Any] | None,
        option_string: str | None = None,
    ) -> None:
        """Keep the value.

        Raises:
            ArgumentError: the option has a value already, or the value is empty.
        """
        if self._filled is namespace and self.option_strings:
            raise argparse.ArgumentError(self, "given more than once; give it once")
        if values == "" != self.default:
            raise argparse.ArgumentError(self, "given without a value; leave it out, or say which")
        self._filled = namespace
        setattr(namespace, self.dest, values)


class Parser(argparse.ArgumentParser):
    """argparse, with its complaints in one line."""

    def error(self, message: str) -> NoReturn:
        """Raise an error instead of leaving the program."""
        message = message if len(message) <= _LONGEST else f"{message[:_LONGEST]}…"
        raise InputError(CommandMessage.WRONG_CALL, reason=message, command=self.prog)


def program() -> str:
    """Return the name of the program, as a user would type it again."""
    called = Path(sys.argv[0]).name
    return called if called.startswith("second-moment") else "python -m pmtcore"


def parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    made = Parser(prog=program(), description="Private regression with public second moments.", epilog=_EPILOG)
    made.add_argument("--version", action="version", version=f"second-moment {__version__}")
    common = Parser(add_help=False)
    common.add_argument("--json", action="store_true", help="print one JSON object")
    common.add_argument("--quiet", action="store_true", help="print nothing but errors, and what --json prints")
    common.add_argument("--verbose", action="store_true", help="report progress, and show where an error comes from")

    def add(parser: Parser, kind: str, entries: Mapping[str, Mapping[str, Any]], room: str = "") -> None:
        places = parser.add_subparsers(dest=kind, required=True, metavar=kind.upper(), parser_class=Parser)
        for name, entry in entries.items():
            help, example = entry["help"], f"example: {entry['example']}" if "example" in entry else None
            command = places.add_parser(name, help=help, description=help, epilog=example, parents=[common])
            command.set_defaults(run=entry.get("run", f"pmtcore.cli.{room}:{name}"))
            _add_options(command, entry.get("parts", ()), table)
            if "steps" in entry:
                add(command, "step", entry["steps"], name)

    add(made, "command", table["commands"])
    return made


def _add_options(command: argparse.ArgumentParser, parts: Iterable[str], table: Mapping[str, Any]) -> None:
    """Add the options of these parts of the table, grouped where a part has a heading or its options exclude others."""
    groups: dict[str, argparse._ActionsContainer] = {}
    for part in parts:
        heading = table["headings"].get(part, "")
        place = groups.get(heading, command)
        if part in table["one_of"]:
            place = command.add_mutually_exclusive_group(required=True)
        elif heading and heading not in groups:
            place = groups[heading] = command.add_argument_group(heading)
        for flags, settings in table["options"][part].items():
            typed = {"type": _TYPES[settings["type"]]} if "type" in settings else {}
            place.add_argument(*flags.split(), **{"action": _Once, **settings, **typed})
