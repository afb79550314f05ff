"""How a text file writes a table: separator, quotes, decimal mark, encoding. Decided by public text only.

Of a public file everything may be looked at. Of a private file only the header line is: its separator and its
names. The rest of a private file's dialect is the public one (decision 0016).
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
_WINDOWS = re.compile(b"[\x80-\x9f]")  # letters and signs of Windows-1252 (the euro's), which Latin-1 does not have
_UTF32 = (b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")
_UTF32_UNMARKED = re.compile(rb"[ -~]\x00\x00\x00[ -~]\x00\x00\x00|\x00\x00\x00[ -~]\x00\x00\x00[ -~]")
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_UTF16_UNMARKED = re.compile(rb"[ -~]\x00[ -~]\x00|\x00[ -~]\x00[ -~]")
_SEPARATOR_NOTE = re.compile(r'\s*"?sep=.?"?\s*\Z', re.IGNORECASE)  # the first line of files for Excel


@dataclass(frozen=True, kw_only=True)
class Dialect(JsonFields):
    """Rules for reading text, public.

    Attributes:
        encoding: of every cell; bytes that are not of it are replaced, in their cell only.
        decimal: the decimal mark; ``either``: a point, or a single comma in a file that commas do not separate.
        quoting: ``double``: a cell in double quotes may hold separators, and every line of a private file is a row;
            ``none``: quotes are characters like others; ``multiline``: a cell in double quotes may hold line breaks
            in a private file too. Its price: a stray quote in one row may change how others are read and n itself,
            so a release is a lab record.
        row_names: whether every row starts with a name that the header does not have (R's ``write.table``).
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

    def mark(self, separator: str | None) -> str | None:
        """Return the decimal mark of numbers in a file of this separator, for :func:`pmtcore.tables.cells.numbers`."""
        if separator in (None, ","):
            return None if self.decimal == "," and separator == "," else "."
        return None if self.decimal == "either" else self.decimal


@dataclass(frozen=True)
class Header:
    """First line of a text file: the separator of its cells, and the names."""

    separator: str
    names: tuple[str, ...]


# How JSON, JSON lines, HTML and XML begin.
_OTHER_FORM = re.compile(r"""\s*(?:\{\s*["}]|\[\s*[\[{]|<(?:[!?]|html|table))""", re.IGNORECASE)


def header_of(line: bytes, where: str, hide_names: bool) -> Header:
    """Parse the header of a file, from its first line that is not blank.

    Args:
        line: the line.
        where: name of the file in messages.
        hide_names: leave names out of messages, since they are private.

    Raises:
        InputError: no header row, one column, a name missing or twice; the message never contains a private name.
    """
    if line.startswith(_UTF32) or _UTF32_UNMARKED.match(line):
        raise InputError(TableMessage.UTF32, where=where)
    if line.startswith(_UTF16) or _UTF16_UNMARKED.match(line):
        raise InputError(TableMessage.UTF16, where=where)
    # Behind a lone carriage return are rows, of which nothing may depend.
    names_alone, carriage_return, _ = line.partition(b"\r")
    text = decoded_line(names_alone)
    # In JSON and in HTML all rows are in this line: which sentence follows would depend on them.
    odd = "\x00" in text or _OTHER_FORM.match(text) is not None
    if odd or sum(not (c.isprintable() or c == "\t") for c in text) > len(text) // 100:
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
        InputError: too many columns, or a name that is missing or there twice.
    """
    if len(names) > MAX_COLUMNS:
        raise InputError(TableMessage.TOO_MANY_COLUMNS, where=where, count=len(names), limit=MAX_COLUMNS)
    if len(names) > 2 and sum(map(bool, names)) == 1:
        raise InputError(TableMessage.TITLE_LINE, where=where, count=len(names))
    if any(not name for name in names):
        number = list(names).index("") + 1
        raise InputError(TableMessage.UNNAMED_COLUMN, where=where, number=number)
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        if hide_names:
            places = [at for at, name in enumerate(names, 1) if name == twice[0]]
            raise InputError(TableMessage.NAME_TWICE, where=where, places=places)
        raise InputError(TableMessage.NAMES_TWICE, where=where, columns=twice)


def public_dialect(data: bytes, header: Header, where: str) -> Dialect:
    """Infer the dialect of a public text, all of whose lines may be read.

    Args:
        data: the whole text, or its first megabytes.
        header: its header.
        where: name of the file in messages.

    Raises:
        InputError: rows whose number of cells differs from the header's.
    """
    encoding = "utf-8"
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        if error.start < len(data) - 4:  # else: a character that the end of the sample cuts
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
    """Decode a header line, whatever its encoding."""
    line = line.removeprefix(BOM)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        return line.decode("cp1252" if _WINDOWS.search(line) else "latin-1", "replace")


def _fit(lines: list[str], header: Header, quoting: str, more: int = 0) -> float:
    """Return the share of lines with as many cells as the header has names, plus ``more``."""
    quotes: Literal[0, 3] = csv.QUOTE_NONE if quoting == "none" else csv.QUOTE_MINIMAL
    count = 0
    for line in lines[:5000]:
        try:
            cells = next(csv.reader([line], delimiter=header.separator, quoting=quotes, skipinitialspace=True))
        except (csv.Error, StopIteration):
            continue
        count += len(cells) == len(header.names) + more
    return count / max(len(lines[:5000]), 1)


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _decimal(lines: list[str], separator: str) -> str:
    """Infer the decimal mark of public numbers; ``either`` where none has one.

    Three digits after a single mark may be thousands: other numbers decide first.
    """
    if separator == ",":
        return "."
    cells = [cell.strip().strip('"') for line in lines[:200] for cell in line.split(separator)]
    for after in (r"(?:\d{0,2}|\d{4,})", r"\d*"):
        for mark, other in ((".", ","), (",", ".")):
            form = rf"[+-]?\d{{1,3}}(?:\{other}\d{{3}})+\{mark}\d*|[+-]?\d*\{mark}{after}(?:[eE][+-]?\d+)?"
            if any(re.fullmatch(form, cell) and re.search(r"\d", cell) for cell in cells):
                return mark
    return "either"
