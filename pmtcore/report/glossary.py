"""One glossary: the pages' help, the report and the documentation read the same words.

Each entry is a term, one plain sentence for who meets it first, and one more for who wants to know.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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


_ENTRIES = (
    Term(
        "mu",
        "mu",
        "How much one person's row can change what an attacker sees, counted in standard deviations of the noise.",
        "Smaller protects better. Budgets add as squares: two releases of mu = 1 cost 1.41 together (Gaussian "
        "differential privacy).",
    ),
    Term(
        "rho",
        "rho",
        "The same budget in the unit of zero-concentrated differential privacy: mu squared over two.",
        "In this unit budgets simply add.",
    ),
    Term(
        "epsilon",
        "epsilon",
        "The unit that most people know: one row changes the odds of any outcome at most e^epsilon times, outside "
        "cases of probability delta.",
        "It needs a delta to have a meaning for Gaussian noise.",
    ),
    Term(
        "delta",
        "delta",
        "The probability that the promise with epsilon may fail; far below one over the number of rows.",
        "Here it is only the point at which epsilon is stated; mu holds for every delta at once.",
    ),
    Term(
        "neighbours",
        "Neighbouring tables",
        "The two tables that the guarantee makes hard to tell apart.",
        "Replace-one: same number of rows, one row different. Add-remove-one: one table has one row more. "
        "Replace-one-response: the same covariates, one response different; covariates are not protected.",
    ),
    Term(
        "sound",
        "sound",
        "The method's promise is proved, and its output may leave.",
        "Lab methods are as published, or use exact private figures: for study only.",
    ),
    Term("public", "public", "Computed from public rows, sizes and chosen parameters: may be shown to anyone."),
    Term("released", "released", "The output of a private mechanism: may leave, and its cost is counted."),
    Term("private", "private, curator only", "Exact figures of private rows: only for those who may see the rows."),
    Term(
        "lab",
        "lab",
        "From synthetic rows, public tables split for study, repeatable noise, or without a spend: for study only.",
    ),
    Term(
        "moment",
        "Second moment",
        "The table of mean products of the columns: all that least squares needs to know of the rows.",
    ),
    Term(
        "kappa",
        "Condition number",
        "How many times larger the second moment is in its largest direction than in its smallest.",
        "The same noise hurts the smallest direction this many times more.",
    ),
    Term(
        "kappa_bar",
        "Averaged condition number",
        "The mean of the eigenvalues of the second moment over the smallest one.",
        "It says what the same noise costs over all directions together; 1 is best.",
    ),
    Term(
        "lambda_min",
        "Smallest eigenvalue",
        "The second moment in its shortest direction: what noise is divided by when the moment is inverted.",
    ),
    Term(
        "whitening",
        "Whitening",
        "Changing units by the public second moment, so that all directions are about equally long.",
        "It reads no private row, so it costs nothing.",
    ),
    Term(
        "radius",
        "Radius",
        "Rows longer than this are shortened to it, which limits what one row can change.",
        "A smaller radius means less noise and more bias.",
    ),
    Term("truncation", "Truncation", "Shortening rows, or gradients, that are longer than their bound."),
    Term(
        "privacy_sd",
        "Privacy sd",
        "The standard deviation that the added noise gives a coefficient.",
    ),
    Term(
        "sampling_sd",
        "Sampling sd",
        "The standard deviation because the private rows are one sample out of many: it exists without privacy, too.",
    ),
    Term(
        "truncation_sd",
        "Truncation sd",
        "How far shortened rows may have moved a coefficient, as far as public rows tell.",
    ),
    Term(
        "half_width",
        "95 % half-width",
        "Half the length of the band that contains the true coefficient in 95 of 100 samples: all parts together.",
    ),
    Term("odds_ratio", "Odds ratio", "e to the power of a coefficient: how many times the odds grow per unit."),
    Term(
        "ridge",
        "Ridge penalty",
        "Pulls coefficients towards zero, or the public fit: steadier where columns move together.",
    ),
    Term(
        "modulus",
        "Modulus",
        "The least curvature of an objective: it limits how far one row can move the minimum.",
        "Lambda is what is added to reach it; Lambda0 is the least that paper D plans with.",
    ),
    Term("Lambda0", "Lambda0", "The least modulus that paper D plans with: zeta3/(2 (1 - r) epsilon)."),
    Term(
        "jacobian",
        "Jacobian",
        "In objective perturbation, what one row does to the curvature at the minimum; it costs budget of its own.",
    ),
    Term(
        "retrieved",
        "Retrieved budget",
        "What was planned for the Jacobian and is provably not needed; a public figure in the sound methods.",
    ),
    Term(
        "papers",
        "Papers A to D",
        " ".join(f"{letter}: {paper.words}." for letter, paper in CITATIONS.items()),
        "E and a number: a step in one of them that does not give what is claimed; Audit lists them.",
    ),
    Term(
        "erratum",
        "Erratum (E1, E2, ...)",
        "A published step that does not give what is claimed, with what is done here; listed on the Audit page.",
        "For example E10: a minimum over the selected coordinates only, where all are needed.",
    ),
    Term(
        "ledger",
        "Ledger",
        "A log of every spend, written before the private rows are read; it can only grow.",
    ),
    Term(
        "cap",
        "Cap",
        "The total mu that all releases from one data set may cost. Whoever changes it leaves an entry in the ledger.",
    ),
    Term(
        "seed", "Seed", "A starting number that makes noise repeatable, so that it can be subtracted: for study only."
    ),
    Term(
        "residual_sd",
        "Residual sd",
        "How far a response typically lies from the fit: what the columns do not explain. Released with noise.",
    ),
    Term("r_squared", "R squared", "The share of the response's variance that the fit explains. Released with noise."),
    Term(
        "claim",
        "Claimed mu and lower bound",
        "What a method promises, and the largest mu that the best attack could demonstrate.",
        "A bound above the claim refutes it; a bound below proves nothing.",
    ),
)

GLOSSARY = {term.id: term for term in _ENTRIES}


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
    return [term for term in _ENTRIES if not wanted or term.id in wanted]


def markdown() -> str:
    """Write the glossary as a table for the documentation."""
    rows = [f"| {term.name} | {term.words} |" for term in _ENTRIES]
    return "\n".join(["| term | meaning |", "|---|---|", *rows])
