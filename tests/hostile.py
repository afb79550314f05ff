"""Names that a browser, a terminal or a spreadsheet would interpret if not escaped, and tables with them."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Iterator
from typing import Any

import pandas as pd

NAMES = [
    "![pix](http://evil.invalid/p.png)",
    "[click](http://evil.invalid/c)",
    "<img src=http://evil.invalid/i.png onerror=alert(1)>",
    '"><script>alert(2)</script>',
    "$\\frac{a}{b}$",
    ":material/skull:",
    ":material_skull:",
    ":red[danger]",
    ":skull:",
    "http://evil.invalid/auto",
    "www.evil.invalid",
    "mail@evil.invalid",
    "\x1b[2J\x1b]0;owned\x07",
    "=cmd|' /C calc'!A0",
    "@SUM(1+1)",
    "pay\u202egpj.exe",
    "two\nlines **bold**",
    "`code` and ~~struck~~",
    "%{customdata}",
    "<a href='http://evil.invalid/a'>b</a>",
    "long " * 20,
]
LEVELS = NAMES[:7] + NAMES[12:15]
# Parts of them that must not be in any text for a reader of Markdown.
RAW = [
    "](http",
    "<img",
    "<script",
    "<a href",
    "$\\frac",
    ":material/skull",
    ":material_skull:",
    ":red[",
    ":skull:",
    "://evil",
    "www.evil",
    "@evil",
    "\x1b",
    "\u202e",
    " **bold**",
    "`code`",
    "~~struck~~",
]


def table(rows: int, seed: int, target: str = NAMES[0]) -> bytes:
    """Return a Parquet file with such names of columns, and of the categories of one; ``target`` is numeric."""
    chance = random.Random(seed)
    names = [name for name in NAMES if name != target]
    columns = {name: [chance.gauss(0, 1) for _ in range(rows)] for name in names}
    columns["<b>town</b>"] = [LEVELS[row % len(LEVELS)] for row in range(rows)]
    columns[target] = [sum(columns[name][row] for name in names[:3]) + chance.gauss(0, 1) for row in range(rows)]
    out = io.BytesIO()
    pd.DataFrame(columns).to_parquet(out, index=False)
    return out.getvalue()


def in_charts(spec: str) -> list[str]:
    """Return the parts of a chart, as JSON, that would be interpreted."""
    signs = ("<img", "<script", "<a href", "\x1b", "\u202e", "$\\frac")
    return [sign for sign in signs for text in _strings(json.loads(spec)) if sign in text]


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)
