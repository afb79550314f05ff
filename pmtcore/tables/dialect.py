"""Dialect of a text file: separator, quotes, decimal mark, encoding, all inferred from public text.

A public file may be read as a whole for it. In a private file only the header line is read, for its separator and
names; the rest of its dialect is that of the public file (decision 0016).
"""

import csv
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pmtcore.base.arguments import check_arguments
from pmtcore.base.json_fields import JsonFields
from pmtcore.base.messages import InputError, TableMessage, one_of, reraised_as
from pmtcore.tables.limits import MAX_COLUMNS

SEPARATORS = {",": "comma", "\t": "tab", ";": "semicolon", "|": "bar"}
ENCODINGS = ("utf-8", "latin-1", "cp1252")
QUOTING = ("double", "none", "multiline")
DECIMALS = (".", ",", "either")
BOM = b"\xef\xbb\xbf"
_WINDOWS = re.compile(b"[\x80-\x9f]")  # characters of Windows-1252, such as the euro sign, that Latin-1 lacks
_UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF32_UNMARKED = re.compile(rb"[ -~]\x00\x00\x00[ -~]\x00\x00\x00|\x00\x00\x00[ -~]\x00\x00\x00[ -~]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF16_UNMARKED = re.compile(rb"[ -~]\x00[ -~]\x00|\x00[ -~]\x00[ -~]")
_SEPARATOR_NOTE = re.compile(r'\s*"?sep=.?"?\s*\Z', re.IGNORECASE)  # first line of some files for Excel


@dataclass(frozen=True, kw_only=True)
class Dialect(JsonFields):
    """Rules for reading text, public.

    Attributes:
        encoding: of every cell; invalid bytes are replaced, within their cell.
        decimal: the decimal mark; ``either``: a point, or a single comma in a file that commas do not separate.
        quoting: ``double``: a cell in double quotes may have separators, and every line of a private file is a row;
            ``none``: quotes have no special meaning; ``multiline``: a cell in double quotes may have line breaks in a
            private file too. A stray quote in one row may then change other rows and n, so a release is only a lab
            record.
        row_names: whether every row starts with a name that the header lacks (R's ``write.table``).
    """

    encoding: str = "utf-8"
    decimal: str = "either"
    quoting: str = "double"
    row_names: bool = False

    def __post_init__(self) -> None:
        one_of("encoding", self.encoding, ENCODINGS)
        one_of("decimal", self.decimal, DECIMALS)
        one_of("quoting", self.quoting, QUOTING)
        check_arguments(type(self).__init__, {"row_names": self.row_names})

    def decimal_mark(self, separator: str | None) -> str | None:
        """Return the decimal mark of numbers in a file of this separator, for :func:`pmtcore.tables.cells.numbers`."""
        if separator in (None, ","):
            return None if self.decimal == "," and separator == "," else "."
        return None if self.decimal == "either" else self.decimal


@dataclass(frozen=True)
class Header:
    """Header of a text file: separator of cells, and column names."""

    separator: str
    names: tuple[str, ...]


# How JSON, JSON lines, HTML and XML begin.
_OTHER_FORM = re.compile(r"""\s*(?:\{\s*["}]|\[\s*[\[{]|<(?:[!?]|html|table))""", re.IGNORECASE)


def header_of(line: bytes, where: str, hide_names: bool) -> Header:
    """Parse the header of a file, its first line that is not blank.

    Args:
        line: the line.
        where: name of the file in messages.
        hide_names: whether column names are private, and left out of messages.

    Raises:
        InputError: there is no header, only one column, or a name is missing or repeated.
    """
    if line.startswith(_UTF32) or _UTF32_UNMARKED.match(line):
        raise InputError(TableMessage.UTF32, where=where)
    if line.startswith(_UTF16) or _UTF16_UNMARKED.match(line):
        raise InputError(TableMessage.UTF16, where=where)
    # Rows may follow a lone carriage return; nothing may depend on them.
    first_line, carriage_return, _ = line.partition(b"\r")
    text = decoded_line(first_line)
    # In JSON and HTML all rows are in this line, so they get one message whatever they are.
    is_other_form = "\x00" in text or _OTHER_FORM.match(text) is not None
    if is_other_form or sum(not (c.isprintable() or c == "\t") for c in text) > len(text) // 100:
        raise InputError(TableMessage.NOT_A_TABLE, where=where)
    if carriage_return:
        raise InputError(TableMessage.CARRIAGE_RETURNS, where=where)
    if _SEPARATOR_NOTE.match(text):
        raise InputError(TableMessage.SEPARATOR_NOTE, where=where)
    separator = max(SEPARATORS, key=text.count)
    if text.count(separator) == 0:
        raise InputError(TableMessage.ONE_COLUMN, where=where)
    with reraised_as(InputError(TableMessage.HEADER_UNREADABLE, where=where), csv.Error):
        names = tuple(cell.strip() for cell in next(csv.reader([text], delimiter=separator, skipinitialspace=True)))
    check_names(names, where, hide_names)
    if all(_is_number(name) for name in names):
        raise InputError(TableMessage.NO_HEADER, where=where)
    return Header(separator, names)


def check_names(names: Sequence[str], where: str, hide_names: bool) -> None:
    """Check the names of the columns.

    Raises:
        InputError: there are too many, or a name is missing or repeated.
    """
    if len(names) > MAX_COLUMNS:
        raise InputError(TableMessage.TOO_MANY_COLUMNS, where=where, count=len(names), limit=MAX_COLUMNS)
    if len(names) > 2 and sum(map(bool, names)) == 1:
        raise InputError(TableMessage.TITLE_LINE, where=where, count=len(names))
    if any(not name for name in names):
        number = list(names).index("") + 1
        raise InputError(TableMessage.UNNAMED_COLUMN, where=where, number=number)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        if hide_names:
            numbers = [number for number, name in enumerate(names, 1) if name == repeated[0]]
            raise InputError(TableMessage.NAME_TWICE, where=where, places=numbers)
        raise InputError(TableMessage.NAMES_TWICE, where=where, columns=repeated)


def public_dialect(data: bytes, header: Header, where: str) -> Dialect:
    """Infer the dialect of a public text.

    Args:
        data: the text, or its first megabytes.
        header: of the text.
        where: name of the file in messages.

    Raises:
        InputError: rows whose number of cells differs from the header's.
    """
    encoding = "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(data) - 4:  # otherwise the end of the sample cuts a character
            encoding = "cp1252" if _WINDOWS.search(data) else "latin-1"
        text = data.decode(encoding, "replace")
    lines = [line for line in text.splitlines() if line.strip()][1:]
    quoting = "double"
    if '"' in text and _fit(lines, header, "none") == 1 and _fit(lines, header, "double") < 0.9:
        quoting = "none"
    return Dialect(
        encoding=encoding,
        decimal=_decimal(lines, header.separator),
        quoting=quoting,
        row_names=bool(lines) and _fit(lines, header, quoting, 1) == 1,
    )


def decoded_line(line: bytes) -> str:
    """Decode a header line as UTF-8, or else as Windows-1252 or Latin-1."""
    line = line.removeprefix(BOM)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252" if _WINDOWS.search(line) else "latin-1", "replace")


def _fit(lines: list[str], header: Header, quoting: str, additional: int = 0) -> float:
    """Return the share of lines with as many cells as the header has names, plus ``additional``."""
    quotes: Literal[0, 3] = csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL
    count = 0
    for line in lines[:5000]:
        try:
            cells = next(csv.reader([line], delimiter=header.separator, quoting=quotes, skipinitialspace=True))
        except (csv.Error, StopIteration):
            continue
        count += len(cells) == len(header.names) + additional
    return count / max(len(lines[:5000]), 1)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _decimal(lines: list[str], separator: str) -> str:
    """Infer the decimal mark of public numbers; ``either`` where no number has a mark.

    A single mark before three digits may separate thousands, so numbers of other forms are looked at first.
    """
    if separator == ",":
        return "."
    cells = [cell.strip().strip('"') for line in lines[:200] for cell in line.split(separator)]
    for digits in (r"(?:\d{0,2}|\d{4,})", r"\d*"):
        for mark, other in ((".", ","), (",", ".")):
            pattern = rf"[+-]?\d{{1,3}}(?:\{other}\d{{3}})+\{mark}\d*|[+-]?\d*\{mark}{digits}(?:[eE][+-]?\d+)?"
            if any(re.fullmatch(pattern, cell) and re.search(r"\d", cell) for cell in cells):
                return mark
    return "either"
