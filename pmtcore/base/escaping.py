"""Names that others chose (columns, levels, files, purposes), made harmless for the place where they are shown.

One function for each kind of place. What is foreign is shown as it is written, never acted upon: not by a Markdown
reader, a chart's own tags, a browser, a terminal's escape codes, or a spreadsheet's formulas.
"""

from __future__ import annotations

import html as _html
import re
import shlex

# What may begin markup: signs that always may, signs that may where they stand, signs that may at the start of a line.
_MARKUP = re.compile(r"[\\`*\[\]{}<$~|]|_(?!(?<=[^\W_]_)[^\W_])|:(?=[A-Za-z:])|&(?=#?\w+;)|^[-+#>=]")
_NUMBERED = re.compile(r"^(\d+)(?=[.)])")
_LATE = re.compile(
    r":(?=[\w+/-]+:|//)|@(?=\w)|\bwww(?=\.)|(?<!\S)(?:<-(?=>(?!\S))|[-<](?=[->](?!\S))|[<>~](?=[=-](?!\S)))",
    re.IGNORECASE,
)
_JOINER = "\u2060"  # no width, no break
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_WIDEST = 120  # characters of a title or a legend's entry in a chart


def terminal(text: str) -> str:
    """For a terminal or a log: control and direction characters as their codes, line breaks kept."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """For one line of a terminal or a log: a line break is a code too."""
    return terminal(text).replace("\n", "\\n")


def markdown(text: str) -> str:
    """For Markdown: what could be markup is escaped, prose stays as it is, line breaks are blanks.

    Addresses, icons in colons and arrows are looked for after escapes are gone: a joiner of no width parts them.
    """
    shown = _LATE.sub(rf"\g<0>{_JOINER}", " ".join(terminal(text).split()))
    return _NUMBERED.sub(r"\1\\", _MARKUP.sub(r"\\\g<0>", shown))


def chart(text: str, most: int = _WIDEST) -> str:
    """For a label of a chart, which knows a few tags, formulas in dollars and fields of its own; long ones are cut."""
    shown = one_line(text)
    shown = shown if len(shown) <= most else f"{shown[: most - 1]}…"
    return _html.escape(shown, quote=False).replace("$", "&#36;").replace("%{", "%&#123;")


def html(text: str) -> str:
    """For an HTML page, inside or outside of an attribute."""
    return _html.escape(terminal(text), quote=True)


def shell(text: str) -> str:
    """For one word of a command line that a reader copies: quoted, what cannot be seen as its code."""
    if text.isprintable():
        return shlex.quote(text)
    coded = "".join(
        c if c.isprintable() else f"\\u{ord(c):04x}" if ord(c) < 2**16 else f"\\U{ord(c):08x}"
        for c in text.replace("\\", "\\\\")
    )
    return "$'" + coded.replace("'", "\\'") + "'"


def cell(text: str) -> str:
    """For a cell of a table that a spreadsheet may open: what looks like a formula is a text, numbers stay numbers."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
