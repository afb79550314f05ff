"""Titles of methods, with the id beside them; read from the registry."""

import itertools
import re

from pmtcore.base.labels import ReleaseStatus
from pmtcore.methods.registry import method


def title(id: str) -> str:
    """Return the title, marked where the method is for the lab."""
    entry = method(id)
    if entry.standing is not ReleaseStatus.LAB:
        return entry.title
    return f"{entry.title[:-1]}, lab)" if entry.title.endswith(")") else f"{entry.title} (lab)"


def option(id: str) -> str:
    """Return what lists to choose from show: title, id, and what its paper calls it, so that all three are found."""
    return " · ".join([title(id), id, *method(id).origin.names[:1]])


def source(id: str) -> str:
    """Return where a method comes from, for somebody who has not met the papers' letters.

    >>> source("pmt-ridge"), source("joint-pmt"), source("public-only")
    ('paper A, Algorithm 2', 'a method of this program that extends papers A and B', 'a baseline')
    """
    parts = method(id).origin.source.split("; ")
    texts = [re.sub(r"^(?=[A-D],)", "paper ", part) for part in parts]
    own = "a method of this program that extends"
    texts = [re.sub(r"^beyond ([A-D])$", rf"{own} paper \1", part) for part in texts]
    texts = [re.sub(r"^beyond ([A-D]) and", rf"{own} papers \1 and", part) for part in texts]
    return "; ".join("a baseline" if part == "baseline" else part for part in texts)


def in_quotes(id: str) -> str:
    """Return the title in quotes, as it stands inside a sentence."""
    text = title(id)
    return f"“{text}”"


def suggested_name(title: str) -> str:
    """Return the default name of a data set: the common first words of its two files' names, else the title.

    >>> suggested_name("survey_private.csv, survey_public.csv"), suggested_name("pay.csv, sample.csv")
    ('survey', 'pay.csv, sample.csv')
    """
    stems = [re.split(r"[_\- ]+", name.rpartition(".")[0]) for name in title.split(", ")]
    alike = itertools.takewhile(lambda words: len(set(words)) == 1, zip(*stems, strict=False))
    return " ".join(words[0] for words in alike) if len(stems) > 1 and stems[0][:1] == stems[1][:1] else title
