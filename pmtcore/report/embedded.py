"""The report of a release as a part of a page that has a title of its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pmtcore.report.html import report

# Headings of the report, each of which goes down one level in a page of somebody else.
_LEVELS = (1, 2, 3)


def embedded(record: Mapping[str, Any], account: Mapping[str, Any] | None = None, head: str | None = None) -> str:
    """Return what the report says, without its frame and style; headings are one level lower.

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
    return body.strip()
