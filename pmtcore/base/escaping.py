"""Names that others chose (columns, levels, files, purposes), made harmless for the place where they are shown.

There is one function for each kind of place. Foreign text is shown as it is written and never interpreted: not by a
Markdown reader, a chart's own tags, a browser, a terminal's escape codes, or a spreadsheet's formulas.
"""

import html as _html
import re
import shlex

from pmtcore.base.numbers import UNBREAKABLE, unbroken

# What may begin markup: signs that always may, signs that may where they stand, signs that may at the start of a line.
_MARKUP = re.compile(r"[\\`*\[\]{}<$~|]|_(?!(?<=[^\W_]_)[^\W_])|:(?=[A-Za-z:])|&(?=#?\w+;)|^[-+#>=]")
_NUMBERED = re.compile(r"^(\d+)(?=[.)])")
_PARSED_AFTER_ESCAPES = re.compile(
    r":(?=[\w+/-]+:|//)|@(?=\w)|\bwww(?=\.)|(?<!\S)(?:<-(?=>(?!\S))|[-<](?=[->](?!\S))|[<>~](?=[=-](?!\S)))",
    re.IGNORECASE,
)
# A character without width that allows no line break.
_JOINER = "\u2060"
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
# Length of a title or a legend's entry in a chart.
_MOST_LABEL_CHARACTERS = 120


def terminal(text: str) -> str:
    """Escape text for a terminal or a log: control and direction characters become codes, line breaks stay."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """Escape text for one line of a terminal or a log: a line break becomes a code too."""
    return terminal(text).replace("\n", "\\n")


def markdown(text: str) -> str:
    """Escape text for Markdown: what could be markup is escaped, prose stays as it is, line breaks become blanks.

    No line ends inside of an amount (:func:`pmtcore.base.numbers.unbroken`).

    Markdown readers look for addresses, icons in colons and arrows after escapes are removed, so these are broken by a
    joiner of zero width.
    """
    shown = _PARSED_AFTER_ESCAPES.sub(rf"\g<0>{_JOINER}", " ".join(terminal(text.replace(UNBREAKABLE, " ")).split()))
    return unbroken(_NUMBERED.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", shown)))


def chart(text: str, limit: int = _MOST_LABEL_CHARACTERS) -> str:
    """Escape a label of a chart, which interprets a few tags, formulas in dollars and fields; long labels are cut."""
    shown = one_line(text)
    shown = shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
    return _html.escape(shown, quote=False).replace("$", "&#36;").replace("%{", "%&#123;")


def html(text: str) -> str:
    """Escape text for an HTML page, inside or outside of an attribute."""
    return _html.escape(terminal(text), quote=True)


def shell_word(text: str) -> str:
    """Quote one word of a command line for copying; invisible characters become codes."""
    if text.isprintable():
        return shlex.quote(text)
    coded = "".join(
        c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 2**16 else f"\\U{ord(c):08x}"
        for c in text.replace("\\", "\\\\")
    )
    return "$'" + coded.replace("'", "\\'") + "'"


def cell(text: str) -> str:
    """Escape a cell of a table for spreadsheets: text that looks like a formula is quoted, numbers stay numbers."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
