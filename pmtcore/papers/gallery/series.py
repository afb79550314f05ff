"""What the lines of a figure are called: the papers' names as printed, a registered method by its title."""

from __future__ import annotations

import re
from functools import cache

from pmtcore.methods.registry import methods

# Where a word of the paper is short for something, what it is short for, in the order in which pages list them.
_EXPANSIONS = {
    "DP-PMTRR": "ridge regression with truncation guided by public second moments",
    "DP-PMTOLSE": "least squares with truncation guided by public second moments",
    "DP-PMTLR": "logistic regression with truncation guided by public second moments",
    "DP-RR": "ridge regression from private rows only",
    "DP-OLSE": "least squares from private rows only",
    "DP-LR": "logistic regression from private rows only",
    "DP-GD": "noisy gradient descent",
    "NAPP-ERM": "noise-augmented privacy-preserving empirical risk minimization",
    "NAPP-VS": "NAPP-ERM with a penalty that selects variables",
    "NAPP-VS+": "NAPP-VS with its weight b held above 0",
    "DP-ERM": "empirical risk minimization with a noisy objective",
    "MOOR": "mitigation of over-regularization: one quadratic penalty serves both privacy and the target",
}


def shown(name: str) -> str:
    """Return a line's name as pages write it: an id of a registered method becomes its title.

    >>> shown("joint-pmt, m = 20"), shown("DP-RR, mu = 1"), shown("napp-public")
    ('Joint whitened release, m = 20', 'DP-RR, mu = 1', 'Objective perturbation with retrieved budget')
    """
    start, comma, rest = name.partition(",")
    return f"{_titles().get(start, start)}{comma}{rest}"


def spoken(name: str) -> str:
    """Return a line's name in the middle of a sentence: a title is a phrase, so it stands in quotes.

    >>> spoken("joint-pmt, m = 20"), spoken("DP-RR, mu = 1")
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
