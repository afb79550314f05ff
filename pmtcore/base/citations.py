"""The four papers that are implemented here, and how each is cited: the one place that pages and reports read."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

from pmtcore.base.numbers import join_names


@dataclass(frozen=True)
class Citation:
    """One paper.

    Attributes:
        letter: the short name that it has here.
        authors: full names, in the order of the title page.
        arxiv: its number on arXiv, whose first two digits are the year.
    """

    letter: str
    authors: tuple[str, ...]
    title: str
    arxiv: str

    @property
    def year(self) -> int:
        """Return the year in which it was put on arXiv."""
        return 2000 + int(self.arxiv[:2])

    @property
    def link(self) -> str:
        """Return the address of the paper."""
        return f"https://arxiv.org/abs/{self.arxiv}"

    @property
    def short(self) -> str:
        """Return family names and year, as in running text."""
        families = [name.rsplit(" ", 1)[-1] for name in self.authors]
        return f"{join_names(families) if len(families) <= 3 else f'{families[0]} et al.'} ({self.year})"

    @property
    def words(self) -> str:
        """Return authors, title and number, as in a list of references."""
        return f"{self.name}, {self.number}"

    @property
    def name(self) -> str:
        """Return authors and title."""
        return f"{join_names(list(self.authors))}, {self.title}"

    @property
    def number(self) -> str:
        """Return its number, as a reference gives it."""
        return f"arXiv {self.arxiv}"


_PAPERS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
CITATIONS = {letter: Citation(letter, tuple(paper.pop("authors")), **paper) for letter, paper in _PAPERS.items()}


def letters(source: str) -> tuple[str, ...]:
    """Return the letters of the papers that a source names, in their order.

    >>> letters("B, Algorithm 2; A, Theorem 3.2"), letters("A, B, D, data"), letters("baseline")
    (('A', 'B'), ('A', 'B', 'D'), ())
    """
    return tuple(sorted(set(re.findall(r"(?<![A-Za-z])([A-D])(?=,| and |;|$)", source))))
