"""Write the table of every line of the four papers: ``python -m pmtcore.papers.catalogue_page > docs/papers.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from pmtcore.papers.gallery.catalogue import figures
from pmtcore.papers.gallery.claims import Claim
from pmtcore.papers.gallery.engine import SHIPPED, Figure, load_stored
from pmtcore.papers.gallery.unsettled import open_claims
from pmtcore.papers.statements import STATEMENTS, State, Statement

NO_ANSWER = "## Claims without an answer"
NOT_AT_HAND = ("susy",)  # tables of papers that no result ships for
_LEFT_OUT = (
    ("C", "Figures 2 to 5", "dimension at nineteen of the twenty n: each costs what the one drawn does"),
    ("C", "Figure 6", "every second of the thirty-nine n: neighbours differ by less than the line is wide"),
    ("D", "Figure 8", "other Lambda for prediction"),
    ("D", "section 3.7, claim", "later rounds retrieve little: five rounds are drawn, what each retrieves is not kept"),
    ("D", "Figure 2", "a diagram of ideas, no experiment"),
    ("D", "Figure S.3", "the smaller n: Figure 7 has them with delta"),
)
_COLUMNS = "| line | what | state | where | why |\n|---|---|---|---|---|"
_TITLES = {
    "A": "A. Public second moments, ridge and logistic regression",
    "B": "B. Public second moments, least squares",
    "C": "C. Generalized linear models in the local model",
    "D": "D. Noise-augmented empirical risk minimization",
}


def lines() -> Iterator[Statement]:
    """Yield algorithms and statements, then figures, then their claims, then what of the figures is left out."""
    yield from STATEMENTS
    for figure in figures():
        yield Statement(
            figure.id[0], _number(figure), figure.title, "implemented", (f"figure:{figure.id}",), _why(figure)
        )
        for claim in figure.claims:
            if not claim.ours:
                yield _claimed(figure, claim)
    for paper, number, words in _LEFT_OUT:
        yield Statement(paper, number, words.split(":")[0], "left out", (), words)


def _number(figure: Figure) -> str:
    return figure.source.split(", ", 1)[1]


def _why(figure: Figure) -> str:
    wanting = (
        "needs SUSY of the UCI archive (500,000 rows of 18 features and a label are drawn from it); no result ships"
    )
    return wanting if figure.needs in NOT_AT_HAND else ""


def _claimed(figure: Figure, claim: Claim) -> Statement:
    """Return a claim's line: implemented where its check answers, declared where an unstated setting leaves it open."""
    state: State = "declared" if claim.unstated else "implemented"
    return Statement(
        figure.id[0], f"{_number(figure)}, claim", claim.words, state, (f"figure:{figure.id}",), claim.unstated
    )


_RECOMPUTED = """
## Recomputed by other code

Six figures were computed again by code that shares nothing with this package: numpy and scipy, written from the texts
of the papers and the choices that the figures' notes state. They were drawn by chance, `numpy.random.default_rng(29)`,
from the 90 figures whose trial takes at most 1.5 processor seconds. Compared are mean and median of each published
method, and of the fit without privacy, at each x. Of 298 comparisons 290 lie within their 95 % interval, where 283 are
expected; the largest difference is 2.4 standard errors.

| figure | trials here | trials there | within their interval |
|---|---|---|---|
| `A5b` | 300 | 2,000 | 47 of 48 |
| `C2b` | 20 | 30 | 30 of 32 |
| `D5b` | 48 | 100 | 56 of 56 |
| `D5d` | 200 | 100 | 52 of 56 (the 4 are one number: the fit without privacy has no epsilon) |
| `D5k` | 100 | 100 | 49 of 50 |
| `DS2f` | 100 | 100 | 56 of 56 |
"""


def text() -> str:
    """Return the page but for the claims without an answer, which the stored results have."""
    every = list(lines())
    counts = Counter(line.state for line in every)
    head = (
        "# Every line of the four papers\n\n"
        "Each algorithm, theorem, figure and claim of the four papers, and what became of it here. *Implemented*: it "
        "can be run, computed or checked. *Declared*: it is done differently, claims no number, or depends on a "
        "setting that the paper does not state; the last column says which. *Left out*: it is not done; the last "
        "column says why. Exceptions come first. Whether a claim holds is shown on the Gallery page, with its figure. "
        "The page is made from the catalogue (`python -m pmtcore.papers.catalogue_page > docs/papers.md`); a test "
        "fails if it is out of date.\n\n"
        f"{counts['implemented']} implemented, {counts['declared']} declared, {counts['left out']} left out.\n"
    )
    exceptions = _section(every, "Exceptions", {"left out": "Left out", "declared": "Declared"})
    return head + exceptions + _section(every, "Implemented as printed", {"implemented": ""}) + _RECOMPUTED


def without_answer() -> str:
    """Return the claims that the results that ship leave open, and how many trials an answer would take.

    Foretold by the paired spread of the stored trials (:func:`open_claims`).
    """
    listed = [
        claim
        for figure in figures()
        if figure.needs not in NOT_AT_HAND
        for claim in open_claims(figure, load_stored(figure, SHIPPED))
    ]
    head = (
        f"\n{NO_ANSWER}\n\n"
        f"{len(listed)} claims cannot be told with the trials that are stored. About how many would tell is foretold "
        "by the paired spread of those trials; where curves meet, none would. `python -m pmtcore gallery --open` "
        "prints the same for the results on a machine.\n\n"
        "| figure | claim | trials | what would tell |\n|---|---|---|---|\n"
    )
    return head + "".join(
        f"| `{each.figure}` | {_cell(each.claim)} | {each.trials:,} of {each.of:,} | {each.advice} |\n"
        for each in listed
    )


def _section(every: Sequence[Statement], title: str, states: Mapping[State, str]) -> str:
    """Return the lines of these states, paper by paper.

    Args:
        every: all lines.
        title: heading of the section.
        states: the states in order, each with what stands behind the paper's name in the heading of its table.
    """
    parts = [f"\n## {title}\n"]
    for paper, name in _TITLES.items():
        for state, words in states.items():
            own = [line for line in every if line.paper == paper and line.state == state]
            if own:
                heading = f"{name}: {words.lower()}" if words else name
                parts.append(f"\n### {heading}\n\n{_COLUMNS}\n" + "\n".join(map(_row, own)) + "\n")
    return "".join(parts)


def _row(line: Statement) -> str:
    where = ", ".join(f"`{place.split(':', 1)[1]}`" for place in line.where)
    return f"| {line.number} | {_cell(line.words)} | {line.state} | {where} | {_cell(line.why)} |"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    print(text() + without_answer(), end="")  # noqa: T201  # it is what is asked for
