"""Write the table of every line of the four papers: ``python -m pmtcore.papers.catalogue_page > docs/papers.md``."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

from pmtcore.papers.gallery.catalogue import figure, figures
from pmtcore.papers.gallery.claims import Answer, Claim
from pmtcore.papers.gallery.engine import SHIPPED, Figure, load_stored
from pmtcore.papers.gallery.unsettled import OpenClaim, open_claims
from pmtcore.papers.statements import STATEMENTS, State, Statement

NO_ANSWER = "## Claims without an answer"
NOT_AT_HAND = ("susy",)  # tables of papers that no result ships for
_COLUMNS = "| line | what | state | where | why |\n|---|---|---|---|---|"
_SHORT = {
    Answer.HOLDS: "holds",
    Answer.FAILS: "does not hold here",
    Answer.UNSTATED: "depends",
    Answer.OPEN: "cannot be told",
}
_TEXTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_TITLES: Mapping[str, str] = _TEXTS["papers"]


def lines() -> Iterator[Statement]:
    """Yield algorithms and statements, with what of the figures is left out, then each figure with its claims."""
    yield from STATEMENTS
    for each in figures():
        yield Statement(each.id[0], _number(each), each.title, "implemented", (f"figure:{each.id}",), _why(each))
        for claim, answer in zip(each.claims, answers(each.id), strict=True):
            if not claim.ours:
                yield _claimed(each, claim, answer)


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
    return _TEXTS["not_at_hand"] if figure.needs in NOT_AT_HAND else ""


def _claimed(figure: Figure, claim: Claim, answer: Answer) -> Statement:
    """Return a claim's line: implemented where it holds, else declared, with what the answer hangs on."""
    state: State = "implemented" if answer is Answer.HOLDS else "declared"
    drawn = f"in none of the readings that are drawn; the paper leaves open: {claim.unstated}"
    why = {
        Answer.HOLDS: "",
        Answer.FAILS: drawn if claim.unstated else "nothing is left open; the Gallery page has the numbers",
        Answer.OPEN: _why(figure) or "see the claims without an answer",
        Answer.UNSTATED: claim.unstated,
    }[answer]
    where = (f"figure:{figure.id}",)
    return Statement(figure.id[0], f"{_number(figure)}, claim", claim.words, state, where, why, _SHORT[answer])


def text() -> str:
    """Return the page but for the claims without an answer, whose table says what would give one."""
    every = list(lines())
    counts = Counter(line.state for line in every if not line.answer)
    claims = Counter(line.answer for line in every if line.answer)
    head = _TEXTS["head"].format(
        claims=claims.total(),
        hold=claims[_SHORT[Answer.HOLDS]],
        fail=claims[_SHORT[Answer.FAILS]],
        depend=claims[_SHORT[Answer.UNSTATED]],
        open=sum(not each.ours for each in undecided()),
        others=counts.total(),
        implemented=counts["implemented"],
        declared=counts["declared"],
        left=counts["left out"],
    )
    exceptions = _section(every, "Exceptions", {"left out": "Left out", "declared": "Declared"})
    return (
        head
        + exceptions
        + _section(every, "Implemented, and claims that hold", {"implemented": ""})
        + _TEXTS["recomputed"]
    )


@cache
def undecided() -> tuple[OpenClaim, ...]:
    """Return the claims, of the papers and of ours, that the results that ship leave open, or that none ships for."""
    return tuple(claim for figure in figures() for claim in open_claims(figure, load_stored(figure, SHIPPED)))


def without_answer() -> str:
    """Return the claims without an answer, and how many trials one would take.

    Foretold by the paired spread of the stored trials (:func:`open_claims`).
    """
    listed = undecided()
    ours = sum(each.ours for each in listed)
    cheap = sum(each.cheap for each in listed) or "None"
    words = _TEXTS["without_answer"].format(count=len(listed), papers=len(listed) - ours, ours=ours, cheap=cheap)
    return f"\n{NO_ANSWER}\n\n{words}" + "".join(
        f"| `{each.figure}` | {_cell(each.claim)}{' (ours)' * each.ours} | {each.trials:,} of {each.of:,} | "
        f"{_why(figure(each.figure)) or each.advice} |\n"
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
