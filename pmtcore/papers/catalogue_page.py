"""Write the table of every line of the four papers: ``python -m pmtcore.papers.catalogue_page > docs/papers.md``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from pmtcore.papers.gallery.catalogue import figure, figures
from pmtcore.papers.gallery.claims import Answer, Claim
from pmtcore.papers.gallery.engine import SHIPPED, Figure, load_stored
from pmtcore.papers.gallery.unsettled import open_claims
from pmtcore.papers.statements import STATEMENTS, State, Statement

NO_ANSWER = "## Claims without an answer"
NOT_AT_HAND = ("susy",)  # tables of papers that no result ships for
_LEFT_OUT = (
    ("C", "Figures 2 to 5", "the error by dimension at nineteen of the twenty n", "each costs what the one drawn does"),
    (
        "C",
        "Figure 6",
        "36 of the 39 n of covertype, 14 of the 17 of SUSY",
        "three n show where the curves lead; the largest takes most of the seconds of a trial",
    ),
    ("D", "Figure 8", "prediction at other Lambda", "Lambda = 1 is drawn, and each other costs as much"),
    (
        "D",
        "section 3.7, claim",
        "later rounds retrieve little",
        "five rounds are drawn, what each retrieves is not stored",
    ),
    ("D", "Figure 2", "a diagram of ideas", "no experiment"),
    ("D", "Figure S.3", "the smaller n", "Figure 7 has them with delta"),
)
_COLUMNS = "| line | what | state | where | why |\n|---|---|---|---|---|"
_SHORT = {
    Answer.HOLDS: "holds",
    Answer.FAILS: "does not hold here",
    Answer.UNSTATED: "depends",
    Answer.OPEN: "cannot be told",
}
_TITLES = {
    "A": "A. Public second moments, ridge and logistic regression",
    "B": "B. Public second moments, least squares",
    "C": "C. Generalized linear models in the local model",
    "D": "D. Noise-augmented empirical risk minimization",
}


def lines() -> Iterator[Statement]:
    """Yield algorithms and statements, then figures, then their claims, then what of the figures is left out."""
    yield from STATEMENTS
    for each in figures():
        yield Statement(each.id[0], _number(each), each.title, "implemented", (f"figure:{each.id}",), _why(each))
        for claim, answer in zip(each.claims, answers(each.id), strict=True):
            if not claim.ours:
                yield _claimed(each, claim, answer)
    for paper, number, words, why in _LEFT_OUT:
        yield Statement(paper, number, words, "left out", (), why)


@cache
def answers(id: str) -> tuple[Answer, ...]:
    """Return the answers to a figure's claims by the result that ships; open ones where none does."""
    made = figure(id)
    record = load_stored(made, SHIPPED)
    if record is None:
        return (Answer.OPEN,) * len(made.claims)
    return tuple(Answer(entry["answer"]) for entry in record["verdict"])


def _number(figure: Figure) -> str:
    return figure.source.split(", ", 1)[1]


def _why(figure: Figure) -> str:
    wanting = (
        "needs SUSY of the UCI archive (500,000 rows of 18 features and a label are drawn from it); no result ships"
    )
    return wanting if figure.needs in NOT_AT_HAND else ""


def _claimed(figure: Figure, claim: Claim, answer: Answer) -> Statement:
    """Return a claim's line: implemented where it holds, else declared, with what the answer hangs on."""
    state: State = "implemented" if answer is Answer.HOLDS else "declared"
    drawn = f"in every reading that is drawn of what is not stated: {claim.unstated}"
    why = {
        Answer.HOLDS: "",
        Answer.FAILS: drawn if claim.unstated else "nothing is left open; the Gallery page has the numbers",
        Answer.OPEN: "see the claims without an answer",
        Answer.UNSTATED: claim.unstated,
    }[answer]
    where = (f"figure:{figure.id}",)
    return Statement(figure.id[0], f"{_number(figure)}, claim", claim.words, state, where, why, _SHORT[answer])


_RECOMPUTED = """
## Recomputed by other code

Six figures were computed again by code that shares nothing with this package: numpy and scipy, written from the texts
of the papers and the choices that the figures' notes state. They were drawn by chance, `numpy.random.default_rng(29)`,
from the 90 figures whose trial takes at most 1.5 processor seconds. Compared are mean and median of each published
method, and of the fit without privacy, at each x. Of 298 comparisons 290 lie within their 95 % interval, where 283 are
expected; the largest difference is 2.4 standard errors.

| figure | trials here, then | trials there | within their interval |
|---|---|---|---|
| `A5b` | 300 | 2,000 | 47 of 48 |
| `C2b` | 20 | 30 | 30 of 32 |
| `D5b` | 48 | 100 | 56 of 56 |
| `D5d` | 200 | 100 | 52 of 56 (the 4 are one number: the fit without privacy has no epsilon) |
| `D5k` | 100 | 100 | 49 of 50 |
| `DS2f` | 100 | 100 | 56 of 56 |
"""


def text() -> str:
    """Return the page but for the claims without an answer, whose table says what would give one."""
    every = list(lines())
    counts = Counter(line.state for line in every if not line.answer)
    claims = Counter(line.answer for line in every if line.answer)
    head = (
        "# Every line of the four papers\n\n"
        "Each algorithm, theorem, figure and claim of the four papers, and what became of it here. *Implemented*: it "
        "can be run, computed or checked. *Declared*: it is done differently, or claims no number; the last column "
        "says which. *Left out*: it is not done; the last column says why.\n\n"
        "The state of a claim is the answer that the stored trials give. Where the paper leaves a setting open, "
        "several readings are drawn. A claim *holds* where it does in all of them, or in one that the paper states; "
        "it *does not hold here* where it does in none; it *depends* where readings differ, or where none that is "
        "drawn answers for the paper's, and the last column names the setting. It *cannot be told* where the trials "
        "leave a reading open. The Gallery page shows the numbers behind each answer.\n\n"
        "What is not plainly implemented or confirmed comes first. The page is made from the catalogue (`python -m "
        "pmtcore.papers.catalogue_page > docs/papers.md`); a test fails if it is out of date.\n\n"
        f"Of {claims.total()} claims {claims[_SHORT[Answer.HOLDS]]} hold, {claims[_SHORT[Answer.FAILS]]} do not hold "
        f"here, {claims[_SHORT[Answer.UNSTATED]]} depend on a setting that the paper does not state, and "
        f"{claims[_SHORT[Answer.OPEN]]} cannot be told. Of {counts.total()} other lines {counts['implemented']} are "
        f"implemented, {counts['declared']} declared, {counts['left out']} left out.\n"
    )
    exceptions = _section(every, "Exceptions", {"left out": "Left out", "declared": "Declared"})
    return head + exceptions + _section(every, "Implemented, and claims that hold", {"implemented": ""}) + _RECOMPUTED


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
    return f"| {line.number} | {_cell(line.words)} | {line.answer or line.state} | {where} | {_cell(line.why)} |"


def _cell(words: str) -> str:
    return words.replace("|", "\\|")


if __name__ == "__main__":
    print(text() + without_answer(), end="")  # noqa: T201  # it is what is asked for
