"""What the lines of a figure are called, and texts that figures share; the words are in ``series.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from pmtcore.methods.registry import methods

_FILE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
TEXTS: Mapping[str, str] = _FILE["texts"]
# Published methods of paper D.
PUBLISHED = (("NAPP-ERM", "napp-erm"), ("NAPP-VS", "napp-vs"), ("NAPP-VS+", "napp-vs-plus"))
# Lambda in its figures on selection, from all coefficients kept to none; the paper draws a range and does not state it.
LAMS = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
# Where a word of the paper is short for something, what it is short for, in the order in which pages list them.
_EXPANSIONS: Mapping[str, str] = _FILE["expansions"]


def shown(name: str) -> str:
    """Return a line's name as pages write it: an id of a registered method becomes its title.

    >>> shown("joint-pmt, m = 20"), shown("DP-RR, mu = 1"), shown("napp-public")
    ('Joint whitened release, m = 20', 'DP-RR, mu = 1', 'Objective perturbation with retrieved budget')
    """
    start, comma, rest = name.partition(",")
    return f"{_titles().get(start, start)}{comma}{rest}"


def in_quotes(name: str) -> str:
    """Return a line's name in the middle of a sentence: a title is a phrase, so it stands in quotes.

    >>> in_quotes("joint-pmt, m = 20"), in_quotes("DP-RR, mu = 1")
    ('“Joint whitened release”, m = 20', 'DP-RR, mu = 1')
    """
    start, comma, rest = name.partition(",")
    return f"“{shown(start)}”{comma}{rest}" if start in _titles() else name


@cache
def _titles() -> dict[str, str]:
    return {entry.id: entry.title for entry in methods()}


def expansions(text: str) -> dict[str, str]:
    """Return what each abbreviation in the text is short for."""
    return {
        short: words
        for short, words in _EXPANSIONS.items()
        if re.search(rf"(?<![\w-]){re.escape(short)}(?![\w+])", text)
    }
