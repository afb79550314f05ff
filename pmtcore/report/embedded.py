"""The report of a release as a part of a page that has a title of its own."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any

from pmtcore.report.html import report

# Headings of the report, each of which goes down one level in a page of somebody else.
_LEVELS = (1, 2, 3)
# What a drawing needs as a file of its own, where the style of the report is not.
_ALONE = '<svg xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" font-size="13" '


def embedded(record: Mapping[str, Any], account: Mapping[str, Any] | None = None, head: str | None = None) -> str:
    """Return what the report says, without its frame and style; headings are one level lower, drawings are images.

    Args:
        record: a release in plain fields.
        account: the data set's account in the ledger, in plain fields.
        head: of the ledger's chain.

    Raises:
        TypeError: a private figure is among the fields.
    """
    text = report(record, account, head)
    body = text[text.index("<main>") + len("<main>") : text.rindex("</main>")]
    # Every "<" of a name or a value is escaped, so these are headings of the report alone.
    for level in reversed(_LEVELS):
        body = re.sub(rf"<(/?)h{level}>", rf"<\g<1>h{level + 1}>", body)
    return re.sub(r"<svg .*?</svg>", _as_image, body, flags=re.DOTALL).strip()


def _as_image(drawing: re.Match[str]) -> str:
    """Return a drawing as an image: a page that takes only text and tables from others leaves inline drawings out."""
    text = drawing.group()
    label = re.search(r'aria-label="([^"]*)"', text)
    named = re.search(r'<svg class="(\w+)"', text)
    small = f' class="{named.group(1)}"' if named else ""
    data = base64.b64encode(text.replace("<svg ", _ALONE, 1).encode()).decode()
    return f'<img{small} alt="{label.group(1) if label else ""}" src="data:image/svg+xml;base64,{data}">'
