"""One glossary: the pages' help, the report and the documentation read the same words.

The words are in ``glossary.toml``: a term, one plain sentence for who meets it first, one more for who wants to know.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pmtcore.base.citations import CITATIONS


@dataclass(frozen=True)
class Term:
    """One entry of the glossary."""

    id: str
    name: str
    plain: str
    more: str = ""

    @property
    def words(self) -> str:
        """Return both sentences."""
        return f"{self.plain} {self.more}".strip()


def _read_terms() -> dict[str, Term]:
    """Return the terms of the file beside this one by id, with the papers in place of ``{papers}``."""
    papers = " ".join(f"{letter}: {paper.words}." for letter, paper in CITATIONS.items())
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8").replace("{papers}", papers)
    return {id: Term(id, **fields) for id, fields in tomllib.loads(text).items()}


GLOSSARY = _read_terms()


def term(id: str) -> Term:
    """Return the entry.

    Raises:
        KeyError: there is no such entry, so that a page cannot ask for words that do not exist.
    """
    return GLOSSARY[id]


def help_for(*ids: str) -> str:
    """Return the help of a control: the plain sentences of one or more terms."""
    return "\n\n".join(f"**{GLOSSARY[id].name}**: {GLOSSARY[id].words}" for id in ids)


def entries(ids: Iterable[str] = ()) -> list[Term]:
    """Return entries by id in the glossary's order; all without ids."""
    wanted = set(ids)
    return [term for term in GLOSSARY.values() if not wanted or term.id in wanted]


def markdown() -> str:
    """Write the glossary as a table for the documentation."""
    rows = [f"| {term.name} | {term.words} |" for term in GLOSSARY.values()]
    return "\n".join(["| term | meaning |", "|---|---|", *rows])
