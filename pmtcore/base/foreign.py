"""Names that others chose (columns, levels, files, purposes), made harmless for the place where they are shown.

One function for each kind of place. What is foreign is shown as it is written, never acted upon: not by a Markdown
reader, a chart's own tags, a browser, a terminal's escape codes, or a spreadsheet's formulas.
"""

from __future__ import annotations

import html as _html
import re

_MARKUP = re.compile(r"([\\`*_{}\[\]()#+\-.!|<>~:$^=&\"'/@])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def terminal(text: str) -> str:
    """For a terminal or a log: control and direction characters as their codes, line breaks kept."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """For one line of a terminal or a log: a line break is a code too."""
    return terminal(text).replace("\n", "\\n")


def markdown(text: str) -> str:
    """For Markdown: every sign that could begin markup is escaped, line breaks are blanks."""
    return _MARKUP.sub(r"\\\1", " ".join(terminal(text).split()))


def chart(text: str) -> str:
    """For a label of a chart, which knows a few tags of its own."""
    return _html.escape(terminal(text), quote=False)


def html(text: str) -> str:
    """For an HTML page, inside or outside of an attribute."""
    return _html.escape(terminal(text), quote=True)


def cell(text: str) -> str:
    """For a cell of a table that a spreadsheet may open: what looks like a formula is a text, numbers stay numbers."""
    if not text.startswith(_FORMULA):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
