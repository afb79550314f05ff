"""What a reader of a guarantee should ask, answered for one release; after NIST SP 800-226 (2025), which names these.

Each answer is taken from the record or is true of every release that this package makes; what the package cannot know
is said to be the reader's to fill in. Questions and answers are ``checklist.toml``.
"""

import tomllib
from pathlib import Path

from pmtcore.accounting.budgets import Neighbours, neighbouring_tables, of_person, only_responses, person_note, unit_of
from pmtcore.base.messages import ReportWords
from pmtcore.base.numbers import join_names, power_of_ten, rounded
from pmtcore.base.release_record import ReleaseRecord
from pmtcore.methods.registry import method

# What a band allows for, by the names of its parts.
_PARTS = {"privacy": "the noise for privacy", "sampling": "sampling", "truncation": "truncation"}
# What a curator saw of the private rows before, by the record; None where it does not say.
_EXACT_FIGURES = {
    True: "Exact private figures were switched on for a curator before this release: they are outside the guarantee.",
    False: "Exact private figures were not switched on in the session that made this release.",
    None: ReportWords.EXACT_FIGURES_UNKNOWN.sentence(),
}
_BLANK_CHARACTERS = 40  # letters of a line to be filled in by hand
_ANSWERS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def proof_words(id: str) -> str:
    """Return where the guarantee of a method is proved, by the pages of this program's documentation.

    >>> proof_words("joint-pmt"), proof_words("public-only")
    ('docs/proofs: radius.md and noise.md', 'docs/proofs: baselines.md')
    """
    return f"docs/proofs: {join_names([f'{page}.md' for page in method(id).claim.proofs or ('index',)])}"


def checklist(record: ReleaseRecord) -> list[tuple[str, str]]:
    """Return questions with their answers, in order."""
    entry, promise = method(record["method"]), record["guarantee"]
    person, note, unit = of_person(promise), person_note(promise), unit_of(promise)
    relation, responses = Neighbours(promise["neighbours"]), only_responses(promise)
    exact, choices = record["public"].get("noise") == "exact", record["public"].get("choices", {})
    parts = [words for part, words in _PARTS.items() if any(part in band for band in record["bands"].values())]
    which = {
        "Unit of protection": "column" if unit.column else "several" if unit.rows > 1 else "one",
        "Trust model": "local" if entry.local else "central",
        "Randomness and floating point": "seed" if record["seed"] is not None else "exact" if exact else "floating",
        "Composition": "ledger" if "ledger" in record else "alone",
        "Side channels": "refuse" if "refuse" in (choices.get("missing"), choices.get("unseen")) else "rows",
        "Utility": "bands" if record["bands"] else "none",
    }
    facts = {
        "responses": responses,
        "columns": "Every column of the private rows but the target; " if responses else "",
        "rows": unit.rows,
        "column": unit.column,
        "unit_words": unit.words,
        "counted": "persons in the private table" if unit.column else "private rows",
        "relation": relation.value,
        "tables": neighbouring_tables(relation, unit),
        "mu": rounded(person["mu"], 4),
        "epsilon": rounded(person["epsilon"], 4),
        "delta": power_of_ten(person["delta"]),
        "note": f" ({note})" if note else "",
        "title": entry.title,
        "id": entry.id,
        "reason": entry.claim.reason,
        "proof": proof_words(entry.id),
        "exact_figures": _EXACT_FIGURES[record.get("exact_figures_shown")],
        "blank": "_" * _BLANK_CHARACTERS,
        "parts": " and ".join([", ".join(parts[:-1]), *parts[-1:]] if len(parts) > 1 else parts),
    }
    answers = {question: text[which[question]] if question in which else text for question, text in _ANSWERS.items()}
    return [(question, text.format_map(facts).strip()) for question, text in answers.items()]
