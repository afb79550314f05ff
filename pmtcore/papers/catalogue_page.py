"""Write the table of every line of the four papers: ``python -m pmtcore.papers.catalogue_page > docs/papers.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.gallery.engine import Figure
from pmtcore.papers.gallery.findings import Claim
from pmtcore.papers.statements import STATEMENTS, State, Statement

NOT_AT_HAND = ("susy",)  # tables of papers that no result ships for
_LEFT_OUT = (
    ("C", "Figures 1 to 5", "eleven of the fifteen n: more than an hour on two cores"),
    ("C", "Figures 2 to 5", "dimension at one n of twenty: more than an hour on two cores"),
    ("C", "Figure 6", "1,000 repeats, all n: more than a day on two cores"),
    ("C", "Figure 7", "five of the eight m: the ends and the middle are drawn"),
    ("D", "Figure 4", "small n for logistic, and Poisson regression: half an hour each on two cores"),
    ("D", "Figure 5", "Lambda for linear and Poisson regression: the logistic one is drawn"),
    ("D", "Figure 6, claim", "MOOR at Lambda 0.1 and 0.4: Lambda = 1 is drawn"),
    ("D", "section 3.7, claim", "later rounds of recycling retrieve little: any number can be run, none is drawn"),
    ("D", "Figure 6", "Lambda 0.1 and 0.4, ten values of epsilon: an hour each on two cores"),
    ("D", "Figure 7", "the smaller n, and Poisson regression: the same sentences, half an hour each on two cores"),
    ("D", "Figure 8", "the smaller n, and other Lambda for prediction: half an hour each on two cores"),
    ("D", "Figure 2", "a diagram of ideas, no experiment"),
)
_COLUMNS = "| line | what | state | where | why |\n|---|---|---|---|---|"
_TITLES = {
    "A": "A. Public second moments, ridge and logistic regression",
    "B": "B. Public second moments, least squares",
    "C": "C. Generalized linear models in the local model",
    "D": "D. Noise-augmented empirical risk minimization",
}


def lines() -> Iterator[Statement]:
    """Algorithms and statements, then figures, then their claims, then what of the figures is left out."""
    yield from STATEMENTS
    for figure in figures():
        yield Statement(
            figure.id[0], _number(figure), figure.title, "implemented", (f"figure:{figure.id}",), _why(figure)
        )
        for claim in figure.claims:
            if not claim.words.startswith("(Ours)"):
                yield _claimed(figure, claim)
    for paper, number, words in _LEFT_OUT:
        yield Statement(paper, number, words.split(":")[0], "left out", (), words)


def _number(figure: Figure) -> str:
    return figure.source.split(", ", 1)[1]


def _why(figure: Figure) -> str:
    return "needs the table; no result ships" if figure.needs in NOT_AT_HAND else ""


def _claimed(figure: Figure, claim: Claim) -> Statement:
    state: State = "declared" if claim.unstated else "implemented"
    return Statement(
        figure.id[0], f"{_number(figure)}, claim", claim.words, state, (f"figure:{figure.id}",), claim.unstated
    )


def text() -> str:
    """The page."""
    every = list(lines())
    counts = Counter(line.state for line in every)
    head = (
        "# Every line of the four papers\n\n"
        "Made from the catalogue (`python -m pmtcore.papers.catalogue_page > docs/papers.md`); a test fails where it "
        "is out of date. *Implemented*: it can be run, computed or checked here. *Declared*: done otherwise, or no "
        "number, and why. *Left out*: not done, and why. What comes of a claim is on the Gallery page, from its "
        "figure.\n\n"
        f"{counts['implemented']} implemented, {counts['declared']} declared, {counts['left out']} left out.\n"
    )
    parts = [head]
    for paper, title in _TITLES.items():
        rows = [_row(line) for line in every if line.paper == paper]
        parts.append(
            f"\n## {title}\n\n| line | what | state | where | why |\n|---|---|---|---|---|\n" + "\n".join(rows) + "\n"
        )
    return "".join(parts)


def _row(line: Statement) -> str:
    where = ", ".join(f"`{place.split(':', 1)[1]}`" for place in line.where)
    return f"| {line.number} | {_cell(line.words)} | {line.state} | {where} | {_cell(line.why)} |"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    print(text(), end="")  # noqa: T201  # it is what is asked for
